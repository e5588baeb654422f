// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A patched program as C: the source with the texts of what changed exchanged, all else as it was,
 * comments and macros too.
 */
#include <string.h>

#include "base/cleanup.h"
#include "faultlocate/repair/repair.h"

struct change {
	struct rp_range at;
	char *text;
	size_t order; ///< of two at one place
};

struct rewriter {
	const struct rp_program *p;
	VEC(struct change) changes;
	bool has_failed;
};

static void change(struct rewriter *w, struct rp_range at, char *text)
{
	if (!text || vec_add(&w->changes, (struct change){ at, text, w->changes.size })) {
		free(text);
		w->has_failed = true;
	}
}

/* ---- what changed in its parts ----------------------------------------------------------------- */

static char *ref_text(const struct rp_program *p, const struct rp_ref *r, int type)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fl_rp_ref_print(p, r, type, out);
	fclose(out);
	return text;
}

/* Of an initialiser, a result or a part of an expression there is no left side. */
static char *op_text(const struct rp_program *p, const struct rp_op *op)
{
	bool is_bare = op->kind == RP_ASSIGN &&
		       (op->is_kept || p->variables.data[op->dst.var].is_hidden);
	struct rp_op bare = *op;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (is_bare)
		bare.kind = RP_TEST;
	fl_rp_op_print(p, &bare, out);
	fclose(out);
	return text;
}

static bool ref_differs(const struct rp_ref *a, const struct rp_ref *b)
{
	return a->var != b->var || a->field != b->field ||
	       (a->var == RP_NONE && a->value != b->value);
}

static void change_parts(struct rewriter *w, const struct rp_op *was,
			 const struct rp_op *now)
{
	const struct rp_ref *before[] = { &was->dst, &was->a, &was->b };
	const struct rp_ref *after[] = { &now->dst, &now->a, &now->b };
	bool differs = was->sign != now->sign, is_whole = now->is_whole || differs;

	for (int i = 0; i < 3; i++) {
		if (!ref_differs(before[i], after[i]))
			continue;
		differs = true;
		is_whole = is_whole || before[i]->at.from == before[i]->at.to;
	}
	if (differs && is_whole) {
		change(w, was->at, op_text(w->p, now));
		return;
	}
	for (int i = 0; i < 3; i++)
		if (ref_differs(before[i], after[i]))
			change(w, before[i]->at, ref_text(w->p, after[i], now->type));
}

/* ---- what goes ------------------------------------------------------------------------------------ */

static unsigned line_start(const struct rp_program *p, unsigned at)
{
	while (at && p->text[at - 1] != '\n')
		at--;
	return at;
}

static bool is_space(const struct rp_program *p, unsigned from, unsigned to)
{
	while (from < to && strchr(" \t", p->text[from]))
		from++;
	return from >= to;
}

static unsigned line_end(const struct rp_program *p, unsigned at)
{
	while (at < p->size && p->text[at] != '\n')
		at++;
	return at;
}

/* The statement with all of its lines, where it has them for itself. */
static void remove_statement(struct rewriter *w, const struct rp_statement *s,
			     const struct rp_block *b)
{
	struct rp_range at = s->at;
	unsigned start = line_start(w->p, at.from), end = line_end(w->p, at.to);

	if (!b->is_braced) {
		change(w, at, strdup(";"));
		return;
	}
	if (is_space(w->p, start, at.from) && is_space(w->p, at.to, end) &&
	    end < w->p->size)
		at = (struct rp_range){ start, end + 1 };
	change(w, at, strdup(""));
}

static void remove_op(struct rewriter *w, int number)
{
	for (size_t i = 0; i < w->p->blocks.size; i++) {
		const struct rp_block *b = w->p->blocks.data[i];

		for (size_t k = 0; k < b->list.size; k++) {
			const struct rp_statement *s = b->list.data[k];

			for (size_t n = 0; n < s->ops.size; n++)
				if (s->ops.data[n] == number)
					remove_statement(w, s, b);
			for (size_t n = 0; n < s->step.size; n++)
				if (s->step.data[n] == number)
					change(w, w->p->ops.data[number].at, strdup(""));
		}
	}
}

/* ---- what is new ------------------------------------------------------------------------------------ */

static char *new_line(const struct rp_program *p, unsigned like, const char *text,
		      bool is_deeper)
{
	unsigned start = line_start(p, like), end = start;
	char *line;

	while (end < p->size && strchr(" \t", p->text[end]))
		end++;
	if (asprintf(&line, "%.*s%s%s;\n", (int)(end - start), p->text + start,
		     is_deeper ? "\t" : "", text) < 0)
		return NULL;
	return line;
}

static void insert(struct rewriter *w, const struct rp_block *b, size_t index)
{
	const struct rp_program *p = w->p;
	_cleanup_free_ char *text =
		op_text(p, &p->ops.data[b->list.data[index]->ops.data[0]]);
	size_t next = index, before = index;
	unsigned at;
	char *all;

	if (!text) {
		w->has_failed = true;
		return;
	}
	while (next < b->list.size &&
	       b->list.data[next]->at.from == b->list.data[next]->at.to)
		next++;
	while (before && b->list.data[before]->at.from == b->list.data[before]->at.to)
		before--;
	// The first part of a for is before it in the list, and in it in the text.
	if (next + 1 < b->list.size &&
	    b->list.data[next + 1]->at.from < b->list.data[next]->at.from)
		next++;
	at = next < b->list.size ? b->list.data[next]->at.from : b->at.to - 1;
	if (is_space(p, line_start(p, at), at)) {
		bool is_alone = next >= b->list.size && before == index;
		unsigned like = next >= b->list.size && before != index ?
					b->list.data[before]->at.from :
					at;

		all = new_line(p, like, text, is_alone);
		at = line_start(p, at);
	} else if (asprintf(&all, "%s; ", text) < 0) {
		all = NULL;
	}
	change(w, (struct rp_range){ at, at }, all);
}

/* ---- variables that a patch has -------------------------------------------------------------------- */

static bool is_named(const struct rp_program *p, int var)
{
	for (size_t i = 0; i < p->ops.size; i++) {
		const struct rp_op *op = &p->ops.data[i];

		if (!op->is_removed && (op->kind == RP_ASSIGN || op->kind == RP_TEST) &&
		    (op->dst.var == var || op->a.var == var ||
		     (op->sign != RP_PLAIN && op->b.var == var)))
			return true;
	}
	return false;
}

/* Before the function's first statement, and what is new there. */
static void declare(struct rewriter *w, const struct rp_variable *v)
{
	const struct rp_block *b = w->p->functions.data[v->function].body;
	unsigned at = b->list.size ? b->list.data[0]->at.from : b->at.to - 1;
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, "%s *%s", w->p->records.data[v->type].spelling, v->name) <
	    0) {
		text = NULL;
		w->has_failed = true;
		return;
	}
	change(w, (struct rp_range){ line_start(w->p, at), line_start(w->p, at) },
	       new_line(w->p, at, text, false));
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at.from != y->at.from)
		return x->at.from < y->at.from ? -1 : 1;
	if (x->at.to != y->at.to) // a new line before what changes; the longer of two
		return x->at.to == x->at.from ? -1 :
		       y->at.to == y->at.from ? 1 :
		       x->at.to > y->at.to    ? -1 :
						1;
	return x->order < y->order ? -1 : 1;
}

static void gather(struct rewriter *w)
{
	const struct rp_program *p = w->p;

	for (size_t i = 0; i < p->variables.size; i++)
		if (p->variables.data[i].is_spare && is_named(p, (int)i))
			declare(w, &p->variables.data[i]);
	for (size_t i = 0; i < p->n_read; i++) {
		const struct rp_op *now = &p->ops.data[i];

		if (now->is_removed)
			remove_op(w, (int)i);
		else
			change_parts(w, &p->read[i], now);
	}
	for (size_t i = 0; i < p->blocks.size; i++) {
		const struct rp_block *b = p->blocks.data[i];

		for (size_t k = 0; k < b->list.size; k++) {
			const struct rp_statement *s = b->list.data[k];

			if (s->ops.size && p->ops.data[s->ops.data[0]].is_inserted &&
			    !p->ops.data[s->ops.data[0]].is_removed)
				insert(w, b, k);
		}
	}
	vec_sort(&w->changes, by_place);
}

struct err *fl_rp_rewrite(const struct rp_program *p, char **ret)
{
	struct rewriter w = { .p = p };
	char *text = NULL;
	size_t size, done = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return &err_nomem;
	gather(&w);
	for (size_t i = 0; i < w.changes.size; i++) {
		const struct change *c = &w.changes.data[i];

		if (c->at.from >=
		    done) { // else it is inside of what was exchanged as a whole
			fwrite(p->text + done, 1, c->at.from - done, out);
			fputs(c->text, out);
			done = c->at.to;
		}
		free(c->text);
	}
	fwrite(p->text + done, 1, p->size - done, out);
	vec_deinit(&w.changes);
	if (fclose(out) || w.has_failed) {
		free(text);
		return &err_nomem;
	}
	*ret = text;
	return NULL;
}
