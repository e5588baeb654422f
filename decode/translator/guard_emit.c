// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What goes around the guest's instructions while a guard watches (guard.h). Before an instruction: is its
 * memory its pointer's, and does it do with tagged values nothing but what is done here, moves and
 * arithmetic of one pointer? If not, an event. Behind it: the tags of what it defined. Where the guest
 * still needs its flags they are kept meanwhile.
 */

#include "decode/translator/guard.h"

#include <assert.h>
#include <string.h>

#include "decode/translator/translation.h"
#include "decode/x86/zydis.h"

enum { CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_A = 7, CC_C = 2 };
enum { OP_ADD = 0x03, OP_OR = 0x0b, OP_SUB = 0x2b, OP_CMP = 0x3b, OP_MOV = 0x8b };

#define TAG(reg) (CTX_TAG + 4 * (reg))

/* ---- encodings ------------------------------------------------------------------------------------ */

/* op r32, ctx:[off] */
static void ctx_op32(struct dec_emit *o, uint8_t op, int reg, uint32_t off)
{
	if (reg >= 8)
		emit_u8(o, 0x44);
	emit_u8(o, op);
	emit_abs(o, reg, off);
}

/* mov ctx:[off], r32 */
static void ctx_store32(struct dec_emit *o, uint32_t off, int reg)
{
	ctx_op32(o, 0x89, reg, off);
}

/* cmp dword ctx:[off], 0 */
static void ctx_is_zero(struct dec_emit *o, uint32_t off)
{
	emit_u8(o, 0x83);
	emit_abs(o, 7, off);
	emit_u8(o, 0);
}

/* test / and dword ctx:[off], imm */
static void ctx_imm32(struct dec_emit *o, bool is_and, uint32_t off, uint32_t imm)
{
	emit_u8(o, is_and ? 0x81 : 0xf7);
	emit_abs(o, is_and ? 4 : 0, off);
	emit_u32(o, imm);
}

/* or dword ctx:[off], imm */
static void ctx_or_imm32(struct dec_emit *o, uint32_t off, uint32_t imm)
{
	emit_u8(o, 0x81);
	emit_abs(o, 1, off);
	emit_u32(o, imm);
}

/* op r64, r64 (to, from) */
static void reg_op(struct dec_emit *o, uint8_t op, int to, int from)
{
	emit_u8(o, 0x48 | (to >> 3) << 2 | from >> 3);
	emit_u8(o, op);
	emit_u8(o, 0xc0 | (to & 7) << 3 | (from & 7));
}

static void reg_op32(struct dec_emit *o, uint8_t op, int to, int from)
{
	emit_u8(o, 0x40 | (to >> 3) << 2 | from >> 3);
	emit_u8(o, op);
	emit_u8(o, 0xc0 | (to & 7) << 3 | (from & 7));
}

/* add/and r64, imm: @p kind 0, 4 */
static void reg_imm(struct dec_emit *o, int kind, int reg, int32_t imm)
{
	emit_u8(o, 0x48 | reg >> 3);
	emit_u8(o, 0x81);
	emit_u8(o, 0xc0 | kind << 3 | (reg & 7));
	emit_u32(o, imm);
}

/* shl/shr r64, n: @p kind 4, 5 */
static void reg_shift(struct dec_emit *o, int kind, int reg, uint8_t n)
{
	emit_u8(o, 0x48 | reg >> 3);
	emit_u8(o, 0xc1);
	emit_u8(o, 0xc0 | kind << 3 | (reg & 7));
	emit_u8(o, n);
}

/* ---- state ---------------------------------------------------------------------------------------- */

static uint8_t *const_scratch(struct translation *t)
{
	return t->block->scratch;
}

static bool flags_are_dead(const struct translation *t, int i)
{
	for (; i < t->n; i++) {
		if (t->insn[i].kills_flags)
			return true;
		if (t->insn[i].reads_flags || dec_insn_ends_block(&t->insn[i]))
			return false;
	}
	return false;
}

static void put_flags(struct dec_emit *o)
{
	emit_ctx_store(o, CTX_GUARD_SPILL + 24, CAP_RAX);
	emit_bytes(o, "\x9f\x0f\x90\xc0", 4); // lahf; seto al
	emit_ctx_store(o, CTX_GUARD_SPILL + 32, CAP_RAX);
	emit_ctx_load(o, CAP_RAX, CTX_GUARD_SPILL + 24);
}

/* Once for all instructions up to one that has to do with flags. */
static void keep_flags(struct translation *t, int i)
{
	if (t->has_kept_flags || flags_are_dead(t, i))
		return;
	t->has_kept_flags = true;
	put_flags(&t->out);
}

static void return_flags(struct translation *t, struct dec_emit *o)
{
	if (!t->has_kept_flags)
		return;
	emit_ctx_store(o, CTX_GUARD_SPILL + 24, CAP_RAX);
	emit_ctx_load(o, CAP_RAX, CTX_GUARD_SPILL + 32);
	emit_bytes(o, "\x04\x7f\x9e", 3); // add al, 127; sahf
	emit_ctx_load(o, CAP_RAX, CTX_GUARD_SPILL + 24);
}

/* @p insn, which comes next, needs them, or makes others. */
static void settle_flags(struct translation *t, const struct dec_insn *insn)
{
	if (!insn->kills_flags && !insn->reads_flags && !insn->writes_flags &&
	    insn->flow == DEC_FLOW_NEXT)
		return;
	if (!insn->kills_flags)
		return_flags(t, &t->out);
	t->has_kept_flags = false;
}

static bool may(const struct translation *t, int reg)
{
	return reg < DEC_GPRS && !(t->zero >> reg & 1);
}

/* ---- events --------------------------------------------------------------------------------------- */

static uint32_t event(struct translation *t, enum guard_event_kind kind, uint64_t rip,
		      int reg)
{
	struct dec_guard *g = t->e->guard;
	struct guard_event *ev = vec_push(&g->events);
	int i = 0;

	assert(ev && "out of memory for events");
	while (i < t->n && t->insn[i].rip != rip)
		i++;
	*ev = (struct guard_event){ .block = t->block - t->e->blocks.data,
				    .rip = rip,
				    .index = i,
				    .is_counted = t->debit_at >= 0 && t->debit_at <= i,
				    .kind = kind,
				    .reg = reg,
				    .has_kept_flags = t->has_kept_flags };
	return g->events.size - 1;
}

/* Leave with event @p n, in the cold part. */
static void leave(struct translation *t, uint32_t n)
{
	bool is_quick = t->e->guard->events.data[n].kind > GUARD_EVENT_RUN &&
			t->e->ctx->quick;

	return_flags(t, &t->cold);
	emit_ctx_store_imm32(&t->cold, CTX_GUARD_EVENT, n);
	emit_ctx_store_imm32(&t->cold, CTX_EXIT_ID,
			     is_quick ? DEC_EXIT_GUARD_QUICK : DEC_EXIT_GUARD);
	emit_ctx_jmp(&t->cold, is_quick ? CTX_QUICK : CTX_COMMON);
}

/* Where the instruction at hand leaves with its event: C does it. One stub serves all its conditions. */
static uint8_t *step_stub(struct translation *t, int i)
{
	bool is_branch = t->insn[i].flow != DEC_FLOW_NEXT;

	if (t->step_stub && t->step_stub_kept == t->has_kept_flags)
		return t->step_stub;
	t->step_stub = t->cold.p;
	t->step_stub_kept = t->has_kept_flags;
	leave(t, event(t, is_branch ? GUARD_EVENT_LOOK : GUARD_EVENT_STEP, t->insn[i].rip,
		       0));
	return t->step_stub;
}

static void step_if(struct translation *t, int i, uint8_t cc)
{
	uint8_t *at = emit_jcc_rel(&t->out, cc);

	emit_patch_rel(at, step_stub(t, i));
}

static void step_always(struct translation *t, int i)
{
	uint8_t *at = emit_jmp_rel(&t->out);

	emit_patch_rel(at, step_stub(t, i));
}

/* ---- nodes with parts (guard_parts.c) ---------------------------------------------------------------- */

#define ROW(t, field) \
	((t)->e->guard->at + GUARD_ROWS_AT + offsetof(struct guard_parts_row, field))

/* cmp dword [reg + disp], imm */
static void mem_is(struct dec_emit *o, int reg, uint32_t disp, uint32_t imm)
{
	emit_mem_op(o, 0, 0x81, 7, reg, DEC_REG_NONE, 1, disp);
	emit_u32(o, imm);
}

/* cmp dword ctx:[off], imm */
static void ctx_is(struct dec_emit *o, uint32_t off, uint32_t imm)
{
	emit_u8(o, 0x81);
	emit_abs(o, 7, off);
	emit_u32(o, imm);
}

/* In the cold part: the tag in the first scratch becomes that to which it leads at @p site; what is not at hand
 * is a step. */
static void look_up_move(struct translation *t, int i, uint32_t site)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1];
	uint32_t moves = t->e->guard->at + GUARD_MOVES_AT;
	struct dec_emit *c = &t->cold;

	reg_op32(c, OP_MOV, s1, s0);
	reg_shift(c, 5, s1, 2);
	reg_imm(c, 0, s1, site * 0x9e3779b0u);
	reg_imm(c, 4, s1, (GUARD_MOVES - 1) * 16);
	emit_mem_op(c, 0, OP_CMP, s0, s1, DEC_REG_NONE, 1, moves);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), step_stub(t, i));
	mem_is(c, s1, moves + offsetof(struct guard_move, site), site);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), step_stub(t, i));
	emit_mem_op(c, 0, OP_MOV, s0, s1, DEC_REG_NONE, 1,
		    moves + offsetof(struct guard_move, to));
}

/* A step, if register @p reg is a pointer to what may have parts. */
static void step_if_parts(struct translation *t, int i, int reg)
{
	if (!t->e->guard->has_parts || !may(t, reg))
		return;
	keep_flags(t, i);
	ctx_is(&t->out, TAG(reg), GUARD_PARTS);
	step_if(t, i, CC_AE);
}

/* .. if the tag in @p s is of one, in the cold part. */
static void cold_step_if_parts(struct translation *t, int i, int s)
{
	if (!t->e->guard->has_parts)
		return;
	reg_imm(&t->cold, 7, s, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(&t->cold, CC_AE), step_stub(t, i));
}

/* ---- addresses ------------------------------------------------------------------------------------ */

/* Emit, at @p o: a jump, unless [@p m] is within what begins at the address in [s0 + @p row], and has the size behind
 * it. @return how many jumps there are. */
static int compare(struct translation *t, struct dec_emit *o, const struct dec_mem *m,
		   uint32_t row, uint8_t *jump[2])
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1];
	int n = 0;

	emit_lea(o, s1, m);
	emit_mem_op(o, 1, OP_SUB, s1, s0, DEC_REG_NONE, 1, row);
	if (m->size > 1) {
		reg_imm(o, 0, s1, m->size - 1);
		jump[n++] = emit_jcc_rel(o, CC_C);
	}
	emit_mem_op(o, 1, OP_CMP, s1, s0, DEC_REG_NONE, 1, row + 8);
	jump[n++] = emit_jcc_rel(o, CC_AE);
	return n;
}

/* May instruction @p i be one of a function of strings, that reads ahead? */
static bool may_read_ahead(const struct translation *t, int i, const struct dec_mem *m)
{
	uint64_t rip = t->insn[i].rip;

	return m->is_read && !m->is_write && m->size >= 16 &&
	       vec_find(&t->e->guard->foreign, f, rip >= f->rip && rip < f->end);
}

/* In the cold part: a step, unless a call of a function of strings is under way, which was looked at where it began. */
static void step_if_no_string(struct translation *t, int i)
{
	uint8_t s1 = const_scratch(t)[1], *stub = step_stub(t, i);
	struct dec_emit *c = &t->cold;

	emit_ctx_load(c, s1, CTX_STRING_CALL);
	reg_op(c, 0x85, s1, s1); // test
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	emit_ctx_op(c, OP_CMP, CAP_RSP, CTX_STRING_CALL);
	emit_patch_rel(emit_jcc_rel(c, CC_A), stub);
	emit_mem_op(c, 1, OP_MOV, s1, s1, DEC_REG_NONE, 1, 0);
	emit_ctx_op(c, OP_CMP, s1, CTX_STRING_CALL + 8);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

/* In the cold part: is what the mask of instruction @p i has accessed of [@p m] within the row in the first scratch? Then it
 * goes on, else behind this. */
static void check_lanes(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *jump[3];
	const struct dec_insn *insn = &t->insn[i];
	struct dec_emit *c = &t->cold;

	// Behind the last lane: kmovw or kmovq s1, k; lzcnt s1, s1; 64 less that.
	emit_bytes(c,
		   (uint8_t[]){ 0xc4, 0x61 | (s1 < 8) << 7,
				insn->lane_bytes <= 2 ? 0xfb : 0x78, 0x93,
				0xc0 | (s1 & 7) << 3 | insn->lane_mask },
		   5);
	emit_bytes(c,
		   (uint8_t[]){ 0xf3, 0x48 | (s1 >> 3) << 2 | s1 >> 3, 0x0f, 0xbd,
				0xc0 | (s1 & 7) << 3 | (s1 & 7) },
		   5);
	emit_bytes(c, (uint8_t[]){ 0x48 | s1 >> 3, 0xf7, 0xd8 | (s1 & 7) }, 3); // neg
	reg_imm(c, 0, s1, 64);
	reg_shift(c, 4, s1, __builtin_ctz(insn->lane_bytes));
	emit_lea(c, s2, m);
	emit_mem_op(c, 1, OP_SUB, s2, s0, DEC_REG_NONE, 1, ROW(t, start));
	jump[0] = emit_jcc_rel(c, CC_C);
	reg_op(c, OP_ADD, s1, s2);
	jump[1] = emit_jcc_rel(c, CC_C);
	emit_mem_op(c, 1, OP_CMP, s1, s0, DEC_REG_NONE, 1, ROW(t, size));
	jump[2] = emit_jcc_rel(c, CC_A);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
	for (int k = 0; k < 3; k++)
		emit_patch_rel(jump[k], c->p);
}

/* Where the tag in the first scratch is that of an index: the part is not known that it is to, unless it was led
 * there. */
static void check_index(struct translation *t, int i)
{
	uint8_t s0 = const_scratch(t)[0];
	struct dec_emit *o = &t->out, *c = &t->cold;
	uint8_t *stub;

	if (!t->e->guard->has_parts)
		return;
	stub = step_stub(t, i);
	reg_imm(o, 7, s0, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(o, CC_AE), c->p);
	mem_is(c, s0, ROW(t, way), GUARD_WAY_INDEX);
	emit_patch_rel(emit_jcc_rel(c, CC_B), stub);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

/* .. that of the pointer that the access is by: to which part? An index leads from the start to one; libraries'
 * code has bounds of its own. @return the jump behind the comparison; NULL: there is none. @p outside: the @p n jumps
 * that are taken when that fails. */
static uint8_t *check_part(struct translation *t, int i, const struct dec_mem *m,
			   uint8_t *outside[2], int *n)
{
	struct dec_guard *g = t->e->guard;
	uint8_t s0 = const_scratch(t)[0];
	struct dec_emit *o = &t->out, *c = &t->cold;
	bool is_own = g->has_parts && dec_guard_is_own(g, t->insn[i].rip);
	uint8_t *stub, *start;

	*n = 0;
	if (!g->has_parts || (is_own && m->index == DEC_REG_NONE))
		return NULL;
	stub = step_stub(t, i);
	reg_imm(o, 7, s0, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(o, CC_AE), c->p);
	if (!is_own) {
		*n = compare(t, c, m, ROW(t, other_start), outside);
		return emit_jmp_rel(c);
	}
	mem_is(c, s0, ROW(t, way), GUARD_WAY_START);
	start = emit_jcc_rel(c, CC_E);
	emit_patch_rel(emit_jcc_rel(c, CC_B), stub);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	emit_patch_rel(start, c->p);
	look_up_move(t, i, dec_guard_parts_site(g, t->insn[i].rip) + 1);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	return NULL;
}

/* Is [@p m] the memory of its pointer's node? */
static void check(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], *over, *jump[4], *stub;
	bool has_index = m->scale == 1 && may(t, m->index), is_ahead, has_lanes;
	struct dec_emit *o = &t->out;
	int n;

	if (m->base >= DEC_GPRS || m->is_gs || m->is_absolute)
		return;
	if (!may(t, m->base) && !has_index)
		return;
	keep_flags(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(m->base));
	if (has_index) {
		reg_op32(o, 0x85, s0, s0); // test
		over = emit_jcc_rel(o, CC_NE);
		ctx_op32(o, OP_MOV, s0, TAG(m->index));
		check_index(t, i);
		emit_patch_rel(over, o->p);
	}
	over = check_part(t, i, m, jump, &n);
	n += compare(t, o, m, ROW(t, start), jump + n);
	if (over)
		emit_patch_rel(over, o->p);
	stub = step_stub(t, i);
	is_ahead = may_read_ahead(t, i, m);
	has_lanes = t->insn[i].lane_bytes && !t->e->guard->has_parts;
	while (n)
		emit_patch_rel(jump[--n], is_ahead || has_lanes ? t->cold.p : stub);
	if (has_lanes)
		check_lanes(t, i, m);
	if (is_ahead)
		step_if_no_string(t, i);
	else if (has_lanes)
		emit_patch_rel(emit_jmp_rel(&t->cold), stub);
}

/* Is the value of @p reg perhaps a pointer? Then it goes on in the cold part, whose end leads back. It loses @p s1.
 * @return the jump, to be patched, that is taken in there when it is none after all; NULL: there is no such. */
static uint8_t *when_pointer(struct translation *t, int reg, int s1)
{
	struct dec_emit *o = &t->out, *c = &t->cold;
	uint8_t *low, *none;

	if (reg != s1)
		reg_op(o, OP_MOV, s1, reg);
	emit_ctx_op(o, OP_SUB, s1, CTX_HEAP_LOW);
	emit_ctx_op(o, OP_CMP, s1, CTX_HEAP_SPAN);
	emit_patch_rel(emit_jcc_rel(o, CC_B), c->p);
	if (!t->e->guard->has_high)
		return NULL;
	emit_ctx_op(c, OP_CMP, s1, CTX_LOW_SPAN);
	low = emit_jcc_rel(c, CC_B);
	emit_ctx_op(c, OP_ADD, s1, CTX_HEAP_LOW);
	emit_ctx_op(c, OP_SUB, s1, CTX_HIGH_LOW);
	emit_ctx_op(c, OP_CMP, s1, CTX_HIGH_SPAN);
	none = emit_jcc_rel(c, CC_AE);
	emit_patch_rel(low, c->p);
	return none;
}

/* A step, if one of the words at [@p m] may be a pointer. */
static void step_if_pointers(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s1 = const_scratch(t)[1], *stub, *none;
	struct dec_emit *o = &t->out;

	keep_flags(t, i);
	for (int k = 0; k + 8 <= m->size; k += 8) {
		struct dec_mem word = *m;

		word.size = 8;
		word.disp += k;
		if (m->is_absolute) {
			emit_mov_imm64(o, s1, word.disp);
			word = (struct dec_mem){ .base = s1,
						 .index = DEC_REG_NONE,
						 .scale = 1,
						 .size = 8,
						 .is_fs = m->is_fs };
		}
		emit_load_zx(o, s1, &word);
		stub = step_stub(t, i);
		none = when_pointer(t, s1, s1);
		emit_patch_rel(emit_jmp_rel(&t->cold), stub);
		if (none)
			emit_patch_rel(none, o->p);
	}
}

/* ---- tags ------------------------------------------------------------------------------------------ */

static void clear_tag(struct translation *t, int reg)
{
	if (may(t, reg))
		emit_ctx_store_imm32(&t->out, TAG(reg), 0);
	t->zero |= 1u << reg;
}

static void clear_tags(struct translation *t, uint32_t regs)
{
	for (; regs; regs &= regs - 1)
		if (__builtin_ctz(regs) != CAP_RSP)
			clear_tag(t, __builtin_ctz(regs));
}

/* The same where an event may make them pointers. */
static void zero_tags(struct translation *t, uint32_t regs)
{
	for (; regs; regs &= regs - 1) {
		emit_ctx_store_imm32(&t->out, TAG(__builtin_ctz(regs)), 0);
		t->zero &= ~(1u << __builtin_ctz(regs));
	}
}

/* A step, if one of @p regs is a pointer. @return whether it may be. */
static bool step_if_tagged(struct translation *t, int i, uint32_t regs)
{
	uint8_t s0 = const_scratch(t)[0];
	bool is_any = false;

	for (regs &= ~t->zero; regs; regs &= regs - 1) {
		if (!is_any)
			keep_flags(t, i);
		ctx_op32(&t->out, is_any ? OP_OR : OP_MOV, s0, TAG(__builtin_ctz(regs)));
		if (!is_any)
			reg_op32(&t->out, 0x85, s0, s0);
		is_any = true;
	}
	if (is_any)
		step_if(t, i, CC_NE);
	return is_any;
}

static void copy_tag(struct translation *t, int to, int from)
{
	uint8_t s0 = const_scratch(t)[0];

	if (!may(t, from)) {
		clear_tag(t, to);
		return;
	}
	ctx_op32(&t->out, OP_MOV, s0, TAG(from));
	ctx_store32(&t->out, TAG(to), s0);
	t->zero &= ~(1u << to);
}

/* What is added to the register by an add, sub, inc or dec of 64 bits without another one. */
static int32_t constant_of(const struct dec_insn *insn)
{
	int32_t by;

	if (insn->mnemonic == ZYDIS_MNEMONIC_INC)
		return 1;
	if (insn->mnemonic == ZYDIS_MNEMONIC_DEC)
		return -1;
	if (insn->bytes[1] == 0x83)
		by = (int8_t)insn->bytes[insn->len - 1];
	else
		memcpy(&by, insn->bytes + insn->len - 4, 4);
	return insn->mnemonic == ZYDIS_MNEMONIC_SUB ? -(int64_t)by : by;
}

/* Is it of those that emit_sum() knows? */
static bool is_sum(const struct dec_insn *insn)
{
	static const uint8_t opcodes[] = {
		0x8d, 0x81, 0x83, 0x05, 0x2d, 0xff, 0x01, 0x03
	};

	return (insn->bytes[0] & 0xf8) == 0x48 &&
	       memchr(opcodes, insn->bytes[1], sizeof(opcodes)) &&
	       __builtin_popcount(insn->gpr_read) >= 1 &&
	       (insn->mnemonic != ZYDIS_MNEMONIC_SUB || insn->bytes[1] > 3);
}

/* In the cold part: the sum that the lea, add, or what else adds a constant at hand comes to, in @p reg. */
static void emit_sum(struct translation *t, int i, int reg)
{
	const struct dec_insn *insn = &t->insn[i];
	struct dec_emit *c = &t->cold;
	uint32_t to = insn->gpr_written, from = insn->gpr_read & ~to;

	if (insn->mnemonic != ZYDIS_MNEMONIC_LEA) {
		reg_op(c, OP_MOV, reg, __builtin_ctz(to));
		if (from || (insn->mnemonic == ZYDIS_MNEMONIC_ADD &&
			     (insn->bytes[1] == 0x01 || insn->bytes[1] == 0x03)))
			reg_op(c, OP_ADD, reg, __builtin_ctz(from ?: to));
		else
			reg_imm(c, 0, reg, constant_of(insn));
		return;
	}
	// The same with another register.
	emit_u8(c, (insn->bytes[0] & ~4) | (reg >> 3) << 2);
	emit_u8(c, insn->bytes[1]);
	emit_u8(c, (insn->bytes[2] & 0xc7) | (reg & 7) << 3);
	emit_bytes(c, insn->bytes + 3, insn->len - 3);
}

/* In the cold part: the lea or what else adds moves a pointer to what may have parts, with the tag in the first
 * scratch, which becomes the result's, as does that of @p to if it is a register. It goes on where the rest is to
 * be. */
static void move_in_parts(struct translation *t, int i, int to)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1];
	struct dec_emit *o = &t->out, *c = &t->cold;
	uint8_t *stub = step_stub(t, i), *start;
	bool is_const = __builtin_popcount(t->insn[i].gpr_read) == 1;

	emit_sum(t, i, s1);
	emit_mem_op(c, 1, OP_CMP, s1, s0, DEC_REG_NONE, 1, ROW(t, node_start));
	start = emit_jcc_rel(c, CC_E);
	mem_is(c, s0, ROW(t, way), GUARD_WAY_PART);
	emit_patch_rel(emit_jcc_rel(c, CC_AE), o->p);
	mem_is(c, s0, ROW(t, way), GUARD_WAY_START);
	emit_patch_rel(emit_jcc_rel(c, is_const ? CC_B : CC_NE), stub);
	look_up_move(t, i, dec_guard_parts_site(t->e->guard, t->insn[i].rip));
	if (to != DEC_REG_NONE)
		ctx_store32(c, TAG(to), s0);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	emit_patch_rel(start, c->p);
	mem_is(c, s0, ROW(t, way), GUARD_WAY_START);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

/* By a constant a pointer in @p from is moved to @p to, perhaps the same register. */
static void move_tag(struct translation *t, int i, int to, int from)
{
	uint8_t s0 = const_scratch(t)[0];
	struct dec_emit *o = &t->out;

	if (to != from && !t->e->guard->has_parts) {
		copy_tag(t, to, from);
		return;
	}
	if (!may(t, from)) {
		clear_tag(t, to);
		return;
	}
	if (!t->e->guard->has_parts)
		return;
	if (!is_sum(&t->insn[i])) {
		step_if_tagged(t, i, 1u << from);
		if (to != from)
			zero_tags(t, 1u << to);
		return;
	}
	keep_flags(t, i);
	step_stub(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(from));
	reg_imm(o, 7, s0, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(o, CC_AE), t->cold.p);
	move_in_parts(t, i, to == from ? to : DEC_REG_NONE);
	if (to != from)
		ctx_store32(o, TAG(to), s0);
	t->zero &= ~(1u << to);
}

/* @p to gets the tag of that of @p a, @p b that has one; a step, if both have, or the sum has less than 32 bits
 * (dec_insn_cuts()). */
static void merge_tags(struct translation *t, int i, int to, int a, int b)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *over;
	struct dec_emit *o = &t->out, *c = &t->cold;
	bool is_one = !may(t, a) || !may(t, b) || a == b;

	if (!may(t, a) && !may(t, b)) {
		clear_tag(t, to);
		return;
	}
	if (t->insn[i].mnemonic == ZYDIS_MNEMONIC_LEA &&
	    (t->insn[i].bytes[0] & 0xf8) != 0x48) {
		step_if_tagged(t, i, 1u << a | 1u << b);
		zero_tags(t, 1u << to);
		return;
	}
	keep_flags(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(may(t, a) ? a : b));
	if (!is_one) {
		ctx_op32(o, OP_MOV, s1, TAG(b));
		reg_op32(o, 0x85, s1, s1);
		over = emit_jcc_rel(o, CC_E);
		reg_op32(o, 0x85, s0, s0);
		step_if(t, i, CC_NE);
		reg_op32(o, OP_MOV, s0, s1);
		emit_patch_rel(over, o->p);
	}
	step_stub(t, i); // before what is cold here
	reg_op32(o, 0x85, s0, s0);
	emit_patch_rel(emit_jcc_rel(o, CC_NE), c->p);
	emit_sum(t, i, s1);
	reg_shift(c, 5, s1, 32);
	emit_patch_rel(emit_jcc_rel(c, CC_E), step_stub(t, i));
	if (t->e->guard->has_parts) {
		reg_imm(c, 7, s0, GUARD_PARTS);
		emit_patch_rel(emit_jcc_rel(c, CC_B), o->p);
		move_in_parts(t, i, DEC_REG_NONE);
	} else {
		emit_patch_rel(emit_jmp_rel(c), o->p);
	}
	ctx_store32(o, TAG(to), s0);
	t->zero &= ~(1u << to);
}

/* Less a pointer to the same node a pointer is a number; a step, if it is another. */
static void subtract(struct translation *t, int i, int to, int from)
{
	uint8_t s0 = const_scratch(t)[0], *over;
	struct dec_emit *o = &t->out;

	step_if_parts(t, i, to);
	if (!may(t, from))
		return;
	keep_flags(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(from));
	reg_op32(o, 0x85, s0, s0);
	over = emit_jcc_rel(o, CC_E);
	ctx_op32(o, OP_CMP, s0, TAG(to));
	step_if(t, i, CC_NE);
	emit_ctx_store_imm32(o, TAG(to), 0);
	emit_patch_rel(over, o->p);
	t->zero &= ~(1u << to);
}

/* ---- words of memory -------------------------------------------------------------------------------- */

/* In the cold part: the shadow word of the address in @p s0; @p s2: of its page. @p table: which one it is
 * looked up in. @return the jump that is taken when it is not there. */
static uint8_t *find_word(struct translation *t, int s0, int s1, int s2, uint32_t table)
{
	struct dec_emit *c = &t->cold;
	uint8_t *miss;

	// s2: the entry; s1: the number.
	reg_op(c, OP_MOV, s1, s0);
	reg_shift(c, 5, s1, 12);
	reg_op(c, OP_MOV, s2, s1);
	reg_imm(c, 4, s2, GUARD_LOADS - 1);
	reg_shift(c, 4, s2, 4);
	emit_mem_op(c, 1, OP_CMP, s1, s2, DEC_REG_NONE, 1, table);
	miss = emit_jcc_rel(c, CC_NE);
	emit_mem_op(c, 1, OP_MOV, s2, s2, DEC_REG_NONE, 1, table + 8);
	return miss;
}

/* In the cold part: the tag of the root with the value in @p reg, to @p s1; it loses @p s2. @p none: the jump that is
 * taken where there is none, and 0 in @p s1. @return the one that is taken when that is not known. */
static uint8_t *find_root(struct translation *t, int reg, int s1, int s2, uint8_t **none)
{
	const uint32_t roots = t->e->guard->at + GUARD_ROOTS_AT;
	struct dec_emit *c = &t->cold;
	uint8_t *miss;

	reg_op(c, OP_MOV, s1, reg);
	reg_shift(c, 5, s1, 4);
	reg_imm(c, 4, s1, GUARD_STARTS - 1);
	reg_op(c, OP_MOV, s2, s1);
	reg_shift(c, 5, s2, 5);
	emit_mem_op(c, 0, OP_MOV, s2, DEC_REG_NONE, s2, 4,
		    t->e->guard->at + GUARD_STARTS_AT);
	emit_bytes(c,
		   (uint8_t[]){ 0x40 | (s1 >> 3) << 2 | s2 >> 3, 0x0f, 0xa3,
				0xc0 | (s1 & 7) << 3 | (s2 & 7) },
		   4); // bt s2, s1
	emit_bytes(c, (uint8_t[]){ 0x40 | s1 >> 3, 0xb8 | (s1 & 7), 0, 0, 0, 0 },
		   6); // mov s1, 0
	*none = emit_jcc_rel(c, CC_AE);
	reg_op(c, OP_MOV, s1, reg);
	reg_imm(c, 4, s1, (GUARD_ROOTS - 1) * 8);
	reg_op(c, OP_ADD, s1, s1);
	emit_mem_op(c, 1, OP_CMP, reg, s1, DEC_REG_NONE, 1, roots);
	miss = emit_jcc_rel(c, CC_NE);
	emit_mem_op(c, 0, OP_MOV, s1, s1, DEC_REG_NONE, 1, roots + 8);
	return miss;
}

/* General register @p reg was loaded from [@p m], whose address is in the first scratch if @p is_kept. */
static void loaded(struct translation *t, int i, int reg, const struct dec_mem *m,
		   bool is_kept)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2];
	struct dec_emit *o = &t->out, *c = &t->cold;
	uint32_t n = event(t, GUARD_EVENT_WORD, t->insn[i].rip, reg);
	uint8_t *none, *miss, *other, *back;

	keep_flags(t, i + 1);
	none = when_pointer(t, reg, s1);
	if (none)
		emit_patch_rel(none, o->p);
	if (may(t, reg))
		emit_ctx_store_imm32(o, TAG(reg), 0);
	back = o->p;
	if (!is_kept)
		emit_lea(c, s0, m);
	miss = find_word(t, s0, s1, s2, t->e->guard->at);
	reg_op(c, OP_MOV, s1, s0);
	reg_imm(c, 4, s1, 0xff8);
	// cmp [s2+s1], r32: the low half
	emit_mem_op(c, 0, 0x39, reg, s2, s1, 1, 0);
	other = emit_jcc_rel(c, CC_NE);
	emit_mem_op(c, 0, OP_MOV, s1, s2, s1, 1, 4);
	ctx_store32(c, TAG(reg), s1);
	emit_patch_rel(emit_jmp_rel(c), back);
	emit_patch_rel(other, c->p);
	other = find_root(t, reg, s1, s2, &none);
	emit_patch_rel(none, c->p);
	ctx_store32(c, TAG(reg), s1);
	emit_patch_rel(emit_jmp_rel(c), back);
	emit_patch_rel(miss, c->p);
	emit_patch_rel(other, c->p);
	leave(t, n);
	t->e->guard->events.data[n].resume = back;
	t->zero &= ~(1u << reg);
}

/* test regb, 7: what is not aligned has no word. */
static void test_aligned(struct dec_emit *o, int reg)
{
	emit_u8(o, 0x40 | reg >> 3);
	emit_u8(o, 0xf6);
	emit_u8(o, 0xc0 | (reg & 7));
	emit_u8(o, 7);
}

/* The word in @p reg is about to be stored at [@p m], @p disp further. */
static void stores(struct translation *t, int i, int reg, const struct dec_mem *m,
		   int32_t disp)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2];
	struct dec_emit *o = &t->out, *c = &t->cold;
	struct dec_mem at = *m;
	uint8_t *jump, *miss, *stub;

	if (!may(t, reg))
		return;
	keep_flags(t, i);
	ctx_is_zero(o, TAG(reg));
	jump = emit_jcc_rel(o, CC_NE);
	stub = step_stub(t, i);
	emit_patch_rel(jump, c->p);
	at.disp += disp;
	if (m->is_fs) {
		emit_patch_rel(emit_jmp_rel(c), stub);
		return;
	}
	emit_lea(c, s0, &at);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), o->p);
	miss = find_word(t, s0, s1, s2, t->e->guard->at + GUARD_LOADS * 16);
	emit_patch_rel(miss, stub);
	reg_imm(c, 4, s0, 0xff8);
	emit_mem_op(c, 0, 0x89, reg, s2, s0, 1, 0);
	ctx_op32(c, OP_MOV, s1, TAG(reg));
	emit_mem_op(c, 0, 0x89, s1, s2, s0, 1, 4);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

/* Hot: load the word at [@p m], and go to the cold part if it may be a pointer. There @p s0 has its address, @p s2
 * and @p s1 lead to its shadow in @p table; what is not in the table is a step. @return as when_pointer(). */
static uint8_t *look_up_word(struct translation *t, int i, const struct dec_mem *m,
			     uint32_t table)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *none, *stub;
	struct dec_emit *c = &t->cold;

	keep_flags(t, i);
	emit_load_zx(&t->out, s1, m);
	stub = step_stub(t, i);
	none = when_pointer(t, s1, s1);
	emit_lea(c, s0, m);
	emit_patch_rel(find_word(t, s0, s1, s2, table), stub);
	reg_op(c, OP_MOV, s1, s0);
	reg_imm(c, 4, s1, 0xff8);
	return none;
}

/* .. is what the shadow in @p s2 + @p s1 is of? Then @p s1 gets the tag, which is none of what is gone; else a
 * step. @return the jump that is taken when it is no pointer. */
static uint8_t *take_tag(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *stub = step_stub(t, i), *none;
	struct dec_emit *c = &t->cold;

	emit_load_zx(c, s0, m);
	reg_op32(c, 0x85, s0, s0); // test
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_mem_op(c, 0, OP_MOV, s1, s2, s1, 1, 4);
	reg_op32(c, 0x85, s1, s1);
	none = emit_jcc_rel(c, CC_E);
	cold_step_if_parts(t, i, s1);
	emit_mem_op(c, 1, 0x83, 7, s1, DEC_REG_NONE, 1, // cmp qword, 0
		    t->e->guard->at + GUARD_ROWS_AT + 8);
	emit_u8(c, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	return none;
}

/* A pointer in memory is added to register @p to, or subtracted. */
static void adds_word(struct translation *t, int i, int to, const struct dec_mem *m,
		      bool is_sub)
{
	uint8_t s1 = const_scratch(t)[1], *over, *outside, *none;
	struct dec_emit *c = &t->cold;

	step_if_parts(t, i, to);
	outside = look_up_word(t, i, m, t->e->guard->at);
	none = take_tag(t, i, m);
	ctx_is_zero(c, TAG(to));
	over = emit_jcc_rel(c, CC_E);
	if (is_sub) {
		ctx_op32(c, OP_CMP, s1, TAG(to));
		emit_patch_rel(emit_jcc_rel(c, CC_NE), step_stub(t, i));
		emit_ctx_store_imm32(c, TAG(to), 0);
		emit_patch_rel(over, c->p);
	} else {
		emit_patch_rel(emit_jmp_rel(c), step_stub(t, i));
		emit_patch_rel(over, c->p);
		ctx_store32(c, TAG(to), s1);
	}
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
	emit_patch_rel(none, t->out.p);
	if (outside)
		emit_patch_rel(outside, t->out.p);
	if (!is_sub &&
	    may(t, to)) { // the sum may have less than 32 bits: dec_insn_cuts()
		ctx_is_zero(&t->out, TAG(to));
		emit_patch_rel(emit_jcc_rel(&t->out, CC_NE), c->p);
		emit_load_zx(c, s1, m);
		reg_op(c, OP_ADD, s1, to);
		reg_shift(c, 5, s1, 32);
		emit_patch_rel(emit_jcc_rel(c, CC_E), step_stub(t, i));
		emit_patch_rel(emit_jmp_rel(c), t->out.p);
	}
	t->zero &= ~(1u << to);
}

/* A pointer in memory moves by @p by. */
static void moves_word(struct translation *t, int i, const struct dec_mem *m, int32_t by)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *stub, *none;
	struct dec_emit *c = &t->cold;

	none = look_up_word(t, i, m, t->e->guard->at + GUARD_LOADS * 16);
	if (none)
		emit_patch_rel(none, t->out.p);
	stub = step_stub(t, i);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_load_zx(c, s0, m);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_mem_op(c, 0, OP_MOV, s0, s2, s1, 1, 4);
	reg_op32(c, 0x85, s0, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	cold_step_if_parts(t, i, s0);
	emit_mem_op(c, 0, 0x81, 0, s2, s1, 1, 0); // add dword, by: the low half
	emit_u32(c, by);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

/* Is it movsq, once? */
static bool is_word_move(const struct dec_insn *insn)
{
	return insn->len == 2 && !memcmp(insn->bytes, "\x48\xa5", 2);
}

/* A word is moved from one place to another, both of which are checked; the pointers to them stay to what they
 * are to. */
static void moves_between(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *from = &insn->mem[insn->mem[0].is_write],
			     *to = &insn->mem[!insn->mem[0].is_write];
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *none[2], *stub, *other, *same;
	struct dec_emit *c = &t->cold;

	step_if_parts(t, i, CAP_RSI);
	step_if_parts(t, i, CAP_RDI);
	none[0] = look_up_word(t, i, from, t->e->guard->at);
	stub = step_stub(t, i);
	emit_load_zx(c, s0, from);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	other = emit_jcc_rel(c, CC_NE);
	emit_mem_op(c, 0, OP_MOV, s1, s2, s1, 1, 4);
	same = emit_jmp_rel(c);
	emit_patch_rel(other, c->p);
	emit_patch_rel(find_root(t, s0, s1, s2, &none[1]), stub);
	emit_patch_rel(same, c->p);
	reg_op32(c, 0x85, s1, s1); // test
	emit_patch_rel(emit_jcc_rel(c, CC_E), t->out.p);
	ctx_store32(c, CTX_GUARD_TAG, s1);
	emit_lea(c, s0, to);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), t->out.p);
	emit_patch_rel(find_word(t, s0, s1, s2, t->e->guard->at + GUARD_LOADS * 16),
		       stub);
	reg_imm(c, 4, s0, 0xff8);
	ctx_op32(c, OP_MOV, s1, CTX_GUARD_TAG);
	emit_mem_op(c, 0, 0x89, s1, s2, s0, 1, 4);
	emit_load_zx(c, s1, from);
	emit_mem_op(c, 0, 0x89, s1, s2, s0, 1, 0);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
	emit_patch_rel(none[1], t->out.p);
	if (none[0])
		emit_patch_rel(none[0], t->out.p);
}

/* ---- instructions ----------------------------------------------------------------------------------- */

/* Does it define 8 or 16 bits of general registers? */
static bool is_narrow(const struct dec_insn *insn)
{
	const uint8_t *p = insn->bytes;

	for (; dec_insn_is_legacy_prefix(*p); p++)
		if (*p == 0x66)
			return true;
	if ((*p & 0xf0) == 0x40)
		p++;
	if (*p == 0x0f)
		return (p[1] & 0xf0) == 0x90 || p[1] == 0xb0 || p[1] == 0xc0;
	if ((*p & 0xf8) == 0xb0 || *p == 0x9f) // mov; lahf
		return true;
	return !(*p & 1) &&
	       (*p < 0x40 || *p == 0x80 || *p == 0x84 || *p == 0x86 || *p == 0x88 ||
		*p == 0x8a || *p == 0xa0 || *p == 0xa2 || *p == 0xa4 || *p == 0xaa ||
		*p == 0xac || *p == 0xc0 || *p == 0xc6 || *p == 0xd0 || *p == 0xd2 ||
		*p == 0xf6 || *p == 0xfe);
}

static int one(uint32_t regs)
{
	return __builtin_ctz(regs);
}

static uint32_t vectors(uint64_t other)
{
	return (uint32_t)other;
}

enum { RSP_BIT = 1u << CAP_RSP };

/* A step, if one of the words that a mask has instruction @p i load may be a pointer. They are looked at in the context:
 * what else there is of the operand may not be there. */
static void step_if_lanes(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	uint8_t s1 = const_scratch(t)[1], *stub, *none;
	struct dec_emit *o = &t->out;

	keep_flags(t, i);
	emit_ctx_zmm31(o, 0x7f, CTX_VECTOR);
	emit_load_lanes(o, 31, insn->mem, insn->lane_bytes, insn->lane_mask);
	emit_ctx_zmm31(o, 0x7f, CTX_BLANK_LANES);
	emit_ctx_zmm31(o, 0x6f, CTX_VECTOR);
	for (int k = 0; k < insn->mem[0].size; k += 8) {
		emit_ctx_load(o, s1, CTX_BLANK_LANES + k);
		stub = step_stub(t, i);
		none = when_pointer(t, s1, s1);
		emit_patch_rel(emit_jmp_rel(&t->cold), stub);
		if (none)
			emit_patch_rel(none, o->p);
	}
}

/* Is it one word, whose address emitted code can tell? */
static bool is_plain_word(const struct dec_mem *m)
{
	return m->size == 8 && !m->is_fs && !m->is_gs && !m->is_absolute && !m->is_addr32;
}

/* Vectors: what is loaded may be pointers, as may what is in them. */
static void before_vector(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;
	uint32_t reads = vectors(insn->other_read), writes = vectors(insn->other_written);
	uint32_t sources = insn->gpr_read & ~RSP_BIT;

	if (m)
		for (int r = 0; r < DEC_GPRS; r++)
			if (m->base == r || m->index == r)
				sources &= ~(1u << r);
	if (!writes && !insn->gpr_written && !(m && m->is_write))
		return; // flags and masks are no pointers
	if (insn->lane_bytes && m->is_read)
		step_if_lanes(t, i);
	else if (m && m->is_read && m->size >= 8)
		step_if_pointers(t, i, m);
	step_if_tagged(t, i, sources);
	keep_flags(t, i);
	if (reads) {
		ctx_imm32(&t->out, false, CTX_VEC_TAGS, reads);
		step_if(t, i, CC_NE);
	}
	if (writes & ~reads)
		ctx_imm32(&t->out, true, CTX_VEC_TAGS, ~writes);
	clear_tags(t, reads || sources ? 0 : insn->gpr_written);
	if (reads || sources)
		zero_tags(t, insn->gpr_written & ~RSP_BIT);
}

/* In the cold part: the shadow of the two words at [@p m] is at @p s2 + @p s1; else a step. */
static void find_pair(struct translation *t, int i, const struct dec_mem *m,
		      uint32_t table)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *stub = step_stub(t, i);
	struct dec_emit *c = &t->cold;

	emit_lea(c, s0, m);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_patch_rel(find_word(t, s0, s1, s2, table), stub);
	reg_op(c, OP_MOV, s1, s0);
	reg_imm(c, 4, s1, 0xff8);
	reg_imm(c, 7, s1, 0xff8); // cmp: the second one is in the next page
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
}

/* Of ctx: where the tag of word @p k of vector register @p v is. */
static uint32_t lane(const struct translation *t, int v, int k)
{
	return t->e->guard->at + GUARD_LANES_AT + (8 * v + k) * 4 - t->out.ctx;
}

static struct dec_mem part_of(const struct dec_mem *m, int at, int size)
{
	struct dec_mem part = *m;

	part.disp += at;
	part.size = size;
	return part;
}

/* In the cold part: the tag of word @p k of the pair that was found. */
static void take_lane(struct translation *t, int i, int v, int k, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *same, *over;
	const struct dec_mem low = part_of(m, 8 * k, 4), word = part_of(m, 8 * k, 8);
	struct dec_emit *c = &t->cold;

	emit_load_zx(c, s0, &low);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 8 * k);
	same = emit_jcc_rel(c, CC_E);
	emit_load_zx(c, s0, &word);
	emit_ctx_op(c, OP_SUB, s0, CTX_HEAP_LOW);
	emit_ctx_op(c, OP_CMP, s0, CTX_HEAP_SPAN);
	emit_patch_rel(emit_jcc_rel(c, CC_B), step_stub(t, i));
	reg_op32(c, OP_SUB, s0, s0);
	over = emit_jmp_rel(c);
	emit_patch_rel(same, c->p);
	emit_mem_op(c, 0, OP_MOV, s0, s2, s1, 1, 8 * k + 4);
	emit_patch_rel(over, c->p);
	ctx_store32(c, lane(t, v, k), s0);
}

/* Vector register @p v is loaded with the two words at [@p m], as they are. */
static void loads_pair(struct translation *t, int i, int v, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *both, *back, *none,
		*zero;
	const struct dec_mem word[2] = { part_of(m, 0, 8), part_of(m, 8, 8) };
	struct dec_emit *o = &t->out, *c = &t->cold;

	keep_flags(t, i);
	ctx_imm32(o, true, CTX_VEC_TAGS, ~(1u << v));
	step_stub(t, i); // before what is cold here
	both = c->p;
	emit_load_zx(c, s0, &word[0]);
	emit_load_zx(c, s1, &word[1]);
	reg_op(c, OP_CMP, s0, s1); // what one of them is the other is, too
	emit_patch_rel(emit_jcc_rel(c, CC_E), step_stub(t, i));
	find_pair(t, i, m, t->e->guard->at);
	take_lane(t, i, v, 0, m);
	take_lane(t, i, v, 1, m);
	ctx_op32(c, OP_OR, s0, lane(t, v, 0));
	zero = emit_jcc_rel(c, CC_E);
	ctx_or_imm32(c, CTX_VEC_TAGS, 1u << v);
	for (int k = 2; k < 8; k++)
		emit_ctx_store_imm32(c, lane(t, v, k), 0);
	emit_patch_rel(zero, c->p);
	back = emit_jmp_rel(c);
	for (int k = 0; k < 2; k++) {
		emit_load_zx(o, s1, &word[k]);
		none = when_pointer(t, s1, s1);
		emit_patch_rel(emit_jmp_rel(c), both);
		if (none)
			emit_patch_rel(none, o->p);
	}
	emit_patch_rel(back, o->p);
}

/* In the cold part: lane @p k of vector register @p v has the tag in the first scratch. */
static void put_lane(struct translation *t, int v, int k)
{
	struct dec_emit *c = &t->cold;
	uint8_t *has_others;

	ctx_imm32(c, false, CTX_VEC_TAGS, 1u << v);
	has_others = emit_jcc_rel(c, CC_NE);
	for (int j = 0; j < 8; j++)
		emit_ctx_store_imm32(c, lane(t, v, j), 0);
	ctx_or_imm32(c, CTX_VEC_TAGS, 1u << v);
	emit_patch_rel(has_others, c->p);
	ctx_store32(c, lane(t, v, k), const_scratch(t)[0]);
}

/* Lane @p k of vector register @p v is loaded with the word at [@p m]; the others stay, but for @p cleared, a mask.
 * When none is a pointer any more, that is known of the register. */
static void loads_lane(struct translation *t, int i, int v, int k, uint8_t cleared,
		       const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *none, *stub, *jump;
	struct dec_emit *o = &t->out, *c = &t->cold;

	keep_flags(t, i);
	stub = step_stub(t, i); // before what is cold here
	ctx_imm32(o, false, CTX_VEC_TAGS, 1u << v);
	emit_patch_rel(emit_jcc_rel(o, CC_NE), c->p);
	cleared |= 1u << k;
	reg_op32(c, OP_SUB, s0, s0);
	for (int j = 0; j < 8; j++)
		if (cleared >> j & 1)
			emit_ctx_store_imm32(c, lane(t, v, j), 0);
		else
			ctx_op32(c, OP_OR, s0, lane(t, v, j));
	emit_patch_rel(emit_jcc_rel(c, CC_NE), o->p);
	ctx_imm32(c, true, CTX_VEC_TAGS, ~(1u << v));
	emit_patch_rel(emit_jmp_rel(c), o->p);
	none = look_up_word(t, i, m, t->e->guard->at);
	emit_load_zx(c, s0, m);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_mem_op(c, 0, OP_MOV, s0, s2, s1, 1, 4);
	reg_op32(c, 0x85, s0, s0); // test
	jump = emit_jcc_rel(c, CC_E);
	put_lane(t, v, k);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	emit_patch_rel(jump, o->p);
	if (none)
		emit_patch_rel(none, o->p);
}

/* Does @p insn load a word into a lane of a vector register? Into which, @p lane, and which others, a mask, become
 * zero? */
static bool is_lane_load(const struct dec_insn *insn, int *lane, uint8_t *cleared)
{
	uint64_t to = insn->other_written;

	*lane = 0;
	*cleared = 0xfe;
	if (insn->n_mem != 1 || !insn->mem[0].is_read || insn->mem[0].is_write ||
	    !is_plain_word(insn->mem) || insn->gpr_written || !to || to & (to - 1) ||
	    to != (uint32_t)to)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
		*lane = 1;
		*cleared = 0;
		return true;
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
		*cleared = 0;
		return true;
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVSD:
		*cleared = 1u << 1;
		return true;
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_VMOVSD:
		return true;
	default:
		return false;
	}
}

/* Vector register @p v was stored to the two words at [@p m]. What is not found is done once more, as a step. */
static void stored_pair(struct translation *t, int i, int v, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *jump, *zero;
	struct dec_emit *o = &t->out, *c = &t->cold;

	keep_flags(t, i + 1);
	ctx_imm32(o, false, CTX_VEC_TAGS, 1u << v);
	jump = emit_jcc_rel(o, CC_NE);
	step_stub(t, i);
	emit_patch_rel(jump, c->p);
	find_pair(t, i, m, t->e->guard->at + GUARD_LOADS * 16);
	for (int k = 0; k < 2; k++) {
		const struct dec_mem low = part_of(m, 8 * k, 4);

		ctx_op32(c, OP_MOV, s0, lane(t, v, k));
		emit_mem_op(c, 0, 0x89, s0, s2, s1, 1, 8 * k + 4);
		reg_op32(c, 0x85, s0, s0);
		zero = emit_jcc_rel(c, CC_E);
		emit_load_zx(c, s0, &low);
		emit_patch_rel(zero, c->p);
		emit_mem_op(c, 0, 0x89, s0, s2, s1, 1, 8 * k);
	}
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

/* Does it move 16 bytes between memory and a vector register, as they are? */
static bool is_pair(const struct dec_mem *m)
{
	return m->size == 16 && m->is_read != m->is_write && !m->is_fs && !m->is_gs &&
	       !m->is_absolute && !m->is_addr32;
}

static bool is_pair_load(const struct dec_insn *insn)
{
	uint64_t to = insn->other_written;

	return insn->n_mem == 1 && is_pair(insn->mem) && insn->mem[0].is_read &&
	       insn->is_plain_load && !insn->other_read && !insn->gpr_written && to &&
	       !(to & (to - 1)) && to == (uint32_t)to;
}

static bool is_pair_store(const struct dec_insn *insn)
{
	return insn->n_mem == 1 && is_pair(insn->mem) && insn->mem[0].is_write &&
	       !insn->other_written && !insn->gpr_written &&
	       insn->store_reg >= DEC_REG_VEC && insn->store_reg < DEC_REG_VEC + 32 &&
	       insn->other_read == 1ull << (insn->store_reg - DEC_REG_VEC);
}

/* Does it add a small constant to a word of memory? */
static bool is_constant_sum(const struct dec_insn *insn, int32_t *by)
{
	const uint8_t *p = insn->bytes;
	int kind = p[2] >> 3 & 7;

	if ((p[0] & 0xf8) != 0x48 || insn->n_mem != 1 || insn->mem[0].size != 8 ||
	    insn->mem[0].is_absolute || !insn->mem[0].is_read || !insn->mem[0].is_write)
		return false;
	if (p[1] == 0xff && kind <= 1)
		*by = kind ? -1 : 1;
	else if (p[1] == 0x83 && (kind == 0 || kind == 5))
		*by = (int8_t)p[insn->len - 1] * (kind ? -1 : 1);
	else
		return false;
	return true;
}

/* Does it load less than 64 bits, as they are or with zeros, into a whole register? */
static bool is_short_load(const struct dec_insn *insn)
{
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	return m && m->is_read && !m->is_write && !is_narrow(insn) &&
	       (insn->mnemonic == ZYDIS_MNEMONIC_MOVZX ||
		(insn->mnemonic == ZYDIS_MNEMONIC_MOV && m->size == 4));
}

/* Does its ModRM byte perhaps name register @p reg, beside the memory? What is none but an opcode's extension is taken
 * for one. */
static bool may_be_operand(const struct dec_insn *insn, int reg)
{
	const uint8_t *p = insn->bytes;
	int high = 0;

	while (dec_insn_is_legacy_prefix(*p))
		p++;
	if ((*p & 0xf0) == 0x40)
		high = *p++ & 4 ? 8 : 0;
	if (*p == 0x0f)
		p += p[1] == 0x38 || p[1] == 0x3a ? 2 : 1;
	return insn->is_vex || ((p[1] >> 3 & 7) | high) == reg;
}

/* The opcode of @p insn, behind prefixes. @p rex: that one; 0: it has none. */
static const uint8_t *opcode_of(const struct dec_insn *insn, uint8_t *rex)
{
	const uint8_t *p = insn->bytes;

	*rex = 0;
	while (dec_insn_is_legacy_prefix(*p))
		p++;
	if ((*p & 0xf0) == 0x40)
		*rex = *p++;
	return p;
}

/* A byte is loaded into a register, or made of a flag, which may have been a pointer: it still is if it has the
 * same value. @return whether it was dealt with. */
static bool before_byte(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;
	uint8_t s0 = const_scratch(t)[0], rex, *jump, *same;
	const uint8_t *op = opcode_of(insn, &rex);
	struct dec_emit *o = &t->out, *c = &t->cold;
	int to;
	bool is_load = *op == 0x8a && m && !m->is_absolute;
	bool is_set = op[0] == 0x0f && (op[1] & 0xf0) == 0x90 && !m;
	int encoded = is_load ? op[1] >> 3 & 7 : op[1 + 1] & 7;

	if ((!is_load && !is_set) || __builtin_popcount(insn->gpr_written) != 1 ||
	    insn->is_vex || (!rex && encoded >= 4)) // ah to bh
		return false;
	to = one(insn->gpr_written);
	if (!may(t, to))
		return true;
	keep_flags(t, i);
	ctx_is_zero(o, TAG(to));
	jump = emit_jcc_rel(o, CC_NE);
	step_stub(t, i); // before what is cold here
	emit_patch_rel(jump, c->p);
	if (is_load) {
		emit_load_zx(c, s0, m);
		emit_bytes(c,
			   (uint8_t[]){ 0x40 | (s0 >> 3) << 2 | to >> 3, 0x38,
					0xc0 | (s0 & 7) << 3 | (to & 7) },
			   3); // cmp
		same = emit_jcc_rel(c, CC_E);
		emit_patch_rel(same, o->p);
	} else {
		emit_bytes(c, (uint8_t[]){ 0x40 | to >> 3, 0xf6, 0xc0 | (to & 7), 0xfe },
			   4); // test
		emit_patch_rel(emit_jcc_rel(c, CC_E), step_stub(t, i));
	}
	emit_ctx_store_imm32(c, TAG(to), 0);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	return true;
}

/* The word at [@p m] is about to be loaded into register @p reg. */
static void loads(struct translation *t, int reg, const struct dec_mem *m)
{
	t->load_reg = reg;
	t->is_load_kept = m->is_fs || m->base == reg || m->index == reg;
	if (t->is_load_kept && !m->is_fs)
		emit_lea(&t->out, const_scratch(t)[0], m);
}

/* cmov of whole registers. Flags tell which it will be. */
static bool before_cmov(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	uint8_t s0 = const_scratch(t)[0], rex, *jump;
	const uint8_t *op = opcode_of(insn, &rex);
	struct dec_emit *o = &t->out, *c = &t->cold;
	int to, from;

	if (!(rex & 8) || op[0] != 0x0f || (op[1] & 0xf0) != 0x40 || insn->is_vex)
		return false;
	to = (op[2] >> 3 & 7) | (rex & 4) << 1;
	from = (op[2] & 7) | (rex & 1) << 3;
	if (insn->n_mem) {
		if (to == CAP_RSP || !is_plain_word(insn->mem))
			return false;
		loads(t, to, insn->mem);
		t->load_cc = op[1] & 15;
		return true;
	}
	if (to == CAP_RSP || from == CAP_RSP)
		return false;
	if (!may(t, to) && !may(t, from))
		return true;
	keep_flags(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(from));
	ctx_op32(o, OP_CMP, s0, TAG(to));
	jump = emit_jcc_rel(o, CC_NE);
	emit_patch_rel(jump, c->p);
	return_flags(t, c);
	emit_patch_rel(emit_jcc_rel(c, (op[1] & 15) ^ 1), o->p);
	ctx_store32(c, TAG(to), s0);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	t->zero &= ~(1u << to);
	return true;
}

/* Does it round a pointer down, to what may be far less than a page? It is one to the same, then. */
static bool is_rounding(const struct translation *t, const struct dec_insn *insn)
{
	uint8_t rex;
	const uint8_t *op = opcode_of(insn, &rex);

	return !t->e->guard->has_parts && !insn->n_mem && rex & 8 && op[0] == 0x83 &&
	       (op[1] >> 3 & 7) == 4 && op[2] >= 0x80 && !(insn->gpr_written & RSP_BIT);
}

/* All that has no other way: a step if it has to do with pointers, no pointer if not. */
static void before_any(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;
	uint32_t writes = insn->gpr_written & ~RSP_BIT, sources = insn->gpr_read;
	bool may_be = false;
	int32_t by;

	if (!writes && !(m && m->is_write && m->size >= 8) &&
	    !(insn->gpr_written & RSP_BIT))
		return;
	if (before_byte(t, i) || before_cmov(t, i) || is_rounding(t, insn))
		return;
	if (!dec_insn_is_wide(insn) && !insn->is_vex &&
	    !(m && m->is_write && m->size >= 8) && !(insn->gpr_written & RSP_BIT)) {
		if (is_short_load(insn))
			may_be = false;
		else if (t->e->guard->has_low)
			may_be = step_if_tagged(t, i,
						sources | (is_narrow(insn) ? writes : 0));
		else if (is_narrow(insn))
			may_be = step_if_tagged(t, i, writes);
		if (!may_be)
			clear_tags(t, writes);
		if (may_be)
			zero_tags(t, insn->gpr_written & ~RSP_BIT);
		return;
	}
	if (m && m->is_read && !m->is_write && m->size < 8)
		sources =
			0; // movsxd, movzx and the like: of what they load nothing is a pointer
	if (m && m->is_read && !m->is_write && m->size == 8 && dec_insn_is_wide(insn) &&
	    (insn->mnemonic == ZYDIS_MNEMONIC_ADD ||
	     insn->mnemonic == ZYDIS_MNEMONIC_SUB)) {
		if (writes && (insn->bytes[0] & 0xf8) == 0x48 && !m->is_absolute) {
			adds_word(t, i, one(writes), m,
				  insn->mnemonic == ZYDIS_MNEMONIC_SUB);
			return;
		}
		step_if_pointers(t, i, m);
		if (writes)
			step_if_parts(t, i, one(writes));
		t->zero &= ~writes;
		return; // what it is added to is what it was
	}
	if (is_constant_sum(insn, &by)) {
		moves_word(t, i, m, by);
		return;
	}
	if (m && !(m->is_write && !m->is_read))
		for (int r = 0; r < DEC_GPRS; r++)
			if ((m->base == r || m->index == r) && !(writes >> r & 1) &&
			    !(m->is_write && may_be_operand(insn, r)))
				sources &= ~(1u << r);
	if (m && m->is_read && m->size >= 8) {
		step_if_pointers(t, i, m);
		may_be = true;
	}
	may_be |= step_if_tagged(t, i, sources & ~RSP_BIT);
	if (!may_be) {
		clear_tags(t, writes);
		return;
	}
	zero_tags(t, writes);
}

static bool is_plain_mov(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_MOV && dec_insn_is_wide(insn) &&
	       !insn->is_gs;
}

/* Registers alone, 64 bits. @return whether it was dealt with. */
static bool before_registers(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	uint32_t reads = insn->gpr_read, writes = insn->gpr_written;
	int to = writes ? one(writes) : 0, n = __builtin_popcount(reads);

	if (__builtin_popcount(writes) != 1 || !dec_insn_is_wide(insn) ||
	    writes & RSP_BIT)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (!reads)
			clear_tag(t, to);
		else
			copy_tag(t, to, one(reads));
		return true;
	case ZYDIS_MNEMONIC_LEA:
		if (!reads)
			clear_tag(t, to);
		else if (n == 1)
			move_tag(t, i, to, one(reads));
		else
			merge_tags(t, i, to, one(reads), one(reads & (reads - 1)));
		return true;
	case ZYDIS_MNEMONIC_ADD:
		if (n == 2)
			merge_tags(t, i, to, to, one(reads & ~writes));
		else
			move_tag(t, i, to, to);
		return true;
	case ZYDIS_MNEMONIC_SUB:
		if (n == 2)
			subtract(t, i, to, one(reads & ~writes));
		else
			move_tag(t, i, to, to);
		return true;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		move_tag(t, i, to, to);
		return true;
	default:
		return false;
	}
}

/* From the events of the instruction at hand the block goes on here. */
static void resume_here(struct translation *t)
{
	struct dec_guard *g = t->e->guard;

	for (; t->first_event < g->events.size; t->first_event++) {
		struct guard_event *ev = &g->events.data[t->first_event];

		if (ev->resume)
			continue;
		ev->resume = t->out.p;
		if (!t->has_kept_flags || ev->has_kept_flags)
			continue;
		ev->resume = t->cold.p;
		put_flags(&t->cold);
		emit_patch_rel(emit_jmp_rel(&t->cold), t->out.p);
	}
}

/* The stack pointer moves, by constants. */
static bool is_stack_step(const struct dec_insn *insn)
{
	return insn->gpr_written == RSP_BIT && insn->gpr_read == RSP_BIT;
}

/* memcpy is about to be called: is its memory the same in part? */
static void check_copy(struct translation *t, int i)
{
	uint8_t s0 = const_scratch(t)[0], *same, *jump[2];
	struct dec_emit *o = &t->out;
	uint32_t n;

	keep_flags(t, i);
	reg_op(o, OP_MOV, s0, CAP_RDI);
	reg_op(o, OP_SUB, s0, CAP_RSI);
	same = emit_jcc_rel(o, CC_E);
	reg_op(o, OP_CMP, s0, CAP_RDX);
	jump[0] = emit_jcc_rel(o, CC_B);
	emit_bytes(o, (uint8_t[]){ 0x48 | s0 >> 3, 0xf7, 0xd8 | (s0 & 7) }, 3); // neg
	reg_op(o, OP_CMP, s0, CAP_RDX);
	jump[1] = emit_jcc_rel(o, CC_B);
	emit_patch_rel(same, o->p);
	n = event(t, GUARD_EVENT_COPY, t->insn[i].rip, 0);
	emit_patch_rel(jump[0], t->cold.p);
	emit_patch_rel(jump[1], t->cold.p);
	leave(t, n);
}

uint32_t dec_guard_used(const struct translation *t, const struct dec_insn *insn)
{
	return dec_guard_is_copy(t->e->guard, insn) ?
		       1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX :
		       0;
}

/* Where the block begins C looks, unless the allocator calls itself. Its instructions were counted there, or what was pending was not. */
static void stop_here(struct translation *t)
{
	uint64_t *h = map_get(&t->e->guard->hooks, t->block->rip);
	uint32_t n;
	uint8_t *jump;

	if (h && t->e->guard->hook.data[*h - 1].kind == DEC_HOOK_ALLOCATOR) {
		keep_flags(t, 0);
		emit_ctx_op(&t->out, OP_CMP, CAP_RSP, CTX_ALLOCATOR_RSP);
		jump = emit_jcc_rel(&t->out, CC_A);
	} else {
		jump = emit_jmp_rel(&t->out);
	}
	n = event(t, GUARD_EVENT_CALL, t->block->rip, 0);
	t->e->guard->events.data[n].pending = t->debit_at ? t->block->pending : -t->n;
	emit_patch_rel(jump, t->cold.p);
	leave(t, n);
	resume_here(t);
}

/* That of a function of strings that begins with the block; NULL: there is none, or nobody needs to know. Fills alone tell
 * of parts. */
static const struct dec_hook *string_of(const struct translation *t)
{
	const struct dec_guard *g = t->e->guard;
	const uint64_t *at = map_get(&g->hooks, t->block->rip);
	const struct dec_hook *h = at ? &g->hook.data[*at - 1] : NULL;

	return h && h->kind == DEC_HOOK_STRING && !h->is_resolver &&
			       (g->parts.size || h->extent[0] || h->extent[1]) ?
		       h :
		       NULL;
}

/* Does it say in a register how many bytes it reads at most? */
static bool is_counted(const struct dec_guard *g, const struct dec_hook *h)
{
	return !g->parts.size && h->limit && !h->times && h->width == 1;
}

uint32_t dec_guard_used_first(const struct translation *t)
{
	const struct dec_guard *g = t->e->guard;
	const struct dec_hook *h = g->is_without_pointers ? NULL : string_of(t);

	return h && is_counted(g, h) ? 1u << CAP_RDI | 1u << CAP_RSI | 1u << h->limit : 0;
}

/* In the cold part: of counted function @p h, is all that it may read its pointers'? Then it goes on in the block,
 * else behind this. */
static void check_count(struct translation *t, const struct dec_hook *h)
{
	static const uint8_t arg[2] = { CAP_RDI, CAP_RSI };
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *over, *jump[4];
	struct dec_emit *c = &t->cold;
	int n = 0;

	for (int k = 0; k < 2; k++) {
		if (!h->extent[k])
			continue;
		ctx_op32(c, OP_MOV, s0, TAG(arg[k]));
		reg_op32(c, 0x85, s0, s0); // test
		over = emit_jcc_rel(c, CC_E);
		reg_op(c, OP_MOV, s1, arg[k]);
		emit_mem_op(c, 1, OP_SUB, s1, s0, DEC_REG_NONE, 1, ROW(t, start));
		reg_op(c, OP_ADD, s1, h->limit);
		jump[n++] = emit_jcc_rel(c, CC_C);
		emit_mem_op(c, 1, OP_CMP, s1, s0, DEC_REG_NONE, 1, ROW(t, size));
		jump[n++] = emit_jcc_rel(c, CC_A);
		emit_patch_rel(over, c->p);
	}
	emit_ctx_store(c, CTX_STRING_CALL, CAP_RSP);
	emit_mem_op(c, 1, OP_MOV, s0, CAP_RSP, DEC_REG_NONE, 1, 0);
	emit_ctx_store(c, CTX_STRING_CALL + 8, s0);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
	while (n)
		emit_patch_rel(jump[--n], c->p);
}

/* A function begins, perhaps one that reads: by pointers. */
static void enter_string(struct translation *t)
{
	const struct dec_hook *h = string_of(t);
	uint8_t s0 = const_scratch(t)[0], *jump;
	struct dec_emit *o = &t->out;

	if (!h)
		return;
	keep_flags(t, 0);
	ctx_op32(o, OP_MOV, s0, TAG(CAP_RDI));
	ctx_op32(o, OP_OR, s0, TAG(CAP_RSI));
	jump = emit_jcc_rel(o, CC_NE);
	emit_patch_rel(jump, t->cold.p);
	if (is_counted(t->e->guard, h))
		check_count(t, h);
	leave(t, event(t, GUARD_EVENT_STRING, t->block->rip, 0));
	resume_here(t);
}

void dec_guard_open(struct translation *t)
{
	struct dec_emit *o = &t->out;

	t->zero = RSP_BIT;
	for (int k = 0; k < 3 && const_scratch(t)[k] != DEC_REG_NONE; k++)
		emit_ctx_store(o, CTX_GUARD_SPILL + 8 * k, const_scratch(t)[k]);
	t->block->opened_at = o->p - t->block->host;
	t->is_guard_open = true;
	t->first_event = t->e->guard->events.size;
	if (dec_guard_stops_at(t->e->guard, t->block->rip))
		stop_here(t);
	if (!t->e->guard->is_without_pointers)
		enter_string(t);
	if (t->e->guard->blank)
		dec_blank_open(t);
}

void dec_guard_close(struct translation *t)
{
	if (!t->is_guard_open)
		return;
	t->is_guard_open = false;
	return_flags(t, &t->out);
	t->has_kept_flags = false;
	for (int k = 0; k < 3 && const_scratch(t)[k] != DEC_REG_NONE; k++)
		emit_ctx_load(&t->out, const_scratch(t)[k], CTX_GUARD_SPILL + 8 * k);
	t->block->closed_at = t->out.p - t->block->host;
}

/* Where the one operand, if it is read, tells whether the branch is right. */
static void before_branch(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	if (!m || !m->is_read || insn->flow == DEC_FLOW_RET)
		return;
	check(t, i, m);
	if (dec_guard_is_copy(t->e->guard, insn))
		check_copy(t, i);
}

/* Is it one that is never done here? */
static bool is_step(const struct dec_insn *insn)
{
	bool is_push = insn->mnemonic == ZYDIS_MNEMONIC_PUSH && insn->n_mem == 2;

	if (is_word_move(insn))
		return false;
	return insn->is_string || insn->is_rep ||
	       (insn->is_slow_addr && !insn->lane_bytes) ||
	       (insn->n_mem > 1 && !is_push) || (insn->n_mem && insn->mem[0].is_gs);
}

/* C does @p insn, or may: it finds pointers by other rules than are applied here. */
static void forget_zero(struct translation *t, const struct dec_insn *insn)
{
	t->zero &= ~insn->gpr_written | RSP_BIT;
}

/* Pointers that instruction @p i, no branch, has to do with. */
static void before_insn(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;
	bool is_push = insn->mnemonic == ZYDIS_MNEMONIC_PUSH;
	uint8_t cleared;
	int lane;

	for (int k = 0; k < insn->n_mem; k++)
		check(t, i, &insn->mem[k]);
	if (is_word_move(insn)) {
		moves_between(t, i);
	} else if (insn->lane_bytes) {
		before_vector(t, i);
	} else if (is_push && insn->n_mem == 2) {
		step_if_pointers(t, i,
				 insn->mem[0].is_read ? &insn->mem[0] : &insn->mem[1]);
	} else if (is_push) {
		uint32_t reads = insn->gpr_read & ~RSP_BIT;

		if (reads && m)
			stores(t, i, one(reads), m, insn->mem[0].disp ? 0 : -8);
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_POP && m && m->size == 8 &&
		   insn->gpr_written != RSP_BIT) {
		t->load_reg = one(insn->gpr_written & ~RSP_BIT);
		t->is_load_kept = true;
		emit_lea(&t->out, const_scratch(t)[0], m);
	} else if (is_pair_load(insn)) {
		loads_pair(t, i, __builtin_ctzll(insn->other_written), m);
	} else if (is_lane_load(insn, &lane, &cleared)) {
		loads_lane(t, i, __builtin_ctzll(insn->other_written), lane, cleared, m);
	} else if (is_pair_store(insn)) {
		t->store_vec = insn->store_reg - DEC_REG_VEC;
	} else if (vectors(insn->other_read | insn->other_written)) {
		before_vector(t, i);
	} else if (is_plain_mov(insn) && m && m->is_read && m->size == 8 &&
		   __builtin_popcount(insn->gpr_written) == 1 &&
		   insn->gpr_written != RSP_BIT) {
		loads(t, one(insn->gpr_written), m);
		if (m->is_fs) // whose address is not known here
			step_if_pointers(t, i, m),
				t->load_reg = DEC_REG_NONE,
				emit_ctx_store_imm32(&t->out, TAG(one(insn->gpr_written)),
						     0),
				t->zero &= ~insn->gpr_written;
	} else if (is_plain_mov(insn) && m && m->is_write && m->size == 8) {
		if (insn->store_reg < DEC_GPRS && insn->store_reg != CAP_RSP)
			stores(t, i, insn->store_reg, m, 0);
	} else if (m || !before_registers(t, i)) {
		if (!is_stack_step(insn))
			before_any(t, i);
	}
}

void dec_guard_before(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_guard *g = t->e->guard;
	bool is_branch = insn->flow != DEC_FLOW_NEXT, may_be_done;

	t->step_stub = NULL;
	t->load_reg = t->load_cc = t->store_vec = DEC_REG_NONE;
	if (!g->is_without_pointers && !is_branch && is_step(insn)) {
		step_always(t, i);
		forget_zero(t, insn);
		settle_flags(t, insn);
		return;
	}
	// What has no value comes first: C is to find tags as they are before the instruction.
	if (g->blank && dec_blank_before(t, i)) {
		forget_zero(t, insn);
		settle_flags(t, insn);
		return;
	}
	may_be_done = t->step_stub;
	if (!g->is_without_pointers && is_branch)
		before_branch(t, i);
	else if (!g->is_without_pointers)
		before_insn(t, i);
	if (may_be_done && !is_short_load(insn))
		forget_zero(t, insn);
	settle_flags(t, insn);
	if (is_branch)
		resume_here(t);
}

void dec_guard_after(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];

	uint8_t *over = NULL;

	if (t->load_cc != DEC_REG_NONE) { // it is as it was when that does not hold
		keep_flags(t, i + 1);
		over = emit_jcc_rel(&t->out, t->load_cc ^ 1);
	}
	if (t->load_reg != DEC_REG_NONE)
		loaded(t, i, t->load_reg, insn->mem, t->is_load_kept);
	if (over)
		emit_patch_rel(over, t->out.p);
	if (t->store_vec != DEC_REG_NONE)
		stored_pair(t, i, t->store_vec, insn->mem);
	resume_here(t);
}

/* ---- for blank_emit.c --------------------------------------------------------------------------------- */

void dec_guard_keep_flags(struct translation *t, int i)
{
	keep_flags(t, i);
}

uint8_t *dec_guard_step_stub(struct translation *t, int i)
{
	return step_stub(t, i);
}

uint8_t *dec_guard_run_stub(struct translation *t, int i)
{
	uint8_t *stub = t->cold.p;

	leave(t, event(t, GUARD_EVENT_RUN, t->insn[i].rip, 0));
	return stub;
}
