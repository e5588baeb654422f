// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The process of a command: libdw, zstd and libipt parse a stranger's bytes in it. Its owner,
 * which has read nothing of these, makes the files that the user named (owner.c).
 */

#define LOG_ROOM "confine"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "confine/ask.h"
#include "confine/start.h"

static int to_owner = -1;
static int turn = -1; ///< a file that who asks has locked

/* Of this process and its forks one asks at a time. @return whether nothing is in the way. */
static bool take_turn(bool is_begin)
{
	struct flock lock = { .l_type = is_begin ? F_WRLCK : F_UNLCK };

	return !fcntl(turn, F_SETLKW, &lock);
}

/* Receive the reply to request @p number. A fork that was ended while it waited has left its own. */
static bool receive_reply(uint64_t number, struct confine_reply *r, int got[CONFINE_FDS],
			  size_t *ret_n)
{
	while (confine_receive(to_owner, r, sizeof(*r), got, ret_n)) {
		if (r->number == number)
			return true;
		confine_close(got, *ret_n);
	}
	return false;
}

/* Ask with @p n descriptors, and get the @p n_wanted that come with a good answer. */
static struct err *ask_owner(struct confine_request *q, const int *fds, size_t n,
			     struct confine_reply *r, int *ret, size_t n_wanted)
{
	static uint32_t n_asked;
	int got[CONFINE_FDS];
	size_t n_got = 0;
	bool is_answered;

	q->number = (uint64_t)getpid() << 32 | n_asked++;
	is_answered = take_turn(true) && confine_send(to_owner, q, sizeof(*q), fds, n) &&
		      receive_reply(q->number, r, got, &n_got);
	take_turn(false);
	if (!is_answered)
		return err_new(ERR_OS, "the process that started this one is gone");
	if (r->code || n_got != n_wanted) {
		confine_close(got, n_got);
		return err_new(r->code ?: ERR_OS, "%s", r->text);
	}
	if (n_got)
		memcpy(ret, got, n_got * sizeof(*got));
	return NULL;
}

/* @return whether @p text fits into @p room of @p size bytes; errno says that it does not. */
static bool put_text(char *room, size_t size, const char *text)
{
	size_t n = strlen(text) + 1;

	if (n > size) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(room, text, n);
	return true;
}

static struct err *command_open(const char *path, mode_t mode, int *fd, uint32_t *handle,
				bool *is_as_is)
{
	struct confine_request q = { .ask = ASK_OPEN, .mode = mode };
	struct confine_reply r;
	struct err *err;

	if (!put_text(q.path, sizeof(q.path), path))
		return err_errno("cannot write '%s'", path);
	err = ask_owner(&q, NULL, 0, &r, fd, 1);
	*handle = err ? 0 : r.handle;
	*is_as_is = !err && r.has_flag;
	return err;
}

static struct err *command_make_dir(const char *path, int *fd, bool *is_new)
{
	struct confine_request q = { .ask = ASK_MAKE_DIR };
	struct confine_reply r;
	struct err *err;

	if (!put_text(q.path, sizeof(q.path), path))
		return err_errno("cannot create '%s'", path);
	err = ask_owner(&q, NULL, 0, &r, fd, 1);
	*is_new = !err && r.has_flag;
	return err;
}

static int command_act(int dir_fd, enum file_act act, const char *name, const char *other)
{
	struct confine_request q = { .ask = ASK_ACT, .act = act };
	struct confine_reply r = {};
	_cleanup_err_ struct err *err = NULL;
	int fd = 0;

	if (!put_text(q.name, sizeof(q.name), name) ||
	    !put_text(q.path, sizeof(q.path), other ?: ""))
		return -1;
	err = ask_owner(&q, &dir_fd, 1, &r, &fd, act == FILE_NEW);
	errno = r.saved_errno ?: EPERM;
	return err ? -1 : fd;
}

static struct err *command_end(uint32_t handle, bool commits)
{
	struct confine_request q = { .ask = commits ? ASK_COMMIT : ASK_DROP,
				     .handle = handle };
	struct confine_reply r;

	return ask_owner(&q, NULL, 0, &r, NULL, 0);
}

int confine_debuginfo(const uint8_t *id, size_t bytes)
{
	const char *servers = secure_getenv("DEBUGINFOD_URLS");
	struct confine_request q = { .ask = ASK_DEBUGINFO };
	struct confine_reply r;
	int fd = -1;

	if (to_owner < 0 || !servers || !*servers || bytes > CONFINE_BUILD_ID_BYTES)
		return -1;
	text_hex(q.path, id, bytes);
	err_destroy(ask_owner(&q, NULL, 0, &r, &fd, 1));
	return fd;
}

/* A confined_launch_fn. */
static struct err *command_launch(char *const args[], const int *fds, size_t n,
				  int ret[2], pid_t *warden)
{
	struct confine_request q = { .ask = ASK_START, .n_fds = n };
	int some[CONFINE_FDS];
	size_t at = 0, n_some = 0;
	struct confine_reply r;

	*warden = 0;
	for (; *args; args++) {
		size_t bytes = strlen(*args) + 1;

		if (bytes >= sizeof(q.path) - at) {
			errno = ENAMETOOLONG;
			return err_errno("cannot start a confined process");
		}
		memcpy(q.path + at, *args, bytes);
		at += bytes;
	}
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0) {
			q.has_fd |= 1u << i;
			some[n_some++] = fds[i];
		}
	return ask_owner(&q, some, n_some, &r, ret, 2);
}

static int command_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
	static const struct file_maker maker = { command_open, command_end, command_act,
						 command_make_dir };
	struct err *err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	file_set_maker(&maker);
	confine_launcher = command_launch;
	confine_go_first();
	err = confine_as_command();
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], err->message);
		return 2;
	}
	return run(argc, argv);
}

int confine_command(int (*run)(int argc, char **argv), int argc, char **argv,
		    const struct confine_outputs *outputs)
{
	struct err *err = confine_check(argv, outputs);
	pid_t command;
	int pair[2];

	if (err) {
		fprintf(stderr, "faultline: %s\n", err->message);
		err_destroy(err);
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    (fflush(NULL), command = fork()) < 0) {
		fprintf(stderr, "faultline: cannot start '%s': %s\n", argv[0],
			strerror(errno));
		return 2;
	}
	if (!command) {
		close(pair[0]);
		to_owner = pair[1];
		turn = memfd_create("turn", MFD_CLOEXEC);
		exit(command_run(run, argc, argv));
	}
	close(pair[1]);
	return confine_own(command, argv, outputs, pair[0]);
}
