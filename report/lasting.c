// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/lasting.h"

#include "base/hash.h"

// Of 64 bits: two of one stretch hardly ever have the same.
static uint64_t hash_of(const struct spec_violation *v)
{
	uint64_t hash = hash_mix(0x51ed, v->constraint);

	for (size_t i = 0; i < SPEC_MAX_VARS; i++)
		hash = hash_mix(hash, v->binding.node[i].v);
	return hash_mix(hash, v->binding.index);
}

struct err *report_lasting_step(struct fl_lasting *l, uint64_t step,
				const spec_violations *now)
{
	struct map since = {};

	for (size_t i = 0; i < now->size; i++) {
		uint64_t hash = hash_of(&now->data[i]);
		const uint64_t *was = map_get(&l->since, hash);

		if (map_put(&since, hash, was ? *was : step + 1)) {
			map_deinit(&since);
			return &err_nomem;
		}
	}
	map_deinit(&l->since);
	l->since = since;
	l->is_settled = false;
	return NULL;
}

static bool is_checked(const struct spec *s, uint32_t constraint, int type)
{
	const struct spec_constraint *c = spec_constraint(s, constraint);

	for (size_t i = 0; type >= 0 && i < c->n_vars; i++)
		if ((int)c->vars[i].type == type)
			return true;
	return type < 0;
}

struct err *report_lasting_point(struct fl_lasting *l, const struct spec *s, int type,
				 const spec_violations *now)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && !l->is_settled && i < now->size; i++) {
		const uint64_t *since = map_get(&l->since, hash_of(&now->data[i]));

		if (!since || *since == 1 || map_get(&l->is_known, *since) ||
		    !is_checked(s, now->data[i].constraint, type))
			continue;
		if (map_put(&l->is_known, *since, 1))
			return &err_nomem;
		err = vec_add(&l->steps, *since - 1);
	}
	l->is_settled = l->is_settled || type < 0;
	return err;
}

void report_lasting_deinit(struct fl_lasting *l)
{
	map_deinit(&l->since);
	map_deinit(&l->is_known);
	vec_deinit(&l->steps);
}
