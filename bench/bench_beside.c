// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/bench.h"

extern char **environ;

#define READY_TRIES 6000
#define READY_TICK_NS 50000000

static bool file_holds(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, text))
			return true;
	return false;
}

static struct err *spawn(const char *const *argv, const char *log, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	int rc;

	if (posix_spawn_file_actions_init(&files))
		return &err_nomem;
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC,
					 0600);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	rc = posix_spawnp(ret, argv[0], &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (!rc)
		return NULL;
	errno = rc;
	return err_errno("cannot run '%s'", argv[0]);
}

struct err *bench_beside_start(const char *const *argv, const char *log,
			       const char *ready, pid_t *ret)
{
	const struct timespec tick = { .tv_nsec = READY_TICK_NS };
	struct err *err = spawn(argv, log, ret);
	int status;

	for (int i = 0; !err && i < READY_TRIES; i++) {
		if (file_holds(log, ready))
			return NULL;
		if (waitpid(*ret, &status, WNOHANG) == *ret)
			return err_new(ERR_OS, "'%s' ended before it was ready (see %s)",
				       argv[0], log);
		nanosleep(&tick, NULL);
	}
	if (err)
		return err;
	bench_beside_stop(*ret);
	return err_new(ERR_OS, "'%s' is not ready after %d s", argv[0],
		       (int)((long)READY_TRIES * READY_TICK_NS / 1000000000));
}

void bench_beside_stop(pid_t pid)
{
	int status;

	kill(pid, SIGINT);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}
