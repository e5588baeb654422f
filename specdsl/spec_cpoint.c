// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * C-points: where the constraints must hold.
 */
#include <string.h>

#include "specdsl/spec_parser.h"

static void add_cpoint(struct parser *p, const struct spec_cpoint *c,
		       enum spec_cpoint_kind kind)
{
	struct spec_cpoint *new = vec_push(&p->s->cpoints);

	p->is_out_of_memory |= !new;
	if (!new)
		return;
	*new = *c;
	new->kind = kind;
}

/** A function's name, in quotes or not. */
static bool parse_function(struct parser *p, const char **ret)
{
	struct spec_span inside = { p->tok.span.offset + 1, p->tok.span.length - 2 };

	if (p->tok.kind != TOK_STRING)
		return spec_parse_new_name(p, "a function, FILE:LINE, CRASH or EXIT",
					   ret);
	*ret = spec_parse_text(p, inside);
	spec_parse_advance(p);
	return *ret;
}

/** `AFTER f RETURNS n [TIMES]`; a function may be called AFTER. */
static bool is_after(const struct parser *p)
{
	const char *next = p->f->text + p->next.span.offset;
	uint32_t n = p->next.span.length;

	if (!spec_parse_is_word(p, "AFTER") || p->tok.kind != TOK_NAME)
		return false;
	return p->next.kind == TOK_STRING ||
	       (p->next.kind == TOK_NAME && !(n == 2 && !memcmp(next, "OF", n)) &&
		!(n == 4 && !memcmp(next, "EXIT", n)) &&
		!(n == 5 && !memcmp(next, "ENTRY", n)));
}

static void parse_after(struct parser *p, struct spec_cpoint *c)
{
	const char *const hint = "as in: CPOINT AFTER insert RETURNS 5;";

	spec_parse_advance(p);
	if (!parse_function(p, &c->function))
		return;
	if (!spec_parse_accept_word(p, "RETURNS")) {
		spec_parse_error(p, p->tok.span, hint, "expected RETURNS");
		return;
	}
	if (spec_parse_integer(p, "how many times it returns", 1, INT64_MAX, &c->returns))
		spec_parse_accept_word(p, "TIMES");
}

/** `list.c:40`, read as a path, not as tokens: the current one is CPOINT. @return whether
 * there is one. */
static bool parse_site(struct parser *p, struct spec_cpoint *c)
{
	struct spec_span path;
	uint32_t end = spec_lex_site(p->f, p->tok.span.offset + p->tok.span.length, &path,
				     &c->site.line);

	if (!end)
		return false;
	c->site.file = spec_parse_text(p, path);
	spec_parse_seek(p, end);
	return true;
}

/** What stands behind CPOINT. @return its kind; ENTRY for entry and return. */
static enum spec_cpoint_kind parse_where(struct parser *p, struct spec_cpoint *c,
					 bool *is_both)
{
	if (parse_site(p, c))
		return SPEC_CPOINT_LINE;
	spec_parse_advance(p);
	if (is_after(p)) {
		parse_after(p, c);
		return SPEC_CPOINT_AFTER;
	}
	if (spec_parse_accept_word(p, "CRASH"))
		return SPEC_CPOINT_CRASH;
	if (spec_parse_accept_word(p, "EXIT"))
		return SPEC_CPOINT_END;
	if (!parse_function(p, &c->function))
		return SPEC_CPOINT_ENTRY;
	if (spec_parse_accept_word(p, "EXIT"))
		return SPEC_CPOINT_RETURN;
	*is_both = !spec_parse_accept_word(p, "ENTRY");
	return SPEC_CPOINT_ENTRY;
}

/** `CPOINT CRASH;`, `CPOINT EXIT;`, `CPOINT f [ENTRY|EXIT] [OF type];`,
 * `CPOINT list.c:40 [OF type];`, `CPOINT AFTER f RETURNS n [TIMES] [OF type];` */
void spec_parse_cpoint(struct parser *p)
{
	struct spec_cpoint c = { .type = -1, .file = p->f->name };
	enum spec_cpoint_kind kind;
	bool is_both = false;

	c.line = spec_file_line(p->f, p->tok.span.offset);
	kind = parse_where(p, &c, &is_both);
	if (!p->is_panicking && spec_parse_accept_word(p, "OF"))
		c.type = spec_parse_known_type(p);
	if (!spec_parse_end(p, "C-point"))
		return;
	add_cpoint(p, &c, kind);
	if (is_both)
		add_cpoint(p, &c, SPEC_CPOINT_RETURN);
}
