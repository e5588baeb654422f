// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A three-dimensional array out of pointers: full and complete. */
#include "specs/subject.h"

enum { N = 10, CELLS = 16 };

struct row {
	long cell[CELLS];
};

struct plane {
	struct row *row[N];
};

struct cube {
	struct plane *plane[N];
};

static struct cube *cube;

NOINLINE static struct plane *plane_new(void)
{
	struct plane *p = NEW(struct plane);

	for (int i = 0; i < N; i++)
		p->row[i] = NEW(struct row);
	return p;
}

/* A new row for an old one. */
NOINLINE static void row_renew(unsigned r)
{
	struct plane *p = cube->plane[r % N];
	struct row **at = &p->row[r / N % N];

	free(*at);
	*at = NEW(struct row);
	FAULT(0, (*at)->cell[0] = r, *at = NULL);
}

NOINLINE static void rows_swap(unsigned r)
{
	struct plane *p = cube->plane[r % N];
	struct row *was = p->row[0];

	p->row[0] = p->row[N - 1];
	FAULT(1, p->row[N - 1] = was, p->row[N - 1] = p->row[1]);
}

static void build(void)
{
	cube = NEW(struct cube);
	for (int i = 0; i < N; i++)
		cube->plane[i] = plane_new();
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		row_renew(r / 2);
	else
		rows_swap(r / 2);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
