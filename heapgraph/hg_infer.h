// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Nodes without allocator knowledge (paper 001, section 3.2.2): for arenas, pools, allocators
 * of the program's own and programs without symbols. No function's name, argument or result
 * means anything here; all that is looked at is which memory is accessed by pointers derived
 * from which (hg_derive.h, hg_pieces.h). Private to heapgraph/ and faultlocate/.
 *
 * What a node begins at: an address in memory that the program got by brk or anonymous mmap,
 *
 *  - that a call into foreign code (modules that ask the system for memory, as libc does;
 *    code without lines in a module that has them) returned, and that was not derived from
 *    its arguments;
 *  - that a call of the program's own returned, derived from what its arguments do not lead
 *    to; or that they do lead to, when nobody accessed it before;
 *  - that is stored as a pointer, into the heap or a global variable (observation 2).
 *
 * Foreign code is not part of the program: only what it writes by the pointers it was given
 * counts as accesses. When it reads just in front of the node it was given, it looks at the
 * header of an allocator, so the node is given back (the paper leaves nodes for ever).
 */
#ifndef HEAPGRAPH_HG_INFER_H
#define HEAPGRAPH_HG_INFER_H

#include "capture/capture.h"
#include "decode/symbols/symbols.h"
#include "heapgraph/hg_plan.h"

/**
 * Replay @p c with all values and find the nodes.
 *
 * @param symbols  Filled with the modules as they are mapped.
 * @param progress As of dec_heap_options.
 * @param ret	   Empty before; vec_deinit() by the caller.
 * @return NULL, ERR_NOMEM, or as dec_heap_trace().
 */
struct err *hg_infer(const struct capture *c, struct dec_symbols *symbols,
		     const char *progress, hg_plan *ret);

#endif
