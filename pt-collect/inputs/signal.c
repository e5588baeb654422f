// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A signal on its way to the program. When a handler takes it, PTRACE_INTERRUPT makes
 * the kernel stop at the handler's first instruction, with nothing executed: there stand
 * the frame it built and the registers it chose.
 */
#define LOG_ROOM "record"
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/inputs/cut.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/inputs/others.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/log/writes.h"

/*
 * Above rsp at a handler's first instruction: return address (8), struct ucontext
 * (flags 8, link 8, stack 24, struct sigcontext), siginfo, then the FPU state to which
 * the sigcontext points. Its software bytes tell its size.
 */
#define FRAME_FPSTATE_POINTER (8 + 40 + 184)
#define FRAME_WITHOUT_FPSTATE 1024 ///< more than return address, ucontext and siginfo
#define FPSTATE_SW_BYTES 464
#define FPSTATE_MAGIC 0x46505853u
#define FPSTATE_LEGACY_BYTES 512
#define FRAME_MAX (64u << 10)

/** What becomes of a signal. */
enum fate { FATE_HANDLED, FATE_IGNORED, FATE_STOPS, FATE_KILLS };

/** What a signal does that is neither handled nor ignored. */
static enum fate default_fate(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
		return FATE_IGNORED;
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return FATE_STOPS;
	}
	return FATE_KILLS;
}

/** Does @p si come of what the thread itself executed? */
static bool is_fault(const siginfo_t *si)
{
	switch (si->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
	case SIGSYS:
		return si->si_code > 0;
	}
	return false;
}

/**
 * The first process of a name space gets no signal from there that it has no handler for; of a
 * fault it dies. From outside SIGSTOP stops it (and SIGKILL, which nobody is shown, kills it): the
 * sender has no number there.
 */
static bool is_kept_from(pid_t pid, const siginfo_t *si)
{
	bool is_from_outside = si->si_code > 0 || !si->si_pid;

	return !is_fault(si) && !(si->si_signo == SIGSTOP && is_from_outside) &&
	       ptc_is_first(pid);
}

/** As one look tells it: another thread may be changing it. */
static enum fate fate_of(pid_t pid, pid_t tid, const siginfo_t *si)
{
	static const char *const fields[] = { "SigCgt", "SigIgn" };
	int signo = si->si_signo;
	uint64_t masks[2];
	enum fate fate;

	ptc_status_masks(tid, fields, masks, 2);
	if (masks[0] >> (signo - 1) & 1)
		return FATE_HANDLED;
	fate = masks[1] >> (signo - 1) & 1 ? FATE_IGNORED : default_fate(signo);
	return fate != FATE_IGNORED && is_kept_from(pid, si) ? FATE_IGNORED : fate;
}

static bool is_pending(pid_t tid, int signo)
{
	return ptc_status_number(tid, tid, "SigPnd", 16) >> (signo - 1) & 1;
}

bool ptc_signal_kills(pid_t pid, pid_t tid, const siginfo_t *si)
{
	return fate_of(pid, tid, si) == FATE_KILLS;
}

/** Bytes of the frame at @p rsp. */
static uint64_t frame_bytes(const struct ptc_process *p, uint64_t rsp)
{
	uint64_t fpstate = 0, end = rsp + FRAME_WITHOUT_FPSTATE;
	uint32_t sw[2] = {};

	ptc_read_some(&p->tracee, rsp + FRAME_FPSTATE_POINTER, &fpstate, sizeof(fpstate));
	if (fpstate > rsp && fpstate - rsp < FRAME_MAX) {
		ptc_read_some(&p->tracee, fpstate + FPSTATE_SW_BYTES, sw, sizeof(sw));
		end = fpstate + (sw[0] == FPSTATE_MAGIC ? sw[1] : FPSTATE_LEGACY_BYTES);
	}
	return end > rsp && end - rsp < FRAME_MAX ? end - rsp : FRAME_MAX;
}

/** Lead @p tid into its handler. @return whether it got there; @p status says where else. */
static bool enter_handler(pid_t tid, int signo, int *status)
{
	*status = 0;
	// Not a step: were we killed then, its SIGTRAP would end the program.
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
	    ptrace(PTRACE_CONT, tid, NULL, (long)signo) || ptc_wait(tid, status) != tid)
		return false;
	return WIFSTOPPED(*status) && *status >> 16 == PTRACE_EVENT_STOP;
}

/**
 * What the faulting instruction of @p ev has left in memory, although it did not run: a CPU
 * that refuses to call an address that is not canonical has written the return address.
 */
static void add_traces(struct ptc_process *p, struct ptc_writes *w,
		       const struct cap_event *ev)
{
	siginfo_t si;

	memcpy(&si, ev->siginfo, sizeof(si));
	if (si.si_signo == SIGSEGV && si.si_code == SI_KERNEL)
		ptc_outputs_add(&p->tracee, w, ev->regs.gpr[CAP_RSP] - 8, 8);
}

/** @return what waitpid() gave when the thread was killed meanwhile; else 0. */
static int log_handled(struct ptc_process *p, struct ptc_thread *t, struct cap_event *ev)
{
	struct ptc_writes frame = {};
	struct user_regs_struct u;
	int status;

	bool is_killed = !enter_handler(t->tid, ev->signo, &status) && status;
	bool has_regs = status && !ptrace(PTRACE_GETREGS, t->tid, NULL, &u);

	if (has_regs && !is_killed && u.rsp == ev->regs.gpr[CAP_RSP] &&
	    !is_pending(t->tid, SIGSEGV)) // as of a frame that has no place
		return 0; // another thread had it ignored, at the last moment
	ptc_pending_settle(p, t, true);
	// Killed meanwhile, and its end may be yet to come.
	if (!has_regs) {
		t->is_killed = true;
		t->killed_at = ev->regs;
		return is_killed ? status : 0;
	}
	if (is_killed && u.rip == ev->regs.rip)
		return status;
	t->n_frames++;
	ptc_unseen_handler(t);
	ev->after = ptc_to_cap(&u);
	ev->has_after = true;
	add_traces(p, &frame, ev);
	ptc_outputs_add(&p->tracee, &frame, u.rsp, frame_bytes(p, u.rsp));
	ptc_others_give(p, &frame);
	ptc_shared_see(p, &frame);
	ptc_pending_log(p, t, ev, &frame);
	return is_killed ? status : 0;
}

enum ptc_delivery ptc_signal(struct ptc_process *p, pid_t tid, const siginfo_t *si,
			     int *status)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);
	struct cap_event ev = { .kind = CAP_EV_SIGNAL,
				.tid = tid,
				.at_ns = ptc_now_ns(),
				.signo = si->si_signo };
	struct user_regs_struct u;

	if (!t || !p->log.is_recording || ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return PTC_DELIVERY_HARMLESS;
	memcpy(ev.siginfo, si, sizeof(ev.siginfo));
	ev.regs = ptc_to_cap(&u);
	// Other threads run on while this one stands here: what its registers point to is
	// theirs, and not what it was. (Of other processes a turn tells: ptc_pending_switch().)
	if (!p->has_threads || (p->is_joined && p->threads.size == 1))
		ev.signature = ptc_signature_read(p->tracee.pid, &ev.regs);
	switch (fate_of(p->tracee.pid, tid, si)) {
	case FATE_HANDLED:
		*status = log_handled(p, t, &ev);
		return *status ? PTC_DELIVERY_OVERTAKEN : PTC_DELIVERY_DONE;
	case FATE_IGNORED:
		ptc_cut_go_on(p, t, si->si_signo);
		return PTC_DELIVERY_IGNORED;
	case FATE_STOPS:
		// To who is not stopped it means nothing.
		if (si->si_signo == SIGCONT)
			ptc_cut_go_on(p, t, SIGCONT);
		return PTC_DELIVERY_HARMLESS;
	default:
		ptc_pending_settle(p, t, true);
		ev.is_fatal = true;
		ptc_pending_log(p, t, &ev, NULL);
		return PTC_DELIVERY_DEADLY;
	}
}
