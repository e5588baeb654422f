// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND look/graph: draw the heap at a time, or step through a stretch of it

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "report/dot.h"
#include "report/page.h"

#define EXIT_COULD_NOT 2
#define MAX_NODES 30

enum {
	KEY_FROM = 256,
	KEY_TO,
	KEY_SVG,
	KEY_DOT,
	KEY_HTML,
	KEY_ALLOCATOR,
	KEY_NO_ALLOCATOR
};

struct arguments {
	const char *capture, *process, *type;
	const char *at, *from, *to;
	const char *svg, *html;
	bool is_dot, with_allocator, without_allocator;
	size_t max_nodes;
	fl_texts specs, functions;
};

static const struct argp_option options[] = {
	{ "at", 'a', "TIME", 0,
	  "when: a number of instructions, END (the default), a function: when it last "
	  "returned, or FILE:LINE: when this line was last reached",
	  0 },
	{ "from", KEY_FROM, "TIME", 0, "with --html: the first moment (the beginning)",
	  0 },
	{ "to", KEY_TO, "TIME", 0, "with --html: the last moment (END)", 0 },
	{ "type", 't', "TYPE", 0, "only nodes of this struct", 0 },
	{ "spec", 's', "FILE", 0,
	  "the types of this specification, and what violates it (may be given again)",
	  0 },
	{ "allocator", KEY_ALLOCATOR, NULL, 0,
	  "not the program's heap, but the allocator's internals: free chunks, the bins and "
	  "caches that they are in, what they were merged or split from",
	  0 },
	{ "internals", KEY_ALLOCATOR, NULL, OPTION_ALIAS, NULL, 0 },
	{ "no-allocator", KEY_NO_ALLOCATOR, NULL, 0,
	  "take no notice of malloc and free: find the nodes by what pointers are derived "
	  "from",
	  0 },
	{ "svg", KEY_SVG, "OUT", 0, "draw into the SVG file OUT (-: stdout)", 0 },
	{ "dot", KEY_DOT, NULL, 0, "write Graphviz text to stdout", 0 },
	{ "html", KEY_HTML, "OUT", 0,
	  "write a page that steps through the stretch (-: to stdout)", 0 },
	{ "nodes", 'n', "N", 0, "boxes at most; what is beyond is folded (30)", 0 },
	{ "process", 'p', "PROCESS", 0,
	  "of a capture made by `record -f', this process: a number or a process id", 0 },
	{ 0 },
};

static const char doc[] =
	"Replay CAPTURE and show its heap: allocations with their fields, pointers with the "
	"time and line at which they were stored. Types are those of the program's debug "
	"information. Without --svg, --dot or --html: how many nodes of which type there "
	"are.\v"
	"Exit status: 0, or 2 when it could not be shown.\n\n"
	"Examples:\n"
	"  faultline graph crash.flt --svg heap.svg\n"
	"  faultline graph crash.flt --at insert --type node --svg insert.svg\n"
	"  faultline graph crash.flt --spec list.spec --from 90000 --to END --html steps.html\n"
	"  faultline graph crash.flt --at 120000 --dot | dot -Tpng >heap.png\n";

/* ---- options -------------------------------------------------------------------------- */

/* @return whether @p text is a number. */
static bool parse_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !errno && end != text && !*end && *text != '-';
}

/* Functions must be watched during the replay. */
static const char *take_time(struct argp_state *state, struct arguments *a,
			     const char *text)
{
	uint64_t number;

	if (strcmp(text, "END") && !parse_number(text, &number))
		cmd_command_push(state, &a->functions, text);
	return text;
}

static void check_options(struct argp_state *state, const struct arguments *a)
{
	if (!!a->svg + a->is_dot + !!a->html > 1)
		argp_error(state, "one of --svg, --dot and --html");
	if ((a->from || a->to) && !a->html)
		argp_error(state, "--from and --to are for --html; else --at");
	if (a->at && a->html)
		argp_error(state, "--html shows a stretch: --from and --to");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'a':
		a->at = take_time(state, a, arg);
		return 0;
	case KEY_FROM:
		a->from = take_time(state, a, arg);
		return 0;
	case KEY_TO:
		a->to = take_time(state, a, arg);
		return 0;
	case 't':
		a->type = arg;
		return 0;
	case 's':
		cmd_command_push(state, &a->specs, arg);
		return 0;
	case KEY_ALLOCATOR:
		a->with_allocator = true;
		return 0;
	case KEY_NO_ALLOCATOR:
		a->without_allocator = true;
		return 0;
	case KEY_SVG:
		a->svg = arg;
		return 0;
	case KEY_DOT:
		a->is_dot = true;
		return 0;
	case KEY_HTML:
		a->html = arg;
		return 0;
	case 'n':
		a->max_nodes = option_number(state, "--nodes", arg, 1, UINT32_MAX);
		return 0;
	case 'p':
		a->process = arg;
		return 0;
	case ARGP_KEY_END:
		check_options(state, a);
		return 0;
	default:
		return option_only(state, key, arg, "capture", &a->capture);
	}
}

/* ---- when ------------------------------------------------------------------------------ */

/* Why a function, or a line, was not reached. */
static struct err *not_reached(const struct fl_analysis *a, const char *text)
{
	const char *why = fl_cpoints_notes(a->cpoints, a->symbols);
	size_t n = strlen(text);

	while (*why && (strncmp(why, text, n) || why[n] != ':'))
		why += strcspn(why, "\n") + 1;
	if (*why)
		why += n + 2;
	else
		why = "it was not reached, or never returned, in this run";
	return err_new(ERR_NOT_FOUND, "cannot show the heap at '%s': %.*s", text,
		       (int)strcspn(why, "\n"), why);
}

static bool is_asked(const char *cpoint, const char *text)
{
	return (!strncmp(cpoint, "return of ", 10) && !strcmp(cpoint + 10, text)) ||
	       (!strncmp(cpoint, "before ", 7) && !strcmp(cpoint + 7, text));
}

/* The heap that is shown, and how far @p text is in it. */
static struct err *find_op(const struct fl_analysis *a, size_t side, const char *text,
			   uint64_t *ret)
{
	const struct hg_graph *g = a->sides[side].graph;
	uint64_t time;

	*ret = hg_graph_ops(g);
	if (!text || strcmp(text, "END") == 0)
		return NULL;
	if (parse_number(text, &time)) {
		*ret = hg_graph_op_after(g, time);
		if (time <= a->run.instructions)
			return NULL;
		return err_new(ERR_RANGE,
			       "cannot show the heap at %s: the run ends after %llu "
			       "instructions (END shows its end)",
			       text, (unsigned long long)a->run.instructions);
	}
	for (size_t i = fl_cpoints_visits(a->cpoints); i-- > 0;) {
		const struct fl_visit *v = fl_cpoints_visit_at(a->cpoints, i);

		if (!is_asked(fl_cpoints_get(a->cpoints, v->cpoint)->name, text))
			continue;
		*ret = side == FL_SIDE_APP ? v->at.app_ops : v->at.chunk_ops;
		return NULL;
	}
	return not_reached(a, text);
}

/* ---- what ------------------------------------------------------------------------------ */

/* Only one type: the others' nodes are as those of no known type. */
static struct err *keep_type(struct fl_analysis *a, size_t side, const char *name,
			     uint32_t *ret)
{
	struct hg_graph *g = a->sides[side].graph;
	int type = name ? spec_type_find(a->spec, name) : -1;
	struct err *err = NULL;

	*ret = type + 1;
	if (!name)
		return NULL;
	if (type < 0)
		return err_new(
			ERR_NOT_FOUND,
			"cannot show '%s': no allocation is of this struct, as far "
			"as the debug information says",
			name);
	for (uint32_t id = 1; !err && id <= hg_graph_nodes(g); id++)
		if (hg_graph_node(g, (struct hg_node_id){ id })->type != *ret)
			err = hg_graph_set_type(g, (struct hg_node_id){ id }, 0);
	return err;
}

static void print_summary(const struct fl_analysis *a, const struct hg_graph *g,
			  const struct hg_view *v, uint64_t time)
{
	printf("after %llu instructions: %llu changes of the heap\n",
	       (unsigned long long)time, (unsigned long long)hg_view_ops(v));
	for (size_t type = 0; type <= spec_types(a->spec); type++) {
		struct hg_node_id id = { 0 };
		unsigned long long n = 0;

		while ((id = hg_view_next(v, 0, id)).v)
			n += hg_graph_node(g, id)->type == type;
		if (n)
			printf("%10llu %s\n", n,
			       type ? spec_type(a->spec, type - 1)->name :
				      "of no known struct");
	}
}

static struct err *draw_moment(struct fl_analysis *a, const struct arguments *args,
			       size_t side, uint64_t n_ops)
{
	const struct hg_graph *g = a->sides[side].graph;
	_cleanup_(spec_eval_destroyp) struct spec_eval *eval = NULL;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	uint64_t time = n_ops < hg_graph_ops(g) && n_ops ?
				hg_graph_op(g, n_ops - 1).time :
				a->run.instructions;
	spec_violations violations = {};
	struct err *err = hg_view_create(g, n_ops, &v);
	char title[128];
	struct fl_picture p = {
		.namer = &a->sides[side].namer,
		.title = title,
		.internals = side == FL_SIDE_CHUNKS ? &a->internals : NULL,
		.max_nodes = args->max_nodes ? args->max_nodes : MAX_NODES,
		.mode = capture_mode(a->capture),
	};

	if (!err && spec_constraints(a->spec)) {
		err = spec_eval_create(a->spec, g, v, &eval);
		if (!err)
			err = spec_check(eval, 0, &violations);
	}
	if (err)
		return err;
	snprintf(title, sizeof(title), "the heap after %llu instructions",
		 (unsigned long long)time);
	p.view = v;
	p.violations = violations.data;
	p.n_violations = violations.size;
	if (args->svg)
		err = report_dot_draw_svg(&p, args->svg);
	else if (args->is_dot)
		err = report_dot_write(&p, stdout);
	else
		print_summary(a, g, v, time);
	vec_deinit(&violations);
	return err;
}

static struct err *write_page(struct fl_analysis *a, const struct arguments *args,
			      size_t side, uint32_t type)
{
	struct fl_page p = { .namer = &a->sides[side].namer,
			     .title = args->capture,
			     .type = type,
			     .mode = capture_mode(a->capture),
			     .is_checked = spec_constraints(a->spec),
			     .symbols = a->symbols,
			     .cpoints = a->cpoints,
			     .is_of_chunks = side == FL_SIDE_CHUNKS,
			     .with_progress = isatty(STDERR_FILENO) };
	uint64_t n_left_out;
	struct err *err = NULL;

	if (args->from)
		err = find_op(a, side, args->from, &p.from_op);
	if (!err)
		err = find_op(a, side, args->to, &p.to_op);
	if (!err && p.from_op > p.to_op)
		err = err_new(ERR_RANGE, "cannot show a stretch: '%s' is behind '%s'",
			      args->from, args->to ? args->to : "END");
	if (!err)
		err = report_page_write(&p, args->html, &n_left_out);
	if (!err && n_left_out)
		log_note("the first %llu changes are not in the page (it holds %d): "
			 "choose with --from",
			 (unsigned long long)n_left_out, FL_PAGE_OPS);
	return err;
}

static struct err *graph(const struct arguments *args)
{
	const struct fl_options o = {
		.capture = args->capture,
		.specs = args->specs.data,
		.n_specs = args->specs.size,
		.cpoints = args->functions.data,
		.n_cpoints = args->functions.size,
		.with_progress = isatty(STDERR_FILENO),
		.is_heap_only = true,
		.with_allocator = args->with_allocator,
		.without_allocator = args->without_allocator,
	};
	size_t side = args->with_allocator ? FL_SIDE_CHUNKS : FL_SIDE_APP;
	_cleanup_(fl_analysis_deinit) struct fl_analysis a = {};
	struct err *err = fl_analysis_run(&o, &a);
	uint64_t n_ops;
	uint32_t type;

	if (a.spec && spec_diags(a.spec))
		spec_diags_print(a.spec, stderr);
	for (size_t i = 0; i < a.notes.size; i++)
		log_note("%s", a.notes.data[i]);
	if (!err)
		err = keep_type(&a, side, args->type, &type);
	if (!err && args->html)
		return write_page(&a, args, side, type);
	if (!err)
		err = find_op(&a, side, args->at, &n_ops);
	return err ? err : draw_moment(&a, args, side, n_ops);
}

int cmd_graph(int argc, char **argv)
{
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "CAPTURE", .doc = doc
	};
	struct arguments args = {};
	_cleanup_free_ char *dir = NULL;
	_cleanup_err_ struct err *err = NULL;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_COULD_NOT;
	err = cmd_command_process(args.capture, args.process, &args.specs, &dir);
	if (!err) {
		args.capture = dir;
		err = graph(&args);
	}
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	vec_deinit(&args.specs);
	vec_deinit(&args.functions);
	return err ? EXIT_COULD_NOT : 0;
}
