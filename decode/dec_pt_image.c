// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/dec_pt_image.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decode/dec_insn.h"

/* Map the file's part of @p m; what lies behind the file's end is left out. */
static struct err *image_load(struct dec_pt_map *m)
{
	uint64_t page = m->file_offset & 4095, bytes = m->size;
	int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;

	if (fd < 0)
		return err_errno("cannot open '%s'", m->path);
	if (fstat(fd, &st) || (uint64_t)st.st_size <= m->file_offset) {
		close(fd);
		return NULL;
	}
	if (bytes > st.st_size - m->file_offset)
		bytes = st.st_size - m->file_offset;
	data = mmap(NULL, bytes + page, PROT_READ, MAP_PRIVATE, fd,
		    m->file_offset - page);
	close(fd);
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
	free(m->path);
}

static struct err *image_add(struct dec_pt_image *im, const char *path, uint64_t addr,
			     uint64_t size, uint64_t file_offset, uint64_t from_byte)
{
	struct dec_pt_map *m = vec_push(&im->maps);

	if (!m)
		return &err_nomem;
	*m = (struct dec_pt_map){ .addr = addr,
				  .size = size,
				  .file_offset = file_offset,
				  .from_byte = from_byte,
				  .path = strdup(path) };
	for (const struct dec_pt_map *o = im->maps.data; o < m; o++)
		m->hides |= o->addr < addr + size && addr < o->addr + o->size;
	return m->path ? image_load(m) : &err_nomem;
}

struct err *dec_pt_image_map(struct dec_pt_image *im, uint32_t file, uint64_t addr,
			     uint64_t size, uint64_t file_offset, uint64_t from_byte)
{
	struct err *err;
	char path[PATH_MAX];

	err = capture_file_path(im->capture, file, path, sizeof(path));
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	return err ? err : image_add(im, path, addr, size, file_offset, from_byte);
}

/* What start.core holds (the vdso, text that the loader changed) wins over the file. */
static struct err *image_add_start(struct dec_pt_image *im, const struct cap_mapping *m,
				   const char *core)
{
	struct err *err = NULL;

	if (m->file)
		err = dec_pt_image_map(im, m->file, m->start, m->end - m->start,
				       m->file_offset, 0);
	if (!err && m->core_bytes)
		err = image_add(im, core, m->start, m->core_bytes, m->core_offset, 0);
	return err;
}

struct err *dec_pt_image_init(struct dec_pt_image *im, const struct capture *c)
{
	_cleanup_free_ char *path = NULL;
	struct cap_core *core = NULL;
	struct err *err;

	*im = (struct dec_pt_image){ .capture = c };
	if (asprintf(&path, "%s/start.core", capture_dir(c)) < 0)
		return &err_nomem;
	err = cap_core_open(c, &core);
	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		if (core->mappings[i].prot & PROT_EXEC)
			err = image_add_start(im, &core->mappings[i], path);
	}
	if (core)
		cap_core_close(core);
	return err;
}

void dec_pt_image_deinit(struct dec_pt_image *im)
{
	for (size_t i = 0; i < im->maps.size; i++)
		image_unload(&im->maps.data[i]);
	vec_deinit(&im->maps);
	map_deinit(&im->next);
}

void dec_pt_image_rewind(struct dec_pt_image *im)
{
	for (; im->n_applied; im->n_applied--) {
		if (im->maps.data[im->n_applied - 1].hides)
			map_deinit(&im->next);
	}
}

size_t dec_pt_image_apply(struct dec_pt_image *im, uint64_t at)
{
	while (im->n_applied < im->maps.size &&
	       im->maps.data[im->n_applied].from_byte <= at) {
		if (im->maps.data[im->n_applied++].hides)
			map_deinit(&im->next);
	}
	return im->n_applied;
}

static struct err *image_decode(const struct dec_pt_image *im, uint64_t rip,
				struct dec_insn *insn)
{
	for (size_t i = im->n_applied; i-- > 0;) {
		const struct dec_pt_map *m = &im->maps.data[i];
		uint64_t at = rip - m->addr;

		if (rip < m->addr || at >= m->data_bytes)
			continue;
		if (dec_insn_decode(m->data + at, m->data_bytes - at, rip, insn))
			return NULL;
		return err_new(ERR_FORMAT, "no instruction at %#lx", rip);
	}
	return err_new(ERR_RANGE, "no code is known at %#lx", rip);
}

struct err *dec_pt_image_next(struct dec_pt_image *im, uint64_t rip, uint64_t *ret)
{
	uint64_t *known = map_get(&im->next, rip), next;
	struct dec_insn insn;
	struct err *err;

	if (known) {
		*ret = *known;
		return NULL;
	}
	err = image_decode(im, rip, &insn);
	if (err)
		return err;
	next = insn.flow == DEC_FLOW_JMP || insn.flow == DEC_FLOW_CALL ? insn.target :
									 rip + insn.len;
	if (map_put(&im->next, rip, next))
		return &err_nomem;
	*ret = next;
	return NULL;
}
