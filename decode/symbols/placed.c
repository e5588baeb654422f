// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/symbols/placed.h"

#include <dwarf.h>

#define LOG_ROOM "decode"
#include "decode/symbols/object.h"
#include "decode/symbols/variable_int.h"

#define DEPTH_MAX 16 // of types, one in the other
#define ALIGN_MAX 16 // of variables without an attribute

struct search {
	struct dec_symbols *s;
	const struct dec_sym_mapping *at; ///< of the unit at hand
	dec_placed_list *ret;
	struct err *err;
};

/* ---- types -------------------------------------------------------------------------------- */

/* Of the elements of array @p type. */
static bool element_of(Dwarf_Die *type, Dwarf_Die *ret)
{
	return dec_sym_type_of(type, ret, NULL);
}

static bool has_array(Dwarf_Die *type, int depth)
{
	Dwarf_Die member, part;

	if (dwarf_tag(type) == DW_TAG_array_type)
		return true;
	if (!dec_sym_is_struct(dwarf_tag(type)) || depth == DEPTH_MAX ||
	    dwarf_child(type, &member) != 0)
		return false;
	do {
		if (dec_sym_is_member(&member) && dec_sym_type_of(&member, &part, NULL) &&
		    has_array(&part, depth + 1))
			return true;
	} while (dwarf_siblingof(&member, &member) == 0);
	return false;
}

static uint32_t align_of(Dwarf_Die *type, int depth)
{
	Dwarf_Die member, part;
	uint32_t most = 1;

	if (dwarf_tag(type) == DW_TAG_array_type && depth < DEPTH_MAX)
		return element_of(type, &part) ? align_of(&part, depth + 1) : ALIGN_MAX;
	if (!dec_sym_is_struct(dwarf_tag(type)) || depth == DEPTH_MAX ||
	    dwarf_child(type, &member) != 0) {
		uint64_t bytes = dec_sym_type_bytes(type);

		return bytes && bytes <= ALIGN_MAX && !(bytes & (bytes - 1)) ? bytes :
									       ALIGN_MAX;
	}
	do {
		uint32_t align = dec_sym_is_member(&member) &&
						 dec_sym_type_of(&member, &part, NULL) ?
					 align_of(&part, depth + 1) :
					 1;

		most = align > most ? align : most;
	} while (dwarf_siblingof(&member, &member) == 0);
	return most;
}

static enum dec_placed_type kind_of(Dwarf_Die *type, uint64_t bytes)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	if (dwarf_tag(type) == DW_TAG_pointer_type)
		return DEC_PLACED_POINTER;
	if (has_array(type, 0))
		return DEC_PLACED_BUFFER;
	if (dwarf_tag(type) != DW_TAG_base_type || (bytes != 4 && bytes != 8) ||
	    !dwarf_attr(type, DW_AT_encoding, &attr) || dwarf_formudata(&attr, &encoding))
		return DEC_PLACED_OTHER;
	return encoding == DW_ATE_signed || encoding == DW_ATE_unsigned ?
		       DEC_PLACED_INTEGER :
		       DEC_PLACED_OTHER;
}

/* ---- functions ----------------------------------------------------------------------------- */

static int add_function(Dwarf_Die *die, void *ctx)
{
	struct search *s = ctx;
	uint64_t bias = s->at->unit->debug_bias + s->at->bias;
	struct dec_placed p = { .kind = DEC_PLACED_FUNCTION };
	Dwarf_Addr lo, hi;

	if (dwarf_lowpc(die, &lo) || dwarf_highpc(die, &hi) || hi <= lo)
		return DWARF_CB_OK;
	p.name = text_name(dwarf_diename(die));
	p.addr = lo + bias;
	p.size = hi - lo;
	p.is_literal = dec_symbols_is_literal(s->s, p.addr);
	s->err = vec_add(s->ret, p);
	return s->err ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static struct err *add_functions(struct search *s)
{
	struct dec_symbols *all = s->s;

	for (size_t i = 0; i < all->mappings.size && !s->err; i++) {
		struct dec_sym_unit *u = all->mappings.data[i].unit;
		bool is_known = false;

		for (size_t k = 0; k < i; k++)
			is_known |= all->mappings.data[k].unit == u;
		if (is_known || dec_sym_unit_is_systems(u) || !dec_sym_unit_need_debug(u))
			continue;
		s->at = &all->mappings.data[i];
		for (size_t k = 0; k < u->cus.size && !s->err; k++)
			dwarf_getfuncs(&u->cus.data[k].die, add_function, s, 0);
	}
	return s->err;
}

/* ---- variables ------------------------------------------------------------------------------ */

static const struct dec_sym_mapping *mapping_of(const struct dec_symbols *s,
						const struct dec_sym_unit *u)
{
	return vec_find(&s->mappings, m, m->unit == u);
}

/* The beginning of the function around the variable of @p p; 0: it is inlined somewhere. */
static uint64_t function_of(struct dec_var_path *p)
{
	Dwarf_Addr lo;

	if (p->function < 0 || dwarf_tag(&p->die[p->function]) != DW_TAG_subprogram ||
	    dwarf_lowpc(&p->die[p->function], &lo))
		return 0;
	return lo + p->unit->debug_bias;
}

static struct err *add_variable(void *ctx, struct dec_var_path *path)
{
	struct search *s = ctx;
	Dwarf_Die *die = &path->die[path->n - 1], type;
	const struct dec_sym_mapping *m = mapping_of(s->s, path->unit);
	struct dec_placed p = { .name = text_name(dwarf_diename(die)) };
	dec_var_sites sites = {};
	enum dec_var_fate fate;
	bool is_local;
	struct err *err;

	if (!m || !dec_sym_type_of(die, &type, NULL) ||
	    !dwarf_hasattr_integrate(die, DW_AT_location))
		return NULL;
	p.size = dec_sym_type_bytes(&type);
	if (!p.size)
		return NULL;
	p.align = align_of(&type, 0);
	p.type = kind_of(&type, p.size);
	p.is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter;
	err = dec_var_place(s->s, path, &sites, &is_local, &fate);
	if (!err && fate == DEC_VAR_FOUND && sites.size && !sites.data[0].moving &&
	    !sites.data[0].is_per_thread && (!is_local || function_of(path))) {
		p.kind = is_local ? DEC_PLACED_LOCAL : DEC_PLACED_GLOBAL;
		p.addr = m->bias + (is_local ? function_of(path) : sites.data[0].addr);
		p.offset = sites.data[0].offset;
		err = vec_add(s->ret, p);
	}
	vec_deinit(&sites);
	return err;
}

struct err *dec_symbols_placed(struct dec_symbols *s, dec_placed_list *ret)
{
	struct search search = { .s = s, .ret = ret };
	struct err *err = add_functions(&search);

	return err ?: dec_var_walk(s, add_variable, &search);
}
