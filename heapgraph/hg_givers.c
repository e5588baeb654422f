// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Allocators of the program's own: which function gives out parts again and again, and which
 * one they went to before.
 */
#include "heapgraph/hg_pieces_int.h"

void hg_pieces_pass(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t fn,
		    uint32_t call, uint64_t rip)
{
	struct hg_head *h = hg_head_of(p, hg_head_find(p, head));
	struct hg_part *t = h->part ? &p->parts.data[h->part - 1] : NULL;

	if (!t)
		return;
	t->passed = time;
	t->passed_to = fn;
	t->passed_rip = rip;
	t->passed_call = call;
}

bool hg_part_is_unused(const struct hg_part *t, uint32_t but)
{
	bool is_but = but && t->used_call == but;
	uint64_t used = is_but ? t->used_before : t->used;
	uint32_t call = is_but ? t->used_before_call : t->used_call;

	return t->passed && (used < t->passed || call == t->passed_call);
}

void hg_pieces_give(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t fn,
		    uint32_t call, uint64_t rip)
{
	uint32_t number = hg_head_find(p, head);
	struct hg_head *h = hg_head_of(p, number);
	struct hg_part *t = h->part ? &p->parts.data[h->part - 1] : NULL;
	struct hg_reissue *r;

	if (!t || (t->given && t->giver != fn))
		return;
	t->is_shared = true;
	if (!t->given) {
		t->given = time;
		t->giver = fn;
		h->rip = rip;
		return;
	}
	r = vec_push(&p->reissues);
	if (!r) {
		p->is_out_of_memory = true;
		return;
	}
	*r = (struct hg_reissue){ .time = time, .rip = rip, .giver = fn, .head = number };
	if (t->passed > t->given && hg_part_is_unused(t, call)) {
		r->released = t->passed;
		r->release_rip = t->passed_rip;
		r->release_fn = t->passed_to;
	}
	t->given = t->given < time ? t->given : time;
	t->passed = 0;
}

void hg_givers_judge(struct hg_pieces *p, struct map *ret)
{
	for (size_t i = 0; i < p->reissues.size; i++) {
		const struct hg_reissue *r = &p->reissues.data[i];
		const uint64_t *known = map_get(ret, r->giver);
		uint64_t fn = !known || *known == r->release_fn ? r->release_fn : 0;

		if (map_put(ret, r->giver, fn))
			p->is_out_of_memory = true;
	}
}
