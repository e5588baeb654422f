// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <dwarf.h>
#include <string.h>

#include "decode/symbols/frame_int.h"
#include "decode/symbols/variable.h"

_Static_assert(sizeof(Dwarf_Die) <= sizeof(struct dec_type), "a type is a DIE");

static void type_put(struct dec_type *to, const Dwarf_Die *from)
{
	memcpy(to, from, sizeof(*from));
}

static Dwarf_Die type_get(const struct dec_type *from)
{
	Dwarf_Die die;

	memcpy(&die, from, sizeof(die));
	return die;
}

/* ---- where a frame stands ------------------------------------------------------------- */

/* The variables of the thread that belong to the executable lie just before its control block;
 * those of libraries are where the linker put them. */
uint64_t dec_symbols_threads_own(const struct dec_symbols *s, uint64_t fs_base)
{
	uint64_t align, past;
	GElf_Phdr ph;

	if (!s->exe || !fs_base || !dec_sym_unit_threads(s->exe, &ph))
		return 0;
	align = ph.p_align ? ph.p_align : 1;
	// The segment may begin in the midst of what its alignment asks for.
	past = -ph.p_vaddr % align;
	return fs_base - ((ph.p_memsz - past + align - 1) / align * align + past);
}

static uint64_t threads_own(const struct dec_symbols *s, const struct dec_sym_unit *u,
			    const struct dec_frame *f)
{
	return u == s->exe ? dec_symbols_threads_own(s, f->fs_base) : 0;
}

static bool enter(struct dec_symbols *s, const struct dec_frame *f,
		  struct dec_sym_frame *ret)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, f->rip);

	if (!m || !dec_sym_unit_need_debug(m->unit))
		return false;
	*ret = (struct dec_sym_frame){ .frame = f,
				       .unit = m->unit,
				       .pc = f->rip - m->bias,
				       .bias = m->bias,
				       .thread = threads_own(s, m->unit, f) };
	dec_sym_unit_scopes(m->unit, ret->pc, &ret->scopes);
	ret->function = ret->scopes.n ? &ret->scopes.die[0] : NULL;
	return true;
}

static bool is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* ---- from a place to its name --------------------------------------------------------- */

static bool is_at(const struct dec_sym_location *l, const struct dec_spot *spot,
		  uint64_t bytes, uint64_t *offset)
{
	*offset = spot->is_mem ? spot->addr - l->value : 0;
	return spot->is_mem ? l->kind == DEC_SYM_AT && *offset < bytes :
			      l->kind == DEC_SYM_REG && l->reg == spot->reg;
}

static bool find_in(const struct dec_sym_frame *at, Dwarf_Die *scope,
		    const struct dec_spot *spot, char *name, struct dec_type *type)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die) != 0)
		return false;
	do {
		struct dec_sym_location l;
		Dwarf_Die of, part;
		uint64_t offset;
		const char *called;

		if (!is_variable(&die) || !dec_sym_type_of(&die, &of, NULL))
			continue;
		dec_sym_locate(at, &die, &l);
		called = text_name(dwarf_diename(&die));
		if (!called || !is_at(&l, spot, dec_sym_type_bytes(&of), &offset))
			continue;
		snprintf(name, DEC_NAME_BYTES, "%s", called);
		part = of;
		if (spot->is_mem && !dec_sym_part_name(&of, offset, 8, name, &part))
			continue;
		type_put(type, &part);
		return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool find_static(struct dec_symbols *s, const struct dec_frame *f,
			const struct dec_spot *spot, char *name, struct dec_type *type)
{
	const struct dec_sym_mapping *m = dec_sym_module_of(s, spot->addr);
	struct dec_sym_frame at = { .frame = f };
	uint64_t own;

	if (!m) {
		m = dec_sym_mapping_of(s, f->rip);
		own = m ? threads_own(s, m->unit, f) : 0;
		// Most are in no module, and not worth a look at all variables.
		if (!own || spot->addr - own >= f->fs_base - own)
			return false;
	}
	if (!dec_sym_unit_need_debug(m->unit))
		return false;
	at.unit = m->unit;
	at.bias = m->bias;
	at.thread = threads_own(s, m->unit, f);
	at.pc = f->rip - m->bias;
	return vec_find(&m->unit->cus, cu, find_in(&at, &cu->die, spot, name, type));
}

bool dec_symbols_variable(struct dec_symbols *s, const struct dec_frame *f,
			  const struct dec_spot *spot, char *name, struct dec_type *type)
{
	struct dec_sym_frame at;

	if (enter(s, f, &at))
		for (int i = at.scopes.n; i > 0; i--)
			if (find_in(&at, &at.scopes.die[i - 1], spot, name, type))
				return true;
	return spot->is_mem && find_static(s, f, spot, name, type);
}

bool dec_symbols_behind(const struct dec_type *type, const char *name, int64_t offset,
			uint64_t bytes, char *to, struct dec_type *ret)
{
	Dwarf_Die pointer = type_get(type), of, part;
	int tag = dwarf_tag(&pointer);
	char path[DEC_NAME_BYTES] = "";
	bool is_struct;
	int64_t size, index;

	if ((tag != DW_TAG_pointer_type && tag != DW_TAG_reference_type &&
	     tag != DW_TAG_rvalue_reference_type) ||
	    !dec_sym_type_of(&pointer, &of, NULL) ||
	    !(size = (int64_t)dec_sym_type_bytes(&of)))
		return false;
	is_struct = dec_sym_is_struct(dwarf_tag(&of));
	index = offset >= 0 ? offset / size : -((-offset + size - 1) / size);
	if (!dec_sym_part_name(&of, offset - index * size, bytes, path, &part))
		return false;
	type_put(ret, &part);
	if (index)
		return snprintf(to, DEC_NAME_BYTES, "%s[%lld]%s", name, (long long)index,
				path) < DEC_NAME_BYTES;
	if (is_struct && *path)
		return snprintf(to, DEC_NAME_BYTES, "%s%s%s", name,
				tag == DW_TAG_pointer_type ? "->" : ".",
				path + 1) < DEC_NAME_BYTES;
	return snprintf(to, DEC_NAME_BYTES, "%s%s%s",
			tag == DW_TAG_pointer_type ? "*" : "", name,
			path) < DEC_NAME_BYTES;
}

/* ---- arguments ------------------------------------------------------------------------ */

/* An argument that is nowhere any more, as the function was entered with it. */
static void locate_entry(const struct dec_sym_frame *at, Dwarf_Die *argument,
			 struct dec_sym_location *l)
{
	struct dec_frame entered = *at->frame;
	struct dec_sym_frame then = *at;

	memcpy(entered.gpr, at->frame->entry, sizeof(entered.gpr));
	then.frame = &entered;
	if (dec_sym_entry_pc(at->unit, &then.scopes.die[0], &then.pc))
		dec_sym_locate(&then, argument, l);
	if (l->kind != DEC_SYM_REG)
		l->kind = DEC_SYM_NOWHERE;
}

static void print_arguments(const struct dec_sym_frame *at, Dwarf_Die *function,
			    bool is_inlined, FILE *out)
{
	const char *comma = "";
	Dwarf_Die die, of;

	if (dwarf_child(function, &die) != 0)
		return;
	do {
		struct dec_sym_location l;

		if (dwarf_tag(&die) != DW_TAG_formal_parameter ||
		    !dec_sym_type_of(&die, &of, NULL))
			continue;
		dec_sym_locate(at, &die, &l);
		if (l.kind == DEC_SYM_NOWHERE && !is_inlined && at->frame->has_entry)
			locate_entry(at, &die, &l);
		fprintf(out, "%s%s = ", comma, text_name(dwarf_diename(&die)) ?: "?");
		dec_sym_value_print(at->frame, &of, &l, out);
		comma = ", ";
	} while (dwarf_siblingof(&die, &die) == 0);
}

void dec_symbols_arguments(struct dec_symbols *s, const struct dec_frame *f,
			   uint32_t depth, FILE *out)
{
	struct dec_sym_frame at;

	if (!enter(s, f, &at))
		return;
	for (int i = at.scopes.n; i > 0; i--) {
		int tag = dwarf_tag(&at.scopes.die[i - 1]);

		if (tag == DW_TAG_lexical_block || depth--)
			continue;
		print_arguments(&at, &at.scopes.die[i - 1],
				tag == DW_TAG_inlined_subroutine, out);
		return;
	}
}
