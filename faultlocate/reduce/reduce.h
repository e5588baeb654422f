// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The smallest input that fails the same way: which units of an input (bytes, characters, lines,
 * tokens) can go. A *candidate* is the units that stay, in their order; whether it is interesting,
 * that is fails the same way, is asked of somebody else, several at a time. None is asked about
 * twice. Methods:
 *
 *   - ddmin (Zeller and Hildebrandt 2002): halves and their complements, then quarters, ...; its
 *     result is 1-minimal: no unit of it can go alone.
 *   - by levels (paper 002, section 4.2): candidates that an analysis proposes, then ddmin by
 *     complements only over groups of units, level by level.
 *
 * Not shared between threads.
 */
#ifndef FAULTLOCATE_REDUCE_REDUCE_H
#define FAULTLOCATE_REDUCE_REDUCE_H

#include "base/base.h"

/** A piece of the input: bytes [from, to). */
struct fl_unit {
	size_t from, to;
};
typedef VEC(struct fl_unit) fl_units;

enum fl_unit_kind { FL_UNIT_BYTES, FL_UNIT_CHARS, FL_UNIT_LINES, FL_UNIT_TOKENS };

/**
 * Add the units of @p data to @p units. Characters are UTF-8's, or bytes where it is none; a line
 * goes up to its newline; a token is a word or number, a run of blanks, or one other character.
 *
 * @return NULL, ERR_NOMEM, or ERR_UNSUPPORTED: there are more than 2^28.
 */
struct err *fl_units_split(enum fl_unit_kind kind, const uint8_t *data, size_t size,
			   fl_units *units);

/** Candidates at a time, at most. */
enum { FL_REDUCE_AT_ONCE = 32 };

struct fl_text {
	const uint8_t *data;
	size_t size;
};

struct fl_reduce_options {
	const uint8_t *data; ///< the input, borrowed
	size_t size;
	const struct fl_unit *units; ///< ascending, disjoint; borrowed
	size_t n_units;
	unsigned at_once; ///< 1 to FL_REDUCE_AT_ONCE
	/** Are @p n candidates interesting? */
	struct err *(*test)(void *ctx, const struct fl_text *candidates, size_t n,
			    bool *are_interesting);
	/** A smaller one was found, or a while has passed. Or NULL. */
	void (*progress)(void *ctx, size_t bytes, uint64_t runs);
	/** Shall it end with what it has? Or NULL. */
	bool (*interrupted)(void *ctx);
	void *ctx;
};

struct fl_reduce;

/** Begin with all units, which are interesting as a whole. @p o is copied. */
struct err *fl_reduce_create(const struct fl_reduce_options *o, struct fl_reduce **ret);
void fl_reduce_destroy(struct fl_reduce *r);
void fl_reduce_destroyp(struct fl_reduce **r);

/** Try to go on with the units that @p keep has true (of all n_units; what has gone already stays
 * away) alone. *@p ret: it is interesting, and is what there is now. */
struct err *fl_reduce_try(struct fl_reduce *r, const bool *keep, bool *ret);

/** Delta debugging of what there is now. @p is_published: behind a part that could go, begin with the
 * first one again, as Zeller and Hildebrandt do; else go on where it was: half the runs. @return NULL
 * also when it was interrupted. */
struct err *fl_reduce_ddmin(struct fl_reduce *r, bool is_published);

/**
 * The same over groups: units of one number in @p group (of all n_units) go together, or not at
 * all; FL_GROUP_STAYS: this one stays. Groups are taken in the order of their numbers, which need
 * not follow each other. Only complements are tried; of few groups at once of each alone, where
 * @p most_stay.
 */
struct err *fl_reduce_groups(struct fl_reduce *r, const uint32_t *group, bool most_stay);
#define FL_GROUP_STAYS UINT32_MAX

/**
 * Ask about each group once, in the order of their numbers (as above), several at a time as long as
 * such can go: a group that stays in the end could not go when it was asked about.
 *
 * @param group  As above; NULL: each unit.
 * @param chunk  So many at first; 0: always one.
 */
struct err *fl_reduce_pass(struct fl_reduce *r, const uint32_t *group, size_t chunk);

/** What there is now comes into @p ret, valid as long as nothing more is asked of @p r.
 * @return NULL or ERR_NOMEM. */
struct err *fl_reduce_text(struct fl_reduce *r, struct fl_text *ret);

/** @return the same as numbers of units, *@p n of them, ascending. */
const uint32_t *fl_reduce_kept(const struct fl_reduce *r, size_t *n);

struct fl_reduce_stats {
	uint64_t runs;	///< candidates that were asked about in their order
	uint64_t ahead; ///< others, asked about beside these and not needed after all
	uint64_t known; ///< answered from what was known
	size_t n_units; ///< that are left
	bool was_interrupted;
};
struct fl_reduce_stats fl_reduce_stats(const struct fl_reduce *r);

#endif
