// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What becomes of bits without a value, judged by the processor: an instruction is executed with such bits set one
 * way and another. Each bit, and each condition of its flags, that comes out differently must be one without a value;
 * and where only bits move, each that has none must differ some time.
 *
 * FAULTLINE_ROUNDS: rounds of each instruction (100).
 */
#include <string.h>
#include <sys/mman.h>

#include "faultlocate/bytes/values_int.h"
#include "tests/unit.h"

#include "decode/x86/zydis.h"

#define VECS 4
#define GPRS 4
#define TRIES 64

/* What an instruction may read and write: ymm0 to ymm3, rax, rcx, rdx, rbx, 64 bytes at rsi. */
struct state {
	_Alignas(64) uint8_t vec[VECS][32];
	uint8_t mem[64];
	uint64_t gpr[GPRS];
	uint64_t flags, unused[3];
};

void run(struct state *s, const void *code);

__asm__(".text\n"
	"run:	push %rbx\n"
	"	push %r12\n"
	"	mov %rdi, %r12\n"
	"	mov %rsi, %r11\n"
	"	vmovdqu (%r12), %ymm0\n"
	"	vmovdqu 32(%r12), %ymm1\n"
	"	vmovdqu 64(%r12), %ymm2\n"
	"	vmovdqu 96(%r12), %ymm3\n"
	"	mov 192(%r12), %rax\n"
	"	mov 200(%r12), %rcx\n"
	"	mov 208(%r12), %rdx\n"
	"	mov 216(%r12), %rbx\n"
	"	lea 128(%r12), %rsi\n"
	"	push 224(%r12)\n"
	"	popfq\n"
	"	call *%r11\n"
	"	pushfq\n"
	"	pop 224(%r12)\n"
	"	vmovdqu %ymm0, (%r12)\n"
	"	vmovdqu %ymm1, 32(%r12)\n"
	"	vmovdqu %ymm2, 64(%r12)\n"
	"	vmovdqu %ymm3, 96(%r12)\n"
	"	mov %rax, 192(%r12)\n"
	"	mov %rcx, 200(%r12)\n"
	"	mov %rdx, 208(%r12)\n"
	"	mov %rbx, 216(%r12)\n"
	"	vzeroupper\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n");

/* Their bytes, each behind its length. */
extern const uint8_t insns[], insns_end[];

__asm__(".section .rodata\n"
	".macro i text:vararg\n"
	"	.byte 2f - 1f\n"
	"1:	\\text\n"
	"2:\n"
	".endm\n"
	".macro pd text, rest:vararg\n" // packed, of one source and two
	"	i \\text\\()pd \\rest\n"
	"	i \\text\\()ps \\rest\n"
	".endm\n"
	".macro all text, to, rest:vararg\n"
	"	i \\text\\()pd \\to, \\rest\n"
	"	i \\text\\()ps \\to, \\rest\n"
	"	i \\text\\()sd \\to, \\rest\n"
	"	i \\text\\()ss \\to, \\rest\n"
	"	i v\\text\\()pd \\to, xmm2, \\rest\n"
	"	i v\\text\\()ps \\to, xmm2, \\rest\n"
	"	i v\\text\\()sd \\to, xmm2, \\rest\n"
	"	i v\\text\\()ss \\to, xmm2, \\rest\n"
	".endm\n"
	".macro two text, rest:vararg\n" // as SSE and AVX have it
	"	i \\text xmm0, xmm1 \\rest\n"
	"	i \\text xmm0, [rsi] \\rest\n"
	"	i \\text xmm3, xmm3 \\rest\n"
	"	i v\\text xmm0, xmm2, xmm1 \\rest\n"
	"	i v\\text ymm0, ymm2, ymm1 \\rest\n"
	"	i v\\text ymm0, ymm2, [rsi] \\rest\n"
	"	i v\\text ymm0, ymm1, ymm1 \\rest\n"
	".endm\n"
	".macro one text, rest:vararg\n"
	"	i \\text xmm0, xmm1 \\rest\n"
	"	i v\\text xmm0, xmm1 \\rest\n"
	"	i v\\text ymm0, ymm1 \\rest\n"
	".endm\n"
	".intel_syntax noprefix\n"
	"insns:\n"
	/* general registers */
	".irp op, add, sub, adc, sbb, and, or, xor, cmp, test\n"
	"	i \\op rax, rcx\n"
	"	i \\op eax, 0x1234\n"
	"	i \\op ax, cx\n"
	"	i \\op cl, ah\n"
	"	i \\op dl, 7\n"
	"	i \\op dword ptr [rsi], ecx\n"
	"	i \\op rdx, rdx\n"
	".endr\n"
	".irp op, add, sub, and, or, xor, cmp\n"
	"	i \\op rcx, [rsi]\n"
	".endr\n"
	".irp op, inc, dec, neg, not\n"
	"	i \\op rax\n"
	"	i \\op ch\n"
	"	i \\op byte ptr [rsi]\n"
	".endr\n"
	".irp op, shl, shr, sar, rol, ror\n"
	"	i \\op rax, 5\n"
	"	i \\op edx, 31\n"
	"	i \\op bl, 3\n"
	"	i \\op rdx, cl\n"
	"	i \\op ax, cl\n"
	"	i \\op ebx, 1\n"
	".endr\n"
	"	i mov eax, ecx\n"
	"	i mov rax, [rsi]\n"
	"	i mov ah, cl\n"
	"	i mov [rsi + 3], cx\n"
	"	i movzx eax, ch\n"
	"	i movzx rax, word ptr [rsi]\n"
	"	i movsx eax, cl\n"
	"	i movsxd rax, ecx\n"
	"	i movsx rdx, byte ptr [rsi]\n"
	"	i cbw\n"
	"	i cwde\n"
	"	i cdqe\n"
	"	i lea rax, [rcx + 4 * rdx + 12]\n"
	"	i lea ecx, [rdx + rdx]\n"
	"	i lea rdx, [rax - 1]\n"
	"	i imul rax, rcx\n"
	"	i imul eax, ecx, 100\n"
	"	i mul rcx\n"
	"	i imul ecx\n"
	"	i mul cl\n"
	"	i xchg rax, rcx\n"
	"	i xchg [rsi], edx\n"
	"	i popcnt rax, rcx\n"
	"	i bswap rax\n"
	"	i movbe rax, [rsi]\n"
	".irp cc, z, nz, b, nb, be, nbe, s, ns, l, nl, le, nle, p, np\n"
	"	i set\\cc al\n"
	"	i cmov\\cc rax, rcx\n"
	"	i cmov\\cc edx, [rsi]\n"
	".endr\n"
	"	i andn eax, ecx, edx\n"
	"	i andn rax, rcx, [rsi]\n"
	"	i andn rax, rcx, rcx\n"
	"	i shlx rax, rcx, rdx\n"
	"	i shrx eax, ecx, edx\n"
	"	i sarx rax, [rsi], rcx\n"
	"	i rorx rax, rcx, 11\n"
	/* vectors */
	".irp op, add, sub, mul, div, min, max, sqrt\n"
	"	.ifc \\op, sqrt\n"
	"	i sqrtsd xmm0, xmm1\n"
	"	i vsqrtss xmm0, xmm2, xmm1\n"
	"	pd sqrt xmm0, xmm1\n"
	"	pd vsqrt ymm0, [rsi]\n"
	"	.else\n"
	"	all \\op, xmm0, xmm1\n"
	"	pd v\\op, ymm0, ymm1, [rsi]\n"
	"	i \\op\\()sd xmm0, [rsi + 8]\n"
	"	i v\\op\\()ss xmm0, xmm1, [rsi]\n"
	"	.endif\n"
	".endr\n"
	".irp op, paddb, paddw, paddd, paddq, psubb, psubw, psubd, psubq, paddsb, paddusw, psubsw, psubusb,"
	" pmullw, pmulld, pmulhw, pmulhuw, pavgb, pmaxsw, pmaxub, pminsd, pminud, pminub, pcmpeqb, pcmpeqw, pcmpeqd,"
	" pcmpeqq, pcmpgtb, pcmpgtd, pcmpgtq, pmuludq, pmuldq, pmaddwd, pmaddubsw, pmulhrsw, psadbw, psignd,"
	" pand, pandn, por, pxor, andps, andnpd, orps, xorpd, phaddw, phaddd, phsubd, haddps, hsubpd, addsubps,"
	" packssdw, packuswb, packusdw, packsswb, punpcklbw, punpcklwd, punpckldq, punpcklqdq, punpckhbw,"
	" punpckhwd, punpckhdq, punpckhqdq, unpcklps, unpckhps, unpcklpd, unpckhpd, pshufb\n"
	"	two \\op\n"
	".endr\n"
	"	two shufps, , 0x6c\n"
	"	two shufpd, , 2\n"
	"	two palignr, , 5\n"
	"	two palignr, , 21\n"
	"	two blendps, , 5\n"
	"	two blendpd, , 1\n"
	"	two pblendw, , 0x5a\n"
	"	two cmpps, , 1\n"
	"	i cmpsd xmm0, xmm1, 2\n"
	"	i vcmpss xmm0, xmm2, xmm1, 4\n"
	".irp op, pabsb, pabsw, pabsd, movddup, movshdup, movsldup, cvtdq2ps, cvtps2dq, cvttps2dq, movaps, movdqu,"
	" movupd, movdqa\n"
	"	one \\op\n"
	".endr\n"
	"	one pshufd, , 0x9c\n"
	"	one pshuflw, , 0x1b\n"
	"	one pshufhw, , 0xb1\n"
	"	one roundps, , 1\n"
	"	i roundsd xmm0, xmm1, 3\n"
	"	i vroundss xmm0, xmm2, xmm1, 3\n"
	".irp op, pmovzxbw, pmovzxbd, pmovzxbq, pmovzxwd, pmovzxwq, pmovzxdq, pmovsxbw, pmovsxbd, pmovsxbq, pmovsxwd,"
	" pmovsxwq, pmovsxdq, cvtdq2pd, cvtps2pd\n"
	"	i \\op xmm0, xmm1\n"
	"	i v\\op xmm0, xmm1\n"
	"	i v\\op ymm0, xmm1\n"
	".endr\n"
	".irp op, cvtpd2ps, cvtpd2dq, cvttpd2dq\n"
	"	i \\op xmm0, xmm1\n"
	"	i v\\op xmm0, ymm1\n"
	".endr\n"
	"	i cvtsi2sd xmm0, rax\n"
	"	i cvtsi2ss xmm0, dword ptr [rsi]\n"
	"	i vcvtsi2sd xmm0, xmm1, eax\n"
	"	i vcvtsi2ss xmm0, xmm1, rcx\n"
	"	i cvtss2sd xmm0, xmm1\n"
	"	i cvtsd2ss xmm0, xmm1\n"
	"	i vcvtss2sd xmm0, xmm2, xmm1\n"
	"	i vcvtsd2ss xmm0, xmm2, qword ptr [rsi]\n"
	".irp op, cvtsd2si, cvttsd2si, cvtss2si, cvttss2si\n"
	"	i \\op rax, xmm1\n"
	"	i v\\op ecx, xmm1\n"
	".endr\n"
	".irp op, movmskps, movmskpd, pmovmskb\n"
	"	i \\op eax, xmm1\n"
	"	i v\\op eax, ymm1\n"
	".endr\n"
	".irp op, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad\n"
	"	i \\op xmm0, 3\n"
	"	i \\op xmm0, 70\n"
	"	i v\\op ymm0, ymm1, 7\n"
	"	i \\op xmm0, xmm1\n"
	"	i v\\op ymm0, ymm1, [rsi]\n"
	".endr\n"
	"	i pslldq xmm0, 3\n"
	"	i psrldq xmm0, 9\n"
	"	i vpslldq ymm0, ymm1, 5\n"
	"	i vpsrldq ymm0, ymm1, 17\n"
	".irp op, comisd, comiss, ucomisd, ucomiss, ptest\n"
	"	i \\op xmm0, xmm1\n"
	"	i v\\op xmm0, [rsi]\n"
	".endr\n"
	"	i vptest ymm0, ymm1\n"
	"	i movd xmm0, eax\n"
	"	i movd ecx, xmm1\n"
	"	i movq xmm0, xmm1\n"
	"	i vmovq xmm0, rcx\n"
	"	i movss xmm0, xmm1\n"
	"	i movsd xmm0, xmm1\n"
	"	i movss xmm0, [rsi]\n"
	"	i movsd xmm0, [rsi]\n"
	"	i movsd [rsi], xmm1\n"
	"	i vmovss xmm0, xmm2, xmm1\n"
	"	i vmovsd xmm0, xmm2, xmm1\n"
	"	i vmovsd xmm0, [rsi]\n"
	"	i movhps xmm0, [rsi]\n"
	"	i movlps xmm0, [rsi]\n"
	"	i movhpd [rsi], xmm1\n"
	"	i movlps [rsi + 4], xmm1\n"
	"	i vmovhps xmm0, xmm1, [rsi]\n"
	"	i movhlps xmm0, xmm1\n"
	"	i movlhps xmm0, xmm1\n"
	"	i vmovhlps xmm0, xmm2, xmm1\n"
	"	i vmovdqu [rsi], ymm1\n"
	"	i lddqu xmm0, [rsi]\n"
	"	i pinsrb xmm0, eax, 5\n"
	"	i pinsrw xmm0, [rsi], 7\n"
	"	i vpinsrd xmm0, xmm1, ecx, 2\n"
	"	i vpinsrq xmm0, xmm1, [rsi], 1\n"
	"	i pextrb eax, xmm1, 9\n"
	"	i pextrw ecx, xmm1, 3\n"
	"	i pextrd [rsi], xmm1, 1\n"
	"	i vpextrq rax, xmm1, 1\n"
	"	i extractps eax, xmm1, 2\n"
	"	i insertps xmm0, xmm1, 0x92\n"
	"	i vinsertps xmm0, xmm2, [rsi], 0x21\n"
	"	i vextractf128 xmm0, ymm1, 1\n"
	"	i vextracti128 [rsi], ymm1, 1\n"
	"	i vinsertf128 ymm0, ymm1, xmm2, 1\n"
	"	i vinserti128 ymm0, ymm1, [rsi], 0\n"
	"	i vperm2f128 ymm0, ymm1, ymm2, 0x31\n"
	"	i vperm2i128 ymm0, ymm1, ymm2, 0x28\n"
	"	i vpermq ymm0, ymm1, 0x4e\n"
	"	i vpermpd ymm0, ymm1, 0x1b\n"
	"	i vpermd ymm0, ymm1, ymm2\n"
	"	i vpermps ymm0, ymm1, [rsi]\n"
	"	i vpermilps ymm0, ymm1, 0x93\n"
	"	i vpermilpd ymm0, ymm1, 0x6\n"
	"	i vpermilps ymm0, ymm1, ymm2\n"
	"	i vpermilpd ymm0, ymm1, ymm2\n"
	"	i vbroadcastss ymm0, xmm1\n"
	"	i vbroadcastsd ymm0, [rsi]\n"
	"	i vbroadcastf128 ymm0, [rsi]\n"
	"	i vpbroadcastb ymm0, xmm1\n"
	"	i vpbroadcastw xmm0, [rsi]\n"
	"	i vpbroadcastd ymm0, xmm1\n"
	"	i vpbroadcastq ymm0, xmm1\n"
	"	i pblendvb xmm1, xmm2, xmm0\n"
	"	i blendvps xmm1, xmm2, xmm0\n"
	"	i vblendvpd ymm0, ymm1, ymm2, ymm3\n"
	"	i vpblendvb ymm0, ymm1, [rsi], ymm3\n"
	"	i vfmadd231sd xmm0, xmm1, xmm2\n"
	"	i vfmadd132ps ymm0, ymm1, [rsi]\n"
	"	i vfnmsub213ss xmm0, xmm1, xmm2\n"
	"	i vzeroupper\n"
	"insns_end:\n"
	".att_syntax\n"
	".text\n");

static const uint8_t gprs[GPRS] = { CAP_RAX, CAP_RCX, CAP_RDX, CAP_RBX };

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* ---- what the analysis says --------------------------------------------------------------------- */

struct trial {
	struct dec_insn insn;
	struct insn_model model;
	uint8_t *code;
	struct state before, after; ///< values
	struct state lacks
		[2]; ///< bits without a value: before, and what is said of them after
	bool no_flags[5]; ///< what is said: zero, sign, carry, overflow, parity
	struct bytes_walk walk;
	struct bytes_thread thread;
	struct dec_ref refs[32];
	size_t n_refs;
	uint8_t upper[32][64]; ///< values of vector registers, whole
};

static const uint64_t at = 0x10000; // where its memory is said to be

static void refer(struct trial *t, bool is_def, bool is_mem, uint8_t reg, uint64_t addr,
		  uint32_t size, const void *value)
{
	t->refs[t->n_refs++] = (struct dec_ref){ .is_def = is_def,
						 .is_mem = is_mem,
						 .has_value = true,
						 .reg = reg,
						 .addr = addr,
						 .size = size,
						 .value = value };
}

static void refer_all(struct trial *t, bool is_def, const struct state *s)
{
	const struct dec_insn *insn = &t->insn;
	uint16_t gpr = is_def ? insn->gpr_written : insn->gpr_read;
	uint64_t vec = is_def ? insn->other_written : insn->other_read;

	for (int i = 0; i < GPRS; i++)
		if (gpr >> gprs[i] & 1)
			refer(t, is_def, false, gprs[i], 0, 8, &s->gpr[i]);
	for (int i = 0; i < VECS; i++) {
		uint8_t *whole = t->upper[is_def ? i : VECS + i];

		memcpy(whole, s->vec[i], 32);
		if (vec >> i & 1)
			refer(t, is_def, false, DEC_REG_VEC + i, 0, 64, whole);
	}
	for (int i = 0; i < insn->n_mem; i++) {
		const struct dec_mem *m = &insn->mem[i];

		if (is_def ? m->is_write : m->is_read)
			refer(t, is_def, true, 0, at + m->disp, m->size,
			      s->mem + m->disp);
	}
}

/* Have the analysis say what lacks a value behind it. */
static void ask(struct trial *t)
{
	struct bytes_regs *r = &t->thread.regs;
	struct dec_step step = { .insn = &t->insn, .refs = t->refs };
	const struct state *lacks = &t->lacks[0];
	struct state *said = &t->lacks[1];
	bool no_flag = lacks->flags;

	memset(r, 0, sizeof(*r));
	t->walk.thread = &t->thread;
	for (int i = 0; i < GPRS; i++)
		fl_values_put_gpr(r, gprs[i], lacks->gpr[i]);
	for (int i = 0; i < VECS; i++) {
		memcpy(r->vec[i], lacks->vec[i], 32);
		r->vec_live |= 1u << i;
	}
	r->no_zero = r->no_sign = r->no_carry = r->no_overflow = r->no_parity = no_flag;
	ok(fl_values_write(&t->walk.values, at, lacks->mem, sizeof(lacks->mem)));
	t->n_refs = 0;
	refer_all(t, false, &t->before);
	refer_all(t, true, &t->after);
	step.n_refs = t->n_refs;
	ok(fl_values_flow(&t->walk, &step, &t->model));
	for (int i = 0; i < GPRS; i++)
		said->gpr[i] = r->gpr[gprs[i]];
	for (int i = 0; i < VECS; i++)
		memcpy(said->vec[i], r->vec[i], 32);
	fl_values_read(&t->walk.values, at, said->mem, sizeof(said->mem));
}

/* ---- what the processor does -------------------------------------------------------------------- */

/* Bits of a byte that lack a value: mostly none, or all. */
static uint8_t some_bits(unsigned kind)
{
	switch (kind) {
	case 0:
		return chance() % 4 ? 0 : 0xff;
	case 1:
		return chance() % 8 ? 0 : 1u << chance() % 8;
	default:
		return chance() & chance();
	}
}

/* The same as @p base, but for what lacks a value. */
static void vary(struct state *ret, const struct state *base, const struct state *lacks)
{
	const uint8_t *b = (const uint8_t *)base, *l = (const uint8_t *)lacks;
	static const uint64_t status = 0x8c5; // overflow, sign, zero, parity, carry

	*ret = *base;
	for (size_t i = 0; i < sizeof(*ret); i++)
		((uint8_t *)ret)[i] = (b[i] & ~l[i]) | (chance() & l[i]);
	ret->flags = lacks->flags ? 0x202 | (chance() & status) : base->flags;
}

/* What conditional jumps would see: each condition's bits of enum model_condition. */
static const struct {
	uint8_t condition;
	uint64_t any; ///< flags of which one is set
	bool is_less; ///< sign and overflow differ
} conditions[] = {
	{ MODEL_ZERO, 0x40, false }, { MODEL_SIGN, 0x80, false },
	{ MODEL_CARRIES, 1, false }, { MODEL_CARRIES | MODEL_ZERO, 0x41, false },
	{ MODEL_OVERFLOW, 0, true }, { MODEL_OVERFLOW | MODEL_ZERO, 0x40, true },
	{ MODEL_PARITY, 4, false },
};

static bool holds(int condition, uint64_t flags)
{
	return flags & conditions[condition].any ||
	       (conditions[condition].is_less && (flags >> 7 & 1) != (flags >> 11 & 1));
}

/* Shifts by a register's zero leave the flags; others leave some undefined. */
static bool has_flags(const struct insn_model *m, int condition)
{
	uint8_t c = conditions[condition].condition;

	switch (m->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		return !(c & MODEL_OVERFLOW);
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return false;
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
		return c == MODEL_CARRIES;
	default:
		return true;
	}
}

static void judge_flags(const struct trial *t, uint64_t first, uint64_t flags)
{
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
		const struct insn_model m = { .condition = conditions[i].condition };
		char text[64];

		if (!t->insn.writes_flags || !has_flags(&t->model, i) ||
		    holds(i, first) == holds(i, flags) ||
		    fl_values_is_undecided(&t->thread.regs, &m))
			continue;
		dec_insn_text(&t->insn, text, sizeof(text));
		fail_msg("%s: condition %#x differs: flags %#llx, %#llx", text,
			 m.condition, (unsigned long long)first,
			 (unsigned long long)flags);
	}
}

/* Do bits only move, so that what is said is what differs? */
static bool is_exact(const struct trial *t)
{
	switch ((enum model_family)t->model.family) {
	case MODEL_COPY:
	case MODEL_SIGN_EXTEND:
	case MODEL_AND:
	case MODEL_OR:
	case MODEL_XOR:
	case MODEL_NOT:
	case MODEL_SWAP:
	case MODEL_VEC_COPY:
	case MODEL_VEC_WIDEN:
	case MODEL_VEC_LOGIC:
	case MODEL_VEC_SHUFFLE:
	case MODEL_VEC_SIGNS:
		return true;
	case MODEL_VEC_SHIFT:
	case MODEL_SHIFT:
		return t->model.op[t->model.n - 1].kind == MODEL_IMM;
	default:
		return false;
	}
}

static void judge(const struct trial *t, const struct state *differs)
{
	const uint8_t *d = (const uint8_t *)differs,
		      *said = (const uint8_t *)&t->lacks[1];
	size_t flags = offsetof(struct state, flags);
	char text[64];

	for (size_t i = 0; i < sizeof(*differs); i++) {
		bool is_missed = d[i] & ~said[i], is_false = said[i] & ~d[i];

		if (i >= flags || (!is_missed && !(is_false && is_exact(t))))
			continue;
		dec_insn_text(&t->insn, text, sizeof(text));
		fail_msg("%s: byte %zu: %#x differ, said: %#x", text, i, d[i], said[i]);
	}
}

static void try_once(struct trial *t, unsigned kind)
{
	struct state differs = {}, s;
	uint8_t *bytes = (uint8_t *)&t->before, *lacks = (uint8_t *)&t->lacks[0];

	for (size_t i = 0; i < sizeof(t->before); i++) {
		bytes[i] = chance() % 4 ? chance() : 0;
		lacks[i] = some_bits(kind);
	}
	t->before.flags = 0x202 | (chance() & 0x8c5);
	t->lacks[0].flags = t->insn.reads_flags && chance() % 2;
	t->after = t->before;
	run(&t->after, t->code);
	ask(t);
	for (int i = 0; i < TRIES; i++) {
		const uint8_t *now = (const uint8_t *)&s;
		const uint8_t *then = (const uint8_t *)&t->after;

		vary(&s, &t->before, &t->lacks[0]);
		run(&s, t->code);
		for (size_t k = 0; k < sizeof(s); k++)
			((uint8_t *)&differs)[k] |= now[k] ^ then[k];
		judge_flags(t, t->after.flags, s.flags);
	}
	judge(t, &differs);
}

static bool is_supported(const struct dec_insn *insn)
{
	switch (insn->isa) {
	case ZYDIS_ISA_SET_FMA:
		return __builtin_cpu_supports("fma");
	case ZYDIS_ISA_SET_BMI1:
		return __builtin_cpu_supports("bmi");
	case ZYDIS_ISA_SET_BMI2:
		return __builtin_cpu_supports("bmi2");
	default:
		return true;
	}
}

static void the_processor_agrees(void **state)
{
	const char *asked = getenv("FAULTLINE_ROUNDS");
	unsigned rounds = asked ? atoi(asked) : 100, n = 0;
	struct trial *t = aligned_alloc(64, sizeof(*t));

	(void)state;
	assert_non_null(t);
	memset(t, 0, sizeof(*t));
	if (!__builtin_cpu_supports("avx2")) {
		free(t);
		skip();
	}
	t->code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(t->code, MAP_FAILED);
	for (const uint8_t *p = insns; p < insns_end; p += 1 + *p) {
		assert_true(dec_insn_decode(p + 1, *p, 0x400000, &t->insn));
		if (!is_supported(&t->insn))
			continue;
		memcpy(t->code, p + 1, *p);
		t->code[*p] = 0xc3; // ret
		fl_model_make(&t->insn, &t->model);
		if (t->model.family == MODEL_OTHER) {
			char text[64];

			dec_insn_text(&t->insn, text, sizeof(text));
			fail_msg("%s is not modelled", text);
		}
		for (unsigned i = 0; i < rounds; i++)
			try_once(t, i % 3);
		n++;
	}
	assert_true(n > 500);
	fl_values_deinit(&t->walk.values);
	munmap(t->code, 4096);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_processor_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
