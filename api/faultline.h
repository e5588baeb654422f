/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright 2026 The Faultline authors */

/**
 * @file
 * libfaultline: read captures that `faultline record` made, and be where the program was in
 * one, forward and backward. Link with `pkg-config --libs faultline`.
 *
 *	struct flt_capture *c;
 *	struct flt_machine *m;
 *	struct flt_stop stop;
 *
 *	if (flt_capture_open("crash.flt", NULL, &c) || flt_machine_start(c, &m))
 *		errx(1, "%s", flt_error());
 *	flt_machine_seek(m, FLT_FOREVER, &stop, sizeof(stop));	// to its end
 *	struct flt_trap written = { .on = FLT_ON_WRITE, .addr = a, .size = 8 };
 *	flt_machine_back(m, 0, &written, 1, &stop, sizeof(stop)); // to who wrote there last
 *
 * A *position* is the number of instructions (and parts of repeated ones) since exec: the same
 * instant on every replay. The guest of a machine runs in a sandboxed process of its own, which
 * is the installed `faultline`: see flt_set_program().
 *
 * Functions return enum flt_status: FLT_OK (0) or what is the matter; flt_error() has it in
 * words. Structures that a function fills get their size with it, so that programs built for
 * another release go on working: what is newer than the program is not told to it, what is newer
 * than the library is zero. One handle, and what came of it, is one thread's at a time.
 */
#ifndef FAULTLINE_H
#define FAULTLINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum flt_status {
	FLT_OK,
	FLT_END,	 /**< behind the last of them */
	FLT_NOMEM,	 /**< out of memory */
	FLT_OS,		 /**< a system call failed */
	FLT_USAGE,	 /**< what was asked makes no sense */
	FLT_NOT_FOUND,	 /**< there is none */
	FLT_PERMISSION,	 /**< a right is missing */
	FLT_FORMAT,	 /**< damaged, or not a capture */
	FLT_TRUNCATED,	 /**< it ends too early */
	FLT_VERSION,	 /**< made by a newer faultline */
	FLT_RANGE,	 /**< no such address, position or thread */
	FLT_DIVERGED,	 /**< the replay left the recorded path */
	FLT_UNSUPPORTED, /**< not of this kind of capture, or not on this machine */
};

/** @return what the last call of this thread that failed has to say: a line, without its end.
 * Never NULL; until the next one fails. */
const char *flt_error(void);

/** @return the library's version, "1.2.3". */
const char *flt_version(void);

/** Machines are processes of program @p path, which must be the `faultline` of this library's
 * version. Without this, the one that was installed with the library. @p path is copied. */
enum flt_status flt_set_program(const char *path);

/* ---- captures ------------------------------------------------------------------------------ */

struct flt_capture;

/** Open the capture in directory @p dir. @p process: of which of its processes (an index or a process
 * id as `faultline dump --processes` has them); NULL: the program itself. */
enum flt_status flt_capture_open(const char *dir, const char *process,
				 struct flt_capture **ret);

/** NULL is fine. Machines and event readers of it are closed before. */
void flt_capture_close(struct flt_capture *c);

enum flt_ending {
	FLT_ENDED_UNKNOWN,  /**< the recorder was killed before */
	FLT_ENDED_EXIT,	    /**< value: the exit status */
	FLT_ENDED_SIGNAL,   /**< value: the signal */
	FLT_ENDED_DETACHED, /**< the recorder left it running */
	FLT_ENDED_EXEC,	    /**< it executed another program */
};

/** What a capture is. Texts belong to it. */
struct flt_info {
	const char *exe, *cwd;
	const char *const *argv;    /**< NULL-terminated */
	const char *const *missing; /**< what is not in it, for people; NULL-terminated */
	uint64_t n_events, n_files, n_processes;
	uint32_t pid;
	uint32_t ending; /**< enum flt_ending */
	int32_t ending_value;
	uint32_t is_complete; /**< nothing is missing */
};

enum flt_status flt_capture_info(const struct flt_capture *c, struct flt_info *ret,
				 size_t ret_bytes);

/** A file that was mapped by the program. Texts belong to the capture. */
struct flt_file {
	const char *path;     /**< as the program saw it */
	const char *build_id; /**< hex; NULL: it has none */
	const char *
		copy; /**< its copy, below the capture's directory; NULL: there is none */
};

/** Tell file @p i of the capture, from 0. @return FLT_END behind the last. */
enum flt_status flt_capture_file(const struct flt_capture *c, uint64_t i,
				 struct flt_file *ret, size_t ret_bytes);

/* ---- events -------------------------------------------------------------------------------- */

/** Indices of general registers, in the order of their encodings. */
enum flt_gpr {
	FLT_RAX,
	FLT_RCX,
	FLT_RDX,
	FLT_RBX,
	FLT_RSP,
	FLT_RBP,
	FLT_RSI,
	FLT_RDI,
	FLT_R8,
	FLT_R9,
	FLT_R10,
	FLT_R11,
	FLT_R12,
	FLT_R13,
	FLT_R14,
	FLT_R15,
	FLT_GPRS
};

struct flt_regs {
	uint64_t gpr[FLT_GPRS];
	uint64_t rip, rflags, fs_base, gs_base;
};

enum flt_event_kind {
	FLT_EV_SYSCALL = 1, /**< a system call that returned */
	FLT_EV_SIGNAL,	    /**< a signal was delivered, or killed the program */
	FLT_EV_TSC,	    /**< rdtsc, rdtscp: value */
	FLT_EV_CPUID,	    /**< cpuid */
	FLT_EV_HEAP,	    /**< an allocator's function was entered (record -e heap) */
	FLT_EV_EXIT,	    /**< the thread ended: value is the status, -1: by a signal */
	FLT_EV_GAP,	    /**< something is missing here: text */
	FLT_EV_SWITCH,	    /**< thread `value` runs from here on */
	FLT_EV_RANDOM,	    /**< rdrand, rdseed, rdpid */
	FLT_EV_HEAP_DONE,   /**< an allocator's function returned `value` */
	FLT_EV_PROBE,	    /**< a store probe was hit (record -e stores) */
};

/** Memory as the kernel left it. */
struct flt_write {
	uint64_t addr, size; /**< bytes */
	const uint8_t *bytes;
};

struct flt_event {
	uint32_t kind; /**< enum flt_event_kind */
	uint32_t tid;
	uint64_t seq;	/**< index in the log, from 0 */
	uint64_t at_ns; /**< CLOCK_MONOTONIC */
	/** SYSCALL: at its entry, rax is the number. Else where the thread stood, as far as known. */
	struct flt_regs regs;
	int64_t value;			/**< SYSCALL: the result; others: see there */
	int32_t signal;			/**< SIGNAL: which */
	uint32_t is_fatal;		/**< SIGNAL: it ended the program */
	const struct flt_write *writes; /**< SYSCALL, SIGNAL: memory that was written */
	uint64_t n_writes;
	/** GAP: what is missing and why; HEAP, HEAP_DONE: the allocator's function; else NULL. */
	const char *text;
	uint64_t args[3]; /**< HEAP: the function's arguments, of integers */
};

struct flt_events;

enum flt_status flt_events_open(const struct flt_capture *c, struct flt_events **ret);
void flt_events_close(struct flt_events *e);

/** Read the next event; what it points to is valid until the next call. @return FLT_END behind
 * the last; FLT_TRUNCATED: the log breaks off here, what was before is good. */
enum flt_status flt_events_next(struct flt_events *e, struct flt_event *ret,
				size_t ret_bytes);

/* ---- machines ------------------------------------------------------------------------------ */

#define FLT_FOREVER UINT64_MAX

struct flt_machine;

/** Start a machine over @p c, at position 0. @return FLT_UNSUPPORTED: it cannot be run here, or holds
 * no start (flight recorder). */
enum flt_status flt_machine_start(struct flt_capture *c, struct flt_machine **ret);
void flt_machine_stop(struct flt_machine *m);

/** On what to stop; bits. */
enum flt_on {
	FLT_ON_EXECUTE = 1, /**< the instruction at addr, before it is executed */
	FLT_ON_READ = 2,    /**< of [addr, addr + size), by the program */
	FLT_ON_WRITE = 4,   /**< the same, by the program or the kernel */
	FLT_ON_SYSCALL = 8, /**< a system call; number: which, -1: any */
	FLT_ON_SIGNAL = 16, /**< a handler begins */
	FLT_ON_SWITCH = 32, /**< another thread goes on */
	FLT_ON_LOAD = 64,   /**< a file is mapped executable */
};

struct flt_trap {
	uint32_t on;  /**< enum flt_on */
	uint32_t tid; /**< only by this thread; 0: any */
	uint64_t addr;
	uint64_t size;	/**< bytes: READ, WRITE */
	int64_t number; /**< SYSCALL */
};

/** Where a machine stands, and why. */
struct flt_stop {
	uint64_t position;
	uint64_t instructions; /**< executed */
	uint64_t rip;
	uint64_t event;	 /**< index of the last one before; UINT64_MAX: none */
	uint64_t at_ns;	 /**< when that was; 0: not known */
	uint32_t tid;	 /**< the thread that runs */
	uint32_t is_end; /**< the program ended here, or what was recorded of it did */
	uint32_t trap;	 /**< which of the traps was met; UINT32_MAX: none */
	uint32_t on;	 /**< .. for which of its bits */
	uint64_t addr, size;   /**< READ, WRITE: of the access; LOAD: of the mapping */
	int64_t number;	       /**< SYSCALL */
	uint32_t is_by_kernel; /**< WRITE: by the kernel, for the program */
};

/** Stand at @p position, forward or backward. FLT_FOREVER: at the end. */
enum flt_status flt_machine_seek(struct flt_machine *m, uint64_t position,
				 struct flt_stop *ret, size_t ret_bytes);

/**
 * Run forward to the next of @p n traps, up to position @p until.
 *
 * It stands behind an access or call that it stopped for, and before the instruction of EXECUTE;
 * without any, at @p until or where the program ended.
 */
enum flt_status flt_machine_run(struct flt_machine *m, uint64_t until,
				const struct flt_trap *traps, size_t n,
				struct flt_stop *ret, size_t ret_bytes);

/** Run back to the last of @p n traps before where it stands, down to @p since: then it stands
 * before that instruction. */
enum flt_status flt_machine_back(struct flt_machine *m, uint64_t since,
				 const struct flt_trap *traps, size_t n,
				 struct flt_stop *ret, size_t ret_bytes);

/** Registers of thread @p tid; 0: of the one that runs. */
enum flt_status flt_machine_regs(struct flt_machine *m, uint32_t tid,
				 struct flt_regs *ret, size_t ret_bytes);

/** Read @p size bytes of memory at @p addr into @p buf. @return FLT_RANGE: not all of it is mapped. */
enum flt_status flt_machine_read(struct flt_machine *m, uint64_t addr, void *buf,
				 size_t size);

struct flt_thread {
	uint32_t tid;
	uint32_t is_running; /**< it has the processor; the others wait for their turn */
	char name[16];
};

/** Tell the @p i th thread that there is, from 0. @return FLT_END behind the last. */
enum flt_status flt_machine_thread(struct flt_machine *m, size_t i,
				   struct flt_thread *ret, size_t ret_bytes);

/** Memory [start, end). */
struct flt_mapping {
	uint64_t start, end;
	int32_t prot; /**< PROT_* */
	uint32_t is_shared;
};

/** Tell mapping @p i of memory, by address, from 0. @return FLT_END behind the last. */
enum flt_status flt_machine_mapping(struct flt_machine *m, size_t i,
				    struct flt_mapping *ret, size_t ret_bytes);

/** Where an instruction comes from. Texts belong to the machine. */
struct flt_place {
	const char *
		function; /**< that the source has there, inlined ones too; NULL: not known */
	const char *symbol; /**< that the code is in */
	uint64_t offset;    /**< from its begin */
	const char *file;   /**< of the source; NULL: not known */
	int32_t line;
	const char *module; /**< the executable or library; NULL: none */
};

/** Explain code address @p rip, of what was mapped so far. */
enum flt_status flt_machine_place(struct flt_machine *m, uint64_t rip,
				  struct flt_place *ret, size_t ret_bytes);

/** Find where function @p name, of the first module that has it, is entered; where the variable
 * @p name (`head`, `ns::pool::head`, `main::list` of a static one) is, and how many bytes it has.
 * Of what was mapped so far. @return FLT_NOT_FOUND: there is none, or not always in one place. */
enum flt_status flt_machine_function(struct flt_machine *m, const char *name,
				     uint64_t *ret);
enum flt_status flt_machine_variable(struct flt_machine *m, const char *name,
				     uint64_t *ret, uint64_t *ret_bytes);

/** @return what is inferred or missing in the replay so far, lines; "" when there is nothing.
 * Until the next call. */
const char *flt_machine_notes(struct flt_machine *m);

#ifdef __cplusplus
}
#endif

#endif
