// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * DWARF's types: peeling qualifiers, names and sizes of structs, what lies at an offset.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/symbols_int.h"

#define DEPTH_MAX 32

/* ---- peeling ---------------------------------------------------------------------- */

bool dec_sym_is_complete(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die there;

	if (dwarf_attr(type, DW_AT_signature, &attr) && dwarf_formref_die(&attr, &there))
		*type = there;
	return !dwarf_hasattr(type, DW_AT_declaration);
}

bool dec_sym_type_of(Dwarf_Die *die, Dwarf_Die *ret, const char **typedef_name)
{
	Dwarf_Die at = *die;

	if (typedef_name)
		*typedef_name = NULL;
	// The bound stops a damaged chain that runs in a circle.
	for (int i = 0; i < 64; i++) {
		Dwarf_Attribute attr;

		if (!dwarf_attr_integrate(&at, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, ret))
			return false;
		switch (dwarf_tag(ret)) {
		case DW_TAG_typedef:
			if (typedef_name)
				*typedef_name = text_name(dwarf_diename(ret));
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			dec_sym_is_complete(ret);
			return true;
		}
		at = *ret;
	}
	return false;
}

bool dec_sym_is_struct(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_class_type;
}

/* @return tag name of struct or union @p die, or @p typedef_name for an anonymous one;
 * NULL when @p die is neither struct nor union. */
static const char *struct_name(Dwarf_Die *die, const char *typedef_name)
{
	const char *name;

	if (!dec_sym_is_struct(dwarf_tag(die)))
		return NULL;
	name = text_name(dwarf_diename(die));
	return name ? name : typedef_name;
}

uint64_t dec_sym_type_bytes(Dwarf_Die *type)
{
	Dwarf_Word bytes;

	return dwarf_aggregate_size(type, &bytes) == 0 ? bytes : 0;
}

const char *dec_sym_pointee(struct dec_sym_unit *u, Dwarf_Die *pointer, uint64_t *bytes)
{
	const char *typedef_name, *name;
	Dwarf_Die to;

	if (dwarf_tag(pointer) != DW_TAG_pointer_type ||
	    !dec_sym_type_of(pointer, &to, &typedef_name) ||
	    !dec_sym_is_struct(dwarf_tag(&to)))
		return NULL;
	if (bytes)
		*bytes = dec_sym_type_bytes(&to);
	name = u ? dec_sym_names_of(u, &to) : NULL;
	return name ? name : struct_name(&to, typedef_name);
}

/* ---- members ----------------------------------------------------------------------- */

bool dec_sym_is_member(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_member:
		// Static members of C++ classes are declared as members, without a place.
		return !dwarf_hasattr(die, DW_AT_external);
	case DW_TAG_inheritance:
		// Where a virtual base is, the object says.
		return !dwarf_hasattr(die, DW_AT_virtuality);
	default:
		return false;
	}
}

uint64_t dec_sym_member_offset(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset = 0;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return 0;
	if (dwarf_formudata(&attr, &offset) == 0)
		return offset;
	// DWARF 2 and 3 wrote an expression: plus the offset.
	if (dwarf_getlocation(&attr, &ops, &n) == 0 && n == 1 &&
	    ops[0].atom == DW_OP_plus_uconst)
		return ops[0].number;
	return 0;
}

/** Find the member of struct or union @p type that covers byte *@p offset; *@p offset
 * becomes the distance from its start. */
static bool member_at(Dwarf_Die *type, uint64_t *offset, Dwarf_Die *ret)
{
	Dwarf_Die m;

	if (dwarf_child(type, &m) != 0)
		return false;
	do {
		uint64_t at = dec_sym_member_offset(&m);

		if (dec_sym_is_member(&m) && dec_sym_type_of(&m, ret, NULL) &&
		    *offset >= at && *offset - at < dec_sym_type_bytes(ret)) {
			*offset -= at;
			return true;
		}
	} while (dwarf_siblingof(&m, &m) == 0);
	return false;
}

bool dec_sym_part_at(Dwarf_Die *type, uint64_t offset, Dwarf_Die *ret, bool *in_array)
{
	Dwarf_Die at = *type, next;

	*in_array = false;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		int tag = dwarf_tag(&at);

		if (dec_sym_is_struct(tag)) {
			if (!member_at(&at, &offset, &next))
				return false;
		} else if (tag == DW_TAG_array_type) {
			uint64_t bytes;

			if (!dec_sym_type_of(&at, &next, NULL))
				return false;
			bytes = dec_sym_type_bytes(&next);
			if (!bytes)
				return false;
			offset %= bytes;
			*in_array = true;
		} else {
			*ret = at;
			return offset == 0;
		}
		at = next;
	}
	return false;
}

bool dec_sym_only_pointer_array(Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die m, array, elem;
	int found = 0;

	if (!dec_sym_is_struct(dwarf_tag(type)) || dwarf_child(type, &m) != 0)
		return false;
	do {
		if (dwarf_tag(&m) != DW_TAG_member ||
		    !dec_sym_type_of(&m, &array, NULL) ||
		    dwarf_tag(&array) != DW_TAG_array_type ||
		    !dec_sym_type_of(&array, &elem, NULL) ||
		    dwarf_tag(&elem) != DW_TAG_pointer_type)
			continue;
		*ret = elem;
		found++;
	} while (dwarf_siblingof(&m, &m) == 0);
	return found == 1;
}

/* ---- finding a struct by size ------------------------------------------------------- */

const char *dec_sym_struct_of_size(struct dec_sym_unit *u, struct dec_sym_cu *cu,
				   uint64_t size)
{
	const char *only = NULL, *own;
	Dwarf_Die found = {};
	Dwarf_Die die;

	if (dwarf_child(&cu->die, &die) != 0)
		return NULL;
	do {
		const char *name = NULL, *typedef_name = NULL;
		Dwarf_Die type = die;
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_typedef) {
			typedef_name = text_name(dwarf_diename(&die));
			// A named struct is counted at its own DIE.
			if (!dec_sym_type_of(&die, &type, NULL) ||
			    text_name(dwarf_diename(&type)))
				continue;
			tag = dwarf_tag(&type);
		}
		if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type)
			continue;
		name = struct_name(&type, typedef_name);
		if (!name || dec_sym_type_bytes(&type) != size ||
		    (only && !strcmp(only, name)))
			continue;
		if (only)
			return NULL;
		only = name;
		found = type;
	} while (dwarf_siblingof(&die, &die) == 0);
	own = only ? dec_sym_names_of(u, &found) : NULL;
	return own ? own : only;
}
