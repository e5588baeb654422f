// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND find/linear: was each operation as if it happened at one instant?

#include <cjson/cJSON.h>
#include <string.h>
#include <sys/stat.h>

#include "base/option.h"
#include "cmd/command.h"
#include "cmd/structure.h"
#include "faultlocate/linear/explore.h"
#include "faultlocate/linear/recorded.h"

int cmd_linear(int argc, char **argv);

enum { EXIT_LINEAR, EXIT_NOT_LINEAR, EXIT_COULD_NOT };
enum {
	OPT_OBJECT = 256,
	OPT_JSON,
	OPT_MOST,
	OPT_PAIRS,
	OPT_OPERATIONS,
	OPT_DERIVED,
	OPT_EXPLAIN,
	OPT_SVG
};
enum { SHOWN = 40, COLUMNS = 48 }; ///< operations of a witness; of its picture

struct linear_options {
	const char *subject, *object, *process, *derived, *svg;
	FILE *talk; ///< for people
	bool as_json, with_pairs, explains;
	size_t most;
	unsigned operations;
	VEC(const char *) files;
};

/* What is asked, and what came of it. */
struct linear {
	const struct linear_options *o;
	struct spec *spec; ///< of the object's file; NULL: it is built in
	struct fl_lin_object object;
	const struct spec_object *written;
	struct fl_lin_history history;
	struct fl_lin_recorded recorded;
	bool is_capture;
	struct fl_lin_verdict verdict;
	double seconds;
};

static const struct argp_option options[] = {
	{ "object", OPT_OBJECT, "FILE|NAME", 0,
	  "What it must be like: a file of doc/linear.md, or register, counter, set, map, "
	  "queue, stack, priority-queue, mutex",
	  0 },
	{ "process", 'p', "N", 0, "Of a capture of several processes: this one", 0 },
	{ "most", OPT_MOST, "N", 0,
	  "Give up where more than N configurations are possible at once (1048576); of structures, after "
	  "N states of executions (2000000)",
	  0 },
	{ "pairs", OPT_PAIRS, NULL, 0,
	  "Of structures: print which sub-operations can follow one another and change places, "
	  "and why not",
	  0 },
	{ "operations", OPT_OPERATIONS, "N", 0,
	  "Of structures: execute up to N operations (2 to 5) at once, proof or none; without it 3, or 4 "
	  "where that can be done, where there is no proof",
	  0 },
	{ "explain", OPT_EXPLAIN, NULL, 0,
	  "Of structures: print of each two sub-operations that cannot change places what is in "
	  "the way",
	  0 },
	{ "svg", OPT_SVG, "FILE", 0,
	  "Of a structure that is broken, or not proven: write a picture of the interleaving to FILE",
	  0 },
	{ "derived", OPT_DERIVED, "FILE", 0,
	  "Of structures: take from FILE what was derived of them before, and write to it what "
	  "was not",
	  0 },
	{ "json", OPT_JSON, NULL, 0, "Print the result as one JSON object", 0 },
	{ 0 },
};

/* One history of an object; or structures, without one. */
static void check_usage(struct argp_state *state, struct linear_options *o)
{
	if (!o->files.size)
		argp_error(state, "which capture, history or structure?");
	else if (o->object && o->files.size > 1)
		argp_error(state, "one capture or history at a time, not '%s' too",
			   o->files.data[1]);
	else if (o->object &&
		 (o->with_pairs || o->operations || o->derived || o->explains || o->svg))
		argp_error(
			state,
			"--pairs, --operations and --derived are for structures, which have no "
			"--object");
	else if (o->svg && o->files.size > 1)
		argp_error(state, "--svg is for one structure at a time, not '%s' too",
			   o->files.data[1]);
	else if (!o->object && o->process)
		argp_error(state, "which object? (--object queue, or a file)");
	else
		o->subject = o->files.data[0];
	o->talk = option_talk(state, (const char *const[]){ o->svg }, 1, o->as_json);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct linear_options *o = state->input;
	char *end;

	switch (key) {
	case OPT_OBJECT:
		o->object = arg;
		return 0;
	case 'p':
		o->process = arg;
		return 0;
	case OPT_MOST:
		o->most = strtoul(arg, &end, 10);
		if (*end || !o->most || o->most > UINT32_MAX / 4)
			argp_error(state, "--most takes a number from 1 to %u, not '%s'",
				   UINT32_MAX / 4, arg);
		return 0;
	case OPT_JSON:
		o->as_json = true;
		text_guard_json();
		return 0;
	case OPT_DERIVED:
		o->derived = arg;
		return 0;
	case OPT_EXPLAIN:
		o->explains = true;
		return 0;
	case OPT_SVG:
		o->svg = arg;
		return 0;
	case OPT_PAIRS:
		o->with_pairs = true;
		return 0;
	case OPT_OPERATIONS:
		o->operations = (unsigned)strtoul(arg, &end, 10);
		if (*end || o->operations < 2 || o->operations > LIN_MOST_INSTANCES)
			argp_error(state,
				   "--operations takes a number from 2 to %d, not '%s'",
				   LIN_MOST_INSTANCES, arg);
		return 0;
	case ARGP_KEY_ARG:
		return vec_add(&o->files, arg) ? ENOMEM : 0;
	case ARGP_KEY_END:
		check_usage(state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "--object FILE|NAME CAPTURE|HISTORY\nSTRUCTURE...",
	.doc = "Ask of the calls and returns of an object's operations whether there is an order of "
	       "them, one behind the other, that the object allows and that keeps the order of those "
	       "that do not overlap (linearizability). Of a capture, a file says which functions are "
	       "operations; a history is a file of calls and returns, in lines or EDN. Without --object, of structures "
	       "as they are written, a sub-operation a step: prove that there is such an order in "
	       "every execution, or show one in which there is none. All of it: doc/linear.md.\v"
	       "Exit status: 0 there is an order, 1 there is none, 2 that is not known.\n\n"
	       "Examples:\n"
	       "  faultline linear --object queue.obj crash.flt\n"
	       "  faultline linear --object register history.edn\n"
	       "  faultline linear --object map --json history.txt | jq .witness\n"
	       "  faultline linear queue.steps\n",
};

/* ---- what is asked ------------------------------------------------------------------------- */

static struct err *take_object(struct linear *l)
{
	const char *name = l->o->object;
	struct err *err;

	if (fl_lin_object_find(name, &l->object))
		return NULL;
	err = spec_create(&l->spec);
	if (!err)
		err = spec_add_objects(l->spec, name);
	if (err)
		return err;
	spec_diags_print(l->spec, stderr);
	if (spec_errors(l->spec))
		return err_new(ERR_SPEC, "'%s' has mistakes", name);
	if (spec_objects(l->spec) != 1)
		return err_new(ERR_SPEC, "'%s' has %zu objects, not one", name,
			       spec_objects(l->spec));
	l->written = spec_object(l->spec, 0);
	if (!fl_lin_object_take(l->written, &l->object))
		return err_new(
			ERR_SPEC,
			"%s: there is no object '%s': register, counter, set, map, queue, "
			"stack, priority-queue, mutex, or one with '{ OPERATION .. }'",
			name, l->written->name);
	return NULL;
}

static void tell_recorded(const struct linear *l)
{
	const struct fl_lin_recorded *r = &l->recorded;

	for (size_t i = 0; i < r->missing.size; i++)
		log_note("the program has no function '%s'", r->missing.data[i]);
	for (size_t i = 0; i < r->inlined.size; i++)
		log_note("'%s' is inlined in places: calls there are not seen",
			 r->inlined.data[i]);
	if (r->n_nested)
		log_note(
			"%lu calls below another operation of their thread are part of it",
			r->n_nested);
	if (r->n_unmatched)
		log_note(
			"%lu returns are left out, of which no CALL says what they are (of %s)",
			r->n_unmatched, r->first_unmatched);
	if (r->n_unknown)
		log_note(
			"%lu calls are left out that did not return, of what is not known",
			r->n_unknown);
	if (!r->has_matched)
		log_note(
			"the replay ends early: %s; what came later is not in the history",
			r->divergence);
}

static struct err *take_capture(struct linear *l)
{
	_cleanup_free_ char *dir = NULL;
	struct capture *c = NULL;
	struct err *err;

	if (!l->written || !l->written->n_calls)
		return err_new(
			ERR_USAGE,
			"which functions are its operations? write a file with CALLs for "
			"--object (doc/linear.md)");
	l->is_capture = true;
	err = cmd_command_process(l->o->subject, l->o->process, &(fl_texts){}, &dir);
	if (!err)
		err = capture_open(dir, &c);
	if (!err)
		err = fl_lin_history_record(c, l->written, &l->object, &l->history,
					    &l->recorded);
	capture_close(c);
	if (err)
		return err;
	tell_recorded(l);
	return l->history.ops.size ?
		       NULL :
		       err_new(ERR_NOT_FOUND,
			       "none of the functions was called: nothing was checked");
}

static struct err *rest(struct fl_lin_history *h, void *of)
{
	const struct linear *l = of;

	return fl_lin_check_rest(&l->object, h, l->o->most);
}

static struct err *take_history(struct linear *l)
{
	struct stat st;

	if (!stat(l->o->subject, &st) && S_ISDIR(st.st_mode))
		return take_capture(l);
	l->history.rest = rest;
	l->history.rest_of = l;
	return fl_lin_history_read(l->o->subject, &l->object, &l->history);
}

/* ---- for people ------------------------------------------------------------------------------- */

static const struct fl_lin_op *shown(const struct linear *l, size_t i)
{
	return &l->history.ops.data[l->verdict.witness.data[i]];
}

/* How many moments of what is shown come before @p moment. */
static unsigned column(const struct linear *l, size_t n, uint64_t moment)
{
	unsigned before = 0;

	for (size_t i = 0; i < n; i++) {
		before += shown(l, i)->call < moment;
		before += shown(l, i)->end < moment;
	}
	return before;
}

/* `  thread 17  enqueue(5)    |-----|      at 1200 to 1300` */
static void print_op(const struct linear *l, size_t i, size_t n, unsigned last)
{
	const struct fl_lin_op *op = shown(l, i);
	unsigned from = column(l, n, op->call) * COLUMNS / (last + 1);
	unsigned to = op->end == LIN_PENDING ?
			      COLUMNS :
			      column(l, n, op->end) * COLUMNS / (last + 1);
	char text[96], who[32], picture[COLUMNS + 2];

	for (unsigned k = 0; k <= COLUMNS; k++)
		picture[k] = k < from || k > to		       ? ' ' :
			     k == from			       ? '|' :
			     k == to && op->end != LIN_PENDING ? '|' :
								 '-';
	picture[COLUMNS + 1] = 0;
	printf("  %-8s %-28s %s ",
	       fl_lin_value_name(&l->history.values, op->process, who, sizeof(who)),
	       fl_lin_op_text(&l->object, &l->history.values, op, text, sizeof(text)),
	       picture);
	printf(op->end == LIN_PENDING ? "%s %lu, did not return" : "%s %lu to %lu",
	       l->is_capture ? "at" : "line", op->call_at, op->end_at);
	putchar('\n');
}

static void print_witness(const struct linear *l)
{
	size_t n = l->verdict.witness.size, from = n > SHOWN ? n - SHOWN : 0;
	unsigned last = 0;

	for (size_t i = 0; i < n; i++)
		last += 1 + (shown(l, i)->end != LIN_PENDING);
	if (!l->verdict.is_minimal)
		puts("  (there was no time to find out whether all of these are needed)");
	if (from)
		printf("  (%zu operations before)\n", from);
	printf("  %-8s %s\n", l->is_capture ? "thread" : "process", "operation");
	if (l->verdict.left[0])
		printf("  what was before is left out: %s\n", l->verdict.left);
	for (size_t i = from; i < n; i++)
		print_op(l, i, n, last);
	if (l->is_capture)
		printf("go there: faultline debug %s, then `seek %lu'\n", l->o->subject,
		       shown(l, n - 1)->call_at);
}

static void print_text(const struct linear *l)
{
	const struct fl_lin_verdict *v = &l->verdict;
	char key[64];

	if (v->note[0])
		log_note("searched, as %s", v->note);
	printf("%s: %lu operations", fl_lin_object_name(&l->object), v->n_ops);
	if (v->n_parts > 1)
		printf(" in %lu parts", v->n_parts);
	if (v->n_pending)
		printf(", %lu did not return", v->n_pending);
	printf(" (%s, %.2f s): ", v->method, l->seconds);
	if (v->answer == LIN_RIGHT) {
		puts("linearizable");
		return;
	}
	if (v->answer == LIN_UNKNOWN) {
		printf("not known: %s\n", v->why);
		return;
	}
	puts("not linearizable");
	if (v->has_key)
		printf("of %s (%lu of %lu parts are wrong): ",
		       fl_lin_value_name(&l->history.values, v->key, key, sizeof(key)),
		       v->n_wrong, v->n_parts);
	puts(v->why);
	print_witness(l);
}

/* ---- for machines -------------------------------------------------------------------------------- */

static cJSON *op_json(const struct linear *l, const struct fl_lin_op *op)
{
	cJSON *o = cJSON_CreateObject(), *args;
	char value[256];

	cJSON_AddStringToObject(o, "process",
				fl_lin_value_name(&l->history.values, op->process, value,
						  sizeof(value)));
	cJSON_AddStringToObject(o, "operation", fl_lin_does_name(&l->object, op->does));
	args = cJSON_AddArrayToObject(o, "arguments");
	for (unsigned i = 0; i < fl_lin_does_args(&l->object, op->does); i++)
		cJSON_AddItemToArray(args, cJSON_CreateString(fl_lin_value_name(
						   &l->history.values, op->arg[i], value,
						   sizeof(value))));
	if (op->ret == LIN_NONE)
		cJSON_AddNullToObject(o, "result");
	else
		cJSON_AddStringToObject(o, "result",
					fl_lin_value_name(&l->history.values, op->ret,
							  value, sizeof(value)));
	cJSON_AddNumberToObject(o, "called", op->call_at);
	if (op->end == LIN_PENDING)
		cJSON_AddNullToObject(o, "returned");
	else
		cJSON_AddNumberToObject(o, "returned", op->end_at);
	return o;
}

static struct err *print_json(const struct linear *l)
{
	static const char *const answers[] = { "linearizable", "not linearizable",
					       "unknown" };
	const struct fl_lin_verdict *v = &l->verdict;
	cJSON *root = cJSON_CreateObject(), *list;
	char key[256], *text;

	cJSON_AddStringToObject(root, "object", fl_lin_object_name(&l->object));
	cJSON_AddStringToObject(root, "answer", answers[v->answer]);
	cJSON_AddStringToObject(root, "method", v->method);
	cJSON_AddStringToObject(root, "why", v->why);
	cJSON_AddStringToObject(root, "note", v->note);
	cJSON_AddNumberToObject(root, "operations", v->n_ops);
	cJSON_AddNumberToObject(root, "pending", v->n_pending);
	cJSON_AddNumberToObject(root, "parts", v->n_parts);
	cJSON_AddNumberToObject(root, "wrong_parts", v->n_wrong);
	cJSON_AddNumberToObject(root, "seconds", l->seconds);
	if (v->has_key)
		cJSON_AddStringToObject(root, "part",
					fl_lin_value_name(&l->history.values, v->key, key,
							  sizeof(key)));
	cJSON_AddStringToObject(root, "places", l->is_capture ? "positions" : "lines");
	cJSON_AddBoolToObject(root, "minimal", v->is_minimal);
	if (v->left[0])
		cJSON_AddStringToObject(root, "left_out", v->left);
	list = cJSON_AddArrayToObject(root, "witness");
	for (size_t i = 0; i < v->witness.size; i++)
		cJSON_AddItemToArray(list, op_json(l, shown(l, i)));
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (!text)
		return &err_nomem;
	puts(text);
	free(text);
	return NULL;
}

/* ---- all ------------------------------------------------------------------------------------------- */

static struct err *run(struct linear *l)
{
	double start;
	struct err *err = take_object(l);

	if (!err)
		err = take_history(l);
	if (err)
		return err;
	start = clock_now_s();
	err = fl_lin_check(&l->object, &l->history, l->o->most, &l->verdict);
	l->seconds = clock_now_s() - start;
	if (err)
		return err;
	// What was not replayed is not known to be right.
	if (l->is_capture && !l->recorded.has_matched && l->verdict.answer == LIN_RIGHT) {
		l->verdict.answer = LIN_UNKNOWN;
		snprintf(
			l->verdict.why, sizeof(l->verdict.why),
			"what there is of the history is linearizable, but it ends early");
	}
	if (l->o->as_json)
		return print_json(l);
	print_text(l);
	return NULL;
}

static int check_structures(const struct linear_options *o)
{
	struct structure_options s = { .files = o->files.data,
				       .n_files = o->files.size,
				       .operations = o->operations,
				       .most = o->most ? o->most : 2000000,
				       .derived = o->derived,
				       .svg = o->svg,
				       .talk = o->talk,
				       .explains = o->explains,
				       .with_pairs = o->with_pairs,
				       .as_json = o->as_json };
	struct stat st;

	if (stat(o->subject, &st) || !S_ISDIR(st.st_mode))
		return cmd_structure_check(&s);
	fprintf(stderr,
		"faultline: cannot check '%s': it is a directory; of a capture, say which object "
		"(--object FILE)\n",
		text_line(o->subject));
	return EXIT_COULD_NOT;
}

int cmd_linear(int argc, char **argv)
{
	struct linear_options o = {};
	struct linear l = { .o = &o };
	_cleanup_err_ struct err *err = NULL;
	int status;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!o.object) {
		status = check_structures(&o);
		vec_deinit(&o.files);
		return status;
	}
	err = run(&l);
	if (err)
		fprintf(stderr, "faultline: cannot check '%s': %s\n",
			text_line(o.subject), err->message);
	status = err ? EXIT_COULD_NOT : (int)l.verdict.answer;
	vec_deinit(&o.files);
	fl_lin_verdict_deinit(&l.verdict);
	fl_lin_recorded_deinit(&l.recorded);
	fl_lin_history_deinit(&l.history);
	spec_destroy(l.spec);
	return status;
}
