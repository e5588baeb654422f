// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What ran before the end: the packets of one thread, decoded, of which only the last are
 * kept and told instruction by instruction.
 */
#include "decode/past/flight_int.h"

#include <string.h>

#include "decode/pt/decode.h"
#include "decode/pt/flow.h"

/* A run of instructions, or (n_insns 0) a gap. */
struct flight_run {
	uint64_t ip;
	uint32_t n_insns;
};

struct flight_tail {
	const struct capture *capture;
	const struct cap_core *core;
	struct flight_path *path;
	struct map insn_at; ///< rip -> index into path->insns
	VEC(struct flight_run) runs;
	size_t head;	    ///< the runs before it are too long ago
	uint64_t n_in_runs; ///< instructions from head on
	uint64_t n_wanted;
	uint32_t tid, now;
};

/* ---- decoding -------------------------------------------------------------------------------- */

static struct err *tail_add(struct flight_tail *t, uint64_t ip, uint32_t n)
{
	// The old half goes when it has become the larger one.
	if (t->head > 4096 && t->head > t->runs.size / 2) {
		memmove(t->runs.data, t->runs.data + t->head,
			(t->runs.size - t->head) * sizeof(*t->runs.data));
		t->runs.size -= t->head;
		t->head = 0;
	}
	if (vec_add(&t->runs, (struct flight_run){ ip, n }))
		return &err_nomem;
	t->n_in_runs += n;
	t->path->n_decoded += n;
	while (t->n_in_runs - t->runs.data[t->head].n_insns >= t->n_wanted)
		t->n_in_runs -= t->runs.data[t->head++].n_insns;
	return NULL;
}

static struct err *tail_on_run(void *ctx, const struct dec_pt_run *run)
{
	struct flight_tail *t = ctx;

	return t->now == t->tid ? tail_add(t, run->ip, run->n_insns) : NULL;
}

static struct err *tail_on_gap(void *ctx, const struct dec_pt_gap *gap)
{
	(void)gap;
	return tail_add(ctx, 0, 0);
}

static struct err *tail_on_event(void *ctx, const struct dec_pt_event *event)
{
	struct flight_tail *t = ctx;

	if (event->kind == DEC_PT_EV_THREAD)
		t->now = event->value;
	// An interruption: a signal's handler, mostly. What it changed is not seen.
	return event->kind == DEC_PT_EV_BRANCH && t->now == t->tid ? tail_add(t, 0, 0) :
								     NULL;
}

/* The streams that thread @p tid may be in: its own, else those of processors, of which
 * only one can be read (their order is not known to the instruction). */
static struct err *tail_decode(struct flight_tail *t, struct dec_pt_flow *flow)
{
	const struct dec_pt_sink sink = { t, tail_on_run, tail_on_gap, tail_on_event,
					  NULL };
	const struct dec_pt_decode_options o = { .n_threads = 1 };
	const struct dec_pt_source *s, *found = NULL;
	size_t n, n_cpus = 0;

	s = dec_pt_flow_sources(flow, &n);
	for (size_t i = 0; i < n; i++) {
		if (s[i].tid == t->tid)
			found = &s[i];
		n_cpus += s[i].tid == PERF_NONE;
	}
	if (!found && n_cpus > 1)
		return err_new(
			ERR_UNSUPPORTED,
			"its Intel PT is of %zu processors, not of threads (record "
			"without --per-cpu)",
			n_cpus);
	for (size_t i = 0; i < n && !found; i++)
		found = s[i].tid == PERF_NONE ? &s[i] : NULL;
	if (!found)
		return err_new(
			ERR_NOT_FOUND,
			"its Intel PT has nothing of thread %u, which end.core is of "
			"(it may have been born where tracing could not begin)",
			t->tid);
	t->now = found->tid == t->tid ? t->tid : 0;
	return dec_pt_decode(&found->stream, &o, &sink, NULL);
}

/* ---- instructions -------------------------------------------------------------------------- */

/* @return the index of the instruction at @p rip; FLIGHT_GAP: no code is known there. */
static struct err *tail_insn(struct flight_tail *t, uint64_t rip, uint32_t *ret)
{
	uint64_t *known = map_get(&t->insn_at, rip);
	struct dec_insn insn, *to;
	uint8_t bytes[15];
	size_t n = 15;
	struct err *err;

	if (known) {
		*ret = *known;
		return NULL;
	}
	// It may end where the mapping does.
	while ((err = cap_core_read(t->capture, t->core, rip, bytes, n)) && n > 1) {
		err_destroy(err);
		n--;
	}
	*ret = FLIGHT_GAP;
	if (!err && dec_insn_decode(bytes, n, rip, &insn)) {
		to = vec_push(&t->path->insns);
		if (!to)
			return &err_nomem;
		*to = insn;
		*ret = t->path->insns.size - 1;
	}
	err_destroy(err);
	return map_put(&t->insn_at, rip, *ret) ? &err_nomem : NULL;
}

static struct err *path_add(struct flight_path *p, uint32_t insn)
{
	return vec_add(&p->order, insn);
}

static struct err *tail_expand(struct flight_tail *t, const struct flight_run *r)
{
	struct flight_path *p = t->path;
	uint64_t rip = r->ip;
	struct err *err = NULL;

	if (!r->n_insns)
		return path_add(p, FLIGHT_GAP);
	for (uint32_t i = 0; i < r->n_insns && !err; i++) {
		uint32_t insn;

		err = tail_insn(t, rip, &insn);
		if (!err)
			err = path_add(p, insn);
		if (err || insn == FLIGHT_GAP)
			return err;
		rip = dec_pt_image_behind(&p->insns.data[insn]);
	}
	return err;
}

/* The instruction at which the program ended has not run, even if its packet says so (a
 * system call that did not return; one that faulted in its second half). */
static void path_drop_end(struct flight_path *p, uint64_t rip)
{
	uint32_t last = p->order.size ? p->order.data[p->order.size - 1] : FLIGHT_GAP;

	if (last != FLIGHT_GAP && p->insns.data[last].rip == rip)
		p->order.size--;
}

/* Packets that end elsewhere than the core stands (others recorded both, not at one moment)
 * tell nothing of what was between. */
static struct err *path_check_end(struct flight_path *p, uint64_t rip)
{
	uint32_t last = p->order.size ? p->order.data[p->order.size - 1] : FLIGHT_GAP;
	const struct dec_insn *insn = last == FLIGHT_GAP ? NULL : &p->insns.data[last];
	uint64_t behind = insn ? insn->rip + insn->len : 0;
	bool is_so = true;

	if (!insn)
		return NULL;
	if (insn->flow == DEC_FLOW_NEXT)
		is_so = rip == behind;
	else if (insn->flow == DEC_FLOW_JMP || insn->flow == DEC_FLOW_CALL)
		is_so = rip == insn->target;
	else if (insn->flow == DEC_FLOW_JCC || insn->flow == DEC_FLOW_JRCX)
		is_so = rip == insn->target || rip == behind;
	return is_so ? NULL : path_add(p, FLIGHT_GAP);
}

static bool has_insn(const struct flight_path *p)
{
	return vec_find(&p->order, at, *at != FLIGHT_GAP);
}

struct err *dec_flight_path_read(const struct capture *c, const struct cap_core *core,
				 uint32_t tid, uint64_t n, struct flight_path *ret)
{
	_cleanup_(dec_pt_flow_closep) struct dec_pt_flow *flow = NULL;
	struct flight_tail t = {
		.capture = c, .core = core, .path = ret, .n_wanted = n + 1, .tid = tid
	};
	struct err *err;

	*ret = (struct flight_path){};
	err = dec_pt_flow_open(capture_dir(c), NULL, &flow);
	if (!err)
		err = tail_decode(&t, flow);
	for (size_t i = t.head; i < t.runs.size && !err; i++)
		err = tail_expand(&t, &t.runs.data[i]);
	if (!err)
		path_drop_end(ret, core->regs.rip);
	if (!err)
		err = path_check_end(ret, core->regs.rip);
	if (!err && ret->order.size > n) {
		memmove(ret->order.data, ret->order.data + ret->order.size - n,
			n * sizeof(*ret->order.data));
		ret->order.size = n;
	}
	if (!err && !has_insn(ret))
		err = err_new(
			ERR_NOT_FOUND,
			"no instruction of thread %u can be decoded from its packets "
			"(`faultline decode' says what is wrong with them)",
			tid);
	map_deinit(&t.insn_at);
	vec_deinit(&t.runs);
	if (err)
		dec_flight_path_deinit(ret);
	return err;
}

void dec_flight_path_deinit(struct flight_path *p)
{
	vec_deinit(&p->insns);
	vec_deinit(&p->order);
}
