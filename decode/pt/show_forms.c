// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "decode/pt/show_int.h"

static const char *const kind_names[] = {
	[SHOW_CALL] = "call", [SHOW_RETURN] = "return",	      [SHOW_JUMP] = "jump",
	[SHOW_COND] = "cond", [SHOW_SYSCALL] = "syscall",     [SHOW_START] = "start",
	[SHOW_STOP] = "stop", [SHOW_INTERRUPT] = "interrupt",
};

static void put(struct dec_pt_show *s, const char *text)
{
	fputs_unlocked(text, s->o.out);
}

/* As a column; what is longer shifts the rest of the line. */
static void put_padded(struct dec_pt_show *s, const char *text, size_t width)
{
	static const char spaces[] = "                                                ";
	size_t n = strlen(text);

	fwrite_unlocked(text, 1, n, s->o.out);
	fwrite_unlocked(spaces, 1, n < width ? width - n : 1, s->o.out);
}

/* ---- instructions --------------------------------------------------------------------------- */

struct err *dec_pt_show_instructions(struct dec_pt_show *s, const struct dec_pt_run *run)
{
	struct dec_pt_entry *e;
	struct err *err = dec_pt_book_find(s->book, run->ip, &e);

	for (uint32_t i = 0; !err && i < run->n_insns; i++) {
		if (i)
			err = dec_pt_book_next(s->book, e, &e);
		if (err || !e->is_wanted)
			continue;
		dec_pt_show_begin(s, run->tsc);
		fwrite_unlocked(e->line_text, 1, e->line_bytes, s->o.out);
	}
	return err;
}

/* ---- branches ------------------------------------------------------------------------------- */

static void branch_json(struct dec_pt_show *s, enum show_kind kind,
			const struct dec_pt_entry *from, const struct dec_pt_entry *to)
{
	fprintf(s->o.out, "\"branch\":\"%s\"", kind_names[kind]);
	if (from) {
		put(s, ",\"from\":{");
		put(s, from->json);
		put(s, "}");
	}
	if (to) {
		put(s, ",\"to\":{");
		put(s, to->json);
		put(s, "}");
	}
	put(s, "}\n");
}

static struct err *branch_show(struct dec_pt_show *s, enum show_kind kind,
			       const struct dec_pt_entry *from,
			       const struct dec_pt_entry *to, uint64_t tsc)
{
	if (s->o.form == DEC_PT_FORM_CALLS)
		return dec_pt_show_call(s, kind, from, to, tsc);
	if (!(from && from->is_wanted) && !(to && to->is_wanted))
		return NULL;
	dec_pt_show_begin(s, tsc);
	if (s->o.as_json) {
		branch_json(s, kind, from, to);
		return NULL;
	}
	put_padded(s, kind_names[kind], 10);
	put_padded(s, from ? from->where : "-", 44);
	put(s, " => ");
	put(s, to ? to->where : "-");
	putc_unlocked('\n', s->o.out);
	return NULL;
}

/* From where to where control went; either 0: unknown. Entries of the book move as others
 * come, hence the copy. */
static struct err *branch(struct dec_pt_show *s, enum show_kind kind, uint64_t from,
			  uint64_t to, uint64_t tsc)
{
	struct dec_pt_entry first = {}, *e = NULL;
	struct err *err = from ? dec_pt_book_find(s->book, from, &e) : NULL;

	if (err)
		return err;
	if (e)
		first = *e;
	e = NULL;
	if (to)
		err = dec_pt_book_find(s->book, to, &e);
	return err ? err : branch_show(s, kind, from ? &first : NULL, e, tsc);
}

/* @return how control left @p e by going to @p to; false: it went on behind it. */
static bool branch_kind(const struct dec_pt_entry *e, uint64_t to, enum show_kind *ret)
{
	switch ((enum dec_flow)e->flow) {
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
		*ret = SHOW_COND;
		return to != e->after;
	case DEC_FLOW_JMP:
	case DEC_FLOW_JMP_IND:
		*ret = SHOW_JUMP;
		return true;
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		*ret = SHOW_CALL;
		return true;
	case DEC_FLOW_RET:
		*ret = SHOW_RETURN;
		return true;
	case DEC_FLOW_SYSCALL:
		*ret = SHOW_SYSCALL;
		return true;
	default:
		return false;
	}
}

/* The thread comes to @p to: by the branch that it was last seen at, if it took that. */
static struct err *arrive(struct dec_pt_show *s, struct show_thread *t, uint64_t to,
			  uint64_t tsc)
{
	uint64_t from = t->from;
	struct dec_pt_entry *e;
	enum show_kind kind;
	struct err *err;

	t->from = 0;
	if (!from)
		return NULL;
	err = dec_pt_book_find(s->book, from, &e);
	if (err || !branch_kind(e, to, &kind))
		return err;
	return branch(s, kind, from, to, tsc);
}

struct err *dec_pt_show_branches(struct dec_pt_show *s, const struct dec_pt_run *run)
{
	struct show_thread *t = &s->threads.data[s->thread];
	struct err *err = arrive(s, t, run->ip, run->tsc);

	t->from = t->last = run->end_ip;
	return err;
}

/* Before instruction @p at, which did not run; @p to: where it led, 0 unknown. */
static struct err *on_interrupt(struct dec_pt_show *s, struct show_thread *t, uint64_t at,
				uint64_t to, uint64_t tsc)
{
	struct err *err = arrive(s, t, at, tsc);

	return err ? err : branch(s, SHOW_INTERRUPT, at, to, tsc);
}

static struct err *on_disabled(struct dec_pt_show *s, struct show_thread *t,
			       const struct dec_pt_event *ev)
{
	enum show_kind kind = SHOW_STOP;
	struct dec_pt_entry *e;
	struct err *err;

	if (ev->value)
		return on_interrupt(s, t, ev->value, 0, ev->tsc);
	if (t->from) {
		err = dec_pt_book_find(s->book, t->from, &e);
		if (err)
			return err;
		if (e->flow == DEC_FLOW_SYSCALL)
			kind = SHOW_SYSCALL;
	}
	return branch(s, kind, t->last, 0, ev->tsc);
}

struct err *dec_pt_show_branch_event(struct dec_pt_show *s, const struct dec_pt_event *ev)
{
	struct show_thread *t = &s->threads.data[s->thread];
	struct err *err = NULL;

	if (ev->kind == DEC_PT_EV_ENABLED)
		err = branch(s, SHOW_START, 0, ev->ip, ev->tsc);
	else if (ev->kind == DEC_PT_EV_DISABLED)
		err = on_disabled(s, t, ev);
	else if (ev->kind == DEC_PT_EV_BRANCH)
		err = on_interrupt(s, t, ev->value, ev->ip, ev->tsc);
	else
		return NULL; // in the middle of the flow
	t->from = 0;
	return err;
}
