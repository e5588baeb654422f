// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/translator/emulate.h"
#include "decode/translator/engine.h"
#include "decode/translator/touch.h"
#include "decode/x86/zydis.h"

#define PAGE 4096ull
// As hg_derive.h: what is farther from its node was not meant to be in it.
#define REACH (INT64_C(1) << 20)
// Where programs that can lie anywhere have libraries and large blocks.
#define HIGH 0x700000000000ull

enum { SOURCES = 64 };

// Behind the heap of a program that lies low, as the context somewhere below 2 GiB.
#define LOW_START 0x48000000ull
#define LOW_END 0x80000000ull
// .. of which a program that lies at the bottom may have the rest for the shadow of its heap.
#define LOW_REST 0x6a000000ull
#define LOW_TRIES 16
#define SWEEP_AT (1u << 22) ///< nodes, of 64 bytes with all that goes with them

/* ---- life ------------------------------------------------------------------------------------- */

/* The guest may turn out to want it: then the machine starts again, without a guard. */
static void *map_low(uint64_t start)
{
	const uint64_t room = LOW_END - start - GUARD_BYTES;

	for (int i = 0; i < LOW_TRIES; i++) {
		uint64_t at = start + dec_engine_random() % room / PAGE * PAGE;
		void *p = mmap((void *)at, GUARD_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				       MAP_FIXED_NOREPLACE,
			       -1, 0);

		if (p == (void *)at)
			return p;
		if (p != MAP_FAILED) // a kernel before 4.17 took it for a hint
			munmap(p, GUARD_BYTES);
	}
	return NULL;
}

struct err *dec_guard_start(struct dec_engine *e, uint32_t how)
{
	struct dec_guard *g = calloc(1, sizeof(*g));
	void *at = NULL;

	if (!g)
		return &err_nomem;
	if (how & DEC_GUARD_LEAVES_ROOM)
		at = map_low(LOW_REST);
	at = at ?: map_low(LOW_START);
	if (!at || (uint64_t)e->ctx >= LOW_END || !vec_push(&g->nodes)) {
		free(g);
		return err_new(ERR_UNSUPPORTED, "there is no room for the guard");
	}
	g->is_patient = how & DEC_GUARD_PATIENT;
	g->is_without_pointers = how & DEC_GUARD_NO_POINTERS;
	g->at = (uint64_t)at;
	g->regions = at;
	g->sweep_at = how & DEC_GUARD_FEW_ROWS ? 64 : SWEEP_AT;
	g->roots = (struct guard_root *)((char *)at + GUARD_ROOTS_AT);
	g->lanes = (uint32_t(*)[8])((char *)at + GUARD_LANES_AT);
	g->starts = (uint32_t *)((char *)at + GUARD_STARTS_AT);
	g->rows = (struct guard_row *)((char *)at + GUARD_ROWS_AT);
	g->moves = (struct guard_move *)((char *)at + GUARD_MOVES_AT);
	g->rows[0] = (struct guard_row){ 0, UINT64_MAX };
	g->low = g->high_low = UINT64_MAX;
	e->guard = g;
	// Operands relative to fs have addresses then.
	e->ctx->lacks |= CTX_HAS_NO_FS;
	dec_engine_flush(e);
	return NULL;
}

void dec_guard_doubt(struct dec_engine *e, enum dec_doubt doubt, uint64_t rip)
{
	if (!e->guard || (e->guard->doubt && e->guard->doubt != DEC_DOUBT_ASKS))
		return;
	if (e->guard->is_without_pointers && doubt < DEC_DOUBT_VALUE)
		return;
	if (!e->guard->is_patient ||
	    (doubt != DEC_DOUBT_ACCESS && doubt != DEC_DOUBT_VALUE) ||
	    vec_add(&e->guard->accesses, rip))
		e->guard->doubt = doubt;
}

/* From here on blocks of @p size bytes may have parts, and those that are there already. */
static struct err *add_parts(struct dec_engine *e, uint64_t size)
{
	struct dec_guard *g = e->guard;

	map_deinit(
		&g->class_of); // a module was mapped: its structs may be what is allocated from now on
	if (map_get(&g->parts, size))
		return NULL;
	if (vec_find(&g->nodes, n, n->is_live && n->size == size))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
	if (!g->parts.size) // calls of string functions were looked at without
		dec_engine_flush(e);
	return map_put(&g->parts, size, 1) ? &err_nomem : NULL;
}

/* Blocks that begin at @p rip begin with an event: breakpoints leave several times for one. */
static struct err *stop_at(struct dec_engine *e, uint64_t rip)
{
	struct dec_guard *g = e->guard;

	if (map_get(&g->stops, rip))
		return NULL;
	if (map_put(&g->stops, rip, 1))
		return &err_nomem;
	dec_engine_forget(e, rip, 1);
	return NULL;
}

bool dec_guard_stops_at(const struct dec_guard *g, uint64_t rip)
{
	return map_get(&g->stops, rip) != NULL;
}

bool dec_guard_is_copy(const struct dec_guard *g, const struct dec_insn *insn)
{
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	return (insn->flow == DEC_FLOW_JMP_IND || insn->flow == DEC_FLOW_CALL_IND) && m &&
	       m->is_absolute && m->is_read && map_get(&g->hooks, m->disp);
}

struct err *dec_guard_hook(struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	uint64_t *known = map_get(&g->hooks, h->rip);

	if (h->kind == DEC_HOOK_PARTS)
		return add_parts(e, h->end);
	if (h->kind > DEC_HOOK_PARTS)
		return dec_guard_parts_told(g, h);
	if (h->kind == DEC_HOOK_FOREIGN)
		return vec_add(&g->foreign, *h);
	if (known) { // another module may have such functions, too
		g->hook.data[*known - 1].is_once &= h->is_once;
		return NULL;
	}
	if (vec_add(&g->hook, *h) || map_put(&g->hooks, h->rip, g->hook.size))
		return &err_nomem;
	if (h->is_resolver)
		dec_engine_set_break(e, h->rip, true);
	else if (h->kind == DEC_HOOK_ALLOCATOR || h->kind == DEC_HOOK_FAMILY)
		return stop_at(e, h->rip);
	else if (h->kind == DEC_HOOK_STRING)
		dec_engine_invalidate(e, h->rip, 1);
	else
		dec_engine_flush(e);
	return NULL;
}

/* ---- words -------------------------------------------------------------------------------------- */

/* Where neither programs nor their libraries are. A word and its shadow are not at the same place of a page: processors
 * take addresses for the same that are alike there. */
#define REGIONS_START (UINT64_C(1) << 44)
#define REGIONS_ROOM (UINT64_C(1) << 46)
#define REGION_SKEW 0x540
#define REGION_BYTES (GUARD_REGION + PAGE)

static bool add_region(struct dec_guard *g, uint64_t number)
{
	for (int i = 0; i < LOW_TRIES; i++) {
		uint64_t at = REGIONS_START + dec_engine_random() % REGIONS_ROOM /
						      GUARD_REGION * GUARD_REGION;
		void *p = mmap((void *)at, REGION_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				       MAP_FIXED_NOREPLACE,
			       -1, 0);

		if (p == (void *)at) {
			g->regions[number] = at + REGION_SKEW;
			return true;
		}
		if (p != MAP_FAILED)
			munmap(p, REGION_BYTES);
	}
	g->doubt = DEC_DOUBT_BEYOND;
	return false;
}

/* @return the shadow of the word at @p addr; NULL: there is none, nor is it @p is_made. */
static uint64_t *shadow_of(struct dec_guard *g, uint64_t addr, bool is_made)
{
	uint64_t number = addr / GUARD_REGION;

	if (number >= GUARD_REGIONS ||
	    (!g->regions[number] && (!is_made || !add_region(g, number))))
		return NULL;
	return (uint64_t *)g->regions[number] + addr % GUARD_REGION / 8;
}

static void put_word(struct dec_guard *g, uint64_t addr, uint64_t value, uint32_t tag)
{
	uint64_t *word = addr % 8 ? NULL : shadow_of(g, addr, tag != 0);
	uint64_t now = tag ? (uint64_t)tag << 32 | (uint32_t)value : 0;

	if (word && *word != now)
		*word = now;
}

static uint32_t word_tag(struct dec_guard *g, uint64_t addr, uint64_t value)
{
	const uint64_t *word = addr % 8 ? NULL : shadow_of(g, addr, false);

	return word && (uint32_t)*word == (uint32_t)value ? *word >> 32 : 0;
}

// So many values are kept as no pointers, and so often all words are looked through for one that is now.
enum { NONE_MAX = 1 << 20, REBORN_MAX = 1 << 12 };

static bool is_near_nodes(const struct dec_guard *g, uint64_t value)
{
	return value - g->low < g->span || value - g->high_low < g->high_span;
}

/* The word @p value at @p addr is no pointer: an interpreter's stack is full of what once was derived from one, and
 * is asked for all the time. */
static void keep_none(struct dec_guard *g, uint64_t addr, uint64_t value)
{
	uint64_t *word;

	if (addr % 8 || !(uint32_t)value || !is_near_nodes(g, value) ||
	    g->n_reborn == REBORN_MAX || g->none.size == NONE_MAX)
		return;
	word = shadow_of(g, addr, true);
	if (word && !map_put(&g->none, value, 1) &&
	    !map_put(&g->none_pages, addr / PAGE, 1))
		*word = (uint32_t)value;
}

/* A node begins at @p start: words that have that as no pointer are asked about again. */
static void forget_none(struct dec_guard *g, uint64_t start)
{
	if (!map_get(&g->none, start))
		return;
	map_remove(&g->none, start);
	g->n_reborn += g->n_reborn < REBORN_MAX;
	for (size_t i = 0; i < g->none_pages.capacity; i++) {
		uint64_t page = g->none_pages.slots[i].key;
		uint64_t *words =
			page == MAP_EMPTY_KEY ? NULL : shadow_of(g, page * PAGE, false);

		for (size_t k = 0; words && k < PAGE / 8; k++)
			if (words[k] == (uint32_t)start)
				words[k] = 0;
	}
}

static struct guard_root *root_of(struct dec_guard *g, uint64_t value)
{
	return &g->roots[value / 8 % GUARD_ROOTS];
}

/* A node begins at @p start, or does no more. */
static void forget_root(struct dec_guard *g, uint64_t start)
{
	*root_of(g, start) = (struct guard_root){};
}

/* What the word @p value that was read at @p addr points to: as hg_derive_recall(). */
static uint32_t recall(struct dec_guard *g, uint64_t addr, uint64_t value)
{
	uint32_t tag = word_tag(g, addr, value);
	uint64_t *root;

	if (tag)
		return tag;
	root = map_get(&g->live, value);
	tag = root ? g->nodes.data[*root].tag : 0;
	*root_of(g, value) = (struct guard_root){ value, tag };
	if (!tag)
		keep_none(g, addr, value);
	return tag;
}

/* Much is given back to the kernel, most of which was never there. */
static void clear(uint64_t *words, uint64_t size)
{
	uint64_t from = ((uint64_t)words + PAGE - 1) & ~(PAGE - 1);
	uint64_t to = ((uint64_t)words + size) & ~(PAGE - 1);

	if (to < from + 4 * PAGE || madvise((void *)from, to - from, MADV_DONTNEED)) {
		memset(words, 0, size);
		return;
	}
	memset(words, 0, from - (uint64_t)words);
	memset((void *)to, 0, (uint64_t)words + size - to);
}

static void forget_words(struct dec_guard *g, uint64_t start, uint64_t end)
{
	for (uint64_t at = start & ~7ull, next; at < end; at = next) {
		uint64_t *words = shadow_of(g, at, false), size;

		next = (at / GUARD_REGION + 1) * GUARD_REGION;
		next = next < end ? next : end;
		size = (next - at + 7) & ~7ull;
		if (words)
			clear(words, size);
	}
}

/* ---- nodes ------------------------------------------------------------------------------------- */

static struct guard_node *node_of(struct dec_guard *g, uint32_t tag)
{
	return &g->nodes.data[dec_guard_has_parts(tag) ?
				      dec_guard_parts_row(g, tag)->node :
				      tag / sizeof(struct guard_row)];
}

/* Where emitted code looks for pointers: nowhere while the allocator is at work. */
static void show_spans(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	bool is_at_work = g->call.is_open && g->call.hook.kind == DEC_HOOK_ALLOCATOR;

	uint64_t start = g->low < g->high_low ? g->low : g->high_low;
	uint64_t low_end = g->span ? g->low + g->span : 0;
	uint64_t high_end = g->high_span ? g->high_low + g->high_span : 0;

	e->ctx->heap_low = start;
	e->ctx->high_low = g->high_low;
	e->ctx->low_span = is_at_work ? 0 : g->span;
	e->ctx->high_span = is_at_work ? 0 : g->high_span;
	e->ctx->heap_span = 0;
	// One that allocates knows what of itself, though it goes on as another: realloc(NULL) does as malloc().
	e->ctx->allocator_rsp = 0;
	if (is_at_work)
		e->ctx->allocator_rsp =
			g->call.rsp - 8 * (g->call.hook.which >= CAP_HEAP_FNS);
	if (!is_at_work && (low_end || high_end))
		e->ctx->heap_span = (high_end > low_end ? high_end : low_end) - start;
}

static void widen(uint64_t *low, uint64_t *span, uint64_t start, uint64_t end)
{
	uint64_t high = *low + *span;

	if (!*span)
		high = *low = start;
	start = start < *low ? start : *low;
	end = end > high ? end : high;
	*low = start;
	*span = end - start;
}

static bool is_marked(const struct dec_guard *g, uint32_t n)
{
	return g->marks[n / 64] >> n % 64 & 1;
}

/* .. and what realloc made of it where it was. */
static void mark(struct dec_guard *g, uint32_t n)
{
	for (; n && !is_marked(g, n); n = g->nodes.data[n].next)
		g->marks[n / 64] |= 1ull << n % 64;
}

/* Those with parts stay, whoever points to them. */
static void mark_tags(struct dec_guard *g, const uint32_t *tag, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!dec_guard_has_parts(tag[i]))
			mark(g, tag[i] / sizeof(struct guard_row));
}

static void mark_thread(struct dec_guard *g, const struct guard_thread *t)
{
	mark_tags(g, t->tag, 16);
	mark_tags(g, t->lanes[0], 32 * 8);
	mark_tags(g, t->call.tag, 16);
}

/* All that is left of a run's pointers to what is gone. */
static void mark_pointers(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;

	mark_tags(g, e->ctx->tag, 16);
	mark_tags(g, g->lanes[0], 32 * 8);
	mark_tags(g, g->call.tag, 16);
	for (size_t i = 0; i < g->threads.size; i++)
		mark_thread(g, &g->threads.data[i]);
	for (size_t i = 0; i < g->handlers.size; i++)
		mark_thread(g, &g->handlers.data[i].was);
	for (uint32_t i = 0; i < GUARD_REGIONS; i++) {
		const uint64_t *words = (uint64_t *)g->regions[i];

		for (size_t k = 0; words && k < GUARD_REGION / 8; k++)
			if (words[k] >> 32)
				mark_tags(g, &(uint32_t){ words[k] >> 32 }, 1);
	}
	for (uint32_t n = 1; n < g->nodes.size; n++)
		if (dec_guard_has_parts(g->nodes.data[n].tag))
			mark(g, n);
}

/* A program may allocate for ever: rows of nodes that are gone, and that no pointer is to any more, are used again. */
static void sweep(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;

	g->marks = calloc(g->nodes.size / 64 + 1, 8);
	if (!g->marks)
		return;
	mark_pointers(e);
	for (uint32_t n = 1; n < g->nodes.size; n++) {
		if (!g->nodes.data[n].is_live && !is_marked(g, n) &&
		    vec_add(&g->free_rows, n))
			break; // the others stay
	}
	free(take_ptr(&g->marks));
	if (g->free_rows.size < g->nodes.size / 4)
		g->sweep_at = 2 * g->nodes.size;
}

/* @return its number; 0: in doubt. */
static uint32_t node_born(struct dec_engine *e, uint64_t start, uint64_t size,
			  uint64_t site)
{
	struct dec_guard *g = e->guard;
	bool is_new = !g->free_rows.size;
	uint32_t n = is_new ? g->nodes.size : g->free_rows.data[--g->free_rows.size], tag;

	if (start <= UINT32_MAX && !g->has_low) {
		g->has_low = true; // from here on 32 bits may be a pointer
		dec_engine_flush(e);
	}
	if (GUARD_ROWS_AT + (n + 1ull) * sizeof(*g->rows) > GUARD_PARTS_AT ||
	    (is_new && !vec_push(&g->nodes)) || map_put(&g->live, start, n)) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return 0;
	}
	g->nodes.data[n] = (struct guard_node){ .start = start,
						.size = size,
						.site = site,
						.is_live = true,
						.family = g->call.family };
	g->rows[n] = (struct guard_row){ start, size };
	g->starts[start / 16 % GUARD_STARTS / 32] |= 1u << start / 16 % 32;
	tag = dec_guard_parts_born(e, n);
	g->nodes.data[n].tag = tag ?: n * sizeof(*g->rows);
	forget_root(g, start);
	forget_none(g, start);
	if (start >= HIGH) {
		widen(&g->high_low, &g->high_span, start - REACH, start + size + REACH);
		if (!g->has_high)
			dec_engine_flush(e);
		g->has_high = true;
	} else {
		widen(&g->low, &g->span, start - REACH, start + size + REACH);
	}
	return n;
}

static void node_died(struct dec_guard *g, uint32_t number)
{
	struct guard_node *n = &g->nodes.data[number];

	n->is_live = false;
	g->rows[number].size = 0;
	if (dec_guard_has_parts(n->tag))
		dec_guard_parts_died(g, n);
	map_remove(&g->live, n->start);
	forget_root(g, n->start);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static void keep_pointers(const struct dec_engine *e, struct guard_thread *t)
{
	const struct dec_guard *g = e->guard;

	memcpy(t->tag, e->ctx->tag, sizeof(t->tag));
	memcpy(t->lanes, g->lanes, sizeof(t->lanes));
	memcpy(t->string_call, e->ctx->string_call, sizeof(t->string_call));
	t->vec_tags = e->ctx->vec_tags;
	t->passed = g->passed;
	t->fill = g->fill;
	t->call = g->call;
	t->family = g->family;
}

static void bring_pointers(struct dec_engine *e, const struct guard_thread *t)
{
	struct dec_guard *g = e->guard;

	memcpy(e->ctx->tag, t->tag, sizeof(t->tag));
	memcpy(g->lanes, t->lanes, sizeof(t->lanes));
	memcpy(e->ctx->string_call, t->string_call, sizeof(t->string_call));
	e->ctx->vec_tags = t->vec_tags;
	g->fill = t->fill;
	g->call = t->call;
	g->family = t->family;
	g->passed = t->passed;
	show_spans(e);
}

static bool keep_thread(const struct dec_engine *e, struct guard_thread *t)
{
	keep_pointers(e, t);
	return !e->guard->blank || dec_blank_keep(e, &t->blank);
}

static void bring_thread(struct dec_engine *e, const struct guard_thread *t)
{
	bring_pointers(e, t);
	if (e->guard->blank)
		dec_blank_bring(e, t->blank.regs ? &t->blank : NULL);
}

void dec_guard_switch(struct dec_engine *e, uint32_t from, uint32_t to, bool is_new)
{
	const struct guard_thread none = {};
	struct dec_guard *g = e->guard;
	struct guard_thread *t;

	if (!g)
		return;
	t = vec_find(&g->threads, k, k->tid == from);
	if (!t && (t = vec_push(&g->threads)))
		*t = (struct guard_thread){ .tid = from };
	if (!t || !keep_thread(e, t))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
	t = is_new ? NULL : vec_find(&g->threads, k, k->tid == to);
	bring_thread(e, t ?: &none);
}

/* ---- signals ------------------------------------------------------------------------------------ */

/* Registers that are not what they were, @p was, are no pointers. */
static void change_regs(struct dec_engine *e, const uint64_t was[16],
			const uint64_t now[16])
{
	for (int r = 0; r < DEC_GPRS; r++)
		if (was[r] != now[r])
			e->ctx->tag[r] = 0;
}

void dec_guard_signal(struct dec_engine *e, const uint64_t gpr[16], bool is_fault)
{
	const struct guard_thread none = {};
	struct dec_guard *g = e->guard;
	uint64_t frame = gpr[CAP_RSP] + 8;
	struct guard_handler *h;

	if (!g || g->is_without_pointers)
		return;
	// One that was left by longjmp has its frame no more.
	h = vec_find(&g->handlers, k, k->frame == frame) ?: vec_push(&g->handlers);
	if (!h || is_fault || g->call.is_open || g->family.family) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return;
	}
	h->frame = frame;
	memcpy(h->gpr, e->ctx->gpr, sizeof(h->gpr));
	h->was = none;
	keep_pointers(e, &h->was);
	bring_pointers(e, &none);
	memcpy(e->ctx->tag, h->was.tag, sizeof(h->was.tag));
	change_regs(e, h->gpr, gpr);
}

static bool has_tag(const struct dec_engine *e, uint8_t reg)
{
	return reg != DEC_REG_NONE && (reg >= DEC_GPRS || e->ctx->tag[reg]);
}

void dec_guard_fatal(struct dec_engine *e)
{
	const struct dec_guard *g = e->guard;
	const struct dec_insn *insn;

	if (!g || !e->world.avail(e->world.ctx, e->ctx->rip, PROT_EXEC))
		return;
	insn = dec_engine_insn(e, e->ctx->rip);
	if (g->blank && dec_blank_regs(insn) & e->ctx->blank)
		dec_guard_doubt(e, DEC_DOUBT_VALUE, e->ctx->rip);
	for (int i = 0; i < insn->n_mem && !g->is_without_pointers; i++)
		if (has_tag(e, insn->mem[i].base) || has_tag(e, insn->mem[i].index))
			dec_guard_doubt(e, DEC_DOUBT_ACCESS, e->ctx->rip);
}

void dec_guard_signal_over(struct dec_engine *e, uint64_t frame)
{
	struct dec_guard *g = e->guard;
	struct guard_handler *h;

	if (!g || g->is_without_pointers)
		return;
	h = vec_find(&g->handlers, k, k->frame == frame);
	if (!h || g->call.is_open) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return;
	}
	bring_pointers(e, &h->was);
	change_regs(e, h->gpr, e->ctx->gpr);
	*h = g->handlers.data[--g->handlers.size];
}

/* ---- accesses ----------------------------------------------------------------------------------- */

static bool is_inside(const struct guard_node *n, uint64_t addr, uint64_t size)
{
	return addr >= n->start && addr <= n->start + n->size &&
	       size <= n->start + n->size - addr;
}

/* Did realloc leave it in its place, and what it made of it, too? */
static bool has_stayed(struct dec_guard *g, struct guard_node *old)
{
	uint32_t last = old->next;

	while (g->nodes.data[last].next)
		last = g->nodes.data[last].next;
	old->next = last; // there may be many
	return g->nodes.data[last].is_live;
}

/* Is the call that was entered with @p rsp still under way, and returns to @p to? */
static bool is_under_way(const struct dec_engine *e, uint64_t rsp, uint64_t to)
{
	uint64_t returns;

	if (!rsp || e->ctx->gpr[CAP_RSP] > rsp)
		return false;
	memcpy(&returns, (const void *)rsp, 8);
	return returns == to;
}

/* Is an access of @p size bytes right, by a pointer of @p tag? See hg_astray_check(). */
static bool is_right(struct dec_guard *g, uint32_t tag, uint64_t addr, uint64_t size)
{
	struct guard_node *n = node_of(g, tag);
	int64_t offset = addr - n->start;

	if (!tag || offset < -REACH || offset > (int64_t)n->size + REACH)
		return true;
	return n->is_live ? is_inside(n, addr, size) : has_stayed(g, n);
}

static uint32_t tag_of_address(const struct dec_engine *e, const struct dec_mem *m,
			       uint64_t addr, uint64_t size)
{
	const uint32_t *tag = e->ctx->tag;
	uint32_t base = m->base < DEC_GPRS ? tag[m->base] : 0;
	uint32_t index = m->index < DEC_GPRS && m->scale == 1 ? tag[m->index] : 0;

	if (m->base >= DEC_GPRS)
		return 0;
	if (index && (!base || is_inside(node_of(e->guard, index), addr, size)))
		return index;
	return base;
}

/* The same of what libraries and the kernel do. */
static bool may_use(struct dec_guard *g, uint32_t tag, uint64_t addr, uint64_t size)
{
	return is_right(g, tag, addr, size) &&
	       (!dec_guard_has_parts(tag) || !node_of(g, tag)->is_live ||
		!is_inside(node_of(g, tag), addr, size) ||
		dec_guard_parts_may(g, tag, addr, size, size));
}

/* ---- an instruction ------------------------------------------------------------------------------ */

struct guard_do {
	struct dec_engine *e;
	struct dec_guard *g;
	struct dec_insn insn;
	uint64_t gpr[DEC_GPRS]; ///< before
	uint64_t addr[DEC_MEMS], bytes[DEC_MEMS];
	struct {
		uint64_t value;
		uint32_t tag;
		bool is_address;
	} source[SOURCES];
	int n;
};

static uint64_t word_at(uint64_t addr)
{
	uint64_t word;

	memcpy(&word, (const void *)addr, 8);
	return word;
}

static bool can_read(const struct guard_do *s, uint64_t addr, uint64_t size)
{
	return s->e->world.avail(s->e->world.ctx, addr, PROT_READ) >= size;
}

static void add_source(struct guard_do *s, uint64_t value, uint32_t tag, bool is_address)
{
	if (!tag || s->n == SOURCES)
		return;
	s->source[s->n].value = value;
	s->source[s->n].tag = tag;
	s->source[s->n++].is_address = is_address;
}

static bool is_address(const struct dec_insn *insn, int reg)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].base == reg || insn->mem[i].index == reg)
			return true;
	return false;
}

static void find_operands(struct guard_do *s)
{
	const struct dec_ctx *c = s->e->ctx;

	for (int i = 0; i < s->insn.n_mem; i++) {
		const struct dec_mem *m = &s->insn.mem[i];

		s->addr[i] = dec_insn_address(m, c->gpr, c->fs_base, c->gs_base);
		s->bytes[i] = m->size;
		if (s->insn.is_rep)
			s->bytes[i] *= c->gpr[CAP_RCX];
		if (m->is_write && m->base == CAP_RSP &&
		    s->insn.mnemonic == ZYDIS_MNEMONIC_POP)
			s->addr[i] += m->size; // rsp has moved before
	}
}

static void find_sources(struct guard_do *s)
{
	const struct dec_ctx *c = s->e->ctx;
	uint8_t vec[160];

	for (uint32_t r = s->insn.gpr_read; r; r &= r - 1) {
		int reg = __builtin_ctz(r);

		add_source(s, c->gpr[reg], c->tag[reg], is_address(&s->insn, reg));
	}
	for (int i = 0; i < s->insn.n_mem; i++)
		for (uint64_t k = 0;
		     s->insn.mem[i].is_read && s->bytes[i] <= 64 &&
		     k + 8 <= s->bytes[i] && can_read(s, s->addr[i], s->bytes[i]);
		     k += 8)
			add_source(s, word_at(s->addr[i] + k),
				   recall(s->g, s->addr[i] + k, word_at(s->addr[i] + k)),
				   false);
	for (uint32_t v = s->insn.other_read & c->vec_tags; v; v &= v - 1) {
		int reg = __builtin_ctz(v);

		dec_engine_read_reg(s->e, DEC_REG_VEC + reg, vec);
		for (int k = 0; k < 8; k++)
			add_source(s, word_at((uint64_t)(vec + 8 * k)),
				   s->g->lanes[reg][k], false);
	}
}

static uint32_t same(const struct guard_do *s, uint64_t value, bool is_memory)
{
	uint32_t tag = 0;

	for (int i = 0; i < s->n; i++)
		if (s->source[i].value == value &&
		    (is_memory || !s->source[i].is_address) &&
		    (!tag || (!node_of(s->g, tag)->is_live &&
			      node_of(s->g, s->source[i].tag)->is_live)))
			tag = s->source[i].tag;
	return tag;
}

static uint64_t way_to(const struct guard_node *n, uint64_t value)
{
	if (value < n->start)
		return n->start - value;
	return value > n->start + n->size ? value - n->start - n->size : 0;
}

/* As nearest() of hg_derive.c. */
static uint32_t nearest(const struct guard_do *s, uint64_t value, uint64_t *source)
{
	uint64_t least = UINT64_MAX, least_way = UINT64_MAX;
	uint32_t tag = 0;

	for (int i = 0; i < s->n; i++) {
		uint64_t distance = llabs((int64_t)(value - s->source[i].value)), way = 0;

		if (s->source[i].is_address)
			continue;
		if (s->n > 1)
			way = way_to(node_of(s->g, s->source[i].tag), value);
		if (way > least_way || (way == least_way && distance >= least))
			continue;
		least = distance;
		least_way = way;
		tag = s->source[i].tag;
		*source = s->source[i].value;
	}
	// There it is none if they are no distances; here that is not known.
	return s->n > 1 && least_way > REACH && dec_guard_has_parts(tag) ?
		       dec_guard_parts_unknown(s->e, tag) :
		       tag;
}

/* ---- what it defines -------------------------------------------------------------------------- */

/* Arithmetic led from a pointer of @p tag to @p value: from what is gone, and far, to whatever has the
 * memory now. */
static uint32_t led_to(const struct guard_do *s, uint32_t tag, uint64_t value)
{
	const struct guard_node *n = node_of(s->g, tag);

	if (!n->is_live && llabs((int64_t)(value - n->start)) > REACH)
		return 0;
	return dec_guard_has_parts(tag) ?
		       dec_guard_parts_step(s->e, tag, &s->insn, value) :
		       tag;
}

static uint32_t subtract(const struct guard_do *s, int reg, uint32_t tag, uint64_t value)
{
	uint64_t less = s->gpr[reg] - value;

	if (!tag || (s->gpr[reg] >> 32 && !dec_insn_is_wide(&s->insn)))
		return 0;
	for (int i = 0; i < s->n; i++)
		if (s->source[i].value == less &&
		    node_of(s->g, s->source[i].tag) == node_of(s->g, tag))
			return 0;
	return led_to(s, tag, value);
}

static uint32_t derived_from(const struct guard_do *s, uint64_t value, bool is_memory)
{
	uint32_t tag = same(s, value, is_memory);
	uint64_t source = 0;

	if (tag || !s->n || !dec_insn_is_arithmetic(s->insn.mnemonic))
		return tag;
	tag = nearest(s, value, &source);
	return tag && !dec_insn_cuts(s->insn.mnemonic, source, value) ?
		       led_to(s, tag, value) :
		       0;
}

static void define_gpr(struct guard_do *s, int reg)
{
	struct dec_ctx *c = s->e->ctx;
	uint64_t value = c->gpr[reg];
	uint32_t tag = c->tag[reg];

	if (s->insn.mnemonic == ZYDIS_MNEMONIC_SUB)
		tag = subtract(s, reg, tag, value);
	else if (s->insn.is_string && (reg == CAP_RSI || reg == CAP_RDI))
		tag = tag ? led_to(s, tag, value) : 0;
	else
		tag = derived_from(s, value, false);
	if (reg == CAP_RSP && tag) // a stack in the heap
		dec_guard_doubt(s->e, DEC_DOUBT_BEYOND, s->insn.rip);
	c->tag[reg] = tag;
}

static uint32_t living(const struct guard_do *s, int v, int k)
{
	uint32_t tag = s->e->ctx->vec_tags >> v & 1 ? s->g->lanes[v][k] : 0;

	return tag && node_of(s->g, tag)->is_live ? tag : 0;
}

/* As lane_from() of hg_derive.c. */
static uint32_t lane_from(const struct guard_do *s, int v, int k, uint64_t value)
{
	uint32_t tag = same(s, value, false), read = s->insn.other_read;

	if (tag || !dec_insn_is_lane_arithmetic(s->insn.mnemonic))
		return tag;
	if (read >> v & 1)
		tag = living(s, v, k);
	for (; read && !tag; read &= read - 1)
		tag = living(s, __builtin_ctz(read), k);
	return dec_guard_has_parts(tag) ? dec_guard_parts_unknown(s->e, tag) : tag;
}

static void define_vector(struct guard_do *s, int reg)
{
	uint32_t any = 0;
	uint8_t vec[160];

	if (s->n || s->e->ctx->vec_tags >> reg & 1) {
		dec_engine_read_reg(s->e, DEC_REG_VEC + reg, vec);
		for (int k = 0; k < 8; k++)
			any |= s->g->lanes[reg][k] =
				lane_from(s, reg, k, word_at((uint64_t)(vec + 8 * k)));
	}
	s->e->ctx->vec_tags &= ~(1u << reg);
	s->e->ctx->vec_tags |= (uint32_t)(any != 0) << reg;
}

/* As word_from() of hg_derive.c. */
static uint32_t word_from(const struct guard_do *s, uint64_t addr, uint64_t value)
{
	uint64_t *word = s->insn.mnemonic == ZYDIS_MNEMONIC_SUB && addr % 8 == 0 ?
				 shadow_of(s->g, addr, false) :
				 NULL;
	uint32_t was = word ? *word >> 32 : 0;

	return was ? led_to(s, was, value) : derived_from(s, value, true);
}

static void define_memory(struct guard_do *s, int i)
{
	for (uint64_t k = 0; k + 8 <= s->bytes[i] && s->bytes[i] <= 64; k += 8) {
		uint64_t value = word_at(s->addr[i] + k);
		uint32_t tag = word_from(s, s->addr[i] + k, value);

		if (!tag && s->insn.lane_bytes) // a mask may have left what was there
			tag = word_tag(s->g, s->addr[i] + k, value);
		put_word(s->g, s->addr[i] + k, value, tag);
	}
}

/* A string instruction moved many words at once. */
static void copy_words(struct guard_do *s)
{
	int to = s->insn.mem[0].is_write ? 0 : 1;

	if (s->insn.n_mem != 2 || s->bytes[to] <= 64 || !s->insn.mem[!to].is_read ||
	    !s->insn.mem[to].is_write)
		return;
	for (uint64_t k = 0; k + 8 <= s->bytes[to]; k += 8) {
		uint64_t value = word_at(s->addr[to] + k);
		uint32_t tag = word_tag(s->g, s->addr[!to] + k, value);

		if (tag)
			put_word(s->g, s->addr[to] + k, value, tag);
	}
}

static void define(struct guard_do *s)
{
	for (uint32_t r = s->insn.gpr_written; r; r &= r - 1)
		define_gpr(s, __builtin_ctz(r));
	for (int i = 0; i < s->insn.n_mem; i++)
		if (s->insn.mem[i].is_write && can_read(s, s->addr[i], s->bytes[i]))
			define_memory(s, i);
	for (uint32_t v = s->insn.other_written; v; v &= v - 1)
		define_vector(s, __builtin_ctz(v));
	if (s->insn.is_rep)
		copy_words(s);
}

/* As hg_astray.c has it, of what is no pointer that masks had a part in. */
static bool may_read_ahead(const struct guard_do *s, const struct dec_mem *m,
			   uint32_t tag, uint64_t addr, uint64_t size)
{
	const struct guard_node *n = node_of(s->g, tag);

	return !m->is_write && addr / PAGE >= n->start / PAGE &&
	       (addr + size - 1) / PAGE <= (n->start + n->size) / PAGE &&
	       (size >= 16 || (uint32_t)(s->insn.other_read | s->insn.other_written)) &&
	       dec_guard_foreign(s->g, s->insn.rip);
}

/* Of a node with parts: is it in the one that the pointer is to? */
static bool is_of_part(struct guard_do *s, const struct dec_mem *m, uint32_t tag,
		       uint64_t addr, uint64_t size)
{
	const struct guard_node *n = node_of(s->g, tag);

	return !dec_guard_has_parts(tag) || !n->is_live || !is_inside(n, addr, size) ||
	       dec_guard_parts_is_right(s->e, tag, &s->insn, m, s->gpr, addr, size);
}

static void check_operands(struct guard_do *s)
{
	struct dec_guard *g = s->g;
	bool is_string =
		is_under_way(s->e, s->e->ctx->string_call[0], s->e->ctx->string_call[1]);

	if (!is_under_way(s->e, g->fill.rsp, g->fill.returns))
		g->fill.bytes = 0;
	for (int i = 0; i < s->insn.n_mem; i++) {
		const struct dec_mem *m = &s->insn.mem[i];
		uint32_t tag = tag_of_address(s->e, m, s->addr[i], s->bytes[i]);

		if (!tag || !s->bytes[i] || (is_string && !m->is_write) ||
		    (is_right(s->g, tag, s->addr[i], s->bytes[i]) &&
		     is_of_part(s, m, tag, s->addr[i], s->bytes[i])) ||
		    may_read_ahead(s, m, tag, s->addr[i], s->bytes[i]))
			continue;
		dec_guard_doubt(s->e, DEC_DOUBT_ACCESS, s->insn.rip);
	}
}

/* What a loop of one instruction did is less than it was to do: scas and cmps end it. */
static void find_rounds(struct guard_do *s)
{
	uint64_t n = s->gpr[CAP_RCX] - s->e->ctx->gpr[CAP_RCX];

	for (int i = 0; s->insn.is_rep && i < s->insn.n_mem; i++) {
		s->bytes[i] = n * s->insn.mem[i].size;
		if (s->e->ctx->rflags & 0x400)
			dec_guard_doubt(s->e, DEC_DOUBT_BEYOND, s->insn.rip);
	}
}

/* Of the one operand, lanes of which a mask has accessed: from the first of these to the last. @return false:
 * it accesses what is not of the operand, which is as it was. */
static bool narrow(struct guard_do *s)
{
	struct dec_touch touch[DEC_TOUCHES];
	int n = dec_touch_list(s->e, &s->insn, s->gpr, 0, touch);
	uint64_t start = UINT64_MAX, end = s->addr[0];

	for (int i = 0; i < n; i++) {
		uint64_t at = touch[i].addr;

		if (at - s->addr[0] > s->bytes[0] ||
		    touch[i].size > s->bytes[0] - (at - s->addr[0]))
			return false;
		start = at < start ? at : start;
		end = at + touch[i].size > end ? at + touch[i].size : end;
	}
	s->bytes[0] = n ? end - start : 0;
	s->addr[0] = n ? start : end;
	return true;
}

/* Does it access memory, perhaps by a pointer, where its operands do not tell? Gathers, bits by number. */
static bool is_unknown(struct guard_do *s)
{
	const struct dec_insn *insn = &s->insn;
	bool is_any = false;

	for (int r = 0; r < DEC_GPRS; r++)
		is_any |= insn->gpr_read >> r & 1 && s->e->ctx->tag[r];
	if (!is_any || insn->is_string || insn->is_rep)
		return false;
	return insn->is_slow_always ||
	       (insn->is_slow_addr && (insn->n_mem != 1 || !narrow(s)));
}

/* Is it memcpy that is called (dec_guard_is_copy()), between memory that is the same in part? */
static void check_copy(const struct guard_do *s)
{
	uint64_t n = s->gpr[CAP_RDX], ahead = s->gpr[CAP_RDI] - s->gpr[CAP_RSI];

	if (dec_guard_is_copy(s->g, &s->insn) && ahead && (ahead < n || -ahead < n))
		dec_guard_doubt(s->e, DEC_DOUBT_CALL, s->insn.rip);
}

static int step(struct dec_engine *e)
{
	struct guard_do s = { .e = e, .g = e->guard };
	uint64_t rip = e->ctx->rip, next;
	enum dec_verdict v;

	if (s.g->is_without_pointers && !s.g->doubt) {
		v = dec_blank_step(e);
		if (v != DEC_GO)
			dec_guard_doubt(e, DEC_DOUBT_BEYOND, rip);
		return v;
	}
	if (!s.g->doubt)
		s.insn = *dec_engine_insn(e, rip);
	if (s.g->doubt || !s.insn.len || s.insn.flow >= DEC_FLOW_SYSCALL)
		return dec_engine_step(e);
	s.g->n_steps++;
	next = rip + s.insn.len;
	memcpy(s.gpr, e->ctx->gpr, sizeof(s.gpr));
	find_operands(&s);
	if (is_unknown(&s))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, rip);
	check_copy(&s);
	find_sources(&s);
	v = s.g->blank ? dec_blank_step(e) : (int)dec_engine_step(e);
	if (v != DEC_GO || (s.insn.flow == DEC_FLOW_NEXT && e->ctx->rip != next)) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, rip);
		return v;
	}
	find_rounds(&s);
	if (!s.g->call.is_open || s.g->call.hook.kind != DEC_HOOK_ALLOCATOR) {
		check_operands(&s);
		if (s.insn.flow == DEC_FLOW_NEXT)
			define(&s);
	}
	return v;
}

/* Only at the operands. */
static void look(struct dec_engine *e)
{
	struct guard_do s = { .e = e, .g = e->guard };

	s.insn = *dec_engine_insn(e, e->ctx->rip);
	memcpy(s.gpr, e->ctx->gpr, sizeof(s.gpr));
	find_operands(&s);
	check_operands(&s);
}

/* ---- events ------------------------------------------------------------------------------------- */

/* The guest stands where it is to stop, if that was not seen to already. */
static void stop(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	bool is_passed = g->passed == e->ctx->rip;

	g->passed = 0;
	if (!is_passed)
		dec_guard_at_stop(e);
}

int dec_guard_step(struct dec_engine *e)
{
	if (dec_guard_stops_at(e->guard, e->ctx->rip))
		stop(e);
	return e->guard->doubt == DEC_DOUBT_ASKS ? DEC_GO : step(e);
}

static void enter_string(struct dec_engine *e, uint64_t rip);

/* General registers are the guest's while C works: some are borrowed. */
static void swap_scratch(struct dec_engine *e, const struct engine_block *b,
			 uint64_t borrowed[3], bool is_guest)
{
	for (int i = 0; i < 3 && b->scratch[i] != DEC_REG_NONE; i++) {
		uint64_t *reg = &e->ctx->gpr[b->scratch[i]];

		if (is_guest) {
			borrowed[i] = *reg;
			*reg = e->ctx->guard_spill[i];
		} else {
			e->ctx->guard_spill[i] = *reg;
			*reg = borrowed[i];
		}
	}
}

/* Has what is behind instruction @p i of @p b, where rip is, to do with what has no value? */
static bool concerns_rest(struct dec_engine *e, const struct engine_block *b, int i)
{
	uint64_t rip = e->ctx->rip;

	for (; i < b->n_insns && e->ctx->blank; i++) {
		const struct dec_insn *insn = dec_engine_insn(e, rip);

		if (dec_blank_regs(insn) & e->ctx->blank)
			return true;
		rip += insn->len;
	}
	return false;
}

/* Do what event @p ev, in @p b, is of; and what is behind it to the block's end, if that has to do with what has no value.
 * @return how many of the block were done then, in all; 0: the block goes on. */
static int do_steps(struct dec_engine *e, const struct engine_block *b,
		    const struct guard_event *ev)
{
	int i = ev->index + 1;

	step(e);
	if (ev->kind == GUARD_EVENT_STEP && !concerns_rest(e, b, i))
		return 0;
	for (; i < b->n_insns && !e->guard->doubt && !e->is_flushed; i++)
		step(e);
	return i;
}

/* The block is left behind its first @p n instructions. */
static void leave_block(struct dec_engine *e, const struct engine_block *b,
			const struct guard_event *ev, int n)
{
	e->ctx->budget[0] += (ev->is_counted ? b->debit : 0) - b->pending - n;
	e->ctx->exit_id = DEC_EXIT_GUARD;
}

uint8_t *dec_guard_event(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	const struct guard_event ev = g->events.data[e->ctx->guard_event];
	const struct engine_block b = e->blocks.data[ev.block];
	struct dec_ctx *c = e->ctx;
	// A function begins before that register is borrowed.
	bool has_far = b.far_reg != DEC_REG_NONE && ev.kind != GUARD_EVENT_STRING &&
		       ev.kind != GUARD_EVENT_CALL;
	uint64_t borrowed[3], now = e->now;
	int64_t budget[CTX_CELLS];
	int n = 0;

	g->n_events[ev.kind]++;
	swap_scratch(e, &b, borrowed, true);
	if (has_far)
		c->gpr[b.far_reg] = c->spill[3];
	c->rip = ev.rip;
	switch (ev.kind) {
	case GUARD_EVENT_STEP:
	case GUARD_EVENT_RUN:
		memcpy(budget, c->budget, sizeof(budget));
		n = do_steps(e, &b, &ev);
		memcpy(c->budget, budget, sizeof(budget));
		e->now = now;
		break;
	case GUARD_EVENT_LOOK:
		look(e);
		break;
	case GUARD_EVENT_WORD:
		c->tag[ev.reg] = recall(g, borrowed[0], c->gpr[ev.reg]);
		break;
	case GUARD_EVENT_STRING:
		enter_string(e, ev.rip);
		break;
	case GUARD_EVENT_CALL:
		stop(e);
		if (g->doubt == DEC_DOUBT_ASKS)
			e->is_flushed = true; // there is no exit that it would go on from
		if (!e->is_flushed)
			break;
		g->passed = g->doubt ? 0 : ev.rip;
		c->budget[0] -= ev.pending;
		return NULL;
	default:
		dec_guard_doubt(e, DEC_DOUBT_CALL, ev.rip);
	}
	if (n && !g->doubt) {
		leave_block(e, &b, &ev, n);
		return NULL;
	}
	if (has_far) // it is borrowed in front of an instruction, which was done; and in steps
		c->spill[3] = c->gpr[b.far_reg];
	swap_scratch(e, &b, borrowed, false);
	if (e->is_flushed)
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, ev.rip);
	return g->doubt ? NULL : ev.resume;
}

/* ---- functions that read ------------------------------------------------------------------------- */

uint64_t dec_guard_fold(uint64_t v)
{
	return v >= 'A' && v <= 'Z' ? v + 'a' - 'A' : v;
}

/* Does reading from argument @p i end within its first @p room bytes? */
static bool ends_within(const struct dec_engine *e, const struct dec_hook *h, int i,
			uint64_t room)
{
	const uint64_t *gpr = e->ctx->gpr;
	uint64_t at[2] = { gpr[CAP_RDI], gpr[CAP_RSI] };
	uint64_t limit = h->limit ? gpr[h->limit] : UINT64_MAX;
	uint64_t can = e->world.avail(e->world.ctx, at[!i], PROT_READ);

	if (limit <= room / h->width)
		return true;
	for (uint64_t k = 0; k < room / h->width; k++) {
		uint64_t v = dec_guard_element(at[i] + k * h->width, h->width), other;

		if (h->extent[i] == DEC_EXTENT_VALUE && v == (uint8_t)gpr[CAP_RSI])
			return true;
		if (!v &&
		    (h->extent[i] == DEC_EXTENT_TEXT || h->extent[i] == DEC_EXTENT_ORDER))
			return true;
		if (h->extent[i] < DEC_EXTENT_ORDER)
			continue;
		if ((k + 1) * h->width > can)
			return false;
		other = dec_guard_element(at[!i] + k * h->width, h->width);
		if (h->which ? dec_guard_fold(v) != dec_guard_fold(other) : v != other)
			return h->extent[i] != DEC_EXTENT_UNKNOWN;
	}
	return false;
}

/* How much from @p addr on is of what a pointer of @p tag is to, for the call that is under way? */
static uint64_t room_at(struct dec_guard *g, uint32_t tag, uint64_t addr)
{
	const struct guard_node *n = node_of(g, tag);

	if (!n->is_live || addr - n->start >= n->size)
		return 0;
	return dec_guard_has_parts(tag) ? dec_guard_parts_room(g, tag, addr) :
					  n->start + n->size - addr;
}

/* A function that was asked for @p bytes (0: not known) begins; what fills memory may call others for that. */
static void enter_fill(struct dec_engine *e, uint64_t bytes, bool is_filler)
{
	struct dec_guard *g = e->guard;

	if (g->fill.is_filler && is_under_way(e, g->fill.rsp, g->fill.returns))
		return;
	g->fill.is_filler = is_filler;
	g->fill.bytes = bytes;
	g->fill.rsp = e->ctx->gpr[CAP_RSP];
	memcpy(&g->fill.returns, (const void *)g->fill.rsp, 8);
}

static void enter_string(struct dec_engine *e, uint64_t rip)
{
	struct dec_guard *g = e->guard;
	const struct dec_hook *h = &g->hook.data[*map_get(&g->hooks, rip) - 1];
	const uint64_t at[2] = { e->ctx->gpr[CAP_RDI], e->ctx->gpr[CAP_RSI] };
	const uint32_t tag[2] = { e->ctx->tag[CAP_RDI], e->ctx->tag[CAP_RSI] };
	bool is_text = h->extent[1] == DEC_EXTENT_TEXT;
	bool is_filler = !h->extent[0] && !h->extent[1];
	uint64_t limit = h->limit && !is_text ? e->ctx->gpr[h->limit] : 0;

	if (g->call.is_open)
		return;
	if (h->times && __builtin_mul_overflow(limit, e->ctx->gpr[h->times], &limit))
		limit = UINT64_MAX;
	enter_fill(e, limit, is_filler);
	if (is_filler)
		return;
	if (!h->extent[0] &&
	    dec_guard_parts_spill(g, tag[0], at[0], limit, tag[1], at[1]))
		dec_guard_doubt(e, DEC_DOUBT_ACCESS, rip);
	e->ctx->string_call[0] = e->ctx->gpr[CAP_RSP];
	memcpy(&e->ctx->string_call[1], (const void *)e->ctx->gpr[CAP_RSP], 8);
	for (int i = 0; i < 2; i++) {
		const struct guard_node *n = node_of(g, tag[i]);
		uint64_t room = room_at(g, tag[i], at[i]);

		if (tag[i] && h->extent[i] &&
		    (n->is_live || !is_right(g, tag[i], at[i], 1)) &&
		    !ends_within(e, h, i, room))
			dec_guard_doubt(e, DEC_DOUBT_ACCESS, rip);
	}
}

/* ---- calls of the allocator --------------------------------------------------------------------- */

/* So much of a thread's stack is looked through from where it begins. */
#define BEGINNING (16u << 10)

/* Does the allocator call function @p h of its own, in a thread that nobody else's code is under way in any more? At
 * its end glibc releases what its cache has, which the program did already; nobody is told of that. */
static bool is_at_end_of_thread(struct dec_engine *e, const struct dec_hook *h)
{
	uint64_t rsp = e->ctx->gpr[CAP_RSP], start = e->ctx->fs_base;
	const struct dec_hook *own = dec_guard_foreign(e->guard, h->rip);

	if (!own || dec_guard_foreign(e->guard, word_at(rsp)) != own ||
	    start - rsp > BEGINNING || rsp % 8 ||
	    e->world.avail(e->world.ctx, rsp, PROT_READ) < start - rsp)
		return false;
	for (uint64_t at = rsp; at + 8 <= start; at += 8)
		if (e->world.avail(e->world.ctx, word_at(at), PROT_EXEC) &&
		    !dec_guard_foreign(e->guard, word_at(at)))
			return false;
	return true;
}

/* Is a pointer of @p tag to @p n, or to what realloc made that of, in its place? */
static bool is_to(struct dec_guard *g, uint32_t tag, const struct guard_node *n)
{
	struct guard_node *old = node_of(g, tag);

	return old == n ||
	       (!old->is_live && has_stayed(g, old) && &g->nodes.data[old->next] == n);
}

static void check_release(struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	uint64_t addr = e->ctx->gpr[CAP_RDI], *root = map_get(&g->live, addr);
	const struct guard_node *n = root ? &g->nodes.data[*root] : NULL;
	uint32_t tag = e->ctx->tag[CAP_RDI];

	if (addr && (!n || (tag && !is_to(g, tag, n)) || n->family != g->call.family) &&
	    !is_at_end_of_thread(e, h))
		dec_guard_doubt(e, DEC_DOUBT_RELEASE, e->ctx->rip);
}

/* A function of family @p h begins, if none is under way that has called it. */
static void enter_family(struct dec_engine *e, const struct dec_hook *h)
{
	struct guard_family *f = &e->guard->family;

	if (f->family && is_under_way(e, f->rsp, f->returns))
		return;
	f->family = h->which;
	f->is_once = h->is_once;
	f->rsp = e->ctx->gpr[CAP_RSP];
	f->returns = word_at(f->rsp);
	if (!f->is_once && stop_at(e, f->returns))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
}

static void leave_family(struct dec_engine *e)
{
	struct guard_family *f = &e->guard->family;

	if (e->ctx->gpr[CAP_RSP] > f->rsp)
		f->family = 0;
}

/* @return for which family the allocator is called. */
static uint8_t take_family(struct dec_engine *e)
{
	struct guard_family *f = &e->guard->family;
	bool is_under = f->family && is_under_way(e, f->rsp, f->returns);
	uint8_t ret = is_under ? f->family : 0;

	if (!is_under || f->is_once)
		f->family = 0;
	return ret;
}

/* Is it asked for a negative number of bytes? */
static bool asks_for_negative(const struct guard_call *c)
{
	static const uint8_t sizes[CAP_HEAP_FNS] = {
		[CAP_HEAP_MALLOC] = 1,
		[CAP_HEAP_CALLOC] = 1 | 2,
		[CAP_HEAP_REALLOC] = 2,
		[CAP_HEAP_ALIGNED_ALLOC] = 2,
	};
	bool is_negative = false;

	for (int i = 0; i < 2 && c->hook.which < CAP_HEAP_FNS; i++)
		is_negative |= sizes[c->hook.which] >> i & c->arg[i] >> 63;
	return is_negative;
}

/* @return how many bytes the block had; 0: there is none. */
static uint64_t release(struct dec_guard *g, uint64_t addr)
{
	uint64_t *root = map_get(&g->live, addr), size;

	if (!addr || !root)
		return 0;
	size = g->nodes.data[*root].size;
	node_died(g, *root);
	return size;
}

static void enter_call(struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	struct dec_ctx *c = e->ctx;
	struct guard_call *call = &g->call;
	uint64_t size = 0;
	// realloc(NULL) goes on as malloc(): who called knows of one.
	bool is_handed = call->is_open && c->gpr[CAP_RSP] == call->rsp &&
			 call->hook.kind == DEC_HOOK_ALLOCATOR;

	if (call->is_open && c->gpr[CAP_RSP] < call->rsp)
		return;
	call->is_open = true;
	call->hook = *h;
	call->rsp = c->gpr[CAP_RSP];
	memcpy(&call->returns, (const void *)call->rsp, 8);
	call->arg[0] = c->gpr[CAP_RDI];
	call->arg[1] = c->gpr[CAP_RSI];
	call->arg[2] = c->gpr[CAP_RDX];
	if (!is_handed)
		call->family = h->kind == DEC_HOOK_ALLOCATOR ? take_family(e) : 0;
	if (h->kind == DEC_HOOK_ALLOCATOR) {
		if (h->which == CAP_HEAP_FREE || h->which == CAP_HEAP_REALLOC)
			check_release(e, h);
		if (asks_for_negative(call))
			dec_guard_doubt(e, DEC_DOUBT_CALL, c->rip);
		if (h->which == CAP_HEAP_FREE)
			size = release(g, call->arg[0]);
		if (g->blank && !is_handed)
			dec_blank_enter(e, h->which);
		if (g->blank)
			dec_blank_died(g->blank, call->arg[0], size);
		if (!is_handed) {
			memcpy(call->gpr, c->gpr, sizeof(call->gpr));
			memcpy(call->tag, c->tag, sizeof(call->tag));
			call->vec_tags = c->vec_tags;
		}
		memset(c->tag, 0, sizeof(c->tag));
		c->vec_tags = 0;
		show_spans(e);
	}
	if (h->kind != DEC_HOOK_ALLOCATOR)
		dec_engine_set_break(e, call->returns, true);
	else if (stop_at(e, call->returns))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, c->rip);
}

/* Is nothing known of the next PAGE of @p size bytes at @p addr? */
static bool is_bare(struct dec_guard *g, uint64_t addr, uint64_t size)
{
	const uint64_t *words = shadow_of(g, addr, false);
	uint64_t any = 0;

	if (size < PAGE || addr % GUARD_REGION > GUARD_REGION - PAGE)
		return false;
	for (size_t k = 0; words && k < PAGE / 8; k++)
		any |= words[k];
	return !any;
}

/* What realloc moved is in the new block, and nothing else is. */
static void take_over(struct dec_guard *g, uint64_t start, uint64_t size, uint64_t old,
		      uint64_t old_size)
{
	uint64_t kept = (old_size < size ? old_size : size) & ~7ull;

	for (uint64_t i = 0; i < kept && old != start; i += 8) {
		const uint64_t *known = shadow_of(g, old + i, false);
		uint64_t word = known ? *known : 0;

		if (i % PAGE == 0 && is_bare(g, old + i, kept - i) &&
		    is_bare(g, start + i, kept - i)) {
			i += PAGE - 8;
			continue;
		}
		if (word || word_tag(g, start + i, word_at(start + i)))
			put_word(g, start + i, word, word >> 32);
	}
	forget_words(g, start + kept, start + size);
}

static void born(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	struct dec_guard *g = e->guard;
	const struct guard_call *call = &g->call;
	uint64_t *root = call->hook.which == CAP_HEAP_REALLOC ?
				 map_get(&g->live, call->arg[0]) :
				 NULL;
	uint32_t old = root ? *root : 0, now;
	uint64_t old_size = g->nodes.data[old].size;

	if (!g->free_rows.size && g->nodes.size >= g->sweep_at)
		sweep(e);
	if (call->hook.which == CAP_HEAP_REALLOC)
		release(g, call->arg[0]);
	if (g->blank && addr)
		dec_blank_born(e, addr, size, old_size,
			       call->hook.which == CAP_HEAP_CALLOC);
	if (!addr)
		return;
	now = node_born(e, addr, size, call->returns);
	if (!now)
		return;
	if (old && addr == call->arg[0])
		g->nodes.data[old].next = now;
	take_over(g, addr, size, call->arg[0], old_size);
}

/* What did the call under way allocate? As heap_calls_report() of history/heap_calls.c. @return false: nothing. */
static bool find_made(const struct dec_engine *e, uint64_t *addr, uint64_t *size)
{
	const struct guard_call *call = &e->guard->call;
	const uint64_t *arg = call->arg;

	*addr = e->ctx->gpr[CAP_RAX];
	switch (call->hook.which) {
	case CAP_HEAP_MALLOC:
		*size = arg[0];
		return true;
	case CAP_HEAP_CALLOC:
		*size = arg[0] * arg[1];
		return true;
	case CAP_HEAP_REALLOC:
		*size = arg[1];
		return *addr || (arg[0] && !arg[1]);
	case CAP_HEAP_ALIGNED_ALLOC:
		*size = arg[1];
		return true;
	case CAP_HEAP_POSIX_MEMALIGN:
		*size = arg[2];
		if ((uint32_t)*addr)
			return false;
		*addr = word_at(arg[0]);
		return true;
	default:
		return false;
	}
}

/* malloc_usable_size() said that the block at @p addr has @p size bytes, which the program may use. */
static void widen_node(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	struct dec_guard *g = e->guard;
	uint64_t *root = map_get(&g->live, addr);
	struct guard_node *n = root ? &g->nodes.data[*root] : NULL;

	if (!addr || (n && size <= n->size))
		return;
	if (!n || dec_guard_has_parts(n->tag)) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return;
	}
	n->size = g->rows[*root].size = size;
}

static void leave_allocator(struct dec_engine *e)
{
	const struct guard_call *call = &e->guard->call;
	uint64_t rax = e->ctx->gpr[CAP_RAX], *root, addr, size;

	if (e->guard->blank)
		dec_blank_leave(e, call->hook.which == CAP_HEAP_POSIX_MEMALIGN ?
					   call->arg[0] :
					   0);
	if (find_made(e, &addr, &size))
		born(e, addr, size);
	if (call->hook.which == DEC_HOOK_USABLE)
		widen_node(e, call->arg[0], rax);
	for (int r = 0; r < DEC_GPRS; r++)
		e->ctx->tag[r] = e->ctx->gpr[r] == call->gpr[r] ? call->tag[r] : 0;
	e->ctx->vec_tags = call->vec_tags; // as the log has it, whatever they hold
	root = map_get(&e->guard->live, rax);
	e->ctx->tag[CAP_RAX] = root ? e->guard->nodes.data[*root].tag : 0;
}

static void leave_call(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	struct dec_hook h = g->call.hook;
	uint64_t addr, size;

	if (h.kind == DEC_HOOK_ALLOCATOR && find_made(e, &addr, &size) && addr &&
	    !dec_guard_parts_known(e, g->call.returns, size))
		return;
	g->call.is_open = false;
	if (h.kind == DEC_HOOK_ALLOCATOR) {
		leave_allocator(e);
		show_spans(e);
		return;
	}
	h.rip = e->ctx->gpr[CAP_RAX];
	h.is_resolver = false;
	if (dec_guard_hook(e, &h))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
}

bool dec_guard_at_stop(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	uint64_t rip = e->ctx->rip;
	uint64_t *h = map_get(&g->hooks, rip);

	if (g->doubt)
		return false;
	if (g->call.is_open && rip == g->call.returns &&
	    e->ctx->gpr[CAP_RSP] > g->call.rsp)
		leave_call(e);
	if (g->family.family && rip == g->family.returns)
		leave_family(e);
	if (h && (g->hook.data[*h - 1].kind == DEC_HOOK_ALLOCATOR ||
		  g->hook.data[*h - 1].is_resolver)) {
		const struct dec_hook hook = g->hook.data[*h - 1];

		enter_call(e, &hook);
	}
	if (h && g->hook.data[*h - 1].kind == DEC_HOOK_FAMILY && !g->call.is_open)
		enter_family(e, &g->hook.data[*h - 1]);
	return !g->doubt;
}

/* ---- system calls ------------------------------------------------------------------------------- */

void dec_guard_answered(struct dec_engine *e, uint64_t number)
{
	struct dec_guard *g = e->guard;
	int64_t ret = e->ctx->gpr[CAP_RAX];
	uint32_t tag = e->ctx->tag[CAP_RSI];

	if (g->blank)
		dec_blank_answered(e, number);
	if (number == SYS_rt_sigreturn)
		return;
	e->ctx->tag[CAP_RAX] = e->ctx->tag[CAP_RCX] = e->ctx->tag[CAP_R11] = 0;
	if (number == SYS_execve || number == SYS_execveat)
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
	if (ret == -EBADF || ret == -EFAULT)
		dec_guard_doubt(e, DEC_DOUBT_CALL, e->ctx->rip);
	if (ret > 0 &&
	    (number == SYS_write || number == SYS_pwrite64 || number == SYS_sendto) &&
	    !may_use(g, tag, e->ctx->gpr[CAP_RSI], ret))
		dec_guard_doubt(e, DEC_DOUBT_CALL, e->ctx->rip);
}

void dec_guard_written(struct dec_engine *e, uint64_t addr, uint64_t n, int64_t ret)
{
	static const int reg[3] = { CAP_RDI, CAP_RSI, CAP_RDX };
	const struct dec_ctx *c = e->ctx;

	if (e->guard->blank)
		dec_blank_written(e, addr, n);
	for (int i = 0; i < 3; i++)
		if (c->gpr[reg[i]] == addr && ret > 0 &&
		    !may_use(e->guard, c->tag[reg[i]], addr,
			     n < (uint64_t)ret ? n : (uint64_t)ret))
			dec_guard_doubt(e, DEC_DOUBT_CALL, c->rip);
}
