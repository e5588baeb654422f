// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/linear/search.h"

#include <string.h>

#include "faultlocate/linear/fewer.h"

#define SLOTS 256 ///< operations under way at once
#define WORDS (SLOTS / 64)
#define FORGET_FROM (8u << 20) ///< bytes of states

struct config {
	uint32_t state;
	uint64_t done[WORDS]; ///< bit i: what has slot i has happened
};

/* A set of configurations, in the order in which they came. */
struct configs {
	VEC(struct config) all;
	uint32_t *slots; ///< 1 + index, open addressing
	size_t capacity; ///< a power of two
};

struct search {
	struct fl_lin_model model;
	const struct fl_lin_history *h;
	struct configs now, next;
	const struct fl_lin_op *open[SLOTS]; ///< NULL: the slot is free
	struct fl_lin_op
		any[SLOTS]; ///< of those that may have happened: without a result
	bool may[SLOTS];
	size_t n_open;		 ///< slots below this one are in use, some of them
	size_t n_under_way;	 ///< operations
	uint64_t forever[WORDS]; ///< of operations that do not return
	bool has_forever;
	const struct fl_lin_search_how *how;
	uint64_t until;
	uint64_t forget_at; ///< bytes of states
	size_t most;
	struct fl_lin_search *ret;
};

/* ---- sets ------------------------------------------------------------------------------------ */

static uint64_t config_hash(const struct config *c)
{
	uint64_t h = c->state * 0x9e3779b97f4a7c15;

	for (int i = 0; i < WORDS; i++)
		h = (h ^ c->done[i]) * 0xff51afd7ed558ccd, h ^= h >> 29;
	return h;
}

static bool config_is(const struct config *a, const struct config *b)
{
	return a->state == b->state && !memcmp(a->done, b->done, sizeof(a->done));
}

static void configs_clear(struct configs *s)
{
	if (s->all.size * 8 > s->capacity) {
		memset(s->slots, 0, s->capacity * sizeof(*s->slots));
	} else {
		for (size_t i = 0; i < s->all.size; i++) {
			size_t at = config_hash(&s->all.data[i]) & (s->capacity - 1);

			for (; s->slots[at]; at = (at + 1) & (s->capacity - 1))
				s->slots[at] = 0;
		}
	}
	s->all.size = 0;
}

static int configs_grow(struct configs *s)
{
	size_t capacity = s->capacity ? s->capacity * 2 : 64;
	uint32_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -1;
	free(s->slots);
	s->slots = slots;
	s->capacity = capacity;
	for (size_t i = 0; i < s->all.size; i++) {
		size_t at = config_hash(&s->all.data[i]) & (capacity - 1);

		while (slots[at])
			at = (at + 1) & (capacity - 1);
		slots[at] = i + 1;
	}
	return 0;
}

/* @return 0, or -1 without memory. */
static int configs_add(struct configs *s, const struct config *c)
{
	struct config *copy;
	size_t at;

	if (s->all.size * 2 >= s->capacity && configs_grow(s))
		return -1;
	at = config_hash(c) & (s->capacity - 1);
	for (; s->slots[at]; at = (at + 1) & (s->capacity - 1))
		if (config_is(&s->all.data[s->slots[at] - 1], c))
			return 0;
	copy = vec_push(&s->all);
	if (!copy)
		return -1;
	*copy = *c;
	s->slots[at] = s->all.size;
	return 0;
}

static void configs_deinit(struct configs *s)
{
	vec_deinit(&s->all);
	free(s->slots);
}

/* ---- one configuration ------------------------------------------------------------------------ */

static bool has_done(const struct config *c, size_t slot)
{
	return c->done[slot / 64] >> (slot % 64) & 1;
}

static void set_done(struct config *c, size_t slot)
{
	c->done[slot / 64] |= 1ull << (slot % 64);
}

/* What only looks, and sees what it saw, may as well happen now. */
static void let_observe(struct search *s, struct config *c)
{
	uint32_t next;

	for (size_t i = 0; i < s->n_open; i++)
		if (s->open[i] && !has_done(c, i) && s->open[i]->end != LIN_PENDING &&
		    fl_lin_model_observes(&s->model, s->open[i]) &&
		    fl_lin_model_step(&s->model, c->state, s->open[i], &next) &&
		    next == c->state)
			set_done(c, i);
}

/* @return whether @p c may as well do without what has slot @p i, now: it never returns, and another
 * one like it has not happened, or it changes nothing. */
static bool is_idle(const struct search *s, const struct config *c, size_t i,
		    uint32_t next)
{
	if (s->open[i]->end != LIN_PENDING)
		return false;
	if (next == c->state)
		return true;
	for (size_t k = 0; k < i; k++)
		if (s->open[k] && s->open[k]->end == LIN_PENDING && !has_done(c, k) &&
		    s->open[k]->does == s->open[i]->does &&
		    !memcmp(s->open[k]->arg, s->open[i]->arg, sizeof(s->open[i]->arg)))
			return true;
	return false;
}

/* @p c, in which what has @p slot has happened, goes on without that slot. */
static int arrive(struct search *s, const struct config *c, size_t slot)
{
	struct config without = *c;

	without.done[slot / 64] &= ~(1ull << (slot % 64));
	return configs_add(&s->next, &without);
}

/* Go on from @p c until what has @p slot has happened, step by step. */
static int expand(struct search *s, struct config c, size_t slot)
{
	if (!has_done(&c, slot))
		let_observe(s, &c);
	if (has_done(&c, slot))
		return arrive(s, &c, slot);
	for (size_t i = 0; i < s->n_open; i++) {
		struct config next = c;

		if (!s->open[i] || has_done(&c, i) ||
		    !fl_lin_model_step(&s->model, c.state, s->open[i], &next.state) ||
		    is_idle(s, &c, i, next.state))
			continue;
		set_done(&next, i);
		if (i == slot ? arrive(s, &next, slot) : configs_add(&s->now, &next))
			return -1;
	}
	return 0;
}

/* ---- what is useless -------------------------------------------------------------------------- */

/* Whoever has used fewer of the operations that never return can do all that the other can. */
static bool is_dominated(const struct config *c, const struct config *by)
{
	bool is_less = false;

	for (int i = 0; i < WORDS; i++) {
		if (by->done[i] & ~c->done[i])
			return false;
		is_less |= c->done[i] != by->done[i];
	}
	return is_less;
}

static const struct search *sorting; ///< for by_others()

/* @return how @p a and @p b differ in all but what never returns: 0, not. */
static int compare_others(const struct config *a, const struct config *b)
{
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	for (int i = 0; i < WORDS; i++) {
		uint64_t x = a->done[i] & ~sorting->forever[i];
		uint64_t y = b->done[i] & ~sorting->forever[i];

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

static int count_forever(const struct config *c)
{
	int n = 0;

	for (int i = 0; i < WORDS; i++)
		n += __builtin_popcountll(c->done[i] & sorting->forever[i]);
	return n;
}

/* Equals together, those first that have used least. */
static int by_others(const void *a, const void *b)
{
	return compare_others(a, b) ?: count_forever(a) - count_forever(b);
}

static void swap(struct search *s)
{
	struct configs next = s->now;

	s->now = s->next;
	s->next = next;
	configs_clear(&s->next);
}

static int drop_dominated(struct search *s)
{
	_cleanup_free_ struct config *all = NULL;
	size_t n = s->now.all.size, group = 0, kept = 0;

	if (!s->has_forever || n < 2)
		return 0;
	all = malloc(n * sizeof(*all));
	if (!all)
		return -1;
	memcpy(all, s->now.all.data, n * sizeof(*all));
	sorting = s;
	qsort(all, n, sizeof(*all), by_others);
	for (size_t i = 0; i < n; i++) {
		bool is_useless = false;

		if (kept && compare_others(&all[group], &all[i]))
			group = kept;
		// What is kept stands in [0, kept): of i's equals from group on.
		for (size_t k = group; k < kept && !is_useless; k++)
			is_useless = is_dominated(&all[i], &all[k]);
		if (is_useless)
			continue;
		all[kept++] = all[i];
		if (configs_add(&s->next, &all[kept - 1]))
			return -1;
	}
	swap(s);
	return 0;
}

/* Of the states those stay that are possible now. */
static int forget_states(struct search *s)
{
	struct fl_lin_states old = s->model.states;
	int status = 0;

	if (old.bytes < s->forget_at)
		return 0;
	s->model.states =
		(struct fl_lin_states){ .is_out_of_memory = old.is_out_of_memory };
	for (size_t i = 0; !status && i < s->now.all.size; i++) {
		struct config c = s->now.all.data[i];
		const struct fl_lin_state *state = &old.all.data[c.state];

		c.state = fl_lin_state(&s->model.states, state->at, state->n);
		status = configs_add(&s->next, &c);
	}
	fl_lin_states_deinit(&old);
	s->forget_at = s->model.states.bytes * 2 + FORGET_FROM;
	if (!status)
		swap(s);
	return status;
}

/* ---- calls and returns ------------------------------------------------------------------------ */

/* @return 0, or -1 when there are too many at once. */
static int begin_op(struct search *s, const struct fl_lin_op *op, bool may, size_t *slot)
{
	for (*slot = 0; *slot < SLOTS && s->open[*slot];)
		++*slot;
	if (*slot == SLOTS)
		return -1;
	s->open[*slot] = op;
	s->may[*slot] = may;
	if (may) {
		s->any[*slot] = *op;
		s->any[*slot].ret = LIN_NONE;
		s->open[*slot] = &s->any[*slot];
	}
	s->n_under_way++;
	if (*slot >= s->n_open)
		s->n_open = *slot + 1;
	if (op->end == LIN_PENDING) {
		s->forever[*slot / 64] |= 1ull << (*slot % 64);
		s->has_forever = true;
	}
	return 0;
}

/* @param fmt  may have a place for @p n. */
static void unknown(struct search *s, const char *fmt, unsigned long long n)
{
	s->ret->answer = LIN_UNKNOWN;
	snprintf(s->ret->why, sizeof(s->ret->why), fmt, n);
}

/* The last numbers of the states that are possible now, up to four. @return how many. */
static unsigned tell_states(const struct search *s, int64_t ret[4])
{
	unsigned n = 0;

	for (size_t i = 0; i < s->now.all.size && n < 4; i++) {
		const struct fl_lin_state *state =
			&s->model.states.all.data[s->now.all.data[i].state];
		int64_t last = state->n ? state->at[state->n - 1] : LIN_EMPTY;
		bool is_new = true;

		for (unsigned k = 0; k < n; k++)
			is_new &= ret[k] != last;
		if (is_new)
			ret[n++] = last;
	}
	return n;
}

/* No operation is under way, and @p called were called. */
static void tell_rest(struct search *s, size_t called)
{
	struct fl_lin_search *r = s->ret;

	r->rest = called;
	r->n_rest_states = s->now.all.size <= 4 ? tell_states(s, r->rest_states) : 0;
}

static struct err *end_op(struct search *s, size_t slot, size_t op)
{
	const int does = s->open[slot]->does;

	for (size_t i = 0; i < s->now.all.size; i++) { // it grows
		struct config without = s->now.all.data[i];

		if (s->may[slot] && arrive(s, &without, slot))
			return &err_nomem;
		if (expand(s, s->now.all.data[i], slot))
			return &err_nomem;
		if (s->now.all.size + s->next.all.size > s->most) {
			unknown(s, "more than %llu orders are possible at once", s->most);
			return NULL;
		}
		if (++s->ret->work > s->how->work && s->how->work) {
			unknown(s, "more than %llu orders were looked at", s->how->work);
			return NULL;
		}
		if (s->model.states.bytes > LIN_STATE_BYTES) {
			unknown(s, "the object's states take more than %llu MiB",
				LIN_STATE_BYTES >> 20);
			return NULL;
		}
	}
	s->open[slot] = NULL;
	s->n_under_way--;
	if (!s->next.all.size) {
		bool is_append = s->model.longest && does == LIN_APPEND;

		s->ret->answer = LIN_WRONG;
		s->ret->at = is_append ? s->model.longest_read : op;
		if (!is_append)
			s->ret->n_before = tell_states(s, s->ret->before);
		return NULL;
	}
	swap(s);
	return drop_dominated(s) || forget_states(s) ? &err_nomem : NULL;
}

/* ---- where one search ends and another begins --------------------------------------------------- */

/* Write into @p slots those of the operations that are under way. @return how many. */
static size_t slots_open(const struct search *s, size_t slots[SLOTS])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_open; i++)
		if (s->open[i])
			slots[n++] = i;
	return n;
}

static void save_config(const struct search *s, const struct config *c,
			const size_t *slots, size_t n, fl_lin_words *to)
{
	const struct fl_lin_state *state = &s->model.states.all.data[c->state];
	struct config done = {};
	size_t words = (n + 63) / 64;

	for (size_t i = 0; i < n; i++)
		if (has_done(c, slots[i]))
			set_done(&done, i);
	memcpy(to->data + to->size, done.done, words * sizeof(*to->data));
	to->size += words;
	to->data[to->size++] = state->n;
	memcpy(to->data + to->size, state->at, state->n * sizeof(*to->data));
	to->size += state->n;
}

static struct err *save(const struct search *s)
{
	fl_lin_words *to = s->how->save;
	size_t slots[SLOTS], n = slots_open(s, slots), from = to->size;
	size_t size = LIN_START_CALLS + n + 1;

	for (size_t i = 0; i < s->now.all.size; i++)
		size += (n + 63) / 64 + 1 +
			s->model.states.all.data[s->now.all.data[i].state].n;
	if (vec_reserve(to, from + size))
		return &err_nomem;
	to->data[from + LIN_START_SIZE] = (int64_t)size;
	to->data[from + LIN_START_MOMENT] = (int64_t)s->until;
	to->data[from + LIN_START_OPEN] = (int64_t)n;
	to->size += LIN_START_CALLS;
	for (size_t i = 0; i < n; i++)
		to->data[to->size++] = (int64_t)s->open[slots[i]]->call;
	to->data[to->size++] = (int64_t)s->now.all.size;
	for (size_t i = 0; i < s->now.all.size; i++)
		save_config(s, &s->now.all.data[i], slots, n, to);
	return NULL;
}

struct err *fl_lin_start_unknown(fl_lin_words *to, uint64_t moment)
{
	const int64_t start[] = { [LIN_START_SIZE] = LIN_START_CALLS + 1,
				  [LIN_START_MOMENT] = (int64_t)moment,
				  [LIN_START_CALLS] = 0 };

	for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++)
		if (vec_add(to, start[i]))
			return &err_nomem;
	return NULL;
}

/* Those that were under way at the start have begun. One that is not there is left out: whether it happened
 * is all one. */
static struct err *resume(struct search *s, const int64_t *start)
{
	size_t slots[SLOTS], n = (size_t)start[LIN_START_OPEN], words = (n + 63) / 64;
	const int64_t *at = start + LIN_START_CALLS;
	int64_t n_configs;

	for (size_t i = 0; i < n; i++, at++)
		for (slots[i] = 0; slots[i] < SLOTS; slots[i]++)
			if (s->open[slots[i]] && s->open[slots[i]]->call == (uint64_t)*at)
				break;
	for (n_configs = *at++; n_configs; n_configs--) {
		const int64_t *row = at + words + 1;
		struct config c = { .state = fl_lin_state(&s->model.states, row,
							  (size_t)row[-1]) };

		for (size_t i = 0; i < n; i++)
			if ((uint64_t)at[i / 64] >> (i % 64) & 1 && slots[i] < SLOTS)
				set_done(&c, slots[i]);
		if (configs_add(&s->now, &c))
			return &err_nomem;
		at = row + row[-1];
	}
	if (!s->now.all.size)
		unknown(s, "more orders were possible at once than are kept", 0);
	return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* An operation and its slot, by its return. */
struct due {
	uint64_t end;
	size_t op; ///< index into the caller's
};

static int by_end(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

/* Those of the caller's operations that have begun. */
struct begun {
	const size_t *ops;
	size_t n, called; ///< how many there are; how many were called
	size_t *slot_of;
};

/* Begin those that were called before @p moment. @return false: they are too many. */
static bool begin_until(struct search *s, struct begun *b, uint64_t moment)
{
	const bool *may = s->how->may;

	for (; b->called < b->n && s->h->ops.data[b->ops[b->called]].call < moment;
	     b->called++) {
		const struct fl_lin_op *op = &s->h->ops.data[b->ops[b->called]];

		if (op->end == LIN_PENDING && fl_lin_model_observes(&s->model, op))
			continue; // nobody saw it
		if (begin_op(s, op, may && may[b->called], &b->slot_of[b->called])) {
			unknown(s, "more than %llu operations are under way at once",
				SLOTS);
			return false;
		}
	}
	return true;
}

static struct err *begin(struct search *s, struct begun *b)
{
	struct config first = {};

	if (s->how->start)
		return begin_until(s, b, (uint64_t)s->how->start[LIN_START_MOMENT]) ?
			       resume(s, s->how->start) :
			       NULL;
	first.state = fl_lin_model_begin(&s->model);
	return configs_add(&s->now, &first) ? &err_nomem : NULL;
}

static struct err *walk(struct search *s, struct begun *b, struct due *dues,
			size_t n_dues)
{
	struct err *err = begin(s, b);

	for (size_t i = 0; !err && i < n_dues && s->ret->answer == LIN_RIGHT; i++) {
		if (!begin_until(s, b, dues[i].end))
			return NULL;
		err = end_op(s, b->slot_of[dues[i].op], dues[i].op);
		if (!err && s->model.states.is_out_of_memory)
			err = &err_nomem;
		if (!s->n_under_way && s->ret->answer == LIN_RIGHT)
			tell_rest(s, b->called);
	}
	if (err || s->ret->answer != LIN_RIGHT || !s->how->save)
		return err;
	return begin_until(s, b, s->until) ? save(s) : NULL;
}

struct err *fl_lin_search(const struct fl_lin_object *o, const struct fl_lin_history *h,
			  const size_t *ops, size_t n,
			  const struct fl_lin_search_how *how, struct fl_lin_search *ret)
{
	static const struct fl_lin_search_how as_it_is;
	struct search s = {
		.model = { .object = o, .values = (struct fl_lin_values *)&h->values },
		.h = h,
		.how = how ?: &as_it_is,
		.until = how && how->until ? how->until : LIN_LATER,
		.forget_at = FORGET_FROM,
		.most = how && how->most ? how->most : LIN_CONFIGS,
		.ret = ret,
	};
	_cleanup_free_ struct due *dues = calloc(n + 1, sizeof(*dues));
	_cleanup_free_ size_t *slot_of = calloc(n + 1, sizeof(*slot_of));
	size_t n_dues = 0;
	struct err *err;

	*ret = (struct fl_lin_search){ .answer = LIN_RIGHT };
	if (!dues || !slot_of)
		return &err_nomem;
	for (size_t i = 0; i < n; i++)
		if (h->ops.data[ops[i]].end < s.until)
			dues[n_dues++] = (struct due){ h->ops.data[ops[i]].end, i };
	qsort(dues, n_dues, sizeof(*dues), by_end);
	fl_lin_model_prepare(&s.model, h, ops, n);
	err = walk(&s, &(struct begun){ ops, n, 0, slot_of }, dues, n_dues);
	if (!err && s.model.states.is_out_of_memory)
		err = &err_nomem;
	configs_deinit(&s.now);
	configs_deinit(&s.next);
	fl_lin_model_deinit(&s.model);
	return err;
}
