// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The variables that the user named, while a history is made: which there are just now. A
 * static one is there from its module's mapping to its unmapping, one of each thread as long
 * as that. A local one is in each call of its function, from the first store into it to the
 * return. Private to heap.c.
 */
#ifndef DECODE_HISTORY_HEAP_ROOTS_H
#define DECODE_HISTORY_HEAP_ROOTS_H

#include "base/base.h"
#include "decode/history/heap.h"
#include "decode/history/heap_moving.h"

/** A local variable whose scope was entered. */
struct heap_local {
	size_t index, thread;
	uint64_t addr, size, return_at; ///< return_at: where the return address lies
};

/** Of a thread, inner calls behind outer ones. */
typedef VEC(struct heap_local) heap_locals;

/** A static variable that was told. */
struct heap_static {
	size_t index;
	uint64_t addr, size;
};

/** An address at which the scope of a local one is entered. */
struct heap_scope {
	uint64_t rip;
	size_t index;
	const struct dec_var_site *site;
};

struct heap_roots {
	// Borrowed.
	const struct dec_heap_events *ev;
	struct dec_symbols *symbols;
	const struct dec_variable *vars;
	size_t n_vars;
	VEC(struct heap_static) statics; ///< those of threads among them
	VEC(struct heap_scope) scopes;
	heap_locals begun;    ///< nothing was stored into them yet
	heap_locals told;     ///< they are there
	uint64_t lowest, end; ///< what all that have begun lie in
	struct heap_movings moving;
};

typedef struct err *(*heap_read_fn)(void *ctx, uint64_t addr, void *buf, size_t size);

void dec_heap_roots_deinit(struct heap_roots *r);

/** @return whether one of them is local: then stores to the stack matter. */
bool dec_heap_roots_has_local(const struct heap_roots *r);

/** Modules were mapped: tell the static ones that are there now, at @p time, and call @p watch
 * for each new address at which dec_heap_roots_reach() is to be called. @p read gives their
 * bytes, when they are what memory holds; NULL: their modules' files do. */
struct err *dec_heap_roots_mapped(struct heap_roots *r, uint64_t time,
				  struct err *(*watch)(void *ctx, uint64_t addr),
				  heap_read_fn read, void *ctx);

/** What a thread's own variables hold when they are told. */
enum heap_thread_values {
	HEAP_THREAD_READ, ///< what is read from memory
	HEAP_THREAD_FILE, ///< what their module says
	HEAP_THREAD_TOLD, ///< what was told of memory
};

/** A thread has its control block at @p fs_base: tell its own variables, if they are not yet.
 * @p read: for HEAP_THREAD_READ. */
struct err *dec_heap_roots_thread(struct heap_roots *r, uint64_t time, uint64_t fs_base,
				  enum heap_thread_values values, heap_read_fn read,
				  void *ctx);

/** .. and ends, which the instruction at @p rip does. */
struct err *dec_heap_roots_thread_end(struct heap_roots *r, uint64_t time,
				      uint64_t fs_base, uint64_t rip);

/** [addr, addr + size) was unmapped. */
struct err *dec_heap_roots_unmapped(struct heap_roots *r, uint64_t time, uint64_t addr,
				    uint64_t size);

/** @p thread is about to run the instruction at @p rip with registers @p gpr, behind the one at
 * @p from, of that function: locals may begin. */
struct err *dec_heap_roots_reach(struct heap_roots *r, size_t thread, uint64_t rip,
				 uint64_t from, const uint64_t *gpr, uint64_t time);

/** The same before anybody is told that @p rip was reached: those that move have moved. */
struct err *dec_heap_roots_look(struct heap_roots *r, size_t thread, uint64_t rip,
				uint64_t from, const uint64_t *gpr, uint64_t time);

/** A watched address is going to be told of: what is optimized out is there no more. */
struct err *dec_heap_roots_settle(struct heap_roots *r, uint64_t time);

/** @return whether dec_heap_roots_return() has something to do. */
bool dec_heap_roots_returns(const struct heap_roots *r, size_t thread, uint64_t rsp);

/** @p thread returns, with the return address at @p rsp: tell the ends of its locals. */
struct err *dec_heap_roots_return(struct heap_roots *r, size_t thread, uint64_t rsp,
				  uint64_t rip, uint64_t time);

/** Something is about to be stored there: tell the locals that this is the first store into. */
struct err *dec_heap_roots_touch(struct heap_roots *r, uint64_t addr, uint32_t size,
				 uint64_t time);

/** @return whether dec_heap_roots_touch() may have something to tell of a store. */
static inline bool heap_roots_meet(const struct heap_roots *r, uint64_t addr,
				   uint32_t size)
{
	return addr < r->end && addr + size > r->lowest;
}

#endif
