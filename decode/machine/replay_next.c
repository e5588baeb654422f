// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What comes next: the event log is read ahead by one event, and what needs no instruction
 * of the guest to run before it happens at once (invariant 1 of replay.h).
 */
#define LOG_ROOM "decode"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/machine/certain.h"
#include "decode/machine/replay_int.h"
#include "decode/machine/shared.h"
#include "decode/machine/signal.h"
#include "decode/machine/threads.h"

static bool is_omission_next(const struct dec_replay *r)
{
	return !r->is_log_at_end && r->next.kind == CAP_EV_OMITTED;
}

/* What no processor executes in a nanosecond, and what the clocks of two events may be apart. */
#define REPLAY_PER_NS 40
#define REPLAY_FREE 1000000000

/* By then the guest has come to the next event, or never will: where some memory is not what it
 * was it may wait for a change for ever. */
static void replay_bound(struct dec_replay *r)
{
	uint64_t ns = r->next.at_ns > r->last_ns ? r->next.at_ns - r->last_ns : 0;

	r->bound = r->is_log_at_end || !r->last_ns || !r->next.at_ns ||
				   ns > INT64_MAX / REPLAY_PER_NS / 2 ?
			   UINT64_MAX :
			   r->engine.now + ns * REPLAY_PER_NS + REPLAY_FREE;
}

/* Fetch the next event that says something about the guest. */
static void replay_fetch(struct dec_replay *r)
{
	r->last_seq = r->next.seq;
	r->last_ns = r->next.at_ns ?: r->last_ns;
	while (!r->is_log_at_end) {
		struct err *err = cap_events_next(r->events, &r->next, &r->is_log_at_end);

		if (err) {
			r->cut = strdup(err->message);
			err_destroy(err);
			r->is_log_at_end = true;
		}
		if (r->is_log_at_end)
			break;
		if (r->next.kind == CAP_EV_HEAP)
			dec_replay_log_heap(r);
		else if (r->next.kind == CAP_EV_HEAP_DONE || r->next.kind == CAP_EV_PROBE)
			continue; // the replay knows
		else if (r->next.kind == CAP_EV_GAP)
			dec_replay_note(r, "gap: %s", text_line(r->next.text));
		else if (r->next.kind != CAP_EV_OMITTED || !r->loose)
			break;
	}
	r->engine.halt_at = is_omission_next(r) ? r->next.position : 0;
	replay_bound(r);
}

static enum dec_verdict replay_out_of_order(struct dec_replay *r)
{
	return dec_replay_diverge(
		r, DEC_PARTED_EVENT,
		"after %lu instructions thread %u runs; recorded: %s of thread "
		"%u at rip %#lx",
		r->engine.now, dec_threads_current(r)->tid,
		dec_replay_kind_name(r->next.kind), r->next.tid, r->next.regs.rip);
}

static void replay_overdue(struct dec_replay *r)
{
	dec_replay_diverge(r, DEC_PARTED_EVENT,
			   "after %lu instructions, more than there was time for, the "
			   "replay computes at rip %#lx; recorded: %s at rip %#lx",
			   r->engine.now, r->engine.ctx->rip,
			   dec_replay_kind_name(r->next.kind), r->next.regs.rip);
}

/* The guest stands where it was interrupted. Could it also have been later? */
static void replay_check_place(struct dec_replay *r)
{
	r->n_places++;
	if (r->is_traced) {
		r->n_traced++;
		return;
	}
	if (!r->look_ahead || r->engine.mode != DEC_LOG_NONE)
		return;
	// Where there is no code it faults, and gets nowhere.
	if (!dec_guest_avail(&r->guest, r->next.regs.rip, PROT_EXEC))
		return;
	if (dec_certain_judge(r, r->look_ahead) != CERTAIN_NOT)
		return;
	r->n_uncertain++;
	dec_replay_note(
		r,
		"the place of a thread switch is not certain: thread %u was interrupted "
		"at rip %#lx, where the same registers and stack recur while other memory "
		"changes",
		r->next.tid, r->next.regs.rip);
}

/* Another thread is to run. */
static enum dec_verdict replay_arrange_switch(struct dec_replay *r, bool *is_done)
{
	struct replay_thread *t = dec_threads_current(r);
	enum dec_verdict v = DEC_GO;

	if (r->next.tid != t->tid)
		return replay_out_of_order(r);
	if (!t->is_leaving && !t->has_ended && !t->is_in_call && t->is_born) {
		if (r->next.switch_flags & CAP_SWITCH_IN_CALL)
			return DEC_GO; // it comes to that call by itself
		if (!dec_threads_is_here(r, &v)) {
			dec_threads_await(r);
			return v;
		}
		if (v == DEC_GO)
			replay_check_place(r);
		dec_engine_set_async(&r->engine, 0, NULL, 0, 0);
	}
	*is_done = true;
	return v == DEC_GO ? dec_threads_switch(r) : v;
}

/* Another thread's exec ended the current one, while it computed or waited. Where its registers
 * recur it is the first of these places: no memory of it outlives the exec. */
static enum dec_verdict replay_arrange_cleared(struct dec_replay *r, bool *is_done)
{
	struct replay_thread *t = dec_threads_current(r);
	enum dec_verdict v = DEC_GO;

	r->is_by_registers = true;
	t->has_ended = t->is_in_call || dec_threads_is_here(r, &v);
	r->is_by_registers = false;
	if (t->has_ended)
		dec_engine_set_async(&r->engine, 0, NULL, 0, 0);
	else
		dec_threads_await(r);
	*is_done = t->has_ended;
	return v;
}

/* A thread ended. */
static enum dec_verdict replay_arrange_exit(struct dec_replay *r, bool *is_done)
{
	struct replay_thread *t = dec_threads_find(r, r->next.tid);
	bool is_current = t == dec_threads_current(r);
	uint64_t rax = r->next.regs.gpr[CAP_RAX];

	if (is_current && capture_info(r->capture)->end == CAP_END_EXEC &&
	    !t->is_leaving && rax != SYS_exit)
		return replay_arrange_cleared(r, is_done);
	// The current one comes to its exit by itself.
	if (is_current && !t->is_leaving && !t->is_in_call)
		return DEC_GO;
	if (is_current && t->is_in_call)
		return dec_replay_killed(r);
	if (t)
		t->has_ended = true;
	*is_done = true;
	return DEC_GO;
}

static enum dec_verdict replay_arrange_syscall(struct dec_replay *r, bool *is_done)
{
	struct replay_thread *t = dec_threads_current(r);

	if (dec_threads_is_birth(r)) {
		*is_done = dec_threads_can_begin(r);
		return *is_done ? dec_threads_birth(r) : DEC_GO;
	}
	if (r->next.tid != t->tid)
		return replay_out_of_order(r);
	if (t->is_in_call) {
		// It is over: the engine makes it, as it can stop in front of it.
		t->is_in_call = false;
		r->engine.unstopped_rip = r->engine.ctx->rip;
		r->engine.unstopped_now = r->engine.now;
	}
	return DEC_GO;
}

/* The log is over. Where no thread can go on, so is the run. */
static enum dec_verdict replay_arrange_end(struct dec_replay *r)
{
	const struct replay_thread *t = dec_threads_current(r);

	if (t->is_in_call || !t->is_born)
		return dec_replay_end_of_log(r, "a system call");
	if (r->is_left)
		return dec_replay_end_of_log(r, "the instruction where it was left");
	if (!t->has_ended && !t->is_leaving)
		// Where the recording breaks off nothing tells how far the program came:
		// it may compute for ever.
		return r->cut || capture_info(r->capture)->is_unfinished ?
			       dec_replay_end_of_log(r, "the last event") :
			       DEC_GO;
	if (r->cut)
		return dec_replay_end_of_log(r, "a thread's end");
	r->end = CAP_END_EXIT;
	return DEC_END;
}

/* Memory is known to be shared, and others may have written there since it was mapped. */
static enum dec_verdict replay_arrange_shared(struct dec_replay *r)
{
	const struct dec_share s = { r->next.shared.start,
				     r->next.shared.start + r->next.shared.size,
				     r->next.shared.key, r->next.shared.offset };
	struct err *err = NULL;

	r->guest.is_in_company = true;
	// What was written into a file that only others have mapped.
	if (!r->next.shared.size)
		return DEC_GO;
	if (r->stops_at_turns)
		err = dec_shared_add(&r->guest, &s);
	return err ? dec_replay_fail(r, err) : dec_replay_writes(r);
}

/* @return whether the event at hand is one to pause behind. */
static bool replay_is_turn(const struct dec_replay *r)
{
	return r->stops_at_turns && cap_event_begins_turn(&r->next);
}

static enum dec_verdict replay_arrange_event(struct dec_replay *r, bool *is_done)
{
	switch (r->next.kind) {
	case CAP_EV_OMITTED:
		return DEC_GO; // dec_replay_run() comes to it
	case CAP_EV_SWITCH:
		return replay_arrange_switch(r, is_done);
	case CAP_EV_SHARED:
		*is_done = true;
		return replay_arrange_shared(r);
	case CAP_EV_EXIT:
		return replay_arrange_exit(r, is_done);
	case CAP_EV_SYSCALL:
		return replay_arrange_syscall(r, is_done);
	default:
		// The others ran on until the thread that got a deadly signal died of it.
		if (r->next.kind == CAP_EV_SIGNAL && r->next.is_fatal &&
		    dec_threads_find(r, r->next.tid))
			return dec_replay_signal_die(r);
		if (r->next.tid != dec_threads_current(r)->tid)
			return replay_out_of_order(r);
		return r->next.kind == CAP_EV_SIGNAL ?
			       dec_replay_signal_await(r, is_done) :
			       DEC_GO;
	}
}

/* The current thread goes on: a call that was cut short and not answered by a handler is
 * made again. */
static void replay_restart(struct dec_replay *r)
{
	struct replay_thread *t = dec_threads_current(r);
	struct dec_ctx *c = r->engine.ctx;

	if (t->restart_rip && c->rip == t->restart_rip + 2) {
		c->rip = t->restart_rip;
		c->gpr[CAP_RAX] = t->restart_nr;
	}
	t->restart_rip = 0;
}

enum dec_verdict dec_replay_arrange(struct dec_replay *r)
{
	enum dec_verdict v = DEC_GO;
	bool is_done = true, has_mapped, has_turned;

	while (v == DEC_GO && is_done) {
		if (r->is_log_at_end) {
			v = replay_arrange_end(r);
			break;
		}
		is_done = false;
		has_turned = replay_is_turn(r);
		v = replay_arrange_event(r, &is_done);
		if (v == DEC_GO && is_done)
			replay_fetch(r);
		r->has_turned = v == DEC_GO && is_done && has_turned;
		if (r->has_turned)
			return DEC_PAUSE;
	}
	if (v != DEC_GO)
		return v;
	replay_restart(r);
	has_mapped = r->has_mapped;
	r->has_mapped = false;
	return has_mapped ? DEC_PAUSE : DEC_GO;
}

enum dec_verdict dec_replay_go_on(struct dec_replay *r)
{
	r->has_turned = false;
	return dec_replay_arrange(r);
}

enum dec_verdict dec_replay_advance(struct dec_replay *r)
{
	replay_fetch(r);
	return dec_replay_arrange(r);
}

/* ---- a slice capture --------------------------------------------------------------------- */

static enum dec_verdict omit_values(struct dec_replay *r)
{
	for (size_t i = 0; i < r->next.n_values; i++) {
		const struct cap_value *v = &r->next.values[i];
		uint8_t now[CAP_VALUE_MAX], value[CAP_VALUE_MAX] = {};

		if (v->reg < DEC_GPRS || v->reg > DEC_REG_MXCSR ||
		    v->reg == DEC_REG_FLAGS ||
		    v->size != dec_engine_read_reg(&r->engine, v->reg, now))
			return dec_replay_diverge(r, DEC_PARTED_MACHINE,
						  "what was left out gives register %u "
						  "%u bytes, which it has not here",
						  v->reg, v->size);
		memcpy(value, v->data, v->size);
		dec_engine_write_reg(&r->engine, v->reg, value);
	}
	return DEC_GO;
}

/* The guest stands before a piece that was left out, or where the capture ends. */
static enum dec_verdict omit(struct dec_replay *r)
{
	struct dec_ctx *c = r->engine.ctx;
	const struct cap_event *ev = &r->next;
	struct cap_regs regs = ev->regs;
	enum dec_verdict v;

	if (ev->position != r->engine.now || ev->tid != dec_threads_current(r)->tid)
		return replay_out_of_order(r);
	if (!ev->n_steps)
		return DEC_END;
	for (int i = 0; i < CAP_GPRS; i++)
		if (ev->kept_gprs >> i & 1)
			regs.gpr[i] = c->gpr[i];
	regs.rflags = (regs.rflags & ~(uint64_t)ev->kept_flags) |
		      (c->rflags & ev->kept_flags);
	dec_replay_set_regs(c, &regs);
	c->fs_base = ev->regs.fs_base;
	c->gs_base = ev->regs.gs_base;
	dec_replay_state_record(r, DEC_STATE_OMITTED, NULL);
	v = dec_replay_writes(r);
	if (v == DEC_GO)
		v = omit_values(r);
	dec_threads_record(r);
	if (v != DEC_GO)
		return v;
	r->n_omitted++;
	r->omitted += ev->n_steps - 1;
	r->engine.now++;
	return dec_replay_advance(r);
}

enum dec_stop dec_replay_run(struct dec_replay *r, uint64_t until)
{
	enum dec_stop stop = DEC_STOP_POSITION;
	enum dec_verdict v;

	for (;;) {
		if (is_omission_next(r) && r->next.position <= r->engine.now &&
		    r->engine.now < until) {
			v = omit(r);
			if (v != DEC_GO)
				return dec_stop_of(v);
			if (r->engine.now < until &&
			    map_get(&r->engine.breaks, r->engine.ctx->rip))
				return DEC_STOP_BREAK;
			continue;
		}
		stop = dec_engine_run(&r->engine, until < r->bound ? until : r->bound);
		if (stop != DEC_STOP_POSITION || r->engine.now >= until)
			return stop;
		if (r->engine.now >= r->bound) {
			replay_overdue(r);
			return DEC_STOP_DIVERGED;
		}
	}
}

void dec_replay_forget_omitted(struct dec_replay *r)
{
	if (is_omission_next(r))
		replay_fetch(r);
	r->engine.halt_at = 0;
}
