// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Who looks through the stack? A collector that does not know where its roots are reads the stack word by word,
 * frame after frame, and decides by each whether it might be a pointer; most were never given a value. That is no mistake
 * of any of these decisions.
 *
 * Such is an instruction that reads many words one behind the other, and a call's return address among them: no
 * other code has a use for that. Loads of what has no value from callers' frames are suspected until then, which is cheap, as
 * others rarely do so twice in a row. Where one is found the run is looked at again: what it had read
 * is all over the collector's tables.
 */
#include "faultlocate/bytes/bytes_int.h"

#define WORDS_MIN 64 // what is shorter may be too much of an array

/* @return which of them the load at @p pc is; l->n: none. */
static uint32_t index_of(const struct bytes_looks *l, uint64_t pc)
{
	uint32_t i = 0;

	while (i < l->n && l->look[i].pc != pc)
		i++;
	return i;
}

bool fl_looks_is_watched(const struct bytes_looks *l, uint64_t pc)
{
	return index_of(l, pc) < l->n;
}

/* Where the function begins that @p pc is in; 0: not known. */
static uint64_t function_of(const struct bytes_walk *w, uint64_t pc)
{
	struct dec_place place = {};

	dec_symbols_place_bare(w->symbols, pc, &place);
	return place.function ? pc - place.offset : 0;
}

bool fl_looks_is_known(const struct bytes_walk *w, uint64_t pc)
{
	const struct bytes_looks *l = &w->looks;
	uint64_t function = l->n_known ? function_of(w, pc) : 0;

	for (uint32_t i = 0; i < l->n && l->n_known; i++)
		if (l->look[i].is_known &&
		    (l->look[i].pc == pc ||
		     (function && l->look[i].function == function)))
			return true;
	return false;
}

/* Is @p addr of the calls that the thread's function returns to? */
static bool is_of_callers(const struct frames *f, uint64_t addr)
{
	size_t n = f->stack.size;

	return n && addr > f->stack.data[n - 1].rsp && addr < f->stack.data[0].rsp;
}

static bool is_return_address(const struct frames *f, uint64_t addr)
{
	size_t low = 0, high = f->stack.size;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (f->stack.data[middle].rsp == addr)
			return true;
		if (f->stack.data[middle].rsp > addr)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* The load at @p pc is suspected from here on, in place of the one that has been for longest. NULL: all are known. */
static struct bytes_look *suspect(struct bytes_looks *l, uint64_t pc)
{
	for (uint32_t i = 0; i < BYTES_LOOKS; i++) {
		uint32_t at = l->next++ % BYTES_LOOKS;

		if (l->look[at].is_known)
			continue;
		l->look[at] = (struct bytes_look){ .pc = pc };
		l->n = at < l->n ? l->n : at + 1;
		return &l->look[at];
	}
	return NULL;
}

/* @p x reads @p r. */
static struct err *follow(struct bytes_walk *w, const struct dec_ref *r,
			  struct bytes_look *x)
{
	struct bytes_looks *l = &w->looks;
	bool is_next = r->addr - x->addr == r->size || x->addr - r->addr == r->size;

	if (!is_next) {
		x->n = 0;
		x->has_crossed = false;
	}
	x->addr = r->addr;
	x->n++;
	x->has_crossed |= is_return_address(w->frames, r->addr);
	if (!x->has_crossed || x->n < WORDS_MIN)
		return NULL;
	x->is_known = true;
	x->function = function_of(w, x->pc);
	l->n_known++;
	l->found = x->pc;
	return err_new(ERR_RANGE, "the stack is looked through");
}

struct err *fl_looks_step(struct bytes_walk *w, const struct dec_step *s)
{
	struct bytes_looks *l = &w->looks;
	uint64_t pc = s->insn->rip;
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && !err; i++) {
		const struct dec_ref *r = &s->refs[i];
		uint32_t at = index_of(l, pc);
		struct bytes_look *x = at < l->n ? &l->look[at] : NULL;
		bool has_value;

		if (!r->is_mem || r->is_def)
			continue;
		has_value = fl_values_first(&w->values, r->addr, r->size) == UINT64_MAX;
		if (!has_value && fl_looks_is_known(w, pc))
			err = fl_values_set(&w->values, r->addr, r->size, true);
		else if (!x && !has_value && r->size == 8 &&
			 is_of_callers(w->frames, r->addr))
			x = suspect(l, pc);
		if (x && !x->is_known && r->size == 8 && !err)
			err = follow(w, r, x);
	}
	return err;
}
