// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/cap_delta.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "capture/cap_elf.h"
#include "capture/cap_format.h"
#include "capture/cap_pack.h"

#define MAGIC "FLDELTA1"
#define NAME_BYTES 64 ///< of the base, with NULs behind it

struct head {
	char magic[8];
	char base[NAME_BYTES];
};

struct err *cap_delta_name(int fd, uint64_t size, char **ret)
{
	uint64_t hash;
	struct err *err = cap_hash_file(fd, size, &hash);

	*ret = NULL;
	if (!err && asprintf(ret, "h%016" PRIx64 "-%" PRIx64, hash, size) < 0)
		return &err_nomem;
	return err;
}

static struct err *open_and_read(int dir_fd, const char *path, const char *shown,
				 uint8_t **ret, uint64_t *size)
{
	_cleanup_close_ int fd = -1;
	struct err *err = file_open_input(dir_fd, path, shown, CAP_PACK_MOST, &fd, size);

	return err ?: cap_pack_read(fd, *size, ret);
}

struct err *cap_delta_write(int dir_fd, int base_fd, const char *base, int fd)
{
	_cleanup_free_ uint8_t *old = NULL, *new = NULL;
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct head head = { .magic = MAGIC };
	struct stat of_old, of_new;
	struct err *err;

	if (fstat(base_fd, &of_old) || fstat(fd, &of_new))
		return err_errno("cannot read a start state");
	snprintf(head.base, sizeof(head.base), "%s", base);
	err = cap_pack_read(base_fd, of_old.st_size, &old);
	if (!err)
		err = cap_pack_read(fd, of_new.st_size, &new);
	if (!err)
		err = new_file_open_in(&f, dir_fd, CAP_DELTA, CAP_DELTA);
	if (err)
		return err;
	fwrite(&head, sizeof(head), 1, f.stream);
	err = cap_pack_put(f.stream, old, of_old.st_size, new, of_new.st_size);
	return err ?: new_file_commit(&f);
}

/* The base that @p head names, which must be what its name says. */
static struct err *read_base(int dir_fd, const char *dir, const struct head *head,
			     uint8_t **ret, uint64_t *size)
{
	char path[NAME_BYTES + 8], shown[PATH_MAX];
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = -1;
	struct err *err;

	snprintf(path, sizeof(path), "files/%s", head->base);
	snprintf(shown, sizeof(shown), "%s/%s", dir, path);
	err = file_open_input(dir_fd, path, shown, CAP_PACK_MOST, &fd, size);
	if (!err)
		err = cap_delta_name(fd, *size, &name);
	if (!err && strcmp(name, head->base))
		return err_new(ERR_FORMAT,
			       "cannot use '%s', which start.delta is based on: its "
			       "contents are others now, it is damaged",
			       shown);
	return err ?: cap_pack_read(fd, *size, ret);
}

struct err *cap_delta_read(int dir_fd, const char *dir, int *ret, uint64_t *bytes)
{
	_cleanup_free_ uint8_t *delta = NULL, *base = NULL;
	char shown[PATH_MAX];
	uint64_t n, base_bytes;
	struct head head;
	struct err *err;

	snprintf(shown, sizeof(shown), "%s/" CAP_DELTA, dir);
	err = open_and_read(dir_fd, CAP_DELTA, shown, &delta, &n);
	if (err)
		return err;
	if (n < sizeof(head))
		return err_new(ERR_TRUNCATED, "'%s' ends too early", shown);
	memcpy(&head, delta, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) || head.base[NAME_BYTES - 1] ||
	    !cap_name_is_safe(head.base))
		return err_new(ERR_FORMAT, "'%s' is damaged", shown);
	err = read_base(dir_fd, dir, &head, &base, &base_bytes);
	return err   ?:
		       cap_pack_take(delta + sizeof(head), n - sizeof(head), base,
				     base_bytes, shown, ret, bytes);
}
