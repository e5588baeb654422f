// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * -e heap: find the allocator's functions in the program's libc (at the moment it maps
 * it, before any of it runs) or in a program that brings its own, and probe each.
 */
#define LOG_ROOM "record"
#include <fcntl.h>
#include <gelf.h>
#include <string.h>

#include "pt-collect/ptc.h"
#include "pt-collect/ptc_bpf.h"
#include "pt-collect/ptc_chance.h"
#include "pt-collect/ptc_heap.h"

#define CODE_BYTES 256 ///< of a function's beginning, for the choice of the site

struct ptc_heap {
	VEC(struct cap_heap_site) sites;
};

/** How many integer arguments of each function count. */
static const unsigned n_args[CAP_HEAP_FNS] = {
	[CAP_HEAP_MALLOC] = 1,	       [CAP_HEAP_CALLOC] = 2,
	[CAP_HEAP_REALLOC] = 2,	       [CAP_HEAP_FREE] = 1,
	[CAP_HEAP_POSIX_MEMALIGN] = 3, [CAP_HEAP_ALIGNED_ALLOC] = 2,
};

const struct cap_heap_site *ptc_heap_sites(const struct ptc_process *p, size_t *n)
{
	*n = p->heap ? p->heap->sites.size : 0;
	return p->heap ? p->heap->sites.data : NULL;
}

void ptc_heap_destroy(struct ptc_heap *h)
{
	if (!h)
		return;
	vec_deinit(&h->sites);
	free(h);
}

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

static bool is_static(Elf *elf)
{
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_INTERP)
			return false;
	}
	return true;
}

/** Entries (file offsets, 0 = not defined) in the symbol table of type @p type. */
static void find_entries(Elf *elf, uint32_t type, uint64_t entries[CAP_HEAP_FNS])
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type || !data ||
		    !sh.sh_entsize)
			continue;
		for (size_t i = 0; i < sh.sh_size / sh.sh_entsize; i++) {
			GElf_Sym sym;
			const char *name;

			if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF ||
			    GELF_ST_TYPE(sym.st_info) != STT_FUNC)
				continue;
			name = elf_strptr(elf, sh.sh_link, sym.st_name);
			for (int fn = 0; name && fn < CAP_HEAP_FNS; fn++)
				if (!strcmp(name, cap_heap_name(fn)))
					entries[fn] =
						ptc_code_offset(elf, 0, sym.st_value);
		}
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/** Choose the site of each function that is there. @return how many. */
static size_t choose_sites(const char *path, int fd, uint32_t file,
			   const uint64_t entries[CAP_HEAP_FNS],
			   struct cap_heap_site sites[CAP_HEAP_FNS])
{
	size_t n = 0;

	for (int fn = 0; fn < CAP_HEAP_FNS; fn++) {
		uint8_t code[CODE_BYTES];
		ssize_t size = entries[fn] ? pread(fd, code, sizeof(code), entries[fn]) :
					     0;
		struct ptc_site site;

		if (size <= 0)
			continue;
		site = ptc_site_choose(code, size, n_args[fn]);
		sites[n++] = (struct cap_heap_site){
			.fn = fn,
			.file = file,
			.entry_offset = entries[fn],
			.file_offset = entries[fn] + site.offset,
		};
		log_info("probe %s at %s+0x%llx (entry+%u, %s: %s)", cap_heap_name(fn),
			 base_name(path), (unsigned long long)(entries[fn] + site.offset),
			 site.offset, site.mnemonic,
			 site.is_emulated ? "emulated" : "single-stepped");
	}
	return n;
}

static void place_probes(struct ptc_process *p, const char *path,
			 const struct cap_heap_site *sites, size_t n)
{
	_cleanup_err_ struct err *err =
		ptc_bpf_probe(p->session->bpf, p->pid, path, sites, n);

	if (err) {
		ptc_log_gap(p, p->pid, "%s", err->message);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct cap_heap_site *slot = vec_push(&p->heap->sites);

		if (slot)
			*slot = sites[i];
	}
}

/** A file whose malloc the program will use? */
static bool is_wanted(Elf *elf, const char *path, bool is_exe,
		      uint64_t entries[CAP_HEAP_FNS])
{
	const char *name = base_name(path);

	if (!is_exe && strncmp(name, "libc.so", 7) && strncmp(name, "libc-2.", 7))
		return false;
	find_entries(elf, is_exe && is_static(elf) ? SHT_SYMTAB : SHT_DYNSYM, entries);
	return true;
}

void ptc_heap_mapped(struct ptc_process *p, const char *path, uint32_t file, bool is_exe)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t entries[CAP_HEAP_FNS] = {};
	struct cap_heap_site sites[CAP_HEAP_FNS];
	_cleanup_(elf_endp) Elf *elf = NULL;
	size_t n;

	if (!p->heap)
		p->heap = calloc(1, sizeof(*p->heap));
	for (size_t i = 0; p->heap && i < p->heap->sites.size; i++)
		if (p->heap->sites.data[i].file == file)
			return; // Another segment of a file we know.
	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (!elf || !p->heap || !is_wanted(elf, path, is_exe, entries))
		return;
	n = choose_sites(path, fd, file, entries, sites);
	if (n)
		place_probes(p, path, sites, n);
}
