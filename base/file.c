// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINKS_MAX 40 ///< as many as the kernel follows

static const struct file_maker *maker; ///< NULL: we make them

void file_set_maker(const struct file_maker *m)
{
	maker = m;
}

/* ---- below a directory ------------------------------------------------------------------ */

/* Part by part: openat2() can do the same at once, where there is one. */
int file_open_below(int dir_fd, const char *path, int flags)
{
	_cleanup_close_ int dir = -1;
	char part[NAME_MAX + 1];
	size_t n;

	for (;; path += n + 1) {
		n = strcspn(path, "/");
		if (!n || n > NAME_MAX || (n == 2 && !memcmp(path, "..", 2))) {
			errno = EXDEV;
			return -1;
		}
		memcpy(part, path, n);
		part[n] = 0;
		if (!path[n])
			break;
		int next = openat(dir < 0 ? dir_fd : dir, part,
				  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		closep(&dir);
		dir = next;
		if (dir < 0)
			return -1;
	}
	if (flags & O_CREAT && maker)
		return file_act(dir < 0 ? dir_fd : dir, FILE_NEW, part, NULL);
	flags |= O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | (flags & O_CREAT ? O_EXCL : 0);
	return openat(dir < 0 ? dir_fd : dir, part, flags, 0600);
}

int file_act(int dir_fd, enum file_act act, const char *name, const char *other)
{
	if (maker)
		return maker->act(dir_fd, act, name, other);
	switch (act) {
	case FILE_NEW:
		return file_open_below(dir_fd, name, O_WRONLY | O_CREAT);
	case FILE_NEW_DIR:
		return mkdirat(dir_fd, name, 0700);
	case FILE_NEW_LINK:
		return symlinkat(other, dir_fd, name);
	case FILE_RENAME:
		return renameat(dir_fd, name, dir_fd, other);
	case FILE_REMOVE:
		return unlinkat(dir_fd, name, 0);
	case FILE_REMOVE_DIR:
		return unlinkat(dir_fd, name, AT_REMOVEDIR);
	}
	errno = EINVAL;
	return -1;
}

int file_move(int from_fd, int to_fd, const char *name)
{
	errno = EPERM;
	return maker ? -1 : renameat(from_fd, name, to_fd, name);
}

/** Open @p path, wherever it is. */
static int open_at(int dir_fd, const char *path, int flags)
{
	return dir_fd == AT_FDCWD ? open(path, flags | O_CLOEXEC | O_NOCTTY) :
				    file_open_below(dir_fd, path, flags);
}

struct err *file_open_input(int dir_fd, const char *path, const char *shown,
			    uint64_t most, int *ret, uint64_t *bytes)
{
	// To open a device can do something already: first see what it is.
	_cleanup_close_ int seen = open_at(dir_fd, path, O_PATH), fd = -1;
	struct stat st;

	if (seen < 0 || fstat(seen, &st))
		return err_errno("cannot open '%s'", shown);
	if (S_ISREG(st.st_mode)) {
		fd = open_at(dir_fd, path, O_RDONLY | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &st))
			return err_errno("cannot open '%s'", shown);
	}
	if (!S_ISREG(st.st_mode))
		return err_new(ERR_FORMAT, "cannot read '%s': it is %s", shown,
			       S_ISLNK(st.st_mode) ? "a link" : "no regular file");
	if ((uint64_t)st.st_size > most)
		return err_new(ERR_FORMAT,
			       "cannot read '%s': it has %" PRIu64
			       " bytes, more than the %" PRIu64 " that it may have",
			       shown, (uint64_t)st.st_size, most);
	if (bytes)
		*bytes = st.st_size;
	*ret = take_fd(&fd);
	return NULL;
}

struct err *file_read_input(const char *path, uint64_t most, char **ret, size_t *bytes)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	uint64_t size = 0, done = 0;
	struct err *err = file_open_input(AT_FDCWD, path, path, most, &fd, &size);
	ssize_t n = 1;

	if (err)
		return err;
	text = malloc(size + 1);
	if (!text)
		return &err_nomem;
	while (done < size && n > 0) {
		n = read(fd, text + done, size - done);
		done += n > 0 ? n : 0;
	}
	if (n < 0)
		return err_errno("cannot read '%s'", path);
	if (done < size)
		return err_new(ERR_OS, "cannot read '%s': it became shorter", path);
	text[size] = 0;
	*ret = take_ptr(&text);
	*bytes = size;
	return NULL;
}

/* ---- what the user names ---------------------------------------------------------------- */

/** Where a path leads to: a name in a directory. */
struct place {
	int dir_fd;
	char *name;
	bool is_there;
	bool is_magic; ///< a link of /proc, which leads to no name
	struct stat st;
};

static void place_deinit(struct place *p)
{
	closep(&p->dir_fd);
	free(p->name);
}

/** Open the directory that @p path is in, below @p p's, and take its name there. */
static int enter(struct place *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = strndup(path, slash ? slash - path + 1 : 0);
	char *name = strdup(slash ? slash + 1 : path);
	int fd = dir && name ? openat(p->dir_fd, *dir ? dir : ".",
				      O_PATH | O_DIRECTORY | O_CLOEXEC) :
			       -1;

	if (p->dir_fd >= 0)
		close(p->dir_fd);
	p->dir_fd = fd;
	free(p->name);
	p->name = name;
	return fd < 0 ? -1 : 0;
}

/** Whose link or pipe is it: ours, or the directory's owner's? */
static bool is_trusted(const struct place *p)
{
	struct stat dir;

	return p->st.st_uid == geteuid() ||
	       (!fstat(p->dir_fd, &dir) && p->st.st_uid == dir.st_uid);
}

static struct err *of_stranger(const struct place *p, const char *path)
{
	return err_new(
		ERR_PERMISSION,
		"cannot write '%s': %s is a %s of another user (uid %u); remove it, "
		"or name another file",
		path, p->name, S_ISLNK(p->st.st_mode) ? "link" : "file", p->st.st_uid);
}

static struct err *find_place(const char *path, struct place *p)
{
	char link[PATH_MAX];
	struct statfs fs;

	if (enter(p, path))
		return err_errno("cannot write '%s'", path);
	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t n;

		p->is_there = !fstatat(p->dir_fd, p->name, &p->st, AT_SYMLINK_NOFOLLOW);
		if (!p->is_there && errno != ENOENT)
			return err_errno("cannot write '%s'", path);
		if (!p->is_there || !S_ISLNK(p->st.st_mode))
			return NULL;
		if (!is_trusted(p))
			return of_stranger(p, path);
		p->is_magic = !fstatfs(p->dir_fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
		if (p->is_magic)
			return NULL;
		n = readlinkat(p->dir_fd, p->name, link, sizeof(link));
		if (n < 0 || n == sizeof(link))
			return err_errno("cannot write '%s'", path);
		link[n] = 0;
		if (enter(p, link))
			return err_errno("cannot write '%s'", path);
	}
	errno = ELOOP;
	return err_errno("cannot write '%s'", path);
}

struct err *file_make_dir(const char *path, int *ret, bool *is_new)
{
	size_t n = strlen(path);
	_cleanup_free_ char *bare = NULL;
	_cleanup_(place_deinit) struct place p = { .dir_fd = AT_FDCWD };
	_cleanup_close_ int fd = -1;
	struct err *err;
	struct stat st;

	if (file_is_stdout(path))
		return err_new(ERR_USAGE,
			       "cannot write to stdout: it takes a file, not a "
			       "directory (one named '-' is './-')");
	if (maker)
		return maker->make_dir(path, ret, is_new);
	while (n > 1 && path[n - 1] == '/')
		n--;
	bare = strndup(path, n);
	if (!bare)
		return &err_nomem;
	err = find_place(bare, &p);
	if (err)
		return err;
	*is_new = !mkdirat(p.dir_fd, p.name, 0700);
	if (!*is_new && errno != EEXIST)
		return err_errno("cannot create '%s'", path);
	fd = openat(p.dir_fd, p.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return err_errno("cannot open '%s'", path);
	if (st.st_uid != geteuid())
		return err_new(ERR_PERMISSION,
			       "cannot write into '%s': it belongs to another user (uid "
			       "%u); choose another directory with -o",
			       path, st.st_uid);
	if (st.st_mode & 022 && !(st.st_mode & S_ISVTX))
		return err_new(ERR_PERMISSION,
			       "cannot write into '%s': others may write to it (chmod "
			       "go-w, or choose another directory with -o)",
			       path);
	*ret = take_fd(&fd);
	return NULL;
}

int file_dir_is_empty(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!d) {
		closep(&fd);
		return -1;
	}
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			break;
	closedir(d);
	return !entry;
}

/* ---- new files -------------------------------------------------------------------------- */

static struct err *partial_name(struct new_file *f)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return err_errno("cannot write '%s'", f->path);
	snprintf(f->partial, sizeof(f->partial), ".%016" PRIx64 ".part", number);
	return NULL;
}

/** The file beside its place, which was made as @p fd; -1 with errno: it was not. */
static struct err *partial_open(struct new_file *f, int fd)
{
	if (fd < 0) {
		f->partial[0] = 0;
		return err_errno("cannot write '%s'", f->path);
	}
	f->stream = fdopen(fd, "w");
	if (f->stream)
		return NULL;
	close(fd);
	return &err_nomem;
}

/** A pipe or a device: written as it is, if it is still the one that was looked at. */
static struct err *open_as_is(struct new_file *f, const struct place *p)
{
	// What /proc leads to may be a regular file that has something in it.
	int how = p->is_magic ? O_APPEND : O_NOFOLLOW;
	_cleanup_close_ int fd = -1;
	struct stat st;

	f->is_as_is = true;
	if (!is_trusted(p))
		return of_stranger(p, f->path);
	fd = openat(p->dir_fd, p->name, O_WRONLY | O_NOCTTY | O_CLOEXEC | how);
	if (fd < 0 || fstat(fd, &st))
		return err_errno("cannot write '%s'", f->path);
	if (!p->is_magic && (st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino))
		return err_new(ERR_OS, "cannot write '%s': it was replaced meanwhile",
			       f->path);
	f->stream = fdopen(fd, "w");
	if (!f->stream)
		return &err_nomem;
	take_fd(&fd);
	return NULL;
}

/** What was printed until now comes before it. */
static struct err *open_stdout(struct new_file *f)
{
	_cleanup_close_ int fd = -1;

	f->is_as_is = true;
	fflush(stdout);
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_errno("cannot write to stdout");
	f->stream = fdopen(fd, "w");
	if (!f->stream)
		return &err_nomem;
	take_fd(&fd);
	return NULL;
}

static struct err *open_made(struct new_file *f, mode_t mode)
{
	int fd = -1;
	struct err *err = maker->open(f->path, mode, &fd, &f->handle, &f->is_as_is);

	if (err)
		return err;
	f->stream = fdopen(fd, "w");
	if (f->stream)
		return NULL;
	close(fd);
	return &err_nomem;
}

bool file_is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

struct err *new_file_open(struct new_file *f, const char *path, mode_t mode)
{
	_cleanup_(place_deinit) struct place p = { .dir_fd = AT_FDCWD };
	struct err *err;

	*f = (struct new_file){ .path = strdup(file_is_stdout(path) ? "stdout" : path) };
	if (!f->path)
		return &err_nomem;
	if (file_is_stdout(path))
		return open_stdout(f);
	if (maker)
		return open_made(f, mode);
	err = find_place(path, &p);
	if (err)
		return err;
	if (p.is_there && !S_ISREG(p.st.st_mode))
		return open_as_is(f, &p);
	f->dir_fd = take_fd(&p.dir_fd);
	f->name = take_ptr(&p.name);
	err = partial_name(f);
	return err   ?:
		       partial_open(f, openat(f->dir_fd, f->partial,
					      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
						      O_CLOEXEC,
					      mode));
}

struct err *new_file_check(const char *path)
{
	_cleanup_(place_deinit) struct place p = { .dir_fd = AT_FDCWD };
	struct err *err = file_is_stdout(path) ? NULL : find_place(path, &p);

	if (err || file_is_stdout(path) || p.is_magic)
		return err;
	if (p.is_there && !S_ISREG(p.st.st_mode) && !is_trusted(&p))
		return of_stranger(&p, path);
	if (p.is_there && S_ISDIR(p.st.st_mode))
		errno = EISDIR;
	else if ((p.is_there && !S_ISREG(p.st.st_mode)) ||
		 !faccessat(p.dir_fd, ".", W_OK | X_OK, AT_EACCESS))
		return NULL;
	return err_errno("cannot write '%s'", path);
}

struct err *new_file_open_in(struct new_file *f, int dir_fd, const char *name,
			     const char *shown)
{
	struct err *err;

	*f = (struct new_file){ .path = strdup(shown), .name = strdup(name) };
	f->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	if (!f->path || !f->name)
		return &err_nomem;
	if (f->dir_fd < 0)
		return err_errno("cannot write '%s'", shown);
	err = partial_name(f);
	return err ?: partial_open(f, file_act(f->dir_fd, FILE_NEW, f->partial, NULL));
}

struct err *new_file_spool(struct new_file *f)
{
	int fd = memfd_create("faultline", MFD_CLOEXEC);
	FILE *memory = fd < 0 ? NULL : fdopen(fd, "w");

	if (!memory) {
		if (fd >= 0)
			close(fd);
		return err_errno("cannot write '%s'", f->path);
	}
	f->spooled = f->stream;
	f->stream = memory;
	return NULL;
}

/** What waited in memory. @return 0, or -1 with errno. */
static int unspool(struct new_file *f)
{
	char piece[65536];
	ssize_t n;

	if (fflush(f->stream))
		return -1;
	for (off_t at = 0; (n = pread(fileno(f->stream), piece, sizeof(piece), at)) > 0;
	     at += n)
		if (fwrite(piece, 1, n, f->spooled) != (size_t)n)
			return -1;
	fclose(f->stream);
	f->stream = take_ptr(&f->spooled);
	return n;
}

/** Nothing of it is kept back. @return 0, or -1 with errno. */
static int write_out(struct new_file *f)
{
	if (f->spooled && unspool(f))
		return -1;
	if (fflush(f->stream))
		return -1;
	if (!ferror(f->stream))
		return 0;
	errno = EIO; // some write failed long ago
	return -1;
}

struct err *new_file_commit(struct new_file *f)
{
	uint32_t handle = f->handle;

	if (write_out(f) || fclose(take_ptr(&f->stream)) ||
	    (f->name && file_act(f->dir_fd, FILE_RENAME, f->partial, f->name)))
		return err_errno("cannot write '%s'", f->path);
	f->partial[0] = 0;
	f->handle = 0;
	return handle ? maker->end(handle, true) : NULL;
}

void new_file_deinit(struct new_file *f)
{
	if (f->stream)
		fclose(take_ptr(&f->stream));
	if (f->spooled)
		fclose(take_ptr(&f->spooled));
	if (f->partial[0])
		file_act(f->dir_fd, FILE_REMOVE, f->partial, NULL);
	f->partial[0] = 0;
	if (f->handle)
		err_destroy(maker->end(f->handle, false));
	f->handle = 0;
	if (f->name)
		closep(&f->dir_fd);
	free(take_ptr(&f->name));
	free(take_ptr(&f->path));
}
