// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that a function takes of the stack as it runs: alloca(), arrays whose length is no constant. DWARF
 * says nothing of the one and little of the other, so the instructions are looked at that lower the stack's end:
 *
 *   gcc      sub %size, %rsp;  mov %rsp, %p  or  lea 15(%rsp), %p;  at -O0 it is aligned by shr, shl
 *   clang    mov %rsp, %p;  sub %size, %p  or, of a size that it knows, add $-size, %p;  mov %p, %rsp
 *
 * Compilers round the size up (gcc by up to 23 bytes), so what is told lies behind that. To probe the stack
 * they lower it by pages before; these belong to it.
 */
#include <string.h>

#include "faultlocate/bytes/bytes_int.h"

#include "decode/x86/zydis.h"

#define ALIGNMENT 16	 // of the stack's end, where memory is taken of it
#define ALIGNED_MAX 4096 // of the memory

static const char name[] = "memory of alloca() or of an array of variable length";

/* Does it lower the stack's end by a page? */
static bool is_probe(const struct dec_insn *insn)
{
	static const uint8_t sub_page[] = { 0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00 };

	return insn->len == sizeof(sub_page) &&
	       !memcmp(insn->bytes, sub_page, sizeof(sub_page));
}

/* .. by what a register holds? */
static bool is_by_register(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_SUB && !insn->n_mem &&
	       insn->gpr_written == 1u << CAP_RSP && insn->gpr_read & ~(1u << CAP_RSP);
}

bool fl_dynamic_may_take(const struct dec_insn *insn)
{
	return is_by_register(insn) || is_probe(insn);
}

/* The object of @p size bytes at @p start, of the function that runs. */
static uint32_t make(struct bytes_walk *w, uint64_t rip, uint64_t start, uint64_t size,
		     bool is_sure)
{
	struct dec_around around = { .at = { name, start, size } };
	uint32_t number = fl_objects_number(w, &around, rip);

	if (number && !is_sure)
		w->objects.all.data[number - 1].is_pending = true;
	return number;
}

/* A register is to hold @p addr, in what was just taken. */
static uint32_t point(struct bytes_walk *w, uint64_t rip, uint64_t addr)
{
	struct bytes_dynamic *d = &w->thread->dynamic;
	uint64_t above = addr - d->end;

	d->is_made = true;
	// Arguments of calls stay below it; what aligns it further is taken for such.
	return make(w, rip, d->end, d->before - d->end + (above & -ALIGNMENT), true);
}

static bool is_of_frame(const struct bytes_walk *w, const struct bytes_dynamic *d,
			uint64_t rsp)
{
	return d->end == rsp && d->frame_time == fl_objects_frame(w).time;
}

/* The stack's end goes from @p rsp to @p now. */
static void lower(struct bytes_walk *w, const struct dec_insn *insn, uint64_t rsp,
		  uint64_t now)
{
	struct bytes_dynamic *d = &w->thread->dynamic;

	if (!d->before || d->is_made || !is_of_frame(w, d, rsp))
		*d = (struct bytes_dynamic){ .before = rsp };
	d->end = now;
	d->frame_time = fl_objects_frame(w).time;
	d->is_taken |= is_by_register(insn);
}

/* clang: register @p reg, to which the stack's end was copied, was lowered; the end becomes that. */
static void take_copy(struct bytes_walk *w, const struct dec_step *s, int reg,
		      uint64_t rsp)
{
	const struct bytes_dynamic *d = &w->thread->dynamic;
	uint64_t now = s->gpr[reg];

	if (!d->is_copied || !is_of_frame(w, d, rsp) || now >= rsp ||
	    w->thread->gpr[reg] != rsp)
		return;
	hg_derived_set(w->objects.derive.regs, reg,
		       make(w, s->insn->rip, now, rsp - now, false));
}

/* .. it does. */
static void confirm(struct bytes_walk *w, uint32_t number, uint64_t rsp, uint64_t now)
{
	struct bytes_object *x = number ? &w->objects.all.data[number - 1] : NULL;

	if (x && x->is_pending && x->around.at.start == now &&
	    rsp <= now + x->around.at.size)
		x->is_pending = false;
}

/* gcc at -O0: between the shifts register @p reg is no address. */
static uint32_t shift(struct bytes_walk *w, const struct dec_step *s, int reg,
		      uint64_t rsp)
{
	const struct bytes_dynamic *d = &w->thread->dynamic;

	if (!d->is_taken || !is_of_frame(w, d, rsp))
		return 0;
	if (s->insn->mnemonic == ZYDIS_MNEMONIC_SHR)
		return w->thread->gpr[reg] - rsp < ALIGNED_MAX ? BYTES_NOBODY : 0;
	return s->gpr[reg] - rsp < ALIGNED_MAX ? point(w, s->insn->rip, s->gpr[reg]) : 0;
}

uint32_t fl_dynamic_pointer(struct bytes_walk *w, const struct dec_step *s, uint64_t addr)
{
	uint64_t rsp = s->gpr[CAP_RSP];
	struct bytes_dynamic *d = &w->thread->dynamic;

	if (d->is_taken && is_of_frame(w, d, rsp) && addr >= rsp && addr < d->before)
		return point(w, s->insn->rip, addr);
	if (s->insn->mnemonic == ZYDIS_MNEMONIC_MOV && addr == rsp)
		*d = (struct bytes_dynamic){ .end = rsp,
					     .is_copied = true,
					     .frame_time = fl_objects_frame(w).time };
	return 0;
}

static bool is_arithmetic(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_SUB ||
	       insn->mnemonic == ZYDIS_MNEMONIC_ADD ||
	       insn->mnemonic == ZYDIS_MNEMONIC_MOV ||
	       insn->mnemonic == ZYDIS_MNEMONIC_SHR ||
	       insn->mnemonic == ZYDIS_MNEMONIC_SHL;
}

void fl_dynamic_step(struct bytes_walk *w, const struct dec_step *s)
{
	uint64_t rsp = w->thread->gpr[CAP_RSP], now = s->gpr[CAP_RSP];
	struct hg_derived_regs *regs = w->objects.derive.regs;
	const struct insn_model *m;
	int reg;

	if (fl_dynamic_may_take(s->insn)) {
		if (now <= rsp)
			lower(w, s->insn, rsp, now);
		return;
	}
	m = is_arithmetic(s->insn) ? fl_bytes_model(w, s->insn) : NULL;
	if (!m || m->op[0].kind != MODEL_GPR || m->op[0].bytes != 8)
		return;
	reg = m->op[0].reg;
	switch (m->mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		take_copy(w, s, reg, rsp);
		return;
	case ZYDIS_MNEMONIC_MOV:
		if (reg == CAP_RSP && m->op[1].kind == MODEL_GPR && now < rsp)
			confirm(w, regs->gpr[m->op[1].reg], rsp, now);
		return;
	default:
		if (!regs->gpr[reg])
			hg_derived_set(regs, reg, shift(w, s, reg, rsp));
	}
}
