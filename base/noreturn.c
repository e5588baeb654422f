// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/noreturn.h"

#include <string.h>

bool noreturn_is(const char *name, size_t n)
{
	static const char *const names[] = {
		"abort",	 "exit",	   "_exit",
		"__assert_fail", "longjmp",	   "_longjmp",
		"siglongjmp",	 "__longjmp_chk",  "__cxa_throw",
		"__cxa_rethrow", "_Unwind_Resume", "__stack_chk_fail",
		"__chk_fail",	 "__fortify_fail", "pthread_exit",
		"quick_exit",	 "_Exit",	   "err",
		"errx",		 "__assert"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return true;
	return false;
}
