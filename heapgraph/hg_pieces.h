// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Nodes from accesses: the decisions of Algorithm 2 (paper 001, section 3.2.2), which joins,
 * splits and merges addresses by what pointers they are reached. Private to heapgraph/.
 *
 * A *head* is an address that a node begins at, as far as is known: what a call gave out, or
 * what was stored as a pointer (observation 2). Each pointer of the program is derived from a
 * head (observation 1; hg_derive.h carries it) and has its number. A *piece* is an interval
 * that was reached from one head; the pieces are the nodes to be.
 *
 * The paper has no ends of nodes, and takes every decision at once. Here the whole run is
 * known before the graph is built, so that a decision can be taken back:
 *
 *  - A pointer of unknown origin into a piece begins a new node there, which takes the memory
 *    over. Should the former one still be used later, they were the same.
 *  - A pointer into the middle of a piece that is given out or stored splits it. Should the
 *    part be read from the former head later, it was no node but a field.
 *  - A part that the same function gives out again and again, each time after another function
 *    was given it and nobody used it meanwhile, is given back there: the first is an allocator
 *    of the program's own, the second its free. Unless both always go together.
 *  - Accesses from one node into its neighbour merge them (into a cluster) if the neighbour's
 *    own pointers are never used again: two free blocks became one. Otherwise they went
 *    astray, and change nothing.
 *
 * Invariants:
 *  1. Pieces in the index do not overlap, and each is not empty.
 *  2. Numbers of heads stay valid; those of two heads that turned out to be one name it.
 */
#ifndef HEAPGRAPH_HG_PIECES_H
#define HEAPGRAPH_HG_PIECES_H

#include "heapgraph/hg_plan.h"

struct hg_pieces;

struct err *hg_pieces_create(struct hg_pieces **ret);
void hg_pieces_destroy(struct hg_pieces *p);

/** A call gave out @p addr, derived from nothing that is known: a node begins there. @p rip:
 * the statement. @p size: bytes it will have at least; 0 when that is not known.
 * @return the head, 0 without memory. */
uint32_t hg_pieces_begin(struct hg_pieces *p, uint64_t time, uint64_t addr, uint64_t size,
			 uint64_t rip);

/** A pointer of unknown origin to @p addr is used by @p rip: to what is there, else as
 * hg_pieces_begin(). */
uint32_t hg_pieces_meet(struct hg_pieces *p, uint64_t time, uint64_t addr, uint64_t rip);

/** A pointer to @p addr, derived from head @p from, is given out by a call or stored by
 * @p rip: @p addr is a head itself. @p place: what instruction to blame when it turns out to be none.
 * @return its number, which may be @p from. */
uint32_t hg_pieces_split(struct hg_pieces *p, uint64_t time, uint32_t from, uint64_t addr,
			 uint64_t size, uint64_t rip, uint64_t place);

/** By a pointer derived from @p head @p size bytes at @p addr are accessed, in the call of
 * number @p call (0: none that is known). */
void hg_pieces_access(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t addr,
		      uint64_t size, bool is_write, uint32_t call);

/** The call of number @p call to the program's function @p fn returns a pointer to @p head
 * itself. @p rip: the statement. */
void hg_pieces_give(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t fn,
		    uint32_t call, uint64_t rip);

/** As argument of call number @p call the program's function @p fn gets a pointer to @p head
 * itself. */
void hg_pieces_pass(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t fn,
		    uint32_t call, uint64_t rip);

/** The node that begins at @p head seems to be given back, by @p rip. It was not, should it
 * be accessed again before anything else is there. */
void hg_pieces_release(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t rip);

/** The instruction at @p place stores a pointer to @p head itself: there is a node, even if
 * nobody ever accesses it. */
void hg_pieces_keep(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t place);

/** @return the address of @p head. */
uint64_t hg_pieces_addr(const struct hg_pieces *p, uint32_t head);

/** @return whether heads @p a and @p b are the same. */
bool hg_pieces_is_same(const struct hg_pieces *p, uint32_t a, uint32_t b);

/** @return whether heads @p a and @p b are the same, or one is within the other's node. */
bool hg_pieces_is_kin(const struct hg_pieces *p, uint32_t a, uint32_t b);

/** @return whether @p addr is @p head itself, or was accessed as a part of its node. */
bool hg_pieces_holds(struct hg_pieces *p, uint32_t head, uint64_t addr);

/** @return whether @p head was released (hg_pieces_release()), and not used since. */
bool hg_pieces_is_released(const struct hg_pieces *p, uint32_t head);

/** @return whether nobody ever accessed the byte at @p addr, nor one behind it from the same
 * node as @p head. */
bool hg_pieces_is_fresh(const struct hg_pieces *p, uint32_t head, uint64_t addr);

/** @return the head at exactly @p addr that is in use; 0: none. */
uint32_t hg_pieces_at(const struct hg_pieces *p, uint64_t addr);

/** The run is over: @p ret, empty before, gets the nodes. @return NULL or ERR_NOMEM. */
struct err *hg_pieces_plan(struct hg_pieces *p, hg_plan *ret);

/** @return whether memory was out meanwhile. */
bool hg_pieces_is_out_of_memory(const struct hg_pieces *p);

#endif
