// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a program would see of its recorder, or lose by it, and does not (unseen.c): answers of
 * prctl and arch_prctl that tell of our traps and our filter, and the SIGSEGV by which rdtsc and
 * cpuid trap where the program has blocked it.
 */
#ifndef PT_COLLECT_INPUTS_UNSEEN_H
#define PT_COLLECT_INPUTS_UNSEEN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "capture/capture.h"

struct ptc_process;
struct ptc_thread;

/** Of a thread. Its children begin with the same, but for what is owed. */
struct ptc_unseen {
	bool forbids_tsc, forbids_cpuid; ///< the program itself wants them to trap
	bool is_segv_blocked;
	bool owes_trap;	    ///< the program took our traps away: at the stop, again
	bool has_made_code; ///< where rdtscs are probed: at the stop, are they all?
	bool owes_result;   ///< at the stop, a call's result becomes the one below
	uint64_t result;
	uint64_t result_rip, was; ///< behind which call; what the kernel gave
	struct cap_regs stands;	  ///< where it stood when it made a call for us
};

/** What the kernel keeps of a handler; the same bits that rt_sigaction gets. */
struct ptc_sigaction {
	uint64_t handler, flags, restorer, mask;
};

/** Thread @p t stands at its beginning, or where recording begins: which signals it has blocked.
 * @p creator: what is inherited from; NULL = a program just executed. */
void ptc_unseen_begin(struct ptc_thread *t, const struct ptc_unseen *creator);

/** Process @p p has executed its program, or is attached to: what is known of SIGSEGV. */
void ptc_unseen_process(struct ptc_process *p, bool has_executed);

/** @p t has made call @p e, and is stopping (REC_THROUGH_FILE). If it tells of us, @p ev and the
 * program's memory come to say what would be without. @return whether it was such a call. */
bool ptc_unseen_call(struct ptc_process *p, struct ptc_thread *t,
		     const struct rec_syscall *e, struct cap_event *ev);

/** @p t has made call @p e, which may have changed the signals it blocks. */
void ptc_unseen_mask(struct ptc_thread *t, const struct rec_syscall *e);

/** @p t stands at a handler's first instruction: that blocks signals, too. */
void ptc_unseen_handler(struct ptc_thread *t);

/** @p t stands in a ptrace stop before it executes another instruction: it gets the result that is
 * owed. */
void ptc_unseen_stopped(struct ptc_thread *t);

/** This stop is ours alone, so that calls can be made in it: it gets its traps again. */
void ptc_unseen_our_stop(struct ptc_process *p, struct ptc_thread *t);

/** Thread @p t, in a ptrace stop, executes rdtsc from here on as if there were no recorder, until it
 * owes a trap. */
void ptc_unseen_allow_tsc(struct ptc_process *p, struct ptc_thread *t);

/** @return whether record @p head of the ring is of a call that @p t made for us: it is nothing of
 * the program's. A switch in its midst (@p head is changed) is one from where the thread stood. */
bool ptc_unseen_is_ours(const struct ptc_process *p, struct ptc_thread *t,
			struct rec_head *head);

/** We executed an instruction in @p t's stead that raised SIGSEGV: where that was blocked or
 * ignored, the kernel has taken handler and mask away. */
void ptc_unseen_trapped(struct ptc_process *p, struct ptc_thread *t);

#endif
