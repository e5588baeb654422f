// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND record/suite: record a program's tests, a capture each

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/option.h"
#include "base/text.h"
#include "cmd/suite_int.h"
#include "confine/confine.h"

enum {
	OPT_TESTS = 256,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_SLURM,
	OPT_PART,
	OPT_STORE,
	OPT_COLLECT
};

static const struct argp_option options[] = {
	{ "tests", OPT_TESTS, "FILE", 0,
	  "record: the tests, a JSON object a line: name, args, stdin, expected (stdout) or "
	  "oracle, status; see doc/suites.md",
	  0 },
	{ "output", 'o', "PATH", 0,
	  "record: write the suite to this directory (default: FILE without its suffix, with "
	  ".suite); what an interrupted run left there is gone on with. report: write a page",
	  0 },
	{ "jobs", 'j', "N", 0, "N tests at a time (default: the cores)", 0 },
	{ "slurm", OPT_SLURM, "OPTIONS", OPTION_ARG_OPTIONAL,
	  "have it done by Slurm, as job arrays; OPTIONS are sbatch's, words in one argument",
	  0 },
	{ "store", OPT_STORE, "DIR", 0,
	  "record: executables and libraries of the captures are kept there, each once (of the "
	  "same file system)",
	  0 },
	{ "collect", OPT_COLLECT, NULL, 0, "store: remove what no capture has any more",
	  0 },
	{ "part", OPT_PART, "K/N", OPTION_HIDDEN, NULL, 0 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0,
	  "a test that runs longer hangs: it is killed, and has failed; so is an analysis that "
	  "takes longer (default: none)",
	  0 },
	{ "json", OPT_JSON, NULL, 0,
	  "list: print suite.json as it is; report: groups for machines", 0 },
	{ 0 },
};

static const char *const verbs[] = { "record",	 "list",   "check",  "analyze",
				     "suppress", "report", "status", "resume",
				     "store",	 "run", // a piece
				     NULL };

static bool is(const struct suite_options *o, const char *verb)
{
	return o->verb && !strcmp(o->verb, verb);
}

static bool is_analysis(const struct suite_options *o)
{
	return is(o, "check") || is(o, "analyze") || is(o, "suppress");
}

static void take_argument(struct argp_state *state, struct suite_options *o, char *arg)
{
	size_t i = 0;

	if (!o->verb) {
		while (verbs[i] && strcmp(arg, verbs[i]))
			i++;
		if (!verbs[i])
			argp_error(state,
				   "unknown action '%s' (there are: record, list, check, "
				   "analyze, suppress, report, status, resume, store)",
				   arg);
		o->verb = verbs[i];
	} else if (is(o, "report")) {
		if (o->n_dirs == SUITES_MOST)
			argp_error(state, "not more than %d suites", SUITES_MOST);
		else
			o->dirs[o->n_dirs++] = o->dir = arg;
	} else if (!is(o, "record") && !o->dir) {
		o->dir = arg;
		if (is_analysis(o)) { // all that is left is the analysis'
			o->command = state->argv + state->next;
			o->command += *o->command && !strcmp(*o->command, "--");
			state->next = state->argc;
		}
	} else if (!is(o, "record")) {
		argp_error(state, "one suite, not also '%s'", arg);
	} else { // all that is left, an option of the command's included
		o->command = state->argv + state->next - 1;
		state->next = state->argc;
	}
}

static void check_options(struct argp_state *state, const struct suite_options *o)
{
	if (!o->verb)
		argp_error(
			state,
			"what to do? (record, list, check, analyze, suppress, report, status, "
			"resume, store)");
	else if (!is(o, "record") && !o->dir)
		argp_error(state, "which suite?");
	else if (is(o, "run") && !o->part)
		argp_error(state,
			   "run is for pieces of work, which faultline submits itself");
	else if (!is(o, "record") && o->tests)
		argp_error(state, "--tests is for record");
	else if (!is(o, "record") && o->store)
		argp_error(state, "--store is for record");
	else if (!is(o, "store") && o->collects)
		argp_error(state, "--collect is for store");
	else if (!is(o, "record") && !is_analysis(o) &&
		 ((o->place.n_jobs && !is(o, "report")) || o->timeout_s ||
		  o->place.is_slurm))
		argp_error(state, "--jobs, --timeout and --slurm are for record, check, "
				  "analyze and suppress");
	else if (!is(o, "list") && !is(o, "report") && o->as_json)
		argp_error(state, "--json is for list and report");
	else if (!is(o, "record") && !is(o, "report") && o->output)
		argp_error(state, "--output is for record and report");
	else if (o->as_json && o->output)
		argp_error(state, "either --json or --output");
	else if (is(o, "record") && !o->tests)
		argp_error(state, "which tests? (--tests FILE)");
	else if (is(o, "record") && !o->command)
		argp_error(state, "which program? (faultline suite record --tests FILE "
				  "-- PROGRAM [ARG...])");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct suite_options *o = state->input;

	switch (key) {
	case OPT_TESTS:
		o->tests = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'j':
		o->place.n_jobs = option_number(state, "--jobs", arg, 1, 1024);
		return 0;
	case OPT_TIMEOUT:
		o->timeout_s = option_seconds(state, arg);
		return 0;
	case OPT_SLURM:
		return cmd_work_on_slurm(&o->place, arg);
	case OPT_STORE:
		o->store = arg;
		return 0;
	case OPT_COLLECT:
		o->collects = true;
		return 0;
	case OPT_PART:
		o->part = arg;
		return 0;
	case OPT_JSON:
		o->as_json = true;
		text_guard_json();
		return 0;
	case ARGP_KEY_ARG:
		take_argument(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		o->dir = is(o, "record") ? o->output : o->dir;
		check_options(state, o);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc =
		"record --tests FILE -- PROGRAM [ARG...]\ncheck DIR [OPTION...]\n"
		"analyze DIR [OPTION...]\nsuppress DIR [OPTION...]\nreport DIR...\nlist DIR\nstatus DIR\nresume DIR\nstore DIR",
	.doc = "record: run PROGRAM once for each test, with the test's arguments behind its own, "
	       "and record each run into a capture; say which passed. A test that fails is a result, "
	       "and is recorded like the others. check, analyze, suppress: run that command, with OPTIONs, over "
	       "each capture that has no result of it yet. report: put captures with which the same "
	       "is wrong into groups; several suites: how that was over time. list: show what a suite holds. status: how "
	       "far it is. resume: go on with what was interrupted. store: what is in a directory that "
	       "captures share their files in, and whether it is whole.\v"
	       "Exit status of record, check and analyze: 0 all passed, or are clean; 1 some failed "
	       "(or nobody could tell), or have errors; 2 some could not be recorded, or looked at; "
	       "of status: 1 when tests are not recorded; of list: 0, or 2 when it could not be "
	       "read.\n\n"
	       "Examples:\n"
	       "  faultline suite record --tests tests.jsonl -- ./prog --strict\n"
	       "  faultline suite record --tests tests.jsonl -o prog.suite -j 4 --timeout 10 -- ./prog\n"
	       "  faultline suite record --slurm='-p debug -t 30' --tests tests.jsonl -- ./prog\n"
	       "  faultline suite check prog.suite --only HEAP-OVERFLOW,DOUBLE-FREE\n"
	       "  faultline suite report monday.suite tuesday.suite -o week.html\n"
	       "  faultline suite list --json prog.suite | jq '.tests[] | select(.outcome == "
	       "\"failed\") | .name'\n",
};

/* ---- list ------------------------------------------------------------------------------------- */

static struct err *print_file(const char *dir)
{
	_cleanup_close_ int in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct err *err = file_open_input(in, CAP_SUITE_FILE, CAP_SUITE_FILE, UINT64_MAX,
					  &fd, NULL);
	char buf[4096];
	ssize_t n;

	while (!err && (n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, n, stdout);
	return err;
}

static void print_test(const struct cap_suite_test *t)
{
	printf("%-8s ", cap_suite_outcome_name(t->outcome));
	if (t->status == CAP_SUITE_ANY)
		printf("  - ");
	else
		printf("%3d ", t->status);
	printf(" %s%s%s\n", text_line(t->name), t->why ? ": " : "",
	       text_line(t->why ?: ""));
}

static struct err *list(const struct suite_options *o, int *status)
{
	_cleanup_(cap_suite_deinit) struct cap_suite s = {};
	struct err *err = cap_suite_read(o->dir, CAP_SUITE_FILE, &s);

	if (err)
		return err;
	*status = 0;
	if (o->as_json)
		return print_file(o->dir);
	for (size_t i = 0; i < s.n_tests; i++)
		print_test(&s.tests[i]);
	return NULL;
}

static struct err *act(const struct suite_options *o, int *status)
{
	if (is(o, "list"))
		return list(o, status);
	if (is(o, "record"))
		return cmd_suite_record(o, status);
	if (is(o, "status"))
		return cmd_suite_status(o, status);
	if (is(o, "report"))
		return cmd_suite_report(o, status);
	if (is(o, "store"))
		return cmd_suite_store(o, status);
	if (is(o, "run")) {
		*status = SUITE_PASSED;
		return cmd_suite_work(o);
	}
	return is(o, "resume") ? cmd_suite_resume(o) : cmd_suite_analyze(o, status);
}

/** What the command line says. @return the exit status. */
static int run(int argc, char **argv)
{
	_cleanup_err_ struct err *err = NULL;
	struct suite_options o = { .again = argv };
	int status = SUITE_COULD_NOT;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	err = act(&o, &status);
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	return err ? SUITE_COULD_NOT : status;
}

int cmd_suite(int argc, char **argv);

/* A suite that is listed may be a stranger's; one is recorded by running a program of the user's,
 * which may do whatever he may; and what looks at its captures is confined for itself. */
int cmd_suite(int argc, char **argv)
{
	static const struct confine_outputs none;
	struct suite_options o = {};

	argp_err_exit_status = SUITE_COULD_NOT;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return SUITE_COULD_NOT;
	return is(&o, "list") ? confine_command(run, argc, argv, &none) : run(argc, argv);
}
