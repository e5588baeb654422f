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
#include "capture/cap_walk.h"
#include "capture/perf_data.h"

void capture_close(struct capture *c)
{
	if (!c)
		return;
	cap_info_deinit(&c->info);
	if (c->around_fd != c->dir_fd)
		closep(&c->around_fd);
	closep(&c->dir_fd);
	free(c->is_whole);
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
	_cleanup_free_ char *text = NULL;
	cJSON *j = NULL;
	const cJSON *f;
	uint64_t bytes;
	size_t i = 0;
	struct err *err = cap_read_list(c->around_fd, "manifest.json", &text, &bytes);

	if (!err)
		err = cap_walk_parse(text, "manifest.json", &j);
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
	cJSON_Delete(j);
	err_destroy(err);
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
	_cleanup_free_ char *text = NULL;
	uint64_t bytes;
	struct err *err = cap_read_list(c->dir_fd, "manifest.json", &text, &bytes);

	if (!err) {
		c->has_manifest = true;
		err = cap_manifest_parse(text, &c->info);
		return err || !c->info.is_child ? err : take_shared_files(c);
	}
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
	c->is_whole = calloc(c->info.n_files + 1, sizeof(*c->is_whole));
	if (!c->is_whole)
		return &err_nomem;
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

/** What other captures have, too, somebody may have written to: looked at once. */
static struct err *check_shared(const struct capture *c, uint32_t file, int fd)
{
	const struct cap_file *f = &c->info.files[file - 1];
	uint64_t hash;
	struct stat st;
	struct err *err;

	if (!f->hash || !c->is_whole || c->is_whole[file - 1] || fstat(fd, &st) ||
	    st.st_nlink < 2)
		return NULL;
	err = cap_hash_file(fd, st.st_size, &hash);
	if (!err && hash != f->hash)
		err = err_new(
			ERR_FORMAT,
			"cannot read 'files/%s', which other captures have, too: its "
			"contents are others now: the copy of %s is damaged",
			f->stored, f->path);
	c->is_whole[file - 1] = !err;
	return err;
}

struct err *capture_file_open(const struct capture *c, uint32_t file, int *ret)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	const struct cap_file *f;
	struct err *err;
	uint64_t bytes;

	if (!file || file > c->info.n_files)
		return err_new(ERR_RANGE, "the capture has no file %u", file);
	f = &c->info.files[file - 1];
	if (!f->stored)
		return err_new(ERR_NOT_FOUND, "the capture does not hold %s", f->path);
	snprintf(path, sizeof(path), "files/%s", f->stored);
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

struct err *capture_file_path(const struct capture *c, uint32_t file, char *buf,
			      size_t buf_bytes)
{
	_cleanup_close_ int fd = -1;
	struct err *err = capture_file_open(c, file, &fd);

	if (err)
		return err;
	if ((size_t)snprintf(buf, buf_bytes, "%s/%sfiles/%s", c->dir,
			     c->info.is_child ? CAP_AROUND "/" : "",
			     c->info.files[file - 1].stored) >= buf_bytes)
		return err_new(ERR_RANGE, "the path of %s is too long",
			       c->info.files[file - 1].path);
	return NULL;
}
