// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A machine's process is this same program, started again; of who loads the library, it cannot be.
 * So it is the faultline that lies where the library was installed to, of the same version.
 */

#include "api/api.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/confine.h"

static char program[PATH_MAX]; ///< "": not set, not found

extern char **environ;

/* @return whether @p path is the program that runs: it holds this library, and is its own. */
static bool is_self(const char *path)
{
	struct stat a, b;

	return !stat(path, &a) && !stat("/proc/self/exe", &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Run @p path --version into @p buf. */
static struct err *ask_version(const char *path, char *buf, size_t buf_bytes)
{
	char *argv[] = { (char *)path, "--version", NULL };
	posix_spawn_file_actions_t actions;
	int pipes[2], error;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return err_errno("cannot make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
	error = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	while (!error && n + 1 < buf_bytes &&
	       (got = read(pipes[0], buf + n, buf_bytes - 1 - n)) > 0)
		n += got;
	buf[n] = '\0';
	close(pipes[0]);
	if (!error)
		waitpid(pid, NULL, 0);
	errno = error;
	return error ? err_errno("cannot run '%s'", path) : NULL;
}

static struct err *check_version(const char *path)
{
	char version[256] = "";
	struct err *err = ask_version(path, version, sizeof(version));

	if (err)
		return err;
	version[strcspn(version, "\n")] = '\0';
	if (!strcmp(version, "faultline " FAULTLINE_VERSION))
		return NULL;
	return err_new(ERR_VERSION,
		       "'%s' is '%s', and this library is of %s: they belong "
		       "together",
		       path, version, FAULTLINE_VERSION);
}

static struct err *use(const char *path)
{
	struct err *err = check_version(path);

	if (!err) {
		snprintf(program, sizeof(program), "%s", path);
		confine_program = program;
	}
	return err;
}

enum flt_status flt_set_program(const char *path)
{
	if (strlen(path) >= sizeof(program))
		return api_status(err_new(ERR_USAGE, "the path is too long"));
	return api_status(use(path));
}

struct err *api_program(void)
{
	// In a build, of `make install', of Debian's multiarch.
	static const char *const from[] = { "/faultline", "/../bin/faultline",
					    "/../../bin/faultline" };
	char path[PATH_MAX];
	const char *slash;
	Dl_info self;

	if (program[0] || !dladdr(&program, &self) || is_self(self.dli_fname))
		return NULL;
	slash = strrchr(self.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof(from) / sizeof(*from); i++) {
		int n = snprintf(path, sizeof(path), "%.*s%s",
				 (int)(slash - self.dli_fname), self.dli_fname, from[i]);

		if (n < (int)sizeof(path) && !access(path, X_OK))
			return use(path);
	}
	return err_new(ERR_NOT_FOUND,
		       "there is no faultline beside '%s': name it by "
		       "flt_set_program()",
		       self.dli_fname);
}
