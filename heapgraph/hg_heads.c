// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_pieces_int.h"

struct err *hg_pieces_create(struct hg_pieces **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &err_nomem;
}

void hg_pieces_destroy(struct hg_pieces *p)
{
	if (!p)
		return;
	vec_deinit(&p->heads);
	hg_forest_deinit(&p->family);
	vec_deinit(&p->pieces);
	vec_deinit(&p->parts);
	vec_deinit(&p->reissues);
	hg_index_deinit(&p->live);
	map_deinit(&p->at);
	map_deinit(&p->places);
	free(p);
}

bool hg_pieces_is_out_of_memory(const struct hg_pieces *p)
{
	return p->is_out_of_memory;
}

/* ---- heads ------------------------------------------------------------------------------ */

struct hg_head *hg_head_of(const struct hg_pieces *p, uint32_t number)
{
	return &p->heads.data[number - 1];
}

uint32_t hg_head_find(const struct hg_pieces *p, uint32_t number)
{
	uint32_t top = number;

	while (hg_head_of(p, top)->same)
		top = hg_head_of(p, top)->same;
	while (number != top) {
		uint32_t next = hg_head_of(p, number)->same;

		hg_head_of(p, number)->same = top;
		number = next;
	}
	return top;
}

uint32_t hg_head_parent(const struct hg_pieces *p, uint32_t head)
{
	uint32_t parent = hg_head_of(p, head)->parent;

	return parent ? hg_head_find(p, parent) : 0;
}

bool hg_head_is_below(const struct hg_pieces *p, uint32_t head, uint32_t other)
{
	// A part has a higher number than its source, and turns out to be older ones only.
	return other < head && hg_head_of(p, head)->parent &&
	       hg_forest_is_below(&p->family, head, other);
}

uint32_t hg_head_add(struct hg_pieces *p, const struct hg_head *head)
{
	struct hg_head *slot = vec_push(&p->heads);

	if (!slot || !hg_forest_add(&p->family, head->parent) ||
	    map_put(&p->at, head->addr, p->heads.size)) {
		p->is_out_of_memory = true;
		return 0;
	}
	*slot = *head;
	return p->heads.size;
}

uint64_t hg_pieces_addr(const struct hg_pieces *p, uint32_t head)
{
	return hg_head_of(p, hg_head_find(p, head))->addr;
}

bool hg_pieces_is_same(const struct hg_pieces *p, uint32_t a, uint32_t b)
{
	return hg_head_find(p, a) == hg_head_find(p, b);
}

bool hg_pieces_is_kin(const struct hg_pieces *p, uint32_t a, uint32_t b)
{
	a = hg_head_find(p, a);
	b = hg_head_find(p, b);
	return a == b || hg_head_is_below(p, a, b) || hg_head_is_below(p, b, a);
}

struct hg_head *hg_head_released(const struct hg_pieces *p, uint32_t head)
{
	struct hg_head *h = hg_head_of(p, head);

	if (h->released || !h->parent)
		return h->released ? h : NULL;
	head = hg_forest_marked(&p->family, head);
	return head ? hg_head_of(p, head) : NULL;
}

bool hg_pieces_is_released(const struct hg_pieces *p, uint32_t head)
{
	return hg_head_released(p, hg_head_find(p, head)) != NULL;
}

uint32_t hg_pieces_at(const struct hg_pieces *p, uint64_t addr)
{
	const uint64_t *number = map_get(&p->at, addr);
	uint32_t head = number ? hg_head_find(p, *number) : 0;

	return head && hg_head_of(p, head)->addr == addr && !hg_head_released(p, head) ?
		       head :
		       0;
}

void hg_pieces_release(struct hg_pieces *p, uint64_t time, uint32_t number, uint64_t rip)
{
	uint32_t head = hg_head_find(p, number);
	struct hg_head *h = hg_head_of(p, head);

	if (h->released)
		return;
	h->released = time;
	h->release_rip = rip;
	hg_forest_mark(&p->family, head, true);
}

void hg_head_unrelease(struct hg_pieces *p, struct hg_head *h)
{
	h->released = 0;
	hg_forest_mark(&p->family, h - p->heads.data + 1, false);
}

void hg_head_unite(struct hg_pieces *p, uint32_t part, uint32_t with)
{
	hg_head_of(p, part)->same = with;
	hg_forest_mark(&p->family, part, false);
	hg_forest_move(&p->family, part, with);
}

/* ---- blame ------------------------------------------------------------------------------ */

struct hg_blame hg_blame_of(const struct hg_pieces *p, uint64_t place)
{
	const uint64_t *known = map_get(&p->places, place);

	return known ? (struct hg_blame){ *known >> 32, (uint32_t)*known } :
		       (struct hg_blame){ 0, 0 };
}

void hg_blame_set(struct hg_pieces *p, uint64_t place, struct hg_blame b)
{
	if (map_put(&p->places, place, (uint64_t)b.made << 32 | b.wrong))
		p->is_out_of_memory = true;
}
