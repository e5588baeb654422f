// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What unit_branch alters: says first where its parts are, then what came of each.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char altered_jump[], altered_call[];
int altered_global = 5;

__attribute__((noinline)) int altered_twice(int x)
{
	return 2 * x;
}

__attribute__((noinline)) static int choose(int x)
{
	int way;

	__asm__ volatile(".globl altered_jump\n\ttest %1, %1\naltered_jump:\n\tjz 1f\n\t"
			 "movl $1, %0\n\tjmp 2f\n1:\tmovl $2, %0\n2:"
			 : "=r"(way)
			 : "r"(x)
			 : "cc");
	return way;
}

static int calls;

__attribute__((noinline, used)) void altered_count(void)
{
	calls++;
}

static void call_it(void)
{
	__asm__ volatile(".globl altered_call\naltered_call:\n\tcall altered_count"
			 :
			 :
			 : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			   "r10", "r11");
}

__attribute__((noinline)) int altered_read(char *to)
{
	return read(0, to, 4);
}

int main(void)
{
	char first[5] = "", second[5] = "";

	printf("%p %p %p %p %p\n", (void *)altered_twice, (void *)&altered_global,
	       (void *)altered_jump, (void *)altered_call, (void *)altered_read);
	fflush(stdout);
	for (int i = 0; i < 6; i++)
		call_it();
	if (mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return 1;
	altered_read(first);
	altered_read(second);
	printf("twice %d, global %d, way %d, calls %d, read '%s' '%s'\n",
	       altered_twice(21), altered_global, choose(1), calls, first, second);
	fflush(stdout);
	if (altered_global == 99)
		altered_read(first);
	return altered_global;
}
