// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bundles inside a bundle: the processes that `record -f` followed are found by number and
 * by process id, with and without the manifests, and share one copy of each kept file.
 */
#include <fcntl.h>
#include <string.h>

#include "tests/capture/bundle.h"

#define ROOT_PID 900u
#define CHILD_PID 901u

static struct err *no_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	(void)addr;
	memset(buf, 1, size);
	return NULL;
}

/** A start state with one mapping of file 1. */
static void write_core(struct cap_writer *w, uint32_t pid)
{
	uint8_t xstate[1024] = {};
	struct cap_mapping m = { .start = 0x400000,
				 .end = 0x401000,
				 .prot = 5,
				 .file = 1,
				 .name = (char *)"/bin/x" };
	uint64_t auxv[2] = {};
	struct cap_core core = { .tid = pid,
				 .xstate = xstate,
				 .xstate_bytes = sizeof(xstate),
				 .mappings = &m,
				 .n_mappings = 1,
				 .auxv = auxv,
				 .n_auxv = 1,
				 .fd = -1 };

	ok(cap_writer_core(w, &core, no_memory, NULL));
}

static void finish(struct cap_writer *w, struct cap_info *info)
{
	uint64_t bytes;

	ok(cap_writer_finish(w, info, &bytes));
	cap_writer_destroy(w);
}

/** A program, a child of it that was recorded, and one that only borrowed its memory. */
static void write_capture(void)
{
	char *argv[] = { (char *)"x", NULL };
	struct cap_event ev = { .kind = CAP_EV_EXIT, .tid = CHILD_PID, .exit_code = 3 };
	struct cap_info child = { .argv = argv,
				  .cwd = (char *)"/",
				  .exe = (char *)"/bin/x",
				  .pid = CHILD_PID,
				  .is_child = true,
				  .index = 1,
				  .created = CAP_CREATED_VFORK };
	struct cap_process list[2] = {
		{ .index = 1,
		  .pid = CHILD_PID,
		  .created = CAP_CREATED_VFORK,
		  .dir = (char *)"1-x.901",
		  .exe = (char *)"/bin/x",
		  .argv = argv,
		  .end = CAP_END_EXIT,
		  .end_value = 3,
		  .is_complete = true },
		{ .index = 2, .parent = 1, .pid = 902, .created = CAP_CREATED_CLONE },
	};
	struct cap_info root = { .argv = argv,
				 .cwd = (char *)"/",
				 .exe = (char *)"/bin/x",
				 .pid = ROOT_PID,
				 .processes = list,
				 .n_processes = 2 };
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY);
	struct cap_writer *w, *of_child;
	uint32_t file = 0;

	remove_bundle();
	ok(cap_writer_create(path_of(""), &w));
	ok(cap_writer_create_child(w, "1-x.901", &of_child));
	ok(cap_writer_file(of_child, fd, "/bin/x", &file));
	ok(cap_writer_file(w, fd, "/bin/x", &file));
	assert_int_equal(file, 1);
	write_core(w, ROOT_PID);
	write_core(of_child, CHILD_PID);
	ok(cap_writer_event(of_child, &ev));
	finish(of_child, &child);
	finish(w, &root);
}

static void check_process(const char *which, const char *want_end)
{
	_cleanup_free_ char *found = NULL;

	ok(capture_process_dir(path_of(""), which, &found));
	assert_string_equal(found + strlen(found) - strlen(want_end), want_end);
}

/** The child opens, its files are the capture's, and its mapping leads to one of them. */
static void check_child(void)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct cap_core *core;
	char path[1024];

	ok(capture_open(path_of("children/1-x.901"), &c));
	assert_true(capture_info(c)->is_child);
	assert_int_equal(capture_info(c)->n_files, 1);
	ok(capture_file_path(c, 1, path, sizeof(path)));
	assert_int_equal(access(path, R_OK), 0);
	ok(cap_core_open(c, &core));
	assert_int_equal(core->tid, CHILD_PID);
	cap_core_close(core);
}

static void test_processes_come_back(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	const struct cap_process *p;

	(void)state;
	write_capture();
	ok(capture_open(path_of(""), &c));
	assert_int_equal(capture_info(c)->n_processes, 2);
	p = capture_info(c)->processes;
	assert_int_equal(p[0].index, 1);
	assert_int_equal(p[0].pid, CHILD_PID);
	assert_int_equal(p[0].created, CAP_CREATED_VFORK);
	assert_string_equal(p[0].argv[0], "x");
	assert_int_equal(p[0].end, CAP_END_EXIT);
	assert_int_equal(p[0].end_value, 3);
	assert_true(p[0].is_complete);
	assert_null(p[1].dir);
	assert_int_equal(p[1].parent, 1);
	check_child();
}

static void test_processes_are_found(void **state)
{
	_cleanup_free_ char *none = NULL;

	(void)state;
	write_capture();
	check_process("0", "/c/");
	check_process("900", "/c/");
	check_process("1", "/children/1-x.901");
	check_process("901", "/children/1-x.901");
	expect(ERR_NOT_FOUND, capture_process_dir(path_of(""), "2", &none));
	expect(ERR_NOT_FOUND, capture_process_dir(path_of(""), "77", &none));
	expect(ERR_USAGE, capture_process_dir(path_of(""), "1x", &none));
	expect(ERR_USAGE, capture_process_dir(path_of(""), "", &none));
}

static void test_killed_recorder(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL, *again = NULL;

	(void)state;
	write_capture();
	unlink(path_of("manifest.json"));
	ok(capture_open(path_of(""), &c));
	assert_true(capture_info(c)->is_unfinished);
	assert_int_equal(capture_info(c)->n_processes, 1);
	assert_string_equal(capture_info(c)->processes[0].exe, "/bin/x");
	assert_int_equal(capture_info(c)->processes[0].created, CAP_CREATED_VFORK);
	check_process("901", "/children/1-x.901");
	unlink(path_of("children/1-x.901/manifest.json"));
	check_child();
	ok(capture_open(path_of(""), &again));
	assert_int_equal(capture_info(again)->n_processes, 1);
	assert_int_equal(capture_info(again)->processes[0].pid, CHILD_PID);
	assert_string_equal(capture_info(again)->processes[0].exe, "x");
	assert_false(capture_info(again)->processes[0].is_complete);
}

/** Names that lead elsewhere are refused; a child taken out of its capture says so. */
static void test_places(void **state)
{
	static const char name[] = "1-x.901";
	_cleanup_close_ int fd = -1;
	char text[16384] = {}, moved[600];
	struct capture *none;
	char *at;

	(void)state;
	write_capture();
	fd = open(path_of("manifest.json"), O_RDWR);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	at = strstr(text, name);
	assert_non_null(at);
	memcpy(at, "../../x", sizeof(name) - 1);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
	expect(ERR_FORMAT, capture_open(path_of(""), &none));
	snprintf(moved, sizeof(moved), "%s/moved", dir);
	assert_int_equal(rename(path_of("children/1-x.901"), moved), 0);
	expect(ERR_NOT_FOUND, capture_open(moved, &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_come_back),
		cmocka_unit_test(test_processes_are_found),
		cmocka_unit_test(test_killed_recorder),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
