// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Why a program ended that a signal ended (faultlocate/fl_end.h), for people and as JSON.
 */
#include <signal.h>
#include <string.h>

#include "report/end.h"
#include "report/source.h"

#define COPIES_SHOWN 4

static const char *signal_name(int signal)
{
	const char *name = sigabbrev_np(signal);

	return name ? name : "?";
}

/* ---- calls ------------------------------------------------------------------------------ */

/* C++'s names of std, as far as an end leads there: _ZSt9terminatev, _ZSt20__throw_length_errorPKc. */
static void print_function(const char *name, FILE *out)
{
	unsigned n = 0;
	int at = 0;

	// Another name of malloc(), and the like.
	if (!strncmp(name, "__libc_", 7) && strncmp(name, "__libc_start", 12))
		name += 7;
	if (sscanf(name, "_ZSt%u%n", &n, &at) == 1 && at && strlen(name + at) >= n)
		fprintf(out, "std::%.*s", (int)n, name + at);
	else
		fputs(name, out);
}

static const char *function_of(const struct fl_end_frame *f)
{
	return f->place.function ? f->place.function : f->place.outer;
}

/* Library frames @p first to @p last, innermost first, in a line: the first of them that has a
 * name of its own, and the one that the user's code called. */
static void print_folded(const struct fl_end *e, size_t first, size_t last, FILE *out)
{
	const char *inner = NULL, *outer = NULL;

	for (size_t i = first; i <= last; i++) {
		const char *name = function_of(&e->frames.data[i]);

		if (!name || (name[0] == '_' && name[1] == '_' && i < last &&
			      strncmp(name, "__cxa", 5)))
			continue;
		if (!inner || strcmp(name, "abort") == 0)
			inner = name;
		outer = name;
	}
	fputs("  in ", out);
	if (inner) {
		print_function(inner, out);
		fputs("()", out);
	}
	if (outer && outer != inner && strcmp(inner, outer)) {
		fputs(" called by ", out);
		print_function(outer, out);
		fputs("()", out);
	}
	if (!inner)
		fprintf(out, "code of %s", e->frames.data[last].place.module ?: "nobody");
	fputc('\n', out);
}

static void print_frame(const struct fl_analysis *a, const struct fl_end_frame *f,
			bool is_first, FILE *out)
{
	fputs(is_first ? "  at " : "  called at ", out);
	dec_place_print(&f->place, out);
	if (f->arguments && function_of(f))
		fprintf(out, "(%s)", f->arguments);
	fputc('\n', out);
	if (is_first)
		report_source_line(a, &f->place, out);
}

/* Do library frames @p first to @p last start the program? That is nobody's concern. */
static bool is_start(const struct fl_end *e, size_t first, size_t last)
{
	for (size_t i = first; i <= last; i++) {
		const char *name = function_of(&e->frames.data[i]);

		if (name && !strncmp(name, "__libc_start", 12))
			return true;
	}
	return first && last + 1 == e->frames.size;
}

static void print_frames(const struct fl_analysis *a, FILE *out)
{
	const struct fl_end *e = &a->end;
	size_t n = e->frames.size;
	bool is_first = true;

	for (size_t i = 0; i < n; i++) {
		size_t last = i;

		while (last + 1 < n && e->frames.data[last].is_library &&
		       e->frames.data[last + 1].is_library)
			last++;
		if (e->n_hidden && i <= e->hidden_at && e->hidden_at <= last)
			fprintf(out, "  (%llu more calls in between)\n",
				(unsigned long long)e->n_hidden);
		if (e->frames.data[i].is_library && is_start(e, i, last))
			break;
		if (e->frames.data[i].is_library)
			print_folded(e, i, last, out);
		else
			print_frame(a, &e->frames.data[i], is_first, out);
		is_first &= e->frames.data[i].is_library;
		i = last;
	}
}

/* ---- the value ---------------------------------------------------------------------------- */

static const char *const bad_names[] = {
	[FL_BAD_NOT] = "right",		 [FL_BAD_NULL] = "null",
	[FL_BAD_SMALL] = "small number", [FL_BAD_TEXT] = "text",
	[FL_BAD_FREED] = "freed",	 [FL_BAD_NOWHERE] = "unmapped",
	[FL_BAD_FORM] = "no address",	 [FL_BAD_PROTECTED] = "protected",
	[FL_BAD_BEYOND] = "beyond file", [FL_BAD_INDEX] = "index",
	[FL_BAD_DIVISOR] = "divisor",
};

static const char *const made_names[] = {
	[FL_MADE_UNKNOWN] = "unknown",		 [FL_MADE_STORED] = "stored",
	[FL_MADE_RETURNED] = "returned",	 [FL_MADE_INPUT] = "input",
	[FL_MADE_LOCAL] = "uninitialised local", [FL_MADE_HEAP] = "uninitialised heap",
	[FL_MADE_STATIC] = "never written",	 [FL_MADE_FREED] = "freed memory",
	[FL_MADE_DEAD] = "dead stack frame",
};

static void print_chars(uint64_t value, FILE *out)
{
	fputc('"', out);
	for (; value; value >>= 8)
		if ((value & 0xff) == '"' || (value & 0xff) == '\\')
			fprintf(out, "\\%c", (int)(value & 0xff));
		else
			fputc((int)(value & 0xff), out);
	fputc('"', out);
}

static void print_node(const struct fl_analysis *a, struct hg_node_id id, FILE *out)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);
	struct dec_place p = {};

	a->places.place(a->places.ctx, n->alloc_rip, &p);
	fprintf(out, "n%u (%llu bytes, allocated at ", id.v, (unsigned long long)n->size);
	dec_place_print(&p, out);
	fputc(')', out);
}

static void print_freed_at(const struct fl_analysis *a, struct hg_node_id id, FILE *out)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);
	struct dec_place p = {};

	a->places.place(a->places.ctx, n->free_rip, &p);
	fputs(", freed at ", out);
	dec_place_print(&p, out);
	fprintf(out, " (time %llu)", (unsigned long long)n->died);
}

static void print_bad(const struct fl_analysis *a, FILE *out)
{
	const struct fl_end_value *v = &a->end.value;
	unsigned long long n = v->value;
	const char *name = v->name[0] ? v->name : "the address";

	if (v->bad == FL_BAD_INDEX || v->bad == FL_BAD_DIVISOR)
		name = v->name[0]	      ? v->name :
		       v->bad == FL_BAD_INDEX ? "the index" :
						"the divisor";
	fprintf(out, "  %s is ", name);
	switch (v->bad) {
	case FL_BAD_NULL:
		fputs("NULL", out);
		break;
	case FL_BAD_SMALL:
		fprintf(out, "%#llx, which is no address but a small number", n);
		break;
	case FL_BAD_TEXT:
		fprintf(out, "%#llx, which is no address but text: ", n);
		print_chars(n, out);
		break;
	case FL_BAD_FREED:
		fprintf(out, "%#llx, in ", n);
		print_node(a, v->node, out);
		print_freed_at(a, v->node, out);
		break;
	case FL_BAD_NOWHERE:
		fprintf(out, "%#llx, where no memory is", n);
		break;
	case FL_BAD_FORM:
		fprintf(out, "%#llx, which no address can be", n);
		break;
	case FL_BAD_PROTECTED:
		fprintf(out, "%#llx, memory that may not be %s", n,
			a->end.kind == FL_END_JUMP ? "run" :
			a->end.is_write		   ? "written" :
						     "read");
		break;
	case FL_BAD_BEYOND:
		fprintf(out, "%#llx, where a file is mapped that ends before", n);
		break;
	case FL_BAD_INDEX:
		fprintf(out, "%lld, which leads outside of memory", (long long)n);
		break;
	default:
		fputs("0", out);
	}
	fputc('\n', out);
}

static void print_statement(const struct fl_statement *s, FILE *out)
{
	dec_place_print(&s->place, out);
	fprintf(out, " (time %llu)", (unsigned long long)s->time);
}

static void print_how(const struct fl_analysis *a, FILE *out)
{
	const struct fl_end_value *v = &a->end.value;
	const struct fl_statement *s = &v->statement;

	switch (v->made) {
	case FL_MADE_STORED:
		fputs("  made at ", out);
		break;
	case FL_MADE_RETURNED:
		fputs("  returned by ", out);
		print_function(s->by ? s->by : "a library", out);
		fputs(s->by ? "(), called at " : ", called at ", out);
		break;
	case FL_MADE_INPUT:
		fputs("  given by the system at ", out);
		break;
	case FL_MADE_LOCAL:
		fputs("  never written since its function was called at ", out);
		break;
	case FL_MADE_HEAP:
		fprintf(out,
			"  a part of n%u that was never written since it was "
			"allocated at ",
			v->node.v);
		break;
	case FL_MADE_FREED:
		fputs("  read from ", out);
		print_node(a, v->node, out);
		fputs(" after that was freed at ", out);
		break;
	case FL_MADE_STATIC:
		fputs("  as the program's file has it: never written\n", out);
		return;
	case FL_MADE_DEAD:
		fputs("  read from the stack where the variables of a function were that "
		      "has returned",
		      out);
		if (v->has_statement)
			fputs("; the address was taken at ", out);
		else
			fputc('\n', out);
		if (!v->has_statement)
			return;
		break;
	default:
		return;
	}
	print_statement(s, out);
	fputc('\n', out);
	report_source_line(a, &s->place, out);
}

static void print_smash(const struct fl_analysis *a, FILE *out)
{
	const struct fl_smash *s = &a->end.smash;

	if (!s->statement.rip)
		return;
	fprintf(out, "  %s was overwritten at ",
		s->is_guard	    ? "the stack guard" :
		s->is_frame_pointer ? "the saved frame pointer" :
				      "the return address");
	print_statement(&s->statement, out);
	fputc('\n', out);
	report_source_line(a, &s->statement.place, out);
}

static bool is_same_line(const struct dec_place *a, const struct dec_place *b)
{
	return a->line == b->line && a->file && b->file && !strcmp(a->file, b->file);
}

static void print_copies(const struct fl_end_value *v, FILE *out)
{
	const struct dec_place *last = v->has_statement ? &v->statement.place : NULL;
	unsigned shown = 0;

	for (size_t i = v->copies.size; i--;) {
		const struct fl_statement *s = &v->copies.data[i];

		if (last && is_same_line(last, &s->place))
			continue;
		last = &s->place;
		if (shown++ == COPIES_SHOWN) {
			fputs("    ...\n", out);
			return;
		}
		fputs("    copied at ", out);
		print_statement(s, out);
		fputc('\n', out);
	}
}

/* ---- all of it ------------------------------------------------------------------------- */

static void print_what(const struct fl_analysis *a, FILE *out)
{
	const struct fl_end *e = &a->end;
	const struct fl_end_value *v = &e->value;
	int signal = a->run.end_value;

	fprintf(out, "the end: SIG%s, ", signal_name(signal));
	switch (e->kind) {
	case FL_END_ACCESS:
		fputs(e->is_write ? "write" : "read", out);
		if (e->bytes)
			fprintf(out, " of %u byte%s", e->bytes, e->bytes == 1 ? "" : "s");
		fprintf(out, " at address %#llx", (unsigned long long)e->address);
		if (e->has_value && v->access[0])
			fprintf(out, ": %s", v->access);
		break;
	case FL_END_JUMP:
		fprintf(out, "%s address %#llx, which is no code",
			e->has_value && !v->name[0] ? "return or call to" : "call of",
			(unsigned long long)e->address);
		break;
	case FL_END_STACK:
		fprintf(out, "the stack is used up, %zu calls deep", e->calls.size);
		break;
	case FL_END_DIVISION:
		fputs(e->has_value ? "division by zero" :
				     "division with a result that is too large",
		      out);
		break;
	case FL_END_ILLEGAL:
		fputs("no valid instruction", out);
		break;
	case FL_END_TRAP:
		fputs("a trap that the compiler put where the program must not come",
		      out);
		break;
	default:
		fputs(signal == SIGABRT ? "the program gave up" : "sent to the program",
		      out);
	}
	fputc('\n', out);
}

void report_end(const struct fl_analysis *a, FILE *out)
{
	const struct fl_end *e = &a->end;

	if (!e->is_known)
		return;
	print_what(a, out);
	for (const char *line = e->message; line && *line;) {
		size_t n = strcspn(line, "\n");

		fprintf(out, "  said: %.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	print_frames(a, out);
	print_smash(a, out);
	if (!e->has_value)
		return;
	print_bad(a, out);
	print_how(a, out);
	print_copies(&e->value, out);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static const char *const kind_names[] = {
	[FL_END_SENT] = "sent",		[FL_END_ACCESS] = "access",
	[FL_END_JUMP] = "jump",		[FL_END_STACK] = "stack",
	[FL_END_DIVISION] = "division", [FL_END_ILLEGAL] = "illegal",
	[FL_END_TRAP] = "trap",
};

static bool add(cJSON *o, const char *key, cJSON *item)
{
	return item && cJSON_AddItemToObject(o, key, item);
}

static cJSON *text_or_null(const char *text)
{
	return text && *text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

static bool add_place(cJSON *o, const struct dec_place *p)
{
	return add(o, "file", text_or_null(p->file ? p->file : p->module)) &&
	       add(o, "line", cJSON_CreateNumber(p->line)) &&
	       add(o, "function", text_or_null(p->function ? p->function : p->outer));
}

static bool add_frames(cJSON *o, const struct fl_end *e)
{
	cJSON *list = cJSON_AddArrayToObject(o, "frames");

	for (size_t i = 0; list && i < e->frames.size; i++) {
		const struct fl_end_frame *f = &e->frames.data[i];
		cJSON *frame = cJSON_CreateObject();

		if (!frame || !add_place(frame, &f->place) ||
		    !add(frame, "arguments", text_or_null(f->arguments)) ||
		    !add(frame, "library", cJSON_CreateBool(f->is_library)) ||
		    !cJSON_AddItemToArray(list, frame)) {
			cJSON_Delete(frame);
			return false;
		}
	}
	return list;
}

static cJSON *json_statement(const struct fl_statement *s)
{
	cJSON *o = cJSON_CreateObject();

	if (o && add_place(o, &s->place) && add(o, "time", cJSON_CreateNumber(s->time)) &&
	    add(o, "by", text_or_null(s->by)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

static cJSON *json_node(const struct fl_analysis *a, struct hg_node_id id)
{
	const struct hg_node *n;
	struct dec_place p = {};
	cJSON *o, *at;
	char name[16];

	if (!id.v)
		return cJSON_CreateNull();
	n = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);
	o = cJSON_CreateObject();
	snprintf(name, sizeof(name), "n%u", id.v);
	if (!o || !add(o, "node", cJSON_CreateString(name)))
		goto fail;
	for (int is_free = 0; is_free < 2; is_free++) {
		p = (struct dec_place){};
		if (is_free && !n->free_rip)
			break;
		at = cJSON_AddObjectToObject(o, is_free ? "freed" : "allocated");
		a->places.place(a->places.ctx, is_free ? n->free_rip : n->alloc_rip, &p);
		if (!at || !add_place(at, &p))
			goto fail;
	}
	return o;
fail:
	cJSON_Delete(o);
	return NULL;
}

static cJSON *json_value(const struct fl_analysis *a)
{
	const struct fl_end_value *v = &a->end.value;
	cJSON *o = cJSON_CreateObject(), *list;
	char number[24];

	snprintf(number, sizeof(number), "%#llx", (unsigned long long)v->value);
	if (!o || !add(o, "name", text_or_null(v->name)) ||
	    !add(o, "value", cJSON_CreateString(number)) ||
	    !add(o, "is", cJSON_CreateString(bad_names[v->bad])) ||
	    !add(o, "because", cJSON_CreateString(made_names[v->made])) ||
	    !add(o, "statement",
		 v->has_statement ? json_statement(&v->statement) : cJSON_CreateNull()) ||
	    !add(o, "node", json_node(a, v->node)))
		goto fail;
	list = cJSON_AddArrayToObject(o, "copies");
	for (size_t i = 0; list && i < v->copies.size; i++)
		if (!cJSON_AddItemToArray(list, json_statement(&v->copies.data[i])))
			goto fail;
	if (list)
		return o;
fail:
	cJSON_Delete(o);
	return NULL;
}

cJSON *report_end_json(const struct fl_analysis *a)
{
	const struct fl_end *e = &a->end;
	cJSON *o;
	char address[24], signal[32];

	if (!e->is_known)
		return cJSON_CreateNull();
	o = cJSON_CreateObject();
	snprintf(address, sizeof(address), "%#llx", (unsigned long long)e->address);
	snprintf(signal, sizeof(signal), "SIG%s", signal_name(a->run.end_value));
	if (o && add(o, "signal", cJSON_CreateString(signal)) &&
	    add(o, "kind", cJSON_CreateString(kind_names[e->kind])) &&
	    add(o, "address",
		e->kind == FL_END_ACCESS || e->kind == FL_END_JUMP ?
			cJSON_CreateString(address) :
			cJSON_CreateNull()) &&
	    add(o, "access", text_or_null(e->value.access)) &&
	    add(o, "write", cJSON_CreateBool(e->is_write)) &&
	    add(o, "message", text_or_null(e->message)) &&
	    add(o, "calls", cJSON_CreateNumber(e->calls.size)) && add_frames(o, e) &&
	    add(o, "value", e->has_value ? json_value(a) : cJSON_CreateNull()) &&
	    add(o, "overwritten",
		e->smash.statement.rip ? json_statement(&e->smash.statement) :
					 cJSON_CreateNull()))
		return o;
	cJSON_Delete(o);
	return NULL;
}
