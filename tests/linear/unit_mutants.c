// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Mutants of the structures of specs/concurrent: each condition and statement left out, each two
 * statements and steps swapped, each step of several statements torn, each comparison turned and each
 * number one more; and some of them with two changes at once. A judge that shares nothing with the product but the parser goes through all
 * interleavings of two and three operations, step by step as written, and looks for an order of whole
 * operations. Where it finds none the product must say so, and where the product has a proof the judge
 * must have found nothing.
 *
 * time limit: 300
 *
 * FAULTLINE_MUTANTS=full: of all structures, each mutant named; else of those that take few seconds, and a
 * few of those that take some more.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "faultlocate/linear/explore.h"
#include "faultlocate/linear/pairs.h"
#include "tests/unit.h"

#define AT_ONCE 3
#define ROOM 16 ///< variables, things, elements
#define MEMORIES 12
#define ENOUGH 400000 ///< states: a mutant that has more is left out

/* ---- the judge: a machine ----------------------------------------------------------------- */

struct operation_state {
	signed char local[ROOM], has[ROOM];
	unsigned char op, step, has_begun, has_ended, before;
};

struct machine {
	signed char global[ROOM], memory[MEMORIES][ROOM], type[ROOM];
	unsigned char is_public[ROOM];	 ///< things that others can have come by
	unsigned char n_things, is_kept; ///< 1, but of an empty place among the states
	struct operation_state of[AT_ONCE];
};

static const struct spec_structure *judged;
static uint64_t types_looked_for; ///< by NO
static bool is_over;		  ///< there are too many states, or an array is too long

static signed char *place(struct machine *m, int who, const struct spec_step_expr *e);

static bool is_so(enum spec_compare how, int a, int b)
{
	switch (how) {
	case STEP_EQ:
		return a == b;
	case STEP_NE:
		return a != b;
	case STEP_LT:
		return a < b;
	case STEP_LE:
		return a <= b;
	case STEP_GT:
		return a > b;
	default:
		return a >= b;
	}
}

/* @return false: behind NULL. */
static bool value(struct machine *m, int who, const struct spec_step_expr *e, int *ret)
{
	int a, b = 0;
	signed char *at;

	switch (e->op) {
	case STEP_NUMBER:
		*ret = (int)e->value;
		return true;
	case STEP_ID:
		*ret = 100 + who;
		return true;
	case STEP_COMPARE:
	case STEP_BOTH:
		if (!value(m, who, e->a, &a) || !value(m, who, e->b, &b))
			return false;
		*ret = e->op == STEP_BOTH ? a && b :
					    is_so((enum spec_compare)e->value, a, b);
		return true;
	case STEP_ANY:
		for (signed char x = 1; x < ROOM && !b; x++) {
			m->of[who].local[e->value] = x;
			if (!value(m, who, e->a, &b))
				return false;
		}
		m->of[who].local[e->value] = 0;
		*ret = b;
		return true;
	case STEP_ADD:
	case STEP_SUB:
		if (!value(m, who, e->a, &a) || !value(m, who, e->b, &b))
			return false;
		*ret = e->op == STEP_ADD ? a + b : a - b;
		return true;
	default:
		at = place(m, who, e);
		*ret = at ? *at : 0;
		return at;
	}
}

static signed char *place(struct machine *m, int who, const struct spec_step_expr *e)
{
	int at;

	if (e->op == STEP_GLOBAL)
		return &m->global[e->value];
	if (e->op == STEP_LOCAL)
		return &m->of[who].local[e->value];
	if (!value(m, who, e->a, &at))
		return NULL;
	is_over |= at >= ROOM;
	if (at < 0 || at >= ROOM ||
	    (!at && judged->memories[e->value].of != SPEC_TYPE_INT))
		return NULL;
	return &m->memory[e->value][at];
}

static bool holds(struct machine *m, int who, const struct spec_step_condition *c)
{
	int a, b;

	if (!value(m, who, c->a, &a) || !value(m, who, c->b, &b))
		return false;
	return is_so(c->compare, a, b);
}

static bool allocate(struct machine *m, int type, int *ret)
{
	int x = m->n_things + 1;

	is_over |= x >= ROOM;
	if (x >= ROOM)
		return false;
	m->n_things = (unsigned char)x;
	// What a condition looks for can be found as soon as it is made.
	m->is_public[x] = types_looked_for >> type & 1;
	m->type[x] = (signed char)type;
	for (size_t k = 0; k < judged->n_memories; k++)
		if (judged->memories[k].of == type)
			m->memory[k][x] = (signed char)judged->memories[k].initial;
	*ret = x;
	return true;
}

/* Whoever has thing @p x has what its fields lead to. */
static void publish(struct machine *m, int x)
{
	if (x <= 0 || x > m->n_things || m->is_public[x])
		return;
	m->is_public[x] = 1;
	for (size_t k = 0; k < judged->n_memories; k++)
		if (judged->memories[k].type >= 0 && judged->memories[k].of == m->type[x])
			publish(m, m->memory[k][x]);
}

/* Pointer @p x was stored at @p to. */
static void note_pointer(struct machine *m, int who, const struct spec_step_expr *to,
			 int x)
{
	const struct spec_structure_var *at = to->op == STEP_GLOBAL ?
						      &judged->globals[to->value] :
						      &judged->memories[to->value];
	int of = 0;

	if (to->op == STEP_LOCAL || at->type < 0)
		return;
	if (to->op == STEP_MEMORY && at->of >= 0)
		value(m, who, to->a, &of);
	if (!of || m->is_public[of])
		publish(m, x);
}

static bool state(struct machine *m, int who, const struct spec_step_statement *t)
{
	signed char *at;
	int is = 0;

	switch (t->is) {
	case STEP_FREE:
		return true;
	case STEP_READ:
		return value(m, who, t->target, &is);
	case STEP_MALLOC:
		if (!allocate(m, t->type, &is))
			return false;
		break;
	default:
		if (!value(m, who, t->value, &is))
			return false;
	}
	at = place(m, who, t->target);
	if (!at)
		return false;
	*at = (signed char)is;
	note_pointer(m, who, t->target, is);
	if (t->target->op == STEP_LOCAL)
		m->of[who].has[t->target->value] = 1;
	return true;
}

/* ---- variables without a value -------------------------------------------------------------- */

static int unbound_in(const struct operation_state *o, const struct spec_step_expr *e)
{
	int found;

	if (!e)
		return -1;
	if (e->op == STEP_LOCAL)
		return o->has[e->value] ? -1 : (int)e->value;
	if (e->op == STEP_ANY) {
		struct operation_state with = *o;

		with.has[e->value] = 1;
		return unbound_in(&with, e->a);
	}
	found = unbound_in(o, e->a);
	return found >= 0 ? found : unbound_in(o, e->b);
}

/* A local that the step reads and that nobody gave a value; -1. What a statement of the step gives one
 * counts from there on. */
static int unbound(const struct operation_state *now, const struct spec_step *s)
{
	struct operation_state o = *now;
	int found;

	for (size_t k = 0; k < s->n_conditions; k++) {
		found = unbound_in(&o, s->conditions[k].a);
		if (found < 0)
			found = unbound_in(&o, s->conditions[k].b);
		if (found >= 0)
			return found;
	}
	for (size_t k = 0; k < s->n_statements; k++) {
		const struct spec_step_statement *t = &s->statements[k];

		found = unbound_in(&o, t->value);
		if (found < 0 && t->is != STEP_FREE)
			found = unbound_in(&o,
					   t->is == STEP_READ ? t->target : t->target->a);
		if (found >= 0)
			return found;
		if (t->target && t->target->op == STEP_LOCAL)
			o.has[t->target->value] = 1;
	}
	return -1;
}

typedef void (*next_fn)(struct machine *m);

/* The next step of @p who in all ways in which it can be done. */
static void step(const struct machine *from, int who, next_fn then)
{
	const struct spec_structure_operation *op = &judged->operations[from->of[who].op];
	const struct spec_step *s = &op->steps[from->of[who].step];
	int guess = unbound(&from->of[who], s);
	struct machine m = *from;

	if (guess >= 0) {
		int type = op->locals[guess].type;

		for (int v = 0; v < ROOM; v++) {
			if (type < 0 ? v > 3 :
				       v && (!m.is_public[v] || m.type[v] != type))
				continue;
			m.of[who].local[guess] = (signed char)v;
			m.of[who].has[guess] = 1;
			step(&m, who, then);
		}
		return;
	}
	if (!m.of[who].has_begun) {
		m.of[who].has_begun = 1;
		for (int i = 0; i < AT_ONCE; i++)
			m.of[who].before |= m.of[i].has_ended << i;
	}
	for (size_t k = 0; k < s->n_conditions; k++)
		if (!holds(&m, who, &s->conditions[k]))
			return;
	for (size_t k = 0; k < s->n_statements; k++)
		if (!state(&m, who, &s->statements[k]))
			return;
	if (++m.of[who].step == op->n_steps)
		m.of[who].has_ended = 1;
	then(&m);
}

/* ---- which results an order gives ------------------------------------------------------------ */

struct order {
	unsigned char n, who[AT_ONCE], has[AT_ONCE];
	signed char gave[AT_ONCE];
};

static VEC(struct order) orders;
static struct order so_far;
static int n_at_once;
static unsigned char asked[AT_ONCE];

static int gives(const struct machine *m, int who)
{
	int r = judged->operations[m->of[who].op].result;

	return r < 0 ? 0 : m->of[who].local[r];
}

static void after(struct machine *m);

/* @p who next, as whatever operation is the same for its caller. */
static void whole(const struct machine *m, int who)
{
	const struct spec_structure_operation *is = &judged->operations[asked[who]];
	size_t n = strcspn(is->name, "_");

	for (size_t o = 0; o < judged->n_operations; o++) {
		const struct spec_structure_operation *as = &judged->operations[o];
		struct machine begun = *m;

		if (as != is &&
		    (as->result < 0 || is->result < 0 || as->n_args != is->n_args ||
		     strcspn(as->name, "_") != n || strncmp(as->name, is->name, n)))
			continue;
		begun.of[who].op = (unsigned char)o;
		so_far.who[so_far.n++] = (unsigned char)who;
		step(&begun, who, after);
		so_far.n--;
	}
}

static void after(struct machine *m)
{
	int now = so_far.who[so_far.n - 1];

	if (!m->of[now].has_ended) {
		step(m, now, after);
		return;
	}
	so_far.gave[so_far.n - 1] = (signed char)gives(m, now);
	if (vec_add(&orders, so_far))
		abort();
	for (int i = 0; i < n_at_once; i++)
		if (!m->of[i].has_begun)
			whole(m, i);
}

static bool explains(const struct order *o, const struct machine *m)
{
	unsigned in = 0;

	for (int k = 0; k < o->n; k++) {
		const struct operation_state *it = &m->of[o->who[k]];

		if (!it->has_begun || (it->before & ~in) ||
		    (it->has_ended && gives(m, o->who[k]) != o->gave[k]))
			return false;
		in |= 1u << o->who[k];
	}
	for (int i = 0; i < n_at_once; i++)
		if (m->of[i].has_ended && !(in >> i & 1))
			return false;
	return true;
}

/* ---- all interleavings ------------------------------------------------------------------------ */

static struct machine *seen; ///< whole states, by their hashes
static VEC(struct machine *) seen_at;
static size_t n_seen, room_seen;
static bool is_broken;

static struct machine *slot_of(struct machine *table, size_t room,
			       const struct machine *m)
{
	const unsigned char *bytes = (const void *)m;
	uint64_t h = 14695981039346656037u, word = 0;

	for (size_t k = 0; k < sizeof(*m); k += 8) {
		memcpy(&word, bytes + k, sizeof(*m) - k < 8 ? sizeof(*m) - k : 8);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 31;
	}
	for (size_t at = h & (room - 1);; at = (at + 1) & (room - 1))
		if (!table[at].is_kept || !memcmp(&table[at], m, sizeof(*m)))
			return &table[at];
}

static bool is_new(const struct machine *m)
{
	struct machine *slot;

	if (n_seen * 2 >= room_seen) {
		size_t room = room_seen ? room_seen * 2 : 1024;
		struct machine *more = calloc(room, sizeof(*more));

		if (!more)
			abort();
		seen_at.size = 0;
		for (size_t k = 0; k < room_seen; k++)
			if (seen[k].is_kept) {
				slot = slot_of(more, room, &seen[k]);
				*slot = seen[k];
				if (vec_add(&seen_at, slot))
					abort();
			}
		free(seen);
		seen = more;
		room_seen = room;
	}
	slot = slot_of(seen, room_seen, m);
	if (slot->is_kept)
		return false;
	*slot = *m;
	if (vec_add(&seen_at, slot))
		abort();
	is_over |= ++n_seen > ENOUGH;
	return true;
}

static unsigned long n_entered;

static void interleave(struct machine *m)
{
	bool is_explained = false;
	unsigned long entered = ++n_entered;

	if (is_over || is_broken || !is_new(m))
		return;
	for (int i = 0; i < n_at_once; i++)
		if (!m->of[i].has_ended)
			step(m, i, interleave);
	if (n_entered != entered || is_over || is_broken)
		return;
	for (size_t k = 0; k < orders.size && !is_explained; k++)
		is_explained = explains(&orders.data[k], m);
	for (int i = 0; i < n_at_once; i++)
		is_broken |= !is_explained && m->of[i].has_ended;
}

static bool begin(struct machine *m)
{
	const struct spec_structure_operation *o = judged->initialize;
	struct operation_state *first = &m->of[0];

	memset(m, 0, sizeof(*m));
	for (size_t k = 0; k < judged->n_globals; k++)
		m->global[k] = (signed char)judged->globals[k].initial;
	for (size_t k = 0; k < judged->n_memories; k++)
		memset(m->memory[k], (int)judged->memories[k].initial, ROOM);
	memset(first->has, 1, sizeof(first->has));
	for (size_t i = 0; o && i < o->n_steps; i++)
		for (size_t k = 0; k < o->steps[i].n_statements; k++)
			if (!state(m, 0, &o->steps[i].statements[k]))
				return false;
	memset(m->of, 0, sizeof(m->of));
	m->is_kept = 1;
	return true;
}

/* With arguments from number @p arg of @p who on. */
static void arguments(const struct machine *first, int who, size_t arg)
{
	struct machine m = *first;

	if (is_over || is_broken)
		return;
	if (who == n_at_once) {
		orders.size = n_seen = 0;
		so_far = (struct order){};
		for (size_t k = 0; k < seen_at.size; k++)
			seen_at.data[k]->is_kept = 0;
		seen_at.size = 0;
		for (int i = 0; i < n_at_once; i++)
			whole(&m, i);
		interleave(&m);
		return;
	}
	if (arg == judged->operations[m.of[who].op].n_args) {
		arguments(&m, who + 1, 0);
		return;
	}
	for (signed char v = 1; v <= 2; v++) {
		m.of[who].local[arg] = v;
		m.of[who].has[arg] = 1;
		arguments(&m, who, arg + 1);
	}
}

static void operations(int who, unsigned from)
{
	struct machine m;

	if (who == n_at_once) {
		if (!begin(&m))
			return;
		for (int i = 0; i < n_at_once; i++)
			m.of[i].op = asked[i];
		arguments(&m, 0, 0);
		return;
	}
	for (unsigned o = from; o < judged->n_operations && !is_over && !is_broken; o++) {
		asked[who] = (unsigned char)o;
		operations(who + 1, o);
	}
}

/* @return 1: some execution has no order; 0: each has; -1: there are too many. */
static int judge(const struct spec_structure *s)
{
	judged = s;
	types_looked_for = 0;
	for (size_t o = 0; o < s->n_operations; o++)
		for (size_t i = 0; i < s->operations[o].n_steps; i++) {
			const struct spec_step *it = &s->operations[o].steps[i];

			for (size_t k = 0; k < it->n_conditions; k++)
				if (it->conditions[k].a->op == STEP_ANY)
					types_looked_for |=
						1ull << s->operations[o]
								.locals[it->conditions[k]
										.a->value]
								.type;
		}
	is_over = is_broken = false;
	for (n_at_once = 2; n_at_once <= AT_ONCE; n_at_once++)
		operations(0, 0);
	return is_broken ? 1 : is_over ? -1 : 0;
}

/* ---- mutants ---------------------------------------------------------------------------------- */

enum kind {
	NO_CONDITION,
	NO_STATEMENT,
	SWAPPED,
	TORN,
	STEPS_SWAPPED,
	TURNED,
	ONE_MORE,
	KINDS
};

static const char *const names[] = { "a condition less",   "a statement less",
				     "statements swapped", "torn",
				     "steps swapped",	   "a comparison turned",
				     "a number one more" };

/* A place for a change. */
struct change {
	enum kind kind;
	size_t o, k, i;
};

/* A structure with one thing changed. */
struct mutant {
	struct spec_structure s;
	struct spec_structure_operation operations[16];
	struct spec_step steps[32];
	struct spec_step_condition conditions[16];
	struct spec_step_statement statements[16];
	struct spec_step_expr number;
};

static struct spec_step *make_room(struct mutant *m, const struct spec_structure *s,
				   size_t o, size_t k)
{
	const struct spec_structure_operation *op = &s->operations[o];
	const struct spec_step *it = &op->steps[k];

	assert(s->n_operations <= 16 && op->n_steps < 32 && it->n_conditions <= 16 &&
	       it->n_statements <= 16);
	m->s = *s;
	memcpy(m->operations, s->operations, s->n_operations * sizeof(*s->operations));
	m->s.operations = m->operations;
	memcpy(m->steps, op->steps, op->n_steps * sizeof(*op->steps));
	m->operations[o].steps = m->steps;
	memcpy(m->conditions, it->conditions, it->n_conditions * sizeof(*it->conditions));
	m->steps[k].conditions = m->conditions;
	memcpy(m->statements, it->statements, it->n_statements * sizeof(*it->statements));
	m->steps[k].statements = m->statements;
	return &m->steps[k];
}

static void leave_out(void *all, size_t n, size_t i, size_t size)
{
	char *at = (char *)all + i * size;

	memmove(at, at + size, (n - i - 1) * size);
}

/* Step @p k becomes two, the second from statement @p i on. */
static bool tear(struct mutant *m, size_t o, size_t k, size_t i)
{
	struct spec_step *it = &m->steps[k];

	if (i >= it->n_statements || (!i && !it->n_conditions))
		return false;
	memmove(it + 2, it + 1, (m->operations[o].n_steps - k - 1) * sizeof(*it));
	it[1] = it[0];
	it[1].n_conditions = 0;
	it[1].statements += i;
	it[1].n_statements -= i;
	it[0].n_statements = i;
	m->operations[o].n_steps++;
	return true;
}

static bool turn(struct spec_step_condition *c)
{
	static const enum spec_compare other[] = { STEP_NE, STEP_EQ, STEP_LE,
						   STEP_LT, STEP_GE, STEP_GT };

	c->compare = other[c->compare];
	return true;
}

static bool one_more(struct mutant *m, const struct spec_structure_var *locals,
		     struct spec_step_condition *c)
{
	const struct spec_structure_var *all = c->a->op == STEP_GLOBAL ? m->s.globals :
									 m->s.memories;

	if (c->a->op == STEP_LOCAL ?
		    locals[c->a->value].type >= 0 :
		    (c->a->op == STEP_GLOBAL || c->a->op == STEP_MEMORY) &&
			    all[c->a->value].type >= 0)
		return false; // a pointer is no number
	if (c->b->op != STEP_NUMBER || c->compare == STEP_NE)
		return false;
	m->number = *c->b;
	m->number.value++;
	c->b = &m->number;
	return true;
}

/* @return false: there is no mutant of this kind at @p at. */
static bool mutate(const struct spec_structure *s, struct change at, struct mutant *m)
{
	struct spec_step *it = make_room(m, s, at.o, at.k);
	struct spec_step_statement t;
	struct spec_step swap;

	switch (at.kind) {
	case NO_CONDITION:
		if (at.i >= it->n_conditions)
			return false;
		leave_out(m->conditions, it->n_conditions--, at.i,
			  sizeof(*m->conditions));
		return true;
	case NO_STATEMENT:
		if (at.i >= it->n_statements || m->statements[at.i].is != STEP_ASSIGN)
			return false;
		leave_out(m->statements, it->n_statements--, at.i,
			  sizeof(*m->statements));
		return true;
	case SWAPPED:
		if (at.i + 1 >= it->n_statements)
			return false;
		t = m->statements[at.i];
		m->statements[at.i] = m->statements[at.i + 1];
		m->statements[at.i + 1] = t;
		return true;
	case TORN:
		return tear(m, at.o, at.k, at.i);
	case STEPS_SWAPPED:
		if (at.i || at.k + 1 >= m->operations[at.o].n_steps)
			return false;
		swap = it[0];
		it[0] = it[1];
		it[1] = swap;
		return true;
	case TURNED:
		return at.i < it->n_conditions && turn(&m->conditions[at.i]);
	default:
		return at.i < it->n_conditions &&
		       one_more(m, s->operations[at.o].locals, &m->conditions[at.i]);
	}
}

/* ---- the product against the judge --------------------------------------------------------------- */

/* What the product says of one. All but the first two are equivalent to the structure as far as can be told: by a
 * proof, or by all executions of three operations, of four where there are not too many. */
enum outcome { BROKEN, BROKEN_BY_FOUR, PROVEN, NEVER, WAITS, UNPROVEN, OUTCOMES };

static const char *const outcomes[] = {
	"broken",
	"broken: by four operations, which the judge does not look at",
	"equivalent: proven",
	"equivalent by all executions: proven, but a step is never done",
	"equivalent by all executions: proven but for one that waits",
	"equivalent by all executions: not proven"
};

struct count {
	unsigned step, met; ///< of those that there are, one in so many is tried
	unsigned tried, broken, of[OUTCOMES], over, wrong;
};

static void tell(const char *path, const struct spec_structure *s, struct change at,
		 const char *what)
{
	printf("%s:%d: %s %zu: %s\n", path, s->operations[at.o].steps[at.k].line,
	       names[at.kind], at.i + 1, what);
}

static enum outcome prove(const struct fl_lin_steps *steps)
{
	struct fl_lin_pairs pairs = {};
	struct fl_lin_proof proof = {};
	enum outcome is = UNPROVEN;
	size_t k;

	ok(fl_lin_pairs_derive(steps, &pairs));
	ok(fl_lin_prove(steps, &pairs, &proof));
	k = fl_lin_pairs_reservation(&pairs);
	if (proof.is_proven)
		is = k == pairs.n ? PROVEN : pairs.is_never[k] ? NEVER : WAITS;
	fl_lin_proof_deinit(&proof);
	fl_lin_pairs_deinit(&pairs);
	return is;
}

/* Is it broken by four operations, or too large for that? */
static bool is_broken_by_four(const struct fl_lin_steps *steps)
{
	struct fl_lin_executions runs = {};
	bool is;

	ok(fl_lin_explore(steps, AT_ONCE + 1, 2000000, &runs));
	is = runs.is_broken;
	fl_lin_executions_deinit(&runs);
	return is;
}

/* @return what is wrong with the product's answer; NULL: nothing, and @p is is what it says. */
static const char *compare(const struct spec_structure *s, int judged_as, bool is_full,
			   enum outcome *is)
{
	struct fl_lin_steps steps = {};
	struct fl_lin_executions runs = {};
	const char *what = NULL;

	ok(fl_lin_steps_make(s, &steps));
	ok(fl_lin_explore(&steps, AT_ONCE, 4000000, &runs));
	*is = prove(&steps);
	if (judged_as && *is == PROVEN)
		what = "WRONG: it is broken, and proven";
	else if (judged_as && !runs.is_broken)
		what = "WRONG: it is broken, and that is not found";
	else if (!judged_as && runs.is_broken)
		what = "WRONG: it is not broken, and said to be";
	if (judged_as)
		*is = BROKEN;
	else if (is_full && *is != PROVEN && is_broken_by_four(&steps))
		*is = BROKEN_BY_FOUR;
	fl_lin_executions_deinit(&runs);
	fl_lin_steps_deinit(&steps);
	return what;
}

/* Judge @p mutant of @p s, which @p last made of it. */
static void try(const char *path, const struct spec_structure *s, struct change last,
		const struct spec_structure *mutant, bool is_full, struct count *c)
{
	enum outcome outcome;
	const char *what;
	int is = judge(mutant);

	c->tried++;
	c->over += is < 0;
	c->broken += is > 0;
	if (is < 0)
		return;
	what = compare(mutant, is, is_full, &outcome);
	c->of[outcome]++;
	c->wrong += what != NULL;
	if (is_full || what)
		tell(path, s, last, what ?: outcomes[outcome]);
}

static void try_all(const char *path, const struct spec_structure *s, bool is_full,
		    struct count *c)
{
	static struct mutant m;
	struct change at;

	for (at.kind = 0; at.kind < KINDS; at.kind++)
		for (at.o = 0; at.o < s->n_operations; at.o++)
			for (at.k = 0; at.k < s->operations[at.o].n_steps; at.k++)
				for (at.i = 0; at.i < 16; at.i++)
					if (mutate(s, at, &m) && c->met++ % c->step == 0)
						try(path, s, at, &m.s, is_full, c);
}

static struct change draw(const struct spec_structure *s, unsigned *seed)
{
	struct change at = { .kind = rand_r(seed) % KINDS,
			     .o = rand_r(seed) % s->n_operations,
			     .i = rand_r(seed) % 5 };

	at.k = rand_r(seed) % s->operations[at.o].n_steps;
	return at;
}

/* @p n mutants with two changes, of which those are told that are answered wrongly. */
static void try_two(const char *path, const struct spec_structure *s, unsigned n,
		    struct count *c)
{
	static struct mutant m, both;
	unsigned seed = 23, end = c->tried + n;

	while (c->tried < end) {
		struct change first = draw(s, &seed), then;
		unsigned wrong = c->wrong;

		if (!mutate(s, first, &m))
			continue;
		then = draw(&m.s, &seed);
		if (!mutate(&m.s, then, &both))
			continue;
		try(path, &m.s, then, &both.s, false, c);
		if (c->wrong > wrong)
			tell(path, s, first, "and this");
	}
}

int main(int argc, char **argv)
{
	static const char *const all[] = { "treiber-stack",
					   "ms-queue",
					   "dglm-queue",
					   "pair-snapshot",
					   "rdcss",
					   "herlihy-wing-queue",
					   "two-lock-queue",
					   "elimination-stack",
					   "time-stamped-stack",
					   "orvyy-set",
					   "vy-cas-set",
					   "vy-dcas-set",
					   "hhlmss-set" };
	enum { QUICK = 5, SOME = 4 }; ///< of them all, and some of each:
	static const unsigned one_in[SOME] = { 6, 8, 18, 8 };
	const char *asked_for = getenv("FAULTLINE_MUTANTS");
	bool is_full = asked_for && !strcmp(asked_for, "full");

	setlinebuf(stdout);
	for (size_t f = 0; f < (is_full ? sizeof(all) / sizeof(*all) : QUICK + SOME);
	     f++) {
		struct spec *spec;
		struct count c = { .step = is_full || f < QUICK ? 1 : one_in[f - QUICK] };
		char path[128];

		if (argc > 1 && strcmp(argv[1], all[f]))
			continue;
		snprintf(path, sizeof(path), "specs/concurrent/%s.steps", all[f]);
		ok(spec_create(&spec));
		ok(spec_add_structure(spec, path));
		assert(spec_structure(spec));
		assert(judge(spec_structure(spec)) == 0);
		try_all(path, spec_structure(spec), is_full, &c);
		if (f < QUICK)
			try_two(path, spec_structure(spec), is_full ? 400 : 12, &c);
		printf("%s: %u mutants: %u broken, %u by four operations, %u proven, equivalent by execution: %u never "
		       "do a step, %u wait, %u not proven; %u too large\n",
		       all[f], c.tried, c.broken, c.of[BROKEN_BY_FOUR], c.of[PROVEN],
		       c.of[NEVER], c.of[WAITS], c.of[UNPROVEN], c.over);
		assert(!c.wrong && c.tried >= 8);
		spec_destroy(spec);
	}
	free(seen);
	vec_deinit(&seen_at);
	vec_deinit(&orders);
	return 0;
}
