// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/files.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define DEBUG_DIR "/usr/lib/debug/.build-id"
#define DELETED " (deleted)"

void dec_pt_files_init(struct dec_pt_files *f, const struct capture *c,
		       const struct perf_info *perf, const char *symfs)
{
	*f = (struct dec_pt_files){ .capture = c,
				    .perf = perf,
				    .symfs = symfs,
				    .home = secure_getenv("HOME"),
				    .vdso = -1 };
}

void dec_pt_files_deinit(struct dec_pt_files *f)
{
	for (size_t i = 0; i < f->known.size; i++) {
		free(f->known.data[i].path);
		free(f->known.data[i].build_id);
		closep(&f->known.data[i].fd);
		free(f->known.data[i].why);
	}
	vec_deinit(&f->known);
	if (f->vdso >= 0)
		close(f->vdso);
}

/* ---- build-ids --------------------------------------------------------------------------- */

static char *hex(const uint8_t *id, size_t n)
{
	char *text = malloc(2 * n + 1);

	if (text)
		text_hex(text, id, n);
	return text;
}

/* A perf.data may say that anything is code: of what lies here, ELF files alone are.
 * @param id  gets the build-id in hex; NULL: it has none.
 * @return it, open; -1: it is no such file, or cannot be read. */
static int open_elf(const char *path, char **id)
{
	_cleanup_close_ int fd = -1;
	_cleanup_err_ struct err *err = NULL;
	char magic[SELFMAG];

	*id = NULL;
	err = file_open_input(AT_FDCWD, path, path, UINT64_MAX, &fd, NULL);
	if (err || pread(fd, magic, SELFMAG, 0) != SELFMAG ||
	    memcmp(magic, ELFMAG, SELFMAG) != 0)
		return -1;
	*id = capture_build_id(fd);
	return take_fd(&fd);
}

/* What the file's end tells of @p path, mapped by @p pid. */
static const struct perf_build_id *build_id_listed(const struct dec_pt_files *f,
						   const char *path, uint32_t pid)
{
	for (size_t i = 0; f->perf && i < f->perf->n_build_ids; i++) {
		const struct perf_build_id *b = &f->perf->build_ids[i];

		if (b->bytes && (b->pid == PERF_NONE || b->pid == pid) &&
		    !strcmp(b->path, path))
			return b;
	}
	return NULL;
}

static struct err *build_id_of(const struct dec_pt_files *f, const struct perf_record *m,
			       char **ret)
{
	const struct perf_build_id *b;

	*ret = NULL;
	if (m->mmap.build_id_bytes) {
		*ret = hex(m->mmap.build_id, m->mmap.build_id_bytes);
		return *ret ? NULL : &err_nomem;
	}
	b = build_id_listed(f, m->mmap.path, m->mmap.pid);
	if (!b)
		return NULL;
	*ret = hex(b->build_id, b->bytes);
	return *ret ? NULL : &err_nomem;
}

/* ---- places ------------------------------------------------------------------------------- */

/* @return whether @p e's file is @p path, as far as anybody knows. */
static bool take(struct dec_pt_file *e, const char *path)
{
	_cleanup_free_ char *id = NULL;
	_cleanup_close_ int fd = open_elf(path, &id);

	if (fd < 0 || (e->build_id && (!id || strcmp(id, e->build_id))))
		return false;
	e->fd = take_fd(&fd);
	return true;
}

/* The capture's copy: known by build-id, or by path where there is none. */
static bool take_kept(const struct dec_pt_files *f, struct dec_pt_file *e)
{
	const struct cap_info *info = f->capture ? capture_info(f->capture) : NULL;

	for (size_t i = 0; info && i < info->n_files; i++) {
		const struct cap_file *k = &info->files[i];
		struct err *err;

		if (!k->stored)
			continue;
		if (e->build_id && k->build_id ? strcmp(e->build_id, k->build_id) != 0 :
						 strcmp(e->path, k->path) != 0)
			continue;
		err = capture_file_open(f->capture, i + 1, &e->fd);
		if (!err)
			return true;
		err_destroy(err);
	}
	return false;
}

static bool take_below(const struct dec_pt_files *f, struct dec_pt_file *e)
{
	_cleanup_free_ char *path = NULL;

	if (!f->symfs || e->path[0] != '/' || e->path[1] == '/' ||
	    asprintf(&path, "%s%s", f->symfs, e->path) < 0)
		return false;
	return take(e, path);
}

/* perf's cache has the file itself, or a directory with it; distributions the file. */
static bool take_cached(const struct dec_pt_files *f, struct dec_pt_file *e)
{
	static const char *const forms[] = { "%s/.debug/.build-id/%.2s/%s/elf",
					     "%s/.debug/.build-id/%.2s/%s/vdso",
					     "%s/.debug/.build-id/%.2s/%s" };
	char path[4096];

	if (!e->build_id || strlen(e->build_id) < 4)
		return false;
	for (size_t i = 0; f->home && i < sizeof(forms) / sizeof(*forms); i++) {
		snprintf(path, sizeof(path), forms[i], f->home, e->build_id,
			 e->build_id + 2);
		if (take(e, path))
			return true;
	}
	snprintf(path, sizeof(path), DEBUG_DIR "/%.2s/%s", e->build_id, e->build_id + 2);
	return take(e, path);
}

/* ---- the vdso ------------------------------------------------------------------------------ */

/* The kernel's is in this process, too, and there is no other file of it. */
static int vdso_make(void)
{
	const Elf64_Ehdr *head = (const void *)getauxval(AT_SYSINFO_EHDR);
	int fd = head ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	size_t size;

	if (fd < 0)
		return -1;
	// The section headers are its end.
	size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	if (write(fd, head, size) == (ssize_t)size)
		return fd;
	close(fd);
	return -1;
}

static bool take_vdso(struct dec_pt_files *f, struct dec_pt_file *e)
{
	char path[64];

	if (f->vdso < 0)
		f->vdso = vdso_make();
	if (f->vdso < 0 || !e->build_id)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->vdso);
	return take(e, path);
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* @return why nothing of @p e could be read; NULL when memory is out. */
static char *why_not(const struct dec_pt_files *f, const struct dec_pt_file *e)
{
	_cleanup_free_ char *id = NULL;
	_cleanup_close_ int fd = -1;
	char *text = NULL;

	if (e->path[0] != '/' || !strncmp(e->path, "//", 2))
		return strdup("it is no file");
	if (f->symfs && !e->build_id) {
		if (asprintf(&text, "it is not below '%s'", f->symfs) < 0)
			return NULL;
		return text;
	}
	if (access(e->path, R_OK)) {
		if (asprintf(&text, "it is not here%s%s",
			     e->build_id ? ", build-id " : "", e->build_id ?: "") < 0)
			return NULL;
		return text;
	}
	fd = open_elf(e->path, &id);
	if (fd < 0)
		return strdup("the one here is no ELF file");
	if (asprintf(&text, "the one here has another build-id (%s, recorded was %s)",
		     id ?: "none", e->build_id) < 0)
		return NULL;
	return text;
}

static void look(struct dec_pt_files *f, struct dec_pt_file *e)
{
	size_t n = strlen(e->path), m = strlen(DELETED);

	if (n > m && !strcmp(e->path + n - m, DELETED))
		e->path[n - m] = 0;
	if (take_kept(f, e) || take_below(f, e) || take_cached(f, e))
		return;
	if (!strcmp(e->path, "[vdso]"))
		take_vdso(f, e);
	else if (e->path[0] == '/' && e->path[1] != '/' && (!f->symfs || e->build_id))
		take(e, e->path);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

struct err *dec_pt_files_find(struct dec_pt_files *f, const struct perf_record *m,
			      const struct dec_pt_file **ret)
{
	_cleanup_free_ char *id = NULL;
	struct err *err = build_id_of(f, m, &id);
	struct dec_pt_file *e;

	for (size_t i = 0; !err && i < f->known.size; i++) {
		e = &f->known.data[i];
		if (is_same(e->build_id, id) && !strcmp(e->path, m->mmap.path)) {
			*ret = e;
			return NULL;
		}
	}
	if (err)
		return err;
	e = vec_push(&f->known);
	if (!e)
		return &err_nomem;
	e->fd = -1;
	e->path = strdup(m->mmap.path);
	e->build_id = take_ptr(&id);
	if (!e->path)
		return &err_nomem;
	look(f, e);
	if (e->fd < 0)
		e->why = why_not(f, e);
	*ret = e;
	return e->fd >= 0 || e->why ? NULL : &err_nomem;
}
