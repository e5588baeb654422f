// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Heap events are anchors: a recorded allocator call tells registers of the instruction that
 * was probed, and rax behind the call's return. Which event belongs to which instruction
 * follows from their order: the last event is the last time that a probed instruction ran,
 * and so on backward, as long as the functions agree.
 */
#include "decode/past/flight_int.h"

#include <string.h>

/* A recorded call with its result, when there is one. */
struct flight_event {
	enum cap_heap_fn fn;
	uint64_t arg[3], result;
	bool has_result, is_open;
};

/* ---- what was recorded -------------------------------------------------------------------- */

typedef VEC(struct flight_event) flight_events;

struct flight_reading {
	uint32_t tid;
	flight_events events; // of that thread
};

static struct err *event_add(void *ctx, const struct cap_event *ev)
{
	struct flight_reading *r = ctx;
	struct flight_event *e;

	if (ev->tid != r->tid)
		return NULL;
	if (ev->kind == CAP_EV_HEAP) {
		e = vec_push(&r->events);
		if (!e)
			return &err_nomem;
		e->fn = ev->heap_fn;
		memcpy(e->arg, ev->heap_args, sizeof(e->arg));
		e->is_open = ev->heap_fn != CAP_HEAP_FREE;
		return NULL;
	}
	for (size_t i = ev->kind == CAP_EV_HEAP_DONE ? r->events.size : 0; i > 0; i--) {
		e = &r->events.data[i - 1];
		if (!e->is_open || e->fn != ev->heap_fn)
			continue;
		e->is_open = false;
		e->has_result = true;
		e->result = ev->heap_args[0];
		break;
	}
	return NULL;
}

/* ---- what ran --------------------------------------------------------------------------------- */

/* Where each probed instruction lies: address -> function. */
static struct err *sites_find(const struct capture *c, const struct cap_core *core,
			      struct map *ret)
{
	const struct cap_info *info = capture_info(c);

	for (size_t i = 0; i < info->n_heap_sites; i++) {
		const struct cap_heap_site *s = &info->heap_sites[i];

		for (size_t k = 0; k < core->n_mappings; k++) {
			const struct cap_mapping *m = &core->mappings[k];

			if (s->file && m->file == s->file &&
			    s->file_offset >= m->file_offset &&
			    s->file_offset - m->file_offset < m->end - m->start &&
			    map_put(ret, m->start + s->file_offset - m->file_offset,
				    s->fn))
				return &err_nomem;
		}
	}
	return NULL;
}

/* Follow calls and returns: which allocator calls were there, and when were they over? */
static struct err *calls_find(struct dec_flight *f, const struct flight_path *p,
			      const struct map *sites)
{
	VEC(size_t) open = {}; // what each call is: 1 + index into f->calls, or 0
	struct err *err = NULL;

	for (size_t i = 0; i < p->order.size && !err; i++) {
		const struct dec_insn *insn;
		uint64_t *fn;

		if (p->order.data[i] == FLIGHT_GAP) {
			open.size = 0;
			continue;
		}
		insn = &p->insns.data[p->order.data[i]];
		fn = map_get(sites, insn->rip);
		if (fn) {
			struct dec_flight_call *call = vec_push(&f->calls);

			if (!call) {
				err = &err_nomem;
				break;
			}
			call->entry = i;
			call->fn = *fn;
			if (open.size)
				open.data[open.size - 1] = f->calls.size;
		}
		if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND) {
			if (!vec_push(&open))
				err = &err_nomem;
		} else if (insn->flow == DEC_FLOW_RET && open.size) {
			open.size--;
			if (open.data[open.size])
				f->calls.data[open.data[open.size] - 1].exit = i + 1;
		}
	}
	vec_deinit(&open);
	return err;
}

/* ---- both ---------------------------------------------------------------------------------------- */

/* Give the last calls the last events. @return how many events fit. */
static size_t calls_join(struct dec_flight *f, const flight_events *events)
{
	size_t n_calls = f->calls.size, n_events = events->size, n = 0;

	for (; n < n_calls && n < n_events; n++) {
		struct dec_flight_call *call = &f->calls.data[n_calls - 1 - n];
		const struct flight_event *e = &events->data[n_events - 1 - n];

		if (call->fn != e->fn)
			break;
		memcpy(call->arg, e->arg, sizeof(call->arg));
		call->result = e->result;
		call->has_result = e->has_result;
	}
	return n;
}

/* The first @p n events happened before the window. */
static struct err *calls_keep_earlier(struct dec_flight *f, const flight_events *events,
				      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct flight_event *e = &events->data[i];
		struct dec_flight_call *call = vec_push(&f->earlier);

		if (!call)
			return &err_nomem;
		call->fn = e->fn;
		memcpy(call->arg, e->arg, sizeof(call->arg));
		call->result = e->result;
		call->has_result = e->has_result;
	}
	return NULL;
}

struct err *dec_flight_calls_match(struct dec_flight *f, const struct capture *c,
				   const struct flight_path *p)
{
	struct flight_reading r = { .tid = f->tid };
	struct map sites = {};
	struct err *err = NULL;
	size_t n;

	if (!capture_info(c)->n_heap_sites)
		return NULL;
	err = cap_events_each(c, event_add, &r);
	if (!err)
		err = sites_find(c, f->core, &sites);
	if (!err)
		err = calls_find(f, p, &sites);
	if (!err) {
		n = calls_join(f, &r.events);
		f->n_unmatched = f->calls.size - n;
		// Calls that no event fits are not anchors.
		if (n)
			memmove(f->calls.data, f->calls.data + (f->calls.size - n),
				n * sizeof(*f->calls.data));
		f->calls.size = n;
		err = calls_keep_earlier(f, &r.events, r.events.size - n);
	}
	vec_deinit(&r.events);
	map_deinit(&sites);
	return err;
}
