// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The build-id of an ELF file, straight from its program headers: section headers may be
 * stripped, and a hostile file must not reach a library that trusts it.
 */
#define LOG_ROOM "capture"
#include <elf.h>
#include <string.h>

#include "capture/cap_elf.h"
#include "capture/cap_format.h"

#define NOTES_MAX (1u << 16) ///< bytes of one PT_NOTE that we look at
#define BUILD_ID_MAX 64	     ///< bytes; SHA-1 has 20

static char *to_hex(const uint8_t *bytes, size_t n)
{
	char *hex = malloc(2 * n + 1);

	if (hex)
		text_hex(hex, bytes, n);
	return hex;
}

/** Find NT_GNU_BUILD_ID among @p size bytes of notes. */
static char *find_build_id(const uint8_t *notes, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name = at + sizeof(n), desc;

		memcpy(&n, notes + at, sizeof(n));
		if (n.n_namesz > size || n.n_descsz > size)
			return NULL;
		desc = name + ((n.n_namesz + 3) & ~3u);
		if (desc > size || size - desc < n.n_descsz)
			return NULL;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && n.n_descsz &&
		    n.n_descsz <= BUILD_ID_MAX)
			return to_hex(notes + desc, n.n_descsz);
		at = desc + ((n.n_descsz + 3) & ~3u);
		if (at > size)
			return NULL;
	}
	return NULL;
}

static char *build_id_in(int fd, const Elf64_Phdr *ph)
{
	size_t size = ph->p_filesz < NOTES_MAX ? ph->p_filesz : NOTES_MAX;
	_cleanup_free_ uint8_t *notes = malloc(size + 1);

	if (!notes || pread(fd, notes, size, ph->p_offset) != (ssize_t)size)
		return NULL;
	return find_build_id(notes, size);
}

char *capture_build_id(int fd)
{
	Elf64_Ehdr eh;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		char *id;

		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) != sizeof(ph))
			return NULL;
		id = ph.p_type == PT_NOTE ? build_id_in(fd, &ph) : NULL;
		if (id)
			return id;
	}
	return NULL;
}

struct err *cap_hash_file(int fd, uint64_t size, uint64_t *ret)
{
	_cleanup_free_ uint64_t *buf = malloc(1 << 16);
	uint64_t hash = 0xcbf29ce484222325;

	if (!buf)
		return &err_nomem;
	for (uint64_t at = 0; at < size;) {
		size_t n = size - at < 1 << 16 ? size - at : 1 << 16;
		struct err *err = cap_read_at(fd, at, buf, n, "file");

		if (err)
			return err;
		memset((uint8_t *)buf + n, 0, cap_pad8(n) - n);
		for (size_t i = 0; i < cap_pad8(n) / 8; i++)
			hash = (hash ^ buf[i]) * 0x100000001b3;
		at += n;
	}
	*ret = hash;
	return NULL;
}
