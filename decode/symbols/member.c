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

/* How many bytes an element of array @p type has; 0: it is none, or one of a single element, as old code
 * ends a struct whose size varies. */
static uint32_t element_bytes(Dwarf_Die *type)
{
	Dwarf_Die of;
	uint64_t bytes = dwarf_tag(type) == DW_TAG_array_type &&
					 dec_sym_type_of(type, &of, NULL) ?
				 dec_sym_type_bytes(&of) :
				 0;

	return dec_sym_type_bytes(type) > bytes ? bytes : 0;
}

uint32_t dec_symbols_array_at(struct dec_symbols *s, uint64_t rip,
			      const struct dec_object *o, bool is_pointed_to,
			      uint64_t addr, struct dec_object *ret)
{
	Dwarf_Die die, type, m, part;
	const void *last = NULL;
	bool is_last = false;
	uint32_t element = 0;

	*ret = (struct dec_object){};
	// Of a union all members are in one place.
	if (!die_of(s, rip, o, &die) || !dec_sym_type_of(&die, &type, NULL))
		return 0;
	if (is_pointed_to && (dwarf_tag(&type) != DW_TAG_pointer_type ||
			      !dec_sym_type_of(&type, &type, NULL)))
		return 0;
	if (!dec_sym_is_struct(dwarf_tag(&type)) ||
	    dwarf_tag(&type) == DW_TAG_union_type || !dec_sym_is_complete(&type) ||
	    dwarf_child(&type, &m) != 0)
		return 0;
	do {
		uint64_t start, bytes;

		if (!dec_sym_is_next(&m, &last))
			return 0;
		if (!dec_sym_is_member(&m))
			continue;
		is_last = false;
		start = o->start + dec_sym_member_offset(&m);
		bytes = dec_sym_type_of(&m, &part, NULL) ? dec_sym_type_bytes(&part) : 0;
		if (addr < start || addr - start >= bytes)
			continue;
		ret->name = text_name(dwarf_diename(&m));
		element = element_bytes(&part);
		if (!ret->name || !element)
			return 0;
		ret->start = start;
		ret->size = bytes;
		is_last = true;
	} while (dwarf_siblingof(&m, &m) == 0);
	if (is_last)
		ret->size = o->start + o->size - ret->start;
	return element;
}
