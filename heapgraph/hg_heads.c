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
	vec_deinit(&p->pieces);
	vec_deinit(&p->parts);
	vec_deinit(&p->reissues);
	hg_index_deinit(&p->live);
	map_deinit(&p->at);
	map_deinit(&p->places);
	free(p);
}

void hg_pieces_destroyp(struct hg_pieces **p)
{
	hg_pieces_destroy(*p);
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

// What is the family that the head is of? Counted there: the released ones.
static struct hg_head *root_of(const struct hg_pieces *p, uint32_t head)
{
	return hg_head_of(p, hg_head_find(p, hg_head_of(p, head)->root));
}

bool hg_head_is_below(const struct hg_pieces *p, uint32_t head, uint32_t other)
{
	// A part has a higher number than its source, and turns out to be older ones only.
	while ((head = hg_head_parent(p, head)) >= other && head)
		if (head == other)
			return true;
	return false;
}

uint32_t hg_head_add(struct hg_pieces *p, const struct hg_head *head)
{
	struct hg_head *slot = vec_push(&p->heads);

	if (!slot || map_put(&p->at, head->addr, p->heads.size)) {
		p->is_out_of_memory = true;
		return 0;
	}
	*slot = *head;
	slot->root = head->parent ? hg_head_of(p, head->parent)->root : p->heads.size;
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
	if (!root_of(p, head)->n_released)
		return NULL;
	for (; head; head = hg_head_parent(p, head))
		if (hg_head_of(p, head)->released)
			return hg_head_of(p, head);
	return NULL;
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
	struct hg_head *h = hg_head_of(p, hg_head_find(p, number));

	if (h->released)
		return;
	h->released = time;
	h->release_rip = rip;
	root_of(p, hg_head_find(p, number))->n_released++;
}

void hg_head_unrelease(struct hg_pieces *p, struct hg_head *h)
{
	h->released = 0;
	root_of(p, h - p->heads.data + 1)->n_released--;
}

void hg_head_unite(struct hg_pieces *p, uint32_t part, uint32_t with)
{
	struct hg_head *from = root_of(p, part), *to;

	hg_head_of(p, part)->same = with;
	to = root_of(p, with);
	if (from != to &&
	    hg_head_of(p, part) == from) // a root: its family joins the other
		to->n_released += from->n_released;
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
