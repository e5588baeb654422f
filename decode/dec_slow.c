// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Instructions that emitted code does not log inline: string repeats, gathers, masked
 * and bit-offset memory forms, state saves, x87. They run one at a time from a temporary
 * block; C works out what they touch before, and reads what they left behind.
 */

#include <assert.h>
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#include <Zydis/Zydis.h>

#include "decode/dec_engine.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

// A reference larger than this is logged in bulk records of this size.
#define SLOW_BULK 32768
#define SLOW_REFS 48

struct slow_ref {
	bool is_def, is_mem;
	uint8_t reg;
	uint64_t addr, size;
};

struct slow {
	struct dec_engine *e;
	struct dec_insn insn;
	struct slow_ref ref[SLOW_REFS];
	int n;
	uint64_t gpr[16];	 ///< before
	uint8_t loaded[SLOW_REFS][64]; ///< what small memory uses held before
};

/* ---- one instruction, without logging -------------------------------------------- */

enum dec_verdict engine_step(struct dec_engine *e)
{
	uint64_t rip = e->ctx->rip, avail;
	uint64_t *known = map_get(&e->single_of, rip);
	struct dec_insn insn;
	uint32_t block;

	if (known)
		return engine_enter(e, *known, 1);
	avail = e->world.avail(e->world.ctx, rip, PROT_EXEC);
	if (!dec_insn_decode((const uint8_t *)rip, avail < 15 ? avail : 15, rip, &insn) ||
	    insn.flow >= DEC_FLOW_SYSCALL)
		return engine_special(e);
	block = engine_translate(e, rip, true);
	if (block == UINT32_MAX)
		return DEC_DIVERGED;
	return engine_enter(e, block, 1);
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

size_t engine_read_reg(const struct dec_engine *e, int reg, uint8_t buf[160])
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

/* ---- what an instruction touches ---------------------------------------------------- */

static struct slow_ref *slow_add(struct slow *s, bool is_def)
{
	struct slow_ref *r = &s->ref[s->n];

	assert(s->n < SLOW_REFS && "more references than any instruction has");
	s->n++;
	*r = (struct slow_ref){ .is_def = is_def };
	return r;
}

static void slow_add_mem(struct slow *s, bool is_def, uint64_t addr, uint64_t size)
{
	struct slow_ref *r;

	if (!size)
		return;
	r = slow_add(s, is_def);
	r->is_mem = true;
	r->addr = addr;
	r->size = size;
}

static uint64_t slow_address(const struct slow *s, const struct dec_mem *m)
{
	uint64_t a = m->disp;

	if (m->is_absolute)
		return a;
	if (m->base != DEC_REG_NONE)
		a += s->gpr[m->base];
	if (m->index != DEC_REG_NONE)
		a += s->gpr[m->index] * m->scale;
	if (m->is_addr32)
		a = (uint32_t)a;
	return m->is_fs ? a + s->e->ctx->fs_base : a;
}

/* String instructions: what rcx iterations from rsi and rdi touch. */
static bool slow_string(struct slow *s, uint64_t n)
{
	static const struct {
		ZydisMnemonic mnemonic;
		uint8_t size;
		bool reads_si, reads_di, writes_di;
	} forms[] = {
		{ ZYDIS_MNEMONIC_MOVSB, 1, 1, 0, 1 }, { ZYDIS_MNEMONIC_MOVSW, 2, 1, 0, 1 },
		{ ZYDIS_MNEMONIC_MOVSD, 4, 1, 0, 1 }, { ZYDIS_MNEMONIC_MOVSQ, 8, 1, 0, 1 },
		{ ZYDIS_MNEMONIC_STOSB, 1, 0, 0, 1 }, { ZYDIS_MNEMONIC_STOSW, 2, 0, 0, 1 },
		{ ZYDIS_MNEMONIC_STOSD, 4, 0, 0, 1 }, { ZYDIS_MNEMONIC_STOSQ, 8, 0, 0, 1 },
		{ ZYDIS_MNEMONIC_LODSB, 1, 1, 0, 0 }, { ZYDIS_MNEMONIC_LODSW, 2, 1, 0, 0 },
		{ ZYDIS_MNEMONIC_LODSD, 4, 1, 0, 0 }, { ZYDIS_MNEMONIC_LODSQ, 8, 1, 0, 0 },
		{ ZYDIS_MNEMONIC_CMPSB, 1, 1, 1, 0 }, { ZYDIS_MNEMONIC_CMPSW, 2, 1, 1, 0 },
		{ ZYDIS_MNEMONIC_CMPSD, 4, 1, 1, 0 }, { ZYDIS_MNEMONIC_CMPSQ, 8, 1, 1, 0 },
		{ ZYDIS_MNEMONIC_SCASB, 1, 0, 1, 0 }, { ZYDIS_MNEMONIC_SCASW, 2, 0, 1, 0 },
		{ ZYDIS_MNEMONIC_SCASD, 4, 0, 1, 0 }, { ZYDIS_MNEMONIC_SCASQ, 8, 0, 1, 0 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		uint64_t bytes = n * forms[i].size, back = 0;

		if (forms[i].mnemonic != s->insn.mnemonic)
			continue;
		if ((s->e->ctx->rflags & 0x400) && n) // DF: downward
			back = bytes - forms[i].size;
		if (forms[i].reads_si)
			slow_add_mem(s, false, s->gpr[RSI] - back, bytes);
		if (forms[i].reads_di)
			slow_add_mem(s, false, s->gpr[RDI] - back, bytes);
		if (forms[i].writes_di)
			slow_add_mem(s, true, s->gpr[RDI] - back, bytes);
		return true;
	}
	return false;
}

static uint64_t slow_lane(const uint8_t *vec, int i, int bytes)
{
	int32_t v32;
	int64_t v64;

	if (bytes == 8) {
		memcpy(&v64, vec + 8 * i, 8);
		return v64;
	}
	memcpy(&v32, vec + 4 * i, 4);
	return (int64_t)v32;
}

/* A gather or scatter, or any masked or odd-sized operand: lane by lane from Zydis. */
static void slow_operand(struct slow *s, const ZydisDecodedInstruction *d,
			 const ZydisDecodedOperand *ops, const ZydisDecodedOperand *op)
{
	bool is_write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	bool is_read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	uint8_t index[160], mask[160];
	uint64_t base, size = op->size / 8;
	int lane_bytes, elem, lanes;

	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		return;
	if (op->mem.type != ZYDIS_MEMOP_TYPE_VSIB) {
		struct dec_mem m = {
			.base = op->mem.base == ZYDIS_REGISTER_NONE ? DEC_REG_NONE :
				ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(
					ZYDIS_MACHINE_MODE_LONG_64, op->mem.base)),
			.index = op->mem.index == ZYDIS_REGISTER_NONE ? DEC_REG_NONE :
				 ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(
					 ZYDIS_MACHINE_MODE_LONG_64, op->mem.index)),
			.scale = op->mem.scale ? op->mem.scale : 1,
			.disp = op->mem.disp.value,
			.is_fs = op->mem.segment == ZYDIS_REGISTER_FS,
			.is_addr32 = d->address_width == 32,
		};
		uint64_t a;

		if (op->mem.base == ZYDIS_REGISTER_RIP) {
			m.is_absolute = true;
			m.disp += s->insn.rip + s->insn.len;
		}
		a = slow_address(s, &m);
		if (d->mnemonic == ZYDIS_MNEMONIC_ENTER)
			return; // described by its caller
		if (d->mnemonic == ZYDIS_MNEMONIC_XLAT)
			a = s->gpr[RBX] + (s->gpr[RAX] & 0xff), size = 1;
		if (d->mnemonic == ZYDIS_MNEMONIC_POP && is_write && m.base == RSP)
			a += size;
		if ((d->mnemonic == ZYDIS_MNEMONIC_BT || d->mnemonic == ZYDIS_MNEMONIC_BTS ||
		     d->mnemonic == ZYDIS_MNEMONIC_BTR ||
		     d->mnemonic == ZYDIS_MNEMONIC_BTC) &&
		    ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			int64_t bit = s->gpr[ZydisRegisterGetId(
				ZydisRegisterGetLargestEnclosing(
					ZYDIS_MACHINE_MODE_LONG_64, ops[1].reg.value))];

			bit = op->size == 16 ? (int16_t)bit :
			      op->size == 32 ? (int32_t)bit : bit;
			a += (bit >> (op->size == 16 ? 4 : op->size == 32 ? 5 : 6)) *
			     (int64_t)size;
		}
		// State saves: what this kernel's largest area holds, not more.
		if (size > 4096 || !size)
			size = 512;
		if (is_read)
			slow_add_mem(s, false, a, size);
		if (is_write)
			slow_add_mem(s, true, a, size);
		return;
	}
	// VSIB: element size from the operand, index size from the index's mnemonic form.
	elem = op->element_size / 8;
	lane_bytes = d->mnemonic == ZYDIS_MNEMONIC_VPGATHERQD ||
				     d->mnemonic == ZYDIS_MNEMONIC_VPGATHERQQ ||
				     d->mnemonic == ZYDIS_MNEMONIC_VGATHERQPS ||
				     d->mnemonic == ZYDIS_MNEMONIC_VGATHERQPD ||
				     d->mnemonic == ZYDIS_MNEMONIC_VPSCATTERQD ||
				     d->mnemonic == ZYDIS_MNEMONIC_VPSCATTERQQ ||
				     d->mnemonic == ZYDIS_MNEMONIC_VSCATTERQPS ||
				     d->mnemonic == ZYDIS_MNEMONIC_VSCATTERQPD ?
			     8 : 4;
	base = op->mem.disp.value;
	if (op->mem.base != ZYDIS_REGISTER_NONE)
		base += s->gpr[ZydisRegisterGetId(op->mem.base)];
	engine_read_reg(s->e, DEC_REG_VEC + ZydisRegisterGetId(op->mem.index), index);
	lanes = op->element_count ? op->element_count : 1;
	if (lanes > 16)
		lanes = 16;
	for (int i = 0; i < lanes; i++) {
		bool is_on;

		if (d->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
			engine_read_reg(s->e, DEC_REG_K + ZydisRegisterGetId(d->avx.mask.reg),
					mask);
			is_on = mask[i / 8] & 1 << i % 8;
		} else { // AVX2: the sign bits of the third operand
			engine_read_reg(s->e, DEC_REG_VEC +
					ZydisRegisterGetId(ops[2].reg.value), mask);
			is_on = mask[(i + 1) * elem - 1] & 0x80;
		}
		if (is_on)
			slow_add_mem(s, is_write, base + slow_lane(index, i, lane_bytes) *
				     op->mem.scale, elem);
	}
}

static void slow_memory(struct slow *s)
{
	static ZydisDecoder decoder;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

	if (!decoder.stack_width)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
				 ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, s->insn.bytes, s->insn.len, &d,
						 ops)))
		return;
	for (int i = 0; i < d.operand_count; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			slow_operand(s, &d, ops, &ops[i]);
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
		return r->size > SLOW_BULK ? 0 : (r->size + 7) & ~7ull;
	return (engine_read_reg(s->e, r->reg, buf) + 7) & ~7ull;
}

static void slow_bulk(struct slow *s, const struct slow_ref *r)
{
	for (uint64_t at = 0; at < r->size; at += SLOW_BULK) {
		uint64_t n = r->size - at < SLOW_BULK ? r->size - at : SLOW_BULK;
		struct dec_rec_write *w = engine_log(s->e, DEC_REC_WRITE,
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
	rec = engine_log(s->e, DEC_REC_SLOW, bytes);
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

		*out = (struct dec_rec_ref){ .is_def = r->is_def, .is_mem = r->is_mem,
					     .reg = r->reg, .addr = r->addr,
					     .bytes = r->size };
		at += sizeof(*out);
		if (!r->is_mem) {
			out->bytes = engine_read_reg(s->e, r->reg, buf);
			memcpy(at, buf, out->bytes);
		} else if (r->size > SLOW_BULK) {
			out->is_far = true;
		} else if (!r->is_def && r->size <= 64) {
			memcpy(at, s->loaded[i], r->size);
		} else {
			memcpy(at, (const void *)r->addr, r->size);
		}
		at += slow_ref_bytes(s, r);
	}
	for (int i = 0; i < s->n; i++) {
		if (s->ref[i].is_mem && s->ref[i].is_def && s->ref[i].size > SLOW_BULK)
			slow_bulk(s, &s->ref[i]);
	}
}

enum dec_verdict engine_step_slow(struct dec_engine *e)
{
	uint64_t rip = e->ctx->rip, avail = e->world.avail(e->world.ctx, rip, PROT_EXEC);
	uint64_t before = e->now, n = 1;
	struct slow s = { .e = e };
	enum dec_verdict v;

	if (e->mode == DEC_LOG_NONE ||
	    !dec_insn_decode((const uint8_t *)rip, avail < 15 ? avail : 15, rip, &s.insn) ||
	    s.insn.flow >= DEC_FLOW_SYSCALL)
		return engine_step(e);
	memcpy(s.gpr, e->ctx->gpr, sizeof(s.gpr));
	if (s.insn.is_rep)
		n = s.gpr[RCX];
	if (!slow_string(&s, n))
		slow_memory(&s);
	for (int i = 0; i < s.n; i++) {
		// A use that cannot be read will fault in the guest: leave that to it.
		if (s.ref[i].is_mem && !s.ref[i].is_def && s.ref[i].size <= 64 &&
		    e->world.avail(e->world.ctx, s.ref[i].addr, PROT_READ) >= s.ref[i].size)
			memcpy(s.loaded[i], (const void *)s.ref[i].addr, s.ref[i].size);
	}
	v = engine_step(e);
	if (v != DEC_GO || e->now == before)
		return v;
	if (s.insn.is_rep && slow_string(&s, 0)) {
		// Compares stop early: describe the iterations that ran.
		s.n = 0;
		slow_string(&s, n - e->ctx->gpr[RCX]);
	}
	if (e->mode == DEC_LOG_VALUES)
		slow_registers(&s, true);
	slow_log(&s);
	return v;
}
