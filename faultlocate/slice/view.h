// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A slice as statements: lines of the source with what the latest instance of each made, who
 * needed it, and as what. What libraries did inside counts for the call; a program without line
 * information has its instructions for statements.
 */
#ifndef FAULTLOCATE_SLICE_VIEW_H
#define FAULTLOCATE_SLICE_VIEW_H

#include "decode/symbols/symbols.h"
#include "faultlocate/slice/slice.h"

/** What an instance made, once fl_view_look() has looked. */
struct fl_view_made {
	bool has_value, is_branch, is_taken; ///< is_taken: of a branch
	uint32_t bytes;
	uint64_t value;
	char name[128]; ///< of the variable, the register, "[address]"
};

struct fl_view_statement {
	struct dec_place place; ///< file NULL: an instruction, or an input
	uint64_t rip;		///< of the latest instance
	bool is_input, is_seed;
	uint8_t origin;	      ///< enum fl_origin
	int32_t number;	      ///< of the input's system call; -1: none
	uint64_t event;	      ///< seq of the input's event; 0: none
	uint64_t n;	      ///< instances of instructions in the slice
	uint64_t first, last; ///< positions: the earliest that is known, the latest
	uint32_t tid;	      ///< of the latest
	uint32_t node;	      ///< the latest (fl_slice_nodes())
	uint32_t parent;      ///< statement that needed it; FL_NONE: it is asked about
	uint8_t edge;	      ///< enum fl_edge: as what
	struct fl_view_made made; ///< by the latest
};

struct fl_view_edge {
	uint32_t from, to; ///< statements: `to` needs what `from` made
	uint8_t edge;	   ///< enum fl_edge
	bool crosses;	   ///< threads
	uint64_t n;
};

/** A statement once: instances of its instructions that worked together. */
struct fl_view_moment {
	uint32_t statement;
	uint32_t
		node; ///< the latest that defines something; of a seed perhaps none that does
	uint32_t
		parent; ///< moment that needed it, before it in the list; FL_NONE: it is asked about
	uint8_t edge; ///< enum fl_edge: as what
	uint32_t tid;
	uint64_t position, rip; ///< of its latest instance
	bool is_cut;		///< it needed something that is not among the moments
	struct fl_view_made made;
};

/** A moment that needed another, beside that one's parent: of a slice with keeps_sharers. */
struct fl_view_share {
	uint32_t from, to; ///< moments: `to` needed what `from` made
	uint8_t edge;	   ///< enum fl_edge
};

struct fl_view {
	size_t most_moments; ///< set before: so many are kept, those of the shortest ways
	VEC(struct fl_view_statement) statements; ///< the latest first
	VEC(struct fl_view_edge) edges;
	VEC(struct fl_view_moment) moments; ///< the latest first
	VEC(struct fl_view_share)
	shares;		      ///< by `from`; of each moment SHARES_MOST at most
	uint64_t n_folded;    ///< instructions of libraries, different ones
	uint64_t n_functions; ///< that the statements are of
	bool is_by_insn;      ///< statements are instructions: there are no lines
};

/** Group what is in @p s. @p executable: its path, as the symbols call it; or NULL. @p
 * with_libraries: what they did inside is shown, too. @p v zeroed, but for most_moments. */
struct err *fl_view_make(const struct fl_slice *s, struct dec_symbols *symbols,
			 const char *executable, bool with_libraries, struct fl_view *v);
void fl_view_deinit(struct fl_view *v);

/** Look what the @p max statements at the front made, and all moments: replays as far as the latest. */
struct err *fl_view_look(struct fl_view *v, const struct fl_slice *s, struct fl_trace *t,
			 struct dec_symbols *symbols, size_t max);

#endif
