// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A vfork child (posix_spawn, popen, system) runs in the program's own memory while the
 * program waits. What it writes there are inputs like any other: the pages that the
 * program has are copied before the child runs and compared when it is done.
 */
#define LOG_ROOM "record"
#include <string.h>
#include <sys/mman.h>

#include "pt-collect/ptc.h"

#define SNAPSHOT_MAX (2ull << 30) ///< bytes; a program that has more gets a gap instead
#define PAGE 4096u

struct ptc_snapshot {
	struct ptc_maps maps;
	struct ptc_ranges ranges;
	uint8_t *bytes; ///< of the ranges, one after the other
	size_t size;
};

void ptc_snapshot_destroy(struct ptc_snapshot *snap)
{
	if (!snap)
		return;
	if (snap->bytes)
		munmap(snap->bytes, snap->size);
	vec_deinit(&snap->ranges.list);
	ptc_maps_deinit(&snap->maps);
	free(snap);
}

static struct err *copy_pages(const struct ptc_process *p, struct ptc_snapshot *snap)
{
	uint8_t *to;

	for (size_t i = 0; i < snap->ranges.list.size; i++)
		snap->size +=
			snap->ranges.list.data[i].end - snap->ranges.list.data[i].start;
	if (snap->size > SNAPSHOT_MAX)
		return err_new(ERR_UNSUPPORTED, "the program has too much memory");
	// Large pages: touching small ones would cost as much as the copying.
	to = mmap(NULL, snap->size + 1, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (to == MAP_FAILED)
		return &err_nomem;
	madvise(to, snap->size + 1, MADV_HUGEPAGE);
	snap->bytes = to;
	for (size_t i = 0; i < snap->ranges.list.size; i++) {
		const struct ptc_range *r = &snap->ranges.list.data[i];

		ptc_read_mapping((void *)p, r->start, to, r->end - r->start);
		to += r->end - r->start;
	}
	return NULL;
}

void ptc_vfork_created(struct ptc_process *p, pid_t parent)
{
	struct ptc_snapshot *snap;
	_cleanup_err_ struct err *err = NULL;

	ptc_snapshot_destroy(p->vfork_memory);
	p->vfork_memory = NULL;
	if (!p->is_recording)
		return;
	snap = calloc(1, sizeof(*snap));
	err = snap ? ptc_maps_read(p->pid, &snap->maps) : &err_nomem;
	if (!err)
		err = ptc_ranges_read(p, &snap->maps, &snap->ranges);
	if (!err)
		err = copy_pages(p, snap);
	if (err) {
		ptc_log_gap(p, parent, "what a vfork child wrote is not known: %s",
			    err->message);
		ptc_snapshot_destroy(snap);
		return;
	}
	p->vfork_memory = snap;
}

/** Where reading the snapshot in ascending order stands. */
struct cursor {
	const struct ptc_snapshot *snap;
	size_t range;
	const uint8_t *bytes; ///< of that range
};

/** @return the page at @p addr as it was, NULL when the program did not have it. */
static const uint8_t *page_before(struct cursor *c, uint64_t addr)
{
	const struct ptc_ranges *v = &c->snap->ranges;

	while (c->range < v->list.size && v->list.data[c->range].end <= addr) {
		c->bytes += v->list.data[c->range].end - v->list.data[c->range].start;
		c->range++;
	}
	if (c->range == v->list.size || v->list.data[c->range].start > addr)
		return NULL;
	return c->bytes + (addr - v->list.data[c->range].start);
}

/** Add the pages of a range that are not as they were. */
static void compare(struct ptc_process *p, struct cursor *c, const struct ptc_range *r,
		    struct ptc_writes *w)
{
	static uint8_t now[256 * PAGE];

	for (uint64_t at = r->start; at < r->end;) {
		size_t n = r->end - at < sizeof(now) ? r->end - at : sizeof(now);

		ptc_read_mapping(p, at, now, n);
		for (size_t i = 0; i < n; i += PAGE) {
			const uint8_t *before = page_before(c, at + i);

			if (!before || memcmp(now + i, before, PAGE))
				ptc_writes_add(w, at + i, now + i, PAGE);
		}
		at += n;
	}
}

static bool same_maps(const struct ptc_maps *a, const struct ptc_maps *b)
{
	if (a->list.size != b->list.size)
		return false;
	for (size_t i = 0; i < a->list.size; i++)
		if (a->list.data[i]->start != b->list.data[i]->start ||
		    a->list.data[i]->end != b->list.data[i]->end ||
		    a->list.data[i]->prot != b->list.data[i]->prot)
			return false;
	return true;
}

void ptc_vfork_done(struct ptc_process *p, pid_t parent)
{
	struct ptc_thread *t = ptc_thread_find(p, parent);
	struct ptc_snapshot *snap = take_ptr(&p->vfork_memory);
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = NULL;
	struct ptc_ranges now = {};
	struct cursor c = { .snap = snap };

	if (!t || !snap) {
		ptc_snapshot_destroy(snap);
		return;
	}
	c.bytes = snap->bytes;
	err = ptc_maps_read(p->pid, &maps);
	if (err || !same_maps(&snap->maps, &maps))
		ptc_log_gap(p, parent, "a vfork child changed the program's mappings");
	if (!err)
		err = ptc_ranges_read(p, &maps, &now);
	for (size_t i = 0; !err && i < now.list.size; i++)
		compare(p, &c, &now.list.data[i], &t->from_child);
	vec_deinit(&now.list);
	ptc_snapshot_destroy(snap);
}
