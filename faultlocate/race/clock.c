// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/race/clock.h"

#include <string.h>

void fl_clocks_deinit(struct clocks *c)
{
	for (size_t i = 0; i < c->threads.size; i++)
		vec_deinit(&c->threads.data[i].times);
	for (size_t i = 0; i < c->objects.size; i++)
		vec_deinit(&c->objects.data[i].times);
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

/* @p has_changed is set if anything has. */
static struct err *join(struct clocks *c, clock_times *to, const clock_times *from,
			bool *has_changed)
{
	struct err *err = grow(to, from->size);

	for (size_t i = 0; i < from->size && !err; i++) {
		if (from->data[i] <= to->data[i])
			continue;
		to->data[i] = from->data[i];
		*has_changed = true;
	}
	c->n_joined += from->size;
	return err;
}

/* Thread @p t is behind what has @p from. */
static struct err *learn(struct clocks *c, struct clock_thread *t,
			 const clock_times *from)
{
	bool has_changed = false;
	struct err *err = join(c, &t->times, from, &has_changed);

	if (has_changed)
		t->changed = ++c->n_steps;
	return err;
}

/* The object of @p key, made when there is none; NULL: no memory. */
static struct clock_object *object(struct clocks *c, uint64_t key)
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
	vec_deinit(&c->objects.data[*at - 1].times);
	c->objects.data[*at - 1] = (struct clock_object){};
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
	size_t t = take_ended(c, at ? &c->objects.data[*at - 1].times : NULL, &time);

	if (t == SIZE_MAX) {
		t = c->threads.size;
		if (!vec_push(&c->threads) || vec_add(&c->accessed, 0))
			return SIZE_MAX;
	}
	c->threads.data[t].id = c->threads.data[t].changed = ++c->n_steps;
	if (grow(&c->threads.data[t].times, t + 1))
		return SIZE_MAX;
	c->threads.data[t].times.data[t] = time + 1;
	return at && fl_clocks_acquire(c, t, key) ? SIZE_MAX : t;
}

struct err *fl_clocks_end(struct clocks *c, size_t t, uint64_t key)
{
	struct clock_end end = { t, clocks_now(c, t) };
	struct clock_object *o = object(c, key);
	clock_times *times = &c->threads.data[t].times;

	if (!o || vec_add(&c->ended, end))
		return &err_nomem;
	vec_deinit(&o->times);
	*o = (struct clock_object){ .times = *times };
	*times = (clock_times){};
	c->threads.data[t].id = 0;
	if (grow(times, t + 1))
		return &err_nomem;
	times->data[t] = end.time;
	return NULL;
}

struct err *fl_clocks_tell(struct clocks *c, size_t t, uint64_t key)
{
	const struct clock_thread *from = &c->threads.data[t];
	struct clock_object *o = object(c, key);
	bool has_changed = false;
	struct err *err;

	if (!o)
		return &err_nomem;
	if (o->known_to != from->id)
		o->known_to = 0;
	if (from->id && o->has == from->id && o->has_at >= from->changed) {
		o->times.data[t] = clocks_now(c, t);
		return NULL;
	}
	err = join(c, &o->times, &from->times, &has_changed);
	o->has = err ? 0 : from->id;
	o->has_at = c->n_steps;
	return err;
}

void fl_clocks_tick(struct clocks *c, size_t t)
{
	c->threads.data[t].times.data[t]++;
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
	struct clock_thread *to = &c->threads.data[t];
	struct clock_object *o = at ? &c->objects.data[*at - 1] : NULL;
	struct err *err;

	if (!o || (to->id && o->known_to == to->id))
		return NULL;
	err = learn(c, to, &o->times);
	o->known_to = err ? 0 : to->id;
	return err;
}

struct err *fl_clocks_order(struct clocks *c, size_t from, size_t t)
{
	struct err *err = learn(c, &c->threads.data[t], &c->threads.data[from].times);

	if (!err)
		fl_clocks_tick(c, from);
	return err;
}

struct err *fl_clocks_move(struct clocks *c, uint64_t from, uint64_t to)
{
	struct clock_object *a, *b = object(c, to);

	a = b ? object(c, from) : NULL;
	if (!a)
		return &err_nomem;
	b = object(c, to); // the first may have moved
	vec_deinit(&b->times);
	*b = *a;
	*a = (struct clock_object){};
	return NULL;
}
