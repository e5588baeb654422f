// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What was wrong with the value that ended the program, and what the program calls it.
 */
#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "faultlocate/fl_end_int.h"

#define SMALL 4096
#define NAMES_TRIED 24

/* ---- what is wrong with it ----------------------------------------------------------------- */

/* Characters, perhaps with the 0 behind the last. Six may as well be an address. */
static bool is_text(uint64_t value)
{
	int n = 0;

	while (n < 8 && isprint((int)(value >> 8 * n & 0xff)))
		n++;
	return n == 8 || n == 7 || (n == 5 && !(value >> 40));
}

struct hg_node_id fl_end_freed(const struct hg_graph *g, uint64_t addr, uint64_t time)
{
	for (uint32_t id = hg_graph_nodes(g); id; id--) {
		const struct hg_node *n = hg_graph_node(g, (struct hg_node_id){ id });

		if (addr - n->start < n->size && n->died <= time)
			return (struct hg_node_id){ id };
	}
	return (struct hg_node_id){ 0 };
}

static enum fl_bad bad_pointer(struct valuer *v, struct dec_machine *m)
{
	const struct hg_graph *g = v->e->a->sides[FL_SIDE_APP].graph;
	uint64_t value = v->v->value;
	int prot = fl_end_protection(m, value);

	if (!value)
		return FL_BAD_NULL;
	if (value < SMALL || -value < SMALL)
		return FL_BAD_SMALL;
	if (prot >= 0 && (v->e->end->kind == FL_END_JUMP ||
			  fl_end_protection(m, v->e->end->address) >= 0))
		return v->e->a->run.end_value == SIGBUS ? FL_BAD_BEYOND :
							  FL_BAD_PROTECTED;
	v->v->node = fl_end_freed(g, value, v->e->at);
	if (v->v->node.v && !hg_graph_find(g, value, v->e->at).v)
		return FL_BAD_FREED;
	v->v->node.v = 0;
	if (is_text(value))
		return FL_BAD_TEXT;
	return value >> 47 && ~value >> 47 ? FL_BAD_FORM : FL_BAD_NOWHERE;
}

/* The value of the location that is bad, and whether it is an address at all. */
static struct err *read_value(struct valuer *v)
{
	const struct fl_ender *e = v->e;
	struct dec_machine *m;
	struct cap_regs regs;
	bool is_index = false;
	struct err *err = dec_past_seek(e->past, e->bad_at, &m);

	if (!err)
		err = dec_machine_regs(m, &regs);
	if (!err && e->bad.is_mem)
		err = dec_machine_read(m, e->bad.addr, &v->v->value, e->bad.size);
	else if (!err)
		memcpy(&v->v->value, &regs.gpr[e->bad.reg], e->bad.size);
	if (err)
		return err;
	for (int i = 0; i < e->bad_insn.n_mem && !e->bad.is_mem; i++)
		is_index |= e->bad_insn.mem[i].index == e->bad.reg &&
			    e->bad_insn.mem[i].base != e->bad.reg &&
			    e->bad_insn.mem[i].base != DEC_REG_NONE &&
			    fl_end_protection(m, regs.gpr[e->bad_insn.mem[i].base]) >= 0;
	if (e->end->kind == FL_END_DIVISION)
		v->v->bad = v->v->value ? FL_BAD_NOT : FL_BAD_DIVISOR;
	else
		v->v->bad = is_index ? FL_BAD_INDEX : bad_pointer(v, m);
	return NULL;
}

/* What is wrong with the value as it was where it was used. */
static struct err *judge_value(struct valuer *v)
{
	struct dec_machine *m;
	struct err *err = dec_past_seek(v->e->past, v->e->bad_at, &m);

	if (!err)
		v->v->bad = bad_pointer(v, m);
	return err;
}

/* ---- what it is called ---------------------------------------------------------------------- */

static struct err *name_hop(struct valuer *v, const struct dec_hop *hop,
			    struct dec_expression *x)
{
	const struct dec_past_step *s;
	struct err *err = dec_past_step_at(v->e->past, hop->position, &s);
	const struct dec_insn *found = dec_past_insn(v->e->past, s);
	struct dec_insn insn;

	if (err || !found)
		return err;
	insn = *found;
	return dec_express_mem(v->e->past, v->e->a->symbols, hop->position, &insn,
			       hop->tid, hop->from.addr, hop->from.size, x);
}

/* The user's name of it: where it was used, or the first that it was loaded from. */
static struct err *name_value(struct valuer *v)
{
	struct fl_ender *e = v->e;
	struct dec_expression x = {};
	bool is_own = fl_end_is_own(e->a, e->bad_insn.rip);
	struct err *err = NULL;

	if (is_own && e->bad.is_mem && e->bad_insn.flow != DEC_FLOW_RET)
		err = dec_express_mem(e->past, e->a->symbols, e->bad_at, &e->bad_insn,
				      e->tid, e->bad.addr, e->bad.size, &x);
	else if (is_own && !e->bad.is_mem)
		err = dec_express_reg(e->past, e->a->symbols, e->bad_at, e->bad_insn.rip,
				      e->tid, e->bad.reg, &x);
	if (!err && x.has_type && e->end->kind == FL_END_ACCESS &&
	    v->v->bad != FL_BAD_INDEX) {
		struct dec_type to;

		if (!dec_symbols_behind(&x.type, x.text,
					(int64_t)(e->end->address - x.value),
					e->end->bytes, v->v->access, &to))
			v->v->access[0] = 0;
		// Of a pointer that was stepped, what it was stepped from.
		v->v->value = x.value;
		err = judge_value(v);
	}
	for (size_t i = 0;
	     i < v->follow.hops.size && i < NAMES_TRIED && !err && !x.text[0]; i++) {
		const struct dec_hop *hop = &v->follow.hops.data[i];

		if (hop->from.is_mem && hop->from.size >= 4 &&
		    fl_end_is_own(e->a, hop->rip))
			err = name_hop(v, hop, &x);
	}
	if (!err && x.has_type)
		memcpy(v->v->name, x.text, sizeof(v->v->name));
	return err;
}

/* Where the way back went on with an index it is that which was wrong: what was loaded of it. */
static void find_index(struct valuer *v)
{
	bool is_index = false;

	for (size_t i = 0; i + 1 < v->follow.hops.size && !is_index; i++) {
		const struct dec_hop *hop = &v->follow.hops.data[i];

		v->is_index |= hop->kind == DEC_HOP_INDEX;
		is_index = v->is_index && hop->from.is_mem;
		if (!is_index)
			continue;
		hop = &v->follow.hops.data[i + 1];
		v->v->bad = FL_BAD_INDEX;
		v->v->value = hop->from.size == 4 || hop->to.size == 4 ?
				      (uint64_t)(int32_t)hop->value :
				      hop->value;
	}
}

struct err *fl_end_value(struct fl_ender *e)
{
	struct valuer v = { .e = e, .v = &e->end->value };
	enum dec_follow_what what;
	struct err *err = read_value(&v);

	if (!err)
		err = fl_end_stack(&v);
	what = v.v->bad == FL_BAD_DIVISOR ? DEC_FOLLOW_NUMBER :
	       v.v->bad == FL_BAD_INDEX	  ? DEC_FOLLOW_INDEX :
					    DEC_FOLLOW_POINTER;
	e->end->has_value = !err && v.v->bad != FL_BAD_NOT;
	v.index_rip = what == DEC_FOLLOW_INDEX ? e->bad_insn.rip : 0;
	dec_past_ask(e->past, fl_end_known, &v);
	if (!err && e->end->has_value)
		err = dec_follow(e->past, &e->bad, e->bad_at, what, fl_end_is_unmade, &v,
				 &v.follow);
	if (!err && e->end->has_value)
		err = fl_end_before_realloc(&v, what);
	if (!err)
		err = take_ptr(&v.err);
	if (!err && e->end->has_value)
		find_index(&v);
	if (!err && e->end->has_value)
		err = name_value(&v);
	if (!err && e->end->has_value)
		err = fl_end_origin(&v);
	err_destroy(v.err);
	dec_follow_deinit(&v.follow);
	return err;
}
