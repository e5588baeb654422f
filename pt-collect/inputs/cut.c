// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A signal that is ignored wakes nobody - but who is traced: the kernel shows the tracer each
 * one, and for that takes the thread out of its call. Most calls are made again then, or go on
 * (assemble.c). But epoll_wait, sigtimedwait, semop and its kin, and sockets that have a time
 * limit end with EINTR, whatever comes of the signal; so does what is never seen without a
 * recorder, such as a server whose every wait a child's end (SIGCHLD) cuts short.
 *
 * At the stop the result becomes ERESTARTNOHAND, with which the kernel makes the call again
 * unless a handler runs first; then it is EINTR, as without us. The event, which is kept back
 * until then, tells the same.
 *
 * A call that is made again waits for all of its time again. So it is known until when it was to
 * wait; then the recorder stops the thread, and the call ends as it does when its time is over.
 * A write that a slow reader makes wait, and MSG_WAITALL, end with what is done by then. They cannot be made again:
 * that is told.
 *
 * When a wait began nobody has noted: not before the call before it ended, and what the thread
 * did until then it ran, or waited for a CPU. That much later at most it began, and at the latest
 * when the signal came. (Never earlier than it should does a wait end; where the thread computed
 * long, later by what it computed since it was last looked at.)
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "pt-collect/inputs/cut.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"

#define ERESTARTNOHAND 514
#define FOREVER UINT64_MAX
#define TICK_NS 10000000ull ///< the ring's times are not exact: at most a tick too early

/** Who says how long a call waits. */
enum limit {
	LIMIT_NONE,
	LIMIT_MS,	///< an argument
	LIMIT_TIMESPEC, ///< an argument points to one
	LIMIT_RECEIVE,	///< SO_RCVTIMEO of the descriptor
	LIMIT_SEND,	///< SO_SNDTIMEO
	LIMIT_CONNECT,	///< likewise
};

/** A call that never begins by itself again. */
struct cut_call {
	int64_t nr;
	enum limit limit;
	uint8_t arg; ///< enum cap_reg: the limit, or the descriptor that has it
	int result;  ///< when its time is over
};

static const struct cut_call calls[] = {
	{ __NR_epoll_wait, LIMIT_MS, CAP_R10, 0 },
	{ __NR_epoll_pwait, LIMIT_MS, CAP_R10, 0 },
	{ __NR_epoll_pwait2, LIMIT_TIMESPEC, CAP_R10, 0 },
	{ __NR_rt_sigtimedwait, LIMIT_TIMESPEC, CAP_RDX, -EAGAIN },
	{ __NR_semop, LIMIT_NONE, 0, 0 },
	{ __NR_semtimedop, LIMIT_TIMESPEC, CAP_R10, -EAGAIN },
	{ __NR_read, LIMIT_RECEIVE, CAP_RDI, -EAGAIN },
	{ __NR_readv, LIMIT_RECEIVE, CAP_RDI, -EAGAIN },
	{ __NR_recvfrom, LIMIT_RECEIVE, CAP_RDI, -EAGAIN },
	{ __NR_recvmsg, LIMIT_RECEIVE, CAP_RDI, -EAGAIN },
	{ __NR_recvmmsg, LIMIT_RECEIVE, CAP_RDI, -EAGAIN },
	{ __NR_accept, LIMIT_RECEIVE, CAP_RDI, -EAGAIN },
	{ __NR_accept4, LIMIT_RECEIVE, CAP_RDI, -EAGAIN },
	{ __NR_write, LIMIT_SEND, CAP_RDI, -EAGAIN },
	{ __NR_writev, LIMIT_SEND, CAP_RDI, -EAGAIN },
	{ __NR_sendto, LIMIT_SEND, CAP_RDI, -EAGAIN },
	{ __NR_sendmsg, LIMIT_SEND, CAP_RDI, -EAGAIN },
	{ __NR_sendmmsg, LIMIT_SEND, CAP_RDI, -EAGAIN },
	{ __NR_sendfile, LIMIT_SEND, CAP_RDI, -EAGAIN },
	{ __NR_connect, LIMIT_CONNECT, CAP_RDI, -EINPROGRESS },
};

static const struct cut_call *find(int64_t nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

bool ptc_cut_is(const struct rec_syscall *e)
{
	return e->ret == -EINTR && !(e->flags & REC_32_BIT) && find(e->nr);
}

/** Has call @e done part of what it was to do, where it waits for the rest unless a signal comes? */
static bool is_short(const struct rec_syscall *e)
{
	bool waits_for_all =
		e->nr == __NR_write || e->nr == __NR_sendto ||
		(e->nr == __NR_recvfrom && e->regs.gpr[CAP_R10] & MSG_WAITALL);

	return waits_for_all && e->ret > 0 && (uint64_t)e->ret < e->regs.gpr[CAP_RDX];
}

void ptc_cut_ended(struct ptc_thread *t, const struct rec_syscall *e)
{
	struct ptc_cut *c = &t->cut;

	// The same call again? Then it is known until when.
	if (!ptc_cut_is(e))
		c->until_ns = 0;
	c->is_final = c->is_asked = false;
	c->short_ret = is_short(e) ? e->ret : 0;
	c->short_fd = e->regs.gpr[CAP_RDI];
	c->from_ns = c->last_ns;
	c->last_ns = c->came_ns = e->head.at_ns;
}

/* ---- until when ------------------------------------------------------------------------------ */

/** What @p tid ran, or waited for a CPU, since it began; 0 = the kernel does not say. */
static uint64_t ran_ns(const struct ptc_process *p, pid_t tid)
{
	char path[64];
	unsigned long long ran = 0, waited = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", p->tracee.pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &ran, &waited) != 2)
		ran = 0;
	fclose(f);
	return ran ? ran + waited : 0;
}

void ptc_cut_note(struct ptc_process *p, struct ptc_thread *t)
{
	t->cut.ran_ns = ran_ns(p, t->tid);
	t->cut.major_faults = ptc_stat_number(p->tracee.pid, PTC_STAT_MAJOR_FAULTS);
	t->cut.last_ns = ptc_now_ns();
}

/** When the call that was cut short began, at the latest. */
static uint64_t began_ns(const struct ptc_process *p, const struct ptc_thread *t)
{
	const struct ptc_cut *c = &t->cut;
	uint64_t ran = ran_ns(p, t->tid);
	uint64_t latest = c->from_ns + TICK_NS + (ran - c->ran_ns);

	// Who waited for a disk did not run.
	if (!c->from_ns || !ran || latest > c->came_ns ||
	    ptc_stat_number(p->tracee.pid, PTC_STAT_MAJOR_FAULTS) != c->major_faults)
		return c->came_ns;
	return latest;
}

static uint64_t in_ns(int64_t s, int64_t ns)
{
	if (s < 0 || s > INT32_MAX)
		return FOREVER;
	return s * 1000000000ull + ns;
}

/** What the socket @p fd of @p pid says. (Whose it is does not: it is the program's own.) */
static uint64_t socket_ns(pid_t pid, int fd, enum limit limit, int *result)
{
	_cleanup_close_ int process = pidfd_open(pid, 0), sock = -1;
	socklen_t size = sizeof(struct timeval), int_size = sizeof(int);
	struct timeval tv = {};
	int domain = 0;

	sock = process < 0 ? -1 : pidfd_getfd(process, fd, 0);
	if (sock < 0 ||
	    getsockopt(sock, SOL_SOCKET,
		       limit == LIMIT_RECEIVE ? SO_RCVTIMEO : SO_SNDTIMEO, &tv, &size) ||
	    (!tv.tv_sec && !tv.tv_usec))
		return FOREVER;
	if (limit == LIMIT_CONNECT &&
	    !getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &domain, &int_size) &&
	    domain == AF_UNIX)
		*result = -EAGAIN;
	return in_ns(tv.tv_sec, tv.tv_usec * 1000);
}

/** How long call @p c waits at most. */
static uint64_t limit_ns(const struct ptc_process *p, const struct cut_call *c,
			 const struct cap_regs *regs, int *result)
{
	uint64_t arg = regs->gpr[c->arg];
	struct timespec ts;

	switch (c->limit) {
	case LIMIT_NONE:
		return FOREVER;
	case LIMIT_MS:
		return in_ns((int)arg < 0 ? -1 : (int)arg / 1000,
			     (int)arg % 1000 * 1000000ll);
	case LIMIT_TIMESPEC:
		if (!arg || ptc_read_some(&p->tracee, arg, &ts, sizeof(ts)) != sizeof(ts))
			return FOREVER;
		return in_ns(ts.tv_sec, ts.tv_nsec);
	default:
		return socket_ns(p->tracee.pid, (int)arg, c->limit, result);
	}
}

/* ---- at the stop ----------------------------------------------------------------------------- */

/** Did call @p nr unblock @p signo for as long as it waits? Whether that came before, and ended
 * the wait, or meanwhile, and would not have, nobody knows. */
static bool is_let_in(pid_t tid, int64_t nr, int signo)
{
	uint64_t mask = 0;

	// It is the one behind the call.
	return signo && (nr == __NR_epoll_pwait || nr == __NR_epoll_pwait2) &&
	       !ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(mask), &mask) &&
	       mask >> (signo - 1) & 1;
}

void ptc_cut_stopped(struct ptc_thread *t)
{
	t->cut.is_final = true;
}

static bool is_nonblocking(pid_t pid, int fd)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned flags = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	f = fopen(path, "re");
	return !f || fscanf(f, "pos: %*u flags: %o", &flags) != 1 || flags & O_NONBLOCK;
}

/** What it has written or got is there: it cannot be made again. Told once: whoever such a program
 * matters to knows then. */
static void tell_short(struct ptc_process *p, struct ptc_thread *t, int signo)
{
	struct ptc_cut *c = &t->cut;
	struct user_regs_struct u;

	if (!c->short_ret || !signo || p->all->has_told_short || c->is_final ||
	    ptrace(PTRACE_GETREGS, t->tid, NULL, &u) || (int64_t)u.rax != c->short_ret ||
	    (int64_t)u.orig_rax < 0 || is_nonblocking(p->tracee.pid, c->short_fd))
		return;
	p->all->has_told_short = true;
	log_warn(
		"process %d (%s) is sent SIG%s, which it ignores: a write or read that waited "
		"for more ends with %lld bytes for that (not recorded, it would have gone "
		"on)",
		p->tracee.pid, p->tracee.exe ?: "?", sigabbrev_np(signo) ?: "?",
		(long long)c->short_ret);
}

void ptc_cut_go_on(struct ptc_process *p, struct ptc_thread *t, int signo)
{
	struct ptc_cut *c = &t->cut;
	const struct cut_call *call;
	struct user_regs_struct u;
	uint64_t limit;
	int result;

	tell_short(p, t, signo);
	if (!t->has_held || t->held.ret != -EINTR || c->is_final || c->is_again ||
	    ptrace(PTRACE_GETREGS, t->tid, NULL, &u) || (int64_t)u.rax != -EINTR ||
	    u.orig_rax != t->held.regs.gpr[CAP_RAX] || u.rip != t->held.regs.rip ||
	    is_let_in(t->tid, u.orig_rax, signo))
		return;
	call = find(u.orig_rax);
	result = call->result;
	limit = limit_ns(p, call, &t->held.regs, &result);
	if (!c->until_ns)
		c->until_ns = limit == FOREVER ? FOREVER : began_ns(p, t) + limit;
	if (c->until_ns <= ptc_now_ns()) {
		u.rax = result;
		if (!ptrace(PTRACE_SETREGS, t->tid, NULL, &u))
			t->held.ret = result;
		return;
	}
	u.rax = -ERESTARTNOHAND;
	c->is_again = !ptrace(PTRACE_SETREGS, t->tid, NULL, &u);
	if (c->is_again && c->until_ns < p->all->cut_due_ns)
		p->all->cut_due_ns = c->until_ns;
}

/** @return when the call that @p t waits in is to end; UINT64_MAX = by itself. */
static uint64_t due_ns(struct ptc_thread *t, uint64_t now_ns)
{
	struct ptc_cut *c = &t->cut;

	if (!c->is_again || c->is_asked || t->is_reaped)
		return FOREVER;
	if (c->until_ns > now_ns)
		return c->until_ns;
	c->is_asked = true;
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	return FOREVER;
}

uint64_t ptc_cut_step(struct ptc_processes *all)
{
	uint64_t now_ns, due, first = FOREVER;

	if (all->cut_due_ns == FOREVER)
		return FOREVER;
	now_ns = ptc_now_ns();
	if (all->cut_due_ns > now_ns)
		return all->cut_due_ns;
	for (size_t i = 0; i < all->list.size; i++) {
		struct ptc_process *p = all->list.data[i];

		for (size_t k = 0; !p->has_ended && k < p->threads.size; k++) {
			due = due_ns(p->threads.data[k], now_ns);
			first = due < first ? due : first;
		}
	}
	all->cut_due_ns = first;
	return first;
}
