// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is known of system calls without their events.
 */
#ifndef DECODE_MACHINE_CALL_ARGS_H
#define DECODE_MACHINE_CALL_ARGS_H

#include <stdint.h>

/** @return how many arguments system call @p nr takes; 6 when it is not known. */
int dec_call_args(int64_t nr);

/** @return how many of its arguments @p arg the kernel looks at: their first ones that it needs whatever is asked
 * for, and what that needs of open() and fcntl(); 0 when it is not known. */
int dec_call_args_looked_at(int64_t nr, const uint64_t arg[6]);

#endif
