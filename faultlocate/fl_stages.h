// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/: the stages of an analysis (fl_analysis.c has their order). Each
 * works on what those before it left in the struct fl_analysis.
 */
#ifndef FAULTLOCATE_FL_STAGES_H
#define FAULTLOCATE_FL_STAGES_H

#include "base/clock.h"
#include "faultlocate/fl_analysis.h"

/** @return how many operations of @p side were done at @p v. */
static inline uint64_t fl_visit_ops(const struct fl_visit *v, size_t side)
{
	return side == FL_SIDE_APP ? v->at.app_ops : v->at.chunk_ops;
}

/* ---- fl_replay.c --------------------------------------------------------------------- */

/** Replay the capture: graphs, the run, the C-points' visits; again when statements that ran
 * are in sources with C-point comments. @return ERR_DIVERGED when the replay left the
 * recorded path, and what dec_heap_trace() returns. */
struct err *fl_replay_run(const struct fl_options *o, struct fl_analysis *a);

/** The same without looking for comments: what an earlier replay left is dropped. */
struct err *fl_replay_once(const struct fl_options *o, struct fl_analysis *a);

/** Replay once more for the visits of C-points that were added since: with all that happened where
 * fl_replay_wants_whole(), else of the calls alone, if that will do. */
struct err *fl_replay_visits(const struct fl_options *o, struct fl_analysis *a);

/** Something is violated, or may have been written before realloc() gave it its type: what was stored in nodes of no declared type tells more of the statements around
 * (fl_missing.h). @return whether the replay was without it and is short enough to be made once more;
 * from here on it is with it. */
bool fl_replay_wants_whole(const struct fl_options *o, struct fl_analysis *a);

/** Is all right by the rules that are asked, as far as one quick replay can tell (fl_guard.c)? Then there is
 * an empty graph, and the run is known. @param ret  false: not known. */
struct err *fl_guard_ask(const struct fl_options *o, struct fl_analysis *a, bool *ret);

/** @return whether all that happened in the process is recorded; if so @p rsp is its stack at the start. */
bool fl_replay_is_from_start(const struct capture *c, uint64_t *rsp);

/** Give the nodes their types. */
struct err *fl_replay_types(struct fl_analysis *a);

/* ---- fl_violation.c ------------------------------------------------------------------ */

/** @return whether constraint @p i is about side @p s and, unless it is -1, type @p type. */
bool fl_side_checks(const struct fl_side *s, const struct spec *spec, size_t i, int type);

/** Check the C-points in the order of the run: a->visit is the first that is violated, the
 * sides have their errors. */
struct err *fl_violation_find(struct fl_analysis *a, const struct fl_options *o);

/** Where fl_replay_wants_whole(), replay once more and find it again. */
struct err *fl_violation_complete(struct fl_analysis *a, const struct fl_options *o);

/** @return whether nobody said where the structure must hold, and it did not, or the
 * program crashed over something that is gone. */
bool fl_violation_is_unplaced(const struct fl_analysis *a, const struct fl_options *o);

/** Replay once more and take an inferred C-point for the violated one (fl_infer.h), if there
 * is any to be trusted. */
struct err *fl_violation_place(struct fl_analysis *a, const struct fl_options *o);

/* ---- fl_locate.c --------------------------------------------------------------------- */

/** Trace the errors of a->visit back: a->faults, ranked. */
struct err *fl_locate_run(struct fl_analysis *a);

/* ---- fl_analysis.c ------------------------------------------------------------------- */

/** @return whether the allocator's library frees there of its own accord, called by none of the
 * user's code: a thread that ends gives back what its cache has, which was freed before. */
bool fl_release_is_allocators(const struct fl_analysis *a, const struct hg_release *r);

/* ---- fl_callers.c -------------------------------------------------------------------- */

/** Replay up to the last of a->faults to find who called the functions that they are in. Of
 * histories that were recovered, or are very long, that is not known. */
struct err *fl_callers_find(struct fl_analysis *a);

/* ---- fl_end.c ------------------------------------------------------------------------ */

/** dec_heap_options.ended; @p ctx is the struct fl_analysis. */
struct err *fl_end_keep(void *ctx, const struct frames *f);

/** Explain the end, if it was a signal's and all was replayed: a->end. */
struct err *fl_end_explain(struct fl_analysis *a);

/* ---- fl_notes.c ---------------------------------------------------------------------- */

/** Add a note for people. @return NULL or ERR_NOMEM. */
struct err *fl_note_add(struct fl_analysis *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Note a pointer that the violated INDEGREE, if one is, does not count. @return NULL or ERR_NOMEM. */
struct err *fl_uncounted_note(struct fl_analysis *a);

/** Add what is to be said at the end: about types, the capture, C-points, a crash. */
struct err *fl_notes_add(struct fl_analysis *a, const struct fl_options *o);

#endif
