// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Emitted code that asks, before an instruction: is its memory its pointer's, and where a function of strings begins,
 * what it will read?
 */
#include "decode/translator/guard_emit.h"

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
	uint8_t s1 = const_scratch(t)[1], *stub = dec_guard_step_stub(t, i);
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
	stub = dec_guard_step_stub(t, i);
	reg_imm(o, 7, s0, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(o, CC_AE), c->p);
	way_is(t, s0, GUARD_WAY_INDEX);
	emit_patch_rel(emit_jcc_rel(c, CC_B), stub);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

/* In the cold part: is [@p m] within what instruction @p i may access of blocks like that whose start the pointer is to? Their
 * class says so. Then it goes on behind this, else at @p stub. It loses all scratch registers. */
static void check_from_start(struct translation *t, int i, const struct dec_mem *m,
			     uint8_t *stub)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2];
	uint32_t site = dec_guard_parts_site(t->e->guard, t->insn[i].rip) + 1;
	uint32_t moves = t->e->guard->at + GUARD_MOVES_AT;
	struct dec_emit *c = &t->cold;

	mem_is(c, s0, ROW(t, size), 0); // gone
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	emit_mem_op(c, 0, OP_MOV, s2, s0, DEC_REG_NONE, 1, ROW(t, class));
	reg_op32(c, OP_MOV, s1, s2);
	reg_shift(c, 4, s1, 4);
	emit_find_move(t, s2, s1, site, stub);
	emit_lea(c, s2, m);
	emit_mem_op(c, 1, OP_SUB, s2, s0, DEC_REG_NONE, 1, ROW(t, node_start));
	emit_mem_op(c, 0, OP_MOV, s0, s1, DEC_REG_NONE, 1,
		    moves + offsetof(struct guard_move, to));
	reg_op(c, OP_SUB, s2, s0);
	if (m->size > 1) {
		reg_imm(c, 0, s2, m->size - 1);
		emit_patch_rel(emit_jcc_rel(c, CC_C), stub);
	}
	emit_mem_op(c, 0, OP_MOV, s0, s1, DEC_REG_NONE, 1,
		    moves + offsetof(struct guard_move, bytes));
	reg_op(c, OP_CMP, s2, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_AE), stub);
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
	stub = dec_guard_step_stub(t, i);
	reg_imm(o, 7, s0, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(o, CC_AE), c->p);
	if (!is_own) {
		*n = compare(t, c, m, ROW(t, other_start), outside);
		return emit_jmp_rel(c);
	}
	way_is(t, s0, GUARD_WAY_START);
	start = emit_jcc_rel(c, CC_E);
	emit_patch_rel(emit_jcc_rel(c, CC_B), stub);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	emit_patch_rel(start, c->p);
	check_from_start(t, i, m, stub);
	return emit_jmp_rel(c);
}

void dec_guard_check(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], *over, *jump[4], *stub;
	bool has_index = m->scale == 1 && may(t, m->index), is_ahead, has_lanes;
	struct dec_emit *o = &t->out;
	int n;

	if (m->base >= DEC_GPRS || m->is_gs || m->is_absolute)
		return;
	if (!may(t, m->base) && !has_index)
		return;
	dec_guard_keep_flags(t, i);
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
	stub = dec_guard_step_stub(t, i);
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

void dec_guard_check_copy(struct translation *t, int i)
{
	uint8_t s0 = const_scratch(t)[0], *same, *jump[2];
	struct dec_emit *o = &t->out;
	uint32_t n;

	dec_guard_keep_flags(t, i);
	reg_op(o, OP_MOV, s0, CAP_RDI);
	reg_op(o, OP_SUB, s0, CAP_RSI);
	same = emit_jcc_rel(o, CC_E);
	reg_op(o, OP_CMP, s0, CAP_RDX);
	jump[0] = emit_jcc_rel(o, CC_B);
	emit_bytes(o, (uint8_t[]){ 0x48 | s0 >> 3, 0xf7, 0xd8 | (s0 & 7) }, 3); // neg
	reg_op(o, OP_CMP, s0, CAP_RDX);
	jump[1] = emit_jcc_rel(o, CC_B);
	emit_patch_rel(same, o->p);
	n = dec_guard_make_event(t, GUARD_EVENT_COPY, t->insn[i].rip, 0);
	emit_patch_rel(jump[0], t->cold.p);
	emit_patch_rel(jump[1], t->cold.p);
	dec_guard_leave(t, n);
}

uint32_t dec_guard_used(const struct translation *t, const struct dec_insn *insn)
{
	return dec_guard_is_copy(t->e->guard, insn) ?
		       1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX :
		       0;
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
static bool is_counted(const struct dec_hook *h)
{
	return (h->extent[0] || h->extent[1]) && h->limit && !h->times && h->width == 1 &&
	       !h->copies;
}

/* Does it read up to a terminator, or to where its two arguments differ? */
static bool is_text(const struct dec_hook *h)
{
	return !h->limit && h->width == 1 && !h->which &&
	       ((h->extent[0] == DEC_EXTENT_TEXT && !h->extent[1]) ||
		(h->extent[0] == DEC_EXTENT_ORDER && h->extent[1] == DEC_EXTENT_ORDER));
}

uint32_t dec_guard_used_first(const struct translation *t)
{
	const struct dec_hook *h = t->e->guard->is_without_pointers ? NULL : string_of(t);
	uint32_t args = 1u << CAP_RDI | 1u << CAP_RSI;

	if (!h)
		return 0;
	return is_counted(h) ? args | 1u << h->limit : is_text(h) ? args : 0;
}

/* In the cold part: the call is one that was looked at. */
static void pass(struct translation *t)
{
	uint8_t s0 = const_scratch(t)[0];
	struct dec_emit *c = &t->cold;

	emit_ctx_store(c, CTX_STRING_CALL, CAP_RSP);
	emit_mem_op(c, 1, OP_MOV, s0, CAP_RSP, DEC_REG_NONE, 1, 0);
	emit_ctx_store(c, CTX_STRING_CALL + 8, s0);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

/* In the cold part: the tag in the first scratch leads to the bounds that other code than the user's has: those of the part that
 * the pointer is to, if its node has any. */
static void find_bounds(struct translation *t)
{
	uint8_t s0 = const_scratch(t)[0], *over;
	struct dec_emit *c = &t->cold;

	if (!t->e->guard->parts.size)
		return;
	reg_imm(c, 7, s0, GUARD_PARTS);
	over = emit_jcc_rel(c, CC_B);
	reg_imm(c, 0, s0,
		offsetof(struct guard_parts_row, other_start) -
			offsetof(struct guard_parts_row, start));
	emit_patch_rel(over, c->p);
}

/* In the cold part: jump, unless the first argument, of the tag in the first scratch, is where its pointer was led to: what is within
 * the bounds then goes behind no array (dec_guard_parts_spill()). @return the jump. */
static uint8_t *check_anchor(struct translation *t)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1];
	struct dec_emit *c = &t->cold;

	emit_mem_op(c, 1, OP_MOVSXD, s1, s0, DEC_REG_NONE, 1, ROW(t, anchor));
	emit_mem_op(c, 1, OP_ADD, s1, s0, DEC_REG_NONE, 1, ROW(t, node_start));
	reg_op(c, OP_CMP, s1, CAP_RDI);
	return emit_jcc_rel(c, CC_NE);
}

/* In the cold part: of counted function @p h, is all that it may read its pointers', and what it writes in the part that its
 * pointer is to? Then it goes on in the block, else behind this. */
static void check_count(struct translation *t, const struct dec_hook *h)
{
	static const uint8_t arg[2] = { CAP_RDI, CAP_RSI };
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *over, *jump[6];
	struct dec_emit *c = &t->cold;
	int n = 0;

	for (int k = 0; k < 2; k++) {
		bool is_written = !k && !h->extent[k];

		if (!h->extent[k] && (!is_written || !t->e->guard->parts.size))
			continue;
		ctx_op32(c, OP_MOV, s0, TAG(arg[k]));
		if (is_written)
			reg_imm(c, 7, s0, GUARD_PARTS);
		else
			reg_op32(c, 0x85, s0, s0); // test
		over = emit_jcc_rel(c, is_written ? CC_B : CC_E);
		if (is_written)
			jump[n++] = check_anchor(t);
		find_bounds(t);
		reg_op(c, OP_MOV, s1, arg[k]);
		emit_mem_op(c, 1, OP_SUB, s1, s0, DEC_REG_NONE, 1, ROW(t, start));
		reg_op(c, OP_ADD, s1, h->limit);
		jump[n++] = emit_jcc_rel(c, CC_C);
		emit_mem_op(c, 1, OP_CMP, s1, s0, DEC_REG_NONE, 1, ROW(t, size));
		jump[n++] = emit_jcc_rel(c, CC_A);
		emit_patch_rel(over, c->p);
	}
	pass(t);
	while (n)
		emit_patch_rel(jump[--n], c->p);
}

/* .. of text function @p h, does what it reads end within its pointers' nodes? A byte at a time: what is read there, it
 * reads, too. */
static void check_text(struct translation *t, const struct dec_hook *h)
{
	static const uint8_t arg[2] = { CAP_RDI, CAP_RSI };
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *over, *jump[6], *end[2], *next;
	struct dec_mem byte = { .base = CAP_RDI, .index = s0, .scale = 1, .size = 1 };
	bool is_order = h->extent[1];
	struct dec_emit *c = &t->cold;
	int n = 0;

	for (int k = 0; k <= is_order; k++) { // s2: what is left of both
		ctx_op32(c, OP_MOV, s0, TAG(arg[k]));
		reg_op32(c, 0x85, s0, s0); // test
		jump[n++] = emit_jcc_rel(c, CC_E);
		find_bounds(t);
		reg_op(c, OP_MOV, s1, arg[k]);
		emit_mem_op(c, 1, OP_SUB, s1, s0, DEC_REG_NONE, 1, ROW(t, start));
		emit_mem_op(c, 1, OP_MOV, s0, s0, DEC_REG_NONE, 1, ROW(t, size));
		reg_op(c, OP_SUB, s0, s1);
		jump[n++] = emit_jcc_rel(c, CC_BE);
		over = NULL;
		if (k) {
			reg_op(c, OP_CMP, s0, s2);
			over = emit_jcc_rel(c, CC_AE);
		}
		reg_op(c, OP_MOV, s2, s0);
		if (over)
			emit_patch_rel(over, c->p);
	}
	reg_op32(c, 0x33, s0, s0); // xor
	next = c->p;
	emit_load_zx(c, s1, &byte);
	if (is_order) {
		emit_mem_op(c, 0, 0x38, s1, CAP_RSI, s0, 1, 0); // cmp, of bytes
		end[0] = emit_jcc_rel(c, CC_NE);
	}
	reg_op32(c, 0x85, s1, s1);
	end[1] = emit_jcc_rel(c, CC_E);
	reg_imm(c, 0, s0, 1);
	reg_op(c, OP_CMP, s0, s2);
	emit_patch_rel(emit_jcc_rel(c, CC_B), next);
	jump[n++] = emit_jmp_rel(c);
	if (is_order)
		emit_patch_rel(end[0], c->p);
	emit_patch_rel(end[1], c->p);
	pass(t);
	while (n)
		emit_patch_rel(jump[--n], c->p);
}

void dec_guard_enter_string(struct translation *t)
{
	const struct dec_hook *h = string_of(t);
	uint8_t s0 = const_scratch(t)[0], *jump;
	struct dec_emit *o = &t->out;
	uint32_t n;

	if (!h)
		return;
	dec_guard_keep_flags(t, 0);
	ctx_op32(o, OP_MOV, s0, TAG(CAP_RDI));
	ctx_op32(o, OP_OR, s0, TAG(CAP_RSI));
	jump = emit_jcc_rel(o, CC_NE);
	emit_patch_rel(jump, t->cold.p);
	if (is_counted(h))
		check_count(t, h);
	else if (is_text(h))
		check_text(t, h);
	n = dec_guard_make_event(t, GUARD_EVENT_STRING, t->block->rip, 0);
	t->e->guard->events.data[n].hook = h - t->e->guard->hook.data + 1;
	dec_guard_leave(t, n);
}
