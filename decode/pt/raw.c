// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Packets alone, as other tools store them (gdb, lldb, libipt's own, fuzzers of virtual
 * machines), and a list of what lay where.
 */

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "decode/pt/flow_int.h"
#include "decode/pt/user.h"

/* ---- FILE[:FROM[-TO]][@ADDR] --------------------------------------------------------------- */

struct raw_image {
	char path[PATH_MAX];
	uint64_t from, to; ///< bytes of the file; to 0: its end
	uint64_t addr;
	bool has_part, has_addr;
};

static bool number_at(const char *text, char **end, uint64_t *ret)
{
	*ret = strtoull(text, end, 0);
	return *end != text && *text >= '0' && *text <= '9';
}

/* ":FROM[-TO]" at the end of the path, if it is one. */
static void part_parse(struct raw_image *r)
{
	char *colon = strrchr(r->path, ':'), *end;
	uint64_t from, to = 0;

	if (!colon || !number_at(colon + 1, &end, &from))
		return;
	if (*end == '-' && !number_at(end + 1, &end, &to))
		return;
	if (*end || (to && to <= from))
		return;
	*colon = 0;
	r->from = from;
	r->to = to;
	r->has_part = true;
}

static struct err *raw_parse(const char *text, struct raw_image *ret)
{
	const char *at = strrchr(text, '@');
	size_t n = at ? (size_t)(at - text) : strlen(text);
	char *end;

	*ret = (struct raw_image){};
	if (!n || n >= sizeof(ret->path))
		return err_new(ERR_USAGE, "--image is FILE@ADDR, not '%s'", text);
	memcpy(ret->path, text, n);
	ret->has_addr = at;
	if (at && (!number_at(at + 1, &end, &ret->addr) || *end))
		return err_new(ERR_USAGE, "--image: '%s' is no address", at + 1);
	if (access(ret->path, F_OK))
		part_parse(ret);
	return NULL;
}

/* ---- images -------------------------------------------------------------------------------- */

static struct err *raw_map(struct dec_pt_image *im, const char *name, int fd,
			   uint64_t addr, uint64_t size, uint64_t offset)
{
	if (!size || addr + size < addr)
		return NULL;
	return dec_pt_image_map_path(im, name, fd, NULL, addr, size, offset, 0);
}

/* The code of ELF file @p elf, its lowest segment at r->addr; where it wants to lie, when no
 * address is given. */
static struct err *raw_map_elf(struct dec_pt_image *im, const struct raw_image *r,
			       const char *name, int fd, Elf *elf)
{
	uint64_t lowest = UINT64_MAX;
	struct err *err = NULL;
	GElf_Ehdr head;
	size_t n = 0;

	if (!gelf_getehdr(elf, &head) || elf_getphdrnum(elf, &n))
		return err_new(ERR_FORMAT, "'%s' is no sound ELF file", r->path);
	if (head.e_type == ET_DYN && !r->has_addr)
		return err_new(ERR_USAGE,
			       "--image: where '%s' lay has to be told: %s@ADDR", r->path,
			       r->path);
	for (int pass = 0; !err && pass < 2; pass++) {
		for (size_t i = 0; !err && i < n; i++) {
			GElf_Phdr p;

			if (!gelf_getphdr(elf, i, &p) || p.p_type != PT_LOAD)
				continue;
			if (pass == 0 && (p.p_vaddr & -4096ull) < lowest)
				lowest = p.p_vaddr & -4096ull;
			if (pass == 1 && (p.p_flags & PF_X))
				err = raw_map(
					im, name, fd,
					p.p_vaddr + (r->has_addr ? r->addr - lowest : 0),
					p.p_filesz, p.p_offset);
		}
	}
	return err;
}

static struct err *raw_map_bytes(struct dec_pt_image *im, const struct raw_image *r,
				 int fd)
{
	const char *name = strrchr(r->path, '/') ? strrchr(r->path, '/') + 1 : r->path;
	uint64_t end = r->to;
	struct stat st;

	if (!r->has_addr)
		return err_new(ERR_USAGE,
			       "--image: where '%s' lay has to be told: %s@ADDR", r->path,
			       r->path);
	if (fstat(fd, &st))
		return err_errno("cannot read '%s'", r->path);
	if (!end || end > (uint64_t)st.st_size)
		end = st.st_size;
	if (r->from >= end)
		return err_new(ERR_RANGE, "'%s' has no byte %#lx", r->path, r->from);
	return raw_map(im, name, fd, r->addr, end - r->from, r->from);
}

static struct err *raw_add(struct dec_pt_flow *f, struct dec_pt_image *im,
			   const char *text)
{
	char name[PATH_MAX];
	struct dec_pt_file *file;
	struct raw_image r;
	struct err *err = raw_parse(text, &r);
	int fd = -1;
	Elf *elf;

	if (!err)
		err = file_open_input(AT_FDCWD, r.path, r.path, UINT64_MAX, &fd, NULL);
	if (err)
		return err;
	file = vec_push(&f->files.known);
	if (!file) {
		close(fd);
		return &err_nomem;
	}
	file->fd = fd;
	file->path = strdup(r.path);
	if (!file->path)
		return &err_nomem;
	elf_version(EV_CURRENT);
	elf = r.has_part ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		err = raw_map_elf(im, &r, realpath(r.path, name) ? name : r.path, fd,
				  elf);
	else
		err = raw_map_bytes(im, &r, fd);
	elf_end(elf);
	return err;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Who knows of the kernel's code wants to see it. */
static bool has_kernel_code(const struct dec_pt_image *im)
{
	return vec_find(&im->maps, m, dec_pt_user_is_kernel(m->addr));
}

static struct err *raw_fill(struct dec_pt_flow *f, const char *const *images, size_t n)
{
	struct dec_pt_source *source = vec_push(&f->sources);
	struct dec_pt_era *era = vec_push(&f->world.eras);
	struct err *err = NULL;

	if (!source || !era)
		return &err_nomem;
	*source = (struct dec_pt_source){ .tid = 0, .cpu = PERF_NONE };
	*era = (struct dec_pt_era){ .image = calloc(1, sizeof(*era->image)) };
	if (!era->image)
		return &err_nomem;
	for (size_t i = 0; !err && i < n; i++)
		err = raw_add(f, era->image, images[i]);
	if (!err)
		err = dec_pt_stream_init(&source->stream, 0, era->image);
	source->stream.is_timed = true;
	source->stream.has_kernel = !has_kernel_code(era->image);
	return err ? err : dec_pt_stream_add(&source->stream, f->bytes, f->n_bytes, NULL);
}

struct err *dec_pt_flow_open_raw(const char *path, const char *const *images, size_t n,
				 struct dec_pt_flow **ret)
{
	_cleanup_(dec_pt_flow_closep) struct dec_pt_flow *f = calloc(1, sizeof(*f));
	_cleanup_close_ int fd = -1;
	struct err *err;

	if (!f)
		return &err_nomem;
	dec_pt_files_init(&f->files, NULL, NULL, NULL);
	f->world.clock = &f->raw.pt.clock;
	f->info = &f->raw;
	err = file_open_input(AT_FDCWD, path, path, UINT64_MAX, &fd, NULL);
	if (!err)
		err = dec_pt_flow_map(f, fd, path);
	if (err)
		return err;
	f->raw.has_pt = true;
	f->raw.pt_bytes = f->n_bytes;
	err = raw_fill(f, images, n);
	if (!err && dec_pt_stream_find_psb(&f->sources.data[0].stream, 0) == f->n_bytes)
		err = err_new(ERR_FORMAT, "it holds no Intel PT: no PSB packet is in it");
	if (err)
		return err;
	*ret = take_ptr(&f);
	return NULL;
}
