// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The fast way of hg_glance.c through whole blocks. Which instructions can have to do with
 * pointers depends on which registers hold some where the block begins: of those that ever did,
 * it is found out once, and the others are passed over. Their definitions are looked up where the
 * record has them, and made when the block ends.
 */
#include "decode/machine/log.h"
#include "decode/x86/zydis.h"
#include "heapgraph/hg_glance_int.h"

_Static_assert(sizeof(struct hg_glanced_block) <= sizeof(struct hg_glanced), "one entry");
_Static_assert(DEC_BLOCK_INSNS <= 32, "sets of instructions");

enum { RSP_BIT = 1u << CAP_RSP };

/* ---- plans ------------------------------------------------------------------------------------ */

/* @return whether there are not too many. */
static bool find_sources(struct hg_glanced *q, const struct hg_trail *t)
{
	uint32_t reads = q->reads & ~RSP_BIT;

	for (; reads && q->n_sources < HG_COURSE_SOURCES; reads &= reads - 1)
		q->source[q->n_sources++] = t->gpr[__builtin_ctz(reads)];
	return !reads;
}

static enum hg_course_op vector_op(const struct hg_glanced *q,
				   const struct dec_insn *insn, const struct hg_trail *t)
{
	if (q->reads & ~q->address || q->to != DEC_REG_NONE || !q->mem.is_there)
		return COURSE_LEAVE;
	if (!q->vec_writes)
		return COURSE_MIXED;
	// Above what is loaded lies what was there before.
	if (q->store_at || q->vec_writes & (q->vec_writes - 1) ||
	    (!insn->is_vex && q->vec_writes & t->vecs))
		return COURSE_LEAVE;
	return COURSE_VECTOR;
}

static enum hg_course_op op_of(const struct hg_glanced *q, const struct dec_insn *insn,
			       const struct hg_trail *t)
{
	bool is_arithmetic = dec_insn_is_arithmetic(insn->mnemonic);

	if (q->vec_reads | q->vec_writes)
		return vector_op(q, insn, t);
	if (!q->mem.is_there)
		return q->to == DEC_REG_NONE ? COURSE_LEAVE :
		       is_arithmetic	     ? COURSE_DERIVE :
					       COURSE_MOVE;
	if (is_arithmetic || (q->mem.is_read && q->store_at))
		return COURSE_MIXED;
	if (q->store_at)
		return q->mem.size == 8 && q->to == DEC_REG_NONE ? COURSE_STORE :
								   COURSE_MIXED;
	return insn->is_plain_load && q->to != DEC_REG_NONE ? COURSE_LOAD : COURSE_MIXED;
}

static void plan_insn(const struct dec_glance *g, struct hg_glanced *q, uint32_t i,
		      const struct hg_trail *t)
{
	const struct dec_insn *insn = &g->block->insn[i];
	uint32_t writes = q->writes;
	bool is_fit;

	if (g->plan->insn[i].rsp_step)
		writes &= ~RSP_BIT;
	q->to = writes ? __builtin_ctz(writes) : DEC_REG_NONE;
	is_fit = find_sources(q, t) && !(writes & (writes - 1)) && !(writes & RSP_BIT);
	q->base_at = hg_trail_place(t, q->mem.base);
	q->index_at = hg_trail_place(t, q->mem.index);
	q->course_disp = q->mem.disp + (q->mem.base == CAP_RSP ? t->rsp_step : 0);
	// What is below 64 kB is no pointer.
	q->is_small = insn->mnemonic == ZYDIS_MNEMONIC_MOVZX && insn->bytes[0] != 0x66;
	q->is_sub = insn->mnemonic == ZYDIS_MNEMONIC_SUB;
	q->is_mask = insn->mnemonic == ZYDIS_MNEMONIC_AND ||
		     insn->mnemonic == ZYDIS_MNEMONIC_OR;
	q->op = is_fit ? op_of(q, insn, t) : COURSE_LEAVE;
	if (q->op == COURSE_DERIVE && q->is_sub && !dec_insn_is_wide(insn))
		q->op = COURSE_MIXED;
}

void hg_course_plan(const struct dec_glance *g, struct frames *frames)
{
	struct hg_glanced_block *b = hg_glanced_block(g);
	struct hg_glanced *q = hg_glanced_insns(g);
	struct hg_trail t;

	hg_trail_begin(&t);
	while (b->n < g->block->n_insns && q[b->n].kind != GLANCE_STEP) {
		struct hg_glanced *of = &q[b->n];

		if (of->kind == GLANCE_PLAIN) {
			of->is_own = dec_frames_is_own(frames, g->block->insn[b->n].rip);
			plan_insn(g, of, b->n, &t);
			if (hg_trail_pass(&t, g, b->n))
				b->others |= 1u << b->n;
			t.vecs |= of->vec_writes;
			b->reads |= of->reads;
			b->vec_reads |= of->vec_reads;
			b->vec_writes |= of->vec_writes;
		}
		b->n++;
	}
	b->n_finals = hg_trail_finals(&t, b->final);
	b->rsp_step = t.rsp_step;
}

static bool makes_pointers(const struct hg_glanced *q)
{
	return q->to != DEC_REG_NONE && !q->is_small &&
	       (q->op == COURSE_LOAD || q->op >= COURSE_MOVE);
}

/* Which instructions matter when registers @p may are pointers where the block begins? */
static void choose(const struct hg_finder *f, struct hg_glanced_block *b,
		   struct hg_glanced *q, uint32_t may)
{
	uint32_t dead = 0;

	b->may = may;
	b->relevant = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		struct hg_glanced *of = &q[i];

		if (of->kind == GLANCE_INERT)
			continue;
		if (of->reads & may || of->loads ||
		    (of->store_at &&
		     (of->mem.size >= 8 || (of->may_store && !f->is_without_history)))) {
			b->relevant |= 1u << i;
			of->dead = dead;
		}
		may &= ~of->writes;
		dead |= of->writes;
		if (b->relevant >> i & 1 && makes_pointers(of)) {
			may |= 1u << of->to;
			dead &= ~(1u << of->to);
		}
	}
	b->dead = dead;
	b->has_course = true;
}

/* ---- runs ----------------------------------------------------------------------------------------- */

/* A run through a block. */
struct course {
	struct hg_finder *f;
	struct hg_derived_regs *regs;
	const struct dec_glance *g;
	const uint8_t *from[PLACES];
};

static inline uint64_t value(const struct course *c, struct hg_place p)
{
	return hg_word_at(c->from[p.from] + p.at);
}

static inline uint64_t result(const struct course *c, const struct hg_glanced *q)
{
	return hg_word_at(c->g->rec + q->def_at);
}

static inline uint64_t address(const struct course *c, const struct hg_glanced *q)
{
	uint64_t addr = q->course_disp + value(c, q->base_at);

	if (q->mem.index != DEC_REG_NONE)
		addr += value(c, q->index_at) * q->mem.scale;
	return q->mem.is_fs ? addr + c->g->fs_base : addr;
}

/* The first source that holds @p v: what is it derived from? 0: nothing, or there is none. */
static inline uint32_t same(const struct course *c, const struct hg_glanced *q,
			    uint64_t v)
{
	for (uint32_t k = 0; k < q->n_sources; k++)
		if (c->regs->live & ~q->only_address & 1u << q->source[k].reg &&
		    value(c, q->source[k]) == v)
			return c->regs->gpr[q->source[k].reg];
	return 0;
}

static inline const uint8_t *loaded(const struct course *c, const struct hg_glanced *q)
{
	return c->g->rec + (q->load_at ? q->load_at : q->def_at);
}

static inline uint32_t recall(const struct course *c, uint64_t addr, const uint8_t *word)
{
	return hg_derive_recall(&c->f->derive, addr, hg_word_at(word));
}

/* Any instruction, as hg_glance.c does it. */
static void mix(const struct course *c, const struct hg_glanced *q, uint32_t i,
		uint64_t addr)
{
	const struct dec_step s = { .position = c->g->position + i,
				    .insn = &c->g->block->insn[i] };
	struct hg_derive *d = &c->f->derive;
	struct hg_sources so;

	so.n = 0;
	for (uint32_t k = 0; k < q->n_sources; k++) {
		uint8_t reg = q->source[k].reg;

		c->regs->value[reg] = value(c, q->source[k]);
		hg_source_add(&so, c->regs->value[reg], c->regs->gpr[reg],
			      q->only_address >> reg & 1);
	}
	for (uint32_t k = 0; k < q->loads; k += 8)
		hg_source_add(&so, hg_word_at(loaded(c, q) + k),
			      recall(c, addr + k, loaded(c, q) + k), false);
	if (!so.n)
		hg_glance_forget(c->regs, q->writes);
	else if (q->to != DEC_REG_NONE)
		hg_derive_define_gpr(d, &s, &so, q->to, result(c, q));
	if (q->store_at && q->mem.size >= 8)
		hg_derive_define_mem(d, &s, &so, addr, q->mem.size,
				     c->g->rec + q->store_at);
}

/* Arithmetic of one pointer, which it was derived from the last time, too. */
static uint32_t derived_again(const struct course *c, const struct hg_glanced *q)
{
	struct hg_derive *d = &c->f->derive;
	const struct hg_derivation *from;
	uint64_t v = result(c, q);
	uint32_t pointers = c->regs->live & q->reads;
	uint8_t reg = __builtin_ctz(pointers);

	if (pointers & (pointers - 1) || c->regs->gpr[reg] != q->derived_from ||
	    (q->is_sub && reg != q->to) || q->is_mask || !(v >> 32))
		return 0;
	for (uint32_t k = 0; k < q->n_sources; k++) // what is the same is a copy
		if (q->source[k].reg == reg && value(c, q->source[k]) == v)
			return 0;
	from = hg_derive_get(d, q->derived_from);
	if (from->is_far || llabs((int64_t)(v - from->start)) > HG_DERIVE_REACH)
		return 0;
	hg_derive_again(d, q->derived, v - from->start);
	return q->derived;
}

static void derive(const struct course *c, struct hg_glanced *q, uint32_t i)
{
	uint32_t pointers = c->regs->live & q->reads, number;
	uint32_t from = pointers ? c->regs->gpr[__builtin_ctz(pointers)] : 0;

	if (!pointers) {
		hg_derived_set(c->regs, q->to, 0);
		return;
	}
	number = derived_again(c, q);
	if (number) {
		hg_derived_set(c->regs, q->to, number);
		return;
	}
	mix(c, q, i, 0);
	number = c->regs->gpr[q->to];
	if (!number || pointers & (pointers - 1))
		return;
	if (hg_derive_get(&c->f->derive, number)->rip == c->g->block->insn[i].rip) {
		q->derived_from = from;
		q->derived = number;
	}
}

/* May a vector that is loaded get pointers? */
static bool has_pointers(const struct course *c, const struct hg_glanced *q,
			 const struct dec_insn *insn, uint64_t addr)
{
	uint32_t v = __builtin_ctz(q->vec_writes), known = insn->vec_bytes[1];
	bool is_any = false;

	for (uint32_t k = 0; k < q->loads; k += 8)
		is_any |= recall(c, addr + k, loaded(c, q) + k) != 0;
	if (!(c->regs->live & q->reads))
		return is_any;
	for (uint32_t k = 0; k + 8 <= known; k += 8)
		is_any |= same(c, q, hg_word_at(c->g->rec + q->def_at + k)) != 0;
	for (uint32_t k = known & ~7u; k < 64 && !insn->is_vex; k += 8)
		is_any |= same(c, q, hg_word_at(c->g->vec[v] + k)) != 0;
	return is_any;
}

/* @return whether instruction @p i is none for courses, as things are. */
static inline bool is_to_leave(const struct course *c, const struct hg_glanced *q,
			       uint32_t i, uint64_t addr)
{
	if (q->op == COURSE_VECTOR)
		return has_pointers(c, q, &c->g->block->insn[i], addr);
	return q->op == COURSE_LEAVE && (c->regs->live & q->reads || q->loads ||
					 (q->store_at && q->mem.size >= 8));
}

static inline void carry_on(const struct course *c, struct hg_glanced *q, uint32_t i,
			    uint64_t addr)
{
	uint32_t pointers = c->regs->live & q->reads, number;

	switch (q->op) {
	case COURSE_LOAD:
		number = pointers ? same(c, q, result(c, q)) : 0;
		if (q->loads) {
			uint32_t kept = recall(c, addr, loaded(c, q));

			number = number ? number : kept;
		}
		hg_derived_set(c->regs, q->to, number);
		break;
	case COURSE_STORE:
		number = pointers ? same(c, q, hg_word_at(c->g->rec + q->store_at)) : 0;
		hg_derive_remember(&c->f->derive, addr,
				   hg_word_at(c->g->rec + q->store_at), number);
		break;
	case COURSE_MOVE:
		hg_derived_set(c->regs, q->to, pointers ? same(c, q, result(c, q)) : 0);
		break;
	case COURSE_DERIVE:
		derive(c, q, i);
		break;
	case COURSE_MIXED:
		mix(c, q, i, addr);
		break;
	default:
		hg_glance_forget(c->regs, q->writes);
	}
}

/* Registers are as they are before instruction @p n, which is none for the course. */
static void stop_at(const struct course *c, const struct hg_glanced *q, uint32_t n)
{
	uint32_t vecs = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (q[i].kind == GLANCE_INERT)
			continue;
		hg_glance_define(c->g, &q[i], i);
		vecs |= q[i].vec_writes;
	}
	c->regs->vec_live &= ~vecs;
}

static void finish(const struct course *c, const struct hg_glanced_block *b)
{
	for (uint32_t others = b->others; others; others &= others - 1)
		dec_glance_define(c->g, __builtin_ctz(others));
	for (uint32_t k = 0; k < b->n_finals; k++) {
		uint64_t v = hg_word_at(c->g->rec + b->final[k].at);

		c->g->gpr[b->final[k].reg] = c->regs->value[b->final[k].reg] = v;
	}
	c->g->gpr[CAP_RSP] += b->rsp_step;
	c->regs->value[CAP_RSP] = c->g->gpr[CAP_RSP];
	c->regs->vec_live &= ~b->vec_writes;
	hg_glance_forget(c->regs, b->dead);
}

struct err *hg_course_run(struct hg_finder *f, struct dec_glance *g,
			  const struct dec_heap_storer *storer, uint32_t *ret)
{
	static const uint64_t zero;
	struct hg_glanced_block *b = hg_glanced_block(g);
	struct hg_glanced *known = hg_glanced_insns(g);
	struct hg_derived_regs *regs = f->derive.regs;
	const struct course c = {
		f, regs, g, { (const uint8_t *)g->gpr, g->rec, (const uint8_t *)&zero }
	};
	struct err *err = NULL;

	*ret = 0;
	if (g->n_ran < b->n || regs->vec_live & b->vec_reads || regs->live & RSP_BIT)
		return NULL;
	if (!b->has_course || regs->live & b->reads & ~b->may)
		choose(f, b, known, b->may | (regs->live & b->reads));
	for (uint32_t left = b->relevant; left; left &= left - 1) {
		uint32_t i = __builtin_ctz(left);
		struct hg_glanced *q = &known[i];
		uint64_t addr = q->mem.is_there ? address(&c, q) : 0;

		if (regs->live & q->dead)
			hg_glance_forget(regs, q->dead);
		if (is_to_leave(&c, q, i, addr)) {
			stop_at(&c, known, i);
			*ret = i;
			return NULL;
		}
		if (regs->live & q->address && q->mem.is_there)
			err = hg_glance_check(f, g, q, i, addr, value(&c, q->base_at));
		carry_on(&c, q, i, addr);
		if (!err && q->may_store && q->store_at && !f->is_without_history)
			err = storer->store(storer->ctx, &g->block->insn[i],
					    g->position + i, addr, g->rec + q->store_at,
					    q->mem.size);
		if (err)
			return err;
	}
	finish(&c, b);
	*ret = b->n;
	return NULL;
}
