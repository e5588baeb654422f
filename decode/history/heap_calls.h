// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Calls of the allocator, and of what the user watches, from entries and returns: an
 * allocation is the pair of an entry and the return whose stack pointer matches. An
 * allocator that calls another (calloc, realloc, an interposed malloc) is one call: the
 * outermost. Private to heap.c and past/flight_heap.c.
 */
#ifndef DECODE_HISTORY_HEAP_CALLS_H
#define DECODE_HISTORY_HEAP_CALLS_H

#include <string.h>

#include "base/base.h"
#include "capture/capture.h"
#include "decode/history/frames.h"
#include "decode/history/heap.h"
#include "decode/history/heap_roots.h"

struct heap_call {
	enum cap_heap_fn fn;
	uint64_t arg[3], rsp, entry_time, rip;
	uint64_t result; ///< posix_memalign: what it stored at arg[0]
	bool is_open;
};

/** The last operator new that was entered. */
struct heap_new {
	uint64_t rsp, size, align; ///< rsp: 0: none, or it has asked the allocator
};

/** A watched function that has not returned. */
struct heap_open_watch {
	uint64_t rsp;
	size_t index;
};

typedef VEC(struct heap_open_watch) heap_open_watches;

struct heap_mute;

struct heap_calls {
	// Borrowed.
	const struct capture *capture;
	struct dec_symbols *symbols;
	const struct dec_heap_events *ev;
	const struct dec_heap_options *o;
	struct frames *frames;
	struct heap_roots *roots; ///< to be settled before a watch is told; NULL: none
	struct heap_mute *mute;	  ///< is told of blocks; NULL: nobody is
	bool has_unseen;	  ///< see struct dec_run
	struct heap_call call;	  ///< the outermost one, while is_open
	struct heap_new new;
	heap_open_watches open_watches;
	bool has_librarys_new; ///< operator new is a library's
	struct map watch;      ///< address -> allocator function, first user watch
	VEC(uint32_t) next; ///< of each user watch: 1 + the next one at its address, or 0
	bool has_allocator; ///< one of its functions was found
	const struct dec_watch *user;
	size_t n_user;
	struct map wrappers; ///< call site -> whether its frame only wraps an allocator
	struct map named;    ///< call site -> whether o->is_site says so
	uint64_t *site_addr; ///< runtime entry address of each recorded heap site
	VEC(struct heap_call) seen;	///< allocator entries replayed
	VEC(struct heap_call) recorded; ///< allocator entries the recorder saw
};

/** Reports go to @p ev. All arguments are borrowed until dec_heap_calls_deinit(). */
struct err *dec_heap_calls_init(struct heap_calls *h, const struct capture *c,
				struct dec_symbols *symbols,
				const struct dec_heap_events *ev,
				const struct dec_heap_options *o, struct frames *frames);
void dec_heap_calls_deinit(struct heap_calls *h);

/** What is mapped, as the symbols know it, has changed: find allocators in it, and what the
 * user watches. @p watch is called for each address that is new; may be NULL. */
struct err *dec_heap_calls_mapped(struct heap_calls *h,
				  struct err *(*watch)(void *ctx, uint64_t addr),
				  void *ctx);

/** List up to @p max entries of functions that release a block, or write where their first argument
 * points to: posix_memalign(). @return how many there are. */
size_t dec_heap_calls_releases(const struct heap_calls *h, uint64_t *ret, size_t max);

/** @return whether a function of an allocator's lies in [start, end). */
bool dec_heap_calls_lie_in(const struct heap_calls *h, uint64_t start, uint64_t end);

/** The instruction at @p rip is about to run with general registers @p gpr: it may be the
 * entry of an allocator, or be watched. */
struct err *dec_heap_calls_reach(struct heap_calls *h, uint64_t rip, const uint64_t *gpr,
				 uint64_t time);

/** Some function returns, its return address at @p rsp. */
struct err *dec_heap_calls_return(struct heap_calls *h, uint64_t rsp, uint64_t rax,
				  uint64_t time);

/** @p size bytes are stored at @p addr, perhaps posix_memalign()'s result. */
static inline void heap_calls_store(struct heap_calls *h, uint64_t addr, uint32_t size,
				    const void *data)
{
	if (h->call.is_open && addr == h->call.arg[0] && size == 8)
		memcpy(&h->call.result, data, 8);
}

/** The recorder saw @p fn entered with @p args here. */
struct err *dec_heap_calls_record(struct heap_calls *h, enum cap_heap_fn fn,
				  const uint64_t args[3]);

/** Where -e heap recorded the allocator calls, they must be the ones replayed.
 * @return what differs, for people (the caller frees); NULL: nothing. */
char *dec_heap_calls_verify(const struct heap_calls *h);

#endif
