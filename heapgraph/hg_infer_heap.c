// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_infer_int.h"

#include <string.h>

bool hg_infer_is_heap(struct hg_infer *f, uint64_t addr)
{
	const struct hg_region *r = f->regions.data;
	size_t at = f->last_region;

	if (at < f->regions.size && addr >= r[at].start && addr < r[at].end)
		return true;
	at = vec_rank(f->regions.size, i, r[i].start <= addr);
	if (!at || addr >= r[at - 1].end)
		return false;
	f->last_region = at - 1;
	return true;
}

struct err *hg_infer_region(void *ctx, uint64_t time, uint64_t start, uint64_t size,
			    bool is_stack)
{
	struct hg_infer *f = ctx;
	uint64_t end = start + size;
	size_t at = vec_rank(f->regions.size, i, f->regions.data[i].end < start), n = at;
	struct hg_region *r;

	(void)time;
	if (is_stack)
		return NULL;
	if (!vec_push(&f->regions))
		return &err_nomem;
	r = f->regions.data;
	f->regions.size--;
	while (n < f->regions.size && r[n].start <= end) {
		start = r[n].start < start ? r[n].start : start;
		end = r[n].end > end ? r[n].end : end;
		n++;
	}
	memmove(&r[at + 1], &r[n], (f->regions.size - n) * sizeof(*r));
	r[at] = (struct hg_region){ start, end };
	f->regions.size = f->regions.size - n + at + 1;
	return NULL;
}
