// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kept files of a capture, while it is being made. Private to capture/.
 */
#ifndef CAPTURE_CAP_STORE_H
#define CAPTURE_CAP_STORE_H

#include "capture/cap_format.h"

struct cap_store;

/** Make files/ in the bundle whose directory is open as @p dir_fd, named @p dir. The
 * caller holds one reference. */
struct err *cap_store_create(int dir_fd, const char *dir, struct cap_store **ret);

/** One more holder. @return @p s. */
struct cap_store *cap_store_ref(struct cap_store *s);

/** One holder less; the last one closes it. NULL is fine. */
void cap_store_unref(struct cap_store *s);

/** Remove files/ and all in it again. */
void cap_store_remove(struct cap_store *s, int dir_fd);

/** Keep a copy of open file @p fd, known as @p path. @p ret gets its 1-based index, and
 * @p bytes grows by what was copied. @return NULL or ERR_OS. */
struct err *cap_store_keep(struct cap_store *s, int fd, const char *path, uint32_t *ret,
			   uint64_t *bytes);

/** The files kept so far, borrowed until the next is. */
struct cap_file *cap_store_files(const struct cap_store *s);
size_t cap_store_size(const struct cap_store *s);

#endif
