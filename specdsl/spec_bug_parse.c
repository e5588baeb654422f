// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug rules and their predicates: one function per rule of the grammar in doc/rules.md. Conditions
 * and numbers are one grammar, as `(` may open either; what an operand must be is checked as the
 * tree is built.
 */
#include <string.h>

#include "specdsl/spec_bug.h"
#include "specdsl/spec_parser.h"

const struct bug_word_info spec_bug_words[WORDS] = {
	[WORD_BID] = { "Bid", 1, false, 0 },
	[WORD_IDX] = { "Idx", 1, false, 0 },
	[WORD_BEGIN] = { "Begin", 1, false, 0 },
	[WORD_END] = { "End", 1, false, 0 },
	[WORD_SIZE] = { "Size", 1, false, 0 },
	[WORD_TIME] = { "Time", 1, false, 0 },
	[WORD_BLOCK] = { "Block", 1, false, 0 },
	[WORD_VALUE] = { "Value", 1, false, 0 },
	[WORD_BASE] = { "Base", 1, false, 0 },
	[WORD_WIDTH] = { "Width", 0, false, 0 },
	[WORD_PART_BEGIN] = { "PartBegin", 1, false, SPEC_NEED_PART },
	[WORD_PART_END] = { "PartEnd", 1, false, SPEC_NEED_PART },
	[WORD_FAMILY] = { "Family", 1, false, SPEC_NEED_FAMILY },
	[WORD_RELEASER] = { "Releaser", 0, false, SPEC_NEED_FAMILY },
	[WORD_REACHABLE] = { "Reachable", 1, true, SPEC_NEED_POINTERS },
	[WORD_WRITTEN] = { "Written", 1, true, SPEC_NEED_WRITTEN },
	[WORD_OPEN] = { "Open", 1, true, 0 },
	[WORD_CLOSED] = { "Closed", 1, true, 0 },
};

/** What is being read: a rule or a predicate, and its variables so far. */
struct reader {
	struct parser *p;
	const char *slot[SPEC_BUG_SLOTS];
	int n_slots;
	const char *function; ///< z of a rule's point
	bool is_rule;
	int depth;
};

static struct bug *parse_or(struct reader *r);

/* ---- the tree ------------------------------------------------------------------------------- */

bool spec_bug_is_condition(const struct bug *n)
{
	switch (n->kind) {
	case BUG_COMPARE:
	case BUG_AND:
	case BUG_OR:
	case BUG_NOT:
	case BUG_EXISTS:
	case BUG_FORALL:
		return true;
	case BUG_WORD:
		return spec_bug_words[n->word].is_condition;
	default:
		return false;
	}
}

static struct bug *make(struct reader *r, enum bug_kind kind, struct bug *a,
			struct bug *b, struct spec_span from)
{
	struct parser *p = r->p;
	struct bug *n;

	if (p->is_panicking)
		return NULL;
	if (++p->n_nodes > SPEC_MAX_EXPR_NODES) {
		spec_parse_error(p, from, NULL, "this is too large");
		return NULL;
	}
	n = arena_alloc(&p->s->arena, sizeof(*n));
	p->is_out_of_memory |= !n;
	p->is_panicking |= !n;
	if (n)
		*n = (struct bug){ .kind = kind,
				   .a = a,
				   .b = b,
				   .pattern = { -1, -1, -1 },
				   .span = spec_parse_until_here(p, from) };
	return n;
}

/* FindLast() is either: whether there is one, and when it was. */
static bool want(struct reader *r, const struct bug *n, bool is_condition)
{
	if (r->p->is_panicking)
		return false;
	if (n->kind == BUG_LAST || spec_bug_is_condition(n) == is_condition)
		return true;
	spec_parse_error(r->p, n->span,
			 is_condition ? "compare it: 'Size(r) != 0'" : NULL,
			 is_condition ? "expected a condition, this is a number" :
					"expected a number, this is a condition");
	return false;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int find_slot(const struct reader *r, const char *name)
{
	for (int i = r->n_slots; name && i--;)
		if (r->slot[i] && !strcmp(r->slot[i], name))
			return i;
	return -1;
}

static int add_slot(struct reader *r, const char *name)
{
	if (r->p->is_panicking)
		return -1;
	if (r->n_slots == SPEC_BUG_SLOTS) {
		spec_parse_error(
			r->p, r->p->tok.span, "split it into several rules",
			"there are more than %d variables, those of predicates included",
			SPEC_BUG_SLOTS);
		return -1;
	}
	r->slot[r->n_slots] = name;
	return r->n_slots++;
}

static const struct spec_predicate *find_predicate(const struct parser *p,
						   const char *name)
{
	struct spec_predicate **found =
		vec_find(&p->s->predicates, e, !strcmp((*e)->name, name));

	return found ? *found : NULL;
}

/** `_`, or a variable, which is there from here on. -1 for the former. */
static int parse_pattern_name(struct reader *r)
{
	const char *name;
	int slot;

	if (!spec_parse_new_name(r->p, "a variable, or '_'", &name) || !strcmp(name, "_"))
		return -1;
	slot = find_slot(r, name);
	return slot >= 0 ? slot : add_slot(r, name);
}

/** A name that should have been known. */
static void report_unknown(struct reader *r, struct spec_span at, const char *name,
			   bool is_call)
{
	struct spec_nearest n = { .word = name };
	char *hint = NULL;

	for (int i = 0; i < WORDS && is_call; i++)
		spec_nearest_try(&n, spec_bug_words[i].name);
	for (size_t i = 0; i < r->p->s->predicates.size && is_call; i++)
		spec_nearest_try(&n, r->p->s->predicates.data[i]->name);
	for (int i = 0; i < r->n_slots && !is_call; i++)
		spec_nearest_try(&n, r->slot[i]);
	if (n.name)
		hint = spec_printf(r->p->s, "did you mean '%s'?", n.name);
	else if (is_call)
		hint = spec_printf(r->p->s,
				   "predicates are defined before they are used");
	spec_parse_error(r->p, at, hint,
			 is_call ? "there is no function or predicate '%s'" :
				   "there is no variable '%s'",
			 name);
}

/* ---- predicates ----------------------------------------------------------------------------- */

/** Of the variables of a predicate, what stands for them in the rule. */
struct binding {
	struct reader *r;
	struct bug *arg[SPEC_BUG_SLOTS]; ///< of parameters
	int slot[SPEC_BUG_SLOTS];	 ///< -1: not yet
};

static int bind_slot(struct binding *b, int slot)
{
	const struct bug *arg = slot < 0 ? NULL : b->arg[slot];

	if (slot < 0)
		return -1;
	if (arg && arg->kind == BUG_SLOT)
		return (int)arg->number;
	if (arg) {
		spec_parse_error(b->r->p, arg->span, NULL,
				 "expected a variable: the predicate finds its value");
		return -1;
	}
	if (b->slot[slot] < 0)
		b->slot[slot] = add_slot(b->r, "");
	return b->slot[slot];
}

/** @p n of a predicate, as it is in the rule. */
static struct bug *expand(struct binding *b, const struct bug *n)
{
	struct bug *copy;

	if (!n || b->r->p->is_panicking)
		return NULL;
	if (n->kind == BUG_SLOT && b->arg[n->number])
		return b->arg[n->number];
	copy = make(b->r, n->kind, NULL, NULL, n->span);
	if (!copy)
		return NULL;
	*copy = *n;
	if (n->kind == BUG_SLOT)
		copy->number = bind_slot(b, n->number);
	for (int i = 0; i < BUG_PATTERN; i++)
		copy->pattern[i] = bind_slot(b, n->pattern[i]);
	copy->a = expand(b, n->a);
	copy->b = expand(b, n->b);
	return copy;
}

/** A variable of the rule, or one that the predicate is to find: that is there from here on. */
static struct bug *parse_argument(struct reader *r)
{
	struct spec_span from = r->p->tok.span;
	struct bug *n = NULL;
	int slot;

	if (r->p->tok.kind != TOK_NAME || spec_token_is_char(&r->p->next, '(') ||
	    !(spec_token_is_char(&r->p->next, ',') ||
	      spec_token_is_char(&r->p->next, ')')))
		return parse_or(r);
	if (spec_parse_is_word(r->p, "NULL"))
		return parse_or(r);
	slot = parse_pattern_name(r);
	if (slot < 0)
		spec_parse_error(r->p, from, NULL, "expected a variable");
	n = make(r, BUG_SLOT, NULL, NULL, from);
	if (n)
		n->number = slot;
	return n;
}

/** `Freed(r, r1)`, the current token being the `(`. */
static struct bug *parse_use(struct reader *r, const struct spec_predicate *d,
			     struct spec_span from)
{
	struct binding b = { .r = r };
	int n = 0;

	memset(b.slot, -1, sizeof(b.slot));
	spec_parse_advance(r->p);
	while (!r->p->is_panicking && !spec_parse_is_char(r->p, ')')) {
		struct bug *arg = parse_argument(r);

		if (n < d->n_params)
			b.arg[n] = arg;
		n++;
		if (!spec_parse_is_char(r->p, ')'))
			spec_parse_expect_char(r->p, ',', "between arguments");
	}
	spec_parse_expect_char(r->p, ')', "behind the arguments");
	if (n != d->n_params)
		spec_parse_error(r->p, from, NULL, "'%s' has %d argument%s, not %d",
				 d->name, d->n_params, d->n_params == 1 ? "" : "s", n);
	return expand(&b, d->body);
}

/* ---- quantifiers ---------------------------------------------------------------------------- */

/** `event(t, malloc, n, bid) in Trace` */
static void parse_event(struct reader *r, struct bug *n)
{
	struct spec_span at;
	const char *kind = NULL;

	spec_parse_advance(r->p);
	spec_parse_expect_char(r->p, '(', "behind 'event'");
	n->pattern[0] = parse_pattern_name(r);
	spec_parse_expect_char(r->p, ',', "behind the time");
	at = r->p->tok.span;
	spec_parse_new_name(r->p, "what happened: malloc, free", &kind);
	if (kind && strcmp(kind, "malloc") && strcmp(kind, "free"))
		spec_parse_error(r->p, at,
				 "of reads, writes and calls there is FindLast(..)",
				 "'%s' is no event: there are malloc, free", kind);
	n->set = kind && !strcmp(kind, "free") ? BUG_SET_FREE : BUG_SET_MALLOC;
	spec_parse_expect_char(r->p, ',', "behind what happened");
	n->pattern[1] = parse_pattern_name(r);
	spec_parse_expect_char(r->p, ',', "before the block");
	n->pattern[2] = parse_pattern_name(r);
	spec_parse_expect_char(r->p, ')', "behind the event");
	if (!spec_parse_accept_word(r->p, "in") || !spec_parse_accept_word(r->p, "Trace"))
		spec_parse_error(r->p, r->p->tok.span, NULL, "expected 'in Trace'");
}

/** `b in dom(H)` and the like */
static void parse_element(struct reader *r, struct bug *n)
{
	bool is_dom;

	n->pattern[0] = parse_pattern_name(r);
	if (!spec_parse_accept_word(r->p, "in"))
		spec_parse_error(r->p, r->p->tok.span, NULL,
				 "expected 'in dom(H)', 'in dom(F)' or 'in P'");
	is_dom = spec_parse_accept_word(r->p, "dom");
	if (is_dom)
		spec_parse_expect_char(r->p, '(', "behind 'dom'");
	if (spec_parse_accept_word(r->p, "H"))
		n->set = BUG_SET_LIVE;
	else if (spec_parse_accept_word(r->p, "F"))
		n->set = BUG_SET_FREED;
	else if (spec_parse_accept_word(r->p, "P"))
		n->set = BUG_SET_POINTER;
	else
		spec_parse_error(r->p, r->p->tok.span, NULL, "expected H, F or P");
	if (is_dom)
		spec_parse_expect_char(r->p, ')', "behind the set");
}

static struct bug *parse_quantifier(struct reader *r, enum bug_kind kind)
{
	struct spec_span from = r->p->tok.span;
	struct bug *n = make(r, kind, NULL, NULL, from);

	spec_parse_advance(r->p);
	if (!n)
		return NULL;
	if (spec_parse_is_word(r->p, "event"))
		parse_event(r, n);
	else
		parse_element(r, n);
	if (spec_parse_accept_word(r->p, "suchthat")) {
		n->a = parse_or(r);
		if (!n->a || !want(r, n->a, true))
			return NULL;
	} else if (kind == BUG_FORALL) {
		spec_parse_error(r->p, r->p->tok.span, NULL,
				 "expected 'suchthat' and what holds for all of them");
	}
	n->span = spec_parse_until_here(r->p, from);
	return r->p->is_panicking ? NULL : n;
}

/** `FindLast(_, write, r, _)`, `FindLast(_, call, z, _)` */
static struct bug *parse_last(struct reader *r, struct spec_span from)
{
	struct bug *n = make(r, BUG_LAST, NULL, NULL, from);
	const char *kind = NULL, *z = NULL;
	struct spec_span at;

	spec_parse_expect_char(r->p, '(', "behind 'FindLast'");
	parse_pattern_name(r);
	spec_parse_expect_char(r->p, ',', "behind the time");
	at = r->p->tok.span;
	if (!spec_parse_new_name(r->p, "what happened: write, call", &kind) || !n)
		return NULL;
	spec_parse_expect_char(r->p, ',', "behind what happened");
	if (!strcmp(kind, "write")) {
		n->a = make(r, BUG_SLOT, NULL, NULL, r->p->tok.span);
		if (n->a)
			n->a->number = parse_pattern_name(r);
	} else if (!strcmp(kind, "call")) {
		at = r->p->tok.span;
		spec_parse_new_name(r->p, "the function", &z);
		if (z && (!r->function || strcmp(z, r->function)))
			spec_parse_error(r->p, at,
					 "write the rule's own function, as in 'ret ts'",
					 "calls of '%s' are not kept", z);
	} else {
		spec_parse_error(r->p, at, NULL,
				 "'%s' is no event: there are write, call", kind);
	}
	spec_parse_expect_char(r->p, ',', "before the last place");
	parse_pattern_name(r);
	spec_parse_expect_char(r->p, ')', "behind the event");
	return r->p->is_panicking ? NULL : n;
}

/* ---- operands ------------------------------------------------------------------------------- */

/** `Size(r)`, `Width()`, the current token being the `(`. */
static struct bug *parse_word(struct reader *r, int word, struct spec_span from)
{
	const struct bug_word_info *w = &spec_bug_words[word];
	struct bug *n = make(r, BUG_WORD, NULL, NULL, from);

	spec_parse_advance(r->p);
	if (!n)
		return NULL;
	n->word = word;
	if (w->n_args) {
		n->a = parse_or(r);
		if (!n->a || !want(r, n->a, false))
			return NULL;
	}
	spec_parse_expect_char(r->p, ')', "behind the argument");
	n->span = spec_parse_until_here(r->p, from);
	return n;
}

static struct bug *parse_call(struct reader *r, const char *name, struct spec_span from)
{
	const struct spec_predicate *d = find_predicate(r->p, name);

	if (d)
		return parse_use(r, d, from);
	for (int i = 0; i < WORDS; i++)
		if (!strcmp(name, spec_bug_words[i].name))
			return parse_word(r, i, from);
	report_unknown(r, from, name, true);
	return NULL;
}

static struct bug *parse_name(struct reader *r)
{
	struct spec_span from = r->p->tok.span;
	const char *name;
	struct bug *n;
	int slot;

	if (spec_parse_is_word(r->p, "exists"))
		return parse_quantifier(r, BUG_EXISTS);
	if (spec_parse_is_word(r->p, "forall"))
		return parse_quantifier(r, BUG_FORALL);
	if (!spec_parse_new_name(r->p, "a condition", &name))
		return NULL;
	if (!strcmp(name, "FindLast"))
		return parse_last(r, from);
	if (spec_parse_is_char(r->p, '('))
		return parse_call(r, name, from);
	if (!strcmp(name, "NULL"))
		return make(r, BUG_NUMBER, NULL, NULL, from);
	slot = find_slot(r, name);
	if (slot < 0)
		report_unknown(r, from, name, false);
	n = make(r, BUG_SLOT, NULL, NULL, from);
	if (n)
		n->number = slot;
	return n;
}

static struct bug *parse_operand(struct reader *r)
{
	struct spec_span from = r->p->tok.span;
	struct bug *n;

	if (spec_parse_is_char(r->p, '(')) {
		spec_parse_advance(r->p);
		n = parse_or(r);
		spec_parse_expect_char(r->p, ')', "to close the parenthesis");
		return r->p->is_panicking ? NULL : n;
	}
	if (r->p->tok.kind == TOK_NUMBER) {
		n = make(r, BUG_NUMBER, NULL, NULL, from);
		if (n)
			n->number = r->p->tok.number;
		spec_parse_advance(r->p);
		return n;
	}
	return parse_name(r);
}

/* ---- operators ------------------------------------------------------------------------------ */

static bool is_not(const struct reader *r)
{
	return spec_parse_is_char(r->p, '!') || spec_parse_is_word(r->p, "not") ||
	       spec_parse_is_word(r->p, "no");
}

static struct bug *parse_unary(struct reader *r)
{
	struct spec_span from = r->p->tok.span;
	struct bug *n;

	if (r->depth >= SPEC_MAX_DEPTH) {
		spec_parse_error(r->p, from, "split it by predicates",
				 "this is nested too deeply");
		return NULL;
	}
	r->depth++;
	if (is_not(r)) {
		spec_parse_advance(r->p);
		n = parse_unary(r);
		n = n && want(r, n, true) ? make(r, BUG_NOT, n, NULL, from) : NULL;
	} else {
		n = parse_operand(r);
	}
	r->depth--;
	return n;
}

static const struct {
	char ch;
	enum bug_kind kind;
	int level;
} operators[] = {
	{ '&', BUG_BITS, 0 },
	{ '+', BUG_ADD, 1 },
	{ '-', BUG_SUB, 1 },
	{ '*', BUG_MUL, 2 },
};

static struct bug *parse_number(struct reader *r, int level)
{
	struct bug *n = level == 3 ? parse_unary(r) : parse_number(r, level + 1);

	for (size_t i = 0; n && level < 3 && i < 4; i++) {
		struct spec_span from = n->span;
		struct bug *b;

		if (operators[i].level != level ||
		    !spec_parse_is_char(r->p, operators[i].ch))
			continue;
		spec_parse_advance(r->p);
		b = parse_number(r, level + 1);
		if (!b || !want(r, n, false) || !want(r, b, false))
			return NULL;
		n = make(r, operators[i].kind, n, b, from);
		i = -1; // once more
	}
	return n;
}

static struct bug *parse_comparison(struct reader *r)
{
	struct bug *n = parse_number(r, 0), *b;
	enum ast_op op = r->p->tok.kind == TOK_ASSIGN ? OP_EQ : r->p->tok.op;

	// The papers write `r = NULL`.
	if (!n || (r->p->tok.kind != TOK_COMPARE && r->p->tok.kind != TOK_ASSIGN))
		return n;
	// .. and `<Trace; free r>:`
	spec_parse_advance(r->p);
	b = parse_number(r, 0);
	if (!b || !want(r, n, false) || !want(r, b, false))
		return NULL;
	n = make(r, BUG_COMPARE, n, b, n->span);
	if (n)
		n->op = op;
	return n;
}

static bool is_wrong(const struct parser *p, const char *text)
{
	return p->tok.kind == TOK_WRONG && p->tok.span.length == strlen(text) &&
	       !memcmp(p->f->text + p->tok.span.offset, text, p->tok.span.length);
}

static struct bug *parse_and(struct reader *r)
{
	struct bug *n = parse_comparison(r);

	while (n && (is_wrong(r->p, "&&") || spec_parse_is_word(r->p, "and"))) {
		struct spec_span from = n->span;
		struct bug *b;

		spec_parse_advance(r->p);
		b = parse_comparison(r);
		if (!b || !want(r, n, true) || !want(r, b, true))
			return NULL;
		n = make(r, BUG_AND, n, b, from);
	}
	return n;
}

static struct bug *parse_or(struct reader *r)
{
	struct bug *n = parse_and(r);

	while (n && (r->p->tok.kind == TOK_BARS || spec_parse_is_word(r->p, "or"))) {
		struct spec_span from = n->span;
		struct bug *b;

		spec_parse_advance(r->p);
		b = parse_and(r);
		if (!b || !want(r, n, true) || !want(r, b, true))
			return NULL;
		n = make(r, BUG_OR, n, b, from);
	}
	return r->p->is_panicking ? NULL : n;
}

/* ---- statements ----------------------------------------------------------------------------- */

/** The papers have no semicolons: a statement may also end where the next line begins one. */
static void parse_stop(struct reader *r, const char *what)
{
	struct parser *p = r->p;

	if (p->is_panicking)
		return;
	if (p->tok.kind == TOK_END || spec_parse_starts_bug(p)) {
		p->is_complete = true;
		return;
	}
	spec_parse_end(p, what);
}

void spec_parse_define(struct parser *p)
{
	struct reader r = { .p = p };
	struct spec_predicate *d = arena_alloc(&p->s->arena, sizeof(*d)), **slot;
	struct spec_span at;

	p->is_in_bug = true;
	spec_parse_advance(p);
	at = p->tok.span;
	if (!d || !spec_parse_new_name(p, "the predicate's name", &d->name))
		return;
	if (find_predicate(p, d->name))
		spec_parse_error(p, at, NULL, "'%s' is defined already", d->name);
	for (int i = 0; i < WORDS; i++)
		if (!strcmp(d->name, spec_bug_words[i].name))
			spec_parse_error(p, at, NULL,
					 "'%s' is a function of the language", d->name);
	spec_parse_expect_char(p, '(', "behind the predicate's name");
	while (!p->is_panicking && !spec_parse_is_char(p, ')')) {
		const char *name;

		if (!spec_parse_new_name(p, "a parameter", &name))
			return;
		add_slot(&r, name);
		if (!spec_parse_is_char(p, ')'))
			spec_parse_expect_char(p, ',', "between parameters");
	}
	spec_parse_expect_char(p, ')', "behind the parameters");
	d->n_params = r.n_slots;
	if (!p->is_panicking && p->tok.kind != TOK_ASSIGN)
		spec_parse_error(p, p->tok.span, NULL, "expected '=' and the condition");
	if (p->is_panicking)
		return;
	spec_parse_advance(p);
	d->body = parse_or(&r);
	if (!d->body || !want(&r, d->body, true))
		return;
	parse_stop(&r, "predicate");
	d->n_slots = r.n_slots;
	memcpy(d->slot, r.slot, sizeof(d->slot));
	if (p->is_panicking)
		return;
	slot = vec_push(&p->s->predicates);
	p->is_out_of_memory |= !slot;
	if (slot)
		*slot = d;
}

static const struct {
	const char *word;
	bool has_function;
} points[SPEC_POINTS] = {
	[SPEC_POINT_READ] = { "deref_r", false },
	[SPEC_POINT_WRITE] = { "deref_w", false },
	[SPEC_POINT_DEREF] = { "deref", false },
	[SPEC_POINT_FREE] = { "free", false },
	[SPEC_POINT_CALL] = { "call", true },
	[SPEC_POINT_RET] = { "ret", true },
	[SPEC_POINT_SYSCALL] = { "syscall", true },
	[SPEC_POINT_FAULT] = { "fault", false },
	[SPEC_POINT_RACE] = { "race", false },
	[SPEC_POINT_USE] = { "use", false },
};

static const char *const severities[] = { "error", "warning", "note" };

const char *spec_point_name(enum spec_point point)
{
	return points[point].word;
}

const char *spec_severity_name(enum spec_severity severity)
{
	return severities[severity];
}

/** The variables of a point: `r`, `(d, s, n)`, `d s n`. */
static void parse_point_args(struct reader *r, struct spec_bug *b)
{
	bool has_parens = b->function && spec_parse_is_char(r->p, '(');

	if (has_parens)
		spec_parse_advance(r->p);
	while (!r->p->is_panicking && r->p->tok.kind == TOK_NAME) {
		const char *name;

		if (b->n_args == (b->function ? SPEC_BUG_ARGS : 1)) {
			spec_parse_error(r->p, r->p->tok.span, NULL,
					 b->function ? "there are at most %d arguments" :
						       "there is %d value at this point",
					 b->function ? SPEC_BUG_ARGS : 1);
			return;
		}
		spec_parse_new_name(r->p, "a variable", &name);
		b->arg[b->n_args++] = name;
		add_slot(r, strcmp(name, "_") ? name : "");
		if (has_parens && !spec_parse_is_char(r->p, ')'))
			spec_parse_expect_char(r->p, ',', "between arguments");
	}
	if (has_parens)
		spec_parse_expect_char(r->p, ')', "behind the arguments");
	if (!b->function && !b->n_args)
		spec_parse_error(r->p, r->p->tok.span, NULL,
				 "expected the variable of this point, as in 'deref r'");
}

static void parse_point(struct reader *r, struct spec_bug *b)
{
	bool has_trace = r->p->tok.kind == TOK_COMPARE && r->p->tok.op == OP_LT;
	struct spec_span at;
	const char *word;
	size_t i = 0;

	if (has_trace) {
		spec_parse_advance(r->p);
		if (!spec_parse_accept_word(r->p, "Trace"))
			spec_parse_error(r->p, r->p->tok.span, NULL, "expected 'Trace;'");
		spec_parse_expect_char(r->p, ';', "behind 'Trace'");
	}
	at = r->p->tok.span;
	if (!spec_parse_new_name(r->p, "where to detect it: deref, free, call, ret ..",
				 &word))
		return;
	while (i < SPEC_POINTS && strcmp(points[i].word, word))
		i++;
	if (i == SPEC_POINTS) {
		spec_parse_error(r->p, at,
				 "there are deref, deref_r, deref_w, free, call, ret, "
				 "syscall, fault, race, use",
				 "'%s' is no point of a run", word);
		return;
	}
	b->point = i;
	if (points[i].has_function)
		spec_parse_type_name(r->p, "the function", &b->function);
	r->function = b->function;
	parse_point_args(r, b);
	if (!has_trace || r->p->is_panicking)
		return;
	if (r->p->tok.kind != TOK_COMPARE || r->p->tok.op != OP_GT)
		spec_parse_error(r->p, r->p->tok.span, NULL,
				 "expected '>' behind the point");
	else
		spec_parse_advance(r->p);
}

/** `: VPC(r), VPC(r1)` */
static void parse_chains(struct reader *r, struct spec_bug *b)
{
	do {
		const char *name;
		struct spec_span at;

		spec_parse_advance(r->p);
		if (!spec_parse_accept_word(r->p, "VPC"))
			spec_parse_error(r->p, r->p->tok.span, NULL,
					 "expected VPC(..), the value whose way is told");
		spec_parse_expect_char(r->p, '(', "behind 'VPC'");
		at = r->p->tok.span;
		if (!spec_parse_new_name(r->p, "a variable", &name))
			return;
		if (find_slot(r, name) < 0)
			report_unknown(r, at, name, false);
		else if (b->n_chains < SPEC_BUG_ARGS)
			b->chain[b->n_chains++] = find_slot(r, name);
		spec_parse_expect_char(r->p, ')', "behind the variable");
	} while (!r->p->is_panicking && spec_parse_is_char(r->p, ','));
}

/** `severity warning message "..." off` */
static void parse_manner(struct reader *r, struct spec_bug *b)
{
	for (;;) {
		if (spec_parse_accept_word(r->p, "off")) {
			b->is_off = true;
		} else if (spec_parse_accept_word(r->p, "severity")) {
			size_t i = 0;

			while (i < 3 && !spec_parse_accept_word(r->p, severities[i]))
				i++;
			if (i == 3)
				spec_parse_error(r->p, r->p->tok.span, NULL,
						 "expected error, warning or note");
			b->severity = i;
		} else if (spec_parse_accept_word(r->p, "message")) {
			if (r->p->tok.kind != TOK_STRING)
				spec_parse_error(r->p, r->p->tok.span, NULL,
						 "expected the message in quotes");
			else
				spec_parse_type_name(r->p, "the message", &b->message);
		} else {
			return;
		}
	}
}

/** `[DOUBLE-FREE]`: what stands in the brackets. */
static void parse_bug_name(struct parser *p, struct spec_bug *b)
{
	struct spec_span span;

	spec_parse_advance(p);
	span = p->tok.span;
	while (p->tok.kind == TOK_NAME || spec_parse_is_char(p, '-'))
		spec_parse_advance(p);
	span = spec_parse_until_here(p, span);
	if (p->last_end <= span.offset)
		spec_parse_error(p, p->tok.span, NULL, "expected the rule's name");
	if (p->is_panicking)
		return;
	b->name = spec_parse_text(p, span);
	spec_parse_expect_char(p, ']', "behind the rule's name");
	if (b->name && vec_find(&p->s->bugs, e, !strcmp((*e)->pub.name, b->name)))
		spec_parse_error(p, span, "give it another name",
				 "there is a rule '%s' already", b->name);
}

void spec_parse_bug(struct parser *p)
{
	struct reader r = { .p = p, .is_rule = true };
	struct spec_bug_rule *rule = arena_alloc(&p->s->arena, sizeof(*rule)), **slot;
	struct spec_span from = p->tok.span;
	struct spec_bug *b;

	p->is_in_bug = true;
	p->is_out_of_memory |= !rule;
	p->is_panicking |= !rule;
	if (!rule)
		return;
	b = &rule->pub;
	b->file = p->f->name;
	b->line = spec_file_line(p->f, from.offset);
	parse_bug_name(p, b);
	if (!spec_parse_accept_word(p, "detect"))
		spec_parse_error(p, p->tok.span, NULL, "expected 'detect'");
	if (!p->is_panicking)
		parse_point(&r, b);
	spec_parse_expect_char(p, ':', "behind the point");
	if (p->is_panicking)
		return;
	rule->condition = parse_or(&r);
	if (!rule->condition || !want(&r, rule->condition, true))
		return;
	if (spec_parse_is_char(p, ':'))
		parse_chains(&r, b);
	if (!p->is_panicking)
		parse_manner(&r, b);
	b->text = spec_parse_text(p, spec_parse_until_here(p, from));
	parse_stop(&r, "rule");
	if (p->is_panicking)
		return;
	rule->n_slots = r.n_slots;
	memcpy(rule->slot, r.slot, sizeof(rule->slot));
	slot = vec_push(&p->s->bugs);
	p->is_out_of_memory |= !slot;
	if (slot)
		*slot = rule;
}
