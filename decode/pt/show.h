// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A decoded flow as lines for people, or as JSON objects, one a line: its instructions, its
 * branches or its calls. Everything that is decoded is counted, whatever is shown.
 *
 * Not shared between threads.
 */
#ifndef DECODE_PT_SHOW_H
#define DECODE_PT_SHOW_H

#include <stdio.h>

#include "decode/pt/decode.h"
#include "decode/pt/flow.h"

enum dec_pt_form {
	DEC_PT_FORM_SUMMARY, ///< nothing is shown while it is decoded
	DEC_PT_FORM_INSTRUCTIONS,
	DEC_PT_FORM_BRANCHES,
	DEC_PT_FORM_CALLS,
	DEC_PT_FORM_PACKETS, ///< not by dec_pt_show_sources(): packets.h
};

struct dec_pt_cpu_range {
	uint32_t first, last;
};

/** Processors. */
struct dec_pt_cpus {
	VEC(struct dec_pt_cpu_range) ranges;
};

struct dec_pt_show_options {
	enum dec_pt_form form;
	bool as_json;
	const char *function; ///< only of this one; NULL: all
	uint32_t tid, pid;    ///< only this thread, threads of this process; 0: all
	const char *comm;     ///< only threads whose last name it is; NULL: all
	const struct dec_pt_cpus *cpus; ///< only what ran there; NULL: anywhere
	uint64_t from_tsc, to_tsc;	///< only what ran then; 0, 0: all
	unsigned int n_threads;		///< to decode with, as in dec_pt_decode_options
	bool with_progress; ///< on stderr, when it takes more than two seconds
	FILE *out;
};

/** What was decoded of one thread. */
struct dec_pt_tally {
	uint32_t tid;
	uint64_t instructions, gaps;
	uint64_t first_tsc, last_tsc; ///< 0 unknown
};

/** Gaps of one kind, with one reason. Texts are the flow's. */
struct dec_pt_gap_count {
	enum dec_pt_gap_kind kind;
	const char *why, *file;
	uint64_t n, first_byte;
};

/** What was decoded in all: of the threads and the time that were asked for. */
struct dec_pt_shown {
	VEC(struct dec_pt_tally) threads; ///< in the order of their appearance
	VEC(struct dec_pt_gap_count) gaps;
	uint64_t instructions, n_gaps;
	uint64_t bytes, skipped_bytes;
	uint64_t kernel_visits; ///< of which nothing is decoded
	bool has_function;	///< that is wanted has run; or none is wanted
	double seconds;		///< decoding, and showing
};

struct dec_pt_show;

/** @p f is borrowed; @p o is copied, its texts are borrowed. */
struct err *dec_pt_show_create(struct dec_pt_flow *f, const struct dec_pt_show_options *o,
			       struct dec_pt_show **ret);
void dec_pt_show_destroy(struct dec_pt_show *s);

/** @return whether stream @p source may have something that is to be shown. */
bool dec_pt_show_wants(const struct dec_pt_flow *f, const struct dec_pt_show_options *o,
		       const struct dec_pt_source *source);

/** Decode and show the flow's streams: those of threads one after the other, those of
 * processors in the order of time. @return err_nomem, ERR_OS (writing fails), or as
 * dec_pt_decode(). */
struct err *dec_pt_show_sources(struct dec_pt_show *s);

/** @return what was shown so far; valid until the show is destroyed. */
const struct dec_pt_shown *dec_pt_show_shown(const struct dec_pt_show *s);

/** Write the time @p ns, in seconds, behind a JSON key or as a column. */
void dec_pt_show_time(FILE *f, uint64_t ns);

#endif
