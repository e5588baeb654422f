// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Copies of files that many captures have, once: hard links into a directory that they share. A
 * capture stays what it was, whoever reads it or takes the others away.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/cap_format.h"
#include "capture/cap_share.h"

#define PIECE 65536
#define PART ".shared.part" ///< a link, until it takes the copy's place

static bool are_same(int a, int b)
{
	_cleanup_free_ char *x = malloc(2 * PIECE);
	char *y = x + PIECE;
	ssize_t n, m;

	for (off_t at = 0; x; at += n) {
		n = pread(a, x, PIECE, at);
		m = pread(b, y, PIECE, at);
		if (n < 0 || n != m || memcmp(x, y, n))
			return false;
		if (!n)
			return true;
	}
	return false;
}

static struct err *cannot(const char *name, const char *pool)
{
	return err_errno("cannot share '%s' in '%s'", name, pool);
}

/* File @p name in @p files, with what @p pool has of that name. */
static struct err *share_one(int files, const char *name, int pool_fd, const char *pool,
			     struct cap_shared *ret)
{
	_cleanup_close_ int own = file_open_below(files, name, O_RDONLY), kept = -1;
	struct stat st, of_kept;

	if (own < 0 || fstat(own, &st))
		return cannot(name, pool);
	if (!S_ISREG(st.st_mode))
		return NULL;
	if (!linkat(files, name, pool_fd, name, 0)) {
		ret->n_new++;
		// Nobody writes to what others have.
		return fchmod(own, 0400) ? cannot(name, pool) : NULL;
	}
	if (errno != EEXIST)
		return cannot(name, pool);
	kept = file_open_below(pool_fd, name, O_RDONLY);
	if (kept < 0 || fstat(kept, &of_kept))
		return cannot(name, pool);
	if (of_kept.st_ino == st.st_ino && of_kept.st_dev == st.st_dev)
		return NULL;
	if (!are_same(own, kept))
		return err_new(
			ERR_FORMAT,
			"cannot share '%s': the one in '%s' has other contents: it is "
			"damaged, remove it",
			name, pool);
	if ((unlinkat(files, PART, 0) && errno != ENOENT) ||
	    linkat(pool_fd, name, files, PART, 0) || renameat(files, PART, files, name))
		return cannot(name, pool);
	ret->n_found++;
	ret->bytes += st.st_size;
	return NULL;
}

struct err *cap_share(const char *capture, const char *pool, struct cap_shared *ret)
{
	_cleanup_close_ int in = open(capture, O_PATH | O_DIRECTORY | O_CLOEXEC),
			    files = -1, pool_fd = -1;
	const struct dirent *entry;
	struct err *err = NULL;
	bool is_new;
	DIR *d;
	int fd;

	files = in < 0 ? -1 : file_open_below(in, "files", O_RDONLY | O_DIRECTORY);
	if (files < 0)
		return err_errno("cannot open '%s/files'", capture);
	err = file_make_dir(pool, &pool_fd, &is_new);
	if (err)
		return err;
	fd = fcntl(files, F_DUPFD_CLOEXEC, 0);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		closep(&fd);
		return &err_nomem;
	}
	while (!err && (entry = readdir(d)))
		if (cap_name_is_safe(entry->d_name) && strcmp(entry->d_name, CAP_INDEX))
			err = share_one(files, entry->d_name, pool_fd, pool, ret);
	closedir(d);
	return err;
}
