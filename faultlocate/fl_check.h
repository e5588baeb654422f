// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug rules (specdsl/bugs.h) asked of a run: which are on, at which points, and what they found. The
 * accesses that go astray are found by heapgraph/hg_access.h, which asks here what of it is wrong.
 */
#ifndef FAULTLOCATE_FL_CHECK_H
#define FAULTLOCATE_FL_CHECK_H

#include "decode/machine/machine.h"
#include "faultlocate/race/race.h"
#include "heapgraph/hg_access.h"
#include "specdsl/bugs.h"

/** What a rule found that is no access (those are hg_accesses, with the rule's number): the first time;
 * the same statement, reached by the same calls, is one. */
struct fl_error {
	size_t rule;
	uint64_t time, last_time;
	uint64_t rip, pc;			    ///< statement, instruction
	struct spec_bug_value value[SPEC_BUG_ARGS]; ///< of the point's variables
	int n_values;
	struct spec_bug_value bound; ///< what a condition `exists b in ..` bound; or not
	bool is_write;		     ///< of an access
	int reg; ///< .. that ended the run: the base of its address; -1: not known
	uint64_t
		target_at; ///< of a jump that did: the memory that had the address; 0: none
	struct hg_chain callers;
	const struct fl_race
		*race;	       ///< of SPEC_POINT_RACE: both sides; as long as the check
	const char *detail;    ///< text about it; as long as the check, or NULL
	uint64_t count, bytes; ///< how often; of the blocks that `bound` stands for
};

#define FL_BYTES_MOST 64000000	       // of instructions, where variables are looked at,
#define FL_BYTES_MOST_VALUES 256000000 // .. and where they are not,
#define FL_BYTES_BEYOND 16000000 // .. or so many behind the first that a guard doubts

struct fl_check;

struct fl_check_options {
	const char *const *files; ///< n_files: rules; none: those that are built in
	size_t n_files;
	const char *const *
		only; ///< n_only: names of rules, of which alone are asked; none: all that are on
	size_t n_only;
	const char *const *functions; ///< n_functions: "ts=handle_request"
	size_t n_functions;
	bool is_accesses; ///< only rules about accesses
	bool is_strict;	  ///< UNINIT-READ, too
};

/**
 * Read the rules.
 *
 * @param ret  Set also when there are mistakes in them (ERR_SPEC): its diagnostics are to be shown.
 *	       fl_check_destroy() (NULL is fine).
 * @return ERR_SPEC, ERR_NOT_FOUND (a name of `only`, a file), what spec_add_file() does.
 */
struct err *fl_check_create(const struct fl_check_options *o, struct fl_check **ret);
void fl_check_destroy(struct fl_check *c);

const struct spec *fl_check_rules(const struct fl_check *c);

/** @return whether rule @p i is asked. */
bool fl_check_is_on(const struct fl_check *c, size_t i);

/** @return whether all rules that are asked are about variables and values. */
bool fl_check_is_of_bytes(const struct fl_check *c);

/** @return whether it is asked where what has no value is used, and not where it is read. */
bool fl_check_is_of_uses(const struct fl_check *c);

/** It was seen that none is. */
void fl_check_values_are_right(struct fl_check *c);

/** .. or may be used without one at time @p position, and not before. */
void fl_check_values_are_doubted(struct fl_check *c, uint64_t position);

/** The word at @p addr, of 8 bytes, is found to have no value at the end: what it holds was left there, and leads to
 * nothing. Ascending. @return NULL or ERR_NOMEM. */
struct err *fl_check_left_word(struct fl_check *c, uint64_t addr);

/** Of the block that begins at @p start at the end @p bytes are the program's, more than it has asked for. @return NULL or
 * ERR_NOMEM. */
struct err *fl_check_wide_block(struct fl_check *c, uint64_t start, uint64_t bytes);

/** @return whether a rule asks what leads to what at the end. */
bool fl_check_asks_what_is_lost(const struct fl_check *c);

/** @return whether a rule is asked along the run, or at its end; rules about races alone are asked later. */
bool fl_check_is_along(const struct fl_check *c);

/** @return whether races are all that is asked for. */
bool fl_check_is_about_races(const struct fl_check *c);

/** What judges accesses and points of a run of which @p graph grows; as long as @p c. @p is_from_start:
 * all that is allocated is seen. */
const struct hg_judge *fl_check_begin(struct fl_check *c, const struct hg_graph *graph,
				      bool is_from_start);

/** .. and who asks it, for what only that one knows. */
void fl_check_finder(struct fl_check *c, struct hg_finder *finder);

/** The nodes are those of @p graph from now on, made once more. */
void fl_check_graph(struct fl_check *c, const struct hg_graph *graph);

/** @return whether of any of what was found, but for accesses, values are to be followed (VPC). */
bool fl_check_has_chains(const struct fl_check *c);

/** The run has come to its end, where @p m stands, at @p w: leaks are asked for, if it is the program's
 * own, and the access that a fatal signal came of is kept. @p frames: the calls under way. */
struct err *fl_check_end(struct fl_check *c, struct dec_machine *m, struct frames *frames,
			 const struct dec_where *w);

struct fl_end;

/** Ask about the access that was kept, unless what was found (@p accesses, too) at its statement led to it.
 * @p end: what is known of the program's end. Who overwrote what a return depended on is told, too. */
struct err *fl_check_fault(struct fl_check *c, struct dec_symbols *symbols,
			   const struct fl_end *end, const hg_accesses *accesses);

/** Look for accesses of two threads that nothing orders, if a rule asks for that: more replays. @return what
 * fl_races_find() does. */
struct err *fl_check_races(struct fl_check *c, const struct capture *capture,
			   struct dec_symbols *symbols, const struct fl_race_options *o);

/** Look at variables and at what has no value, if a rule asks for that: one more replay. Of runs of more than
 * FL_BYTES_MOST (or FL_BYTES_MOST_VALUES) instructions only if one of those rules is named, or up to where the first doubt was. What is wrong with a block at a
 * statement of @p accesses is told already.
 * @return what fl_bytes_find() does. */
struct err *fl_check_bytes(struct fl_check *c, const struct capture *capture,
			   struct dec_symbols *symbols, uint64_t instructions,
			   const hg_accesses *accesses, bool with_progress);

/** @return the @p i-th load that looks through the stack, as a collector does; 0: there are no more. */
uint64_t fl_check_look(const struct fl_check *c, size_t i);

/** @return what rules were left out that were asked, as the run is long: "variables and values", or one of them; NULL: none. */
const char *fl_check_left_out(const struct fl_check *c);

/** @return the instruction up to which values were looked at, as the run is long; 0: all of it, or left out. */
uint64_t fl_check_values_until(const struct fl_check *c);

/** @return whether the rules that are asked are built in, so that a guard (fl_guard.c) knows what they ask. */
bool fl_check_is_built_in(const struct fl_check *c);

/** As if nothing had been asked yet. */
void fl_check_forget(struct fl_check *c);

/** No variable of main's, or of what it called, is there any more. */
void fl_check_main_returned(struct fl_check *c);

/** @return whether races were looked for, there being several threads. */
bool fl_check_has_threads(const struct fl_check *c);

/** What was found, in the order of time. */
size_t fl_check_errors(const struct fl_check *c);
const struct fl_error *fl_check_error(const struct fl_check *c, size_t i);

/** @return how many releases there were of memory that was not seen to be allocated, and are not judged:
 * the recording began later, or an allocator of the program's own is at work. */
uint64_t fl_check_unknown(const struct fl_check *c);

/** .. and of what a vfork child may have allocated, whom nobody followed. */
uint64_t fl_check_childs(const struct fl_check *c);

#endif
