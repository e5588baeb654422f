// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND explain/inputs: which bytes of its inputs made a value what it is?

#include <string.h>

#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "report/inputs.h"

#define EXIT_COULD_NOT 2
#define SHOWN 60   // runs of bytes of each role
#define NAMED 2000 // links of chains

enum { KEY_ROLE = 256, KEY_JSON, KEY_HTML, KEY_ALL };

struct arguments {
	const char *capture, *process, *at, *html;
	bool is_json, shows_all;
	uint8_t roles;
	fl_texts vars;
};

static const struct argp_option options[] = {
	{ "at", 'a', "PLACE", 0,
	  "where: FILE:LINE, FUNC, both with #N for the Nth time (else the last); crash (the "
	  "default): the instruction at which a signal ended the program; or a position, a "
	  "number of instructions",
	  0 },
	{ "role", KEY_ROLE, "ROLE", 0,
	  "only bytes of this role: derived (the value is made of them), control (they decided "
	  "what was executed), address (they chose what was read); may be given again",
	  0 },
	{ "json", KEY_JSON, NULL, 0, "write them as one JSON object", 0 },
	{ "html", KEY_HTML, "OUT", 0, "write them as a page (-: to stdout)", 0 },
	{ "all", KEY_ALL, NULL, 0, "show all, not only the first of each role", 0 },
	{ "process", 'p', "PROCESS", 0,
	  "of a capture made by `record -f', this process: a number or a process id", 0 },
	{ 0 },
};

static const char doc[] =
	"Replay CAPTURE, and go back from a place in its run: which bytes of files, stdin, "
	"sockets, arguments and environment had which part in the values there (given VARs, in "
	"these), or in that it was reached? A byte with `=' must be just what it is.\v"
	"Exit status: 0, or 2 when there is no such place.\n\n"
	"Examples:\n"
	"  faultline inputs crash.flt\n"
	"  faultline inputs crash.flt --at parse.c:107 p --role derived\n"
	"  faultline inputs crash.flt --at eval#3 --json | jq '.inputs[].bytes[]'\n";

static uint8_t role_named(struct argp_state *state, const char *name)
{
	if (!strcmp(name, "derived"))
		return FL_ROLE_DERIVED;
	if (!strcmp(name, "control"))
		return FL_ROLE_CONTROL;
	if (!strcmp(name, "address"))
		return FL_ROLE_ADDRESS;
	argp_error(state, "there is no role '%s': derived, control, address",
		   text_line(name));
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'a':
		a->at = arg;
		return 0;
	case KEY_ROLE:
		a->roles |= role_named(state, arg);
		return 0;
	case KEY_JSON:
		a->is_json = true;
		text_guard_json();
		return 0;
	case KEY_HTML:
		a->html = arg;
		return 0;
	case KEY_ALL:
		a->shows_all = true;
		return 0;
	case 'p':
		a->process = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->capture)
			cmd_command_push(state, &a->vars, arg);
		else
			a->capture = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->is_json && a->html)
			argp_error(state, "one of --json and --html");
		break;
	}
	return option_only(state, key, arg, "capture", &a->capture);
}

struct asking {
	const struct arguments *args;
	struct capture *capture;
	struct fl_sources sources;
	struct fl_trace *trace;
	struct dec_symbols *symbols;
	fl_seeds seeds;
	fl_prunes prunes;
	fl_strings strings;
	struct fl_question question;
	struct fl_inputs inputs;
};

static void asking_deinit(struct asking *a)
{
	fl_inputs_deinit(&a->inputs);
	fl_sources_deinit(&a->sources);
	fl_trace_destroy(a->trace);
	dec_symbols_destroy(a->symbols);
	capture_close(a->capture);
	vec_deinit(&a->seeds);
	vec_deinit(&a->prunes);
	vec_deinit(&a->strings);
}

static struct err *find(struct asking *a)
{
	struct fl_trace_options to = { .progress = cmd_command_show_reading,
				       .call = fl_sources_call,
				       .ctx = &a->sources };
	const struct arguments *args = a->args;
	struct err *err = capture_open(args->capture, &a->capture);

	if (!err)
		err = cmd_command_symbols(a->capture, NULL, NULL, &a->symbols);
	to.symbols = a->symbols;
	if (!err)
		err = fl_sources_begin(a->capture, &a->sources);
	if (!err)
		err = fl_trace_create(a->capture, &to, &a->trace);
	if (!err)
		err = fl_question_ask(a->trace, a->symbols, args->at, args->vars.data,
				      args->vars.size, 0, &a->seeds, &a->question);
	if (!err)
		err = fl_sources_name(&a->sources, fl_trace_machine(a->trace));
	if (!err)
		err = fl_question_cut_linker(a->trace, a->symbols, &a->prunes);
	if (!err)
		err = fl_inputs_strings(a->trace, a->symbols, &a->strings);
	if (!err) {
		const struct fl_inputs_options o = { .progress =
							     cmd_command_show_way_back,
						     .prunes = a->prunes.data,
						     .n_prunes = a->prunes.size,
						     .strings = a->strings.data,
						     .n_strings = a->strings.size };

		err = fl_inputs_walk(a->trace, &a->sources, a->seeds.data, a->seeds.size,
				     &o, &a->inputs);
	}
	cmd_command_show_end();
	return err ?: fl_inputs_name(&a->inputs, a->trace, a->symbols, NAMED);
}

static struct err *show(const struct asking *a)
{
	const struct arguments *args = a->args;
	const struct report_inputs r = { .inputs = &a->inputs,
					 .sources = &a->sources,
					 .question = &a->question,
					 .at = args->at,
					 .vars = args->vars.data,
					 .n_vars = args->vars.size,
					 .roles = args->roles,
					 .symbols = a->symbols,
					 .capture = args->capture,
					 .mode = capture_mode(a->capture),
					 .max = args->shows_all ? 0 : SHOWN };

	if (args->is_json)
		return report_inputs_json(&r, stdout);
	if (args->html)
		return report_inputs_page(&r, args->html);
	report_inputs_text(&r, stdout);
	return NULL;
}

/* What could not be known is said, whatever came out. */
static void tell_end(const struct asking *a)
{
	cmd_command_tell_trace(a->capture, a->trace, "nothing is known");
}

int cmd_inputs(int argc, char **argv)
{
	const struct argp argp = { .options = options,
				   .parser = parse,
				   .args_doc = "CAPTURE [VAR...]",
				   .doc = doc };
	struct arguments args = { .at = "crash" };
	struct asking a = { .args = &args };
	_cleanup_free_ char *dir = NULL;
	_cleanup_err_ struct err *err = NULL;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_COULD_NOT;
	args.roles = args.roles ?: FL_ROLE_DERIVED | FL_ROLE_CONTROL | FL_ROLE_ADDRESS;
	err = cmd_command_process(args.capture, args.process, &(const fl_texts){}, &dir);
	if (!err) {
		args.capture = dir;
		err = find(&a);
	}
	if (!err) {
		tell_end(&a);
		err = show(&a);
	}
	if (err)
		fprintf(stderr, "faultline: cannot find the inputs: %s\n", err->message);
	asking_deinit(&a);
	vec_deinit(&args.vars);
	return err ? EXIT_COULD_NOT : 0;
}
