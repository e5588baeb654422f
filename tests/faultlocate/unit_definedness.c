// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What becomes of bits without a value, judged by the processor: an instruction is executed with such bits set one
 * way and another. Each bit, and each condition of its flags, that comes out differently must be one without a value;
 * and where only bits move, each that has none must differ some time.
 *
 * FAULTLINE_ROUNDS: rounds of each instruction (35).
 */
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#include "faultlocate/bytes/values_int.h"
#include "tests/unit.h"

#include "decode/x86/zydis.h"

#define VECS 4
#define GPRS 4
#define MASKS 4
#define TRIES 64

/* What an instruction may read and write: zmm0 to zmm3, or ymm0 to ymm3, rax, rcx, rdx, rbx, 64 bytes at rsi, k0 to k3, mm0
 * to mm3. */
struct state {
	_Alignas(64) uint8_t vec[VECS][64];
	uint8_t mem[64];
	uint64_t gpr[GPRS], mask[MASKS], mmx[MASKS];
	uint64_t flags, unused[7];
};

void run_narrow(struct state *s, const void *code);
void run_wide(struct state *s, const void *code);

__asm__(".text\n"
	"run_narrow:	push %rbx\n"
	"	push %r12\n"
	"	mov %rdi, %r12\n"
	"	mov %rsi, %r11\n"
	"	vmovdqu 0(%r12), %ymm0\n"
	"	vmovdqu 64(%r12), %ymm1\n"
	"	vmovdqu 128(%r12), %ymm2\n"
	"	vmovdqu 192(%r12), %ymm3\n"
	"	movq 384(%r12), %mm0\n"
	"	movq 392(%r12), %mm1\n"
	"	movq 400(%r12), %mm2\n"
	"	movq 408(%r12), %mm3\n"
	"	mov 320(%r12), %rax\n"
	"	mov 328(%r12), %rcx\n"
	"	mov 336(%r12), %rdx\n"
	"	mov 344(%r12), %rbx\n"
	"	lea 256(%r12), %rsi\n"
	"	push 416(%r12)\n"
	"	popfq\n"
	"	call *%r11\n"
	"	pushfq\n"
	"	pop 416(%r12)\n"
	"	vmovdqu %ymm0, 0(%r12)\n"
	"	vmovdqu %ymm1, 64(%r12)\n"
	"	vmovdqu %ymm2, 128(%r12)\n"
	"	vmovdqu %ymm3, 192(%r12)\n"
	"	movq %mm0, 384(%r12)\n"
	"	movq %mm1, 392(%r12)\n"
	"	movq %mm2, 400(%r12)\n"
	"	movq %mm3, 408(%r12)\n"
	"	mov %rax, 320(%r12)\n"
	"	mov %rcx, 328(%r12)\n"
	"	mov %rdx, 336(%r12)\n"
	"	mov %rbx, 344(%r12)\n"
	"	emms\n"
	"	vzeroupper\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	"run_wide:	push %rbx\n"
	"	push %r12\n"
	"	mov %rdi, %r12\n"
	"	mov %rsi, %r11\n"
	"	vmovdqu64 0(%r12), %zmm0\n"
	"	vmovdqu64 64(%r12), %zmm1\n"
	"	vmovdqu64 128(%r12), %zmm2\n"
	"	vmovdqu64 192(%r12), %zmm3\n"
	"	kmovq 352(%r12), %k0\n"
	"	kmovq 360(%r12), %k1\n"
	"	kmovq 368(%r12), %k2\n"
	"	kmovq 376(%r12), %k3\n"
	"	movq 384(%r12), %mm0\n"
	"	movq 392(%r12), %mm1\n"
	"	movq 400(%r12), %mm2\n"
	"	movq 408(%r12), %mm3\n"
	"	mov 320(%r12), %rax\n"
	"	mov 328(%r12), %rcx\n"
	"	mov 336(%r12), %rdx\n"
	"	mov 344(%r12), %rbx\n"
	"	lea 256(%r12), %rsi\n"
	"	push 416(%r12)\n"
	"	popfq\n"
	"	call *%r11\n"
	"	pushfq\n"
	"	pop 416(%r12)\n"
	"	vmovdqu64 %zmm0, 0(%r12)\n"
	"	vmovdqu64 %zmm1, 64(%r12)\n"
	"	vmovdqu64 %zmm2, 128(%r12)\n"
	"	vmovdqu64 %zmm3, 192(%r12)\n"
	"	kmovq %k0, 352(%r12)\n"
	"	kmovq %k1, 360(%r12)\n"
	"	kmovq %k2, 368(%r12)\n"
	"	kmovq %k3, 376(%r12)\n"
	"	movq %mm0, 384(%r12)\n"
	"	movq %mm1, 392(%r12)\n"
	"	movq %mm2, 400(%r12)\n"
	"	movq %mm3, 408(%r12)\n"
	"	mov %rax, 320(%r12)\n"
	"	mov %rcx, 328(%r12)\n"
	"	mov %rdx, 336(%r12)\n"
	"	mov %rbx, 344(%r12)\n"
	"	emms\n"
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
	/* looking for bits */
	".irp op, blsr, blsi, blsmsk\n"
	"	i \\op rax, rcx\n"
	"	i \\op eax, [rsi]\n"
	".endr\n"
	".irp op, tzcnt, lzcnt, bsf, bsr\n"
	"	i \\op rax, rcx\n"
	"	i \\op edx, ecx\n"
	".endr\n"
	".irp op, bzhi, bextr\n"
	"	i \\op rax, rcx, rdx\n"
	"	i \\op eax, [rsi], ecx\n"
	".endr\n"
	".irp op, pext, pdep\n"
	"	i \\op rax, rcx, rdx\n"
	"	i \\op eax, ecx, [rsi]\n"
	".endr\n"
	".irp op, bt, bts, btr, btc\n"
	"	i \\op rax, 37\n"
	"	i \\op ecx, 3\n"
	"	i \\op rax, rdx\n"
	"	i \\op word ptr [rsi], 9\n"
	".endr\n"
	".irp op, rcl, rcr\n"
	"	i \\op rax, 1\n"
	"	i \\op ecx, 7\n"
	"	i \\op dx, 3\n"
	"	i \\op rax, cl\n"
	".endr\n"
	"	i cwd\n"
	"	i cdq\n"
	"	i cqo\n"
	"	i lahf\n"
	"	i sahf\n"
	"	i cmpxchg [rsi], rcx\n"
	"	i cmpxchg8b [rsi]\n"
	"	i cmpxchg16b [rsi]\n"
	"	i mulx rax, rcx, rbx\n"
	"	i mulx eax, ecx, [rsi]\n"
	"	i adcx rax, rcx\n"
	"	i adox eax, [rsi]\n"
	"	i crc32 eax, cl\n"
	"	i crc32 rax, rdx\n"
	"	i bswap ecx\n"
	"	i movbe eax, [rsi]\n"
	"	i movbe [rsi], cx\n"
	"	i movnti [rsi], rdx\n"
	"	i shld rax, rcx, 9\n"
	"	i xadd ecx, edx\n"
	/* texts */
	".irp op, pcmpistri, pcmpistrm, pcmpestri, pcmpestrm\n"
	".irp n, 0, 1, 2, 4, 8, 12, 13, 0x18, 0x1a, 0x28, 0x38, 0x40, 0x44, 0x4b, 0x4c, 0x5a, 0x61, 0x70, 0x3c\n"
	"	i \\op xmm1, xmm2, \\n\n"
	"	i v\\op xmm3, [rsi], \\n\n"
	".endr\n"
	".endr\n"
	/* MMX */
	".irp op, paddb, paddw, paddd, paddq, psubb, psubw, psubd, paddsb, psubusw, pmullw, pmulhw, pmulhuw, pavgb, pmaxsw,"
	" pminub, pcmpeqb, pcmpeqw, pcmpeqd, pcmpgtb, pmuludq, pmaddwd, psadbw, pand, pandn, por, pxor, packssdw, packuswb,"
	" packsswb, punpcklbw, punpcklwd, punpckldq, punpckhbw, punpckhwd, punpckhdq, pshufb, phaddw, phaddd, psignw, pmulhrsw\n"
	"	i \\op mm0, mm1\n"
	"	i \\op mm0, [rsi]\n"
	"	i \\op mm2, mm2\n"
	".endr\n"
	".irp op, psllw, psrld, psllq, psraw\n"
	"	i \\op mm0, 5\n"
	"	i \\op mm0, mm1\n"
	".endr\n"
	"	i pabsw mm0, mm1\n"
	"	i palignr mm0, mm1, 3\n"
	"	i palignr mm0, mm1, 11\n"
	"	i pshufw mm0, mm1, 0x9c\n"
	"	i movq mm0, mm1\n"
	"	i movq mm0, [rsi]\n"
	"	i movq [rsi], mm1\n"
	"	i movd mm0, eax\n"
	"	i movd ecx, mm1\n"
	"	i movq mm0, rcx\n"
	"	i movntq [rsi], mm1\n"
	"	i movq2dq xmm0, mm1\n"
	"	i movdq2q mm0, xmm1\n"
	"	i pmovmskb eax, mm1\n"
	"	i pextrw eax, mm1, 2\n"
	"	i pinsrw mm0, ecx, 3\n"
	"	i cvtpi2ps xmm0, mm1\n"
	"	i cvtpi2pd xmm0, mm1\n"
	"	i cvtps2pi mm0, xmm1\n"
	"	i cvttpd2pi mm0, xmm1\n"
	/* more of SSE and AVX */
	".irp op, aesenc, aesenclast, aesdec, aesdeclast\n"
	"	i \\op xmm0, xmm1\n"
	"	i v\\op xmm0, xmm2, [rsi]\n"
	".endr\n"
	"	i aesimc xmm0, xmm1\n"
	"	i aeskeygenassist xmm0, xmm1, 7\n"
	".irp op, sha1msg1, sha1msg2, sha1nexte, sha256msg1, sha256msg2\n"
	"	i \\op xmm1, xmm2\n"
	".endr\n"
	"	i sha1rnds4 xmm1, xmm2, 1\n"
	".irp n, 0, 1, 0x10, 0x11\n"
	"	i pclmulqdq xmm0, xmm1, \\n\n"
	"	i vpclmulqdq xmm0, xmm2, [rsi], \\n\n"
	".endr\n"
	"	two mpsadbw, , 5\n"
	"	i dpps xmm0, xmm1, 0x71\n"
	"	i vdpps ymm0, ymm1, [rsi], 0xb6\n"
	"	i dppd xmm0, xmm1, 0x21\n"
	"	i phminposuw xmm0, xmm1\n"
	"	i movntdqa xmm0, [rsi]\n"
	"	i vcvtph2ps ymm0, xmm1\n"
	"	i vcvtps2ph xmm0, ymm1, 0\n"
	".irp op, vtestps, vtestpd\n"
	"	i \\op xmm0, xmm1\n"
	"	i \\op ymm0, [rsi]\n"
	".endr\n"
	".irp op, vpsllvd, vpsllvq, vpsrlvd, vpsrlvq, vpsravd\n"
	"	i \\op ymm0, ymm1, ymm2\n"
	"	i \\op xmm0, xmm1, [rsi]\n"
	".endr\n"
	"	i vfmaddsub213ps ymm0, ymm1, ymm2\n"
	"	i vfmsubadd231pd ymm0, ymm1, [rsi]\n"
	"	i extrq xmm0, 12, 5\n"
	"	i extrq xmm0, xmm1\n"
	"	i insertq xmm0, xmm1, 12, 5\n"
	"	i insertq xmm0, xmm1\n"
	"	i movntsd [rsi], xmm1\n"
	"	i movntss [rsi], xmm1\n"
	/* AVX-512 */
	".irp op, kand, kandn, kor, kxor, kxnor, kadd\n"
	"	i \\op\\()b k1, k2, k3\n"
	"	i \\op\\()w k1, k2, k2\n"
	"	i \\op\\()d k1, k2, k3\n"
	"	i \\op\\()q k1, k2, k3\n"
	".endr\n"
	".irp op, kortest, ktest\n"
	"	i \\op\\()b k1, k2\n"
	"	i \\op\\()w k1, k1\n"
	"	i \\op\\()q k1, k2\n"
	".endr\n"
	"	i knotw k1, k2\n"
	"	i knotd k1, k2\n"
	"	i kshiftlb k1, k2, 3\n"
	"	i kshiftrd k1, k2, 7\n"
	"	i kshiftrq k1, k2, 37\n"
	"	i kunpckbw k1, k2, k3\n"
	"	i kunpckwd k1, k2, k3\n"
	"	i kunpckdq k1, k2, k3\n"
	"	i kmovb k1, k2\n"
	"	i kmovw k1, eax\n"
	"	i kmovd eax, k2\n"
	"	i kmovw ecx, k2\n"
	"	i kmovq k1, [rsi]\n"
	"	i kmovb [rsi], k2\n"
	".irp z, zmm, ymm\n"
	".irp m, , {k1}, {k1}{z}\n"
	".irp op, vpaddb, vpaddq, vpandd, vpandnq, vpord, vpxorq, vpminub, vpmullq, vpunpcklbw, vpackuswb, vpmaxsq, vpshufb,"
	" vpmaddwd, vpsllvw, vprolvd, vprorvq, vpermb, vpermw, vpermd, vpermq, vpermi2d, vpermi2b, vpermt2q, vpermt2w,"
	" vpmadd52luq, vpdpbusd, vpshldvd, vpmultishiftqb, vgf2p8mulb, vfmadd231pd, vaddps, vblendmps, vpblendmb, vpblendmq\n"
	"	i \\op \\z\\()0\\m, \\z\\()1, \\z\\()2\n"
	".endr\n"
	".irp op, vmovdqu8, vmovdqu16, vmovdqu32, vmovdqa64, vmovups, vmovapd, vpabsq, vpopcntb, vpopcntq, vplzcntd, vpconflictd,"
	" vpcompressb, vpcompressd, vcompresspd, vpexpandw, vpexpandq, vexpandps, vsqrtps, vrcp14pd, vcvtps2udq,"
	" vcvtudq2ps, vcvtqq2pd\n"
	"	i \\op \\z\\()0\\m, \\z\\()1\n"
	".endr\n"
	".irp n, 0x96, 0xca, 0xe8, 0xff, 0x11\n"
	"	i vpternlogd \\z\\()0\\m, \\z\\()1, \\z\\()2, \\n\n"
	"	i vpternlogq \\z\\()0\\m, \\z\\()0, \\z\\()2, \\n\n"
	".endr\n"
	"	i valignd \\z\\()0\\m, \\z\\()1, \\z\\()2, 3\n"
	"	i valignq \\z\\()0\\m, \\z\\()1, \\z\\()2, 1\n"
	"	i vshufi32x4 \\z\\()0\\m, \\z\\()1, \\z\\()2, 0x6d\n"
	"	i vprold \\z\\()0\\m, \\z\\()1, 5\n"
	"	i vprorq \\z\\()0\\m, \\z\\()1, 37\n"
	"	i vpsrlw \\z\\()0\\m, \\z\\()1, 3\n"
	"	i vpsraq \\z\\()0\\m, \\z\\()1, 3\n"
	"	i vpshldw \\z\\()0\\m, \\z\\()1, \\z\\()2, 3\n"
	"	i vrndscaleps \\z\\()0\\m, \\z\\()1, 1\n"
	"	i vpermpd \\z\\()0\\m, \\z\\()1, 0x1b\n"
	"	i vpbroadcastd \\z\\()0\\m, ecx\n"
	"	i vpaddd \\z\\()0\\m, \\z\\()1, \\z\\()2\n"
	"	i vinserti32x4 \\z\\()0\\m, \\z\\()1, xmm2, 1\n"
	".endr\n"
	".irp m, , {k1}\n"
	".irp op, vpcmpeqb, vpcmpeqq, vpcmpgtw, vptestmb, vptestnmd\n"
	"	i \\op k2\\m, \\z\\()1, \\z\\()2\n"
	".endr\n"
	"	i vpcmpb k2\\m, \\z\\()1, \\z\\()2, 4\n"
	"	i vpcmpud k2\\m, \\z\\()1, \\z\\()2, 1\n"
	"	i vpcmpuw k2\\m, \\z\\()1, \\z\\()2, 0\n"
	"	i vcmpps k2\\m, \\z\\()1, \\z\\()2, 1\n"
	"	i vcmpsd k2\\m, xmm1, xmm2, 1\n"
	"	i vfpclasspd k2\\m, \\z\\()1, 0x99\n"
	".endr\n"
	"	i vpmovm2b \\z\\()0, k1\n"
	"	i vpmovm2q \\z\\()0, k1\n"
	"	i vpmovb2m k2, \\z\\()1\n"
	"	i vpmovd2m k2, \\z\\()1\n"
	".endr\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i vpmovwb ymm0\\m, zmm1\n"
	"	i vpmovzxbw zmm0\\m, ymm1\n"
	"	i vpmovqd ymm0\\m, zmm1\n"
	"	i vpmovsdb xmm0\\m, zmm1\n"
	"	i vpmovusqw xmm0\\m, ymm1\n"
	"	i vextracti64x4 ymm0\\m, zmm1, 1\n"
	"	i vaddsd xmm0\\m, xmm1, xmm2\n"
	"	i vmovss xmm0\\m, xmm1, xmm2\n"
	"	i vmovsd xmm0\\m, [rsi]\n"
	"	i vmovdqu8 zmm0\\m, [rsi]\n"
	"	i vmovdqu32 ymm0\\m, [rsi + 8]\n"
	"	i vpaddd zmm0\\m, zmm1, dword ptr [rsi + 4]{1to16}\n"
	"	i vpandq zmm0\\m, zmm1, [rsi]\n"
	".endr\n"
	"	i vpcmpeqb k2{k1}, zmm1, [rsi]\n"
	"	i vpcmpneqd k2, zmm1, dword ptr [rsi]{1to16}\n"
	"	i vptestnmb k2{k1}, ymm1, [rsi]\n"
	"	i vmovdqu8 [rsi]{k1}, zmm1\n"
	"	i vmovdqu64 [rsi]{k1}, ymm1\n"
	"	i vmovdqu8 [rsi], zmm1\n"
	"	i vcvttsd2usi rax, xmm1\n"
	"	i vcvtusi2sd xmm0, xmm1, ecx\n"
	"	i vzeroupper\n"
	/* .. of 16 bits */
	".irp op, add, sub, mul, div, min, max, scalef, fmadd132, fmadd213, fmadd231, fmsub132, fnmadd213, fnmsub231, fmaddc,"
	" fcmaddc, fmulc, fcmulc\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op\\()ph zmm0\\m, zmm1, zmm2\n"
	"	i v\\op\\()sh xmm0\\m, xmm1, xmm2\n"
	".endr\n"
	".endr\n"
	".irp op, sqrtph, rcpph, rsqrtph, getexpph, cvtph2w, cvtph2uw, cvttph2w, cvttph2uw, cvtw2ph, cvtuw2ph\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op zmm0\\m, zmm1\n"
	".endr\n"
	".endr\n"
	".irp op, cvtph2dq, cvtph2udq, cvttph2dq, cvttph2udq, cvtph2psx\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op zmm0\\m, ymm1\n"
	".endr\n"
	".endr\n"
	".irp op, cvtph2qq, cvtph2uqq, cvttph2qq, cvttph2uqq, cvtph2pd\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op zmm0\\m, xmm1\n"
	".endr\n"
	".endr\n"
	".irp op, cvtdq2ph, cvtudq2ph, cvtps2phx\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op ymm0\\m, zmm1\n"
	".endr\n"
	".endr\n"
	".irp op, cvtqq2ph, cvtuqq2ph, cvtpd2ph\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op xmm0\\m, zmm1\n"
	".endr\n"
	".endr\n"
	".irp op, cvtsd2sh, cvtsh2sd, cvtsh2ss, cvtss2sh, sqrtsh, rcpsh, rsqrtsh, getexpsh, movsh\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op xmm0\\m, xmm1, xmm2\n"
	".endr\n"
	".endr\n"
	".irp op, getmantph, reduceph, rndscaleph\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op zmm0\\m, zmm1, 1\n"
	".endr\n"
	".endr\n"
	".irp op, getmantsh, reducesh, rndscalesh\n"
	".irp m, , {k1}, {k1}{z}\n"
	"	i v\\op xmm0\\m, xmm1, xmm2, 1\n"
	".endr\n"
	".endr\n"
	"	i vcmpph k1, zmm1, zmm2, 1\n"
	"	i vcmpsh k1, xmm1, xmm2, 1\n"
	"	i vfpclassph k1, zmm1, 3\n"
	"	i vfpclasssh k1, xmm1, 3\n"
	"	i vcomish xmm0, xmm1\n"
	"	i vucomish xmm0, xmm1\n"
	"	i vcvtsi2sh xmm0, xmm1, rcx\n"
	"	i vcvtusi2sh xmm0, xmm1, ecx\n"
	"	i vcvtsh2si rax, xmm1\n"
	"	i vcvtsh2usi eax, xmm1\n"
	"	i vcvttsh2si eax, xmm1\n"
	"	i vcvttsh2usi rax, xmm1\n"
	"	i vmovw xmm0, ecx\n"
	"	i vmovw [rsi], xmm1\n"
	"	i vmovsh xmm0{k1}, [rsi]\n"
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
	struct dec_ref refs[160];
	size_t n_refs;
	uint8_t x87[2][160]; ///< .. of MMX ones, as they are in an image
	void (*run)(struct state *s, const void *code);
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

/* .. of lanes those that the mask says. */
static void refer_memory(struct trial *t, bool is_def, const struct dec_mem *m,
			 const struct state *s)
{
	unsigned lane = t->insn.lane_bytes ?: m->size;
	uint64_t on = t->insn.lane_bytes ? t->before.mask[t->insn.lane_mask] : 1;

	for (unsigned i = 0; i < m->size / lane; i++)
		if (on >> i & 1)
			refer(t, is_def, true, 0, at + m->disp + i * lane, lane,
			      s->mem + m->disp + i * lane);
}

static void refer_all(struct trial *t, bool is_def, const struct state *s)
{
	const struct dec_insn *insn = &t->insn;
	uint16_t gpr = is_def ? insn->gpr_written : insn->gpr_read;
	uint64_t vec = is_def ? insn->other_written : insn->other_read;

	for (int i = 0; i < GPRS; i++)
		if (gpr >> gprs[i] & 1)
			refer(t, is_def, false, gprs[i], 0, 8, &s->gpr[i]);
	for (int i = 0; i < VECS; i++)
		if (vec >> i & 1)
			refer(t, is_def, false, DEC_REG_VEC + i, 0, 64, s->vec[i]);
	for (int i = 0; i < MASKS; i++)
		if (vec >> (DEC_REG_K - DEC_GPRS + i) & 1)
			refer(t, is_def, false, DEC_REG_K + i, 0, 8, &s->mask[i]);
	for (int i = 0; i < MASKS; i++)
		memcpy(t->x87[is_def] + 32 + 16 * i, &s->mmx[i], 8);
	if (vec >> (DEC_REG_X87 - DEC_GPRS) & 1)
		refer(t, is_def, false, DEC_REG_X87, 0, 160, t->x87[is_def]);
	for (int i = 0; i < insn->n_mem; i++) {
		const struct dec_mem *m = &insn->mem[i];

		if (is_def ? m->is_write : m->is_read)
			refer_memory(t, is_def, m, s);
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
		memcpy(r->vec[i], lacks->vec[i], 64);
		r->vec_live |= 1u << i;
	}
	for (int i = 0; i < MASKS; i++) {
		fl_values_put_mask(r, i, lacks->mask[i]);
		r->mmx[i] = lacks->mmx[i];
	}
	fl_values_put_x87(r);
	t->thread.gpr[CAP_RSI] = at;
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
		memcpy(said->vec[i], r->vec[i], 64);
	for (int i = 0; i < MASKS; i++) {
		said->mask[i] = r->mask[i];
		said->mmx[i] = r->mmx[i];
	}
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
	case ZYDIS_MNEMONIC_ADCX:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
		return c == MODEL_CARRIES;
	case ZYDIS_MNEMONIC_ADOX:
		return false;
	case ZYDIS_MNEMONIC_SAHF:
		return !(c & MODEL_OVERFLOW);
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_BEXTR:
		return c == MODEL_ZERO;
	case ZYDIS_MNEMONIC_TZCNT:
	case ZYDIS_MNEMONIC_LZCNT:
		return !(c & ~(MODEL_CARRIES | MODEL_ZERO));
	case ZYDIS_MNEMONIC_BLSI:
	case ZYDIS_MNEMONIC_BLSMSK:
	case ZYDIS_MNEMONIC_BLSR:
	case ZYDIS_MNEMONIC_BZHI:
		return !(c & MODEL_PARITY);
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
	case ZYDIS_MNEMONIC_PCMPISTRI:
	case ZYDIS_MNEMONIC_PCMPISTRM:
	case ZYDIS_MNEMONIC_PCMPESTRI:
	case ZYDIS_MNEMONIC_PCMPESTRM:
	case ZYDIS_MNEMONIC_VPCMPISTRI:
	case ZYDIS_MNEMONIC_VPCMPISTRM:
	case ZYDIS_MNEMONIC_VPCMPESTRI:
	case ZYDIS_MNEMONIC_VPCMPESTRM:
		return !(c & MODEL_OVERFLOW);
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
	if (t->model.mask && (t->lacks[0].mask[t->model.mask] || t->model.is_to_mask))
		return false;
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
	case MODEL_BYTE_SWAP:
	case MODEL_LANES_TERNARY:
	case MODEL_LANES_SPREAD:
	case MODEL_LANES_COMPRESS:
	case MODEL_LANES_EXPAND:
		return true;
	case MODEL_VEC_SHIFT:
	case MODEL_SHIFT:
		return t->model.op[t->model.n - 1].kind == MODEL_IMM;
	default:
		return false;
	}
}

/* What is stored under a mask without a value is where it is referred to. */
static bool is_store_unknown(const struct trial *t)
{
	return t->model.mask && t->model.op[0].kind == MODEL_MEM &&
	       t->lacks[0].mask[t->model.mask];
}

static void judge(const struct trial *t, const struct state *differs)
{
	const uint8_t *d = (const uint8_t *)differs,
		      *said = (const uint8_t *)&t->lacks[1];
	size_t flags = offsetof(struct state, flags);
	char text[64];

	for (size_t i = 0; i < sizeof(*differs); i++) {
		bool is_missed = d[i] & ~said[i], is_false = said[i] & ~d[i];

		if (i >= flags || is_store_unknown(t) ||
		    (!is_missed && !(is_false && is_exact(t))))
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
	t->run(&t->after, t->code);
	ask(t);
	for (int i = 0; i < TRIES; i++) {
		const uint8_t *now = (const uint8_t *)&s;
		const uint8_t *then = (const uint8_t *)&t->after;

		vary(&s, &t->before, &t->lacks[0]);
		t->run(&s, t->code);
		for (size_t k = 0; k < sizeof(s); k++)
			((uint8_t *)&differs)[k] |= now[k] ^ then[k];
		judge_flags(t, t->after.flags, s.flags);
	}
	judge(t, &differs);
}

static bool is_supported(const struct dec_insn *insn, bool is_wide)
{
	uint32_t a, b, c, d, b7, c7, d7, c8;

	__cpuid(0x80000001, a, b, c8, d);
	__cpuid(1, a, b, c, d);
	__cpuid_count(7, 0, a, b7, c7, d7);
	switch (insn->isa) {
	case ZYDIS_ISA_SET_FMA:
		return c & bit_FMA;
	case ZYDIS_ISA_SET_BMI1:
		return b7 & bit_BMI;
	case ZYDIS_ISA_SET_BMI2:
		return b7 & bit_BMI2;
	case ZYDIS_ISA_SET_ADOX_ADCX:
		return b7 & bit_ADX;
	case ZYDIS_ISA_SET_AES:
	case ZYDIS_ISA_SET_AVXAES:
		return c & bit_AES;
	case ZYDIS_ISA_SET_PCLMULQDQ:
		return c & bit_PCLMUL;
	case ZYDIS_ISA_SET_SHA:
		return b7 & bit_SHA;
	case ZYDIS_ISA_SET_F16C:
		return c & bit_F16C;
	case ZYDIS_ISA_SET_MOVBE:
		return c & bit_MOVBE;
	case ZYDIS_ISA_SET_SSE4A:
		return c8 & bit_SSE4a;
	case ZYDIS_ISA_SET_AVX512_FP16_128 ... ZYDIS_ISA_SET_AVX512_FP16_SCALAR:
		return is_wide && d7 >> 23 & 1;
	default:
		return is_wide || (insn->bytes[0] != 0x62 && *dec_insn_name(insn) != 'k');
	}
}

/* Has the processor all of AVX-512 that is asked about here? */
static bool has_wide(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512cd") &&
	       __builtin_cpu_supports("avx512ifma") &&
	       __builtin_cpu_supports("avx512vbmi2") &&
	       __builtin_cpu_supports("avx512vnni") &&
	       __builtin_cpu_supports("avx512bitalg") &&
	       __builtin_cpu_supports("avx512vpopcntdq") &&
	       __builtin_cpu_supports("gfni");
}

static void the_processor_agrees(void **state)
{
	const char *asked = getenv("FAULTLINE_ROUNDS");
	unsigned rounds = asked ? atoi(asked) : 35, n = 0;
	struct trial *t = aligned_alloc(64, sizeof(*t));

	(void)state;
	assert_non_null(t);
	memset(t, 0, sizeof(*t));
	if (!__builtin_cpu_supports("avx2")) {
		free(t);
		skip();
	}
	t->run = has_wide() ? run_wide : run_narrow;
	t->code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(t->code, MAP_FAILED);
	for (const uint8_t *p = insns; p < insns_end; p += 1 + *p) {
		assert_true(dec_insn_decode(p + 1, *p, 0x400000, &t->insn));
		fl_model_make(&t->insn, &t->model);
		if (t->model.family == MODEL_OTHER) {
			char text[64];

			dec_insn_text(&t->insn, text, sizeof(text));
			fail_msg("%s is not modelled", text);
		}
		if (!is_supported(&t->insn, t->run == run_wide))
			continue;
		memcpy(t->code, p + 1, *p);
		t->code[*p] = 0xc3; // ret
		for (unsigned i = 0; i < rounds; i++)
			try_once(t, i % 3);
		n++;
	}
	assert_true(n > 700);
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
