// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * From the nodes of a slice to suspects: where the way back ends, at what came from outside; and what
 * may have come from outside on the way: memory that others write, calls that wrote more than is
 * known.
 */

#include "decode/explain/explain_int.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "decode/x86/zydis.h"

// What a step back costs. A value copied stays the same value; an address seldom is what
// is wrong; a branch may have nothing to do with it.
enum { COST_COPY = 1, COST_VALUE = 3, COST_ADDRESS = 40 };

/* ---- how far away ----------------------------------------------------------------------------- */

static bool is_copy(const struct dec_insn *insn)
{
	return insn->is_plain_load || insn->store_reg != DEC_REG_NONE ||
	       (insn->mnemonic == ZYDIS_MNEMONIC_MOV && !insn->n_mem) || insn->is_rep;
}

const struct dec_insn *dec_explain_insn(const struct explain_walk *w, uint32_t node)
{
	return node == FL_NONE || w->nodes[node].insn == FL_NONE ?
		       NULL :
		       &fl_slice_insn(w->slice, w->nodes[node].insn)->insn;
}

bool dec_explain_is_way(const struct explain_walk *w, uint32_t node)
{
	const struct dec_insn *insn = dec_explain_insn(w, node);

	return insn && !w->nodes[node].size &&
	       (insn->flow == DEC_FLOW_JCC || insn->flow == DEC_FLOW_JRCX ||
		insn->flow == DEC_FLOW_JMP_IND || insn->flow == DEC_FLOW_CALL_IND);
}

/* What differs is seed number @p i, or made by @p node. */
static struct explain_way first_way(const struct explain *ex, const struct fl_node *node)
{
	for (size_t i = ex->n_values; i < ex->seeds.size; i++)
		if (ex->seeds.data[i].position == node->position && !node->size)
			return (struct explain_way){ .cost = ex->costs.data[i],
						     .has_branch = ex->n_values > 0 };
	return (struct explain_way){};
}

/* How what node @p to needs as @p edge leads on from there. */
static struct explain_way next_way(const struct explain_walk *w, uint32_t to,
				   enum fl_edge edge)
{
	const struct dec_insn *insn = dec_explain_insn(w, to);
	struct explain_way way = w->ways[to];

	way.steps++;
	way.has_branch |= edge == FL_EDGE_CONTROL;
	if (edge == FL_EDGE_ADDRESS)
		way.cost += COST_ADDRESS;
	else if (edge == FL_EDGE_DATA)
		way.cost += insn && is_copy(insn) ? COST_COPY : COST_VALUE;
	else
		way.cost += dec_explain_is_way(w, to) ? EXPLAIN_NEXT_BRANCH :
							EXPLAIN_BRANCH;
	return way;
}

/* Measure the way to each node. Latest nodes come first; of those that stand for many instances the way is
 * not known. @return whether it is of all. */
static bool measure(const struct explain *ex, struct explain_walk *w)
{
	bool is_all = true;

	for (size_t i = 0; i < w->n; i++) {
		const struct fl_node *n = &w->nodes[i];

		if (n->is_folded)
			w->ways[i] = (struct explain_way){ .cost = EXPLAIN_FOLDED,
							   .has_branch = true };
		else if (n->parent == FL_NONE)
			w->ways[i] = first_way(ex, n);
		else
			w->ways[i] = next_way(w, n->parent, n->edge);
		is_all &= !n->is_folded;
	}
	return is_all;
}

/* ---- where it came from ------------------------------------------------------------------------ */

/* Does it use nothing but the stack pointer? */
static bool is_constant(const struct dec_insn *insn)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].is_read)
			return false;
	return dec_insn_zeroes(insn) || (!(insn->gpr_read & ~(1u << CAP_RSP)) &&
					 !insn->other_read && !insn->reads_flags);
}

/* Is what the call made a thread of this program? Of clone3 the flags are not known. */
static bool made_thread(const struct explain *ex, const struct history_event *e)
{
	return vec_find(&ex->history.events, later, later->tid == (uint32_t)e->ret);
}

static enum explain_origin written_by(const struct explain *ex,
				      const struct history_event *e)
{
	switch (e ? e->nr : -1) {
	case SYS_vfork:
		return EXPLAIN_CHILD;
	case SYS_clone: // of fork: the kernel's own word, as of a thread
		return e->args[0] & CLONE_VM && !(e->args[0] & CLONE_THREAD) ?
			       EXPLAIN_CHILD :
			       EXPLAIN_WRITTEN;
	case SYS_clone3:
		return made_thread(ex, e) ? EXPLAIN_WRITTEN : EXPLAIN_CHILD;
	default:
		return EXPLAIN_WRITTEN;
	}
}

/* @return EXPLAIN_ORIGINS: @p n is neither an input nor a constant. */
static enum explain_origin origin_of(const struct explain *ex,
				     const struct explain_walk *w, uint32_t node,
				     const struct history_event *e)
{
	const struct fl_node *n = &w->nodes[node];
	const struct dec_insn *insn = dec_explain_insn(w, node);

	switch (n->origin) {
	case FL_ORIGIN_RESULT:
		return EXPLAIN_RESULT;
	case FL_ORIGIN_WRITTEN:
		return written_by(ex, e);
	case FL_ORIGIN_MAPPED:
		return EXPLAIN_MAPPED;
	case FL_ORIGIN_SIGNAL:
		return EXPLAIN_FRAME;
	case FL_ORIGIN_PROCESSOR:
		return insn->flow == DEC_FLOW_CPUID ? EXPLAIN_CPUID : EXPLAIN_TSC;
	case FL_ORIGIN_START:
		return fl_slice_stats(w->slice)->begin ? EXPLAIN_FAR : EXPLAIN_START;
	default:
		return n->size && is_constant(insn) ? EXPLAIN_CONSTANT : EXPLAIN_ORIGINS;
	}
}

/* ---- suspects -------------------------------------------------------------------------------------- */

/* Keep @p s, unless the same is suspected for less already. */
static struct err *suspect(struct explain *ex, struct explain_suspect s)
{
	uint64_t key = (uint64_t)s.origin << 34 | (uint64_t)s.has_branch << 33 |
		       (uint64_t)s.is_certain << 32 | s.event;
	const uint64_t *at = map_get(&ex->suspect_of, key);

	if (at) {
		if (s.cost < ex->suspects.data[*at].cost)
			ex->suspects.data[*at] = s;
		return NULL;
	}
	if (map_put(&ex->suspect_of, key, ex->suspects.size))
		return &err_nomem;
	return vec_add(&ex->suspects, s);
}

static struct explain_suspect suspect_at(const struct explain *ex, uint32_t walk,
					 uint32_t node, enum explain_origin origin,
					 size_t event)
{
	const struct explain_walk *w = &ex->walks[walk];
	const struct fl_node *n = &w->nodes[node];
	bool is_constant = origin == EXPLAIN_CONSTANT;

	return (struct explain_suspect){
		.origin = origin,
		.edge = n->edge,
		.has_branch = w->ways[node].has_branch,
		// Between it and the call that it was copied to nothing branched: no other input could
		// have made it another one.
		.is_certain = is_constant && ex->x->at.parting == DEC_PARTED_REGISTER &&
			      n->position >= ex->straight &&
			      w->ways[node].cost == w->ways[node].steps,
		.cost = w->ways[node].cost,
		.walk = walk,
		.node = is_constant ? node : n->parent,
		.event = event == SIZE_MAX ? EXPLAIN_NONE : event,
		.tid = n->tid,
		.position = n->position,
		.at = { .is_mem = n->is_mem,
			.reg = n->reg,
			.tid = n->tid,
			.addr = n->addr,
			.size = n->size },
		.insn = is_constant ? NULL : dec_explain_insn(w, node),
	};
}

/* What lay in memory since node @p node may have been written by others. */
static struct err *suspect_others(struct explain *ex, uint32_t walk, uint32_t node)
{
	const struct explain_walk *w = &ex->walks[walk];
	const struct fl_node *n = &w->nodes[node];
	size_t shared = dec_history_shared_at(&ex->history, n->addr);
	uint64_t until = n->parent == FL_NONE ? ex->x->at.position :
						w->nodes[n->parent].position;
	struct explain_suspect s;

	if (shared == SIZE_MAX)
		return NULL;
	s = suspect_at(ex, walk, node, EXPLAIN_SHARED, shared);
	s.position = until;
	s.insn = NULL;
	return suspect(ex, s);
}

/* Calls in between got a pointer to the memory that node @p node wrote. */
static struct err *suspect_calls(struct explain *ex, uint32_t walk, uint32_t node)
{
	const struct explain_walk *w = &ex->walks[walk];
	const struct fl_node *n = &w->nodes[node];
	const struct history_event *events = ex->history.events.data;
	uint64_t until = n->parent == FL_NONE ? ex->x->at.position :
						w->nodes[n->parent].position;
	size_t i = vec_rank(ex->loose.size, k,
			    events[ex->loose.data[k]].position < n->position);
	struct err *err = NULL;

	for (; i < ex->loose.size && !err; i++) {
		const struct history_event *e = &events[ex->loose.data[i]];
		bool is_unlisted = e->flags & (CAP_SYS_UNLISTED | CAP_SYS_PARTIAL);
		struct explain_suspect s;

		if (e->position >= until)
			break;
		if (!dec_history_call_may_write(e, n->addr))
			continue;
		s = suspect_at(ex, walk, node,
			       is_unlisted ? EXPLAIN_UNMODELLED : EXPLAIN_QUIET,
			       ex->loose.data[i]);
		s.position = e->position;
		s.tid = e->tid;
		s.insn = NULL;
		err = suspect(ex, s);
	}
	return err;
}

/* Does @p insn look into the tables of segments, which are no operand? */
static bool reads_segments(const struct dec_insn *insn)
{
	switch (insn ? insn->mnemonic : 0) {
	case ZYDIS_MNEMONIC_LAR:
	case ZYDIS_MNEMONIC_LSL:
	case ZYDIS_MNEMONIC_VERR:
	case ZYDIS_MNEMONIC_VERW:
		return true;
	default:
		return false;
	}
}

/* What node @p node found in the tables of segments is of the last call that changed them. */
static struct err *suspect_segments(struct explain *ex, uint32_t walk, uint32_t node)
{
	const struct fl_node *n = &ex->walks[walk].nodes[node];
	const struct history_event *events = ex->history.events.data;
	size_t i = vec_rank(ex->loose.size, k,
			    events[ex->loose.data[k]].position < n->position);

	while (i && events[ex->loose.data[i - 1]].nr != SYS_modify_ldt)
		i--;
	if (!i)
		return NULL;
	return suspect(ex, suspect_at(ex, walk, node, EXPLAIN_UNMODELLED,
				      ex->loose.data[i - 1]));
}

struct err *dec_explain_collect(struct explain *ex, uint32_t walk)
{
	struct explain_walk *w = &ex->walks[walk];
	struct err *err = NULL;

	w->nodes = fl_slice_nodes(w->slice, &w->n);
	w->ways = calloc(w->n + 1, sizeof(*w->ways));
	if (!w->ways)
		return &err_nomem;
	ex->x->is_partial |= !measure(ex, w) || fl_slice_stats(w->slice)->is_full;
	for (uint32_t i = 0; i < w->n && !err; i++) {
		const struct fl_node *n = &w->nodes[i];
		size_t event = n->event ? dec_history_find(&ex->history, n->event) :
					  SIZE_MAX;
		const struct history_event *e =
			event == SIZE_MAX ? NULL : &ex->history.events.data[event];
		enum explain_origin origin = origin_of(ex, w, i, e);

		if (origin != EXPLAIN_ORIGINS)
			err = suspect(ex, suspect_at(ex, walk, i, origin, event));
		if (!err && n->is_mem)
			err = suspect_others(ex, walk, i);
		if (!err && n->is_mem)
			err = suspect_calls(ex, walk, i);
		if (!err && reads_segments(dec_explain_insn(w, i)))
			err = suspect_segments(ex, walk, i);
	}
	return err;
}

void dec_explain_forget(struct explain *ex)
{
	for (int i = 0; i < EXPLAIN_WALKS; i++) {
		fl_slice_destroy(ex->walks[i].slice);
		free(ex->walks[i].ways);
		ex->walks[i] = (struct explain_walk){};
	}
	vec_deinit(&ex->suspects);
	map_deinit(&ex->suspect_of);
	ex->suspects = (typeof(ex->suspects)){};
	ex->suspect_of = (struct map){};
}
