// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/dot.h"

#include <string.h>

#include "report/fold.h"
#include "report/marks.h"
#include "report/missing.h"

// Rings around the violation are drawn up to the third, or until there are so many nodes:
// what is farther away explains little and makes the picture small.
#define RINGS_MAX 3
#define RINGS_NODES 16
#define MEMBERS_MAX 8	     // of one cluster
#define FIELDS_MAX 14	     // of one box; the rest is one row of dots
#define MARKED_MAX 50	     // violations whose fields are marked
#define LOWEST_ADDRESS 65536 // vm.mmap_min_addr
#define COLOR_LINE "#5b6b7b"
#define COLOR_HEAD "#e8edf2"
#define COLOR_BAD "#c92a2a"
#define COLOR_BAD_HEAD "#ffe3e3"
#define COLOR_OLD "#868e96"

/** The drawing under way. */
struct drawing {
	const struct fl_picture *p;
	const struct fl_namer *n;
	FILE *out;
	VEC(uint32_t) nodes;   ///< those to draw, in the order they were found
	struct map chosen;     ///< node -> ring around the violation that it is in
	uint64_t ring;	       ///< under construction
	struct map bad;	       ///< node -> 1: part of a violation
	struct map bad_edges;  ///< from << 32 | to -> 1
	struct map bad_fields; ///< node << 32 | field, from 1 -> 1
	struct fl_fold fold;   ///< when nothing is violated: what is shown
	struct map ghosts;     ///< freed nodes and wild addresses drawn already
	bool is_partial;       ///< nodes were left out
	uint64_t time;
	struct fl_finder finder;
	VEC(struct hg_written)
	written;	///< the pointer fields, in the order of draw_edges()
	size_t n_drawn; ///< of them
};

static void drawing_deinit(struct drawing *d)
{
	vec_deinit(&d->nodes);
	map_deinit(&d->chosen);
	map_deinit(&d->bad);
	map_deinit(&d->bad_edges);
	map_deinit(&d->bad_fields);
	map_deinit(&d->ghosts);
	report_fold_deinit(&d->fold);
	report_finder_deinit(&d->finder);
	vec_deinit(&d->written);
}

/* ---- which nodes ------------------------------------------------------------------------ */

static size_t max_nodes(const struct drawing *d)
{
	return d->p->max_nodes ? d->p->max_nodes : FL_PICTURE_NODES;
}

static int choose(struct drawing *d, uint32_t id)
{
	uint32_t *slot;

	if (map_get(&d->chosen, id))
		return 0;
	if (d->nodes.size >= max_nodes(d)) {
		d->is_partial = true;
		return 0;
	}
	slot = vec_push(&d->nodes);
	if (!slot || map_put(&d->chosen, id, d->ring))
		return -1;
	*slot = id;
	return 0;
}

static bool read_pointer(const struct drawing *d, uint32_t id, const struct dec_field *f,
			 uint64_t *addr)
{
	return f->is_pointer && f->size == 8 &&
	       hg_view_read(d->p->view, (struct hg_node_id){ id }, f->offset, 8, addr);
}

static int choose_targets(struct drawing *d, uint32_t id)
{
	struct dec_field f;
	uint64_t addr;
	char name[8];

	for (uint64_t i = 1; report_name_field(d->n, (struct hg_node_id){ id }, i, &f,
					       name, sizeof(name));
	     i++) {
		struct hg_node_id to;

		if (!read_pointer(d, id, &f, &addr))
			continue;
		to = hg_view_find(d->p->view, addr);
		if (to.v && choose(d, to.v))
			return -1;
	}
	return 0;
}

// .. of an earlier ring
static bool points_to_chosen(const struct drawing *d, uint32_t id)
{
	const uint64_t *ring;
	struct dec_field f;
	uint64_t addr;
	char name[8];

	for (uint64_t i = 1; report_name_field(d->n, (struct hg_node_id){ id }, i, &f,
					       name, sizeof(name));
	     i++) {
		if (!read_pointer(d, id, &f, &addr))
			continue;
		ring = map_get(&d->chosen, hg_view_find(d->p->view, addr).v);
		if (ring && *ring < d->ring)
			return true;
	}
	return false;
}

// Whoever points to a chosen node, of the declared types.
static int choose_sources(struct drawing *d)
{
	for (size_t type = 1; type <= spec_types(d->n->spec); type++) {
		struct hg_node_id id = { 0 };

		while ((id = hg_view_next(d->p->view, type, id)).v) {
			if (d->nodes.size >= max_nodes(d))
				return 0;
			if (!map_get(&d->chosen, id.v) && points_to_chosen(d, id.v) &&
			    choose(d, id.v))
				return -1;
		}
	}
	return 0;
}

// Nothing is wrong: everything that is declared, large parts of it folded; and what that
// leads to, when there is little enough.
static int choose_all(struct drawing *d)
{
	if (report_fold_make(d->n, d->p->view, max_nodes(d), &d->fold))
		return -1;
	for (size_t i = 0; i < d->fold.shown.size; i++)
		if (choose(d, d->fold.shown.data[i]))
			return -1;
	for (size_t i = 0; !d->fold.folded.size && i < d->fold.shown.size; i++)
		if (choose_targets(d, d->fold.shown.data[i]))
			return -1;
	return 0;
}

// The violated nodes, then ring by ring what they lead to and what leads to them.
static int choose_nodes(struct drawing *d)
{
	const struct fl_picture *p = d->p;
	size_t done = 0, before;

	for (size_t i = 0; i < p->n_violations; i++)
		for (size_t k = 0; k < SPEC_MAX_VARS; k++) {
			struct hg_node_id id = p->violations[i].binding.node[k];

			if (hg_view_is_live(p->view, id) &&
			    (choose(d, id.v) || map_put(&d->bad, id.v, 1)))
				return -1;
		}
	if (!d->nodes.size)
		return choose_all(d);
	do {
		size_t end = before = d->nodes.size;

		d->ring++;
		if (choose_sources(d))
			return -1;
		for (; done < end; done++)
			if (choose_targets(d, d->nodes.data[done]))
				return -1;
	} while (d->nodes.size > before && d->ring < RINGS_MAX &&
		 d->nodes.size < RINGS_NODES);
	return 0;
}

static int find_bad_edges(struct drawing *d)
{
	for (size_t i = 0; i < d->p->n_violations; i++) {
		const struct hg_node_id *b = d->p->violations[i].binding.node;

		for (size_t x = 0; x < SPEC_MAX_VARS; x++)
			for (size_t y = 0; y < SPEC_MAX_VARS; y++)
				if (x != y && b[x].v && b[y].v &&
				    map_put(&d->bad_edges,
					    (uint64_t)b[x].v << 32 | b[y].v, 1))
					return -1;
	}
	return 0;
}

static struct err *mark_fields(struct drawing *d, struct fl_fields *fields,
			       struct spec_eval *e, fl_marks *marks)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < d->p->n_violations && i < MARKED_MAX; i++)
		err = report_marks_add(fields, e, &d->p->violations[i], marks);
	for (size_t i = 0; !err && i < marks->size; i++)
		if (map_put(&d->bad_fields,
			    (uint64_t)marks->data[i].node.v << 32 | marks->data[i].field,
			    1))
			err = &err_nomem;
	return err;
}

static struct err *find_bad_fields(struct drawing *d)
{
	_cleanup_(spec_eval_destroyp) struct spec_eval *e = NULL;
	struct fl_fields fields = {};
	fl_marks marks = {};
	struct err *err;

	if (!d->p->n_violations)
		return NULL;
	err = report_fields_init(&fields, d->n);
	if (!err)
		err = spec_eval_create(d->n->spec, d->n->graph, d->p->view, &e);
	if (!err)
		err = mark_fields(d, &fields, e, &marks);
	vec_deinit(&marks);
	report_fields_deinit(&fields);
	return err;
}

// Of fields @p i and the @p n - 1 behind.
static bool is_bad_field(const struct drawing *d, uint32_t id, uint64_t i, uint64_t n)
{
	for (uint64_t k = i; k < i + n; k++)
		if (map_get(&d->bad_fields, (uint64_t)id << 32 | k))
			return true;
	return false;
}

/* ---- drawing ------------------------------------------------------------------------------ */

static void put_html(const char *text, FILE *out)
{
	for (size_t n; n = strcspn(text, "\n"), text_put_markup(out, text, n), text[n];
	     text += n + 1)
		fputs("<br/>", out);
}

// `(time):line`, as the paper labels nodes and edges.
static void put_when(const struct drawing *d, const struct hg_op *op)
{
	struct dec_place place = {};

	d->n->places->place(d->n->places->ctx, op->rip, &place);
	fprintf(d->out, "(%llu)", (unsigned long long)op->time);
	if (place.line)
		fprintf(d->out, ":%d", place.line);
}

static void draw_row(struct drawing *d, uint64_t i, bool is_bad, const char *name,
		     const char *value)
{
	const char *back = is_bad ? " bgcolor=\"" COLOR_BAD_HEAD "\"" : "";

	fprintf(d->out, "<tr><td align=\"left\"%s>", back);
	put_html(name, d->out);
	fprintf(d->out, "</td><td align=\"left\"%s port=\"f%llu\">", back,
		(unsigned long long)i);
	put_html(value, d->out);
	fputs("</td></tr>", d->out);
}

static void draw_field(struct drawing *d, uint32_t id, uint64_t i,
		       const struct dec_field *f, const char *name)
{
	uint64_t raw;
	char value[64] = "...";

	if (f->size >= 1 && f->size <= 8 &&
	    hg_view_read(d->p->view, (struct hg_node_id){ id }, f->offset, f->size, &raw))
		report_name_value(d->n, &d->finder, f, raw, d->time, value,
				  sizeof(value));
	draw_row(d, i, is_bad_field(d, id, i, 1), name, value);
}

static bool has_edge(const struct drawing *d, uint32_t id, const struct dec_field *f)
{
	uint64_t addr;

	return read_pointer(d, id, f, &addr) && addr;
}

// Field i, or the array of char that it begins. @return how many fields that was.
static uint64_t draw_next(struct drawing *d, uint32_t id, uint64_t i, bool is_shown)
{
	struct hg_node_id node = { id };
	char name[96], text[32];
	uint64_t n = report_name_text(d->n, d->p->view, node, i, name, sizeof(name), text,
				      sizeof(text));
	struct dec_field f;

	if (n && is_shown)
		draw_row(d, i, is_bad_field(d, id, i, n), name, text);
	if (n)
		return n;
	report_name_field(d->n, node, i, &f, name, sizeof(name));
	// An edge needs its port.
	if (is_shown || has_edge(d, id, &f) || is_bad_field(d, id, i, 1))
		draw_field(d, id, i, &f, name);
	return 1;
}

static void draw_fields(struct drawing *d, uint32_t id)
{
	uint64_t i, n = 0, rows = 0, hidden = 0;
	struct dec_field f;
	char name[96];

	while (report_name_field(d->n, (struct hg_node_id){ id }, n + 1, &f, name,
				 sizeof(name)))
		n++;
	for (i = 1; i <= n; rows++) {
		bool is_shown = n <= FIELDS_MAX || rows < FIELDS_MAX - 1;

		if (!is_shown)
			hidden++;
		i += draw_next(d, id, i, is_shown);
	}
	if (hidden)
		fprintf(d->out, "<tr><td colspan=\"2\">%llu more</td></tr>",
			(unsigned long long)hidden);
}

// Where the node comes from, and went: what it was split off from or freed into.
static void draw_origin(struct drawing *d, uint32_t id)
{
	uint32_t source = hg_graph_node(d->n->graph, (struct hg_node_id){ id })->source;
	const struct hg_internal *in = d->p->internals ? &d->p->internals->data[id - 1] :
							 NULL;

	if (in && in->bytes)
		fprintf(d->out, "<br/>chunk of %llu bytes",
			(unsigned long long)in->bytes);
	if (in && in->freed)
		fprintf(d->out, ", allocation n%u until then", in->freed);
	if (in && in->taken)
		fprintf(d->out, ", allocation n%u later", in->taken);
	if (source)
		fprintf(d->out, "<br/>split from n%u", source);
}

// A cluster's members in a row by their merge edges, those of clusters in it among them.
// @prev: the last one drawn, 0: none. @left: how many more.
static void draw_members(struct drawing *d, uint32_t id, uint32_t *prev, int *left)
{
	const struct hg_node *h = hg_graph_node(d->n->graph, (struct hg_node_id){ id });
	const struct hg_internal *in = d->p->internals ? d->p->internals->data : NULL;
	const struct hg_member *m;
	size_t n, ignored;

	m = hg_graph_members(d->n->graph, (struct hg_node_id){ id }, &n);
	for (size_t i = 0; i<n && * left> 0; i++) {
		uint32_t node = m[i].node.v;
		uint64_t bytes = hg_graph_node(d->n->graph, m[i].node)->size;

		if (hg_graph_members(d->n->graph, m[i].node, &ignored)) {
			draw_members(d, node, prev, left);
			continue;
		}
		if (in && in[node - 1].bytes)
			bytes = in[node - 1].bytes;
		fprintf(d->out,
			"\tpart%u [shape=box style=\"dashed,rounded\" color=\"%s\" "
			"fontcolor=\"%s\" label=\"n%u\\n%llu bytes\"]\n",
			node, COLOR_OLD, COLOR_OLD, node, (unsigned long long)bytes);
		if (*prev)
			fprintf(d->out,
				"\tpart%u -> part%u [dir=none style=dashed color=\"%s\" "
				"label=\"(%llu)\"]\n",
				*prev, node, COLOR_OLD, (unsigned long long)h->born);
		*prev = node;
		--*left;
	}
}

static void draw_cluster(struct drawing *d, uint32_t id)
{
	uint32_t first = id, prev = 0;
	const struct hg_member *m;
	int left = MEMBERS_MAX;
	size_t n;

	while ((m = hg_graph_members(d->n->graph, (struct hg_node_id){ first }, &n)))
		first = m->node.v;
	if (first == id)
		return;
	draw_members(d, id, &prev, &left);
	fprintf(d->out, "\tn%u:head -> part%u [style=dashed color=\"%s\"]\n", id, first,
		COLOR_OLD);
}

static void draw_node(struct drawing *d, uint32_t id)
{
	const struct hg_node *h = hg_graph_node(d->n->graph, (struct hg_node_id){ id });
	const struct spec_type *t =
		report_name_type(d->n, (struct hg_node_id){ id }, NULL);
	struct hg_op born = { .time = h->born, .rip = h->alloc_rip };
	bool is_bad = map_get(&d->bad, id);

	fprintf(d->out,
		"\tn%u [color=\"%s\" label=<<table border=\"%d\" cellborder=\"1\" "
		"cellspacing=\"0\" cellpadding=\"4\">"
		"<tr><td colspan=\"2\" port=\"head\" bgcolor=\"%s\"><b>n%u </b>",
		id, is_bad ? COLOR_BAD : COLOR_LINE, is_bad ? 2 : 0,
		is_bad ? COLOR_BAD_HEAD : COLOR_HEAD, id);
	put_html(t ? t->name : "", d->out);
	if (!t)
		fprintf(d->out, "%llu bytes", (unsigned long long)h->size);
	fputs(" <font point-size=\"9\">", d->out);
	put_when(d, &born);
	draw_origin(d, id);
	fputs("</font></td></tr>", d->out);
	draw_fields(d, id);
	fputs("</table>>]\n", d->out);
}

// A place that is no node of the picture: freed memory, a wild address, a node left out.
static void draw_ghost(struct drawing *d, const char *id, uint64_t key, const char *label,
		       const char *color)
{
	if (map_get(&d->ghosts, key))
		return;
	map_put(&d->ghosts, key, 1); // without memory it is drawn twice, which is no harm
	fprintf(d->out,
		"\t%s [shape=box style=\"dashed,rounded\" color=\"%s\" fontcolor=\"%s\" "
		"label=\"%s\"]\n",
		id, color, color, label);
}

// No pointer of a program. Others that lead to no node may well be right: to static data,
// or to the head of a list in the allocator.
static bool is_impossible(uint64_t addr)
{
	return addr >> 47 || addr < LOWEST_ADDRESS;
}

// @return the box that node @p id is folded into, or 0.
static uint64_t fold_of(const struct drawing *d, uint32_t id)
{
	const uint64_t *place = map_get(&d->fold.place, id);

	return place ? *place : 0;
}

static void ghost_of(struct drawing *d, uint64_t addr, const struct fl_target *t,
		     char *id, size_t id_bytes)
{
	char label[64];

	switch (t->kind) {
	case FL_TO_NODE:
		snprintf(id, id_bytes, "n%u", t->node.v);
		if (map_get(&d->chosen, t->node.v))
			return;
		if (fold_of(d, t->node.v)) {
			snprintf(id, id_bytes, "fold%llu",
				 (unsigned long long)fold_of(d, t->node.v));
			return;
		}
		d->is_partial = true;
		snprintf(id, id_bytes, "out%u", t->node.v);
		snprintf(label, sizeof(label), "n%u ...", t->node.v);
		draw_ghost(d, id, t->node.v, label, COLOR_OLD);
		return;
	case FL_TO_FREED:
		snprintf(id, id_bytes, "freed%u", t->node.v);
		snprintf(label, sizeof(label), "n%u (freed)", t->node.v);
		draw_ghost(d, id, 1ull << 62 | t->node.v, label, COLOR_BAD);
		return;
	default:
		snprintf(id, id_bytes, "wild%llx", (unsigned long long)addr);
		snprintf(label, sizeof(label), "%#llx", (unsigned long long)addr);
		draw_ghost(d, id, 1ull << 63 ^ addr, label,
			   is_impossible(addr) ? COLOR_BAD : COLOR_OLD);
		return;
	}
}

static void draw_edge(struct drawing *d, uint32_t id, uint64_t i,
		      const struct dec_field *f, uint64_t addr,
		      const struct hg_written *by)
{
	struct fl_target t = report_name_target(d->n, &d->finder, addr, d->time);
	struct hg_op op = { .time = by->time, .rip = by->rip };
	bool is_bad, is_declared = f->name && f->name[0];
	char to[40];

	// A word of unknown meaning is a pointer when it leads to a node.
	if (!addr || (!is_declared && t.kind != FL_TO_NODE))
		return;
	is_bad = t.kind == FL_TO_NODE ?
			 map_get(&d->bad_edges, (uint64_t)id << 32 | t.node.v) ||
				 is_bad_field(d, id, i, 1) :
			 t.kind == FL_TO_FREED || is_impossible(addr);
	ghost_of(d, addr, &t, to, sizeof(to));
	fprintf(d->out, "\tn%u:f%llu:e -> %s%s [color=\"%s\" penwidth=%s label=\"", id,
		(unsigned long long)i, to, to[0] == 'n' ? ":head" : "",
		is_bad ? COLOR_BAD : COLOR_LINE, is_bad ? "2" : "1");
	put_when(d, &op);
	fprintf(d->out, "\"%s]\n", is_bad ? " fontcolor=\"" COLOR_BAD "\"" : "");
}

static void draw_edges(struct drawing *d, uint32_t id)
{
	struct dec_field f;
	uint64_t addr;
	char name[8];

	for (uint64_t i = 1; report_name_field(d->n, (struct hg_node_id){ id }, i, &f,
					       name, sizeof(name));
	     i++)
		if (read_pointer(d, id, &f, &addr))
			draw_edge(d, id, i, &f, addr, &d->written.data[d->n_drawn++]);
}

// Of all pointers that draw_edges() meets.
static struct err *find_writes(struct drawing *d)
{
	struct dec_field f;
	struct err *err = NULL;
	uint64_t addr;
	char name[8];

	for (size_t k = 0; k < d->nodes.size; k++) {
		struct hg_node_id id = { d->nodes.data[k] };

		for (uint64_t i = 1;
		     !err && report_name_field(d->n, id, i, &f, name, sizeof(name)); i++)
			if (read_pointer(d, id.v, &f, &addr))
				err = vec_add(&d->written,
					      (struct hg_written){ .node = id,
								   .offset = f.offset });
	}
	return err ? err :
		     hg_view_last_writes(d->p->view, d->written.data, d->written.size);
}

// The edge that a faulty statement took away, dashed and with the label of its end.
static void draw_old_edge(struct drawing *d, const struct fl_fault *fault)
{
	struct hg_op op = hg_graph_op(d->n->graph, fault->op);
	uint64_t start = hg_graph_node(d->n->graph, op.node)->start;
	struct dec_field f;
	struct fl_target t;
	char name[8], to[40];

	if (fault->graph != d->n->graph || op.kind != HG_OP_STORE || op.size != 8 ||
	    !map_get(&d->chosen, op.node.v))
		return;
	t = report_name_target(d->n, NULL, op.before, op.time);
	if (t.kind != FL_TO_NODE || op.before == op.after)
		return;
	for (uint64_t i = 1; report_name_field(d->n, op.node, i, &f, name, sizeof(name));
	     i++) {
		if (!f.is_pointer || f.offset != op.addr - start)
			continue;
		if (!hg_view_is_live(d->p->view, t.node))
			t.kind = FL_TO_FREED;
		ghost_of(d, op.before, &t, to, sizeof(to));
		fprintf(d->out,
			"\tn%u:f%llu:e -> %s%s [style=dashed color=\"%s\" fontcolor=\"%s\" "
			"label=\"until ",
			op.node.v, (unsigned long long)i, to, to[0] == 'n' ? ":head" : "",
			COLOR_BAD, COLOR_BAD);
		put_when(d, &op);
		fputs("\"]\n", d->out);
	}
}

// A store that is missing: an edge that had to be there, or a number beside the node.
static void draw_missing(struct drawing *d, const struct fl_missing *m)
{
	struct fl_target t = {};
	struct dec_field f = {};
	char name[128], due[64], to[40];
	uint64_t i = report_missing_field(d->n, m, name, sizeof(name));

	if (m->graph != d->n->graph || !i || !map_get(&d->chosen, m->node.v))
		return;
	report_missing_due(d->n, m, due, sizeof(due));
	report_name_field(d->n, m->node, i, &f, name, sizeof(name));
	if (f.is_pointer && f.size == 8)
		t = report_name_target(d->n, &d->finder, m->due, d->time);
	if (t.node.v && map_get(&d->chosen, t.node.v)) {
		ghost_of(d, m->due, &t, to, sizeof(to));
	} else {
		snprintf(to, sizeof(to), "missing");
		fprintf(d->out,
			"\tmissing [shape=box style=\"dashed,rounded\" color=\"%s\" "
			"fontcolor=\"%s\" label=\"%s\"]\n",
			COLOR_BAD, COLOR_BAD, due);
	}
	fprintf(d->out,
		"\tn%u:f%llu:e -> %s%s [style=\"dashed,bold\" color=\"%s\" "
		"fontcolor=\"%s\" label=\"missing: ",
		m->node.v, (unsigned long long)i, to, to[0] == 'n' ? ":head" : "",
		COLOR_BAD, COLOR_BAD);
	text_put_markup(d->out, name, strlen(name));
	fprintf(d->out, " = %s\"]\n", due);
}

static void draw_folded(struct drawing *d, size_t i)
{
	const struct fl_folded *f = &d->fold.folded.data[i];
	const struct spec_type *t =
		report_name_type(d->n, (struct hg_node_id){ f->first }, NULL);

	fprintf(d->out,
		"\tfold%zu [shape=box style=\"filled,rounded,dashed\" fillcolor=\"%s\" "
		"color=\"%s\" label=\"",
		i + 1, COLOR_HEAD, COLOR_LINE);
	if (f->is_roots)
		fprintf(d->out, "%u more nodes\\nthat no other leads to, and below",
			f->n_nodes);
	else if (f->next)
		fprintf(d->out, "n%u %s\\nand %u more in a row", f->first,
			t ? t->name : "", f->n_nodes - 1);
	else if (f->n_nodes == 1)
		fprintf(d->out, "n%u %s", f->first, t ? t->name : "");
	else if (f->is_chain)
		fprintf(d->out, "n%u %s\\nand a chain of %u more", f->first,
			t ? t->name : "", f->n_nodes - 1);
	else
		fprintf(d->out, "n%u %s\\nand %u below, %u deep", f->first,
			t ? t->name : "", f->n_nodes - 1, f->depth);
	fputs("\"]\n", d->out);
	if (f->next)
		fprintf(d->out, "\tfold%zu -> %s%u%s [color=\"%s\" style=dashed]\n",
			i + 1, fold_of(d, f->next) ? "fold" : "n",
			fold_of(d, f->next) ? (unsigned int)fold_of(d, f->next) : f->next,
			fold_of(d, f->next) ? "" : ":head", COLOR_LINE);
}

static void draw_all(struct drawing *d)
{
	fputs("digraph heap {\n"
	      "\trankdir=LR\n\tranksep=0.9\n\tnodesep=0.35\n"
	      "\tfontname=\"Helvetica\"\n\tlabelloc=t\n"
	      "\tnode [shape=plain fontname=\"Helvetica\" fontsize=11]\n"
	      "\tedge [fontname=\"Helvetica\" fontsize=9 fontcolor=\"" COLOR_LINE
	      "\" arrowsize=0.7]\n",
	      d->out);
	for (size_t i = 0; i < d->nodes.size; i++)
		draw_node(d, d->nodes.data[i]);
	for (size_t i = 0; i < d->nodes.size; i++)
		draw_cluster(d, d->nodes.data[i]);
	for (size_t i = 0; i < d->fold.folded.size; i++)
		draw_folded(d, i);
	for (size_t i = 0; i < d->nodes.size; i++)
		draw_edges(d, d->nodes.data[i]);
	for (size_t i = 0; d->p->faults && i < d->p->faults->size; i++) {
		draw_old_edge(d, &d->p->faults->data[i]);
		if (d->p->faults->data[i].missing)
			draw_missing(d, d->p->faults->data[i].missing);
	}
	// Last, for only now is it known whether something was left out.
	if (d->p->title || d->is_partial) {
		fputs("\tlabel=<", d->out);
		put_html(d->p->title ? d->p->title : "", d->out);
		if (d->is_partial)
			fputs("<br/>only the neighbourhood of the violation is shown",
			      d->out);
		fputs("<br/> >\n", d->out);
	}
	fputs("}\n", d->out);
}

struct err *report_dot_write(const struct fl_picture *p, FILE *out)
{
	_cleanup_(
		drawing_deinit) struct drawing d = { .p = p, .n = p->namer, .out = out };
	struct err *err;

	if (hg_view_ops(p->view))
		d.time = hg_graph_op(d.n->graph, hg_view_ops(p->view) - 1).time;
	if (choose_nodes(&d) || find_bad_edges(&d))
		return &err_nomem;
	err = report_finder_init(&d.finder, d.n);
	if (!err)
		err = find_bad_fields(&d);
	if (!err)
		err = find_writes(&d);
	if (err)
		return err;
	draw_all(&d);
	return ferror(out) ? err_errno("cannot write the picture") : NULL;
}
