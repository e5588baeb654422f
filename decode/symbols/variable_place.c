// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where a variable is: from DWARF's location to an address, or to a place in a frame. A frame
 * is known by the stack pointer before the call: DWARF's CFA. Where the location is relative
 * to another register, the call frame information says how far that is from the CFA.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/variable_int.h"

// Behind so many bytes every prologue is over.
#define PROLOGUE_BYTES 512

/* ---- frames ---------------------------------------------------------------------------- */

/** Find where in the function of @p p the CFA is register @p reg + *@p disp, the frame being
 * complete: with rsp, where it is farthest. */
static bool find_frame(struct dec_var_path *p, int reg, int64_t *disp)
{
	bool found = false;
	uint64_t entry;

	// What is inlined has the frame of the function around it.
	for (int i = p->function; i >= 0; i--) {
		if (dwarf_tag(&p->die[i]) != DW_TAG_subprogram ||
		    !dec_sym_entry_pc(p->unit, &p->die[i], &entry))
			continue;
		for (uint64_t pc = entry; pc < entry + PROLOGUE_BYTES; pc++) {
			int64_t d = 0;

			if (dwarf_haspc(&p->die[i], pc - p->unit->debug_bias) != 1)
				break;
			if (dec_sym_cfa_at(p->unit, pc, &d) != reg)
				continue;
			if (!found || d > *disp)
				*disp = d;
			found = true;
		}
		break;
	}
	return found;
}

/** The register and displacement that the frame base is of the function of @p p; CAP_GPRS:
 * it is the CFA itself. @return -1: unknown. */
static int frame_base(struct dec_var_path *p, int64_t *disp)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	*disp = 0;
	for (int i = p->function; i >= 0; i--) {
		if (dwarf_tag(&p->die[i]) != DW_TAG_subprogram)
			continue;
		if (!dwarf_attr_integrate(&p->die[i], DW_AT_frame_base, &attr) ||
		    dwarf_getlocation(&attr, &ops, &n) || n != 1)
			return -1;
		if (ops[0].atom == DW_OP_call_frame_cfa)
			return CAP_GPRS;
		if (dec_sym_op_reg(&ops[0]) >= 0)
			return dec_sym_op_reg(&ops[0]);
		return dec_sym_op_breg(&ops[0], disp);
	}
	return -1;
}

/** How far from the CFA is what @p op says? */
static bool offset_in_frame(struct dec_var_path *p, const Dwarf_Op *op, int64_t *ret)
{
	int64_t disp = 0, cfa = 0;
	int reg;

	if (op->atom == DW_OP_fbreg) {
		reg = frame_base(p, &disp);
		disp += (int64_t)op->number;
	} else {
		reg = dec_sym_op_breg(op, &disp);
	}
	if (reg < 0)
		return false;
	if (reg != CAP_GPRS && !find_frame(p, reg, &cfa))
		return false;
	*ret = disp - cfa;
	return true;
}

/** Add site @p site, of which all but the frame is known. @return 1; 0: that is unknown; -1:
 * out of memory. */
static int add_site(struct dec_var_path *p, struct dec_var_site site, dec_var_sites *ret)
{
	site.unit = p->unit;
	site.cfa_reg = CAP_RSP;
	site.cfa_disp = 8;
	if (!site.is_entry)
		site.cfa_reg = dec_sym_cfa_at(p->unit, site.addr, &site.cfa_disp);
	return site.cfa_reg < 0 ? 0 : vec_add(ret, site) ? -1 : 1;
}

/** How many stretches of code are @p scope? The last one that holds @p pc, or the last, is
 * [*lo, *hi). */
static int count_ranges(Dwarf_Die *scope, Dwarf_Addr pc, Dwarf_Addr *lo, Dwarf_Addr *hi)
{
	Dwarf_Addr base, from, to;
	ptrdiff_t at = 0;
	int n = 0;

	while ((at = dwarf_ranges(scope, at, &base, &from, &to)) > 0)
		if (!n++ || (pc >= from && pc < to)) {
			*lo = from;
			*hi = to;
		}
	return n;
}

/** Add the places where the scope around the variable is entered. @return how many there are;
 * -1: out of memory. */
static int add_entries(struct dec_var_path *p, int64_t offset, dec_var_sites *ret)
{
	Dwarf_Die *scope = &p->die[p->n - 2];
	uint64_t bias = p->unit->debug_bias;
	struct dec_var_site site = { .offset = offset };
	Dwarf_Addr base, lo = 0, hi = 0;
	bool is_block = dwarf_tag(scope) == DW_TAG_lexical_block;
	ptrdiff_t at = 0;
	int n = 0, got;

	site.is_entry = dwarf_tag(scope) == DW_TAG_subprogram;
	if (!is_block && !dec_sym_entry_pc(p->unit, scope, &site.addr))
		return 0;
	if (site.is_entry)
		return add_site(p, site, ret);
	if (!is_block || count_ranges(scope, 0, &lo, &hi) == 1) {
		count_ranges(scope, site.addr - bias, &lo, &hi);
		site.lo = lo + bias;
		site.hi = hi + bias;
		site.addr = is_block ? site.lo : site.addr;
		return add_site(p, site, ret);
	}
	// Which of the stretches of a block runs first is not told.
	while ((at = dwarf_ranges(scope, at, &base, &lo, &hi)) > 0) {
		site.addr = lo + bias;
		got = add_site(p, site, ret);
		if (got < 0)
			return -1;
		n += got;
	}
	return n;
}

/* ---- static ---------------------------------------------------------------------------- */

/** The address of object @p name among what @p u exports; false: it does not. */
static bool find_exported(struct dec_sym_unit *u, const char *name, uint64_t *ret)
{
	Elf_Scn *scn = NULL;

	while (u->elf && (scn = elf_nextscn(u->elf, scn))) {
		Elf_Data *data;
		GElf_Shdr sh;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
			const char *text = elf_strptr(u->elf, sh.sh_link, sym.st_name);

			if (sym.st_shndx == SHN_UNDEF || !text || strcmp(text, name) ||
			    GELF_ST_TYPE(sym.st_info) != STT_OBJECT)
				continue;
			*ret = sym.st_value;
			return true;
		}
	}
	return false;
}

/** A library's variable that the executable has too, as a copy or of its own, is there. */
static void use_executables(struct dec_symbols *s, Dwarf_Die *die,
			    struct dec_var_site *site)
{
	Dwarf_Attribute attr;
	const char *name = NULL;
	uint64_t addr;

	if (!s->exe || s->exe == site->unit ||
	    !dwarf_hasattr_integrate(die, DW_AT_external))
		return;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		name = dwarf_diename(die);
	if (name && find_exported(s->exe, name, &addr)) {
		site->unit = s->exe;
		site->addr = addr;
	}
}

/* ---- all -------------------------------------------------------------------------------- */

static bool is_per_thread(const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom == DW_OP_form_tls_address ||
		    ops[i].atom == DW_OP_GNU_push_tls_address)
			return true;
	return false;
}

/** A variable of each thread: where those of libraries are, only the linker knows. */
static enum dec_var_fate place_in_thread(const struct dec_symbols *s, const Dwarf_Op *ops,
					 size_t n, struct dec_var_site *site)
{
	if (site->unit != s->exe || n != 2 || ops[0].atom < DW_OP_const1u ||
	    ops[0].atom > DW_OP_consts)
		return DEC_VAR_PER_THREAD;
	site->addr = ops[0].number;
	site->is_per_thread = true;
	return DEC_VAR_FOUND;
}

/** What one location expression says. *@p offset: in the frame. */
static enum dec_var_fate read_place(struct dec_symbols *s, struct dec_var_path *p,
				    Dwarf_Attribute *location, const Dwarf_Op *ops,
				    size_t n, bool *is_local, struct dec_var_site *site)
{
	*is_local = false;
	if (is_per_thread(ops, n))
		return place_in_thread(s, ops, n, site);
	if (n != 1) {
		*is_local = p->function >= 0;
		return DEC_VAR_UNPLACED;
	}
	if (dec_sym_op_addr(location, &ops[0], &site->addr)) {
		site->addr += p->unit->debug_bias;
		use_executables(s, &p->die[p->n - 1], site);
		return DEC_VAR_FOUND;
	}
	*is_local = true;
	if (p->function < 0 || dec_sym_op_reg(&ops[0]) >= 0)
		return DEC_VAR_UNPLACED;
	return offset_in_frame(p, &ops[0], &site->offset) ? DEC_VAR_FOUND : DEC_VAR_MOVES;
}

/** What a list of locations says: all must be one place. */
static enum dec_var_fate read_list(struct dec_symbols *s, struct dec_var_path *p,
				   Dwarf_Attribute *location, bool *is_local,
				   struct dec_var_site *site)
{
	enum dec_var_fate fate = DEC_VAR_UNPLACED;
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	bool is_first = true;
	Dwarf_Op *ops;
	size_t n;

	while ((at = dwarf_getlocations(location, at, &base, &lo, &hi, &ops, &n)) > 0) {
		struct dec_var_site found = *site;

		fate = read_place(s, p, location, ops, n, is_local, &found);
		if (fate != DEC_VAR_FOUND)
			return fate;
		if (!is_first &&
		    (found.addr != site->addr || found.offset != site->offset))
			return DEC_VAR_MOVES;
		*site = found;
		is_first = false;
	}
	return fate;
}

struct err *dec_var_place(struct dec_symbols *s, struct dec_var_path *p,
			  dec_var_sites *ret, bool *is_local, enum dec_var_fate *fate)
{
	struct dec_var_site site = { .unit = p->unit };
	Dwarf_Die *die = &p->die[p->n - 1];
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n_ops;
	int n;

	*is_local = p->function >= 0;
	if (!dwarf_attr_integrate(die, DW_AT_location, &attr)) {
		*fate = dwarf_hasattr_integrate(die, DW_AT_declaration) ?
				DEC_VAR_UNKNOWN :
				DEC_VAR_UNPLACED;
		if (!*is_local || !dwarf_hasattr_integrate(die, DW_AT_const_value))
			return NULL;
	} else if (dwarf_getlocation(&attr, &ops, &n_ops) == 0)
		*fate = read_place(s, p, &attr, ops, n_ops, is_local, &site);
	else
		*fate = read_list(s, p, &attr, is_local, &site);
	if (*is_local && (*fate == DEC_VAR_UNPLACED || *fate == DEC_VAR_MOVES))
		n = dec_var_add_moving(s, p, ret);
	else if (*fate != DEC_VAR_FOUND)
		return NULL;
	else if (!*is_local)
		return vec_add(ret, site) ? &err_nomem : NULL;
	else
		n = add_entries(p, site.offset, ret);
	*fate = n ? DEC_VAR_FOUND : DEC_VAR_MOVES;
	return n < 0 ? &err_nomem : NULL;
}
