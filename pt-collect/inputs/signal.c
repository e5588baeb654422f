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

#include "pt-collect/ptc.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/flight/flight.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/inputs/threads.h"
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

static bool status_has(pid_t pid, const char *field, int signo)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[256];
	size_t n = strlen(field);

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, n) && line[n] == ':')
			return strtoull(line + n + 1, NULL, 16) >> (signo - 1) & 1;
	return false;
}

/** What an unhandled, unignored signal does. */
static bool is_deadly(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return false;
	}
	return true;
}

bool ptc_signal_kills(pid_t tid, int signo)
{
	return is_deadly(signo) && !status_has(tid, "SigCgt", signo) &&
	       !status_has(tid, "SigIgn", signo);
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
		ptc_outputs_add(p, w, ev->regs.gpr[CAP_RSP] - 8, 8);
}

/** @return false when the thread was killed meanwhile: that is handled already. */
static bool log_handled(struct ptc_process *p, struct ptc_thread *t, struct cap_event *ev)
{
	struct ptc_writes frame = {};
	struct user_regs_struct u;
	int status;

	bool is_killed = !enter_handler(t->tid, ev->signo, &status) && status;
	bool has_regs = status && !ptrace(PTRACE_GETREGS, t->tid, NULL, &u);

	if (is_killed && (!has_regs || u.rip == ev->regs.rip)) {
		ptc_session_take(p->session, t->tid, status);
		return false;
	}
	// Killed meanwhile, and its end is yet to come.
	if (!has_regs)
		return true;
	t->n_frames++;
	ev->after = ptc_to_cap(&u);
	ev->has_after = true;
	add_traces(p, &frame, ev);
	ptc_outputs_add(p, &frame, u.rsp, frame_bytes(p, u.rsp));
	ptc_pending_log(p, t, ev, &frame);
	if (is_killed)
		ptc_session_take(p->session, t->tid, status);
	return !is_killed;
}

void ptc_signal(struct ptc_process *p, pid_t tid, const siginfo_t *si)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);
	struct cap_event ev = { .kind = CAP_EV_SIGNAL,
				.tid = tid,
				.at_ns = ptc_now_ns(),
				.signo = si->si_signo };
	struct user_regs_struct u;
	int pass = si->si_signo;

	memcpy(ev.siginfo, si, sizeof(ev.siginfo));
	if (t && p->log.is_recording && !ptrace(PTRACE_GETREGS, tid, NULL, &u)) {
		ev.regs = ptc_to_cap(&u);
		// Other threads run on while this one stands here: what its registers point
		// to is theirs, and not what it was.
		if (!p->has_threads)
			ev.signature = ptc_signature_read(p->tracee.pid, &ev.regs);
		if (status_has(tid, "SigCgt", si->si_signo)) {
			ptc_pending_settle(p, t, true);
			if (!log_handled(p, t, &ev))
				return;
			pass = 0;
		} else if (is_deadly(si->si_signo) &&
			   !status_has(tid, "SigIgn", si->si_signo)) {
			ptc_pending_settle(p, t, true);
			ev.is_fatal = true;
			ptc_pending_log(p, t, &ev, NULL);
			if (p->session->wants_end_core)
				ptc_end_take(p, tid, si);
		}
	}
	if (t)
		ptc_pending_resume(t);
	ptrace(PTRACE_CONT, tid, NULL, (long)pass);
}
