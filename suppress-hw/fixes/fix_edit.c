// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A fix as a change of the text. Where several would do (which of two comparisons, which
 * constant) the one is taken that the values speak for: a comparison is to go the other way where
 * that made a failing test right, and as it went in tests that passed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "suppress-hw/fixes/fixes_int.h"

#define CONTEXT 3
#define TEXT 256

/** A change of bytes [from, to). */
struct change {
	bool is_there, is_template;
	unsigned from, to;
	char text[TEXT];
};

struct edit {
	const struct fix_statement *st;
	const struct rank_result *r; ///< NULL: nothing is known of values
	struct change change;
};

static const struct fix_token *token(const struct edit *e, size_t i)
{
	return i < e->st->tokens.size ? &e->st->tokens.data[i] : NULL;
}

static bool is_sign(const struct fix_token *t, const char *text)
{
	return t && t->kind == FIX_OPERATOR && !strcmp(t->text, text);
}

static bool is_mark(const struct fix_token *t, const char *text)
{
	return t &&
	       (t->kind == FIX_FORMAT || t->kind == FIX_CAST || t->kind == FIX_INDEX) &&
	       !strcmp(t->text, text);
}

__attribute__((format(printf, 4, 5))) static void
change(struct edit *e, unsigned from, unsigned to, const char *fmt, ...)
{
	struct change *c = &e->change;
	va_list ap;

	va_start(ap, fmt);
	c->is_there = vsnprintf(c->text, sizeof(c->text), fmt, ap) < TEXT;
	va_end(ap);
	c->from = from;
	c->to = to;
}

/* ---- comparisons ----------------------------------------------------------------------------------- */

static bool goes(const char *sign, int64_t a, int64_t b)
{
	if (!strcmp(sign, "<"))
		return a < b;
	if (!strcmp(sign, "<="))
		return a <= b;
	if (!strcmp(sign, ">"))
		return a > b;
	if (!strcmp(sign, ">="))
		return a >= b;
	return !strcmp(sign, "==") ? a == b : a != b;
}

static size_t count_comparisons(const struct edit *e, size_t until)
{
	size_t n = 0;

	for (size_t i = 0; i < until; i++)
		n += token(e, i)->kind == FIX_OPERATOR &&
		     fix_is_comparison(token(e, i)->text);
	return n;
}

/* The @p which th of the statement's branches, in the order in which they were met first. */
static uint32_t branch(const struct edit *e, size_t which, size_t *total)
{
	uint32_t seen[16], ret = UINT32_MAX;
	size_t n = 0;

	for (size_t i = 0; i < e->r->sets.size; i++) {
		const struct rank_set *s = &e->r->sets.data[i];
		bool is_new = s->is_branch;

		for (size_t k = 0; k < n && is_new; k++)
			is_new = seen[k] != s->instruction;
		if (!is_new || n == 16)
			continue;
		ret = n == which ? s->instruction : ret;
		seen[n++] = s->instruction;
	}
	*total = n;
	return ret;
}

/* Compilers turn `x < 10' into a comparison with 9. */
static int64_t as_written(const struct edit *e, size_t at, int64_t value)
{
	const struct fix_token *t = token(e, at + 1);
	int64_t number;

	return t && fix_number(t, &number) &&
			       (value == number - 1 || value == number + 1) ?
		       number :
		       value;
}

/* Would comparison @p sign in the place of the token @p at be right? From -1 to 1. */
static double judge(const struct edit *e, size_t at, const char *sign)
{
	const uint8_t both = 1u << RANK_USE1 | 1u << RANK_USE2;
	const char *was = token(e, at)->text;
	size_t total = 0, flips = 0, n_flips = 0, kept = 0, n_kept = 0;
	uint32_t which;

	if (!e->r)
		return 0;
	which = branch(e, count_comparisons(e, at), &total);
	if (total != count_comparisons(e, e->st->tokens.size))
		which = UINT32_MAX; // which of them is which is not known
	for (size_t i = 0; i < e->r->ivmps.size; i++) {
		const struct rank_ivmp *v = &e->r->ivmps.data[i];
		const struct rank_set *s = v->is_branch && v->set < e->r->sets.size ?
						   &e->r->sets.data[v->set] :
						   NULL;
		int64_t right;

		if (!s || (s->has & both) != both ||
		    (which != UINT32_MAX && s->instruction != which))
			continue;
		right = as_written(e, at, s->value[RANK_USE2]);
		n_flips++;
		flips += goes(was, s->value[RANK_USE1], right) !=
			 goes(sign, s->value[RANK_USE1], right);
	}
	for (size_t i = 0; i < e->r->sets.size; i++) {
		const struct rank_set *s = &e->r->sets.data[i];
		int64_t right;

		if (s->is_failed || !s->is_branch || (s->has & both) != both ||
		    (which != UINT32_MAX && s->instruction != which))
			continue;
		right = as_written(e, at, s->value[RANK_USE2]);
		n_kept++;
		kept += goes(was, s->value[RANK_USE1], right) ==
			goes(sign, s->value[RANK_USE1], right);
	}
	return (n_flips ? (double)flips / n_flips : 0) +
	       (n_kept ? (double)kept / n_kept - 1 : 0);
}

/* Comparisons @p from (NULL: any) become @p to (NULL: any other one): the best of them. */
static void change_comparison(struct edit *e, const char *from, const char *to)
{
	// In this order where nothing speaks for one: off by one, then the opposite.
	static const char *const order[][6] = { { "<", "<=", ">=", ">", "!=", "==" },
						{ "<=", "<", ">", ">=", "==", "!=" },
						{ ">", ">=", "<=", "<", "!=", "==" },
						{ ">=", ">", "<", "<=", "==", "!=" },
						{ "==", "!=", "<=", ">=", "<", ">" },
						{ "!=", "==", "<", ">", "<=", ">=" } };
	double best = -3;

	for (size_t i = 0; i < e->st->tokens.size; i++) {
		const struct fix_token *t = token(e, i);

		if (t->kind != FIX_OPERATOR || !fix_is_comparison(t->text) ||
		    (from && strcmp(t->text, from)))
			continue;
		for (size_t k = 0; k < 6; k++)
			for (size_t o = 1; o < 6 && !strcmp(order[k][0], t->text); o++) {
				double good = judge(e, i, order[k][o]);

				if ((to && strcmp(order[k][o], to)) || good <= best)
					continue;
				best = good;
				change(e, t->from, t->to, "%s", order[k][o]);
			}
	}
}

/* ---- other operators ---------------------------------------------------------------------------- */

static void change_sign(struct edit *e, const char *from, const char *to)
{
	for (size_t i = 0; i < e->st->tokens.size && !e->change.is_there; i++)
		if (is_sign(token(e, i), from))
			change(e, token(e, i)->from, token(e, i)->to, "%s", to);
}

static void change_logic(struct edit *e)
{
	change_sign(e, "&&", "||");
	if (!e->change.is_there)
		change_sign(e, "||", "&&");
}

static void change_operator(struct edit *e)
{
	static const char *const others[][2] = {
		{ "+", "-" },	{ "-", "+" },	{ "*", "/" },	{ "/", "*" },
		{ "%", "/" },	{ "+=", "-=" }, { "-=", "+=" }, { "++", "--" },
		{ "--", "++" }, { "*=", "/=" }, { "&", "|" },	{ "|", "&" },
		{ "<<", ">>" }, { ">>", "<<" }, { "^", "|" },	{ "=", "+=" },
		{ "!", "" },
	};

	change_comparison(e, NULL, NULL);
	if (!e->change.is_there)
		change_logic(e);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others) && !e->change.is_there;
	     i++)
		change_sign(e, others[i][0], others[i][1]);
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static int64_t as_signed(uint64_t v, uint8_t bytes)
{
	int shift = bytes && bytes < 8 ? 64 - 8 * bytes : 0;

	return (int64_t)(v << shift) >> shift;
}

/* What has @p value to be, by the first IVMP that replaces it and goes @p direction (0: either)? */
static bool find_alternate(const struct edit *e, int64_t value, int direction,
			   int64_t *ret)
{
	for (size_t i = 0; e->r && i < e->r->ivmps.size; i++) {
		const struct rank_ivmp *v = &e->r->ivmps.data[i];
		int64_t from = as_signed(v->original, v->bytes);
		int64_t to = as_signed(v->alternate, v->bytes);

		if (v->is_branch || v->is_left_out || from != value || from == to ||
		    (direction && (to > from) != (direction > 0)))
			continue;
		*ret = to;
		return true;
	}
	return false;
}

static void put_number(struct edit *e, const struct fix_token *t, int64_t value)
{
	if (t->text[0] == '\'' && value > ' ' && value < 127 && value != '\'' &&
	    value != '\\')
		change(e, t->from, t->to, "'%c'", (char)value);
	else
		change(e, t->from, t->to, "%" PRId64, value);
}

/* A constant for which there is an IVMP, or the first one. */
static void change_constant(struct edit *e, int direction)
{
	const struct fix_token *first = NULL;
	int64_t value, to;

	for (size_t i = 0; i < e->st->tokens.size; i++) {
		if (!fix_number(token(e, i), &value))
			continue;
		if (find_alternate(e, value, direction, &to)) {
			put_number(e, token(e, i), to);
			return;
		}
		first = first ?: token(e, i);
	}
	if (first && fix_number(first, &value))
		put_number(e, first, value + (direction ?: 1));
}

/* By how much are values that have to be others too small, if all by the same? */
static int64_t missing(const struct edit *e)
{
	int64_t ret = 0;

	for (size_t i = 0; e->r && i < e->r->ivmps.size; i++) {
		const struct rank_ivmp *v = &e->r->ivmps.data[i];
		int64_t by = as_signed(v->alternate, v->bytes) -
			     as_signed(v->original, v->bytes);

		if (v->is_branch || v->is_left_out)
			continue;
		if (ret && by != ret)
			return 0;
		ret = by;
	}
	return ret;
}

/* ---- expressions ------------------------------------------------------------------------------------ */

/* The token at which the bracket that opens at @p i closes. */
static size_t closing(const struct edit *e, size_t i)
{
	int depth = 0;

	for (; token(e, i); i++) {
		depth += is_mark(token(e, i), "[") || is_mark(token(e, i), "(");
		depth -= is_mark(token(e, i), "]") || is_mark(token(e, i), ")");
		if (!depth)
			return i;
	}
	return e->st->tokens.size;
}

static bool is_assignment(const struct fix_token *t)
{
	size_t n = t ? strlen(t->text) : 0;

	return t && t->kind == FIX_OPERATOR && t->text[n - 1] == '=' &&
	       !fix_is_comparison(t->text);
}

/* Where a term may be added: [*from, *to) are the tokens of an expression: what is assigned, an index,
 * what is returned, the right side of a comparison. */
static bool find_expression(const struct edit *e, size_t *from, size_t *to)
{
	size_t n = e->st->tokens.size;

	for (size_t i = 0; i < n; i++)
		if (is_mark(token(e, i), "[")) {
			*from = i + 1;
			*to = closing(e, i);
			return *to<n && * to> * from;
		}
	for (size_t i = 0; i < n; i++) {
		const struct fix_token *t = token(e, i);
		bool is_start = is_assignment(t) ||
				(t->kind == FIX_KEYWORD && !strcmp(t->text, "return")) ||
				(t->kind == FIX_OPERATOR && fix_is_comparison(t->text));

		if (!is_start)
			continue;
		*from = i + 1;
		for (*to = *from; *to < n; ++*to) {
			t = token(e, *to);
			if (is_mark(t, "(") || is_mark(t, "["))
				*to = closing(e, *to);
			else if (is_mark(t, ")") || is_mark(t, ";") || is_mark(t, ",") ||
				 is_sign(t, "&&") || is_sign(t, "||"))
				break;
		}
		return *to <= n && *to > *from;
	}
	return false;
}

static void add_term(struct edit *e, const char *term)
{
	size_t from, to;

	if (find_expression(e, &from, &to))
		change(e, token(e, to - 1)->to, token(e, to - 1)->to, " %s", term);
}

static void add_number(struct edit *e, int64_t by)
{
	char term[32];

	snprintf(term, sizeof(term), "%c %" PRId64, by < 0 ? '-' : '+',
		 by < 0 ? -by : by);
	add_term(e, term);
}

static void add_any_term(struct edit *e)
{
	int64_t by = missing(e);

	if (by) {
		add_number(e, by);
		return;
	}
	add_term(e, "+ TERM");
	e->change.is_template = true;
}

static void remove_term(struct edit *e)
{
	for (size_t i = e->st->tokens.size; i-- > 1;)
		if ((is_sign(token(e, i), "+") || is_sign(token(e, i), "-")) &&
		    token(e, i + 1)) {
			change(e, token(e, i - 1)->to, token(e, i + 1)->to, "%s", "");
			return;
		}
}

/* Of the first variable that is used. */
static void change_value(struct edit *e, char sign)
{
	size_t from = 0, to;

	if (!find_expression(e, &from, &to))
		from = 0;
	for (int pass = 0; pass < 2; pass++, from = 0)
		for (size_t i = from; i < e->st->tokens.size; i++)
			if (token(e, i)->kind == FIX_VARIABLE) {
				change(e, token(e, i)->to, token(e, i)->to, " %c 1",
				       sign);
				return;
			}
}

static void change_variable(struct edit *e)
{
	for (size_t i = e->st->tokens.size; i-- > 0;) {
		const struct fix_token *t = token(e, i);
		size_t n = t->type ? strlen(t->type) : 0;

		if (t->kind != FIX_VARIABLE || !n)
			continue;
		for (size_t k = 0; k < e->st->variables.size; k++) {
			const char *v = e->st->variables.data[k];

			if (strncmp(v, t->type, n) || v[n] != ' ' ||
			    !strcmp(v + n + 1, t->text))
				continue;
			change(e, t->from, t->to, "%s", v + n + 1);
			return;
		}
	}
}

/* ---- conditions and statements ------------------------------------------------------------------ */

/* What stands in the statement's outermost parentheses. */
static bool find_condition(const struct edit *e, size_t *from, size_t *to)
{
	for (size_t i = 0; i < e->st->tokens.size && e->st->is_condition; i++)
		if (is_mark(token(e, i), "(")) {
			*from = i + 1;
			*to = closing(e, i);
			return *to<e->st->tokens.size && * to> * from;
		}
	return false;
}

static void negate(struct edit *e)
{
	size_t from, to;
	unsigned begin, end;

	for (size_t i = 0; i < e->st->tokens.size; i++)
		if (is_sign(token(e, i), "!")) {
			change(e, token(e, i)->from, token(e, i)->to, "%s", "");
			return;
		}
	if (!find_condition(e, &from, &to) && !find_expression(e, &from, &to))
		return;
	begin = token(e, from)->from;
	end = token(e, to - 1)->to;
	change(e, begin, end, "!(%.*s)", (int)(end - begin), e->st->source + begin);
}

static void add_condition(struct edit *e)
{
	const struct fix_token *first = token(e, 0);
	size_t from, to;

	if (find_condition(e, &from, &to))
		change(e, token(e, to - 1)->to, token(e, to - 1)->to, " && CONDITION");
	else
		change(e, first->from, first->from, "if (CONDITION) ");
	e->change.is_template = true;
}

static void remove_condition(struct edit *e)
{
	size_t from, to;

	if (!find_condition(e, &from, &to))
		return;
	for (size_t i = to; i-- > from + 1;)
		if (is_sign(token(e, i), "&&") || is_sign(token(e, i), "||")) {
			change(e, token(e, i - 1)->to, token(e, to - 1)->to, "%s", "");
			return;
		}
}

static void add_statement(struct edit *e)
{
	unsigned at = token(e, 0)->from, begin = at;
	const char *s = e->st->source;

	while (begin && s[begin - 1] != '\n')
		begin--;
	change(e, at, at, "STATEMENT;\n%.*s", (int)strspn(s + begin, " \t"), s + begin);
	e->change.is_template = true;
}

static void remove_statement(struct edit *e)
{
	const struct fix_token *first = token(e, 0),
			       *last = token(e, e->st->tokens.size - 1);

	if (!e->st->is_condition)
		change(e, first->from, last->to, "%s", is_mark(last, ";") ? ";" : "");
}

static void change_expression(struct edit *e)
{
	size_t from, to;

	if (!find_condition(e, &from, &to) && !find_expression(e, &from, &to))
		return;
	change(e, token(e, from)->from, token(e, to - 1)->to, "EXPRESSION");
	e->change.is_template = true;
}

static void change_call(struct edit *e)
{
	for (size_t i = 0; i < e->st->tokens.size; i++)
		if (token(e, i)->kind == FIX_CALL) {
			change(e, token(e, i)->from, token(e, i)->to, "FUNCTION");
			e->change.is_template = true;
			return;
		}
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static void make(struct edit *e, const char *fix)
{
	char from[4], to[4];
	static const struct {
		const char *name;
		void (*make)(struct edit *e);
	} plain[] = { { "opm", change_operator },
		      { "lopm", change_logic },
		      { "e+t", add_any_term },
		      { "e-t", remove_term },
		      { "vm", change_variable },
		      { "fm", change_call },
		      { "neg", negate },
		      { "cond+", add_condition },
		      { "cond-", remove_condition },
		      { "stm+", add_statement },
		      { "stm-", remove_statement },
		      { "exp", change_expression } };

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!strcmp(fix, plain[i].name)) {
			plain[i].make(e);
			return;
		}
	if (fix[0] == 'c' && strcmp(fix, "copm"))
		change_constant(e, !strcmp(fix, "c+") ? 1 : !strcmp(fix, "c-") ? -1 : 0);
	else if (!strcmp(fix, "copm"))
		change_comparison(e, NULL, NULL);
	else if (!strcmp(fix, "e+1") || !strcmp(fix, "e-1"))
		add_number(e, fix[1] == '+' ? 1 : -1);
	else if (!strcmp(fix, "v+") || !strcmp(fix, "v-"))
		change_value(e, fix[1]);
	else if (fix_split(fix, from, to) && fix_is_comparison(from) &&
		 fix_is_comparison(to))
		change_comparison(e, from, to);
	else if (fix_split(fix, from, to))
		change_sign(e, from, to);
}

/* Lines of @p s, each behind @p sign. */
static void print_lines(FILE *out, char sign, const char *s, size_t n)
{
	bool is_new = true;

	for (size_t i = 0; i < n; i++) {
		if (is_new)
			fputc(sign, out);
		fputc(s[i], out);
		is_new = s[i] == '\n';
	}
	if (!is_new)
		fputs("\n\\ No newline at end of file\n", out);
}

static size_t count_lines(const char *s, size_t n)
{
	size_t lines = n && s[n - 1] != '\n';

	for (size_t i = 0; i < n; i++)
		lines += s[i] == '\n';
	return lines;
}

static void print_diff(const struct edit *e, const char *path, FILE *out)
{
	const struct change *c = &e->change;
	const char *s = e->st->source;
	size_t all = strlen(s), from = c->from, to = c->to, before, behind;
	_cleanup_free_ char *now = NULL;
	int n = 0;

	while (from && s[from - 1] != '\n')
		from--;
	while (to < all && (to == from || s[to - 1] != '\n'))
		to++;
	before = from;
	behind = to;
	for (int i = 0; i < CONTEXT; i++) {
		before -= before > 0;
		while (before && s[before - 1] != '\n')
			before--;
		for (bool is_end = false; behind < all && !is_end;)
			is_end = s[behind++] == '\n';
	}
	n = asprintf(&now, "%.*s%s%.*s", (int)(c->from - from), s + from, c->text,
		     (int)(to - c->to), s + c->to);
	if (n < 0) {
		now = NULL;
		return;
	}
	fprintf(out, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", path, path,
		1 + count_lines(s, before), count_lines(s + before, behind - before),
		1 + count_lines(s, before),
		count_lines(s + before, from - before) + count_lines(now, (size_t)n) +
			count_lines(s + to, behind - to));
	print_lines(out, ' ', s + before, from - before);
	print_lines(out, '-', s + from, to - from);
	print_lines(out, '+', now, (size_t)n);
	print_lines(out, ' ', s + to, behind - to);
}

struct err *fix_edit(const struct fix_statement *st, const char *path,
		     const struct rank_result *r, struct fix_suggestion *s)
{
	struct edit e = { .st = st, .r = r };
	size_t n;
	FILE *out;

	make(&e, s->fix);
	if (!e.change.is_there)
		return NULL;
	out = open_memstream(&s->edit, &n);
	if (!out)
		return &err_nomem;
	print_diff(&e, path, out);
	s->is_template = e.change.is_template;
	return fclose(out) ? &err_nomem : NULL;
}
