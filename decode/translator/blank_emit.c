// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What goes around the guest's instructions while it is followed which bytes have no value (blank.h): what an
 * instruction reads is looked at, and what it writes has a value.
 */

#include "decode/translator/blank.h"

#include "decode/translator/guard_emit.h"
#include "decode/x86/zydis.h"

static int32_t off_of(const struct translation *t)
{
	return t->e->guard->blank->off;
}

/* Can emitted code address the shadow of @p m, @p at bytes on? */
static bool is_in_reach(const struct translation *t, const struct dec_mem *m, int at)
{
	int64_t disp = m->disp + at + off_of(t);

	if (m->is_addr32 || m->is_gs)
		return false;
	if (m->is_absolute && !m->is_fs)
		disp -= (int64_t)t->out.p + 64;
	return disp > INT32_MIN + 256 && disp < INT32_MAX - 256;
}

/* op [shadow of m + at] of @p size bytes, with an immediate of @p imm_size bytes behind it. */
static void shadow_op(struct translation *t, struct dec_emit *o, uint8_t op, int kind,
		      const struct dec_mem *m, int at, int size, int imm_size)
{
	int64_t disp = m->disp + at + off_of(t);
	uint8_t base = m->base, index = m->index;

	if (m->is_fs) {
		base = t->block->far_reg;
		index = DEC_REG_NONE;
		emit_fs_sum(o, base, m);
	}
	if (size == 2)
		emit_u8(o, 0x66);
	if (m->is_absolute && !m->is_fs) {
		if (size == 8)
			emit_u8(o, 0x48);
		emit_u8(o, op);
		emit_u8(o, kind << 3 | 5);
		emit_u32(o, disp - ((int64_t)o->p + 4 + imm_size));
		return;
	}
	emit_mem_op(o, size == 8, op, kind, base, index, m->scale, disp);
}

static int piece(int left)
{
	return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* Where instruction @p i leaves for C. Behind a branch there is no way back. */
static uint8_t *stub_of(struct translation *t, int i)
{
	return t->insn[i].flow == DEC_FLOW_NEXT ? dec_guard_step_stub(t, i) :
						  dec_guard_run_stub(t, i);
}

/* .. as what it reads has no value. */
static uint8_t *blank_stub(struct translation *t, int i)
{
	if (t->insn[i].flow != DEC_FLOW_NEXT ||
	    !dec_guard_foreign(t->e->guard, t->insn[i].rip))
		return stub_of(t, i);
	if (!t->blank_stub) {
		t->blank_event =
			dec_guard_make_event(t, GUARD_EVENT_BLANK, t->insn[i].rip, 0);
		t->blank_stub = t->cold.p;
		dec_guard_leave(t, t->blank_event);
	}
	return t->blank_stub;
}

/* Have the bytes of [@p m] values? If not, it jumps on. @return how many jumps there are. */
static int compare(struct translation *t, int i, const struct dec_mem *m,
		   uint8_t *jump[8])
{
	int n, n_jumps = 0;

	dec_guard_keep_flags(t, i);
	for (int at = 0; at < m->size; at += n) {
		n = piece(m->size - at);
		shadow_op(t, &t->out, n == 1 ? 0x80 : 0x83, 7, m, at, n, 1);
		emit_u8(&t->out, 0);
		jump[n_jumps++] = emit_jcc_rel(&t->out, CC_NE);
	}
	return n_jumps;
}

/* In the cold part: have those of the lanes that are accessed? */
static void compare_lanes(struct translation *t, int i, const struct dec_mem *m,
			  const uint8_t *stub)
{
	struct dec_emit *c = &t->cold;
	struct dec_mem shadow = *m;

	shadow.disp += off_of(t);
	emit_ctx_zmm31(c, 0x7f, CTX_VECTOR);
	emit_load_lanes(c, 31, &shadow, t->insn[i].lane_bytes, t->insn[i].lane_mask);
	emit_ctx_zmm31(c, 0x7f, CTX_BLANK_LANES);
	emit_ctx_zmm31(c, 0x6f, CTX_VECTOR);
	for (int at = 0; at < m->size; at += 8) {
		emit_ctx_prefix(c); // cmp qword ctx:[..], 0
		emit_bytes(c, "\x48\x83", 2);
		emit_abs(c, 7, CTX_BLANK_LANES + at);
		emit_u8(c, 0);
		emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	}
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

/* .. those that are written have values from now on. */
static void clear_lanes(struct translation *t, int i, const struct dec_mem *m)
{
	struct dec_emit *c = &t->cold;
	struct dec_mem shadow = *m;

	shadow.disp += off_of(t);
	emit_ctx_zmm31(c, 0x7f, CTX_VECTOR);
	emit_bytes(c, "\x62\x01\x05\x40\xef\xff", 6); // vpxord zmm31, zmm31, zmm31
	emit_store_lanes(c, 31, &shadow, t->insn[i].lane_bytes, t->insn[i].lane_mask);
	emit_ctx_zmm31(c, 0x6f, CTX_VECTOR);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

static void test(struct translation *t, int i, const struct dec_mem *m)
{
	bool has_lanes = t->insn[i].lane_bytes;
	uint8_t *jump[8], *stub;
	int n = compare(t, i, m, jump);

	stub = blank_stub(t, i);
	for (int k = 0; k < n; k++)
		emit_patch_rel(jump[k], has_lanes ? t->cold.p : stub);
	if (has_lanes && m->is_read)
		compare_lanes(t, i, m, stub);
	else if (has_lanes)
		clear_lanes(t, i, m);
}

/* The bytes of [@p m], @p from on, @p size of them, have values; or, @p is_blank, none. */
static void set(struct translation *t, const struct dec_mem *m, int from, int size,
		bool is_blank)
{
	int n;

	for (int at = 0; at < size; at += n) {
		n = piece(size - at);
		shadow_op(t, &t->out, n == 1 ? 0xc6 : 0xc7, 0, m, from + at, n,
			  n == 8 ? 4 : n);
		for (int k = 0; k < (n == 8 ? 4 : n); k++)
			emit_u8(&t->out, is_blank ? 0xff : 0);
	}
}

/* .. [rsp + at] and @p size bytes on, none. */
static void blank_stack(struct translation *t, int at, int size)
{
	const struct dec_mem m = { .base = CAP_RSP, .index = DEC_REG_NONE, .scale = 1 };
	struct dec_emit *o = &t->out;

	if (size <= 64 || !t->e->guard->blank->has_avx2) {
		set(t, &m, at, size, true);
		return;
	}
	emit_ctx_prefix(o); // vmovdqu ctx:[..], ymm15
	emit_bytes(o, "\xc5\x7e\x7f", 3);
	emit_abs(o, 7, CTX_VECTOR);
	emit_bytes(o, "\xc4\x41\x05\x76\xff", 5); // vpcmpeqd ymm15, ymm15, ymm15
	for (int k = 0; k < size; k += 32)
		emit_store_vec(o, CAP_RSP,
			       at + off_of(t) + (k + 32 <= size ? k : size - 32), 15, 32);
	emit_ctx_prefix(o);
	emit_bytes(o, "\xc5\x7e\x6f", 3);
	emit_abs(o, 7, CTX_VECTOR);
}

#define RED_ZONE 128

/* By how much does the stack pointer go down by @p insn, which adds a constant to it? 0: not, or it is none. */
static int64_t stack_step(const struct dec_insn *insn)
{
	const uint8_t *p = insn->bytes;
	int32_t imm;

	if (p[0] != 0x48 || (p[1] != 0x83 && p[1] != 0x81) ||
	    (p[2] != 0xec && p[2] != 0xc4))
		return 0;
	if (p[1] == 0x83)
		imm = (int8_t)p[3];
	else
		memcpy(&imm, p + 3, 4);
	return p[2] == 0xec ? imm : -(int64_t)imm;
}

/* mov qword ctx:[..], 0 */
static void forget_string(struct translation *t)
{
	emit_ctx_prefix(&t->out);
	emit_bytes(&t->out, "\x48\xc7", 2);
	emit_abs(&t->out, 0, CTX_BLANK_CALL);
	emit_u32(&t->out, 0);
}

static void calls(struct translation *t)
{
	const struct dec_mem m = { .base = CAP_RSP, .index = DEC_REG_NONE, .scale = 1 };

	blank_stack(t, -8 - RED_ZONE, RED_ZONE);
	set(t, &m, -8, 8, false);
}

/* Is a step of the stack pointer one that makes no room, or none that is known here? */
static bool raises_stack(const struct dec_insn *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_LEA: // as a function with alloca() ends
		return insn->gpr_read == 1u << CAP_RBP;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_POPFQ:
		return insn->mnemonic != ZYDIS_MNEMONIC_POP || insn->n_mem == 1;
	default:
		return insn->flow == DEC_FLOW_RET;
	}
}

static bool is_for_c(struct translation *t, const struct dec_insn *insn)
{
	const bool moves_stack = insn->gpr_written >> CAP_RSP & 1;
	int64_t step = stack_step(insn);

	if ((insn->is_string && !dec_guard_is_word_move(insn)) || insn->is_rep ||
	    (insn->is_slow_addr && !insn->lane_bytes))
		return true;
	for (int k = 0; k < insn->n_mem; k++)
		if (!is_in_reach(t, &insn->mem[k], 0))
			return true;
	return moves_stack && insn->mnemonic != ZYDIS_MNEMONIC_PUSH &&
	       insn->flow == DEC_FLOW_NEXT && !raises_stack(insn) &&
	       (!step || step > 2048);
}

/* op dword ctx:[off], imm: test, or @p is_and, unless it is 0. @return whether it is not. */
static bool registers_op(struct dec_emit *o, bool is_and, uint32_t off, uint32_t imm)
{
	if (imm)
		ctx_imm32(o, is_and, off, is_and ? ~imm : imm);
	return imm;
}

/* Test @p regs, and jump where one of them lacks a value. @return how many such jumps there are. */
static int test_registers(struct dec_emit *o, struct blank_regs regs, uint8_t *jump[3])
{
	int n = 0;

	if (registers_op(o, false, CTX_BLANK, regs.own))
		jump[n++] = emit_jcc_rel(o, CC_NE);
	if (registers_op(o, false, CTX_BLANK_LOW, regs.low))
		jump[n++] = emit_jcc_rel(o, CC_NE);
	if (registers_op(o, false, CTX_BLANK_LOW + 4, regs.high))
		jump[n++] = emit_jcc_rel(o, CC_NE);
	return n;
}

static void define_registers(struct dec_emit *o, struct blank_regs regs)
{
	registers_op(o, true, CTX_BLANK, regs.own);
	registers_op(o, true, CTX_BLANK_LOW, regs.low);
	registers_op(o, true, CTX_BLANK_LOW + 4, regs.high);
}

/* C does a block that uses a register without a value. Those that it defines before it uses them, if at all, have one: what
 * is in one of them between is nobody's. */
static void look_at(struct translation *t, struct blank_regs uses, struct blank_regs defs)
{
	struct dec_emit *c = &t->cold;
	uint8_t *jump[3], *use[3], *run;
	int n = test_registers(&t->out, blank_regs_add(uses, defs), jump), n_uses;

	if (!n)
		return;
	run = dec_guard_run_stub(t, 0);
	while (n)
		emit_patch_rel(jump[--n], c->p);
	n_uses = test_registers(c, uses, use);
	while (n_uses)
		emit_patch_rel(use[--n_uses], run);
	define_registers(c, defs);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

/* ---- copies -------------------------------------------------------------------------------------- */

/*
 * A struct with gaps is copied by loads and stores of whole registers. Where nothing else is done with what was
 * loaded than that it is stored, in its block or, of vector registers, in another one, emitted code
 * copies which bits have no value, too.
 */

/* @return those of @p bytes of register @p reg. */
static struct blank_regs bits_of(uint8_t reg, int bytes)
{
	if (reg < DEC_GPRS)
		return (struct blank_regs){ .own = 1u << reg };
	return (struct blank_regs){ .low = 1u << (reg - DEC_REG_VEC),
				    .high = (uint32_t)(bytes > 8)
					    << (reg - DEC_REG_VEC) };
}

static bool is_copy(const struct translation *t, const struct dec_insn *insn)
{
	const struct dec_mem *m = insn->mem;
	bool is_known = insn->mnemonic == ZYDIS_MNEMONIC_MOV ||
			dec_insn_is_vector_copy(insn->mnemonic) ||
			(insn->mnemonic >= ZYDIS_MNEMONIC_VMOVDQA &&
			 insn->mnemonic <= ZYDIS_MNEMONIC_VMOVDQU8) ||
			insn->mnemonic == ZYDIS_MNEMONIC_VMOVUPS ||
			insn->mnemonic == ZYDIS_MNEMONIC_VMOVAPS ||
			insn->mnemonic == ZYDIS_MNEMONIC_MOVQ ||
			insn->mnemonic == ZYDIS_MNEMONIC_MOVSD;

	return is_known && insn->flow == DEC_FLOW_NEXT && insn->n_mem == 1 &&
	       !insn->lane_bytes && !insn->is_slow_addr && !m->is_fs && !m->is_absolute &&
	       is_in_reach(t, m, 0) && is_in_reach(t, m, m->size);
}

/* @return the register that @p insn loads, with zeros behind; DEC_REG_NONE: it is no such load. */
static uint8_t loaded(const struct translation *t, const struct dec_insn *insn)
{
	uint32_t vec = insn->other_written;

	if (!is_copy(t, insn) || !insn->mem[0].is_read || insn->mem[0].is_write)
		return DEC_REG_NONE;
	if (insn->gpr_written && !vec)
		return insn->mem[0].size >= 4 && insn->gpr_written != RSP_BIT ?
			       __builtin_ctz(insn->gpr_written) :
			       DEC_REG_NONE;
	return vec && !insn->gpr_written && insn->mem[0].size >= 8 ?
		       DEC_REG_VEC + __builtin_ctz(vec) :
		       DEC_REG_NONE;
}

/* @return the register whose low bytes @p insn stores; DEC_REG_NONE: it is no such store. */
static uint8_t stored(const struct translation *t, const struct dec_insn *insn)
{
	const struct dec_mem *m = insn->mem;

	if (!is_copy(t, insn) || !m->is_write || m->is_read ||
	    insn->store_reg >= DEC_REG_K || insn->store_reg == m->base ||
	    insn->store_reg == m->index || insn->store_reg == CAP_RSP)
		return DEC_REG_NONE;
	return insn->store_reg >= DEC_REG_VEC && m->size < 8 ? DEC_REG_NONE :
							       insn->store_reg;
}

/* From instruction @p i on: is nothing done with @p reg, whose bits are @p bits, but that it is stored? */
static bool is_stored_only(const struct translation *t, int i, uint8_t reg,
			   struct blank_regs bits)
{
	for (; i < t->n; i++) {
		struct blank_regs writes, reads = dec_blank_regs(&t->insn[i], &writes);

		if (blank_regs_meet(reads, bits) && stored(t, &t->insn[i]) != reg)
			return false;
		if (!blank_regs_meet(blank_regs_without(bits, writes), bits))
			return true;
	}
	return true;
}

/* A general register that an access of @p m does not need, to be put aside. */
static int aside(const struct dec_mem *m)
{
	int reg = CAP_RAX;

	while (reg == m->base || reg == m->index)
		reg++;
	return reg;
}

/* Copy @p size bytes of the shadow of @p m to the bits of @p reg, or, @p is_store, back. */
static void copy_bits(struct translation *t, uint8_t reg, const struct dec_mem *m,
		      bool is_store)
{
	uint32_t bits = CTX_BLANK_BITS +
			(reg < DEC_GPRS ?
				 offsetof(struct blank_bits, gpr[reg]) :
				 offsetof(struct blank_bits, vec[reg - DEC_REG_VEC]));
	int width = reg < DEC_GPRS ? 8 : 64, via = aside(m), n;
	struct dec_emit *c = &t->cold;

	emit_ctx_store(c, CTX_GUARD_SPILL + 24, via);
	for (int at = 0; at < m->size; at += n) {
		n = piece(m->size - at);
		if (is_store) {
			emit_ctx_load(c, via, bits + at);
			shadow_op(t, c, n == 1 ? 0x88 : 0x89, via, m, at, n, 0);
		} else {
			shadow_op(t, c, 0x8b, via, m, at, n, 0);
			emit_ctx_store(c, bits + at, via);
		}
	}
	for (int at = (m->size + 7) & ~7; at < width && !is_store; at += 8) {
		emit_ctx_prefix(c); // mov qword ctx:[..], 0
		emit_bytes(c, "\x48\xc7", 2);
		emit_abs(c, 0, bits + at);
		emit_u32(c, 0);
	}
	emit_ctx_load(c, via, CTX_GUARD_SPILL + 24);
}

/* Instruction @p i loads @p reg: if what it reads lacks values, so does that. */
static void carry_load(struct translation *t, int i, uint8_t reg, const struct dec_mem *m)
{
	struct blank_regs bits = bits_of(reg, m->size);
	struct dec_emit *c = &t->cold;
	uint8_t *jump[8];
	int n = compare(t, i, m, jump);

	while (n)
		emit_patch_rel(jump[--n], c->p);
	copy_bits(t, reg, m, false);
	if (bits.own)
		ctx_or_imm32(c, CTX_BLANK, bits.own);
	if (bits.low)
		ctx_or_imm32(c, CTX_BLANK_LOW, bits.low);
	if (bits.high)
		ctx_or_imm32(c, CTX_BLANK_LOW + 4, bits.high);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
	t->blank_carried = blank_regs_add(t->blank_carried, bits);
}

/* .. stores it, which may lack some. */
static void carry_store(struct translation *t, int i, uint8_t reg,
			const struct dec_mem *m)
{
	struct dec_emit *c = &t->cold;
	uint8_t *jump[3];
	int n;

	dec_guard_keep_flags(t, i);
	n = test_registers(&t->out, bits_of(reg, m->size), jump);
	while (n)
		emit_patch_rel(jump[--n], c->p);
	copy_bits(t, reg, m, true);
	set(t, m, 0, m->size, false);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

/* @return whether instruction @p i is one of a copy, and dealt with. */
static bool carry(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	uint8_t from = stored(t, insn), to = loaded(t, insn);
	struct blank_regs writes;

	if (from != DEC_REG_NONE &&
	    blank_regs_meet(t->blank_carried, bits_of(from, insn->mem[0].size))) {
		carry_store(t, i, from, insn->mem);
		return true;
	}
	dec_blank_regs(insn, &writes);
	if (blank_regs_meet(t->blank_carried, writes)) {
		dec_guard_keep_flags(t, i);
		define_registers(&t->out, writes);
		t->blank_carried = blank_regs_without(t->blank_carried, writes);
	}
	if (to == DEC_REG_NONE || !is_stored_only(t, i + 1, to, bits_of(to, 64)))
		return false;
	carry_load(t, i, to, insn->mem);
	return true;
}

bool dec_blank_before(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	bool is_branch = insn->flow != DEC_FLOW_NEXT;
	int64_t step;

	if (is_for_c(t, insn)) {
		uint8_t *jump = emit_jmp_rel(&t->out);

		emit_patch_rel(jump, stub_of(t, i));
		return true;
	}
	if (carry(t, i))
		return false;
	for (int k = 0; k < insn->n_mem; k++)
		if (insn->mem[k].is_read || insn->lane_bytes)
			test(t, i, &insn->mem[k]);
	if (t->blank_stub)
		t->e->guard->events.data[t->blank_event].passed = t->out.p;
	for (int k = 0; k < insn->n_mem; k++)
		if (insn->mem[k].is_write && !insn->mem[k].is_read && !is_branch &&
		    !insn->lane_bytes)
			set(t, &insn->mem[k], 0, insn->mem[k].size, false);
	if (insn->flow == DEC_FLOW_CALL_IND) // the function may be another one next time
		forget_string(t);
	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND) {
		calls(t);
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_PUSH) {
		blank_stack(t, -8 - RED_ZONE, 8);
	} else if (insn->gpr_written >> CAP_RSP & 1) {
		step = stack_step(insn);
		if (step > 0)
			blank_stack(t, -step - RED_ZONE, step);
	}
	return false;
}

static void enter_string(struct translation *t, uint64_t hook)
{
	static const uint8_t args[] = { CAP_RSP, CAP_RDI, CAP_RSI, CAP_RDX };
	struct dec_emit *o = &t->out;

	for (int k = 0; k < 4; k++)
		emit_ctx_store(o, CTX_BLANK_CALL + 8 * k, args[k]);
	emit_ctx_store(o, CTX_GUARD_SPILL + 24, CAP_RAX);
	emit_bytes(o, "\x48\x8b\x04\x24", 4); // mov rax, [rsp]
	emit_ctx_store(o, CTX_BLANK_CALL + 32, CAP_RAX);
	emit_ctx_load(o, CAP_RAX, CTX_GUARD_SPILL + 24);
	emit_ctx_store_imm32(o, CTX_BLANK_HOOK, hook);
}

void dec_blank_open(struct translation *t)
{
	const struct dec_guard *g = t->e->guard;
	uint64_t *h = map_get(&g->hooks, t->block->rip), rip = t->block->rip;
	struct blank_course all = {};

	if (h && g->hook.data[*h - 1].kind == DEC_HOOK_STRING &&
	    !g->hook.data[*h - 1].is_resolver &&
	    vec_find(&g->foreign, f, rip >= f->rip && rip < f->end))
		enter_string(t, *h - 1);
	for (int i = 0; i < t->n; i++)
		dec_blank_add(&all, &t->insn[i]);
	t->blank_carried = (struct blank_regs){};
	for (uint32_t left = all.uses.low; left; left &= left - 1) {
		uint8_t reg = DEC_REG_VEC + __builtin_ctz(left);

		if (is_stored_only(t, 0, reg, bits_of(reg, 64)))
			t->blank_carried =
				blank_regs_add(t->blank_carried, bits_of(reg, 64));
	}
	dec_guard_keep_flags(t, 0);
	look_at(t, blank_regs_without(all.uses, t->blank_carried),
		blank_regs_without(all.defs, t->blank_carried));
}
