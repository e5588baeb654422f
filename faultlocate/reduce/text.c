// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Passes go from the text's end to its start: what is used stands before its uses mostly, and can go
 * when these have.
 */

#include "faultlocate/reduce/text.h"

#include <ctype.h>
#include <string.h>

#include "faultlocate/inputs/inputs.h"

#define LINES_LEAST 4 // fewer are not worth it
#define NEAREST 4     // so many times as many lines are tried next

bool fl_text_is_one(const struct fl_tree *t)
{
	for (size_t i = 0; i < t->n_bytes; i++)
		if (t->data[i] < ' ' && !strchr("\t\n\r", t->data[i]))
			return false;
	return t->n_bytes && !memchr(t->data, 0, t->n_bytes);
}

/* ---- lines ------------------------------------------------------------------------------------- */

/** A line. */
struct line {
	uint32_t number;
	uint32_t depth; ///< of its nearest byte in the tree; UINT32_MAX: none is in it
};

/** The lines of a text. */
struct lines {
	VEC(struct line) all;
	uint32_t *of; ///< of each byte
};

static int nearest_first(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* @return of each node how far it is from the failure, free(); NULL: no memory. */
static uint32_t *find_depths(const struct fl_tree *t)
{
	uint32_t *depth = calloc(t->n_nodes, sizeof(*depth));

	for (size_t i = 2; i < t->n_nodes && depth; i++)
		depth[i] = depth[t->parents[i]] + 1;
	return depth;
}

static struct err *find_lines(const struct fl_tree *t, struct lines *ret)
{
	_cleanup_free_ uint32_t *depth = find_depths(t);
	struct err *err = NULL;

	ret->of = calloc(t->n_bytes + 1, sizeof(*ret->of));
	if (!ret->of || !depth)
		return &err_nomem;
	for (size_t i = 0; i < t->n_bytes && !err; i++) {
		struct line *l;

		if (!i || t->data[i - 1] == '\n')
			err = vec_add(&ret->all, (struct line){ .number = ret->all.size,
								.depth = UINT32_MAX });
		if (err)
			break;
		ret->of[i] = ret->all.size - 1;
		l = &ret->all.data[ret->of[i]];
		if (t->roles[i] && depth[t->nodes[i]] < l->depth)
			l->depth = depth[t->nodes[i]];
	}
	return err;
}

/* Try the nearest line, the four nearest, ... */
static struct err *keep_nearest(struct fl_reduce *r, const struct fl_tree *t)
{
	struct lines l = {};
	struct err *err = find_lines(t, &l);
	size_t n_lines = l.all.size;
	_cleanup_free_ bool *is_in = calloc(n_lines + 1, sizeof(*is_in));
	_cleanup_free_ bool *keep = calloc(t->n_bytes + 1, sizeof(*keep));
	bool is_found = n_lines < LINES_LEAST;

	if (!is_in || !keep)
		err = err ?: &err_nomem;
	vec_sort(&l.all, nearest_first);
	for (size_t n = 1, had = 0; n < n_lines && !is_found && !err;
	     had = n, n *= NEAREST) {
		for (size_t i = had; i < n; i++)
			is_in[l.all.data[i].number] = true;
		for (size_t i = 0; i < t->n_bytes; i++)
			keep[i] = is_in[l.of[i]];
		err = fl_reduce_try(r, keep, &is_found);
	}
	vec_deinit(&l.all);
	free(l.of);
	return err;
}

/* Try what is left of the nearest bytes alone: those that one instruction was given, in its turns. */
static struct err *keep_nearest_bytes(struct fl_reduce *r, const struct fl_tree *t)
{
	size_t n;
	const uint32_t *kept = fl_reduce_kept(r, &n);
	_cleanup_free_ uint32_t *depth = find_depths(t);
	_cleanup_free_ bool *keep = calloc(t->n_bytes + 1, sizeof(*keep));
	uint32_t least = UINT32_MAX;
	bool is_found;

	if (!depth || !keep)
		return &err_nomem;
	for (size_t i = 0; i < n; i++)
		if (t->roles[kept[i]] && depth[t->nodes[kept[i]]] < least)
			least = depth[t->nodes[kept[i]]];
	for (size_t i = 0; i < n; i++)
		keep[kept[i]] = t->roles[kept[i]] && depth[t->nodes[kept[i]]] == least;
	return fl_reduce_try(r, keep, &is_found);
}

/* ---- brackets ------------------------------------------------------------------------------------ */

/*
 * Lines, statements and elements at a depth of brackets, with what is in brackets within them. A bracket
 * without its other one counts as any character.
 */
struct nest {
	const uint8_t *data;
	const uint32_t *kept;
	size_t n;
	int8_t *step; ///< of each byte that is left: 1 opens, -1 closes, as one of a pair
	uint32_t *depth; ///< of the same; a bracket's is that outside of it
	uint32_t deepest;
};

static void nest_deinit(struct nest *t)
{
	free(t->step);
	free(t->depth);
}

/* @return the bracket that closes @p c; 0: none opens. */
static uint8_t closing(uint8_t c)
{
	return c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : 0;
}

static struct err *find_nest(struct nest *t)
{
	_cleanup_free_ size_t *open = malloc((t->n + 1) * sizeof(*open));
	size_t n_open = 0;
	uint32_t depth = 0;

	t->step = calloc(t->n + 1, sizeof(*t->step));
	t->depth = malloc((t->n + 1) * sizeof(*t->depth));
	if (!open || !t->step || !t->depth)
		return &err_nomem;
	for (size_t i = 0; i < t->n; i++) {
		uint8_t c = t->data[t->kept[i]];
		size_t k = n_open;

		if (closing(c))
			open[n_open++] = i;
		if (!strchr(")]}", c))
			continue;
		while (k && closing(t->data[t->kept[open[k - 1]]]) != c)
			k--;
		if (!k)
			continue;
		n_open = k - 1;
		t->step[open[n_open]] = 1;
		t->step[i] = -1;
	}
	for (size_t i = 0; i < t->n; i++) {
		depth -= t->step[i] < 0;
		t->depth[i] = depth;
		depth += t->step[i] > 0;
		t->deepest = depth > t->deepest ? depth : t->deepest;
	}
	return NULL;
}

/* Ask about what @p separators separate at depth @p depth, if one of them is there. @p has_more: there is
 * more inside. */
static struct err *ask_depth(struct fl_reduce *r, const struct fl_tree *t, uint32_t depth,
			     const char *separators, bool *has_more)
{
	struct nest nest = { .data = t->data };
	_cleanup_free_ uint32_t *group = malloc((t->n_bytes + 1) * sizeof(*group));
	uint32_t n = t->n_bytes;
	bool is_any = false;
	struct err *err;

	nest.kept = fl_reduce_kept(r, &nest.n);
	err = group ? find_nest(&nest) : &err_nomem;
	for (size_t i = 0; i < nest.n && !err; i++) {
		bool is_outside = nest.depth[i] < depth;
		bool is_end = nest.depth[i] == depth &&
			      strchr(separators, t->data[nest.kept[i]]);

		group[nest.kept[i]] = is_outside ? FL_GROUP_STAYS : n;
		n -= is_outside || is_end;
		is_any |= is_end;
	}
	*has_more = !err && nest.deepest > depth;
	nest_deinit(&nest);
	return err || !is_any ? err : fl_reduce_pass(r, group, (t->n_bytes - n) / 2);
}

static struct err *reduce_nest(struct fl_reduce *r, const struct fl_tree *t)
{
	bool has_more = true;
	struct err *err = NULL;

	for (uint32_t depth = 0; has_more && !err; depth++) {
		err = ask_depth(r, t, depth, "\n", &has_more);
		if (!err)
			err = ask_depth(r, t, depth, "\n;,", &has_more);
	}
	return err;
}

static bool is_of_word(uint8_t c)
{
	return isalnum(c) || c == '_' || c >= 0x80;
}

/* Ask about pairs of brackets at depth @p depth with what is in them and the word before: calls, conditions.
 * @p has_more: there is more inside. */
static struct err *ask_calls(struct fl_reduce *r, const struct fl_tree *t, uint32_t depth,
			     bool *has_more)
{
	struct nest nest = { .data = t->data };
	_cleanup_free_ uint32_t *group = malloc((t->n_bytes + 1) * sizeof(*group));
	uint32_t n = t->n_bytes;
	bool is_in = false, is_word = false;
	struct err *err;

	nest.kept = fl_reduce_kept(r, &nest.n);
	err = group ? find_nest(&nest) : &err_nomem;
	// From the end: a pair begins with what closes it.
	for (size_t i = err ? 0 : nest.n; i--;) {
		uint8_t c = t->data[nest.kept[i]];
		bool is_here = nest.depth[i] == depth;

		if (is_here && nest.step[i] < 0)
			is_in = true;
		else if (!is_in)
			is_word &= is_of_word(c);
		n -= is_here && nest.step[i] < 0;
		group[nest.kept[i]] = is_in || is_word ? t->n_bytes - n : FL_GROUP_STAYS;
		if (is_here && nest.step[i] > 0) {
			is_in = false;
			is_word = true;
		}
	}
	*has_more = !err && nest.deepest > depth;
	nest_deinit(&nest);
	return err ?: fl_reduce_pass(r, group, 0);
}

/* ---- clauses ------------------------------------------------------------------------------------- */

/* The end of the statement or element that byte @p i of @p t is in: where what separates stands at its depth, or
 * the bracket around it closes. */
static size_t end_of(const struct nest *t, size_t i)
{
	uint32_t depth = t->depth[i];

	while (i < t->n && t->depth[i] >= depth &&
	       (t->depth[i] > depth || !strchr("\n;,", t->data[t->kept[i]])))
		i++;
	return i;
}

/* Without what is left of bytes [from, to), by their places. */
static struct err *try_without(struct fl_reduce *r, const struct nest *nest, size_t from,
			       size_t to, bool *keep, bool *has_gone)
{
	for (size_t i = 0; i < nest->n; i++)
		keep[nest->kept[i]] = i < from || i >= to;
	return fl_reduce_try(r, keep, has_gone);
}

/* Are bytes [from, to) of what is left several words? One has been asked about. */
static bool has_several(const struct nest *t, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (!is_of_word(t->data[t->kept[i]]))
			return true;
	return false;
}

/* Ask about what follows a blank up to the end of its statement: a clause, of several words, none of which can go alone.
 * The shorter ones first. */
static struct err *reduce_clauses(struct fl_reduce *r, const struct fl_tree *t)
{
	_cleanup_free_ bool *keep = malloc((t->n_bytes + 1) * sizeof(*keep));
	struct err *err = keep ? NULL : &err_nomem;
	size_t at = SIZE_MAX;

	while (at && !err && !fl_reduce_stats(r).was_interrupted) {
		struct nest nest = { .data = t->data };
		bool has_gone = false;

		nest.kept = fl_reduce_kept(r, &nest.n);
		err = find_nest(&nest);
		at = at < nest.n ? at : nest.n;
		while (at && !err && !has_gone) {
			size_t end;

			if (t->data[nest.kept[--at]] != ' ')
				continue;
			end = end_of(&nest, at);
			if (has_several(&nest, at + 1, end))
				err = try_without(r, &nest, at, end, keep, &has_gone);
		}
		nest_deinit(&nest);
	}
	return err;
}

/* ---- words --------------------------------------------------------------------------------------- */

/* A word, or a part of one: what is left of bytes [from, to) of the input. */
typedef VEC(struct fl_unit) pieces;

struct words {
	const struct fl_tree *t;
	struct fl_reduce *r;
	bool *is_left; ///< of each byte, before something was asked
	pieces all;    ///< that are looked at
	pieces parts;  ///< of them, that are asked about
	uint32_t *group;
};

/* The bytes that are left of [from, to), into *@p ret, @p n of them. */
static const uint32_t *left_of(const struct words *w, struct fl_unit u, size_t *n)
{
	size_t size, from, to;
	const uint32_t *kept = fl_reduce_kept(w->r, &size);

	from = vec_rank(size, i, kept[i] < u.from);
	for (to = from; to < size && kept[to] < u.to;)
		to++;
	*n = to - from;
	return kept + from;
}

static struct err *find_words(struct words *w)
{
	size_t n;
	const uint32_t *kept = fl_reduce_kept(w->r, &n);
	_cleanup_free_ uint8_t *text = malloc(n + 1);
	fl_units units = {};
	struct err *err = text ? NULL : &err_nomem;

	for (size_t i = 0; i < n && text; i++)
		text[i] = w->t->data[kept[i]];
	if (!err)
		err = fl_units_split(FL_UNIT_TOKENS, text, n, &units);
	w->all.size = 0;
	for (size_t i = 0; i < units.size && !err; i++)
		err = vec_add(&w->all,
			      (struct fl_unit){ kept[units.data[i].from],
						kept[units.data[i].to - 1] + 1 });
	vec_deinit(&units);
	return err;
}

static void note_left(struct words *w)
{
	size_t n;
	const uint32_t *kept = fl_reduce_kept(w->r, &n);

	memset(w->is_left, 0, w->t->n_bytes * sizeof(*w->is_left));
	for (size_t i = 0; i < n; i++)
		w->is_left[kept[i]] = true;
}

/* Ask about the parts. */
static struct err *ask(struct words *w, size_t chunk)
{
	memset(w->group, 0xff, w->t->n_bytes * sizeof(*w->group)); // FL_GROUP_STAYS
	for (size_t i = 0; i < w->parts.size; i++)
		for (size_t k = w->parts.data[i].from; k < w->parts.data[i].to; k++)
			w->group[k] = w->parts.size - i;
	return fl_reduce_pass(w->r, w->group, chunk);
}

/* Has something of the bytes between @p from and @p to, or of them, gone? */
static bool has_gone(const struct words *w, size_t from, size_t to)
{
	size_t n, was = 0;

	left_of(w, (struct fl_unit){ from, to }, &n);
	for (size_t i = from; i < to; i++)
		was += w->is_left[i];
	return was > n;
}

/* Where something has gone, ask about the words there: what stayed for its sake may go now. */
static struct err *ask_beside(struct words *w)
{
	struct err *err = NULL;

	do {
		err = find_words(w);
		w->parts.size = 0;
		for (size_t i = 0; i < w->all.size && !err; i++) {
			size_t from = i ? w->all.data[i - 1].to : 0;
			size_t to = i + 1 < w->all.size ? w->all.data[i + 1].from :
							  w->t->n_bytes;

			if (has_gone(w, from, to))
				err = vec_add(&w->parts, w->all.data[i]);
		}
		note_left(w);
		if (!err)
			err = ask(w, 0);
	} while (w->parts.size && !err && !fl_reduce_stats(w->r).was_interrupted);
	return err;
}

static struct err *ask_words(struct words *w, bool most_go)
{
	struct err *err = find_words(w);

	w->parts.size = 0;
	for (size_t i = 0; i < w->all.size && !err; i++)
		err = vec_add(&w->parts, w->all.data[i]);
	note_left(w);
	if (!err)
		err = ask(w, most_go ? w->all.size / 2 : 1);
	return err ?: ask_beside(w);
}

/* Ask about the longest word alone: what has come to be around it may be for nothing. */
static struct err *ask_longest(struct words *w, bool *has_gone)
{
	_cleanup_free_ bool *keep = calloc(w->t->n_bytes + 1, sizeof(*keep));
	struct fl_unit longest = {};
	size_t n, most = 0;
	struct err *err = keep ? find_words(w) : &err_nomem;

	for (size_t i = 0; i < w->all.size && !err; i++) {
		left_of(w, w->all.data[i], &n);
		if (n > most)
			longest = w->all.data[i];
		most = n > most ? n : most;
	}
	for (size_t i = longest.from; i < longest.to; i++)
		keep[i] = true;
	return err || w->all.size < 2 ? err : fl_reduce_try(w->r, keep, has_gone);
}

/* What is asked about of a word: its first and last byte; its halves, if one of these could go; then its ends
 * until none can. A word that has to stay as it is, as most do, takes two runs. */
enum word_step { ENDS, HALVES, LAST_ENDS, DONE };

static enum word_step next_step(enum word_step now, bool has_gone)
{
	if (now == HALVES)
		return has_gone ? HALVES : LAST_ENDS;
	return !has_gone ? DONE : now == ENDS ? HALVES : LAST_ENDS;
}

/* Ask about two parts of word @p u, of which @p n bytes are left, at @p left. */
static struct err *add_parts(struct words *w, struct fl_unit u, const uint32_t *left,
			     size_t n, enum word_step step)
{
	bool is_half = step == HALVES;
	struct err *err;

	if (n < 2 || step == DONE)
		return NULL;
	err = vec_add(&w->parts,
		      (struct fl_unit){ u.from, is_half ? left[n / 2] : left[0] + 1 });
	return err   ?:
		       vec_add(&w->parts,
			       (struct fl_unit){ left[is_half ? n / 2 : n - 1], u.to });
}

/* One step of each word. @p steps: in: what is asked about; out: what is next. */
static struct err *ask_parts(struct words *w, uint8_t *steps)
{
	_cleanup_free_ size_t *had = calloc(w->all.size + 1, sizeof(*had));
	struct err *err = had ? NULL : &err_nomem;

	w->parts.size = 0;
	for (size_t i = 0; i < w->all.size && !err; i++) {
		const uint32_t *left = left_of(w, w->all.data[i], &had[i]);

		err = add_parts(w, w->all.data[i], left, had[i], steps[i]);
	}
	if (!err)
		err = ask(w, 0);
	for (size_t i = 0; i < w->all.size && !err; i++) {
		size_t n;

		left_of(w, w->all.data[i], &n);
		steps[i] = next_step(steps[i], n < had[i]);
	}
	return err;
}

static struct err *reduce_parts(struct words *w)
{
	struct err *err = find_words(w);
	_cleanup_free_ uint8_t *steps = calloc(w->all.size + 1, sizeof(*steps)); // ENDS

	if (!steps)
		err = err ?: &err_nomem;
	do {
		err = err ?: ask_parts(w, steps);
	} while (w->parts.size && !err && !fl_reduce_stats(w->r).was_interrupted);
	return err ?: ask_beside(w);
}

static struct err *reduce_calls(struct fl_reduce *r, const struct fl_tree *t)
{
	bool has_more = true;
	struct err *err = NULL;

	for (uint32_t depth = 0; has_more && !err; depth++)
		err = ask_calls(r, t, depth, &has_more);
	return err;
}

static struct err *reduce_words(struct fl_reduce *r, const struct fl_tree *t,
				bool most_go)
{
	struct words w = { .t = t, .r = r };
	bool has_gone = false;
	struct err *err;

	w.group = malloc((t->n_bytes + 1) * sizeof(*w.group));
	w.is_left = malloc((t->n_bytes + 1) * sizeof(*w.is_left));
	err = w.group && w.is_left ? ask_words(&w, most_go) : &err_nomem;
	if (!err)
		note_left(&w);
	if (!err)
		err = reduce_calls(r, t);
	if (!err)
		err = reduce_clauses(r, t);
	if (!err)
		err = reduce_parts(&w);
	if (!err)
		err = ask_longest(&w, &has_gone);
	if (has_gone && !err)
		err = reduce_parts(&w);
	vec_deinit(&w.all);
	vec_deinit(&w.parts);
	free(w.group);
	free(w.is_left);
	return err;
}

struct err *fl_text_reduce(struct fl_reduce *r, const struct fl_tree *t)
{
	size_t before = fl_reduce_stats(r).n_units;
	struct err *err = t->roles ? keep_nearest(r, t) : NULL;

	if (!err && t->roles)
		err = keep_nearest_bytes(r, t);
	if (!err)
		err = reduce_nest(r, t);
	return err ?: reduce_words(r, t, fl_reduce_stats(r).n_units == before);
}
