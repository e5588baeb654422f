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
#define VALUES_MAX 32

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
	int n_runs, n_located;
	struct sample reported; ///< statements
	struct sample rank;	///< of the faulty one, from 1
	struct sample match_s, locate_s;
};

static void sample_add(struct sample *s, double value)
{
	if (s->n < VALUES_MAX)
		s->value[s->n++] = value;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double sample_at(struct sample *s, int part, int of)
{
	if (!s->n)
		return 0;
	qsort(s->value, s->n, sizeof(*s->value), compare_doubles);
	return s->value[(s->n - 1) * part / of];
}

static double median(struct sample *s)
{
	return sample_at(s, 1, 2);
}

static double maximum(struct sample *s)
{
	return sample_at(s, 1, 1);
}

/* ---- one run ---------------------------------------------------------------------------- */

/** Run a command of ours whose stdout is one JSON object. @p ret: NULL when it is none. */
static struct err *run_json(struct bench *b, const char *const *argv, cJSON **ret)
{
	char out[PATH_MAX + 16], errors[PATH_MAX + 16], *text = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct err *err;
	size_t size = 0;
	double wall_s;
	int status;

	*ret = NULL;
	snprintf(out, sizeof(out), "%s/json", b->scratch);
	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	err = bench_run(argv, out, errors, &wall_s, &status);
	if (err)
		return err;
	f = fopen(out, "r");
	if (f && getdelim(&text, &size, 0, f) > 0)
		*ret = cJSON_Parse(text);
	free(text);
	return NULL;
}

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
	err = run_json(b, argv, &json);
	if (err)
		return err;
	l->n_runs++;
	faults = cJSON_GetObjectItem(json, "faults");
	phases = cJSON_GetObjectItem(json, "phases");
	cJSON_ArrayForEach(fault, faults) {
		rank++;
		if (number(fault, "line") == line) {
			l->n_located++;
			sample_add(&l->rank, rank);
			break;
		}
	}
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
	const char *record[] = { b->exe, "record", "-o", b->capture, "--",
				 program, text, FAULTS, NULL };
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
	err = run_json(b, argv, &json);
	n = err ? 0 : (int)number(json, "statements");
	err_destroy(err);
	cJSON_Delete(json);
	return n;
}

/** "3", or "-" where the paper has nothing. */
static const char *published(char *ret, size_t size, double value, const char *format)
{
	snprintf(ret, size, "-");
	if (value)
		snprintf(ret, size, format, value);
	return ret;
}

static void print_head(void)
{
	printf("\nFaults in data structures: 1,000 nodes, 500 operations, " FAULTS
	       " faults; -O2. In brackets what\nSingh's dissertation published (tables "
	       "2.2, 4.1, 4.2: other programs, a machine of 2006).\n\n"
	       "%-19s %-9s %-12s %-8s %-19s %5s %-15s %-18s %8s %8s\n",
	       "structure", "statem.", "C-points", "located", "reported", "rank",
	       "match ms", "locate ms", "native", "recorded");
}

static void print_row(struct bench *b, const struct subject *s, const char *cpoints,
		      int statements, struct located *l, struct subject_times *t)
{
	char a[16], c[16], d[16], e[16], text[4][64];
	bool is_above = s->reported && maximum(&l->reported) > s->reported;
	cJSON *row = cJSON_CreateObject();

	snprintf(text[0], sizeof(text[0]), "%d (%s)", statements,
		 published(a, sizeof(a), s->statements, "%.0f"));
	snprintf(text[1], sizeof(text[1]), "%.0f, at most %.0f%s (%s)",
		 median(&l->reported), maximum(&l->reported), is_above ? "!" : "",
		 published(c, sizeof(c), s->reported, "%.0f"));
	snprintf(text[2], sizeof(text[2]), "%.2f (%s)", median(&l->match_s) * 1e3,
		 published(d, sizeof(d), s->match_ms, "%.0f"));
	snprintf(text[3], sizeof(text[3]), "%.1f (%s)", median(&l->locate_s) * 1e3,
		 published(e, sizeof(e), s->locate_s * 1e3, "%.0f"));
	printf("%-19s %-9s %-12s %2d of %-2d %-19s %5.0f %-15s %-18s %5.1f ms %5.1f ms\n",
	       s->title, text[0], cpoints, l->n_located, l->n_runs, text[1],
	       maximum(&l->rank), text[2], text[3], median(&t->native_s) * 1e3,
	       median(&t->record_s) * 1e3);
	fflush(stdout);
	cJSON_AddStringToObject(row, "suite", "locate");
	cJSON_AddStringToObject(row, "program", s->name);
	cJSON_AddStringToObject(row, "mode", cpoints);
	cJSON_AddNumberToObject(row, "statements", statements);
	cJSON_AddNumberToObject(row, "statements_published", s->statements);
	cJSON_AddNumberToObject(row, "runs", l->n_runs);
	cJSON_AddNumberToObject(row, "located", l->n_located);
	cJSON_AddNumberToObject(row, "reported_median", median(&l->reported));
	cJSON_AddNumberToObject(row, "reported_max", maximum(&l->reported));
	cJSON_AddNumberToObject(row, "reported_published", s->reported);
	cJSON_AddNumberToObject(row, "rank_max", maximum(&l->rank));
	cJSON_AddNumberToObject(row, "match_s", median(&l->match_s));
	cJSON_AddNumberToObject(row, "match_s_max", maximum(&l->match_s));
	cJSON_AddNumberToObject(row, "match_s_published", s->match_ms / 1e3);
	cJSON_AddNumberToObject(row, "locate_s", median(&l->locate_s));
	cJSON_AddNumberToObject(row, "locate_s_max", maximum(&l->locate_s));
	cJSON_AddNumberToObject(row, "locate_s_published", s->locate_s);
	cJSON_AddNumberToObject(row, "native_s", median(&t->native_s));
	cJSON_AddNumberToObject(row, "record_s", median(&t->record_s));
	cJSON_AddItemToArray(b->rows, row);
}

struct err *bench_suite_locate(struct bench *b)
{
	int n_seeds = b->o.is_quick ? SEEDS_QUICK : SEEDS;

	if (!b->o.specs)
		b->o.specs = "specs";
	print_head();
	for (size_t i = 0; i < N_SUBJECTS; i++) {
		const struct subject *s = &subjects[i];
		struct located at_end = { 0 }, at_each = { 0 };
		int statements = count_statements(b, s);
		struct subject_times t = { 0 };

		for (int seed = 1; seed <= n_seeds; seed++) {
			struct err *err = run_seed(b, s, seed, &at_end, &at_each, &t);

			if (err)
				return err;
		}
		print_row(b, s, "operations", statements, &at_each, &t);
		print_row(b, s, "end", statements, &at_end, &t);
	}
	printf("\n!: in some run more statements than the published figure.\n");
	return NULL;
}
