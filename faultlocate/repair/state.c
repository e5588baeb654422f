// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/run.h"

struct err *fl_rp_state_init(struct rp_state *s, const struct rp_program *p)
{
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];

		if (vec_add(&s->globals,
			    v->function == RP_NONE ? v->start : RP_UNKNOWN) ||
		    vec_add(&s->frame, RP_UNKNOWN))
			return &err_nomem;
	}
	return NULL;
}

void fl_rp_state_deinit(struct rp_state *s)
{
	for (size_t i = 0; i < s->nodes.size; i++)
		free(s->nodes.data[i].fields);
	vec_deinit(&s->nodes);
	vec_deinit(&s->globals);
	vec_deinit(&s->frame);
}

static size_t n_fields(const struct rp_program *p, const struct rp_node *n)
{
	return p->records.data[n->record].fields.size;
}

struct err *fl_rp_state_copy(struct rp_state *to, const struct rp_state *from,
			     const struct rp_program *p)
{
	memset(to, 0, sizeof(*to));
	for (size_t i = 0; i < from->globals.size; i++)
		if (vec_add(&to->globals, from->globals.data[i]) ||
		    vec_add(&to->frame, from->frame.data[i]))
			return &err_nomem;
	for (size_t i = 0; i < from->nodes.size; i++) {
		struct rp_node n = from->nodes.data[i];
		size_t bytes = n_fields(p, &n) * sizeof(int64_t);

		n.fields = malloc(bytes ?: 1);
		if (!n.fields)
			return &err_nomem;
		memcpy(n.fields, from->nodes.data[i].fields, bytes);
		if (vec_add(&to->nodes, n))
			return &err_nomem;
	}
	return NULL;
}

int64_t *fl_rp_state_variable(struct rp_state *s, const struct rp_program *p, int var)
{
	return p->variables.data[var].function == RP_NONE ? &s->globals.data[var] :
							    &s->frame.data[var];
}

int64_t *fl_rp_state_place(struct rp_state *s, const struct rp_program *p,
			   const struct rp_ref *r)
{
	int64_t *base = fl_rp_state_variable(s, p, r->var);
	struct rp_node *n;

	if (r->field == RP_NONE)
		return base;
	if (*base < 1 || *base > (int64_t)s->nodes.size)
		return NULL;
	n = &s->nodes.data[*base - 1];
	return n->is_freed || n->record != p->variables.data[r->var].type ?
		       NULL :
		       &n->fields[r->field];
}

const char *fl_rp_value_text(int64_t value, int type, char *room, size_t size)
{
	if (value == RP_UNKNOWN)
		return "?";
	if (type == RP_INT)
		snprintf(room, size, "%ld", (long)value);
	else if (!value)
		return "null";
	else
		snprintf(room, size, "n%ld", (long)value);
	return room;
}

static bool differs(int64_t is, int64_t asked)
{
	return asked != RP_UNKNOWN && is != asked;
}

static void tell(char *why, size_t room, const char *what, int64_t is, int64_t asked,
		 int type)
{
	char a[24], b[24];

	if (why)
		snprintf(why, room, "%s is %s, not %s", what,
			 fl_rp_value_text(is, type, a, sizeof(a)),
			 fl_rp_value_text(asked, type, b, sizeof(b)));
}

static bool nodes_are(const struct rp_state *s, const struct rp_state *asked,
		      const struct rp_program *p, char *why, size_t room)
{
	char what[128];

	for (size_t i = 0; i < asked->nodes.size; i++) {
		const struct rp_node *a = &asked->nodes.data[i], *n = &s->nodes.data[i];

		if (i >= s->nodes.size || a->is_freed != n->is_freed) {
			if (why)
				snprintf(why, room, "n%zu is %s", i + 1,
					 i >= s->nodes.size ? "not made" :
					 n->is_freed	    ? "freed" :
							      "not freed");
			return false;
		}
		for (size_t k = 0; k < n_fields(p, a) && !a->is_freed; k++) {
			const struct rp_field *f =
				&p->records.data[a->record].fields.data[k];

			if (!differs(n->fields[k], a->fields[k]))
				continue;
			snprintf(what, sizeof(what), "n%zu->%s", i + 1, f->name);
			tell(why, room, what, n->fields[k], a->fields[k], f->type);
			return false;
		}
	}
	return true;
}

bool fl_rp_state_is(const struct rp_state *s, const struct rp_state *asked,
		    const struct rp_program *p, int function, unsigned at, char *why,
		    size_t room)
{
	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];
		bool is_global = v->function == RP_NONE;
		int64_t is = is_global ? s->globals.data[i] : s->frame.data[i];
		int64_t want = is_global ? asked->globals.data[i] : asked->frame.data[i];
		bool is_result = v->is_hidden &&
				 p->functions.data[function].result == (int)i;

		if ((!is_result && !fl_rp_in_scope(p, (int)i, function, at)) ||
		    !differs(is, want))
			continue;
		tell(why, room, v->name, is, want, v->type);
		return false;
	}
	return nodes_are(s, asked, p, why, room);
}

/* ---- boxes and arrows ----------------------------------------------------------------------- */

static void print_node(const struct rp_state *s, const struct rp_program *p, size_t i,
		       FILE *out)
{
	const struct rp_node *n = &s->nodes.data[i];
	const struct rp_record *r = &p->records.data[n->record];
	char value[24];

	fprintf(out, "  n%zu", i + 1);
	for (size_t k = 0; k < r->fields.size && !n->is_freed; k++) {
		const struct rp_field *f = &r->fields.data[k];

		if (f->type != RP_OPAQUE)
			fprintf(out, " | %s %s %s", f->name,
				f->type == RP_INT ? "=" : "->",
				fl_rp_value_text(n->fields[k], f->type, value,
						 sizeof(value)));
	}
	fputs(n->is_freed ? " | freed\n" : " |\n", out);
}

static int64_t value_of(const struct rp_state *s, const struct rp_program *p, size_t i)
{
	return p->variables.data[i].function == RP_NONE ? s->globals.data[i] :
							  s->frame.data[i];
}

void fl_rp_state_print(const struct rp_state *s, const struct rp_program *p, int function,
		       unsigned at, FILE *out)
{
	char value[24];

	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];

		if (fl_rp_in_scope(p, (int)i, function, at))
			fprintf(out, "  %s %s %s\n", v->name,
				v->type == RP_INT ? "=" : "->",
				fl_rp_value_text(value_of(s, p, i), v->type, value,
						 sizeof(value)));
	}
	for (size_t i = 0; i < s->nodes.size; i++)
		print_node(s, p, i, out);
}

static void dot_node(const struct rp_state *s, const struct rp_program *p, size_t i,
		     FILE *out)
{
	const struct rp_node *n = &s->nodes.data[i];
	const struct rp_record *r = &p->records.data[n->record];
	char value[24];

	fprintf(out, "\tn%zu [shape=record, label=\"n%zu%s", i + 1, i + 1,
		n->is_freed ? " (freed)" : "");
	for (size_t k = 0; k < r->fields.size; k++)
		if (r->fields.data[k].type == RP_INT)
			fprintf(out, "|%s = %s", r->fields.data[k].name,
				fl_rp_value_text(n->fields[k], RP_INT, value,
						 sizeof(value)));
		else if (r->fields.data[k].type != RP_OPAQUE)
			fprintf(out, "|<f%zu>%s%s", k, r->fields.data[k].name,
				n->fields[k] > 0 ? "" :
				n->fields[k]	 ? " ?" :
						   " null");
	fputs("\"];\n", out);
	for (size_t k = 0; k < r->fields.size && !n->is_freed; k++)
		if (r->fields.data[k].type != RP_INT && n->fields[k] > 0)
			fprintf(out, "\tn%zu:f%zu -> n%ld;\n", i + 1, k,
				(long)n->fields[k]);
}

void fl_rp_state_dot(const struct rp_state *s, const struct rp_program *p, int function,
		     unsigned at, FILE *out)
{
	char value[24];

	fputs("digraph heap {\n\trankdir=LR;\n", out);
	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];
		int64_t is = value_of(s, p, i);

		if (!fl_rp_in_scope(p, (int)i, function, at))
			continue;
		if (v->type != RP_INT && is > 0)
			fprintf(out,
				"\tv%zu [shape=plaintext, label=\"%s\"];\n\tv%zu -> n%ld;\n",
				i, v->name, i, (long)is);
		else
			fprintf(out, "\tv%zu [shape=plaintext, label=\"%s = %s\"];\n", i,
				v->name,
				fl_rp_value_text(is, v->type, value, sizeof(value)));
	}
	for (size_t i = 0; i < s->nodes.size; i++)
		dot_node(s, p, i, out);
	fputs("}\n", out);
}

void fl_rp_witness_deinit(struct rp_witness *w)
{
	fl_rp_state_deinit(&w->before);
	for (size_t i = 0; i < w->marks.size; i++)
		fl_rp_state_deinit(&w->marks.data[i].state);
	vec_deinit(&w->marks);
	vec_deinit(&w->events);
}

struct err *fl_rp_witness_copy(struct rp_witness *to, const struct rp_witness *from,
			       const struct rp_program *p)
{
	struct err *err;

	*to = (struct rp_witness){ .function = from->function,
				   .stop_events = from->stop_events,
				   .stop_statement = from->stop_statement };
	err = fl_rp_state_copy(&to->before, &from->before, p);
	for (size_t i = 0; i < from->events.size && !err; i++)
		if (vec_add(&to->events, from->events.data[i]))
			err = &err_nomem;
	for (size_t i = 0; i < from->marks.size && !err; i++) {
		struct rp_mark m = from->marks.data[i];

		err = fl_rp_state_copy(&m.state, &from->marks.data[i].state, p);
		if (!err && vec_add(&to->marks, m))
			err = &err_nomem;
	}
	return err;
}
