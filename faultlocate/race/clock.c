// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/race/clock.h"

#include <string.h>

void fl_clocks_deinit(struct clocks *c)
{
	for (size_t i = 0; i < c->threads.size; i++)
		vec_deinit(&c->threads.data[i]);
	for (size_t i = 0; i < c->objects.size; i++)
		vec_deinit(&c->objects.data[i]);
	vec_deinit(&c->threads);
	vec_deinit(&c->objects);
	map_deinit(&c->known);
}

static struct err *grow(clock_times *t, size_t n)
{
	while (t->size < n)
		if (!vec_push(t))
			return &err_nomem;
	return NULL;
}

struct err *fl_clocks_threads(struct clocks *c, size_t n)
{
	while (c->threads.size < n) {
		size_t t = c->threads.size;

		if (!vec_push(&c->threads) || grow(&c->threads.data[t], t + 1))
			return &err_nomem;
		c->threads.data[t].data[t] = 1;
	}
	return NULL;
}

static struct err *join(clock_times *to, const clock_times *from)
{
	struct err *err = grow(to, from->size);

	for (size_t i = 0; i < from->size && !err; i++)
		if (from->data[i] > to->data[i])
			to->data[i] = from->data[i];
	return err;
}

/* The object of @p key, made when there is none; NULL: no memory. */
static clock_times *object(struct clocks *c, uint64_t key)
{
	const uint64_t *at = map_get(&c->known, key);

	if (at)
		return &c->objects.data[*at - 1];
	if (!vec_push(&c->objects) || map_put(&c->known, key, c->objects.size))
		return NULL;
	return &c->objects.data[c->objects.size - 1];
}

struct err *fl_clocks_tell(struct clocks *c, size_t t, uint64_t key)
{
	clock_times *o = object(c, key);

	return o ? join(o, &c->threads.data[t]) : &err_nomem;
}

void fl_clocks_tick(struct clocks *c, size_t t)
{
	c->threads.data[t].data[t]++;
}

struct err *fl_clocks_release(struct clocks *c, size_t t, uint64_t key)
{
	struct err *err = fl_clocks_tell(c, t, key);

	if (!err)
		fl_clocks_tick(c, t);
	return err;
}

struct err *fl_clocks_acquire(struct clocks *c, size_t t, uint64_t key)
{
	const uint64_t *at = map_get(&c->known, key);

	return at ? join(&c->threads.data[t], &c->objects.data[*at - 1]) : NULL;
}

struct err *fl_clocks_order(struct clocks *c, size_t from, size_t t)
{
	struct err *err = join(&c->threads.data[t], &c->threads.data[from]);

	if (!err)
		fl_clocks_tick(c, from);
	return err;
}

struct err *fl_clocks_move(struct clocks *c, uint64_t from, uint64_t to)
{
	clock_times *a, *b = object(c, to);
	clock_times gone;

	a = b ? object(c, from) : NULL;
	if (!a)
		return &err_nomem;
	b = object(c, to); // the first may have moved
	gone = *b;
	*b = *a;
	*a = (clock_times){};
	vec_deinit(&gone);
	return NULL;
}
