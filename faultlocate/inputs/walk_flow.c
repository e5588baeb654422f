// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Why was it executed? As in slices (slice/walk_control.c): things wait, call by call, for the
 * closest branch that their block depends on; what still waits where its call began depends on the
 * call. What a branch tested is wanted by the ways that come together there: as they are, if its
 * outcome means that two values were equal.
 */

#include "faultlocate/inputs/walk.h"

#include "decode/x86/zydis.h"

static struct call *top(struct walker_thread *t)
{
	return &t->calls.data[t->calls.size - 1];
}

/* The flow block that instruction @p insn is in. */
static struct err *block_of(struct walker *w, uint32_t insn, uint32_t *ret)
{
	struct trace_place place = { .block = FLOW_NONE };
	struct err *err = fl_trace_place(w->trace, insn, &place);

	*ret = place.block;
	return err;
}

static struct err *function_of(struct walker *w, uint32_t insn, uint32_t *ret)
{
	struct trace_place place = { .function = FLOW_NONE };
	struct err *err = NULL;

	if (insn != UINT32_MAX)
		err = fl_trace_place(w->trace, insn, &place);
	*ret = place.function;
	return err;
}

struct err *fl_inputs_pop(struct walker *w, struct walker_thread *t)
{
	free(top(t)->interrupted);
	vec_deinit(&top(t)->waiting);
	t->calls.size--;
	return fl_steps_uncover(w, top(t));
}

struct err *fl_inputs_meet(struct walker *w, uint32_t insn)
{
	if (w->at->is_met || insn == UINT32_MAX)
		return NULL;
	w->at->is_met = true;
	return function_of(w, insn, &w->at->calls.data[0].function);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void join_waiting(const struct walker *w, struct waiting *to,
			 const struct waiting *from)
{
	if (from->by_control.ways)
		fl_inputs_join(w, &to->by_control, &from->by_control);
	to->chain_ways |= from->chain_ways;
	to->chain_link = to->chain_link ?: from->chain_link;
}

static struct err *wait_here(struct walker *w, const struct waiting *p)
{
	struct call *c = top(w->at);

	for (size_t i = c->waiting.size; i--;)
		if (c->waiting.data[i].block == p->block) {
			join_waiting(w, &c->waiting.data[i], p);
			return NULL;
		}
	return vec_add(&c->waiting, *p);
}

/* @p p waits, as what instruction @p insn was executed for. */
static struct err *wait_at(struct walker *w, uint32_t insn, struct waiting p)
{
	struct err *err;

	// Why the linker does what it does is nobody's question: there the way back ends.
	if (fl_inputs_is_linker(w, w->trace->insns.data[insn].insn.rip))
		return NULL;
	err = block_of(w, insn, &p.block);
	return err || p.block == FLOW_NONE ? err : wait_here(w, &p);
}

struct err *fl_inputs_wait(struct walker *w, uint32_t insn, const struct label *control,
			   const struct label *chain)
{
	struct waiting p = { .by_control = *control };

	p.by_control.link = 0;
	if (chain) {
		p.chain_ways = chain->ways;
		p.chain_link = chain->link;
	}
	return control->ways || chain ? wait_at(w, insn, p) : NULL;
}

/* ---- deciding --------------------------------------------------------------------------------- */

/* Does the outcome of branch @p insn, behind which @p next was executed, mean equality? */
static bool is_exact(const struct walker *w, uint32_t insn, uint32_t next)
{
	const struct dec_insn *b = &w->trace->insns.data[insn].insn;
	bool is_taken = next != UINT32_MAX &&
			w->trace->insns.data[next].insn.rip == b->target;

	return next != UINT32_MAX && ((b->mnemonic == ZYDIS_MNEMONIC_JZ && is_taken) ||
				      (b->mnemonic == ZYDIS_MNEMONIC_JNZ && !is_taken));
}

/* Instruction @p insn decided for what @p p has. */
static struct err *decide(struct walker *w, uint32_t insn, const struct operand_places *o,
			  const struct waiting *p)
{
	const struct effect *e = fl_trace_effect(w->trace, insn);
	uint8_t flow = w->trace->insns.data[insn].insn.flow;
	struct label value = p->by_control, address;
	struct waiting up = *p;
	struct err *err = e ? NULL : &err_nomem;

	if (err || fl_inputs_is_linker(w, w->trace->insns.data[insn].insn.rip))
		return err;
	err = fl_inputs_node(w, &value);
	if (err)
		return err;
	up.by_control.node = value.node;
	address = value;
	switch (flow) {
	case DEC_FLOW_CALL:
		// What is executed in a call is so because of what leads to it.
		return wait_at(w, insn, up);
	case DEC_FLOW_JMP_IND:
	case DEC_FLOW_CALL_IND:
		address.ways = value.ways = (value.ways | p->chain_ways) * WAY_TABLE;
		value.link = p->chain_link;
		break;
	default:
		if (is_exact(w, insn, w->at->next)) {
			value.ways |= p->chain_ways;
			value.link = p->chain_link;
		} else {
			value.ways = ways_weak(value.ways);
		}
		address.ways = ways_address(value.ways);
	}
	up.chain_ways = up.chain_link = 0;
	if (flow == DEC_FLOW_JMP_IND || flow == DEC_FLOW_CALL_IND)
		err = fl_inputs_target(w, insn, o, &value);
	else
		err = fl_inputs_use(w, insn, e->control, o, &value, &address);
	return err ?: wait_at(w, insn, up);
}

/* Take what waits in the call on top and is of @p function (FLOW_NONE: all), into @p ret. */
static bool take_waiting(struct walker *w, uint32_t function, struct waiting *ret)
{
	struct call *c = top(w->at);
	size_t kept = 0;
	bool has_any = false;

	*ret = (struct waiting){};
	for (size_t i = 0; i < c->waiting.size; i++) {
		struct waiting p = c->waiting.data[i];

		if (function != FLOW_NONE &&
		    fl_flow_function(w->trace->flow, p.block) != function) {
			c->waiting.data[kept++] = p;
			continue;
		}
		join_waiting(w, ret, &p);
		has_any = true;
	}
	c->waiting.size = kept;
	return has_any;
}

/* ---- branches ---------------------------------------------------------------------------------- */

static struct err *branch(struct walker *w, uint32_t insn, const struct operand_places *o)
{
	struct call *c = top(w->at);
	struct waiting all = {};
	size_t kept = 0;
	bool has_any = false;
	uint32_t block;
	struct err *err;

	if (!c->waiting.size)
		return NULL;
	err = block_of(w, insn, &block);
	if (err || block == FLOW_NONE)
		return err;
	for (size_t i = 0; i < c->waiting.size; i++) {
		struct waiting p = c->waiting.data[i];

		if (!fl_flow_depends(w->trace->flow, p.block, block)) {
			c->waiting.data[kept++] = p;
			continue;
		}
		join_waiting(w, &all, &p);
		has_any = true;
	}
	c->waiting.size = kept;
	return has_any ? decide(w, insn, o, &all) : NULL;
}

/* A jump from one function to another: what waits there goes on waiting here. */
static struct err *jump(struct walker *w, uint32_t insn, const struct operand_places *o)
{
	const struct dec_insn *from = &w->trace->insns.data[insn].insn;
	struct walker_thread *t = w->at;
	uint32_t here, there;
	struct waiting p;
	bool is_stub;
	struct err *err;

	if (t->next == UINT32_MAX ||
	    (!top(t)->waiting.size && top(t)->function == FLOW_NONE))
		return NULL;
	err = function_of(w, insn, &here);
	if (!err)
		err = function_of(w, t->next, &there);
	if (err || here == FLOW_NONE || there == FLOW_NONE || here == there)
		return err;
	if (top(t)->function == there)
		top(t)->function = here;
	if (!take_waiting(w, there, &p))
		return NULL;
	if (fl_inputs_is_linker(w, from->rip)) {
		join_waiting(w, &top(t)->bound, &p);
		top(t)->is_bound = true;
		w->steps.is_odd = true;
		return NULL;
	}
	// Where an import is was decided by the linker.
	is_stub = from->flow == DEC_FLOW_JMP_IND &&
		  ((from->n_mem && from->mem[0].is_absolute) ||
		   fl_trace_leaves_module(w->trace, from->rip,
					  w->trace->insns.data[t->next].insn.rip));
	return from->flow != DEC_FLOW_JMP && !is_stub ? decide(w, insn, o, &p) :
							wait_at(w, insn, p);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

/* Calls that were left without a return being met: theirs waits in the one below. */
static struct err *drop_stale(struct walker *w, struct walker_thread *t, uint64_t slot)
{
	struct err *err = NULL;

	while (t->calls.size > 1 && top(t)->slot && top(t)->slot < slot &&
	       !top(t)->interrupted && !err) {
		struct call *c = top(t);

		err = fl_steps_uncover(w, &c[-1]);
		for (size_t i = 0; i < c->waiting.size && !err; i++)
			err = vec_add(&c[-1].waiting, c->waiting.data[i]);
		if (!err)
			err = fl_inputs_pop(w, t);
	}
	return err;
}

static bool take_bound(struct walker *w, struct call *c, struct waiting *ret)
{
	bool was_bound = c->is_bound;

	join_waiting(w, ret, &c->bound);
	c->bound = (struct waiting){};
	c->is_bound = false;
	return was_bound;
}

static struct err *call(struct walker *w, uint32_t insn, uint64_t slot,
			const struct operand_places *o)
{
	struct walker_thread *t = w->at;
	uint32_t callee, mine;
	struct call *c;
	struct waiting p;
	bool has_any;
	struct err *err = drop_stale(w, t, slot);

	if (err)
		return err;
	c = top(t);
	if (c->slot == slot && t->calls.size > 1) {
		has_any = take_waiting(w, FLOW_NONE, &p) | take_bound(w, c, &p);
		err = fl_inputs_pop(w, t);
		if (err)
			return err;
		return has_any ? decide(w, insn, o, &p) : NULL;
	}
	err = function_of(w, t->next, &callee);
	if (!err)
		err = function_of(w, insn, &mine);
	if (err || callee == FLOW_NONE)
		return err;
	// The outermost one that is known begins here, when it is of that function.
	if (t->calls.size == 1 && !c->slot && c->function == callee) {
		c->function = mine;
		has_any = take_waiting(w, FLOW_NONE, &p) | take_bound(w, c, &p);
	} else {
		has_any = callee != mine && take_waiting(w, callee, &p);
	}
	return has_any ? decide(w, insn, o, &p) : NULL;
}

static struct err *leave(struct walker *w, uint32_t insn, uint64_t slot)
{
	struct call c = { .slot = slot, .function = FLOW_NONE };
	uint32_t function;
	struct err *err = w->o.n_strings ? function_of(w, insn, &function) : NULL;

	if (!err && w->o.n_strings && function != FLOW_NONE)
		fl_inputs_string_left(w, function, &c.string);
	return err ?: vec_add(&w->at->calls, c);
}

struct err *fl_inputs_flow(struct walker *w, uint32_t insn,
			   const struct operand_places *o, uint32_t n_mem)
{
	struct err *err;

	switch (w->trace->insns.data[insn].insn.flow) {
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		// The return address is the last operand.
		return call(w, insn, walk_address(w, o, n_mem - 1), o);
	case DEC_FLOW_RET:
		return leave(w, insn, walk_address(w, o, 0));
	case DEC_FLOW_JMP:
		return jump(w, insn, o);
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
	case DEC_FLOW_JMP_IND:
		err = jump(w, insn, o);
		return err ?: branch(w, insn, o);
	default:
		return NULL;
	}
}
