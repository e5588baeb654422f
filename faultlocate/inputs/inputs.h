// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which input bytes had which part in a value (paper 002, section 4.1), and how they hang together
 * on their way there (section 4.2).
 *
 * The paper goes forward, and gives each value three sets. A byte is in a set because of a way
 * along dependences; what a way is worth follows from its steps alone, and sets are joined by union.
 * So one walk back from the value gives the same: what is wanted on the way carries the kinds of
 * ways that lead from it to the value, a few bits for each byte of memory that is wanted. No sets,
 * and nothing that grows but with what is wanted at once.
 */
#ifndef FAULTLOCATE_INPUTS_INPUTS_H
#define FAULTLOCATE_INPUTS_INPUTS_H

#include "decode/symbols/symbols.h"
#include "faultlocate/inputs/sources.h"
#include "faultlocate/slice/slice.h"

/** What a byte is to the value, in bits. Strong: the value needs it to be just what it is. */
enum fl_role {
	FL_ROLE_DERIVED = 1, ///< the value is made of it
	FL_ROLE_DERIVED_STRONG = 2,
	FL_ROLE_CONTROL = 4, ///< it decided what was executed for that
	FL_ROLE_CONTROL_STRONG = 8,
	FL_ROLE_ADDRESS = 16, ///< it chose what was read or written for that
	FL_ROLE_ADDRESS_STRONG = 32,
};

/** A constant that came to be because of an exact test: a link of a chain (paper: c1= -> c2). Chains
 * of the same links are one. */
struct fl_link {
	uint64_t position; ///< where an instruction assigned it last
	uint64_t rip;
	uint64_t value;
	uint32_t next; ///< the link behind it, nearer to the value; 0: none
	/** What got the constant, and where: fl_inputs_name(). "" before. */
	char name[64];
	struct dec_place place;
};

/** A byte of an input that has a role. */
struct fl_input {
	uint32_t source; ///< index into fl_sources.all
	uint64_t offset;
	uint8_t roles; ///< enum fl_role
	uint32_t link; ///< the first of its chain in fl_inputs.links; 0: none
	uint32_t node; ///< of the tree; 0: none
};

/** What else from outside has a part: results of system calls, the processor. */
struct fl_other {
	uint32_t number; ///< of the system call; UINT32_MAX: the processor
	uint8_t roles;
	uint64_t n; ///< how often
};

struct fl_inputs {
	VEC(struct fl_input) all;  ///< by source and offset
	VEC(struct fl_link) links; ///< [0]: none
	VEC(struct fl_other) others;
	/** The breadth-first tree of dependences, when it was asked for: of each node its parent, a
	 * smaller number; node 1 is the value. */
	VEC(uint32_t) parents;
	bool has_tree; ///< no: it was not asked for, or would have been too large
	uint64_t n_walked;
	uint64_t n_again; ///< pieces of code of which was known what happens (steps.h)
	uint64_t n_super; ///< .. as parts of superblocks
};

/** A function of the C library that looks at texts, by what it means (strings.c). */
struct fl_string {
	uint64_t entry;
	uint8_t stops; ///< enum dec_look bits
};
typedef VEC(struct fl_string) fl_strings;

/** Add those that @p t's program called to @p ret. */
struct err *fl_inputs_strings(struct fl_trace *t, struct dec_symbols *symbols,
			      fl_strings *ret);

struct fl_inputs_options {
	bool with_tree;
	bool is_plain; ///< remembers nothing of code that it went over: for tests
	/** Of these FL_PRUNE_STORES are heeded: what the dynamic linker fills in is no input's. */
	const struct fl_prune *prunes;
	size_t n_prunes;
	const struct fl_string *strings; ///< fl_inputs_strings()
	size_t n_strings;
	void (*progress)(void *ctx, uint64_t position); ///< or NULL
	void *ctx;
};

/** Walk back from @p seeds (slice.h; each seed.slice is 0) over @p t. @p ret zeroed, for
 * fl_inputs_deinit() whatever comes of it. @return as fl_slice_walk(). */
struct err *fl_inputs_walk(struct fl_trace *t, const struct fl_sources *sources,
			   const struct fl_seed *seeds, size_t n_seeds,
			   const struct fl_inputs_options *o, struct fl_inputs *ret);
void fl_inputs_deinit(struct fl_inputs *in);

/** Name the links of the chains of @p in's inputs, the first @p most of them: replays to where each
 * was. */
struct err *fl_inputs_name(struct fl_inputs *in, struct fl_trace *t,
			   struct dec_symbols *symbols, size_t most);

#endif
