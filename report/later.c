// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/later.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "report/script.h"

#define SAID_BYTES 160
#define FDS_MOST 1024 // of a process, as a rule

/** Something that was asked for. */
struct task {
	struct report_request asked;
	pid_t pid;  ///< 0: it does not run
	int result; ///< memory: what it prints, or why it failed; -1: it was not begun
	int talk;   ///< its stderr
	double begun_s;	       ///< clock_now_s()
	char said[SAID_BYTES]; ///< last, on a line of its own
	bool is_done, has_failed;
};

struct report_later {
	report_later_fn *find;
	void *ctx;
	VEC(struct task) tasks;
};

struct err *report_later_create(report_later_fn *find, void *ctx,
				struct report_later **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return &err_nomem;
	(*ret)->find = find;
	(*ret)->ctx = ctx;
	return NULL;
}

void report_later_destroy(struct report_later *l)
{
	for (size_t i = 0; l && i < l->tasks.size; i++) {
		closep(&l->tasks.data[i].result);
		closep(&l->tasks.data[i].talk);
	}
	if (l)
		vec_deinit(&l->tasks);
	free(l);
}

/* ---- the process of its own ----------------------------------------------------------------------- */

/* Connections are the server's. The one to who owns this command is none. */
static void close_connections(void)
{
	for (int fd = STDERR_FILENO + 1; fd < FDS_MOST; fd++) {
		int domain = 0;
		socklen_t size = sizeof(domain);

		if (!getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) &&
		    domain == AF_INET)
			close(fd);
	}
}

static _Noreturn void run(struct report_later *l, const struct task *t, int talk)
{
	FILE *out = fdopen(t->result, "w");
	_cleanup_err_ struct err *err = out ? NULL : &err_nomem;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_connections();
	dup2(talk, STDERR_FILENO);
	if (!err)
		err = l->find(l->ctx, &t->asked, out);
	if (err && out) {
		rewind(out);
		if (!fflush(out) && !ftruncate(t->result, 0))
			fputs(err->message, out);
	}
	_exit(!out || fclose(out) || err);
}

static struct err *begin(struct report_later *l, struct task *t)
{
	_cleanup_close_ int talk = -1;
	int pipes[2];

	t->result = memfd_create("later", MFD_CLOEXEC);
	// Nobody may be there who listens: what does not fit is lost.
	if (t->result < 0 || pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return err_errno("cannot begin to find out more");
	t->talk = pipes[0];
	talk = pipes[1];
	t->begun_s = clock_now_s();
	fflush(NULL);
	t->pid = fork();
	if (!t->pid)
		run(l, t, talk);
	return t->pid < 0 ? err_errno("cannot begin to find out more") : NULL;
}

/* ---- how far it is ----------------------------------------------------------------------------------- */

/* The last line that has something in it. */
static void keep_said(struct task *t, char *text)
{
	for (char *at, *line; (line = strtok_r(text, "\r\n", &at)); text = NULL) {
		// Progress lines clear the line first (TEXT_AGAIN).
		const char *words = *line == '\033' ? strpbrk(line, "Km") : line;

		words = words && *line == '\033' ? words + 1 : words;
		if (words && words[strspn(words, " ")])
			snprintf(t->said, sizeof(t->said), "%s", words);
	}
}

static void look_after(struct task *t)
{
	char text[4096];
	ssize_t n;
	int status;

	while ((n = read(t->talk, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		keep_said(t, text);
	}
	if (waitpid(t->pid, &status, WNOHANG) != t->pid)
		return;
	t->pid = 0;
	t->is_done = true;
	t->has_failed = !WIFEXITED(status) || WEXITSTATUS(status);
	closep(&t->talk);
	t->talk = -1;
}

static struct err *print_result(const struct task *t, FILE *out)
{
	off_t bytes = lseek(t->result, 0, SEEK_END);
	_cleanup_free_ char *text = bytes < 0 ? NULL : malloc(bytes + 1);
	ssize_t n = text ? pread(t->result, text, bytes, 0) : -1;

	if (n < 0 || n != bytes)
		return &err_nomem;
	text[n] = 0;
	if (!t->has_failed)
		return fwrite(text, 1, n, out) == (size_t)n ? NULL : &err_nomem;
	fputs("{\"why\":", out);
	report_script_string(out, n ? text : "it was killed, perhaps for want of memory");
	fputs("}\n", out);
	return NULL;
}

/* @return the one that runs; NULL: none does. */
static struct task *find_running(struct report_later *l)
{
	for (size_t i = 0; i < l->tasks.size; i++) {
		struct task *t = &l->tasks.data[i];

		if (t->pid)
			look_after(t);
		if (t->pid)
			return t;
	}
	return NULL;
}

static struct task *find_task(struct report_later *l, const struct report_request *r)
{
	for (size_t i = 0; i < l->tasks.size; i++) {
		const struct report_request *a = &l->tasks.data[i].asked;

		if (a->ask == r->ask && a->position == r->position && a->n == r->n)
			return &l->tasks.data[i];
	}
	return NULL;
}

struct err *report_later_print(struct report_later *l, const struct report_request *r,
			       FILE *out)
{
	struct task *running = find_running(l), *t = find_task(l, r);
	struct err *err = NULL;

	if (t && t->is_done)
		return print_result(t, out);
	if (!t && !running) {
		err = vec_add(&l->tasks,
			      (struct task){ .asked = *r, .result = -1, .talk = -1 });
		if (!err)
			err = begin(l, t = &l->tasks.data[l->tasks.size - 1]);
		if (err && t) {
			closep(&t->result);
			closep(&t->talk);
			l->tasks.size--;
		}
	}
	if (err)
		return err;
	fputs("{\"doing\":", out);
	report_script_string(out,
			     t ? t->said : "something else is being found out first");
	fprintf(out, ",\"seconds\":%.0f}\n", t ? clock_now_s() - t->begun_s : 0.0);
	return NULL;
}

void report_later_print_known(struct report_later *l, FILE *out)
{
	const char *comma = "";

	find_running(l);
	fputc('[', out);
	for (size_t i = 0; i < l->tasks.size; i++) {
		char path[REPORT_PATH];

		if (!l->tasks.data[i].is_done || l->tasks.data[i].has_failed)
			continue;
		report_request_path(&l->tasks.data[i].asked, path);
		fputs(comma, out);
		report_script_string(out, path);
		comma = ",";
	}
	fputs("]\n", out);
}
