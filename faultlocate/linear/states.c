// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * States, and what each operation makes of them. Rows are: of a register, a counter, an element of
 * a set, a key of a map one number; of a queue its values, the oldest first; of a stack the last
 * one behind; of a priority queue in order; of a mutex who holds it.
 */
#include <string.h>

#include "faultlocate/linear/machine.h"
#include "faultlocate/linear/states.h"

/* ---- the store ----------------------------------------------------------------------------- */

uint32_t fl_lin_state(struct fl_lin_states *s, const int64_t *at, size_t n)
{
	uint64_t hash = 0x9e3779b97f4a7c15 ^ n, *last;
	struct fl_lin_state *state;
	int64_t *copy;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint64_t)at[i]) * 0xff51afd7ed558ccd, hash ^= hash >> 32;
	last = map_get(&s->by_hash, hash);
	for (uint32_t i = last ? *last : 0; i; i = s->all.data[i - 1].same)
		if (s->all.data[i - 1].n == n &&
		    !memcmp(s->all.data[i - 1].at, at, n * sizeof(*at)))
			return i - 1;
	copy = arena_alloc(&s->arena, (n ? n : 1) * sizeof(*at));
	state = copy ? vec_push(&s->all) : NULL;
	if (!state) {
		s->is_out_of_memory = true;
		return 0;
	}
	if (n)
		memcpy(copy, at, n * sizeof(*at));
	*state = (struct fl_lin_state){ .at = copy, .n = n, .same = last ? *last : 0 };
	s->bytes += n * sizeof(*at) + sizeof(*state);
	if (map_put(&s->by_hash, hash, s->all.size))
		s->is_out_of_memory = true;
	return s->all.size - 1;
}

void fl_lin_states_deinit(struct fl_lin_states *s)
{
	vec_deinit(&s->all);
	map_deinit(&s->by_hash);
	arena_deinit(&s->arena);
}

/* ---- objects of one number ------------------------------------------------------------------ */

/* @return whether @p op may have given @p value. */
static bool gives(const struct fl_lin_op *op, int64_t value)
{
	return op->ret == LIN_NONE || op->ret == value;
}

/* A read: of a register whose beginning is not known it tells it. */
static bool read_number(const struct fl_lin_op *op, int64_t *now)
{
	if (*now == LIN_ANY && op->ret != LIN_NONE)
		*now = op->ret;
	return *now == LIN_ANY || gives(op, *now);
}

static bool compare_and_set(const struct fl_lin_op *op, int64_t from, int64_t to,
			    int64_t *now)
{
	if (*now == LIN_ANY) // then anything may be compared with
		*now = op->ret == 0 ? LIN_ANY : from;
	if (*now == LIN_ANY)
		return true;
	if (*now != from)
		return gives(op, 0);
	if (op->ret == 0)
		return false;
	*now = to;
	return true;
}

#define BEYOND (LIN_TEXT - 1) ///< longer than anything that was read

/* @return what is appended to or is appended, as text. */
static const char *text_of(const struct fl_lin_model *m, int64_t value, char buf[64])
{
	return value == LIN_EMPTY ? "" :
	       value >= LIN_TEXT  ? m->values->texts.data[value - LIN_TEXT] :
				    fl_lin_value_name(m->values, value, buf, 64);
}

static bool append(struct fl_lin_model *m, const struct fl_lin_op *op, int64_t *now)
{
	_cleanup_free_ char *text = NULL;
	char a[64], b[64];
	const char *tail = text_of(m, op->arg[1], b);
	int n;

	if (*now == BEYOND)
		return true;
	n = asprintf(&text, "%s%s", text_of(m, *now, a), tail);
	if (n < 0) {
		text = NULL;
		m->states.is_out_of_memory = true;
		return false;
	}
	if (m->longest && strncmp(m->longest, text, n)) {
		if (strncmp(m->longest, text, strlen(m->longest)))
			return false;
		*now = BEYOND;
		return true;
	}
	*now = fl_lin_value_text(m->values, text, n);
	return true;
}

void fl_lin_model_prepare(struct fl_lin_model *m, const struct fl_lin_history *h,
			  const size_t *ops, size_t n)
{
	const char *longest = "";

	if (m->object->kind != LIN_MAP)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct fl_lin_op *op = &h->ops.data[ops[i]];

		if (op->does != LIN_APPEND && op->does != LIN_GET)
			return;
		if (op->does == LIN_GET && op->ret >= LIN_TEXT &&
		    strlen(h->values.texts.data[op->ret - LIN_TEXT]) > strlen(longest))
			longest = h->values.texts.data[op->ret - LIN_TEXT],
			m->longest_read = i;
		else if (op->ret != LIN_NONE && op->ret != LIN_EMPTY &&
			 op->ret < LIN_TEXT)
			return; // a number
	}
	m->longest = longest;
}

static bool step_number(struct fl_lin_model *m, const struct fl_lin_op *op, int64_t *now)
{
	int64_t was = *now;

	switch (op->does) {
	case LIN_READ:
	case LIN_GET:
		return read_number(op, now);
	case LIN_WRITE:
		*now = op->arg[0];
		return true;
	case LIN_PUT:
		*now = op->arg[1];
		return true; // what it gives differs from map to map: nothing is asked
	case LIN_APPEND:
		return append(m, op, now);
	case LIN_CAS:
		return m->object->kind == LIN_MAP ?
			       compare_and_set(op, op->arg[1], op->arg[2], now) :
			       compare_and_set(op, op->arg[0], op->arg[1], now);
	case LIN_REMOVE:
		*now = LIN_EMPTY;
		return op->ret == LIN_NONE || op->ret == was ||
		       (op->ret == 1 && was != LIN_EMPTY) ||
		       (op->ret == 0 && was == LIN_EMPTY);
	case LIN_ADD:
		*now = (int64_t)((uint64_t)*now + (uint64_t)op->arg[0]);
		return gives(op, was);
	case LIN_SET_ADD:
		*now = 1;
		return gives(op, !was);
	case LIN_SET_REMOVE:
		*now = 0;
		return gives(op, was);
	case LIN_SET_CONTAINS:
		return gives(op, was);
	case LIN_LOCK:
	case LIN_TRY_LOCK:
		if (was)
			return op->does == LIN_TRY_LOCK && gives(op, 0);
		*now = 1;
		return op->does == LIN_LOCK || op->ret != 0;
	case LIN_UNLOCK:
		*now = 0;
		return was;
	default:
		return false;
	}
}

/* ---- containers ------------------------------------------------------------------------------ */

/* Which value leaves next. */
static size_t next_out(const struct fl_lin_model *m)
{
	return m->object->kind == LIN_STACK ? m->row.size - 1 : 0;
}

static bool push(struct fl_lin_model *m, int64_t value)
{
	size_t at = m->row.size;

	if (!vec_push(&m->row)) {
		m->states.is_out_of_memory = true;
		return false;
	}
	if (m->object->kind == LIN_PRIORITY)
		for (; at && m->row.data[at - 1] > value; at--)
			m->row.data[at] = m->row.data[at - 1];
	m->row.data[at] = value;
	return true;
}

static bool step_container(struct fl_lin_model *m, const struct fl_lin_op *op)
{
	size_t at;

	if (op->does == LIN_PUSH)
		return op->ret == 0 ||
		       push(m, op->arg[0]); // 0: it was full, and did nothing
	if (!m->row.size)
		return gives(op, LIN_EMPTY);
	at = next_out(m);
	if (!gives(op, m->row.data[at]))
		return false;
	if (op->does == LIN_PEEK)
		return true;
	m->row.size--;
	memmove(&m->row.data[at], &m->row.data[at + 1],
		(m->row.size - at) * sizeof(*m->row.data));
	return true;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool is_container(const struct fl_lin_model *m)
{
	return m->object->kind == LIN_QUEUE || m->object->kind == LIN_STACK ||
	       m->object->kind == LIN_PRIORITY;
}

uint32_t fl_lin_model_begin(struct fl_lin_model *m)
{
	int64_t first = m->object->kind == LIN_REGISTER ? m->object->initial :
			m->object->kind == LIN_MAP	? LIN_EMPTY :
							  0;

	if (m->object->kind == LIN_MACHINE)
		return fl_lin_machine_begin(m->object->machine, &m->states);
	return fl_lin_state(&m->states, &first, !is_container(m));
}

bool fl_lin_model_step(struct fl_lin_model *m, uint32_t state, const struct fl_lin_op *op,
		       uint32_t *ret)
{
	const struct fl_lin_state *s = &m->states.all.data[state];
	bool is_allowed;

	if (m->object->kind == LIN_MACHINE)
		return fl_lin_machine_step(m->object->machine, &m->states, state, op,
					   ret);
	m->row.size = 0;
	if (vec_reserve(&m->row, s->n + 1)) {
		m->states.is_out_of_memory = true;
		return false;
	}
	memcpy(m->row.data, s->at, s->n * sizeof(*s->at));
	m->row.size = s->n;
	is_allowed = is_container(m) ? step_container(m, op) :
				       step_number(m, op, &m->row.data[0]);
	if (is_allowed)
		*ret = fl_lin_state(&m->states, m->row.data, m->row.size);
	return is_allowed;
}

bool fl_lin_model_observes(const struct fl_lin_model *m, const struct fl_lin_op *op)
{
	switch (op->does) {
	case LIN_READ:
	case LIN_GET:
	case LIN_SET_CONTAINS:
	case LIN_PEEK:
		return true;
	case LIN_CAS:
	case LIN_SET_ADD:
	case LIN_SET_REMOVE:
	case LIN_TRY_LOCK:
	case LIN_PUSH:
		return op->ret == 0;
	case LIN_POP:
		return op->ret == LIN_EMPTY;
	case LIN_REMOVE:
		return op->ret == LIN_EMPTY || op->ret == 0;
	default:
		return op->does >= LIN_STEP &&
		       fl_lin_machine_observes(m->object->machine, op->does - LIN_STEP);
	}
}

void fl_lin_model_deinit(struct fl_lin_model *m)
{
	vec_deinit(&m->row);
	fl_lin_states_deinit(&m->states);
}
