// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From a name to addresses: function entries, inlined instances, lines. Where a user
 * sets a C-point.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/dec_symbols_int.h"

/** Add @p addr to the @p n results unless it is there. @return the new count; results
 * behind @p max are counted only. */
static size_t add_result(uint64_t addr, uint64_t *ret, size_t n, size_t max)
{
	for (size_t i = 0; i < n && i < max; i++) {
		if (ret[i] == addr)
			return n;
	}
	if (n < max)
		ret[n] = addr;
	return n + 1;
}

/** @return whether symbol @p symbol is @p name or a copy of it that is entered by calls
 * (name.isra.0, name.part.0, name.constprop.0; not name.cold, which is jumped to). */
static bool names_function(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(symbol, name, n))
		return false;
	return symbol[n] == 0 || (symbol[n] == '.' && !strstr(symbol + n, ".cold"));
}

/* ---- the index ------------------------------------------------------------------- */

/** Walk DIEs below @p parent and note every function entry. @return -1: out of memory. */
static int index_entries(struct dec_sym_unit *u, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > DEC_SYM_DEPTH || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		struct dec_sym_entry e = { 0 }, *slot;
		int tag = dwarf_tag(&die);

		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			e.is_inlined = tag == DW_TAG_inlined_subroutine;
			e.name = dwarf_diename(&die);
			if (!e.name || !dec_sym_entry_pc(u, &die, &e.addr))
				break;
			slot = vec_push(&u->entries);
			if (!slot)
				return -1;
			*slot = e;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			break;
		default:
			continue;
		}
		if (index_entries(u, &die, depth + 1))
			return -1;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

static void need_entries(struct dec_sym_unit *u)
{
	if (u->has_entries)
		return;
	u->has_entries = true;
	for (size_t i = 0; i < u->cus.size; i++) {
		if (index_entries(u, &u->cus.data[i].die, 0))
			log_warn("out of memory: functions of '%s' are missing", u->path);
	}
}

/** Entries of @p name in the debug information of @p m. */
static size_t entries_in_dwarf(struct dec_sym_mapping *m, const char *name,
			       bool is_inlined, uint64_t *ret, size_t n, size_t max)
{
	need_entries(m->unit);
	for (size_t i = 0; i < m->unit->entries.size; i++) {
		const struct dec_sym_entry *e = &m->unit->entries.data[i];

		if (e->is_inlined == is_inlined && !strcmp(e->name, name))
			n = add_result(e->addr + m->bias, ret, n, max);
	}
	return n;
}

static size_t entries_in_symbols(struct dec_sym_mapping *m, const char *name,
				 uint64_t *ret, size_t n, size_t max)
{
	dec_sym_unit_need_symbols(m->unit);
	for (size_t i = 0; i < m->unit->symbols.size; i++) {
		const struct dec_sym_symbol *symbol = &m->unit->symbols.data[i];

		if (names_function(symbol->name, name))
			n = add_result(symbol->addr + m->bias, ret, n, max);
	}
	return n;
}

/** @return whether the unit of mapping @p i was at the same bias in an earlier one: one
 * file has several executable mappings after mprotect. */
static bool is_repeat(const struct dec_symbols *s, size_t i)
{
	const struct dec_sym_mapping *m = s->mappings.data;

	for (size_t j = 0; j < i; j++) {
		if (m[j].unit == m[i].unit && m[j].bias == m[i].bias)
			return true;
	}
	return false;
}

size_t dec_symbols_entries(struct dec_symbols *s, const char *name, uint64_t *ret,
			   size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mappings.size; i++) {
		struct dec_sym_mapping *m = &s->mappings.data[i];

		if (is_repeat(s, i))
			continue;
		n = entries_in_symbols(m, name, ret, n, max);
		n = entries_in_dwarf(m, name, false, ret, n, max);
	}
	return n;
}

size_t dec_symbols_inlined_entries(struct dec_symbols *s, const char *name, uint64_t *ret,
				   size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mappings.size; i++) {
		if (!is_repeat(s, i))
			n = entries_in_dwarf(&s->mappings.data[i], name, true, ret, n,
					     max);
	}
	return n;
}

/* ---- lines ------------------------------------------------------------------------- */

/** @return whether DWARF's @p path is the file the user calls @p name: equal, or equal
 * in its last components ("quad.c", "src/quad.c"). */
static bool names_file(const char *path, const char *name)
{
	size_t p = strlen(path), n = strlen(name);

	return n && n <= p && !strcmp(path + p - n, name) &&
	       (n == p || path[p - n - 1] == '/' || name[0] == '/');
}

/** The DIE offset of the innermost scope at @p addr: one C-point for each. */
static Dwarf_Off scope_id(struct dec_sym_unit *u, uint64_t addr)
{
	struct dec_sym_scopes sc;

	dec_sym_unit_scopes(u, addr, &sc);
	return sc.n ? dwarf_dieoffset(&sc.die[sc.n - 1]) : 0;
}

/** Add the first row of each run of rows of the line, one for each innermost scope: the
 * optimiser scatters a statement over its scope, the lowest address starts it. */
static size_t line_addrs_in_cu(struct dec_sym_mapping *m, struct dec_sym_cu *cu,
			       const char *file, int line, uint64_t *ret, size_t n,
			       size_t max)
{
	VEC(Dwarf_Off) seen = { 0 };
	Dwarf_Lines *rows;
	size_t n_rows;
	bool was_on = false;

	if (dwarf_getsrclines(&cu->die, &rows, &n_rows))
		return n;
	for (size_t i = 0; i < n_rows; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		bool is_stmt = false, is_end = false, is_known = false, is_on;
		const char *path;
		Dwarf_Addr addr;
		Dwarf_Off id, *slot;
		int number = 0;

		dwarf_lineno(row, &number);
		dwarf_lineendsequence(row, &is_end);
		path = number == line && !is_end ? dwarf_linesrc(row, NULL, NULL) : NULL;
		is_on = path && names_file(path, file);
		if (!is_on || was_on || dwarf_linebeginstatement(row, &is_stmt) ||
		    !is_stmt || dwarf_lineaddr(row, &addr)) {
			was_on = is_on && (was_on || is_stmt);
			continue;
		}
		was_on = true;
		addr += m->unit->debug_bias;
		id = scope_id(m->unit, addr);
		for (size_t k = 0; k < seen.size; k++)
			is_known |= seen.data[k] == id;
		if (is_known)
			continue;
		slot = vec_push(&seen);
		if (slot)
			*slot = id;
		n = add_result(addr + m->bias, ret, n, max);
	}
	vec_deinit(&seen);
	return n;
}

size_t dec_symbols_line_addrs(struct dec_symbols *s, const char *file, int line,
			      uint64_t *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mappings.size; i++) {
		struct dec_sym_mapping *m = &s->mappings.data[i];

		for (size_t k = 0; !is_repeat(s, i) && k < m->unit->cus.size; k++)
			n = line_addrs_in_cu(m, &m->unit->cus.data[k], file, line, ret, n,
					     max);
	}
	return n;
}
