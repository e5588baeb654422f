// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Files that the program maps. ELF files are kept whole: symbols and unwinding need them.
 * Of others the mapped bytes go into the mmap event, unless that is very much.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/probes/chance.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/probes/heap.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/log/private.h"
#include "pt-collect/inputs/table.h"

#define PAGE_UP(x) (((x) + 4095) & ~4095ull)
#define BYTES_MAX (64ull << 20) ///< a larger mapping of a data file keeps the file

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

uint32_t ptc_files_keep(struct ptc_process *p, const struct ptc_map *m)
{
	_cleanup_close_ int fd = ptc_map_open(p->tracee.pid, m);
	uint32_t file = 0;
	struct stat st;
	struct err *err;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	err = cap_writer_file(p->log.writer, fd, m->name, &file);
	if (err) {
		ptc_log_fail(&p->log, err);
		return 0;
	}
	return file;
}

struct err *ptc_files_keep_all(struct ptc_process *p)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = ptc_maps_read(p->tracee.pid, &maps);

	for (size_t i = 0; !err && i < maps.list.size; i++)
		if (maps.list.data[i]->name[0] == '/' &&
		    !ptc_is_shared_memory(maps.list.data[i]))
			ptc_files_keep(p, maps.list.data[i]);
	return err;
}

void ptc_files_probe(struct ptc_process *p, const struct ptc_maps *maps)
{
	if (!p->all->probing.wants_heap && !p->all->probing.stores->is_wanted)
		return;
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];
		uint32_t file = m->name[0] == '/' && m->prot & PROT_EXEC ?
					ptc_files_keep(p, m) :
					0;
		bool is_exe = !strcmp(m->name, p->tracee.exe);

		if (!file)
			continue;
		ptc_heap_mapped(&p->probes, m->name, file, is_exe);
		ptc_stores_mapped(&p->probes, m->name, file, is_exe);
	}
}

/** Was it opened for writing too? Then a shared mapping may change under us. */
static bool is_writable(pid_t pid, int fd)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[128];
	unsigned flags = 0;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "flags: %o", &flags) == 1)
			return (flags & O_ACCMODE) != O_RDONLY;
	return false;
}

/** Is it a file only by name? Then somebody else may well write it. */
static bool is_memory(const char *path)
{
	return !strncmp(path, "/dev/shm/", 9) || !strncmp(path, "/memfd:", 7);
}

/** The mapped bytes themselves, up to the end of the file. */
static void take_bytes(struct ptc_process *p, struct ptc_writes *w, uint64_t addr,
		       uint64_t size, struct cap_event *ev)
{
	if (!ptc_outputs_add(&p->tracee, w, addr, size))
		ev->flags |= CAP_SYS_PARTIAL;
}

/** The same of a large file, if little of it is not holes. @return whether that is all. */
static bool take_data(struct ptc_process *p, struct ptc_writes *w, int fd, uint64_t addr,
		      uint64_t offset, uint64_t size)
{
	uint64_t end = offset + size;

	for (uint64_t at = offset; at < end;) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			break;
		if (data < 0 || (uint64_t)data >= end)
			return true;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data || (uint64_t)hole > end)
			hole = end;
		if (w->data.size + (hole - data) > BYTES_MAX ||
		    !ptc_outputs_add(&p->tracee, w, addr + (data - offset), hole - data))
			break;
		at = hole;
		if (at == end)
			return true;
	}
	ptc_writes_clear(w);
	return false;
}

/** @p fd may be -1: mapped, but not for us to open. */
static void take_file(struct ptc_process *p, struct ptc_writes *w, int fd,
		      const struct stat *st, const char *path,
		      const struct rec_syscall *e, struct cap_event *ev)
{
	uint64_t size = PAGE_UP(e->regs.gpr[CAP_RSI]), offset = e->regs.gpr[CAP_R9];
	struct err *err;

	if (offset >= (uint64_t)st->st_size)
		return; // Nothing but pages that fault.
	if (size > st->st_size - offset)
		size = st->st_size - offset;
	if (fd < 0 || (!is_elf(fd) && size <= BYTES_MAX)) {
		take_bytes(p, w, e->ret, size, ev);
		return;
	}
	if (!is_elf(fd) && take_data(p, w, fd, e->ret, offset, size))
		return;
	err = cap_writer_file(p->log.writer, fd, path, &ev->file);
	if (err) {
		ptc_log_fail(&p->log, err);
		return;
	}
	ev->file_offset = offset;
	if (e->regs.gpr[CAP_RDX] & PROT_EXEC)
		ptc_chance_mapped(&p->probes, path, offset, size);
	ptc_heap_mapped(&p->probes, path, ev->file, false);
	if (e->regs.gpr[CAP_RDX] & PROT_EXEC)
		ptc_stores_mapped(&p->probes, path, ev->file, false);
}

/** shmat: all of the segment. */
static void segment_attached(struct ptc_process *p, struct ptc_thread *t,
			     const struct rec_syscall *e, struct cap_event *ev)
{
	uint64_t size, key;

	if (!ptc_shared_segment(p, e->ret, &size, &key)) {
		ev->flags |= CAP_SYS_PARTIAL;
		return;
	}
	ev->flags |= CAP_SYS_IDENTITY;
	ev->file_offset = key;
	take_bytes(p, &t->now, e->ret, size, ev);
	ptc_shared_mapped(p, key);
}

void ptc_files_mapped(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_syscall *e, struct cap_event *ev)
{
	uint64_t flags = e->regs.gpr[CAP_R10];
	int number = e->regs.gpr[CAP_R8];
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *path = NULL;
	char link[64];
	struct stat st;
	bool is_shared;

	if (e->nr == __NR_shmat) {
		segment_attached(p, t, e, ev);
		return;
	}
	snprintf(link, sizeof(link), "fd/%d", number);
	path = ptc_proc_link(p->tracee.pid, link); // as the program knows it
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", p->tracee.pid, number);
	if (!path || stat(link, &st)) {
		ev->flags |= CAP_SYS_PARTIAL;
		return;
	}
	is_shared = flags & MAP_SHARED && is_writable(p->tracee.pid, number);
	if (is_shared || (flags & MAP_SHARED && is_memory(path)))
		ptc_shared_mapped(p, ptc_shared_identity(&st));
	if (!S_ISREG(st.st_mode)) {
		// /dev/zero and memfd are memory; other devices need not be readable.
		take_bytes(p, &t->now, e->ret, PAGE_UP(e->regs.gpr[CAP_RSI]), ev);
		return;
	}
	if (ptc_private_omits(&p->left_out, path, p->tracee.pid, &p->log))
		return;
	fd = open(link, O_RDONLY | O_CLOEXEC);
	take_file(p, &t->now, fd, &st, path, e, ev);
	if (!ev->file) {
		ev->flags |= CAP_SYS_IDENTITY;
		ev->file_offset = ptc_shared_identity(&st);
	}
	if (!ev->file || is_shared)
		ptc_through_mapped(p, &st, e->flags & REC_WRITTEN_FILE, is_shared);
}
