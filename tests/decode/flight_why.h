// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Why a value was not recovered: from each value that is unknown back, by what the
 * instructions read, to where that begins. For finding rules that are missing.
 */
#ifndef TESTS_DECODE_FLIGHT_WHY_H
#define TESTS_DECODE_FLIGHT_WHY_H

#include "decode/past/recover_int.h"
#include "tests/decode/flight_judge.h"

enum why_cause {
	WHY_NONE,
	WHY_BEGIN,   ///< a register that the window began with
	WHY_RULE,    ///< all that the instruction reads is there, its result is not
	WHY_OLD,     ///< memory from before the window, stored over in it
	WHY_BLOCKED, ///< memory that the core has, but for stores without a place
	WHY_LOST,    ///< stored, and known there, but for stores without a place
	WHY_DOUBT,   ///< there, but guesses disagree
	WHY_CAUSES
};

static const char *const why_names[WHY_CAUSES] = { "?",
						   "register at the beginning",
						   "no rule",
						   "memory of before, stored over",
						   "blocked from the core",
						   "blocked from its store",
						   "doubtful" };

/** Where something begins. */
struct why_root {
	uint8_t cause; ///< enum why_cause
	uint32_t form;
};

struct why {
	struct flight *f;
	struct dec_recover *r;
	VEC(uint64_t) addr; ///< by access: the truth
	struct map stored; ///< while looking: address / 8 -> 1 + access that stored there
	uint32_t *source;  ///< by access that reads: 1 + access that stored it; 0: none
	uint8_t *is_over;  ///< by access that reads: it is stored over later
	struct map counts; ///< cause << 32 | form -> values
	struct map examples; ///< -> a step with one
	uint32_t *memo;	     ///< by node: 1 + index into roots
	VEC(struct why_root) roots;
};

static uint32_t why_index(const struct why *w, uint32_t node)
{
	return node & PAST_VEC ? w->r->bits.size + (node & ~PAST_VEC) : node;
}

/* @return whether all is there that slot @p s of step @p at holds. */
static bool why_is_there(const struct why *w, const struct past_at *at, int s)
{
	uint32_t node = at->ref[s];
	uint8_t reg = at->form->slot[s];
	const struct dec_insn *insn = &at->form->insn;
	unsigned n = reg >= 0x80	 ? insn->mem[reg & 0x7f].size :
		     past_is_vector(reg) ? insn->vec_bytes[s >= at->form->n_in] :
					   8;
	uint64_t bytes = past_ones(n);

	if (node == PAST_NO_NODE || reg == DEC_REG_FLAGS)
		return true;
	return !(bytes & ~(node & PAST_VEC ? w->r->bytes.data[node & ~PAST_VEC].m :
					     past_byte_mask(w->r->bits.data[node].m)));
}

static struct err *why_on_step(void *ctx, const struct dec_step *s)
{
	struct why *w = ctx;
	const struct dec_recover *r = w->r;
	size_t nth[2] = {};

	if (!s->insn || s->position < w->f->begin || s->position >= w->f->stop)
		return NULL;
	for (size_t a = r->ran.steps.data[s->position - w->f->begin].access;
	     a < r->ran.accesses.size &&
	     r->ran.accesses.data[a].step == s->position - w->f->begin;
	     a++) {
		const struct past_access *x = &r->ran.accesses.data[a];
		struct dec_ref want = { .is_def = x->is_write, .is_mem = true };
		const struct dec_ref *t;

		if (x->mem == PAST_NONE || x->mem == PAST_TOLD)
			continue;
		t = flight_find(s, &want, nth[x->is_write]++);
		w->addr.data[a] = t ? t->addr : 0;
	}
	return NULL;
}

/* Which access stored what another one reads. */
static void why_match(struct why *w)
{
	size_t n = w->r->ran.accesses.size;

	for (size_t i = 0; i < n; i++) {
		const struct past_access *a = &w->r->ran.accesses.data[i];
		uint64_t *from;

		if (!w->addr.data[i])
			continue;
		from = map_get(&w->stored, w->addr.data[i] / 8);
		if (a->is_write)
			assert_int_equal(map_put(&w->stored, w->addr.data[i] / 8, i + 1),
					 0);
		else
			w->source[i] = from ? *from : 0;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t *last =
			w->addr.data[i] ? map_get(&w->stored, w->addr.data[i] / 8) : NULL;

		w->is_over[i] = last && *last > i;
	}
}

static uint32_t why_root(struct why *w, uint32_t node);

static uint32_t why_new(struct why *w, enum why_cause cause, uint32_t form)
{
	struct why_root *root = vec_push(&w->roots);

	assert_non_null(root);
	*root = (struct why_root){ cause, form };
	return w->roots.size - 1;
}

/* The access of slot @p s of step @p at. */
static size_t why_access(const struct why *w, const struct past_at *at, int s)
{
	size_t a = w->r->ran.steps.data[at->step].access;

	while (w->r->ran.accesses.data[a].slot != s ||
	       w->r->ran.accesses.data[a].mem == PAST_NONE)
		a++;
	return a;
}

static uint32_t why_place(struct why *w, const struct past_at *at,
			  const struct past_access *a)
{
	uint8_t slot[2] = { at->form->base_in[a->mem], at->form->index_in[a->mem] };

	for (int i = 0; i < 2; i++) {
		if (slot[i] != PAST_NONE && at->ref[slot[i]] != PAST_NO_NODE &&
		    w->r->bits.data[at->ref[slot[i]]].m != UINT64_MAX)
			return why_root(w, at->ref[slot[i]]);
	}
	return why_new(w, WHY_RULE, w->r->ran.steps.data[at->step].form);
}

static uint32_t why_load(struct why *w, const struct past_at *at, int s)
{
	size_t i = why_access(w, at, s);
	const struct past_access *a = &w->r->ran.accesses.data[i], *from;
	uint32_t form = w->r->ran.steps.data[at->step].form;
	struct past_at store;

	if (a->placed < PAST_INFERRED)
		return why_place(w, at, a);
	if (!w->source[i])
		return why_new(w, w->is_over[i] ? WHY_OLD : WHY_BLOCKED, form);
	from = &w->r->ran.accesses.data[w->source[i] - 1];
	store = past_at(w->r, from->step);
	if (from->placed < PAST_INFERRED)
		return why_place(w, &store, from);
	if (why_is_there(w, &store, from->slot))
		return why_new(w, WHY_LOST, form);
	return why_root(w, store.ref[from->slot]);
}

/* Where @p node, which is unknown, begins. */
static uint32_t why_find(struct why *w, uint32_t node)
{
	uint32_t def = node & PAST_VEC ? w->r->ran.bytes_def.data[node & ~PAST_VEC] :
					 w->r->ran.bits_def.data[node];
	struct past_at at;

	if (def == PAST_NO_NODE)
		return why_new(w, WHY_BEGIN, UINT32_MAX);
	at = past_at(w->r, def);
	for (int s = at.form->n_in; s-- > 0;) {
		if (why_is_there(w, &at, s))
			continue;
		return at.form->slot[s] >= 0x80 ? why_load(w, &at, s) :
						  why_root(w, at.ref[s]);
	}
	return why_new(w, WHY_RULE, w->r->ran.steps.data[def].form);
}

static uint32_t why_root(struct why *w, uint32_t node)
{
	uint32_t i = why_index(w, node);

	if (!w->memo[i])
		w->memo[i] = 1 + why_find(w, node);
	return w->memo[i] - 1;
}

static void why_count(struct why *w, uint32_t root, uint32_t step)
{
	const struct why_root *r = &w->roots.data[root];
	uint64_t key = (uint64_t)r->cause << 32 | r->form, *n = map_get(&w->counts, key);

	assert_int_equal(map_put(&w->counts, key, n ? *n + 1 : 1), 0);
	assert_int_equal(map_put(&w->examples, key, step), 0);
}

static void why_step(struct why *w, uint32_t step)
{
	struct past_at at = past_at(w->r, step);

	for (int s = 0; s < at.form->n_in + at.form->n_out; s++) {
		uint32_t node = at.ref[s];

		if (node == PAST_NO_NODE || at.form->slot[s] == DEC_REG_FLAGS)
			continue;
		if (!why_is_there(w, &at, s))
			why_count(w,
				  at.form->slot[s] >= 0x80 && s < at.form->n_in ?
					  why_load(w, &at, s) :
					  why_root(w, node),
				  step);
		else if (w->r->is_doubtful[why_index(w, node)])
			why_count(w,
				  why_new(w, WHY_DOUBT, w->r->ran.steps.data[step].form),
				  step);
	}
}

static void why_print_form(const struct why *w, uint32_t form)
{
	struct dec_place p;
	const struct dec_insn *insn;

	if (form == UINT32_MAX)
		return;
	insn = &w->r->ran.forms.data[form].insn;
	dec_symbols_place(w->f->symbols, insn->rip, &p);
	printf("%#lx %s in %s+%#lx, line %u", insn->rip, dec_insn_name(insn),
	       p.outer ?: "?", p.offset, p.line);
}

static void why_print(struct why *w, int most)
{
	while (most-- > 0) {
		uint64_t best = 0, key = 0;

		for (size_t i = 0; i < w->counts.capacity; i++) {
			const struct map_slot *s = &w->counts.slots[i];

			if (s->key == MAP_EMPTY_KEY || s->value <= best)
				continue;
			best = s->value;
			key = s->key;
		}
		if (!best)
			return;
		assert_int_equal(map_put(&w->counts, key, 0), 0);
		printf("    %7lu  %s: ", best, why_names[key >> 32]);
		why_print_form(w, key);
		printf(", as %lu before the end",
		       w->r->ran.steps.size - *map_get(&w->examples, key));
		putchar('\n');
	}
}

/** Print the @p most causes that most unknown values of @p f have. */
static void flight_why(struct flight *f, int most)
{
	struct why w = { .f = f, .r = f->recover };
	struct dec_recover *r = f->recover;
	struct dec_where where;

	w.source = calloc(r->ran.accesses.size + 1, sizeof(*w.source));
	w.is_over = calloc(r->ran.accesses.size + 1, 1);
	w.memo = calloc(r->bits.size + r->bytes.size + 1, sizeof(*w.memo));
	assert_true(w.source && w.is_over && w.memo);
	for (size_t i = 0; i < r->ran.accesses.size; i++)
		*(uint64_t *)vec_push(&w.addr) = 0;
	ok(dec_machine_seek(f->machine, f->begin, &where));
	ok(dec_machine_trace(f->machine, UINT64_MAX >> 1, why_on_step, &w, &where));
	why_match(&w);
	for (size_t i = 0; i < r->ran.steps.size; i++)
		why_step(&w, i);
	why_print(&w, most);
	free(w.source);
	free(w.is_over);
	free(w.memo);
	vec_deinit(&w.addr);
	vec_deinit(&w.roots);
	map_deinit(&w.stored);
	map_deinit(&w.counts);
	map_deinit(&w.examples);
}

/** Part of a window, to be looked at. */
struct why_part {
	struct flight *f;
	uint64_t from, to; ///< positions
};

static void why_print_value(const struct dec_ref *t, const struct dec_ref *r)
{
	static const char marks[] = " ~?";
	enum dec_certainty is = r ? r->certainty : DEC_UNKNOWN;
	uint64_t v = 0;

	memcpy(&v, t->value, t->size < 8 ? t->size : 8);
	if (t->is_mem)
		printf("  %s[%c%#lx]", t->is_def ? "-> " : "",
		       marks[r ? r->addr_certainty : DEC_UNKNOWN], t->addr);
	else
		printf("  %sr%d", t->is_def ? "-> " : "", t->reg);
	printf("=%c%#lx", marks[is], v);
	if (r && is != DEC_UNKNOWN &&
	    memcmp(t->value, r->value, t->size < 8 ? t->size : 8))
		printf(" WRONG");
}

static struct err *why_on_part(void *ctx, const struct dec_step *truth)
{
	const struct why_part *p = ctx;
	struct dec_step mine;
	size_t nth[2] = {};
	struct dec_place place;

	if (!truth->insn || truth->position < p->from || truth->position >= p->to)
		return NULL;
	dec_recover_show(p->f->recover, truth->position - p->f->begin, &mine);
	dec_symbols_place(p->f->symbols, truth->insn->rip, &place);
	printf("%7ld %s+%#lx %s", truth->position - p->f->stop, place.outer ?: "?",
	       place.offset, dec_insn_name(truth->insn));
	for (size_t k = 0; k < truth->n_refs; k++) {
		const struct dec_ref *t = &truth->refs[k];
		const struct dec_ref *r =
			flight_find(&mine, t, t->is_mem ? nth[t->is_def]++ : 0);

		if (t->has_value && t->value && (t->is_mem || t->reg < DEC_REG_FLAGS))
			why_print_value(t, r);
	}
	putchar('\n');
	return NULL;
}

/** Print @p n instructions from @p before the end on: what they read and wrote, what was
 * recovered of it (~: inferred, ?: not). */
static void flight_show(struct flight *f, uint64_t before, uint64_t n)
{
	struct why_part p = { f, f->stop - before, f->stop - before + n };
	struct dec_where where;

	ok(dec_machine_seek(f->machine, f->begin, &where));
	ok(dec_machine_trace(f->machine, UINT64_MAX >> 1, why_on_part, &p, &where));
}

#endif
