// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A line that says what it is, then of each structure a line of numbers, its text, a character for each
 * pair and two for each sub-operation; last a sum of all before.
 */
#include "faultlocate/linear/derived.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/file.h"
#include "base/hash.h"

#define FIRST_LINE "faultline derived pairs 3\n"

enum {
	ORDERABLE = 1,
	REVERSIBLE = 2,
	BOUNDARY = 4,
	UNDECIDED =
		8, ///< and which of 4 reasons, from 16 on; all behind the character '0'
	FILE_MOST = 64 << 20,
};

struct derived_entry {
	const char *text, *pairs, *never, *moves;
	size_t size, n;
	uint64_t n_facts, n_states;
	unsigned n_operations; ///< executed; 0: none
};

static struct err *bad(const char *path)
{
	return err_new(ERR_FORMAT,
		       "'%s' is no file of derived pairs, or was altered: remove it",
		       path);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* @return what comes at *@p at, @p n bytes and a newline; NULL: less. */
static const char *next(char **at, const char *end, size_t n)
{
	char *it = *at;

	if (n >= (size_t)(end - it) || it[n] != '\n')
		return NULL;
	*at += n + 1;
	return it;
}

/* A structure. @return false: it is none. */
static bool read_entry(char **at, const char *end, struct derived_entry *e)
{
	int length = 0;

	if (sscanf(*at, "structure %zu %zu %" SCNu64 " %u %" SCNu64 "%n", &e->size, &e->n,
		   &e->n_facts, &e->n_operations, &e->n_states, &length) != 5 ||
	    !next(at, end, length) || e->n > 4096)
		return false;
	e->text = next(at, end, e->size);
	e->pairs = e->text ? next(at, end, e->n * e->n) : NULL;
	e->never = e->pairs ? next(at, end, e->n) : NULL;
	e->moves = e->never ? next(at, end, e->n) : NULL;
	return e->moves;
}

static struct err *read_all(const char *path, size_t size, struct fl_lin_derived *d)
{
	char *at = d->bytes, *sum = d->bytes, *last = NULL;
	uint64_t is;
	char more;

	while ((sum = memmem(sum, d->bytes + size - sum, "\nsum ", 5)))
		last = sum++;
	if (!last || strncmp(at, FIRST_LINE, strlen(FIRST_LINE)) ||
	    sscanf(last, "\nsum %" SCNx64 "\n%c", &is, &more) != 1 ||
	    is != hash_bytes(HASH_START, at, last + 1 - at))
		return bad(path);
	at += strlen(FIRST_LINE);
	while (at <= last) {
		struct derived_entry e;

		if (!read_entry(&at, last + 1, &e))
			return bad(path);
		if (vec_add(&d->entries, e))
			return &err_nomem;
	}
	return NULL;
}

struct err *fl_lin_derived_read(const char *path, struct fl_lin_derived *ret)
{
	size_t size;
	struct err *err = file_read_input(path, FILE_MOST, &ret->bytes, &size);

	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	return err ?: read_all(path, size, ret);
}

/* ---- finding and keeping ------------------------------------------------------------------- */

static const struct derived_entry *entry_of(const struct fl_lin_derived *d,
					    const struct fl_lin_steps *steps)
{
	// Behind another of the same text it knows more.
	for (size_t i = d->entries.size; i--;) {
		const struct derived_entry *e = &d->entries.data[i];

		if (e->size == steps->s->size && e->n == steps->size &&
		    !memcmp(e->text, steps->s->text, e->size))
			return e;
	}
	return NULL;
}

bool fl_lin_derived_find(const struct fl_lin_derived *d, const struct fl_lin_steps *steps,
			 unsigned operations, struct fl_lin_pairs *pairs,
			 struct fl_lin_executions *runs)
{
	const struct derived_entry *e = entry_of(d, steps);

	*runs = (struct fl_lin_executions){};
	if (!e)
		return false;
	if (!fl_lin_pairs_alloc(pairs, e->n))
		return false;
	pairs->n_facts = e->n_facts;
	for (size_t k = 0; k < e->n * e->n; k++) {
		unsigned bits = (unsigned char)e->pairs[k] - '0';

		pairs->data[k] = (struct fl_lin_pair){ .is_orderable = bits & ORDERABLE,
						       .is_reversible = bits & REVERSIBLE,
						       .is_boundary = bits & BOUNDARY,
						       .is_undecided = bits & UNDECIDED,
						       .why = bits >> 4 & 3 };
		pairs->n_undecided += pairs->data[k].is_undecided;
	}
	for (size_t k = 0; k < e->n; k++) {
		pairs->is_never[k] = e->never[k] == '1';
		pairs->may_wait[k] = e->never[k] == '2';
		pairs->move[k] = e->moves[k] == '1' ? MOVE_LATE :
				 e->moves[k] == '2' ? MOVE_SPLIT :
						      MOVE_BY_PAIRS;
	}
	if (e->n_operations >= operations)
		*runs = (struct fl_lin_executions){ .is_complete = true,
						    .n_operations = e->n_operations,
						    .n_states = e->n_states };
	return true;
}

struct err *fl_lin_derived_add(struct fl_lin_derived *d, const struct fl_lin_steps *steps,
			       const struct fl_lin_pairs *pairs,
			       const struct fl_lin_executions *runs)
{
	size_t n = steps->size;
	char *all = arena_alloc(&d->arena, n * n), *never = arena_alloc(&d->arena, n),
	     *moves = arena_alloc(&d->arena, n);
	char *text = arena_strndup(&d->arena, steps->s->text, steps->s->size);
	struct derived_entry e = {
		text,		all, never, moves, steps->s->size, n, pairs->n_facts,
		runs->n_states, 0
	};

	if (!all || !never || !moves || !text)
		return &err_nomem;
	for (size_t k = 0; k < n * n; k++) {
		const struct fl_lin_pair *p = &pairs->data[k];

		all[k] =
			(char)('0' + p->is_orderable * ORDERABLE +
			       p->is_reversible * REVERSIBLE + p->is_boundary * BOUNDARY +
			       p->is_undecided * UNDECIDED + (int)p->why * 16);
	}
	for (size_t k = 0; k < n; k++) {
		never[k] = pairs->is_never[k] ? '1' : pairs->may_wait[k] ? '2' : '0';
		moves[k] = (char)('0' + pairs->move[k]);
	}
	if (runs->is_complete && !runs->is_broken)
		e.n_operations = runs->n_operations;
	d->has_more = true;
	return vec_add(&d->entries, e) ? &err_nomem : NULL;
}

struct err *fl_lin_derived_write(const struct fl_lin_derived *d, const char *path)
{
	struct new_file f = {};
	struct err *err = NULL;
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0;
	FILE *out;

	if (!d->has_more)
		return NULL;
	out = open_memstream(&bytes, &size);
	if (!out)
		return &err_nomem;
	fputs(FIRST_LINE, out);
	for (size_t i = 0; i < d->entries.size; i++) {
		const struct derived_entry *e = &d->entries.data[i];

		fprintf(out, "structure %zu %zu %" PRIu64 " %u %" PRIu64 "\n", e->size,
			e->n, e->n_facts, e->n_operations, e->n_states);
		fprintf(out, "%.*s\n%.*s\n%.*s\n%.*s\n", (int)e->size, e->text,
			(int)(e->n * e->n), e->pairs, (int)e->n, e->never, (int)e->n,
			e->moves);
	}
	if (fclose(out))
		return &err_nomem;
	err = new_file_open(&f, path, 0666);
	if (!err) {
		fwrite(bytes, 1, size, f.stream);
		fprintf(f.stream, "sum %016" PRIx64 "\n",
			hash_bytes(HASH_START, bytes, size));
		err = new_file_commit(&f);
	}
	new_file_deinit(&f);
	return err;
}

void fl_lin_derived_deinit(struct fl_lin_derived *d)
{
	vec_deinit(&d->entries);
	free(d->bytes);
	arena_deinit(&d->arena);
	*d = (struct fl_lin_derived){};
}
