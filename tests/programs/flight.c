// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -lpthread -fno-omit-frame-pointer

/**
 * @file
 * flight corrupt|threads|spawn|serve [N]: what the flight recorder is for. Each prints on stdout
 * the allocator calls that it makes ("malloc SIZE POINTER", "free POINTER"), and where the
 * truth of its end stands.
 *
 *   corrupt   N pairs of malloc and free, then an overflow, which glibc notices inside
 *             malloc: it aborts there, three calls deep
 *   threads   four threads work, a fifth one faults
 *   spawn     N threads, one after the other, each of which ends at once
 *   serve     until SIGTERM; SIGUSR1 makes it call report_error()
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t wants_error, wants_end;
uint64_t truth = 0x1122334455667788; ///< the test looks for it in the core

static void *noted_malloc(size_t size)
{
	void *p = malloc(size);

	printf("malloc %zx %lx\n", size, (unsigned long)p);
	return p;
}

static void noted_free(void *p)
{
	printf("free %lx\n", (unsigned long)p);
	free(p);
}

/** glibc checks the size of the top chunk, which stands behind what was allocated last. */
__attribute__((noinline)) static int corrupt_heap(void)
{
	char *volatile last = noted_malloc(0x5000);

	fflush(stdout);
	memset(last, 0x41, 0x5000 + 64);
	last = malloc(0x6000);
	return last != NULL;
}

static int corrupt(int n)
{
	void *kept[16] = {};

	for (int i = 0; i < n; i++) {
		if (kept[i % 16])
			noted_free(kept[i % 16]);
		kept[i % 16] = noted_malloc(24 + i % 7 * 16);
	}
	return corrupt_heap();
}

static void *work(void *arg)
{
	volatile uint64_t sum = (uintptr_t)arg;

	for (;;) {
		void *p = malloc(64);

		sum += (uintptr_t)p;
		free(p);
	}
	return NULL;
}

static void *fault(void *arg)
{
	usleep(50000);
	printf("fault at %p\n", arg);
	fflush(stdout);
	*(volatile int *)arg = 1;
	return NULL;
}

static int threads(void)
{
	pthread_t t;

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t, NULL, work, (void *)i);
	pthread_create(&t, NULL, fault, (void *)0x123450);
	pthread_join(t, NULL);
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static int spawn(int n)
{
	pthread_t t;

	for (int i = 0; i < n; i++) {
		pthread_create(&t, NULL, nothing, NULL);
		pthread_join(t, NULL);
	}
	return 0;
}

static void on_signal(int signo)
{
	if (signo == SIGUSR1)
		wants_error = 1;
	else
		wants_end = 1;
}

__attribute__((noinline)) void report_error(uint64_t code)
{
	__asm__ volatile("" : : "r"(code) : "memory");
	truth++;
}

static int serve(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	printf("ready\n");
	fflush(stdout);
	for (uint64_t i = 0; !wants_end; i++) {
		free(malloc(100));
		if (wants_error) {
			wants_error = 0;
			report_error(0xe0000000 + truth % 16);
		}
		usleep(1000);
	}
	printf("truth %lx\n", (unsigned long)truth);
	return 7;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "corrupt";

	printf("truth at %lx\n", (unsigned long)&truth);
	if (!strcmp(what, "corrupt"))
		return corrupt(argc > 2 ? atoi(argv[2]) : 100);
	if (!strcmp(what, "threads"))
		return threads();
	if (!strcmp(what, "spawn"))
		return spawn(argc > 2 ? atoi(argv[2]) : 10);
	return serve();
}
