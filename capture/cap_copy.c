// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "capture"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/cap_format.h"

struct err *cap_copy_files(struct cap_copy *c)
{
	const struct cap_info *info = capture_info(c->from);
	struct err *err = NULL;

	c->file = calloc(info->n_files + 1, sizeof(*c->file));
	if (!c->file)
		return &err_nomem;
	for (size_t i = 0; i < info->n_files && !err; i++) {
		int fd;

		if (!info->files[i].stored)
			continue;
		err = capture_file_open(c->from, i + 1, &fd);
		if (err)
			break;
		err = cap_writer_file(c->to, fd, info->files[i].path, &c->file[i + 1]);
		close(fd);
	}
	return err;
}

/** A core, and whose. */
struct reading {
	const struct capture *from;
	const struct cap_core *core;
};

static struct err *copy_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct reading *r = ctx;

	return cap_core_read(r->from, r->core, addr, buf, size);
}

struct err *cap_copy_core(struct cap_copy *c, const struct cap_core *core)
{
	struct reading r = { c->from, core };
	struct cap_core to = *core;
	struct err *err;

	to.mappings = malloc((to.n_mappings + 1) * sizeof(*to.mappings));
	if (!to.mappings)
		return &err_nomem;
	for (size_t i = 0; i < to.n_mappings; i++) {
		to.mappings[i] = core->mappings[i];
		to.mappings[i].file = c->file[core->mappings[i].file];
	}
	to.exe = capture_info(c->from)->exe; // a core that was read has none
	err = cap_writer_core(c->to, &to, copy_read, &r);
	free(to.mappings);
	return err;
}

struct err *cap_copy_finish(struct cap_copy *c, struct cap_info *info)
{
	const struct cap_info *old = capture_info(c->from);
	_cleanup_free_ struct cap_heap_site *sites =
		calloc(old->n_heap_sites + 1, sizeof(*sites));
	_cleanup_free_ struct cap_store_site *stores =
		calloc(old->n_store_sites + 1, sizeof(*stores));
	struct err *err;
	uint64_t bytes;

	if (!sites || !stores)
		return &err_nomem;
	for (size_t i = 0; i < old->n_heap_sites; i++) {
		sites[i] = old->heap_sites[i];
		sites[i].file = c->file[sites[i].file];
	}
	for (size_t i = 0; i < old->n_store_sites; i++) {
		stores[i] = old->store_sites[i];
		stores[i].file = c->file[stores[i].file];
	}
	info->heap_sites = sites;
	info->store_sites = stores;
	info->missing = NULL;
	info->n_missing = 0;
	info->processes = NULL;
	info->n_processes = 0;
	info->is_child = false;
	err = cap_writer_finish(c->to, info, &bytes);
	for (size_t i = 0; i < info->n_missing; i++)
		free(info->missing[i]);
	free(info->missing);
	return err;
}
