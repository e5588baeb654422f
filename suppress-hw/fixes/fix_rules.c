// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Rules and their order (paper 003, section 8.2.2). apriori would find a rule for each subset of each
 * situation; of those that apply to the one in question only the best of each fix matters. A larger
 * antecedent that holds in the same scenarios has the same confidence and comes first, so that
 * antecedents need be looked at only where they are all that the question shares with a set of
 * scenarios (closed sets).
 *
 * A rule of confidence 1: let X imply f in all scenarios that have X. Each of these, T, shares at
 * least X with the question, what it shares implies f too, and is no smaller. So it is enough to look
 * at what each single scenario shares. Below 1 all closed sets are looked at, one behind the other,
 * as far as LOOKED_AT goes. (That smaller antecedents cannot have higher confidence, as the paper
 * has it, is not so.)
 */
#include <string.h>

#include "suppress-hw/fixes/fixes_int.h"

#define LOOKED_AT 200000

/* ---- rules that are given --------------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
	const struct fix_rule *p = a, *q = b;

	if (p->is_considered != q->is_considered)
		return q->is_considered - p->is_considered;
	if (p->confidence != q->confidence)
		return p->confidence > q->confidence ? -1 : 1;
	if (p->n != q->n)
		return p->n > q->n ? -1 : 1;
	return strcmp(p->fix, q->fix);
}

void fix_rules_order(struct fix_rule *rules, size_t n, const fix_words *situation)
{
	for (size_t i = 0; i < n; i++) {
		rules[i].is_considered = true;
		for (size_t k = 0; k < rules[i].n; k++)
			rules[i].is_considered &=
				fix_words_has(situation, rules[i].antecedent[k]);
	}
	if (n)
		qsort(rules, n, sizeof(*rules), by_order);
	for (size_t i = 0; i < n && rules[i].is_considered; i++) {
		const struct fix_rule *before = i ? &rules[i - 1] : NULL;
		bool is_as_sure = i && before->confidence == rules[i].confidence;

		rules[i].by_confidence = i ? before->by_confidence + !is_as_sure : 1;
		rules[i].by_size =
			i ? before->by_size + !(is_as_sure && before->n == rules[i].n) :
			    1;
	}
}

/* ---- rules of a knowledge ----------------------------------------------------------------------- */

/** What each scenario shares with the question, as bits by the question's words. */
struct lattice {
	const struct fix_knowledge *k;
	const fix_words *situation;
	size_t n, words; ///< scenarios; 64-bit words of a set
	uint64_t *shared;
	fix_suggestions *ret;
	double confidence;
	size_t n_seen;
	bool is_cut;
};

static uint64_t *set_of(const struct lattice *l, size_t i)
{
	return l->shared + i * l->words;
}

static bool is_within(const struct lattice *l, const uint64_t *a, const uint64_t *b)
{
	for (size_t i = 0; i < l->words; i++)
		if (a[i] & ~b[i])
			return false;
	return true;
}

static uint32_t size_of(const struct lattice *l, const uint64_t *a)
{
	uint32_t n = 0;

	for (size_t i = 0; i < l->words; i++)
		n += __builtin_popcountll(a[i]);
	return n;
}

/* How good is @p set as an antecedent of @p fix? 0: too few that have it, too. */
static double confidence_of(const struct lattice *l, const uint64_t *set, const char *fix)
{
	size_t n = 0, n_fix = 0;

	for (size_t i = 0; i < l->n; i++)
		if (is_within(l, set, set_of(l, i))) {
			n++;
			n_fix += fix_words_has(&l->k->scenarios.data[i].fixes, fix);
		}
	return n ? (double)n_fix / n : 0;
}

static struct err *offer(struct lattice *l, const char *fix, double confidence,
			 uint32_t n, size_t like)
{
	struct fix_suggestion *s = vec_find(l->ret, e, !strcmp(e->fix, fix));
	struct fix_suggestion now = { .fix = fix,
				      .confidence = confidence,
				      .n_descriptors = n,
				      .like = l->k->scenarios.data[like].where };

	if (confidence < l->confidence)
		return NULL;
	if (!s)
		return vec_add(l->ret, now);
	if (confidence > s->confidence ||
	    (confidence == s->confidence && n > s->n_descriptors))
		*s = now;
	return NULL;
}

static bool has_any(const fix_words *w, const char *const *words)
{
	while (*words && !fix_words_has(w, *words))
		words++;
	return *words;
}

/* Can the statement have it? What changes an operator needs one, and so on. */
static bool is_possible(const char *fix, const fix_words *situation)
{
	static const char *const comparisons[] = {
		"<", ">", "<=", ">=", "==", "!=", NULL
	};
	static const char *const logic[] = { "&&", "||", NULL };
	static const char *const sums[] = { "+", "-", NULL };
	static const char *const needs[][2] = { { "c+-", "CONST" },   { "c+", "CONST" },
						{ "c-", "CONST" },    { "v+", "VAR" },
						{ "v-", "VAR" },      { "vm", "VAR" },
						{ "fm", "FUNC_CALL" } };
	char from[4], to[4];

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (!strcmp(fix, needs[i][0]))
			return fix_words_has(situation, needs[i][1]);
	if (!strcmp(fix, "copm"))
		return has_any(situation, comparisons);
	if (!strcmp(fix, "lopm") || !strcmp(fix, "cond-"))
		return has_any(situation, logic);
	if (!strcmp(fix, "e-t"))
		return has_any(situation, sums);
	return !fix_split(fix, from, to) || fix_words_has(situation, from);
}

/* All fixes of scenario @p i, by antecedent @p set. */
static struct err *offer_all(struct lattice *l, size_t i, const uint64_t *set)
{
	const fix_words *fixes = &l->k->scenarios.data[i].fixes;
	uint32_t n = size_of(l, set);
	struct err *err = NULL;

	for (size_t f = 0; f < fixes->size && n && !err; f++)
		if (is_possible(fixes->data[f], l->situation))
			err = offer(l, fixes->data[f],
				    confidence_of(l, set, fixes->data[f]), n, i);
	return err;
}

/* Has each fix a rule of confidence 1? Then no other one matters. */
static bool is_settled(const struct lattice *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const fix_words *fixes = &l->k->scenarios.data[i].fixes;

		for (size_t f = 0; f < fixes->size; f++) {
			const struct fix_suggestion *s =
				vec_find(l->ret, e, !strcmp(e->fix, fixes->data[f]));

			if (size_of(l, set_of(l, i)) &&
			    is_possible(fixes->data[f], l->situation) &&
			    (!s || s->confidence < 1))
				return false;
		}
	}
	return true;
}

/*
 * Closed sets below @p set, which is what scenarios up to some share ("close by one"): @p set cut with
 * each scenario behind @p from that does not have it all. One that another order leads to is met
 * there: where a scenario before has it too, and had not @p set.
 */
static struct err *descend(struct lattice *l, const uint64_t *set, size_t from)
{
	uint64_t *cut = malloc((l->words + 1) * sizeof(*cut));
	struct err *err = cut ? NULL : &err_nomem;

	for (size_t i = from; i < l->n && !err && !l->is_cut; i++) {
		bool is_new = !is_within(l, set, set_of(l, i));

		for (size_t w = 0; w < l->words; w++)
			cut[w] = set[w] & set_of(l, i)[w];
		for (size_t k = 0; k < i && is_new; k++)
			is_new = is_within(l, set, set_of(l, k)) ||
				 !is_within(l, cut, set_of(l, k));
		if (!is_new || !size_of(l, cut))
			continue;
		if (++l->n_seen > LOOKED_AT)
			l->is_cut = true;
		for (size_t k = 0; k < l->n && !err; k++)
			if (is_within(l, cut, set_of(l, k)))
				err = offer_all(l, k, cut);
		if (!err)
			err = descend(l, cut, i + 1);
	}
	free(cut);
	return err;
}

static struct err *look_below(struct lattice *l)
{
	uint64_t *all = malloc((l->words + 1) * sizeof(*all));
	struct err *err;

	if (!all)
		return &err_nomem;
	memset(all, 0xff, l->words * sizeof(*all));
	err = descend(l, all, 0);
	free(all);
	return err;
}

static int by_rule(const void *a, const void *b)
{
	const struct fix_suggestion *p = a, *q = b;

	if (p->confidence != q->confidence)
		return p->confidence > q->confidence ? -1 : 1;
	if (p->n_descriptors != q->n_descriptors)
		return p->n_descriptors > q->n_descriptors ? -1 : 1;
	return strcmp(p->fix, q->fix);
}

static void rank(fix_suggestions *s)
{
	vec_sort(s, by_rule);
	for (size_t i = 0; i < s->size; i++) {
		const struct fix_suggestion *before = i ? &s->data[i - 1] : NULL;

		s->data[i].rank = !i ? 1 :
				       before->rank + (before->confidence !=
							       s->data[i].confidence ||
						       before->n_descriptors !=
							       s->data[i].n_descriptors);
	}
}

struct err *fix_suggest(const struct fix_knowledge *k, const fix_words *situation,
			double confidence, fix_suggestions *ret, bool *is_cut)
{
	struct lattice l = { .k = k,
			     .situation = situation,
			     .n = k->scenarios.size,
			     .words = situation->size / 64 + 1,
			     .ret = ret,
			     .confidence = confidence };
	struct err *err = NULL;

	l.shared = calloc(l.n * l.words + 1, sizeof(*l.shared));
	if (!l.shared)
		return &err_nomem;
	for (size_t i = 0; i < l.n; i++)
		for (size_t w = 0; w < situation->size; w++)
			if (fix_words_has(&k->scenarios.data[i].situation,
					  situation->data[w]))
				set_of(&l, i)[w / 64] |= 1ul << w % 64;
	for (size_t i = 0; i < l.n && !err; i++)
		err = offer_all(&l, i, set_of(&l, i));
	if (!err && confidence < 1 && !is_settled(&l))
		err = look_below(&l);
	*is_cut = l.is_cut;
	free(l.shared);
	if (!err)
		rank(ret);
	return err;
}

void fix_suggestions_deinit(fix_suggestions *s)
{
	for (size_t i = 0; i < s->size; i++)
		free(s->data[i].edit);
	vec_deinit(s);
}
