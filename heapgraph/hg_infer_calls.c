// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_infer_int.h"

static const uint8_t arg_reg[HG_ARGS] = { CAP_RDI, CAP_RSI, CAP_RDX,
					  CAP_RCX, CAP_R8,  CAP_R9 };

// Where DWARF does not bound the type by the size that was asked for, which nobody knows.
#define SIZE_UNKNOWN (UINT64_C(1) << 40)

// An allocator's header is right in front of what it gives out.
#define HEADER_BYTES 16

/* ---- statements ----------------------------------------------------------------------------- */

/* The statement to name for what the call that returns to @p return_rip gave out: where a
 * wrapper's result goes, the outer one's (see history/heap_calls.c). */
static uint64_t site_of(struct hg_infer *f, uint64_t return_rip)
{
	const uint64_t *known = map_get(&f->sites, return_rip);
	size_t n = f->frames->stack.size;
	uint32_t own = n ? f->frames->stack.data[n - 1].own : 0;
	uint64_t rip = return_rip, found = 0;

	if (known && !*known)
		return return_rip - 1;
	for (int depth = 0; depth < 8; depth++) {
		bool is_sure = false;

		if (dec_symbols_alloc_type(f->symbols, rip, SIZE_UNKNOWN, &is_sure) ||
		    is_sure) {
			found = rip;
			break;
		}
		if (!own)
			break;
		rip = f->frames->stack.data[own - 1].return_rip;
		own = own > 1 ? f->frames->stack.data[own - 2].own : 0;
	}
	if (!known)
		map_put(&f->sites, return_rip, found != 0 && found != return_rip);
	return (found ? found : return_rip) - 1;
}

// The bytes of the struct that DWARF says the call gives out, 0 when it does not.
static uint64_t size_at(struct hg_infer *f, uint64_t rip)
{
	const uint64_t *known = map_get(&f->sizes, rip);
	const struct dec_struct *layout = NULL;
	const char *name;
	uint64_t size = 0;
	bool is_sure;

	if (known)
		return *known;
	name = dec_symbols_alloc_type(f->symbols, rip + 1, SIZE_UNKNOWN, &is_sure);
	if (name && is_sure) {
		err_destroy(dec_symbols_struct(f->symbols, name, &layout));
		size = layout ? layout->size : 0;
	}
	map_put(&f->sizes, rip, size);
	return size;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void note_args(struct hg_infer *f, struct hg_args *a)
{
	for (int i = 0; i < HG_ARGS; i++)
		a->head[i] = hg_infer_head(f, arg_reg[i]);
	a->undecided = (1 << HG_ARGS) - 1;
}

static uint32_t arg_of(const struct hg_args *a, int i)
{
	return a->undecided >> i & 1 ? 0 : a->head[i];
}

uint8_t hg_infer_decide(struct hg_args *a, const struct dec_insn *insn)
{
	uint8_t first = 0;

	for (int i = 0; i < HG_ARGS; i++) {
		bool is_read = insn->gpr_read >> arg_reg[i] & 1;

		if (!(a->undecided >> i & 1) ||
		    !(is_read || insn->gpr_written >> arg_reg[i] & 1))
			continue;
		a->undecided &= ~(1u << i);
		first |= is_read << i;
		if (!is_read)
			a->head[i] = 0;
	}
	return first;
}

uint32_t hg_infer_call(const struct hg_infer *f)
{
	size_t n = f->thread->calls.size;

	return n ? f->thread->calls.data[n - 1].number : 0;
}

/* ---- foreign code ------------------------------------------------------------------------------- */

void hg_foreign_enter(struct hg_infer *f)
{
	struct hg_infer_thread *t = f->thread;
	size_t n = f->frames->stack.size;

	if (t->outer.size && t->is_return) { // back from a callback
		t->foreign = t->outer.data[--t->outer.size];
		return;
	}
	t->foreign =
		(struct hg_foreign){ .rsp = hg_infer_value(f, CAP_RSP), .time = f->now };
	t->foreign.rip = n ? f->frames->stack.data[n - 1].return_rip - 1 : f->rip;
	for (int i = 0; i < HG_ARGS; i++)
		if (!hg_infer_head(f, arg_reg[i]))
			hg_infer_set_head(
				f, arg_reg[i],
				hg_infer_pointer(f, hg_infer_value(f, arg_reg[i])));
	note_args(f, &t->foreign.args);
	t->writes.size = 0;
}

void hg_foreign_commit(struct hg_infer *f)
{
	struct hg_infer_thread *t = f->thread;

	for (size_t i = 0; i < t->writes.size; i++) {
		const struct hg_foreign_write *w = &t->writes.data[i];

		if (hg_pieces_is_released(f->pieces, w->head))
			continue;
		hg_pieces_access(f->pieces, w->time, w->head, w->addr, w->size, true,
				 hg_infer_call(f));
	}
	t->writes.size = 0;
}

struct err *hg_foreign_access(struct hg_infer *f, const struct dec_ref *r, uint32_t head)
{
	struct hg_foreign *in = &f->thread->foreign;
	int arg;

	for (arg = 0; arg < HG_ARGS; arg++)
		if (arg_of(&in->args, arg) &&
		    hg_pieces_is_kin(f->pieces, arg_of(&in->args, arg), head))
			break;
	if (arg == HG_ARGS)
		return NULL;
	if (!r->is_def) {
		uint64_t start = hg_pieces_addr(f->pieces, head);

		in->is_header_read[arg] |= r->size <= 8 && r->addr < start &&
					   r->addr + HEADER_BYTES >= start;
		return NULL;
	}
	return vec_add(&f->thread->writes,
		       (struct hg_foreign_write){ f->now, r->addr, head, r->size });
}

void hg_foreign_leave(struct hg_infer *f)
{
	struct hg_foreign in = f->thread->foreign;
	uint64_t result = hg_infer_value(f, CAP_RAX);
	uint32_t head = hg_infer_head(f, CAP_RAX);
	bool is_allocator = false, is_argument = false;

	f->thread->foreign.rsp = 0;
	for (int i = 0; i < HG_ARGS; i++) {
		uint32_t arg = arg_of(&in.args, i);

		if (!arg)
			continue;
		is_argument |= head && hg_pieces_is_kin(f->pieces, arg, head);
		if (!in.is_header_read[i])
			continue;
		is_allocator = true;
		hg_pieces_release(f->pieces, in.time, arg, in.rip);
	}
	if (is_allocator)
		f->thread->writes.size = 0;
	else
		hg_foreign_commit(f);
	if (!hg_infer_is_heap(f, result))
		return;
	if (head && !hg_pieces_is_released(f->pieces, head) &&
	    (is_argument ? !is_allocator : hg_pieces_holds(f->pieces, head, result)))
		return;
	f->thread->result = (struct hg_result){ f->now, site_of(f, f->rip) };
}

void hg_foreign_result(struct hg_infer *f, const struct dec_insn *insn)
{
	struct hg_result *r = &f->thread->result;
	uint64_t value = hg_infer_value(f, CAP_RAX);

	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND) {
		r->time = 0;
	} else if (insn->gpr_read & 1u << CAP_RAX) {
		hg_infer_set_head(f, CAP_RAX,
				  hg_pieces_begin(f->pieces, r->time, value,
						  size_at(f, r->rip), r->rip));
		r->time = 0;
	} else if (insn->gpr_written & 1u << CAP_RAX) {
		r->time = 0;
	}
}

/* ---- calls of its own ----------------------------------------------------------------------------- */

struct err *hg_own_enter(struct hg_infer *f)
{
	struct hg_own_call *c = vec_push(&f->thread->calls);

	if (!c)
		return &err_nomem;
	c->rsp = hg_infer_value(f, CAP_RSP);
	c->rip = f->rip;
	c->number = ++f->n_calls;
	note_args(f, &c->args);
	return NULL;
}

void hg_own_use(struct hg_infer *f, const struct dec_insn *insn)
{
	struct hg_own_call *c = &f->thread->calls.data[f->thread->calls.size - 1];
	uint8_t used = hg_infer_decide(&c->args, insn);

	for (int i = 0; used; i++, used >>= 1)
		if (used & 1 && c->args.head[i] &&
		    hg_infer_value(f, arg_reg[i]) ==
			    hg_pieces_addr(f->pieces, c->args.head[i]))
			hg_pieces_pass(f->pieces, f->now, c->args.head[i], c->fn,
				       c->number, c->rip);
}

void hg_own_return(struct hg_infer *f, uint64_t rsp, uint64_t place)
{
	struct hg_infer_thread *t = f->thread;
	struct hg_own_call c = {};
	uint64_t result = hg_infer_value(f, CAP_RAX), site, return_rip;
	uint32_t from = hg_infer_head(f, CAP_RAX), head = from;
	bool is_new;
	size_t n = f->frames->stack.size;

	while (t->calls.size && t->calls.data[t->calls.size - 1].rsp <= rsp)
		c = t->calls.data[--t->calls.size];
	return_rip = n && f->frames->stack.data[n - 1].rsp == rsp ?
			     f->frames->stack.data[n - 1].return_rip :
			     0;
	if (c.rsp != rsp || !return_rip || !from || !hg_infer_is_heap(f, result))
		return;
	is_new = result != hg_pieces_addr(f->pieces, head);
	for (int i = 0; i < HG_ARGS; i++)
		if (arg_of(&c.args, i) &&
		    (is_new ? hg_pieces_is_kin(f->pieces, arg_of(&c.args, i), head) &&
				      !hg_pieces_is_fresh(f->pieces, head, result) :
			      hg_pieces_is_same(f->pieces, arg_of(&c.args, i), head)))
			return;
	dec_frames_return(f->frames, rsp);
	site = site_of(f, return_rip);
	if (is_new) {
		head = hg_pieces_split(f->pieces, f->now, head, result, size_at(f, site),
				       site, place);
		if (!head || head == from)
			return;
		hg_infer_rename(f, result, from, head);
	}
	hg_pieces_give(f->pieces, f->now, head, c.fn, c.number, site);
}
