// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Children (child.c), those that are followed (follow.c), and what the
 * manifest of any process says (describe.c).
 */
#ifndef PT_COLLECT_START_FOLLOW_H
#define PT_COLLECT_START_FOLLOW_H

#include "pt-collect/inputs/process.h"

struct ptc_chaos;

/** A child that stopped before its parent's event told what it is, or the reverse. */
struct ptc_child {
	pid_t pid;
	bool has_stopped;
	pid_t parent; ///< the process that created it; 0 until the event came
	uint32_t parent_index;
	unsigned event;		  ///< PTRACE_EVENT_*
	unsigned n_frames;	  ///< handlers that the creating thread was in
	struct ptc_unseen unseen; ///< of that thread
};

/** The processes that the program creates. */
struct ptc_family {
	struct ptc_processes *all;
	struct ptc_chaos *chaos; ///< new threads are its, too; NULL = none
	VEC(struct ptc_child) children;
	VEC(struct cap_process) followed; ///< by index - 1; complete at the end of each
	uint64_t n_syscalls, bytes;	  ///< of what was followed
	size_t n_gaps;			  ///< in what was followed
	VEC(char *) gaps;		  ///< texts of the first ones
	struct err *failure; ///< the first thing that went wrong with a followed process
};

void ptc_family_deinit(struct ptc_family *f);

/** A child made by fork, vfork or clone: followed, or it runs untouched by us. */
void ptc_child_created(struct ptc_family *f, struct ptc_process *p, pid_t parent,
		       unsigned event, pid_t child);
void ptc_child_stopped(struct ptc_family *f, pid_t child);

/** The child ended before it ever stopped. */
void ptc_child_ended(struct ptc_family *f, pid_t child);

/** Process @p index ended: of children whose creation it never told nobody will tell. */
void ptc_child_orphans(struct ptc_family *f, uint32_t index);

/** Process @p p is about to be left, and creates no more. Children of it that have not
 * stopped yet for the first time do so now, and go on as ever. */
void ptc_child_await(struct ptc_family *f, const struct ptc_process *p);

/** Wait until all our children have ended, traced ones among them: who could not be left
 * before is left at its next stop. */
void ptc_child_await_ends(void);

/** Let stopped @p child go, as if we had never been there; @p unseen: what it has from whom made
 * it. */
void ptc_child_free(pid_t child, const struct ptc_unseen *unseen);

/** The flags (CLONE_*) by which the child was made, which stands behind the call. */
uint64_t ptc_child_flags(pid_t child);

/** Record stopped child @p c from here on, or from its exec on when @p shares_memory. It
 * goes on in any case. */
void ptc_follow(struct ptc_family *f, const struct ptc_child *c, bool shares_memory);

/** Program @p p executed another one: what it was is finished, as a bundle of its own in the
 * list, and its writer begins again. p->tracee is yet the old one's. */
struct err *ptc_follow_keep(struct ptc_family *f, struct ptc_process *p);

/** Followed process @p p executed a program and stands before it: its bundle begins, or
 * begins anew. */
struct err *ptc_follow_executed(struct ptc_family *f, struct ptc_process *p);

/** Followed process @p p ended (p->has_ended), or is not traced any more: its bundle is
 * finished. @p p is gone then. */
void ptc_follow_ended(struct ptc_family *f, struct ptc_process *p);

/** Thread @p t of @p p stands behind a call that was refused because we trace whom it wants to
 * trace (t->wants): that one is left to it, and the call will be made again. Does nothing where
 * there was none. @return whether @p p is gone. */
bool ptc_yield(struct ptc_family *f, struct ptc_process *p, struct ptc_thread *t);

/** Followed process @p p was killed before its history had begun: there is no bundle of it. Its
 * end is yet to be reported. */
void ptc_follow_killed(struct ptc_process *p);

/** The recording ends: what still runs of the followed processes is left as it would be by
 * itself, and their bundles are finished. */
void ptc_follow_leave(struct ptc_family *f);

/** What is known of the process at its beginning, into p->info. @p argv: NULL = what it was
 * executed with. */
struct err *ptc_describe(struct ptc_process *p, char *const *argv);

/** Finish the bundle: p->info is what the manifest says, but for files. @p n_files may be
 * NULL. @return also why recording stopped before. */
struct err *ptc_finish(struct ptc_process *p, uint64_t *bytes, size_t *n_files);

/** Say in @p info what the processor says of itself, but for which CPU it was, and where
 * probes were, both borrowed; and log it if something was lost. */
void ptc_describe_recorded(struct ptc_process *p, struct cap_info *info);

/** How it ended: its exit status or signal, by executing another program, or detached when it
 * has not. */
void ptc_describe_end(const struct ptc_process *p, enum cap_end *end, int *value);

/** Stop recording @p p and leave it as it would be by itself. */
void ptc_leave(struct ptc_family *f, struct ptc_process *p);

#endif
