// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * vFile: files as the program saw them, from the capture's own copies: so symbols are right on
 * whatever machine this is. Nothing else can be read, nothing written.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "debug/stub.h"

#define PATH_MOST 4096

/* The protocol's numbers of errors and flags ("File-I/O Remote Protocol Extension"). */
enum {
	FILE_ENOENT = 2,
	FILE_EBADF = 9,
	FILE_EACCES = 13,
	FILE_EINVAL = 22,
	FILE_EMFILE = 24
};
enum { FILE_WRITES = 3 | 0x8 | 0x200 | 0x400 };

static void fail(struct dbg_stub *st, int number)
{
	dbg_print(&st->reply, "F-1,%x", number);
}

static bool take_path(struct dbg_cursor *c, char path[PATH_MOST])
{
	size_t n = dbg_take_bytes(c, (uint8_t *)path, PATH_MOST - 1);

	path[n] = 0;
	return n > 0;
}

static struct dbg_file *take_file(struct dbg_stub *st, struct dbg_cursor *c)
{
	uint64_t i;

	if (!dbg_take_hex(c, &i) || i >= DBG_FILES_MOST || !st->files[i].is_open)
		return NULL;
	return &st->files[i];
}

static void close_file(struct dbg_file *f)
{
	if (f->is_open && f->fd >= 0)
		close(f->fd);
	dbg_text_deinit(&f->text);
	*f = (struct dbg_file){};
}

void dbg_files_close(struct dbg_stub *st)
{
	for (size_t i = 0; i < DBG_FILES_MOST; i++)
		close_file(&st->files[i]);
}

/* @return whether @p there is what @p path means: the capture has the names that links lead to, and
 * the name of the dynamic linker, which is in the executable, is a link's on many systems. */
static bool is_named(const char *there, const char *path, bool is_exact)
{
	return !strcmp(is_exact ? there : basename(there),
		       is_exact ? path : basename(path));
}

/* /proc/PID/NAME, as far as the capture tells: gdb's `info proc'. @return whether it does. */
static bool make_proc(struct dbg_stub *st, const char *path, struct dbg_text *to)
{
	const struct cap_info *info = st->session.info;
	const char *name, *comm = "";
	struct dec_thread t = {};
	char root[32];
	size_t n = snprintf(root, sizeof(root), "/proc/%u/", info->pid);
	struct err *err;

	if (strncmp(path, root, n))
		return false;
	name = path + n;
	err = dbg_session_thread(&st->session, info->pid, &t);
	if (!err)
		comm = t.name;
	err_destroy(err);
	if (!strcmp(name, "maps")) {
		dbg_object_maps(st, to);
	} else if (!strcmp(name, "cmdline")) {
		for (char **arg = info->argv; arg && *arg; arg++)
			dbg_put(to, *arg, strlen(*arg) + 1);
	} else if (!strcmp(name, "comm")) {
		dbg_print(to, "%s\n", comm);
	} else if (!strcmp(name, "status")) {
		dbg_print(to, "Name:\t%s\nTgid:\t%u\nPid:\t%u\n", comm, info->pid,
			  info->pid);
	} else {
		return false;
	}
	return true;
}

/* What the capture has under the name @p path. @return 0, or a number of an error. */
static int find(struct dbg_stub *st, const char *path, struct dbg_file *f)
{
	const struct cap_info *info = st->session.info;

	f->fd = -1;
	if (make_proc(st, path, &f->text))
		return 0;
	for (int is_exact = 1; is_exact >= 0; is_exact--)
		for (size_t i = 0; i < info->n_files; i++) {
			struct err *err;

			if (!info->files[i].path ||
			    !is_named(info->files[i].path, path, is_exact))
				continue;
			err = capture_file_open(st->session.capture, i + 1, &f->fd);
			if (!err)
				return 0;
			err_destroy(err);
		}
	return FILE_ENOENT;
}

static void open_file(struct dbg_stub *st, struct dbg_cursor *c)
{
	char path[PATH_MOST];
	uint64_t flags;
	size_t i = 0;
	int number;

	if (!take_path(c, path) || !dbg_take(c, ",") || !dbg_take_hex(c, &flags)) {
		fail(st, FILE_EINVAL);
		return;
	}
	if (flags & FILE_WRITES) {
		fail(st, FILE_EACCES);
		return;
	}
	while (i < DBG_FILES_MOST && st->files[i].is_open)
		i++;
	if (i == DBG_FILES_MOST) {
		fail(st, FILE_EMFILE);
		return;
	}
	number = find(st, path, &st->files[i]);
	st->files[i].is_open = !number;
	if (number)
		fail(st, number);
	else
		dbg_print(&st->reply, "F%zx", i);
}

static void read_file(struct dbg_stub *st, struct dbg_cursor *c)
{
	char buf[DBG_PACKET_MOST / 2 - 32];
	struct dbg_file *f = take_file(st, c);
	uint64_t size, offset;
	ssize_t n;

	if (!f || !dbg_take(c, ",") || !dbg_take_hex(c, &size) || !dbg_take(c, ",") ||
	    !dbg_take_hex(c, &offset)) {
		fail(st, FILE_EBADF);
		return;
	}
	size = size < sizeof(buf) ? size : sizeof(buf);
	if (f->fd >= 0) {
		n = pread(f->fd, buf, size, offset);
	} else {
		uint64_t left =
			offset < f->text.bytes.size ? f->text.bytes.size - offset : 0;

		n = size < left ? size : left;
		memcpy(buf, (f->text.bytes.data ?: "") + (n ? offset : 0), n);
	}
	if (n < 0) {
		fail(st, FILE_EINVAL);
		return;
	}
	dbg_print(&st->reply, "F%zx;", n);
	dbg_put_binary(&st->reply, buf, n);
}

static void put_big_endian(struct dbg_text *to, uint64_t value, int bytes)
{
	char buf[8];

	for (int i = 0; i < bytes; i++)
		buf[i] = value >> 8 * (bytes - 1 - i);
	dbg_put_binary(to, buf, bytes);
}

static void stat_file(struct dbg_stub *st, struct dbg_cursor *c)
{
	struct dbg_file *f = take_file(st, c);
	struct stat sb = { .st_mode = S_IFREG | 0444, .st_nlink = 1 };

	if (!f || (f->fd >= 0 && fstat(f->fd, &sb))) {
		fail(st, FILE_EBADF);
		return;
	}
	if (f->fd < 0)
		sb.st_size = f->text.bytes.size;
	dbg_print(&st->reply, "F40;");
	put_big_endian(&st->reply, 0, 4);
	put_big_endian(&st->reply, sb.st_ino, 4);
	put_big_endian(&st->reply, sb.st_mode, 4); // Linux has the protocol's numbers
	put_big_endian(&st->reply, 1, 4);
	put_big_endian(&st->reply, 0, 4); // whose it is does not matter
	put_big_endian(&st->reply, 0, 4);
	put_big_endian(&st->reply, 0, 4);
	put_big_endian(&st->reply, sb.st_size, 8);
	put_big_endian(&st->reply, 4096, 8);
	put_big_endian(&st->reply, (sb.st_size + 511) / 512, 8);
	for (int i = 0; i < 3; i++)
		put_big_endian(&st->reply, sb.st_mtime, 4);
}

/* Paths are what they lead to, but for two of /proc's. */
static void read_link(struct dbg_stub *st, struct dbg_cursor *c)
{
	const struct cap_info *info = st->session.info;
	char path[PATH_MOST], exe[32], cwd[32];
	const char *to = NULL;

	snprintf(exe, sizeof(exe), "/proc/%u/exe", info->pid);
	snprintf(cwd, sizeof(cwd), "/proc/%u/cwd", info->pid);
	if (take_path(c, path))
		to = !strcmp(path, exe) ? info->exe :
		     !strcmp(path, cwd) ? info->cwd :
					  NULL;
	if (!to) {
		fail(st, FILE_EINVAL);
		return;
	}
	dbg_print(&st->reply, "F%zx;", strlen(to));
	dbg_put_binary(&st->reply, to, strlen(to));
}

void dbg_file_request(struct dbg_stub *st, struct dbg_cursor *c)
{
	if (dbg_take(c, "open:")) {
		open_file(st, c);
	} else if (dbg_take(c, "pread:")) {
		read_file(st, c);
	} else if (dbg_take(c, "fstat:")) {
		stat_file(st, c);
	} else if (dbg_take(c, "close:")) {
		struct dbg_file *f = take_file(st, c);

		if (f)
			close_file(f);
		dbg_print(&st->reply, f ? "F0" : "F-1,9");
	} else if (dbg_take(c, "setfs:")) {
		dbg_print(&st->reply, "F0");
	} else if (dbg_take(c, "readlink:")) {
		read_link(st, c);
	}
}
