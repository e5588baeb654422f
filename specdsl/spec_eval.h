// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: evaluating expressions over one binding of variables.
 */
#ifndef SPECDSL_SPEC_EVAL_H
#define SPECDSL_SPEC_EVAL_H

#include "specdsl/spec_edges.h"
#include "specdsl/spec_same.h"
#include "specdsl/spec_track.h"

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

static const struct value value_none = { .kind = VALUE_NONE };

static inline struct value value_int(__int128 i)
{
	return (struct value){ .kind = VALUE_INT, .i = i };
}

static inline struct value value_real(double real)
{
	return (struct value){ .kind = VALUE_REAL, .real = real };
}

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

enum memo_state { MEMO_STALE, MEMO_STARTED, MEMO_DONE };

/** The value of one attribute of one node. */
struct memo {
	enum memo_state state;
	bool is_cyclic;
	uint32_t result; ///< what it depends on is tracked as; 0: it is not
	struct value value;
};

struct text {
	bool is_there;
	VEC(char) chars;
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
	struct map memo_of; ///< attribute << 32 | node -> index into memos
	VEC(struct memo) memos;
	VEC(uint32_t) free_memos;
	VEC(struct attr_task) tasks; ///< attributes to compute, the innermost last
	struct spec_args attr_deps;  ///< scratch: of the one being computed
	struct spec_args
		*attr_reads; ///< what they read is collected here, too; NULL: is not
	struct track track;
	VEC(struct same_index) sames;
	struct spec_checker *checker; ///< whose units are tracked; NULL: none
	VEC(uint32_t) candidates[2 * SPEC_MAX_VARS]; ///< one list a loop
	struct text texts[2]; ///< scratch: of the comparison being made
	void (*on_read)(void *ctx, const struct spec_read *r); ///< NULL: nobody asks
	void *on_read_ctx;
	uint64_t *asked; ///< spec_eval_asked(), a constraint each
	bool is_out_of_memory;
};

/** One evaluation. */
struct scope {
	struct spec_eval *e;
	struct hg_node_id nodes[SPEC_MAX_VARS];
	int64_t index;
	struct hg_node_id path_root; ///< candidates were found by the paths from it
	bool is_in_attr;	     ///< evaluating an attribute's rule
	bool needs_attr;	     ///< .. which needs another attribute first
	bool is_unreadable, is_cyclic;
	bool is_pointer;	     ///< the field read last is one, of ..
	struct hg_node_id read_node; ///< .. this node ..
	uint64_t read_offset;	     ///< .. at this offset
	// This field's dependency is left to its comparison, in ..
	const struct ast *ranged;
	struct spec_dep ranged_dep; ///< .. and its value ..
	struct value ranged_value;  ///< .. (none: it was not read, or it has no range)
	struct spec_args *args; ///< collect arguments here; NULL: do not, take short cuts
	struct spec_args *deps; ///< collect dependencies here; NULL: do not
	struct spec_args *reads; ///< .. and fields that are read
};

/** What @p n, an operand, comes to: VALUE_NONE, and sc->is_unreadable, where bytes are not
 * there; a vertex that is no live node is VERTEX_NONE. */
struct value spec_eval_number(struct scope *sc, const struct ast *n);
struct vertex spec_eval_vertex(struct scope *sc, const struct ast *n);

/** It cannot be read. */
static inline struct value spec_eval_unreadable(struct scope *sc)
{
	sc->is_unreadable = true;
	return value_none;
}

/** `a op b`, @p kind being the operator (spec_arith.c). */
struct value spec_eval_calculate(struct scope *sc, enum ast_kind kind, struct value a,
				 struct value b);

/** Evaluate CMP_TEXTS @p n (spec_text.c): *@p order < 0, 0, > 0 as a is before, equal, behind b.
 * @return false: one of them cannot be read. */
bool spec_eval_texts(struct scope *sc, const struct ast *n, int *order);

/** Collect into sc->reads what fields had to be for @p a and @p b, the operands of comparison @p n,
 * to be equal (spec_solve.c). */
void spec_eval_solve(struct scope *sc, const struct ast *n, struct value a,
		     struct value b);

/** Where field @p n (AST_FIELD, AST_NAMED) of its vertex lies. @return false: nowhere, and what
 * that depends on is noted; else that is for the caller to do. */
bool spec_eval_place(struct scope *sc, const struct ast *n, struct hg_node_id *node,
		     struct dec_field *f);

/** Note that a field was read, if the scope collects them. */
void spec_eval_add_read(struct scope *sc, struct hg_node_id node, uint32_t offset,
			uint32_t size);

/** Evaluate @p n; what cannot be read makes an atom false. */
bool spec_eval_condition(struct scope *sc, const struct ast *n);

/** The user-defined attribute called as attribute @p attr of @p v. */
struct value spec_eval_user_attr(struct scope *sc, int attr, struct vertex v);

/** Note an argument (specdsl.h), if the scope collects them. */
void spec_eval_add_arg(struct scope *sc, bool is_absent, uint64_t value, bool is_derived);

/** The number that @p raw, the bytes of field @p f, stands for. */
struct value spec_eval_decode_field(const struct dec_field *f, uint64_t raw);

/** Note what the result depends on, if the scope collects that: @p dep, or all of @p kind about
 * @p node. */
void spec_eval_add_any_dep(struct scope *sc, struct spec_dep dep);
void spec_eval_add_dep(struct scope *sc, enum spec_dep_kind kind, struct hg_node_id node);

/** As spec_eval_add_dep(): the value of attribute @p attr of @p node was used. */
void spec_eval_add_attr_dep(struct scope *sc, uint32_t attr, struct hg_node_id node);

/** Collect the arguments of @p n, a condition or a value (sc->args set). */
void spec_eval_record(struct scope *sc, const struct ast *n);

/** Evaluate vertex @p n and collect it as an argument (when sc->args is set). */
struct vertex spec_eval_record_vertex(struct scope *sc, const struct ast *n);

/** Bring @p e to its view's position. */
struct err *spec_eval_refresh(struct spec_eval *e);

/** @return the memo of @p t whose value is known or being computed, else NULL. */
struct memo *spec_eval_find_memo(struct spec_eval *e, struct attr_task t);

/** Forget the values of all attributes; @p node's alone. */
void spec_eval_drop_memos(struct spec_eval *e);
void spec_eval_drop_memos_of(struct spec_eval *e, struct hg_node_id node);

/** Is the index of @p sc outside the range of intra-node constraint @p r, or does it make
 * fields that the node does not have? Then the constraint does not apply. */
bool spec_rule_is_out_of_range(struct scope *sc, const struct spec_rule *r);

/** Does the body of @p r hold, the nodes of its "all" variables being set? */
bool spec_rule_body(struct scope *sc, const struct spec_rule *r);

/** The plan that the inconsistencies of @p r are found by. */
const struct plan *spec_rule_plan(const struct spec_rule *r);

/** Some of the bindings of a constraint. */
struct rule_part {
	/** Those in which the variable of the plan's first step, which must be PLAN_ALL, stands
	 * for it; {0}: all. */
	struct hg_node_id root;
	int64_t from, to; ///< of an intra-node constraint: those with I from .. to
};

/** Append to @p found the inconsistencies of constraint @p constraint among @p part (NULL:
 * all), at most @p max (0: all) and in no order. */
void spec_rule_check(struct scope *sc, uint32_t constraint, const struct rule_part *part,
		     size_t max, spec_violations *found);

/** Order @p n violations of one constraint by binding. */
void spec_rule_sort(struct spec_violation *v, size_t n);

/** As spec_args(), of an evaluator that is at its view's position: add to @p ret. */
void spec_rule_args(struct spec_eval *e, uint32_t constraint,
		    const struct spec_binding *b, struct spec_args *ret);

#endif
