// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_pending.h"

static bool violation_equal(const struct spec_violation *a,
			    const struct spec_violation *b)
{
	return a->constraint == b->constraint &&
	       spec_binding_equal(&a->binding, &b->binding);
}

static uint64_t violation_hash(const struct spec_violation *v)
{
	uint64_t hash = v->constraint + 1 + (uint64_t)v->binding.index * 31;

	for (size_t i = 0; i < SPEC_MAX_VARS; i++)
		hash = (hash ^ v->binding.node[i].v) * 0x9e3779b97f4a7c15u;
	return hash >> 1; // never MAP_EMPTY_KEY
}

void fl_pendings_deinit(struct fl_pendings *p)
{
	for (size_t i = 0; i < p->all.size; i++)
		spec_args_deinit(&p->all.data[i].args);
	vec_deinit(&p->all);
	vec_deinit(&p->free);
	map_deinit(&p->by_hash);
	p->n = 0;
}

bool fl_pendings_has(const struct fl_pendings *p, const struct spec_violation *v)
{
	const uint64_t *first = map_get(&p->by_hash, violation_hash(v));

	for (uint32_t i = first ? *first : 0; i; i = p->all.data[i - 1].next_same)
		if (violation_equal(&p->all.data[i - 1].v, v))
			return true;
	return false;
}

struct err *fl_pendings_add(struct fl_pendings *p, const struct spec_violation *v,
			    uint32_t *ret)
{
	uint64_t hash = violation_hash(v), *first;
	uint32_t i = p->all.size;

	// Room in free for all: fl_pendings_remove() must not fail.
	if (vec_reserve(&p->free, p->all.size + 1) ||
	    vec_reserve(&p->all, p->all.size + 1))
		return &err_nomem;
	if (p->free.size)
		i = p->free.data[p->free.size - 1];
	first = map_get(&p->by_hash, hash);
	if (!first && map_put(&p->by_hash, hash, 0))
		return &err_nomem;
	first = map_get(&p->by_hash, hash);
	if (p->free.size)
		p->free.size--;
	else
		p->all.size++;
	p->all.data[i] = (struct fl_pending){
		.v = *v,
		.next_same = *first,
		.is_used = true,
	};
	*first = i + 1;
	p->n++;
	*ret = i;
	return NULL;
}

void fl_pendings_remove(struct fl_pendings *p, uint32_t index)
{
	struct fl_pending *gone = &p->all.data[index];
	uint64_t hash = violation_hash(&gone->v), *first = map_get(&p->by_hash, hash);

	if (*first != index + 1) {
		uint32_t i = *first;

		while (p->all.data[i - 1].next_same != index + 1)
			i = p->all.data[i - 1].next_same;
		p->all.data[i - 1].next_same = gone->next_same;
	} else if (gone->next_same) {
		*first = gone->next_same;
	} else {
		map_remove(&p->by_hash, hash);
	}
	spec_args_deinit(&gone->args);
	gone->is_used = false;
	p->free.data[p->free.size++] = index;
	p->n--;
}
