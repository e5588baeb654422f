// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Statements that stand alone: node types (t of the grammar) and constants.
 */
#include <string.h>

#include "specdsl/spec_parser.h"

/* ---- types: t of the grammar ---------------------------------------------------------- */

/** `AT list.c:40, list.c:52` */
static void parse_sites(struct parser *p, struct spec_type *t)
{
	VEC(struct spec_site) sites = {};

	// `p->tok` is AT; what follows is read as paths, not as tokens.
	for (uint32_t at = p->tok.span.offset + p->tok.span.length;;) {
		struct spec_site *site = vec_push(&sites);
		struct spec_span path = {};

		if (!site) {
			p->is_out_of_memory = p->is_panicking = true;
			break;
		}
		at = spec_lex_site(p->f, at, &path, &site->line);
		if (!at) {
			spec_parse_advance(p);
			spec_parse_error(p, p->tok.span, "as in: AT list.c:40",
					 "expected an allocation site, FILE:LINE");
			break;
		}
		site->file = spec_parse_text(p, path);
		spec_parse_seek(p, at);
		if (!spec_parse_is_char(p, ','))
			break;
		at = p->tok.span.offset + 1;
	}
	t->n_sites = sites.size;
	t->sites = arena_alloc(&p->s->arena, sites.size * sizeof(*sites.data) + 1);
	if (t->sites && sites.size)
		memcpy((void *)t->sites, sites.data, sites.size * sizeof(*sites.data));
	p->is_out_of_memory |= !t->sites;
	vec_deinit(&sites);
}

static void add_type(struct parser *p, const struct spec_type *t,
		     const struct spec_type_place *place)
{
	int old = spec_type_find(p->s, t->name);
	struct spec_type_place *new_place;
	struct spec_type *new;

	if (old >= 0) {
		const struct spec_type *o = &p->s->types.data[old];

		if (!o->is_declared) {
			p->s->types.data[old] = *t;
			p->s->type_places.data[old] = *place;
			return;
		}
		// Several files may declare the same type, as long as they agree.
		if ((!t->n_fields ||
		     (o->n_fields == t->n_fields && o->n_edges == t->n_edges)) &&
		    o->is_array == t->is_array && o->slot_bytes == t->slot_bytes &&
		    !t->n_sites && strcmp(o->file, p->f->name))
			return;
		spec_parse_error(p, place->name, NULL, "type '%s' was declared at %s:%d",
				 t->name, o->file, o->line);
		return;
	}
	new = vec_push(&p->s->types);
	new_place = new ? vec_push(&p->s->type_places) : NULL;
	if (new_place) {
		*new = *t;
		*new_place = *place;
	}
	p->is_out_of_memory |= !new_place;
}

/** `FIELD n EDGE n` */
static void parse_type_counts(struct parser *p, struct spec_type *t,
			      struct spec_type_place *place)
{
	int64_t n = 0;

	place->fields = p->tok.span;
	if (!spec_parse_integer(p, "the number of fields", 1, 1 << 20, &n))
		return;
	t->n_fields = n;
	if (!spec_parse_accept_word(p, "EDGE")) {
		spec_parse_error(p, p->tok.span, "as in: node FIELD 2 EDGE 1;",
				 "expected EDGE and the number of pointer fields");
		return;
	}
	place->edges = p->tok.span;
	if (p->tok.kind == TOK_NUMBER && p->tok.number > n)
		spec_parse_error(p, p->tok.span,
				 "EDGE counts the fields that are pointers",
				 "there are more edges than fields");
	if (spec_parse_integer(p, "the number of pointer fields", 0, t->n_fields, &n))
		t->n_edges = n;
}

/** `SIZE n`: the bytes of one field of an array. */
static void parse_type_size(struct parser *p, struct spec_type *t)
{
	struct spec_span at = p->tok.span;
	int64_t n = 0;

	if (!spec_parse_integer(p, "the bytes of one field", 1, 8, &n))
		return;
	t->slot_bytes = n;
	if (n & (n - 1))
		spec_parse_error(p, at, NULL, "SIZE is 1, 2, 4 or 8");
}

/** What somebody may have meant by @p name, which is not declared; NULL: the program's struct. */
static const char *hint_unknown_type(struct parser *p, const char *name)
{
	struct spec_nearest nearest = { .word = name };
	const char *foreign = spec_hint_statement(name) ?: spec_hint_foreign(name);

	// Whose fields are counted has no debug information, which would know the name. `node_t`
	// may be no mistake where there is a `node`.
	for (size_t i = 0; i < p->s->types.size && !foreign; i++) {
		const struct spec_type *t = &p->s->types.data[i];

		if (t->n_fields && strncmp(t->name, name, strlen(t->name)))
			spec_nearest_try(&nearest, t->name);
	}
	if (foreign || !nearest.name)
		return foreign;
	return spec_printf(p->s, "did you mean '%s'? else declare it first: '%s;'",
			   nearest.name, name);
}

int spec_parse_known_type(struct parser *p)
{
	struct spec_type t = { .slot_bytes = 8, .same_as = -1, .file = p->f->name };
	struct spec_span at = p->tok.span;
	const struct spec_type_place place = {
		.file = p->f, .name = at, .fields = at, .edges = at
	};
	const char *hint;
	int type;

	t.line = spec_file_line(p->f, at.offset);
	if (!spec_parse_type_name(p, "a type", &t.name))
		return -1;
	type = spec_type_find(p->s, t.name);
	if (type >= 0)
		return type;
	hint = hint_unknown_type(p, t.name);
	if (hint) {
		spec_parse_error(p, at, hint, "type '%s' is not declared", t.name);
		return -1;
	}
	add_type(p, &t, &place);
	return spec_type_find(p->s, t.name);
}

/** `f [FIELD n EDGE n] ;` and `ARRAY f ;` */
void spec_parse_type(struct parser *p)
{
	struct spec_type t = {
		.slot_bytes = 8, .same_as = -1, .is_declared = true, .file = p->f->name
	};
	struct spec_type_place place = { .file = p->f };

	t.is_array = spec_parse_accept_word(p, "ARRAY");
	place.name = place.fields = place.edges = p->tok.span;
	t.line = spec_file_line(p->f, p->tok.span.offset);
	if (!spec_parse_type_name(p, "the struct's name", &t.name))
		return;
	if (t.is_array && spec_parse_accept_word(p, "SIZE")) {
		parse_type_size(p, &t);
	} else if (!t.is_array && spec_parse_accept_word(p, "FIELD")) {
		parse_type_counts(p, &t, &place);
	}
	if (!p->is_panicking && spec_parse_is_word(p, "AT"))
		parse_sites(p, &t);
	spec_parse_end(p, "type");
	// Also after a mistake, so that the type's uses are not reported as unknown.
	if (!p->is_panicking || spec_type_find(p->s, t.name) < 0)
		add_type(p, &t, &place);
}

/* ---- constants --------------------------------------------------------------------------- */

/** `CONST BLACK 1;` */
void spec_parse_const(struct parser *p)
{
	struct spec_span at = p->next.span;
	struct spec_const c = {}, *new;

	spec_parse_advance(p);
	if (!spec_parse_new_name(p, "the constant's name", &c.name))
		return;
	if (p->tok.kind == TOK_ASSIGN)
		spec_parse_advance(p);
	if (!spec_parse_integer(p, "a constant", INT64_MIN, INT64_MAX, &c.value) ||
	    !spec_parse_end(p, "constant"))
		return;
	if (spec_root_find(p->s, c.name) >= 0) {
		spec_parse_error(p, at, "give the constant another name",
				 "'%s' is a root", c.name);
		return;
	}
	for (size_t i = 0; i < p->s->consts.size; i++) {
		if (strcmp(p->s->consts.data[i].name, c.name))
			continue;
		if (p->s->consts.data[i].value != c.value)
			spec_parse_error(p, at, NULL, "'%s' is already %lld", c.name,
					 (long long)p->s->consts.data[i].value);
		return;
	}
	new = vec_push(&p->s->consts);
	if (new)
		*new = c;
	p->is_out_of_memory |= !new;
}
