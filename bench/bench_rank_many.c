// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Several faults at once (paper 003, chapter 3): how far down the list is each, when the list is made
 * once (MIN), anew behind each fix (FULL), or partly (PARTIAL); beside each fault alone (IDEAL).
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_rank.h"
#include "suppress-hw/rank/rank.h"

#define VERSIONS 2 ///< of each program

enum { WAYS = 4 };

static const struct {
	const char *name;
	enum rank_faults faults;
} ways[WAYS] = { { "ideal", RANK_ONE },
		 { "full", RANK_FULL },
		 { "partial", RANK_PARTIAL },
		 { "min", RANK_MIN } };

/** A version: its faults, and those that are not fixed. */
struct many {
	const char *program;
	int fault[BENCH_SEEDED_MOST];
	size_t n;
	double sum; ///< of the scores of those that are
	size_t n_fixed;
	const char *fixed[BENCH_SEEDED_MOST];
	char names[BENCH_SEEDED_MOST][64], state[PATH_MAX];
};

static void spell(const struct many *m, char *ret, size_t size)
{
	*ret = 0;
	for (size_t i = 0; i < m->n; i++)
		snprintf(ret + strlen(ret), size - strlen(ret), "%s%d", i ? "," : "",
			 m->fault[i]);
}

static const struct rank_statement *find(const struct rank_result *r, int line)
{
	return vec_find(&r->statements, e, e->line == line);
}

/* Fault @p i was found. */
static void fix(struct many *m, size_t i, double score, int line)
{
	m->sum += score;
	snprintf(m->names[m->n_fixed], sizeof(m->names[0]), "%s.c:%d", m->program, line);
	m->fixed[m->n_fixed] = m->names[m->n_fixed];
	m->n_fixed++;
	m->n--;
	memmove(&m->fault[i], &m->fault[i + 1], (m->n - i) * sizeof(*m->fault));
}

/* From the list's head on: which fault is met first? It is fixed. With @p is_all, all are, by this list. */
static void go_down(struct many *m, const struct rank_result *r,
		    const struct bench_seeded *v, bool is_all)
{
	int lines[BENCH_SEEDED_MOST];

	memcpy(lines, v->line, sizeof(lines));
	do {
		const struct rank_statement *best = NULL;
		size_t at = 0;

		for (size_t i = 0; i < m->n; i++) {
			const struct rank_statement *s = find(r, lines[i]);

			if (s && (!best || s->rank < best->rank)) {
				best = s;
				at = i;
			}
		}
		// One that is in no list costs all of it.
		fix(m, at, best ? best->score : 0, lines[at]);
		memmove(&lines[at], &lines[at + 1], (m->n - at) * sizeof(*lines));
	} while (is_all && m->n);
}

/* All faults, one behind the other. @p ret: their mean score; NAN: it could not be made. */
static struct err *search(struct bench *b, struct many m, enum rank_faults faults,
			  double *ret)
{
	size_t n = m.n;
	struct err *err = NULL;

	unlink(m.state);
	while (m.n && !err) {
		struct rank_options o = { .want_status = -1,
					  .faults = faults,
					  .state = m.state,
					  .fixed = m.fixed,
					  .n_fixed = m.n_fixed,
					  .at_once = 2 };
		struct bench_seeded v;
		struct rank_result r = {};
		char numbers[64];

		spell(&m, numbers, sizeof(numbers));
		err = bench_seeded_make(b, m.program, numbers, &v);
		if (!err && v.skip) {
			*ret = NAN;
			return NULL;
		}
		o.suite = v.suite;
		if (!err)
			err = rank_suite(&o, &r);
		if (err && err->code == ERR_RANGE) {
			// Those that are left show in no test: nobody looks for them.
			err_destroy(err);
			n -= m.n;
			m.n = 0;
			err = NULL;
		} else if (!err) {
			go_down(&m, &r, &v, faults == RANK_MIN);
		}
		rank_result_deinit(&r);
	}
	*ret = n ? 100 * m.sum / n : NAN;
	return err;
}

/* Faults of @p which version: 2 to 5 of those that tests show, none of which leaves a line out. */
static bool choose(const double ideal[BENCH_SEEDED], int which, struct many *m,
		   double *alone)
{
	static const int wanted[VERSIONS] = { 3, 5 };
	size_t n_shown = 0, step;

	*alone = 0;
	for (int i = 0; i < BENCH_SEEDED; i++)
		n_shown += !isnan(ideal[i]);
	step = n_shown / wanted[which];
	for (int i = 0, k = 0; i < BENCH_SEEDED && m->n < (size_t)wanted[which]; i++) {
		if (isnan(ideal[i]) || (step && (size_t)k++ % step))
			continue;
		m->fault[m->n++] = i + 1;
		*alone += ideal[i];
	}
	*alone = m->n ? 100 * *alone / m->n : 0;
	return m->n >= 2;
}

static struct err *add(struct bench *b, int program, int way, const double *values,
		       size_t n)
{
	struct bench_row row = {
		.suite = b->suite,
		.work = bench_seeded_programs[program].name,
		.command = ways[way].name,
		.metric = "mean score, several faults",
		.unit = "%",
		.better = BENCH_HIGHER,
		.is_exact = true,
		.published = bench_seeded_programs[program].published[way],
		.published_source = bench_keep_printf(
			&b->results, "paper 003, table 3.2: %s, 5 faults",
			bench_seeded_programs[program].theirs),
	};
	double mean = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / n;
	return n ? bench_row_show(b, &row, mean) : NULL;
}

struct err *bench_rank_many(struct bench *b, int program,
			    const double ideal[BENCH_SEEDED])
{
	double values[WAYS][VERSIONS];
	struct err *err = NULL;
	size_t n = 0;

	for (int which = 0; which < VERSIONS && !err; which++) {
		struct many m = { .program = bench_seeded_programs[program].name };

		if (b->progress)
			b->progress(b->suite, m.program);
		snprintf(m.state, sizeof(m.state), "%.3900s/rank.state", b->scratch);
		if (!choose(ideal, which, &m, &values[0][n]))
			continue;
		for (int way = 1; way < WAYS && !err; way++)
			err = search(b, m, ways[way].faults, &values[way][n]);
		n += !err && !isnan(values[1][n]);
		if (err)
			err = err_prefix(err, "%s with several faults", m.program);
	}
	for (int way = 0; way < WAYS && !err; way++)
		err = add(b, program, way, values[way], n);
	return err;
}
