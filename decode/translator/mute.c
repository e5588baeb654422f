// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/mute.h"

#include "decode/translator/translation.h"

#define PAGE_BITS 12
#define REST_BITS 28 ///< of an address, below what is in an entry
#define LAST_OF_PAGE 0xfff
#define RCX_AT CTX_MUTE_SPILL
#define OTHER_AT (CTX_MUTE_SPILL + 8)

static uint32_t entry_of(uint64_t page)
{
	return -(uint32_t)(page >> 16) - 1;
}

bool dec_mute_begin(struct dec_engine *e)
{
	if (!e->has_rorx || e->mode != DEC_LOG_STORES)
		return false;
	if (!e->mutes)
		dec_engine_flush(e);
	e->mutes = true;
	return true;
}

bool dec_mute_page(struct dec_engine *e, uint64_t page)
{
	uint32_t *entry = &e->ctx->muted[page & 0xffff];

	if (!*entry)
		*entry = entry_of(page);
	return *entry == entry_of(page);
}

void dec_mute_end(struct dec_engine *e, uint64_t page)
{
	if (dec_mute_is_muted(e, page))
		e->ctx->muted[page & 0xffff] = 0;
}

bool dec_mute_is_muted(const struct dec_engine *e, uint64_t page)
{
	return e->ctx->muted[page & 0xffff] == entry_of(page);
}

void dec_mute_set_release(struct dec_engine *e, uint64_t rip)
{
	if (map_get(&e->releases, rip))
		return;
	map_put(&e->releases, rip, 1);
	dec_engine_invalidate(e, rip, 1);
}

static bool is_release(const struct dec_engine *e, uint64_t rip)
{
	return e->mutes && e->world.unmute && map_get(&e->releases, rip);
}

void dec_mute_step(struct dec_engine *e)
{
	if (is_release(e, e->ctx->rip))
		e->world.unmute(e->world.ctx, e->ctx->gpr[CAP_RDI]);
}

/* ---- emitted code ---------------------------------------------------------------------- */

static bool ends_alike(const struct translation *t)
{
	enum dec_flow last = t->ends_in_branch ? t->insn[t->n - 1].flow : DEC_FLOW_NEXT;

	return last == DEC_FLOW_NEXT || last == DEC_FLOW_JCC || last == DEC_FLOW_JRCX;
}

void dec_translation_mute_plan(struct translation *t)
{
	int n = 0;

	t->is_mutable &= t->n && !t->is_watched && ends_alike(t);
	for (int i = 0; i < t->n && t->is_mutable; i++) {
		const struct dec_insn *insn = &t->insn[i];

		for (int m = 0; m < insn->n_mem; m++) {
			const struct dec_mem *mem = &insn->mem[m];

			if (!mem->is_write || mem->base == CAP_RSP)
				continue;
			t->is_mutable &= n++ < TRANSLATION_STORES && !mem->is_fs &&
					 !mem->is_gs && !mem->is_addr32;
		}
	}
}

void dec_translation_mute_store(struct translation *t, const struct dec_mem *m)
{
	struct translation_store *s;

	if (!t->is_mutable)
		return;
	s = &t->store[t->n_stores++];
	*s = (struct translation_store){ .mem = m };
	if (m->is_absolute)
		return;
	s->base_at = m->base == DEC_REG_NONE ? 0 : t->reg_at[m->base];
	s->index_at = m->index == DEC_REG_NONE ? 0 : t->reg_at[m->index];
}

/* Make of the address in @p reg the sum that its page's entry has a part in: in @p to, by way of
 * @p other. */
static void emit_sum(struct dec_emit *o, int to, int reg, int other)
{
	emit_rorx(o, other, reg, PAGE_BITS);
	emit_low16(o, other);
	emit_rorx(o, reg, reg, REST_BITS);
	emit_ctx_load_entry32(o, other, other, CTX_MUTED);
	emit_sum32(o, to, reg, other, 1);
}

/* The same of @p s, from the record. */
static void emit_store_sum(struct translation *t, const struct translation_store *s,
			   int to)
{
	uint8_t log = t->block->scratch[0], reg = t->block->scratch[1],
		other = t->block->scratch[2];
	struct dec_mem at = { .base = DEC_REG_NONE,
			      .index = DEC_REG_NONE,
			      .scale = s->mem->scale,
			      .disp = s->mem->disp };
	const struct dec_mem word = { .base = log, .index = DEC_REG_NONE, .size = 8 };
	struct dec_emit *o = &t->out;

	if (s->mem->is_absolute) {
		uint64_t page = (uint64_t)s->mem->disp >> PAGE_BITS;

		emit_ctx_load32(o, reg, CTX_MUTED + 4 * (page & 0xffff));
		emit_sum32(o, to, reg, DEC_REG_NONE, (page >> 16) + 1);
		return;
	}
	if (s->base_at) {
		struct dec_mem from = word;

		from.disp = s->base_at;
		emit_load_zx(o, reg, &from);
		at.base = reg;
	}
	if (s->index_at) {
		struct dec_mem from = word;

		from.disp = s->index_at;
		emit_load_zx(o, other, &from);
		at.index = other;
	}
	emit_lea(o, reg, &at);
	emit_sum(o, to, reg, other);
}

void dec_translation_mute_advance(struct translation *t)
{
	struct engine_block *b = t->block;
	struct dec_mem by = { .base = b->scratch[0],
			      .index = DEC_REG_NONE,
			      .scale = 1,
			      .disp = t->log_at };
	const struct dec_mem less = {
		.base = CAP_RCX, .index = DEC_REG_NONE, .scale = 1, .disp = -t->n
	};
	struct dec_mem sum = { .base = CAP_RCX, .index = b->scratch[1], .scale = 1 };
	struct dec_emit *o = &t->out;
	const uint32_t quiet = CTX_QUIET + 8 * dec_translation_quiet_cell(t);
	uint8_t *muted, *end;

	emit_ctx_store(o, RCX_AT, CAP_RCX);
	emit_store_sum(t, &t->store[0], CAP_RCX);
	for (int i = 1; i < t->n_stores; i++) {
		emit_store_sum(t, &t->store[i], b->scratch[1]);
		emit_lea(o, CAP_RCX, &sum); // none is negative: 0 if all are
	}
	emit_u8(o, 0xe3); // jrcxz
	emit_u8(o, 0);
	muted = o->p;
	dec_translation_head(t);
	emit_lea(o, b->scratch[0], &by);
	emit_u8(o, 0xeb); // jmp
	emit_u8(o, 0);
	end = o->p;
	muted[-1] = o->p - muted;
	emit_ctx_load(o, CAP_RCX, quiet);
	emit_lea(o, CAP_RCX, &less);
	emit_ctx_store(o, quiet, CAP_RCX);
	end[-1] = o->p - end;
	emit_ctx_load(o, CAP_RCX, RCX_AT);
}

void dec_translation_mute_release(struct translation *t)
{
	static const int32_t behind[] = { 0, LAST_OF_PAGE };
	struct dec_mem at = { .base = CAP_RDI, .index = DEC_REG_NONE, .scale = 1 };
	struct dec_emit *o = &t->out;
	uint8_t *out[2], *on;

	if (!t->is_watched || !is_release(t->e, t->block->rip))
		return;
	t->is_release = true;
	emit_ctx_store(o, RCX_AT, CAP_RCX);
	emit_ctx_store(o, OTHER_AT, CAP_RAX);
	for (int i = 0; i < 2; i++) {
		at.disp = behind[i];
		emit_lea(o, CAP_RAX, &at);
		emit_sum(o, CAP_RCX, CAP_RAX, CAP_RCX);
		emit_u8(o, 0xe3); // jrcxz
		emit_u8(o, 0);
		out[i] = o->p;
	}
	on = emit_jmp_rel(o);
	for (int i = 0; i < 2; i++)
		out[i][-1] = o->p - out[i];
	emit_ctx_load(o, CAP_RCX, RCX_AT);
	emit_ctx_load(o, CAP_RAX, OTHER_AT);
	dec_translation_stub(t, o,
			     dec_translation_exit(t, ENGINE_EXIT_UNMUTE, t->block->rip));
	emit_patch_rel(on, o->p);
	emit_ctx_load(o, CAP_RCX, RCX_AT);
	emit_ctx_load(o, CAP_RAX, OTHER_AT);
}
