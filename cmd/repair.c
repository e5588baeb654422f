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
#include "faultlocate/repair/by_spec.h"
#include "faultlocate/repair/recorded.h"
#include "faultlocate/repair/session.h"
#include "report/repair.h"

int cmd_repair(int argc, char **argv);

enum { EXIT_REPAIRED, EXIT_NOT_REPAIRED, EXIT_COULD_NOT };
enum {
	OPT_SOURCE = 256,
	OPT_FUNCTION,
	OPT_COMMANDS,
	OPT_INPUT,
	OPT_IR,
	OPT_EVERYWHERE,
	OPT_SECONDS,
	OPT_CALL,
	OPT_AT,
	OPT_ALSO,
	OPT_HTML,
	OPT_SVG,
	OPT_SPEC
};

struct repair_options {
	const char *capture, *source, *function, *commands, *html, *svg, *spec;
	uint64_t call, at;
	bool has_at;
	fl_texts also;
	VEC(int64_t) inputs;
	bool with_ir, is_everywhere;
	int seconds;
};

static const struct argp_option options[] = {
	{ "source", OPT_SOURCE, "FILE", 0,
	  "The C file; of a capture otherwise where its debug information says", 0 },
	{ "call", OPT_CALL, "N", 0, "Begin at the Nth call of F in CAPTURE (the last)",
	  0 },
	{ "at", OPT_AT, "TIME", 0,
	  "Begin at this instant of CAPTURE, which is in a call of F: a position, as `when' in gdb "
	  "tells it, or END",
	  0 },
	{ "also", OPT_ALSO, "CAPTURE", 0,
	  "What the last call of F did there is right, and stays (may be given again)",
	  0 },
	{ "function", OPT_FUNCTION, "F", 0, "The function that is repaired", 0 },
	{ "commands", OPT_COMMANDS, "FILE", 0, "Do the commands of FILE (stdin)", 0 },
	{ "input", OPT_INPUT, "N", 0, "What input() returns next; any number of times",
	  0 },
	{ "spec", OPT_SPEC, "FILE", 0,
	  "No drawing: what FILE says holds wherever F returns; find a patch for that",
	  0 },
	{ "html", OPT_HTML, "OUT", 0,
	  "Write the state where the commands end as a page to draw in (-: to stdout, and all else "
	  "to stderr)",
	  0 },
	{ "svg", OPT_SVG, "OUT", 0,
	  "Draw the state where the commands end as boxes and arrows (with the program dot)",
	  0 },
	{ "ir", OPT_IR, NULL, 0, "Print the function as guarded statements, and end", 0 },
	{ "everywhere", OPT_EVERYWHERE, NULL, 0,
	  "Let a patch change everything, not only what is suspicious", 0 },
	{ "seconds", OPT_SECONDS, "N", 0,
	  "How long a repair may take, of the processor (10)", 0 },
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
	case OPT_SPEC:
		o->spec = arg;
		return 0;
	case OPT_HTML:
		o->html = arg;
		return 0;
	case OPT_SVG:
		o->svg = arg;
		return 0;
	case OPT_IR:
		o->with_ir = true;
		return 0;
	case OPT_EVERYWHERE:
		o->is_everywhere = true;
		return 0;
	case OPT_CALL:
		o->call = option_number(state, "--call", arg, 1, INT32_MAX);
		return 0;
	case OPT_AT:
		o->has_at = true;
		o->at = strcmp(arg, "END") ?
				option_number(state, "--at", arg, 1, INT64_MAX - 1) :
				RP_AT_END;
		return 0;
	case OPT_ALSO:
		cmd_command_push(state, &o->also, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->capture)
			argp_error(state, "one capture, not also '%s'", arg);
		o->capture = arg;
		return 0;
	case OPT_SECONDS:
		o->seconds = (int)option_number(state, "--seconds", arg, 1, 86400);
		return 0;
	case ARGP_KEY_END:
		if ((!o->source && !o->capture) || !o->function)
			argp_error(state, "which function of which file? (--source FILE "
					  "--function F, or a capture)");
		if (o->call && !o->capture)
			argp_error(state, "--call is of a capture");
		if (o->has_at && (!o->capture || o->call || o->spec))
			argp_error(
				state,
				"--at is of a capture, and neither with --call nor --spec");
		if (o->spec && (o->commands || o->html || o->svg))
			argp_error(state,
				   "--spec draws nothing: no --commands, --html, --svg");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[CAPTURE]",
	.doc = "Debug a C function that changes lists and trees, say by example how the heap should "
	       "be, and get the smallest patch that makes it so. Commands step through the program "
	       "from its main(), or from a call of the function in CAPTURE or any instant in one, change variables and fields (change), assert states (spec), ask "
	       "for the patch (repair), show it as a difference (rewrite) and let the recorded program go on "
	       "with it (continue): doc/repair.md.\v"
	       "Exit status: 0 each repair that was asked for was found, 1 one was not, 2 it could "
	       "not be asked.\n\n"
	       "Examples:\n"
	       "  faultline repair --source list.c --function reverse --commands session\n"
	       "  faultline repair --source list.c --function reverse <session\n"
	       "  faultline repair crash.flt --function reverse --html page.html <session\n"
	       "  faultline repair crash.flt --function reverse --at END\n"
	       "  faultline repair crash.flt --function reverse --also right.flt\n"
	       "  faultline repair crash.flt --function insert --spec list.spec\n"
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

/* What a session has, all that is to be freed. */
struct repairing {
	const struct repair_options *o;
	struct rp_program *p;
	struct rp_recorded *recorded;
	struct rp_state first;
	rp_lines way;
	struct rp_recorder also;
	FILE *commands;
	int function;
	bool has_page;
};

static void repairing_deinit(struct repairing *x)
{
	fl_rp_state_deinit(&x->first);
	vec_deinit(&x->way);
	fl_rp_recorder_deinit(&x->also);
	fl_rp_recorded_destroy(x->recorded);
	fl_rp_program_destroy(x->p);
	if (x->commands)
		fclose(x->commands);
}

static struct err *go_on(void *ctx, const struct rp_state *after, FILE *out)
{
	struct repairing *x = ctx;

	return fl_rp_recorded_go_on(x->recorded, x->p, x->function, after, out);
}

static struct err *show(void *ctx, const struct rp_state *s, int function, unsigned at)
{
	struct repairing *x = ctx;

	struct err *err = NULL;

	x->has_page = true;
	if (x->o->html)
		err = report_repair_page(x->p, s, function, at, x->o->html, 0666);
	if (!err && x->o->svg)
		err = report_repair_svg(x->p, s, function, at, x->o->svg, 0666);
	return err;
}

/* @p at: NULL: no instant. */
static struct err *open_recorded(const char *capture, const char *function, uint64_t call,
				 const uint64_t *at, struct rp_recorded **ret)
{
	_cleanup_free_ char *dir = NULL;
	struct err *err = cmd_command_process(capture, NULL, &(const fl_texts){}, &dir);

	return err ? err : fl_rp_recorded_open(dir, function, call, at, ret);
}

static struct err *read_source(struct repairing *x)
{
	const char *path = x->o->source;
	struct err *err;

	if (!path && x->recorded)
		path = fl_rp_recorded_source(x->recorded);
	if (!path)
		return err_new(ERR_NOT_FOUND,
			       "its debug information names no source (--source FILE)");
	err = fl_rp_program_read(path, &x->p);
	if (!err)
		err = find(x->o, x->p, &x->function);
	return err ? err : fl_rp_program_spare(x->p, x->function);
}

/* What was right elsewhere. */
static struct err *add_also(struct repairing *x, const char *capture)
{
	struct rp_state first = {};
	_cleanup_(fl_rp_recorded_destroyp) struct rp_recorded *r = NULL;
	struct err *err = open_recorded(capture, x->o->function, 0, NULL, &r),
		   *why = NULL;

	x->also.function = x->function;
	if (!err)
		err = fl_rp_recorded_state(r, x->p, x->function, &first);
	if (!err)
		why = fl_rp_record_run(&x->also, x->p, &first);
	if (why)
		err = err_new(why->code, "%s() does nothing right in '%s': %s",
			      x->o->function, capture, why->message);
	err_destroy(why);
	fl_rp_state_deinit(&first);
	return err;
}

static struct err *prepare(struct repairing *x)
{
	const struct repair_options *o = x->o;
	struct err *err = NULL;

	if (o->capture)
		err = open_recorded(o->capture, o->function, o->call,
				    o->has_at ? &o->at : NULL, &x->recorded);
	if (!err)
		err = read_source(x);
	if (!err && x->recorded)
		err = fl_rp_recorded_state(x->recorded, x->p, x->function, &x->first);
	if (!err && x->recorded)
		err = fl_rp_recorded_way(x->recorded, x->p, &x->way);
	for (size_t i = 0; !err && i < o->also.size; i++)
		err = add_also(x, o->also.data[i]);
	return err || !o->commands ? err : open_commands(o, &x->commands);
}

static struct err *print_patch(struct repairing *x, struct rp_patch *patch)
{
	_cleanup_free_ char *text = NULL;
	struct err *err;

	fl_rp_patch_print(x->p, patch, stdout);
	err = fl_rp_patch_apply(x->p, patch);
	if (!err)
		err = fl_rp_rewrite(x->p, &text);
	return err ? err : fl_rp_diff(x->p, text, stdout);
}

static struct err *run_by_spec(struct repairing *x, int *status)
{
	const struct repair_options *o = x->o;
	struct rp_by_spec b = { .p = x->p,
				.function = x->function,
				.spec = o->spec,
				.first = x->recorded ? &x->first : NULL,
				.inputs = o->inputs.data,
				.n_inputs = o->inputs.size,
				.also = x->also.witnesses.data,
				.n_also = x->also.witnesses.size,
				.most_seconds = o->seconds };
	struct rp_patch patch = {};
	struct err *err = fl_rp_by_spec(&b, &patch);

	if (!err && !b.n_violations) {
		printf("nothing to repair: all holds behind %u calls of %s()\n",
		       b.n_calls, o->function);
	} else if (!err && patch.edits.size) {
		printf("repaired: %u violations behind %u calls of %s(), the first of %s; of %u "
		       "changes tried this leaves the heap most as it was\n",
		       b.n_violations, b.n_calls, o->function,
		       b.first_violated[0] ? b.first_violated : "the run itself",
		       b.n_tried);
		err = print_patch(x, &patch);
	} else if (!err) {
		printf("%s: of %u single changes none makes all hold, %u violations, the first of %s\n",
		       b.was_late ? "not known, the time is over" :
				    "no repair within reach",
		       b.n_tried, b.n_violations,
		       b.first_violated[0] ? b.first_violated : "the run itself");
		*status = EXIT_NOT_REPAIRED;
	}
	fl_rp_patch_deinit(&patch);
	return err;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

static struct err *run(struct repairing *x, int *status)
{
	const struct repair_options *o = x->o;
	struct rp_session s = { .inputs = o->inputs.data,
				.n_inputs = o->inputs.size,
				.out = is_stdout(o->html) || is_stdout(o->svg) ? stderr :
										 stdout,
				.is_everywhere = o->is_everywhere,
				.most_seconds = o->seconds,
				.go_on = o->capture ? go_on : NULL,
				.shown = o->html || o->svg ? show : NULL,
				.ctx = x,
				.also = &x->also };
	struct err *err = prepare(x);

	if (err)
		return err;
	if (o->with_ir) {
		fl_rp_program_print(x->p, x->function, stdout);
		return NULL;
	}
	if (o->spec)
		return run_by_spec(x, status);
	s.p = x->p;
	s.function = x->function;
	s.first = x->recorded ? &x->first : NULL;
	s.way = x->way.data;
	s.n_way = x->way.size;
	s.commands = x->commands ? x->commands : stdin;
	err = fl_rp_session_run(&s);
	if (!err && (o->html || o->svg) && !x->has_page)
		err = err_new(ERR_USAGE,
			      "there is no state for '%s': nothing was started",
			      o->html ?: o->svg);
	if (!err && s.n_mistakes)
		err = err_new(ERR_USAGE, "%u commands could not be done", s.n_mistakes);
	*status = s.n_failed ? EXIT_NOT_REPAIRED : EXIT_REPAIRED;
	return err;
}

int cmd_repair(int argc, char **argv)
{
	struct repair_options o = { .seconds = 10 };
	struct repairing x = { .o = &o };
	_cleanup_err_ struct err *err = NULL;
	int status = EXIT_REPAIRED;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	err = run(&x, &status);
	if (err)
		fprintf(stderr, "faultline: cannot repair '%s': %s\n",
			text_line(o.capture ?: o.source), err->message);
	repairing_deinit(&x);
	vec_deinit(&o.inputs);
	vec_deinit(&o.also);
	return err ? EXIT_COULD_NOT : status;
}
