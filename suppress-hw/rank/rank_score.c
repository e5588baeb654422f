// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suspicion from who executed what, ranks and scores (paper 003, Definitions 4 to 6).
 */
#include <math.h>
#include <string.h>

#include "suppress-hw/rank/rank.h"

static double tarantula(const struct rank_statement *s, uint32_t failed, uint32_t passed)
{
	double f = failed ? (double)s->n_failed / failed : 0;
	double p = passed ? (double)s->n_passed / passed : 0;

	return f + p > 0 ? f / (f + p) : 0;
}

static double ochiai(const struct rank_statement *s, uint32_t failed)
{
	double n = sqrt((double)failed * (s->n_failed + s->n_passed));

	return n > 0 ? s->n_failed / n : 0;
}

/* With exponent 2. What all failing tests executed and no passing one did is beyond all. */
static double dstar(const struct rank_statement *s, uint32_t failed)
{
	double n = (double)s->n_passed + (failed - s->n_failed);

	return n > 0 ? (double)s->n_failed * s->n_failed / n : INFINITY;
}

static int by_suspicion(const void *a, const void *b)
{
	const struct rank_statement *p = a, *q = b;

	if (p->suspicion != q->suspicion)
		return p->suspicion > q->suspicion ? -1 : 1;
	if (p->tie != q->tie)
		return p->tie > q->tie ? -1 : 1;
	return strcmp(p->file, q->file) ?: (p->line > q->line) - (p->line < q->line);
}

void rank_sort(struct rank_statement *s, size_t n, enum rank_method method,
	       uint32_t n_failed, uint32_t n_passed)
{
	for (size_t i = 0; i < n; i++) {
		s[i].tie = tarantula(&s[i], n_failed, n_passed);
		s[i].suspicion = method == RANK_IVMP || method == RANK_PREDICATES ?
					 s[i].n_ivmp :
				 method == RANK_OCHIAI ? ochiai(&s[i], n_failed) :
				 method == RANK_DSTAR  ? dstar(&s[i], n_failed) :
				 method == RANK_RANGES ? s[i].suspicion :
							 s[i].tie;
	}
	if (n)
		qsort(s, n, sizeof(*s), by_suspicion);
	for (size_t i = n; i-- > 0;) {
		bool is_tied = i + 1 < n && s[i].suspicion == s[i + 1].suspicion &&
			       s[i].tie == s[i + 1].tie;

		s[i].rank = is_tied ? s[i + 1].rank : i + 1;
		s[i].score = (double)(n - s[i].rank) / n;
	}
}

static int64_t as_signed(uint64_t v, uint8_t bytes)
{
	int shift = 64 - 8 * bytes;

	return (int64_t)(v << shift) >> shift;
}

size_t rank_spanning(uint64_t *values, size_t n, uint64_t original, uint8_t bytes)
{
	// Least and largest below, least and largest above.
	uint64_t keep[4];
	bool has[4] = {};
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t v = as_signed(values[i], bytes);
		int64_t o = as_signed(original, bytes);
		int side = v < o ? 0 : 2;

		if (v == o)
			continue;
		if (!has[side] || v < as_signed(keep[side], bytes))
			keep[side] = values[i];
		if (!has[side] || v > as_signed(keep[side + 1], bytes))
			keep[side + 1] = values[i];
		has[side] = has[side + 1] = true;
	}
	for (int i = 0; i < 4; i++)
		if (has[i] && (!k || values[k - 1] != keep[i]))
			values[k++] = keep[i];
	return k;
}
