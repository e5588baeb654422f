// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/inputs/label.h"

#include <string.h>

struct label_page *fl_labels_page(struct labels *l, uint64_t addr)
{
	uint64_t number = addr / LABEL_PAGE;
	const uint64_t *at;

	if (l->last && l->last->addr == number * LABEL_PAGE)
		return l->last;
	if (!l->hint[number & 0xffff])
		return NULL;
	at = map_get(&l->pages, number);
	if (at && *at)
		l->last = (struct label_page *)*at;
	return at && *at ? l->last : NULL;
}

struct err *fl_labels_make(struct labels *l, uint64_t addr, struct label **ret,
			   struct label_page **page)
{
	uint64_t number = addr / LABEL_PAGE;
	struct label_page *p = fl_labels_page(l, addr);

	if (!p) {
		if (l->unused.size)
			p = l->unused.data[--l->unused.size];
		else
			p = calloc(1, sizeof(*p));
		if (!p || map_put(&l->pages, number, (uint64_t)p)) {
			free(p);
			return &err_nomem;
		}
		p->addr = number * LABEL_PAGE;
		l->last = p;
		// Counts stay at what a byte holds: then a page is looked up in vain, at worst.
		if (l->hint[number & 0xffff] < 255)
			l->hint[number & 0xffff]++;
	}
	*ret = &p->at[addr % LABEL_PAGE];
	*page = p;
	return NULL;
}

struct label fl_labels_take(struct labels *l, uint64_t addr)
{
	struct label_page *p = fl_labels_page(l, addr);
	struct label was = {};

	if (!p)
		return was;
	was = p->at[addr % LABEL_PAGE];
	if (!was.ways)
		return was;
	p->at[addr % LABEL_PAGE] = (struct label){};
	l->n--;
	if (--p->n)
		return was;
	map_remove(&l->pages, addr / LABEL_PAGE);
	l->last = NULL;
	if (l->hint[addr / LABEL_PAGE & 0xffff] < 255)
		l->hint[addr / LABEL_PAGE & 0xffff]--;
	// Its labels are zeros; without memory to keep it, it goes.
	if (vec_add(&l->unused, p))
		free(p);
	return was;
}

void fl_labels_deinit(struct labels *l)
{
	for (size_t i = 0; i < l->pages.capacity; i++)
		if (l->pages.slots[i].key != MAP_EMPTY_KEY)
			free((void *)l->pages.slots[i].value);
	for (size_t i = 0; i < l->unused.size; i++)
		free(l->unused.data[i]);
	vec_deinit(&l->unused);
	map_deinit(&l->pages);
}
