// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Children (child.c), those that are followed (follow.c), and what the
 * manifest of any process says (describe.c).
 */
#ifndef PT_COLLECT_START_FOLLOW_H
#define PT_COLLECT_START_FOLLOW_H

#include "pt-collect/ptc.h"

/** A child made by fork, vfork or clone: followed, or it runs untouched by us. */
void ptc_child_created(struct ptc_process *p, pid_t parent, unsigned event, pid_t child);
void ptc_child_stopped(struct ptc_session *s, pid_t child);

/** The child ended before it ever stopped. */
void ptc_child_ended(struct ptc_session *s, pid_t child);

/** Process @p index ended: of children whose creation it never told nobody will tell. */
void ptc_child_orphans(struct ptc_session *s, uint32_t index);

/** Process @p p is about to be left, and creates no more. Children of it that have not
 * stopped yet for the first time do so now, and go on as ever. */
void ptc_child_await(struct ptc_process *p);

/** Wait until all our children have ended, traced ones among them: who could not be left
 * before is left at its next stop. */
void ptc_child_await_ends(void);

/** Let stopped @p child go, as if we had never been there. */
void ptc_child_free(pid_t child);

/** The flags (CLONE_*) by which the child was made, which stands behind the call. */
uint64_t ptc_child_flags(pid_t child);

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

/** Fill @p cpu, but for which CPU it was, with what the processor says of itself; borrowed. */
void ptc_describe_cpu(struct cap_cpu *cpu);

/** How it ended: its exit status or signal, or detached when it has not. */
void ptc_describe_end(const struct ptc_process *p, enum cap_end *end, int *value);

#endif
