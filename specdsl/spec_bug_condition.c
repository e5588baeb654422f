// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Conditions of bug rules: one function per rule of the grammar in doc/rules.md. Conditions and numbers are
 * one grammar, as `(` may open either; what an operand must be is checked as the tree is built.
 */
#include <string.h>

#include "specdsl/spec_bug_parse.h"

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
	[WORD_LED_TO] = { "LedTo", 1, true, SPEC_NEED_POINTERS },
	[WORD_REFUSED] = { "Refused", 1, true, 0 },
	[WORD_WRITTEN] = { "Written", 1, true, SPEC_NEED_WRITTEN },
	[WORD_OPEN] = { "Open", 1, true, 0 },
	[WORD_CLOSED] = { "Closed", 1, true, 0 },
	[WORD_STORAGE] = { "Storage", 1, false, SPEC_NEED_OBJECT },
	[WORD_VAR_BEGIN] = { "VarBegin", 1, false, SPEC_NEED_OBJECT },
	[WORD_VAR_END] = { "VarEnd", 1, false, SPEC_NEED_OBJECT },
	[WORD_GONE] = { "Gone", 1, true, SPEC_NEED_OBJECT },
	[WORD_ENDED] = { "Ended", 1, true, SPEC_NEED_OBJECT },
	[WORD_TOLD] = { "Told", 0, false, SPEC_NEED_TOLD },
	[WORD_READS] = { "Reads", 0, false, SPEC_NEED_TEXT },
	[WORD_WRITES] = { "Writes", 0, false, SPEC_NEED_TEXT },
};

static struct bug *parse_or(struct bug_reader *r);

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

static struct bug *make(struct bug_reader *r, enum bug_kind kind, struct bug *a,
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
static bool want(struct bug_reader *r, const struct bug *n, bool is_condition)
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

int spec_bug_find_slot(const struct bug_reader *r, const char *name)
{
	for (int i = r->n_slots; name && i--;)
		if (r->slot[i] && !strcmp(r->slot[i], name))
			return i;
	return -1;
}

int spec_bug_add_slot(struct bug_reader *r, const char *name)
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

const struct spec_predicate *spec_bug_find_predicate(const struct parser *p,
						     const char *name)
{
	struct spec_predicate **found =
		vec_find(&p->s->predicates, e, !strcmp((*e)->name, name));

	return found ? *found : NULL;
}

/** `_`, or a variable, which is there from here on. -1 for the former. */
static int parse_pattern_name(struct bug_reader *r)
{
	const char *name;
	int slot;

	if (!spec_parse_new_name(r->p, "a variable, or '_'", &name) || !strcmp(name, "_"))
		return -1;
	slot = spec_bug_find_slot(r, name);
	return slot >= 0 ? slot : spec_bug_add_slot(r, name);
}

/** A name that should have been known. */
void spec_bug_report_unknown(struct bug_reader *r, struct spec_span at, const char *name,
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
	struct bug_reader *r;
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
		b->slot[slot] = spec_bug_add_slot(b->r, "");
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
static struct bug *parse_argument(struct bug_reader *r)
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
static struct bug *parse_use(struct bug_reader *r, const struct spec_predicate *d,
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
static void parse_event(struct bug_reader *r, struct bug *n)
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
static void parse_element(struct bug_reader *r, struct bug *n)
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

static struct bug *parse_quantifier(struct bug_reader *r, enum bug_kind kind)
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
static struct bug *parse_last(struct bug_reader *r, struct spec_span from)
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
static struct bug *parse_word(struct bug_reader *r, int word, struct spec_span from)
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

static struct bug *parse_call(struct bug_reader *r, const char *name,
			      struct spec_span from)
{
	const struct spec_predicate *d = spec_bug_find_predicate(r->p, name);

	if (d)
		return parse_use(r, d, from);
	for (int i = 0; i < WORDS; i++)
		if (!strcmp(name, spec_bug_words[i].name))
			return parse_word(r, i, from);
	spec_bug_report_unknown(r, from, name, true);
	return NULL;
}

static struct bug *parse_name(struct bug_reader *r)
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
	slot = spec_bug_find_slot(r, name);
	if (slot < 0)
		spec_bug_report_unknown(r, from, name, false);
	n = make(r, BUG_SLOT, NULL, NULL, from);
	if (n)
		n->number = slot;
	return n;
}

static struct bug *parse_operand(struct bug_reader *r)
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

static bool is_not(const struct bug_reader *r)
{
	return spec_parse_is_char(r->p, '!') || spec_parse_is_word(r->p, "not") ||
	       spec_parse_is_word(r->p, "no");
}

static struct bug *parse_unary(struct bug_reader *r)
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

static struct bug *parse_number(struct bug_reader *r, int level)
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

static struct bug *parse_comparison(struct bug_reader *r)
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

static struct bug *parse_and(struct bug_reader *r)
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

static struct bug *parse_or(struct bug_reader *r)
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

struct bug *spec_bug_read_condition(struct bug_reader *r)
{
	struct bug *n = parse_or(r);

	return n && want(r, n, true) ? n : NULL;
}
