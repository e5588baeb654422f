// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_whatif.h"

#include "faultlocate/fl_pending.h"

// What is larger is not made anew.
#define NODES_MAX 1000000
#define BYTES_MAX (256u << 20)
// Of so many violations it is asked how they went away.
#define MENDED_MAX 16

/** The heap made anew. Its nodes are born in the order of the old ones, with other numbers. */
struct anew {
	const struct fl_whatif *in;
	struct hg_graph *g;
	struct map new_of;    ///< old node -> new node
	VEC(uint32_t) old_of; ///< of new node: index is its number - 1
	uint64_t n_base;      ///< operations before the first alteration
	struct hg_view *view;
	struct spec_eval *eval;
	struct spec_checker *checker;
	struct fl_pendings base; ///< violations there without the alterations
	spec_violations found;	 ///< scratch
};

static void anew_deinit(struct anew *a)
{
	spec_checker_destroy(a->checker);
	spec_eval_destroy(a->eval);
	hg_view_destroy(a->view);
	hg_graph_destroy(a->g);
	map_deinit(&a->new_of);
	vec_deinit(&a->old_of);
	fl_pendings_deinit(&a->base);
	vec_deinit(&a->found);
}

/* ---- the heap --------------------------------------------------------------------------- */

bool fl_whatif_is_feasible(const struct fl_whatif *w)
{
	struct hg_node_id id = { 0 };
	uint64_t bytes = 0, n = 0;

	while ((id = hg_view_next(w->view, 0, id)).v) {
		const struct hg_node *h = hg_graph_node(w->graph, id);

		bytes += h->size;
		if (++n > NODES_MAX || bytes > BYTES_MAX)
			return false;
	}
	return true;
}

static void read_bytes(const struct hg_view *v, struct hg_node_id id, uint64_t size,
		       uint8_t *ret)
{
	for (uint64_t at = 0; at < size; at += 8) {
		uint32_t n = size - at < 8 ? size - at : 8;
		uint64_t word = 0;

		hg_view_read(v, id, at, n, &word);
		for (uint32_t i = 0; i < n; i++)
			ret[at + i] = word >> 8 * i;
	}
}

// Of nodes of no declared type only the address matters.
static struct err *add_node(struct anew *a, struct hg_node_id id)
{
	const struct hg_node *h = hg_graph_node(a->in->graph, id);
	_cleanup_free_ uint8_t *bytes = h->type ? malloc(h->size + 1) : NULL;
	struct hg_node_id new;
	struct err *err;

	if (h->type && !bytes)
		return &err_nomem;
	if (bytes)
		read_bytes(a->in->view, id, h->size, bytes);
	err = hg_graph_alloc(a->g, 1, h->start, h->size, h->alloc_rip, bytes, &new);
	if (!err && h->type)
		err = hg_graph_set_type(a->g, new, h->type);
	if (!err && map_put(&a->new_of, id.v, new.v))
		err = &err_nomem;
	return err ? err : vec_add(&a->old_of, id.v);
}

static struct err *add_store(struct anew *a, const struct fl_alteration *x,
			     uint64_t value)
{
	uint64_t start = hg_graph_node(a->in->graph, x->node)->start;

	return hg_graph_store(a->g, 1, start + x->offset, x->size, &value, 0);
}

// What the field holds without x.
static uint64_t value_without(const struct anew *a, const fl_alterations *made,
			      const struct fl_alteration *x)
{
	uint64_t ret = 0;

	hg_view_read(a->in->view, x->node, x->offset, x->size, &ret);
	for (size_t k = 0; made && k < made->size; k++)
		if (made->data[k].node.v == x->node.v &&
		    made->data[k].offset == x->offset)
			ret = made->data[k].value;
	return ret;
}

static size_t together(const struct fl_whatif *w)
{
	return w->together ? w->together : 1;
}

// Those that belong together are made, then unmade.
static struct err *add_alterations(struct anew *a, const fl_alterations *made,
				   const struct fl_alteration *all, size_t n)
{
	size_t each = together(a->in);
	struct err *err = NULL;

	for (size_t i = 0; made && i < made->size && !err; i++)
		err = add_store(a, &made->data[i], made->data[i].value);
	a->n_base = hg_graph_ops(a->g);
	for (size_t i = 0; i < n * each && !err; i += each) {
		for (size_t k = i; k < i + each && !err; k++)
			err = add_store(a, &all[k], all[k].value);
		for (size_t k = i + each; k-- > i && !err;)
			err = add_store(a, &all[k], value_without(a, made, &all[k]));
	}
	return err;
}

static struct err *make_anew(struct anew *a, const fl_alterations *made,
			     const struct fl_alteration *all, size_t n)
{
	struct hg_node_id id = { 0 };
	struct err *err = hg_graph_create(&a->g);

	while (!err && (id = hg_view_next(a->in->view, 0, id)).v)
		err = add_node(a, id);
	if (!err)
		err = add_alterations(a, made, all, n);
	if (!err)
		err = hg_view_create(a->g, a->n_base, &a->view);
	if (!err)
		err = spec_eval_create(a->in->spec, a->g, a->view, &a->eval);
	return err ? err : spec_checker_create(a->eval, false, &a->checker);
}

/* ---- violations ------------------------------------------------------------------------- */

static void to_old(const struct anew *a, struct spec_violation *v)
{
	for (size_t i = 0; i < SPEC_MAX_VARS; i++)
		if (v->binding.node[i].v)
			v->binding.node[i].v = a->old_of.data[v->binding.node[i].v - 1];
}

static struct err *check(struct anew *a)
{
	struct err *err = NULL;

	a->found.size = 0;
	for (size_t i = 0; i < spec_constraints(a->in->spec) && !err; i++)
		if (a->in->is_checked[i])
			err = spec_checker_check(a->checker, i, &a->found);
	return err;
}

static struct err *check_base(struct anew *a, spec_violations *left)
{
	struct err *err = check(a);
	uint32_t ignored;

	for (size_t i = 0; i < a->found.size && !err; i++) {
		err = fl_pendings_add(&a->base, &a->found.data[i], &ignored);
		if (!err && left) {
			err = vec_add(left, a->found.data[i]);
			if (!err)
				to_old(a, &left->data[left->size - 1]);
		}
	}
	return err;
}

static struct err *holds(struct anew *a, uint32_t constraint,
			 const struct spec_binding *b, bool *ret)
{
	bool is_right = false;
	struct err *err = spec_guard(a->eval, constraint, b, ret);

	if (!err && *ret)
		err = spec_check_one(a->eval, constraint, b, &is_right);
	*ret &= is_right;
	return err;
}

// The violation with the node to which x leads now in the place of another.
static struct err *check_moved(struct anew *a, const struct spec_violation *v,
			       const struct fl_alteration *x, bool *ret)
{
	const uint64_t *from = map_get(&a->new_of, x->node.v);
	struct hg_node_id to = hg_view_find(a->view, x->value);
	struct err *err = NULL;
	bool is_its = false;

	for (size_t k = 0; from && k < SPEC_MAX_VARS; k++)
		is_its |= v->binding.node[k].v == *from;
	for (size_t k = 0; is_its && to.v && x->size == 8 && k < SPEC_MAX_VARS; k++) {
		struct spec_binding b = v->binding;

		if (!b.node[k].v || b.node[k].v == *from || b.node[k].v == to.v || *ret ||
		    err)
			continue;
		b.node[k] = to;
		err = holds(a, v->constraint, &b, ret);
	}
	return err;
}

// Is one of the first violations gone though its guard is true?
static struct err *check_mended(struct anew *a, const struct fl_alteration *x,
				struct fl_outcome *ret)
{
	struct err *err = NULL;

	ret->is_mended = ret->is_moved = false;
	for (size_t i = 0; i < a->base.all.size && i < MENDED_MAX && !err; i++) {
		const struct spec_violation *v = &a->base.all.data[i].v;

		if (!ret->is_mended)
			err = holds(a, v->constraint, &v->binding, &ret->is_mended);
		if (!err && !ret->is_moved)
			err = check_moved(a, v, x, &ret->is_moved);
	}
	return err;
}

// @return the node of the heap made anew that the field of @p x led to without it; 0: none.
static struct hg_node_id led_to(const struct anew *a, const struct fl_alteration *x)
{
	uint64_t before = 0;

	if (x->size != 8 || !hg_view_read(a->in->view, x->node, x->offset, 8, &before) ||
	    !before)
		return (struct hg_node_id){};
	return hg_view_find(a->view, before);
}

// Is one of the first violations gone and, with the node that x leads to now in place of the one
// that it led to, its guard true?
static struct err *check_led(struct anew *a, const struct fl_alteration *x, bool *ret)
{
	struct hg_node_id from = led_to(a, x), to = hg_view_find(a->view, x->value);
	struct err *err = NULL;

	*ret = false;
	if (!from.v || !to.v)
		return NULL;
	for (size_t i = 0; i < a->base.all.size && i < MENDED_MAX && !err && !*ret; i++) {
		struct spec_violation v = a->base.all.data[i].v;
		bool is_about = false;

		for (size_t k = 0; k < SPEC_MAX_VARS; k++) {
			if (v.binding.node[k].v != from.v)
				continue;
			v.binding.node[k] = to;
			is_about = true;
		}
		if (is_about)
			err = holds(a, v.constraint, &v.binding, ret);
	}
	return err;
}

static void count_pointer(void *ctx, uint32_t owner, uint64_t offset)
{
	(void)owner;
	(void)offset;
	++*(uint32_t *)ctx;
}

static struct err *check_orphan(struct anew *a, const struct fl_alteration *x, bool *ret)
{
	struct hg_node_id to = led_to(a, x);
	bool is_typed = to.v && hg_graph_node(a->g, to)->type;
	uint32_t n = 0;
	struct err *err = is_typed ? spec_pointers(a->eval, to, count_pointer, &n) : NULL;

	*ret = is_typed && !n;
	return err;
}

// Is the constraint of one of the first violations, an element's, asked still of the one beside it?
static struct err *check_kept(struct anew *a, bool *ret)
{
	struct err *err = NULL;

	*ret = false;
	for (size_t i = 0; i < 2 * a->base.all.size && i < MENDED_MAX && !err && !*ret;
	     i++) {
		struct spec_violation v = a->base.all.data[i / 2].v;

		v.binding.index += i % 2 ? 1 : -1;
		if (spec_constraint(a->in->spec, v.constraint)->is_intra)
			err = holds(a, v.constraint, &v.binding, ret);
	}
	return err;
}

static struct err *check_one(struct anew *a, const struct fl_alteration *x,
			     struct fl_outcome *ret)
{
	struct err *err = check(a);

	if (!err)
		err = check_orphan(a, x, &ret->is_orphaning);
	ret->n_left = a->found.size;
	ret->n_new = 0;
	for (size_t i = 0; i < a->found.size; i++)
		ret->n_new += !fl_pendings_has(&a->base, &a->found.data[i]);
	if (!err)
		err = check_mended(a, x, ret);
	if (!err)
		err = check_led(a, x, &ret->is_led);
	return err ? err : check_kept(a, &ret->is_kept);
}

struct err *fl_whatif_try(const struct fl_whatif *w, const fl_alterations *made,
			  const struct fl_alteration *all, size_t n,
			  struct fl_outcome *ret, spec_violations *left)
{
	_cleanup_(anew_deinit) struct anew a = { .in = w };
	size_t each = together(w);
	struct err *err = make_anew(&a, made, all, n);

	if (!err)
		err = check_base(&a, left);
	for (size_t i = 0; i < n && !err; i++) {
		err = spec_eval_seek(a.eval, a.view, a.n_base + (2 * i + 1) * each);
		if (!err)
			err = check_one(&a, &all[i * each], &ret[i]);
	}
	return err;
}
