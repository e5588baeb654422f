// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Functions of the C library that look at text many bytes at a time, some of them behind its end, are
 * taken for what they mean: their result depends on the bytes up to where they stop, and a comparison
 * that found no difference is an exact test of each. How far they look is in the log.
 */

#include "faultlocate/inputs/walk.h"

#include <string.h>

#define SLOTS 32
#define GIVEN (UINT64_C(1) << CAP_RDI | UINT64_C(1) << CAP_RSI | UINT64_C(1) << CAP_RDX)

static const struct {
	const char *name;
	uint8_t stops;
} functions[] = {
	{ "strcmp", DEC_LOOK_DIFFERENT | DEC_LOOK_NUL },
	{ "strncmp", DEC_LOOK_DIFFERENT | DEC_LOOK_NUL | DEC_LOOK_COUNT },
	{ "memcmp", DEC_LOOK_DIFFERENT | DEC_LOOK_COUNT },
	{ "bcmp", DEC_LOOK_DIFFERENT | DEC_LOOK_COUNT },
	{ "strcasecmp", DEC_LOOK_DIFFERENT | DEC_LOOK_NUL | DEC_LOOK_ANY_CASE },
	{ "strncasecmp",
	  DEC_LOOK_DIFFERENT | DEC_LOOK_NUL | DEC_LOOK_COUNT | DEC_LOOK_ANY_CASE },
	{ "strlen", DEC_LOOK_NUL },
	{ "strnlen", DEC_LOOK_NUL | DEC_LOOK_SECOND },
	{ "strchr", DEC_LOOK_NUL | DEC_LOOK_FOUND },
	{ "strchrnul", DEC_LOOK_NUL | DEC_LOOK_FOUND },
	{ "strrchr", DEC_LOOK_NUL },
	{ "memchr", DEC_LOOK_FOUND | DEC_LOOK_COUNT },
	{ "rawmemchr", DEC_LOOK_FOUND },
};

/* ---- which there are -------------------------------------------------------------------------- */

static bool is_in_libc(struct dec_symbols *symbols, uint64_t entry)
{
	const char *module = dec_symbols_module(symbols, entry);
	const char *name = module ? strrchr(module, '/') : NULL;

	return name && !strncmp(name, "/libc", 5);
}

static struct err *add(fl_strings *list, uint64_t entry, uint8_t stops)
{
	for (size_t i = 0; i < list->size; i++)
		if (list->data[i].entry == entry)
			return NULL;
	return entry ? vec_add(list, (struct fl_string){ entry, stops }) : NULL;
}

struct err *fl_inputs_strings(struct fl_trace *t, struct dec_symbols *symbols,
			      fl_strings *ret)
{
	struct dec_machine *m = t->machine;
	struct dec_where w;
	struct err *err = dec_machine_seek(m, t->end.position, &w);

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && !err; i++) {
		uint64_t at[SLOTS], entry;
		size_t n = dec_symbols_slots(symbols, functions[i].name, at, SLOTS);

		// What a slot leads to has run, or it is still the linker's.
		for (size_t k = 0; k < n && k < SLOTS && !err; k++) {
			struct err *odd = dec_machine_read(m, at[k], &entry, 8);

			if (!odd && map_get(&t->insn_of, entry) &&
			    is_in_libc(symbols, entry))
				err = add(ret, entry, functions[i].stops);
			err_destroy(odd);
		}
	}
	return err;
}

/* ---- where they begin ----------------------------------------------------------------------------- */

static const struct fl_string *string_at(const struct walker *w, uint64_t rip)
{
	const uint64_t *at = map_get(&w->string_of, rip);

	return at ? &w->o.strings[*at] : NULL;
}

/* The string function that is entered at entry @p e of the window, whose record is at @p rec; *@p gpr:
 * the registers there. @return NULL: none is. */
static const struct fl_string *string_of_entry(const struct walker *w,
					       const struct trace_entry *e,
					       const uint8_t *rec, const uint64_t **gpr)
{
	const struct dec_rec_slow *slow = (const struct dec_rec_slow *)rec;
	const struct trace_block *b;

	if (e->what == ENTRY_OTHER)
		return NULL;
	// Near a signal all is stepped.
	if (e->what == ENTRY_SLOW) {
		*gpr = slow->gpr;
		return slow->is_watched ? string_at(w, slow->rip) : NULL;
	}
	b = &w->trace->blocks.data[e->what >> 6];
	*gpr = (const uint64_t *)(rec + 8);
	return b->is_watched ? string_at(w, b->rip) : NULL;
}

/* ---- the walk ------------------------------------------------------------------------------------ */

struct err *fl_inputs_strings_begin(struct walker *w)
{
	struct err *err = NULL;

	for (size_t i = 0; i < w->o.n_strings && !err; i++) {
		uint64_t entry = w->o.strings[i].entry;
		const uint64_t *insn = map_get(&w->trace->insn_of, entry);
		struct trace_place place = {};

		if (!insn)
			continue;
		err = dec_machine_log_looks_at(w->trace->machine, entry,
					       w->o.strings[i].stops);
		if (!err)
			err = fl_trace_place(w->trace, *insn, &place);
		if (!err && place.block != FLOW_NONE &&
		    (map_put(&w->string_of, entry, i) ||
		     map_put(&w->string_functions, place.function, i)))
			err = &err_nomem;
	}
	return err;
}

struct err *fl_inputs_is_string(struct walker *w, uint32_t insn, bool *ret)
{
	struct trace_place place = { .function = FLOW_NONE };
	struct err *err = NULL;

	if (w->o.n_strings)
		err = fl_trace_place(w->trace, insn, &place);
	*ret = place.function != FLOW_NONE &&
	       map_get(&w->string_functions, place.function);
	return err;
}

bool fl_inputs_string_left(struct walker *w, uint32_t function, struct label *ret)
{
	*ret = (struct label){};
	if (!map_get(&w->string_functions, function))
		return false;
	for (int i = 0; i < 8; i++) {
		struct label l = fl_inputs_take_reg(w, CAP_RAX, i, false);

		if (l.ways)
			fl_inputs_join(w, ret, &l);
	}
	return ret->ways;
}

/* What the log has of the function that begins here; NULL: nothing. */
static const struct trace_look *look_at(const struct walker *w)
{
	const struct trace_window *win = &w->trace->window;
	size_t i =
		vec_rank(win->looks.size, k, win->looks.data[k].position < w->position);

	return i < win->looks.size && win->looks.data[i].position == w->position ?
		       &win->looks.data[i] :
		       NULL;
}

/* The function that instruction @p insn is the entry of, with registers @p gpr, gives what is wanted of
 * its result. */
static struct err *string_gives(struct walker *w, const struct fl_string *f,
				uint32_t insn, const uint64_t *gpr,
				const struct label *wanted)
{
	const struct trace_look *look = look_at(w);
	struct label value = *wanted, address, control;
	struct err *err;

	if (!look)
		return err_new(
			ERR_FORMAT,
			"the machine's log is damaged: what strcmp() or its like looked at is not in it");
	err = fl_inputs_node(w, &value);
	value.ways = ways_plain(value.ways);
	value.ways = look->is_equal ? value.ways : ways_weak(value.ways);
	control = address = value;
	control.ways = ways_control(value.ways);
	address.ways = ways_address(value.ways);
	for (int k = 0; k < 8; k++) {
		fl_inputs_want_reg(w, CAP_RDI, k, &address);
		if (f->stops & (DEC_LOOK_DIFFERENT | DEC_LOOK_SECOND))
			fl_inputs_want_reg(w, CAP_RSI, k, &address);
		if (f->stops & DEC_LOOK_COUNT)
			fl_inputs_want_reg(w, CAP_RDX, k, &address);
	}
	if (f->stops & DEC_LOOK_FOUND)
		fl_inputs_want_reg(w, CAP_RSI, 0, &value);
	if (!err)
		err = fl_inputs_want_mem(w, gpr[CAP_RDI], look->n, &value);
	if (!err && (f->stops & DEC_LOOK_DIFFERENT))
		err = fl_inputs_want_mem(w, gpr[CAP_RSI], look->n, &value);
	return err ?: fl_inputs_wait(w, insn, &control, NULL);
}

struct err *fl_inputs_string_entered(struct walker *w, const struct trace_entry *e,
				     const uint8_t *rec, uint32_t insn)
{
	struct call *c = &w->at->calls.data[w->at->calls.size - 1];
	const uint64_t *gpr;
	const struct fl_string *f = c->string.ways ? string_of_entry(w, e, rec, &gpr) :
						     NULL;
	const struct label wanted = c->string;
	struct err *err;

	if (!f)
		return NULL;
	c->string.ways = 0;
	if (!w->at->is_numbered)
		return string_gives(w, f, insn, gpr, &wanted);
	err = fl_steps_open(w, w->at, GIVEN);
	if (!err)
		err = string_gives(w, f, insn, gpr, &wanted);
	return err ?: fl_steps_enter(w, GIVEN);
}
