// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From an address to the global or static variable that is there.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/variable_int.h"

#define TYPES_MAX 64 // one in the other: damaged ones may run in a circle

static bool is_atomic_name(const char *name)
{
	return name && (!strncmp(name, "atomic<", 7) || !strcmp(name, "atomic_flag") ||
			!strncmp(name, "__atomic_base<", 14));
}

static bool next_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) &&
	       dwarf_formref_die(&attr, ret);
}

/* The member of struct @p type that byte *@p offset is in; that becomes the byte in it. */
static bool member_at(Dwarf_Die *type, uint64_t *offset, Dwarf_Die *ret)
{
	Dwarf_Die die, part;

	if (dwarf_child(type, &die) != 0)
		return false;
	do {
		uint64_t at = dec_sym_is_member(&die) ? dec_sym_member_offset(&die) : 0;

		if (!dec_sym_is_member(&die) || *offset < at ||
		    !dec_sym_type_of(&die, &part, NULL) ||
		    *offset - at >= dec_sym_type_bytes(&part))
			continue;
		*offset -= at;
		*ret = die;
		return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Is what is at byte @p offset of @p die, which has a type, _Atomic or std::atomic? */
static bool is_atomic(Dwarf_Die *die, uint64_t offset)
{
	Dwarf_Die at = *die, type, element;
	uint64_t bytes;

	for (int i = 0; i < TYPES_MAX && next_type(&at, &type); i++) {
		int tag = dwarf_tag(&type);

		if (tag == DW_TAG_atomic_type)
			return true;
		at = type;
		if (tag == DW_TAG_array_type) {
			bytes = dec_sym_type_of(&type, &element, NULL) ?
					dec_sym_type_bytes(&element) :
					0;
			offset = bytes ? offset % bytes : offset;
		} else if (dec_sym_is_struct(tag)) {
			if (is_atomic_name(dwarf_diename(&type)))
				return true;
			dec_sym_is_complete(&type);
			if (!member_at(&type, &offset, &at))
				return false;
		}
	}
	return false;
}

static struct err *add_global(void *ctx, struct dec_var_path *p)
{
	struct dec_symbols *s = ctx;
	Dwarf_Die *die = &p->die[p->n - 1], type;
	enum dec_var_fate fate;
	dec_var_sites sites = {};
	struct err *err;
	bool is_local;
	Dwarf_Word bytes;

	if (dwarf_tag(die) != DW_TAG_variable || !dec_sym_type_of(die, &type, NULL) ||
	    dwarf_aggregate_size(&type, &bytes) || !bytes ||
	    !dwarf_hasattr_integrate(die, DW_AT_location))
		return NULL;
	err = dec_var_place(s, p, &sites, &is_local, &fate);
	if (!err && fate == DEC_VAR_FOUND && !is_local && sites.size == 1 &&
	    !sites.data[0].is_per_thread)
		err = vec_add(&s->globals,
			      (struct dec_sym_global){ sites.data[0].unit,
						       sites.data[0].addr, bytes, *die });
	vec_deinit(&sites);
	return err;
}

static int compare_globals(const void *a, const void *b)
{
	const struct dec_sym_global *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* All of them, in order. */
static struct err *need_globals(struct dec_symbols *s)
{
	struct err *err;

	if (s->n_global_units == s->n_units)
		return NULL;
	s->globals.size = 0;
	err = dec_symbols_open_kept(s);
	if (!err)
		err = dec_var_walk(s, add_global, s);
	if (!err && s->globals.size)
		vec_sort(&s->globals, compare_globals);
	s->n_global_units = s->n_units;
	return err;
}

const struct dec_sym_mapping *dec_sym_module_of(struct dec_symbols *s, uint64_t addr)
{
	for (size_t i = s->mappings.size; i > 0; i--) {
		const struct dec_sym_mapping *m = &s->mappings.data[i - 1];

		if (addr >= m->lo && addr < m->hi)
			return m;
	}
	return NULL;
}

/* The one that @p addr is in, which @p bias is to be added to the addresses of. */
static struct dec_sym_global *global_at(struct dec_symbols *s, uint64_t addr,
					uint64_t *bias)
{
	const struct dec_sym_mapping *m;
	struct err *err = need_globals(s);
	struct dec_sym_global *g;
	uint64_t at;
	size_t n;

	err_destroy(err);
	m = err ? NULL : dec_sym_module_of(s, addr);
	if (!m)
		return NULL;
	*bias = m->bias;
	at = addr - m->bias;
	n = vec_rank(s->globals.size, i,
		     s->globals.data[i].unit < m->unit ||
			     (s->globals.data[i].unit == m->unit &&
			      s->globals.data[i].addr <= at));
	g = n ? &s->globals.data[n - 1] : NULL;
	return g && g->unit == m->unit && at - g->addr < g->size ? g : NULL;
}

bool dec_symbols_global(struct dec_symbols *s, uint64_t addr, struct dec_global *ret)
{
	uint64_t bias;
	struct dec_sym_global *g = global_at(s, addr, &bias);

	if (!g)
		return false;
	*ret = (struct dec_global){ text_name(dwarf_diename(&g->die)), g->addr + bias,
				    g->size, is_atomic(&g->die, addr - bias - g->addr) };
	return true;
}

bool dec_sym_global_die(struct dec_symbols *s, uint64_t addr, Dwarf_Die *ret)
{
	uint64_t bias;
	const struct dec_sym_global *g = global_at(s, addr, &bias);

	if (g)
		*ret = g->die;
	return g;
}
