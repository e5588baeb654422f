// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Kills its children around their first instructions: behind fork, before, in and behind exec.
// Prints how many ended by the signal: all.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One that executes itself, and goes on for ever. */
static pid_t start(char *self, int does_exec)
{
	char *argv[] = { self, "again", NULL };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (does_exec)
		execv("/proc/self/exe", argv);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, killed = 0;

	if (argc > 1 && !strcmp(argv[1], "again"))
		for (;;)
			pause();
	for (int i = 0; i < n; i++) {
		// The moment is another one each time, up to 4 ms behind the fork.
		struct timespec nap = { .tv_nsec = i % 5 * 1000000L };
		pid_t pid = start(argv[0], i % 3);
		int status = 0;

		if (nap.tv_nsec)
			nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
			killed++;
	}
	printf("%d of %d killed\n", killed, n);
	return 0;
}
