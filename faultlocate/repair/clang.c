// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/clang.h"

static enum CXChildVisitResult take(CXCursor c, CXCursor parent, CXClientData data)
{
	rp_cursors *list = data;

	(void)parent;
	if (list->size < RP_CHILDREN)
		list->data[list->size++] = c;
	return CXChildVisit_Continue;
}

unsigned fl_rp_children(struct rp_front *f, CXCursor c, CXCursor *ret)
{
	rp_cursors list = { ret, 0, RP_CHILDREN };

	f->c->visitChildren(c, take, &list);
	return (unsigned)list.size;
}

struct rp_range fl_rp_extent(struct rp_front *f, CXCursor c)
{
	CXSourceRange r = f->c->getCursorExtent(c);
	struct rp_range at;

	f->c->getExpansionLocation(f->c->getRangeStart(r), NULL, NULL, NULL, &at.from);
	f->c->getExpansionLocation(f->c->getRangeEnd(r), NULL, NULL, NULL, &at.to);
	if (at.to > f->p->size)
		at.to = (unsigned)f->p->size;
	if (at.from > at.to)
		at.from = at.to;
	return at;
}

int fl_rp_line(struct rp_front *f, CXCursor c)
{
	unsigned line;

	f->c->getExpansionLocation(f->c->getRangeStart(f->c->getCursorExtent(c)), NULL,
				   &line, NULL, NULL);
	return (int)line;
}

/* In the arena. */
static const char *keep(struct rp_front *f, CXString s)
{
	const char *text = f->c->getCString(s);
	char *copy =
		arena_strndup(&f->p->arena, text ? text : "", text ? strlen(text) : 0);

	f->c->disposeString(s);
	if (!copy)
		f->has_failed = true;
	return copy ? copy : "";
}

const char *fl_rp_name(struct rp_front *f, CXCursor c)
{
	return keep(f, f->c->getCursorSpelling(c));
}

void fl_rp_refuse(struct rp_front *f, CXCursor c, const char *what)
{
	unsigned line, column;
	char text[256];
	int n;

	if (f->refused)
		return;
	f->c->getExpansionLocation(f->c->getCursorLocation(c), NULL, &line, &column,
				   NULL);
	n = snprintf(text, sizeof(text), "line %u, column %u: %s", line, column, what);
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	f->refused = arena_strndup(&f->p->arena, text, (size_t)n);
	if (!f->refused)
		f->refused = "out of memory";
}

/* ---- types --------------------------------------------------------------------------------- */

/* The record that @p declaration declares; its fields are read once. */
static int record_of(struct rp_front *f, CXCursor declaration)
{
	CXCursor definition = f->c->getCursorDefinition(declaration), fields[RP_CHILDREN];
	struct rp_record *r;
	int number;
	unsigned n;

	for (size_t i = 0; i < f->records.size; i++)
		if (f->c->equalCursors(f->records.data[i], definition))
			return (int)i;
	number = (int)f->p->records.size;
	r = vec_push(&f->p->records);
	if (!r || vec_add(&f->records, definition)) {
		f->has_failed = true;
		return RP_OPAQUE;
	}
	r->name = fl_rp_name(f, declaration);
	r->spelling = keep(f, f->c->getTypeSpelling(f->c->getCursorType(definition)));
	n = fl_rp_children(f, definition, fields);
	for (unsigned i = 0; i < n; i++) {
		struct rp_field field;

		if (f->c->getCursorKind(fields[i]) != CXCursor_FieldDecl)
			continue;
		field.name = fl_rp_name(f, fields[i]);
		field.type = fl_rp_type(f, f->c->getCursorType(fields[i]));
		// The records may have moved.
		if (vec_add(&f->p->records.data[number].fields, field))
			f->has_failed = true;
	}
	return number;
}

int fl_rp_type(struct rp_front *f, CXType t)
{
	CXType to;

	t = f->c->getCanonicalType(t);
	if ((t.kind >= CXType_Bool && t.kind <= CXType_LongLong &&
	     t.kind != CXType_UInt128) ||
	    t.kind == CXType_Enum)
		return RP_INT;
	if (t.kind != CXType_Pointer)
		return RP_OPAQUE;
	to = f->c->getCanonicalType(f->c->getPointeeType(t));
	if (to.kind == CXType_Void)
		return RP_ANY_POINTER;
	if (to.kind != CXType_Record)
		return RP_OPAQUE;
	if (f->c->getCursorKind(f->c->getTypeDeclaration(to)) != CXCursor_StructDecl)
		return RP_OPAQUE;
	return record_of(f, f->c->getTypeDeclaration(to));
}

int fl_rp_add_variable(struct rp_front *f, CXCursor c, struct rp_variable v)
{
	if (vec_add(&f->p->variables, v) || vec_add(&f->variables, c)) {
		f->has_failed = true;
		return 0;
	}
	return (int)f->p->variables.size - 1;
}
