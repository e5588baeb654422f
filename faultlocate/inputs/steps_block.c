// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Blocks, piece by piece, the last first: each a step that was made before, or made now, plainly.
 */

#include "faultlocate/inputs/steps_int.h"

#define OUTCOME_PATTERN (UINT64_C(1) << 63) // a number in the pool: bytes differ
#define HOT \
	8 // times: so often others led on from a block, or none, until a superblock is made

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

static bool is_call(const struct trace_block *b)
{
	return b->flow == DEC_FLOW_CALL || b->flow == DEC_FLOW_CALL_IND;
}

static struct call *top(struct walker_thread *t)
{
	return &t->calls.data[t->calls.size - 1];
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
	struct err *err = fl_steps_finish_super(w);

	if (!err)
		err = fl_steps_open(w, w->at, step.touched);
	m->ops.size = 0;
	m->recording = g->b;
	m->is_odd = m->is_going_on = false;
	if (!err)
		err = go_plainly(w, g);
	m->recording = NULL;
	if (!err)
		err = fl_steps_enter(w, step.touched);
	return err ?: fl_steps_add(w, &step, &from, other);
}

/* What depends on more: a function's result, which is taken when it returns, for instance. */
static struct err *go_oddly(struct walker *w, const struct going *g)
{
	uint64_t touched = g->p->touched | UINT64_C(1) << CAP_RAX;
	struct err *err = fl_steps_finish_super(w);

	if (!err)
		err = fl_steps_open(w, w->at, touched);
	w->steps.automaton.last = 0;
	if (!err)
		err = go_plainly(w, g);
	return err ?: fl_steps_enter(w, touched);
}

/* ---- steps ------------------------------------------------------------------------------------- */

static inline uint64_t address_of(const struct walker *w, const struct going *g,
				  uint32_t mem)
{
	return trace_address(&g->b->mem[mem], g->rec, w->fs_base);
}

static bool is_guarded(struct walker *w, const struct step *s, const struct going *g)
{
	for (uint32_t i = 0; i < s->n_ops; i++) {
		const struct step_op *op = &s->op[i];

		if (op->is_guard &&
		    fl_inputs_is_only_entry(w, address_of(w, g, op->mem),
					    g->b->mem[op->mem].size) != op->is_only)
			return false;
	}
	return true;
}

/* One more operation of the superblock that is being made, of @p n bytes from @p from on of operand @p mem. */
static struct err *add_op(struct walker *w, const struct going *g, enum super_kind kind,
			  uint64_t what, uint32_t mem, uint32_t from, uint32_t n)
{
	const struct trace_mem *t = &g->b->mem[mem];
	uint32_t number = g->b - w->trace->blocks.data;

	return vec_add(&w->steps.super_ops,
		       (struct super_op){
			       .what = what,
			       .disp = t->disp + (t->base_at ? t->base_step : 0) +
				       (t->index_at ? t->index_step * t->scale : 0),
			       .base_at = t->base_at,
			       .index_at = t->index_at,
			       .base_scale = t->base_at != 0,
			       .index_scale = t->index_at ? t->scale : 0,
			       .is_fs = t->is_fs,
			       .is_addr32 = t->is_addr32,
			       .stays = g->p->stays,
			       .kind = kind,
			       .piece = g->place - w->steps.blocks.data[number].first,
			       .from = from,
			       .n = n,
		       });
}

/* What piece @p g does but for wanting something. */
static struct err *add_first_op(struct walker *w, const struct going *g)
{
	const struct trace_block *b = g->b;
	enum super_kind kind = !g->outcome		    ? SUPER_CLEAN :
			       g->outcome & OUTCOME_PATTERN ? SUPER_PATTERN :
							      SUPER_STORES;

	if (g->p->has_flow && is_call(b))
		return add_op(w, g, SUPER_CALLS, g->outcome, b->first_mem[b->n] - 1, 0,
			      0);
	if (g->p->has_flow && b->flow == DEC_FLOW_RET)
		return add_op(w, g, SUPER_RETURNS, w->at->needs.of[STEPS_WAITS],
			      b->first_mem[b->n - 1], 0, 0);
	return g->p->stores ? add_op(w, g, kind, g->outcome, g->p->store, 0,
				     b->mem[g->p->store].size) :
			      NULL;
}

/* If a superblock is being made, this is its next piece, which step @p at does; 0: nothing does anything. */
static struct err *note(struct walker *w, const struct going *g, uint32_t at)
{
	struct steps *m = &w->steps;
	const struct step *s = at ? step_of(m, at) : NULL;
	struct err *err;

	if (!m->making.of)
		return NULL;
	if (s && s->has_guards)
		return fl_steps_finish_super(w);
	err = add_first_op(w, g);
	for (uint32_t i = 0; s && i < s->n_ops && !err; i++) {
		const struct step_op *op = &s->op[i];

		err = add_op(w, g, SUPER_WANTS, op->label, op->mem, op->from, op->n);
	}
	return err ?: vec_add(&m->super_pieces, (struct super_piece){ at, g->place });
}

static void take(struct walker *w, const struct going *g)
{
	uint32_t size = g->b->mem[g->p->store].size;

	if (g->page) {
		fl_labels_clear(&w->mem, g->page, g->addr, size);
		return;
	}
	for (uint32_t i = 0; i < size; i++)
		fl_labels_take(&w->mem, g->addr + i);
}

static struct err *want(struct walker *w, const struct step_op *op, const struct going *g)
{
	const struct label l = label_of_word(op->label);

	return fl_inputs_want_mem(w, address_of(w, g, op->mem) + op->from, op->n, &l);
}

static struct err *take_step(struct walker *w, uint32_t number, const struct going *g)
{
	struct steps *m = &w->steps;
	const struct step *s = step_of(m, number);
	struct err *err = NULL;

	m->automaton.last = number;
	w->in->n_again++;
	if (g->outcome && g->p->stores && !g->p->stays)
		take(w, g);
	for (uint32_t i = 0; i < s->n_ops && !err; i++)
		if (!s->op[i].is_guard)
			err = want(w, &s->op[i], g);
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
	for (int i = 0; i < 2; i++)
		__builtin_prefetch(automaton_at(a, automaton_at(a, at)->then[i]));
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

/* What a call or a return does, but for what steps do. @p waits: what waits behind it. */
static struct err *follow(struct walker *w, const struct going *g, uint32_t waits)
{
	struct walker_thread *t = w->at;

	if (is_call(g->b)) {
		vec_deinit(&top(t)->waiting);
		t->calls.size--;
		return NULL;
	}
	if (g->b->flow != DEC_FLOW_RET)
		return NULL;
	top(t)->waits = waits;
	return vec_add(
		&t->calls,
		(struct call){ .slot = address_of(w, g, g->b->first_mem[g->b->n - 1]),
			       .function = FLOW_NONE });
}

static struct err *flow(struct walker *w, struct going *g)
{
	bool is_odd;
	uint32_t at, other;
	struct err *err = is_flow_odd(w, g, &is_odd);

	if (err)
		return err;
	if (is_odd)
		return go_oddly(w, g);
	at = find_step(w, g, &other);
	if (at) {
		err = note(w, g, at);
		if (!err)
			err = follow(w, g, w->at->needs.of[STEPS_WAITS]);
		return err ?: take_step(w, at, g);
	}
	if (is_call(g->b))
		err = fl_steps_uncover(w, &top(w->at)[-1]);
	return err ?: make_step(w, g, other);
}

/* ---- stores ---------------------------------------------------------------------------------------- */

/* The labels of @p n bytes differ. */
static struct err *tell_apart(struct walker *w, const label_word *labels, uint32_t n,
			      uint64_t *ret)
{
	uint32_t number;
	struct err *err = fl_automaton_number(&w->steps.automaton, labels, n, &number);

	*ret = OUTCOME_PATTERN | number;
	return err;
}

/* Which labels has the place that @p g stores to? */
static struct err *find_outcome(struct walker *w, struct going *g)
{
	uint32_t size = g->b->mem[g->p->store].size;
	label_word labels[STEPS_LABELS_MAX];

	g->addr = address_of(w, g, g->p->store);
	if (!fl_labels_may(&w->mem, g->addr, size))
		return NULL;
	if (g->addr % LABEL_PAGE + size <= LABEL_PAGE) {
		const label_word *units;

		g->page = fl_labels_page(&w->mem, g->addr);
		if (!g->page)
			return NULL;
		units = label_units(g->page, g->addr, size);
		g->outcome = units ? *units : LABEL_SPLIT;
		if (!(g->outcome & LABEL_SPLIT) &&
		    label_units_are(units, size, g->outcome))
			return NULL;
	}
	if (fl_labels_copy(&w->mem, g->addr, size, labels)) {
		g->outcome = *labels;
		return NULL;
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
		return note(w, g, 0);
	at = find_step(w, g, &other);
	if (at)
		err = note(w, g, at);
	return err ?: at ? take_step(w, at, g) : make_step(w, g, other);
}

/* ---- superblocks ------------------------------------------------------------------------------------- */

/* What ran behind block @p b, where that matters. */
static uint64_t next_of(const struct walker *w, const struct trace_block *b)
{
	return b->flow == DEC_FLOW_NEXT || b->flow == DEC_FLOW_RET || is_call(b) ?
		       UINT32_MAX :
		       w->at->next;
}

/* Along superblocks that begin with entry @p i, until one leads on. That one is tried first the next time. */
static struct err *try_supers(struct walker *w, size_t i, size_t least,
			      struct steps_went *ret)
{
	uint32_t number = w->trace->window.entries.data[i].what >> 6;
	struct steps *m = &w->steps;
	uint32_t *first = &m->blocks.data[number].super, *link = first;
	struct superblock *s;
	struct err *err = NULL;

	for (uint32_t at; (at = *link) && !err; link = &s->other) {
		s = &m->superblocks.data[at];
		if ((w->at->needs.any & s->touched) != s->from ||
		    !automaton_is(automaton_at(&m->automaton, s->step), &w->at->needs,
				  STEPS_SUPER,
				  next_of(w, &w->trace->blocks.data[number])) ||
		    walk_is_seeded(w, w->position - s->n_insns))
			continue;
		err = fl_steps_along(w, s, i, least, ret);
		if (!ret->n && !ret->pieces)
			continue;
		*link = s->other;
		s->other = *first;
		*first = at;
		break;
	}
	return err;
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

/* Entry @p e, but for its last @p from pieces. */
static struct err *go_over(struct walker *w, const struct trace_entry *e, uint32_t from)
{
	uint32_t number = e->what >> 6;
	const uint8_t *rec = w->trace->window.log.data + 8 * (size_t)e->at;
	const struct trace_block *b = &w->trace->blocks.data[number];
	const struct step_block of = w->steps.blocks.data[number];
	uint64_t first = w->position - b->n;
	struct err *err = NULL;

	for (uint32_t i = of.first + from; i < of.first + of.n && !err; i++) {
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

/* Block @p number is gone over; once more make a superblock of what follows, if it often is. */
static void heat_up(struct walker *w, uint32_t number)
{
	struct step_block *b = &w->steps.blocks.data[number];

	if (w->steps.making.of || ++b->heat < HOT)
		return;
	b->heat = 0;
	fl_steps_begin_super(w, number, next_of(w, &w->trace->blocks.data[number]));
}

/* Have what is known of the blocks of entry @p e and of the one before it, of which @p n are there, where the
 * processor is quick to find it. */
static inline void look_ahead(const struct walker *w, const struct trace_entry *e,
			      size_t n)
{
	const struct trace_block *blocks = w->trace->blocks.data;
	const struct steps *m = &w->steps;
	uint32_t next = n > 0 ? e[0].what >> 6 : UINT32_MAX;
	uint32_t second = n > 1 ? e[-1].what >> 6 : UINT32_MAX;

	if (second < m->blocks.size) {
		__builtin_prefetch(&blocks[second]);
		__builtin_prefetch((const char *)&blocks[second] + 64);
		__builtin_prefetch(&m->blocks.data[second]);
	}
	if (next < m->blocks.size) {
		__builtin_prefetch(blocks[next].mem);
		__builtin_prefetch(blocks[next].insn);
		__builtin_prefetch(&m->pieces.data[m->blocks.data[next].first]);
		__builtin_prefetch(&m->superblocks.data[m->blocks.data[next].super]);
	}
}

struct err *fl_steps_block(struct walker *w, size_t i, size_t least, size_t *ret_n)
{
	const struct trace_entry *e = &w->trace->window.entries.data[i];
	uint32_t number = e->what >> 6;
	struct steps *m = &w->steps;
	struct err *err = m->is_ready ? NULL : fl_steps_room(w);
	struct steps_went went = {};

	while (m->blocks.size <= number && !err)
		err = vec_add(&m->blocks, (struct step_block){});
	if (!err && !m->blocks.data[number].n)
		err = fl_steps_find_pieces(m, w->trace, number);
	if (!err && !w->at->is_numbered)
		err = fl_steps_enter(w, STEPS_ALL);
	if (!err && !m->making.of)
		err = try_supers(w, i, least, &went);
	*ret_n = went.n ?: 1;
	look_ahead(w, e - *ret_n, i + 1 - least - *ret_n);
	if (err || (went.n && !went.pieces))
		return err;
	if (went.pieces) {
		*ret_n = went.n + 1;
		return go_over(w, e - went.n, went.pieces);
	}
	heat_up(w, number);
	err = fl_steps_super_block(w, e->what);
	if (!err)
		err = go_over(w, e, 0);
	if (m->making.of) {
		m->making.n++;
		m->making.n_insns += w->trace->blocks.data[number].n;
	}
	return err;
}
