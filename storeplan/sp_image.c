// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_image.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>

#include "base/noreturn.h"
#include "storeplan/sp_insn.h"

/** Code that is not functions. */
struct span {
	uint64_t start, end;
};

struct sp_image {
	int fd;
	Elf *elf;
	const uint8_t *raw; ///< the whole file
	size_t raw_bytes;
	VEC(struct sp_range) ranges;
	VEC(struct span) text;	   ///< executable sections with functions in them
	VEC(struct span) constant; ///< read-only segments, and what becomes so (RELRO)
	VEC(GElf_Phdr) loads;
	VEC(uint64_t) pointers;
	struct map callees; ///< address of a PLT entry, or of its pointer: enum sp_callee
};

void sp_image_close(struct sp_image *m)
{
	if (!m)
		return;
	elf_end(m->elf);
	if (m->fd >= 0)
		close(m->fd);
	vec_deinit(&m->ranges);
	vec_deinit(&m->text);
	vec_deinit(&m->constant);
	vec_deinit(&m->loads);
	vec_deinit(&m->pointers);
	map_deinit(&m->callees);
	free(m);
}

void sp_image_closep(struct sp_image **m)
{
	sp_image_close(*m);
}

/* ---- memory ---------------------------------------------------------------------- */

static const GElf_Phdr *load_at(const struct sp_image *m, uint64_t addr)
{
	return vec_find(&m->loads, ph,
			addr >= ph->p_vaddr && addr - ph->p_vaddr < ph->p_filesz);
}

uint64_t sp_image_offset(const struct sp_image *m, uint64_t addr)
{
	const GElf_Phdr *ph = load_at(m, addr);

	return ph ? addr - ph->p_vaddr + ph->p_offset : 0;
}

const uint8_t *sp_image_bytes(const struct sp_image *m, uint64_t addr, size_t *avail)
{
	const GElf_Phdr *ph = load_at(m, addr);
	uint64_t offset;

	if (!ph)
		return NULL;
	offset = addr - ph->p_vaddr + ph->p_offset;
	if (offset >= m->raw_bytes)
		return NULL;
	*avail = ph->p_filesz - (addr - ph->p_vaddr);
	if (*avail > m->raw_bytes - offset)
		*avail = m->raw_bytes - offset;
	return m->raw + offset;
}

static bool holds(const struct span *s, size_t n, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < n; i++)
		if (addr >= s[i].start && addr < s[i].end && s[i].end - addr >= size)
			return true;
	return false;
}

bool sp_image_is_constant(const struct sp_image *m, uint64_t addr, uint64_t size)
{
	return holds(m->constant.data, m->constant.size, addr, size);
}

static struct err *read_segments(struct sp_image *m)
{
	size_t n = 0;

	elf_getphdrnum(m->elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph, *slot;

		if (!gelf_getphdr(m->elf, i, &ph))
			continue;
		if (ph.p_type == PT_LOAD) {
			slot = vec_push(&m->loads);
			if (!slot)
				return &err_nomem;
			*slot = ph;
		}
		if (!(ph.p_type == PT_LOAD && !(ph.p_flags & PF_W)) &&
		    ph.p_type != PT_GNU_RELRO)
			continue;
		if (vec_add(&m->constant,
			    (struct span){ ph.p_vaddr, ph.p_vaddr + ph.p_memsz }))
			return &err_nomem;
	}
	return NULL;
}

/* ---- where functions begin --------------------------------------------------------- */

static bool is_text(const struct sp_image *m, uint64_t addr)
{
	return holds(m->text.data, m->text.size, addr, 1);
}

static struct err *add_start(struct sp_image *m, uint64_t addr, const char *name)
{
	struct sp_range *r;

	if (!is_text(m, addr))
		return NULL;
	r = vec_push(&m->ranges);
	if (!r)
		return &err_nomem;
	r->start = addr;
	r->name = name && *name ? name : NULL;
	return NULL;
}

/** The search table of .eh_frame_hdr, in the one encoding that linkers write: version 1,
 * sdata4 pcrel, udata4, sdata4 datarel. */
static struct err *add_unwind_starts(struct sp_image *m)
{
	size_t n = 0;

	elf_getphdrnum(m->elf, &n);
	for (size_t i = 0; i < n; i++) {
		struct err *err = NULL;
		const uint8_t *head;
		uint32_t entries;
		GElf_Phdr ph;

		if (!gelf_getphdr(m->elf, i, &ph) || ph.p_type != PT_GNU_EH_FRAME ||
		    ph.p_filesz < 12 || ph.p_offset > m->raw_bytes ||
		    m->raw_bytes - ph.p_offset < ph.p_filesz)
			continue;
		head = m->raw + ph.p_offset;
		if (head[0] != 1 || head[2] != 0x03 || head[3] != 0x3b)
			continue;
		memcpy(&entries, head + 8, sizeof(entries));
		for (uint32_t e = 0; !err && e < entries && 20 + 8ull * e <= ph.p_filesz;
		     e++) {
			int32_t at;

			memcpy(&at, head + 12 + 8 * e, sizeof(at));
			err = add_start(m, ph.p_vaddr + at, NULL);
		}
		if (err)
			return err;
	}
	return NULL;
}

static enum sp_callee callee_of_name(const char *name)
{
	static const char *const twice[] = { "setjmp",	    "_setjmp", "sigsetjmp",
					     "__sigsetjmp", "vfork",   "getcontext" };

	if (noreturn_is(name, strlen(name)))
		return SP_CALLEE_NEVER_RETURNS;
	for (size_t i = 0; i < sizeof(twice) / sizeof(*twice); i++)
		if (!strcmp(name, twice[i]))
			return SP_CALLEE_RETURNS_TWICE;
	return SP_CALLEE_PLAIN;
}

static struct err *add_symbol_starts(struct sp_image *m, Elf_Scn *scn,
				     const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);

	for (size_t i = 0; data && sh->sh_entsize && i < sh->sh_size / sh->sh_entsize;
	     i++) {
		enum sp_callee c;
		struct err *err;
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC))
			continue;
		name = text_name(elf_strptr(m->elf, sh->sh_link, sym.st_name));
		err = add_start(m, sym.st_value, name);
		if (err)
			return err;
		c = name ? callee_of_name(name) : SP_CALLEE_PLAIN;
		if (c != SP_CALLEE_PLAIN && map_put(&m->callees, sym.st_value, c))
			return &err_nomem;
	}
	return NULL;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct sp_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return !x->name - !y->name; // those with names first
}

/** Sort, join equal ones, and let each end where the next begins. */
static void finish_ranges(struct sp_image *m)
{
	size_t n = 0;

	if (!m->ranges.size)
		return;
	vec_sort(&m->ranges, compare_ranges);
	for (size_t i = 0; i < m->ranges.size; i++)
		if (!n || m->ranges.data[n - 1].start != m->ranges.data[i].start)
			m->ranges.data[n++] = m->ranges.data[i];
	m->ranges.size = n;
	for (size_t i = 0; i < n; i++) {
		struct sp_range *r = &m->ranges.data[i];

		r->owner = i;
		r->is_cold = r->name && strstr(r->name, ".cold");
		for (size_t t = 0; t < m->text.size; t++)
			if (r->start >= m->text.data[t].start &&
			    r->start < m->text.data[t].end)
				r->end = m->text.data[t].end;
		if (i + 1 < n && m->ranges.data[i + 1].start < r->end)
			r->end = m->ranges.data[i + 1].start;
	}
}

struct sp_range *sp_image_ranges(const struct sp_image *m, size_t *n)
{
	*n = m->ranges.size;
	return m->ranges.data;
}

size_t sp_image_range_at(const struct sp_image *m, uint64_t addr)
{
	size_t n = vec_rank(m->ranges.size, i, m->ranges.data[i].start <= addr);

	return n && addr < m->ranges.data[n - 1].end ? n - 1 : SIZE_MAX;
}

/* ---- relocations and calls out --------------------------------------------------------- */

static struct err *take_relocation(struct sp_image *m, const GElf_Rela *r,
				   Elf_Data *symbols, size_t strings)
{
	uint64_t *slot;
	const char *name;
	enum sp_callee c;
	GElf_Sym sym;

	if (GELF_R_TYPE(r->r_info) == R_X86_64_RELATIVE) {
		slot = vec_push(&m->pointers);
		if (!slot)
			return &err_nomem;
		*slot = r->r_addend;
		return NULL;
	}
	if (!symbols || !gelf_getsym(symbols, GELF_R_SYM(r->r_info), &sym))
		return NULL;
	if (sym.st_shndx != SHN_UNDEF) {
		slot = vec_push(&m->pointers);
		if (!slot)
			return &err_nomem;
		*slot = sym.st_value + r->r_addend;
	}
	name = text_name(elf_strptr(m->elf, strings, sym.st_name));
	c = name ? callee_of_name(name) : SP_CALLEE_PLAIN;
	if (c != SP_CALLEE_PLAIN && map_put(&m->callees, r->r_offset, c))
		return &err_nomem;
	return NULL;
}

static struct err *read_relocations(struct sp_image *m, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL), *symbols = NULL;
	Elf_Scn *names = elf_getscn(m->elf, sh->sh_link);
	GElf_Shdr names_sh = {};

	if (sh->sh_link && names && gelf_getshdr(names, &names_sh))
		symbols = elf_getdata(names, NULL);
	for (size_t i = 0; data && sh->sh_entsize && i < sh->sh_size / sh->sh_entsize;
	     i++) {
		struct err *err;
		GElf_Rela r;

		if (!gelf_getrela(data, i, &r))
			continue;
		err = take_relocation(m, &r, symbols, names_sh.sh_link);
		if (err)
			return err;
	}
	return NULL;
}

/** An entry of the PLT is an indirect jump, perhaps behind an endbr64. */
static struct err *read_plt(struct sp_image *m, const GElf_Shdr *sh)
{
	uint64_t begin = 0, end = sh->sh_addr + sh->sh_size;

	for (uint64_t at = sh->sh_addr; at < end;) {
		struct sp_insn i;
		uint64_t *callee;
		size_t avail;
		const uint8_t *bytes = sp_image_bytes(m, at, &avail);

		if (!bytes || !sp_insn_decode(bytes, avail, at, &i))
			return NULL;
		begin = begin ?: at;
		callee = i.slot ? map_get(&m->callees, i.slot) : NULL;
		if (callee) {
			uint64_t c = *callee;

			if (map_put(&m->callees, at, c) || map_put(&m->callees, begin, c))
				return &err_nomem;
		}
		at += i.len;
		if (at % 16 == 0 || i.flow == SP_FLOW_JMP_IND)
			begin = 0;
	}
	return NULL;
}

enum sp_callee sp_image_callee(const struct sp_image *m, uint64_t target, uint64_t slot)
{
	const uint64_t *c = map_get(&m->callees, target ?: slot);

	return c ? *c : SP_CALLEE_PLAIN;
}

struct err *sp_image_never_returns(struct sp_image *m, uint64_t target)
{
	return map_put(&m->callees, target, SP_CALLEE_NEVER_RETURNS) ? &err_nomem : NULL;
}

const uint64_t *sp_image_pointers(const struct sp_image *m, size_t *n)
{
	*n = m->pointers.size;
	return m->pointers.data;
}

static int compare_pointers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* ---- sections --------------------------------------------------------------------------- */

static bool is_plt(const char *name)
{
	return name && !strncmp(name, ".plt", 4);
}

/** @p round 0: what sections there are; 1: what is in them; 2: what needs the rest. */
static struct err *read_section(struct sp_image *m, Elf_Scn *scn, const GElf_Shdr *sh,
				const char *name, int round)
{
	if (round == 0 && sh->sh_flags & SHF_EXECINSTR && sh->sh_type == SHT_PROGBITS &&
	    !is_plt(name)) {
		if (vec_add(&m->text,
			    (struct span){ sh->sh_addr, sh->sh_addr + sh->sh_size }))
			return &err_nomem;
	}
	if (round == 1 && (sh->sh_type == SHT_SYMTAB || sh->sh_type == SHT_DYNSYM))
		return add_symbol_starts(m, scn, sh);
	if (round == 1 && sh->sh_type == SHT_RELA)
		return read_relocations(m, scn, sh);
	if (round == 2 && is_plt(name))
		return read_plt(m, sh);
	return NULL;
}

static struct err *read_sections(struct sp_image *m, int round)
{
	size_t names = 0;
	Elf_Scn *scn = NULL;
	struct err *err = NULL;

	elf_getshdrstrndx(m->elf, &names);
	while (!err && (scn = elf_nextscn(m->elf, scn))) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh))
			err = read_section(m, scn, &sh,
					   elf_strptr(m->elf, names, sh.sh_name), round);
	}
	return err;
}

static struct err *read_image(struct sp_image *m, const char *path)
{
	struct err *err = read_segments(m);
	GElf_Ehdr head;

	if (!gelf_getehdr(m->elf, &head) || head.e_machine != EM_X86_64)
		return err_new(ERR_FORMAT, "cannot analyze '%s': not an x86-64 program",
			       path);
	for (int round = 0; !err && round < 3; round++)
		err = read_sections(m, round);
	err = err ?: add_unwind_starts(m);
	if (err)
		return err;
	if (!m->text.size)
		return err_new(ERR_FORMAT,
			       "cannot analyze '%s': its section headers were removed",
			       path);
	finish_ranges(m);
	vec_sort(&m->pointers, compare_pointers);
	return NULL;
}

struct err *sp_image_open(const char *path, struct sp_image **ret)
{
	_cleanup_(sp_image_closep) struct sp_image *m = calloc(1, sizeof(*m));
	struct err *err;

	if (!m)
		return &err_nomem;
	m->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (m->fd < 0)
		return err_errno("cannot open '%s'", path);
	elf_version(EV_CURRENT);
	m->elf = elf_begin(m->fd, ELF_C_READ_MMAP, NULL);
	if (!m->elf || elf_kind(m->elf) != ELF_K_ELF)
		return err_new(ERR_FORMAT, "cannot analyze '%s': not an ELF file", path);
	m->raw = (const uint8_t *)elf_rawfile(m->elf, &m->raw_bytes);
	if (!m->raw)
		return err_new(ERR_FORMAT, "cannot read '%s': %s", path, elf_errmsg(-1));
	err = read_image(m, path);
	if (err)
		return err;
	*ret = take_ptr(&m);
	return NULL;
}
