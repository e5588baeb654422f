// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "record"
#include "pt-collect/probes/unprobed.h"

#include <string.h>
#include <sys/mman.h>

#define NOP5 "\x0f\x1f\x44\x00\x00" ///< some kernels make a call of it
#define CALL 0xe8

static const struct ptc_map *find_code(const struct ptc_maps *maps, uint64_t addr)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];

		if (addr >= m->start && addr < m->end)
			return m->name[0] == '/' && m->prot & PROT_EXEC &&
					       !(m->prot & PROT_WRITE) ?
				       m :
				       NULL;
	}
	return NULL;
}

struct err *ptc_unprobed_read(void *unprobed, uint64_t addr, void *buf, size_t size)
{
	const struct ptc_unprobed *u = unprobed;
	const struct ptc_map *m = find_code(u->maps, addr);
	_cleanup_free_ uint8_t *file = m ? malloc(size) : NULL;
	_cleanup_close_ int fd = file ? ptc_map_open(u->tracee->pid, m) : -1;
	ssize_t n = fd < 0 ? 0 : pread(fd, file, size, m->offset + (addr - m->start));
	uint8_t *code = buf;

	ptc_private_read(u->left_out, u->tracee, addr, buf, size);
	// Where the file has something else there, that is what the program has.
	for (ssize_t i = 0; i < n; i++) {
		if (code[i] == PTC_INT3)
			code[i] = file[i];
		else if (code[i] == CALL && n - i >= 5 && !memcmp(file + i, NOP5, 5))
			memcpy(code + i, file + i, 5);
	}
	return NULL;
}

bool ptc_is_probed(const struct ptc_tracee *t, uint64_t addr)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct ptc_unprobed code = { t, &(struct ptc_left_out){}, &maps };
	_cleanup_err_ struct err *err = ptc_maps_read(t->pid, &maps);
	uint8_t byte;

	// Made code has no probes, and may be gone by now.
	if (err || !find_code(&maps, addr))
		return false;
	err = ptc_unprobed_read(&code, addr, &byte, 1);
	return !err && byte != PTC_INT3;
}
