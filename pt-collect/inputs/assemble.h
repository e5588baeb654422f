// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What becomes events: the ring's records (assemble.c), and signals (signal.c).
 */
#ifndef PT_COLLECT_INPUTS_ASSEMBLE_H
#define PT_COLLECT_INPUTS_ASSEMBLE_H

#include "pt-collect/ptc.h"

/** A record from the ring. @p session: a struct ptc_session. */
void ptc_assemble(void *session, void *rec, size_t size);

/** A held call turns out to be restarted (@p is_interrupted false), or a handler runs
 * before it fails with EINTR. @return false when none was held; else t->held and
 * t->held_writes are to be logged now. */
bool ptc_assemble_settle(struct ptc_thread *t, bool is_interrupted);

/** Log the held call, if any: the ring shows that it was restarted. */
void ptc_assemble_restarted(struct ptc_process *p, struct ptc_thread *t);

/** Log signal @p si that is being delivered to @p tid and let the thread go on. */
void ptc_signal(struct ptc_process *p, pid_t tid, const siginfo_t *si);

/** Would signal @p signo end the process of thread @p tid? */
bool ptc_signal_kills(pid_t tid, int signo);

#endif
