// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The experiments of paper 004, section 7.1: 40 programs, four classes of faults, 40 versions of
 * each; how many are repaired, how fast, how much of the program is under suspicion, and how often
 * what was drawn of one run is right in all others.
 */
#define LOG_ROOM "bench"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bench/bench_repair.h"
#include "bench/bench_suite.h"

enum { VERSIONS = 40, VERSIONS_QUICK = 5, EACH_ABLATED = 10 };
#define MOST_S 30.0 ///< for one question, as in the paper

static const struct repair_class classes[] = {
	{ "1 changed", 1, 0 },
	{ "1 changed, 1 deleted", 1, 1 },
	{ "2 changed", 2, 0 },
	{ "2 changed, 1 deleted", 2, 1 },
};

enum { CLASSES = sizeof(classes) / sizeof(*classes) };

static const struct subject {
	const char *id, *title, *file, *function;
} subjects[] = {
	{ "B1", "reverse, singly linked", "single", "B1_reverse" },
	{ "B2", "reverse, doubly linked", "double", "B2_reverse" },
	{ "B3", "deletion, singly linked", "single", "B3_delete" },
	{ "B4", "creation, circular", "circular", "B4_create" },
	{ "B5", "sorted insertion, singly linked", "single", "B5_sorted_insert" },
	{ "B6", "insertion, singly linked", "single", "B6_insert" },
	{ "B7", "swap nodes, singly linked", "single", "B7_swap" },
	{ "B8", "splay tree, left rotation", "tree", "B8_splay_left" },
	{ "B9", "minimum, search tree", "tree", "B9_minimum" },
	{ "B10", "length, singly linked", "single", "B10_length" },
	{ "B11", "print, singly linked", "single", "B11_print" },
	{ "B12", "split, circular", "circular", "B12_split" },
	{ "B13", "AVL tree, right rotation", "tree", "B13_avl_right" },
	{ "B14", "AVL tree, left-right rotation", "tree", "B14_avl_left_right" },
	{ "B15", "AVL tree, left rotation", "tree", "B15_avl_left" },
	{ "B16", "AVL tree, right-left rotation", "tree", "B16_avl_right_left" },
	{ "B17", "red-black tree, left rotation", "tree", "B17_redblack_left" },
	{ "B18", "red-black tree, right rotation", "tree", "B18_redblack_right" },
	{ "B19", "enqueue", "single", "B19_enqueue" },
	{ "B20", "splay tree, right rotation", "tree", "B20_splay_right" },
	{ "L1", "delete the middle, singly linked", "single", "L1_delete_middle" },
	{ "L2", "remove duplicates, singly linked", "single", "L2_remove_duplicates" },
	{ "L3", "last to first, singly linked", "single", "L3_last_to_first" },
	{ "L4", "intersection of two lists", "single", "L4_intersection" },
	{ "L5", "split in two, singly linked", "single", "L5_split" },
	{ "L6", "partition by a value", "single", "L6_partition" },
	{ "L7", "delete a node, singly linked", "single", "L7_delete_node" },
	{ "L8", "split, circular, all cases", "circular", "L8_split" },
	{ "L9", "middle node as head", "single", "L9_middle_as_head" },
	{ "L10", "merge alternate nodes", "single", "L10_merge_alternately" },
	{ "L11", "delete nodes of a value", "single", "L11_delete_value" },
	{ "L12", "split, doubly linked", "double", "L12_split" },
	{ "L13", "pairwise swap", "single", "L13_pairwise_swap" },
	{ "L14", "rearrange", "single", "L14_rearrange" },
	{ "L15", "sort by absolute values", "single", "L15_absolute_sort" },
	{ "L16", "quicksort", "single", "L16_quicksort" },
	{ "L17", "delete a node, doubly linked", "double", "L17_delete" },
	{ "L18", "sorted insertion, all cases", "single", "L18_sorted_insert" },
	{ "L19", "remove duplicates, doubly linked", "double", "L19_remove_duplicates" },
	{ "L20", "constrained deletion", "single", "L20_constrained_deletion" },
};

enum { SUBJECTS = sizeof(subjects) / sizeof(*subjects) };

enum { LOCALISED, EVERYWHERE, TWO_RUNS, HOWS };

static const char *const hows[HOWS] = { "localised", "everywhere", "two runs drawn" };

typedef VEC(double) values;

/** All versions of one set of programs and one class of faults. */
struct sample {
	values cpu_s, widenings, share, first, all, of_function, spectra[2];
	unsigned n, n_repaired, n_located, n_right, n_general;
	unsigned n_sole, n_sole_general;
	unsigned n_missing; ///< versions that were not found
};

struct suite {
	struct bench *b;
	struct sample samples[HOWS][2][CLASSES];
	const char *failed; ///< those that were not repaired
};

/* ---- a subject ------------------------------------------------------------------------------- */

/* Function @p number is of the program, and what it calls. */
static void use(struct repair_subject *s, int number)
{
	if (s->is_used[number])
		return;
	s->is_used[number] = true;
	for (size_t i = 0; i < s->p->ops.size; i++)
		if (s->p->ops.data[i].function == number &&
		    s->p->ops.data[i].kind == RP_CALL)
			use(s, s->p->ops.data[i].callee);
}

struct err *bench_repair_subject_init(struct repair_subject *s, const char *dir)
{
	char path[PATH_MAX], test[32];
	bool *covered;
	struct err *err;

	s->is_used = NULL;
	snprintf(path, sizeof(path), "%s/%s.c", dir, s->file);
	err = fl_rp_program_read(path, &s->p);
	if (err)
		return err;
	s->p->path = s->file; // the other goes with this function
	snprintf(test, sizeof(test), "test_%s", s->id);
	s->number = fl_rp_program_function(s->p, s->function);
	s->test = fl_rp_program_function(s->p, test);
	covered = malloc(s->p->ops.size + 1);
	s->is_used = calloc(s->p->functions.size, sizeof(bool));
	if (!covered || !s->is_used) {
		free(covered);
		return &err_nomem;
	}
	use(s, s->test);
	for (size_t i = 0; !err && i < REPAIR_TESTS; i++) {
		unsigned n = 0;

		for (size_t k = 0; k < REPAIR_INPUTS; k++)
			s->inputs[i][k] = bench_repair_draw(s, 100);
		memset(covered, 0, s->p->ops.size + 1);
		s->right[i] = bench_repair_run(s, i, covered, NULL);
		if (!s->right[i])
			err = err_new(ERR_FORMAT, "%s() does not end well", test);
		for (size_t k = 0; k < s->p->ops.size; k++)
			n += covered[k] && s->p->ops.data[k].function == s->number;
		s->most_covered = n > s->most_covered ? n : s->most_covered;
	}
	free(covered);
	return err;
}

void bench_repair_subject_deinit(struct repair_subject *s)
{
	free(s->is_used);
	fl_rp_program_destroy(s->p);
}

/* ---- a version ------------------------------------------------------------------------------- */

static struct err *tell(const struct repair_subject *s, const struct repair_class *c,
			int seed, const struct repair_version *v)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return &err_nomem;
	for (int i = 0; i < v->n_faults; i++) {
		fprintf(out, " %d: `", s->p->ops.data[v->ops[i]].line);
		fl_rp_op_print(s->p, &s->p->ops.data[v->ops[i]], out);
		fprintf(out, "' was `");
		fl_rp_op_print(s->p, &v->was[i], out);
		fprintf(out, i < v->n_changed ? "'" : "' (deleted)");
	}
	fclose(out);
	log_info(
		"%s %s %d:%s: %s, %.2f s, %u widenings, %u of %u suspects%s, %.2f; right %u%s%s%s",
		s->id, c->name, seed, text, v->is_repaired ? "repaired" : "NOT REPAIRED",
		v->cpu_s, v->widenings, v->suspects, v->n_ops,
		v->is_located ? "" : " NOT LOCATED", v->ranked.first, v->n_right,
		v->is_sole ? " sole" : "", v->why[0] ? ": " : "", v->why);
	free(text);
	return NULL;
}

static struct err *keep(struct sample *to, const struct repair_version *v)
{
	bool has_failed = vec_add(&to->cpu_s, v->cpu_s) ||
			  vec_add(&to->widenings, v->widenings) ||
			  vec_add(&to->share, 100.0 * v->suspects / (v->n_ops ?: 1)) ||
			  vec_add(&to->first, 100 * v->ranked.first) ||
			  vec_add(&to->all, 100 * v->ranked.all) ||
			  vec_add(&to->of_function, 100 * v->of_function);

	for (int i = 0; v->has_failing_test && i < 2; i++)
		if (vec_add(&to->spectra[i], 100 * v->spectra[i].first))
			has_failed = true;
	to->n++;
	to->n_repaired += v->is_repaired;
	to->n_located += v->is_located;
	to->n_right += v->n_right;
	to->n_general += v->n_right == REPAIR_TESTS;
	to->n_sole += v->is_sole;
	to->n_sole_general += v->is_sole && v->n_right == REPAIR_TESTS;
	return has_failed ? &err_nomem : NULL;
}

static struct err *ask(struct suite *x, struct repair_subject *s, int how, int which,
		       int class, int seed, struct repair_version *v)
{
	struct sample *to = &x->samples[how][subjects[which].id[0] == 'L'][class];
	struct err *err = bench_repair_ask(s, v, how == EVERYWHERE, MOST_S);

	if (!err)
		err = tell(s, &classes[class], seed, v);
	if (!err)
		err = keep(to, v);
	if (!err && !v->is_repaired)
		x->failed = bench_keep_printf(&x->b->results,
					      "%s%s%s class %d seed %d %s",
					      x->failed ?: "", x->failed ? "; " : "",
					      s->id, class + 1, seed, hows[how]);
	return err;
}

static struct err *measure(struct suite *x, struct repair_subject *s, int which,
			   int class, int seed)
{
	bool is_more = !x->b->o.is_quick && seed % EACH_ABLATED == 0;
	struct repair_version v;
	struct err *err = NULL;

	s->random = (uint64_t)which << 40 | (uint64_t) class << 32 | (uint64_t)seed;
	for (int i = 0; i < 8; i++)
		bench_repair_draw(s, 2);
	if (!bench_repair_break(s, &classes[class], &v)) {
		x->samples[LOCALISED][subjects[which].id[0] == 'L'][class].n_missing++;
		log_info("%s %s %d: no such places", s->id, classes[class].name, seed);
		bench_repair_mend(s, &v);
		return NULL;
	}
	err = bench_repair_rank(s, &v);
	if (!err)
		err = ask(x, s, LOCALISED, which, class, seed, &v);
	if (!err && is_more)
		err = ask(x, s, EVERYWHERE, which, class, seed, &v);
	if (!err && is_more && bench_repair_draw_more(s, &v))
		err = ask(x, s, TWO_RUNS, which, class, seed, &v);
	bench_repair_mend(s, &v);
	return err;
}

/* Of the sample: what takes longest is rare in it. */
static bool is_of_sample(int which, int class, int seed)
{
	int wanted = 2 * (seed % 2);

	if (subjects[which].id[0] == 'B' && seed % 5 == 1)
		wanted = which % 4 ? 1 : 3;
	return class == wanted;
}

static struct err *measure_subject(struct suite *x, int which)
{
	const struct subject *from = &subjects[which];
	struct repair_subject s = { .id = from->id,
				    .title = from->title,
				    .file = from->file,
				    .function = from->function,
				    .random = (uint64_t)which };
	int first = x->b->o.first_seed ?: 1;
	int n = x->b->o.n_seeds ?: x->b->o.is_quick ? VERSIONS_QUICK : VERSIONS;
	struct err *err = bench_repair_subject_init(&s, "bench/repair");

	for (int seed = first; !err && seed < first + n; seed++)
		for (int class = 0; !err && class < CLASSES; class ++)
			if (!x->b->o.is_quick || is_of_sample(which, class, seed))
				err = measure(x, &s, which, class, seed);
	bench_repair_subject_deinit(&s);
	return err;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value that a share @p q of all is not above. */
static double quantile(values *v, double q)
{
	if (!v->size)
		return 0;
	vec_sort(v, by_size);
	return v->data[(size_t)(q * (double)(v->size - 1) + 0.5)];
}

/* How many percent are not above @p limit. */
static double within(const values *v, double limit)
{
	size_t n = 0;

	for (size_t i = 0; i < v->size; i++)
		n += v->data[i] <= limit;
	return v->size ? 100.0 * (double)n / (double)v->size : 0;
}

static double mean(const values *v)
{
	double sum = 0;

	for (size_t i = 0; i < v->size; i++)
		sum += v->data[i];
	return v->size ? sum / (double)v->size : 0;
}

static void sample_deinit(struct sample *s)
{
	vec_deinit(&s->cpu_s);
	vec_deinit(&s->widenings);
	vec_deinit(&s->share);
	vec_deinit(&s->first);
	vec_deinit(&s->all);
	vec_deinit(&s->of_function);
	vec_deinit(&s->spectra[0]);
	vec_deinit(&s->spectra[1]);
}

static struct err *rows_add(struct suite *x, int how, int is_large, int class)
{
	struct sample *s = &x->samples[how][is_large][class];
	double n = s->n;
	const struct {
		const char *metric, *unit;
		double value;
		enum bench_better better;
	} metrics[] = {
		{ "versions", "", n, BENCH_NEITHER },
		{ "repaired", "%", 100 * s->n_repaired / n, BENCH_HIGHER },
		{ "median", "s", quantile(&s->cpu_s, 0.5), BENCH_LOWER },
		{ "of 95 %", "s", quantile(&s->cpu_s, 0.95), BENCH_LOWER },
		{ "within 5 s", "%", within(&s->cpu_s, 5), BENCH_HIGHER },
		{ "bounds raised", "", quantile(&s->widenings, 0.5), BENCH_NEITHER },
		{ "general", "%", 100 * s->n_general / n, BENCH_HIGHER },
		{ "tests right", "%", s->n_right / n, BENCH_HIGHER },
		{ "sole", "%", 100 * s->n_sole / n, BENCH_HIGHER },
		{ "sole general", "%",
		  s->n_sole ? 100.0 * s->n_sole_general / s->n_sole : 100, BENCH_HIGHER },
		{ "located", "%", 100 * s->n_located / n, BENCH_HIGHER },
		{ "suspects", "%", mean(&s->share), BENCH_LOWER },
		{ "found in 12 %", "%", within(&s->first, 12), BENCH_HIGHER },
		{ "all in 12 %", "%", within(&s->all, 12), BENCH_HIGHER },
		{ "12 % of it", "%", within(&s->of_function, 12), BENCH_HIGHER },
		{ "Tarantula", "%", within(&s->spectra[0], 12), BENCH_HIGHER },
		{ "Ochiai", "%", within(&s->spectra[1], 12), BENCH_HIGHER },
		{ "found in 25 %", "%", within(&s->first, 25), BENCH_HIGHER },
		{ "Tarantula 25 %", "%", within(&s->spectra[0], 25), BENCH_HIGHER },
		{ "Ochiai 25 %", "%", within(&s->spectra[1], 25), BENCH_HIGHER },
	};
	// What was located is the same however it is repaired.
	size_t n_metrics =
		sizeof(metrics) / sizeof(*metrics) - (how == LOCALISED ? 0 : 10);
	struct err *err = NULL;

	for (size_t i = 0; i < n_metrics && !err && s->n; i++) {
		struct bench_row row = {
			.suite = "repair",
			.work = bench_keep_printf(&x->b->results, "%s, %s",
						  is_large ? "large" : "small",
						  classes[class].name),
			.command = hows[how],
			.metric = metrics[i].metric,
			.unit = metrics[i].unit,
			.better = metrics[i].better,
			.is_exact = strcmp(metrics[i].unit, "s") != 0,
		};

		if (!i && s->n_missing)
			row.note = bench_keep_printf(&x->b->results,
						     "%u had too few such places",
						     s->n_missing);
		if (i == 1 && x->failed && s->n_repaired < s->n)
			row.note = bench_keep_printf(&x->b->results, "not repaired: %s",
						     x->failed);
		err = bench_row_add_value(&x->b->results, &row, metrics[i].value);
	}
	return err;
}

struct err *bench_suite_repair(struct bench *b)
{
	struct suite x = { .b = b };
	struct err *err = NULL;
	for (int i = 0; i < SUBJECTS && !err; i++) {
		if (b->progress)
			b->progress("repair", subjects[i].title);
		err = measure_subject(&x, i);
	}
	for (int how = 0; how < HOWS; how++)
		for (int i = 0; i < 2 * CLASSES; i++) {
			if (!err)
				err = rows_add(&x, how, i / CLASSES, i % CLASSES);
			sample_deinit(&x.samples[how][i / CLASSES][i % CLASSES]);
		}
	return err;
}
