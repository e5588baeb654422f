// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_statements.h"

#include <string.h>

#define STATEMENTS_MAX 256
#define VISITS_MAX 200000

struct statements {
	struct fl_cpoints *c;
	const struct hg_graph *g;
	const struct fl_places *places;
	struct map cpoint_of; ///< address -> index + 1; 0: not of main
	VEC(struct fl_visit) visits;
	size_t n;
};

static bool is_name(const char *name, const char *text)
{
	return name && strcmp(name, text) == 0;
}

// The C-point before the statement at rip, + 1; 0: it is not one of main's.
static struct err *find_cpoint(struct statements *s, uint64_t rip, uint64_t *ret)
{
	const uint64_t *known = map_get(&s->cpoint_of, rip);
	struct dec_place p = {};
	struct err *err = NULL;
	uint32_t cpoint;

	*ret = known ? *known : 0;
	if (known || rip == MAP_EMPTY_KEY)
		return NULL;
	s->places->place(s->places->ctx, rip, &p);
	if (p.file && (is_name(p.function, "main") || is_name(p.outer, "main")) &&
	    s->n < STATEMENTS_MAX) {
		err = fl_cpoints_add_statement(s->c, &p, &cpoint);
		*ret = cpoint + 1;
		s->n++;
	}
	return err || !map_put(&s->cpoint_of, rip, *ret) ? err : &err_nomem;
}

static struct err *add_op(struct statements *s, const struct hg_op *op, uint64_t index)
{
	struct fl_visit visit = { .at = { .time = op->time, .app_ops = index } };
	uint64_t cpoint;
	struct err *err;

	if (op->kind != HG_OP_STORE || !hg_graph_node(s->g, op->node)->type)
		return NULL;
	err = find_cpoint(s, op->rip, &cpoint);
	if (err || !cpoint)
		return err;
	visit.cpoint = cpoint - 1;
	return vec_add(&s->visits, visit) ? &err_nomem : NULL;
}

struct err *fl_statements_add(struct fl_cpoints *c, const struct hg_graph *g,
			      const struct fl_places *places, size_t *n)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct statements s = { .c = c, .g = g, .places = places };
	struct err *err = hg_view_create(g, 0, &v);
	struct hg_op op;

	while (!err && s.visits.size <= VISITS_MAX && hg_view_forward(v, &op))
		err = add_op(&s, &op, hg_view_ops(v) - 1);
	*n = s.visits.size <= VISITS_MAX ? s.n : 0;
	if (!err && *n)
		err = fl_cpoints_merge(c, s.visits.data, s.visits.size);
	map_deinit(&s.cpoint_of);
	vec_deinit(&s.visits);
	return err;
}
