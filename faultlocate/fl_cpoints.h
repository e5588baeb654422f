// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * C-points: where in the run the constraints must hold. Named functions, lines and comments in
 * the source become watched addresses before the replay; what is reached becomes visits.
 */
#ifndef FAULTLOCATE_FL_CPOINTS_H
#define FAULTLOCATE_FL_CPOINTS_H

#include "decode/history/heap.h"
#include "heapgraph/hg_record.h"
#include "specdsl/specdsl.h"

enum fl_cpoint_kind {
	FL_CPOINT_ENTRY,
	FL_CPOINT_RETURN,
	FL_CPOINT_COMMENT,
	FL_CPOINT_LINE,
	FL_CPOINT_END
};

struct fl_cpoint {
	enum fl_cpoint_kind kind;
	char *name; ///< "entry of insert", "return of insert", "return 5 of insert",
		    ///< "comment at quad.c:14", "before quad.c:40", "exit", "crash"
	int type;   ///< check only constraints over this spec type; -1: all
	uint32_t function; ///< of an entry, and of each return: whose, from 1; else 0
};

/** A C-point was reached. */
struct fl_visit {
	struct hg_position at;
	uint32_t cpoint; ///< index
	bool is_inlined; ///< the entry of a copy whose return is not seen
};

struct fl_cpoints;

/** With those that @p s (borrowed) declares. @return NULL or ERR_NOMEM. */
struct err *fl_cpoints_create(const struct spec *s, struct fl_cpoints **ret);
void fl_cpoints_destroy(struct fl_cpoints *c);

/** Entry and return of a function that nobody named (fl_infer.h): nothing is noted about it. */
struct err *fl_cpoints_add_candidate(struct fl_cpoints *c, const char *function);

/** One before a statement that nobody named, for visits to be added. */
struct err *fl_cpoints_add_statement(struct fl_cpoints *c, const struct dec_place *place,
				     uint32_t *ret);

/** Add @p n visits @p v, in the order of time, among those that there are. @return NULL or
 * ERR_NOMEM. */
struct err *fl_cpoints_merge(struct fl_cpoints *c, const struct fl_visit *v, size_t n);

/** Look for C-point comments in the source of @p place, which has a file. @return via @p is_new
 * whether there are any that were not known: then the program must be replayed again. A
 * source that cannot be read, or may not be, has none. */
struct err *fl_cpoints_add_source(struct fl_cpoints *c, struct dec_symbols *symbols,
				  const struct dec_place *place, bool *is_new);

/** dec_heap_options.resolve: names to addresses, as far as they are known now. @p ctx is
 * the fl_cpoints. */
struct err *fl_cpoints_resolve(void *ctx, struct dec_symbols *symbols,
			       const struct dec_watch **watch, size_t *n_watch);

/** hg_watch_fn; @p ctx is the fl_cpoints. Of nested calls of one function only the
 * outermost counts: the structure may well be inconsistent within it. */
struct err *fl_cpoints_visit(void *ctx, const struct hg_position *at, size_t index,
			     bool is_return);

/** The run ended at @p at: the last visit. */
struct err *fl_cpoints_end(struct fl_cpoints *c, const struct hg_position *at,
			   bool is_crash);

/** Forget the visits, for another replay. */
void fl_cpoints_rewind(struct fl_cpoints *c);

/** The visits so far, in the order of time; @p index is fl_visit.cpoint. Pointers are valid
 * until the next visit, or C-point, is added. */
size_t fl_cpoints_visits(const struct fl_cpoints *c);
const struct fl_visit *fl_cpoints_visit_at(const struct fl_cpoints *c, size_t i);
const struct fl_cpoint *fl_cpoints_get(const struct fl_cpoints *c, uint32_t index);

/** @return the function whose entry or return C-point @p index is; NULL: none. */
const char *fl_cpoints_function(const struct fl_cpoints *c, uint32_t index);

/** @return how many C-points there are; before the replay: that were named. */
size_t fl_cpoints_count(const struct fl_cpoints *c);

/** @return whether there were too many visits to keep them all. */
bool fl_cpoints_is_overrun(const struct fl_cpoints *c);

/** What was under way when the run ended: the watched function that was entered last and has not
 * returned; with @p is_inferred of those that nobody named, but for main, the one entered first.
 * NULL: none. */
const char *fl_cpoints_in_flight(const struct fl_cpoints *c, bool is_inferred);

/** What could not be watched as asked, a line each: `insrt: no function of this name`; "" when all
 * could. Valid until it is called again. */
const char *fl_cpoints_notes(struct fl_cpoints *c, struct dec_symbols *symbols);

#endif
