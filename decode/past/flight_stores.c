// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Store probes are anchors: each hit tells registers, and memory, of the moment before the
 * probed instruction. Which hit belongs to which execution follows from their order over all
 * sites: the last hit is the last time that one of the probed instructions ran, and so on
 * backward, as long as the addresses agree and nothing is missing between.
 */
#include "decode/past/flight_int.h"

#include <string.h>

/* ---- what was recorded --------------------------------------------------------------------- */

static struct err *hit_add_memory(struct dec_flight *f, const struct cap_write *w)
{
	for (uint32_t i = 0; i < w->size; i += 64) {
		struct dec_flight_memory *m = vec_push(&f->hit_memory);

		if (!m)
			return &err_nomem;
		m->addr = w->addr + i;
		m->size = w->size - i < 64 ? w->size - i : 64;
		memcpy(m->data, w->data + i, m->size);
	}
	return NULL;
}

static struct err *hit_add(void *ctx, const struct cap_event *ev)
{
	struct dec_flight *f = ctx;
	struct dec_flight_hit *h;
	struct err *err = NULL;

	if (ev->tid != f->tid || ev->kind != CAP_EV_PROBE)
		return NULL;
	h = vec_push(&f->hits);
	if (!h)
		return &err_nomem;
	h->rip = ev->regs.rip;
	h->gprs = ev->probe_gprs;
	memcpy(h->gpr, ev->regs.gpr, sizeof(h->gpr));
	h->memory = f->hit_memory.size;
	for (size_t i = 0; i < ev->n_writes && !err; i++)
		err = hit_add_memory(f, &ev->writes[i]);
	f->hits.data[f->hits.size - 1].n_memory = f->hit_memory.size - h->memory;
	return err;
}

/* The thread may have ended at a probed instruction, which then is not in its path: its
 * hit tells what the core does. */
static bool hit_is_end(const struct dec_flight *f, const struct dec_flight_hit *h)
{
	if (h->rip != f->core->regs.rip)
		return false;
	for (int g = 0; g < 16; g++) {
		if ((h->gprs >> g & 1) && h->gpr[g] != f->core->regs.gpr[g])
			return false;
	}
	return true;
}

/* ---- both -------------------------------------------------------------------------------------- */

/* Give the last hits the last executions, back to a gap. @return how many hits have one. */
static size_t hits_join(struct dec_flight *f, const struct flight_path *p, size_t n_hits,
			const struct map *rips)
{
	size_t n = 0;

	for (size_t i = p->order.size; i > 0 && n < n_hits; i--) {
		const struct dec_insn *insn;
		struct dec_flight_hit *h = &f->hits.data[n_hits - 1 - n];

		if (p->order.data[i - 1] == FLIGHT_GAP)
			break;
		insn = &p->insns.data[p->order.data[i - 1]];
		if (!map_get(rips, insn->rip))
			continue;
		if (h->rip != insn->rip)
			break;
		h->at = i - 1;
		n++;
	}
	return n;
}

struct err *dec_flight_hits_match(struct dec_flight *f, const struct capture *c,
				  const struct flight_path *p)
{
	struct map rips = {};
	struct err *err;
	size_t n_hits, n;

	if (!capture_info(c)->n_store_sites)
		return NULL;
	err = cap_events_each(c, hit_add, f);
	for (size_t i = 0; i < f->hits.size && !err; i++) {
		if (map_put(&rips, f->hits.data[i].rip, 1))
			err = &err_nomem;
	}
	if (!err) {
		n_hits = f->hits.size;
		if (n_hits && hit_is_end(f, &f->hits.data[n_hits - 1]))
			n_hits--;
		n = hits_join(f, p, n_hits, &rips);
		// Hits from before the window, or of nobody knows what, are no anchors.
		memmove(f->hits.data, f->hits.data + (n_hits - n),
			n * sizeof(*f->hits.data));
		f->hits.size = n;
	}
	map_deinit(&rips);
	return err;
}

struct err *dec_flight_hits_anchor(struct dec_flight *f, uint64_t i, size_t *next)
{
	const struct dec_flight_hit *h;
	struct err *err = NULL;

	while (*next < f->hits.size && f->hits.data[*next].at < i)
		(*next)++;
	if (*next == f->hits.size || f->hits.data[*next].at != i)
		return NULL;
	h = &f->hits.data[*next];
	for (int g = 0; g < 16 && !err; g++) {
		if (h->gprs >> g & 1)
			err = dec_recover_anchor(f->recover, g, h->gpr[g]);
	}
	for (uint32_t k = 0; k < h->n_memory && !err; k++) {
		const struct dec_flight_memory *m = &f->hit_memory.data[h->memory + k];

		err = dec_recover_anchor_memory(f->recover, m->addr, m->data, m->size);
	}
	return err;
}
