// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * tool_foreign CAPTURE CORE: write the capture's end as the kernel would have dumped it: no note
 * of ours, NT_FILE, anonymous memory whole, of files the first page and what was changed.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "capture/cap_elf.h"
#include "capture/capture.h"
#include "tests/unit.h"

enum { PAGE = 4096 };

static struct capture *capture;
static struct cap_core *core;

/* The notes of end.core but for ours. */
static void put_notes(FILE *out)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph = {};

	assert_int_equal(pread(core->fd, &eh, sizeof(eh), 0), sizeof(eh));
	for (int i = 0; i < eh.e_phnum && ph.p_type != PT_NOTE; i++)
		assert_true(pread(core->fd, &ph, sizeof(ph),
				  eh.e_phoff + i * sizeof(ph)) > 0);
	for (uint64_t at = 0; at < ph.p_filesz;) {
		uint8_t bytes[1 << 16];
		Elf64_Nhdr n;
		size_t size;

		assert_true(pread(core->fd, &n, sizeof(n), ph.p_offset + at) > 0);
		size = sizeof(n) + ((n.n_namesz + 3) & ~3u) + ((n.n_descsz + 3) & ~3u);
		assert_true(size <= sizeof(bytes));
		assert_true(pread(core->fd, bytes, size, ph.p_offset + at) > 0);
		if (strcmp((char *)bytes + sizeof(n), "FAULTLINE") != 0)
			fwrite(bytes, 1, size, out);
		at += size;
	}
}

static void put_files(FILE *out)
{
	Elf64_Nhdr head = { .n_namesz = 5, .n_type = NT_FILE };
	uint64_t counts[2] = { 0, PAGE };
	char *desc = NULL, *names = NULL;
	size_t n_desc, n_names;
	FILE *d = open_memstream(&desc, &n_desc), *s = open_memstream(&names, &n_names);

	fwrite(counts, sizeof(counts), 1, d);
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];
		uint64_t entry[3] = { m->start, m->end, m->file_offset / PAGE };

		if (!m->file)
			continue;
		counts[0]++;
		fwrite(entry, sizeof(entry), 1, d);
		fwrite(m->name, strlen(m->name) + 1, 1, s);
	}
	fclose(s);
	fwrite(names, 1, n_names, d);
	fclose(d);
	memcpy(desc, counts, sizeof(counts));
	head.n_descsz = n_desc;
	fwrite(&head, sizeof(head), 1, out);
	fwrite("CORE\0\0\0", 8, 1, out);
	fwrite(desc, 1, n_desc, out);
	fwrite("\0\0\0", 1, -n_desc & 3, out);
	free(desc);
	free(names);
}

static uint64_t dumped(const struct cap_mapping *m)
{
	bool is_read = m->prot & PROT_READ;

	if (!m->file)
		return is_read && strcmp(m->name, "[vvar]") ? m->end - m->start : 0;
	return m->core_bytes ?: m->file_offset ? 0 : PAGE;
}

static void put_memory(FILE *out, const struct cap_mapping *m)
{
	uint64_t n = dumped(m);
	uint8_t bytes[PAGE];

	for (uint64_t at = 0; at < n; at += PAGE) {
		ok(cap_core_read(capture, core, m->start + at, bytes, PAGE));
		fwrite(bytes, 1, PAGE, out);
	}
}

int main(int argc, char **argv)
{
	Elf64_Ehdr eh = { .e_type = ET_CORE,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Phdr ph = { .p_type = PT_NOTE };
	char *notes = NULL;
	size_t n_notes;
	uint64_t at;
	FILE *f = open_memstream(&notes, &n_notes);

	if (argc != 3)
		return 2;
	ok(capture_open(argv[1], &capture));
	ok(cap_end_core_open(capture, &core));
	put_notes(f);
	put_files(f);
	fclose(f);
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	eh.e_phnum = core->n_mappings + 1;
	f = fopen(argv[2], "w");
	assert_non_null(f);
	fwrite(&eh, sizeof(eh), 1, f);
	at = sizeof(eh) + eh.e_phnum * sizeof(ph);
	ph.p_offset = at;
	ph.p_filesz = n_notes;
	fwrite(&ph, sizeof(ph), 1, f);
	at = (at + n_notes + PAGE - 1) & -(uint64_t)PAGE;
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		ph = (Elf64_Phdr){ .p_type = PT_LOAD,
				   .p_flags = (m->prot & PROT_READ ? PF_R : 0) |
					      (m->prot & PROT_WRITE ? PF_W : 0) |
					      (m->prot & PROT_EXEC ? PF_X : 0),
				   .p_vaddr = m->start,
				   .p_memsz = m->end - m->start,
				   .p_filesz = dumped(m),
				   .p_offset = at,
				   .p_align = PAGE };
		fwrite(&ph, sizeof(ph), 1, f);
		at += ph.p_filesz;
	}
	fwrite(notes, 1, n_notes, f);
	while (ftell(f) % PAGE)
		fputc(0, f);
	for (size_t i = 0; i < core->n_mappings; i++)
		put_memory(f, &core->mappings[i]);
	assert_int_equal(fclose(f), 0);
	free(notes);
	cap_core_close(core);
	capture_close(capture);
	return 0;
}
