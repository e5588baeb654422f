// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where the way back ends: what system calls wrote, and what was there at the start, is bytes of
 * inputs or nothing to tell of. Threads and handlers begin as in slices (slice/walk_kernel.c).
 */

#include "faultlocate/inputs/walk.h"

#include <string.h>
#include <sys/syscall.h>

enum { SIGNAL_REGS = 1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX | 1u << CAP_RAX };

static uint32_t insn_at(const struct walker *w, uint64_t rip)
{
	const uint64_t *at = map_get(&w->trace->insn_of, rip);

	return at ? *at : UINT32_MAX;
}

/* What a byte is that is wanted by ways @p ways. */
static uint8_t roles_of(uint32_t ways)
{
	static const struct {
		uint32_t ways;
		uint8_t roles;
	} each[] = {
		{ WAY_DERIVED | WAY_CHAIN, FL_ROLE_DERIVED | FL_ROLE_DERIVED_STRONG },
		{ WAY_DERIVED_WEAK | WAY_CHAIN_WEAK, FL_ROLE_DERIVED },
		{ WAY_CONTROL, FL_ROLE_CONTROL | FL_ROLE_CONTROL_STRONG },
		{ WAY_CONTROL_WEAK, FL_ROLE_CONTROL },
		{ WAY_ADDRESS, FL_ROLE_ADDRESS | FL_ROLE_ADDRESS_STRONG },
		{ WAY_ADDRESS_WEAK, FL_ROLE_ADDRESS },
	};
	uint8_t roles = 0;

	ways = ways_plain(ways);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		roles |= ways & each[i].ways ? each[i].roles : 0;
	return roles;
}

/* Byte @p offset of @p source is wanted as @p l says. */
static struct err *found(struct walker *w, uint32_t source, uint64_t offset,
			 const struct label *l)
{
	uint64_t key = (uint64_t)source << 44 | offset;
	const uint64_t *at = map_get(&w->found, key);
	struct fl_input *in;

	if (!at) {
		in = vec_push(&w->in->all);
		if (!in || map_put(&w->found, key, w->in->all.size - 1))
			return &err_nomem;
		*in = (struct fl_input){ .source = source, .offset = offset };
	} else {
		in = &w->in->all.data[*at];
	}
	in->roles |= roles_of(l->ways);
	if (l->ways & WAYS_CHAIN && l->link)
		in->link = l->link;
	if (w->o.with_tree &&
	    (!in->node || w->depths.data[l->node] < w->depths.data[in->node]))
		in->node = l->node;
	return NULL;
}

static struct err *other(struct walker *w, uint32_t number, const struct label *l)
{
	const uint64_t *at;
	struct fl_other *o;

	if (!l->ways)
		return NULL;
	at = map_get(&w->other, number);
	if (!at) {
		o = vec_push(&w->in->others);
		if (!o || map_put(&w->other, number, w->in->others.size - 1))
			return &err_nomem;
		o->number = number;
	} else {
		o = &w->in->others.data[*at];
	}
	o->roles |= roles_of(l->ways);
	o->n++;
	return NULL;
}

/* Register @p reg is made by call or processor @p number. */
static struct err *take_reg(struct walker *w, int reg, uint32_t number)
{
	struct label all = {};

	for (int i = 0; i < 64; i++) {
		struct label l = fl_inputs_take_reg(w, reg, i, false);

		if (l.ways)
			fl_inputs_join(w, &all, &l);
	}
	return other(w, number, &all);
}

/* Call @p fn with each byte of [addr, addr + size) that is wanted, which it then is no more. */
static struct err *take_range(struct walker *w, uint64_t addr, uint64_t size,
			      struct err *(*fn)(struct walker *w, uint64_t addr,
						const struct label *l))
{
	struct err *err = NULL;

	for (uint64_t i = 0; i < size && !err;) {
		uint64_t at = addr + i, rest = LABEL_PAGE - at % LABEL_PAGE;

		if (!fl_labels_page(&w->mem, at)) {
			i += rest;
			continue;
		}
		for (; rest && i < size && !err; rest--, i++) {
			struct label l = fl_labels_take(&w->mem, addr + i);

			if (l.ways && fn)
				err = fn(w, addr + i, &l);
		}
	}
	return err;
}

/* ---- system calls ------------------------------------------------------------------------------ */

static struct err *note_got(struct walker *w, uint64_t addr, const struct label *l)
{
	return vec_add(&w->got, (struct got){ addr, *l });
}

static struct err *written(struct walker *w, const struct dec_rec_write *rec)
{
	return rec->by_insn ? NULL :
			      take_range(w, rec->addr, rec->n_bytes,
					 w->is_signal ? NULL : note_got);
}

/* What the call of event @p seq wrote, or mapped, and somebody wanted. */
static struct err *take_got(struct walker *w, uint64_t seq, uint32_t number)
{
	struct err *err = NULL;

	for (size_t i = 0; i < w->got.size && !err; i++) {
		const struct got *g = &w->got.data[i];
		const struct fl_piece *p = fl_sources_find(w->sources, seq, g->addr);

		err = p ? found(w, p->source, p->offset + (g->addr - p->addr),
				&g->label) :
			  other(w, number, &g->label);
	}
	w->got.size = 0;
	return err;
}

/* The call made thread @p tid: what that one still wants, it inherited. */
static struct err *birth(struct walker *w, uint32_t tid, uint32_t insn)
{
	const uint64_t own = 1ull << CAP_RAX | 1ull << CAP_RSP | 1ull << CAP_RCX |
			     1ull << CAP_R11;
	struct walker_thread *parent = w->at, *child = NULL;
	struct err *err = NULL;

	for (size_t i = 0; i < w->threads.size; i++)
		if (w->threads.data[i]->tid == tid && w->threads.data[i] != parent)
			child = w->threads.data[i];
	if (!child)
		return NULL;
	for (uint64_t left = child->regs->any & ~own; left; left &= left - 1) {
		int r = __builtin_ctzll(left);

		for (int i = 0; i < 64; i++)
			fl_inputs_want_reg(w, r, i, &child->regs->at[r][i]);
	}
	memset(child->regs, 0, sizeof(*child->regs));
	for (;;) {
		struct call *c = &child->calls.data[child->calls.size - 1];

		for (size_t i = 0; i < c->waiting.size && !err && insn != UINT32_MAX; i++)
			err = fl_inputs_wait(w, insn, &c->waiting.data[i].by_control,
					     NULL);
		c->waiting.size = 0;
		if (err || child->calls.size == 1)
			return err;
		err = fl_inputs_pop(w, child);
	}
}

/* A handler ends: what is wanted of registers behind it was so before it began. */
static struct err *leave_handler(struct walker *w)
{
	struct walker_thread *t = w->at;
	struct call c = { .function = FLOW_NONE,
			  .interrupted = malloc(sizeof(*t->regs)) };
	struct err *err;

	if (!c.interrupted)
		return &err_nomem;
	*c.interrupted = *t->regs;
	err = vec_add(&t->calls, c);
	if (err)
		free(c.interrupted);
	else
		memset(t->regs, 0, sizeof(*t->regs));
	return err;
}

/* What mremap moved lay elsewhere before. */
static struct err *moved(struct walker *w, const struct dec_rec *rec)
{
	uint64_t from = rec->value[3], old = rec->value[4], size = rec->value[5];
	uint64_t to = rec->value[1], common = old < size ? old : size;
	struct err *err = NULL;

	if (to > -4096ul)
		return NULL;
	if (size > old)
		err = take_range(w, to + old, size - old, NULL);
	for (uint64_t i = 0; to != from && i < common && !err; i++) {
		struct label l;

		if (!fl_labels_page(&w->mem, to + i)) {
			i |= LABEL_PAGE - 1;
			continue;
		}
		l = fl_labels_take(&w->mem, to + i);
		err = fl_inputs_want_mem(w, from + i, 1, &l);
	}
	return err;
}

static struct err *system_call(struct walker *w, const struct dec_rec *rec)
{
	uint64_t nr = rec->value[0], ret = rec->value[1];
	uint32_t insn = insn_at(w, rec->value[2]);
	struct err *err = fl_inputs_meet(w, insn);

	// Zeros are nobody's input.
	if (!err && nr == SYS_mmap && ret < -4096ul)
		err = take_range(w, ret, (rec->value[4] + 4095) & ~UINT64_C(4095),
				 rec->value[9] ? note_got : NULL);
	if (!err)
		err = take_got(w, rec->value[14], nr);
	if (nr == SYS_rt_sigreturn)
		return err ?: leave_handler(w);
	if (!err)
		err = take_reg(w, CAP_RAX, nr);
	for (int i = 0; i < 2 && !err; i++)
		err = take_reg(w, i ? CAP_R11 : CAP_RCX, nr);
	if (!err && (nr == SYS_clone || nr == SYS_clone3))
		err = birth(w, ret, insn);
	if (!err && nr == SYS_mremap)
		err = moved(w, rec);
	w->at->next = insn;
	return err;
}

/* ---- signals, special instructions -------------------------------------------------------------- */

static struct err *begin_handler(struct walker *w)
{
	struct walker_thread *t = w->at;
	struct wanted_regs *before;
	size_t i = t->calls.size;
	struct err *err = NULL;

	w->is_signal = true;
	for (int r = 0; r < DEC_GPRS; r++)
		for (int k = 0; k < 8 && (SIGNAL_REGS >> r & 1); k++)
			fl_inputs_take_reg(w, r, k, false);
	while (i && !t->calls.data[i - 1].interrupted)
		i--;
	t->next = UINT32_MAX;
	if (!i)
		return NULL;
	before = take_ptr(&t->calls.data[i - 1].interrupted);
	while (t->calls.size >= i && !err)
		err = fl_inputs_pop(w, t);
	// What the handler itself got from before are registers that it kept.
	for (int r = 0; r < WALK_REGS; r++)
		for (int k = 0; k < 64 && (before->any >> r & 1); k++)
			fl_inputs_want_reg(w, r, k, &before->at[r][k]);
	free(before);
	return err;
}

static struct err *special(struct walker *w, const struct dec_rec *rec)
{
	uint32_t insn = insn_at(w, rec->value[16] - rec->value[18]);
	const struct effect *e;
	struct err *err = NULL;

	if (insn == UINT32_MAX)
		return NULL;
	e = fl_trace_effect(w->trace, insn);
	if (!e)
		return &err_nomem;
	for (uint64_t left = e->regs & w->at->regs->any; left && !err; left &= left - 1)
		err = take_reg(w, __builtin_ctzll(left), UINT32_MAX);
	w->at->next = insn;
	return err;
}

struct err *fl_inputs_other(struct walker *w, const struct dec_rec *rec)
{
	switch (rec->id) {
	case DEC_REC_SYSCALL:
		w->position--;
		return system_call(w, rec);
	case DEC_REC_WRITE:
		return written(w, (const struct dec_rec_write *)rec);
	case DEC_REC_STATE:
		if (rec->value[18]) {
			w->position--;
			return special(w, rec);
		}
		return rec->value[20] == DEC_STATE_SIGNAL ? begin_handler(w) : NULL;
	default:
		return NULL;
	}
}

/* ---- the start ------------------------------------------------------------------------------------- */

struct err *fl_inputs_start(struct walker *w)
{
	const struct fl_sources *s = w->sources;
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_start && !err; i++) {
		const struct fl_piece *p = &s->pieces.data[i];

		for (uint64_t k = 0; k < p->size && !err; k++) {
			struct label l = fl_labels_take(&w->mem, p->addr + k);

			if (l.ways)
				err = found(w, p->source, p->offset + k, &l);
		}
	}
	return err;
}
