// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/image.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Map the file's part of @p m; what lies behind the file's end is left out. */
static struct err *image_load(struct dec_pt_map *m)
{
	uint64_t page = m->file_offset & 4095, bytes = m->size;
	struct stat st;
	uint8_t *data;

	if (fstat(m->fd, &st) || (uint64_t)st.st_size <= m->file_offset)
		return NULL;
	if (bytes > st.st_size - m->file_offset)
		bytes = st.st_size - m->file_offset;
	data = mmap(NULL, bytes + page, PROT_READ, MAP_PRIVATE, m->fd,
		    m->file_offset - page);
	if (data == MAP_FAILED)
		return err_errno("cannot map '%s'", m->path);
	m->data = data + page;
	m->data_bytes = bytes;
	return NULL;
}

static void image_unload(struct dec_pt_map *m)
{
	uint64_t page = m->file_offset & 4095;

	if (m->data)
		munmap((uint8_t *)m->data - page, m->data_bytes + page);
	if (m->traced >= 0)
		close(m->traced);
	free(m->path);
	free(m->why);
}

/* Put @p m in its place: behind all that are there as early. */
static struct err *image_insert(struct dec_pt_image *im, struct dec_pt_map *m)
{
	struct dec_pt_map *at = vec_push(&im->maps);

	if (!at)
		return &err_nomem;
	for (const struct dec_pt_map *o = im->maps.data; o < at; o++)
		m->hides |= o->addr < m->addr + m->size && m->addr < o->addr + o->size;
	if (!m->hides)
		m->from = 0;
	for (; at > im->maps.data && at[-1].from > m->from; at--)
		at[0] = at[-1];
	*at = *m;
	return NULL;
}

/* @p m, of which its texts and its bytes are still missing, becomes one of the image's. */
static struct err *image_add(struct dec_pt_image *im, struct dec_pt_map m,
			     const char *path, const char *why)
{
	struct err *err = NULL;

	m.traced = -1;
	m.path = strdup(path);
	m.why = m.fd < 0 ? strdup(why) : NULL;
	if (!m.path || (m.fd < 0 && !m.why))
		err = &err_nomem;
	if (!err && m.fd >= 0)
		err = image_load(&m);
	if (!err)
		err = image_insert(im, &m);
	if (err)
		image_unload(&m);
	return err;
}

struct err *dec_pt_image_map_path(struct dec_pt_image *im, const char *path, int fd,
				  const char *why, uint64_t addr, uint64_t size,
				  uint64_t file_offset, uint64_t from)
{
	return image_add(im,
			 (struct dec_pt_map){ .addr = addr,
					      .size = size,
					      .file_offset = file_offset,
					      .from = from,
					      .fd = fd },
			 path, why);
}

/* @p fd: the capture's file, the image's; -1: it was not kept. */
static struct err *image_kept(struct dec_pt_image *im, uint32_t file, int *fd)
{
	struct dec_pt_kept *k;
	struct err *err;

	for (size_t i = 0; i < im->kept.size; i++)
		if (im->kept.data[i].file == file) {
			*fd = im->kept.data[i].fd;
			return NULL;
		}
	k = vec_push(&im->kept);
	if (!k)
		return &err_nomem;
	*k = (struct dec_pt_kept){ file, -1 };
	err = capture_file_open(im->capture, file, &k->fd);
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		err = NULL;
	}
	*fd = k->fd;
	return err;
}

struct err *dec_pt_image_map(struct dec_pt_image *im, uint32_t file, uint64_t addr,
			     uint64_t size, uint64_t file_offset, uint64_t from)
{
	int fd = -1;
	struct err *err = image_kept(im, file, &fd);

	return err   ?:
		       dec_pt_image_map_path(
			       im, capture_info(im->capture)->files[file - 1].path, fd,
			       "the capture does not hold its contents", addr, size,
			       file_offset, from);
}

/* What start.core holds (the vdso, text that the loader changed) wins over the file. */
static struct err *image_add_start(struct dec_pt_image *im, const struct cap_mapping *m,
				   int core)
{
	struct err *err = NULL;

	if (m->file)
		err = dec_pt_image_map(im, m->file, m->start, m->end - m->start,
				       m->file_offset, 0);
	if (err || !m->core_bytes)
		return err;
	return image_add(im,
			 (struct dec_pt_map){ .addr = m->start,
					      .size = m->core_bytes,
					      .file_offset = m->core_offset,
					      .fd = core,
					      .is_core = true },
			 m->name && *m->name ? m->name : "start.core", NULL);
}

/* The core's file stays open as long as the image. */
static struct err *image_keep_core(struct dec_pt_image *im, const struct cap_core *core)
{
	struct dec_pt_kept *k = vec_push(&im->kept);

	if (!k)
		return &err_nomem;
	*k = (struct dec_pt_kept){ 0, fcntl(core->fd, F_DUPFD_CLOEXEC, 0) };
	return k->fd < 0 ? err_errno("cannot read start.core") : NULL;
}

struct err *dec_pt_image_init(struct dec_pt_image *im, const struct capture *c)
{
	struct cap_core *core = NULL;
	struct err *err;

	*im = (struct dec_pt_image){ .capture = c };
	err = cap_core_open(c, &core);
	if (!err)
		err = image_keep_core(im, core);
	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		if (core->mappings[i].prot & PROT_EXEC)
			err = image_add_start(im, &core->mappings[i],
					      im->kept.data[0].fd);
	}
	cap_core_close(core);
	return err;
}

void dec_pt_image_deinit(struct dec_pt_image *im)
{
	for (size_t i = 0; i < im->maps.size; i++)
		image_unload(&im->maps.data[i]);
	vec_deinit(&im->maps);
	for (size_t i = 0; i < im->kept.size; i++)
		closep(&im->kept.data[i].fd);
	vec_deinit(&im->kept);
	map_deinit(&im->breaks);
}

/* A copy of the mapping's bytes that can be written. */
static struct err *image_copy(struct dec_pt_map *m)
{
	size_t done = 0;
	ssize_t n = 1;

	m->traced = memfd_create("traced code", MFD_CLOEXEC);
	if (m->traced < 0)
		return err_errno("cannot copy the code of '%s'", m->path);
	for (; done < m->data_bytes && n > 0; done += n)
		n = pwrite(m->traced, m->data + done, m->data_bytes - done, done);
	return n > 0 ? NULL : err_errno("cannot copy the code of '%s'", m->path);
}

static struct err *map_break(struct dec_pt_map *m, uint64_t at)
{
	struct err *err = m->traced < 0 ? image_copy(m) : NULL;

	if (!err && pwrite(m->traced, "\xcc", 1, at) != 1)
		err = err_errno("cannot copy the code of '%s'", m->path);
	return err;
}

struct err *dec_pt_image_break(struct dec_pt_image *im, const char *path, uint64_t addr)
{
	struct err *err = NULL;

	for (size_t i = 0; i < im->maps.size && !err; i++) {
		struct dec_pt_map *m = &im->maps.data[i];

		if (addr < m->addr || addr - m->addr >= m->data_bytes ||
		    (path && strcmp(path, m->path) != 0))
			continue;
		err = map_break(m, addr - m->addr);
		if (!err && map_put(&im->breaks, addr, 1))
			err = &err_nomem;
	}
	return err;
}

size_t dec_pt_image_until(const struct dec_pt_image *im, uint64_t from)
{
	size_t n = im->maps.size;

	// Late ones are rare.
	while (n && im->maps.data[n - 1].from > from)
		n--;
	return n;
}

struct err *dec_pt_image_insn(const struct dec_pt_image *im, size_t n, uint64_t rip,
			      struct dec_insn *ret)
{
	for (size_t i = n; i-- > 0;) {
		const struct dec_pt_map *m = &im->maps.data[i];
		uint64_t at = rip - m->addr;

		if (rip < m->addr || at >= m->data_bytes)
			continue;
		if (dec_insn_decode(m->data + at, m->data_bytes - at, rip, ret))
			return NULL;
		return err_new(ERR_FORMAT, "no instruction at %#lx", rip);
	}
	return err_new(ERR_RANGE, "no code is known at %#lx", rip);
}

uint64_t dec_pt_image_behind(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_JMP || insn->flow == DEC_FLOW_CALL ?
		       insn->target :
		       insn->rip + insn->len;
}

const char *dec_pt_image_missing(const struct dec_pt_image *im, size_t n, uint64_t rip,
				 const char **why)
{
	for (size_t i = n; i-- > 0;) {
		const struct dec_pt_map *m = &im->maps.data[i];

		if (rip < m->addr || rip - m->addr >= m->size)
			continue;
		*why = m->why ?: "the file ends before it";
		return m->path;
	}
	return NULL;
}
