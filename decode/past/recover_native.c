// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The CPU as the judge of what an instruction does: a stub loads the instruction's
 * registers, runs its very bytes and stores what it wrote. A memory operand is moved to a
 * buffer of ours, so that nothing is read or written but registers and that buffer; what
 * could do more is not run at all (dec_recover_form_runs() in recover_form.c).
 */
#include "decode/past/recover_int.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/translator/emit.h"
#include "decode/x86/zydis.h"

enum { NATIVE_ARENA = 1 << 20, NATIVE_STUB = 1024 };

struct native_ctx {
	uint8_t vec[32][64];
	uint8_t mem[64];
	uint64_t gpr[16], k[8], flags;
} __attribute__((aligned(64)));

struct native_arena {
	uint8_t *code;
	size_t used;
};

struct past_native {
	struct native_ctx ctx;
	VEC(struct native_arena) arenas;
	bool has_avx, has_avx512;
	struct sigaction old[3];
};

static const int native_signals[3] = { SIGILL, SIGFPE, SIGSEGV };
static sigjmp_buf native_escape;
static volatile sig_atomic_t native_is_running;

static void native_on_signal(int signo)
{
	if (native_is_running)
		siglongjmp(native_escape, signo);
	signal(signo, SIG_DFL);
}

struct err *dec_recover_native_create(struct past_native **ret)
{
	struct sigaction sa = { .sa_handler = native_on_signal, .sa_flags = SA_NODEFER };
	struct past_native *n = aligned_alloc(64, (sizeof(*n) + 63) & ~63ul);

	if (!n)
		return &err_nomem;
	memset(n, 0, sizeof(*n));
	n->has_avx = __builtin_cpu_supports("avx2");
	n->has_avx512 = n->has_avx && __builtin_cpu_supports("avx512f") &&
			__builtin_cpu_supports("avx512bw");
	for (int i = 0; i < 3; i++)
		sigaction(native_signals[i], &sa, &n->old[i]);
	*ret = n;
	return NULL;
}

void dec_recover_native_destroy(struct past_native *n)
{
	if (!n)
		return;
	for (int i = 0; i < 3; i++)
		sigaction(native_signals[i], &n->old[i], NULL);
	for (size_t i = 0; i < n->arenas.size; i++)
		munmap(n->arenas.data[i].code, NATIVE_ARENA);
	vec_deinit(&n->arenas);
	free(n);
}

/* ---- the stub ------------------------------------------------------------------------------- */

static uint8_t *native_room(struct past_native *n)
{
	struct native_arena *a = n->arenas.size ? &n->arenas.data[n->arenas.size - 1] :
						  NULL;

	if (a && a->used + NATIVE_STUB <= NATIVE_ARENA)
		return a->code + a->used;
	a = vec_push(&n->arenas);
	if (!a)
		return NULL;
	a->code = mmap(NULL, NATIVE_ARENA, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->code == MAP_FAILED) {
		n->arenas.size--;
		return NULL;
	}
	return a->code;
}

/* vmovdqu64 zmm, [base+disp], or vmovdqu ymm: opcode 6f loads, 7f stores. */
static void native_vec(struct dec_emit *e, const struct past_native *n, uint8_t opcode,
		       int v, int base, uint32_t disp)
{
	if (n->has_avx512) {
		emit_u8(e, 0x62);
		emit_u8(e, (v & 8 ? 0 : 0x80) | 0x40 | (base & 8 ? 0 : 0x20) |
				   (v & 16 ? 0 : 0x10) | 1);
		emit_u8(e, 0xfe);
		emit_u8(e, 0x48);
	} else {
		emit_u8(e, 0xc4);
		emit_u8(e, (v & 8 ? 0 : 0x80) | 0x40 | (base & 8 ? 0 : 0x20) | 1);
		emit_u8(e, 0x7e);
	}
	emit_u8(e, opcode);
	emit_u8(e, 0x80 | (v & 7) << 3 | (base & 7));
	emit_u32(e, disp);
}

/* kmovq k, [base+disp]: opcode 90 loads, 91 stores. */
static void native_k(struct dec_emit *e, uint8_t opcode, int k, int base, uint32_t disp)
{
	emit_u8(e, 0xc4);
	emit_u8(e, 0x80 | 0x40 | (base & 8 ? 0 : 0x20) | 1);
	emit_u8(e, 0xf8);
	emit_u8(e, opcode);
	emit_u8(e, 0x80 | (k & 7) << 3 | (base & 7));
	emit_u32(e, disp);
}

/* push or pop qword [base+disp] */
static void native_stack(struct dec_emit *e, bool is_push, int base, uint32_t disp)
{
	if (base & 8)
		emit_u8(e, 0x41);
	emit_u8(e, is_push ? 0xff : 0x8f);
	emit_u8(e, 0x80 | (is_push ? 6 : 0) << 3 | (base & 7));
	emit_u32(e, disp);
}

/* mov reg, [base+disp] (8b) or back (89) */
static void native_gpr(struct dec_emit *e, uint8_t opcode, int reg, int base,
		       uint32_t disp)
{
	emit_mem_op(e, 1, opcode, reg, base, DEC_REG_NONE, 1, disp);
}

static void native_move(struct dec_emit *e, const struct past_native *n, bool is_load,
			uint8_t slot, int base)
{
	if (slot < DEC_GPRS)
		native_gpr(e, is_load ? 0x8b : 0x89, slot, base,
			   offsetof(struct native_ctx, gpr) + 8 * slot);
	else if (slot < DEC_REG_K)
		native_vec(e, n, is_load ? 0x6f : 0x7f, slot - DEC_REG_VEC, base,
			   offsetof(struct native_ctx, vec) + 64 * (slot - DEC_REG_VEC));
	else if (slot < DEC_REG_FLAGS)
		native_k(e, is_load ? 0x90 : 0x91, slot - DEC_REG_K, base,
			 offsetof(struct native_ctx, k) + 8 * (slot - DEC_REG_K));
}

/* A register that the instruction has nothing to do with; the low ones first, which need
 * no REX prefix. Not rsp and r12, which need a SIB byte. */
static int native_spare(const struct past_form *f)
{
	static const uint8_t order[] = { 3, 5, 6, 7, 1, 2, 0, 8, 9, 10, 11, 13, 14, 15 };
	uint16_t used = f->insn.gpr_read | f->insn.gpr_written;

	for (size_t i = 0; i < sizeof(order); i++) {
		if (!(used & 1u << order[i]))
			return order[i];
	}
	return -1;
}

/* The instruction, its memory operand at [base+mem]. @return false when it cannot be. */
static bool native_insn(struct dec_emit *e, const struct past_form *f, int base)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZyanUSize n = ZYDIS_MAX_INSTRUCTION_LENGTH;
	ZydisDecodedInstruction d;
	ZydisEncoderRequest req;

	if (!f->insn.n_mem) {
		emit_bytes(e, f->insn.bytes, f->insn.len);
		return true;
	}
	if (!dec_insn_zydis(f->insn.bytes, f->insn.len, &d, ops) ||
	    !ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		    &d, ops, d.operand_count_visible, &req)))
		return false;
	req.prefixes &= ~(ZydisInstructionAttributes)ZYDIS_ATTRIB_HAS_SEGMENT;
	req.address_size_hint = ZYDIS_ADDRESS_SIZE_HINT_64;
	for (int i = 0; i < req.operand_count; i++) {
		if (req.operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		req.operands[i].mem.base = ZYDIS_REGISTER_RAX + base;
		req.operands[i].mem.index = ZYDIS_REGISTER_NONE;
		req.operands[i].mem.scale = 0;
		req.operands[i].mem.displacement = offsetof(struct native_ctx, mem);
	}
	if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&req, e->p, &n)))
		return false;
	e->p += n;
	return true;
}

static bool native_fits(const struct past_native *n, const struct past_form *f)
{
	uint64_t other = f->insn.other_read | f->insn.other_written;

	if (n->has_avx512)
		return true;
	return !(other & 0xffff0000u) && !(other >> 32 & 0xff) &&
	       f->insn.vec_bytes[0] < 64 && f->insn.vec_bytes[1] < 64 &&
	       (n->has_avx || !(other & 0xffff));
}

static bool native_emit(struct past_native *n, struct past_form *f)
{
	static const uint8_t pushes[] = { 0x53, 0x55, 0x41, 0x54, 0x41,
					  0x55, 0x41, 0x56, 0x41, 0x57 };
	static const uint8_t pops[] = { 0x41, 0x5f, 0x41, 0x5e, 0x41,
					0x5d, 0x41, 0x5c, 0x5d, 0x5b };
	static const uint8_t vzeroupper[] = { 0xc5, 0xf8, 0x77 };
	uint8_t *room = native_room(n);
	struct dec_emit e = { .p = room };
	int base = native_spare(f);

	if (!room || base < 0 || !native_fits(n, f))
		return false;
	emit_bytes(&e, pushes, sizeof(pushes));
	emit_u8(&e, 0x48 | base >> 3); // mov base, rdi
	emit_u8(&e, 0x89);
	emit_u8(&e, 0xc0 | 7 << 3 | (base & 7));
	native_stack(&e, true, base, offsetof(struct native_ctx, flags));
	emit_u8(&e, 0x9d); // popfq
	for (int s = 0; s < f->n_in; s++) {
		if (f->slot[s] >= DEC_REG_VEC || f->need[s])
			native_move(&e, n, true, f->slot[s], base);
	}
	if (!native_insn(&e, f, base))
		return false;
	emit_u8(&e, 0x9c); // pushfq
	native_stack(&e, false, base, offsetof(struct native_ctx, flags));
	for (int s = f->n_in; s < f->n_in + f->n_out; s++)
		native_move(&e, n, false, f->slot[s], base);
	if (n->has_avx)
		emit_bytes(&e, vzeroupper, sizeof(vzeroupper));
	emit_bytes(&e, pops, sizeof(pops));
	emit_u8(&e, 0xc3);
	f->run = (void (*)(void *))room;
	n->arenas.data[n->arenas.size - 1].used += ((e.p - room) + 63) & ~63;
	return true;
}

/* ---- running --------------------------------------------------------------------------------- */

static void *native_place(struct native_ctx *c, uint8_t slot, size_t *size)
{
	*size = 8;
	if (slot < DEC_GPRS)
		return &c->gpr[slot];
	if (slot >= 0x80) {
		*size = 64;
		return c->mem;
	}
	if (slot == DEC_REG_FLAGS)
		return &c->flags;
	if (slot >= DEC_REG_K)
		return &c->k[slot - DEC_REG_K];
	*size = 64;
	return c->vec[slot - DEC_REG_VEC];
}

/* The stub stores 32 bytes of a register. What a processor with more of them has above: what was
 * there, or zeros where the instruction clears it, or the register was no input. */
static void native_clear_above(struct native_ctx *c, const struct past_form *f)
{
	for (int s = f->n_in; s < f->n_in + f->n_out; s++) {
		uint8_t slot = f->slot[s];

		if (slot >= DEC_REG_VEC && slot < DEC_REG_K &&
		    (f->insn.is_vex || !memchr(f->slot, slot, f->n_in)))
			memset(c->vec[slot - DEC_REG_VEC] + 32, 0, 32);
	}
}

bool dec_recover_native_run(struct past_native *n, struct past_form *f,
			    const struct past_bytes *in, struct past_bytes *out)
{
	struct native_ctx *c = &n->ctx;
	size_t size;

	if (!f->is_native || (!f->run && !native_emit(n, f))) {
		f->is_native = false;
		return false;
	}
	c->flags = 2;
	for (int s = 0; s < f->n_in; s++)
		memcpy(native_place(c, f->slot[s], &size), in[s].v,
		       f->slot[s] >= DEC_REG_VEC && f->slot[s] < DEC_REG_K ? 64 :
		       f->slot[s] >= 0x80				   ? 64 :
									     8);
	c->flags = (c->flags & 0x8d5) | 2;
	native_is_running = 1;
	// Which bytes are at fault is not the form's fault for SIGFPE: a division by zero.
	switch (sigsetjmp(native_escape, 0)) {
	case 0:
		f->run(c);
		break;
	case SIGFPE:
		native_is_running = 0;
		return false;
	default:
		native_is_running = 0;
		f->is_native = false;
		return false;
	}
	native_is_running = 0;
	if (!n->has_avx512)
		native_clear_above(c, f);
	for (int s = 0; s < f->n_out; s++) {
		const void *from = native_place(c, f->slot[f->n_in + s], &size);

		memcpy(out[s].v, from, size);
	}
	return true;
}
