// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// vfork children allocate in their parent's memory, and release there; one of two mistakes of the parent's by number.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *made, *lost, *volatile again, *volatile freed[3];

int main(int argc, char **argv)
{
	int wrong = argc > 1 ? atoi(argv[1]) : 0;
	char *mine = malloc(600), *other;

	again = malloc(40);
	strcpy(mine, "mine");
	lost = malloc(300);
	for (int i = 0; i < 3; i++)
		freed[i] = malloc(500);
	for (int i = 0; i < 3; i++)
		free(freed[i]);
	for (int i = 0; i < 3; i++) {
		pid_t pid = vfork();
		if (!pid) {
			made = malloc(500);
			memset(made, i, 500);
			free(lost);
			lost = NULL;
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		other = malloc(300);
		strcpy(other, "other");
		made[499] += other[0];
		freed[i % 3] = made;
		printf("%d\n", freed[i % 3][499] == 'o' + i);
		free(made);
		free(other);
	}
	if (wrong == 1) {
		free(again);
		free(again);
		return 0;
	}
	if (wrong == 2)
		printf("%d\n", mine[600]);
	free(mine);
	free(again);
	return 0;
}
