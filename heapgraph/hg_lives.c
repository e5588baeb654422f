// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From pieces to the nodes to be.
 */
#include "heapgraph/hg_pieces_int.h"

// Between two blocks there may be a header.
#define GAP_MAX 64

static int compare_reissues(const void *a, const void *b)
{
	const struct hg_reissue *x = a, *y = b;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* The nodes to be, before they are in order. */
struct lives {
	const struct map *givers; ///< hg_givers_judge()
	VEC(struct hg_life) all;  ///< sources and clusters are numbers of pieces
	uint32_t *first;	  ///< of each piece: number of its first life
};

static int compare_births(const void *a, const void *b, void *ctx)
{
	const struct hg_life *lives = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (lives[x].born != lives[y].born)
		return lives[x].born < lives[y].born ? -1 : 1;
	return x < y ? -1 : x > y; // a source has the lower number
}

static int add_life(struct lives *l, const struct hg_life *life)
{
	if (life->died <= life->born)
		return 0;
	return vec_add(&l->all, *life) ? -1 : 0;
}

// Which function ends what the giver of t gave out; 0: it is no allocator.
static uint64_t release_fn(const struct lives *l, const struct hg_part *t)
{
	const uint64_t *fn = t && t->given ? map_get(l->givers, t->giver) : NULL;

	return fn ? *fn : 0;
}

// A piece has a life each time that an allocator of the program's own gave it out.
static int add_lives(const struct hg_pieces *p, struct lives *l, uint32_t number)
{
	const struct hg_piece *x = hg_piece_of(p, number);
	uint32_t head = hg_head_find(p, x->head);
	const struct hg_head *h = hg_head_of(p, head), *ended = hg_head_released(p, head);
	const struct hg_part *t = h->part ? &p->parts.data[h->part - 1] : NULL;
	uint64_t fn = h->piece == number ? release_fn(l, t) : 0;
	const struct hg_reissue *r = p->reissues.data;
	size_t at = fn ? vec_rank(p->reissues.size, i, r[i].head < head) : 0;
	struct hg_life life = { .start = x->start,
				.size = x->end - x->start,
				.born = x->born,
				.died = x->died,
				.rip = h->rip,
				.source = x->source,
				.cluster = x->cluster };

	if (fn && t->given > life.born)
		life.born = t->given;
	for (; fn && at < p->reissues.size && r[at].head == head && r[at].time < x->died;
	     at++) {
		life.died = r[at].released;
		life.free_rip = r[at].release_rip;
		life.cluster = 0;
		if (add_life(l, &life))
			return -1;
		life.born = r[at].time;
		life.rip = r[at].rip;
		life.died = x->died;
		life.cluster = x->cluster;
		life.free_rip = 0;
	}
	if (fn && t->passed_to == fn && t->passed > life.born && t->passed < x->died &&
	    hg_part_is_unused(t, 0)) {
		life.died = t->passed;
		life.free_rip = t->passed_rip;
		life.cluster = 0;
	} else if (ended && ended->released >= x->born && ended->released <= x->died) {
		life.died = ended->released;
		life.free_rip = ended->release_rip;
		life.cluster = 0;
	}
	return add_life(l, &life);
}

// In the order of births, and with numbers of lives.
static struct err *sort_lives(struct lives *l, hg_plan *ret)
{
	size_t n = l->all.size;
	_cleanup_free_ uint32_t *order = malloc((n + 1) * sizeof(*order));
	_cleanup_free_ uint32_t *number = malloc((n + 1) * sizeof(*number));

	if (!order || !number || vec_reserve(ret, n + 1))
		return &err_nomem;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_births, l->all.data);
	for (uint32_t i = 0; i < n; i++)
		number[order[i]] = i + 1;
	for (uint32_t i = 0; i < n; i++) {
		struct hg_life *life = vec_push(ret);
		uint32_t source, cluster;

		*life = l->all.data[order[i]];
		source = life->source ? l->first[life->source - 1] : 0;
		life->source = source ? number[source - 1] : 0;
		if (life->source > i) // was not there yet
			life->source = 0;
		cluster = life->cluster ? l->first[life->cluster - 1] : 0;
		life->cluster = cluster ? number[cluster - 1] : 0;
	}
	return NULL;
}

/* Piece x was reached from another one, and never again by pointers of its own: two free
 * blocks became one, a cluster. @return false: out of memory. */
static bool merge_touched(struct hg_pieces *p, uint32_t number)
{
	struct hg_piece *x = hg_piece_of(p, number), *y, cluster;
	uint32_t toucher = x->touched ? hg_head_find(p, x->toucher) : 0, other;
	const struct hg_head *h = hg_head_of(p, hg_piece_owner(p, number));

	if (!toucher || x->is_void || x->died < x->touched || h->used >= x->touched ||
	    (h->released && h->released < x->touched))
		return true;
	other = hg_head_of(p, toucher)->piece;
	y = other ? hg_piece_of(p, other) : NULL;
	if (!y || y->is_void || y->born >= x->touched || y->died <= x->touched ||
	    y->end > x->start || x->start - y->end > GAP_MAX)
		return true;
	cluster = *y;
	cluster.end = x->end;
	cluster.born = x->touched;
	cluster.source = 0;
	y->died = x->died = x->touched;
	y->cluster = x->cluster = p->pieces.size + 1;
	if (!vec_push(&p->pieces))
		return false;
	p->pieces.data[p->pieces.size - 1] = cluster;
	hg_head_of(p, toucher)->piece = p->pieces.size;
	return true;
}

struct err *hg_pieces_plan(struct hg_pieces *p, hg_plan *ret)
{
	_cleanup_(map_deinit) struct map givers = {};
	struct lives l = { .givers = &givers };
	uint32_t n_pieces = p->pieces.size;
	struct err *err = NULL;

	hg_givers_judge(p, &givers);
	vec_sort(&p->reissues, compare_reissues);
	for (uint32_t number = 1; number <= n_pieces && !err; number++)
		if (!merge_touched(p, number))
			err = &err_nomem;
	if (!err)
		l.first = calloc(p->pieces.size + 1, sizeof(*l.first));
	if (!l.first || p->is_out_of_memory)
		err = &err_nomem;
	for (uint32_t number = 1; number <= p->pieces.size && !err; number++) {
		size_t n = l.all.size;

		if (hg_piece_of(p, number)->is_void)
			continue;
		if (add_lives(p, &l, number))
			err = &err_nomem;
		l.first[number - 1] = l.all.size > n ? n + 1 : 0;
	}
	if (!err)
		err = sort_lives(&l, ret);
	vec_deinit(&l.all);
	free(l.first);
	return err;
}
