// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Which words of memory and of registers are pointers, and to which nodes: what the guard keeps of them.
 */

#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "decode/translator/guard_int.h"

enum { LOW_TRIES = 16, SPAN_STEP = 1 << 20 };

/* ---- where nodes begin --------------------------------------------------------------------------- */

uint32_t dec_guard_find_close(const struct dec_guard *g, uint64_t start)
{
	const uint64_t *n = map_get(&g->close, start);

	return n ? *n : 0;
}

/* Node @p n, whose row is set, lives: instead of another that began there. @return false: there is no memory for that. */
static bool live_put(struct dec_guard *g, uint32_t n)
{
	uint64_t start = g->rows[n].start;
	uint32_t *slot;

	g->n_live += !guard_live_at(g, start);
	map_remove(&g->close, start);
	if (!dec_guard_shadow(g, start, true))
		return false;
	slot = guard_live_slot(g, start);
	if (*slot && g->rows[*slot].start != start)
		return !map_put(&g->close, start, n);
	*slot = n;
	return true;
}

static void live_remove(struct dec_guard *g, uint32_t n)
{
	uint64_t start = g->nodes.data[n].start;
	uint32_t *slot = guard_live_slot(g, start);

	if (*slot == n)
		*slot = 0;
	else if (!g->close.size || !map_remove(&g->close, start))
		return;
	g->n_live--;
}

/* ---- words -------------------------------------------------------------------------------------- */

/* Where neither programs nor their libraries are. A word and its shadow are not at the same place of a page: processors
 * take addresses for the same that are alike there. */
#define REGIONS_START (UINT64_C(1) << 44)
#define REGIONS_ROOM (UINT64_C(1) << 46)
#define REGION_SKEW 0x540
#define REGION_BYTES (GUARD_REGION + GUARD_PAGE) // of words
#define REGION_ROOM (GUARD_LIVE_AT + GUARD_REGION / 4 + GUARD_PAGE)

static bool add_region(struct dec_guard *g, uint64_t number)
{
	for (int i = 0; i < LOW_TRIES; i++) {
		uint64_t at = REGIONS_START + dec_engine_random() % REGIONS_ROOM /
						      GUARD_REGION * GUARD_REGION;
		void *p = mmap((void *)at, REGION_ROOM, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				       MAP_FIXED_NOREPLACE,
			       -1, 0);

		if (p == (void *)at && !vec_add(&g->with_shadow, number)) {
			g->regions[number] = at + REGION_SKEW;
			return true;
		}
		if (p != MAP_FAILED)
			munmap(p, REGION_ROOM);
	}
	g->doubt = DEC_DOUBT_BEYOND;
	return false;
}

/* @return the shadow of the word at @p addr; NULL: there is none, nor is it @p is_made. */
uint64_t *dec_guard_shadow(struct dec_guard *g, uint64_t addr, bool is_made)
{
	uint64_t number = addr / GUARD_REGION;

	if (number >= GUARD_REGIONS ||
	    (!g->regions[number] && (!is_made || !add_region(g, number))))
		return NULL;
	return (uint64_t *)g->regions[number] + addr % GUARD_REGION / 8;
}

void dec_guard_put_word(struct dec_guard *g, uint64_t addr, uint64_t value, uint32_t tag)
{
	uint64_t *word = addr % 8 ? NULL : dec_guard_shadow(g, addr, tag != 0);
	uint64_t now = tag ? (uint64_t)tag << 32 | (uint32_t)value : 0;

	if (word && *word != now)
		*word = now;
}

uint32_t dec_guard_word_tag(struct dec_guard *g, uint64_t addr, uint64_t value)
{
	const uint64_t *word = addr % 8 ? NULL : dec_guard_shadow(g, addr, false);

	return word && (uint32_t)*word == (uint32_t)value ? *word >> 32 : 0;
}

bool dec_guard_copy_words(struct dec_guard *g, uint64_t to, uint64_t from, uint64_t n,
			  bool is_made)
{
	for (uint64_t k = 0; k + 8 <= n && to % 8 == 0; k += 8) {
		const uint64_t *word = from % 8 ? NULL :
						  dec_guard_shadow(g, from + k, false);
		uint64_t now = word && *word >> 32 ? *word : 0;
		uint64_t *at = dec_guard_shadow(g, to + k, is_made && now);

		if (now && !at)
			return false;
		if (at && *at != now)
			*at = now;
	}
	return true;
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
	word = dec_guard_shadow(g, addr, true);
	if (word && !map_put(&g->none, value, 1) &&
	    !map_put(&g->none_pages, addr / GUARD_PAGE, 1))
		*word = (uint32_t)value;
}

/* A node begins at @p start, that words have as no pointer: they are asked about again. */
static void forget_none(struct dec_guard *g, uint64_t start)
{
	map_remove(&g->none, start);
	g->n_reborn += g->n_reborn < REBORN_MAX;
	for (size_t i = 0; i < g->none_pages.capacity; i++) {
		uint64_t page = g->none_pages.slots[i].key;
		uint64_t *words = page == MAP_EMPTY_KEY ?
					  NULL :
					  dec_guard_shadow(g, page * GUARD_PAGE, false);

		for (size_t k = 0; words && k < GUARD_PAGE / 8; k++)
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
uint32_t dec_guard_recall(struct dec_guard *g, uint64_t addr, uint64_t value)
{
	uint32_t tag = dec_guard_word_tag(g, addr, value);

	if (tag)
		return tag;
	tag = g->nodes.data[guard_live_at(g, value)].tag;
	*root_of(g, value) = (struct guard_root){ value, tag };
	if (!tag)
		keep_none(g, addr, value);
	return tag;
}

/* Much is given back to the kernel, most of which was never there. */
static void clear(uint64_t *words, uint64_t size)
{
	uint64_t from = ((uint64_t)words + GUARD_PAGE - 1) & ~(GUARD_PAGE - 1);
	uint64_t to = ((uint64_t)words + size) & ~(GUARD_PAGE - 1);

	if (to < from + 4 * GUARD_PAGE ||
	    madvise((void *)from, to - from, MADV_DONTNEED)) {
		guard_fill(words, 0, size);
		return;
	}
	memset(words, 0, from - (uint64_t)words);
	memset((void *)to, 0, (uint64_t)words + size - to);
}

void dec_guard_forget_words(struct dec_guard *g, uint64_t start, uint64_t end)
{
	for (uint64_t at = start & ~7ull, next; at < end; at = next) {
		uint64_t *words = dec_guard_shadow(g, at, false), size;

		next = (at / GUARD_REGION + 1) * GUARD_REGION;
		next = next < end ? next : end;
		size = (next - at + 7) & ~7ull;
		if (words)
			clear(words, size);
	}
}

/* ---- nodes ------------------------------------------------------------------------------------- */

/* Where emitted code looks for pointers: nowhere while the allocator is at work. */
void dec_guard_show_spans(struct dec_engine *e)
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
	if (!is_at_work && (low_end || high_end))
		e->ctx->heap_span = (high_end > low_end ? high_end : low_end) - start;
}

/* A heap grows: ahead, not with each block. */
static void widen(uint64_t *low, uint64_t *span, uint64_t start, uint64_t end)
{
	uint64_t high = *low + *span;

	end = (end / SPAN_STEP + 1) * SPAN_STEP;

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

static void mark_tags(struct dec_guard *g, const uint32_t *tag, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mark(g, guard_node_of(g, tag[i]) - g->nodes.data);
}

static void mark_thread(struct dec_guard *g, const struct guard_thread *t)
{
	mark_tags(g, t->tag, 16);
	mark_tags(g, t->lanes[0], 32 * 8);
	mark_tags(g, t->call.tag, 16);
}

/* Words [at, end). */
static void mark_words(struct dec_guard *g, const uint64_t *at, const uint64_t *end)
{
	for (; at < end; at++) {
		while (at + 4 < end && !((at[0] | at[1] | at[2] | at[3]) >> 32))
			at += 4;
		if (*at >> 32)
			mark_tags(g, &(uint32_t){ *at >> 32 }, 1);
	}
}

/* Of a region with shadow @p words: most of its pages were never touched. @return how many words were looked at. */
static uint64_t mark_region(struct dec_guard *g, const uint64_t *words)
{
	enum { PAGES = REGION_BYTES / GUARD_PAGE, EIGHT = 8 };
	static unsigned char is_there[PAGES + EIGHT];
	const uint64_t *start = (const uint64_t *)((const char *)words - REGION_SKEW);
	const uint64_t *end = words + GUARD_REGION / 8;
	uint64_t n = 0;

	if (!pages_there(start, PAGES, is_there))
		memset(is_there, 1, PAGES);
	for (uint32_t p = 0; p < PAGES; p++) {
		const uint64_t *at = start + p * GUARD_PAGE / 8;
		const uint64_t *next = at + GUARD_PAGE / 8;

		if (!(guard_word_at((uint64_t)&is_there[p]) & 0x0101010101010101u)) {
			p += EIGHT - 1;
			continue;
		}
		if (!(is_there[p] & 1))
			continue;
		at = at > words ? at : words;
		next = next < end ? next : end;
		mark_words(g, at, next);
		n += next - at;
	}
	return n;
}

/* All that is left of a run's pointers to what is gone. @return as mark_region(). */
static uint64_t mark_pointers(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	uint64_t n = 0;

	mark_tags(g, e->ctx->tag, 16);
	mark_tags(g, g->lanes[0], 32 * 8);
	mark_tags(g, g->call.tag, 16);
	for (size_t i = 0; i < g->threads.size; i++)
		mark_thread(g, &g->threads.data[i]);
	for (size_t i = 0; i < g->handlers.size; i++)
		mark_thread(g, &g->handlers.data[i].was);
	for (size_t i = 0; i < g->with_shadow.size; i++)
		n += mark_region(g, (const uint64_t *)g->regions[g->with_shadow.data[i]]);
	return n;
}

/* Are @p n_free of @p n rows so few that the next look is worth while only when there are more? */
static bool are_few(uint32_t n, uint32_t n_free)
{
	return n_free <= n / 3;
}

/* Of @p n rows, @p n_free are free now, and were found by a look at @p n_words. From how many on is it worth a look again, when
 * none is left? Not each time that few were allocated. */
static uint32_t sweep_from(uint32_t n, uint32_t n_free, uint64_t n_words, uint32_t before)
{
	uint64_t at = before;

	if (are_few(n, n_free) && n + n / 2 > at)
		at = n + n / 2;
	at = n_words / 16 > at ? n_words / 16 : at;
	return at < UINT32_MAX ? at : UINT32_MAX;
}

void dec_guard_sweep(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	struct err *err = NULL;
	uint32_t n_gone = g->nodes.size - g->n_live;
	uint64_t n_words;

	// All pointers need not be looked at for that.
	if (are_few(g->nodes.size, n_gone) && are_few(g->n_parts_rows, g->n_parts_gone)) {
		g->sweep_at = sweep_from(g->nodes.size, n_gone, 0, g->sweep_at);
		g->sweep_parts_at = sweep_from(g->n_parts_rows, g->n_parts_gone, 0,
					       g->sweep_parts_at);
		return;
	}
	g->marks = calloc(g->nodes.size / 64 + 1, 8);
	if (!g->marks)
		return;
	n_words = mark_pointers(e);
	g->free_rows.size = 0;
	for (uint32_t n = 1; n < g->nodes.size && !err; n++) {
		if (g->nodes.data[n].is_live || is_marked(g, n))
			continue;
		if (dec_guard_has_parts(g->nodes.data[n].tag))
			err = dec_guard_parts_free(g, &g->nodes.data[n]);
		if (!err)
			err = vec_add(&g->free_rows, n);
	}
	free(take_ptr(&g->marks));
	if (err || dec_guard_parts_forget(g))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
	g->sweep_at = sweep_from(g->nodes.size, g->free_rows.size, n_words, g->sweep_at);
	g->sweep_parts_at = sweep_from(g->n_parts_rows, g->free_parts.size, n_words,
				       g->sweep_parts_at);
}

/* Is there room for the row of node @p n? */
static bool has_row(uint32_t n)
{
	return GUARD_ROWS_AT + (n + 1ull) * sizeof(struct guard_row) <= GUARD_PARTS_AT;
}

/* Node @p n begins, which has no row yet. */
static inline void begin(struct dec_engine *e, uint32_t n, uint64_t start, uint64_t size,
			 uint64_t site)
{
	struct dec_guard *g = e->guard;

	g->nodes.data[n] = (struct guard_node){ .start = start,
						.size = size,
						.site = site,
						.is_live = true,
						.family = g->call.family };
	g->rows[n] = (struct guard_row){ start, size };
	g->starts[start / 16 % GUARD_STARTS / 32] |= 1u << start / 16 % 32;
	forget_root(g, start);
}

/* .. and has a tag. */
static uint32_t give_tag(struct dec_engine *e, uint32_t n)
{
	struct dec_guard *g = e->guard;
	uint32_t tag = g->call.class ? dec_guard_parts_born(e, n) : 0;

	return g->nodes.data[n].tag = tag ?: n * sizeof(*g->rows);
}

/* May pointers to [start, end) be, by what emitted code was told? */
static bool is_in_spans(const struct dec_guard *g, uint64_t start, uint64_t end)
{
	uint64_t from = start - GUARD_REACH, to = end + GUARD_REACH;

	return start >= GUARD_HIGH ? from - g->high_low <= g->high_span &&
					     to - g->high_low <= g->high_span :
				     from - g->low <= g->span && to - g->low <= g->span;
}

uint32_t dec_guard_node_quick(struct dec_engine *e, uint64_t start, uint64_t size)
{
	struct dec_guard *g = e->guard;
	uint32_t *slot = guard_live_slot(g, start), n;
	uint64_t at = start % GUARD_REGION / 8, n_words = (start % 8 + size + 7) / 8;

	if (!slot || *slot || g->close.size || at + n_words > GUARD_REGION / 8 ||
	    !is_in_spans(g, start, start + size) ||
	    (g->call.class && guard_is_parts_sweep_due(g)) ||
	    (g->none.size && map_get(&g->none, start)))
		return 0;
	if (g->free_rows.size)
		n = g->free_rows.data[--g->free_rows.size];
	else if (g->nodes.size < g->sweep_at && g->nodes.size < g->nodes.capacity &&
		 has_row(g->nodes.size))
		n = g->nodes.size++;
	else
		return 0;
	*slot = n;
	g->n_live++;
	begin(e, n, start, size, g->call.returns);
	guard_fill((uint64_t *)g->regions[start / GUARD_REGION] + at, 0, 8 * n_words);
	return give_tag(e, n);
}

/* @return its number; 0: in doubt. */
uint32_t dec_guard_node_born(struct dec_engine *e, uint64_t start, uint64_t size,
			     uint64_t site)
{
	struct dec_guard *g = e->guard;
	bool is_new = !g->free_rows.size;
	uint32_t n = is_new ? g->nodes.size : g->free_rows.data[--g->free_rows.size];

	if (start <= UINT32_MAX && !g->has_low) {
		g->has_low = true; // from here on 32 bits may be a pointer
		dec_engine_flush(e);
	}
	if (!has_row(n) || (is_new && !vec_push(&g->nodes))) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return 0;
	}
	begin(e, n, start, size, site);
	if (!live_put(g, n)) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return 0;
	}
	give_tag(e, n);
	if (map_get(&g->none, start))
		forget_none(g, start);
	if (start >= GUARD_HIGH) {
		widen(&g->high_low, &g->high_span, start - GUARD_REACH,
		      start + size + GUARD_REACH);
		if (!g->has_high)
			dec_engine_flush(e);
		g->has_high = true;
	} else {
		widen(&g->low, &g->span, start - GUARD_REACH, start + size + GUARD_REACH);
	}
	return n;
}

void dec_guard_node_died(struct dec_guard *g, uint32_t number)
{
	struct guard_node *n = &g->nodes.data[number];

	n->is_live = false;
	g->rows[number].size = 0;
	if (dec_guard_has_parts(n->tag))
		dec_guard_parts_died(g, n);
	live_remove(g, number);
	forget_root(g, n->start);
}

/* Did realloc leave it in its place, and what it made of it, too? */
bool dec_guard_has_stayed(struct dec_guard *g, struct guard_node *old)
{
	uint32_t last = old->next;

	while (g->nodes.data[last].next)
		last = g->nodes.data[last].next;
	old->next = last; // there may be many
	return g->nodes.data[last].is_live;
}

/* Is an access of @p size bytes right, by a pointer of @p tag? See hg_astray_check(). */
bool dec_guard_is_right(struct dec_guard *g, uint32_t tag, uint64_t addr, uint64_t size)
{
	struct guard_node *n = guard_node_of(g, tag);
	int64_t offset = addr - n->start;

	if (!tag || offset < -GUARD_REACH || offset > (int64_t)n->size + GUARD_REACH)
		return true;
	return n->is_live ? guard_is_inside(n, addr, size) : dec_guard_has_stayed(g, n);
}
