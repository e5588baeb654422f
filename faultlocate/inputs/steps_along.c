// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Along superblocks: this is what most of a walk's time goes into.
 */

#include <string.h>

#include "faultlocate/inputs/steps_int.h"

static struct call *top(struct walker_thread *t)
{
	return &t->calls.data[t->calls.size - 1];
}

static inline uint64_t address_of(const struct walker *w, const struct super_op *o,
				  const uint8_t *rec)
{
	uint64_t base, index, a;

	// Where there is none, that is the record's first word times 0.
	memcpy(&base, rec + o->base_at, 8);
	memcpy(&index, rec + o->index_at, 8);
	a = o->disp + base * o->base_scale + index * o->index_scale;
	a = o->is_addr32 ? (uint32_t)a : a;
	return (o->is_fs ? a + w->fs_base : a) + o->from;
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* The labels of pattern @p o, one a byte. */
static inline const label_word *pattern_of(const struct walker *w,
					   const struct super_op *o)
{
	uint32_t n;

	return automaton_words(&w->steps.automaton, (uint32_t)o->what, &n);
}

/* The place at @p addr is stored to, which is no whole units, on two pages, or wanted by several ways. @return
 * false: it is not wanted as it was. */
static bool store_bytes(struct walker *w, const struct super_op *o, uint64_t addr)
{
	label_word labels[STEPS_LABELS_MAX];
	bool are_same = fl_labels_copy(&w->mem, addr, o->n, labels);

	if (o->kind == SUPER_PATTERN ?
		    memcmp(labels, pattern_of(w, o), o->n * sizeof(*labels)) :
		    !are_same || *labels != o->what)
		return false;
	for (uint32_t i = 0; i < o->n && o->what && !o->stays; i++)
		fl_labels_take(&w->mem, addr + i);
	return true;
}

static bool store(struct walker *w, const struct super_op *o, uint64_t addr)
{
	struct label_page *page;
	label_word *units;

	if (!fl_labels_may(&w->mem, addr, o->n))
		return o->kind == SUPER_CLEAN;
	page = fl_labels_last(&w->mem, addr) ?: fl_labels_page(&w->mem, addr);
	units = page ? label_units(page, addr, o->n) : NULL;
	if (!units || addr % LABEL_PAGE + o->n > LABEL_PAGE)
		return store_bytes(w, o, addr);
	if (o->kind == SUPER_PATTERN ?
		    !label_units_equal(&w->mem, units, o->n, pattern_of(w, o)) :
		    !label_units_are(units, o->n, o->what))
		return false;
	if (o->kind == SUPER_CLEAN || o->stays)
		return true;
	if (o->kind == SUPER_PATTERN) {
		fl_labels_clear(&w->mem, page, addr, o->n);
		return true;
	}
	label_units_set(units, o->n, 0);
	w->mem.n -= o->n;
	page->n -= o->n;
	if (!page->n)
		fl_labels_drop(&w->mem, page);
	return true;
}

static struct err *want(struct walker *w, const struct super_op *o, uint64_t addr)
{
	struct label_page *page = fl_labels_last(&w->mem, addr);
	label_word *units = page ? label_units(page, addr, o->n) : NULL;
	const struct label l = label_of_word(o->what);

	if (!units || addr % LABEL_PAGE + o->n > LABEL_PAGE)
		return fl_inputs_want_mem(w, addr, o->n, &l);
	// Where the same code has read it before, it is wanted by these ways.
	if (label_units_are(units, o->n, o->what))
		return NULL;
	if (!label_units_are(units, o->n, 0))
		return fl_labels_join(&w->mem, addr, o->n, o->what);
	label_units_set(units, o->n, o->what);
	w->mem.n += o->n;
	page->n += o->n;
	return NULL;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* Behind the call whose return address is stored at @p slot. */
static struct err *leave_call(struct walker *w, const struct super_op *o, uint64_t slot,
			      bool *ret)
{
	struct walker_thread *t = w->at;
	struct call *c = top(t);
	struct err *err;

	*ret = false;
	if (t->calls.size < 2 || c->is_bound || c->interrupted || c->slot != slot)
		return NULL;
	if (!c[-1].waits) {
		err = fl_steps_cover(w, &c[-1]);
		if (err)
			return err;
	}
	if (c[-1].waits != o->what)
		return NULL;
	*ret = true;
	if (c->waiting.data)
		vec_deinit(&c->waiting);
	t->calls.size--;
	return NULL;
}

static struct err *enter_call(struct walker *w, const struct super_op *o, uint64_t slot)
{
	top(w->at)->waits = o->what;
	return vec_add(&w->at->calls,
		       (struct call){ .slot = slot, .function = FLOW_NONE });
}

/* ---- superblocks --------------------------------------------------------------------------------- */

/* Do @p o. @return false: something is not what it was, and nothing was done. */
static inline bool pass(struct walker *w, const struct super_op *o, const uint8_t *rec,
			struct err **ret)
{
	uint64_t addr = address_of(w, o, rec);
	bool is_it = true;

	switch (o->kind) {
	case SUPER_WANTS:
		*ret = want(w, o, addr);
		break;
	case SUPER_CALLS:
		*ret = leave_call(w, o, addr, &is_it);
		break;
	case SUPER_RETURNS:
		*ret = enter_call(w, o, addr);
		break;
	default:
		is_it = store(w, o, addr);
	}
	return is_it && !*ret;
}

/* Know the step that all blocks of a superblock before block @p b are together; @p first: its first block. */
static struct err *find_exit(struct walker *w, const struct super_block *first,
			     struct super_block *b)
{
	struct steps *m = &w->steps;
	const struct super_piece *p = m->super_pieces.data;
	uint32_t was = m->automaton.last;
	struct err *err = fl_steps_sum(m, p + first->first, p + b->first, &w->at->needs,
				       0, &b->exit_last);

	b->exit = m->automaton.last;
	b->exit_last = b->exit_last ?: was;
	m->automaton.last = was;
	m->is_ready &= !fl_automaton_is_full(&m->automaton);
	return err;
}

/* The way led to block @p b of a superblock that begins with @p first, and through @p n pieces of it. */
static struct err *leave_super(struct walker *w, const struct super_block *first,
			       struct super_block *b, uint32_t n)
{
	struct steps *m = &w->steps;
	struct automaton *a = &m->automaton;
	const struct super_piece *p = m->super_pieces.data + b->first;
	struct err *err = b == first || b->exit ? NULL : find_exit(w, first, b);

	if (err)
		return err;
	if (b != first) {
		automaton_take(automaton_at(a, b->exit), &w->at->needs);
		a->last = b->exit_last;
	}
	for (uint32_t i = 0; i < n; i++)
		if (p[i].step) {
			automaton_take(automaton_at(a, p[i].step), &w->at->needs);
			a->last = p[i].step;
		}
	return NULL;
}

struct err *fl_steps_along(struct walker *w, const struct superblock *s, size_t i,
			   size_t least, struct steps_went *ret)
{
	const struct trace_window *win = &w->trace->window;
	const struct trace_entry *e = win->entries.data + i;
	struct steps *m = &w->steps;
	struct super_block *first = m->super_blocks.data + s->first, *b = first,
			   *end = first + s->n;
	const struct super_op *o = m->super_ops.data + first->first_op;
	const struct trace_block *of;
	struct err *err = NULL;

	if (i + 1 - least < s->n)
		end = first + (i + 1 - least);
	for (; b < end && e->what == b->what; b++, e--) {
		const uint8_t *rec = win->log.data + 8 * (size_t)e->at;
		const struct super_op *to = m->super_ops.data + b[1].first_op;

		while (o < to && pass(w, o, rec, &err))
			o++;
		if (o < to)
			break;
	}
	ret->n = b - first;
	ret->pieces = b < end && e->what == b->what ? o->piece : 0;
	of = ret->pieces ? &w->trace->blocks.data[b->what >> 6] :
	     ret->n	 ? &w->trace->blocks.data[b[-1].what >> 6] :
			   NULL;
	if (of)
		w->at->next = of->insn[0];
	w->position -= b->n_insns;
	w->in->n_super += b->first + ret->pieces - first->first;
	if (err || b - first < s->n)
		return err ?: leave_super(w, first, b, ret->pieces);
	automaton_take(automaton_at(&m->automaton, s->step), &w->at->needs);
	m->automaton.last = s->last;
	return NULL;
}
