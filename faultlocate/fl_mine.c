// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_mine.h"

#include <inttypes.h>
#include <string.h>

#include "faultlocate/fl_infer.h"
#include "faultlocate/fl_outer.h"
#include "faultlocate/fl_propose.h"
#include "faultlocate/fl_stages.h"

#define NODES_MIN 3	// of a type, to say anything about it
#define ELEMENTS_MIN 8	// of an array, to say something about a single node
#define ASKED_MIN 16	// less often it held by chance
#define POINTS_MAX 2000 // where there are more, every so manyth is looked at
#define TYPES_MAX 16	// so many structs, those with the most nodes
#define EVALUATIONS_MAX UINT64_C(60000000)

typedef VEC(struct fl_proposed_type) types;

/** Entry or return of a function. */
struct point {
	char *name; ///< as fl_cpoint has it
	bool is_entry;
	bool is_within; ///< in one of the runs it was met within an operation
};

/** What is tried. */
struct miner {
	const struct fl_mine_options *o;
	struct fl_analysis layouts; ///< of the first run: types are borrowed from it
	types types;
	struct fl_proposal tried;
	bool *holds; ///< a candidate each
	uint64_t *n_asked;
	VEC(struct point) points;
	struct fl_mined *ret;
};

/** A run that it is held against. */
struct run {
	struct fl_analysis a;
	bool *is_point; ///< a visit each: is it looked at?
};

static void miner_deinit(struct miner *m)
{
	for (size_t i = 0; i < m->types.size; i++) {
		free((char *)m->types.data[i].name);
		free(m->types.data[i].values);
	}
	for (size_t i = 0; i < m->points.size; i++)
		free(m->points.data[i].name);
	vec_deinit(&m->types);
	vec_deinit(&m->points);
	fl_proposal_deinit(&m->tried);
	free(m->holds);
	free(m->n_asked);
	fl_analysis_deinit(&m->layouts);
}

static void run_deinit(struct run *r)
{
	free(r->is_point);
	fl_analysis_deinit(&r->a);
}

/* ---- which structs ------------------------------------------------------------------------ */

static bool is_word(const char *s)
{
	return !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_")];
}

/* In a specification a name that is no word stands in quotes. */
static char *written(const char *name)
{
	char *ret = NULL;

	return asprintf(&ret, is_word(name) ? "%s" : "\"%s\"", name) < 0 ? NULL : ret;
}

static bool is_wanted(const struct fl_mine_options *o, const struct dec_struct *s)
{
	for (size_t i = 0; i < o->n_types; i++)
		if (!strcmp(o->types[i], s->name))
			return true;
	return !o->n_types;
}

static bool leads_to(const struct dec_struct *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (s->fields[i].is_pointer && s->fields[i].points_to &&
		    !strcmp(s->fields[i].points_to, name))
			return true;
	return false;
}

/* Without a pointer to or from another struct that is allocated, it is no part of a structure. */
static bool is_linked(const struct spec *s, const struct dec_struct *one)
{
	for (size_t i = 0; i < spec_types(s); i++) {
		const struct dec_struct *other = spec_type(s, i)->layout;

		if (other && (leads_to(one, other->name) || leads_to(other, one->name)))
			return true;
	}
	return false;
}

/* A struct that holds an array and how much of it is in use is a structure alone. */
static bool has_array(const struct dec_struct *s)
{
	bool has = false, is_counted = false;
	unsigned count;

	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct dec_field *f = &s->fields[i];

		has |= fl_propose_is_array(s, i, &count) && count >= ELEMENTS_MIN;
		is_counted |= !f->is_pointer && !f->is_float && !strchr(f->name, '[');
	}
	return has && is_counted;
}

static struct err *add_type(struct miner *m, const struct dec_struct *s)
{
	struct fl_proposed_type t = { .name = written(s->name), .layout = s };
	struct err *err;

	t.values = calloc(s->n_fields + 1, sizeof(*t.values));
	err = t.name && t.values ? vec_add(&m->types, t) : &err_nomem;
	if (err) {
		free((char *)t.name);
		free(t.values);
	}
	return err;
}

static struct err *choose_types(struct miner *m)
{
	const struct spec *s = m->layouts.spec;
	_cleanup_free_ uint32_t *n_nodes = calloc(spec_types(s) + 1, sizeof(*n_nodes));
	const struct hg_graph *g = m->layouts.sides[FL_SIDE_APP].graph;
	struct err *err = n_nodes ? NULL : &err_nomem;

	for (uint32_t id = 1; !err && id <= hg_graph_nodes(g); id++)
		n_nodes[hg_graph_node(g, (struct hg_node_id){ id })->type]++;
	for (size_t i = 0; i < spec_types(s) && !err && m->types.size < TYPES_MAX; i++) {
		const struct dec_struct *layout = spec_type(s, i)->layout;

		if (!layout || !n_nodes[i + 1] || !is_wanted(m->o, layout))
			continue;
		if (has_array(layout) || (n_nodes[i + 1] >= NODES_MIN &&
					  (m->o->n_types || is_linked(s, layout))))
			err = add_type(m, layout);
	}
	if (err || m->types.size)
		return err;
	return m->o->n_types ?
		       err_new(ERR_NOT_FOUND,
			       "cannot find nodes of '%s' in '%s': at least %d must be "
			       "allocated, by code with debug information",
			       text_line(m->o->types[0]), m->o->captures[0], NODES_MIN) :
		       err_new(ERR_NOT_FOUND,
			       "cannot propose anything for '%s': it allocates no structs with "
			       "pointers to each other, none with an array and a number beside it, or has no debug information about them",
			       m->o->captures[0]);
}

/* ---- which numbers they have ----------------------------------------------------------------- */

static int64_t number_of(const struct dec_field *f, uint64_t bits)
{
	unsigned size = f->bit_size ? f->bit_size : 8 * f->size;

	bits >>= f->bit_size ? f->bit_offset : 0;
	if (size >= 64)
		return (int64_t)bits;
	bits &= (UINT64_C(1) << size) - 1;
	return f->is_signed && bits >> (size - 1) ?
		       (int64_t)(bits | ~UINT64_C(0) << size) :
		       (int64_t)bits;
}

static void note_value(struct fl_proposed_values *v, int64_t value)
{
	for (int i = 0; i < v->n && i < FL_PROPOSE_VALUES; i++)
		if (v->value[i] == value)
			return;
	if (v->n < FL_PROPOSE_VALUES)
		v->value[v->n] = value;
	v->n += v->n <= FL_PROPOSE_VALUES;
}

static struct fl_proposed_type *type_of(struct miner *m, const struct hg_node *n)
{
	for (size_t i = 0; n->type && i < m->types.size; i++)
		if (m->types.data[i].layout ==
		    spec_type(m->layouts.spec, n->type - 1)->layout)
			return &m->types.data[i];
	return NULL;
}

/* As the view has them, of the node that has just changed. */
static void note_values(struct miner *m, const struct hg_view *v, const struct hg_op *op)
{
	const struct hg_node *n =
		hg_graph_node(m->layouts.sides[FL_SIDE_APP].graph, op->node);
	struct fl_proposed_type *t = op->kind == HG_OP_STORE ? type_of(m, n) : NULL;
	uint64_t at = op->addr - n->start, bits;

	for (uint32_t i = 0; t && i < t->layout->n_fields; i++) {
		const struct dec_field *f = &t->layout->fields[i];

		if (!f->is_pointer && !f->is_float && f->size <= 8 &&
		    f->offset < at + op->size && at < f->offset + f->size &&
		    hg_view_read(v, op->node, f->offset, f->size, &bits))
			note_value(&t->values[i], number_of(f, bits));
	}
}

static struct err *find_values(struct miner *m)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(m->layouts.sides[FL_SIDE_APP].graph, 0, &v);
	struct hg_op op;

	while (!err && hg_view_forward(v, &op))
		note_values(m, v, &op);
	return err;
}

/* ---- where they must hold ---------------------------------------------------------------------- */

static struct point *point_of(struct miner *m, const struct fl_cpoint *c)
{
	struct point *p = vec_find(&m->points, e, !strcmp(e->name, c->name));

	if (p || !(p = vec_push(&m->points)))
		return p;
	*p = (struct point){ .name = strdup(c->name),
			     .is_entry = c->kind == FL_CPOINT_ENTRY };
	if (!p->name)
		m->points.size--;
	return p->name ? p : NULL;
}

/* A function is called outside of all operations, or within one: where it was ever called within one,
 * what holds when an operation is complete need not hold. */
static struct err *find_points(struct miner *m, const struct fl_cpoints *c,
			       bool *is_point)
{
	size_t n = fl_cpoints_visits(c);
	struct err *err = fl_outer_find(c, is_point);

	for (size_t i = 0; i < n && !err; i++) {
		const struct fl_cpoint *at =
			fl_cpoints_get(c, fl_cpoints_visit_at(c, i)->cpoint);
		struct point *p = at->kind == FL_CPOINT_END ? NULL : point_of(m, at);

		if (at->kind != FL_CPOINT_END && !p)
			err = &err_nomem;
		else if (p)
			p->is_within |= !is_point[i];
	}
	return err;
}

static struct err *choose_points(struct miner *m, struct run *r)
{
	const struct fl_cpoints *c = r->a.cpoints;
	size_t n = fl_cpoints_visits(c), n_points = 0, nth = 0;
	struct err *err;

	r->is_point = calloc(n + 1, sizeof(bool));
	err = r->is_point ? find_points(m, c, r->is_point) : &err_nomem;
	for (size_t i = 0; i < n && !err; i++) {
		const struct fl_cpoint *at =
			fl_cpoints_get(c, fl_cpoints_visit_at(c, i)->cpoint);

		r->is_point[i] = at->kind == FL_CPOINT_END || !point_of(m, at)->is_within;
		n_points += r->is_point[i];
	}
	for (size_t i = 0; i + 1 < n && !err; i++)
		if (r->is_point[i])
			r->is_point[i] = nth++ % (n_points / POINTS_MAX + 1) == 0;
	return err;
}

/* ---- holding them against a run ------------------------------------------------------------------ */

static struct err *try_at(struct miner *m, struct spec_checker *checker)
{
	struct err *err = NULL;

	m->ret->n_points++;
	for (size_t i = 0; i < m->tried.constraints.size && !err; i++) {
		spec_violations found = {};

		if (!m->holds[i])
			continue;
		err = spec_checker_check(checker, i, &found);
		m->holds[i] = !found.size;
		vec_deinit(&found);
	}
	if (!err && spec_checker_evaluations(checker) > EVALUATIONS_MAX)
		err = err_new(ERR_UNSUPPORTED,
			      "cannot try all at every C-point of '%s': too much to ask; "
			      "name fewer structs",
			      m->o->captures[0]);
	return err;
}

static struct err *try_run(struct miner *m, struct run *r)
{
	const struct hg_graph *g = r->a.sides[FL_SIDE_APP].graph;
	_cleanup_(hg_view_destroyp) struct hg_view *view = NULL;
	_cleanup_(spec_eval_destroyp) struct spec_eval *eval = NULL;
	_cleanup_(spec_checker_destroyp) struct spec_checker *checker = NULL;
	struct err *err = hg_view_create(g, 0, &view);

	if (!err)
		err = spec_eval_create(r->a.spec, g, view, &eval);
	if (!err)
		err = spec_checker_create(eval, false, &checker);
	for (size_t i = 0; i < fl_cpoints_visits(r->a.cpoints) && !err; i++) {
		const struct fl_visit *v = fl_cpoints_visit_at(r->a.cpoints, i);

		if (r->is_point[i])
			err = spec_eval_seek(eval, view, fl_visit_ops(v, FL_SIDE_APP));
		if (r->is_point[i] && !err)
			err = try_at(m, checker);
	}
	for (size_t i = 0; i < m->tried.constraints.size && !err; i++)
		m->n_asked[i] += spec_eval_asked(eval, i);
	return err;
}

/* ---- the text ---------------------------------------------------------------------------------- */

static char *candidates_text(const struct miner *m)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < m->types.size; i++)
		fprintf(out, "%s;\n", m->types.data[i].name);
	for (size_t i = 0; i < m->tried.attributes.size; i++)
		fprintf(out, "%s\n", m->tried.attributes.data[i]);
	for (size_t i = 0; i < m->tried.constraints.size; i++)
		fprintf(out, "%s\n", m->tried.constraints.data[i].text);
	return fclose(out) ? free(text), NULL : text;
}

/* What follows from one of its group that is written says nothing more. */
static void drop_weaker(struct miner *m)
{
	unsigned last = UINT32_MAX;

	for (size_t i = 0; i < m->tried.constraints.size; i++) {
		const struct fl_proposed *c = &m->tried.constraints.data[i];

		m->holds[i] &= m->n_asked[i] > 0 && c->group != last &&
			       (c->implied_by < 0 || !m->holds[c->implied_by]);
		if (m->holds[i] && m->n_asked[i] >= ASKED_MIN)
			last = c->group;
	}
}

static void write_attributes(const struct miner *m, FILE *out)
{
	for (size_t k = 0; k < m->tried.attributes.size; k++) {
		bool is_used = false;

		for (size_t i = 0; i < m->tried.constraints.size; i++)
			is_used |= m->holds[i] &&
				   m->tried.constraints.data[i].attribute == (int)k;
		if (is_used)
			fprintf(out, "%s\n", m->tried.attributes.data[k]);
	}
}

static void write_points(const struct miner *m, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->points.size; i++) {
		const struct point *p = &m->points.data[i];
		const char *of = strstr(p->name, " of ");

		if (p->is_within || !of)
			continue;
		n++;
		fprintf(out, is_word(of + 4) ? "CPOINT %s %s;\n" : "CPOINT \"%s\" %s;\n",
			of + 4, p->is_entry ? "ENTRY" : "EXIT");
	}
	if (!n)
		fputs("# No function was seen to do whole operations: CPOINT insert; says where to "
		      "ask, beside the end.\n",
		      out);
}

static void write_spec(struct miner *m, FILE *out)
{
	fputs("# What held in", out);
	for (size_t i = 0; i < m->o->n_captures; i++)
		fprintf(out, "%s %s", i ? "," : "", text_line(m->o->captures[i]));
	fprintf(out,
		", at %zu C-points. A proposal: keep what must hold, throw away\n# what held by "
		"chance. Behind each: of how many nodes, or pairs of them, it was asked.\n",
		m->ret->n_points);
	for (size_t i = 0; i < m->types.size; i++)
		fprintf(out, "%s;\n", m->types.data[i].name);
	write_attributes(m, out);
	for (size_t i = 0; i < m->tried.constraints.size; i++) {
		const struct fl_proposed *c = &m->tried.constraints.data[i];
		bool is_thin = m->n_asked[i] < ASKED_MIN;

		if (!m->holds[i])
			continue;
		m->ret->n_held += !is_thin;
		m->ret->n_thin += is_thin;
		fprintf(out, "%s%s # %s; %" PRIu64 "\n", is_thin ? "# " : "", c->text,
			c->about, m->n_asked[i]);
	}
	write_points(m, out);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static struct err *require_fine(const struct fl_analysis *a, const char *capture)
{
	if (a->run.end != CAP_END_SIGNAL)
		return NULL;
	return err_new(
		ERR_UNSUPPORTED,
		"cannot propose what should hold: %s ended the program in '%s': give "
		"runs in which nothing is wrong",
		text_signal(a->run.end_value), capture);
}

static struct err *find_layouts(struct miner *m)
{
	const struct fl_options o = { .capture = m->o->captures[0],
				      .is_heap_only = true,
				      .with_progress = m->o->with_progress };
	struct err *err = fl_analysis_run(&o, &m->layouts);

	if (!err)
		err = require_fine(&m->layouts, o.capture);
	if (!err)
		err = choose_types(m);
	return err ? err : find_values(m);
}

/* Once for the nodes and who changes them, once more for these functions' calls. */
static struct err *hold_against(struct miner *m, const char *capture, const char *text)
{
	_cleanup_(run_deinit) struct run r = {};
	const struct fl_options o = { .capture = capture,
				      .text = text,
				      .is_heap_only = true,
				      .with_progress = m->o->with_progress };
	size_t n = 0;
	struct err *err = fl_analysis_run(&o, &r.a);

	if (!err)
		err = require_fine(&r.a, capture);
	if (!err)
		err = fl_infer_candidates(r.a.cpoints, r.a.sides[FL_SIDE_APP].graph,
					  &r.a.places, &n);
	if (!err)
		err = fl_replay_once(&o, &r.a);
	if (!err)
		err = fl_replay_types(&r.a);
	if (!err)
		err = choose_points(m, &r);
	return err ? err : try_run(m, &r);
}

static struct err *begin(struct miner *m, char **text)
{
	struct err *err = find_layouts(m);

	if (!err)
		err = fl_propose(m->types.data, m->types.size, &m->tried);
	if (err)
		return err;
	m->ret->n_tried = m->tried.constraints.size;
	m->holds = malloc((m->ret->n_tried + 1) * sizeof(bool));
	m->n_asked = calloc(m->ret->n_tried + 1, sizeof(*m->n_asked));
	*text = candidates_text(m);
	if (!m->holds || !m->n_asked || !*text)
		return &err_nomem;
	memset(m->holds, true, m->ret->n_tried);
	return NULL;
}

struct err *fl_mine(const struct fl_mine_options *o, FILE *out, struct fl_mined *ret)
{
	_cleanup_(miner_deinit) struct miner m = { .o = o, .ret = ret };
	_cleanup_free_ char *text = NULL;
	struct err *err = NULL;

	*ret = (struct fl_mined){};
	err = begin(&m, &text);
	for (size_t i = 0; i < o->n_captures && !err; i++)
		err = hold_against(&m, o->captures[i], text);
	if (err)
		return err;
	drop_weaker(&m);
	write_spec(&m, out);
	return fflush(out) || ferror(out) ? err_errno("cannot write the specification") :
					    NULL;
}
