// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The first process of a name space of its own dies of a fault. 77: this host makes none.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status = 0;
	pid_t child;

	if (unshare(CLONE_NEWPID))
		return 77;
	child = fork();
	if (!child)
		*(volatile int *)0 = getpid();
	waitpid(child, &status, 0);
	printf("killed by %d\n", WTERMSIG(status));
	return 0;
}
