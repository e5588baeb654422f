// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Copies of files that many captures have, once: hard links into a directory that they share. A
 * capture stays what it was, whoever reads it or takes the others away.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/cap_delta.h"
#include "capture/cap_format.h"
#include "capture/cap_manifest.h"
#include "capture/cap_pack.h"
#include "capture/cap_share.h"
#include "capture/cap_walk.h"

#define PIECE 65536
#define TRIES 10	    ///< to find what is not collected at that instant
#define PART ".shared.part" ///< a link, until it takes the copy's place
#define COMMON ".common"    ///< members of the manifest, until their name is known

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

/*
 * File @p name of @p files gets a link in @p pool, as @p shared; or, where that has one, it comes as @p part
 * into @p files. From then on it is of no account whether it is collected.
 */
static struct err *meet(int files, const char *name, int pool_fd, const char *pool,
			const char *shared, const char *part, bool *is_new)
{
	*is_new = false;
	for (;;) {
		if (unlinkat(files, part, 0) && errno != ENOENT)
			return cannot(name, pool);
		if (!linkat(pool_fd, shared, files, part, 0))
			return NULL;
		if (errno != ENOENT)
			return cannot(name, pool);
		*is_new = !linkat(files, name, pool_fd, shared, 0);
		if (*is_new) // nobody writes to what others have
			return fchmodat(files, name, 0400, 0) ? cannot(name, pool) : NULL;
		if (errno != EEXIST)
			return cannot(name, pool);
	}
}

static bool are_one(int dir, const char *name, int other_dir, const char *other)
{
	struct stat a, b;

	return !fstatat(dir, name, &a, 0) && !fstatat(other_dir, other, &b, 0) &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static struct err *is_another(const char *name, const char *pool)
{
	return err_new(ERR_FORMAT,
		       "cannot share '%s': the one in '%s' has other contents: it is "
		       "damaged, remove it",
		       name, pool);
}

/* File @p name in @p files, with what @p pool has as @p shared. */
static struct err *share_one(int files, const char *name, int pool_fd, const char *pool,
			     const char *shared, struct cap_shared *ret)
{
	_cleanup_close_ int own = file_open_below(files, name, O_RDONLY), kept = -1;
	struct stat st;
	struct err *err;
	bool is_new;

	if (own < 0 || fstat(own, &st))
		return cannot(name, pool);
	if (!S_ISREG(st.st_mode))
		return NULL;
	err = meet(files, name, pool_fd, pool, shared, PART, &is_new);
	ret->n_new += !err && is_new;
	if (err || is_new || are_one(files, name, files, PART))
		return err;
	kept = file_open_below(files, PART, O_RDONLY);
	if (kept < 0)
		return cannot(name, pool);
	if (!are_same(own, kept))
		return is_another(shared, pool);
	if (renameat(files, PART, files, name))
		return cannot(name, pool);
	ret->n_found++;
	ret->bytes += st.st_size;
	return NULL;
}

/* ---- packed -------------------------------------------------------------------------------------- */

/* File @p name as it was, whether it is packed in @p files or not. */
static struct err *open_own(int files, const char *name, int *ret, uint64_t *bytes)
{
	struct err *err = file_open_input(files, name, name, CAP_PACK_MOST, ret, bytes);

	if (!err || err->code != ERR_NOT_FOUND)
		return err;
	err_destroy(err);
	return cap_pack_open(files, name, name, ret, bytes);
}

/* Let @p pool have file @p name, whose contents are @p own, packed, or @p files what that has. */
static struct err *meet_packed(int files, const char *name, const char *packed, int own,
			       uint64_t bytes, int pool_fd, const char *pool,
			       bool *is_new)
{
	struct err *err = NULL;

	for (int i = 0; i < TRIES; i++) {
		err_destroy(err);
		err = NULL;
		if (faccessat(pool_fd, packed, F_OK, 0) &&
		    faccessat(files, packed, F_OK, 0))
			err = cap_pack_file(files, name, own, bytes);
		if (!err)
			err = meet(files, packed, pool_fd, pool, packed, PART CAP_PACKED,
				   is_new);
		if (!err || err->saved_errno != ENOENT)
			break;
	}
	if (err && !faccessat(files, name, F_OK, 0))
		unlinkat(files, packed, 0);
	return err;
}

/* The same of file @p name, whose contents are @p own, packed as @p packed. */
static struct err *share_packed(int files, const char *name, const char *packed, int own,
				uint64_t bytes, int pool_fd, const char *pool,
				struct cap_shared *ret)
{
	_cleanup_close_ int kept = -1;
	uint64_t kept_bytes;
	struct err *err;
	bool is_new;

	if (are_one(files, packed, pool_fd, packed))
		return NULL;
	err = meet_packed(files, name, packed, own, bytes, pool_fd, pool, &is_new);
	if (err)
		return err;
	// What is not what it was is not believed.
	err = cap_pack_open(files, is_new ? name : PART, name, &kept, &kept_bytes);
	if (err && err->code != ERR_FORMAT)
		return err;
	if (err || !are_same(own, kept)) {
		err_destroy(err);
		return is_another(packed, pool);
	}
	if ((!is_new && renameat(files, PART CAP_PACKED, files, packed)) ||
	    (unlinkat(files, name, 0) && errno != ENOENT))
		return cannot(name, pool);
	ret->n_new += is_new;
	ret->n_found += !is_new;
	ret->bytes += is_new ? 0 : bytes;
	return NULL;
}

/* File @p name, packed as long as all that are have at most @p most bytes, which becomes less. */
static struct err *share_kept(int files, const char *name, int pool_fd, const char *pool,
			      uint64_t *most, struct cap_shared *ret)
{
	char packed[NAME_MAX + 1];
	_cleanup_close_ int own = -1;
	uint64_t bytes;
	struct err *err;

	if (strlen(name) + strlen(CAP_PACKED) > NAME_MAX)
		return NULL;
	snprintf(packed, sizeof(packed), "%s" CAP_PACKED, name);
	err = open_own(files, name, &own, &bytes);
	if (err || bytes > *most) { // a large one
		err_destroy(err);
		return share_one(files, name, pool_fd, pool, name, ret);
	}
	*most -= bytes;
	return share_packed(files, name, packed, own, bytes, pool_fd, pool, ret);
}

/* What the index of @p files names. */
static struct err *share_all_kept(int files, const char *index, uint64_t index_bytes,
				  int pool_fd, const char *pool, struct cap_shared *ret)
{
	const char *at = index, *end = index + index_bytes;
	uint64_t most = CAP_PACK_ALL_MOST;
	struct err *err = NULL;

	for (int i = 0; at < end && !err; i++, at += strlen(at) + 1)
		if (i % 3 == 0 && cap_name_is_safe(at)) // ID, build-id, path
			err = share_kept(files, at, pool_fd, pool, &most, ret);
	return err;
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

/* The same, which @p files has then, too. */
static struct err *take_base(int pool_fd, const char *pool, const char *exe, int capture,
			     int files, int core, uint64_t size, char base[NAME_MAX],
			     bool *is_new)
{
	struct err *err = NULL;

	for (int i = 0; i < TRIES; i++) {
		err_destroy(err);
		err = find_base(pool_fd, pool, exe, capture, core, size, base, is_new);
		if (!err && linkat(pool_fd, base, files, base, 0) && errno != EEXIST)
			err = cannot(base, pool);
		if (!err || err->saved_errno != ENOENT)
			break;
	}
	return err;
}

/* Instead of start.core: a base, which the store has, and what differs. @p exe: the program's own
 * executable, as files/ has it, the first that was kept. */
static struct err *share_start(int capture, int files, const char *exe, int pool_fd,
			       const char *pool, struct cap_shared *ret)
{
	_cleanup_close_ int core = -1, base_fd = -1, made = -1;
	char base[NAME_MAX];
	uint64_t size, made_bytes;
	bool is_new = false;
	struct err *err;

	if (!cap_name_is_safe(exe) || strlen(exe) >= NAME_MAX - strlen(CAP_SHARE_BASE) ||
	    faccessat(capture, "start.core", F_OK, 0))
		return NULL;
	err = file_open_input(capture, "start.core", "start.core", CAP_PACK_MOST, &core,
			      &size);
	if (err) { // large ones stay what they are
		err_destroy(err);
		return NULL;
	}
	err = take_base(pool_fd, pool, exe, capture, files, core, size, base, &is_new);
	if (err)
		return err;
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

/* ---- what is the same for all of a program ------------------------------------------------------- */

/* File @p name in @p files, under the name that its contents give it. @p shared: for free(). */
static struct err *share_by_contents(int files, const char *name, int pool_fd,
				     const char *pool, char **shared,
				     struct cap_shared *ret)
{
	_cleanup_close_ int own = file_open_below(files, name, O_RDONLY);
	struct stat st;
	struct err *err;

	*shared = NULL;
	if (own < 0 || fstat(own, &st))
		return cannot(name, pool);
	err = cap_delta_name(own, st.st_size, shared);
	return err ?: share_one(files, name, pool_fd, pool, *shared, ret);
}

static struct err *write_json(int dir, const char *name, const cJSON *j)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ char *text = cJSON_PrintUnformatted(j);
	struct err *err = text ? new_file_open_in(&f, dir, name, name) : &err_nomem;

	if (err)
		return err;
	fputs(text, f.stream);
	return new_file_commit(&f);
}

/* The members of the manifest @p j that others have, too, come into a file of their own. */
static struct err *share_members(int capture, int files, cJSON *j, int pool_fd,
				 const char *pool, struct cap_shared *ret)
{
	_cleanup_(cap_json_deletep) cJSON *common = cap_manifest_part(j);
	_cleanup_free_ char *name = NULL;
	struct err *err = common ? write_json(files, COMMON, common) : &err_nomem;

	if (!err)
		err = share_by_contents(files, COMMON, pool_fd, pool, &name, ret);
	if (!err && renameat(files, COMMON, files, name))
		err = cannot("manifest.json", pool);
	if (!err && !cap_manifest_refer(j, name))
		err = &err_nomem;
	return err ?: write_json(capture, "manifest.json", j);
}

static struct err *share_manifest(int capture, int files, int pool_fd, const char *pool,
				  struct cap_shared *ret)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	_cleanup_free_ char *text = NULL;
	uint64_t bytes;
	struct err *err = cap_read_list(capture, "manifest.json", &text, &bytes);

	if (!err)
		err = cap_walk_parse(text, "manifest.json", &j);
	if (err || cap_manifest_common(j))
		return err;
	return share_members(capture, files, j, pool_fd, pool, ret);
}

struct err *cap_share(const char *capture, const char *pool, struct cap_shared *ret)
{
	_cleanup_close_ int in = open(capture, O_PATH | O_DIRECTORY | O_CLOEXEC),
			    files = -1, pool_fd = -1;
	_cleanup_free_ char *index = NULL, *name = NULL;
	uint64_t bytes;
	bool is_new;
	struct err *err;

	files = in < 0 ? -1 : file_open_below(in, "files", O_RDONLY | O_DIRECTORY);
	if (files < 0)
		return err_errno("cannot open '%s/files'", capture);
	err = cap_read_list(files, CAP_INDEX, &index, &bytes);
	if (!err)
		err = file_make_dir(pool, &pool_fd, &is_new);
	if (!err)
		err = share_all_kept(files, index, bytes, pool_fd, pool, ret);
	if (!err)
		err = share_start(in, files, index, pool_fd, pool, ret);
	if (!err)
		err = share_by_contents(files, CAP_INDEX, pool_fd, pool, &name, ret);
	if (!err)
		err = share_manifest(in, files, pool_fd, pool, ret);
	unlinkat(files, PART, 0);
	unlinkat(files, PART CAP_PACKED, 0);
	return err;
}
