// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/file.h"
#include "report/dot.h"

extern char **environ;

#define DOT_NOT_FOUND 127

// Run `dot -Tsvg` from one descriptor to another. Its messages go where ours go.
static struct err *dot_run(int in, int out, int *status)
{
	char *const argv[] = { "dot", "-Tsvg", NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int error;

	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return &err_nomem;
	error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!error)
		error = posix_spawnp(&pid, "dot", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error == ENOENT) {
		*status = DOT_NOT_FOUND << 8;
		return NULL;
	}
	errno = error;
	if (error)
		return err_errno("cannot run dot");
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return err_errno("cannot wait for dot");
	return NULL;
}

static struct err *draw(const struct fl_picture *p, const char *path, int out)
{
	int fd = memfd_create("picture", MFD_CLOEXEC);
	_cleanup_fclose_ FILE *text = fd < 0 ? NULL : fdopen(fd, "w+");
	struct err *err;
	int status;

	if (!text)
		return err_errno("cannot draw '%s': cannot make a temporary file", path);
	err = report_dot_write(p, text);
	if (err)
		return err;
	if (fflush(text) || lseek(fileno(text), 0, SEEK_SET))
		return err_errno("cannot draw '%s'", path);
	err = dot_run(fileno(text), out, &status);
	if (err)
		return err_prefix(err, "cannot draw '%s'", path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == DOT_NOT_FOUND)
		return err_new(ERR_NOT_FOUND,
			       "cannot draw '%s': there is no program 'dot' (install the "
			       "package graphviz)",
			       path);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_new(ERR_OS, "cannot draw '%s': dot failed (wait status %#x)",
			       path, status);
	return NULL;
}

struct err *report_dot_draw_svg(const struct fl_picture *p, const char *path)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, p->mode);

	if (!err)
		err = draw(p, path, fileno(f.stream));
	if (err)
		return err;
	return new_file_commit(&f);
}
