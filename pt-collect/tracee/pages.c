// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which pages a process has of its own, and all that is in a mapping.
 */
#define LOG_ROOM "record"
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "pt-collect/tracee/pages.h"

#define PAGE 4096ull
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FILE (1ull << 61) ///< of a file, or shared: not ours alone
#define ENTRIES 8192		  ///< of pagemap at a time
#define REGIONS 1024		  ///< of PAGEMAP_SCAN at a time
#define GAP_BYTES (64u << 10)	  ///< a smaller gap is saved: a mapping costs more

/** Linux 6.7 finds pages without looking at each; newer than the headers of Debian 12. */
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

struct scan_region {
	uint64_t start, end, categories;
};

#define SCAN _IOWR('f', 16, struct scan_arg)
#define SCAN_IS_FILE (1ull << 2)
#define SCAN_IS_PRESENT (1ull << 3)
#define SCAN_IS_SWAPPED (1ull << 4)
#define SCAN_IS_ZERO (1ull << 5)

/** Append [start, end), ascending; close ones become one. */
static bool add_range(struct ptc_ranges *v, uint64_t start, uint64_t end)
{
	struct ptc_range *last = v->list.size ? &v->list.data[v->list.size - 1] : NULL;

	if (last && start - last->end < GAP_BYTES) {
		last->end = end;
		return true;
	}
	last = vec_push(&v->list);
	if (last)
		*last = (struct ptc_range){ start, end };
	return last;
}

/** @return 1 done, 0 this kernel cannot, -1 out of memory. */
static int scan_at_once(int pagemap, uint64_t start, uint64_t end, struct ptc_ranges *v)
{
	static struct scan_region regions[REGIONS];
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = start,
		.end = end,
		.vec = (uintptr_t)regions,
		.vec_len = REGIONS,
		.category_inverted = SCAN_IS_FILE | SCAN_IS_ZERO,
		.category_mask = SCAN_IS_FILE | SCAN_IS_ZERO,
		.category_anyof_mask = SCAN_IS_PRESENT | SCAN_IS_SWAPPED,
		.return_mask = SCAN_IS_PRESENT,
	};

	while (arg.start < end) {
		int n = ioctl(pagemap, SCAN, &arg);

		if (n < 0)
			return 0;
		for (int i = 0; i < n; i++)
			if (!add_range(v, regions[i].start, regions[i].end))
				return -1;
		// walk_end is where the kernel last emptied a buffer of its own (512 ranges):
		// what it found behind that is in regions[] too.
		if (n && regions[n - 1].end > arg.walk_end)
			arg.walk_end = regions[n - 1].end;
		if (arg.walk_end <= arg.start)
			return 0;
		arg.start = arg.walk_end;
	}
	return 1;
}

/** One word a page. @return false when memory is out. */
static bool scan_each(int pagemap, uint64_t start, uint64_t end, struct ptc_ranges *v)
{
	static uint64_t entries[ENTRIES];

	for (uint64_t at = start; at < end;) {
		uint64_t want = (end - at) / PAGE;
		ssize_t n;

		if (want > ENTRIES)
			want = ENTRIES;
		n = pread(pagemap, entries, want * 8, at / PAGE * 8) / 8;
		if (n <= 0)
			return add_range(v, at, end); // not known: all of it
		for (ssize_t i = 0; i < n; i++, at += PAGE)
			if (entries[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED) &&
			    !(entries[i] & PAGEMAP_FILE) && !add_range(v, at, at + PAGE))
				return false;
	}
	return true;
}

/** Pages of a private mapping that are the process' own. */
static bool own_pages(int pagemap, const struct ptc_map *m, struct ptc_ranges *v)
{
	int done = scan_at_once(pagemap, m->start, m->end, v);

	if (done)
		return done > 0;
	v->list.size = 0;
	return scan_each(pagemap, m->start, m->end, v);
}

/** Pages of a shared mapping that anybody has written; asking through the mapping would
 * make those that nobody has. */
static bool shared_pages(const struct ptc_tracee *t, const struct ptc_map *m,
			 struct ptc_ranges *v)
{
	_cleanup_close_ int fd = ptc_map_open(t->pid, m);
	uint64_t size = m->end - m->start;

	if (fd < 0)
		return add_range(v, m->start, m->end);
	for (uint64_t at = 0; at < size;) {
		off_t data = lseek(fd, m->offset + at, SEEK_DATA), hole;

		if (data < 0 || data - m->offset >= size)
			break;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data || hole - m->offset > size)
			hole = m->offset + size;
		data = data & -(off_t)PAGE;
		at = (hole - m->offset + PAGE - 1) & -PAGE;
		if (!add_range(v, m->start + data - m->offset, m->start + at))
			return false;
	}
	return true;
}

/** Ranges of different mappings stay apart: between them there may be nothing. */
static bool append_pages(const struct ptc_tracee *t, int pagemap, const struct ptc_map *m,
			 struct ptc_ranges *v)
{
	struct ptc_ranges of_one = {};
	bool is_done = m->is_shared ? shared_pages(t, m, &of_one) :
				      own_pages(pagemap, m, &of_one);

	for (size_t i = 0; is_done && i < of_one.list.size; i++) {
		struct ptc_range *r = vec_push(&v->list);

		if (r)
			*r = of_one.list.data[i];
		is_done = r;
	}
	vec_deinit(&of_one.list);
	return is_done;
}

struct err *ptc_ranges_read(const struct ptc_tracee *t, const struct ptc_maps *maps,
			    struct ptc_ranges *ret)
{
	_cleanup_close_ int pagemap = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", t->pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < maps->list.size; i++)
		if (maps->list.data[i]->prot & PROT_WRITE &&
		    !append_pages(t, pagemap, maps->list.data[i], ret))
			return &err_nomem;
	return NULL;
}

static bool is_kernel_page(const char *name)
{
	return !strncmp(name, "[vvar", 5) || !strcmp(name, "[vsyscall]");
}

bool ptc_pages_find(const struct ptc_tracee *t, int pagemap, const struct ptc_map *m,
		    bool is_kept, struct ptc_ranges *v)
{
	if (is_kernel_page(m->name) || (m->is_shared && is_kept))
		return true;
	if (m->is_shared)
		return shared_pages(t, m, v);
	// The stack stays one mapping: a reader reserves what it may grow to.
	if (!strcmp(m->name, "[stack]") || !strcmp(m->name, "[vdso]") ||
	    (m->inode && !is_kept))
		return add_range(v, m->start, m->end);
	return own_pages(pagemap, m, v);
}

void ptc_pages_read(const struct ptc_tracee *t, uint64_t addr, void *buf, size_t size)
{
	struct iovec here = { buf, size }, there = { (void *)addr, size };
	uint8_t *to = buf;
	// Copies once, /proc/PID/mem twice; but only what the program itself may read.
	ssize_t done = process_vm_readv(t->pid, &here, 1, &there, 1, 0);

	if (done > 0) {
		addr += done;
		to += done;
		size -= done;
	}
	while (size) {
		size_t n = ptc_read_some(t, addr, to, size);

		addr += n;
		to += n;
		size -= n;
		if (!size)
			break;
		// Behind the end of a file that is mapped beyond it: nobody can read it.
		n = PAGE - addr % PAGE < size ? PAGE - addr % PAGE : size;
		memset(to, 0, n);
		addr += n;
		to += n;
		size -= n;
	}
}
