// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Steps: found again or made. Whatever depends on more than needs, piece and outcome (registers
 * that are saved and restored, seeds, the kernel's) is done one by one, with what is wanted laid out in
 * the thread's registers; so is a step's first time, as far as registers have to do with it.
 *
 * Whether all needs of a step are the thread's is mostly told by one number, the sum of a hash of each
 * need: where it is what it was the last time, they are the same.
 */

#include "faultlocate/slice/walk_memo.h"

#include <string.h>

#include "base/hash.h"
#include "faultlocate/slice/walk.h"

enum { MAX_STEPS = 1 << 18, MAX_OPS = 1 << 21 };

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

static struct err *push_part(struct fl_slice *s, int reg, uint64_t bytes, live_who who)
{
	return vec_add(&s->memo.parts,
		       (struct memo_part){ .bytes = bytes,
					   .link = s->at->regs.reg[reg].node,
					   .who = who });
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

static bool is_same_need(const struct memo *m, const struct memo_need *a,
			 const struct memo_need *b)
{
	return a->n == b->n && !memcmp(m->parts.data + a->first, m->parts.data + b->first,
				       a->n * sizeof(*m->parts.data));
}

/* Find the number of what is wanted of register @p reg. */
static struct err *find_need(struct fl_slice *s, int reg, uint32_t *ret)
{
	struct memo *m = &s->memo;
	struct memo_need made = { .first = m->parts.size };
	struct err *err = push_parts(s, reg);
	const uint64_t *at;
	uint64_t hash = 0;

	if (err)
		return err;
	made.n = m->parts.size - made.first;
	for (uint32_t i = made.first; i < m->parts.size; i++) {
		const struct memo_part *p = &m->parts.data[i];

		hash = hash_mix(hash_mix(hash, p->bytes),
				(uint64_t)p->link << 32 | p->who);
	}
	at = map_get(&m->need_of, hash);
	if (at && is_same_need(m, &m->needs.data[*at], &made)) {
		m->parts.size = made.first;
		*ret = *at;
		return NULL;
	}
	*ret = m->needs.size;
	if (map_put(&m->need_of, hash, *ret))
		return &err_nomem;
	return vec_add(&m->needs, made);
}

/* What register @p reg's need adds to the hash of all. */
static uint64_t hash_need(uint32_t reg, uint32_t need)
{
	return need ? hash_mix(hash_mix(reg, need), need) : 0;
}

/* Find those of registers @p regs of the thread at hand. */
static struct err *enter(struct fl_slice *s, uint64_t regs)
{
	struct walk_thread *t = s->at;
	uint64_t wanted = t->regs.any & regs;
	struct err *err = NULL;

	for (uint64_t left = regs & (t->any | wanted); left && !err; left &= left - 1) {
		int reg = __builtin_ctzll(left);

		t->state -= hash_need(reg, t->need[reg]);
		t->need[reg] = 0;
		if (wanted >> reg & 1)
			err = find_need(s, reg, &t->need[reg]);
		t->state += hash_need(reg, t->need[reg]);
	}
	t->any = (t->any & ~regs) | wanted;
	t->is_numbered = true;
	return err;
}

struct err *fl_memo_enter(struct fl_slice *s)
{
	s->at->any = s->at->state = 0;
	memset(s->at->need, 0, sizeof(s->at->need));
	return enter(s, ~UINT64_C(0));
}

/* Lay registers @p regs of @p t out, no others. */
static struct err *leave(struct fl_slice *s, struct walk_thread *t, uint64_t regs)
{
	struct err *err = NULL;

	for (uint64_t left = t->regs.any; left; left &= left - 1)
		fl_live_reg_take(&t->regs, s->has_several, __builtin_ctzll(left),
				 ~UINT64_C(0), false);
	for (uint64_t left = t->any & regs; left; left &= left - 1) {
		int reg = __builtin_ctzll(left);
		const struct memo_need *need = &s->memo.needs.data[t->need[reg]];

		for (uint32_t i = 0; i < need->n && !err; i++) {
			const struct memo_part *p = &s->memo.parts.data[need->first + i];

			err = fl_live_reg_want(&t->regs, s->has_several, reg, p->bytes,
					       p->who, p->link);
		}
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
	n->tid = step->tid;
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
	vec_deinit(&m->needs);
	vec_deinit(&m->parts);
	vec_deinit(&m->outcomes);
	vec_deinit(&m->steps);
	vec_deinit(&m->ops);
	vec_deinit(&m->adds);
	vec_deinit(&m->changes);
	vec_deinit(&m->counted);
	map_deinit(&m->need_of);
	map_deinit(&m->outcome_of);
	map_deinit(&m->step_of);
}

struct err *fl_memo_room(struct fl_slice *s)
{
	struct memo *m = &s->memo;
	struct err *err = NULL;

	if (m->steps.size && m->steps.size < MAX_STEPS && m->ops.size < MAX_OPS &&
	    m->adds.size < MAX_OPS && m->needs.size < MAX_STEPS &&
	    m->outcomes.size < MAX_STEPS && m->parts.size < MAX_OPS &&
	    m->changes.size < MAX_OPS)
		return NULL;
	fl_memo_count(s);
	for (size_t i = 0; i < s->threads.size && !err; i++)
		err = fl_memo_leave(s, s->threads.data[i]);
	fl_memo_deinit(m);
	m->last = 0;
	if (err || !vec_push(&m->needs) || !vec_push(&m->outcomes) ||
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
	const struct memo_step *last = &m->steps.data[m->last];
	struct live_want key = *w;
	const uint64_t *at;
	uint64_t hash;

	*ret = 0;
	if (!w->who)
		return NULL;
	key.node = w->node = common_link(s, w->node);
	key.first -= addr;
	// Mostly what came last behind the last step.
	for (int i = 0; i < 2; i++) {
		const struct memo_step *next = &m->steps.data[last->then[i]];

		*ret = next->outcome;
		if (next->place == place && is_outcome(&m->outcomes.data[*ret], &key))
			return NULL;
	}
	hash = hash_mix(hash_mix(key.bytes, (uint64_t)key.who << 32 | key.node),
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

/* @return whether @p p is the step of this place and outcome from the needs of @p t. */
static bool is_step(const struct memo *m, struct memo_step *p,
		    const struct walk_thread *t, uint64_t place, uint32_t outcome)
{
	const struct memo_change *c = &m->changes.data[p->first_change];

	if (p->place != place || p->outcome != outcome)
		return false;
	if (p->state == t->state)
		return true;
	for (uint32_t i = 0; i < p->n_changes; i++)
		if (t->need[c[i].reg] != c[i].from)
			return false;
	p->state = t->state;
	return true;
}

struct memo_step *fl_memo_next(struct fl_slice *s, uint64_t place, uint32_t outcome)
{
	struct memo *m = &s->memo;
	const struct memo_step *last = &m->steps.data[m->last];

	for (int i = 0; i < 2; i++) {
		uint32_t at = last->then[i];

		if (!at || !is_step(m, &m->steps.data[at], s->at, place, outcome))
			continue;
		m->last = at;
		return &m->steps.data[at];
	}
	return NULL;
}

/* Step @p at comes behind the last one. */
static void go_on(struct memo *m, uint32_t at)
{
	struct memo_step *last = &m->steps.data[m->last];

	last->then[1] = last->then[0];
	last->then[0] = at;
	m->last = at;
}

struct memo_step *fl_memo_find(struct fl_slice *s, uint64_t place, uint32_t outcome,
			       uint64_t touched)
{
	struct memo *m = &s->memo;
	uint64_t hash = hash_mix(place, outcome);
	const uint64_t *at;

	for (uint64_t left = touched; left; left &= left - 1)
		hash = hash_mix(hash, s->at->need[__builtin_ctzll(left)]);
	at = map_get(&m->step_of, hash);
	if (!at || !is_step(m, &m->steps.data[*at], s->at, place, outcome))
		return NULL;
	go_on(m, *at);
	return &m->steps.data[*at];
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
	struct walk_thread *t = s->at;

	__builtin_prefetch(&s->memo.steps.data[p->then[0]]);
	p->tid = t->tid;
	p->at = first;
	p->addr = addr;
	for (uint32_t i = 0; i < p->n_ops && !err; i++)
		err = do_op(s, &s->memo.ops.data[p->first_op + i], mem, rec);
	for (uint32_t i = 0; i < p->n_adds && s->bits; i++) {
		const struct memo_add *a = &s->memo.adds.data[p->first_add + i];

		fl_walk_keep(s, first + a->at, a->who);
	}
	for (uint32_t i = 0; i < p->n_changed; i++) {
		const struct memo_change *c = &s->memo.changes.data[p->first_change + i];

		t->need[c->reg] = c->to;
	}
	t->any = (t->any & ~p->touched) | p->any;
	t->state += p->adds;
	if (s->threads.size > 1)
		cross(s, p);
	return err;
}

struct err *fl_memo_begin(struct fl_slice *s, uint64_t touched, struct memo_recording *r)
{
	struct memo *m = &s->memo;
	struct err *err = NULL;

	r->first_op = m->ops.size;
	r->first_add = m->adds.size;
	r->first_change = m->changes.size;
	for (uint64_t left = touched; left && !err; left &= left - 1) {
		uint32_t reg = __builtin_ctzll(left);

		err = vec_add(&m->changes,
			      (struct memo_change){ reg, s->at->need[reg], 0 });
	}
	m->recording = r;
	return err ?: leave(s, s->at, touched);
}

struct err *fl_memo_end(struct fl_slice *s, const struct memo_recording *r,
			struct memo_step step, uint64_t touched)
{
	struct memo *m = &s->memo;
	uint64_t hash = hash_mix(step.place, step.outcome);
	struct memo_change swap;
	struct err *err;

	m->recording = NULL;
	step.touched = touched;
	step.state = s->at->state;
	err = enter(s, touched);
	if (err)
		return err;
	step.adds = s->at->state - step.state;
	step.any = s->at->any & touched;
	step.first_op = r->first_op;
	step.n_ops = m->ops.size - r->first_op;
	step.first_add = r->first_add;
	step.n_adds = m->adds.size - r->first_add;
	step.first_change = r->first_change;
	step.n_changes = m->changes.size - r->first_change;
	for (size_t i = r->first_change; i < m->changes.size; i++) {
		struct memo_change *c = &m->changes.data[i];

		hash = hash_mix(hash, c->from);
		c->to = s->at->need[c->reg];
		if (c->from == c->to)
			continue;
		// Those come first.
		swap = m->changes.data[r->first_change + step.n_changed];
		m->changes.data[r->first_change + step.n_changed++] = *c;
		*c = swap;
	}
	if (map_put(&m->step_of, hash, m->steps.size))
		return &err_nomem;
	go_on(m, m->steps.size);
	return vec_add(&m->steps, step);
}
