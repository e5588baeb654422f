// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Instructions that show the machine's surroundings, executed without asking cpuid:
 * rdrand, rdseed and rdpid of every width, gs-relative code with a base of its own,
 * protection keys, and where the last x87 instruction lay. What the CPU lacks is left out.
 * `chance signals` takes timer signals meanwhile, `chance threads` has two threads,
 * `chance forks` a child, which has another, and each draws before and after.
 */
#include <asm/prctl.h>
#include <cpuid.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned n_signals;

static void on_signal(int signo)
{
	(void)signo;
	n_signals++;
}

/* cpuid would hide what is recorded: Linux tells what there is. */
static int has_flag(const char *flag)
{
	char line[8192], word[32];
	FILE *f = fopen("/proc/cpuinfo", "r");
	int found = 0;

	snprintf(word, sizeof(word), " %s ", flag);
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = ' ';
		found = !strncmp(line, "flags", 5) && strstr(line, word);
	}
	if (f)
		fclose(f);
	return found;
}

#define DRAW(type, insn)                                                              \
	({                                                                            \
		type v_ = 0;                                                          \
		unsigned char ok_;                                                    \
		__asm__ volatile(insn " %0; setc %1" : "+r"(v_), "=q"(ok_) : : "cc"); \
		(uint64_t) v_ * 2 + ok_;                                              \
	})

static uint64_t draw(int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		sum = sum * 31 + DRAW(uint64_t, "rdrand");
		sum = sum * 31 + DRAW(uint32_t, "rdrand");
		sum = sum * 31 + DRAW(uint16_t, "rdrand");
		if (sum & 1)
			sum ^= DRAW(uint64_t, "rdrand") << 7;
	}
	return sum;
}

static void *thread(void *arg)
{
	*(uint64_t *)arg = draw(20);
	return NULL;
}

/* @depth processes, each the child of the one before. */
static void draw_in_children(int depth)
{
	pid_t pid;

	if (!depth)
		return;
	pid = fork();
	if (!pid) {
		printf("child %d: %lx\n", depth, draw(10));
		fflush(stdout);
		draw_in_children(depth - 1);
		printf("child %d again: %lx\n", depth, draw(10));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void use_gs(void)
{
	static uint64_t area[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint64_t a, b = 0;

	if (syscall(SYS_arch_prctl, ARCH_SET_GS, area))
		return;
	__asm__ volatile("mov %%gs:16, %0; addq $5, %%gs:24" : "=r"(a) : : "memory");
	printf("gs %lu %lu\n", a, area[3]);
	if (!(getauxval(AT_HWCAP2) & 2))
		return;
	__asm__ volatile("rdgsbase %0" : "=r"(a));
	__asm__ volatile("wrgsbase %1; mov %%gs:8, %0"
			 : "=&r"(b)
			 : "r"(a + 8)
			 : "memory");
	printf("gs base %d %lu\n", a == (uintptr_t)area, b);
}

static void use_x87(void)
{
	uint32_t env[7];
	uint64_t at;

	__asm__ volatile("lea 1f(%%rip), %0; fld1; 1: fldpi; fstp %%st; fstp %%st"
			 : "=r"(at)
			 :
			 : "st", "st(1)");
	__asm__ volatile("fnstenv %0" : "=m"(env));
	printf("x87 at %d\n", env[3] - (uint32_t)at < 16);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	uint64_t v = 0;
	uint32_t keys;
	pthread_t t;

	use_gs();
	use_x87();
	if (has_flag("ospke")) {
		__asm__ volatile("rdpkru" : "=a"(keys) : "c"(0) : "rdx");
		__asm__ volatile("wrpkru" : : "a"(keys ^ 0xc0), "c"(0), "d"(0));
		__asm__ volatile("rdpkru" : "=a"(keys) : "c"(0) : "rdx");
		printf("keys %x\n", keys);
	}
	if (!has_flag("rdrand")) {
		puts("no rdrand");
		return 0;
	}
	if (!strcmp(what, "signals")) {
		signal(SIGALRM, on_signal);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	fflush(stdout);
	if (!strcmp(what, "forks"))
		draw_in_children(2);
	if (!strcmp(what, "threads") && pthread_create(&t, NULL, thread, &v))
		return 2;
	printf("rdrand %lx\n", draw(50));
	if (!strcmp(what, "threads"))
		pthread_join(t, NULL);
	if (has_flag("rdseed"))
		printf("rdseed %lx\n", DRAW(uint64_t, "rdseed"));
	if (has_flag("rdpid")) {
		uint64_t cpu;

		__asm__ volatile("rdpid %0" : "=r"(cpu));
		printf("rdpid %lx\n", cpu);
	}
	printf("thread %lx\n", v);
	printf("signals %s\n",
	       n_signals || strcmp(what, "signals") ? "came" : "did not come");
	return 0;
}
