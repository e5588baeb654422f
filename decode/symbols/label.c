// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What code is called that is no function's: labels of assembler, which have no type, and the stubs
 * of a PLT. Each of these jumps through a slot that the loader fills, and whose relocation has the
 * name of what is called. How stubs look has changed several times (IBT, MPX, -z now); what they
 * have in common is that jump. For analyses these are nobody's: only who shows code asks.
 */
#include <string.h>

#define LOG_ROOM "decode"
#include "base/map.h"
#include "decode/symbols/symbols_int.h"

#define UNIT 8u		  ///< all stubs begin at multiples of it
#define STUB_BYTES 16u	  ///< of nearly all
#define SLOTS_MAX 100000u ///< a file that has more is nobody's

/* ---- stubs --------------------------------------------------------------------------------- */

/** Of one file: what its slots are for. */
struct slots {
	struct map names; ///< address of a slot to index in list
	VEC(const char *) list;
};

static void read_slots(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct slots *ret)
{
	Elf_Scn *symbols = elf_getscn(elf, sh->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL), *table = elf_getdata(symbols, NULL);
	GElf_Shdr of_symbols;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!data || !table || !gelf_getshdr(symbols, &of_symbols) ||
	    of_symbols.sh_type != SHT_DYNSYM)
		return;
	for (int i = 0; gelf_getrela(data, i, &rela) && ret->list.size < SLOTS_MAX; i++) {
		uint64_t type = GELF_R_TYPE(rela.r_info);
		const char *name;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(table, GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = text_name(elf_strptr(elf, of_symbols.sh_link, sym.st_name));
		if (name && *name && !map_put(&ret->names, rela.r_offset, ret->list.size))
			err_destroy(vec_add(&ret->list, name));
	}
}

/** The slot that the stub at @p code jumps through; @p at: its address; 0: it is no stub. */
static uint64_t slot_of(const uint8_t *code, size_t n, uint64_t at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t i = n >= 4 && !memcmp(code, endbr, 4) ? 4 : 0;
	int32_t disp;

	i += i < n && code[i] == 0xf2; // bnd
	if (i + 6 > n || code[i] != 0xff || code[i + 1] != 0x25)
		return 0;
	memcpy(&disp, code + i + 2, 4);
	return at + i + 6 + disp;
}

static void add_stubs(struct dec_sym_unit *u, const struct slots *slots, Elf_Scn *scn,
		      const GElf_Shdr *sh, uint64_t bias)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	uint64_t size = sh->sh_entsize == UNIT ? UNIT : STUB_BYTES;

	for (size_t at = 0; data && data->d_buf && at + UNIT <= data->d_size;
	     at += UNIT) {
		const uint64_t *known = map_get(
			&slots->names, slot_of((const uint8_t *)data->d_buf + at,
					       data->d_size - at, sh->sh_addr + at));
		struct dec_sym_symbol *slot;
		char name[300];
		size_t n;

		if (!known || *known >= slots->list.size)
			continue;
		snprintf(name, sizeof(name) - 4, "%s", slots->list.data[*known]);
		n = strlen(strcat(name, "@plt"));
		slot = vec_push(&u->labels);
		if (!slot)
			return;
		*slot = (struct dec_sym_symbol){ .name = arena_strndup(&u->label_names,
								       name, n),
						 .addr = sh->sh_addr + at + bias,
						 .size = size };
		u->labels.size -= !slot->name;
	}
}

static void read_stubs(struct dec_sym_unit *u)
{
	struct slots slots = {};
	Elf_Scn *scn = NULL;
	GElf_Addr bias = 0;
	GElf_Shdr sh;
	Elf *elf = dwfl_module_getelf(u->mod, &bias);
	size_t strings;

	if (!elf || elf_getshdrstrndx(elf, &strings))
		return;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA)
			read_slots(elf, scn, &sh, &slots);
	while (slots.list.size && (scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ?
					   elf_strptr(elf, strings, sh.sh_name) :
					   NULL;

		if (name && !strncmp(name, ".plt", 4) && sh.sh_type == SHT_PROGBITS)
			add_stubs(u, &slots, scn, &sh, bias);
	}
	map_deinit(&slots.names);
	vec_deinit(&slots.list);
}

/* ---- labels -------------------------------------------------------------------------------- */

/** Is there code at link-time address @p addr? */
static bool is_code(const struct dec_sym_unit *u, uint64_t addr)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(u->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
		    addr - sh.sh_addr < sh.sh_size)
			return true;
	return false;
}

/** Names that begin with a point or $ are tools'. */
static void read_labels(struct dec_sym_unit *u)
{
	int count = dwfl_module_getsymtab(u->mod);

	for (int i = 1; i < count; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = text_name(dwfl_module_getsym_info(
			u->mod, i, &sym, &addr, NULL, NULL, NULL));

		if (name && *name && *name != '.' && *name != '$' &&
		    GELF_ST_TYPE(sym.st_info) == STT_NOTYPE &&
		    sym.st_shndx != SHN_UNDEF && sym.st_shndx != SHN_ABS &&
		    is_code(u, sym.st_value))
			err_destroy(vec_add(&u->labels,
					    (struct dec_sym_symbol){ .name = name,
								     .addr = addr }));
	}
}

static int compare_labels(const void *a, const void *b)
{
	const struct dec_sym_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

const struct dec_sym_symbol *dec_sym_unit_label(struct dec_sym_unit *u, uint64_t addr)
{
	const struct dec_sym_symbol *f = dec_sym_unit_symbol(u, addr), *l;
	size_t n;

	if (!u->has_labels && u->elf) {
		read_labels(u);
		read_stubs(u);
		vec_sort(&u->labels, compare_labels);
	}
	u->has_labels = true;
	n = vec_rank(u->labels.size, i, u->labels.data[i].addr <= addr);
	l = n ? &u->labels.data[n - 1] : NULL;
	if (!l || (l->size && addr - l->addr >= l->size))
		return NULL;
	// A function without an end counts as far as to the next name.
	return f && (f->size || f->addr >= l->addr) ? NULL : l;
}
