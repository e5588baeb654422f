// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Opening a bundle: is it ours, is it of our time, is it whole.
 */
#define LOG_ROOM "capture"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/cap_elf.h"
#include "capture/cap_format.h"
#include "capture/cap_manifest.h"
#include "capture/cap_pack.h"
#include "capture/cap_walk.h"
#include "capture/perf_data.h"

void capture_close(struct capture *c)
{
	if (!c)
		return;
	if (c->around_fd != c->dir_fd)
		closep(&c->around_fd);
	closep(&c->dir_fd);
	for (size_t i = 0; c->held && i < c->info.n_files; i++)
		closep(&c->held->of[i].fd);
	free(c->held);
	cap_info_deinit(&c->info);
	free(c->dir);
	free(c);
}

void capture_closep(struct capture **c)
{
	capture_close(*c);
}

const char *capture_dir(const struct capture *c)
{
	return c->dir;
}

const struct cap_info *capture_info(const struct capture *c)
{
	return &c->info;
}

int capture_dir_fd(const struct capture *c)
{
	return c->dir_fd;
}

mode_t capture_mode(const struct capture *c)
{
	struct stat dir, log;
	mode_t mode = 0600;

	if (fstat(c->dir_fd, &dir) || fstatat(c->dir_fd, "events.flt", &log, 0))
		return mode;
	// Who may search the directory, and read what is in it.
	return mode | ((dir.st_mode & 011) << 2 & log.st_mode);
}

struct err *cap_read_list(int dir_fd, const char *path, char **ret, uint64_t *bytes)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	struct err *err = file_open_input(dir_fd, path, path, CAP_LIST_MAX, &fd, bytes);

	if (err)
		return err;
	text = malloc(*bytes + 1);
	if (!text)
		return &err_nomem;
	err = cap_read_at(fd, 0, text, *bytes, path);
	if (err)
		return err;
	text[*bytes] = 0;
	*ret = take_ptr(&text);
	return NULL;
}

struct err *cap_input(const struct capture *c, const char *name, int *fd, uint64_t *bytes)
{
	char shown[PATH_MAX];

	snprintf(shown, sizeof(shown), "%s/%s", c->dir, name);
	return file_open_input(c->dir_fd, name, shown, UINT64_MAX, fd, bytes);
}

/** Take the next text of an index. @return NULL when none is left. */
static char *next_text(const char **at, const char *end)
{
	const char *nul = *at < end ? memchr(*at, 0, end - *at) : NULL;
	char *copy = nul ? strdup(*at) : NULL;

	if (copy)
		text_flatten(copy);
	*at = nul ? nul + 1 : end;
	return copy;
}

static struct err *parse_index(struct cap_info *info, const char *at, size_t size)
{
	const char *end = at + size;
	size_t most = 0;

	for (size_t i = 0; i < size; i++)
		most += !at[i];
	if (most / 3 > CAP_WALK_ITEMS_MAX)
		return err_new(ERR_FORMAT, "files/index has more than %d files",
			       CAP_WALK_ITEMS_MAX);
	info->files = calloc(most / 3 + 1, sizeof(*info->files));
	if (!info->files)
		return &err_nomem;
	for (; info->n_files < most / 3; info->n_files++) {
		struct cap_file *f = &info->files[info->n_files];

		f->stored = next_text(&at, end);
		f->build_id = next_text(&at, end);
		f->path = next_text(&at, end);
		if (!f->stored || !f->build_id || !f->path)
			return &err_nomem;
		if (!cap_name_is_safe(f->stored))
			return err_new(ERR_FORMAT, "files/index is damaged");
		if (!f->build_id[0]) {
			free(f->build_id);
			f->build_id = NULL;
		}
	}
	return NULL;
}

/** Without a manifest, and for a followed process, the kept files are those of the index;
 * a last entry that breaks off is of a copy that was being made. */
static struct err *read_index(struct capture *c)
{
	_cleanup_free_ char *text = NULL;
	uint64_t bytes;
	struct err *err = cap_read_list(c->around_fd, "files/" CAP_INDEX, &text, &bytes);

	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	return err ?: parse_index(&c->info, text, bytes);
}

/** Of a followed process: the directory of the capture that it is part of. */
static struct err *open_around(struct capture *c)
{
	c->around_fd = openat(c->dir_fd, CAP_AROUND, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return c->around_fd < 0 ? err_errno("cannot open %s", CAP_AROUND) : NULL;
}

/** The recorder was killed: what is known without a manifest. */
static struct err *describe_unfinished(struct capture *c)
{
	struct cap_info *info = &c->info;
	struct err *err;

	info->version = CAP_VERSION;
	info->is_unfinished = true;
	info->stack_limit = 8 << 20;
	info->missing = calloc(1, sizeof(*info->missing));
	info->argv = calloc(1, sizeof(*info->argv));
	info->is_child = faccessat(c->dir_fd, "files", F_OK, 0) &&
			 !faccessat(c->dir_fd, CAP_AROUND "/files", F_OK, 0);
	if (!info->missing || !info->argv)
		return &err_nomem;
	info->missing[0] = strdup("the recording was not finished (no manifest.json)");
	if (!info->missing[0])
		return &err_nomem;
	info->n_missing = 1;
	err = info->is_child ? open_around(c) : NULL;
	if (!err)
		err = read_index(c);
	return err || info->is_child ? err : cap_children_scan(c);
}

/** What the contents of kept files are, the capture's own manifest says, in the index's order; an
 * unfinished one's, or one that cannot be read, does not. */
static void take_hashes(struct capture *c)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	_cleanup_err_ struct err *err = cap_manifest_load(c->around_fd, &j);
	const cJSON *f;
	size_t i = 0;

	cJSON_ArrayForEach(f, cJSON_GetObjectItemCaseSensitive(j, "files"))
	{
		const char *stored = cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(f, "stored"));
		const char *hash =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(f, "hash"));

		if (i < c->info.n_files && stored && hash &&
		    !strcmp(stored, c->info.files[i].stored))
			c->info.files[i].hash = strtoull(hash, NULL, 10);
		i++;
	}
}

/** A followed process' manifest leaves the kept files to the capture around it. */
static struct err *take_shared_files(struct capture *c)
{
	struct err *err = open_around(c);

	free(c->info.files);
	c->info.files = NULL;
	if (!err)
		err = read_index(c);
	if (!err && !c->info.files)
		err = err_new(ERR_NOT_FOUND,
			      "it is part of a capture, and not where that left it: no "
			      "%s/files/%s",
			      CAP_AROUND, CAP_INDEX);
	if (!err)
		take_hashes(c);
	for (size_t i = 0; !err && i < c->info.n_heap_sites; i++)
		if (c->info.heap_sites[i].file > c->info.n_files)
			err = err_new(ERR_FORMAT,
				      "manifest.json: \"heap_sites\" is wrong");
	for (size_t i = 0; !err && i < c->info.n_store_sites; i++)
		if (c->info.store_sites[i].file > c->info.n_files)
			err = err_new(ERR_FORMAT,
				      "manifest.json: \"store_sites\" is wrong");
	for (size_t i = 0; !err && i < c->info.pt.n_breakpoints; i++)
		if (c->info.pt.breakpoints[i].file > c->info.n_files)
			err = err_new(ERR_FORMAT,
				      "manifest.json: \"breakpoints\" is wrong");
	return err;
}

static struct err *open_manifest(struct capture *c)
{
	struct err *err = cap_manifest_read(c->dir_fd, &c->info);

	c->has_manifest = !err;
	if (!err)
		return c->info.is_child ? take_shared_files(c) : NULL;
	if (err->code != ERR_NOT_FOUND)
		return err;
	err_destroy(err);
	if (faccessat(c->dir_fd, "events.flt", R_OK, 0))
		return err_new(
			ERR_NOT_FOUND,
			"not a faultline capture (no manifest.json, no events.flt)");
	return describe_unfinished(c);
}

struct err *capture_open(const char *dir, struct capture **ret)
{
	_cleanup_(capture_closep) struct capture *c = calloc(1, sizeof(*c));
	struct err *err;

	if (!c)
		return &err_nomem;
	c->dir_fd = c->around_fd = -1;
	c->dir = strdup(dir);
	if (!c->dir)
		return &err_nomem;
	if (perf_data_is(dir))
		return err_new(
			ERR_UNSUPPORTED,
			"cannot open '%s' as a capture: it is a perf.data, which "
			"holds the control flow and not the values of registers and "
			"memory (`faultline decode' shows the flow; for values use "
			"`faultline record', or `faultline record --snapshot' for a "
			"crash)",
			dir);
	c->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dir_fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_new(
			errno == ENOENT ? ERR_NOT_FOUND : ERR_FORMAT,
			"cannot open capture '%s': %s (a capture is a directory that "
			"`faultline record' makes)",
			dir, strerror(errno));
	if (c->dir_fd < 0)
		return err_errno("cannot open capture '%s'", dir);
	c->around_fd = c->dir_fd;
	err = open_manifest(c);
	if (err)
		return err_prefix(err, "cannot open capture '%s'", dir);
	c->held = calloc(1, sizeof(*c->held) + c->info.n_files * sizeof(*c->held->of));
	if (!c->held)
		return &err_nomem;
	for (size_t i = 0; i < c->info.n_files; i++)
		c->held->of[i].fd = -1;
	*ret = take_ptr(&c);
	return NULL;
}

/** The copy's name ends in its size: one that is cut short is not what was mapped. */
static struct err *check_size(const struct cap_file *f, uint64_t has)
{
	const char *size = strrchr(f->stored, '-');
	unsigned long long bytes;
	char extra;

	if (!size || sscanf(size + 1, "%llx%c", &bytes, &extra) != 1 || bytes == has)
		return NULL;
	return err_new(
		ERR_TRUNCATED,
		"cannot read 'files/%s': it has %llu bytes, not %llu: the copy of %s is damaged",
		f->stored, (unsigned long long)has, bytes, f->path);
}

static struct err *check_hash(const struct cap_file *f, int fd, uint64_t bytes)
{
	uint64_t hash;
	struct err *err = f->hash ? cap_hash_file(fd, bytes, &hash) : NULL;

	if (!err && f->hash && hash != f->hash)
		err = err_new(
			ERR_FORMAT,
			"cannot read 'files/%s', which other captures have, too: its "
			"contents are others now: the copy of %s is damaged",
			f->stored, f->path);
	return err;
}

/** What other captures have, too, somebody may have written to: looked at once. */
static struct err *check_shared(const struct capture *c, uint32_t file, int fd)
{
	bool *is_whole = &c->held->of[file - 1].is_whole;
	struct stat st;
	struct err *err;

	if (*is_whole || fstat(fd, &st) || st.st_nlink < 2)
		return NULL;
	err = check_hash(&c->info.files[file - 1], fd, st.st_size);
	*is_whole = !err;
	return err;
}

/** Of a file that is packed: what it unpacks to, from then on held. */
static struct err *hold_packed(const struct capture *c, uint32_t file, const char *path)
{
	const struct cap_file *f = &c->info.files[file - 1];
	_cleanup_close_ int fd = -1;
	uint64_t bytes;
	struct err *err = cap_pack_open(c->around_fd, path, path, &fd, &bytes);

	if (err)
		return err_prefix(err, "cannot read the copy of %s", f->path);
	err = check_size(f, bytes);
	if (!err)
		err = check_hash(f, fd, bytes);
	if (!err && bytes > CAP_PACK_ALL_MOST - c->held->unpacked_bytes)
		err = err_new(ERR_FORMAT,
			      "cannot read 'files/%s': packed files of a capture have "
			      "%llu MiB at most",
			      f->stored, (unsigned long long)CAP_PACK_ALL_MOST >> 20);
	if (err)
		return err;
	c->held->unpacked_bytes += bytes;
	c->held->of[file - 1].fd = take_fd(&fd);
	return NULL;
}

static struct err *open_packed(const struct capture *c, uint32_t file, const char *path,
			       int *ret)
{
	struct err *err = c->held->of[file - 1].fd < 0 ? hold_packed(c, file, path) :
							 NULL;

	if (err)
		return err;
	*ret = fcntl(c->held->of[file - 1].fd, F_DUPFD_CLOEXEC, 0);
	return *ret < 0 ? err_errno("cannot open '%s'", path) : NULL;
}

struct err *capture_file_open(const struct capture *c, uint32_t file, int *ret)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], packed[PATH_MAX + sizeof(CAP_PACKED)];
	const struct cap_file *f;
	struct err *err;
	uint64_t bytes;

	if (!file || file > c->info.n_files)
		return err_new(ERR_RANGE, "the capture has no file %u", file);
	f = &c->info.files[file - 1];
	if (!f->stored)
		return err_new(ERR_NOT_FOUND, "the capture does not hold %s", f->path);
	snprintf(path, sizeof(path), "files/%s", f->stored);
	snprintf(packed, sizeof(packed), "%s" CAP_PACKED, path);
	if (c->held->of[file - 1].fd >= 0 || !faccessat(c->around_fd, packed, F_OK, 0))
		return open_packed(c, file, path, ret);
	err = file_open_input(c->around_fd, path, path, UINT64_MAX, &fd, &bytes);
	if (err && err->code == ERR_NOT_FOUND)
		err->code = ERR_TRUNCATED; // it was kept
	if (!err)
		err = check_size(f, bytes);
	if (!err)
		err = check_shared(c, file, fd);
	if (!err)
		*ret = take_fd(&fd);
	return err;
}

/** Let the capture have file @p file, open as @p fd, not packed, too. */
static struct err *place_unpacked(const struct capture *c, uint32_t file, int fd)
{
	const char *stored = c->info.files[file - 1].stored;
	_cleanup_close_ int files =
		file_open_below(c->around_fd, "files", O_RDONLY | O_DIRECTORY);
	_cleanup_(new_file_deinit) struct new_file to = {};
	char piece[65536];
	struct err *err;
	ssize_t n;

	if (files < 0)
		return err_errno("cannot open '%s/files'", c->dir);
	if (!faccessat(files, stored, F_OK, 0))
		return NULL;
	err = new_file_open_in(&to, files, stored, stored);
	if (err)
		return err;
	for (off_t at = 0; (n = pread(fd, piece, sizeof(piece), at)) > 0; at += n)
		fwrite(piece, 1, n, to.stream);
	return n < 0 ? err_errno("cannot read 'files/%s'", stored) : new_file_commit(&to);
}

struct err *capture_file_path(const struct capture *c, uint32_t file, char *buf,
			      size_t buf_bytes)
{
	_cleanup_close_ int fd = -1;
	struct err *err = capture_file_open(c, file, &fd);

	if (!err && c->held->of[file - 1].fd >= 0)
		err = place_unpacked(c, file, fd);
	if (err)
		return err;
	if ((size_t)snprintf(buf, buf_bytes, "%s/%sfiles/%s", c->dir,
			     c->info.is_child ? CAP_AROUND "/" : "",
			     c->info.files[file - 1].stored) >= buf_bytes)
		return err_new(ERR_RANGE, "the path of %s is too long",
			       c->info.files[file - 1].path);
	return NULL;
}
