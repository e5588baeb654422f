// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Asks for the time through the vsyscall page, as programs did before 2.6.16.
#include <stdio.h>
#include <time.h>

int main(void)
{
	time_t (*old_time)(time_t *) = (time_t(*)(time_t *))0xffffffffff600400;

	puts(old_time(NULL) > 0 ? "answered" : "not answered");
	return 0;
}
