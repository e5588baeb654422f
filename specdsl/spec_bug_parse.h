// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to spec_bug_parse.c, which reads rules and predicates, and spec_bug_condition.c, which reads what
 * they say.
 */
#ifndef SPECDSL_SPEC_BUG_PARSE_H
#define SPECDSL_SPEC_BUG_PARSE_H

#include "specdsl/spec_bug.h"
#include "specdsl/spec_parser.h"

/** What is being read: a rule or a predicate, and its variables so far. */
struct bug_reader {
	struct parser *p;
	const char *slot[SPEC_BUG_SLOTS];
	int n_slots;
	const char *function; ///< z of a rule's point
	int depth;
};

/** @return the condition that begins here; NULL: there is none, which is told. */
struct bug *spec_bug_read_condition(struct bug_reader *r);

/** @return the slot of variable @p name, which is there already; -1: there is no such. */
int spec_bug_find_slot(const struct bug_reader *r, const char *name);

/** @return a new one; -1: there are too many, which is told. */
int spec_bug_add_slot(struct bug_reader *r, const char *name);

/** @return the predicate of that name, or NULL. */
const struct spec_predicate *spec_bug_find_predicate(const struct parser *p,
						     const char *name);

/** Tell that there is no variable (@p is_call: function, predicate) @p name, which stands at @p at. */
void spec_bug_report_unknown(struct bug_reader *r, struct spec_span at, const char *name,
			     bool is_call);

#endif
