// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND find/report: one page: what happened, what is wrong, and where that came from

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/option.h"
#include "cmd/report_int.h"
#include "confine/confine.h"
#include "report/serve.h"

#define EXIT_COULD_NOT 2
#define TOLD 4	      // slices that are made
#define MOMENTS 3000  // of each
#define LOOKED_AT 400 // statements
#define EVENTS 4000   // of the time line
#define NAMED 200     // links of inputs
#define QUICK        \
	(UINT64_C(1) \
	 << 28)		  // instructions: all of a run are gone back over for each story
#define HEAP_CHANGES 3000 // of the heap's history, its last
#define CHECKPOINTS 56	  // of a run that is served, equally far apart
#define AFFORDED (UINT64_C(1) << 30) // bytes of these: somebody waits for the answers

enum { KEY_SOURCES = 256, KEY_WITH, KEY_SERVE };

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0,
	  "write the page to OUT (-, or when it is not given: to stdout, which may be no "
	  "terminal)",
	  0 },
	{ "spec", 's', "FILE", 0,
	  "also ask for what the specification FILE says of data structures (may be given "
	  "again)",
	  0 },
	{ "sources", KEY_SOURCES, "DIR", 0,
	  "the program's sources are below DIR; otherwise lines are shown where the program "
	  "itself lies here as it was recorded, and its owner may read them",
	  0 },
	{ "with", KEY_WITH, "RESULT", 0,
	  "also show what `faultline suppress --json CAPTURE' or `faultline rank --json' "
	  "printed into the file RESULT (may be given again)",
	  0 },
	{ "serve", KEY_SERVE, "PORT", OPTION_ARG_OPTIONAL,
	  "write no file, but serve the page to browsers of this machine at PORT, or one that is "
	  "free, until interrupted; any moment of the run can then be looked at, not only those of "
	  "stories. Its address is printed: whoever knows it may read the capture",
	  0 },
	{ "process", 'p', "PROCESS", 0,
	  "of a capture made by `record -f', this process: a number or a process id", 0 },
	{ 0 },
};

static const char doc[] =
	"Find out about CAPTURE all that can be without being told more, and write one page "
	"that shows it and needs nothing else: how the run ended, what is wrong, and for each "
	"of that its story: the statements that made it so, from one to the next, back to the "
	"bytes of the input; the heap, and a time line.\v"
	"Exit status: 0, or 2 when there is no page.\n\n"
	"Examples:\n"
	"  faultline report crash.flt -o crash.html\n"
	"  faultline report crash.flt --spec list.spec -o crash.html\n"
	"  faultline report crash.flt --with suppressed.json -o crash.html\n"
	"  faultline report crash.flt --serve\n"
	"  faultline report crash.flt -o - | ssh host 'cat >crash.html'\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_options *a = state->input;

	switch (key) {
	case 'o':
		a->out = arg;
		return 0;
	case 's':
		cmd_command_push(state, &a->specs, arg);
		return 0;
	case KEY_WITH:
		cmd_command_push(state, &a->results, arg);
		return 0;
	case 'p':
		a->process = arg;
		return 0;
	case KEY_SOURCES:
		a->sources = arg;
		return 0;
	case KEY_SERVE:
		a->serves = true;
		if (arg)
			a->port = option_number(state, "--serve", arg, 1, UINT16_MAX);
		return 0;
	case ARGP_KEY_END:
		if (a->serves && a->out)
			argp_error(state, "-o writes a page, --serve serves one");
		if (!a->serves && !a->out && isatty(STDOUT_FILENO))
			argp_error(state, "-o says where the page is to be written");
		a->out = a->out ?: "-";
		// Results of others are put into it as JSON.
		text_guard_json();
		return option_only(state, key, arg, "capture", &a->capture);
	default:
		return option_only(state, key, arg, "capture", &a->capture);
	}
}

/* ---- what is found out -------------------------------------------------------------------- */

static void told_deinit(struct report_told *t)
{
	fl_view_deinit(&t->view);
	fl_slice_destroy(t->slice);
	fl_inputs_deinit(&t->inputs);
	free(t->at);
}

static void reporting_deinit(struct reporting *r)
{
	for (size_t i = 0; i < r->told.size; i++)
		told_deinit(&r->told.data[i]);
	vec_deinit(&r->told);
	for (size_t i = 0; i < r->results.size; i++)
		report_result_deinit(&r->results.data[i]);
	vec_deinit(&r->results);
	fl_sources_deinit(&r->sources);
	vec_deinit(&r->strings);
	vec_deinit(&r->prunes);
	vec_deinit(&r->events);
	lines_deinit(&r->notes);
	fl_trace_destroy(r->trace);
	dec_written_destroy(r->written);
	dec_machine_destroy(r->machine);
	dec_symbols_destroy(r->symbols);
	vec_deinit(&r->maps);
	vec_deinit(&r->findings);
	fl_analysis_deinit(&r->heap);
	fl_analysis_deinit(&r->analysis);
	fl_check_destroy(r->rules);
	capture_close(r->capture);
}

/* What part of it fails is said on the page, and does without. */
static struct err *do_without(struct reporting *r, const char *what, struct err *err)
{
	struct err *full = NULL;

	if (!err || err == &err_nomem)
		return err;
	full = lines_add(&r->notes, "%s: %s", what, err->message);
	err_destroy(err);
	return full;
}

/* Before long work: a wrong name is told at once. */
static struct err *read_results(struct reporting *r)
{
	struct err *err = NULL;

	for (size_t i = 0; i < r->args->results.size && !err; i++) {
		struct report_result result = {};

		err = report_result_read(r->args->results.data[i], &result);
		if (!err && vec_add(&r->results, result)) {
			report_result_deinit(&result);
			err = &err_nomem;
		}
	}
	return err;
}

/* What is told of positions behind the end is of another run. */
static struct err *are_of_this(struct reporting *r)
{
	for (size_t i = 0; i < r->results.size; i++)
		if (report_result_last(&r->results.data[i]) > r->end)
			return err_new(ERR_FORMAT,
				       "cannot show '%s' with '%s': it is of another run",
				       r->args->results.data[i], r->args->capture);
	return NULL;
}

/* What is wrong: at its end, and what specifications do not allow; with @p rules what these do not, which takes
 * long. */
static struct err *analyze_by(struct reporting *r, struct fl_check *rules)
{
	size_t n_known;
	struct fl_options o = { .capture = r->args->capture,
				.specs = r->args->specs.data,
				.n_specs = r->args->specs.size,
				.sources = r->args->sources,
				.with_progress = r->with_progress,
				.with_inference = r->args->specs.size > 0,
				.with_accesses = rules != NULL,
				.check = rules,
				.may_be_fine = true };
	struct err *err = fl_analysis_run(&o, &r->analysis);

	if (r->analysis.spec && spec_diags(r->analysis.spec))
		spec_diags_print(r->analysis.spec, stderr);
	if (err || !rules)
		return err;
	return report_findings_list(&r->analysis, NULL, &r->findings, &n_known);
}

static struct err *analyze_quickly(struct reporting *r)
{
	return analyze_by(r, NULL);
}

struct err *cmd_report_analyze(struct reporting *r)
{
	const struct fl_check_options all = {};
	struct err *err = fl_check_create(&all, &r->rules);

	return err ?: analyze_by(r, r->rules);
}

/* Where it takes long, somebody who watches is told what is being done, and how far it is. */
void cmd_report_show(const struct reporting *r, const char *what)
{
	if (r->doing && *what)
		snprintf(r->doing, DOING, "%s", what);
	if (r->with_progress)
		fprintf(stderr, TEXT_AGAIN "%s%s", *what ? "faultline: report: " : "",
			what);
}

/* Forward or back. Of how long what is left will take, that says little: what is wanted changes. */
static void show_way(void *ctx, uint64_t position)
{
	const struct reporting *r = ctx;

	if (r->with_progress)
		fprintf(stderr,
			TEXT_AGAIN "faultline: report: where it came from: back at "
				   "instruction %lu of %lu million",
			position / 1000000, r->end / 1000000);
}

struct err *cmd_report_trace(struct reporting *r)
{
	struct fl_trace_options o = {};
	struct err *err = NULL;

	if (!r->symbols)
		err = cmd_command_symbols(r->capture, NULL, r->args->sources,
					  &r->symbols);
	o.symbols = r->symbols;
	if (!err)
		err = fl_trace_create(r->capture, &o, &r->trace);
	if (err)
		return err;
	r->end = fl_trace_end(r->trace)->position;
	err = are_of_this(r);
	return err ?: fl_question_cut_linker(r->trace, r->symbols, &r->prunes);
}

/* ---- stories --------------------------------------------------------------------------------- */

static struct err *seeds_of(struct reporting *r, struct report_told *t, fl_seeds *seeds)
{
	return fl_question_ask(r->trace, r->symbols, t->at, NULL, 0, 0, seeds,
			       &t->question);
}

/* The moments of @p t. Those that are shown are the nearest of its latest million instances. */
static struct err *find_moments(struct reporting *r, struct report_told *t,
				const fl_seeds *seeds)
{
	struct fl_slice_options o = { .prunes = r->prunes.data,
				      .n_prunes = r->prunes.size,
				      .ends_when_full = true,
				      .keeps_sharers = true,
				      .progress = show_way,
				      .ctx = r };
	const char *exe = capture_info(r->capture)->exe;
	struct err *err;

	do {
		fl_view_deinit(&t->view);
		fl_slice_destroy(take_ptr(&t->slice));
		t->view = (struct fl_view){ .most_moments = MOMENTS };
		err = fl_slice_walk(r->trace, seeds->data, seeds->size, &o, &t->slice);
		if (!err)
			err = fl_view_make(t->slice, r->symbols, exe, false, &t->view);
		o.ends_when_full = !o.ends_when_full;
	} while (!err && !o.ends_when_full && fl_slice_stats(t->slice)->begin &&
		 t->view.moments.size < MOMENTS);
	return err;
}

/* Tell of @p t, which was asked for. */
struct err *cmd_report_tell(struct reporting *r, struct report_told *t)
{
	fl_seeds seeds = {};
	struct err *err = seeds_of(r, t, &seeds);

	if (!err)
		err = find_moments(r, t, &seeds);
	if (!err)
		err = fl_view_look(&t->view, t->slice, r->trace, r->symbols, LOOKED_AT);
	vec_deinit(&seeds);
	return err;
}

/* One more that is told of, at last; of which nothing is known. */
struct err *cmd_report_ask(struct reporting *r, const char *at)
{
	struct report_told t = { .at = strdup(at) };
	struct err *err = t.at ? vec_add(&r->told, t) : &err_nomem;

	if (err)
		free(t.at);
	return err;
}

static struct err *ask_and_tell(struct reporting *r, const char *at, const char *missed)
{
	struct err *err = cmd_report_ask(r, at);
	struct report_told *t;

	if (err)
		return err;
	t = &r->told.data[r->told.size - 1];
	err = cmd_report_tell(r, t);
	if (err) {
		told_deinit(t);
		r->told.size--;
	}
	return do_without(r, missed, err);
}

/** Something wrong at a position. */
struct wrong {
	uint64_t position;
	uint64_t rip; ///< of the statement; 0: it is no other's
};
typedef VEC(struct wrong) wrongs;

/* What a specification does not allow, then what rules do not; of each statement once. */
static struct err *list_wrongs(const struct reporting *r, wrongs *ret)
{
	struct map known = {};
	wrongs all = {};
	struct err *err = NULL;

	for (size_t i = 0; i < r->analysis.faults.size && !err; i++)
		err = vec_add(&all,
			      (struct wrong){ .position =
						      r->analysis.faults.data[i].time });
	// Errors before what may be one.
	for (int is_error = 1; is_error >= 0; is_error--)
		for (size_t i = 0; i < r->findings.size && !err; i++) {
			const struct report_finding *f = &r->findings.data[i];

			if (report_finding_is_error(&r->analysis, f) == is_error)
				err = vec_add(&all,
					      (struct wrong){ f->time,
							      report_finding_rip(f) });
		}
	for (size_t i = 0; i < all.size && !err; i++) {
		if (all.data[i].position >= r->end ||
		    (all.data[i].rip && map_get(&known, all.data[i].rip)))
			continue;
		err = map_put(&known, all.data[i].rip, 1) ? &err_nomem :
							    vec_add(ret, all.data[i]);
	}
	vec_deinit(&all);
	map_deinit(&known);
	return err;
}

/* Of the end, and of what is wrong, the first of it. */
static struct err *tell_all(struct reporting *r)
{
	wrongs w = {};
	struct err *err = list_wrongs(r, &w);

	if (!err && capture_info(r->capture)->end == CAP_END_SIGNAL)
		err = ask_and_tell(r, "crash", "the story of the end");
	for (size_t i = 0; i < w.size && r->told.size < TOLD && !err; i++) {
		char at[24];

		snprintf(at, sizeof(at), "%lu", w.data[i].position);
		err = ask_and_tell(r, at, "a story");
	}
	vec_deinit(&w);
	return err;
}

/* ---- inputs, events, heap ---------------------------------------------------------------------- */

static struct err *find_inputs(struct reporting *r, struct report_told *t)
{
	struct fl_inputs_options o = { .prunes = r->prunes.data,
				       .n_prunes = r->prunes.size,
				       .strings = r->strings.data,
				       .n_strings = r->strings.size,
				       .progress = show_way,
				       .ctx = r };
	fl_seeds seeds = {};
	struct err *err = seeds_of(r, t, &seeds);

	if (!err)
		err = fl_inputs_walk(r->trace, &r->sources, seeds.data, seeds.size, &o,
				     &t->inputs);
	if (!err)
		err = fl_inputs_name(&t->inputs, r->trace, r->symbols, NAMED);
	t->has_inputs = !err;
	vec_deinit(&seeds);
	return err;
}

struct err *cmd_report_inputs(struct reporting *r)
{
	struct err *err = r->told.size ? fl_sources_read(r->capture, &r->sources) : NULL;

	if (!err && r->told.size)
		err = fl_inputs_strings(r->trace, r->symbols, &r->strings);
	for (size_t i = 0; i < r->told.size && (!i || r->end < QUICK) && !err; i++)
		err = find_inputs(r, &r->told.data[i]);
	return err;
}

static struct err *note_event(void *ctx, const struct dec_trapped *t)
{
	struct reporting *r = ctx;

	r->is_cut = r->events.size >= EVENTS;
	return r->is_cut ? NULL : vec_add(&r->events, *t);
}

static const struct dec_trap events[] = {
	{ .on = DEC_TRAP_SYSCALL, .number = -1 },
	{ .on = DEC_TRAP_SIGNAL },
	{ .on = DEC_TRAP_SWITCH },
};

enum { EVENT_KINDS = sizeof(events) / sizeof(*events) };

static struct err *find_events(struct reporting *r)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	struct dec_where w;
	struct err *err = dec_machine_seek(m, 0, &w);

	return err   ?:
		       dec_machine_forward_each(m, events, EVENT_KINDS, r->end,
						note_event, r);
}

/* A machine that will show any moment, with checkpoints on its way; and on that way what find_events()
 * finds. */
static struct err *run_once(struct reporting *r)
{
	const struct dec_machine_options o = { .output_fd = -1,
					       .mapped = cmd_command_note_map,
					       .ctx = &r->maps };
	uint64_t part = r->analysis.run.instructions / (CHECKPOINTS + 1);
	struct err *err = dec_machine_create(r->capture, &o, &r->machine);
	struct dec_where w;

	if (!err)
		dec_machine_afford(r->machine, AFFORDED);
	if (!err)
		err = dec_machine_checkpoint(r->machine);
	for (uint64_t i = 1; i <= CHECKPOINTS && part && !err; i++) {
		err = dec_machine_forward_each(r->machine, events, EVENT_KINDS, i * part,
					       note_event, r);
		if (!err)
			err = dec_machine_checkpoint(r->machine);
	}
	if (!err)
		err = dec_machine_forward_each(r->machine, events, EVENT_KINDS,
					       UINT64_MAX >> 1, note_event, r);
	if (!err)
		err = dec_machine_run(r->machine, UINT64_MAX >> 1, &w);
	r->end = err ? 0 : w.position;
	return err   ?:
		       cmd_command_symbols(r->capture, &r->maps, r->args->sources,
					   &r->symbols);
}

static struct err *find_writes(struct reporting *r)
{
	return dec_written_create(r->machine, r->end, &r->written);
}

static struct err *find_heap(struct reporting *r)
{
	const struct fl_options o = { .capture = r->args->capture,
				      .specs = r->args->specs.data,
				      .n_specs = r->args->specs.size,
				      .sources = r->args->sources,
				      .is_heap_only = true };

	return fl_analysis_run(&o, &r->heap);
}

/** What is found out: what it is called can be missing. */
struct step {
	struct err *(*find)(struct reporting *r);
	const char *is_shown_as, *is_missed_as;
};

static struct err *find(struct reporting *r, const struct step *steps)
{
	struct err *err = read_results(r);

	if (!err)
		err = capture_open(r->args->capture, &r->capture);
	for (; steps->find && !err; steps++) {
		cmd_report_show(r, steps->is_shown_as);
		err = steps->find(r);
		if (steps->is_missed_as)
			err = do_without(r, steps->is_missed_as, err);
	}
	cmd_report_show(r, "");
	return err;
}

static struct err *find_all(struct reporting *r)
{
	static const struct step steps[] = {
		{ cmd_report_analyze, "what is wrong", NULL },
		{ cmd_report_trace, "what ran", NULL },
		{ tell_all, "where it came from", NULL },
		{ cmd_report_inputs, "which inputs had a part", "the inputs" },
		{ find_events, "when it was", "the time line" },
		{ find_heap, "the heap", "the heap" },
		{}
	};

	return find(r, steps);
}

/* What a person sees first. The rest is found out when it is asked for: find_later(). */
static struct err *find_first(struct reporting *r)
{
	static const struct step steps[] = {
		{ analyze_quickly, "how it ended, and the heap", NULL },
		{ run_once, "what ran", NULL },
		{ find_writes, "what was written when", NULL },
		{ are_of_this, "what others found", NULL },
		{}
	};

	return find(r, steps);
}

/* ---- the page ------------------------------------------------------------------------------------ */

struct err *cmd_report_compose(struct reporting *r, struct composed *c)
{
	// Whoever looks at each access has no history of the heap besides.
	const struct fl_analysis *h = r->args->serves ? &r->analysis : &r->heap;
	struct hg_graph *graph = h->sides[FL_SIDE_APP].graph;
	struct err *err = NULL;

	c->inputs = (struct report_inputs){ .sources = &r->sources,
					    .roles = FL_ROLE_DERIVED | FL_ROLE_CONTROL |
						     FL_ROLE_ADDRESS,
					    .symbols = r->symbols,
					    .capture = r->args->capture };
	c->heap = (struct fl_page){ .namer = &h->sides[FL_SIDE_APP].namer,
				    .title = "the heap",
				    .to_op = graph ? hg_graph_ops(graph) : 0,
				    .symbols = h->symbols,
				    .cpoints = h->cpoints,
				    .is_checked = r->args->specs.size > 0 };
	c->story = (struct report_story){ .analysis = &r->analysis,
					  .findings = r->rules ? &r->findings : NULL,
					  .capture = r->args->capture,
					  .symbols = r->symbols,
					  .told = &r->told,
					  .inputs = &c->inputs,
					  .events = r->events.data,
					  .n_events = r->events.size,
					  .is_cut = r->is_cut,
					  .end = r->end,
					  .heap = c->heap.to_op ? &c->heap : NULL,
					  .is_served = r->args->serves,
					  .results = &r->results,
					  .notes = &r->notes,
					  .mode = capture_mode(r->capture) };
	if (c->heap.to_op > HEAP_CHANGES && !r->args->serves)
		c->heap.from_op = c->heap.to_op - HEAP_CHANGES;
	if (r->is_cut)
		err = lines_add(&r->notes,
				"the time line has the first %d calls, signals and "
				"switches alone",
				EVENTS);
	for (size_t i = 0; i < r->analysis.notes.size && !err; i++)
		err = lines_add(&r->notes, "%s", r->analysis.notes.data[i]);
	return err;
}

/* ---- the command ------------------------------------------------------------------------------ */

static struct report_options arguments; ///< of the confined process, too: it is a fork

/* In a process that may read, and nothing else. */
static int run(int argc, char **argv)
{
	struct report_options *a = &arguments;
	struct reporting r = { .args = a, .with_progress = isatty(STDERR_FILENO) };
	_cleanup_free_ char *dir = NULL;
	_cleanup_err_ struct err *err = NULL;
	struct report_door door = { .port = a->port };
	struct composed c;
	pid_t waiting = 0;

	(void)argc, (void)argv;
	if (a->serves)
		err = report_serve_check();
	if (!err && a->serves)
		err = cmd_report_let_in(&r, &door, &waiting);
	if (!err)
		err = cmd_command_process(a->capture, a->process, &a->specs, &dir);
	if (!err) {
		a->capture = dir;
		err = a->serves ? find_first(&r) : find_all(&r);
	}
	if (!err)
		err = cmd_report_compose(&r, &c);
	report_serve_end_waiting(waiting, r.doing);
	if (!err)
		err = a->serves ? cmd_report_serve(&r, &door, &c) :
				  report_story_write(&c.story, a->out);
	if (err)
		fprintf(stderr, "faultline: cannot make a report: %s\n", err->message);
	reporting_deinit(&r);
	return err ? EXIT_COULD_NOT : 0;
}

int cmd_report(int argc, char **argv)
{
	static const char *const files[] = { "o", "output", NULL };
	static const struct confine_outputs outputs = { .files = files };
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "CAPTURE", .doc = doc
	};
	struct err *err = NULL;
	int status = EXIT_COULD_NOT;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments))
		return EXIT_COULD_NOT;
	if (arguments.serves)
		err = cmd_report_listen(&arguments.port, &arguments.listener);
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	else
		status = confine_command(run, argc, argv, &outputs);
	err_destroy(err);
	vec_deinit(&arguments.specs);
	vec_deinit(&arguments.results);
	return status;
}
