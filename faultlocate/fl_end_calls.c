// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The calls under way at the end with their arguments, and what was written to stderr in them.
 * The replay knows when each call was made: registers and memory are looked at then.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "faultlocate/fl_end_int.h"

// Calls told: the innermost, and those that began it all.
#define CALLS_INNER 16
#define CALLS_OUTER 6
#define CALLS_OF_MANY 3 // where the stack is used up
#define MESSAGE_MAX 1000
// What the program said longer before its end was about something else.
#define MESSAGE_INSNS 50000000

/* ---- frames --------------------------------------------------------------------------- */

/* Of the heap's nodes, which one a pointer leads to. */
static void say_node(void *ctx, uint64_t addr, FILE *out);

/* A frame where it stands, and the analysis: what dec_frame's functions get. */
struct stand {
	struct fl_ender *e;
	struct dec_frame inner; ///< reads memory
	uint64_t time;
};

static bool read_there(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct stand *s = ctx;

	return s->inner.read(s->inner.ctx, addr, buf, size);
}

static void say_node(void *ctx, uint64_t addr, FILE *out)
{
	const struct stand *s = ctx;
	const struct hg_graph *g = s->e->a->sides[FL_SIDE_APP].graph;
	struct hg_node_id id = hg_graph_find(g, addr, s->time);
	bool is_freed = !id.v;

	if (is_freed)
		id = fl_end_freed(g, addr, s->time);
	if (id.v)
		fprintf(out, " (n%u%s)", id.v, is_freed ? ", freed" : "");
}

static struct err *add_frame(struct fl_ender *e, struct dec_place place, bool is_library,
			     const struct dec_frame *f, uint32_t depth)
{
	struct fl_end_frame *new = vec_push(&e->end->frames);
	size_t size;
	FILE *out;

	if (!new)
		return &err_nomem;
	place.inlined = NULL;
	place.n_inlined = 0;
	new->place = place;
	new->is_library = is_library;
	if (!f || is_library)
		return NULL;
	out = open_memstream(&new->arguments, &size);
	if (!out)
		return &err_nomem;
	dec_symbols_arguments(e->a->symbols, f, depth, out);
	return fclose(out) ? &err_nomem : NULL;
}

/* The frames of one call: those that are inlined, and the function itself. @p f: its state. */
static struct err *add_frames(struct fl_ender *e, uint64_t rip, const struct dec_frame *f)
{
	bool is_own = fl_end_is_own(e->a, rip);
	struct dec_place p = {}, at;
	struct err *err;

	e->a->places.place(e->a->places.ctx, rip, &p);
	err = add_frame(e, p, !is_own || fl_end_is_systems(p.file), f, 0);
	for (uint32_t i = 0; i < p.n_inlined && !err; i++) {
		at = p;
		at.file = p.inlined[i].file;
		at.line = p.inlined[i].line;
		at.function = p.inlined[i].function;
		err = add_frame(e, at, !is_own || fl_end_is_systems(at.file), f, i + 1);
	}
	return err;
}

/* Call number @p i, 0 the innermost: where it stands, when, and when its function was entered. */
static void call_at(const struct fl_ender *e, size_t i, uint64_t *rip, uint64_t *time,
		    uint64_t *entry)
{
	const frame_stack *calls = &e->end->calls;

	*rip = i ? calls->data[calls->size - i].return_rip - 1 : e->end->rip;
	*time = i ? calls->data[calls->size - i].time : e->at;
	*entry = i < calls->size ? calls->data[calls->size - i - 1].time + 1 : 0;
}

static struct err *add_call(struct fl_ender *e, size_t i)
{
	struct stand stand = { .e = e };
	struct dec_frame f = {}, entered = {};
	uint64_t rip, entry;
	struct err *err = NULL;

	call_at(e, i, &rip, &stand.time, &entry);
	if (!fl_end_is_own(e->a, rip))
		return add_frames(e, rip, NULL);
	if (entry)
		err = dec_express_frame(e->past, entry, rip, &entered);
	if (!err)
		err = dec_express_frame(e->past, stand.time, rip, &stand.inner);
	if (err)
		return err;
	f = stand.inner;
	f.has_entry = entry;
	memcpy(f.entry, entered.gpr, sizeof(f.entry));
	f.read = read_there;
	f.pointer = say_node;
	f.ctx = &stand;
	return add_frames(e, rip, &f);
}

/* How many calls there are up to the outermost one of the user's; all, if none is. */
static size_t calls_to_own(const struct fl_ender *e)
{
	size_t n = e->end->calls.size + 1;
	uint64_t rip, time, entry;

	for (size_t i = n; i > 0; i--) {
		call_at(e, i - 1, &rip, &time, &entry);
		if (fl_end_is_own(e->a, rip))
			return i;
	}
	return n;
}

/* What started the program, or the thread: for the lines of that the C library's debug information would
 * be unpacked, a third of what it takes to explain an end. */
static struct err *add_starter(struct fl_ender *e, size_t i)
{
	struct dec_place p;
	uint64_t rip, time, entry;

	call_at(e, i, &rip, &time, &entry);
	dec_symbols_place_bare(e->a->symbols, rip, &p);
	return add_frame(e, p, true, NULL, 0);
}

struct err *fl_end_calls(struct fl_ender *e)
{
	size_t n = e->end->calls.size + 1, n_to_own = calls_to_own(e);
	size_t inner = e->end->kind == FL_END_STACK ? CALLS_OF_MANY : CALLS_INNER;
	struct err *err = NULL;

	for (size_t i = e->has_called; i < n && !err; i++) {
		if (i == inner && n > inner + CALLS_OUTER) {
			e->end->n_hidden = n - inner - CALLS_OUTER;
			e->end->hidden_at = e->end->frames.size;
			i = n - CALLS_OUTER;
		}
		err = i < n_to_own ? add_call(e, i) : add_starter(e, i);
	}
	return err;
}

/* ---- what was said ------------------------------------------------------------------------- */

/** A system call that wrote to stderr. */
struct saying {
	uint64_t position, at, n;
	bool is_vector;
};

typedef VEC(struct saying) sayings;

static struct err *on_step(void *ctx, const struct dec_step *s)
{
	uint64_t reg[DEC_GPRS] = {};
	sayings *all = ctx;

	if (!s->insn || s->insn->flow != DEC_FLOW_SYSCALL)
		return NULL;
	for (size_t i = 0; i < s->n_refs; i++)
		if (!s->refs[i].is_def && !s->refs[i].is_mem && s->refs[i].reg < DEC_GPRS)
			memcpy(&reg[s->refs[i].reg], s->refs[i].value, 8);
	if ((reg[CAP_RAX] != SYS_write && reg[CAP_RAX] != SYS_writev) ||
	    reg[CAP_RDI] != 2)
		return NULL;
	return vec_add(all, (struct saying){ s->position, reg[CAP_RSI], reg[CAP_RDX],
					     reg[CAP_RAX] == SYS_writev });
}

static void copy_text(struct dec_machine *m, uint64_t addr, uint64_t n, FILE *out)
{
	char c;

	for (; n && ftell(out) < MESSAGE_MAX; n--, addr++) {
		struct err *err = dec_machine_read(m, addr, &c, 1);

		if (err) {
			err_destroy(err);
			return;
		}
		fputc(c ? c : ' ', out);
	}
}

static void copy_saying(struct dec_machine *m, const struct saying *s, FILE *out)
{
	for (uint64_t i = 0; s->is_vector && i < s->n && i < 64; i++) {
		uint64_t part[2];
		struct err *err = dec_machine_read(m, s->at + 16 * i, part, 16);

		if (err)
			err_destroy(err);
		else
			copy_text(m, part[0], part[1], out);
	}
	if (!s->is_vector)
		copy_text(m, s->at, s->n, out);
}

/* What was written to stderr from @p since on: *@p ret, or NULL. */
static struct err *said_since(struct fl_ender *e, uint64_t since, char **ret)
{
	const struct dec_trace o = { .step = on_step, .ctx = &(sayings){} };
	_cleanup_free_ char *text = NULL;
	sayings *all = o.ctx;
	struct dec_machine *m;
	struct dec_where w;
	size_t size;
	FILE *out;
	struct err *err = dec_past_seek(e->past, since, &m);

	if (!err)
		err = dec_machine_trace_for(m, e->at, &o, &w);
	out = err ? NULL : open_memstream(&text, &size);
	for (size_t i = 0; i < all->size && out && !err; i++) {
		err = dec_past_seek(e->past, all->data[i].position, &m);
		if (!err)
			copy_saying(m, &all->data[i], out);
	}
	vec_deinit(all);
	if (out && fclose(out) && !err)
		err = &err_nomem;
	for (size = text ? strlen(text) : 0; size && strchr("\n ", text[size - 1]);)
		text[--size] = 0;
	if (!err && size)
		*ret = take_ptr(&text);
	return err;
}

/* Since the innermost function of the user's called a library; or, where nothing was said there,
 * since that function was entered: `fprintf(stderr, ...); abort();`. */
struct err *fl_end_message(struct fl_ender *e)
{
	struct err *err = NULL;

	if (e->end->kind != FL_END_SENT || !e->end->calls.size ||
	    fl_end_is_own(e->a, e->end->rip))
		return NULL;
	for (size_t i = 1; i <= e->end->calls.size; i++) {
		uint64_t rip, time, entry;

		call_at(e, i, &rip, &time, &entry);
		if (!fl_end_is_own(e->a, rip))
			continue;
		if (e->at - time < MESSAGE_INSNS)
			err = said_since(e, time, &e->end->message);
		if (!err && !e->end->message && entry && e->at - entry < MESSAGE_INSNS)
			err = said_since(e, entry, &e->end->message);
		return err;
	}
	return NULL;
}
