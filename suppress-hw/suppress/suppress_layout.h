// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where the program's variables may lie (paper 003, section 5.3): its buffers and what addresses are
 * made of, found by DWARF and by what its code does with them; and orderings of these, in which each
 * buffer has another one of the others just behind it. suppress_layout.c finds them, suppress_order.c
 * lays them out.
 */
#ifndef SUPPRESS_HW_SUPPRESS_SUPPRESS_LAYOUT_H
#define SUPPRESS_HW_SUPPRESS_SUPPRESS_LAYOUT_H

#include "base/base.h"
#include "decode/machine/branch.h"
#include "decode/machine/machine.h"
#include "decode/symbols/placed.h"

/** A variable. */
struct sup_variable {
	struct dec_placed placed;
	int64_t at;	   ///< GLOBAL: its address; LOCAL: from the frame pointer
	uint32_t function; ///< LOCAL: its function's number
	bool is_buffer;	   ///< something may be written behind its end
	bool is_address;   ///< addresses are made of it
	bool is_accessed;  ///< by a function that ran
	uint32_t align;	   ///< what its accesses want
};

/** An instruction that names a variable. */
struct sup_naming {
	uint64_t rip;
	uint32_t variable;
};

/** A function, and the variables of its frame: of sup_variables.all, [first, first + n). */
struct sup_function {
	const char *name; ///< may be NULL
	uint64_t addr, size;
	bool has_run;
	/** Its frame can be laid out anew: all that it names there is known. */
	bool is_open;
	size_t first, n;
};

/** All of them, and where the program's own code begins. */
struct sup_variables {
	struct dec_symbols *symbols;  ///< borrowed
	VEC(struct sup_variable) all; ///< global ones first, each kind by place
	size_t n_globals;
	VEC(struct sup_function) functions; ///< by address
	VEC(struct sup_naming) namings;	    ///< by address
	uint64_t begin;			    ///< position of main()'s first instruction
};

enum sup_space { SUP_STACK, SUP_GLOBALS, SUP_HEAP, SUP_SPACES };

typedef VEC(struct dec_moved) sup_moves;

/** One ordering of a space, with what it takes. */
struct sup_order {
	enum sup_space space;
	sup_moves moves;
	line_list pairs; ///< "buf, next" in words; the return address is one, too
};

/** Find them, in the run of @p m up to @p end, from which the machine comes back. @p ret: zeroed;
 * sup_variables_deinit(). @return ERR_NOT_FOUND: the program has no main() that runs. */
struct err *sup_variables_find(struct dec_machine *m, struct dec_symbols *s, uint64_t end,
			       struct sup_variables *ret);
void sup_variables_deinit(struct sup_variables *v);

/** @return how many orderings of @p space there are in which each buffer has each of the others behind it
 * once; of global ones before it, too. */
size_t sup_orders(const struct sup_variables *v, enum sup_space space);

/** Make the @p k-th of these, for branches that begin at v->begin, where @p m stands. @p apart: so many
 * bytes lie between those of a pair (globals only), so that whoever does not leave a buffer far
 * finds nothing. @p ret: zeroed; sup_order_deinit(). */
struct err *sup_order_make(struct dec_machine *m, const struct sup_variables *v,
			   enum sup_space space, size_t k, uint64_t apart,
			   struct sup_order *ret);
void sup_order_deinit(struct sup_order *o);

#endif
