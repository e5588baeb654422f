// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A segment of the program's own, and its limit, which only the processor knows. 77: the kernel has
 * no such segments.
 */
#include <asm/ldt.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct user_desc desc = {
		.limit = 0x1234, .seg_32bit = 1, .contents = 2, .useable = 1
	};
	uint32_t limit = 0, selector = 0x7;

	if (syscall(SYS_modify_ldt, 0x11, &desc, sizeof(desc)))
		return 77;
	asm volatile("lsl %1, %0" : "+r"(limit) : "r"(selector) : "cc");
	printf("%*d\n", limit ? 7 : 3, 1);
	return 0;
}
