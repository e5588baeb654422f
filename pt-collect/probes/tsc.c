// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A process executes rdtsc so often that trapping takes most of its time: it is probed instead. What
 * is behind an rdtsc is: there its result stands in registers, and nothing has to stop for that
 * it be read. Where that cannot be probed, or a branch leads there, the rdtsc is, as where it
 * cannot trap (chance.c).
 *
 * A trap finds each rdtsc, and a probe only those that were looked for. So they are looked for in
 * memory, byte by byte, and all code has to be of files, which tell where instructions begin.
 * Left out is the kernel's own: the vDSO has rdtscs, and is hidden.
 */
#define LOG_ROOM "record"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pt-collect/probes/chance.h"
#include "pt-collect/probes/unprobed.h"

#define PIECE (1u << 20)

/** Looking through one mapping. */
struct search {
	const struct ptc_map *map;
	int fd; ///< its file
	struct ptc_code *code;
	struct ptc_chance_places places;
};

static void search_deinit(struct search *s)
{
	ptc_chance_places_deinit(&s->places);
	ptc_code_closep(&s->code);
	if (s->fd >= 0)
		close(s->fd);
}

/** Of a file, and it stays as it is. */
static bool is_fixed(const struct ptc_map *m)
{
	return m->name[0] == '/' && !m->is_shared && !(m->prot & PROT_WRITE);
}

/** The vDSO, its older page, and that of probes. */
static bool is_kernels(const struct ptc_map *m)
{
	return !strncmp(m->name, "[v", 2) || !strcmp(m->name, "[uprobes]");
}

/** Memory holds @p insn, of @p size bytes, at file offset @p at. @return whether it is known what that is. */
static bool take(struct search *s, uint64_t at, const char *insn, size_t size)
{
	struct ptc_code_beside beside = {};
	uint64_t start;
	char file[3];

	if (pread(s->fd, file, size, at) != (ssize_t)size || memcmp(file, insn, size))
		return false;
	start = ptc_code_find(s->code, at, &beside);
	if (start == PTC_CODE_NONE)
		return true;
	if (start != at)
		return false;
	ptc_chance_places_add_tsc(&s->places, at, size == 3, beside.behind);
	return true;
}

static bool search_piece(struct search *s, const uint8_t *bytes, size_t n,
			 uint64_t offset, const char *insn, size_t size)
{
	for (const uint8_t *at = bytes; (at = memmem(at, n - (at - bytes), insn, size));
	     at++)
		if (!take(s, offset + (at - bytes), insn, size))
			return false;
	return true;
}

static bool search_mapping(const struct ptc_probes *x, const struct ptc_maps *maps,
			   struct search *s)
{
	// Probes stand before some, also those of a parent's.
	struct ptc_unprobed memory = { x->tracee, &(struct ptc_left_out){}, maps };
	_cleanup_free_ uint8_t *bytes = malloc(PIECE);
	const struct ptc_map *m = s->map;
	_cleanup_err_ struct err *err = NULL;
	size_t n;

	s->fd = ptc_map_open(x->tracee->pid, m);
	err = s->fd >= 0 ? ptc_code_open(s->fd, &s->code) : NULL;
	if (!bytes || !s->code)
		return false;
	// The last two bytes of a piece are the next one's too.
	for (uint64_t at = m->start; at + 2 < m->end; at += n - 2) {
		uint64_t offset = m->offset + (at - m->start);

		n = m->end - at < PIECE ? m->end - at : PIECE;
		err = ptc_unprobed_read(&memory, at, bytes, n);
		if (err || !search_piece(s, bytes, n, offset, "\x0f\x31", 2) ||
		    !search_piece(s, bytes, n, offset, "\x0f\x01\xf9", 3))
			return false;
	}
	return true;
}

static bool has_breakpoint(const struct ptc_probes *x, const struct ptc_map *m,
			   uint64_t at)
{
	uint8_t byte = 0;

	ptc_read_some(x->tracee, m->start + (at - m->offset), &byte, 1);
	return byte == PTC_INT3;
}

/** Probe what is not probed yet. A probe is the file's, wherever that is mapped, and outlives an exec; but another
 * file may have the name by now. */
static bool probe_mapping(struct ptc_probes *x, const struct search *s)
{
	_cleanup_(ptc_chance_places_deinit) struct ptc_chance_places places = {};

	for (size_t i = 0; i < s->places.at.size; i++) {
		uint64_t at = s->places.at.data[i], insn = s->places.insn.data[i];

		if (ptc_chance_sites_add(&x->tsc_sites, s->map->name, at, insn) ||
		    !has_breakpoint(x, s->map, at))
			ptc_chance_places_add(&places, at, insn);
	}
	return ptc_chance_probe(x, s->map->name, &places);
}

bool ptc_tsc_probe(struct ptc_probes *x, const struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];
		_cleanup_(search_deinit) struct search s = { .map = m, .fd = -1 };

		if (!(m->prot & PROT_EXEC) || is_kernels(m))
			continue;
		if (!is_fixed(m) || !search_mapping(x, maps, &s) ||
		    !probe_mapping(x, &s)) {
			log_info("rdtsc may be where nobody looks: in %s at %#lx",
				 m->name[0] ? m->name : "memory", m->start);
			return false;
		}
	}
	return true;
}
