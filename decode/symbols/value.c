// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Values of the program's variables for people, and the names of parts of them.
 */
#include <ctype.h>
#include <dwarf.h>
#include <stdarg.h>
#include <string.h>

#include "decode/symbols/frame_int.h"

#define DEPTH_MAX 32
#define TEXT_MAX 40 // characters shown of a string

/* ---- values ----------------------------------------------------------------------------- */

static void print_number(Dwarf_Die *type, const uint8_t raw[8], uint64_t bytes, FILE *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;
	uint64_t value = 0;
	int64_t number;
	double d;
	float f;

	if (dwarf_attr(type, DW_AT_encoding, &attr))
		dwarf_formudata(&attr, &encoding);
	memcpy(&value, raw, bytes);
	number = bytes < 8 ? (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes) :
			     (int64_t)value;
	if (encoding == DW_ATE_boolean && value < 2) {
		fputs(value ? "true" : "false", out);
	} else if (encoding == DW_ATE_float && bytes == 8) {
		memcpy(&d, raw, 8);
		fprintf(out, "%g", d);
	} else if (encoding == DW_ATE_float && bytes == 4) {
		memcpy(&f, raw, 4);
		fprintf(out, "%g", (double)f);
	} else if ((encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char) &&
		   value < 128 && isprint((int)value)) {
		fprintf(out, "%d '%c'", (int)value, (int)value);
	} else if (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char) {
		fprintf(out, "%lld", (long long)number);
	} else {
		fprintf(out, "%llu", (unsigned long long)value);
	}
}

static bool print_enumerator(Dwarf_Die *type, int64_t value, FILE *out)
{
	Dwarf_Die die;

	if (dwarf_child(type, &die) != 0)
		return false;
	do {
		Dwarf_Attribute attr;
		Dwarf_Sword is;

		if (dwarf_tag(&die) != DW_TAG_enumerator ||
		    !dwarf_attr(&die, DW_AT_const_value, &attr) ||
		    dwarf_formsdata(&attr, &is) || is != value)
			continue;
		fputs(text_name(dwarf_diename(&die)) ?: "?", out);
		return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool is_char(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	return dwarf_tag(type) == DW_TAG_base_type && dec_sym_type_bytes(type) == 1 &&
	       dwarf_attr(type, DW_AT_encoding, &attr) &&
	       dwarf_formudata(&attr, &encoding) == 0 &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

static void print_text(const struct dec_frame *f, uint64_t addr, FILE *out)
{
	char c;
	int n;

	fputc('"', out);
	for (n = 0; n < TEXT_MAX && f->read(f->ctx, addr + n, &c, 1) && c; n++)
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (isprint((unsigned char)c))
			fputc(c, out);
		else
			fprintf(out, "\\%03o", (unsigned char)c);
	fputs(n == TEXT_MAX ? "\"..." : "\"", out);
}

static void print_pointer(const struct dec_frame *f, Dwarf_Die *type, uint64_t value,
			  FILE *out)
{
	Dwarf_Die to;
	char c;

	if (!value) {
		fputs("NULL", out);
		return;
	}
	fprintf(out, "%#llx", (unsigned long long)value);
	if (dec_sym_type_of(type, &to, NULL) && is_char(&to) &&
	    f->read(f->ctx, value, &c, 1)) {
		fputc(' ', out);
		print_text(f, value, out);
	} else if (f->pointer) {
		f->pointer(f->ctx, value, out);
	}
}

void dec_sym_value_print(const struct dec_frame *f, Dwarf_Die *type,
			 const struct dec_sym_location *where, FILE *out)
{
	uint64_t bytes = dec_sym_type_bytes(type), value = where->value;
	int tag = dwarf_tag(type);
	uint8_t raw[8] = {};
	Dwarf_Die of;

	if (where->kind == DEC_SYM_NOWHERE) {
		fputc('?', out);
		return;
	}
	if (dec_sym_is_struct(tag) || tag == DW_TAG_array_type) {
		if (tag == DW_TAG_array_type && where->kind == DEC_SYM_AT &&
		    dec_sym_type_of(type, &of, NULL) && is_char(&of))
			print_text(f, where->value, out);
		else
			fputs("{...}", out);
		return;
	}
	if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	    tag == DW_TAG_rvalue_reference_type)
		bytes = 8;
	if (!bytes || bytes > 8) {
		fputc('?', out);
		return;
	}
	memcpy(raw, &value, 8);
	if (where->kind == DEC_SYM_AT && !f->read(f->ctx, where->value, raw, bytes)) {
		fputc('?', out);
		return;
	}
	value = 0;
	memcpy(&value, raw, bytes);
	if (tag == DW_TAG_enumeration_type &&
	    print_enumerator(type, bytes == 4 ? (int32_t)value : (int64_t)value, out))
		return;
	if (tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type)
		print_number(type, raw, bytes, out);
	else
		print_pointer(f, type, value, out);
}

/* ---- parts ------------------------------------------------------------------------------ */

static bool append(char *name, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool append(char *name, const char *fmt, ...)
{
	size_t n = strlen(name);
	va_list ap;
	int more;

	va_start(ap, fmt);
	more = vsnprintf(name + n, DEC_NAME_BYTES - n, fmt, ap);
	va_end(ap);
	return more >= 0 && n + more < DEC_NAME_BYTES;
}

/* How well a member of type @p of fits at the wanted place: of a union that which is as large as
 * what is looked for, and of these a pointer. */
static int fit(uint64_t distance, Dwarf_Die *of, uint64_t bytes)
{
	uint64_t size = dec_sym_type_bytes(of);

	if (distance >= size)
		return 0;
	if (distance || size != bytes)
		return 1;
	return dwarf_tag(of) == DW_TAG_pointer_type ? 3 : 2;
}

static bool member_at(Dwarf_Die *type, uint64_t *offset, uint64_t bytes, Dwarf_Die *ret,
		      const char **name)
{
	uint64_t distance = 0;
	Dwarf_Die m, of;
	int best = 0;

	if (dwarf_child(type, &m) != 0)
		return false;
	do {
		uint64_t at = dec_sym_member_offset(&m);
		int how;

		if (!dec_sym_is_member(&m) || *offset < at ||
		    !dec_sym_type_of(&m, &of, NULL))
			continue;
		how = fit(*offset - at, &of, bytes);
		if (how <= best)
			continue;
		best = how;
		distance = *offset - at;
		*ret = of;
		*name = dwarf_tag(&m) == DW_TAG_inheritance ?
				NULL :
				text_name(dwarf_diename(&m));
	} while (dwarf_siblingof(&m, &m) == 0);
	*offset = distance;
	return best;
}

bool dec_sym_part_name(const Dwarf_Die *type, uint64_t offset, uint64_t bytes, char *name,
		       Dwarf_Die *ret)
{
	Dwarf_Die at = *type, next;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		int tag = dwarf_tag(&at);

		if (dec_sym_is_struct(tag)) {
			const char *member = NULL;

			if (!member_at(&at, &offset, bytes, &next, &member) ||
			    (member && !append(name, ".%s", member)))
				return false;
		} else if (tag == DW_TAG_array_type) {
			uint64_t size;

			if (!dec_sym_type_of(&at, &next, NULL) ||
			    !(size = dec_sym_type_bytes(&next)) ||
			    !append(name, "[%llu]", (unsigned long long)(offset / size)))
				return false;
			offset %= size;
		} else {
			*ret = at;
			return offset == 0;
		}
		at = next;
	}
	return false;
}
