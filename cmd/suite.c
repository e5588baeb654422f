// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND record/suite: record a program's tests, a capture each

#include <argp.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/option.h"
#include "base/text.h"
#include "cmd/suite_int.h"
#include "confine/confine.h"

enum { EXIT_PASSED, EXIT_SOME_FAILED, EXIT_COULD_NOT };
enum { OPT_TESTS = 256, OPT_TIMEOUT, OPT_JSON };

struct suite_options {
	const char *verb;
	bool is_list, as_json;
	const char *dir, *tests;
	char **command; ///< NULL-terminated
	unsigned n_jobs;
	double timeout_s;
};

static const struct argp_option options[] = {
	{ "tests", OPT_TESTS, "FILE", 0,
	  "record: the tests, a JSON object a line: name, args, stdin, expected (stdout) or "
	  "oracle, status; see doc/suites.md",
	  0 },
	{ "output", 'o', "DIR", 0,
	  "record: write the suite to DIR (default: FILE without its suffix, with .suite); "
	  "what an interrupted run left there is gone on with",
	  0 },
	{ "jobs", 'j', "N", 0, "record: N tests at a time (default: the cores)", 0 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0,
	  "record: a test that runs longer hangs: it is killed, and has failed (default: "
	  "none)",
	  0 },
	{ "json", OPT_JSON, NULL, 0, "list: print suite.json as it is", 0 },
	{ 0 },
};

static void take_argument(struct argp_state *state, struct suite_options *o, char *arg)
{
	if (!o->verb) {
		o->verb = arg;
		o->is_list = !strcmp(arg, "list");
		if (!o->is_list && strcmp(arg, "record"))
			argp_error(state, "unknown action '%s' (there are: record, list)",
				   arg);
	} else if (o->is_list && !o->dir) {
		o->dir = arg;
	} else if (o->is_list) {
		argp_error(state, "one suite, not also '%s'", arg);
	} else { // all that is left, an option of the command's included
		o->command = state->argv + state->next - 1;
		state->next = state->argc;
	}
}

static void check_options(struct argp_state *state, const struct suite_options *o)
{
	if (!o->verb)
		argp_error(state, "what to do? (record, list)");
	else if (o->is_list && !o->dir)
		argp_error(state, "which suite?");
	else if (o->is_list && (o->tests || o->n_jobs || o->timeout_s))
		argp_error(state, "--tests, --jobs and --timeout are for record");
	else if (!o->is_list && o->as_json)
		argp_error(state, "--json is for list");
	else if (!o->is_list && !o->tests)
		argp_error(state, "which tests? (--tests FILE)");
	else if (!o->is_list && !o->command)
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
		o->dir = arg;
		return 0;
	case 'j':
		o->n_jobs = option_number(state, "--jobs", arg, 1, 1024);
		return 0;
	case OPT_TIMEOUT:
		o->timeout_s = option_seconds(state, arg);
		return 0;
	case OPT_JSON:
		o->as_json = true;
		text_guard_json();
		return 0;
	case ARGP_KEY_ARG:
		take_argument(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		check_options(state, o);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "record --tests FILE -- PROGRAM [ARG...]\nlist DIR",
	.doc = "record: run PROGRAM once for each test, with the test's arguments behind its own, "
	       "and record each run into a capture; say which passed. A test that fails is a result, "
	       "and is recorded like the others. list: show what a suite holds.\v"
	       "Exit status of record: 0 all passed, 1 some failed (or nobody could tell), 2 some "
	       "could not be recorded; of list: 0, or 2 when it could not be read.\n\n"
	       "Examples:\n"
	       "  faultline suite record --tests tests.jsonl -- ./prog --strict\n"
	       "  faultline suite record --tests tests.jsonl -o prog.suite -j 4 --timeout 10 -- ./prog\n"
	       "  faultline suite list prog.suite\n"
	       "  faultline suite list --json prog.suite | jq '.tests[] | select(.outcome == "
	       "\"failed\") | .name'\n",
};

/* ---- record --------------------------------------------------------------------------------- */

/** FILE without its suffix and directory, with .suite. */
static char *default_dir(const char *tests)
{
	_cleanup_free_ char *copy = strdup(tests);
	char *name = copy ? basename(copy) : NULL, *dot, *dir;

	if (!name)
		return NULL;
	dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = 0;
	return asprintf(&dir, "%s.suite", name) < 0 ? NULL : dir;
}

static bool are_same(char *const *a, char *const *b)
{
	while (*a && *b && !strcmp(*a, *b))
		a++, b++;
	return !*a && !*b;
}

/** Is @p test the one that was recorded? What is expected of it may be another now. */
static bool is_same_test(const struct cap_suite_test *test,
			 const struct cap_suite_test *was)
{
	return are_same(test->args, was->args) && !test->input == !was->input &&
	       (!test->input || !strcmp(test->input, was->input));
}

/** What is in @p dir already must be of the same command and tests. */
static struct err *compare_plan(const char *dir, const struct cap_suite *s)
{
	_cleanup_(cap_suite_deinit) struct cap_suite was = {};
	struct err *err = cap_suite_read(dir, CAP_SUITE_PLAN, &was);

	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	if (!are_same(s->command, was.command))
		return err_new(ERR_USAGE,
			       "cannot go on with suite '%s': it is of another command "
			       "(choose another with -o)",
			       dir);
	for (size_t i = 0; i < was.n_tests; i++) {
		const struct cap_suite_test *t = cap_suite_find(s, was.tests[i].name);

		if (!t || !is_same_test(t, &was.tests[i]))
			return err_new(
				ERR_USAGE,
				"cannot go on with suite '%s': its test '%s' is not "
				"listed, or has other arguments or stdin (choose "
				"another with -o)",
				dir, was.tests[i].name);
	}
	return NULL;
}

/** Make @p dir, or go on with it; @p lock keeps others out until it is closed. */
static struct err *enter_dir(const char *dir, const struct cap_suite *s, int *lock)
{
	_cleanup_free_ char *tests = NULL, *done = NULL;
	_cleanup_close_ int found = -1;
	bool is_new;
	struct err *err = file_make_dir(dir, lock, &is_new);

	if (err)
		return err;
	if (asprintf(&tests, "%s/tests", dir) < 0 ||
	    asprintf(&done, "%s/" CAP_SUITE_FILE, dir) < 0)
		return &err_nomem;
	if (!is_new && faccessat(*lock, CAP_SUITE_PLAN, F_OK, 0) &&
	    file_dir_is_empty(*lock) != 1)
		return err_new(ERR_USAGE,
			       "cannot record into '%s': it is there, and no suite "
			       "(choose another with -o)",
			       dir);
	if (flock(*lock, LOCK_EX | LOCK_NB))
		return err_new(ERR_USAGE,
			       "cannot record into '%s': another faultline does so", dir);
	err = compare_plan(dir, s);
	if (!err)
		err = cap_suite_write(dir, CAP_SUITE_PLAN, s);
	if (err)
		return err;
	if (mkdirat(*lock, "tests", 0700) && errno != EEXIST)
		return err_errno("cannot create '%s'", tests);
	if (unlinkat(*lock, CAP_SUITE_FILE, 0) && errno != ENOENT)
		return err_errno("cannot remove '%s'", done);
	found = file_open_below(*lock, "tests", O_PATH | O_DIRECTORY);
	return found < 0 ? err_errno("cannot open '%s'", tests) : NULL;
}

/** @return the exit status. */
static int summarize(const struct suite_run *r)
{
	size_t n[CAP_SUITE_FAILED + 1] = {}, n_missing = 0;
	const struct cap_suite *s = r->suite;

	for (size_t i = 0; i < s->n_tests; i++) {
		n[s->tests[i].outcome]++;
		n_missing += !s->tests[i].is_recorded;
	}
	printf("%zu test%s: %zu passed, %zu failed, %zu unknown; %zu could not be recorded; in %s",
	       s->n_tests, s->n_tests == 1 ? "" : "s", n[CAP_SUITE_PASSED],
	       n[CAP_SUITE_FAILED], n[CAP_SUITE_UNKNOWN], n_missing, r->dir);
	if (r->n_found)
		printf(" (%zu recorded before)", r->n_found);
	puts("");
	if (n_missing)
		return EXIT_COULD_NOT;
	return n[CAP_SUITE_PASSED] == s->n_tests ? EXIT_PASSED : EXIT_SOME_FAILED;
}

/** The command, copied: the suite owns it. */
static struct err *take_command(struct cap_suite *s, char *const *command)
{
	size_t n = 0;

	while (command[n])
		n++;
	s->command = calloc(n + 1, sizeof(*s->command));
	for (; s->command && s->n_command < n; s->n_command++) {
		s->command[s->n_command] = strdup(command[s->n_command]);
		if (!s->command[s->n_command])
			return &err_nomem;
	}
	return s->command ? NULL : &err_nomem;
}

static struct err *record(const struct suite_options *o, int *status)
{
	_cleanup_(cap_suite_deinit) struct cap_suite s = {};
	_cleanup_free_ char *made_dir = o->dir ? NULL : default_dir(o->tests);
	_cleanup_(closep) int lock = -1;
	struct suite_run r = {
		.dir = o->dir ?: made_dir,
		.suite = &s,
		.n_jobs = o->n_jobs ?: sysconf(_SC_NPROCESSORS_ONLN),
		.timeout_s = o->timeout_s,
	};
	struct err *err = r.dir ? take_command(&s, o->command) : &err_nomem;

	if (!err)
		err = cmd_suite_tests(o->tests, &s);
	if (!err)
		err = enter_dir(r.dir, &s, &lock);
	if (!err)
		err = cmd_suite_run(&r);
	if (!err && r.is_interrupted)
		return err_new(ERR_OS,
			       "cannot finish suite '%s': interrupted (the same command "
			       "goes on with it)",
			       r.dir);
	if (!err)
		err = cap_suite_write(r.dir, CAP_SUITE_FILE, &s);
	if (!err)
		*status = summarize(&r);
	return err;
}

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

/** What the command line says. @return the exit status. */
static int run(int argc, char **argv)
{
	_cleanup_err_ struct err *err = NULL;
	struct suite_options o = {};
	int status = EXIT_COULD_NOT;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	err = o.is_list ? list(&o, &status) : record(&o, &status);
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	return status;
}

int cmd_suite(int argc, char **argv);

/* A suite that is listed may be a stranger's; one is recorded by running a program of the user's,
 * which may do whatever he may. */
int cmd_suite(int argc, char **argv)
{
	static const struct confine_outputs none;
	struct suite_options o = {};

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return EXIT_COULD_NOT;
	return o.is_list ? confine_command(run, argc, argv, &none) : run(argc, argv);
}
