// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From changed nodes to results that must be computed again.
 */
#include <assert.h>

#include "specdsl/spec_checker.h"
#include "specdsl/spec_eval.h"

/* ---- results ------------------------------------------------------------------------------ */

int spec_track_new(struct track *t, enum track_kind kind, uint32_t owner, uint32_t *ret)
{
	struct track_result *r;

	// A result may be in the list of stale ones twice: freed there, and as its next self.
	if (vec_reserve(&t->free_results, t->results.size + 1) ||
	    vec_reserve(&t->stale, t->stale.size + t->results.size + 1))
		return -1;
	if (t->free_results.size) {
		*ret = t->free_results.data[--t->free_results.size];
		r = &t->results.data[*ret];
	} else {
		r = vec_push(&t->results);
		if (!r)
			return -1;
		*ret = t->results.size - 1;
	}
	*r = (struct track_result){ .kind = kind, .owner = owner, .is_stale = true };
	return 0;
}

void spec_track_free(struct spec_eval *e, uint32_t result)
{
	struct track *t = &e->track;

	if (!result)
		return;
	spec_links_touch(e, TRACK_RESULT, result);
	spec_links_drop(e, result);
	t->results.data[result].kind = TRACK_FREE;
	t->free_results.data[t->free_results.size++] = result;
}

static int add_dep(struct spec_eval *e, uint32_t result, const struct spec_dep *d)
{
	const struct memo *m;

	switch (d->kind) {
	case SPEC_DEP_NODE:
		return spec_links_add(e, result, TRACK_NODE, d->node.v, &d->bytes);
	case SPEC_DEP_INTO:
		return spec_links_add(e, result, TRACK_INTO, d->node.v, NULL);
	case SPEC_DEP_EDGES:
		return spec_links_add(e, result, TRACK_PATHS, d->node.v, NULL);
	case SPEC_DEP_SAME:
		return spec_links_add(e, result, TRACK_SAME, d->node.v, NULL);
	case SPEC_DEP_RING:
		return spec_links_add(e, result, TRACK_RING, d->node.v, NULL);
	case SPEC_DEP_ATTR:
		m = spec_eval_find_memo(e, (struct attr_task){ .attr = d->attr,
							       .node = d->node });
		// Not tracked is a value that was known before tracking began.
		return m && m->result ?
			       spec_links_add(e, result, TRACK_RESULT, m->result, NULL) :
			       spec_links_add(e, result, TRACK_ALL, 0, NULL);
	case SPEC_DEP_ALL:
		return spec_links_add(e, result, TRACK_ALL, 0, NULL);
	}
	return -1;
}

int spec_track_set(struct spec_eval *e, uint32_t result, const struct spec_args *deps)
{
	spec_links_drop(e, result);
	for (size_t i = 0; i < deps->deps.size; i++) {
		if (add_dep(e, result, &deps->deps.data[i])) {
			spec_links_drop(e, result);
			return -1;
		}
	}
	e->track.results.data[result].is_stale = false;
	return 0;
}

/* ---- events ------------------------------------------------------------------------------- */

/** All nodes were read anew, their lists are empty. */
static void start_anew(struct spec_eval *e)
{
	struct track *t = &e->track;

	spec_links_forget(t);
	t->moved.size = 0;
	for (size_t i = 1; i < t->results.size; i++)
		t->results.data[i].first_own = t->results.data[i].dependents = 0;
	for (size_t i = 1; i < t->results.size; i++)
		if (t->results.data[i].kind == TRACK_WATCH)
			spec_links_make_stale(e, i);
	spec_eval_drop_memos(e);
	if (e->checker)
		spec_checker_start_anew(e->checker);
}

static void on_out(struct spec_eval *e, uint32_t id, uint64_t offset, uint32_t size)
{
	struct track *t = &e->track;
	uint32_t *slot = t->n_path_links ? vec_push(&t->moved) : NULL;

	if (slot)
		*slot = id;
	else if (t->n_path_links)
		e->edges.is_out_of_memory = true;
	spec_links_touch_bytes(e, id, offset, size);
}

/** Node @p id is new, or about to go: of a root all nodes may have been asked for. */
static void touch_root(struct spec_eval *e, uint32_t id)
{
	const struct edge_node *n = spec_edges_node(&e->edges, (struct hg_node_id){ id });

	if (n && e->s->types.data[n->type].is_root)
		spec_links_touch(e, TRACK_SAME, spec_root_list(n->type));
}

static void on_event(void *ctx, enum edge_event event, uint32_t id, uint64_t offset,
		     uint32_t size)
{
	struct spec_eval *e = ctx;

	if (spec_same_follow(e, event, id, offset, size))
		e->edges.is_out_of_memory = true;
	if (event != EDGE_RING) // it follows from others
		spec_links_touch(e, TRACK_ALL, 0);
	switch (event) {
	case EDGE_ALL:
		start_anew(e);
		break;
	case EDGE_BORN:
		touch_root(e, id);
		if (e->checker &&
		    spec_checker_add_node(e->checker, (struct hg_node_id){ id }))
			e->edges.is_out_of_memory = true;
		break;
	case EDGE_DIED:
		touch_root(e, id);
		spec_links_touch_bytes(e, id, 0, 0);
		spec_links_touch(e, TRACK_INTO, id);
		spec_links_touch(e, TRACK_PATHS, id);
		spec_links_touch(e, TRACK_RING, id);
		spec_eval_drop_memos_of(e, (struct hg_node_id){ id });
		if (e->checker)
			spec_checker_drop_node(e->checker, (struct hg_node_id){ id });
		break;
	case EDGE_NODE:
		spec_links_touch_bytes(e, id, offset, size);
		break;
	case EDGE_OUT:
		on_out(e, id, offset, size);
		break;
	case EDGE_INTO:
		spec_links_touch(e, TRACK_INTO, id);
		break;
	case EDGE_RING:
		spec_links_touch(e, TRACK_RING, id);
		break;
	case EDGE_LIFE:
		break;
	}
}

/* ---- settling ----------------------------------------------------------------------------- */

/** Which nodes lead to nodes that moved. */
struct backward {
	struct spec_eval *e;
	uint64_t *seen; ///< bit set of indices
	VEC(uint32_t) stack;
	bool is_out_of_memory;
};

static void backward_add(void *ctx, uint32_t id)
{
	struct backward *b = ctx;
	const struct edge_node *n =
		spec_edges_node(&b->e->edges, (struct hg_node_id){ id });
	size_t i = n ? edges_index(&b->e->edges, n) : 0;
	uint32_t *slot;

	if (!n || bit_get(b->seen, i))
		return;
	bit_set(b->seen, i);
	slot = vec_push(&b->stack);
	if (slot)
		*slot = id;
	b->is_out_of_memory |= !slot;
}

/** Paths that lead through a node that moved led to one first, over edges that are still
 * there: who reaches such a node now is who may reach other nodes than before. */
static int touch_paths(struct spec_eval *e)
{
	struct track *t = &e->track;
	_cleanup_free_ uint64_t *seen = NULL;
	struct backward b = { .e = e };

	if (!t->moved.size)
		return 0;
	b.seen = seen = calloc(e->edges.nodes.size / 64 + 1, sizeof(*seen));
	b.is_out_of_memory = !seen;
	for (size_t i = 0; i < t->moved.size && !b.is_out_of_memory; i++)
		backward_add(&b, t->moved.data[i]);
	while (b.stack.size && !b.is_out_of_memory) {
		uint32_t id = b.stack.data[--b.stack.size];

		spec_links_touch(e, TRACK_PATHS, id);
		spec_edges_sources(&e->edges,
				   spec_edges_node(&e->edges, (struct hg_node_id){ id }),
				   backward_add, &b);
	}
	vec_deinit(&b.stack);
	t->moved.size = 0;
	return b.is_out_of_memory ? -1 : 0;
}

/** Let the owner of stale result @p i know, and make stale what depends on it. */
static int settle_one(struct spec_eval *e, uint32_t i)
{
	const struct track_result *r = &e->track.results.data[i];
	uint32_t *slot;

	if (r->kind == TRACK_FREE)
		return 0;
	spec_links_touch(e, TRACK_RESULT, i);
	if (r->kind == TRACK_UNIT)
		return spec_checker_queue(e->checker, r->owner);
	if (r->kind == TRACK_MEMO) {
		e->memos.data[r->owner].state = MEMO_STALE;
		return 0;
	}
	slot = vec_push(&e->track.touched);
	if (slot)
		*slot = i;
	return slot ? 0 : -1;
}

struct err *spec_track_settle(struct spec_eval *e)
{
	struct track *t = &e->track;

	if (touch_paths(e) || (t->n_ring_links && spec_order_update(&e->edges)))
		goto nomem;
	for (size_t i = 0; i < t->stale.size; i++) {
		if (settle_one(e, t->stale.data[i]))
			goto nomem;
	}
	t->stale.size = 0;
	return NULL;
nomem:
	e->edges.is_valid = false; // begin anew the next time
	return &err_nomem;
}

struct err *spec_track_start(struct spec_eval *e)
{
	struct track *t = &e->track;

	if (t->is_on)
		return NULL;
	if (!t->links.size && (!vec_push(&t->links) || !vec_push(&t->groups)))
		return &err_nomem;
	if (!t->results.size && !vec_push(&t->results))
		return &err_nomem;
	spec_eval_drop_memos(e);
	t->is_on = true;
	e->edges.on_event = on_event;
	e->edges.on_event_ctx = e;
	return NULL;
}

void spec_track_deinit(struct track *t)
{
	spec_links_forget(t);
	vec_deinit(&t->links);
	vec_deinit(&t->groups);
	vec_deinit(&t->results);
	vec_deinit(&t->free_results);
	vec_deinit(&t->stale);
	vec_deinit(&t->moved);
	vec_deinit(&t->touched);
	vec_deinit(&t->told);
}
