// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w -fno-builtin

/**
 * @file
 * Mistakes that end the program, one a run: the argument says which. A line that is wrong says by which rule.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))
#define HERE                             \
	__asm__ volatile(""              \
			 :               \
			 : "i"(__LINE__) \
			 : "memory") // what ends so is not shared with others

struct node {
	long value;
	struct node *next;
	char name[200];
	int table[3000];
};

static void *volatile sink, *volatile kept;
static volatile long sum;
static char in_data[100];

KEEP static void *same(void *p)
{
	sink = p;
	return sink;
}

KEEP static struct node *find(struct node *n, long value)
{
	while (n && n->value != value)
		n = n->next;
	return n;
}

int main(int argc, char **argv)
{
	char on_stack[100] = "", *p = same(malloc(50));
	struct node *null = same(NULL), *n = same(calloc(1, sizeof(*n)));
	void (*call)(void);

	// clang-format off
	switch (argc > 1 ? atoi(argv[1]) : 0) {
	case 1: free(same(on_stack)); HERE; break; // expect: UNMATCHED-FREE
	case 2: free(same(in_data)); HERE; break; // expect: UNMATCHED-FREE
	case 3: free(same(p + 16)); HERE; break; // expect: UNMATCHED-FREE
	case 4: free(same(n->name)); HERE; break; // expect: UNMATCHED-FREE
	case 5: sink = realloc(same(p + 8), 100); HERE; break; // expect: UNMATCHED-FREE
	case 6: free(same("a constant")); HERE; break; // expect: UNMATCHED-FREE
	case 7: free(same(argv[0])); HERE; break; // expect: UNMATCHED-FREE
	case 8: free(same(mmap(NULL, 4096, 3, 0x22, -1, 0))); HERE; break; // expect: UNMATCHED-FREE
	case 9: free(same(main)); HERE; break; // expect: UNMATCHED-FREE
	case 10: free(same(p - 16)); HERE; break; // expect: UNMATCHED-FREE
	case 11: sum = null->value; HERE; break; // expect: NULL-DEREF
	case 12: null->value = 1; HERE; break; // expect: NULL-DEREF
	case 13: sum = null->table[2999]; HERE; break; // expect: NULL-DEREF
	case 14: sum = (long)find(n, 77)->next; HERE; break; // expect: NULL-DEREF
	case 15: sum = strlen((char *)null); HERE; break; // expect: NULL-DEREF
	case 16: strcpy((char *)null, "text"); HERE; break; // expect: NULL-DEREF
	case 17: n->next->next = n; HERE; break; // expect: NULL-DEREF
	case 18: sum = ((char *volatile *)argv)[argc][0]; HERE; break; // expect: NULL-DEREF
	case 19: memset(null, 0, 8); HERE; break; // expect: NULL-DEREF
	case 20: sum = getenv("NO_SUCH_NAME")[0]; HERE; break; // expect: NULL-DEREF
	case 21: sum = *(long *)same((void *)0x123456789000); HERE; break; // expect: WILD-DEREF
	case 22: *(char *)same("a constant") = 1; HERE; break; // expect: WILD-DEREF
	case 23: sum = *(long *)same((void *)0x4142434445464748); HERE; break; // expect: WILD-DEREF
	case 24: munmap(p = mmap(NULL, 4096, 3, 0x22, -1, 0), 4096); sum = p[5]; HERE; break; // expect: WILD-DEREF
	case 25: p = same(malloc(500000)); free(p); sum = p[9]; HERE; break; // expect: DANGLING-READ
	case 26: p = same(malloc(300000)); for (long i = 0;; i++) p[i] = 1; HERE; break; // expect: HEAP-OVERFLOW
	case 27: *(char *)same(main) = 1; HERE; break; // expect: WILD-DEREF
	case 28: sum = *(char *)same(mmap(NULL, 4096, PROT_NONE, 0x22, -1, 0)); HERE; break; // expect: WILD-DEREF
	case 29: memset(same(mmap(NULL, 4096, PROT_READ, 0x22, -1, 0)), 1, 9); HERE; break; // expect: WILD-DEREF
	case 30: call = same((void *)0x123456789000); call(); HERE; break; // expect: WILD-DEREF
	case 31: call = same(in_data); call(); HERE; break; // expect: WILD-DEREF
	case 32: n->next = same((void *)0x5555); sum = n->next->value; HERE; break; // expect: WILD-DEREF
	case 33: sum = strlen(same((void *)0x123456789000)); HERE; break; // expect: WILD-DEREF
	case 34: mprotect(p = mmap(NULL, 4096, 3, 0x22, -1, 0), 4096, PROT_READ); p[7] = 1; HERE; break; // expect: WILD-DEREF
	case 35: call = (void (*)(void))null; call(); HERE; break; // expect: NULL-DEREF
	case 36: __asm__ volatile("push %0\n ret" : : "r"(same((void *)0x4142434445464748))); HERE; break; // expect: WILD-DEREF
	case 37: call = same((void *)0x4142434445464748); call(); HERE; break; // expect: WILD-DEREF
	case 38: free(p); free(n); kept = malloc(30); sink = malloc(40); sink = NULL; abort(); // expect: DEFINITE-LEAK
	case 39: __asm__ volatile("movb $1, (%%rsp, %0)" : : "r"(same((void *)(1l << 50)))); HERE; break; // expect: WILD-DEREF
	case 40: sum = *((long **)same(malloc(80)))[5]; HERE; break; // expect: UNINIT-USE
	case 41: p = same(malloc(80)); memset(p, 'A', 80); free(p); call = ((void (**)(void))same(malloc(80)))[5]; call(); HERE; break; // expect: UNINIT-USE
	case 42: sum = strlen(((char **)same(malloc(80)))[5]); HERE; break; // expect: UNINIT-USE
	case 90: __builtin_trap(); // an instruction, and no access, is what the signal is about
	case 91: sum = 7 / (long)same(NULL); HERE; break;
	case 92: kill(getpid(), SIGBUS); HERE; break; // of an access that does not exist
	default:
		if (null)
			sum = null->value;
		free(p);
		free(n);
		return 0;
	}
	// clang-format on
	return 1;
}
