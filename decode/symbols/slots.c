// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where modules keep the addresses of functions of others: the slots that the dynamic linker fills, and
 * that calls go through. Which name a call was made by is known of them alone: memcpy and memmove may be
 * the same code.
 */
#include <string.h>

#include "decode/symbols/symbols_int.h"

static size_t slots_in(const struct dec_sym_mapping *m, Elf_Scn *scn, const GElf_Shdr *sh,
		       const char *name, uint64_t *ret, size_t n, size_t max)
{
	Elf *elf = m->unit->elf;
	Elf_Data *relocations = elf_getdata(scn, NULL), *symbols;
	Elf_Scn *of = elf_getscn(elf, sh->sh_link);
	GElf_Shdr table;
	GElf_Rela r;
	GElf_Sym sym;

	if (!relocations || !of || !gelf_getshdr(of, &table))
		return n;
	symbols = elf_getdata(of, NULL);
	for (int i = 0; symbols && gelf_getrela(relocations, i, &r); i++) {
		uint64_t type = GELF_R_TYPE(r.r_info);
		const char *text;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbols, GELF_R_SYM(r.r_info), &sym))
			continue;
		text = elf_strptr(elf, table.sh_link, sym.st_name);
		if (!text || strcmp(text, name))
			continue;
		if (n < max)
			ret[n] = r.r_offset + m->bias;
		n++;
	}
	return n;
}

size_t dec_symbols_slots(struct dec_symbols *s, const char *name, uint64_t *ret,
			 size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->mappings.size; i++) {
		const struct dec_sym_mapping *m = &s->mappings.data[i];
		Elf_Scn *scn = NULL;
		GElf_Shdr sh;

		while (!m->is_gone && m->unit->elf &&
		       (scn = elf_nextscn(m->unit->elf, scn)))
			if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA)
				n = slots_in(m, scn, &sh, name, ret, n, max);
	}
	return n;
}
