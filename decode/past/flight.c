// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/past/flight.h"

#include <stdio.h>

#include "decode/past/flight_int.h"

/* What each function's integer arguments are in, and how many it has. */
static const uint8_t flight_arg_regs[] = { CAP_RDI, CAP_RSI, CAP_RDX };
static const uint8_t flight_n_args[CAP_HEAP_FNS] = {
	[CAP_HEAP_MALLOC] = 1,	       [CAP_HEAP_CALLOC] = 2,
	[CAP_HEAP_REALLOC] = 2,	       [CAP_HEAP_FREE] = 1,
	[CAP_HEAP_POSIX_MEMALIGN] = 3, [CAP_HEAP_ALIGNED_ALLOC] = 2,
};

/* What heap events tell of the moment before step @p i. */
static struct err *flight_anchor(struct dec_flight *f, uint64_t i, size_t *next)
{
	struct err *err = NULL;

	while (*next < f->calls.size && f->calls.data[*next].entry < i)
		(*next)++;
	if (*next < f->calls.size && f->calls.data[*next].entry == i) {
		const struct dec_flight_call *call = &f->calls.data[*next];

		for (int a = 0; a < flight_n_args[call->fn] && !err; a++)
			err = dec_recover_anchor(f->recover, flight_arg_regs[a],
						 call->arg[a]);
		if (!err && !call->exit && call->fn != CAP_HEAP_FREE)
			err = dec_recover_lose_below(f->recover, 0,
						     DEC_RETURN_ADDRESS_BYTES);
	}
	// Calls that nest deeper than this do not end here.
	for (size_t k = *next > 8 ? *next - 8 : 0; k < *next && !err; k++) {
		const struct dec_flight_call *call = &f->calls.data[k];

		if (call->exit != i || call->fn == CAP_HEAP_FREE)
			continue;
		err = dec_recover_lose_below(f->recover, -DEC_RETURN_PROBE_BYTES,
					     DEC_RETURN_PROBE_BYTES);
		if (!err && call->has_result)
			err = dec_recover_anchor(f->recover, CAP_RAX, call->result);
	}
	return err;
}

static struct err *flight_fill(struct dec_flight *f, const struct flight_path *p,
			       const struct dec_flight_options *o)
{
	struct err *err = NULL;
	size_t next = 0, next_hit = 0;

	for (size_t i = 0; i < p->order.size && !err; i++) {
		if (p->order.data[i] == FLIGHT_GAP) {
			f->n_gaps++;
			err = dec_recover_gap(f->recover);
			continue;
		}
		if (!o->without_heap)
			err = flight_anchor(f, i, &next);
		if (!err && !o->without_stores)
			err = dec_flight_hits_anchor(f, i, &next_hit);
		if (!err)
			err = dec_recover_step(f->recover,
					       &p->insns.data[p->order.data[i]]);
	}
	return err;
}

/* Gaps take no position: bring the calls' positions to count steps only. */
static void flight_renumber(struct dec_flight *f, const struct flight_path *p)
{
	size_t at = 0, gaps = 0, call = 0;

	for (; at < p->order.size && call < f->calls.size; at++) {
		gaps += p->order.data[at] == FLIGHT_GAP;
		while (call < f->calls.size && f->calls.data[call].entry == at) {
			f->calls.data[call].entry -= gaps;
			if (f->calls.data[call].exit)
				f->calls.data[call].exit -= gaps;
			call++;
		}
	}
}

/* How large the block is that a call gave. */
static uint64_t flight_block_size(const struct dec_flight_call *c)
{
	switch (c->fn) {
	case CAP_HEAP_MALLOC:
		return c->arg[0];
	case CAP_HEAP_CALLOC:
		return c->arg[0] * c->arg[1];
	case CAP_HEAP_REALLOC:
	case CAP_HEAP_ALIGNED_ALLOC:
		return c->arg[1];
	default:
		return 0;
	}
}

/* What heap events say of the heap. */
static struct err *flight_tell_blocks(struct dec_flight *f)
{
	struct err *err = NULL;

	for (size_t i = 0; i < f->calls.size && !err; i++) {
		const struct dec_flight_call *c = &f->calls.data[i];
		bool takes = c->fn == CAP_HEAP_FREE || c->fn == CAP_HEAP_REALLOC;
		const struct dec_recover_heap_call call = {
			.entry = c->entry,
			.exit = c->exit,
			.given = c->has_result ? c->result : 0,
			.given_size = flight_block_size(c),
			.taken = takes ? c->arg[0] : 0,
		};

		err = dec_recover_heap_call(f->recover, &call);
	}
	return err;
}

static struct err *flight_recover(struct dec_flight *f, const struct capture *c,
				  const struct dec_flight_options *o)
{
	struct flight_path path;
	struct err *err = dec_flight_path_read(
		c, f->core, f->tid, o->n_insns ? o->n_insns : DEC_FLIGHT_WINDOW, &path);

	if (err)
		return err;
	f->n_decoded = path.n_decoded;
	err = dec_flight_calls_match(f, c, &path);
	if (!err && !o->without_stores)
		err = dec_flight_hits_match(f, c, &path);
	if (!err)
		err = dec_recover_create(0, &f->recover);
	if (!err)
		err = flight_fill(f, &path, o);
	flight_renumber(f, &path);
	dec_flight_path_deinit(&path);
	if (!err && !o->without_heap)
		err = flight_tell_blocks(f);
	if (!err)
		err = dec_flight_end_create(c, f->core, &f->end_state);
	if (err)
		return err;
	dec_recover_set_end(f->recover, &f->end_state->end);
	dec_recover_set_company(f->recover, f->core->n_threads > 1);
	return dec_recover_run(f->recover, &f->stats);
}

struct err *dec_flight_open(const struct capture *c, const struct dec_flight_options *o,
			    struct dec_flight **ret)
{
	static const struct dec_flight_options defaults;
	_cleanup_(dec_flight_closep) struct dec_flight *f = calloc(1, sizeof(*f));
	struct err *err;

	if (!f)
		return &err_nomem;
	if (!capture_info(c)->end_core.reason)
		return err_new(ERR_NOT_FOUND,
			       "the capture has no end.core (record with --snapshot or "
			       "--end-core)");
	err = cap_end_core_open(c, &f->core);
	if (err)
		return err;
	f->tid = f->core->tid;
	err = flight_recover(f, c, o ? o : &defaults);
	if (err)
		return err;
	*ret = take_ptr(&f);
	return NULL;
}

void dec_flight_close(struct dec_flight *f)
{
	if (!f)
		return;
	dec_recover_destroy(f->recover);
	free(f->end_state);
	if (f->core)
		cap_core_close(f->core);
	vec_deinit(&f->calls);
	vec_deinit(&f->earlier);
	vec_deinit(&f->hits);
	vec_deinit(&f->hit_memory);
	free(f);
}

void dec_flight_closep(struct dec_flight **f)
{
	dec_flight_close(*f);
}
