// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Blocks, piece by piece, the last first: each a step that was made before, or made now, plainly.
 * This is what most of a walk's time goes into.
 */

#include <string.h>

#include "faultlocate/inputs/steps_int.h"

#define OUTCOME_PATTERN (UINT64_C(1) << 63) // a number in the pool: bytes differ
#define LABELS_MAX 64

/** A piece that is being gone over. */
struct going {
	const struct trace_block *b;
	const uint8_t *rec;
	uint64_t first; ///< position of the block
	const struct step_piece *p;
	uint32_t place;
	uint64_t outcome;
	uint64_t addr;		 ///< of the store
	struct label_page *page; ///< .. that holds all of it; or NULL
};

static struct call *top(struct walker_thread *t)
{
	return &t->calls.data[t->calls.size - 1];
}

/* ---- pieces ------------------------------------------------------------------------------------ */

/* The first instruction of the piece of @p b that ends before @p begin, whose last one may store. */
static uint32_t end_of(const struct trace_block *b, uint32_t begin, bool may_store)
{
	uint32_t below = begin - may_store;
	uint32_t stores = below ? b->stores & UINT32_MAX >> (32 - below) : 0;

	return stores ? 32 - __builtin_clz(stores) : 0;
}

/* The needs that instruction @p i of @p b has to do with. */
static uint64_t touches(const struct fl_trace *t, const struct trace_block *b, uint32_t i)
{
	return effect_touches(t->insns.data[b->insn[i]].effect);
}

static void describe(const struct fl_trace *t, const struct trace_block *b,
		     struct step_piece *p)
{
	uint32_t n = p->begin - p->end, last = p->begin - 1u;

	p->touched = UINT64_C(1) << STEPS_WAITS;
	for (uint32_t i = p->end; i < p->begin; i++) {
		p->regs |= b->defs[i];
		p->touched |= touches(t, b, i);
	}
	if (p->has_flow)
		p->touched |= touches(t, b, b->n - 1);
	p->is_odd = n && (b->odd >> p->end & UINT32_MAX >> (32 - n));
	if (p->has_flow || !(b->stores >> last & 1))
		return;
	p->stores = true;
	p->stays = b->maybes >> last & 1;
	p->store = b->written[last];
	p->is_odd |= b->mem[p->store].size > LABELS_MAX;
}

/* Find the pieces of block @p number, the last first. */
static struct err *find_pieces(struct steps *m, const struct fl_trace *t, uint32_t number)
{
	const struct trace_block *b = &t->blocks.data[number];
	struct step_block *of = &m->blocks.data[number];
	uint32_t begin = b->n;
	bool has_flow = b->flow != DEC_FLOW_NEXT;
	struct err *err = NULL;

	of->first = m->pieces.size;
	while ((begin || has_flow) && !err) {
		struct step_piece p = { .begin = begin, .has_flow = has_flow };

		p.end = end_of(b, begin, !has_flow);
		describe(t, b, &p);
		err = vec_add(&m->pieces, p);
		begin = p.end;
		has_flow = false;
	}
	of->n = m->pieces.size - of->first;
	return err;
}

/* ---- plainly --------------------------------------------------------------------------------- */

static struct err *go_plainly(struct walker *w, const struct going *g)
{
	const struct trace_block *b = g->b;
	struct err *err = NULL;

	if (g->p->has_flow) {
		const struct operand_places o = { .mem = b->mem + b->first_mem[b->n - 1],
						  .rec = g->rec };

		w->position = g->first + b->n - 1;
		err = fl_inputs_flow(w, b->insn[b->n - 1], &o,
				     b->first_mem[b->n] - b->first_mem[b->n - 1]);
	}
	return err ?: fl_inputs_insns(w, b, g->rec, g->first, g->p->begin, g->p->end);
}

/* The first time: remember it, beside @p other of the same needs and outcome. */
static struct err *make_step(struct walker *w, const struct going *g, uint32_t other)
{
	struct steps *m = &w->steps;
	const struct automaton_needs from = w->at->needs;
	const struct automaton_step step = { .place = g->place,
					     .outcome = g->outcome,
					     .touched = g->p->touched };
	uint32_t first_op = m->ops.size;
	struct err *err = fl_steps_open(w, w->at, step.touched);

	m->recording = g->b;
	m->is_odd = m->is_going_on = false;
	if (!err)
		err = go_plainly(w, g);
	m->recording = NULL;
	if (!err)
		err = fl_steps_enter(w, step.touched);
	return err ?: fl_steps_add(w, &step, first_op, &from, other);
}

/* What depends on more: a function's result, which is taken when it returns, for instance. */
static struct err *go_oddly(struct walker *w, const struct going *g)
{
	uint64_t touched = g->p->touched | UINT64_C(1) << CAP_RAX;
	struct err *err = fl_steps_open(w, w->at, touched);

	w->steps.automaton.last = 0;
	if (!err)
		err = go_plainly(w, g);
	return err ?: fl_steps_enter(w, touched);
}

/* ---- steps ------------------------------------------------------------------------------------- */

static uint64_t address_of(const struct walker *w, const struct going *g, uint32_t mem)
{
	return trace_address(&g->b->mem[mem], g->rec, w->fs_base);
}

static bool is_guarded(struct walker *w, const struct step *s, const struct going *g)
{
	for (uint32_t i = 0; i < s->n_ops; i++) {
		const struct step_op *op = &w->steps.ops.data[s->first_op + i];

		if (op->is_guard &&
		    fl_inputs_is_only_entry(w, address_of(w, g, op->mem),
					    g->b->mem[op->mem].size) != op->is_only)
			return false;
	}
	return true;
}

static void take(struct walker *w, const struct going *g)
{
	uint32_t size = g->b->mem[g->p->store].size, n = size;
	label_word *at;

	if (!g->page) {
		for (uint32_t i = 0; i < size; i++)
			fl_labels_take(&w->mem, g->addr + i);
		return;
	}
	at = &g->page->at[g->addr % LABEL_PAGE];
	// All of it is wanted, mostly.
	if (g->outcome & OUTCOME_PATTERN) {
		n = 0;
		for (uint32_t i = 0; i < size; i++)
			n += at[i] != 0;
	}
	memset(at, 0, size * sizeof(*at));
	w->mem.n -= n;
	g->page->n -= n;
	if (!g->page->n)
		fl_labels_drop(&w->mem, g->page);
}

static struct err *want(struct walker *w, const struct step_op *op, const struct going *g)
{
	uint64_t addr = address_of(w, g, op->mem) + op->from;
	const struct label_page *page;
	const struct label l = label_of_word(op->label);

	if (addr % LABEL_PAGE + op->n > LABEL_PAGE)
		return fl_inputs_want_mem(w, addr, op->n, &l);
	// Where the same code has read it before, it is wanted by these ways.
	page = fl_labels_last(&w->mem, addr);
	if (page && label_words_are(&page->at[addr % LABEL_PAGE], op->n, op->label))
		return NULL;
	return fl_labels_join(&w->mem, addr, op->n, op->label);
}

static struct err *take_step(struct walker *w, uint32_t number, const struct going *g)
{
	struct steps *m = &w->steps;
	const struct step *s = step_of(m, number);
	const struct step_op *ops = m->ops.data + s->first_op;
	struct err *err = NULL;

	m->automaton.last = number;
	w->in->n_again++;
	if (g->outcome && g->p->stores && !g->p->stays)
		take(w, g);
	for (uint32_t i = 0; i < s->n_ops && !err; i++)
		if (!ops[i].is_guard)
			err = want(w, &ops[i], g);
	automaton_take(automaton_at(&m->automaton, number), &w->at->needs);
	return err;
}

/* The step of @p g; *@p other: one that differs in its guards. */
static uint32_t find_step(struct walker *w, const struct going *g, uint32_t *other)
{
	struct automaton *a = &w->steps.automaton;
	const struct automaton_needs *needs = &w->at->needs;
	uint32_t at = automaton_next(a, needs, g->place, g->outcome);

	if (!at)
		at = fl_automaton_find(a, needs, g->place, g->outcome, g->p->touched);
	*other = at;
	while (at && step_of(&w->steps, at)->has_guards &&
	       !is_guarded(w, step_of(&w->steps, at), g))
		at = step_of(&w->steps, at)->other;
	return at;
}

/* ---- branches ------------------------------------------------------------------------------------ */

/* A call: is it the one on top? What waits in the caller decides, too. */
static struct err *is_call_odd(struct walker *w, struct going *g, bool *is_odd)
{
	struct walker_thread *t = w->at;
	struct call *c = top(t);
	struct err *err;

	*is_odd = t->calls.size < 2 || c->is_bound || c->interrupted ||
		  c->slot != address_of(w, g, g->b->first_mem[g->b->n] - 1);
	if (*is_odd)
		return NULL;
	err = fl_steps_cover(w, &c[-1]);
	g->outcome = c[-1].waits;
	return err;
}

static struct err *is_flow_odd(struct walker *w, struct going *g, bool *is_odd)
{
	*is_odd = g->p->is_odd;
	if (*is_odd)
		return NULL;
	switch (g->b->flow) {
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		return is_call_odd(w, g, is_odd);
	case DEC_FLOW_RET:
		return fl_inputs_is_string(w, g->b->insn[g->b->n - 1], is_odd);
	default:
		g->outcome = w->at->next;
		return NULL;
	}
}

/* What a call or a return does, but for what steps do. */
static struct err *follow(struct walker *w, const struct going *g)
{
	struct walker_thread *t = w->at;

	if (g->b->flow == DEC_FLOW_CALL || g->b->flow == DEC_FLOW_CALL_IND) {
		vec_deinit(&top(t)->waiting);
		t->calls.size--;
		return NULL;
	}
	if (g->b->flow != DEC_FLOW_RET)
		return NULL;
	top(t)->waits = t->needs.of[STEPS_WAITS];
	return vec_add(
		&t->calls,
		(struct call){ .slot = address_of(w, g, g->b->first_mem[g->b->n - 1]),
			       .function = FLOW_NONE });
}

static struct err *flow(struct walker *w, struct going *g)
{
	bool is_call = g->b->flow == DEC_FLOW_CALL || g->b->flow == DEC_FLOW_CALL_IND;
	bool is_odd;
	uint32_t at, other;
	struct err *err = is_flow_odd(w, g, &is_odd);

	if (err)
		return err;
	if (is_odd)
		return go_oddly(w, g);
	at = find_step(w, g, &other);
	if (at) {
		err = follow(w, g);
		return err ?: take_step(w, at, g);
	}
	if (is_call)
		err = fl_steps_uncover(w, &top(w->at)[-1]);
	return err ?: make_step(w, g, other);
}

/* ---- stores ---------------------------------------------------------------------------------------- */

/* The labels of @p n bytes, all of them alike or not. */
static struct err *tell_apart(struct walker *w, const label_word *labels, uint32_t n,
			      uint64_t *ret)
{
	label_word all = 0;
	uint32_t number;
	struct err *err;

	*ret = *labels;
	if (label_words_are(labels, n, *labels))
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		all |= labels[i];
	err = fl_automaton_number(&w->steps.automaton, labels, n, &number);
	*ret = OUTCOME_PATTERN | number;
	return err;
}

/* Which labels has the place that @p g stores to? */
static struct err *find_outcome(struct walker *w, struct going *g)
{
	uint32_t size = g->b->mem[g->p->store].size;
	label_word labels[LABELS_MAX];

	g->addr = address_of(w, g, g->p->store);
	if (!fl_labels_may(&w->mem, g->addr, size))
		return NULL;
	if (g->addr % LABEL_PAGE + size <= LABEL_PAGE) {
		g->page = fl_labels_page(&w->mem, g->addr);
		return g->page ? tell_apart(w, &g->page->at[g->addr % LABEL_PAGE], size,
					    &g->outcome) :
				 NULL;
	}
	for (uint32_t i = 0; i < size; i++) {
		struct label l = fl_labels_get(&w->mem, g->addr + i);

		labels[i] = label_word_of(&l);
	}
	return tell_apart(w, labels, size, &g->outcome);
}

static struct err *piece(struct walker *w, struct going *g)
{
	uint32_t at, other;
	struct err *err = g->p->stores ? find_outcome(w, g) : NULL;

	if (err)
		return err;
	// Nothing that it defines is wanted.
	if (!g->outcome && !(w->at->needs.any & g->p->regs))
		return NULL;
	at = find_step(w, g, &other);
	return at ? take_step(w, at, g) : make_step(w, g, other);
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

static struct err *go_over(struct walker *w, uint32_t number, const uint8_t *rec)
{
	const struct trace_block *b = &w->trace->blocks.data[number];
	const struct step_block of = w->steps.blocks.data[number];
	uint64_t first = w->position - b->n;
	struct err *err = NULL;

	for (uint32_t i = of.first; i < of.first + of.n && !err; i++) {
		struct going g = { .b = b,
				   .rec = rec,
				   .first = first,
				   .p = &w->steps.pieces.data[i],
				   .place = i };

		if (g.p->has_flow)
			err = flow(w, &g);
		else
			err = g.p->is_odd ? go_oddly(w, &g) : piece(w, &g);
		w->at->next = b->insn[0];
	}
	w->position = first;
	return err;
}

struct err *fl_steps_block(struct walker *w, uint32_t number, const uint8_t *rec)
{
	struct steps *m = &w->steps;
	struct err *err = m->is_ready ? NULL : fl_steps_room(w);

	while (m->blocks.size <= number && !err)
		err = vec_add(&m->blocks, (struct step_block){});
	if (!err && !m->blocks.data[number].n)
		err = find_pieces(m, w->trace, number);
	if (!err && !w->at->is_numbered)
		err = fl_steps_enter(w, STEPS_ALL);
	return err ?: go_over(w, number, rec);
}
