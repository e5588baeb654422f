// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The last allocator calls of the program, in bounded memory; and the calls that have not
 * returned. A probe that waits for a call's result has replaced the return address on the
 * stack: where the program ends inside the allocator, which is where heap corruption shows,
 * the core must have the true one, or nobody could unwind it.
 */
#define LOG_ROOM "record"
#include <string.h>

#include "pt-collect/flight/flight.h"

struct entry {
	uint64_t at_ns;
	uint64_t args[3];
	uint32_t tid;
	uint8_t kind; ///< enum cap_event_kind
	uint8_t fn;   ///< enum cap_heap_fn
};

/** A call that was entered. */
struct pending {
	uint32_t tid;
	uint8_t fn;
	uint64_t sp, return_to;
};

struct ptc_heap_ring {
	struct entry *entries;
	uint64_t capacity, n_added;
	VEC(struct pending) pending;
};

struct err *ptc_heap_ring_create(uint64_t bytes, struct ptc_heap_ring **ret)
{
	struct ptc_heap_ring *r = calloc(1, sizeof(*r));

	if (!r)
		return &err_nomem;
	r->capacity = bytes / sizeof(*r->entries) ?: 1;
	r->entries = calloc(r->capacity, sizeof(*r->entries));
	if (!r->entries) {
		free(r);
		return &err_nomem;
	}
	*ret = r;
	return NULL;
}

void ptc_heap_ring_destroy(struct ptc_heap_ring *r)
{
	if (!r)
		return;
	vec_deinit(&r->pending);
	free(r->entries);
	free(r);
}

/** Forget those of thread @p tid that stand below @p sp: it has left them by longjmp. */
static void forget_below(struct ptc_heap_ring *r, uint32_t tid, uint64_t sp)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->pending.size; i++)
		if (r->pending.data[i].tid != tid || r->pending.data[i].sp >= sp)
			r->pending.data[kept++] = r->pending.data[i];
	r->pending.size = kept;
}

static void begin_call(struct ptc_heap_ring *r, const struct rec_heap *rec)
{
	struct pending *slot;

	forget_below(r, rec->head.tid, rec->sp);
	if (rec->fn == CAP_HEAP_FREE)
		return; // nobody waits for its return
	slot = vec_push(&r->pending);
	if (slot)
		*slot = (struct pending){ rec->head.tid, rec->fn, rec->sp,
					  rec->return_to };
}

/** The last call of this function in its thread. */
static void end_call(struct ptc_heap_ring *r, const struct rec_heap *rec)
{
	for (size_t i = r->pending.size; i-- > 0;) {
		const struct pending *p = &r->pending.data[i];

		if (p->tid != rec->head.tid || p->fn != rec->fn)
			continue;
		memmove(&r->pending.data[i], &r->pending.data[i + 1],
			(--r->pending.size - i) * sizeof(*p));
		return;
	}
}

void ptc_heap_ring_add(struct ptc_heap_ring *r, const struct rec_heap *rec)
{
	struct entry *e = &r->entries[r->n_added++ % r->capacity];

	*e = (struct entry){
		.at_ns = rec->head.at_ns,
		.tid = rec->head.tid,
		.kind = rec->head.kind == REC_HEAP ? CAP_EV_HEAP : CAP_EV_HEAP_DONE,
		.fn = rec->fn,
	};
	memcpy(e->args, rec->args, sizeof(e->args));
	if (rec->head.kind == REC_HEAP)
		begin_call(r, rec);
	else
		end_call(r, rec);
}

void ptc_heap_ring_forget(struct ptc_heap_ring *r, pid_t tid)
{
	forget_below(r, tid, UINT64_MAX);
}

uint64_t ptc_heap_ring_count(const struct ptc_heap_ring *r)
{
	return r->n_added;
}

uint64_t ptc_heap_ring_oldest(const struct ptc_heap_ring *r, uint64_t *at_ns)
{
	uint64_t first = r->n_added > r->capacity ? r->n_added - r->capacity : 0;

	*at_ns = first ? r->entries[first % r->capacity].at_ns : 0;
	return first;
}

struct err *ptc_heap_ring_write(const struct ptc_heap_ring *r, uint64_t *next,
				uint64_t until, struct cap_writer *w)
{
	struct err *err = NULL;

	for (; *next < r->n_added && *next < until && !err; ++*next) {
		const struct entry *e = &r->entries[*next % r->capacity];
		struct cap_event ev = { .kind = e->kind,
					.tid = e->tid,
					.at_ns = e->at_ns,
					.heap_fn = e->fn };

		memcpy(ev.heap_args, e->args, sizeof(ev.heap_args));
		err = cap_writer_event(w, &ev);
	}
	return err;
}

/** Of calls that jumped to each other the first was entered with the true address. */
static bool has_earlier(const struct ptc_heap_ring *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (r->pending.data[k].tid == r->pending.data[i].tid &&
		    r->pending.data[k].sp == r->pending.data[i].sp)
			return true;
	return false;
}

struct err *ptc_heap_ring_patches(const struct ptc_heap_ring *r, struct ptc_patch **ret,
				  size_t *n)
{
	*n = 0;
	*ret = calloc(r->pending.size + 1, sizeof(**ret));
	if (!*ret)
		return &err_nomem;
	for (size_t i = 0; i < r->pending.size; i++) {
		const struct pending *p = &r->pending.data[i];

		if (p->return_to && !has_earlier(r, i))
			(*ret)[(*n)++] = (struct ptc_patch){ p->sp, p->return_to };
	}
	return NULL;
}
