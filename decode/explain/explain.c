// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/explain_int.h"

#include <string.h>

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

static void explain_place(void *ctx, uint64_t seq, uint64_t position,
			  const uint64_t *call)
{
	struct explain *ex = ctx;

	(void)call;
	dec_history_place(&ex->history, seq, position);
}

/* Run it once more, to look at. */
static struct err *explain_trace(struct explain *ex)
{
	const struct fl_trace_options o = { .symbols = ex->symbols,
					    .call = explain_place,
					    .ctx = ex };
	struct err *err = fl_trace_create(ex->capture, &o, &ex->trace);

	if (err)
		return err;
	ex->machine = fl_trace_machine(ex->trace);
	for (size_t i = 0; i < ex->history.events.size && !err; i++) {
		const struct history_event *e = &ex->history.events.data[i];

		if (e->has_position && dec_history_call_is_loose(e))
			err = vec_add(&ex->loose, i);
	}
	return err;
}

static struct err *explain_all(struct explain *ex, struct dec_machine *m)
{
	struct dec_explanation *x = ex->x;
	const struct explain_suspect *root = NULL;
	struct err *err = explain_begin(ex, m);

	// Where nothing is wrong with the flow and the registers there is no way back.
	if (!err && x->at.parting != DEC_PARTED_MACHINE &&
	    x->at.parting != DEC_PARTED_MEMORY) {
		err = explain_trace(ex);
		if (!err)
			err = dec_explain_search(ex, m);
		root = dec_explain_root(ex);
	}
	if (!err)
		err = explain_surroundings(ex);
	if (!err && root)
		err = dec_explain_chain(ex, root);
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
	dec_explain_forget(&ex);
	fl_trace_destroy(ex.trace);
	dec_history_deinit(&ex.history);
	vec_deinit(&ex.loose);
	vec_deinit(&ex.seeds);
	vec_deinit(&ex.costs);
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
