// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/inputs/label.h"

#include <string.h>

static struct label_last *last_of(struct labels *l, uint64_t number)
{
	return &l->last[number % LABEL_LAST];
}

struct label_page *fl_labels_page(struct labels *l, uint64_t addr)
{
	uint64_t number = addr / LABEL_PAGE;
	struct label_page *last = fl_labels_last(l, addr);
	const uint64_t *at;

	if (last)
		return last;
	if (!l->hint[number & 0xffff])
		return NULL;
	at = map_get(&l->pages, number);
	if (!at)
		return NULL;
	last = (struct label_page *)*at;
	*last_of(l, number) = (struct label_last){ number * LABEL_PAGE, last };
	return last;
}

struct err *fl_labels_make(struct labels *l, uint64_t addr, struct label_page **ret)
{
	uint64_t number = addr / LABEL_PAGE;
	struct label_page *p = fl_labels_page(l, addr);

	if (!p) {
		if (l->unused.size)
			p = l->unused.data[--l->unused.size];
		else
			p = calloc(1, sizeof(*p) + l->has_nodes * LABEL_PAGE *
							   sizeof(*p->node));
		if (!p || map_put(&l->pages, number, (uint64_t)p)) {
			free(p);
			return &err_nomem;
		}
		p->addr = number * LABEL_PAGE;
		*last_of(l, number) = (struct label_last){ p->addr, p };
		// Counts stay at what a byte holds: then a page is looked up in vain, at worst.
		if (l->hint[number & 0xffff] < 255)
			l->hint[number & 0xffff]++;
	}
	*ret = p;
	return NULL;
}

/* ---- bytes ------------------------------------------------------------------------------------- */

static inline label_word word_at(const struct labels *l, const struct label_page *p,
				 uint64_t addr)
{
	label_word unit = p->unit[addr % LABEL_PAGE / LABEL_UNIT];

	return unit & LABEL_SPLIT ? l->splits.data[(uint32_t)unit].at[addr % LABEL_UNIT] :
				    unit;
}

static struct label label_at(const struct labels *l, const struct label_page *p,
			     uint64_t addr)
{
	struct label label = label_of_word(word_at(l, p, addr));

	label.node = l->has_nodes ? p->node[addr % LABEL_PAGE] : 0;
	return label;
}

struct label fl_labels_get(struct labels *l, uint64_t addr)
{
	struct label_page *p = fl_labels_page(l, addr);

	return p ? label_at(l, p, addr) : (struct label){};
}

/* Let the bytes of @p unit, which are all alike, differ. @return false: no memory. */
static bool split(struct labels *l, label_word *unit)
{
	uint32_t number = l->splits.size;

	if (l->free_splits.size)
		number = l->free_splits.data[--l->free_splits.size];
	else if (!vec_push(&l->splits))
		return false;
	for (int i = 0; i < LABEL_UNIT; i++)
		l->splits.data[number].at[i] = *unit;
	*unit = LABEL_SPLIT | number;
	return true;
}

/* Split number @p number is used no more; without memory to know that, it is lost. */
static void give_back(struct labels *l, uint32_t number)
{
	err_destroy(vec_add(&l->free_splits, number));
}

static void set(struct labels *l, struct label_page *p, uint64_t addr, label_word word)
{
	label_word *unit = &p->unit[addr % LABEL_PAGE / LABEL_UNIT], was, *at;

	was = word_at(l, p, addr);
	if (was == word)
		return;
	if (!(*unit & LABEL_SPLIT) && !split(l, unit)) {
		l->has_failed = true;
		return;
	}
	p->n += !was - !word;
	l->n += !was - !word;
	at = l->splits.data[(uint32_t)*unit].at;
	at[addr % LABEL_UNIT] = word;
	for (int i = 0; i < LABEL_UNIT; i++)
		if (at[i] != word)
			return;
	give_back(l, *unit);
	*unit = word;
}

void fl_labels_put(struct labels *l, struct label_page *p, uint64_t addr,
		   const struct label *label)
{
	set(l, p, addr, label_word_of(label));
	if (l->has_nodes)
		p->node[addr % LABEL_PAGE] = label->node;
}

void fl_labels_drop(struct labels *l, struct label_page *p)
{
	uint64_t number = p->addr / LABEL_PAGE;

	map_remove(&l->pages, number);
	*last_of(l, number) = (struct label_last){};
	if (l->hint[number & 0xffff] < 255)
		l->hint[number & 0xffff]--;
	// Its labels are zeros; without memory to keep it, it goes.
	if (vec_add(&l->unused, p))
		free(p);
}

struct label fl_labels_take(struct labels *l, uint64_t addr)
{
	struct label_page *p = fl_labels_page(l, addr);
	struct label was = {};

	if (!p)
		return was;
	was = label_at(l, p, addr);
	if (!was.ways)
		return was;
	set(l, p, addr, 0);
	if (!p->n)
		fl_labels_drop(l, p);
	return was;
}

/* ---- several of a page --------------------------------------------------------------------------- */

bool fl_labels_copy(struct labels *l, uint64_t addr, uint32_t n, label_word *ret)
{
	label_word differs = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct label_page *p = fl_labels_page(l, addr + i);

		ret[i] = p ? word_at(l, p, addr + i) : 0;
		differs |= ret[i] ^ *ret;
	}
	return !differs;
}

/* @return the bytes of the unit that begins at @p addr, if all of it is among the next @p n and not split; else
 * 0. */
static uint32_t is_whole(const struct label_page *p, uint64_t addr, uint32_t n)
{
	return addr % LABEL_UNIT || n < LABEL_UNIT ||
			       p->unit[addr % LABEL_PAGE / LABEL_UNIT] & LABEL_SPLIT ?
		       0 :
		       LABEL_UNIT;
}

void fl_labels_clear(struct labels *l, struct label_page *p, uint64_t addr, uint32_t n)
{
	for (uint32_t i = 0, size; i < n; i += size ?: 1) {
		label_word *unit = &p->unit[(addr + i) % LABEL_PAGE / LABEL_UNIT];

		size = is_whole(p, addr + i, n - i);
		if (!size) {
			set(l, p, addr + i, 0);
			continue;
		}
		p->n -= *unit ? size : 0;
		l->n -= *unit ? size : 0;
		*unit = 0;
	}
	if (!p->n)
		fl_labels_drop(l, p);
}

struct err *fl_labels_join(struct labels *l, uint64_t addr, uint32_t n, label_word word)
{
	struct label_page *p;
	struct err *err = fl_labels_make(l, addr, &p);

	for (uint32_t i = 0, size; i < n && !err; i += size ?: 1) {
		label_word *unit = &p->unit[(addr + i) % LABEL_PAGE / LABEL_UNIT];

		size = is_whole(p, addr + i, n - i);
		if (!size) {
			set(l, p, addr + i, label_join(word_at(l, p, addr + i), word));
			continue;
		}
		p->n += *unit ? 0 : size;
		l->n += *unit ? 0 : size;
		*unit = label_join(*unit, word);
	}
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------------- */

void fl_labels_deinit(struct labels *l)
{
	for (size_t i = 0; i < l->pages.capacity; i++)
		if (l->pages.slots[i].key != MAP_EMPTY_KEY)
			free((void *)l->pages.slots[i].value);
	for (size_t i = 0; i < l->unused.size; i++)
		free(l->unused.data[i]);
	vec_deinit(&l->unused);
	vec_deinit(&l->splits);
	vec_deinit(&l->free_splits);
	map_deinit(&l->pages);
}
