// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND bench: measure what faultline costs here, beside other tools

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"
#include "bench/bench_compare.h"
#include "bench/bench_emit.h"
#include "bench/bench_machine.h"
#include "bench/bench_peers.h"
#include "bench/bench_suite.h"

#define EXIT_WORSE 1
#define EXIT_COULD_NOT 2

/** The suites, in the order in which they run. */
static const struct {
	struct bench_suite_info info;
	struct err *(*run)(struct bench *b);
	bool is_default;
} suites[] = {
	{ { "record", "what recording costs, beside other tools on the same work",
	    "record keeps what a replay needs; what the other tools do is another thing each "
	    "(see above). The tiny works are for the slowest of them.",
	    false },
	  bench_suite_record,
	  true },
	{ { "replay", "what replaying costs",
	    "The command as a whole, by what it logs; and the machine alone, in one process, "
	    "without a log: with 64 checkpoints on the way or none.",
	    false },
	  bench_suite_replay,
	  true },
	{ { "growth", "how costs grow with the work",
	    "What a command takes for none of the work is taken off each time before the "
	    "fit. The exponent is the slope in logarithms, in brackets its 95 % interval; 1 "
	    "is linear.",
	    false },
	  bench_suite_growth,
	  true },
	{ { "corpus", "what recording costs on programs as Debian ships them", NULL,
	    false },
	  bench_suite_corpus,
	  false },
	{ { "attach", "what a server under load notices of being attached to", NULL,
	    false },
	  bench_suite_attach,
	  true },
	{ { "stores", "store probes where they are needed, and at each store", NULL,
	    false },
	  bench_suite_stores,
	  false },
	{ { "locate", "faults injected into data structures",
	    "1,000 nodes, 500 operations, 10 faults; -O2. In brackets what Singh's "
	    "dissertation published (tables 2.2, 4.1, 4.2; published, not measured): other "
	    "programs, a machine of 2006.",
	    true },
	  bench_suite_locate,
	  true },
	{ { "graph", "what a memory graph (MG++) takes",
	    "Tables 3.3 and 3.4 of Singh's dissertation, on the programs as Debian ships them "
	    "now and three of ours. In brackets what it published (not measured): other "
	    "versions, inputs no larger, a machine of 2006 and Pin. Snapshots: storing the "
	    "graph at each change, 8 bytes for each live node. Its times are those of the "
	    "instrumented program alone.",
	    true },
	  bench_suite_graph,
	  true },
	{ { "decode", "how fast Intel PT is decoded", NULL, false },
	  bench_suite_decode,
	  true },
};

#define N_SUITES (sizeof(suites) / sizeof(*suites))

static const struct argp_option option_table[] = {
	{ "quick", 'q', NULL, 0, "Smaller inputs, 3 rounds", 0 },
	{ "rounds", 'r', "N", 0, "Rounds that count (5, quick: 3)", 0 },
	{ "corpus", 'c', "DIR", 0, "Where the corpus is (tests/corpus)", 0 },
	{ "specs", 's', "DIR", 0,
	  "Where the specifications are (specs); their programs are beside faultline",
	  0 },
	{ "scale", 'x', "LIST", 0,
	  "Sizes at which growth is measured, as factors (1,2,4,8)", 0 },
	{ "json", 'j', "FILE", 0, "Write the results to FILE too", 0 },
	{ "html", 'h', "FILE", 0, "Write a report with plots to FILE too", 0 },
	{ "markdown", 'm', "FILE", 0, "Write the tables as Markdown to FILE too", 0 },
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

static void options_complete(struct bench_options *o)
{
	static const double scale[] = { 1, 2, 4, 8 };

	for (size_t i = 0; i < N_SUITES && !o->suites; i++)
		if (suites[i].is_default)
			o->suites |= 1u << i;
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
	uint32_t given = 0;

	for (size_t i = 0; i < N_SUITES; i++)
		if (!strcmp(name, suites[i].info.name) ||
		    (!strcmp(name, "all") && suites[i].run != bench_suite_corpus))
			given |= 1u << i;
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

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct bench_options *o = state->input;

	switch (key) {
	case 'q':
		o->is_quick = true;
		return 0;
	case 'j':
		o->json = arg;
		return 0;
	case 'h':
		o->html = arg;
		return 0;
	case 'm':
		o->markdown = arg;
		return 0;
	case 'f':
		o->from = arg;
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
		if (o->is_comparing && !o->compared[1])
			argp_error(state, "--compare takes two files, OLD and NEW");
		if (o->from && (o->suites || o->is_comparing))
			argp_error(state, "--from takes results as they are: no suites, "
					  "no --compare");
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
	fprintf(f, "%s\n\nSuites (all: but corpus; without one: those with a star):\n",
		text);
	for (size_t i = 0; i < N_SUITES; i++)
		fprintf(f, " %c%-8s %s\n", suites[i].is_default ? '*' : ' ',
			suites[i].info.name, suites[i].info.title);
	fclose(f);
	return help;
}

static const struct argp argp = {
	option_table,
	parse_option,
	"[SUITE...]\n--from=FILE\n--compare OLD NEW",
	"Measure what faultline costs on this machine, beside other tools on the same work in "
	"the same rounds, and print medians, ranges, ratios and growth."
	"\vExit status: 0 measured, or nothing got worse; 1 something got worse (--compare); 2 "
	"could not measure or compare.\n\nExamples:\n"
	"  faultline bench --quick\n"
	"  faultline bench record replay --html report.html\n"
	"  faultline bench growth --scale 1,2,4,8,16\n"
	"  faultline bench corpus --corpus=tests/corpus\n"
	"  faultline bench replay --rounds 11 --json new.json\n"
	"  faultline bench --from new.json --markdown doc/benchmarks.md\n"
	"  faultline bench --compare old.json new.json",
	NULL,
	help_add_suites,
	NULL
};

/** Tell a terminal what is being measured. */
static void progress_show(const char *suite, const char *work)
{
	fprintf(stderr, "\r\033[K%s%s%s", suite ?: "", suite ? ": " : "", work ?: "");
}

/** Write the results to @p path with @p emit; NULL: nothing to do. */
static struct err *results_write(struct bench_results *r, const char *path,
				 struct err *(*emit)(FILE *out, struct bench_results *r))
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err;

	if (!path)
		return NULL;
	err = new_file_open(&f, path);
	if (!err)
		err = emit(f.stream, r);
	return err ? err : new_file_commit(&f);
}

static struct err *suite_run(struct bench *b, size_t i)
{
	struct bench_suite_info *info = vec_push(&b->results.suites);
	struct err *err;

	if (!info)
		return &err_nomem;
	*info = suites[i].info;
	b->suite = info->name;
	err = suites[i].run(b);
	if (b->progress)
		b->progress(NULL, NULL);
	bench_rows_finish(&b->results);
	return err ? err : bench_text_suite(stdout, &b->results, &suites[i].info);
}

/** Find faultline itself, and a directory to work in. */
static struct err *place_find(struct bench *b)
{
	const char *tmp = getenv("TMPDIR");
	ssize_t n = readlink("/proc/self/exe", b->exe, sizeof(b->exe) - 1);
	struct err *err;

	if (n < 0)
		return err_errno("cannot find faultline's own program");
	snprintf(b->scratch, sizeof(b->scratch), "%s/faultline-bench.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(b->scratch)) {
		err = err_errno("cannot make '%s'", b->scratch);
		b->scratch[0] = 0;
		return err;
	}
	snprintf(b->capture, sizeof(b->capture), "%s/capture", b->scratch);
	return NULL;
}

/** Run the suites that were asked for, printing each. */
static struct err *suites_run(struct bench *b, int argc, char **argv)
{
	struct bench_results *r = &b->results;
	struct err *err = place_find(b);

	if (!err)
		err = bench_works_make(b);
	if (!err)
		err = bench_machine_describe(r, argc, argv);
	if (!err)
		err = bench_peers_describe(b);
	if (err)
		return err;
	r->header.is_quick = b->o.is_quick;
	r->header.rounds = b->o.rounds;
	bench_text_header(stdout, r);
	for (size_t i = 0; i < N_SUITES && !err; i++)
		if (b->o.suites >> i & 1)
			err = suite_run(b, i);
	r->header.load_end = bench_machine_load();
	return err;
}

/** Show results that were measured before. */
static struct err *results_show(struct bench *b)
{
	struct bench_results *r = &b->results;
	struct err *err = bench_json_read(b->o.from, r);

	if (err)
		return err;
	bench_text_header(stdout, r);
	for (size_t i = 0; i < r->suites.size && !err; i++)
		err = bench_text_suite(stdout, r, &r->suites.data[i]);
	return err;
}

static struct err *bench_main(struct bench *b, int argc, char **argv)
{
	struct bench_results *r = &b->results;
	struct err *err = b->o.from ? results_show(b) : suites_run(b, argc, argv);

	if (!err)
		err = results_write(r, b->o.json, bench_json_write);
	if (!err)
		err = results_write(r, b->o.html, bench_html_write);
	return err ? err : results_write(r, b->o.markdown, bench_markdown_write);
}

static bool has_failure(const struct bench_results *r)
{
	for (size_t i = 0; i < r->rows.size; i++)
		if (r->rows.data[i].is_failure)
			return true;
	return false;
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
	argp_parse(&argp, argc, argv, 0, NULL, &b.o);
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
