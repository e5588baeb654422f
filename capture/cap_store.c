// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Keeping copies of files: files/ and its index. One store serves a bundle and the
 * bundles of the processes followed from it: each file is copied once a capture.
 */
#define LOG_ROOM "capture"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "capture/cap_elf.h"
#include "capture/cap_store.h"

/** What tells one kept file from another without reading it. */
struct kept {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

struct cap_store {
	unsigned n_refs;
	char *dir;		///< of the bundle, for messages
	int files_fd, index_fd; ///< -1 = not open
	VEC(struct cap_file) files;
	VEC(struct kept) kept; ///< parallel to files
};

static void store_unrefp(struct cap_store **s)
{
	cap_store_unref(*s);
}

struct err *cap_store_create(int dir_fd, const char *dir, struct cap_store **ret)
{
	_cleanup_(store_unrefp) struct cap_store *s = calloc(1, sizeof(*s));

	if (!s)
		return &err_nomem;
	s->n_refs = 1;
	s->files_fd = s->index_fd = -1;
	s->dir = strdup(dir);
	if (!s->dir)
		return &err_nomem;
	if (file_act(dir_fd, FILE_NEW_DIR, "files", NULL))
		return err_errno("cannot create %s/files", dir);
	s->files_fd = file_open_below(dir_fd, "files", O_RDONLY | O_DIRECTORY);
	if (s->files_fd < 0)
		return err_errno("cannot open %s/files", dir);
	*ret = take_ptr(&s);
	return NULL;
}

struct cap_store *cap_store_ref(struct cap_store *s)
{
	s->n_refs++;
	return s;
}

void cap_store_unref(struct cap_store *s)
{
	if (!s || --s->n_refs)
		return;
	for (size_t i = 0; i < s->files.size; i++) {
		free(s->files.data[i].path);
		free(s->files.data[i].stored);
		free(s->files.data[i].build_id);
	}
	vec_deinit(&s->files);
	vec_deinit(&s->kept);
	if (s->index_fd >= 0)
		close(s->index_fd);
	if (s->files_fd >= 0)
		close(s->files_fd);
	free(s->dir);
	free(s);
}

void cap_store_remove(struct cap_store *s, int dir_fd)
{
	for (size_t i = 0; i < s->files.size; i++)
		if (s->files.data[i].stored)
			file_act(s->files_fd, FILE_REMOVE, s->files.data[i].stored, NULL);
	file_act(s->files_fd, FILE_REMOVE, CAP_INDEX, NULL);
	file_act(dir_fd, FILE_REMOVE_DIR, "files", NULL);
}

struct cap_file *cap_store_files(const struct cap_store *s)
{
	return s->files.data;
}

size_t cap_store_size(const struct cap_store *s)
{
	return s->files.size;
}

/** Copy @p from, whole, into @p to: shared extents where the file system can, else
 * inside the kernel, else by hand. */
static struct err *copy_contents(int from, int to, uint64_t size)
{
	_cleanup_free_ char *buf = NULL;
	off_t done = 0;

	while ((uint64_t)done < size) {
		off_t at = done;
		ssize_t n = copy_file_range(from, &at, to, NULL, size - done, 0);

		if (n <= 0)
			n = sendfile(to, from, &at, size - done);
		if (n < 0 && errno == ENOSPC)
			return err_errno("cannot write");
		if (n <= 0)
			break;
		done += n;
	}
	if ((uint64_t)done >= size)
		return NULL;
	buf = malloc(1 << 16);
	if (!buf)
		return &err_nomem;
	for (;;) {
		ssize_t n = pread(from, buf, 1 << 16, done);
		struct err *err;

		if (n < 0)
			return err_errno("cannot read");
		if (!n)
			return NULL;
		err = cap_write_all(to, buf, n, "it");
		if (err)
			return err;
		done += n;
	}
}

static struct err *store_copy(struct cap_store *s, int fd, const char *stored,
			      uint64_t size, uint64_t *bytes)
{
	int to = file_open_below(s->files_fd, stored, O_WRONLY | O_CREAT);
	struct err *err;

	if (to < 0 && errno == EEXIST)
		return NULL; // The same build under two paths: one copy serves both.
	if (to < 0)
		return err_errno("cannot create %s/files/%s", s->dir, stored);
	err = copy_contents(fd, to, size);
	if (close(to) && !err)
		err = err_errno("cannot write");
	if (err) {
		file_act(s->files_fd, FILE_REMOVE, stored, NULL);
		return err;
	}
	*bytes += size;
	return NULL;
}

static uint32_t find_kept(const struct cap_store *s, const struct kept *k)
{
	for (size_t i = 0; i < s->kept.size; i++) {
		const struct kept *o = &s->kept.data[i];

		if (o->dev == k->dev && o->ino == k->ino && o->size == k->size &&
		    o->mtime.tv_sec == k->mtime.tv_sec &&
		    o->mtime.tv_nsec == k->mtime.tv_nsec)
			return i + 1;
	}
	return 0;
}

/** The name of the copy: the build-id together with the size (a stripped and an
 * unstripped build share their id), or a hash of the contents. */
static char *name_copy(uint64_t size, const char *build_id, uint64_t hash)
{
	char *name;

	if ((build_id ? asprintf(&name, "%s-%" PRIx64, build_id, size) :
			asprintf(&name, "h%016" PRIx64 "-%" PRIx64, hash, size)) < 0)
		return NULL;
	return name;
}

static struct err *add_to_index(struct cap_store *s, const struct cap_file *f)
{
	const char *parts[] = { f->stored, f->build_id ?: "", f->path };
	struct err *err = NULL;

	if (s->index_fd < 0)
		s->index_fd = file_open_below(s->files_fd, CAP_INDEX, O_WRONLY | O_CREAT);
	if (s->index_fd < 0)
		return err_errno("cannot create %s/files/index", s->dir);
	for (size_t i = 0; i < 3 && !err; i++)
		err = cap_write_all(s->index_fd, parts[i], strlen(parts[i]) + 1,
				    "files/index");
	return err;
}

struct err *cap_store_keep(struct cap_store *s, int fd, const char *path, uint32_t *ret,
			   uint64_t *bytes)
{
	_cleanup_free_ char *build_id = NULL, *stored = NULL, *name = NULL;
	struct cap_file *f;
	struct kept k, *slot;
	uint64_t hash = 0;
	struct stat st;
	struct err *err;

	if (fstat(fd, &st))
		return err_errno("cannot keep %s", path);
	k = (struct kept){ st.st_dev, st.st_ino, st.st_size, st.st_mtim };
	*ret = find_kept(s, &k);
	if (*ret)
		return NULL;
	build_id = capture_build_id(fd);
	name = strdup(path);
	err = cap_hash_file(fd, st.st_size, &hash);
	if (!err)
		stored = name_copy(st.st_size, build_id, hash);
	if (!err && (!name || !stored))
		return &err_nomem;
	if (!err)
		err = store_copy(s, fd, stored, st.st_size, bytes);
	if (err)
		return err_prefix(err, "cannot keep a copy of %s in %s", path, s->dir);
	slot = vec_push(&s->kept);
	f = slot ? vec_push(&s->files) : NULL;
	if (!f)
		return &err_nomem;
	*slot = k;
	*f = (struct cap_file){ take_ptr(&name), take_ptr(&stored), take_ptr(&build_id),
				hash };
	*ret = s->files.size;
	return add_to_index(s, f);
}
