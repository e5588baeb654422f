// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Heap graphs built by hand, with a specification and what violates it.
 */
#ifndef TESTS_SPECDSL_WORLD_H
#define TESTS_SPECDSL_WORLD_H

#include <string.h>

#include "specdsl/specdsl.h"
#include "tests/unit.h"

#define BASE UINT64_C(0x10000)

/** A graph under construction, a specification, and their evaluator. */
struct world {
	struct spec *s;
	struct hg_graph *g;
	struct hg_view *v;
	struct spec_eval *e;
	uint64_t time, next_addr;
};

static inline struct world begin(const char *text)
{
	struct world w = { .next_addr = BASE };

	assert_null(spec_create(&w.s));
	assert_null(spec_add_text(w.s, "test.spec", text, strlen(text)));
	assert_null(hg_graph_create(&w.g));
	return w;
}

/** A live node of the type called @p type; returns its id. */
static inline uint32_t node(struct world *w, const char *type, uint64_t bytes)
{
	int index = type ? spec_type_find(w->s, type) : -1;
	struct hg_node_id id;

	assert_null(hg_graph_alloc(w->g, ++w->time, w->next_addr, bytes, 0x400000, NULL,
				   &id));
	hg_graph_set_type(w->g, id, index + 1);
	w->next_addr += (bytes + 31) & ~UINT64_C(31);
	return id.v;
}

static inline uint64_t addr(const struct world *w, uint32_t id)
{
	return id ? hg_graph_node(w->g, (struct hg_node_id){ id })->start : 0;
}

/** Field @p field (from 1, 8 bytes each) of node @p id becomes @p value. */
static inline void set(struct world *w, uint32_t id, int field, uint64_t value)
{
	assert_null(hg_graph_store(w->g, ++w->time, addr(w, id) + (field - 1) * 8, 8,
				   &value, 0x400100));
}

static inline void point(struct world *w, uint32_t from, int field, uint32_t to)
{
	set(w, from, field, addr(w, to));
}

static inline void release(struct world *w, uint32_t id)
{
	assert_null(hg_graph_free(w->g, ++w->time, addr(w, id), 0x400200));
}

/** The graph is complete: a view of all of it, and the evaluator. */
static inline void finish(struct world *w)
{
	assert_null(spec_resolve(w->s));
	spec_diags_print(w->s, stderr);
	assert_null(hg_view_create(w->g, hg_graph_ops(w->g), &w->v));
	assert_null(spec_eval_create(w->s, w->g, w->v, &w->e));
}

static inline void end(struct world *w)
{
	spec_eval_destroy(w->e);
	hg_view_destroy(w->v);
	hg_graph_destroy(w->g);
	spec_destroy(w->s);
}

/** All violations of all constraints, as `c1:n,n c2:n[i]`. */
static inline const char *violations(struct world *w)
{
	static char text[4096];
	spec_violations found = {};
	size_t n = 0;

	text[0] = '\0';
	assert_null(spec_check(w->e, 0, &found));
	for (size_t i = 0; i < found.size; i++) {
		const struct spec_violation *f = &found.data[i];
		const struct spec_constraint *c = spec_constraint(w->s, f->constraint);
		bool holds = true;
		char mark = ':';

		assert_null(spec_check_one(w->e, f->constraint, &f->binding, &holds));
		assert_false(holds);
		n += snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", c->name);
		for (size_t k = 0; k < c->n_vars; k++) {
			if (c->vars[k].kind != SPEC_VAR_ALL)
				continue;
			n += snprintf(text + n, sizeof(text) - n, "%c%u", mark,
				      f->binding.node[k].v);
			mark = ',';
		}
		if (c->is_intra)
			n += snprintf(text + n, sizeof(text) - n, "[%d]",
				      (int)f->binding.index);
		if (f->is_unreadable)
			n += snprintf(text + n, sizeof(text) - n, "?");
		if (f->is_cyclic)
			n += snprintf(text + n, sizeof(text) - n, "@");
	}
	vec_deinit(&found);
	return text;
}

#endif
