// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Rules about variables, and about what was never given a value (bytes/bytes.h).
 */
#include <stdio.h>
#include <string.h>

#include "faultlocate/bytes/bytes.h"
#include "faultlocate/fl_check_int.h"
#include "faultlocate/fl_end.h"

#define WIDTH_MAX \
	(UINT64_C(1) << 47) // there are no more addresses, and rules add to them

enum { STORAGE_FRAME = 1, STORAGE_STATIC, STORAGE_BLOCK };

struct asked {
	struct fl_check *c;
	struct dec_symbols *symbols;
	size_t n_before; ///< errors of other rules
	const hg_accesses *accesses;
};

static const char *const uses[] = {
	[FL_USE_BRANCH] = "a branch depends on it",
	[FL_USE_TARGET] = "a jump leads there",
	[FL_USE_ADDRESS] = "as an address",
	[FL_USE_TEXT] = "by a function of strings",
	[FL_USE_SYSCALL] = "as an argument of a system call",
	[FL_USE_OUTPUT] = "the kernel reads it",
	[FL_USE_SIZE] = "as an argument of the allocator",
	[FL_USE_READ] = "perhaps to be copied",
};

/* Of the instructions of a line the first that was met stands for all. */
static uint64_t statement_of(struct asked *a, uint64_t rip)
{
	struct dec_place place = {};
	uint64_t key = 5381;
	const uint64_t *known;

	dec_symbols_place(a->symbols, rip, &place);
	dec_place_to_users(&place);
	if (!place.file || !place.line)
		return rip;
	for (const char *p = place.file; *p; p++)
		key = key * 33 + (uint8_t)*p;
	key = key * 1000003 + place.line;
	known = map_get(&a->c->lines, key);
	if (known)
		return *known;
	map_put(&a->c->lines, key, rip); // what cannot be kept is told apart
	return rip;
}

static struct err *add(struct asked *a, const struct fl_bytes_place *p, size_t rule,
		       uint64_t addr, bool is_write, const char *detail)
{
	struct fl_error e = { .rule = rule,
			      .time = p->time,
			      .rip = statement_of(a, p->statement),
			      .pc = p->pc,
			      .value = { { addr, 0, 0, true } },
			      .n_values = 1,
			      .is_write = is_write,
			      .detail =
				      arena_strndup(&a->c->arena, detail, strlen(detail)),
			      .reg = -1 };

	if (!e.detail)
		return &err_nomem;
	if (p->frames)
		hg_chain_list(p->frames, p->statement, &e.callers);
	return fl_check_add(a->c, p->frames, &e);
}

/* Did rules of the heap tell already what is wrong there? */
static bool is_told(struct asked *a, const struct fl_bytes_place *p)
{
	uint64_t at = statement_of(a, p->statement);

	for (size_t i = 0; i < a->accesses->size; i++) {
		const struct hg_access *x = &a->accesses->data[i];

		if (x->pc == p->pc || statement_of(a, x->rip) == at)
			return true;
		for (size_t k = 0; k < x->n_others && k < HG_ACCESS_OTHERS; k++)
			if (statement_of(a, x->other[k].rip) == at)
				return true;
	}
	return false;
}

static struct err *on_access(void *ctx, const struct fl_bytes_place *p,
			     const struct fl_bytes_access *x)
{
	struct asked *a = ctx;
	struct fl_check *c = a->c;
	const struct spec_bug_world w = {
		.time = p->time,
		.width = x->size < WIDTH_MAX ? x->size : WIDTH_MAX,
		.storage = x->is_block	? STORAGE_BLOCK :
			   x->is_static ? STORAGE_STATIC :
					  STORAGE_FRAME,
		.var_start = x->object.start,
		.var_end = x->object.start + x->object.size,
		.is_gone = x->is_gone,
		.is_ended = x->is_ended,
		.ctx = c,
	};
	char detail[256];

	if (x->is_block && is_told(a, p))
		return NULL;
	snprintf(detail, sizeof(detail),
		 "%s of %llu byte%s at byte %lld of %.100s, which has %llu",
		 x->is_write ? "write" : "read", (unsigned long long)x->size,
		 x->size == 1 ? "" : "s", (long long)(x->addr - x->object.start),
		 x->object.name, (unsigned long long)x->object.size);
	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		const struct spec_bug *b = spec_bug(c->rules, i);
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = { { x->addr, 0, 0, true } };
		bool is_asked =
			b->point == SPEC_POINT_DEREF ||
			b->point == (x->is_write ? SPEC_POINT_WRITE : SPEC_POINT_READ);

		if (c->is_on[i] && is_asked && fl_check_is_about_bytes(c, i) &&
		    !fl_check_is_about_values(c, i) &&
		    spec_bug_holds(c->rules, i, &w, slots))
			return add(a, p, i, x->addr, x->is_write, detail);
	}
	return NULL;
}

struct err *fl_check_smash(struct fl_check *c, struct dec_symbols *symbols,
			   const struct fl_end *end)
{
	const struct fl_smash *x = &end->smash;
	const struct fl_statement *s = &x->statement;
	const struct spec_bug_world w = { .time = s->time,
					  .width = 1,
					  .storage = STORAGE_FRAME,
					  .var_start = x->addr,
					  .var_end = x->addr,
					  .ctx = c };
	struct asked a = { .c = c, .symbols = symbols };
	struct fl_bytes_place p = { .time = s->time, .pc = s->rip, .statement = s->rip };
	struct dec_place place = {};
	char detail[256];

	if (!end->is_known || !s->rip)
		return NULL;
	dec_symbols_place(symbols, x->rip, &place);
	snprintf(detail, sizeof(detail), "write over the %s of %.100s()",
		 x->is_guard	     ? "stack guard" :
		 x->is_frame_pointer ? "saved frame pointer" :
				       "return address",
		 place.function ?: "a function");
	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = { { x->addr, 0, 0, true } };

		if (c->is_on[i] && spec_bug(c->rules, i)->point == SPEC_POINT_DEREF &&
		    fl_check_is_about_bytes(c, i) && !fl_check_is_about_values(c, i) &&
		    spec_bug_holds(c->rules, i, &w, slots))
			return vec_find(&c->errors, k,
					k->rule == i &&
						k->rip == statement_of(&a, s->rip)) ?
				       NULL :
				       add(&a, &p, i, x->addr, true, detail);
	}
	return NULL;
}

static struct err *on_use(void *ctx, const struct fl_bytes_place *p,
			  enum fl_bytes_use use, uint64_t addr)
{
	struct asked *a = ctx;
	struct fl_check *c = a->c;
	const struct spec_bug_world w = { .time = p->time, .width = 1, .ctx = c };

	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = { { addr, 0, 0, true } };

		if (c->is_on[i] && fl_check_is_about_values(c, i) &&
		    (spec_bug(c->rules, i)->point == SPEC_POINT_USE) ==
			    (use != FL_USE_READ) &&
		    spec_bug_holds(c->rules, i, &w, slots))
			return add(a, p, i, addr, false, uses[use]);
	}
	return NULL;
}

static void on_again(void *ctx, uint64_t pc)
{
	struct asked *a = ctx;
	struct map *seen = &a->c->seen;

	if (a->c->n_looks < FL_CHECK_LOOKS)
		a->c->look[a->c->n_looks++] = pc;
	for (size_t i = 0; i < seen->capacity; i++)
		if (seen->slots[i].key != MAP_EMPTY_KEY &&
		    seen->slots[i].value > a->n_before)
			map_remove(seen, seen->slots[i--].key);
	a->c->errors.size = a->n_before;
}

uint64_t fl_check_look(const struct fl_check *c, size_t i)
{
	return i < c->n_looks ? c->look[i] : 0;
}

bool fl_check_is_of_bytes(const struct fl_check *c)
{
	for (size_t i = 0; i < spec_bugs(c->rules); i++)
		if (c->is_on[i] && !fl_check_is_about_bytes(c, i))
			return false;
	return true;
}

bool fl_check_is_of_uses(const struct fl_check *c)
{
	bool ret = false;

	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		if (!c->is_on[i] || !fl_check_is_about_values(c, i))
			continue;
		if (spec_bug(c->rules, i)->point != SPEC_POINT_USE)
			return false;
		ret = true;
	}
	return ret;
}

void fl_check_values_are_right(struct fl_check *c)
{
	c->has_right_values = true;
}

void fl_check_values_are_doubted(struct fl_check *c, uint64_t position)
{
	c->values_doubted_at = position;
}

uint64_t fl_check_values_until(const struct fl_check *c)
{
	return c->values_until;
}

const char *fl_check_left_out(const struct fl_check *c)
{
	return c->has_left_variables && c->has_left_values ? "variables and values" :
	       c->has_left_variables			   ? "variables" :
	       c->has_left_values			   ? "values" :
							     NULL;
}

struct err *fl_check_bytes(struct fl_check *c, const struct capture *capture,
			   struct dec_symbols *symbols, uint64_t instructions,
			   const hg_accesses *accesses, bool with_progress)
{
	struct asked a = { c, symbols, c->errors.size, accesses };
	struct fl_bytes_events events = { .ctx = &a, .again = on_again };
	bool is_named = false;

	c->n_looks = 0;
	if (capture_info(capture)->mode == CAP_MODE_FLIGHT)
		return NULL;
	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		if (!c->is_on[i] || !fl_check_is_about_bytes(c, i))
			continue;
		is_named |= c->is_named[i];
		if (fl_check_is_about_values(c, i)) {
			events.use = on_use;
			events.wants_reads |= spec_bug(c->rules, i)->point !=
					      SPEC_POINT_USE;
		} else if (dec_symbols_has_debug(symbols, 0)) {
			events.access = on_access;
		}
	}
	c->has_left_variables = events.access && !is_named &&
				instructions > FL_BYTES_MOST;
	if (c->has_left_variables)
		events.access = NULL;
	// Who looks through the stack shows by what has no value there.
	if (events.access)
		events.use = on_use;
	else if (c->has_right_values)
		events.use = NULL;
	c->has_left_values = events.use && !is_named && !events.access &&
			     instructions > FL_BYTES_MOST_VALUES;
	if (c->has_left_values && c->values_doubted_at &&
	    c->values_doubted_at < FL_BYTES_MOST_VALUES - FL_BYTES_BEYOND) {
		c->has_left_values = false;
		c->values_until = events.until = c->values_doubted_at + FL_BYTES_BEYOND;
	}
	return !events.use || c->has_left_values ?
		       NULL :
		       fl_bytes_find(capture, symbols, &events, with_progress);
}
