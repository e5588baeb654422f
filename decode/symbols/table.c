// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The function symbols of a unit, sorted: dwfl_module_addrinfo() walks the whole table at
 * each question, 0.2 ms for libc.
 */
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/symbols_int.h"

static int compare_symbols(const void *a, const void *b)
{
	const struct dec_sym_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/** `malloc` before `__libc_malloc`, global before weak before local: the name that a
 * caller would have written. */
static uint8_t rank_of(const GElf_Sym *sym, const char *name)
{
	uint8_t rank = name[0] == '_' ? 4 : 0;

	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return rank;
	case STB_WEAK:
		return rank + 1;
	default:
		return rank + 2;
	}
}

/* What many files know by another name is no static function: ld makes libc's malloc local in a static-pie program. */
static void settle_aliases(struct dec_sym_unit *u)
{
	struct dec_sym_symbol *s = u->symbols.data, *end = s + u->symbols.size;

	for (struct dec_sym_symbol *next = s; s < end; s = next) {
		bool is_static = true;

		for (; next < end && next->addr == s->addr; next++)
			is_static &= next->is_static;
		for (struct dec_sym_symbol *k = s; k < next && !is_static; k++)
			k->is_static = false;
	}
}

void dec_sym_unit_need_symbols(struct dec_sym_unit *u)
{
	int count;

	if (u->has_symbols)
		return;
	u->has_symbols = true;
	count = u->elf ? dwfl_module_getsymtab(u->mod) : 0;
	for (int i = 1; i < count; i++) {
		struct dec_sym_symbol *slot;
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = text_name(dwfl_module_getsym_info(
			u->mod, i, &sym, &addr, NULL, NULL, NULL));
		int type;

		if (!name || !*name || sym.st_shndx == SHN_UNDEF)
			continue;
		type = GELF_ST_TYPE(sym.st_info);
		if (type != STT_FUNC && type != STT_GNU_IFUNC)
			continue;
		slot = vec_push(&u->symbols);
		if (!slot) {
			log_warn("out of memory: symbols of '%s' are missing", u->path);
			break;
		}
		// What is hidden is local, too, when it is linked; but many files knew it.
		*slot = (struct dec_sym_symbol){
			.name = name,
			.addr = addr,
			.size = sym.st_size,
			.rank = rank_of(&sym, name),
			.is_resolver = type == STT_GNU_IFUNC,
			.is_static = GELF_ST_BIND(sym.st_info) == STB_LOCAL &&
				     GELF_ST_VISIBILITY(sym.st_other) == STV_DEFAULT,
		};
	}
	vec_sort(&u->symbols, compare_symbols);
	settle_aliases(u);
}

const struct dec_sym_symbol *dec_sym_unit_symbol(struct dec_sym_unit *u, uint64_t addr)
{
	size_t lo;

	dec_sym_unit_need_symbols(u);
	lo = vec_rank(u->symbols.size, i, u->symbols.data[i].addr <= addr);
	// The last one that starts at or before addr; a few back, one may enclose it.
	for (int back = 0; lo > 0 && back < 16; back++, lo--) {
		const struct dec_sym_symbol *s = &u->symbols.data[lo - 1];

		if (addr - s->addr < s->size || (s->size == 0 && back == 0)) {
			while (s > u->symbols.data && s[-1].addr == s->addr &&
			       (addr - s->addr < s[-1].size || s[-1].size == 0))
				s--;
			return s;
		}
	}
	return NULL;
}
