// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where chaos may stop a thread, and that debug registers stop it there.
 */
#include <signal.h>

#include "pt-collect/inputs/points.h"
#include "pt-collect/tracee/tracee.h"
#include "tests/unit.h"

static volatile uint64_t word;
static volatile uint8_t bytes[16] __attribute__((aligned(8)));

/* A function with a frame pointer, and one that has something else in rbp. */
__asm__(".text\n"
	"framed: push %rbp\n"
	"mov %rsp, %rbp\n"
	"by_frame: mov -8(%rbp), %eax\n"
	"by_pointer: mov %eax, (%rdi)\n"
	"pop %rbp\n"
	"ret\n"
	"by_rbp: mov (%rbp), %eax\n"
	"ret\n");

extern const char by_frame[], by_pointer[], by_rbp[];

static void touch(void)
{
	word = 1;
	(void)bytes[3];
	bytes[5] = 1;
}

/** @return a child that stands in a stop, and will touch(). */
static pid_t start_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		touch();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static const struct ptc_point *find(const struct ptc_points *points, const char *at)
{
	for (size_t i = 0; i < points->list.size; i++)
		if (points->list.data[i].at + points->bias == (uint64_t)at)
			return &points->list.data[i];
	return NULL;
}

static void test_frame_is_stack(void **state)
{
	struct ptc_tracee t = { .pid = start_child(), .mem_fd = -1 };
	struct ptc_points points = {};

	(void)state;
	ok(ptc_tracee_open(&t));
	ok(ptc_points_find(&t, &points));
	assert_null(find(&points, by_frame));
	assert_non_null(find(&points, by_pointer));
	assert_true(find(&points, by_pointer)->is_write);
	// Behind the return rbp may be anything.
	assert_non_null(find(&points, by_rbp));
	assert_false(find(&points, by_rbp)->is_write);
	ptc_points_deinit(&points);
	end_child(t.pid);
	ptc_tracee_close(&t);
}

/** Let @p pid go on. @return at which of its watches it stops; 0 = it ends. */
static unsigned next_hits(pid_t pid)
{
	int status;

	ptrace(PTRACE_CONT, pid, NULL, NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		return 0;
	assert_int_equal(WSTOPSIG(status), SIGTRAP);
	return ptc_points_take_hits(pid);
}

/** Registers can be for an instruction, for a long or for a short access in turn, wherever that is. */
static void test_registers_change(void **state)
{
	const struct ptc_watch first[] = {
		{ .addr = (uint64_t)touch },
		{ .addr = (uint64_t)&word, .size = 8, .is_write = true }
	};
	const struct ptc_watch second[] = {
		{ .addr = (uint64_t)&bytes[3], .size = 1, .is_write = true },
		{ .addr = (uint64_t)&bytes[5], .size = 1, .is_write = false },
	};
	const struct ptc_watch third[] = { { .addr = (uint64_t)&word, .size = 8 } };
	pid_t pid = start_child();

	(void)state;
	assert_true(ptc_points_arm(pid, first, 2));
	assert_int_equal(next_hits(pid), 1);
	assert_int_equal(next_hits(pid), 2);
	assert_true(ptc_points_arm(pid, second, 2));
	assert_int_equal(next_hits(pid), 1);
	assert_true(ptc_points_arm(pid, third, 1));
	assert_true(ptc_points_arm(pid, second, 2));
	assert_int_equal(next_hits(pid), 2);
	assert_int_equal(next_hits(pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_is_stack),
		cmocka_unit_test(test_registers_change),
	};

	if (!ptc_points_can_break()) {
		puts("this machine's debug registers stop nobody");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
