// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any bytes may stand where a history should: lines, EDN, or the lines of an old log. The first byte says
 * of which object it is, and after how many operations what matters no more is forgotten; the rest is read,
 * asked about with a small limit, and each operation written as text. Read once more, with nothing
 * forgotten, it has the same answer.
 */
#include <stdlib.h>

#include "faultlocate/linear/linear.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_OPS = 60, MOST_POSSIBLE = 1000 };

static void must_end_well(struct err *err)
{
	if (err && err->code != ERR_FORMAT) {
		fprintf(stderr, "%s\n", err->message);
		abort();
	}
	err_destroy(err);
}

static enum fl_lin_answer ask(const struct fl_lin_object *o,
			      const struct fl_lin_history *h, uint64_t n_ops)
{
	struct fl_lin_verdict v = {};
	char text[96];

	must_end_well(fl_lin_check(o, h, MOST_POSSIBLE, &v));
	if ((v.answer == LIN_WRONG) != (v.witness.size > 0) || v.n_ops != n_ops)
		abort();
	for (size_t i = 0; i < v.witness.size; i++)
		if (v.witness.data[i] >= h->ops.size)
			abort();
	for (size_t i = 0; i < h->ops.size; i++)
		fl_lin_op_text(o, &h->values, &h->ops.data[i], text, sizeof(text));
	fl_lin_verdict_deinit(&v);
	return v.answer;
}

static struct err *forget(struct fl_lin_history *h, void *of)
{
	return fl_lin_check_rest(of, h, 0);
}

/* @p all and what is left of it when what matters no more is forgotten after each @p n. */
static void compare(struct fl_lin_object *o, const struct fl_lin_history *all,
		    const uint8_t *data, size_t size, size_t n)
{
	struct fl_lin_history h = { .rest = forget, .rest_of = o, .rest_after = n };
	enum fl_lin_answer answer, less;

	must_end_well(fl_lin_history_parse("fuzz", (const char *)data, size, o, &h));
	answer = ask(o, all, all->ops.size);
	less = ask(o, &h, all->ops.size);
	if (answer != less && answer != LIN_UNKNOWN && less != LIN_UNKNOWN)
		abort();
	fl_lin_history_deinit(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "register", "counter",	  "set",
					     "map",	 "queue",	  "stack",
					     "mutex",	 "priority-queue" };
	struct fl_lin_object o = {};
	struct fl_lin_history h = {};
	struct err *err;

	if (!size || !fl_lin_object_find(names[data[0] % 8], &o))
		return 0;
	err = fl_lin_history_parse("fuzz", (const char *)data + 1, size - 1, &o, &h);
	if (!err && h.ops.size <= MOST_OPS)
		compare(&o, &h, data + 1, size - 1, 1 + data[0] / 8);
	must_end_well(err);
	fl_lin_history_deinit(&h);
	return 0;
}
