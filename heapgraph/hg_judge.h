// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Who says what is wrong, of what hg_access.c sees: accesses that are not plainly inside of a node that
 * lives, and the points of a run at which rules are asked (paper 002, Table 3.1).
 */
#ifndef HEAPGRAPH_HG_JUDGE_H
#define HEAPGRAPH_HG_JUDGE_H

#include "decode/history/frames.h"
#include "heapgraph/heapgraph.h"
#include "heapgraph/hg_strings.h"

/** An access by a pointer to @p node, before it is done. */
struct hg_judged {
	bool is_write;
	uint64_t position, addr, size;
	struct hg_node_id node;
	/** The array or struct in the node that it leaves; both 0: it leaves none. */
	uint64_t part_start, part_end;
};

enum hg_point_kind {
	HG_POINT_RELEASE, ///< value[0] is to be released
	HG_POINT_CALL,	  ///< function number `which` is entered
	HG_POINT_TEXT,	  ///< `function` copied text: asked as it was when it was entered
	HG_POINT_RETURN,  ///< .. and left; value[0]: what it returns
	HG_POINT_SYSCALL, ///< number `which`; result is known already
	HG_POINT_ACCESS,  ///< of size bytes at value[0]; only where all are wanted
};

#define HG_POINT_VALUES 6

struct hg_point {
	enum hg_point_kind kind;
	uint64_t position, pc;
	uint32_t which;
	uint64_t value[HG_POINT_VALUES];
	struct hg_node_id
		node[HG_POINT_VALUES]; ///< that the values are pointers to; {0}: none
	int64_t result;
	uint64_t entered; ///< RETURN: when
	uint8_t family;	  ///< RELEASE: HG_FAMILY_..
	bool is_told; ///< RELEASE: operator delete was, how much new was asked for, and
	uint64_t told, align; ///< .. with which alignment (0: none)
	bool is_resize;	      ///< RELEASE: by realloc
	bool is_strangers; ///< RELEASE: a function of the allocator that nobody knows may have given it out
	bool is_write;
	uint64_t size;
	const char *function; ///< TEXT: strcpy, ..
	bool has_extent;      ///< TEXT, and CALL of memcpy:
	uint64_t reads,
		writes; ///< .. bytes from value[1] on, and from value[0]; 0: it moves nothing
};

/** By whom memory was allocated, or is released. */
enum { HG_FAMILY_MALLOC = 1, HG_FAMILY_NEW, HG_FAMILY_NEW_ARRAY };

struct hg_judge {
	void *ctx;
	/** @return the number of the rule that it breaks; -1: none. */
	int (*access)(void *ctx, const struct hg_judged *x);
	/** Not asked of what the allocator does itself. NULL: nobody asks. */
	struct err *(*point)(void *ctx, struct frames *frames, const struct hg_point *p);
	const char *const *functions; ///< CALL, RETURN: their names
	size_t n_functions;
	bool wants_all;	     ///< ACCESS: of all accesses
	bool wants_syscalls; ///< SYSCALL
	bool wants_texts;    ///< TEXT
};

/** Functions that may be memmove as well, by their entry; NULL behind the last. */
extern const char *const hg_points_copies[];

/** List operator new and delete of the modules that are known for a guard (decode/translator/guard.h), behind what is in
 * @p ret; as is_once if they are one library's, which is not @p exe (NULL: not known). @return ERR_NOMEM. */
struct err *hg_points_hooks(struct dec_symbols *symbols, const char *exe, hg_hooks *ret);

#endif
