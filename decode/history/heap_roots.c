// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/history/heap_roots.h"

#include <stdlib.h>

void dec_heap_roots_deinit(struct heap_roots *r)
{
	vec_deinit(&r->statics);
	vec_deinit(&r->scopes);
	vec_deinit(&r->begun);
	vec_deinit(&r->told);
	dec_heap_moving_deinit(&r->moving);
}

bool dec_heap_roots_has_local(const struct heap_roots *r)
{
	for (size_t i = 0; i < r->n_vars; i++)
		if (r->vars[i].is_local)
			return true;
	return false;
}

/* ---- static ------------------------------------------------------------------------------- */

struct mapping {
	struct heap_roots *r;
	uint64_t time;
	bool is_told; ///< it holds what was told of memory
	uint64_t whose;
	struct err *(*watch)(void *ctx, uint64_t addr);
	heap_read_fn read;
	void *ctx;
};

static struct err *static_begin(const struct mapping *m, size_t index, uint64_t addr)
{
	const struct dec_variable *v = &m->r->vars[index];
	const struct dec_var_site *site = &v->sites[0];
	_cleanup_free_ uint8_t *bytes = malloc(v->size + 1);
	struct err *err = NULL;

	if (!bytes ||
	    vec_add(&m->r->statics, (struct heap_static){ index, addr, v->size }))
		return &err_nomem;
	if (m->read)
		err = m->read(m->ctx, addr, bytes, v->size);
	if (!m->read || err) // what is not mapped yet is as in the file
		dec_symbols_unit_contents(site->unit, site->addr, bytes, v->size,
					  v->is_per_thread);
	err_destroy(err);
	return DEC_HEAP_TELL(m->r->ev, root, m->time, index, addr, v->size,
			     m->is_told ? NULL : bytes, m->whose);
}

/** A site of root @p index is mapped so that its address is @p addr. */
static struct err *site_mapped(const struct mapping *m, size_t index,
			       const struct dec_var_site *site, uint64_t addr)
{
	struct heap_roots *r = m->r;
	struct heap_static *known;
	struct err *err;
	bool is_new;

	if (site->moving) {
		err = dec_heap_moving_add(&r->moving, index, site, addr, &is_new);
		return err || !is_new ? err : m->watch(m->ctx, addr);
	}
	if (!r->vars[index].is_local) {
		known = vec_find(&r->statics, k, k->index == index);
		return known ? NULL : static_begin(m, index, addr);
	}
	if (vec_find(&r->scopes, k, k->rip == addr && k->site == site))
		return NULL;
	if (vec_add(&r->scopes, (struct heap_scope){ addr, index, site }))
		return &err_nomem;
	return m->watch(m->ctx, addr);
}

struct err *dec_heap_roots_mapped(struct heap_roots *r, uint64_t time,
				  struct err *(*watch)(void *ctx, uint64_t addr),
				  heap_read_fn read, void *ctx)
{
	const struct mapping m = { r, time, false, 0, watch, read, ctx };
	struct err *err = NULL;

	for (size_t i = 0; i < r->n_vars; i++)
		for (size_t k = 0; k < r->vars[i].n_sites && !err; k++) {
			const struct dec_var_site *site = &r->vars[i].sites[k];
			uint64_t addr;

			if (!site->is_per_thread &&
			    dec_symbols_unit_address(r->symbols, site->unit, site->addr,
						     &addr))
				err = site_mapped(&m, i, site, addr);
		}
	return err;
}

struct err *dec_heap_roots_thread(struct heap_roots *r, uint64_t time, uint64_t fs_base,
				  enum heap_thread_values values, heap_read_fn read,
				  void *ctx)
{
	uint64_t own = dec_symbols_threads_own(r->symbols, fs_base);
	const struct mapping m = { r,
				   time,
				   values == HEAP_THREAD_TOLD,
				   own | DEC_HEAP_OF_THREAD,
				   NULL,
				   values == HEAP_THREAD_READ ? read : NULL,
				   ctx };
	struct err *err = NULL;

	for (size_t i = 0; i < r->n_vars && own && !err; i++) {
		uint64_t addr = own + r->vars[i].sites[0].addr;

		if (r->vars[i].is_per_thread &&
		    !vec_find(&r->statics, k, k->index == i && k->addr == addr))
			err = static_begin(&m, i, addr);
	}
	return err;
}

struct err *dec_heap_roots_thread_end(struct heap_roots *r, uint64_t time,
				      uint64_t fs_base, uint64_t rip)
{
	uint64_t own = dec_symbols_threads_own(r->symbols, fs_base);
	struct err *err = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->statics.size; i++) {
		struct heap_static s = r->statics.data[i];

		if (!err && own && r->vars[s.index].is_per_thread &&
		    s.addr == own + r->vars[s.index].sites[0].addr)
			err = DEC_HEAP_TELL(r->ev, root_end, time, s.index, s.addr, rip);
		else
			r->statics.data[n++] = s;
	}
	r->statics.size = n;
	return err;
}

struct err *dec_heap_roots_unmapped(struct heap_roots *r, uint64_t time, uint64_t addr,
				    uint64_t size)
{
	struct err *err = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->statics.size; i++) {
		struct heap_static s = r->statics.data[i];

		if (!err && s.addr >= addr && s.addr - addr < size)
			err = DEC_HEAP_TELL(r->ev, root_end, time, s.index, s.addr,
					    DEC_HEAP_ROOT + s.index);
		else
			r->statics.data[n++] = s;
	}
	r->statics.size = n;
	return err;
}

/* ---- local ---------------------------------------------------------------------------------- */

static void begun_changed(struct heap_roots *r)
{
	r->lowest = UINT64_MAX;
	r->end = 0;
	for (size_t i = 0; i < r->begun.size; i++) {
		const struct heap_local *l = &r->begun.data[i];

		r->lowest = l->addr < r->lowest ? l->addr : r->lowest;
		r->end = l->addr + l->size > r->end ? l->addr + l->size : r->end;
	}
}

/** What is over: the locals of a thread in frames whose return address lies at return_at or
 * below. In that frame itself, unless index is SIZE_MAX, those of that root alone. */
struct over {
	size_t thread, index;
	uint64_t return_at;
	uint64_t rip, time;
};

static bool is_over(const struct heap_local *l, const struct over *o)
{
	return l->thread == o->thread &&
	       (l->return_at < o->return_at ||
		(l->return_at == o->return_at &&
		 (o->index == SIZE_MAX || o->index == l->index)));
}

/** Take what is over out of @p list, and tell its end if @p r is given. */
static struct err *list_end(heap_locals *list, const struct over *o,
			    const struct heap_roots *r)
{
	struct err *err = NULL;
	size_t from = list->size, n;

	while (from && (list->data[from - 1].thread != o->thread ||
			list->data[from - 1].return_at <= o->return_at))
		from--;
	n = from;
	for (size_t i = from; i < list->size; i++) {
		struct heap_local l = list->data[i];

		if (err || !is_over(&l, o))
			list->data[n++] = l;
		else if (r)
			err = DEC_HEAP_TELL(r->ev, root_end, o->time, l.index, l.addr,
					    o->rip);
	}
	list->size = n;
	return err;
}

static struct err *locals_end(struct heap_roots *r, const struct over *o)
{
	if (r->begun.size) {
		list_end(&r->begun, o, NULL);
		begun_changed(r);
	}
	return list_end(&r->told, o, r);
}

static bool is_open(const heap_locals *list, const struct over *o)
{
	return vec_find(list, l,
			l->thread == o->thread && l->return_at == o->return_at &&
				l->index == o->index);
}

/** @return whether scope @p s is not entered, but gone on with, where it is reached. */
static bool is_within(const struct heap_roots *r, const struct heap_scope *s,
		      uint64_t from, const struct over *o)
{
	const struct dec_var_site *site = s->site;

	if (site->is_entry)
		return false;
	if (site->lo != site->hi)
		return from + site->addr - s->rip - site->lo < site->hi - site->lo;
	return is_open(&r->begun, o) || is_open(&r->told, o);
}

struct err *dec_heap_roots_reach(struct heap_roots *r, size_t thread, uint64_t rip,
				 uint64_t from, const uint64_t *gpr, uint64_t time)
{
	struct err *err = NULL;

	for (size_t i = 0; i < r->scopes.size && !err; i++) {
		const struct heap_scope *s = &r->scopes.data[i];
		uint64_t cfa = gpr[s->site->cfa_reg] + s->site->cfa_disp;
		const struct heap_local l = { s->index, thread, cfa + s->site->offset,
					      r->vars[s->index].size, cfa - 8 };
		const struct over o = { thread, s->index, cfa - 8, rip, time };

		if (s->rip != rip || is_within(r, s, from, &o))
			continue;
		// Frames below were left by longjmp or an exception; and a scope that is
		// entered again has a new variable.
		err = locals_end(r, &o);
		if (!err && vec_add(&r->begun, l))
			return &err_nomem;
		begun_changed(r);
	}
	return err;
}

struct err *dec_heap_roots_look(struct heap_roots *r, size_t thread, uint64_t rip,
				uint64_t from, const uint64_t *gpr, uint64_t time)
{
	return dec_heap_moving_reach(&r->moving, thread, rip, from, gpr, time);
}

struct err *dec_heap_roots_settle(struct heap_roots *r, uint64_t time)
{
	return dec_heap_moving_settle(&r->moving, time);
}

bool dec_heap_roots_returns(const struct heap_roots *r, size_t thread, uint64_t rsp)
{
	const heap_locals *lists[] = { &r->begun, &r->told };

	if (dec_heap_moving_returns(&r->moving, thread, rsp))
		return true;
	for (int k = 0; k < 2; k++)
		for (size_t i = lists[k]->size; i; i--) {
			const struct heap_local *l = &lists[k]->data[i - 1];

			if (l->thread != thread)
				continue;
			if (l->return_at <= rsp)
				return true;
			break;
		}
	return false;
}

struct err *dec_heap_roots_return(struct heap_roots *r, size_t thread, uint64_t rsp,
				  uint64_t rip, uint64_t time)
{
	struct err *err = dec_heap_moving_return(&r->moving, thread, rsp, rip, time);

	return err ? err :
		     locals_end(r, &(struct over){ thread, SIZE_MAX, rsp, rip, time });
}

struct err *dec_heap_roots_touch(struct heap_roots *r, uint64_t addr, uint32_t size,
				 uint64_t time)
{
	struct err *err = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->begun.size; i++) {
		struct heap_local l = r->begun.data[i];

		if (err || addr >= l.addr + l.size || addr + size <= l.addr) {
			r->begun.data[n++] = l;
			continue;
		}
		if (vec_add(&r->told, l))
			return &err_nomem;
		err = DEC_HEAP_TELL(r->ev, root, time, l.index, l.addr, l.size, NULL,
				    l.return_at);
	}
	r->begun.size = n;
	begun_changed(r);
	return err;
}
