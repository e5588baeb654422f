// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * States as terms, and facts about all that can be reached. Private to facts.c, promises.c, pairs.c, moves.c
 * and ends.c.
 *
 * A fact holds always, or while an operation stands before a sub-operation, or while two do. All of a
 * few shapes are taken for true at first; what one step from a state in which they hold makes false
 * is dropped, until nothing is (Houdini): what is left holds in every state that can be reached, by
 * any number of operations, for no shape is about more than two of them.
 *
 *   a == b, a != b, a < b, a <= b          of variables, fields of them, numbers, ID
 *   nothing's field f is a                 (NO_OTHER without b)
 *   nothing's field f is a but that of b   (NO_OTHER)
 *   no two things have one field f         (ONE_EACH; but NULL)
 */
#ifndef FAULTLOCATE_LINEAR_FACTS_H
#define FAULTLOCATE_LINEAR_FACTS_H

#include <limits.h>

#include "base/arena.h"
#include "base/vec.h"
#include "faultlocate/linear/pairs.h"
#include "smt/smt.h"

#define FACT_ALWAYS SIZE_MAX
#define THING_ANY INT_MIN ///< a type

struct fact {
	enum { FACT_EQ, FACT_NE, FACT_LT, FACT_LE, FACT_NO_OTHER, FACT_ONE_EACH } is;
	size_t u, v; ///< before which sub-operation; FACT_ALWAYS: none
	const struct spec_step_expr *a,
		*b; ///< a of u; b of v, or of u where there is no v
	size_t memory;
	bool is_off;
	bool has_order; ///< of a comparison: there are six of the same two, not two
	uint8_t place;	///< among them
};

/** An operation under way. */
struct instance {
	size_t before; ///< which sub-operation it stands
	const struct spec_structure_operation *of;
	smt_term id, *local;
	smt_term fresh[64]; ///< what its next sub-operation allocates, by local
	uint64_t has_fresh;
};

/** A memory: what it was, and what was written to it since. */
struct memory {
	smt_term before;
	const struct written {
		smt_term at, value;
		const struct written *earlier;
	} * last;
};

struct state {
	smt_term *global;
	struct memory *memory;
};

/** The terms of a question. */
struct question {
	struct instance u, v;
	bool has_u;
	struct state now;
	/** At which facts about all things are taken: of one type, or of any. */
	VEC(struct question_thing {
		smt_term is;
		int type;
	})
	things;
	smt_term p, q; ///< any two
};

/** An operation before sub-operation `at` that is to end needs this of a later one already: once it is
 * false, nothing makes it true again. One for which it is false has read, or done what nobody minds, as
 * taking a lock: a history without it is one as well. */
struct promise {
	size_t at;
	const struct spec_step_condition *condition;
};

/** A condition of a step that was done, and whether it held then. */
struct facts_condition {
	const struct spec_step *of;
	size_t index;
	smt_term holds;
};
typedef VEC(struct facts_condition) fl_lin_facts_conditions;

/** Which globals and memories; bits by number. */
struct touched {
	uint64_t globals, memories;
};

/** A number that is compared with what has the kind of `of`. */
struct facts_number {
	size_t of;
	int64_t value;
};

struct facts {
	const struct fl_lin_steps *steps;
	const struct spec_structure *s;
	struct smt *smt;
	struct arena arena;
	VEC(struct fact) all;
	// What questions are about, the same in all: a state, any two things, two operations.
	struct state now;
	const struct question *asked; ///< the last
	smt_term p, q, any, id[2];
	smt_term *local[2], *fresh[2]; ///< operation * 64 + local
	smt_term *terms;      ///< of comparisons: fact * 2 + role; NULL: not made yet
	VEC(int64_t) numbers; ///< in the text
	size_t *kind; ///< of globals, memories, locals and ID: another of the same, or itself
	VEC(struct facts_number) of_kinds;
	VEC(struct promise) promises;
	/** Of each sub-operation: does nobody mind what it writes (promises.c)? */
	enum { MINDED_NOT_ASKED, MINDED, MINDED_BY_NONE } * minded;
	bool *follows; ///< a * n + b: b of another followed a at once, in some execution
	size_t *first, *count; ///< of facts about two, one or none: in `all`
	uint64_t *
		dropped; ///< when a fact of u, v (u * n + v), of u (n * n + u) or of none was
	uint64_t *asked_at; ///< when the question of u and v was (u = n: v alone)
	uint64_t clock;
	size_t shared_of;   ///< whose facts are asserted of all questions
	uint64_t shared_at; ///< since when; 0: nobody's yet
	bool is_too_large;
	struct touched noticed; ///< somebody learns what is there (pairs.c)
	bool is_mixed;		///< pointers are numbers; else names
	bool has_any;		///< a condition is that there is no such thing
	bool has_order;		///< somebody compares numbers by size, or counts
	size_t n_questions, n_unknown;
	fl_lin_facts_conditions
		*watched; ///< gets the conditions of what is done; may be NULL
	bool is_out_of_memory;
};

/** Memory that lives as long as @p f; NULL: is_out_of_memory is set. */
void *fl_lin_facts_need(struct facts *f, size_t bytes);

static inline const struct spec_structure_operation *
fl_lin_facts_operation(const struct facts *f, size_t step)
{
	return fl_lin_steps_operation(f->steps, step);
}

/** What type has @p e of operation @p o? A number may be of any, as NULL is. */
static inline int fl_lin_facts_type(const struct facts *f, const struct spec_step_expr *e,
				    const struct spec_structure_operation *o)
{
	return e->op == STEP_GLOBAL ? f->s->globals[e->value].type :
	       e->op == STEP_MEMORY ? f->s->memories[e->value].type :
	       e->op == STEP_LOCAL  ? o->locals[e->value].type :
				      SPEC_TYPE_INT;
}

/** Where facts about @p u and @p v are counted (first, count, dropped). */
size_t fl_lin_facts_place(const struct facts *f, size_t u, size_t v);

/** List all that may be true (propose.c). */
void fl_lin_facts_propose(struct facts *f);

/** The facts about @p u and @p v: in f->all from the number returned to before *@p end. */
size_t fl_lin_facts_about(const struct facts *f, size_t u, size_t v, size_t *end);

/** Drop facts that some executions at random make false, and note who follows whom (sample.c). */
void fl_lin_facts_sample(struct facts *f);
/** Once the promises are known: note who follows whom where they are kept. */
void fl_lin_facts_follow(struct facts *f);

struct err *fl_lin_facts_find(const struct fl_lin_steps *steps, struct facts *ret);
void fl_lin_facts_deinit(struct facts *f);

/** A state with an operation before @p u (FACT_ALWAYS: none) and one before @p v, asserted to be one
 * that can be reached, as far as the facts tell, until fl_lin_facts_question_deinit(). */
void fl_lin_facts_ask(struct facts *f, size_t u, size_t v, struct question *ret);
/** What is compared in the facts about an operation before @p step, asserted of @p i in @p s. */
void fl_lin_facts_assert_of(struct facts *f, size_t step, const struct instance *i,
			    const struct state *s);
void fl_lin_facts_question_deinit(struct facts *f, struct question *q);

/** A copy to change. NULL where memory is out. */
struct state fl_lin_facts_state_copy(struct facts *f, const struct state *s);
struct instance fl_lin_facts_instance_copy(struct facts *f, const struct instance *i);

/** A new variable for what is of @p type. */
smt_term fl_lin_facts_var(struct facts *f, int type, const char *name);

/** What memory @p m has at @p at. */
smt_term fl_lin_facts_memory_at(struct facts *f, const struct memory *m, smt_term at);

/** Write @p value to it. */
void fl_lin_facts_memory_write(struct facts *f, struct memory *m, smt_term at,
			       smt_term value);

typedef VEC(smt_term) fl_lin_facts_seen;

/** What @p e, which is compared with @p beside, is for @p i in @p s. */
smt_term fl_lin_facts_value(struct facts *f, const struct spec_step_expr *e,
			    const struct spec_step_expr *beside, const struct instance *i,
			    const struct state *s);

/** When @p c holds of @p i in @p s. */
smt_term fl_lin_facts_condition(struct facts *f, const struct spec_step_condition *c,
				const struct instance *i, const struct state *s);

/** Add those in @p e. */
void fl_lin_facts_touch(struct touched *t, const struct spec_step_expr *e);
/** What sub-operation @p step writes. */
struct touched fl_lin_facts_written(const struct facts *f, size_t step);

/** Sub-operation @p step done by @p i in @p s: both change. @p seen: what READ gives.
 * @return when it can be done. */
smt_term fl_lin_facts_do(struct facts *f, size_t step, struct instance *i,
			 struct state *s, fl_lin_facts_seen *seen);

/* ---- promises.c ---- */

/** Find what operations that end have promised, once the facts are known. */
void fl_lin_promises_find(struct facts *f);
/** What operations that end have promised holds of @p i, which stands before sub-operation @p step, in
 * @p s: asserted. */
void fl_lin_promises_assert(struct facts *f, size_t step, const struct instance *i,
			    const struct state *s);

/** Can whatever others do behind sub-operation @p a be done before it as well, and comes to the same? Whether
 * they end or not. One that has only read is minded by nobody. */
bool fl_lin_promises_is_minded_by_none(struct facts *f, size_t a);

/* ---- ends.c ---- */

/** Note in @p pairs before which sub-operations one that has written may wait for ever. */
void fl_lin_ends_find(struct facts *f, struct fl_lin_pairs *pairs);

/* ---- pairs.c ---- */

/** In which states is a pair asked about? @p between: behind the first of the two. */
typedef smt_term (*fl_lin_pair_when)(struct facts *f, const struct question *q,
				     const struct state *between, void *of);
/** Derive pair (@p a, @p b), in states in which @p when holds of @p of (NULL: all). */
void fl_lin_pair_ask(struct facts *f, size_t a, size_t b, fl_lin_pair_when when, void *of,
		     struct fl_lin_pair *ret);
/** The locals that matter behind sub-operation @p step, bit by number: somebody reads them. Where no
 * operation says what it gives, all do. */
uint64_t fl_lin_live_behind(const struct facts *f, size_t step);

/* ---- moves.c ---- */

/** The pairs are no proof that sub-operation @p next and those before it can be brought together:
 * note in @p pairs how they can. @return whether they can. */
bool fl_lin_move_find(struct facts *f, struct fl_lin_pairs *pairs, size_t next);

#endif
