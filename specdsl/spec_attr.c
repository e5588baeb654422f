// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * User-defined attributes (paper 001, section 2.3): a recursion over the nodes, computed
 * without recursion of ours, since a list may be a million nodes deep. A task that needs
 * an attribute not known yet is left on the stack, the needed one goes on top of it, and
 * it starts again when that is done. A task that needs one that was started below it has
 * met a cycle: neither has a value.
 */
#include <string.h>

#include "specdsl/spec_eval.h"

static uint64_t memo_key(struct attr_task t)
{
	return (uint64_t)t.attr << 32 | t.node.v;
}

static struct memo *find_any_memo(struct spec_eval *e, struct attr_task t)
{
	const uint64_t *i = map_get(&e->memo_of, memo_key(t));

	return i ? &e->memos.data[*i] : NULL;
}

struct memo *spec_eval_find_memo(struct spec_eval *e, struct attr_task t)
{
	struct memo *m = find_any_memo(e, t);

	return m && m->state != MEMO_STALE ? m : NULL;
}

/** Enter a memo of @p t. @return NULL when memory is out. */
static struct memo *add_memo(struct spec_eval *e, struct attr_task t)
{
	uint32_t i = e->memos.size, result = 0;

	if (vec_reserve(&e->free_memos, e->memos.size + 1))
		return NULL; // spec_eval_drop_memos_of() must not fail
	if (e->track.is_on && spec_track_new(&e->track, TRACK_MEMO, i, &result))
		return NULL;
	if (e->free_memos.size)
		i = e->free_memos.data[e->free_memos.size - 1];
	if ((i == e->memos.size && !vec_push(&e->memos)) ||
	    map_put(&e->memo_of, memo_key(t), i)) {
		spec_track_free(e, result);
		return NULL;
	}
	e->free_memos.size -= e->free_memos.size > 0;
	if (result)
		e->track.results.data[result].owner = i;
	e->memos.data[i] = (struct memo){ .result = result };
	return &e->memos.data[i];
}

static struct memo *start_memo(struct spec_eval *e, struct attr_task t)
{
	struct memo *m = find_any_memo(e, t);

	if (!m)
		m = add_memo(e, t);
	if (m)
		m->state = MEMO_STARTED;
	e->is_out_of_memory |= !m;
	return m;
}

void spec_eval_drop_memos(struct spec_eval *e)
{
	for (size_t i = 0; i < e->memo_of.capacity; i++)
		if (e->memo_of.slots[i].key != MAP_EMPTY_KEY)
			spec_track_free(e,
					e->memos.data[e->memo_of.slots[i].value].result);
	map_deinit(&e->memo_of);
	e->memos.size = e->free_memos.size = 0;
}

void spec_eval_drop_memos_of(struct spec_eval *e, struct hg_node_id node)
{
	for (size_t i = 0; i < e->s->attrs.size; i++) {
		struct attr_task t = { .attr = i, .node = node };
		struct memo *m = find_any_memo(e, t);

		if (!m)
			continue;
		spec_track_free(e, m->result);
		map_remove(&e->memo_of, memo_key(t));
		e->free_memos.data[e->free_memos.size++] = m - e->memos.data;
	}
}

static void push_task(struct spec_eval *e, struct attr_task t)
{
	struct attr_task *new = vec_push(&e->tasks);

	if (new)
		*new = t;
	e->is_out_of_memory |= !new;
}

/** Evaluate the rule of @p t once. @return whether it is done; else tasks has grown. */
static bool run_task(struct spec_eval *e, struct attr_task t)
{
	const struct spec_attr *a = &e->s->attrs.data[t.attr];
	struct scope sc = { .e = e,
			    .is_in_attr = true,
			    .deps = e->track.is_on ? &e->attr_deps : NULL,
			    .reads = e->attr_reads };
	struct value v;
	bool is_end;
	struct memo *m;

	if (!start_memo(e, t))
		return true;
	e->attr_deps.deps.size = 0;
	sc.nodes[0] = t.node;
	is_end = a->guard && spec_eval_condition(&sc, a->guard);
	if (!sc.needs_attr)
		v = spec_eval_number(&sc, is_end ? a->terminal : a->nonterminal);
	if (sc.needs_attr)
		return false;
	m = find_any_memo(e, t);
	m->state = MEMO_DONE;
	m->is_cyclic = sc.is_cyclic;
	m->value = sc.is_cyclic ? (struct value){ .kind = VALUE_NONE } : v;
	if (m->result && spec_track_set(e, m->result, &e->attr_deps))
		e->is_out_of_memory = true;
	return true;
}

static void run_tasks(struct spec_eval *e)
{
	while (e->tasks.size && !e->is_out_of_memory) {
		struct attr_task t = e->tasks.data[e->tasks.size - 1];
		const struct memo *m = spec_eval_find_memo(e, t);

		// Asked for twice before it was computed once.
		if ((m && m->state == MEMO_DONE) || run_task(e, t))
			e->tasks.size--;
	}
	e->tasks.size = 0;
	// Those that were started would look like a cycle the next time.
	if (e->is_out_of_memory)
		spec_eval_drop_memos(e);
}

/** The attribute called as attribute @p attr, of nodes of type @p type; -1 for none. */
static int attr_of_type(const struct spec *s, int attr, uint32_t type)
{
	const struct spec_attr *all = s->attrs.data;

	if (spec_type_is(s, type, all[attr].type))
		return attr;
	for (size_t i = 0; i < s->attrs.size; i++)
		if (spec_type_is(s, type, all[i].type) &&
		    !strcmp(all[i].name, all[attr].name))
			return (int)i;
	return -1;
}

struct value spec_eval_user_attr(struct scope *sc, int attr, struct vertex v)
{
	struct value none = { .kind = VALUE_NONE };
	const struct edge_node *node;
	struct attr_task t;
	struct memo *m;

	if (sc->needs_attr)
		return none; // it will be asked again: whether for this one is not known yet
	if (v.kind == VERTEX_NULL)
		return (struct value){ .kind = VALUE_INT,
				       .i = sc->e->s->attrs.data[attr].null_value };
	node = v.kind == VERTEX_NODE ? spec_edges_node(&sc->e->edges, v.node) : NULL;
	attr = node ? attr_of_type(sc->e->s, attr, node->type) : -1;
	if (attr < 0) {
		sc->is_unreadable = true;
		return none;
	}
	spec_eval_add_attr_dep(sc, attr, v.node);
	t = (struct attr_task){ .attr = attr, .node = v.node };
	m = spec_eval_find_memo(sc->e, t);
	if (!m && !sc->is_in_attr) {
		push_task(sc->e, t);
		run_tasks(sc->e);
		m = spec_eval_find_memo(sc->e, t);
	}
	if (!m && !sc->e->is_out_of_memory) {
		push_task(sc->e, t);
		sc->needs_attr = true;
	}
	if (!m)
		return none;
	// Started and not done is a task below this one.
	sc->is_cyclic |= m->state == MEMO_STARTED || m->is_cyclic;
	return m->state == MEMO_DONE ? m->value : none;
}
