// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/view_moments.h"

struct err *fl_moments_init(struct moments *m, const struct fl_slice *s)
{
	size_t n;

	fl_slice_nodes(s, &n);
	*m = (struct moments){ .s = s };
	m->of = malloc((n + 1) * sizeof(*m->of));
	m->wanted_by = calloc(n + 1, sizeof(*m->wanted_by));
	m->is_folded = calloc(n + 1, sizeof(*m->is_folded));
	m->is_lost = calloc(n + 1, sizeof(*m->is_lost));
	return m->of && m->wanted_by && m->is_folded && m->is_lost ? NULL : &err_nomem;
}

void fl_moments_deinit(struct moments *m)
{
	vec_deinit(&m->placed);
	vec_deinit(&m->shares);
	map_deinit(&m->share_of);
	vec_deinit(&m->wanters);
	free(m->of);
	free(m->wanted_by);
	free(m->is_folded);
	free(m->is_lost);
}

/* ---- which node is of which moment ---------------------------------------------------------------- */

static uint64_t rip_of(const struct moments *m, const struct fl_node *n)
{
	return n->insn < FL_NONE ? fl_slice_insn(m->s, n->insn)->insn.rip : 0;
}

/* So far apart at most are instances that belong to one execution of a statement. */
#define TOGETHER 200

/* Does node @p n, of statement @p at, belong to moment @p to, which needed it? Then it is of code before
 * that which has come so far: else it is of another time that the statement was executed. */
static bool is_same_moment(const struct moments *m, const struct fl_node *n, uint32_t at,
			   const struct placed *to)
{
	size_t n_nodes;
	const struct fl_node *first = &fl_slice_nodes(m->s, &n_nodes)[to->first];

	return to->statement == at && n->insn < FL_NONE && n->edge != FL_EDGE_CONTROL &&
	       n->tid == first->tid && first->position - n->position < TOGETHER &&
	       fl_slice_insn(m->s, n->insn)->insn.rip < rip_of(m, first);
}

/* Node @p i of statement @p at is part of moment @p ret, which is that of @p parent, the one that needed
 * it, or a new one. */
static struct err *place_moment(struct moments *m, uint32_t i, uint32_t at,
				uint32_t parent, uint8_t edge, uint32_t *ret)
{
	size_t n;
	const struct fl_node *node = &fl_slice_nodes(m->s, &n)[i];
	struct placed *to = parent != FL_NONE ? &m->placed.data[parent] : NULL;
	uint32_t ways = to ? to->ways + 1 : 0;

	*ret = parent;
	if (to && is_same_moment(m, node, at, to)) {
		if (!fl_slice_nodes(m->s, &n)[to->node].size)
			to->node = i;
		return NULL;
	}
	*ret = m->placed.size;
	return vec_add(&m->placed, (struct placed){ .statement = at,
						    .parent = parent,
						    .first = i,
						    .node = i,
						    .ways = ways,
						    .edge = edge });
}

/* ---- who else wanted it ------------------------------------------------------------------------ */

/* A node that was made for moment @p own, or for a node of a library that worked for it. */
struct wanted {
	uint32_t own;
	struct wanters *by; ///< NULL: it is the moment's own, which others shared then
};

static struct err *share(struct moments *m, uint32_t from, uint32_t to, uint8_t edge)
{
	uint64_t key = (uint64_t)from << 32 | to;

	if (map_get(&m->share_of, key))
		return NULL;
	return map_put(&m->share_of, key, 1) ?
		       &err_nomem :
		       vec_add(&m->shares, (struct fl_view_share){ from, to, edge });
}

static struct err *want(struct moments *m, const struct wanted *w, uint32_t moment,
			uint8_t edge)
{
	struct wanters *by = w->by;
	bool is_known = moment == FL_NONE || w->own == FL_NONE || moment == w->own ||
			(by && by->n == MOMENTS_WANTERS);

	if (!by)
		return is_known || moment == m->placed.data[w->own].parent ?
			       NULL :
			       share(m, w->own, moment, edge);
	for (uint32_t i = 0; i < by->n && !is_known; i++)
		is_known = by->moment[i] == moment;
	if (is_known)
		return NULL;
	by->edge[by->n] = edge;
	by->moment[by->n++] = moment;
	return NULL;
}

/* Node @p i wanted it as @p edge: where that is of a library, those whose moments it worked for, if it made their
 * values of it. Tables, locks and the like of each library function would be too much, for each that called it. */
static struct err *want_all(struct moments *m, uint32_t i, uint8_t edge,
			    const struct wanted *w)
{
	struct wanters more = {};
	struct err *err;

	if (m->is_folded[i] && edge != FL_EDGE_DATA)
		return NULL;
	if (m->wanted_by[i])
		more = m->wanters.data[m->wanted_by[i] - 1];
	err = want(m, w, m->of[i], edge);
	for (uint32_t k = 0; k < more.n && !err; k++)
		err = want(m, w, more.moment[k], edge);
	return err;
}

/* Who else wanted node @p i, of moment @p own, is known behind this. */
static struct err *place_wanters(struct moments *m, uint32_t i, uint32_t own)
{
	size_t n, n_nodes;
	const struct fl_slice_share *shares = fl_slice_shares(m->s, &n);
	const struct fl_node *node = &fl_slice_nodes(m->s, &n_nodes)[i];
	struct wanters by = {};
	const struct wanted w = { own, m->is_folded[i] ? &by : NULL };
	struct err *err = NULL;

	if (node->parent < i && m->wanted_by[node->parent])
		err = want_all(m, node->parent, node->edge, &w);
	for (; m->next < n && shares[m->next].from <= i && !err; m->next++)
		if (shares[m->next].from == i)
			err = want_all(m, shares[m->next].to, shares[m->next].edge, &w);
	if (!err && by.n) {
		err = vec_add(&m->wanters, by);
		m->wanted_by[i] = m->wanters.size;
	}
	return err;
}

struct err *fl_moments_place(struct moments *m, uint32_t i, uint32_t at, uint8_t edge)
{
	size_t n;
	uint32_t parent = fl_slice_nodes(m->s, &n)[i].parent;
	struct err *err = NULL;

	// Where instances were folded the way to what is asked about is gone.
	m->is_lost[i] = parent != FL_NONE && (parent >= i || m->is_lost[parent]);
	parent = parent < i ? m->of[parent] : FL_NONE;
	m->of[i] = parent;
	m->is_folded[i] = at == FL_NONE;
	if (at != FL_NONE && !m->is_lost[i])
		err = place_moment(m, i, at, parent, edge, &m->of[i]);
	return err ?: place_wanters(m, i, m->of[i]);
}

/* ---- which moments are kept ----------------------------------------------------------------------- */

/* How long ways may be, and how many of the longest there may be, that no more than most_moments are kept. */
static struct err *choose(const struct moments *m, size_t most, uint32_t *longest,
			  size_t *n_longest)
{
	uint32_t *n_of = calloc(m->placed.size + 1, sizeof(*n_of));
	size_t left = most;

	if (!n_of)
		return &err_nomem;
	for (size_t i = 0; i < m->placed.size; i++)
		n_of[m->placed.data[i].ways]++;
	*longest = 0;
	while (*longest < m->placed.size && n_of[*longest] <= left)
		left -= n_of[(*longest)++];
	*n_longest = left;
	free(n_of);
	return NULL;
}

static struct err *keep(const struct moments *m, const struct placed *from,
			uint32_t parent, struct fl_view *v)
{
	size_t n;
	const struct fl_node *first = &fl_slice_nodes(m->s, &n)[from->first];

	return vec_add(&v->moments, (struct fl_view_moment){ .statement = from->statement,
							     .node = from->node,
							     .parent = parent,
							     .edge = from->edge,
							     .tid = first->tid,
							     .position = first->position,
							     .rip = rip_of(m, first) });
}

/* Of @p kept, by place in `placed`: shares among those that are kept. */
static struct err *keep_shares(const struct moments *m, const uint32_t *kept,
			       struct fl_view *v)
{
	struct err *err = NULL;

	for (size_t i = 0; i < m->shares.size && !err; i++) {
		struct fl_view_share x = m->shares.data[i];

		if (kept[x.to] == FL_NONE)
			continue;
		if (kept[x.from] == FL_NONE)
			v->moments.data[kept[x.to]].is_cut = true;
		else
			err = vec_add(&v->shares,
				      (struct fl_view_share){ kept[x.from], kept[x.to],
							      x.edge });
	}
	return err;
}

/* Those with the shortest ways to what is asked about; of ways as long, the latest. A way is so with all that is
 * on it. */
struct err *fl_moments_keep(const struct moments *m, struct fl_view *v)
{
	_cleanup_free_ uint32_t *kept = calloc(m->placed.size + 1, sizeof(*kept));
	uint32_t longest;
	size_t n_longest;
	struct err *err = kept ? choose(m, v->most_moments, &longest, &n_longest) :
				 &err_nomem;

	for (size_t i = 0; i < m->placed.size && !err; i++) {
		const struct placed *x = &m->placed.data[i];
		uint32_t parent = x->parent == FL_NONE ? FL_NONE : kept[x->parent];

		kept[i] = FL_NONE;
		if (x->ways > longest || (x->ways == longest && !n_longest)) {
			if (parent != FL_NONE)
				v->moments.data[parent].is_cut = true;
			continue;
		}
		n_longest -= x->ways == longest;
		kept[i] = v->moments.size;
		err = keep(m, x, parent, v);
	}
	return err ?: keep_shares(m, kept, v);
}
