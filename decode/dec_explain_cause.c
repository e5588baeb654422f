// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * From the slice to one sentence. Each input that the differing value depends on is a
 * suspect; how likely it is follows from how far away it is (the cost of its node) and
 * from what it is: what nobody recorded can have changed, what was recorded hardly.
 */

#include "decode/dec_explain_int.h"

#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include <Zydis/Zydis.h>

#define EXPLAIN_OTHERS 3

static const struct {
	const char *name, *advice;
} causes[DEC_CAUSES] = {
	[DEC_CAUSE_UNKNOWN] = { "unknown",
				"report it with the capture: this should have been "
				"explained" },
	[DEC_CAUSE_UNMODELLED_CALL] = { "unmodelled-call",
					"add what the call writes to "
					"pt-collect/syscalls.def and record again, or keep "
					"the program from making it" },
	[DEC_CAUSE_MISSING_WRITE] = { "missing-write",
				      "check what pt-collect/syscalls.def says that the "
				      "call writes, and record again" },
	[DEC_CAUSE_SHARED_MEMORY] = { "shared-memory",
				      "record with the other process quiet or absent, or "
				      "make the program share through system calls" },
	[DEC_CAUSE_CHILD_MEMORY] = { "child-memory",
				     "record again; if it stays, make the program use "
				     "fork or posix_spawn instead of vfork" },
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
	[DEC_CAUSE_SIGRETURN] = { "sigreturn", "record again" },
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

/* ---- who is the likeliest? -------------------------------------------------------------- */

static const struct history_event *explain_event(const struct explain *ex,
						 const struct slice_node *n)
{
	return n->event == SLICE_NONE || n->origin == SLICE_SHARED ?
		       NULL :
		       &ex->history.events.data[n->event];
}

/* Addresses that the kernel chose: recorded, and followed ever since. */
static bool explain_is_address_call(const struct history_event *e)
{
	return e && (e->nr == SYS_mmap || e->nr == SYS_brk || e->nr == SYS_mremap ||
		     e->nr == SYS_shmat);
}

/* Between a constant of the code and the call that it was copied to nothing branched: no
 * other input could have made it another one. */
static bool explain_is_certain(const struct explain *ex, const struct slice_node *n)
{
	uint32_t steps = 0;

	if (ex->x->at.parting != DEC_PARTED_REGISTER || n->origin != SLICE_CONSTANT ||
	    n->position < ex->slice.block)
		return false;
	for (uint32_t i = n->parent; i != SLICE_NONE; i = ex->slice.nodes.data[i].parent)
		steps++;
	return n->cost == steps; // each a plain copy
}

static int explain_penalty(const struct explain *ex, const struct slice_node *n)
{
	const struct history_event *e = explain_event(ex, n);

	switch (n->origin) {
	case SLICE_UNMODELLED:
		return -500;
	case SLICE_SHARED:
		return ex->history.shared.data[n->event].is_risky ? -400 : 300;
	case SLICE_CHILD:
		return -200;
	case SLICE_WRITTEN:
	case SLICE_TSC:
		return 0;
	case SLICE_RESULT:
		return explain_is_address_call(e) ? 150 : 10;
	case SLICE_CPUID:
		return 5;
	case SLICE_FRAME:
	case SLICE_SIGRETURN:
		return 10;
	case SLICE_QUIET:
		return 20;
	case SLICE_MAPPED:
		return e && e->file ? 150 : 120;
	case SLICE_FAR:
		return 100;
	case SLICE_START:
		return 150;
	default:
		return explain_is_certain(ex, n) ? -1000 : 400;
	}
}

static bool explain_has_branch(const struct explain *ex, uint32_t node)
{
	for (; node != SLICE_NONE; node = ex->slice.nodes.data[node].parent) {
		if (ex->slice.nodes.data[node].edge == SLICE_BRANCH)
			return true;
	}
	return false;
}

/* A pointer seldom differs because the program went another way at the same call: for
 * those only suspects count that lead there without a branch, and what nobody recorded. */
static bool explain_is_eligible(const struct explain *ex, uint32_t node, int penalty)
{
	return ex->x->at.parting != DEC_PARTED_REGISTER || !ex->is_pointer ||
	       penalty < 0 || !explain_has_branch(ex, node);
}

uint32_t explain_root(const struct explain *ex)
{
	uint32_t best = SLICE_NONE;
	int64_t best_score = INT64_MAX;

	for (uint32_t i = 0; i < ex->slice.nodes.size; i++) {
		const struct slice_node *n = &ex->slice.nodes.data[i];
		int penalty = explain_penalty(ex, n);

		if (n->origin == SLICE_INSN || (int64_t)n->cost + penalty >= best_score ||
		    !explain_is_eligible(ex, i, penalty))
			continue;
		best = i;
		best_score = (int64_t)n->cost + penalty;
	}
	return best;
}

bool explain_has_suspect(const struct explain *ex)
{
	uint32_t root = explain_root(ex);
	const struct slice_node *n;

	if (root == SLICE_NONE)
		return false;
	n = &ex->slice.nodes.data[root];
	return explain_penalty(ex, n) < 0 ||
	       (explain_penalty(ex, n) <= 20 && n->cost < 200);
}

/* ---- in words -------------------------------------------------------------------------------- */

static void explain_call_text(const struct explain *ex, const struct history_event *e,
			      char *text, size_t size)
{
	_cleanup_free_ char *name = history_call_name(e->nr);
	int n = snprintf(text, size, "%s(", name ? name : "?");

	(void)ex;
	for (int i = 0; i < history_call_args(e->nr) && n < (int)size; i++)
		n += snprintf(text + n, size - n, "%s%#lx", i ? ", " : "", e->args[i]);
	if (n < (int)size)
		n += snprintf(text + n, size - n, ") = %#lx", e->ret);
	if (n < (int)size && e->has_position)
		snprintf(text + n, size - n, " at instruction %lu", e->position);
}

void explain_origin(const struct explain *ex, uint32_t node, char *text, size_t size)
{
	const struct slice_node *n = &ex->slice.nodes.data[node];
	const struct history_event *e = explain_event(ex, n);
	char call[160] = "a system call", where[64] = "a register";

	if (e && e->kind == CAP_EV_SYSCALL)
		explain_call_text(ex, e, call, sizeof(call));
	if (n->place.is_mem)
		snprintf(where, sizeof(where), "%u byte%s at %#lx", n->place.size,
			 n->place.size == 1 ? "" : "s", n->place.addr);
	switch (n->origin) {
	case SLICE_RESULT:
		snprintf(text, size, "what %s returned", call);
		return;
	case SLICE_WRITTEN:
		snprintf(text, size, "%s, written by %s", where, call);
		return;
	case SLICE_CHILD:
		snprintf(text, size, "%s, written by the child of %s", where, call);
		return;
	case SLICE_UNMODELLED:
	case SLICE_QUIET:
		snprintf(text, size, "%s, which %s may have written", where, call);
		return;
	case SLICE_MAPPED:
		snprintf(text, size, "%s, as mapped by %s", where, call);
		return;
	case SLICE_SHARED:
		snprintf(text, size, "%s, in memory shared with others", where);
		return;
	case SLICE_FRAME:
		snprintf(text, size, "%s, in the frame of signal %ld", where,
			 e ? (long)e->nr : 0);
		return;
	case SLICE_SIGRETURN:
		snprintf(text, size, "restored by rt_sigreturn");
		return;
	case SLICE_TSC:
		snprintf(text, size, "the time stamp counter");
		return;
	case SLICE_CPUID:
		snprintf(text, size, "the CPU's description (cpuid)");
		return;
	case SLICE_START:
		snprintf(text, size, "%s, in the start state", where);
		return;
	case SLICE_FAR:
		snprintf(text, size, "%s, from before instruction %lu", where,
			 n->position);
		return;
	default:
		snprintf(text, size, "a constant of the code");
		return;
	}
}

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

static struct err *explain_input(struct explain *ex, const struct slice_node *n)
{
	const struct history_event *e = explain_event(ex, n);
	struct err *err = NULL;

	if (n->place.is_mem) {
		ex->x->input_addr = n->place.addr;
		ex->x->input_bytes = n->place.size;
	}
	if (e && e->kind == CAP_EV_SYSCALL)
		err = explain_call(ex, e, &ex->x->input);
	if (!err && e && n->place.is_mem &&
	    (n->origin == SLICE_WRITTEN || n->origin == SLICE_CHILD))
		err = explain_bytes(ex, e->seq);
	return err;
}

/* Other suspects, the likeliest first: of each event one, and not the one named. */
static struct err *explain_others(struct explain *ex, uint32_t root)
{
	int64_t above = INT64_MIN;
	VEC(uint64_t) seen = {};
	struct err *err = NULL;

	while (!err && ex->x->others.size < EXPLAIN_OTHERS) {
		uint32_t best = SLICE_NONE;
		int64_t best_score = INT64_MAX;
		char text[256];
		char **to;

		for (uint32_t i = 0; i < ex->slice.nodes.size; i++) {
			const struct slice_node *n = &ex->slice.nodes.data[i];
			int64_t score =
				((int64_t)n->cost + explain_penalty(ex, n)) << 32 | i;
			uint64_t key = (uint64_t)n->origin << 32 | n->event;
			bool is_seen = key == ((uint64_t)ex->slice.nodes.data[root].origin
						       << 32 |
					       ex->slice.nodes.data[root].event);

			for (size_t k = 0; k < seen.size; k++)
				is_seen |= seen.data[k] == key;
			if (n->origin == SLICE_INSN || n->origin == SLICE_CONSTANT ||
			    n->origin == SLICE_START || is_seen || score <= above ||
			    score >= best_score)
				continue;
			best = i;
			best_score = score;
		}
		if (best == SLICE_NONE)
			break;
		above = best_score;
		explain_origin(ex, best, text, sizeof(text));
		to = vec_push(&ex->x->others);
		if (!to || !(*to = strdup(text)) || !vec_push(&seen))
			err = &err_nomem;
		else
			seen.data[seen.size - 1] =
				(uint64_t)ex->slice.nodes.data[best].origin << 32 |
				ex->slice.nodes.data[best].event;
	}
	vec_deinit(&seen);
	return err;
}

/* ---- the sentence -------------------------------------------------------------------------------- */

static const char *explain_subject(const struct explain *ex, uint32_t root)
{
	if (ex->x->at.parting != DEC_PARTED_REGISTER)
		return "which way the program went depends on";
	return explain_has_branch(ex, root) ? "the value depends, through a branch, on" :
					      "the value comes from";
}

/* Nothing that could differ leads to the value. */
static struct err *explain_record(struct explain *ex, const char *origin)
{
	const struct dec_divergence *d = &ex->x->at;
	uint64_t flipped = d->recorded ^ d->replayed;
	char bit[48] = "";

	if (__builtin_popcountll(flipped) == 1)
		snprintf(bit, sizeof(bit), ", and the two differ in bit %d alone",
			 __builtin_ctzll(flipped));
	return explain_say(ex, DEC_CAUSE_RECORD,
			   "nothing that the program was given explains the difference: "
			   "the replayed value comes from %s%s; so the recorded event "
			   "itself is wrong, or the code that ran was not the one in the "
			   "capture, or this CPU computes something else",
			   origin, bit);
}

static struct err *explain_unmodelled(struct explain *ex, const struct slice_node *n,
				      uint32_t root, const char *origin)
{
	const struct history_event *e = explain_event(ex, n);

	if (n->origin == SLICE_QUIET)
		return explain_say(ex, DEC_CAUSE_MISSING_WRITE,
				   "%s %s: the call got a pointer there, and the "
				   "capture has nothing that it wrote",
				   explain_subject(ex, root), origin);
	return explain_say(ex, DEC_CAUSE_UNMODELLED_CALL, "%s %s: %s",
			   explain_subject(ex, root), origin,
			   e && e->flags & CAP_SYS_UNLISTED ?
				   "the call is not in the recorder's table, so what it "
				   "wrote is not in the capture" :
				   "the recorder could not read all that the call wrote");
}

static struct err *explain_shared(struct explain *ex, const struct slice_node *n,
				  uint32_t root, const char *origin)
{
	const struct history_shared *s = &ex->history.shared.data[n->event];

	ex->x->input_addr = s->addr;
	ex->x->input_bytes = s->size;
	return explain_say(ex, DEC_CAUSE_SHARED_MEMORY,
			   "%s %s (%#lx to %#lx, %s): what another process writes there "
			   "is not in the capture",
			   explain_subject(ex, root), origin, s->addr, s->addr + s->size,
			   s->is_anonymous ? "anonymous, and the program has children" :
					     "a shared mapping");
}

static struct err *explain_mapped(struct explain *ex, const struct slice_node *n,
				  uint32_t root, const char *origin)
{
	const struct history_event *e = explain_event(ex, n);

	if (e && !(e->args[3] & 0x20)) // MAP_ANONYMOUS
		return explain_say(ex, DEC_CAUSE_FILE_CONTENTS,
				   "%s %s: the file may have changed while it was "
				   "mapped",
				   explain_subject(ex, root), origin);
	return explain_say(ex, DEC_CAUSE_MISSING_WRITE,
			   "%s %s: in the replay that memory is as fresh as it was "
			   "mapped; if something was in it, whoever wrote it was not "
			   "recorded",
			   explain_subject(ex, root), origin);
}

/* The oldest value within reach came from earlier still. Who wrote there last? */
static struct err *explain_far(struct explain *ex, const struct slice_node *n,
			       uint32_t root, const char *origin)
{
	for (size_t i = n->place.is_mem ? ex->slice.event : 0; i--;) {
		const struct history_event *e = &ex->history.events.data[i];
		char call[160];

		if (history_writer_before(&ex->history, i + 1, n->place.addr) != i ||
		    e->kind != CAP_EV_SYSCALL)
			continue;
		explain_call_text(ex, e, call, sizeof(call));
		return explain_say(ex, DEC_CAUSE_INPUT_BYTES,
				   "%s %s; the last call recorded to have written there "
				   "is %s (the program itself may have written since)",
				   explain_subject(ex, root), origin, call);
	}
	return explain_say(ex, DEC_CAUSE_UNKNOWN, "%s %s: that is as far as was looked",
			   explain_subject(ex, root), origin);
}

static struct err *explain_by_origin(struct explain *ex, uint32_t root)
{
	static const struct {
		enum dec_cause cause;
		const char *why;
	} plain[] = {
		[SLICE_RESULT] = { DEC_CAUSE_CALL_RESULT,
				   "what the program got there is not what the capture "
				   "has" },
		[SLICE_WRITTEN] = { DEC_CAUSE_INPUT_BYTES,
				    "what the program got there is not what the capture "
				    "has" },
		[SLICE_CHILD] = { DEC_CAUSE_CHILD_MEMORY,
				  "what a vfork child writes is found by comparing pages "
				  "afterwards" },
		[SLICE_FRAME] = { DEC_CAUSE_SIGNAL_FRAME,
				  "what the kernel saved there is not what the capture "
				  "has" },
		[SLICE_SIGRETURN] = { DEC_CAUSE_SIGRETURN,
				      "the registers behind the handler are as recorded, "
				      "the FPU's are those of the frame" },
		[SLICE_TSC] = { DEC_CAUSE_TIME_STAMP,
				"the recorded time stamp is not the one the program "
				"got" },
		[SLICE_CPUID] = { DEC_CAUSE_CPUID,
				  "the CPU that it ran on is described otherwise than "
				  "the one here" },
		[SLICE_START] = { DEC_CAUSE_START_STATE,
				  "it was never written since; either the start state "
				  "has not what the program had, or whoever wrote there "
				  "was not recorded" },
	};
	const struct slice_node *n = &ex->slice.nodes.data[root];
	char origin[200];

	explain_origin(ex, root, origin, sizeof(origin));
	switch (n->origin) {
	case SLICE_UNMODELLED:
	case SLICE_QUIET:
		return explain_unmodelled(ex, n, root, origin);
	case SLICE_SHARED:
		return explain_shared(ex, n, root, origin);
	case SLICE_MAPPED:
		return explain_mapped(ex, n, root, origin);
	case SLICE_FAR:
		return explain_far(ex, n, root, origin);
	case SLICE_CONSTANT:
		return explain_record(ex, origin);
	case SLICE_START:
		if (!n->place.is_mem)
			return explain_record(ex, "where the kernel put the stack");
		break;
	case SLICE_RESULT:
		if (explain_is_address_call(explain_event(ex, n)))
			return explain_record(ex, origin);
		break;
	}
	return explain_say(ex, plain[n->origin].cause, "%s %s: %s",
			   explain_subject(ex, root), origin, plain[n->origin].why);
}

/* What the recorded call wrote has no place: is the place credible? */
static struct err *explain_no_memory(struct explain *ex)
{
	const struct history_event *e = ex->end < ex->history.events.size ?
						&ex->history.events.data[ex->end] :
						NULL;
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

struct err *explain_cause(struct explain *ex, uint32_t root)
{
	const struct dec_divergence *d = &ex->x->at;
	bool is_suspect = root != SLICE_NONE &&
			  explain_penalty(ex, &ex->slice.nodes.data[root]) < 0;
	struct err *err;

	if (d->parting == DEC_PARTED_MACHINE)
		return explain_say(ex, DEC_CAUSE_INSTRUCTION,
				   "the machine cannot execute the instruction there");
	if (d->parting == DEC_PARTED_MEMORY)
		return explain_no_memory(ex);
	if (root == SLICE_NONE)
		return explain_say(ex, DEC_CAUSE_UNKNOWN,
				   "nothing between the start and the divergence could "
				   "have made the difference");
	err = explain_input(ex, &ex->slice.nodes.data[root]);
	if (!err)
		err = explain_others(ex, root);
	if (err)
		return err;
	if (d->event == CAP_EV_SIGNAL && d->parting == DEC_PARTED_EVENT && !is_suspect)
		return explain_say(ex, DEC_CAUSE_SIGNAL_PLACE,
				   "signal %ld was recorded at rip %#lx, and the replay "
				   "never stood there with the recorded registers",
				   ex->history.events.data[ex->end].nr, d->event_rip);
	if (d->event == CAP_EV_SWITCH && d->parting == DEC_PARTED_EVENT && !is_suspect)
		return explain_say(ex, DEC_CAUSE_THREAD_SWITCH,
				   "a switch of threads was recorded at rip %#lx, and "
				   "the replay never stood there with the recorded "
				   "registers and stack",
				   d->event_rip);
	return explain_by_origin(ex, root);
}
