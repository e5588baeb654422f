// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/cap_pack.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "capture/cap_format.h"

#define LEVEL 9 ///< 19 takes ten times as long, and a tenth less room

struct err *cap_pack_read(int fd, uint64_t size, uint8_t **ret)
{
	*ret = malloc(size + 1);
	return *ret ? cap_read_at(fd, 0, *ret, size, "a kept file") : &err_nomem;
}

static int window_log(uint64_t bytes)
{
	int log = 10;

	while (log < 27 && UINT64_C(1) << log < bytes)
		log++;
	return log;
}

struct err *cap_pack_put(FILE *out, const uint8_t *base, size_t base_bytes,
			 const uint8_t *bytes, size_t n)
{
	size_t most = ZSTD_compressBound(n), packed_bytes;
	_cleanup_free_ uint8_t *packed = malloc(most);
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (!z || !packed) {
		ZSTD_freeCCtx(z);
		return &err_nomem;
	}
	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, window_log(base_bytes + n));
	ZSTD_CCtx_refPrefix(z, base, base_bytes);
	packed_bytes = ZSTD_compress2(z, packed, most, bytes, n);
	ZSTD_freeCCtx(z);
	if (ZSTD_isError(packed_bytes))
		return err_new(ERR_OS, "cannot pack a file: %s",
			       ZSTD_getErrorName(packed_bytes));
	fwrite(packed, packed_bytes, 1, out);
	return NULL;
}

/* A file in memory of @p n bytes, which stay what they are. */
static struct err *hold(const uint8_t *bytes, uint64_t n, int *ret)
{
	_cleanup_close_ int fd =
		memfd_create("faultline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct err *err;

	if (fd < 0)
		return err_errno("cannot hold a file in memory");
	err = cap_write_all(fd, bytes, n, "a file in memory");
	if (err)
		return err;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW))
		return err_errno("cannot hold a file in memory");
	*ret = take_fd(&fd);
	return NULL;
}

struct err *cap_pack_take(const uint8_t *packed, size_t n, const uint8_t *base,
			  size_t base_bytes, const char *shown, int *ret, uint64_t *bytes)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed, n);
	bool is_fine = size <= CAP_PACK_MOST;
	_cleanup_free_ uint8_t *raw = is_fine ? malloc(size + 1) : NULL;
	ZSTD_DCtx *z = ZSTD_createDCtx();

	if (!z || (is_fine && !raw)) {
		ZSTD_freeDCtx(z);
		return &err_nomem;
	}
	ZSTD_DCtx_refPrefix(z, base, base_bytes);
	is_fine = is_fine && ZSTD_decompressDCtx(z, raw, size, packed, n) == size;
	ZSTD_freeDCtx(z);
	if (!is_fine)
		return err_new(ERR_FORMAT, "'%s' is damaged: it cannot be unpacked",
			       shown);
	*bytes = size;
	return hold(raw, size, ret);
}

struct err *cap_pack_open(int dir_fd, const char *name, const char *shown, int *ret,
			  uint64_t *bytes)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ uint8_t *packed = NULL;
	char path[PATH_MAX], told[PATH_MAX];
	uint64_t n;
	struct err *err;

	snprintf(path, sizeof(path), "%s" CAP_PACKED, name);
	snprintf(told, sizeof(told), "%s" CAP_PACKED, shown);
	err = file_open_input(dir_fd, path, told, CAP_PACK_MOST, &fd, &n);
	if (!err)
		err = cap_pack_read(fd, n, &packed);
	return err ?: cap_pack_take(packed, n, NULL, 0, told, ret, bytes);
}

struct err *cap_pack_file(int dir_fd, const char *name, int fd, uint64_t bytes)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ uint8_t *raw = NULL;
	char packed[NAME_MAX + 1];
	struct err *err = cap_pack_read(fd, bytes, &raw);

	snprintf(packed, sizeof(packed), "%s" CAP_PACKED, name);
	if (!err)
		err = new_file_open_in(&f, dir_fd, packed, packed);
	if (!err)
		err = cap_pack_put(f.stream, NULL, 0, raw, bytes);
	return err ?: new_file_commit(&f);
}
