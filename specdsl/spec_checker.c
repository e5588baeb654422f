// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * All inconsistencies at the position of a moving view (paper 001, section 4.3.1). The
 * bindings of a constraint are divided by the node of the first variable; such a unit is
 * evaluated again only when something that it read has changed (spec_track.h).
 */
#include "specdsl/spec_checker.h"

#include <string.h>

#include "specdsl/spec_eval.h"

// A node from this size on has more than one unit of an intra-node constraint: one for each
// so many bytes of it, or fewer.
#define LARGE_BYTES 256
#define UNIT_BYTES 8

/** The bindings of one constraint whose first variable stands for one node; of some values
 * of its index, if it has one. */
struct unit {
	uint32_t constraint;
	struct rule_part part; ///< which bindings
	uint32_t result;       ///< as which it is tracked; 0: the unit is free
	uint32_t next_of_node; ///< another unit of root; 0 ends
	uint32_t place;	       ///< in violated, + 1; 0: not there
	uint32_t n_violations;
	struct spec_violation *violations;
	bool is_queued;
};

/** One constraint. */
struct checked {
	bool has_root;
	uint32_t root_type;
	VEC(uint32_t) queue;	///< units to evaluate; some may be free by now
	VEC(uint32_t) violated; ///< units with violations
};

struct spec_checker {
	struct spec_eval *e;
	bool is_by_args;
	struct checked *checked; ///< one a constraint
	VEC(struct unit) units;	 ///< index 0 is not used
	VEC(uint32_t) free_units;
	struct spec_args deps; ///< scratch
	spec_violations found; ///< scratch
	uint64_t evaluations;
};

static size_t n_rules(const struct spec_checker *c)
{
	return c->e->s->rules.size;
}

/* ---- units -------------------------------------------------------------------------------- */

static void set_violations(struct spec_checker *c, struct unit *u,
			   struct spec_violation *violations, uint32_t n)
{
	struct checked *k = &c->checked[u->constraint];

	free(u->violations);
	u->violations = violations;
	u->n_violations = n;
	if (n && !u->place) {
		// There is room: add_unit() reserved it.
		k->violated.data[k->violated.size++] = u - c->units.data;
		u->place = k->violated.size;
	}
	if (!n && u->place) {
		uint32_t last = k->violated.data[--k->violated.size];

		k->violated.data[u->place - 1] = last;
		c->units.data[last].place = u->place;
		u->place = 0;
	}
}

static void free_unit(struct spec_checker *c, uint32_t i)
{
	struct unit *u = &c->units.data[i];

	set_violations(c, u, NULL, 0);
	spec_track_free(c->e, u->result);
	u->result = 0;
	if (!u->is_queued)
		c->free_units.data[c->free_units.size++] = i;
}

static int add_unit(struct spec_checker *c, uint32_t constraint,
		    const struct rule_part *part, uint32_t next_of_node, uint32_t *ret)
{
	struct checked *k = &c->checked[constraint];
	uint32_t i = c->units.size;
	struct unit *u;

	if (vec_reserve(&c->free_units, c->units.size + 1) ||
	    vec_reserve(&k->violated, c->units.size + 1))
		return -1;
	if (c->free_units.size)
		i = c->free_units.data[--c->free_units.size];
	else if (!vec_push(&c->units))
		return -1;
	u = &c->units.data[i];
	*u = (struct unit){ .constraint = constraint,
			    .part = *part,
			    .next_of_node = next_of_node };
	if (spec_track_new(&c->e->track, TRACK_UNIT, i, &u->result)) {
		c->free_units.data[c->free_units.size++] = i;
		return -1;
	}
	*ret = i;
	return spec_checker_queue(c, i);
}

int spec_checker_queue(struct spec_checker *c, uint32_t unit)
{
	struct unit *u = &c->units.data[unit];

	if (u->is_queued)
		return 0;
	if (vec_add(&c->checked[u->constraint].queue, unit))
		return -1;
	u->is_queued = true;
	return 0;
}

/** Of an intra-node constraint a large node has units for a few values of the index each. */
static int add_units(struct spec_checker *c, uint32_t constraint, struct edge_node *n)
{
	const struct spec_rule *r = c->e->s->rules.data[constraint];
	struct rule_part part = { n->id, r->from, r->to };
	uint64_t bytes = n->end - n->start;
	uint64_t n_values = r->pub.is_intra && r->to >= r->from ?
				    (uint64_t)r->to - (uint64_t)r->from :
				    0;
	uint64_t at_a_time = bytes < LARGE_BYTES ? n_values :
						   n_values / (bytes / UNIT_BYTES);

	for (; n_values > at_a_time; n_values -= at_a_time + 1) {
		part.to = part.from + at_a_time;
		if (add_unit(c, constraint, &part, n->first_unit, &n->first_unit))
			return -1;
		part.from = part.to + 1;
	}
	part.to = r->to;
	return add_unit(c, constraint, &part, n->first_unit, &n->first_unit);
}

int spec_checker_add_node(struct spec_checker *c, struct hg_node_id id)
{
	struct edge_node *n = (struct edge_node *)spec_edges_node(&c->e->edges, id);

	for (size_t i = 0; i < n_rules(c); i++)
		if (c->checked[i].has_root &&
		    spec_type_is(c->e->s, n->type, c->checked[i].root_type) &&
		    add_units(c, i, n))
			return -1;
	return 0;
}

void spec_checker_drop_node(struct spec_checker *c, struct hg_node_id id)
{
	struct edge_node *n = (struct edge_node *)spec_edges_node(&c->e->edges, id);
	uint32_t next;

	for (uint32_t i = n->first_unit; i; i = next) {
		next = c->units.data[i].next_of_node;
		free_unit(c, i);
	}
	n->first_unit = 0;
}

static void drop_all(struct spec_checker *c)
{
	for (size_t i = 1; i < c->units.size; i++) {
		free(c->units.data[i].violations);
		spec_track_free(c->e, c->units.data[i].result);
	}
	for (size_t i = 0; i < n_rules(c); i++)
		c->checked[i].queue.size = c->checked[i].violated.size = 0;
	c->units.size = c->units.size > 0;
	c->free_units.size = 0;
}

static int add_all(struct spec_checker *c)
{
	const struct edges *edges = &c->e->edges;
	uint32_t unit;

	for (size_t i = 0; i < n_rules(c); i++) {
		const struct spec_rule *r = c->e->s->rules.data[i];
		const struct rule_part all = { .from = r->from, .to = r->to };

		if (!c->checked[i].has_root && add_unit(c, i, &all, 0, &unit))
			return -1;
	}
	for (size_t i = 0; i < edges->nodes.size; i++)
		if (spec_checker_add_node(c, edges->nodes.data[i].id))
			return -1;
	return 0;
}

void spec_checker_start_anew(struct spec_checker *c)
{
	drop_all(c);
	c->e->edges.is_out_of_memory |= add_all(c) != 0;
}

/* ---- evaluation --------------------------------------------------------------------------- */

static struct err *evaluate(struct spec_checker *c, struct unit *u)
{
	struct spec_violation *kept = NULL;
	struct scope sc = { .e = c->e, .deps = &c->deps };

	c->deps.args.size = c->deps.deps.size = c->deps.reads.size = 0;
	c->deps.gaps.size = c->found.size = 0;
	c->e->is_out_of_memory = false;
	c->evaluations++;
	spec_rule_check(&sc, u->constraint, &u->part, 0, &c->found);
	for (size_t i = 0; c->is_by_args && i < c->found.size; i++)
		spec_rule_args(c->e, u->constraint, &c->found.data[i].binding, &c->deps);
	if (c->found.size && !c->e->is_out_of_memory) {
		kept = malloc(c->found.size * sizeof(*kept));
		if (!kept)
			return &err_nomem;
		memcpy(kept, c->found.data, c->found.size * sizeof(*kept));
	}
	if (c->e->is_out_of_memory || spec_track_set(c->e, u->result, &c->deps)) {
		free(kept);
		return &err_nomem;
	}
	set_violations(c, u, kept, c->found.size);
	return NULL;
}

static struct err *add_violations(const struct unit *u, spec_violations *ret)
{
	if (!u->n_violations)
		return NULL;
	if (vec_reserve(ret, ret->size + u->n_violations))
		return &err_nomem;
	memcpy(ret->data + ret->size, u->violations,
	       u->n_violations * sizeof(*u->violations));
	ret->size += u->n_violations;
	return NULL;
}

struct err *spec_checker_renew(struct spec_checker *c, uint32_t constraint,
			       spec_violations *ret)
{
	struct checked *k = &c->checked[constraint];
	struct err *err = spec_eval_refresh(c->e);

	while (!err && k->queue.size) {
		uint32_t i = k->queue.data[k->queue.size - 1];
		struct unit *u = &c->units.data[i];

		if (u->result)
			err = evaluate(c, u);
		if (!err && u->result && ret)
			err = add_violations(u, ret);
		if (err)
			break;
		k->queue.size--;
		u->is_queued = false;
		if (!u->result)
			c->free_units.data[c->free_units.size++] = i;
	}
	return err;
}

uint64_t spec_checker_evaluations(const struct spec_checker *c)
{
	return c->evaluations;
}

struct err *spec_checker_check(struct spec_checker *c, uint32_t constraint,
			       spec_violations *ret)
{
	const struct checked *k = &c->checked[constraint];
	struct err *err = spec_checker_renew(c, constraint, NULL);
	size_t first = ret->size;

	for (size_t i = 0; i < k->violated.size && !err; i++)
		err = add_violations(&c->units.data[k->violated.data[i]], ret);
	if (!err && ret->size - first > 1)
		spec_rule_sort(ret->data + first, ret->size - first);
	return err;
}

/* ---- life --------------------------------------------------------------------------------- */

struct err *spec_checker_create(struct spec_eval *e, bool is_by_args,
				struct spec_checker **ret)
{
	_cleanup_(spec_checker_destroyp) struct spec_checker *c = calloc(1, sizeof(*c));

	if (!c)
		return &err_nomem;
	c->e = e;
	c->is_by_args = is_by_args;
	c->checked = calloc(n_rules(c) + 1, sizeof(*c->checked));
	if (!c->checked || !vec_push(&c->units))
		return &err_nomem;
	for (size_t i = 0; i < n_rules(c); i++) {
		const struct spec_rule *r = e->s->rules.data[i];
		const struct plan_step *first = spec_rule_plan(r)->steps;

		c->checked[i].has_root = spec_rule_plan(r)->n_steps &&
					 first->source == PLAN_ALL;
		c->checked[i].root_type = r->vars[first->var].type;
	}
	e->checker = c;
	e->edges.is_valid = false; // its nodes are met when they are read anew
	*ret = take_ptr(&c);
	return spec_track_start(e);
}

void spec_checker_destroy(struct spec_checker *c)
{
	if (!c)
		return;
	if (c->checked)
		drop_all(c);
	for (size_t i = 0; c->checked && i < n_rules(c); i++) {
		vec_deinit(&c->checked[i].queue);
		vec_deinit(&c->checked[i].violated);
	}
	free(c->checked);
	vec_deinit(&c->units);
	vec_deinit(&c->free_units);
	vec_deinit(&c->found);
	spec_args_deinit(&c->deps);
	if (c->e->checker == c)
		c->e->checker = NULL;
	free(c);
}

void spec_checker_destroyp(struct spec_checker **c)
{
	spec_checker_destroy(*c);
}
