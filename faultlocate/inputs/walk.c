// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Back over the log, record by record; a block that defines nothing that is wanted is passed over.
 */

#include "faultlocate/inputs/walk.h"

#include <string.h>

/* ---- wanting --------------------------------------------------------------------------------- */

void fl_inputs_join(const struct walker *w, struct label *to, const struct label *from)
{
	bool is_nearer =
		!to->ways ||
		(w->o.with_tree && w->depths.data[from->node] < w->depths.data[to->node]);

	// A chain goes on being the one that was met first: the latest.
	if (!ways_have_link(to->ways) || !to->link)
		to->link = ways_have_link(from->ways) ? from->link : 0;
	to->node = is_nearer ? from->node : to->node;
	to->ways |= from->ways;
}

/* The same of one byte, of a node of the tree. */
static struct err *want_byte(struct walker *w, uint64_t addr, const struct label *l)
{
	struct label at = fl_labels_get(&w->mem, addr);
	struct label_page *page;
	struct err *err = fl_labels_make(&w->mem, addr, &page);

	if (err)
		return err;
	fl_inputs_join(w, &at, l);
	fl_labels_put(&w->mem, page, addr, &at);
	return NULL;
}

struct err *fl_inputs_want_mem(struct walker *w, uint64_t addr, uint64_t n,
			       const struct label *l)
{
	label_word word = label_word_of(l);
	struct err *err = NULL;

	for (uint64_t i = 0, size; l->ways && i < n && !err; i += size) {
		size = LABEL_PAGE - (addr + i) % LABEL_PAGE;
		size = size < n - i ? size : n - i;
		size = w->o.with_tree ? 1 : size;
		err = w->o.with_tree ? want_byte(w, addr + i, l) :
				       fl_labels_join(&w->mem, addr + i, size, word);
	}
	return err;
}

void fl_inputs_want_reg(struct walker *w, int reg, int byte, const struct label *l)
{
	struct wanted_regs *r = w->at->regs;

	// As in slices: the stack pointer is nobody's value.
	if (!l->ways || reg == CAP_RSP)
		return;
	fl_inputs_join(w, &r->at[reg][byte], l);
	r->bytes[reg] |= UINT64_C(1) << byte;
	r->any |= UINT64_C(1) << reg;
}

struct label fl_inputs_take_reg(struct walker *w, int reg, int byte, bool stays)
{
	struct wanted_regs *r = w->at->regs;
	struct label was = r->at[reg][byte];

	if (!was.ways || stays)
		return was;
	r->at[reg][byte] = (struct label){};
	r->bytes[reg] &= ~(UINT64_C(1) << byte);
	if (!r->bytes[reg])
		r->any &= ~(UINT64_C(1) << reg);
	return was;
}

struct err *fl_inputs_node(struct walker *w, struct label *l)
{
	struct err *err;

	if (!w->o.with_tree)
		return NULL;
	if (w->depths.size >= WALK_NODES_MAX) {
		w->in->has_tree = w->o.with_tree = false;
		return NULL;
	}
	err = vec_add(&w->in->parents, l->node);
	if (!err)
		err = vec_add(&w->depths, w->depths.data[l->node] + 1);
	l->node = w->depths.size - 1;
	return err;
}

bool fl_inputs_is_linker(const struct walker *w, uint64_t rip)
{
	for (size_t i = 0; i < w->o.n_prunes; i++)
		if (w->o.prunes[i].kind == FL_PRUNE_STORES &&
		    rip - w->o.prunes[i].from < w->o.prunes[i].to - w->o.prunes[i].from)
			return true;
	return false;
}

struct err *fl_inputs_thread(struct walker *w, uint32_t tid)
{
	struct walker_thread *t, **slot;

	if (w->at && w->at->tid == tid)
		return NULL;
	for (size_t i = 0; i < w->threads.size; i++)
		if (w->threads.data[i]->tid == tid) {
			w->at = w->threads.data[i];
			return NULL;
		}
	t = calloc(1, sizeof(*t));
	slot = t ? vec_push(&w->threads) : NULL;
	if (!slot) {
		free(t);
		return &err_nomem;
	}
	*slot = w->at = t;
	t->tid = tid;
	t->next = UINT32_MAX;
	t->regs = calloc(1, sizeof(*t->regs));
	if (!t->regs)
		return &err_nomem;
	return vec_add(&t->calls, (struct call){ .function = FLOW_NONE });
}

/* ---- seeds ------------------------------------------------------------------------------------ */

static struct err *seeds(struct walker *w, uint32_t insn, const struct operand_places *o)
{
	struct err *err = NULL;

	while (!err && walk_is_seeded(w, w->position))
		err = fl_inputs_seed(w, &w->seeds.data[w->next_seed++], insn, o);
	return err;
}

/* ---- records ------------------------------------------------------------------------------------ */

static struct err *slow(struct walker *w, const struct dec_rec_slow *rec)
{
	const uint64_t *at = map_get(&w->trace->insn_of, rec->rip);
	struct trace_mem mem[DEC_MEMS] = {};
	struct operand_places o = { .mem = mem };
	const struct dec_insn *insn;
	struct err *err;

	if (!at)
		return NULL;
	insn = &w->trace->insns.data[*at].insn;
	if (!fl_trace_effect(w->trace, *at))
		return &err_nomem;
	for (int m = 0; m < insn->n_mem; m++)
		mem[m] = (struct trace_mem){
			.disp = dec_insn_address(&insn->mem[m], rec->gpr, w->fs_base, 0),
			.scale = 1,
			.size = insn->mem[m].size
		};
	if (insn->is_slow_addr)
		o = (struct operand_places){ .slow = rec };
	err = fl_inputs_meet(w, *at);
	if (!err && !insn->is_slow_addr)
		err = fl_inputs_flow(w, *at, &o, insn->n_mem);
	w->at->next = *at;
	if (!err)
		err = insn->is_slow_addr ? fl_inputs_touched(w, *at, rec) :
					   fl_inputs_insn(w, *at, &o, NULL, 0);
	return err ?: seeds(w, *at, &o);
}

static bool meets_store(const struct walker *w, const struct trace_block *b,
			uint32_t from, uint32_t to, const uint8_t *rec)
{
	for (uint32_t m = from; m < to; m++)
		if (b->mem[m].is_write &&
		    fl_labels_may(&w->mem, trace_address(&b->mem[m], rec, w->fs_base),
				  b->mem[m].size))
			return true;
	return false;
}

struct err *fl_inputs_insns(struct walker *w, const struct trace_block *b,
			    const uint8_t *rec, uint64_t first, uint32_t begin,
			    uint32_t end)
{
	struct err *err = NULL;

	for (uint32_t i = begin; i-- > end && !err;) {
		const struct operand_places o = { .mem = b->mem + b->first_mem[i],
						  .rec = rec };

		w->position = first + i;
		if ((b->defs[i] & w->at->regs->any) ||
		    meets_store(w, b, b->first_mem[i], b->first_mem[i + 1], rec))
			err = fl_inputs_insn(w, b->insn[i], &o, b, i);
		if (!err)
			err = seeds(w, b->insn[i], &o);
	}
	return err;
}

static struct err *block_plainly(struct walker *w, const struct trace_block *b,
				 const uint8_t *rec, uint32_t n_ran)
{
	uint64_t first = w->position - n_ran;
	struct err *err = NULL;

	if (n_ran == b->n && b->flow != DEC_FLOW_NEXT) {
		const struct operand_places o = { .mem = b->mem + b->first_mem[b->n - 1],
						  .rec = rec };

		w->position--;
		err = fl_inputs_flow(w, b->insn[b->n - 1], &o,
				     b->first_mem[b->n] - b->first_mem[b->n - 1]);
	}
	w->at->next = b->insn[0];
	w->position = first;
	if (err)
		return err;
	if ((b->regs & w->at->regs->any) || walk_is_seeded(w, first) ||
	    meets_store(w, b, 0, b->first_mem[b->n], rec))
		err = fl_inputs_insns(w, b, rec, first, n_ran, 0);
	w->position = first;
	return err;
}

/* The block that entry @p i is; or more, as fl_steps_block() says. */
static struct err *block(struct walker *w, size_t i, size_t least, size_t *ret_n)
{
	const struct trace_entry *e = &w->trace->window.entries.data[i];
	const struct trace_block *b = &w->trace->blocks.data[e->what >> 6];
	uint32_t n_ran = e->what & 63;
	bool is_plain = w->o.with_tree || w->o.is_plain || n_ran < b->n ||
			walk_is_seeded(w, w->position - n_ran);
	struct err *err = w->at->is_met ? NULL : fl_inputs_meet(w, b->insn[n_ran - 1]);

	if (!err && !is_plain)
		return fl_steps_block(w, i, least, ret_n);
	if (!err)
		err = fl_steps_leave(w, w->at);
	return err   ?:
		       block_plainly(w, b, w->trace->window.log.data + 8 * (size_t)e->at,
				     n_ran);
}

/* Entry @p i, and perhaps more, back to entry @p least; *@p ret_n: how many. */
static struct err *entry(struct walker *w, size_t i, size_t least, size_t *ret_n)
{
	const struct trace_entry *e = &w->trace->window.entries.data[i];
	const uint8_t *rec = w->trace->window.log.data + 8 * (size_t)e->at;
	const struct operand_places none = {};
	struct err *err = NULL;

	*ret_n = 1;
	if (e->what == ENTRY_OTHER) {
		for (size_t i = 0; i < w->threads.size && !err; i++)
			err = fl_steps_leave(w, w->threads.data[i]);
		if (!err)
			err = fl_inputs_other(w, (const struct dec_rec *)rec);
		return err ?: seeds(w, w->at->next, &none);
	}
	w->got.size = 0;
	w->is_signal = false;
	if (e->what == ENTRY_SLOW) {
		w->position--;
		err = fl_steps_leave(w, w->at);
		if (!err)
			err = slow(w, (const struct dec_rec_slow *)rec);
	} else {
		err = block(w, i, least, ret_n);
	}
	if (err || !w->at->calls.data[w->at->calls.size - 1].string.ways)
		return err;
	return fl_inputs_string_entered(w, e, rec, w->at->next);
}

static struct err *window(struct walker *w)
{
	struct trace_window *win = &w->trace->window;
	size_t stretch = win->stretches.size;
	struct err *err = NULL;

	w->position = win->end;
	for (size_t left = win->entries.size, n; left && !err; left -= n) {
		while (stretch == win->stretches.size ||
		       win->stretches.data[stretch].from >= left) {
			const struct trace_stretch *now = &win->stretches.data[--stretch];

			err = fl_inputs_thread(w, now->tid);
			w->fs_base = now->fs_base;
			if (err)
				return err;
		}
		// What is wanted behind the last instruction.
		if (left == win->entries.size)
			err = seeds(w, UINT32_MAX, &(const struct operand_places){});
		if (!err)
			err = entry(w, left - 1, win->stretches.data[stretch].from, &n);
	}
	for (size_t i = 0; i < w->threads.size && !err; i++)
		err = fl_steps_leave(w, w->threads.data[i]);
	w->in->n_walked += win->end - win->begin;
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static bool is_done(const struct walker *w)
{
	bool is_wanted = w->mem.n || w->next_seed < w->seeds.size;

	for (size_t i = 0; i < w->threads.size; i++) {
		const struct walker_thread *t = w->threads.data[i];

		is_wanted |= t->regs->any ||
			     vec_find(&t->calls, c, fl_steps_has_waiting(w, c));
	}
	return !is_wanted;
}

static struct err *walk(struct walker *w)
{
	uint64_t end = w->seeds.data[0].position + 1;
	struct err *err = NULL;

	end = end < w->trace->end.position ? end : w->trace->end.position;
	while (!err && end > 0 && !is_done(w)) {
		err = fl_trace_load(w->trace, 0, end);
		if (!err)
			err = window(w);
		end = w->trace->window.begin;
		if (!err && w->o.progress)
			w->o.progress(w->o.ctx, end);
	}
	if (!err && w->mem.has_failed)
		err = &err_nomem;
	return err ?: fl_inputs_start(w);
}

static int latest_first(const void *a, const void *b)
{
	const struct fl_seed *x = a, *y = b;

	return x->position > y->position ? -1 : x->position < y->position;
}

static struct err *begin(struct walker *w, const struct fl_seed *seeds, size_t n)
{
	struct err *err = n ? NULL : err_new(ERR_USAGE, "inputs of nothing");

	for (size_t i = 0; i < n && !err; i++)
		err = vec_add(&w->seeds, seeds[i]);
	if (err)
		return err;
	qsort(w->seeds.data, n, sizeof(*w->seeds.data), latest_first);
	if (w->seeds.data[0].position > w->trace->end.position)
		return err_new(ERR_USAGE, "position %lu is behind the trace",
			       w->seeds.data[0].position);
	// Number 0 is none, 1 the value itself.
	for (int i = 0; i < 2 && !err; i++) {
		err = vec_add(&w->in->parents, 0);
		if (!err)
			err = vec_add(&w->depths, i ? 0 : UINT32_MAX);
	}
	if (!err)
		err = vec_add(&w->in->links, (struct fl_link){});
	return err ?: fl_inputs_strings_begin(w);
}

static void thread_destroy(struct walker_thread *t)
{
	for (size_t i = 0; i < t->calls.size; i++) {
		free(t->calls.data[i].interrupted);
		vec_deinit(&t->calls.data[i].waiting);
	}
	free(t->regs);
	vec_deinit(&t->calls);
	free(t);
}

static int by_place(const void *a, const void *b)
{
	const struct fl_input *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct err *fl_inputs_walk(struct fl_trace *t, const struct fl_sources *sources,
			   const struct fl_seed *seeds, size_t n_seeds,
			   const struct fl_inputs_options *o, struct fl_inputs *ret)
{
	struct walker *w = calloc(1, sizeof(*w));
	struct err *err;

	if (!w)
		return &err_nomem;
	w->trace = t;
	w->sources = sources;
	w->in = ret;
	w->o = o ? *o : (struct fl_inputs_options){};
	ret->has_tree = w->mem.has_nodes = w->o.with_tree;
	err = begin(w, seeds, n_seeds);
	if (!err)
		err = walk(w);
	if (!err)
		vec_sort(&ret->all, by_place);
	for (size_t i = 0; i < w->threads.size; i++)
		thread_destroy(w->threads.data[i]);
	vec_deinit(&w->threads);
	vec_deinit(&w->seeds);
	vec_deinit(&w->got);
	vec_deinit(&w->depths);
	map_deinit(&w->found);
	map_deinit(&w->other);
	map_deinit(&w->link_of);
	map_deinit(&w->tables);
	map_deinit(&w->string_of);
	map_deinit(&w->string_functions);
	vec_deinit(&w->kinds);
	fl_labels_deinit(&w->mem);
	fl_steps_deinit(&w->steps);
	free(w);
	return err;
}

void fl_inputs_deinit(struct fl_inputs *in)
{
	vec_deinit(&in->all);
	vec_deinit(&in->links);
	vec_deinit(&in->others);
	vec_deinit(&in->parents);
}
