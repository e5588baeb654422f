// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/give.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DEEPEST 8 ///< directories in each other; a bundle has fewer

/** A number that sudo told us. @return false: it did not. */
static bool told_id(const char *variable, uint32_t *ret)
{
	const char *text = secure_getenv(variable);
	char *end;
	unsigned long v;

	errno = 0;
	v = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	if (!text || errno || !(*text >= '0' && *text <= '9') || *end || v >= UINT32_MAX)
		return false;
	*ret = v;
	return true;
}

/** What is below directory @p dir_fd. Nothing is followed, no other file system entered. @return 0,
 * or -1 with errno. */
static int give_contents(int dir_fd, dev_t dev, uid_t uid, gid_t gid, int deepest)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		closep(&fd);
		return -1;
	}
	while (!ret && (e = readdir(d))) {
		_cleanup_close_ int sub = -1;
		struct stat st;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		ret = fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW);
		if (ret || st.st_uid || st.st_dev != dev ||
		    (!S_ISDIR(st.st_mode) && st.st_nlink > 1))
			continue;
		if (S_ISDIR(st.st_mode) && deepest) {
			sub = openat(dir_fd, e->d_name,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			ret = sub < 0 ? -1 :
					give_contents(sub, dev, uid, gid, deepest - 1);
		}
		if (!ret)
			ret = fchownat(dir_fd, e->d_name, uid, gid, AT_SYMLINK_NOFOLLOW);
	}
	closedir(d);
	return ret;
}

struct err *give_to_caller(int dir_fd)
{
	uint32_t uid, gid;
	struct stat st;

	if (getuid() || geteuid() || !told_id("SUDO_UID", &uid) ||
	    !told_id("SUDO_GID", &gid) || !uid)
		return NULL;
	if (fstat(dir_fd, &st) || st.st_uid || st.st_mode & 077)
		return NULL;
	if (give_contents(dir_fd, st.st_dev, uid, gid, DEEPEST) ||
	    fchown(dir_fd, uid, gid))
		return err_errno("cannot give the capture to user %" PRIu32, uid);
	return NULL;
}
