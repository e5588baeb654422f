// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND find/check: find errors of memory and descriptors, and leaks, by rules

#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "report/check.h"

enum { EXIT_CLEAN, EXIT_ERRORS, EXIT_COULD_NOT };
enum {
	KEY_RULES = 'r',
	KEY_ONLY = 'O',
	KEY_JSON = 'j',
	KEY_PROCESS = 'p',
	KEY_VERBOSE = 'v',
	KEY_SARIF = 256,
	KEY_HTML,
	KEY_SOURCES,
	KEY_FUNCTION,
	KEY_STRICT,
	KEY_SUPPRESSIONS
};

struct arguments {
	const char *capture, *process, *sources;
	const char *out[2]; ///< SARIF, HTML
	FILE *talk;
	fl_texts files, only, functions, known, none;
	bool with_json, is_strict;
};

static const struct argp_option options[] = {
	{ "rules", KEY_RULES, "FILE", 0,
	  "ask the rules in FILE (may be given again); else those that are built in "
	  "(specs/rules/)",
	  0 },
	{ "only", KEY_ONLY, "NAME,..", 0,
	  "ask these rules alone, also such as are off (may be given again)", 0 },
	{ "function", KEY_FUNCTION, "NAME=FUNC", 0,
	  "the function that rules call NAME, as in `ret ts', is FUNC", 0 },
	{ "strict", KEY_STRICT, NULL, 0,
	  "any read of what was never given a value is an error, also of what is only copied",
	  0 },
	{ "suppressions", KEY_SUPPRESSIONS, "FILE", 0,
	  "do not tell what FILE, in memcheck's format, says is known (may be given again)",
	  0 },
	{ "json", KEY_JSON, NULL, 0, "write the result as one JSON object", 0 },
	{ "sarif", KEY_SARIF, "OUT", 0,
	  "write it into file OUT in SARIF 2.1.0 (-: stdout)", 0 },
	{ "html", KEY_HTML, "OUT", 0, "write it into file OUT as a page (-: stdout)", 0 },
	{ "sources", KEY_SOURCES, "DIR", 0,
	  "the program's sources are below DIR; otherwise lines are shown where the program "
	  "itself lies here as it was recorded, and its owner may read them",
	  0 },
	{ "process", KEY_PROCESS, "PROCESS", 0,
	  "of a capture made by `record -f', check this process: a number as in `faultline "
	  "dump --processes', or a process id",
	  0 },
	{ "verbose", KEY_VERBOSE, NULL, 0, "say what is being done", 0 },
	{ 0 },
};

static const char doc[] =
	"Replay CAPTURE and look for what bug rules say is wrong: what is freed twice or was never "
	"allocated, accesses outside of their allocation or after it was freed, NULL pointers, "
	"mismatched functions, overlapping copies, closed descriptors, leaks, data races. The "
	"language: "
	"doc/rules.md.\v"
	"Exit status: 0 nothing that is an error, 1 errors, 2 could not check.\n\n"
	"Examples:\n"
	"  faultline check crash.flt\n"
	"  faultline check crash.flt --only DOUBLE-FREE,DEFINITE-LEAK\n"
	"  faultline check crash.flt --rules mine.rules --sarif found.sarif\n";

static void push_names(struct argp_state *state, fl_texts *v, char *names)
{
	for (char *rest = NULL, *name = strtok_r(names, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest))
		cmd_command_push(state, v, name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_RULES:
		cmd_command_push(state, &a->files, arg);
		break;
	case KEY_ONLY:
		push_names(state, &a->only, arg);
		break;
	case KEY_FUNCTION:
		if (!strchr(arg, '=') || *arg == '=')
			argp_error(state, "--function takes NAME=FUNC, not '%s'", arg);
		cmd_command_push(state, &a->functions, arg);
		break;
	case KEY_STRICT:
		a->is_strict = true;
		break;
	case KEY_SUPPRESSIONS:
		cmd_command_push(state, &a->known, arg);
		break;
	case KEY_JSON:
		a->with_json = true;
		text_guard_json();
		break;
	case KEY_SARIF:
	case KEY_HTML:
		a->out[key - KEY_SARIF] = arg;
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
		a->talk = option_talk(state, a->out, 2, a->with_json);
		break;
	default:
		return option_only(state, key, arg, "capture", &a->capture);
	}
	return 0;
}

static struct err *report(const struct fl_analysis *a, const struct arguments *args,
			  const struct fl_suppressions *known, int *status)
{
	report_findings f = {};
	size_t n_known;
	struct err *err = report_findings_list(a, known, &f, &n_known);

	if (n_known)
		log_note("%zu finding%s suppressed", n_known,
			 n_known == 1 ? " is" : "s are");

	*status = report_findings_errors(a, &f) ? EXIT_ERRORS : EXIT_CLEAN;
	if (!err && args->out[0])
		err = report_check_sarif(a, &f, args->out[0]);
	if (!err && args->out[1])
		err = report_check_html(a, &f, args->out[1]);
	if (!err)
		err = args->with_json ? report_check_json(a, &f, stdout) :
					report_check_text(a, &f, args->talk);
	vec_deinit(&f);
	return err;
}

static struct err *check(const struct arguments *args, struct fl_check *rules,
			 const struct fl_suppressions *known, int *status)
{
	const struct fl_options o = {
		.capture = args->capture,
		.sources = args->sources,
		.with_accesses = true,
		.check = rules,
		.with_progress = isatty(STDERR_FILENO),
	};
	_cleanup_(fl_analysis_deinit) struct fl_analysis a = {};
	struct err *err = fl_analysis_run(&o, &a);

	return err ? err : report(&a, args, known, status);
}

static struct err *run(struct arguments *args, int *status)
{
	const struct fl_check_options o = { .files = args->files.data,
					    .n_files = args->files.size,
					    .only = args->only.data,
					    .n_only = args->only.size,
					    .functions = args->functions.data,
					    .n_functions = args->functions.size,
					    .is_strict = args->is_strict };
	struct fl_check *rules = NULL;
	struct fl_suppressions *known = NULL;
	_cleanup_free_ char *dir = NULL;
	struct err *err = fl_check_create(&o, &rules);

	if (rules && fl_check_rules(rules) && spec_diags(fl_check_rules(rules)))
		spec_diags_print(fl_check_rules(rules), stderr);
	if (!err)
		err = fl_suppressions_create(&known);
	for (size_t i = 0; i < args->known.size && !err; i++)
		err = fl_suppressions_read(known, args->known.data[i]);
	if (!err)
		err = cmd_command_process(args->capture, args->process, &args->none,
					  &dir);
	if (!err) {
		args->capture = dir;
		err = check(args, rules, known, status);
	}
	fl_suppressions_destroy(known);
	fl_check_destroy(rules);
	return err;
}

int cmd_check(int argc, char **argv)
{
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "CAPTURE", .doc = doc
	};
	struct arguments args = {};
	_cleanup_err_ struct err *err = NULL;
	int status = EXIT_COULD_NOT;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_COULD_NOT;
	err = run(&args, &status);
	if (err) {
		fprintf(stderr, "faultline: %s\n", err->message);
		status = EXIT_COULD_NOT;
	}
	vec_deinit(&args.files);
	vec_deinit(&args.only);
	vec_deinit(&args.functions);
	vec_deinit(&args.known);
	return status;
}
