// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The tree of links is made by descriptors, never through a link: paths come from the
 * capture, which may be anybody's, and what it holds may have been made to lead elsewhere.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decode/pt/from_capture.h"

#define SYMFS "symfs"

/* Go down to directory @p name of *@p fd, making it. @return 0, or -1 with errno. */
static int descend(int *fd, const char *name)
{
	int next;

	if (file_act(*fd, FILE_NEW_DIR, name, NULL) && errno != EEXIST)
		return -1;
	next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -1;
	close(*fd);
	*fd = next;
	return 0;
}

/* Where file @p file lies, as seen from the bundle's directory; or, @p is_elsewhere, from
 * anywhere. */
static struct err *find_stored(const struct capture *c, uint32_t file, bool is_elsewhere,
			       char ret[PATH_MAX])
{
	size_t n = strlen(capture_dir(c));
	char path[PATH_MAX];
	struct err *err = capture_file_path(c, file, path, sizeof(path));

	if (err)
		return err;
	if (is_elsewhere)
		return realpath(path, ret) ? NULL : err_errno("cannot find '%s'", path);
	if (strncmp(path, capture_dir(c), n))
		return err_new(ERR_RANGE, "'%s' is not in the capture", path);
	for (; path[n] == '/'; n++)
		;
	strcpy(ret, path + n);
	return NULL;
}

/* Link @p path below directory @p fd (consumed) to @p stored; if that is relative, it lies in
 * the directory above it. @return false: that is no name for a file, or another one has it. */
static bool link_file(int fd, const char *path, const char *stored)
{
	_cleanup_close_ int dir = fd;
	char target[2 * PATH_MAX], old[2 * PATH_MAX], name[NAME_MAX + 1];
	size_t n_up = 1, at = 0;
	ssize_t n;

	for (path += strspn(path, "/");; path += strspn(path, "/")) {
		size_t part = strcspn(path, "/");

		if (!part || part > NAME_MAX || (part <= 2 && !strncmp(path, "..", part)))
			return false;
		snprintf(name, sizeof(name), "%.*s", (int)part, path);
		path += part;
		if (!*path)
			break;
		if (descend(&dir, name))
			return false;
		n_up++;
	}
	while (*stored != '/' && n_up-- && at < PATH_MAX)
		at += sprintf(target + at, "../");
	snprintf(target + at, sizeof(target) - at, "%s", stored);
	if (!file_act(dir, FILE_NEW_LINK, name, target))
		return true;
	n = errno == EEXIST ? readlinkat(dir, name, old, sizeof(old)) : -1;
	return n >= 0 && (size_t)n == strlen(target) && !memcmp(old, target, n);
}

static struct err *open_symfs(const struct capture *c, const char *path, int *ret)
{
	_cleanup_close_ int dir = -1;
	bool is_new;

	if (path)
		return file_make_dir(path, ret, &is_new);
	dir = openat(capture_dir_fd(c), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || descend(&dir, SYMFS))
		return err_errno("cannot make %s/" SYMFS, capture_dir(c));
	*ret = take_fd(&dir);
	return NULL;
}

struct err *dec_symfs_make(const struct capture *c, const char *path, uint64_t *unlinked)
{
	const struct cap_info *info = capture_info(c);
	_cleanup_close_ int dir = -1;
	struct err *err = open_symfs(c, path, &dir);

	*unlinked = 0;
	for (size_t i = 0; !err && i < info->n_files; i++) {
		char stored[PATH_MAX];
		_cleanup_err_ struct err *none = find_stored(c, i + 1, path, stored);
		int fd = none ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 || !link_file(fd, info->files[i].path, stored))
			++*unlinked;
	}
	return err;
}
