// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/unprobe.h"

static const uint8_t last_of[] = {
	[DEC_FLOW_NEXT] = DEC_PT_LAST_OTHER,  [DEC_FLOW_JMP] = DEC_PT_LAST_JUMP,
	[DEC_FLOW_JCC] = DEC_PT_LAST_COND,    [DEC_FLOW_JRCX] = DEC_PT_LAST_COND,
	[DEC_FLOW_CALL] = DEC_PT_LAST_CALL,   [DEC_FLOW_CALL_IND] = DEC_PT_LAST_CALL,
	[DEC_FLOW_RET] = DEC_PT_LAST_RETURN,  [DEC_FLOW_JMP_IND] = DEC_PT_LAST_JUMP,
	[DEC_FLOW_SYSCALL] = DEC_PT_LAST_FAR,
};

/* The instruction under the breakpoint at @p ip. */
static bool find_insn(const struct dec_pt_image *im, uint64_t ip, struct dec_insn *ret)
{
	_cleanup_err_ struct err *err = dec_pt_image_insn(im, im->n_applied, ip, ret);

	return !err;
}

bool dec_pt_unprobe_run(struct dec_pt_unprobe *u, const struct dec_pt_image *im,
			struct dec_pt_run *run)
{
	struct dec_insn insn;

	if (dec_pt_image_is_page(im, run->ip)) {
		// A copy; or the way back from a function, to which no event leads.
		if (u->state == DEC_PT_UNPROBE_NOT) {
			u->state = DEC_PT_UNPROBE_PAGE;
			u->at = 0;
		}
		u->dropped += run->n_insns;
		return false;
	}
	u->state = DEC_PT_UNPROBE_NOT;
	if (run->last != DEC_PT_LAST_FAR || !map_get(&im->breaks, run->end_ip))
		return true;
	u->state = DEC_PT_UNPROBE_BREAK;
	u->at = run->end_ip;
	run->last = find_insn(im, run->end_ip, &insn) && insn.flow < sizeof(last_of) ?
			    last_of[insn.flow] :
			    DEC_PT_LAST_UNKNOWN;
	return true;
}

/* May the instruction at @p from lead to @p to? */
static bool leads(const struct dec_pt_image *im, uint64_t from, uint64_t to)
{
	struct dec_insn insn;

	if (!find_insn(im, from, &insn))
		return false;
	switch (insn.flow) {
	case DEC_FLOW_NEXT:
		return to == insn.rip + insn.len;
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
		return to == insn.target || to == insn.rip + insn.len;
	case DEC_FLOW_JMP:
	case DEC_FLOW_CALL:
		return to == insn.target;
	default:
		return true;
	}
}

static bool on_disabled(struct dec_pt_unprobe *u)
{
	switch (u->state) {
	case DEC_PT_UNPROBE_BREAK:
		u->state = DEC_PT_UNPROBE_KERNEL;
		return false;
	case DEC_PT_UNPROBE_PAGE:
		u->state = DEC_PT_UNPROBE_COPY;
		return false;
	default:
		return true;
	}
}

static bool on_enabled(struct dec_pt_unprobe *u, const struct dec_pt_image *im,
		       uint64_t ip, bool *has_left)
{
	enum dec_pt_unprobe_state before = u->state;

	u->state = DEC_PT_UNPROBE_NOT;
	if (dec_pt_image_is_page(im, ip)) {
		u->state = DEC_PT_UNPROBE_PAGE;
		return false;
	}
	if (before == DEC_PT_UNPROBE_COPY)
		return u->at && !leads(im, u->at, ip) ? *has_left = true : false;
	if (before != DEC_PT_UNPROBE_KERNEL)
		return true;
	// Elsewhere: the kernel had it handle a signal.
	*has_left = !leads(im, u->at, ip);
	return *has_left;
}

bool dec_pt_unprobe_event(struct dec_pt_unprobe *u, const struct dec_pt_image *im,
			  enum dec_pt_event_kind kind, uint64_t ip, bool *has_left)
{
	*has_left = false;
	switch (kind) {
	case DEC_PT_EV_DISABLED:
		return on_disabled(u);
	case DEC_PT_EV_ENABLED:
		return on_enabled(u, im, ip, has_left);
	default:
		return true;
	}
}

void dec_pt_unprobe_gap(struct dec_pt_unprobe *u)
{
	u->state = DEC_PT_UNPROBE_NOT;
	u->at = 0;
}
