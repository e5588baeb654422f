// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A command that a stranger's bytes have taken over: what it may not do fails, what it needs
 * works, and it ends as it would without an owner.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "confine/confine.h"
#include "tests/unit.h"

static char *dir, *keep, *named, *other, *inside, *made, *beside;
static pid_t victim;

/* ---- what the command does: each returns its exit status ------------------------------- */

/* @return the line of the first call that was not refused; 0: all were. */
static int refused(int argc, char **argv)
{
	// Room for what read() and others would want of us.
	static char some[4096];
	int pipes[2];

	(void)argc, (void)argv;
	if (pipe(pipes))
		return 1;
#define REFUSED_AS(why, call)                       \
	do {                                        \
		errno = 0;                          \
		if ((call) != -1 || errno != (why)) \
			return __LINE__ % 250 + 1;  \
	} while (0)
#define REFUSED(call) REFUSED_AS(EPERM, call)
	REFUSED(open(keep, O_WRONLY));
	REFUSED(open(keep, O_RDWR | O_CLOEXEC));
	REFUSED(open(keep, O_RDONLY | O_TRUNC));
	REFUSED(openat(AT_FDCWD, other, O_CREAT | O_WRONLY, 0600));
	REFUSED(syscall(SYS_openat, AT_FDCWD, keep, O_WRONLY | 1l << 40));
	REFUSED(syscall(SYS_openat2, AT_FDCWD, keep, some, 24));
	REFUSED(creat(other, 0600));
	REFUSED(unlink(keep));
	REFUSED(rename(keep, other));
	REFUSED(link(keep, other));
	REFUSED(symlink(keep, other));
	REFUSED(mkdir(other, 0700));
	REFUSED(chmod(keep, 0777));
	REFUSED(truncate(keep, 0));
	REFUSED(utimensat(AT_FDCWD, keep, NULL, 0));
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	// By calls that are younger, and by what needs no right to write.
	REFUSED_AS(ENOSYS, syscall(452 /* fchmodat2 */, AT_FDCWD, keep, 0777, 0));
	REFUSED_AS(ENOSYS, syscall(469 /* file_setattr */, AT_FDCWD, keep, some, 24, 0));
	REFUSED_AS(ENOSYS, syscall(SYS_clone3, some, 64));
	REFUSED(ioctl(open(keep, O_RDONLY), FS_IOC_SETFLAGS, some));
	REFUSED(ioctl(open(keep, O_RDONLY), FS_IOC_FSSETXATTR, some));
	REFUSED(ioctl(pipes[0], FIOSETOWN, &victim));
	REFUSED(fcntl(pipes[0], F_SETOWN, victim));
	REFUSED(fcntl(pipes[0], F_SETSIG, SIGKILL));
	REFUSED(prlimit(victim, RLIMIT_CPU, &(struct rlimit){}, NULL));
	REFUSED(setpriority(PRIO_USER, 0, 19));
	REFUSED(sched_setaffinity(victim, sizeof(cpu_set_t), (cpu_set_t *)some));
	REFUSED(syscall(SYS_fspick, AT_FDCWD, "/", 0));
	REFUSED(kill(victim, SIGKILL));
	REFUSED(kill(-1, SIGKILL));
	REFUSED(kill(0, SIGKILL));
	REFUSED(syscall(SYS_kill, (uint64_t)getpid() | 1ull << 32, SIGKILL));
	REFUSED(syscall(SYS_tgkill, victim, victim, SIGKILL));
	REFUSED(syscall(SYS_tkill, victim, SIGKILL));
	REFUSED(ptrace(PTRACE_ATTACH, victim, 0, 0));
	REFUSED(syscall(SYS_process_vm_writev, victim, NULL, 0, NULL, 0, 0));
	REFUSED(unshare(CLONE_NEWUSER));
	REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	REFUSED(ioctl(0, TIOCSTI, "x"));
	REFUSED(syscall(SYS_ioctl, 0, TIOCSTI | 1ul << 32, "x"));
	REFUSED(syscall(SYS_bpf, 0, some, 16));
	REFUSED(syscall(SYS_io_uring_setup, 1, some));
	return 0;
}

/* It may read, have memory files, run programs and threads of its own. */
static int reads(int argc, char **argv)
{
	char text[16] = "";
	int fd = open(keep, O_RDONLY);

	(void)argc, (void)argv;
	if (fd < 0 || read(fd, text, sizeof(text)) < 4 || memcmp(text, "kept", 4))
		return 1;
	if (syscall(SYS_memfd_create, "x", 0) < 0)
		return 2;
	if (system("exit 7") != 7 << 8)
		return 3;
	return 42;
}

static int writes(int argc, char **argv)
{
	struct new_file f = {}, dropped = {};
	struct err *err;

	(void)argc, (void)argv;
	if (new_file_open(&f, named, 0644) || fputs("new", f.stream) < 0 ||
	    new_file_commit(&f))
		return 1;
	new_file_deinit(&f);
	err = new_file_open(&f, other, 0644);
	if (!err || err->code != ERR_PERMISSION)
		return 2;
	err_destroy(err);
	new_file_deinit(&f);
	if (new_file_open(&dropped, named, 0644))
		return 3;
	new_file_deinit(&dropped);
	if (new_file_open(&dropped, named, 0644))
		return 4;
	_exit(0); // without a word
}

/* Whatever it does in directory @p fd is refused. */
static bool is_closed(int fd)
{
	return file_act(fd, FILE_NEW, "x", NULL) < 0 && errno == EPERM &&
	       file_act(fd, FILE_NEW_DIR, "x", NULL) < 0 && errno == EPERM &&
	       file_act(fd, FILE_NEW_LINK, "x", "y") < 0 && errno == EPERM &&
	       file_act(fd, FILE_RENAME, "keep", "x") < 0 && errno == EPERM &&
	       file_act(fd, FILE_REMOVE, "keep", NULL) < 0 && errno == EPERM &&
	       file_act(fd, FILE_REMOVE_DIR, "inside", NULL) < 0 && errno == EPERM;
}

/* Below a directory that the command line names. */
static int writes_inside(int argc, char **argv)
{
	int at = open(inside, O_RDONLY | O_DIRECTORY), out = open(dir, O_PATH), sub, fd;

	(void)argc, (void)argv;
	if (file_act(at, FILE_NEW_DIR, "sub", NULL) ||
	    (sub = openat(at, "sub", O_PATH | O_DIRECTORY)) < 0)
		return 1;
	fd = file_open_below(at, "sub/new", O_WRONLY | O_CREAT);
	if (fd < 0 || write(fd, "new", 3) != 3)
		return 2;
	errno = 0;
	if (file_act(sub, FILE_NEW, "new", NULL) >= 0 || errno != EEXIST)
		return 3;
	if (file_act(sub, FILE_RENAME, "new", "old") ||
	    file_act(sub, FILE_NEW_LINK, "link", "/etc") ||
	    file_act(at, FILE_NEW, "gone", NULL) < 0 ||
	    file_act(at, FILE_REMOVE, "gone", NULL))
		return 4;
	if (!is_closed(out) || !is_closed(AT_FDCWD) || !is_closed(open("/", O_PATH)) ||
	    !is_closed(openat(sub, "link", O_PATH | O_DIRECTORY)) ||
	    !is_closed(open(keep, O_RDONLY)))
		return 5;
	// A name is one part of a path.
	if (file_act(at, FILE_NEW, "../x", NULL) >= 0 ||
	    file_act(at, FILE_RENAME, "../keep", "x") >= 0 ||
	    file_act(sub, FILE_RENAME, "old", "../x") >= 0 ||
	    file_act(at, FILE_REMOVE_DIR, "..", NULL) >= 0)
		return 6;
	return 0;
}

/* Directories that the command line names, or that lie beside a file which it names. */
static int makes_dirs(int argc, char **argv)
{
	struct err *err;
	bool is_new;
	int fd;

	(void)argc, (void)argv;
	err = file_make_dir(other, &fd, &is_new);
	if (!err || err->code != ERR_PERMISSION)
		return 1;
	err_destroy(err);
	if (file_make_dir(made, &fd, &is_new) || !is_new)
		return 2; // and it stays empty
	if (file_make_dir(beside, &fd, &is_new) || !is_new ||
	    file_act(fd, FILE_NEW_DIR, "sub", NULL))
		return 3;
	if (file_make_dir(beside, &fd, &is_new) || is_new)
		return 4;
	return 0;
}

/* What a group's process is, whatever it was asked to be: one that is confined. */
__attribute__((constructor)) static void worker(int argc, char **argv)
{
	if (!argc || strcmp(argv[0], CONFINE_NAME))
		return;
	confine_begin(0);
	if (argc != 2 || creat(argv[1], 0600) >= 0 || errno != EPERM)
		_exit(1);
	_exit(7);
}

static int starts(int argc, char **argv)
{
	char *args[] = { other, NULL };
	struct confine *c = NULL;
	struct confine_end end;
	bool is_gone = false;
	int32_t pid;

	(void)argc, (void)argv;
	if (confine_start(args, NULL, 0, &c, &pid))
		return 1;
	while (!confine_next_end(c, &end, &is_gone))
		if (is_gone)
			return 2;
	confine_destroy(c);
	return end.pid == pid && end.status == 7 << 8 ? 0 : 3;
}

/* Forks that are ended while they ask, one after the other: what the owner says to them is not for those
 * that come after. */
static int asks_after_forks(int argc, char **argv)
{
	int at = open("/", O_PATH);

	(void)argc, (void)argv;
	for (int i = 0; i < 200; i++) {
		struct new_file f = {};
		pid_t pid = fork();
		int status;

		if (!pid) {
			struct itimerval soon = { .it_value.tv_usec = 100 + 5 * i };

			setitimer(ITIMER_REAL, &soon, NULL);
			for (;;)
				is_closed(at);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			return 1;
		if (new_file_open(&f, named, 0644))
			return 2;
		new_file_deinit(&f);
	}
	return 0;
}

static int crashes(int argc, char **argv)
{
	(void)argc, (void)argv;
	raise(SIGABRT);
	return 0;
}

static int stays(int argc, char **argv)
{
	(void)argc, (void)argv;
	puts("here");
	fflush(stdout);
	for (;;)
		pause();
	return 0;
}

/* ---- its owner -------------------------------------------------------------------------- */

/* Run it with a command line that names one file to be made, and others; what it prints goes to
 * @p out. */
static pid_t start(int (*run)(int, char **), int out)
{
	static const char *const files[] = { "svg", "o", NULL };
	static const char *const dirs[] = { "into", NULL };
	static const struct confine_outputs outputs = {
		.files = files, .dirs = dirs, .beside = ".links", .has_inside = true
	};
	char *argv[] = { "faultline test", other,    "--spec", other, "--svg", named,
			 inside,	   "--into", made,     NULL };
	pid_t pid = fork();

	if (!pid) {
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		exit(confine_command(run, 9, argv, &outputs));
	}
	return pid;
}

static int end_of(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* What stands in file @p path; the caller frees it. */
static char *content(const char *path)
{
	char *text = calloc(1, 100);
	FILE *f = fopen(path, "r");

	if (!f) {
		free(text);
		return NULL;
	}
	assert_true(fread(text, 1, 99, f) < 99);
	fclose(f);
	return text;
}

/* How many there are in the test's directory. */
static unsigned files_there(void)
{
	_cleanup_free_ char *command = NULL;
	FILE *f;
	unsigned n = 0;

	assert_true(asprintf(&command, "ls -A %s | wc -l", dir) > 0);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%u", &n), 1);
	pclose(f);
	return n;
}

static int begin(void **state)
{
	FILE *f;

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	if (asprintf(&dir, "%s/files", unit_env("TMPDIR")) < 0 ||
	    asprintf(&keep, "%s/keep", dir) < 0 ||
	    asprintf(&named, "%s/named", dir) < 0 ||
	    asprintf(&other, "%s/other", dir) < 0 ||
	    asprintf(&inside, "%s/inside", dir) < 0 ||
	    asprintf(&made, "%s/made", dir) < 0 ||
	    asprintf(&beside, "%s.links", named) < 0 || mkdir(dir, 0700) ||
	    mkdir(inside, 0700))
		return -1;
	f = fopen(keep, "w");
	if (!f || fputs("kept", f) < 0 || fclose(f))
		return -1;
	victim = fork();
	if (!victim) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return 0;
}

static int over(void **state)
{
	(void)state;
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	free(dir);
	free(keep);
	free(named);
	free(other);
	free(inside);
	free(made);
	free(beside);
	return 0;
}

static void it_harms_nobody(void **state)
{
	_cleanup_free_ char *text = NULL;
	int status;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); // it is not confined then
#endif
	status = end_of(start(refused, -1));
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status))
		fail_msg("not refused: the call in line %d (modulo 250)",
			 WEXITSTATUS(status) - 1);
	text = content(keep);
	assert_string_equal(text, "kept");
	assert_int_equal(files_there(), 2);
	assert_int_equal(waitpid(victim, NULL, WNOHANG), 0);
}

static void it_can_work(void **state)
{
	(void)state;
	assert_int_equal(end_of(start(reads, -1)), 42 << 8);
}

static void its_files_are_those_that_are_named(void **state)
{
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_int_equal(end_of(start(writes, -1)), 0);
	text = content(named);
	assert_string_equal(text, "new");
	assert_int_equal(files_there(), 3); // nothing is left of those it dropped
}

static void its_answers_are_to_who_asked(void **state)
{
	(void)state;
	assert_int_equal(end_of(start(asks_after_forks, -1)), 0);
}

static void it_writes_inside(void **state)
{
	_cleanup_free_ char *path = NULL, *text = NULL;

	(void)state;
	assert_int_equal(end_of(start(writes_inside, -1)), 0);
	assert_true(asprintf(&path, "%s/sub/old", inside) > 0);
	text = content(path);
	assert_string_equal(text, "new");
	assert_int_equal(files_there(), 3);
}

static void it_makes_directories(void **state)
{
	(void)state;
	assert_int_equal(end_of(start(makes_dirs, -1)), 0);
	assert_int_equal(access(made, F_OK), -1); // nothing was in it
	assert_int_equal(access(beside, F_OK), 0);
	assert_int_equal(files_there(), 4);
}

static void it_starts_confined_ones(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); // nor are they
#endif
	assert_int_equal(end_of(start(starts, -1)), 0);
	assert_int_equal(access(other, F_OK), -1);
}

static void it_ends_as_without(void **state)
{
	int pipes[2], status;
	char text[8];
	pid_t pid;

	(void)state;
	status = end_of(start(crashes, -1));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	// A signal to its owner reaches it; and it does not outlive that one.
	for (int signo = SIGTERM;; signo = SIGKILL) {
		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		pid = start(stays, pipes[1]);
		close(pipes[1]);
		assert_int_equal(read(pipes[0], text, 5), 5);
		kill(pid, signo);
		status = end_of(pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signo);
		alarm(30);
		assert_int_equal(read(pipes[0], text, 5), 0);
		alarm(0);
		close(pipes[0]);
		if (signo == SIGKILL)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_harms_nobody),
		cmocka_unit_test(it_can_work),
		cmocka_unit_test(its_files_are_those_that_are_named),
		cmocka_unit_test(its_answers_are_to_who_asked),
		cmocka_unit_test(it_writes_inside),
		cmocka_unit_test(it_makes_directories),
		cmocka_unit_test(it_starts_confined_ones),
		cmocka_unit_test(it_ends_as_without),
	};

	return cmocka_run_group_tests(tests, begin, over);
}
