// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_sites_int.h"

static bool is_move_string(const struct sp_insn *i)
{
	return i->n_mem == 2 && i->mem[0].is_write && i->mem[1].is_read &&
	       i->mem[0].base == 7 && i->mem[1].base == 6 && i->writes & SP_BIT(7);
}

bool sp_sites_is_wanted(const struct sp_insn *i, const struct sp_step *st,
			const struct sp_options *o)
{
	const struct sp_mem *m = sp_insn_store(i);

	if (!m || i->is_push || i->flow != SP_FLOW_NEXT)
		return false;
	// Where the frame is not known, rsp still says that it is the frame.
	return o->wants_frame || (!st->is_frame_store && m->base != CAP_RSP);
}

/** May the store @p other change what @p m says? Only plain cases are told apart. */
static bool may_touch(const struct sp_insn *other, const struct sp_mem *m)
{
	for (int i = 0; i < other->n_mem; i++) {
		const struct sp_mem *w = &other->mem[i];

		if (!w->is_write)
			continue;
		if (w->is_odd || other->is_rep || w->base != m->base ||
		    w->index != m->index || w->scale != m->scale ||
		    w->is_fs != m->is_fs || w->is_absolute != m->is_absolute)
			return true;
		if (w->disp < m->disp + m->size && m->disp < w->disp + w->size)
			return true;
	}
	return other->is_other_write;
}

/** Up to where what @p s has stored can be read back: see place_store.window. */
static void find_window(const struct sp_sites *p, struct sites_store *s)
{
	const struct sp_function *f = p->f;
	const struct sp_insn *in = &f->insns[s->insn];
	const struct sp_mem *m = sp_insn_store(in);
	sp_set address = p->s->step[s->insn].address;
	uint32_t end = f->blocks[f->block_of[s->insn]].end;

	s->window = s->insn;
	if (m->is_odd || m->size > 64 || in->is_rep || in->is_other_write)
		return;
	if (is_move_string(in))
		s->read_shift = -m->size;
	else if (in->writes & address)
		return;
	// Into the one block that follows, too, where the next instruction is in it.
	if (s->insn + 1 == end) {
		const struct sp_block *b = &f->blocks[f->block_of[s->insn]];

		if (b->n_succ == 1 && !b->leaves &&
		    f->succs.data[b->succ_at] == f->block_of[s->insn] + 1)
			s->window = end;
		return;
	}
	for (uint32_t i = s->insn + 1; i < end; i++) {
		s->window = i;
		if (p->s->step[i].is_barrier || p->s->step[i].changed & address ||
		    may_touch(&f->insns[i], m))
			return;
	}
}

struct err *sp_sites_find_stores(struct sp_sites *p, const struct sp_options *o)
{
	for (uint32_t i = 0; i < p->f->n_insns; i++) {
		const struct sp_insn *in = &p->f->insns[i];
		struct sites_store *s;

		if (p->f->blocks[p->f->block_of[i]].is_idle ||
		    !sp_sites_is_wanted(in, &p->s->step[i], o))
			continue;
		s = vec_push(&p->stores);
		if (!s)
			return &err_nomem;
		s->insn = i;
		s->read_at = NOWHERE;
		s->is_copy = in->is_rep && is_move_string(in);
		find_window(p, s);
	}
	return NULL;
}

bool sp_sites_follows(const struct sp_sites *p, const struct sites_store *s,
		      const struct sp_known *k)
{
	const struct sp_step *st = &p->s->step[s->insn];
	sp_set needs = st->needs;

	if (s->is_copy)
		needs = SP_BIT(1) | SP_BIT(6) | SP_BIT(7);
	else if (!st->has_value || sp_insn_store(&p->f->insns[s->insn])->is_odd)
		return false;
	return !(needs & ~k->at[s->insn]);
}

void sp_sites_update(struct sp_sites *p)
{
	for (size_t i = 0; i < p->stores.size; i++) {
		struct sites_store *s = &p->stores.data[i];

		s->is_done = s->read_at != NOWHERE || sp_sites_follows(p, s, &p->known);
	}
}

double sp_sites_price(const struct sp_sites *p, uint32_t insn)
{
	double us = p->f->insns[insn].is_emulated ? SP_EMULATED_US : SP_STEPPED_US;

	return us * (p->f->blocks[p->f->block_of[insn]].often + 1e-3);
}

bool sp_sites_in_window(const struct sites_store *s, uint32_t insn)
{
	return insn > s->insn && insn <= s->window;
}

struct sites_probe *sp_sites_probe_at(struct sp_sites *p, uint32_t insn)
{
	return vec_find(&p->probes, probe, probe->insn == insn);
}
