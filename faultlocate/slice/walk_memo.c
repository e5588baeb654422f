// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Steps: found again or made. Whatever depends on more than needs, piece and outcome (registers
 * that are saved and restored, seeds, the kernel's) is done one by one, with what is wanted laid out in
 * the thread's registers; so is a step's first time, as far as registers have to do with it.
 */

#include "faultlocate/slice/walk_memo.h"

#include <string.h>

#include "faultlocate/slice/walk.h"

enum { MAX_ADDS = 1 << 21 };

_Static_assert(sizeof(struct memo_step) % 8 == 0 && sizeof(struct memo_op) % 8 == 0,
	       "a step's own words");

bool fl_memo_is_on(const struct fl_slice *s)
{
	return s->remembers && s->nodes.size >= s->max_nodes;
}

/* The same thing wanted for the node that stands for all instances of the same instruction. */
static uint32_t common_link(const struct fl_slice *s, uint32_t link)
{
	uint32_t insn, node = link_node(link);

	// Nodes this late stand for all already.
	if (node >= s->max_nodes || link_edge(link) == LINK_SAVED)
		return link;
	insn = s->nodes.data[node].insn;
	if (insn >= s->folded.size || s->folded.data[insn] == FL_NONE)
		return link;
	return link_to(s->folded.data[insn], link_edge(link));
}

/* ---- needs -------------------------------------------------------------------------------- */

/* Bytes @p bytes of register @p reg of the thread at hand are wanted: words of a need. */
static struct err *push_part(struct fl_slice *s, int reg, uint64_t bytes, live_who who)
{
	struct err *err = vec_add(&s->memo.words, bytes);

	return err   ?:
		       vec_add(&s->memo.words,
			       (uint64_t)who << 32 | s->at->regs.reg[reg].node);
}

/* Add what is wanted of register @p reg of the thread at hand. */
static struct err *push_parts(struct fl_slice *s, int reg)
{
	struct live_reg *l = &s->at->regs.reg[reg];
	struct err *err = NULL;

	l->node = common_link(s, l->node);
	if (!s->has_several)
		return push_part(s, reg, l->bytes, l->who);
	for (uint64_t left = l->bytes, same; left && !err; left &= ~same) {
		live_who who = l->each[__builtin_ctzll(left)];

		same = 0;
		for (uint64_t i = left; i; i &= i - 1)
			if (l->each[__builtin_ctzll(i)] == who)
				same |= i & -i;
		err = push_part(s, reg, same, who);
	}
	return err;
}

/* Find those of registers @p regs of the thread at hand. */
static struct err *enter(struct fl_slice *s, uint64_t regs)
{
	struct walk_thread *t = s->at;
	struct memo *m = &s->memo;
	struct err *err = NULL;

	for (uint64_t left = regs & (t->needs.any | t->regs.any); left && !err;
	     left &= left - 1) {
		int reg = __builtin_ctzll(left);
		uint32_t number = 0;

		m->words.size = 0;
		if (t->regs.any >> reg & 1)
			err = push_parts(s, reg);
		if (!err)
			err = fl_automaton_number(&m->automaton, m->words.data,
						  m->words.size, &number);
		automaton_set(&t->needs, reg, number);
	}
	t->is_numbered = true;
	return err;
}

struct err *fl_memo_enter(struct fl_slice *s)
{
	s->at->needs = (struct automaton_needs){};
	return enter(s, ~UINT64_C(0));
}

/* Lay registers @p regs of @p t out, no others. */
static struct err *leave(struct fl_slice *s, struct walk_thread *t, uint64_t regs)
{
	struct err *err = NULL;

	for (uint64_t left = t->regs.any; left; left &= left - 1)
		fl_live_reg_take(&t->regs, s->has_several, __builtin_ctzll(left),
				 ~UINT64_C(0), false);
	for (uint64_t left = t->needs.any & regs; left; left &= left - 1) {
		int reg = __builtin_ctzll(left);
		uint32_t n;
		const uint64_t *words =
			automaton_words(&s->memo.automaton, t->needs.of[reg], &n);

		for (uint32_t i = 0; i < n && !err; i += 2)
			err = fl_live_reg_want(&t->regs, s->has_several, reg, words[i],
					       words[i + 1] >> 32, words[i + 1]);
	}
	return err;
}

struct err *fl_memo_leave(struct fl_slice *s, struct walk_thread *t)
{
	if (!t->is_numbered)
		return NULL;
	t->is_numbered = false;
	return leave(s, t, ~UINT64_C(0));
}

/* ---- what is remembered ------------------------------------------------------------------------ */

struct err *fl_memo_want(struct fl_slice *s, const struct trace_mem *m, uint64_t bytes,
			 live_who who, uint32_t link)
{
	return vec_add(&s->memo.ops, (struct memo_op){ .bytes = bytes,
						       .mem = *m,
						       .what = m - s->memo.recording->mem,
						       .link = link,
						       .who = who,
						       .block = FLOW_NONE });
}

struct err *fl_memo_pend(struct fl_slice *s, uint32_t block, live_who who, uint32_t node)
{
	return vec_add(&s->memo.ops,
		       (struct memo_op){ .link = node, .who = who, .block = block });
}

struct err *fl_memo_add(struct fl_slice *s, uint32_t node, uint32_t edge, live_who who)
{
	const struct fl_node *n = &s->nodes.data[node];

	return vec_add(&s->memo.adds,
		       (struct memo_add){ .insn = n->insn,
					  .node = node,
					  .link = link_to(n->parent, n->edge),
					  .size = n->size,
					  .edge = edge,
					  .who = who,
					  .at = n->position - s->memo.recording->first,
					  .reg = n->reg,
					  .is_mem = n->is_mem });
}

/* What was added at the last time of step @p step is @p a's node: it is moved back. */
static void move_node(struct fl_slice *s, const struct memo_step *step,
		      const struct memo_add *a)
{
	struct fl_node *n = &s->nodes.data[a->node];

	if (step->at + a->at >= n->position)
		return;
	n->position = step->at + a->at;
	n->parent = link_node(a->link);
	n->edge = n->parent == FL_NONE ? FL_EDGE_BEGIN : link_edge(a->link);
	n->size = a->size;
	n->reg = a->reg;
	n->is_mem = a->is_mem;
	n->addr = a->is_mem ? step->addr : 0;
	n->tid = step->tid;
}

void fl_memo_count(struct fl_slice *s)
{
	struct memo *m = &s->memo;

	for (size_t i = 0; i < m->counted.size; i++) {
		struct memo_step *step = memo_step(m, m->counted.data[i]);

		for (uint32_t k = 0; k < step->n_adds; k++) {
			const struct memo_add *a = &m->adds.data[step->first_add + k];

			fl_walk_count(s, a->insn, a->edge, a->who, step->n);
			move_node(s, step, a);
		}
		step->n = 0;
	}
	m->counted.size = 0;
}

void fl_memo_deinit(struct memo *m)
{
	fl_automaton_deinit(&m->automaton);
	vec_deinit(&m->ops);
	vec_deinit(&m->adds);
	vec_deinit(&m->words);
	vec_deinit(&m->counted);
}

struct err *fl_memo_room(struct fl_slice *s)
{
	struct memo *m = &s->memo;
	struct err *err = NULL;

	if (m->has_room)
		return NULL;
	fl_memo_count(s);
	for (size_t i = 0; i < s->threads.size && !err; i++)
		err = fl_memo_leave(s, s->threads.data[i]);
	fl_memo_deinit(m);
	m->has_room = true;
	return err ?: fl_automaton_begin(&m->automaton);
}

/* ---- steps ---------------------------------------------------------------------------------------- */

/* What is wanted of a store has a number, among all that is; but mostly it is all of it, or a register's being
 * kept or got back, which say it themselves. */
static uint64_t outcome_of(const struct fl_slice *s, const struct live_want *w,
			   uint64_t addr, uint32_t size)
{
	uint64_t all = size < 64 ? (UINT64_C(1) << size) - 1 : ~UINT64_C(0);
	uint64_t kind = w->size >= MEMO_GOT_BACK ? w->size - MEMO_GOT_BACK + 1 :
			w->bytes == all && w->first == addr ? 3 :
							      0;

	return kind && !s->has_several ? kind << 62 | w->node : 0;
}

struct err *fl_memo_outcome(struct fl_slice *s, struct live_want *w, uint64_t addr,
			    uint32_t size, uint64_t *ret)
{
	uint32_t number;
	struct err *err;

	*ret = 0;
	if (!w->who)
		return NULL;
	w->node = common_link(s, w->node);
	*ret = outcome_of(s, w, addr, size);
	if (*ret)
		return NULL;

	const uint64_t key[] = { w->bytes, (uint64_t)w->who << 32 | w->node,
				 w->first - addr, w->size };

	err = fl_automaton_number(&s->memo.automaton, key, sizeof(key) / sizeof(*key),
				  &number);
	*ret = number;
	return err;
}

uint64_t fl_memo_decided(struct fl_slice *s, live_who who, uint32_t *node)
{
	*node = common_link(s, *node);
	return (uint64_t)who << 32 | *node;
}

/* Of several threads, what is remembered may be of one and wanted by another. */
static void cross(struct fl_slice *s, const struct memo_step *p)
{
	for (uint32_t i = 0; i < p->n_adds; i++) {
		const struct memo_add *a = &s->memo.adds.data[p->first_add + i];
		uint32_t parent = link_node(a->link);

		s->nodes.data[a->node].tid = s->at->tid;
		if (a->edge != FL_NONE && parent != FL_NONE)
			s->edges.data[a->edge].crosses |= s->nodes.data[parent].tid !=
							  s->at->tid;
	}
}

static struct err *do_op(struct fl_slice *s, const struct memo_op *op,
			 const struct trace_mem *mem, const uint8_t *rec)
{
	const struct trace_mem *m = mem ? &mem[op->what] : &op->mem;

	if (op->block != FLOW_NONE)
		return fl_walk_wait(s, op->block, op->who, op->link);
	return fl_walk_want_some(s, trace_address(m, rec, s->fs_base), m->size, op->bytes,
				 op->who, op->link);
}

/* The step that is likely to come next is long. */
static void foresee(const struct automaton_step *step)
{
	for (size_t line = 0; line < 4; line++)
		__builtin_prefetch((const char *)step + 64 * line);
}

struct err *fl_memo_do(struct fl_slice *s, uint32_t number, const struct trace_mem *mem,
		       const uint8_t *rec, uint64_t first, uint64_t addr)
{
	struct memo *m = &s->memo;
	struct automaton_step *step = automaton_at(&m->automaton, number);
	struct memo_step *p = (struct memo_step *)automaton_own(step);
	struct err *err = p->n++ ? NULL : vec_add(&m->counted, number);
	struct walk_thread *t = s->at;

	foresee(automaton_at(&m->automaton, step->then[0]));
	p->tid = t->tid;
	p->at = first;
	p->addr = addr;
	for (uint32_t i = 0; i < p->n_ops && !err; i++)
		err = do_op(s, &p->op[i], mem, rec);
	for (uint32_t i = 0; i < p->n_adds && s->bits; i++) {
		const struct memo_add *a = &m->adds.data[p->first_add + i];

		fl_walk_keep(s, first + a->at, a->who);
	}
	automaton_take(step, &t->needs);
	if (s->threads.size > 1)
		cross(s, p);
	return err;
}

struct err *fl_memo_begin(struct fl_slice *s, uint64_t touched, struct memo_recording *r)
{
	s->memo.ops.size = 0;
	r->first_add = s->memo.adds.size;
	r->from = s->at->needs;
	s->memo.recording = r;
	return leave(s, s->at, touched);
}

struct err *fl_memo_end(struct fl_slice *s, const struct memo_recording *r,
			const struct automaton_step *step, uint8_t end)
{
	struct memo *m = &s->memo;
	size_t bytes = m->ops.size * sizeof(*m->ops.data);
	struct memo_step *made;
	struct err *err;

	m->recording = NULL;
	err = enter(s, step->touched);
	if (!err)
		err = fl_automaton_add(&m->automaton, step, &r->from, &s->at->needs,
				       (sizeof(*made) + bytes) / 8, false);
	m->has_room = m->adds.size < MAX_ADDS && !fl_automaton_is_full(&m->automaton);
	if (err)
		return err;
	made = memo_step(m, m->automaton.last);
	*made = (struct memo_step){ .n_ops = m->ops.size,
				    .first_add = r->first_add,
				    .n_adds = m->adds.size - r->first_add,
				    .end = end };
	if (bytes)
		memcpy(made->op, m->ops.data, bytes);
	return NULL;
}
