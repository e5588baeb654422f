// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What branches say of classes (recover_affine.h). Each comparison leaves an interval for
 * a root, or for the difference of two; a loop that went on at one value of its counter and
 * ended at the next leaves one value. As if nothing wrapped around: a guess.
 */
#include "decode/past/recover_affine.h"

#include "decode/past/recover_rules.h"

enum {
	BOUNDS_PASSES = 4,
	BOUNDS_BEFORE = 8 ///< steps before a loop's test that may count
};

/** What a branch says: a < b, and so on. */
enum bounds_how { BOUNDS_EQUAL, BOUNDS_BELOW, BOUNDS_BELOW_SIGNED };

struct bounds_test {
	struct past_term a, b;
	enum bounds_how how;
	bool or_equal; ///< a <= b
};

/* ---- intervals ---------------------------------------------------------------------------------- */

/* Both of them at once; of two pieces that leaves, none is taken. */
static void interval_meet(struct past_interval *a, uint64_t low, uint64_t n, uint64_t all)
{
	uint64_t ahead = (low - a->low) & all, behind = (a->low - low) & all;

	if (ahead <= a->n && behind && behind <= n) {
		if (n < a->n)
			*a = (struct past_interval){ low, n, a->is_empty };
	} else if (ahead <= a->n) {
		a->n = n < a->n - ahead ? n : a->n - ahead;
		a->low = low;
	} else if (behind <= n) {
		a->n = a->n < n - behind ? a->n : n - behind;
	} else {
		a->is_empty = true;
	}
}

bool dec_recover_affine_bound(struct past_affine *x, uint64_t key, uint64_t low,
			      uint64_t n)
{
	uint64_t *at = map_get(&x->bounds, key), all = past_ones(x->bits);
	struct past_interval *in;

	low &= all;
	if (at) {
		interval_meet(&x->intervals.data[*at], low, n, all);
		return true;
	}
	in = vec_push(&x->intervals);
	if (!in || map_put(&x->bounds, key, x->intervals.size - 1))
		return false;
	*in = (struct past_interval){ low, n, false };
	return true;
}

/* Term @p t is among the @p n + 1 values from @p low on. */
static bool term_bound(struct past_affine *x, struct past_term t, uint64_t low,
		       uint64_t n)
{
	uint64_t all = past_ones(x->bits);

	if (((t.mul ^ 1) & all) == 0)
		return dec_recover_affine_bound(x, t.root, low - t.off, n);
	if (((t.mul ^ -1ull) & all) == 0)
		return dec_recover_affine_bound(x, t.root, t.off - low - n, n);
	return true;
}

/* ---- tests ---------------------------------------------------------------------------------------- */

/* a REL constant, or constant REL b. */
static bool const_test(struct past_affine *x, const struct bounds_test *t)
{
	bool is_a = t->b.root == PAST_NO_NODE;
	struct past_term term = is_a ? t->a : t->b;
	uint64_t c = is_a ? t->b.off : t->a.off, all = past_ones(x->bits);
	uint64_t least = t->how == BOUNDS_BELOW_SIGNED ? 1ull << (x->bits - 1) : 0;
	uint64_t most = (least - 1) & all, n;

	if (t->how == BOUNDS_EQUAL)
		return term_bound(x, term, c, 0);
	// From the least value up to c, or from c up to the most.
	n = (is_a ? c - least : most - c) & all;
	if (!t->or_equal && !n--)
		return true;
	return term_bound(x, term, is_a ? least : most - n, n);
}

/* a REL b, where both are unknown: their difference. */
static bool pair_test(struct past_affine *x, const struct bounds_test *t)
{
	uint64_t all = past_ones(x->bits), half = 1ull << (x->bits - 1), low, n, key;
	uint64_t off = t->a.off - t->b.off;

	if (((t->a.mul ^ 1) & all) || ((t->b.mul ^ 1) & all))
		return true;
	if (t->how == BOUNDS_EQUAL) {
		dec_recover_affine_join(x, t->a, t->b);
		return true;
	}
	// root of a - root of b + off is below 0.
	low = half - off;
	n = half - !t->or_equal;
	key = (t->a.root + 1ull) << 32 | t->b.root;
	if (t->a.root > t->b.root) {
		key = (t->b.root + 1ull) << 32 | t->a.root;
		low = -low - n;
	}
	return dec_recover_affine_bound(x, key, low, n);
}

/* The comparison that set the flags of branch @p at. @return whether there was one. */
static bool test_find(struct past_affine *x, const struct past_at *at,
		      struct bounds_test *t, bool *is_zero)
{
	const struct dec_recover *r = x->r;
	uint32_t flags = at->ref[at->form->flags_in], def;
	struct past_at by;

	def = flags == PAST_NO_NODE ? PAST_NO_NODE : r->ran.bits_def.data[flags];
	if (def == PAST_NO_NODE)
		return false;
	by = past_at(x->r, def);
	if (by.form->op[0].bits < 32)
		return false;
	*is_zero = true;
	t->b = (struct past_term){ PAST_NO_NODE, true, 0, 0 };
	switch ((enum past_kind)by.form->kind) {
	case PAST_CMP:
	case PAST_SUB:
		*is_zero = false;
		t->a = dec_recover_affine_operand(x, &by, 0, false);
		t->b = dec_recover_affine_operand(x, &by, 1, false);
		break;
	case PAST_TEST:
	case PAST_AND:
	case PAST_OR:
		t->a = by.form->is_same ? dec_recover_affine_operand(x, &by, 0, false) :
					  (struct past_term){};
		*is_zero = false;
		break;
	case PAST_ADD:
	case PAST_INC:
	case PAST_DEC:
		t->a = dec_recover_affine_operand(x, &by, 0, true);
		break;
	default:
		return false;
	}
	return t->a.is_there && t->b.is_there && t->a.root != t->b.root;
}

/* What branch @p at, which was taken or not, says of it. @return whether it is of use. */
static bool test_read(const struct past_at *at, bool is_zero, struct bounds_test *t)
{
	uint64_t next = dec_recover_next_rip(at->r, at->step);
	bool holds = next == at->form->insn.target;
	struct past_term a = t->a;

	if (!next || at->form->insn.target == at->form->insn.rip + at->form->insn.len)
		return false;
	holds ^= at->form->cc & 1;
	switch (at->form->cc >> 1) {
	case 1:
	case 3:
		t->how = BOUNDS_BELOW;
		break;
	case 2:
		t->how = BOUNDS_EQUAL;
		return holds;
	case 4:
		// The sign of a difference is taken for which one is less.
	case 6:
	case 7:
		t->how = BOUNDS_BELOW_SIGNED;
		break;
	default:
		return false;
	}
	t->or_equal = at->form->cc >> 1 == 3 || at->form->cc >> 1 == 7;
	if (!holds) {
		t->a = t->b;
		t->b = a;
		t->or_equal = !t->or_equal;
	}
	// What an addition leaves is compared with zero only as far as its sign goes.
	return !is_zero || at->form->cc >> 1 == 4;
}

/* @return by how much term @p t was just changed, shortly before step @p step: 1, -1, or 0. */
static int just_stepped(struct past_affine *x, uint32_t step, struct past_term t)
{
	for (uint32_t i = step; i-- > 0 && step - i <= BOUNDS_BEFORE;) {
		struct past_at at = past_at(x->r, i);
		const struct past_form *f = at.form;
		struct past_term out;
		int by = 0;

		if (f->kind == PAST_INC || f->kind == PAST_DEC)
			by = f->kind == PAST_INC ? 1 : -1;
		else if ((f->kind == PAST_ADD || f->kind == PAST_SUB) &&
			 f->op[1].type == PAST_OP_IMM && (f->imm == 1 || f->imm == -1))
			by = f->kind == PAST_ADD ? f->imm : -f->imm;
		if (!by)
			continue;
		out = dec_recover_affine_operand(x, &at, 0, true);
		if (out.is_there && out.root == t.root && out.off == t.off &&
		    out.mul == t.mul)
			return by;
	}
	return 0;
}

/* A loop whose counter goes by one ends where it comes to its bound, not behind. */
static void loop_end(struct past_affine *x, const struct past_at *at,
		     struct bounds_test *t)
{
	if (t->how == BOUNDS_EQUAL ||
	    dec_recover_next_rip(at->r, at->step) == at->form->insn.target ||
	    at->form->insn.target > at->form->insn.rip ||
	    (just_stepped(x, at->step, t->b) != 1 &&
	     just_stepped(x, at->step, t->a) != -1))
		return;
	t->how = BOUNDS_EQUAL;
	t->a.off += !t->or_equal;
}

static bool branch_look(struct past_affine *x, uint32_t step)
{
	struct past_at at = past_at(x->r, step);
	struct bounds_test t = {};
	bool is_zero;

	if (at.form->insn.flow != DEC_FLOW_JCC || at.form->flags_in == PAST_NONE ||
	    !test_find(x, &at, &t, &is_zero) || !test_read(&at, is_zero, &t))
		return true;
	loop_end(x, &at, &t);
	return t.a.root == PAST_NO_NODE || t.b.root == PAST_NO_NODE ? const_test(x, &t) :
								      pair_test(x, &t);
}

/* Two roots whose difference is found are one class. */
static void pairs_join(struct past_affine *x)
{
	for (size_t i = 0; i < x->bounds.capacity; i++) {
		const struct map_slot *s = &x->bounds.slots[i];
		const struct past_interval *in = &x->intervals.data[s->value];
		struct past_term a, b;

		if (s->key == MAP_EMPTY_KEY || !(s->key >> 32) || in->n || in->is_empty)
			continue;
		a = dec_recover_affine_find(x, (s->key >> 32) - 1);
		b = dec_recover_affine_find(x, (uint32_t)s->key);
		b.off += in->low;
		dec_recover_affine_join(x, a, b);
	}
}

/* Learn from what branches compared. */
static bool affine_branches(struct past_affine *x)
{
	for (int pass = 0; pass < BOUNDS_PASSES; pass++) {
		map_deinit(&x->bounds);
		x->intervals.size = 0;
		x->has_joined = false;
		for (size_t i = 0; i < x->r->ran.steps.size; i++) {
			if (!branch_look(x, i))
				return false;
		}
		pairs_join(x);
		if (!x->has_joined)
			break;
	}
	return true;
}

struct err *dec_recover_bounds_apply(struct dec_recover *r)
{
	bool is = true;

	for (unsigned bits = 32; bits <= 64 && is; bits += 32) {
		struct past_affine x = { .r = r, .bits = bits };

		is = dec_recover_affine_build(&x) && affine_branches(&x) &&
		     (bits < 64 || dec_recover_affine_contents(&x));
		if (is)
			dec_recover_affine_learn(&x);
		dec_recover_affine_deinit(&x);
		dec_recover_settle(r);
	}
	return is ? NULL : &err_nomem;
}
