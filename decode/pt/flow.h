// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A perf.data file with Intel PT, ready to be decoded: its streams (each of a thread or of
 * a processor), and for each thread which code lay where, when; from the records beside
 * the packets. Where the code is found: files.h.
 *
 * A stream of a processor tells nothing of threads: who ran when is taken from the records
 * of context switches, in the time of the packets.
 *
 * Opened by one thread, which also closes it; streams may be decoded by others.
 */
#ifndef DECODE_PT_FLOW_H
#define DECODE_PT_FLOW_H

#include "base/base.h"
#include "capture/capture.h"
#include "capture/perf_data.h"
#include "decode/pt/stream.h"

struct dec_pt_flow;

/** A stream of the file. */
struct dec_pt_source {
	uint32_t number;   ///< of the stream, in the file
	uint32_t tid, cpu; ///< one of them is PERF_NONE
	struct dec_pt_stream stream;
};

struct dec_pt_thread {
	uint32_t pid, tid;
	const char *name; ///< its last one; NULL unknown
};

/** A file whose code is missing. */
struct dec_pt_missing {
	const char *path, *why;
};

/**
 * Open @p path: a capture with a perf.data, or such a file.
 *
 * @param symfs  directory below which files have the paths that the program saw; NULL: none.
 * @return ERR_NOT_FOUND (no such file; the capture has no PT, says why), ERR_UNSUPPORTED
 *	   (there is no PT in it), and as perf_reader_open(), capture_open().
 */
struct err *dec_pt_flow_open(const char *path, const char *symfs,
			     struct dec_pt_flow **ret);

/**
 * Open @p path: packets alone, of one stream, without times.
 *
 * @param images  what lay where, @p n times FILE[:FROM[-TO]][@ADDR]: of an ELF file the code,
 *		  its beginning at ADDR (where it wants to lie, unless it can be anywhere);
 *		  of another, or a part, its bytes. Later ones hide earlier ones.
 * @return ERR_NOT_FOUND, ERR_FORMAT (there is no PSB), ERR_USAGE (says which image is none),
 *	   ERR_RANGE (a part that the file has not).
 */
struct err *dec_pt_flow_open_raw(const char *path, const char *const *images, size_t n,
				 struct dec_pt_flow **ret);
void dec_pt_flow_close(struct dec_pt_flow *f);
void dec_pt_flow_closep(struct dec_pt_flow **f);

/** @return all that is said of the file itself. Valid until it is closed, as is the rest. */
const struct perf_info *dec_pt_flow_info(const struct dec_pt_flow *f);

/** @return the streams of packets, @p n of them, as the file has them. */
const struct dec_pt_source *dec_pt_flow_sources(const struct dec_pt_flow *f, size_t *n);

/** @return the threads that the file tells of, ascending by tid. */
const struct dec_pt_thread *dec_pt_flow_threads(const struct dec_pt_flow *f, size_t *n);

/** @return where @p path can be read, which some thread had mapped as code: a descriptor of the
 * flow's; -1: nowhere. */
int dec_pt_flow_file(const struct dec_pt_flow *f, const char *path);

/** @return thread @p tid, or NULL. */
const struct dec_pt_thread *dec_pt_flow_thread(const struct dec_pt_flow *f, uint32_t tid);

/** @return the files that were mapped as code and cannot be read. */
const struct dec_pt_missing *dec_pt_flow_missing(const struct dec_pt_flow *f, size_t *n);

/** @return @p tsc in nanoseconds of the records' clock; 0 when the clocks' relation, or
 * @p tsc (0), is not known. */
uint64_t dec_pt_flow_ns(const struct dec_pt_flow *f, uint64_t tsc);

#endif
