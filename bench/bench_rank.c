// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `rank`: programs with seeded faults, built here and now (bench/seeded/version.sh). How near to
 * the head of the list is the faulty statement, by value replacement and by its peers (paper 003,
 * section 2.5)? And what would be suggested there by what is known of all the others (chapter 8)?
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/bench_rank.h"
#include "suppress-hw/fixes/fixes.h"

#define MAKER "bench/seeded/version.sh"
#define QUICK 5 ///< every so manyth fault
#define PROGRAMS 7

const struct bench_seeded_program bench_seeded_programs[PROGRAMS] = {
	{ "separate", "tcas", { 83.6, 82.9, 78.0, 68.8 } },
	{ "totals", "totinfo", { 64.5, 63.1, 60.3, 52.8 } },
	{ "sched", "schedule", { 88.6, 88.3, 85.1, 84.7 } },
	{ "calc", "schedule2", { 64.8, 58.2, 56.8, 56.2 } },
	{ "lex", "printtokens", { 76.3, 70.1, 65.6, 59.0 } },
	{ "wrap", "printtokens2", { 89.6, 84.4, 84.1, 80.7 } },
	{ "subst", "replace", { 88.2, 87.0, 86.5, 76.3 } },
};

enum { METHODS = RANK_RANGES + 1 };

static const char *const method_names[METHODS] = { "ivmp", "tarantula", "ochiai", "dstar",
						   "ranges" };

/** What came out of one fault. */
struct found {
	double score[METHODS]; ///< NAN: no test executes it
	double search_s, runs;
	bool has_ivmp;
	struct fix_scenario scenario;
};

struct all {
	VEC(struct found) found;
	size_t n_silent; ///< faults that no test shows
};

/* ---- a version --------------------------------------------------------------------------------- */

struct err *bench_seeded_make(struct bench *b, const char *program, const char *numbers,
			      struct bench_seeded *ret)
{
	char dir[PATH_MAX], out[PATH_MAX], errors[PATH_MAX], line[300];
	const char *argv[] = { "bash", MAKER, b->exe, program, numbers, dir, NULL };
	_cleanup_fclose_ FILE *f = NULL;
	struct err *err;
	double wall_s;
	int status;

	*ret = (struct bench_seeded){ 0 };
	snprintf(dir, sizeof(dir), "%.3900s/seeded", b->scratch);
	snprintf(out, sizeof(out), "%.3900s/made", b->scratch);
	snprintf(errors, sizeof(errors), "%.3900s/errors", b->scratch);
	snprintf(ret->suite, sizeof(ret->suite), "%.3900s/seeded/suite", b->scratch);
	bench_remove(dir);
	if (access(MAKER, R_OK)) {
		ret->skip = "there is no " MAKER ": run it where faultline's source is";
		return NULL;
	}
	err = bench_run(argv, out, errors, &wall_s, &status);
	f = err ? NULL : fopen(out, "r");
	while (f && ret->n < BENCH_SEEDED_MOST && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		ret->line[ret->n] = atoi(line);
		snprintf(ret->right[ret->n++], sizeof(ret->right[0]), "%s",
			 line + strcspn(line, " ") + (strchr(line, ' ') != NULL));
	}
	if (!err && (status || !ret->n))
		ret->skip = "it could not be built and recorded";
	return err;
}

/* ---- ranks -------------------------------------------------------------------------------------- */

static double score_of(const struct rank_statement *s, size_t n, int line)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].line == line)
			return s[i].score;
	return NAN;
}

/* The other methods need no more than who executed what. */
static struct err *score_all(const struct rank_result *r, int line, struct found *f)
{
	size_t n = r->statements.size;
	struct rank_statement *s = malloc((n + 1) * sizeof(*s));

	if (!s)
		return &err_nomem;
	for (int m = 0; m < RANK_RANGES; m++) {
		memcpy(s, r->statements.data, n * sizeof(*s));
		rank_sort(s, n, m, r->n_failed, r->n_passed);
		f->score[m] = score_of(s, n, line);
	}
	for (size_t i = 0; i < n; i++)
		f->has_ivmp |= r->statements.data[i].line == line &&
			       r->statements.data[i].n_ivmp;
	free(s);
	f->search_s = r->search_s;
	f->runs = (double)r->n_runs;
	return NULL;
}

/* Failure predicates take a look at values of their own. */
static struct err *score_ranges(const struct bench_seeded *v, struct found *f)
{
	struct rank_options o = { .suite = v->suite,
				  .want_status = -1,
				  .method = RANK_RANGES };
	struct rank_result r = {};
	struct err *err = rank_suite(&o, &r);

	if (!err)
		f->score[RANK_RANGES] =
			score_of(r.statements.data, r.statements.size, v->line[0]);
	rank_result_deinit(&r);
	return err;
}

/* ---- fixes -------------------------------------------------------------------------------------- */

/* What made it right. */
static struct err *name_fix(const struct rank_result *r, const struct fix_statement *st,
			    const struct bench_seeded *v, fix_words *ret)
{
	_cleanup_free_ char *now = NULL;
	struct fix_statement right = {};
	struct err *err;

	if (!*v->right[0])
		return fix_words_add(ret, "stm+");
	now = fix_replace_line(r->source, v->line[0], v->right[0]);
	err = now ? fix_statement_read(r->source_path, now, v->line[0], &right) :
		    &err_nomem;
	if (!err)
		err = fix_compare(st, &right, ret);
	fix_statement_deinit(&right);
	return err;
}

static struct err *describe(struct bench *b, const char *program,
			    const struct bench_seeded *v, struct fix_scenario *ret)
{
	char at[PATH_MAX];
	struct rank_options o = { .suite = v->suite, .at = at, .at_once = 2 };
	struct fix_statement st = {};
	struct rank_result r = {};
	struct err *err;

	(void)b;
	snprintf(at, sizeof(at), "%s.c:%d", program, v->line[0]);
	err = rank_suite(&o, &r);
	if (!err && r.source)
		err = fix_statement_read(r.source_path, r.source, v->line[0], &st);
	if (!err)
		err = fix_statement_describe(&st, &ret->situation);
	if (!err)
		err = fix_values_describe(&r, &ret->situation);
	if (!err)
		err = name_fix(&r, &st, v, &ret->fixes);
	if (!err)
		ret->where = strdup(at);
	fix_statement_deinit(&st);
	rank_result_deinit(&r);
	return err ?: ret->where ? NULL : &err_nomem;
}

/* The most particular one of a fix's names. */
static const char *particular(const fix_words *fixes)
{
	static const char *const general[] = { "opm", "copm", "lopm", "c+-",
					       "e+t", "e-t",  NULL };

	for (size_t i = 0; i < fixes->size; i++) {
		bool is_general = false;

		for (size_t k = 0; general[k]; k++)
			is_general |= !strcmp(general[k], fixes->data[i]);
		if (!is_general)
			return fixes->data[i];
	}
	return fixes->data[0];
}

/* The ranks of fault @p i's fix, by all the others; 0: it is not suggested. */
static struct err *leave_out(const struct all *a, size_t i, uint32_t *any, uint32_t *own)
{
	const struct fix_scenario *left = &a->found.data[i].scenario;
	struct fix_knowledge k = {};
	fix_suggestions s = {};
	struct err *err = NULL;
	bool is_cut;

	*any = *own = 0;
	for (size_t n = 0; n < a->found.size && !err; n++)
		if (n != i && a->found.data[n].scenario.where)
			err = vec_add(&k.scenarios, a->found.data[n].scenario);
	if (!err)
		err = fix_suggest(&k, &left->situation, 0.8, &s, &is_cut);
	for (size_t n = 0; n < s.size; n++) {
		if (!*any && fix_words_has(&left->fixes, s.data[n].fix))
			*any = s.data[n].rank;
		if (!strcmp(s.data[n].fix, particular(&left->fixes)))
			*own = s.data[n].rank;
	}
	fix_suggestions_deinit(&s);
	vec_deinit(&k.scenarios);
	return err;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static struct err *add_row(struct bench *b, const char *work, const char *command,
			   const char *metric, const char *unit, double value,
			   double published, double wanted)
{
	struct bench_row row = { .suite = b->suite,
				 .work = work,
				 .command = command,
				 .metric = metric,
				 .unit = unit,
				 .better = BENCH_HIGHER,
				 .is_exact = true,
				 .published = published,
				 .wanted = wanted,
				 .published_source = "paper 003, section 2.5" };

	return bench_row_show(b, &row, value);
}

/* The share of faults, from number @p first on, with a score of at least @p least. */
static double share(const struct all *a, size_t first, int method, double least)
{
	size_t n = 0;

	for (size_t i = first; i < a->found.size; i++)
		n += a->found.data[i].score[method] >= least;
	return 100.0 * n / (a->found.size - first);
}

/* Of one program, whose faults begin at number @p first. */
static struct err *add_program(struct bench *b, const struct all *a, size_t first,
			       const char *name)
{
	struct err *err = NULL;

	for (int m = 0; m < METHODS && first < a->found.size && !err; m++)
		err = add_row(b, name, method_names[m], "score >= 90", "%",
			      share(a, first, m, 0.9), 0, 0);
	return err;
}

/* Of the paper's 129 versions: IVMP, Tarantula. */
static struct err *add_buckets(struct bench *b, const struct all *a)
{
	static const struct {
		double least;
		const char *metric;
		int published[2];
	} buckets[] = { { 0.99, "score >= 99", { 23, 5 } },
			{ 0.9, "score >= 90", { 89, 36 } },
			{ 0.8, "score >= 80", { 102, 60 } },
			{ 0.7, "score >= 70", { 111, 71 } },
			{ 0.5, "score >= 50", { 115, 98 } } };
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(buckets) / sizeof(*buckets); i++)
		for (int m = 0; m < METHODS && !err; m++)
			err = add_row(b, "all faults", method_names[m], buckets[i].metric,
				      "%", share(a, 0, m, buckets[i].least),
				      m < 2 ? 100.0 * buckets[i].published[m] / 129 : 0,
				      i == 1 && m == RANK_IVMP ? 69 : 0);
	return err;
}

static struct err *add_comparison(struct bench *b, const struct all *a)
{
	double n[3] = {}, searched = 0, runs = 0, seconds[BENCH_RUNS_MAX];
	struct bench_row row = { .suite = b->suite,
				 .work = "all faults",
				 .command = "ivmp",
				 .metric = "time of a version",
				 .unit = "s" };
	size_t n_times = 0;
	struct err *err;

	for (size_t i = 0; i < a->found.size; i++) {
		const struct found *f = &a->found.data[i];
		double d = f->score[RANK_IVMP] - f->score[RANK_TARANTULA];

		n[d > 0 ? 0 : d < 0 ? 2 : 1]++;
		searched += f->search_s;
		runs += f->runs;
		if (n_times < BENCH_RUNS_MAX)
			seconds[n_times++] = f->search_s;
	}
	err = add_row(b, "all faults", "ivmp", "better than tarantula", "", n[0], 95, 0);
	if (!err)
		err = add_row(b, "all faults", "ivmp", "as good", "", n[1], 18, 0);
	if (!err)
		err = add_row(b, "all faults", "ivmp", "worse", "", n[2], 16, 0);
	if (!err && searched > 0)
		err = add_row(b, "all faults", "ivmp", "altered runs", "1/s",
			      runs / searched, 0, 1000);
	return err ?: bench_row_add(&b->results, &row, seconds, n_times);
}

static struct err *add_fixes(struct bench *b, const struct all *a)
{
	double first[2] = {}, third[2] = {}, n = 0;
	static const char *const commands[] = { "fixes, any name",
						"fixes, the most particular" };
	struct err *err = NULL;

	for (size_t i = 0; i < a->found.size && !err; i++) {
		uint32_t rank[2];

		if (!a->found.data[i].scenario.where)
			continue;
		err = leave_out(a, i, &rank[0], &rank[1]);
		n++;
		for (int k = 0; k < 2 && !err; k++) {
			first[k] += rank[k] == 1;
			third[k] += rank[k] && rank[k] <= 3;
		}
	}
	for (int k = 0; k < 2 && !err && n; k++) {
		err = add_row(b, "each fault, by the others", commands[k], "at rank 1",
			      "%", 100 * first[k] / n, 0, 0);
		if (!err)
			err = add_row(b, "each fault, by the others", commands[k],
				      "at rank 1 to 3", "%", 100 * third[k] / n, 0, 0);
	}
	return err;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static struct err *look(struct bench *b, const char *program,
			const struct bench_seeded *v, struct all *a, double *ideal)
{
	struct rank_options o = { .suite = v->suite, .want_status = -1, .at_once = 2 };
	struct rank_result r = {};
	struct found *f;
	struct err *err = rank_suite(&o, &r);

	if (err && err->code == ERR_RANGE) {
		err_destroy(err);
		a->n_silent++;
		rank_result_deinit(&r);
		return NULL;
	}
	f = err ? NULL : vec_push(&a->found);
	if (!err)
		err = f ? score_all(&r, v->line[0], f) : &err_nomem;
	rank_result_deinit(&r);
	if (!err && isnan(f->score[RANK_IVMP])) {
		// Failing tests do not execute it: nobody could find it there.
		for (int m = 0; m < METHODS; m++)
			f->score[m] = 0;
		*ideal = 0;
		return NULL;
	}
	if (err)
		return err;
	*ideal = f->score[RANK_IVMP];
	err = score_ranges(v, f);
	return err ?: describe(b, program, v, &f->scenario);
}

/* One program: its faults one at a time, then several at once. */
static struct err *look_at_program(struct bench *b, int p, struct all *a,
				   const char **skip)
{
	const char *name = bench_seeded_programs[p].name;
	double ideal[BENCH_SEEDED];
	size_t first = a->found.size;
	struct err *err = NULL;

	for (int n = 0; n < BENCH_SEEDED; n++)
		ideal[n] = NAN;
	for (int n = 1; n <= BENCH_SEEDED && !err; n += b->o.is_quick ? QUICK : 1) {
		struct bench_seeded v;
		char number[8];

		snprintf(number, sizeof(number), "%d", n);
		if (b->progress)
			b->progress(b->suite, name);
		err = bench_seeded_make(b, name, number, &v);
		if (!err && v.skip) {
			*skip = v.skip;
			return NULL;
		}
		if (!err)
			err = look(b, name, &v, a, &ideal[n - 1]);
		if (err)
			err = err_prefix(err, "%s, fault %d", name, n);
	}
	if (!err)
		err = add_program(b, a, first, name);
	return err || b->o.is_quick ? err : bench_rank_many(b, p, ideal);
}

struct err *bench_suite_rank(struct bench *b)
{
	struct all a = {};
	const char *skip = NULL;
	struct err *err = NULL;

	for (int p = 0; p < PROGRAMS && !err && !skip; p++)
		err = look_at_program(b, p, &a, &skip);
	if (!err && skip) {
		struct bench_row row = { .suite = b->suite,
					 .work = "all faults",
					 .command = "ivmp",
					 .metric = "score >= 90",
					 .unit = "%",
					 .skipped = skip };

		err = bench_row_add(&b->results, &row, NULL, 0);
	} else if (!err && a.found.size) {
		err = add_row(b, "all faults", "ivmp", "faults that tests show", "",
			      (double)a.found.size, 129, 0);
		if (!err)
			err = add_buckets(b, &a);
		if (!err)
			err = add_comparison(b, &a);
		if (!err)
			err = add_fixes(b, &a);
	}
	for (size_t i = 0; i < a.found.size; i++) {
		free(a.found.data[i].scenario.where);
		fix_words_deinit(&a.found.data[i].scenario.situation);
		fix_words_deinit(&a.found.data[i].scenario.fixes);
	}
	vec_deinit(&a.found);
	return err;
}
