// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "record"
#include "pt-collect/pt/probes.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/tracee/tracee.h"

/* ---- the kernel's page ------------------------------------------------------------------- */

static uint64_t find_page(const struct ptc_maps *maps)
{
	const struct ptc_map *m = ptc_maps_find(maps, "[uprobes]");

	return m ? m->start : 0;
}

void ptc_pt_probes_note(struct ptc_pt_process *p)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = NULL;

	if (!p->pt || p->probe_page)
		return;
	err = ptc_maps_read(p->tracee->pid, &maps);
	if (!err)
		p->probe_page = find_page(&maps);
}

/** Its end is probed, so that the kernel shows us how functions return then. */
__attribute__((noinline, noclone)) static void come_back(void)
{
	__asm__ volatile("" : : : "memory");
}

/** Have the kernel give us such a page, too. @return whether the probe is placed. */
static bool probe_myself(struct ptc_bpf *b, const struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];
		uint64_t at = (uintptr_t)come_back - m->start;
		struct cap_heap_site site = { .file_offset = m->offset + at };
		_cleanup_err_ struct err *err = NULL;

		if ((uintptr_t)come_back < m->start || (uintptr_t)come_back >= m->end)
			continue;
		err = ptc_bpf_probe_done(b, getpid(), m->name, &site, 1);
		if (err)
			log_info("how probed functions return is not known: %s",
				 err->message);
		return !err;
	}
	return false;
}

/** The kernel reads it for us: no debugger's way leads there. */
static size_t read_page(uint64_t page, uint8_t *to, size_t bytes)
{
	ssize_t n = -1;
	int fds[2];

	if (!page || pipe2(fds, O_CLOEXEC))
		return 0;
	if (write(fds[1], (const void *)page, bytes) == (ssize_t)bytes)
		n = read(fds[0], to, bytes);
	close(fds[0]);
	close(fds[1]);
	return n < 0 ? 0 : n;
}

/** What lies at the beginning of such a page is the same in all processes. */
static void read_back(struct ptc_pt_session *s)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps before = {}, after = {};
	_cleanup_err_ struct err *err = ptc_maps_read(getpid(), &before);

	s->has_back = true;
	if (err || !probe_myself(s->bpf, &before))
		return;
	come_back();
	err = ptc_maps_read(getpid(), &after);
	if (!err)
		s->n_back = read_page(find_page(&after), s->back, sizeof(s->back));
	ptc_bpf_unprobe(s->bpf, getpid());
}

/* ---- breakpoints ---------------------------------------------------------------------------- */

struct telling {
	const struct cap_file *files;
	size_t n_files;
	struct cap_pt *pt;
};

/** @return what there is of file @p path; NULL: it was not kept, or memory is out. */
static struct cap_breakpoints *breakpoints_of(struct telling *t, const char *path)
{
	struct cap_breakpoints *b;
	uint32_t file = 0;

	for (size_t i = 0; i < t->n_files && !file; i++)
		if (!strcmp(t->files[i].path, path))
			file = i + 1;
	for (size_t i = 0; i < t->pt->n_breakpoints; i++)
		if (t->pt->breakpoints[i].file == file)
			return &t->pt->breakpoints[i];
	b = file ? realloc(t->pt->breakpoints, (t->pt->n_breakpoints + 1) * sizeof(*b)) :
		   NULL;
	if (!b)
		return NULL;
	t->pt->breakpoints = b;
	b += t->pt->n_breakpoints++;
	*b = (struct cap_breakpoints){ .file = file };
	return b;
}

static void on_placed(void *ctx, const char *path, const uint64_t *offsets, size_t n)
{
	struct cap_breakpoints *b = breakpoints_of(ctx, path);
	uint64_t *all = b ? realloc(b->offsets, (b->n + n) * sizeof(*all)) : NULL;

	if (!all)
		return;
	memcpy(all + b->n, offsets, n * sizeof(*all));
	b->offsets = all;
	b->n += n;
}

void ptc_pt_probes_tell(struct ptc_pt_process *p, struct cap_pt *ret)
{
	struct telling t = { .pt = ret };

	ptc_pt_probes_note(p);
	t.files = cap_writer_files(p->log->writer, &t.n_files);
	ptc_bpf_placed(p->all->bpf, p->tracee->pid, on_placed, &t);
	ret->probe_page = p->probe_page;
	if (!ret->n_breakpoints || !p->probe_page)
		return;
	if (!p->all->has_back)
		read_back(p->all);
	memcpy(ret->back, p->all->back, p->all->n_back);
	ret->n_back = p->all->n_back;
}
