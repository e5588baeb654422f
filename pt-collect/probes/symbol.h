// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Functions of ELF files by name. Private to pt-collect/.
 */
#ifndef PT_COLLECT_PROBES_SYMBOL_H
#define PT_COLLECT_PROBES_SYMBOL_H

#include <stdint.h>

#include "base/base.h"

struct Elf;

/** For _cleanup_: elf_end(). */
void ptc_elf_endp(struct Elf **elf);

struct ptc_symbol {
	uint64_t offset; ///< in the file
	uint64_t size;	 ///< bytes; 0 = the file does not say
};

/** Find function @p name in the symbol tables of ELF file @p path. @return NULL, or
 * ERR_NOT_FOUND (no such file, or function), ERR_FORMAT (not an ELF file). */
struct err *ptc_symbol_find(const char *path, const char *name, struct ptc_symbol *ret);

#endif
