// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Instructions, each with an operand that was never given a value, whose result decides: a branch, or an address ("wrong"). And
// such with operands of which a part was not, that has no part in the result ("right"). What the processor has not is told, line
// by line. A line, as one more argument: this alone.
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum feature {
	F_ANY, F_SSSE3, F_SSE41, F_SSE42, F_AES, F_CLMUL, F_MOVBE, F_POPCNT, F_AVX, F_F16C, F_FMA, F_AVX2, F_BMI1, F_BMI2, F_ADX,
	F_SHA, F_LZCNT, F_SSE4A, F_AVX512, F_VBMI,
};

static int has(enum feature f)
{
	unsigned a, b, c, d, b7 = 0, c7 = 0, c8 = 0;

	if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d)) {}
	if (__get_cpuid(0x80000001, &a, &b, &c8, &d)) {}
	__cpuid(1, a, b, c, d);
	switch (f) {
	case F_SSSE3: return c >> 9 & 1;
	case F_SSE41: return c >> 19 & 1;
	case F_SSE42: return c >> 20 & 1;
	case F_AES: return c >> 25 & 1;
	case F_CLMUL: return c >> 1 & 1;
	case F_MOVBE: return c >> 22 & 1;
	case F_POPCNT: return c >> 23 & 1;
	case F_AVX: return c >> 28 & 1;
	case F_F16C: return c >> 29 & 1;
	case F_FMA: return c >> 12 & 1;
	case F_AVX2: return b7 >> 5 & 1;
	case F_BMI1: return b7 >> 3 & 1;
	case F_BMI2: return b7 >> 8 & 1;
	case F_ADX: return b7 >> 19 & 1;
	case F_SHA: return b7 >> 29 & 1;
	case F_LZCNT: return c8 >> 5 & 1;
	case F_SSE4A: return c8 >> 6 & 1;
	case F_AVX512: // f, dq, cd, bw, vl
		return (b7 & 0xd0030000) == 0xd0030000;
	case F_VBMI: // vbmi, vbmi2, bitalg, ifma
		return (b7 & 0xd0230000) == 0xd0230000 && (c7 & 0x1042) == 0x1042;
	default: return 1;
	}
}

static int only;
static void *volatile sink;

__attribute__((noinline)) static unsigned char *same(void *p)
{
	sink = p;
	return sink;
}

// rsi: nothing has a value; rdi: all has; r8: a text of three, and its end; r9: the first 8 bytes have
#define DO(feature, text) \
	if (only && only != __LINE__) { \
	} else if (!has(feature)) \
		printf("%d\n", __LINE__); \
	else \
		__asm__ volatile(".intel_syntax noprefix\n\tlea r8, [rdi + 64]\n\tlea r9, [rdi + 128]\n\t" text "\n\t.att_syntax" \
				 : "+S"(none), "+D"(all) : \
				 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory")
// By all of its bits.
#define DECIDE \
	"\n\tmov rcx, rax\n\tshr rcx, 32\n\txor ecx, eax\n\tmov eax, ecx\n\tshr eax, 16\n\txor eax, ecx\n\txor al, ah\n\tjp 1f\n\tnop\n1:"
#define JUMP(cc) "\n\tj" cc " 1f\n\tnop\n1:"
#define GPR(feature, text) DO(feature, "xor eax, eax\n\txor edx, edx\n\t" text DECIDE)
#define FLAG(feature, cc, text) DO(feature, "xor eax, eax\n\t" text JUMP(cc))
#define XMM(feature, text) DO(feature, "movdqu xmm1, [rsi]\n\tmovdqu xmm2, [rdi]\n\tmovdqa xmm0, xmm2\n\t" text "\n\tmovq rax, xmm0" DECIDE)
#define MMX(text) DO(F_ANY, "movq mm1, [rsi]\n\tmovq mm2, [rdi]\n\tmovq mm0, mm2\n\t" text "\n\tmovq rax, mm0\n\temms" DECIDE)
#define X87(text) DO(F_ANY, text)
#define MASKMOV(text) "\n\tmov rdx, rdi\n\tlea rdi, [r9 + 16]\n\t" text "\n\tmov rdi, rdx"
#define ZMM(feature, text) DO(feature, "vmovdqu64 zmm1, [rsi]\n\tvmovdqu64 zmm2, [rdi]\n\tvmovdqa64 zmm0, zmm2\n\tkxorq k1, k1, k1\n\t" \
	"mov eax, 0x55\n\tkmovd k2, eax\n\tkmovq k3, [rsi]\n\t" text "\n\tvmovq rax, xmm0\n\tvzeroupper" DECIDE)
#define MASK(text) ZMM(F_AVX512, text "\n\tkmovq rcx, k1\n\tvmovq xmm0, rcx")

static void general_wrong(unsigned char *none, unsigned char *all)
{
	GPR(F_ANY, "mov rax, [rsi]"); // expect
	GPR(F_BMI1, "blsr rax, [rsi]"); // expect
	GPR(F_BMI1, "blsi rax, [rsi]"); // expect
	GPR(F_BMI1, "blsmsk rax, [rsi]"); // expect
	FLAG(F_BMI1, "c", "blsr rax, [rsi]"); // expect
	FLAG(F_BMI1, "z", "blsi rax, [rsi]"); // expect
	GPR(F_BMI1, "mov rcx, [rdi]\n\tandn rax, rcx, [rsi]"); // expect
	GPR(F_BMI1, "mov ecx, 0x804\n\tbextr rax, [rsi], rcx"); // expect
	GPR(F_BMI1, "mov rcx, [rsi]\n\tbextr rax, [rdi], rcx"); // expect
	GPR(F_BMI2, "mov rcx, [rsi]\n\tpext rax, rcx, [rdi]"); // expect
	GPR(F_BMI2, "mov rcx, [rdi]\n\tpext rax, rcx, [rsi]"); // expect
	GPR(F_BMI2, "mov rcx, [rsi]\n\tpdep rax, rcx, [rdi]"); // expect
	GPR(F_BMI2, "mov rcx, [rdi]\n\tpdep rax, rcx, [rsi]"); // expect
	GPR(F_BMI2, "mov rdx, [rdi]\n\tmulx rax, rcx, [rsi]"); // expect
	GPR(F_BMI2, "mov rdx, [rsi]\n\tmulx rcx, rax, [rdi]"); // expect
	GPR(F_BMI2, "rorx rax, [rsi], 3"); // expect
	GPR(F_BMI2, "mov ecx, 3\n\tshlx rax, [rsi], rcx"); // expect
	GPR(F_BMI2, "mov rcx, [rsi]\n\tshrx rax, [rdi], rcx"); // expect
	GPR(F_BMI2, "mov ecx, 3\n\tsarx rax, [rsi], rcx"); // expect
	GPR(F_BMI2, "mov ecx, 9\n\tbzhi rax, [rsi], rcx"); // expect
	GPR(F_BMI2, "mov rcx, [rsi]\n\tbzhi rax, [rdi], rcx"); // expect
	GPR(F_BMI1, "tzcnt rax, [rsi]"); // expect
	GPR(F_LZCNT, "lzcnt rax, [rsi]"); // expect
	GPR(F_POPCNT, "popcnt rax, [rsi]"); // expect
	GPR(F_ANY, "bsf rax, [rsi]"); // expect
	GPR(F_SSE42, "crc32 rax, qword ptr [rsi]"); // expect
	GPR(F_SSE42, "mov rax, [rsi]\n\tcrc32 rax, qword ptr [rdi]"); // expect
	GPR(F_ADX, "adcx rax, [rsi]"); // expect
	GPR(F_ADX, "adox rax, [rsi]"); // expect
	FLAG(F_ADX, "c", "mov rax, -1\n\tadcx rax, [rsi]"); // expect
	GPR(F_MOVBE, "movbe rax, [rsi]"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tbswap rax"); // expect
	FLAG(F_ANY, "c", "mov rax, [rsi]\n\tbt rax, 17"); // expect
	FLAG(F_ANY, "c", "mov rcx, [rsi]\n\tmov rax, [rdi]\n\tbt rax, rcx"); // expect
	FLAG(F_ANY, "c", "bt dword ptr [rsi], 17"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tbts rax, 17"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tbtr rax, 17"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tbtc rax, 17\n\tand eax, 0x20000"); // expect
	FLAG(F_ANY, "o", "mov rax, [rsi]\n\tadd rax, [rdi]"); // expect
	GPR(F_ANY, "seto al\n\tmov ecx, [rsi]\n\tadd ecx, ecx\n\tseto al"); // expect
	GPR(F_ANY, "mov rdx, rsi\n\tlodsq\n\tmov rsi, rdx"); // expect
	FLAG(F_ANY, "z", "mov rdx, rdi\n\tmov rdi, rsi\n\tscasb\n\tmov rdi, rdx"); // expect
	DO(F_ANY, "mov rdx, rdi\n\tmov rdi, rsi\n\tmov ecx, 1\n\txor eax, eax\n\trepne scasb\n\tmov rdi, rdx"); // expect
	FLAG(F_ANY, "z", "mov rdx, rdi\n\tmov rcx, rsi\n\tcmpsb\n\tmov rdi, rdx\n\tmov rsi, rcx"); // expect
	DO(F_ANY, "mov rdx, rdi\n\tmov rbx, rsi\n\tmov ecx, 1\n\trepe cmpsb\n\tmov rdi, rdx\n\tmov rsi, rbx"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tmul qword ptr [rdi]\n\tmov rax, rdx"); // expect
	FLAG(F_ANY, "c", "mov rax, [rsi]\n\tstc\n\trcl rax, 3"); // expect
	GPR(F_ANY, "mov eax, [rsi]\n\tadd eax, eax\n\tmov eax, 0\n\trcr rax, 2"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tcqo\n\tmov rax, rdx"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tadd rax, [rdi]\n\tlahf\n\tmovzx eax, ah"); // expect
	FLAG(F_ANY, "z", "mov rax, [rsi]\n\tsahf"); // expect
	GPR(F_ANY, "mov rcx, [rsi]\n\ttest rcx, rcx\n\tpushfq\n\tpop rax\n\tand eax, 0x40"); // expect
	GPR(F_ANY, "mov ecx, [rsi]\n\tadd ecx, [rsi + 4]\n\tpushfq\n\tpop rax\n\tand eax, 0x800"); // expect
	FLAG(F_ANY, "c", "mov ecx, [rsi]\n\tadd ecx, [rsi + 4]\n\tpushfq\n\txor ecx, ecx\n\tpopfq"); // expect
	FLAG(F_ANY, "l", "mov rcx, [rsi]\n\ttest rcx, rcx\n\tpushfq\n\txor ecx, ecx\n\tpopfq"); // expect
	FLAG(F_ANY, "z", "mov rax, [rsi]\n\tmov edx, [rdi + 36]\n\tcmpxchg8b [rdi + 32]"); // expect
	DO(F_ANY, "mov rcx, [rsi]\n\tjrcxz 1f\n\tnop\n1:"); // expect
	DO(F_ANY, "mov rcx, [rsi]\n\tand ecx, 1\n\tinc ecx\n1:\tloop 1b"); // expect
	GPR(F_ANY, "movnti [r9 + 8], rsi\n\tmov rax, [rsi]\n\tmovnti [r9 + 16], rax\n\tmov rax, [r9 + 16]"); // expect
	GPR(F_ANY, "mov rax, [rsi]\n\tand eax, 7\n\tmov rax, [rdi + rax * 8]"); // expect
}

static void general_right(unsigned char *none, unsigned char *all)
{
	GPR(F_ANY, "mov rax, [rsi]\n\txor rax, rax\n\tsub rcx, rcx\n\tsbb rcx, rcx\n\tadd rax, rcx");
	GPR(F_BMI1, "mov rcx, [rsi]\n\tshl rcx, 8\n\tor rcx, 6\n\tblsr rax, rcx\n\tmovzx eax, al");
	FLAG(F_BMI1, "c", "mov rcx, [rsi]\n\tshl rcx, 8\n\tor rcx, 6\n\tblsr rax, rcx");
	GPR(F_BMI1, "mov rcx, [rsi]\n\tshl rcx, 8\n\tor rcx, 6\n\tblsi rax, rcx");
	GPR(F_BMI1, "mov rcx, [rsi]\n\tshl rcx, 8\n\tor rcx, 6\n\tblsmsk rax, rcx");
	GPR(F_BMI1, "mov rcx, 0xff\n\tandn rax, rcx, [rsi]\n\tmovzx eax, al");
	GPR(F_BMI1, "mov ecx, 0x804\n\tmov rdx, [rsi]\n\tshl rdx, 12\n\tor rdx, 0xf0\n\tbextr rax, rdx, rcx");
	GPR(F_BMI2, "mov rcx, [rsi]\n\tshl rcx, 12\n\tor rcx, 0xf0\n\tmov edx, 0xff\n\tpext rax, rcx, rdx");
	GPR(F_BMI2, "mov rcx, [rsi]\n\tshl rcx, 4\n\tor rcx, 5\n\tmov edx, 0x1111\n\tpdep rax, rcx, rdx");
	GPR(F_BMI2, "mov rcx, [rsi]\n\tshl rcx, 12\n\tmov edx, 12\n\tor rcx, 0xf0\n\tbzhi rax, rcx, rdx");
	GPR(F_BMI1, "mov rcx, [rsi]\n\tshl rcx, 12\n\tor rcx, 0x40\n\ttzcnt rax, rcx");
	GPR(F_BMI2, "mov eax, [rsi]\n\trorx rax, rax, 40\n\tmovzx eax, al");
	GPR(F_MOVBE, "movbe rax, [r9 + 4]\n\tshr rax, 32");
	GPR(F_ANY, "mov rax, [r9 + 4]\n\tbswap rax\n\tshr rax, 32");
	FLAG(F_ANY, "c", "mov eax, [rsi]\n\tbt rax, 40");
	GPR(F_ANY, "mov rax, [rsi]\n\tclc\n\trcr rax, 1\n\tshr rax, 63");
	GPR(F_ANY, "mov ecx, [rsi]\n\tmov eax, 1\n\tbtr ecx, 31\n\tmov eax, ecx\n\tcdq\n\tmov eax, edx");
	DO(F_ANY, "mov rcx, [rsi]\n\tor ecx, 1\n\tjrcxz 1f\n\tnop\n1:");
	GPR(F_ANY, "mov rcx, [rsi]\n\tor ecx, 1\n\ttest rcx, rcx\n\tpushfq\n\tpop rax\n\tand eax, 0x841");
	FLAG(F_ANY, "z", "mov rcx, [rsi]\n\tor ecx, 1\n\ttest rcx, rcx\n\tpushfq\n\txor ecx, ecx\n\tpopfq");
	FLAG(F_ANY, "c", "mov rax, [r9 + 4]\n\tbt rax, 17");
	GPR(F_ANY, "mov rax, [r9 + 4]\n\tbts rax, 40\n\tshr rax, 40\n\tand eax, 1");
	FLAG(F_ANY, "z", "mov rdx, rdi\n\tmov rbx, rsi\n\tmov rdi, r8\n\tmov ecx, 64\n\txor eax, eax\n\trepne scasb\n\tmov rdi, rdx");
	FLAG(F_ANY, "z", "mov rdx, rdi\n\tmov rbx, rsi\n\tmov rsi, r8\n\tmov rdi, r9\n\tmov ecx, 64\n\trepe cmpsb\n\tmov rdi, rdx\n\tmov rsi, rbx");
}

static void vectors_wrong(unsigned char *none, unsigned char *all)
{
	XMM(F_ANY, "paddd xmm0, xmm1"); // expect
	FLAG(F_SSE41, "z", "movdqu xmm0, [rsi]\n\tptest xmm0, xmm0"); // expect
	FLAG(F_SSE41, "c", "movdqu xmm0, [rsi]\n\tmovdqu xmm1, [rdi]\n\tptest xmm1, xmm0"); // expect
	FLAG(F_AVX, "z", "vmovdqu ymm0, [rsi]\n\tvtestps ymm0, ymm0\n\tvzeroupper"); // expect
	FLAG(F_AVX, "c", "vmovdqu xmm0, [rsi]\n\tvmovdqu xmm1, [rdi]\n\tvtestpd xmm1, xmm0"); // expect
	FLAG(F_ANY, "c", "movss xmm0, [rsi]\n\tcomiss xmm0, [rdi]"); // expect
	FLAG(F_ANY, "p", "movss xmm0, [rdi]\n\tucomiss xmm0, [rsi]"); // expect
	FLAG(F_ANY, "a", "movsd xmm0, [rsi]\n\tcomisd xmm0, [rdi]"); // expect
	FLAG(F_ANY, "z", "movsd xmm0, [rsi]\n\tucomisd xmm0, [rdi]"); // expect
	XMM(F_ANY, "pmovmskb ecx, xmm1\n\tmovd xmm0, ecx"); // expect
	XMM(F_ANY, "movmskps ecx, xmm1\n\tmovd xmm0, ecx"); // expect
	XMM(F_ANY, "movmskpd ecx, xmm1\n\tmovd xmm0, ecx"); // expect
	XMM(F_ANY, "cvtdq2ps xmm0, xmm1"); // expect
	XMM(F_ANY, "cvtdq2pd xmm0, xmm1"); // expect
	XMM(F_ANY, "cvtps2dq xmm0, xmm1"); // expect
	XMM(F_ANY, "cvttpd2dq xmm0, xmm1"); // expect
	XMM(F_ANY, "cvtps2pd xmm0, xmm1"); // expect
	XMM(F_ANY, "cvtpd2ps xmm0, xmm1"); // expect
	XMM(F_ANY, "cvtsi2sd xmm0, dword ptr [rsi]"); // expect
	XMM(F_ANY, "cvtsd2ss xmm0, xmm1"); // expect
	XMM(F_ANY, "cvttsd2si rcx, xmm1\n\tmovq xmm0, rcx"); // expect
	XMM(F_ANY, "cvtss2si rcx, xmm1\n\tmovq xmm0, rcx"); // expect
	XMM(F_F16C, "vcvtph2ps xmm0, xmm1"); // expect
	XMM(F_F16C, "vcvtps2ph xmm0, xmm1, 0"); // expect
	GPR(F_SSE42, "movdqu xmm0, [rdi]\n\tpcmpistri xmm0, [rsi], 0\n\tmov eax, ecx"); // expect
	FLAG(F_SSE42, "c", "movdqu xmm0, [rdi]\n\tpcmpistri xmm0, [rsi], 0x18"); // expect
	FLAG(F_SSE42, "z", "movdqu xmm0, [rdi]\n\tpcmpistri xmm0, [rsi], 0x18"); // expect
	FLAG(F_SSE42, "s", "movdqu xmm0, [rsi]\n\tpcmpistri xmm0, [rdi], 0x18"); // expect
	FLAG(F_SSE42, "o", "movdqu xmm0, [rsi]\n\tpcmpistri xmm0, [rdi], 0x18"); // expect
	GPR(F_SSE42, "movdqu xmm1, [rsi]\n\tpcmpistrm xmm1, [rdi], 0x40\n\tmovq rax, xmm0"); // expect
	GPR(F_SSE42, "movdqu xmm1, [rsi]\n\tmov eax, 5\n\tmov edx, 5\n\tpcmpestri xmm1, [rdi], 0\n\tmov eax, ecx"); // expect
	GPR(F_SSE42, "movdqu xmm1, [rsi]\n\tmov eax, 5\n\tmov edx, 5\n\tpcmpestrm xmm1, [rdi], 0x40\n\tmovq rax, xmm0"); // expect
	GPR(F_SSE42, "movdqu xmm1, [rdi]\n\tmov eax, [rsi]\n\tmov edx, 5\n\tpcmpestri xmm1, [rdi], 0\n\tmov eax, ecx"); // expect
	XMM(F_AES, "aesenc xmm0, xmm1"); // expect
	XMM(F_AES, "aesenclast xmm0, xmm1"); // expect
	XMM(F_AES, "aesdec xmm0, xmm1"); // expect
	XMM(F_AES, "aesdeclast xmm0, xmm1"); // expect
	XMM(F_AES, "aesimc xmm0, xmm1"); // expect
	XMM(F_AES, "aeskeygenassist xmm0, xmm1, 1"); // expect
	XMM(F_CLMUL, "pclmulqdq xmm0, xmm1, 0"); // expect
	XMM(F_CLMUL, "pclmulqdq xmm0, xmm1, 0x11"); // expect
	XMM(F_SHA, "sha1msg1 xmm0, xmm1"); // expect
	XMM(F_SHA, "sha1nexte xmm0, xmm1"); // expect
	XMM(F_SHA, "sha1rnds4 xmm0, xmm1, 2"); // expect
	XMM(F_SHA, "sha256msg1 xmm0, xmm1"); // expect
	XMM(F_SHA, "sha256msg2 xmm0, xmm1"); // expect
	XMM(F_SHA, "sha256rnds2 xmm2, xmm1\n\tmovdqa xmm0, xmm2"); // expect
	XMM(F_SHA, "movdqa xmm0, xmm1\n\tmovdqa xmm1, xmm2\n\tsha256rnds2 xmm1, xmm2\n\tmovdqa xmm0, xmm1"); // expect
	XMM(F_SSE41, "mpsadbw xmm0, xmm1, 0"); // expect
	XMM(F_SSE41, "dpps xmm0, xmm1, 0xff"); // expect
	XMM(F_SSE41, "dppd xmm0, xmm1, 0x33"); // expect
	XMM(F_SSE41, "phminposuw xmm0, xmm1"); // expect
	XMM(F_SSE41, "roundps xmm0, xmm1, 0"); // expect
	XMM(F_SSE41, "movntdqa xmm0, [rsi]"); // expect
	XMM(F_SSSE3, "pshufb xmm0, xmm1"); // expect
	XMM(F_SSE41, "pmovsxbw xmm0, xmm1"); // expect
	XMM(F_FMA, "vfmadd231ps xmm0, xmm1, xmm2"); // expect
	XMM(F_FMA, "vfmadd213sd xmm0, xmm1, xmm2"); // expect
	XMM(F_FMA, "vfmaddsub132pd xmm0, xmm2, xmm1"); // expect
	XMM(F_FMA, "vfmsubadd213ps xmm0, xmm2, xmm1"); // expect
	XMM(F_AVX2, "vpsllvd xmm0, xmm2, xmm1"); // expect
	XMM(F_AVX2, "vpsravd xmm0, xmm1, xmm2"); // expect
	XMM(F_AVX2, "vpcmpeqd xmm3, xmm3, xmm3\n\tpxor xmm1, xmm1\n\tvpgatherdd xmm0, [rsi + xmm1 * 4], xmm3"); // expect
	XMM(F_AVX2, "vpcmpeqd xmm3, xmm3, xmm3\n\tpxor xmm1, xmm1\n\tvgatherqpd xmm0, [rsi + xmm1 * 8], xmm3"); // expect
	DO(F_AVX2, "vpcmpeqd xmm3, xmm3, xmm3\n\tvmovdqu xmm1, [rsi]\n\tvpsrld xmm1, xmm1, 30\n\tvpgatherdd xmm0, [rdi + xmm1 * 4], xmm3"); // expect
	XMM(F_AVX, "vpcmpeqd xmm3, xmm3, xmm3\n\tvmaskmovps xmm0, xmm3, [rsi]"); // expect
	XMM(F_AVX2, "vpcmpeqd xmm3, xmm3, xmm3\n\tvpmaskmovd [r9 + 32], xmm3, xmm1\n\tvmovq xmm0, [r9 + 32]"); // expect
	XMM(F_ANY, "pcmpeqd xmm3, xmm3" MASKMOV("maskmovdqu xmm1, xmm3") "\n\tmovq xmm0, [r9 + 16]"); // expect
	XMM(F_AVX, "pcmpeqd xmm3, xmm3" MASKMOV("vmaskmovdqu xmm1, xmm3") "\n\tmovq xmm0, [r9 + 16]"); // expect
	XMM(F_SSE4A, "extrq xmm1, 8, 4\n\tmovq xmm0, xmm1"); // expect
	XMM(F_SSE4A, "mov ecx, 0x408\n\tmovd xmm3, ecx\n\textrq xmm1, xmm3\n\tmovq xmm0, xmm1"); // expect
	XMM(F_SSE4A, "movq xmm1, xmm1\n\textrq xmm0, xmm1"); // expect
	XMM(F_SSE4A, "insertq xmm0, xmm1, 8, 4"); // expect
	XMM(F_SSE4A, "insertq xmm0, xmm1"); // expect
	XMM(F_SSE4A, "movntsd [r9 + 16], xmm1\n\tmovq xmm0, [r9 + 16]"); // expect
	XMM(F_SSE4A, "movntss [r9 + 16], xmm1\n\tmovd xmm0, [r9 + 16]"); // expect
}

static void vectors_right(unsigned char *none, unsigned char *all)
{
	XMM(F_ANY, "pxor xmm1, xmm1\n\tpaddd xmm0, xmm1");
	XMM(F_ANY, "pcmpeqd xmm1, xmm1\n\tmovdqa xmm0, xmm1");
	XMM(F_ANY, "movdqu xmm1, [r9]\n\tpmovmskb ecx, xmm1\n\tand ecx, 0xff\n\tmovd xmm0, ecx");
	FLAG(F_SSE41, "z", "movdqu xmm0, [r9]\n\tmovq xmm1, [rdi]\n\tptest xmm0, xmm1");
	FLAG(F_ANY, "c", "movdqu xmm0, [r9]\n\tcomisd xmm0, [rdi]");
	XMM(F_SSSE3, "movdqu xmm1, [r9]\n\tmovq rcx, xmm2\n\tmov rcx, 0x0701020304050607\n\tmovq xmm2, rcx\n\tpshufb xmm1, xmm2\n\tmovdqa xmm0, xmm1");
	GPR(F_SSE42, "movdqu xmm0, [r8]\n\tpcmpistri xmm0, [rdi], 0\n\tmov eax, ecx");
	GPR(F_SSE42, "movdqu xmm0, [rdi]\n\tpcmpistri xmm0, [r8], 0\n\tmov eax, ecx");
	FLAG(F_SSE42, "c", "movdqu xmm0, [r8]\n\tpcmpistri xmm0, [r8], 0x18");
	FLAG(F_SSE42, "z", "movdqu xmm0, [r8]\n\tpcmpistri xmm0, [r8], 0x1a");
	FLAG(F_SSE42, "s", "movdqu xmm0, [r8]\n\tpcmpistri xmm0, [r8], 0x0c");
	GPR(F_SSE42, "movdqu xmm1, [r8]\n\tpcmpistrm xmm1, [rdi], 0x4c\n\tmovq rax, xmm0");
	GPR(F_SSE42, "movdqu xmm1, [r9]\n\tmov eax, 8\n\tmov edx, 7\n\tpcmpestri xmm1, [r9], 0x0c\n\tmov eax, ecx");
	XMM(F_CLMUL, "movdqu xmm1, [r9]\n\tpclmulqdq xmm0, xmm1, 0");
	XMM(F_SSE41, "movdqu xmm1, [r9]\n\tdpps xmm0, xmm1, 0x31");
	XMM(F_SSE41, "movdqu xmm1, [r9]\n\tmpsadbw xmm0, xmm1, 1");
	XMM(F_ANY, "movdqu xmm1, [r9]\n\tcvtdq2pd xmm0, xmm1");
	XMM(F_F16C, "movdqu xmm1, [r9]\n\tvcvtph2ps xmm0, xmm1");
	XMM(F_AVX2, "vmovdqu xmm1, [r9]\n\tvpsllvd xmm0, xmm1, xmm2");
	XMM(F_AVX2, "vpcmpeqd xmm3, xmm3, xmm3\n\tvpsrldq xmm3, xmm3, 8\n\tpxor xmm1, xmm1\n\tvpgatherdd xmm0, [r9 + xmm1 * 4], xmm3");
	XMM(F_AVX, "vpcmpeqd xmm3, xmm3, xmm3\n\tvpsrldq xmm3, xmm3, 8\n\tvmaskmovps xmm0, xmm3, [r9]");
	XMM(F_ANY, "movq [r9 + 16], xmm2\n\tpcmpeqd xmm3, xmm3\n\tpslldq xmm3, 8" MASKMOV("maskmovdqu xmm1, xmm3") "\n\tmovq xmm0, [r9 + 16]");
	XMM(F_SSE4A, "mov rcx, [rsi]\n\tshl rcx, 16\n\tmovq xmm1, rcx\n\textrq xmm1, 8, 4\n\tmovq xmm0, xmm1");
	XMM(F_SSE4A, "mov rcx, [rsi]\n\tshl rcx, 8\n\tmov cl, 5\n\tmovq xmm1, rcx\n\tinsertq xmm0, xmm1, 8, 4");
}

static void small_wrong(unsigned char *none, unsigned char *all)
{
	GPR(F_ANY, "mov rbx, rsi\n\txlatb"); // expect
	DO(F_ANY, "mov rbx, rdi\n\tmov rax, [rsi]\n\tand eax, 7\n\txlatb"); // expect
	GPR(F_ANY, "mov rcx, rbp\n\tmov rbp, [rsi]\n\tenter 16, 0\n\tmov rax, [rbp]\n\tleave\n\tmov rbp, rcx"); // expect
	GPR(F_ANY, "mov rcx, rbp\n\tlea rbp, [r9 + 16]\n\tenter 16, 2\n\tmov rax, [rbp - 8]\n\tleave\n\tmov rbp, rcx"); // expect
	XMM(F_ANY, "movdqu xmm3, [rsi + 128]" MASKMOV("maskmovdqu xmm2, xmm3") "\n\tmovq xmm0, [r9 + 16]"); // expect
	MMX("movq mm0, mm1"); // expect
	MMX("movq mm0, [rsi]"); // expect
	MMX("movd mm0, dword ptr [rsi]"); // expect
	MMX("paddb mm0, mm1"); // expect
	MMX("paddd mm0, mm1"); // expect
	MMX("psubw mm0, mm1"); // expect
	MMX("pmullw mm0, mm1"); // expect
	MMX("pmaddwd mm0, mm1"); // expect
	MMX("pand mm0, mm1"); // expect
	MMX("pandn mm0, mm1"); // expect
	MMX("por mm0, mm1"); // expect
	MMX("pxor mm0, mm1"); // expect
	MMX("pcmpeqb mm0, mm1"); // expect
	MMX("pcmpgtd mm0, mm1"); // expect
	MMX("packuswb mm0, mm1"); // expect
	MMX("packssdw mm0, mm1"); // expect
	MMX("punpcklbw mm0, mm1"); // expect
	MMX("punpckhdq mm0, mm1"); // expect
	MMX("psllw mm1, 3\n\tmovq mm0, mm1"); // expect
	MMX("psrlq mm0, mm1"); // expect
	MMX("pshufw mm0, mm1, 0x1b"); // expect
	MMX("pshufb mm0, mm1"); // expect
	MMX("psadbw mm0, mm1"); // expect
	MMX("pavgb mm0, mm1"); // expect
	MMX("pmovmskb ecx, mm1\n\tmovd mm0, ecx"); // expect
	MMX("pextrw ecx, mm1, 1\n\tmovd mm0, ecx"); // expect
	MMX("movq2dq xmm0, mm1\n\tmovdq2q mm0, xmm0"); // expect
	MMX("cvtpi2ps xmm0, mm1\n\tcvtps2pi mm0, xmm0"); // expect
	MMX("movq [r9 + 16], mm1\n\tmovq mm0, [r9 + 16]"); // expect
	MMX("movntq [r9 + 16], mm1\n\tmovq mm0, [r9 + 16]"); // expect
	MMX("pcmpeqd mm3, mm3" MASKMOV("maskmovq mm1, mm3") "\n\tmovq mm0, [r9 + 16]"); // expect
	X87("fld qword ptr [rsi]\n\tfstp qword ptr [r9 + 16]\n\tmov rax, [r9 + 16]" DECIDE); // expect
	X87("fld dword ptr [rsi]\n\tfstp dword ptr [r9 + 16]\n\tmov eax, [r9 + 16]" DECIDE); // expect
	X87("fld tbyte ptr [rsi]\n\tfstp tbyte ptr [r9 + 16]\n\tmov rax, [r9 + 16]" DECIDE); // expect
	X87("fild dword ptr [rsi]\n\tfistp qword ptr [r9 + 16]\n\tmov rax, [r9 + 16]" DECIDE); // expect
	X87("fld1\n\tfadd qword ptr [rsi]\n\tfstp qword ptr [r9 + 16]\n\tmov rax, [r9 + 16]" DECIDE); // expect
	X87("fld1\n\tfld qword ptr [rsi]\n\tfmulp\n\tfst qword ptr [r9 + 16]\n\tfstp st(0)\n\tmov rax, [r9 + 16]" DECIDE); // expect
	X87("fld qword ptr [rsi]\n\tfld1\n\tfcomip st, st(1)\n\tfstp st(0)" JUMP("c")); // expect
	X87("fld1\n\tfld qword ptr [rsi]\n\tfucomi st, st(1)\n\tfstp st(0)\n\tfstp st(0)" JUMP("z")); // expect
	X87("fld qword ptr [rsi]\n\tfcomp qword ptr [rdi]\n\tfnstsw ax\n\ttest ah, 0x45" JUMP("z")); // expect
	X87("fld qword ptr [rsi]\n\tfld1\n\tfxch\n\tfstp qword ptr [r9 + 16]\n\tfstp st(0)\n\tmov rax, [r9 + 16]" DECIDE); // expect
	X87("fld qword ptr [rsi]\n\tfabs\n\tfsqrt\n\tfstp qword ptr [r9 + 16]\n\tmov rax, [r9 + 16]" DECIDE); // expect
}

static void small_right(unsigned char *none, unsigned char *all)
{
	GPR(F_ANY, "mov rbx, rdi\n\tmov rax, [rsi]\n\tshl rax, 8\n\tmov al, 3\n\txlatb\n\tmovzx eax, al");
	GPR(F_ANY, "mov rcx, rbp\n\tmov rbp, [rsi]\n\tenter 16, 0\n\tmov rax, rbp\n\tleave\n\tmov rbp, rcx");
	GPR(F_ANY, "mov rcx, rbp\n\tlea rbp, [r9 + 8]\n\tenter 16, 2\n\tmov rax, [rbp - 8]\n\tleave\n\tmov rbp, rcx");
	MMX("pxor mm1, mm1\n\tmovq mm0, mm1");
	MMX("movd mm0, dword ptr [r9]\n\tpunpcklbw mm0, mm0");
	MMX("movq mm1, [r9 + 4]\n\tpshufw mm0, mm1, 0x11");
	MMX("movq mm1, [r9 + 4]\n\tpsllq mm1, 32\n\tmovq mm0, mm1");
	MMX("movq mm1, [r9 + 4]\n\tpmovmskb ecx, mm1\n\tand ecx, 15\n\tmovd mm0, ecx");
	MMX("movq mm1, [r9 + 4]\n\tmov ecx, -1\n\tmovd mm0, ecx\n\tpand mm0, mm1");
	X87("fld qword ptr [rsi]\n\tfldz\n\tfst st(1)\n\tfstp qword ptr [r9 + 16]\n\tfstp st(0)\n\tmov rax, [r9 + 16]" DECIDE);
	X87("fld qword ptr [rsi]\n\tfld1\n\tfstp qword ptr [r9 + 16]\n\tfstp st(0)\n\tmov rax, [r9 + 16]" DECIDE);
	X87("fld qword ptr [rsi]\n\tfstp st(0)\n\tfld1\n\tfcomi st, st(0)\n\tfnstcw [r9 + 16]\n\tfstp st(0)" JUMP("c"));
}

static void wide_wrong(unsigned char *none, unsigned char *all)
{
	MASK("kmovq k1, [rsi]"); // expect
	MASK("kmovw k1, k3"); // expect
	MASK("mov rax, [rsi]\n\tkmovd k1, eax"); // expect
	MASK("kandb k1, k2, k3"); // expect
	MASK("kxnorw k1, k2, k3"); // expect
	MASK("kshiftlw k1, k3, 3"); // expect
	MASK("kunpckbw k1, k2, k3"); // expect
	MASK("kaddd k1, k2, k3"); // expect
	MASK("knotq k1, k3"); // expect
	FLAG(F_AVX512, "z", "kmovq k3, [rsi]\n\tkortestw k3, k3"); // expect
	FLAG(F_AVX512, "c", "kmovq k3, [rsi]\n\tkortestq k3, k3"); // expect
	FLAG(F_AVX512, "z", "kmovq k3, [rsi]\n\tktestb k3, k3"); // expect
	MASK("vpcmpeqb k1, zmm1, zmm2"); // expect
	MASK("vpcmpub k1, zmm1, zmm2, 1"); // expect
	MASK("vpcmpgtd k1%{k2%}, zmm1, zmm2"); // expect
	MASK("vcmpps k1, zmm1, zmm2, 1"); // expect
	MASK("vptestmb k1, zmm1, zmm1"); // expect
	MASK("vptestnmd k1, zmm1, [rdi]"); // expect
	MASK("vfpclassps k1, zmm1, 0x99"); // expect
	MASK("vpmovb2m k1, zmm1"); // expect
	ZMM(F_AVX512, "vpmovm2b zmm0, k3"); // expect
	ZMM(F_AVX512, "vmovdqu32 zmm0%{k2%}, [rsi]"); // expect
	ZMM(F_AVX512, "vmovdqu8 zmm0%{k2%}%{z%}, zmm1"); // expect
	ZMM(F_AVX512, "vmovdqu8 zmm0%{k3%}%{z%}, zmm2"); // expect
	ZMM(F_AVX512, "vmovdqu32 [r9 + 8]%{k2%}, zmm1\n\tvmovq xmm0, [r9 + 8]"); // expect
	ZMM(F_AVX512, "vpaddd zmm0%{k2%}, zmm1, zmm2"); // expect
	ZMM(F_AVX512, "vpblendmd zmm0%{k3%}, zmm2, zmm0"); // expect
	ZMM(F_AVX512, "vpblendmd zmm0%{k2%}, zmm2, zmm1"); // expect
	ZMM(F_AVX512, "vpcompressd zmm0%{k2%}%{z%}, zmm1"); // expect
	ZMM(F_AVX512, "vpexpandq zmm0%{k2%}%{z%}, zmm1"); // expect
	ZMM(F_AVX512, "vpternlogd zmm0, zmm1, zmm2, 0x96"); // expect
	ZMM(F_AVX512, "vpermd zmm0, zmm1, zmm2"); // expect
	ZMM(F_AVX512, "vpermi2q zmm0, zmm1, zmm1"); // expect
	ZMM(F_AVX512, "vpermt2d zmm0, zmm1, zmm2"); // expect
	ZMM(F_AVX512, "valignd zmm0, zmm1, zmm1, 3"); // expect
	ZMM(F_AVX512, "vshufi32x4 zmm0, zmm1, zmm2, 3"); // expect
	ZMM(F_AVX512, "vpmovqd ymm0, zmm1"); // expect
	ZMM(F_AVX512, "vpmovsdb xmm0, zmm1"); // expect
	ZMM(F_AVX512, "vcvtqq2pd zmm0, zmm1"); // expect
	ZMM(F_AVX512, "vcvttsd2usi rcx, xmm1\n\tvmovq xmm0, rcx"); // expect
	ZMM(F_AVX512, "vprold zmm0, zmm1, 5"); // expect
	ZMM(F_AVX512, "vplzcntq zmm0, zmm1"); // expect
	ZMM(F_AVX512, "vextracti64x4 ymm0, zmm1, 1"); // expect
	ZMM(F_AVX512, "vinserti32x4 zmm0, zmm2, xmm1, 0"); // expect
	ZMM(F_AVX512, "vrndscaleps zmm0, zmm1, 0"); // expect
	ZMM(F_AVX512, "vpaddd zmm0, zmm2, dword ptr [rsi]%{1to16%}"); // expect
	ZMM(F_AVX512, "vpxord zmm1, zmm1, zmm1\n\tvpgatherdd zmm0%{k2%}, [rsi + zmm1 * 4]"); // expect
	DO(F_AVX512, "mov eax, 0x55\n\tkmovd k2, eax\n\tvmovdqu64 zmm1, [rsi]\n\tvpsrld zmm1, zmm1, 30\n\tvpgatherdd zmm0%{k2%}, [rdi + zmm1 * 4]\n\tvzeroupper"); // expect
	ZMM(F_AVX512, "vpxord zmm3, zmm3, zmm3\n\tvpscatterdd [r9 + zmm3 * 4 + 16]%{k2%}, zmm1\n\tvmovd xmm0, [r9 + 16]"); // expect
	ZMM(F_VBMI, "vpermb zmm0, zmm2, zmm1"); // expect
	ZMM(F_VBMI, "vpcompressb zmm0%{k2%}%{z%}, zmm1"); // expect
	ZMM(F_VBMI, "vpopcntb zmm0, zmm1"); // expect
	ZMM(F_VBMI, "vpshldvd zmm0, zmm1, zmm2"); // expect
	ZMM(F_VBMI, "vpmadd52luq zmm0, zmm1, zmm2"); // expect
}

static void wide_right(unsigned char *none, unsigned char *all)
{
	MASK("kxorq k1, k3, k3");
	MASK("kmovb k1, k2\n\tkandq k1, k1, k2");
	MASK("kandb k1, k3, k1");
	MASK("kshiftlq k1, k3, 8\n\tkmovb k1, k1");
	MASK("vmovdqu xmm3, [r9]\n\tvpcmpeqb k1, xmm3, xmm2\n\tkmovb k1, k1");
	MASK("vmovdqu xmm3, [r9]\n\tmov ecx, 255\n\tkmovd k2, ecx\n\tvpcmpeqb k1%{k2%}, xmm3, xmm2");
	FLAG(F_AVX512, "z", "vmovdqu xmm3, [r8]\n\tvptestnmb k1, xmm3, xmm3\n\tkortestw k1, k1");
	FLAG(F_AVX512, "c", "kmovq k3, [rsi]\n\tkxorq k1, k1, k1\n\tkortestb k1, k1");
	ZMM(F_AVX512, "vmovdqu32 zmm0%{k1%}, [rsi]");
	ZMM(F_AVX512, "vmovdqu8 zmm0%{k1%}%{z%}, zmm1");
	ZMM(F_AVX512, "mov ecx, 2\n\tkmovd k2, ecx\n\tvpaddq zmm0%{k2%}, zmm1, zmm2");
	ZMM(F_AVX512, "vpblendmd zmm0%{k1%}, zmm2, zmm1");
	ZMM(F_AVX512, "vmovdqu64 zmm1, [r9]\n\tmov ecx, 3\n\tkmovd k2, ecx\n\tvpcompressd zmm0%{k2%}%{z%}, zmm1");
	ZMM(F_AVX512, "vpternlogd zmm1, zmm1, zmm1, 0xff\n\tvmovdqa64 zmm0, zmm1");
	ZMM(F_AVX512, "vpxord zmm3, zmm3, zmm3\n\tvpternlogd zmm0, zmm1, zmm3, 0xea\n\tvpxord zmm0, zmm0, zmm0");
	ZMM(F_AVX512, "vmovdqu64 zmm1, [r9]\n\tvpxord zmm3, zmm3, zmm3\n\tvpermd zmm0, zmm3, zmm1");
	ZMM(F_AVX512, "vpxord zmm3, zmm3, zmm3\n\tmov ecx, 2\n\tkmovd k2, ecx\n\tvpgatherdd zmm0%{k2%}, [r9 + zmm3 * 4]");
}

/* What a block held that is no more has no value, but signs. */
static unsigned char *left(size_t n)
{
	void *block = same(malloc(n));

	memset(block, 0xff, n);
	free(block);
	return same(malloc(n));
}

int main(int argc, char **argv)
{
	unsigned char *none = left(256), *all = same(malloc(256));
	unsigned char none_here[256], all_here[256];

	for (int i = 0; i < 64; i++)
		all[i] = 3 * i + 1;
	memcpy(all + 64, "abc", 4);
	memcpy(all + 128, "abcdefgh", 8);
	memcpy(same(all_here), all, 256);
	memcpy(same(none_here) + 128, none + 128, 128);
	only = argc > 2 ? atoi(argv[2]) : 0;
	if (argc > 1 && !strcmp(argv[1], "right")) {
		general_right(none, all);
		small_right(same(none_here), all_here);
		vectors_right(same(none_here), all_here);
		wide_right(same(none_here), all_here);
		return 0;
	}
	general_wrong(none, all);
	// Gathers, and long doubles, are not looked at fast where they may access the heap.
	small_wrong(same(none_here), all_here);
	vectors_wrong(same(none_here), all_here);
	wide_wrong(same(none_here), all_here);
	return 0;
}
