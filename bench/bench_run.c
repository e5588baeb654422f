// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench/bench.h"

extern char **environ;

struct err *bench_run(const char *const *argv, const char *output, const char *errors,
		      double *wall_s, int *status)
{
	posix_spawn_file_actions_t files;
	double start;
	pid_t pid;
	int rc;

	if (posix_spawn_file_actions_init(&files))
		return &err_nomem;
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, output ? output : "/dev/null",
					 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&files, 2, errors, O_WRONLY | O_CREAT | O_TRUNC,
					 0600);
	start = clock_now_s();
	rc = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (rc) {
		errno = rc;
		return err_errno("cannot run '%s'", argv[0]);
	}
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return err_errno("cannot wait for '%s'", argv[0]);
	*wall_s = clock_now_s() - start;
	return NULL;
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

/** @return 1 equal, 0 different, -1 not readable. */
static int files_equal(const char *a, const char *b)
{
	_cleanup_fclose_ FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
	char da[65536], db[65536];
	size_t na, nb;

	if (!fa || !fb)
		return -1;
	do {
		na = fread(da, 1, sizeof(da), fa);
		nb = fread(db, 1, sizeof(db), fb);
		if (na != nb || memcmp(da, db, na))
			return 0;
	} while (na);
	return 1;
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

static struct err *time_one(const struct bench_command *c, const struct paths *p,
			    bool is_first, bool is_counted, struct bench_times *t)
{
	const char *output = is_first		 ? p->native :
			     c->is_output_native ? p->output :
						   NULL;
	struct err *err;
	double wall_s;
	pid_t beside;
	int status;

	if (c->fresh_dir)
		bench_remove(c->fresh_dir);
	if (c->beside) {
		err = bench_beside_start(c->beside, c->beside_log, c->beside_ready,
					 &beside);
		if (err)
			return err;
	}
	err = bench_run(c->argv, output, p->errors, &wall_s, &status);
	if (c->beside)
		bench_beside_stop(beside);
	if (err)
		return err;
	if (status)
		return set_failure(t, status, p->errors) < 0 ? &err_nomem : NULL;
	if (!is_first && c->is_output_native && files_equal(p->native, p->output) != 1) {
		t->failure = strdup("its output differs from the native run's");
		return t->failure ? NULL : &err_nomem;
	}
	if (is_counted)
		t->run_s[t->n_runs++] = wall_s;
	return NULL;
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

void bench_times_deinit(struct bench_times *t)
{
	free(t->failure);
	t->failure = NULL;
}

void bench_times_deinit_all(struct bench_times *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bench_times_deinit(&t[i]);
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
