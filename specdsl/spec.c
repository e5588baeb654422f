// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The specification as a value: its life, its files and what it says.
 */
#include <errno.h>
#include <string.h>

#include "specdsl/objects.h"
#include "specdsl/spec_ast.h"
#include "specdsl/structure.h"

/* What a file is of. */
enum file_kind { OF_SPEC, OF_OBJECTS, OF_STRUCTURE };

struct err *spec_create(struct spec **ret)
{
	struct spec *s = calloc(1, sizeof(*s));

	if (!s)
		return &err_nomem;
	*ret = s;
	return NULL;
}

void spec_destroy(struct spec *s)
{
	if (!s)
		return;
	vec_deinit(&s->files);
	vec_deinit(&s->diags);
	vec_deinit(&s->types);
	vec_deinit(&s->type_places);
	vec_deinit(&s->roots);
	vec_deinit(&s->root_rests);
	vec_deinit(&s->attrs);
	vec_deinit(&s->consts);
	vec_deinit(&s->rules);
	vec_deinit(&s->cpoints);
	vec_deinit(&s->predicates);
	vec_deinit(&s->bugs);
	vec_deinit(&s->objects);
	arena_deinit(&s->arena);
	free(s);
}

void spec_destroyp(struct spec **s)
{
	spec_destroy(*s);
}

static struct err *add_text(struct spec *s, const char *name, const char *text,
			    size_t size, enum file_kind kind)
{
	struct spec_file *f, **slot;

	if (size > SPEC_MAX_FILE_BYTES)
		return err_new(ERR_FORMAT,
			       "cannot read '%s': over 1 MiB is not a specification",
			       name);
	if (memchr(text, 0, size))
		return err_new(ERR_FORMAT, "cannot read '%s': not a text file", name);
	f = arena_alloc(&s->arena, sizeof(*f));
	slot = f ? vec_push(&s->files) : NULL;
	if (!slot)
		return &err_nomem;
	f->name = arena_strndup(&s->arena, name, strlen(name));
	f->text = arena_strndup(&s->arena, text, size);
	f->size = size;
	f->has_objects = kind == OF_OBJECTS;
	f->has_structure = kind == OF_STRUCTURE;
	*slot = f;
	if (!f->name || !f->text)
		return &err_nomem;
	return spec_parse(s, f);
}

static struct err *add_file(struct spec *s, const char *path, enum file_kind kind)
{
	_cleanup_fclose_ FILE *in = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	size_t n;

	if (!in)
		return err_errno("cannot open specification '%s'", path);
	text = malloc(SPEC_MAX_FILE_BYTES + 1);
	if (!text)
		return &err_nomem;
	errno = 0;
	n = fread(text, 1, SPEC_MAX_FILE_BYTES + 1, in);
	if (ferror(in))
		return err_errno("cannot read specification '%s'", path);
	return add_text(s, path, text, n, kind);
}

struct err *spec_add_text(struct spec *s, const char *name, const char *text, size_t size)
{
	return add_text(s, name, text, size, OF_SPEC);
}

struct err *spec_add_objects_text(struct spec *s, const char *name, const char *text,
				  size_t size)
{
	return add_text(s, name, text, size, OF_OBJECTS);
}

struct err *spec_add_structure_text(struct spec *s, const char *name, const char *text,
				    size_t size)
{
	return add_text(s, name, text, size, OF_STRUCTURE);
}

struct err *spec_add_file(struct spec *s, const char *path)
{
	return add_file(s, path, OF_SPEC);
}

struct err *spec_add_objects(struct spec *s, const char *path)
{
	return add_file(s, path, OF_OBJECTS);
}

struct err *spec_add_structure(struct spec *s, const char *path)
{
	return add_file(s, path, OF_STRUCTURE);
}

/* ---- what it says ------------------------------------------------------------------- */

size_t spec_types(const struct spec *s)
{
	return s->types.size;
}

const struct spec_type *spec_type(const struct spec *s, size_t i)
{
	return &s->types.data[i];
}

static bool is_called(const struct spec_type *t, const char *name)
{
	return !strcmp(t->name, name) ||
	       (t->layout && !t->n_sites && !strcmp(t->layout->name, name));
}

int spec_type_find(const struct spec *s, const char *name)
{
	for (size_t i = 0; name && i < s->types.size; i++)
		if (!s->types.data[i].is_root && is_called(&s->types.data[i], name))
			return s->types.data[i].same_as >= 0 ? s->types.data[i].same_as :
							       (int)i;
	return -1;
}

size_t spec_constraints(const struct spec *s)
{
	return s->rules.size;
}

size_t spec_statements(const struct spec *s)
{
	size_t n = s->roots.size + s->consts.size + s->attrs.size + s->rules.size;

	for (size_t i = 0; i < s->types.size; i++)
		n += s->types.data[i].is_declared;
	return n;
}

const struct spec_constraint *spec_constraint(const struct spec *s, size_t i)
{
	return &s->rules.data[i]->pub;
}

static bool counts(const struct ast *n)
{
	return n && ((n->kind == AST_STANDARD && n->attr != ATTR_OUTDEGREE &&
		      n->attr != ATTR_ISLEAF) ||
		     counts(n->a) || counts(n->b) || counts(n->c));
}

bool spec_constraint_counts(const struct spec *s, size_t i)
{
	return counts(s->rules.data[i]->guard) || counts(s->rules.data[i]->body);
}

size_t spec_cpoints(const struct spec *s)
{
	return s->cpoints.size;
}

const struct spec_cpoint *spec_cpoint(const struct spec *s, size_t i)
{
	return &s->cpoints.data[i];
}

bool spec_binding_equal(const struct spec_binding *a, const struct spec_binding *b)
{
	return a->index == b->index && !memcmp(a->node, b->node, sizeof(a->node));
}
