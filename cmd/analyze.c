// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND find/analyze: find the statement that broke a data structure

#include "base/log.h"
#include "base/file.h"
#include "base/option.h"
#include "cmd/command.h"
#include "faultlocate/fl_asked.h"
#include "report/report.h"

#define EXIT_NO_VIOLATION 0
#define EXIT_VIOLATIONS 1
#define EXIT_COULD_NOT 2

enum {
	KEY_SPEC = 's',
	KEY_CPOINT = 'c',
	KEY_JSON = 'j',
	KEY_SVG = 'o',
	KEY_PROCESS = 'p',
	KEY_ACCESSES = 'a',
	KEY_VERBOSE = 'v',
	KEY_NO_ALLOCATOR = 256,
	KEY_INTERNALS,
	KEY_NAMED_ONLY,
	KEY_END_ONLY,
	KEY_SOURCES
};

struct arguments {
	const char *capture, *svg, *process, *sources;
	FILE *talk; ///< for the text, which standard output may not be
	fl_texts specs, cpoints;
	bool with_json, with_accesses, without_allocator, with_internals;
	bool is_as_named, is_end_only;
};

static const struct argp_option options[] = {
	{ "spec", KEY_SPEC, "FILE", 0, "what should hold (may be given again)", 0 },
	{ "cpoint", KEY_CPOINT, "CPOINT", 0,
	  "check at entry and return of a function, or at whatever CPOINT of a specification "
	  "takes: FUNC, 'FUNC EXIT', FILE:LINE, 'AFTER FUNC RETURNS N' (may be given again); "
	  "the end of the run is always checked",
	  0 },
	{ "accesses", KEY_ACCESSES, NULL, 0,
	  "look at every access: by a pointer into one allocation to memory that is not "
	  "its own (overflows, use after free); needs no specification, and time",
	  0 },
	{ "end-only", KEY_END_ONLY, NULL, 0,
	  "without a specification: say why a signal ended the program, and look for no other "
	  "errors, which takes many times as long",
	  0 },
	{ "no-allocator", KEY_NO_ALLOCATOR, NULL, 0,
	  "take no notice of malloc and free: find the nodes by what pointers are derived "
	  "from (arenas, pools, allocators of the program's own); takes a second replay",
	  0 },
	{ "named-only", KEY_NAMED_ONLY, NULL, 0,
	  "where no C-point is named, or none that is reached, check the end of the run alone; do not take for one "
	  "the first entry or return of a function at which the structure always held and "
	  "then did not",
	  0 },
	{ "internals", KEY_INTERNALS, NULL, 0,
	  "make a graph of the allocator's internals, too: free chunks, bins, caches, and what "
	  "was merged and split",
	  0 },
	{ "json", KEY_JSON, NULL, 0, "write the result as one JSON object", 0 },
	{ "svg", KEY_SVG, "OUT", 0,
	  "draw the broken structure into the SVG file OUT (-: stdout)", 0 },
	{ "sources", KEY_SOURCES, "DIR", 0,
	  "the program's sources are below DIR; otherwise lines are shown where the program "
	  "itself lies here as it was recorded, and its owner may read them",
	  0 },
	{ "process", KEY_PROCESS, "PROCESS", 0,
	  "of a capture made by `record -f', analyze this process: a number as in `faultline "
	  "dump --processes', or a process id; else the first that has the types of the "
	  "specification, or that a signal ended, or the program itself",
	  0 },
	{ "verbose", KEY_VERBOSE, NULL, 0, "say what is being done", 0 },
	{ 0 },
};

static const char doc[] =
	"Replay CAPTURE, check the constraints of the specifications at the C-points, and "
	"trace the first violation back to the statements that made it. Without a "
	"specification: of a program that a signal ended say why (the calls under way with "
	"their arguments, which value was wrong, and which statement made it), then what is "
	"wrong by the rules of `faultline check'.\v"
	"Exit status: 0 no violation, 1 violations, accesses or releases that are wrong (without "
	"--spec and --accesses also a fault, abort(), or an error by a rule), 2 could not "
	"analyze, or nothing was checked.\n\n"
	"Examples:\n"
	"  faultline analyze crash.flt\n"
	"  faultline analyze crash.flt --spec list.spec\n"
	"  faultline analyze crash.flt --spec quad.spec --cpoint insert --svg broken.svg\n"
	"  faultline analyze crash.flt --accesses\n"
	"  faultline analyze crash.flt --spec a.spec --spec b.spec --json | jq .faults\n";

/** @return whether anything is asked beside what needs no question. */
static bool asks_more(const struct arguments *a)
{
	return a->specs.size || a->cpoints.size || a->with_accesses || a->svg ||
	       a->without_allocator || a->with_internals || a->is_as_named;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_SPEC:
		cmd_command_push(state, &a->specs, arg);
		break;
	case KEY_CPOINT:
		cmd_command_push(state, &a->cpoints, arg);
		break;
	case KEY_ACCESSES:
		a->with_accesses = true;
		break;
	case KEY_NO_ALLOCATOR:
		a->without_allocator = true;
		break;
	case KEY_NAMED_ONLY:
		a->is_as_named = true;
		break;
	case KEY_END_ONLY:
		a->is_end_only = true;
		break;
	case KEY_INTERNALS:
		a->with_internals = true;
		break;
	case KEY_JSON:
		a->with_json = true;
		text_guard_json();
		break;
	case KEY_SVG:
		a->svg = arg;
		break;
	case KEY_SOURCES:
		a->sources = arg;
		break;
	case KEY_PROCESS:
		a->process = arg;
		break;
	case KEY_VERBOSE:
		log_set_level(LOG_INFO);
		break;
	case ARGP_KEY_END:
		if (a->is_end_only && asks_more(a))
			argp_error(state,
				   "--end-only goes with no specification and with "
				   "no other question");
		if (a->with_accesses && a->without_allocator)
			argp_error(state,
				   "--accesses needs the allocator's calls, which "
				   "--no-allocator does without: give one of them");
		a->talk = option_talk(state, &a->svg, 1, a->with_json);
		break;
	default:
		return option_only(state, key, arg, "capture", &a->capture);
	}
	return 0;
}

static bool with_color(const struct arguments *args)
{
	int fd = args->talk == stdout ? STDOUT_FILENO : STDERR_FILENO;

	return isatty(fd) && !secure_getenv("NO_COLOR");
}

static struct err *report(const struct fl_analysis *a, const struct arguments *args)
{
	struct err *err = args->svg ? report_svg(a, args->svg) : NULL;

	if (err)
		return err;
	if (args->with_json)
		return report_json(a, NULL, stdout);
	err = report_text(a, args->talk, with_color(args));
	if (!err && args->svg && !file_is_stdout(args->svg))
		fprintf(args->talk, "\npicture: %s\n", args->svg);
	return err;
}

/** Replay, and @p tell of it. @p status: overwritten. */
static struct err *run(const struct arguments *args, const struct fl_options *o,
		       struct err *(*tell)(const struct fl_analysis *a,
					   const struct arguments *args, int *status),
		       int *status)
{
	_cleanup_(fl_analysis_deinit) struct fl_analysis a = {};
	struct err *err = fl_analysis_run(o, &a);

	if (a.spec && spec_diags(a.spec))
		spec_diags_print(a.spec, stderr);
	if (!err)
		err = tell(&a, args, status);
	for (size_t i = 0; err && err->code == ERR_TRUNCATED && i < a.notes.size; i++)
		log_note("%s", a.notes.data[i]);
	return err;
}

/* ---- nothing was asked: the end, and what is wrong by rules ----------------------------------- */

static struct err *tell_end(const struct fl_analysis *a, const struct arguments *args,
			    int *status)
{
	*status = fl_end_is_wrong(a) ? EXIT_VIOLATIONS : EXIT_NO_VIOLATION;
	return args->is_end_only && args->with_json ?
		       report_json(a, NULL, stdout) :
		       report_end_text(a, args->talk, with_color(args));
}

/** *status: that of the end, unless there are errors. */
static struct err *tell_findings(const struct fl_analysis *a,
				 const struct arguments *args, int *status)
{
	report_findings f = {};
	size_t n_known;
	struct err *err = report_findings_list(a, NULL, &f, &n_known);

	if (fl_end_is_wrong(a) || report_findings_errors(a, &f))
		*status = EXIT_VIOLATIONS;
	if (!err && !args->with_json && a->run.end != CAP_END_SIGNAL)
		err = report_end_text(a, args->talk, with_color(args));
	if (!err)
		err = args->with_json ? report_json(a, &f, stdout) :
					report_findings_text(a, &f, args->talk);
	vec_deinit(&f);
	return err;
}

static struct err *find_errors(const struct arguments *args, struct fl_options *o,
			       int *status)
{
	const struct fl_check_options all = {};
	struct fl_check *rules = NULL;
	struct err *err = fl_check_create(&all, &rules);

	o->check = rules;
	o->with_accesses = true;
	if (!err)
		err = run(args, o, tell_findings, status);
	fl_check_destroy(rules);
	return err;
}

/** The end is told first: the rest takes many times as long. */
static struct err *analyze_all(const struct arguments *args, struct fl_options *o,
			       int *status)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct err *err = capture_open(args->capture, &c);
	bool is_signal = !err && (capture_info(c)->end == CAP_END_SIGNAL ||
				  capture_info(c)->mode == CAP_MODE_FLIGHT);

	*status = EXIT_NO_VIOLATION;
	if (!err && (args->is_end_only || (is_signal && !args->with_json)))
		err = run(args, o, tell_end, status);
	return err || args->is_end_only ? err : find_errors(args, o, status);
}

/* ---- a question -------------------------------------------------------------------------------- */

static struct err *tell(const struct fl_analysis *a, const struct arguments *args,
			int *status)
{
	struct err *err = report(a, args);

	if (err)
		return err;
	*status = EXIT_NO_VIOLATION;
	// Where nothing else was asked it is the end that is asked about.
	if (a->visit || a->accesses.size || fl_releases(a) ||
	    (!args->specs.size && !args->with_accesses && fl_end_is_wrong(a)))
		*status = EXIT_VIOLATIONS;
	else if (args->specs.size && fl_asked_nothing(a))
		return err_new(
			ERR_SPEC,
			"cannot say whether anything is wrong: nothing was "
			"checked, no constraint applied to any node at %zu C-point%s",
			fl_cpoints_visits(a->cpoints),
			fl_cpoints_visits(a->cpoints) == 1 ? "" : "s");
	return NULL;
}

static int analyze(const struct arguments *args)
{
	struct fl_options o = {
		.capture = args->capture,
		.sources = args->sources,
		.specs = args->specs.data,
		.n_specs = args->specs.size,
		.cpoints = args->cpoints.data,
		.n_cpoints = args->cpoints.size,
		.with_accesses = args->with_accesses,
		.with_inference = !args->is_as_named,
		.without_allocator = args->without_allocator,
		.with_allocator = args->with_internals,
		.with_progress = isatty(STDERR_FILENO),
	};
	int status = EXIT_COULD_NOT;
	_cleanup_err_ struct err *err = asks_more(args) ? run(args, &o, tell, &status) :
							  analyze_all(args, &o, &status);

	if (!err)
		return status;
	fprintf(stderr, "faultline: %s\n", err->message);
	return EXIT_COULD_NOT;
}

int cmd_analyze(int argc, char **argv)
{
	const struct argp argp = { .options = options,
				   .parser = parse,
				   .args_doc =
					   "CAPTURE --spec FILE...\nCAPTURE --accesses\n"
					   "CAPTURE",
				   .doc = doc };
	struct arguments args = {};
	_cleanup_free_ char *dir = NULL;
	_cleanup_err_ struct err *err = NULL;
	int status = EXIT_COULD_NOT;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_COULD_NOT;
	err = cmd_command_process(args.capture, args.process, &args.specs, &dir);
	if (err) {
		fprintf(stderr, "faultline: %s\n", err->message);
	} else {
		args.capture = dir;
		status = analyze(&args);
	}
	vec_deinit(&args.specs);
	vec_deinit(&args.cpoints);
	return status;
}
