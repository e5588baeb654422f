// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What dec_recover made of a window (flight.h) compared with what the machine saw.
 */
#ifndef TESTS_DECODE_FLIGHT_JUDGE_H
#define TESTS_DECODE_FLIGHT_JUDGE_H

#include <time.h>

#include "tests/decode/flight.h"

/* ---- the judge -------------------------------------------------------------------------------- */

static const struct dec_ref *flight_find(const struct dec_step *s,
					 const struct dec_ref *want, size_t nth)
{
	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];

		if (r->is_def == want->is_def && r->is_mem == want->is_mem &&
		    (r->is_mem ? nth-- == 0 : r->reg == want->reg))
			return r;
	}
	return NULL;
}

static void flight_tally(struct flight_count *c, enum dec_certainty is, bool right)
{
	if (right)
		c->right[is]++;
	else
		c->wrong[is]++;
}

static void flight_compare(struct flight *f, const struct dec_step *truth,
			   const struct dec_ref *t, const struct dec_ref *r)
{
	struct flight_count *c = t->is_mem ? &f->mems : &f->regs;
	enum dec_certainty is = r->certainty;
	size_t n = t->size;
	bool right;

	if (!t->is_mem && t->reg >= DEC_REG_VEC && t->reg < DEC_REG_K)
		n = truth->insn->vec_bytes[t->is_def];
	if (t->is_mem && r->addr_certainty > is)
		is = r->addr_certainty;
	// It passes sixteen registers through, whoever they belong to: judged where it is known.
	if (is == DEC_UNKNOWN && !strcmp(dec_insn_name(truth->insn), "vzeroupper"))
		return;
	right = is == DEC_UNKNOWN ||
		(!memcmp(t->value, r->value, n) && (!t->is_mem || t->addr == r->addr));
	flight_tally(c, is, right);
	if (n == 8 && map_get(&f->pointers, *(const uint64_t *)t->value)) {
		const uint64_t *from = map_get(&f->given, *(const uint64_t *)t->value);

		flight_tally(&f->heap_values, is, right);
		if (from && *from <= truth->position)
			flight_tally(&f->given_values, is, right);
	}
	if (!right && is == DEC_KNOWN && f->wrong_at == UINT64_MAX) {
		f->wrong_at = truth->position;
		printf("known, and wrong: position %lu (%lu before the end), rip %#lx, %s, "
		       "%s %s %d: addr %#lx is %#lx, value %#lx is %#lx\n",
		       truth->position, f->stop - truth->position, truth->insn->rip,
		       dec_insn_name(truth->insn), t->is_def ? "def" : "use",
		       t->is_mem ? "mem" : "reg", t->reg, r->addr, t->addr,
		       *(const uint64_t *)r->value, *(const uint64_t *)t->value);
	}
}

static struct err *flight_judge(void *ctx, const struct dec_step *truth)
{
	size_t nth[2] = {}, i;
	struct flight *f = ctx;
	struct dec_step mine;

	if (!truth->insn || truth->position < f->begin || truth->position >= f->stop)
		return NULL;
	i = truth->position - f->begin;
	assert_true(i < f->stats.steps);
	dec_recover_show(f->recover, i, &mine);
	assert_int_equal(mine.insn->rip, truth->insn->rip);
	for (size_t k = 0; k < truth->n_refs; k++) {
		const struct dec_ref *t = &truth->refs[k], *r;

		r = flight_find(&mine, t, t->is_mem ? nth[t->is_def]++ : 0);
		if (!t->has_value || !t->value)
			continue;
		if (!r || (t->is_mem && r->size != t->size))
			f->n_other++;
		else
			flight_compare(f, truth, t, r);
	}
	return NULL;
}

/** Judge what @p r made of the same window, or of its last part. */
__attribute__((unused)) static void
flight_judge_other(struct flight *f, struct dec_recover *r,
		   const struct dec_recover_stats *stats)
{
	struct dec_recover *own = f->recover;
	struct dec_where w;

	f->recover = r;
	f->stats = *stats;
	ok(dec_machine_seek(f->machine, f->stop - stats->steps, &w));
	f->begin = w.position;
	ok(dec_machine_trace(f->machine, UINT64_MAX >> 1, flight_judge, f, &w));
	f->recover = own;
}

static double cpu_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/** Recover, and judge all of it. */
static void flight_run(struct flight *f)
{
	struct dec_where w;

	f->cpu_s = -cpu_now_s();
	ok(dec_recover_run(f->recover, &f->stats));
	f->cpu_s += cpu_now_s();
	assert_int_equal(f->stats.steps, f->stop - f->begin);
	ok(dec_machine_seek(f->machine, f->begin, &w));
	ok(dec_machine_trace(f->machine, UINT64_MAX >> 1, flight_judge, f, &w));
}

static uint64_t flight_total(const struct flight_count *c)
{
	uint64_t n = 0;

	for (int i = 0; i < 3; i++)
		n += c->right[i] + c->wrong[i];
	return n;
}

static double percent(uint64_t a, uint64_t of)
{
	return of ? 100.0 * a / of : 100;
}

/** @return the share of all values that were recovered and are right. */
static double flight_share(const struct flight *f)
{
	return percent(f->regs.right[0] + f->regs.right[1] + f->mems.right[0] +
			       f->mems.right[1],
		       flight_total(&f->regs) + flight_total(&f->mems));
}

static void flight_print_count(const char *what, const struct flight_count *c)
{
	uint64_t n = flight_total(c), inferred = c->right[1] + c->wrong[1];

	printf("  %s: known %5.1f%% (%lu wrong), inferred %5.1f%% (%.2f%% right), unknown %4.1f%%",
	       what, percent(c->right[0] + c->wrong[0], n), c->wrong[0],
	       percent(inferred, n), percent(c->right[1], inferred),
	       percent(c->right[2], n));
}

__attribute__((unused)) static void flight_print(const struct flight *f, const char *name)
{
	printf("%-22s %8lu: right %5.1f%%", name, f->stats.steps, flight_share(f));
	flight_print_count("regs", &f->regs);
	flight_print_count("mem", &f->mems);
	if (f->with_heap)
		printf("  heap pointers: %.2f%% of %lu right (%zu calls)",
		       percent(f->heap_values.right[0] + f->heap_values.right[1],
			       flight_total(&f->heap_values)),
		       flight_total(&f->heap_values), f->heap.size);
	printf("  %.2f s, %lu sweeps, %lu rounds, %lu conflicts, %lu known conflicts, placed %.1f%%, other %lu\n",
	       f->stats.seconds, f->stats.sweeps, f->stats.rounds, f->stats.conflicts,
	       f->stats.known_conflicts,
	       percent(f->stats.accesses_placed, f->stats.accesses), f->n_other);
}

#endif
