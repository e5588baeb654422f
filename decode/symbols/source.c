// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which of this machine's files a capture may have shown. DWARF names sources as it likes, and
 * a capture may be anybody's: "#line 1 \"/etc/shadow\"" is a source, too. The rule is that of
 * doc/files.md: below the directory that the user named; otherwise what the owner of the
 * program could read by himself, where the very program lies where it was recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_ROOM "decode"
#include "decode/symbols/symbols_int.h"

#define SOURCE_BYTES_MAX (64u << 20) ///< sqlite3.c has 9 MB

/* ---- is the program here? ------------------------------------------------------------------ */

static bool has_bytes(int fd, const uint8_t *bytes, size_t size)
{
	_cleanup_free_ uint8_t *buf = malloc(1 << 16);
	size_t at = 0;
	ssize_t n = buf ? 1 : 0;

	for (; at < size && n > 0; at += n) {
		n = pread(fd, buf, size - at < 1 << 16 ? size - at : 1 << 16, at);
		if (n > 0 && memcmp(buf, bytes + at, n))
			return false;
	}
	return at == size;
}

/* What came with a bundle lies where it was recorded if whoever made that guessed right. */
static bool is_in_bundle(const char *real)
{
	char path[PATH_MAX];

	for (const char *end = real; (end = strchr(end + 1, '/'));) {
		int n = end - real;

		if (snprintf(path, sizeof(path), "%.*s/events.flt", n, real) >=
			    PATH_MAX ||
		    !access(path, F_OK))
			return true;
	}
	return false;
}

/* A build-id tells nothing: whoever made the capture could write any. */
static bool find_local(struct dec_sym_unit *u)
{
	_cleanup_err_ struct err *err = NULL;
	_cleanup_close_ int fd = -1;
	size_t size = 0;
	const char *bytes = u->elf ? elf_rawfile(u->elf, &size) : NULL;
	uint64_t has;
	struct stat st;

	u->real = bytes && u->path[0] == '/' ? realpath(u->path, NULL) : NULL;
	if (!u->real || is_in_bundle(u->real))
		return false;
	err = file_open_input(AT_FDCWD, u->real, u->real, size, &fd, &has);
	if (err || has != size || fstat(fd, &st))
		return false;
	u->owner = st.st_uid;
	return has_bytes(fd, (const uint8_t *)bytes, size);
}

bool dec_sym_unit_is_local(struct dec_sym_unit *u)
{
	if (!u->has_local) {
		u->is_local = find_local(u);
		u->has_local = true;
	}
	return u->is_local;
}

/* ---- may the source be read? --------------------------------------------------------------- */

/* May user @p owner do @p what (4: read, 1: search) by himself? Groups do not count. */
static bool may(uid_t owner, const struct stat *st, mode_t what)
{
	return !owner || (st->st_uid == owner ? st->st_mode >> 6 : st->st_mode) & what;
}

/* Names that begin with a dot are for keys and histories, unless the program is there, too. */
static bool is_hidden(const char *real, const char *program)
{
	size_t same = 0;

	for (size_t i = 0; real[i] && real[i] == program[i]; i++)
		if (real[i] == '/')
			same = i;
	return strstr(real + same, "/.");
}

static bool is_source(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size > 0 && st->st_size <= SOURCE_BYTES_MAX;
}

/* Open @p real, in which nothing is a link, as far as @p owner may. */
static int open_for(uid_t owner, const char *real)
{
	_cleanup_close_ int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st, now;
	int fd;

	for (;;) {
		char part[NAME_MAX + 1];
		size_t n = strcspn(++real, "/");

		if (at < 0 || fstat(at, &st) || !may(owner, &st, 1) || n > NAME_MAX)
			return -1;
		memcpy(part, real, n);
		part[n] = 0;
		fd = openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		real += n;
		if (*real) {
			close(at);
			at = fd;
			continue;
		}
		if (fd < 0 || fstat(fd, &st) || !is_source(&st) || !may(owner, &st, 4)) {
			closep(&fd);
			return -1;
		}
		close(fd);
		fd = openat(at, part, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && (fstat(fd, &now) || now.st_ino != st.st_ino ||
				now.st_dev != st.st_dev))
			close(take_fd(&fd));
		return fd;
	}
}

static int open_beside(struct dec_symbols *s, const char *module, const char *path)
{
	struct dec_sym_unit *u = NULL;
	_cleanup_free_ char *real = NULL;

	for (size_t i = 0; i < s->n_units && !u; i++)
		if (module && !strcmp(s->units[i]->path, module))
			u = s->units[i];
	real = u && dec_sym_unit_is_local(u) ? realpath(path, NULL) : NULL;
	return real && !is_hidden(real, u->real) ? open_for(u->owner, real) : -1;
}

/* Below the directory that the user named: the whole path, then what is left of it from the
 * front on, so that DIR/sub/x.c serves for /home/who/project/sub/x.c. */
static int open_in_root(const char *root, const char *path)
{
	_cleanup_close_ int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = -1;

	for (; dir >= 0 && path && fd < 0; path = strchr(path, '/')) {
		path += strspn(path, "/");
		err_destroy(
			file_open_input(dir, path, path, SOURCE_BYTES_MAX, &fd, NULL));
	}
	return fd;
}

FILE *dec_symbols_source(struct dec_symbols *s, const struct dec_place *p)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	FILE *f;

	if (!p->file ||
	    asprintf(&path, "%s%s%s",
		     p->file[0] != '/' && p->directory ? p->directory : "",
		     p->file[0] != '/' && p->directory ? "/" : "", p->file) < 0)
		return NULL;
	fd = s->sources ? open_in_root(s->sources, path) : -1;
	if (fd < 0 && path[0] == '/')
		fd = open_beside(s, p->module, path);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (f)
		take_fd(&fd);
	return f;
}

void dec_symbols_sources(struct dec_symbols *s, const char *dir)
{
	s->sources = dir;
}
