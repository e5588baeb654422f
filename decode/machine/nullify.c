// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A nullifying run, an instruction at a time: what uses something corrupt is passed by, the rest
 * is executed, and of what it defines is kept where it comes from.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "decode/machine/call_args.h"
#include "decode/machine/layout.h"
#include "decode/machine/nullify_int.h"
#include "decode/machine/signal.h"
#include "decode/machine/threads.h"
#include "decode/x86/zydis.h"

#define VECTOR_BYTES 64 ///< that one store writes, at most

static const uint8_t call_regs[] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_R10, CAP_R8, CAP_R9 };

enum dec_verdict dec_nullify_execute(struct nul_run *n)
{
	struct dec_engine *e = &n->r->engine;
	uint64_t now = e->now;

	switch (dec_engine_run(e, now + 1)) {
	case DEC_STOP_PAUSE:
		return e->now == now ? DEC_PAUSE : DEC_GO;
	case DEC_STOP_END:
		return DEC_END;
	case DEC_STOP_DIVERGED:
		return DEC_DIVERGED;
	default:
		return DEC_GO;
	}
}

void dec_nullify_pass(struct nul_run *n, struct nul_insn *i)
{
	n->r->engine.ctx->rip += i->insn.len;
	n->r->engine.now++;
	i->n_omitted++;
	n->ret->n_omitted++;
}

/* ---- what it defines -------------------------------------------------------------------- */

static void mark(struct nul_run *n, const struct nul_insn *i, bool is_corrupt)
{
	struct nul_thread *t = n->t;

	if (is_corrupt)
		t->corrupt |= i->writes;
	else
		t->corrupt &= ~(i->writes & ~i->merges);
	t->params &= ~i->writes;
}

/* What is at @p a now. @return its bytes; 0: more than a word, or not to be read. */
static uint8_t read_value(struct nul_run *n, const struct nul_access *a, uint64_t *ret)
{
	*ret = 0;
	if (a->size > 8 || dec_guest_avail(&n->r->guest, a->addr, PROT_READ) < a->size)
		return 0;
	memcpy(ret, (const void *)a->addr, a->size);
	return a->size;
}

/* Where what is read by access @p a comes from. */
static struct nul_leaf leaf_read(struct nul_run *n, const struct nul_access *a)
{
	struct nul_leaf leaf = dec_nullify_get(n, a->addr, a->size);

	// A pointer in a variable: what it was loaded through before counts.
	if (a->via) {
		leaf.via = a->via;
		leaf.beyond = a->beyond;
		if (a->addr - leaf.at + a->size < VECTOR_BYTES + a->size)
			leaf.via_since = a->via_since;
	}
	leaf.bytes = read_value(n, a, &leaf.value);
	return leaf;
}

/* What instruction @p at computes, told before it does. */
static struct nul_value value_of(struct nul_run *n, uint32_t at,
				 const struct nul_access *a, int n_accesses)
{
	const struct nul_insn *i = &n->insns.data[at];
	struct nul_value v = {};
	nul_source s;

	for (uint64_t left = i->reads; left; left &= left - 1) {
		const struct nul_value *from = &n->t->reg[__builtin_ctzll(left)];

		dec_nullify_merge(&v, from);
		v.is_computed |= from->is_computed;
	}
	for (int k = 0; k < n_accesses; k++) {
		struct nul_leaf leaf;

		if (a[k].is_def)
			continue;
		leaf = leaf_read(n, &a[k]);
		dec_nullify_add(&v, &leaf);
	}
	if (!v.n) {
		s = dec_nullify_made(n, at, false);
		// The address of something that lies where it lies cannot be wrong.
		if (i->insn.mnemonic == ZYDIS_MNEMONIC_LEA)
			s |= NUL_RIGHT;
		v = (struct nul_value){
			.n = 1, .leaf = { { .made = s, .assigned = s, .since = s } }
		};
	} else if (!i->is_copy) {
		v.is_computed = true;
	}
	return v;
}

/* Instruction @p at writes where beside a block nobody is to write: each instruction's first time there is
 * kept. */
static void note_overrun(struct nul_run *n, uint32_t insn, uint64_t at)
{
	nul_source here = dec_nullify_made(n, insn, false);
	struct nul_overrun o = { .insn = insn,
				 .at = at,
				 .leaf = { .made = here, .assigned = here } };

	if (vec_find(&n->overruns, x, x->insn == insn && x->at == at))
		return;
	if (vec_add(&n->overruns, o))
		n->has_no_memory = true;
}

/* A copy into a variable is one, into what a pointer leads to makes a value (nullify.h). */
static void define_memory(struct nul_run *n, uint32_t at, const struct nul_access *a,
			  const struct nul_value *v, bool is_param)
{
	nul_source here = dec_nullify_made(n, at, false);
	struct nul_leaf leaf = { .made = here,
				 .assigned = here,
				 .via = a->via,
				 .beyond = a->beyond,
				 .since = here,
				 .via_since = a->via_since,
				 .at = a->addr };
	const struct nul_insn *i = &n->insns.data[at];
	bool is_copy = i->is_copy && v->n == 1 && !v->is_computed && i->reads;

	if (is_copy)
		leaf.since = v->leaf[0].since;
	if (a->is_named && is_copy) {
		leaf = v->leaf[0];
		if (!is_param)
			leaf.assigned = here;
	}
	dec_nullify_put(n, a->addr, a->size, &leaf);
	if (dec_layout_guarded(a->addr, a->size))
		note_overrun(n, at, dec_layout_guarded(a->addr, a->size));
}

static void define(struct nul_run *n, uint32_t at, const struct nul_access *a,
		   int n_accesses, const struct nul_value *v, uint64_t params)
{
	const struct nul_insn *i = &n->insns.data[at];

	for (uint64_t left = i->writes; left; left &= left - 1)
		n->t->reg[__builtin_ctzll(left)] = *v;
	for (int k = 0; k < n_accesses; k++)
		if (a[k].is_def)
			define_memory(n, at, &a[k], v, i->reads & params);
}

/* ---- what is passed by -------------------------------------------------------------------- */

/* A register that the function keeps for its caller has the caller's value again: what would
 * have overwritten the place where it was saved was omitted. */
static void restored(struct nul_run *n, const struct nul_insn *i)
{
	const struct nul_thread *t = n->t;
	const struct nul_frame *f;

	if (n->quick)
		dec_nullify_find_calls(n, 1);
	f = t->frames.size ? &t->frames.data[t->frames.size - 1] : NULL;
	for (uint64_t left = i->writes; left && f; left &= left - 1) {
		int reg = __builtin_ctzll(left);

		if (reg < DEC_GPRS && n->r->engine.ctx->gpr[reg] == f->saved[reg] &&
		    !(f->saved_corrupt & BIT(reg)))
			n->t->corrupt &= ~BIT(reg);
	}
	if (n->quick)
		n->t->frames.size = 0;
}

/* The stack pointer moves on, whatever becomes of the data. */
static enum dec_verdict move_stack(struct nul_run *n, uint32_t at,
				   const struct nul_access *a, int n_accesses)
{
	struct nul_insn *i = &n->insns.data[at];
	enum dec_verdict v;

	// alloca() of a corrupt size.
	if (i->insn.mnemonic == ZYDIS_MNEMONIC_SUB ||
	    i->insn.mnemonic == ZYDIS_MNEMONIC_ADD ||
	    i->insn.mnemonic == ZYDIS_MNEMONIC_AND) {
		dec_nullify_pass(n, i);
		return DEC_GO;
	}
	v = dec_nullify_execute(n);
	if (v == DEC_PAUSE)
		return v;
	i = &n->insns.data[at];
	mark(n, i, true);
	for (int k = 0; k < n_accesses; k++)
		if (a[k].is_def)
			dec_nullify_mark(n, a[k].addr, a[k].size, true);
	if (i->insn.mnemonic == ZYDIS_MNEMONIC_POP ||
	    i->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE)
		restored(n, i);
	if (i->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE)
		n->t->corrupt &= ~BIT(CAP_RBP);
	return v;
}

static enum dec_verdict omit(struct nul_run *n, uint32_t at, const struct nul_access *a,
			     int n_accesses)
{
	struct nul_insn *i = &n->insns.data[at];

	if (i->moves_stack)
		return move_stack(n, at, a, n_accesses);
	dec_nullify_pass(n, i);
	mark(n, i, true);
	for (int k = 0; k < n_accesses; k++)
		if (a[k].is_def && !a[k].has_corrupt_addr)
			dec_nullify_mark(n, a[k].addr, a[k].size, true);
	return DEC_GO;
}

/* rep movs of memory some of whose bytes are corrupt: those keep what was there. */
static enum dec_verdict copy_clean(struct nul_run *n, struct nul_insn *i,
				   const struct nul_access *from,
				   const struct nul_access *to)
{
	struct dec_ctx *c = n->r->engine.ctx;
	struct dec_guest *g = &n->r->guest;

	if (dec_guest_avail(g, to->addr, PROT_WRITE) < to->size ||
	    dec_guest_avail(g, from->addr, PROT_READ) < from->size ||
	    c->rflags & 0x400) // downwards
		return omit(n, i - n->insns.data, to, 1);
	for (uint64_t k = 0; k < to->size; k++) {
		bool is_bad = dec_nullify_is_corrupt(n, from->addr + k, 1);

		if (!is_bad)
			err_destroy(dec_guest_write(g, to->addr + k,
						    (const void *)(from->addr + k), 1));
		dec_nullify_mark(n, to->addr + k, 1, is_bad);
	}
	c->gpr[CAP_RSI] += to->size;
	c->gpr[CAP_RDI] += to->size;
	c->gpr[CAP_RCX] = 0;
	dec_nullify_pass(n, i);
	return DEC_GO;
}

static bool is_movs(const struct nul_insn *i)
{
	return i->insn.is_rep && (i->insn.mnemonic == ZYDIS_MNEMONIC_MOVSB ||
				  i->insn.mnemonic == ZYDIS_MNEMONIC_MOVSW ||
				  i->insn.mnemonic == ZYDIS_MNEMONIC_MOVSD ||
				  i->insn.mnemonic == ZYDIS_MNEMONIC_MOVSQ);
}

/* ---- system calls ---------------------------------------------------------------------------- */

static bool reads_corrupt(const struct nul_run *n, const uint64_t *g)
{
	const struct iovec *v = (const struct iovec *)g[CAP_RSI];

	switch (g[CAP_RAX]) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return dec_nullify_is_corrupt(n, g[CAP_RSI], g[CAP_RDX]);
	case SYS_writev:
		for (uint64_t i = 0; i < g[CAP_RDX] && i < 1024; i++)
			if (dec_guest_avail(&n->r->guest, (uint64_t)&v[i], PROT_READ) >=
				    sizeof(*v) &&
			    dec_nullify_is_corrupt(n, (uint64_t)v[i].iov_base,
						   v[i].iov_len))
				return true;
		return dec_nullify_is_corrupt(n, g[CAP_RSI], 16 * g[CAP_RDX]);
	case SYS_open:
	case SYS_execve:
	case SYS_unlink:
		return dec_nullify_is_corrupt(n, g[CAP_RDI], 1);
	case SYS_openat:
	case SYS_unlinkat:
		return dec_nullify_is_corrupt(n, g[CAP_RSI], 1);
	default:
		return false;
	}
}

static bool is_call_infected(const struct nul_run *n)
{
	const uint64_t *g = n->r->engine.ctx->gpr;
	int n_args = dec_call_args(g[CAP_RAX]);
	uint64_t regs = BIT(CAP_RAX);

	if (!(n->t->corrupt & BIT(CAP_RAX)) &&
	    (g[CAP_RAX] == SYS_exit_group || g[CAP_RAX] == SYS_exit))
		return false;
	for (int i = 0; i < n_args; i++)
		regs |= BIT(call_regs[i]);
	return n->t->corrupt & regs || reads_corrupt(n, g);
}

static enum dec_verdict system_call(struct nul_run *n, uint32_t at)
{
	struct nul_insn *i = &n->insns.data[at];
	const uint64_t *g = n->r->engine.ctx->gpr;
	uint64_t nr = g[CAP_RAX], size = g[CAP_RSI];
	nul_source s = dec_nullify_made(n, at, false);
	struct nul_leaf leaf = { .made = s, .assigned = s };
	enum dec_verdict v;

	if (is_call_infected(n)) {
		if (!n->r->loose->has_parted)
			dec_loose_part(n->r);
		dec_nullify_pass(n, i);
		n->ret->n_calls++;
		n->t->corrupt |= BIT(CAP_RAX);
		return DEC_GO;
	}
	v = dec_nullify_execute(n);
	if (v == DEC_PAUSE)
		v = DEC_GO; // it was made, and another thread goes on
	n->t->corrupt &= ~(BIT(CAP_RAX) | BIT(CAP_RCX) | BIT(CAP_R11));
	n->t->reg[CAP_RAX] = (struct nul_value){ .n = 1, .leaf = { leaf } };
	if (v == DEC_GO && nr == SYS_mmap && (int64_t)g[CAP_RAX] > 0)
		dec_nullify_mark(n, g[CAP_RAX], size, false);
	return v;
}

/* The kernel wrote there. */
static void written(void *ctx, uint64_t addr, uint64_t size)
{
	struct nul_run *n = ctx;
	nul_source s = dec_nullify_made(n, n->last, false);
	struct nul_leaf leaf = { .made = s, .assigned = s, .at = addr };

	dec_nullify_mark(n, addr, size, false);
	dec_nullify_put(n, addr, size, &leaf);
}

/* ---- an instruction ------------------------------------------------------------------------------ */

static void fire(struct nul_run *n, uint32_t p)
{
	const struct nul_thread *t = n->t;
	uint32_t k = 0;

	if (n->ret->fired[p].position)
		return;
	n->ret->fired[p].position = n->r->engine.now ?: 1;
	if (n->quick)
		dec_nullify_find_calls(n, DEC_CHAIN_MAX);
	for (size_t f = t->frames.size; f-- > 0 && k < DEC_CHAIN_MAX; k++)
		n->ret->fired[p].caller[k] = t->frames.data[f].ret;
	n->ret->fired[p].n_callers = k;
	if (n->quick)
		n->t->frames.size = 0;
}

/* @return whether the instruction at hand is a point, and not to be executed. */
static bool is_point(struct nul_run *n, const struct nul_insn *i)
{
	bool is = false;

	for (uint32_t p = 0; p < n->ask->n_points; p++) {
		const struct dec_point *at = &n->ask->points[p];

		if (at->rip != i->insn.rip ||
		    (at->is_each ? i->count < at->nth : i->count != at->nth))
			continue;
		fire(n, p);
		if (at->is_arrival)
			n->t->corrupt |= BIT(at->reg & 63);
		else
			is = true;
		if (at->addr)
			dec_nullify_mark(n, at->addr, at->size, true);
	}
	return is;
}

struct nul_thread *dec_nullify_thread(struct nul_run *n)
{
	uint32_t tid = dec_threads_current(n->r)->tid;
	struct nul_thread *t;

	if (n->t && n->t->tid == tid)
		return n->t;
	for (size_t i = 0; i < n->threads.size; i++)
		if (n->threads.data[i]->tid == tid)
			return n->threads.data[i];
	t = calloc(1, sizeof(*t));
	if (!t || vec_add(&n->threads, t)) {
		free(t);
		n->has_no_memory = true;
		return n->t;
	}
	t->tid = tid;
	for (unsigned reg = 0; reg < DEC_REG_FLAGS; reg++) {
		struct nul_leaf leaf = { .made = dec_nullify_of_reg(reg),
					 .assigned = dec_nullify_of_reg(reg),
					 .since = dec_nullify_of_reg(reg) };

		t->reg[reg] = (struct nul_value){ .n = 1, .leaf = { leaf } };
	}
	return t;
}

/* What division @p i fails by: the divisor, if that is 0; else @p v, all that it uses. */
static struct nul_value divisor_of(struct nul_run *n, const struct nul_insn *i,
				   const struct nul_access *a, int n_accesses,
				   const struct nul_value *v)
{
	uint32_t reg = i->insn.gpr_read & ~(BIT(CAP_RAX) | BIT(CAP_RDX) | i->addrs);
	struct nul_leaf leaf;

	if (n_accesses == 1) {
		leaf = leaf_read(n, a);
		if (leaf.bytes && !leaf.value)
			return (struct nul_value){ .n = 1, .leaf = { leaf } };
	} else if (reg && !(uint32_t)n->r->engine.ctx->gpr[__builtin_ctz(reg)]) {
		return n->t->reg[__builtin_ctz(reg)];
	}
	return *v;
}

/* What the instruction may fail by: its addresses, a target, a divisor. */
static void keep_causes(struct nul_run *n, const struct nul_insn *i,
			const struct nul_access *a, int n_accesses,
			const struct nul_value *v)
{
	bool is_division = i->insn.mnemonic == ZYDIS_MNEMONIC_DIV ||
			   i->insn.mnemonic == ZYDIS_MNEMONIC_IDIV;

	n->cause.n = n->jump.n = 0;
	for (uint64_t left = i->addrs; left; left &= left - 1)
		dec_nullify_merge(&n->cause, &n->t->reg[__builtin_ctzll(left)]);
	if (is_division)
		n->cause = divisor_of(n, i, a, n_accesses, v);
	if (i->insn.flow == DEC_FLOW_RET || i->insn.flow == DEC_FLOW_JMP_IND ||
	    i->insn.flow == DEC_FLOW_CALL_IND)
		n->jump = *v;
}

/* What becomes of an instruction. */
enum fate { EXECUTED, LEFT_OUT, COPIES_CLEAN };

/* @return what becomes of instruction @p i, which uses something corrupt and is no point. */
static enum fate fate_of(const struct nul_run *n, const struct nul_insn *i,
			 const struct nul_access *a, int n_accesses)
{
	bool is_copy = is_movs(i) && n_accesses == 2 && !a[0].is_def != !a[1].is_def;

	return is_copy && !(n->t->corrupt & i->addrs) ? COPIES_CLEAN : LEFT_OUT;
}

static enum dec_verdict data(struct nul_run *n, uint32_t at, enum fate fate,
			     const struct nul_access *a, int n_accesses,
			     const struct nul_value *value)
{
	struct nul_insn *i = &n->insns.data[at];
	uint64_t params = n->t->params;
	enum dec_verdict v;

	if (fate == COPIES_CLEAN) {
		v = copy_clean(n, i, a[0].is_def ? &a[1] : &a[0],
			       a[0].is_def ? &a[0] : &a[1]);
	} else if (fate == LEFT_OUT) {
		v = omit(n, at, a, n_accesses);
	} else {
		v = dec_nullify_execute(n);
		if (v == DEC_PAUSE)
			return v;
		i = &n->insns.data[at];
		mark(n, i, false);
		for (int k = 0; k < n_accesses; k++)
			if (a[k].is_def)
				dec_nullify_mark(n, a[k].addr, a[k].size, false);
	}
	// What is omitted defines nothing in memory.
	if (!n->quick)
		define(n, at, a, fate == LEFT_OUT ? 0 : n_accesses, value, params);
	return v;
}

/* @return whether the instruction uses or defines anything corrupt. */
static bool is_touched(const struct nul_run *n, const struct nul_insn *i,
		       const struct nul_access *a, int n_accesses)
{
	bool is = n->t->corrupt & (i->reads | i->addrs | i->writes);

	for (int k = 0; k < n_accesses && !is; k++)
		is = dec_nullify_is_corrupt(n, a[k].addr, a[k].size);
	return is;
}

/* As dec_nullify_step(). @return DEC_PAUSE, too: another thread's turn was before it. */
static enum dec_verdict step(struct nul_run *n, uint32_t at)
{
	struct nul_access a[NUL_ACCESSES];
	struct nul_insn *i;
	struct nul_value value = {};
	bool is_left_out, is_corrupt;
	int n_accesses;

	i = &n->insns.data[at];
	dec_nullify_count(n, i);
	n->ret->n_slow++;
	is_left_out = i->has_point && is_point(n, i);
	n_accesses = dec_nullify_accesses(n, i, a);
	n->was_touched = is_left_out || is_touched(n, i, a, n_accesses);
	if (!n->quick) {
		value = value_of(n, at, a, n_accesses);
		keep_causes(n, i, a, n_accesses, &value);
	}
	is_corrupt = is_left_out || n->t->corrupt & (i->reads | i->addrs);
	for (int k = 0; k < n_accesses && !is_corrupt; k++)
		is_corrupt = !a[k].is_def &&
			     dec_nullify_is_corrupt(n, a[k].addr, a[k].size);
	if (i->insn.flow == DEC_FLOW_SYSCALL)
		return system_call(n, at);
	if (i->insn.flow == DEC_FLOW_NEXT)
		return data(n, at,
			    is_left_out ? LEFT_OUT :
			    is_corrupt	? fate_of(n, i, a, n_accesses) :
					  EXECUTED,
			    a, n_accesses, &value);
	if (i->insn.flow >= DEC_FLOW_TSC && i->insn.flow <= DEC_FLOW_RANDOM) {
		n->t->corrupt &= ~i->writes;
		return dec_nullify_execute(n);
	}
	return dec_nullify_flow(n, at, is_corrupt);
}

enum dec_verdict dec_nullify_step(struct nul_run *n)
{
	uint32_t at = dec_nullify_insn(n, n->r->engine.ctx->rip);
	bool is_known = at != UINT32_MAX && !n->has_no_memory;
	enum dec_verdict v;

	n->t = dec_nullify_thread(n);
	n->now = n->r->engine.now;
	n->last = at;
	if (dec_layout_is_at(n->r) && dec_layout_here(n->r, n->t->corrupt) != DEC_GO)
		return DEC_END;
	// Else it faults, or is nothing that is known.
	v = is_known ? step(n, at) : dec_nullify_execute(n);
	if (v == DEC_PAUSE && is_known)
		dec_nullify_take_back(n, &n->insns.data[at]);
	return v == DEC_PAUSE ? DEC_GO : v;
}

/* ---- what is told at the end ------------------------------------------------------------------------ */

static uint32_t tell(const struct nul_run *n, const struct nul_value *v,
		     struct dec_origin *ret)
{
	for (int i = 0; i < v->n; i++)
		dec_nullify_tell(n, &v->leaf[i], &ret[i]);
	return v->n;
}

static void tell_frame(const struct nul_run *n, const struct nul_frame *from,
		       struct dec_nullify_frame *to)
{
	struct nul_value arg = from->arg;

	if (arg.n > 2)
		arg.n = 2;
	dec_nullify_tell_call(from, &to->call);
	to->branch = from->branch;
	to->n_branch = tell(n, &from->by, to->by);
	to->n_arg = tell(n, &arg, to->arg);
}

static void tell_frames(struct nul_run *n)
{
	const struct nul_thread *t = n->t;
	uint32_t k = 0;

	if (n->quick)
		dec_nullify_find_calls(n, DEC_CHAIN_MAX);
	for (size_t f = t->frames.size; f-- > 0 && k < DEC_CHAIN_MAX; k++)
		tell_frame(n, &t->frames.data[f], &n->ret->frames[k]);
	n->ret->n_frames = k;
	tell_frame(n, &t->outermost, &n->ret->outermost);
}

static void tell_asked(struct nul_run *n)
{
	const struct dec_source *s = &n->ask->asked;
	struct nul_leaf leaf;

	if (s->kind == DEC_ORIGIN_BEFORE) {
		leaf = dec_nullify_get(n, s->addr, s->size);
		dec_nullify_tell(n, &leaf, &n->ret->causes[0]);
		n->ret->n_causes = 1;
	} else if (s->kind == DEC_ORIGIN_REG) {
		n->ret->n_causes = tell(n, &n->t->reg[s->reg & 63], n->ret->causes);
	}
}

/* What lies beside a block has been changed: by which instructions, the first one first. */
static void tell_overrun(struct nul_run *n)
{
	uint64_t at = dec_layout_changed();
	struct dec_nullified *ret = n->ret;

	ret->is_known = false;
	ret->is_overrun = true;
	for (size_t i = 0; i < n->overruns.size && ret->n_causes < DEC_ORIGINS_MAX; i++)
		if (n->overruns.data[i].at == at)
			dec_nullify_tell(n, &n->overruns.data[i].leaf,
					 &ret->causes[ret->n_causes++]);
}

static void tell_crash(struct nul_run *n)
{
	const struct nul_insn *last = n->last == UINT32_MAX ? NULL :
							      &n->insns.data[n->last];
	uint64_t rip = n->r->engine.ctx->rip;
	bool is_wild = !last || last->insn.rip != rip;

	n->ret->crash = rip;
	n->ret->is_known = !is_wild;
	if (n->quick) {
		n->ret->is_known = dec_nullify_insn(n, rip) != UINT32_MAX;
		return;
	}
	if (dec_layout_changed()) {
		tell_overrun(n);
		return;
	}
	if (n->stray.n) {
		n->ret->crash = n->stray_rip;
		n->ret->is_known = false;
		n->ret->n_causes = tell(n, &n->stray, n->ret->causes);
		return;
	}
	// A branch that is refused faults where it stands, by where it was to go.
	if (is_wild || last->insn.flow == DEC_FLOW_RET ||
	    dec_replay_is_refused_branch(n->r))
		n->ret->n_causes = tell(n, &n->jump, n->ret->causes);
	else
		n->ret->n_causes = tell(n, &n->cause, n->ret->causes);
}

static void tell_omitted(struct nul_run *n)
{
	for (size_t i = 0; i < n->insns.size && n->ret->n_rips < DEC_OMITTED_MAX; i++)
		if (n->insns.data[i].n_omitted) {
			uint32_t k = n->ret->n_rips++;

			n->ret->omitted[k].rip = n->insns.data[i].insn.rip;
			n->ret->omitted[k].n = n->insns.data[i].n_omitted;
		}
}

/* The thread that was killed stood at its instruction while others ran on. */
static void find_killed(struct nul_run *n)
{
	uint32_t at = dec_nullify_insn(n, n->r->engine.ctx->rip);
	struct nul_access a[NUL_ACCESSES];
	struct nul_value value;
	int n_accesses;

	if (n->t->tid == dec_threads_current(n->r)->tid)
		return;
	n->t = dec_nullify_thread(n);
	n->last = at;
	if (at == UINT32_MAX || n->quick || n->has_no_memory)
		return;
	n_accesses = dec_nullify_accesses(n, &n->insns.data[at], a);
	value = value_of(n, at, a, n_accesses);
	keep_causes(n, &n->insns.data[at], a, n_accesses, &value);
}

static void tell_all(struct nul_run *n)
{
	const struct dec_loose *l = n->r->loose;

	for (uint32_t p = 0; p < DEC_POINTS_MAX; p++) {
		const uint64_t *at = map_get(&n->insn_of, n->ask->counted[p]);

		if (!n->ask->counted[p] || !at)
			continue;
		dec_nullify_know_count(n, &n->insns.data[*at]);
		n->ret->counts[p] = n->insns.data[*at].count;
	}
	if (!n->t)
		return;
	find_killed(n);
	n->ret->stack = n->r->engine.ctx->gpr[CAP_RSP];
	n->ret->n_steps = n->r->engine.now - n->begin;
	tell_omitted(n);
	tell_frames(n);
	if (n->ask->asked.kind)
		tell_asked(n);
	else if ((l->has_ended && l->out->fate == DEC_FATE_SIGNAL) ||
		 n->r->end == CAP_END_SIGNAL)
		tell_crash(n);
}

/* Behind where it parted threads take turns. */
static enum dec_verdict take_turns(struct nul_run *n)
{
	struct dec_replay *r = n->r;
	enum dec_verdict v;

	if (!dec_loose_has_others(r))
		return DEC_GO;
	if (!n->turn_at)
		n->turn_at = r->engine.now + LOOSE_TURN;
	if (r->engine.now < n->turn_at)
		return DEC_GO;
	v = dec_loose_next(r);
	n->turn_at = r->engine.now + LOOSE_TURN;
	r->loose->now_ns += LOOSE_TURN;
	return v;
}

enum dec_verdict dec_nullify_run(struct dec_replay *r, const struct dec_nullify *ask,
				 uint64_t until, struct dec_nullified *ret)
{
	struct nul_run n = {
		.r = r, .ask = ask, .ret = ret, .begin = r->engine.now, .last = UINT32_MAX
	};
	struct dec_loose *l = r->loose;
	enum dec_verdict v = DEC_GO;

	r->guest.written = written;
	r->guest.written_ctx = &n;
	n.t = dec_nullify_thread(&n);
	if (n.t)
		dec_nullify_begin(&n);
	if (n.t && ask->full_from > r->engine.now)
		dec_nullify_quick_begin(&n);
	while (v == DEC_GO && !l->has_ended && !n.has_no_memory && n.t) {
		if (r->engine.now >= until) {
			dec_loose_end(l, DEC_FATE_LIMIT, 0, NULL);
			break;
		}
		if (n.quick && r->engine.now >= ask->full_from)
			dec_nullify_quick_end(&n);
		if (n.quick)
			v = dec_nullify_dash(&n, until < ask->full_from ? until :
									  ask->full_from);
		else
			v = dec_nullify_step(&n);
		if (v == DEC_GO && l->has_parted && !l->has_ended)
			v = take_turns(&n);
	}
	if (n.has_no_memory)
		v = dec_loose_end(l, DEC_FATE_MACHINE, 0,
				  "out of memory for what is known of values");
	r->guest.written = NULL;
	if (l->has_ended ? l->out->fate == DEC_FATE_EXIT : r->end == CAP_END_EXIT)
		dec_layout_end(r);
	tell_all(&n);
	dec_nullify_forget(&n);
	return v;
}
