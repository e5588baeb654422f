// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From ring records to events. A thread's chunks gather until its REC_SYSCALL comes.
 *
 * Restarted calls. A call that a signal cut short ends, for the tracepoint, in one of the
 * kernel's private ERESTART codes; what the program sees is decided afterwards:
 *   - a handler runs: the registers it was interrupted with (rax = the code) become the
 *     frame it may later return to, with EINTR or at the instruction again;
 *   - no handler runs: rip goes back by two and rax to the number, as if the call had not
 *     been made.
 * So such an event is held until the thread's next step tells. In the second case it is
 * logged with `after`: the registers with which it goes on. So is one that ended with EINTR and
 * may be made one of those (cut.c).
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ptrace.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/inputs/cut.h"
#include "pt-collect/probes/chance.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/inputs/names.h"
#include "pt-collect/inputs/others.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/probes/unprobed.h"
#include "pt-collect/log/writes.h"
#include "pt-collect/tracee/proc.h"

#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514

_Static_assert(sizeof(struct rec_regs) == sizeof(struct cap_regs), "one layout");

bool ptc_is_restart(int64_t ret)
{
	return ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
	       ret == -ERESTART_RESTARTBLOCK;
}

static bool add_inline(struct ptc_thread *t, const struct rec_syscall *e)
{
	const uint8_t *p = (const uint8_t *)(e + 1), *end = p + e->inline_bytes;

	while (p < end) {
		const struct rec_part *part = (const struct rec_part *)p;

		if (!ptc_writes_add(&t->now, part->addr, part + 1, part->size))
			return false;
		p += sizeof(*part) + ((part->size + 7) & ~7ull);
	}
	return true;
}

/** Keep @p ev back; its memory moves with it. */
static void hold(struct ptc_thread *t, const struct cap_event *ev)
{
	struct ptc_writes empty = t->held_writes;

	t->held_writes = t->now;
	t->now = empty;
	t->held = *ev;
	t->held.text = NULL; // borrowed
	t->has_held = true;
}

bool ptc_assemble_settle(struct ptc_thread *t, bool is_interrupted)
{
	struct cap_event *ev = &t->held;

	if (!t->has_held)
		return false;
	t->has_held = false;
	if (t->cut.is_again)
		ev->ret = -ERESTARTNOHAND;
	t->cut.is_again = false;
	if (is_interrupted)
		t->cut.until_ns = 0;
	if (!is_interrupted && ptc_is_restart(ev->ret)) {
		ev->after = ev->regs;
		ev->after.rip -= 2;
		if (ev->ret == -ERESTART_RESTARTBLOCK)
			ev->after.gpr[CAP_RAX] = __NR_restart_syscall;
		ev->has_after = true;
	}
	return true;
}

void ptc_assemble_restarted(struct ptc_process *p, struct ptc_thread *t)
{
	if (!ptc_assemble_settle(t, false))
		return;
	ptc_writes_give(&t->held_writes, &t->held);
	// It only makes its call again: that is not to have run (is_still_in_call()).
	if (t->held.has_after)
		p->let_in_at += p->let_in_at == p->log.n_events;
	ptc_log_event(&p->log, &t->held);
	ptc_writes_clear(&t->held_writes);
}

/** What a vfork child wrote while it borrowed our memory belongs to the call that made
 * it. */
static void add_child_writes(const struct ptc_process *p, struct ptc_thread *t,
			     const struct rec_syscall *e)
{
	if (e->nr != __NR_vfork && e->nr != __NR_clone && e->nr != __NR_clone3)
		return;
	ptc_vfork_settle(p, t, false);
	ptc_writes_move(&t->now, &t->from_child);
}

/** rt_sigreturn leaves orig_ax = -1: entry registers are gone, those at its end are the
 * restored ones. So does syscall(-1), but that is not made inside a handler. */
static void fill_sigreturn(struct ptc_thread *t, const struct rec_syscall *e,
			   struct cap_event *ev)
{
	if (e->nr != -1 || !t->n_frames)
		return;
	t->n_frames--;
	ev->after = ev->regs;
	ev->after.gpr[CAP_RAX] = e->ret;
	ev->has_after = true;
	ev->regs.gpr[CAP_RAX] = __NR_rt_sigreturn;
	ev->flags = 0;
}

/** The process that @p e wants to trace, where it can be left to it; 0: it cannot. The program
 * itself cannot. One of several threads that all are ours cannot give itself away. Nobody traces
 * himself. */
static pid_t wanted(struct ptc_process *p, const struct rec_syscall *e)
{
	bool wants_itself = e->regs.gpr[CAP_RDI] == PTRACE_TRACEME;
	pid_t tid = wants_itself ? p->tracee.pid : (pid_t)e->regs.gpr[CAP_RSI];
	const struct ptc_process *w = ptc_process_of(p->all, tid);

	// Just forked, and not announced yet.
	if (!w)
		return ptc_status_number(tid, tid, "TracerPid", 10) ==
				       (uint64_t)getpid() ?
			       tid :
			       0;
	if (!w->index || (w == p) != wants_itself ||
	    (wants_itself && p->threads.size != 1))
		return 0;
	return w->tracee.pid;
}

/** It was refused to trace one that we trace. @return whether it will not be: the call is made
 * again, and counts then. Otherwise a followed debugger waits for its program's stops for ever. */
static bool wants_trace(struct ptc_process *p, struct ptc_thread *t,
			const struct rec_syscall *e)
{
	if (!t || !(e->flags & REC_THROUGH_FILE) || e->nr != __NR_ptrace ||
	    !p->all->follows)
		return false;
	t->wants = wanted(p, e);
	if (t->wants) {
		t->again_at = e->regs.rip;
		return true;
	}
	if (p->all->has_told_tracer)
		return false;
	p->all->has_told_tracer = true;
	log_warn(
		"process %d (%s) wants ptrace, and is refused: a process has one tracer, "
		"and with -f that is record (without -f, what PROGRAM starts is free)",
		p->tracee.pid, p->tracee.exe ?: "?");
	return false;
}

/** Call @p ev is made again: for the program, as one that a signal cut short. (Who wants to be traced
 * himself has no history behind it.) */
static void log_again(struct ptc_process *p, const struct rec_syscall *e,
		      struct cap_event *ev)
{
	if (e->regs.gpr[CAP_RDI] == PTRACE_TRACEME)
		return;
	ev->ret = -ERESTARTNOINTR;
	ev->after = ev->regs;
	ev->after.rip -= 2;
	ev->has_after = true;
	ptc_log_event(&p->log, ev);
}

/** Databases use it when it is there; most do without. (Of io_uring many programs ask that never
 * use it: that is not told.) */
static void tell_aio(struct ptc_process *p, const struct rec_syscall *e)
{
	if (e->nr != __NR_io_setup || e->ret != -ENOSYS || p->all->has_told_aio)
		return;
	p->all->has_told_aio = true;
	log_warn(
		"process %d (%s) asks for native asynchronous I/O (io_setup), which is not "
		"recorded: it is told that the kernel has none",
		p->tracee.pid, p->tracee.exe ?: "?");
}

/** What it read from a file that the user wants left out becomes zeros. It is stopping: its
 * descriptors are as they were in the call. */
static void leave_out_read(struct ptc_process *p, struct ptc_thread *t,
			   const struct rec_syscall *e)
{
	_cleanup_free_ char *path = NULL;
	char link[32];

	if (!p->left_out.wanted->mappings.size || e->ret <= 0 ||
	    (e->nr != __NR_read && e->nr != __NR_pread64 && e->nr != __NR_readv &&
	     e->nr != __NR_preadv && e->nr != __NR_preadv2))
		return;
	snprintf(link, sizeof(link), "fd/%d", (int)e->regs.gpr[CAP_RDI]);
	path = ptc_proc_link(p->tracee.pid, link);
	if (path && ptc_private_omits_read(&p->left_out, path, p->tracee.pid, &p->log))
		memset(t->now.data.data, 0, t->now.data.size);
}

/** What to call a call that the table does not have. @p name has room for it. */
static const char *name_unlisted(const struct rec_syscall *e, char name[64])
{
	static const uint8_t args[] = { CAP_RDI, CAP_RSI, CAP_RDX };
	const struct rec_desc *d =
		e->nr >= 0 && e->nr < REC_SYSCALLS ? &ptc_table.calls[e->nr] : NULL;

	if (e->flags & REC_32_BIT) {
		snprintf(name, 64, "call %lld by int 0x80, which cannot be replayed,",
			 (long long)e->nr);
		return name;
	}
	if (!d || d->state != DESC_BY_COMMAND)
		return ptc_name_or_number(e->nr);
	snprintf(name, 64, "%s with command 0x%x", ptc_name_or_number(e->nr),
		 (unsigned)e->regs.gpr[args[d->command]]);
	return name;
}

/** Nobody knew the call, or the command. */
static bool has_done_nothing(const struct rec_syscall *e)
{
	return e->ret == -ENOSYS || (e->nr == __NR_ioctl && e->ret == -ENOTTY);
}

/** A wait that a signal ended wrote nothing. The word that was looked at when it returned is told of when the thread goes
 * on, and until then (it stops for us at each signal) others may have changed it. */
static bool is_wait_cut_short(const struct rec_syscall *e)
{
	int op = e->regs.gpr[CAP_RSI] & FUTEX_CMD_MASK;

	return e->nr == __NR_futex && ptc_is_restart(e->ret) &&
	       (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET);
}

static void take_syscall(struct ptc_process *p, struct ptc_thread *t,
			 const struct rec_syscall *e)
{
	struct cap_event ev = { .kind = CAP_EV_SYSCALL,
				.tid = e->head.tid,
				.at_ns = e->head.at_ns,
				.ret = e->ret };
	char name[64];
	bool is_whole;

	memcpy(&ev.regs, &e->regs, sizeof(ev.regs));
	// The kernel side does not ask the clock for each.
	if (ev.at_ns < p->log.last_ns)
		ev.at_ns = p->log.last_ns;
	if (wants_trace(p, t, e)) {
		log_again(p, e, &ev);
		return;
	}
	if (is_wait_cut_short(e)) {
		is_whole = true;
	} else if (e->flags & REC_REREAD) {
		ptc_writes_clear(&t->now);
		is_whole = ptc_outputs_read(&p->tracee, &t->now, e);
	} else {
		is_whole = add_inline(t, e);
	}
	leave_out_read(p, t, e);
	if (!is_whole)
		ev.flags |= CAP_SYS_PARTIAL;
	if (e->flags & REC_UNLISTED && !has_done_nothing(e))
		ev.flags |= CAP_SYS_UNLISTED;
	if (ev.flags & CAP_SYS_UNLISTED)
		ev.text = name_unlisted(e, name);
	if (e->nr == __NR_process_vm_writev && e->ret > 0 && ptc_others_called(p, e))
		ptc_writes_clear(&t->now);
	tell_aio(p, e);
	fill_sigreturn(t, e, &ev);
	add_child_writes(p, t, e);
	if (e->flags & REC_MAPPED_FILE)
		ptc_files_mapped(p, t, e, &ev);
	ptc_unseen_mask(t, e);
	t->unseen.has_made_code |= e->flags & REC_MADE_CODE;
	if (e->flags & REC_THROUGH_FILE && !ptc_unseen_call(p, t, e, &ev))
		ptc_through_file(p, t, e, &ev);
	ptc_others_give(p, &t->now);
	if (e->flags & REC_SEE_SHARED)
		ptc_shared_see(p, &t->now);
	t->owed_cont |= e->flags & (REC_DROPS_CONT | REC_DROPS_SHARED_CONT);
	if (e->flags & REC_CHOSE_CPUS)
		ptc_threads_chose_cpus(p, t->tid, e->regs.gpr[CAP_RDI]);
	ptc_cut_ended(t, e);
	if (ptc_is_restart(e->ret) || ptc_cut_is(e)) {
		hold(t, &ev);
	} else {
		ptc_writes_give(&t->now, &ev);
		ptc_log_event(&p->log, &ev);
	}
	ptc_writes_clear(&t->now);
	if (t->through.start < t->through.end)
		ptc_joint_written(p, t, e);
	if (p->all->follows && (e->flags & REC_MAPPED_FILE ||
				(e->flags & REC_THROUGH_FILE && e->nr == __NR_mremap)))
		ptc_joint_mapped(p, e);
}

/** It has become another program, and was killed before it could tell us so (pt-collect/process.c
 * takes nothing more of what it was, once told): its history ends before that. */
static bool has_executed(struct ptc_process *p, const struct rec_syscall *e)
{
	if (e->ret || (e->nr != __NR_execve && e->nr != __NR_execveat))
		return false;
	p->log.is_recording = false;
	return true;
}

/** Once of a process: such a program calls it again and again. */
static void tell_vsyscall(struct ptc_process *p, const struct ptc_thread *t)
{
	if (!p->has_told_vsyscall)
		ptc_log_gap(&p->log, t->tid,
			    "a call into the vsyscall page, which the kernel answers "
			    "unseen: that cannot be replayed");
	p->has_told_vsyscall = true;
}

static void take_chunk(struct ptc_thread *t, const struct rec_chunk *c)
{
	ptc_writes_add(&t->now, c->addr, c + 1, c->size);
}

static void take_store(struct ptc_process *p, struct ptc_thread *t,
		       const struct rec_store *s)
{
	struct cap_event ev;

	t->hit.rip = s->rip;
	t->hit.sp = s->gpr[CAP_RSP];
	if (ptc_stores_event(&p->probes, &t->now, s, &ev))
		ptc_log_event(&p->log, &ev);
	ptc_writes_clear(&t->now);
}

static void take_heap(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_heap *h)
{
	struct cap_event ev = { .kind = CAP_EV_HEAP,
				.tid = h->head.tid,
				.at_ns = h->head.at_ns,
				.heap_fn = h->fn };

	memcpy(ev.heap_args, h->args, sizeof(ev.heap_args));
	t->hit.rip = h->rip;
	t->hit.sp = h->sp;
	ptc_log_event(&p->log, &ev);
}

static void take_chance(struct ptc_process *p, struct ptc_thread *t,
			const struct rec_chance *e)
{
	t->hit.rip = e->rip;
	t->hit.sp = e->sp;
	if (e->insn >= REC_CHANCE_BEHIND_TSC)
		ptc_chance_behind(&p->probes, &t->chance, e);
	else
		ptc_chance_begun(&t->chance, e);
}

/** A thread that has just hit a breakpoint of ours stands one byte behind where it is in the
 * program. So does one that has executed a push or pop of one byte there, but that one has
 * moved rsp since. (Behind a nop it makes no difference.) */
static void leave_breakpoint(struct ptc_process *p, const struct ptc_thread *t,
			     struct rec_switch *s)
{
	uint64_t at = s->regs.rip - 1, moved = s->regs.gpr[CAP_RSP] - t->hit.sp;
	bool has_run = t->hit.rip == at && (moved == 8 || moved == -8ull);

	if (s->flags & REC_SWITCH_BEHIND_INT3 && !has_run &&
	    ptc_is_probed(&p->tracee, at))
		s->regs.rip = at;
	s->flags &= ~REC_SWITCH_BEHIND_INT3;
}

/** Until a call is made again the kernel knows its thread as behind it. */
static void leave_again(struct ptc_thread *t, struct rec_switch *s)
{
	if (!t->again_at || s->regs.rip != t->again_at || s->flags & REC_SWITCH_IN_CALL) {
		t->again_at = 0;
		return;
	}
	s->regs.rip -= 2;
	s->regs.gpr[CAP_RAX] = __NR_ptrace;
}

/** Killed on its way into a handler, of which the log does not know. */
static void leave_handler(const struct ptc_thread *t, struct rec_switch *s)
{
	if (!t->is_killed)
		return;
	memcpy(&s->regs, &t->killed_at, sizeof(s->regs));
	s->signature =
		(struct rec_signature){ CAP_SIGNATURE_SEED, CAP_SIGNATURE_SEED, 0, 0 };
}

/** Of a copy: the ring is read-only. */
static void take_switch(struct ptc_process *p, struct ptc_thread *t,
			const struct rec_switch *rec)
{
	struct rec_switch s = *rec;

	ptc_unseen_is_ours(p, t, &s.head);
	leave_breakpoint(p, t, &s);
	leave_again(t, &s);
	leave_handler(t, &s);
	ptc_chance_switched(&p->probes, &t->chance, &s);
	ptc_pending_switch(p, t, &s);
}

void ptc_assemble(struct ptc_process *p, void *rec)
{
	const struct rec_head *head = rec;
	struct ptc_thread *t = p->log.is_recording ? ptc_thread_find(p, head->tid) : NULL;

	if (p->awaits_exec && head->kind == REC_SYSCALL)
		wants_trace(p, ptc_thread_find(p, head->tid), rec);
	if (!t)
		return;
	if (head->kind == REC_SWITCH) {
		take_switch(p, t, rec);
		return;
	}
	if (ptc_unseen_is_ours(p, t, rec))
		return;
	t->again_at = 0;
	// It does something else: what came before is over.
	ptc_pending_flush(p, t);
	ptc_assemble_restarted(p, t);
	switch (head->kind) {
	case REC_SYSCALL:
		if (!has_executed(p, rec))
			take_syscall(p, t, rec);
		break;
	case REC_CHUNK:
		take_chunk(t, rec);
		break;
	case REC_HEAP:
		take_heap(p, t, rec);
		break;
	case REC_STORE:
		take_store(p, t, rec);
		break;
	case REC_VSYSCALL:
		tell_vsyscall(p, t);
		break;
	case REC_CHANCE:
		take_chance(p, t, rec);
		break;
	}
}
