// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: the tree of a bug rule's condition. A predicate is put in where it is used,
 * its parameters replaced, so a rule has no calls; all of it lives in the spec's arena.
 */
#ifndef SPECDSL_SPEC_BUG_H
#define SPECDSL_SPEC_BUG_H

#include "specdsl/bugs.h"
#include "specdsl/spec_ast.h"

enum bug_kind {
	BUG_NUMBER,
	BUG_SLOT, ///< a variable
	BUG_WORD, ///< a builtin function of a, or of none: `word`
	BUG_ADD,
	BUG_SUB,
	BUG_MUL,
	BUG_BITS, ///< a & b
	BUG_COMPARE,
	BUG_AND,
	BUG_OR,
	BUG_NOT,
	BUG_EXISTS, ///< over `set`; a: suchthat
	BUG_FORALL,
	BUG_LAST, ///< FindLast(_, call, z, _), FindLast(_, write, r, _): number, or whether
};

/** What a quantifier ranges over. */
enum bug_set {
	BUG_SET_MALLOC, ///< event(t, malloc, n, bid) in Trace
	BUG_SET_FREE,	///< event(t, free, r, bid) in Trace
	BUG_SET_LIVE,	///< b in dom(H)
	BUG_SET_FREED,	///< b in dom(F)
	BUG_SET_POINTER ///< p in P
};

enum bug_word {
	WORD_BID,
	WORD_IDX,
	WORD_BEGIN,
	WORD_END,
	WORD_SIZE,
	WORD_TIME,
	WORD_BLOCK,
	WORD_VALUE,
	WORD_BASE,
	WORD_WIDTH,
	WORD_PART_BEGIN,
	WORD_PART_END,
	WORD_FAMILY,
	WORD_RELEASER,
	WORD_REACHABLE,
	WORD_REFUSED,
	WORD_LED_TO,
	WORD_WRITTEN,
	WORD_OPEN,
	WORD_CLOSED,
	WORD_STORAGE,
	WORD_VAR_BEGIN,
	WORD_VAR_END,
	WORD_GONE,
	WORD_ENDED,
	WORD_TOLD,
	WORD_READS,
	WORD_WRITES,
	WORDS
};

struct bug_word_info {
	const char *name;
	int n_args;
	bool is_condition;
	unsigned needs; ///< enum spec_bug_need
};
extern const struct bug_word_info spec_bug_words[WORDS];

#define BUG_PATTERN \
	3 ///< time, third and fourth of event(); of a set of blocks the first alone

struct bug {
	enum bug_kind kind;
	enum ast_op op; ///< COMPARE
	enum bug_set set;
	enum bug_word word;
	uint64_t number;	  ///< NUMBER; SLOT: which
	int pattern[BUG_PATTERN]; ///< slots; -1: `_`
	struct bug *a, *b;
	struct spec_span span;
};

/** `define`: a predicate. Its parameters are slots 0 to n_params - 1. */
struct spec_predicate {
	const char *name;
	int n_params, n_slots;
	const char *slot[SPEC_BUG_SLOTS];
	struct bug *body;
};

struct spec_bug_rule {
	struct spec_bug pub;
	int n_slots;
	const char *slot[SPEC_BUG_SLOTS];
	struct bug *condition;
};

/** Is @p n a condition, not a number? */
bool spec_bug_is_condition(const struct bug *n);

#endif
