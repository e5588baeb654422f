// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which nodes there will be, known before the graph is built: what hg_infer.h found without
 * the allocator's help, and hg_record.h fills with what is stored. Private to heapgraph/.
 */
#ifndef HEAPGRAPH_HG_PLAN_H
#define HEAPGRAPH_HG_PLAN_H

#include <stdint.h>

#include "base/base.h"

/** A node to be. */
struct hg_life {
	uint64_t start, size;
	uint64_t born, died;	///< times; died = UINT64_MAX: not
	uint64_t rip, free_rip; ///< statements
	uint32_t source;  ///< number (index + 1) of what it is split off from; 0: none
	uint32_t cluster; ///< number of what it becomes part of when it dies
};

/** In the order of their births; a source is before its parts, a cluster behind. */
typedef VEC(struct hg_life) hg_plan;

#endif
