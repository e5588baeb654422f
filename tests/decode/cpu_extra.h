// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Forms that the six programs hardly use, and that the machine treats specially: string
 * instructions, bit offsets in memory, odd stack accesses, masks, gathers and scatters,
 * state saves. Swept like a section of a program; never called.
 */
#ifndef TESTS_CPU_EXTRA_H
#define TESTS_CPU_EXTRA_H

#include <stdint.h>

extern const uint8_t cpu_extra_begin[], cpu_extra_end[];

__asm__(".text\n"
	".intel_syntax noprefix\n"
	".globl cpu_extra_begin, cpu_extra_end\n"
	"cpu_extra_begin:\n"
	// High bytes as sources and destinations.
	"mov [rbx], ah\n mov [rbx+rcx*2+7], dh\n mov ah, [rbx]\n mov bh, [rcx+8]\n"
	"add [rbx], ch\n xchg [rbx], dh\n xchg ah, al\n movzx eax, bh\n mov dh, cl\n"
	"movbe [rbx], ecx\n movbe rcx, [rbx]\n cmpxchg [rcx], ah\n xadd [rcx], bh\n"
	// Stack.
	"push ax\n pop cx\n push rsp\n pop rsp\n push qword ptr [rsp+8]\n"
	"pop qword ptr [rsp+16]\n pop qword ptr [rbx]\n pop word ptr [rbx+2]\n"
	"push word ptr [rbx]\n push qword ptr [rip+64]\n pop qword ptr [rip+64]\n push -5\n"
	"pushw 1234\n pushf\n popf\n pushfw\n popfw\n leave\n enter 16, 0\n enter 32, 1\n"
	"enter 64, 3\n mov rsp, rbp\n lea rsp, [rsp-8]\n mov [rsp], rsp\n mov rsp, [rsp]\n"
	"push qword ptr [rsp+rax*2+4]\n xchg [rsp+8], rsp\n add [rsp], rsp\n push fs:[0x28]\n"
	// Strings.
	"movsb\n movsw\n movsd\n movsq\n stosb\n stosw\n stosd\n stosq\n lodsb\n lodsw\n"
	"lodsd\n lodsq\n cmpsb\n cmpsw\n cmpsd\n cmpsq\n scasb\n scasw\n scasd\n scasq\n"
	"rep movsb\n rep movsw\n rep movsd\n rep movsq\n rep stosb\n rep stosw\n"
	"rep stosd\n rep stosq\n rep lodsb\n rep lodsq\n repe cmpsb\n repne cmpsb\n"
	"repe cmpsq\n repne scasb\n repe scasb\n repne scasq\n std\n cld\n xlatb\n"
	// Read-modify-write, locked and not.
	"xchg [rbx], rcx\n xchg [rbx], bl\n xchg rbx, [rbx]\n xadd [rbx], ecx\n"
	"lock xadd [rbx], rcx\n xadd [rbx], rbx\n xadd rcx, rcx\n xadd rcx, rdx\n"
	"cmpxchg [rbx], ecx\n lock cmpxchg [rbx], rcx\n cmpxchg [rbx], cl\n"
	"cmpxchg rcx, rdx\n cmpxchg8b [rsi]\n lock cmpxchg8b [rsi]\n cmpxchg16b [rsi]\n"
	"lock cmpxchg16b [rsi]\n lock inc dword ptr [rbx]\n lock not qword ptr [rbx]\n"
	"lock or byte ptr [rbx], 4\n shl qword ptr [rbx], cl\n rcl dword ptr [rbx], 1\n"
	"shld [rbx], rdx, cl\n shrd [rbx], edx, 5\n neg word ptr [rbx]\n"
	// Bits.
	"bt [rbx], rcx\n bts [rbx], ecx\n btr [rbx], cx\n btc [rbx+8], rcx\n bt qword ptr [rbx], 37\n"
	"lock bts [rbx], rcx\n bts dword ptr [rbx], 77\n bt ecx, edx\n bts rcx, rdx\n btr cx, dx\n"
	"bsf rax, [rbx]\n bsr eax, ecx\n bsf cx, dx\n popcnt rax, [rbx]\n popcnt cx, ax\n"
	"lzcnt eax, [rbx]\n tzcnt rax, rcx\n bswap eax\n bswap r9\n crc32 eax, byte ptr [rbx]\n"
	"crc32 rax, rcx\n crc32 ecx, bh\n pdep rax, rcx, [rbx]\n pext eax, ecx, edx\n andn rax, rcx, [rbx]\n"
	"mulx rax, rcx, [rbx]\n adcx rax, rcx\n adox ecx, [rbx]\n rorx rax, [rbx], 7\n bextr eax, [rbx], ecx\n"
	// Conditional moves, sets, partial registers.
	"cmovc rax, [rbx]\n cmovc eax, ecx\n cmovnz ax, cx\n setc byte ptr [rbx]\n sets ah\n setz r9b\n"
	"mov ax, [rbx]\n mov al, [rbx]\n movsx ax, byte ptr [rbx]\n lahf\n sahf\n cmc\n stc\n"
	"xor ax, ax\n sub cl, cl\n sbb rax, rax\n sbb ecx, ecx\n mov eax, eax\n xchg eax, eax\n xchg ax, cx\n"
	"mul byte ptr [rbx]\n imul cx\n div byte ptr [rbx]\n idiv cx\n mov [rip+32], rax\n add dword ptr [rip+8], 5\n"
	"movabs al, [0x12345678]\n movabs [0x12345678], rax\n mov eax, [ebx+ecx*2+4]\n mov [ebx], rax\n"
	"lea eax, [ebx+ecx*8]\n mov rax, [rbx*8+0x100]\n mov rax, [rbx+rbx]\n mov fs:[rbx], rax\n"
	"mov rax, fs:[0x10]\n add fs:[rbx+rcx*8], eax\n mov dword ptr fs:[0x40], 7\n xor rax, fs:[0x30]\n"
	"movnti [rbx], rax\n rdfsbase rax\n wrfsbase rax\n endbr64\n prefetchw [rbx]\n clflushopt [rbx]\n"
	"movdiri [rbx], rcx\n clwb [rbx]\n"
	// x87 and MMX.
	"fld tbyte ptr [rbx]\n fstp tbyte ptr [rbx]\n fld dword ptr [rbx]\n fst qword ptr [rbx]\n"
	"fild word ptr [rbx]\n fistp qword ptr [rbx]\n fisttp dword ptr [rbx]\n fbld [rbx]\n fbstp [rbx]\n"
	"fnstenv [rbx]\n fldenv [rbx]\n fnsave [rbx]\n frstor [rbx]\n fldcw [rbx]\n fnstcw [rbx]\n fnstsw ax\n"
	"fnstsw [rbx]\n fxsave [rbx]\n fxsave64 [rbx]\n fxrstor [rbx]\n fxrstor64 [rbx]\n xsave [rbx]\n"
	"xsave64 [rbx]\n xsavec [rbx]\n xsavec64 [rbx]\n xsaveopt [rbx]\n xrstor [rbx]\n xrstor64 [rbx]\n"
	"fadd st, st(3)\n fxch st(2)\n fincstp\n fdecstp\n fcmovb st, st(1)\n fninit\n fsincos\n fptan\n"
	"movq mm1, [rbx]\n movq [rbx], mm2\n movd mm3, eax\n movd eax, mm3\n paddb mm1, [rbx]\n pshufw mm1, mm2, 3\n"
	"emms\n maskmovq mm1, mm2\n movq2dq xmm1, mm2\n movdq2q mm1, xmm2\n cvtpi2ps xmm1, [rbx]\n movntq [rbx], mm1\n"
	"pmovmskb eax, mm1\n ldmxcsr [rbx]\n stmxcsr [rbx]\n vldmxcsr [rbx]\n vstmxcsr [rbx]\n"
	// SSE.
	"maskmovdqu xmm1, xmm2\n vmaskmovdqu xmm1, xmm2\n movntdq [rbx], xmm1\n movntps [rbx], xmm3\n"
	"movntdqa xmm1, [rbx]\n movss xmm1, [rbx]\n movss xmm1, xmm2\n movss [rbx], xmm2\n movsd xmm1, [rbx]\n"
	"movsd xmm1, xmm2\n movhps xmm1, [rbx]\n movhpd [rbx], xmm1\n movlps xmm1, [rbx]\n movq xmm1, [rbx]\n"
	"movq [rbx], xmm1\n movd xmm1, [rbx]\n movd [rbx], xmm1\n movq rax, xmm1\n pinsrb xmm1, [rbx], 3\n"
	"pextrb [rbx], xmm1, 3\n pextrw eax, xmm1, 3\n pextrq [rbx], xmm1, 1\n insertps xmm1, [rbx], 0x10\n"
	"sha1rnds4 xmm1, [rbx], 2\n sha1nexte xmm1, xmm2\n sha1msg1 xmm1, xmm2\n sha256rnds2 xmm1, xmm2\n"
	"sha256msg1 xmm1, [rbx]\n sha256msg2 xmm1, xmm3\n aesenc xmm1, [rbx]\n aesdeclast xmm1, xmm2\n"
	"aeskeygenassist xmm1, xmm2, 1\n pclmulqdq xmm1, [rbx], 0x11\n pcmpestri xmm1, xmm2, 0\n pcmpestrm xmm1, [rbx], 4\n"
	"pcmpistrm xmm1, xmm2, 8\n blendvps xmm1, xmm2, xmm0\n pblendvb xmm1, [rbx], xmm0\n dpps xmm1, xmm2, 0x7f\n"
	"cvtsi2sd xmm1, rax\n cvttss2si rax, [rbx]\n gf2p8mulb xmm1, xmm2\n lddqu xmm1, [rbx]\n movddup xmm1, [rbx]\n"
	// AVX.
	"vzeroupper\n vzeroall\n vmovups ymm1, [rbx]\n vmovups [rbx], ymm1\n vmovaps xmm1, xmm2\n vmovss xmm1, xmm2, xmm3\n"
	"vmovss xmm1, [rbx]\n vmovss [rbx], xmm1\n vmovsd xmm1, xmm2, xmm3\n vmovlps xmm1, xmm2, [rbx]\n vmovhps [rbx], xmm1\n"
	"vmaskmovps ymm1, ymm2, [rbx]\n vmaskmovps [rbx], ymm2, ymm1\n vmaskmovpd xmm1, xmm2, [rbx]\n"
	"vpmaskmovd [rbx], ymm2, ymm1\n vpmaskmovd ymm2, ymm1, [rbx]\n vpmaskmovq [rbx], xmm2, xmm1\n"
	"vpmaskmovq ymm2, ymm1, [rbx]\n vextractf128 [rbx], ymm1, 1\n vinsertf128 ymm1, ymm2, [rbx], 0\n"
	"vbroadcastss ymm1, [rbx]\n vbroadcastf128 ymm1, [rbx]\n vpgatherdd ymm1, [rbx+ymm2*4], ymm3\n"
	"vpgatherdd xmm1, [rbx+xmm2*4+8], xmm3\n vpgatherqd xmm1, [rbx+ymm2*2], xmm3\n vpgatherdq ymm1, [rbx+xmm2*8], ymm3\n"
	"vpgatherqq ymm1, [rbx+ymm2*8], ymm3\n vgatherdps ymm1, [rbx+ymm2], ymm3\n vgatherqpd ymm1, [rbx+ymm2*8], ymm3\n"
	"vgatherdpd ymm1, [rbx+xmm2*8], ymm3\n vgatherqps xmm1, [rbx+xmm2*4], xmm3\n vgatherqps xmm1, [rbx+ymm2*4], xmm3\n"
	"vpxor ymm1, ymm1, ymm1\n vpcmpestri xmm1, [rbx], 3\n vfmadd231ps ymm1, ymm2, [rbx]\n vcvtps2ph [rbx], ymm1, 0\n"
	"vpermd ymm1, ymm2, [rbx]\n vpsllvd ymm1, ymm2, ymm3\n vaesenc ymm1, ymm2, [rbx]\n vtestps ymm1, [rbx]\n vptest xmm1, xmm2\n"
	// AVX-512.
	"vmovdqu64 zmm1, [rbx]\n vmovdqu64 [rbx], zmm17\n vmovdqu64 ymm18, [rbx+64]\n vmovdqu64 [rbx], xmm20\n"
	"vmovdqu8 zmm1{k1}, zmm2\n vmovdqu8 zmm1{k1}{z}, zmm2\n vmovdqu8 zmm1{k2}{z}, [rbx]\n vmovdqu8 zmm1{k2}, [rbx]\n"
	"vmovdqu8 [rbx]{k3}, zmm1\n vmovdqu16 ymm1{k1}, ymm2\n vmovdqu16 [rbx]{k1}, xmm2\n vmovdqa32 zmm1{k1}, [rbx]\n"
	"vmovdqa32 [rbx]{k1}, ymm2\n vmovaps xmm1{k1}, xmm22\n vmovapd zmm31{k7}{z}, [rbx]\n vmovss xmm1{k1}, [rbx]\n"
	"vmovss [rbx]{k1}, xmm1\n vmovsd xmm1{k1}{z}, xmm2, xmm3\n vpaddd zmm1, zmm2, dword ptr [rbx]{1to16}\n"
	"vpaddq ymm1{k1}, ymm2, qword ptr [rbx]{1to4}\n vpaddd zmm1{k1}{z}, zmm2, [rbx]\n vaddps zmm1, zmm2, zmm3, {rz-sae}\n"
	"vaddsd xmm1{k1}, xmm2, [rbx]\n vpcmpb k1{k2}, zmm1, [rbx], 1\n vpcmpub k1, ymm16, ymm17, 2\n vpcmpeqd k3, xmm1, [rbx]\n"
	"vptestmb k1{k2}, zmm1, zmm2\n vfpclassps k1, dword ptr [rbx]{1to16}, 3\n vpgatherdd zmm1{k1}, [rbx+zmm2*4]\n"
	"vpgatherdd xmm17{k1}, [rbx+xmm18*4]\n vpgatherqd ymm1{k1}, [rbx+zmm2*8]\n vpgatherdq zmm1{k2}, [rbx+ymm2*8]\n"
	"vpgatherqq zmm1{k2}, [rbx+zmm22*8+64]\n vgatherdps zmm1{k1}, [rbx+zmm2*4]\n vgatherqpd xmm1{k1}, [rbx+xmm2*8]\n"
	"vpscatterdd [rbx+zmm2*4]{k1}, zmm1\n vpscatterqd [rbx+zmm2*4]{k1}, ymm1\n vpscatterdq [rbx+ymm2*8]{k1}, zmm1\n"
	"vpscatterqq [rbx+ymm2*8]{k1}, ymm1\n vscatterqps [rbx+xmm2*4]{k1}, xmm1\n vpcompressd [rbx]{k1}, zmm1\n"
	"vpcompressd zmm1{k1}, zmm2\n vpexpandd zmm1{k1}, [rbx]\n vpexpandd zmm1{k1}{z}, zmm2\n vpcompressb [rbx]{k1}, ymm2\n"
	"vpexpandb ymm1{k1}{z}, [rbx]\n vcompresspd [rbx], zmm1\n vexpandps zmm1, [rbx]\n vpcompressq ymm1{k1}{z}, ymm2\n"
	"vpmovdb [rbx]{k1}, zmm1\n vpmovdb [rbx], zmm1\n vpmovqd ymm1{k1}, zmm2\n vpmovzxbd zmm1{k1}, [rbx]\n"
	"vpbroadcastd zmm1, eax\n vpbroadcastb ymm1{k1}{z}, [rbx]\n vbroadcasti64x4 zmm1, [rbx]\n vbroadcastf32x2 zmm1{k1}, [rbx]\n"
	"vextracti64x4 [rbx]{k1}, zmm1, 1\n vextracti32x4 [rbx], zmm1, 3\n vinserti32x8 zmm1, zmm2, [rbx], 1\n"
	"valignd zmm1, zmm2, [rbx], 3\n vpternlogd zmm1, zmm2, [rbx], 0x96\n vpermb zmm1, zmm2, [rbx]\n vpermi2d zmm1, zmm2, zmm3\n"
	"vpconflictd zmm1, [rbx]\n vplzcntq zmm1, qword ptr [rbx]{1to8}\n vpopcntb zmm1, zmm2\n vpsrld zmm1{k1}, [rbx], 3\n"
	"vcvtps2pd zmm1, [rbx]\n vcvtpd2ps ymm1, zmm2\n vcvtps2ph [rbx]{k1}, zmm1, 0\n vrndscaleps zmm1, [rbx], 1\n"
	"vmovntdq [rbx], zmm1\n vmovntdqa zmm1, [rbx]\n vpxord zmm1, zmm1, zmm1\n vpblendmd zmm1{k1}, zmm2, [rbx]\n"
	"kmovq k1, k2\n kmovq k1, [rbx]\n kmovq [rbx], k2\n kmovd k1, eax\n kmovq rax, k1\n kmovw k1, [rbx]\n kmovw [rbx], k3\n"
	"kmovb k1, [rbx]\n kmovb [rbx], k1\n kandq k1, k2, k3\n kxorq k1, k1, k1\n knotd k1, k2\n kshiftlq k1, k2, 3\n"
	"kunpckbw k1, k2, k3\n kortestd k1, k2\n ktestb k1, k2\n kaddw k1, k2, k3\n vpmovm2b zmm1, k1\n vpmovb2m k1, zmm2\n"
	"vpmovd2m k1, ymm2\n vpbroadcastmb2q zmm1, k2\n vpdpbusd zmm1, zmm2, [rbx]\n vpmadd52luq zmm1, zmm2, zmm3\n"
	"vaddph zmm1, zmm2, [rbx]\n vaddsh xmm1{k1}, xmm2, [rbx]\n vmovsh xmm1, [rbx]\n vmovsh [rbx]{k1}, xmm1\n vmovw xmm1, eax\n"
	"cpu_extra_end:\n"
	".att_syntax\n");

#endif
