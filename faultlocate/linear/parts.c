// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/linear/parts.h"

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

/* @return which part @p op is in: a number that two of different parts do not share but by chance. */
static uint64_t part_of(const struct fl_lin_object *o, const struct fl_lin_op *op)
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
		uint64_t key = part_of(o, &h->ops.data[i]), *at = map_get(&parts, key);

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
	for (size_t i = 0; i < n; i++)
		ret->ops[ret->ends.data[of[i]]++] = i;
	return NULL;
}

struct fl_lin_part fl_lin_parts_at(const struct fl_lin_parts *p,
				   const struct fl_lin_history *h, size_t i)
{
	size_t from = i ? p->ends.data[i - 1] : 0, to = p->ends.data[i], n = to - from;

	if (h->ops.data[p->ops[from]].is_wrong)
		n = vec_rank(n, k, h->ops.data[p->ops[from + k]].is_wrong);
	return (struct fl_lin_part){ p->ops + from, n, to - from - n };
}

void fl_lin_parts_deinit(struct fl_lin_parts *p)
{
	free(p->ops);
	vec_deinit(&p->ends);
}
