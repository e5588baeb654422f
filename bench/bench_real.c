// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `real`: tables 4.3 and 4.4 of paper 001. Programs of Debian, built from source here and
 * now by bench/real/build.sh with a fault in their main structure; recorded, analyzed.
 */

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_suite.h"

#define BUILDER "bench/real/build.sh"
#define ARGS_MAX 256
#define ROUNDS_MAX 5
#define REPORTED_WANTED 4
#define LOCATE_WANTED_S 1

/** A program, and what the paper has about the one in its place. */
static const struct subject {
	const char *name, *title; ///< bench/real/NAME.sh
	int reported;		  ///< table 4.3: statements examined
	double match_s, locate_s; ///< table 4.4
	double native_s, pin_s;	  ///< table 4.4: original, instrumented by Pin
	const char *theirs;	  ///< their program, where it is another
} subjects[] = {
	{ "ls", "ls, a list", 4, 0.003, 0.05, 0.19, 1.36, NULL },
	{ "splay", "addr2line, a splay tree", 1, 0.028, 0.23, 0.04, 10.76, "403.gcc" },
	{ "array", "gif2rgb, an array of arrays", 1, 0.008, 0.29, 15.08, 2703.69,
	  "464.h264ref" },
	{ "bison", "bison, a graph", 3, 0.426, 16.48, 0.18, 4.99, NULL },
};

static const char *const levels[] = { "O2", "O0" };

/** What build.sh said. */
struct built {
	const char *program, *spec, *directory, *version;
	const char *skip; ///< why there is none
	const char *args[ARGS_MAX];
	size_t n_args;
	int line; ///< the faulty one
};

/** What was measured of one program. */
struct findings {
	double native_s[ROUNDS_MAX], record_s[ROUNDS_MAX], slowdown[ROUNDS_MAX];
	double match_s[ROUNDS_MAX], locate_s[ROUNDS_MAX];
	size_t n;
	int reported, rank; ///< 0: none
};

/* ---- building --------------------------------------------------------------------------- */

static void built_take(struct bench *b, struct built *r, const char *line)
{
	const struct {
		const char *key;
		const char **value;
	} keys[] = {
		{ "program=", &r->program }, { "spec=", &r->spec },
		{ "in=", &r->directory },    { "version=", &r->version },
		{ "skip=", &r->skip },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strncmp(line, keys[i].key, strlen(keys[i].key)))
			*keys[i].value =
				bench_keep(&b->results, line + strlen(keys[i].key));
	if (!strncmp(line, "line=", 5))
		r->line = atoi(line + 5);
	if (!strncmp(line, "arg=", 4) && r->n_args < ARGS_MAX)
		r->args[r->n_args++] = bench_keep(&b->results, line + 4);
}

static struct err *build(struct bench *b, const struct subject *s, const char *level,
			 struct built *ret)
{
	char cache[PATH_MAX + 8], out[PATH_MAX + 8], errors[PATH_MAX + 8],
		line[PATH_MAX + 64];
	const char *argv[] = { "sh", BUILDER, s->name, level, b->o.cache ?: cache, NULL };
	_cleanup_fclose_ FILE *f = NULL;
	struct err *err;
	double wall_s;
	int status;

	*ret = (struct built){ 0 };
	snprintf(cache, sizeof(cache), "%s/real", b->scratch);
	snprintf(out, sizeof(out), "%s/built", b->scratch);
	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	if (access(BUILDER, R_OK)) {
		ret->skip = "there is no " BUILDER ": run it where faultline's source is";
		return NULL;
	}
	err = bench_run(argv, out, errors, &wall_s, &status);
	if (err)
		return err;
	f = fopen(out, "r");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		built_take(b, ret, line);
	}
	if (!ret->skip && (status || !ret->program || !ret->spec || !ret->directory))
		ret->skip = "it could not be built";
	return NULL;
}

/* ---- measuring --------------------------------------------------------------------------- */

// Run the program in its directory, behind prefix (NULL-terminated).
static struct err *run(struct bench *b, const struct built *p, const char *const *prefix,
		       double *wall_s)
{
	const char *argv[ARGS_MAX + 16] = { "sh", "-c", "cd \"$0\" && exec \"$@\"",
					    p->directory };
	char errors[PATH_MAX + 8];
	size_t n = 4;
	int status;

	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	for (; *prefix; prefix++)
		argv[n++] = *prefix;
	argv[n++] = p->program;
	for (size_t i = 0; i < p->n_args; i++)
		argv[n++] = p->args[i];
	return bench_run(argv, NULL, errors, wall_s, &status);
}

static double number(const cJSON *o, const char *key)
{
	return cJSON_GetNumberValue(cJSON_GetObjectItem(o, key));
}

static struct err *analyze(struct bench *b, const struct built *p, struct findings *f)
{
	const char *const argv[] = { b->exe,  "analyze", b->capture, "--spec",
				     p->spec, "--json",	 NULL };
	const cJSON *faults, *phases, *fault;
	int rank = 0;
	cJSON *json;
	struct err *err = bench_run_json(b->scratch, argv, &json);

	if (err)
		return err;
	faults = cJSON_GetObjectItem(json, "faults");
	phases = cJSON_GetObjectItem(json, "phases");
	f->reported = cJSON_GetArraySize(faults);
	f->rank = 0;
	cJSON_ArrayForEach(fault, faults)
	{
		rank++;
		if (!f->rank && number(fault, "line") == p->line)
			f->rank = rank;
	}
	f->match_s[f->n] = number(phases, "match_s");
	f->locate_s[f->n] = number(phases, "locate_s");
	cJSON_Delete(json);
	return NULL;
}

static struct err *measure(struct bench *b, const struct built *p, struct findings *f)
{
	const char *const native[] = { NULL };
	const char *const record[] = { b->exe, "record", "-o", b->capture, "--", NULL };
	size_t rounds = b->o.rounds < ROUNDS_MAX ? b->o.rounds : ROUNDS_MAX;
	struct err *err = NULL;

	for (f->n = 0; f->n < rounds && !err; f->n += !err) {
		err = run(b, p, native, &f->native_s[f->n]);
		bench_remove(b->capture);
		if (!err)
			err = run(b, p, record, &f->record_s[f->n]);
		if (!err)
			err = analyze(b, p, f);
		if (!err)
			f->slowdown[f->n] = f->record_s[f->n] / f->native_s[f->n];
	}
	return err;
}

/* ---- rows --------------------------------------------------------------------------------- */

static struct err *rows_add(struct bench *b, const struct subject *s, const char *level,
			    const struct built *p, const struct findings *f)
{
	const double reported = f->reported, located = f->rank ? 100 : 0, rank = f->rank;
	const struct {
		const char *metric, *unit;
		const double *runs;
		size_t n;
		double published, wanted;
		const char *source;
		enum bench_better better;
		bool is_exact;
	} metrics[] = {
		{ "located", "%", &located, 1, 100, 0, "section 4.5", BENCH_HIGHER,
		  true },
		{ "reported", "", &reported, 1, s->reported, REPORTED_WANTED, "table 4.3",
		  BENCH_LOWER, true },
		{ "rank", "", &rank, 1, 0, 0, NULL, BENCH_LOWER, true },
		{ "match", "s", f->match_s, f->n, s->match_s, 0, "table 4.4", BENCH_LOWER,
		  false },
		{ "locate", "s", f->locate_s, f->n, s->locate_s, LOCATE_WANTED_S,
		  "table 4.4", BENCH_LOWER, false },
		{ "native", "s", f->native_s, f->n, s->native_s, 0, "table 4.4",
		  BENCH_NEITHER, false },
		{ "recorded", "s", f->record_s, f->n, s->pin_s, 0, "table 4.4, Pin",
		  BENCH_LOWER, false },
		{ "slowdown", "x", f->slowdown, f->n, s->pin_s / s->native_s, 0,
		  "table 4.4, Pin", BENCH_LOWER, false },
	};
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics) && !err; i++) {
		const struct bench_row row = {
			.suite = b->suite,
			.work = s->title,
			.command = level,
			.metric = metrics[i].metric,
			.unit = metrics[i].unit,
			.better = metrics[i].better,
			.wanted = metrics[i].wanted,
			.published = metrics[i].published,
			.published_source = metrics[i].source,
			.is_exact = metrics[i].is_exact,
			.note = i || !s->theirs ?
					NULL :
					bench_keep_printf(&b->results, "published: of %s",
							  s->theirs),
			.skipped = p->skip	       ?:
					   f->reported ? NULL :
							 "nothing was reported",
		};

		// One reason is enough.
		if (row.skipped && i && p->skip)
			break;
		err = bench_row_add(&b->results, &row, metrics[i].runs,
				    row.skipped ? 0 : metrics[i].n);
	}
	return err;
}

static struct err *subject_measure(struct bench *b, const struct subject *s,
				   const char *level)
{
	struct findings f = { 0 };
	struct built p;
	struct err *err;

	if (b->progress)
		b->progress(b->suite, s->title);
	err = build(b, s, level, &p);
	if (!err && !p.skip)
		err = measure(b, &p, &f);
	return err ? err : rows_add(b, s, level, &p, &f);
}

struct err *bench_suite_real(struct bench *b)
{
	size_t n_levels = b->o.is_quick ? 1 : sizeof(levels) / sizeof(*levels);
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects) && !err; i++)
		for (size_t k = 0; k < n_levels && !err; k++)
			err = subject_measure(b, &subjects[i], levels[k]);
	return err;
}
