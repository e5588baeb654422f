// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_suppress.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define FRAMES_MAX 24 // as memcheck has it

enum frame_kind { FRAME_FUNCTION, FRAME_OBJECT, FRAME_SOURCE, FRAME_ANY };

struct frame_pattern {
	enum frame_kind kind;
	const char *glob;
};

struct suppression {
	const char *kind; ///< "Leak", "Addr4", or a rule's name
	struct frame_pattern frame[FRAMES_MAX];
	size_t n;
};

struct fl_suppressions {
	struct arena arena;
	VEC(struct suppression) all;
};

struct err *fl_suppressions_create(struct fl_suppressions **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &err_nomem;
}

void fl_suppressions_destroy(struct fl_suppressions *s)
{
	if (!s)
		return;
	vec_deinit(&s->all);
	arena_deinit(&s->arena);
	free(s);
}

/* ---- reading -------------------------------------------------------------------------------------- */

/** A file being read, line by line. */
struct reader {
	FILE *in;
	const char *path;
	char *text; ///< the line, without space around it
	char *buffer;
	size_t bytes;
	int line;
};

/* The next line that says something. @return false behind the last. */
static bool next_line(struct reader *r)
{
	while (getline(&r->buffer, &r->bytes, r->in) >= 0) {
		size_t n;

		r->line++;
		r->text = r->buffer + strspn(r->buffer, " \t");
		n = strlen(r->text);
		while (n && isspace((unsigned char)r->text[n - 1]))
			r->text[--n] = 0;
		if (n && *r->text != '#')
			return true;
	}
	return false;
}

static struct err *mistake(const struct reader *r, const char *what)
{
	return err_new(ERR_FORMAT, "cannot read suppressions '%s': line %d: %s", r->path,
		       r->line, what);
}

static struct err *read_frame(struct fl_suppressions *s, const struct reader *r,
			      struct suppression *x)
{
	static const struct {
		const char *prefix;
		enum frame_kind kind;
	} kinds[] = { { "fun:", FRAME_FUNCTION },
		      { "obj:", FRAME_OBJECT },
		      { "src:", FRAME_SOURCE } };
	struct frame_pattern p = { .kind = FRAME_ANY };

	for (size_t i = 0; i < 3 && !p.glob; i++)
		if (!strncmp(r->text, kinds[i].prefix, 4)) {
			p.kind = kinds[i].kind;
			p.glob = arena_strndup(&s->arena, r->text + 4,
					       strlen(r->text + 4));
			if (!p.glob)
				return &err_nomem;
		}
	if (!p.glob && strcmp(r->text, "..."))
		return mistake(r, "expected fun:, obj:, src: or '...'");
	if (x->n == FRAMES_MAX)
		return mistake(r, "there are more than 24 frames");
	x->frame[x->n++] = p;
	return NULL;
}

/* Behind the kind may stand what memcheck wants to know of leaks, system calls and sizes. */
static bool is_more(const struct suppression *x, const char *text)
{
	return !strncmp(text, "match-leak-kinds:", 17) ||
	       (!x->n && (!strcmp(x->kind, "Param") || !strcmp(x->kind, "FishyValue")));
}

static struct err *read_one(struct fl_suppressions *s, struct reader *r)
{
	struct suppression x = {};
	const char *colon;
	struct err *err = NULL;

	if (strcmp(r->text, "{"))
		return mistake(r, "expected '{'");
	if (!next_line(r) || !next_line(r)) // its name says nothing
		return mistake(r, "expected what is suppressed, as in Memcheck:Leak");
	colon = strchr(r->text, ':');
	if (!colon)
		return mistake(r, "expected TOOL:KIND, as in Memcheck:Leak");
	x.kind = arena_strndup(&s->arena, colon + 1, strlen(colon + 1));
	if (!x.kind)
		return &err_nomem;
	while (!err) {
		if (!next_line(r))
			return mistake(r, "expected '}'");
		if (!strcmp(r->text, "}"))
			break;
		if (!is_more(&x, r->text))
			err = read_frame(s, r, &x);
	}
	return err ? err : vec_add(&s->all, x);
}

struct err *fl_suppressions_read(struct fl_suppressions *s, const char *path)
{
	struct reader r = { .in = fopen(path, "re"), .path = path };
	struct err *err = NULL;

	if (!r.in)
		return err_errno("cannot open suppressions '%s'", path);
	while (!err && next_line(&r))
		err = read_one(s, &r);
	if (!err && ferror(r.in))
		err = err_errno("cannot read suppressions '%s'", path);
	fclose(r.in);
	free(r.buffer);
	return err;
}

/* ---- matching --------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *tail)
{
	size_t n = strlen(text), k = strlen(tail);

	return n >= k && !strcmp(text + n - k, tail);
}

/* Is what memcheck calls @p kind what @p rule finds? */
static bool is_kind(const char *kind, const char *rule, uint64_t size)
{
	if (!strcmp(kind, rule))
		return true;
	if (!strcmp(kind, "Leak"))
		return strstr(rule, "LEAK");
	if (!strcmp(kind, "Free"))
		return ends_with(rule, "-FREE");
	if (!strcmp(kind, "FishyValue"))
		return !strncmp(rule, "NEGATIVE-", 9);
	if (!strcmp(kind, "Overlap"))
		return !strcmp(rule, "OVERLAP");
	if (!strcmp(kind, "Param"))
		return !strcmp(rule, "INVALID-FD") || !strcmp(rule, "UNINIT-USE") ||
		       !strcmp(rule, "BAD-BUFFER");
	if (!strcmp(kind, "Cond") || !strcmp(kind, "Jump") || !strncmp(kind, "Value", 5))
		return !strcmp(rule, "UNINIT-USE");
	if (strncmp(kind, "Addr", 4))
		return false;
	return (strstr(rule, "DANGLING") || strstr(rule, "FLOW") ||
		strstr(rule, "DEREF") || !strcmp(rule, "DEAD-FRAME")) &&
	       (!size || strtoull(kind + 4, NULL, 10) == size);
}

static bool is_allocators(const struct frame_pattern *p)
{
	static const char *const names[] = {
		"malloc", "calloc", "realloc", "free",	 "memalign", "posix_memalign",
		"_Znwm",  "_Znam",  "_ZdlPv",  "_ZdaPv", "*alloc",   "operator new*",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (p->kind == FRAME_FUNCTION &&
		    (!strcmp(p->glob, names[i]) || !fnmatch(names[i], p->glob, 0)))
			return true;
	return false;
}

static bool matches_frame(const struct frame_pattern *p, const struct dec_place *place)
{
	const char *slash = place->file ? strrchr(place->file, '/') : NULL;
	const char *name = slash ? slash + 1 :
				   place->file; // memcheck knows no directories
	char source[512];

	switch (p->kind) {
	case FRAME_FUNCTION:
		return (place->function && !fnmatch(p->glob, place->function, 0)) ||
		       (place->outer && !fnmatch(p->glob, place->outer, 0));
	case FRAME_OBJECT:
		return place->module && !fnmatch(p->glob, place->module, 0);
	default:
		snprintf(source, sizeof(source), "%s:%d", name ? name : "", place->line);
		return name &&
		       (!fnmatch(p->glob, source, 0) || !fnmatch(p->glob, name, 0));
	}
}

/* How many of the @p n patterns are there up to a `...`? */
static size_t segment(const struct frame_pattern *p, size_t n)
{
	size_t k = 0;

	while (k < n && p[k].kind != FRAME_ANY)
		k++;
	return k;
}

static bool matches_segment(const struct frame_pattern *p, size_t k,
			    const struct dec_place *place, size_t n_places)
{
	for (size_t i = 0; i < k; i++)
		if (i == n_places || !matches_frame(&p[i], &place[i]))
			return false;
	return true;
}

/* All patterns match; frames may be left over. Between two `...` the first place that fits leaves the most
 * for the others. */
static bool matches(const struct frame_pattern *p, size_t n,
		    const struct dec_place *place, size_t n_places)
{
	bool is_fixed = true;
	size_t at = 0;

	while (n) {
		size_t k = segment(p, n);

		while (!matches_segment(p, k, place + at, n_places - at)) {
			if (is_fixed || at == n_places)
				return false;
			at++;
		}
		at += k;
		is_fixed = false;
		p += k < n ? k + 1 : k;
		n -= k < n ? k + 1 : k;
	}
	return true;
}

bool fl_suppressions_match(const struct fl_suppressions *s, const char *rule,
			   uint64_t size, const struct dec_place *places, size_t n)
{
	for (size_t i = 0; i < s->all.size; i++) {
		const struct suppression *x = &s->all.data[i];
		size_t from = 0;

		while (from < x->n && is_allocators(&x->frame[from]))
			from++;
		if (is_kind(x->kind, rule, size) &&
		    matches(x->frame + from, x->n - from, places, n))
			return true;
	}
	return false;
}
