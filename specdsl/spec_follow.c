// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Moving a view together with its evaluator, and watching what arguments depend on.
 */
#include <assert.h>

#include "specdsl/spec_eval.h"

struct err *eval_refresh(struct spec_eval *e)
{
	bool has_moved = false;
	struct err *err = edges_refresh(&e->edges, &has_moved);

	if (err)
		return err;
	if (e->track.is_on)
		return track_settle(e);
	if (has_moved)
		eval_drop_memos(e);
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
	return can_follow ? edges_follow(&e->edges, &op) : NULL;
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
		err = edges_follow(&e->edges, &op);
	}
	return err;
}

/* ---- watching ----------------------------------------------------------------------------- */

struct err *spec_watch(struct spec_eval *e, const struct spec_args *a, uint32_t *watch)
{
	struct err *err;

	assert(is_there(e, e->v));
	err = track_start(e);
	if (err)
		return err;
	if (!*watch && track_new(&e->track, TRACK_WATCH, 0, watch))
		return &err_nomem;
	return track_set(e, *watch, a) ? &err_nomem : NULL;
}

void spec_unwatch(struct spec_eval *e, uint32_t watch)
{
	track_free(e, watch);
}

struct err *spec_watches_touched(struct spec_eval *e, size_t *ret)
{
	struct err *err = eval_refresh(e);

	*ret = e->track.n_stale_watches;
	return err;
}

bool spec_watch_is_touched(const struct spec_eval *e, uint32_t watch)
{
	return e->track.results.data[watch].is_stale;
}
