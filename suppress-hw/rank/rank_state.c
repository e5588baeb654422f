// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is known from one call to the next (--state): each failing test's IVMPs, which lists were
 * shown, what was fixed. Statements are known by file and line. A search that was interrupted, or
 * one behind a fix, goes on from there.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "suppress-hw/rank/rank_int.h"

#define STATE_FORMAT "faultline-rank"
#define STATE_VERSION 1
#define STATE_MAX (256u << 20)

/* Numbers of 64 bits are texts: JSON's have 53. */
static void add_wide(cJSON *o, const char *name, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%#" PRIx64, v);
	cJSON_AddStringToObject(o, name, text);
}

static uint64_t wide(const cJSON *o, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(o, name));

	return text ? strtoull(text, NULL, 16) : 0;
}

static char *name_of(const struct rank_statement *s)
{
	char *name;

	return asprintf(&name, "%s:%d", s->file, s->line) < 0 ? NULL : name;
}

uint32_t rank_state_find(const struct rank_session *s, const char *name)
{
	for (uint32_t i = 0; i < s->ret->statements.size; i++) {
		const struct rank_statement *st = &s->ret->statements.data[i];

		// The file's path may be left out, in whole or in part.
		if (rank_is_named(name, st->file, st->line))
			return i;
	}
	return UINT32_MAX;
}

/* ---- reading -------------------------------------------------------------------------------- */

static const char *method_of(const struct rank_options *o)
{
	return o->method == RANK_PREDICATES ? "predicates" : "ivmp";
}

static bool is_text(const cJSON *o, const char *name, const char *want)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(o, name));

	return text && !strcmp(text, want);
}

static struct err *check(const struct rank_options *o, const char *path, const cJSON *j)
{
	if (!j || !is_text(j, "format", STATE_FORMAT) ||
	    !cJSON_IsObject(cJSON_GetObjectItem(j, "tests")))
		return err_new(ERR_FORMAT, "'%s' is no state of `faultline rank'", path);
	if (cJSON_GetNumberValue(cJSON_GetObjectItem(j, "version")) != STATE_VERSION)
		return err_new(ERR_VERSION, "'%s' was written by a newer faultline",
			       path);
	if (!is_text(j, "method", method_of(o)) ||
	    cJSON_IsTrue(cJSON_GetObjectItem(j, "lossless")) != o->is_lossless ||
	    cJSON_GetNumberValue(cJSON_GetObjectItem(j, "faults")) != o->faults)
		return err_new(
			ERR_USAGE,
			"'%s' was made with other --method, --lossless or --faults",
			path);
	return NULL;
}

static struct err *make(struct rank_session *s)
{
	const struct rank_options *o = s->o;
	cJSON *j = s->state = cJSON_CreateObject();

	cJSON_AddStringToObject(j, "format", STATE_FORMAT);
	cJSON_AddNumberToObject(j, "version", STATE_VERSION);
	cJSON_AddStringToObject(j, "method", method_of(o));
	cJSON_AddBoolToObject(j, "lossless", o->is_lossless);
	cJSON_AddNumberToObject(j, "faults", o->faults);
	cJSON_AddObjectToObject(j, "tests");
	cJSON_AddArrayToObject(j, "shown");
	return cJSON_AddArrayToObject(j, "fixed") ? NULL : &err_nomem;
}

static struct err *read_state(const struct rank_options *o, const char *path, cJSON **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes;
	struct err *err = file_read_input(path, STATE_MAX, &text, &bytes);

	if (err)
		return err;
	*ret = cJSON_Parse(text);
	return check(o, path, *ret);
}

/* A part's tests are the same; each has IVMPs at other statements. */
static struct err *add_tests(cJSON *to, cJSON *from)
{
	cJSON *test = from->child, *next;

	for (; test; test = next) {
		cJSON *list = cJSON_GetObjectItemCaseSensitive(to, test->string), *ivmp;

		next = test->next;
		if (!list)
			list = cJSON_AddArrayToObject(to, test->string);
		if (!list)
			return &err_nomem;
		while ((ivmp = cJSON_DetachItemFromArray(test, 0)))
			cJSON_AddItemToArray(list, ivmp);
	}
	return NULL;
}

static struct err *add_part(struct rank_session *s, const char *path)
{
	cJSON *part = NULL, *note;
	struct err *err = read_state(s->o, path, &part);

	if (!err)
		err = add_tests(s->found, cJSON_GetObjectItem(part, "tests"));
	if (!err)
		s->ret->n_runs += wide(part, "runs");
	cJSON_ArrayForEach(note, cJSON_GetObjectItem(part, "notes"))
	{
		const char *text = cJSON_GetStringValue(note);
		bool is_known = !text;

		for (size_t i = 0; i < s->ret->notes.size && !is_known; i++)
			is_known = !strcmp(s->ret->notes.data[i], text);
		if (!err && !is_known)
			err = lines_add(&s->ret->notes, "%s", text);
	}
	cJSON_Delete(part);
	return err;
}

struct err *rank_state_open(struct rank_session *s)
{
	const struct rank_options *o = s->o;
	const char *from = o->n_parts ? o->known : o->state;
	struct err *err;

	s->found = cJSON_CreateObject();
	if (!s->found)
		return &err_nomem;
	err = from && !access(from, F_OK) ? read_state(o, from, &s->state) : make(s);
	for (size_t i = 0; i < o->n_states && !err; i++)
		err = add_part(s, o->states[i]);
	// This part was begun before.
	if (!err && o->n_parts && o->state && !access(o->state, F_OK))
		err = add_part(s, o->state);
	return err;
}

bool rank_state_is_found(const struct rank_session *s, const struct rank_run *run)
{
	return cJSON_GetObjectItemCaseSensitive(s->found, run->test->name);
}

/* ---- what was fixed ---------------------------------------------------------------------------- */

static bool has_name(const cJSON *list, const char *name)
{
	const cJSON *at;

	cJSON_ArrayForEach(at, list) if (is_text(at, "name", name)) return true;
	return false;
}

/* Statement @p at, called @p name, is fixed now. */
static struct err *add_fixed(struct rank_session *s, uint32_t at, const char *name)
{
	cJSON *fixed = cJSON_GetObjectItem(s->state, "fixed"), *o;

	if (has_name(fixed, name))
		return NULL;
	o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "name", name);
	cJSON_AddItemToArray(fixed, o);
	return vec_add(&s->fixed, at);
}

struct err *rank_state_fix(struct rank_session *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->o->n_fixed && !err; i++) {
		const char *asked = s->o->fixed[i];
		uint32_t at = rank_state_find(s, asked);
		_cleanup_free_ char *name = NULL;

		if (at == UINT32_MAX)
			err = lines_add(&s->ret->notes,
					"no test executes '%s' (any more): --faults "
					"partial searches all failing ones again",
					asked);
		else
			name = name_of(&s->ret->statements.data[at]);
		if (!err)
			err = add_fixed(s, at, name ?: asked);
	}
	return err;
}

/* Has a fix made another run of @p run? PARTIAL: where it executes what was fixed, if anybody knows;
 * FULL: all. */
static bool is_stale(const struct rank_session *s, const struct rank_run *run)
{
	if (s->o->faults == RANK_FULL)
		return s->fixed.size;
	for (size_t i = 0; i < s->fixed.size && s->o->faults == RANK_PARTIAL; i++)
		if (s->fixed.data[i] >= run->n_executed ||
		    run->executed[s->fixed.data[i]])
			return true;
	return false;
}

/* ---- a test's IVMPs --------------------------------------------------------------------------- */

static struct err *recall_ivmp(struct rank_session *s, struct rank_run *run,
			       const cJSON *o, bool is_found)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(o, "at"));
	uint32_t at = name ? rank_state_find(s, name) : UINT32_MAX;

	if (at == UINT32_MAX)
		return NULL; // what was fixed has moved it, or removed it
	if (is_found && s->o->n_states && !rank_is_in_question(s, at))
		return NULL; // the part did not know of the others' IVMPs
	run->has_ivmp[at] = 1;
	return vec_add(
		&s->ret->ivmps,
		(struct rank_ivmp){
			.test = run->test->name,
			.statement = at,
			.is_branch = cJSON_IsTrue(cJSON_GetObjectItem(o, "branch")),
			.is_left_out = cJSON_IsTrue(cJSON_GetObjectItem(o, "left_out")),
			.is_each_time = cJSON_IsTrue(cJSON_GetObjectItem(o, "each_time")),
			.original = wide(o, "original"),
			.alternate = wide(o, "alternate"),
			.bytes = (int)wide(o, "bytes") & 15,
			.position = wide(o, "position") });
}

/* As a search finds them. */
static int by_position(const void *a, const void *b)
{
	const struct rank_ivmp *p = a, *q = b;

	return (p->position > q->position) - (p->position < q->position);
}

struct err *rank_state_recall(struct rank_session *s, struct rank_run *run,
			      bool *is_known)
{
	bool is_found = rank_state_is_found(s, run);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(
		is_found ? s->found : cJSON_GetObjectItem(s->state, "tests"),
		run->test->name);
	const cJSON *o;
	struct err *err = NULL;
	size_t n = s->ret->ivmps.size;

	*is_known = cJSON_IsArray(list) &&
		    (is_found || !run->is_failed || !is_stale(s, run));
	if (!*is_known)
		return NULL;
	run->has_ivmp = calloc(s->ret->statements.size + 1, 1);
	if (!run->has_ivmp)
		return &err_nomem;
	cJSON_ArrayForEach(o, list) if (!err) err = recall_ivmp(s, run, o, is_found);
	if (s->o->n_states && s->ret->ivmps.size > n)
		qsort(s->ret->ivmps.data + n, s->ret->ivmps.size - n,
		      sizeof(*s->ret->ivmps.data), by_position);
	return err;
}

static cJSON *ivmp_json(const struct rank_session *s, const struct rank_ivmp *v)
{
	_cleanup_free_ char *name = name_of(&s->ret->statements.data[v->statement]);
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "at", name ?: "");
	cJSON_AddBoolToObject(o, "branch", v->is_branch);
	cJSON_AddBoolToObject(o, "left_out", v->is_left_out);
	cJSON_AddBoolToObject(o, "each_time", v->is_each_time);
	add_wide(o, "original", v->original);
	add_wide(o, "alternate", v->alternate);
	add_wide(o, "bytes", v->bytes);
	add_wide(o, "position", v->position);
	return o;
}

struct err *rank_state_keep(struct rank_session *s, const struct rank_run *run)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < s->ret->ivmps.size; i++)
		if (s->ret->ivmps.data[i].test == run->test->name)
			cJSON_AddItemToArray(list, ivmp_json(s, &s->ret->ivmps.data[i]));
	cJSON_DeleteItemFromObjectCaseSensitive(s->found, run->test->name);
	return cJSON_AddItemToObject(s->found, run->test->name, list) ? NULL : &err_nomem;
}

/* ---- lists that were shown ----------------------------------------------------------------------- */

static void free_shown(struct rank_shown *shown, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(shown[i].ids);
	free(shown);
}

static uint32_t *ids_of(const struct rank_session *s, const cJSON *list)
{
	uint32_t *ids = malloc((cJSON_GetArraySize(list) + 1) * sizeof(*ids));
	const cJSON *at;
	size_t n = 0;

	if (!ids)
		return NULL;
	cJSON_ArrayForEach(at, list)
	{
		const char *name = cJSON_GetStringValue(at);
		uint32_t id = name ? rank_state_find(s, name) : UINT32_MAX;

		if (id != UINT32_MAX)
			ids[n++] = id;
	}
	ids[n] = UINT32_MAX;
	return ids;
}

/* The list that was shown last, or another: the statement it is of. */
static uint32_t list_of(const struct rank_session *s, const cJSON *shown)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(shown, "name"));

	return name ? rank_state_find(s, name) : UINT32_MAX;
}

/* Add to those shown that of @p of. */
static struct err *add_shown(struct rank_session *s, const struct rank_rows *rows,
			     uint32_t of, const rank_ranked *ranked)
{
	_cleanup_free_ char *name = name_of(&rows->statements[of]);
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "name", name ?: "");
	list = cJSON_AddArrayToObject(o, "list");
	for (size_t i = 0; i < ranked->size && i < SHOWN_KEPT; i++) {
		_cleanup_free_ char *own = name_of(&ranked->data[i]);

		cJSON_AddItemToArray(list, cJSON_CreateString(own ?: ""));
	}
	return cJSON_AddItemToArray(cJSON_GetObjectItem(s->state, "shown"), o) ?
		       NULL :
		       &err_nomem;
}

struct err *rank_state_choose(struct rank_session *s, const struct rank_rows *rows,
			      uint32_t *of)
{
	const cJSON *list = cJSON_GetObjectItem(s->state, "shown"), *o = NULL;
	size_t n = cJSON_GetArraySize(list), k = 0;
	rank_ranked ranked = {};
	struct rank_shown *shown;
	struct err *err;

	// Nothing was fixed: the same as before.
	if (n && !s->fixed.size) {
		*of = list_of(s, cJSON_GetArrayItem(list, n - 1));
		if (*of != UINT32_MAX)
			return NULL;
	}
	shown = calloc(n + 1, sizeof(*shown));
	if (!shown)
		return &err_nomem;
	cJSON_ArrayForEach(o, list)
	{
		shown[k] =
			(struct rank_shown){ list_of(s, o),
					     ids_of(s, cJSON_GetObjectItem(o, "list")) };
		if (!shown[k++].ids) {
			free_shown(shown, n);
			return &err_nomem;
		}
	}
	err = rank_lists_choose(rows, shown, n, of);
	free_shown(shown, n);
	if (!err && *of != UINT32_MAX)
		err = rank_lists_make(rows, *of, &ranked);
	if (!err && *of != UINT32_MAX)
		err = add_shown(s, rows, *of, &ranked);
	vec_deinit(&ranked);
	return err;
}

/* ---- writing ----------------------------------------------------------------------------------- */

/* What a part's state tells besides. */
static struct err *put_part(const struct rank_session *s)
{
	cJSON *notes = cJSON_CreateArray();

	for (size_t i = 0; i < s->ret->notes.size; i++)
		cJSON_AddItemToArray(notes, cJSON_CreateString(s->ret->notes.data[i]));
	cJSON_DeleteItemFromObject(s->state, "runs");
	cJSON_DeleteItemFromObject(s->state, "notes");
	add_wide(s->state, "runs", s->ret->n_runs);
	return cJSON_AddItemToObject(s->state, "notes", notes) ? NULL : &err_nomem;
}

/* What the file says of tests, a part's of those that it has searched. @return NULL: no memory. */
static cJSON *tests_to_write(const struct rank_session *s)
{
	cJSON *tests =
		s->o->n_parts ?
			cJSON_CreateObject() :
			cJSON_Duplicate(cJSON_GetObjectItem(s->state, "tests"), true);
	const cJSON *test;

	cJSON_ArrayForEach(test, s->found)
	{
		cJSON_DeleteItemFromObjectCaseSensitive(tests, test->string);
		cJSON_AddItemToObject(tests, test->string, cJSON_Duplicate(test, true));
	}
	return tests;
}

/* The state's text, for free(); NULL: no memory. */
static char *print_state(const struct rank_session *s)
{
	cJSON *tests = tests_to_write(s);
	cJSON *known = cJSON_DetachItemFromObject(s->state, "tests");
	char *text = NULL;

	if (cJSON_AddItemToObject(s->state, "tests", tests))
		text = cJSON_Print(s->state);
	cJSON_DeleteItemFromObject(s->state, "tests");
	cJSON_AddItemToObject(s->state, "tests", known);
	return text;
}

struct err *rank_state_write(const struct rank_session *s)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ char *text = NULL;
	struct err *err;

	if (!s->o->state)
		return NULL;
	if (s->o->n_parts) {
		err = put_part(s);
		if (err)
			return err;
	}
	text = print_state(s);
	if (!text)
		return &err_nomem;
	err = new_file_open(&f, s->o->state, 0666);
	if (err)
		return err;
	fprintf(f.stream, "%s\n", text);
	return new_file_commit(&f);
}
