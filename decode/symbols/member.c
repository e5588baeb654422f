// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The arrays that are members of a variable.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/object.h"
#include "decode/symbols/variable_int.h"

/* What DWARF says of variable @p o. */
static bool die_of(struct dec_symbols *s, uint64_t rip, const struct dec_object *o,
		   Dwarf_Die *ret)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, rip);

	if (!o->die)
		return dec_sym_global_die(s, o->start, ret);
	return m && m->unit->dwarf &&
	       dwarf_die_addr_die(m->unit->dwarf, (void *)o->die, ret);
}

bool dec_symbols_array_at(struct dec_symbols *s, uint64_t rip, const struct dec_object *o,
			  bool is_pointed_to, uint64_t addr, struct dec_object *ret)
{
	Dwarf_Die die, type, m, part;
	const void *last = NULL;
	bool is_last = false;

	*ret = (struct dec_object){};
	// Of a union all members are in one place.
	if (!die_of(s, rip, o, &die) || !dec_sym_type_of(&die, &type, NULL))
		return false;
	if (is_pointed_to && (dwarf_tag(&type) != DW_TAG_pointer_type ||
			      !dec_sym_type_of(&type, &type, NULL)))
		return false;
	if (!dec_sym_is_struct(dwarf_tag(&type)) ||
	    dwarf_tag(&type) == DW_TAG_union_type || !dec_sym_is_complete(&type) ||
	    dwarf_child(&type, &m) != 0)
		return false;
	do {
		uint64_t start, bytes;

		if (!dec_sym_is_next(&m, &last))
			return false;
		if (!dec_sym_is_member(&m))
			continue;
		is_last = false;
		start = o->start + dec_sym_member_offset(&m);
		bytes = dec_sym_type_of(&m, &part, NULL) ? dec_sym_type_bytes(&part) : 0;
		if (addr < start || addr - start >= bytes)
			continue;
		ret->name = text_name(dwarf_diename(&m));
		if (!ret->name || dwarf_tag(&part) != DW_TAG_array_type)
			return false;
		ret->start = start;
		ret->size = bytes;
		is_last = true;
	} while (dwarf_siblingof(&m, &m) == 0);
	if (is_last)
		ret->size = o->start + o->size - ret->start;
	return ret->name;
}
