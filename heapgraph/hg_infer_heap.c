// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_infer_int.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

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

static struct err *add_region(struct hg_infer *f, uint64_t start, uint64_t end)
{
	size_t at = vec_rank(f->regions.size, i, f->regions.data[i].end < start), n = at;
	struct hg_region *r;

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

struct err *hg_infer_syscall(struct hg_infer *f, const struct dec_step *s)
{
	uint64_t value[8] = {}, result = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->n_refs; i++) {
		uint64_t v;

		if (s->refs[i].is_mem || !s->refs[i].has_value)
			continue;
		memcpy(&v, s->refs[i].value, 8);
		if (!s->refs[i].is_def && n < 8)
			value[n++] = v;
		else if (s->refs[i].is_def && s->refs[i].reg == CAP_RAX)
			result = v;
	}
	if ((int64_t)result < 0 && (int64_t)result > -4096)
		return NULL;
	if (value[0] == SYS_brk) {
		uint64_t old = f->brk;

		f->brk = result;
		return old && result > old ? add_region(f, old, result) : NULL;
	}
	if (value[0] == SYS_mmap && (value[4] & MAP_ANONYMOUS) && !(value[4] & MAP_STACK))
		return add_region(f, result, result + value[2]);
	return NULL;
}
