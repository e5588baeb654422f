// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is violated, step by step.
 */
#include "report/page_parts.h"

#include "report/script.h"

#define VIOLATIONS_MAX 50 // of a step

static bool is_as_before(const spec_violations *a, const spec_violations *b)
{
	if (a->size != b->size)
		return false;
	for (size_t i = 0; i < a->size; i++)
		if (a->data[i].constraint != b->data[i].constraint ||
		    !spec_binding_equal(&a->data[i].binding, &b->data[i].binding))
			return false;
	return true;
}

static struct err *print_violation(struct page *w, const struct spec_violation *v)
{
	fl_marks marks = {};
	struct err *err = report_marks_add(&w->fields, w->eval, v, &marks);
	const char *comma = "";

	fprintf(w->out, "[%u,[", v->constraint);
	for (size_t k = 0; k < SPEC_MAX_VARS; k++) {
		if (!v->binding.node[k].v)
			continue;
		fprintf(w->out, "%s%u", comma, v->binding.node[k].v);
		comma = ",";
	}
	fputs("],[", w->out);
	for (size_t i = 0; !err && i < marks.size; i++) {
		fprintf(w->out, "%s[%u,%llu]", i ? "," : "", marks.data[i].node.v,
			(unsigned long long)marks.data[i].field - 1);
		if (map_put(&w->marked, marks.data[i].node.v, 1))
			err = &err_nomem;
	}
	fputs("]]", w->out);
	vec_deinit(&marks);
	return err;
}

static struct err *print_violations(struct page *w)
{
	const spec_violations *v = &w->violations;
	struct err *err = NULL;

	map_deinit(&w->marked);
	fputc('[', w->out);
	for (size_t i = 0; !err && i < v->size && i < VIOLATIONS_MAX; i++) {
		fputs(i ? "," : "", w->out);
		err = print_violation(w, &v->data[i]);
	}
	fputc(']', w->out);
	return err;
}

/* What is violated now, after a change of @p node; null when that is what was, and is about the
 * same fields. */
struct err *report_page_print_violated(struct page *w, uint32_t node, bool is_first)
{
	spec_violations now = {};
	struct err *err = NULL;
	bool is_same;

	for (size_t i = 0; w->checker && i < spec_constraints(w->n->spec) && !err; i++)
		err = spec_checker_check(w->checker, i, &now);
	is_same = !is_first && is_as_before(&now, &w->violations);
	vec_deinit(&w->violations);
	w->violations = now;
	if (!err && !is_same)
		err = report_lasting_step(&w->lasting, w->n_steps, &now);
	if (err)
		return err;
	if (!is_same || map_get(&w->marked, node))
		return print_violations(w);
	fputs("null", w->out);
	return NULL;
}

struct err *report_page_pass_visits(struct page *w, uint64_t n_ops)
{
	const struct fl_cpoints *c = w->p->cpoints;
	struct err *err = NULL;

	for (; !err && c && w->next_visit < fl_cpoints_visits(c); w->next_visit++) {
		const struct fl_visit *v = fl_cpoints_visit_at(c, w->next_visit);
		uint64_t ops = w->p->is_of_chunks ? v->at.chunk_ops : v->at.app_ops;

		if (ops > n_ops)
			return NULL;
		if (ops < n_ops)
			continue;
		err = vec_add(&w->points, (struct page_point){ w->n_steps, v->cpoint });
		if (!err)
			err = report_lasting_point(&w->lasting, w->n->spec,
						   fl_cpoints_get(c, v->cpoint)->type,
						   &w->violations);
	}
	return err;
}

void report_page_print_points(const struct page *w)
{
	fputs(",\n\"points\":[", w->out);
	for (size_t i = 0; i < w->points.size; i++) {
		fprintf(w->out, "%s[%llu,", i ? "," : "",
			(unsigned long long)w->points.data[i].n_steps);
		report_script_string(
			w->out,
			fl_cpoints_get(w->p->cpoints, w->points.data[i].cpoint)->name);
		fputc(']', w->out);
	}
	fputs("],\n\"lasting\":[", w->out);
	for (size_t i = 0; i < w->lasting.steps.size; i++)
		fprintf(w->out, "%s%llu", i ? "," : "",
			(unsigned long long)w->lasting.steps.data[i]);
	fputc(']', w->out);
}
