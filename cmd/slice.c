// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND explain/slice: which statements had a part in a value?

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "faultlocate/slice/capture.h"
#include "report/slice.h"

#define EXIT_COULD_NOT 2
#define SHOWN 60
#define LOOKED_AT 400 // statements whose values are looked up
// Fewer instructions are sooner executed than what they did is put in place.
#define PIECE 32

enum {
	KEY_REGION = 256,
	KEY_JSON,
	KEY_SARIF,
	KEY_DOT,
	KEY_HTML,
	KEY_INTO_LIBRARIES,
	KEY_DATA_ONLY,
	KEY_CONTROL_ONLY,
	KEY_NO_ADDRESSES,
	KEY_PRUNE,
	KEY_RIGHT,
	KEY_KEEP_SAVES,
	KEY_STACK_POINTER,
	KEY_ALL,
	KEY_SOURCES,
	KEY_CAPTURE,
	KEY_POTENTIAL,
	KEY_ASKED
};

struct arguments {
	const char *capture, *process, *at, *html, *sources, *region, *new, *asked;
	bool is_json, is_sarif, is_dot, shows_all, into_libraries, has_potential;
	uint64_t from, to; ///< of the region; to 0: none
	struct fl_slice_options slice;
	fl_texts vars, prunes, rights;
};

static const struct argp_option options[] = {
	{ "at", 'a', "PLACE", 0,
	  "where: FILE:LINE, FUNC, both with #N for the Nth time (else the last); crash (the "
	  "default): the instruction at which a signal ended the program; or a position, a "
	  "number of instructions",
	  0 },
	{ "region", KEY_REGION, "A..B", 0,
	  "go back to position A at most, and look no further than B", 0 },
	{ "data-only", KEY_DATA_ONLY, NULL, 0, "not: why statements were executed", 0 },
	{ "control-only", KEY_CONTROL_ONLY, NULL, 0,
	  "only the branches and calls that led there, not where values came from", 0 },
	{ "no-addresses", KEY_NO_ADDRESSES, NULL, 0,
	  "not: where the addresses came from of what was read and written", 0 },
	{ "prune", KEY_PRUNE, "WHAT", 0,
	  "do not follow a register (rax), what the code of a function used (FUNC), memory "
	  "(0xA..0xB), what was used at a position (@N), or a global variable (may be given "
	  "again)",
	  0 },
	{ "right", KEY_RIGHT, "PLACE [VAR...]", 0,
	  "what this place, as --at takes it, used, or these variables were right there: leave out "
	  "what made values that are told by those, through copies and sums with a constant (may be "
	  "given again)",
	  0 },
	{ "into-libraries", KEY_INTO_LIBRARIES, NULL, 0,
	  "show what libraries did inside, and what the dynamic linker did; otherwise the "
	  "call stands for it",
	  0 },
	{ "keep-saves", KEY_KEEP_SAVES, NULL, 0,
	  "leave in what saves registers and restores them unchanged", 0 },
	{ "stack-pointer", KEY_STACK_POINTER, NULL, 0,
	  "the stack pointer is a value like any other", 0 },
	{ "json", KEY_JSON, NULL, 0, "write the slice as one JSON object", 0 },
	{ "sarif", KEY_SARIF, NULL, 0, "write it as SARIF, with a code flow", 0 },
	{ "dot", KEY_DOT, NULL, 0, "write it as text for Graphviz", 0 },
	{ "html", KEY_HTML, "OUT", 0, "write it as a page (-: to stdout)", 0 },
	{ "capture", KEY_CAPTURE, "NEW", 0,
	  "write a slice capture to the new directory NEW, and tell how large it is: the run up "
	  "to the place, without what is not in the slice; replay and debug take it",
	  0 },
	{ "potential", KEY_POTENTIAL, NULL, 0,
	  "try the program's last branches that are not in the slice the other way, and tell "
	  "with which of them the value would have been another",
	  0 },
	{ "asked", KEY_ASKED, "WORDS", OPTION_HIDDEN, NULL, 0 },
	{ "all", KEY_ALL, NULL, 0, "show all statements, not only the latest", 0 },
	{ "sources", KEY_SOURCES, "DIR", 0,
	  "the program's sources are below DIR; otherwise lines are shown where the program "
	  "itself lies here as it was recorded, and its owner may read them",
	  0 },
	{ "process", 'p', "PROCESS", 0,
	  "of a capture made by `record -f', this process: a number or a process id", 0 },
	{ 0 },
};

static const char doc[] =
	"Replay CAPTURE, and go back from a place in its run: which statements had a part in "
	"the values there, and in that it was reached? Given VARs, only in theirs: variables "
	"that the statement uses or assigns, registers, `*ADDRESS,BYTES'. Each statement is "
	"shown with what it made the last time, and for which other it did.\v"
	"Exit status: 0, or 2 when there is no slice.\n\n"
	"Examples:\n"
	"  faultline slice crash.flt\n"
	"  faultline slice crash.flt --at list.c:40 node\n"
	"  faultline slice crash.flt --at insert#3 --data-only\n"
	"  faultline slice crash.flt --at list.c:52 total --right 'list.c:50 n'\n"
	"  faultline slice crash.flt --at 120000 rax --json | jq '.statements[].place'\n"
	"  faultline slice crash.flt --capture small.flt && faultline debug small.flt\n"
	"  faultline slice crash.flt --at list.c:40 --dot | dot -Tsvg >slice.svg\n";

/* ---- options -------------------------------------------------------------------------- */

/* @return whether @p text is `A..B`, both numbers. */
static bool parse_range(const char *text, uint64_t *from, uint64_t *to)
{
	const char *dots = strstr(text, "..");
	char *end;

	if (!dots || dots == text || *text == '-')
		return false;
	errno = 0;
	*from = strtoull(text, &end, 0);
	if (errno || end != dots || !dots[2] || dots[2] == '-')
		return false;
	*to = strtoull(dots + 2, &end, 0);
	return !errno && !*end && *from < *to;
}

static void check_options(struct argp_state *state, struct arguments *a)
{
	if (!!a->is_json + a->is_sarif + a->is_dot + !!a->html + !!a->new > 1)
		argp_error(state, "one of --json, --sarif, --dot, --html and --capture");
	if (a->has_potential && (a->is_sarif || a->is_dot || a->html || a->new))
		argp_error(state, "--potential is told in text or by --json");
	if (a->slice.without_control && a->slice.without_data)
		argp_error(state, "one of --data-only and --control-only");
	if (a->region && !parse_range(a->region, &a->from, &a->to))
		argp_error(state, "--region takes two positions, A..B, not '%s'",
			   a->region);
	if (!a->at)
		a->at = "crash";
	a->slice.keeps_instances = a->new || a->has_potential;
}

/** Options that set a flag, and those that take a text. */
static const struct {
	int key;
	size_t at; ///< in struct arguments
} flags[] = {
	{ KEY_JSON, offsetof(struct arguments, is_json) },
	{ KEY_SARIF, offsetof(struct arguments, is_sarif) },
	{ KEY_DOT, offsetof(struct arguments, is_dot) },
	{ KEY_INTO_LIBRARIES, offsetof(struct arguments, into_libraries) },
	{ KEY_ALL, offsetof(struct arguments, shows_all) },
	{ KEY_POTENTIAL, offsetof(struct arguments, has_potential) },
	{ KEY_DATA_ONLY, offsetof(struct arguments, slice.without_control) },
	{ KEY_CONTROL_ONLY, offsetof(struct arguments, slice.without_data) },
	{ KEY_CONTROL_ONLY, offsetof(struct arguments, slice.without_addresses) },
	{ KEY_NO_ADDRESSES, offsetof(struct arguments, slice.without_addresses) },
	{ KEY_KEEP_SAVES, offsetof(struct arguments, slice.keeps_saves) },
	{ KEY_STACK_POINTER, offsetof(struct arguments, slice.follows_stack) },
}, texts[] = {
	{ 'a', offsetof(struct arguments, at) },
	{ 'p', offsetof(struct arguments, process) },
	{ KEY_REGION, offsetof(struct arguments, region) },
	{ KEY_HTML, offsetof(struct arguments, html) },
	{ KEY_SOURCES, offsetof(struct arguments, sources) },
	{ KEY_CAPTURE, offsetof(struct arguments, new) },
	{ KEY_ASKED, offsetof(struct arguments, asked) },
};

/* @return whether option @p key is one of the two tables'. */
static bool set(struct arguments *a, int key, const char *arg)
{
	bool is_set = false;

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].key == key)
			*(bool *)((char *)a + flags[i].at) = is_set = true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].key == key) {
			*(const char **)((char *)a + texts[i].at) = arg;
			is_set = true;
		}
	return is_set;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	if (key == KEY_JSON || key == KEY_SARIF)
		text_guard_json();
	if (set(a, key, arg))
		return 0;
	if (key == KEY_PRUNE || key == KEY_RIGHT || (key == ARGP_KEY_ARG && a->capture)) {
		cmd_command_push(state,
				 key == KEY_PRUNE ? &a->prunes :
				 key == KEY_RIGHT ? &a->rights :
						    &a->vars,
				 arg);
		return 0;
	}
	if (key == ARGP_KEY_ARG) {
		a->capture = arg;
		return 0;
	}
	if (key == ARGP_KEY_END)
		check_options(state, a);
	return option_only(state, key, arg, "capture", &a->capture);
}

/* ---- a slice --------------------------------------------------------------------------- */

/* A slice being made. */
struct slicing {
	const struct arguments *args;
	struct capture *capture;
	struct fl_trace *trace;
	struct dec_symbols *symbols;
	struct fl_slice *slice, *right;
	fl_prunes prunes;
	fl_seeds seeds;
	struct fl_view view;
	struct fl_question question;
	struct fl_potentials potential;
};

static void slicing_deinit(struct slicing *s)
{
	fl_potentials_deinit(&s->potential);
	fl_view_deinit(&s->view);
	fl_slice_destroy(s->slice);
	fl_slice_destroy(s->right);
	fl_trace_destroy(s->trace);
	dec_symbols_destroy(s->symbols);
	capture_close(s->capture);
	vec_deinit(&s->prunes);
	vec_deinit(&s->seeds);
}

static struct err *ask(struct slicing *s, uint64_t *begin)
{
	const struct arguments *a = s->args;
	struct err *err;

	if (a->asked)
		return fl_question_words(s->trace, a->asked, &s->seeds, &s->prunes,
					 begin);
	err = fl_question_ask(s->trace, s->symbols, a->at, a->vars.data, a->vars.size, 0,
			      &s->seeds, &s->question);
	for (size_t i = 0; i < a->prunes.size && !err; i++)
		err = fl_question_prune(s->symbols, a->prunes.data[i], &s->prunes);
	return err || a->into_libraries ?
		       err :
		       fl_question_cut_linker(s->trace, s->symbols, &s->prunes);
}

/* Add the seeds of @p text, a place and variables there. */
static struct err *ask_right(struct slicing *s, const char *text, fl_seeds *seeds)
{
	_cleanup_free_ char *words = strdup(text);
	struct fl_question told;
	fl_texts vars = {};
	char *rest = NULL, *word = words ? strtok_r(words, " ", &rest) : NULL;
	struct err *err = words ? NULL : &err_nomem;

	for (char *var = word; var && !err;)
		if ((var = strtok_r(NULL, " ", &rest)))
			err = vec_add(&vars, var);
	if (!err)
		err = fl_question_ask(s->trace, s->symbols, word ?: "", vars.data,
				      vars.size, 0, seeds, &told);
	vec_deinit(&vars);
	return err;
}

/* Find out which values are right, given that those of --right are. */
static struct err *find_right(struct slicing *s)
{
	const struct arguments *a = s->args;
	const struct fl_slice_options o = { .begin = a->from,
					    .only_told = true,
					    .keeps_instances = true };
	fl_seeds seeds = {};
	struct err *err = NULL;

	for (size_t i = 0; i < a->rights.size && !err; i++)
		err = ask_right(s, a->rights.data[i], &seeds);
	if (!err && a->rights.size)
		err = fl_slice_walk(s->trace, seeds.data, seeds.size, &o, &s->right);
	vec_deinit(&seeds);
	return err;
}

static struct err *make(struct slicing *s)
{
	const struct arguments *a = s->args;
	struct fl_trace_options to = { .end = a->to,
				       .at = fl_question_position(a->at),
				       .progress = cmd_command_show_reading };
	struct fl_slice_options so = a->slice;
	struct err *err = capture_open(a->capture, &s->capture);

	if (!err)
		err = cmd_command_symbols(s->capture, NULL, a->sources, &s->symbols);
	to.symbols = s->symbols;
	if (!err)
		err = fl_trace_create(s->capture, &to, &s->trace);
	so.begin = a->from;
	so.progress = cmd_command_show_way_back;
	if (!err)
		err = ask(s, &so.begin);
	if (!err)
		err = find_right(s);
	so.right = s->right;
	so.max_nodes = FL_NODES_FEW;
	so.prunes = s->prunes.data;
	so.n_prunes = s->prunes.size;
	if (!err)
		err = fl_slice_walk(s->trace, s->seeds.data, s->seeds.size, &so,
				    &s->slice);
	if (err || a->new)
		return err;
	err = fl_view_make(s->slice, s->symbols, capture_info(s->capture)->exe,
			   a->into_libraries, &s->view);
	if (!err && a->has_potential)
		err = fl_potentials_find(s->trace, s->slice, s->seeds.data, s->seeds.size,
					 s->symbols, capture_info(s->capture)->exe,
					 &s->potential);
	return err ?: fl_view_look(&s->view, s->slice, s->trace, s->symbols, LOOKED_AT);
}

/* Write a slice capture, up to behind the latest seed. */
static struct err *write_capture(const struct slicing *s)
{
	const struct arguments *a = s->args;
	struct fl_capture_options o = { .of = a->at, .least = PIECE };
	struct fl_captured ret;
	struct err *err;

	for (size_t i = 0; i < s->seeds.size; i++)
		if (s->seeds.data[i].position >= o.end)
			o.end = s->seeds.data[i].position + 1;
	err = fl_slice_capture(s->trace, s->slice, &o, a->new, &ret);
	if (!err)
		printf("%s: %lu of %lu steps are in the slice, %lu in the capture; %lu "
		       "pieces are left out\n",
		       text_line(a->new), ret.n_slice, ret.n_steps, ret.n_executed,
		       ret.n_pieces);
	return err;
}

static struct err *show(const struct slicing *s)
{
	const struct arguments *a = s->args;
	const struct report_slice r = { .slice = s->slice,
					.view = &s->view,
					.question = &s->question,
					.potential = a->has_potential ? &s->potential :
									NULL,
					.at = a->at,
					.end = fl_trace_end(s->trace),
					.capture = a->capture,
					.symbols = s->symbols,
					.mode = capture_mode(s->capture),
					.max = a->shows_all ? 0 : SHOWN };

	if (a->new)
		return write_capture(s);
	if (a->is_json)
		return report_slice_json(&r, stdout);
	if (a->is_sarif)
		return report_slice_sarif(&r, stdout);
	if (a->html)
		return report_slice_page(&r, a->html);
	if (a->is_dot)
		report_slice_dot(&r, stdout);
	else
		report_slice_text(&r, stdout);
	return NULL;
}

int cmd_slice(int argc, char **argv)
{
	const struct argp argp = { .options = options,
				   .parser = parse,
				   .args_doc = "CAPTURE [VAR...]",
				   .doc = doc };
	struct arguments args = {};
	struct slicing s = { .args = &args };
	_cleanup_free_ char *dir = NULL;
	_cleanup_err_ struct err *err = NULL;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_COULD_NOT;
	err = cmd_command_process(args.capture, args.process, &(const fl_texts){}, &dir);
	if (!err) {
		args.capture = dir;
		err = make(&s);
	}
	cmd_command_show_end();
	if (!err)
		cmd_command_tell_trace(s.capture, s.trace, "the slice knows nothing");
	if (!err)
		err = show(&s);
	if (err)
		fprintf(stderr, "faultline: cannot make a slice: %s\n", err->message);
	slicing_deinit(&s);
	vec_deinit(&args.vars);
	vec_deinit(&args.prunes);
	vec_deinit(&args.rights);
	return err ? EXIT_COULD_NOT : 0;
}
