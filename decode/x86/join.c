// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A graph of instructions is explored forward from the branch, and its postdominators are
 * worked out with Cooper, Harvey and Kennedy's iteration ("A Simple, Fast Dominance
 * Algorithm") on the reversed edges, from one node that stands for the function's end.
 */
#include "decode/x86/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "decode/x86/zydis.h"

#define NODES_MAX 20000
#define TABLE_MAX 1024
#define TABLE_LOOK 16 ///< instructions before an indirect jump that may belong to it
#define END 0	      ///< index of the node behind the function
#define NONE UINT32_MAX

struct node {
	struct dec_insn insn;
	uint32_t before; ///< the node that falls through to it; NONE
	uint32_t first_edge, n_edges;
	uint32_t order;	 ///< in which the reversed graph is gone through
	uint32_t joined; ///< its immediate postdominator
	bool is_seen, is_between;
	int64_t depth; ///< bytes that the stack has shrunk since the branch
};

struct edge {
	uint32_t from, to;
};

struct graph {
	const struct dec_join_code *code;
	VEC(struct node) nodes;
	VEC(struct edge) edges;
	VEC(uint32_t) preds; ///< edges by their targets: sources
	VEC(uint32_t) pred_at;
	VEC(uint32_t) order; ///< nodes, the end first
	struct map node_of;
};

static void graph_deinit(struct graph *g)
{
	vec_deinit(&g->nodes);
	vec_deinit(&g->edges);
	vec_deinit(&g->preds);
	vec_deinit(&g->pred_at);
	vec_deinit(&g->order);
	map_deinit(&g->node_of);
}

/* ---- exploring -------------------------------------------------------------------------- */

/* @return the node at @p rip, made if it is new; END where there is no code; NONE: no memory. */
static uint32_t node_at(struct graph *g, uint64_t rip, uint32_t before)
{
	const uint64_t *at = map_get(&g->node_of, rip);
	struct dec_insn insn;
	struct node *n;

	if (at) {
		if (before != NONE)
			g->nodes.data[*at].before = before;
		return *at;
	}
	if (!g->code->insn(g->code->ctx, rip, &insn) || g->nodes.size >= NODES_MAX)
		return END;
	n = vec_push(&g->nodes);
	if (!n || map_put(&g->node_of, rip, g->nodes.size - 1))
		return NONE;
	*n = (struct node){ .insn = insn, .before = before, .joined = NONE };
	return g->nodes.size - 1;
}

static bool add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	if (to == NONE || vec_add(&g->edges, (struct edge){ from, to }))
		return false;
	g->nodes.data[from].n_edges++;
	return true;
}

/* The address of the table that the indirect jump @p at goes by, in one of the shapes
 * `lea table(%rip), r; movslq (r,i,4), t; add r, t; jmp *t', `jmp *table(,i,8)'. */
static uint64_t table_of(const struct graph *g, uint32_t at, uint64_t *limit,
			 bool *is_wide)
{
	const struct node *n = &g->nodes.data[at];
	uint64_t table = 0;

	*limit = TABLE_MAX;
	*is_wide = n->insn.n_mem && n->insn.mem[0].scale == 8 &&
		   n->insn.mem[0].index != DEC_REG_NONE &&
		   n->insn.mem[0].base == DEC_REG_NONE;
	if (*is_wide)
		table = n->insn.mem[0].disp;
	for (int i = 0; i < TABLE_LOOK && n->before != NONE; i++) {
		n = &g->nodes.data[n->before];
		if (!table && n->insn.mnemonic == ZYDIS_MNEMONIC_LEA && n->insn.rel_at)
			table = n->insn.rel_target;
		if (n->insn.mnemonic == ZYDIS_MNEMONIC_CMP) {
			ZydisDecodedInstruction d;
			ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

			if (dec_insn_zydis(n->insn.bytes, n->insn.len, &d, ops) &&
			    ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			    ops[1].imm.value.u < TABLE_MAX)
				*limit = ops[1].imm.value.u + 1;
			break;
		}
	}
	return table;
}

/* @return whether code can be at @p target, so near to the jump at @p from that it is the same
 * function's. */
static bool is_case(const struct graph *g, uint64_t from, uint64_t target)
{
	struct dec_insn insn;

	return target + (1u << 20) > from && target < from + (1u << 20) &&
	       g->code->insn(g->code->ctx, target, &insn);
}

static bool add_cases(struct graph *g, uint32_t at)
{
	uint64_t limit, from = g->nodes.data[at].insn.rip;
	bool is_wide, has_some = false;
	uint64_t table = table_of(g, at, &limit, &is_wide);

	for (uint64_t i = 0; table && i < limit; i++) {
		uint64_t target = 0;
		int32_t step;

		if (is_wide && !g->code->read(g->code->ctx, table + 8 * i, &target, 8))
			break;
		if (!is_wide) {
			if (!g->code->read(g->code->ctx, table + 4 * i, &step, 4))
				break;
			target = table + step;
		}
		if (!is_case(g, from, target))
			break;
		has_some = true;
		if (!add_edge(g, at, node_at(g, target, NONE)))
			return false;
	}
	return has_some || add_edge(g, at, END);
}

/* Behind a call of what never returns there is nothing of this way. */
static bool add_next(struct graph *g, uint32_t at)
{
	const struct dec_insn *insn = &g->nodes.data[at].insn;
	uint64_t next = insn->rip + insn->len;

	if (insn->flow == DEC_FLOW_CALL && g->code->never_returns &&
	    g->code->never_returns(g->code->ctx, insn->target))
		return add_edge(g, at, END);
	return add_edge(g, at, node_at(g, next, at));
}

static bool add_edges(struct graph *g, uint32_t at)
{
	struct dec_insn insn = g->nodes.data[at].insn;

	g->nodes.data[at].first_edge = g->edges.size;
	switch (insn.flow) {
	case DEC_FLOW_JMP:
		return add_edge(g, at, node_at(g, insn.target, NONE));
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
		return add_edge(g, at, node_at(g, insn.target, NONE)) && add_next(g, at);
	case DEC_FLOW_JMP_IND:
		return add_cases(g, at);
	case DEC_FLOW_RET:
	case DEC_FLOW_TRAP:
	case DEC_FLOW_FORBIDDEN:
		return add_edge(g, at, END);
	default:
		return add_next(g, at);
	}
}

/* ---- postdominators ------------------------------------------------------------------------ */

static bool sort_edges(struct graph *g)
{
	size_t n = g->nodes.size;

	if (vec_reserve(&g->preds, g->edges.size + 1) || vec_reserve(&g->pred_at, n + 2))
		return false;
	memset(g->pred_at.data, 0, (n + 2) * sizeof(*g->pred_at.data));
	for (size_t i = 0; i < g->edges.size; i++)
		g->pred_at.data[g->edges.data[i].to + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		g->pred_at.data[i] += g->pred_at.data[i - 1];
	for (size_t i = 0; i < g->edges.size; i++)
		g->preds.data[g->pred_at.data[g->edges.data[i].to + 1]++] =
			g->edges.data[i].from;
	return true;
}

/* Depth first from the end against the edges; the order is that in which nodes are left,
 * turned round. */
static bool number(struct graph *g)
{
	VEC(struct edge) stack = {}; // node, next predecessor
	bool is_fine = !vec_add(&stack, (struct edge){ END, g->pred_at.data[END] });

	g->nodes.data[END].is_seen = true;
	while (is_fine && stack.size) {
		struct edge *top = &stack.data[stack.size - 1];
		uint32_t p;

		if (top->to == g->pred_at.data[top->from + 1]) {
			is_fine = !vec_add(&g->order, top->from);
			stack.size--;
			continue;
		}
		p = g->preds.data[top->to++];
		if (g->nodes.data[p].is_seen)
			continue;
		g->nodes.data[p].is_seen = true;
		is_fine = !vec_add(&stack, (struct edge){ p, g->pred_at.data[p] });
	}
	vec_deinit(&stack);
	for (size_t i = 0; i < g->order.size; i++)
		g->nodes.data[g->order.data[i]].order = g->order.size - 1 - i;
	return is_fine;
}

static uint32_t meet(const struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->nodes.data[a].order > g->nodes.data[b].order)
			a = g->nodes.data[a].joined;
		while (g->nodes.data[b].order > g->nodes.data[a].order)
			b = g->nodes.data[b].joined;
	}
	return a;
}

static void postdominate(struct graph *g)
{
	bool has_changed = true;

	g->nodes.data[END].joined = END;
	while (has_changed) {
		has_changed = false;
		// order holds the end last.
		for (size_t i = g->order.size - 1; i-- > 0;) {
			struct node *n = &g->nodes.data[g->order.data[i]];
			uint32_t joined = NONE;

			for (uint32_t k = 0; k < n->n_edges; k++) {
				uint32_t to = g->edges.data[n->first_edge + k].to;

				if (!g->nodes.data[to].is_seen ||
				    g->nodes.data[to].joined == NONE)
					continue;
				joined = joined == NONE ? to : meet(g, joined, to);
			}
			has_changed |= joined != n->joined;
			n->joined = joined;
		}
	}
}

/* ---- what lies between ------------------------------------------------------------------------ */

static bool is_fixed(const struct dec_mem *m)
{
	return m->is_write && m->index == DEC_REG_NONE && !m->is_fs && !m->is_gs &&
	       (m->is_absolute || m->base == CAP_RBP || m->base == CAP_RSP);
}

static void note_effects(const struct dec_insn *insn, struct dec_join *ret)
{
	ret->n_insns++;
	ret->gpr_written |= insn->gpr_written;
	ret->other_written |= insn->other_written;
	ret->writes_flags |= insn->writes_flags;
	ret->has_calls |= insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND;
	for (int i = 0; i < insn->n_mem; i++)
		if (is_fixed(&insn->mem[i]) && !(insn->gpr_written & 1u << CAP_RSP) &&
		    ret->n_stores < DEC_JOIN_STORES)
			ret->store[ret->n_stores++] = insn->mem[i];
}

/* By how much @p insn moves the stack pointer up. */
static int64_t stack_step(const struct dec_insn *insn)
{
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

	if (!(insn->gpr_written & 1u << CAP_RSP) || insn->flow != DEC_FLOW_NEXT ||
	    !dec_insn_zydis(insn->bytes, insn->len, &d, ops))
		return 0;
	switch (d.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return -8;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_LEAVE:
		return 8;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return 0;
		return d.mnemonic == ZYDIS_MNEMONIC_ADD ? ops[1].imm.value.s :
							  -ops[1].imm.value.s;
	default:
		return 0;
	}
}

/* All that is reached from the branch before the join. Where the stack is another there, the
 * ways have left the function's body: that is its end. */
static bool gather(struct graph *g, uint32_t branch, uint32_t joined,
		   struct dec_join *ret)
{
	VEC(uint32_t) todo = {};
	bool is_fine = !vec_add(&todo, branch);

	while (is_fine && todo.size) {
		struct node *n = &g->nodes.data[todo.data[--todo.size]];
		int64_t depth = n->depth + stack_step(&n->insn);

		for (uint32_t k = 0; is_fine && k < n->n_edges; k++) {
			uint32_t to = g->edges.data[n->first_edge + k].to;

			if (to == joined && depth)
				ret->rip = 0;
			if (to == joined || to == END || g->nodes.data[to].is_between)
				continue;
			g->nodes.data[to].is_between = true;
			g->nodes.data[to].depth = depth;
			note_effects(&g->nodes.data[to].insn, ret);
			is_fine = !vec_add(&todo, to);
		}
	}
	vec_deinit(&todo);
	return is_fine;
}

static bool find(struct graph *g, uint64_t rip, struct dec_join *ret)
{
	uint32_t branch, joined;

	if (!vec_push(&g->nodes)) // the end
		return false;
	branch = node_at(g, rip, NONE);
	if (branch == NONE || branch == END)
		return false;
	for (uint32_t i = 1; i < g->nodes.size; i++)
		if (!add_edges(g, i))
			return false;
	if (!sort_edges(g) || !number(g))
		return false;
	for (uint32_t i = 1; i < g->nodes.size; i++)
		g->nodes.data[i].joined = NONE;
	postdominate(g);
	joined = g->nodes.data[branch].joined;
	if (joined == NONE)
		joined = END; // an endless loop: no way leads out
	ret->rip = joined == END ? 0 : g->nodes.data[joined].insn.rip;
	return gather(g, branch, joined, ret);
}

bool dec_join_find(const struct dec_join_code *code, uint64_t rip, struct dec_join *ret)
{
	struct graph g = { .code = code };
	bool is_fine;

	*ret = (struct dec_join){};
	is_fine = find(&g, rip, ret);
	graph_deinit(&g);
	return is_fine;
}
