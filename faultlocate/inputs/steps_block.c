// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Blocks, piece by piece, the last first: each a step that was made before, or made now, plainly.
 */

#include <string.h>

#include "faultlocate/inputs/steps_int.h"

#define OUTCOME_PATTERN (UINT64_C(1) << 63) // a number in the pool: bytes differ
#define LABELS_MAX 64
#define MET_ENOUGH 3 // times that a block is gone over plainly: much code runs once

/** A piece: instructions [end, begin) of a block, gone over from the last one on. */
struct piece {
	const struct trace_block *b;
	const uint8_t *rec;
	uint64_t first; ///< position of the block
	uint32_t begin, end;
	bool has_flow; ///< and before that, the branch that is the last one
	uint32_t place;
	uint64_t outcome;
	uint64_t addr;		       ///< of the store
	const struct trace_mem *store; ///< what of it is wanted and is taken; or NULL
};

static struct call *top(struct walker_thread *t)
{
	return &t->calls.data[t->calls.size - 1];
}

static bool stores_last(const struct piece *p)
{
	return p->b->stores >> (p->begin - 1) & 1;
}

/* ---- plainly --------------------------------------------------------------------------------- */

static struct err *go_plainly(struct walker *w, const struct piece *p)
{
	const struct trace_block *b = p->b;
	struct err *err = NULL;

	if (p->has_flow) {
		const struct operand_places o = { .mem = b->mem + b->first_mem[b->n - 1],
						  .rec = p->rec };

		w->position = p->first + b->n - 1;
		err = fl_inputs_flow(w, b->insn[b->n - 1], &o,
				     b->first_mem[b->n] - b->first_mem[b->n - 1]);
	}
	return err ?: fl_inputs_insns(w, b, p->rec, p->first, p->begin, p->end);
}

/* The first time: remember it, beside @p other of the same state and outcome. */
static struct err *make_step(struct walker *w, const struct piece *p, uint32_t other)
{
	struct steps *m = &w->steps;
	struct step step = { .outcome = p->outcome,
			     .place = p->place,
			     .state = w->at->state,
			     .first_op = m->ops.size };
	struct err *err = fl_steps_bring(w, w->at);

	m->recording = p->b;
	m->is_odd = m->is_going_on = false;
	if (!err)
		err = go_plainly(w, p);
	m->recording = NULL;
	return err ?: fl_steps_add(w, step, other);
}

/* What depends on more. */
static struct err *go_oddly(struct walker *w, const struct piece *p)
{
	struct err *err = fl_steps_leave(w, w->at);

	w->steps.last = 0;
	if (!err)
		err = go_plainly(w, p);
	return err ?: fl_steps_enter(w);
}

/* ---- steps ------------------------------------------------------------------------------------- */

static bool is_guarded(struct walker *w, const struct step *s, const struct piece *p)
{
	for (uint32_t i = 0; i < s->n_ops && s->has_guards; i++) {
		const struct step_op *op = &w->steps.ops.data[s->first_op + i];
		const struct trace_mem *mem = &p->b->mem[op->mem];

		if (op->is_guard &&
		    fl_inputs_is_only_entry(w, trace_address(mem, p->rec, w->fs_base),
					    mem->size) != op->is_only)
			return false;
	}
	return true;
}

static void take(struct walker *w, const struct piece *p)
{
	struct label_page *page = fl_labels_page(&w->mem, p->addr);
	label_word *at = page ? &page->at[p->addr % LABEL_PAGE] : NULL;
	uint32_t size = p->store->size, n = 0;

	if (!page || p->addr % LABEL_PAGE + size > LABEL_PAGE) {
		for (uint32_t i = 0; i < size; i++)
			fl_labels_take(&w->mem, p->addr + i);
		return;
	}
	for (uint32_t i = 0; i < size; i++) {
		n += at[i] != 0;
		at[i] = 0;
	}
	w->mem.n -= n;
	page->n -= n;
	if (!page->n)
		fl_labels_drop(&w->mem, page);
}

static struct err *want(struct walker *w, const struct step_op *op, const struct piece *p)
{
	uint64_t addr = trace_address(&p->b->mem[op->mem], p->rec, w->fs_base) + op->from;
	const struct label l = label_of_word(op->label);

	if (addr % LABEL_PAGE + op->n > LABEL_PAGE)
		return fl_inputs_want_mem(w, addr, op->n, &l);
	return fl_labels_join(&w->mem, addr, op->n, op->label);
}

static struct err *take_step(struct walker *w, uint32_t number, const struct piece *p)
{
	struct steps *m = &w->steps;
	const struct step *s = &m->all.data[number];
	struct err *err = NULL;

	m->last = number;
	w->in->n_again++;
	if (p->store)
		take(w, p);
	for (uint32_t i = 0; i < s->n_ops && !err; i++)
		if (!m->ops.data[s->first_op + i].is_guard)
			err = want(w, &m->ops.data[s->first_op + i], p);
	w->at->state = s->before;
	w->at->is_away = true;
	return err;
}

/* The step of @p p; *@p other: one that differs in its guards. */
static uint32_t find_step(struct walker *w, const struct piece *p, uint32_t *other)
{
	uint32_t at = *other = fl_steps_find(w, p->place, p->outcome);

	w->steps.all.data[w->steps.last].then = at;
	while (at && !is_guarded(w, &w->steps.all.data[at], p))
		at = w->steps.all.data[at].other;
	return at;
}

/* ---- branches ------------------------------------------------------------------------------------ */

static uint64_t slot_of(const struct walker *w, const struct piece *p, uint32_t mem)
{
	return trace_address(&p->b->mem[mem], p->rec, w->fs_base);
}

/* A call: is it the one on top? What waits in the caller decides, too. */
static struct err *is_call_odd(struct walker *w, struct piece *p, bool *is_odd)
{
	struct walker_thread *t = w->at;
	struct call *c = top(t);
	struct err *err;

	*is_odd = t->calls.size < 2 || c->is_bound || c->interrupted ||
		  c->slot != slot_of(w, p, p->b->first_mem[p->b->n] - 1);
	if (*is_odd)
		return NULL;
	err = fl_steps_cover(w, &c[-1]);
	p->outcome = c[-1].waits;
	return err;
}

static struct err *is_flow_odd(struct walker *w, struct piece *p, bool *is_odd)
{
	*is_odd = false;
	switch (p->b->flow) {
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		return is_call_odd(w, p, is_odd);
	case DEC_FLOW_RET:
		return fl_inputs_is_string(w, p->b->insn[p->b->n - 1], is_odd);
	default:
		p->outcome = w->at->next;
		return NULL;
	}
}

/* What a call or a return does, but for what steps do. */
static struct err *follow(struct walker *w, const struct piece *p)
{
	struct walker_thread *t = w->at;

	if (p->b->flow == DEC_FLOW_CALL || p->b->flow == DEC_FLOW_CALL_IND) {
		vec_deinit(&top(t)->waiting);
		t->calls.size--;
		return NULL;
	}
	if (p->b->flow != DEC_FLOW_RET)
		return NULL;
	top(t)->waits = w->steps.states.data[t->state].waits;
	return vec_add(&t->calls,
		       (struct call){
			       .slot = slot_of(w, p, p->b->first_mem[p->b->n - 1]),
			       .function = FLOW_NONE,
		       });
}

static struct err *flow(struct walker *w, struct piece *p)
{
	bool is_call = p->b->flow == DEC_FLOW_CALL || p->b->flow == DEC_FLOW_CALL_IND;
	bool is_odd;
	uint32_t at, other;
	struct err *err = is_flow_odd(w, p, &is_odd);

	if (err)
		return err;
	if (is_odd)
		return go_oddly(w, p);
	at = find_step(w, p, &other);
	if (at) {
		err = follow(w, p);
		return err ?: take_step(w, at, p);
	}
	if (is_call)
		err = fl_steps_uncover(w, &top(w->at)[-1]);
	return err ?: make_step(w, p, other);
}

/* ---- stores ---------------------------------------------------------------------------------------- */

/* Which labels has the place that @p p stores to? */
static struct err *find_outcome(struct walker *w, struct piece *p)
{
	const struct trace_mem *mem = &p->b->mem[p->b->written[p->begin - 1]];
	label_word labels[LABELS_MAX], all = 0, differs = 0;
	struct label_page *page;
	uint32_t number;
	struct err *err;

	p->addr = trace_address(mem, p->rec, w->fs_base);
	if (!fl_labels_may(&w->mem, p->addr, mem->size))
		return NULL;
	page = fl_labels_page(&w->mem, p->addr);
	for (uint32_t i = 0; i < mem->size; i++) {
		uint64_t at = p->addr % LABEL_PAGE + i;
		struct label l;

		if (at >= LABEL_PAGE) {
			l = fl_labels_get(&w->mem, p->addr + i);
			labels[i] = label_word_of(&l);
		} else {
			labels[i] = page ? page->at[at] : 0;
		}
		all |= labels[i];
		differs |= labels[i] ^ labels[0];
	}
	if (!all)
		return NULL;
	p->outcome = labels[0];
	if (!(p->b->maybes >> (p->begin - 1) & 1))
		p->store = mem;
	if (!differs)
		return NULL;
	err = fl_pool_find(&w->steps.pool, labels, mem->size, &number);
	p->outcome = OUTCOME_PATTERN | number;
	return err;
}

static uint64_t defined(const struct trace_block *b, uint32_t from, uint32_t to)
{
	uint64_t regs = 0;

	while (from < to)
		regs |= b->defs[from++];
	return regs;
}

static struct err *piece(struct walker *w, struct piece *p)
{
	uint32_t at, other;
	struct err *err = stores_last(p) ? find_outcome(w, p) : NULL;

	if (err)
		return err;
	// Nothing that it defines is wanted.
	if (!p->outcome &&
	    !(w->steps.states.data[w->at->state].any & defined(p->b, p->end, p->begin)))
		return NULL;
	at = find_step(w, p, &other);
	return at ? take_step(w, at, p) : make_step(w, p, other);
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

/* The first instruction of the piece of @p b that ends before @p begin, whose last one may store. */
static uint32_t end_of(const struct trace_block *b, uint32_t begin, bool may_store)
{
	uint32_t below = begin - may_store;
	uint32_t stores = below ? b->stores & UINT32_MAX >> (32 - below) : 0;

	return stores ? 32 - __builtin_clz(stores) : 0;
}

static bool is_odd(const struct piece *p)
{
	if (p->begin == p->end)
		return false;
	return (p->b->odd >> p->end & UINT32_MAX >> (32 - (p->begin - p->end))) ||
	       (stores_last(p) &&
		p->b->mem[p->b->written[p->begin - 1]].size > LABELS_MAX);
}

static struct err *go_over(struct walker *w, uint32_t number, const uint8_t *rec,
			   uint32_t n_ran)
{
	const struct trace_block *b = &w->trace->blocks.data[number];
	struct piece p = { .b = b, .rec = rec, .first = w->position - n_ran };
	struct err *err = NULL;

	p.begin = p.end = n_ran;
	if (n_ran == b->n && b->flow != DEC_FLOW_NEXT) {
		p.end = end_of(b, n_ran, false);
		p.has_flow = true;
		p.place = number << 7 | (n_ran - 1) << 1 | 1;
		err = is_odd(&p) ? go_oddly(w, &p) : flow(w, &p);
	}
	w->at->next = b->insn[0];
	while (p.end && !err) {
		p = (struct piece){ .b = b,
				    .rec = rec,
				    .first = p.first,
				    .begin = p.end,
				    .end = end_of(b, p.end, true),
				    .place = number << 7 | (p.end - 1) << 1 };
		err = is_odd(&p) ? go_oddly(w, &p) : piece(w, &p);
	}
	w->position = p.first;
	return err;
}

struct err *fl_steps_block(struct walker *w, uint32_t number, const uint8_t *rec,
			   uint32_t n_ran, bool *is_done)
{
	struct steps *m = &w->steps;
	struct err *err = NULL;

	while (m->met.size <= number && !err)
		err = vec_add(&m->met, 0);
	*is_done = !err && m->met.data[number] >= MET_ENOUGH && number < 1u << 25;
	if (err)
		return err;
	if (!*is_done) {
		m->met.data[number]++;
		return fl_steps_leave(w, w->at);
	}
	err = fl_steps_room(w);
	if (!err && !w->at->state)
		err = fl_steps_enter(w);
	return err ?: go_over(w, number, rec, n_ran);
}
