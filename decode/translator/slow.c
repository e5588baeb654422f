// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Instructions that emitted code does not log inline: string repeats, gathers, masked
 * stores, bit-offset memory forms, state saves, x87. They run one at a time from a temporary
 * block; C works out what they touch before, and reads what they left behind.
 */

#include <assert.h>
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/translator/emulate.h"
#include "decode/translator/engine.h"
#include "decode/translator/look.h"
#include "decode/translator/mute.h"
#include "decode/translator/touch.h"

// A reference larger than this is logged in bulk records of this size.
#define SLOW_BULK 8192
#define SLOW_REFS (DEC_TOUCHES + DEC_REG_RIP)

struct slow_ref {
	bool is_def, is_mem;
	bool is_far; ///< its bytes are not part of the record
	uint8_t reg;
	uint64_t addr, size;
	const uint8_t *loaded; ///< into slow_loaded, or NULL
};

struct slow {
	struct dec_engine *e;
	struct dec_insn insn;
	struct slow_ref ref[SLOW_REFS];
	int n;
	uint64_t gpr[16]; ///< before
};

// What memory uses held before the instruction: it may write there.
static uint8_t slow_loaded[2 * SLOW_BULK];

/* ---- which instruction ------------------------------------------------------------ */

// Most are asked for again: where a block is made anew, or the same for other ways to it, or the like stands elsewhere.
static struct dec_insns known __attribute__((aligned(4096)));

_Static_assert(sizeof(known) % 4096 == 0, "whole pages");

void dec_engine_rest(void)
{
	madvise(&known, sizeof(known), MADV_DONTNEED);
}

void dec_engine_prepare(void)
{
	// A kernel before 5.14 gives the pages one by one.
	madvise(&known, sizeof(known), MADV_POPULATE_WRITE);
}

void *dec_engine_remembered(size_t *ret_bytes)
{
	*ret_bytes = sizeof(known);
	return &known;
}

void dec_engine_travel_light(void)
{
	madvise(&known, sizeof(known), MADV_WIPEONFORK);
}

bool dec_engine_move(const struct dec_engine *e, struct dec_insn *insn)
{
	size_t n = vec_rank(e->n_moves, i, e->moves[i].rip <= insn->rip);

	return insn->len && n && e->moves[n - 1].rip == insn->rip &&
	       dec_insn_move(insn, e->moves[n - 1].by);
}

const struct dec_insn *dec_engine_insn(const struct dec_engine *e, uint64_t rip)
{
	static struct dec_insn moved;
	uint64_t n = e->world.avail(e->world.ctx, rip, PROT_EXEC);
	const struct dec_insn *insn =
		dec_insns_decode(&known, (const uint8_t *)rip, n, rip);

	if (!e->n_moves)
		return insn;
	moved = *insn;
	dec_engine_move(e, &moved);
	return &moved;
}

/* ---- one instruction, without logging -------------------------------------------- */

enum dec_verdict dec_engine_step(struct dec_engine *e)
{
	uint64_t rip = e->ctx->rip, avail;
	uint64_t *known = map_get(&e->single_of, rip);
	struct dec_insn insn;
	uint32_t block;

	if (known && dec_engine_is_current(e, *known))
		return dec_engine_enter(e, *known, 1);
	avail = e->world.avail(e->world.ctx, rip, PROT_EXEC);
	if (!dec_insn_decode((const uint8_t *)rip, avail < 15 ? avail : 15, rip, &insn) ||
	    insn.flow >= DEC_FLOW_SYSCALL || dec_engine_lacks(e, &insn))
		return dec_engine_special(e);
	if (insn.is_emulated)
		return dec_engine_emulate(e, &insn);
	block = dec_engine_translate(e, rip, ENGINE_WAY_SINGLE, 0);
	if (block == UINT32_MAX)
		return DEC_DIVERGED;
	return dec_engine_enter(e, block, 1);
}

/* ---- registers ----------------------------------------------------------------------- */

static uint32_t xsave_offset(int component)
{
	static uint32_t offset[8];
	uint32_t a, c, d;

	if (!offset[component])
		__cpuid_count(0xd, component, a, offset[component], c, d);
	(void)a, (void)c, (void)d;
	return offset[component];
}

/* Copy part of the XSAVE area; a component in its initial state is all zeros. */
static void xsave_get(const struct dec_ctx *c, int component, uint32_t off, uint8_t *to,
		      size_t n)
{
	uint64_t in_use;

	memcpy(&in_use, c->xsave + 512, 8);
	if (in_use & 1ull << component)
		memcpy(to, c->xsave + off, n);
	else
		memset(to, 0, n);
}

size_t dec_engine_read_reg(const struct dec_engine *e, int reg, uint8_t buf[160])
{
	const struct dec_ctx *c = e->ctx;
	int v = reg - DEC_REG_VEC;

	if (reg < DEC_GPRS) {
		memcpy(buf, &c->gpr[reg], 8);
		return 8;
	}
	if (reg < DEC_REG_K) {
		memset(buf, 0, 64);
		if (v >= 16) {
			if (c->xmask & 0x80)
				xsave_get(c, 7, xsave_offset(7) + 64 * (v - 16), buf, 64);
			return 64;
		}
		xsave_get(c, 1, 160 + 16 * v, buf, 16);
		if (c->xmask & 4)
			xsave_get(c, 2, xsave_offset(2) + 16 * v, buf + 16, 16);
		if (c->xmask & 0x40)
			xsave_get(c, 6, xsave_offset(6) + 32 * v, buf + 32, 32);
		return 64;
	}
	if (reg < DEC_REG_FLAGS) {
		memset(buf, 0, 8);
		if (c->xmask & 0x20)
			xsave_get(c, 5, xsave_offset(5) + 8 * (reg - DEC_REG_K), buf, 8);
		return 8;
	}
	switch (reg) {
	case DEC_REG_FLAGS:
		memcpy(buf, &c->rflags, 8);
		return 8;
	case DEC_REG_X87:
		dec_engine_settle_x87(e);
		memcpy(buf, c->xsave, 160);
		memset(buf + 24, 0, 8); // mxcsr is a register of its own
		return 160;
	case DEC_REG_MXCSR:
		memcpy(buf, c->xsave + 24, 4);
		return 4;
	default:
		return 0;
	}
}

/* Change part of the XSAVE area: @p off of the component that is @p size bytes from @p from on. */
static void xsave_set(struct dec_ctx *c, int component, uint32_t from, uint32_t size,
		      uint32_t off, const uint8_t *value, size_t n)
{
	uint64_t in_use;

	if (!(c->xmask >> component & 1))
		return;
	memcpy(&in_use, c->xsave + 512, 8);
	if (!(in_use >> component & 1))
		memset(c->xsave + from, 0, size);
	in_use |= UINT64_C(1) << component;
	memcpy(c->xsave + 512, &in_use, 8);
	memcpy(c->xsave + from + off, value, n);
}

static void write_vector(struct dec_ctx *c, int v, const uint8_t *value)
{
	if (v >= 16) {
		xsave_set(c, 7, xsave_offset(7), 1024, 64 * (v - 16), value, 64);
		return;
	}
	xsave_set(c, 1, 160, 256, 16 * v, value, 16);
	xsave_set(c, 2, xsave_offset(2), 256, 16 * v, value + 16, 16);
	xsave_set(c, 6, xsave_offset(6), 512, 32 * v, value + 32, 32);
}

static void write_x87(struct dec_ctx *c, const uint8_t *value)
{
	xsave_set(c, 0, 0, 24, 0, value, 24);
	xsave_set(c, 0, 32, 128, 0, value + 32, 128);
}

bool dec_engine_write_reg(struct dec_engine *e, int reg, const uint8_t buf[160])
{
	struct dec_ctx *c = e->ctx;
	uint64_t value;

	memcpy(&value, buf, sizeof(value));
	if (reg < DEC_GPRS)
		c->gpr[reg] = value;
	else if (reg < DEC_REG_K)
		write_vector(c, reg - DEC_REG_VEC, buf);
	else if (reg < DEC_REG_FLAGS)
		xsave_set(c, 5, xsave_offset(5), 64, 8 * (reg - DEC_REG_K), buf, 8);
	else if (reg == DEC_REG_FLAGS)
		c->rflags = ctx_user_flags(value);
	else if (reg == DEC_REG_RIP)
		c->rip = value;
	else if (reg == DEC_REG_MXCSR)
		memcpy(c->xsave + 24, (uint32_t[]){ value & 0xffff },
		       4); // the rest faults
	else if (reg == DEC_REG_X87)
		write_x87(c, buf);
	else
		return false;
	return true;
}

/* ---- what an instruction touches ---------------------------------------------------- */

static struct slow_ref *slow_add(struct slow *s, bool is_def)
{
	struct slow_ref *r = &s->ref[s->n];

	assert(s->n < SLOW_REFS && "more references than any instruction has");
	s->n++;
	*r = (struct slow_ref){ .is_def = is_def };
	return r;
}

/* What it touches; @p n iterations when it repeats. */
static void slow_memory(struct slow *s, uint64_t n)
{
	struct dec_touch touch[DEC_TOUCHES];
	int count = dec_touch_list(s->e, &s->insn, s->gpr, n, touch);

	s->n = 0;
	for (int i = 0; i < count; i++) {
		struct slow_ref *r = slow_add(s, touch[i].is_def);

		r->is_mem = true;
		r->addr = touch[i].addr;
		r->size = touch[i].size;
		r->is_far = r->size > SLOW_BULK;
	}
}

/* Keep what the uses hold now. One that cannot be read faults in the guest, or stops
 * short of there: leave that to it. */
static void slow_load(struct slow *s)
{
	size_t used = 0;

	for (int i = 0; i < s->n; i++) {
		struct slow_ref *r = &s->ref[i];

		if (r->is_def || r->is_far || r->size > sizeof(slow_loaded) - used ||
		    !dec_touch_is_readable(s->e, r->addr, r->size))
			continue;
		r->loaded = slow_loaded + used;
		memcpy(slow_loaded + used, (const void *)r->addr, r->size);
		used += r->size;
	}
}

static void slow_registers(struct slow *s, bool is_def)
{
	uint32_t gpr = is_def ? s->insn.gpr_written : s->insn.gpr_read;
	uint64_t other = is_def ? s->insn.other_written : s->insn.other_read;

	for (int r = 0; r < DEC_REG_RIP; r++) {
		if (r < DEC_GPRS ? gpr >> r & 1 : other >> (r - DEC_GPRS) & 1)
			slow_add(s, is_def)->reg = r;
	}
}

/* ---- logging ------------------------------------------------------------------------- */

static size_t slow_ref_bytes(const struct slow *s, const struct slow_ref *r)
{
	uint8_t buf[160];

	if (r->is_mem)
		return r->is_far ? 0 : (r->size + 7) & ~7ull;
	return (dec_engine_read_reg(s->e, r->reg, buf) + 7) & ~7ull;
}

static void slow_bulk(struct slow *s, const struct slow_ref *r)
{
	for (uint64_t at = 0; at < r->size; at += SLOW_BULK) {
		uint64_t n = r->size - at < SLOW_BULK ? r->size - at : SLOW_BULK;
		struct dec_rec_write *w = dec_engine_log(s->e, DEC_REC_WRITE,
							 sizeof(*w) + ((n + 7) & ~7ull));

		w->addr = r->addr + at;
		w->n_bytes = n;
		w->by_insn = 1;
		memcpy(w->bytes, (const void *)w->addr, n);
	}
}

static void slow_log(struct slow *s)
{
	size_t bytes = sizeof(struct dec_rec_slow);
	struct dec_rec_slow *rec;
	uint8_t *at;

	for (int i = 0; i < s->n; i++)
		bytes += sizeof(struct dec_rec_ref) + slow_ref_bytes(s, &s->ref[i]);
	rec = dec_engine_log(s->e, DEC_REC_SLOW, bytes);
	rec->rip = s->insn.rip;
	rec->len = s->insn.len;
	rec->n_refs = s->n;
	rec->is_watched = map_get(&s->e->watched, s->insn.rip) != NULL;
	memcpy(rec->bytes, s->insn.bytes, s->insn.len);
	memcpy(rec->gpr, s->gpr, sizeof(s->gpr));
	at = (uint8_t *)(rec + 1);
	for (int i = 0; i < s->n; i++) {
		const struct slow_ref *r = &s->ref[i];
		struct dec_rec_ref *out = (struct dec_rec_ref *)at;
		uint8_t buf[160];

		*out = (struct dec_rec_ref){ .is_def = r->is_def,
					     .is_mem = r->is_mem,
					     .reg = r->reg,
					     .addr = r->addr,
					     .bytes = r->size };
		at += sizeof(*out);
		if (!r->is_mem) {
			out->bytes = dec_engine_read_reg(s->e, r->reg, buf);
			memcpy(at, buf, out->bytes);
		} else if (r->is_far) {
			out->is_far = true;
		} else if (r->loaded) {
			memcpy(at, r->loaded, r->size);
		} else {
			memcpy(at, (const void *)r->addr, r->size);
		}
		at += slow_ref_bytes(s, r);
	}
	for (int i = 0; i < s->n; i++) {
		if (s->ref[i].is_def && s->ref[i].is_far)
			slow_bulk(s, &s->ref[i]);
	}
}

enum dec_verdict dec_engine_step_slow(struct dec_engine *e)
{
	uint64_t before = e->now, n = 1, left;
	struct slow s;
	enum dec_verdict v;

	if (e->guard)
		return dec_guard_step(e);
	if (e->mode == DEC_LOG_NONE)
		return dec_engine_step(e);
	s.e = e;
	s.insn = *dec_engine_insn(e, e->ctx->rip);
	if (s.insn.flow >= DEC_FLOW_SYSCALL)
		return dec_engine_step(e);
	dec_mute_step(e);
	dec_look_log(e);
	memcpy(s.gpr, e->ctx->gpr, sizeof(s.gpr));
	if (s.insn.is_rep)
		n = dec_touch_count(&s.insn, s.gpr);
	slow_memory(&s, n);
	slow_load(&s);
	v = dec_engine_step(e);
	if (v != DEC_GO || e->now == before)
		return v;
	left = s.insn.is_rep ? dec_touch_count(&s.insn, e->ctx->gpr) : 0;
	if (left) // A compare stopped early, and changed nothing: what did it look at?
		slow_memory(&s, n - left);
	if (e->mode == DEC_LOG_VALUES)
		slow_registers(&s, true);
	slow_log(&s);
	return v;
}
