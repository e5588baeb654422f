// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/runs.h"

#include <assert.h>
#include <string.h>

enum { RUNS_KEPT = 4096 }; ///< moving them costs less than it is worth then

static struct err *runs_put(struct dec_pt_runs *r, const struct dec_pt_runs_item *item)
{
	struct dec_pt_runs_item *i = vec_push(&r->items);

	if (!i)
		return &err_nomem;
	*i = *item;
	i->is_first = r->begins;
	r->begins = false;
	return NULL;
}

static struct err *runs_on_run(void *ctx, const struct dec_pt_run *run)
{
	const struct dec_pt_runs_item item = { .ip = run->ip,
					       .end_ip = run->end_ip,
					       .n = run->n_insns,
					       .kind = DEC_PT_RUNS_RUN };

	return runs_put(ctx, &item);
}

static struct err *runs_on_gap(void *ctx, const struct dec_pt_gap *gap)
{
	const struct dec_pt_runs_item item = { .kind = DEC_PT_RUNS_GAP };

	(void)gap;
	return runs_put(ctx, &item);
}

static struct err *runs_on_event(void *ctx, const struct dec_pt_event *e)
{
	const struct dec_pt_runs_item item = { .ip = e->ip, .kind = DEC_PT_RUNS_ENTRY };

	return e->kind == DEC_PT_EV_ENABLED ? runs_put(ctx, &item) : NULL;
}

/* Decode on. Nothing more: is_decoded. */
static struct err *runs_decode(struct dec_pt_runs *r)
{
	const struct dec_pt_sink sink = {
		.ctx = r, .run = runs_on_run, .gap = runs_on_gap, .event = runs_on_event
	};
	struct err *err = NULL;
	bool is_end = false;

	if (!r->steps)
		err = dec_pt_steps_create(r->stream, NULL, &sink, &r->steps);
	r->begins = true;
	if (!err)
		err = dec_pt_steps_next(r->steps, &is_end);
	if (is_end) {
		r->is_decoded = true;
		dec_pt_steps_destroy(take_ptr(&r->steps));
	}
	return err;
}

const struct dec_pt_runs_item *dec_pt_runs_get(struct dec_pt_runs *r, uint64_t at,
					       struct err **err)
{
	assert(at >= r->n_gone && "nobody asks for what was forgotten");
	while (!*err && at >= r->n_gone + r->items.size && !r->is_decoded)
		*err = runs_decode(r);
	if (*err || at >= r->n_gone + r->items.size)
		return NULL;
	return &r->items.data[at - r->n_gone];
}

void dec_pt_runs_forget(struct dec_pt_runs *r, uint64_t at)
{
	uint64_t n;

	if (at < r->n_gone + RUNS_KEPT)
		return;
	n = at - 1 - r->n_gone;
	memmove(r->items.data, r->items.data + n,
		(r->items.size - n) * sizeof(*r->items.data));
	r->items.size -= n;
	r->n_gone += n;
}

void dec_pt_runs_init(struct dec_pt_runs *r, const struct dec_pt_stream *s)
{
	*r = (struct dec_pt_runs){ .stream = s };
}

void dec_pt_runs_deinit(struct dec_pt_runs *r)
{
	dec_pt_steps_destroy(r->steps);
	vec_deinit(&r->items);
}
