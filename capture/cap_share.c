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
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/cap_delta.h"
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

/* ---- start states ----------------------------------------------------------------------------- */

/* The start state that others of executable @p exe are told by: the one that came first. */
static struct err *find_base(int pool_fd, const char *pool, const char *exe, int capture,
			     int core, uint64_t size, char base[NAME_MAX], bool *is_new)
{
	_cleanup_free_ char *name = NULL;
	char link[NAME_MAX];
	struct err *err;
	ssize_t n;

	snprintf(link, sizeof(link), CAP_SHARE_BASE "%s", exe);
	n = readlinkat(pool_fd, link, base, NAME_MAX - 1);
	base[n > 0 ? n : 0] = 0;
	if (n > 0 && cap_name_is_safe(base) && !faccessat(pool_fd, base, F_OK, 0))
		return NULL;
	if (n > 0 && unlinkat(pool_fd, link, 0) && errno != ENOENT) // it led to nothing
		return cannot(link, pool);
	err = cap_delta_name(core, size, &name);
	if (err)
		return err;
	if ((linkat(capture, "start.core", pool_fd, name, 0) && errno != EEXIST) ||
	    (symlinkat(name, pool_fd, link) && errno != EEXIST))
		return cannot("start.core", pool);
	*is_new = true;
	if (fchmodat(pool_fd, name, 0400, 0))
		return cannot(name, pool);
	n = readlinkat(pool_fd, link, base,
		       NAME_MAX - 1); // another one may have been first
	if (n <= 0)
		return cannot(link, pool);
	base[n] = 0;
	return NULL;
}

/* The program's own executable, as files/ has it: the first that was kept. @return for free(), NULL. */
static char *first_stored(int files)
{
	_cleanup_free_ char *text = NULL;
	uint64_t n;
	struct err *err = cap_read_list(files, CAP_INDEX, &text, &n);
	char *name = err || !n ? NULL : strdup(text);

	err_destroy(err);
	if (name && cap_name_is_safe(name) &&
	    strlen(name) < NAME_MAX - strlen(CAP_SHARE_BASE))
		return name;
	free(name);
	return NULL;
}

/* Instead of start.core: a base, which the store has, and what differs. */
static struct err *share_start(int capture, int files, int pool_fd, const char *pool,
			       struct cap_shared *ret)
{
	_cleanup_free_ char *exe = first_stored(files);
	_cleanup_close_ int core = -1, base_fd = -1, made = -1;
	char base[NAME_MAX];
	uint64_t size, made_bytes;
	bool is_new = false;
	struct err *err;

	if (!exe || faccessat(capture, "start.core", F_OK, 0))
		return NULL;
	err = file_open_input(capture, "start.core", "start.core", CAP_DELTA_MOST, &core,
			      &size);
	if (err) { // large ones stay what they are
		err_destroy(err);
		return NULL;
	}
	err = find_base(pool_fd, pool, exe, capture, core, size, base, &is_new);
	if (err)
		return err;
	if (linkat(pool_fd, base, files, base, 0) && errno != EEXIST)
		return cannot(base, pool);
	base_fd = file_open_below(files, base, O_RDONLY);
	if (base_fd < 0)
		return cannot(base, pool);
	err = cap_delta_write(capture, base_fd, base, core);
	// What is not what it was is not believed.
	if (!err)
		err = cap_delta_read(capture, pool, &made, &made_bytes);
	if (!err && !are_same(core, made))
		err = err_new(ERR_FORMAT,
			      "cannot share a start state: it came out changed");
	if (!err && unlinkat(capture, "start.core", 0))
		err = cannot("start.core", pool);
	if (err) {
		unlinkat(capture, CAP_DELTA, 0);
		return err;
	}
	ret->n_new += is_new;
	ret->n_found += !is_new;
	ret->bytes += is_new ? 0 : size;
	return NULL;
}

/* The index is the same for all of a program, too. */
static struct err *share_index(int files, int pool_fd, const char *pool,
			       struct cap_shared *ret)
{
	_cleanup_close_ int own = file_open_below(files, CAP_INDEX, O_RDONLY), kept = -1;
	_cleanup_free_ char *name = NULL;
	struct stat st;
	struct err *err;

	if (own < 0 || fstat(own, &st) || st.st_nlink > 1)
		return own < 0 ? cannot(CAP_INDEX, pool) : NULL;
	err = cap_delta_name(own, st.st_size, &name);
	if (err)
		return err;
	if (!linkat(files, CAP_INDEX, pool_fd, name, 0) && ++ret->n_new)
		return fchmod(own, 0400) ? cannot(CAP_INDEX, pool) : NULL;
	kept = file_open_below(pool_fd, name, O_RDONLY);
	if (kept < 0)
		return cannot(CAP_INDEX, pool);
	if (!are_same(own, kept))
		return NULL;
	if ((unlinkat(files, PART, 0) && errno != ENOENT) ||
	    linkat(pool_fd, name, files, PART, 0) ||
	    renameat(files, PART, files, CAP_INDEX))
		return cannot(CAP_INDEX, pool);
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
	if (!err)
		err = share_start(in, files, pool_fd, pool, ret);
	return err ?: share_index(files, pool_fd, pool, ret);
}
