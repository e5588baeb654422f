// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Vector clocks: of threads, and of what synchronises them. Private to race/.
 *
 * A clock has a place in all others. That of a thread that has ended is another's when all its accesses are
 * before whatever that one does: then it goes on from the time at which it ended, and whoever is behind
 * the new one is behind the old one, too.
 *
 * What is joined again and has not changed costs nothing, however many clocks there are: an object knows who knows all of
 * it, and whose clock, as of when, it has.
 *
 * Invariant: clock[u] of thread t is the time of u's last release that happened before what t does now; so
 * u's access at its time k happened before it if k <= clock[u].
 */
#ifndef FAULTLOCATE_RACE_CLOCK_H
#define FAULTLOCATE_RACE_CLOCK_H

#include "base/base.h"

#define CLOCKS_ENDED 1000 ///< beyond so many the first one is another's in any case

typedef VEC(uint32_t) clock_times; ///< by thread; behind the last: 0

struct clock_end {
	uint32_t thread, time;
};

struct clock_thread {
	clock_times times;
	uint64_t id;	  ///< another for each thread that it is of
	uint64_t changed; ///< step in which other places than its own did
};

struct clock_object {
	clock_times times;
	uint64_t known_to; ///< id of a thread whose clock has all of it; 0: not known
	uint64_t has;	   ///< .. that it has all of, but for that one's own place
	uint64_t has_at;   ///< .. as it was at that step
};

struct clocks {
	VEC(struct clock_thread) threads;
	VEC(uint32_t) accessed;	     ///< by thread: the time of its last access
	VEC(struct clock_end) ended; ///< whose clocks are nobody's
	VEC(struct clock_object) objects;
	VEC(uint32_t) free; ///< objects that are none
	struct map known;   ///< key of an object -> index + 1
	uint64_t n_steps;
	uint64_t n_joined; ///< places that were looked at one by one
};

void fl_clocks_deinit(struct clocks *c);

/** Begin a thread that is behind object @p key. @return its clock; SIZE_MAX: no memory. */
size_t fl_clocks_begin(struct clocks *c, uint64_t key);

/** Thread @p t has ended; what it did happens before who acquires object @p key. @return ERR_NOMEM. */
struct err *fl_clocks_end(struct clocks *c, size_t t, uint64_t key);

/** Nobody will ask for object @p key, as it is now. */
void fl_clocks_forget(struct clocks *c, uint64_t key);

static inline uint32_t clock_at(const clock_times *t, size_t i)
{
	return i < t->size ? t->data[i] : 0;
}

/** @return the time of thread @p t. */
static inline uint32_t clocks_now(const struct clocks *c, size_t t)
{
	return c->threads.data[t].times.data[t];
}

/** Thread @p t accesses memory. */
static inline void clocks_access(struct clocks *c, size_t t)
{
	c->accessed.data[t] = clocks_now(c, t);
}

/** @return whether what thread @p u did at its time @p when happened before what @p t does now. */
static inline bool clocks_is_before(const struct clocks *c, size_t u, uint32_t when,
				    size_t t)
{
	return u == t || when <= clock_at(&c->threads.data[t].times, u);
}

/** What thread @p t did so far happens before who acquires object @p key from here on. @return ERR_NOMEM. */
struct err *fl_clocks_release(struct clocks *c, size_t t, uint64_t key);
struct err *fl_clocks_acquire(struct clocks *c, size_t t, uint64_t key);

/** What thread @p t did so far, and will do before its next tick, happens before who acquires object @p key from
 * here on. @return ERR_NOMEM. */
struct err *fl_clocks_tell(struct clocks *c, size_t t, uint64_t key);
void fl_clocks_tick(struct clocks *c, size_t t);

/** What @p from did so far happens before what @p t does from here on. */
struct err *fl_clocks_order(struct clocks *c, size_t from, size_t t);

/** Object @p to is what @p from is; that is new again. */
struct err *fl_clocks_move(struct clocks *c, uint64_t from, uint64_t to);

#endif
