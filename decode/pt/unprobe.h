// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The flow of a program with probes in its code, as it would be without: what a breakpoint,
 * the kernel's copy of the instruction under it, and the way that a probed function returns
 * add to a trace is taken away. doc/pt.md, "Probes", says what that is.
 *
 * Private to decode.c, which hands out what is left.
 */
#ifndef DECODE_PT_UNPROBE_H
#define DECODE_PT_UNPROBE_H

#include "decode/pt/decode.h"

enum dec_pt_unprobe_state {
	DEC_PT_UNPROBE_NOT,    ///< in the program
	DEC_PT_UNPROBE_BREAK,  ///< at a breakpoint
	DEC_PT_UNPROBE_KERNEL, ///< in the kernel, because of it
	DEC_PT_UNPROBE_PAGE,   ///< in the kernel's page
	DEC_PT_UNPROBE_COPY,   ///< in the kernel, behind its copy of the instruction
};

struct dec_pt_unprobe {
	enum dec_pt_unprobe_state state;
	uint64_t at;	  ///< the breakpoint
	uint64_t dropped; ///< instructions so far
};

/** @return whether there is anything to take away in the trace of such an image. */
static inline bool dec_pt_unprobe_is_needed(const struct dec_pt_image *im)
{
	return im->page.addr || im->breaks.size;
}

/** @return whether @p run is the program's; its kind of end is then made what it would be
 * without a breakpoint there. */
bool dec_pt_unprobe_run(struct dec_pt_unprobe *u, const struct dec_pt_image *im,
			struct dec_pt_run *run);

/** @return whether an event of @p kind (at @p ip) is the program's. @p has_left: tracing
 * went off before it, which was not told and is to be. */
bool dec_pt_unprobe_event(struct dec_pt_unprobe *u, const struct dec_pt_image *im,
			  enum dec_pt_event_kind kind, uint64_t ip, bool *has_left);

/** Something is missing. */
void dec_pt_unprobe_gap(struct dec_pt_unprobe *u);

#endif
