// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Functions of ELF files by name: where a probe or an address filter goes.
 */
#define LOG_ROOM "record"
#include <fcntl.h>
#include <gelf.h>
#include <string.h>

#include "pt-collect/probes/chance.h"
#include "pt-collect/probes/symbol.h"

void ptc_elf_endp(Elf **elf)
{
	elf_end(*elf);
}

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/** A name may have a version behind it: malloc@@GLIBC_2.2.5 is malloc. */
static bool is_named(const char *have, const char *want)
{
	size_t n = strlen(want);

	return have && !strncmp(have, want, n) && (!have[n] || have[n] == '@');
}

static bool find_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const char *name,
		    struct ptc_symbol *ret)
{
	Elf_Data *data = elf_getdata(scn, NULL);

	for (size_t i = 0; data && sh->sh_entsize && i < sh->sh_size / sh->sh_entsize;
	     i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || !is_function(&sym) ||
		    !is_named(elf_strptr(elf, sh->sh_link, sym.st_name), name))
			continue;
		ret->offset = ptc_code_offset(elf, 0, sym.st_value);
		ret->size = sym.st_size;
		if (ret->offset)
			return true;
	}
	return false;
}

struct err *ptc_symbol_find(const char *path, const char *name, struct ptc_symbol *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(ptc_elf_endp) Elf *elf = NULL;
	Elf_Scn *scn = NULL;

	if (fd < 0)
		return err_errno("cannot open '%s'", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return err_new(ERR_FORMAT, "'%s' is not an ELF file", path);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) &&
		    find_in(elf, scn, &sh, name, ret))
			return NULL;
	}
	return err_new(ERR_NOT_FOUND, "no function '%s' in '%s'", name, path);
}
