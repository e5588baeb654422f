// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/inputs.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <string.h>

#include "decode/explain/history.h"

#define SHOWN_TEXT 48 // characters of a run

static const struct {
	const char *name;
	uint8_t weak, strong;
} roles[] = {
	{ "derived", FL_ROLE_DERIVED, FL_ROLE_DERIVED_STRONG },
	{ "control", FL_ROLE_CONTROL, FL_ROLE_CONTROL_STRONG },
	{ "address", FL_ROLE_ADDRESS, FL_ROLE_ADDRESS_STRONG },
};
enum { ROLES = sizeof(roles) / sizeof(*roles) };

/* ---- pieces ------------------------------------------------------------------------------------ */

static int byte_of(const struct report_inputs *r, const struct fl_input *in)
{
	const struct fl_source *f = &r->sources->all.data[in->source];

	return in->offset < f->bytes.size ? f->bytes.data[in->offset] : -1;
}

/* Write byte @p c as in a C text. */
static int spell(char *to, size_t size, int c)
{
	if (c < 0)
		return snprintf(to, size, "?");
	if (c == '\n')
		return snprintf(to, size, "\\n");
	if (c == '\t')
		return snprintf(to, size, "\\t");
	if (!c)
		return snprintf(to, size, "\\0");
	if (c == '"' || c == '\\')
		return snprintf(to, size, "\\%c", c);
	return isprint(c) && c < 0x80 ? snprintf(to, size, "%c", c) :
					snprintf(to, size, "\\x%02x", c);
}

static const char *file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* Write the chain from link @p k on: ` -> 0 (cmp, parse.c:12) -> ...`. */
static void spell_chain(const struct report_inputs *r, uint32_t k, char *to, size_t size)
{
	size_t n = 0;

	*to = 0;
	for (; k && n + 1 < size; k = r->inputs->links.data[k].next) {
		const struct fl_link *l = &r->inputs->links.data[k];
		int got = snprintf(to + n, size - n, " -> %ld", (long)l->value);

		n += got > 0 ? got : 0;
		if (n + 1 < size && (*l->name || l->place.file))
			n += snprintf(to + n, size - n, " (%s%s%s", l->name,
				      *l->name && l->place.line ? ", " : "",
				      l->place.line ? file_name(l->place.file) : "");
		if (n + 1 < size && l->place.line)
			n += snprintf(to + n, size - n, ":%d", l->place.line);
		if (n + 1 < size && (*l->name || l->place.file))
			n += snprintf(to + n, size - n, ")");
	}
}

/* ---- text ---------------------------------------------------------------------------------------- */

/* A run of bytes of one role and strength, from inputs.all[@p i] on. @return how many. */
static size_t run_of(const struct report_inputs *r, size_t i, int role)
{
	const struct fl_input *first = &r->inputs->all.data[i], *in = first;
	bool is_derived = !role;
	size_t n = 1;

	for (; i + n < r->inputs->all.size; n++) {
		const struct fl_input *next = in + 1;

		if (next->source != first->source || next->offset != in->offset + 1 ||
		    !(next->roles & roles[role].weak) ||
		    (next->roles & roles[role].strong) !=
			    (first->roles & roles[role].strong) ||
		    (is_derived && next->link != first->link))
			break;
		in = next;
	}
	return n;
}

static void print_run(const struct report_inputs *r, size_t i, size_t n, int role,
		      FILE *out)
{
	const struct fl_input *in = &r->inputs->all.data[i];
	char text[8 * SHOWN_TEXT], chain[1024], where[48];
	size_t at = 0;

	for (size_t k = 0; k < n && k < SHOWN_TEXT; k++)
		at += spell(text + at, sizeof(text) - at, byte_of(r, &in[k]));
	if (n > 1)
		snprintf(where, sizeof(where), "%lu..%lu", in->offset,
			 in->offset + n - 1);
	else
		snprintf(where, sizeof(where), "%lu", in->offset);
	fprintf(out, "    %-14s \"%s\"%s%s", where, text, n > SHOWN_TEXT ? "..." : "",
		in->roles & roles[role].strong ? " =" : "");
	if (!role && in->link) {
		spell_chain(r, in->link, chain, sizeof(chain));
		fputs(chain, out);
	}
	fputc('\n', out);
}

static void print_role(const struct report_inputs *r, uint32_t source, int role,
		       FILE *out)
{
	size_t shown = 0, more = 0, bytes = 0, strong = 0;

	for (size_t i = 0; i < r->inputs->all.size; i++) {
		const struct fl_input *in = &r->inputs->all.data[i];

		bytes += in->source == source && (in->roles & roles[role].weak);
		strong += in->source == source && (in->roles & roles[role].strong);
	}
	if (!bytes)
		return;
	fprintf(out, "  %s: %zu byte%s, %zu strong\n", roles[role].name, bytes,
		bytes == 1 ? "" : "s", strong);
	for (size_t i = 0; i < r->inputs->all.size;) {
		const struct fl_input *in = &r->inputs->all.data[i];
		size_t n = 1;

		if (in->source == source && (in->roles & roles[role].weak)) {
			n = run_of(r, i, role);
			if (!r->max || shown < r->max)
				print_run(r, i, n, role, out);
			else
				more++;
			shown++;
		}
		i += n;
	}
	if (more)
		fprintf(out, "    and %zu more (--all)\n", more);
}

static bool has_any(const struct report_inputs *r, uint32_t source)
{
	const struct fl_input *in = vec_find(
		&r->inputs->all, e, e->source == source && (e->roles & r->roles));

	return in;
}

static void print_others(const struct report_inputs *r, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->inputs->others.size; i++) {
		const struct fl_other *o = &r->inputs->others.data[i];
		_cleanup_free_ char *name =
			o->number == UINT32_MAX ? NULL : dec_history_call_name(o->number);

		if (!(o->roles & r->roles))
			continue;
		fprintf(out, "%s %s (%lu)", n++ ? "," : "also:",
			o->number == UINT32_MAX ? "the processor" :
			name			?:
						  "a call",
			o->n);
	}
	if (n)
		fputc('\n', out);
}

void report_inputs_text(const struct report_inputs *r, FILE *out)
{
	size_t n = 0;

	fprintf(out, "%s", r->at);
	for (size_t i = 0; i < r->n_vars; i++)
		fprintf(out, " %s", text_line(r->vars[i]));
	if (r->question->instances > 1)
		fprintf(out, ", time %lu of %lu", r->question->instance,
			r->question->instances);
	fprintf(out, ", position %lu (= needs just this byte):\n", r->question->position);
	for (uint32_t s = 0; s < r->sources->all.size; s++) {
		if (!has_any(r, s))
			continue;
		n++;
		fprintf(out, "%s (%lu bytes)\n", text_line(r->sources->all.data[s].name),
			r->sources->all.data[s].size);
		for (int role = 0; role < ROLES; role++)
			if (r->roles & roles[role].weak)
				print_role(r, s, role, out);
	}
	if (!n)
		fputs("no byte of an input had a part in it\n", out);
	print_others(r, out);
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

static void add_roles(cJSON *o, uint8_t all, uint8_t shown)
{
	for (int i = 0; i < ROLES; i++)
		if (all & shown & roles[i].weak)
			cJSON_AddStringToObject(o, roles[i].name,
						all & roles[i].strong ? "strong" :
									"weak");
}

static void add_chain(const struct report_inputs *r, cJSON *o, uint32_t k)
{
	cJSON *list = cJSON_AddArrayToObject(o, "chain");

	for (; k; k = r->inputs->links.data[k].next) {
		const struct fl_link *l = &r->inputs->links.data[k];
		cJSON *link = cJSON_CreateObject();

		cJSON_AddNumberToObject(link, "value", (long)l->value);
		cJSON_AddStringToObject(link, "variable", l->name);
		if (l->place.line) {
			cJSON_AddStringToObject(link, "file", l->place.file);
			cJSON_AddNumberToObject(link, "line", l->place.line);
		}
		cJSON_AddNumberToObject(link, "position", l->position);
		cJSON_AddItemToArray(list, link);
	}
}

static cJSON *input_json(const struct report_inputs *r, const struct fl_input *in)
{
	cJSON *o = cJSON_CreateObject();
	char text[8];
	int c = byte_of(r, in);

	cJSON_AddNumberToObject(o, "offset", in->offset);
	if (c >= 0)
		cJSON_AddNumberToObject(o, "byte", c);
	spell(text, sizeof(text), c);
	cJSON_AddStringToObject(o, "text", text);
	add_roles(o, in->roles, r->roles);
	if (in->link && (r->roles & in->roles & FL_ROLE_DERIVED))
		add_chain(r, o, in->link);
	return o;
}

static cJSON *source_json(const struct report_inputs *r, uint32_t source)
{
	static const char *const kinds[] = { "file",	    "stream", "arguments",
					     "environment", "random", "time" };
	const struct fl_source *f = &r->sources->all.data[source];
	cJSON *o = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(o, "name", f->name);
	cJSON_AddStringToObject(o, "kind", kinds[f->kind]);
	cJSON_AddNumberToObject(o, "size", f->size);
	list = cJSON_AddArrayToObject(o, "bytes");
	for (size_t i = 0; i < r->inputs->all.size; i++) {
		const struct fl_input *in = &r->inputs->all.data[i];

		if (in->source == source && (in->roles & r->roles))
			cJSON_AddItemToArray(list, input_json(r, in));
	}
	return o;
}

struct err *report_inputs_json(const struct report_inputs *r, FILE *out)
{
	cJSON *root = cJSON_CreateObject(), *list;
	char *text;

	cJSON_AddStringToObject(root, "at", r->at);
	cJSON_AddNumberToObject(root, "position", r->question->position);
	list = cJSON_AddArrayToObject(root, "inputs");
	for (uint32_t s = 0; s < r->sources->all.size; s++)
		if (has_any(r, s))
			cJSON_AddItemToArray(list, source_json(r, s));
	list = cJSON_AddArrayToObject(root, "others");
	for (size_t i = 0; i < r->inputs->others.size; i++) {
		const struct fl_other *f = &r->inputs->others.data[i];
		_cleanup_free_ char *name =
			f->number == UINT32_MAX ? NULL : dec_history_call_name(f->number);
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "name",
					f->number == UINT32_MAX ? "processor" :
					name			?:
								  "");
		add_roles(o, f->roles, r->roles);
		cJSON_AddItemToArray(list, o);
	}
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (!text)
		return &err_nomem;
	fprintf(out, "%s\n", text);
	free(text);
	return NULL;
}

/* ---- a page ------------------------------------------------------------------------------------------ */

static const char *const head =
	"<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>inputs</title><style>\n"
	"body{font-family:sans-serif;margin:1em}pre{white-space:pre-wrap;word-break:break-all}\n"
	".d{background:#fbb}.c{background:#bdf}.a{background:#dfd}.s{font-weight:bold;"
	"text-decoration:underline}\n"
	"a{color:inherit;text-decoration:none}.w{display:none}.w:target{display:block;"
	"border-left:4px solid #888;padding-left:1em}\n"
	"</style></head><body>\n";

/* The class of a byte's colour: that of its nearest role. */
static void put_classes(const struct fl_input *in, uint8_t shown, FILE *out)
{
	uint8_t has = in->roles & shown;
	int role = has & FL_ROLE_DERIVED ? 0 : has & FL_ROLE_CONTROL ? 1 : 2;

	fprintf(out, "%c%s", "dca"[role], in -> roles &roles[role].strong ? " s" : "");
}

static void put_byte(int c, FILE *out)
{
	char text[8];
	int n = spell(text, sizeof(text), c);

	text_put_markup(out, text, n);
	if (c == '\n')
		fputc('\n', out);
}

static void put_source(const struct report_inputs *r, uint32_t source, FILE *out)
{
	const struct fl_source *f = &r->sources->all.data[source];
	size_t i =
		vec_rank(r->inputs->all.size, k, r->inputs->all.data[k].source < source);

	fputs("<h2>", out);
	text_put_markup(out, f->name, strlen(f->name));
	fputs("</h2><pre>", out);
	for (uint64_t at = 0; at < f->bytes.size; at++) {
		const struct fl_input *in =
			i < r->inputs->all.size ? &r->inputs->all.data[i] : NULL;
		bool has = in && in->source == source && in->offset == at;

		i += has;
		if (!has || !(in->roles & r->roles)) {
			put_byte(f->bytes.data[at], out);
			continue;
		}
		fprintf(out, "<a href=\"#b%zu\" class=\"", i);
		put_classes(in, r->roles, out);
		fputs("\">", out);
		put_byte(f->bytes.data[at], out);
		fputs("</a>", out);
	}
	fputs("</pre>\n", out);
}

/* What is shown of byte number @p i when one clicks on it. */
static void put_why(const struct report_inputs *r, size_t i, FILE *out)
{
	const struct fl_input *in = &r->inputs->all.data[i];
	char chain[1024];

	if (!(in->roles & r->roles))
		return;
	fprintf(out, "<div class=\"w\" id=\"b%zu\">byte %lu of ", i + 1, in->offset);
	text_put_markup(out, r->sources->all.data[in->source].name,
			strlen(r->sources->all.data[in->source].name));
	for (int k = 0; k < ROLES; k++)
		if (in->roles & r->roles & roles[k].weak)
			fprintf(out, "; %s%s", roles[k].name,
				in->roles & roles[k].strong ? " =" : "");
	if (in->link) {
		spell_chain(r, in->link, chain, sizeof(chain));
		fputs("<br>", out);
		text_put_markup(out, chain, strlen(chain));
	}
	fputs("</div>\n", out);
}

struct err *report_inputs_page(const struct report_inputs *r, const char *path)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, r->mode);

	if (err)
		return err;
	fputs(head, f.stream);
	fputs("<h1>", f.stream);
	text_put_markup(f.stream, r->at, strlen(r->at));
	fputs("</h1><p><span class=\"d\">derived</span> <span class=\"c\">control</span> "
	      "<span class=\"a\">address</span> <span class=\"s\">= just this byte</span>; "
	      "click on one</p>\n",
	      f.stream);
	for (size_t i = 0; i < r->inputs->all.size; i++)
		put_why(r, i, f.stream);
	for (uint32_t s = 0; s < r->sources->all.size; s++)
		if (has_any(r, s))
			put_source(r, s, f.stream);
	fputs("</body></html>\n", f.stream);
	return new_file_commit(&f);
}
