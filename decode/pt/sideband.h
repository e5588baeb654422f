// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a reader of PT needs beside it, as records of perf.data: the code that lay where and
 * from when on, the threads and their switches. All of it follows from a capture's start
 * state and events; times are those of software PT (doc/pt.md).
 */
#ifndef DECODE_PT_SIDEBAND_H
#define DECODE_PT_SIDEBAND_H

#include "capture/capture.h"
#include "capture/perf_data.h"

/** Executable memory that is no file's: nobody who has perf.data alone knows its code. */
struct dec_unfiled {
	uint64_t start, end; ///< addresses; at some time of the run
};

struct dec_sideband {
	VEC(struct dec_unfiled) unfiled;
	uint64_t n_records;
	uint64_t first_tsc, last_tsc; ///< of the events
};

/** Write the sideband of @p c. @p ret: dec_sideband_deinit(), on errors too. @return why
 * the capture cannot be read, or the file not written. */
struct err *dec_sideband_write(const struct capture *c, struct perf_writer *w,
			       struct dec_sideband *ret);
void dec_sideband_deinit(struct dec_sideband *s);

/** Read the digits of a build-id (NULL: there is none) into @p ret. @return how many bytes
 * it has; 0 when it is none. */
uint8_t dec_build_id(const char *hex, uint8_t ret[PERF_BUILD_ID_MAX]);

/** @return whether @p addr lies in memory that is no file's. */
bool dec_sideband_is_unfiled(const struct dec_sideband *s, uint64_t addr);

#endif
