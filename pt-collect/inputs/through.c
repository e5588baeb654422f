// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that changes through a file: what is written to a mapped file is seen in the mapping,
 * what is written to /proc/self/mem is memory. And changes of mappings of which a result does
 * not say enough (bpf/record_files.h tells which). What memory holds then goes into the event.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "pt-collect/inputs/files.h"
#include "pt-collect/inputs/others.h"
#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"

#define PAGE 4096ull
#define PARTS_MAX 1024 ///< of one call: the kernel's IOV_MAX
#define PAGE_UP(x) (((x) + PAGE - 1) & ~(PAGE - 1))
#define CHANGE_MAX \
	(64ull << 20) ///< bytes that one call may change, as far as we keep them

/** A change being looked at. */
struct change {
	struct ptc_process *p;
	struct ptc_writes *writes;
	const uint64_t *args; ///< six
	int64_t ret;
	const struct rec_syscall *call;
	struct ptc_thread *t;
	uint64_t left;	 ///< of CHANGE_MAX
	bool is_partial; ///< that was not enough
};

/** How large it has been: what is mapped behind its end may come to be there again. */
static struct ptc_sized *note_size(struct ptc_process *p, const struct stat *st)
{
	struct ptc_sized *f = vec_find(&p->sized, s, s->inode == st->st_ino);

	if (!f)
		f = vec_push(&p->sized);
	if (!f)
		return NULL;
	f->inode = st->st_ino;
	if ((uint64_t)st->st_size > f->most)
		f->most = st->st_size;
	return f;
}

/** What any process writes into files may be memory of another. */
static void watch_all(struct ptc_processes *all)
{
	if (!all->follows || all->has_shared_file)
		return;
	all->has_shared_file = true;
	for (size_t i = 0; i < all->list.size; i++)
		if (all->list.data[i]->log.is_recording)
			ptc_bpf_set_mapping(all->bpf, all->list.data[i]->tracee.pid,
					    true);
}

void ptc_through_mapped(struct ptc_process *p, const struct stat *st, bool is_written,
			bool is_shared)
{
	struct ptc_sized *f = note_size(p, st);

	ptc_bpf_set_mapping(p->all->bpf, p->tracee.pid, is_written);
	if (f)
		f->is_shared |= is_shared;
	if (is_shared)
		watch_all(p->all);
}

void ptc_through_inherit(struct ptc_process *p, const struct ptc_process *parent)
{
	for (size_t i = 0; i < parent->sized.size; i++)
		if (vec_add(&p->sized, parent->sized.data[i]))
			ptc_log_fail(&p->log, &err_nomem);
	if (p->all->has_shared_file)
		ptc_bpf_set_mapping(p->all->bpf, p->tracee.pid, true);
}

bool ptc_through_is_shared(const struct ptc_process *p, const struct ptc_map *m)
{
	const struct ptc_sized *f = vec_find(&p->sized, s, s->inode == m->inode);

	return m->is_shared && f && f->is_shared;
}

bool ptc_through_is_of(const struct ptc_map *m, uint64_t device, uint64_t inode)
{
	struct stat st;

	if (m->inode != inode || !strncmp(m->name, "/SYSV", 5))
		return false;
	if (makedev(m->major, m->minor) == device)
		return true;
	// Some filesystems (btrfs, overlayfs) have another device there than stat() tells.
	return strncmp(m->name, "/memfd:", 7) &&
	       (stat(m->name, &st) || st.st_ino != inode || st.st_dev == device);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** What is at @p addr now; zeros where a file has ended: so it is should it grow again. */
static void add_memory(struct change *c, uint64_t addr, uint64_t size)
{
	static const uint8_t zeros[16 * PAGE];

	if (size > c->left) {
		c->is_partial = true;
		size = c->left;
	}
	c->left -= size;
	while (size) {
		size_t n_before = c->writes->list.size;
		uint64_t n = 0;

		ptc_outputs_add(&c->p->tracee, c->writes, addr, size);
		if (c->writes->list.size > n_before)
			n = c->writes->list.data[n_before].size;
		if (n < size) {
			uint64_t rest = min_u64(size - n, PAGE - (addr + n) % PAGE);

			ptc_writes_add(c->writes, addr + n, zeros, rest);
			n += rest;
		}
		addr += n;
		size -= n;
	}
}

void ptc_through_add(const struct ptc_tracee *t, const struct ptc_through *th,
		     struct ptc_writes *w, uint64_t addr, uint64_t from, uint64_t size)
{
	static const uint8_t zeros[16 * PAGE];

	if (th->bytes.size) {
		ptc_writes_add(w, addr, th->bytes.data + (from - th->start), size);
		return;
	}
	if (!th->is_zeros) {
		ptc_outputs_add(t, w, addr, size);
		return;
	}
	for (uint64_t at = 0, n; at < size; at += n) {
		n = min_u64(size - at, sizeof(zeros));
		ptc_writes_add(w, addr + at, zeros, n);
	}
}

/** The call wrote @p size bytes, from @p n parts: what they were. It stands still; but the file may be written by
 * others meanwhile. */
static void note_bytes(struct change *c, const struct iovec *parts, size_t n,
		       uint64_t size)
{
	struct ptc_through *th = &c->t->through;

	if (!c->p->all->has_shared_file || size > c->left ||
	    vec_reserve(&th->bytes, size))
		return;
	for (size_t i = 0; i < n && th->bytes.size < size; i++) {
		uint64_t want = min_u64(parts[i].iov_len, size - th->bytes.size);

		if (ptc_read_some(&c->p->tracee, (uint64_t)parts[i].iov_base,
				  th->bytes.data + th->bytes.size, want) != want)
			break;
		th->bytes.size += want;
	}
	if (th->bytes.size != size)
		th->bytes.size = 0;
}

/** The same of a call that is given its parts: one, or an array of them. */
static void note_written(struct change *c, bool is_array)
{
	struct iovec parts[PARTS_MAX];
	size_t n = 1;

	if (!is_array) {
		parts[0] = (struct iovec){ (void *)c->args[1], c->args[2] };
	} else {
		n = min_u64(c->args[2], PARTS_MAX);
		n = ptc_read_some(&c->p->tracee, c->args[1], parts, n * sizeof(*parts)) /
		    sizeof(*parts);
	}
	note_bytes(c, parts, n, c->ret);
}

/** Bytes [from, to) of the file changed: in each mapping of it. */
static void add_span(struct change *c, const struct stat *st, uint64_t from, uint64_t to)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	const struct ptc_sized *f = vec_find(&c->p->sized, s, s->inode == st->st_ino);

	c->t->through.device = st->st_dev;
	c->t->through.inode = st->st_ino;
	c->t->through.start = from;
	c->t->through.end = to;
	if (f)
		to = min_u64(to, PAGE_UP(f->most));
	// As far as anybody can have seen anything.
	if (f && c->t->through.is_zeros)
		c->t->through.end = to;
	err_destroy(ptc_maps_read(c->p->tracee.pid, &maps));
	for (size_t i = 0; i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];
		uint64_t end = m->offset + (m->end - m->start);
		uint64_t lo = from > m->offset ? from : m->offset;
		uint64_t hi = min_u64(to, end);

		if (lo >= hi || !ptc_through_is_of(m, st->st_dev, st->st_ino))
			continue;
		// Private pages may be the process' own.
		if (m->is_shared && hi - lo <= c->left &&
		    (c->t->through.is_zeros || c->t->through.bytes.size)) {
			ptc_through_add(&c->p->tracee, &c->t->through, c->writes,
					m->start + (lo - m->offset), lo, hi - lo);
			c->left -= hi - lo;
		} else {
			add_memory(c, m->start + (lo - m->offset), hi - lo);
		}
	}
}

/** What is in [addr, addr + size), of files alone or of all. */
static void add_range(struct change *c, uint64_t addr, uint64_t size, bool of_files)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};

	err_destroy(ptc_maps_read(c->p->tracee.pid, &maps));
	for (size_t i = 0; i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];
		uint64_t lo = addr > m->start ? addr : m->start;
		uint64_t hi = min_u64(addr + PAGE_UP(size), m->end);

		if (lo < hi && (m->inode || !of_files))
			add_memory(c, lo, hi - lo);
	}
}

/** Where file @p fd stands, and the flags with which it was opened. */
static bool read_position(const struct change *c, int fd, uint64_t *pos, unsigned *flags)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long at;
	char path[64];
	bool is_read;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", c->p->tracee.pid, fd);
	f = fopen(path, "re");
	is_read = f && fscanf(f, "pos: %llu flags: %o", &at, flags) == 2;
	*pos = is_read ? at : 0;
	return is_read;
}

static bool stat_file(const struct change *c, int fd, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", c->p->tracee.pid, fd);
	return !stat(path, st);
}

/** @return the recorded process whose memory descriptor @p fd is; NULL: it is none. */
static struct ptc_process *memory_of(const struct change *c, int fd)
{
	_cleanup_free_ char *path = NULL;
	struct stat st, ours;
	const char *name;
	int pid, n = 0;
	char link[32];

	snprintf(link, sizeof(link), "fd/%d", fd);
	path = ptc_proc_link(c->p->tracee.pid, link);
	if (!path || sscanf(path, "/proc/%d/%n", &pid, &n) != 1 || !n)
		return NULL;
	name = path + n;
	n = 0;
	if (sscanf(name, "task/%*d/%n", &n) == 0 && n)
		name += n;
	if (strcmp(name, "mem") || !stat_file(c, fd, &st) || stat("/proc", &ours))
		return NULL;
	// Each name space has a /proc with numbers of its own.
	return st.st_dev == ours.st_dev ? ptc_process_of(c->p->all, pid) :
					  ptc_others_named(c->p, pid);
}

/** @p n bytes were written to @p fd: at @p place, if that is given, else before where it stands. */
static void add_written(struct change *c, int fd, const uint64_t *place, uint64_t n)
{
	struct ptc_process *owner;
	uint64_t from, pos;
	unsigned flags = 0;
	struct stat st;

	if (!n)
		return;
	if (!read_position(c, fd, &pos, &flags) || !stat_file(c, fd, &st)) {
		c->is_partial = true;
		return;
	}
	from = place ? *place : pos - n;
	owner = memory_of(c, fd);
	if (owner && owner == c->p)
		add_memory(c, from, n);
	else if (owner)
		ptc_others_wrote(owner, c->p, c->call, from, n);
	if (owner)
		return;
	if (place && flags & O_APPEND)
		from = st.st_size - n;
	note_size(c->p, &st);
	add_span(c, &st, from, from + n);
}

/** The same where @p at, unless it is 0, points to where the write ended. */
static void add_moved(struct change *c, int fd, uint64_t at, uint64_t n)
{
	uint64_t end;

	if (at && ptc_read_some(&c->p->tracee, at, &end, sizeof(end)) != sizeof(end)) {
		c->is_partial = true;
		return;
	}
	end -= at ? n : 0;
	add_written(c, fd, at ? &end : NULL, n);
}

/** File @p fd has the size @p size, or has been emptied and may have grown since. */
static void add_resized(struct change *c, int fd, uint64_t size)
{
	struct stat st;

	if (!stat_file(c, fd, &st)) {
		c->is_partial = true;
		return;
	}
	c->t->through.is_zeros = true;
	add_span(c, &st, size, UINT64_MAX);
	note_size(c->p, &st);
}

static void add_truncated(struct change *c)
{
	char path[PATH_MAX + 64], name[PATH_MAX];
	pid_t pid = c->p->tracee.pid;
	struct stat st;
	size_t n = ptc_read_some(&c->p->tracee, c->args[0], name, sizeof(name) - 1);

	name[n] = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s/%s", pid, *name == '/' ? "root" : "cwd",
		 name);
	c->t->through.is_zeros = true;
	if (stat(path, &st))
		c->is_partial = true;
	else
		add_span(c, &st, c->args[1], UINT64_MAX);
}

static void add_allocated(struct change *c)
{
	bool is_place = c->args[1] & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE);
	bool is_rest = c->args[1] & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
	struct stat st;

	if (!stat_file(c, c->args[0], &st)) {
		c->is_partial = true;
		return;
	}
	note_size(c->p, &st);
	c->t->through.is_zeros = is_place;
	if (is_place || is_rest)
		add_span(c, &st, c->args[2],
			 is_rest ? UINT64_MAX : c->args[2] + c->args[3]);
}

/** Did call @p nr open a file with O_TRUNC? */
static bool has_emptied(const struct change *c, int64_t nr)
{
	uint64_t flags = 0;

	switch (nr) {
	case __NR_creat:
		return true;
	case __NR_open:
		return c->args[1] & O_TRUNC;
	case __NR_openat:
		return c->args[2] & O_TRUNC;
	}
	// openat2: a structure begins with them.
	ptc_read_some(&c->p->tracee, c->args[2], &flags, sizeof(flags));
	return flags & O_TRUNC;
}

/** A file that is memory was opened, so that it may be written, or emptied. */
static void add_opened(struct change *c, bool is_emptied)
{
	struct stat st;
	bool is_mapped = stat_file(c, c->ret, &st) &&
			 vec_find(&c->p->sized, s, s->inode == st.st_ino);

	bool is_memory = memory_of(c, c->ret);

	if (is_mapped || is_memory)
		ptc_bpf_set_mapping(c->p->all->bpf, c->p->tracee.pid, true);
	// Who inherits it may write, too.
	if (is_memory)
		watch_all(c->p->all);
	if (is_mapped && is_emptied)
		add_resized(c, c->ret, 0);
}

/** mprotect failed: so much of the range, from its beginning on, is as was wanted. */
static void note_protected(const struct change *c, struct cap_event *ev)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	uint64_t from = c->args[0], at = from, end = from + PAGE_UP(c->args[1]);

	err_destroy(ptc_maps_read(c->p->tracee.pid, &maps));
	for (size_t i = 0; i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];

		if (m->start <= at && at < m->end && m->prot == (int)(c->args[2] & 7))
			at = m->end;
	}
	ev->flags |= CAP_SYS_PREFIX;
	ev->file_offset = min_u64(at, end) - from;
}

/** What came to the mapping, and what the old place has when it stays. */
static void add_mremapped(struct change *c)
{
	uint64_t old = PAGE_UP(c->args[1]), now = PAGE_UP(c->args[2]);

	if (now > old)
		add_range(c, c->ret + old, now - old, true);
	if (c->args[3] & MREMAP_DONTUNMAP)
		add_range(c, c->args[0], old, true);
}

static void add_change(struct change *c, int64_t nr, struct cap_event *ev)
{
	switch (nr) {
	case __NR_write:
	case __NR_writev:
		note_written(c, nr == __NR_writev);
		add_written(c, c->args[0], NULL, c->ret);
		return;
	case __NR_pwrite64:
	case __NR_pwritev:
	case __NR_pwritev2:
		note_written(c, nr != __NR_pwrite64);
		add_written(c, c->args[0],
			    nr == __NR_pwritev2 && c->args[3] == UINT64_MAX ? NULL :
									      &c->args[3],
			    c->ret);
		return;
	case __NR_sendfile:
		add_written(c, c->args[0], NULL, c->ret);
		return;
	case __NR_splice:
	case __NR_copy_file_range:
		add_moved(c, c->args[2], c->args[3], c->ret);
		return;
	case __NR_ftruncate:
		add_resized(c, c->args[0], c->args[1]);
		return;
	case __NR_truncate:
		add_truncated(c);
		return;
	case __NR_fallocate:
		add_allocated(c);
		return;
	case __NR_madvise:
		add_range(c, c->args[0], c->args[1], !c->ret);
		return;
	case __NR_mremap:
		add_mremapped(c);
		return;
	case __NR_mprotect:
	case __NR_pkey_mprotect:
		note_protected(c, ev);
		return;
	default:
		add_opened(c, has_emptied(c, nr));
	}
}

void ptc_through_file(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_syscall *e, struct cap_event *ev)
{
	const __u64 *g = e->regs.gpr;
	const uint64_t args[] = { g[CAP_RDI], g[CAP_RSI], g[CAP_RDX],
				  g[CAP_R10], g[CAP_R8],  g[CAP_R9] };
	struct change c = { .p = p,
			    .t = t,
			    .writes = &t->now,
			    .args = args,
			    .ret = e->ret,
			    .call = e,
			    .left = CHANGE_MAX };

	t->through.is_zeros = false;
	t->through.bytes.size = 0;
	add_change(&c, e->nr, ev);
	if (c.is_partial)
		ev->flags |= CAP_SYS_PARTIAL;
}
