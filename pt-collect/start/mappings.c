// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The memory part of a start state. What is saved is what the kernel has pages of and no
 * kept file has: at an exec that is the stack and little else, of a process that ran for
 * long what it touched. A mapping with untouched parts between becomes several in the
 * core, so that a reservation of terabytes costs nothing.
 */
#define LOG_ROOM "record"
#include <fcntl.h>
#include <string.h>

#include "pt-collect/inputs/files.h"
#include "pt-collect/log/private.h"
#include "pt-collect/start/start.h"
#include "pt-collect/tracee/tracee.h"

typedef VEC(struct cap_mapping) cap_mappings;

static struct err *add_piece(cap_mappings *v, const struct ptc_map *m, uint32_t file,
			     uint64_t start, uint64_t end, uint64_t saved)
{
	struct cap_mapping *c = start < end ? vec_push(v) : NULL;

	if (start >= end)
		return NULL;
	if (!c)
		return &err_nomem;
	*c = (struct cap_mapping){
		.start = start,
		.end = end,
		.prot = m->prot,
		.file = file,
		.file_offset = m->offset + (start - m->start),
		.name = strdup(m->name),
		.core_bytes = saved,
		.is_stack = !strcmp(m->name, "[stack]"),
		.is_vdso = !strcmp(m->name, "[vdso]"),
		.is_heap = !strcmp(m->name, "[heap]"),
	};
	return c->name ? NULL : &err_nomem;
}

/** Of an anonymous mapping the zeros behind what is saved belong to the same piece. */
static struct err *take_mapping(struct ptc_process *p, int pagemap,
				const struct ptc_map *m, cap_mappings *v)
{
	uint64_t at = m->start;
	uint32_t file = 0;
	struct err *err = NULL;
	struct ptc_ranges saved = {};

	if (ptc_private_omits(&p->left_out, m->name, p->tracee.pid, &p->log))
		return add_piece(v, m, 0, m->start, m->end, 0);
	if (m->name[0] == '/' && !ptc_is_shared_memory(m))
		file = ptc_files_keep(p, m);
	if (!ptc_pages_find(&p->tracee, pagemap, m, file, &saved))
		err = &err_nomem;
	for (size_t i = 0; !err && i < saved.list.size; i++) {
		const struct ptc_range *r = &saved.list.data[i];
		uint64_t end = file		       ? r->end :
			       i + 1 < saved.list.size ? saved.list.data[i + 1].start :
							 m->end;

		err = add_piece(v, m, file, at, r->start, 0);
		if (!err)
			err = add_piece(v, m, file, r->start, end, r->end - r->start);
		at = end;
	}
	if (!err)
		err = add_piece(v, m, file, at, m->end, 0);
	vec_deinit(&saved.list);
	return err;
}

struct err *ptc_take_mappings(struct ptc_process *p, const struct ptc_maps *maps,
			      struct cap_core *core)
{
	_cleanup_close_ int pagemap = -1;
	cap_mappings v = {};
	struct err *err = ptc_private_find(&p->left_out, &p->tracee, &p->log);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", p->tracee.pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; !err && i < maps->list.size; i++)
		// In the kernel's half: no process can map it, and no core holds it.
		if (!(maps->list.data[i]->start >> 63))
			err = take_mapping(p, pagemap, maps->list.data[i], &v);
	core->mappings = v.data;
	core->n_mappings = v.size;
	return err;
}
