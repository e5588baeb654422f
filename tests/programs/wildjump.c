// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// FLAGS: -O1 -lpthread
/*
 * Branches to where no program can be, in each way; a handler prints where the CPU says that
 * it was and goes on with the next. Then once more without a handler. With an argument, a
 * second thread does so too.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static __thread sigjmp_buf back;
static __thread uint64_t words[4];

static void on_segv(int signo, siginfo_t *si, void *context)
{
	const ucontext_t *u = context;
	uint64_t below;

	// What a call would have pushed is seen here.
	memcpy(&below, (const void *)(u->uc_mcontext.gregs[REG_RSP] - 8), sizeof(below));
	printf("%d %d %p %llx %llx %llx\n", signo, si->si_code, si->si_addr,
	       (unsigned long long)u->uc_mcontext.gregs[REG_RIP],
	       (unsigned long long)u->uc_mcontext.gregs[REG_RSP],
	       (unsigned long long)below);
	siglongjmp(back, 1);
}

static void branch(int way, uint64_t to)
{
	uint64_t *at = &words[1];

	*at = to;
	switch (way) {
	case 0:
		__asm__ volatile("movq $77, -8(%%rsp)\ncall *%0" : : "r"(to) : "memory");
		break;
	case 1:
		__asm__ volatile("call *8(%0)" : : "r"(at - 1) : "memory");
		break;
	case 2:
		__asm__ volatile("jmp *%0" : : "r"(to));
		break;
	case 3:
		__asm__ volatile("jmp *(%0)" : : "r"(at));
		break;
	case 4:
		__asm__ volatile("push %0\nret" : : "r"(to) : "memory");
		break;
	case 5: // the same registers, and a target that changes: it passes thrice
		at[1] = to, at[0] = (uintptr_t) && again;
	again:
		__asm__ volatile("" : : : "memory");
		if (__atomic_add_fetch(&at[2], 1, __ATOMIC_RELAXED) == 4)
			at[0] = at[1];
		__asm__ volatile goto("mov %0, %%rax\nxor %%ecx, %%ecx\njmp *(%%rax)"
				      :
				      : "r"(at)
				      : "rax", "rcx", "memory", "cc"
				      : again);
	}
}

static void *work(void *unused)
{
	static const uint64_t to[] = {
		0x8000000000001234,  1ull << 47, -1ull << 47, 0xffffffff81000000, 8,
		(1ull << 47) - 4096, ~0ull
	};

	for (volatile int way = 0; way < 6; way++)
		for (volatile size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
			words[3] = 0;
			if (!sigsetjmp(back, 1))
				branch(way, to[i]);
		}
	return unused;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	pthread_t thread;

	(void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGSEGV, &sa, NULL);
	if (argc > 1)
		pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	if (argc > 1)
		pthread_join(thread, NULL);
	signal(SIGSEGV, SIG_DFL);
	branch(4, 0x8000000000001234);
	return 0;
}
