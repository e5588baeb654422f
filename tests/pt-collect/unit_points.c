// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where chaos may stop a thread.
 */
#include <signal.h>

#include "pt-collect/inputs/points.h"
#include "pt-collect/tracee/tracee.h"
#include "tests/unit.h"

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

/** @return a child that stands in a stop, and will end. */
static pid_t start_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
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
	// Behind the return rbp may be anything.
	assert_non_null(find(&points, by_rbp));
	ptc_points_deinit(&points);
	end_child(t.pid);
	ptc_tracee_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_is_stack),
	};

	if (!ptc_points_can_break()) {
		puts("this machine's debug registers stop nobody");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
