// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the forms of show.h share. Private to decode/dec_pt_show*.c.
 */
#ifndef DECODE_PT_SHOW_INT_H
#define DECODE_PT_SHOW_INT_H

#include "decode/pt/book.h"
#include "decode/pt/show.h"

/** A call that has not returned. */
struct show_frame {
	uint64_t back; ///< where it returns to; 0 unknown: a signal's handler
};

/** A thread that is shown. */
struct show_thread {
	uint32_t tid;
	VEC(struct show_frame) frames;
	uint64_t from; ///< the branch it was last seen at; 0: at none
	uint64_t last; ///< the last instruction that ran; 0 unknown
	uint64_t left; ///< where tracing went off, and why it was not a branch; 0
	/** A call that is not shown yet: it was of no function's beginning, so perhaps of a
	 * PLT stub; 0: none. */
	uint64_t call_from, call_to;
};

struct show_book {
	const struct dec_pt_image *image;
	struct dec_pt_book *book;
};

struct dec_pt_show {
	struct dec_pt_flow *flow;
	struct dec_pt_show_options o;
	struct dec_pt_shown shown;
	VEC(struct show_book) books;
	VEC(struct show_thread) threads;

	struct dec_pt_image *image; ///< of the thread that runs
	struct dec_pt_book *book;
	size_t thread, tally; ///< its indices
	bool is_wanted;	      ///< it is to be shown
	uint64_t tsc;	      ///< of which `prefix` tells
	char prefix[96];      ///< of a line: who, when
	size_t prefix_bytes;

	const struct dec_pt_source *source;
	double start_s, said_s; ///< progress
	uint64_t bytes_before;
	bool has_said;
};

/** @return whether what happens at @p tsc is to be shown. */
static inline bool show_is_time(const struct dec_pt_show *s, uint64_t tsc)
{
	return !s->o.to_tsc || (tsc >= s->o.from_tsc && tsc <= s->o.to_tsc);
}

/** Begin a line about the thread that runs, at @p tsc. */
void dec_pt_show_begin(struct dec_pt_show *s, uint64_t tsc);

/** The forms: what each does with a run, with an event, at a gap. */
struct err *dec_pt_show_instructions(struct dec_pt_show *s, const struct dec_pt_run *run);
struct err *dec_pt_show_branches(struct dec_pt_show *s, const struct dec_pt_run *run);
struct err *dec_pt_show_branch_event(struct dec_pt_show *s,
				     const struct dec_pt_event *event);

/** The ways that control goes, by name. */
enum show_kind {
	SHOW_CALL,
	SHOW_RETURN,
	SHOW_JUMP,
	SHOW_COND,
	SHOW_SYSCALL,
	SHOW_START,	///< tracing is on again
	SHOW_STOP,	///< tracing is off: the last instruction led out of the flow
	SHOW_INTERRUPT, ///< the same, before an instruction that did not run
};

/** A branch, as the form of calls takes it. Either end may be NULL: unknown. They are
 * entries that do not move until it returns. */
struct err *dec_pt_show_call(struct dec_pt_show *s, enum show_kind kind,
			     const struct dec_pt_entry *from,
			     const struct dec_pt_entry *to, uint64_t tsc);

/** Something is missing: nothing is known of the thread's calls any more. */
void dec_pt_show_forget(struct show_thread *t);

#endif
