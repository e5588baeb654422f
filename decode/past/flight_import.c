// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What others recorded, as a capture: perf.data of `perf record -e intel_pt//u', and the core that
 * the kernel, gcore or systemd-coredump wrote of the end. There are no allocator calls.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "decode/past/flight.h"
#include "decode/pt/flow.h"

enum { PAGE = 4096 };

struct import {
	struct dec_pt_flow *flow;
	struct cap_core *core;
	struct cap_writer *writer;
	struct cap_mapping
		*mappings; ///< those of the core that are known, with their files
	size_t n_mappings;
};

static uint64_t import_auxv(const struct import *m, uint64_t type)
{
	for (size_t i = 0; i < m->core->n_auxv; i++)
		if (m->core->auxv[2 * i] == type)
			return m->core->auxv[2 * i + 1];
	return 0;
}

/* The beginning of an ELF file is in a core, as a rule: @return whether @p fd's is another. */
static bool is_other_file(const struct import *m, const struct cap_mapping *map, int fd)
{
	uint8_t then[PAGE], now[PAGE];
	struct err *err;

	if (map->file_offset || map->core_bytes < PAGE)
		return false;
	err = cap_core_read(NULL, m->core, map->start, then, PAGE);
	err_destroy(err);
	return !err && (pread(fd, now, PAGE, 0) != PAGE || memcmp(then, now, PAGE) != 0);
}

/* Keep @p map's file, if it is known to be the one, or else only what the core holds. */
static struct err *import_mapping(struct import *m, struct cap_mapping map)
{
	int fd = map.name[0] == '/' ? dec_pt_flow_file(m->flow, map.name) : -1;
	uint64_t vdso = import_auxv(m, AT_SYSINFO_EHDR);
	struct err *err = NULL;

	if (fd >= 0 && is_other_file(m, &map, fd))
		return err_new(ERR_FORMAT,
			       "'%s' is another file than the one in the core", map.name);
	if (fd >= 0)
		err = cap_writer_file(m->writer, fd, map.name, &map.file);
	else
		map.end = map.start + (map.core_bytes & -(uint64_t)PAGE);
	map.is_vdso = vdso && map.start == vdso;
	map.is_stack = m->core->regs.gpr[CAP_RSP] >= map.start &&
		       m->core->regs.gpr[CAP_RSP] < map.end;
	if (!err && map.end > map.start)
		m->mappings[m->n_mappings++] = map;
	return err;
}

static struct err *import_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct import *m = ctx;

	return cap_core_read(NULL, m->core, addr, buf, size);
}

static struct err *import_core(struct import *m)
{
	struct cap_core to = *m->core;
	struct err *err = NULL;

	m->mappings = calloc(to.n_mappings + 1, sizeof(*m->mappings));
	if (!m->mappings)
		return &err_nomem;
	for (size_t i = 0; !err && i < to.n_mappings; i++)
		err = import_mapping(m, to.mappings[i]);
	to.mappings = m->mappings;
	to.n_mappings = m->n_mappings;
	return err ? err : cap_writer_core(m->writer, &to, import_read, m);
}

static struct err *import_packets(struct import *m, const char *path)
{
	_cleanup_(new_file_deinit) struct new_file file = {};
	_cleanup_close_ int fd = -1;
	static uint8_t bytes[1 << 16];
	struct err *err = file_open_input(AT_FDCWD, path, path, UINT64_MAX, &fd, NULL);
	ssize_t n = 1;

	if (!err)
		err = new_file_open_in(&file, cap_writer_dir_fd(m->writer), "perf.data",
				       "perf.data");
	while (!err && n > 0) {
		n = read(fd, bytes, sizeof(bytes));
		if (n < 0)
			err = err_errno("cannot read '%s'", path);
		else
			fwrite(bytes, 1, n, file.stream);
	}
	return err ?: new_file_commit(&file);
}

static struct err *import_finish(struct import *m)
{
	const struct dec_pt_thread *thread = dec_pt_flow_thread(m->flow, m->core->tid);
	const struct cap_mapping *exe =
		cap_core_mapping(m->core, import_auxv(m, AT_ENTRY));
	char *argv[] = { exe ? exe->name : (char *)"?", NULL };
	int32_t signo = 0;
	struct cap_info info = { .mode = CAP_MODE_FLIGHT };
	struct err *err;
	uint64_t bytes;

	if (m->core->siginfo)
		memcpy(&signo, m->core->siginfo, sizeof(signo));
	info.argv = argv;
	info.exe = argv[0];
	info.cwd = (char *)"?";
	info.pid = thread ? thread->pid : m->core->tid;
	info.end = CAP_END_SIGNAL;
	info.end_value = signo;
	info.end_core = (struct cap_end_core){ .reason = CAP_END_CORE_CRASH,
					       .tid = m->core->tid,
					       .signo = signo };
	info.pt = (struct cap_pt){ .is_wanted = true,
				   .is_recorded = true,
				   .bytes = dec_pt_flow_info(m->flow)->pt_bytes };
	err = cap_writer_finish(m->writer, &info, &bytes);
	for (size_t i = 0; i < info.n_missing; i++)
		free(info.missing[i]);
	free(info.missing);
	return err;
}

struct err *dec_flight_import(const char *perf, const char *core, const char *symfs,
			      const char *dir)
{
	struct import m = {};
	struct err *err = dec_pt_flow_open(perf, symfs, &m.flow);

	if (!err)
		err = cap_core_open_foreign(core, &m.core);
	if (!err)
		err = cap_writer_create(dir, &m.writer);
	if (!err)
		err = import_core(&m);
	if (!err)
		err = import_packets(&m, perf);
	if (!err)
		err = import_finish(&m);
	if (err && m.writer)
		cap_writer_remove(take_ptr(&m.writer));
	cap_writer_destroy(m.writer);
	free(m.mappings);
	cap_core_close(m.core);
	dec_pt_flow_close(m.flow);
	return err;
}
