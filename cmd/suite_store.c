// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `faultline suite store': what captures share. A file that is a link of no capture's any more has
 * one name left, the store's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/cap_delta.h"
#include "capture/cap_pack.h"
#include "capture/capture.h"
#include "cmd/suite_int.h"

struct contents {
	size_t n, n_unused, n_damaged;
	uint64_t bytes, unused_bytes, saved_bytes;
};

/* Is file @p fd what @p name says: of that size, with that build-id? */
static bool is_as_called(int fd, const char *name, uint64_t bytes)
{
	const char *size = strrchr(name, '-');
	_cleanup_free_ char *id = NULL;
	unsigned long long want;
	struct err *err;
	bool is_same;
	char extra;

	if (!size || sscanf(size + 1, "%llx%c", &want, &extra) != 1 || want != bytes)
		return false;
	if (*name == 'h') { // of contents that have no build-id
		err = cap_delta_name(fd, bytes, &id);
		is_same = !err && !strcmp(id, name);
		err_destroy(err);
		return is_same;
	}
	id = capture_build_id(fd);
	return id && strlen(id) == (size_t)(size - name) &&
	       !strncmp(id, name, size - name);
}

/* The same of what @p fd, file @p name of @p dir_fd, unpacks to, if it is packed. */
static bool is_whole(int dir_fd, int fd, const char *name, uint64_t bytes)
{
	_cleanup_free_ char *plain = strdup(name);
	size_t n = strlen(name), packed = strlen(CAP_PACKED);
	_cleanup_close_ int in_memory = -1;
	_cleanup_err_ struct err *err = NULL;

	if (!plain || n < packed || strcmp(name + n - packed, CAP_PACKED))
		return plain && is_as_called(fd, name, bytes);
	plain[n - packed] = 0;
	err = cap_pack_open(dir_fd, plain, plain, &in_memory, &bytes);
	return !err && is_as_called(in_memory, plain, bytes);
}

/* @return whether captures call a file so: ID-SIZE or hHASH-SIZE, in hex, of a packed one with CAP_PACKED
 * behind it (doc/bundle.md). */
static bool is_stored_name(const char *name)
{
	size_t id, size;
	const char *end;

	name += *name == 'h';
	id = strspn(name, "0123456789abcdef");
	size = name[id] == '-' ? strspn(name + id + 1, "0123456789abcdef") : 0;
	end = name + id + 1 + size;
	return id && size && (!*end || !strcmp(end, CAP_PACKED));
}

/* Is it a store, and nothing else? Nothing of anybody else's is removed. */
static struct err *check_names(DIR *d, const char *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    !is_stored_name(entry->d_name) &&
		    strncmp(entry->d_name, CAP_SHARE_BASE, strlen(CAP_SHARE_BASE)))
			return err_new(
				ERR_USAGE,
				"cannot take '%s' for a store: '%s' is no file of a "
				"capture's",
				dir, text_line(entry->d_name));
	rewinddir(d);
	return NULL;
}

static struct err *look_at(int dir_fd, const char *dir, const char *name, bool collects,
			   struct contents *c)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return err_errno("cannot read '%s/%s'", dir, name);
	if (!S_ISREG(st.st_mode))
		return NULL;
	c->n++;
	c->bytes += st.st_size;
	if (!is_whole(dir_fd, fd, name, st.st_size)) {
		c->n_damaged++;
		printf("damaged: %s/%s (%zu captures have it)\n", dir, text_line(name),
		       (size_t)st.st_nlink - 1);
	}
	if (st.st_nlink > 2)
		c->saved_bytes += (st.st_nlink - 2) * st.st_size;
	// Asked again behind all that was read: a capture may have taken it.
	if (fstat(fd, &st))
		return err_errno("cannot read '%s/%s'", dir, name);
	if (st.st_nlink > 1)
		return NULL;
	c->n_unused++;
	c->unused_bytes += st.st_size;
	return collects && unlinkat(dir_fd, name, 0) ?
		       err_errno("cannot remove '%s/%s'", dir, name) :
		       NULL;
}

/* Links to what is gone. */
static struct err *drop_links(DIR *d, const char *dir)
{
	const struct dirent *entry;

	rewinddir(d);
	while ((entry = readdir(d)))
		if (!strncmp(entry->d_name, CAP_SHARE_BASE, strlen(CAP_SHARE_BASE)) &&
		    faccessat(dirfd(d), entry->d_name, F_OK, 0) &&
		    unlinkat(dirfd(d), entry->d_name, 0))
			return err_errno("cannot remove '%s/%s'", dir, entry->d_name);
	return NULL;
}

struct err *cmd_suite_store(const struct suite_options *o, int *status)
{
	DIR *d = opendir(o->dir);
	const struct dirent *entry;
	struct contents c = {};
	struct err *err = NULL;

	if (!d)
		return err_errno("cannot open store '%s'", o->dir);
	err = check_names(d, o->dir);
	while (!err && (entry = readdir(d)))
		if (is_stored_name(entry->d_name))
			err = look_at(dirfd(d), o->dir, entry->d_name, o->collects, &c);
	if (!err && o->collects)
		err = drop_links(d, o->dir);
	closedir(d);
	if (err)
		return err;
	printf("%zu files, %.1f MiB; captures would have %.1f MiB more without\n", c.n,
	       c.bytes / 1048576.0, c.saved_bytes / 1048576.0);
	if (c.n_unused)
		printf("%zu files, %.1f MiB, are no capture's: %s\n", c.n_unused,
		       c.unused_bytes / 1048576.0,
		       o->collects ? "removed" : "--collect removes them");
	*status = c.n_damaged ? SUITE_SOME_FAILED : SUITE_PASSED;
	return NULL;
}
