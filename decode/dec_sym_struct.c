// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Types: peeling qualifiers, names of structs, and the flattened layout that the
 * constraint language numbers its fields by (paper 001, sections 2.2 and 2.4.1).
 */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/dec_symbols_int.h"

/** Fields of one struct; an array that would pass it stays one field. */
#define FIELDS_MAX 65536
#define DEPTH_MAX 32

typedef VEC(struct dec_field) field_list;

/* ---- peeling ---------------------------------------------------------------------- */

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
				*typedef_name = dwarf_diename(ret);
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return true;
		}
		at = *ret;
	}
	return false;
}

static bool is_struct_tag(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_class_type;
}

const char *dec_sym_struct_name(Dwarf_Die *die, const char *typedef_name)
{
	const char *name;

	if (!is_struct_tag(dwarf_tag(die)))
		return NULL;
	name = dwarf_diename(die);
	return name ? name : typedef_name;
}

static uint64_t type_bytes(Dwarf_Die *type)
{
	Dwarf_Word bytes;

	return dwarf_aggregate_size(type, &bytes) == 0 ? bytes : 0;
}

const char *dec_sym_pointee(Dwarf_Die *pointer, uint64_t *bytes)
{
	const char *typedef_name;
	Dwarf_Die to;

	if (dwarf_tag(pointer) != DW_TAG_pointer_type ||
	    !dec_sym_type_of(pointer, &to, &typedef_name))
		return NULL;
	if (bytes)
		*bytes = type_bytes(&to);
	return dec_sym_struct_name(&to, typedef_name);
}

/* ---- members ----------------------------------------------------------------------- */

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

/** Bit-field position of member @p die, whose declared type has f->size bytes. */
static void bit_position(Dwarf_Die *die, uint64_t struct_offset, struct dec_field *f)
{
	Dwarf_Attribute attr;
	Dwarf_Word bits, at;
	uint64_t unit_bits = 8 * (uint64_t)f->size;

	if (!dwarf_attr(die, DW_AT_bit_size, &attr) || dwarf_formudata(&attr, &bits) ||
	    bits == 0 || bits > 64)
		return;
	if (dwarf_attr(die, DW_AT_data_bit_offset, &attr) &&
	    dwarf_formudata(&attr, &at) == 0) {
		// Counted from the start of the struct, low bit first.
	} else if (dwarf_attr(die, DW_AT_bit_offset, &attr) &&
		   dwarf_formudata(&attr, &at) == 0) {
		// DWARF 3: counted from the high bit of the storage unit.
		at = 8 * dec_sym_member_offset(die) + unit_bits - at - bits;
	} else {
		return;
	}
	f->offset = (uint32_t)(struct_offset + at / unit_bits * f->size);
	f->bit_offset = (uint8_t)(at % unit_bits);
	f->bit_size = (uint8_t)bits;
	if (at % unit_bits + bits > unit_bits) {
		// Packed across two units: read it from its first byte on.
		f->offset = (uint32_t)(struct_offset + at / 8);
		f->bit_offset = (uint8_t)(at % 8);
		f->size = (uint32_t)((at % 8 + bits + 7) / 8);
	}
}

static void scalar_kind(Dwarf_Die *type, struct dec_field *f)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	if (dwarf_tag(type) == DW_TAG_pointer_type) {
		f->is_pointer = true;
		f->points_to = dec_sym_pointee(type, NULL);
		return;
	}
	if (dwarf_tag(type) == DW_TAG_enumeration_type) {
		Dwarf_Die base;

		if (dec_sym_type_of(type, &base, NULL))
			scalar_kind(&base, f);
		return;
	}
	if (!dwarf_attr(type, DW_AT_encoding, &attr) || dwarf_formudata(&attr, &encoding))
		return;
	f->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	f->is_float = encoding == DW_ATE_float || encoding == DW_ATE_complex_float;
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

		if (dwarf_tag(&m) == DW_TAG_member && !dwarf_hasattr(&m, DW_AT_external) &&
		    dec_sym_type_of(&m, ret, NULL) && *offset >= at &&
		    *offset - at < type_bytes(ret)) {
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

		if (is_struct_tag(tag)) {
			if (!member_at(&at, &offset, &next))
				return false;
		} else if (tag == DW_TAG_array_type) {
			uint64_t bytes;

			if (!dec_sym_type_of(&at, &next, NULL))
				return false;
			bytes = type_bytes(&next);
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

	if (!is_struct_tag(dwarf_tag(type)) || dwarf_child(type, &m) != 0)
		return false;
	do {
		if (dwarf_tag(&m) != DW_TAG_member || !dec_sym_type_of(&m, &array, NULL) ||
		    dwarf_tag(&array) != DW_TAG_array_type ||
		    !dec_sym_type_of(&array, &elem, NULL) ||
		    dwarf_tag(&elem) != DW_TAG_pointer_type)
			continue;
		*ret = elem;
		found++;
	} while (dwarf_siblingof(&m, &m) == 0);
	return found == 1;
}

/* ---- flattening -------------------------------------------------------------------- */

struct flatten {
	struct arena *arena;
	field_list fields;
	bool is_out_of_memory;
};

static void flatten_type(struct flatten *fl, Dwarf_Die *type, Dwarf_Die *member,
			 const char *name, uint64_t offset, uint64_t member_of, int depth);

static void add_field(struct flatten *fl, Dwarf_Die *type, Dwarf_Die *member,
		      const char *name, uint64_t offset, uint64_t member_of)
{
	struct dec_field *f = vec_push(&fl->fields);

	if (f)
		f->name = arena_strndup(fl->arena, name, strlen(name));
	if (!f || !f->name) {
		fl->is_out_of_memory = true;
		return;
	}
	f->offset = (uint32_t)offset;
	f->size = (uint32_t)type_bytes(type);
	scalar_kind(type, f);
	if (member && f->size)
		bit_position(member, member_of, f);
}

static void flatten_members(struct flatten *fl, Dwarf_Die *type, const char *prefix,
			    uint64_t offset, int depth)
{
	Dwarf_Die m;

	if (dwarf_child(type, &m) != 0)
		return;
	do {
		const char *member = dwarf_diename(&m);
		Dwarf_Die member_type;
		char name[256];

		// Static members of C++ classes are declared as members, without a place.
		if (dwarf_tag(&m) != DW_TAG_member || dwarf_hasattr(&m, DW_AT_external) ||
		    !dec_sym_type_of(&m, &member_type, NULL))
			continue;
		// Members of an anonymous struct or union are the outer struct's.
		snprintf(name, sizeof(name), "%s%s%s", prefix,
			 *prefix && member ? "." : "", member ? member : "");
		flatten_type(fl, &member_type, &m, name,
			     offset + dec_sym_member_offset(&m), offset, depth);
	} while (dwarf_siblingof(&m, &m) == 0);
}

/** Read the dimensions of array @p type. @return how many; -1: one of unknown length. */
static int array_dimensions(Dwarf_Die *type, uint64_t dim[8])
{
	Dwarf_Die range;
	int n = 0;

	if (dwarf_child(type, &range) != 0)
		return -1;
	do {
		Dwarf_Attribute attr;
		Dwarf_Word count;

		if (dwarf_tag(&range) != DW_TAG_subrange_type)
			continue;
		if (n == 8)
			return -1;
		if (dwarf_attr(&range, DW_AT_count, &attr) &&
		    dwarf_formudata(&attr, &count) == 0) {
			dim[n++] = count;
		} else if (dwarf_attr(&range, DW_AT_upper_bound, &attr) &&
			   dwarf_formudata(&attr, &count) == 0) {
			dim[n++] = count + 1;
		} else {
			return -1;
		}
	} while (dwarf_siblingof(&range, &range) == 0);
	return n;
}

/** Flatten array @p type. @return false: it must stay one field. */
static bool flatten_array(struct flatten *fl, Dwarf_Die *type, const char *name,
			  uint64_t offset, int depth)
{
	uint64_t dim[8], total = 1, bytes;
	int n = array_dimensions(type, dim);
	Dwarf_Die elem;

	if (n < 0)
		return true; // `data[]`: its elements are not the struct's
	if (!dec_sym_type_of(type, &elem, NULL))
		return false;
	for (int i = 0; i < n; i++) {
		if (dim[i] > FIELDS_MAX)
			return false;
		total *= dim[i];
		if (total > FIELDS_MAX - fl->fields.size)
			return false;
	}
	bytes = type_bytes(&elem);
	for (uint64_t i = 0; i < total && !fl->is_out_of_memory; i++) {
		char index[128] = "", elem_name[400];
		uint64_t rest = i;

		// Row-major: the last dimension varies fastest.
		for (int d = n - 1; d >= 0; d--) {
			char tail[128];

			memcpy(tail, index, sizeof(tail));
			snprintf(index, sizeof(index), "[%llu]%.100s",
				 (unsigned long long)(rest % dim[d]), tail);
			rest /= dim[d];
		}
		snprintf(elem_name, sizeof(elem_name), "%s%s", name, index);
		flatten_type(fl, &elem, NULL, elem_name, offset + i * bytes, 0, depth);
		if (fl->fields.size > FIELDS_MAX)
			break;
	}
	return true;
}

static void flatten_type(struct flatten *fl, Dwarf_Die *type, Dwarf_Die *member,
			 const char *name, uint64_t offset, uint64_t member_of, int depth)
{
	if (fl->fields.size > FIELDS_MAX)
		return;
	if (depth < DEPTH_MAX && is_struct_tag(dwarf_tag(type)))
		flatten_members(fl, type, name, offset, depth + 1);
	else if (depth >= DEPTH_MAX || dwarf_tag(type) != DW_TAG_array_type ||
		 !flatten_array(fl, type, name, offset, depth + 1))
		add_field(fl, type, member, name, offset, member_of);
}

/* ---- finding a struct by name --------------------------------------------------------- */

/** Find struct @p name, complete, among the children of @p parent. A tag wins over a
 * typedef's name of the same spelling. */
static bool find_in(Dwarf_Die *parent, const char *name, Dwarf_Die *ret, int depth)
{
	bool found = false;
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *n;

		if (tag == DW_TAG_namespace && depth < 8 &&
		    find_in(&die, name, ret, depth + 1))
			return true;
		if (tag != DW_TAG_typedef && !is_struct_tag(tag))
			continue;
		n = dwarf_diename(&die);
		if (!n || strcmp(n, name))
			continue;
		if (tag == DW_TAG_typedef) {
			Dwarf_Die to;

			if (!found && dec_sym_type_of(&die, &to, NULL) &&
			    is_struct_tag(dwarf_tag(&to)) &&
			    !dwarf_hasattr(&to, DW_AT_declaration)) {
				*ret = to;
				found = true;
			}
		} else if (!dwarf_hasattr(&die, DW_AT_declaration)) {
			*ret = die;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return found;
}

/** Search the executable first: a library may have a private struct of the same name. */
static bool find_struct(struct dec_symbols *s, const char *name, Dwarf_Die *ret)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < s->n_units; i++) {
			struct dec_sym_unit *u = s->units[i];

			if ((u == s->exe) != (pass == 0))
				continue;
			for (size_t k = 0; k < u->cus.size; k++) {
				if (find_in(&u->cus.data[k].die, name, ret, 0))
					return true;
			}
		}
	}
	return false;
}

struct err *dec_symbols_struct(struct dec_symbols *s, const char *name,
			       const struct dec_struct **ret)
{
	struct flatten fl = { .arena = &s->arena };
	struct dec_struct *st, **slot;
	struct dec_field *fields;
	Dwarf_Die die;

	if (!strncmp(name, "struct ", 7))
		name += 7;
	for (size_t i = 0; i < s->structs.size; i++) {
		if (!strcmp(s->structs.data[i]->name, name)) {
			*ret = s->structs.data[i];
			return NULL;
		}
	}
	if (!find_struct(s, name, &die))
		return err_new(ERR_NOT_FOUND,
			       "cannot find struct '%s': no module's debug information has "
			       "it (is the program built with -g?)",
			       name);
	flatten_members(&fl, &die, "", 0, 0);
	st = arena_alloc(&s->arena, sizeof(*st));
	fields = arena_alloc(&s->arena, (fl.fields.size + 1) * sizeof(*fields));
	if (fl.is_out_of_memory || !st || !fields)
		goto nomem;
	if (fl.fields.size)
		memcpy(fields, fl.fields.data, fl.fields.size * sizeof(*fields));
	st->name = arena_strndup(&s->arena, name, strlen(name));
	st->size = (uint32_t)type_bytes(&die);
	st->fields = fields;
	st->n_fields = (uint32_t)fl.fields.size;
	slot = st->name ? vec_push(&s->structs) : NULL;
	if (!slot)
		goto nomem;
	*slot = st;
	vec_deinit(&fl.fields);
	*ret = st;
	return NULL;
nomem:
	vec_deinit(&fl.fields);
	return &err_nomem;
}

/* ---- finding a struct by size ------------------------------------------------------- */

const char *dec_sym_struct_of_size(struct dec_sym_cu *cu, uint64_t size)
{
	const char *only = NULL;
	Dwarf_Die die;

	if (dwarf_child(&cu->die, &die) != 0)
		return NULL;
	do {
		const char *name = NULL, *typedef_name = NULL;
		Dwarf_Die type = die;
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_typedef) {
			typedef_name = dwarf_diename(&die);
			// A named struct is counted at its own DIE.
			if (!dec_sym_type_of(&die, &type, NULL) || dwarf_diename(&type))
				continue;
			tag = dwarf_tag(&type);
		}
		if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type)
			continue;
		name = dec_sym_struct_name(&type, typedef_name);
		if (!name || type_bytes(&type) != size || (only && !strcmp(only, name)))
			continue;
		if (only)
			return NULL;
		only = name;
	} while (dwarf_siblingof(&die, &die) == 0);
	return only;
}
