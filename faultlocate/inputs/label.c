// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/inputs/label.h"

#include <string.h>

static struct label_page **last_of(struct labels *l, uint64_t number)
{
	return &l->last[number % LABEL_LAST];
}

struct label_page *fl_labels_page(struct labels *l, uint64_t addr)
{
	uint64_t number = addr / LABEL_PAGE;
	struct label_page **last = last_of(l, number);
	const uint64_t *at;

	if (*last && (*last)->addr == number * LABEL_PAGE)
		return *last;
	if (!l->hint[number & 0xffff])
		return NULL;
	at = map_get(&l->pages, number);
	if (!at)
		return NULL;
	*last = (struct label_page *)*at;
	return *last;
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
		*last_of(l, number) = p;
		// Counts stay at what a byte holds: then a page is looked up in vain, at worst.
		if (l->hint[number & 0xffff] < 255)
			l->hint[number & 0xffff]++;
	}
	*ret = p;
	return NULL;
}

static struct label label_at(const struct labels *l, const struct label_page *p,
			     uint64_t addr)
{
	struct label label = label_of_word(p->at[addr % LABEL_PAGE]);

	label.node = l->has_nodes ? p->node[addr % LABEL_PAGE] : 0;
	return label;
}

struct label fl_labels_get(struct labels *l, uint64_t addr)
{
	struct label_page *p = fl_labels_page(l, addr);

	return p ? label_at(l, p, addr) : (struct label){};
}

void fl_labels_put(struct labels *l, struct label_page *p, uint64_t addr,
		   const struct label *label)
{
	label_word *at = &p->at[addr % LABEL_PAGE];

	p->n += !*at;
	l->n += !*at;
	*at = label_word_of(label);
	if (l->has_nodes)
		p->node[addr % LABEL_PAGE] = label->node;
}

void fl_labels_drop(struct labels *l, struct label_page *p)
{
	uint64_t number = p->addr / LABEL_PAGE;

	map_remove(&l->pages, number);
	*last_of(l, number) = NULL;
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
	p->at[addr % LABEL_PAGE] = 0;
	l->n--;
	if (!--p->n)
		fl_labels_drop(l, p);
	return was;
}

struct err *fl_labels_join(struct labels *l, uint64_t addr, uint32_t n, label_word word)
{
	struct label_page *p;
	struct err *err = fl_labels_make(l, addr, &p);
	label_word *at;
	uint32_t fresh = 0;

	if (err)
		return err;
	at = &p->at[addr % LABEL_PAGE];
	for (uint32_t i = 0; i < n; i++)
		fresh += !at[i];
	for (uint32_t i = 0; i < n; i++)
		at[i] = fresh == n ? word : label_join(at[i], word);
	p->n += fresh;
	l->n += fresh;
	return NULL;
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
