// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any bytes may stand where an object or a concurrent structure should. What is read of a structure is
 * taken apart into sub-operations and executed for some thousand states; what is read of an object
 * answers a short history of its operations.
 */
#include <stdlib.h>
#include <string.h>

#include "faultlocate/linear/explore.h"
#include "faultlocate/linear/linear.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(struct err *err)
{
	if (err && err->code != ERR_FORMAT && err->code != ERR_RANGE) {
		fprintf(stderr, "%s\n", err->message);
		abort();
	}
	err_destroy(err);
}

static void structure(const struct spec *s)
{
	struct fl_lin_steps steps = {};
	struct fl_lin_executions runs = {};
	struct err *err = fl_lin_steps_make(spec_structure(s), &steps);

	if (!err)
		err = fl_lin_explore(&steps, 2, 3000, &runs);
	must(err);
	fl_lin_executions_deinit(&runs);
	fl_lin_steps_deinit(&steps);
}

/* Each operation twice, on small numbers, the second while the first is under way. */
static void object(const struct spec_object *written)
{
	struct fl_lin_object o;
	struct fl_lin_history h = {};
	struct fl_lin_verdict v = {};

	if (!fl_lin_object_take(written, &o) || o.kind != LIN_MACHINE)
		return;
	for (size_t i = 0; i < 2 * written->n_operations && i < 8; i++) {
		struct fl_lin_op op = { .does = LIN_STEP + (int)(i / 2),
					.process = (int64_t)i % 2,
					.arg = { (int64_t)i, 1, 2 },
					.ret = (int64_t)i % 3,
					.call = i * 2 - i % 2,
					.end = i * 2 + 2 - i % 2 };

		for (unsigned k = fl_lin_does_args(&o, op.does); k < 3; k++)
			op.arg[k] = LIN_NONE;
		if (vec_add(&h.ops, op))
			abort();
		h.moments = op.end + 1;
	}
	must(fl_lin_check(&o, &h, 1000, &v));
	fl_lin_verdict_deinit(&v);
	fl_lin_history_deinit(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_fclose_ FILE *null = fopen("/dev/null", "w");
	bool is_structure = size && data[0] % 2;
	struct spec *s;
	struct err *err;

	if (!size)
		return 0;
	must(spec_create(&s));
	err = is_structure ?
		      spec_add_structure_text(s, "fuzz", (const char *)data + 1,
					      size - 1) :
		      spec_add_objects_text(s, "fuzz", (const char *)data + 1, size - 1);
	spec_diags_print(s, null);
	if (!err && is_structure && spec_structure(s))
		structure(s);
	for (size_t i = 0;
	     !err && !is_structure && !spec_errors(s) && i < spec_objects(s); i++)
		object(spec_object(s, i));
	must(err);
	spec_destroy(s);
	return 0;
}
