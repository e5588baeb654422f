// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// Files are opened and made where they are meant to be, whatever else lies there; a new one is
// there whole or not at all.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/unit.h"

#define STRANGER 12345 ///< a uid that is nobody's here

static char dir[4096];
static int dir_fd;

/* The path of @p name in the test's directory; four at a time. */
static const char *in_dir(const char *name)
{
	static char buf[4][8192];
	static int n;
	char *p = buf[n++ % 4];

	snprintf(p, sizeof(buf[0]), "%s/%s", dir, name);
	return p;
}

static bool has(const char *name, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(in_dir(name), "re");

	if (!f)
		return false;
	got[fread(got, 1, sizeof(got) - 1, f)] = 0;
	fclose(f);
	return !strcmp(got, text);
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct err *write_to(const char *name, const char *text)
{
	struct new_file f = {};
	struct err *err = new_file_open(&f, name, 0666);

	if (!err) {
		fputs(text, f.stream);
		err = new_file_commit(&f);
	}
	new_file_deinit(&f);
	return err;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(in_dir(name), &st), 0);
	return st.st_mode;
}

/* How much is in the directory, so that what is left over is seen. */
static int count(void)
{
	DIR *d = opendir(dir);
	int n = -2;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%s/file.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(dir_fd);
	return unit_run("rm -rf '%s'", dir);
}

/* ---- new files ------------------------------------------------------------------------- */

static void test_is_there_after_commit(void **state)
{
	struct new_file f = {};

	(void)state;
	put("file", "old");
	ok(new_file_open(&f, in_dir("file"), 0640));
	fputs("new", f.stream);
	fflush(f.stream);
	assert_true(has("file", "old"));
	ok(new_file_commit(&f));
	new_file_deinit(&f);
	assert_true(has("file", "new"));
	assert_int_equal(mode_of("file") & 0777, 0640);
	assert_int_equal(count(), 1);
}

static void test_old_stays_until_commit(void **state)
{
	struct new_file f = {};

	(void)state;
	put("file", "old");
	ok(new_file_open(&f, in_dir("file"), 0666));
	fputs("new", f.stream);
	new_file_deinit(&f);
	assert_true(has("file", "old"));
	assert_int_equal(count(), 1);
}

static void test_full_disk_leaves_nothing(void **state)
{
	struct new_file f = {};
	struct err *err;

	(void)state;
	put("file", "old");
	ok(new_file_open(&f, in_dir("file"), 0666));
	// A device that is always full, in the place of the stream's file.
	assert_non_null(freopen("/dev/full", "we", f.stream));
	fputs("third", f.stream);
	err = new_file_commit(&f);
	assert_non_null(err);
	assert_non_null(strstr(err->message, in_dir("file")));
	err_destroy(err);
	new_file_deinit(&f);
	assert_true(has("file", "old"));
	assert_int_equal(count(), 1);
}

static void test_no_such_directory(void **state)
{
	(void)state;
	expect(ERR_NOT_FOUND, write_to("/nowhere/at/all", ""));
}

static void test_what_lies_beside_is_not_touched(void **state)
{
	(void)state;
	put("precious", "mine");
	assert_int_equal(symlink("precious", in_dir("file.part")), 0);
	ok(write_to(in_dir("file"), "new"));
	assert_true(has("precious", "mine") && has("file", "new"));
}

static void test_own_link_is_followed(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in_dir("sub"), 0700), 0);
	assert_int_equal(symlink("sub/second", in_dir("first")), 0);
	assert_int_equal(symlink("../file", in_dir("sub/second")), 0);
	put("file", "old");
	ok(write_to(in_dir("first"), "new"));
	assert_true(has("file", "new"));
	assert_true(S_ISLNK(mode_of("first")) && S_ISLNK(mode_of("sub/second")));
	// Also where nothing is yet.
	unlink(in_dir("file"));
	ok(write_to(in_dir("first"), "anew"));
	assert_true(has("file", "anew"));
	// Round and round.
	unlink(in_dir("sub/second"));
	assert_int_equal(symlink("../first", in_dir("sub/second")), 0);
	expect(ERR_OS, write_to(in_dir("first"), "never"));
}

static void test_strangers_link_is_not(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	put("precious", "mine");
	assert_int_equal(symlink("precious", in_dir("link")), 0);
	assert_int_equal(lchown(in_dir("link"), STRANGER, 0), 0);
	expect(ERR_PERMISSION, write_to(in_dir("link"), "new"));
	assert_true(has("precious", "mine"));
	assert_int_equal(mkfifo(in_dir("pipe"), 0666), 0);
	assert_int_equal(chown(in_dir("pipe"), STRANGER, 0), 0);
	expect(ERR_PERMISSION, write_to(in_dir("pipe"), "new"));
	assert_int_equal(count(), 3);
	// In the stranger's directory it is the place that is his.
	assert_int_equal(chown(dir, STRANGER, 0), 0);
	ok(write_to(in_dir("link"), "new"));
	assert_true(has("precious", "new"));
}

static void test_pipes_and_devices_are_written(void **state)
{
	char got[8] = "";
	int fd;

	(void)state;
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	fd = open(in_dir("pipe"), O_RDONLY | O_NONBLOCK);
	ok(write_to(in_dir("pipe"), "new"));
	assert_int_equal(read(fd, got, sizeof(got)), 3);
	close(fd);
	assert_true(S_ISFIFO(mode_of("pipe")));
	if (!geteuid() && !mknod(in_dir("null"), S_IFCHR | 0600, 0x103)) {
		ok(write_to(in_dir("null"), "new"));
		assert_true(S_ISCHR(mode_of("null")));
	}
}

/* As of a shell's redirection: what is in the file stays. */
static void test_descriptor_is_written(void **state)
{
	char name[64];
	int fd;

	(void)state;
	put("file", "old");
	fd = open(in_dir("file"), O_WRONLY | O_APPEND);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ok(write_to(name, "new"));
	close(fd);
	assert_true(has("file", "oldnew"));
}

static void test_in_a_bundle_nothing_is_followed(void **state)
{
	struct new_file f = {};

	(void)state;
	put("precious", "mine");
	assert_int_equal(symlink("precious", in_dir("name")), 0);
	ok(new_file_open_in(&f, dir_fd, "name", "shown"));
	fputs("new", f.stream);
	ok(new_file_commit(&f));
	new_file_deinit(&f);
	assert_true(has("precious", "mine") && has("name", "new"));
	assert_int_equal(mode_of("name"), S_IFREG | 0600);
	assert_int_equal(count(), 2);
}

/* ---- below a directory ----------------------------------------------------------------- */

static void refused(const char *path, int flags, int why)
{
	int fd = file_open_below(dir_fd, path, flags);

	assert_int_equal(fd, -1);
	assert_int_equal(errno, why);
}

static void test_nothing_leads_out(void **state)
{
	int fd;

	(void)state;
	put("outside", "precious");
	assert_int_equal(mkdir(in_dir("sub"), 0700), 0);
	put("sub/file", "text");
	assert_int_equal(symlink("sub", in_dir("link")), 0);
	assert_int_equal(symlink("outside", in_dir("to_file")), 0);
	assert_int_equal(symlink("nowhere", in_dir("to_none")), 0);
	fd = file_open_below(dir_fd, "sub/file", O_RDONLY);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	refused("link/file", O_RDONLY, ENOTDIR);
	refused("to_file", O_RDONLY, ELOOP);
	refused("to_none", O_WRONLY | O_CREAT, EEXIST);
	refused("outside", O_WRONLY | O_CREAT | O_TRUNC, EEXIST);
	refused("sub/../outside", O_RDONLY, EXDEV);
	refused("..", O_RDONLY, EXDEV);
	refused("/etc/passwd", O_RDONLY, EXDEV);
	refused("sub/", O_RDONLY, EXDEV);
	refused("", O_RDONLY, EXDEV);
	assert_true(has("outside", "precious"));
	fd = file_open_below(dir_fd, "sub/new", O_WRONLY | O_CREAT);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mode_of("sub/new"), S_IFREG | 0600);
}

static void test_inputs_are_regular_files(void **state)
{
	uint64_t bytes;
	int fd;

	(void)state;
	put("file", "12345");
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	assert_int_equal(symlink("file", in_dir("link")), 0);
	ok(file_open_input(dir_fd, "file", "shown", 5, &fd, &bytes));
	assert_int_equal(bytes, 5);
	close(fd);
	expect(ERR_FORMAT, file_open_input(dir_fd, "file", "shown", 4, &fd, &bytes));
	expect(ERR_FORMAT, file_open_input(dir_fd, "pipe", "shown", 5, &fd, &bytes));
	expect(ERR_FORMAT, file_open_input(dir_fd, "link", "shown", 5, &fd, &bytes));
	expect(ERR_NOT_FOUND, file_open_input(dir_fd, "none", "shown", 5, &fd, &bytes));
	expect(ERR_FORMAT,
	       file_open_input(AT_FDCWD, "/dev/zero", "shown", 5, &fd, &bytes));
	ok(file_open_input(AT_FDCWD, in_dir("link"), "shown", 5, &fd, &bytes));
	close(fd);
}

static void test_inputs_are_read_whole(void **state)
{
	char *text = NULL;
	size_t bytes = 0;

	(void)state;
	put("file", "12345");
	put("empty", "");
	ok(file_read_input(in_dir("file"), 5, &text, &bytes));
	assert_int_equal(bytes, 5);
	assert_string_equal(text, "12345");
	free(text);
	ok(file_read_input(in_dir("empty"), 5, &text, &bytes));
	assert_int_equal(bytes, 0);
	assert_string_equal(text, "");
	free(text);
	expect(ERR_FORMAT, file_read_input(in_dir("file"), 4, &text, &bytes));
	expect(ERR_NOT_FOUND, file_read_input(in_dir("none"), 5, &text, &bytes));
}

/* ---- directories ----------------------------------------------------------------------- */

static void test_directories_are_ours(void **state)
{
	bool is_new;
	int fd;

	(void)state;
	ok(file_make_dir(in_dir("sub/"), &fd, &is_new));
	close(fd);
	assert_true(is_new);
	assert_int_equal(mode_of("sub"), S_IFDIR | 0700);
	ok(file_make_dir(in_dir("sub"), &fd, &is_new));
	close(fd);
	assert_false(is_new);
	chmod(in_dir("sub"), 0777);
	expect(ERR_PERMISSION, file_make_dir(in_dir("sub"), &fd, &is_new));
	chmod(in_dir("sub"), 01777);
	ok(file_make_dir(in_dir("sub"), &fd, &is_new));
	close(fd);
	put("file", "");
	expect(ERR_OS, file_make_dir(in_dir("file"), &fd, &is_new));
	if (geteuid())
		return;
	chmod(in_dir("sub"), 0755);
	assert_int_equal(chown(in_dir("sub"), STRANGER, 0), 0);
	expect(ERR_PERMISSION, file_make_dir(in_dir("sub"), &fd, &is_new));
}

/* What new_file_open() says is said before, and nothing is touched. */
static void test_what_fails_is_said_before(void **state)
{
	static const char *const good[] = { "new", "old", "link", "pipe" },
				 *const bad[] = { "below", "nowhere/new", "old/new",
						  "round" };

	(void)state;
	ok(write_to(in_dir("old"), "x"));
	assert_int_equal(mkdirat(dir_fd, "below", 0755), 0);
	assert_int_equal(symlinkat("old", dir_fd, "link"), 0);
	assert_int_equal(symlinkat("round", dir_fd, "round"), 0);
	assert_int_equal(mkfifoat(dir_fd, "pipe", 0600), 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ok(new_file_check(in_dir(good[i])));
	ok(new_file_check("-"));
	ok(new_file_check("/dev/null"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err *err = new_file_check(in_dir(bad[i]));
		struct err *late = write_to(in_dir(bad[i]), "x");

		assert_non_null(err);
		assert_non_null(late);
		assert_int_equal(err->code, late->code);
		assert_string_equal(err->message, late->message);
		err_destroy(err);
		err_destroy(late);
	}
	assert_int_equal(count(), 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_is_there_after_commit),
		TEST(test_old_stays_until_commit),
		TEST(test_full_disk_leaves_nothing),
		TEST(test_no_such_directory),
		TEST(test_what_fails_is_said_before),
		TEST(test_what_lies_beside_is_not_touched),
		TEST(test_own_link_is_followed),
		TEST(test_strangers_link_is_not),
		TEST(test_pipes_and_devices_are_written),
		TEST(test_descriptor_is_written),
		TEST(test_in_a_bundle_nothing_is_followed),
		TEST(test_nothing_leads_out),
		TEST(test_inputs_are_regular_files),
		TEST(test_inputs_are_read_whole),
		TEST(test_directories_are_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
