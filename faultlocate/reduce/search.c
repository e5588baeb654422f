// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is kept is a list of units. A round of delta debugging proposes candidates in an order;
 * the first interesting one is taken, whatever is known of later ones by then: so the result, and
 * the number of runs, are those of one processor.
 */

#include "faultlocate/reduce/reduce.h"

#include <string.h>

/* A candidate that was asked about: two hashes, as 64 bits would meet by chance in long searches
 * of a stranger's making. */
struct known {
	uint64_t second;
	bool is_interesting;
};

typedef VEC(uint32_t) list;

struct fl_reduce {
	struct fl_reduce_options o;
	list kept;	     ///< units, ascending
	struct map known_of; ///< first hash -> index
	VEC(struct known) known;
	struct fl_reduce_stats stats;
	VEC(uint8_t) buf[FL_REDUCE_AT_ONCE]; ///< candidates
	list lists[FL_REDUCE_AT_ONCE];	     ///< the units of each
};

struct err *fl_reduce_create(const struct fl_reduce_options *o, struct fl_reduce **ret)
{
	_cleanup_(fl_reduce_destroyp) struct fl_reduce *r = calloc(1, sizeof(*r));

	if (!r || vec_reserve(&r->kept, o->n_units))
		return &err_nomem;
	r->o = *o;
	for (size_t i = 0; i < o->n_units; i++)
		r->kept.data[r->kept.size++] = i;
	*ret = take_ptr(&r);
	return NULL;
}

void fl_reduce_destroy(struct fl_reduce *r)
{
	if (!r)
		return;
	for (int i = 0; i < FL_REDUCE_AT_ONCE; i++) {
		vec_deinit(&r->buf[i]);
		vec_deinit(&r->lists[i]);
	}
	vec_deinit(&r->kept);
	vec_deinit(&r->known);
	map_deinit(&r->known_of);
	free(r);
}

void fl_reduce_destroyp(struct fl_reduce **r)
{
	fl_reduce_destroy(*r);
}

/* ---- candidates ----------------------------------------------------------------------------- */

/* Write the bytes of units @p l into buffer @p slot. */
static struct err *spell(struct fl_reduce *r, const list *l, int slot)
{
	size_t size = 0;

	for (size_t i = 0; i < l->size; i++)
		size += r->o.units[l->data[i]].to - r->o.units[l->data[i]].from;
	r->buf[slot].size = 0;
	if (vec_reserve(&r->buf[slot], size + 1))
		return &err_nomem;
	for (size_t i = 0; i < l->size; i++) {
		const struct fl_unit *u = &r->o.units[l->data[i]];

		memcpy(r->buf[slot].data + r->buf[slot].size, r->o.data + u->from,
		       u->to - u->from);
		r->buf[slot].size += u->to - u->from;
	}
	return NULL;
}

static void hash(const uint8_t *p, size_t n, uint64_t ret[2])
{
	uint64_t a = 0xcbf29ce484222325 ^ n, b = 0x9e3779b97f4a7c15;

	for (size_t i = 0; i < n; i++) {
		a = (a ^ p[i]) * 0x100000001b3;
		b = (b + p[i] + 1) * 0xff51afd7ed558ccd;
		b ^= b >> 29;
	}
	ret[0] = a;
	ret[1] = b;
}

/* @return what is known of the candidate in buffer @p slot; NULL: nothing. */
static const struct known *find(struct fl_reduce *r, int slot)
{
	uint64_t h[2];
	const uint64_t *at;

	hash(r->buf[slot].data, r->buf[slot].size, h);
	at = map_get(&r->known_of, h[0]);
	return at && r->known.data[*at].second == h[1] ? &r->known.data[*at] : NULL;
}

static struct err *remember(struct fl_reduce *r, int slot, bool is_interesting)
{
	uint64_t h[2];
	struct err *err;

	hash(r->buf[slot].data, r->buf[slot].size, h);
	err = vec_add(&r->known, (struct known){ h[1], is_interesting });
	if (!err && map_put(&r->known_of, h[0], r->known.size - 1))
		err = &err_nomem;
	return err;
}

/** Candidates of a round, made as they are asked about. */
struct round {
	/** Make candidate @p i. */
	struct err *(*make)(struct fl_reduce *r, const struct round *n, size_t i,
			    list *ret);
	size_t n;
	const list *parts; ///< make's
	size_t n_parts;
	size_t found; ///< the first interesting one; n: none
};

/* Ask about the candidates in buffers @p asked, @p n of them. */
static struct err *ask(struct fl_reduce *r, const int *asked, size_t n)
{
	struct fl_text texts[FL_REDUCE_AT_ONCE];
	bool verdicts[FL_REDUCE_AT_ONCE] = {};
	struct err *err;

	if (!n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		texts[i] =
			(struct fl_text){ r->buf[asked[i]].data, r->buf[asked[i]].size };
	err = r->o.test(r->o.ctx, texts, n, verdicts);
	for (size_t i = 0; i < n && !err; i++)
		err = remember(r, asked[i], verdicts[i]);
	return err;
}

static bool is_interrupted(struct fl_reduce *r)
{
	if (!r->stats.was_interrupted && r->o.interrupted)
		r->stats.was_interrupted = r->o.interrupted(r->o.ctx);
	return r->stats.was_interrupted;
}

/* Nothing at all, while there is more than one unit that it could do without? As delta debugging has it,
 * nothing is not interesting; whoever asks for the last unit may find that it is. */
static bool is_nothing(const struct fl_reduce *r, int slot)
{
	return !r->buf[slot].size && r->kept.size > 1;
}

static void report(struct fl_reduce *r, size_t bytes)
{
	if (r->o.progress)
		r->o.progress(r->o.ctx, bytes, r->stats.runs + r->stats.ahead);
}

static void take(struct fl_reduce *r, list *l)
{
	list old = r->kept;

	r->kept = *l;
	*l = old;
}

/* Some candidates of a round, at once: from number @p i on, @p n of them. */
static struct err *batch(struct fl_reduce *r, struct round *round, size_t i, size_t n)
{
	int asked[FL_REDUCE_AT_ONCE];
	bool was_known[FL_REDUCE_AT_ONCE] = {};
	size_t n_asked = 0;
	struct err *err = NULL;

	for (size_t k = 0; k < n && !err; k++) {
		const struct known *known;

		err = round->make(r, round, i + k, &r->lists[k]);
		if (!err)
			err = spell(r, &r->lists[k], k);
		if (err)
			break;
		known = find(r, k);
		was_known[k] = known || is_nothing(r, k);
		// Two of one batch may be alike.
		for (size_t j = 0; j < n_asked && !known; j++)
			was_known[k] |= r->buf[asked[j]].size == r->buf[k].size &&
					!memcmp(r->buf[asked[j]].data, r->buf[k].data,
						r->buf[k].size);
		if (!was_known[k])
			asked[n_asked++] = k;
		// Nothing behind it is going to be needed.
		if (known && known->is_interesting)
			n = k + 1;
	}
	if (!err)
		err = ask(r, asked, n_asked);
	for (size_t k = 0; k < n && !err; k++) {
		if (round->found < round->n) {
			r->stats.ahead += !was_known[k];
			continue;
		}
		r->stats.known += was_known[k];
		r->stats.runs += !was_known[k];
		if (!is_nothing(r, k) && find(r, k)->is_interesting) {
			round->found = i + k;
			take(r, &r->lists[k]);
			report(r, r->buf[k].size);
		}
	}
	return err;
}

/* Ask until one is interesting: that is what is kept then. */
static struct err *play(struct fl_reduce *r, struct round *round)
{
	struct err *err = NULL;

	round->found = round->n;
	for (size_t i = 0; i < round->n && round->found == round->n && !err;) {
		size_t n = round->n - i < r->o.at_once ? round->n - i : r->o.at_once;

		if (is_interrupted(r))
			break;
		err = batch(r, round, i, n);
		i += n;
	}
	return err;
}

/* ---- what is proposed --------------------------------------------------------------------------- */

static struct err *make_given(struct fl_reduce *r, const struct round *n, size_t i,
			      list *ret)
{
	(void)r, (void)i;
	ret->size = 0;
	if (vec_reserve(ret, n->parts->size + 1))
		return &err_nomem;
	for (size_t k = 0; k < n->parts->size; k++)
		ret->data[ret->size++] = n->parts->data[k];
	return NULL;
}

struct err *fl_reduce_try(struct fl_reduce *r, const bool *keep, bool *ret)
{
	list l = {};
	struct round round = { .make = make_given, .n = 1, .parts = &l };
	struct err *err = NULL;

	for (size_t i = 0; i < r->kept.size && !err; i++)
		if (keep[r->kept.data[i]])
			err = vec_add(&l, r->kept.data[i]);
	if (!err)
		err = play(r, &round);
	*ret = !err && round.found == 0;
	vec_deinit(&l);
	return err;
}

/* ---- delta debugging ------------------------------------------------------------------------------ */

/*
 * Atoms are what goes or stays as one: units, or groups of units. Candidates are written in units
 * that are kept; atom[i] is the atom of r->kept.data[i].
 */
struct atoms {
	uint32_t *of;	   ///< of each unit of all; FL_GROUP_STAYS
	VEC(uint32_t) all; ///< that are left, in their order
	bool complements_only;
	bool is_one_by_one; ///< most have to stay: larger parts would be asked for in vain
	bool is_published; ///< behind a part that could go, the first one is asked about next
};

/* Part @p i of @p n of the atoms that are left: [from, to) of them. */
static void part(const struct atoms *a, size_t n, size_t i, size_t *from, size_t *to)
{
	*from = a->all.size * i / n;
	*to = a->all.size * (i + 1) / n;
}

struct split {
	struct round round;
	const struct atoms *a;
	size_t parts;
	size_t first; ///< candidates are of the parts from here on, around to here
	bool is_complement;
	bool *is_in; ///< of atoms: in the part at hand
};

static struct err *make_part(struct fl_reduce *r, const struct round *n, size_t i,
			     list *ret)
{
	const struct split *s = (const struct split *)n;
	size_t from, to;

	part(s->a, s->parts, (s->first + i) % s->parts, &from, &to);
	for (size_t k = from; k < to; k++)
		s->is_in[s->a->all.data[k]] = true;
	ret->size = 0;
	if (vec_reserve(ret, r->kept.size + 1))
		return &err_nomem;
	for (size_t k = 0; k < r->kept.size; k++) {
		uint32_t unit = r->kept.data[k], atom = s->a->of[unit];

		if (atom == FL_GROUP_STAYS || s->is_in[atom] != s->is_complement)
			ret->data[ret->size++] = unit;
	}
	for (size_t k = from; k < to; k++)
		s->is_in[s->a->all.data[k]] = false;
	return NULL;
}

/* Part number @p i alone is left, or all but it. */
static void cut(struct atoms *a, size_t parts, size_t i, bool is_complement)
{
	size_t from, to;

	part(a, parts, i, &from, &to);
	if (is_complement) {
		memmove(a->all.data + from, a->all.data + to,
			(a->all.size - to) * sizeof(*a->all.data));
		a->all.size -= to - from;
	} else {
		memmove(a->all.data, a->all.data + from,
			(to - from) * sizeof(*a->all.data));
		a->all.size = to - from;
	}
}

static struct err *descend(struct fl_reduce *r, struct atoms *a, bool *is_in)
{
	struct split s = { .round.make = make_part, .a = a, .is_in = is_in };
	size_t parts = a->is_one_by_one ? a->all.size : 2;
	struct err *err = NULL;

	while (a->all.size >= 2 && !err && !r->stats.was_interrupted) {
		parts = parts < a->all.size ? parts : a->all.size;
		s.parts = s.round.n = parts;
		s.round.found = parts;
		s.first = s.first < parts ? s.first : 0;
		s.is_complement = false;
		if (!a->complements_only)
			err = play(r, &s.round);
		if (!err && s.round.found < parts) {
			cut(a, parts, (s.first + s.round.found) % parts, false);
			s.first = 0;
			parts = 2;
			continue;
		}
		s.is_complement = true;
		// Of two parts the complements are the parts; small ones are asked about first.
		if (!err && !r->stats.was_interrupted)
			err = play(r, &s.round);
		if (!err && s.round.found < parts) {
			// Those before it could not go, and probably cannot now.
			s.first = (s.first + s.round.found) % parts;
			cut(a, parts, s.first, true);
			if (a->is_published)
				s.first = 0;
			parts = parts - 1 > 2 ? parts - 1 : 2;
		} else if (parts < a->all.size) {
			s.first = 0;
			parts *= 2;
		} else {
			break;
		}
	}
	return err;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

// More of them are cut into parts first all the same.
#define ONE_BY_ONE 128

/* The atoms of what is left: @p group of all units; NULL: each is one by itself. @p is_in: for each
 * number of an atom false, free(). */
static struct err *make_atoms(const struct fl_reduce *r, const uint32_t *group,
			      struct atoms *a, bool **is_in)
{
	struct err *err = NULL;
	uint32_t most = 0;
	size_t n = 0;

	a->of = calloc(r->o.n_units + 1, sizeof(*a->of));
	if (!a->of)
		return &err_nomem;
	for (size_t i = 0; i < r->kept.size && !err; i++) {
		uint32_t unit = r->kept.data[i], atom = group ? group[unit] : unit;

		a->of[unit] = atom;
		if (atom == FL_GROUP_STAYS)
			continue;
		most = atom > most ? atom : most;
		err = vec_add(&a->all, atom);
	}
	*is_in = calloc((size_t)most + 1, sizeof(**is_in));
	if (!*is_in)
		err = err ?: &err_nomem;
	vec_sort(&a->all, by_number);
	for (size_t i = 0; i < a->all.size; i++)
		if (!i || a->all.data[i] != a->all.data[i - 1])
			a->all.data[n++] = a->all.data[i];
	a->all.size = n;
	return err;
}

static void atoms_deinit(struct atoms *a)
{
	vec_deinit(&a->all);
	free(a->of);
}

static struct err *minimize(struct fl_reduce *r, const uint32_t *group, bool most_stay,
			    bool is_published)
{
	struct atoms a = { .complements_only = group, .is_published = is_published };
	_cleanup_free_ bool *is_in = NULL;
	struct err *err = make_atoms(r, group, &a, &is_in);

	a.is_one_by_one = most_stay && a.all.size <= ONE_BY_ONE;
	if (!err)
		err = descend(r, &a, is_in);
	atoms_deinit(&a);
	return err;
}

struct err *fl_reduce_ddmin(struct fl_reduce *r, bool is_published)
{
	return minimize(r, NULL, false, is_published);
}

struct err *fl_reduce_groups(struct fl_reduce *r, const uint32_t *group, bool most_stay)
{
	return minimize(r, group, most_stay, false);
}

/* ---- one pass ---------------------------------------------------------------------------------- */

/*
 * Atoms [at, all.size) were not asked about yet. Candidates of a round are without the next chunk, or
 * half of it, a quarter, ...; or, where each is asked about alone, without one of those that follow.
 */
struct pass {
	struct round round;
	const struct atoms *a;
	size_t at, chunk;
	bool is_alone;
	bool *is_in; ///< of atoms: in the chunk at hand
};

static struct err *make_less(struct fl_reduce *r, const struct round *n, size_t i,
			     list *ret)
{
	const struct pass *p = (const struct pass *)n;
	size_t from = p->at + (p->is_alone ? i : 0);
	size_t to = from + (p->is_alone ? 1 : p->chunk >> i);

	ret->size = 0;
	if (vec_reserve(ret, r->kept.size + 1))
		return &err_nomem;
	for (size_t k = from; k < to; k++)
		p->is_in[p->a->all.data[k]] = true;
	for (size_t k = 0; k < r->kept.size; k++) {
		uint32_t unit = r->kept.data[k], atom = p->a->of[unit];

		if (atom == FL_GROUP_STAYS || !p->is_in[atom])
			ret->data[ret->size++] = unit;
	}
	for (size_t k = from; k < to; k++)
		p->is_in[p->a->all.data[k]] = false;
	return NULL;
}

/* Ask about the next @p chunk atoms, then half of these, ... @p gone: so many went; @p most: so many
 * could not; 0: all went. */
static struct err *go_on(struct fl_reduce *r, struct pass *p, size_t chunk, size_t *gone,
			 size_t *most)
{
	size_t n = 64 - __builtin_clzl(chunk);
	struct err *err;

	p->is_alone = false;
	p->chunk = chunk;
	p->round.n = n;
	err = play(r, &p->round);
	*gone = p->round.found < n ? chunk >> p->round.found : 0;
	*most = p->round.found ? chunk >> (p->round.found - 1) : 0;
	p->at += *gone;
	return err;
}

/* Of the next @p most atoms not all can go: leave out those before the first that has to stay. */
static struct err *find_first(struct fl_reduce *r, struct pass *p, size_t most)
{
	struct err *err = NULL;

	while (most > 1 && !err && !r->stats.was_interrupted) {
		size_t gone, could_not;

		err = go_on(r, p, most / 2, &gone, &could_not);
		most = (could_not ?: most) - gone;
	}
	p->at++;
	return err;
}

/* Each alone, up to one that can go. */
static struct err *one_of(struct fl_reduce *r, struct pass *p, bool *has_gone)
{
	struct err *err;

	p->is_alone = true;
	p->round.n = p->a->all.size - p->at;
	err = play(r, &p->round);
	*has_gone = p->round.found < p->round.n;
	p->at += p->round.found + *has_gone;
	return err;
}

struct err *fl_reduce_pass(struct fl_reduce *r, const uint32_t *group, size_t chunk)
{
	struct atoms a = {};
	struct pass p = { .round.make = make_less, .a = &a };
	struct err *err = make_atoms(r, group, &a, &p.is_in);
	bool is_always_one = !chunk, has_gone;
	unsigned in_a_row = 0; // that went, alone

	while (!err && p.at < a.all.size && !r->stats.was_interrupted) {
		size_t left = a.all.size - p.at, begun = p.at, gone, most;

		if (is_always_one || chunk <= 1) {
			err = one_of(r, &p, &has_gone);
			in_a_row = has_gone && !p.round.found ? in_a_row + 1 : has_gone;
			chunk = in_a_row >= 2 ? 2 : 1;
			continue;
		}
		chunk = chunk < left ? chunk : left;
		err = go_on(r, &p, chunk, &gone, &most);
		if (!most) {
			chunk *= 2;
			continue;
		}
		if (!err)
			err = find_first(r, &p, most - gone);
		// The next one that stays may be as far away.
		gone = p.at - begun - 1;
		chunk = gone ?: chunk / 4;
	}
	free(p.is_in);
	atoms_deinit(&a);
	return err;
}

struct err *fl_reduce_text(struct fl_reduce *r, struct fl_text *ret)
{
	struct err *err = spell(r, &r->kept, 0);

	if (!err)
		*ret = (struct fl_text){ r->buf[0].data, r->buf[0].size };
	return err;
}

const uint32_t *fl_reduce_kept(const struct fl_reduce *r, size_t *n)
{
	*n = r->kept.size;
	return r->kept.data;
}

struct fl_reduce_stats fl_reduce_stats(const struct fl_reduce *r)
{
	struct fl_reduce_stats s = r->stats;

	s.n_units = r->kept.size;
	return s;
}
