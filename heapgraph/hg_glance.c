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
#include "heapgraph/hg_access_int.h"
#include "heapgraph/hg_derive_int.h"

enum glance_kind {
	GLANCE_NEW,   ///< not looked at yet
	GLANCE_STEP,  ///< calls, returns, several operands, what is rare
	GLANCE_INERT, ///< compares, branches
	GLANCE_PLAIN,
};

/* One instruction, as far as it does not depend on the run. What each time is read is in front:
 * a cache line. */
struct hg_glanced {
	uint8_t kind;
	bool has_mem, is_read, may_store; ///< dec_heap_may_store()
	bool is_fs, is_pop;		  ///< writes rsp
	uint8_t def; ///< general register that alone it defines; DEC_REG_NONE: look at all
	uint8_t loads;			  ///< bytes that are read, in whole words
	uint8_t base, index, scale, size; ///< registers: DEC_REG_NONE: none
	uint16_t reads, writes, address;  ///< general registers
	uint32_t vec_reads, vec_writes;
	int64_t disp;
	uint32_t def_at, load_at, store_at; ///< in the block's record; 0: not there
	/** The last access by a pointer that was right, to a node whose parts do not matter:
	 * all of it is right as long as that lives. */
	uint32_t derivation;
	uint64_t start, end;
	uint32_t node;
	bool is_entry;	  ///< of a block's first: whether a function begins that is known
	size_t n_entries; ///< .. of so many
};

const size_t hg_glance_bytes = sizeof(struct hg_glanced);

/* ---- what is known of an instruction ---------------------------------------------------------- */

static bool is_plain(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_NEXT && insn->n_mem <= 1 && !insn->is_string &&
	       !insn->is_rep && !insn->lane_bytes && dec_insn_cleared_from(insn) < 0 &&
	       (!insn->n_mem || !(insn->mem[0].is_gs || insn->mem[0].is_addr32));
}

/* Where are the values of instruction @p i? */
static void find_slots(struct hg_glanced *q, const struct dec_glance *g, uint32_t i)
{
	const struct dec_slot *slot = &g->plan->slots[g->plan->insn[i].slots];
	uint32_t at = g->block->slot_at[i], n_defs = 0;

	q->def = DEC_REG_NONE;
	for (uint32_t s = 0; s < g->plan->insn[i].n; at += dec_slot_size(&slot[s++])) {
		if (slot[s].kind == DEC_SLOT_LOAD) {
			q->load_at = at;
		} else if (slot[s].kind == DEC_SLOT_STORE) {
			q->store_at = at;
		} else {
			n_defs++;
			q->def_at = at;
			q->def = slot[s].kind == DEC_SLOT_GPR ? slot[s].which :
								DEC_REG_NONE;
		}
	}
	if (n_defs != 1 || g->plan->insn[i].rsp_step)
		q->def = DEC_REG_NONE;
}

static void learn(struct hg_glanced *q, const struct dec_glance *g, uint32_t i,
		  enum dec_log_mode mode)
{
	const struct dec_insn *insn = &g->block->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	q->kind = g->plan->insn[i].is_inert ? GLANCE_INERT : GLANCE_STEP;
	if (q->kind == GLANCE_INERT || !is_plain(insn))
		return;
	find_slots(q, g, i);
	q->may_store = dec_heap_may_store(insn, mode);
	q->reads = insn->gpr_read;
	q->writes = insn->gpr_written;
	q->is_pop = q->writes >> CAP_RSP & 1;
	q->vec_reads = insn->other_read;
	q->vec_writes = insn->other_written;
	if (m) {
		q->has_mem = true;
		q->is_read = m->is_read;
		q->is_fs = m->is_fs;
		q->base = m->base;
		q->index = m->index;
		q->scale = m->scale;
		q->size = m->size;
		q->disp = m->disp;
	}
	if (m && m->base < DEC_GPRS)
		q->address |= 1u << m->base;
	if (m && m->index < DEC_GPRS)
		q->address |= 1u << m->index;
	if (m && m->is_read)
		q->loads = m->size & ~7u;
	// A value to be had from nowhere: as the steps' reader has it, or not at all.
	if ((m && m->is_write && !q->store_at) ||
	    (q->loads && !q->load_at && !insn->is_plain_load))
		return;
	q->kind = GLANCE_PLAIN;
}

/* ---- accesses ----------------------------------------------------------------------------------- */

/* A node of which only start and end matter. */
static bool is_whole(struct hg_finder *f, struct hg_node_id id)
{
	const struct dec_struct *t;

	if (id.v > f->layouts.size)
		return false;
	t = f->layouts.data[id.v - 1];
	return t && t->size != hg_graph_node(f->graph, id)->size;
}

/* The access of instruction @p i, of which registers of the address are pointers. */
static struct err *check_access(struct hg_finder *f, const struct dec_glance *g,
				struct hg_glanced *q, uint32_t i, uint64_t addr)
{
	const struct dec_mem *m = g->block->insn[i].mem;
	struct hg_derived_regs *regs = f->derive.regs;
	struct err *err = NULL;
	struct hg_node_id id;
	struct hg_operand o = { .insn = &g->block->insn[i],
				.m = m,
				.position = g->position + i,
				.addr = addr,
				.size = m->size };

	if (q->base >= DEC_GPRS)
		return NULL;
	if (regs->gpr[q->base] == q->derivation && addr >= q->start &&
	    addr + q->size <= q->end && !(q->index < DEC_GPRS && regs->gpr[q->index]) &&
	    hg_graph_lives(f->graph, (struct hg_node_id){ q->node }))
		return NULL;
	o.derivation = hg_access_derivation(f, m, addr, m->size);
	if (!o.derivation)
		return NULL;
	regs->value[m->base] = g->gpr[m->base];
	if (m->is_read)
		err = hg_access_check(f, &o);
	o.is_write = true;
	if (!err && m->is_write)
		err = hg_access_check(f, &o);
	id = hg_derive_get(&f->derive, o.derivation)->node;
	if (!err && is_whole(f, id)) {
		const struct hg_node *n = hg_graph_node(f->graph, id);

		q->derivation = o.derivation;
		q->node = id.v;
		q->start = n->start;
		q->end = n->start + n->size;
	}
	return err;
}

/* ---- derivations ------------------------------------------------------------------------------- */

static void add_registers(const struct hg_derived_regs *regs, const struct dec_glance *g,
			  const struct hg_glanced *q, uint32_t pointers,
			  struct hg_sources *so)
{
	for (; pointers; pointers &= pointers - 1) {
		int reg = __builtin_ctz(pointers);

		hg_source_add(so, g->gpr[reg], regs->gpr[reg], q->address >> reg & 1);
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

/* What the instruction defined in general registers is no pointer. */
static void forget(struct hg_derived_regs *regs, const struct hg_glanced *q)
{
	for (uint32_t r = q->writes & regs->live; r; r &= r - 1)
		regs->gpr[__builtin_ctz(r)] = 0;
	regs->live &= ~(uint32_t)q->writes;
}

/* ---- instructions ------------------------------------------------------------------------------- */

static inline void define(const struct dec_glance *g, const struct hg_glanced *q,
			  uint32_t i)
{
	if (q->def != DEC_REG_NONE)
		memcpy(&g->gpr[q->def], g->rec + q->def_at, 8);
	else
		dec_glance_define(g, i);
}

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
		hg_derive_define_vec(d, so, __builtin_ctz(vec),
				     g->vec[__builtin_ctz(vec)]);
	if (q->store_at)
		hg_derive_define_mem(d, &s, so, addr, s.insn->mem[0].size,
				     g->rec + q->store_at);
}

static inline struct err *look(struct hg_finder *f, struct dec_glance *g,
			       struct hg_glanced *q, uint32_t i, uint64_t addr)
{
	struct hg_derive *d = &f->derive;
	uint32_t pointers = q->reads & d->regs->live;
	struct err *err = NULL;
	struct hg_sources so;

	so.n = 0;
	if (pointers & q->address)
		err = check_access(f, g, q, i, addr);
	if (pointers | (q->vec_reads & d->regs->vec_live)) {
		add_registers(d->regs, g, q, pointers, &so);
		for (uint32_t regs = q->writes; regs; regs &= regs - 1)
			d->regs->value[__builtin_ctz(regs)] = g->gpr[__builtin_ctz(regs)];
	}
	define(g, q, i);
	if (q->loads)
		add_loaded(d, g, q, addr, &so);
	if (!so.n) {
		forget(d->regs, q);
		d->regs->vec_live &= ~q->vec_writes;
	}
	if (so.n || (q->store_at && q->size >= 8))
		carry_on(d, g, q, i, addr, &so);
	return err;
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

/* Does a function that is known to be special begin with @p q, the next instruction? */
static bool is_entry(const struct hg_finder *f, const struct dec_glance *g,
		     struct hg_glanced *q)
{
	size_t n = f->entries.size + f->strings.entries.size;

	if (q->n_entries != n) {
		uint64_t rip = g->block->insn[g->at].rip;

		q->is_entry = map_get(&f->entries, rip) ||
			      map_get(&f->strings.entries, rip);
		q->n_entries = n;
	}
	return q->is_entry;
}

/* Is something to be done at the next instruction that is none of its own? */
static bool is_due(struct hg_finder *f, const struct frames *frames,
		   const struct dec_glance *g)
{
	struct hg_glanced *known = g->plan->user;
	const struct thread *t = f->thread;

	if (!t || f->derive.regs->tid != g->tid || t->is_back ||
	    f->n_mapped != frames->n_mapped ||
	    (t->string.rsp && g->gpr[CAP_RSP] > t->string.rsp) ||
	    hg_recorder_is_due(f->recorder, g->position + g->n_ran))
		return true;
	return t->has_jumped && is_entry(f, g, &known[g->at]);
}

static inline uint64_t address(const struct hg_glanced *q, const struct dec_glance *g)
{
	uint64_t addr = q->disp;

	if (q->base != DEC_REG_NONE)
		addr += g->gpr[q->base];
	if (q->index != DEC_REG_NONE)
		addr += g->gpr[q->index] * q->scale;
	return q->is_fs ? addr + g->fs_base : addr;
}

struct err *hg_access_glance(void *ctx, struct frames *frames, struct dec_glance *g,
			     const struct dec_heap_storer *storer)
{
	struct hg_finder *f = ctx;
	struct hg_derived_regs *regs = f->derive.regs;
	struct hg_glanced *known = g->plan->user;
	const struct dec_insn *last;
	struct thread *t = f->thread;
	bool is_jumped = frames->jump_end != 0;
	struct err *err = NULL;
	uint32_t i;

	f->frames = frames;
	if (is_due(f, frames, g))
		return NULL;
	for (i = g->at; i < g->n_ran && !err; i++) {
		struct hg_glanced *q = &known[i];
		uint64_t addr;

		if (is_jumped && i > g->at)
			t->call_size = g->gpr[CAP_RDX];
		if (q->kind == GLANCE_NEW)
			learn(q, g, i, storer->mode);
		if (q->kind == GLANCE_INERT)
			continue;
		// What a string function reads, and whether it was left, is looked at in steps.
		if (q->kind == GLANCE_STEP ||
		    (t->string.rsp && (q->is_pop || q->is_read)))
			break;
		addr = q->has_mem ? address(q, g) : 0;
		if (t->allocator_rsp) {
			define(g, q, i);
			forget(regs, q);
		} else {
			err = look(f, g, q, i, addr);
		}
		if (!err && q->may_store && q->store_at)
			err = storer->store(storer->ctx, &g->block->insn[i],
					    g->position + i, addr, g->rec + q->store_at,
					    q->size);
	}
	if (i == g->at)
		return NULL;
	last = &g->block->insn[i - 1];
	t->has_jumped = last->flow != DEC_FLOW_NEXT;
	if (t->has_jumped ? dec_frames_jump_end(frames, last) != 0 : is_jumped)
		t->call_size = g->gpr[CAP_RDX];
	memcpy(regs->value, g->gpr, sizeof(regs->value));
	g->at = i;
	return err ? err : f->derive.is_out_of_memory ? &err_nomem : NULL;
}
