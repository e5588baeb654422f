// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND fix/fixes: how may a faulty statement be changed? by what fixed others like it

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "suppress-hw/fixes/fixes.h"

int cmd_fixes(int argc, char **argv);

enum { EXIT_SUGGESTED, EXIT_NONE, EXIT_COULD_NOT };
enum {
	KEY_AT = 256,
	KEY_FIX,
	KEY_TO,
	KEY_INTO,
	KEY_KNOWLEDGE,
	KEY_ALONE,
	KEY_CONFIDENCE,
	KEY_SOURCES,
	KEY_JSON
};

struct arguments {
	struct rank_options o;
	const char *to, *into;
	fl_texts fixes, knowledge;
	double confidence;
	bool is_learning, is_alone, as_json;
};

static const struct argp_option options[] = {
	{ "at", KEY_AT, "PLACE", 0, "The statement that is wrong, FILE:LINE", 0 },
	{ "knowledge", KEY_KNOWLEDGE, "FILE", 0,
	  "Go by the fixes in FILE, too, which `fixes learn --into FILE' keeps; any number of "
	  "times",
	  0 },
	{ "alone", KEY_ALONE, NULL, 0,
	  "Go by --knowledge alone, not by what faultline brings along", 0 },
	{ "confidence", KEY_CONFIDENCE, "PERCENT", 0,
	  "Of rules that hold in at least so many of 100 cases (default: 80)", 0 },
	{ "fix", KEY_FIX, "FIX", 0,
	  "learn: that was the fix: a name of doc/fixes.md, `<=|<' of two operators, or "
	  "own:NAME; any number of times",
	  0 },
	{ "to", KEY_TO, "TEXT", 0,
	  "learn: the line reads TEXT now; which fix that is, is seen", 0 },
	{ "into", KEY_INTO, "FILE", 0,
	  "learn: write what is known to FILE, with what is in it", 0 },
	{ "sources", KEY_SOURCES, "DIR", 0,
	  "the program's sources are below DIR; otherwise they are where the program says",
	  0 },
	{ "jobs", 'j', "N", 0, "N altered runs at a time (default: the cores)", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print the result as one JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Read SUITE, made by `faultline suite record' of a program one statement of which is wrong, "
	"and suggest how to change it, the likeliest change first. What the statement's text and its "
	"values in failing and passing tests are like is compared with statements that were fixed "
	"before. With `learn' its fix is noted for later.\v"
	"Exit status: 0 there are suggestions (learn: it is noted), 1 there are none, 2 it could not be "
	"looked at.\n\n"
	"Examples:\n"
	"  faultline fixes prog.suite --at prog.c:12\n"
	"  faultline fixes prog.suite --at prog.c:12 --knowledge ours.json\n"
	"  faultline fixes learn prog.suite --at prog.c:12 --fix copm --fix '<=|<' --into ours.json\n"
	"  faultline fixes --json prog.suite --at prog.c:12 | jq -r '.suggestions[0].edit' | patch\n";

static void take_fix(struct arguments *a, struct argp_state *state, const char *arg)
{
	char all[256] = "";

	for (size_t i = 0; fix_names[i] && !fix_is_known(arg); i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 i ? ", " : "", fix_names[i]);
	if (*all)
		argp_error(state,
			   "unknown fix '%s' (there are: %s; A|B of two operators; "
			   "own:NAME)",
			   arg, all);
	cmd_command_push(state, &a->fixes, arg);
}

static error_t take_argument(struct arguments *a, struct argp_state *state, char *arg)
{
	if (state->arg_num == 0 && !strcmp(arg, "learn")) {
		a->is_learning = true;
		return 0;
	}
	if (a->o.suite)
		argp_error(state, "one suite, not '%s' as well", arg);
	a->o.suite = arg;
	return 0;
}

static void check(const struct arguments *a, struct argp_state *state)
{
	if (!a->o.suite)
		argp_error(state, "which suite?");
	if (!a->o.at)
		argp_error(state, "which statement is it? (--at FILE:LINE)");
	if (a->is_learning && !a->fixes.size && !a->to)
		argp_error(state, "what was the fix? (--fix NAME, or --to TEXT)");
	if (a->is_learning && !a->into)
		argp_error(state, "where is it to be kept? (--into FILE)");
	if (!a->is_learning && (a->fixes.size || a->to || a->into))
		argp_error(state, "--fix, --to and --into are for `fixes learn'");
	if (a->is_alone && !a->knowledge.size && !a->is_learning)
		argp_error(state,
			   "--alone without a --knowledge leaves nothing to go by");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_AT:
		a->o.at = arg;
		if (!strrchr(arg, ':') || !strrchr(arg, ':')[1] ||
		    strrchr(arg, ':')[1 + strspn(strrchr(arg, ':') + 1, "0123456789")])
			argp_error(state, "--at takes FILE:LINE, not '%s'", arg);
		return 0;
	case KEY_FIX:
		take_fix(a, state, arg);
		return 0;
	case KEY_TO:
		a->to = arg;
		return 0;
	case KEY_INTO:
		a->into = arg;
		return 0;
	case KEY_KNOWLEDGE:
		cmd_command_push(state, &a->knowledge, arg);
		return 0;
	case KEY_ALONE:
		a->is_alone = true;
		return 0;
	case KEY_CONFIDENCE:
		a->confidence =
			(double)option_number(state, "--confidence", arg, 1, 100) / 100;
		return 0;
	case KEY_SOURCES:
		a->o.sources = arg;
		return 0;
	case 'j':
		a->o.at_once = option_number(state, "--jobs", arg, 1, 64);
		return 0;
	case KEY_JSON:
		a->as_json = true;
		text_guard_json();
		return 0;
	case ARGP_KEY_ARG:
		return take_argument(a, state, arg);
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SUITE\nlearn SUITE",
	.doc = doc,
};

/** What is found out. */
struct answer {
	struct rank_result r;
	struct fix_statement statement;
	fix_words situation;
	struct fix_knowledge knowledge;
	fix_suggestions suggestions;
	bool is_cut;
};

/* ---- the situation -------------------------------------------------------------------------------- */

static int line_of(const char *at)
{
	return atoi(strrchr(at, ':') + 1);
}

static struct err *look(const struct arguments *a, struct answer *ret)
{
	struct err *err = rank_suite(&a->o, &ret->r);

	if (!err && !ret->r.source)
		err = err_new(
			ERR_NOT_FOUND,
			"the source of '%s' is not at hand: '%s' cannot be read (say with "
			"--sources where it is)",
			a->o.at, ret->r.source_path ?: "it");
	if (!err)
		err = fix_statement_read(ret->r.source_path, ret->r.source,
					 line_of(a->o.at), &ret->statement);
	if (!err && ret->statement.has_mistakes)
		err = lines_add(
			&ret->r.notes,
			"'%s' cannot be read without mistakes (a header that is not there?): "
			"types may be missing",
			ret->r.source_path);
	if (!err)
		err = fix_statement_describe(&ret->statement, &ret->situation);
	if (!err)
		err = fix_values_describe(&ret->r, &ret->situation);
	if (!err && !ret->r.ivmps.size)
		err = lines_add(
			&ret->r.notes,
			"no other value at '%s' makes a failing test right: what is "
			"suggested goes by its text and values alone",
			a->o.at);
	return err;
}

static struct err *suggest(const struct arguments *a, struct answer *ret)
{
	struct err *err = a->is_alone ? NULL : fix_knowledge_read(NULL, &ret->knowledge);

	for (size_t i = 0; i < a->knowledge.size && !err; i++)
		err = fix_knowledge_read(a->knowledge.data[i], &ret->knowledge);
	if (!err)
		err = look(a, ret);
	if (!err)
		err = fix_suggest(&ret->knowledge, &ret->situation, a->confidence,
				  &ret->suggestions, &ret->is_cut);
	if (!err && ret->is_cut)
		err = lines_add(
			&ret->r.notes,
			"not all rules that do not hold in all cases were looked at");
	for (size_t i = 0; i < ret->suggestions.size && !err; i++)
		err = fix_edit(&ret->statement, ret->r.source_path, &ret->r,
			       &ret->suggestions.data[i]);
	return err;
}

/* ---- learning ------------------------------------------------------------------------------------- */

static struct err *compare(const struct arguments *a, const struct answer *found,
			   fix_words *ret)
{
	_cleanup_free_ char *now =
		fix_replace_line(found->r.source, line_of(a->o.at), a->to);
	struct fix_statement statement = {};
	struct err *err = now ? NULL : &err_nomem;

	if (!err)
		err = fix_statement_read(found->r.source_path, now, line_of(a->o.at),
					 &statement);
	if (!err)
		err = fix_compare(&found->statement, &statement, ret);
	fix_statement_deinit(&statement);
	if (!err && !ret->size)
		err = err_new(ERR_USAGE, "the statement was '%s' before", a->to);
	return err;
}

/* What is known so far: of a file that is there. */
static struct err *read_into(const struct arguments *a, struct fix_knowledge *ret)
{
	struct stat st;

	if (file_is_stdout(a->into) || stat(a->into, &st) || !S_ISREG(st.st_mode) ||
	    !st.st_size)
		return NULL;
	return fix_knowledge_read(a->into, ret);
}

static struct err *learn(const struct arguments *a, struct answer *found)
{
	struct fix_scenario *s;
	struct err *err = read_into(a, &found->knowledge);

	if (!err)
		err = look(a, found);
	s = err ? NULL : vec_push(&found->knowledge.scenarios);
	if (!s)
		return err ?: &err_nomem;
	s->where = strdup(a->o.at);
	s->situation = found->situation;
	found->situation = (fix_words){};
	for (size_t i = 0; i < a->fixes.size && !err; i++)
		err = fix_words_add(&s->fixes, a->fixes.data[i]);
	if (!err && a->to)
		err = compare(a, found, &s->fixes);
	return err		?:
		       s->where ? fix_knowledge_write(a->into, &found->knowledge) :
				  &err_nomem;
}

/* ---- output ---------------------------------------------------------------------------------------- */

static void print_edit(const fix_suggestions *all, size_t i)
{
	const char *edit = all->data[i].edit;

	for (size_t k = 0; k < i && edit; k++)
		if (all->data[k].edit && !strcmp(all->data[k].edit, edit)) {
			printf("      the same edit as for `%s'\n",
			       text_line(all->data[k].fix));
			return;
		}
	for (const char *end; edit && *edit; edit = end) {
		end = edit + strcspn(edit, "\n");
		end += *end == '\n';
		printf("    %.*s", (int)(end - edit), edit);
	}
}

static void print_text(const struct arguments *a, const struct answer *f)
{
	const struct fix_token *first = &f->statement.tokens.data[0];
	const struct fix_token *last =
		&f->statement.tokens.data[f->statement.tokens.size - 1];

	printf("%s: ", text_line(a->o.at));
	fwrite(f->statement.source + first->from, 1, last->to - first->from, stdout);
	printf("\n%u tests failed, %u passed; %zu IVMPs there; %zu descriptors; %zu fixes are "
	       "known\n",
	       f->r.n_failed, f->r.n_passed, f->r.ivmps.size, f->situation.size,
	       f->knowledge.scenarios.size);
	for (size_t i = 0; i < f->suggestions.size; i++) {
		const struct fix_suggestion *s = &f->suggestions.data[i];

		printf("%4u. `%s': %s  (%.0f %%, %u descriptors, as at %s)%s\n", s->rank,
		       text_line(s->fix), fix_meaning(s->fix), 100 * s->confidence,
		       s->n_descriptors, text_line(s->like),
		       s->is_template ? "; words in capitals are yours to fill in" : "");
		print_edit(&f->suggestions, i);
	}
	if (!f->suggestions.size)
		puts("nothing that is known is like it");
	for (size_t i = 0; i < f->r.notes.size; i++)
		log_note("%s", f->r.notes.data[i]);
}

static cJSON *json_suggestion(const struct fix_suggestion *s)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddNumberToObject(o, "rank", s->rank);
	cJSON_AddStringToObject(o, "fix", s->fix);
	cJSON_AddStringToObject(o, "meaning", fix_meaning(s->fix));
	cJSON_AddNumberToObject(o, "confidence", s->confidence);
	cJSON_AddNumberToObject(o, "descriptors", s->n_descriptors);
	cJSON_AddStringToObject(o, "like", s->like);
	if (s->edit) {
		cJSON_AddStringToObject(o, "edit", s->edit);
		cJSON_AddBoolToObject(o, "template", s->is_template);
	}
	return o;
}

static void print_json(const struct arguments *a, const struct answer *f)
{
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "at", a->o.at);
	cJSON_AddStringToObject(o, "source", f->r.source_path);
	cJSON_AddNumberToObject(o, "failed", f->r.n_failed);
	cJSON_AddNumberToObject(o, "passed", f->r.n_passed);
	cJSON_AddNumberToObject(o, "ivmps", f->r.ivmps.size);
	cJSON_AddNumberToObject(o, "runs", f->r.n_runs);
	cJSON_AddNumberToObject(o, "known", f->knowledge.scenarios.size);
	list = cJSON_AddArrayToObject(o, "situation");
	for (size_t i = 0; i < f->situation.size; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(f->situation.data[i]));
	list = cJSON_AddArrayToObject(o, "suggestions");
	for (size_t i = 0; i < f->suggestions.size; i++)
		cJSON_AddItemToArray(list, json_suggestion(&f->suggestions.data[i]));
	cmd_command_add_notes(o, &f->r.notes);
	cmd_command_print_json(o);
}

static void print_learned(const struct arguments *a, const struct answer *f)
{
	const struct fix_scenario *s =
		&f->knowledge.scenarios.data[f->knowledge.scenarios.size - 1];

	// Of "-" the knowledge is on stdout.
	if (file_is_stdout(a->into))
		return;
	printf("%s: noted in '%s', %zu descriptors, fixed by", text_line(a->o.at),
	       text_line(a->into), s->situation.size);
	for (size_t i = 0; i < s->fixes.size; i++)
		printf(" `%s'", text_line(s->fixes.data[i]));
	printf("; %zu fixes there\n", f->knowledge.scenarios.size);
}

static int tell(const struct arguments *a, const struct answer *f)
{
	if (a->is_learning)
		print_learned(a, f);
	else if (a->as_json)
		print_json(a, f);
	else
		print_text(a, f);
	return a->is_learning || f->suggestions.size ? EXIT_SUGGESTED : EXIT_NONE;
}

int cmd_fixes(int argc, char **argv)
{
	struct arguments a = { .o = { .want_status = -1 }, .confidence = 0.8 };
	struct answer f = {};
	struct err *err;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_COULD_NOT;
	if (!a.o.at_once)
		a.o.at_once = sysconf(_SC_NPROCESSORS_ONLN);
	a.o.with_progress = isatty(2);
	err = a.is_learning ? learn(&a, &f) : suggest(&a, &f);
	if (err)
		fprintf(stderr, "faultline: cannot %s '%s' of '%s': %s\n",
			a.is_learning ? "learn the fix of" : "suggest fixes of",
			text_line(a.o.at), text_line(a.o.suite), text_line(err->message));
	argc = err ? EXIT_COULD_NOT : tell(&a, &f);
	err_destroy(err);
	rank_result_deinit(&f.r);
	fix_statement_deinit(&f.statement);
	fix_words_deinit(&f.situation);
	fix_knowledge_deinit(&f.knowledge);
	fix_suggestions_deinit(&f.suggestions);
	vec_deinit(&a.fixes);
	vec_deinit(&a.knowledge);
	return argc;
}
