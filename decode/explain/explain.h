// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Why a replay diverged: the last system call that agreed, the first value that differs,
 * where that value comes from (a chain of definitions back to an input), and the cause
 * that the evidence speaks for. doc/divergence.md says how it is found.
 */
#ifndef DECODE_EXPLAIN_EXPLAIN_H
#define DECODE_EXPLAIN_EXPLAIN_H

#include <stdio.h>

#include "base/base.h"
#include "decode/symbols/symbols.h"
#include "decode/machine/machine.h"

struct cJSON;

#define DEC_EXPLAIN_STEPS 12 ///< of a chain that are shown at most
#define DEC_EXPLAIN_HEAD 5   ///< of these, before its middle is left out

/** What is most likely wrong. */
enum dec_cause {
	DEC_CAUSE_UNKNOWN,
	DEC_CAUSE_UNMODELLED_CALL, ///< what a system call wrote was not recorded
	DEC_CAUSE_MISSING_WRITE,   ///< the same, and the recorder did not notice
	DEC_CAUSE_SHARED_MEMORY,
	DEC_CAUSE_CHILD_MEMORY, ///< a vfork child's writes
	DEC_CAUSE_INPUT_BYTES,	///< the recorded bytes are not those the program got
	DEC_CAUSE_CALL_RESULT,	///< the same of what a call returned
	DEC_CAUSE_TIME_STAMP,
	DEC_CAUSE_CPUID,
	DEC_CAUSE_SIGNAL_FRAME,
	DEC_CAUSE_SIGNAL_PLACE,	 ///< where an asynchronous signal landed was not found
	DEC_CAUSE_THREAD_SWITCH, ///< where a thread was interrupted was not found
	DEC_CAUSE_FILE_CONTENTS, ///< of a mapping
	DEC_CAUSE_START_STATE,
	DEC_CAUSE_RECORD,      ///< the event itself: nothing else can differ
	DEC_CAUSE_MAPPINGS,    ///< the recorded call needs memory that is not there
	DEC_CAUSE_INSTRUCTION, ///< the machine cannot execute it
	DEC_CAUSES
};

/** A system call, for people. */
struct dec_explain_call {
	bool is_known;
	bool has_position;
	char *name;
	int64_t nr, ret;
	uint64_t args[6];
	int n_args; ///< to show
	uint32_t tid;
	uint64_t seq, position;
	struct dec_place place; ///< of its instruction
	char *file;		///< what its descriptor is; NULL when unknown or none
};

/** Where a signal or a switch of threads should have come, and the replay stood with nearly
 * the recorded registers. */
struct dec_explain_near {
	uint64_t n_passed; ///< how often it passed the place; the rest is void when never
	uint64_t position; ///< the last time that the fewest registers differed
	uint32_t n_differing;
	uint8_t reg; ///< the first that did, and its values
	uint64_t recorded, replayed;
};

/** One step of the chain, later ones first. */
struct dec_explain_step {
	uint64_t position, rip;
	uint32_t tid;
	struct dec_place place;
	char insn[96];	///< disassembled; empty at an input
	char what[160]; ///< what it defined, "rax"; or the input, in words
	uint64_t value;
	bool has_value;
	const char *needed_as; ///< how the step before needed it: value, address, branch
	uint32_t n_merged;     ///< instructions of the same line left out behind it
};

struct dec_explanation {
	struct dec_divergence at;
	struct dec_place place;		 ///< of the instruction where the replay stands
	struct dec_explain_call agreed;	 ///< the last system call that agreed
	struct dec_explain_call here;	 ///< the one that the replay makes
	struct dec_explain_call written; ///< the one that was recorded here
	uint32_t n_differing;		 ///< REGISTER: registers that differ
	struct dec_explain_near near;
	VEC(struct dec_explain_step) chain;
	uint32_t n_left_out; ///< steps in the middle of the chain
	enum dec_cause cause;
	char *sentence;			  ///< the cause and what speaks for it
	const char *advice;		  ///< what to do about it
	struct dec_explain_call input;	  ///< the call it names, when it names one
	uint64_t input_addr, input_bytes; ///< memory it names
	uint8_t input_data[16];		  ///< the first of what was recorded there
	uint32_t n_input_data;
	VEC(char *) others; ///< other inputs that the value depends on, in words
	bool is_partial;    ///< the search was cut short
};

/**
 * Explain the divergence at which @p m stands. A second machine replays the capture, so
 * it takes as long as the replay did and a little more; @p m is left where it is.
 *
 * @param s  the modules known there. Strings of places live as long as it does.
 * @return as dec_machine_create() and dec_machine_run(); ERR_RANGE when @p m does not
 *	   stand at a divergence.
 */
struct err *dec_explain(const struct capture *c, struct dec_machine *m,
			struct dec_symbols *s, struct dec_explanation **ret);
void dec_explanation_destroy(struct dec_explanation *x);
void dec_explanation_destroyp(struct dec_explanation **x);

/** @return the cause's name for scripts: "unmodelled-call". */
const char *dec_cause_name(enum dec_cause cause);

/** Print @p x for people. */
void dec_explanation_print(const struct dec_explanation *x, FILE *out);

/** Add @p x to JSON object @p o as member "explanation". */
void dec_explanation_json(const struct dec_explanation *x, struct cJSON *o);

#endif
