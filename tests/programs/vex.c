// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -mavx

/*
 * vex: stores of vectors, beside AVX instructions whose opcodes mean a push, a jump, a
 * return or an unknown instruction in the map of one byte. Prints a sum.
 */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>

#define N 64

static float a[N] __attribute__((aligned(32))), b[N] __attribute__((aligned(32)));
static uint64_t sums[N] __attribute__((aligned(32)));

__attribute__((noinline)) static void work(float *to, const float *from, uint64_t *words)
{
	for (int i = 0; i < N; i += 8) {
		__m256 x = _mm256_load_ps(from + i), y = _mm256_loadu_ps(to + i);
		__m256 less = _mm256_cmp_ps(x, y, _CMP_LT_OQ); // c2: ret
		__m128i w = _mm_loadu_si128((const __m128i *)(words + i));

		x = _mm256_xor_ps(_mm256_and_ps(x, less), y); // 54, 57: push
		_mm256_storeu_ps(to + i, x);
		w = _mm_add_epi64(w, _mm_castps_si128(_mm256_castps256_ps128(x)));
		w = _mm_or_si128(w, _mm_shuffle_epi32(w, 0x4e)); // eb, 70: jumps
		_mm_storeu_si128((__m128i *)(words + i), w);	 // 7f: a jump
		_mm_storel_epi64((__m128i *)(words + i + 2), w); // d6
		_mm_stream_si128((__m128i *)(words + i + 4), w); // e7
		_mm256_zeroupper();				 // 77: a jump
	}
}

int main(void)
{
	double sum = 0;
	uint64_t words = 0;

	for (int i = 0; i < N; i++) {
		a[i] = i * 1.5f;
		b[i] = (i * 7) % N;
	}
	for (int i = 0; i < 20; i++)
		work(a, b, sums);
	for (int i = 0; i < N; i++) {
		sum += a[i];
		words = words * 31 + sums[i];
	}
	printf("%.3f %lx\n", sum, words);
	return 0;
}
