// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A capture's run as perf.data: its replay as PT packets, its events as sideband, and a
 * directory in which perf finds the code (doc/perf-data.md).
 */
#ifndef DECODE_PT_FROM_CAPTURE_H
#define DECODE_PT_FROM_CAPTURE_H

#include "decode/machine/machine.h"

#define DEC_ENCODE_PSB_MIN 2048u
#define DEC_ENCODE_PSB_MAX (64u << 20)

struct dec_encode_options {
	struct new_file *file; ///< to be written; borrowed, the caller commits it
	uint64_t psb_bytes;    ///< a PSB each so many bytes of a stream
	bool compresses_returns;
	bool has_timing; ///< MTC and CYC packets
	bool has_probes; ///< what the recorder's probes add to a trace
	uint32_t tid;	 ///< only this thread's stream; 0 = all
	const char *const *cmdline;
	void (*progress)(void *ctx, const struct dec_where *w);
	void *progress_ctx;
};

struct dec_encode_result {
	uint64_t bytes;		///< of the file
	uint64_t pt_bytes;	///< of the streams
	uint64_t n_streams;	///< threads that ran
	uint64_t unfiled_bytes; ///< of the code that ran: it is in no file
	struct dec_where where; ///< where the replay ended
	char *divergence;	///< NULL when it did not leave the recorded path
};

/**
 * Replay @p c and write its perf.data.
 *
 * @param ret  dec_encode_deinit(). A replay that diverges, or a log that breaks off, is
 *	       no error: the file goes up to there.
 * @return as dec_machine_create() and perf_writer_create(); ERR_NOT_FOUND: o->tid did not
 *	   run.
 */
struct err *dec_encode(const struct capture *c, const struct dec_encode_options *o,
		       struct dec_encode_result *ret);
void dec_encode_deinit(struct dec_encode_result *r);

/**
 * Make a directory that has each kept file under the path that the program knew it by, as a
 * link: `perf script --symfs` reads code there.
 *
 * @param path	    a directory to be made, or to be added to; NULL: CAPTURE/symfs, whose links
 *		    stay right when the capture is moved.
 * @param unlinked  Of how many files that was not possible: the name is not one.
 * @return why the directory cannot be made.
 */
struct err *dec_symfs_make(const struct capture *c, const char *path, uint64_t *unlinked);

#endif
