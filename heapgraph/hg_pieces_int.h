// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The parts of hg_pieces.h, which hg_heads.c, hg_pieces.c, hg_decide.c, hg_givers.c and
 * hg_lives.c share. Numbers are indices + 1; those of heads are what they turned out to be
 * (hg_head_find()) unless said otherwise.
 */
#ifndef HEAPGRAPH_HG_PIECES_INT_H
#define HEAPGRAPH_HG_PIECES_INT_H

#include "heapgraph/hg_forest.h"
#include "heapgraph/hg_index.h"
#include "heapgraph/hg_pieces.h"

#define HG_PIECE_HINTS 4096

/* Where a node begins. */
struct hg_head {
	uint64_t addr, size_at_least;
	uint64_t born, rip, place;
	uint64_t used;			///< last access by its pointers
	uint64_t released, release_rip; ///< 0: not
	uint32_t parent;		///< the head it was split off from
	uint32_t same;			///< it turned out to be this one; 0: itself
	uint32_t part;	   ///< number of its struct hg_part; 0: it has no parent
	uint32_t piece;	   ///< number of the one that begins at addr; 0: none yet
	bool is_suspended; ///< its piece was taken over, without a release
};

/* The comings and goings of a head that was split off. */
struct hg_part {
	uint64_t given, giver; ///< first time, and by which function; 0: never
	uint64_t passed, passed_to, passed_rip; ///< last time it was an argument
	uint64_t used,
		used_before; ///< last access, and last one by another call than that
	uint32_t passed_call, used_call, used_before_call;
	bool is_shared; ///< given, or stored by another instruction than the one that made it
};

/* A part was given out once more. */
struct hg_reissue {
	uint64_t released, release_rip,
		release_fn; ///< fn 0: nothing is known to have ended it
	uint64_t time, rip, giver;
	uint32_t head;
};

struct hg_piece {
	uint64_t start, end;
	uint64_t born, died;
	uint64_t touched; ///< first access from elsewhere; 0: none
	uint32_t head, source;
	uint32_t cluster;  ///< piece that it was merged into when it died
	uint32_t toucher;  ///< whose
	uint32_t taken_by; ///< head that has its memory since it died
	bool is_void;	   ///< absorbed by another
	bool is_remnant;   ///< what a split left
};

/* How often a place made a head, and how often that was wrong. */
struct hg_blame {
	uint32_t made, wrong;
};

struct hg_pieces {
	VEC(struct hg_head) heads; ///< number - 1
	struct hg_forest
		family; ///< heads, below what they were split off from, or turned out
			///< to be; marked: the released ones
	VEC(struct hg_piece) pieces;	 ///< number - 1
	VEC(struct hg_part) parts;	 ///< number - 1
	VEC(struct hg_reissue) reissues; ///< in order of time
	struct hg_index live;		 ///< start -> piece
	struct map at;			 ///< address -> latest head
	struct map places;		 ///< address of an instruction -> struct hg_blame
	uint32_t hints[HG_PIECE_HINTS];	 ///< pieces met lately, by address
	uint64_t now;
	bool is_out_of_memory;
};

/* ---- hg_heads.c -------------------------------------------------------------------------- */

struct hg_head *hg_head_of(const struct hg_pieces *p, uint32_t number);

/** @return what head @p number, any that was ever given, turned out to be. */
uint32_t hg_head_find(const struct hg_pieces *p, uint32_t number);

/** @return the head it was split off from; 0: none. */
uint32_t hg_head_parent(const struct hg_pieces *p, uint32_t head);

/** @return whether @p head was split off from @p other, or from what was. */
bool hg_head_is_below(const struct hg_pieces *p, uint32_t head, uint32_t other);

/** @return the number of a new head; 0 without memory. */
uint32_t hg_head_add(struct hg_pieces *p, const struct hg_head *head);

/** @return the head that was released, of @p head and those it was split off from; NULL:
 * none. */
struct hg_head *hg_head_released(const struct hg_pieces *p, uint32_t head);

/** @p h was used again: it was not released. */
void hg_head_unrelease(struct hg_pieces *p, struct hg_head *h);

/** Head @p part turned out to be @p with, which is older. */
void hg_head_unite(struct hg_pieces *p, uint32_t part, uint32_t with);

struct hg_blame hg_blame_of(const struct hg_pieces *p, uint64_t place);
void hg_blame_set(struct hg_pieces *p, uint64_t place, struct hg_blame b);

/* ---- hg_pieces.c ------------------------------------------------------------------------- */

struct hg_piece *hg_piece_of(const struct hg_pieces *p, uint32_t number);

/** @return its head. */
uint32_t hg_piece_owner(const struct hg_pieces *p, uint32_t piece);

bool hg_piece_is_live(const struct hg_piece *x);

/** @return the live piece at @p addr; 0: none. */
uint32_t hg_piece_at(struct hg_pieces *p, uint64_t addr);

/** @return the start of the first live piece, @p number, that starts at @p addr or above;
 * UINT64_MAX: there is none. */
uint64_t hg_piece_next(const struct hg_pieces *p, uint64_t addr, uint32_t *number);

/** @return the number of a new live piece; 0 without memory. */
uint32_t hg_piece_add(struct hg_pieces *p, const struct hg_piece *piece);

/** It is live no longer; hg_piece_end() says since when. */
void hg_piece_take_out(struct hg_pieces *p, uint32_t number);
void hg_piece_end(struct hg_pieces *p, uint32_t number, uint64_t time);

/** It starts elsewhere, where no other piece is. */
void hg_piece_move_start(struct hg_pieces *p, uint32_t number, uint64_t start);

/** Nobody has [@p addr, @p end): head @p number reaches it now. */
void hg_piece_grow(struct hg_pieces *p, uint64_t time, uint32_t number, uint64_t addr,
		   uint64_t end);

/** Head @p part is none: it is a field of @p whole. @p is_wrong: its place is to blame. */
void hg_piece_take_back(struct hg_pieces *p, uint32_t part, uint32_t whole,
			bool is_wrong);

/** Head @p number is still used, though its piece was taken over: whoever has it was no
 * other. */
void hg_piece_revive(struct hg_pieces *p, uint32_t number);

/* ---- hg_givers.c ------------------------------------------------------------------------- */

/** @return whether the part was not used since it was passed, but by who got it, and by call
 * number @p but. */
bool hg_part_is_unused(const struct hg_part *t, uint32_t but);

/** Each function that gives out parts again -> the one that always ended them before, or 0. */
void hg_givers_judge(struct hg_pieces *p, struct map *ret);

#endif
