// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One ELF file with its debug information: opening, and from a link-time address to the
 * compile unit, the function and the inlined calls around it.
 *
 * Two indices of our own stand before libdw's: .debug_aranges, which libdw's look-ups
 * use, is optional (clang leaves it out), and a walk over all functions of a large
 * compile unit (sqlite is one) at each question would be quadratic.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <endian.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#define LOG_ROOM "decode"
#include "confine/confine.h"
#include "decode/symbols/symbols_int.h"

/* Bytes that the packed sections of a file may take; those of a real one have a quarter of
 * what they hold, and a file of zeros a thousandth. */
#define UNPACKED_RATIO 16u
#define UNPACKED_FREE (256u << 20)

static char *debug_path = NULL; // the default: .debug and /usr/lib/debug

/* By its build-id, among the system's debug files, for every file; by the names and paths that
 * the file says only where it may (dec_sym_unit_is_local()): anything may lie there. */
static int find_debuginfo(Dwfl_Module *mod, void **user, const char *name,
			  Dwarf_Addr base, const char *file, const char *link,
			  GElf_Word crc, char **ret)
{
	struct dec_sym_unit *u = *user;
	const unsigned char *id;
	GElf_Addr vaddr;
	int n;

	// These lead to directories, which are none.
	if (!dec_sym_unit_is_local(u)) {
		file = "/";
		link = ".";
		crc = 1;
	}
	u->found =
		dwfl_standard_find_debuginfo(mod, user, name, base, file, link, crc, ret);
	n = u->found < 0 ? dwfl_module_build_id(mod, &id, &vaddr) : 0;
	if (n > 0)
		u->found = confine_debuginfo(id, n);
	return u->found;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.debuginfo_path = &debug_path,
};

/* ---- ranges -------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
	const struct dec_sym_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/** Append the code ranges of @p die as number @p index. @return -1: out of memory. */
static int add_die_ranges(dec_sym_ranges *r, Dwarf_Die *die, uint32_t index)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		// A function the linker dropped keeps its DIE, at address 0.
		if (lo >= hi || lo == 0)
			continue;
		if (vec_add(r, (struct dec_sym_range){ lo, hi, index }))
			return -1;
	}
	return 0;
}

/** @return the range that holds @p addr and starts last, or NULL. */
static const struct dec_sym_range *find_range(const dec_sym_ranges *r, uint64_t addr)
{
	size_t lo = vec_rank(r->size, i, r->data[i].lo <= addr);

	// Ranges hardly ever overlap; a few steps back cover those that do.
	for (int back = 0; lo > 0 && back < 8; back++, lo--) {
		if (addr < r->data[lo - 1].hi)
			return &r->data[lo - 1];
	}
	return NULL;
}

/** Append @p die. @return -1: out of memory. */
static int add_die(struct dec_sym_dies *to, const Dwarf_Die *die)
{
	Dwarf_Die copy = *die;

	if (vec_add(&to->die, copy))
		return -1;
	return add_die_ranges(&to->ranges, &copy, (uint32_t)(to->die.size - 1));
}

/** @return that with code at @p pc, or NULL. */
static const Dwarf_Die *find_die(const struct dec_sym_dies *d, uint64_t pc)
{
	const struct dec_sym_range *r = find_range(&d->ranges, pc);

	return r ? &d->die.data[r->index] : NULL;
}

static void dies_deinit(struct dec_sym_dies *d)
{
	vec_deinit(&d->die);
	vec_deinit(&d->ranges);
}

/* ---- opening --------------------------------------------------------------------- */

/** List the compile units. @return -1: out of memory. */
static int index_cus(struct dec_sym_unit *u)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die skeleton, die, sub;
	uint8_t type;

	while (dwarf_get_units(u->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		struct dec_sym_cu *slot;
		size_t n_ranges = u->cu_ranges.size;

		// The rest of it is in a file at a path that it says.
		if (type == DW_UT_skeleton && !dec_sym_unit_is_local(u))
			continue;
		skeleton = die;
		sub = (Dwarf_Die){};
		if (type == DW_UT_skeleton)
			dwarf_cu_info(die.cu, NULL, NULL, NULL, &sub, NULL, NULL, NULL);
		if (type == DW_UT_skeleton && sub.addr)
			die = sub;
		// A type unit is looked through for structs, and has no code.
		if (dwarf_tag(&die) != DW_TAG_compile_unit &&
		    dwarf_tag(&die) != DW_TAG_type_unit)
			continue;
		slot = vec_push(&u->cus);
		if (!slot)
			return -1;
		slot->die = die;
		if (add_die_ranges(&u->cu_ranges, &die, (uint32_t)(u->cus.size - 1)))
			return -1;
		// Code in several sections: gcc tells the skeleton alone.
		if (u->cu_ranges.size == n_ranges &&
		    add_die_ranges(&u->cu_ranges, &skeleton, (uint32_t)(u->cus.size - 1)))
			return -1;
	}
	vec_sort(&u->cu_ranges, compare_ranges);
	return 0;
}

/** libdwfl would unpack a file that is packed as a whole, and relocate an object file: what the
 * program had mapped as code is neither. */
static bool is_program(int fd)
{
	Elf64_Ehdr head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
	       (head.e_type == ET_EXEC || head.e_type == ET_DYN);
}

/** How many bytes section @p scn takes once libdw has unpacked it; 0: it is not packed. */
static uint64_t unpacked_bytes(Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	GElf_Chdr packed;
	Elf_Data *data;
	uint64_t bytes;

	if (sh->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &packed) ? packed.ch_size : 0;
	if (!name || strncmp(name, ".zdebug", 7))
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || data->d_size < 4 + sizeof(bytes))
		return 0;
	memcpy(&bytes, (char *)data->d_buf + 4, sizeof(bytes));
	return be64toh(bytes);
}

/** May libdw unpack what is packed in the file? */
static bool is_in_budget(struct dec_sym_unit *u)
{
	Elf_Scn *scn = NULL;
	size_t names, size = 0;
	uint64_t left;

	if (!elf_rawfile(u->elf, &size) || elf_getshdrstrndx(u->elf, &names))
		return true; // there are no sections
	left = UNPACKED_FREE + size * UNPACKED_RATIO;
	while ((scn = elf_nextscn(u->elf, scn))) {
		GElf_Shdr sh;
		const char *name;
		uint64_t bytes;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(u->elf, names, sh.sh_name);
		// Here nothing tells how large it will be: a thousand times is usual for zeros.
		if (name && !strcmp(name, ".gnu_debugdata"))
			bytes = sh.sh_size * 1000;
		else
			bytes = unpacked_bytes(scn, &sh, name);
		if (bytes > left)
			return false;
		left -= bytes;
	}
	return true;
}

/** Give libdwfl the file at its link-time addresses; @p fd is consumed. @return why it is not
 * used; or NULL. */
static const char *report_module(struct dec_sym_unit *u, int fd)
{
	GElf_Addr bias;
	void **user;

	u->dwfl = is_program(fd) ? dwfl_begin(&callbacks) : NULL;
	if (!u->dwfl) {
		close(fd);
		return "it is no ELF program";
	}
	dwfl_report_begin(u->dwfl);
	// The original path, with the stored file open: .gnu_debuglink is searched beside
	// the original.
	u->mod = dwfl_report_elf(u->dwfl, u->path, u->path, fd, 0, true);
	if (!u->mod)
		close(fd);
	if (dwfl_report_end(u->dwfl, NULL, NULL) || !u->mod)
		return dwfl_errmsg(-1);
	dwfl_module_info(u->mod, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	*user = u;
	u->elf = dwfl_module_getelf(u->mod, &bias);
	if (!u->elf)
		return dwfl_errmsg(-1);
	if (is_in_budget(u))
		return NULL;
	u->elf = NULL;
	return "its packed sections take more than 16 times the file";
}

/** What was not found for a file that several share, libdw would look for by itself, by the
 * path that is said: in itself it finds nothing wrong. */
static void close_alternate(struct dec_sym_unit *u)
{
	const void *id;
	const char *name;

	if (u->found < 0 && dwelf_dwarf_gnu_debugaltlink(u->dwarf, &name, &id) > 0 &&
	    !dec_sym_unit_is_local(u))
		dwarf_setalt(u->dwarf, u->dwarf);
}

struct err *dec_sym_unit_open(int fd, const char *path, struct dec_sym_unit **ret)
{
	struct dec_sym_unit *u = calloc(1, sizeof(*u));
	const char *why;

	if (u)
		u->path = strdup(path);
	if (!u || !u->path) {
		closep(&fd);
		goto nomem;
	}
	why = fd >= 0 ? report_module(u, fd) : NULL;
	if (why) {
		log_warn("cannot read symbols of '%s': %s", path, why);
	}
	*ret = u;
	return NULL;
nomem:
	dec_sym_unit_close(u);
	return &err_nomem;
}

bool dec_sym_unit_need_debug(struct dec_sym_unit *u)
{
	if (u->has_debug || !u->elf)
		return u->dwarf;
	u->has_debug = true;
	u->dwarf = dwfl_module_getdwarf(u->mod, &u->debug_bias);
	if (u->dwarf)
		close_alternate(u);
	if (u->dwarf && index_cus(u))
		log_warn("out of memory: compile units of '%s' are missing", u->path);
	log_info("'%s': %zu compile units", u->path, u->cus.size);
	return u->dwarf;
}

void dec_sym_unit_close(struct dec_sym_unit *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->cus.size; i++)
		dies_deinit(&u->cus.data[i].functions);
	vec_deinit(&u->cus);
	for (size_t i = 0; i < u->inner.size; i++)
		dies_deinit(&u->inner.data[i]);
	vec_deinit(&u->inner);
	map_deinit(&u->inner_of);
	dec_sym_names_destroy(u->names);
	vec_deinit(&u->cu_ranges);
	vec_deinit(&u->entries);
	vec_deinit(&u->symbols);
	vec_deinit(&u->named);
	vec_deinit(&u->labels);
	vec_deinit(&u->objects);
	arena_deinit(&u->label_names);
	vec_deinit(&u->statics);
	for (size_t i = 0; i < u->evidence.size; i++)
		vec_deinit(&u->evidence.data[i].structs);
	vec_deinit(&u->evidence);
	map_deinit(&u->evidence_of);
	if (u->dwfl)
		dwfl_end(u->dwfl);
	free(u->real);
	free(u->path);
	free(u);
}

bool dec_sym_unit_is_systems(struct dec_sym_unit *u)
{
	const char *main_file, *debug_file = NULL;

	if (!u->elf)
		return false;
	// Whose symbols are apart, has its debug information there.
	dec_sym_unit_need_symbols(u);
	dwfl_module_info(u->mod, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	if (!debug_file) {
		dec_sym_unit_need_debug(u);
		dwfl_module_info(u->mod, NULL, NULL, NULL, NULL, NULL, &main_file,
				 &debug_file);
	}
	return debug_file && (!strncmp(debug_file, "/usr/lib/debug/", 15) ||
			      strstr(debug_file, "debuginfod"));
}

/* ---- segments -------------------------------------------------------------------- */

/** Fill @p ret with PT_LOAD header number @p i. @return false: it is another header. */
static bool load_segment(struct dec_sym_unit *u, size_t i, GElf_Phdr *ret)
{
	return gelf_getphdr(u->elf, (int)i, ret) && ret->p_type == PT_LOAD;
}

static size_t segments(const struct dec_sym_unit *u)
{
	size_t n;

	return u->elf && elf_getphdrnum(u->elf, &n) == 0 ? n : 0;
}

bool dec_sym_unit_threads(const struct dec_sym_unit *u, GElf_Phdr *ret)
{
	for (size_t i = 0; i < segments(u); i++)
		if (gelf_getphdr(u->elf, (int)i, ret) && ret->p_type == PT_TLS)
			return true;
	return false;
}

bool dec_sym_unit_vaddr(struct dec_sym_unit *u, uint64_t offset, uint64_t *ret)
{
	size_t n = segments(u);
	bool found = false;
	GElf_Phdr ph;

	for (size_t i = 0; i < n; i++) {
		uint64_t skew;

		if (!load_segment(u, i, &ph))
			continue;
		// The kernel maps whole pages: the mapping starts before p_offset. So do those of the segments that
		// lld puts into one page of the file; code is what is asked about.
		skew = ph.p_offset & 0xfff;
		if (offset < ph.p_offset - skew || offset >= ph.p_offset + ph.p_filesz ||
		    (found && !(ph.p_flags & PF_X)))
			continue;
		*ret = ph.p_vaddr - ph.p_offset + offset;
		if (ph.p_flags & PF_X)
			return true;
		found = true;
	}
	return found;
}

bool dec_sym_unit_extent(struct dec_sym_unit *u, uint64_t *lo, uint64_t *hi)
{
	size_t n = segments(u);
	bool found = false;
	GElf_Phdr ph;

	for (size_t i = 0; i < n; i++) {
		if (!load_segment(u, i, &ph))
			continue;
		if (!found || ph.p_vaddr < *lo)
			*lo = ph.p_vaddr;
		if (!found || ph.p_vaddr + ph.p_memsz > *hi)
			*hi = ph.p_vaddr + ph.p_memsz;
		found = true;
	}
	return found;
}

size_t dec_sym_unit_read(struct dec_sym_unit *u, uint64_t addr, void *buf, size_t size)
{
	size_t n = segments(u), file_size = 0;
	const char *bytes = n ? elf_rawfile(u->elf, &file_size) : NULL;
	GElf_Phdr ph;

	for (size_t i = 0; bytes && i < n; i++) {
		uint64_t at, left;

		if (!load_segment(u, i, &ph) || addr < ph.p_vaddr ||
		    addr - ph.p_vaddr >= ph.p_filesz)
			continue;
		at = addr - ph.p_vaddr;
		left = ph.p_filesz - at;
		// A damaged header can point behind the file.
		if (ph.p_offset > file_size || at >= file_size - ph.p_offset)
			return 0;
		if (left > file_size - ph.p_offset - at)
			left = file_size - ph.p_offset - at;
		if (size > left)
			size = left;
		memcpy(buf, bytes + ph.p_offset + at, size);
		return size;
	}
	return 0;
}

/* ---- from address to scopes ------------------------------------------------------- */

struct dec_sym_cu *dec_sym_unit_cu(struct dec_sym_unit *u, uint64_t addr)
{
	const struct dec_sym_range *r;

	dec_sym_unit_need_debug(u);
	r = find_range(&u->cu_ranges, addr - u->debug_bias);
	return r ? &u->cus.data[r->index] : NULL;
}

/** Index the functions with code below @p parent. @return -1: out of memory. */
static int index_functions(struct dec_sym_cu *cu, Dwarf_Die *parent, int depth,
			   const void **last)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (!dec_sym_is_next(&die, last))
			return 0;
		if (tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
		    tag == DW_TAG_structure_type) {
			if (depth < 16 && index_functions(cu, &die, depth + 1, last))
				return -1;
			continue;
		}
		if (tag == DW_TAG_subprogram && add_die(&cu->functions, &die))
			return -1;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

/** List the blocks and inlined calls below @p die, looking through children that are none.
 * @return -1: out of memory. */
static int index_inner(struct dec_sym_dies *to, Dwarf_Die *die)
{
	const void *last = NULL;
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (!dec_sym_is_next(&child, &last))
			break;
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
		    add_die(to, &child))
			return -1;
	} while (dwarf_siblingof(&child, &child) == 0);
	vec_sort(&to->ranges, compare_ranges);
	return 0;
}

/** Those of @p die: the loop of an interpreter has hundreds, and thousands of addresses are asked
 * for. @return NULL: out of memory. */
static const struct dec_sym_dies *inner_of(struct dec_sym_unit *u, Dwarf_Die *die)
{
	const uint64_t *at = map_get(&u->inner_of, (uintptr_t)die->addr);
	struct dec_sym_dies *made;

	if (at)
		return &u->inner.data[*at];
	made = vec_push(&u->inner);
	if (!made || map_put(&u->inner_of, (uintptr_t)die->addr, u->inner.size - 1) ||
	    index_inner(made, die)) {
		log_warn("out of memory: blocks of '%s' are missing", u->path);
		return NULL;
	}
	return made;
}

void dec_sym_unit_scopes(struct dec_sym_unit *u, uint64_t addr,
			 struct dec_sym_scopes *ret)
{
	const struct dec_sym_range *r;
	const struct dec_sym_dies *inner;
	const Dwarf_Die *die;
	Dwarf_Addr pc = addr - u->debug_bias;
	const void *last = NULL;

	ret->n = 0;
	ret->cu = dec_sym_unit_cu(u, addr);
	if (!ret->cu)
		return;
	if (!ret->cu->has_functions) {
		if (index_functions(ret->cu, &ret->cu->die, 0, &last))
			log_warn("out of memory: functions of '%s' are missing", u->path);
		vec_sort(&ret->cu->functions.ranges, compare_ranges);
		ret->cu->has_functions = true;
	}
	r = find_range(&ret->cu->functions.ranges, pc);
	if (!r)
		return;
	ret->lo = r->lo + u->debug_bias;
	ret->hi = r->hi + u->debug_bias;
	for (die = &ret->cu->functions.die.data[r->index]; die && ret->n < DEC_SYM_DEPTH;
	     die = inner ? find_die(inner, pc) : NULL) {
		ret->die[ret->n++] = *die;
		inner = inner_of(u, &ret->die[ret->n - 1]);
	}
}

bool dec_sym_entry_pc(struct dec_sym_unit *u, Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Addr pc, base, lo, hi;

	// With split code (.cold) the first range need not be the entry's.
	if (dwarf_hasattr(die, DW_AT_entry_pc) && dwarf_entrypc(die, &pc) == 0 && pc)
		;
	else if (dwarf_hasattr(die, DW_AT_low_pc) && dwarf_lowpc(die, &pc) == 0 && pc)
		;
	else if (dwarf_ranges(die, 0, &base, &lo, &hi) > 0 && lo)
		pc = lo;
	else
		return false;
	*ret = pc + u->debug_bias;
	return true;
}
