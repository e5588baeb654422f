// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Steps: found again or made. Whatever depends on more than state, piece and outcome (registers
 * that are saved and restored, seeds, the kernel's) is done one by one, with the state laid out in
 * the thread's registers; so is a step's first time.
 */

#include "faultlocate/slice/walk_memo.h"

#include <string.h>

#include "faultlocate/slice/walk.h"

enum { MAX_STEPS = 1 << 18, MAX_OPS = 1 << 21, MAX_STATES = 1 << 18 };

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

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

/* ---- states ------------------------------------------------------------------------------- */

static struct err *push_reg(struct fl_slice *s, int reg, uint64_t bytes, live_who who)
{
	return vec_add(&s->memo.regs,
		       (struct memo_reg){ .bytes = bytes,
					  .link = s->at->regs.reg[reg].node,
					  .who = who,
					  .reg = reg });
}

/* Add what is wanted of register @p reg of the thread at hand. */
static struct err *note_reg(struct fl_slice *s, int reg)
{
	struct live_reg *l = &s->at->regs.reg[reg];
	struct err *err = NULL;

	l->node = common_link(s, l->node);
	if (!s->has_several)
		return push_reg(s, reg, l->bytes, l->who);
	for (uint64_t left = l->bytes, same; left && !err; left &= ~same) {
		live_who who = l->each[__builtin_ctzll(left)];

		same = 0;
		for (uint64_t i = left; i; i &= i - 1)
			if (l->each[__builtin_ctzll(i)] == who)
				same |= i & -i;
		err = push_reg(s, reg, same, who);
	}
	return err;
}

static bool is_same_state(const struct memo *m, const struct memo_state *a,
			  const struct memo_state *b)
{
	return a->any == b->any && a->tid == b->tid && a->n == b->n &&
	       (!a->n || !memcmp(m->regs.data + a->first, m->regs.data + b->first,
				 a->n * sizeof(*m->regs.data)));
}

struct err *fl_memo_enter(struct fl_slice *s)
{
	struct memo *m = &s->memo;
	struct walk_thread *t = s->at;
	struct memo_state made = { .any = t->regs.any,
				   .first = m->regs.size,
				   .tid = t->tid };
	uint64_t hash = mix(made.any, made.tid);
	const uint64_t *at;
	struct err *err = NULL;

	for (uint64_t left = made.any; left && !err; left &= left - 1)
		err = note_reg(s, __builtin_ctzll(left));
	if (err)
		return err;
	made.n = m->regs.size - made.first;
	for (uint32_t i = made.first; i < m->regs.size; i++) {
		const struct memo_reg *r = &m->regs.data[i];

		hash = mix(mix(hash, r->bytes), (uint64_t)r->link << 32 | r->who);
		hash = mix(hash, r->reg);
	}
	at = map_get(&m->state_of, hash);
	if (at && is_same_state(m, &m->states.data[*at], &made)) {
		m->regs.size = made.first;
		t->state = *at;
		return NULL;
	}
	if (map_put(&m->state_of, hash, m->states.size))
		return &err_nomem;
	t->state = m->states.size;
	return vec_add(&m->states, made);
}

uint64_t fl_memo_any(const struct fl_slice *s, const struct walk_thread *t)
{
	return t->state ? s->memo.states.data[t->state].any : t->regs.any;
}

struct err *fl_memo_leave(struct fl_slice *s, struct walk_thread *t)
{
	const struct memo_state *state = &s->memo.states.data[t->state];
	struct err *err = NULL;

	if (!t->state)
		return NULL;
	t->state = 0;
	for (uint64_t left = t->regs.any; left; left &= left - 1)
		fl_live_reg_take(&t->regs, s->has_several, __builtin_ctzll(left),
				 ~UINT64_C(0), false);
	for (uint32_t i = 0; i < state->n && !err; i++) {
		const struct memo_reg *r = &s->memo.regs.data[state->first + i];

		err = fl_live_reg_want(&t->regs, s->has_several, r->reg, r->bytes, r->who,
				       r->link);
	}
	return err;
}

/* ---- what is remembered ------------------------------------------------------------------------ */

struct err *fl_memo_want(struct fl_slice *s, const struct trace_mem *m, uint64_t bytes,
			 live_who who, uint32_t link)
{
	return vec_add(&s->memo.ops, (struct memo_op){ .bytes = bytes,
						       .what = m - s->memo.recording->mem,
						       .link = link,
						       .who = who });
}

struct err *fl_memo_pend(struct fl_slice *s, uint32_t block, live_who who, uint32_t node)
{
	return vec_add(&s->memo.ops, (struct memo_op){ .what = block,
						       .link = node,
						       .who = who,
						       .is_pend = true });
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
	n->tid = s->memo.states.data[step->state].tid;
}

void fl_memo_count(struct fl_slice *s)
{
	struct memo *m = &s->memo;

	for (size_t i = 0; i < m->counted.size; i++) {
		struct memo_step *step = &m->steps.data[m->counted.data[i]];

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
	vec_deinit(&m->states);
	vec_deinit(&m->regs);
	vec_deinit(&m->outcomes);
	vec_deinit(&m->steps);
	vec_deinit(&m->ops);
	vec_deinit(&m->adds);
	vec_deinit(&m->counted);
	map_deinit(&m->state_of);
	map_deinit(&m->outcome_of);
	map_deinit(&m->step_of);
}

struct err *fl_memo_room(struct fl_slice *s)
{
	struct memo *m = &s->memo;
	struct err *err = NULL;

	if (m->steps.size && m->steps.size < MAX_STEPS && m->ops.size < MAX_OPS &&
	    m->adds.size < MAX_OPS && m->states.size < MAX_STATES &&
	    m->outcomes.size < MAX_STATES && m->regs.size < MAX_OPS)
		return NULL;
	fl_memo_count(s);
	for (size_t i = 0; i < s->threads.size && !err; i++)
		err = fl_memo_leave(s, s->threads.data[i]);
	fl_memo_deinit(m);
	m->last = 0;
	if (err || !vec_push(&m->states) || !vec_push(&m->outcomes) ||
	    !vec_push(&m->steps))
		return err ?: &err_nomem;
	return NULL;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static bool is_outcome(const struct live_want *a, const struct live_want *b)
{
	return a->who == b->who && a->node == b->node && a->bytes == b->bytes &&
	       a->first == b->first && a->size == b->size;
}

struct err *fl_memo_outcome(struct fl_slice *s, struct live_want *w, uint64_t place,
			    uint64_t addr, uint32_t *ret)
{
	struct memo *m = &s->memo;
	const struct memo_step *next = &m->steps.data[m->steps.data[m->last].then];
	struct live_want key = *w;
	const uint64_t *at;
	uint64_t hash;

	*ret = 0;
	if (!w->who)
		return NULL;
	key.node = w->node = common_link(s, w->node);
	key.first -= addr;
	// Mostly what came last behind the last step.
	*ret = next->outcome;
	if (next->place == place && is_outcome(&m->outcomes.data[*ret], &key))
		return NULL;
	hash = mix(mix(key.bytes, (uint64_t)key.who << 32 | key.node),
		   key.first << 32 | key.size);
	at = map_get(&m->outcome_of, hash);
	*ret = at ? *at : 0;
	if (at && is_outcome(&m->outcomes.data[*at], &key))
		return NULL;
	*ret = m->outcomes.size;
	if (map_put(&m->outcome_of, hash, *ret))
		return &err_nomem;
	return vec_add(&m->outcomes, key);
}

static uint64_t hash_step(uint32_t state, uint64_t place, uint32_t outcome)
{
	return mix(mix(place, state), outcome);
}

static bool is_step(const struct memo_step *p, uint32_t state, uint64_t place,
		    uint32_t outcome)
{
	return p->place == place && p->state == state && p->outcome == outcome;
}

struct memo_step *fl_memo_find(struct fl_slice *s, uint64_t place, uint32_t outcome)
{
	struct memo *m = &s->memo;
	uint32_t state = s->at->state, at = m->steps.data[m->last].then;
	const uint64_t *found;

	if (!at || !is_step(&m->steps.data[at], state, place, outcome)) {
		found = map_get(&m->step_of, hash_step(state, place, outcome));
		at = found ? *found : 0;
		if (!at || !is_step(&m->steps.data[at], state, place, outcome))
			return NULL;
		m->steps.data[m->last].then = at;
	}
	m->last = at;
	return &m->steps.data[at];
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
	const struct trace_mem *m = &mem[op->what];

	if (op->is_pend)
		return fl_walk_wait(s, op->what, op->who, op->link);
	return fl_walk_want_some(s, trace_address(m, rec, s->fs_base), m->size, op->bytes,
				 op->who, op->link);
}

struct err *fl_memo_do(struct fl_slice *s, struct memo_step *p,
		       const struct trace_mem *mem, const uint8_t *rec, uint64_t first,
		       uint64_t addr)
{
	struct err *err = p->n++ ? NULL : vec_add(&s->memo.counted, s->memo.last);

	p->at = first;
	p->addr = addr;
	for (uint32_t i = 0; i < p->n_ops && !err; i++)
		err = do_op(s, &s->memo.ops.data[p->first_op + i], mem, rec);
	for (uint32_t i = 0; i < p->n_adds && s->bits; i++) {
		const struct memo_add *a = &s->memo.adds.data[p->first_add + i];

		fl_walk_keep(s, first + a->at, a->who);
	}
	if (s->threads.size > 1)
		cross(s, p);
	s->at->state = p->before;
	return err;
}

void fl_memo_begin(struct fl_slice *s, struct memo_recording *r)
{
	r->first_op = s->memo.ops.size;
	r->first_add = s->memo.adds.size;
	s->memo.recording = r;
}

struct err *fl_memo_end(struct fl_slice *s, const struct memo_recording *r,
			struct memo_step step)
{
	struct memo *m = &s->memo;
	struct err *err;

	m->recording = NULL;
	err = fl_memo_enter(s);
	if (err)
		return err;
	step.before = s->at->state;
	step.first_op = r->first_op;
	step.n_ops = m->ops.size - r->first_op;
	step.first_add = r->first_add;
	step.n_adds = m->adds.size - r->first_add;
	if (map_put(&m->step_of, hash_step(step.state, step.place, step.outcome),
		    m->steps.size))
		return &err_nomem;
	m->steps.data[m->last].then = m->steps.size;
	m->last = m->steps.size;
	return vec_add(&m->steps, step);
}
