// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/repair.h"

static struct err *insert(struct rp_program *p, const struct rp_edit *e)
{
	struct rp_statement *s = arena_alloc(&p->arena, sizeof(*s));
	int *op = arena_alloc(&p->arena, sizeof(*op));
	struct rp_block *b = p->blocks.data[e->block];

	if (!s || !op || vec_add(&p->ops, e->now) || !vec_push(&b->list))
		return &err_nomem;
	*op = (int)p->ops.size - 1;
	s->shape = RP_OPS;
	s->id = p->n_statements++;
	s->line = e->now.line;
	s->at = e->now.at;
	s->ops.data = op;
	s->ops.size = s->ops.capacity = 1;
	memmove(b->list.data + e->index + 1, b->list.data + e->index,
		(b->list.size - 1 - (size_t)e->index) * sizeof(*b->list.data));
	b->list.data[e->index] = s;
	return NULL;
}

/* From the last on, so that the places of the others stay. */
struct err *fl_rp_patch_apply(struct rp_program *p, struct rp_patch *patch)
{
	for (size_t i = patch->edits.size; i--;) {
		struct rp_edit *e = &patch->edits.data[i];
		struct err *err = e->kind == RP_EDIT_INSERT ? insert(p, e) : NULL;

		if (err)
			return err;
		if (e->kind == RP_EDIT_INSERT)
			continue;
		e->was = p->ops.data[e->op];
		if (e->kind == RP_EDIT_REMOVE)
			p->ops.data[e->op].is_removed = true;
		else
			p->ops.data[e->op] = e->now;
	}
	return NULL;
}

void fl_rp_patch_undo(struct rp_program *p, struct rp_patch *patch)
{
	for (size_t i = 0; i < patch->edits.size; i++) {
		struct rp_edit *e = &patch->edits.data[i];
		struct rp_block *b;

		if (e->kind != RP_EDIT_INSERT) {
			p->ops.data[e->op] = e->was;
			continue;
		}
		b = p->blocks.data[e->block];
		b->list.size--;
		memmove(b->list.data + e->index, b->list.data + e->index + 1,
			(b->list.size - (size_t)e->index) * sizeof(*b->list.data));
		p->ops.size--;
	}
}

void fl_rp_patch_deinit(struct rp_patch *patch)
{
	vec_deinit(&patch->edits);
}

static int line_at(const struct rp_program *p, unsigned at)
{
	int line = 1;

	for (unsigned i = 0; i < at && i < p->size; i++)
		line += p->text[i] == '\n';
	return line;
}

void fl_rp_patch_print(const struct rp_program *p, const struct rp_patch *patch,
		       FILE *out)
{
	for (size_t i = 0; i < patch->edits.size; i++) {
		const struct rp_edit *e = &patch->edits.data[i];

		if (e->kind == RP_EDIT_INSERT) {
			const struct rp_block *b = p->blocks.data[e->block];

			if ((size_t)e->index < b->list.size)
				fprintf(out, "before line %d: `", e->now.line);
			else
				fprintf(out, "at the end of the block, before line %d: `",
					line_at(p, e->now.at.from));
			fl_rp_op_print(p, &e->now, out);
			fputs("' is new\n", out);
			continue;
		}
		fprintf(out, "line %d: `", e->now.line);
		if (e->kind == RP_EDIT_CHANGE) {
			fl_rp_op_print(p, &e->now, out);
			fputs("' instead of `", out);
		}
		fl_rp_op_print(p, &p->ops.data[e->op], out);
		fputs(e->kind == RP_EDIT_REMOVE ? "' goes\n" : "'\n", out);
	}
}
