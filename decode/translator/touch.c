// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/touch.h"

#include <assert.h>
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/x86/zydis.h"

#define TOUCH_FXSAVE 416     ///< of its 512 bytes the rest is left alone
#define TOUCH_XSAVE_HEAD 576 ///< legacy area and header

struct touch {
	const struct dec_engine *e;
	const struct dec_insn *insn;
	const uint64_t *gpr;
	struct dec_touch *out;
	int n;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static void touch_add(struct touch *t, bool is_def, uint64_t addr, uint64_t size)
{
	if (!size)
		return;
	assert(t->n < DEC_TOUCHES && "no instruction touches more");
	t->out[t->n++] = (struct dec_touch){ is_def, addr, size };
}

static void touch_both(struct touch *t, const ZydisDecodedOperand *op, uint64_t addr,
		       uint64_t size)
{
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		touch_add(t, false, addr, size);
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		touch_add(t, true, addr, size);
}

static uint64_t touch_gpr(const struct touch *t, ZydisRegister r)
{
	uint8_t n = dec_insn_gpr(r);

	return n == DEC_REG_NONE ? 0 : t->gpr[n];
}

bool dec_touch_is_readable(const struct dec_engine *e, uint64_t addr, uint64_t size)
{
	while (size) {
		uint64_t n = e->world.avail(e->world.ctx, addr, PROT_READ);

		if (!n)
			return false;
		if (n >= size)
			break;
		addr += n;
		size -= n;
	}
	return true;
}

static uint64_t touch_segment(const struct touch *t, const ZydisDecodedOperand *op)
{
	return op->mem.segment == ZYDIS_REGISTER_FS ? t->e->ctx->fs_base :
	       op->mem.segment == ZYDIS_REGISTER_GS ? t->e->ctx->gs_base :
						      0;
}

/* ---- plain operands and strings ------------------------------------------------------ */

static uint64_t touch_mem_address(const struct touch *t, const struct dec_mem *m)
{
	return dec_insn_address(m, t->gpr, t->e->ctx->fs_base, t->e->ctx->gs_base);
}

static void touch_plain(struct touch *t)
{
	for (int is_def = 0; is_def < 2; is_def++) {
		for (int i = 0; i < t->insn->n_mem; i++) {
			const struct dec_mem *m = &t->insn->mem[i];

			if (is_def ? m->is_write : m->is_read)
				touch_add(t, is_def, touch_mem_address(t, m), m->size);
		}
	}
}

uint64_t dec_touch_count(const struct dec_insn *insn, const uint64_t gpr[16])
{
	return insn->n_mem && insn->mem[0].is_addr32 ? (uint32_t)gpr[CAP_RCX] :
						       gpr[CAP_RCX];
}

/* n iterations, upward or (DF) downward from where the operands point. */
static void touch_string(struct touch *t, uint64_t n)
{
	bool is_down = t->e->ctx->rflags & 0x400;

	for (int is_def = 0; n && is_def < 2; is_def++) {
		for (int i = 0; i < t->insn->n_mem; i++) {
			const struct dec_mem *m = &t->insn->mem[i];
			uint64_t back = is_down ? (n - 1) * m->size : 0;

			if (is_def ? m->is_write : m->is_read)
				touch_add(t, is_def, touch_mem_address(t, m) - back,
					  n * m->size);
		}
	}
}

/* ---- masks ----------------------------------------------------------------------------- */

/* The sign bits of the @p bytes wide lanes of vector or MMX register @p r. */
static uint64_t touch_signs(const struct touch *t, ZydisRegister r, int bytes)
{
	uint8_t v[160] = {}, mm[160];
	uint64_t signs = 0;

	if (ZydisRegisterGetClass(r) == ZYDIS_REGCLASS_MMX) {
		// mmN is physical register N; the area holds them from the stack's top.
		dec_engine_read_reg(t->e, DEC_REG_X87, mm);
		memcpy(v, mm + 32 + 16 * ((ZydisRegisterGetId(r) - (mm[3] >> 3 & 7)) & 7),
		       8);
	} else {
		dec_engine_read_reg(t->e, dec_insn_reg(r), v);
	}
	for (int i = 0; i < 64 / bytes; i++)
		signs |= (uint64_t)(v[(i + 1) * bytes - 1] >> 7) << i;
	return signs;
}

static uint64_t touch_k(const struct touch *t)
{
	uint8_t k[160];
	uint64_t v;

	dec_engine_read_reg(t->e, dec_insn_reg(t->d.avx.mask.reg), k);
	memcpy(&v, k, 8);
	return v;
}

static bool touch_has_k(const struct touch *t)
{
	return t->d.avx.mask.reg != ZYDIS_REGISTER_NONE &&
	       t->d.avx.mask.reg != ZYDIS_REGISTER_K0;
}

/* The lanes that are switched on, neighbours as one. */
static void touch_lanes(struct touch *t, const ZydisDecodedOperand *op, uint64_t addr,
			uint64_t on, int lanes, int bytes)
{
	if (lanes < 64)
		on &= (1ull << lanes) - 1;
	for (int i = 0; i < lanes;) {
		int n = 0;

		while (i + n < lanes && on >> (i + n) & 1)
			n++;
		touch_both(t, op, addr + (uint64_t)i * bytes, (uint64_t)n * bytes);
		i += n + 1;
	}
}

/* Does the mask of an EVEX instruction switch off lanes of its memory operand? Not where
 * the exception class denies fault suppression (permutations need all lanes), nor where
 * the operand is one value for all. */
static bool touch_is_by_lane(const struct touch *t, const ZydisDecodedOperand *op)
{
	if (!touch_has_k(t))
		return false;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		return true;
	switch (t->d.meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_E1NF:
	case ZYDIS_EXCEPTION_CLASS_E2NF:
	case ZYDIS_EXCEPTION_CLASS_E3NF:
	case ZYDIS_EXCEPTION_CLASS_E4NF:
	case ZYDIS_EXCEPTION_CLASS_E5NF:
	case ZYDIS_EXCEPTION_CLASS_E6NF:
	case ZYDIS_EXCEPTION_CLASS_E9NF:
	case ZYDIS_EXCEPTION_CLASS_E10NF:
	case ZYDIS_EXCEPTION_CLASS_E11NF:
		return false;
	default:
		break;
	}
	return !t->d.avx.broadcast.mode &&
	       (ZydisRegisterGetClass(t->op[0].reg.value) == ZYDIS_REGCLASS_MASK ||
		t->op[0].element_count == op->element_count);
}

static bool touch_is_dense(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_VPCOMPRESSB ... ZYDIS_MNEMONIC_VPCOMPRESSW:
	case ZYDIS_MNEMONIC_VCOMPRESSPD ... ZYDIS_MNEMONIC_VCOMPRESSPS:
	case ZYDIS_MNEMONIC_VPEXPANDB ... ZYDIS_MNEMONIC_VPEXPANDW:
	case ZYDIS_MNEMONIC_VEXPANDPD ... ZYDIS_MNEMONIC_VEXPANDPS:
		return true;
	default:
		return false;
	}
}

static bool touch_masked(struct touch *t, const ZydisDecodedOperand *op, uint64_t addr)
{
	int bytes = dec_insn_mask_bytes(t->d.mnemonic), lanes = op->element_count;

	if (bytes) {
		touch_lanes(t, op, addr, touch_signs(t, t->op[1].reg.value, bytes),
			    op->size / 8 / bytes, bytes);
		return true;
	}
	if (!touch_is_by_lane(t, op))
		return false;
	bytes = op->element_size / 8;
	if (touch_is_dense(t->d.mnemonic)) {
		uint64_t on = touch_k(t);

		if (lanes < 64)
			on &= (1ull << lanes) - 1;
		touch_both(t, op, addr, (uint64_t)__builtin_popcountll(on) * bytes);
	} else {
		touch_lanes(t, op, addr, touch_k(t), lanes, bytes);
	}
	return true;
}

/* ---- gathers and scatters ----------------------------------------------------------- */

static bool touch_has_quad_index(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_VPGATHERQD ... ZYDIS_MNEMONIC_VPGATHERQQ:
	case ZYDIS_MNEMONIC_VGATHERQPD ... ZYDIS_MNEMONIC_VGATHERQPS:
	case ZYDIS_MNEMONIC_VPSCATTERQD ... ZYDIS_MNEMONIC_VPSCATTERQQ:
	case ZYDIS_MNEMONIC_VSCATTERQPD ... ZYDIS_MNEMONIC_VSCATTERQPS:
		return true;
	default:
		return false;
	}
}

static int64_t touch_index(const uint8_t *vec, int i, int bytes)
{
	int32_t v32;
	int64_t v64;

	if (bytes == 8) {
		memcpy(&v64, vec + 8 * i, 8);
		return v64;
	}
	memcpy(&v32, vec + 4 * i, 4);
	return v32;
}

static void touch_vsib(struct touch *t, const ZydisDecodedOperand *op)
{
	bool is_evex = t->d.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	// The vector of data: first of a gather, last of a scatter.
	const ZydisDecodedOperand *data = op == &t->op[0] ? &t->op[2] : &t->op[0];
	int bytes = op->element_size / 8;
	int index_bytes = touch_has_quad_index(t->d.mnemonic) ? 8 : 4;
	int lanes = data->size / 8 / bytes;
	int indices = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, op->mem.index) /
		      8 / index_bytes;
	uint64_t on = is_evex ? touch_k(t) : touch_signs(t, t->op[2].reg.value, bytes);
	uint64_t base = op->mem.disp.value + touch_gpr(t, op->mem.base);
	uint8_t index[160];

	dec_engine_read_reg(t->e, dec_insn_reg(op->mem.index), index);
	for (int i = 0; i < lanes && i < indices; i++) {
		uint64_t a = base + touch_index(index, i, index_bytes) * op->mem.scale;

		if (t->d.address_width == 32)
			a = (uint32_t)a;
		if (on >> i & 1)
			touch_both(t, op, a + touch_segment(t, op), bytes);
	}
}

/* ---- state saves ------------------------------------------------------------------------ */

/* Bytes of the area that holds components @p which, in the standard or compacted form. */
static uint64_t touch_xsave_bytes(uint64_t which, bool is_compact)
{
	uint64_t end = TOUCH_XSAVE_HEAD;

	for (uint32_t i = 2; i < 63; i++) {
		uint32_t size, offset, flags, d;

		if (!(which >> i & 1))
			continue;
		__cpuid_count(0xd, i, size, offset, flags, d);
		(void)d;
		if (!is_compact) {
			end = offset + size > end ? offset + size : end;
			continue;
		}
		if (flags & 2)
			end = (end + 63) & ~63ull;
		end += size;
	}
	return end;
}

static void touch_xsave(struct touch *t, uint64_t addr)
{
	bool is_compact = t->d.mnemonic == ZYDIS_MNEMONIC_XSAVEC ||
			  t->d.mnemonic == ZYDIS_MNEMONIC_XSAVEC64;
	bool is_restore = t->d.mnemonic == ZYDIS_MNEMONIC_XRSTOR ||
			  t->d.mnemonic == ZYDIS_MNEMONIC_XRSTOR64;
	uint64_t which = (uint32_t)t->gpr[CAP_RAX] | t->gpr[CAP_RDX] << 32, compact;
	uint32_t lo, hi;

	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	which &= lo | (uint64_t)hi << 32;
	if (is_restore && dec_touch_is_readable(t->e, addr, TOUCH_XSAVE_HEAD)) {
		memcpy(&compact, (const void *)(addr + 520), 8);
		is_compact = compact >> 63;
		which = is_compact ? compact : which;
	}
	// What is not in use is not written: the area before is used as well.
	touch_add(t, false, addr, touch_xsave_bytes(which, is_compact));
	if (!is_restore)
		touch_add(t, true, addr, touch_xsave_bytes(which, is_compact));
}

/* ---- the rest ------------------------------------------------------------------------- */

/* enter: pushes rbp, copies level-1 frame pointers, pushes the new one. */
static void touch_enter(struct touch *t)
{
	uint64_t level = t->op[1].imm.value.u & 31, size = t->d.operand_width / 8;
	uint64_t copies = level ? level - 1 : 0, pushes = level ? level + 1 : 1;

	touch_add(t, false, t->gpr[CAP_RBP] - copies * size, copies * size);
	touch_add(t, true, t->gpr[CAP_RSP] - pushes * size, pushes * size);
}

static bool touch_is_bit_string(const struct touch *t)
{
	return dec_insn_is_bit_test(t->d.mnemonic) &&
	       t->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/* How far the word of the bit lies from the operand. */
static int64_t touch_bit_offset(const struct touch *t)
{
	int64_t bit = touch_gpr(t, t->op[1].reg.value);

	switch (t->op[0].size) {
	case 16:
		return ((int16_t)bit >> 4) * 2;
	case 32:
		return ((int64_t)(int32_t)bit >> 5) * 4;
	default:
		return (bit >> 6) * 8;
	}
}

static uint64_t touch_address(const struct touch *t, const ZydisDecodedOperand *op)
{
	uint64_t a = op->mem.disp.value;
	bool is_hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

	if (op->mem.base == ZYDIS_REGISTER_RIP)
		return t->insn->rel_target + touch_segment(t, op);
	a += touch_gpr(t, op->mem.base);
	if (t->d.mnemonic == ZYDIS_MNEMONIC_XLAT)
		a += t->gpr[CAP_RAX] & 0xff;
	else
		a += touch_gpr(t, op->mem.index) * op->mem.scale;
	// A push through a far operand; a pop computes its operand after moving rsp.
	if (is_hidden && t->d.mnemonic == ZYDIS_MNEMONIC_PUSH)
		a -= op->size / 8;
	if (!is_hidden && t->d.mnemonic == ZYDIS_MNEMONIC_POP &&
	    op->mem.base == ZYDIS_REGISTER_RSP)
		a += op->size / 8;
	if (touch_is_bit_string(t))
		a += touch_bit_offset(t);
	if (t->d.address_width == 32 && !is_hidden)
		a = (uint32_t)a;
	return a + touch_segment(t, op);
}

static void touch_operand(struct touch *t, const ZydisDecodedOperand *op)
{
	uint64_t addr;

	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		touch_vsib(t, op);
		return;
	}
	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return;
	addr = touch_address(t, op);
	if (t->d.meta.category == ZYDIS_CATEGORY_XSAVE ||
	    t->d.meta.category == ZYDIS_CATEGORY_XSAVEOPT)
		touch_xsave(t, addr);
	else if (!touch_masked(t, op, addr))
		touch_both(t, op, addr, op->size == 4096 ? TOUCH_FXSAVE : op->size / 8);
}

int dec_touch_list(const struct dec_engine *e, const struct dec_insn *insn,
		   const uint64_t gpr[16], uint64_t n, struct dec_touch out[DEC_TOUCHES])
{
	struct touch t = { .e = e, .insn = insn, .gpr = gpr, .out = out };

	if (insn->is_rep) {
		touch_string(&t, n);
		return t.n;
	}
	if (!insn->is_slow_addr) {
		touch_plain(&t);
		return t.n;
	}
	if (!dec_insn_zydis(insn->bytes, insn->code_len, &t.d, t.op))
		return 0;
	if (t.d.mnemonic == ZYDIS_MNEMONIC_ENTER) {
		touch_enter(&t);
		return t.n;
	}
	for (int i = 0; i < t.d.operand_count; i++) {
		if (t.op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			touch_operand(&t, &t.op[i]);
	}
	return t.n;
}
