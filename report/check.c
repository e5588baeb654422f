// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What bug rules found, for people.
 */
#include "report/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "decode/symbols/variable.h"
#include "report/report.h"
#include "report/source.h"

static int compare_times(const void *a, const void *b)
{
	const struct report_finding *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static const struct spec_bug *rule_of(const struct fl_analysis *a,
				      const struct report_finding *x)
{
	return spec_bug(fl_check_rules(a->check), x->rule);
}

#define FRAMES_MAX 48

/* Its statement and callers, with what was inlined there. */
static size_t list_frames(const struct fl_analysis *a, const struct report_finding *x,
			  struct dec_place ret[FRAMES_MAX])
{
	const struct hg_chain *c = x->access ? &x->access->chain[0] : &x->error->callers;
	size_t n = 0;

	for (uint32_t i = 0; i <= c->n && n < FRAMES_MAX; i++) {
		struct dec_place p = {};

		a->places.place(a->places.ctx, i ? c->rip[i - 1] : report_finding_rip(x),
				&p);
		ret[n++] = p;
		for (uint32_t k = 0; k < p.n_inlined && n < FRAMES_MAX; k++) {
			ret[n] = p;
			ret[n].file = p.inlined[k].file;
			ret[n].line = p.inlined[k].line;
			ret[n++].function = p.inlined[k].function;
		}
	}
	return n;
}

static void drop_known(const struct fl_analysis *a, const struct fl_suppressions *known,
		       report_findings *f, size_t *n_known)
{
	struct dec_place places[FRAMES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < f->size; i++) {
		const struct report_finding *x = &f->data[i];

		if (fl_suppressions_match(known, rule_of(a, x)->name,
					  x->access ? x->access->size : 0, places,
					  list_frames(a, x, places)))
			(*n_known)++;
		else
			f->data[n++] = *x;
	}
	f->size = n;
}

struct err *report_findings_list(const struct fl_analysis *a,
				 const struct fl_suppressions *known,
				 report_findings *ret, size_t *n_known)
{
	struct err *err = NULL;

	for (size_t i = 0; i < a->accesses.size && !err; i++) {
		const struct hg_access *x = &a->accesses.data[i];

		err = vec_add(ret,
			      (struct report_finding){ x->rule, x->time, x, NULL, i });
	}
	for (size_t i = 0; i < fl_check_errors(a->check) && !err; i++) {
		const struct fl_error *e = fl_check_error(a->check, i);

		err = vec_add(ret,
			      (struct report_finding){ e->rule, e->time, NULL, e, i });
	}
	vec_sort(ret, compare_times);
	*n_known = 0;
	if (!err && known)
		drop_known(a, known, ret, n_known);
	return err;
}

bool report_finding_is_error(const struct fl_analysis *a, const struct report_finding *x)
{
	return rule_of(a, x)->severity == SPEC_ERROR;
}

size_t report_findings_errors(const struct fl_analysis *a, const report_findings *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->size; i++)
		n += report_finding_is_error(a, &f->data[i]);
	return n;
}

uint64_t report_finding_rip(const struct report_finding *x)
{
	return x->access ? x->access->rip : x->error->rip;
}

/* ---- one line ----------------------------------------------------------------------------------- */

static const struct hg_node *node(const struct fl_analysis *a, uint32_t bid)
{
	return hg_graph_node(a->sides[FL_SIDE_APP].graph, (struct hg_node_id){ bid });
}

static char *leak_message(const struct fl_error *e, const char *message)
{
	char *text = NULL;

	if (asprintf(&text, "%s (%llu byte%s in %llu block%s)", message,
		     (unsigned long long)e->bytes, e->bytes == 1 ? "" : "s",
		     (unsigned long long)e->count, e->count == 1 ? "" : "s") < 0)
		return NULL;
	return text;
}

static char *access_message(const struct fl_analysis *a, const struct hg_access *x,
			    const char *message)
{
	const struct hg_node *n = node(a, x->from.v);
	char *text = NULL;

	if (asprintf(&text, "%s (%s of %u byte%s at byte %lld of a block of %llu)",
		     message, x->writes ? "write" : "read", x->size,
		     x->size == 1 ? "" : "s", (long long)(x->addr - n->start),
		     (unsigned long long)n->size) < 0)
		return NULL;
	return text;
}

char *report_finding_message(const struct fl_analysis *a, const struct report_finding *x)
{
	const struct spec_bug *b = rule_of(a, x);
	const char *message = b->message ? b->message : b->name;
	const struct fl_error *e = x->error;
	char *text = NULL;

	if (x->access)
		return access_message(a, x->access, message);
	if (e->detail)
		return asprintf(&text, "%s (%s)", message, e->detail) < 0 ? NULL : text;
	if (e->bound.bid && e->bytes)
		return leak_message(e, message);
	if (!e->n_values)
		return strdup(message);
	if (asprintf(&text, "%s (%s is %#llx)", message, b->arg[0],
		     (unsigned long long)e->value[0].n) < 0)
		return NULL;
	return text;
}

/* ---- text --------------------------------------------------------------------------------------- */

static void print_callers(const struct fl_analysis *a, const struct hg_chain *c,
			  FILE *out)
{
	if (!c->n)
		return;
	fputs("       ", out);
	for (uint32_t i = 0; i < c->n; i++) {
		fputs(i ? ", " : "called at ", out);
		report_place_print(a, c->rip[i], out);
	}
	fputc('\n', out);
}

/* The block that the first value of the point, or what was bound, is to. */
static void print_block(const struct fl_analysis *a, uint32_t bid, uint64_t value,
			uint64_t time, FILE *out)
{
	const struct hg_node *n = node(a, bid);

	if (value - n->start && value - n->start < n->size)
		fprintf(out, "       byte %llu of n%u",
			(unsigned long long)(value - n->start), bid);
	else
		fprintf(out, "       n%u", bid);
	fprintf(out, " (%llu bytes, allocated at ", (unsigned long long)n->size);
	report_place_print(a, n->alloc_rip, out);
	fputc(')', out);
	if (n->died < time) {
		fputs(", which was freed at ", out);
		report_place_print(a, n->free_rip, out);
		fprintf(out, " (time %llu)", (unsigned long long)n->died);
	}
	fputc('\n', out);
}

static void print_locks(const struct fl_analysis *a, const struct fl_race_access *x,
			FILE *out)
{
	struct dec_global g;

	for (uint32_t i = 0; i < x->n_locks && i < FL_RACE_LOCKS; i++) {
		uint64_t at = x->lock[i] & ~1ull; // the lowest bit: it was shared

		fputs(i ? ", " : ", holding ", out);
		if (dec_symbols_global(a->symbols, at, &g) && g.name && g.addr == at)
			fprintf(out, "%s", g.name);
		else
			fprintf(out, "the lock at %#llx", (unsigned long long)at);
		fputs(x->lock[i] & 1 ? " to read" : "", out);
	}
	if (!x->n_locks)
		fputs(", holding no lock", out);
}

static void print_side(const struct fl_analysis *a, const struct fl_race_access *x,
		       const char *word, FILE *out)
{
	fprintf(out, "       %s: %s%s of %u byte%s by thread %u at ", word,
		x->is_atomic ? "atomic " : "", x->is_write ? "write" : "read", x->size,
		x->size == 1 ? "" : "s", x->tid);
	report_place_print(a, x->rip, out);
	fprintf(out, " (time %llu)", (unsigned long long)x->time);
	print_locks(a, x, out);
	fputc('\n', out);
	for (uint32_t i = 0; i < x->n_callers; i++) {
		fputs(i ? ", " : "              called at ", out);
		report_place_print(a, x->caller[i], out);
	}
	if (x->n_callers)
		fputc('\n', out);
}

/* Both sides, and what they meet in. */
static void print_race(const struct fl_analysis *a, const struct fl_error *e, FILE *out)
{
	struct dec_global g;

	print_side(a, &e->race->later, "one", out);
	print_side(a, &e->race->earlier, "other", out);
	if (dec_symbols_global(a->symbols, e->value[0].n, &g) && g.name)
		fprintf(out, "       in %s, at byte %llu of %llu\n", g.name,
			(unsigned long long)(e->value[0].n - g.addr),
			(unsigned long long)g.size);
}

static void print_error(const struct fl_analysis *a, const struct report_finding *x,
			size_t number, FILE *out)
{
	const struct fl_error *e = x->error;
	_cleanup_free_ char *message = report_finding_message(a, x);

	fprintf(out, "\n  %zu. %s", number, message ? message : "");
	if (e->rip) {
		fputs(" at ", out);
		report_place_print(a, e->rip, out);
	}
	if (e->bytes && e->bound.bid)
		fputc('\n', out);
	else
		fprintf(out, "  (%s%llu)\n", e->count == 1 ? "time " : "first at time ",
			(unsigned long long)e->time);
	if (e->race)
		print_race(a, e, out);
	else
		print_callers(a, &e->callers, out);
	for (int i = 0; i < e->n_values; i++)
		if (e->value[i].bid)
			print_block(a, e->value[i].bid, e->value[i].n, e->time, out);
	if (e->count > 1 && !e->bytes)
		fprintf(out, "       %llu times\n", (unsigned long long)e->count);
}

static const char *end_text(enum fl_chain_end end)
{
	switch (end) {
	case FL_CHAIN_ALLOCATED:
		return "what the allocation returned";
	case FL_CHAIN_INPUT:
		return "input: the kernel wrote it";
	case FL_CHAIN_INITIAL:
		return "there when the program began";
	case FL_CHAIN_FAR:
		return "longer ago than is looked back";
	default:
		return "made there";
	}
}

const char *report_chain_end(enum fl_chain_end end)
{
	static const char *const names[] = {
		[FL_CHAIN_FAR] = "far",		[FL_CHAIN_ALLOCATED] = "allocated",
		[FL_CHAIN_MADE] = "made",	[FL_CHAIN_INPUT] = "input",
		[FL_CHAIN_INITIAL] = "initial",
	};

	return names[end];
}

bool report_chain_is_of(const struct fl_found_chain *c, const struct report_finding *x)
{
	return c->is_access == (x->access != NULL) && c->index == x->index;
}

/* The ways of its values, the latest statement first. */
static void print_chains(const struct fl_analysis *a, const struct report_finding *x,
			 FILE *out)
{
	for (size_t i = 0; i < a->chains.size; i++) {
		const struct fl_found_chain *c = &a->chains.data[i];

		if (!report_chain_is_of(c, x))
			continue;
		fprintf(out, "       %s came by\n", c->name);
		for (size_t k = 0; k < c->chain.links.size; k++) {
			const struct fl_chain_link *l = &c->chain.links.data[k];

			fputs("         ", out);
			report_place_print(a, l->rip, out);
			if (l->has_value)
				fprintf(out, " = %#llx", (unsigned long long)l->value);
			fprintf(out, "%s  (time %llu)\n",
				l->is_arithmetic ? ", by arithmetic" : "",
				(unsigned long long)l->time);
		}
		fprintf(out, "         %s\n", end_text(c->chain.end));
	}
}

static void print_rule(const struct fl_analysis *a, const struct report_finding *x,
		       FILE *out)
{
	const struct spec_bug *b = rule_of(a, x);

	fprintf(out, "       [%s] %s, %s:%d\n", b->name, spec_severity_name(b->severity),
		b->file, b->line);
}

struct err *report_check_text(const struct fl_analysis *a, const report_findings *f,
			      FILE *out)
{
	for (size_t i = 0; i < a->notes.size; i++)
		log_note("%s", a->notes.data[i]);
	return report_findings_text(a, f, out);
}

struct err *report_findings_text(const struct fl_analysis *a, const report_findings *f,
				 FILE *out)
{
	if (!f->size)
		fprintf(out, "nothing is wrong by any rule that was asked\n");
	else
		fprintf(out, "%zu finding%s:\n", f->size, f->size == 1 ? "" : "s");
	for (size_t i = 0; i < f->size; i++) {
		const struct report_finding *x = &f->data[i];
		struct dec_place place = {};

		if (x->access)
			report_access_print(a, x->index, i + 1, out);
		else
			print_error(a, x, i + 1, out);
		report_place(a, report_finding_rip(x), &place);
		report_source_line(a, &place, out);
		print_chains(a, x, out);
		print_rule(a, x, out);
	}
	return fflush(out) || ferror(out) ? err_errno("cannot write the result") : NULL;
}
