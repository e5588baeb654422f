// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What system calls are called.
 */
#ifndef PT_COLLECT_INPUTS_NAMES_H
#define PT_COLLECT_INPUTS_NAMES_H

#include <stddef.h>
#include <stdint.h>

/** @return the name of system call @p nr; NULL when it has none. */
const char *ptc_name_of(int64_t nr);

/** @return .. "syscall_N" (static buffer) then. */
const char *ptc_name_or_number(int64_t nr);

/** @return the number after the last that has a name. */
int64_t ptc_names_end(void);

#endif
