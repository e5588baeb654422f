// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Threads take turns on one CPU (threads.c). What ptrace stops tell is logged in its
 * thread's turn (pending.c), which memory tells apart from others (signature.c).
 */
#ifndef PT_COLLECT_INPUTS_THREADS_H
#define PT_COLLECT_INPUTS_THREADS_H

#include "pt-collect/inputs/process.h"

/** Thread @p running stands in the clone that makes the second thread: from here on they
 * share one CPU, and who runs is recorded. */
struct err *ptc_threads_begin(struct ptc_process *p, pid_t running);

/** The same for a program that was attached to, whose threads all stand still; @p first is
 * threads[0] of its start state. */
struct err *ptc_threads_attach(struct ptc_process *p, pid_t first);

/** Thread @p running, the only one that may run, stands at @p regs (@p flags: enum
 * rec_switch_flags). From here on its process takes turns on one CPU with all that are joined. Of a
 * process with threads others may run. */
struct err *ptc_threads_join(struct ptc_process *p, pid_t running,
			     const struct cap_regs *regs, uint32_t flags);

/** There are no several threads any more: they may run everywhere again. */
void ptc_threads_end(struct ptc_process *p);

/** Thread @p caller of @p p has chosen the CPUs of thread @p tid (0 = its own): it gets them
 * when the recording ends. */
void ptc_threads_chose_cpus(struct ptc_process *p, pid_t caller, pid_t tid);

/** Child process @p child runs where the program could before it had threads. */
void ptc_threads_release(const struct ptc_process *p, pid_t child);

/** Thread @p t ends with @p status, as for wait(2), and stands at @p regs (zeros where that
 * is not known): log that, once. */
void ptc_threads_end_log(struct ptc_process *p, struct ptc_thread *t,
			 const struct cap_regs *regs, int status);

/** The same, and what its stops told: it does nothing any more. */
void ptc_threads_gone(struct ptc_process *p, struct ptc_thread *t,
		      const struct cap_regs *regs, int status);

/** The switch from thread @p t is logged. When it is reaped, @p t is gone then. */
void ptc_threads_left(struct ptc_process *p, const struct ptc_thread *t);

/** Thread @p tid is gone for good with @p status; its number may come again. The ring has
 * been drained. */
void ptc_threads_reaped(struct ptc_processes *all, pid_t tid, int status);

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

/** Process @p p rests and is about to be left: log how far it came, where it computes. In a call that
 * is told by that. To be called before ptc_threads_end(). */
void ptc_threads_left_log(struct ptc_process *p);

/** The signature (capture.h) of process @p pid where a thread has registers @p regs. */
struct cap_signature ptc_signature_read(pid_t pid, const struct cap_regs *regs);

#endif
