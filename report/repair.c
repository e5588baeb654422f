// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/repair.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "report/dot.h"
#include "report/script.h"

enum { PAGE_BYTES = 1 << 18 }; ///< more than a page of 250 nodes has

extern const char report_repair_html[], report_repair_html_end[];

static void put_entity(FILE *out, const char *name, int type, int64_t value,
		       bool is_first)
{
	fputs(is_first ? "{\"name\":" : ",{\"name\":", out);
	report_script_string(out, name);
	fprintf(out, ",\"type\":%d,\"value\":", type);
	if (value == RP_UNKNOWN)
		fputs("null}", out);
	else
		fprintf(out, "%ld}", (long)value);
}

static bool has_words(int type)
{
	return type == RP_INT || type >= 0;
}

static void put_variables(FILE *out, const struct rp_program *p, const struct rp_state *s,
			  int function, unsigned at)
{
	bool is_first = true;

	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];

		if (!has_words(v->type) || !fl_rp_in_scope(p, (int)i, function, at))
			continue;
		put_entity(out, v->name, v->type,
			   v->function == RP_NONE ? s->globals.data[i] : s->frame.data[i],
			   is_first);
		is_first = false;
	}
}

static void put_node(FILE *out, const struct rp_program *p, const struct rp_node *n,
		     size_t number)
{
	const struct rp_record *r = &p->records.data[n->record];
	bool is_first = true;

	fprintf(out, "%s{\"number\":%zu,\"record\":%d,\"freed\":%s,\"fields\":[",
		number > 1 ? "," : "", number, n->record, n->is_freed ? "true" : "false");
	for (size_t k = 0; k < r->fields.size && !n->is_freed; k++) {
		if (!has_words(r->fields.data[k].type))
			continue;
		put_entity(out, r->fields.data[k].name, r->fields.data[k].type,
			   n->fields[k], is_first);
		is_first = false;
	}
	fputs("]}", out);
}

struct err *report_repair_page(const struct rp_program *p, const struct rp_state *s,
			       int function, unsigned at, const char *path, mode_t mode)
{
	static const char here[] = "@STATE@";
	_cleanup_free_ char *room = malloc(PAGE_BYTES);
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = !room ? &err_nomem : new_file_open(&f, path, mode);
	const char *end = report_repair_html_end;
	const char *mark = memmem(report_repair_html, (size_t)(end - report_repair_html),
				  here, sizeof(here) - 1);

	if (err)
		return err;
	setvbuf(f.stream, room, _IOFBF, PAGE_BYTES); // what fails, fails at the end
	fwrite(report_repair_html, 1, (size_t)(mark - report_repair_html), f.stream);
	fputs("{\"variables\":[", f.stream);
	put_variables(f.stream, p, s, function, at);
	fputs("],\"nodes\":[", f.stream);
	for (size_t i = 0; i < s->nodes.size; i++)
		put_node(f.stream, p, &s->nodes.data[i], i + 1);
	fputs("]}", f.stream);
	mark += sizeof(here) - 1;
	fwrite(mark, 1, (size_t)(end - mark), f.stream);
	return new_file_commit(&f);
}

/* ---- the same as a picture ------------------------------------------------------------------------ */

struct drawn {
	const struct rp_program *p;
	const struct rp_state *s;
	int function;
	unsigned at;
};

static struct err *write_state(const void *what, FILE *out)
{
	const struct drawn *d = what;

	fl_rp_state_dot(d->s, d->p, d->function, d->at, out);
	return NULL;
}

struct err *report_repair_svg(const struct rp_program *p, const struct rp_state *s,
			      int function, unsigned at, const char *path, mode_t mode)
{
	const struct drawn d = { p, s, function, at };

	return report_dot_draw_text(write_state, &d, path, mode);
}
