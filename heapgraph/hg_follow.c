// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_follow.h"

struct hg_follower {
	const hg_plan *plan;
	struct hg_graph *g;
	uint32_t *id;	   ///< of each life: its node, 0 while there is none
	uint32_t *deaths;  ///< indices of lives that end, in this order
	uint32_t *members; ///< indices of lives that became part of a cluster, by cluster
	size_t n_deaths, n_members;
	size_t next_birth, next_death;
};

static int compare_deaths(const void *a, const void *b, void *ctx)
{
	const hg_plan *plan = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (plan->data[x].died != plan->data[y].died)
		return plan->data[x].died < plan->data[y].died ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int compare_members(const void *a, const void *b, void *ctx)
{
	const hg_plan *plan = ctx;
	const struct hg_life *x = &plan->data[*(const uint32_t *)a];
	const struct hg_life *y = &plan->data[*(const uint32_t *)b];

	if (x->cluster != y->cluster)
		return x->cluster < y->cluster ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

struct err *hg_follower_create(const hg_plan *plan, struct hg_graph *g,
			       struct hg_follower **ret)
{
	_cleanup_(hg_follower_destroyp) struct hg_follower *f = calloc(1, sizeof(*f));

	if (!f)
		return &err_nomem;
	f->plan = plan;
	f->g = g;
	f->id = calloc(plan->size + 1, sizeof(*f->id));
	f->deaths = calloc(plan->size + 1, sizeof(*f->deaths));
	f->members = calloc(plan->size + 1, sizeof(*f->members));
	if (!f->id || !f->deaths || !f->members)
		return &err_nomem;
	for (uint32_t i = 0; i < plan->size; i++) {
		if (plan->data[i].died != UINT64_MAX)
			f->deaths[f->n_deaths++] = i;
		if (plan->data[i].cluster)
			f->members[f->n_members++] = i;
	}
	qsort_r(f->deaths, f->n_deaths, sizeof(*f->deaths), compare_deaths, (void *)plan);
	qsort_r(f->members, f->n_members, sizeof(*f->members), compare_members,
		(void *)plan);
	*ret = take_ptr(&f);
	return NULL;
}

void hg_follower_destroy(struct hg_follower *f)
{
	if (!f)
		return;
	free(f->id);
	free(f->deaths);
	free(f->members);
	free(f);
}

void hg_follower_destroyp(struct hg_follower **f)
{
	hg_follower_destroy(*f);
}

/* ---- births and ends ----------------------------------------------------------------------- */

static uint64_t not_before(const struct hg_follower *f, uint64_t time)
{
	return time > f->g->log.last_time ? time : f->g->log.last_time;
}

static struct err *set_members(struct hg_follower *f, size_t cluster)
{
	const struct hg_life *l = f->plan->data;
	size_t from = vec_rank(f->n_members, i, l[f->members[i]].cluster < cluster);
	VEC(struct hg_node_id) ids = {};
	struct err *err = NULL;

	for (size_t i = from; i < f->n_members && l[f->members[i]].cluster == cluster;
	     i++) {
		struct hg_node_id *id = f->id[f->members[i]] ? vec_push(&ids) : NULL;

		if (id)
			id->v = f->id[f->members[i]];
	}
	if (ids.size)
		err = hg_graph_set_members(f->g, ids.data, ids.size);
	vec_deinit(&ids);
	return err;
}

// The node that number `source` was, or what that was split off from.
static uint32_t source_id(const struct hg_follower *f, uint32_t source)
{
	while (source && !f->id[source - 1])
		source = f->plan->data[source - 1].source;
	return source ? f->id[source - 1] : 0;
}

/* What of @p l is free: extents are those of whole lives, so that two may have met for a
 * moment. @return whether anything is left. */
static bool clip(const struct hg_follower *f, struct hg_life *l)
{
	uint64_t end = l->start + l->size;
	uint32_t id = hg_index_floor(&f->g->live, l->start);
	const struct hg_node *n = f->g->nodes.data;

	if (id && n[id - 1].start + n[id - 1].size > l->start)
		l->start = n[id - 1].start + n[id - 1].size;
	if (l->start >= end)
		return false;
	id = hg_index_ceil(&f->g->live, l->start);
	if (id && n[id - 1].start < end)
		end = n[id - 1].start;
	l->size = end - l->start;
	return l->size;
}

static struct err *bear(struct hg_follower *f, size_t i)
{
	struct hg_life life = f->plan->data[i], *l = &life;
	uint32_t source = source_id(f, l->source);
	const struct hg_node *from =
		source ? hg_graph_node(f->g, (struct hg_node_id){ source }) : NULL;
	uint64_t time = not_before(f, l->born);
	struct hg_node_id id;
	struct err *err;

	if (!clip(f, l))
		return NULL;
	if (from && from->died == time && l->start >= from->start &&
	    l->start + l->size <= from->start + from->size)
		err = hg_graph_alloc_kept(f->g, time, l->start, l->size, l->rip, &id);
	else
		err = hg_graph_alloc_found(f->g, time, l->start, l->size, l->rip, &id);
	if (err)
		return err;
	f->id[i] = id.v;
	hg_graph_set_source(f->g, id, (struct hg_node_id){ source });
	return set_members(f, i + 1);
}

static struct err *end(struct hg_follower *f, size_t i)
{
	const struct hg_life *l = &f->plan->data[i];
	const struct hg_node *n;

	if (!f->id[i])
		return NULL;
	n = hg_graph_node(f->g, (struct hg_node_id){ f->id[i] });
	return hg_graph_free(f->g, not_before(f, l->died), n->start, l->free_rip);
}

struct err *hg_follower_advance(struct hg_follower *f, uint64_t time)
{
	const struct hg_life *l = f->plan->data;
	struct err *err = NULL;

	while (!err) {
		bool is_birth = f->next_birth < f->plan->size &&
				l[f->next_birth].born <= time;
		bool is_death = f->next_death < f->n_deaths &&
				l[f->deaths[f->next_death]].died <= time;

		if (is_death && (!is_birth || l[f->deaths[f->next_death]].died <=
						      l[f->next_birth].born))
			err = end(f, f->deaths[f->next_death++]);
		else if (is_birth)
			err = bear(f, f->next_birth++);
		else
			break;
	}
	return err;
}

uint64_t hg_follower_due(const struct hg_follower *f)
{
	const struct hg_life *l = f->plan->data;
	uint64_t birth = f->next_birth < f->plan->size ? l[f->next_birth].born :
							 UINT64_MAX;
	uint64_t death = f->next_death < f->n_deaths ? l[f->deaths[f->next_death]].died :
						       UINT64_MAX;

	return birth < death ? birth : death;
}
