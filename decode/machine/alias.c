// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/alias.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/machine/shared.h"

#define PAGE 4096ull

// The memory file is sparse: a window for each file that is mapped several times.
#define ALIAS_WINDOW_BITS 40
#define ALIAS_FILE_BYTES (1ull << 62)
#define ALIAS_OWN_KEY \
	(1ull << 63) ///< of no file; a file's is as good as never one of these

/* ---- one mapping becomes real ------------------------------------------------------- */

static struct err *alias_file(struct dec_guest *g)
{
	if (g->alias_fd > 0)
		return NULL;
	g->alias_fd = memfd_create("guest", MFD_CLOEXEC);
	if (g->alias_fd < 0 || ftruncate(g->alias_fd, ALIAS_FILE_BYTES))
		return err_errno("cannot make memory that mappings share");
	return NULL;
}

static struct err *alias_window(struct dec_guest *g, uint64_t key, uint64_t *ret)
{
	uint64_t *slot;

	for (size_t i = 0; i < g->alias_keys.size; i++) {
		*ret = i << ALIAS_WINDOW_BITS;
		if (g->alias_keys.data[i] == key)
			return NULL;
	}
	slot = vec_push(&g->alias_keys);
	if (!slot)
		return &err_nomem;
	*slot = key;
	*ret = (uint64_t)(slot - g->alias_keys.data) << ALIAS_WINDOW_BITS;
	return NULL;
}

/* Pages that are equal already stay as they are: untouched, or not copied. */
static void alias_copy(uint8_t *to, const uint8_t *from, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PAGE) {
		if (memcmp(to + at, from + at, PAGE))
			memcpy(to + at, from + at, PAGE);
	}
}

/* @return how many bytes of the file of @p a, from @p at in it on, another one that is real has mapped shared: what
 * that has is what the file holds. */
static uint64_t alias_known(const struct dec_guest *g, const struct guest_alias *a,
			    uint64_t at)
{
	const struct guest_alias *in =
		vec_find(&g->aliases, o,
			 o != a && o->key == a->key && o->is_shared && o->is_real &&
				 at >= o->offset && at - o->offset < o->end - o->start);

	return in ? in->offset + (in->end - in->start) - at : 0;
}

/* Into the file, mapped at @p kept for @p a, goes what @p a holds. The recorder looked at that while others
 * ran: it may be of a later time than what is known. */
static void alias_put(const struct dec_guest *g, const struct guest_alias *a,
		      uint8_t *kept)
{
	for (uint64_t at = 0, n; at < a->end - a->start; at += n) {
		n = g->is_in_company ? alias_known(g, a, a->offset + at) : 0;
		if (!n) {
			n = PAGE;
			alias_copy(kept + at, (const uint8_t *)a->start + at, n);
		}
	}
}

/* @p at: of the memory file. */
static struct err *alias_realize(struct dec_guest *g, struct guest_alias *a, uint64_t at)
{
	uint64_t size = a->end - a->start;
	uint8_t *own = (uint8_t *)a->start;
	int how = a->is_shared ? MAP_SHARED : MAP_PRIVATE;
	uint8_t *kept = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     a->is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
			     a->is_shared ? g->alias_fd : -1, a->is_shared ? at : 0);
	bool is_bad = kept == MAP_FAILED || mprotect(own, size, PROT_READ | PROT_WRITE);

	if (!is_bad) {
		if (a->is_shared)
			alias_put(g, a, kept);
		else
			alias_copy(kept, own, size);
		is_bad = mmap(own, size, PROT_READ | PROT_WRITE, how | MAP_FIXED,
			      g->alias_fd, at) == MAP_FAILED;
	}
	if (!is_bad && !a->is_shared)
		alias_copy(own, kept, size);
	if (kept != MAP_FAILED)
		munmap(kept, size);
	if (is_bad)
		return err_errno("cannot map shared guest memory %#lx+%#lx", a->start,
				 size);
	a->is_real = true;
	return dec_guest_restore(g, a->start, a->end);
}

/* What is written through a shared mapping comes before what a private one saw of it. */
static struct err *alias_realize_all(struct dec_guest *g, uint64_t key)
{
	uint64_t window = 0;
	struct err *err = alias_file(g);

	if (!err)
		err = alias_window(g, key, &window);
	for (int is_private = 0; is_private < 2; is_private++) {
		for (size_t i = 0; !err && i < g->aliases.size; i++) {
			struct guest_alias *a = &g->aliases.data[i];

			if (a->key == key && a->is_met && !a->is_real &&
			    a->is_shared == !is_private)
				err = alias_realize(g, a, window + a->offset);
		}
	}
	return err;
}

/* ---- which there are ------------------------------------------------------------------ */

static struct err *alias_push(struct dec_guest *g, const struct guest_alias *a)
{
	return vec_add(&g->aliases, *a);
}

static bool alias_fits(const struct guest_alias *a)
{
	uint64_t end = a->offset + (a->end - a->start);

	return a->key && end >= a->offset && !(end >> ALIAS_WINDOW_BITS);
}

/* Is what is written through one of them seen through the other? Two parts of a file are apart. */
static bool alias_is_same(const struct guest_alias *a, const struct guest_alias *b)
{
	return a->key == b->key && (a->is_shared || b->is_shared) &&
	       a->offset < b->offset + (b->end - b->start) &&
	       b->offset < a->offset + (a->end - a->start) && alias_fits(a) &&
	       alias_fits(b);
}

/* Mapping @p i is new, or longer than it was: it becomes one memory with those that have some of the same. */
static struct err *alias_meet(struct dec_guest *g, size_t i)
{
	struct guest_alias *made = &g->aliases.data[i];
	bool any = false;

	for (size_t k = 0; k < g->aliases.size; k++) {
		struct guest_alias *a = &g->aliases.data[k];

		if (k != i && alias_is_same(a, made))
			any = a->is_met = made->is_met = true;
	}
	return any ? alias_realize_all(g, made->key) : NULL;
}

struct err *dec_alias_add(struct dec_guest *g, uint64_t key, uint64_t offset,
			  uint64_t start, uint64_t end, bool is_shared)
{
	const struct guest_alias made = {
		key, offset, start, end, is_shared, false, false
	};
	struct err *err = alias_push(g, &made);

	return err ? err : alias_meet(g, g->aliases.size - 1);
}

struct err *dec_alias_cut(struct dec_guest *g, uint64_t start, uint64_t end)
{
	struct err *cut = dec_shared_cut(start, end);

	if (cut)
		return cut;
	for (size_t i = 0; i < g->aliases.size; i++) {
		struct guest_alias *a = &g->aliases.data[i], rest = *a;
		struct err *err;

		if (a->start >= end || a->end <= start)
			continue;
		rest.start = end;
		rest.offset += end - a->start;
		if (a->start < start)
			a->end = start;
		else
			g->aliases.data[i--] = g->aliases.data[--g->aliases.size];
		err = rest.start < rest.end ? alias_push(g, &rest) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

struct err *dec_alias_move(struct dec_guest *g, uint64_t from, uint64_t size, uint64_t to)
{
	struct err *moved = dec_shared_move(from, size, to);

	if (moved)
		return moved;
	for (size_t i = 0, n = g->aliases.size; i < n; i++) {
		struct guest_alias a = g->aliases.data[i];
		struct err *err;

		if (a.start >= from + size || a.end <= from)
			continue;
		if (a.start < from) {
			a.offset += from - a.start;
			a.start = from;
		}
		if (a.end > from + size)
			a.end = from + size;
		a.start += to - from;
		a.end += to - from;
		err = alias_push(g, &a);
		if (err)
			return err;
	}
	return NULL;
}

struct err *dec_alias_grow(struct dec_guest *g, uint64_t end, uint64_t size)
{
	struct guest_alias *last = vec_find(&g->aliases, a, a->end == end);

	if (last && !last->is_real) {
		last->end += size;
		return alias_meet(g, last - g->aliases.data);
	}
	return last ? dec_alias_add(g, last->key, last->offset + (end - last->start), end,
				    end + size, last->is_shared) :
		      NULL;
}

struct err *dec_alias_again(struct dec_guest *g, uint64_t from, uint64_t size,
			    uint64_t to)
{
	struct err *err = NULL;

	for (size_t i = 0, n = g->aliases.size; !err && i < n; i++) {
		struct guest_alias *a = &g->aliases.data[i];
		uint64_t lo = a->start > from ? a->start : from;
		uint64_t hi = a->end < from + size ? a->end : from + size;

		if (lo >= hi || !a->is_shared)
			continue;
		if (!a->key)
			a->key = ALIAS_OWN_KEY | ++g->alias_own_keys;
		err = dec_alias_add(g, a->key, a->offset + (lo - a->start),
				    to + (lo - from), to + (hi - from), true);
	}
	return err;
}

uint64_t dec_alias_elsewhere(const struct dec_guest *g, uint64_t addr)
{
	const struct guest_alias *in =
		vec_find(&g->aliases, a, addr >= a->start && addr < a->end);
	uint64_t n = in && in->is_real && in->is_shared ?
			     alias_known(g, in, in->offset + (addr - in->start)) :
			     0;

	return !in || n < in->end - addr ? n : in->end - addr;
}

bool dec_alias_is_shared(const struct dec_guest *g, uint64_t addr)
{
	const struct guest_alias *in =
		vec_find(&g->aliases, a, addr >= a->start && addr < a->end);

	return in && in->is_shared;
}

uint64_t dec_alias_end(const struct dec_guest *g, uint64_t start)
{
	const struct guest_alias *at = vec_find(&g->aliases, a, a->start == start);

	return at ? at->end : 0;
}

void dec_alias_each(struct dec_guest *g, uint64_t page,
		    void (*fn)(struct dec_guest *g, uint64_t page))
{
	for (size_t i = 0; i < g->aliases.size; i++) {
		const struct guest_alias a = g->aliases.data[i];
		uint64_t at = (page << 12) - a.start + a.offset;

		if (!a.is_real || page << 12 < a.start || page << 12 >= a.end)
			continue;
		for (size_t k = 0; k < g->aliases.size; k++) {
			const struct guest_alias b = g->aliases.data[k];

			if (k != i && b.is_real && b.key == a.key && at >= b.offset &&
			    at - b.offset < b.end - b.start)
				fn(g, (b.start + at - b.offset) >> 12);
		}
	}
}

struct err *dec_alias_fork(struct dec_guest *g)
{
	struct err *err = NULL;
	int old = g->alias_fd;

	if (old <= 0)
		return NULL;
	g->alias_fd = 0;
	for (size_t i = 0; i < g->aliases.size; i++)
		g->aliases.data[i].is_real = false;
	for (size_t i = 0; !err && i < g->alias_keys.size; i++)
		err = alias_realize_all(g, g->alias_keys.data[i]);
	close(old);
	return err;
}
