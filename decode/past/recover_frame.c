// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Frames: where an instruction sets the stack pointer from a frame pointer (leave, lea
 * rsp, [rbp-40]), what it was before is lost, and with it where all lies that was called
 * from there. But a function's frame has one size: how far apart the two were at the same
 * instruction another time, or as the function's beginning says, they are this time. A
 * guess: alloca makes frames of other sizes.
 */
#include "decode/past/recover_guess.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_PUSHES = 8, FRAME_CODE = 64 };

/** How far the stack pointer is below the frame pointer, by form of the last instruction. */
struct frame_size {
	uint64_t bytes;
	bool is_known, is_mixed;
};

bool dec_recover_frame_ends(const struct past_form *f)
{
	const struct dec_insn *insn = &f->insn;

	return f->kind == PAST_LEAVE ||
	       (insn->gpr_written >> PAST_RSP & 1 && !(insn->gpr_read >> PAST_RSP & 1) &&
		insn->gpr_read >> PAST_RBP & 1);
}

static bool both_known(const struct dec_recover *r, const struct past_frame *f)
{
	return r->bits.data[f->rsp].m == UINT64_MAX &&
	       r->bits.data[f->rbp].m == UINT64_MAX;
}

/* ---- what a function's beginning says ------------------------------------------------------ */

/* The code at @p at. @return false: it is not there. */
static bool code_read(const struct dec_recover *r, uint64_t at, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t part = 64 - ((at + i) & 63);

		if (part > n - i)
			part = n - i;
		if (r->mem.end->read(r->mem.end->ctx, at + i, to + i, part) !=
		    DEC_MAP_CONST)
			return false;
		i += part;
	}
	return true;
}

/* Where the function begins that returns behind step @p step, when it was called directly. */
static uint64_t function_of(const struct dec_recover *r, uint32_t step)
{
	const struct dec_insn *insn;
	uint8_t call[5];
	uint64_t back;
	int32_t rel;

	while (step < r->ran.steps.size) {
		insn = &r->ran.forms.data[r->ran.steps.data[step].form].insn;
		if (insn->flow == DEC_FLOW_RET)
			break;
		if (insn->flow != DEC_FLOW_NEXT)
			return 0;
		step++;
	}
	back = step < r->ran.steps.size ? dec_recover_next_rip(r, step) : 0;
	if (!back || !code_read(r, back - 5, call, 5) || call[0] != 0xe8)
		return 0;
	memcpy(&rel, call + 1, 4);
	return back + rel;
}

/* The size of the frame that the code at @p at sets up: push rbp; mov rbp, rsp; pushes; sub
 * rsp. @return false: it is not of this form. */
static bool frame_size_at(const struct dec_recover *r, uint64_t at, uint64_t *ret)
{
	static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5 };
	uint8_t c[FRAME_CODE];
	size_t i = 0;

	if (!at || !code_read(r, at, c, sizeof(c)))
		return false;
	if (!memcmp(c, "\xf3\x0f\x1e\xfa", 4))
		i = 4;
	if (memcmp(c + i, begin, sizeof(begin)) != 0)
		return false;
	i += sizeof(begin);
	*ret = 0;
	for (int n = 0; n < FRAME_PUSHES; n++) {
		size_t prefix = c[i] == 0x41;

		if (c[i + prefix] < 0x50 || c[i + prefix] > 0x57)
			break;
		i += 1 + prefix;
		*ret += 8;
	}
	if (c[i] == 0x48 && c[i + 1] == 0x83 && c[i + 2] == 0xec) {
		*ret += c[i + 3];
		return c[i + 3] < 0x80;
	}
	if (c[i] == 0x48 && c[i + 1] == 0x81 && c[i + 2] == 0xec) {
		int32_t size;

		memcpy(&size, c + i + 3, 4);
		*ret += size;
		return size > 0;
	}
	return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* What the executions say of each form's frames. */
static void sizes_see(const struct dec_recover *r, struct frame_size *sizes)
{
	for (size_t i = 0; i < r->ran.frames.size; i++) {
		const struct past_frame *f = &r->ran.frames.data[i];
		struct frame_size *s = &sizes[r->ran.steps.data[f->step].form];
		uint64_t bytes;

		if (!both_known(r, f))
			continue;
		bytes = r->bits.data[f->rbp].v - r->bits.data[f->rsp].v;
		s->is_mixed |= s->is_known && s->bytes != bytes;
		s->is_known = true;
		s->bytes = bytes;
	}
}

struct err *dec_recover_frames_apply(struct dec_recover *r)
{
	struct frame_size *sizes = calloc(r->ran.forms.size + 1, sizeof(*sizes));

	if (!sizes)
		return &err_nomem;
	sizes_see(r, sizes);
	for (size_t i = 0; i < r->ran.frames.size; i++) {
		const struct past_frame *f = &r->ran.frames.data[i];
		const struct frame_size *s = &sizes[r->ran.steps.data[f->step].form];
		uint64_t bytes = s->bytes;

		if (both_known(r, f) || s->is_mixed ||
		    (!s->is_known && !frame_size_at(r, function_of(r, f->step), &bytes)))
			continue;
		if (r->bits.data[f->rbp].m == UINT64_MAX)
			dec_recover_learn(r, f->rsp,
					  past_const(r->bits.data[f->rbp].v - bytes));
		else if (r->bits.data[f->rsp].m == UINT64_MAX)
			dec_recover_learn(r, f->rbp,
					  past_const(r->bits.data[f->rsp].v + bytes));
	}
	free(sizes);
	dec_recover_settle(r);
	return NULL;
}
