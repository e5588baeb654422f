// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A writer from the inside; shared by perf_writer*.c.
 */
#ifndef CAPTURE_PERF_WRITER_INT_H
#define CAPTURE_PERF_WRITER_INT_H

#include "capture/perf_format.h"

enum {
	PERF_ATTR_PT,
	PERF_ATTR_SIDEBAND,
	PERF_ATTRS,
	PERF_BUFFER_BYTES = 256 << 10,
	/// The id behind each record of the kernel's: TID, TIME, CPU, IDENTIFIER.
	PERF_SAMPLE_ID_BYTES = 32,
	PERF_WORD = 8,
};

/** The AUXTRACE record that ends the data. */
struct perf_last {
	uint64_t at; ///< in the file; 0: something else does
	uint32_t stream;
	uint64_t bytes; ///< without its padding
};

struct perf_writer {
	int fd;
	char *path;
	struct perf_writer_options o;
	struct perf_attr_disk attr[PERF_ATTRS];
	VEC(uint64_t) ids[PERF_ATTRS];
	struct perf_head head;
	uint64_t at; ///< in the file, of buffer[0]
	size_t n_buffer;
	uint8_t *buffer;
	struct map stream_of; ///< number -> where it goes on
	struct perf_last last;
	VEC(struct perf_index_entry) index;
	VEC(uint8_t) build_ids;
	uint64_t first_ns, last_ns;
	bool has_more_ids; ///< than at the beginning
	bool has_failed;
};

/** Append bytes to the data, through the buffer. */
struct err *perf_put(struct perf_writer *w, const void *data, size_t n);

/** Write at a place of the file. On failure nothing more is written. */
struct err *perf_write_at(struct perf_writer *w, const void *data, size_t n, uint64_t at);

/** Append a record: its beginning (from which the size is set), a text or other bytes,
 * padded; with @p id, its sample id. */
struct err *perf_put_record(struct perf_writer *w, void *head, size_t head_bytes,
			    const void *tail, size_t tail_bytes,
			    const struct perf_record *id);

/** All before the first record: head, attrs, ids, AUXTRACE_INFO. */
struct err *perf_put_beginning(struct perf_writer *w);

/** All behind the last one: features, ids. @p end: the file's size. */
struct err *perf_put_end(struct perf_writer *w, uint64_t *end);

/** The head as it is now. */
struct err *perf_write_head(struct perf_writer *w);

#endif
