// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * server [THREADS [filtered|plain]]: something that runs until SIGTERM and is easily harmed. Each thread
 * waits, reads clocks, TSC, cpuid and its protection keys, allocates and checks sums; a timer interrupts. What
 * is not as it should be is told at once, with status 1. `filtered': it may not make the
 * calls that attaching to it takes, and would be killed for them; `plain': it leaves TSC
 * and cpuid alone, and copes with EINTR. Prints a line now and then, and
 * the numbers of its work at the end:
 *
 *	up PID
 *	tick ITERATIONS
 *	done ITERATIONS ALARMS
 */
// FLAGS: -lpthread
#include <cpuid.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define BLOCKS 64

static volatile sig_atomic_t is_over, n_alarms;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t shared_sum, n_iterations;
static bool is_plain;

/* The protection keys' register, a thread's own; bits of keys that nobody has. */
static bool has_keys;
static uint32_t first_keys;

static uint32_t keys_get(void)
{
	uint32_t keys = 0, zero;

	if (has_keys)
		__asm__ volatile("rdpkru" : "=a"(keys), "=d"(zero) : "c"(0));
	return keys;
}

static void keys_set(uint32_t keys)
{
	if (has_keys)
		__asm__ volatile("wrpkru" : : "a"(keys), "c"(0), "d"(0));
}

static void keys_start(void)
{
	unsigned a, b, c = 0, d;

	has_keys = !is_plain && __get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 4 & 1;
	first_keys = keys_get();
}

static void on_term(int signo)
{
	(void)signo;
	is_over = 1;
}

static void on_alarm(int signo)
{
	(void)signo;
	n_alarms++;
	// The kernel lets handlers begin as programs do.
	if (keys_get() != first_keys)
		_exit(3);
}

__attribute__((noreturn)) static void wrong(const char *what, long value)
{
	printf("wrong: %s (%ld)\n", what, value);
	fflush(stdout);
	_exit(1);
}

/** Signals are blocked here: nothing may end the wait early. */
static void wait_a_little(int epoll)
{
	struct epoll_event e;
	int n = epoll_wait(epoll, &e, 1, 1);

	if (n && !(is_plain && n < 0 && errno == EINTR))
		wrong("epoll_wait", n < 0 ? errno : n);
}

static void check_clocks(uint64_t *last_ns, uint64_t *last_tsc)
{
	struct timespec ts;
	struct timeval tv;
	uint64_t ns, tsc;
	unsigned aux;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	gettimeofday(&tv, NULL);
	ns = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	tsc = is_plain ? 0 : __rdtsc();
	if (ns < *last_ns)
		wrong("the clock went back", *last_ns - ns);
	if (!is_plain && (tsc < *last_tsc || __rdtscp(&aux) < tsc))
		wrong("the TSC went back", *last_tsc - tsc);
	if (time(NULL) - tv.tv_sec > 1)
		wrong("time", tv.tv_sec);
	*last_ns = ns;
	*last_tsc = tsc;
}

static void check_cpuid(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(0, &a, &b, &c, &d) || !a)
		wrong("cpuid", a);
}

/** A heap block a call, its contents checked when its turn comes again. */
static void churn(uint8_t *blocks[BLOCKS], uint64_t i)
{
	uint8_t **slot = &blocks[i % BLOCKS];
	size_t size = 16 + i * 37 % 900;

	if (*slot && (*slot)[15] != (uint8_t)(i - BLOCKS))
		wrong("heap", i);
	free(*slot);
	*slot = malloc(size);
	if (!*slot)
		wrong("malloc", size);
	memset(*slot, (uint8_t)i, size);
}

static void tell(uint64_t n)
{
	printf("tick %lu\n", n);
	fflush(stdout);
}

/** @p alone: a pointer to the signals that are let in while it does not wait; NULL in
 * threads, where the first one takes them. */
static void *work(void *alone)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t last_ns = 0, last_tsc = 0, sum = 0, i = 0;
	uint8_t *blocks[BLOCKS] = {};
	uint32_t keys = first_keys ^ (uint32_t)epoll << 26;

	keys_set(keys);
	for (; !is_over; i++) {
		if (has_keys && keys_get() != keys)
			wrong("protection keys", keys_get());
		if (alone)
			pthread_sigmask(SIG_UNBLOCK, alone, NULL);
		check_clocks(&last_ns, &last_tsc);
		if (i % 16 == 0 && !is_plain)
			check_cpuid();
		for (int k = 0; k < 2000; k++)
			churn(blocks, sum++);
		pthread_mutex_lock(&lock);
		shared_sum += 2000;
		n_iterations++;
		pthread_mutex_unlock(&lock);
		if (alone)
			pthread_sigmask(SIG_BLOCK, alone, NULL);
		if (alone && i % 20 == 19)
			tell(i + 1);
		wait_a_little(epoll);
	}
	if (sum != i * 2000)
		wrong("a thread's sum", sum);
	for (int k = 0; k < BLOCKS; k++)
		free(blocks[k]);
	close(epoll);
	return NULL;
}

static void start_alarm(void)
{
	struct itimerval every = { { 0, 7000 }, { 0, 7000 } };
	struct sigaction alarm = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &alarm, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/** The first thread takes the signals; the timer ends its wait. */
static void tick(void)
{
	uint64_t told = 0;

	while (!is_over) {
		sigset_t none;

		sigemptyset(&none);
		if (sigsuspend(&none) != -1 || errno != EINTR)
			wrong("sigsuspend", errno);
		pthread_mutex_lock(&lock);
		if (n_iterations - told >= 20) {
			told = n_iterations;
			tell(told);
		}
		pthread_mutex_unlock(&lock);
	}
}

static void forbid_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), // the number
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		wrong("seccomp", errno);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t threads[64];
	sigset_t all;

	is_plain = argc > 2 && !strcmp(argv[2], "plain");
	keys_start();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	signal(SIGTERM, on_term);
	printf("up %d\n", getpid());
	fflush(stdout);
	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			wrong("pthread_create", i);
	start_alarm();
	if (argc > 2 && !strcmp(argv[2], "filtered"))
		forbid_calls();
	if (n)
		tick();
	else
		work(&all);
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	if (shared_sum != n_iterations * 2000)
		wrong("the sum of all", shared_sum);
	printf("done %lu %d\n", n_iterations, n_alarms);
	return 0;
}
