// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The links from what may change to the results that depend on it, in lists where a change
 * finds few more than it concerns: of a node, or of a piece of a large one. Those on a number
 * that may change within a range are in groups: the heap of ten thousand elements asks of
 * each whether its index is less than their count, and one element more touches one of them.
 */
#include "specdsl/spec_eval.h"

/* ---- lists -------------------------------------------------------------------------------- */

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
	n = (struct edge_node *)spec_edges_node(&e->edges, (struct hg_node_id){ of });
	return n ? &n->dependents[list] : NULL;
}

/** @return the first link of the list that @p l is in or belongs in; 0: it is empty. */
static uint32_t first_link(struct spec_eval *e, const struct track_link *l)
{
	const uint64_t *first;

	if (l->group)
		return e->track.groups.data[l->group].first;
	if (l->list == TRACK_SAME) {
		first = map_get(&e->track.sames, l->of);
		return first ? *first : 0;
	}
	if (!l->piece)
		return *list_head(e, l->list, l->of);
	first = map_get(&e->track.pieces, piece_key(l->of, l->piece));
	return first ? *first : 0;
}

/** Cannot fail but for the first link of a piece. */
static int set_first_link(struct spec_eval *e, const struct track_link *l, uint32_t first)
{
	if (l->group)
		e->track.groups.data[l->group].first = first;
	else if (l->list == TRACK_SAME && first)
		return map_put(&e->track.sames, l->of, first);
	else if (l->list == TRACK_SAME)
		map_remove(&e->track.sames, l->of);
	else if (!l->piece)
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

/* ---- groups ------------------------------------------------------------------------------- */

static bool is_ranged(const struct spec_bytes *b)
{
	return b->size && b->least <= b->most;
}

/** Does a link on @p b belong in a group? Of a node that has few they are not worth it. */
static bool is_grouped(const struct edge_node *n, const struct spec_bytes *b)
{
	return is_ranged(b) && n->n_ranged >= TRACK_UNGROUPED_LINKS &&
	       b->offset / TRACK_WORD_BYTES ==
		       (b->offset + b->size - 1) / TRACK_WORD_BYTES;
}

static uint64_t word_key(uint32_t node, uint64_t offset)
{
	return (uint64_t)node << 32 | offset / TRACK_WORD_BYTES;
}

static bool is_same_number(const struct spec_bytes *a, const struct spec_bytes *b)
{
	return a->offset == b->offset && a->size == b->size &&
	       a->is_signed == b->is_signed;
}

static void narrow(struct spec_bytes *range, const struct spec_bytes *by)
{
	range->least = by->least > range->least ? by->least : range->least;
	range->most = by->most < range->most ? by->most : range->most;
}

/** @return a new group at the front of those of its word; 0: memory is out. */
static uint32_t new_group(struct track *t, uint32_t node, const struct spec_bytes *bytes)
{
	uint64_t key = word_key(node, bytes->offset);
	const uint64_t *first = map_get(&t->words, key);
	uint32_t next = first ? *first : 0, i = t->first_free_group;

	if (!i && !vec_push(&t->groups))
		return 0;
	i = i ?: t->groups.size - 1;
	if (map_put(&t->words, key, i)) {
		t->groups.data[i].next = t->first_free_group;
		t->first_free_group = i;
		return 0;
	}
	if (i == t->first_free_group)
		t->first_free_group = t->groups.data[i].next;
	t->groups.data[i] =
		(struct track_group){ .bytes = *bytes, .node = node, .next = next };
	if (next)
		t->groups.data[next].prev = i;
	return i;
}

/** @return the group that a dependency on @p bytes of @p node is to enter. */
static uint32_t enter_group(struct track *t, uint32_t node,
			    const struct spec_bytes *bytes)
{
	const uint64_t *first = map_get(&t->words, word_key(node, bytes->offset));
	uint32_t i = first ? *first : 0;

	// Those that come and go are in the first few; the others hardly ever have room.
	for (int tries = 0; i && tries < 4; tries++, i = t->groups.data[i].next)
		if (t->groups.data[i].n < TRACK_GROUP_LINKS &&
		    is_same_number(&t->groups.data[i].bytes, bytes))
			break;
	if (!i || t->groups.data[i].n >= TRACK_GROUP_LINKS ||
	    !is_same_number(&t->groups.data[i].bytes, bytes))
		i = new_group(t, node, bytes);
	if (!i)
		return 0;
	t->groups.data[i].n++;
	narrow(&t->groups.data[i].bytes, bytes);
	return i;
}

static void leave_group(struct track *t, uint32_t i)
{
	struct track_group *g = &t->groups.data[i];
	uint64_t key = word_key(g->node, g->bytes.offset);

	if (--g->n)
		return;
	if (g->next)
		t->groups.data[g->next].prev = g->prev;
	if (g->prev)
		t->groups.data[g->prev].next = g->next;
	else if (g->next)
		*map_get(&t->words, key) = g->next;
	else
		map_remove(&t->words, key);
	g->next = t->first_free_group;
	t->first_free_group = i;
}

/* ---- adding and dropping ------------------------------------------------------------------ */

static uint32_t take_link(struct track *t)
{
	uint32_t i = t->first_free_link;

	if (i) {
		t->first_free_link = t->links.data[i].next;
		return i;
	}
	return vec_push(&t->links) ? t->links.size - 1 : 0;
}

static struct edge_node *node_of(struct spec_eval *e, const struct track_link *l)
{
	return (struct edge_node *)spec_edges_node(&e->edges,
						   (struct hg_node_id){ l->of });
}

/** @p l is on @p bytes. @return -1: memory is out. */
static int set_bytes(struct spec_eval *e, struct track_link *l,
		     const struct spec_bytes *bytes)
{
	struct edge_node *n = node_of(e, l);

	l->bytes = *bytes;
	l->piece = piece_of(n, bytes);
	if (is_grouped(n, bytes) && !(l->group = enter_group(&e->track, l->of, bytes)))
		return -1;
	n->n_ranged += is_ranged(bytes);
	return 0;
}

int spec_links_add(struct spec_eval *e, uint32_t result, enum track_list list,
		   uint32_t of, const struct spec_bytes *bytes)
{
	struct track *t = &e->track;
	uint32_t i, first;
	struct track_link *l;

	if (list != TRACK_SAME && !list_head(e, list, of))
		return spec_links_add(e, result, TRACK_ALL, 0,
				      NULL); // it may be alive again
	i = take_link(t);
	if (!i)
		return -1;
	l = &t->links.data[i];
	*l = (struct track_link){ .result = result, .of = of, .list = list };
	if (list == TRACK_NODE && set_bytes(e, l, bytes))
		goto nomem;
	first = first_link(e, l);
	if (set_first_link(e, l, i))
		goto nomem;
	l->next = first;
	l->next_own = t->results.data[result].first_own;
	if (first)
		t->links.data[first].prev = i;
	t->results.data[result].first_own = i;
	t->n_path_links += list == TRACK_PATHS;
	t->n_ring_links += list == TRACK_RING;
	return 0;
nomem:
	l->next = t->first_free_link;
	t->first_free_link = i;
	return -1;
}

void spec_links_drop(struct spec_eval *e, uint32_t result)
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
		if (l->group)
			leave_group(t, l->group);
		if (l->list == TRACK_NODE)
			node_of(e, l)->n_ranged -= is_ranged(&l->bytes);
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
	// There is room: spec_track_new() reserved it.
	t->stale.data[t->stale.size++] = result;
	return true;
}

void spec_links_make_stale(struct spec_eval *e, uint32_t result)
{
	spec_links_drop(e, result);
	mark_stale(&e->track, result);
}

/* ---- changes ------------------------------------------------------------------------------ */

/** What has changed of a node: bytes, or all when size is 0. */
struct touched {
	uint64_t offset;
	uint32_t size;
};

static bool is_touched(const struct spec_bytes *b, const struct touched *what)
{
	return !what->size || !b->size ||
	       (b->offset < what->offset + what->size &&
		what->offset < (uint64_t)b->offset + b->size);
}

/** Drop the links of those that were marked since the list of stale ones had @p done. */
static void drop_marked(struct spec_eval *e, size_t done)
{
	for (; done < e->track.stale.size; done++)
		spec_links_drop(e, e->track.stale.data[done]);
}

/** The number in bytes @p b of node @p node, as spec_bytes counts. @return false when it
 * cannot be read. */
static bool read_number(const struct spec_eval *e, uint32_t node,
			const struct spec_bytes *b, uint64_t *ret)
{
	unsigned spare = 64 - 8 * b->size;

	if (!hg_view_read(e->v, (struct hg_node_id){ node }, b->offset, b->size, ret))
		return false;
	if (b->is_signed)
		*ret = (uint64_t)((int64_t)(*ret << spare) >> spare) ^ UINT64_C(1) << 63;
	return true;
}

static bool is_within(const struct spec_bytes *range, uint64_t value)
{
	return value >= range->least && value <= range->most;
}

/** Does the change leave the number of @p l in its range? */
static bool is_harmless(const struct spec_eval *e, const struct track_link *l,
			const struct touched *what)
{
	uint64_t value;

	return what->size && is_ranged(&l->bytes) &&
	       read_number(e, l->of, &l->bytes, &value) && is_within(&l->bytes, value);
}

/** Mark those with links from @p first on that @p what matters to. Links stay until all are
 * marked: they are what is being walked over. */
static void mark_list(struct spec_eval *e, uint32_t first, const struct touched *what)
{
	struct track *t = &e->track;

	for (uint32_t i = first; i; i = t->links.data[i].next)
		if (is_touched(&t->links.data[i].bytes, what) &&
		    !is_harmless(e, &t->links.data[i], what))
			mark_stale(t, t->links.data[i].result);
}

/** The number that group @p i is about is @p value now: mark who does not allow that. */
static void mark_group(struct track *t, uint32_t i, bool is_known, uint64_t value)
{
	struct spec_bytes *range = &t->groups.data[i].bytes;

	if (is_known && is_within(range, value))
		return;
	range->least = 0;
	range->most = UINT64_MAX;
	for (uint32_t k = t->groups.data[i].first; k; k = t->links.data[k].next) {
		const struct track_link *l = &t->links.data[k];

		if (is_known && is_within(&l->bytes, value))
			narrow(range, &l->bytes);
		else
			mark_stale(t, l->result);
	}
}

/** What is in @p what of node @p id has changed: mark those in groups from @p first on. */
static void mark_groups(struct spec_eval *e, uint32_t id, uint32_t first,
			const struct touched *what)
{
	struct track *t = &e->track;
	struct spec_bytes last = {};
	bool is_known = false;
	uint64_t value = 0;

	for (uint32_t i = first; i; i = t->groups.data[i].next) {
		const struct spec_bytes *bytes = &t->groups.data[i].bytes;

		if (!is_touched(bytes, what))
			continue;
		if (what->size && !is_same_number(&last, bytes))
			is_known = read_number(e, id, bytes, &value);
		last = *bytes;
		mark_group(t, i, is_known, value);
	}
}

/** Mark what is in list @p first, of a piece or of a word. */
static void mark_part(struct spec_eval *e, bool is_word, uint32_t id, uint32_t first,
		      const struct touched *what)
{
	if (is_word)
		mark_groups(e, id, first, what);
	else
		mark_list(e, first, what);
}

/** Mark what is in the lists of @p m, of pieces or of words, about @p what of node @p id, which
 * ends before byte @p end. */
static void mark_parts(struct spec_eval *e, const struct map *m, bool is_word,
		       uint32_t id, uint64_t end, const struct touched *what)
{
	uint32_t bytes = is_word ? TRACK_WORD_BYTES : TRACK_PIECE_BYTES, base = !is_word;

	if (end / bytes > m->capacity && !what->size) { // a very large node goes
		for (size_t i = 0; i < m->capacity; i++)
			if (m->slots[i].key != MAP_EMPTY_KEY &&
			    m->slots[i].key >> 32 == id)
				mark_part(e, is_word, id, m->slots[i].value, what);
		return;
	}
	for (uint64_t at = what->offset / bytes; m->size && at * bytes < end; at++) {
		const uint64_t *first = map_get(m, (uint64_t)id << 32 | (at + base));

		if (first)
			mark_part(e, is_word, id, *first, what);
	}
}

void spec_links_touch(struct spec_eval *e, enum track_list list, uint32_t of)
{
	const struct track_link l = { .list = list, .of = of };
	size_t done = e->track.stale.size;

	if (list == TRACK_SAME || list_head(e, list, of))
		mark_list(e, first_link(e, &l), &(struct touched){ 0, 0 });
	drop_marked(e, done);
}

void spec_links_touch_bytes(struct spec_eval *e, uint32_t id, uint64_t offset,
			    uint32_t size)
{
	const struct edge_node *n = spec_edges_node(&e->edges, (struct hg_node_id){ id });
	const struct touched what = { offset, size };
	size_t done = e->track.stale.size;
	uint64_t end;

	if (!n)
		return;
	end = size ? offset + size : n->end - n->start;
	mark_list(e, n->dependents[TRACK_NODE], &what);
	if (n->end - n->start > TRACK_SMALL_BYTES)
		mark_parts(e, &e->track.pieces, false, id, end, &what);
	mark_parts(e, &e->track.words, true, id, end, &what);
	drop_marked(e, done);
}

void spec_links_forget(struct track *t)
{
	t->links.size = t->groups.size = t->links.size > 0;
	map_deinit(&t->pieces);
	map_deinit(&t->words);
	map_deinit(&t->sames);
	t->first_free_link = t->first_free_group = t->dependents_of_all = 0;
	t->n_path_links = t->n_ring_links = 0;
}
