// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What goes around the guest's instructions of a block:
 *
 *   - the budget check: `sub ctx:[budget], n; js out`, placed before the last instruction of
 *     the block that overwrites all flags anyway, so that no flag need be saved;
 *   - the comparison of all registers where an asynchronous signal landed;
 *   - the log: up to three registers that the block does not use are borrowed (one points
 *     into the log), and each slot is one or two stores.
 */

#include <assert.h>

#include "decode/translator/mute.h"
#include "decode/translator/translation.h"

/* ---- borrowed registers ---------------------------------------------------------- */

/* A store's value is read back through its operand after the instruction; where that
 * changed the operand's registers, the address must be kept from before. */
static bool translation_moves_address(const struct dec_insn *insn,
				      const struct dec_mem *m)
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

	return insn->gpr_read | insn->gpr_written | rax |
	       (t->is_guarded ? dec_guard_used(t, insn) : 0);
}

/* How many registers logging @p insn borrows. */
static int translation_scratch_needed(const struct translation *t,
				      const struct dec_insn *insn,
				      struct dec_known *known)
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

struct translation_regs dec_translation_regs_start(const struct translation *t)
{
	return (struct translation_regs){
		.known = dec_known_start(t->e->mode, t->is_watched),
		.used = t->is_mutable ? 1u << CAP_RCX :
			t->is_guarded ? dec_guard_used_first(t) :
					0,
		.need = t->is_guarded && t->e->guard->is_without_pointers ? 0 :
			t->is_guarded || t->e->mutes			  ? 3 :
			t->is_watched || dec_log_counts(t->e->mode)	  ? 2 :
									    1,
	};
}

bool dec_translation_regs_add(const struct translation *t, struct translation_regs *regs,
			      const struct dec_insn *insn)
{
	int need;

	regs->used |= translation_used(t, insn);
	regs->is_far |= dec_translation_is_far(t, insn);
	if (regs->is_far && dec_translation_far_reg(regs->used) == DEC_REG_NONE)
		return false;
	if (t->is_guarded)
		return translation_free_gprs(regs->used) >= regs->need + regs->is_far;
	if (!t->is_logged)
		return true;
	need = translation_scratch_needed(t, insn, &regs->known);
	regs->need = need > regs->need ? need : regs->need;
	return translation_free_gprs(regs->used) >= regs->need + regs->is_far;
}

void dec_translation_choose_scratch(struct translation *t)
{
	struct translation_regs regs = dec_translation_regs_start(t);
	uint32_t used;
	int n = 0;

	for (int i = 0; i < t->n; i++)
		dec_translation_regs_add(t, &regs, &t->insn[i]);
	used = regs.used | 1u << 4;
	if (regs.is_far) {
		t->block->far_reg = dec_translation_far_reg(used);
		used |= 1u << t->block->far_reg;
	}
	if ((!t->is_logged && !t->is_guarded) || !regs.need)
		return;
	// The same registers from block to block when they can be: see translation.h.
	for (; n < regs.need; n++) {
		uint8_t hint = t->e->scratch_hint[n];

		if (hint >= DEC_GPRS || used & 1u << hint)
			continue;
		t->block->scratch[n] = hint;
		used |= 1u << hint;
	}
	// Others from those that compilers use last.
	for (int i = 0, r = DEC_GPRS - 1; i < regs.need; i++) {
		if (t->block->scratch[i] != DEC_REG_NONE)
			continue;
		while (r >= 0 && used & 1u << r)
			r--;
		assert(r >= 0);
		t->block->scratch[i] = r--;
	}
}

/* ---- checks ------------------------------------------------------------------------ */

int dec_translation_dead(const struct translation *t, int from)
{
	for (int i = from; i < t->n; i++) {
		if (t->insn[i].kills_flags)
			return i;
		if (t->insn[i].reads_flags || dec_insn_ends_block(&t->insn[i]))
			return -1;
	}
	return -1;
}

void dec_translation_plan(struct translation *t)
{
	enum dec_flow last = t->ends_in_branch ? t->insn[t->n - 1].flow : DEC_FLOW_NEXT;
	// All ways out can take along what was not counted.
	bool can_pass_on = t->e->mode == DEC_LOG_NONE && !t->is_guarded &&
			   !t->is_single && last != DEC_FLOW_JMP_IND &&
			   last != DEC_FLOW_CALL_IND && last != DEC_FLOW_RET &&
			   t->block->pending + t->n <= ENGINE_PENDING;

	t->has_dead_flags = dec_translation_dead(t, 0) >= 0;
	t->debit_at = -1;
	// What a jump or call leads to is made for it alone, then, as if it followed here.
	if (can_pass_on && (last == DEC_FLOW_JMP || last == DEC_FLOW_CALL))
		return;
	for (int i = 0; i < t->n; i++)
		if (t->insn[i].kills_flags)
			t->debit_at = i;
	t->has_saved_flags = t->debit_at < 0 && t->n && !can_pass_on;
	if (t->has_saved_flags)
		t->debit_at = 0;
}

void dec_translation_check(struct translation *t)
{
	enum { CC_S = 8 };
	struct engine_block *b = t->block;
	struct dec_emit *o = &t->out;

	if (t->has_saved_flags) {
		emit_ctx_store(o, CTX_SPILL + 24, CAP_RAX);
		emit_bytes(o, "\x9f\x0f\x90\xc0", 4); // lahf; seto al
	}
	if (t->pad_of) {
		emit_ctx_sub_flags(o, CTX_PASSES, 1);
		t->pass_patch = emit_jcc_rel(o, CC_S);
	}
	b->debit_at = o->p - b->host;
	b->debit_insn = t->debit_at;
	b->debit = b->pending + t->n;
	if (b->is_quiet)
		emit_ctx_sub_flags(o, CTX_QUIET + 8 * dec_translation_quiet_cell(t),
				   b->debit);
	emit_ctx_sub_flags(o, CTX_BUDGET + 8 * b->cell, b->debit);
	t->check_patch = emit_jcc_rel(o, CC_S);
	if (!t->has_saved_flags)
		return;
	if (t->is_guarded && !t->is_pad) {
		emit_ctx_store(o, CTX_GUARD_SPILL + 32, CAP_RAX);
		t->has_kept_flags = true;
	} else {
		emit_bytes(o, "\x04\x7f\x9e", 3); // add al, 127; sahf
	}
	emit_ctx_load(o, CAP_RAX, CTX_SPILL + 24);
}

/* Flags, and rax, are put aside for what emitted code does where a block begins, and taken back. */
static void translation_set_aside(struct translation *t)
{
	emit_ctx_store(&t->out, CTX_SPILL + 24, CAP_RAX);
	emit_bytes(&t->out, "\x9f\x0f\x90\xc0", 4); // lahf; seto al
	emit_ctx_store(&t->out, CTX_SPILL + 16, CAP_RAX);
}

static void translation_take_back(struct translation *t)
{
	emit_ctx_load(&t->out, CAP_RAX, CTX_SPILL + 16);
	emit_bytes(&t->out, "\x04\x7f\x9e", 3); // add al, 127; sahf
	emit_ctx_load(&t->out, CAP_RAX, CTX_SPILL + 24);
}

/* Leave if the code that the block was made of is not what is there. That may see flags which the block does not. */
static void translation_check_code(struct translation *t)
{
	enum { CC_E = 4, CC_NE = 5 };
	const struct engine_block *b = t->block;
	uint32_t n = b->checked_bytes;
	struct dec_emit *o = &t->out;
	struct engine_exit *x;
	uint8_t *miss[DEC_CHECKED_MOST / 4 + 3], *is_same;
	int n_miss = 0;

	translation_set_aside(t);
	emit_mov_imm64(o, CAP_RAX, b->rip);
	for (uint32_t at = 0, size; at < n; at += size) {
		size = at + 4 <= n ? 4 : 1;
		emit_bytes(o, size == 4 ? "\x81\xb8" : "\x80\xb8", 2); // cmp [rax+at], ..
		emit_u32(o, at);
		emit_bytes(o, &t->e->checked.data[b->checked_at + at], size);
		if (at + size < n)
			miss[n_miss++] = emit_jcc_rel(o, CC_NE);
	}
	is_same = emit_jcc_rel(o, CC_E);
	for (int i = 0; i < n_miss; i++)
		emit_patch_rel(miss[i], o->p);
	translation_take_back(t);
	x = dec_translation_exit(t, ENGINE_EXIT_STALE, b->rip);
	x->pending = b->pending;
	dec_translation_stub(t, o, x);
	emit_patch_rel(is_same, o->p);
	translation_take_back(t);
}

/* Leave through a stop when all general registers equal ctx->async_gpr. The ones that
 * differ from one pass of a loop to the next come first. Before it a jump, which goes over
 * it while the world asks for another place: see dec_engine_arm(). @p is_dead: no instruction
 * of the block sees the flags before it. */
static void translation_async_check(struct translation *t, uint32_t ignore, bool is_dead)
{
	static const uint8_t order[] = { 0,  1, 2,  6,	7,  8,	9, 10,
					 11, 3, 12, 13, 14, 15, 5, 4 };
	enum { CC_NE = 5 };
	struct dec_emit *o = &t->out;
	struct engine_exit *x;
	uint8_t *miss[16];
	int n = 0;

	t->block->async_at = o->p - t->block->host;
	emit_jmp_rel(o);
	t->block->is_async_blind = is_dead;
	if (!is_dead) {
		translation_set_aside(t);
		emit_ctx_load(o, CAP_RAX, CTX_SPILL + 24);
	}
	for (size_t i = 0; i < sizeof(order); i++) {
		if (ignore >> order[i] & 1)
			continue;
		// cmp reg, ctx:[...]
		emit_ctx_op(o, 0x3b, order[i], CTX_ASYNC + 8 * order[i]);
		miss[n++] = emit_jcc_rel(o, CC_NE);
	}
	for (int is_miss = 0; is_miss < 2; is_miss++) {
		for (int i = 0; is_miss && i < n; i++)
			emit_patch_rel(miss[i], o->p);
		if (!is_dead)
			translation_take_back(t);
		if (!is_miss) {
			x = dec_translation_exit(t, ENGINE_EXIT_STOP, t->block->rip);
			emit_ctx_store_imm32(o, CTX_EXIT_ID, x - t->e->exits.data);
			emit_ctx_jmp(o,
				     t->e->ctx->stop_door ? CTX_STOP_DOOR : CTX_COMMON);
		}
	}
	t->block->async_over = o->p - t->block->host;
	dec_engine_arm(t->e, t->block, t->block->rip == t->e->async_rip);
}

/* One of the check's ways out begins, to which @p patch leads. */
static void translation_leave_check(struct translation *t, uint8_t *patch)
{
	emit_patch_rel(patch, t->cold.p);
	if (t->has_saved_flags) {
		emit_bytes(&t->cold, "\x04\x7f\x9e", 3); // add al, 127; sahf
		emit_ctx_load(&t->cold, CAP_RAX, CTX_SPILL + 24);
	}
}

void dec_translation_check_stub(struct translation *t)
{
	if (!t->check_patch)
		return;
	if (t->pad_of) {
		translation_leave_check(t, t->pass_patch);
		dec_translation_stub(t, &t->cold, &t->e->exits.data[t->pad_of - 1]);
	}
	translation_leave_check(t, t->check_patch);
	if (t->block->is_carried)
		emit_ctx_give_back(&t->cold);
	dec_translation_stub(t, &t->cold,
			     dec_translation_exit(t, ENGINE_EXIT_BUDGET,
						  t->insn[t->debit_at].rip));
}

/* ---- the log ------------------------------------------------------------------- */

void dec_translation_announce(struct translation *t)
{
	struct dec_rec_block *r;
	uint32_t n_bytes = 0;

	for (int i = 0; i < t->n; i++)
		n_bytes += t->insn[i].len;
	r = dec_engine_log(t->e, DEC_REC_BLOCK, sizeof(*r) + ((n_bytes + 7) & ~7u));
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

	emit_ctx_store(&t->out, CTX_SPILL, b->scratch[0]);
	emit_ctx_load(&t->out, b->scratch[0], CTX_LOG);
	b->fast = t->out.p;
	for (int i = 1; i < 3 && b->scratch[i] != DEC_REG_NONE; i++)
		emit_ctx_store(&t->out, CTX_SPILL + 8 * i, b->scratch[i]);
	t->is_open = true;
}

int dec_translation_quiet_cell(const struct translation *t)
{
	return t->e->mutes ? t->block->cell : 0;
}

void dec_translation_head(struct translation *t)
{
	struct engine_block *b = t->block;
	struct dec_mem sum = { .base = b->scratch[1],
			       .index = b->scratch[2],
			       .scale = 1 };

	emit_store_imm32(&t->out, b->scratch[0], 0, b - t->e->blocks.data);
	if (!dec_log_counts(t->e->mode))
		return;
	emit_ctx_load(&t->out, b->scratch[1], CTX_QUIET);
	for (int i = 1; i < CTX_CELLS && t->e->mutes; i++) {
		emit_ctx_load(&t->out, b->scratch[2], CTX_QUIET + 8 * i);
		emit_lea(&t->out, b->scratch[1], &sum);
	}
	emit_store32(&t->out, b->scratch[0], 4, b->scratch[1]);
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
	t->log_at = 8;
	if (t->is_mutable)
		return;
	dec_translation_head(t);
	if (!t->is_watched)
		return;
	for (int r = 0; r < DEC_GPRS; r++, t->log_at += 8) {
		int from = r;

		for (int i = 0; i < 3; i++) {
			if (b->scratch[i] != r)
				continue;
			// scratch[1] is free here: each such value comes from its spill.
			from = b->scratch[1];
			emit_ctx_load(&t->out, from, CTX_SPILL + 8 * i);
		}
		emit_store(&t->out, b->scratch[0], t->log_at, from);
	}
}

void dec_translation_advance(struct translation *t)
{
	struct engine_block *b = t->block;
	struct dec_mem bumped = { .base = b->scratch[0],
				  .index = DEC_REG_NONE,
				  .scale = 1,
				  .disp = t->log_at };

	assert(b->log_bytes == t->log_at && "the record is as long as announced");
	if (t->is_mutable)
		dec_translation_mute_advance(t);
	else
		emit_lea(&t->out, b->scratch[0], &bumped);
	b->advanced_at = t->out.p - b->host;
	for (int i = 1; i < 3 && b->scratch[i] != DEC_REG_NONE; i++)
		emit_ctx_load(&t->out, b->scratch[i], CTX_SPILL + 8 * i);
}

void dec_translation_give_back(struct translation *t)
{
	emit_ctx_store(&t->out, CTX_LOG, t->block->scratch[0]);
	emit_ctx_load(&t->out, t->block->scratch[0], CTX_SPILL);
}

void dec_translation_close(struct translation *t)
{
	if (!t->is_open)
		return;
	dec_translation_give_back(t);
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
		emit_load_zx(&t->out, scratch[1], &word);
		emit_store(&t->out, scratch[0], t->log_at + i, scratch[1]);
	}
}

static void translation_log_store(struct translation *t, const struct dec_insn *insn,
				  const struct dec_slot *s)
{
	const struct dec_mem *m = &insn->mem[s->which];
	uint8_t *scratch = t->block->scratch;
	struct dec_mem kept = { .base = scratch[2],
				.index = DEC_REG_NONE,
				.scale = 1,
				.size = m->size,
				.is_fs = m->is_fs };

	if (insn->store_reg < DEC_GPRS)
		emit_store(&t->out, scratch[0], t->log_at, insn->store_reg);
	else if (insn->store_reg < DEC_REG_K)
		emit_store_vec(&t->out, scratch[0], t->log_at,
			       insn->store_reg - DEC_REG_VEC, s->bytes);
	else
		translation_log_memory(t, translation_moves_address(insn, m) ? &kept : m);
}

/* The lanes that @p insn read; it is done, so that this does not fault either. */
static void translation_log_lanes(struct translation *t, const struct dec_insn *insn,
				  const struct dec_slot *s)
{
	const struct dec_mem *m = &insn->mem[s->which];
	struct dec_emit *o = &t->out;

	emit_ctx_zmm31(o, 0x7f, CTX_VECTOR);
	emit_load_lanes(o, 31, m, insn->lane_bytes, insn->lane_mask);
	emit_store_vec(o, t->block->scratch[0], t->log_at, 31, m->size);
	emit_ctx_zmm31(o, 0x6f, CTX_VECTOR);
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
		t->reg_at[s->which] = t->log_at;
		emit_store(o, scratch[0], t->log_at, s->which);
		break;
	case DEC_SLOT_GPR:
		emit_store(o, scratch[0], t->log_at, s->which);
		break;
	case DEC_SLOT_LANES:
		translation_log_lanes(t, insn, s);
		break;
	case DEC_SLOT_STORE:
		dec_translation_mute_store(t, &insn->mem[s->which]);
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

void dec_translation_slots(struct translation *t, const struct dec_insn *insn,
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

void dec_translation_open(struct translation *t)
{
	uint64_t *async = map_get(&t->e->asyncs, t->block->rip);

	if (t->block->checks_itself)
		translation_check_code(t);
	if (!t->is_single && !t->is_pad && async)
		translation_async_check(t, *async, t->has_dead_flags);
	if (t->is_pad)
		dec_translation_check(t);
	if (!t->n)
		return;
	if (t->is_guarded || t->block->is_unguarded)
		dec_guard_stop(t);
	dec_translation_mute_release(t);
	if (t->is_logged)
		translation_borrow(t);
	if (t->is_guarded)
		dec_guard_borrow(t);
	// The fast entry would pass by the check for the signal, or the ways out.
	if (async || t->is_release || t->block->stop_event || t->block->checks_itself)
		t->block->fast = NULL;
	if (!t->debit_at)
		dec_translation_check(t);
	if (t->is_logged)
		translation_header(t);
	if (t->block->far_reg != DEC_REG_NONE)
		emit_ctx_store(&t->out, CTX_SPILL + 24, t->block->far_reg);
	if (t->is_guarded)
		dec_guard_open(t);
}
