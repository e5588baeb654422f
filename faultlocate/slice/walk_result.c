// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is found on the way back, and asked for afterwards.
 */

#include "faultlocate/slice/walk.h"

#include <string.h>

/* ---- instances --------------------------------------------------------------------------- */

struct err *fl_walk_window(struct fl_slice *s, uint64_t begin, uint64_t end)
{
	size_t words = ((end - begin) * s->n + 63) / 64;

	if (!s->options.keeps_instances)
		return NULL;
	if (s->n_kept == s->kept_capacity) {
		size_t capacity = s->kept_capacity ? 2 * s->kept_capacity : 16;
		void *p = realloc(s->kept, capacity * sizeof(*s->kept));

		if (!p)
			return &err_nomem;
		s->kept = p;
		s->kept_capacity = capacity;
	}
	s->bits = calloc(words, sizeof(*s->bits));
	if (!s->bits)
		return &err_nomem;
	s->kept[s->n_kept].begin = s->bits_begin = begin;
	s->kept[s->n_kept].end = s->bits_end = end;
	s->kept[s->n_kept++].bits = s->bits;
	return NULL;
}

void fl_walk_keep(struct fl_slice *s, uint64_t position, live_who who)
{
	uint64_t at = (position - s->bits_begin) * s->n;

	if (position < s->bits_begin || position >= s->bits_end)
		return;
	for (; who; who &= who - 1) {
		uint64_t bit = at + __builtin_ctz(who);

		s->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

bool fl_slice_has(const struct fl_slice *s, uint64_t position, unsigned slice)
{
	// Windows come latest first.
	size_t i = vec_rank(s->n_kept, k, s->kept[k].begin > position);

	if (i == s->n_kept || position >= s->kept[i].end || slice >= s->n)
		return false;
	position = (position - s->kept[i].begin) * s->n + slice;
	return s->kept[i].bits[position / 64] >> position % 64 & 1;
}

/* ---- instructions and edges ------------------------------------------------------------------ */

/* Know of all instructions that the trace knows. */
static struct err *grow(struct fl_slice *s)
{
	size_t n = s->trace->insns.size;

	if (vec_reserve(&s->insns, n) || vec_reserve(&s->folded, n) ||
	    vec_reserve(&s->recent, n) ||
	    (s->has_several && vec_reserve(&s->counts, n * s->n)))
		return &err_nomem;
	for (size_t i = s->insns.size; i < n; i++) {
		s->insns.data[i] =
			(struct fl_slice_insn){ .insn = s->trace->insns.data[i].insn,
						.node = FL_NONE };
		s->folded.data[i] = FL_NONE;
		s->recent.data[i] =
			(struct walk_recent){ { UINT32_MAX, UINT32_MAX }, {} };
	}
	if (s->has_several)
		memset(s->counts.data + s->insns.size * s->n, 0,
		       (n - s->insns.size) * s->n * sizeof(*s->counts.data));
	s->insns.size = s->folded.size = s->recent.size = n;
	s->counts.size = s->has_several ? n * s->n : 0;
	return NULL;
}

void fl_walk_count(struct fl_slice *s, uint32_t insn, uint32_t edge, live_who who,
		   uint64_t n)
{
	s->insns.data[insn].n += n;
	s->stats.n_instances += n;
	if (edge != FL_NONE)
		s->edges.data[edge].n += n;
	for (; s->has_several && who; who &= who - 1)
		s->counts.data[(size_t)insn * s->n + __builtin_ctz(who)] += n;
}

static struct err *count(struct fl_slice *s, uint32_t insn, live_who who, uint32_t node)
{
	struct err *err = insn < s->insns.size ? NULL : grow(s);

	if (err)
		return err;
	if (!s->insns.data[insn].n) {
		s->insns.data[insn].node = node;
		s->stats.n_insns++;
	}
	fl_walk_count(s, insn, FL_NONE, who, 1);
	return NULL;
}

/* The edge from instruction @p from to @p to, which is known from before, or made. */
static struct err *find_edge(struct fl_slice *s, const struct fl_node *from,
			     const struct fl_node *to, unsigned edge, uint32_t *ret)
{
	uint64_t key = (uint64_t)from->insn << 32 | to->insn << 2 | edge;
	const uint64_t *at = map_get(&s->edge_of, key);

	*ret = at ? *at : s->edges.size;
	if (at)
		return NULL;
	if (map_put(&s->edge_of, key, s->edges.size))
		return &err_nomem;
	return vec_add(&s->edges, (struct fl_slice_edge){ .from = from->insn,
							  .to = to->insn,
							  .edge = edge,
							  .from_at = from->position,
							  .to_at = to->position });
}

static struct err *add_edge(struct fl_slice *s, const struct fl_node *from,
			    const struct fl_node *to, unsigned edge, uint32_t *ret)
{
	struct walk_recent *recent = &s->recent.data[from->insn];
	uint32_t key = to->insn << 2 | edge, at = recent->edge[0];
	struct err *err = NULL;

	if (recent->key[0] != key) {
		at = recent->edge[1];
		if (recent->key[1] != key)
			err = find_edge(s, from, to, edge, &at);
		recent->key[1] = recent->key[0];
		recent->edge[1] = recent->edge[0];
		recent->key[0] = key;
		recent->edge[0] = at;
	}
	if (err)
		return err;
	*ret = at;
	s->edges.data[at].n++;
	s->edges.data[at].crosses |= from->tid != to->tid;
	return NULL;
}

/* The node that is made for one more instance of @p insn. */
static struct err *place(struct fl_slice *s, uint32_t insn, uint32_t *ret,
			 bool *is_folded)
{
	struct fl_node *made;
	uint32_t *folded = insn < s->folded.size ? &s->folded.data[insn] : NULL;

	*is_folded = s->nodes.size >= s->max_nodes;
	if (*is_folded && folded && *folded != FL_NONE) {
		*ret = *folded;
		return NULL;
	}
	made = vec_push(&s->nodes);
	if (!made || s->nodes.size >= FL_NONE)
		return &err_nomem;
	*ret = s->nodes.size - 1;
	if (*is_folded && folded)
		*folded = *ret;
	return NULL;
}

struct err *fl_walk_add(struct fl_slice *s, const struct fl_node *node, live_who who,
			uint32_t link, uint32_t *ret)
{
	bool is_folded, is_insn = node->insn < FL_NONE;
	struct err *err = is_insn && node->insn >= s->folded.size ? grow(s) : NULL;
	uint32_t at = FL_NONE;
	struct fl_node *to;

	if (!err)
		err = place(s, node->insn, ret, &is_folded);
	if (err)
		return err;
	to = &s->nodes.data[*ret];
	*to = *node;
	to->parent = link_node(link);
	to->edge = to->parent == FL_NONE ? FL_EDGE_BEGIN : link_edge(link);
	to->is_folded = is_folded;
	to->tid = node->tid ?: s->at->tid;
	err = fl_share_tell(s, *ret);
	if (err || !is_insn)
		return err;
	if (to->parent < s->nodes.size && s->nodes.data[to->parent].insn < FL_NONE)
		err = add_edge(s, to, &s->nodes.data[to->parent], to->edge, &at);
	if (s->bits)
		fl_walk_keep(s, node->position, who);
	if (!err && s->memo.recording)
		err = fl_memo_add(s, *ret, at, who);
	return err ?: count(s, node->insn, who, *ret);
}

/* ---- asking ------------------------------------------------------------------------------------- */

const struct fl_node *fl_slice_nodes(const struct fl_slice *s, size_t *n)
{
	*n = s->nodes.size;
	return s->nodes.data;
}

const struct fl_slice_insn *fl_slice_insn(const struct fl_slice *s, uint32_t i)
{
	return i < s->insns.size ? &s->insns.data[i] : NULL;
}

uint64_t fl_slice_count(const struct fl_slice *s, uint32_t i, unsigned slice)
{
	if (i >= s->insns.size || slice >= s->n)
		return 0;
	return s->has_several ? s->counts.data[(size_t)i * s->n + slice] :
				s->insns.data[i].n;
}

const struct fl_slice_edge *fl_slice_edges(const struct fl_slice *s, size_t *n)
{
	*n = s->edges.size;
	return s->edges.data;
}

const struct fl_slice_stats *fl_slice_stats(const struct fl_slice *s)
{
	return &s->stats;
}

const char *fl_edge_name(enum fl_edge edge)
{
	static const char *const name[] = { "data", "address", "control", "criterion" };

	return name[edge];
}

const char *fl_origin_name(enum fl_origin origin)
{
	static const char *const name[] = { "instruction",
					    "result of a system call",
					    "written by a system call",
					    "mapped memory",
					    "signal",
					    "processor",
					    "initial contents" };

	return name[origin];
}
