// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Did a test pass? From what is on disk, so that a run that broke off is judged the same.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "capture/capture.h"
#include "cmd/suite_int.h"

#define SHOWN_BYTES 200 ///< of a line of someone else's, in `why'

__attribute__((format(printf, 3, 4))) static void
conclude(struct cap_suite_test *t, enum cap_suite_outcome outcome, const char *fmt, ...)
{
	va_list ap;

	free(t->why);
	va_start(ap, fmt);
	if (!fmt || vasprintf(&t->why, fmt, ap) < 0)
		t->why = NULL;
	va_end(ap);
	t->outcome = outcome;
}

/** File @p what of the test, for reading; NULL: there is none. */
static FILE *open_kept(const char *dir, const struct cap_suite_test *t, const char *what)
{
	int fd = cap_suite_open(dir, t->name, what, O_RDONLY);

	return fd < 0 ? NULL : fdopen(fd, "r");
}

char *cmd_suite_line(const char *dir, const struct cap_suite_test *t, const char *what,
		     const char *prefix)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_(fclosep) FILE *f = open_kept(dir, t, what);
	size_t capacity = 0, skip = prefix ? strlen(prefix) : 0;
	char *found = NULL;

	while (f && getline(&line, &capacity, f) >= 0) {
		if (prefix && strncmp(line, prefix, skip))
			continue;
		free(found);
		found = strndup(line + skip, strcspn(line + skip, "\n"));
		if (!prefix)
			break;
	}
	return found;
}

/** How the recorded program ended, in the test's status and @p signo (0: by itself).
 * @return whether it was recorded to its end. */
static bool read_end(const char *dir, struct cap_suite_test *t, int *signo)
{
	_cleanup_free_ char *path = cap_suite_path(dir, t->name, "capture");
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_err_ struct err *err = path ? capture_open(path, &c) : &err_nomem;
	const struct cap_info *info = err ? NULL : capture_info(c);

	t->status = CAP_SUITE_ANY;
	*signo = 0;
	if (!info || info->is_unfinished)
		return false;
	if (info->end == CAP_END_EXIT)
		t->status = info->end_value & 255;
	else if (info->end == CAP_END_SIGNAL)
		t->status = 128 + (*signo = info->end_value);
	return true;
}

/** What the test printed is compared with @p want, for the number of the first line that
 * differs. @return 0: none; -1: one cannot be read. */
static long first_difference(const char *dir, const struct cap_suite_test *t,
			     const char *want)
{
	_cleanup_(fclosep) FILE *a = fopen(want, "re"), *b = open_kept(dir, t, "stdout");
	long line = 1;
	int x, y;

	if (!a || !b)
		return -1;
	do {
		x = getc(a);
		y = getc(b);
		if (x != y)
			return line;
		line += x == '\n';
	} while (x != EOF);
	return 0;
}

static void judge_output(const char *dir, struct cap_suite_test *t)
{
	long line = first_difference(dir, t, t->expected);

	if (line < 0)
		conclude(t, CAP_SUITE_UNKNOWN, "cannot read '%s' or what was printed",
			 t->expected);
	else if (line)
		conclude(t, CAP_SUITE_FAILED, "stdout differs from '%s' in line %ld",
			 t->expected, line);
	else
		conclude(t, CAP_SUITE_PASSED, NULL);
}

bool cmd_suite_judge(const char *dir, struct cap_suite_test *t)
{
	_cleanup_free_ char *hung = cmd_suite_line(dir, t, SUITE_HUNG, NULL),
			    *said = NULL;
	int signo;

	t->is_recorded = read_end(dir, t, &signo);
	if (!t->is_recorded) {
		said = cmd_suite_line(dir, t, "stderr", "faultline: ");
		conclude(t, CAP_SUITE_UNKNOWN, "%.*s", SHOWN_BYTES,
			 said ?: "cannot record: the recorder did not say why");
	} else if (hung && signo == SIGKILL) {
		conclude(t, CAP_SUITE_FAILED, "hung: ended after %s s", hung);
	} else if (t->want_status != CAP_SUITE_ANY && t->status != t->want_status) {
		conclude(t, CAP_SUITE_FAILED, "exit status %d, not %d", t->status,
			 t->want_status);
	} else if (t->want_status == CAP_SUITE_ANY && signo) {
		conclude(t, CAP_SUITE_FAILED, "killed by %s", text_signal(signo));
	} else if (t->expected) {
		judge_output(dir, t);
	} else if (t->oracle) {
		return true;
	} else if (t->want_status == CAP_SUITE_ANY) {
		conclude(t, CAP_SUITE_UNKNOWN, "nothing was expected of it");
	} else {
		conclude(t, CAP_SUITE_PASSED, NULL);
	}
	return false;
}

void cmd_suite_heed(struct cap_suite_test *t, int status, const char *said)
{
	int n = strcspn(said, "\n") < SHOWN_BYTES ? strcspn(said, "\n") : SHOWN_BYTES;

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		conclude(t, CAP_SUITE_PASSED, NULL);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && n)
		conclude(t, CAP_SUITE_FAILED, "%.*s", n, said);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		conclude(t, CAP_SUITE_FAILED, "its oracle says so");
	else
		conclude(t, CAP_SUITE_UNKNOWN, "its oracle ended with %s %d%s%.*s",
			 WIFEXITED(status) ? "status" : "signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
			 n ? ": " : "", n, said);
}
