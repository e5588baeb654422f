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

/* ---- what dot has drawn ----------------------------------------------------------------- */

// Dark is as in page.html. Colours that dot was told are attributes, which a style overrides.
static const char style[] = "<style>\n"
			    "@media (prefers-color-scheme: dark) {\n"
			    "svg { background: #16202a; }\n"
			    ".graph > polygon { fill: none; }\n"
			    "text:not([fill]) { fill: #dfe7ee; }\n"
			    "polygon[stroke=black] { stroke: #8fa1b3; }\n"
			    "[stroke=\"#5b6b7b\"] { stroke: #8fa1b3; }\n"
			    "[fill=\"#5b6b7b\"] { fill: #8fa1b3; }\n"
			    "[fill=\"#e8edf2\"] { fill: #2b3743; }\n"
			    "[stroke=\"#c92a2a\"] { stroke: #ff8787; }\n"
			    "[fill=\"#c92a2a\"] { fill: #ff8787; }\n"
			    "[fill=\"#ffe3e3\"] { fill: #5c2226; }\n"
			    "[stroke=\"#868e96\"] { stroke: #9fb0c0; }\n"
			    "[fill=\"#868e96\"] { fill: #9fb0c0; }\n"
			    "}\n"
			    "</style>\n";

/* Copy dot's picture. It says how large it is: instead it is as large as the window, which its
 * viewBox makes it fit, but at most three times that, and has the style. */
static struct err *copy_styled(FILE *in, FILE *out)
{
	_cleanup_free_ char *line = NULL;
	bool is_styled = false;
	size_t bytes = 0;
	double w, h;

	while (getline(&line, &bytes, in) >= 0) {
		const char *at = is_styled ? NULL : strstr(line, "<svg width=");

		if (at &&
		    sscanf(at, "<svg width=\"%lfpt\" height=\"%lfpt\"", &w, &h) == 2) {
			fprintf(out,
				"<svg width=\"100%%\" height=\"100%%\" "
				"style=\"max-width:%.0fpt;max-height:%.0fpt\"\n",
				3 * w, 3 * h);
			continue;
		}
		fputs(line, out);
		if (!is_styled && strstr(line, "xmlns:xlink=")) {
			fputs(style, out);
			is_styled = true;
		}
	}
	return ferror(in) ? err_errno("cannot read what dot has drawn") : NULL;
}

static FILE *open_memory(void)
{
	int fd = memfd_create("picture", MFD_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, "w+");
}

static struct err *draw(report_dot_write_fn *write, const void *what, const char *path,
			FILE *out)
{
	_cleanup_fclose_ FILE *text = open_memory(), *drawn = open_memory();
	struct err *err;
	int status;

	if (!text || !drawn)
		return err_errno("cannot draw '%s': cannot make a temporary file", path);
	err = write(what, text);
	if (err)
		return err;
	if (fflush(text) || lseek(fileno(text), 0, SEEK_SET))
		return err_errno("cannot draw '%s'", path);
	err = dot_run(fileno(text), fileno(drawn), &status);
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
	rewind(drawn);
	return copy_styled(drawn, out);
}

struct err *report_dot_draw_text(report_dot_write_fn *write, const void *what,
				 const char *path, mode_t mode)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, mode);

	// What dot cannot write it tells in words of its own.
	if (!err)
		err = new_file_spool(&f);
	if (!err)
		err = draw(write, what, path, f.stream);
	if (err)
		return err;
	return new_file_commit(&f);
}

static struct err *write_picture(const void *what, FILE *out)
{
	return report_dot_write(what, out);
}

struct err *report_dot_draw_svg(const struct fl_picture *p, const char *path)
{
	return report_dot_draw_text(write_picture, p, path, p->mode);
}
