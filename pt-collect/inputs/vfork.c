// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A vfork child (posix_spawn, popen, system) runs in the program's own memory while the
 * program waits. What it writes there are inputs like any other: the pages that the
 * program has are copied before the child runs and compared when it is done.
 *
 * Only the thread that made the child waits; others run on and write, too. What they wrote until the comparison the replay
 * has done by then, so what is found is what memory holds, whoever wrote it. If one of them runs during the comparison,
 * or behind it before the parent does, it may write what has been looked at: then, word by word, only what lies where
 * such a child has to do with is taken to be the child's: its stack, its parent's, and the parent's thread-local storage
 * (errno). Whether one did is known when the log comes to the parent's next instant: one that the kernel woke
 * inside of its call, as for SIGCHLD, may be looked at yet. Who runs before the parent gets what was found
 * (inputs/pending.c), if it was let in behind the comparison.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/mman.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/tracee/pages.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/log/writes.h"

#define SNAPSHOT_MAX (2ull << 30) ///< bytes; a program that has more gets a gap instead
#define THREADED_MAX \
	(256ull << 20) ///< and with threads, only the areas are looked at then
#define PAGE 4096u

#define AREAS 3

// Bytes of a stack among others that are compared: the red zone, below which all is nobody's when the parent goes on, and
// what its callers have to whom the child may return.
#define STACK_BELOW 128
#define STACK_ABOVE 2048

struct ptc_snapshot {
	struct ptc_maps maps;
	struct ptc_range areas[AREAS]; ///< what is compared, when not all
	bool has_areas;
	bool is_by_word; ///< the program has threads
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

static uint64_t total(const struct ptc_ranges *r)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < r->list.size; i++)
		ret += r->list.data[i].end - r->list.data[i].start;
	return ret;
}

static struct err *copy_pages(const struct ptc_process *p, struct ptc_snapshot *snap)
{
	uint8_t *to;

	snap->size = total(&snap->ranges);
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

		ptc_pages_read(&p->tracee, r->start, to, r->end - r->start);
		to += r->end - r->start;
	}
	return NULL;
}

/** The mapping that holds the byte below stack pointer @p sp; NULL: none does. */
static const struct ptc_map *map_below(const struct ptc_maps *maps, uint64_t sp)
{
	for (size_t i = 0; i < maps->list.size; i++)
		if (maps->list.data[i]->start < sp && sp <= maps->list.data[i]->end)
			return maps->list.data[i];
	return NULL;
}

static struct ptc_range all_of(const struct ptc_map *m)
{
	return m ? (struct ptc_range){ m->start, m->end } : (struct ptc_range){};
}

/** Where a child on its parent's stack may write. Libraries put a thread's control block, to which fs points, above its
 * stack; elsewhere it is one of many in that mapping (goroutines, coroutines), with others' next to it. */
static struct ptc_range parents_stack(const struct ptc_maps *maps,
				      const struct user_regs_struct *u)
{
	const struct ptc_map *m = map_below(maps, u->rsp);
	bool is_own = m && (!strcmp(m->name, "[stack]") ||
			    (m->start <= u->fs_base && u->fs_base < m->end));

	return !m || is_own ? all_of(m) :
			      (struct ptc_range){ (u->rsp - STACK_BELOW) & -8ull,
						  u->rsp + STACK_ABOVE };
}

/** Where a child's stack pointer is at first, as the stopped parent asked; 0 = its own. */
static uint64_t child_stack(const struct ptc_process *p, const struct user_regs_struct *u)
{
	struct clone_args args = {};

	if (u->orig_rax == __NR_clone)
		return u->rsi;
	if (u->orig_rax != __NR_clone3)
		return 0;
	ptc_read_some(&p->tracee, u->rdi, &args, CLONE_ARGS_SIZE_VER0);
	return args.stack + args.stack_size;
}

static struct err *find_areas(struct ptc_process *p, pid_t parent,
			      struct ptc_snapshot *snap)
{
	struct user_regs_struct u;
	struct err *err = ptc_get_regs(parent, &u);
	uint64_t page;

	if (err)
		return err;
	page = u.fs_base & -(uint64_t)PAGE;
	snap->is_by_word = true;
	snap->areas[0] = parents_stack(&snap->maps, &u);
	snap->areas[1] = all_of(map_below(&snap->maps, child_stack(p, &u)));
	snap->areas[2] = (struct ptc_range){ page - PAGE, page + PAGE };
	return NULL;
}

static bool is_in_areas(const struct ptc_snapshot *snap, uint64_t at, uint64_t size)
{
	for (int k = 0; k < AREAS; k++)
		if (snap->areas[k].start < at + size && at < snap->areas[k].end)
			return true;
	return false;
}

/** Keep of @p r, ascending, what lies in the areas. */
static struct err *clip(const struct ptc_snapshot *snap, struct ptc_ranges *r)
{
	struct ptc_ranges kept = {};

	if (!snap->has_areas)
		return NULL;
	for (size_t i = 0; i < r->list.size; i++)
		for (uint64_t at = r->list.data[i].start; at < r->list.data[i].end;
		     at += PAGE) {
			bool is_in = is_in_areas(snap, at, PAGE);
			struct ptc_range *one = is_in ? vec_push(&kept.list) : NULL;

			if (is_in && !one) {
				vec_deinit(&kept.list);
				return &err_nomem;
			}
			if (is_in)
				*one = (struct ptc_range){ at, at + PAGE };
		}
	vec_deinit(&r->list);
	*r = kept;
	return NULL;
}

void ptc_vfork_created(struct ptc_process *p, pid_t parent)
{
	struct ptc_thread *t = ptc_thread_find(p, parent);
	struct ptc_snapshot *snap;
	_cleanup_err_ struct err *err = NULL;

	if (!t || !p->log.is_recording)
		return;
	ptc_snapshot_destroy(t->vfork_memory);
	t->vfork_memory = NULL;
	snap = calloc(1, sizeof(*snap));
	err = snap ? ptc_maps_read(p->tracee.pid, &snap->maps) : &err_nomem;
	if (!err && p->has_threads)
		err = find_areas(p, parent, snap);
	if (!err)
		err = ptc_ranges_read(&p->tracee, &snap->maps, &snap->ranges);
	if (!err) {
		snap->has_areas = snap->is_by_word && total(&snap->ranges) > THREADED_MAX;
		err = clip(snap, &snap->ranges);
	}
	if (!err)
		err = copy_pages(p, snap);
	if (err) {
		ptc_log_gap(&p->log, parent, "what a vfork child wrote is not known: %s",
			    err->message);
		ptc_snapshot_destroy(snap);
		return;
	}
	t->vfork_memory = snap;
	t->n_ran_then = p->n_ran;
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

/** Where what the child of @p t wrote to [addr, addr + size) goes. */
static struct ptc_writes *written_at(const struct ptc_snapshot *snap,
				     struct ptc_thread *t, uint64_t addr, uint64_t size)
{
	return !snap->is_by_word || is_in_areas(snap, addr, size) ? &t->from_child :
								    &t->from_child_alone;
}

/** Add the words that differ. */
static void compare_words(const struct ptc_snapshot *snap, const uint8_t *before,
			  const uint8_t *now, uint64_t addr, struct ptc_thread *t)
{
	for (size_t at = 0; at < PAGE; at += 8)
		if (memcmp(before + at, now + at, 8))
			ptc_writes_add(written_at(snap, t, addr + at, 8), addr + at,
				       now + at, 8);
}

/** Add the pages of a range that are not as they were to what the child of @p t wrote. */
static void compare(struct ptc_process *p, struct cursor *c, const struct ptc_range *r,
		    struct ptc_thread *t)
{
	static uint8_t now[256 * PAGE];

	for (uint64_t at = r->start; at < r->end;) {
		size_t n = r->end - at < sizeof(now) ? r->end - at : sizeof(now);

		ptc_pages_read(&p->tracee, at, now, n);
		for (size_t i = 0; i < n; i += PAGE) {
			const uint8_t *before = page_before(c, at + i);

			if (before && c->snap->is_by_word)
				compare_words(c->snap, before, now + i, at + i, t);
			else if (!before || memcmp(now + i, before, PAGE))
				ptc_writes_add(written_at(c->snap, t, at + i, PAGE),
					       at + i, now + i, PAGE);
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
	struct ptc_snapshot *snap = t ? take_ptr(&t->vfork_memory) : NULL;
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = NULL;
	struct ptc_ranges now = {};
	struct cursor c = { .snap = snap };
	bool has_run;

	if (!snap)
		return;
	c.bytes = snap->bytes;
	has_run = p->n_ran != t->n_ran_then;
	t->n_ran_then = p->n_ran;
	t->child_waits = true; // who is let in now may write what is being compared
	err = ptc_maps_read(p->tracee.pid, &maps);
	if (err || (!snap->has_areas && !has_run && !same_maps(&snap->maps, &maps)))
		ptc_log_gap(&p->log, parent,
			    "a vfork child changed the program's mappings");
	if (!err)
		err = ptc_ranges_read(&p->tracee, &maps, &now);
	if (!err)
		err = clip(snap, &now);
	for (size_t i = 0; !err && i < now.list.size; i++)
		compare(p, &c, &now.list.data[i], t);
	vec_deinit(&now.list);
	if (snap->is_by_word)
		ptc_bpf_drain(p->all->bpf);
	t->child_waits = p->running != parent;
	ptc_snapshot_destroy(snap);
}

void ptc_vfork_settle(const struct ptc_process *p, struct ptc_thread *t, bool is_left)
{
	if (is_left && t->child_waits)
		return;
	t->child_waits = false;
	if (p->n_ran == t->n_ran_then)
		ptc_writes_move(&t->from_child, &t->from_child_alone);
	ptc_writes_clear(&t->from_child_alone);
}
