// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The worker's file system. Everything is read-only; over /dev/shm lies a file system in memory
 * with the input and, for the working directory and /tmp, what is written there: overlays, whose
 * upper layers are emptied behind each run that wrote anything.
 */

#include "faultlocate/reduce/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOM "/dev/shm/.faultline"
#define MOUNT_PRIVATE (1ul << 18) // sys/mount.h and linux/mount.h do not go together
#define MOUNT_REC (1ul << 14)
#define MOUNT_BIND (1ul << 12)

/* Directories with an overlay. */
static struct layer {
	const char *at; ///< NULL: none
	char upper[64], work[64];
	bool is_there;
} layers[2];

static bool is_bound;

static int do_mount(const char *from, const char *to, const char *type,
		    unsigned long flags, const char *data)
{
	return syscall(SYS_mount, from, to, type, flags, data);
}

static int do_umount(const char *path)
{
	return syscall(SYS_umount2, path, 2); // MNT_DETACH
}

static bool failed(struct worker_hello *h, const char *what)
{
	h->error = errno ?: EINVAL;
	snprintf(h->what, sizeof(h->what), "%s", what);
	return false;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

static bool lay(struct layer *l)
{
	char data[4096];

	mkdir(l->upper, 0777);
	mkdir(l->work, 0777);
	// Commas and colons would be options.
	if (strpbrk(l->at, ",:\\") ||
	    (size_t)snprintf(data, sizeof(data), "lowerdir=%s,upperdir=%s,workdir=%s",
			     l->at, l->upper, l->work) >= sizeof(data))
		return false;
	l->is_there = !do_mount("overlay", l->at, "overlay", 0, data);
	return l->is_there;
}

static bool lay_all(const struct fl_run_options *o)
{
	struct stat before, after;
	bool is_fine = true;

	if (stat(o->cwd, &before))
		return false;
	for (int i = 0; i < 2; i++) {
		if (layers[i].at && !lay(&layers[i]))
			is_fine = false;
		// What is mounted below /tmp is not in its overlay.
		if (layers[i].is_there &&
		    (stat(o->cwd, &after) || after.st_ino != before.st_ino)) {
			do_umount(layers[i].at);
			layers[i].is_there = false;
			layers[i].at = o->cwd;
			is_fine = lay(&layers[i]);
		}
	}
	return is_fine;
}

bool fl_mounts_make(const struct fl_run_options *o, const char *writable, bool has_pids,
		    struct worker_hello *ret)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	struct mount_attr rw = { .attr_clr = MOUNT_ATTR_RDONLY };

	if (do_mount(NULL, "/", NULL, MOUNT_REC | MOUNT_PRIVATE, NULL))
		return failed(ret, "mounts of its own");
	if (writable && do_mount(writable, writable, NULL, MOUNT_BIND, NULL))
		return failed(ret, writable);
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &ro, sizeof(ro)))
		return failed(ret, "read-only mounts");
	if (writable &&
	    syscall(SYS_mount_setattr, AT_FDCWD, writable, 0, &rw, sizeof(rw)))
		return failed(ret, writable);
	// The recorder writes there: to the process's memory, and to the kernel's tables.
	if (writable &&
	    (syscall(SYS_mount_setattr, AT_FDCWD, "/proc", AT_RECURSIVE, &rw,
		     sizeof(rw)) ||
	     syscall(SYS_mount_setattr, AT_FDCWD, "/sys", AT_RECURSIVE, &rw, sizeof(rw))))
		return failed(ret, "/proc");
	if (has_pids && do_mount("proc", "/proc", "proc", 0, NULL))
		return failed(ret, "/proc");
	if (do_mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"))
		return failed(ret, "/dev/shm");
	if (mkdir(ROOM, 0700) || mkdir(ROOM "/in", 0700))
		return failed(ret, ROOM);
	for (int i = 0; i < 2; i++) {
		snprintf(layers[i].upper, sizeof(layers[i].upper), ROOM "/upper%d", i);
		snprintf(layers[i].work, sizeof(layers[i].work), ROOM "/work%d", i);
	}
	layers[0].at = writable ? NULL : "/tmp";
	if (!is_below(o->cwd, "/tmp") && strcmp(o->cwd, "/"))
		layers[1].at = o->cwd;
	ret->is_unwritable = !lay_all(o);
	return true;
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	(void)st, (void)kind;
	return where->level ? remove(path) : 0;
}

/* @return whether something was written to @p dir. */
static bool has_any(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool has = false;

	while (d && !has && (e = readdir(d)))
		has = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return has;
}

/* Take away what was written. */
static void undress(const struct fl_run_options *o)
{
	bool is_dirty = false;

	for (int i = 0; i < 2; i++)
		is_dirty |= layers[i].is_there && has_any(layers[i].upper);
	if (!is_dirty)
		return;
	if (is_bound)
		do_umount(o->path);
	is_bound = false;
	for (int i = 2; i--;)
		if (layers[i].is_there)
			do_umount(layers[i].at);
	for (int i = 0; i < 2; i++) {
		layers[i].is_there = false;
		nftw(layers[i].upper, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		nftw(layers[i].work, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	}
	lay_all(o);
}

static bool write_input(struct fl_text input)
{
	int fd = open(FL_MOUNTS_INPUT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	size_t done = 0;

	while (fd >= 0 && done < input.size) {
		ssize_t n = write(fd, input.data + done, input.size - done);

		if (n <= 0)
			break;
		done += n;
	}
	if (fd >= 0)
		close(fd);
	return fd >= 0 && done == input.size;
}

bool fl_mounts_dress(const struct fl_run_options *o, struct fl_text input)
{
	int fd;

	undress(o);
	if (!write_input(input) || (chmod(FL_MOUNTS_INPUT, 0644), chdir(o->cwd)))
		return false;
	if (o->input != FL_RUN_FILE || is_bound)
		return true;
	if (access(o->path, F_OK)) {
		fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return false;
		close(fd);
	}
	is_bound = !do_mount(FL_MOUNTS_INPUT, o->path, NULL, MOUNT_BIND, NULL);
	return is_bound;
}
