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
#include "base/hash.h"
#include "decode/symbols/symbols_int.h"
#include "decode/x86/zydis.h"

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
	return symbol[n] == 0 || symbol[n] == '@' ||
	       (symbol[n] == '.' && !strstr(symbol + n, ".cold"));
}

/* ---- the index ------------------------------------------------------------------- */

/** Walk DIEs below @p parent and note every function entry; @p last as of dec_sym_is_next().
 * @return -1: out of memory. */
static int index_entries(struct dec_sym_unit *u, Dwarf_Die *parent, int depth,
			 const void **last)
{
	Dwarf_Die die;

	if (depth > DEC_SYM_DEPTH || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		struct dec_sym_entry e = { 0 }, *slot;
		int tag = dwarf_tag(&die);

		if (!dec_sym_is_next(&die, last))
			return 0;
		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			e.is_inlined = tag == DW_TAG_inlined_subroutine;
			e.name = text_name(dwarf_diename(&die));
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
		if (index_entries(u, &die, depth + 1, last))
			return -1;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

static void need_entries(struct dec_sym_unit *u)
{
	if (u->has_entries)
		return;
	u->has_entries = true;
	dec_sym_unit_need_debug(u);
	for (size_t i = 0; i < u->cus.size; i++) {
		const void *last = NULL;

		if (index_entries(u, &u->cus.data[i].die, 0, &last))
			log_warn("out of memory: functions of '%s' are missing", u->path);
	}
}

enum which {
	LINKED, ///< to the linker it has this name: no method of C++, nor static where the user's own are
	ANYBODYS,
	INLINED,
	RESOLVERS,
};

/* Is the function at @p addr of @p u, whose debug information calls it @p name, another one to the linker? */
static bool is_unlinked(struct dec_sym_unit *u, uint64_t addr, const char *name)
{
	const struct dec_sym_symbol *symbol = dec_sym_unit_symbol(u, addr);

	return symbol && symbol->addr == addr &&
	       (symbol->is_static || !names_function(symbol->name, name));
}

/** Entries of @p name in the debug information of @p m. What the system's libraries inline, or
 * have no symbol for, is nobody's question. */
static size_t entries_in_dwarf(struct dec_sym_mapping *m, const char *name,
			       enum which which, uint64_t *ret, size_t n, size_t max)
{
	if (dec_sym_unit_is_systems(m->unit))
		return n;
	need_entries(m->unit);
	for (size_t i = 0; i < m->unit->entries.size; i++) {
		const struct dec_sym_entry *e = &m->unit->entries.data[i];

		if (e->is_inlined == (which == INLINED) && !strcmp(e->name, name) &&
		    (which != LINKED || !is_unlinked(m->unit, e->addr, name)))
			n = add_result(e->addr + m->bias, ret, n, max);
	}
	return n;
}

/* What all names have in common that names_function() may find to be one. */
static uint64_t hash_name(const char *name)
{
	return hash_bytes(HASH_START, name, strcspn(name, "@."));
}

/** Chain the symbols of @p u by the hashes of their names: one of a power of two of heads, then
 * for each symbol the next; each an index plus 1, 0: none. Ascending, as the symbols are. */
static void need_named(struct dec_sym_unit *u)
{
	size_t n, n_heads = 1;
	uint32_t *next;

	dec_sym_unit_need_symbols(u);
	if (u->named.size || !(n = u->symbols.size))
		return;
	while (n_heads < n)
		n_heads *= 2;
	if (vec_reserve(&u->named, n_heads + n)) {
		log_warn("out of memory: symbols of '%s' are missing", u->path);
		return;
	}
	u->named.size = n_heads + n;
	memset(u->named.data, 0, n_heads * sizeof(*u->named.data));
	next = u->named.data + n_heads;
	while (n--) {
		uint32_t *head = &u->named.data[hash_name(u->symbols.data[n].name) &
						(n_heads - 1)];

		next[n] = *head;
		*head = n + 1;
	}
}

static size_t entries_in_symbols(struct dec_sym_mapping *m, const char *name,
				 enum which which, uint64_t *ret, size_t n, size_t max)
{
	const struct dec_sym_unit *u = m->unit;
	bool may_be_static = which != LINKED || dec_sym_unit_is_systems(m->unit);
	size_t n_heads;

	need_named(m->unit);
	if (!u->named.size)
		return n;
	n_heads = u->named.size - u->symbols.size;
	for (uint32_t i = u->named.data[hash_name(name) & (n_heads - 1)]; i;
	     i = u->named.data[n_heads + i - 1]) {
		const struct dec_sym_symbol *symbol = &u->symbols.data[i - 1];

		if (symbol->is_resolver >= (which == RESOLVERS) &&
		    symbol->is_static <= may_be_static &&
		    names_function(symbol->name, name))
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

static size_t find_entries(struct dec_symbols *s, const char *name, enum which which,
			   uint64_t *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mappings.size; i++) {
		struct dec_sym_mapping *m = &s->mappings.data[i];

		if (is_repeat(s, i))
			continue;
		n = entries_in_symbols(m, name, which, ret, n, max);
		n = entries_in_dwarf(m, name, which, ret, n, max);
	}
	return n;
}

size_t dec_symbols_entries(struct dec_symbols *s, const char *name, uint64_t *ret,
			   size_t max)
{
	return find_entries(s, name, LINKED, ret, max);
}

struct err *dec_symbols_linked(struct dec_symbols *s, uint64_t rip,
			       struct err *(*fn)(void *ctx, const char *name,
						 uint64_t entry),
			       void *ctx)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, rip);
	struct err *err = NULL;

	if (m)
		dec_sym_unit_need_symbols(m->unit);
	for (size_t i = 0; m && i < m->unit->symbols.size && !err; i++) {
		const struct dec_sym_symbol *symbol = &m->unit->symbols.data[i];

		if (!symbol->is_static && !symbol->is_resolver)
			err = fn(ctx, symbol->name, symbol->addr + m->bias);
	}
	return err;
}

size_t dec_symbols_methods(struct dec_symbols *s, const char *name, uint64_t *ret,
			   size_t max)
{
	return find_entries(s, name, ANYBODYS, ret, max);
}

size_t dec_symbols_resolvers(struct dec_symbols *s, const char *name, uint64_t *ret,
			     size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mappings.size; i++) {
		struct dec_sym_mapping *m = &s->mappings.data[i];

		if (!is_repeat(s, i))
			n = entries_in_symbols(m, name, RESOLVERS, ret, n, max);
	}
	return n;
}

size_t dec_symbols_inlined_entries(struct dec_symbols *s, const char *name, uint64_t *ret,
				   size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mappings.size; i++) {
		if (!is_repeat(s, i))
			n = entries_in_dwarf(&s->mappings.data[i], name, INLINED, ret, n,
					     max);
	}
	return n;
}

/* ---- lines ------------------------------------------------------------------------- */

/** @return whether @p tail is @p path or its last components. */
static bool is_path_tail(const char *path, const char *tail)
{
	size_t p = strlen(path), n = strlen(tail);

	return n && n <= p && !strcmp(path + p - n, tail) &&
	       (n == p || path[p - n - 1] == '/' || tail[0] == '/');
}

/** @return whether DWARF's @p path is the file the user calls @p name: the same as far as
 * both go ("quad.c" and "src/quad.c"; "src/quad.c" and "/home/me/src/quad.c"). */
static bool names_file(const char *path, const char *name)
{
	return is_path_tail(path, name) || (path[0] != '/' && is_path_tail(name, path));
}

/** The DIE offset of the innermost scope at @p addr: one C-point for each. */
static Dwarf_Off scope_id(struct dec_sym_unit *u, uint64_t addr)
{
	struct dec_sym_scopes sc;

	dec_sym_unit_scopes(u, addr, &sc);
	return sc.n ? dwarf_dieoffset(&sc.die[sc.n - 1]) : 0;
}

/** @return whether the code from @p addr to the end of its run of rows returns: one of
 * the several ends of a function, all of which have the line of its last brace. */
static bool is_epilogue(struct dec_sym_unit *u, uint64_t addr, uint64_t end)
{
	ZydisDecodedInstruction in;

	while (addr < end) {
		uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
		size_t n = dec_sym_unit_read(u, addr, code, sizeof(code));

		if (!dec_insn_zydis(code, n, &in, NULL))
			return false;
		if (in.meta.category == ZYDIS_CATEGORY_RET)
			return true;
		addr += in.length;
	}
	return false;
}

/** What is collected of one line in one compile unit. */
struct line_search {
	struct dec_sym_mapping *m;
	VEC(Dwarf_Off) scopes; ///< that have an address
	uint64_t *ret;
	size_t n, max;
};

/** The rows of the line run from @p start to @p end, with a statement's beginning at
 * @p stmt (0: none, gcc marks none on braces at -O2). Add it when it is the first in its
 * scope (the optimiser scatters a statement, its lowest address starts it), or when the
 * function ends there. */
static void add_run(struct line_search *q, uint64_t start, uint64_t stmt, uint64_t end)
{
	bool is_end = is_epilogue(q->m->unit, start, end), is_known = false;
	Dwarf_Off id, *slot;

	if (!stmt && !is_end)
		return;
	start = is_end ? start : stmt;
	id = scope_id(q->m->unit, start);
	for (size_t i = 0; i < q->scopes.size; i++)
		is_known |= q->scopes.data[i] == id;
	if (is_known && !is_end)
		return;
	slot = vec_push(&q->scopes);
	if (slot)
		*slot = id;
	q->n = add_result(start + q->m->bias, q->ret, q->n, q->max);
}

/** Is row @p row of the line? @p is_stmt: where a breakpoint would go. */
static bool is_row_of(Dwarf_Line *row, const char *file, int line, bool *is_stmt)
{
	bool is_end = false;
	const char *path;
	int number = 0;

	*is_stmt = false;
	if (dwarf_lineno(row, &number) || number != line ||
	    dwarf_lineendsequence(row, &is_end) || is_end)
		return false;
	path = text_name(dwarf_linesrc(row, NULL, NULL));
	dwarf_linebeginstatement(row, is_stmt);
	return path && names_file(path, file);
}

static void line_addrs_in_cu(struct line_search *q, struct dec_sym_cu *cu,
			     const char *file, int line)
{
	uint64_t start = 0, stmt = 0; // of the run under way, 0 none
	Dwarf_Lines *rows;
	size_t n_rows;

	if (dwarf_getsrclines(&cu->die, &rows, &n_rows))
		return;
	for (size_t i = 0; i < n_rows; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		bool is_stmt, is_on = is_row_of(row, file, line, &is_stmt);
		Dwarf_Addr addr;

		if (dwarf_lineaddr(row, &addr))
			continue;
		addr += q->m->unit->debug_bias;
		if (!is_on && start) {
			add_run(q, start, stmt, addr);
			start = stmt = 0;
		}
		if (is_on && !start)
			start = addr;
		if (is_on && is_stmt && !stmt)
			stmt = addr;
	}
}

static void line_addrs_in_unit(struct line_search *q, struct dec_sym_mapping *m,
			       const char *file, int line)
{
	q->m = m;
	dec_sym_unit_need_debug(m->unit);
	for (size_t k = 0; k < m->unit->cus.size; k++) {
		q->scopes.size = 0;
		line_addrs_in_cu(q, &m->unit->cus.data[k], file, line);
	}
}

size_t dec_symbols_line_addrs(struct dec_symbols *s, const char *file, int line,
			      uint64_t *ret, size_t max)
{
	struct line_search q = { .ret = ret, .max = max };

	// A file of the user's is in no library of the system.
	for (int systems = 0; systems < 2 && !q.n; systems++)
		for (size_t i = 0; i < s->mappings.size; i++)
			if (!is_repeat(s, i) &&
			    dec_sym_unit_is_systems(s->mappings.data[i].unit) == systems)
				line_addrs_in_unit(&q, &s->mappings.data[i], file, line);
	vec_deinit(&q.scopes);
	return q.n;
}

static void near_lines_in_cu(struct dec_sym_cu *cu, const char *file, int line,
			     int *before, int *after)
{
	Dwarf_Lines *rows;
	size_t n_rows;

	if (dwarf_getsrclines(&cu->die, &rows, &n_rows))
		return;
	for (size_t i = 0; i < n_rows; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		bool is_stmt;
		int at = 0;

		if (dwarf_lineno(row, &at) || !at ||
		    !is_row_of(row, file, at, &is_stmt) || !is_stmt)
			continue;
		if (at < line && at > *before)
			*before = at;
		if (at > line && (!*after || at < *after))
			*after = at;
	}
}

bool dec_symbols_near_lines(struct dec_symbols *s, const char *file, int line,
			    int *before, int *after)
{
	*before = *after = 0;
	for (size_t i = 0; i < s->mappings.size; i++) {
		struct dec_sym_unit *u = s->mappings.data[i].unit;

		dec_sym_unit_need_debug(u);
		for (size_t k = 0; !is_repeat(s, i) && k < u->cus.size; k++)
			near_lines_in_cu(&u->cus.data[k], file, line, before, after);
	}
	return *before || *after;
}
