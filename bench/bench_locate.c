// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Fault location measured as chapter 4 of Singh's dissertation does: structures of 1,000
 * nodes, 500 operations, a statement that goes wrong in 10 of them. Each with several
 * seeds, and checked twice: at the end of the run only, as the paper does, and at the end
 * of each operation. The paper's figures are printed beside, as published: other programs,
 * on a machine of its time.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bench/bench_suite.h"

#define FAULTS "10"
#define SEEDS 12
#define SEEDS_QUICK 3
#define VALUES_MAX BENCH_SEEDS_MAX

/** A structure, and what the paper has about it; 0: nothing. */
static const struct subject {
	const char *name, *title;
	int statements;	 ///< table 2.2
	int reported;	 ///< table 4.1
	double match_ms; ///< table 4.2
	double locate_s;
} subjects[] = {
	{ "circular", "circular list", 3, 6, 1, 0.75 },
	{ "ordered", "ordered list", 0, 2, 1, 0.02 },
	{ "doubly", "doubly linked list", 2, 5, 1, 0.25 },
	{ "quad", "quad tree", 4, 1, 36, 9.22 },
	{ "avl", "AVL tree", 6, 4, 25, 1.18 },
	{ "btree", "B-tree", 6, 6, 4, 73.39 },
	{ "redblack", "red-black tree", 9, 10, 31, 72.21 },
	{ "leftist", "leftist heap", 5, 1, 27, 2.21 },
	{ "bipartite", "bipartite graph", 0, 2, 2, 3.32 },
	{ "tree", "binary tree", 3, 0, 0, 0 },
	{ "binheap", "binary heap", 4, 0, 0, 0 },
	{ "kary", "full k-ary tree", 4, 0, 0, 0 },
	{ "skiplist", "skip list", 0, 0, 0, 0 },
	{ "hash", "hash table", 0, 0, 0, 0 },
	{ "radix", "radix tree", 0, 0, 0, 0 },
	{ "splay", "splay tree", 0, 0, 0, 0 },
	{ "unionfind", "union-find", 0, 0, 0, 0 },
	{ "cube", "3-dim. array", 0, 0, 0, 0 },
};

#define N_SUBJECTS (sizeof(subjects) / sizeof(*subjects))

struct sample {
	double value[VALUES_MAX];
	int n;
};

/** What all seeds of one structure gave, with one choice of C-points. */
struct located {
	int n_runs;   ///< in which something was reported
	int n_healed; ///< in which all held again where it was checked
	int n_located;
	struct sample reported; ///< statements
	struct sample rank;	///< of the faulty one, from 1
	struct sample match_s, locate_s;
};

static void sample_add(struct sample *s, double value)
{
	if (s->n < VALUES_MAX)
		s->value[s->n++] = value;
}

/* ---- one run ---------------------------------------------------------------------------- */

/** The line that went wrong, as the program said on stderr; 0: it did not. */
static int read_truth(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char text[512];
	int line = 0;

	while (f && !line && fgets(text, sizeof(text), f))
		if (!strncmp(text, "wrong: ", 7) && strrchr(text, ':'))
			line = atoi(strrchr(text, ':') + 1);
	return line;
}

static double number(const cJSON *o, const char *key)
{
	return cJSON_GetNumberValue(cJSON_GetObjectItem(o, key));
}

/** Analyze the capture. @p cpoint: a function, or NULL: the end alone. */
static struct err *analyze(struct bench *b, const struct subject *s, const char *cpoint,
			   int line, struct located *l)
{
	char spec[PATH_MAX];
	const char *argv[] = { b->exe,	 "analyze",  b->capture, "--spec", spec,
			       "--json", "--cpoint", cpoint,	 NULL };
	cJSON *json, *faults, *phases, *fault;
	struct err *err;
	int rank = 0;

	if (!cpoint)
		argv[6] = NULL;
	snprintf(spec, sizeof(spec), "%s/%s.spec", b->o.specs, s->name);
	err = bench_run_json(b->scratch, argv, &json);
	if (!err && !json)
		err = err_new(
			ERR_OS,
			"cannot locate faults of '%s': 'faultline analyze --spec %s' "
			"fails (--specs says where the specifications are)",
			s->name, spec);
	if (err)
		return err;
	faults = cJSON_GetObjectItem(json, "faults");
	phases = cJSON_GetObjectItem(json, "phases");
	cJSON_ArrayForEach(fault, faults)
	{
		rank++;
		if (number(fault, "line") == line) {
			l->n_located++;
			sample_add(&l->rank, rank);
			break;
		}
	}
	l->n_runs += cJSON_GetArraySize(faults) > 0;
	l->n_healed += !cJSON_GetArraySize(faults);
	if (cJSON_GetArraySize(faults)) {
		sample_add(&l->reported, cJSON_GetArraySize(faults));
		sample_add(&l->match_s, number(phases, "match_s"));
		sample_add(&l->locate_s, number(phases, "locate_s"));
	}
	cJSON_Delete(json);
	return NULL;
}

struct subject_times {
	struct sample native_s, record_s;
};

/** Record a run with @p seed, and analyze it both ways. */
static struct err *run_seed(struct bench *b, const struct subject *s, int seed,
			    struct located at_end[1], struct located at_each[1],
			    struct subject_times *t)
{
	char program[PATH_MAX + 64], truth[PATH_MAX + 16], text[16];
	const char *native[] = { program, text, FAULTS, NULL };
	const char *record[] = { b->exe,  "record", "-o",   b->capture, "--",
				 program, text,	    FAULTS, NULL };
	struct err *err;
	double wall_s;
	int status, line;

	snprintf(program, sizeof(program), "%.*s/specs/%s-O2",
		 (int)(strrchr(b->exe, '/') - b->exe), b->exe, s->name);
	snprintf(truth, sizeof(truth), "%s/truth", b->scratch);
	snprintf(text, sizeof(text), "%d", seed);
	err = bench_run(native, NULL, truth, &wall_s, &status);
	if (err)
		return err;
	sample_add(&t->native_s, wall_s);
	bench_remove(b->capture);
	err = bench_run(record, NULL, truth, &wall_s, &status);
	if (err)
		return err;
	sample_add(&t->record_s, wall_s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 125)
		return err_new(ERR_OS,
			       "cannot locate faults of '%s': it cannot be recorded "
			       "('faultline record -- %s' says why)",
			       program, program);
	line = read_truth(truth);
	if (!line)
		return err_new(ERR_OS,
			       "cannot locate faults of '%s': nothing went wrong in it "
			       "(is the program there? make tests)",
			       program);
	err = analyze(b, s, "operate", line, at_each);
	return err ? err : analyze(b, s, NULL, line, at_end);
}

/* ---- tables ------------------------------------------------------------------------------ */

static int count_statements(struct bench *b, const struct subject *s)
{
	char spec[PATH_MAX];
	const char *argv[] = { b->exe, "spec", "check", "--json", spec, NULL };
	struct err *err;
	cJSON *json;
	int n;

	snprintf(spec, sizeof(spec), "%s/%s.spec", b->o.specs, s->name);
	err = bench_run_json(b->scratch, argv, &json);
	n = err ? 0 : (int)number(json, "statements");
	err_destroy(err);
	cJSON_Delete(json);
	return n;
}

/** What both tables of one structure are made of. */
struct finding {
	const struct subject *subject;
	const char *cpoints;
	int statements;
	struct located *located;
	struct subject_times *times;
};

static struct err *rows_add(struct bench *b, const struct finding *f)
{
	const struct subject *s = f->subject;
	const struct located *l = f->located;
	double statements = f->statements;
	double share = l->n_runs ? 100.0 * l->n_located / l->n_runs : 0;
	const struct sample one_statements = { { statements }, 1 };
	const struct sample one_share = { { share }, 1 };
	const struct {
		const char *metric, *unit;
		const struct sample *sample;
		double published;
		const char *source;
		enum bench_better better;
		bool is_time;
	} metrics[] = {
		{ "statements", "", &one_statements, s->statements, "table 2.2",
		  BENCH_NEITHER, false },
		{ "located", "%", &one_share, 0, NULL, BENCH_HIGHER, false },
		{ "reported", "", &l->reported, s->reported, "table 4.1", BENCH_LOWER,
		  false },
		{ "rank", "", &l->rank, 0, NULL, BENCH_LOWER, false },
		{ "match", "s", &l->match_s, s->match_ms / 1e3, "table 4.2", BENCH_LOWER,
		  true },
		{ "locate", "s", &l->locate_s, s->locate_s, "table 4.2", BENCH_LOWER,
		  true },
		{ "native", "s", &f->times->native_s, 0, NULL, BENCH_NEITHER, true },
		{ "recorded", "s", &f->times->record_s, 0, NULL, BENCH_NEITHER, true },
	};
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics) && !err; i++) {
		const struct bench_row row = {
			.suite = "locate",
			.work = s->title,
			.command = f->cpoints,
			.metric = metrics[i].metric,
			.unit = metrics[i].unit,
			.better = metrics[i].better,
			.published = metrics[i].published,
			.published_source = metrics[i].source,
			.is_exact = !metrics[i].is_time,
			.note = i == 1 && l->n_healed ?
					bench_keep_printf(
						&b->results,
						"all held again in %d of %d runs",
						l->n_healed, l->n_healed + l->n_runs) :
					NULL,
			.skipped = metrics[i].sample->n ? NULL : "no fault was reported",
		};

		err = bench_row_add(&b->results, &row, metrics[i].sample->value,
				    metrics[i].sample->n);
	}
	return err;
}

static struct err *subject_measure(struct bench *b, const struct subject *s, int first,
				   int n_seeds)
{
	struct located at_end = { 0 }, at_each = { 0 };
	struct subject_times t = { 0 };
	struct finding f = { s, "checked at operations", count_statements(b, s), &at_each,
			     &t };
	struct err *err = NULL;

	for (int seed = first; seed < first + n_seeds && !err; seed++)
		err = run_seed(b, s, seed, &at_end, &at_each, &t);
	if (!err)
		err = rows_add(b, &f);
	f.cpoints = "checked at the end";
	f.located = &at_end;
	return err ? err : rows_add(b, &f);
}

struct err *bench_suite_locate(struct bench *b)
{
	int n_seeds = b->o.n_seeds ?: b->o.is_quick ? SEEDS_QUICK : SEEDS;
	int first = b->o.first_seed ?: 1;
	struct err *err = NULL;

	if (!b->o.specs)
		b->o.specs = "specs";
	for (size_t i = 0; i < N_SUBJECTS && !err; i++)
		err = subject_measure(b, &subjects[i], first, n_seeds);
	return err;
}
