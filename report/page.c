// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is in the page, behind its program:
 *
 *   blocks of nodes that live at its beginning, two lines each, which are parsed when they are
 *   needed: [id, n, field, target, .. n times, id, ..] and [[node, value, ..], ..] where a value
 *   is [text, time after the node was allocated, place] or, where that is 0, its text
 *
 *   types	[{name, fields: [name], tail, chars}]
 *   steps	[[time, kind, id, place, changes, violated]]
 *		changes: [[field, text, target]]; of a new node: all fields
 *		violated: [[constraint, [id], [[id, field]]]], or null: as before
 *   violated	before the first step
 *   far	how many nodes live at its beginning, but are not on the page
 *   points	[[steps before it, name]] C-points that were reached
 *   lasting	numbers of the steps that leave something violated at the next C-point
 *   places	[[text, source, line]], -1 for no source
 *   sources	[{line: text}]
 *   nodes	{id: node} of those that steps allocate
 *
 * Fields are counted from 0; a node is [type, place, address, bytes, time, origin].
 */
#include "report/page_parts.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "report/script.h"

extern const char report_page_html[], report_page_html_end[];

#define PROGRESS_AFTER_S 2
#define PROGRESS_EVERY_S 0.2

static void page_deinit(struct page *w)
{
	vec_deinit(&w->violations);
	spec_checker_destroy(w->checker);
	spec_eval_destroy(w->eval);
	report_finder_deinit(&w->finder);
	report_fields_deinit(&w->fields);
	report_lasting_deinit(&w->lasting);
	report_sources_deinit(&w->sources);
	hg_view_destroy(w->view);
	map_deinit(&w->marked);
	map_deinit(&w->place_numbers);
	map_deinit(&w->nodes);
	map_deinit(&w->near);
	vec_deinit(&w->places);
	vec_deinit(&w->points);
	vec_deinit(&w->born);
}

bool report_page_shows(const struct page *w, uint32_t id)
{
	uint32_t type = hg_graph_node(w->n->graph, (struct hg_node_id){ id })->type;

	return type && (!w->p->type || type == w->p->type) &&
	       (!w->p->is_near || map_get(&w->near, id));
}

// Whether it takes so long that something is to be said, which is then done.
static bool is_slow(struct page *w, double now_s)
{
	if (!w->p->with_progress || now_s - w->begun_s < PROGRESS_AFTER_S)
		return false;
	w->said_s = now_s;
	return true;
}

void report_page_show_progress(struct page *w, const char *what, uint64_t done,
			       uint64_t all)
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

static struct err *add_step(struct page *w, const struct hg_op *op)
{
	static const char *const kinds[] = { "", "alloc", "free", "store" };
	uint64_t place;
	struct err *err = report_page_place(w, op->rip, &place);

	fprintf(w->out, "%s[%llu,\"%s\",%u,%llu,[", w->n_steps ? ",\n" : "\n",
		(unsigned long long)op->time, kinds[op->kind], op->node.v,
		(unsigned long long)place);
	w->n_steps++;
	if (!err && !map_get(&w->nodes, op->node.v)) {
		err = vec_add(&w->born, op->node.v);
		if (map_put(&w->nodes, op->node.v, 1))
			err = &err_nomem;
	}
	if (!err)
		err = report_page_print_changes(w, op);
	fputs("],", w->out);
	if (!err)
		err = report_page_print_violated(w, op->node.v, false);
	fputc(']', w->out);
	return err;
}

static struct err *add_steps(struct page *w)
{
	struct err *err;

	fputs(",\n\"violated\":", w->out);
	err = report_page_print_violated(w, 0, true);
	fputs(",\n\"steps\":[", w->out);
	if (!err)
		err = report_page_pass_visits(w, w->p->from_op);
	for (uint64_t i = w->p->from_op; !err && i < w->p->to_op; i++) {
		struct hg_op op;

		report_page_show_progress(w, "changes", i - w->p->from_op,
					  w->p->to_op - w->p->from_op);
		if (w->eval)
			err = spec_eval_seek(w->eval, w->view, i + 1);
		else
			hg_view_seek(w->view, i + 1);
		if (err)
			break;
		hg_view_peek(w->view, &op);
		if (report_page_shows(w, op.node.v))
			err = add_step(w, &op);
		if (!err)
			err = report_page_pass_visits(w, i + 1);
	}
	fputc(']', w->out);
	return err ? err :
		     report_lasting_point(&w->lasting, w->n->spec, -1, &w->violations);
}

/* ---- the file --------------------------------------------------------------------------- */

static struct err *print_born(struct page *w)
{
	struct err *err = NULL;

	fputs(",\n\"nodes\":{", w->out);
	for (size_t i = 0; !err && i < w->born.size; i++) {
		fprintf(w->out, "%s\"%u\":", i ? ",\n" : "", w->born.data[i]);
		err = report_page_print_node(w, w->born.data[i]);
	}
	fputc('}', w->out);
	return err;
}

static struct err *prepare(struct page *w)
{
	const struct fl_page *p = w->p;
	struct err *err = p->is_near ?
				  hg_trails_view(w->n->trails, p->from_op, &w->view) :
				  hg_view_create(w->n->graph, p->from_op, &w->view);

	if (!err)
		err = report_finder_init(&w->finder, w->n);
	if (!err)
		err = report_fields_init(&w->fields, w->n);
	if (!err && p->is_near)
		err = report_page_find_near(w);
	if (!err && p->is_checked)
		err = spec_eval_create(w->n->spec, w->n->graph, w->view, &w->eval);
	if (!err && p->is_checked)
		err = spec_checker_create(w->eval, false, &w->checker);
	return err;
}

static struct err *print_page(struct page *w)
{
	struct err *err = prepare(w);

	fwrite(report_page_html, 1, report_page_html_end - report_page_html, w->out);
	fputs("</script>\n", w->out);
	if (!err)
		err = report_page_print_start(w);
	fputs("<script type=\"application/json\" id=\"log\">{\"title\":", w->out);
	report_script_string(w->out, w->p->title);
	report_page_print_types(w);
	if (!err)
		err = add_steps(w);
	if (!err)
		err = print_born(w);
	fprintf(w->out, ",\n\"far\":%lu,\"now\":%lu", w->n_far, w->p->now);
	report_page_print_points(w);
	report_page_print_places(w); // last: all the others have theirs now
	fputs("}</script>\n<script>show();</script>\n</body>\n</html>\n", w->out);
	return err;
}

struct err *report_page_print(const struct fl_page *p, FILE *out, uint64_t *n_left_out)
{
	struct fl_page part = *p;
	_cleanup_(page_deinit) struct page w = {
		.p = &part, .n = p->namer, .out = out, .begun_s = clock_now_s()
	};
	struct err *err;

	*n_left_out = 0;
	if (part.to_op - part.from_op > FL_PAGE_OPS) {
		*n_left_out = part.to_op - part.from_op - FL_PAGE_OPS;
		part.from_op = part.to_op - FL_PAGE_OPS;
	}
	err = print_page(&w);
	end_progress(&w);
	return err;
}

struct err *report_page_write(const struct fl_page *p, const char *path,
			      uint64_t *n_left_out)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, p->mode);

	if (!err)
		err = report_page_print(p, f.stream, n_left_out);
	return err ? err : new_file_commit(&f);
}
