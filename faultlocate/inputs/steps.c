// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Needs: numbered, laid out; steps: added.
 */

#include "faultlocate/inputs/steps.h"

#include <string.h>

#include "faultlocate/inputs/steps_int.h"

_Static_assert(sizeof(struct step) == 8 && sizeof(struct step_op) % 8 == 0,
	       "a step's own words");

/* ---- needs ------------------------------------------------------------------------------------ */

/* The labels of register @p reg: each, and which bytes have it; .. */
static struct err *number_reg(struct walker *w, unsigned reg, uint32_t *ret)
{
	const struct wanted_regs *r = w->at->regs;
	struct steps *m = &w->steps;
	struct err *err = NULL;

	m->scratch.size = 0;
	for (uint64_t left = r->bytes[reg]; left && !err;) {
		unsigned first = __builtin_ctzll(left), n = 0;
		label_word label = label_word_of(&r->at[reg][first]);

		do {
			left &= left - 1;
			n++;
		} while (left && left >> first >> n & 1 &&
			 label_word_of(&r->at[reg][first + n]) == label);
		err = vec_add(&m->scratch, label);
		if (!err)
			err = vec_add(&m->scratch, first << 8 | n);
	}
	return err   ?:
		       fl_automaton_number(&m->automaton, m->scratch.data,
					   m->scratch.size, ret);
}

/* What waits in @p c: its function; block | ways << 32, ways and link of a chain; .. */
static struct err *number_waits(struct walker *w, const struct call *c, uint32_t *ret)
{
	struct steps *m = &w->steps;
	struct err *err;

	m->scratch.size = 0;
	err = vec_add(&m->scratch, c->function);
	for (size_t i = 0; i < c->waiting.size && !err; i++) {
		const struct waiting *p = &c->waiting.data[i];

		err = vec_add(&m->scratch, p->block | (uint64_t)p->by_control.ways << 32);
		if (!err)
			err = vec_add(&m->scratch,
				      p->chain_ways | (uint64_t)p->chain_link << 32);
	}
	return err   ?:
		       fl_automaton_number(&m->automaton, m->scratch.data,
					   m->scratch.size, ret);
}

struct err *fl_steps_cover(struct walker *w, struct call *c)
{
	return c->waits ? NULL : number_waits(w, c, &c->waits);
}

struct err *fl_steps_enter(struct walker *w, uint64_t which)
{
	struct walker_thread *t = w->at;
	struct call *top = &t->calls.data[t->calls.size - 1];
	uint64_t regs = (which | (t->is_numbered ? 0 : STEPS_ALL)) &
			~(UINT64_C(1) << STEPS_WAITS);
	uint32_t number;
	struct err *err;

	if (!t->is_numbered)
		t->needs = (struct automaton_needs){};
	t->is_numbered = true;
	err = number_waits(w, top, &number);
	automaton_set(&t->needs, STEPS_WAITS, number);
	for (uint64_t left = regs & (t->needs.any | t->regs->any); left && !err;
	     left &= left - 1) {
		unsigned reg = __builtin_ctzll(left);

		number = 0;
		if (t->regs->any >> reg & 1)
			err = number_reg(w, reg, &number);
		automaton_set(&t->needs, reg, number);
	}
	return err;
}

static void lay_out(struct walker *w, struct wanted_regs *r, unsigned reg,
		    uint32_t number)
{
	uint32_t n;
	const uint64_t *words = automaton_words(&w->steps.automaton, number, &n);

	for (uint32_t i = 0; i < n; i += 2) {
		unsigned first = words[i + 1] >> 8, end = first + (words[i + 1] & 255);

		for (unsigned k = first; k < end; k++) {
			r->at[reg][k] = label_of_word(words[i]);
			r->bytes[reg] |= UINT64_C(1) << k;
		}
	}
	r->any |= UINT64_C(1) << reg;
}

struct err *fl_steps_open(struct walker *w, struct walker_thread *t, uint64_t which)
{
	struct call *top = &t->calls.data[t->calls.size - 1];
	struct wanted_regs *r = t->regs;

	for (; r->any; r->any &= r->any - 1) {
		int reg = __builtin_ctzll(r->any);

		for (; r->bytes[reg]; r->bytes[reg] &= r->bytes[reg] - 1)
			r->at[reg][__builtin_ctzll(r->bytes[reg])] = (struct label){};
	}
	for (uint64_t left = t->needs.any & which & ~(UINT64_C(1) << STEPS_WAITS); left;
	     left &= left - 1) {
		unsigned reg = __builtin_ctzll(left);

		lay_out(w, r, reg, t->needs.of[reg]);
	}
	top->waits = t->needs.of[STEPS_WAITS];
	return fl_steps_uncover(w, top);
}

struct err *fl_steps_leave(struct walker *w, struct walker_thread *t)
{
	struct err *err;

	if (!t->is_numbered)
		return NULL;
	err = fl_steps_finish_super(w);
	t->is_numbered = false;
	return err ?: fl_steps_open(w, t, STEPS_ALL);
}

struct err *fl_steps_uncover(struct walker *w, struct call *c)
{
	const uint64_t *words;
	uint32_t n;
	struct err *err = NULL;

	if (!c->waits)
		return NULL;
	words = automaton_words(&w->steps.automaton, c->waits, &n);
	c->function = words[0];
	c->waiting.size = 0;
	for (uint32_t i = 1; i < n && !err; i += 2)
		err = vec_add(&c->waiting,
			      (struct waiting){ .block = words[i],
						.by_control.ways = words[i] >> 32,
						.chain_ways = words[i + 1],
						.chain_link = words[i + 1] >> 32 });
	c->waits = 0;
	return err;
}

bool fl_steps_has_waiting(const struct walker *w, const struct call *c)
{
	return c->waits ? w->steps.automaton.numbers.data[c->waits].n > 1 :
			  c->waiting.size;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

struct err *fl_steps_add(struct walker *w, const struct automaton_step *step,
			 const struct automaton_needs *from, uint32_t other)
{
	const uint32_t words = sizeof(struct step_op) / sizeof(uint64_t);
	struct steps *m = &w->steps;
	uint32_t n = m->ops.size;
	struct step *made;
	struct err *err;

	if (m->is_odd || n > UINT16_MAX) {
		m->automaton.last = 0;
		return NULL;
	}
	// The one that has been met already goes on being found.
	err = fl_automaton_add(&m->automaton, step, from, &w->at->needs, 1 + n * words,
			       other);
	if (err)
		return err;
	made = step_of(m, m->automaton.last);
	made->n_ops = n;
	for (uint32_t i = 0; i < n; i++) {
		made->op[i] = m->ops.data[i];
		made->has_guards |= made->op[i].is_guard;
	}
	if (other) {
		made->other = step_of(m, other)->other;
		step_of(m, other)->other = m->automaton.last;
	}
	m->is_ready = !fl_automaton_is_full(&m->automaton);
	return NULL;
}

struct err *fl_steps_want(struct walker *w, const struct trace_mem *mem, uint64_t from,
			  uint64_t n, const struct label *l)
{
	struct steps *m = &w->steps;
	struct step_op op = { .label = label_word_of(l),
			      .mem = mem - m->recording->mem,
			      .from = from,
			      .n = n };
	struct step_op *last = m->ops.size ? &m->ops.data[m->ops.size - 1] : NULL;

	if (!l->ways)
		return NULL;
	if (last && m->is_going_on && !last->is_guard && last->label == op.label &&
	    last->mem == op.mem && last->from + last->n == op.from) {
		last->n += op.n;
		return NULL;
	}
	m->is_going_on = true;
	return vec_add(&m->ops, op);
}

struct err *fl_steps_guard(struct walker *w, const struct trace_mem *mem, bool is_only)
{
	return vec_add(&w->steps.ops,
		       (struct step_op){ .mem = mem - w->steps.recording->mem,
					 .is_guard = true,
					 .is_only = is_only });
}

/* ---- all of it ---------------------------------------------------------------------------------- */

void fl_steps_deinit(struct steps *m)
{
	fl_automaton_deinit(&m->automaton);
	vec_deinit(&m->ops);
	vec_deinit(&m->scratch);
	vec_deinit(&m->blocks);
	vec_deinit(&m->pieces);
	vec_deinit(&m->superblocks);
	vec_deinit(&m->super_blocks);
	vec_deinit(&m->super_pieces);
	vec_deinit(&m->super_ops);
}

static struct err *forget_supers(struct steps *m)
{
	m->superblocks.size = m->super_blocks.size = 0;
	m->super_pieces.size = m->super_ops.size = 0;
	for (size_t i = 0; i < m->blocks.size; i++)
		m->blocks.data[i].super = m->blocks.data[i].heat = 0;
	return vec_add(&m->superblocks, (struct superblock){});
}

struct err *fl_steps_room(struct walker *w)
{
	struct steps *m = &w->steps;
	struct err *err = NULL;

	m->making.of = NULL;
	for (size_t i = 0; i < w->threads.size && !err; i++) {
		struct walker_thread *t = w->threads.data[i];

		err = fl_steps_leave(w, t);
		for (size_t k = 0; k < t->calls.size && !err; k++)
			err = fl_steps_uncover(w, &t->calls.data[k]);
	}
	m->is_ready = true;
	if (!err)
		err = fl_automaton_begin(&m->automaton);
	if (!err)
		err = forget_supers(m);
	return err;
}
