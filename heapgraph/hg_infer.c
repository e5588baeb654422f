// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_infer_int.h"

#include <string.h>
#include <sys/mman.h>

// What lies so far above rsp is no longer this thread's stack.
#define STACK_BYTES (UINT64_C(8) << 20)
#define RED_ZONE 128

/* ---- threads -------------------------------------------------------------------------------- */

static struct err *switch_thread(struct hg_infer *f, uint32_t tid)
{
	size_t at;

	if (f->thread && f->derive.regs->tid == tid)
		return NULL;
	at = hg_derive_thread(&f->derive, tid);
	if (!f->derive.regs)
		return &err_nomem;
	while (f->threads.size <= at)
		if (!vec_push(&f->threads))
			return &err_nomem;
	f->thread = &f->threads.data[at];
	return NULL;
}

static void threads_deinit(struct hg_infer *f)
{
	for (size_t i = 0; i < f->threads.size; i++) {
		struct hg_infer_thread *t = &f->threads.data[i];

		vec_deinit(&t->calls);
		vec_deinit(&t->outer);
		vec_deinit(&t->writes);
	}
	vec_deinit(&f->threads);
}

/* ---- pointers -------------------------------------------------------------------------------- */

uint32_t hg_infer_pointer(void *ctx, uint64_t value)
{
	struct hg_infer *f = ctx;

	return hg_infer_is_heap(f, value) ? hg_pieces_at(f->pieces, value) : 0;
}

void hg_infer_rename(struct hg_infer *f, uint64_t value, uint32_t old, uint32_t new)
{
	for (int reg = 0; reg < DEC_GPRS; reg++)
		if (hg_infer_head(f, reg) == old && hg_infer_value(f, reg) == value)
			hg_infer_set_head(f, reg, new);
}

static bool is_stack(const struct hg_infer *f, uint64_t addr)
{
	return addr + RED_ZONE >= hg_infer_value(f, CAP_RSP) &&
	       addr < hg_infer_value(f, CAP_RSP) + STACK_BYTES;
}

/* An own instruction stored a word: is it a pointer into the middle of a node? */
static void publish(struct hg_infer *f, const struct dec_step *s, const struct dec_ref *r)
{
	uint64_t value;
	uint32_t from, head;

	if (r->size != 8 || !r->has_value ||
	    (!hg_infer_is_heap(f, r->addr) && is_stack(f, r->addr)))
		return;
	memcpy(&value, r->value, 8);
	if (!hg_infer_is_heap(f, value))
		return;
	from = hg_derive_word(&f->derive, r->addr, value);
	if (!from)
		return;
	head = from;
	if (value != hg_pieces_addr(f->pieces, from))
		head = hg_pieces_split(f->pieces, f->now, from, value, 0, s->insn->rip,
				       s->insn->rip);
	if (head && value == hg_pieces_addr(f->pieces, head))
		hg_pieces_keep(f->pieces, f->now, head, s->insn->rip);
	if (!head || head == from)
		return;
	hg_derive_set_word(&f->derive, r->addr, value, head);
	hg_infer_rename(f, value, from, head);
}

/* ---- accesses --------------------------------------------------------------------------------- */

/* What the address is derived from; a pointer of unknown origin is looked up, by own code. */
static uint32_t head_of_access(struct hg_infer *f, const struct dec_mem *m, bool is_own)
{
	uint32_t base = hg_infer_head(f, m->base);
	uint32_t index =
		m->index < DEC_GPRS && m->scale == 1 ? hg_infer_head(f, m->index) : 0;
	uint64_t value = hg_infer_value(f, m->base);

	if (base || index)
		return base ? base : index;
	if (!is_own || !hg_infer_is_heap(f, value))
		return 0;
	base = hg_pieces_meet(f->pieces, f->now, value, f->rip);
	hg_infer_set_head(f, m->base, base);
	return base;
}

static struct err *access_all(struct hg_infer *f, const struct dec_step *s, bool is_own)
{
	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];
		const struct dec_mem *m;
		struct err *err;
		uint32_t head;

		if (!r->is_mem || !r->size || !hg_infer_is_heap(f, r->addr))
			continue;
		m = hg_derive_operand(s->insn, r, f->derive.regs->value);
		if (!m || m->base == CAP_RSP)
			continue;
		head = head_of_access(f, m, is_own);
		if (!head)
			continue;
		if (is_own) {
			hg_pieces_access(f->pieces, f->now, head, r->addr, r->size,
					 r->is_def, hg_infer_call(f));
			continue;
		}
		err = hg_foreign_access(f, r, head);
		if (err)
			return err;
	}
	return NULL;
}

/* ---- the walk ---------------------------------------------------------------------------------------- */

static struct err *follow_flow(struct hg_infer *f, const struct dec_insn *insn,
			       uint64_t rsp_before, bool is_own)
{
	if (is_own && insn->flow == DEC_FLOW_RET)
		hg_own_return(f, rsp_before, insn->rip);
	return is_own && (insn->flow == DEC_FLOW_CALL ||
			  insn->flow == DEC_FLOW_CALL_IND) ?
		       hg_own_enter(f) :
		       NULL;
}

// Bring it up to whose code runs: entries into foreign code, and returns.
static struct err *follow_border(struct hg_infer *f, bool is_own)
{
	struct hg_infer_thread *t = f->thread;
	uint64_t in = t->foreign.rsp;

	if (!is_own && !in)
		hg_foreign_enter(f);
	if (!is_own)
		return NULL;
	if (in && hg_infer_value(f, CAP_RSP) > in) {
		hg_foreign_leave(f);
	} else if (in) { // called back

		if (vec_add(&t->outer, t->foreign))
			return &err_nomem;
		t->foreign.rsp = 0;
		hg_foreign_commit(f);
	}
	return NULL;
}

static struct err *follow_values(struct hg_infer *f, const struct dec_step *s,
				 bool is_own)
{
	struct err *err = access_all(f, s, is_own);

	if (err)
		return err;
	hg_derive_step(&f->derive, s);
	for (size_t i = 0; is_own && i < s->n_refs; i++)
		if (s->refs[i].is_def && s->refs[i].is_mem)
			publish(f, s, &s->refs[i]);
	return NULL;
}

static struct err *on_step(void *ctx, struct frames *frames, const struct dec_step *s)
{
	struct hg_infer *f = ctx;
	struct err *err = switch_thread(f, s->tid);
	struct hg_own_call *c;
	bool is_own;
	uint64_t rsp;

	if (err || !s->insn)
		return err;
	f->now = s->position;
	f->rip = s->insn->rip;
	f->frames = frames;
	is_own = dec_frames_is_own(frames, s->insn->rip);
	rsp = hg_infer_value(f, CAP_RSP);
	err = follow_border(f, is_own);
	if (f->thread->result.time)
		hg_foreign_result(f, s->insn);
	if (!is_own && f->thread->foreign.args.undecided)
		hg_infer_decide(&f->thread->foreign.args, s->insn);
	c = is_own && f->thread->calls.size ?
		    &f->thread->calls.data[f->thread->calls.size - 1] :
		    NULL;
	if (c && f->thread->is_call)
		c->fn = f->rip;
	if (c && c->args.undecided)
		hg_own_use(f, s->insn);
	if (!err && !dec_insn_is_inert(s->insn))
		err = follow_values(f, s, is_own);
	if (err)
		return err;
	err = follow_flow(f, s->insn, rsp, is_own);
	f->thread->is_return = s->insn->flow == DEC_FLOW_RET;
	f->thread->is_call = is_own && (s->insn->flow == DEC_FLOW_CALL ||
					s->insn->flow == DEC_FLOW_CALL_IND);
	if (!err && (f->derive.is_out_of_memory || hg_pieces_is_out_of_memory(f->pieces)))
		err = &err_nomem;
	return err;
}

static struct err *walk(struct hg_infer *f, const struct capture *c, const char *progress)
{
	struct dec_heap_options o = {
		.progress = progress, .step = on_step, .step_ctx = f, .skips_inert = true
	};
	const struct dec_heap_events events = { .ctx = f, .region = hg_infer_region };
	struct dec_run run = {};
	struct err *err = hg_infer_find_border(f, c);

	if (err)
		return err;
	o.foreign = f->foreign.data;
	o.n_foreign = f->foreign.size;
	err = dec_heap_trace(c, f->symbols, &o, &events, &run);
	dec_run_deinit(&run);
	return err;
}

struct err *hg_infer(const struct capture *c, struct dec_symbols *symbols,
		     const char *progress, hg_plan *ret)
{
	struct hg_infer f = { .symbols = symbols };
	struct err *err = hg_pieces_create(&f.pieces);

	if (err)
		return err;
	hg_derive_init_plain(&f.derive, hg_infer_pointer, &f);
	err = walk(&f, c, progress);
	if (!err)
		err = hg_pieces_plan(f.pieces, ret);
	threads_deinit(&f);
	hg_pieces_destroy(f.pieces);
	hg_derive_deinit(&f.derive);
	vec_deinit(&f.foreign);
	map_deinit(&f.sites);
	map_deinit(&f.sizes);
	vec_deinit(&f.regions);
	return err;
}
