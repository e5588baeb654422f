// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Loads and stores of vectors at a block's end, of which a mask has only the lanes that lie in it accessed; with
 * an argument one lane of the last store lies behind it. Exits with 77 without AVX2.
 */
#include <immintrin.h>
#include <stdlib.h>

__attribute__((target("avx2"))) static int by_sign(int *p, int n, int lanes)
{
	const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	const __m256i right = _mm256_cmpgt_epi32(_mm256_set1_epi32(4), count);
	__m256i v = _mm256_maskload_epi32(p + n - 4, right);

	_mm256_maskstore_epi32(p + n - 4,
			       _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), count),
			       _mm256_add_epi32(v, count));
	return _mm256_extract_epi32(v, 3);
}

__attribute__((target("avx512f"))) static int by_mask(int *p, int n, int lanes)
{
	__m512i v = _mm512_maskz_loadu_epi32(0xf, p + n - 4);

	_mm512_mask_storeu_epi32(p + n - 4, (1 << lanes) - 1,
				 _mm512_add_epi32(v, _mm512_set1_epi32(1)));
	return _mm_extract_epi32(_mm512_castsi512_si128(v), 3);
}

int main(int argc, char **argv)
{
	// A multiple of malloc's 16 bytes, less the next block's size: nothing is between.
	int n = 14, *volatile block = calloc(n, sizeof(int)), sum = 0;

	(void)argv;
	if (!__builtin_cpu_supports("avx2"))
		return 77;
	for (int i = 0; i < 1000; i++)
		sum += by_sign(block, n, 4);
	if (__builtin_cpu_supports("avx512f"))
		for (int i = 0; i < 1000; i++)
			sum += by_mask(block, n, argc > 1 ? 4 + (i == 999) : 4);
	else if (argc > 1)
		by_sign(block, n, 5);
	free(block);
	return sum & 1;
}
