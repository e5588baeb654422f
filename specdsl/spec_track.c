// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From changed nodes to results that must be computed again.
 */
#include <assert.h>

#include "specdsl/spec_checker.h"
#include "specdsl/spec_eval.h"

/* ---- links -------------------------------------------------------------------------------- */

static uint64_t piece_key(uint32_t node, uint32_t piece)
{
	return (uint64_t)node << 32 | piece;
}

/** @return where the first link of a list is kept, if not in a map; NULL: there is no such
 * node now. */
static uint32_t *list_head(struct spec_eval *e, enum track_list list, uint32_t of)
{
	struct edge_node *n;

	if (list == TRACK_ALL)
		return &e->track.dependents_of_all;
	if (list == TRACK_RESULT)
		return &e->track.results.data[of].dependents;
	n = (struct edge_node *)edges_node(&e->edges, (struct hg_node_id){ of });
	return n ? &n->dependents[list] : NULL;
}

/** @return the first link of the list that @p l is in or belongs in; 0: it is empty. */
static uint32_t first_link(struct spec_eval *e, const struct track_link *l)
{
	const uint64_t *first;

	if (!l->piece)
		return *list_head(e, l->list, l->of);
	first = map_get(&e->track.pieces, piece_key(l->of, l->piece));
	return first ? *first : 0;
}

/** Cannot fail but for the first link of a piece. */
static int set_first_link(struct spec_eval *e, const struct track_link *l, uint32_t first)
{
	if (!l->piece)
		*list_head(e, l->list, l->of) = first;
	else if (first)
		return map_put(&e->track.pieces, piece_key(l->of, l->piece), first);
	else
		map_remove(&e->track.pieces, piece_key(l->of, l->piece));
	return 0;
}

/** In the list of which piece of @p n is what depends on @p b? 0: the node's. */
static uint32_t piece_of(const struct edge_node *n, const struct spec_bytes *b)
{
	uint32_t piece = b->offset / TRACK_PIECE_BYTES;

	if (!b->size || n->end - n->start <= TRACK_SMALL_BYTES ||
	    (b->offset + b->size - 1) / TRACK_PIECE_BYTES != piece)
		return 0;
	return piece + 1;
}

static uint32_t take_link(struct track *t)
{
	uint32_t i = t->first_free_link;

	if (i) {
		t->first_free_link = t->links.data[i].next;
		return i;
	}
	return vec_push(&t->links) ? t->links.size - 1 : 0;
}

static int add_link(struct spec_eval *e, uint32_t result, enum track_list list,
		    uint32_t of, const struct spec_bytes *bytes)
{
	struct track *t = &e->track;
	uint32_t i, first;
	struct track_link *l;

	if (!list_head(e, list, of))
		return add_link(e, result, TRACK_ALL, 0, NULL); // it may be alive again
	i = take_link(t);
	if (!i)
		return -1;
	l = &t->links.data[i];
	*l = (struct track_link){ .result = result, .of = of, .list = list };
	if (list == TRACK_NODE) {
		l->bytes = *bytes;
		l->piece = piece_of(edges_node(&e->edges, (struct hg_node_id){ of }),
				    bytes);
	}
	first = first_link(e, l);
	if (set_first_link(e, l, i)) {
		l->next = t->first_free_link;
		t->first_free_link = i;
		return -1;
	}
	l->next = first;
	l->next_own = t->results.data[result].first_own;
	if (first)
		t->links.data[first].prev = i;
	t->results.data[result].first_own = i;
	t->n_path_links += list == TRACK_PATHS;
	t->n_ring_links += list == TRACK_RING;
	return 0;
}

static void drop_links(struct spec_eval *e, uint32_t result)
{
	struct track *t = &e->track;
	uint32_t next;

	for (uint32_t i = t->results.data[result].first_own; i; i = next) {
		struct track_link *l = &t->links.data[i];

		next = l->next_own;
		if (l->next)
			t->links.data[l->next].prev = l->prev;
		if (l->prev)
			t->links.data[l->prev].next = l->next;
		else
			set_first_link(e, l, l->next);
		t->n_path_links -= l->list == TRACK_PATHS;
		t->n_ring_links -= l->list == TRACK_RING;
		l->next = t->first_free_link;
		t->first_free_link = i;
	}
	t->results.data[result].first_own = 0;
}

/** @return whether it was not so before. */
static bool mark_stale(struct track *t, uint32_t result)
{
	struct track_result *r = &t->results.data[result];

	if (r->is_stale)
		return false;
	r->is_stale = true;
	// There is room: track_new() reserved it.
	t->stale.data[t->stale.size++] = result;
	return true;
}

static void make_stale(struct spec_eval *e, uint32_t result)
{
	drop_links(e, result);
	mark_stale(&e->track, result);
}

/* ---- changes ------------------------------------------------------------------------------ */

/** What has changed of a node: bytes, or all when size is 0. */
struct touched {
	uint64_t offset;
	uint32_t size;
};

/** Is the number in the bytes of @p l out of its range? */
static bool has_left_range(const struct spec_eval *e, const struct track_link *l)
{
	unsigned spare = 64 - 8 * l->bytes.size;
	uint64_t value;

	if (l->bytes.least > l->bytes.most ||
	    !hg_view_read(e->v, (struct hg_node_id){ l->of }, l->bytes.offset,
			  l->bytes.size, &value))
		return true;
	if (l->bytes.is_signed)
		value = (uint64_t)((int64_t)(value << spare) >> spare) ^ UINT64_C(1) << 63;
	return value < l->bytes.least || value > l->bytes.most;
}

static bool is_touched(const struct spec_eval *e, const struct track_link *l,
		       const struct touched *what)
{
	if (!what->size || !l->bytes.size)
		return true;
	return l->bytes.offset < what->offset + what->size &&
	       what->offset < (uint64_t)l->bytes.offset + l->bytes.size &&
	       has_left_range(e, l);
}

/** Make stale those with links from @p first on that @p what matters to. */
static void touch_list(struct spec_eval *e, uint32_t first, const struct touched *what)
{
	struct track *t = &e->track;
	size_t done = t->stale.size;

	for (uint32_t i = first; i; i = t->links.data[i].next)
		if (is_touched(e, &t->links.data[i], what))
			mark_stale(t, t->links.data[i].result);
	for (; done < t->stale.size; done++)
		drop_links(e, t->stale.data[done]);
}

/** What the list is about has changed. */
static void touch(struct spec_eval *e, enum track_list list, uint32_t of)
{
	const uint32_t *head = list_head(e, list, of);

	if (head && *head)
		touch_list(e, *head, &(struct touched){ 0, 0 });
}

/** Bytes of node @p id have changed; all, and its life, when @p size is 0. */
static void touch_bytes(struct spec_eval *e, uint32_t id, uint64_t offset, uint32_t size)
{
	const struct edge_node *n = edges_node(&e->edges, (struct hg_node_id){ id });
	const struct touched what = { offset, size };
	uint64_t end = size ? offset + size : n ? n->end - n->start : 0;

	if (!n)
		return;
	touch_list(e, n->dependents[TRACK_NODE], &what);
	if (!e->track.pieces.size || n->end - n->start <= TRACK_SMALL_BYTES)
		return;
	for (uint64_t at = offset / TRACK_PIECE_BYTES; at * TRACK_PIECE_BYTES < end; at++) {
		const uint64_t *first = map_get(&e->track.pieces, piece_key(id, at + 1));

		if (first)
			touch_list(e, *first, &what);
	}
}

/* ---- results ------------------------------------------------------------------------------ */

int track_new(struct track *t, enum track_kind kind, uint32_t owner, uint32_t *ret)
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

void track_free(struct spec_eval *e, uint32_t result)
{
	struct track *t = &e->track;

	if (!result)
		return;
	touch(e, TRACK_RESULT, result);
	drop_links(e, result);
	t->results.data[result].kind = TRACK_FREE;
	t->free_results.data[t->free_results.size++] = result;
}

static int add_dep(struct spec_eval *e, uint32_t result, const struct spec_dep *d)
{
	const struct memo *m;

	switch (d->kind) {
	case SPEC_DEP_NODE:
		return add_link(e, result, TRACK_NODE, d->node.v, &d->bytes);
	case SPEC_DEP_INTO:
		return add_link(e, result, TRACK_INTO, d->node.v, NULL);
	case SPEC_DEP_EDGES:
		return add_link(e, result, TRACK_PATHS, d->node.v, NULL);
	case SPEC_DEP_RING:
		return add_link(e, result, TRACK_RING, d->node.v, NULL);
	case SPEC_DEP_ATTR:
		m = eval_find_memo(e, (struct attr_task){ .attr = d->attr,
							  .node = d->node });
		// Not tracked is a value that was known before tracking began.
		return m && m->result ? add_link(e, result, TRACK_RESULT, m->result, NULL) :
					add_link(e, result, TRACK_ALL, 0, NULL);
	case SPEC_DEP_ALL:
		return add_link(e, result, TRACK_ALL, 0, NULL);
	}
	return -1;
}

int track_set(struct spec_eval *e, uint32_t result, const struct spec_args *deps)
{
	drop_links(e, result);
	for (size_t i = 0; i < deps->deps.size; i++) {
		if (add_dep(e, result, &deps->deps.data[i])) {
			drop_links(e, result);
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

	t->links.size = 1;
	map_deinit(&t->pieces);
	t->first_free_link = t->dependents_of_all = 0;
	t->n_path_links = t->n_ring_links = t->moved.size = 0;
	for (size_t i = 1; i < t->results.size; i++)
		t->results.data[i].first_own = t->results.data[i].dependents = 0;
	for (size_t i = 1; i < t->results.size; i++)
		if (t->results.data[i].kind == TRACK_WATCH)
			make_stale(e, i);
	eval_drop_memos(e);
	if (e->checker)
		checker_start_anew(e->checker);
}

static void on_out(struct spec_eval *e, uint32_t id, uint64_t offset, uint32_t size)
{
	struct track *t = &e->track;
	uint32_t *slot = t->n_path_links ? vec_push(&t->moved) : NULL;

	if (slot)
		*slot = id;
	else if (t->n_path_links)
		e->edges.is_out_of_memory = true;
	touch_bytes(e, id, offset, size);
}

static void on_event(void *ctx, enum edge_event event, uint32_t id, uint64_t offset,
		     uint32_t size)
{
	struct spec_eval *e = ctx;

	if (event != EDGE_RING) // it follows from others
		touch(e, TRACK_ALL, 0);
	switch (event) {
	case EDGE_ALL:
		start_anew(e);
		break;
	case EDGE_BORN:
		if (e->checker && checker_add_node(e->checker, (struct hg_node_id){ id }))
			e->edges.is_out_of_memory = true;
		break;
	case EDGE_DIED:
		touch_bytes(e, id, 0, 0);
		touch(e, TRACK_INTO, id);
		touch(e, TRACK_PATHS, id);
		touch(e, TRACK_RING, id);
		eval_drop_memos_of(e, (struct hg_node_id){ id });
		if (e->checker)
			checker_drop_node(e->checker, (struct hg_node_id){ id });
		break;
	case EDGE_NODE:
		touch_bytes(e, id, offset, size);
		break;
	case EDGE_OUT:
		on_out(e, id, offset, size);
		break;
	case EDGE_INTO:
		touch(e, TRACK_INTO, id);
		break;
	case EDGE_RING:
		touch(e, TRACK_RING, id);
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
	const struct edge_node *n = edges_node(&b->e->edges, (struct hg_node_id){ id });
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

		touch(e, TRACK_PATHS, id);
		edges_sources(&e->edges, edges_node(&e->edges, (struct hg_node_id){ id }),
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
	touch(e, TRACK_RESULT, i);
	if (r->kind == TRACK_UNIT)
		return checker_queue(e->checker, r->owner);
	if (r->kind == TRACK_MEMO) {
		e->memos.data[r->owner].state = MEMO_STALE;
		return 0;
	}
	slot = vec_push(&e->track.touched);
	if (slot)
		*slot = i;
	return slot ? 0 : -1;
}

struct err *track_settle(struct spec_eval *e)
{
	struct track *t = &e->track;

	if (touch_paths(e) || (t->n_ring_links && order_update(&e->edges)))
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

struct err *track_start(struct spec_eval *e)
{
	struct track *t = &e->track;

	if (t->is_on)
		return NULL;
	if (!t->links.size && !vec_push(&t->links))
		return &err_nomem;
	if (!t->results.size && !vec_push(&t->results))
		return &err_nomem;
	eval_drop_memos(e);
	t->is_on = true;
	e->edges.on_event = on_event;
	e->edges.on_event_ctx = e;
	return NULL;
}

void track_deinit(struct track *t)
{
	vec_deinit(&t->links);
	map_deinit(&t->pieces);
	vec_deinit(&t->results);
	vec_deinit(&t->free_results);
	vec_deinit(&t->stale);
	vec_deinit(&t->moved);
	vec_deinit(&t->touched);
	vec_deinit(&t->told);
}
