// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_propose.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Fields that are looked at, the first of a struct: each pair of them is a candidate.
#define POINTERS_MAX 8
#define NUMBERS_MAX 6
#define PAIRS_MAX 3  // of pointers, for what is counted over both
#define ARRAYS_MAX 4 // of numbers

/** A pointer, or an array of them. */
struct pointer {
	char name[80]; ///< "next", "child[I]"
	char range
		[40]; ///< of an array "for I in 0 to 7, ": before what is said of all; else ""
	/** "X leads to Y by it". For `X.child[I] == Y` all pairs would be looked at: of an array it
	 * is X -> Y, where X has no other links; else "". */
	char leads[100];
	const struct fl_proposed_type *target;
};

/** An array of numbers that is a field. */
struct array {
	char name[80];	///< "key"
	unsigned count; ///< elements
};

/** One type, and what is added for it. */
struct proposer {
	struct fl_proposal *ret;
	const struct fl_proposed_type *types, *type;
	size_t n_types;
	struct pointer pointer[POINTERS_MAX];
	const struct dec_field *number[NUMBERS_MAX];
	const struct fl_proposed_values *values[NUMBERS_MAX];
	struct array array[ARRAYS_MAX];
	size_t n_pointers, n_numbers, n_arrays;
	unsigned group;
	int attribute, implied_by; ///< of what is added
	struct err *err;
};

__attribute__((format(printf, 3, 4))) static void
add(struct proposer *p, const char *about, const char *fmt, ...)
{
	struct fl_proposed c = { .about = about,
				 .group = p->group,
				 .attribute = p->attribute,
				 .implied_by = p->implied_by };
	va_list args;

	if (p->err)
		return;
	va_start(args, fmt);
	if (vasprintf(&c.text, fmt, args) < 0)
		p->err = &err_nomem;
	va_end(args);
	if (!p->err)
		p->err = vec_add(&p->ret->constraints, c);
	if (p->err)
		free(c.text);
}

/* From here on candidates have nothing to do with those before. */
static void begin(struct proposer *p)
{
	p->group = p->ret->n_groups++;
}

__attribute__((format(printf, 2, 3))) static void attribute(struct proposer *p,
							    const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	if (p->err)
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		p->err = &err_nomem;
	va_end(args);
	if (!p->err)
		p->err = vec_add(&p->ret->attributes, text);
	if (p->err)
		free(text);
	p->attribute = (int)p->ret->attributes.size - 1;
}

/* ---- which fields ------------------------------------------------------------------------- */

static const struct fl_proposed_type *type_called(const struct proposer *p,
						  const char *name)
{
	for (size_t i = 0; name && i < p->n_types; i++)
		if (!strcmp(p->types[i].layout->name, name))
			return &p->types[i];
	return NULL;
}

static size_t count_links(const struct proposer *p)
{
	const struct dec_struct *s = p->type->layout;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n_fields; i++)
		n += s->fields[i].is_pointer &&
		     type_called(p, s->fields[i].points_to) == p->type;
	return n;
}

/* Of an array the first element stands for all. @return whether it is to be looked at. */
static bool take_pointer(struct proposer *p, const struct dec_field *f,
			 const struct fl_proposed_type *target)
{
	const struct dec_struct *s = p->type->layout;
	struct pointer *to = &p->pointer[p->n_pointers];
	size_t n = strcspn(f->name, "["), last = 0;

	if (!target || p->n_pointers == POINTERS_MAX ||
	    strlen(f->name) >= sizeof(to->name) - 2)
		return false;
	*to = (struct pointer){ .target = target };
	if (!f->name[n]) {
		snprintf(to->name, sizeof(to->name), "%s", f->name);
		snprintf(to->leads, sizeof(to->leads), "X.%s == Y", f->name);
		return true;
	}
	if (strcmp(f->name + n, "[0]"))
		return false;
	for (const struct dec_field *g = f + 1; g < s->fields + s->n_fields; g++)
		last += !strncmp(g->name, f->name, n + 1);
	if (target == p->type && last + 1 == count_links(p))
		strcpy(to->leads, "X -> Y");
	snprintf(to->name, sizeof(to->name), "%.*s[I]", (int)n, f->name);
	snprintf(to->range, sizeof(to->range), "for I in 0 to %zu, ", last);
	return true;
}

bool fl_propose_is_array(const struct dec_struct *s, uint32_t field, unsigned *count)
{
	const struct dec_field *f = &s->fields[field];
	size_t n = strcspn(f->name, "[");

	// Of single bytes it is a text.
	if (f->is_pointer || f->is_float || f->size < 2 || f->size > 8 || f->bit_size ||
	    strcmp(f->name + n, "[0]"))
		return false;
	for (*count = 1; field + *count < s->n_fields; ++*count)
		if (strncmp(s->fields[field + *count].name, f->name, n + 1))
			break;
	return *count >= 2;
}

static void take_array(struct proposer *p, uint32_t field)
{
	const char *name = p->type->layout->fields[field].name;
	struct array *to = &p->array[p->n_arrays];
	size_t n = strcspn(name, "[");

	if (p->n_arrays == ARRAYS_MAX || n >= sizeof(to->name) ||
	    !fl_propose_is_array(p->type->layout, field, &to->count))
		return;
	snprintf(to->name, sizeof(to->name), "%.*s", (int)n, name);
	p->n_arrays++;
}

static void choose_fields(struct proposer *p)
{
	const struct dec_struct *s = p->type->layout;

	p->n_pointers = p->n_numbers = p->n_arrays = 0;
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct dec_field *f = &s->fields[i];

		if (f->is_pointer) {
			p->n_pointers += take_pointer(p, f, type_called(p, f->points_to));
		} else if (!f->is_float && f->size <= 8 && !strchr(f->name, '[') &&
			   p->n_numbers < NUMBERS_MAX) {
			p->values[p->n_numbers] = &p->type->values[i];
			p->number[p->n_numbers++] = f;
		} else {
			take_array(p, i);
		}
	}
}

/** @return whether pointer @p i leads to nodes of the same type. */
static bool is_link(const struct proposer *p, size_t i)
{
	return p->pointer[i].target == p->type;
}

static bool is_array(const struct proposer *p, size_t i)
{
	return p->pointer[i].range[0];
}

/* ---- one node, and its neighbours ----------------------------------------------------------- */

static void propose_degrees(struct proposer *p)
{
	const char *t = p->type->name;
	size_t n = count_links(p);

	begin(p);
	for (int degree = 1; degree <= 2; degree++)
		add(p, "degree", "%s X; X.INDEGREE == %d;", t, degree);
	for (int degree = 1; degree <= 3; degree++)
		add(p, "degree", "%s X; X.ISROOT == FALSE => X.INDEGREE == %d;", t,
		    degree);
	for (int degree = 1; degree <= 3; degree++)
		add(p, "degree", "%s X; X.INDEGREE <= %d;", t, degree);
	if (n < 2)
		return;
	begin(p);
	add(p, "degree", "%s X; X.OUTDEGREE == %zu;", t, n);
	add(p, "degree", "%s X; X.ISLEAF == FALSE => X.OUTDEGREE == %zu;", t, n);
	for (size_t i = 0; i < p->n_numbers; i++) {
		const char *v = p->number[i]->name;

		begin(p);
		add(p, "count", "%s X; X.OUTDEGREE == X.%s;", t, v);
		add(p, "count", "%s X; X.ISLEAF == FALSE => X.OUTDEGREE == X.%s;", t, v);
		add(p, "count", "%s X; X.ISLEAF == FALSE => X.OUTDEGREE == X.%s + 1;", t,
		    v);
	}
}

/* Of an array of pointers: what an element says of the one before it. */
static void propose_slots(struct proposer *p, size_t i)
{
	const char *t = p->type->name, *f = p->pointer[i].name;
	const char *range = p->pointer[i].range + strlen("for I in 0 to ");
	int n = (int)strlen(f) - 3; // without its index

	begin(p);
	add(p, "NULL together",
	    "%s X; for I in 1 to %sX.%s != NULL => X.%.*s[I - 1] != NULL;", t, range, f,
	    n, f);
	begin(p);
	add(p, "NULL together",
	    "%s X; for I in 1 to %sX.%s == NULL => X.%.*s[I - 1] == NULL;", t, range, f,
	    n, f);
	if (!is_link(p, i))
		return;
	begin(p);
	add(p, "lanes",
	    "%s X, Z; for I in 1 to %sX.%s != NULL => Z -> (X.%s) and (Z.%.*s[I - 1]) == (X.%s);",
	    t, range, f, f, n, f, f);
	for (size_t k = 0; k < p->n_numbers; k++) {
		const char *v = p->number[k]->name;

		begin(p);
		add(p, "order",
		    "%s X; for I in 1 to %sX.%s != NULL => X.%.*s[I - 1].%s <= X.%s.%s;",
		    t, range, f, n, f, v, f, v);
	}
}

static void propose_pointer(struct proposer *p, size_t i)
{
	const char *t = p->type->name, *f = p->pointer[i].name;
	const char *range = p->pointer[i].range;

	begin(p);
	add(p, "leads to a node", "%s X; %s Y; %sX.%s != NULL => (X.%s) == Y;", t,
	    p->pointer[i].target->name, range, f, f);
	begin(p);
	add(p, "never NULL", "%s X; %sX.%s != NULL;", t, range, f);
	if (is_array(p, i))
		propose_slots(p, i);
	for (size_t k = 0; k < p->n_pointers && !is_array(p, i); k++) {
		const char *g = p->pointer[k].name;

		if (k == i || is_array(p, k))
			continue;
		begin(p);
		add(p, "NULL together", "%s X; X.%s == NULL => X.%s == NULL;", t, f, g);
		if (k < i || p->pointer[k].target != p->pointer[i].target)
			continue;
		begin(p);
		add(p, "two nodes",
		    "%s X; X.%s != NULL and X.%s != NULL => (X.%s) != (X.%s);", t, f, g,
		    f, g);
	}
}

/* Whether a way along one pointer ends is more than nothing where there are ways back along another. */
static void propose_ends(struct proposer *p)
{
	const char *t = p->type->name;

	if (!count_links(p))
		return;
	begin(p);
	add(p, "no way leads back", "%s X; X /->> X;", t);
	p->implied_by = (int)p->ret->constraints.size - 1;
	for (size_t i = 0; i < p->n_pointers; i++) {
		if (!is_link(p, i) || is_array(p, i))
			continue;
		begin(p);
		attribute(p,
			  "%s.AHEAD_%zu NULL 0; %s X; X.AHEAD_%zu = X.%s.AHEAD_%zu + 1;",
			  t, i, t, i, p->pointer[i].name, i);
		add(p, "no way leads back", "%s X; X.AHEAD_%zu > 0;", t, i);
	}
	p->attribute = p->implied_by = -1;
}

/* Of what leads from a node to one of the same type. */
static void propose_link(struct proposer *p, size_t i)
{
	const char *t = p->type->name, *leads = p->pointer[i].leads;

	for (size_t k = 0; k < p->n_pointers && is_link(p, i) && leads[0]; k++) {
		const char *g = p->pointer[k].name;

		if (!is_link(p, k) || is_array(p, k))
			continue;
		begin(p);
		add(p, "back pointers", "%s X, Y; %s => Y.%s == X;", t, leads, g);
		for (size_t m = k + 1; m < p->n_pointers; m++)
			if (k != i && m != i && is_link(p, m) && !is_array(p, m))
				add(p, "back pointers",
				    "%s X, Y; %s => Y.%s == X or Y.%s == X;", t, leads, g,
				    p->pointer[m].name);
	}
}

/* .. of another type. */
static void propose_between(struct proposer *p, size_t i)
{
	const struct fl_proposed_type *u = p->pointer[i].target;

	if (u == p->type || is_array(p, i))
		return;
	for (uint32_t k = 0; k < u->layout->n_fields; k++) {
		const struct dec_field *g = &u->layout->fields[k];

		if (!g->is_pointer || type_called(p, g->points_to) != p->type ||
		    strchr(g->name, '['))
			continue;
		begin(p);
		add(p, "back pointers", "%s X; %s Y; %s => Y.%s == X;", p->type->name,
		    u->name, p->pointer[i].leads, g->name);
	}
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void propose_order(struct proposer *p, size_t i, const char *v)
{
	static const char *const orders[] = { "==", "<", ">", "<=", ">=" };
	const char *t = p->type->name, *leads = p->pointer[i].leads;

	if (!leads[0])
		return;
	begin(p);
	add(p, "order", "%s X, Y; %s => Y.%s == X.%s + 1;", t, leads, v, v);
	add(p, "order", "%s X, Y; %s => Y.%s == X.%s - 1;", t, leads, v, v);
	for (size_t k = 0; k < sizeof(orders) / sizeof(*orders); k++)
		add(p, "order", "%s X, Y; %s => X.%s %s Y.%s;", t, leads, v, orders[k],
		    v);
}

static void propose_values(struct proposer *p, size_t i)
{
	const struct fl_proposed_values *had = p->values[i];
	const char *t = p->type->name, *v = p->number[i]->name;
	char text[200];
	size_t used = 0;

	begin(p);
	for (int k = 0; k < had->n && had->n <= FL_PROPOSE_VALUES; k++)
		used += snprintf(text + used, sizeof(text) - used, "%sX.%s == %" PRId64,
				 k ? " or " : "", v, had->value[k]);
	if (used && used < sizeof(text))
		add(p, "values", "%s X; %s;", t, text);
	if (p->number[i]->is_signed)
		add(p, "values", "%s X; X.%s >= 0;", t, v);
	// A kind of node that none of the same kind is next to.
	for (size_t k = 0; k < p->n_pointers && had->n == 2; k++)
		for (int n = 0; n < 2 && is_link(p, k) && p->pointer[k].leads[0]; n++) {
			begin(p);
			add(p, "neighbours",
			    "%s X, Y; %s and X.%s == %" PRId64 " => Y.%s != %" PRId64 ";",
			    t, p->pointer[k].leads, v, had->value[n], v, had->value[n]);
		}
}

/* The elements of array @p a of which number @p count says how many are in use: in order, or each
 * before the two that are below it in a heap. */
static void propose_array_order(struct proposer *p, const struct array *a,
				const char *count)
{
	static const char *const orders[] = { "<", ">", "<=", ">=" };
	const char *t = p->type->name, *v = a->name;

	begin(p);
	for (size_t k = 0; k < sizeof(orders) / sizeof(*orders); k++)
		add(p, "sorted",
		    "%s X; for I in 0 to %u, I + 1 < X.%s => X.%s[I] %s X.%s[I + 1];", t,
		    a->count - 2, count, v, orders[k], v);
	for (int child = 1; child <= 2 && a->count > 2; child++) {
		begin(p);
		for (size_t k = 2; k < sizeof(orders) / sizeof(*orders); k++)
			add(p, "heap",
			    "%s X; for I in 0 to %u, 2 * I + %d < X.%s => X.%s[I] %s "
			    "X.%s[2 * I + %d];",
			    t, (a->count - 1 - child) / 2, child, count, v, orders[k], v,
			    child);
	}
}

/* An array and the number of its elements that are in use. */
static void propose_arrays(struct proposer *p)
{
	for (size_t i = 0; i < p->n_arrays; i++)
		for (size_t k = 0; k < p->n_numbers; k++) {
			const struct array *a = &p->array[i];
			const char *v = p->number[k]->name;

			begin(p);
			add(p, "count", "%s X; X.%s >= 0 and X.%s <= %u;", p->type->name,
			    v, v, a->count);
			propose_array_order(p, a, v);
		}
}

/* ---- what is counted over two pointers -------------------------------------------------------- */

static void propose_counted(struct proposer *p, const char *name, const char *plus)
{
	for (size_t i = 0; i < p->n_numbers; i++) {
		begin(p);
		add(p, "count", "%s X; X.%s == X.%s%s;", p->type->name,
		    p->number[i]->name, name, plus);
	}
}

static void propose_height(struct proposer *p, const char *f, const char *g, size_t pair)
{
	const char *t = p->type->name;
	char name[32];

	snprintf(name, sizeof(name), "HEIGHT_%zu", pair);
	attribute(p,
		  "%s.%s; %s X; X.%s = (X.%s.%s >= X.%s.%s) ? X.%s.%s + 1 : X.%s.%s + 1;",
		  t, name, t, name, f, name, g, name, f, name, g, name);
	begin(p);
	add(p, "balance", "%s X; X.%s.%s == X.%s.%s;", t, f, name, g, name);
	add(p, "balance", "%s X; X.%s.%s - X.%s.%s <= 1 and X.%s.%s - X.%s.%s >= -1;", t,
	    f, name, g, name, f, name, g, name);
	propose_counted(p, name, "");
	propose_counted(p, name, " + 1");
	snprintf(name, sizeof(name), "NEAREST_%zu", pair);
	attribute(p,
		  "%s.%s; %s X; X.%s = (X.%s.%s <= X.%s.%s) ? X.%s.%s + 1 : X.%s.%s + 1;",
		  t, name, t, name, f, name, g, name, f, name, g, name);
	begin(p);
	add(p, "balance", "%s X; X.%s.%s >= X.%s.%s;", t, f, name, g, name);
	add(p, "balance", "%s X; X.%s.%s <= X.%s.%s;", t, f, name, g, name);
	propose_counted(p, name, "");
	propose_counted(p, name, " + 1");
	snprintf(name, sizeof(name), "NODES_%zu", pair);
	attribute(p, "%s.%s NULL 0; %s X; X.%s = X.%s.%s + X.%s.%s + 1;", t, name, t,
		  name, f, name, g, name);
	propose_counted(p, name, "");
	p->attribute = -1;
}

/* As many of one kind on both ways down. */
static void propose_even(struct proposer *p, const char *f, const char *g, size_t pair,
			 size_t number)
{
	const struct fl_proposed_values *had = p->values[number];
	const char *t = p->type->name;

	for (int k = 0; k < 2 && had->n == 2; k++) {
		attribute(p,
			  "%s.EVEN_%zu_%zu_%d NULL 0; %s X; X.%s == %" PRId64
			  " => X.EVEN_%zu_%zu_%d = X.%s.EVEN_%zu_%zu_%d + 1 || "
			  "X.EVEN_%zu_%zu_%d = X.%s.EVEN_%zu_%zu_%d;",
			  t, pair, number, k, t, p->number[number]->name, had->value[k],
			  pair, number, k, f, pair, number, k, pair, number, k, f, pair,
			  number, k);
		begin(p);
		add(p, "balance", "%s X; X.%s.EVEN_%zu_%zu_%d == X.%s.EVEN_%zu_%zu_%d;",
		    t, f, pair, number, k, g, pair, number, k);
	}
	p->attribute = -1;
}

/* Of all that is behind pointer @p f the number that is farthest along @p on, @p name, is on @p side of a
 * node's own. */
static void propose_bound(struct proposer *p, const char *name, const char *f,
			  const char *on, const char *side, const char *v)
{
	const char *t = p->type->name;

	attribute(p, "%s.%s; %s X; X.%s == NULL => X.%s = X.%s || X.%s = X.%s.%s;", t,
		  name, t, on, name, v, name, on, name);
	begin(p);
	add(p, "order", "%s X; X.%s != NULL => X.%s.%s %s X.%s;", t, f, f, name, side, v);
	p->attribute = -1;
}

/* All that is behind one pointer is less, all behind the other more. */
static void propose_bounds(struct proposer *p, const char *f, const char *g, size_t pair,
			   size_t number)
{
	const char *v = p->number[number]->name;
	char name[64];

	snprintf(name, sizeof(name), "MOST_%zu_%zu", pair, number);
	propose_bound(p, name, f, g, "<", v);
	snprintf(name, sizeof(name), "LEAST_%zu_%zu", pair, number);
	propose_bound(p, name, g, f, ">", v);
}

static void propose_pairs(struct proposer *p)
{
	size_t pair = 0;

	for (size_t i = 0; i < p->n_pointers; i++)
		for (size_t k = i + 1; k < p->n_pointers && pair < PAIRS_MAX; k++) {
			const char *f = p->pointer[i].name, *g = p->pointer[k].name;

			if (!is_link(p, i) || !is_link(p, k) || is_array(p, i) ||
			    is_array(p, k))
				continue;
			propose_height(p, f, g, pair);
			for (size_t number = 0; number < p->n_numbers; number++) {
				propose_even(p, f, g, pair, number);
				propose_bounds(p, f, g, pair, number);
			}
			pair++;
		}
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void propose_type(struct proposer *p)
{
	choose_fields(p);
	propose_degrees(p);
	propose_ends(p);
	for (size_t i = 0; i < p->n_pointers; i++) {
		propose_pointer(p, i);
		propose_link(p, i);
		propose_between(p, i);
		for (size_t k = 0; k < p->n_numbers && is_link(p, i); k++)
			propose_order(p, i, p->number[k]->name);
	}
	for (size_t i = 0; i < p->n_numbers; i++)
		propose_values(p, i);
	propose_arrays(p);
	propose_pairs(p);
}

struct err *fl_propose(const struct fl_proposed_type *types, size_t n,
		       struct fl_proposal *ret)
{
	struct proposer p = { .ret = ret, .types = types, .n_types = n, .attribute = -1 };

	for (size_t i = 0; i < n; i++) {
		p.type = &types[i];
		propose_type(&p);
	}
	return p.err;
}

void fl_proposal_deinit(struct fl_proposal *p)
{
	for (size_t i = 0; i < p->constraints.size; i++)
		free(p->constraints.data[i].text);
	for (size_t i = 0; i < p->attributes.size; i++)
		free(p->attributes.data[i]);
	vec_deinit(&p->constraints);
	vec_deinit(&p->attributes);
}
