// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which code is foreign, whatever its functions are called: the modules that ask the system
 * for memory are what the program gets it from, not a part of the program.
 */
#include "heapgraph/hg_infer_int.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct mapped {
	uint64_t start, end;
	uint32_t file; ///< 0: none that was kept
};

struct border {
	const struct cap_info *info;
	struct hg_infer *f;
	VEC(struct mapped) maps; ///< a later one hides those before it
};

static struct err *add_map(struct border *b, uint64_t start, uint64_t size, uint32_t file)
{
	return vec_add(&b->maps, (struct mapped){ start, start + size, file });
}

// The code at rip is foreign, with its module; but the program's own file never is.
static struct err *add_foreign(struct border *b, uint64_t rip)
{
	const char *path = NULL, **slot;

	for (size_t i = b->maps.size; i && !path; i--) {
		const struct mapped *m = &b->maps.data[i - 1];

		if (rip < m->start || rip >= m->end)
			continue;
		if (!m->file)
			return NULL;
		path = b->info->files[m->file - 1].path;
	}
	if (!path || (b->info->exe && !strcmp(path, b->info->exe)))
		return NULL;
	for (size_t i = 0; i < b->f->foreign.size; i++)
		if (!strcmp(b->f->foreign.data[i], path))
			return NULL;
	slot = vec_push(&b->f->foreign);
	if (!slot)
		return &err_nomem;
	*slot = path;
	return NULL;
}

static struct err *on_event(void *ctx, const struct cap_event *ev)
{
	const uint64_t *gpr = ev->regs.gpr;
	struct border *b = ctx;
	struct err *err = NULL;

	if (ev->kind != CAP_EV_SYSCALL || (ev->ret < 0 && ev->ret > -4096))
		return NULL;
	if (gpr[CAP_RAX] == SYS_brk)
		return add_foreign(b, ev->regs.rip - 1);
	if (gpr[CAP_RAX] != SYS_mmap)
		return NULL;
	if ((gpr[CAP_R10] & (MAP_ANONYMOUS | MAP_FIXED)) == MAP_ANONYMOUS)
		err = add_foreign(b, ev->regs.rip - 1);
	return err ? err : add_map(b, ev->ret, gpr[CAP_RSI], ev->file);
}

struct err *hg_infer_find_border(struct hg_infer *f, const struct capture *c)
{
	struct border b = { .info = capture_info(c), .f = f };
	struct cap_core *core = NULL;
	struct err *err = cap_core_open(c, &core);

	for (size_t i = 0; !err && i < core->n_mappings; i++)
		err = add_map(&b, core->mappings[i].start,
			      core->mappings[i].end - core->mappings[i].start,
			      core->mappings[i].file);
	if (!err)
		err = cap_events_readable(c, on_event, &b);
	cap_core_close(core);
	vec_deinit(&b.maps);
	return err;
}
