// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One instruction: does it define something wanted? Then it is in the slice, and what it used is
 * wanted from there on.
 */

#include "faultlocate/slice/walk.h"

/* ---- uses ------------------------------------------------------------------------------------- */

/* Some of an instruction's uses. */
struct uses {
	uint64_t from;	 ///< bit n: use[n] is one
	int narrow_use;	 ///< of this one only `narrow` is wanted; -1: of all, everything
	uint64_t narrow; ///< bytes
};

static struct err *want_operand(struct fl_slice *s, const struct operands *o, int m,
				uint64_t bytes, live_who who, uint32_t link)
{
	struct memo_recording *recording = s->memo.recording;
	struct err *err = recording ? fl_memo_want(s, &o->mem[m], bytes, who, link) :
				      NULL;

	// What else comes of it is of the address, not of the instruction.
	s->memo.recording = NULL;
	if (!err)
		err = fl_walk_want_some(s, fl_walk_address(s, o, m), o->mem[m].size,
					bytes, who, link);
	s->memo.recording = recording;
	return err;
}

static struct err *use_one(struct fl_slice *s, const struct effect_use *use,
			   const struct operands *o, uint64_t bytes, live_who who,
			   uint32_t node)
{
	bool is_address = use->why == EFFECT_ADDRESS;
	uint32_t link = link_to(node, is_address ? FL_EDGE_ADDRESS : FL_EDGE_DATA);

	if (is_address ? s->options.without_addresses : s->options.without_data)
		return NULL;
	if (!use->is_mem)
		return fl_walk_want_reg(s, use->reg, use->bytes & bytes, who, link);
	// What a single instruction read is in its record.
	if (o->slow)
		return NULL;
	return want_operand(s, o, use->mem, bytes, who, link);
}

bool fl_walk_is_cut(const struct fl_slice *s, uint32_t insn)
{
	return s->options.n_prunes &&
	       (fl_walk_is_pruned(s, FL_PRUNE_AT, s->position) ||
		fl_walk_is_pruned(s, FL_PRUNE_CODE, s->trace->insns.data[insn].insn.rip));
}

static struct err *use_all(struct fl_slice *s, uint32_t insn, const struct uses *u,
			   const struct operands *o, live_who who, uint32_t node)
{
	const struct effect *e = s->trace->insns.data[insn].effect;
	struct err *err = NULL;

	for (uint64_t left = u->from; left && !err; left &= left - 1) {
		int i = __builtin_ctzll(left);

		err = use_one(s, &e->use[i], o,
			      i == u->narrow_use ? u->narrow : ~UINT64_C(0), who, node);
	}
	return err;
}

struct err *fl_walk_use(struct fl_slice *s, uint32_t insn, uint64_t from,
			const struct operands *o, live_who who, uint32_t node)
{
	const struct uses u = { .from = from, .narrow_use = -1 };

	return use_all(s, insn, &u, o, who, node);
}

/* ---- definitions ------------------------------------------------------------------------------- */

/* What an instruction turns out to be wanted for. */
struct taken {
	live_who who;
	uint32_t link;
	struct uses uses;
	struct fl_node node;
};

/* Definition @p d is wanted as @p w says. */
static void add_taken(struct taken *t, const struct effect_def *d,
		      const struct live_want *w)
{
	uint64_t low = d->n_copied < 64 ? (UINT64_C(1) << d->n_copied) - 1 : ~UINT64_C(0);
	bool is_copy = d->copies >= 0;

	if (!t->who) {
		t->link = w->node;
		t->node.is_mem = d->is_mem;
		t->node.reg = d->reg;
		t->node.addr = w->first;
		t->node.size = d->is_mem ? w->size : 64u - __builtin_clzll(w->bytes);
	}
	t->who |= w->who;
	if (!is_copy) {
		t->uses.from |= d->from;
		return;
	}
	if (t->uses.narrow_use < 0 && !(t->uses.from >> d->copies & 1))
		t->uses.narrow_use = d->copies;
	t->uses.from |= d->from;
	t->uses.narrow |= w->bytes & low;
	if (d->is_signed && (w->bytes & ~low))
		t->uses.narrow |= UINT64_C(1) << (d->n_copied - 1);
}

/* Several definitions: is all of the use wanted that one of them copies? */
static void widen(struct taken *t, uint64_t others)
{
	if (t->uses.narrow_use >= 0 && (others >> t->uses.narrow_use & 1))
		t->uses.narrow_use = -1;
}

/* The register @p e gets back from the stack is wanted: look there for whether it is the same. */
static struct err *restore(struct fl_slice *s, uint32_t insn, const struct effect *e,
			   uint64_t addr)
{
	struct live_want w;
	struct err *err;

	if (!(s->at->regs.any >> e->saved & 1) || !fl_walk_may_restore(s, addr))
		return NULL;
	w = fl_live_reg_take(&s->at->regs, s->has_several, e->saved, 0xff, false);
	err = fl_share_restore(s, e->saved, addr);
	return err ?: fl_walk_restore(s, insn, addr, w.who, w.node);
}

/* @p e keeps a register at @p addr: is it one that was got back from there, in the same call? */
static struct err *save(struct fl_slice *s, const struct effect *e, uint64_t addr)
{
	uint32_t at, link;
	live_who who;
	struct err *err;

	if (!fl_walk_find_save(s, e, addr, &at))
		return NULL;
	err = fl_walk_save(s, at, &who, &link);
	if (!err)
		err = fl_share_save(s, e->saved, addr);
	return err   ?:
		       fl_live_reg_want(&s->at->regs, s->has_several, e->saved, 0xff, who,
					link);
}

static struct err *take_def(struct fl_slice *s, const struct effect_def *d,
			    const struct operands *o, struct live_want *ret)
{
	// What may have been there before is told by nothing: of cmpxchg, cmov.
	bool stays = d->is_maybe && !s->options.only_told;
	uint64_t addr;

	*ret = (struct live_want){};
	if (!d->is_mem) {
		if (s->at->regs.any >> d->reg & 1)
			*ret = fl_live_reg_take(&s->at->regs, s->has_several, d->reg,
						d->bytes, stays);
		return ret->who ? fl_share_take_reg(s, d->reg, d->bytes, stays) : NULL;
	}
	if (o->slow)
		return NULL;
	if (s->memo.recording) {
		*ret = *s->memo.recording->taken;
		return NULL;
	}
	addr = fl_walk_address(s, o, d->mem);
	if (!fl_live_mem_may(&s->mem, addr, o->mem[d->mem].size))
		return NULL;
	return fl_walk_take_mem(s, addr, o->mem[d->mem].size, stays, ret);
}

/* @return whether what is wanted of @p d, which is right, tells what that was made of. */
static bool is_told(const struct effect_def *d, const struct live_want *w)
{
	uint64_t low = d->n_told < 64 ? (UINT64_C(1) << d->n_told) - 1 : ~UINT64_C(0);

	return d->tells >= 0 && !d->is_maybe && (w->bytes & low) == low;
}

/* What instruction @p insn defines is no longer wanted; what of it is, comes into @p t. */
static struct err *take(struct fl_slice *s, const struct effect *e,
			const struct operands *o, struct taken *t)
{
	uint64_t others = 0;
	struct err *err = NULL;

	for (int i = 0; i < e->n_defs && !err; i++) {
		const struct effect_def *d = &e->def[i];
		struct live_want w;

		err = take_def(s, d, o, &w);
		if (err || !w.who || (s->options.only_told && !is_told(d, &w)))
			continue;
		others |= d->copies >= 0 ? d->from & ~(UINT64_C(1) << d->copies) :
					   d->from;
		add_taken(t, d, &w);
	}
	widen(t, others);
	return err;
}

/* Is what @p insn stored at @p node an input, that nothing is asked of? The registers that it keeps
 * on the stack meanwhile are not. */
static bool is_filled_in(const struct fl_slice *s, uint32_t insn,
			 const struct fl_node *node)
{
	const struct dec_insn *i = &s->trace->insns.data[insn].insn;

	if (!s->options.n_prunes || !node->is_mem || !node->size ||
	    !fl_walk_is_pruned(s, FL_PRUNE_STORES, i->rip))
		return false;
	for (int m = 0; m < i->n_mem; m++)
		if (i->mem[m].is_write && i->mem[m].base != CAP_RSP &&
		    i->mem[m].base != CAP_RBP)
			return true;
	return false;
}

/* @p insn is in the slice: so is what it used, and why it ran. */
static struct err *enter(struct fl_slice *s, uint32_t insn, const struct taken *t,
			 const struct operands *o, uint32_t *ret)
{
	struct err *err = fl_walk_add(s, &t->node, t->who, t->link, ret);

	if (err || fl_walk_is_cut(s, insn) || is_filled_in(s, insn, &t->node))
		return err;
	err = use_all(s, insn, &t->uses, o, t->who, *ret);
	return err ?: fl_walk_pend(s, insn, t->who, *ret);
}

struct err *fl_walk_insn(struct fl_slice *s, uint32_t insn, const struct operands *o)
{
	const struct effect *e = s->trace->insns.data[insn].effect;
	struct taken t = { .uses.narrow_use = -1,
			   .node = { .position = s->position, .insn = insn } };
	struct err *err = NULL;
	uint32_t node;

	if (e->is_restore)
		err = restore(s, insn, e, fl_walk_address(s, o, 0));
	else if (e->is_save)
		err = save(s, e, fl_walk_address(s, o, 0));
	if (!err)
		err = take(s, e, o, &t);
	if (!err && t.who && s->options.right &&
	    fl_slice_has(s->options.right, s->position, 0)) {
		s->stats.n_right++;
		return NULL;
	}
	return err || !t.who ? err : enter(s, insn, &t, o, &node);
}

/* ---- instructions stepped in C -------------------------------------------------------------------- */

/* @return whether @p insn copies its source byte for byte. */
static bool is_copy(const struct dec_insn *insn, const struct dec_rec_ref *def,
		    const struct dec_rec_ref *use)
{
	return insn->is_string && use && def->bytes == use->bytes && insn->n_mem == 2 &&
	       (insn->gpr_written & 1u << CAP_RDI) &&
	       (insn->gpr_written & 1u << CAP_RSI) &&
	       // Forward into itself it repeats what it has copied.
	       def->addr - use->addr >= use->bytes;
}

/* Want what the record @p o->slow says was read; of a copy only the part that @p w is of. */
static struct err *use_record(struct fl_slice *s, const struct dec_insn *insn,
			      const struct operands *o, const struct dec_rec_ref *def,
			      const struct live_want *w, live_who who, uint32_t node)
{
	struct log_refs refs = dec_log_refs(o->slow);
	const struct dec_rec_ref *ref;
	const uint8_t *data;
	struct err *err = NULL;

	if (s->options.without_data)
		return NULL;
	while (!err && (ref = dec_log_next_ref(&refs, &data))) {
		uint64_t addr = ref->addr, size = ref->bytes;

		if (ref->is_def || !ref->is_mem)
			continue;
		if (def && is_copy(insn, def, ref)) {
			addr += w->first - def->addr;
			size = w->size;
		}
		err = fl_walk_want_mem(s, addr, size, who, link_to(node, FL_EDGE_DATA));
	}
	return err;
}

/* What instruction @p at touched is in its record alone. */
struct err *fl_walk_touched(struct fl_slice *s, uint32_t at,
			    const struct dec_rec_slow *rec)
{
	const struct operands o = { .slow = rec };
	struct taken t = { .uses.narrow_use = -1, .node = { .position = s->position } };
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref, *def = NULL;
	const struct dec_insn *insn;
	const struct effect *e;
	struct live_want all = {};
	const uint8_t *data;
	struct err *err;
	uint64_t values = 0;
	uint32_t node;

	t.node.insn = at;
	insn = &s->trace->insns.data[at].insn;
	e = s->trace->insns.data[at].effect;
	err = fl_walk_image(s, at, rec);
	if (!err)
		err = take(s, e, &o, &t);
	values = t.who ? t.uses.from : 0;
	while (!err && (ref = dec_log_next_ref(&refs, &data))) {
		struct live_want w;

		if (!ref->is_def || !ref->is_mem)
			continue;
		// A mask leaves some of it as it was, which the record does not tell.
		err = fl_walk_take_mem(s, ref->addr, ref->bytes, false, &w);
		if (err || !w.who)
			continue;
		def = all.who ? NULL : ref;
		all = w;
		add_taken(&t,
			  &(struct effect_def){ .is_mem = true,
						.from = ~UINT64_C(0) >>
							(64 - (e->n_uses ?: 1)),
						.copies = -1 },
			  &w);
	}
	if (err || !t.who || s->options.only_told)
		return err;
	if (!e->n_uses)
		t.uses.from = 0;
	err = enter(s, at, &t, &o, &node);
	// Its pointers alone depend on no memory, where nothing is compared.
	if (!err && !fl_walk_is_cut(s, at) &&
	    (all.who || !insn->is_string || (insn->gpr_written & 1u << CAP_RAX) ||
	     (values && (e->regs >> DEC_REG_FLAGS & 1))))
		err = use_record(s, insn, &o, def, &all, t.who, node);
	return err;
}

/* ---- the beginning ---- */

struct err *fl_walk_ask(struct fl_slice *s, uint32_t insn, const struct operands *o,
			live_who who, bool is_used)
{
	const struct effect *e = fl_trace_effect(s->trace, insn);
	struct taken t = { .who = who,
			   .link = link_to(FL_NONE, 0),
			   .uses.narrow_use = -1,
			   .node = { .position = s->position, .insn = insn } };
	uint32_t node;
	struct err *err;

	if (!e)
		return &err_nomem;
	t.uses.from = is_used && e->n_uses ? ~UINT64_C(0) >> (64 - e->n_uses) : 0;
	err = enter(s, insn, &t, o, &node);
	if (!err && o->slow && is_used)
		err = use_record(s, &s->trace->insns.data[insn].insn, o, NULL, NULL, who,
				 node);
	return err;
}
