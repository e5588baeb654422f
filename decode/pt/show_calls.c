// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Calls, indented by how deep they are. A return goes to the frame that it matches, so that
 * longjmp() and exceptions leave several at once; what returns to where no call was seen
 * (the trace began inside) leaves all. A call through a PLT stub is the function's that the
 * stub jumps to; a jump to a function's beginning is a call in the jumper's place.
 */

#include <string.h>

#include "decode/pt/show_int.h"

#define INDENT_MAX 40

void dec_pt_show_forget(struct show_thread *t)
{
	t->frames.size = 0;
	t->from = t->last = t->call_from = t->call_to = 0;
}

static void call_text(struct dec_pt_show *s, const char *what, size_t depth,
		      const struct dec_pt_entry *from)
{
	size_t indent = depth < INDENT_MAX ? depth : INDENT_MAX;

	fprintf(s->o.out, "%*s%s", (int)(2 * indent), "", what);
	if (from)
		fprintf(s->o.out, "  <- %s", from->where);
	putc_unlocked('\n', s->o.out);
}

static void call_json(struct dec_pt_show *s, const char *kind, size_t depth,
		      const struct dec_pt_entry *from, const struct dec_pt_entry *to)
{
	fprintf(s->o.out, "\"call\":\"%s\",\"depth\":%zu", kind, depth);
	if (from)
		fprintf(s->o.out, ",\"from\":{%s}", from->json);
	if (to)
		fprintf(s->o.out, ",\"to\":{%s}", to->json);
	fputs("}\n", s->o.out);
}

/* @p kind NULL: people are not told. */
static void call_show(struct dec_pt_show *s, const char *kind, const char *what,
		      size_t depth, const struct dec_pt_entry *from,
		      const struct dec_pt_entry *to, uint64_t tsc)
{
	if (!(from && from->is_wanted) && !(to && to->is_wanted))
		return;
	if (!s->o.as_json && !what)
		return;
	dec_pt_show_begin(s, tsc);
	if (s->o.as_json)
		call_json(s, kind, depth, from, to);
	else
		call_text(s, what, depth, from);
}

static struct err *frame_push(struct show_thread *t, uint64_t back)
{
	struct show_frame *f = vec_push(&t->frames);

	if (!f)
		return &err_nomem;
	f->back = back;
	return NULL;
}

/* Leave the frames up to the one that returns to @p to; a handler's returns anywhere. */
static void frame_pop(struct show_thread *t, uint64_t to)
{
	for (size_t i = t->frames.size; i-- > 0;) {
		if (t->frames.data[i].back != to && t->frames.data[i].back)
			continue;
		t->frames.size = i;
		return;
	}
	t->frames.size = 0;
}

/* The call that waits: of @p to, which its stub jumped to; NULL: there was no stub. */
static struct err *waiting_show(struct dec_pt_show *s, struct show_thread *t,
				const struct dec_pt_entry *to, uint64_t tsc)
{
	struct dec_pt_entry from, callee, *e;
	struct err *err;

	if (!t->call_from)
		return NULL;
	err = dec_pt_book_find(s->book, t->call_from, &e);
	if (err)
		return err;
	from = *e;
	err = to ? NULL : dec_pt_book_find(s->book, t->call_to, &e);
	if (err)
		return err;
	callee = to ? *to : *e;
	call_show(s, "call", callee.place, t->frames.size ? t->frames.size - 1 : 0, &from,
		  &callee, tsc);
	t->call_from = t->call_to = 0;
	return NULL;
}

static struct err *on_call(struct dec_pt_show *s, struct show_thread *t,
			   const struct dec_pt_entry *from, const struct dec_pt_entry *to,
			   uint64_t tsc)
{
	// A call of the next instruction only wants to know where it is.
	if (to && from->after == to->ip)
		return NULL;
	if (to && !to->is_entry) {
		t->call_from = from->ip;
		t->call_to = to->ip;
	} else {
		call_show(s, "call", to ? to->place : "?", t->frames.size, from, to, tsc);
	}
	return frame_push(t, from->after);
}

/* To a function's beginning: the call of the stub that jumps, or one in the jumper's
 * place. */
static struct err *on_jump(struct dec_pt_show *s, struct show_thread *t,
			   const struct dec_pt_entry *from, const struct dec_pt_entry *to,
			   uint64_t tsc)
{
	if (!to || !to->is_entry)
		return NULL;
	if (t->call_from)
		return waiting_show(s, t, to, tsc);
	if (!from->symbol || strcmp(from->symbol, to->symbol) != 0)
		call_show(s, "tail", to->place, t->frames.size ? t->frames.size - 1 : 0,
			  from, to, tsc);
	return NULL;
}

/* The kernel let it go on elsewhere: in a signal's handler, or where it was. */
static struct err *on_start(struct dec_pt_show *s, struct show_thread *t,
			    const struct dec_pt_entry *to, uint64_t tsc)
{
	if (!t->left || !to || to->ip == t->left || !to->is_entry)
		return NULL;
	call_show(s, "signal", to->place, t->frames.size, NULL, to, tsc);
	return frame_push(t, 0);
}

struct err *dec_pt_show_call(struct dec_pt_show *s, enum show_kind kind,
			     const struct dec_pt_entry *from,
			     const struct dec_pt_entry *to, uint64_t tsc)
{
	struct show_thread *t = &s->threads.data[s->thread];
	struct err *err = kind == SHOW_JUMP || kind == SHOW_COND ?
				  NULL :
				  waiting_show(s, t, NULL, tsc);

	if (err)
		return err;
	switch (kind) {
	case SHOW_CALL:
		return on_call(s, t, from, to, tsc);
	case SHOW_JUMP:
		return on_jump(s, t, from, to, tsc);
	case SHOW_RETURN:
		frame_pop(t, to ? to->ip : 0);
		call_show(s, "return", NULL, t->frames.size, from, to, tsc);
		return NULL;
	case SHOW_SYSCALL:
		call_show(s, "syscall", "[system call]", t->frames.size, from, NULL, tsc);
		t->left = from ? from->after : 0;
		return NULL;
	case SHOW_INTERRUPT:
	case SHOW_STOP:
		call_show(s, "interrupt", "[interrupted]", t->frames.size, from, NULL,
			  tsc);
		if (from)
			t->left = kind == SHOW_STOP ? from->after : from->ip;
		else
			t->left = 0;
		return NULL;
	case SHOW_START:
		err = on_start(s, t, to, tsc);
		t->left = 0;
		return err;
	case SHOW_COND:
		return NULL;
	}
	return err;
}
