// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What was recovered, in the form of the machine's trace.
 */
#include "decode/past/recover_int.h"

#include <string.h>

enum { SHOW_REFS = 128 };

struct past_show {
	const struct dec_recover *r;
	struct dec_ref ref[SHOW_REFS];
	uint8_t value[SHOW_REFS][64];
	size_t n;
};

struct err *dec_recover_show_create(struct past_show **ret)
{
	*ret = malloc(sizeof(**ret));
	return *ret ? NULL : &err_nomem;
}

void dec_recover_show_destroy(struct past_show *s)
{
	free(s);
}

/* @return the certainty of the bytes (or, of a register, bits) @p m of a node. */
static enum dec_certainty node_certainty(const struct dec_recover *r, uint32_t node,
					 uint64_t m)
{
	uint64_t known, any;
	bool doubtful;

	if (node & PAST_VEC) {
		known = r->known_bytes[node & ~PAST_VEC];
		any = r->bytes.data[node & ~PAST_VEC].m;
	} else {
		known = r->known_bits[node];
		any = r->bits.data[node].m;
	}
	if (!(m & ~known))
		return DEC_KNOWN;
	doubtful = r->is_doubtful[node & PAST_VEC ? r->bits.size + (node & ~PAST_VEC) :
						    node];
	return !(m & ~any) && !doubtful ? DEC_INFERRED : DEC_UNKNOWN;
}

static void show_ref(struct past_show *s, struct dec_ref ref, uint32_t node, uint64_t m)
{
	struct dec_ref *to = &s->ref[s->n];
	struct past_bytes b;

	if (s->n == SHOW_REFS)
		return;
	*to = ref;
	to->value = s->value[s->n++];
	to->certainty = node == PAST_NO_NODE ? DEC_UNKNOWN :
					       node_certainty(s->r, node, m);
	to->has_value = to->certainty != DEC_UNKNOWN;
	if (to->has_value) {
		dec_recover_read_bytes(s->r, node, &b);
		memcpy((void *)to->value, b.v, 64);
	}
}

static void show_regs(struct past_show *s, const struct past_at *at, bool is_def)
{
	const struct dec_insn *insn = &at->form->insn;
	uint32_t gpr = is_def ? insn->gpr_written : insn->gpr_read;
	uint64_t other = is_def ? insn->other_written : insn->other_read;
	const uint32_t *node = at->ref + (is_def ? at->form->n_in : 0);

	for (; gpr; gpr &= gpr - 1)
		show_ref(s,
			 (struct dec_ref){
				 .is_def = is_def, .reg = __builtin_ctz(gpr), .size = 8 },
			 *node++, UINT64_MAX);
	for (; other; other &= other - 1) {
		uint8_t reg = DEC_GPRS + __builtin_ctzll(other);
		bool is_tracked = reg <= DEC_REG_FLAGS;
		unsigned n = past_is_vector(reg) ? insn->vec_bytes[is_def] : 8;

		show_ref(s,
			 (struct dec_ref){ .is_def = is_def,
					   .reg = reg,
					   .size = past_is_vector(reg) ? 64 : 8 },
			 is_tracked ? *node++ : PAST_NO_NODE,
			 reg == DEC_REG_FLAGS ? PAST_STATUS :
			 past_is_vector(reg)  ? past_ones(n) :
						UINT64_MAX);
	}
}

static void show_mems(struct past_show *s, const struct past_at *at, bool is_def)
{
	const struct dec_recover *r = s->r;
	size_t a = r->ran.steps.data[at->step].access;

	for (; a < r->ran.accesses.size && r->ran.accesses.data[a].step == at->step;
	     a++) {
		const struct past_access *x = &r->ran.accesses.data[a];
		unsigned n;
		struct dec_ref ref = { .is_def = is_def, .is_mem = true };

		if (x->mem == PAST_NONE || x->is_write != is_def || at->form->is_bulk)
			continue;
		n = at->form->insn.mem[x->mem].size;
		ref.size = n;
		ref.addr_certainty = x->placed == PAST_KNOWN	? DEC_KNOWN :
				     x->placed == PAST_INFERRED ? DEC_INFERRED :
								  DEC_UNKNOWN;
		ref.addr = ref.addr_certainty == DEC_UNKNOWN ? 0 : x->addr;
		show_ref(s, ref, at->ref[x->slot],
			 at->ref[x->slot] & PAST_VEC ? past_ones(n) : past_ones(8 * n));
	}
}

void dec_recover_show(struct dec_recover *r, uint64_t i, struct dec_step *ret)
{
	struct past_at at = past_at(r, i);
	struct past_show *s = r->show;

	s->r = r;
	s->n = 0;
	show_regs(s, &at, false);
	show_mems(s, &at, false);
	show_regs(s, &at, true);
	show_mems(s, &at, true);
	*ret = (struct dec_step){ .position = r->ran.position + i,
				  .insn = &at.form->insn,
				  .refs = s->ref,
				  .n_refs = s->n };
}

struct err *dec_recover_trace(struct dec_recover *r, dec_step_fn fn, void *ctx)
{
	struct err *err = NULL;

	for (size_t i = 0; i < r->ran.steps.size && !err; i++) {
		struct dec_step step;

		dec_recover_show(r, i, &step);
		err = fn(ctx, &step);
	}
	return err;
}
