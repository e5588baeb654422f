// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Who overwrote what a return depends on: its address, or the guard that compilers put in front of that, which the
 * function compares with the thread's (-fstack-protector)?
 */
#include <signal.h>
#include <string.h>

#include "faultlocate/fl_end_int.h"

#include "decode/x86/zydis.h"

#define GUARD_OF_THREAD 0x28  // at fs
#define STACK_BYTES (1 << 20) // above its end, where what is read is looked for
#define GUARD_STEPS 24	      // between the comparison and the call that gives up

/* dec_follow_stop_fn: who wrote it last is all that is asked. */
static enum dec_follow_next is_last(void *ctx, const struct dec_hop *later,
				    const struct dec_hop *hop)
{
	(void)ctx, (void)later, (void)hop;
	return DEC_FOLLOW_LAST;
}

/* Does it put there what belongs there: a call, or push and ret in place of a jump? */
static bool is_meant(const struct dec_insn *insn)
{
	const struct dec_mem *m = &insn->mem[0];

	return insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND ||
	       insn->mnemonic == ZYDIS_MNEMONIC_PUSH ||
	       (insn->n_mem && m->base == CAP_RSP && m->index == DEC_REG_NONE &&
		!m->disp);
}

/* The last that wrote to @p addr before @p time, unless it is what belongs there: a call's return address, a guard. */
static struct err *find_writer(struct fl_ender *e, uint64_t addr, uint64_t time)
{
	struct dec_location l = {
		.is_mem = true, .addr = addr, .size = 8, .tid = e->tid
	};
	const struct dec_past_step *s = NULL;
	const struct dec_hop *hop = NULL;
	const struct dec_insn *insn;
	struct dec_follow f = {};
	struct err *err =
		dec_follow(e->past, &l, time, DEC_FOLLOW_NUMBER, is_last, NULL, &f);

	if (!err && f.hops.size) {
		hop = &f.hops.data[0];
		err = dec_past_step_at(e->past, hop->position, &s);
	}
	insn = dec_past_insn(e->past, s);
	// The call behind a system call is under way when that has returned.
	if (!err && hop && !(insn && is_meant(insn)))
		err = fl_end_statement(e, hop->position + (hop->kind == DEC_HOP_KERNEL),
				       hop->rip, &e->end->smash.statement);
	dec_follow_deinit(&f);
	return err;
}

static bool is_guard_of_thread(const struct dec_insn *insn)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].is_fs && insn->mem[i].disp == GUARD_OF_THREAD &&
		    insn->mem[i].base == DEC_REG_NONE)
			return true;
	return false;
}

/* The memory on the stack that the step at @p time reads; 0: none. */
static struct err *read_on_stack(struct fl_ender *e, uint64_t time, uint64_t *ret)
{
	const struct dec_past_step *s = NULL;
	const struct dec_past_ref *r;
	struct err *err = dec_past_step_at(e->past, time, &s);

	*ret = 0;
	for (uint32_t i = 0; !err && s && (r = dec_past_ref(e->past, s, i)); i++)
		if (r->is_mem && !r->is_def && r->size == 8 &&
		    r->addr - e->regs.gpr[CAP_RSP] < STACK_BYTES)
			*ret = r->addr;
	return err;
}

static bool is_giving_up(const struct fl_ender *e, uint64_t rip)
{
	struct dec_place p = {};

	dec_symbols_place_bare(e->a->symbols, rip, &p);
	return p.function && !strncmp(p.function, "__stack_chk_fail", 16);
}

/* The call at @p call gave up because of the guard: the comparison is shortly before, and next to it the load of the
 * function's own. */
static struct err *find_guard(struct fl_ender *e, uint64_t call)
{
	struct fl_smash *smash = &e->end->smash;
	struct err *err = NULL;
	uint64_t at = 0;

	for (uint64_t k = 1; k <= GUARD_STEPS && k + 1 < call && !at && !err; k++) {
		const struct dec_past_step *s = NULL;
		const struct dec_insn *insn;

		err = dec_past_step_at(e->past, call - k, &s);
		insn = dec_past_insn(e->past, s);
		if (insn && is_guard_of_thread(insn))
			at = call - k;
	}
	for (int d = 1; at && !smash->addr && !err && d >= -2; d--)
		err = read_on_stack(e, at + d, &smash->addr);
	smash->is_guard = smash->addr;
	return err || !smash->addr ? err : find_writer(e, smash->addr, at);
}

static const struct dec_insn *insn_at(struct fl_ender *e, uint64_t time)
{
	const struct dec_past_step *s = NULL;
	struct err *err = dec_past_step_at(e->past, time, &s);

	err_destroy(err);
	return err ? NULL : dec_past_insn(e->past, s);
}

/* Did a function give back by @p reader what @p writer had put there, and not itself? */
static bool is_overwritten(struct fl_ender *e, const struct dec_hop *reader,
			   const struct dec_hop *writer)
{
	const struct dec_insn *insn = insn_at(e, reader->position);

	if (!writer->to.is_mem || !insn ||
	    (insn->mnemonic != ZYDIS_MNEMONIC_POP &&
	     insn->mnemonic != ZYDIS_MNEMONIC_LEAVE))
		return false;
	insn = insn_at(e, writer->position);
	return !insn || !is_meant(insn);
}

/* Behind `leave' the return address is where the frame pointer says. Was that overwritten, where a function that was called
 * kept it? Then what lies there is another's, and nobody overwrote it. */
static struct err *find_frame_pointer(struct fl_ender *e)
{
	struct dec_location rbp = { .reg = CAP_RBP, .size = 8, .tid = e->tid };
	struct fl_smash *smash = &e->end->smash;
	const struct dec_insn *insn = e->bad_at ? insn_at(e, e->bad_at - 1) : NULL;
	struct dec_follow f = {};
	struct err *err;

	if (!insn || insn->mnemonic != ZYDIS_MNEMONIC_LEAVE)
		return NULL;
	err = dec_follow(e->past, &rbp, e->bad_at - 1, DEC_FOLLOW_NUMBER, NULL, NULL, &f);
	for (size_t i = 1; i < f.hops.size && !smash->is_frame_pointer && !err; i++) {
		const struct dec_hop *hop = &f.hops.data[i];

		if (!is_overwritten(e, hop - 1, hop))
			continue;
		smash->is_frame_pointer = true;
		smash->addr = hop->to.addr;
		smash->rip = hop[-1].rip;
		err = fl_end_statement(e, hop->position + (hop->kind == DEC_HOP_KERNEL),
				       hop->rip, &smash->statement);
	}
	dec_follow_deinit(&f);
	return err;
}

struct err *fl_end_smash(struct fl_ender *e)
{
	const frame_stack *calls = &e->end->calls;
	struct fl_smash *smash = &e->end->smash;

	if (e->end->kind == FL_END_JUMP && e->bad_insn.flow == DEC_FLOW_RET &&
	    e->end->target_at) {
		struct err *err = find_frame_pointer(e);

		if (err || smash->is_frame_pointer)
			return err;
		smash->addr = e->end->target_at;
		smash->rip = e->end->rip;
		return find_writer(e, smash->addr, e->bad_at);
	}
	if (e->end->kind != FL_END_SENT || e->a->run.end_value != SIGABRT)
		return NULL;
	for (size_t i = calls->size; i--;) {
		smash->rip = calls->data[i].return_rip - 1;
		if (!fl_end_is_own(e->a, smash->rip))
			continue;
		return i + 1 < calls->size &&
				       is_giving_up(e,
						    calls->data[i + 1].return_rip - 1) ?
			       find_guard(e, calls->data[i].time) :
			       NULL;
	}
	return NULL;
}
