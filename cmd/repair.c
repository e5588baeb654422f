// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND fix/repair: draw the heap as it should be, get the patch

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/option.h"
#include "base/text.h"
#include "cmd/command.h"
#include "faultlocate/repair/session.h"

int cmd_repair(int argc, char **argv);

enum { EXIT_REPAIRED, EXIT_NOT_REPAIRED, EXIT_COULD_NOT };
enum {
	OPT_SOURCE = 256,
	OPT_FUNCTION,
	OPT_COMMANDS,
	OPT_INPUT,
	OPT_IR,
	OPT_EVERYWHERE,
	OPT_SECONDS
};

struct repair_options {
	const char *source, *function, *commands;
	VEC(int64_t) inputs;
	bool with_ir, is_everywhere;
	int seconds;
};

static const struct argp_option options[] = {
	{ "source", OPT_SOURCE, "FILE", 0, "The C file", 0 },
	{ "function", OPT_FUNCTION, "F", 0, "The function that is repaired", 0 },
	{ "commands", OPT_COMMANDS, "FILE", 0, "Do the commands of FILE (stdin)", 0 },
	{ "input", OPT_INPUT, "N", 0, "What input() returns next; any number of times",
	  0 },
	{ "ir", OPT_IR, NULL, 0, "Print the function as guarded statements, and end", 0 },
	{ "everywhere", OPT_EVERYWHERE, NULL, 0,
	  "Let a patch change everything, not only what is suspicious", 0 },
	{ "seconds", OPT_SECONDS, "N", 0, "How long a repair may take (10)", 0 },
	{ 0 },
};

static void take_input(struct repair_options *o, const char *arg,
		       struct argp_state *state)
{
	char *end;
	long value = strtol(arg, &end, 10);

	if (end == arg || *end || value != (int32_t)value)
		argp_error(state, "--input takes a number of 32 bits, not '%s'", arg);
	if (vec_add(&o->inputs, value))
		argp_failure(state, EXIT_COULD_NOT, 0, "out of memory");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct repair_options *o = state->input;

	switch (key) {
	case OPT_SOURCE:
		o->source = arg;
		return 0;
	case OPT_FUNCTION:
		o->function = arg;
		return 0;
	case OPT_COMMANDS:
		o->commands = arg;
		return 0;
	case OPT_INPUT:
		take_input(o, arg, state);
		return 0;
	case OPT_IR:
		o->with_ir = true;
		return 0;
	case OPT_EVERYWHERE:
		o->is_everywhere = true;
		return 0;
	case OPT_SECONDS:
		o->seconds = (int)option_number(state, "--seconds", arg, 1, 86400);
		return 0;
	case ARGP_KEY_END:
		if (!o->source || !o->function)
			argp_error(state, "which function of which file? (--source FILE "
					  "--function F)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Debug a C function that changes lists and trees, say by example how the heap should "
	       "be, and get the smallest patch that makes it so. Commands step through the program "
	       "from its main(), change variables and fields (change), assert states (spec), ask "
	       "for the patch (repair) and show it as a difference (rewrite): doc/repair.md.\v"
	       "Exit status: 0 each repair that was asked for was found, 1 one was not, 2 it could "
	       "not be asked.\n\n"
	       "Examples:\n"
	       "  faultline repair --source list.c --function reverse --commands session\n"
	       "  faultline repair --source list.c --function reverse <session\n"
	       "  faultline repair --source list.c --function reverse --ir\n",
};

/* What cannot be looked into is said before anything runs. */
static struct err *find(const struct repair_options *o, const struct rp_program *p,
			int *ret)
{
	*ret = fl_rp_program_function(p, o->function);
	if (*ret == RP_NONE)
		return err_new(ERR_NOT_FOUND, "it has no function '%s'", o->function);
	if (p->functions.data[*ret].refused)
		return err_new(ERR_UNSUPPORTED, "%s() is out of scope: %s", o->function,
			       p->functions.data[*ret].refused);
	return NULL;
}

static struct err *open_commands(const struct repair_options *o, FILE **ret)
{
	int fd;
	uint64_t size;
	struct err *err =
		file_open_input(AT_FDCWD, o->commands, o->commands, 1 << 20, &fd, &size);

	if (err)
		return err;
	*ret = fdopen(fd, "r");
	if (!*ret) {
		err = err_errno("cannot read '%s'", o->commands);
		close(fd);
	}
	return err;
}

static struct err *run(const struct repair_options *o, int *status)
{
	_cleanup_(fl_rp_program_destroyp) struct rp_program *p = NULL;
	_cleanup_fclose_ FILE *commands = NULL;
	struct rp_session s = { .inputs = o->inputs.data,
				.n_inputs = o->inputs.size,
				.out = stdout,
				.is_everywhere = o->is_everywhere,
				.most_seconds = o->seconds };
	struct err *err = fl_rp_program_read(o->source, &p);

	if (!err)
		err = find(o, p, &s.function);
	if (err)
		return err;
	if (o->with_ir) {
		fl_rp_program_print(p, s.function, stdout);
		return NULL;
	}
	if (o->commands)
		err = open_commands(o, &commands);
	if (err)
		return err;
	s.p = p;
	s.commands = commands ? commands : stdin;
	err = fl_rp_session_run(&s);
	if (!err && s.n_mistakes)
		err = err_new(ERR_USAGE, "%u commands could not be done", s.n_mistakes);
	*status = s.n_failed ? EXIT_NOT_REPAIRED : EXIT_REPAIRED;
	return err;
}

int cmd_repair(int argc, char **argv)
{
	struct repair_options o = { .seconds = 10 };
	_cleanup_err_ struct err *err = NULL;
	int status = EXIT_REPAIRED;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	err = run(&o, &status);
	if (err)
		fprintf(stderr, "faultline: cannot repair '%s': %s\n",
			text_line(o.source), err->message);
	vec_deinit(&o.inputs);
	return err ? EXIT_COULD_NOT : status;
}
