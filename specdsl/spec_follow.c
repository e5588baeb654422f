// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Moving a view together with its evaluator, and watching what arguments depend on.
 */
#include <assert.h>

#include "specdsl/spec_eval.h"

struct err *spec_eval_refresh(struct spec_eval *e)
{
	bool has_moved = false;
	struct err *err = spec_edges_refresh(&e->edges, &has_moved);

	if (err)
		return err;
	if (e->track.is_on)
		return spec_track_settle(e);
	if (has_moved)
		spec_eval_drop_memos(e);
	return NULL;
}

/* ---- moving ------------------------------------------------------------------------------- */

static bool is_there(const struct spec_eval *e, const struct hg_view *v)
{
	assert(v == e->v);
	return e->edges.is_valid && e->edges.position == hg_view_ops(v);
}

struct err *spec_eval_back(struct spec_eval *e, struct hg_view *v, struct hg_op *ret)
{
	bool can_follow = is_there(e, v);
	struct hg_op op;

	hg_view_back(v, &op);
	if (ret)
		*ret = op;
	return can_follow ? spec_edges_follow(&e->edges, &op) : NULL;
}

struct err *spec_eval_seek(struct spec_eval *e, struct hg_view *v, uint64_t n_ops)
{
	struct err *err = NULL;

	if (!is_there(e, v)) {
		hg_view_seek(v, n_ops);
		return NULL;
	}
	while (hg_view_ops(v) > n_ops && !err)
		err = spec_eval_back(e, v, NULL);
	while (hg_view_ops(v) < n_ops && !err) {
		struct hg_op op;

		if (!hg_view_forward(v, &op))
			break;
		err = spec_edges_follow(&e->edges, &op);
	}
	return err;
}

struct err *spec_pointers(struct spec_eval *e, struct hg_node_id to,
			  void (*fn)(void *ctx, uint32_t owner, uint64_t offset),
			  void *ctx)
{
	struct err *err = spec_eval_refresh(e);
	const struct edge_node *n = err ? NULL : spec_edges_node(&e->edges, to);

	if (n)
		spec_edges_pointers(&e->edges, n, fn, ctx);
	return err;
}

/* ---- watching ----------------------------------------------------------------------------- */

struct err *spec_watch(struct spec_eval *e, const struct spec_args *a, uint32_t tag,
		       uint32_t *watch)
{
	struct err *err;

	assert(is_there(e, e->v));
	err = spec_track_start(e);
	if (err)
		return err;
	if (!*watch && spec_track_new(&e->track, TRACK_WATCH, tag, watch))
		return &err_nomem;
	e->track.results.data[*watch].owner = tag;
	return spec_track_set(e, *watch, a) ? &err_nomem : NULL;
}

void spec_unwatch(struct spec_eval *e, uint32_t watch)
{
	spec_track_free(e, watch);
}

struct err *spec_touched(struct spec_eval *e, const uint32_t **tags, size_t *n)
{
	struct err *err = spec_eval_refresh(e);
	struct track *t = &e->track;

	t->told.size = 0;
	if (!err && vec_reserve(&t->told, t->touched.size + 1))
		err = &err_nomem;
	for (size_t i = 0; i < t->touched.size && !err; i++) {
		const struct track_result *r = &t->results.data[t->touched.data[i]];

		// Others were set anew or given up since.
		if (r->kind == TRACK_WATCH && r->is_stale)
			t->told.data[t->told.size++] = r->owner;
	}
	if (!err)
		t->touched.size = 0;
	*tags = t->told.data;
	*n = t->told.size;
	return err;
}
