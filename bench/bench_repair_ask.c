// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is broken, repaired; and whether the patch is right in general, where the drawing ends.
 */
#include <string.h>

#include "base/clock.h"
#include "bench/bench_repair.h"
#include "suppress-hw/rank/rank.h"

static unsigned count_right(struct repair_subject *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < REPAIR_TESTS; i++)
		n += bench_repair_run(s, i, NULL, NULL) == s->right[i];
	return n;
}

struct err *bench_repair_ask(struct repair_subject *s, struct repair_version *v,
			     bool is_everywhere, double most_s)
{
	struct rp_question q = { .p = s->p,
				 .witnesses = v->rec.witnesses.data,
				 .n_witnesses = v->rec.witnesses.size,
				 .function = s->number,
				 .is_everywhere = is_everywhere,
				 .most_seconds = most_s };
	double start = clock_cpu_s();
	struct rp_answer a;
	struct err *err = fl_rp_repair(&q, &a);

	v->cpu_s = clock_cpu_s() - start;
	v->is_repaired = !err && a.verdict == RP_REPAIRED;
	v->widenings = a.widenings;
	v->n_right = 0;
	snprintf(v->why, sizeof(v->why), "%s", a.why);
	if (v->is_repaired) {
		err = fl_rp_patch_apply(s->p, &a.patch);
		if (!err)
			v->n_right = count_right(s);
		fl_rp_patch_undo(s->p, &a.patch);
	}
	fl_rp_answer_deinit(&a);
	return err;
}

/* ---- localisation ---------------------------------------------------------------------------- */

/* The mean rank among equals, as a share of all; of several faults the worst. */
static double effort_of(const struct rank_statement *r, size_t n,
			const struct repair_version *v)
{
	double worst = 0;

	for (int i = 0; i < v->n_changed; i++) {
		double before = 0, equal = 0, is = -1;

		for (size_t k = 0; k < n; k++)
			if (r[k].id == (uint32_t)v->ops[i])
				is = r[k].suspicion;
		for (size_t k = 0; k < n; k++) {
			before += r[k].suspicion > is;
			equal += r[k].suspicion == is;
		}
		before = (before + (equal + 1) / 2) / (double)n;
		worst = before > worst ? before : worst;
	}
	return worst;
}

static void count_covered(const bool *covered, bool is_right, struct rank_statement *r,
			  size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (covered[r[k].id]) {
			r[k].n_failed += !is_right;
			r[k].n_passed += is_right;
		}
}

/* By who executed what. */
static void rank_spectra(struct repair_subject *s, struct repair_version *v,
			 struct rank_statement *r, size_t n)
{
	bool *covered = malloc(s->p->ops.size + 1);
	uint32_t n_failed = 0;

	for (size_t i = 0; covered && i < REPAIR_TESTS; i++) {
		bool is_right;

		memset(covered, 0, s->p->ops.size + 1);
		is_right = bench_repair_run(s, i, covered, NULL) == s->right[i];
		n_failed += !is_right;
		count_covered(covered, is_right, r, n);
	}
	free(covered);
	for (int m = 0; m < 2; m++) {
		rank_sort(r, n, m ? RANK_OCHIAI : RANK_TARANTULA, n_failed,
			  REPAIR_TESTS - n_failed);
		v->spectra[m] = n_failed ? effort_of(r, n, v) : -1;
	}
}

struct err *bench_repair_rank(struct repair_subject *s, struct repair_version *v)
{
	struct rank_statement *r = calloc(s->p->ops.size + 1, sizeof(*r));
	struct rp_suspects found = {};
	struct err *err = r ? fl_rp_locate(s->p, v->rec.witnesses.data,
					   v->rec.witnesses.size, s->number, &found) :
			      &err_nomem;
	static char none[] = "";
	size_t n = 0;

	v->is_located = true;
	for (size_t i = 0; !err && i < s->p->ops.size; i++) {
		const struct rp_op *op = &s->p->ops.data[i];

		if (op->function != s->number || op->is_removed ||
		    (op->kind != RP_ASSIGN && op->kind != RP_TEST))
			continue;
		r[n].file = none; // equals are in the order of their lines
		r[n].suspicion = found.suspicion[i];
		r[n++].id = (uint32_t)i;
	}
	for (int i = 0; !err && i < v->n_changed; i++)
		v->is_located = v->is_located && found.is_suspect[v->ops[i]];
	v->suspects = found.n;
	v->n_ops = found.n_ops;
	if (!err) {
		v->effort = effort_of(r, n, v);
		rank_spectra(s, v, r, n);
	}
	fl_rp_suspects_deinit(&found);
	free(r);
	return err;
}
