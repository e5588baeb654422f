// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What store probes (`record -e stores`) would have told in a window: the store plan of the
 * program says where they are, the replay what they see. No capture with probes is needed,
 * so that the same run can be judged with and without them.
 */
#ifndef TESTS_DECODE_FLIGHT_STORES_H
#define TESTS_DECODE_FLIGHT_STORES_H

#include <string.h>

#include "capture/capture.h"
#include "decode/past/recover.h"
#include "decode/machine/trace.h"
#include "storeplan/storeplan.h"

/** A probe was hit: what was so before the probed instruction. */
struct flight_hit {
	uint64_t at; ///< position
	const struct sp_site *site;
	uint64_t gpr[16];
	uint64_t addr[SP_READS];
	uint8_t data[SP_READS][64];
	bool has_data[SP_READS];
};

/** The probes of one file. */
struct flight_plan {
	struct sp_plan *plan;
	const char *path;
	uint64_t bias;
};

enum { FLIGHT_PLANS = 2 };

struct flight_stores {
	struct flight_plan plans[FLIGHT_PLANS];
	int n_plans;
	struct map sites; ///< address -> its plan's number << 32 | index there
	VEC(struct flight_hit) hits;
	size_t next;
	/* While the window is gone through. */
	uint64_t gpr[16], fs;
	struct map memory; ///< address -> byte, as far as it was stored
	uint64_t begin, stop;
};

/** A file is mapped: where are its probes, if it has any? */
static void flight_stores_map(struct flight_stores *s, const struct capture *c,
			      uint32_t file, uint64_t start, uint64_t size,
			      uint64_t offset)
{
	const struct cap_info *info = capture_info(c);

	for (uint64_t p = 0; file && p < (uint64_t)s->n_plans; p++) {
		struct flight_plan *plan = &s->plans[p];

		if (strcmp(info->files[file - 1].path, plan->path) != 0)
			continue;
		for (size_t i = 0; i < plan->plan->n_sites; i++) {
			const struct sp_site *site = &plan->plan->sites[i];
			uint64_t at = start + site->file_offset - offset;

			if (site->file_offset - offset >= size)
				continue;
			assert_int_equal(map_put(&s->sites, at, p << 32 | i), 0);
			plan->bias = at - site->addr;
		}
	}
}

static void flight_stores_plan(struct flight_stores *s, const char *path)
{
	const struct sp_options options = {};
	struct flight_plan *p = &s->plans[s->n_plans++];

	p->path = path;
	ok(sp_plan_make(path, &options, &p->plan));
}

/** Probes in the program, and in the library whose path has @p library in it. */
static void flight_stores_init(struct flight_stores *s, const struct capture *c,
			       const char *library)
{
	const struct cap_info *info = capture_info(c);

	flight_stores_plan(s, info->exe);
	for (size_t i = 0; i < info->n_files && library; i++) {
		if (strstr(info->files[i].path, library) && s->n_plans < FLIGHT_PLANS)
			flight_stores_plan(s, info->files[i].path);
	}
}

static void flight_stores_deinit(struct flight_stores *s)
{
	for (int p = 0; p < s->n_plans; p++)
		sp_plan_destroy(s->plans[p].plan);
	map_deinit(&s->sites);
	map_deinit(&s->memory);
	vec_deinit(&s->hits);
}

static void flight_stores_read(const struct flight_stores *s, const struct sp_read *r,
			       uint64_t bias, struct flight_hit *h, int i)
{
	uint64_t at = r->disp + (r->is_absolute ? bias : 0) + (r->is_fs ? s->fs : 0);

	if (r->base != SP_NONE)
		at += s->gpr[r->base];
	if (r->index != SP_NONE)
		at += s->gpr[r->index] * r->scale;
	h->addr[i] = at;
	h->has_data[i] = true;
	for (unsigned k = 0; k < r->size; k++) {
		const uint64_t *byte = map_get(&s->memory, at + k);

		if (byte)
			h->data[i][k] = *byte;
		else
			h->has_data[i] = false; // stored before the window
	}
}

static void flight_stores_learn(struct flight_stores *s, const struct dec_step *step)
{
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (!r->is_def || !r->has_value || !r->value)
			continue;
		if (r->is_mem) {
			for (uint32_t k = 0; k < r->size; k++)
				assert_int_equal(map_put(&s->memory, r->addr + k,
							 ((const uint8_t *)r->value)[k]),
						 0);
		} else if (r->reg < 16) {
			memcpy(&s->gpr[r->reg], r->value, 8);
		}
	}
}

static struct err *flight_stores_on_step(void *ctx, const struct dec_step *step)
{
	struct flight_stores *s = ctx;
	const uint64_t *site = step->insn ? map_get(&s->sites, step->insn->rip) : NULL;

	if (site && step->position >= s->begin && step->position < s->stop) {
		const struct flight_plan *plan = &s->plans[*site >> 32];
		struct flight_hit *h = vec_push(&s->hits);

		assert_non_null(h);
		h->at = step->position;
		h->site = &plan->plan->sites[(uint32_t)*site];
		memcpy(h->gpr, s->gpr, sizeof(h->gpr));
		for (int i = 0; i < h->site->n_reads; i++)
			flight_stores_read(s, &h->site->reads[i], plan->bias, h, i);
	}
	flight_stores_learn(s, step);
	return NULL;
}

/** Go through [@p begin, @p stop), where @p m stands, and see what the probes see. */
static void flight_stores_take(struct flight_stores *s, struct dec_machine *m,
			       uint64_t begin, uint64_t stop)
{
	struct cap_regs regs;
	struct dec_where w;

	s->begin = begin;
	s->stop = stop;
	ok(dec_machine_regs(m, &regs));
	memcpy(s->gpr, regs.gpr, sizeof(s->gpr));
	s->fs = regs.fs_base;
	ok(dec_machine_trace(m, UINT64_MAX >> 1, flight_stores_on_step, s, &w));
	ok(dec_machine_seek(m, begin, &w));
}

/** The step at @p time comes next: tell @p r what a probe there says. */
static struct err *flight_stores_anchor(struct flight_stores *s, struct dec_recover *r,
					uint64_t time)
{
	const struct flight_hit *h;
	struct err *err = NULL;

	while (s->next < s->hits.size && s->hits.data[s->next].at < time)
		s->next++;
	if (s->next == s->hits.size || s->hits.data[s->next].at != time)
		return NULL;
	h = &s->hits.data[s->next];
	for (int g = 0; g < 16 && !err; g++)
		err = dec_recover_anchor(r, g, h->gpr[g]);
	for (int i = 0; i < h->site->n_reads && !err; i++) {
		if (h->has_data[i])
			err = dec_recover_anchor_memory(r, h->addr[i], h->data[i],
							h->site->reads[i].size);
	}
	return err;
}

#endif
