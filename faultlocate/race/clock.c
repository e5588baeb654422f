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
	vec_deinit(&c->accessed);
	vec_deinit(&c->ended);
	vec_deinit(&c->objects);
	vec_deinit(&c->free);
	map_deinit(&c->known);
}

static struct err *grow(clock_times *t, size_t n)
{
	while (t->size < n)
		if (!vec_push(t))
			return &err_nomem;
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

	size_t i;

	if (at)
		return &c->objects.data[*at - 1];
	if (!c->free.size &&
	    (!vec_push(&c->objects) || vec_add(&c->free, c->objects.size - 1)))
		return NULL;
	i = c->free.data[c->free.size - 1];
	if (map_put(&c->known, key, i + 1))
		return NULL;
	c->free.size--;
	return &c->objects.data[i];
}

void fl_clocks_forget(struct clocks *c, uint64_t key)
{
	const uint64_t *at = map_get(&c->known, key);

	if (!at || vec_add(&c->free, *at - 1)) // where there is no room it is kept
		return;
	vec_deinit(&c->objects.data[*at - 1]);
	map_remove(&c->known, key);
}

/* The clock of one that has ended, for who is behind @p o; *@p time is when that was. SIZE_MAX: there is none. */
static size_t take_ended(struct clocks *c, const clock_times *o, uint32_t *time)
{
	const struct clock_end *end =
		o ? vec_find(&c->ended, e,
			     c->accessed.data[e->thread] <= clock_at(o, e->thread)) :
		    NULL;
	struct clock_end ret;
	size_t i;

	if (!end && c->ended.size < CLOCKS_ENDED)
		return SIZE_MAX;
	i = end ? end - c->ended.data : 0;
	ret = c->ended.data[i];
	memmove(&c->ended.data[i], &c->ended.data[i + 1],
		(--c->ended.size - i) * sizeof(ret));
	*time = ret.time;
	return ret.thread;
}

size_t fl_clocks_begin(struct clocks *c, uint64_t key)
{
	const uint64_t *at = map_get(&c->known, key);
	uint32_t time = 0;
	size_t t = take_ended(c, at ? &c->objects.data[*at - 1] : NULL, &time);

	if (t == SIZE_MAX) {
		t = c->threads.size;
		if (!vec_push(&c->threads) || vec_add(&c->accessed, 0))
			return SIZE_MAX;
	}
	if (grow(&c->threads.data[t], t + 1))
		return SIZE_MAX;
	c->threads.data[t].data[t] = time + 1;
	return at && fl_clocks_acquire(c, t, key) ? SIZE_MAX : t;
}

struct err *fl_clocks_end(struct clocks *c, size_t t, uint64_t key)
{
	struct clock_end end = { t, clocks_now(c, t) };
	clock_times *o = object(c, key);

	if (!o || vec_add(&c->ended, end))
		return &err_nomem;
	vec_deinit(o);
	*o = c->threads.data[t];
	c->threads.data[t] = (clock_times){};
	if (grow(&c->threads.data[t], t + 1))
		return &err_nomem;
	c->threads.data[t].data[t] = end.time;
	return NULL;
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
