// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The recorder's rooms-internal border: a session is one `faultline record`, a process one
 * program in it. Private to pt-collect/.
 *
 * Invariants:
 *  1. Syscalls are never ptrace-stopped: BPF records them. ptrace handles the rare: start,
 *     signals, trapped instructions, children, exit, and the stops that BPF asks for.
 *  2. At every ptrace stop of the target the ring is drained before the stop's own event
 *     is logged. One thread cannot be at two places, so that makes the order total.
 *  3. Whatever fails in recording, the program itself runs on to its own end.
 */
#ifndef PT_COLLECT_PTC_H
#define PT_COLLECT_PTC_H

#include <linux/types.h>
#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "bpf/record.h"
#include "capture/capture.h"

struct ptc_bpf;

/** Memory on its way into an event. */
struct ptc_writes {
	VEC(uint8_t) data;
	VEC(struct cap_write) list; ///< .data is an offset into data while collecting
};

struct ptc_snapshot;

/** An event of a ptrace stop on its way to the log (ptc_pending.c). */
struct ptc_pending {
	struct cap_event event;
	struct ptc_writes writes;
	uint64_t resumed_ns; ///< when its thread went on; UINT64_MAX = it has not
};

/** What is known of one thread of the target. */
struct ptc_thread {
	pid_t tid;
	bool is_attached; ///< its first stop is behind it
	/** Being stopped with all others (ptc_freeze.c): asked to, there, and whether its
	 * user had stopped it before. */
	bool is_asked, is_at_rest, is_in_group_stop;
	bool is_filtered; ///< seccomp may forbid it what we have it do
	/** Memory of the system call that is arriving from the ring (ptc_assemble.c). */
	struct ptc_writes now;
	/** Of an instruction whose result is chance, which it is about to execute and to
	 * stop behind; 0 = none. */
	uint64_t chance_rip;
	/** A system call that ended in ERESTART*: what it was is known only at what the
	 * thread does next. */
	struct cap_event held;
	struct ptc_writes held_writes;
	bool has_held;
	/** What ptrace stops of it told, until the ring shows it beyond. In order. */
	VEC(struct ptc_pending) pending;
	bool has_exited; ///< its EXIT is logged, or pending
	/** Signal handlers entered and not yet returned from; PTC_FRAMES_UNKNOWN + them. */
	unsigned n_frames;
	/** What a vfork child wrote into our memory, for the call that is about to end. */
	struct ptc_writes from_child;
	struct ptc_snapshot *vfork_memory; ///< as it was before that child
};

/** It may have entered handlers before we were there. */
#define PTC_FRAMES_UNKNOWN (1u << 30)

#define PTC_VDSO_STUBS 6

struct ptc_vdso_stub {
	uint64_t at, size; ///< of the function; 0 = there is none
	uint8_t original[24];
};

/** The vDSO of a process that is attached to. */
struct ptc_vdso {
	uint64_t start, end;
	uint64_t gate; ///< `syscall' and a jump to itself: where threads make our calls
	struct ptc_vdso_stub stubs[PTC_VDSO_STUBS];
};

struct ptc_snapshot;
struct ptc_heap;
struct ptc_chaos;
struct ptc_random;
struct ptc_session;

/** A file or segment that is mapped shared (ptc_shared.c). */
struct ptc_shared {
	uint64_t key; ///< which
	bool is_told; ///< that others can write it
};

struct ptc_range {
	uint64_t start, end; ///< addresses
};

struct ptc_ranges {
	VEC(struct ptc_range) list; ///< ascending
};

/** Patterns, as of glob(7). */
struct ptc_names {
	const char **data;
	size_t size, capacity;
};

/** What the user wants left out. */
struct ptc_private {
	struct ptc_names env;	   ///< environment variables: their values
	struct ptc_names mappings; ///< by path, or as /proc/PID/maps says, or [anon]
};

/** A process being recorded, into a bundle of its own. */
struct ptc_process {
	struct ptc_session *session;
	pid_t pid;
	int mem_fd;	      ///< /proc/PID/mem
	uint64_t syscall_at;  ///< address of a syscall instruction in the vDSO; 0 = none
	struct ptc_vdso vdso; ///< when attached to
	bool is_left;	      ///< was attached to, and is not any more
	struct cap_writer *writer;
	struct err *failure; ///< the first thing that went wrong; recording is off since
	bool is_recording;
	VEC(struct ptc_thread *) threads;
	bool has_threads;   ///< it has, or had, several: they share one CPU
	cpu_set_t affinity; ///< before that
	pid_t running;	    ///< has_threads: who is current at the end of the log
	struct ptc_heap *heap;
	VEC(struct ptc_shared) shared;
	VEC(struct ptc_range) masked; ///< values of environment variables
	struct map chance_sites; ///< addresses at which such an instruction was executed
	char *exe;
	uint64_t n_execs;  ///< how often the capture began anew
	bool has_executed; ///< it runs a program of its own, not a copy of its parent's
	int wait_status;   ///< of the program, once it ended
	bool has_ended;
	struct cap_info info; ///< for the manifest
	/** Followed (ptc_follow.c): its number, 0 = the program itself; its bundle's name under
	 * children/, NULL as long as there is none. */
	uint32_t index;
	char *dir;
	bool awaits_exec; ///< runs in its parent's memory: its history begins with an exec
};

/** A child that stopped before its parent's event told what it is, or the reverse. */
struct ptc_child {
	pid_t pid;
	bool has_stopped;
	pid_t parent; ///< the process that created it; 0 until the event came
	uint32_t parent_index;
	unsigned event;	   ///< PTRACE_EVENT_*
	unsigned n_frames; ///< handlers that the creating thread was in
};

/** One `faultline record`. */
struct ptc_session {
	struct ptc_bpf *bpf;
	bool wants_heap, follows, is_portable;
	const struct ptc_private *private; ///< the options'
	bool is_attached;		     ///< to a program that ran before (-p)
	bool wants_end;			     ///< leave it, it runs on
	uint64_t end_ns;		     ///< when to leave it by itself; 0 = never
	VEC(struct ptc_process *) processes; ///< owned; [0] is the program itself
	VEC(struct ptc_child) children;
	VEC(struct cap_process) followed; ///< by index - 1; complete at the end of each
	uint64_t followed_syscalls, followed_bytes;
	size_t n_gaps;	     ///< in what was followed
	char *first_gap;     ///< text of the first, NULL = none
	struct err *failure; ///< the first thing that went wrong with a followed process
	struct ptc_chaos *chaos; ///< NULL = the schedule is left alone
};

/* ---- session (ptc_session.c) ------------------------------------------------------ */

struct ptc_result;

/** What `record` was asked for. */
struct ptc_options {
	const char *dir;
	char **argv; ///< program and arguments, NULL-terminated
	bool wants_heap;
	bool follows; ///< record the children, too
	bool is_portable; ///< no instructions that another host may lack
	struct ptc_private private;
	bool wants_chaos;
	uint64_t seed;	       ///< of the first run's schedule
	unsigned until_fail;   ///< runs at most; 0 = one, whatever comes of it
	unsigned hang_seconds; ///< with until_fail: nothing ran for so long is a failure
	pid_t pid;	   ///< attach to this one instead; 0 = start argv
	double duration_s; ///< when attached, end after so long; 0 = never
	/** Attached: how many threads stopped how long for how much, in @p r; the recording
	 * begins. May be NULL. */
	void (*on_attached)(const struct ptc_options *o, const struct ptc_result *r);
};

#define PTC_EXIT_FAILED 125	    ///< faultline itself failed
#define PTC_EXIT_CANNOT_EXECUTE 126 ///< the program is there and cannot be executed
#define PTC_EXIT_NOT_FOUND 127	    ///< there is no such program

/** What came of it. */
struct ptc_result {
	struct cap_info info; ///< as in the manifest; files is not kept
	size_t n_files, n_processes;
	uint64_t n_syscalls, bytes; ///< of all processes
	size_t n_gaps;		    ///< of all processes
	char *first_gap;	    ///< text of the first, NULL = none
	int status;		    ///< what `record` exits with
	bool has_run;		    ///< the program was started
	bool has_hung;		    ///< and was ended by us
	bool is_asked_to_end; ///< a signal to us, or from the terminal, ended the program
	bool is_removed;      ///< it passed; its capture was not kept
	size_t n_threads;	    ///< attaching: as many stopped, so long, for so much
	uint64_t stopped_ns, saved_bytes;
};

/** Record @p o->argv. @return NULL with @p ret filled; an error otherwise (then
 * ret->has_run tells whether the program ran all the same). */
struct err *ptc_record(const struct ptc_options *o, struct ptc_result *ret);

struct ptc_points;

/** One of several recordings with what they share: @p b, and @p points unless NULL. With
 * o->until_fail a run that passes leaves no capture. */
struct err *ptc_record_once(const struct ptc_options *o, struct ptc_bpf *b,
			    struct ptc_points *points, struct ptc_result *ret);
void ptc_result_deinit(struct ptc_result *r);

/** A ptrace stop of any thread: drain the ring, hand it to whom it concerns. */
void ptc_session_stop(struct ptc_session *s, pid_t tid, int status);

/** What waitpid() gave of any process: a stop or an end. */
void ptc_session_take(struct ptc_session *s, pid_t tid, int status);

/** The process that @p tid is a recorded thread of; NULL = none. */
struct ptc_process *ptc_process_of(struct ptc_session *s, pid_t tid);

/* ---- process (ptc_process.c) ------------------------------------------------------ */

/** Make what is known of process @p pid, to be recorded by @p s, which owns it. */
struct err *ptc_process_create(struct ptc_session *s, pid_t pid,
			       struct ptc_process **ret);
void ptc_process_destroy(struct ptc_process *p);

/** Open what is at hand of the stopped process. */
struct err *ptc_process_open(struct ptc_process *p);

/** Let stopped thread @p tid run on, unless chaos holds it back. */
void ptc_process_go_on(struct ptc_process *p, pid_t tid);

/** A ptrace stop of thread @p tid; the ring has been drained. */
#define PTC_END_STOP (SIGTRAP | PTRACE_EVENT_EXIT << 8) ///< si_code at a thread's end
void ptc_process_stop(struct ptc_process *p, pid_t tid, int status);

/** Log @p ev, or drop it when recording is off. A failure turns recording off. */
void ptc_log(struct ptc_process *p, const struct cap_event *ev);

/** Log a gap. */
void ptc_log_gap(struct ptc_process *p, pid_t tid, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Recording ends here (the program runs on); takes over @p err. */
void ptc_stop_recording(struct ptc_process *p, struct err *err);

/** CLOCK_MONOTONIC, as events have it. */
uint64_t ptc_now_ns(void);

struct ptc_thread *ptc_thread_find(struct ptc_process *p, pid_t tid);
void ptc_thread_destroy(struct ptc_thread *t);

/* ---- tracee (ptc_tracee.c) --------------------------------------------------------- */

/** Bytes of the target's memory; works on read-protected pages too. */
struct err *ptc_read(const struct ptc_process *p, uint64_t addr, void *buf, size_t size);

/** As much as is readable from @p addr on, at most @p size. @return bytes. */
size_t ptc_read_some(const struct ptc_process *p, uint64_t addr, void *buf, size_t size);

struct err *ptc_write(const struct ptc_process *p, uint64_t addr, const void *buf,
		      size_t size);

struct err *ptc_get_regs(pid_t tid, struct user_regs_struct *u);
struct cap_regs ptc_to_cap(const struct user_regs_struct *u);

/** Make stopped thread @p tid execute a system call with the syscall instruction at
 * @p at. Its registers are as before afterwards. @p ret gets its result. */
struct err *ptc_inject(pid_t tid, uint64_t at, long nr, const uint64_t args[6],
		       long *ret);

/** Keep signals away from stopped @p tid, but for those that cannot be, and SIGTRAP.
 * @p mask gets what it blocked. @return whether that worked. */
bool ptc_block_signals(pid_t tid, uint64_t *mask);
void ptc_unblock_signals(pid_t tid, uint64_t mask);

/** Let resting @p tid execute a little. */
struct err *ptc_nudge(pid_t tid);

/** Is @p tid as ptc_block_signals() left it? */
bool ptc_are_signals_blocked(pid_t tid);

/** @return whether this CPU can make cpuid trap. */
bool ptc_can_trap_cpuid(void);

/** Log a gap where it cannot. */
void ptc_trap_tell(struct ptc_process *p);

/** --portable without cpuid traps: glibc's part, through the environment of what we
 * start from here on. @return whether that could be done. */
bool ptc_trap_tune(void);

/** Let @p tid execute rdtsc and cpuid itself (@p is_allowed) or trap. */
struct err *ptc_allow_chance(pid_t tid, uint64_t at, bool is_allowed);

/** One line of /proc/PID/maps. */
struct ptc_map {
	uint64_t start, end, offset;
	int prot;
	bool is_shared;
	uint64_t inode;
	char name[4096]; ///< "" when anonymous
};

struct ptc_maps {
	VEC(struct ptc_map *) list;
};

struct err *ptc_maps_read(pid_t pid, struct ptc_maps *maps);
void ptc_maps_deinit(struct ptc_maps *maps);

/* ---- start (ptc_launch.c, ptc_start.c, ptc_mappings.c) -------------------------------- */

/** Start @p argv stopped before its first instruction. @return NULL with the pid; when
 * it cannot be executed, an error with @p exit_status set. */
struct err *ptc_launch(char **argv, pid_t *pid, int *exit_status);

/** Make the stopped program's chances ours, and save its start state. */
struct err *ptc_start(struct ptc_process *p);

/** Save the start state of a process that has run before: a child of fork that stands
 * behind the call, with its chances ours already. */
struct err *ptc_start_forked(struct ptc_process *p);

/** Fill core->mappings with what the stopped process has mapped, saying how much of each to
 * save; files are kept. */
struct err *ptc_take_mappings(struct ptc_process *p, const struct ptc_maps *maps,
			      struct cap_core *core);

/** Append the pages of writable mappings @p maps that are not as they were mapped. */
struct err *ptc_ranges_read(const struct ptc_process *p, const struct ptc_maps *maps,
			    struct ptc_ranges *ret);

/** With the process as context: what cannot be read is zeros. */
struct err *ptc_read_mapping(void *process, uint64_t addr, void *buf, size_t size);

/** Memory that other processes may write too? */
bool ptc_is_shared_memory(const struct ptc_map *m);

/** After an exec: rdtsc and cpuid are the program's own again. */
struct err *ptc_free_program(struct ptc_process *p);

/** Vector state of stopped @p tid. @p xstate is the caller's to free. */
struct err *ptc_take_xstate(pid_t tid, uint8_t **xstate, size_t *bytes);

/** The auxv as the kernel remembers it; without @p with_vdso that is hidden, as on the
 * stack. @p core owns the result. */
struct err *ptc_recall_auxv(pid_t pid, bool with_vdso, struct cap_core *core);

/* ---- attaching (ptc_attach.c and what it is made of) ----------------------------------- */

#define PTC_TRACE_OPTIONS                                               \
	(PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | \
	 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACESYSGOOD)

/** Can @p pid be attached to? A thread's number is replaced by its process'. @return why
 * not, and what to do. */
struct err *ptc_target_check(pid_t *pid);

/** A number, or the first letter, of a line of /proc/PID/task/TID/status; 0 = none. */
uint64_t ptc_status_number(pid_t pid, pid_t tid, const char *field, int base);
char ptc_status_letter(pid_t pid, pid_t tid, const char *field);

/** Stop all threads of @p p; those not traced yet become so. @p is_recorded: stops of other
 * kinds on the way are events. */
struct err *ptc_freeze(struct ptc_process *p, bool is_recorded);

/** Let the stopped threads go on, with ptrace options @p options; when @p is_leaving,
 * untraced. */
void ptc_thaw(struct ptc_process *p, bool is_leaving, unsigned long options);

/**
 * Take back the signals of ours that are on their way to resting thread @p t: the kernel
 * side's SIGSTOP, and the SIGSEGV of a trapped instruction, which it will execute again.
 * Nobody would expect them later.
 */
void ptc_drop_signals(struct ptc_process *p, struct ptc_thread *t);

/** Find the functions of the vDSO that are to make system calls. */
struct err *ptc_vdso_find(const struct ptc_process *p, const struct ptc_maps *maps,
			  struct ptc_vdso *v);

/** Change them, and change them back: no thread may be inside. */
struct err *ptc_vdso_divert(const struct ptc_process *p, const struct ptc_vdso *v);
struct err *ptc_vdso_restore(const struct ptc_process *p, const struct ptc_vdso *v);

/** Lead stopped @p tid out of the vDSO. */
struct err *ptc_vdso_leave(pid_t tid, const struct ptc_vdso *v);

/** The table of what is to be undone, made before any other process that is to share it. */
struct err *ptc_undo_init(void);

/** A new table for the resting threads of @p p, which make our calls at its gate. */
struct err *ptc_undo_begin(const struct ptc_process *p);

/** Nothing is to be undone any more. */
void ptc_undo_end(void);

/** @return the process that is not as it was; 0 = there is none. */
pid_t ptc_undo_pid(void);

/** Is that where its threads make our calls? */
bool ptc_undo_is_gate(uint64_t at);
void ptc_undo_vdso(struct ptc_vdso *v);

/** Its user stopped it, or let it go on. */
void ptc_undo_stopped(bool is_stopped);
bool ptc_undo_is_stopped(void);

/** Resting thread @p tid: take rseq, rdtsc and cpuid from it; and give them, and its CPUs,
 * back. */
struct err *ptc_undo_change(const struct ptc_process *p, pid_t tid);
struct err *ptc_undo_thread(pid_t tid);

/** Its recorder died while it made a call for us: it has not. */
struct err *ptc_undo_call(pid_t tid);

/** @p tid is about to make a call for us; these are its own registers. */
void ptc_undo_borrow(pid_t tid, const struct user_regs_struct *u);
void ptc_undo_give_back(pid_t tid);

/** @p tid is about to have its signals blocked; this is its own mask. */
void ptc_undo_shield(pid_t tid, uint64_t signals);
void ptc_undo_unshield(pid_t tid);

/**
 * Run @p fn in a process of its own, the recorder, and watch over it (ptc_keeper.c).
 *
 * @return what to exit with: @p fn's result.
 */
int ptc_keep(int (*fn)(void *ctx), void *ctx);

/** In the recorder: was the keeper killed? */
bool ptc_is_keeper_gone(void);

/** All threads rest: give back what was taken from them. */
struct err *ptc_attach_change_back(struct ptc_process *p);

/** Attach to the running program: it goes on, recorded; @p ret says how long it stood. On failure it goes on as before. */
struct err *ptc_attach_start(struct ptc_process *p, struct ptc_result *ret);

/** Leave it as if we had never been there; what it did until now is recorded. */
void ptc_attach_end(struct ptc_process *p);

/** It executed another program, and stands before that: the recording ends here. */
void ptc_attach_executed(struct ptc_process *p);

/** A syscall instruction in the vDSO: executable, always there, and not the program's
 * text. @return its address, 0 when there is none. */
uint64_t ptc_find_syscall(const struct ptc_process *p, const struct ptc_maps *maps);

/* ---- when the recorder is killed (ptc_wards.c, ptc_release.c) ------------------------------- */

/** Processes that are started by us, or follow from these, and are not as they would be by
 * themselves: what the keeper must know when the recorder dies. Made before the fork. */
struct err *ptc_wards_init(void);
void ptc_wards_add(pid_t pid, uint64_t syscall_at, bool is_ours);
void ptc_wards_forget(pid_t pid);

/** A user's SIGSTOP stopped it (it is to stay so), or SIGCONT ended that. */
void ptc_wards_stopped(pid_t pid, bool is_stopped);

/** The CPUs that it may use by itself. */
void ptc_wards_cpus(pid_t pid, const cpu_set_t *cpus);

/** The recorder is dying: become the tracer of all of them as soon as it has let go. */
void ptc_wards_seize(pid_t recorder);

/** It is dead: leave all of them as they would be. @return whether one goes on. */
bool ptc_wards_repair(void);

/** Wait for the end of the program, as its recorder would have. */
void ptc_wards_wait(void);

/**
 * Leave process @p pid, whose recorder died, alone: each of its threads executes rdtsc and
 * cpuid itself again, goes on with what it was doing, and is not traced. Signals on their
 * way stay on their way, but for SIGSTOPs of the kernel side.
 *
 * @param syscall_at  As in struct ptc_process; used when the vDSO has gone. May be 0.
 * @param is_stopped  Set when it is in a group stop, and stays in it.
 * @return NULL also when the process has ended; otherwise what could not be restored.
 */
struct err *ptc_release(pid_t pid, uint64_t syscall_at, bool *is_stopped);

/** The same for those children of @p pid, and theirs, that nobody traces. */
void ptc_release_children(pid_t pid);

/** Become the tracer of all threads of @p pid, which run on. @return whether nobody else
 * is (also when it has ended). */
bool ptc_seize(pid_t pid);

/** Stop recording @p p and leave it as it would be by itself. */
void ptc_leave(struct ptc_process *p);

/* ---- rights (ptc_privilege.c) --------------------------------------------------------- */

/** Have what recording needs and no more. @return ERR_PERMISSION with what is missing. */
struct err *ptc_privilege_init(void);

/** Put in effect what we have, or no more. Root has it in effect always. */
void ptc_privilege_use(bool is_used);

/** Have nothing any more (root: as before). */
void ptc_privilege_end(void);

/* ---- BPF (ptc_bpf.c) ------------------------------------------------------------------ */

/** Load and attach. */
struct err *ptc_bpf_create(struct ptc_bpf **ret);
void ptc_bpf_destroy(struct ptc_bpf *b);

/** A session ends: nobody is recorded, nothing probed, the ring empty. */
void ptc_bpf_end_session(struct ptc_bpf *b);

/** Record process @p tgid from here on, or no more. */
void ptc_bpf_set_recorded(struct ptc_bpf *b, pid_t tgid, bool is_recorded);

/** Stop a recorded thread at the end of a system call with a chance of @p below in 2^32;
 * @p seed makes the choices. */
void ptc_bpf_set_chance(struct ptc_bpf *b, uint32_t below, uint64_t seed);

/** Record from here on which thread of a process runs: @p last did until now. */
struct err *ptc_bpf_watch_threads(struct ptc_bpf *b, const struct rec_switch *last);
void ptc_bpf_unwatch_threads(struct ptc_bpf *b, pid_t tgid);

/** Thread @p tid is gone; its number may come again. */
void ptc_bpf_forget_thread(struct ptc_bpf *b, pid_t tid);

/** Thread @p tid is in call @p nr, which it goes on with by restart_syscall. */
void ptc_bpf_set_restarting(struct ptc_bpf *b, pid_t tid, uint32_t nr);

/** Hand all that is in the ring to @p fn. */
void ptc_bpf_set_consumer(struct ptc_bpf *b,
			  void (*fn)(void *ctx, void *rec, size_t size), void *ctx);
void ptc_bpf_drain(struct ptc_bpf *b);

/** Readable once much has gathered. */
int ptc_bpf_fd(const struct ptc_bpf *b);

/** Events that the ring refused: 0, or we are wrong. */
uint64_t ptc_bpf_lost(const struct ptc_bpf *b);

/** Probe the instruction at @p offset of file @p path, whose result is chance. */
struct err *ptc_bpf_probe_chance(struct ptc_bpf *b, pid_t pid, const char *path,
				 uint64_t offset);

/** Probe file @p path in process @p pid at @p n sites. @return NULL when all are probed,
 * else none is. */
struct err *ptc_bpf_probe(struct ptc_bpf *b, pid_t pid, const char *path,
			  const struct cap_heap_site *sites, size_t n);

/* ---- the table (ptc_table.c) and what it leads to (ptc_outputs.c) ----------------------- */

/** Descriptor of call @p nr, by its command where it has one; NULL = not listed.
 * @p command descriptors of unknown modern ioctls are made in @p made_up. */
const struct rec_desc *ptc_table_find(int64_t nr, const uint64_t args[6],
				      struct rec_desc *made_up);

/** Walk the table: descriptors by number, command descriptors by key. */
const struct rec_desc *ptc_table_syscall(uint32_t nr);
size_t ptc_table_commands(void);
const struct rec_desc *ptc_table_command(size_t i, uint64_t *key);

/** @return the name of call @p nr, "syscall_N" (static buffer) when it has none. */
const char *ptc_table_name(int64_t nr);

/** Read all that the call in @p e wrote from the stopping target into @p w.
 * @return whether everything could be read. */
bool ptc_outputs_read(struct ptc_process *p, struct ptc_writes *w,
		      const struct rec_syscall *e);

/** Add @p size bytes of the target's memory at @p addr to @p w. */
bool ptc_outputs_add(struct ptc_process *p, struct ptc_writes *w, uint64_t addr,
		     uint64_t size);

/* ---- memory for events (ptc_writes.c) ---------------------------------------------------- */

/** Add a copy of @p data. @return false when memory is out. */
bool ptc_writes_add(struct ptc_writes *w, uint64_t addr, const void *data, size_t size);

/** Nothing is added any more: let @p ev show them. */
void ptc_writes_give(struct ptc_writes *w, struct cap_event *ev);
void ptc_writes_clear(struct ptc_writes *w);
void ptc_writes_deinit(struct ptc_writes *w);

/* ---- events (ptc_assemble.c, ptc_signal.c, ptc_trap.c, ptc_files.c, ptc_child.c) -------- */

/** A record from the ring. @p session: a struct ptc_session. */
void ptc_assemble(void *session, void *rec, size_t size);

/** A held call turns out to be restarted (@p is_interrupted false), or a handler runs
 * before it fails with EINTR. @return false when none was held; else t->held and
 * t->held_writes are to be logged now. */
bool ptc_assemble_settle(struct ptc_thread *t, bool is_interrupted);

/** Log the held call, if any: the ring shows that it was restarted. */
void ptc_assemble_restarted(struct ptc_process *p, struct ptc_thread *t);

/** Handle SIGSEGV of a trapped instruction. @return whether it was one; the thread then
 * stands behind it. */
bool ptc_trap(struct ptc_process *p, pid_t tid, const siginfo_t *si);

/** Log signal @p si that is being delivered to @p tid and let the thread go on. */
void ptc_signal(struct ptc_process *p, pid_t tid, const siginfo_t *si);

/** The program mapped a file: keep what it mapped. */
void ptc_files_mapped(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_syscall *e, struct cap_event *ev);

/** Open the file behind a mapping: by the mapping itself where allowed, else by name.
 * @return a descriptor or -1. */
int ptc_files_open(const struct ptc_process *p, const struct ptc_map *m);

/** Keep the file behind @p path in the target's mapping; 0 when it cannot be had. */
uint32_t ptc_files_keep(struct ptc_process *p, const struct ptc_map *m);

/** A child made by fork, vfork or clone: followed, or it runs untouched by us. */
void ptc_child_created(struct ptc_process *p, pid_t parent, unsigned event, pid_t child);
void ptc_child_stopped(struct ptc_session *s, pid_t child);

/** The child ended before it ever stopped. */
void ptc_child_ended(struct ptc_session *s, pid_t child);

/** Process @p index ended: of children whose creation it never told nobody will tell. */
void ptc_child_orphans(struct ptc_session *s, uint32_t index);

/** Let stopped @p child go, as if we had never been there. */
void ptc_child_free(pid_t child);

/** A vfork child of thread @p parent is about to run in the process' memory, or is done
 * with it: what it wrote there becomes an input (ptc_vfork.c). */
void ptc_vfork_created(struct ptc_process *p, pid_t parent);
void ptc_vfork_done(struct ptc_process *p, pid_t parent);
void ptc_snapshot_destroy(struct ptc_snapshot *snap);

/* ---- followed processes (ptc_follow.c), what manifests say (ptc_describe.c) ------------- */

/** Record stopped child @p c from here on, or from its exec on when @p shares_memory. It
 * goes on in any case. */
void ptc_follow(struct ptc_session *s, const struct ptc_child *c, bool shares_memory);

/** Followed process @p p executed a program and stands before it: its bundle begins, or
 * begins anew. */
struct err *ptc_follow_executed(struct ptc_process *p);

/** Followed process @p p ended (p->has_ended), or is not traced any more: its bundle is
 * finished. @p p is gone then. */
void ptc_follow_ended(struct ptc_process *p);

/** The recording ends: what still runs of the followed processes is left as it would be by
 * itself, and their bundles are finished. */
void ptc_follow_leave(struct ptc_session *s);

/** What is known of the process at its beginning, into p->info. @p argv: NULL = what it was
 * executed with. */
struct err *ptc_describe(struct ptc_process *p, char *const *argv);

/** Finish the bundle: p->info is what the manifest says, but for files. @p n_files may be
 * NULL. @return also why recording stopped before. */
struct err *ptc_finish(struct ptc_process *p, uint64_t *bytes, size_t *n_files);

/** How it ended: its exit status or signal, or detached when it has not. */
void ptc_describe_end(const struct ptc_process *p, enum cap_end *end, int *value);
void ptc_info_deinit(struct cap_info *info);
/* ---- chaos (ptc_explore.c, ptc_chaos.c, ptc_points.c, ptc_hang.c) ------------------------ */

/** Record again and again with another schedule until the program fails, at most
 * o->until_fail times. The failing run is the capture.
 * @param n_runs set to the number of runs, the failing one included. */
struct err *ptc_explore(const struct ptc_options *o, struct ptc_result *ret,
			unsigned *n_runs);

/** Did this run fail? */
bool ptc_result_is_failure(const struct ptc_result *r);

/** An instruction of the program at which a thread may be stopped, and what was learnt
 * about it in the runs so far. */
struct ptc_point {
	uint64_t at; ///< address as in the file
	bool is_reached;
	bool is_contended; ///< a thread held here met another one's access
	unsigned n_tried;  ///< runs that waited for it
};

struct ptc_points {
	VEC(struct ptc_point) list; ///< by address
	uint64_t bias;		    ///< to add to them in the present run
	bool has_list;
};

/** Find them in the stopped program, or place those found in an earlier run. */
struct err *ptc_points_find(const struct ptc_process *p, struct ptc_points *points);
void ptc_points_deinit(struct ptc_points *points);

/** Choose a point: one known to be contended, one near point @p last (SIZE_MAX = none), or
 * any. There must be one. @return its index. */
size_t ptc_points_draw(struct ptc_points *points, struct ptc_random *random, size_t last);

/** The access that ended at address @p behind met another thread's. */
void ptc_points_contend(struct ptc_points *points, uint64_t behind);

/** An access to memory. */
struct ptc_watch {
	uint64_t addr;
	unsigned size; ///< 1, 2, 4 or 8; addr is a multiple
	bool is_write;
};

/** What the instruction at which a stopped thread stands (@p u) is about to access.
 * @return false when that is nothing but the stack. */
bool ptc_points_target(const struct ptc_process *p, const struct user_regs_struct *u,
		       struct ptc_watch *ret);

/** Make stopped thread @p tid stop (SIGTRAP, TRAP_HWBKPT) before each of the @p n <= 3
 * instructions @p at, and behind each access that conflicts with @p watch (NULL = none).
 * @return false when the CPU or the kernel cannot. */
bool ptc_points_arm(pid_t tid, const uint64_t *at, unsigned n,
		    const struct ptc_watch *watch);

/** Did stopped thread @p tid hit its watch since last asked? */
bool ptc_points_take_hit(pid_t tid);

/** The program stands at its first instruction: draw a strategy from @p seed. @p points
 * are borrowed. */
struct err *ptc_chaos_create(struct ptc_process *p, struct ptc_points *points,
			     uint64_t seed, struct ptc_chaos **ret);
void ptc_chaos_destroy(struct ptc_chaos *c);

/** Thread @p tid appeared (told twice: done once); or is about to end. */
void ptc_chaos_add(struct ptc_chaos *c, pid_t tid);
void ptc_chaos_forget(struct ptc_chaos *c, pid_t tid);

/** Thread @p tid stopped and could go on. @return true when it is held back: then it goes
 * on by a later ptc_chaos_step(). */
bool ptc_chaos_holds(struct ptc_chaos *c, pid_t tid);

/** Do what is due. @return when to be called again, CLOCK_MONOTONIC nanoseconds. */
uint64_t ptc_chaos_step(struct ptc_chaos *c);

/** What a thread is doing. */
enum ptc_wait {
	PTC_WAIT_NONE,	  ///< it runs, or would if it had a CPU
	PTC_WAIT_SOME,	  ///< it waits, perhaps for time to pass or for somebody outside
	PTC_WAIT_ENDLESS, ///< it waits for another thread, without a time limit
	PTC_WAIT_STOPPED, ///< by ptrace
	PTC_WAIT_GONE
};

/** @param word set to the futex it waits for, or 0. */
enum ptc_wait ptc_wait_of(pid_t pid, pid_t tid, uint64_t *word);

/** How long the program has been standing still. Zeroed at first but for limit_ns. */
struct ptc_hang {
	uint64_t limit_ns, since_ns, n_run;
	bool is_endless;
};

/** Look at all threads of @p p. @return whether they hang. */
bool ptc_hang_look(struct ptc_hang *h, const struct ptc_process *p);

/** Say on stderr which thread waits for what. */
void ptc_hang_describe(const struct ptc_process *p);

/* ---- threads (ptc_threads.c) ------------------------------------------------------------ */

/** Thread @p running stands in the clone that makes the second thread: from here on they
 * share one CPU, and who runs is recorded. */
struct err *ptc_threads_begin(struct ptc_process *p, pid_t running);

/** The same for a program that was attached to, whose threads all stand still; @p first is
 * threads[0] of its start state. */
struct err *ptc_threads_attach(struct ptc_process *p, pid_t first);

/** There are no several threads any more: they may run everywhere again. */
void ptc_threads_end(struct ptc_process *p);

/** Child process @p child runs where the program could before it had threads. */
void ptc_threads_release(const struct ptc_process *p, pid_t child);

/** Thread @p tid is gone for good; its number may come again. The ring has been drained. */
void ptc_threads_reaped(struct ptc_session *s, pid_t tid);

/* ---- what ptrace stops tell, in order (ptc_pending.c) ------------------------------------ */

/** Log @p ev, what a ptrace stop of thread @p t told; at once where there are no others.
 * ev->regs are those at the stop. Takes over @p writes (NULL = none), which @p ev does not
 * show yet. */
void ptc_pending_log(struct ptc_process *p, struct ptc_thread *t,
		     const struct cap_event *ev, struct ptc_writes *writes);

/** The same for the call that is held, if any: see ptc_assemble_settle(). */
void ptc_pending_settle(struct ptc_process *p, struct ptc_thread *t, bool is_interrupted);

/** Thread @p t is about to go on from its ptrace stop. */
void ptc_pending_resume(struct ptc_thread *t);

/** Thread @p t is known to be beyond its stops: log what they told. */
void ptc_pending_flush(struct ptc_process *p, struct ptc_thread *t);

/** A record of the ring: thread @p t does not run any more. */
void ptc_pending_switch(struct ptc_process *p, struct ptc_thread *t,
			const struct rec_switch *s);
void ptc_pending_deinit(struct ptc_thread *t);

/** The signature (capture.h) of process @p pid where a thread has registers @p regs. */
struct cap_signature ptc_signature_read(pid_t pid, const struct cap_regs *regs);

/* ---- shared memory (ptc_shared.c) ------------------------------------------------------- */

struct stat;

/** @return a number that is the same for the same file; never 0. */
uint64_t ptc_shared_identity(const struct stat *st);

/** The program mapped file @p key shared: log a gap if others can write it, now or later. */
void ptc_shared_mapped(struct ptc_process *p, uint64_t key);

/** Look again. */
void ptc_shared_look(struct ptc_process *p);

/** The System V segment at @p addr. @return false when there is nothing. */
bool ptc_shared_segment(struct ptc_process *p, uint64_t addr, uint64_t *size,
			uint64_t *key);

/* ---- chance in the code (ptc_chance.c, ptc_code.c) --------------------------------------- */

/** Probe each rdrand, rdseed and rdpid in [@p offset, @p offset + @p size) of file
 * @p path, which process @p p has mapped as code. What cannot be probed is said in the
 * log of faultline's own; replay stops there by name. */
void ptc_chance_mapped(struct ptc_process *p, const char *path, uint64_t offset,
		       uint64_t size);

/** The same for all that is mapped now. */
void ptc_chance_start(struct ptc_process *p, const struct ptc_maps *maps);

/** Thread @p tid stopped: when that is behind such an instruction, log what it gave. */
void ptc_chance_stopped(struct ptc_process *p, pid_t tid);

/** The ring says that thread @p t is about to execute such an instruction. */
void ptc_chance_begun(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_chance *e);

/** The ring says that thread @p t does not run any more: log what such an instruction gave
 * if it stands behind one. Corrects @p s, where it stands inside the probe. */
void ptc_chance_switched(struct ptc_process *p, struct ptc_thread *t,
			 struct rec_switch *s);

/** The functions of an ELF file, by what unwinders and symbols tell of their beginnings. */
struct ptc_code;

struct err *ptc_code_open(int fd, struct ptc_code **ret);
void ptc_code_close(struct ptc_code *c);
void ptc_code_closep(struct ptc_code **c);

/**
 * Is there, in the file's code, an instruction of which byte @p offset is part of the
 * opcode? Only when all of the function around it is sound: decoded from its beginning it
 * is instructions, and no branch inside it lands in the middle of one.
 *
 * @return the file offset of that instruction; 0 = not known.
 */
uint64_t ptc_code_find(struct ptc_code *c, uint64_t offset);

/* ---- what is left out (ptc_private.c) ---------------------------------------------------- */

/** Find the values to mask in the stopped program. */
struct err *ptc_private_find(struct ptc_process *p);

/** @return whether contents of mapping @p name are left out; says so in the log. */
bool ptc_private_omits(struct ptc_process *p, const char *name);

/** For cap_writer_core(), with the process as context: ptc_read_mapping() with values
 * masked. */
struct err *ptc_private_read(void *process, uint64_t addr, void *buf, size_t size);

/* ---- heap probes (ptc_sites.c, ptc_heap.c) --------------------------------------------- */

/** A probe site inside a function. */
struct ptc_site {
	unsigned offset;      ///< bytes behind the entry
	bool is_emulated;     ///< the kernel emulates the instruction there
	const char *mnemonic; ///< static text
};

/** Choose where to probe a function whose first @p size bytes are @p code and whose first
 * @p n_args integer arguments matter. Total: falls back to the entry. */
struct ptc_site ptc_site_choose(const uint8_t *code, size_t size, unsigned n_args);

/** Place probes when the program has mapped its libc, or is static. */
void ptc_heap_mapped(struct ptc_process *p, const char *path, uint32_t file, bool is_exe);

/** The sites for the manifest; borrowed until the session ends. */
const struct cap_heap_site *ptc_heap_sites(const struct ptc_process *p, size_t *n);
void ptc_heap_destroy(struct ptc_heap *h);

#endif
