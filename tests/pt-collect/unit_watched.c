// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel side has room for so many processes with threads at a time: those that have ended
 * take none. One ends by itself while its threads are watched; nobody says more than that it is
 * not recorded any more.
 */
#include <unistd.h>

#include "pt-collect/inputs/table.h"
#include "pt-collect/kernel/bpf.h"
#include "tests/unit.h"

/** Above what any machine gives to processes that there are. */
#define FIRST_TGID (REC_TASKS - 2 * REC_PROCESSES)

static void ended_processes_take_no_room(void **state)
{
	struct ptc_bpf *b = NULL;

	(void)state;
	ok(ptc_bpf_create(PTC_BPF_CALLS, &ptc_table, &b));
	for (uint32_t i = 0; i < REC_PROCESSES + 10; i++) {
		const struct rec_switch last = { .head.tgid = FIRST_TGID + i,
						 .head.tid = FIRST_TGID + i };

		ptc_bpf_set_recorded(b, last.head.tgid, true);
		ok(ptc_bpf_watch_threads(b, &last));
		ptc_bpf_set_recorded(b, last.head.tgid, false);
	}
	ptc_bpf_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		ended_processes_take_no_room) };

	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK)) {
		printf("the kernel side needs root, and a kernel with BTF\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
