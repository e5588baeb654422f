// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/history/heap_moving.h"

#include <stdlib.h>
#include <string.h>

static void moving_deinit(struct heap_moving *v)
{
	free(v->held);
}

void dec_heap_moving_deinit(struct heap_movings *m)
{
	for (size_t i = 0; i < m->live.size; i++)
		moving_deinit(&m->live.data[i]);
	vec_deinit(&m->live);
	vec_deinit(&m->looks);
	map_deinit(&m->at);
}

struct err *dec_heap_moving_add(struct heap_movings *m, size_t index,
				const struct dec_var_site *site, uint64_t addr,
				bool *is_new)
{
	const uint64_t *first = map_get(&m->at, addr);

	*is_new = !first;
	for (size_t i = first ? *first : 0; i; i = m->looks.data[i - 1].next)
		if (m->looks.data[i - 1].site == site)
			return NULL;
	if (vec_add(&m->looks, (struct heap_look){ site, index, first ? *first : 0 }) ||
	    map_put(&m->at, addr, m->looks.size))
		return &err_nomem;
	return NULL;
}

/* ---- what is told --------------------------------------------------------------------- */

static struct err *tell_end(struct heap_movings *m, struct heap_moving *v, uint64_t rip,
			    uint64_t time)
{
	uint64_t addr = v->addr;

	v->addr = 0;
	return addr ? DEC_HEAP_TELL(m->ev, root_end, time, v->index, addr, rip) : NULL;
}

/** It holds @p bytes, since the instruction at @p from. */
static struct err *tell_value(struct heap_movings *m, struct heap_moving *v,
			      uint64_t time, uint64_t from, const uint8_t *bytes)
{
	uint64_t size = m->vars[v->index].size;
	struct dec_heap_store store = { .time = time ? time - 1 : 0,
					.rip = from,
					.pc = from,
					.data = v->held,
					.size = (uint32_t)size };
	struct err *err = NULL;

	if (v->addr && !memcmp(v->held, bytes, size))
		return NULL;
	memcpy(v->held, bytes, size);
	if (!v->addr) {
		v->addr = DEC_HEAP_NOWHERE + m->n_bytes;
		m->n_bytes += (size | 15) + 17;
		err = DEC_HEAP_TELL(m->ev, root, store.time, v->index, v->addr, size,
				    NULL, v->return_at);
	}
	store.addr = v->addr;
	return err ? err : DEC_HEAP_TELL(m->ev, stores, &store, 1);
}

/* ---- calls ------------------------------------------------------------------------------ */

/** The calls of @p thread whose return address lies at @p return_at or below are over. */
static struct err *end_calls(struct heap_movings *m, size_t thread, uint64_t return_at,
			     uint64_t rip, uint64_t time)
{
	struct err *err = NULL;
	size_t n = 0;

	for (size_t i = 0; i < m->live.size; i++) {
		struct heap_moving *v = &m->live.data[i];

		if (err || v->thread != thread || v->return_at > return_at) {
			m->live.data[n++] = *v;
			continue;
		}
		err = tell_end(m, v, rip, time);
		moving_deinit(v);
	}
	m->live.size = n;
	return err;
}

static struct err *begin_call(struct heap_movings *m, const struct heap_look *k,
			      size_t thread, uint64_t return_at, const uint64_t *gpr)
{
	struct heap_moving v = { .of = k->site->moving,
				 .index = k->index,
				 .thread = thread,
				 .return_at = return_at,
				 .held = calloc(1, m->vars[k->index].size + 1) };

	memcpy(v.entry, gpr, sizeof(v.entry));
	if (!v.held || vec_add(&m->live, v)) {
		free(v.held);
		return &err_nomem;
	}
	return NULL;
}

/* ---- looking ---------------------------------------------------------------------------- */

static bool read_told(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct heap_movings *m = ctx;

	if (!m->ev->memory)
		return false;
	m->ev->memory(m->ev->ctx, addr, buf, size);
	return true;
}

static struct err *look(struct heap_movings *m, const struct heap_look *k,
			struct heap_moving *v, const uint64_t *gpr, uint64_t rip,
			uint64_t from, uint64_t time)
{
	struct dec_frame f = {
		.rip = rip, .has_entry = true, .read = read_told, .ctx = m
	};
	uint64_t size = m->vars[v->index].size;
	_cleanup_free_ uint8_t *bytes = malloc(size + 1);

	if (!bytes)
		return &err_nomem;
	memcpy(f.gpr, gpr, sizeof(f.gpr));
	memcpy(f.entry, v->entry, sizeof(f.entry));
	v->is_within = k->site->is_within;
	v->is_there = dec_symbols_site_value(m->symbols, k->site, &f, bytes, size);
	v->was_there |= v->is_there;
	return v->is_there ? tell_value(m, v, time, from, bytes) : NULL;
}

struct err *dec_heap_moving_reach(struct heap_movings *m, size_t thread, uint64_t rip,
				  uint64_t from, const uint64_t *gpr, uint64_t time)
{
	const uint64_t *first = map_get(&m->at, rip);
	struct err *err = NULL;
	bool is_ended = false;

	for (size_t i = first ? *first : 0; i && !err; i = m->looks.data[i - 1].next) {
		const struct heap_look *k = &m->looks.data[i - 1];
		uint64_t return_at = gpr[k->site->cfa_reg] + k->site->cfa_disp - 8;
		struct heap_moving *v;

		// Frames here and below were left by longjmp, an exception, or a tail call.
		if (k->site->is_entry && !is_ended)
			err = end_calls(m, thread, return_at, rip, time);
		is_ended |= k->site->is_entry;
		if (!err && k->site->is_entry)
			err = begin_call(m, k, thread, return_at, gpr);
		v = vec_find(&m->live, x,
			     x->thread == thread && x->return_at == return_at &&
				     x->of == k->site->moving);
		if (!err && v)
			err = look(m, k, v, gpr, rip, from, time);
	}
	return err;
}

bool dec_heap_moving_returns(const struct heap_movings *m, size_t thread, uint64_t rsp)
{
	return vec_find(&m->live, v, v->thread == thread && v->return_at <= rsp);
}

struct err *dec_heap_moving_return(struct heap_movings *m, size_t thread, uint64_t rsp,
				   uint64_t rip, uint64_t time)
{
	return end_calls(m, thread, rsp, rip, time);
}

struct err *dec_heap_moving_settle(struct heap_movings *m, uint64_t time)
{
	struct err *err = NULL;

	for (size_t i = 0; i < m->live.size && !err; i++) {
		struct heap_moving *v = &m->live.data[i];

		if (v->is_there || !v->was_there)
			continue;
		err = tell_end(m, v, DEC_HEAP_ROOT + v->index, time);
		if (!err && v->is_within)
			err = DEC_HEAP_TELL(m->ev, root_missing, time, v->index);
	}
	return err;
}
