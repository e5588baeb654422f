// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The heap at the beginning of the page, and what its steps change.
 */
#include "report/page_parts.h"

#include "report/script.h"

#define BLOCK_NODES 200

typedef VEC(struct hg_written) written_bytes;

/* Of field @p f: @p text, and the node that it leads to, 0 for none. */
static uint32_t read_value(struct page *w, uint32_t id, const struct dec_field *f,
			   uint64_t time, char *text, size_t bytes)
{
	struct fl_target target = {};
	uint64_t raw;

	snprintf(text, bytes, "...");
	if (f->size < 1 || f->size > 8 ||
	    !hg_view_read(w->view, (struct hg_node_id){ id }, f->offset, f->size, &raw))
		return 0;
	report_name_value(w->n, &w->finder, f, raw, time, text, bytes);
	if (f->is_pointer)
		target = report_name_target(w->n, &w->finder, raw, time);
	return target.kind == FL_TO_NODE ? target.node.v : 0;
}

// The next node that the page shows at its beginning; {0}: none.
static struct hg_node_id next_shown(const struct page *w, struct hg_node_id id)
{
	do
		id = hg_view_next(w->view, 0, id);
	while (id.v && !report_page_shows(w, id.v));
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
	if (err || !w->n->trails)
		return err ?: hg_view_last_writes(w->view, ret->data, ret->size);
	return hg_trails_last_writes(w->n->trails, hg_view_ops(w->view), ret->data,
				     ret->size);
}

/* What a block has in its first line. */
typedef VEC(uint32_t) pointers;

static struct err *print_value(struct page *w, const struct hg_node *h, const char *text,
			       const struct hg_written *by)
{
	uint64_t place;
	struct err *err = NULL;

	fputs(by->time == h->born ? "," : ",[", w->out);
	report_script_string(w->out, text);
	if (by->time == h->born)
		return NULL;
	err = report_page_place(w, by->rip, &place);
	fprintf(w->out, ",%lld,%llu]", (long long)(by->time - h->born),
		(unsigned long long)place);
	return err;
}

/* @p by: its fields', of which it is past then. */
static struct err *add_state(struct page *w, uint32_t id, uint64_t now,
			     const struct hg_written **by, pointers *to)
{
	const struct hg_node *h = hg_graph_node(w->n->graph, (struct hg_node_id){ id });
	size_t count = to->size + 1;
	struct err *err = vec_add(to, id);
	struct dec_field f;
	char name[8], text[64];

	if (!err)
		err = vec_add(to, 0);
	fputc('[', w->out);
	if (!err)
		err = report_page_print_node(w, id);
	for (uint64_t i = 1; !err && report_name_field(w->n, (struct hg_node_id){ id }, i,
						       &f, name, sizeof(name));
	     i++) {
		uint32_t target = read_value(w, id, &f, now, text, sizeof(text));

		err = print_value(w, h, text, (*by)++);
		if (err || !target)
			continue;
		to->data[count]++;
		err = vec_add(to, i - 1);
		if (!err)
			err = vec_add(to, target);
	}
	fputc(']', w->out);
	return err;
}

/* The nodes behind @p id, as many as fit; the second line is made before the first. */
static struct err *add_block(struct page *w, struct hg_node_id *id, uint64_t now,
			     const struct hg_written **by)
{
	_cleanup_free_ char *states = NULL;
	FILE *page = w->out;
	pointers to = {};
	struct err *err = NULL;
	size_t bytes;

	w->out = open_memstream(&states, &bytes);
	if (!w->out) {
		w->out = page;
		return &err_nomem;
	}
	for (int i = 0; !err && i < BLOCK_NODES; i++) {
		struct hg_node_id next = next_shown(w, *id);

		if (!next.v)
			break;
		fputs(i ? ",\n" : "", w->out);
		*id = next;
		err = map_put(&w->nodes, next.v, 1) ? &err_nomem :
						      add_state(w, next.v, now, by, &to);
	}
	if (fclose(w->out))
		err = err ? err : &err_nomem;
	w->out = page;
	fputs("<script type=\"application/json\" class=\"block\">[", w->out);
	for (size_t i = 0; !err && i < to.size; i++)
		fprintf(w->out, "%s%u", i ? "," : "", to.data[i]);
	fprintf(w->out, "]\n[%s]</script>\n", err ? "" : states);
	vec_deinit(&to);
	return err;
}

struct err *report_page_print_start(struct page *w)
{
	uint64_t n_ops = hg_view_ops(w->view);
	uint64_t now = n_ops ? hg_graph_op(w->n->graph, n_ops - 1).time : 0;
	written_bytes written = {};
	struct err *err = find_writes(w, &written);
	const struct hg_written *by = written.data;

	for (struct hg_node_id id = {}; !err && next_shown(w, id).v;) {
		report_page_show_progress(w, "fields", by - written.data, written.size);
		err = add_block(w, &id, now, &by);
	}
	vec_deinit(&written);
	return err;
}

struct err *report_page_print_changes(struct page *w, const struct hg_op *op)
{
	const struct hg_node *h = hg_graph_node(w->n->graph, op->node);
	uint64_t from = op->kind == HG_OP_STORE ? op->addr - h->start : 0;
	uint64_t to = op->kind == HG_OP_STORE ? from + op->size : h->size;
	uint64_t i, end;
	struct err *err = report_fields_between(&w->fields, op->node, from, to, &i, &end);
	const char *comma = "";
	char name[8], text[64];
	struct dec_field f;

	for (; !err && op->kind != HG_OP_FREE && i < end &&
	       report_name_field(w->n, op->node, i, &f, name, sizeof(name));
	     i++) {
		uint32_t target;

		if (f.offset + f.size <= from || f.offset >= to)
			continue;
		target = read_value(w, op->node.v, &f, op->time, text, sizeof(text));
		fprintf(w->out, "%s[%llu,", comma, (unsigned long long)i - 1);
		report_script_string(w->out, text);
		fprintf(w->out, ",%u]", target);
		comma = ",";
	}
	return err;
}
