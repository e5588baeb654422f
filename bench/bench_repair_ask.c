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
	v->is_sole = v->is_repaired && !a.other.edits.size;
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

/* The mean rank among equals of operation @p op. */
static double rank_of(const struct rank_statement *r, size_t n, int op)
{
	double before = 0, equal = 0, is = -1;

	for (size_t k = 0; k < n; k++)
		if (r[k].id == (uint32_t)op)
			is = r[k].suspicion;
	for (size_t k = 0; k < n; k++) {
		before += r[k].suspicion > is;
		equal += r[k].suspicion == is;
	}
	return before + (equal + 1) / 2;
}

/* Of the faults in @p r, as shares of @p of operations. */
static struct repair_rank ranks_of(const struct rank_statement *r, size_t n, size_t of,
				   const struct repair_version *v)
{
	struct repair_rank ret = { 1, 0 };

	for (int i = 0; i < v->n_changed; i++) {
		double share = rank_of(r, n, v->ops[i]) / (double)of;

		ret.first = share < ret.first ? share : ret.first;
		ret.all = share > ret.all ? share : ret.all;
	}
	return ret;
}

/* The operations of functions that @p is_used says. @return how many. */
static size_t list_ops(const struct repair_subject *s, const bool *is_used,
		       struct rank_statement *r)
{
	static char none[] = "";
	size_t n = 0;

	for (size_t i = 0; i < s->p->ops.size; i++) {
		const struct rp_op *op = &s->p->ops.data[i];

		if (!is_used[op->function] || op->is_removed)
			continue;
		r[n] = (struct rank_statement){ .file = none, .id = (uint32_t)i };
		n++; // equals are in the order of their lines
	}
	return n;
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

/* By who executed what, of the whole program. */
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
	v->has_failing_test = n_failed;
	for (int m = 0; m < 2; m++) {
		rank_sort(r, n, m ? RANK_OCHIAI : RANK_TARANTULA, n_failed,
			  REPAIR_TESTS - n_failed);
		v->spectra[m] = ranks_of(r, n, n, v);
	}
}

/* Is a place beside statement @p op, which is deleted, one where something may be missing? */
static bool is_gap(const struct repair_subject *s, const struct rp_suspects *found,
		   int op)
{
	for (size_t i = 0; i < s->p->blocks.size; i++) {
		const struct rp_block *b = s->p->blocks.data[i];

		for (size_t k = 0; k < b->list.size; k++)
			if (b->list.data[k]->ops.size &&
			    b->list.data[k]->ops.data[0] == op)
				return found->is_gap[fl_rp_gap(s->p, b->id, (int)k)] ||
				       found->is_gap[fl_rp_gap(s->p, b->id, (int)k + 1)];
	}
	return false;
}

static void rank_all(struct repair_subject *s, struct repair_version *v,
		     const struct rp_suspects *found, struct rank_statement *r,
		     bool *is_function)
{
	size_t n, n_all = list_ops(s, s->is_used, r);

	v->is_located = true;
	for (int i = 0; i < v->n_faults; i++)
		if (i < v->n_changed ? !found->is_suspect[v->ops[i]] :
				       !is_gap(s, found, v->ops[i]))
			v->is_located = false;
	v->suspects = found->n;
	v->n_ops = (unsigned)n_all;
	rank_spectra(s, v, r, n_all);
	is_function[s->number] = true;
	n = list_ops(s, is_function, r);
	for (size_t i = 0; i < n; i++)
		r[i].suspicion = found->suspicion[r[i].id];
	v->ranked = ranks_of(r, n, n_all, v);
	v->of_function = ranks_of(r, n, n, v).first;
}

struct err *bench_repair_rank(struct repair_subject *s, struct repair_version *v)
{
	struct rank_statement *r = calloc(s->p->ops.size + 1, sizeof(*r));
	bool *is_function = calloc(s->p->functions.size, sizeof(bool));
	struct rp_suspects found = {};
	struct err *err = r && is_function ? fl_rp_locate(s->p, v->rec.witnesses.data,
							  v->rec.witnesses.size,
							  s->number, true, &found) :
					     &err_nomem;

	if (!err)
		err = fl_rp_rank(s->p, v->rec.witnesses.data, v->rec.witnesses.size,
				 s->number, RP_TRIALS, &found);
	if (!err)
		rank_all(s, v, &found, r, is_function);
	fl_rp_suspects_deinit(&found);
	free(r);
	free(is_function);
	return err;
}
