// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The fast way of hg_access.c: most instructions have nothing to do with pointers into the
 * heap, or only copy one. They are followed from their block's record, by what was found out
 * once about each; all others are left to the steps. What comes of it is the same
 * (tests/heapgraph/130-glance.sh).
 */
#include "decode/machine/log.h"
#include "decode/x86/zydis.h"
#include "heapgraph/hg_glance.h"
#include "heapgraph/hg_glance_int.h"

const size_t hg_glance_bytes = sizeof(struct hg_glanced);

/* ---- what is known of an instruction ---------------------------------------------------------- */

bool hg_glance_is_plain(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_NEXT && insn->n_mem <= 1 && !insn->is_string &&
	       !insn->is_rep && !insn->lane_bytes && dec_insn_cleared_from(insn) < 0 &&
	       (!insn->n_mem || !(insn->mem[0].is_gs || insn->mem[0].is_addr32));
}

struct hg_slots_at hg_glance_slots(const struct dec_glance *g, uint32_t i)
{
	const struct dec_slot *slot = &g->plan->slots[g->plan->insn[i].slots];
	struct hg_slots_at ret = { .def = DEC_REG_NONE };
	uint32_t at = g->block->slot_at[i];

	for (uint32_t s = 0; s < g->plan->insn[i].n; at += dec_slot_size(&slot[s++])) {
		if (slot[s].kind == DEC_SLOT_LOAD) {
			ret.load = at;
		} else if (slot[s].kind == DEC_SLOT_STORE) {
			ret.store = at;
		} else {
			ret.n_defs++;
			ret.define = at;
			ret.def = slot[s].kind == DEC_SLOT_GPR ? slot[s].which :
								 DEC_REG_NONE;
		}
	}
	if (ret.n_defs != 1 || g->plan->insn[i].rsp_step)
		ret.def = DEC_REG_NONE;
	return ret;
}

void hg_trail_begin(struct hg_trail *t)
{
	*t = (struct hg_trail){};
	for (int r = 0; r < DEC_GPRS; r++)
		t->gpr[r] = (struct hg_place){ 8 * r, PLACE_REGISTERS, r };
}

bool hg_trail_pass(struct hg_trail *t, const struct dec_glance *g, uint32_t i)
{
	const struct dec_slot *slot = &g->plan->slots[g->plan->insn[i].slots];
	uint32_t at = g->block->slot_at[i];
	bool has_others = false;

	for (uint32_t s = 0; s < g->plan->insn[i].n; at += dec_slot_size(&slot[s++])) {
		has_others |= slot[s].kind == DEC_SLOT_VEC || slot[s].kind == DEC_SLOT_K;
		if (slot[s].kind != DEC_SLOT_GPR)
			continue;
		t->gpr[slot[s].which].at = at;
		t->gpr[slot[s].which].from = PLACE_RECORD;
		if (slot[s].which == CAP_RSP)
			t->rsp_step = 0;
	}
	t->rsp_step += g->plan->insn[i].rsp_step;
	return has_others;
}

uint8_t hg_trail_finals(const struct hg_trail *t, struct hg_place *ret)
{
	uint8_t n = 0;

	for (int r = 0; r < DEC_GPRS; r++)
		if (t->gpr[r].from == PLACE_RECORD)
			ret[n++] = t->gpr[r];
	return n;
}

struct hg_glance_mem hg_glance_mem_of(const struct dec_insn *insn)
{
	const struct dec_mem *m = &insn->mem[0];

	return (struct hg_glance_mem){ .disp = m->disp,
				       .base = m->base,
				       .index = m->index,
				       .scale = m->scale,
				       .size = m->size,
				       .is_there = true,
				       .is_read = m->is_read,
				       .is_write = m->is_write,
				       .is_fs = m->is_fs };
}

static void find_slots(struct hg_glanced *q, const struct dec_glance *g, uint32_t i)
{
	const struct hg_slots_at at = hg_glance_slots(g, i);

	q->def = at.def;
	q->def_at = at.define;
	q->load_at = at.load;
	q->store_at = at.store;
}

static void learn_operand(struct hg_glanced *q, const struct dec_insn *insn)
{
	q->mem = hg_glance_mem_of(insn);
	if (q->mem.base < DEC_GPRS)
		q->address |= 1u << q->mem.base;
	if (q->mem.index < DEC_GPRS)
		q->address |= 1u << q->mem.index;
	q->only_address = q->address;
	if (insn->store_reg < DEC_GPRS)
		q->only_address &= ~(1u << insn->store_reg);
}

static void learn(struct hg_glanced *q, const struct dec_glance *g, uint32_t i,
		  enum dec_log_mode mode)
{
	const struct dec_insn *insn = &g->block->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	q->kind = g->plan->insn[i].is_inert ? GLANCE_INERT : GLANCE_STEP;
	if (q->kind == GLANCE_INERT || !hg_glance_is_plain(insn))
		return;
	find_slots(q, g, i);
	q->may_store = dec_heap_may_store(insn, mode);
	q->reads = insn->gpr_read;
	q->writes = insn->gpr_written;
	q->is_pop = q->writes >> CAP_RSP & 1;
	q->vec_reads = insn->other_read;
	q->vec_writes = insn->other_written;
	if (m)
		learn_operand(q, insn);
	if (m && m->is_read)
		q->loads = m->size & ~7u;
	// A value to be had from nowhere: as the steps' reader has it, or not at all.
	if ((m && m->is_write && !q->store_at) ||
	    (q->loads && !q->load_at && !insn->is_plain_load))
		return;
	q->kind = GLANCE_PLAIN;
}

/* How does the block end, whose last instruction is @p i? */
static enum hg_glance_end learn_end(struct hg_glanced *q, const struct dec_glance *g,
				    uint32_t i)
{
	const struct dec_insn *insn = &g->block->insn[i];
	bool is_direct = insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_RET;
	const struct dec_mem *m = insn->mem;

	if (!is_direct && insn->flow != DEC_FLOW_CALL_IND &&
	    insn->flow != DEC_FLOW_JMP_IND)
		return GLANCE_END_STEP;
	// That of a call through a register is what it pushes.
	if (!is_direct && insn->n_mem && m->is_read) {
		if (m->is_gs || m->is_addr32 || m->size != 8 || m->is_write)
			return GLANCE_END_STEP;
		learn_operand(q, insn);
	}
	find_slots(q, g, i);
	if (q->mem.is_there && !q->load_at)
		return GLANCE_END_STEP;
	return insn->flow == DEC_FLOW_RET     ? GLANCE_END_RETURN :
	       insn->flow == DEC_FLOW_JMP_IND ? GLANCE_END_JUMP :
						GLANCE_END_CALL;
}

/* ---- accesses ----------------------------------------------------------------------------------- */

/* Do only start and end matter of the node of @p d? */
static inline bool is_whole(struct hg_finder *f, struct hg_derivation *d)
{
	const struct dec_struct *t;

	if (d->is_whole || d->node.v > f->layouts.size)
		return d->is_whole;
	t = f->layouts.data[d->node.v - 1];
	return d->is_whole = t && t->size != d->size;
}

/* Is it by pointer @p number, as the last one that was right, and within what that was meant for? */
static inline bool is_meant(struct hg_finder *f, const struct hg_glanced *q,
			    uint32_t number, uint64_t addr, uint64_t base)
{
	const struct hg_meant *e = &q->meant;

	if (number != e->derivation || addr < e->start || addr + q->mem.size > e->end ||
	    !hg_graph_lives(f->graph, (struct hg_node_id){ e->node }))
		return false;
	if (e->base && base + q->mem.disp != e->base)
		return false;
	if (e->key)
		hg_astray_indexed(f, e->key, e->anchor);
	return true;
}

/* Is the access by the same pointer as the last one that was right, or by one like it? */
static inline bool is_known(struct hg_finder *f, const struct hg_glanced *q,
			    uint64_t addr, uint64_t base)
{
	const struct hg_derived_regs *regs = f->derive.regs;
	uint32_t number = regs->gpr[q->mem.base];
	struct hg_derivation *d;

	if (q->mem.index < DEC_GPRS && regs->gpr[q->mem.index])
		return false;
	if (number == q->derivation && addr >= q->start && addr + q->mem.size <= q->end)
		return hg_graph_lives(f->graph, (struct hg_node_id){ q->node });
	if (!number)
		return false;
	if (is_meant(f, q, number, addr, base))
		return true;
	d = &f->derive.steps.data[number - 1];
	if (!hg_graph_lives(f->graph, d->node))
		return false;
	if (d->shape == q->shape && addr - d->start == q->offset)
		return true;
	return addr - d->start < d->size && d->start + d->size - addr >= q->mem.size &&
	       is_whole(f, d);
}

/* An access by @p number, of @p q, to where it is meant for: so will be those like it. What is
 * known of indices, and of library functions' intents, changes. */
static void remember(struct hg_finder *f, struct hg_glanced *q,
		     const struct hg_operand *o)
{
	struct hg_derivation *d = &f->derive.steps.data[o->derivation - 1];
	uint32_t number = o->derivation;
	uint64_t addr = o->addr;
	struct hg_meant meant;

	if (is_whole(f, d)) {
		q->derivation = number;
		q->node = d->node.v;
		q->start = d->start;
		q->end = d->start + d->size;
	} else if (q->is_own && q->mem.index == DEC_REG_NONE &&
		   hg_graph_lives(f->graph, d->node) &&
		   hg_astray_is_inside(f, number, addr, q->mem.size)) {
		q->shape = d->shape;
		q->offset = addr - d->start;
	}
	if (!d->is_whole && !(q->mem.is_read && q->mem.is_write) &&
	    hg_astray_meant(f, o, &meant))
		q->meant = meant;
}

struct err *hg_glance_check(struct hg_finder *f, const struct dec_glance *g,
			    struct hg_glanced *q, uint32_t i, uint64_t addr,
			    uint64_t base)
{
	const struct dec_mem *m = g->block->insn[i].mem;
	uint64_t n_wrong = f->n_wrong;
	struct err *err = NULL;
	struct hg_operand o = { .insn = &g->block->insn[i],
				.m = m,
				.position = g->position + i,
				.addr = addr,
				.size = m->size };

	if (q->mem.base >= DEC_GPRS || is_known(f, q, addr, base))
		return NULL;
	o.derivation = hg_access_derivation(f, m, addr, m->size);
	if (!o.derivation)
		return NULL;
	f->derive.regs->value[m->base] = base;
	if (m->is_read)
		err = hg_access_check(f, &o);
	o.is_write = true;
	if (!err && m->is_write)
		err = hg_access_check(f, &o);
	o.is_write = m->is_write;
	if (!err && f->n_wrong == n_wrong)
		remember(f, q, &o);
	return err;
}

/* ---- derivations ------------------------------------------------------------------------------- */

static void add_registers(const struct hg_derived_regs *regs, const struct dec_glance *g,
			  const struct hg_glanced *q, uint32_t pointers,
			  struct hg_sources *so)
{
	for (; pointers; pointers &= pointers - 1) {
		int reg = __builtin_ctz(pointers);

		hg_source_add(so, g->gpr[reg], regs->gpr[reg],
			      q->only_address >> reg & 1);
	}
	for (uint32_t vec = q->vec_reads & regs->vec_live; vec; vec &= vec - 1) {
		int v = __builtin_ctz(vec);

		for (int k = 0; k < 8; k++)
			hg_source_add(so, hg_word_at(g->vec[v] + 8 * k), regs->vec[v][k],
				      false);
	}
}

/* What memory operand 0 held, behind the instruction. */
static const uint8_t *loaded(const struct dec_glance *g, const struct hg_glanced *q)
{
	uint32_t gpr = q->writes, rsp = 1u << CAP_RSP;

	if (q->load_at)
		return g->rec + q->load_at;
	gpr &= ~(gpr == rsp ? 0 : rsp);
	if (gpr)
		return (const uint8_t *)&g->gpr[__builtin_ctz(gpr)];
	return q->vec_writes ? g->vec[__builtin_ctz(q->vec_writes)] : NULL;
}

static void add_loaded(struct hg_derive *d, const struct dec_glance *g,
		       const struct hg_glanced *q, uint64_t addr, struct hg_sources *so)
{
	const uint8_t *value = loaded(g, q);

	for (uint32_t i = 0; value && i < q->loads; i += 8) {
		uint64_t word = hg_word_at(value + i);

		hg_source_add(so, word, hg_derive_recall(d, addr + i, word), false);
	}
}

/* ---- instructions ------------------------------------------------------------------------------- */

/* Behind instruction @p i: what are its definitions derived from? */
static void carry_on(struct hg_derive *d, const struct dec_glance *g,
		     const struct hg_glanced *q, uint32_t i, uint64_t addr,
		     const struct hg_sources *so)
{
	const struct dec_step s = { .position = g->position + i,
				    .insn = &g->block->insn[i] };

	for (uint32_t regs = q->writes; regs; regs &= regs - 1)
		hg_derive_define_gpr(d, &s, so, __builtin_ctz(regs),
				     g->gpr[__builtin_ctz(regs)]);
	for (uint32_t vec = q->vec_writes; vec; vec &= vec - 1)
		hg_derive_define_vec(d, &s, so, __builtin_ctz(vec),
				     g->vec[__builtin_ctz(vec)]);
	if (q->store_at)
		hg_derive_define_mem(d, &s, so, addr, s.insn->mem[0].size,
				     g->rec + q->store_at);
}

/* A string function, which is judged when it returns, loaded what it read. */
static struct err *load_string(struct hg_finder *f, const struct dec_glance *g,
			       const struct hg_glanced *q, uint64_t addr)
{
	const struct dec_ref r = { .is_mem = true,
				   .addr = addr,
				   .size = q->mem.size,
				   .value = loaded(g, q),
				   .has_value = loaded(g, q) != NULL };

	return hg_string_call_load(&f->thread->string, &r);
}

static inline struct err *look(struct hg_finder *f, struct dec_glance *g,
			       struct hg_glanced *q, uint32_t i, uint64_t addr)
{
	struct hg_derive *d = &f->derive;
	uint32_t pointers = q->reads & d->regs->live;
	bool is_string_load = f->thread->string.rsp && q->mem.is_read;
	struct err *err = NULL;
	struct hg_sources so;

	so.n = 0;
	if (pointers & q->address && !is_string_load)
		err = hg_glance_check(f, g, q, i, addr,
				      q->mem.base < DEC_GPRS ? g->gpr[q->mem.base] : 0);
	if (pointers | (q->vec_reads & d->regs->vec_live)) {
		add_registers(d->regs, g, q, pointers, &so);
		for (uint32_t regs = q->writes; regs; regs &= regs - 1)
			d->regs->value[__builtin_ctz(regs)] = g->gpr[__builtin_ctz(regs)];
	}
	hg_glance_define(g, q, i);
	if (q->loads)
		add_loaded(d, g, q, addr, &so);
	if (!so.n) {
		hg_glance_forget(d->regs, q->writes);
		d->regs->vec_live &= ~q->vec_writes;
	}
	if (so.n || (q->store_at && q->mem.size >= 8))
		carry_on(d, g, q, i, addr, &so);
	return err || !is_string_load ? err : load_string(f, g, q, addr);
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static void learn_block(const struct dec_glance *g, struct frames *frames,
			enum dec_log_mode mode)
{
	struct hg_glanced_block *b = hg_glanced_block(g);

	for (uint32_t i = 0; i < g->block->n_insns; i++)
		learn(&hg_glanced_insns(g)[i], g, i, mode);
	hg_course_plan(g, frames);
	b->is_known = true;
	if (b->n == g->block->n_insns)
		b->end = GLANCE_END_PLAIN;
	else if (b->n + 1u == g->block->n_insns)
		b->end = learn_end(&hg_glanced_insns(g)[b->n], g, b->n);
}

bool hg_glance_is_entry(const struct hg_finder *f, const struct dec_glance *g)
{
	struct hg_glanced_block *b = hg_glanced_block(g);
	size_t n = f->entries.size + f->strings.entries.size + f->points.size;

	if (b->n_entries != n) {
		b->is_entry = map_get(&f->entries, g->block->rip) ||
			      map_get(&f->points, g->block->rip) ||
			      map_get(&f->strings.entries, g->block->rip);
		b->n_entries = n;
	}
	return b->is_entry;
}

/* Is something to be done at the next instruction that is none of its own? */
static bool is_due(struct hg_finder *f, const struct frames *frames,
		   const struct dec_glance *g)
{
	const struct thread *t = f->thread;

	if (!t || f->derive.regs->tid != g->tid || t->is_back || t->stranger ||
	    f->n_mapped != frames->n_mapped ||
	    (t->string.rsp && g->gpr[CAP_RSP] > t->string.rsp) ||
	    hg_recorder_is_due(f->recorder, g->position + g->n_ran))
		return true;
	return t->has_jumped && !g->at && hg_glance_is_entry(f, g);
}

uint32_t hg_glance_go_on(struct hg_finder *f, struct dec_glance *g, uint32_t i,
			 const struct dec_heap_storer *storer, struct err **err)
{
	struct hg_derived_regs *regs = f->derive.regs;
	struct thread *t = f->thread;

	for (; i < g->n_ran && !*err; i++) {
		struct hg_glanced *q = &hg_glanced_insns(g)[i];
		uint64_t addr;

		if (q->kind == GLANCE_INERT)
			continue;
		if (q->kind == GLANCE_STEP ||
		    (t->string.rsp && !t->allocator_rsp && q->mem.is_read &&
		     (q->store_at || q->is_own)))
			break;
		addr = q->mem.is_there ? hg_glance_address(&q->mem, g) : 0;
		if (t->allocator_rsp) {
			hg_glance_define(g, q, i);
			hg_glance_forget(regs, q->writes);
		} else {
			*err = look(f, g, q, i, addr);
		}
		if (!*err && q->may_store && q->store_at && hg_glance_tells_store(f))
			*err = storer->store(storer->ctx, &g->block->insn[i],
					     g->position + i, addr, g->rec + q->store_at,
					     q->mem.size);
		// It was left: that is looked at in steps.
		if (q->is_pop && t->string.rsp && g->gpr[CAP_RSP] > t->string.rsp)
			return i + 1;
	}
	return i;
}

struct err *hg_access_glance(void *ctx, struct frames *frames, struct dec_glance *g,
			     const struct dec_heap_storer *storer)
{
	struct hg_finder *f = ctx;
	struct thread *t = f->thread;
	bool is_jumped = frames->jump_end != 0;
	struct err *err = NULL;
	uint32_t i = g->at;

	f->frames = frames;
	if (is_due(f, frames, g))
		return NULL;
	if (!hg_glanced_block(g)->is_known)
		learn_block(g, frames, storer->mode);
	if (!f->is_level || f->derive.regs->value[CAP_RSP] != g->gpr[CAP_RSP])
		hg_glance_level(f, g);
	if (!i && !t->string.rsp && !t->allocator_rsp)
		err = hg_course_run(f, g, storer, &i);
	if (!err && i < g->n_ran) {
		i = hg_glance_go_on(f, g, i, storer, &err);
		hg_glance_level(f, g);
	}
	if (i == g->at)
		return err;
	g->at = i;
	t->has_jumped = g->plan->insn[i - 1].flow != DEC_FLOW_NEXT;
	// Behind a jump of the user's it is what it was there, or is brought up to date.
	if (is_jumped || (t->has_jumped && dec_glance_jump_end(frames, g)))
		t->call_size = g->gpr[CAP_RDX];
	return err ? err : f->derive.is_out_of_memory ? &err_nomem : NULL;
}
