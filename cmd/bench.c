// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND measure/bench: measure what faultline costs here, beside other tools

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"
#include "bench/bench_compare.h"
#include "bench/bench_emit.h"
#include "report/bench_svg.h"
#include "bench/bench_suite.h"
#include "cmd/work.h"

#define EXIT_WORSE 1
#define EXIT_COULD_NOT 2

enum { KEY_JOBS = 256, KEY_SLURM, KEY_HERE };

/** Where the suites run; by itself here, one after the other. */
static struct work_place place;

static const struct argp_option option_table[] = {
	{ "quick", 'q', NULL, 0, "Smaller inputs, 3 rounds", 0 },
	{ "rounds", 'r', "N", 0, "Rounds that count (5, quick: 3)", 0 },
	{ "corpus", 'c', "DIR", 0, "Where the corpus is (tests/corpus)", 0 },
	{ "specs", 's', "DIR", 0,
	  "Where the specifications are (specs); their programs are beside faultline",
	  0 },
	{ "cache", 'k', "DIR", 0,
	  "Where the suite real keeps what it downloads and builds (nowhere)", 0 },
	{ "seeds", 'S', "FIRST-LAST", 0,
	  "Which faults the suite locate injects, 64 at most (1-12, quick: 1-3)", 0 },
	{ "scale", 'x', "LIST", 0,
	  "Sizes at which growth is measured, as factors (1,2,4,8)", 0 },
	{ "json", 'j', "FILE", 0, "Write the results to FILE too (-: stdout)", 0 },
	{ "html", 'h', "FILE", 0, "Write a report with plots to FILE too (-: stdout)",
	  0 },
	{ "markdown", 'm', "FILE", 0,
	  "Write the tables as Markdown to FILE too, and the plots to SVG files beside it; "
	  "without plots to a device, a pipe or - (stdout)",
	  0 },
	{ "jobs", KEY_JOBS, "N", 0,
	  "N suites at a time (1): they take each other's time, counts stay what they are",
	  0 },
	WORK_SLURM_OPTION(KEY_SLURM),
	{ "here", KEY_HERE, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "from", 'f', "FILE", 0,
	  "Measure nothing: take the results that --json wrote to FILE", 0 },
	{ "compare", 'C', NULL, 0,
	  "Measure nothing: say what moved beyond noise from results OLD to NEW", 0 },
	{ 0 },
};

/** "1,2,4,8": ascending, above 0. */
static void parse_scale(struct argp_state *state, struct bench_options *o,
			const char *list)
{
	const char *p = list;
	char *end;

	for (o->n_scales = 0; o->n_scales < BENCH_SCALES_MAX; p = end + 1) {
		double v = strtod(p, &end);

		if (end == p || (*end && *end != ',') || !(v > 0) || v > 1e6 ||
		    (o->n_scales && v <= o->scale[o->n_scales - 1]))
			break;
		o->scale[o->n_scales++] = v;
		if (!*end)
			return;
	}
	argp_error(state,
		   "--scale is up to %d ascending factors, as in 1,2,4,8, not '%s'",
		   BENCH_SCALES_MAX, list);
}

/** "13-40". */
static void parse_seeds(struct argp_state *state, struct bench_options *o,
			const char *range)
{
	int first, last, n = 0;

	if (sscanf(range, "%d-%d%n", &first, &last, &n) != 2 || range[n] || first < 1 ||
	    last < first || last - first >= BENCH_SEEDS_MAX)
		argp_error(state,
			   "--seeds is FIRST-LAST, %d at most, as in 13-40, not '%s'",
			   BENCH_SEEDS_MAX, range);
	o->first_seed = first;
	o->n_seeds = last - first + 1;
}

static void options_complete(struct bench_options *o)
{
	static const double scale[] = { 1, 2, 4, 8 };

	if (!o->suites)
		o->suites = bench_suites_named(NULL);
	if (!o->rounds)
		o->rounds = o->is_quick ? 3 : 5;
	if (!o->n_scales) {
		o->n_scales = sizeof(scale) / sizeof(*scale);
		memcpy(o->scale, scale, sizeof(scale));
	}
}

static error_t take_suite(struct argp_state *state, struct bench_options *o,
			  const char *name)
{
	uint32_t given = bench_suites_named(name);

	if (!given)
		argp_error(state, "no suite '%s' (see --help)", name);
	o->suites |= given;
	return 0;
}

static error_t take_compared(struct argp_state *state, struct bench_options *o,
			     const char *file)
{
	if (o->compared[1])
		argp_error(state, "--compare takes two files, not also '%s'", file);
	o->compared[o->compared[0] != NULL] = file;
	return 0;
}

static void check_options(struct argp_state *state, struct bench *b)
{
	const struct bench_options *o = &b->o;
	bool writes = false;

	for (size_t i = 0; i < BENCH_FILES; i++)
		writes |= o->outputs[i] != NULL;
	if (o->is_comparing && !o->compared[1])
		argp_error(state, "--compare takes two files, OLD and NEW");
	if (o->is_comparing && writes)
		argp_error(state,
			   "--compare writes no file: no --json, --html, --markdown");
	if ((place.n_jobs || place.is_slurm) && (o->from || o->is_comparing))
		argp_error(state, "--jobs and --slurm are for what is measured");
	if (o->from && (o->suites || o->is_comparing))
		argp_error(state, "--from takes results as they are: no suites, "
				  "no --compare");
	b->talk = option_talk(state, o->outputs, BENCH_FILES, false);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct bench *b = state->input;
	struct bench_options *o = &b->o;

	switch (key) {
	case 'q':
		o->is_quick = true;
		return 0;
	case 'j':
		o->outputs[BENCH_FILE_JSON] = arg;
		return 0;
	case 'h':
		o->outputs[BENCH_FILE_HTML] = arg;
		return 0;
	case 'm':
		o->outputs[BENCH_FILE_MARKDOWN] = arg;
		return 0;
	case 'f':
		o->from = arg;
		return 0;
	case KEY_JOBS:
		place.n_jobs = option_number(state, "--jobs", arg, 1, 64);
		return 0;
	case KEY_SLURM:
		return cmd_work_on_slurm(&place, arg);
	case KEY_HERE:
		place = (struct work_place){};
		return 0;
	case 'C':
		o->is_comparing = true;
		return 0;
	case 'c':
		o->corpus = arg;
		return 0;
	case 's':
		o->specs = arg;
		return 0;
	case 'S':
		parse_seeds(state, o, arg);
		return 0;
	case 'k':
		o->cache = arg;
		return 0;
	case 'x':
		parse_scale(state, o, arg);
		return 0;
	case 'r':
		o->rounds =
			(int)option_number(state, "--rounds", arg, 1, BENCH_ROUNDS_MAX);
		return 0;
	case ARGP_KEY_ARG:
		return o->is_comparing ? take_compared(state, o, arg) :
					 take_suite(state, o, arg);
	case ARGP_KEY_END:
		check_options(state, b);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/** Put the table of suites behind what the help begins with. */
static char *help_add_suites(int key, const char *text, void *input)
{
	char *help = NULL;
	size_t size;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_PRE_DOC)
		return (char *)text;
	f = open_memstream(&help, &size);
	if (!f)
		return (char *)text;
	fprintf(f, "%s\n\n", text);
	bench_suites_list(f);
	fclose(f);
	return help;
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[SUITE...]\n--from=FILE\n--compare OLD NEW",
	.doc = "Measure what faultline costs on this machine, beside other tools on the same work in "
	       "the same rounds, and print medians, ranges, ratios and growth."
	       "\vExit status: 0 measured, or nothing got worse; 1 something got worse (--compare); 2 "
	       "could not measure or compare.\n\nExamples:\n"
	       "  faultline bench --quick\n"
	       "  faultline bench record replay --html report.html\n"
	       "  faultline bench growth --scale 1,2,4,8,16\n"
	       "  faultline bench locate --seeds=13-40\n"
	       "  faultline bench real --cache=$HOME/.cache/faultline\n"
	       "  faultline bench corpus --corpus=tests/corpus\n"
	       "  faultline bench replay --rounds 11 --json new.json\n"
	       "  faultline bench --from new.json --markdown doc/benchmarks.md\n"
	       "  faultline bench --compare old.json new.json",
	.help_filter = help_add_suites,
};

/** Tell a terminal what is being measured. */
static void progress_show(const char *suite, const char *work)
{
	fprintf(stderr, TEXT_AGAIN "%s%s%s", suite ?: "", suite ? ": " : "", work ?: "");
}

/** Open those of @p files that have a path, to say before anything is measured why one cannot be
 * written. What has a place is opened again at the end: nothing of it is left when we are
 * interrupted. A pipe stays open, its reader waits for one writer. */
static struct err *outputs_try(const struct bench_options *o, struct new_file *files)
{
	struct err *err = NULL;

	for (size_t i = 0; i < BENCH_FILES && !err; i++) {
		if (!o->outputs[i])
			continue;
		err = new_file_open(&files[i], o->outputs[i], 0666);
		if (!err && !files[i].is_as_is)
			new_file_deinit(&files[i]);
	}
	return err;
}

/** Write the results to @p path with @p emit; NULL: nothing to do. */
static struct err *results_write(struct bench_results *r, struct new_file *f,
				 const char *path,
				 struct err *(*emit)(FILE *out, struct bench_results *r))
{
	struct err *err = path && !f->stream ? new_file_open(f, path, 0666) : NULL;

	if (!err && path)
		err = emit(f->stream, r);
	return err || !path ? err : new_file_commit(f);
}

/** Show results that are there. */
static struct err *results_tell(struct bench *b)
{
	struct bench_results *r = &b->results;
	struct err *err = NULL;

	bench_text_header(b->talk, r);
	for (size_t i = 0; i < r->suites.size && !err; i++)
		err = bench_text_suite(b->talk, r, &r->suites.data[i]);
	return err;
}

/** Show results that were measured before. */
static struct err *results_show(struct bench *b)
{
	struct err *err = bench_json_read(b->o.from, &b->results);

	return err ?: results_tell(b);
}

/* ---- suites beside each other ------------------------------------------------------------------ */

/** The options again, those of files but for the results; all texts are arena's. */
static struct err *add_suite(struct bench *b, struct work *w, const char *suite)
{
	const struct bench_options *o = &b->o;
	const char *words[24] = { "bench", "--here", "--json", "@/results.json" };
	char scale[BENCH_SCALES_MAX * 32] = "";
	size_t n = 4;

	for (size_t i = 0; i < o->n_scales; i++)
		snprintf(scale + strlen(scale), sizeof(scale) - strlen(scale), "%s%.17g",
			 i ? "," : "", o->scale[i]);
	words[n++] = bench_keep_printf(&b->results, "--rounds=%d", o->rounds);
	words[n++] = bench_keep_printf(&b->results, "--scale=%s", scale);
	if (o->is_quick)
		words[n++] = "--quick";
	if (o->n_seeds)
		words[n++] = bench_keep_printf(&b->results, "--seeds=%d-%d",
					       o->first_seed,
					       o->first_seed + o->n_seeds - 1);
	if (o->corpus)
		words[n++] = bench_keep_printf(&b->results, "--corpus=%s", o->corpus);
	if (o->specs)
		words[n++] = bench_keep_printf(&b->results, "--specs=%s", o->specs);
	if (o->cache)
		words[n++] = bench_keep_printf(&b->results, "--cache=%s", o->cache);
	words[n++] = suite;
	for (size_t i = 0; i < n; i++)
		if (!words[i])
			return &err_nomem;
	return cmd_work_add(w, suite, words);
}

/** What each measured becomes one. */
static struct err *take_results(struct bench *b, const struct work *w)
{
	struct err *err = NULL;

	for (size_t i = 0; i < w->list.n_tests && !err; i++) {
		_cleanup_free_ char *path = cmd_work_path(w, i, "results.json");

		if (!path)
			return &err_nomem;
		err = access(path, F_OK) ? cmd_work_failed(w, i) :
					   bench_json_read(path, &b->results);
	}
	return err;
}

/** Each suite is a command of its own. */
static struct err *suites_run_beside(struct bench *b, char **argv)
{
	struct work w;
	struct err *err = cmd_work_init(&w, &place, "faultline-bench.work");
	const char *name;

	w.is_tried = true; // who measures here measures elsewhere
	for (size_t i = 0; (name = bench_suites_name(i)) && !err; i++)
		if (b->o.suites >> i & 1)
			err = add_suite(b, &w, name);
	if (!err)
		err = cmd_work_run(&w, "bench", argv);
	if (!err)
		err = take_results(b, &w);
	if (!err)
		err = results_tell(b);
	if (!err)
		cmd_work_remove(&w);
	cmd_work_deinit(&w);
	return err;
}

/** The plots of the suites that have some, each a file. */
static struct err *pictures_write(struct bench_results *r, const char *stem)
{
	struct err *err = NULL;

	for (size_t i = 0; i < r->series.size && !err; i++) {
		_cleanup_(new_file_deinit) struct new_file f = {};
		_cleanup_free_ char *path = NULL;
		const char *suite = r->series.data[i].suite;

		if (i && !strcmp(r->series.data[i - 1].suite, suite))
			continue;
		if (asprintf(&path, "%s-%s.svg", stem, suite) < 0)
			return &err_nomem;
		err = new_file_open(&f, path, 0666);
		if (err)
			break;
		report_bench_svg_picture(f.stream, r, suite);
		err = new_file_commit(&f);
	}
	return err;
}

/** Write the Markdown to DIR/NAME.md and its pictures to DIR/NAME-SUITE.svg. Beside what is no
 * place for files there are none. */
static struct err *markdown_write(struct bench_results *r, struct new_file *f,
				  const char *path)
{
	size_t n = path ? strlen(path) : 0;
	_cleanup_free_ char *stem = NULL;
	bool has_place = path && !f->is_as_is;
	struct err *err;

	if (has_place) {
		stem = strndup(path, n > 3 && !strcmp(path + n - 3, ".md") ? n - 3 : n);
		if (!stem)
			return &err_nomem;
		r->pictures =
			bench_keep(r, strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem);
	}
	err = results_write(r, f, path, bench_markdown_write);
	return err || !has_place ? err : pictures_write(r, stem);
}

static struct err *bench_main(struct bench *b, int argc, char **argv)
{
	const char *const *paths = b->o.outputs;
	struct bench_results *r = &b->results;
	struct new_file files[BENCH_FILES] = {};
	struct err *err = outputs_try(&b->o, files);

	if (!err)
		err = b->o.from ? results_show(b) :
		      place.n_jobs > 1 || place.is_slurm ?
				  suites_run_beside(b, argv) :
				  bench_suites_run(b, argc, argv);
	if (!err)
		err = results_write(r, &files[BENCH_FILE_JSON], paths[BENCH_FILE_JSON],
				    bench_json_write);
	if (!err)
		err = results_write(r, &files[BENCH_FILE_HTML], paths[BENCH_FILE_HTML],
				    report_bench_html_write);
	if (!err)
		err = markdown_write(r, &files[BENCH_FILE_MARKDOWN],
				     paths[BENCH_FILE_MARKDOWN]);
	for (size_t i = 0; i < BENCH_FILES; i++)
		new_file_deinit(&files[i]);
	return err;
}

static bool has_failure(const struct bench_results *r)
{
	return vec_find(&r->rows, row, row->is_failure);
}

/** The quick form's works are smaller ones: a ratio of theirs says nothing of the others. */
static struct err *are_comparable(const struct bench_options *o,
				  const struct bench_results *before,
				  const struct bench_results *after)
{
	int quick = before->header.is_quick ? 0 : 1;

	if (before->header.is_quick == after->header.is_quick)
		return NULL;
	return err_new(
		ERR_USAGE,
		"cannot compare '%s' with '%s': '%s' is of the quick form, whose works "
		"are smaller (make both with --quick, or both without)",
		o->compared[0], o->compared[1], o->compared[quick]);
}

/** @return the exit status. */
static int compare_main(const struct bench_options *o, struct err **err)
{
	struct bench_results before = {}, after = {};
	struct bench_comparison c = {};

	*err = bench_json_read(o->compared[0], &before);
	if (!*err)
		*err = bench_json_read(o->compared[1], &after);
	if (!*err)
		*err = are_comparable(o, &before, &after);
	if (!*err)
		bench_compare(stdout, &before, &after, &c);
	bench_results_deinit(&before);
	bench_results_deinit(&after);
	return *err ? EXIT_COULD_NOT : c.n[BENCH_WORSE] ? EXIT_WORSE : 0;
}

int cmd_bench(int argc, char **argv)
{
	struct bench b = {};
	_cleanup_err_ struct err *err = NULL;
	int status = 0;

	if (isatty(STDERR_FILENO))
		b.progress = progress_show;
	argp_parse(&argp, argc, argv, 0, NULL, &b);
	options_complete(&b.o);
	if (b.o.is_comparing) {
		status = compare_main(&b.o, &err);
	} else {
		err = bench_main(&b, argc, argv);
		status = err || has_failure(&b.results) ? EXIT_COULD_NOT : 0;
	}
	if (b.scratch[0])
		bench_remove(b.scratch);
	bench_results_deinit(&b.results);
	arena_deinit(&b.arena);
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	return status;
}
