// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Scope guards: a variable marked `_cleanup_(fn)` calls fn(&variable) when it goes
 * out of scope; take_ptr() moves a pointer out of its guard.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/** Move the pointer out of guarded variable *@p p, leaving NULL behind. */
#define take_ptr(p)                          \
	({                                   \
		__typeof__(*(p)) __t = *(p); \
		*(p) = NULL;                 \
		__t;                         \
	})

/** Move the descriptor out of guarded variable *@p fd, leaving -1 behind. */
static inline int take_fd(int *fd)
{
	int t = *fd;

	*fd = -1;
	return t;
}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)

#endif
