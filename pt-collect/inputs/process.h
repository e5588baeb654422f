// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A recorded process, and its threads (process.c). What its parts hold of it is theirs: each
 * is handed its own.
 */
#ifndef PT_COLLECT_INPUTS_PROCESS_H
#define PT_COLLECT_INPUTS_PROCESS_H

#include <sched.h>
#include <sys/types.h>

#include "base/base.h"
#include "capture/capture.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/inputs/unseen.h"
#include "pt-collect/log/log.h"
#include "pt-collect/log/private.h"
#include "pt-collect/log/writes.h"
#include "pt-collect/probes/chance.h"
#include "pt-collect/probes/probes.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/tracee/tracee.h"

struct ptc_past;
struct ptc_session;
struct ptc_snapshot;

/** An event of a ptrace stop on its way to the log (inputs/pending.c). */
struct ptc_pending {
	struct cap_event event;
	struct ptc_writes writes;
	uint64_t resumed_ns; ///< when its thread went on; UINT64_MAX = it has not
};

/** A call that was cut short although nobody wanted it to (inputs/cut.c). Times are of
 * CLOCK_MONOTONIC. */
struct ptc_cut {
	uint64_t last_ns; ///< when the thread last was seen to do something
	uint64_t from_ns; ///< before that call; 0 = it was not
	uint64_t came_ns; ///< its end
	uint64_t
		until_ns; ///< until when it waits, however often it is made; 0 = not known yet
	uint64_t ran_ns, major_faults; ///< when it was last looked at: ptc_cut_note()
	bool is_again;		       ///< the kernel has been told to make it again
	bool is_final;		       ///< that is EINTR without us, too
	bool is_asked;		       ///< to stop, for its time is over
	int64_t short_ret; ///< of a call that did part of what it was to do; 0 = it was none
	int short_fd;
};

/** What a call has written into a file (inputs/through.c). */
struct ptc_through {
	uint64_t device, inode;
	uint64_t start, end; ///< of the file's bytes; equal: nothing
	bool is_zeros;	     ///< there is nothing any more
	VEC(uint8_t) bytes;  ///< what was written; empty: only memory says
};

/** What is known of one thread of the target. */
struct ptc_thread {
	pid_t tid;
	bool is_attached; ///< its first stop is behind it
	/** Being stopped with all others (start/freeze.c): asked to, there, and whether its
	 * user had stopped it before. */
	bool is_asked, is_at_rest, is_in_group_stop;
	int held_signal;  ///< of the stop in which it rests: it goes on with that
	bool is_filtered; ///< seccomp may forbid it what we have it do
	/** Memory of the system call that is arriving from the ring (inputs/assemble.c). */
	struct ptc_writes now;
	/** Its last probe, of an allocator call or a store. */
	struct {
		uint64_t rip, sp;
	} hit;
	struct ptc_chance chance;
	/** A system call that ended in ERESTART*, or with EINTR for a signal that may be none for the
	 * program: what it was is known only at what the thread does next. */
	struct cap_event held;
	struct ptc_writes held_writes;
	bool has_held;
	struct ptc_cut cut;
	/** What ptrace stops of it told, until the ring shows it beyond. In order. */
	VEC(struct ptc_pending) pending;
	struct ptc_unseen unseen;
	uint32_t owed_cont; ///< REC_DROPS_*: to be sent again at the stop
	bool has_exited;    ///< its EXIT is logged, or pending
	/** waitpid() has told of its end, and of the status; the log is not as far. */
	bool is_reaped;
	int status;
	/** Signal handlers entered and not yet returned from; PTC_FRAMES_UNKNOWN + them. */
	unsigned n_frames;
	/** Killed on its way into a handler, when nobody could see any more where that was: for the
	 * log it stands where the signal came. */
	bool is_killed;
	struct cap_regs killed_at;
	uint64_t
		left_at; ///< the instruction behind the call in which it was left; 0: in none
	/** What a vfork child wrote into our memory, for the call that is about to end; and what
	 * it wrote if no other thread runs until then: ptc_vfork_settle(). */
	struct ptc_writes from_child, from_child_alone;
	bool child_waits; ///< the latter does, for that call: others may have run in the comparison
	uint64_t
		n_ran_then; ///< of the process, when the child began; from its end on: then
	struct ptc_snapshot *vfork_memory; ///< as it was before that child
	/** Process that it wants to trace, and was refused because we do: left to it at the stop
	 * that comes (start/yield.c). */
	pid_t wants;
	/** The instruction behind that call, which it makes again from there; 0: it has gone on. */
	uint64_t again_at;
	/** What the call that is arriving wrote into a file that is mapped: others see it, too. */
	struct ptc_through through;
};

/** It may have entered handlers before we were there. */
#define PTC_FRAMES_UNKNOWN (1u << 30)

/** A file or segment that is mapped shared (inputs/shared.c). */
struct ptc_shared {
	uint64_t key; ///< which
	bool is_told; ///< that others can write it
};

/** Memory that recorded processes share, where one has it (inputs/joint.c). */
struct ptc_joint {
	uint64_t start, key;
};

/** Memory that others write, and what it held when it was last looked at (inputs/shared.c). */
struct ptc_watched {
	uint64_t start, size;
	uint8_t *bytes; ///< owned
	bool is_known;	///< it has been looked at
};

/** A file that is or was mapped (inputs/through.c). */
struct ptc_sized {
	uint64_t inode, most; ///< bytes it has had, at most
	bool is_shared;	      ///< and was opened for writing
};

/** How a process' rdtscs are seen (inputs/trap.c). */
struct ptc_tsc {
	unsigned n_traps;
	bool is_probed; ///< threads that trap need not any more
	bool was_probed;
};

/** A process being recorded, into a bundle of its own. */
struct ptc_process {
	struct ptc_processes *all;
	struct ptc_tracee tracee;
	bool is_left; ///< was attached to, and is not any more
	struct ptc_log log;
	struct ptc_left_out left_out;
	VEC(struct ptc_thread *) threads;
	bool has_threads;   ///< it has, or had, several: they share one CPU
	cpu_set_t affinity; ///< before that
	int cpu;
	pid_t running; ///< has_threads: who is current at the end of the log
	/** has_threads: it takes turns with other processes (inputs/joint.c). */
	bool is_joined;
	VEC(struct ptc_joint) joints; ///< what the log says that it shares
	/** has_threads: how often one of them was left that had run, but for parents in the call that made
	 * a vfork child; and how many events the log had when the running one was let in. */
	uint64_t n_ran, let_in_at;
	struct ptc_probes probes;
	struct ptc_pt_process pt;
	struct ptc_past *past; ///< the flight recorder's; NULL = there is none
	VEC(struct ptc_shared) shared;
	VEC(struct ptc_watched) watched;
	uint64_t watched_bytes;
	struct ptc_writes
		from_others; ///< written by other processes (inputs/others.c), for its next event
	bool has_told_others;
	bool has_told_vsyscall;
	bool has_told_unwatched; ///< that it has threads: not looked at
	VEC(struct ptc_sized) sized;
	struct ptc_tsc tsc;
	struct ptc_sigaction on_segv; ///< what the program does at SIGSEGV
	bool knows_on_segv;
	uint64_t n_execs;  ///< programs that it was before
	bool has_executed; ///< it runs a program of its own, not a copy of its parent's
	bool is_executing; ///< what is being finished is what it was before an exec
	int wait_status;   ///< of the program, once it ended
	bool has_ended;
	struct cap_info info; ///< for the manifest
	/** Followed (start/follow.c): its number, 0 = the program itself; its bundle's name under
	 * children/, NULL as long as there is none. */
	uint32_t index;
	char *dir;
	bool awaits_exec; ///< runs in its parent's memory: its history begins with an exec
};

/** All processes of one recording, and what they share. */
struct ptc_processes {
	VEC(struct ptc_process *) list; ///< owned; [0] is the program itself
	struct ptc_bpf *bpf;
	struct ptc_probing probing;
	struct ptc_pt_session pt;
	const struct ptc_private *private; ///< the options'
	bool follows, has_told_tracer, has_told_aio, has_told_short;
	/** One of them mapped a file that others may write, or opened one's memory as a file. */
	bool has_shared_file;
	uint64_t
		cut_due_ns; ///< when to look at cut calls again; UINT64_MAX: not by itself
	int joint_cpu;	    ///< of all processes that are joined; -1: there are none yet
	bool is_yielding;   ///< a process is being left to who wants to trace it
	bool is_attached;   ///< to a program that ran before (-p)
	/** Who waits for one thread and gets news of another hands them to @c session: what
	 * waitpid() gave of any process, a stop or an end. */
	void (*take)(struct ptc_session *s, pid_t tid, int status);
	struct ptc_session *session;
};

/** Make what is known of process @p pid, one of @p all, which owns it. */
struct err *ptc_process_create(struct ptc_processes *all, pid_t pid,
			       struct ptc_process **ret);
void ptc_process_destroy(struct ptc_process *p);

/** The process that @p tid is a recorded thread of; NULL = none. */
struct ptc_process *ptc_process_of(const struct ptc_processes *all, pid_t tid);

/** Nothing of it is taken any more; the program runs on, on all its CPUs. */
void ptc_process_stop_recording(struct ptc_process *p);

/** @return thread @p tid of @p p, which begins if it was not known; NULL: memory is out. */
struct ptc_thread *ptc_thread_find(struct ptc_process *p, pid_t tid);
void ptc_thread_destroy(struct ptc_thread *t);

void ptc_info_deinit(struct cap_info *info);

#endif
