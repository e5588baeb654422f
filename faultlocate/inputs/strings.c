// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Functions of the C library that look at text many bytes at a time, some of them behind its end, are
 * taken for what they mean: their result depends on the bytes up to where they stop, and a comparison
 * that found no difference is an exact test of each. Where that is follows from their arguments, which
 * are logged at their entries, and from memory then: the first of them that is met in a window has the
 * machine go through all of the window's.
 */

#include "faultlocate/inputs/walk.h"

#include <string.h>

#define CALLS_MAX 8192	    // of a window: each has the machine stop once
#define TEXT_MAX (1u << 20) // bytes that are looked through
#define PIECE 4096
#define SLOTS 32
#define UNMEASURED 64 // bytes that are supposed of a call beyond CALLS_MAX

/** Where a function stops. */
enum stop {
	STOP_DIFFERENT = 1, ///< two texts, at the first difference
	STOP_NUL = 2,	    ///< behind a NUL
	STOP_FOUND = 4,	    ///< behind the byte that the second argument is
	STOP_COUNT = 8,	    ///< at as many as the third argument says
	STOP_SECOND = 16,   ///< .. as the second one says
	STOP_ANY_CASE = 32, ///< letters are alike
};

static const struct {
	const char *name;
	uint8_t stops;
} functions[] = {
	{ "strcmp", STOP_DIFFERENT | STOP_NUL },
	{ "strncmp", STOP_DIFFERENT | STOP_NUL | STOP_COUNT },
	{ "memcmp", STOP_DIFFERENT | STOP_COUNT },
	{ "bcmp", STOP_DIFFERENT | STOP_COUNT },
	{ "strcasecmp", STOP_DIFFERENT | STOP_NUL | STOP_ANY_CASE },
	{ "strncasecmp", STOP_DIFFERENT | STOP_NUL | STOP_COUNT | STOP_ANY_CASE },
	{ "strlen", STOP_NUL },
	{ "strnlen", STOP_NUL | STOP_SECOND },
	{ "strchr", STOP_NUL | STOP_FOUND },
	{ "strchrnul", STOP_NUL | STOP_FOUND },
	{ "strrchr", STOP_NUL },
	{ "memchr", STOP_FOUND | STOP_COUNT },
	{ "rawmemchr", STOP_FOUND },
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

/* ---- where they stopped ------------------------------------------------------------------------ */

static int lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Read what there is of a piece of memory. */
static size_t read_piece(struct dec_machine *m, uint64_t addr, uint8_t *buf)
{
	size_t n = PIECE - addr % PIECE;
	struct err *err = dec_machine_read(m, addr, buf, n);

	if (err)
		n = 0;
	err_destroy(err);
	return n;
}

/** A text, read piece by piece. */
struct text {
	struct dec_machine *m;
	uint64_t at;
	uint8_t piece[PIECE];
	size_t used, n;
};

/* @return the next byte; -1: there is none. */
static int next_byte(struct text *t)
{
	if (t->used == t->n) {
		t->n = read_piece(t->m, t->at, t->piece);
		t->at += t->n;
		t->used = 0;
	}
	return t->n ? t->piece[t->used++] : -1;
}

/* How far does a function with @p stops go, where @p m stands, with these registers? */
static void measure(struct dec_machine *m, uint8_t stops, const uint64_t *gpr,
		    struct measure *ret)
{
	struct text a = { .m = m, .at = gpr[CAP_RDI] },
		    b = { .m = m, .at = gpr[CAP_RSI] };
	uint64_t most = stops & STOP_COUNT  ? gpr[CAP_RDX] :
			stops & STOP_SECOND ? gpr[CAP_RSI] :
					      TEXT_MAX;
	bool is_any = stops & STOP_ANY_CASE, differs = false, is_over = false;

	most = most < TEXT_MAX ? most : TEXT_MAX;
	for (ret->n = 0; ret->n < most && !is_over; ret->n++) {
		int c = next_byte(&a);
		int d = stops & STOP_DIFFERENT ? next_byte(&b) : c;

		if (c < 0 || d < 0)
			break;
		differs = is_any ? lower(c) != lower(d) : c != d;
		is_over = differs || ((stops & STOP_NUL) && !c) ||
			  ((stops & STOP_FOUND) && c == (uint8_t)gpr[CAP_RSI]);
	}
	ret->is_equal = (stops & STOP_DIFFERENT) && !differs && !is_any;
}

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

/* How many instructions an entry of a window stands for. */
static uint32_t length_of(const struct trace_entry *e, const uint8_t *rec)
{
	const struct dec_rec *r = (const struct dec_rec *)rec;

	if (e->what == ENTRY_SLOW)
		return 1;
	if (e->what != ENTRY_OTHER)
		return e->what & 63;
	return r->id == DEC_REC_SYSCALL || (r->id == DEC_REC_STATE && r->value[18]);
}

/* Have the machine go through the calls of the window at hand. */
static struct err *measure_window(struct walker *w)
{
	const struct trace_window *win = &w->trace->window;
	struct dec_machine *m = w->trace->machine;
	uint64_t position = win->begin;
	struct dec_where at;
	struct err *err = dec_machine_seek(m, win->begin, &at);

	w->measured_begin = win->begin;
	w->measured.size = 0;
	for (size_t i = 0; i < win->entries.size && !err; i++) {
		const struct trace_entry *e = &win->entries.data[i];
		const uint8_t *rec = win->log.data + 8 * (size_t)e->at;
		const uint64_t *gpr;
		const struct fl_string *f = string_of_entry(w, e, rec, &gpr);
		struct measure one = { .position = position };

		position += length_of(e, rec);
		if (!f)
			continue;
		if (w->measured.size >= CALLS_MAX)
			break;
		err = dec_machine_run(m, one.position, &at);
		if (!err)
			measure(m, f->stops, gpr, &one);
		if (!err)
			err = vec_add(&w->measured, one);
	}
	return err;
}

/* ---- the walk ------------------------------------------------------------------------------------ */

struct err *fl_inputs_strings_begin(struct walker *w)
{
	struct err *err = NULL;

	w->measured_begin = UINT64_MAX;
	for (size_t i = 0; i < w->o.n_strings && !err; i++) {
		uint64_t entry = w->o.strings[i].entry;
		const uint64_t *insn = map_get(&w->trace->insn_of, entry);
		struct trace_place place = {};

		if (!insn)
			continue;
		err = dec_machine_log_regs_at(w->trace->machine, entry, true);
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

/* The function that instruction @p insn is the entry of, with registers @p gpr, gives what is wanted of
 * its result. */
static struct err *string_gives(struct walker *w, const struct fl_string *f,
				uint32_t insn, const uint64_t *gpr,
				const struct label *wanted)
{
	struct measure unknown = { .n = UNMEASURED };
	const struct measure *one = &unknown;
	struct label value = *wanted, address, control;
	struct err *err = NULL;
	size_t i;

	if (w->measured_begin != w->trace->window.begin)
		err = measure_window(w);
	i = vec_rank(w->measured.size, k, w->measured.data[k].position < w->position);
	if (i < w->measured.size && w->measured.data[i].position == w->position)
		one = &w->measured.data[i];
	else
		w->in->n_unmeasured++;
	if (!err)
		err = fl_inputs_node(w, &value);
	value.ways = ways_plain(value.ways);
	value.ways = one->is_equal ? value.ways : ways_weak(value.ways);
	control = address = value;
	control.ways = ways_control(value.ways);
	address.ways = ways_address(value.ways);
	for (int k = 0; k < 8; k++) {
		fl_inputs_want_reg(w, CAP_RDI, k, &address);
		if (f->stops & (STOP_DIFFERENT | STOP_SECOND))
			fl_inputs_want_reg(w, CAP_RSI, k, &address);
		if (f->stops & STOP_COUNT)
			fl_inputs_want_reg(w, CAP_RDX, k, &address);
	}
	if (f->stops & STOP_FOUND)
		fl_inputs_want_reg(w, CAP_RSI, 0, &value);
	if (!err)
		err = fl_inputs_want_mem(w, gpr[CAP_RDI], one->n, &value);
	if (!err && (f->stops & STOP_DIFFERENT))
		err = fl_inputs_want_mem(w, gpr[CAP_RSI], one->n, &value);
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
	err = fl_steps_leave(w, w->at);
	return err ?: string_gives(w, f, insn, gpr, &wanted);
}
