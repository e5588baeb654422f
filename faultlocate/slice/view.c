// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/view.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "decode/symbols/frame.h"
#include "faultlocate/slice/view_moments.h"

#define NO_NUMBER (-1)

/** A view being made. */
struct making {
	const struct fl_slice *s;
	struct dec_symbols *symbols;
	struct fl_view *v;
	const char *executable;
	bool with_libraries;
	uint32_t *of_insn;     ///< its statement; FL_NONE: folded
	struct map statements; ///< a hash of a place -> index
	struct map edges;      ///< from, to, kind -> index
	struct map functions;
	struct moments moments;
};

/* The statement with key @p key, made when there is none. */
static struct err *find_statement(struct making *m, uint64_t key, uint32_t *ret,
				  bool *is_new)
{
	const uint64_t *at = map_get(&m->statements, key);

	*is_new = !at;
	*ret = at ? *at : m->v->statements.size;
	if (at)
		return NULL;
	if (!vec_push(&m->v->statements) || map_put(&m->statements, key, *ret))
		return &err_nomem;
	m->v->statements.data[*ret].number = NO_NUMBER;
	return NULL;
}

/* ---- instructions ------------------------------------------------------------------------------ */

/* Where @p rip is, if it is shown. A library's is not asked for: its debug information would be unpacked. */
static bool find_shown(const struct making *m, uint64_t rip, struct dec_place *ret)
{
	const char *module = dec_symbols_module(m->symbols, rip);
	// Without lines, the executable's own instructions.
	bool is_own = m->v->is_by_insn ?
			      module && m->executable && !strcmp(module, m->executable) :
			      dec_symbols_has_debug(m->symbols, rip);

	if (!is_own && !m->with_libraries)
		return false;
	dec_symbols_place(m->symbols, rip, ret);
	return m->with_libraries || m->v->is_by_insn || (ret->line && ret->file);
}

static struct err *place_insn(struct making *m, uint32_t i, const struct dec_insn *insn)
{
	struct dec_place place;
	struct fl_view_statement *st;
	uint64_t key, function;
	bool is_new;
	struct err *err;

	if (!find_shown(m, insn->rip, &place)) {
		m->v->n_folded++;
		return NULL;
	}
	key = place.line && place.file && !m->v->is_by_insn ?
		      (hash_text(HASH_START, place.file) ^ place.line) *
			      0x9e3779b97f4a7c15 :
		      insn->rip;
	err = find_statement(m, key, &m->of_insn[i], &is_new);
	if (err || !is_new)
		return err;
	st = &m->v->statements.data[m->of_insn[i]];
	st->place = place;
	st->rip = insn->rip;
	st->node = st->parent = FL_NONE;
	st->edge = FL_EDGE_BEGIN;
	function = place.outer ? hash_text(1, place.outer) : insn->rip - place.offset;
	if (!map_get(&m->functions, function)) {
		m->v->n_functions++;
		if (map_put(&m->functions, function, 1))
			return &err_nomem;
	}
	return NULL;
}

static struct err *place_insns(struct making *m)
{
	const struct fl_slice_insn *insn;
	uint32_t n = 0;
	struct err *err = NULL;

	while (fl_slice_insn(m->s, n))
		n++;
	m->of_insn = malloc((n + 1) * sizeof(*m->of_insn));
	if (!m->of_insn)
		return &err_nomem;
	memset(m->of_insn, 0xff, (n + 1) * sizeof(*m->of_insn));
	for (uint32_t i = 0; i < n && !err; i++) {
		insn = fl_slice_insn(m->s, i);
		m->of_insn[i] = FL_NONE;
		if (insn->n)
			err = place_insn(m, i, &insn->insn);
		if (!err && m->of_insn[i] != FL_NONE)
			m->v->statements.data[m->of_insn[i]].n += insn->n;
	}
	return err;
}

/* ---- instances ----------------------------------------------------------------------------------- */

static struct err *place_input(struct making *m, const struct fl_node *n, uint32_t *ret)
{
	uint64_t key = n->origin == FL_ORIGIN_START ?
			       0x7374617274 :
			       (n->event + 1) * 0x9e3779b97f4a7c15 ^ n->origin;
	struct fl_view_statement *st;
	bool is_new;
	struct err *err = find_statement(m, key, ret, &is_new);

	if (err)
		return err;
	st = &m->v->statements.data[*ret];
	st->n++;
	if (!is_new)
		return NULL;
	st->is_input = true;
	st->node = st->parent = FL_NONE;
	st->origin = n->origin;
	st->event = n->event;
	if (n->origin == FL_ORIGIN_WRITTEN || n->origin == FL_ORIGIN_MAPPED)
		st->number = n->number;
	return NULL;
}

static struct err *add_edge(struct making *m, uint32_t from, uint32_t to, uint8_t edge,
			    uint64_t n, bool crosses)
{
	uint64_t key = (uint64_t)from << 34 | (uint64_t)to << 4 | edge;
	const uint64_t *at = map_get(&m->edges, key);
	struct fl_view_edge *e;

	if (from == to)
		return NULL;
	if (at) {
		e = &m->v->edges.data[*at];
	} else {
		e = vec_push(&m->v->edges);
		if (!e || map_put(&m->edges, key, m->v->edges.size - 1))
			return &err_nomem;
		*e = (struct fl_view_edge){ .from = from, .to = to, .edge = edge };
	}
	e->n += n;
	e->crosses |= crosses;
	return NULL;
}

/* Node @p i is an instance of statement @p at; the closest one of another that needed it, directly or
 * through a library, is @p parent. */
static void note_instance(struct making *m, uint32_t i, uint32_t at, uint32_t parent,
			  uint8_t edge, bool is_asked)
{
	size_t n;
	const struct fl_node *node = &fl_slice_nodes(m->s, &n)[i];
	struct fl_view_statement *st = &m->v->statements.data[at];

	if (st->node == FL_NONE ||
	    (node->is_folded ? node->position > st->last : false)) {
		st->node = i;
		st->last = node->position;
		st->tid = node->tid;
		st->origin = st->is_input ? st->origin : node->origin;
		if (node->origin == FL_ORIGIN_RESULT)
			st->number = node->number;
		if (node->insn < FL_NONE)
			st->rip = fl_slice_insn(m->s, node->insn)->insn.rip;
	}
	st->first = st->first && st->first < node->position ? st->first : node->position;
	st->is_seed |= is_asked;
	if (st->parent == FL_NONE && parent != at && parent != FL_NONE) {
		st->parent = parent;
		st->edge = edge;
	}
}

/* The statement of node @p i; of what is folded, that of who needed it. */
static struct err *place_nodes(struct making *m)
{
	size_t n;
	const struct fl_node *nodes = fl_slice_nodes(m->s, &n);
	_cleanup_free_ uint32_t *of = malloc((n + 1) * sizeof(*of));
	// Of no statement; and, beside that, what a question was about.
	enum { THROUGH = 1, ASKED = 2 };
	_cleanup_free_ uint8_t *through = calloc(n + 1, 1);
	struct err *err = of && through ? NULL : &err_nomem;

	for (size_t i = 0; i < n && !err; i++) {
		const struct fl_node *node = &nodes[i];
		bool has_parent = node->parent < i;
		uint32_t parent = has_parent ? of[node->parent] : FL_NONE;
		uint32_t at = FL_NONE;
		// Asked about is also what a library did that a question was about.
		bool is_asked = node->edge == FL_EDGE_BEGIN ||
				(has_parent && through[node->parent] & ASKED);
		// What a library needed is data to whom it worked for, but for the call itself.
		uint8_t edge = has_parent && through[node->parent] &&
					       node->edge != FL_EDGE_CONTROL ?
				       FL_EDGE_DATA :
				       node->edge;

		if (node->insn < FL_NONE)
			at = m->of_insn[node->insn];
		else
			err = place_input(m, node, &at);
		of[i] = at == FL_NONE ? parent : at;
		if (at == FL_NONE)
			through[i] = is_asked ? THROUGH | ASKED : THROUGH;
		if (!err && m->v->most_moments)
			err = fl_moments_place(&m->moments, i, at, edge);
		if (err || at == FL_NONE)
			continue;
		note_instance(m, i, at, parent, edge, is_asked);
		if (parent != FL_NONE)
			err = add_edge(m, at, parent, edge, 1,
				       has_parent &&
					       node->tid != nodes[node->parent].tid);
	}
	return err;
}

/* Edges of instances for which there are no nodes any more. */
static struct err *place_edges(struct making *m)
{
	size_t n;
	const struct fl_slice_edge *edges = fl_slice_edges(m->s, &n);
	struct err *err = NULL;

	for (size_t i = 0; i < n && !err; i++) {
		uint32_t from = m->of_insn[edges[i].from], to = m->of_insn[edges[i].to];

		if (from != FL_NONE && to != FL_NONE)
			err = add_edge(m, from, to, edges[i].edge, 0, edges[i].crosses);
	}
	return err;
}

/* ---- in order --------------------------------------------------------------------------------------- */

static int latest_first(const void *a, const void *b)
{
	const struct fl_view_statement *const *x = a, *const *y = b;

	if ((*x)->is_input != (*y)->is_input)
		return (*x)->is_input ? 1 : -1;
	if ((*x)->last != (*y)->last)
		return (*x)->last > (*y)->last ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static struct err *sort(struct fl_view *v)
{
	size_t n = v->statements.size;
	_cleanup_free_ struct fl_view_statement **order = calloc(n + 1, sizeof(*order));
	_cleanup_free_ uint32_t *place = calloc(n + 1, sizeof(*place));
	struct fl_view_statement *sorted = calloc(n + 1, sizeof(*sorted));

	if (!order || !place || !sorted) {
		free(sorted);
		return &err_nomem;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = &v->statements.data[i];
	qsort(order, n, sizeof(*order), latest_first);
	for (size_t i = 0; i < n; i++) {
		sorted[i] = *order[i];
		place[order[i] - v->statements.data] = i;
	}
	for (size_t i = 0; i < n; i++)
		if (sorted[i].parent != FL_NONE)
			sorted[i].parent = place[sorted[i].parent];
	for (size_t i = 0; i < v->moments.size; i++)
		v->moments.data[i].statement = place[v->moments.data[i].statement];
	for (size_t i = 0; i < v->edges.size; i++) {
		v->edges.data[i].from = place[v->edges.data[i].from];
		v->edges.data[i].to = place[v->edges.data[i].to];
	}
	free(v->statements.data);
	v->statements.data = sorted;
	v->statements.capacity = n + 1;
	return NULL;
}

struct err *fl_view_make(const struct fl_slice *s, struct dec_symbols *symbols,
			 const char *executable, bool with_libraries, struct fl_view *v)
{
	struct making m = { .s = s,
			    .symbols = symbols,
			    .v = v,
			    .executable = executable,
			    .with_libraries = with_libraries };
	struct err *err;

	v->is_by_insn = !dec_symbols_has_debug(symbols, 0);
	err = place_insns(&m);
	if (!err && v->most_moments)
		err = fl_moments_init(&m.moments, s);
	if (!err)
		err = place_nodes(&m);
	if (!err)
		err = place_edges(&m);
	if (!err && v->most_moments)
		err = fl_moments_keep(&m.moments, v);
	if (!err)
		err = sort(v);
	free(m.of_insn);
	map_deinit(&m.statements);
	map_deinit(&m.edges);
	map_deinit(&m.functions);
	fl_moments_deinit(&m.moments);
	return err;
}

void fl_view_deinit(struct fl_view *v)
{
	vec_deinit(&v->statements);
	vec_deinit(&v->edges);
	vec_deinit(&v->moments);
	vec_deinit(&v->shares);
}

/* ---- values ------------------------------------------------------------------------------------------- */

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct err *err = dec_machine_read(ctx, addr, buf, size);
	bool is_read = !err;

	err_destroy(err);
	return is_read;
}

/* What is at the node's place is called, where the machine stands behind it. A variable may live there
 * from the next instruction on. */
static void name_place(struct fl_view_made *made, const struct fl_node *node,
		       const struct dec_insn *insn, struct dec_machine *m,
		       struct dec_symbols *symbols)
{
	struct dec_frame frame = { .read = read_memory, .ctx = m };
	struct dec_spot spot = { .is_mem = node->is_mem,
				 .reg = node->reg,
				 .addr = node->addr };
	char name[DEC_NAME_BYTES], reg[DEC_REG_NAME];
	bool has_name = false;
	struct cap_regs regs;
	struct dec_type type;
	struct err *err = dec_machine_regs(m, &regs);

	if (!err && (node->is_mem || node->reg < CAP_GPRS)) {
		memcpy(frame.gpr, regs.gpr, sizeof(frame.gpr));
		for (int behind = 0; behind < 2 && insn && !has_name; behind++) {
			frame.rip = insn->rip + behind * insn->len;
			has_name =
				dec_symbols_variable(symbols, &frame, &spot, name, &type);
		}
	}
	err_destroy(err);
	if (has_name)
		snprintf(made->name, sizeof(made->name), "%s", name);
	else if (node->is_mem)
		snprintf(made->name, sizeof(made->name), "[%#lx]", node->addr);
	else
		snprintf(made->name, sizeof(made->name), "%s",
			 dec_reg_name(node->reg, reg));
}

static struct err *look(struct fl_view_made *made, const struct fl_slice *s,
			const struct fl_node *node, struct dec_machine *m,
			struct dec_symbols *symbols)
{
	const struct dec_insn *insn =
		node->insn < FL_NONE ? &fl_slice_insn(s, node->insn)->insn : NULL;
	uint8_t value[160] = {};
	size_t n = sizeof(made->value);
	struct dec_where w;
	struct err *err = dec_machine_seek(m, node->position + 1, &w);

	if (err)
		return err;
	made->is_branch = insn &&
			  (insn->flow == DEC_FLOW_JCC || insn->flow == DEC_FLOW_JRCX);
	made->is_taken = made->is_branch && w.rip == insn->target;
	if (!node->size || made->is_branch)
		return NULL;
	made->bytes = node->size < 8 ? node->size : 8;
	if (node->is_mem)
		err = dec_machine_read(m, node->addr, value, made->bytes);
	else
		err = dec_machine_thread_reg(m, node->tid, node->reg, value, &n);
	// It may be gone by now: unmapped, or the thread ended.
	made->has_value = !err &&
			  (node->is_mem || node->reg < DEC_GPRS ||
			   (node->reg >= DEC_REG_VEC && node->reg < DEC_REG_FLAGS));
	err_destroy(err);
	memcpy(&made->value, value, made->bytes);
	name_place(made, node, insn, m, symbols);
	return NULL;
}

/** Where somebody is to look. */
struct looking {
	struct fl_view_made *made;
	const struct fl_node *node;
};

static int by_position(const void *a, const void *b)
{
	const struct looking *x = a, *y = b;

	return (x->node->position > y->node->position) -
	       (x->node->position < y->node->position);
}

struct err *fl_view_look(struct fl_view *v, const struct fl_slice *s, struct fl_trace *t,
			 struct dec_symbols *symbols, size_t max)
{
	size_t n_nodes,
		n = 0, n_statements = v->statements.size < max ? v->statements.size : max;
	const struct fl_node *nodes = fl_slice_nodes(s, &n_nodes);
	_cleanup_free_ struct looking *order =
		calloc(n_statements + v->moments.size + 1, sizeof(*order));
	struct err *err = order ? NULL : &err_nomem;

	for (size_t i = 0; i < n_statements && !err; i++) {
		struct fl_view_statement *st = &v->statements.data[i];

		if (st->node != FL_NONE && !st->is_input)
			order[n++] = (struct looking){ &st->made, &nodes[st->node] };
	}
	for (size_t i = 0; i < v->moments.size && !err; i++) {
		struct fl_view_moment *at = &v->moments.data[i];

		if (nodes[at->node].insn < FL_NONE)
			order[n++] = (struct looking){ &at->made, &nodes[at->node] };
	}
	// One way forward.
	if (!err)
		qsort(order, n, sizeof(*order), by_position);
	for (size_t i = 0; i < n && !err; i++)
		if (order[i].node->position < fl_trace_end(t)->position)
			err = look(order[i].made, s, order[i].node, fl_trace_machine(t),
				   symbols);
	return err;
}
