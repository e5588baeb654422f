// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One by one: was every operation on a concurrent object as if it had happened at one instant
 * between its call and its return (Herlihy and Wing)? A *history* is the calls and returns of
 * operations, an *object* says what each operation does when nothing else runs; fl_lin_check() asks
 * for an order of the operations that keeps the order of those that do not overlap and that the
 * object allows.
 *
 * Invariants:
 *  1. Moments are the calls and returns, counted from 0: no two are the same, and an operation's
 *     call comes before its return.
 *  2. LIN_WRONG is proven: no such order exists. LIN_UNKNOWN says why it is not known.
 *
 * Nothing here is shared between threads.
 */
#ifndef FAULTLOCATE_LINEAR_LINEAR_H
#define FAULTLOCATE_LINEAR_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "base/map.h"
#include "specdsl/objects.h"

/* ---- values ------------------------------------------------------------------------------ */

/* A number that an operation takes or gives; a text is a number from LIN_TEXT on. */
#define LIN_NONE INT64_MIN	  ///< there is none, or it is not known
#define LIN_EMPTY (INT64_MIN + 1) ///< nil: nothing was there
#define LIN_ANY (INT64_MIN + 2)	  ///< of a register's beginning: not known yet
#define LIN_TEXT (1ll << 62)

/** The texts among the values of a history. */
struct fl_lin_values {
	struct arena arena;
	VEC(const char *) texts;
	struct map by_hash; ///< to 1 + index of the last text with this hash
	VEC(uint32_t) same; ///< of each text: 1 + index of another with its hash
};

/** @return the value of @p n characters: of "12" 12, of "nil" LIN_EMPTY, of "true" 1; LIN_NONE when
 * memory is out. */
int64_t fl_lin_value(struct fl_lin_values *v, const char *text, size_t n);
/** As above, but always the text; LIN_EMPTY of an empty one. */
int64_t fl_lin_value_text(struct fl_lin_values *v, const char *text, size_t n);
/** Write what @p value is called into @p buf. @return @p buf. */
const char *fl_lin_value_name(const struct fl_lin_values *v, int64_t value, char *buf,
			      size_t size);
void fl_lin_values_deinit(struct fl_lin_values *v);

/* ---- objects ----------------------------------------------------------------------------- */

enum fl_lin_object_kind {
	LIN_REGISTER, ///< read, write, cas
	LIN_COUNTER,  ///< add, read
	LIN_SET,      ///< add, remove, contains
	LIN_MAP,      ///< put, get, remove, cas, append
	LIN_QUEUE,    ///< enqueue, dequeue
	LIN_STACK,    ///< push, pop, peek
	LIN_PRIORITY, ///< insert, delete-min
	LIN_MUTEX,    ///< lock, try-lock, unlock
	LIN_MACHINE,  ///< what the user wrote
	LIN_OBJECTS
};

/** What an operation does; which of them an object has is in its table (object.c). */
enum fl_lin_does {
	LIN_READ,
	LIN_WRITE,
	LIN_CAS, ///< gives whether it did
	LIN_ADD, ///< to a counter: may give what was there
	LIN_SET_ADD,
	LIN_SET_REMOVE,
	LIN_SET_CONTAINS,
	LIN_PUT,
	LIN_GET,
	LIN_REMOVE,
	LIN_APPEND,
	LIN_PUSH,
	LIN_POP,
	LIN_PEEK,
	LIN_LOCK,
	LIN_TRY_LOCK,
	LIN_UNLOCK,
	LIN_STEP, ///< of LIN_MACHINE, from here on: + index of the operation
};

struct fl_lin_object {
	enum fl_lin_object_kind kind;
	int64_t initial; ///< of a register; LIN_ANY: the first read tells
	const struct spec_object
		*machine; ///< of LIN_MACHINE: what the user wrote; borrowed
};

/** Take what the user wrote for an object. @return false: there is none of that name. */
bool fl_lin_object_take(const struct spec_object *written, struct fl_lin_object *ret);

/** @return the name of objects of @p kind: "queue". */
const char *fl_lin_object_name(const struct fl_lin_object *o);

/** Find the built-in object called @p name. @return whether there is one. */
bool fl_lin_object_find(const char *name, struct fl_lin_object *ret);

/** Find the operation called @p name ("enqueue", "enq", ...) of @p o. @return what it does; -1: there is
 * none. */
int fl_lin_object_operation(const struct fl_lin_object *o, const char *name, size_t n);

/** @return what an operation that does @p does is called. */
const char *fl_lin_does_name(const struct fl_lin_object *o, int does);

/** @return how many arguments it takes: 0 to 3. */
unsigned fl_lin_does_args(const struct fl_lin_object *o, int does);

/** The names of @p o's operations, separated by ", ". */
void fl_lin_object_operations(const struct fl_lin_object *o, char *buf, size_t size);

/* ---- histories --------------------------------------------------------------------------- */

#define LIN_PENDING UINT64_MAX ///< the end of an operation that did not return
/** The end of one of a history that is being read: it will return, with a result that is known. */
#define LIN_LATER (UINT64_MAX - 1)

struct fl_lin_op {
	int does; ///< enum fl_lin_does
	/** Its part is known to be wrong by those that are marked so, whatever came later: of those that were under
	 * way then the end is LIN_LATER for ever. */
	bool is_wrong;
	bool is_open; ///< of a history that is being read: it has not returned, and is not lost
	bool is_known; ///< is_open: whether it will return and with which result was looked up
	bool is_again;	 ///< is_open: what it takes may be put in again before it returns
	int64_t process; ///< who called it: a thread, or what the file says
	int64_t arg[3];	 ///< in the order of the object's table; LIN_NONE behind the last
	int64_t ret;	 ///< LIN_NONE: it gives nothing, or that is not known
	int64_t instance;	  ///< which of several objects; 0 when there is one
	uint64_t call, end;	  ///< moments; end may be LIN_PENDING
	uint64_t call_at, end_at; ///< where that was: lines of a file, or positions
};

typedef VEC(int64_t) fl_lin_words;

/** What parts of a history may be like behind what was left out of them (parts.h). */
struct fl_lin_starts {
	fl_lin_words words;
	struct map of; ///< of a part, by its key, to where its start is in `words`
};

struct fl_lin_history {
	VEC(struct fl_lin_op) ops; ///< by the moments of their calls
	uint64_t moments;	   ///< how many there are so far
	/** Called each time that `rest_after` more were read, to take out what matters no more; may put
	 * those that are open at other places. NULL: all are kept. */
	struct err *(*rest)(struct fl_lin_history *h, void *of);
	void *rest_of;
	size_t rest_after; ///< 0: half a million, of a register twice that
	uint64_t n_gone;   ///< that were taken out
	struct fl_lin_starts starts;
	struct fl_lin_values values;
};

void fl_lin_history_deinit(struct fl_lin_history *h);

/** Take out the operations whose does is -1. @return how many. */
size_t fl_lin_history_drop(struct fl_lin_history *h);

/**
 * Read the history in file @p path (doc/linear.md): lines `PROCESS call|return OPERATION [VALUE..]`;
 * EDN as Jepsen writes it, in a vector or map by map; or the log lines of old Jepsen.
 *
 * @param h  empty; to be deinitialized whatever comes.
 * @return NULL; ERR_FORMAT: what is wrong on which line; ERR_NOT_FOUND, ERR_OS, ERR_NOMEM.
 */
struct err *fl_lin_history_read(const char *path, const struct fl_lin_object *o,
				struct fl_lin_history *h);

/** As above, of @p size bytes at @p text, for @p path in messages. Modifies nothing. */
struct err *fl_lin_history_parse(const char *path, const char *text, size_t size,
				 const struct fl_lin_object *o, struct fl_lin_history *h);

/* ---- the question ------------------------------------------------------------------------ */

enum fl_lin_answer { LIN_RIGHT, LIN_WRONG, LIN_UNKNOWN };

struct fl_lin_verdict {
	enum fl_lin_answer answer;
	uint64_t n_ops, n_pending; ///< of the whole history
	uint64_t n_parts;	   ///< asked one by one: keys, elements, instances
	uint64_t n_wrong;	   ///< of them
	const char *method;	   ///< "monitor", "search" or "monitor and search"
	/** Of the first wrong part: a history that no order explains, by the moments of its calls:
	 * indices of the history's operations. Of containers it is as small as it gets: with any
	 * value less it has an order. Of others it ends with the first return that nothing explains. */
	VEC(size_t) witness;
	bool is_minimal;
	fl_lin_words
		start; ///< empty, or what there may have been before the witness (search.h)
	char left[256]; ///< that in a sentence: "it was 57", or ""
	bool has_key;	///< which part that is:
	int64_t key;
	char why[256];	///< WRONG: in a sentence; UNKNOWN: what stood in the way
	char note[256]; ///< why a monitor was not used, or ""
};

/** Ask about @p h. @param most  configurations that a search may keep; 0: the default.
 * @return NULL or ERR_NOMEM. */
struct err *fl_lin_check(const struct fl_lin_object *o, const struct fl_lin_history *h,
			 size_t most, struct fl_lin_verdict *ret);
void fl_lin_verdict_deinit(struct fl_lin_verdict *v);

/** Ask about @p h, to which more will come, and take out what matters no more. Of operations under way the
 * result must be known, and their end be LIN_LATER, or LIN_PENDING if they never return. Of containers of
 * distinct values those stay that went in and did not come out, and of others what tells how these are
 * ordered; else all that returned goes, and what the part may be like becomes its start. What is wrong stays
 * up to the return that tells.
 * @param most  as of fl_lin_check(). @return NULL or ERR_NOMEM. */
struct err *fl_lin_check_rest(const struct fl_lin_object *o, struct fl_lin_history *h,
			      size_t most);

/** Write operation @p op as a call: `enqueue(5)`, `dequeue() = 7`. @return @p buf. */
const char *fl_lin_op_text(const struct fl_lin_object *o, const struct fl_lin_values *v,
			   const struct fl_lin_op *op, char *buf, size_t size);

/** The part of @p op that fl_lin_check() asks about alone; LIN_NONE: all. */
int64_t fl_lin_op_key(const struct fl_lin_object *o, const struct fl_lin_op *op);

#endif
