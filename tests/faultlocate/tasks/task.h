/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright 2026 The Faultline authors */
#ifndef TASK_H
#define TASK_H

/**
 * @file
 * What the programs of this folder share: `PROGRAM KIND` does what is wrong, `PROGRAM KIND fixed`
 * does not. Above each kind stands its specification, behind tabs. The line that is wrong says
 * WRONG and the kind; the line where a store is left out, MISSING, the kind, function and field.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** A function that stays one, whatever the compiler knows of it: a C-point. */
#define OPERATION __attribute__((noipa)) static

struct task {
	const char *name;
	void (*run)(void);
};

static bool fixed;

/** The body of main(). @p tasks ends with one that has no name. */
static int run_task(const struct task *tasks, int argc, char **argv)
{
	fixed = argc > 2;
	for (; tasks->name; tasks++) {
		if (argc > 1 && !strcmp(tasks->name, argv[1])) {
			tasks->run();
			return 0;
		}
	}
	return 2;
}

#endif
