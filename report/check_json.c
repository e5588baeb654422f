// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What bug rules found, for programs: JSON of ours, and SARIF 2.1.0 (OASIS), which code scanners of
 * forges and editors read.
 */
#include "base/file.h"
#include "decode/symbols/variable.h"
#include "report/check.h"
#include "report/json.h"
#include "report/sarif.h"
#include "report/uri.h"

static bool add(cJSON *o, const char *key, cJSON *item)
{
	return item && cJSON_AddItemToObject(o, key, item);
}

static bool add_text(cJSON *o, const char *key, const char *text)
{
	return add(o, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static bool add_number(cJSON *o, const char *key, double n)
{
	return add(o, key, cJSON_CreateNumber(n));
}

static const struct spec_bug *rule_of(const struct fl_analysis *a,
				      const struct report_finding *x)
{
	return spec_bug(fl_check_rules(a->check), x->rule);
}

static void deletep(cJSON **o)
{
	cJSON_Delete(*o);
}

/* ---- ours --------------------------------------------------------------------------------------- */

static bool add_block(const struct fl_analysis *a, cJSON *o, uint32_t bid, uint64_t time)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;
	const struct hg_node *n = bid ? hg_graph_node(g, (struct hg_node_id){ bid }) :
					NULL;
	bool is_freed = n && n->died < time;

	return add(o, "block", report_json_node(a, (struct hg_node_id){ bid })) &&
	       add(o, "freed",
		   is_freed ? report_json_place(a, n->free_rip) : cJSON_CreateNull());
}

static bool add_values(cJSON *o, const struct spec_bug *b, const struct fl_error *e)
{
	cJSON *values = cJSON_AddObjectToObject(o, "values");
	char text[32];

	for (int i = 0; values && i < e->n_values; i++) {
		snprintf(text, sizeof(text), "%#llx", (unsigned long long)e->value[i].n);
		if (!add_text(values, b->arg[i], text))
			return false;
	}
	return values;
}

static cJSON *json_side(const struct fl_analysis *a, const struct fl_race_access *x)
{
	cJSON *o = report_json_place(a, x->rip), *callers, *locks;
	char text[32];

	if (!o || !add_number(o, "time", x->time) || !add_number(o, "thread", x->tid) ||
	    !add_number(o, "bytes", x->size) ||
	    !add(o, "write", cJSON_CreateBool(x->is_write)) ||
	    !add(o, "atomic", cJSON_CreateBool(x->is_atomic)))
		goto no_memory;
	callers = cJSON_AddArrayToObject(o, "callers");
	locks = cJSON_AddArrayToObject(o, "locks");
	for (uint32_t i = 0; i < x->n_callers; i++)
		if (!cJSON_AddItemToArray(callers, report_json_place(a, x->caller[i])))
			goto no_memory;
	for (uint32_t i = 0; i < x->n_locks && i < FL_RACE_LOCKS; i++) {
		snprintf(text, sizeof(text), "%#llx",
			 (unsigned long long)(x->lock[i] & ~1ull));
		if (!cJSON_AddItemToArray(locks, cJSON_CreateString(text)))
			goto no_memory;
	}
	if (callers && locks)
		return o;
no_memory:
	cJSON_Delete(o);
	return NULL;
}

/* Of a race both accesses, the later first, and the variable that they meet in. */
static bool add_race(const struct fl_analysis *a, cJSON *o, const struct fl_race *r)
{
	struct dec_global g = {};

	if (!r)
		return true;
	dec_symbols_global(a->symbols, r->later.addr, &g);
	return add(o, "one", json_side(a, &r->later)) &&
	       add(o, "other", json_side(a, &r->earlier)) &&
	       add_text(o, "variable", g.name);
}

static bool add_error(const struct fl_analysis *a, cJSON *o, const struct spec_bug *b,
		      const struct fl_error *e)
{
	uint32_t bid = e->bound.bid ? e->bound.bid : e->value[0].bid;
	cJSON *callers = cJSON_AddArrayToObject(o, "callers");

	return callers &&
	       cJSON_AddItemToArray(callers, report_json_chain(a, &e->callers)) &&
	       add_number(o, "instances", e->count) && add_number(o, "bytes", e->bytes) &&
	       add_block(a, o, bid, e->time) && add_values(o, b, e) &&
	       add_race(a, o, e->race);
}

static cJSON *json_links(const struct fl_analysis *a, const struct fl_chain *c)
{
	cJSON *list = cJSON_CreateArray();
	char text[32];

	for (size_t i = 0; list && i < c->links.size; i++) {
		const struct fl_chain_link *l = &c->links.data[i];
		cJSON *o = report_json_place(a, l->rip);

		snprintf(text, sizeof(text), "%#llx", (unsigned long long)l->value);
		if (!cJSON_AddItemToArray(list, o) || !add_number(o, "time", l->time) ||
		    !add_text(o, "value", l->has_value ? text : NULL) ||
		    !add(o, "arithmetic", cJSON_CreateBool(l->is_arithmetic))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

static bool add_chains(const struct fl_analysis *a, cJSON *o,
		       const struct report_finding *x)
{
	cJSON *list = cJSON_AddArrayToObject(o, "chains");

	for (size_t i = 0; list && i < a->chains.size; i++) {
		const struct fl_found_chain *c = &a->chains.data[i];
		cJSON *chain = report_chain_is_of(c, x) ? cJSON_CreateObject() : NULL;

		if (chain && (!cJSON_AddItemToArray(list, chain) ||
			      !add_text(chain, "of", c->name) ||
			      !add_text(chain, "end", report_chain_end(c->chain.end)) ||
			      !add_number(chain, "length", fl_chain_length(&c->chain)) ||
			      !add(chain, "links", json_links(a, &c->chain))))
			return false;
	}
	return list;
}

static cJSON *json_finding(const struct fl_analysis *a, const struct report_finding *x)
{
	const struct spec_bug *b = rule_of(a, x);
	_cleanup_free_ char *message = report_finding_message(a, x);
	cJSON *o = x->access ? report_json_access(a, x->access) : cJSON_CreateObject();

	if (o && add_chains(a, o, x) && add_text(o, "rule", b->name) &&
	    add_text(o, "severity", spec_severity_name(b->severity)) &&
	    add_text(o, "message", message) &&
	    (x->access ? add_block(a, o, x->access->from.v, x->access->time) :
			 add(o, "at", report_json_place(a, x->error->rip)) &&
				 add_number(o, "time", x->error->time) &&
				 add_error(a, o, b, x->error)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static bool add_rules(const struct fl_analysis *a, cJSON *o)
{
	const struct spec *rules = fl_check_rules(a->check);
	cJSON *list = cJSON_AddArrayToObject(o, "rules");

	for (size_t i = 0; list && i < spec_bugs(rules); i++)
		if (fl_check_is_on(a->check, i) &&
		    !cJSON_AddItemToArray(list,
					  cJSON_CreateString(spec_bug(rules, i)->name)))
			return false;
	return list;
}

bool report_findings_add(const struct fl_analysis *a, const report_findings *f, cJSON *o)
{
	cJSON *list;

	if (!add_rules(a, o))
		return false;
	list = cJSON_AddArrayToObject(o, "findings");
	for (size_t i = 0; list && i < f->size; i++)
		if (!cJSON_AddItemToArray(list, json_finding(a, &f->data[i])))
			return false;
	return list;
}

static bool add_all(const struct fl_analysis *a, const report_findings *f, cJSON *o)
{
	cJSON *notes;

	if (!add_number(o, "version", 1) || !add(o, "capture", report_json_capture(a)) ||
	    !report_findings_add(a, f, o))
		return false;
	notes = cJSON_AddArrayToObject(o, "notes");
	for (size_t i = 0; notes && i < a->notes.size; i++)
		if (!cJSON_AddItemToArray(notes, cJSON_CreateString(a->notes.data[i])))
			return false;
	return notes && add_number(o, "check_s", a->phases.access_s);
}

struct err *report_check_json(const struct fl_analysis *a, const report_findings *f,
			      FILE *out)
{
	_cleanup_(deletep) cJSON *o = cJSON_CreateObject();
	char *text = o && add_all(a, f, o) ? cJSON_PrintUnformatted(o) : NULL;

	if (!text)
		return &err_nomem;
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	return fflush(out) || ferror(out) ? err_errno("cannot write the result") : NULL;
}

/* ---- SARIF -------------------------------------------------------------------------------------- */

static const char *sarif_level(enum spec_severity severity)
{
	return spec_severity_name(severity); // theirs are the same words
}

/* A statement; of code without lines what it is in. */
static cJSON *sarif_location(const struct fl_analysis *a, uint64_t rip, const char *what)
{
	cJSON *o = cJSON_CreateObject(), *physical, *part;
	struct dec_place p = {};
	_cleanup_free_ char *uri = NULL;
	bool is_done;

	a->places.place(a->places.ctx, rip, &p);
	physical = o ? cJSON_AddObjectToObject(o, "physicalLocation") : NULL;
	part = physical ? cJSON_AddObjectToObject(physical, "artifactLocation") : NULL;
	uri = report_uri(p.file ?: p.module ?: "unknown");
	is_done = part && uri && add_text(part, "uri", uri);
	if (is_done && p.line) {
		part = cJSON_AddObjectToObject(physical, "region");
		is_done = part && add_number(part, "startLine", p.line);
	}
	if (is_done && what)
		is_done = report_sarif_text(o, "message", what);
	if (is_done)
		return o;
	cJSON_Delete(o);
	return NULL;
}

static bool add_stack(const struct fl_analysis *a, cJSON *o, uint64_t rip,
		      const struct hg_chain *c)
{
	cJSON *stacks = cJSON_AddArrayToObject(o, "stacks"),
	      *stack = cJSON_CreateObject();
	cJSON *frames = stack ? cJSON_AddArrayToObject(stack, "frames") : NULL;

	if (!frames || !cJSON_AddItemToArray(stacks, stack))
		return false;
	for (uint32_t i = 0; i <= c->n; i++) {
		cJSON *frame = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(frames, frame) ||
		    !add(frame, "location",
			 sarif_location(a, i ? c->rip[i - 1] : rip, NULL)))
			return false;
	}
	return true;
}

static bool add_related(const struct fl_analysis *a, cJSON *o, uint32_t bid,
			uint64_t time)
{
	cJSON *list = cJSON_AddArrayToObject(o, "relatedLocations");
	const struct hg_node *n;

	if (!list || !bid)
		return list;
	n = hg_graph_node(a->sides[FL_SIDE_APP].graph, (struct hg_node_id){ bid });
	if (!cJSON_AddItemToArray(list,
				  sarif_location(a, n->alloc_rip, "allocated here")))
		return false;
	return n->died >= time ||
	       cJSON_AddItemToArray(list, sarif_location(a, n->free_rip, "freed here"));
}

enum { LINK_TEXT = 200 };

/* "r = 0x55d6 in order_make" */
static void link_text(const struct fl_analysis *a, const struct fl_found_chain *c,
		      const struct fl_chain_link *l, char ret[LINK_TEXT])
{
	struct dec_place p = {};
	char value[24] = "";

	a->places.place(a->places.ctx, l->rip, &p);
	if (l->has_value)
		snprintf(value, sizeof(value), " = %#llx", (unsigned long long)l->value);
	snprintf(ret, LINK_TEXT, "%s%s%s%s", c->name, value, p.function ? " in " : "",
		 p.function ?: "");
}

/* Each chain as a flow, which goes forward. */
static bool add_flows(const struct fl_analysis *a, cJSON *o,
		      const struct report_finding *x)
{
	cJSON *flows = cJSON_AddArrayToObject(o, "codeFlows");

	for (size_t i = 0; flows && i < a->chains.size; i++) {
		const struct fl_found_chain *c = &a->chains.data[i];
		cJSON *flow, *threads, *thread = cJSON_CreateObject(), *list;
		char text[LINK_TEXT];

		if (!report_chain_is_of(c, x) || !c->chain.links.size) {
			cJSON_Delete(thread);
			continue;
		}
		flow = cJSON_CreateObject();
		if (!cJSON_AddItemToArray(flows, flow) ||
		    !(threads = cJSON_AddArrayToObject(flow, "threadFlows")) ||
		    !cJSON_AddItemToArray(threads, thread) ||
		    !(list = cJSON_AddArrayToObject(thread, "locations")))
			return false;
		for (size_t k = c->chain.links.size; k--;) {
			cJSON *at = cJSON_CreateObject();

			link_text(a, c, &c->chain.links.data[k], text);
			if (!cJSON_AddItemToArray(list, at) ||
			    !add(at, "location",
				 sarif_location(a, c->chain.links.data[k].rip, text)))
				return false;
		}
	}
	return flows;
}

static cJSON *sarif_result(const struct fl_analysis *a, const struct report_finding *x)
{
	const struct spec_bug *b = rule_of(a, x);
	_cleanup_free_ char *message = report_finding_message(a, x);
	uint64_t rip = report_finding_rip(x);
	uint32_t bid = x->access	   ? x->access->from.v :
		       x->error->bound.bid ? x->error->bound.bid :
					     x->error->value[0].bid;
	const struct hg_chain *callers = x->access ? &x->access->chain[0] :
						     &x->error->callers;
	cJSON *o = cJSON_CreateObject(), *locations;

	if (o && add_text(o, "ruleId", b->name) &&
	    add_text(o, "level", sarif_level(b->severity)) &&
	    report_sarif_text(o, "message", message) &&
	    (locations = cJSON_AddArrayToObject(o, "locations")) &&
	    cJSON_AddItemToArray(locations, sarif_location(a, rip, NULL)) &&
	    add_stack(a, o, rip, callers) && add_related(a, o, bid, x->time) &&
	    add_flows(a, o, x))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static cJSON *sarif(const struct fl_analysis *a, const report_findings *f)
{
	const struct spec *rules = fl_check_rules(a->check);
	cJSON *list, *results, *o = report_sarif_log(&list, &results);
	bool is_done = o != NULL;

	for (size_t i = 0; i < spec_bugs(rules) && is_done; i++) {
		const struct spec_bug *b = spec_bug(rules, i);

		// The rule itself says it exactly.
		if (fl_check_is_on(a->check, i))
			is_done = report_sarif_rule(list, b->name, b->message ?: b->name,
						    b->text);
	}
	for (size_t i = 0; i < f->size && is_done; i++)
		is_done = cJSON_AddItemToArray(results, sarif_result(a, &f->data[i]));
	if (is_done)
		return o;
	cJSON_Delete(o);
	return NULL;
}

struct err *report_check_sarif(const struct fl_analysis *a, const report_findings *f,
			       const char *path)
{
	_cleanup_(deletep) cJSON *o = sarif(a, f);
	char *text = o ? cJSON_Print(o) : NULL;
	_cleanup_free_ char *clean = text ? text_cleaned(text, TEXT_JSON) : NULL;
	_cleanup_(new_file_deinit) struct new_file file = {};
	struct err *err = clean ? new_file_open(&file, path, 0666) : &err_nomem;

	cJSON_free(text);
	if (err)
		return err;
	if (fprintf(file.stream, "%s\n", clean) < 0)
		return err_errno("cannot write '%s'", path);
	return new_file_commit(&file);
}
