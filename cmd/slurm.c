// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "cmd/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define SAID_BYTES 4096
#define PIECES_BYTES (256 << 10) ///< of a line each

extern char **environ;

/* Run @p argv with @p input on its stdin. @p said: what it printed, both streams, and is cut to @p most
 * bytes. @return its exit status; -1: there is no such command. */
static int run_command(char *const *argv, int input, char *said, size_t most)
{
	char rest[SAID_BYTES];
	posix_spawn_file_actions_t actions;
	_cleanup_close_ int out = -1;
	size_t n = 0;
	ssize_t got;
	int pipes[2], status;
	pid_t pid;

	*said = 0;
	if (pipe2(pipes, O_CLOEXEC))
		return -1;
	out = pipes[0];
	posix_spawn_file_actions_init(&actions);
	if (input >= 0)
		posix_spawn_file_actions_adddup2(&actions, input, 0);
	else
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 2);
	errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	if (errno)
		return -1;
	while ((got = n < most - 1 ? read(out, said + n, most - 1 - n) :
				     read(out, rest, sizeof(rest))) > 0 ||
	       (got < 0 && errno == EINTR))
		n += n < most - 1 && got > 0 ? got : 0;
	said[n] = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static struct err *said_by(const char *what, const char *command, int status,
			   const char *said)
{
	if (status < 0)
		return err_new(ERR_NOT_FOUND,
			       "cannot %s: there is no %s here (Debian: slurm-client); "
			       "without --slurm the suite runs on this machine",
			       what, command);
	return err_new(ERR_OS, "cannot %s: %s says: %.*s", what, command,
		       (int)strcspn(said, "\n"), said);
}

size_t cmd_slurm_processors(void)
{
	char *const argv[] = { "sinfo", "-h", "-o", "%C", NULL };
	unsigned long n = 0, one;
	char said[SAID_BYTES];

	if (run_command(argv, -1, said, sizeof(said)))
		return 1;
	for (const char *line = said; *line; line += strcspn(line, "\n")) {
		line += strspn(line, "\n");
		if (sscanf(line, "%*u/%*u/%*u/%lu", &one) == 1)
			n += one;
	}
	return n ? n : 1;
}

/* How the reason begins for which a piece waits that will wait for ever: squeue(1), job reason codes, and
 * texts in their place. */
static const char *const hopeless[] = { "AccountNotAllowed",  "BadConstraints",
					"InvalidAccount",     "InvalidQOS",
					"Job's account",      "Job's QOS",
					"PartitionConfig",    "PartitionNodeLimit",
					"PartitionTimeLimit", "QOSNotAllowed" };

static bool is_hopeless(const char *reason)
{
	for (size_t i = 0; i < sizeof(hopeless) / sizeof(*hopeless); i++)
		if (!strncmp(reason, hopeless[i], strlen(hopeless[i])))
			return true;
	return false;
}

enum cmd_slurm_state cmd_slurm_ask(unsigned long job, size_t *n_waiting,
				   size_t *n_running, char **why)
{
	_cleanup_free_ char *said = malloc(PIECES_BYTES);
	char number[32];
	char *const argv[] = { "squeue", "-h", "-r", "-o", "%T %r", "-j", number, NULL };
	int status;

	*n_waiting = *n_running = 0;
	*why = NULL;
	snprintf(number, sizeof(number), "%lu", job);
	status = said ? run_command(argv, -1, said, PIECES_BYTES) : -1;
	if (status)
		return said && strstr(said, "Invalid job id") ? CMD_SLURM_OVER :
								CMD_SLURM_SILENT;
	for (const char *line = said; *line;
	     line += strcspn(line, "\n"), line += strspn(line, "\n")) {
		bool is_pending = !strncmp(line, "PENDING", 7);

		if (is_pending || !strncmp(line, "REQUEUE", 7))
			++*n_waiting;
		else
			++*n_running;
		if (is_pending && line[7] == ' ' && !*why && is_hopeless(line + 8))
			*why = strndup(line + 8, strcspn(line + 8, "\n"));
	}
	return *n_waiting || *n_running ? CMD_SLURM_UNDER_WAY : CMD_SLURM_OVER;
}

void cmd_slurm_cancel(unsigned long job)
{
	char number[32], said[SAID_BYTES];
	char *const argv[] = { "scancel", number, NULL };
	size_t n_waiting, n_running;

	snprintf(number, sizeof(number), "%lu", job);
	run_command(argv, -1, said, sizeof(said));
	for (int i = 0; i < 150; i++) {
		_cleanup_free_ char *why = NULL;

		if (cmd_slurm_ask(job, &n_waiting, &n_running, &why) !=
		    CMD_SLURM_UNDER_WAY)
			return;
		usleep(200000);
	}
}

char *cmd_slurm_features(void)
{
	char *const argv[] = { "sinfo", "-h", "-o", "%f", NULL };
	char *said = malloc(PIECES_BYTES);

	if (said && run_command(argv, -1, said, PIECES_BYTES))
		*said = 0;
	return said;
}

/* The script, for sbatch to read; -1: no memory. */
static int open_script(const char *text)
{
	int fd = memfd_create("faultline", MFD_CLOEXEC);
	size_t n = strlen(text);

	if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET)))
		closep(&fd);
	return fd;
}

struct err *cmd_slurm_submit(const char *script, char *const *more, const char *options,
			     unsigned long *job)
{
	// The user's come last, and win.
	static char *const own[] = { "sbatch", "--parsable", "--requeue",
				     "--open-mode=append", "--job-name=faultline" };
	_cleanup_free_ char *words = strdup(options ?: "");
	_cleanup_close_ int fd = open_script(script);
	VEC(char *) argv = {};
	char said[SAID_BYTES];
	struct err *err = NULL;
	int status;

	if (!words || fd < 0)
		return &err_nomem;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !err; i++)
		err = vec_add(&argv, own[i]);
	for (; *more && !err; more++)
		err = vec_add(&argv, *more);
	for (char *save, *word = strtok_r(words, " \t", &save); word && !err;
	     word = strtok_r(NULL, " \t", &save))
		err = vec_add(&argv, word);
	if (!err)
		err = vec_add(&argv, NULL);
	if (!err) {
		status = run_command(argv.data, fd, said, sizeof(said));
		if (status || sscanf(said, "%lu", job) != 1)
			err = said_by("submit to Slurm", "sbatch", status, said);
	}
	vec_deinit(&argv);
	return err;
}
