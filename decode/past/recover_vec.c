// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Rules that let the CPU do the work: an instruction is run with what is known in place
 * and zeros elsewhere, and only those parts of its result are taken that the known parts
 * decide. Which those are is all that is said here.
 */
#include "decode/past/recover_int.h"

#include <string.h>

#include "decode/x86/zydis.h"

enum { PAST_MXCSR_CONTROL = 0xe040, PAST_MXCSR_DEFAULT = 0 }; ///< rounding, FTZ, DAZ

/* What is known of each input; @return whether all that the form needs is. */
static bool inputs_of(const struct past_at *at, struct past_bytes in[8])
{
	const struct past_form *f = at->form;
	bool is_complete = true;

	for (int s = 0; s < f->n_in; s++) {
		uint32_t node = at->ref[s];
		uint64_t m;

		in[s].m = 0;
		if (node == PAST_NO_NODE) {
			memset(&in[s], 0, sizeof(in[s]));
			is_complete &= !f->need[s];
			continue;
		}
		dec_recover_read_bytes(at->r, node, &in[s]);
		m = node & PAST_VEC ? in[s].m : at->r->bits.data[node].m;
		is_complete &= !(f->need[s] & ~m);
	}
	return is_complete;
}

static void put_output(const struct past_at *at, int s, struct past_bytes *out,
		       uint64_t m)
{
	uint32_t node = at->ref[at->form->n_in + s];
	uint64_t v;

	if (node == PAST_NO_NODE || !m)
		return;
	if (node & PAST_VEC) {
		out->m = m;
		dec_recover_learn_bytes(at->r, node, out);
		return;
	}
	memcpy(&v, out->v, 8);
	dec_recover_learn(at->r, node, (struct past_bits){ v & m, m });
}

/* SSE leaves what is above its operand as it was. */
static void tie_above(const struct past_at *at)
{
	const struct past_operand *o = &at->form->op[0];
	struct past_bytes b;
	uint64_t m = ~past_ones(o->bits / 8);

	if (o->type != PAST_OP_VEC || o->in == PAST_NONE || o->out == PAST_NONE ||
	    at->form->insn.is_vex)
		return;
	dec_recover_read_bytes(at->r, at->ref[o->in], &b);
	b.m &= m;
	dec_recover_learn_bytes(at->r, at->ref[o->out], &b);
	dec_recover_read_bytes(at->r, at->ref[o->out], &b);
	b.m &= m;
	dec_recover_learn_bytes(at->r, at->ref[o->in], &b);
}

static struct past_form *form_of(const struct past_at *at)
{
	return &at->r->ran.forms.data[at->r->ran.steps.data[at->step].form];
}

/* Run the step's instruction. One that rounds does so as this process does: only where the
 * program has not chosen otherwise. */
static bool cpu_run(struct past_at *at, const struct past_bytes *in,
		    struct past_bytes *out)
{
	struct past_form *f = form_of(at);
	bool rounds = f->insn.other_read & 1ull << (DEC_REG_MXCSR - DEC_GPRS);

	if (rounds &&
	    ((at->r->mem.end->mxcsr & PAST_MXCSR_CONTROL) != PAST_MXCSR_DEFAULT ||
	     (at->r->ran.changes_mxcsr && !at->r->guess.is_guessing)))
		return false;
	return dec_recover_native_run(at->r->native, f, in, out);
}

/* ---- moves ---------------------------------------------------------------------------------- */

/* Find out where the bytes go: each input byte gets a number of its own. */
static bool perm_make(struct past_at *at)
{
	struct past_form *f = form_of(at);
	struct past_bytes in[8] = {}, out[8];
	uint8_t slot_of[256], at_of[256];
	unsigned tag = 0;

	for (int s = 0; s < f->n_in; s++) {
		bool is_reg = f->slot[s] >= DEC_REG_VEC || f->need[s];
		unsigned n = f->slot[s] >= 0x80 ? f->insn.mem[0].size :
			     f->slot[s] < DEC_REG_VEC || f->slot[s] >= DEC_REG_K ? 8 :
										   64;

		for (unsigned i = 0; is_reg && i < n && tag < 255; i++) {
			in[s].v[i] = ++tag;
			slot_of[tag] = s;
			at_of[tag] = i;
		}
	}
	f->perm = calloc(1, sizeof(*f->perm));
	if (!f->perm || tag == 255 || !cpu_run(at, in, out)) {
		f->kind = PAST_NATIVE;
		return false;
	}
	f->perm->m = f->give[0];
	if (f->op[0].type == PAST_OP_VEC && f->op[0].in != PAST_NONE)
		f->perm->m = UINT64_MAX;
	if (f->op[0].type == PAST_OP_GPR || f->op[0].type == PAST_OP_K ||
	    (f->op[0].type == PAST_OP_MEM && f->op[0].bits <= 64))
		f->perm->m = past_byte_mask(f->perm->m);
	for (int i = 0; i < 64; i++) {
		uint8_t t = out[0].v[i];

		f->perm->slot[i] = t ? slot_of[t] : PAST_NONE;
		f->perm->at[i] = t ? at_of[t] : 0;
	}
	return true;
}

static void rule_perm(struct past_at *at)
{
	const struct past_form *f = at->form;
	struct past_bytes in[8] = {}, out = {}, back[8], r;
	const struct past_perm *p;

	if (!f->perm && !perm_make(at))
		return;
	p = f->perm;
	for (int s = 0; s < f->n_in; s++) {
		if (at->ref[s] != PAST_NO_NODE)
			dec_recover_read_bytes(at->r, at->ref[s], &in[s]);
		back[s].m = 0;
	}
	dec_recover_read_bytes(at->r, at->ref[f->n_in], &r);
	for (uint64_t m = p->m; m; m &= m - 1) {
		int i = __builtin_ctzll(m), s = p->slot[i], from = p->at[i];

		if (s == PAST_NONE) {
			out.m |= 1ull << i;
			continue;
		}
		if (in[s].m >> from & 1) {
			out.m |= 1ull << i;
			out.v[i] = in[s].v[from];
		}
		if (r.m >> i & 1) {
			back[s].m |= 1ull << from;
			back[s].v[from] = r.v[i];
		}
	}
	dec_recover_learn_bytes(at->r, at->ref[f->n_in], &out);
	for (int s = 0; s < f->n_in; s++) {
		if (back[s].m && at->ref[s] != PAST_NO_NODE)
			dec_recover_learn_bytes(at->r, at->ref[s], &back[s]);
	}
}

static void rule_zeroupper(const struct past_at *at)
{
	const struct past_form *f = at->form;

	for (int s = 0; s < f->n_in; s++) {
		struct past_bytes b;

		dec_recover_read_bytes(at->r, at->ref[f->n_in + s], &b);
		b.m &= 0xffff;
		dec_recover_learn_bytes(at->r, at->ref[s], &b);
		dec_recover_read_bytes(at->r, at->ref[s], &b);
		b.m = (b.m & 0xffff) | ~0xffffull;
		memset(b.v + 16, 0, 48);
		dec_recover_learn_bytes(at->r, at->ref[f->n_in + s], &b);
	}
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* @return the bytes that lie in lanes of @p lane bytes known as a whole. */
static uint64_t whole_lanes(uint64_t m, unsigned lane)
{
	uint64_t whole = 0;

	for (unsigned i = 0; i < 64; i += lane) {
		uint64_t l = past_ones(lane) << i;

		if ((m & l) == l)
			whole |= l;
	}
	return whole;
}

/* The lanes that are known in all sources: all that have the result's width. @return
 * false when another input is not known. */
static bool lanes_known(const struct past_at *at, const struct past_bytes *in, int from,
			unsigned lane, unsigned bits, uint64_t *ret)
{
	const struct past_form *f = at->form;

	*ret = UINT64_MAX;
	for (int i = from; i < f->n_ops; i++) {
		const struct past_operand *o = &f->op[i];
		uint64_t m;

		if (o->in == PAST_NONE || o->type == PAST_OP_IMM ||
		    o->type == PAST_OP_NONE)
			continue;
		m = in[o->in].m;
		if (f->slot[o->in] >= DEC_REG_K && f->slot[o->in] < 0x80)
			return false;
		if (o->bits == bits && o->type != PAST_OP_GPR)
			*ret &= whole_lanes(m, lane);
		else if (f->need[o->in] & ~(o->bits <= 64 ? past_bit_mask(m) : m))
			return false;
	}
	return true;
}

static void rule_lanes(struct past_at *at)
{
	const struct past_operand *o = &at->form->op[0];
	struct past_bytes in[8], out[8];
	uint64_t m;

	inputs_of(at, in);
	tie_above(at);
	if (at->form->is_const)
		m = UINT64_MAX;
	else if (!lanes_known(at, in, o->in == PAST_NONE || !at->form->need[o->in],
			      o->element, o->bits, &m))
		return;
	m &= past_ones(o->bits / 8);
	if (at->form->insn.is_vex)
		m |= ~past_ones(o->bits / 8);
	if (m && cpu_run(at, in, out))
		put_output(at, 0, &out[0], m);
}

static void rule_mask(struct past_at *at)
{
	const struct past_form *f = at->form;
	unsigned lane = f->op[1].element, n = 0;
	struct past_bytes in[8], out[8];
	uint64_t m, bits = 0;

	if (f->insn.mnemonic == ZYDIS_MNEMONIC_PMOVMSKB ||
	    f->insn.mnemonic == ZYDIS_MNEMONIC_VPMOVMSKB)
		lane = 1;
	if (!lane)
		return;
	inputs_of(at, in);
	if (!lanes_known(at, in, 1, lane, f->op[1].bits, &m))
		return;
	for (unsigned i = 0; i < f->op[1].bits / 8u; i += lane, n++)
		bits |= (m >> i & 1) << n;
	bits |= ~past_ones(n);
	if (cpu_run(at, in, out))
		put_output(at, 0, &out[0], bits);
}

/* The bytes of those of @p n bytes' lanes whose bit is set. */
static uint64_t lane_bytes(uint64_t bits, unsigned lane, unsigned n)
{
	uint64_t bytes = 0;

	if (lane == 1)
		return bits & past_ones(n);
	for (unsigned b = 0; b < n; b += lane)
		bytes |= (bits >> b / lane & 1) * past_ones(lane) << b;
	return bytes;
}

uint64_t dec_recover_masked(const struct past_at *at, uint64_t *written)
{
	const struct past_form *f = at->form;
	unsigned lane = f->op[0].element, n = f->op[0].bits / 8;
	uint64_t left = 0;

	*written = 0;
	for (int i = 1; i < f->n_ops && lane; i++) {
		const struct past_bits *k;

		if (f->op[i].type != PAST_OP_K || f->op[i].in == PAST_NONE)
			continue;
		k = &at->r->bits.data[at->ref[f->op[i].in]];
		*written |= lane_bytes(k->m & k->v, lane, n);
		left |= lane_bytes(k->m & ~k->v, lane, n);
	}
	return left;
}

static void rule_masked_store(struct past_at *at)
{
	const struct past_form *f = at->form;
	const struct past_operand *from = &f->op[f->n_ops - 1];
	struct past_bytes b;
	uint64_t written;

	dec_recover_masked(at, &written);
	if (from->type != PAST_OP_VEC || from->in == PAST_NONE)
		return;
	dec_recover_read_bytes(at->r, at->ref[from->in], &b);
	b.m &= written;
	dec_recover_learn_bytes(at->r, at->ref[f->op[0].out], &b);
	dec_recover_read_bytes(at->r, at->ref[f->op[0].out], &b);
	b.m &= written;
	dec_recover_learn_bytes(at->r, at->ref[from->in], &b);
}

/* ---- all or nothing --------------------------------------------------------------------------- */

/* A shift by nothing leaves the flags, a scan of zero the register. */
static bool writes_nothing(const struct past_at *at, const struct past_bytes *in)
{
	const struct past_form *f = at->form;

	if (f->kind == PAST_SHIFT && f->op[1].type == PAST_OP_GPR)
		return !(in[f->op[1].in].v[0] & (f->op[0].bits == 64 ? 63 : 31));
	if (f->kind == PAST_SHIFT)
		return !(f->imm & (f->op[0].bits == 64 ? 63 : 31));
	return false;
}

static void rule_native(struct past_at *at)
{
	const struct past_form *f = at->form;
	struct past_bytes in[8], out[8];
	bool is_new = false;

	if (!f->is_native)
		return;
	tie_above(at);
	if (!inputs_of(at, in) || writes_nothing(at, in))
		return;
	for (int s = 0; s < f->n_out && !is_new; s++) {
		uint32_t node = at->ref[f->n_in + s];
		uint64_t m = 0;

		if (node != PAST_NO_NODE)
			m = node & PAST_VEC ? at->r->bytes.data[node & ~PAST_VEC].m :
					      at->r->bits.data[node].m;
		is_new = f->give[s] & ~m;
	}
	if (!is_new || !cpu_run(at, in, out))
		return;
	for (int s = 0; s < f->n_out; s++)
		put_output(at, s, &out[s], f->give[s]);
}

void dec_recover_apply_vector(struct past_at *at)
{
	switch ((enum past_kind)at->form->kind) {
	case PAST_PERM:
		rule_perm(at);
		break;
	case PAST_ZEROUPPER:
		rule_zeroupper(at);
		break;
	case PAST_LANES:
		rule_lanes(at);
		break;
	case PAST_MASK:
		rule_mask(at);
		break;
	case PAST_MASKED_STORE:
		rule_masked_store(at);
		break;
	default:
		rule_native(at);
	}
}
