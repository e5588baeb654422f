// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND find/spec: write a first specification from a capture; check one

#include <argp.h>
#include <cjson/cJSON.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/file.h"
#include "base/option.h"
#include "decode/symbols/symbols.h"
#include "faultlocate/fl_mine.h"
#include "faultlocate/fl_types.h"
#include "specdsl/bugs.h"

enum { EXIT_FINE, EXIT_MISTAKES, EXIT_COULD_NOT };
enum { OPT_BINARY = 256, OPT_JSON, OPT_IN_PLACE, OPT_STRUCT };

struct spec_options {
	bool has_verb, is_format, is_init, in_place;
	const char *binary;
	bool as_json;
	VEC(const char *) files, structs;
};

static const struct argp_option options[] = {
	{ "binary", OPT_BINARY, "PROG", 0,
	  "Compare with the structs in the debug information of PROG", 0 },
	{ "in-place", OPT_IN_PLACE, NULL, 0,
	  "format: write the files themselves, where that changes them", 0 },
	{ "struct", OPT_STRUCT, "NAME", 0,
	  "init: about this struct (may be given again), not all that have pointers to each "
	  "other",
	  0 },
	{ "json", OPT_JSON, NULL, 0, "Print the result as one JSON object", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct spec_options *o = state->input;
	const char **slot;

	switch (key) {
	case OPT_BINARY:
		o->binary = arg;
		return 0;
	case OPT_STRUCT:
		return vec_add(&o->structs, arg) ? ENOMEM : 0;
	case OPT_JSON:
		o->as_json = true;
		text_guard_json();
		return 0;
	case OPT_IN_PLACE:
		o->in_place = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!o->has_verb && strcmp(arg, "check") && strcmp(arg, "format") &&
		    strcmp(arg, "init"))
			argp_error(state,
				   "unknown action '%s' (there are: check, format, init)",
				   arg);
		o->is_format |= !o->has_verb && strcmp(arg, "format") == 0;
		o->is_init |= !o->has_verb && strcmp(arg, "init") == 0;
		slot = o->has_verb ? vec_push(&o->files) : NULL;
		if (slot)
			*slot = arg;
		else if (o->has_verb)
			return ENOMEM;
		o->has_verb = true;
		return 0;
	case ARGP_KEY_END:
		if (!o->has_verb)
			argp_error(state, "what to do? (check, format, init)");
		else if (o->is_init && (o->binary || o->as_json || o->in_place))
			argp_error(state, "init takes captures and --struct alone");
		else if (!o->is_init && o->structs.size)
			argp_error(state, "--struct goes with init");
		else if (!o->files.size && o->is_init)
			argp_error(state, "which capture?");
		else if (!o->files.size)
			argp_error(state, "which specification?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "check FILE...\nformat FILE...\ninit CAPTURE...",
	.doc = "check: read specifications, show the mistakes in them and how each constraint is "
	       "understood. format: write them the one way, to stdout; files with mistakes are "
	       "left alone. init: print what held for the program's structs in runs in which nothing was "
	       "wrong, with how often it was asked. The language: doc/spec-language.md.\v"
	       "Exit status: 0 no mistakes, 1 mistakes, 2 could not read.\n\n"
	       "Examples:\n"
	       "  faultline spec check list.spec\n"
	       "  faultline spec check list.spec --binary ./prog\n"
	       "  faultline spec format --in-place *.spec\n"
	       "  faultline spec init good.flt >list.spec\n"
	       "  faultline spec check --json list.spec tree.spec | jq .diagnostics\n",
};

/** Bind the types that @p symbols knows; the others are as without debug information. */
static struct err *bind_types(struct spec *s, struct dec_symbols *symbols,
			      const char *program)
{
	fl_variables variables = {};
	char unknown[256] = "";
	struct err *err = fl_types_bind(s, symbols, &variables, unknown, sizeof(unknown));

	vec_deinit(&variables);
	if (!err && unknown[0])
		log_note("%s has no struct %s: its fields have numbers only", program,
			 unknown);
	return err;
}

/** Read and check all files. @p symbols gets what the layouts in @p s live in. */
static struct err *read_specs(struct spec *s, const struct spec_options *o,
			      struct dec_symbols **symbols)
{
	struct err *err = NULL;

	for (size_t i = 0; i < o->files.size && !err; i++)
		err = spec_add_file(s, o->files.data[i]);
	if (err || !o->binary)
		return err;
	if (access(o->binary, R_OK))
		return err_errno("cannot read '%s'", o->binary);
	err = dec_symbols_create_empty(symbols);
	if (!err)
		err = dec_symbols_add_path(*symbols, o->binary, o->binary, 0);
	return err ? err : bind_types(s, *symbols, o->binary);
}

static const char *kind_name(const struct spec_var *v)
{
	return v->is_root		? "root" :
	       v->kind == SPEC_VAR_ALL	? "all" :
	       v->kind == SPEC_VAR_SOME ? "some" :
					  "unused";
}

static void print_constraint(const struct spec *s, const struct spec_constraint *c)
{
	printf("%s:%d: %s:", c->file, c->line, c->name);
	for (size_t i = 0; i < c->n_vars; i++)
		if (c->vars[i].is_root)
			printf("%s for root %s (%s)", i ? "," : "", c->vars[i].name,
			       spec_type(s, c->vars[i].type)->name);
		else if (c->vars[i].kind != SPEC_VAR_UNUSED)
			printf("%s %s %s %s", i ? "," : "",
			       c->vars[i].kind == SPEC_VAR_ALL ? "for all" : "there is",
			       spec_type(s, c->vars[i].type)->name, c->vars[i].name);
	printf("\n");
}

static void print_bug(const struct spec *s, size_t i)
{
	const struct spec_bug *b = spec_bug(s, i);

	printf("%s:%d: %s: %s %s%s%s", b->file, b->line, b->name,
	       spec_severity_name(b->severity), spec_point_name(b->point),
	       b->function ? " " : "", b->function ? b->function : "");
	for (int k = 0; k < b->n_args; k++)
		printf(" %s", b->arg[k]);
	for (int k = 0; k < b->n_chains; k++)
		printf("%s%s", k ? ", " : ", chains of ",
		       spec_bug_slot(s, i, b->chain[k]));
	puts(b->is_off ? ", off unless it is named" : "");
}

static void print_count(size_t n, const char *what)
{
	printf("%zu %s%s, ", n, what, n == 1 ? "" : "s");
}

static void print_text(const struct spec *s, bool has_binary)
{
	spec_diags_print(s, stderr);
	if (spec_errors(s))
		return;
	for (size_t i = 0; i < spec_types(s) && !has_binary; i++)
		if (!spec_type(s, i)->is_declared && !spec_type(s, i)->is_root)
			log_note("'%s' is not declared, so it must be a struct of the "
				 "program: --binary PROG compares",
				 spec_type(s, i)->name);
	for (size_t i = 0; i < spec_constraints(s); i++)
		print_constraint(s, spec_constraint(s, i));
	for (size_t i = 0; i < spec_bugs(s); i++)
		print_bug(s, i);
	print_count(spec_statements(s), "statement");
	print_count(spec_types(s) - spec_roots(s), "type");
	if (spec_roots(s))
		print_count(spec_roots(s), "root");
	if (spec_bugs(s))
		print_count(spec_bugs(s), "bug rule");
	print_count(spec_constraints(s), "constraint");
	print_count(spec_cpoints(s), "C-point");
	puts("no mistakes");
}

static cJSON *constraint_json(const struct spec *s, const struct spec_constraint *c)
{
	cJSON *o = cJSON_CreateObject(), *vars;

	cJSON_AddStringToObject(o, "name", c->name);
	cJSON_AddStringToObject(o, "spec", c->file);
	cJSON_AddNumberToObject(o, "line", c->line);
	cJSON_AddStringToObject(o, "text", c->text);
	vars = cJSON_AddArrayToObject(o, "variables");
	for (size_t i = 0; i < c->n_vars; i++) {
		cJSON *v = cJSON_CreateObject();

		cJSON_AddStringToObject(v, "name", c->vars[i].name);
		cJSON_AddStringToObject(v, "type", spec_type(s, c->vars[i].type)->name);
		cJSON_AddStringToObject(v, "kind", kind_name(&c->vars[i]));
		cJSON_AddItemToArray(vars, v);
	}
	return o;
}

static cJSON *bug_json(const struct spec_bug *b)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", b->name);
	cJSON_AddStringToObject(o, "spec", b->file);
	cJSON_AddNumberToObject(o, "line", b->line);
	cJSON_AddStringToObject(o, "text", b->text);
	cJSON_AddStringToObject(o, "point", spec_point_name(b->point));
	cJSON_AddStringToObject(o, "severity", spec_severity_name(b->severity));
	cJSON_AddBoolToObject(o, "off", b->is_off);
	return o;
}

static cJSON *diag_json(const struct spec_diag *d)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "spec", d->file);
	cJSON_AddNumberToObject(o, "line", d->line);
	cJSON_AddNumberToObject(o, "column", d->column);
	cJSON_AddNumberToObject(o, "length", d->length);
	cJSON_AddStringToObject(o, "severity", d->is_warning ? "warning" : "error");
	cJSON_AddStringToObject(o, "message", d->message);
	if (d->hint)
		cJSON_AddStringToObject(o, "hint", d->hint);
	else
		cJSON_AddNullToObject(o, "hint");
	return o;
}

static struct err *print_json(const struct spec *s)
{
	cJSON *root = cJSON_CreateObject(), *list;
	_cleanup_free_ char *text = NULL;

	cJSON_AddNumberToObject(root, "version", 1);
	cJSON_AddNumberToObject(root, "errors", (double)spec_errors(s));
	cJSON_AddNumberToObject(root, "statements", (double)spec_statements(s));
	list = cJSON_AddArrayToObject(root, "diagnostics");
	for (size_t i = 0; i < spec_diags(s); i++)
		cJSON_AddItemToArray(list, diag_json(spec_diag(s, i)));
	list = cJSON_AddArrayToObject(root, "constraints");
	for (size_t i = 0; i < spec_constraints(s); i++)
		cJSON_AddItemToArray(list, constraint_json(s, spec_constraint(s, i)));
	list = cJSON_AddArrayToObject(root, "rules");
	for (size_t i = 0; i < spec_bugs(s); i++)
		cJSON_AddItemToArray(list, bug_json(spec_bug(s, i)));
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (!text)
		return &err_nomem;
	puts(text);
	return NULL;
}

static struct err *check_all(struct spec *s, const struct spec_options *o,
			     struct dec_symbols **symbols, size_t *n_errors)
{
	struct err *err = read_specs(s, o, symbols);

	if (!err && o->as_json)
		err = print_json(s);
	else if (!err)
		print_text(s, o->binary);
	*n_errors = spec_errors(s);
	return err;
}

static struct err *write_file(const char *path, const char *text)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, 0666);

	if (err)
		return err;
	fputs(text, f.stream);
	return new_file_commit(&f);
}

/** Write the only file of @p s, in which there are no mistakes, the one way. */
static struct err *format_file(const struct spec *s, const char *path, bool in_place)
{
	_cleanup_free_ char *formatted = NULL;
	bool is_changed;
	struct err *err = spec_format(s, 0, &formatted, &is_changed);

	if (err)
		return err;
	if (!in_place)
		fputs(formatted, stdout);
	else if (is_changed)
		return write_file(path, formatted);
	return NULL;
}

/** A pipe would be waited for, and what comes from a device is not what goes there. */
static struct err *can_format(const char *path, bool in_place)
{
	struct stat st;

	if (!in_place || stat(path, &st) || S_ISREG(st.st_mode))
		return NULL;
	return err_new(ERR_FORMAT, "cannot format '%s' in place: it is no regular file",
		       path);
}

/** Each file is a specification of its own. @p n_errors: mistakes in all of them. */
static struct err *format_all(const struct spec_options *o, size_t *n_errors)
{
	struct err *err = NULL;

	for (size_t i = 0; i < o->files.size && !err; i++) {
		_cleanup_(spec_destroyp) struct spec *s = NULL;

		err = can_format(o->files.data[i], o->in_place);
		if (!err)
			err = spec_create(&s);
		if (!err)
			err = spec_add_file(s, o->files.data[i]);
		if (err)
			break;
		spec_diags_print(s, stderr);
		*n_errors += spec_errors(s);
		if (!spec_errors(s))
			err = format_file(s, o->files.data[i], o->in_place);
	}
	return err;
}

/** Propose: files are a capture and names. */
static struct err *propose(const struct spec_options *o)
{
	const struct fl_mine_options mine = {
		.captures = o->files.data,
		.n_captures = o->files.size,
		.types = o->structs.data,
		.n_types = o->structs.size,
		.with_progress = isatty(STDERR_FILENO),
	};
	struct fl_mined m;
	struct err *err = fl_mine(&mine, stdout, &m);

	if (!err)
		log_note(
			"%zu constraints held of %zu that were tried, %zu of them too seldom "
			"asked to be told from chance: comments",
			m.n_held + m.n_thin, m.n_tried, m.n_thin);
	return err;
}

int cmd_spec(int argc, char **argv);

int cmd_spec(int argc, char **argv)
{
	_cleanup_(spec_destroyp) struct spec *s = NULL;
	struct dec_symbols *symbols = NULL;
	struct spec_options o = { 0 };
	size_t n_errors = 0;
	struct err *err;
	int status;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return EXIT_COULD_NOT;
	err = spec_create(&s);
	if (!err)
		err = o.is_init	  ? propose(&o) :
		      o.is_format ? format_all(&o, &n_errors) :
				    check_all(s, &o, &symbols, &n_errors);
	status = err ? EXIT_COULD_NOT : n_errors ? EXIT_MISTAKES : EXIT_FINE;
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	err_destroy(err);
	spec_destroy(take_ptr(&s));
	dec_symbols_destroy(symbols); // after the spec, which borrows its layouts
	vec_deinit(&o.files);
	vec_deinit(&o.structs);
	return status;
}
