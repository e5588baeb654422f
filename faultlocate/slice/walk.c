// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Back over the log, record by record, each block from its last instruction (paper 001, Algorithms
 * 4 and 5). An instruction that defines something wanted is in the slice; what it used is wanted
 * from there on.
 */

#include "faultlocate/slice/walk.h"

#include <sys/syscall.h>

#define NODES (1u << 20)	     // unless options say otherwise
#define MEM_PAGES ((size_t)96 << 20) // bytes of pages of wanted memory

/* ---- wanting ------------------------------------------------------------------------------ */

static bool is_pruned(const struct fl_slice *s, enum fl_prune_kind kind, uint64_t at)
{
	for (size_t i = 0; i < s->options.n_prunes; i++) {
		const struct fl_prune *p = &s->options.prunes[i];

		if (p->kind == kind &&
		    (kind == FL_PRUNE_REG ? at == p->from :
					    at - p->from < p->to - p->from))
			return true;
	}
	return false;
}

/* Is what lies between a register's being kept and got back something else to somebody, too, or was
 * it changed there? Then getting it back is in the slice. */
static struct err *commit(struct fl_slice *s, uint32_t save)
{
	struct saved v = s->saves.data[save];
	struct fl_node node = { .position = v.position,
				.insn = v.insn,
				.tid = v.tid,
				.reg = v.reg,
				.size = 8 };
	uint32_t added;
	struct err *err;

	s->saved_hint[v.addr / 8 % WALK_HINTS]--;
	err = vec_add(&s->free_saves, save);
	if (!err)
		err = fl_walk_add(s, &node, v.who, v.link, &added);
	if (!err)
		err = fl_walk_pend(s, v.insn, v.who, added);
	return err   ?:
		       fl_live_mem_want(&s->mem, v.addr, 8, v.who,
					link_to(added, FL_EDGE_DATA));
}

/* @return whether the word at @p addr is where a register is kept; which, comes into @p save. */
static bool is_saved(const struct fl_slice *s, uint64_t addr, uint32_t *save)
{
	uint32_t link;

	if (!s->saved_hint[addr / 8 % WALK_HINTS])
		return false;
	link = fl_live_mem_node(&s->mem, addr);
	*save = link_node(link);
	return link != UINT32_MAX && link_edge(link) == LINK_SAVED;
}

bool fl_walk_meets_saved(const struct fl_slice *s, uint64_t addr, uint64_t size)
{
	uint32_t save;

	if (s->saves.size == s->free_saves.size)
		return false;
	for (uint64_t word = addr & ~UINT64_C(7); word < addr + size; word += 8)
		if (is_saved(s, word, &save))
			return true;
	return false;
}

static struct err *commit_all(struct fl_slice *s, uint64_t addr, uint64_t size)
{
	struct err *err = NULL;
	uint32_t save;

	if (s->saves.size == s->free_saves.size)
		return NULL;
	for (uint64_t word = addr & ~UINT64_C(7); word < addr + size && !err; word += 8)
		if (is_saved(s, word, &save))
			err = commit(s, save);
	return err;
}

struct err *fl_walk_want_reg(struct fl_slice *s, int reg, uint64_t bytes, live_who who,
			     uint32_t link)
{
	if ((reg == CAP_RSP && !s->options.follows_stack) ||
	    (s->options.n_prunes && is_pruned(s, FL_PRUNE_REG, reg)))
		return NULL;
	return fl_live_reg_want(&s->at->regs, s->has_several, reg, bytes, who, link);
}

struct err *fl_walk_want_mem(struct fl_slice *s, uint64_t addr, uint64_t size,
			     live_who who, uint32_t link)
{
	struct err *err;

	if (s->prunes_memory && is_pruned(s, FL_PRUNE_MEM, addr))
		return NULL;
	err = commit_all(s, addr, size);
	return err ?: fl_live_mem_want(&s->mem, addr, size, who, link);
}

struct err *fl_walk_take_mem(struct fl_slice *s, uint64_t addr, uint64_t size, bool stays,
			     struct live_want *ret)
{
	struct err *err = commit_all(s, addr, size);

	*ret = err ? (struct live_want){} : fl_live_mem_take(&s->mem, addr, size, stays);
	return err;
}

/* ---- uses ------------------------------------------------------------------------------------- */

static uint64_t operand_address(const struct fl_slice *s, const struct operands *o, int m)
{
	return trace_address(&o->mem[m], o->rec, s->fs_base);
}

struct err *fl_walk_want_some(struct fl_slice *s, uint64_t addr, uint32_t size,
			      uint64_t bytes, live_who who, uint32_t link)
{
	struct err *err = NULL;

	if (bytes == ~UINT64_C(0))
		return fl_walk_want_mem(s, addr, size, who, link);
	bytes &= size < 64 ? (UINT64_C(1) << size) - 1 : ~UINT64_C(0);
	while (bytes && !err) {
		int from = __builtin_ctzll(bytes);
		uint64_t rest = ~(bytes >> from);
		int n = rest ? __builtin_ctzll(rest) : 64;

		n = n < 64 - from ? n : 64 - from;
		err = fl_walk_want_mem(s, addr + from, n, who, link);
		bytes &= n + from < 64 ? ~UINT64_C(0) << (n + from) : 0;
	}
	return err;
}

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
		err = fl_walk_want_some(s, operand_address(s, o, m), o->mem[m].size,
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
	       (is_pruned(s, FL_PRUNE_AT, s->position) ||
		is_pruned(s, FL_PRUNE_CODE, s->trace->insns.data[insn].insn.rip));
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
static void widen(struct taken *t, const struct effect *e, uint64_t others)
{
	(void)e;
	if (t->uses.narrow_use >= 0 && (others >> t->uses.narrow_use & 1))
		t->uses.narrow_use = -1;
}

bool fl_walk_may_restore(const struct fl_slice *s, uint64_t addr)
{
	return !s->options.keeps_saves && !(addr & 7) &&
	       fl_live_mem_node(&s->mem, addr) == UINT32_MAX;
}

struct err *fl_walk_restore(struct fl_slice *s, uint32_t insn, uint64_t addr,
			    live_who who, uint32_t link)
{
	struct walk_thread *t = s->at;
	struct saved v = { .addr = addr,
			   .position = s->position,
			   .serial = t->frames.data[t->frames.size - 1].serial,
			   .link = link,
			   .insn = insn,
			   .tid = t->tid,
			   .who = who,
			   .reg = s->trace->insns.data[insn].effect->saved };
	uint32_t at;

	if (s->free_saves.size)
		at = s->free_saves.data[--s->free_saves.size];
	else if (vec_push(&s->saves))
		at = s->saves.size - 1;
	else
		return &err_nomem;
	s->saves.data[at] = v;
	s->saved_hint[addr / 8 % WALK_HINTS]++;
	// All of it: a part that is written is no restore of the whole.
	return fl_live_mem_want(&s->mem, addr, 8, who, link_to(at, LINK_SAVED));
}

/* The register @p e gets back from the stack is wanted: look there for whether it is the same. */
static struct err *restore(struct fl_slice *s, uint32_t insn, const struct effect *e,
			   uint64_t addr)
{
	struct live_want w;

	if (!(s->at->regs.any >> e->saved & 1) || !fl_walk_may_restore(s, addr))
		return NULL;
	w = fl_live_reg_take(&s->at->regs, s->has_several, e->saved, 0xff, false);
	return fl_walk_restore(s, insn, addr, w.who, w.node);
}

bool fl_walk_find_save(const struct fl_slice *s, const struct effect *e, uint64_t addr,
		       uint32_t *save)
{
	const struct walk_thread *t = s->at;
	const struct saved *v;

	if (!is_saved(s, addr, save))
		return false;
	v = &s->saves.data[*save];
	return v->reg == e->saved && v->addr == addr && v->tid == t->tid &&
	       v->serial == t->frames.data[t->frames.size - 1].serial;
}

struct err *fl_walk_save(struct fl_slice *s, uint32_t save, live_who *who, uint32_t *link)
{
	const struct saved *v = &s->saves.data[save];

	fl_live_mem_take(&s->mem, v->addr, 8, false);
	*link = v->link;
	*who = v->who;
	s->saved_hint[v->addr / 8 % WALK_HINTS]--;
	s->stats.n_pairs++;
	return vec_add(&s->free_saves, save);
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
	return err   ?:
		       fl_live_reg_want(&s->at->regs, s->has_several, e->saved, 0xff, who,
					link);
}

static struct err *take_def(struct fl_slice *s, const struct effect_def *d,
			    const struct operands *o, struct live_want *ret)
{
	uint64_t addr;

	*ret = (struct live_want){};
	if (!d->is_mem) {
		if (s->at->regs.any >> d->reg & 1)
			*ret = fl_live_reg_take(&s->at->regs, s->has_several, d->reg,
						d->bytes, d->is_maybe);
		return NULL;
	}
	if (o->slow)
		return NULL;
	if (s->memo.recording) {
		*ret = *s->memo.recording->taken;
		return NULL;
	}
	addr = operand_address(s, o, d->mem);
	if (!fl_live_mem_may(&s->mem, addr, o->mem[d->mem].size))
		return NULL;
	return fl_walk_take_mem(s, addr, o->mem[d->mem].size, d->is_maybe, ret);
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
		if (err || !w.who)
			continue;
		others |= d->copies >= 0 ? d->from & ~(UINT64_C(1) << d->copies) :
					   d->from;
		add_taken(t, d, &w);
	}
	widen(t, e, others);
	return err;
}

/* Is what @p insn stored at @p node an input, that nothing is asked of? The registers that it keeps
 * on the stack meanwhile are not. */
static bool is_filled_in(const struct fl_slice *s, uint32_t insn,
			 const struct fl_node *node)
{
	const struct dec_insn *i = &s->trace->insns.data[insn].insn;

	if (!s->options.n_prunes || !node->is_mem || !node->size ||
	    !is_pruned(s, FL_PRUNE_STORES, i->rip))
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
		err = restore(s, insn, e, operand_address(s, o, 0));
	else if (e->is_save)
		err = save(s, e, operand_address(s, o, 0));
	if (!err)
		err = take(s, e, o, &t);
	return err || !t.who ? err : enter(s, insn, &t, o, &node);
}

/* Instruction @p insn ran, which is of kind @p flow. @p n_mem: its operands in memory. */
static struct err *flow(struct fl_slice *s, uint32_t insn, enum dec_flow flow,
			const struct operands *o, uint32_t n_mem)
{
	struct err *err;

	switch (flow) {
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		// The return address is the last operand.
		return fl_walk_call(s, insn, operand_address(s, o, n_mem - 1), o);
	case DEC_FLOW_RET:
		return fl_walk_return(s, operand_address(s, o, 0));
	case DEC_FLOW_JMP:
		return fl_walk_jump(s, insn, o);
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
	case DEC_FLOW_JMP_IND:
		err = fl_walk_jump(s, insn, o);
		return err ?: fl_walk_branch(s, insn, o);
	default:
		return NULL;
	}
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
static struct err *touched(struct fl_slice *s, uint32_t at,
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
	if (err || !t.who)
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

/* ---- seeds ---------------------------------------------------------------------------------------- */

static struct err *seed(struct fl_slice *s, const struct fl_seed *seed, uint32_t insn,
			const struct operands *o)
{
	live_who who = UINT32_C(1) << seed->slice;
	struct taken t = { .who = who,
			   .link = link_to(FL_NONE, 0),
			   .uses.narrow_use = -1,
			   .node = { .position = s->position, .insn = insn } };
	const struct effect *e;
	uint32_t node;
	struct err *err;

	switch (seed->kind) {
	case FL_SEED_REG:
		return fl_live_reg_want(&s->at->regs, s->has_several, seed->reg,
					seed->bytes, who, t.link);
	case FL_SEED_MEM:
		return fl_walk_want_mem(s, seed->addr, seed->size, who, t.link);
	default:
		break;
	}
	if (insn == UINT32_MAX)
		return NULL;
	e = fl_trace_effect(s->trace, insn);
	if (!e)
		return &err_nomem;
	t.uses.from = seed->kind == FL_SEED_FLOW ? 0 :
		      e->n_uses			 ? ~UINT64_C(0) >> (64 - e->n_uses) :
						   0;
	err = enter(s, insn, &t, o, &node);
	if (!err && o->slow && seed->kind == FL_SEED_INSN)
		err = use_record(s, &s->trace->insns.data[insn].insn, o, NULL, NULL, who,
				 node);
	return err;
}

/* Those at the position at hand, which instruction @p insn is at (UINT32_MAX: none). */
static struct err *seeds(struct fl_slice *s, uint32_t insn, const struct operands *o)
{
	struct err *err = NULL;

	while (!err && s->next_seed < s->seeds.size &&
	       s->seeds.data[s->next_seed].position >= s->position)
		err = seed(s, &s->seeds.data[s->next_seed++], insn, o);
	return err;
}

static bool is_seeded(const struct fl_slice *s, uint64_t position)
{
	return s->next_seed < s->seeds.size &&
	       s->seeds.data[s->next_seed].position >= position;
}

/* An instruction that was stepped: one of those of which only C knows what they touch, or any,
 * where the machine came close to a signal. */
static struct err *slow(struct fl_slice *s, const struct dec_rec_slow *rec)
{
	const uint64_t *at = map_get(&s->trace->insn_of, rec->rip);
	struct trace_mem mem[DEC_MEMS] = {};
	struct operands o = { .mem = mem };
	const struct dec_insn *insn;
	struct err *err;

	if (!at)
		return NULL;
	insn = &s->trace->insns.data[*at].insn;
	if (!fl_trace_effect(s->trace, *at))
		return &err_nomem;
	for (int m = 0; m < insn->n_mem; m++)
		mem[m] = (struct trace_mem){
			.disp = dec_insn_address(&insn->mem[m], rec->gpr, s->fs_base, 0),
			.scale = 1,
			.size = insn->mem[m].size
		};
	if (insn->is_slow_addr)
		o = (struct operands){ .slow = rec };
	err = fl_walk_meet(s, *at);
	if (!err && !insn->is_slow_addr)
		err = flow(s, *at, insn->flow, &o, insn->n_mem);
	s->at->next = *at;
	if (!err)
		err = insn->is_slow_addr ? touched(s, *at, rec) :
					   fl_walk_insn(s, *at, &o);
	if (!err && is_seeded(s, s->position))
		err = seeds(s, *at, &o);
	return err;
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static bool meets_store(const struct fl_slice *s, const struct trace_block *b,
			const uint8_t *rec)
{
	for (uint32_t i = 0; i < b->n_stores; i++) {
		const struct trace_mem *m = &b->mem[b->store[i]];

		if (fl_live_mem_may(&s->mem, trace_address(m, rec, s->fs_base), m->size))
			return true;
	}
	return false;
}

/* Does instruction @p i define something that is wanted? */
static bool is_met(const struct fl_slice *s, const struct trace_block *b, uint32_t i,
		   const uint8_t *rec)
{
	if (b->defs[i] & s->at->regs.any)
		return true;
	for (uint32_t m = b->first_mem[i]; m < b->first_mem[i + 1]; m++)
		if (b->mem[m].is_write &&
		    fl_live_mem_may(&s->mem, trace_address(&b->mem[m], rec, s->fs_base),
				    b->mem[m].size))
			return true;
	return false;
}

static struct err *block(struct fl_slice *s, const struct trace_block *b,
			 const uint8_t *rec, uint32_t n_ran)
{
	uint64_t first = s->position - n_ran;
	struct err *err = NULL;

	s->stats.n_blocks++;
	if (n_ran == b->n && b->flow != DEC_FLOW_NEXT) {
		const struct operands o = { .mem = b->mem + b->first_mem[b->n - 1],
					    .rec = rec };

		s->position--;
		err = flow(s, b->insn[b->n - 1], b->flow, &o,
			   b->first_mem[b->n] - b->first_mem[b->n - 1]);
	}
	s->at->next = b->insn[0];
	s->position = first;
	if (err)
		return err;
	if (!(b->regs & fl_memo_any(s, s->at)) && !is_seeded(s, first) &&
	    !meets_store(s, b, rec)) {
		s->stats.n_skipped++;
		return NULL;
	}
	if (fl_memo_is_on(s) && !is_seeded(s, first))
		return fl_memo_block(s, b, rec, n_ran, first);
	err = fl_memo_leave(s, s->at);
	for (uint32_t i = n_ran; i-- && !err;) {
		const struct operands o = { .mem = b->mem + b->first_mem[i], .rec = rec };

		s->position = first + i;
		if (is_met(s, b, i, rec))
			err = fl_walk_insn(s, b->insn[i], &o);
		if (!err && is_seeded(s, s->position))
			err = seeds(s, b->insn[i], &o);
	}
	return err;
}

/* ---- windows ----------------------------------------------------------------------------------------- */

struct err *fl_walk_thread(struct fl_slice *s, uint32_t tid)
{
	struct walk_thread *t, **slot;

	if (s->at && s->at->tid == tid)
		return NULL;
	for (size_t i = 0; i < s->threads.size; i++) {
		if (s->threads.data[i]->tid == tid) {
			s->at = s->threads.data[i];
			return NULL;
		}
	}
	t = calloc(1, sizeof(*t));
	slot = t ? vec_push(&s->threads) : NULL;
	if (!slot) {
		free(t);
		return &err_nomem;
	}
	*slot = s->at = t;
	t->tid = tid;
	t->next = UINT32_MAX;
	return vec_add(&t->frames, (struct frame){ .function = FLOW_NONE });
}

static struct err *entry(struct fl_slice *s, const struct trace_entry *e)
{
	const uint8_t *rec = s->trace->window.log.data + 8 * (size_t)e->at;
	const struct operands none = {};
	const struct trace_block *b;
	struct err *err = NULL;

	// Threads inherit registers: all of them.
	for (size_t i = 0; i < s->threads.size && e->what >= ENTRY_OTHER && !err; i++)
		err = fl_memo_leave(s, s->threads.data[i]);
	if (err)
		return err;
	if (e->what == ENTRY_OTHER) {
		err = fl_walk_other(s, (const struct dec_rec *)rec);
		if (!err && is_seeded(s, s->position))
			err = seeds(s, s->at->next, &none);
		return err;
	}
	s->of_call.size = 0;
	s->is_signal = false;
	if (e->what == ENTRY_SLOW) {
		s->position--;
		return slow(s, (const struct dec_rec_slow *)rec);
	}
	b = &s->trace->blocks.data[e->what >> 6];
	err = fl_walk_meet(s, b->insn[(e->what & 63) - 1]);
	return err ?: block(s, b, rec, e->what & 63);
}

static struct err *window(struct fl_slice *s)
{
	struct trace_window *w = &s->trace->window;
	size_t stretch = w->stretches.size;
	struct err *err = fl_walk_window(s, w->begin, w->end);

	s->position = w->end;
	s->stats.log_bytes = s->stats.log_bytes > w->log.size ? s->stats.log_bytes :
								w->log.size;
	for (size_t i = w->entries.size; i-- && !err;) {
		while (stretch == w->stretches.size ||
		       w->stretches.data[stretch].from > i) {
			const struct trace_stretch *now = &w->stretches.data[--stretch];

			err = fl_walk_thread(s, now->tid);
			s->fs_base = now->fs_base;
			if (err)
				return err;
		}
		// What is wanted behind the last instruction.
		if (i + 1 == w->entries.size && is_seeded(s, s->position))
			err = seeds(s, UINT32_MAX, &(const struct operands){});
		if (!err)
			err = entry(s, &w->entries.data[i]);
	}
	fl_memo_count(s);
	s->stats.n_walked += w->end - w->begin;
	return err;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* @return whether nothing further back can matter. */
static bool is_done(const struct fl_slice *s)
{
	bool is_wanted = s->mem.n_bytes || s->next_seed < s->seeds.size;

	for (size_t i = 0; i < s->threads.size; i++)
		is_wanted |= fl_memo_any(s, s->threads.data[i]) ||
			     s->threads.data[i]->pending.size;
	return !is_wanted;
}

static struct err *walk(struct fl_slice *s)
{
	uint64_t end = s->seeds.data[0].position + 1;
	struct err *err = NULL;

	end = end < s->trace->end.position ? end : s->trace->end.position;
	while (!err && end > s->options.begin && !is_done(s)) {
		err = fl_trace_load(s->trace, s->options.begin, end);
		if (!err)
			err = window(s);
		end = s->trace->window.begin;
		if (!err && s->options.progress)
			s->options.progress(s->options.ctx, end);
	}
	s->stats.begin = end;
	return err ?: fl_walk_start(s);
}

static int latest_first(const void *a, const void *b)
{
	const struct fl_seed *x = a, *y = b;

	return x->position > y->position ? -1 : x->position < y->position;
}

/* Take over the question. */
static struct err *ask(struct fl_slice *s, const struct fl_seed *seeds, size_t n)
{
	if (!n)
		return err_new(ERR_USAGE, "a slice of nothing");
	for (size_t i = 0; i < n; i++) {
		struct err *err = vec_add(&s->seeds, seeds[i]);

		if (err)
			return err;
		if (seeds[i].slice >= FL_SLICES)
			return err_new(ERR_USAGE, "more than %d slices at once",
				       FL_SLICES);
		if (seeds[i].position > s->trace->end.position)
			return err_new(ERR_USAGE,
				       "position %lu is behind the trace, which ends at "
				       "%lu",
				       seeds[i].position, s->trace->end.position);
		if (seeds[i].slice >= s->n)
			s->n = seeds[i].slice + 1;
	}
	s->has_several = s->n > 1;
	qsort(s->seeds.data, n, sizeof(*s->seeds.data), latest_first);
	s->mem.has_several = s->has_several;
	s->mem.max_pages =
		MEM_PAGES / (sizeof(struct live_page) +
			     (s->has_several ? LIVE_PAGE * sizeof(live_who) : 0));
	return NULL;
}

struct err *fl_slice_walk(struct fl_trace *t, const struct fl_seed *seeds, size_t n_seeds,
			  const struct fl_slice_options *o, struct fl_slice **ret)
{
	_cleanup_(fl_slice_destroyp) struct fl_slice *s = calloc(1, sizeof(*s));
	struct err *err;

	if (!s)
		return &err_nomem;
	s->trace = t;
	s->options = o ? *o : (struct fl_slice_options){};
	s->max_nodes = s->options.max_nodes ?: NODES;
	s->remembers = true;
	for (size_t i = 0; i < s->options.n_prunes; i++) {
		s->remembers &= s->options.prunes[i].kind != FL_PRUNE_AT;
		s->prunes_memory |= s->options.prunes[i].kind == FL_PRUNE_MEM;
	}
	err = ask(s, seeds, n_seeds);
	if (!err)
		err = walk(s);
	if (err)
		return err;
	*ret = take_ptr(&s);
	return NULL;
}

void fl_slice_destroy(struct fl_slice *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->threads.size; i++) {
		struct walk_thread *t = s->threads.data[i];

		for (size_t k = 0; k < t->frames.size; k++) {
			if (t->frames.data[k].interrupted)
				fl_live_regs_deinit(t->frames.data[k].interrupted);
			free(t->frames.data[k].interrupted);
		}
		fl_live_regs_deinit(&t->regs);
		vec_deinit(&t->frames);
		vec_deinit(&t->pending);
		free(t);
	}
	for (size_t i = 0; i < s->n_kept; i++)
		free(s->kept[i].bits);
	free(s->kept);
	fl_memo_deinit(&s->memo);
	fl_live_mem_deinit(&s->mem);
	vec_deinit(&s->seeds);
	vec_deinit(&s->threads);
	vec_deinit(&s->saves);
	vec_deinit(&s->free_saves);
	vec_deinit(&s->of_call);
	vec_deinit(&s->nodes);
	vec_deinit(&s->insns);
	vec_deinit(&s->folded);
	vec_deinit(&s->recent);
	vec_deinit(&s->counts);
	vec_deinit(&s->edges);
	map_deinit(&s->edge_of);
	free(s);
}

void fl_slice_destroyp(struct fl_slice **s)
{
	fl_slice_destroy(*s);
}
