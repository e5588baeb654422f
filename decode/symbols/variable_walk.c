// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * All variables that DWARF knows, and the names of the scopes around one. These are only looked
 * for where its own name is right: in C++ they are those of the declaration, which may be
 * elsewhere.
 */
#include <dwarf.h>

#define LOG_ROOM "decode"
#include "decode/symbols/variable_int.h"

/* ---- walking ---------------------------------------------------------------------------- */

struct walk {
	struct dec_var_path path;
	const void *last; ///< of dec_sym_is_next()
	struct err *(*fn)(void *ctx, struct dec_var_path *p);
	void *ctx;
};

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       dec_sym_is_struct(tag);
}

static bool is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static struct err *walk_below(struct walk *w, Dwarf_Die *parent)
{
	struct dec_var_path *p = &w->path;
	struct err *err = NULL;
	Dwarf_Die die;

	if (p->n == DEC_SYM_DEPTH || dwarf_child(parent, &die) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&die), function = p->function;

		if (!dec_sym_is_next(&die, &w->last))
			return NULL;
		if (!is_scope(tag) && tag != DW_TAG_variable &&
		    tag != DW_TAG_formal_parameter)
			continue;
		p->die[p->n++] = die;
		if (is_function(tag))
			p->function = p->n - 1;
		err = is_scope(tag) ? walk_below(w, &die) : w->fn(w->ctx, p);
		p->function = function;
		p->n--;
	} while (!err && dwarf_siblingof(&die, &die) == 0);
	return err;
}

struct err *dec_var_walk(struct dec_symbols *s,
			 struct err *(*fn)(void *ctx, struct dec_var_path *p), void *ctx)
{
	struct err *err = NULL;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < s->n_units && !err; i++) {
			struct dec_sym_unit *u = s->units[i];

			if ((u == s->exe) != (pass == 0) || dec_sym_unit_is_systems(u))
				continue;
			dec_sym_unit_need_debug(u);
			for (size_t k = 0; k < u->cus.size && !err; k++) {
				struct walk w = { .fn = fn, .ctx = ctx };

				w.path.unit = u;
				w.path.cu = &u->cus.data[k];
				w.path.function = -1;
				err = walk_below(&w, &w.path.cu->die);
			}
		}
	return err;
}

/* ---- scopes ------------------------------------------------------------------------------ */

static void scopes_add(struct dec_var_scopes *sc, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	const char *name = tag == DW_TAG_lexical_block ? NULL :
							 text_name(dwarf_diename(die));

	if (name && is_scope(tag) && sc->n < DEC_VAR_SCOPES)
		sc->name[sc->n++] = name;
}

/** The declaration that @p die is of or a copy of. @return false: it is its own. */
static bool find_declaration(const Dwarf_Die *die, Dwarf_Die *ret)
{
	bool found = false;

	*ret = *die;
	for (int i = 0; i < 8; i++) { // of damaged information there may be no end
		Dwarf_Attribute attr;
		Dwarf_Die to;

		if (!(dwarf_attr(ret, DW_AT_abstract_origin, &attr) ||
		      dwarf_attr(ret, DW_AT_specification, &attr)) ||
		    !dwarf_formref_die(&attr, &to))
			break;
		*ret = to;
		found = true;
	}
	return found;
}

/** The scopes that the source has around entry @p at of @p p. */
static void scopes_around(struct dec_var_path *p, int at, struct dec_var_scopes *ret)
{
	Dwarf_Die declaration, *around;
	int n;

	if (!find_declaration(&p->die[at], &declaration)) {
		for (int i = 0; i < at; i++)
			scopes_add(ret, &p->die[i]);
		return;
	}
	n = dwarf_getscopes_die(&declaration, &around);
	for (int i = n - 1; i > 0; i--)
		scopes_add(ret, &around[i]);
	if (n > 0)
		free(around);
}

void dec_var_scopes(struct dec_var_path *p, struct dec_var_scopes *ret)
{
	ret->n = 0;
	if (p->function < 0) {
		scopes_around(p, p->n - 1, ret);
		return;
	}
	scopes_around(p, p->function, ret);
	scopes_add(ret, &p->die[p->function]);
}
