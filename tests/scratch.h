// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Directories that tests make, and remove with all that is in them.
 */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline int scratch_remove_one(const char *path, const struct stat *st, int kind,
				     struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

/** Remove directory @p path and what is in it, no link followed. @return 0, or -1. */
static inline int scratch_remove(const char *path)
{
	return nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char scratch[64]; ///< the directory that scratch_make() made

static inline void scratch_forget(void)
{
	scratch_remove(scratch);
}

/** Make a directory, in memory where that can be, which is gone when the program ends.
 * @return whether it is there. */
static inline int scratch_make(void)
{
	snprintf(scratch, sizeof(scratch), "%s/faultline-fuzz.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(scratch) && !atexit(scratch_forget);
}

#endif
