// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/rollback.h"

#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "decode/machine/signal.h"

#define PAGE 4096ull
#define RANGES_MAX 1024
#define PAGES_MAX 1024 ///< beyond that a fork costs no more
#define FRESH_MAX 256
#define HEAP_ROOM (4u << 20) ///< so much malloc has before it asks the kernel

struct rollback_page {
	uint64_t addr;
	uint8_t bytes[PAGE];
};

/* Mapped by itself: what it holds is not taken back. */
struct rollback {
	bool is_on;
	size_t n_ranges, n_pages;
	struct rollback_range {
		uint64_t start, end;
	} range[RANGES_MAX];
	struct rollback_page page[PAGES_MAX];
	// Where the guest had no memory then, and may have some since:
	size_t n_fresh;
	struct rollback_range fresh[FRESH_MAX];
	const struct dec_guest *guest;
	// What the kernel had given, then:
	void *brk, *parts;
	size_t n_arenas;
	uint64_t n_flushes;
};

static struct rollback *back;

/* ---- which memory ------------------------------------------------------------------- */

/* @return false: too many. */
static bool rollback_add(uint64_t start, uint64_t end)
{
	start &= ~(PAGE - 1);
	end = (end + PAGE - 1) & ~(PAGE - 1);
	if (start >= end)
		return true;
	if (back->n_ranges == RANGES_MAX)
		return false;
	back->range[back->n_ranges++] = (struct rollback_range){ start, end };
	return true;
}

/* Whole pages of [start, end) are not to be kept. */
static bool rollback_except(uint64_t start, uint64_t end)
{
	start = (start + PAGE - 1) & ~(PAGE - 1);
	end &= ~(PAGE - 1);
	for (size_t i = 0, n = back->n_ranges; start < end && i < n; i++) {
		struct rollback_range *r = &back->range[i], rest = *r;

		if (r->start >= end || r->end <= start)
			continue;
		r->end = start > r->start ? start : r->start;
		if (end < rest.end && !rollback_add(end, rest.end))
			return false;
	}
	return true;
}

/* Of a program or library: what may be written, less what the linker has made read-only since. */
static int rollback_add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t relro = 0;
	bool *is_bad = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			relro = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
				 info->dlpi_phdr[i].p_memsz) &
				~(PAGE - 1);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		if (relro > start && relro <= end + PAGE)
			start = relro;
		*is_bad |= start < end && !rollback_add(start, end);
	}
	return 0;
}

/* What malloc has: one piece, if the kernel could always give it the next. */
static bool rollback_add_heap(void)
{
	struct mallinfo2 info = mallinfo2();
	uint64_t end = (uint64_t)sbrk(0);

	return !info.hblks && rollback_add(end - info.arena, end);
}

static bool rollback_add_guest(const struct dec_guest *g)
{
	for (size_t i = 0; i < g->ranges.size; i++)
		if (g->ranges.data[i].prot & PROT_WRITE &&
		    !rollback_add(g->ranges.data[i].start, g->ranges.data[i].end))
			return false;
	return true;
}

static bool rollback_collect(struct dec_replay *r)
{
	struct cap_events_memory of = cap_events_memory(r->events);
	uint64_t read = (uint64_t)of.read, parts = (uint64_t)of.parts, known;
	uint64_t ctx = (uint64_t)r->engine.ctx,
		 thread = (uint64_t)__builtin_thread_pointer() & ~(PAGE - 1);
	bool is_bad = false;
	size_t known_bytes;

	dl_iterate_phdr(rollback_add_module, &is_bad);
	known = (uint64_t)dec_engine_remembered(&known_bytes);
	return !is_bad && rollback_add_heap() && rollback_add_guest(&r->guest) &&
	       rollback_add(ctx, ctx + sizeof(struct dec_ctx)) &&
	       rollback_add(parts, parts + of.parts_bytes) &&
	       rollback_except(known, known + known_bytes) &&
	       // Where the linker put it near its own data; the kernel writes there (rseq).
	       rollback_except(thread, thread + 2 * PAGE) &&
	       rollback_except(read, read + of.read_bytes);
}

/* ---- keeping ------------------------------------------------------------------------- */

/* From here on nothing is kept. */
ENGINE_BARE static void rollback_give_up(void)
{
	for (size_t i = 0; back->is_on && i < back->n_ranges; i++)
		dec_guest_protect_bare(back->range[i].start,
				       back->range[i].end - back->range[i].start,
				       PROT_READ | PROT_WRITE);
	back->is_on = false;
}

/* ---- memory that was not there ---------------------------------------------------------- */

static bool rollback_is_fresh(uint64_t start, uint64_t end)
{
	size_t i = 0;

	while (i < back->n_fresh &&
	       (start < back->fresh[i].start || end > back->fresh[i].end))
		i++;
	return i < back->n_fresh;
}

/* Does the guest have memory in [start, end) that it had then? */
static bool rollback_is_old(uint64_t start, uint64_t end)
{
	const struct dec_guest *g = back->guest;

	for (size_t i = 0; i < g->ranges.size; i++) {
		uint64_t from = g->ranges.data[i].start, to = g->ranges.data[i].end;

		from = from > start ? from : start;
		to = to < end ? to : end;
		if (from < to && !rollback_is_fresh(from, to))
			return true;
	}
	return false;
}

/* @return false: there are too many. */
static bool rollback_add_fresh(uint64_t start, uint64_t end)
{
	if (rollback_is_fresh(start, end))
		return true;
	for (size_t i = 0; i < back->n_fresh; i++)
		if (back->fresh[i].end == start) { // so a heap grows
			back->fresh[i].end = end;
			return true;
		}
	if (back->n_fresh == FRESH_MAX)
		return false;
	back->fresh[back->n_fresh++] = (struct rollback_range){ start, end };
	return true;
}

/* What comes to where nothing was can go again; what was there cannot be made once more. */
static void rollback_on_remap(uint64_t start, uint64_t end)
{
	if (back->is_on &&
	    (rollback_is_old(start, end) || !rollback_add_fresh(start, end)))
		rollback_give_up();
}

static void rollback_drop_fresh(void)
{
	const struct dec_guest *g = back->guest;

	for (size_t i = 0; i < g->ranges.size; i++)
		for (size_t k = 0; k < back->n_fresh; k++) {
			uint64_t from = g->ranges.data[i].start,
				 to = g->ranges.data[i].end;

			from = from > back->fresh[k].start ? from : back->fresh[k].start;
			to = to < back->fresh[k].end ? to : back->fresh[k].end;
			if (from < to)
				munmap((void *)from, to - from);
		}
	back->n_fresh = 0;
}

/* ---- keeping pages ---------------------------------------------------------------------- */

ENGINE_BARE static bool rollback_is_kept(uint64_t addr)
{
	size_t i = 0;

	while (i < back->n_ranges &&
	       (addr < back->range[i].start || addr >= back->range[i].end))
		i++;
	return i < back->n_ranges;
}

ENGINE_BARE static bool rollback_has(uint64_t page)
{
	size_t i = 0;

	while (i < back->n_pages && back->page[i].addr != page)
		i++;
	return i < back->n_pages;
}

/* Keep the page of @p addr, if it is one of those; it is writable then. @return whether it was
 * not kept already. */
ENGINE_BARE static bool rollback_keep(uint64_t addr)
{
	uint64_t page = addr & ~(PAGE - 1);
	struct rollback_page *p;

	if (!back->is_on || !rollback_is_kept(page) || rollback_has(page))
		return false;
	if (back->n_pages == PAGES_MAX) {
		rollback_give_up();
		return true;
	}
	p = &back->page[back->n_pages++];
	p->addr = page;
	memcpy(p->bytes, (const void *)page, PAGE);
	return dec_guest_protect_bare(page, PAGE, PROT_READ | PROT_WRITE);
}

ENGINE_BARE static bool rollback_on_fault(int signo, int code, uint64_t addr)
{
	return signo == SIGSEGV && code == SEGV_ACCERR && rollback_keep(addr);
}

/* What the kernel or the handler of faults writes has to be writable. */
static void rollback_keep_first(const struct dec_replay *r)
{
	struct cap_events_memory of = cap_events_memory(r->events);

	rollback_keep((uint64_t)r->engine.ctx);
	rollback_keep((uint64_t)of.read);
	rollback_keep((uint64_t)of.read + of.read_bytes);
}

/* ---- the whole ------------------------------------------------------------------------ */

void dec_rollback_prepare(void)
{
	// No pieces of their own, and room at the end of the one, which stays.
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, 16 * HEAP_ROOM);
}

bool dec_rollback_begin(struct dec_replay *r)
{
	bool is_on;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return false; // their memory tells of ours
#endif
	if (r->guest.alias_fd > 0 || r->guest.code.size || dec_replay_awaits_beyond(r))
		return false;
	free(malloc(HEAP_ROOM));
	back = mmap(NULL, sizeof(*back), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (back == MAP_FAILED)
		return false;
	dec_engine_keep_code(&r->engine);
	r->guest.remapping = rollback_on_remap;
	dec_engine_ask_first(rollback_on_fault);
	back->guest = &r->guest;
	back->brk = sbrk(0);
	back->parts = cap_events_memory(r->events).parts;
	back->n_arenas = r->engine.arenas.size;
	back->n_flushes = r->engine.n_flushes;
	is_on = back->is_on = rollback_collect(r);
	for (size_t i = 0; is_on && i < back->n_ranges; i++)
		is_on = dec_guest_protect_bare(back->range[i].start,
					       back->range[i].end - back->range[i].start,
					       PROT_READ);
	if (is_on)
		rollback_keep_first(r);
	else
		rollback_give_up();
	return is_on;
}

bool dec_rollback_can(const struct dec_replay *r)
{
	return back->is_on && back->brk == sbrk(0) &&
	       back->parts == cap_events_memory(r->events).parts &&
	       back->n_arenas == r->engine.arenas.size &&
	       back->n_flushes == r->engine.n_flushes && r->guest.alias_fd <= 0;
}

void dec_rollback_take_back(struct dec_replay *r)
{
	dec_engine_restore_code(&r->engine);
	rollback_drop_fresh(); // while the guest's ranges tell of it
	for (size_t i = 0; i < back->n_pages; i++)
		memcpy((void *)back->page[i].addr, back->page[i].bytes, PAGE);
}
