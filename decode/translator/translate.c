// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One basic block: guest instructions are copied as they are, except that rip-relative
 * displacements are redone, branches become jumps within the cache, and instructions
 * that the capture answers become exits. What goes around them is instrument.c's;
 * the layout of a block is drawn in translation.h.
 */

#include <assert.h>
#include <sys/mman.h>

#include "decode/translator/emulate.h"
#include "decode/translator/mute.h"
#include "decode/translator/nat.h"
#include "decode/translator/translation.h"
#include "decode/x86/zydis.h"

struct engine_exit *dec_translation_exit(struct translation *t, int kind, uint64_t rip)
{
	struct engine_exit *x = vec_push(&t->e->exits);

	assert(x && "out of memory for exits");
	x->kind = kind;
	x->rip = rip;
	x->block = t->block - t->e->blocks.data;
	t->block->n_exits++;
	return x;
}

void dec_translation_stub(const struct translation *t, struct dec_emit *out,
			  const struct engine_exit *x)
{
	emit_ctx_store_imm32(out, CTX_EXIT_ID, x - t->e->exits.data);
	emit_ctx_jmp(out, CTX_COMMON);
}

/* ---- the guest's instructions ------------------------------------------------------ */

static bool translation_is_special(const struct dec_engine *e,
				   const struct dec_insn *insn)
{
	switch (insn->flow) {
	case DEC_FLOW_SYSCALL:
	case DEC_FLOW_TSC:
	case DEC_FLOW_CPUID:
	case DEC_FLOW_RANDOM:
	case DEC_FLOW_TRAP:
	case DEC_FLOW_FORBIDDEN:
		return true;
	default:
		return dec_insn_is_slow(insn, e->mode) || dec_engine_lacks(e, insn) ||
		       (e->nat && dec_nat_is_for_c(insn));
	}
}

static void translation_see_page(struct translation *t, uint64_t page)
{
	struct dec_engine *e = t->e;

	if (t->seen_page == page + 1)
		return;
	t->seen_page = page + 1;
	if (!map_get(&e->code_pages, page)) {
		map_put(&e->code_pages, page, 0);
		if (e->world.code_seen && !e->world.code_seen(e->world.ctx, page) &&
		    map_put(&e->checked_pages, page, 1))
			assert(!"out of memory for pages");
	}
	t->block->is_checked |= map_get(&e->checked_pages, page) != NULL;
}

/* Keep what the block was made of, to compare it with what will be there. */
static void translation_keep(struct translation *t)
{
	struct dec_engine *e = t->e;
	struct engine_block *b = t->block;
	uint64_t n = e->world.avail(e->world.ctx, b->rip, PROT_EXEC);

	b->checked_at = e->checked.size;
	b->checked_bytes = n < b->guest_bytes ? n : b->guest_bytes;
	for (uint32_t i = 0; i < b->checked_bytes; i++)
		if (vec_add(&e->checked, ((const uint8_t *)b->rip)[i]))
			assert(!"out of memory for code");
	b->checks_itself = !t->is_single && !e->nat && b->checked_bytes &&
			   b->checked_bytes <= DEC_CHECKED_MOST;
}

/* Behind a store code that may change unseen is looked at. */
static bool translation_stores(const struct translation *t, const struct dec_insn *insn)
{
	bool is_any = false;

	for (int i = 0; i < insn->n_mem; i++)
		is_any |= insn->mem[i].is_write;
	return is_any && t->block->is_checked;
}

/* The block ends before the instruction at @p rip, through an exit of kind @p kind. */
static void translation_end_special(struct translation *t, int kind, uint64_t rip)
{
	t->has_special = true;
	t->special_kind = kind;
	t->insn[t->n].rip = rip;
}

/* Does the block go on behind @p insn, a branch? Most that lead forward are not taken. What
 * lies there may never run: the world is not told of it. */
static bool translation_goes_on(const struct translation *t, const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_JCC && !t->is_logged && !t->is_guarded &&
	       !t->is_single && !t->e->world.met && insn->target > insn->rip;
}

/* Is @p insn the first of its instruction set, and behind a branch? Such code is often there
 * for other processors alone, and it is told which instruction sets a program used. */
static bool translation_is_doubtful(const struct translation *t,
				    const struct dec_insn *insn)
{
	bool is_known = t->e->isa[insn->isa >> 6] >> (insn->isa & 63) & 1;

	return t->goes_beyond && !is_known;
}

/* May it set AC or DF? */
static bool translation_may_turn(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_STD ||
	       insn->mnemonic == ZYDIS_MNEMONIC_POPF ||
	       insn->mnemonic == ZYDIS_MNEMONIC_POPFQ;
}

/* Decode the block's instructions. */
static void translation_decode(struct translation *t, uint64_t rip)
{
	struct dec_engine *e = t->e;
	struct translation_regs regs = dec_translation_regs_start(t);
	int max = t->is_single ? 1 : DEC_BLOCK_INSNS;

	for (t->n = 0; t->n < max; t->n++) {
		struct dec_insn *insn = &t->insn[t->n];
		uint64_t *stop = map_get(&e->breaks, rip);

		translation_see_page(t, rip >> 12);
		if (stop && (t->n || !t->is_single)) {
			*insn = (struct dec_insn){};
			translation_end_special(t, ENGINE_EXIT_STOP, rip);
			return;
		}
		if (t->n && (map_get(&e->watched, rip) || map_get(&e->asyncs, rip) ||
			     (e->guard && dec_guard_stops_at(e->guard, rip))))
			break;
		translation_see_page(t, (rip + 14) >> 12);
		*insn = *dec_engine_insn(e, rip);
		if (!insn->len ||
		    (t->is_single ?
			     insn->flow >= DEC_FLOW_SYSCALL || dec_engine_lacks(e, insn) :
			     translation_is_special(e, insn) ||
				     dec_translation_needs_fs(t, insn))) {
			translation_end_special(t, ENGINE_EXIT_SPECIAL, rip);
			return;
		}
		dec_engine_reduce(e, insn);
		if (translation_is_doubtful(t, insn))
			break;
		e->isa[insn->isa >> 6] |= 1ull << (insn->isa & 63);
		if (translation_may_turn(insn))
			dec_engine_be_wary(e);
		if (!dec_translation_regs_add(t, &regs, insn)) {
			assert(t->n && "one instruction leaves three registers");
			break;
		}
		rip += insn->len;
		if (translation_stores(t, insn) && !dec_insn_ends_block(insn)) {
			t->n++;
			break;
		}
		if (!dec_insn_ends_block(insn))
			continue;
		t->goes_beyond = translation_goes_on(t, insn);
		if (!t->goes_beyond) {
			t->ends_in_branch = true;
			t->n++;
			break;
		}
	}
	t->end_rip = rip;
}

/* ---- copies and branches ---------------------------------------------------------- */

static void translation_copy(struct translation *t, const struct dec_insn *insn)
{
	uint8_t *at = t->out.p;
	int32_t rel;

	if (dec_translation_is_far(t, insn)) {
		dec_translation_copy_far(t, insn);
		return;
	}
	emit_bytes(&t->out, insn->bytes, insn->code_len);
	if (insn->is_gs)
		emit_gs_to_fs(at);
	if (!insn->rel_at)
		return;
	// Point the displacement at its target again.
	rel = insn->rel_target - (uint64_t)t->out.p;
	memcpy(at + insn->rel_at, &rel, 4);
}

/* What is still to be counted when @p n instructions of the block were executed. */
static int translation_pending(const struct translation *t, int n)
{
	bool is_counted = t->debit_at >= 0 && (t->debit_at < n || !t->n);

	return n - (is_counted ? t->n : -t->block->pending);
}

/* Jump to @p rip, by way of a stub until the target is linked, with @p n instructions of the
 * block executed. */
static void translation_goto(struct translation *t, uint64_t rip, int n, uint8_t *patch)
{
	struct engine_exit *x = dec_translation_exit(t, ENGINE_EXIT_DIRECT, rip);
	struct dec_emit *out = t->is_open ? &t->out : &t->cold;

	x->pending = translation_pending(t, n);
	x->patch = t->is_single ? NULL : patch;
	emit_patch_rel(patch, out->p);
	if (t->is_open)
		dec_translation_give_back(t);
	if (t->is_guard_open)
		dec_guard_give_back(t->block->scratch, out);
	if (t->is_open || t->is_guard_open) {
		x->slow = emit_jmp_rel(out);
		emit_patch_rel(x->slow, out->p);
	}
	dec_translation_stub(t, out, x);
}

static uint8_t translation_condition(const struct dec_insn *insn)
{
	int i = 0;

	while (insn->bytes[i] == 0x2e || insn->bytes[i] == 0x3e ||
	       insn->bytes[i] == 0x66 || insn->bytes[i] == 0xf2 ||
	       insn->bytes[i] == 0xf3 || (insn->bytes[i] & 0xf0) == 0x40)
		i++;
	return insn->bytes[insn->bytes[i] == 0x0f ? i + 1 : i] & 15;
}

/* Push the return address by a constant that lies elsewhere. @return where the
 * displacement is, to be patched when the constant is placed. */
static uint8_t *translation_push_const(struct translation *t)
{
	emit_bytes(&t->out, "\xff\x35", 2);
	emit_u32(&t->out, 0);
	return t->out.p - 4;
}

/* The constant that translation_push_const() pushes, @p at being what it returned. */
static void translation_place_const(struct translation *t, uint8_t *at, uint64_t value)
{
	emit_patch_rel(at, t->cold.p);
	emit_u64(&t->cold, value);
}

/* Branch to the guest address in r11, whose own value is in spill[0]; flags untouched. Where
 * it lands both registers are loaded: see translation_landing(). They are those in which
 * neither an argument that matters nor a result is likely to be waited for. */
static void translation_indirect(struct translation *t)
{
	struct dec_emit *o = &t->out;

	if (!t->block->is_carried)
		emit_ctx_store(o, CTX_SPILL + 8, CAP_RCX);
	// A single instruction must not run into the next block.
	if (t->is_single) {
		emit_ctx_jmp(o, CTX_MISS);
		return;
	}
	emit_bytes(o, "\x41\x0f\xb7\xcb", 4); // movzx ecx, r11w
	emit_ctx_jmp_entry(o,
			   t->block->is_unguarded ? CTX_UNGUARDED_TARGETS : CTX_TARGETS);
}

/* Where such branches come whose targets have this block's slot. Is it this block? Then on
 * into it, just behind; if not, by way of what is just before to the next one that has the slot.
 * On AMD the way that is right must be the one without a jump: a second taken branch, straight
 * behind an indirect one, costs some 20 cycles there. `loop`, which is that and leaves the flags
 * alone, is slow on Intel. */
static void translation_landing(struct translation *t)
{
	bool is_loop = t->e->is_loop_quick;
	struct dec_emit *o = &t->out;
	uint8_t *next;

	if (is_loop)
		emit_bytes(o, "\x66\x90", 2); // for the block, which is to be aligned
	next = o->p;
	emit_bytes(o, "\xff\x25\0\0\0\0", 6); // jmp [rip]
	emit_u64(o, 0);
	t->block->landing = o->p;
	emit_mov_imm64(o, CAP_RCX, is_loop - t->block->rip);
	emit_bytes(o, "\x4a\x8d\x0c\x19", 4); // lea rcx, [rcx+r11]
	if (is_loop) {
		emit_u8(o, 0xe2); // loop
	} else {
		emit_bytes(o, "\xe3\x02", 2); // jrcxz over the next
		emit_u8(o, 0xeb);	      // jmp
	}
	emit_u8(o, next - (o->p + 1));
	if (!t->block->is_carried)
		emit_ctx_give_back(o);
	t->block->host = t->block->entry = o->p;
}

/* Would the block, where it lands, load r11 and rcx only to store the same again at its end, in an
 * indirect branch? Then they stay in the context all the while. A loop that calls such functions
 * would have both go through memory and back twice a pass, and wait for that more than for all
 * else. */
static bool translation_is_carried(const struct translation *t, enum engine_way way)
{
	const uint32_t both = 1u << CAP_R11 | 1u << CAP_RCX;
	enum dec_flow last = t->ends_in_branch ? t->insn[t->n - 1].flow : DEC_FLOW_NEXT;

	if (way != ENGINE_WAY_INDIRECT || t->block->is_checked ||
	    t->e->mode != DEC_LOG_NONE || t->is_guarded || t->e->nat ||
	    map_get(&t->e->asyncs, t->block->rip) ||
	    (t->e->guard && dec_guard_stops_at(t->e->guard, t->block->rip)) ||
	    (last != DEC_FLOW_RET && last != DEC_FLOW_JMP_IND &&
	     last != DEC_FLOW_CALL_IND))
		return false;
	for (int i = 0; i < t->n; i++)
		if ((t->insn[i].gpr_read | t->insn[i].gpr_written) & both ||
		    dec_translation_is_far(t, &t->insn[i]) ||
		    (i < t->n - 1 && dec_insn_ends_block(&t->insn[i])))
			return false;
	return true;
}

/* Where direct branches enter a block that is carried. */
static void translation_carry(struct translation *t)
{
	t->block->entry = t->out.p;
	emit_ctx_store(&t->out, CTX_SPILL, CAP_R11);
	emit_ctx_store(&t->out, CTX_SPILL + 8, CAP_RCX);
	emit_patch_rel(emit_jmp_rel(&t->out), t->block->host);
}

/* Give @p mov, whose opcode is byte @p i and which has no REX prefix, REX.W and REX.R. */
static void translation_widen(struct dec_insn *mov, int i)
{
	struct dec_insn wide = *mov;
	int n = 0;

	// Drop notrack (3e), bnd (f2) prefixes; keep fs, gs and address size.
	for (const char *keep = "\x64\x65\x67"; *keep; keep++) {
		if (memchr(mov->bytes, *keep, i))
			wide.bytes[n++] = *keep;
	}
	wide.bytes[n++] = 0x4c;
	memcpy(wide.bytes + n, mov->bytes + i, mov->code_len - i);
	wide.code_len = mov->code_len - i + n;
	wide.rel_at += mov->rel_at ? n - i : 0;
	*mov = wide;
}

/* Load the target operand of an indirect jump or call into r11: the instruction's own memory
 * operand serves a `mov r11, r/m64`. */
static void translation_load_target(struct translation *t, const struct dec_insn *insn)
{
	struct dec_insn mov = *insn;
	int i = 0;

	// ff /2, ff /4 -> 8b with reg field 3: the ModRM byte keeps mod and rm.
	while (mov.bytes[i] != 0xff)
		i++;
	mov.bytes[i] = 0x8b;
	mov.bytes[i + 1] = (mov.bytes[i + 1] & 0xc7) | 0x18;
	if (i && (mov.bytes[i - 1] & 0xf0) == 0x40)
		mov.bytes[i - 1] |= 12; // REX.W, REX.R
	else
		translation_widen(&mov, i);
	translation_copy(t, &mov);
}

/* A return or an indirect branch, at the end of the block. */
static void translation_branch_indirect(struct translation *t,
					const struct dec_insn *insn)
{
	struct dec_emit *o = &t->out;
	uint8_t *constant = NULL;
	uint16_t pops;

	dec_translation_close(t);
	if (!t->block->is_carried)
		emit_ctx_store(o, CTX_SPILL, CAP_R11);
	t->block->r11_at = t->block->is_carried ? 0 : o->p - t->block->host;
	if (insn->flow != DEC_FLOW_RET) {
		translation_load_target(t, insn);
		if (insn->flow == DEC_FLOW_CALL_IND)
			constant = translation_push_const(t);
	} else {
		emit_bytes(o, "\x41\x5b", 2); // pop r11
		if (insn->len >= 3 && insn->bytes[insn->len - 3] == 0xc2) {
			memcpy(&pops, insn->bytes + insn->len - 2, 2);
			// lea rsp, [rsp + imm16]
			emit_bytes(o, "\x48\x8d\xa4\x24", 4);
			emit_u32(o, pops);
		}
	}
	translation_indirect(t);
	if (constant)
		translation_place_const(t, constant, insn->rip + insn->len);
}

static bool translation_is_indirect(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_JMP_IND || insn->flow == DEC_FLOW_CALL_IND ||
	       insn->flow == DEC_FLOW_RET;
}

/* The instruction that ends the block. */
static void translation_branch(struct translation *t, const struct dec_insn *insn)
{
	struct dec_emit *o = &t->out;
	uint64_t next = insn->rip + insn->len;
	uint8_t *taken, *other, *constant;

	switch (insn->flow) {
	case DEC_FLOW_JMP:
		taken = emit_jmp_rel(o);
		translation_goto(t, insn->target, t->n, taken);
		break;
	case DEC_FLOW_JCC:
		taken = emit_jcc_rel(o, translation_condition(insn));
		other = emit_jmp_rel(o);
		translation_goto(t, next, t->n, other);
		translation_goto(t, insn->target, t->n, taken);
		break;
	case DEC_FLOW_JRCX:
		emit_bytes(o, insn->bytes, insn->len - 1);
		emit_u8(o, 5); // over the jmp
		other = emit_jmp_rel(o);
		taken = emit_jmp_rel(o);
		translation_goto(t, next, t->n, other);
		translation_goto(t, insn->target, t->n, taken);
		break;
	case DEC_FLOW_CALL:
		constant = translation_push_const(t);
		taken = emit_jmp_rel(o);
		translation_goto(t, insn->target, t->n, taken);
		translation_place_const(t, constant, next);
		break;
	case DEC_FLOW_JMP_IND:
	case DEC_FLOW_CALL_IND:
	case DEC_FLOW_RET:
		translation_branch_indirect(t, insn);
		break;
	default:
		assert(!"a branch");
	}
}

/* Instruction @p i is a branch out of the block's middle. */
static void translation_side(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];

	t->side[t->n_sides++] = (struct translation_side){
		.patch = emit_jcc_rel(&t->out, translation_condition(insn)),
		.target = insn->target,
		.n = i + 1,
	};
}

/* Where those branches lead. */
static void translation_sides(struct translation *t)
{
	for (int i = 0; i < t->n_sides; i++)
		translation_goto(t, t->side[i].target, t->side[i].n, t->side[i].patch);
}

/* Has the block nothing for the log? Then it is as if nothing was logged, but counted apart. */
static bool translation_is_quiet(const struct translation *t)
{
	const struct dec_engine *e = t->e;
	const uint64_t rip = t->block->rip;
	bool tells_jumps = !e->tells_some_jumps ||
			   vec_find(&e->told_jumps, s, rip >= s->start && rip < s->end);

	for (int i = 0; i < t->n; i++)
		if (dec_insn_is_told(&t->insn[i], e->mode, tells_jumps))
			return false;
	return t->is_logged && !t->is_watched && t->n;
}

/* ---- the block ------------------------------------------------------------------ */

/* What comes behind the last instruction when it is no branch. */
static void translation_fall_through(struct translation *t)
{
	struct engine_exit *x;
	uint8_t *next;

	if (t->is_open)
		dec_translation_advance(t);
	dec_guard_close(t, !t->has_special);
	if (t->has_special) {
		dec_translation_close(t);
		x = dec_translation_exit(t, t->special_kind, t->insn[t->n].rip);
		x->pending = translation_pending(t, t->n);
		dec_translation_stub(t, &t->out, x);
		return;
	}
	next = emit_jmp_rel(&t->out);
	translation_goto(t, t->end_rip, t->n, next);
}

/* Instruction @p i and what goes around it; not of the branch that ends the block. */
static void translation_insn(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];

	if (dec_insn_ends_block(insn)) {
		translation_side(t, i);
		return;
	}
	if (t->is_guarded)
		dec_guard_before(t, i);
	translation_copy(t, insn);
	if (t->is_guarded)
		dec_guard_after(t, i);
	if (t->is_open)
		dec_translation_slots(t, insn, t->known, true);
}

static void translation_emit(struct translation *t)
{
	struct dec_engine *e = t->e;

	dec_translation_open(t);
	if (t->has_nat)
		dec_translation_nat_open(t);
	for (int i = 0; i < t->n; i++) {
		uint32_t *host = vec_push(&e->insn_host);

		assert(host);
		if (i && i == t->debit_at) {
			dec_translation_nat_release(t);
			dec_translation_check(t);
		}
		*host = t->out.p - t->block->host;
		if (t->has_nat)
			dec_translation_nat(t, i);
		if (t->is_open)
			dec_translation_slots(t, &t->insn[i], t->known, false);
		if (i < t->n - 1 || !t->ends_in_branch)
			translation_insn(t, i);
	}
	dec_translation_nat_release(t);
	if (!t->ends_in_branch) {
		translation_fall_through(t);
	} else {
		if (t->is_open)
			dec_translation_advance(t);
		if (t->is_guarded)
			dec_guard_before(t, t->n - 1);
		dec_guard_close(t, !translation_is_indirect(&t->insn[t->n - 1]));
		translation_branch(t, &t->insn[t->n - 1]);
	}
	translation_sides(t);
	dec_translation_check_stub(t);
}

/* Behind all bytes that the block was made of; of what is no instruction, the first. */
static uint64_t translation_end(const struct translation *t)
{
	const struct dec_insn *last = &t->insn[t->n];

	return t->has_special ? last->rip + (last->len ? last->len : 1) : t->end_rip;
}

/* Does the block only count what is pending? Where it gets much, and where the world may ask to
 * stop, which is looked for in the block that others enter too. */
static bool translation_is_pad(const struct translation *t)
{
	return t->block->pending && (t->block->pending > ENGINE_PENDING ||
				     map_get(&t->e->asyncs, t->block->rip));
}

static void translation_make_pad(struct translation *t)
{
	t->is_pad = true;
	t->end_rip = t->block->rip;
	t->n = 0;
	t->debit_at = 0;
	t->has_saved_flags = !t->has_dead_flags;
	t->has_special = t->ends_in_branch = false;
}

/* Begin block @p t at @p rip. @return the arena for it; NULL: there is no room (complained). */
static struct engine_arena *translation_begin(struct translation *t, struct dec_engine *e,
					      uint64_t rip, int pending)
{
	struct engine_arena *arena = dec_engine_arena_for(e, rip, ENGINE_BLOCK_BYTES);

	memset(t, 0, offsetof(struct translation, insn));
	t->e = e;
	if (!arena) {
		dec_engine_flush(e);
		arena = dec_engine_arena_for(e, rip, ENGINE_BLOCK_BYTES);
	}
	if (!arena) {
		e->world.complain(e->world.ctx, e, "no room for translated code near it");
		return NULL;
	}
	t->block = vec_push(&e->blocks);
	assert(t->block && "out of memory for blocks");
	*t->block = (struct engine_block){
		.rip = rip,
		.host = arena->cursor,
		.entry = arena->cursor,
		.first_host = e->insn_host.size,
		.first_exit = e->exits.size,
		.scratch = { DEC_REG_NONE, DEC_REG_NONE, DEC_REG_NONE },
		.far_reg = DEC_REG_NONE,
		.nat_reg = DEC_REG_NONE,
		.cell = (e->blocks.size - 1) % CTX_CELLS,
		.pending = pending,
		.debit_at = UINT32_MAX,
		.advanced_at = UINT32_MAX,
		.opened_at = UINT32_MAX,
		.closed_at = UINT32_MAX,
		.r11_at = UINT32_MAX,
	};
	t->out = emit_start(arena->cursor, e->ctx);
	t->cold = emit_start(arena->cold, e->ctx);
	return arena;
}

/* It is complete, in @p arena. @return its index. */
static uint32_t translation_end_block(struct translation *t, struct engine_arena *arena)
{
	uint32_t b = t->block - t->e->blocks.data;

	t->block->host_end = t->out.p;
	assert(t->out.p - arena->cursor <= ENGINE_BLOCK_BYTES &&
	       t->cold.p - arena->cold <= ENGINE_BLOCK_BYTES);
	arena->cold = t->cold.p;
	arena->cursor = (uint8_t *)(((uintptr_t)t->out.p + 15) & ~15ull);
	dec_engine_remember(t->e, arena, b);
	return b;
}

uint32_t dec_engine_make_pad(struct dec_engine *e, uint32_t exit_id)
{
	const struct engine_exit x = e->exits.data[exit_id];
	struct translation t;
	struct engine_arena *arena = translation_begin(&t, e, x.rip, x.pending);

	if (!arena)
		return UINT32_MAX;
	translation_see_page(&t, x.rip >> 12);
	t.block->is_checked = false; // what it leads to is
	t.block->is_unguarded = e->blocks.data[x.block].is_unguarded;
	t.block->guest_bytes = 1;
	t.block->is_pad = true;
	t.pad_of = exit_id + 1;
	t.insn[0].rip = x.rip; // where it leaves when it has used up what may run
	translation_make_pad(&t);
	translation_emit(&t);
	return translation_end_block(&t, arena);
}

uint32_t dec_engine_translate(struct dec_engine *e, uint64_t rip, enum engine_way way,
			      int pending)
{
	bool is_single = way == ENGINE_WAY_SINGLE;
	struct translation t;
	struct engine_arena *arena = translation_begin(&t, e, rip, pending);

	if (!arena)
		return UINT32_MAX;
	t.is_single = is_single;
	t.is_logged = e->mode != DEC_LOG_NONE && !is_single;
	t.block->is_unguarded = !t.is_logged && !is_single && dec_guard_rests(e->guard);
	t.is_guarded = e->guard && !t.is_logged && !is_single && !t.block->is_unguarded;
	t.is_watched = t.is_logged && map_get(&e->watched, rip);
	t.block->looks = t.is_logged && map_get(&e->looks, rip);
	t.is_mutable = t.is_logged && e->mutes;
	translation_decode(&t, rip);
	if (e->guard && !is_single && t.has_special && !t.n &&
	    t.special_kind != ENGINE_EXIT_STOP &&
	    dec_guard_stops_at(e->guard, rip)) // has no block
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, rip);
	t.block->guest_bytes = translation_end(&t) - rip;
	if (t.block->is_checked)
		translation_keep(&t);
	t.block->is_quiet = translation_is_quiet(&t);
	t.is_logged &= !t.block->is_quiet;
	t.is_mutable &= t.is_logged;
	dec_translation_mute_plan(&t);
	t.block->is_mutable = t.is_mutable;
	dec_translation_plan(&t);
	if (translation_is_pad(&t))
		translation_make_pad(&t);
	t.block->is_carried = translation_is_carried(&t, way);
	if (!is_single && !pending)
		translation_landing(&t);
	if (e->world.met && t.n)
		e->world.met(e->world.ctx, t.insn, t.n);
	t.block->n_insns = t.n;
	t.block->is_gs = is_single && t.insn[0].is_gs;
	t.block->is_fs = is_single && dec_translation_needs_fs(&t, &t.insn[0]);
	t.block->shows_x87 = is_single && t.insn[0].shows_x87;
	t.block->is_integer = is_single && t.n == 1 && t.insn[0].is_integer;
	t.known = dec_known_start(e->mode, t.is_watched);
	if (t.n)
		dec_translation_choose_scratch(&t);
	t.has_nat = e->nat && !is_single && t.n;
	if (t.has_nat)
		dec_translation_nat_plan(&t);
	if (t.n && (t.is_logged || (t.block->is_quiet && e->mode == DEC_LOG_JUMPS)))
		dec_translation_announce(&t);
	translation_emit(&t);
	if (t.block->is_carried)
		translation_carry(&t);
	if (!pending)
		map_put(is_single ? &e->single_of :
				    dec_engine_blocks(e, t.block->is_unguarded),
			rip, t.block - e->blocks.data);
	e->n_translated++;
	return translation_end_block(&t, arena);
}
