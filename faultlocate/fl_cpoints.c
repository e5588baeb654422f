// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_cpoints.h"

#include <stdarg.h>
#include <string.h>

#include "faultlocate/fl_lines.h"

#define ENTRIES_MAX 256		     // of one function: clones and inlined copies
#define COMMENTS_MAX 256	     // in one source
#define COMMENT_REACH_LINES 40	     // how far behind a comment its statement may be
#define CANDIDATE_VISITS_MAX 1000000 // of C-points that nobody named

/** A function with C-points at its entry, its return, or both, for constraints of one type. */
struct function {
	char *name;
	int type;	  ///< -1: all
	int entry, leave; ///< C-point index, -1 none
	uint32_t depth;	  ///< calls under way
	uint64_t entered; ///< serial number of the outermost call under way
	uint64_t returns; ///< of outermost calls
	bool has_body, is_inlined;
	bool is_candidate; ///< nobody named it
};

/** `AFTER f RETURNS n` */
struct after {
	uint32_t function; ///< index
	uint64_t returns;
	int cpoint;
};

/** What a watched address stands for. */
struct target {
	uint32_t function; ///< index + 1; 0: a line
	uint32_t cpoint;   ///< of a line
	bool is_inlined;
};

struct fl_cpoints {
	const struct spec *spec;
	VEC(struct fl_cpoint) points;
	VEC(struct function) functions;
	VEC(struct after) afters;
	struct fl_lines lines;
	VEC(char *) sources; ///< looked at already
	VEC(struct dec_watch) watch;
	VEC(struct target) targets; ///< parallel to watch
	VEC(struct fl_visit) visits;
	uint64_t calls;
	bool is_overrun;
	char *notes; ///< fl_cpoints_notes()
};

/* ---- life --------------------------------------------------------------------------- */

static struct err *add_point(struct fl_cpoints *c, enum fl_cpoint_kind kind, int type,
			     int *ret, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static struct err *add_point(struct fl_cpoints *c, enum fl_cpoint_kind kind, int type,
			     int *ret, const char *fmt, ...)
{
	struct fl_cpoint *p = vec_push(&c->points);
	va_list ap;
	int n;

	if (!p)
		return &err_nomem;
	va_start(ap, fmt);
	n = vasprintf(&p->name, fmt, ap);
	va_end(ap);
	if (n < 0) {
		c->points.size--;
		return &err_nomem;
	}
	p->kind = kind;
	p->type = type;
	p->function = 0;
	*ret = c->points.size - 1;
	return NULL;
}

static struct err *find_function(struct fl_cpoints *c, const char *name, int type,
				 uint32_t *ret)
{
	struct function *f = vec_find(&c->functions, it,
				      it->type == type && strcmp(it->name, name) == 0);

	if (f) {
		*ret = f - c->functions.data;
		return NULL;
	}
	f = vec_push(&c->functions);
	if (!f)
		return &err_nomem;
	f->type = type;
	f->entry = f->leave = -1;
	f->name = strdup(name);
	*ret = c->functions.size - 1;
	return f->name ? NULL : &err_nomem;
}

// @point: where the function has the C-point's index.
static struct err *add_of_function(struct fl_cpoints *c, uint32_t f,
				   enum fl_cpoint_kind kind, int *point)
{
	struct err *err;

	if (*point >= 0)
		return NULL;
	err = add_point(c, kind, c->functions.data[f].type, point, "%s of %s",
			kind == FL_CPOINT_ENTRY ? "entry" : "return",
			c->functions.data[f].name);
	if (!err)
		c->points.data[*point].function = f + 1;
	return err;
}

static struct err *add_entry(struct fl_cpoints *c, uint32_t f)
{
	return add_of_function(c, f, FL_CPOINT_ENTRY, &c->functions.data[f].entry);
}

static struct err *add_leave(struct fl_cpoints *c, uint32_t f)
{
	return add_of_function(c, f, FL_CPOINT_RETURN, &c->functions.data[f].leave);
}

static struct err *add_after(struct fl_cpoints *c, uint32_t f,
			     const struct spec_cpoint *p)
{
	struct after *a = vec_push(&c->afters);

	if (!a)
		return &err_nomem;
	*a = (struct after){ .function = f, .returns = p->returns };
	return add_point(c, FL_CPOINT_RETURN, p->type, &a->cpoint, "return %llu of %s",
			 (unsigned long long)p->returns, p->function);
}

static struct err *add_line(struct fl_cpoints *c, const struct spec_cpoint *p)
{
	int point;
	struct err *err = add_point(c, FL_CPOINT_LINE, p->type, &point, "before %s:%d",
				    p->site.file, p->site.line);

	return err ? err : fl_lines_add(&c->lines, p->site.file, p->site.line, 1, point);
}

static struct err *add_from_spec(struct fl_cpoints *c, const struct spec_cpoint *p)
{
	struct err *err;
	uint32_t f;

	if (p->kind == SPEC_CPOINT_CRASH || p->kind == SPEC_CPOINT_END)
		return NULL; // the end of the run is one always
	if (p->kind == SPEC_CPOINT_LINE)
		return add_line(c, p);
	err = find_function(c, p->function, p->type, &f);
	if (err)
		return err;
	if (p->kind == SPEC_CPOINT_AFTER)
		return add_after(c, f, p);
	return p->kind == SPEC_CPOINT_ENTRY ? add_entry(c, f) : add_leave(c, f);
}

static void fl_cpoints_destroyp(struct fl_cpoints **c)
{
	fl_cpoints_destroy(*c);
}

struct err *fl_cpoints_create(const struct spec *s, struct fl_cpoints **ret)
{
	_cleanup_(fl_cpoints_destroyp) struct fl_cpoints *c = calloc(1, sizeof(*c));
	struct err *err = NULL;

	if (!c)
		return &err_nomem;
	c->spec = s;
	for (size_t i = 0; i < spec_cpoints(s) && !err; i++)
		err = add_from_spec(c, spec_cpoint(s, i));
	if (err)
		return err;
	*ret = take_ptr(&c);
	return NULL;
}

void fl_cpoints_destroy(struct fl_cpoints *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->points.size; i++)
		free(c->points.data[i].name);
	for (size_t i = 0; i < c->functions.size; i++)
		free(c->functions.data[i].name);
	for (size_t i = 0; i < c->sources.size; i++)
		free(c->sources.data[i]);
	vec_deinit(&c->points);
	vec_deinit(&c->functions);
	vec_deinit(&c->afters);
	fl_lines_deinit(&c->lines);
	free(c->notes);
	vec_deinit(&c->sources);
	vec_deinit(&c->watch);
	vec_deinit(&c->targets);
	vec_deinit(&c->visits);
	free(c);
}

/* ---- what to watch ------------------------------------------------------------------- */

struct err *fl_cpoints_add_candidate(struct fl_cpoints *c, const char *function)
{
	uint32_t f;
	struct err *err = find_function(c, function, -1, &f);

	if (err)
		return err;
	c->functions.data[f].is_candidate |= c->functions.data[f].entry < 0 &&
					     c->functions.data[f].leave < 0;
	err = add_entry(c, f);
	return err ? err : add_leave(c, f);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct err *fl_cpoints_add_statement(struct fl_cpoints *c, const struct dec_place *place,
				     uint32_t *ret)
{
	int point = 0;
	struct err *err = add_point(c, FL_CPOINT_LINE, -1, &point, "before %s:%d",
				    base_name(place->file), place->line);

	*ret = point;
	return err;
}

// A type that the spec does not declare: the comment is about another structure.
static struct err *add_comment(struct fl_cpoints *c, const char *path,
			       const struct spec_source_cpoint *p, bool *is_new)
{
	int type = p->type[0] ? spec_type_find(c->spec, p->type) : -1, point;
	struct err *err;

	if (p->type[0] && type < 0)
		return NULL;
	err = add_point(c, FL_CPOINT_COMMENT, type, &point, "comment at %s:%d",
			base_name(path), p->line);
	*is_new = !err;
	return err ? err :
		     fl_lines_add(&c->lines, path, p->line, COMMENT_REACH_LINES, point);
}

struct err *fl_cpoints_add_source(struct fl_cpoints *c, struct dec_symbols *symbols,
				  const struct dec_place *place, bool *is_new)
{
	struct spec_source_cpoint found[COMMENTS_MAX];
	_cleanup_fclose_ FILE *in = NULL;
	const char *path = place->file;
	struct err *err = NULL;
	char **slot;
	size_t n;

	*is_new = false;
	for (size_t i = 0; i < c->sources.size; i++)
		if (strcmp(c->sources.data[i], path) == 0)
			return NULL;
	slot = vec_push(&c->sources);
	if (!slot || !(*slot = strdup(path))) {
		c->sources.size -= slot != NULL;
		return &err_nomem;
	}
	in = dec_symbols_source(symbols, place);
	n = in ? spec_source_cpoints(in, found, COMMENTS_MAX) : 0;
	for (size_t i = 0; i < n && i < COMMENTS_MAX && !err; i++)
		err = add_comment(c, path, &found[i], is_new);
	return err;
}

static struct err *add_watch(struct fl_cpoints *c, uint64_t addr, bool is_function,
			     const struct target *t)
{
	struct dec_watch *w;
	struct target *slot;

	for (size_t i = 0; i < c->watch.size; i++)
		if (c->watch.data[i].addr == addr &&
		    c->targets.data[i].function == t->function &&
		    c->targets.data[i].cpoint == t->cpoint)
			return NULL;
	w = vec_push(&c->watch);
	slot = w ? vec_push(&c->targets) : NULL;
	if (!slot)
		return &err_nomem;
	*w = (struct dec_watch){ .addr = addr, .is_function = is_function };
	*slot = *t;
	return NULL;
}

static struct err *resolve_function(struct fl_cpoints *c, uint32_t f,
				    struct dec_symbols *symbols)
{
	struct target t = { .function = f + 1 };
	uint64_t addr[ENTRIES_MAX];
	struct err *err = NULL;
	size_t n = dec_symbols_methods(symbols, c->functions.data[f].name, addr,
				       ENTRIES_MAX);

	c->functions.data[f].has_body |= n > 0;
	for (size_t i = 0; i < n && i < ENTRIES_MAX && !err; i++)
		err = add_watch(c, addr[i], true, &t);
	n = dec_symbols_inlined_entries(symbols, c->functions.data[f].name, addr,
					ENTRIES_MAX);
	c->functions.data[f].is_inlined |= n > 0;
	t.is_inlined = true;
	for (size_t i = 0; i < n && i < ENTRIES_MAX && !err; i++)
		err = add_watch(c, addr[i], false, &t);
	return err;
}

static struct err *watch_line(void *ctx, uint64_t addr, uint32_t cpoint)
{
	return add_watch(ctx, addr, false, &(struct target){ .cpoint = cpoint });
}

struct err *fl_cpoints_resolve(void *ctx, struct dec_symbols *symbols,
			       const struct dec_watch **watch, size_t *n_watch)
{
	struct fl_cpoints *c = ctx;
	struct err *err = NULL;

	for (size_t i = 0; i < c->functions.size && !err; i++)
		err = resolve_function(c, i, symbols);
	if (!err)
		err = fl_lines_resolve(&c->lines, symbols, watch_line, c);
	*watch = c->watch.data;
	*n_watch = c->watch.size;
	return err;
}

/* ---- what was reached ------------------------------------------------------------------- */

static struct err *add_visit(struct fl_cpoints *c, const struct hg_position *at,
			     int point)
{
	struct fl_visit *v;

	if (point < 0)
		return NULL;
	v = vec_push(&c->visits);
	if (!v)
		return &err_nomem;
	*v = (struct fl_visit){ .at = *at, .cpoint = point };
	return NULL;
}

static struct err *add_function_visit(struct fl_cpoints *c, const struct function *f,
				      const struct hg_position *at, int point)
{
	if (f->is_candidate && c->visits.size >= CANDIDATE_VISITS_MAX) {
		c->is_overrun = true;
		return NULL;
	}
	return add_visit(c, at, point);
}

static struct err *add_inlined_visit(struct fl_cpoints *c, const struct function *f,
				     const struct hg_position *at)
{
	size_t n = c->visits.size;
	struct err *err = add_function_visit(c, f, at, f->entry);

	if (c->visits.size > n)
		c->visits.data[n].is_inlined = true;
	return err;
}

// The function returned as often as that.
static struct err *add_after_visits(struct fl_cpoints *c, uint32_t f,
				    const struct hg_position *at)
{
	struct err *err = NULL;

	c->functions.data[f].returns++;
	for (size_t i = 0; i < c->afters.size && !err; i++)
		if (c->afters.data[i].function == f &&
		    c->afters.data[i].returns == c->functions.data[f].returns)
			err = add_visit(c, at, c->afters.data[i].cpoint);
	return err;
}

struct err *fl_cpoints_visit(void *ctx, const struct hg_position *at, size_t index,
			     bool is_return)
{
	struct fl_cpoints *c = ctx;
	const struct target *t = &c->targets.data[index];
	struct function *f;
	struct err *err;

	if (!t->function)
		return add_visit(c, at, t->cpoint);
	f = &c->functions.data[t->function - 1];
	if (t->is_inlined) // its end is not seen, so it does not count as under way
		return f->depth ? NULL : add_inlined_visit(c, f, at);
	if (!is_return) {
		if (f->depth++)
			return NULL;
		f->entered = ++c->calls;
		return add_function_visit(c, f, at, f->entry);
	}
	if (f->depth && --f->depth)
		return NULL;
	err = add_after_visits(c, t->function - 1, at);
	return err ? err : add_function_visit(c, f, at, f->leave);
}

struct err *fl_cpoints_merge(struct fl_cpoints *c, const struct fl_visit *v, size_t n)
{
	size_t old = c->visits.size, at = old + n;

	if (vec_reserve(&c->visits, at))
		return &err_nomem;
	c->visits.size = at;
	// From the last one on, so that none is overwritten before it is moved.
	while (n) {
		struct fl_visit *last = old ? &c->visits.data[old - 1] : NULL;

		if (last && last->at.app_ops >= v[n - 1].at.app_ops) {
			c->visits.data[--at] = *last;
			old--;
		} else {
			c->visits.data[--at] = v[--n];
		}
	}
	return NULL;
}

struct err *fl_cpoints_end(struct fl_cpoints *c, const struct hg_position *at,
			   bool is_crash)
{
	int point;
	struct err *err = add_point(c, FL_CPOINT_END, -1, &point, "%s",
				    is_crash ? "crash" : "exit");

	return err ? err : add_visit(c, at, point);
}

void fl_cpoints_rewind(struct fl_cpoints *c)
{
	c->visits.size = c->watch.size = c->targets.size = 0;
	c->calls = 0;
	c->is_overrun = false;
	for (size_t i = 0; i < c->functions.size; i++)
		c->functions.data[i].depth = c->functions.data[i].returns = 0;
}

size_t fl_cpoints_visits(const struct fl_cpoints *c)
{
	return c->visits.size;
}

const struct fl_visit *fl_cpoints_visit_at(const struct fl_cpoints *c, size_t i)
{
	return &c->visits.data[i];
}

const struct fl_cpoint *fl_cpoints_get(const struct fl_cpoints *c, uint32_t index)
{
	return &c->points.data[index];
}

const char *fl_cpoints_function(const struct fl_cpoints *c, uint32_t index)
{
	uint32_t function = fl_cpoints_get(c, index)->function;

	return function ? c->functions.data[function - 1].name : NULL;
}

size_t fl_cpoints_count(const struct fl_cpoints *c)
{
	return c->points.size;
}

bool fl_cpoints_is_overrun(const struct fl_cpoints *c)
{
	return c->is_overrun;
}

const char *fl_cpoints_in_flight(const struct fl_cpoints *c, bool is_inferred)
{
	const struct function *ret = NULL;

	for (size_t i = 0; i < c->functions.size; i++) {
		const struct function *f = &c->functions.data[i];

		if (!f->depth || f->is_candidate != is_inferred ||
		    (is_inferred && strcmp(f->name, "main") == 0))
			continue;
		if (!ret || (f->entered > ret->entered) != is_inferred)
			ret = f;
	}
	return ret ? ret->name : NULL;
}

static bool has_after(const struct fl_cpoints *c, uint32_t f)
{
	return vec_find(&c->afters, a, a->function == f);
}

// With another type: what is to be told of it was told then.
static bool is_named_before(const struct fl_cpoints *c, const struct function *f)
{
	return vec_find(&c->functions, it, strcmp(it->name, f->name) == 0) != f;
}

static void note_functions(const struct fl_cpoints *c, FILE *out)
{
	for (size_t i = 0; i < c->functions.size; i++) {
		const struct function *f = &c->functions.data[i];

		if (f->is_candidate || is_named_before(c, f))
			continue;
		if (!f->has_body && !f->is_inlined)
			fprintf(out, "%s: no function of this name\n", f->name);
		else if (f->is_inlined && (f->leave >= 0 || has_after(c, i)))
			fprintf(out,
				"%s: inlined in places: its return is not seen there\n",
				f->name);
	}
}

static void note_afters(const struct fl_cpoints *c, FILE *out)
{
	for (size_t i = 0; i < c->afters.size; i++) {
		const struct after *a = &c->afters.data[i];
		const struct function *f = &c->functions.data[a->function];

		if (f->returns < a->returns && (f->has_body || f->is_inlined))
			fprintf(out, "%s: it returned %llu times, not %llu\n", f->name,
				(unsigned long long)f->returns,
				(unsigned long long)a->returns);
	}
}

const char *fl_cpoints_notes(struct fl_cpoints *c, struct dec_symbols *symbols)
{
	size_t size;
	FILE *out;

	free(take_ptr(&c->notes));
	out = open_memstream(&c->notes, &size);
	if (!out)
		return "";
	note_functions(c, out);
	note_afters(c, out);
	fl_lines_notes(&c->lines, symbols, out);
	return fclose(out) || !c->notes ? "" : c->notes;
}
