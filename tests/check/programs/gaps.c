// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Structs with gaps are copied in twelve ways, and what has a value in them is looked at. With a number, of that copy
// what is in the gap. Each way is right for what it copies, and for what is beside it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 12, BYTES = 64, GAP = 12 };

static volatile int seen;

/* By a vector register, which holds something else before and behind. */
static void by_vector(char *to, const char *from, const char *whole)
{
	__asm__ volatile("movups (%2), %%xmm0\n movdqu (%1), %%xmm0\n movups %%xmm0, (%0)\n"
			 "movups (%2), %%xmm0\n movups %%xmm0, 16(%0)" ::"r"(to),
			 "r"(from), "r"(whole)
			 : "xmm0", "memory");
}

static void by_word(char *to, const char *from)
{
	__asm__ volatile("mov 8(%1), %%rax\n mov %%rax, 8(%0)\n mov (%1), %%rax\n mov %%rax, (%0)" ::
				 "r"(to),
			 "r"(from)
			 : "rax", "memory");
}

/* Its address is in the register that is loaded. */
static void by_its_own(char *to, const char *from)
{
	__asm__ volatile("mov 8(%1), %1\n mov %1, 8(%0)" : "+r"(to), "+r"(from)::"memory");
}

/* It is stored in another block than it was loaded in. */
static void by_blocks(char *to, const char *from)
{
	__asm__ volatile("movups (%1), %%xmm3\n jmp 1f\n 1: mov $3, %%eax\n 2: dec %%eax\n jnz 2b\n"
			 "movups %%xmm3, (%0)" ::"r"(to),
			 "r"(from)
			 : "xmm3", "rax", "memory");
}

/* The lower half is computed with meanwhile. */
static void by_halves(char *to, const char *from)
{
	static const double one = 1;

	__asm__ volatile("movups (%1), %%xmm2\n addsd %2, %%xmm2\n ucomisd %2, %%xmm2\n"
			 "movups %%xmm2, (%0)" ::"r"(to),
			 "r"(from), "m"(one)
			 : "xmm2", "memory", "cc");
}

/* As it is, or 0, which is decided between the two. */
static void by_branch(char *to, const char *from, int is_zero)
{
	__asm__ volatile("mov 8(%1), %%rax\n test %2, %2\n jz 1f\n xor %%eax, %%eax\n"
			 "1: mov %%rax, 8(%0)" ::"r"(to),
			 "r"(from), "r"(is_zero)
			 : "rax", "memory", "cc");
}

/* The register is defined behind a branch that leaves before. */
static void by_side(char *to, const char *from, int is_zero)
{
	__asm__ volatile("mov 8(%1), %%rcx\n jmp 1f\n 1: test %2, %2\n jz 2f\n mov $5, %%ecx\n"
			 "2: mov %%rcx, 8(%0)" ::"r"(to),
			 "r"(from), "r"(is_zero)
			 : "rcx", "memory", "cc");
}

static void by_parts(char *to, const char *from)
{
	__asm__ volatile("mov 8(%1), %%rax\n mov %%eax, 8(%0)\n shr $32, %%rax\n mov %%eax, 12(%0)" ::
				 "r"(to),
			 "r"(from)
			 : "rax", "memory", "cc");
}

static void by_string(char *to, const char *from)
{
	__asm__ volatile("movsq\n movsq" : "+D"(to), "+S"(from)::"memory");
}

static void by_low_half(char *to, const char *from)
{
	__asm__ volatile("movsd 8(%1), %%xmm1\n movsd %%xmm1, 8(%0)\n movq 8(%1), %%xmm1\n"
			 "movups %%xmm1, 16(%0)" ::"r"(to),
			 "r"(from)
			 : "xmm1", "memory");
}

static void by_register(char *to, const char *from)
{
	__asm__ volatile("movups (%1), %%xmm4\n movaps %%xmm4, %%xmm5\n movups %%xmm5, (%0)" ::
				 "r"(to),
			 "r"(from)
			 : "xmm4", "xmm5", "memory");
}

static void copy(int way, char *to, const char *from, const char *whole)
{
	switch (way) {
	case 1:
		by_vector(to, from, whole);
		break;
	case 2:
		by_word(to, from);
		break;
	case 3:
		by_its_own(to, from);
		break;
	case 4:
		by_blocks(to, from);
		break;
	case 5:
		by_halves(to, from);
		break;
	case 6:
		by_branch(to, from, 0);
		break;
	case 7:
		by_side(to, from, 0);
		break;
	case 8:
		by_parts(to, from);
		break;
	case 9:
		by_string(to, from);
		break;
	case 10:
		by_low_half(to, from);
		break;
	case 11:
		by_register(to, from);
		break;
	default:
		memcpy(to, from, BYTES);
		by_branch(to + 16, whole, 1);
	}
}

__attribute__((noinline)) static void look(const char *at)
{
	if (*at == 1)
		seen++;
}

int main(int argc, char **argv)
{
	int mistake = argc > 1 ? atoi(argv[1]) : 0;
	char *from = malloc(BYTES), *to = malloc(BYTES), *whole = calloc(1, BYTES);

	memset(from, 0, GAP);
	memset(from + GAP + 4, 0, BYTES - GAP - 4);
	for (int round = 0; round < 200; round++)
		for (int way = 1; way <= WAYS; way++) {
			memset(to, 2, BYTES);
			copy(way, to, from, whole);
			look(to + (way == mistake ? GAP + 1 : GAP - 1));
			look(to + GAP + 4);
			look(to + 30);
		}
	printf("%d\n", seen);
	free(from);
	free(to);
	free(whole);
	return 0;
}
