// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <cjson/cJSON.h>
#include <string.h>

#include "report/sarif.h"
#include "report/slice.h"
#include "report/uri.h"

static cJSON *text_or_null(const char *text)
{
	return text && *text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

static cJSON *statement(const struct report_slice *r, const struct fl_view_statement *st)
{
	_cleanup_free_ char *source = report_slice_source(r, st);
	cJSON *o = cJSON_CreateObject();
	char place[400], value[200];

	report_slice_value(&st->made, value, sizeof(value));
	cJSON_AddItemToObject(o, "place",
			      text_or_null(report_slice_place(st, place, sizeof(place))));
	cJSON_AddBoolToObject(o, "is_input", st->is_input);
	cJSON_AddItemToObject(o, "file", text_or_null(st->place.file));
	cJSON_AddItemToObject(o, "line",
			      st->place.line ? cJSON_CreateNumber(st->place.line) :
					       cJSON_CreateNull());
	cJSON_AddItemToObject(o, "function", text_or_null(st->place.function));
	cJSON_AddItemToObject(o, "source", text_or_null(source));
	cJSON_AddNumberToObject(o, "instances", st->n);
	cJSON_AddNumberToObject(o, "first", st->first);
	cJSON_AddNumberToObject(o, "last", st->last);
	cJSON_AddNumberToObject(o, "thread", st->tid);
	cJSON_AddItemToObject(o, "value", text_or_null(value));
	cJSON_AddBoolToObject(o, "is_asked", st->is_seed);
	cJSON_AddItemToObject(o, "needed_by",
			      st->parent != FL_NONE ? cJSON_CreateNumber(st->parent) :
						      cJSON_CreateNull());
	cJSON_AddItemToObject(o, "as",
			      st->parent != FL_NONE ?
				      cJSON_CreateString(fl_edge_name(st->edge)) :
				      cJSON_CreateNull());
	return o;
}

static cJSON *edge(const struct fl_view_edge *e)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddNumberToObject(o, "from", e->from);
	cJSON_AddNumberToObject(o, "to", e->to);
	cJSON_AddStringToObject(o, "kind", fl_edge_name(e->edge));
	cJSON_AddBoolToObject(o, "crosses_threads", e->crosses);
	return o;
}

static cJSON *potential(const struct fl_potentials *p)
{
	cJSON *o = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(o, "branches");

	cJSON_AddNumberToObject(o, "tried", p->n_tried);
	cJSON_AddNumberToObject(o, "not_reached", p->n_lost);
	cJSON_AddNumberToObject(o, "not_tried", p->n_others);
	for (size_t i = 0; i < p->list.size; i++) {
		const struct fl_potential *b = &p->list.data[i];
		cJSON *branch = cJSON_CreateObject();

		cJSON_AddItemToObject(branch, "file", text_or_null(b->place.file));
		cJSON_AddNumberToObject(branch, "line", b->place.line);
		cJSON_AddItemToObject(branch, "function",
				      text_or_null(b->place.function ?: b->place.outer));
		cJSON_AddNumberToObject(branch, "address", b->rip);
		cJSON_AddNumberToObject(branch, "position", b->position);
		cJSON_AddBoolToObject(branch, "was_taken", b->was_taken);
		cJSON_AddItemToArray(list, branch);
	}
	return o;
}

static struct err *print(cJSON *o, FILE *out)
{
	char *text = o ? cJSON_PrintUnformatted(o) : NULL;

	cJSON_Delete(o);
	if (!text)
		return &err_nomem;
	fprintf(out, "%s\n", text);
	free(text);
	return NULL;
}

struct err *report_slice_json(const struct report_slice *r, FILE *out)
{
	const struct fl_slice_stats *st = fl_slice_stats(r->slice);
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "at", r->at);
	cJSON_AddNumberToObject(o, "position", r->question->position);
	cJSON_AddNumberToObject(o, "instance", r->question->instance);
	cJSON_AddNumberToObject(o, "instances", r->question->instances);
	cJSON_AddNumberToObject(o, "thread", r->question->tid);
	list = cJSON_AddArrayToObject(o, "statements");
	for (size_t i = 0; i < r->view->statements.size; i++)
		cJSON_AddItemToArray(list, statement(r, &r->view->statements.data[i]));
	list = cJSON_AddArrayToObject(o, "edges");
	for (size_t i = 0; i < r->view->edges.size; i++)
		cJSON_AddItemToArray(list, edge(&r->view->edges.data[i]));
	if (r->potential)
		cJSON_AddItemToObject(o, "potential", potential(r->potential));
	cJSON_AddNumberToObject(o, "instructions", st->n_instances);
	cJSON_AddNumberToObject(o, "instructions_before", st->n_walked);
	cJSON_AddNumberToObject(o, "instructions_folded", r->view->n_folded);
	cJSON_AddNumberToObject(o, "saves_left_out", st->n_pairs);
	cJSON_AddNumberToObject(o, "right_left_out", st->n_right);
	cJSON_AddBoolToObject(o, "is_complete", !st->is_full);
	return print(o, out);
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

static cJSON *location(const struct fl_view_statement *st, const char *message)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *physical = cJSON_AddObjectToObject(o, "physicalLocation");
	_cleanup_free_ char *uri = report_uri(st->place.file);

	cJSON_AddStringToObject(cJSON_AddObjectToObject(physical, "artifactLocation"),
				"uri", uri);
	cJSON_AddNumberToObject(cJSON_AddObjectToObject(physical, "region"), "startLine",
				st->place.line);
	report_sarif_text(o, "message", message);
	return o;
}

/* One step of a code flow, in the order in which it ran: the earliest first. */
static cJSON *flow_step(const struct fl_view_statement *st)
{
	char value[200], text[300];
	cJSON *o = cJSON_CreateObject();

	report_slice_value(&st->made, value, sizeof(value));
	snprintf(text, sizeof(text), "%s%s%s",
		 st->is_seed ? "asked about" : fl_edge_name(st->edge), *value ? ": " : "",
		 value);
	cJSON_AddItemToObject(o, "location", location(st, text));
	return o;
}

static cJSON *result(const struct report_slice *r)
{
	cJSON *o = cJSON_CreateObject(), *flows, *steps;
	const struct fl_view_statement *seed = NULL;
	char text[300];

	for (size_t i = r->view->statements.size; i--;)
		if (r->view->statements.data[i].is_seed &&
		    r->view->statements.data[i].place.file)
			seed = &r->view->statements.data[i];
	snprintf(text, sizeof(text), "%zu statements had a part in %s",
		 r->view->statements.size, text_line(r->at));
	cJSON_AddStringToObject(o, "ruleId", "slice");
	cJSON_AddStringToObject(o, "level", "note");
	report_sarif_text(o, "message", text);
	flows = cJSON_AddArrayToObject(o, "locations");
	if (seed)
		cJSON_AddItemToArray(flows, location(seed, "asked about"));
	flows = cJSON_CreateObject();
	cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "codeFlows"), flows);
	steps = cJSON_CreateObject();
	cJSON_AddItemToArray(cJSON_AddArrayToObject(flows, "threadFlows"), steps);
	steps = cJSON_AddArrayToObject(steps, "locations");
	for (size_t i = r->view->statements.size; i--;)
		if (r->view->statements.data[i].place.file)
			cJSON_AddItemToArray(steps,
					     flow_step(&r->view->statements.data[i]));
	return o;
}

struct err *report_slice_sarif(const struct report_slice *r, FILE *out)
{
	cJSON *rules, *results, *o = report_sarif_log(&rules, &results);

	if (!o)
		return &err_nomem;
	report_sarif_rule(rules, "slice", "statements that had a part in something",
			  "executed statements that what was asked about depends on, by "
			  "values, by addresses, or because they decided what ran");
	cJSON_AddItemToArray(results, result(r));
	return print(o, out);
}
