// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where the contents of a file that a recorded program mapped can be read: what the capture
 * kept, then the directory that was named for it, then perf's cache (~/.debug), then debug files (/usr/lib/debug/.build-id), then the
 * path itself. What has a build-id is only taken from where the same build-id is.
 *
 * Not shared between threads.
 */
#ifndef DECODE_PT_FILES_H
#define DECODE_PT_FILES_H

#include "base/base.h"
#include "capture/capture.h"
#include "capture/perf_data.h"

struct dec_pt_files {
	const struct capture *capture; ///< NULL: none; borrowed
	const struct perf_info *perf;  ///< its list of build-ids; borrowed
	const char *symfs;	       ///< below it are files, too; NULL: borrowed
	const char *home;	       ///< whose ~/.debug; NULL: nobody's
	int vdso;		       ///< this machine's own, as a file; -1 not made yet
	VEC(struct dec_pt_file) known;
};

/** A file that was asked for. Texts live as long as the dec_pt_files. What was looked at is what
 * is read: paths may lead to another file by then. */
struct dec_pt_file {
	char *path;	///< as the program saw it
	char *build_id; ///< hex; NULL unknown
	int fd; ///< it, open as long as the dec_pt_files is there; -1: it cannot be read
	char *why; ///< it cannot
};

/** @p c, @p perf and @p symfs (NULL: none) are borrowed until dec_pt_files_deinit(). */
void dec_pt_files_init(struct dec_pt_files *f, const struct capture *c,
		       const struct perf_info *perf, const char *symfs);
void dec_pt_files_deinit(struct dec_pt_files *f);

/** Find the file of mapping @p m (a PERF_MMAP record). @p ret is valid until the next call.
 * @return NULL or err_nomem. */
struct err *dec_pt_files_find(struct dec_pt_files *f, const struct perf_record *m,
			      const struct dec_pt_file **ret);

#endif
