// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What several faults may have hidden: parts of conditions that were not asked, branches that were not
 * taken, and parts of statements that had no effect, where something beside them is suspicious.
 */
#include "faultlocate/repair/doubt.h"

struct doubt {
	const bool *was_executed;
	double *suspicion;
};

/* Is a part of @p c suspicious? */
static bool is_doubted(const struct doubt *d, const struct rp_condition *c)
{
	for (size_t i = 0; c && i < c->ops.size; i++)
		if (d->suspicion[c->ops.data[i]] > 0)
			return true;
	return c && (is_doubted(d, c->left) || is_doubted(d, c->right));
}

static void doubt_op(struct doubt *d, int op)
{
	if (d->suspicion[op] <= 0)
		d->suspicion[op] = RP_UNASKED;
}

static void doubt(struct doubt *d, const struct rp_condition *c)
{
	for (size_t i = 0; c && i < c->ops.size; i++)
		doubt_op(d, c->ops.data[i]);
	if (c) {
		doubt(d, c->left);
		doubt(d, c->right);
	}
}

/* What was never executed, for a condition that is doubted. */
static void doubt_block(struct doubt *d, const struct rp_block *b)
{
	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];

		for (size_t k = 0; k < s->ops.size; k++)
			if (!d->was_executed[s->ops.data[k]])
				doubt_op(d, s->ops.data[k]);
		doubt(d, s->condition);
		doubt_block(d, s->body);
		doubt_block(d, s->otherwise);
	}
}

/* What was loaded for a statement, and perhaps not used by it. */
static void doubt_parts(struct doubt *d, const struct rp_statement *s)
{
	for (size_t i = 0; i < s->ops.size; i++)
		doubt_op(d, s->ops.data[i]);
}

/* Of a condition with a suspicious part the others may not have been asked, but for it. */
static void doubt_all(struct doubt *d, const struct rp_block *b)
{
	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];

		for (size_t k = 0; k < s->ops.size; k++)
			if (d->suspicion[s->ops.data[k]] > 0)
				doubt_parts(d, s);
		if (is_doubted(d, s->condition)) {
			doubt(d, s->condition);
			if (s->shape == RP_IF) {
				doubt_block(d, s->body);
				doubt_block(d, s->otherwise);
			}
		}
		doubt_all(d, s->body);
		doubt_all(d, s->otherwise);
	}
}

void fl_rp_doubt(const struct rp_program *p, int function, const bool *was_executed,
		 double *suspicion)
{
	struct doubt d = { was_executed, suspicion };

	doubt_all(&d, p->functions.data[function].body);
}
