// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/linear/parts.h"

#include <string.h>

static int by_index(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

void fl_lin_sort(size_t *ops, size_t n)
{
	if (n)
		qsort(ops, n, sizeof(*ops), by_index);
}

uint64_t fl_lin_part_key(const struct fl_lin_object *o, const struct fl_lin_op *op)
{
	uint64_t key = fl_lin_op_key(o, op);

	return key * 0x9e3779b97f4a7c15 ^ (uint64_t)op->instance * 0xc2b2ae3d27d4eb4f;
}

struct err *fl_lin_parts_make(const struct fl_lin_object *o,
			      const struct fl_lin_history *h, struct fl_lin_parts *ret)
{
	size_t n = h->ops.size, sum = 0;
	_cleanup_free_ uint32_t *of = calloc(n + 1, sizeof(*of));
	struct map parts = {};
	struct err *err;

	*ret = (struct fl_lin_parts){ .ops = calloc(n + 1, sizeof(*ret->ops)) };
	err = of && ret->ops ? NULL : &err_nomem;
	for (size_t i = 0; !err && i < n; i++) {
		uint64_t key = fl_lin_part_key(o, &h->ops.data[i]),
			 *at = map_get(&parts, key);

		of[i] = at ? *at : ret->ends.size;
		if (!at && (map_put(&parts, key, ret->ends.size) ||
			    vec_add(&ret->ends, (size_t)0)))
			err = &err_nomem;
		else
			ret->ends.data[of[i]]++;
	}
	map_deinit(&parts);
	if (err)
		return err;
	for (size_t i = 0; i < ret->ends.size; i++) {
		size_t size = ret->ends.data[i];

		ret->ends.data[i] = sum; // becomes the end below
		sum += size;
	}
	for (int is_later = 0; is_later < 2; is_later++)
		for (size_t i = 0; i < n; i++)
			if (h->ops.data[i].is_wrong == !is_later)
				ret->ops[ret->ends.data[of[i]]++] = i;
	return NULL;
}

struct fl_lin_part fl_lin_parts_at(const struct fl_lin_parts *p,
				   const struct fl_lin_object *o,
				   const struct fl_lin_history *h, size_t i)
{
	size_t from = i ? p->ends.data[i - 1] : 0, to = p->ends.data[i], n = to - from;
	const struct fl_lin_op *first = &h->ops.data[p->ops[from]];
	struct fl_lin_part ret = { .ops = p->ops + from,
				   .key = fl_lin_part_key(o, first) };
	const uint64_t *start = map_get(&h->starts.of, ret.key);

	ret.n = first->is_wrong ? vec_rank(n, k, h->ops.data[p->ops[from + k]].is_wrong) :
				  n;
	ret.n_later = n - ret.n;
	ret.start = start ? h->starts.words.data + *start : NULL;
	return ret;
}

void fl_lin_parts_deinit(struct fl_lin_parts *p)
{
	free(p->ops);
	vec_deinit(&p->ends);
}

/* ---- what was left out ------------------------------------------------------------------------ */

static struct err *copy_start(struct fl_lin_starts *to, const struct fl_lin_starts *from,
			      uint64_t key, uint64_t at)
{
	const int64_t *start = from->words.data + at;
	size_t size = (size_t)start[0];

	if (map_get(&to->of, key))
		return NULL;
	if (map_put(&to->of, key, to->words.size) ||
	    vec_reserve(&to->words, to->words.size + size))
		return &err_nomem;
	memcpy(to->words.data + to->words.size, start, size * sizeof(*start));
	to->words.size += size;
	return NULL;
}

struct err *fl_lin_starts_copy(struct fl_lin_starts *to, const struct fl_lin_starts *from)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < from->of.capacity; i++)
		if (from->of.slots[i].key != MAP_EMPTY_KEY)
			err = copy_start(to, from, from->of.slots[i].key,
					 from->of.slots[i].value);
	if (!err && from->of.has_empty_key)
		err = copy_start(to, from, MAP_EMPTY_KEY, from->of.of_empty_key);
	return err;
}

void fl_lin_starts_deinit(struct fl_lin_starts *s)
{
	vec_deinit(&s->words);
	map_deinit(&s->of);
}
