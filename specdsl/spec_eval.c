// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What an expression is worth when its variables stand for nodes. An atom that reads
 * through NULL or a wild pointer, divides by zero or meets a cycle of attributes is false,
 * whatever its operator: then a guard does not apply and a body is violated.
 *
 * While arguments are collected (sc->args), every part is evaluated, so that the list has
 * the same shape at every position of the view.
 */
#include <math.h>
#include <string.h>

#include "specdsl/spec_eval.h"

// What depends on more than this is said to depend on everything.
#define DEPS_MAX 256

// A repeated dependency does no harm; the last few are what loops repeat.
#define DEPS_RECENT 8

/* ---- arguments and dependencies ---------------------------------------------------------- */

void spec_eval_add_arg(struct scope *sc, bool is_absent, uint64_t value, bool is_derived)
{
	struct spec_arg *a;

	if (!sc->args)
		return;
	a = vec_push(&sc->args->args);
	if (a)
		*a = (struct spec_arg){ .is_derived = is_derived,
					.is_absent = is_absent,
					.value = is_absent ? 0 : value };
	else
		sc->e->is_out_of_memory = true;
}

/** Let what @p d says of bytes hold for @p with, too. @return false when it does not say
 * anything of these. */
static bool merge_bytes(struct spec_bytes *d, const struct spec_bytes *with)
{
	if (!d->size || !with->size) { // all of them
		d->size = 0;
		return true;
	}
	if (d->offset != with->offset || d->size != with->size ||
	    d->is_signed != with->is_signed)
		return false;
	// No change is harmless to both, but those in both ranges.
	if (with->least > with->most || with->least > d->least)
		d->least = with->least;
	if (with->least > with->most || with->most < d->most)
		d->most = with->most;
	return true;
}

void spec_eval_add_any_dep(struct scope *sc, struct spec_dep dep)
{
	struct spec_dep *all = sc->deps ? sc->deps->deps.data : NULL, *d;
	size_t n = sc->deps ? sc->deps->deps.size : 0;

	if (!sc->deps || (n && all[0].kind == SPEC_DEP_ALL))
		return;
	if (dep.kind == SPEC_DEP_ALL || n >= DEPS_MAX) {
		n = sc->deps->deps.size = 0;
		dep = (struct spec_dep){ .kind = SPEC_DEP_ALL };
	}
	for (size_t i = n > DEPS_RECENT ? n - DEPS_RECENT : 0; i < n; i++)
		if (all[i].kind == dep.kind && all[i].node.v == dep.node.v &&
		    all[i].attr == dep.attr && merge_bytes(&all[i].bytes, &dep.bytes))
			return;
	d = vec_push(&sc->deps->deps);
	if (d)
		*d = dep;
	else
		sc->e->is_out_of_memory = true;
}

void spec_eval_add_dep(struct scope *sc, enum spec_dep_kind kind, struct hg_node_id node)
{
	spec_eval_add_any_dep(sc, (struct spec_dep){ .kind = kind, .node = node });
}

void spec_eval_add_attr_dep(struct scope *sc, uint32_t attr, struct hg_node_id node)
{
	spec_eval_add_any_dep(sc, (struct spec_dep){ .kind = SPEC_DEP_ATTR,
						     .node = node,
						     .attr = attr });
}

static void add_number_arg(struct scope *sc, struct value v, bool is_derived)
{
	uint64_t bits = (uint64_t)v.i;

	if (v.kind == VALUE_REAL)
		memcpy(&bits, &v.real, sizeof(bits));
	spec_eval_add_arg(sc, v.kind == VALUE_NONE, bits, is_derived);
}

/* ---- fields ------------------------------------------------------------------------------- */

/** @return the type of @p node in the spec, or NULL. */
static const struct spec_type *type_of(const struct spec_eval *e, struct hg_node_id node,
				       uint32_t *index)
{
	uint32_t type = hg_graph_node(e->g, node)->type;

	if (!type || type > e->s->types.size)
		return NULL;
	*index = type - 1;
	return &e->s->types.data[type - 1];
}

/** The indices in the name of @p n; all are evaluated, they may be made of arguments. */
static void eval_steps(struct scope *sc, const struct ast *n, struct value *ret)
{
	if (!n->n_steps)
		return;
	eval_steps(sc, n->a, ret);
	if (n->is_step)
		ret[n->n_steps - 1] = spec_eval_number(sc, n->b);
}

/** @return the number (from 1) of the field that @p n is on nodes of type @p type, the
 * indices in it being worth @p index; 0 when it is none. */
static uint64_t field_number(const struct ast *n, uint32_t type,
			     const struct value *index)
{
	const struct ast_meaning *m = n->by_type ? &n->by_type[type] : NULL;
	uint64_t ret = m ? m->field : 0;

	if (!m)
		return index->kind != VALUE_INT || index->i < 0 || index->i > UINT32_MAX ?
			       0 :
			       index->i;
	for (uint32_t k = 0; k < n->n_steps && ret; k++) {
		if (index[k].kind != VALUE_INT || index[k].i < 0 ||
		    index[k].i >= m->steps[k].run)
			return 0;
		ret += (uint64_t)index[k].i * m->steps[k].stride;
	}
	return ret;
}

struct value spec_eval_decode_field(const struct dec_field *f, uint64_t raw)
{
	unsigned bits = f->bit_size ? f->bit_size : f->size * 8;

	if (f->is_float && f->size == 4) {
		float single;

		memcpy(&single, &raw, sizeof(single));
		return value_real(single);
	}
	if (f->is_float) {
		double real;

		memcpy(&real, &raw, sizeof(real));
		return value_real(real);
	}
	raw >>= f->bit_offset;
	if (bits < 64) {
		raw &= (UINT64_C(1) << bits) - 1;
		if (f->is_signed && raw >> (bits - 1))
			raw |= ~UINT64_C(0) << bits;
	}
	return f->is_signed ? value_int((int64_t)raw) : value_int(raw);
}

/** Only whole elements of an array have pointers that count as edges. */
static bool is_in_whole_element(const struct spec_eval *e, struct hg_node_id node,
				const struct spec_type *t, uint64_t offset)
{
	uint64_t element = t->layout ? t->layout->size : 0;

	return element && offset < hg_graph_node(e->g, node)->size / element * element;
}

/** Field @p f of @p node was read as @p n and is worth @p value. */
static void add_field_dep(struct scope *sc, const struct ast *n, struct hg_node_id node,
			  const struct dec_field *f, struct value value)
{
	struct spec_dep dep = { .kind = SPEC_DEP_NODE, .node = node };

	if (f->offset <= UINT32_MAX)
		dep.bytes = (struct spec_bytes){ f->offset, f->size, f->is_signed, 1, 0 };
	if (n != sc->ranged) {
		spec_eval_add_any_dep(sc, dep);
		return;
	}
	sc->ranged_dep = dep;
	sc->ranged_value = f->bit_size ? value_none : value;
}

void spec_eval_add_read(struct scope *sc, struct hg_node_id node, uint32_t offset,
			uint32_t size)
{
	struct spec_read read = { node, offset, size };

	if (sc->reads && vec_add(&sc->reads->reads, read))
		sc->e->is_out_of_memory = true;
	if (sc->e->on_read)
		sc->e->on_read(sc->e->on_read_ctx, &read);
}

bool spec_eval_place(struct scope *sc, const struct ast *n, struct hg_node_id *node,
		     struct dec_field *f)
{
	struct vertex v = spec_eval_vertex(sc, n->base);
	struct value index[SPEC_MAX_INDICES] = {};
	const struct spec_type *t;
	uint32_t type;

	// Also when there is no node to read: the index may be made of arguments.
	if (n->kind == AST_FIELD && !n->by_type)
		*index = spec_eval_number(sc, n->b);
	else
		eval_steps(sc, n, index);
	if (v.kind != VERTEX_NODE)
		return false;
	t = type_of(sc->e, v.node, &type);
	if (!t || !hg_view_is_live(sc->e->v, v.node))
		return false;
	*node = v.node;
	if (spec_field_at(t, field_number(n, type, index), f) &&
	    (uint64_t)f->offset + f->size <= hg_graph_node(sc->e->g, v.node)->size)
		return true;
	spec_eval_add_dep(sc, SPEC_DEP_NODE, v.node);
	return false;
}

/** The value of field @p n (AST_FIELD, AST_NAMED) of its vertex. */
static struct value read_field(struct scope *sc, const struct ast *n)
{
	const struct spec_type *t;
	struct hg_node_id node;
	struct value value;
	struct dec_field f;
	uint64_t raw = 0;
	uint32_t type;

	if (!spec_eval_place(sc, n, &node, &f))
		return spec_eval_unreadable(sc);
	if (!f.size || f.size > 8 || (f.is_float && f.size != 4 && f.size != 8) ||
	    !hg_view_read(sc->e->v, node, f.offset, f.size, &raw)) {
		spec_eval_add_dep(sc, SPEC_DEP_NODE, node);
		return spec_eval_unreadable(sc);
	}
	value = spec_eval_decode_field(&f, raw);
	if (sc->deps)
		add_field_dep(sc, n, node, &f, value);
	spec_eval_add_read(sc, node, f.offset, f.size);
	t = type_of(sc->e, node, &type);
	sc->is_pointer = f.is_pointer && f.size == 8 &&
			 (!t->is_array || is_in_whole_element(sc->e, node, t, f.offset));
	sc->read_node = node;
	sc->read_offset = f.offset;
	return value;
}

struct vertex spec_eval_vertex(struct scope *sc, const struct ast *n)
{
	struct vertex v = { .kind = VERTEX_NONE };
	struct value address;

	if (n->kind == AST_VAR) {
		v.node = sc->nodes[n->number];
		v.kind = v.node.v ? VERTEX_NODE : VERTEX_NONE;
		return v;
	}
	if (n->kind == AST_NULL) {
		v.kind = VERTEX_NULL;
		return v;
	}
	address = read_field(sc, n);
	if (address.kind != VALUE_INT)
		return v;
	// What a pointer leads to is told of with its node; of other fields that is not known.
	if (!sc->is_pointer)
		spec_eval_add_dep(sc, SPEC_DEP_ALL, (struct hg_node_id){ 0 });
	v.addr = (uint64_t)address.i;
	v.kind = VERTEX_NULL;
	if (!v.addr)
		return v;
	if (!sc->is_pointer || !spec_edges_target(&sc->e->edges, sc->read_node,
						  sc->read_offset, v.addr, &v.node))
		v.node = hg_view_find(sc->e->v, v.addr);
	v.kind = v.node.v ? VERTEX_NODE : VERTEX_WILD;
	return v;
}

/* ---- standard attributes (paper 001, Table 2.1) -------------------------------------------- */

static bool standard_value(const struct edge_node *n, enum ast_attr attr, uint32_t *ret)
{
	switch (attr) {
	case ATTR_INDEGREE:
		*ret = n->in;
		return true;
	case ATTR_OUTDEGREE:
		*ret = n->out;
		return true;
	case ATTR_EXTERNAL:
		*ret = !n->out || !n->in;
		return true;
	case ATTR_INTERNAL:
		*ret = n->out && n->in;
		return true;
	case ATTR_ISROOT:
		*ret = !n->in;
		return true;
	case ATTR_ISLEAF:
		*ret = !n->out;
		return true;
	}
	return false;
}

static struct value eval_standard(struct scope *sc, const struct ast *n)
{
	struct vertex v = spec_eval_vertex(sc, n->a);
	const struct edge_node *node;
	uint32_t value = 0;

	node = v.kind == VERTEX_NODE ? spec_edges_node(&sc->e->edges, v.node) : NULL;
	if (!node || !standard_value(node, n->attr, &value))
		return spec_eval_unreadable(sc);
	if (n->attr != ATTR_OUTDEGREE && n->attr != ATTR_ISLEAF)
		spec_eval_add_dep(sc, SPEC_DEP_INTO, v.node);
	if (n->attr != ATTR_INDEGREE && n->attr != ATTR_ISROOT)
		spec_eval_add_dep(sc, SPEC_DEP_NODE, v.node);
	return value_int(value);
}

/* ---- numbers ----------------------------------------------------------------------------- */

static struct value eval_conditional(struct scope *sc, const struct ast *n)
{
	bool is_true = spec_eval_condition(sc, n->a);
	struct value b = value_none, c = value_none;

	if (sc->needs_attr)
		return value_none; // which branch counts is not known yet
	if (sc->args || is_true)
		b = spec_eval_number(sc, n->b);
	if (sc->args || !is_true)
		c = spec_eval_number(sc, n->c);
	return is_true ? b : c;
}

/** `&X`, `&X.link`: where it lies. As long as the node is there it stays there. */
static struct value eval_address(struct scope *sc, const struct ast *n)
{
	struct spec_dep life = { .kind = SPEC_DEP_NODE,
				 .bytes = { .size = 1, .most = UINT64_MAX } };
	struct spec_args *args = sc->args;
	struct dec_field f = {};
	bool is_there;

	if (n->a->kind == AST_VAR) {
		life.node = sc->nodes[n->a->number];
		is_there = life.node.v && hg_view_is_live(sc->e->v, life.node);
	} else {
		// The address is the argument; pointers on the way to it are not.
		sc->args = NULL;
		is_there = spec_eval_place(sc, n->a, &life.node, &f) && !f.bit_size;
		sc->args = args;
	}
	if (!is_there)
		return spec_eval_unreadable(sc);
	spec_eval_add_any_dep(sc, life);
	return value_int((__int128)hg_graph_node(sc->e->g, life.node)->start + f.offset);
}

static struct value eval_named(struct scope *sc, const struct ast *n)
{
	if (n->kind == AST_NAMED && n->user_attr >= 0)
		return spec_eval_user_attr(sc, n->user_attr,
					   spec_eval_vertex(sc, n->base));
	return read_field(sc, n);
}

struct value spec_eval_number(struct scope *sc, const struct ast *n)
{
	struct value v;

	switch (n->kind) {
	case AST_NUMBER:
		return value_int(n->number);
	case AST_NULL:
		return value_int(0);
	case AST_INDEX:
		return value_int(sc->index);
	case AST_FIELD:
	case AST_NAMED:
		v = eval_named(sc, n);
		add_number_arg(sc, v, n->kind == AST_NAMED && n->user_attr >= 0);
		return v;
	case AST_STANDARD:
		v = eval_standard(sc, n);
		add_number_arg(sc, v, true);
		if (sc->args && sc->args->args.size)
			sc->args->args.data[sc->args->args.size - 1].is_degree = true;
		return v;
	case AST_ADDRESS:
		v = eval_address(sc, n);
		add_number_arg(sc, v, false);
		return v;
	case AST_INVERT:
		// -v - 1, also where v has no positive twin.
		v = spec_eval_calculate(sc, AST_SUB, value_int(0),
					spec_eval_number(sc, n->a));
		return spec_eval_calculate(sc, AST_SUB, v, value_int(1));
	case AST_NEGATE:
		return spec_eval_calculate(sc, AST_SUB, value_int(0),
					   spec_eval_number(sc, n->a));
	case AST_ABS:
		v = spec_eval_number(sc, n->a);
		if (v.kind == VALUE_REAL)
			return value_real(fabs(v.real));
		return v.i < 0 ? spec_eval_calculate(sc, AST_SUB, value_int(0), v) : v;
	case AST_COND:
		return eval_conditional(sc, n);
	default:
		// Operands in the order of the text: arguments are collected on the way.
		v = spec_eval_number(sc, n->a);
		return spec_eval_calculate(sc, n->kind, v, spec_eval_number(sc, n->b));
	}
}
