// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which pages of this process's memory are there? Most of what programs reserve nobody ever touches.
 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

/**
 * Of the @p n pages of 4096 bytes at @p start, which were touched? The others, where they are no file's, hold zeros.
 *
 * @param ret  n of them: bit 0 says that it was.
 * @return false: that is not known, as something is swapped out, or some are not mapped.
 */
static inline bool pages_there(const void *start, size_t n, unsigned char *ret)
{
	struct sysinfo now;

	return !mincore((void *)start, n * 4096, ret) && !sysinfo(&now) &&
	       now.freeswap == now.totalswap;
}

#endif
