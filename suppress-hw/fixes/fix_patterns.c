// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What the values of a statement have in common (paper 003, Figures 8.4 and 8.5), instruction by
 * instruction; the patterns of all its instructions are united, so that two may contradict each
 * other.
 */
#include <stdio.h>
#include <string.h>

#include "suppress-hw/fixes/fixes.h"

static const char *const roles[RANK_ROLES] = { "Def", "Use1", "Use2", "Use3", "Use4" };

static bool has(const struct rank_set *s, int role)
{
	return s->has & 1u << role;
}

static char compare(int64_t a, int64_t b)
{
	return a < b ? '<' : a > b ? '>' : '=';
}

/* ---- a comparison that is the same in all ------------------------------------------------------ */

/** Two values of each of @p n things. @return false: that has not both. */
typedef bool (*pair_fn)(const void *things, size_t i, int a, int b, int64_t ret[2]);

/** How @p things' values @p a and @p b compare. @return 0: not always alike, or not always both
 * there. */
static char common(const void *things, size_t n, pair_fn pair, int a, int b)
{
	char ret = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t v[2];
		char now;

		if (!pair(things, i, a, b, v))
			return 0;
		now = compare(v[0], v[1]);
		if (i && now != ret)
			return 0;
		ret = now;
	}
	return ret;
}

static struct err *add_pair(fix_words *ret, const char *one, const char *other, int a,
			    int b, char sign)
{
	char text[64];

	if (!sign)
		return NULL;
	snprintf(text, sizeof(text), "%s%s%c%s%s", one, roles[a], sign, other, roles[b]);
	return fix_words_add(ret, text);
}

static struct err *add_pairs(const void *things, size_t n, pair_fn pair, const char *name,
			     fix_words *ret)
{
	struct err *err = NULL;

	for (int a = 0; a < RANK_ROLES && !err; a++)
		for (int b = a + 1; b < RANK_ROLES && !err; b++)
			err = add_pair(ret, name, name, a, b,
				       common(things, n, pair, a, b));
	return err;
}

/* ---- IVMPs ----------------------------------------------------------------------------------------- */

static bool two_of(const struct rank_set *s, int a, int b, int64_t ret[2])
{
	if (!has(s, a) || !has(s, b))
		return false;
	ret[0] = s->value[a];
	ret[1] = s->value[b];
	return true;
}

static bool of_original(const void *v, size_t i, int a, int b, int64_t ret[2])
{
	return two_of(&((const struct fix_ivmp *)v)[i].original, a, b, ret);
}

static bool of_alternate(const void *v, size_t i, int a, int b, int64_t ret[2])
{
	return two_of(&((const struct fix_ivmp *)v)[i].alternate, a, b, ret);
}

static bool corresponding(const void *v, size_t i, int a, int b, int64_t ret[2])
{
	const struct fix_ivmp *m = &((const struct fix_ivmp *)v)[i];

	(void)b;
	if (!has(&m->original, a) || !has(&m->alternate, a))
		return false;
	ret[0] = m->original.value[a];
	ret[1] = m->alternate.value[a];
	return true;
}

/* Does the value of @p role change in all of them, and is it the same in all before (after)? */
static bool is_one(const struct fix_ivmp *v, size_t n, int role, bool is_after)
{
	for (size_t i = 0; i < n; i++) {
		const struct rank_set *s = is_after ? &v[i].alternate : &v[i].original;
		const struct rank_set *first = is_after ? &v[0].alternate :
							  &v[0].original;
		int64_t pair[2];

		if (!corresponding(v, i, role, role, pair) || pair[0] == pair[1] ||
		    s->value[role] != first->value[role])
			return false;
	}
	return n;
}

static struct err *add_special(const struct fix_ivmp *v, size_t n, fix_words *ret)
{
	bool has_other = n, has_left_out = n, from_one = false, to_one = false;
	struct err *err = NULL;

	for (size_t i = 0; i < n; i++) {
		has_other &= v[i].is_branch;
		has_left_out &= v[i].is_left_out;
	}
	for (int role = 0; role < RANK_ROLES; role++) {
		from_one |= is_one(v, n, role, false);
		to_one |= is_one(v, n, role, true);
	}
	if (has_other)
		err = fix_words_add(ret, "OTHER-BRANCH");
	if (!err && has_left_out)
		err = fix_words_add(ret, "LEFT-OUT");
	if (!err && from_one)
		err = fix_words_add(ret, "ONE-TO-ANY");
	if (!err && to_one)
		err = fix_words_add(ret, "ANY-TO-ONE");
	return err;
}

struct err *fix_ivmps_describe(const struct fix_ivmp *v, size_t n, fix_words *ret)
{
	struct err *err = add_pairs(v, n, of_original, "orig", ret);

	if (!err)
		err = add_pairs(v, n, of_alternate, "alt", ret);
	for (int a = 0; a < RANK_ROLES && !err; a++)
		err = add_pair(ret, "orig", "alt", a, a,
			       common(v, n, corresponding, a, a));
	return err ?: add_special(v, n, ret);
}

/* ---- values of failing and passing tests ------------------------------------------------------- */

static bool of_set(const void *s, size_t i, int a, int b, int64_t ret[2])
{
	return two_of(&((const struct rank_set *)s)[i], a, b, ret);
}

static bool extremes(const struct rank_set *s, size_t n, int role, int64_t ret[2])
{
	for (size_t i = 0; i < n; i++) {
		int64_t v = s[i].value[role];

		if (!has(&s[i], role))
			return false;
		ret[0] = i && ret[0] < v ? ret[0] : v;
		ret[1] = i && ret[1] > v ? ret[1] : v;
	}
	return n;
}

static struct err *add_extremes(const struct rank_set *fail, size_t n_fail,
				const struct rank_set *pass, size_t n_pass,
				fix_words *ret)
{
	struct err *err = NULL;

	for (int role = 0; role < RANK_ROLES && !err; role++) {
		int64_t f[2] = {}, p[2] = {};
		bool has_f = extremes(fail, n_fail, role, f),
		     has_p = extremes(pass, n_pass, role, p);

		if (has_f && has_p && f[1] < p[0])
			err = fix_words_add(ret, "ALL-FAIL-SMALLER");
		if (!err && has_f && has_p && f[0] > p[1])
			err = fix_words_add(ret, "ALL-FAIL-LARGER");
		if (!err && has_f && f[0] == f[1])
			err = fix_words_add(ret, "ONE-FAIL-VALUE");
		if (!err && has_p && p[0] == p[1])
			err = fix_words_add(ret, "ONE-PASS-VALUE");
	}
	return err;
}

struct err *fix_sets_describe(const struct rank_set *s, size_t n, fix_words *ret)
{
	struct rank_set *sorted = malloc((n + 1) * sizeof(*sorted));
	size_t n_fail = 0, k = 0;
	struct err *err;

	if (!sorted)
		return &err_nomem;
	for (size_t i = 0; i < n; i++)
		if (s[i].is_failed)
			sorted[n_fail++] = s[i];
	k = n_fail;
	for (size_t i = 0; i < n; i++)
		if (!s[i].is_failed)
			sorted[k++] = s[i];
	err = add_pairs(sorted, n_fail, of_set, "fail", ret);
	if (!err)
		err = add_pairs(sorted + n_fail, n - n_fail, of_set, "pass", ret);
	if (!err)
		err = add_extremes(sorted, n_fail, sorted + n_fail, n - n_fail, ret);
	free(sorted);
	return err;
}

/* ---- of a statement ----------------------------------------------------------------------------- */

static int64_t as_signed(uint64_t v, uint8_t bytes)
{
	int shift = bytes && bytes < 8 ? 64 - 8 * bytes : 0;

	return (int64_t)(v << shift) >> shift;
}

/* The alternate's other values are those that were seen with it. */
static struct fix_ivmp as_sets(const struct rank_result *r, const struct rank_ivmp *v)
{
	const struct rank_set *own = v->set < r->sets.size ? &r->sets.data[v->set] : NULL;
	struct fix_ivmp ret = { .is_branch = v->is_branch,
				.is_left_out = v->is_left_out };
	int64_t to = as_signed(v->alternate, v->bytes);

	if (own)
		ret.original = *own;
	if (!own || v->is_branch || v->is_left_out || v->role >= RANK_ROLES)
		return ret;
	for (size_t i = 0; i < r->sets.size && !ret.alternate.has; i++) {
		const struct rank_set *s = &r->sets.data[i];

		if (s->instruction == own->instruction && !s->is_branch &&
		    has(s, v->role) && s->value[v->role] == to)
			ret.alternate = *s;
	}
	ret.alternate.has |= 1u << v->role;
	ret.alternate.value[v->role] = to;
	return ret;
}

typedef VEC(struct fix_ivmp) ivmps;

/* Those of the same instruction as @p first, and of its kind. */
static struct err *describe_like(const struct rank_result *r, size_t first,
				 const uint8_t *is_same, ivmps *list, fix_words *ret)
{
	struct err *err = NULL;

	list->size = 0;
	for (size_t i = first; i < r->ivmps.size && !err; i++)
		if (is_same[i])
			err = vec_add(list, as_sets(r, &r->ivmps.data[i]));
	return err ?: fix_ivmps_describe(list->data, list->size, ret);
}

static uint32_t instruction_of(const struct rank_result *r, const struct rank_ivmp *v)
{
	return v->set < r->sets.size ? r->sets.data[v->set].instruction : UINT32_MAX;
}

static bool is_alike(const struct rank_result *r, const struct rank_ivmp *a,
		     const struct rank_ivmp *b)
{
	return a->is_branch == b->is_branch && a->is_left_out == b->is_left_out &&
	       a->role == b->role && instruction_of(r, a) == instruction_of(r, b);
}

static struct err *describe_ivmps(const struct rank_result *r, fix_words *ret)
{
	uint8_t *is_done = calloc(2, r->ivmps.size + 1),
		*is_same = is_done + r->ivmps.size + 1;
	ivmps list = {};
	struct err *err = is_done ? NULL : &err_nomem;

	for (size_t i = 0; i < r->ivmps.size && !err; i++) {
		if (is_done[i])
			continue;
		for (size_t k = i; k < r->ivmps.size; k++) {
			is_same[k] = !is_done[k] &&
				     is_alike(r, &r->ivmps.data[i], &r->ivmps.data[k]);
			is_done[k] |= is_same[k];
		}
		err = describe_like(r, i, is_same, &list, ret);
	}
	vec_deinit(&list);
	free(is_done);
	return err;
}

static int by_instruction(const void *a, const void *b)
{
	const struct rank_set *p = a, *q = b;

	if (p->is_branch != q->is_branch)
		return p->is_branch - q->is_branch;
	return (p->instruction > q->instruction) - (p->instruction < q->instruction);
}

/* A branch's are those of what it goes by. */
static struct err *describe_sets(const struct rank_result *r, fix_words *ret)
{
	size_t n = r->sets.size;
	struct rank_set *s = malloc((n + 1) * sizeof(*s));
	struct err *err = NULL;

	if (!s)
		return &err_nomem;
	if (n)
		memcpy(s, r->sets.data, n * sizeof(*s));
	qsort(s, n, sizeof(*s), by_instruction);
	for (size_t i = 0, end; i < n && !s[i].is_branch && !err; i = end) {
		for (end = i; end < n && !by_instruction(&s[i], &s[end]);)
			end++;
		err = fix_sets_describe(s + i, end - i, ret);
	}
	free(s);
	return err;
}

struct err *fix_values_describe(const struct rank_result *r, fix_words *ret)
{
	struct err *err = describe_ivmps(r, ret);

	return err ?: describe_sets(r, ret);
}
