// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Results as JSON, and back: the tables of members say what there is. What is absent is zero.
 */

#include "bench/bench_emit.h"
#include "bench/bench_members.h"

#include <string.h>

#include <cjson/cJSON.h>

#define FORMAT "faultline-bench"
#define FORMAT_VERSION 2

/* ---- writing -------------------------------------------------------------------------------- */

static void members_write(cJSON *to, const struct member *m, const void *from);

static void group_write(cJSON *to, const char *name, const struct member *members,
			const void *from)
{
	cJSON *group = cJSON_AddObjectToObject(to, name);

	members_write(group, members, from);
	if (group && !group->child)
		cJSON_DeleteItemFromObject(to, name);
}

static void member_write(cJSON *to, const struct member *m, const void *p)
{
	switch (m->kind) {
	case TEXT:
		if (*(const char *const *)p)
			cJSON_AddStringToObject(to, m->name, *(const char *const *)p);
		return;
	case NUMBER:
		if (*(const double *)p != 0)
			cJSON_AddNumberToObject(to, m->name, *(const double *)p);
		return;
	case COUNT:
		cJSON_AddNumberToObject(to, m->name, *(const int *)p);
		return;
	case FLAG:
		if (*(const bool *)p)
			cJSON_AddTrueToObject(to, m->name);
		return;
	case RANGE:
		group_write(to, m->name, bench_range_members, p);
		return;
	case FIT:
		group_write(to, m->name, bench_fit_members, p);
		return;
	case ROLE:
		cJSON_AddStringToObject(to, m->name,
					bench_role_names[*(const enum bench_role *)p]);
		return;
	case BETTER:
		cJSON_AddStringToObject(
			to, m->name, bench_better_names[*(const enum bench_better *)p]);
		return;
	case KINDS_END:
		return;
	}
}

static void members_write(cJSON *to, const struct member *m, const void *from)
{
	for (; m->name; m++)
		member_write(to, m, (const char *)from + m->at);
}

/** An object in @p array, with the members of @p from. */
static cJSON *element_write(cJSON *array, const struct member *m, const void *from)
{
	cJSON *o = cJSON_CreateObject();

	members_write(o, m, from);
	cJSON_AddItemToArray(array, o);
	return o;
}

static void points_write(cJSON *to, const struct bench_series *s)
{
	cJSON *array = cJSON_AddArrayToObject(to, "points");

	for (size_t i = 0; i < s->n; i++) {
		cJSON *point = element_write(array, bench_range_members, &s->y[i]);

		cJSON_AddNumberToObject(point, "x", s->x[i]);
	}
}

/** Write all elements of list @p list, which have nothing but members. */
#define LIST_WRITE(root, r, list, members)                                   \
	do {                                                                 \
		cJSON *array_ = cJSON_AddArrayToObject(root, #list);         \
		for (size_t i_ = 0; i_ < (r)->list.size; i_++)               \
			element_write(array_, members, &(r)->list.data[i_]); \
	} while (0)

static cJSON *results_write(const struct bench_results *r)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "format", FORMAT);
	cJSON_AddNumberToObject(root, "version", FORMAT_VERSION);
	group_write(root, "header", bench_header_members, &r->header);
	LIST_WRITE(root, r, tools, bench_tool_members);
	LIST_WRITE(root, r, works, bench_work_members);
	LIST_WRITE(root, r, suites, bench_suite_members);
	array = cJSON_AddArrayToObject(root, "rows");
	for (size_t i = 0; i < r->rows.size; i++) {
		const struct bench_row *row = &r->rows.data[i];
		cJSON *o = element_write(array, bench_row_members, row);

		if (row->n_runs)
			cJSON_AddItemToObject(o, "runs",
					      cJSON_CreateDoubleArray(row->runs,
								      (int)row->n_runs));
	}
	array = cJSON_AddArrayToObject(root, "series");
	for (size_t i = 0; i < r->series.size; i++)
		points_write(element_write(array, bench_series_members,
					   &r->series.data[i]),
			     &r->series.data[i]);
	return root;
}

/** Print @p item on one line. @return false without memory. */
static bool item_print(FILE *out, const cJSON *item)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(item);

	if (text)
		fputs(text, out); // whoever commits the file sees whether it could
	return text;
}

/** Print the root's members, of lists an element a line: so that a difference of two results
 * is one of rows. */
static bool root_print(FILE *out, const cJSON *root)
{
	const cJSON *list, *item;
	bool is_printed = true;

	fputs("{\n", out);
	cJSON_ArrayForEach(list, root)
	{
		fprintf(out, "\"%s\": ", list->string);
		if (!cJSON_IsArray(list)) {
			is_printed &= item_print(out, list);
		} else {
			fputs("[\n", out);
			cJSON_ArrayForEach(item, list)
			{
				is_printed &= item_print(out, item);
				fputs(item->next ? ",\n" : "\n", out);
			}
			fputc(']', out);
		}
		fputs(list->next ? ",\n" : "\n", out);
	}
	fputs("}\n", out);
	return is_printed;
}

struct err *bench_json_write(FILE *out, struct bench_results *r)
{
	cJSON *root = results_write(r);
	bool is_printed = root && root_print(out, root);

	cJSON_Delete(root);
	return is_printed ? NULL : &err_nomem;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void members_read(struct bench_results *r, const cJSON *from,
			 const struct member *m, void *to);

/** @return the index of @p item's text among @p names; 0 when it is none of them. */
static int name_index(const cJSON *item, const char *const *names, int n)
{
	for (int i = 0; i < n && cJSON_IsString(item); i++)
		if (!strcmp(item->valuestring, names[i]))
			return i;
	return 0;
}

static void member_read(struct bench_results *r, const cJSON *item, enum kind kind,
			void *p)
{
	switch (kind) {
	case TEXT:
		if (cJSON_IsString(item))
			*(const char **)p = bench_keep(r, item->valuestring);
		return;
	case NUMBER:
		if (cJSON_IsNumber(item))
			*(double *)p = item->valuedouble;
		return;
	case COUNT:
		if (cJSON_IsNumber(item))
			*(int *)p = item->valueint;
		return;
	case FLAG:
		*(bool *)p = cJSON_IsTrue(item);
		return;
	case RANGE:
		members_read(r, item, bench_range_members, p);
		return;
	case FIT:
		members_read(r, item, bench_fit_members, p);
		return;
	case ROLE:
		*(enum bench_role *)p = name_index(item, bench_role_names, 3);
		return;
	case BETTER:
		*(enum bench_better *)p = name_index(item, bench_better_names, 3);
		return;
	case KINDS_END:
		return;
	}
}

static void members_read(struct bench_results *r, const cJSON *from,
			 const struct member *m, void *to)
{
	for (; m->name; m++)
		member_read(r, cJSON_GetObjectItemCaseSensitive(from, m->name), m->kind,
			    (char *)to + m->at);
}

/** Read what a row must have. @return false when it has not. */
static bool row_read(struct bench_results *r, const cJSON *from, struct bench_row *row)
{
	const cJSON *runs = cJSON_GetObjectItemCaseSensitive(from, "runs"), *run;
	double *to = arena_alloc(&r->arena, BENCH_RUNS_MAX * sizeof(*to));

	members_read(r, from, bench_row_members, row);
	row->runs = to;
	cJSON_ArrayForEach(run, runs)
	{
		if (!to || !cJSON_IsNumber(run) || row->n_runs == BENCH_RUNS_MAX)
			return false;
		to[row->n_runs++] = run->valuedouble;
	}
	return row->suite && row->work && row->command && row->metric && row->unit;
}

static bool series_read(struct bench_results *r, const cJSON *from,
			struct bench_series *s)
{
	const cJSON *points = cJSON_GetObjectItemCaseSensitive(from, "points"), *point;
	size_t n = (size_t)cJSON_GetArraySize(points);

	members_read(r, from, bench_series_members, s);
	s->x = arena_alloc(&r->arena, (n + 1) * sizeof(*s->x));
	s->y = arena_alloc(&r->arena, (n + 1) * sizeof(*s->y));
	cJSON_ArrayForEach(point, points)
	{
		const cJSON *x = cJSON_GetObjectItemCaseSensitive(point, "x");

		if (!s->x || !s->y || !cJSON_IsNumber(x))
			return false;
		members_read(r, point, bench_range_members, &s->y[s->n]);
		s->x[s->n++] = x->valuedouble;
	}
	return s->suite && s->work && s->command && s->x_name && s->y_name && s->y_unit;
}

/** Read such a list. @return from the function that uses it, without memory. */
#define LIST_READ(root, r, list, members)                                                \
	do {                                                                             \
		const cJSON *item_;                                                      \
		cJSON_ArrayForEach(item_, cJSON_GetObjectItemCaseSensitive(root, #list)) \
		{                                                                        \
			void *to_ = vec_push(&(r)->list);                                \
			if (!to_)                                                        \
				return &err_nomem;                                       \
			members_read(r, item_, members, to_);                            \
		}                                                                        \
	} while (0)

/** Of what comes behind the first @p n of @p list, those of names that are there go. */
#define DROP_KNOWN(r, list, n)                                                           \
	do {                                                                             \
		for (size_t i_ = (n); i_ < (r)->list.size;) {                            \
			size_t k_ = 0;                                                   \
			while (strcmp((r)->list.data[k_].name, (r)->list.data[i_].name)) \
				k_++;                                                    \
			if (k_ < (n))                                                    \
				(r)->list.data[i_] = (r)->list.data[--(r)->list.size];   \
			else                                                             \
				i_++;                                                    \
		}                                                                        \
	} while (0)

static struct err *lists_read(struct bench_results *r, const cJSON *root)
{
	size_t n_tools = r->tools.size, n_works = r->works.size;
	const cJSON *item;

	LIST_READ(root, r, tools, bench_tool_members);
	LIST_READ(root, r, works, bench_work_members);
	LIST_READ(root, r, suites, bench_suite_members);
	for (size_t i = 0; i < r->suites.size; i++)
		if (!r->suites.data[i].name || !r->suites.data[i].title)
			return err_new(ERR_FORMAT, "a suite has no name or no title");
	for (size_t i = 0; i < r->tools.size; i++)
		if (!r->tools.data[i].name)
			return err_new(ERR_FORMAT, "a tool has no name");
	for (size_t i = 0; i < r->works.size; i++)
		if (!r->works.data[i].name || !r->works.data[i].what)
			return err_new(ERR_FORMAT, "a work has no name");
	DROP_KNOWN(r, tools, n_tools);
	DROP_KNOWN(r, works, n_works);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "rows"))
	{
		struct bench_row *row = vec_push(&r->rows);

		if (!row)
			return &err_nomem;
		if (!row_read(r, item, row))
			return err_new(ERR_FORMAT, "row %zu is not complete",
				       r->rows.size);
	}
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "series"))
	{
		struct bench_series *s = vec_push(&r->series);

		if (!s)
			return &err_nomem;
		if (!series_read(r, item, s))
			return err_new(ERR_FORMAT, "series %zu is not complete",
				       r->series.size);
	}
	r->n_grouped = r->rows.size;
	return NULL;
}

static struct err *results_read(struct bench_results *r, const cJSON *root)
{
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
	const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "version");

	if (!cJSON_IsString(format) || strcmp(format->valuestring, FORMAT) != 0 ||
	    !cJSON_IsNumber(version))
		return err_new(ERR_FORMAT, "not results of faultline bench");
	if (version->valueint != FORMAT_VERSION)
		return err_new(ERR_VERSION, "results of version %d; this reads %d",
			       version->valueint, FORMAT_VERSION);
	members_read(r, cJSON_GetObjectItemCaseSensitive(root, "header"),
		     bench_header_members, &r->header);
	return lists_read(r, root);
}

struct err *bench_json_read(const char *path, struct bench_results *ret)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	struct err *err;
	size_t size = 0;
	cJSON *root;

	if (!f)
		return err_errno("cannot read '%s'", path);
	if (getdelim(&text, &size, 0, f) < 0)
		return err_new(ERR_FORMAT, "cannot read '%s': it is empty", path);
	root = cJSON_Parse(text);
	err = root ? results_read(ret, root) : err_new(ERR_FORMAT, "not JSON");
	cJSON_Delete(root);
	return err ? err_prefix(err, "cannot read '%s'", path) : NULL;
}
