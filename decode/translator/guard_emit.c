// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What goes around the guest's instructions while a guard watches (guard.h). Before an instruction: is its
 * memory its pointer's, and does it do with tagged values nothing but what is done here, moves and
 * arithmetic of one pointer? If not, an event. Behind it: the tags of what it defined. Where the guest
 * still needs its flags they are kept meanwhile.
 */

#include "decode/translator/guard_emit.h"

#include <assert.h>
#include <string.h>

#include "decode/x86/zydis.h"

/* ---- state ---------------------------------------------------------------------------------------- */

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

void dec_guard_keep_flags(struct translation *t, int i)
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

/* ---- events --------------------------------------------------------------------------------------- */

uint32_t dec_guard_make_event(struct translation *t, enum guard_event_kind kind,
			      uint64_t rip, int reg)
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

void dec_guard_leave(struct translation *t, uint32_t n)
{
	enum guard_event_kind kind = t->e->guard->events.data[n].kind;
	// Another base of fs is what dec_engine_go() sees to.
	bool can = t->e->ctx->quick && !t->block->is_fs && !t->block->is_gs;
	bool is_quick = can && kind > GUARD_EVENT_BLANK;
	bool is_at_door = can && t->e->ctx->door && kind >= GUARD_EVENT_MOVE &&
			  kind != GUARD_EVENT_LOOK && kind != GUARD_EVENT_COPY;

	return_flags(t, &t->cold);
	emit_ctx_store_imm32(&t->cold, CTX_GUARD_EVENT, n);
	emit_ctx_store_imm32(&t->cold, CTX_EXIT_ID,
			     is_quick ? DEC_EXIT_GUARD_QUICK : DEC_EXIT_GUARD);
	emit_ctx_jmp(&t->cold, is_at_door ? CTX_DOOR : is_quick ? CTX_QUICK : CTX_COMMON);
}

uint8_t *dec_guard_step_stub(struct translation *t, int i)
{
	bool is_branch = t->insn[i].flow != DEC_FLOW_NEXT;

	if (t->step_stub && t->step_stub_kept == t->has_kept_flags)
		return t->step_stub;
	t->step_stub = t->cold.p;
	t->step_stub_kept = t->has_kept_flags;
	dec_guard_leave(t, dec_guard_make_event(
				   t, is_branch ? GUARD_EVENT_LOOK : GUARD_EVENT_STEP,
				   t->insn[i].rip, 0));
	return t->step_stub;
}

void dec_guard_step_if(struct translation *t, int i, uint8_t cc)
{
	uint8_t *at = emit_jcc_rel(&t->out, cc);

	emit_patch_rel(at, dec_guard_step_stub(t, i));
}

static void step_always(struct translation *t, int i)
{
	uint8_t *at = emit_jmp_rel(&t->out);

	emit_patch_rel(at, dec_guard_step_stub(t, i));
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

/* Does it shift a word of memory? What that leaves there is no pointer, whatever it was. */
static bool is_word_shift(const struct dec_insn *insn)
{
	const uint8_t *p = insn->bytes;
	int kind = p[2] >> 3 & 7;

	return (p[0] & 0xf8) == 0x48 && (p[1] == 0xc1 || p[1] == 0xd1 || p[1] == 0xd3) &&
	       (kind == 4 || kind == 5 || kind == 7) && insn->n_mem == 1;
}

/* .. a register, which is none of the address? */
static bool is_register_sum(const struct dec_insn *insn)
{
	const uint8_t *p = insn->bytes;
	int reg = (p[2] >> 3 & 7) | (p[0] & 4) << 1;

	return (p[0] & 0xf8) == 0x48 && p[1] == 0x01 && insn->n_mem == 1 &&
	       !insn->mem[0].is_absolute && reg != CAP_RSP && reg != insn->mem[0].base &&
	       reg != insn->mem[0].index;
}

/* Does it load less than 64 bits, as they are or with zeros, into a whole register? */
static bool is_short_load(const struct dec_insn *insn)
{
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	return m && m->is_read && !m->is_write && !is_narrow(insn) &&
	       (insn->mnemonic == ZYDIS_MNEMONIC_MOVZX ||
		(insn->mnemonic == ZYDIS_MNEMONIC_MOVSX && m->size < 4) ||
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
	dec_guard_keep_flags(t, i);
	ctx_is_zero(o, TAG(to));
	jump = emit_jcc_rel(o, CC_NE);
	dec_guard_step_stub(t, i); // before what is cold here
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
		emit_patch_rel(emit_jcc_rel(c, CC_E), dec_guard_step_stub(t, i));
	}
	emit_ctx_store_imm32(c, TAG(to), 0);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	return true;
}

/* The low half of a register goes to another one, as a pointer does that is below 4 GiB. @return whether it was dealt
 * with. */
static bool before_half(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	uint8_t s0 = const_scratch(t)[0], *jump, *none;
	struct dec_emit *o = &t->out, *c = &t->cold;
	int from, to;

	if (insn->mnemonic != ZYDIS_MNEMONIC_MOV || insn->n_mem || is_narrow(insn) ||
	    __builtin_popcount(insn->gpr_read) != 1 ||
	    __builtin_popcount(insn->gpr_written) != 1)
		return false;
	from = one(insn->gpr_read);
	to = one(insn->gpr_written);
	if (!may(t, from)) {
		dec_guard_clear_tag(t, to);
		return true;
	}
	dec_guard_keep_flags(t, i);
	ctx_is_zero(o, TAG(from));
	jump = emit_jcc_rel(o, CC_NE);
	none = o->p;
	emit_ctx_store_imm32(o, TAG(to), 0);
	emit_patch_rel(jump, c->p);
	reg_op(c, OP_MOV, s0, from);
	reg_shift(c, 5, s0, 32);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), none);
	ctx_op32(c, OP_MOV, s0, TAG(from));
	ctx_store32(c, TAG(to), s0);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	t->zero &= ~(1u << to);
	return true;
}

/* A half less another one: of two pointers to one block, below 4 GiB, it is no pointer. @return as before_half(). */
static bool before_half_less(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	int to = one(insn->gpr_written), from = one(insn->gpr_read & ~insn->gpr_written);
	uint8_t s0 = const_scratch(t)[0];

	if (insn->mnemonic != ZYDIS_MNEMONIC_SUB || insn->n_mem || is_narrow(insn) ||
	    __builtin_popcount(insn->gpr_read) != 2 || !may(t, from))
		return false;
	dec_guard_keep_flags(t, i);
	ctx_op32(&t->out, OP_MOV, s0, TAG(from));
	ctx_op32(&t->out, OP_CMP, s0, TAG(to));
	dec_guard_step_if(t, i, CC_NE);
	emit_ctx_store_imm32(&t->out, TAG(to), 0);
	return true;
}

/* The word at [@p m] is about to be loaded into register @p reg. */
static void loads(struct translation *t, int reg, const struct dec_mem *m)
{
	t->load_reg = reg;
	t->is_load_kept = m->base == reg || m->index == reg;
	if (t->is_load_kept)
		emit_address(&t->out, const_scratch(t)[0], m);
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
		if (to == CAP_RSP || !is_plain(insn->mem, 8))
			return false;
		loads(t, to, insn->mem);
		t->load_cc = op[1] & 15;
		return true;
	}
	if (to == CAP_RSP || from == CAP_RSP)
		return false;
	if (!may(t, to) && !may(t, from))
		return true;
	dec_guard_keep_flags(t, i);
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

/* @return @p regs that @p insn reads, but for those that are its operand's address alone. */
static uint32_t without_address(const struct dec_insn *insn, uint32_t regs)
{
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	if (!m || (m->is_write && !m->is_read))
		return regs;
	for (int r = 0; r < DEC_GPRS; r++)
		if ((m->base == r || m->index == r) && !(insn->gpr_written >> r & 1) &&
		    !(m->is_write && may_be_operand(insn, r)))
			regs &= ~(1u << r);
	return regs;
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
		if (t->e->guard->has_low && (before_half(t, i) || before_half_less(t, i)))
			return;
		if (is_short_load(insn))
			may_be = false;
		else if (t->e->guard->has_low && !dec_insn_zeroes(insn))
			may_be = dec_guard_step_if_tagged(
				t, i,
				without_address(insn, sources) |
					(is_narrow(insn) ? writes : 0));
		else if (is_narrow(insn))
			may_be = dec_guard_step_if_tagged(t, i, writes);
		if (!may_be)
			dec_guard_clear_tags(t, writes);
		if (may_be)
			dec_guard_zero_tags(t, insn->gpr_written & ~RSP_BIT);
		return;
	}
	if (m && m->is_read && !m->is_write && m->size < 8)
		sources =
			0; // movsxd, movzx and the like: of what they load nothing is a pointer
	if (m && m->is_read && !m->is_write && m->size == 8 && dec_insn_is_wide(insn) &&
	    (insn->mnemonic == ZYDIS_MNEMONIC_ADD ||
	     insn->mnemonic == ZYDIS_MNEMONIC_SUB)) {
		if (writes && (insn->bytes[0] & 0xf8) == 0x48 && !m->is_absolute) {
			dec_guard_adds_word(t, i, one(writes), m,
					    insn->mnemonic == ZYDIS_MNEMONIC_SUB);
			return;
		}
		dec_guard_step_if_pointers(t, i, m);
		if (writes)
			dec_guard_step_if_parts(t, i, one(writes));
		t->zero &= ~writes;
		return; // what it is added to is what it was
	}
	if (is_constant_sum(insn, &by)) {
		dec_guard_moves_word(t, i, m, by);
		return;
	}
	if (is_register_sum(insn)) {
		dec_guard_adds_to_word(
			t, i, m, (insn->bytes[2] >> 3 & 7) | (insn->bytes[0] & 4) << 1);
		return;
	}
	if (is_word_shift(insn))
		return;
	sources = without_address(insn, sources);
	if (m && m->is_read && m->size >= 8) {
		dec_guard_step_if_pointers(t, i, m);
		may_be = true;
	}
	may_be |= dec_guard_step_if_tagged(t, i, sources & ~RSP_BIT);
	if (!may_be) {
		dec_guard_clear_tags(t, writes);
		return;
	}
	dec_guard_zero_tags(t, writes);
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
			dec_guard_clear_tag(t, to);
		else
			dec_guard_copy_tag(t, to, one(reads));
		return true;
	case ZYDIS_MNEMONIC_LEA:
		if (!reads)
			dec_guard_clear_tag(t, to);
		else if (n == 1)
			dec_guard_move_tag(t, i, to, one(reads));
		else
			dec_guard_merge_tags(t, i, to, one(reads),
					     one(reads & (reads - 1)));
		return true;
	case ZYDIS_MNEMONIC_ADD:
		if (n == 2)
			dec_guard_merge_tags(t, i, to, to, one(reads & ~writes));
		else
			dec_guard_move_tag(t, i, to, to);
		return true;
	case ZYDIS_MNEMONIC_SUB:
		if (n == 2)
			dec_guard_subtract(t, i, to, one(reads & ~writes));
		else
			dec_guard_move_tag(t, i, to, to);
		return true;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		dec_guard_move_tag(t, i, to, to);
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

static enum guard_stop_way way_of(const struct dec_guard *g, const struct dec_hook *h)
{
	if (g->blank)
		return GUARD_STOP_OTHER;
	if (!h)
		return GUARD_STOP_BACK;
	if (h->kind == DEC_HOOK_FAMILY)
		return GUARD_STOP_FAMILY;
	if (h->kind != DEC_HOOK_ALLOCATOR || h->times)
		return GUARD_STOP_OTHER;
	return h->which == CAP_HEAP_MALLOC ? GUARD_STOP_MALLOC :
	       h->which == CAP_HEAP_FREE   ? GUARD_STOP_FREE :
					     GUARD_STOP_OTHER;
}

void dec_guard_stop(struct translation *t)
{
	struct dec_guard *g = t->e->guard;
	uint64_t *h = map_get(&g->hooks, t->block->rip);
	uint32_t n;

	if (!dec_guard_stops_at(g, t->block->rip))
		return;
	t->first_event = n = dec_guard_make_event(t, GUARD_EVENT_CALL, t->block->rip, 0);
	t->block->stop_event = n + 1;
	g->events.data[n].hook = h ? *h : 0;
	g->events.data[n].way = way_of(g, h ? &g->hook.data[*h - 1] : NULL);
	g->events.data[n].is_unguarded = t->block->is_unguarded;
	g->events.data[n].pending = t->block->pending;
	emit_patch_rel(emit_jmp_rel(&t->out), t->cold.p);
	dec_guard_leave(t, n);
	resume_here(t);
}

void dec_guard_borrow(struct translation *t)
{
	struct dec_emit *o = &t->out;

	for (int k = 0; k < 3 && const_scratch(t)[k] != DEC_REG_NONE; k++)
		emit_ctx_store(o, CTX_GUARD_SPILL + 8 * k, const_scratch(t)[k]);
	t->block->opened_at = o->p - t->block->host;
	t->is_guard_open = true;
	if (const_scratch(t)[0] != DEC_REG_NONE)
		t->block->fast = o->p;
}

void dec_guard_open(struct translation *t)
{
	t->zero = RSP_BIT;
	t->first_event = t->e->guard->events.size;
	if (!t->e->guard->is_without_pointers) {
		dec_guard_enter_string(t);
		resume_here(t);
	}
	if (t->e->guard->blank)
		dec_blank_open(t);
}

void dec_guard_give_back(const uint8_t scratch[3], struct dec_emit *out)
{
	for (int k = 0; k < 3 && scratch[k] != DEC_REG_NONE; k++)
		emit_ctx_load(out, scratch[k], CTX_GUARD_SPILL + 8 * k);
}

void dec_guard_close(struct translation *t, bool is_direct)
{
	if (!t->is_guard_open)
		return;
	return_flags(t, &t->out);
	t->has_kept_flags = false;
	if (is_direct && t->block->scratch[0] != DEC_REG_NONE)
		return;
	t->is_guard_open = false;
	dec_guard_give_back(t->block->scratch, &t->out);
	t->block->closed_at = t->out.p - t->block->host;
}

/* Where the one operand, if it is read, tells whether the branch is right. */
static void before_branch(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	if (!m || !m->is_read || insn->flow == DEC_FLOW_RET)
		return;
	dec_guard_check(t, i, m);
	if (dec_guard_is_copy(t->e->guard, insn))
		dec_guard_check_copy(t, i);
}

/* Is it one that is never done here? */
static bool is_step(const struct dec_insn *insn)
{
	bool is_push = insn->mnemonic == ZYDIS_MNEMONIC_PUSH && insn->n_mem == 2;

	if (dec_guard_is_word_move(insn))
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
		dec_guard_check(t, i, &insn->mem[k]);
	if (dec_guard_is_word_move(insn)) {
		dec_guard_moves_between(t, i);
	} else if (insn->lane_bytes) {
		dec_guard_before_vector(t, i);
	} else if (is_push && insn->n_mem == 2) {
		dec_guard_step_if_pointers(
			t, i, insn->mem[0].is_read ? &insn->mem[0] : &insn->mem[1]);
	} else if (is_push) {
		uint32_t reads = insn->gpr_read & ~RSP_BIT;

		if (reads && m)
			dec_guard_stores(t, i, one(reads), m, insn->mem[0].disp ? 0 : -8);
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_POP && m && m->size == 8 &&
		   insn->gpr_written != RSP_BIT) {
		t->load_reg = one(insn->gpr_written & ~RSP_BIT);
		t->is_load_kept = true;
		emit_lea(&t->out, const_scratch(t)[0], m);
	} else if (dec_guard_is_pair_load(insn)) {
		dec_guard_loads_pair(t, i, __builtin_ctzll(insn->other_written), m);
	} else if (dec_guard_is_lane_load(insn, &lane, &cleared)) {
		dec_guard_loads_lane(t, i, __builtin_ctzll(insn->other_written), lane,
				     cleared, m);
	} else if (dec_guard_is_pair_store(insn)) {
		t->store_vec = insn->store_reg - DEC_REG_VEC;
	} else if (dec_guard_is_to_lane(insn)) {
		dec_guard_moves_to_lane(t, i, one(vectors(insn->other_written)),
					one(insn->gpr_read));
	} else if (dec_guard_is_joined_lanes(insn)) {
		uint32_t to = vectors(insn->other_written);
		uint32_t other = vectors(insn->other_read) & ~to;

		dec_guard_joins_lanes(t, i, one(to), one(other ?: to));
	} else if (dec_guard_is_zeroed(insn)) {
		dec_guard_clears_lanes(t, i, one(vectors(insn->other_written)),
				       insn->is_vex);
	} else if (vectors(insn->other_read | insn->other_written)) {
		dec_guard_before_vector(t, i);
	} else if (is_plain_mov(insn) && m && m->is_read && m->size == 8 &&
		   __builtin_popcount(insn->gpr_written) == 1 &&
		   insn->gpr_written != RSP_BIT) {
		loads(t, one(insn->gpr_written), m);
	} else if (is_plain_mov(insn) && m && m->is_write && m->size == 8) {
		if (insn->store_reg < DEC_GPRS && insn->store_reg != CAP_RSP)
			dec_guard_stores(t, i, insn->store_reg, m, 0);
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
	int shift;

	t->is_stos = false;
	t->step_stub = t->blank_stub = t->move_stub = NULL;
	t->load_reg = t->load_cc = t->store_vec = DEC_REG_NONE;
	if (dec_guard_is_stos(t, insn, &shift)) {
		dec_guard_before_stos(t, i, shift);
		forget_zero(t, insn);
		settle_flags(t, insn);
		return;
	}
	if (!g->is_without_pointers && !is_branch && is_step(insn)) {
		if (g->blank || !dec_guard_before_movs(t, i))
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
	may_be_done = t->step_stub || t->blank_stub;
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
		dec_guard_keep_flags(t, i + 1);
		over = emit_jcc_rel(&t->out, t->load_cc ^ 1);
	}
	if (t->load_reg != DEC_REG_NONE)
		dec_guard_loaded(t, i, t->load_reg, insn->mem, t->is_load_kept);
	if (over)
		emit_patch_rel(over, t->out.p);
	if (t->store_vec != DEC_REG_NONE)
		dec_guard_stored_pair(t, i, t->store_vec, insn->mem);
	if (t->is_stos)
		dec_guard_after_stos(t, i);
	resume_here(t);
}

/* ---- for blank_emit.c --------------------------------------------------------------------------------- */

uint8_t *dec_guard_run_stub(struct translation *t, int i)
{
	uint8_t *stub = t->cold.p;

	dec_guard_leave(t, dec_guard_make_event(t, GUARD_EVENT_RUN, t->insn[i].rip, 0));
	return stub;
}
