// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Nothing is known of a block's last branch until the next block begins, so that packets
 * are made on arrival: dec_pt_flow_arrive() knows where control came from (`last`) and where
 * it is. Kernel entries are not traced: a system call is TIP.PGD, an interruption is FUP
 * and TIP.PGD, and the instruction that comes next, wherever it is, TIP.PGE.
 */

#include "decode/pt/encode_int.h"

/* ---- branches ---------------------------------------------------------------------------- */

static void flow_remember_call(struct pt_stream *s)
{
	// A call of the next instruction only wants to know where it is.
	if (s->last.flow == DEC_FLOW_CALL && s->last.target == s->last.rip + s->last.len)
		return;
	s->call[s->top] = s->last.rip + s->last.len;
	s->top = (s->top + 1) % PT_CALLS;
	if (s->n_calls < PT_CALLS)
		s->n_calls++;
}

static struct err *flow_return(struct pt_stream *s, uint64_t rip)
{
	unsigned int top = (s->top + PT_CALLS - 1) % PT_CALLS;

	if (!s->o->compresses_returns || !s->n_calls || s->call[top] != rip)
		return dec_pt_put_ip(s, ppt_tip, rip);
	s->top = top;
	s->n_calls--;
	s->stats.returns_compressed++;
	return dec_pt_put_bit(s, true);
}

static struct err *flow_broken(const struct pt_last *l, uint64_t rip)
{
	return err_new(ERR_FORMAT,
		       "the machine's log is damaged: no way leads from %#lx to "
		       "%#lx",
		       l->rip, rip);
}

/* Control went from the last instruction to @p rip. */
static struct err *flow_branch(struct pt_stream *s, uint64_t rip)
{
	const struct pt_last *l = &s->last;

	switch (l->flow) {
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
		if (rip != l->target && rip != l->rip + l->len)
			return flow_broken(l, rip);
		return dec_pt_put_bit(s, rip == l->target);
	case DEC_FLOW_CALL_IND:
		flow_remember_call(s);
		return dec_pt_put_ip(s, ppt_tip, rip);
	case DEC_FLOW_JMP_IND:
		return dec_pt_put_ip(s, ppt_tip, rip);
	case DEC_FLOW_RET:
		return flow_return(s, rip);
	case DEC_FLOW_CALL:
		flow_remember_call(s);
		return rip == l->target ? NULL : flow_broken(l, rip);
	case DEC_FLOW_JMP:
		return rip == l->target ? NULL : flow_broken(l, rip);
	default:
		return rip == l->rip + l->len ? NULL : flow_broken(l, rip);
	}
}

/* ---- tracing on and off ------------------------------------------------------------------- */

static struct err *flow_enable(struct pt_stream *s, uint64_t rip)
{
	struct err *err = NULL;

	s->n_calls = 0;
	if (!s->is_scheduled || dec_pt_has_slept(s)) {
		err = dec_pt_put_psb(s, 0);
		s->cyc_at = s->clock->cycles;
	}
	if (!err)
		err = dec_pt_put_mtc(s);
	if (!err)
		err = dec_pt_put_cyc(s);
	if (!err)
		err = dec_pt_put_mode(s);
	if (!err)
		err = dec_pt_put_ip(s, ppt_tip_pge, rip);
	s->is_enabled = true;
	s->is_scheduled = true;
	return err;
}

struct err *dec_pt_flow_enter(struct pt_stream *s)
{
	s->is_enabled = false;
	return s->is_losing ? NULL : dec_pt_put_pgd(s);
}

struct err *dec_pt_flow_interrupt(struct pt_stream *s, uint64_t rip, uint64_t time)
{
	struct err *err = dec_pt_flow_arrive(s, rip, time);

	if (!err && !s->is_losing)
		err = dec_pt_put_ip(s, ppt_fup, rip);
	return err ? err : dec_pt_flow_enter(s);
}

/* ---- overflow ----------------------------------------------------------------------------- */

struct err *dec_pt_flow_lose(struct pt_stream *s, uint64_t until)
{
	struct err *err = dec_pt_put_tnt(s);

	s->is_losing = true;
	s->lose_until = until;
	return err;
}

/* The overflow is over. An address in full: the last one may be among what was lost. */
static struct err *flow_recover(struct pt_stream *s, uint64_t rip, uint64_t time)
{
	struct err *err = dec_pt_put_ovf(s);

	s->is_losing = false;
	s->stats.resumed_at = time;
	if (err)
		return err;
	return s->is_enabled ? dec_pt_put_ip(s, ppt_fup, rip) : flow_enable(s, rip);
}

struct err *dec_pt_flow_ptwrite(struct pt_stream *s, uint64_t rip, uint64_t value)
{
	return s->is_losing ? NULL : dec_pt_put_ptw(s, rip, value);
}

/* ---- probes ------------------------------------------------------------------------------- */

/* What lies at the beginning of the kernel's page since Linux 6.11: three pushes, a mov, a
 * system call; two pops, a return. */
enum { BACK_BEHIND = 13, BACK_RETURN = 16 };

/* The thread returns to @p rip from a function whose end is probed. */
static struct err *flow_come_back(struct pt_stream *s, uint64_t rip)
{
	uint64_t page = s->o->probe_page;
	struct err *err = s->is_enabled ? dec_pt_put_ip(s, ppt_tip, page) :
					  flow_enable(s, page);

	s->returns.size--;
	s->stats.probe_returns++;
	if (!err)
		err = dec_pt_flow_enter(s);
	if (!err)
		err = flow_enable(s, page + BACK_BEHIND);
	s->last = (struct pt_last){ page + BACK_RETURN, 0, 1, DEC_FLOW_RET };
	return err ? err : flow_branch(s, rip);
}

static bool flow_comes_back(const struct pt_stream *s, uint64_t rip)
{
	return s->is_enabled && s->last.flow == DEC_FLOW_RET && s->returns.size > 0 &&
	       s->returns.data[s->returns.size - 1] == rip;
}

/* The kernel's copy of a branch has led to @p rip, and the debug trap into the kernel. */
static struct err *flow_leave_copy(struct pt_stream *s, uint64_t rip)
{
	struct err *err = flow_branch(s, rip);

	s->is_copied = false;
	if (!err)
		err = dec_pt_put_ip(s, ppt_fup, rip);
	return err ? err : dec_pt_flow_enter(s);
}

static bool is_branch(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_RET || insn->flow == DEC_FLOW_JMP_IND ||
	       insn->flow == DEC_FLOW_CALL_IND;
}

/* The kernel has it execute its copy of @p insn. */
static struct err *dec_flow_step(struct pt_stream *s, const struct dec_insn *insn)
{
	uint64_t slot = s->o->probe_page + 128 * (1 + insn->rip % 31);
	struct err *err = flow_enable(s, slot);

	s->last = (struct pt_last){ slot, 0, insn->len, insn->flow };
	s->is_copied = is_branch(insn); // it is known later where it leads
	if (err || s->is_copied)
		return err;
	err = dec_pt_put_ip(s, ppt_fup, slot + insn->len);
	return err ? err : dec_pt_flow_enter(s);
}

static bool is_stepped(const struct dec_insn *insn, uint64_t probe)
{
	if (probe & (DEC_PT_PROBE_EMULATED | DEC_PT_PROBE_STEPPED))
		return probe & DEC_PT_PROBE_STEPPED;
	return insn->flow != DEC_FLOW_JCC && insn->flow != DEC_FLOW_JMP &&
	       insn->flow != DEC_FLOW_CALL;
}

struct err *dec_pt_flow_probe(struct pt_stream *s, const struct dec_insn *insn,
			      uint64_t probe, uint64_t time)
{
	bool is_called = s->last.flow == DEC_FLOW_CALL ||
			 s->last.flow == DEC_FLOW_CALL_IND;
	uint64_t back = s->last.rip + s->last.len, *slot;
	struct err *err = dec_pt_flow_arrive(s, insn->rip, time);

	dec_pt_flow_ran(s, insn, 1);
	if (err || s->is_losing)
		return err;
	s->stats.probe_hits++;
	if (probe & DEC_PT_PROBE_RETURN && is_called) {
		slot = vec_push(&s->returns);
		if (!slot)
			return &err_nomem;
		*slot = back;
	}
	err = dec_pt_flow_enter(s);
	return err || !is_stepped(insn, probe) ? err : dec_flow_step(s, insn);
}

/* ---- what runs ---------------------------------------------------------------------------- */

struct err *dec_pt_flow_arrive(struct pt_stream *s, uint64_t rip, uint64_t time)
{
	struct err *err;
	bool comes_back;

	if (s->is_losing) {
		if (time >= s->lose_until)
			return flow_recover(s, rip, time);
		s->is_enabled = true;
		return NULL;
	}
	comes_back = flow_comes_back(s, rip);
	err = s->is_copied ? flow_leave_copy(s, comes_back ? s->o->probe_page : rip) :
			     NULL;
	if (!err && comes_back)
		err = flow_come_back(s, rip);
	else if (!err)
		err = s->is_enabled ? flow_branch(s, rip) : flow_enable(s, rip);
	if (!err && s->extras)
		err = dec_pt_put_extras(s, rip);
	if (!err)
		err = dec_pt_put_mtc(s);
	if (!err && s->stats.bytes - s->psb_at >= s->o->psb_bytes)
		err = dec_pt_put_psb(s, rip);
	return err;
}

void dec_pt_flow_ran(struct pt_stream *s, const struct dec_insn *last, uint64_t n)
{
	s->last = (struct pt_last){ last->rip, last->target, last->len, last->flow };
	s->stats.instructions += n;
}

void dec_pt_flow_again(struct pt_stream *s)
{
	s->last.len = 0;
	s->last.flow = DEC_FLOW_NEXT;
	s->stats.instructions--;
}
