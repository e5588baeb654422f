// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/cap_delta.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "capture/cap_elf.h"
#include "capture/cap_format.h"

#define MAGIC "FLDELTA1"
#define LEVEL 9
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

/* All of @p fd. @p ret: for free(). */
static struct err *read_all(int fd, uint64_t size, uint8_t **ret)
{
	*ret = malloc(size + 1);
	return *ret ? cap_read_at(fd, 0, *ret, size, "a start state") : &err_nomem;
}

static struct err *open_and_read(int dir_fd, const char *path, const char *shown,
				 uint8_t **ret, uint64_t *size)
{
	_cleanup_close_ int fd = -1;
	struct err *err = file_open_input(dir_fd, path, shown, CAP_DELTA_MOST, &fd, size);

	return err ?: read_all(fd, *size, ret);
}

static int window_log(uint64_t bytes)
{
	int log = 10;

	while (log < 27 && UINT64_C(1) << log < bytes)
		log++;
	return log;
}

struct err *cap_delta_write(int dir_fd, int base_fd, const char *base, int fd)
{
	_cleanup_free_ uint8_t *old = NULL, *new = NULL, *packed = NULL;
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct head head = { .magic = MAGIC };
	struct stat of_old, of_new;
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct err *err = NULL;
	size_t n = 0, most;

	if (!z || fstat(base_fd, &of_old) || fstat(fd, &of_new))
		return &err_nomem;
	snprintf(head.base, sizeof(head.base), "%s", base);
	most = ZSTD_compressBound(of_new.st_size);
	packed = malloc(most);
	err = packed ? read_all(base_fd, of_old.st_size, &old) : &err_nomem;
	if (!err)
		err = read_all(fd, of_new.st_size, &new);
	if (!err) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
		ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog,
				       window_log(of_old.st_size + of_new.st_size));
		ZSTD_CCtx_refPrefix(z, old, of_old.st_size);
		n = ZSTD_compress2(z, packed, most, new, of_new.st_size);
	}
	ZSTD_freeCCtx(z);
	if (!err && ZSTD_isError(n))
		err = err_new(ERR_OS, "cannot pack a start state: %s",
			      ZSTD_getErrorName(n));
	if (!err)
		err = new_file_open_in(&f, dir_fd, CAP_DELTA, CAP_DELTA);
	if (err)
		return err;
	fwrite(&head, sizeof(head), 1, f.stream);
	fwrite(packed, n, 1, f.stream);
	return new_file_commit(&f);
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
	err = file_open_input(dir_fd, path, shown, CAP_DELTA_MOST, &fd, size);
	if (!err)
		err = cap_delta_name(fd, *size, &name);
	if (!err && strcmp(name, head->base))
		return err_new(ERR_FORMAT,
			       "cannot use '%s', which start.delta is based on: its "
			       "contents are others now, it is damaged",
			       shown);
	return err ?: read_all(fd, *size, ret);
}

static struct err *unpack(const uint8_t *packed, size_t n, const uint8_t *base,
			  size_t base_bytes, const char *dir, uint8_t **ret,
			  uint64_t *bytes)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed, n);
	ZSTD_DCtx *z = ZSTD_createDCtx();
	size_t got;

	*ret = size <= CAP_DELTA_MOST ? malloc(size + 1) : NULL;
	if (!z || (!*ret && size <= CAP_DELTA_MOST)) {
		ZSTD_freeDCtx(z);
		return &err_nomem;
	}
	ZSTD_DCtx_refPrefix(z, base, base_bytes);
	got = *ret ? ZSTD_decompressDCtx(z, *ret, size, packed, n) : 0;
	ZSTD_freeDCtx(z);
	*bytes = size;
	return got == size && *ret ? NULL :
				     err_new(ERR_FORMAT,
					     "'%s/" CAP_DELTA "' is damaged: the start "
					     "state cannot be unpacked",
					     dir);
}

struct err *cap_delta_read(int dir_fd, const char *dir, int *ret, uint64_t *bytes)
{
	_cleanup_free_ uint8_t *delta = NULL, *base = NULL, *core = NULL;
	_cleanup_close_ int fd = -1;
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
	if (!err)
		err = unpack(delta + sizeof(head), n - sizeof(head), base, base_bytes,
			     dir, &core, bytes);
	if (err)
		return err;
	fd = memfd_create("start.core", MFD_CLOEXEC);
	if (fd < 0)
		return err_errno("cannot hold a start state in memory");
	err = cap_write_all(fd, core, *bytes, "start.core");
	if (!err)
		*ret = take_fd(&fd);
	return err;
}
