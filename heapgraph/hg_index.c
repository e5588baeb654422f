// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_index.h"

#include <assert.h>
#include <string.h>

void hg_index_deinit(struct hg_index *ix)
{
	if (!ix->slab) {
		for (size_t i = 0; i < ix->leaves.size; i++)
			free(ix->leaves.data[i].leaf);
		for (size_t i = 0; i < ix->spare.size; i++)
			free(ix->spare.data[i]);
	}
	free(ix->slab);
	vec_deinit(&ix->leaves);
	vec_deinit(&ix->spare);
	*ix = (struct hg_index){};
}

uint64_t hg_index_bytes(const struct hg_index *ix)
{
	uint64_t leaves = ix->slab ? ix->slab_size : ix->leaves.size + ix->spare.size;

	return leaves * sizeof(struct hg_leaf) +
	       ix->leaves.capacity * sizeof(*ix->leaves.data) +
	       ix->spare.capacity * sizeof(*ix->spare.data);
}

int hg_index_reserve(struct hg_index *ix, uint64_t n)
{
	size_t leaves = 4 * n / HG_LEAF_CAP + 4;

	assert(!ix->leaves.size && !ix->slab);
	// Not touched before it is used: the kernel gives pages only for what is.
	ix->slab = malloc(leaves * sizeof(*ix->slab));
	ix->slab_size = leaves;
	return ix->slab && !vec_reserve(&ix->leaves, leaves) &&
			       !vec_reserve(&ix->spare, leaves) ?
		       0 :
		       -1;
}

int hg_index_prepare(struct hg_index *ix)
{
	struct hg_leaf *leaf;

	assert(!ix->slab);
	if (vec_reserve(&ix->leaves, ix->leaves.size + 1) ||
	    vec_reserve(&ix->spare, ix->spare.size + ix->leaves.size + 2))
		return -1;
	if (ix->spare.size)
		return 0;
	leaf = malloc(sizeof(*leaf));
	if (!leaf)
		return -1;
	ix->spare.data[ix->spare.size++] = leaf;
	return 0;
}

void hg_index_clear(struct hg_index *ix)
{
	assert(ix->slab);
	ix->leaves.size = ix->spare.size = ix->slab_used = 0;
	ix->size = 0;
}

static struct hg_leaf *leaf_take(struct hg_index *ix)
{
	if (ix->spare.size)
		return ix->spare.data[--ix->spare.size];
	assert(ix->slab_used < ix->slab_size);
	return &ix->slab[ix->slab_used++];
}

static void leaf_insert_ref(struct hg_index *ix, size_t at, struct hg_leaf *leaf)
{
	struct hg_leaf_ref *r = ix->leaves.data;

	assert(ix->leaves.size < ix->leaves.capacity);
	memmove(&r[at + 1], &r[at], (ix->leaves.size - at) * sizeof(*r));
	r[at] = (struct hg_leaf_ref){ leaf->start[0], leaf };
	ix->leaves.size++;
}

static void leaf_drop(struct hg_index *ix, size_t at)
{
	struct hg_leaf_ref *r = ix->leaves.data;

	assert(ix->spare.size < ix->spare.capacity);
	ix->spare.data[ix->spare.size++] = r[at].leaf;
	memmove(&r[at], &r[at + 1], (ix->leaves.size - at - 1) * sizeof(*r));
	ix->leaves.size--;
}

// The last leaf whose first entry is <= addr; 0 when there is none such. What is born and
// ends is often near what was before.
static size_t leaf_find(const struct hg_index *ix, uint64_t addr)
{
	const struct hg_leaf_ref *r = ix->leaves.data;
	size_t i = ix->at_hand, n;

	if (i < ix->leaves.size && r[i].first <= addr &&
	    (i + 1 == ix->leaves.size || addr < r[i + 1].first))
		return i;
	n = vec_rank(ix->leaves.size, k, r[k].first <= addr);
	return n ? n - 1 : 0;
}

// How many entries of the leaf start at or below addr. Without branches: which way it goes
// cannot be foretold.
static uint32_t leaf_rank(const struct hg_leaf *l, uint64_t addr)
{
	const uint64_t *p = l->start;

	for (uint32_t n = l->n; n > 1; n -= n / 2)
		p += (p[n / 2 - 1] <= addr) * (n / 2);
	return p - l->start + (l->n && *p <= addr);
}

// Move n entries of `from`, beginning at number `at`, to the end of `to`.
static void leaf_move(struct hg_leaf *to, struct hg_leaf *from, uint32_t at, uint32_t n)
{
	memcpy(&to->start[to->n], &from->start[at], n * sizeof(to->start[0]));
	memcpy(&to->id[to->n], &from->id[at], n * sizeof(to->id[0]));
	to->n += n;
	from->n -= n;
}

void hg_index_insert(struct hg_index *ix, uint64_t start, uint32_t id)
{
	size_t i = leaf_find(ix, start);
	struct hg_leaf *l, *right;
	uint32_t at;

	if (!ix->leaves.size) {
		l = leaf_take(ix);
		l->n = 1;
		l->start[0] = start;
		l->id[0] = id;
		leaf_insert_ref(ix, 0, l);
		ix->size++;
		return;
	}
	l = ix->leaves.data[i].leaf;
	if (l->n == HG_LEAF_CAP) {
		right = leaf_take(ix);
		right->n = 0;
		leaf_move(right, l, HG_LEAF_CAP / 2, HG_LEAF_CAP / 2);
		leaf_insert_ref(ix, ++i, right);
		if (start < right->start[0])
			i--;
		l = ix->leaves.data[i].leaf;
	}
	ix->at_hand = i;
	at = leaf_rank(l, start);
	assert(!at || l->start[at - 1] != start);
	memmove(&l->start[at + 1], &l->start[at], (l->n - at) * sizeof(l->start[0]));
	memmove(&l->id[at + 1], &l->id[at], (l->n - at) * sizeof(l->id[0]));
	l->start[at] = start;
	l->id[at] = id;
	l->n++;
	ix->leaves.data[i].first = l->start[0];
	ix->size++;
}

// Join leaf i with its right neighbour when both fit half a leaf (invariant 2).
static bool leaf_try_join(struct hg_index *ix, size_t i)
{
	struct hg_leaf *a, *b;

	if (i + 1 >= ix->leaves.size)
		return false;
	a = ix->leaves.data[i].leaf;
	b = ix->leaves.data[i + 1].leaf;
	if (a->n + b->n > HG_LEAF_CAP / 2)
		return false;
	leaf_move(a, b, 0, b->n);
	leaf_drop(ix, i + 1);
	return true;
}

void hg_index_remove(struct hg_index *ix, uint64_t start)
{
	size_t i = leaf_find(ix, start);
	struct hg_leaf *l;
	uint32_t at;

	assert(ix->leaves.size);
	ix->at_hand = i;
	l = ix->leaves.data[i].leaf;
	at = leaf_rank(l, start);
	assert(at && l->start[at - 1] == start);
	at--;
	l->n--;
	memmove(&l->start[at], &l->start[at + 1], (l->n - at) * sizeof(l->start[0]));
	memmove(&l->id[at], &l->id[at + 1], (l->n - at) * sizeof(l->id[0]));
	ix->size--;
	if (!l->n) {
		leaf_drop(ix, i);
		return;
	}
	ix->leaves.data[i].first = l->start[0];
	if (i && leaf_try_join(ix, i - 1))
		return;
	leaf_try_join(ix, i);
}

uint32_t hg_index_floor(const struct hg_index *ix, uint64_t addr)
{
	const struct hg_leaf *l;
	uint32_t rank;

	if (!ix->leaves.size)
		return 0;
	l = ix->leaves.data[leaf_find(ix, addr)].leaf;
	rank = leaf_rank(l, addr);
	return rank ? l->id[rank - 1] : 0;
}

uint32_t hg_index_ceil(const struct hg_index *ix, uint64_t addr)
{
	const struct hg_leaf *l;
	size_t i;
	uint32_t rank;

	if (!ix->leaves.size)
		return 0;
	if (!addr)
		return ix->leaves.data[0].leaf->id[0];
	i = leaf_find(ix, addr - 1);
	l = ix->leaves.data[i].leaf;
	rank = leaf_rank(l, addr - 1);
	if (rank < l->n)
		return l->id[rank];
	return i + 1 < ix->leaves.size ? ix->leaves.data[i + 1].leaf->id[0] : 0;
}
