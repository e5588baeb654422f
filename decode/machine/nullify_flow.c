// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where a nullifying run goes on: branches to their joins, calls and returns, with the calls
 * under way kept beside, as a function whose ways join nowhere else is returned from.
 */
#include <string.h>
#include <sys/mman.h>

#include "decode/machine/nullify_int.h"

#define SCAN_WORDS 4096 ///< of the stack, for a return address
#define STUB_STEPS 3	///< instructions of a stub

const uint8_t dec_nullify_kept[DEC_SAVED_REGS] = { CAP_RBX, CAP_RBP, CAP_R12,
						   CAP_R13, CAP_R14, CAP_R15 };

/* @return the number of @p rip among @p entries; -1: it is none of them. */
static int number_of(const uint64_t *entries, uint64_t rip)
{
	for (int i = 0; i < DEC_KNOWN_ENTRIES && entries[i]; i++)
		if (entries[i] == rip)
			return i;
	return -1;
}

static bool has(const uint64_t *entries, uint64_t rip)
{
	return number_of(entries, rip) >= 0;
}

static void mark_regs(struct nul_run *n, uint64_t regs)
{
	regs &= ~(BIT(CAP_RSP) | BIT(DEC_REG_RIP) | BIT(DEC_REG_MXCSR));
	n->t->corrupt |= regs;
	n->t->params &= ~regs;
}

/* ---- code, for joins ------------------------------------------------------------------------ */

static bool code_insn(void *ctx, uint64_t rip, struct dec_insn *ret)
{
	struct nul_run *n = ctx;

	return dec_guest_insn(&n->r->guest, rip, ret);
}

static bool code_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct nul_run *n = ctx;

	if (dec_guest_avail(&n->r->guest, addr, PROT_READ) < size)
		return false;
	memcpy(buf, (const void *)addr, size);
	return true;
}

/* Through a stub of the procedure linkage table, too. */
static bool code_never_returns(void *ctx, uint64_t entry)
{
	struct nul_run *n = ctx;
	struct dec_insn insn;

	for (int i = 0; i < STUB_STEPS; i++) {
		uint64_t to;

		if (has(n->ask->no_return, entry))
			return true;
		if (!code_insn(n, entry, &insn) || insn.flow == DEC_FLOW_CALL)
			return false;
		if (insn.flow == DEC_FLOW_JMP_IND)
			return insn.n_mem && insn.mem[0].is_absolute &&
			       code_read(n, insn.mem[0].disp, &to, 8) &&
			       has(n->ask->no_return, to);
		entry += insn.len;
	}
	return false;
}

static const struct dec_join *join_of(struct nul_run *n, struct nul_insn *i)
{
	const struct dec_join_code code = { .insn = code_insn,
					    .read = code_read,
					    .never_returns = code_never_returns,
					    .ctx = n };
	struct dec_join *j;

	if (!i->has_join) {
		j = vec_push(&n->joins);
		if (!j || !dec_join_find(&code, i->insn.rip, j)) {
			n->has_no_memory = true;
			return NULL;
		}
		i->has_join = true;
		i->join = n->joins.size - 1;
	}
	return &n->joins.data[i->join];
}

uint64_t dec_nullify_entry(struct nul_run *n, uint64_t ret)
{
	struct dec_insn insn;
	uint64_t entry, to;

	if (!code_insn(n, ret - 5, &insn) || insn.len != 5 || insn.flow != DEC_FLOW_CALL)
		return 0;
	entry = insn.target;
	for (int i = 0; i < STUB_STEPS; i++, to += insn.len) {
		to = i ? to : entry;
		if (!code_insn(n, to, &insn) || insn.flow != DEC_FLOW_NEXT)
			break;
	}
	if (insn.flow != DEC_FLOW_JMP_IND || !insn.n_mem || !insn.mem[0].is_absolute ||
	    !code_read(n, insn.mem[0].disp, &to, 8))
		return entry;
	return to;
}

/* ---- returning before the end ------------------------------------------------------------------ */

static bool is_return_address(struct nul_run *n, uint64_t rip)
{
	static const uint8_t lengths[] = { 5, 2, 3, 6, 7, 4 };
	struct dec_insn insn;

	for (size_t i = 0; i < sizeof(lengths); i++)
		if (dec_guest_insn(&n->r->guest, rip - lengths[i], &insn) &&
		    insn.len == lengths[i] &&
		    (insn.flow == DEC_FLOW_CALL || insn.flow == DEC_FLOW_CALL_IND))
			return true;
	return false;
}

/* Of a call that was under way when this began: by the frame pointer, or by what is on the
 * stack. @return its slot; 0: not found. */
static uint64_t find_slot(struct nul_run *n)
{
	const struct dec_ctx *c = n->r->engine.ctx;
	uint64_t rsp = c->gpr[CAP_RSP], rbp = c->gpr[CAP_RBP], to;

	if (rbp >= rsp && rbp % 8 == 0 && code_read(n, rbp + 8, &to, 8) &&
	    is_return_address(n, to))
		return rbp + 8;
	for (int i = 0; i < SCAN_WORDS && code_read(n, rsp + 8 * i, &to, 8); i++)
		if (is_return_address(n, to))
			return rsp + 8 * i;
	return 0;
}

static void restore(struct nul_run *n, const struct nul_frame *f)
{
	for (size_t i = 0; i < sizeof(dec_nullify_kept); i++) {
		uint8_t r = dec_nullify_kept[i];

		n->r->engine.ctx->gpr[r] = f->saved[r];
		n->t->corrupt = (n->t->corrupt & ~BIT(r)) | (f->saved_corrupt & BIT(r));
		n->t->reg[r] = (struct nul_value){ .n = f->saved_leaf[r].made != 0,
						   .leaf = { f->saved_leaf[r] } };
	}
}

static void pop_frames(struct nul_thread *t, uint64_t slot)
{
	while (t->frames.size && t->frames.data[t->frames.size - 1].slot <= slot)
		t->n_allocators -= t->frames.data[--t->frames.size].is_allocators;
}

static enum dec_verdict return_early(struct nul_run *n)
{
	struct dec_ctx *c = n->r->engine.ctx;
	struct nul_thread *t = n->t;
	uint64_t slot;

	if (n->quick)
		dec_nullify_find_calls(n, 1);
	if (t->frames.size) {
		const struct nul_frame *f = &t->frames.data[t->frames.size - 1];

		restore(n, f);
		slot = f->slot;
		c->rip = f->ret;
	} else {
		slot = find_slot(n);
		if (!slot)
			return dec_loose_end(n->r->loose, DEC_FATE_MACHINE, 0,
					     "what the suppressed branch at %#lx decides "
					     "has no end that can be seen",
					     c->rip);
		c->rip = *(const uint64_t *)slot;
		if (slot == c->gpr[CAP_RBP] + 8)
			c->gpr[CAP_RBP] = *(const uint64_t *)(slot - 8);
	}
	c->gpr[CAP_RSP] = slot + 8;
	pop_frames(t, slot);
	if (n->quick) {
		t->frames.size = 0;
		dec_nullify_note_return(n, slot);
	}
	mark_regs(n, NUL_RESULTS);
	n->r->engine.now++;
	return DEC_GO;
}

/* Both ways behind the branch are left out. */
static enum dec_verdict skip_ways(struct nul_run *n, struct nul_insn *i)
{
	struct dec_ctx *c = n->r->engine.ctx;
	const struct dec_join *j = join_of(n, i);

	if (!j)
		return dec_loose_end(n->r->loose, DEC_FATE_MACHINE, 0,
				     "out of memory, or too much code behind %#lx",
				     i->insn.rip);
	i->n_omitted++;
	n->ret->n_omitted++;
	n->ret->n_joined++;
	for (uint32_t k = 0; k < j->n_stores; k++) {
		const struct dec_mem *m = &j->store[k];
		bool is_known = m->base >= 64 || !(n->t->corrupt & BIT(m->base));

		if (is_known && (j->rip || m->is_absolute))
			dec_nullify_mark(n, dec_insn_address(m, c->gpr, 0, 0), m->size,
					 true);
	}
	if (!j->rip)
		return return_early(n);
	mark_regs(n, j->gpr_written | j->other_written << DEC_REG_VEC |
			     (j->writes_flags ? BIT(DEC_REG_FLAGS) : 0) |
			     (j->has_calls ? NUL_RESULTS : 0));
	c->rip = j->rip;
	n->r->engine.now++;
	return DEC_GO;
}

/* ---- calls and returns ---------------------------------------------------------------------------- */

static struct nul_leaf leaf_here(struct nul_run *n, uint32_t i, bool is_arrival)
{
	nul_source s = dec_nullify_made(n, i, is_arrival);

	return (struct nul_leaf){ .made = s, .assigned = s, .since = s };
}

static bool push_frame(struct nul_run *n, uint64_t slot, uint64_t ret, nul_source called)
{
	struct nul_thread *t = n->t;
	const struct dec_ctx *c = n->r->engine.ctx;
	struct nul_frame *f = vec_push(&t->frames);

	if (!f)
		return false;
	f->slot = slot;
	f->ret = ret;
	f->called = called;
	f->entry = c->rip;
	f->arg = t->reg[CAP_RDI];
	memcpy(f->saved, c->gpr, sizeof(f->saved));
	f->saved_corrupt = t->corrupt;
	for (size_t i = 0; i < sizeof(dec_nullify_kept); i++)
		if (t->reg[dec_nullify_kept[i]].n)
			f->saved_leaf[dec_nullify_kept[i]] =
				t->reg[dec_nullify_kept[i]].leaf[0];
	return true;
}

void dec_nullify_begin(struct nul_run *n)
{
	n->t->is_first = true;
	for (uint32_t i = n->ask->n_calls; i-- > 0 && i < DEC_CHAIN_MAX;) {
		const struct dec_nullify_call *from = &n->ask->calls[i];
		struct nul_frame *f = vec_push(&n->t->frames);

		if (!f) {
			n->has_no_memory = true;
			return;
		}
		f->slot = from->slot;
		f->ret = from->ret;
		f->entry = from->entry;
		f->tail = from->tail;
		for (size_t k = 0; k < sizeof(dec_nullify_kept); k++)
			f->saved[dec_nullify_kept[k]] = from->saved[k];
	}
}

void dec_nullify_tell_call(const struct nul_frame *f, struct dec_nullify_call *ret)
{
	ret->entry = f->entry;
	ret->ret = f->ret;
	ret->slot = f->slot;
	ret->tail = f->tail;
	for (size_t k = 0; k < sizeof(dec_nullify_kept); k++)
		ret->saved[k] = f->saved[dec_nullify_kept[k]];
}

/* Control has come to another function's beginning, perhaps. */
static void land(struct nul_run *n)
{
	struct nul_thread *t = n->t;
	uint64_t rip = n->r->engine.ctx->rip;
	struct nul_frame *f = t->frames.size ? &t->frames.data[t->frames.size - 1] : NULL;
	int k;

	if (!f)
		return;
	// Through a stub, and perhaps what looks up where it leads.
	if (n->r->engine.ctx->gpr[CAP_RSP] == f->slot)
		f->entry = rip;
	k = f->is_allocators ? -1 : number_of(n->ask->allocator, rip);
	if (k < 0)
		return;
	f->is_allocators = true;
	if (!t->n_allocators++ && !n->quick)
		dec_nullify_block_asked(n, f, n->ask->does[k]);
}

/* Jump @p i, which was executed, may have led out of its function by a stub of the procedure linkage table: as a
 * call does whose return address is the function's own. */
static void note_tail(struct nul_run *n, const struct nul_insn *i)
{
	const struct nul_thread *t = n->t;
	struct nul_frame *f = t->frames.size ? &t->frames.data[t->frames.size - 1] : NULL;
	uint64_t at = n->r->engine.ctx->rip;
	struct dec_insn insn;

	if (!f || n->r->engine.ctx->gpr[CAP_RSP] != f->slot)
		return;
	for (int k = 0; k < STUB_STEPS; k++, at += insn.len) {
		if (!code_insn(n, at, &insn))
			return;
		if (insn.flow == DEC_FLOW_JMP_IND && insn.n_mem &&
		    insn.mem[0].is_absolute)
			f->tail = i->insn.rip;
		if (insn.flow != DEC_FLOW_NEXT)
			return;
	}
}

static enum dec_verdict call(struct nul_run *n, uint32_t i)
{
	uint64_t slot = n->r->engine.ctx->gpr[CAP_RSP] - 8;
	uint64_t ret = n->insns.data[i].insn.rip + n->insns.data[i].insn.len;
	struct nul_leaf leaf = leaf_here(n, i, false);
	enum dec_verdict v = dec_nullify_execute(n);

	if (v != DEC_GO || n->r->engine.ctx->gpr[CAP_RSP] != slot)
		return v;
	dec_nullify_mark(n, slot, 8, false);
	dec_nullify_put(n, slot, 8, &leaf);
	n->t->params = BIT(CAP_RDI) | BIT(CAP_RSI) | BIT(CAP_RDX) | BIT(CAP_RCX) |
		       BIT(CAP_R8) | BIT(CAP_R9);
	if (!push_frame(n, slot, ret, leaf.made))
		n->has_no_memory = true;
	else if (n->quick)
		dec_nullify_note_call(n, &n->t->frames.data[--n->t->frames.size]);
	land(n);
	return v;
}

/* Of the return address at @p slot, which is @p slot's call's, something that would have overwritten it was
 * omitted: it is what the call said. */
static void restore_return(struct nul_run *n, uint64_t slot)
{
	const struct nul_frame *f;

	if (n->quick)
		dec_nullify_find_calls(n, 1);
	f = n->t->frames.size ? &n->t->frames.data[n->t->frames.size - 1] : NULL;
	if (f && f->slot == slot)
		err_destroy(dec_guest_write(&n->r->guest, slot, &f->ret, 8));
	dec_nullify_mark(n, slot, 8, false);
	if (n->quick)
		n->t->frames.size = 0;
}

/* Is the return address at @p slot another one than the call there left? What that was made of is what
 * a crash behind it is by. */
static void keep_stray(struct nul_run *n, uint64_t slot)
{
	const struct nul_thread *t = n->t;
	const struct nul_frame *f = t->frames.size ? &t->frames.data[t->frames.size - 1] :
						     NULL;
	uint64_t to;

	if (n->quick || n->stray.n || !f || f->slot != slot ||
	    !code_read(n, slot, &to, 8) || to == f->ret)
		return;
	n->stray = (struct nul_value){ .n = 1, .leaf = { dec_nullify_get(n, slot, 8) } };
	n->stray_rip = n->r->engine.ctx->rip;
}

/* @return what the user's call of the allocator that is under way asked for. */
static uint64_t asked_by(const struct nul_thread *t)
{
	const struct nul_frame *f = vec_find(&t->frames, x, x->is_allocators);

	return f ? f->asked : 0;
}

static enum dec_verdict ret(struct nul_run *n)
{
	struct nul_thread *t = n->t;
	struct dec_ctx *c = n->r->engine.ctx;
	uint64_t slot = c->gpr[CAP_RSP];
	struct nul_value was;
	struct nul_leaf leaf;
	enum dec_verdict v;
	uint64_t asked;
	uint32_t to;

	if (dec_nullify_is_corrupt(n, slot, 8))
		restore_return(n, slot);
	keep_stray(n, slot);
	v = dec_nullify_execute(n);
	if (v != DEC_GO)
		return v;
	if (n->quick) {
		dec_nullify_note_return(n, slot);
		return v;
	}
	asked = t->n_allocators ? asked_by(t) : 0;
	was = t->n_allocators ? (struct nul_value){} : t->reg[CAP_RAX];
	pop_frames(t, slot);
	t->params = 0;
	to = dec_nullify_insn(n, c->rip);
	if (to == UINT32_MAX)
		return v;
	n->now = n->r->engine.now;
	leaf = leaf_here(n, to, true);
	if (!t->n_allocators)
		dec_nullify_block_given(n, asked, leaf.made);
	if (was.n == 1 && !was.is_computed)
		leaf.since = was.leaf[0].since;
	leaf.value = c->gpr[CAP_RAX];
	leaf.bytes = 8;
	t->reg[CAP_RAX] = t->reg[DEC_REG_VEC] =
		(struct nul_value){ .n = 1, .leaf = { leaf } };
	return v;
}

static enum dec_verdict pass_call(struct nul_run *n, struct nul_insn *i)
{
	dec_nullify_pass(n, i);
	mark_regs(n, NUL_RESULTS);
	return DEC_GO;
}

static void note_branch(struct nul_thread *t, const struct nul_insn *i)
{
	struct nul_frame *f = t->frames.size ? &t->frames.data[t->frames.size - 1] :
			      t->is_first    ? NULL :
					       &t->outermost;

	if (!f)
		return;
	f->branch = i->insn.rip;
	f->by = t->reg[i->insn.flow == DEC_FLOW_JCC ? DEC_REG_FLAGS : CAP_RCX];
}

enum dec_verdict dec_nullify_flow(struct nul_run *n, uint32_t at, bool is_corrupt)
{
	struct nul_insn *i = &n->insns.data[at];
	enum dec_verdict v;

	switch (i->insn.flow) {
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
		if (is_corrupt)
			return skip_ways(n, i);
		note_branch(n->t, i);
		return dec_nullify_execute(n);
	case DEC_FLOW_JMP_IND:
		if (is_corrupt)
			return skip_ways(n, i);
		v = dec_nullify_execute(n);
		land(n);
		return v;
	case DEC_FLOW_JMP:
		v = dec_nullify_execute(n);
		if (!n->quick)
			note_tail(n, &n->insns.data[at]);
		land(n);
		return v;
	case DEC_FLOW_CALL_IND:
	case DEC_FLOW_CALL:
		// One that is a point is corrupt, too.
		if (is_corrupt)
			return pass_call(n, i);
		return call(n, at);
	case DEC_FLOW_RET:
		return ret(n);
	default:
		return dec_nullify_execute(n);
	}
}
