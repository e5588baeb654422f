// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A flow that is opened, as its two kinds share it: perf.data (flow.c), packets alone (raw.c).
 */
#ifndef DECODE_PT_FLOW_INT_H
#define DECODE_PT_FLOW_INT_H

#include "decode/pt/files.h"
#include "decode/pt/flow.h"
#include "decode/pt/world.h"

struct dec_pt_flow {
	struct perf_reader *reader; ///< NULL: there are packets alone
	const struct perf_info *info;
	struct perf_info raw; ///< of packets alone
	struct capture *capture;
	const uint8_t *bytes; ///< all of the file, mapped
	size_t n_bytes;
	struct dec_pt_files files;
	struct dec_pt_world world;
	VEC(struct dec_pt_source) sources;
	VEC(struct dec_pt_missing) missing;
};

/** Map all of @p fd's file, which messages call @p path. */
struct err *dec_pt_flow_map(struct dec_pt_flow *f, int fd, const char *path);

#endif
