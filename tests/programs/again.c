// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Threads one after the other, of which every 32nd gets the same number, each with a word of its own that says how it
 * is. Recorded, some end before the call that makes them has returned. Exits with 77 where numbers cannot be chosen.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 1200
#define NUMBERS 32
#define STACK (16 << 10)
#define FLAGS                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |         \
	 CLONE_CHILD_CLEARTID)

static char stacks[NUMBERS][STACK] __attribute__((aligned(16)));
static pid_t words[THREADS];
static int sum;

static int run(void *arg)
{
	__sync_fetch_and_add(&sum, *(int *)arg);
	syscall(SYS_exit, 0);
	return 0;
}

/** Until thread @p i has ended. */
static void join(int i)
{
	pid_t tid;

	while ((tid = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE)))
		syscall(SYS_futex, &words[i], FUTEX_WAIT, tid, NULL, NULL, 0);
}

int main(void)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY), same = 0;
	pid_t first = getpid() + 1;
	char text[16];

	for (int i = 0; i < THREADS; i++) {
		int one = i;
		pid_t tid;

		snprintf(text, sizeof(text), "%d", first + i % NUMBERS - 1);
		if (fd < 0 || pwrite(fd, text, strlen(text), 0) < 0)
			return 77;
		tid = clone(run, stacks[i % NUMBERS] + STACK, FLAGS, &one, &words[i],
			    NULL, &words[i]);
		if (tid < 0)
			return 1;
		usleep(100); // a call that waits for the word would tell what it is
		same += tid == first + i % NUMBERS;
		join(i);
	}
	// Others begin processes, too.
	printf("sum %d\n", sum);
	return same > THREADS / 2 ? 0 : 77;
}
