// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The data of the page:
 *
 *   types	[{name, fields: [[name, is_pointer]]}]
 *   places	["quad.c:40 in split"]
 *   nodes	{id: [type, place]}		all that live in the stretch
 *   start	{id: [[text, target, time, place]]}	a node's fields at its beginning
 *   steps	[[time, kind, node, place, changes, violated]]
 *		changes: [[field, text, target]]; of a new node: all fields
 *		violated: [[constraint, node...]], or null: as before
 */
#include "report/page.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "report/fields.h"

extern const char report_page_html[], report_page_html_end[];

#define VIOLATIONS_MAX 50 // of a step
#define MEMBERS_MAX 8	  // of one cluster
#define PROGRESS_AFTER_S 2
#define PROGRESS_EVERY_S 0.2

typedef VEC(struct hg_written) written_bytes;

struct page {
	const struct fl_page *p;
	const struct fl_namer *n;
	struct hg_view *view;
	struct fl_finder finder;
	struct fl_fields fields;
	struct spec_eval *eval;
	struct spec_checker *checker;
	spec_violations violations; ///< of the last step
	struct map places;	    ///< instruction -> index + 1
	struct map nodes;	    ///< id -> 1
	cJSON *root, *json_places, *json_nodes;
	double begun_s, said_s; ///< for progress; said_s = 0: nothing was said
};

static void page_deinit(struct page *w)
{
	cJSON_Delete(w->root);
	vec_deinit(&w->violations);
	spec_checker_destroy(w->checker);
	spec_eval_destroy(w->eval);
	report_finder_deinit(&w->finder);
	report_fields_deinit(&w->fields);
	hg_view_destroy(w->view);
	map_deinit(&w->places);
	map_deinit(&w->nodes);
}

static bool is_shown(const struct page *w, uint32_t id)
{
	uint32_t type = hg_graph_node(w->n->graph, (struct hg_node_id){ id })->type;

	return type && (!w->p->type || type == w->p->type);
}

// Whether it takes so long that something is to be said, which is then done.
static bool is_slow(struct page *w, double now_s)
{
	if (!w->p->with_progress || now_s - w->begun_s < PROGRESS_AFTER_S)
		return false;
	w->said_s = now_s;
	return true;
}

static void show_progress(struct page *w, const char *what, uint64_t done, uint64_t all)
{
	double now_s = clock_now_s();

	if (now_s - w->said_s < PROGRESS_EVERY_S || !is_slow(w, now_s))
		return;
	fprintf(stderr, TEXT_AGAIN "faultline: page: %llu of %llu %s",
		(unsigned long long)done, (unsigned long long)all, what);
}

static void end_progress(struct page *w)
{
	if (w->said_s)
		fputs(TEXT_AGAIN, stderr);
	w->said_s = 0;
}

static cJSON *number(double value)
{
	return cJSON_CreateNumber(value);
}

/* ---- names ---------------------------------------------------------------------------- */

/* @return the index of the statement at @p rip among the places. */
static double place_index(struct page *w, uint64_t rip)
{
	const uint64_t *known = map_get(&w->places, rip);
	struct dec_place place = {};
	char *text = NULL;
	size_t size;
	FILE *f;

	if (known)
		return *known - 1;
	w->n->places->place(w->n->places->ctx, rip, &place);
	f = open_memstream(&text, &size);
	if (f) {
		dec_place_print(&place, f);
		fclose(f);
	}
	cJSON_AddItemToArray(w->json_places, cJSON_CreateString(text ? text : "?"));
	free(text);
	size = cJSON_GetArraySize(w->json_places);
	map_put(&w->places, rip, size);
	return size - 1;
}

/* A node that is met for the first time. */
/* What the node was made of; an empty text for what was allocated. */
static void print_origin(const struct hg_graph *g, struct hg_node_id id, char *text,
			 size_t size)
{
	uint32_t source = hg_graph_node(g, id)->source;
	const struct hg_member *m;
	size_t n, used = 0;

	text[0] = '\0';
	m = hg_graph_members(g, id, &n);
	if (m)
		used = snprintf(text, size, "merged from");
	for (size_t i = 0; m && i < n && i < MEMBERS_MAX; i++)
		used += snprintf(text + used, size - used, " n%u", m[i].node.v);
	if (m && n > MEMBERS_MAX)
		snprintf(text + used, size - used, " and %zu more", n - MEMBERS_MAX);
	if (!m && source)
		snprintf(text, size, "split from n%u", source);
}

static void add_node(struct page *w, uint32_t id)
{
	const struct hg_node *h = hg_graph_node(w->n->graph, (struct hg_node_id){ id });
	char key[16], origin[32 + MEMBERS_MAX * 12];
	cJSON *node;

	if (map_get(&w->nodes, id))
		return;
	map_put(&w->nodes, id, 1);
	snprintf(key, sizeof(key), "%u", id);
	node = cJSON_AddArrayToObject(w->json_nodes, key);
	cJSON_AddItemToArray(node, number(h->type - 1));
	cJSON_AddItemToArray(node, number(place_index(w, h->alloc_rip)));
	print_origin(w->n->graph, (struct hg_node_id){ id }, origin, sizeof(origin));
	if (origin[0])
		cJSON_AddItemToArray(node, cJSON_CreateString(origin));
}

// The names of a flexible array's fields, as `next[].key`.
static void add_tail(cJSON *type, const struct dec_struct *l)
{
	cJSON *tail = cJSON_AddArrayToObject(type, "tail");
	char name[400];

	for (uint32_t k = 0; k < l->n_tail; k++) {
		snprintf(name, sizeof(name), "%s[]%s", l->tail,
			 strchr(l->fields[l->n_fields + k].name + strlen(l->tail), ']') +
				 1);
		cJSON_AddItemToArray(tail, cJSON_CreateString(name));
	}
}

// Which fields are the elements of an array of char: [the first, how many], -1 for all that
// follow in a flexible array.
static void add_chars(cJSON *type, const struct dec_struct *l)
{
	cJSON *arrays = cJSON_AddArrayToObject(type, "chars");
	const struct dec_field *f = l->fields, *tail = &f[l->n_fields];
	int range[2];

	for (uint32_t k = 0, n; k < l->n_fields; k += n ?: 1) {
		for (n = 0; k + n < l->n_fields &&
			    report_name_is_char(&f[k + n], f[k + n].name, f[k].name, n);
		     n++)
			;
		range[0] = k;
		range[1] = n;
		if (n > 1)
			cJSON_AddItemToArray(arrays, cJSON_CreateIntArray(range, 2));
	}
	range[0] = l->n_fields;
	range[1] = -1;
	if (l->n_tail == 1 && report_name_is_char(tail, tail->name, tail->name, 0))
		cJSON_AddItemToArray(arrays, cJSON_CreateIntArray(range, 2));
}

static void add_types(struct page *w)
{
	cJSON *types = cJSON_AddArrayToObject(w->root, "types");

	for (size_t i = 0; i < spec_types(w->n->spec); i++) {
		const struct spec_type *t = spec_type(w->n->spec, i);
		cJSON *type = cJSON_CreateObject();
		cJSON *fields;

		cJSON_AddItemToArray(types, type);
		cJSON_AddStringToObject(type, "name", t->name);
		fields = cJSON_AddArrayToObject(type, "fields");
		for (uint32_t k = 0; t->layout && k < t->layout->n_fields; k++)
			cJSON_AddItemToArray(
				fields, cJSON_CreateString(t->layout->fields[k].name));
		if (t->layout && t->layout->n_tail && !t->is_array)
			add_tail(type, t->layout);
		if (t->layout)
			add_chars(type, t->layout);
	}
}

/* ---- states --------------------------------------------------------------------------- */

/* [text, target] of field @p f, behind what @p row has already. */
static void add_value(struct page *w, cJSON *row, uint32_t id, const struct dec_field *f,
		      uint64_t time)
{
	struct fl_target target = {};
	char text[64] = "...";
	uint64_t raw;

	if (f->size >= 1 && f->size <= 8 &&
	    hg_view_read(w->view, (struct hg_node_id){ id }, f->offset, f->size, &raw)) {
		report_name_value(w->n, &w->finder, f, raw, time, text, sizeof(text));
		if (f->is_pointer)
			target = report_name_target(w->n, &w->finder, raw, time);
	}
	cJSON_AddItemToArray(row, cJSON_CreateString(text));
	cJSON_AddItemToArray(row, number(target.kind == FL_TO_NODE ? target.node.v : 0));
}

// The next node that the page shows at its beginning; {0}: none.
static struct hg_node_id next_shown(const struct page *w, struct hg_node_id id)
{
	do
		id = hg_view_next(w->view, 0, id);
	while (id.v && !is_shown(w, id.v));
	return id;
}

// Of all fields that the page begins with, in its order.
static struct err *find_writes(const struct page *w, written_bytes *ret)
{
	struct err *err = NULL;
	struct dec_field f;
	char name[8];

	for (struct hg_node_id id = {}; !err && (id = next_shown(w, id)).v;)
		for (uint64_t i = 1;
		     !err && report_name_field(w->n, id, i, &f, name, sizeof(name)); i++)
			err = vec_add(ret, (struct hg_written){ .node = id,
								.offset = f.offset });
	return err ? err : hg_view_last_writes(w->view, ret->data, ret->size);
}

static struct err *add_start(struct page *w)
{
	cJSON *start = cJSON_AddObjectToObject(w->root, "start");
	uint64_t n_ops = hg_view_ops(w->view);
	uint64_t now = n_ops ? hg_graph_op(w->n->graph, n_ops - 1).time : 0;
	written_bytes written = {};
	struct err *err = find_writes(w, &written);
	const struct hg_written *by = written.data;

	for (struct hg_node_id id = {}; !err && (id = next_shown(w, id)).v;) {
		struct dec_field f;
		char key[16], name[8];
		cJSON *fields;

		show_progress(w, "fields", by - written.data, written.size);
		add_node(w, id.v);
		snprintf(key, sizeof(key), "%u", id.v);
		fields = cJSON_AddArrayToObject(start, key);
		for (uint64_t i = 1;
		     report_name_field(w->n, id, i, &f, name, sizeof(name)); i++, by++) {
			cJSON *row = cJSON_CreateArray();

			cJSON_AddItemToArray(fields, row);
			add_value(w, row, id.v, &f, now);
			cJSON_AddItemToArray(row, number(by->time));
			cJSON_AddItemToArray(row, number(place_index(w, by->rip)));
		}
	}
	vec_deinit(&written);
	return err;
}

static struct err *add_changes(struct page *w, cJSON *step, const struct hg_op *op)
{
	const struct hg_node *h = hg_graph_node(w->n->graph, op->node);
	uint64_t from = op->kind == HG_OP_STORE ? op->addr - h->start : 0;
	uint64_t to = op->kind == HG_OP_STORE ? from + op->size : h->size;
	cJSON *changes = cJSON_CreateArray();
	uint64_t i, end;
	struct err *err = report_fields_between(&w->fields, op->node, from, to, &i, &end);
	struct dec_field f;
	char name[8];

	cJSON_AddItemToArray(step, changes);
	for (; !err && op->kind != HG_OP_FREE && i < end &&
	       report_name_field(w->n, op->node, i, &f, name, sizeof(name));
	     i++) {
		cJSON *row;

		if (f.offset + f.size <= from || f.offset >= to)
			continue;
		row = cJSON_CreateArray();
		cJSON_AddItemToArray(changes, row);
		cJSON_AddItemToArray(row, number(i - 1));
		add_value(w, row, op->node.v, &f, op->time);
	}
	return err;
}

/* ---- constraints ------------------------------------------------------------------------ */

static bool is_as_before(const spec_violations *a, const spec_violations *b)
{
	if (a->size != b->size)
		return false;
	for (size_t i = 0; i < a->size; i++)
		if (a->data[i].constraint != b->data[i].constraint ||
		    !spec_binding_equal(&a->data[i].binding, &b->data[i].binding))
			return false;
	return true;
}

static cJSON *violations_json(const spec_violations *v)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < v->size && i < VIOLATIONS_MAX; i++) {
		cJSON *row = cJSON_CreateArray();

		cJSON_AddItemToArray(list, row);
		cJSON_AddItemToArray(row, number(v->data[i].constraint));
		for (size_t k = 0; k < SPEC_MAX_VARS; k++)
			if (v->data[i].binding.node[k].v)
				cJSON_AddItemToArray(
					row, number(v->data[i].binding.node[k].v));
	}
	return list;
}

/* What is violated now; null when that is what was. */
static struct err *check_now(struct page *w, bool is_first, cJSON **ret)
{
	spec_violations now = {};
	struct err *err = NULL;

	*ret = NULL;
	for (size_t i = 0; w->checker && i < spec_constraints(w->n->spec) && !err; i++)
		err = spec_checker_check(w->checker, i, &now);
	if (!err && (is_first || !is_as_before(&now, &w->violations)))
		*ret = violations_json(&now);
	vec_deinit(&w->violations);
	w->violations = now;
	return err;
}

/* ---- steps ------------------------------------------------------------------------------ */

static struct err *add_step(struct page *w, cJSON *steps, const struct hg_op *op)
{
	static const char *const kinds[] = { "", "alloc", "free", "store" };
	cJSON *step = cJSON_CreateArray(), *violated;
	struct err *err = check_now(w, false, &violated);

	cJSON_AddItemToArray(steps, step);
	cJSON_AddItemToArray(step, number(op->time));
	cJSON_AddItemToArray(step, cJSON_CreateString(kinds[op->kind]));
	cJSON_AddItemToArray(step, number(op->node.v));
	cJSON_AddItemToArray(step, number(place_index(w, op->rip)));
	if (!err)
		err = add_changes(w, step, op);
	cJSON_AddItemToArray(step, violated ? violated : cJSON_CreateNull());
	return err;
}

static struct err *add_steps(struct page *w)
{
	cJSON *steps = cJSON_AddArrayToObject(w->root, "steps"), *violated;
	struct err *err = check_now(w, true, &violated);

	cJSON_AddItemToObject(w->root, "violated",
			      violated ? violated : cJSON_CreateArray());
	for (uint64_t i = w->p->from_op; !err && i < w->p->to_op; i++) {
		struct hg_op op;

		show_progress(w, "changes", i - w->p->from_op,
			      w->p->to_op - w->p->from_op);
		if (w->eval)
			err = spec_eval_seek(w->eval, w->view, i + 1);
		else
			hg_view_seek(w->view, i + 1);
		if (err)
			break;
		hg_view_peek(w->view, &op);
		if (!is_shown(w, op.node.v))
			continue;
		add_node(w, op.node.v);
		err = add_step(w, steps, &op);
	}
	return err;
}

static void add_constraints(struct page *w)
{
	cJSON *list = cJSON_AddArrayToObject(w->root, "constraints");

	for (size_t i = 0; i < spec_constraints(w->n->spec); i++) {
		const struct spec_constraint *c = spec_constraint(w->n->spec, i);
		cJSON *row = cJSON_CreateArray();

		cJSON_AddItemToArray(row, cJSON_CreateString(c->name));
		cJSON_AddItemToArray(row, cJSON_CreateString(c->text));
		cJSON_AddItemToArray(list, row);
	}
}

static struct err *make_json(struct page *w, uint64_t from_op)
{
	const struct fl_page *p = w->p;
	struct err *err = hg_view_create(w->n->graph, from_op, &w->view);

	if (!err)
		err = report_finder_init(&w->finder, w->n);
	if (!err)
		err = report_fields_init(&w->fields, w->n);
	if (!err && p->is_checked)
		err = spec_eval_create(w->n->spec, w->n->graph, w->view, &w->eval);
	if (!err && p->is_checked)
		err = spec_checker_create(w->eval, false, &w->checker);
	if (err)
		return err;
	w->root = cJSON_CreateObject();
	cJSON_AddStringToObject(w->root, "title", p->title);
	add_types(w);
	add_constraints(w);
	w->json_places = cJSON_AddArrayToObject(w->root, "places");
	w->json_nodes = cJSON_AddObjectToObject(w->root, "nodes");
	err = add_start(w);
	return err ? err : add_steps(w);
}

/* ---- the file --------------------------------------------------------------------------- */

/* JSON inside a script element: "</" would end it. */
static void put_json(const char *text, FILE *out)
{
	for (; *text; text++)
		if (text[0] == '<')
			fputs("\\u003c", out);
		else
			fputc(*text, out);
}

static struct err *write_file(const struct page *w, const char *path)
{
	_cleanup_free_ char *raw = cJSON_PrintUnformatted(w->root);
	_cleanup_free_ char *text = text_cleaned(raw, TEXT_JSON);
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = text ? new_file_open(&f, path, w->p->mode) : &err_nomem;

	if (err)
		return err;
	fwrite(report_page_html, 1, report_page_html_end - report_page_html, f.stream);
	fputs("<script>show(", f.stream);
	put_json(text, f.stream);
	fputs(");</script>\n</body>\n</html>\n", f.stream);
	return new_file_commit(&f);
}

struct err *report_page_write(const struct fl_page *p, const char *path,
			      uint64_t *n_left_out)
{
	struct fl_page part = *p;
	_cleanup_(page_deinit) struct page w = { .p = &part,
						 .n = p->namer,
						 .begun_s = clock_now_s() };
	struct err *err;

	*n_left_out = 0;
	if (part.to_op - part.from_op > FL_PAGE_OPS) {
		*n_left_out = part.to_op - part.from_op - FL_PAGE_OPS;
		part.from_op = part.to_op - FL_PAGE_OPS;
	}
	err = make_json(&w, part.from_op);
	if (!err && is_slow(&w, clock_now_s()))
		fputs(TEXT_AGAIN "faultline: page: being written", stderr);
	if (!err)
		err = write_file(&w, path);
	end_progress(&w);
	return err;
}
