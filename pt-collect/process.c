// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One recorded process: its threads, its log, and its ptrace stops, each handed to whom
 * it concerns.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "pt-collect/session.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/start/attach.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/probes/chance.h"
#include "pt-collect/inputs/chaos.h"
#include "pt-collect/inputs/cut.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/flight/flight.h"
#include "pt-collect/pt/probes.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/start/start.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/inputs/trap.h"
#include "pt-collect/tracee/undo.h"

/** The SIGSTOP by which the kernel side asks for time. */
static bool is_our_stop(const siginfo_t *si)
{
	return si->si_signo == SIGSTOP && si->si_code == SI_KERNEL;
}

/** Our SIGSTOP has discarded a SIGCONT that was pending. (It discards stops in turn: not
 * before this thread stands in its own.) */
static void send_cont_again(struct ptc_process *p, struct ptc_thread *t)
{
	if (t->owed_cont & REC_DROPS_CONT)
		syscall(__NR_tgkill, p->tracee.pid, t->tid, SIGCONT);
	if (t->owed_cont & REC_DROPS_SHARED_CONT)
		kill(p->tracee.pid, SIGCONT);
	t->owed_cont = 0;
}

/** @return whether it is not ours any more. */
static bool on_our_stop(struct ptc_session *s, struct ptc_process *p, pid_t tid)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);

	if (!t)
		return false;
	send_cont_again(p, t);
	ptc_trap_code_made(p, t);
	ptc_unseen_our_stop(p, t);
	return ptc_yield(&s->family, p, t);
}

/** The first process of a name space does not die of a fault as long as it is traced: it would
 * execute the instruction for ever. */
static bool is_spared(const struct ptc_process *p, const siginfo_t *si)
{
	return p->index && p->threads.size == 1 && si->si_code > 0 &&
	       ptc_is_first(p->tracee.pid);
}

/** Its history is over. Not traced, it dies of the same fault once more. */
static void let_die(struct ptc_session *s, struct ptc_process *p, int signo)
{
	p->has_ended = true;
	p->wait_status = signo;
	ptrace(PTRACE_DETACH, p->tracee.pid, NULL, NULL);
	ptc_follow_ended(&s->family, p);
}

static void deliver(struct ptc_session *s, struct ptc_process *p, pid_t tid,
		    const siginfo_t *si)
{
	struct ptc_thread *t;
	int status;
	enum ptc_delivery d = ptc_signal(p, tid, si, &status);

	if (d == PTC_DELIVERY_OVERTAKEN) {
		ptc_session_take(s, tid, status);
		return;
	}
	if (d == PTC_DELIVERY_DEADLY && s->wants_end_core)
		ptc_end_take(p, tid, si);
	if (d == PTC_DELIVERY_DEADLY && is_spared(p, si)) {
		let_die(s, p, si->si_signo);
		return;
	}
	t = ptc_thread_find(p, tid);
	if (t)
		ptc_pending_resume(t);
	ptrace(PTRACE_CONT, tid, NULL,
	       (long)(d == PTC_DELIVERY_DONE || d == PTC_DELIVERY_IGNORED ?
			      0 :
			      si->si_signo));
}

static void on_signal(struct ptc_session *s, struct ptc_process *p, pid_t tid, int signo)
{
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &si)) {
		ptrace(PTRACE_CONT, tid, NULL, (long)signo);
		return;
	}
	// Killed meanwhile: it stands at its end, which is reported for itself.
	if (si.si_code == PTC_END_STOP)
		return;
	if (is_our_stop(&si) && on_our_stop(s, p, tid))
		return;
	// Or it stands before an instruction that chaos chose.
	if (is_our_stop(&si) ||
	    (s->family.chaos && si.si_signo == SIGTRAP && si.si_code == TRAP_HWBKPT))
		ptc_chaos_go_on(s->family.chaos, tid);
	else if (ptc_trap(p, tid, &si))
		ptrace(PTRACE_CONT, tid, NULL, NULL);
	else
		deliver(s, p, tid, &si);
}

/** The thread is about to end; its registers are still there. */
static void on_thread_end(struct ptc_session *s, struct ptc_process *p, pid_t tid)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);
	struct user_regs_struct u;
	unsigned long status;
	struct cap_regs regs;

	ptc_chaos_forget(s->family.chaos, tid);
	// Killed in this very stop? Then the ring or waitpid() tells of its end.
	if (!t || ptrace(PTRACE_GETREGS, tid, NULL, &u) ||
	    ptrace(PTRACE_GETEVENTMSG, tid, NULL, &status)) {
		ptrace(PTRACE_CONT, tid, NULL, NULL);
		return;
	}
	regs = ptc_to_cap(&u);
	if (WIFEXITED(status) && (int64_t)u.orig_rax >= 0)
		regs.gpr[CAP_RAX] = u.orig_rax;
	ptc_threads_end_log(p, t, &regs, status);
	ptc_pending_resume(t);
	ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/** The program became another one: the capture begins anew with that, because whoever
 * records a wrapper (env, a launcher script) means the program that it starts. What it was is
 * kept beside. */
static struct err *begin_anew(struct ptc_family *f, struct ptc_process *p)
{
	struct err *err = p->has_executed ? ptc_follow_keep(f, p) : NULL;

	if (!err)
		err = ptc_check_is_64(p->tracee.pid);
	if (err)
		return err_prefix(err, "cannot record the program that it executed");
	err = ptc_tracee_open(&p->tracee);
	if (err)
		return err_prefix(err, "cannot record the program that it executed");
	ptc_tell_setuid(p->tracee.pid, p->tracee.exe);
	err = p->index ? ptc_follow_executed(f, p) : ptc_describe(p, NULL);
	if (!err)
		err = ptc_start(p);
	if (err)
		return err;
	p->tsc = (struct ptc_tsc){};
	p->n_execs += p->has_executed;
	p->has_executed = true;
	log_info("recording of %d begins with %s", p->tracee.pid, p->tracee.exe);
	ptc_pt_begin(&p->pt);
	ptc_bpf_set_recorded(p->all->bpf, p->tracee.pid, true);
	return NULL;
}

/** The other threads are gone, and who executed has the number of the first. */
static void forget_threads(struct ptc_process *p)
{
	struct ptc_thread *first = NULL;

	ptc_threads_end(p);
	ptc_shared_forget(p);
	for (size_t i = 0; i < p->threads.size; i++) {
		struct ptc_thread *t = p->threads.data[i];

		ptc_pending_flush(p, t);
		if (t->tid == p->tracee.pid)
			first = t;
		else
			ptc_thread_destroy(t);
	}
	p->threads.size = 0;
	if (!first)
		return;
	ptc_pending_deinit(first);
	first->has_held = first->has_exited = false;
	first->is_attached = true;
	first->n_frames = 0;
	p->threads.data[p->threads.size++] = first;
}

/** An exec in the target. */
static void on_exec(struct ptc_session *s, struct ptc_process *p, pid_t tid)
{
	_cleanup_err_ struct err *err = NULL;
	int status;

	ptc_bpf_set_recorded(p->all->bpf, p->tracee.pid, false);
	ptc_bpf_drain(p->all->bpf);
	forget_threads(p);
	// Step out of the exec: its own end is the old image's affair. A stop that somebody
	// asked for may come first.
	do {
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) ||
		    waitpid(tid, &status, __WALL) != tid)
			return;
	} while (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP);
	if (!WIFSTOPPED(status) || status >> 8 == PTC_END_STOP) {
		// Killed meanwhile: what it was has ended, what it became has not begun.
		p->log.is_recording = false;
		ptc_session_take(s, tid, status);
		return;
	}
	if (p->all->is_attached && !p->index) {
		ptc_attach_executed(p);
		s->wants_end = true;
		return;
	}
	if (p->log.is_recording || p->awaits_exec) {
		p->log.is_recording = true;
		err = begin_anew(&s->family, p);
		if (!err) {
			ptrace(PTRACE_CONT, tid, NULL, NULL);
			return;
		}
		if (p->index && ptc_is_killed(tid)) {
			ptc_follow_killed(p);
			return;
		}
		ptc_log_fail(&p->log, take_ptr(&err));
		ptc_process_stop_recording(p);
	}
	err = ptc_free_program(p);
	if (err)
		log_info("%s", err->message);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	if (p->index)
		ptc_follow_ended(&s->family, p);
}

static void on_event(struct ptc_session *s, struct ptc_process *p, pid_t tid,
		     unsigned event, int signo)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);
	unsigned long message = 0;

	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		// Killed meanwhile, it does not say which: a child tells of itself.
		if (t)
			ptc_cut_note(p, t);
		if (!ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message))
			ptc_child_created(&s->family, p, tid, event, message);
		ptc_chaos_go_on(s->family.chaos, tid);
		return;
	case PTRACE_EVENT_VFORK_DONE:
		ptc_vfork_done(p, tid);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(s, p, tid);
		return;
	case PTRACE_EVENT_EXIT:
		ptc_pt_probes_note(&p->pt);
		on_thread_end(s, p, tid);
		return;
	case PTRACE_EVENT_STOP:
		// Stopped like any untraced process would be, until SIGCONT.
		ptc_undo_stopped(signo != SIGTRAP);
		ptc_wards_stopped(p->tracee.pid, signo != SIGTRAP);
		if (signo != SIGTRAP) {
			if (t)
				ptc_cut_stopped(t);
			ptrace(PTRACE_LISTEN, tid, NULL, NULL);
			return;
		}
		if (t) {
			ptc_unseen_our_stop(p, t);
			ptc_cut_go_on(p, t, 0);
		}
		ptc_chaos_go_on(s->family.chaos, tid);
		return;
	}
	ptrace(PTRACE_CONT, tid, NULL, NULL);
}

void ptc_process_stop(struct ptc_session *s, struct ptc_process *p, pid_t tid, int status)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);
	unsigned event = status >> 16;

	if (t && event != PTRACE_EVENT_EXIT)
		ptc_unseen_stopped(t);
	if (t) {
		ptc_chance_stopped(&p->probes, tid, &t->chance);
		t->cut.last_ns = ptc_now_ns();
	}
	if (t && ptc_chance_is_before_cpuid(&t->chance))
		ptc_trap_cpuid(p, t);
	if (event)
		on_event(s, p, tid, event, WSTOPSIG(status));
	else
		on_signal(s, p, tid, WSTOPSIG(status));
}
