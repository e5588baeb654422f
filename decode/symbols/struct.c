// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The flattened layout of a struct, by which the constraint language numbers its fields
 * (paper 001, sections 2.2 and 2.4.1).
 */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/symbols_int.h"

/** Fields of one struct; an array that would pass it stays one field. */
#define FIELDS_MAX 65536
#define TYPES_MAX (16 * FIELDS_MAX)
#define DEPTH_MAX 32

typedef VEC(struct dec_field) field_list;

/* ---- one field -------------------------------------------------------------------- */

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

static void scalar_kind(struct dec_sym_unit *u, Dwarf_Die *type, struct dec_field *f)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	if (dwarf_tag(type) == DW_TAG_pointer_type) {
		f->is_pointer = true;
		f->points_to = dec_sym_pointee(u, type, NULL);
		return;
	}
	if (dwarf_tag(type) == DW_TAG_enumeration_type) {
		Dwarf_Die base;

		if (dec_sym_type_of(type, &base, NULL))
			scalar_kind(u, &base, f);
		return;
	}
	if (!dwarf_attr(type, DW_AT_encoding, &attr) || dwarf_formudata(&attr, &encoding))
		return;
	f->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	f->is_float = encoding == DW_ATE_float || encoding == DW_ATE_complex_float;
}

/* ---- flattening -------------------------------------------------------------------- */

struct flatten {
	struct arena *arena;
	struct dec_sym_unit *unit;
	field_list fields;
	Dwarf_Die tail_type; ///< of an element of the flexible array, if tail is set
	const char *tail;
	uint64_t tail_offset;
	uint32_t n_types; ///< looked at
	bool is_out_of_memory;
};

static void flatten_type(struct flatten *fl, Dwarf_Die *type, Dwarf_Die *member,
			 const char *name, uint64_t offset, uint64_t member_of,
			 int depth);

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
	f->size = (uint32_t)dec_sym_type_bytes(type);
	scalar_kind(fl->unit, type, f);
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
		const char *member = text_name(dwarf_diename(&m));
		Dwarf_Die member_type;
		char name[256];

		if (!dec_sym_is_member(&m) || !dec_sym_type_of(&m, &member_type, NULL))
			continue;
		// Members of an anonymous struct, union or base class are the outer one's.
		snprintf(name, sizeof(name), "%s%s%s", prefix,
			 *prefix && member ? "." : "", member ? member : "");
		flatten_type(fl, &member_type, &m, name,
			     offset + dec_sym_member_offset(&m), offset, depth);
	} while (dwarf_siblingof(&m, &m) == 0);
}

/** Read the dimensions of array @p type. @return how many; -1: it has one, of unknown
 * length; -2: one of several is. */
static int array_dimensions(Dwarf_Die *type, uint64_t dim[8])
{
	Dwarf_Die range;
	int n = 0, n_unknown = 0;

	if (dwarf_child(type, &range) != 0)
		return -2;
	do {
		Dwarf_Attribute attr;
		Dwarf_Word count;

		if (dwarf_tag(&range) != DW_TAG_subrange_type)
			continue;
		if (n == 8)
			return -2;
		if (dwarf_attr(&range, DW_AT_count, &attr) &&
		    dwarf_formudata(&attr, &count) == 0) {
			dim[n++] = count;
		} else if (dwarf_attr(&range, DW_AT_upper_bound, &attr) &&
			   dwarf_formudata(&attr, &count) == 0) {
			dim[n++] = count + 1;
		} else {
			n_unknown++;
		}
	} while (dwarf_siblingof(&range, &range) == 0);
	return !n_unknown ? n : n || n_unknown > 1 ? -2 : -1;
}

/** `next[]`: no field of the struct, but there are elements where an allocation is larger. */
static void note_tail(struct flatten *fl, Dwarf_Die *type, const char *name,
		      uint64_t offset)
{
	if (fl->tail || !dec_sym_type_of(type, &fl->tail_type, NULL) ||
	    !dec_sym_type_bytes(&fl->tail_type))
		return;
	fl->tail_offset = offset;
	fl->tail = arena_strndup(fl->arena, name, strlen(name));
	fl->is_out_of_memory |= !fl->tail;
}

/** Flatten array @p type. @return false: it must stay one field. */
static bool flatten_array(struct flatten *fl, Dwarf_Die *type, const char *name,
			  uint64_t offset, int depth)
{
	uint64_t dim[8], total = 1, bytes;
	int n = array_dimensions(type, dim);
	Dwarf_Die elem;

	if (n < 0 || (n == 1 && !dim[0])) {
		if (n >= -1)
			note_tail(fl, type, name, offset);
		return true;
	}
	if (!dec_sym_type_of(type, &elem, NULL))
		return false;
	for (int i = 0; i < n; i++) {
		if (dim[i] > FIELDS_MAX)
			return false;
		total *= dim[i];
		if (total > FIELDS_MAX - fl->fields.size)
			return false;
	}
	bytes = dec_sym_type_bytes(&elem);
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

/** The bytes in which libstdc++'s lists, maps and hash tables keep a value: @p ret is the
 * type of the value. */
static bool is_value_buffer(Dwarf_Die *type, Dwarf_Die *ret)
{
	const char *name = text_name(dwarf_diename(type));
	Dwarf_Die die;

	if (!name || (strncmp(name, "__aligned_membuf<", 17) &&
		      strncmp(name, "__aligned_buffer<", 17)))
		return false;
	if (dwarf_child(type, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter)
			return dec_sym_type_of(&die, ret, NULL);
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static void flatten_type(struct flatten *fl, Dwarf_Die *type, Dwarf_Die *member,
			 const char *name, uint64_t offset, uint64_t member_of, int depth)
{
	Dwarf_Die value;

	// Of structs with nothing in them there may be any number.
	if (fl->fields.size > FIELDS_MAX || ++fl->n_types > TYPES_MAX)
		return;
	if (is_value_buffer(type, &value))
		type = &value;
	if (depth < DEPTH_MAX && dec_sym_is_struct(dwarf_tag(type)))
		flatten_members(fl, type, name, offset, depth + 1);
	else if (depth >= DEPTH_MAX || dwarf_tag(type) != DW_TAG_array_type ||
		 !flatten_array(fl, type, name, offset, depth + 1))
		add_field(fl, type, member, name, offset, member_of);
}

static void flatten_tail(struct flatten *fl)
{
	char name[400];

	snprintf(name, sizeof(name), "%s[0]", fl->tail);
	flatten_type(fl, &fl->tail_type, NULL, name, fl->tail_offset, 0, 1);
}

/* ---- finding a struct by name --------------------------------------------------------- */

/** The unit that describes @p type. */
static struct dec_sym_unit *unit_of(const struct dec_symbols *s, const Dwarf_Die *type)
{
	for (size_t i = 0; i < s->n_units; i++)
		if (s->units[i]->dwarf &&
		    s->units[i]->dwarf == dwarf_cu_getdwarf(type->cu))
			return s->units[i];
	return s->exe; // split off
}

/** Where to look first: a library may have a private struct of the same name, and the system's
 * have many. */
static int unit_rank(const struct dec_symbols *s, struct dec_sym_unit *u)
{
	return u == s->exe ? 0 : dec_sym_unit_is_systems(u) ? 2 : 1;
}

/** @p own: its name in the unit that has it; NULL: there is none. */
static struct err *find_struct(struct dec_symbols *s, const char *name, Dwarf_Die *ret,
			       const char **own)
{
	struct err *err = NULL;

	for (int rank = 0; rank < 3; rank++)
		for (size_t i = 0; i < s->n_units && !err && !*own; i++)
			if (unit_rank(s, s->units[i]) == rank)
				err = dec_sym_names_find(s->units[i], name, ret, own);
	return err;
}

struct err *dec_sym_layout(struct dec_symbols *s, Dwarf_Die *type, const char *name,
			   const struct dec_struct **ret)
{
	struct flatten fl = { .arena = &s->arena, .unit = unit_of(s, type) };
	struct dec_field *fields;
	struct dec_struct *st;
	size_t n_fields;

	if (dec_sym_is_struct(dwarf_tag(type)))
		flatten_members(&fl, type, "", 0, 0);
	else
		flatten_type(&fl, type, NULL, name, 0, 0, 0);
	n_fields = fl.fields.size;
	if (fl.tail)
		flatten_tail(&fl);
	st = arena_alloc(&s->arena, sizeof(*st));
	fields = arena_alloc(&s->arena, (fl.fields.size + 1) * sizeof(*fields));
	if (fl.is_out_of_memory || !st || !fields)
		goto nomem;
	if (fl.fields.size)
		memcpy(fields, fl.fields.data, fl.fields.size * sizeof(*fields));
	st->name = arena_strndup(&s->arena, name, strlen(name));
	if (!st->name)
		goto nomem;
	st->size = (uint32_t)dec_sym_type_bytes(type);
	st->fields = fields;
	st->n_fields = (uint32_t)n_fields;
	st->n_tail = (uint32_t)(fl.fields.size - n_fields);
	if (st->n_tail) {
		st->tail = fl.tail;
		st->tail_offset = (uint32_t)fl.tail_offset;
		st->tail_bytes = (uint32_t)dec_sym_type_bytes(&fl.tail_type);
	}
	vec_deinit(&fl.fields);
	*ret = st;
	return NULL;
nomem:
	vec_deinit(&fl.fields);
	return &err_nomem;
}

struct err *dec_symbols_struct(struct dec_symbols *s, const char *name,
			       const struct dec_struct **ret)
{
	const char *own = NULL;
	struct err *err;
	Dwarf_Die die;

	err = find_struct(s, name, &die, &own);
	if (err)
		return err;
	if (!own)
		return err_new(
			ERR_NOT_FOUND,
			"cannot find struct '%s': no module's debug information has "
			"it (is the program built with -g?)",
			name);
	for (size_t i = 0; i < s->structs.size; i++) {
		if (!strcmp(s->structs.data[i]->name, own)) {
			*ret = s->structs.data[i];
			return NULL;
		}
	}
	err = dec_sym_layout(s, &die, own, ret);
	if (err)
		return err;
	return vec_add(&s->structs, *ret) ? &err_nomem : NULL;
}
