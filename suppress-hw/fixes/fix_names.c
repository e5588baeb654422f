// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What fixes are called (paper 003, Table 8.2, and some more), and which of them make one statement
 * of another.
 */
#include <stdio.h>
#include <string.h>

#include "suppress-hw/fixes/fixes_int.h"

static const struct {
	const char *name, *meaning;
} known[] = {
	{ "opm", "another operator" },
	{ "copm", "another comparison" },
	{ "lopm", "another logical operator" },
	{ "c+-", "another constant" },
	{ "c+", "a larger constant" },
	{ "c-", "a smaller constant" },
	{ "e+t", "a term more" },
	{ "e-t", "a term less" },
	{ "e+1", "1 more in the expression" },
	{ "e-1", "1 less in the expression" },
	{ "v+", "a larger value of a variable" },
	{ "v-", "a smaller value of a variable" },
	{ "vm", "another variable" },
	{ "fm", "another function" },
	{ "neg", "the opposite" },
	{ "cond+", "a condition more" },
	{ "cond-", "a condition less" },
	{ "stm+", "a statement more" },
	{ "stm-", "without the statement" },
	{ "exp", "another expression" },
};

enum { N_KNOWN = sizeof(known) / sizeof(*known) };

const char *const fix_names[] = { "opm", "copm",  "lopm",  "c+-",  "c+",   "c-",  "e+t",
				  "e-t", "e+1",	  "e-1",   "v+",   "v-",   "vm",  "fm",
				  "neg", "cond+", "cond-", "stm+", "stm-", "exp", NULL };

static const char *const operators[] = { "<=", ">=", "==",  "!=",  "<",	 ">",  "&&",
					 "||", "+=", "-=",  "*=",  "/=", "%=", "&=",
					 "|=", "^=", "<<=", ">>=", "<<", ">>", "++",
					 "--", "+",  "-",   "*",   "/",	 "%",  "&",
					 "|",  "^",  "~",   "!",   "=",	 NULL };

bool fix_is_comparison(const char *text)
{
	return !strcmp(text, "<") || !strcmp(text, ">") || !strcmp(text, "<=") ||
	       !strcmp(text, ">=") || !strcmp(text, "==") || !strcmp(text, "!=");
}

static bool is_operator(const char *text, size_t n)
{
	for (size_t i = 0; operators[i]; i++)
		if (strlen(operators[i]) == n && !strncmp(operators[i], text, n))
			return true;
	return false;
}

/* "A|B". Of "||" the bar between two operators is meant: where both sides are some. */
bool fix_split(const char *fix, char from[4], char to[4])
{
	size_t n = strlen(fix);

	for (size_t i = 1; i + 1 < n; i++) {
		if (fix[i] != '|' || !is_operator(fix, i) ||
		    !is_operator(fix + i + 1, n - i - 1))
			continue;
		snprintf(from, 4, "%.*s", (int)i, fix);
		snprintf(to, 4, "%s", fix + i + 1);
		return true;
	}
	return false;
}

bool fix_is_known(const char *fix)
{
	char from[4], to[4];

	for (size_t i = 0; i < N_KNOWN; i++)
		if (!strcmp(known[i].name, fix))
			return true;
	if (!strncmp(fix, "own:", 4)) {
		size_t n = strlen(fix + 4);

		return n && n <= 48 &&
		       strspn(fix + 4,
			      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789+-_.") == n;
	}
	return fix_split(fix, from, to) && strcmp(from, to);
}

const char *fix_meaning(const char *fix)
{
	static char text[64];
	char from[4], to[4];

	for (size_t i = 0; i < N_KNOWN; i++)
		if (!strcmp(known[i].name, fix))
			return known[i].meaning;
	if (!fix_split(fix, from, to))
		return "a fix of your own";
	snprintf(text, sizeof(text), "%s in the place of %s", to, from);
	return text;
}

/* ---- what was done --------------------------------------------------------------------------------- */

/** Tokens [from, to) of a statement. */
struct part {
	const struct fix_token *of;
	size_t n;
};

static bool is_text(const struct part *p, size_t i, const char *text)
{
	return i < p->n && !strcmp(p->of[i].text, text);
}

static bool has_logic(const struct part *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_text(p, i, "&&") || is_text(p, i, "||"))
			return true;
	return false;
}

bool fix_number(const struct fix_token *t, int64_t *ret)
{
	char *end;

	if (t->kind != FIX_CONSTANT)
		return false;
	if (t->text[0] == '\'' && t->text[1] != '\\' && strlen(t->text) == 3) {
		*ret = t->text[1];
		return true;
	}
	*ret = strtoll(t->text, &end, 0);
	return end != t->text && strspn(end, "uUlL") == strlen(end);
}

static struct err *compare_constants(const struct fix_token *a, const struct fix_token *b,
				     fix_words *ret)
{
	struct err *err = fix_words_add(ret, "c+-");
	double from = strtod(a->text, NULL), to = strtod(b->text, NULL);
	int64_t x, y;

	if (fix_number(a, &x) && fix_number(b, &y)) {
		from = (double)x;
		to = (double)y;
	}
	return err || from == to ? err : fix_words_add(ret, from < to ? "c+" : "c-");
}

static struct err *compare_operators(const char *a, const char *b, fix_words *ret)
{
	struct err *err = fix_words_add(ret, "opm");
	char both[12];

	if (!err && fix_is_comparison(a) && fix_is_comparison(b))
		err = fix_words_add(ret, "copm");
	if (!err && (!strcmp(a, "&&") || !strcmp(a, "||")) &&
	    (!strcmp(b, "&&") || !strcmp(b, "||")))
		err = fix_words_add(ret, "lopm");
	snprintf(both, sizeof(both), "%.3s|%.3s", a, b);
	return err || !fix_is_known(both) ? err : fix_words_add(ret, both);
}

static struct err *compare_one(const struct fix_token *a, const struct fix_token *b,
			       fix_words *ret)
{
	if (a->kind == FIX_OPERATOR && b->kind == FIX_OPERATOR)
		return compare_operators(a->text, b->text, ret);
	if (a->kind == FIX_CONSTANT && b->kind == FIX_CONSTANT)
		return compare_constants(a, b, ret);
	if (a->kind == FIX_CALL && b->kind == FIX_CALL)
		return fix_words_add(ret, "fm");
	if ((a->kind == FIX_VARIABLE || a->kind == FIX_CONSTANT) &&
	    (b->kind == FIX_VARIABLE || b->kind == FIX_CONSTANT))
		return fix_words_add(ret, "vm");
	return fix_words_add(ret, "exp");
}

/* @p more came in, or, not @p is_added, went. */
static struct err *compare_more(const struct part *more, bool is_added, fix_words *ret)
{
	bool is_plus = is_text(more, 0, "+") || is_text(more, more->n - 1, "+");
	bool is_minus = is_text(more, 0, "-");
	bool is_up = is_plus == is_added;
	struct err *err;

	if (is_text(more, 0, "!") && more->n <= 3)
		return fix_words_add(ret, "neg");
	if (has_logic(more))
		return fix_words_add(ret, is_added ? "cond+" : "cond-");
	if (!is_plus && !is_minus)
		return fix_words_add(ret, "exp");
	err = fix_words_add(ret, is_added ? "e+t" : "e-t");
	if (err || more->n != 2 || !(is_text(more, 1, "1") || is_text(more, 0, "1")))
		return err;
	err = fix_words_add(ret, is_up ? "e+1" : "e-1");
	return err ?: fix_words_add(ret, is_up ? "v+" : "v-");
}

struct err *fix_compare(const struct fix_statement *from, const struct fix_statement *to,
			fix_words *ret)
{
	struct part a = { from->tokens.data, from->tokens.size };
	struct part b = { to->tokens.data, to->tokens.size };

	while (a.n && b.n && !strcmp(a.of->text, b.of->text))
		a.of++, b.of++, a.n--, b.n--;
	while (a.n && b.n && !strcmp(a.of[a.n - 1].text, b.of[b.n - 1].text))
		a.n--, b.n--;
	if (!a.n && !b.n)
		return NULL;
	if (b.n && a.n == from->tokens.size && a.n <= 1)
		return fix_words_add(ret, "stm+");
	if (a.n && b.n == to->tokens.size && b.n <= 1)
		return fix_words_add(ret, "stm-");
	if (a.n == 1 && b.n == 1)
		return compare_one(a.of, b.of, ret);
	if (!a.n || !b.n)
		return compare_more(a.n ? &a : &b, !a.n, ret);
	return fix_words_add(ret, has_logic(&b) && !has_logic(&a) ? "cond+" :
				  has_logic(&a) && !has_logic(&b) ? "cond-" :
								    "exp");
}

char *fix_replace_line(const char *source, int line, const char *text)
{
	const char *s = source;
	char *ret;

	for (int n = 1; *s && n < line; s++)
		n += *s == '\n';
	return asprintf(&ret, "%.*s%s%s", (int)(s - source), source, text,
			s + strcspn(s, "\n")) < 0 ?
		       NULL :
		       ret;
}
