// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The start states of many captures of one program differ in little: one of them is kept once, and of
 * the others what differs (doc/bundle.md, start.delta).
 */
#ifndef CAPTURE_CAP_DELTA_H
#define CAPTURE_CAP_DELTA_H

#include <stdint.h>

#include "base/err.h"

#define CAP_DELTA "start.delta"

/** @return the name by which captures keep file @p fd of @p size bytes, whose contents tell it, for free().
 * @p ret NULL: no memory. */
struct err *cap_delta_name(int fd, uint64_t size, char **ret);

/** Write into @p dir_fd as CAP_DELTA how @p fd differs from @p base_fd, which files/ has as @p base. */
struct err *cap_delta_write(int dir_fd, int base_fd, const char *base, int fd);

/**
 * The start state that the capture in @p dir_fd, named @p dir, has so.
 *
 * @param ret  a file in memory, the caller's.
 * @return NULL; ERR_NOT_FOUND: there is no CAP_DELTA, or not what it is based on; ERR_FORMAT: damaged.
 */
struct err *cap_delta_read(int dir_fd, const char *dir, int *ret, uint64_t *bytes);

#endif
