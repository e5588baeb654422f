// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A file that is there whole or not at all: written beside its place as PATH.part, then
 * moved there.
 */
#ifndef BASE_NEW_FILE_H
#define BASE_NEW_FILE_H

#include <stdio.h>

#include "base/err.h"

struct new_file {
	FILE *stream; ///< to be written to; its errors are told by new_file_commit()
	char *path, *partial;
};

/** Start to write @p path. @return NULL, ERR_NOMEM or what err_errno() says;
 * new_file_deinit() in any case. */
struct err *new_file_open(struct new_file *f, const char *path);

/** Move it to its place, over what may be there. @return NULL, or ERR_OS when something
 * could not be written. */
struct err *new_file_commit(struct new_file *f);

/** Remove what was not committed. A zeroed @p f is fine. */
void new_file_deinit(struct new_file *f);

#endif
