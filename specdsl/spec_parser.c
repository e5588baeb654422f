// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A file, statement by statement, and the steps that all rules are made of. There is one
 * function per rule of doc/spec-language.md, named after it. After a mistake the rest of
 * the statement (up to its semicolon) is skipped and reading goes on.
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "specdsl/spec_parser.h"

/* ---- what all rules use ---------------------------------------------------------------- */

// Whatever was expected: this is not it.
static void report_bad(struct parser *p)
{
	char c;

	if (p->tok.kind != TOK_BAD || p->is_panicking)
		return;
	p->bad_end = p->tok.span.offset + p->tok.span.length;
	c = p->f->text[p->tok.span.offset];
	spec_parse_error(p, p->tok.span,
			 p->tok.hint ? p->tok.hint : spec_hint_character(c), "%s",
			 isdigit((unsigned char)c) ? "this is no whole number" :
			 p->tok.hint		   ? "this comment has no end" :
				       "this character is not part of the language");
}

bool spec_parse_is_behind_semicolon(const struct parser *p)
{
	return p->last_end && p->f->text[p->last_end - 1] == ';';
}

bool spec_token_is_type(const struct token *t)
{
	return t->kind == TOK_NAME || t->kind == TOK_STRING;
}

bool spec_token_is_char(const struct token *t, char c)
{
	return t->kind == TOK_CHAR && t->ch == c;
}

bool spec_parse_is_char(const struct parser *p, char c)
{
	return spec_token_is_char(&p->tok, c);
}

static bool token_is_word(const struct parser *p, const struct token *t, const char *word)
{
	size_t n = strlen(word);

	return t->kind == TOK_NAME && t->span.length == n &&
	       !memcmp(p->f->text + t->span.offset, word, n);
}

/** The token behind @p before; `struct`, `union` and `class` before a type's name say nothing. */
static struct token lex_behind(const struct parser *p, const struct token *before)
{
	struct token t = spec_lex(p->f, before->span.offset + before->span.length), next;

	// Where no expression is: fields and variables may have these names.
	if (p->f->has_structure)
		return t;
	if (!spec_token_is_char(before, ';') && !spec_token_is_char(before, ')') &&
	    !token_is_word(p, before, "OF") && !token_is_word(p, before, "ARRAY") &&
	    before->span.length)
		return t;
	if (!token_is_word(p, &t, "struct") && !token_is_word(p, &t, "union") &&
	    !token_is_word(p, &t, "class"))
		return t;
	next = spec_lex(p->f, t.span.offset + t.span.length);
	return spec_token_is_type(&next) ? next : t;
}

void spec_parse_advance(struct parser *p)
{
	p->last_end = p->tok.span.offset + p->tok.span.length;
	p->tok = p->next;
	p->next = lex_behind(p, &p->tok);
	report_bad(p);
}

void spec_parse_seek(struct parser *p, uint32_t offset)
{
	p->last_end = offset;
	p->tok = lex_behind(p, &(struct token){ .span = { offset, 0 } });
	p->next = lex_behind(p, &p->tok);
	report_bad(p);
}

bool spec_parse_is_word(const struct parser *p, const char *word)
{
	return token_is_word(p, &p->tok, word);
}

char *spec_parse_text(struct parser *p, struct spec_span span)
{
	char *text = arena_strndup(&p->s->arena, p->f->text + span.offset, span.length);

	p->is_out_of_memory |= !text;
	p->is_panicking |= !text;
	return text;
}

struct spec_span spec_parse_until_here(const struct parser *p, struct spec_span from)
{
	if (p->last_end > from.offset)
		from.length = p->last_end - from.offset;
	return from;
}

void spec_parse_error(struct parser *p, struct spec_span at, const char *hint,
		      const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int n;

	if (p->is_panicking)
		return; // one mistake a statement; what follows it is often its echo
	if (!hint && p->tok.kind == TOK_WRONG && at.offset == p->tok.span.offset)
		hint = p->tok.hint;
	p->is_panicking = true;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	spec_diag_add(p->s, p->f, at, hint, "%s", n < 0 ? "out of memory" : text);
}

bool spec_parse_expect_char(struct parser *p, char c, const char *after)
{
	if (p->is_panicking)
		return false;
	if (!spec_parse_is_char(p, c)) {
		spec_parse_error(p, p->tok.span, NULL, "expected '%c' %s", c, after);
		return false;
	}
	spec_parse_advance(p);
	return true;
}

bool spec_parse_accept_word(struct parser *p, const char *word)
{
	if (p->is_panicking || !spec_parse_is_word(p, word))
		return false;
	spec_parse_advance(p);
	return true;
}

bool spec_parse_new_name(struct parser *p, const char *what, const char **ret)
{
	if (p->is_panicking)
		return false;
	if (p->tok.kind != TOK_NAME) {
		spec_parse_error(p, p->tok.span, NULL, "expected %s", what);
		return false;
	}
	*ret = spec_parse_text(p, p->tok.span);
	spec_parse_advance(p);
	return *ret;
}

bool spec_parse_type_name(struct parser *p, const char *what, const char **ret)
{
	struct spec_span quoted = p->tok.span;

	if (p->is_panicking || p->tok.kind != TOK_STRING)
		return spec_parse_new_name(p, what, ret);
	quoted.offset++;
	quoted.length -= 2;
	*ret = spec_parse_text(p, quoted);
	spec_parse_advance(p);
	return *ret;
}

bool spec_parse_integer(struct parser *p, const char *what, int64_t min, int64_t max,
			int64_t *ret)
{
	struct spec_span at = p->tok.span;
	int64_t value, sign = 1;

	if (p->is_panicking)
		return false;
	if (min < 0 && spec_parse_is_char(p, '-')) {
		sign = -1;
		spec_parse_advance(p);
	}
	value = sign * p->tok.number;
	if (p->tok.kind != TOK_NUMBER) {
		spec_parse_error(p, p->tok.span, NULL, "expected %s", what);
		return false;
	}
	if (p->tok.hint || value < min || value > max) {
		spec_parse_error(p, at, NULL, "%s is from %lld to %lld", what,
				 (long long)min, (long long)max);
		return false;
	}
	*ret = value;
	spec_parse_advance(p);
	return true;
}

/** @return whether the current token is the first of its line. */
static bool starts_line(const struct parser *p)
{
	return p->tok.kind == TOK_END ||
	       memchr(p->f->text + p->last_end, '\n', p->tok.span.offset - p->last_end);
}

/** The @p what does not end where it could. */
static const char *hint_no_end(const struct parser *p, const char *what)
{
	if (!strcmp(what, "declaration") && p->tok.kind == TOK_NAME &&
	    p->next.kind == TOK_CHAR)
		return "of one type: 'node X, Y;', of several: 'node X; other Y;'";
	if (!strcmp(what, "C-point") && p->tok.kind == TOK_NAME)
		return "behind the function stands ENTRY, EXIT or nothing, then maybe 'OF type'";
	return NULL;
}

bool spec_parse_end(struct parser *p, const char *what)
{
	// Shown behind the last token: that is where the semicolon belongs.
	struct spec_span at = { p->last_end, 1 };
	bool is_forgotten = starts_line(p);

	if (p->is_panicking)
		return false;
	p->is_complete = spec_parse_is_char(p, ';') || is_forgotten;
	if (spec_parse_is_char(p, ';')) {
		spec_parse_advance(p);
		return true;
	}
	if (p->tok.kind == TOK_WRONG || p->tok.kind == TOK_BARS)
		spec_parse_error(p, p->tok.span,
				 p->tok.kind == TOK_BARS ? "write 'or'" : p->tok.hint,
				 "'%.*s' is not an operator here",
				 (int)p->tok.span.length,
				 p->f->text + p->tok.span.offset);
	else
		spec_parse_error(p, at, hint_no_end(p, what),
				 "expected ';' at the end of the %s", what);
	// A forgotten semicolon costs one message, not the next line as well.
	p->is_panicking = !is_forgotten;
	return is_forgotten;
}

/* ---- the file --------------------------------------------------------------------------- */

/** `ROOT x`, unless a type has that name. */
static bool starts_root(const struct parser *p)
{
	return spec_parse_is_word(p, "ROOT") && spec_type_find(p->s, "ROOT") < 0 &&
	       !token_is_word(p, &p->next, "FIELD") &&
	       !token_is_word(p, &p->next, "AT") &&
	       (spec_token_is_type(&p->next) || spec_token_is_char(&p->next, ';'));
}

static bool starts_type(const struct parser *p)
{
	return (spec_parse_is_word(p, "ARRAY") && spec_token_is_type(&p->next)) ||
	       token_is_word(p, &p->next, "FIELD") || token_is_word(p, &p->next, "AT") ||
	       (spec_token_is_type(&p->tok) && spec_token_is_char(&p->next, ';'));
}

/** `f . h ;` and `f . h NULL` */
static bool starts_attribute(const struct parser *p)
{
	struct token name, end;

	if (!spec_token_is_type(&p->tok) || !spec_token_is_char(&p->next, '.'))
		return false;
	name = spec_lex(p->f, p->next.span.offset + p->next.span.length);
	end = spec_lex(p->f, name.span.offset + name.span.length);
	return name.kind == TOK_NAME &&
	       (spec_token_is_char(&end, ';') || token_is_word(p, &end, "NULL"));
}

/** A statement cannot begin with such a token, but may behind it. */
static void skip_bad(struct parser *p)
{
	p->is_panicking = p->bad_end > p->tok.span.offset; // said already
	report_bad(p);
	spec_parse_advance(p);
	p->is_panicking = false;
	report_bad(p);
}

/** `define NAME (` */
static bool starts_define(const struct parser *p)
{
	struct token behind;

	if (!spec_parse_is_word(p, "define") || p->next.kind != TOK_NAME)
		return false;
	behind = spec_lex(p->f, p->next.span.offset + p->next.span.length);
	return spec_token_is_char(&behind, '(');
}

bool spec_parse_starts_bug(const struct parser *p)
{
	return starts_line(p) && (spec_parse_is_char(p, '[') || starts_define(p));
}

static void parse_statement(struct parser *p)
{
	p->n_vars = 0;
	p->is_in_bug = false;
	p->is_in_header = p->is_complete = p->is_in_bars = p->is_in_attribute = false;
	p->index_name = NULL;
	p->depth = p->n_nodes = 0;
	if (p->tok.kind == TOK_DOTS)
		spec_parse_trailing_label(p);
	else if (spec_parse_is_char(p, '['))
		spec_parse_bug(p);
	else if (starts_define(p))
		spec_parse_define(p);
	else if (starts_root(p))
		spec_parse_root(p);
	else if (starts_type(p))
		spec_parse_type(p);
	else if (spec_parse_is_word(p, "CONST"))
		spec_parse_const(p);
	else if (spec_parse_is_word(p, "CPOINT"))
		spec_parse_cpoint(p);
	else if (starts_attribute(p))
		spec_parse_attribute_declaration(p);
	else if (spec_parse_is_char(p, ';'))
		spec_parse_advance(p);
	else
		spec_parse_constraint(p);
}

/** @return whether a line begins here with what no expression goes on with: the semicolon
 * before it was forgotten. */
static bool starts_anew(const struct parser *p)
{
	if (!starts_line(p))
		return false;
	return p->tok.kind == TOK_WRONG || p->tok.kind == TOK_BAD ||
	       (spec_parse_is_declaration(p) && !spec_parse_is_word(p, "and") &&
		!spec_parse_is_word(p, "or") && !spec_parse_is_word(p, "AT"));
}

/** Where the statement ends; in a rule's `<Trace; ..>` it does not. */
static bool is_at_end(const struct parser *p)
{
	bool is_trace = p->is_in_bug && p->last_end >= 5 &&
			!memcmp(p->f->text + p->last_end - 5, "Trace", 5);

	return spec_parse_is_char(p, ';') && !is_trace;
}

static void skip_to_semicolon(struct parser *p)
{
	while (p->tok.kind != TOK_END && !is_at_end(p)) {
		spec_parse_advance(p);
		if (p->is_in_bug ? spec_parse_starts_bug(p) : starts_anew(p))
			return;
	}
	if (p->tok.kind != TOK_END)
		spec_parse_advance(p);
}

/** Skip the statement with the mistake: to its semicolon, and when the mistake was in a
 * declaration, the other declarations and the constraint that need it. */
static void skip_statement(struct parser *p)
{
	skip_to_semicolon(p);
	if (!p->is_in_header)
		return;
	while (spec_parse_is_declaration(p) && !starts_type(p) && !starts_root(p) &&
	       !spec_parse_is_word(p, "CPOINT") && !spec_parse_is_word(p, "CONST"))
		skip_to_semicolon(p);
	if (p->tok.kind == TOK_DOTS)
		spec_parse_label(p);
	if (!spec_parse_is_declaration(p))
		skip_to_semicolon(p);
}

struct err *spec_parse(struct spec *s, struct spec_file *f)
{
	struct parser p = { .s = s, .f = f };

	spec_parse_seek(&p, 0);
	if (f->has_structure)
		spec_parse_structure(&p);
	while (p.tok.kind != TOK_END && !p.is_out_of_memory) {
		if (p.tok.kind == TOK_BAD) {
			skip_bad(&p);
			continue;
		}
		if (f->has_objects)
			spec_parse_object_statement(&p);
		else
			parse_statement(&p);
		if (p.is_panicking && !p.is_complete)
			skip_statement(&p);
		p.is_panicking = false;
	}
	return p.is_out_of_memory ? &err_nomem : NULL;
}
