// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the records beside the packets tell, in the order of their times: threads, the code
 * of each process, who ran where, what was lost. Private to flow.c.
 *
 * A process has *eras*: it begins anew with each program that it executes. Times are those
 * of the packets (TSC); all 0 where the clocks' relation is not known.
 */
#ifndef DECODE_PT_WORLD_H
#define DECODE_PT_WORLD_H

#include "decode/pt/files.h"
#include "decode/pt/flow.h"

struct dec_pt_loss {
	uint32_t tid, cpu; ///< of the stream
	uint64_t offset;   ///< in its trace buffer
	const char *why;
};

/** The code of one process from a time on, until its next era. */
struct dec_pt_era {
	uint32_t pid;
	uint64_t from;
	struct dec_pt_image *image;
};

/** A thread began to run on a processor, or ceased to. */
struct dec_pt_change {
	uint64_t time_ns, seq;
	uint32_t cpu;
	uint32_t tid; ///< who; 0: nobody, the processor idles; PERF_NONE: it is not told
	bool is_out;
};

struct dec_pt_world {
	const struct perf_clock *clock;
	struct dec_pt_files *files;
	struct arena arena;
	VEC(struct dec_pt_loss) losses; ///< ascending by offset for each stream
	VEC(struct dec_pt_era) eras;	///< ascending by from
	VEC(struct dec_pt_change) changes;
	VEC(struct dec_pt_thread) threads; ///< ascending by tid
};

/** Read all records of @p r. The world borrows from it, and from @p files, and is to be
 * deinitialised on error, too. */
struct err *dec_pt_world_init(struct dec_pt_world *w, struct perf_reader *r,
			      struct dec_pt_files *files);
void dec_pt_world_deinit(struct dec_pt_world *w);

/** Begin stream @p s with its turns: thread @p tid's, or who ran on @p cpu. */
struct err *dec_pt_world_thread_turns(struct dec_pt_world *w, uint32_t tid,
				      struct dec_pt_stream *s);
struct err *dec_pt_world_cpu_turns(struct dec_pt_world *w, uint32_t cpu,
				   struct dec_pt_stream *s);

#endif
