// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND explain/rank: which statement makes tests fail? by replaced values, or by who executed it

#include <cjson/cJSON.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/option.h"
#include "capture/capture.h"
#include "cmd/command.h"
#include "cmd/work.h"
#include "confine/confine.h"
#include "suppress-hw/rank/rank.h"

#define EXIT_COULD_NOT 2
#define SHOWN 20

enum {
	KEY_JSON = 256,
	KEY_METHOD,
	KEY_LOSSLESS,
	KEY_ALL,
	KEY_EXPECTED,
	KEY_STATUS,
	KEY_FAULTS,
	KEY_FIXED,
	KEY_STATE,
	KEY_SLURM,
	KEY_PART,
	KEY_KNOWN
};

struct arguments {
	struct rank_options o;
	bool as_json, shows_all;
	fl_texts fixed, states;
	struct work_place place;
};

static const char *const methods[] = { "ivmp",	 "tarantula",  "ochiai", "dstar",
				       "ranges", "predicates", NULL };
static const char *const faults[] = { "one", "min", "full", "partial", NULL };

static const struct argp_option options[] = {
	{ "method", KEY_METHOD, "METHOD", 0,
	  "ivmp (default): in how many failing tests another value there makes the output right; "
	  "predicates: branches that going the other way make it right; "
	  "tarantula, ochiai, dstar: by which tests executed it; ranges: by which values it had in "
	  "which tests",
	  0 },
	{ "faults", KEY_FAULTS, "NAME", 0,
	  "one (default): what one failing test shows narrows what is tried in the next; min, full, "
	  "partial: there may be several, each failing test is searched on its own, after a "
	  "fix (--fixed) none, all, or those that execute what was fixed",
	  0 },
	{ "state", KEY_STATE, "FILE", 0,
	  "Keep what was found in FILE and go on from there: after an interruption, or behind a fix",
	  0 },
	{ "fixed", KEY_FIXED, "PLACE", 0,
	  "PLACE, FILE:LINE, was fixed since --state was kept, and SUITE recorded anew",
	  0 },
	{ "lossless", KEY_LOSSLESS, NULL, 0,
	  "Try all instances of each statement with all values seen there, in each failing test",
	  0 },
	{ "jobs", 'j', "N", 0, "N altered runs at a time (default: the cores)", 0 },
	WORK_SLURM_OPTION(KEY_SLURM),
	{ "part", KEY_PART, "K/N", OPTION_HIDDEN, NULL, 0 },
	{ "known", KEY_KNOWN, "FILE", OPTION_HIDDEN, NULL, 0 },
	{ "expected", KEY_EXPECTED, "FILE", 0,
	  "SUITE is the capture of one failing run, whose stdout should have been that of FILE",
	  0 },
	{ "status", KEY_STATUS, "N", 0,
	  "SUITE is the capture of one failing run, which should have exited with N", 0 },
	{ "all", KEY_ALL, NULL, 0, "Print all statements, not the first 20", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print the result as one JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Read SUITE, made by `faultline suite record', and rank the statements that its failing "
	"tests executed by how likely each is the fault. Interrupted (Ctrl-C), it prints the "
	"ranking so far.\v"
	"Exit status: 1 when statements were ranked, 2 when they could not be (no test failed, no "
	"line information, a damaged capture).\n\n"
	"Examples:\n"
	"  faultline rank prog.suite\n"
	"  faultline rank --method ochiai prog.suite\n"
	"  faultline rank --expected right.txt wrong.flt\n"
	"  faultline rank --faults partial --state found.json prog.suite\n"
	"  faultline rank --json prog.suite | jq '.statements[0]'\n";

static int one_of(struct argp_state *state, const char *what, const char *const *names,
		  const char *arg)
{
	char all[128] = "";

	for (int i = 0; names[i]; i++) {
		if (!strcmp(arg, names[i]))
			return i;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 i ? ", " : "", names[i]);
	}
	argp_error(state, "unknown %s '%s' (there are: %s)", what, arg, all);
	return 0;
}

static bool is_searching(const struct arguments *a)
{
	return a->o.method == RANK_IVMP || a->o.method == RANK_PREDICATES;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_METHOD:
		a->o.method = one_of(state, "method", methods, arg);
		return 0;
	case KEY_FAULTS:
		a->o.faults = one_of(state, "number of faults", faults, arg);
		return 0;
	case KEY_STATE:
		a->o.state = arg;
		return 0;
	case KEY_FIXED:
		cmd_command_push(state, &a->fixed, arg);
		return 0;
	case ARGP_KEY_END:
		if (a->fixed.size && !a->o.state)
			argp_error(state, "--fixed goes on from a --state");
		if ((a->o.state || a->o.faults) && a->o.method != RANK_IVMP &&
		    a->o.method != RANK_PREDICATES)
			argp_error(state,
				   "--state and --faults are for altered runs: not "
				   "with --method %s",
				   methods[a->o.method]);
		if (a->place.is_slurm && !is_searching(a))
			argp_error(state,
				   "--slurm is for altered runs: not with --method %s",
				   methods[a->o.method]);
		return option_only(state, key, arg, "suite", &a->o.suite);
	case KEY_LOSSLESS:
		a->o.is_lossless = true;
		return 0;
	case KEY_EXPECTED:
		a->o.expected = arg;
		a->o.is_capture = true;
		return 0;
	case KEY_STATUS:
		a->o.want_status = option_number(state, "--status", arg, 0, 255);
		a->o.is_capture = true;
		return 0;
	case KEY_SLURM:
		return cmd_work_on_slurm(&a->place, arg);
	case KEY_PART:
		if (sscanf(arg, "%u/%u", &a->o.part, &a->o.n_parts) != 2 ||
		    a->o.part >= a->o.n_parts)
			argp_error(state, "no part of a search: '%s'", arg);
		a->place.is_slurm = false;
		return 0;
	case KEY_KNOWN:
		a->o.known = arg;
		return 0;
	case KEY_ALL:
		a->shows_all = true;
		return 0;
	case KEY_JSON:
		a->as_json = true;
		text_guard_json();
		return 0;
	case 'j':
		a->o.at_once = option_number(state, "--jobs", arg, 1, 64);
		return 0;
	default:
		return option_only(state, key, arg, "suite", &a->o.suite);
	}
}

static const struct argp argp = {
	.options = options, .parser = parse, .args_doc = "SUITE", .doc = doc
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signo)
{
	(void)signo;
	is_interrupted = 1;
}

static bool stops(void)
{
	return is_interrupted;
}

/* ---- output --------------------------------------------------------------------------------- */

static void print_ivmp(const struct rank_ivmp *v)
{
	if (v->is_branch)
		printf("      right in test %s if it went the other way\n",
		       text_line(v->test));
	else if (v->is_left_out)
		printf("      right in test %s if that were not stored%s\n",
		       text_line(v->test), v->is_each_time ? ", each time" : "");
	else
		printf("      right in test %s with %ld instead of %ld%s\n",
		       text_line(v->test),
		       (long)((int64_t)(v->alternate << (64 - 8 * v->bytes)) >>
			      (64 - 8 * v->bytes)),
		       (long)((int64_t)(v->original << (64 - 8 * v->bytes)) >>
			      (64 - 8 * v->bytes)),
		       v->is_each_time ? ", each time" : "");
}

static void print_text(const struct arguments *a, const struct rank_result *r)
{
	size_t n = r->statements.size;

	printf("%u tests failed, %u passed; %zu statements of failing ones\n",
	       r->n_failed, r->n_passed, n);
	if (is_searching(a))
		printf("%lu altered runs in %.1f s\n", r->n_runs, r->search_s);
	if (r->n_recalled)
		printf("%u failing tests are known from before\n", r->n_recalled);
	if (r->list_of)
		printf("by the failing tests that execute %s\n", text_line(r->list_of));
	for (size_t i = 0; i < n && (i < SHOWN || a->shows_all); i++) {
		const struct rank_statement *s = &r->statements.data[i];

		printf("%4u. %s:%d in %s", s->rank, text_line(s->file), s->line,
		       text_line(s->function));
		if (is_searching(a))
			printf("  IVMPs in %u of %u, executed by %u failing, %u passing\n",
			       s->n_ivmp, r->n_failed, s->n_failed, s->n_passed);
		else
			printf("  %.3f, executed by %u failing, %u passing\n",
			       s->suspicion, s->n_failed, s->n_passed);
		for (size_t k = 0, shown = 0; k < r->ivmps.size && shown < 2; k++)
			if (r->ivmps.data[k].statement == i) {
				print_ivmp(&r->ivmps.data[k]);
				shown++;
			}
	}
	if (n > SHOWN && !a->shows_all)
		printf("%zu more (--all)\n", n - SHOWN);
	for (size_t i = 0; i < r->notes.size; i++)
		log_note("%s", r->notes.data[i]);
}

static cJSON *json_statement(const struct rank_statement *s)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "file", s->file);
	cJSON_AddNumberToObject(o, "line", s->line);
	cJSON_AddStringToObject(o, "function", s->function);
	cJSON_AddNumberToObject(o, "rank", s->rank);
	cJSON_AddNumberToObject(o, "score", s->score);
	if (isfinite(s->suspicion))
		cJSON_AddNumberToObject(o, "suspicion", s->suspicion);
	else
		cJSON_AddNullToObject(o, "suspicion"); // beyond all numbers
	cJSON_AddNumberToObject(o, "tarantula", s->tie);
	cJSON_AddNumberToObject(o, "ivmp_tests", s->n_ivmp);
	cJSON_AddNumberToObject(o, "failed", s->n_failed);
	cJSON_AddNumberToObject(o, "passed", s->n_passed);
	return o;
}

static cJSON *json_ivmp(const struct rank_result *r, const struct rank_ivmp *v)
{
	const struct rank_statement *s = &r->statements.data[v->statement];
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "test", v->test);
	cJSON_AddStringToObject(o, "file", s->file);
	cJSON_AddNumberToObject(o, "line", s->line);
	cJSON_AddBoolToObject(o, "branch", v->is_branch);
	cJSON_AddBoolToObject(o, "left_out", v->is_left_out);
	cJSON_AddBoolToObject(o, "each_time", v->is_each_time);
	if (!v->is_branch) {
		cJSON_AddNumberToObject(o, "original", v->original);
		if (!v->is_left_out)
			cJSON_AddNumberToObject(o, "alternate", v->alternate);
		cJSON_AddNumberToObject(o, "bytes", v->bytes);
	}
	cJSON_AddNumberToObject(o, "position", v->position);
	return o;
}

static void print_json(const struct arguments *a, const struct rank_result *r)
{
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "method", methods[a->o.method]);
	cJSON_AddNumberToObject(o, "failed", r->n_failed);
	cJSON_AddNumberToObject(o, "passed", r->n_passed);
	cJSON_AddNumberToObject(o, "left_out", r->n_left_out);
	cJSON_AddNumberToObject(o, "searched", r->n_searched);
	cJSON_AddNumberToObject(o, "recalled", r->n_recalled);
	cJSON_AddNumberToObject(o, "runs", r->n_runs);
	cJSON_AddNumberToObject(o, "search_seconds", r->search_s);
	cJSON_AddBoolToObject(o, "interrupted", r->is_interrupted);
	cJSON_AddStringToObject(o, "faults", faults[a->o.faults]);
	if (r->list_of)
		cJSON_AddStringToObject(o, "list_of", r->list_of);
	list = cJSON_AddArrayToObject(o, "statements");
	for (size_t i = 0; i < r->statements.size; i++)
		cJSON_AddItemToArray(list, json_statement(&r->statements.data[i]));
	list = cJSON_AddArrayToObject(o, "ivmps");
	for (size_t i = 0; i < r->ivmps.size; i++)
		cJSON_AddItemToArray(list, json_ivmp(r, &r->ivmps.data[i]));
	cmd_command_add_notes(o, &r->notes);
	cmd_command_print_json(o);
}

static struct arguments arguments;

static int run(int argc, char **argv)
{
	struct arguments *a = &arguments;
	struct rank_result r = {};
	struct err *err;

	(void)argv;
	a->o.fixed = a->fixed.data;
	a->o.n_fixed = a->fixed.size;
	if (!a->o.at_once)
		a->o.at_once = sysconf(_SC_NPROCESSORS_ONLN);
	a->o.with_progress = isatty(2);
	signal(SIGINT, interrupt);
	err = rank_suite(&a->o, &r);
	if (err) {
		fprintf(stderr, "faultline: cannot rank by '%s': %s\n",
			text_line(a->o.suite), text_line(err->message));
	} else if (a->as_json) {
		print_json(a, &r);
	} else {
		print_text(a, &r);
	}
	rank_result_deinit(&r);
	argc = err ? EXIT_COULD_NOT : cmd_command_flush(1);
	err_destroy(err);
	return argc;
}

/* ---- on other machines ------------------------------------------------------------------------- */

/* Every n_parts-th statement is one's. */
static struct err *add_parts(struct work *w, const char *known, int argc, char **argv)
{
	_cleanup_free_ const char **words = calloc(argc + 7, sizeof(*words));
	unsigned n_parts = cmd_work_parts(w);
	struct err *err = words ? NULL : &err_nomem;

	for (unsigned k = 0; k < n_parts && !err; k++) {
		char name[32], part[32];
		size_t n = 0;

		snprintf(name, sizeof(name), "part-%u", k);
		snprintf(part, sizeof(part), "--part=%u/%u", k, n_parts);
		words[n++] = "rank";
		for (int i = 1; i < argc; i++)
			words[n++] = argv[i];
		words[n++] = part;
		words[n++] = "--state";
		words[n++] = "@/state";
		if (known) {
			words[n++] = "--known";
			words[n++] = known;
		}
		words[n] = NULL;
		err = cmd_work_add(w, name, words);
	}
	return err;
}

/* What was recorded by a processor with more than a node has is not for that one. */
static struct err *find_needs(const struct rank_options *o, cap_isa *ret)
{
	_cleanup_(cap_suite_deinit) struct cap_suite s = {};
	struct err *err = o->is_capture ? NULL :
					  cap_suite_read(o->suite, CAP_SUITE_FILE, &s);

	for (size_t i = 0; i < (o->is_capture ? 1 : s.n_tests) && !err; i++) {
		_cleanup_(capture_closep) struct capture *c = NULL;
		_cleanup_free_ char *path =
			o->is_capture ?
				strdup(o->suite) :
				cap_suite_path(o->suite, s.tests[i].name, "capture");

		if (!o->is_capture && !s.tests[i].is_recorded)
			continue;
		err = path ? capture_open(path, &c) : &err_nomem;
		if (!err)
			*ret |= cap_isa_of(&capture_info(c)->cpu);
	}
	return err;
}

/* Let others search. Then a->o.states are theirs. */
static struct err *search_elsewhere(struct arguments *a, struct work *w, int argc,
				    char **argv)
{
	size_t n = strlen(a->o.suite);
	struct err *err;

	while (n > 1 && a->o.suite[n - 1] == '/')
		n--;
	err = cmd_work_init(w, &a->place, "%.*s.rank.work", (int)n, a->o.suite);
	if (!err)
		err = find_needs(&a->o, &w->needs);
	if (!err)
		err = add_parts(w, a->o.state, argc, argv);
	if (!err)
		err = cmd_work_run(w, "rank", argv);
	for (size_t i = 0; i < w->list.n_tests && !err; i++) {
		char *state = cmd_work_path(w, i, "state");

		if (!state)
			err = &err_nomem;
		else if (cmd_work_status(w, i, NULL) == 1)
			err = vec_add(&a->states, state);
		else
			err = cmd_work_failed(w, i);
	}
	a->o.states = a->states.data;
	a->o.n_states = a->states.size;
	return err;
}

int cmd_rank(int argc, char **argv);

/* What reads captures is confined; what submits work may not be. */
int cmd_rank(int argc, char **argv)
{
	static const char *const files[] = { "state", NULL };
	static const struct confine_outputs outputs = { .files = files };
	_cleanup_err_ struct err *err = NULL;
	struct work w = { .lock = -1 };
	int status = EXIT_COULD_NOT;

	arguments.o = (struct rank_options){ .stops = stops, .want_status = -1 };
	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments))
		return EXIT_COULD_NOT;
	if (arguments.place.is_slurm)
		err = search_elsewhere(&arguments, &w, argc, argv);
	if (err)
		fprintf(stderr, "faultline: cannot rank by '%s': %s\n",
			text_line(arguments.o.suite), text_line(err->message));
	else
		status = confine_command(run, argc, argv, &outputs);
	if (arguments.place.is_slurm && status != EXIT_COULD_NOT)
		cmd_work_remove(&w);
	cmd_work_deinit(&w);
	return status;
}
