// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_outer.h"

#include <string.h>

// What is called once, and in which so many other calls begin, does operations and is none.
#define CALLS_OF_DRIVER 16

struct function {
	uint64_t n_calls, n_inner; ///< n_inner: calls of others that began in it
	uint64_t began_at;	   ///< of the last: all calls until then
	bool is_under_way, is_driver;
};

// The function whose entry or return it is; NULL: another kind.
static struct function *function_of(const struct fl_cpoints *c, const struct fl_visit *v,
				    struct function *functions)
{
	uint32_t number = fl_cpoints_get(c, v->cpoint)->function;

	return number ? &functions[number - 1] : NULL;
}

static bool is_entry(const struct fl_cpoints *c, const struct fl_visit *v)
{
	return fl_cpoints_get(c, v->cpoint)->kind == FL_CPOINT_ENTRY;
}

static void find_drivers(const struct fl_cpoints *c, struct function *functions)
{
	uint64_t n_calls = 0;

	for (size_t i = 0; i < fl_cpoints_visits(c); i++) {
		const struct fl_visit *v = fl_cpoints_visit_at(c, i);
		struct function *f = function_of(c, v, functions);

		if (f && is_entry(c, v)) {
			f->n_calls++;
			f->is_under_way = !v->is_inlined;
			f->began_at = ++n_calls;
		} else if (f && f->is_under_way) {
			f->n_inner = n_calls - f->began_at;
			f->is_under_way = false;
		}
		if (f && strcmp(fl_cpoints_get(c, v->cpoint)->name, "entry of main") == 0)
			f->is_driver = true;
	}
	for (size_t i = 0; i < fl_cpoints_count(c); i++) {
		struct function *f = &functions[i];

		if (f->is_under_way)
			f->n_inner = n_calls - f->began_at;
		f->is_driver |= f->n_calls == 1 && f->n_inner >= CALLS_OF_DRIVER;
		f->is_under_way = false;
	}
}

struct err *fl_outer_find(const struct fl_cpoints *c, bool *ret)
{
	// No more functions than C-points.
	_cleanup_free_ struct function *functions =
		calloc(fl_cpoints_count(c) + 1, sizeof(*functions));
	size_t n_under_way = 0;

	if (!functions)
		return &err_nomem;
	find_drivers(c, functions);
	for (size_t i = 0; i < fl_cpoints_visits(c); i++) {
		const struct fl_visit *v = fl_cpoints_visit_at(c, i);
		struct function *f = function_of(c, v, functions);

		ret[i] = false;
		if (!f || f->is_driver)
			continue;
		if (!is_entry(c, v) && f->is_under_way) {
			f->is_under_way = false;
			n_under_way--;
		}
		ret[i] = !n_under_way;
		if (is_entry(c, v) && !v->is_inlined && !f->is_under_way) {
			f->is_under_way = true;
			n_under_way++;
		}
	}
	return NULL;
}
