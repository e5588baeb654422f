// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "report/end.h"
#include "report/json.h"
#include "report/missing.h"
#include "faultlocate/fl_asked.h"
#include "report/report.h"

static bool add(cJSON *o, const char *key, cJSON *item)
{
	return item && cJSON_AddItemToObject(o, key, item);
}

static cJSON *text_or_null(const char *text)
{
	return text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

cJSON *report_json_capture(const struct fl_analysis *a)
{
	bool is_signal = a->run.end == CAP_END_SIGNAL,
	     is_exit = a->run.end == CAP_END_EXIT, is_exec = a->run.end == CAP_END_EXEC;
	cJSON *o = cJSON_CreateObject();

	if (!o ||
	    !add(o, "complete",
		 cJSON_CreateBool(capture_info(a->capture)->is_complete)) ||
	    !add(o, "instructions", cJSON_CreateNumber(a->run.instructions)) ||
	    !add(o, "end",
		 cJSON_CreateString(is_signal ? "signal" :
				    is_exit   ? "exit" :
				    is_exec   ? "exec" :
						"unknown")) ||
	    !add(o, "signal",
		 is_signal ? cJSON_CreateNumber(a->run.end_value) : cJSON_CreateNull()) ||
	    !add(o, "exit_status",
		 is_exit ? cJSON_CreateNumber(a->run.end_value) : cJSON_CreateNull())) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

static cJSON *json_nodes(const struct spec_violation *v)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; list && i < SPEC_MAX_VARS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", v->binding.node[i].v);
		if (v->binding.node[i].v &&
		    !cJSON_AddItemToArray(list, cJSON_CreateString(name))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

/* The root that node @p id is, or NULL. */
static const struct spec_root *root_of(const struct fl_analysis *a, struct hg_node_id id,
				       size_t *index)
{
	uint32_t type = hg_graph_node(a->sides[FL_SIDE_APP].graph, id)->type;

	for (size_t i = 0; i < spec_roots(a->spec); i++)
		if (type == spec_root(a->spec, i)->type + 1) {
			*index = i;
			return spec_root(a->spec, i);
		}
	return NULL;
}

/* Which of the nodes are variables: their names and types. */
static cJSON *json_roots(const struct fl_analysis *a, const struct spec_violation *v)
{
	bool is_app = a->sides[FL_SIDE_APP].is_checked[v->constraint];
	cJSON *list = cJSON_CreateArray(), *o;

	for (size_t k = 0; list && is_app && k < SPEC_MAX_VARS; k++) {
		struct hg_node_id id = v->binding.node[k];
		const struct spec_root *r;
		char name[16];
		size_t i;

		r = id.v ? root_of(a, id, &i) : NULL;
		if (!r)
			continue;
		snprintf(name, sizeof(name), "n%u", id.v);
		o = cJSON_CreateObject();
		if (!o || !cJSON_AddItemToArray(list, o) ||
		    !add(o, "node", cJSON_CreateString(name)) ||
		    !add(o, "name", cJSON_CreateString(r->variable)) ||
		    !add(o, "type", text_or_null(a->variables.data[i].type))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

static cJSON *json_violation(const struct fl_analysis *a, const struct spec_violation *v)
{
	const struct spec_constraint *c = spec_constraint(a->spec, v->constraint);
	cJSON *o = cJSON_CreateObject();

	if (!o || !add(o, "constraint", cJSON_CreateString(c->name)) ||
	    !add(o, "spec", cJSON_CreateString(c->file)) ||
	    !add(o, "line", cJSON_CreateNumber(c->line)) ||
	    !add(o, "cpoint",
		 cJSON_CreateString(
			 fl_cpoints_get(a->cpoints, a->visit->cpoint)->name)) ||
	    !add(o, "time", cJSON_CreateNumber(a->visit->at.time)) ||
	    !add(o, "nodes", json_nodes(v)) ||
	    (spec_roots(a->spec) && !add(o, "roots", json_roots(a, v)))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

static bool add_call(cJSON *list, const struct dec_inlined *c)
{
	cJSON *call = cJSON_CreateObject();

	if (call && add(call, "file", text_or_null(c->file)) &&
	    add(call, "line", cJSON_CreateNumber(c->line)) &&
	    add(call, "function", text_or_null(c->function)) &&
	    cJSON_AddItemToArray(list, call))
		return true;
	cJSON_Delete(call);
	return false;
}

/* The calls that led to @p p: those that were inlined, and @p n others. */
static bool add_calls(cJSON *o, const struct dec_place *p,
		      const struct dec_inlined *callers, uint32_t n)
{
	cJSON *list = p->n_inlined + n ? cJSON_AddArrayToObject(o, "called_at") : NULL;
	bool is_done = list || !(p->n_inlined + n);

	for (uint32_t i = 0; is_done && i < p->n_inlined; i++)
		is_done = add_call(list, &p->inlined[i]);
	for (uint32_t i = 0; is_done && i < n; i++)
		is_done = add_call(list, &callers[i]);
	return is_done;
}

/* @p callers: n calls under way beyond those that were inlined there. */
static bool add_place(cJSON *o, const struct dec_place *p,
		      const struct dec_inlined *callers, uint32_t n)
{
	return add(o, "file", text_or_null(p->file ? p->file : p->module)) &&
	       add(o, "line", cJSON_CreateNumber(p->line)) &&
	       add(o, "function", text_or_null(p->function ? p->function : p->outer)) &&
	       (p->outer || !p->module ||
		add(o, "elf_address", cJSON_CreateNumber(p->offset))) &&
	       add_calls(o, p, callers, n);
}

static const char *const because_names[] = {
	[FL_BECAUSE_MOVED] = "moved",		[FL_BECAUSE_SAME] = "same",
	[FL_BECAUSE_STORED] = "stored",		[FL_BECAUSE_CHANGED] = "changed",
	[FL_BECAUSE_INTRODUCED] = "introduced", [FL_BECAUSE_STALE] = "stale",
	[FL_BECAUSE_MISSING] = "missing",
};

static cJSON *json_line(bool is_known, const struct dec_place *p)
{
	cJSON *o = is_known ? cJSON_CreateObject() : cJSON_CreateNull();

	if (o && (!is_known || add_place(o, p, NULL, 0)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static cJSON *json_since(const struct fl_analysis *a, const struct fl_missing *m)
{
	struct hg_op op = hg_graph_op(m->graph, m->last_op);
	struct dec_place place = {};
	cJSON *o;

	a->places.place(a->places.ctx, op.rip, &place);
	o = json_line(true, &place);
	if (o && add(o, "time", cJSON_CreateNumber(op.time)) &&
	    add(o, "allocated", cJSON_CreateBool(op.kind == HG_OP_ALLOC)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static cJSON *json_missing(const struct fl_analysis *a, const struct fl_missing *m)
{
	const struct fl_namer *n = &a->sides[FL_SIDE_APP].namer;
	char name[128], node[16], due[64];
	cJSON *o = cJSON_CreateObject();

	report_missing_field(n, m, name, sizeof(name));
	report_missing_due(n, m, due, sizeof(due));
	snprintf(node, sizeof(node), "n%u", m->node.v);
	if (o && add(o, "node", cJSON_CreateString(node)) &&
	    add(o, "field", cJSON_CreateString(name)) &&
	    add(o, "due", cJSON_CreateString(due)) &&
	    add(o, "function", text_or_null(m->function)) &&
	    add(o, "after", json_line(m->has_after, &m->after)) &&
	    add(o, "before", json_line(m->has_before, &m->before)) &&
	    add(o, "since", json_since(a, m)) &&
	    add(o, "usual", json_line(m->n_kept, &m->usual)) &&
	    add(o, "calls", cJSON_CreateNumber(m->n_calls)) &&
	    add(o, "kept", cJSON_CreateNumber(m->n_kept)) &&
	    add(o, "more", cJSON_CreateNumber(m->n_more)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

// What had better been stored: only histories of the program have it.
static cJSON *json_cure(const struct fl_analysis *a, const struct fl_fault *f)
{
	const struct fl_namer *n = &a->sides[FL_SIDE_APP].namer;
	char name[128], node[16], value[64];
	cJSON *o = cJSON_CreateObject();

	report_cure_field(n, &f->cure, name, sizeof(name));
	report_cure_value(n, &f->cure, f->time, value, sizeof(value));
	snprintf(node, sizeof(node), "n%u", f->cure.node.v);
	if (o && add(o, "node", cJSON_CreateString(node)) &&
	    add(o, "field", cJSON_CreateString(name)) &&
	    add(o, "value", cJSON_CreateString(value)) &&
	    add(o, "more", cJSON_CreateNumber(f->cure.n_more)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static cJSON *json_fault(const struct fl_analysis *a, const struct fl_fault *f)
{
	cJSON *o = cJSON_CreateObject();

	if (!o || !add_place(o, &f->place, f->callers, f->n_callers) ||
	    !add(o, "because", cJSON_CreateString(because_names[fl_fault_because(f)])) ||
	    !add(o, "time", cJSON_CreateNumber(f->time)) ||
	    !add(o, "instances", cJSON_CreateNumber(f->instances)) ||
	    (f->missing && !add(o, "missing", json_missing(a, f->missing))) ||
	    (f->cure.grade && !add(o, "instead", json_cure(a, f))) ||
	    (a->run.is_recovered &&
	     !add(o, "inferred",
		  cJSON_CreateBool(dec_run_is_inferred(&a->run, f->time))))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

static bool add_violations(const struct fl_analysis *a, cJSON *list)
{
	for (size_t side = 0; side < FL_SIDES; side++)
		for (size_t i = 0; a->visit && i < a->sides[side].errors.size; i++)
			if (!cJSON_AddItemToArray(
				    list,
				    json_violation(a, &a->sides[side].errors.data[i])))
				return false;
	return true;
}

static cJSON *json_counted(const char *key, const char *name, const char *file, int line,
			   const char *what, uint64_t n)
{
	cJSON *o = cJSON_CreateObject();

	if (!o || !add(o, key, cJSON_CreateString(name)) ||
	    !add(o, "spec", text_or_null(file)) ||
	    !add(o, "line", cJSON_CreateNumber(line)) ||
	    !add(o, what, cJSON_CreateNumber(n))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

// What was asked at all: nodes of each type, bindings of each constraint.
static bool add_checked(const struct fl_analysis *a, cJSON *o)
{
	cJSON *checked = cJSON_AddObjectToObject(o, "checked");
	cJSON *types = cJSON_AddArrayToObject(checked, "types");
	cJSON *constraints = cJSON_AddArrayToObject(checked, "constraints");
	bool is_done = types && constraints &&
		       add(checked, "nothing", cJSON_CreateBool(fl_asked_nothing(a)));

	for (size_t i = 0; is_done && i < spec_types(a->spec); i++) {
		const struct spec_type *t = spec_type(a->spec, i);

		is_done = cJSON_AddItemToArray(
			types, json_counted("type", t->name, t->file, t->line, "nodes",
					    fl_asked_nodes(a, i)));
	}
	for (size_t i = 0; is_done && i < spec_constraints(a->spec); i++) {
		const struct spec_constraint *c = spec_constraint(a->spec, i);

		is_done = cJSON_AddItemToArray(
			constraints, json_counted("constraint", c->name, c->file, c->line,
						  "asked", a->n_asked[i]));
	}
	return is_done;
}

/* @p is_users: with file and line, which are nothing to the user where a library's are. */
static cJSON *json_code(const struct fl_analysis *a, uint64_t rip, bool is_users)
{
	cJSON *o = cJSON_CreateObject();
	struct dec_place p = {};

	a->places.place(a->places.ctx, rip, &p);
	dec_place_to_users(&p);
	if (!is_users) {
		p.file = NULL;
		p.line = 0;
		p.n_inlined = 0;
	}
	if (!o || !add_place(o, &p, NULL, 0) ||
	    !add(o, "address", cJSON_CreateNumber(rip))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

cJSON *report_json_place(const struct fl_analysis *a, uint64_t rip)
{
	return json_code(a, rip, true);
}

cJSON *report_json_node(const struct fl_analysis *a, struct hg_node_id id)
{
	const struct hg_node *n;
	cJSON *o;
	char name[16];

	if (!id.v)
		return cJSON_CreateNull();
	n = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);
	o = cJSON_CreateObject();
	snprintf(name, sizeof(name), "n%u", id.v);
	if (!o || !add(o, "node", cJSON_CreateString(name)) ||
	    !add(o, "size", cJSON_CreateNumber(n->size)) ||
	    !add(o, "allocated", report_json_place(a, n->alloc_rip))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

static bool add_range(cJSON *o, const struct hg_access *x)
{
	cJSON *range = cJSON_AddObjectToObject(o, "range");

	return range &&
	       add(range, "of", cJSON_CreateString(x->is_behind ? "end" : "start")) &&
	       add(range, "first", cJSON_CreateNumber(x->least)) &&
	       add(range, "last", cJSON_CreateNumber(x->most)) &&
	       add(range, "end", cJSON_CreateNumber(x->end));
}

cJSON *report_json_chain(const struct fl_analysis *a, const struct hg_chain *c)
{
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; list && i < c->n; i++)
		if (!cJSON_AddItemToArray(list, report_json_place(a, c->rip[i]))) {
			cJSON_Delete(list);
			return NULL;
		}
	return list;
}

/* By which calls, and what else belongs to @p x. */
static bool add_around(const struct fl_analysis *a, cJSON *o, const struct hg_access *x)
{
	cJSON *chains = cJSON_AddArrayToObject(o, "callers"), *also;

	for (uint64_t i = 0; chains && i < x->n_chains && i < HG_ACCESS_CHAINS; i++)
		if (!cJSON_AddItemToArray(chains, report_json_chain(a, &x->chain[i])))
			return false;
	if (!chains || !add(o, "ways", cJSON_CreateNumber(x->n_chains)))
		return false;
	also = cJSON_AddArrayToObject(o, "also");
	for (uint64_t i = 0; also && i < x->n_others && i < HG_ACCESS_OTHERS; i++) {
		cJSON *other = report_json_place(a, x->other[i].rip);

		if (!cJSON_AddItemToArray(also, other) ||
		    !add(other, "write", cJSON_CreateBool(x->other[i].is_write)) ||
		    !add(other, "part", cJSON_CreateBool(x->other[i].is_part)) ||
		    !add(other, "instances", cJSON_CreateNumber(x->other[i].count)))
			return false;
	}
	return also;
}

static bool add_steps(const struct fl_analysis *a, cJSON *o, const struct hg_access *x)
{
	cJSON *steps = cJSON_AddArrayToObject(o, "derived");

	for (size_t i = 0; steps && i < x->n_steps; i++) {
		cJSON *step = report_json_place(a, x->step[i].rip);

		if (!cJSON_AddItemToArray(steps, step) ||
		    !add(step, "time", cJSON_CreateNumber(x->step[i].time)) ||
		    !add(step, "offset", cJSON_CreateNumber(x->step[i].offset)))
			return false;
	}
	return steps;
}

static cJSON *json_from(const struct fl_analysis *a, const struct hg_access *x)
{
	cJSON *o = report_json_node(a, x->from);

	if (o && add(o, "callers", report_json_chain(a, &x->allocated)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

cJSON *report_json_access(const struct fl_analysis *a, const struct hg_access *x)
{
	const struct hg_node *from = hg_graph_node(a->sides[FL_SIDE_APP].graph, x->from);
	_cleanup_free_ char *field = x->field ? strndup(x->field, x->field_length) : NULL;
	cJSON *o = cJSON_CreateObject();

	if (o && add(o, "kind", cJSON_CreateString(report_access_kind(x->kind))) &&
	    add(o, "write", cJSON_CreateBool(x->is_write)) &&
	    add(o, "at", report_json_place(a, x->rip)) &&
	    add(o, "instruction", json_code(a, x->pc, x->pc == x->rip)) &&
	    add(o, "time", cJSON_CreateNumber(x->time)) &&
	    add(o, "bytes", cJSON_CreateNumber(x->size)) &&
	    add(o, "offset",
		cJSON_CreateNumber((double)(int64_t)(x->addr - from->start))) &&
	    add_range(o, x) && add(o, "from", json_from(a, x)) &&
	    add(o, "to", report_json_node(a, x->to)) &&
	    add(o, "field", text_or_null(field)) &&
	    add(o, "instances", cJSON_CreateNumber(x->count)) &&
	    add(o, "writes", cJSON_CreateNumber(x->writes)) && add_around(a, o, x) &&
	    add_steps(a, o, x))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static bool add_accesses(const struct fl_analysis *a, cJSON *o)
{
	cJSON *list = cJSON_AddArrayToObject(o, "accesses");

	for (size_t i = 0; list && i < a->accesses.size; i++)
		if (!cJSON_AddItemToArray(list,
					  report_json_access(a, &a->accesses.data[i])))
			return false;
	return list;
}

static cJSON *json_release(const struct fl_analysis *a, const struct hg_release *r)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, r->node);
	bool is_again = n->start == r->addr && n->died <= r->time;
	cJSON *o = cJSON_CreateObject();

	if (o && add(o, "kind", cJSON_CreateString(is_again ? "again" : "inside")) &&
	    add(o, "at", report_json_place(a, r->rip)) &&
	    add(o, "time", cJSON_CreateNumber(r->time)) &&
	    add(o, "offset", cJSON_CreateNumber(r->addr - n->start)) &&
	    add(o, "of", report_json_node(a, r->node)) &&
	    add(o, "freed",
		is_again ? report_json_place(a, n->free_rip) : cJSON_CreateNull()) &&
	    add(o, "freed_time",
		is_again ? cJSON_CreateNumber(n->died) : cJSON_CreateNull()) &&
	    add(o, "instances", cJSON_CreateNumber(r->count)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static bool add_releases(const struct fl_analysis *a, cJSON *o)
{
	cJSON *list = cJSON_AddArrayToObject(o, "releases");
	size_t n = fl_releases(a);

	for (size_t i = 0; list && n; i++) {
		const struct hg_release *r = fl_release(a, i);

		if (r && !cJSON_AddItemToArray(list, json_release(a, r)))
			return false;
		n -= r != NULL;
	}
	return list;
}

static cJSON *json_unwritten(const struct fl_analysis *a, const struct fl_unwritten *u)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, u->node);
	cJSON *o = cJSON_CreateObject();
	char node[16], name[128];

	snprintf(node, sizeof(node), "n%u", u->node.v);
	report_unwritten_field(a, u, name, sizeof(name));
	if (o && add(o, "node", cJSON_CreateString(node)) &&
	    add(o, "field", cJSON_CreateString(name)) &&
	    add(o, "allocated", report_json_place(a, n->alloc_rip)) &&
	    add(o, "constraint",
		cJSON_CreateString(spec_constraint(a->spec, u->constraint)->name)) &&
	    add(o, "cpoint",
		cJSON_CreateString(fl_cpoints_get(a->cpoints, u->cpoint)->name)) &&
	    add(o, "time", cJSON_CreateNumber(u->time)) &&
	    add(o, "nodes", cJSON_CreateNumber(u->n_nodes)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static bool add_unwritten(const struct fl_analysis *a, cJSON *o)
{
	cJSON *list = cJSON_AddArrayToObject(o, "unwritten");

	for (size_t i = 0; list && i < a->unwritten.size; i++)
		if (!cJSON_AddItemToArray(list, json_unwritten(a, &a->unwritten.data[i])))
			return false;
	return list;
}

static cJSON *json_heap(const struct hg_graph *g)
{
	_cleanup_err_ struct err *err = NULL;
	cJSON *o = cJSON_CreateObject();
	struct hg_measure m;

	err = hg_graph_measure(g, &m);
	if (err || !o || !add(o, "nodes", cJSON_CreateNumber(m.nodes)) ||
	    !add(o, "operations", cJSON_CreateNumber(m.changes)) ||
	    !add(o, "edges", cJSON_CreateNumber(m.edges)) ||
	    !add(o, "clusters", cJSON_CreateNumber(m.clusters)) ||
	    !add(o, "splits", cJSON_CreateNumber(m.splits)) ||
	    !add(o, "bytes", cJSON_CreateNumber(m.log_bytes)) ||
	    !add(o, "node_bytes", cJSON_CreateNumber(m.node_bytes)) ||
	    !add(o, "all_bytes", cJSON_CreateNumber(m.all_bytes))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

// The allocator's view: the graph, and how many nodes of each kind there ever were.
static cJSON *json_internals(const struct fl_analysis *a)
{
	static const char *const names[HG_INTERNAL_KINDS] = {
		[HG_INTERNAL_CHUNK] = "chunks", [HG_INTERNAL_CACHED] = "cached",
		[HG_INTERNAL_FAST] = "fast",	[HG_INTERNAL_CACHE] = "caches",
		[HG_INTERNAL_BIN] = "bins",
	};
	uint64_t count[HG_INTERNAL_KINDS] = {}, n_taken = 0;
	cJSON *o;

	o = json_heap(a->sides[FL_SIDE_CHUNKS].graph);
	for (size_t i = 0; i < a->internals.size; i++) {
		count[a->internals.data[i].kind]++;
		n_taken += a->internals.data[i].taken != 0;
	}
	for (int kind = 0; kind < HG_INTERNAL_KINDS && o; kind++) {
		if (!add(o, names[kind], cJSON_CreateNumber(count[kind]))) {
			cJSON_Delete(o);
			return NULL;
		}
	}
	if (o && !add(o, "taken", cJSON_CreateNumber(n_taken))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

static cJSON *json_phases(const struct fl_phases *p)
{
	cJSON *o = cJSON_CreateObject();

	if (!o || !add(o, "infer_s", cJSON_CreateNumber(p->infer_s)) ||
	    !add(o, "replay_s", cJSON_CreateNumber(p->replay_s)) ||
	    !add(o, "match_s", cJSON_CreateNumber(p->match_s)) ||
	    !add(o, "locate_s", cJSON_CreateNumber(p->locate_s)) ||
	    !add(o, "end_s", cJSON_CreateNumber(p->end_s)) ||
	    !add(o, "access_s", cJSON_CreateNumber(p->access_s))) {
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

static bool add_faults(const struct fl_analysis *a, cJSON *list)
{
	for (size_t i = 0; i < a->faults.size; i++)
		if (!cJSON_AddItemToArray(list, json_fault(a, &a->faults.data[i])))
			return false;
	return true;
}

static bool add_notes(const struct fl_analysis *a, cJSON *o)
{
	cJSON *list = cJSON_AddArrayToObject(o, "notes");

	for (size_t i = 0; list && i < a->notes.size; i++)
		if (!cJSON_AddItemToArray(list, cJSON_CreateString(a->notes.data[i])))
			return false;
	return list;
}

static void cjson_deletep(cJSON **o)
{
	cJSON_Delete(*o);
}

struct err *report_json(const struct fl_analysis *a, const report_findings *f, FILE *out)
{
	_cleanup_(cjson_deletep) cJSON *o = cJSON_CreateObject();
	cJSON *violations, *faults;
	char *text;

	if (!o || !add(o, "version", cJSON_CreateNumber(1)) ||
	    !add(o, "capture", report_json_capture(a)))
		return &err_nomem;
	if (!add(o, "end", report_end_json(a)))
		return &err_nomem;
	violations = cJSON_AddArrayToObject(o, "violations");
	faults = cJSON_AddArrayToObject(o, "faults");
	if (!violations || !faults || !add_violations(a, violations) ||
	    !add_faults(a, faults))
		return &err_nomem;
	if ((spec_constraints(a->spec) && !add_checked(a, o)) || !add_releases(a, o) ||
	    !add_unwritten(a, o) || (a->has_accesses && !add_accesses(a, o)))
		return &err_nomem;
	if (f && !report_findings_add(a, f, o))
		return &err_nomem;
	if (!add(o, "heap",
		 a->is_without_history ? cJSON_CreateNull() :
					 json_heap(a->sides[FL_SIDE_APP].graph)) ||
	    (a->internals.size && !add(o, "internals", json_internals(a))) ||
	    !add_notes(a, o) || !add(o, "phases", json_phases(&a->phases)))
		return &err_nomem;
	text = cJSON_PrintUnformatted(o);
	if (!text)
		return &err_nomem;
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	return fflush(out) || ferror(out) ? err_errno("cannot write the result") : NULL;
}
