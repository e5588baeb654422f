// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench/bench.h"

#define HELD_EVERY_MS 5

extern char **environ;

/** Start @p argv; in a process group of its own when @p is_apart. */
static struct err *spawn(const char *const *argv, const char *output, const char *errors,
			 bool is_apart, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	int rc;

	if (posix_spawn_file_actions_init(&files))
		return &err_nomem;
	if (posix_spawnattr_init(&how)) {
		posix_spawn_file_actions_destroy(&files);
		return &err_nomem;
	}
	posix_spawnattr_setflags(&how, is_apart ? POSIX_SPAWN_SETPGROUP : 0);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, output ? output : "/dev/null",
					 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&files, 2, errors, O_WRONLY | O_CREAT | O_TRUNC,
					 0600);
	rc = posix_spawnp(ret, argv[0], &files, &how, (char *const *)argv, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	errno = rc;
	return rc ? err_errno("cannot run '%s'", argv[0]) : NULL;
}

/** Wait until @p pid ends; what still runs after @p limit_s is killed, its group too. */
static void wait_limited(pid_t pid, double limit_s)
{
	_cleanup_close_ int fd = pidfd_open(pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd >= 0 && poll(&p, 1, (int)(limit_s * 1000)) == 0)
		kill(-pid, SIGKILL);
}

struct err *bench_run_used(const char *const *argv, const char *output,
			   const char *errors, double limit_s, struct bench_used *ret)
{
	double start = clock_now_s();
	struct rusage usage;
	pid_t pid;
	struct err *err = spawn(argv, output, errors, limit_s > 0, &pid);

	if (err)
		return err;
	if (limit_s > 0)
		wait_limited(pid, limit_s);
	while (wait4(pid, &ret->status, 0, &usage) < 0)
		if (errno != EINTR)
			return err_errno("cannot wait for '%s'", argv[0]);
	ret->wall_s = clock_now_s() - start;
	ret->user_s = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
	ret->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	return NULL;
}

/* VmHWM of @p pid: what the program has had, where ru_maxrss has also what it was before exec. */
static uint64_t peak_of(pid_t pid)
{
	char path[64], line[256];
	unsigned long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %lu", &kib);
	if (f)
		fclose(f);
	return (uint64_t)kib << 10;
}

struct err *bench_run_peak(const char *const *argv, const char *errors,
			   uint64_t *ret_bytes)
{
	pid_t pid;
	int status;
	struct err *err = spawn(argv, NULL, errors, false, &pid);

	*ret_bytes = 0;
	if (err)
		return err;
	// It stops once more before its memory goes.
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACEEXIT))
		err = err_errno("cannot trace '%s'", argv[0]);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		bool is_exit = status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);

		if (is_exit)
			*ret_bytes = peak_of(pid);
		ptrace(PTRACE_CONT, pid, NULL,
		       (void *)(uintptr_t)(status >> 16 ? 0 : WSTOPSIG(status)));
	}
	return err || *ret_bytes ? err :
				   err_new(ERR_OS, "'%s' has ended too early", argv[0]);
}

struct err *bench_run_held(const char *const *argv, const char *errors,
			   double (*held)(void), double *ret)
{
	int status;
	pid_t pid;
	struct err *err = spawn(argv, NULL, errors, false, &pid);
	_cleanup_close_ int fd = err ? -1 : pidfd_open(pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	*ret = 0;
	while (fd >= 0 && poll(&p, 1, HELD_EVERY_MS) == 0) {
		double now = held();

		*ret = now > *ret ? now : *ret;
	}
	while (!err && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err = err_errno("cannot wait for '%s'", argv[0]);
	return err || *ret > 0 ? err :
				 err_new(ERR_OS, "'%s' has ended too early", argv[0]);
}

struct err *bench_run(const char *const *argv, const char *output, const char *errors,
		      double *wall_s, int *status)
{
	struct bench_used used = {};
	struct err *err = bench_run_used(argv, output, errors, 0, &used);

	*wall_s = used.wall_s;
	*status = used.status;
	return err;
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	remove(path);
	return 0;
}

void bench_remove(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static double counted_bytes; // nftw() hands nothing on

static int count_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)path;
	(void)where;
	counted_bytes += kind == FTW_F ? st->st_size : 0;
	return 0;
}

double bench_bytes(const char *path)
{
	counted_bytes = 0;
	nftw(path, count_one, 16, FTW_PHYS);
	return counted_bytes;
}

/* ---- is it right? ----------------------------------------------------------------------------- */

/** @return the whole file, to be freed; NULL when it cannot be read. */
static char *file_read(const char *path, size_t *size)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char *text = NULL, buf[65536];
	size_t n, room;
	FILE *to = f ? open_memstream(&text, &room) : NULL;

	*size = 0;
	while (to && (n = fread(buf, 1, sizeof(buf), f)))
		*size += fwrite(buf, 1, n, to);
	if (to)
		fclose(to);
	return text;
}

/** @return whether file @p other holds what @p output wants of what is in @p native. */
static bool output_is_right(enum bench_output output, const char *native,
			    const char *other)
{
	size_t n = 0, n_other = 0;
	_cleanup_free_ char *a = file_read(native, &n), *b = file_read(other, &n_other);

	if (output == BENCH_OUTPUT_ANY)
		return true;
	if (!a || !b)
		return false;
	if (output == BENCH_OUTPUT_INCLUDES)
		return memmem(b, n_other, a, n) != NULL;
	return n == n_other && memcmp(a, b, n) == 0;
}

static void last_line(const char *path, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char line[400];

	ret[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0])
			snprintf(ret, size, "%s", line);
	}
}

/** Make the text of a failed run. @return -1 when memory is out. */
static int set_failure(struct bench_times *t, int status, const char *errors)
{
	char why[400];

	last_line(errors, why, sizeof(why));
	return WIFSIGNALED(status) ?
		       asprintf(&t->failure, "signal %d", WTERMSIG(status)) :
		       asprintf(&t->failure, "status %d%s%s", WEXITSTATUS(status),
				why[0] ? ": " : "", why);
}

struct paths {
	char native[4096], output[4096], errors[4096];
};

static struct err *fail(struct bench_times *t, const char *why)
{
	t->failure = strdup(why);
	return t->failure ? NULL : &err_nomem;
}

/** Run a command, with what runs beside it. @p t gets its failure, if it fails. */
static struct err *run_one(const struct bench_command *c, const struct paths *p,
			   bool is_first, struct bench_used *used, struct bench_times *t)
{
	const char *output = is_first ? p->native : c->output ? p->output : NULL;
	struct err *err = NULL;
	pid_t beside = 0;

	if (c->beside)
		err = bench_beside_start(c->beside, c->beside_log, c->beside_ready,
					 &beside);
	if (err)
		return err;
	err = bench_run_used(c->argv, output, p->errors, c->time_limit_s, used);
	if (c->beside)
		bench_beside_stop(beside);
	if (err)
		return err;
	if (c->time_limit_s > 0 && used->wall_s > c->time_limit_s)
		return asprintf(&t->failure, "it takes longer than %.0f s",
				c->time_limit_s) < 0 ?
			       &err_nomem :
			       NULL;
	if (!WIFEXITED(used->status) || WEXITSTATUS(used->status) != c->status)
		return set_failure(t, used->status, p->errors) < 0 ? &err_nomem : NULL;
	if (!is_first && !output_is_right(c->output, p->native, p->output))
		return fail(t, "its output differs from the native run's");
	return NULL;
}

static struct err *call_one(const struct bench_command *c, struct bench_used *used,
			    struct bench_times *t)
{
	double start = clock_now_s();
	_cleanup_err_ struct err *err = c->call(c->call_ctx);

	used->wall_s = clock_now_s() - start;
	return err ? fail(t, err->message) : NULL;
}

static struct err *time_one(const struct bench_command *c, const struct paths *p,
			    bool is_first, bool is_counted, struct bench_times *t)
{
	struct bench_used used = {};
	struct err *err;

	if (c->fresh_dir)
		bench_remove(c->fresh_dir);
	err = c->call ? call_one(c, &used, t) : run_one(c, p, is_first, &used, t);
	if (!err && !t->failure && is_counted) {
		t->run_s[t->n_runs] = used.wall_s;
		t->user_s[t->n_runs++] = used.user_s;
	}
	return err;
}

struct err *bench_time(const struct bench_command *commands, size_t n, int rounds,
		       const char *scratch, struct bench_times *ret)
{
	struct paths p;
	struct err *err;

	snprintf(p.native, sizeof(p.native), "%s/native.out", scratch);
	snprintf(p.output, sizeof(p.output), "%s/other.out", scratch);
	snprintf(p.errors, sizeof(p.errors), "%s/errors", scratch);
	memset(ret, 0, n * sizeof(*ret));
	for (int round = 0; round <= rounds; round++)
		for (size_t i = 0; i < n; i++) {
			if (ret[i].failure || commands[i].skipped)
				continue;
			err = time_one(&commands[i], &p, i == 0, round > 0, &ret[i]);
			if (err)
				return err;
		}
	for (size_t i = 0; i < n; i++)
		ret[i].median_s = bench_range_of(ret[i].run_s, ret[i].n_runs).median;
	return NULL;
}

void bench_times_deinit_all(struct bench_times *t, size_t n)
{
	for (; n; n--, t++) {
		free(t->failure);
		t->failure = NULL;
	}
}

struct err *bench_run_json(const char *scratch, const char *const *argv, cJSON **ret)
{
	char out[4200], errors[4200];
	_cleanup_free_ char *text = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct err *err;
	size_t size = 0;
	double wall_s;
	int status;

	*ret = NULL;
	snprintf(out, sizeof(out), "%s/json", scratch);
	snprintf(errors, sizeof(errors), "%s/errors", scratch);
	err = bench_run(argv, out, errors, &wall_s, &status);
	if (err)
		return err;
	f = fopen(out, "re");
	if (f && getdelim(&text, &size, 0, f) > 0)
		*ret = cJSON_Parse(text);
	return NULL;
}
