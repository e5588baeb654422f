// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// FLAGS: -lm
/**
 * @file
 * Arithmetic in every unit: x87 with its 64-bit mantissa and control word, SSE with each
 * rounding mode, AVX, FMA and AVX-512 where the processor has them.
 */
#include <fenv.h>
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t bits_of(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

static void do_x87(void)
{
	volatile long double x = 1.0L, y = 3.0L;
	long double sum = 0;
	unsigned short control;

	for (int i = 1; i < 2000; i++) {
		x = x * 1.0000001L + sinl(i) / y;
		sum += sqrtl(fabsl(x)) - atan2l(x, i) + fmodl(x * 1000, y);
	}
	__asm__ volatile("fnstcw %0" : "=m"(control));
	printf("x87 %.20Lg %.20Lg control %x\n", x, sum, control);
	control &= ~0x300; // 24-bit mantissas
	__asm__ volatile("fldcw %0" : : "m"(control));
	x = 1;
	x /= y;
	printf("x87 short %.20Lg\n", x);
	control |= 0x300;
	__asm__ volatile("fldcw %0" : : "m"(control));
}

static void do_rounding(void)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
				     FE_TOWARDZERO };
	volatile double one = 1, three = 3, tiny = 5e-324;

	for (int i = 0; i < 4; i++) {
		fesetround(modes[i]);
		printf("round %d: %lx %lx %ld\n", i, bits_of(one / three),
		       bits_of(-one / three), lrint(2.5 * one));
	}
	fesetround(FE_TONEAREST);
	feclearexcept(FE_ALL_EXCEPT);
	one = tiny / three;
	printf("flags %x\n", fetestexcept(FE_ALL_EXCEPT));
}

static void do_sse(void)
{
	__m128d v = _mm_set_pd(1.5, -2.25), w = _mm_set1_pd(1.0000001);
	__m128i k = _mm_set1_epi32(0x01020304);
	double out[2];

	for (int i = 0; i < 1000; i++) {
		v = _mm_add_pd(_mm_mul_pd(v, w), _mm_sqrt_pd(_mm_mul_pd(v, v)));
		v = _mm_div_pd(v, _mm_set1_pd(1.9));
		k = _mm_add_epi32(_mm_shuffle_epi32(k, 0x1b), _mm_cvtpd_epi32(v));
	}
	_mm_storeu_pd(out, v);
	printf("sse %lx %lx %x\n", bits_of(out[0]), bits_of(out[1]),
	       _mm_cvtsi128_si32(k));
}

__attribute__((target("avx2,fma"))) static void do_avx(void)
{
	__m256d v = _mm256_set_pd(1, 2, 3, 4), w = _mm256_set1_pd(0.999);
	__m256i k = _mm256_set1_epi64x(0x123456789abcdef);
	double out[4];
	uint64_t ints[4];

	for (int i = 0; i < 1000; i++) {
		v = _mm256_fmadd_pd(v, w, _mm256_permute4x64_pd(v, 0x39));
		v = _mm256_mul_pd(v, _mm256_set1_pd(0.5));
		k = _mm256_add_epi64(k, _mm256_shuffle_epi8(k, _mm256_castpd_si256(v)));
	}
	_mm256_storeu_pd(out, v);
	_mm256_storeu_si256((__m256i *)ints, k);
	for (int i = 0; i < 4; i++)
		printf("avx %lx %lx\n", bits_of(out[i]), ints[i]);
}

__attribute__((target("avx512f"))) static void do_avx512(void)
{
	__m512i k = _mm512_set1_epi64(0x0f1e2d3c4b5a6978);
	__m512d v = _mm512_set1_pd(1.25);
	double out[8];
	uint64_t ints[8];

	for (int i = 0; i < 1000; i++) {
		__mmask8 m = _mm512_cmpgt_epi64_mask(k, _mm512_set1_epi64(i * 77777));

		k = _mm512_mask_add_epi64(k, m, k, _mm512_rol_epi64(k, 13));
		k = _mm512_mask_sub_epi64(k, ~m, k, _mm512_set1_epi64(0x5555 * i));
		v = _mm512_mask_sqrt_pd(v, m, _mm512_add_pd(v, _mm512_set1_pd(i)));
	}
	_mm512_storeu_pd(out, v);
	_mm512_storeu_si512(ints, k);
	for (int i = 0; i < 8; i++)
		printf("avx512 %lx %lx\n", bits_of(out[i]), ints[i]);
}

int main(void)
{
	do_x87();
	do_rounding();
	do_sse();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		do_avx();
	if (__builtin_cpu_supports("avx512f"))
		do_avx512();
	return 0;
}
