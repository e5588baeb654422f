// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Value propagation chains (paper 002, section 3.3): by which statements a value came from where it was made
 * to where it did harm, the latest first.
 */
#ifndef FAULTLOCATE_FL_CHAIN_H
#define FAULTLOCATE_FL_CHAIN_H

#include "base/base.h"
#include "heapgraph/heapgraph.h"

struct fl_analysis;

/** How a chain ends. */
enum fl_chain_end {
	FL_CHAIN_FAR,	    ///< longer ago than is looked back
	FL_CHAIN_ALLOCATED, ///< an allocation returned it
	FL_CHAIN_MADE,	    ///< the last statement made it, of a constant or other values
	FL_CHAIN_INPUT,	    ///< the kernel wrote it for the last statement
	FL_CHAIN_INITIAL,   ///< static data had it when the program began
};

struct fl_chain_link {
	uint64_t time, rip;
	uint64_t value;
	bool has_value;
	bool is_arithmetic; ///< a pointer and a number made it there
	bool is_librarys;   ///< private: its caller is not known yet
	bool is_last;	    ///< private: told where there is no other
};

struct fl_chain {
	VEC(struct fl_chain_link) links; ///< of the user's code, statements once
	enum fl_chain_end end;
};

void fl_chain_deinit(struct fl_chain *c);

/** @return how many of the links are copies of one value: the paper's chain. Behind it is told whence that came which
 * it was computed from. */
size_t fl_chain_length(const struct fl_chain *c);

/** A chain of something that bug rules found. */
struct fl_found_chain {
	bool is_access;	  ///< of fl_analysis.accesses; else of the check's errors
	size_t index;	  ///< which of them
	const char *name; ///< what the rule calls the value; as long as the rules
	struct fl_chain chain;
};

typedef VEC(struct fl_found_chain) fl_chains;

/** Follow the values that the rules name (VPC) of the first things found, into @p a's chains. */
struct err *fl_chains_find(struct fl_analysis *a);
void fl_chains_deinit(fl_chains *c);

#endif
