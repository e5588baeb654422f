// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/repair.h"

enum { CONTEXT = 3, MOST_LINES = 2000 };

typedef VEC(const char *) lines;

static struct err *split(const char *text, lines *ret)
{
	while (*text) {
		const char *end = strchr(text, '\n');

		if (vec_add(ret, text))
			return &err_nomem;
		if (!end)
			break;
		text = end + 1;
	}
	return NULL;
}

static size_t length(const char *line)
{
	return strcspn(line, "\n");
}

static bool same(const char *a, const char *b)
{
	return length(a) == length(b) && !memcmp(a, b, length(a)) &&
	       !a[length(a)] == !b[length(b)];
}

static void put(char sign, const char *line, FILE *out)
{
	fprintf(out, "%c%.*s\n", sign, (int)length(line), line);
	if (!line[length(line)])
		fputs("\\ No newline at end of file\n", out);
}

/* What stays of @p na and @p nb lines is as long as can be: the rest of the table, from behind. */
static struct err *fill(const char *const *a, size_t na, const char *const *b, size_t nb,
			unsigned **ret)
{
	unsigned *t = calloc((na + 1) * (nb + 1), sizeof(*t));

	if (!t)
		return &err_nomem;
	for (size_t i = na; i--;)
		for (size_t k = nb; k--;) {
			unsigned down = t[(i + 1) * (nb + 1) + k],
				 right = t[i * (nb + 1) + k + 1];

			t[i * (nb + 1) + k] = same(a[i], b[k]) ?
						      t[(i + 1) * (nb + 1) + k + 1] + 1 :
					      down > right ? down :
							     right;
		}
	*ret = t;
	return NULL;
}

/* All that changed is one hunk: what is between is few lines, a function. */
static void put_middle(const char *const *a, size_t na, const char *const *b, size_t nb,
		       const unsigned *t, FILE *out)
{
	size_t i = 0, k = 0;

	while (i < na || k < nb) {
		if (i < na && k < nb && same(a[i], b[k])) {
			put(' ', a[i], out);
			i++, k++;
		} else if (k >= nb || (i < na && t[(i + 1) * (nb + 1) + k] >=
							 t[i * (nb + 1) + k + 1])) {
			put('-', a[i++], out);
		} else {
			put('+', b[k++], out);
		}
	}
}

static struct err *put_diff(const struct rp_program *p, const lines *a, const lines *b,
			    FILE *out)
{
	size_t from = 0, tail = 0, before, behind, na, nb;
	unsigned *table;
	struct err *err;

	while (from < a->size && from < b->size && same(a->data[from], b->data[from]))
		from++;
	if (from == a->size && from == b->size)
		return NULL;
	while (tail + from < a->size && tail + from < b->size &&
	       same(a->data[a->size - 1 - tail], b->data[b->size - 1 - tail]))
		tail++;
	na = a->size - tail - from;
	nb = b->size - tail - from;
	if (na > MOST_LINES || nb > MOST_LINES)
		return err_new(ERR_UNSUPPORTED, "more than %d lines between the changes",
			       MOST_LINES);
	err = fill(a->data + from, na, b->data + from, nb, &table);
	if (err)
		return err;
	before = from < CONTEXT ? from : CONTEXT;
	behind = tail < CONTEXT ? tail : CONTEXT;
	fprintf(out, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", p->path, p->path,
		from - before + 1, before + na + behind, from - before + 1,
		before + nb + behind);
	for (size_t i = from - before; i < from; i++)
		put(' ', a->data[i], out);
	put_middle(a->data + from, na, b->data + from, nb, table, out);
	for (size_t i = 0; i < behind; i++)
		put(' ', a->data[a->size - tail + i], out);
	free(table);
	return NULL;
}

struct err *fl_rp_diff(const struct rp_program *p, const char *text, FILE *out)
{
	lines a = {}, b = {};
	struct err *err = split(p->text, &a);

	if (!err)
		err = split(text, &b);
	if (!err)
		err = put_diff(p, &a, &b, out);
	vec_deinit(&a);
	vec_deinit(&b);
	return err;
}
