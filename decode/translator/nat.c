// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What nat.h says of emitted code. Tests come before their instruction and change nothing that
 * it sees: where flags are looked at later they are a load and `jrcxz`, else a comparison.
 * They borrow a register that the block does not use, from the first test to the next branch, or
 * where there is none of use rcx, for one instruction. A block's way to C counts what was executed,
 * as one out of its middle does.
 */
#include "decode/translator/nat.h"

#include <assert.h>

#include "decode/translator/translation.h"
#include "decode/x86/zydis.h"

#define CC_NE 5
#define NEAR 8	///< bytes between accesses that are tested at once, at most
#define SPAN 64 ///< bytes that are
#define SCRATCH (CTX_SPILL + 8)	  ///< where rcx is for one instruction
#define BORROWED (CTX_SPILL + 16) ///< where the block's register is
#define SECOND CTX_SPILL	  ///< what else is borrowed inside of a test

uint32_t dec_nat_fold(uint64_t regs)
{
	uint64_t vectors = regs >> DEC_REG_VEC & 0xffffffff;
	bool has_flags = regs >> DEC_REG_FLAGS & 1;
	bool has_other = (regs >> DEC_REG_K & 0xff) || (regs >> DEC_REG_X87 & 1);

	return (regs & 0xffff) | (uint32_t)has_flags << 16 | (uint32_t)has_other << 17 |
	       (vectors & 0x1fff) << 18 | (uint32_t)(vectors >> 13 != 0) << 31;
}

uint64_t dec_nat_registers(const struct dec_insn *insn)
{
	const uint64_t never = UINT64_C(1) << CAP_RSP | UINT64_C(1) << DEC_REG_RIP |
			       UINT64_C(1) << DEC_REG_MXCSR;
	uint64_t regs = insn->gpr_read | insn->gpr_written |
			(insn->other_read | insn->other_written) << DEC_REG_VEC;

	if (insn->reads_flags || insn->writes_flags)
		regs |= UINT64_C(1) << DEC_REG_FLAGS;
	return regs & ~never;
}

/* ---- borrowed registers, ways out ---------------------------------------------------- */

/** Tests of one instruction. */
struct tests {
	struct translation *t;
	int i;
	bool is_dead;	 ///< the flags
	uint8_t scratch; ///< DEC_REG_NONE: none is borrowed yet
	bool has_rcx;	 ///< it is rcx, for this instruction alone
	struct {
		uint8_t *patch;
		bool has_rcx, is_held; ///< then: what has to be given back
	} out[4 * SPAN / 8];	       ///< jumps to C
	int n_out;
};

static void hold(struct translation *t)
{
	if (t->nat_is_held)
		return;
	emit_ctx_store(&t->out, BORROWED, t->block->nat_reg);
	t->nat_is_held = true;
}

void dec_translation_nat_release(struct translation *t)
{
	if (!t->nat_is_held)
		return;
	emit_ctx_load(&t->out, t->block->nat_reg, BORROWED);
	t->nat_is_held = false;
}

/* @p needs_rcx: no other register will do. */
static void borrow(struct tests *s, bool needs_rcx)
{
	uint8_t own = s->t->block->nat_reg;

	if (s->scratch == CAP_RCX || (s->scratch != DEC_REG_NONE && !needs_rcx))
		return;
	if (own != DEC_REG_NONE && (own == CAP_RCX || !needs_rcx)) {
		hold(s->t);
		s->scratch = own;
		return;
	}
	emit_ctx_store(&s->t->out, SCRATCH, CAP_RCX);
	s->scratch = CAP_RCX;
	s->has_rcx = true;
}

static void give_back(const struct tests *s, struct dec_emit *o)
{
	if (s->has_rcx)
		emit_ctx_load(o, CAP_RCX, SCRATCH);
}

static void add_out(struct tests *s, uint8_t *patch)
{
	assert(s->n_out < (int)(sizeof(s->out) / sizeof(*s->out)));
	s->out[s->n_out].patch = patch;
	s->out[s->n_out].has_rcx = s->has_rcx;
	s->out[s->n_out++].is_held = s->t->nat_is_held;
}

/* What was executed before instruction @p i and not counted; its own check lies before it. */
static int pending(const struct translation *t, int i)
{
	bool is_counted = t->debit_at >= 0 && t->debit_at <= i;

	return i - (is_counted ? t->n : -t->block->pending);
}

/* The ways out from where the same has been borrowed: from number @p first on. */
static void leave_alike(const struct tests *s, int first)
{
	struct translation *t = s->t;
	struct engine_exit *x;

	for (int k = first; k < s->n_out; k++)
		if (s->out[k].has_rcx == s->out[first].has_rcx &&
		    s->out[k].is_held == s->out[first].is_held)
			emit_patch_rel(s->out[k].patch, t->cold.p);
	if (s->out[first].has_rcx)
		emit_ctx_load(&t->cold, CAP_RCX, SCRATCH);
	if (s->out[first].is_held)
		emit_ctx_load(&t->cold, t->block->nat_reg, BORROWED);
	x = dec_translation_exit(t, ENGINE_EXIT_NAT, t->insn[s->i].rip);
	x->pending = pending(t, s->i);
	dec_translation_stub(t, &t->cold, x);
}

static void leave(const struct tests *s)
{
	bool has_left[2][2] = {};

	for (int k = 0; k < s->n_out; k++) {
		bool *has = &has_left[s->out[k].has_rcx][s->out[k].is_held];

		if (!*has)
			leave_alike(s, k);
		*has = true;
	}
}

/* ---- registers ------------------------------------------------------------------------- */

/* test dword ctx:[nat], mask */
static void emit_test(struct dec_emit *o, uint32_t mask)
{
	emit_ctx_prefix(o);
	emit_u8(o, 0xf7);
	emit_abs(o, 0, CTX_NAT);
	emit_u32(o, mask);
}

/* jrcxz over a jump. @return the jump's displacement. */
static uint8_t *emit_jmp_unless_rcx_0(struct dec_emit *o)
{
	emit_bytes(o, "\xe3\x05", 2);
	return emit_jmp_rel(o);
}

/* Some register is NaT: one of @p mask? */
static void look_closer(struct tests *s, uint32_t mask, uint8_t *from,
			const uint8_t *back)
{
	struct dec_emit *o = &s->t->cold;
	uint8_t *is_it, *jmp;

	emit_patch_rel(from, o->p);
	emit_ctx_store(o, SECOND, CAP_RAX);
	emit_bytes(o, "\x9f\x0f\x90\xc0", 4); // lahf; seto al
	emit_test(o, mask);
	is_it = emit_jcc_rel(o, CC_NE);
	for (int k = 0; k < 2; k++) {
		if (k)
			emit_patch_rel(is_it, o->p);
		emit_bytes(o, "\x04\x7f\x9e", 3); // add al, 127; sahf
		emit_ctx_load(o, CAP_RAX, SECOND);
		jmp = emit_jmp_rel(o);
		if (k)
			add_out(s, jmp);
		else
			emit_patch_rel(jmp, back);
	}
}

static void test_registers(struct tests *s, uint32_t mask)
{
	struct dec_emit *o = &s->t->out;
	uint8_t *some;

	mask &= s->t->e->nat->may_be;
	if (!mask)
		return;
	if (s->is_dead) {
		emit_test(o, mask);
		add_out(s, emit_jcc_rel(o, CC_NE));
		return;
	}
	borrow(s, true);
	emit_ctx_prefix(o);
	emit_bytes(o, "\x8b", 1); // mov ecx, ctx:[nat]
	emit_abs(o, CAP_RCX, CTX_NAT);
	some = emit_jmp_unless_rcx_0(o);
	look_closer(s, mask, some, o->p);
}

/* ---- memory ---------------------------------------------------------------------------- */

/* cmp size ctx:[base+off], 0 */
static void emit_compare(struct dec_emit *o, uint8_t base, uint32_t off, int size)
{
	uint8_t rex = (size == 8) << 3 | (base < DEC_GPRS ? base >> 3 : 0);

	emit_ctx_prefix(o);
	if (size == 2)
		emit_u8(o, 0x66);
	if (rex)
		emit_u8(o, 0x40 | rex);
	emit_u8(o, size == 1 ? 0x80 : 0x83);
	emit_modrm(o, 7, base, DEC_REG_NONE, 1, o->ctx + off);
	emit_u8(o, 0);
}

/* mov rcx, size ctx:[base+off], zero-extended; base is rcx or none */
static void emit_load_table(struct dec_emit *o, uint8_t base, uint32_t off, int size)
{
	emit_ctx_prefix(o);
	if (size == 8)
		emit_u8(o, 0x48);
	if (size < 4)
		emit_u8(o, 0x0f);
	emit_u8(o, size == 1 ? 0xb6 : size == 2 ? 0xb7 : 0x8b);
	emit_modrm(o, CAP_RCX, base, DEC_REG_NONE, 1, o->ctx + off);
}

/* The fs base is added to @p reg. */
static void emit_add_fs(struct tests *s, uint8_t reg)
{
	struct dec_emit *o = &s->t->out;
	uint8_t other = reg == CAP_RDX ? CAP_RAX : CAP_RDX;
	const struct dec_mem sum = { .base = reg, .index = other, .scale = 1 };

	emit_ctx_store(o, SECOND, other);
	emit_ctx_load(o, other, CTX_FS_BASE);
	emit_lea(o, reg, &sum);
	emit_ctx_load(o, other, SECOND);
}

/* Divide @p reg by 8, unsigned, the flags being as they were if they are looked at. */
static void emit_eighth(struct tests *s, uint8_t reg)
{
	struct dec_emit *o = &s->t->out;
	uint8_t both = 0xc0 | (reg & 7) << 3 | (reg & 7);

	if (s->t->e->has_rorx) { // of what is rotated to the top nobody asks
		emit_bytes(o,
			   (uint8_t[]){ 0xc4, reg < 8 ? 0xe3 : 0x43, 0xfb, 0xf0, both,
					3 },
			   6);
		return;
	}
	if (!s->is_dead) {
		emit_ctx_store(o, SECOND, CAP_RAX);
		emit_bytes(o, "\x9f\x0f\x90\xc0", 4); // lahf; seto al
	}
	emit_bytes(o, (uint8_t[]){ 0x48 | reg >> 3, 0xc1, 0xe8 | (reg & 7), 3 },
		   4); // shr
	if (!s->is_dead) {
		emit_bytes(o, "\x04\x7f\x9e", 3); // add al, 127; sahf
		emit_ctx_load(o, CAP_RAX, SECOND);
	}
}

/* Bring the table's place for @p m to the borrowed register. */
static void emit_place(struct tests *s, const struct dec_mem *m)
{
	struct dec_emit *o = &s->t->out;
	uint8_t reg = s->scratch;

	if (s->has_rcx && (m->base == CAP_RCX || m->index == CAP_RCX))
		emit_ctx_load(o, CAP_RCX, SCRATCH);
	emit_lea(o, reg, m);
	if (m->is_fs)
		emit_add_fs(s, reg);
	emit_eighth(s, reg);
	if (reg >= 8)
		emit_u8(o, 0x45);
	emit_bytes(o, "\x0f\xb7", 2); // movzx reg, its low 16 bits
	emit_u8(o, 0xc0 | (reg & 7) << 3 | (reg & 7));
}

/* Test @p m, a piece of the table at a time. */
static void test_memory(struct tests *s, const struct dec_mem *m)
{
	bool is_fixed = m->is_absolute && !m->is_fs;
	struct dec_emit *o = &s->t->out;
	struct dec_mem piece = *m;
	uint8_t base = DEC_REG_NONE;
	int size, n = ((is_fixed ? m->disp & 7 : 7) + m->size - 1) / 8 + 1;

	if (!is_fixed || !s->is_dead)
		borrow(s, !s->is_dead);
	if (!is_fixed && s->is_dead) {
		emit_place(s, m);
		base = s->scratch;
	}
	for (int at = 0; at < n; at += size) {
		uint32_t off = CTX_NAT_BYTES + (is_fixed ? (m->disp >> 3 & 0xffff) : 0);
		int left = n - at;

		// One count too many makes C look, and find nothing.
		size = left > 4 ? 8 : left > 2 ? 4 : left;
		if (s->is_dead) {
			emit_compare(o, base, off + at, size);
			add_out(s, emit_jcc_rel(o, CC_NE));
			continue;
		}
		piece.disp = m->disp + 8 * at;
		if (!is_fixed)
			emit_place(s, &piece);
		emit_load_table(o, is_fixed ? DEC_REG_NONE : CAP_RCX,
				is_fixed ? off + at : off, size);
		add_out(s, emit_jmp_unless_rcx_0(o));
	}
}

/* ---- several accesses at once -------------------------------------------------------- */

/* An access by one register, that others may be near to. */
static bool is_plain(const struct dec_mem *m)
{
	return (m->is_read || m->is_write) && m->base < DEC_GPRS &&
	       m->index == DEC_REG_NONE && !m->is_fs && !m->is_gs && !m->is_addr32 &&
	       !m->is_absolute;
}

static void extend(const struct dec_mem *m, int64_t moved, int64_t *lo, int64_t *hi)
{
	int64_t from = m->disp + moved, to = from + m->size;
	int64_t low = from < *lo ? from : *lo, high = to > *hi ? to : *hi;

	if (from > *hi + NEAR || to < *lo - NEAR || high - low > SPAN)
		return;
	*lo = low;
	*hi = high;
}

/* What is accessed by the register of @p m from instruction @p i on, while that is the same. */
static void span_from(const struct translation *t, int i, const struct dec_mem *m,
		      int64_t *lo, int64_t *hi)
{
	int64_t moved = 0;

	*lo = m->disp;
	*hi = m->disp + m->size;
	for (int j = i; j < t->n; j++) {
		const struct dec_insn *insn = &t->insn[j];
		int step = m->base == CAP_RSP ? dec_insn_rsp_step(insn) : 0;

		for (int k = 0; k < insn->n_mem; k++)
			if (is_plain(&insn->mem[k]) && insn->mem[k].base == m->base)
				extend(&insn->mem[k], moved, lo, hi);
		if (insn->gpr_written >> m->base & 1 && !step)
			return;
		moved += step;
	}
}

static void test_joined(struct tests *s, const struct dec_mem *m)
{
	struct translation_span *known = &s->t->nat_span[m->base];
	struct dec_mem all = *m;
	int64_t lo, hi;

	if (known->hi > known->lo && m->disp >= known->lo &&
	    m->disp + m->size <= known->hi)
		return;
	span_from(s->t, s->i, m, &lo, &hi);
	all.disp = lo;
	all.size = hi - lo;
	test_memory(s, &all);
	*known = (struct translation_span){ lo, hi };
}

/* Instruction @p i is behind us. */
static void move_spans(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	int step = dec_insn_rsp_step(insn);

	for (int r = 0; r < DEC_GPRS; r++) {
		struct translation_span *known = &t->nat_span[r];

		if (!(insn->gpr_written >> r & 1))
			continue;
		if (r == CAP_RSP && step) {
			known->lo -= step;
			known->hi -= step;
		} else {
			*known = (struct translation_span){};
		}
	}
}

/* ---- counters, calls -------------------------------------------------------------------- */

static void count(struct tests *s, uint32_t counter)
{
	struct dec_emit *o = &s->t->out;
	const struct dec_mem less = {
		.base = CAP_RCX, .index = DEC_REG_NONE, .scale = 1, .disp = -1
	};

	borrow(s, true);
	emit_ctx_load(o, CAP_RCX, CTX_NAT_LEFT + 8 * counter);
	emit_lea(o, CAP_RCX, &less);
	emit_bytes(o, "\xe3\x02\xeb\x05", 4); // jrcxz to the jump; over it
	add_out(s, emit_jmp_rel(o));
	emit_ctx_store(o, CTX_NAT_LEFT + 8 * counter, CAP_RCX);
}

/* opcode reg, ctx:[rcx*8+off] with REX.W */
static void emit_call_op(struct dec_emit *o, uint8_t opcode, int reg, uint32_t off)
{
	emit_ctx_prefix(o);
	emit_u8(o, 0x48 | (reg >> 3) << 2);
	emit_u8(o, opcode);
	emit_modrm(o, reg, DEC_REG_NONE, CAP_RCX, 8, o->ctx + CTX_NAT_CALLS + off);
}

static void note_call(struct tests *s, uint64_t ret)
{
	static const uint8_t kept[] = { CAP_RSP, 0,	  CAP_RBX, CAP_RBP,
					CAP_R12, CAP_R13, CAP_R14, CAP_R15 };
	struct dec_emit *o = &s->t->out;

	borrow(s, true);
	emit_bytes(o, "\x0f\xb7\xcc", 3); // movzx ecx, sp
	for (unsigned k = 0; k < sizeof(kept); k++)
		if (k != 1)
			emit_call_op(o, 0x89, kept[k], 8 * k);
	for (int half = 0; half < 2; half++) { // mov dword [..], imm32
		emit_ctx_prefix(o);
		emit_u8(o, 0xc7);
		emit_modrm(o, 0, DEC_REG_NONE, CAP_RCX, 8,
			   o->ctx + CTX_NAT_CALLS + 8 + 4 * half);
		emit_u32(o, ret >> 32 * half);
	}
}

static void note_return(struct tests *s)
{
	struct dec_emit *o = &s->t->out;
	const struct dec_mem behind = {
		.base = CAP_RSP, .index = DEC_REG_NONE, .scale = 1, .disp = 8
	};

	borrow(s, true);
	emit_lea(o, CAP_RCX, &behind);
	emit_bytes(o, "\x0f\xb7\xc9", 3); // movzx ecx, cx
	emit_call_op(o, 0xc7, 0, 0);
	emit_u32(o, 0);
}

/* ---- a block ------------------------------------------------------------------------------ */

/* May the stack pointer be in another stack behind @p insn? A frame pointer is in the same one. */
static bool may_leave_stack(const struct dec_insn *insn)
{
	if (!(insn->gpr_written >> CAP_RSP & 1) || dec_insn_rsp_step(insn))
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
		return false;
	case ZYDIS_MNEMONIC_MOV:
		if (insn->n_mem)
			return true;
		// fallthrough
	case ZYDIS_MNEMONIC_LEA:
		return !insn->gpr_read ||
		       insn->gpr_read & ~(1u << CAP_RBP | 1u << CAP_RSP);
	default:
		return true;
	}
}

bool dec_nat_is_for_c(const struct dec_insn *insn)
{
	// All lanes are tested for those that a mask has loaded or stored.
	bool is = insn->is_slow_addr && !insn->lane_bytes;

	for (int k = 0; k < insn->n_mem; k++)
		is |= insn->mem[k].is_addr32;
	return is || may_leave_stack(insn);
}

static bool is_call(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND;
}

static struct tests begin(struct translation *t, int i)
{
	return (struct tests){ .t = t,
			       .i = i,
			       .is_dead = dec_translation_dead(t, i) >= 0,
			       .scratch = DEC_REG_NONE };
}

void dec_translation_nat_plan(struct translation *t)
{
	// rcx first: it serves in all tests. The last is the target's of an indirect branch.
	static const uint8_t order[] = { CAP_RCX, CAP_RSI, CAP_RDI, CAP_R8,  CAP_R9,
					 CAP_R10, CAP_RDX, CAP_RAX, CAP_RBX, CAP_R12,
					 CAP_R13, CAP_R14, CAP_R15, CAP_RBP };
	struct engine_block *b = t->block;
	uint32_t used = 0;

	for (int i = 0; i < t->n; i++)
		used |= t->insn[i].gpr_read | t->insn[i].gpr_written;
	if (b->far_reg != DEC_REG_NONE)
		used |= 1u << b->far_reg;
	for (size_t k = 0; k < sizeof(order) && b->nat_reg == DEC_REG_NONE; k++)
		if (!(used >> order[k] & 1))
			b->nat_reg = order[k];
}

void dec_translation_nat_open(struct translation *t)
{
	struct tests s = begin(t, 0);
	const uint64_t kept = 1u << CAP_RBX | 1u << CAP_RBP | 1u << CAP_R12 |
			      1u << CAP_R13 | 1u << CAP_R14 | 1u << CAP_R15;
	uint64_t regs = 0;

	if (!t->n || t->e->nat->tests_each)
		return;
	for (int i = 0; i < t->n; i++) {
		regs |= dec_nat_registers(&t->insn[i]);
		// Those of the caller's that are NaT only C notes.
		if (is_call(&t->insn[i]))
			regs |= kept;
	}
	test_registers(&s, dec_nat_fold(regs));
	give_back(&s, &t->out);
	leave(&s);
}

void dec_translation_nat(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_nat *nat = t->e->nat;
	const uint64_t *counter = map_get(&nat->counted, insn->rip);
	struct tests s = begin(t, i);

	// In the midst of a block no bit changes: what has been tested is.
	if (nat->tests_each) {
		uint32_t mask = dec_nat_fold(dec_nat_registers(insn) |
					     (is_call(insn) ? 0xffef : 0));

		test_registers(&s, mask & ~t->nat_tested);
		t->nat_tested |= mask;
	}
	for (int k = 0; k < insn->n_mem && nat->tests_memory; k++) {
		const struct dec_mem *m = &insn->mem[k];

		if (!nat->tests_stack && is_plain(m) && m->base == CAP_RSP)
			continue;
		if (nat->joins && is_plain(m))
			test_joined(&s, m);
		else if (m->is_read || m->is_write)
			test_memory(&s, m);
	}
	if (counter)
		count(&s, *counter);
	if (is_call(insn))
		note_call(&s, insn->rip + insn->len);
	else if (insn->flow == DEC_FLOW_RET)
		note_return(&s);
	give_back(&s, &t->out);
	leave(&s);
	if (dec_insn_ends_block(insn))
		dec_translation_nat_release(t);
	if (t->nat_is_held)
		t->block->nat_held |= 1u << i;
	move_spans(t, i);
}
