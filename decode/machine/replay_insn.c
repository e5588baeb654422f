// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Instructions whose results the capture has: rdtsc, cpuid, rdrand.
 */
#include <cpuid.h>

#include "decode/machine/replay_int.h"
#include "decode/machine/signal.h"

static void replay_give_cpuid(struct dec_ctx *c, const uint32_t regs[4])
{
	c->gpr[CAP_RAX] = regs[0], c->gpr[CAP_RBX] = regs[1];
	c->gpr[CAP_RCX] = regs[2], c->gpr[CAP_RDX] = regs[3];
}

/* Executed where the recorder could not see it: in code of no file, on a CPU that cannot make
 * cpuid trap. The manifest's table knows. */
static void replay_unseen_cpuid(struct dec_replay *r, struct dec_ctx *c)
{
	const struct cap_cpu *cpu = &capture_info(r->capture)->cpu;
	bool is_bound = r->is_log_at_end || r->next.seq >= cpu->bound_from;
	uint32_t leaf = c->gpr[CAP_RAX], subleaf = c->gpr[CAP_RCX], out[4];

	if (!cpu->n) {
		dec_replay_note(r,
				"cpuid was not recorded: this host's answers were used");
		__cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
	} else if (!cap_cpu_find(cpu, leaf, subleaf,
				 is_bound ? cpu->bound_to : CAP_CPU_ANY, out)) {
		dec_replay_note(
			r,
			"cpuid at %#lx asked which CPU it ran on (leaf %x), which was "
			"not recorded: one CPU's answer was used",
			c->rip, leaf);
	}
	replay_give_cpuid(c, out);
}

static enum dec_verdict replay_cpuid(struct dec_replay *r, struct dec_engine *e)
{
	struct dec_ctx *c = e->ctx;
	bool is_next = !r->is_log_at_end && r->next.kind == CAP_EV_CPUID;

	if (!is_next ||
	    (r->next.regs.rip != c->rip && !capture_info(r->capture)->cpu.is_trapped)) {
		replay_unseen_cpuid(r, c);
		return DEC_GO;
	}
	if (r->next.regs.rip != c->rip || r->next.leaf != (uint32_t)c->gpr[CAP_RAX])
		return dec_replay_diverge(r, DEC_PARTED_EVENT,
					  "cpuid at rip %#lx; recorded: cpuid at %#lx",
					  c->rip, r->next.regs.rip);
	replay_give_cpuid(c, r->next.cpuid);
	return dec_replay_advance(r);
}

/* rdrand, rdseed, rdpid: the register and the flags that it gave. */
static enum dec_verdict replay_random(struct dec_replay *r, const struct dec_insn *insn)
{
	const uint64_t status = 0x8d5; // CF PF AF ZF SF OF
	struct dec_ctx *c = r->engine.ctx;
	const struct cap_regs *after = &r->next.regs;
	int to = __builtin_ctz(insn->gpr_written);

	if (r->is_log_at_end)
		return dec_replay_end_of_log(r, "a random number");
	if (r->next.kind != CAP_EV_RANDOM || after->rip != c->rip + insn->len)
		return dec_replay_diverge(
			r, DEC_PARTED_EVENT,
			"%s at rip %#lx after %lu instructions, whose "
			"result was not recorded; recorded: %s at rip %#lx",
			dec_insn_name(insn), c->rip, r->engine.now,
			dec_replay_kind_name(r->next.kind), after->rip);
	c->gpr[to] = after->gpr[to];
	c->rflags = (c->rflags & ~status) | (after->rflags & status);
	return dec_replay_advance(r);
}

enum dec_verdict dec_replay_special(void *ctx, struct dec_engine *e,
				    const struct dec_insn *insn)
{
	struct dec_replay *r = ctx;
	const struct cap_cpu *cpu = &capture_info(r->capture)->cpu;
	struct dec_ctx *c = e->ctx;
	enum dec_verdict v;

	if (insn->flow == DEC_FLOW_CPUID) {
		v = replay_cpuid(r, e);
	} else if (insn->flow == DEC_FLOW_RANDOM) {
		v = replay_random(r, insn);
	} else {
		if (dec_replay_signal_is_instead(r, insn->len)) {
			v = dec_replay_signal_instead(r);
			return v == DEC_GO ? DEC_RAISED : v;
		}
		if (r->is_log_at_end)
			return dec_replay_end_of_log(r, "a time stamp");
		if (r->next.kind != CAP_EV_TSC || r->next.regs.rip != c->rip)
			return dec_replay_diverge(
				r, DEC_PARTED_EVENT,
				"rdtsc at rip %#lx after %lu instructions%s; "
				"recorded: %s at rip %#lx",
				c->rip, e->now,
				cpu->is_tsc_probed ?
					", which could not trap where this was recorded, "
					"and was not found in a file" :
					"",
				dec_replay_kind_name(r->next.kind), r->next.regs.rip);
		c->gpr[CAP_RAX] = (uint32_t)r->next.tsc;
		c->gpr[CAP_RDX] = r->next.tsc >> 32;
		if (r->next.is_rdtscp)
			c->gpr[CAP_RCX] = r->next.tsc_aux;
		v = dec_replay_advance(r);
	}
	if (v == DEC_GO) {
		uint64_t rip = c->rip;

		c->rip += insn->len; // the state record is for behind the instruction
		dec_replay_state_record(r, DEC_STATE_INSN, insn);
		c->rip = rip;
	}
	return v;
}
