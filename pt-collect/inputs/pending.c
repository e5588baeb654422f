// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Events of ptrace stops take their place among those of the ring. In the log, each event
 * belongs to the thread that is current there, as the switches say. What the ring brings is
 * in that order by itself. But while a thread stands in a ptrace stop the others run, so
 * its event (a signal, rdtsc, its end) is put off until the ring shows it going on:
 *
 *   - a system call of it: it has;
 *   - a switch from it: it has when it lost the CPU after we let it go, or when its
 *     registers are others than at the stop. Otherwise this is the stop itself, or a while
 *     before;
 *   - the switch from it which says that its end is told in memory. This one tells of the
 *     end even where no stop does: who is killed in its last stop leaves it unseen.
 *
 * That the stop's own switch is in the ring before its event is put off is for the caller
 * of ptc_process_stop() to see to.
 */
#define LOG_ROOM "record"
#include <string.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/inputs/others.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/log/writes.h"

static void log_one(struct ptc_process *p, struct ptc_pending *e)
{
	ptc_writes_give(&e->writes, &e->event);
	ptc_log_event(&p->log, &e->event);
	ptc_writes_deinit(&e->writes);
}

void ptc_pending_log(struct ptc_process *p, struct ptc_thread *t,
		     const struct cap_event *ev, struct ptc_writes *writes)
{
	struct ptc_pending one = { .event = *ev, .resumed_ns = UINT64_MAX };
	struct ptc_pending *slot;

	// Others ran since it stopped: see forget_signatures().
	if (p->has_threads && p->running != t->tid)
		one.event.signature = (struct cap_signature){};
	if (writes) {
		one.writes = *writes;
		*writes = (struct ptc_writes){};
	}
	slot = p->has_threads && p->log.is_recording ? vec_push(&t->pending) : NULL;
	if (slot)
		*slot = one;
	else
		log_one(p, &one);
}

void ptc_pending_settle(struct ptc_process *p, struct ptc_thread *t, bool is_interrupted)
{
	if (ptc_assemble_settle(t, is_interrupted))
		ptc_pending_log(p, t, &t->held, &t->held_writes);
}

void ptc_pending_resume(struct ptc_thread *t)
{
	uint64_t now_ns = t->pending.size ? ptc_now_ns() : 0;

	for (size_t i = 0; i < t->pending.size; i++)
		if (t->pending.data[i].resumed_ns == UINT64_MAX)
			t->pending.data[i].resumed_ns = now_ns;
}

/** Log the first @p n. */
static void flush(struct ptc_process *p, struct ptc_thread *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		log_one(p, &t->pending.data[i]);
	t->pending.size -= n;
	memmove(t->pending.data, t->pending.data + n,
		t->pending.size * sizeof(*t->pending.data));
}

void ptc_pending_flush(struct ptc_process *p, struct ptc_thread *t)
{
	if (t->pending.size)
		flush(p, t, t->pending.size);
}

void ptc_pending_deinit(struct ptc_thread *t)
{
	for (size_t i = 0; i < t->pending.size; i++)
		ptc_writes_deinit(&t->pending.data[i].writes);
	vec_deinit(&t->pending);
}

/** Had the thread gone on from @p e when it lost the CPU at @p s? */
static bool has_gone_on(const struct ptc_pending *e, const struct rec_switch *s)
{
	const struct cap_regs *at = &e->event.regs;

	// On its way out it executes nothing: its end is when the kernel says so in memory.
	if (e->event.kind == CAP_EV_EXIT)
		return false;
	if (s->out_ns > e->resumed_ns || at->rip != s->regs.rip)
		return true;
	// A call that a signal interrupted: rax was its number, and is its result.
	return e->event.kind != CAP_EV_SYSCALL &&
	       memcmp(at->gpr, s->regs.gpr, sizeof(at->gpr));
}

static void flush_before(struct ptc_process *p, struct ptc_thread *t,
			 const struct rec_switch *s)
{
	size_t n = 0;

	while (n < t->pending.size && has_gone_on(&t->pending.data[n], s))
		n++;
	if (n)
		flush(p, t, n);
}

/** The call that @p t is in for the log, although it has returned: its event waits. */
static const struct cap_event *
unfinished_call(struct ptc_process *p, struct ptc_thread *t, const struct rec_switch *s)
{
	if (t->pending.size && t->pending.data[0].event.kind == CAP_EV_SYSCALL)
		return &t->pending.data[0].event;
	if (t->has_held &&
	    (s->flags & REC_SWITCH_IN_CALL || s->regs.rip != t->held.regs.rip))
		ptc_assemble_restarted(p, t);
	return t->has_held ? &t->held : NULL;
}

/* Was @p t, which @p leaves tells to be left, only looked at by the kernel? Then it is in the call in which it was
 * left before, and nothing has been logged since it was let in. */
static bool is_still_in_call(const struct ptc_process *p, const struct ptc_thread *t,
			     const struct cap_event *leaves)
{
	return leaves->switch_flags & CAP_SWITCH_IN_CALL &&
	       t->left_at == leaves->regs.rip && p->log.n_events == p->let_in_at;
}

void ptc_pending_switch(struct ptc_process *p, struct ptc_thread *t,
			const struct rec_switch *s)
{
	struct cap_event ev = { .kind = CAP_EV_SWITCH,
				.tid = s->head.tid,
				.at_ns = s->head.at_ns,
				.next_tid = s->next_tid,
				.switch_flags = s->flags };
	const struct cap_event *call;
	struct cap_regs end;

	_Static_assert(sizeof(ev.signature) == sizeof(s->signature), "one layout");
	memcpy(&end, &s->regs, sizeof(end));
	if (s->flags & REC_SWITCH_TID_CLEARED)
		ptc_threads_gone(p, t, &end, s->status);
	else
		flush_before(p, t, s);
	call = unfinished_call(p, t, s);
	if (call)
		ev.switch_flags |= CAP_SWITCH_IN_CALL;
	memcpy(&ev.regs, call ? (const void *)&call->regs : &s->regs, sizeof(ev.regs));
	memcpy(&ev.signature, &s->signature, sizeof(ev.signature));
	// What a vfork child wrote is there for whoever runs before its parent.
	ptc_vfork_settle(p, t, true);
	if (s->word_at)
		ptc_writes_add(&t->from_child, s->word_at, &s->word, sizeof(s->word));
	ptc_others_give(p, &t->from_child);
	ptc_writes_give(&t->from_child, &ev);
	// Others ran, and the turn says where it stands.
	for (size_t i = 0; s->flags & REC_SWITCH_TURN && i < t->pending.size; i++)
		t->pending.data[i].event.signature = (struct cap_signature){};
	p->running = s->next_tid;
	p->n_ran += !t->vfork_memory && !t->child_waits && !is_still_in_call(p, t, &ev);
	t->left_at = ev.switch_flags & CAP_SWITCH_IN_CALL ? ev.regs.rip : 0;
	ptc_log_event(&p->log, &ev);
	p->let_in_at = p->log.n_events;
	ptc_writes_clear(&t->from_child);
	ptc_threads_left(p, t);
}
