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

#endif
