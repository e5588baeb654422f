// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/explain_int.h"

#include <string.h>

// How much of the trace is held at once, and how far the search goes back at most.
#define WINDOW_INSNS (256u << 10)
#define WINDOWS 48

/* ---- system calls, for people ------------------------------------------------------------ */

struct err *dec_explain_call(struct explain *ex, const struct history_event *e,
			     struct dec_explain_call *call)
{
	call->is_known = true;
	call->nr = e->nr;
	call->ret = e->ret;
	call->seq = e->seq;
	call->tid = e->tid;
	call->position = e->position;
	call->has_position = e->has_position;
	call->n_args = dec_call_args(e->nr);
	memcpy(call->args, e->args, sizeof(call->args));
	dec_symbols_place(ex->symbols, e->rip, &call->place);
	call->name = dec_history_call_name(e->nr);
	return call->name ? NULL : &err_nomem;
}

/* The call that the replay makes, from its registers. */
static struct err *explain_here(struct explain *ex)
{
	const uint64_t *g = ex->regs.gpr;
	struct history_event e = {
		.kind = CAP_EV_SYSCALL,
		.rip = ex->regs.rip,
		.tid = ex->x->at.tid,
		.nr = g[CAP_RAX],
		.args = { g[CAP_RDI], g[CAP_RSI], g[CAP_RDX], g[CAP_R10], g[CAP_R8],
			  g[CAP_R9] },
		.has_position = true,
		.position = ex->x->at.position,
	};

	return dec_explain_call(ex, &e, &ex->x->here);
}

/* ---- the way back ------------------------------------------------------------------------ */

/* What to look for: what differs, or else why the flow came here. */
static void explain_wants(struct explain *ex, struct dec_machine *m)
{
	const struct dec_divergence *d = &ex->x->at;
	struct dec_insn insn;
	uint8_t bytes[15];
	struct err *err;

	if (d->parting == DEC_PARTED_REGISTER) {
		dec_slice_want_reg(&ex->slice, d->reg);
		return;
	}
	if (ex->x->near.n_passed && ex->x->near.n_differing) {
		dec_slice_want_reg(&ex->slice, ex->x->near.reg);
		return;
	}
	if (d->parting != DEC_PARTED_FAULT) {
		dec_slice_want_flow(&ex->slice, 0);
		return;
	}
	// The address, or else that this instruction ran at all.
	dec_slice_want_flow(&ex->slice, 100);
	err = dec_machine_read(m, d->rip, bytes, sizeof(bytes));
	if (!err && dec_insn_decode(bytes, sizeof(bytes), d->rip, &insn)) {
		for (int i = 0; i < insn.n_mem; i++) {
			if (insn.mem[i].base < DEC_GPRS)
				dec_slice_want_reg(&ex->slice, insn.mem[i].base);
			if (insn.mem[i].index < DEC_GPRS)
				dec_slice_want_reg(&ex->slice, insn.mem[i].index);
		}
	}
	err_destroy(err);
}

static struct err *explain_search(struct explain *ex, struct dec_machine *m)
{
	uint64_t at = ex->x->at.position, stops[WINDOWS];
	size_t n = 0, n_windows;
	struct err *err = dec_explain_near(ex);

	if (!err && ex->x->near.n_passed && ex->x->near.n_differing)
		at = ex->x->near.position;
	n_windows = at / WINDOW_INSNS + 1;
	if (n_windows > WINDOWS)
		n_windows = WINDOWS;
	for (size_t i = n_windows; i--;) {
		if (at > (i + 1) * WINDOW_INSNS)
			stops[n++] = at - (i + 1) * WINDOW_INSNS;
	}
	if (!err)
		err = dec_history_place(&ex->history, ex->machine, stops, n, at);
	if (!err)
		err = dec_slice_init(&ex->slice, &ex->history, ex->end, ex->x->at.tid);
	if (!err)
		explain_wants(ex, m);
	while (!err && at && !dec_slice_is_done(&ex->slice) &&
	       !dec_explain_has_suspect(ex)) {
		uint64_t begin = n ? stops[--n] : 0;

		if (!n_windows--)
			break;
		err = dec_slice_window(&ex->slice, ex->machine, begin, at);
		at = begin;
	}
	if (!err && !dec_slice_is_done(&ex->slice)) {
		ex->x->is_partial = at && !dec_explain_has_suspect(ex);
		dec_slice_end(&ex->slice, at ? SLICE_FAR : SLICE_START, at);
	}
	ex->x->is_partial |= ex->slice.is_full;
	return err;
}

/* ---- the chain --------------------------------------------------------------------------- */

static void explain_location_name(const struct slice_location *p, char *text, size_t size)
{
	char name[DEC_REG_NAME];

	if (p->is_mem)
		snprintf(text, size, "%u byte%s at %#lx", p->size,
			 p->size == 1 ? "" : "s", p->addr);
	else
		snprintf(text, size, "%s",
			 p->reg <= DEC_REG_FLAGS ? dec_reg_name(p->reg, name) :
			 p->reg == DEC_REG_RIP	 ? "the way taken" :
						   "the FPU's state");
}

static struct dec_explain_step explain_step(struct explain *ex, uint32_t node)
{
	static const char *const needed_as[] = { "value", "value", "address", "branch" };
	const struct slice_node *n = &ex->slice.nodes.data[node];
	struct dec_explain_step step = { .position = n->position,
					 .tid = n->tid,
					 .value = n->value,
					 .has_value = n->has_value &&
						      (n->location.is_mem ||
						       n->location.reg < DEC_GPRS),
					 .needed_as = needed_as[n->edge] };

	if (n->insn != SLICE_NONE) {
		const struct dec_insn *insn = &ex->slice.insns.data[n->insn];

		step.rip = insn->rip;
		dec_insn_text(insn, step.insn, sizeof(step.insn));
		dec_symbols_place(ex->symbols, step.rip, &step.place);
	}
	if (n->origin == SLICE_INSN || n->origin == SLICE_CONSTANT)
		explain_location_name(&n->location, step.what, sizeof(step.what));
	else
		dec_explain_origin(ex, node, step.what, sizeof(step.what));
	return step;
}

static bool explain_is_same_line(const struct dec_explain_step *a,
				 const struct dec_explain_step *b)
{
	return *a->insn && *b->insn && a->tid == b->tid && a->place.line &&
	       a->place.line == b->place.line && a->place.file && b->place.file &&
	       !strcmp(a->place.file, b->place.file) && strcmp(b->needed_as, "branch");
}

/* From the divergence to @p root; steps of one source line are one, and of a long chain
 * the middle is left out. */
static struct err *explain_chain(struct explain *ex, uint32_t root)
{
	struct dec_explanation *x = ex->x;
	VEC(uint32_t) path = {};
	struct err *err = NULL;

	for (uint32_t n = root; n != SLICE_NONE; n = ex->slice.nodes.data[n].parent) {
		uint32_t *p = vec_push(&path);

		if (!p) {
			vec_deinit(&path);
			return &err_nomem;
		}
		*p = n;
	}
	for (size_t i = path.size; !err && i--;) {
		struct dec_explain_step step = explain_step(ex, path.data[i]), *to;

		if (i && x->chain.size &&
		    explain_is_same_line(&x->chain.data[x->chain.size - 1], &step)) {
			x->chain.data[x->chain.size - 1].n_merged++;
			continue;
		}
		to = vec_push(&x->chain);
		if (to)
			*to = step;
		else
			err = &err_nomem;
	}
	vec_deinit(&path);
	if (!err && x->chain.size > DEC_EXPLAIN_STEPS) {
		x->n_left_out = x->chain.size - DEC_EXPLAIN_STEPS;
		memmove(x->chain.data + DEC_EXPLAIN_HEAD,
			x->chain.data + DEC_EXPLAIN_HEAD + x->n_left_out,
			(DEC_EXPLAIN_STEPS - DEC_EXPLAIN_HEAD) * sizeof(*x->chain.data));
		x->chain.size = DEC_EXPLAIN_STEPS;
	}
	return err;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static struct err *explain_surroundings(struct explain *ex)
{
	struct dec_explanation *x = ex->x;
	const struct dec_divergence *d = &x->at;
	struct err *err = NULL;

	dec_symbols_place(ex->symbols, d->rip, &x->place);
	for (size_t i = ex->end; !err && d->has_agreed && i--;) {
		if (ex->history.events.data[i].seq == d->agreed_seq) {
			err = dec_explain_call(ex, &ex->history.events.data[i],
					       &x->agreed);
			x->agreed.position = d->agreed_position;
			x->agreed.has_position = true;
			break;
		}
	}
	if (!err && ex->end < ex->history.events.size && d->event == CAP_EV_SYSCALL)
		err = dec_explain_call(ex, &ex->history.events.data[ex->end],
				       &x->written);
	if (!err &&
	    (d->parting == DEC_PARTED_REGISTER || d->parting == DEC_PARTED_PLACE ||
	     d->parting == DEC_PARTED_EVENT || d->parting == DEC_PARTED_MEMORY))
		err = explain_here(ex);
	return err;
}

/* How many of the registers that a system call is compared by differ. */
static struct err *explain_differing(struct explain *ex)
{
	struct dec_explanation *x = ex->x;
	struct cap_events *it = NULL;
	struct cap_event ev;
	bool is_end = false;
	struct err *err;

	if (x->at.parting != DEC_PARTED_REGISTER)
		return NULL;
	err = cap_events_open(ex->capture, &it);
	while (!err && !is_end) {
		err = cap_events_next(it, &ev, &is_end);
		if (!err && !is_end && ev.seq == x->at.seq)
			break;
	}
	for (int i = 0; !err && !is_end && i < CAP_GPRS; i++) {
		if (i != CAP_RCX && i != CAP_R11)
			x->n_differing += ev.regs.gpr[i] != ex->regs.gpr[i];
	}
	cap_events_close(it);
	return err;
}

static struct err *explain_begin(struct explain *ex, struct dec_machine *m)
{
	const struct dec_divergence *d = &ex->x->at;
	struct err *err = dec_machine_regs(m, &ex->regs), *none;
	uint8_t byte;

	if (!err)
		err = dec_history_read(&ex->history, ex->capture,
				       d->event ? d->seq + 1 : UINT64_MAX);
	if (err)
		return err;
	ex->end = ex->history.events.size;
	if (d->event && ex->end && ex->history.events.data[ex->end - 1].seq == d->seq)
		ex->end--;
	none = d->replayed >= 4096 ? dec_machine_read(m, d->replayed, &byte, 1) :
				     err_new(ERR_RANGE, "a number");
	ex->is_pointer = !none;
	err_destroy(none);
	return explain_differing(ex);
}

static struct err *explain_all(struct explain *ex, struct dec_machine *m)
{
	struct dec_explanation *x = ex->x;
	uint32_t root = SLICE_NONE;
	struct err *err = explain_begin(ex, m);

	// Where nothing is wrong with the flow and the registers there is no way back.
	if (!err && x->at.parting != DEC_PARTED_MACHINE &&
	    x->at.parting != DEC_PARTED_MEMORY) {
		err = dec_machine_create(ex->capture, NULL, &ex->machine);
		if (!err)
			err = explain_search(ex, m);
		root = dec_explain_root(ex);
	}
	if (!err)
		err = explain_surroundings(ex);
	if (!err && root != SLICE_NONE)
		err = explain_chain(ex, root);
	if (!err)
		err = dec_explain_cause(ex, root);
	if (!err) {
		dec_explain_file(ex, &x->input);
		dec_explain_file(ex, &x->agreed);
	}
	return err;
}

struct err *dec_explain(const struct capture *c, struct dec_machine *m,
			struct dec_symbols *s, struct dec_explanation **ret)
{
	const struct dec_divergence *d = dec_machine_parted(m);
	struct explain ex = { .capture = c, .symbols = s };
	struct err *err;

	if (!d)
		return err_new(ERR_RANGE, "the replay did not diverge");
	ex.x = calloc(1, sizeof(*ex.x));
	if (!ex.x)
		return &err_nomem;
	ex.x->at = *d;
	err = explain_all(&ex, m);
	dec_machine_destroy(ex.machine);
	dec_slice_deinit(&ex.slice);
	dec_history_deinit(&ex.history);
	if (err)
		dec_explanation_destroy(ex.x);
	else
		*ret = ex.x;
	return err;
}

static void explain_call_deinit(struct dec_explain_call *call)
{
	free(call->name);
	free(call->file);
}

void dec_explanation_destroy(struct dec_explanation *x)
{
	if (!x)
		return;
	explain_call_deinit(&x->agreed);
	explain_call_deinit(&x->here);
	explain_call_deinit(&x->written);
	explain_call_deinit(&x->input);
	for (size_t i = 0; i < x->others.size; i++)
		free(x->others.data[i]);
	vec_deinit(&x->others);
	vec_deinit(&x->chain);
	free(x->sentence);
	free(x);
}

void dec_explanation_destroyp(struct dec_explanation **x)
{
	dec_explanation_destroy(*x);
}
