// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/explain_int.h"

#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// A root that costs more is far from the value: damage of the event is as likely.
#define EXPLAIN_FAR 40

static const struct {
	const char *name, *advice;
} causes[DEC_CAUSES] = {
	[DEC_CAUSE_UNKNOWN] = { "unknown",
				"look at the calls before it (faultline dump "
				"--kind syscall); record again; report it with the "
				"capture when that says nothing" },
	[DEC_CAUSE_UNMODELLED_CALL] = { "unmodelled-call",
					"add what the call writes to "
					"pt-collect/inputs/syscalls.def and record again, or keep "
					"the program from making it" },
	[DEC_CAUSE_MISSING_WRITE] = { "missing-write",
				      "check what pt-collect/inputs/syscalls.def says that the "
				      "call writes, and record again" },
	[DEC_CAUSE_SHARED_MEMORY] = { "shared-memory",
				      "record with the other process quiet or absent, or "
				      "make the program share through system calls" },
	[DEC_CAUSE_CHILD_MEMORY] = { "child-memory",
				     "record again; if it stays, make the program use "
				     "fork instead of vfork" },
	[DEC_CAUSE_INPUT_BYTES] = { "input-bytes",
				    "see whether the capture was changed or damaged, or "
				    "whether another thread or process wrote into the "
				    "buffer while the call returned; record again" },
	[DEC_CAUSE_CALL_RESULT] = { "call-result",
				    "see whether the capture was changed or damaged; "
				    "record again" },
	[DEC_CAUSE_TIME_STAMP] = { "time-stamp",
				   "see whether the capture was changed or damaged; "
				   "record again" },
	[DEC_CAUSE_CPUID] = { "cpuid",
			      "replay on a CPU like the one it was recorded on, or "
			      "record again where cpuid can be recorded" },
	[DEC_CAUSE_SIGNAL_FRAME] = { "signal-frame", "record again" },
	[DEC_CAUSE_SIGNAL_PLACE] = { "signal-place",
				     "record again; the signal may land where it can be "
				     "found" },
	[DEC_CAUSE_THREAD_SWITCH] = { "thread-switch",
				      "record again; the switch may fall where it can be "
				      "found" },
	[DEC_CAUSE_FILE_CONTENTS] = { "file-contents",
				      "record while nobody changes the file" },
	[DEC_CAUSE_START_STATE] = { "start-state",
				    "see whether start.core was changed or damaged; "
				    "record again" },
	[DEC_CAUSE_RECORD] = { "record",
			       "see whether the capture was changed or damaged (a copy "
			       "that went wrong, files of another run) and whether it "
			       "replays on the machine it was recorded on" },
	[DEC_CAUSE_MAPPINGS] = { "mappings",
				 "look at the mapping calls before it (faultline dump); "
				 "record again" },
	[DEC_CAUSE_INSTRUCTION] = { "instruction",
				    "record with --portable if it has to do with what "
				    "this CPU lacks; otherwise the program cannot be "
				    "replayed yet" },
};

const char *dec_cause_name(enum dec_cause cause)
{
	return causes[cause < DEC_CAUSES ? cause : DEC_CAUSE_UNKNOWN].name;
}

/* ---- in words -------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static struct err *
explain_say(struct explain *ex, enum dec_cause cause, const char *fmt, ...)
{
	va_list ap;
	int n;

	ex->x->cause = cause;
	ex->x->advice = causes[cause].advice;
	va_start(ap, fmt);
	n = vasprintf(&ex->x->sentence, fmt, ap);
	va_end(ap);
	if (n < 0) {
		ex->x->sentence = NULL;
		return &err_nomem;
	}
	return NULL;
}

/* ---- the evidence ------------------------------------------------------------------------------ */

/* The recorded bytes that the input names. */
static struct err *explain_bytes(struct explain *ex, uint64_t seq)
{
	struct dec_explanation *x = ex->x;
	struct cap_events *it = NULL;
	struct err *err = cap_events_open(ex->capture, &it);
	struct cap_event ev;
	bool is_end = false;

	while (!err && !is_end) {
		err = cap_events_next(it, &ev, &is_end);
		if (err || is_end || ev.seq < seq)
			continue;
		for (size_t i = 0; i < ev.n_writes; i++) {
			uint64_t at = x->input_addr - ev.writes[i].addr;

			if (at >= ev.writes[i].size)
				continue;
			x->n_input_data = x->input_bytes < 16 ? x->input_bytes : 16;
			if (x->n_input_data > ev.writes[i].size - at)
				x->n_input_data = ev.writes[i].size - at;
			memcpy(x->input_data, ev.writes[i].data + at, x->n_input_data);
		}
		break;
	}
	cap_events_close(it);
	return err;
}

static struct err *explain_input(struct explain *ex, const struct explain_suspect *s)
{
	const struct history_event *e = dec_explain_event(ex, s);
	struct err *err = NULL;

	if (s->at.is_mem) {
		ex->x->input_addr = s->at.addr;
		ex->x->input_bytes = s->at.size;
	}
	if (e && e->kind == CAP_EV_SYSCALL)
		err = dec_explain_call(ex, e, &ex->x->input);
	if (!err && e && s->at.is_mem &&
	    (s->origin == EXPLAIN_WRITTEN || s->origin == EXPLAIN_CHILD))
		err = explain_bytes(ex, e->seq);
	return err;
}

/* ---- the sentence -------------------------------------------------------------------------------- */

static const char *explain_subject(const struct explain *ex,
				   const struct explain_suspect *s)
{
	if (ex->x->at.parting != DEC_PARTED_REGISTER)
		return "which way the program went depends on";
	return s->has_branch ? "the value depends, through a branch, on" :
			       "the value comes from";
}

/* A single bit that differs, in a single register, looks like damage. */
static const char *explain_flip(const struct explain *ex, char *text, size_t size)
{
	const struct dec_divergence *d = &ex->x->at;
	uint64_t flipped = d->recorded ^ d->replayed;

	*text = '\0';
	if (d->parting == DEC_PARTED_REGISTER && ex->x->n_differing == 1 &&
	    __builtin_popcountll(flipped) == 1)
		snprintf(text, size, ", and the two differ in bit %d alone",
			 __builtin_ctzll(flipped));
	return text;
}

/* Nothing that could differ leads to the value. */
static struct err *explain_record(struct explain *ex, const char *origin)
{
	char bit[48];

	return explain_say(ex, DEC_CAUSE_RECORD,
			   "nothing that the program was given explains the difference: "
			   "the replayed value comes from %s%s; so the recorded event "
			   "itself is wrong, or the code that ran was not the one in the "
			   "capture, or this CPU computes something else",
			   origin, explain_flip(ex, bit, sizeof(bit)));
}

static struct err *explain_unmodelled(struct explain *ex, const struct explain_suspect *s,
				      const char *origin)
{
	const struct history_event *e = dec_explain_event(ex, s);

	if (s->origin == EXPLAIN_QUIET)
		return explain_say(ex, DEC_CAUSE_MISSING_WRITE,
				   "%s %s: the call got a pointer there, and the "
				   "capture has nothing that it wrote",
				   explain_subject(ex, s), origin);
	return explain_say(ex, DEC_CAUSE_UNMODELLED_CALL, "%s %s: %s",
			   explain_subject(ex, s), origin,
			   e && e->flags & CAP_SYS_UNLISTED ?
				   "the call is not in the recorder's table, so what it "
				   "wrote is not in the capture" :
				   "the recorder could not read all that the call wrote");
}

static struct err *explain_shared(struct explain *ex, const struct explain_suspect *s,
				  const char *origin)
{
	const struct history_shared *m = &ex->history.shared.data[s->event];

	ex->x->input_addr = m->addr;
	ex->x->input_bytes = m->size;
	return explain_say(ex, DEC_CAUSE_SHARED_MEMORY,
			   "%s %s (%#lx to %#lx, %s): what another process writes there "
			   "is not in the capture",
			   explain_subject(ex, s), origin, m->addr, m->addr + m->size,
			   m->is_anonymous ? "anonymous, and the program has children" :
					     "a shared mapping");
}

static struct err *explain_mapped(struct explain *ex, const struct explain_suspect *s,
				  const char *origin)
{
	const struct history_event *e = dec_explain_event(ex, s);

	if (e && e->nr == SYS_mmap && !(e->args[3] & MAP_ANONYMOUS))
		return explain_say(ex, DEC_CAUSE_FILE_CONTENTS,
				   "%s %s: the file may have changed while it was "
				   "mapped",
				   explain_subject(ex, s), origin);
	return explain_say(ex, DEC_CAUSE_MISSING_WRITE,
			   "%s %s: in the replay that memory is as fresh as it was "
			   "mapped; if something was in it, whoever wrote it was not "
			   "recorded",
			   explain_subject(ex, s), origin);
}

/* All that is known is that something before the search's end was wrong. */
static struct err *explain_last_input(struct explain *ex, const struct explain_suspect *s,
				      const char *origin)
{
	char call[160] = "";
	struct err *err = NULL;

	for (size_t i = ex->end; i-- && !*call;) {
		const struct history_event *e = &ex->history.events.data[i];

		if (e->kind != CAP_EV_SYSCALL || !e->writes.size)
			continue;
		dec_explain_call_text(e, call, sizeof(call));
		err = dec_explain_call(ex, e, &ex->x->input);
	}
	if (err)
		return err;
	return explain_say(ex, DEC_CAUSE_UNKNOWN,
			   "%s %s: that is as far as was looked%s%s",
			   explain_subject(ex, s), origin,
			   *call ? "; the last call that wrote something was " : "",
			   call);
}

/* The oldest value within reach came from earlier still. Who wrote there last? */
static struct err *explain_far(struct explain *ex, const struct explain_suspect *s,
			       const char *origin)
{
	for (size_t i = s->at.is_mem ? ex->end : 0; i--;) {
		const struct history_event *e = &ex->history.events.data[i];
		char call[160];

		if (e->kind != CAP_EV_SYSCALL || !e->has_position ||
		    e->position > s->position ||
		    !vec_find(&e->writes, w, s->at.addr - w->addr < w->size))
			continue;
		dec_explain_call_text(e, call, sizeof(call));
		return explain_say(ex, DEC_CAUSE_INPUT_BYTES,
				   "%s %s; the last call recorded to have written there "
				   "is %s (the program itself may have written since)",
				   explain_subject(ex, s), origin, call);
	}
	return explain_last_input(ex, s, origin);
}

/* Inputs that need no further words. */
static const struct {
	enum dec_cause cause;
	const char *why;
} plain_inputs[] = {
	[EXPLAIN_RESULT] = { DEC_CAUSE_CALL_RESULT,
			     "what the program got there is not what the capture "
			     "has" },
	[EXPLAIN_WRITTEN] = { DEC_CAUSE_INPUT_BYTES,
			      "what the program got there is not what the capture "
			      "has" },
	[EXPLAIN_CHILD] = { DEC_CAUSE_CHILD_MEMORY,
			    "what a vfork child writes is found by comparing pages "
			    "afterwards" },
	[EXPLAIN_FRAME] = { DEC_CAUSE_SIGNAL_FRAME,
			    "what the kernel saved there is not what the capture "
			    "has" },
	[EXPLAIN_TSC] = { DEC_CAUSE_TIME_STAMP,
			  "the recorded time stamp is not the one the program "
			  "got" },
	[EXPLAIN_CPUID] = { DEC_CAUSE_CPUID,
			    "the CPU that it ran on is described otherwise than "
			    "the one here" },
	[EXPLAIN_START] = { DEC_CAUSE_START_STATE,
			    "it was never written since; either the start state "
			    "has not what the program had, or whoever wrote there "
			    "was not recorded" },
};

static struct err *explain_by_origin(struct explain *ex, const struct explain_suspect *s)
{
	char origin[200], bit[48];

	dec_explain_origin(ex, s, origin, sizeof(origin));
	switch (s->origin) {
	case EXPLAIN_UNMODELLED:
	case EXPLAIN_QUIET:
		return explain_unmodelled(ex, s, origin);
	case EXPLAIN_SHARED:
		return explain_shared(ex, s, origin);
	case EXPLAIN_MAPPED:
		return explain_mapped(ex, s, origin);
	case EXPLAIN_FAR:
		return explain_far(ex, s, origin);
	case EXPLAIN_CONSTANT:
		return explain_record(ex, origin);
	case EXPLAIN_START:
		if (!s->at.is_mem)
			return explain_record(ex, "where the kernel put the stack");
		break;
	case EXPLAIN_RESULT:
		if (dec_explain_is_address_call(dec_explain_event(ex, s)))
			return explain_record(ex, origin);
		break;
	}
	explain_flip(ex, bit, sizeof(bit));
	return explain_say(ex, plain_inputs[s->origin].cause, "%s %s: %s%s%s",
			   explain_subject(ex, s), origin, plain_inputs[s->origin].why,
			   *bit && s->cost > EXPLAIN_FAR ? "; but it is far away" : "",
			   s->cost > EXPLAIN_FAR ? bit : "");
}

/* What the recorded call wrote has no place: is the place credible? */
static struct err *explain_no_memory(struct explain *ex)
{
	const struct history_event *e = dec_explain_expected(ex);
	bool is_pointed_to = !e || !e->writes.size;

	for (int i = 0; !is_pointed_to && i < 6; i++)
		is_pointed_to = e->args[i] >= 4096 &&
				e->writes.data[0].addr - e->args[i] < 1u << 20;
	if (!is_pointed_to)
		return explain_say(ex, DEC_CAUSE_RECORD,
				   "the recorded call is said to have written at %#lx, "
				   "where none of its arguments points: the recorded "
				   "event is wrong",
				   e->writes.data[0].addr);
	return explain_say(ex, DEC_CAUSE_MAPPINGS,
			   "the recorded call needs memory that is not mapped in the "
			   "replay: the call that mapped it was not recorded, or the "
			   "replay did something else for it");
}

/* How near the replay came to where something should have happened. */
static const char *explain_passes(const struct explain *ex, char text[256])
{
	const struct dec_explain_near *n = &ex->x->near;

	if (!n->n_passed)
		snprintf(text, 256, "which the replay did not pass");
	else if (!n->n_differing)
		snprintf(
			text, 256,
			"which the replay passed %lu time%s, at instruction %lu even with "
			"the recorded registers, but not with the recorded stack",
			n->n_passed, n->n_passed == 1 ? "" : "s", n->position);
	else
		snprintf(
			text, 256,
			"which the replay passed %lu time%s; at instruction %lu %u register%s "
			"differed%s: %s, recorded %#lx, replayed %#lx",
			n->n_passed, n->n_passed == 1 ? "" : "s", n->position,
			n->n_differing, n->n_differing == 1 ? "" : "s",
			n->n_passed == 1 ? "" : ", the fewest", dec_reg_gpr_name(n->reg),
			n->recorded, n->replayed);
	return text;
}

/* Did something happen at another instant than in the recording? @return whether so; then
 * it was said. */
static bool explain_order(struct explain *ex, const struct history_event *e,
			  struct err **err)
{
	const struct dec_divergence *d = &ex->x->at;
	char near[256];

	if (e->tid != d->tid)
		*err = explain_say(
			ex, DEC_CAUSE_THREAD_SWITCH,
			"the capture goes on with what thread %u did, while "
			"thread %u runs in the replay: the switch between them "
			"is not in the capture, or fell elsewhere",
			e->tid, d->tid);
	else if (e->kind == CAP_EV_SWITCH)
		*err = explain_say(ex, DEC_CAUSE_THREAD_SWITCH,
				   "a switch of threads was recorded at rip %#lx, %s",
				   d->event_rip, explain_passes(ex, near));
	else if (e->kind == CAP_EV_SIGNAL && d->parting == DEC_PARTED_EVENT)
		*err = explain_say(ex, DEC_CAUSE_SIGNAL_PLACE,
				   "signal %ld was recorded at rip %#lx, %s", e->nr,
				   d->event_rip, explain_passes(ex, near));
	else if (d->n_uncertain)
		*err = explain_say(
			ex, DEC_CAUSE_THREAD_SWITCH,
			"the place of %lu thread switch%s before it is not "
			"certain: another thread may have run earlier or later "
			"than in the recording",
			d->n_uncertain, d->n_uncertain == 1 ? "" : "es");
	else
		return false;
	return true;
}

struct err *dec_explain_cause(struct explain *ex, const struct explain_suspect *root)
{
	const struct dec_divergence *d = &ex->x->at;
	const struct history_event *e = dec_explain_expected(ex);
	bool is_suspect = root && dec_explain_penalty(ex, root) < 0;
	struct err *err;

	if (d->parting == DEC_PARTED_MACHINE)
		return explain_say(ex, DEC_CAUSE_INSTRUCTION,
				   "the machine cannot execute the instruction there");
	if (d->parting == DEC_PARTED_MEMORY)
		return explain_no_memory(ex);
	if (!root)
		return explain_say(ex, DEC_CAUSE_UNKNOWN,
				   "nothing between the start and the divergence could "
				   "have made the difference");
	err = explain_input(ex, root);
	if (!err)
		err = dec_explain_others(ex, root);
	if (err)
		return err;
	if (!is_suspect && e && explain_order(ex, e, &err))
		return err;
	return explain_by_origin(ex, root);
}
