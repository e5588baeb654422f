// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Why did it run? Going back, what is in the slice waits, call by call, for the closest branch that
 * its block depends on. What still waits where its call began depends on the call.
 *
 * Calls are told from each other by the place of their return address. One that never returned (it
 * was left by longjmp, an exception, the program's end) was not seen coming: then its things wait in
 * the frame that was thought to be on top, and are those of the callee's function.
 */

#include "faultlocate/slice/walk.h"

static struct frame *top(struct walk_thread *t)
{
	return &t->frames.data[t->frames.size - 1];
}

/* The number of the function that instruction @p insn is in. */
static struct err *function_of(struct fl_slice *s, uint32_t insn, uint32_t *ret)
{
	struct trace_place at = { .function = FLOW_NONE };
	struct err *err = insn == UINT32_MAX ? NULL : fl_trace_place(s->trace, insn, &at);

	*ret = at.function;
	return err;
}

struct err *fl_walk_meet(struct fl_slice *s, uint32_t insn)
{
	if (s->at->is_met || insn == UINT32_MAX)
		return NULL;
	s->at->is_met = true;
	return function_of(s, insn, &s->at->frames.data[0].function);
}

/* ---- waiting ---------------------------------------------------------------------------------- */

/* Block @p block waits in the frame on top. */
static struct err *pend(struct fl_slice *s, uint32_t block, live_who who, uint32_t node)
{
	struct walk_thread *t = s->at;

	// Most instructions of a block that are in a slice come one after the other.
	for (size_t i = t->pending.size; i-- > top(t)->first;) {
		struct pending *p = &t->pending.data[i];

		if (p->block != block)
			continue;
		p->who |= who;
		return fl_share_pending(s, p->place, node);
	}
	return vec_add(&t->pending,
		       (struct pending){ block, who, node, fl_share_place(s) });
}

struct err *fl_walk_pend(struct fl_slice *s, uint32_t insn, live_who who, uint32_t node)
{
	struct trace_place at;
	struct err *err;

	if (s->options.without_control)
		return NULL;
	err = fl_trace_place(s->trace, insn, &at);
	if (!err && at.block != FLOW_NONE && s->memo.recording)
		err = fl_memo_pend(s, at.block, who, node);
	return err || at.block == FLOW_NONE ? err : pend(s, at.block, who, node);
}

struct err *fl_walk_wait(struct fl_slice *s, uint32_t block, live_who who, uint32_t node)
{
	return pend(s, block, who, node);
}

/* It is in the slice for @p node, as what guards it is from there on. */
struct err *fl_walk_decide(struct fl_slice *s, uint32_t insn, const struct operands *o,
			   live_who who, uint32_t parent)
{
	const struct effect *e = fl_trace_effect(s->trace, insn);
	struct fl_node node = { .position = s->position, .insn = insn };
	uint32_t added;
	struct err *err =
		e ? fl_walk_add(s, &node, who, link_to(parent, FL_EDGE_CONTROL), &added) :
		    &err_nomem;

	if (err || fl_walk_is_cut(s, insn))
		return err;
	err = fl_walk_use(s, insn, e->control, o, who, added);
	return err ?: fl_walk_pend(s, insn, who, added);
}

static struct err *decide(struct fl_slice *s, uint32_t insn, const struct operands *o,
			  const struct pending *p)
{
	struct err *err;

	if (fl_memo_is_on(s))
		return fl_memo_decide(s, insn, o, p->who, p->node);
	err = fl_memo_leave(s, s->at);
	return err ?: fl_walk_decide(s, insn, o, p->who, p->node);
}

/* One decision is that of @p p, too. */
static struct err *join(struct fl_slice *s, struct pending *all, const struct pending *p)
{
	all->node = all->who ? all->node : p->node;
	all->who |= p->who;
	return fl_share_take_pending(s, p, all->node);
}

/* Take what waits in the frame on top and is of function @p function (FLOW_NONE: all of it) into
 * @p ret, whose `who` is 0 where there was nothing. */
static struct err *take_pending(struct fl_slice *s, uint32_t function,
				struct pending *ret)
{
	struct walk_thread *t = s->at;
	size_t kept = top(t)->first;
	struct err *err = NULL;

	*ret = (struct pending){ .node = FL_NONE };
	for (size_t i = kept; i < t->pending.size; i++) {
		struct pending p = t->pending.data[i];

		if (function != FLOW_NONE &&
		    fl_flow_function(s->trace->flow, p.block) != function)
			t->pending.data[kept++] = p;
		else if (!err)
			err = join(s, ret, &p);
	}
	t->pending.size = kept;
	return err;
}

/* ---- branches ------------------------------------------------------------------------------------ */

struct err *fl_walk_branch(struct fl_slice *s, uint32_t insn, const struct operands *o)
{
	struct walk_thread *t = s->at;
	struct pending all = { .node = FL_NONE };
	size_t kept = top(t)->first;
	struct trace_place at;
	struct err *err;

	if (t->pending.size == kept)
		return NULL;
	err = fl_trace_place(s->trace, insn, &at);
	if (err || at.block == FLOW_NONE)
		return err;
	for (size_t i = kept; i < t->pending.size; i++) {
		struct pending p = t->pending.data[i];

		if (!fl_flow_depends(s->trace->flow, p.block, at.block))
			t->pending.data[kept++] = p;
		else if (!err)
			err = join(s, &all, &p);
	}
	t->pending.size = kept;
	return err || !all.who ? err : decide(s, insn, o, &all);
}

/* A jump from one function to another (a tail call, a way that is not to be seen in the code): what
 * waits there goes on waiting here. */
struct err *fl_walk_jump(struct fl_slice *s, uint32_t insn, const struct operands *o)
{
	const struct dec_insn *jump = &s->trace->insns.data[insn].insn;
	struct walk_thread *t = s->at;
	struct trace_place here;
	struct pending p;
	uint32_t there;
	bool is_stub;
	struct err *err;

	if (t->next == UINT32_MAX ||
	    (t->pending.size == top(t)->first && top(t)->function == FLOW_NONE))
		return NULL;
	err = fl_trace_place(s->trace, insn, &here);
	if (!err)
		err = function_of(s, t->next, &there);
	if (err || here.function == FLOW_NONE || there == FLOW_NONE ||
	    here.function == there)
		return err;
	if (top(t)->function == there)
		top(t)->function = here.function;
	err = take_pending(s, there, &p);
	if (err || !p.who)
		return err;
	// Where an import is was decided by the linker.
	is_stub = jump->flow == DEC_FLOW_JMP_IND &&
		  ((jump->n_mem && jump->mem[0].is_absolute) ||
		   fl_trace_leaves_module(s->trace, jump->rip,
					  s->trace->insns.data[t->next].insn.rip));
	if (jump->flow != DEC_FLOW_JMP && !is_stub)
		return decide(s, insn, o, &p);
	// Who shares it is lost: there is no node of the jump.
	s->shares.found.size = 0;
	return pend(s, here.block, p.who, p.node);
}

/* ---- calls ----------------------------------------------------------------------------------------- */

static struct err *push(struct fl_slice *s, struct frame frame)
{
	frame.serial = ++s->serial;
	frame.first = s->at->pending.size;
	frame.function = FLOW_NONE;
	return vec_add(&s->at->frames, frame);
}

/* Frames that were left without a return being met: theirs waits in the one below. */
static void drop_stale(struct walk_thread *t, uint64_t slot)
{
	while (t->frames.size > 1 && top(t)->slot && top(t)->slot < slot &&
	       !top(t)->interrupted)
		t->frames.size--;
}

struct err *fl_walk_call(struct fl_slice *s, uint32_t insn, uint64_t slot,
			 const struct operands *o)
{
	struct walk_thread *t = s->at;
	uint32_t callee, mine;
	struct frame *f;
	struct pending p;
	struct err *err;

	drop_stale(t, slot);
	f = top(t);
	if (f->slot == slot && t->frames.size > 1) {
		err = take_pending(s, FLOW_NONE, &p);
		t->frames.size--;
		return err || !p.who ? err : decide(s, insn, o, &p);
	}
	if (s->options.without_control)
		return NULL;
	err = function_of(s, t->next, &callee);
	if (!err)
		err = function_of(s, insn, &mine);
	if (err || callee == FLOW_NONE)
		return err;
	// The outermost one that is known begins here, when it is of that function.
	if (t->frames.size == 1 && !f->slot && f->function == callee) {
		f->function = mine;
		callee = FLOW_NONE;
	} else if (callee == mine) {
		return NULL;
	}
	err = take_pending(s, callee, &p);
	return err || !p.who ? err : decide(s, insn, o, &p);
}

struct err *fl_walk_return(struct fl_slice *s, uint64_t slot)
{
	return push(s, (struct frame){ .slot = slot });
}
