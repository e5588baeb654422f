// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The bundle: what `record` leaves and `analyze` reads. A directory:
 *
 *   manifest.json    what it is, whether it is complete; written last, by rename
 *   start.core       registers and memory at exec, an ELF core that gdb opens
 *   end.core         the same at the end of what was recorded, where asked for
 *   events.flt       the inputs in order, zstd frames with checksums (doc/events.md)
 *   files/ID         copies of mapped files, ID = build-id (or content hash) in hex
 *   children/N-NAME.PID   a bundle of its own for each process that `record -f` followed,
 *                    but for files/: those of the capture serve all
 *
 * Invariants:
 *  1. manifest.json exists only once every other file is complete and closed.
 *  2. Events appear in the order in which the program met them; per thread, each event
 *     happens before any user instruction that follows it.
 *  3. A reader never trusts a size, offset or index it did not check.
 *  4. A reader touches its files with pread only, so that a forked copy of the process
 *     continues from its own place (decode/ forks as its checkpoints).
 *
 * Not shared between threads.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/base.h"
#include "capture/cap_cpu.h"

#define CAP_VERSION 1	     ///< of captures as they are recorded
#define CAP_VERSION_SHARED 2 ///< of those that share their files with others
#define CAP_MASK_BYTE 'x'

/** General registers in the order of their x86 encodings. */
enum cap_gpr {
	CAP_RAX,
	CAP_RCX,
	CAP_RDX,
	CAP_RBX,
	CAP_RSP,
	CAP_RBP,
	CAP_RSI,
	CAP_RDI,
	CAP_R8,
	CAP_R9,
	CAP_R10,
	CAP_R11,
	CAP_R12,
	CAP_R13,
	CAP_R14,
	CAP_R15,
	CAP_GPRS
};

struct cap_regs {
	uint64_t gpr[CAP_GPRS]; ///< indexed by enum cap_gpr
	uint64_t rip, rflags;
	uint64_t fs_base, gs_base;
};

/** Bytes of user memory as the kernel left them. */
struct cap_write {
	uint64_t addr;
	uint64_t size;	     ///< bytes
	const uint8_t *data; ///< borrowed from the event's reader until its next call
};

enum cap_event_kind {
	CAP_EV_SYSCALL = 1, ///< a system call that returned
	CAP_EV_SIGNAL,	    ///< a signal was delivered (or killed the program)
	CAP_EV_TSC,	    ///< rdtsc or rdtscp executed
	CAP_EV_CPUID,	    ///< cpuid executed
	CAP_EV_HEAP,	    ///< an allocator function was entered (-e heap)
	CAP_EV_EXIT,	    ///< the thread ended
	CAP_EV_GAP,	    ///< something is missing here; text says what
	CAP_EV_SWITCH,	    ///< another thread of the program runs from here on
	CAP_EV_RANDOM,	    ///< rdrand, rdseed or rdpid executed
	CAP_EV_HEAP_DONE,   ///< an allocator function returned (flight recorder)
	CAP_EV_PROBE,	    ///< a store probe was hit (-e stores)
	CAP_EV_OMITTED,	    ///< of a slice capture: the run goes on without a piece
	CAP_EV_SHARED, ///< memory that other recorded processes have as well (doc/joint.md)
	CAP_EV_KINDS
};

enum cap_syscall_flags {
	CAP_SYS_UNLISTED = 1 << 0, ///< not in the table: what it wrote is not known
	CAP_SYS_PARTIAL = 1 << 1,  ///< some of the memory it wrote could not be read
	/** mmap, shmat: file_offset is no offset but tells which file (or segment) it was;
	 * the same number is the same file. */
	CAP_SYS_IDENTITY = 1 << 2,
	/** mprotect failed, and file_offset tells to how many bytes it was done before. */
	CAP_SYS_PREFIX = 1 << 3,
};

enum cap_heap_fn {
	CAP_HEAP_MALLOC,
	CAP_HEAP_CALLOC,
	CAP_HEAP_REALLOC,
	CAP_HEAP_FREE,
	CAP_HEAP_POSIX_MEMALIGN,
	CAP_HEAP_ALIGNED_ALLOC,
	CAP_HEAP_FNS
};

enum cap_switch_flags {
	/** Inside the system call whose event comes later; regs are as at its entry. */
	CAP_SWITCH_IN_CALL = 1 << 0,
	/** On its way to its end: the kernel has zeroed its clear_child_tid word. */
	CAP_SWITCH_TID_CLEARED = 1 << 1,
	/** On its way to its end: the kernel has been through its robust list. */
	CAP_SWITCH_ROBUST_LEFT = 1 << 2,
	/** A turn of the process begins: others that share its memory ran before (doc/joint.md).
	 * next_tid may be tid. */
	CAP_SWITCH_TURN = 1 << 3,
};

/**
 * What a thread's memory held around where it was interrupted: with the registers, the
 * way to find the instant again (doc/threads.md tells when that is certain). Hashes over
 * little-endian 64-bit words, h = (h ^ word) * CAP_SIGNATURE_PRIME from
 * CAP_SIGNATURE_SEED on; what cannot be read is left out and stack_bytes, pointers say so.
 */
struct cap_signature {
	uint64_t stack_hash;   ///< of stack_bytes bytes from rsp - 128 on
	uint64_t pointer_hash; ///< of what the registers in `pointers` point to
	uint32_t stack_bytes;  ///< at most CAP_SIGNATURE_STACK, a multiple of 8
	/** Bit n: the CAP_SIGNATURE_TARGET bytes at gpr[n] rounded down to that size are in
	 * pointer_hash, in ascending order of n; rsp never is. Bit n + CAP_SIGNATURE_INT3: they have a byte 0xcc among
	 * them, which in code may be a probe, and are in a hash of their own. Where there is any such, pointer_hash is
	 * that one, folded to 32 bits, above the other, folded, too. */
	uint32_t pointers;
};

#define CAP_SIGNATURE_STACK 1024u
#define CAP_SIGNATURE_RED_ZONE 128u
#define CAP_SIGNATURE_TARGET 64u
#define CAP_SIGNATURE_SEED 0xcbf29ce484222325ull
#define CAP_SIGNATURE_PRIME 0x100000001b3ull
#define CAP_SIGNATURE_INT3 16
#define CAP_SIGNATURE_FOLD(h) (((h) ^ (h) >> 32) & 0xffffffff)

/** @return the C name of allocator function @p fn. */
const char *cap_heap_name(enum cap_heap_fn fn);

/** A register that is none of struct cap_regs. */
struct cap_value {
	/** 16 to 47: vector registers (64 bytes), 48 to 55: mask registers (8), 57: x87, as in the
	 * first 160 bytes of XSAVE's area, 58: mxcsr (4). */
	uint32_t reg;
	uint32_t size;	     ///< bytes, at most CAP_VALUE_MAX
	const uint8_t *data; ///< borrowed
};

#define CAP_VALUE_MAX 160

struct cap_event {
	enum cap_event_kind kind;
	uint32_t tid;
	uint64_t at_ns; ///< CLOCK_MONOTONIC
	uint64_t seq;	///< index in the log, from 0

	/** SYSCALL: at entry, rax = number, rip behind the instruction (rcx and r11 are
	 * what the instruction sets: rip and rflags). SIGNAL: where it landed.
	 * TSC, CPUID: at the instruction. EXIT: at the end, as far as known. HEAP: unused.
	 * RANDOM: behind the instruction, with what it gave.
	 * OMITTED: behind the piece.
	 * SWITCH: where thread tid stands, which ran until here.
	 * PROBE: before the probed instruction, whose address is rip; of gpr only those in
	 * probe_gprs are set, and nothing else is. */
	struct cap_regs regs;

	/** SYSCALL: rax on return. */
	int64_t ret;
	uint32_t flags; ///< enum cap_syscall_flags

	/** SYSCALL rt_sigreturn: the registers it restored. SIGNAL with a handler: at the
	 * handler's first instruction. */
	struct cap_regs after;
	bool has_after;

	/** SYSCALL mmap of a file that was kept: index into cap_info.files plus 1, and
	 * offset of the mapping in it; 0 = none. */
	uint32_t file;
	uint64_t file_offset;

	/** SYSCALL: memory it wrote. SWITCH inside a call: what that wrote so far, if others may
	 * look at it. SWITCH with TURN, SHARED: what other processes have left there, in a capture
	 * that was joined. SIGNAL with a handler: the frame. PROBE: memory as the
	 * probed instruction met it: what stores a little before it have left. OMITTED: what the
	 * piece changed. Borrowed. */
	const struct cap_write *writes;
	size_t n_writes;

	int32_t signo;	      ///< SIGNAL
	bool is_fatal;	      ///< SIGNAL that ended the program
	uint8_t siginfo[128]; ///< SIGNAL

	uint64_t tsc;	  ///< TSC: the value
	uint32_t tsc_aux; ///< TSC: what rdtscp put into ecx
	bool is_rdtscp;

	uint32_t leaf, subleaf; ///< CPUID: inputs
	uint32_t cpuid[4];	///< CPUID: eax, ebx, ecx, edx given to the program

	enum cap_heap_fn heap_fn; ///< HEAP, HEAP_DONE
	/** HEAP: the function's integer arguments, in order. HEAP_DONE: [0] is its result. */
	uint64_t heap_args[3];

	uint32_t probe_site; ///< PROBE: index into cap_info.store_sites
	uint16_t probe_gprs; ///< PROBE: bit n: regs.gpr[n] is known

	uint32_t next_tid;     ///< SWITCH: who runs from here on
	uint32_t switch_flags; ///< SWITCH: enum cap_switch_flags
	/** SWITCH outside a system call, SIGNAL of its own accord: of thread tid. */
	struct cap_signature signature;

	/** OMITTED: at which step of this capture's own run; the whole piece is one. How many steps
	 * it had. 0: it is none, the run ends there. */
	uint64_t position, n_steps;
	const struct cap_value
		*values; ///< OMITTED: other registers that it changed. Borrowed
	size_t n_values;
	/** OMITTED: bit n: gpr[n], bit n of rflags, stays what this capture's own run made it. */
	uint16_t kept_gprs, kept_flags;

	/** SHARED: where it is in this process, bytes; which memory that is, the same number in all
	 * processes of the recording, and where in it. Size 0: the call before it wrote that into a file which
	 * another process has mapped at start; writes: what is there. */
	struct {
		uint64_t start, size, key, offset;
	} shared;

	int32_t exit_code; ///< EXIT: exit status; -1 when a signal ended it
	/** GAP: what is missing and why. SYSCALL, unlisted, to a writer: its name. Borrowed. */
	const char *text;
};

/** @return whether behind @p ev, whose process is joined, it has what others wrote into the memory that they share. */
static inline bool cap_event_begins_turn(const struct cap_event *ev)
{
	return ev->kind == CAP_EV_SHARED ||
	       (ev->kind == CAP_EV_SWITCH && ev->switch_flags & CAP_SWITCH_TURN);
}

/** A mapped file that was kept. */
struct cap_file {
	char *path;	///< as the program saw it
	char *stored;	///< name under files/, NULL when contents are not kept
	char *build_id; ///< hex, NULL when it has none
	uint64_t
		hash; ///< of its contents, as in the name of one without build-id; 0 = not known
};

/** One probe site of -e heap. */
struct cap_heap_site {
	enum cap_heap_fn fn;
	uint32_t file;	       ///< index into files plus 1; 0 when never mapped
	uint64_t file_offset;  ///< of the probed instruction
	uint64_t entry_offset; ///< file offset of the function's first instruction
};

/** One probe site of -e stores. A thread meets it each time that it is about to execute
 * the instruction there, and each time is one PROBE event, in the thread's order: the nth
 * event of a site belongs to the nth time that the thread's path comes to it. */
struct cap_store_site {
	uint32_t file;	      ///< index into files plus 1; 0 when never mapped
	uint64_t file_offset; ///< of the probed instruction
	bool is_emulated;     ///< by the kernel; else single-stepped
};

enum cap_end {
	CAP_END_UNKNOWN,
	CAP_END_EXIT,
	CAP_END_SIGNAL,
	CAP_END_DETACHED,
	CAP_END_EXEC, ///< it executed another program, whose history is another one
};

/** @return whether the program came to its end by itself, and was not left before. */
static inline bool cap_end_is_own(enum cap_end end)
{
	return end == CAP_END_EXIT || end == CAP_END_SIGNAL || end == CAP_END_EXEC;
}

/** @return its name in messages and manifests. */
const char *cap_end_name(enum cap_end end);

/** How a followed process came to be. */
enum cap_created {
	CAP_CREATED_FORK,
	CAP_CREATED_VFORK,
	CAP_CREATED_CLONE,
	CAP_CREATED_BEFORE, ///< not at all: it is what its parent was before it executed
};

/** @return its name in messages and manifests. */
const char *cap_created_name(enum cap_created created);

/** A process that `record -f` followed, or a program that a process was before (BEFORE). */
struct cap_process {
	uint32_t index;	 ///< in the order of their creation, from 1; 0 is the program
	uint32_t parent; ///< index
	uint32_t pid;
	enum cap_created created;
	char *dir;   ///< name under children/; NULL: nothing of it was recorded
	char *exe;   ///< NULL when not known
	char **argv; ///< NULL-terminated
	uint64_t n_syscalls;
	enum cap_end end;
	int end_value;
	bool is_complete;
};

/** What a capture is made for. */
enum cap_mode {
	CAP_MODE_REPLAY, ///< start state and inputs: it can be run again
	/** The recent past: heap events, store probes, the tail of PT where the CPU has it,
	 * and end.core. There is no start.core, and no input among the events. */
	CAP_MODE_FLIGHT,
};

enum cap_end_reason {
	CAP_END_CORE_NONE,    ///< there is no end.core
	CAP_END_CORE_CRASH,   ///< a deadly signal was about to be delivered
	CAP_END_CORE_REQUEST, ///< the user asked for it (SIGUSR2)
	CAP_END_CORE_TRIGGER, ///< a function was entered
};

/** Of what instant end.core is. */
struct cap_end_core {
	enum cap_end_reason reason;
	uint64_t at_ns;	  ///< CLOCK_MONOTONIC; no event is later
	uint32_t tid;	  ///< whose signal or call it was; 0 = nobody's
	int32_t signo;	  ///< CRASH
	uint64_t address; ///< CRASH: si_addr. TRIGGER: of the function
	char *function;	  ///< TRIGGER: as the user named it; else NULL
};

/** @return its name in messages and manifests. */
const char *cap_end_reason_name(enum cap_end_reason reason);

/** Where the recorder's probes had breakpoints in the code of one file. */
struct cap_breakpoints {
	uint32_t file;	   ///< index into files plus 1
	uint64_t *offsets; ///< n, in the file
	size_t n;
};

#define CAP_BACK_MAX 64

/** One instant on two clocks. */
struct cap_instant {
	uint64_t tsc, at_ns; ///< CLOCK_MONOTONIC
};

/** What came of `-e pt`. */
struct cap_pt {
	bool is_wanted, is_recorded; ///< recorded: there is a perf.data
	uint64_t bytes;		     ///< of PT packets in it
	uint64_t n_gaps;	     ///< places where packets were lost
	uint64_t n_lost;	     ///< records of what happened beside that were lost
	/** The same two instants on PT's clock and on that of events (CLOCK_MONOTONIC): at
	 * the beginning and at the end. Zeros: not known, or they are the same clock. */
	struct cap_instant clock[2];
	char *why_not; ///< wanted and not recorded: for people; else NULL
	struct cap_breakpoints *breakpoints; ///< n_breakpoints, one for each file
	size_t n_breakpoints;
	/** The kernel's page for probes in the process, 0 = none, and what lies at its
	 * beginning: there functions return to whose ends are probed. */
	uint64_t probe_page;
	uint8_t back[CAP_BACK_MAX];
	size_t n_back;
};

/** Free what @p pt owns. */
void cap_pt_deinit(struct cap_pt *pt);

/** What manifest.json says. */
struct cap_info {
	int version;
	enum cap_mode mode;
	struct cap_end_core end_core;
	/** FLIGHT: heap events and PROBE events before those that are there, which their
	 * rings do not hold any more; and since when they hold all (0: from the beginning). */
	uint64_t n_overwritten, n_stores_overwritten;
	uint64_t heap_from_ns, stores_from_ns;
	struct cap_pt pt;
	/** It shared memory with other recorded processes (CAP_EV_SHARED); what they wrote there is
	 * not among its events before they have been joined. */
	bool is_joint;
	bool is_complete;   ///< no gap, no partial or unlisted syscall
	bool is_unfinished; ///< the recorder was killed: there is no manifest
	char **missing;	    ///< n_missing texts: what is not complete, for people
	size_t n_missing;
	char **argv; ///< NULL-terminated
	char *cwd, *exe;
	uint32_t pid;
	uint64_t n_events, n_syscalls;
	uint64_t n_execs; ///< programs that the process was before this one
	enum cap_end end;
	int end_value;	      ///< exit status or signal number
	uint64_t stack_limit; ///< RLIMIT_STACK, bytes
	struct cap_file *files;
	size_t n_files;
	struct cap_heap_site *heap_sites;
	size_t n_heap_sites;
	struct cap_store_site *store_sites;
	size_t n_store_sites;
	bool has_heap;
	/** Values of environment variables were left out: all data may have runs of CAP_MASK_BYTE
	 * where the program had something else. */
	bool has_masked;
	/** Of a slice capture (CAP_EV_OMITTED): what the slice is of; else NULL. */
	char *slice_of;
	bool is_child; ///< followed: index, parent, created are set; files are the capture's
	uint32_t index, parent;
	enum cap_created created;
	struct cap_process *processes; ///< followed from here, by index
	size_t n_processes;
	struct cap_cpu cpu; ///< that it was recorded on
};

/** Free what @p p owns. */
void cap_process_deinit(struct cap_process *p);

/** @return how many of the @p n processes at @p list were followed; the others are what a
 * process was before it executed a program. */
size_t cap_process_followed(const struct cap_process *list, size_t n);

/** Why nothing was recorded of @p p, which has no bundle: words behind its name. */
const char *cap_process_nothing(const struct cap_process *p);

/* ---- reading --------------------------------------------------------------- */

struct capture;

/**
 * Open the bundle in directory @p dir. A bundle without manifest.json (the recorder was
 * killed) opens too: is_complete is false, `missing` says so.
 *
 * @return NULL, or ERR_NOT_FOUND (no such directory, or nothing of ours in it),
 *	   ERR_FORMAT (foreign or damaged), ERR_VERSION (newer than this faultline),
 *	   ERR_UNSUPPORTED (a perf.data: there are no values in it).
 */
struct err *capture_open(const char *dir, struct capture **ret);
void capture_close(struct capture *c);
void capture_closep(struct capture **c);

/**
 * The bundle of one process in capture @p dir. @p which: an index as in cap_process (0 is
 * the program itself), or a process id. @p ret: free().
 *
 * @return NULL, ERR_NOT_FOUND (no such process, nothing was recorded of it, or several
 *	   have this id), or as capture_open().
 */
struct err *capture_process_dir(const char *dir, const char *which, char **ret);

/** The directory of @p p, one of the processes in @p c's manifest that have one. @p ret: for
 * free(). @return NULL, or an error: nothing is there, or a link that somebody put there. */
struct err *capture_child_dir(const struct capture *c, const struct cap_process *p,
			      char **ret);

/** @return the directory as given to capture_open(); valid until capture_close(). */
const char *capture_dir(const struct capture *c);

/** @return the manifest; valid until capture_close(). */
const struct cap_info *capture_info(const struct capture *c);

/** @return the directory's descriptor: what is made in it is made below this. */
int capture_dir_fd(const struct capture *c);

/** @return the mode, before the umask, of what is made from it: whoever may not read the
 * capture may not read that either. */
mode_t capture_mode(const struct capture *c);

/** @return whether the events of a capture that is_joint have what other processes wrote. */
bool capture_is_joined(const struct capture *c);

/** Its log is written once more (cap_joined.c): all events, in their order, some with other writes. The
 * one that there was is gone. Nobody reads it before it is kept. @p c is the caller's and stays open. @return ERR_OS. */
struct cap_joined;
struct cap_events;
struct err *cap_joined_create(const struct capture *c, struct cap_joined **ret);
struct err *cap_joined_put(struct cap_joined *j, const struct cap_event *ev);
/** What has been put so far. */
struct err *cap_joined_read(struct cap_joined *j, struct cap_events **ret);
struct err *cap_joined_finish(struct cap_joined *j);
struct err *cap_joined_keep(struct cap_joined *j);
void cap_joined_destroy(struct cap_joined *j);
void cap_joined_destroyp(struct cap_joined **j);

/** Open file number @p file (1-based) as @p fd, which the caller closes. @return NULL or
 * ERR_RANGE, ERR_NOT_FOUND (contents were not kept), ERR_FORMAT (it is no regular file),
 * ERR_TRUNCATED (the copy has another size, or is gone). */
struct err *capture_file_open(const struct capture *c, uint32_t file, int *fd);

/** Write into @p buf the path of that file, which has been found to be one, for those who take
 * paths only. @return as capture_file_open(). */
struct err *capture_file_path(const struct capture *c, uint32_t file, char *buf,
			      size_t buf_bytes);

/** @return the build-id of ELF file @p fd in hex (free()), NULL when it has none, is not
 * ELF64 or is damaged. */
char *capture_build_id(int fd);

/** One mapping in the start state. */
struct cap_mapping {
	uint64_t start, end; ///< addresses; start <= a < end
	int prot;	     ///< PROT_*
	uint32_t file;	     ///< 1-based index of the kept file, 0 = anonymous
	uint64_t file_offset;
	bool is_stack, is_vdso, is_heap;
	char *name; ///< as in /proc/PID/maps, "" when anonymous
	/** Contents held by the core: the first core_bytes at core_offset of start.core;
	 * 0 bytes when the mapping is unmodified file contents (read them from `file`).
	 * Set core_bytes for cap_writer_core() to say how much to save. */
	uint64_t core_offset, core_bytes;
};

/** One thread in the start state. */
struct cap_thread {
	uint32_t tid;
	struct cap_regs regs;
	uint8_t *
		xstate; ///< XSAVE area (standard format), xstate_bytes; owned by the core
	size_t xstate_bytes;
	uint64_t clear_child_tid; ///< where the kernel writes 0 at its end; 0 = nowhere
	uint64_t robust_list;	  ///< what set_robust_list() gave; 0 = nothing
};

/** The start state, parsed from start.core. */
struct cap_core {
	/** All threads; [0] runs first. Always there when read; a program of one thread
	 * may be written without. */
	struct cap_thread *threads;
	size_t n_threads;
	/** Of the thread that runs first; xstate is threads[0].xstate when there is one. */
	uint32_t tid;
	char *exe; ///< for gdb; may be NULL when writing
	struct cap_regs regs;
	uint8_t *xstate; ///< XSAVE area (standard format), xstate_bytes
	size_t xstate_bytes;
	uint64_t brk;		      ///< the program break; 0 = the first brk call tells
	struct cap_mapping *mappings; ///< ascending
	size_t n_mappings;
	uint64_t *auxv; ///< pairs, n_auxv pairs
	size_t n_auxv;
	bool is_end;	  ///< end.core, not start.core
	bool is_foreign;  ///< of the kernel, or of gdb: cap_core_open_foreign()
	uint8_t *siginfo; ///< end.core of a crash: 128 bytes; else NULL
	const char *name; ///< of the file, when read; static
	int fd;		  ///< of the file, for pread
};

/** Parse start.core. @return NULL, ERR_FORMAT, ERR_TRUNCATED, ERR_NOT_FOUND;
 * ERR_UNSUPPORTED for a capture of the flight recorder, which has none. */
struct err *cap_core_open(const struct capture *c, struct cap_core **ret);

/** Parse end.core: threads[0] is the one that crashed or entered the trigger. A thread that
 * was in a system call stands at its instruction, rax its number, as if not yet made.
 * @return as cap_core_open(). */
struct err *cap_end_core_open(const struct capture *c, struct cap_core **ret);

/** Parse the core of a process that was not recorded, as Linux, gdb's gcore and systemd-coredump
 * (unpacked) leave it. Mappings have names and offsets, but `file` is 0; what the core does not
 * hold of memory that is no file's is no mapping. A thread may lack its xstate.
 * @return as cap_core_open(). */
struct err *cap_core_open_foreign(const char *path, struct cap_core **ret);
void cap_core_close(struct cap_core *core);

/** Fill @p buf with @p size bytes of @p core's memory at @p addr (core contents, file
 * contents, zeros for the untouched rest). @return NULL or ERR_RANGE. */
struct err *cap_core_read(const struct capture *c, const struct cap_core *core,
			  uint64_t addr, void *buf, size_t size);

/** @return the mapping that @p addr lies in, as long-lived as @p core; or NULL. */
const struct cap_mapping *cap_core_mapping(const struct cap_core *core, uint64_t addr);

struct cap_events;

/** Iterate the event log from its start. */
struct err *cap_events_open(const struct capture *c, struct cap_events **ret);
void cap_events_close(struct cap_events *it);

/** Stand at the log's start again. */
void cap_events_rewind(struct cap_events *it);

/** Where @p it keeps what, beside malloc's memory: for one who is going to take memory back. */
struct cap_events_memory {
	void *read;  ///< what system calls fill, for a moment; malloc's
	void *parts; ///< mapped by itself; NULL: not yet
	size_t read_bytes, parts_bytes;
};

struct cap_events_memory cap_events_memory(const struct cap_events *it);

/** Give back the memory of what was unpacked, and have it again as it was: pointers into the last
 * event stay valid behind the second. Between them nothing else is done with @p it.
 * @return ERR_OS, ERR_FORMAT: the file is another one now. */
void cap_events_rest(struct cap_events *it);
struct err *cap_events_wake(struct cap_events *it);

/**
 * Read the next event into @p ev; what it borrows is valid until the next call.
 *
 * @param is_end  Set true (and @p ev untouched) behind the last event.
 * @return NULL, ERR_TRUNCATED (the log breaks off here; everything before was good),
 *	   ERR_FORMAT (checksum or structure wrong; says at which byte).
 */
struct err *cap_events_next(struct cap_events *it, struct cap_event *ev, bool *is_end);

/** Call @p fn for each event of the log, which it borrows, until it fails.
 * @return its error, or one of cap_events_open() and cap_events_next(). */
struct err *cap_events_each(const struct capture *c,
			    struct err *(*fn)(void *ctx, const struct cap_event *ev),
			    void *ctx);

/** The same of a log that may break off or be damaged, whose events end there: for those whom
 * a replay tells so anyhow. @return without ERR_TRUNCATED and ERR_FORMAT. */
struct err *cap_events_readable(const struct capture *c,
				struct err *(*fn)(void *ctx, const struct cap_event *ev),
				void *ctx);

/* ---- writing (pt-collect) --------------------------------------------------- */

struct cap_writer;
struct cap_mask;

/** Create @p dir (must not exist, or be empty and as file_make_dir() takes it) and start a
 * bundle in it. Opens fail with the reason; nothing is left behind then. */
struct err *cap_writer_create(const char *dir, struct cap_writer **ret);

/** Start the bundle of a followed process as children/@p name of @p root. It shares the
 * kept files with @p root, whose bundle it is part of. */
struct err *cap_writer_create_child(struct cap_writer *root, const char *name,
				    struct cap_writer **ret);

/** Call it children/@p name from now on. */
struct err *cap_writer_rename_child(struct cap_writer *w, const struct cap_writer *root,
				    const char *name);

/** From now on leave out of @p w, and of the bundles that follow from it, what @p mask looks
 * for (cap_mask.h). @p mask: borrowed, and may learn more values later; or NULL. */
void cap_writer_set_mask(struct cap_writer *w, struct cap_mask *mask);

/** Stop without a manifest: a bundle that says it is unfinished stays. NULL is fine. */
void cap_writer_destroy(struct cap_writer *w);

/** Give up a bundle that never became anything: everything made so far is removed. */
void cap_writer_remove(struct cap_writer *w);

/** A copy of a process became a program by exec: drop all events and the start state, so that
 * the capture is of the program. Kept files stay. */
struct err *cap_writer_restart(struct cap_writer *w);

/** A program became another one by exec: what @p w has is from now on the bundle of a followed
 * process, children/@p name of @p root, for cap_writer_finish(); and @p w begins again.
 * cap_writer_remove() of @p root removes it, too.
 *
 * @param root  may be @p w.
 * @param ret   the caller's; set where the bundle was made, also on failure; else NULL. */
struct err *cap_writer_split(struct cap_writer *w, struct cap_writer *root,
			     const char *name, struct cap_writer **ret);

/** @return the bundle's directory; until the writer is renamed or gone. */
const char *cap_writer_dir(const struct cap_writer *w);

/** @return the same as a descriptor, the writer's. */
int cap_writer_dir_fd(const struct cap_writer *w);

/** @return the files kept so far; until the next one is. */
const struct cap_file *cap_writer_files(const struct cap_writer *w, size_t *n);

/** Append @p ev. A full disk is ERR_OS with ENOSPC; the log then ends at a whole frame. */
struct err *cap_writer_event(struct cap_writer *w, const struct cap_event *ev);

/** Bring the events appended so far to the file: what a killed recorder leaves. Each call
 * costs compression, so once a second is plenty. */
struct err *cap_writer_flush(struct cap_writer *w);

/** Keep a copy of open file @p fd that the program knows as @p path; a file already kept
 * (same device, inode, size, mtime) is not copied again. @p ret gets the 1-based index. */
struct err *cap_writer_file(struct cap_writer *w, int fd, const char *path,
			    uint32_t *ret);

/** Write start.core, or end.core when core->is_end. @p read_mem reads the stopped program's memory. */
struct err *cap_writer_core(struct cap_writer *w, const struct cap_core *core,
			    struct err *(*read_mem)(void *ctx, uint64_t addr, void *buf,
						    size_t size),
			    void *ctx);

/** A capture being carried over to another one, whose files have other numbers. */
struct cap_copy {
	const struct capture *from;
	struct cap_writer *to;
	uint32_t *file; ///< 1-based numbers there, by those here; 0: not kept. For free()
};

/** Keep the files there, and fill in c->file. */
struct err *cap_copy_files(struct cap_copy *c);

/** Write @p core, which is of c->from, there. */
struct err *cap_copy_core(struct cap_copy *c, const struct cap_core *core);

/** Finish it with @p info, a copy of the other's manifest that owns nothing, changed as its caller
 * likes; of processes and PT it tells nothing unless the caller says so. */
struct err *cap_copy_finish(struct cap_copy *c, struct cap_info *info);

/** @return how many events were written. */
uint64_t cap_writer_events(const struct cap_writer *w);

/** It is finished, and so are its children: when root records by sudo, its directory becomes that of
 * who called sudo (give_to_caller()), if it was not there before. @return as that. */
struct err *cap_writer_give(const struct cap_writer *w);

/** Close everything and write manifest.json. @p info: files is filled in by the writer,
 * is_complete and `missing` (malloc'ed texts are appended) computed from gaps and flags,
 * `end` from the events when it is CAP_END_UNKNOWN; files stays borrowed from @p w.
 * @p bytes gets the bundle's size. */
struct err *cap_writer_finish(struct cap_writer *w, struct cap_info *info,
			      uint64_t *bytes);

#endif
