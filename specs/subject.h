// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the programs of this folder share: PROGRAM [SEED [FAULTS]] builds a structure of
 * SUBJECT_NODES nodes and does SUBJECT_OPERATIONS random operations on it. When FAULTS are
 * asked for, one of its FAULT() statements, chosen by SEED, goes wrong so often, spread at
 * random over the operations, and stderr has the truth: `wrong: FILE:LINE`, each time.
 */
#ifndef SPECS_SUBJECT_H
#define SPECS_SUBJECT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef SUBJECT_NODES
#define SUBJECT_NODES 1000
#endif
#ifndef SUBJECT_OPERATIONS
#define SUBJECT_OPERATIONS 500
#endif
#define NOINLINE __attribute__((noinline))

/** A broken structure may have no end; a program that walks it forever says nothing. */
#define SUBJECT_STEPS 1000000

struct subject {
	int n_faults;	     ///< FAULT() statements in the program, numbered from 0
	void (*build)(void); ///< grow it to SUBJECT_NODES
	void (*operate)(unsigned r); ///< one operation; r: a random number
};

static uint64_t subject_seed;
static int subject_site = -1; ///< the FAULT() that goes wrong; -1: none
static int subject_due;	      ///< how often it shall go wrong still
static long subject_steps;

static inline unsigned subject_random(void)
{
	subject_seed = subject_seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(subject_seed >> 33);
}

/** Call in each loop over nodes. */
static inline void subject_step(void)
{
	if (++subject_steps > SUBJECT_STEPS) {
		fputs("endless\n", stderr);
		exit(0);
	}
}

static inline int subject_goes_wrong(int site, const char *file, int line)
{
	if (site != subject_site || !subject_due)
		return 0;
	subject_due--;
	fprintf(stderr, "wrong: %s:%d\n", file, line);
	return 1;
}

/** The statement @p right, or @p wrong when it is its turn. */
#define FAULT(site, right, wrong)                                 \
	do {                                                      \
		if (subject_goes_wrong(site, __FILE__, __LINE__)) \
			wrong;                                    \
		else                                              \
			right;                                    \
	} while (0)

/** malloc that does not fail. */
#define NEW(type) ((type *)subject_new(calloc(1, sizeof(type))))

static inline void *subject_new(void *p)
{
	if (!p)
		exit(1);
	return p;
}

static inline int subject_main(int argc, char **argv, const struct subject *s)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	int faults = argc > 2 ? atoi(argv[2]) : 0, i;
	unsigned char turn[SUBJECT_OPERATIONS] = { 0 };

	subject_seed = seed * 2654435761u + 1;
	s->build();
	for (i = 0; i < faults; i++)
		turn[subject_random() % SUBJECT_OPERATIONS]++;
	subject_site = faults ? (int)(seed % s->n_faults) : -1;
	for (i = 0; i < SUBJECT_OPERATIONS; i++) {
		subject_due += turn[i];
		subject_steps = 0;
		s->operate(subject_random());
	}
	return 0;
}

#endif
