// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which nodes have the same number in a field. `X.key == Y.key => X == Y` is about all pairs
 * of nodes; who looks for Y by X's key looks at one or two. An index is made when a check
 * first asks, and follows the view as long as results are tracked.
 */
#include "specdsl/spec_same.h"

#include "specdsl/spec_eval.h"

/** A node in a bucket. */
struct same_node {
	uint32_t bucket; ///< 0: in none
	uint32_t next, prev;
};

/** The nodes with one value. */
struct same_bucket {
	uint64_t value;
	uint32_t first, n;
};

struct same_index {
	const struct ast *field; ///< of one variable
	uint32_t type;		 ///< of the nodes in it
	struct dec_field at;
	bool is_usable;			 ///< the field is a whole number, at one place
	bool is_valid;			 ///< it has followed the view
	VEC(struct same_node) nodes;	 ///< by node id
	VEC(struct same_bucket) buckets; ///< 0 is not used
	VEC(uint32_t) free_buckets;
	struct map by_value; ///< to the bucket
};

/* ---- an index ------------------------------------------------------------------------- */

// Buckets are a first choice, the comparison decides: two values may share one.
static uint64_t value_key(uint64_t value)
{
	return value - (value == MAP_EMPTY_KEY);
}

static uint32_t list_of(const struct spec_eval *e, const struct same_index *x,
			uint64_t value)
{
	return (value + (x - e->sames.data)) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static void tell(struct spec_eval *e, const struct same_index *x, uint64_t value)
{
	spec_links_touch(e, TRACK_SAME, list_of(e, x, value));
}

static void take_out(struct spec_eval *e, struct same_index *x, uint32_t id)
{
	struct same_node *n = id < x->nodes.size ? &x->nodes.data[id] : NULL;
	struct same_bucket *b = n ? &x->buckets.data[n->bucket] : NULL;

	if (!n || !n->bucket)
		return;
	tell(e, x, b->value);
	if (n->next)
		x->nodes.data[n->next].prev = n->prev;
	if (n->prev)
		x->nodes.data[n->prev].next = n->next;
	else
		b->first = n->next;
	if (!--b->n) {
		map_remove(&x->by_value, b->value);
		x->free_buckets.data[x->free_buckets.size++] = n->bucket;
	}
	n->bucket = 0;
}

/** @return the bucket of @p value, 0 when memory is out. */
static uint32_t bucket_of(struct same_index *x, uint64_t value)
{
	const uint64_t *known = map_get(&x->by_value, value);
	uint32_t i = x->buckets.size;

	if (known)
		return *known;
	// Taking out must not fail.
	if (vec_reserve(&x->free_buckets, x->buckets.size + 1))
		return 0;
	if (x->free_buckets.size)
		i = x->free_buckets.data[x->free_buckets.size - 1];
	else if (!vec_push(&x->buckets))
		return 0;
	if (map_put(&x->by_value, value, i))
		return 0;
	x->free_buckets.size -= x->free_buckets.size > 0;
	x->buckets.data[i] = (struct same_bucket){ .value = value };
	return i;
}

/** Put node @p id, which is in no bucket, where it belongs now. @return -1: memory is out. */
static int put_in(struct spec_eval *e, struct same_index *x, uint32_t id)
{
	uint64_t raw = 0;
	struct same_bucket *b;
	uint32_t i, n = hg_graph_nodes(e->g) + 1;

	if (!hg_view_read(e->v, (struct hg_node_id){ id }, x->at.offset, x->at.size,
			  &raw))
		return 0;
	raw = value_key((uint64_t)spec_eval_decode_field(&x->at, raw).i);
	if (vec_reserve(&x->nodes, n))
		return -1;
	while (x->nodes.size < n)
		x->nodes.data[x->nodes.size++] = (struct same_node){ 0 };
	i = bucket_of(x, raw);
	if (!i)
		return -1;
	b = &x->buckets.data[i];
	x->nodes.data[id] = (struct same_node){ .bucket = i, .next = b->first };
	if (b->first)
		x->nodes.data[b->first].prev = id;
	b->first = id;
	b->n++;
	tell(e, x, raw);
	return 0;
}

static int make_valid(struct spec_eval *e, struct same_index *x)
{
	if (x->is_valid)
		return 0;
	x->nodes.size = x->free_buckets.size = 0;
	x->buckets.size = x->buckets.size > 0;
	map_deinit(&x->by_value);
	if (!x->buckets.size && !vec_push(&x->buckets))
		return -1;
	for (size_t i = 0; i < e->edges.nodes.size; i++) {
		const struct edge_node *n = &e->edges.nodes.data[i];

		if (n->is_live && spec_type_is(e->s, n->type, x->type) &&
		    put_in(e, x, n->id.v))
			return -1;
	}
	x->is_valid = true;
	return 0;
}

/** Is @p n a whole number at one place in each node of type @p type? */
static bool is_indexable(const struct spec_eval *e, const struct ast *n, uint32_t type,
			 struct dec_field *ret)
{
	uint64_t field = n->by_type ? n->by_type[type].field :
			 n->b	    ? (uint64_t)n->b->number :
				      0;

	return n->user_attr < 0 && !n->is_prefix && !n->n_steps &&
	       n->base->kind == AST_VAR &&
	       (n->by_type || (n->b && n->b->kind == AST_NUMBER)) &&
	       spec_field_at(&e->s->types.data[type], field, ret) && ret->size &&
	       ret->size <= 8 && !ret->is_float;
}

/** @return the index of @p field of nodes of type @p type; NULL: there can be none. */
static struct same_index *find_index(struct spec_eval *e, const struct ast *field,
				     uint32_t type)
{
	struct same_index *x = NULL;

	for (size_t i = 0; i < e->sames.size && !x; i++)
		if (e->sames.data[i].field == field)
			x = &e->sames.data[i];
	if (!x) {
		x = vec_push(&e->sames);
		if (!x)
			return NULL;
		*x = (struct same_index){ .field = field, .type = type };
		x->is_usable = is_indexable(e, field, type, &x->at);
	}
	return x->is_usable && !make_valid(e, x) ? x : NULL;
}

/** The side of @p c that is a field of the variable of @p step. */
static const struct ast *field_of(const struct ast *c, const struct plan_step *step)
{
	return c->a->vars == 1u << step->var && c->a->kind != AST_VAR ? c->a : c->b;
}

/* ---- what others ask and tell -------------------------------------------------------------- */

bool spec_same_candidates(struct scope *sc, const struct plan *plan,
			  const struct plan_step *step, uint32_t type,
			  void (*add)(void *ctx, uint32_t id), void *ctx)
{
	const struct same_index *best = NULL;
	const struct same_bucket *bucket = NULL;
	uint64_t best_value = 0, sames = sc->e->track.is_on ? step->sames : 0;

	// First all are made: that may move them.
	for (uint64_t bits = sames; bits; bits &= bits - 1)
		find_index(sc->e, field_of(plan->conjuncts[__builtin_ctzll(bits)], step),
			   type);
	for (uint64_t bits = sames; bits; bits &= bits - 1) {
		const struct ast *c = plan->conjuncts[__builtin_ctzll(bits)];
		bool is_a = field_of(c, step) == c->a;
		const struct same_index *x = find_index(sc->e, field_of(c, step), type);
		struct value v = spec_eval_number(sc, is_a ? c->b : c->a);
		const uint64_t *i;

		if (v.kind == VALUE_NONE)
			return true; // no node can make it true
		if (!x || v.kind != VALUE_INT)
			continue;
		i = map_get(&x->by_value, value_key((uint64_t)v.i));
		if (best && (!bucket || (i && x->buckets.data[*i].n >= bucket->n)))
			continue;
		best = x;
		best_value = value_key((uint64_t)v.i);
		bucket = i ? &x->buckets.data[*i] : NULL;
	}
	if (!best)
		return false;
	spec_eval_add_dep(sc, SPEC_DEP_SAME,
			  (struct hg_node_id){ list_of(sc->e, best, best_value) });
	for (uint32_t id = bucket ? bucket->first : 0; id; id = best->nodes.data[id].next)
		add(ctx, id);
	return true;
}

int spec_same_follow(struct spec_eval *e, enum edge_event event, uint32_t id,
		     uint64_t offset, uint32_t size)
{
	const struct edge_node *n = spec_edges_node(&e->edges, (struct hg_node_id){ id });

	for (size_t i = 0; i < e->sames.size; i++) {
		struct same_index *x = &e->sames.data[i];

		if (event == EDGE_ALL)
			x->is_valid = false;
		if (!x->is_valid || !n || !spec_type_is(e->s, n->type, x->type) ||
		    (event != EDGE_BORN && event != EDGE_DIED && event != EDGE_NODE) ||
		    (event == EDGE_NODE && (x->at.offset >= offset + size ||
					    offset >= x->at.offset + x->at.size)))
			continue;
		take_out(e, x, id);
		if (event != EDGE_DIED && put_in(e, x, id))
			return -1;
	}
	return 0;
}

void spec_same_deinit(struct spec_eval *e)
{
	for (size_t i = 0; i < e->sames.size; i++) {
		vec_deinit(&e->sames.data[i].nodes);
		vec_deinit(&e->sames.data[i].buckets);
		vec_deinit(&e->sames.data[i].free_buckets);
		map_deinit(&e->sames.data[i].by_value);
	}
	vec_deinit(&e->sames);
}
