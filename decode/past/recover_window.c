// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The window, step by step as it is told: nodes for what each step reads and writes, and
 * which call each return belongs to.
 */
#include "decode/past/recover_guess.h"

#include <string.h>

#include "decode/x86/zydis.h"

/* ---- the window --------------------------------------------------------------------------- */

struct err *dec_recover_create(uint64_t position, struct dec_recover **ret)
{
	struct dec_recover *r = calloc(1, sizeof(*r));

	if (!r)
		return &err_nomem;
	r->ran.position = position;
	memset(r->ran.current, 0xff, sizeof(r->ran.current));
	r->ran.frame_node = PAST_NO_NODE;
	*ret = r;
	return NULL;
}

void dec_recover_destroy(struct dec_recover *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->ran.forms.size; i++)
		dec_recover_form_deinit(&r->ran.forms.data[i]);
	vec_deinit(&r->ran.forms);
	map_deinit(&r->ran.form_at);
	vec_deinit(&r->ran.steps);
	vec_deinit(&r->ran.refs);
	vec_deinit(&r->ran.accesses);
	vec_deinit(&r->bits);
	vec_deinit(&r->bytes);
	vec_deinit(&r->ran.bits_def);
	vec_deinit(&r->ran.bytes_def);
	vec_deinit(&r->ran.anchors);
	vec_deinit(&r->ran.calls);
	vec_deinit(&r->ran.ties);
	vec_deinit(&r->ran.frames);
	dec_recover_heap_deinit(r);
	vec_deinit(&r->guess.mirrors);
	dec_recover_homes_deinit(r);
	map_deinit(&r->guess.looked_at);
	map_deinit(&r->guess.end_bases);
	vec_deinit(&r->guess.assumed);
	map_deinit(&r->guess.assumed_at);
	map_deinit(&r->guess.bases);
	map_deinit(&r->guess.fresh);
	vec_deinit(&r->ran.nested);
	dec_recover_sweep_destroy(r);
	free(r->known_bits);
	free(r->known_bytes);
	free(r->is_doubtful);
	free(r->ran.use_at);
	free(r->ran.use);
	free(r->queue);
	free(r->is_queued);
	dec_recover_native_destroy(r->native);
	dec_recover_show_destroy(r->show);
	free(r);
}

/* @return a new node, written by @p step; PAST_NO_NODE when memory is out. */
static uint32_t node_new(struct dec_recover *r, bool is_bytes, uint32_t step)
{
	uint32_t *def = is_bytes ? vec_push(&r->ran.bytes_def) :
				   vec_push(&r->ran.bits_def);

	if (!def || (is_bytes ? !vec_push(&r->bytes) : !vec_push(&r->bits)))
		return PAST_NO_NODE;
	*def = step;
	return is_bytes ? (r->bytes.size - 1) | PAST_VEC : r->bits.size - 1;
}

/* What changes the meaning of other instructions. */
static void form_note(struct dec_recover *r, uint16_t mnemonic)
{
	if (dec_insn_restores(mnemonic) >= DEC_INSN_IMAGE_FX)
		r->ran.changes_mxcsr = true;
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
		r->ran.changes_mxcsr = true;
		break;
	case ZYDIS_MNEMONIC_STD:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		r->ran.changes_df = true;
		break;
	}
}

/* The form of @p insn: the last one at its address, unless the code has changed. */
static struct err *form_find(struct dec_recover *r, const struct dec_insn *insn,
			     uint32_t *ret)
{
	uint64_t *at = map_get(&r->ran.form_at, insn->rip);
	struct past_form *f;
	struct err *err;

	if (at) {
		f = &r->ran.forms.data[*at];
		*ret = *at;
		if (f->insn.len == insn->len &&
		    !memcmp(f->insn.bytes, insn->bytes, insn->len))
			return NULL;
	}
	f = vec_push(&r->ran.forms);
	if (!f || map_put(&r->ran.form_at, insn->rip, r->ran.forms.size - 1))
		return &err_nomem;
	*ret = r->ran.forms.size - 1;
	err = dec_recover_form_init(f, insn);
	form_note(r, insn->mnemonic);
	return err;
}

static struct err *access_add(struct dec_recover *r, uint32_t step, uint8_t mem,
			      uint8_t slot, bool is_write)
{
	return vec_add(&r->ran.accesses,
		       (struct past_access){ .step = step,
					     .line = PAST_NO_NODE,
					     .node = PAST_NO_NODE,
					     .mem = mem,
					     .slot = slot,
					     .is_write = is_write,
					     .is_range = mem == PAST_NONE ||
							 mem == PAST_BELOW });
}

/* The same of operand @p mem, whose value is @p node. */
static struct err *operand_add(struct dec_recover *r, const struct past_form *f,
			       uint8_t mem, uint8_t slot, uint32_t node, uint32_t step)
{
	bool is_write = slot >= f->n_in;
	struct err *err = access_add(r, step, mem, slot, is_write);
	struct past_access *a = &r->ran.accesses.data[r->ran.accesses.size - 1];

	if (err)
		return err;
	a->node = node;
	a->size = f->insn.mem[mem].size;
	// Of a narrow one, what lies above it is nothing.
	if (!(node & PAST_VEC))
		r->bits.data[node].m = ~past_ones(8 * a->size);
	a->is_range = is_write && f->is_bulk;
	a->is_masked = is_write && f->kind == PAST_MASKED_STORE;
	return NULL;
}

static struct err *slot_add(struct dec_recover *r, const struct past_form *f, int s,
			    uint32_t step)
{
	bool is_out = s >= f->n_in;
	uint8_t reg = f->slot[s];
	uint32_t *ref = vec_push(&r->ran.refs), node;

	if (!ref)
		return &err_nomem;
	if (reg >= 0x80) {
		node = node_new(r, f->insn.mem[reg & 0x7f].size > 8, step);
		*ref = node;
		return node == PAST_NO_NODE ?
			       &err_nomem :
			       operand_add(r, f, reg & 0x7f, s, node, step);
	}
	if (is_out || r->ran.current[reg] == PAST_NO_NODE) {
		node = node_new(r, past_is_vector(reg), is_out ? step : PAST_NO_NODE);
		if (node == PAST_NO_NODE)
			return &err_nomem;
		r->ran.current[reg] = node;
	}
	*ref = r->ran.current[reg];
	return NULL;
}

/* @return whether the flow can go from @p a to address @p rip with nothing between. */
static bool can_follow(const struct dec_insn *a, uint64_t rip)
{
	switch (a->flow) {
	case DEC_FLOW_JMP:
	case DEC_FLOW_CALL:
		return rip == a->target;
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
		return rip == a->target || rip == a->rip + a->len;
	case DEC_FLOW_JMP_IND:
	case DEC_FLOW_CALL_IND:
	case DEC_FLOW_RET:
		return true;
	default:
		return rip == a->rip + a->len;
	}
}

/* What the ABI has functions preserve. */
static const uint8_t past_kept[PAST_KEPT] = { 4, 3, 5, 12, 13, 14, 15 };

/* The node that register @p reg holds now. */
static uint32_t node_now(struct dec_recover *r, uint8_t reg)
{
	if (r->ran.current[reg] == PAST_NO_NODE)
		r->ran.current[reg] = node_new(r, past_is_vector(reg), PAST_NO_NODE);
	return r->ran.current[reg];
}

static struct err *call_begin(struct dec_recover *r, const struct dec_insn *insn)
{
	struct past_call *c = vec_push(&r->ran.nested);

	if (!c)
		return &err_nomem;
	c->return_rip = insn->rip + insn->len;
	for (int i = 0; i < PAST_KEPT; i++) {
		c->node[i] = node_now(r, past_kept[i]);
		if (c->node[i] == PAST_NO_NODE)
			return &err_nomem;
	}
	return NULL;
}

/* A return came to @p rip, where step @p step is: which call was it? One that is not the
 * innermost when the ones inside never returned (longjmp). */
static struct err *call_end(struct dec_recover *r, uint64_t rip, uint32_t step)
{
	size_t n = r->ran.nested.size, floor = n > 16 ? n - 16 : 0;
	const struct past_call *c;

	while (n > floor && r->ran.nested.data[n - 1].return_rip != rip)
		n--;
	if (n == floor)
		return NULL;
	c = &r->ran.nested.data[n - 1];
	r->ran.nested.size = n - 1;
	for (int i = 0; i < PAST_KEPT; i++) {
		uint32_t now = node_now(r, past_kept[i]);
		struct past_tie *t;

		if (now == c->node[i])
			continue;
		t = vec_push(&r->ran.ties);
		if (!t || now == PAST_NO_NODE)
			return &err_nomem;
		*t = (struct past_tie){ step, c->node[i], now };
	}
	return NULL;
}

/* A function that began before the window and ends with `pop rbp; ret`, without leave: its
 * frame pointer, if it is one, stands where the stack pointer does. */
static struct err *frame_end(struct dec_recover *r, const struct dec_insn *before,
			     const struct dec_insn *insn, uint32_t step)
{
	uint32_t rbp = r->ran.current[PAST_RBP];
	struct past_tie *t;

	for (int m = 0; m < insn->n_mem && rbp != PAST_NO_NODE; m++) {
		if (insn->mem[m].base == PAST_RBP && insn->mem[m].disp < 0)
			r->ran.frame_node = rbp;
	}
	if (insn->bytes[0] != 0x5d || insn->len != 1 || rbp == PAST_NO_NODE ||
	    rbp != r->ran.frame_node || r->ran.bits_def.data[rbp] != PAST_NO_NODE ||
	    !before || before->flow != DEC_FLOW_NEXT ||
	    before->gpr_written & 1u << PAST_RSP)
		return NULL;
	t = vec_push(&r->ran.ties);
	if (!t || node_now(r, PAST_RSP) == PAST_NO_NODE)
		return &err_nomem;
	*t = (struct past_tie){ step, rbp, node_now(r, PAST_RSP) };
	return NULL;
}

/* Follow calls and returns, @p insn being the next step. */
static struct err *calls_follow(struct dec_recover *r, const struct dec_insn *last,
				const struct dec_insn *insn, uint32_t step)
{
	struct err *err = NULL;

	if (last && last->flow == DEC_FLOW_RET)
		err = call_end(r, insn->rip, step);
	if (!err && (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND))
		err = call_begin(r, insn);
	return err ?: frame_end(r, last, insn, step);
}

/* Step @p step sets rsp from rbp. */
static struct err *frame_note(struct dec_recover *r, uint32_t step)
{
	struct past_frame *f = vec_push(&r->ran.frames);
	uint32_t rsp = node_now(r, PAST_RSP), rbp = node_now(r, PAST_RBP);

	if (!f || rsp == PAST_NO_NODE || rbp == PAST_NO_NODE)
		return &err_nomem;
	*f = (struct past_frame){ step, rsp, rbp };
	return NULL;
}

struct err *dec_recover_gap(struct dec_recover *r)
{
	r->ran.nested.size = 0;
	memset(r->ran.current, 0xff, sizeof(r->ran.current));
	r->ran.is_resumed = true;
	return access_add(r, r->ran.steps.size, PAST_NONE, PAST_NONE, true);
}

struct err *dec_recover_step(struct dec_recover *r, const struct dec_insn *insn)
{
	const struct past_step *last =
		r->ran.steps.size ? &r->ran.steps.data[r->ran.steps.size - 1] : NULL;
	const struct dec_insn *before = last ? &r->ran.forms.data[last->form].insn : NULL;
	uint32_t form, step = r->ran.steps.size;
	size_t n_ties = r->ran.ties.size;
	const struct past_form *f;
	struct err *err = NULL;

	if (before && !can_follow(before, insn->rip))
		err = dec_recover_gap(r);
	if (!err)
		err = calls_follow(r, before, insn, step);
	if (!err)
		err = form_find(r, insn, &form);
	if (err)
		return err;
	if (vec_add(&r->ran.steps,
		    (struct past_step){ form, r->ran.refs.size, r->ran.accesses.size,
					r->ran.is_resumed, r->ran.ties.size != n_ties }))
		return &err_nomem;
	r->ran.is_resumed = false;
	f = &r->ran.forms.data[form];
	if (dec_recover_frame_ends(f))
		err = frame_note(r, step);
	for (int i = 0; i < f->n_in + f->n_out && !err; i++)
		err = slot_add(r, f, i, step);
	if (!err && f->is_wild)
		err = access_add(r, step, PAST_NONE, 0, true);
	if (!err && f->kind == PAST_SYSCALL) {
		if (vec_add(&r->ran.calls, step))
			return &err_nomem;
	}
	return err;
}

struct err *dec_recover_anchor(struct dec_recover *r, int reg, uint64_t value)
{
	return vec_add(&r->ran.anchors, (struct past_anchor){ node_now(r, reg), value });
}

struct err *dec_recover_anchor_memory(struct dec_recover *r, uint64_t addr,
				      const void *bytes, size_t n)
{
	uint32_t node = node_new(r, n > 8, PAST_NO_NODE);
	struct err *err;
	struct past_access *a;

	if (node == PAST_NO_NODE)
		return &err_nomem;
	err = access_add(r, r->ran.steps.size, PAST_TOLD, PAST_NONE, false);
	if (err)
		return err;
	a = &r->ran.accesses.data[r->ran.accesses.size - 1];
	a->addr = addr;
	a->node = node;
	a->size = n;
	a->placed = PAST_KNOWN;
	if (node & PAST_VEC) {
		memcpy(r->bytes.data[node & ~PAST_VEC].v, bytes, n);
		r->bytes.data[node & ~PAST_VEC].m = past_ones(n);
	} else {
		memcpy(&r->bits.data[node].v, bytes, n);
		r->bits.data[node].m = past_ones(8 * n);
	}
	return NULL;
}

struct err *dec_recover_lose_below(struct dec_recover *r, int64_t from, size_t n)
{
	struct err *err = access_add(r, r->ran.steps.size, PAST_BELOW, PAST_NONE, true);
	struct past_access *a;

	if (err)
		return err;
	a = &r->ran.accesses.data[r->ran.accesses.size - 1];
	a->node = node_now(r, PAST_RSP);
	a->size = n;
	a->addr = from;
	return a->node == PAST_NO_NODE ? &err_nomem : NULL;
}

void dec_recover_set_end(struct dec_recover *r, const struct dec_recover_end *end)
{
	r->mem.end = end;
}

void dec_recover_set_company(struct dec_recover *r, bool has_company)
{
	r->ran.has_company = has_company;
}

uint64_t dec_recover_next_rip(const struct dec_recover *r, uint32_t step)
{
	if (step + 1 >= r->ran.steps.size)
		return r->mem.end->regs.rip;
	if (r->ran.steps.data[step + 1].is_resumed)
		return 0;
	return r->ran.forms.data[r->ran.steps.data[step + 1].form].insn.rip;
}
