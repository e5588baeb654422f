// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/program.h"

const char *fl_rp_sign_text(enum rp_sign s)
{
	static const char *const texts[] = { "",   "+",	 "-", "*",  "/", "%",
					     "==", "!=", "<", "<=", ">", ">=" };

	return texts[s];
}

int fl_rp_program_function(const struct rp_program *p, const char *name)
{
	for (size_t i = 0; i < p->functions.size; i++)
		if (!strcmp(p->functions.data[i].name, name))
			return (int)i;
	return RP_NONE;
}

int fl_rp_ref_type(const struct rp_program *p, const struct rp_ref *r)
{
	const struct rp_variable *v;

	if (r->var == RP_NONE)
		return RP_INT;
	v = &p->variables.data[r->var];
	return r->field == RP_NONE ? v->type :
				     p->records.data[v->type].fields.data[r->field].type;
}

bool fl_rp_in_scope(const struct rp_program *p, int var, int function, unsigned at)
{
	const struct rp_variable *v = &p->variables.data[var];

	return v->type != RP_OPAQUE && !v->is_hidden &&
	       (!v->is_spare || p->with_spares) && at >= v->scope.from &&
	       at <= v->scope.to && (v->function == RP_NONE || v->function == function);
}

/* Loads stand right before what they are for. */
bool fl_rp_is_loaded(const struct rp_program *p, int var, int number)
{
	int function = number == RP_NONE ? RP_NONE : p->ops.data[number].function;

	for (int i = number - 1; i >= 0; i--) {
		const struct rp_op *op = &p->ops.data[i];

		if (op->kind != RP_ASSIGN || op->function != function ||
		    op->dst.field != RP_NONE ||
		    !p->variables.data[op->dst.var].is_hidden ||
		    p->functions.data[function].result == op->dst.var)
			return false;
		if (op->dst.var == var)
			return !op->is_removed;
	}
	return false;
}

/* ---- spare variables ------------------------------------------------------------------------- */

static bool is_taken(const struct rp_program *p, const char *name)
{
	for (size_t i = 0; i < p->variables.size; i++)
		if (!strcmp(p->variables.data[i].name, name))
			return true;
	return fl_rp_program_function(p, name) != RP_NONE;
}

static bool has_pointers(const struct rp_program *p, int function, int type)
{
	for (size_t i = 0; i < p->variables.size; i++)
		if (p->variables.data[i].function == function &&
		    p->variables.data[i].type == type)
			return true;
	return false;
}

static char *spare_name(struct rp_program *p)
{
	const size_t room = 24;
	char *name = arena_alloc(&p->arena, room);

	if (!name)
		return NULL;
	snprintf(name, room, "spare");
	for (unsigned n = 2; is_taken(p, name); n++)
		snprintf(name, room, "spare%u", n);
	return name;
}

struct err *fl_rp_program_spare(struct rp_program *p, int function)
{
	for (int type = 0; type < (int)p->records.size; type++) {
		struct rp_variable v = { .type = type,
					 .function = function,
					 .scope = p->functions.data[function].body->at,
					 .is_spare = true };

		if (!has_pointers(p, function, type))
			continue;
		v.name = spare_name(p);
		if (!v.name || vec_add(&p->variables, v))
			return &err_nomem;
	}
	return NULL;
}

/* ---- text ------------------------------------------------------------------------------------- */

static void print_sum(const struct rp_program *p, const struct rp_op *op, FILE *out);

/* What it stands for, as that is now. */
static void print_hidden(const struct rp_program *p, int var, FILE *out)
{
	for (size_t i = 0; i < p->n_read; i++) {
		const struct rp_op *op = &p->ops.data[i];

		if (op->kind != RP_ASSIGN || op->dst.var != var ||
		    op->dst.field != RP_NONE)
			continue;
		if (p->functions.data[op->function].result == var)
			break;
		if (op->sign != RP_PLAIN)
			fputc('(', out);
		print_sum(p, op, out);
		if (op->sign != RP_PLAIN)
			fputc(')', out);
		return;
	}
	fputs(p->variables.data[var].text, out);
}

void fl_rp_ref_print(const struct rp_program *p, const struct rp_ref *r, int type,
		     FILE *out)
{
	const struct rp_variable *v;

	if (r->var == RP_NONE) {
		if (type == RP_INT)
			fprintf(out, "%ld", (long)r->value);
		else
			fputs("NULL", out);
		return;
	}
	v = &p->variables.data[r->var];
	if (v->is_hidden)
		print_hidden(p, r->var, out);
	else
		fputs(v->name, out);
	if (r->field != RP_NONE)
		fprintf(out, "->%s", p->records.data[v->type].fields.data[r->field].name);
}

static void print_sum(const struct rp_program *p, const struct rp_op *op, FILE *out)
{
	fl_rp_ref_print(p, &op->a, op->type, out);
	if (op->sign == RP_PLAIN)
		return;
	fprintf(out, " %s ", fl_rp_sign_text(op->sign));
	fl_rp_ref_print(p, &op->b, op->type, out);
}

static void print_call(const struct rp_program *p, const struct rp_op *op, FILE *out)
{
	const struct rp_function *fn = &p->functions.data[op->callee];

	fprintf(out, "%s(", fn->name);
	for (size_t i = 0; i < fn->parameters.size; i++) {
		if (i)
			fputs(", ", out);
		fl_rp_ref_print(p, &op->args[i],
				p->variables.data[fn->parameters.data[i]].type, out);
	}
	fputc(')', out);
}

void fl_rp_op_print(const struct rp_program *p, const struct rp_op *op, FILE *out)
{
	if (op->kind != RP_TEST && op->kind != RP_FREE && op->dst.var != RP_NONE) {
		const struct rp_variable *v = &p->variables.data[op->dst.var];

		if (v->is_hidden && op->dst.field == RP_NONE)
			fputs(v->text, out);
		else
			fl_rp_ref_print(p, &op->dst, op->type, out);
		fputs(" = ", out);
	}
	switch (op->kind) {
	case RP_ASSIGN:
	case RP_TEST:
		print_sum(p, op, out);
		break;
	case RP_ALLOC:
		fputs("malloc()", out);
		break;
	case RP_FREE:
		fputs("free(", out);
		fl_rp_ref_print(p, &op->a, op->type, out);
		fputc(')', out);
		break;
	case RP_INPUT:
		fputs("input()", out);
		break;
	case RP_CALL:
		print_call(p, op, out);
		break;
	}
}

/* ---- guarded statements -------------------------------------------------------------------- */

struct printer {
	const struct rp_program *p;
	FILE *out;
	int n, n_guards;
};

static void print_ops(struct printer *w, const int *ops, size_t n, const char *guard)
{
	for (size_t i = 0; i < n; i++) {
		const struct rp_op *op = &w->p->ops.data[ops[i]];

		if (op->is_removed)
			continue;
		fprintf(w->out, "%4d  %4d  (%s) : ", ++w->n, op->line, guard);
		fl_rp_op_print(w->p, op, w->out);
		fputc('\n', w->out);
	}
}

/* b3 = (x == NULL), then b4 = b3 and b2. @return the guard's number. */
static int print_condition(struct printer *w, const struct rp_condition *c,
			   const char *guard)
{
	char inner[24];
	int left, right;

	if (c->logic == RP_ATOM) {
		const struct rp_op *op = &w->p->ops.data[c->ops.data[c->ops.size - 1]];

		print_ops(w, c->ops.data, c->ops.size - 1, guard);
		fprintf(w->out, "%4d  %4d  (%s) : b%d = (", ++w->n, op->line, guard,
			w->n_guards);
		fl_rp_op_print(w->p, op, w->out);
		fputs(")\n", w->out);
		return w->n_guards++;
	}
	left = print_condition(w, c->left, guard);
	if (c->logic == RP_NOT) {
		fprintf(w->out, "%4d        (%s) : b%d = not b%d\n", ++w->n, guard,
			w->n_guards, left);
		return w->n_guards++;
	}
	// A short circuit: the other side counts, and happens, only where it is asked.
	snprintf(inner, sizeof(inner), "%sb%d", c->logic == RP_OR ? "not " : "", left);
	right = print_condition(w, c->right, inner);
	fprintf(w->out, "%4d        (%s) : b%d = b%d %s b%d\n", ++w->n, guard,
		w->n_guards, left, c->logic == RP_AND ? "band" : "bor", right);
	return w->n_guards++;
}

static void print_block(struct printer *w, const struct rp_block *b, const char *guard);

static void print_branches(struct printer *w, const struct rp_statement *s,
			   const char *guard)
{
	char inner[24];
	int g = print_condition(w, s->condition, guard);

	snprintf(inner, sizeof(inner), "b%d", g);
	print_block(w, s->body, inner);
	snprintf(inner, sizeof(inner), "not b%d", g);
	if (s->otherwise)
		print_block(w, s->otherwise, inner);
}

static void print_loop(struct printer *w, const struct rp_statement *s, const char *guard)
{
	char inner[24];
	int g, start = w->n + 1;

	if (s->is_do) {
		print_block(w, s->body, guard);
		g = print_condition(w, s->condition, guard);
	} else {
		g = print_condition(w, s->condition, guard);
		snprintf(inner, sizeof(inner), "b%d", g);
		print_block(w, s->body, inner);
		print_ops(w, s->step.data, s->step.size, inner);
	}
	fprintf(w->out, "%4d        (b%d) : again from %d\n", ++w->n, g, start);
}

static void print_block(struct printer *w, const struct rp_block *b, const char *guard)
{
	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];

		print_ops(w, s->ops.data, s->ops.size, guard);
		if (s->shape == RP_IF)
			print_branches(w, s, guard);
		else if (s->shape == RP_LOOP)
			print_loop(w, s, guard);
		else if (s->shape == RP_BLOCK)
			print_block(w, s->body, guard);
		else if (s->shape != RP_OPS)
			fprintf(w->out, "%4d  %4d  (%s) : %s\n", ++w->n, s->line, guard,
				s->shape == RP_RETURN ? "halt" :
				s->shape == RP_BREAK  ? "break" :
							"continue");
	}
}

void fl_rp_program_print(const struct rp_program *p, int function, FILE *out)
{
	struct printer w = { p, out, 0, 0 };

	print_block(&w, p->functions.data[function].body, "true");
}
