// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What becomes events: the ring's records (assemble.c), signals (signal.c), and what vfork
 * children write (vfork.c).
 */
#ifndef PT_COLLECT_INPUTS_ASSEMBLE_H
#define PT_COLLECT_INPUTS_ASSEMBLE_H

#include <signal.h>

#include "pt-collect/inputs/process.h"

/** A record from the ring, of @p p. */
void ptc_assemble(struct ptc_process *p, void *rec);

#define ERESTART_RESTARTBLOCK 516 ///< the kernel's own: restart_syscall goes on with it

/** Is that the result of a call which a signal or a stop cut short? */
bool ptc_is_restart(int64_t ret);

/** A held call turns out to be restarted (@p is_interrupted false), or a handler runs
 * before it fails with EINTR. @return false when none was held; else t->held and
 * t->held_writes are to be logged now. */
bool ptc_assemble_settle(struct ptc_thread *t, bool is_interrupted);

/** Log the held call, if any: the ring shows that it was restarted, or is over. */
void ptc_assemble_restarted(struct ptc_process *p, struct ptc_thread *t);

/** What a signal that stopped a thread does to it. */
enum ptc_delivery {
	PTC_DELIVERY_HARMLESS, ///< it goes on with the signal
	PTC_DELIVERY_DEADLY,   ///< likewise
	PTC_DELIVERY_IGNORED, ///< it goes on without it, whoever may handle it from now on
	PTC_DELIVERY_DONE,    ///< it stands in its handler
	PTC_DELIVERY_OVERTAKEN ///< by another stop, or its end, which is to be taken
};

/** Log signal @p si that is being delivered to @p tid. @p status: of what overtook it. */
enum ptc_delivery ptc_signal(struct ptc_process *p, pid_t tid, const siginfo_t *si,
			     int *status);

/** Would signal @p si end process @p pid, of whose threads @p tid is? */
bool ptc_signal_kills(pid_t pid, pid_t tid, const siginfo_t *si);

/** A vfork child of thread @p parent is about to run in the process' memory, or is done
 * with it: what it wrote there becomes an input (vfork.c). */
void ptc_vfork_created(struct ptc_process *p, pid_t parent);
void ptc_vfork_done(struct ptc_process *p, pid_t parent);

/** Thread @p t, the running one, is at the end of its log, where it is left (@p is_left) or its call ends: say which of what
 * changed its vfork child wrote, all of which is in its from_child then. */
void ptc_vfork_settle(const struct ptc_process *p, struct ptc_thread *t, bool is_left);
void ptc_snapshot_destroy(struct ptc_snapshot *snap);

#endif
