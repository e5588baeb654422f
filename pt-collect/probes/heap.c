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

#include "pt-collect/probes/chance.h"
#include "pt-collect/probes/heap.h"
#include "pt-collect/probes/symbol.h"

#define CODE_BYTES 256 ///< of a function's beginning, for the choice of the site

struct ptc_heap {
	VEC(struct cap_heap_site) sites;
	VEC(char *) paths; ///< of the file of each
};

/** How many integer arguments of each function count. */
static const unsigned n_args[CAP_HEAP_FNS] = {
	[CAP_HEAP_MALLOC] = 1,	       [CAP_HEAP_CALLOC] = 2,
	[CAP_HEAP_REALLOC] = 2,	       [CAP_HEAP_FREE] = 1,
	[CAP_HEAP_POSIX_MEMALIGN] = 3, [CAP_HEAP_ALIGNED_ALLOC] = 2,
};

const struct cap_heap_site *ptc_heap_sites(const struct ptc_probes *x, size_t *n)
{
	*n = x->heap ? x->heap->sites.size : 0;
	return x->heap ? x->heap->sites.data : NULL;
}

void ptc_heap_renumber(struct ptc_probes *x, const struct cap_core *core)
{
	for (size_t i = 0; x->heap && i < x->heap->sites.size; i++) {
		struct cap_heap_site *site = &x->heap->sites.data[i];

		site->file = 0;
		for (size_t m = 0; m < core->n_mappings && !site->file; m++)
			if (!strcmp(core->mappings[m].name, x->heap->paths.data[i]))
				site->file = core->mappings[m].file;
	}
}

void ptc_heap_destroy(struct ptc_heap *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->paths.size; i++)
		free(h->paths.data[i]);
	vec_deinit(&h->paths);
	vec_deinit(&h->sites);
	free(h);
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

/** Sites in one file: where functions are entered, and where to begin to wait for their
 * results. */
struct chosen {
	struct cap_heap_site sites[CAP_HEAP_FNS], done[CAP_HEAP_FNS];
	size_t n, n_done;
};

/**
 * Choose the site of each function that is there.
 *
 * Where one recorder waits for a result, the kernel replaces the return address of every
 * process that has a probe at that place, whosever it is and whichever process the other
 * was for (handler_chain() in kernel/events/uprobes.c asks no filter before
 * prepare_uretprobe()): a replay would know nothing of that. So a recording for replay keeps
 * away from where flight recorders wait.
 */
static void choose_sites(const char *path, int fd, uint32_t file,
			 const uint64_t entries[CAP_HEAP_FNS], bool in_flight,
			 struct chosen *c)
{
	for (int fn = 0; fn < CAP_HEAP_FNS; fn++) {
		uint8_t code[CODE_BYTES];
		ssize_t size = entries[fn] ? pread(fd, code, sizeof(code), entries[fn]) :
					     0;
		struct ptc_site site;
		uint64_t done;

		if (size <= 0)
			continue;
		site = ptc_site_choose(code, size, n_args[fn], 0);
		done = site.is_above_return ? site.offset : 0;
		if (!in_flight && fn != CAP_HEAP_FREE)
			site = ptc_site_choose(code, size, n_args[fn], done + 1);
		c->sites[c->n] = (struct cap_heap_site){
			.fn = fn,
			.file = file,
			.entry_offset = entries[fn],
			.file_offset = entries[fn] + site.offset,
		};
		if (fn != CAP_HEAP_FREE) {
			c->done[c->n_done] = c->sites[c->n];
			c->done[c->n_done++].file_offset = entries[fn] + done;
		}
		c->n++;
		log_info("probe %s at %s+0x%llx (entry+%u, %s: %s)", cap_heap_name(fn),
			 basename(path), (unsigned long long)(entries[fn] + site.offset),
			 site.offset, site.mnemonic,
			 site.is_emulated ? "emulated" : "single-stepped");
	}
}

static void place_probes(struct ptc_probes *x, const char *path, const struct chosen *c)
{
	struct ptc_bpf *b = x->all->bpf;
	_cleanup_err_ struct err *err =
		ptc_bpf_probe(b, x->tracee->pid, path, c->sites, c->n);

	// A replay knows the results by itself.
	if (!err && x->all->in_flight && c->n_done)
		err = ptc_bpf_probe_done(b, x->tracee->pid, path, c->done, c->n_done);
	if (err) {
		if (x->all->in_flight)
			log_warn("%s", err->message);
		else
			ptc_log_gap(x->log, x->tracee->pid, "%s", err->message);
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		struct cap_heap_site *slot = vec_push(&x->heap->sites);
		char **name = slot ? vec_push(&x->heap->paths) : NULL;

		if (name)
			*name = strdup(path);
		if (!name || !*name) {
			x->heap->sites.size = x->heap->paths.size = i;
			return;
		}
		*slot = c->sites[i];
	}
}

/** A file whose malloc the program will use? */
static bool is_wanted(Elf *elf, const char *path, bool is_exe,
		      uint64_t entries[CAP_HEAP_FNS])
{
	const char *name = basename(path);

	if (!is_exe && strncmp(name, "libc.so", 7) && strncmp(name, "libc-2.", 7))
		return false;
	find_entries(elf, is_exe && is_static(elf) ? SHT_SYMTAB : SHT_DYNSYM, entries);
	return true;
}

void ptc_heap_mapped(struct ptc_probes *x, const char *path, uint32_t file, bool is_exe)
{
	uint64_t entries[CAP_HEAP_FNS] = {};
	_cleanup_(ptc_elf_endp) Elf *elf = NULL;
	_cleanup_close_ int fd = -1;
	struct chosen c = {};

	if (!x->all->wants_heap)
		return;
	if (!x->heap)
		x->heap = calloc(1, sizeof(*x->heap));
	for (size_t i = 0; x->heap && i < x->heap->sites.size; i++)
		if (x->heap->sites.data[i].file == file &&
		    (file || !strcmp(x->heap->paths.data[i], path)))
			return; // Another segment of a file we know.
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (!elf || !x->heap || !is_wanted(elf, path, is_exe, entries))
		return;
	choose_sites(path, fd, file, entries, x->all->in_flight, &c);
	if (c.n)
		place_probes(x, path, &c);
}
