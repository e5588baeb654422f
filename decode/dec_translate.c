// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One basic block: guest instructions are copied as they are, except that rip-relative
 * displacements are redone, branches become jumps within the cache, and instructions
 * that the capture answers become exits. Around them go
 *
 *   - the budget check: `sub gs:[budget], n; js out`, placed before the first instruction
 *     that overwrites all flags anyway, so that no flag need be saved;
 *   - the log: up to three registers that the block does not use are borrowed (one points
 *     into the log), and each slot is one or two stores.
 *
 * Block layout:
 *
 *	full:	borrow the log pointer's register
 *	fast:	borrow the others, [check], header, instructions with [check] and slots,
 *		advance, branch to fast or to a stub:
 *	stub:	give the log pointer's register back, go on to full or leave
 *
 * A direct branch between two blocks that borrow the same register for the log pointer
 * goes from the one's advance to the other's fast entry: in a loop the pointer stays in
 * its register. ctx->log is stale then; whoever leaves such a block in its middle takes
 * the pointer from the register (engine_leave_middle()).
 */

#define LOG_ROOM "decode"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>

#include "decode/dec_emit.h"
#include "decode/dec_engine.h"

// Room for the largest block: 32 instructions of up to 64 slots of 64 bytes are not real;
// this is twice the largest seen with every AVX-512 form, and asserted at the end.
#define TRANSLATE_ROOM (128 * 1024)
#define ARENA_BYTES (64ull << 20)
#define ARENA_REACH (1ull << 30) // leaves 1 GiB of the 2 GiB reach for the data

struct translation {
	struct dec_engine *e;
	struct dec_emit out;
	struct engine_block *block;
	struct dec_insn insn[DEC_BLOCK_INSNS];
	int n;		   ///< instructions executed natively
	bool has_special;  ///< insn[n] is for C (or the bytes there are bad)
	int special_kind;
	uint64_t end_rip;  ///< where execution goes on when no branch ends the block
	bool is_logged, is_watched, is_single;
	uint32_t log_at;   ///< next slot's offset in the record
	struct dec_known known; ///< at the instruction being emitted
	uint8_t *check_patch;
	bool has_saved_flags;
	bool is_open;	   ///< the log pointer's register is borrowed
};

static struct engine_exit *translation_exit(struct translation *t, int kind, uint64_t rip)
{
	struct engine_exit *x = vec_push(&t->e->exits);

	assert(x && "out of memory for exits");
	x->kind = kind;
	x->rip = rip;
	x->block = t->block - t->e->blocks.data;
	t->block->n_exits++;
	return x;
}

/* A stub that leaves the guest through exit @p x; @return its address. */
static uint8_t *translation_stub(struct translation *t, struct engine_exit *x)
{
	uint8_t *at = t->out.p;

	emit_gs_store_imm32(&t->out, CTX_EXIT_ID, x - t->e->exits.data);
	emit_gs_jmp(&t->out, CTX_COMMON);
	return at;
}

static bool translation_is_special(const struct dec_engine *e, const struct dec_insn *insn)
{
	switch (insn->flow) {
	case DEC_FLOW_SYSCALL:
	case DEC_FLOW_TSC:
	case DEC_FLOW_CPUID:
	case DEC_FLOW_TRAP:
	case DEC_FLOW_FORBIDDEN:
		return true;
	default:
		return dec_insn_is_slow(insn, e->mode);
	}
}

/* A store's value is read back through its operand after the instruction; where that
 * changed the operand's registers, the address must be kept from before. */
static bool translation_moves_address(const struct dec_insn *insn, const struct dec_mem *m)
{
	uint32_t regs = (m->base != DEC_REG_NONE ? 1u << m->base : 0) |
			(m->index != DEC_REG_NONE ? 1u << m->index : 0);

	return !m->is_absolute && (regs & insn->gpr_written);
}

/* The registers that must keep the guest's values around @p insn. A return's rax is
 * logged although ret does not touch it. */
static uint32_t translation_used(const struct translation *t, const struct dec_insn *insn)
{
	uint32_t rax = t->is_logged && insn->flow == DEC_FLOW_RET ? 1u : 0;

	return insn->gpr_read | insn->gpr_written | rax;
}

/* How many registers logging @p insn borrows: the log pointer, one to carry what is read
 * from memory, one for an address kept across the instruction. */
static int translation_scratch_needed(const struct translation *t,
				      const struct dec_insn *insn, struct dec_known *known)
{
	struct dec_slot slots[DEC_SLOTS];
	int n = dec_insn_slots(insn, t->e->mode, known, slots), need = 1;

	for (int i = 0; i < n; i++) {
		if (slots[i].kind == DEC_SLOT_LOAD)
			need = need > 2 ? need : 2;
		if (slots[i].kind != DEC_SLOT_STORE || insn->store_reg != DEC_REG_NONE)
			continue;
		if (translation_moves_address(insn, &insn->mem[slots[i].which]))
			need = 3;
		else
			need = need > 2 ? need : 2;
	}
	return need;
}

static int translation_free_gprs(uint32_t used)
{
	return 16 - __builtin_popcount(used | 1u << 4); // rsp is never free
}

static void translation_see_page(struct dec_engine *e, uint64_t page)
{
	if (map_get(&e->code_pages, page))
		return;
	map_put(&e->code_pages, page, 1);
	if (e->world.code_seen)
		e->world.code_seen(e->world.ctx, page);
}

/* Decode the block's instructions. */
static void translation_decode(struct translation *t, uint64_t rip)
{
	struct dec_engine *e = t->e;
	struct dec_known known = dec_known_start(e->mode, t->is_watched);
	int need = t->is_watched ? 2 : 1;
	int max = t->is_single ? 1 : DEC_BLOCK_INSNS;
	uint32_t used = 0;

	for (t->n = 0; t->n < max; t->n++) {
		struct dec_insn *insn = &t->insn[t->n];
		uint64_t avail = e->world.avail(e->world.ctx, rip, PROT_EXEC);
		uint64_t *stop = map_get(&e->stops, rip);

		if (stop && (t->n || !t->is_single)) {
			t->has_special = true;
			t->special_kind = ENGINE_EXIT_STOP;
			insn->rip = rip;
			return;
		}
		if (t->n && (map_get(&e->watched, rip) || rip == e->async_rip))
			break;
		translation_see_page(e, rip >> 12);
		translation_see_page(e, (rip + 14) >> 12);
		if (!dec_insn_decode((const uint8_t *)rip, avail < 15 ? avail : 15, rip,
				     insn) ||
		    (t->is_single ? insn->flow >= DEC_FLOW_SYSCALL :
				       translation_is_special(e, insn))) {
			t->has_special = true;
			t->special_kind = ENGINE_EXIT_SPECIAL;
			insn->rip = rip;
			return;
		}
		used |= translation_used(t, insn);
		if (t->is_logged) {
			int more = translation_scratch_needed(t, insn, &known);

			if (more < need)
				more = need;
			if (translation_free_gprs(used) < more) {
				assert(t->n && "one instruction leaves three registers");
				break;
			}
			need = more;
		}
		rip += insn->len;
		if (dec_insn_ends_block(insn)) {
			t->n++;
			break;
		}
	}
	t->end_rip = rip;
}

static void translation_choose_scratch(struct translation *t)
{
	struct dec_known known = dec_known_start(t->e->mode, t->is_watched);
	int need = t->is_watched ? 2 : 1, n = 0;
	uint32_t used = 1u << 4;

	for (int i = 0; i < t->n; i++) {
		int more = translation_scratch_needed(t, &t->insn[i], &known);

		need = more > need ? more : need;
		used |= translation_used(t, &t->insn[i]);
	}
	// The same register from block to block when it can be: see the layout above.
	if (t->e->log_reg_hint < DEC_GPRS && !(used & 1u << t->e->log_reg_hint)) {
		t->block->scratch[n++] = t->e->log_reg_hint;
		used |= 1u << t->e->log_reg_hint;
	}
	// From those that compilers use last.
	for (int r = DEC_GPRS - 1; r >= 0 && n < need; r--) {
		if (!(used & 1u << r))
			t->block->scratch[n++] = r;
	}
	assert(n == need);
}

/* The first instruction before which all flags are dead; -1 when there is none. */
static int translation_check_insn(const struct translation *t)
{
	for (int i = 0; i < t->n; i++) {
		if (t->insn[i].kills_flags)
			return i;
		if (t->insn[i].reads_flags)
			return -1;
	}
	return -1;
}

static void translation_check(struct translation *t, int before)
{
	enum { RAX = 0, CC_S = 8 };
	struct dec_emit *o = &t->out;

	t->block->check_insn = before < 0 ? 0 : before;
	t->block->check_at = o->p - t->block->host;
	t->has_saved_flags = before < 0;
	if (t->has_saved_flags) { // lahf; seto al
		emit_gs_store(o, CTX_SPILL + 24, RAX);
		emit_bytes(o, "\x9f\x0f\x90\xc0", 4);
	}
	emit_gs_sub_flags(o, CTX_BUDGET, t->n);
	t->check_patch = emit_jcc_rel(o, CC_S);
	if (t->has_saved_flags) { // add al, 127; sahf
		emit_bytes(o, "\x04\x7f\x9e", 3);
		emit_gs_load(o, RAX, CTX_SPILL + 24);
	}
}

/* Leave through a stop when all general registers equal ctx->async_gpr. The ones that
 * differ from one pass of a loop to the next come first. */
static void translation_async_check(struct translation *t)
{
	static const uint8_t order[] = { 1, 2, 6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15, 5, 4 };
	enum { RAX = 0, CC_NE = 5 };
	struct dec_emit *o = &t->out;
	struct engine_exit *x;
	uint8_t *miss[16];
	int n = 0;

	emit_gs_store(o, CTX_SPILL + 24, RAX);
	emit_bytes(o, "\x9f\x0f\x90\xc0", 4); // lahf; seto al
	emit_gs_store(o, CTX_SPILL + 16, RAX);
	emit_gs_load(o, RAX, CTX_SPILL + 24);
	emit_gs_op(o, 0x3b, RAX, CTX_ASYNC); // cmp rax, gs:[...]
	miss[n++] = emit_jcc_rel(o, CC_NE);
	for (size_t i = 0; i < sizeof(order); i++) {
		emit_gs_op(o, 0x3b, order[i], CTX_ASYNC + 8 * order[i]);
		miss[n++] = emit_jcc_rel(o, CC_NE);
	}
	for (int is_miss = 0; is_miss < 2; is_miss++) {
		for (int i = 0; is_miss && i < n; i++)
			emit_patch_rel(miss[i], o->p);
		emit_gs_load(o, RAX, CTX_SPILL + 16);
		emit_bytes(o, "\x04\x7f\x9e", 3); // add al, 127; sahf
		emit_gs_load(o, RAX, CTX_SPILL + 24);
		if (!is_miss) {
			x = translation_exit(t, ENGINE_EXIT_STOP, t->block->rip);
			translation_stub(t, x);
		}
	}
}

static void translation_check_stub(struct translation *t)
{
	struct engine_exit *x;

	if (!t->check_patch)
		return;
	emit_patch_rel(t->check_patch, t->out.p);
	if (t->has_saved_flags) {
		emit_bytes(&t->out, "\x04\x7f\x9e", 3);
		emit_gs_load(&t->out, 0, CTX_SPILL + 24);
	}
	x = translation_exit(t, ENGINE_EXIT_BUDGET, t->insn[t->block->check_insn].rip);
	translation_stub(t, x);
}

/* ---- the log ------------------------------------------------------------------- */

static uint32_t translation_record_bytes(const struct translation *t)
{
	struct dec_known known = t->known;
	uint32_t bytes = 8 + (t->is_watched ? 16 * 8 : 0);
	struct dec_slot slots[DEC_SLOTS];

	for (int i = 0; i < t->n; i++) {
		int n = dec_insn_slots(&t->insn[i], t->e->mode, &known, slots);

		for (int s = 0; s < n; s++)
			bytes += dec_slot_size(&slots[s]);
	}
	return bytes;
}

static void translation_borrow(struct translation *t)
{
	struct engine_block *b = t->block;

	emit_gs_store(&t->out, CTX_SPILL, b->scratch[0]);
	emit_gs_load(&t->out, b->scratch[0], CTX_LOG);
	b->fast = t->out.p;
	for (int i = 1; i < 3 && b->scratch[i] != DEC_REG_NONE; i++)
		emit_gs_store(&t->out, CTX_SPILL + 8 * i, b->scratch[i]);
	t->is_open = true;
}

static void translation_header(struct translation *t)
{
	struct engine_block *b = t->block;

	// The record's last word first: it faults here, before anything was executed, when
	// the record would not fit.
	b->log_bytes = translation_record_bytes(t);
	assert(b->log_bytes < ENGINE_GUARD_BYTES);
	if (b->log_bytes > 8)
		emit_store_imm32(&t->out, b->scratch[0], b->log_bytes - 8, 0);
	emit_store_imm32(&t->out, b->scratch[0], 0, b - t->e->blocks.data);
	t->log_at = 8;
	if (!t->is_watched)
		return;
	for (int r = 0; r < DEC_GPRS; r++, t->log_at += 8) {
		int from = r;

		for (int i = 0; i < 3; i++) {
			if (b->scratch[i] != r)
				continue;
			// scratch[1] is free here: each such value comes from its spill.
			from = b->scratch[1];
			emit_gs_load(&t->out, from, CTX_SPILL + 8 * i);
		}
		emit_store(&t->out, b->scratch[0], t->log_at, from);
	}
}

/* The record is complete: move the log pointer, give back all but its register. */
static void translation_advance(struct translation *t)
{
	struct engine_block *b = t->block;
	struct dec_mem bumped = { .base = b->scratch[0], .index = DEC_REG_NONE,
				  .scale = 1, .disp = t->log_at };

	assert(b->log_bytes == t->log_at && "the record is as long as announced");
	emit_lea(&t->out, b->scratch[0], &bumped);
	b->advanced_at = t->out.p - b->host;
	for (int i = 1; i < 3 && b->scratch[i] != DEC_REG_NONE; i++)
		emit_gs_load(&t->out, b->scratch[i], CTX_SPILL + 8 * i);
}

/* Give back the log pointer's register. */
static void translation_give_back(struct translation *t)
{
	emit_gs_store(&t->out, CTX_LOG, t->block->scratch[0]);
	emit_gs_load(&t->out, t->block->scratch[0], CTX_SPILL);
}

static void translation_close(struct translation *t)
{
	if (!t->is_open)
		return;
	translation_give_back(t);
	t->block->closed_at = t->out.p - t->block->host;
	t->is_open = false;
}

/* Copy what operand @p m holds to the log, a word at a time through scratch[1]. */
static void translation_log_memory(struct translation *t, const struct dec_mem *m)
{
	uint8_t *scratch = t->block->scratch;

	for (uint32_t i = 0; i < m->size; i += 8) {
		struct dec_mem word = *m;

		word.size = m->size < 8 ? m->size : 8;
		word.disp += i;
		if (m->is_absolute) {
			emit_mov_imm64(&t->out, scratch[1], word.disp);
			word = (struct dec_mem){ .base = scratch[1], .index = DEC_REG_NONE,
						 .scale = 1, .size = word.size,
						 .is_fs = m->is_fs };
		}
		emit_load_zx(&t->out, scratch[1], &word);
		emit_store(&t->out, scratch[0], t->log_at + i, scratch[1]);
	}
}

static void translation_log_store(struct translation *t, const struct dec_insn *insn,
				  const struct dec_slot *s)
{
	const struct dec_mem *m = &insn->mem[s->which];
	uint8_t *scratch = t->block->scratch;
	struct dec_mem kept = { .base = scratch[2], .index = DEC_REG_NONE, .scale = 1,
				.size = m->size, .is_fs = m->is_fs };

	if (insn->store_reg < DEC_GPRS)
		emit_store(&t->out, scratch[0], t->log_at, insn->store_reg);
	else if (insn->store_reg < DEC_REG_K)
		emit_store_vec(&t->out, scratch[0], t->log_at,
			       insn->store_reg - DEC_REG_VEC, s->bytes);
	else
		translation_log_memory(t, translation_moves_address(insn, m) ? &kept : m);
}

static void translation_slot(struct translation *t, const struct dec_insn *insn,
			     const struct dec_slot *s)
{
	uint8_t *scratch = t->block->scratch;
	struct dec_emit *o = &t->out;

	switch (s->kind) {
	case DEC_SLOT_LOAD:
		translation_log_memory(t, &insn->mem[s->which]);
		break;
	case DEC_SLOT_BEFORE:
	case DEC_SLOT_GPR:
		emit_store(o, scratch[0], t->log_at, s->which);
		break;
	case DEC_SLOT_STORE:
		translation_log_store(t, insn, s);
		break;
	case DEC_SLOT_VEC:
		emit_store_vec(o, scratch[0], t->log_at, s->which, s->bytes);
		break;
	case DEC_SLOT_K:
		emit_store_k(o, scratch[0], t->log_at, s->which);
		break;
	}
	t->log_at += dec_slot_size(s);
}

/* The slots of @p insn that lie before or behind it. @p known is that before it. */
static void translation_slots(struct translation *t, const struct dec_insn *insn,
			      struct dec_known known, bool is_after)
{
	struct dec_slot slots[DEC_SLOTS];
	int n = dec_insn_slots(insn, t->e->mode, &known, slots);

	for (int i = 0; i < n; i++) {
		const struct dec_mem *m = &insn->mem[slots[i].which];

		if ((slots[i].kind >= DEC_SLOT_STORE) == is_after)
			translation_slot(t, insn, &slots[i]);
		else if (!is_after && slots[i].kind == DEC_SLOT_STORE &&
			 insn->store_reg == DEC_REG_NONE &&
			 translation_moves_address(insn, m))
			emit_lea(&t->out, t->block->scratch[2], m);
	}
	if (is_after)
		t->known = known;
}

/* ---- instructions ---------------------------------------------------------------- */

/* Copy @p insn; its rip-relative displacement is redone. @return false: out of reach. */
static bool translation_copy(struct translation *t, const struct dec_insn *insn)
{
	uint8_t *at = t->out.p;

	emit_bytes(&t->out, insn->bytes, insn->len);
	if (insn->rel_at) {
		int64_t rel = insn->rel_target - (uint64_t)t->out.p;
		int32_t rel32 = rel;

		if (rel != rel32)
			return false;
		memcpy(at + insn->rel_at, &rel32, 4);
	}
	return true;
}

/* Jump to @p rip, by way of a stub until the target is linked. */
static void translation_goto(struct translation *t, uint64_t rip, uint8_t *patch)
{
	struct engine_exit *x = translation_exit(t, ENGINE_EXIT_DIRECT, rip);

	x->patch = t->is_single ? NULL : patch;
	emit_patch_rel(patch, t->out.p);
	if (t->is_open) {
		translation_give_back(t);
		x->slow = emit_jmp_rel(&t->out);
		emit_patch_rel(x->slow, t->out.p);
	}
	translation_stub(t, x);
}

static uint8_t translation_condition(const struct dec_insn *insn)
{
	int i = 0;

	while (insn->bytes[i] == 0x2e || insn->bytes[i] == 0x3e || insn->bytes[i] == 0x66 ||
	       insn->bytes[i] == 0xf2 || insn->bytes[i] == 0xf3 ||
	       (insn->bytes[i] & 0xf0) == 0x40)
		i++;
	return insn->bytes[insn->bytes[i] == 0x0f ? i + 1 : i] & 15;
}

/* Push the return address by a constant that lies behind the block. @return where the
 * displacement is, to be patched when the constant is placed. */
static uint8_t *translation_push_const(struct translation *t)
{
	emit_bytes(&t->out, "\xff\x35", 2);
	emit_u32(&t->out, 0);
	return t->out.p - 4;
}

/* Branch to the guest address in gs:[ind], flags untouched. */
static void translation_indirect(struct translation *t)
{
	enum { RAX = 0, RCX = 1 };
	struct dec_emit *o = &t->out;
	struct engine_exit *x;
	uint8_t *hit;

	// A single instruction must not run into the next block.
	if (t->is_single) {
		translation_stub(t, translation_exit(t, ENGINE_EXIT_INDIRECT, 0));
		return;
	}
	emit_gs_store(o, CTX_SPILL + 0, RAX);
	emit_gs_store(o, CTX_SPILL + 8, RCX);
	emit_gs_load(o, RAX, CTX_IND);
	emit_bytes(o, "\x0f\xb7\xc8", 3); // movzx ecx, ax
	emit_bytes(o, "\x65\x48\x8b\x0c\xcd", 5); // mov rcx, gs:[rcx*8+keys]
	emit_u32(o, CTX_KEYS);
	emit_bytes(o, "\x48\x8d\x0c\x01", 4); // lea rcx, [rcx+rax]
	emit_bytes(o, "\xe3", 1); // jrcxz hit
	hit = o->p;
	emit_u8(o, 0);
	emit_gs_load(o, RAX, CTX_SPILL + 0);
	emit_gs_load(o, RCX, CTX_SPILL + 8);
	x = translation_exit(t, ENGINE_EXIT_INDIRECT, 0);
	translation_stub(t, x);
	*hit = o->p - hit - 1;
	emit_bytes(o, "\x0f\xb7\xc8", 3);
	emit_bytes(o, "\x65\x48\x8b\x0c\xcd", 5); // mov rcx, gs:[rcx*8+hosts]
	emit_u32(o, CTX_HOSTS);
	emit_gs_store(o, CTX_IND_HOST, RCX);
	emit_gs_load(o, RAX, CTX_SPILL + 0);
	emit_gs_load(o, RCX, CTX_SPILL + 8);
	emit_gs_jmp(o, CTX_IND_HOST);
}

/* Load the target operand of an indirect jump or call into gs:[ind]: the instruction's
 * own memory operand serves a `mov rax, r/m64`. */
static bool translation_load_target(struct translation *t, const struct dec_insn *insn)
{
	enum { RAX = 0 };
	struct dec_insn mov = *insn;
	int i = 0;

	// ff /2, ff /4 -> 8b with reg field 0: the ModRM byte keeps mod and rm.
	while (mov.bytes[i] != 0xff)
		i++;
	mov.bytes[i] = 0x8b;
	mov.bytes[i + 1] &= 0xc7;
	emit_gs_store(&t->out, CTX_SPILL + 0, RAX);
	if (i && (mov.bytes[i - 1] & 0xf0) == 0x40) {
		mov.bytes[i - 1] = (mov.bytes[i - 1] & ~4) | 8; // REX.W, not REX.R
		if (!translation_copy(t, &mov))
			return false;
	} else {
		struct dec_emit *o = &t->out;
		uint8_t *at = o->p;

		// Drop notrack (3e), bnd (f2) prefixes; keep fs (64); add REX.W.
		for (int j = 0; j < i; j++) {
			if (mov.bytes[j] == 0x64 || mov.bytes[j] == 0x67)
				emit_u8(o, mov.bytes[j]);
		}
		emit_u8(o, 0x48);
		at = o->p;
		emit_bytes(o, mov.bytes + i, mov.len - i);
		if (mov.rel_at) {
			int64_t rel = mov.rel_target - (uint64_t)o->p;
			int32_t rel32 = rel;

			if (rel != rel32)
				return false;
			memcpy(at + (mov.rel_at - i), &rel32, 4);
		}
	}
	emit_gs_store(&t->out, CTX_IND, RAX);
	emit_gs_load(&t->out, RAX, CTX_SPILL + 0);
	return true;
}

/* The instruction that ends the block. */
static bool translation_branch(struct translation *t, const struct dec_insn *insn)
{
	struct dec_emit *o = &t->out;
	uint64_t next = insn->rip + insn->len;
	uint8_t *taken, *other, *constant = NULL;
	uint16_t pops;

	switch (insn->flow) {
	case DEC_FLOW_JMP:
		taken = emit_jmp_rel(o);
		translation_goto(t, insn->target, taken);
		break;
	case DEC_FLOW_JCC:
		taken = emit_jcc_rel(o, translation_condition(insn));
		other = emit_jmp_rel(o);
		translation_goto(t, next, other);
		translation_goto(t, insn->target, taken);
		break;
	case DEC_FLOW_JRCX:
		emit_bytes(o, insn->bytes, insn->len - 1);
		emit_u8(o, 5); // over the jmp
		other = emit_jmp_rel(o);
		taken = emit_jmp_rel(o);
		translation_goto(t, next, other);
		translation_goto(t, insn->target, taken);
		break;
	case DEC_FLOW_CALL:
		constant = translation_push_const(t);
		taken = emit_jmp_rel(o);
		translation_goto(t, insn->target, taken);
		break;
	case DEC_FLOW_JMP_IND:
		translation_close(t);
		if (!translation_load_target(t, insn))
			return false;
		translation_indirect(t);
		break;
	case DEC_FLOW_CALL_IND:
		translation_close(t);
		if (!translation_load_target(t, insn))
			return false;
		constant = translation_push_const(t);
		translation_indirect(t);
		break;
	case DEC_FLOW_RET:
		translation_close(t);
		emit_gs_pop(o, CTX_IND);
		if (insn->len >= 3 && insn->bytes[insn->len - 3] == 0xc2) {
			memcpy(&pops, insn->bytes + insn->len - 2, 2);
			// lea rsp, [rsp + imm16]
			emit_bytes(o, "\x48\x8d\xa4\x24", 4);
			emit_u32(o, pops);
		}
		translation_indirect(t);
		break;
	default:
		assert(!"a branch");
	}
	if (constant) {
		emit_patch_rel(constant, o->p);
		emit_u64(o, next);
	}
	return true;
}

/* What comes before the first instruction. */
static void translation_open(struct translation *t, int check)
{
	if (!t->is_single && t->block->rip == t->e->async_rip)
		translation_async_check(t);
	if (!t->n)
		return;
	if (t->is_logged)
		translation_borrow(t);
	if (check <= 0)
		translation_check(t, check);
	if (t->is_logged)
		translation_header(t);
}

/* What comes behind the last instruction when it is no branch. */
static void translation_fall_through(struct translation *t)
{
	uint8_t *next;

	if (t->is_open)
		translation_advance(t);
	if (t->has_special) {
		translation_close(t);
		translation_stub(t, translation_exit(t, t->special_kind, t->insn[t->n].rip));
		return;
	}
	next = emit_jmp_rel(&t->out);
	translation_goto(t, t->end_rip, next);
}

static bool translation_emit(struct translation *t)
{
	struct dec_engine *e = t->e;
	int check = translation_check_insn(t);

	translation_open(t, check);
	for (int i = 0; i < t->n; i++) {
		struct dec_insn *insn = &t->insn[i];
		uint32_t *host = vec_push(&e->insn_host);

		assert(host);
		if (i == check && check > 0)
			translation_check(t, check);
		*host = t->out.p - t->block->host;
		if (t->is_open)
			translation_slots(t, insn, t->known, false);
		if (dec_insn_ends_block(insn)) {
			if (t->is_open)
				translation_advance(t);
			if (!translation_branch(t, insn))
				return false;
			translation_check_stub(t);
			return true;
		}
		if (!translation_copy(t, insn))
			return false;
		if (t->is_open)
			translation_slots(t, insn, t->known, true);
	}
	translation_fall_through(t);
	translation_check_stub(t);
	return true;
}

/* Tell the reader of the log what block this is. */
static void translation_announce(struct translation *t)
{
	struct dec_rec_block *r;
	uint32_t n_bytes = 0;

	for (int i = 0; i < t->n; i++)
		n_bytes += t->insn[i].len;
	r = engine_log(t->e, DEC_REC_BLOCK, sizeof(*r) + ((n_bytes + 7) & ~7u));
	r->block = t->block - t->e->blocks.data;
	r->n_insns = t->n;
	r->rip = t->block->rip;
	r->n_bytes = n_bytes;
	r->is_watched = t->is_watched;
	r->mode = t->e->mode;
	n_bytes = 0;
	for (int i = 0; i < t->n; i++) {
		memcpy(r->bytes + n_bytes, t->insn[i].bytes, t->insn[i].len);
		n_bytes += t->insn[i].len;
	}
}

uint32_t engine_translate(struct dec_engine *e, uint64_t rip, bool is_single)
{
	struct engine_arena *arena = engine_arena_for(e, rip, TRANSLATE_ROOM);
	struct translation t = { .e = e, .is_single = is_single };

	if (!arena) {
		e->world.complain(e->world.ctx, e, "no room for translated code near it");
		return UINT32_MAX;
	}
	t.block = vec_push(&e->blocks);
	assert(t.block && "out of memory for blocks");
	*t.block = (struct engine_block){
		.rip = rip,
		.host = arena->cursor,
		.first_host = e->insn_host.size,
		.first_exit = e->exits.size,
		.scratch = { DEC_REG_NONE, DEC_REG_NONE, DEC_REG_NONE },
		.advanced_at = UINT32_MAX,
		.closed_at = UINT32_MAX,
	};
	t.out.p = arena->cursor;
	t.is_logged = e->mode != DEC_LOG_NONE && !is_single;
	t.is_watched = t.is_logged && map_get(&e->watched, rip);
	translation_decode(&t, rip);
	t.block->n_insns = t.n;
	t.known = dec_known_start(e->mode, t.is_watched);
	if (t.is_logged && t.n) {
		translation_choose_scratch(&t);
		translation_announce(&t);
	}
	if (!translation_emit(&t)) {
		e->world.complain(e->world.ctx, e,
				  "code refers to data over 2 GiB from where it lies");
		return UINT32_MAX;
	}
	t.block->host_end = t.out.p;
	assert(t.out.p - arena->cursor <= TRANSLATE_ROOM);
	arena->cursor = (uint8_t *)(((uintptr_t)t.out.p + 15) & ~15ull);
	map_put(is_single ? &e->single_of : &e->block_of, rip, t.block - e->blocks.data);
	e->n_translated++;
	return t.block - e->blocks.data;
}

/* ---- arenas ------------------------------------------------------------------------ */

static bool arena_is_near(const struct engine_arena *a, uint64_t rip)
{
	uint64_t at = (uint64_t)a->start;
	uint64_t far = at > rip ? at - rip : rip - at;

	return far < ARENA_REACH;
}

struct engine_arena *engine_arena_for(struct dec_engine *e, uint64_t rip, size_t room)
{
	struct engine_arena *a;

	for (size_t i = 0; i < e->arenas.size; i++) {
		a = &e->arenas.data[i];
		if (arena_is_near(a, rip) && (size_t)(a->end - a->cursor) >= room)
			return a;
	}
	// Libraries lie at the top of the mmap area: room is above. Programs lie at the
	// bottom of theirs, with the heap above: room is below. Try both, near first.
	for (uint64_t far = ARENA_BYTES; far < ARENA_REACH - ARENA_BYTES; far += 32 << 20) {
		for (int side = 0; side < 2; side++) {
			bool is_above = (rip >> 44 == 7) == (side == 0);
			uint64_t at = (is_above ? rip + far : rip - far) & ~0xfffffull;
			void *p;

			if (!is_above && rip < far + 0x10000)
				continue;
			p = mmap((void *)at, ARENA_BYTES,
				 PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					 MAP_FIXED_NOREPLACE,
				 -1, 0);
			if (p == MAP_FAILED)
				continue;
			a = vec_push(&e->arenas);
			assert(a);
			*a = (struct engine_arena){ p, p, (uint8_t *)p + ARENA_BYTES };
			log_debug("code arena at %p for %#lx", p, rip);
			return a;
		}
	}
	return NULL;
}
