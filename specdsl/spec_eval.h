// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: evaluating expressions over one binding of variables.
 */
#ifndef SPECDSL_SPEC_EVAL_H
#define SPECDSL_SPEC_EVAL_H

#include "specdsl/spec_edges.h"

enum value_kind {
	VALUE_NONE, ///< it cannot be read: a comparison with it is false
	VALUE_INT,
	VALUE_REAL,
};

/** 128 bits hold signed and unsigned fields alike. */
struct value {
	enum value_kind kind;
	__int128 i;
	double real;
};

enum vertex_kind {
	VERTEX_NONE, ///< its field cannot be read
	VERTEX_NULL,
	VERTEX_NODE,
	VERTEX_WILD, ///< an address in no live node
};

struct vertex {
	enum vertex_kind kind;
	struct hg_node_id node;
	uint64_t addr;
};

/** A condition that may be impossible to read. */
enum truth { TRUTH_FALSE, TRUTH_TRUE, TRUTH_NONE };

enum memo_state { MEMO_STARTED = 1, MEMO_DONE };

/** The value of one attribute of one node. */
struct memo {
	enum memo_state state;
	bool is_cyclic;
	struct value value;
};

struct attr_task {
	uint32_t attr;
	struct hg_node_id node;
};

struct spec_eval {
	const struct spec *s;
	const struct hg_graph *g;
	const struct hg_view *v;
	struct edges edges;
	struct map memo_of;	     ///< attribute << 32 | node -> index into memos
	VEC(struct memo) memos;
	VEC(struct attr_task) tasks; ///< attributes to compute, the innermost last
	VEC(uint32_t) candidates[2 * SPEC_MAX_VARS]; ///< one list a loop
	bool is_out_of_memory;
};

/** One evaluation. */
struct scope {
	struct spec_eval *e;
	struct hg_node_id nodes[SPEC_MAX_VARS];
	int64_t index;
	bool is_in_attr;      ///< evaluating an attribute's rule
	bool needs_attr;      ///< .. which needs another attribute first
	bool is_unreadable, is_cyclic;
	struct spec_args *args; ///< collect arguments here; NULL: do not, and take short cuts
	struct spec_args *deps; ///< collect dependencies here; NULL: do not
};

struct value eval_number(struct scope *sc, const struct ast *n);
struct vertex eval_vertex(struct scope *sc, const struct ast *n);

/** Evaluate @p n; what cannot be read makes an atom false. */
bool eval_condition(struct scope *sc, const struct ast *n);

/** The user-defined attribute called as attribute @p attr of @p v. */
struct value eval_user_attr(struct scope *sc, int attr, struct vertex v);

void eval_add_arg(struct scope *sc, bool is_absent, uint64_t value);
void eval_add_dep(struct scope *sc, enum spec_dep_kind kind, struct hg_node_id node);

/** Collect the arguments of @p n, a condition or a value (sc->args set). */
void eval_record(struct scope *sc, const struct ast *n);

/** Evaluate vertex @p n and collect it as an argument (when sc->args is set). */
struct vertex eval_record_vertex(struct scope *sc, const struct ast *n);

/** Bring @p e to its view's position. */
struct err *eval_refresh(struct spec_eval *e);

/** Set the variables of @p plan from step @p step on in every way that makes its conjuncts
 * true, and call @p fn for each until it returns true. Loops use candidates[level..].
 * @return whether @p fn did. */
bool plan_walk(struct scope *sc, const struct spec_rule *r, const struct plan *plan,
	       uint32_t step, uint32_t level, bool (*fn)(struct scope *sc, void *ctx),
	       void *ctx);

/** Are all conjuncts of @p bits true? */
bool plan_check(struct scope *sc, const struct plan *plan, uint64_t bits);

/** Is the index of @p sc outside the range of intra-node constraint @p r, or does it make
 * fields that the node does not have? Then the constraint does not apply. */
bool rule_is_out_of_range(struct scope *sc, const struct spec_rule *r);

/** Does the body of @p r hold, the nodes of its "all" variables being set? */
bool rule_body(struct scope *sc, const struct spec_rule *r);

#endif
