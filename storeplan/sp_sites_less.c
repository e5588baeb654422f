// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_sites_int.h"

#include <stdlib.h>

static bool still_done(const struct sp_sites *p, const struct sp_known *k)
{
	return !vec_find(&p->stores, s,
			 s->is_done && s->read_at == NOWHERE &&
				 !sp_sites_follows(p, s, k));
}

static int by_price(const void *a, const void *b, void *ctx)
{
	const struct sites_probe *x = a, *y = b;
	double px = sp_sites_price(ctx, x->insn), py = sp_sites_price(ctx, y->insn);

	return px > py ? -1 : px < py ? 1 : x->insn < y->insn ? -1 : x->insn > y->insn;
}

void sp_sites_prune(struct sp_sites *p, struct sp_known *k)
{
	bool is_long = p->probes.size * p->f->n_insns * 12 > PRUNE_WORK_MAX;
	size_t n = 0;

	if (p->probes.size)
		qsort_r(p->probes.data, p->probes.size, sizeof(*p->probes.data), by_price,
			p);
	for (size_t i = 0; i < p->probes.size; i++) {
		struct sites_probe probe = p->probes.data[i];

		p->given[probe.insn] = 0;
		if (!probe.reads.size && !is_long) {
			sp_known_compute(k, p->given);
			if (still_done(p, k)) {
				vec_deinit(&probe.reads);
				continue;
			}
		}
		p->given[probe.insn] = SP_ALL_GPRS;
		p->probes.data[n++] = probe;
	}
	p->probes.size = n;
}
