// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is different in a process that we attached to, thread by thread, and how it becomes
 * as it was. The table stands in memory that a second process may share: whoever survives
 * reads there what to undo. So each entry is made before the change that it tells of, and
 * undoing what was not done is harmless.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/undo.h"
#include "pt-collect/tracee/vdso.h"

#define THREADS_MAX 32768 ///< that can be attached to
#define GATE_LAST 2	  ///< offset of the last instruction in the gate
#define RSEQ_UNREGISTER 1
#define RSEQ_CS_OFFSET 8 ///< of the pointer in struct rseq to the running section

struct undo_thread {
	pid_t tid; ///< 0 = free
	bool has_cpus;
	bool is_trapping;
	bool is_borrowed; ///< it makes a call for us: regs are its own
	bool is_shielded; ///< its signals are blocked: `signals' is its own mask
	cpu_set_t cpus;
	uint64_t rseq_at;
	uint32_t rseq_bytes, rseq_signature;
	struct user_regs_struct regs;
	uint64_t signals;
};

struct undo {
	pid_t pid; ///< of the process that is not as it was; 0 = none
	uint32_t n;
	cpu_set_t cpus; ///< of threads that come later
	bool has_cpus;
	bool is_stopped; ///< by its user, since
	struct ptc_vdso vdso;
	struct undo_thread threads[THREADS_MAX];
};

static struct undo *undo;

struct err *ptc_undo_init(void)
{
	// Only what is used becomes memory.
	if (!undo)
		undo = mmap(NULL, sizeof(*undo), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (undo != MAP_FAILED)
		return NULL;
	undo = NULL;
	return &err_nomem;
}

static struct undo_thread *find(pid_t tid)
{
	for (uint32_t i = 0; undo && i < undo->n; i++)
		if (undo->threads[i].tid == tid)
			return &undo->threads[i];
	return NULL;
}

static struct undo_thread *add(pid_t tid)
{
	struct undo_thread *t = find(tid);

	if (t || !undo || undo->n == THREADS_MAX)
		return t;
	t = &undo->threads[undo->n];
	t->tid = tid;
	__atomic_store_n(&undo->n, undo->n + 1, __ATOMIC_RELEASE);
	return t;
}

void ptc_undo_stopped(bool is_stopped)
{
	if (undo)
		undo->is_stopped = is_stopped;
}

void ptc_undo_shield(pid_t tid, uint64_t signals)
{
	struct undo_thread *t = find(tid);

	if (!t)
		return;
	t->signals = signals;
	__atomic_store_n(&t->is_shielded, true, __ATOMIC_RELEASE);
}

void ptc_undo_unshield(pid_t tid)
{
	struct undo_thread *t = find(tid);

	if (t)
		__atomic_store_n(&t->is_shielded, false, __ATOMIC_RELEASE);
}

void ptc_undo_borrow(pid_t tid, const struct user_regs_struct *u)
{
	struct undo_thread *t = find(tid);

	if (!t)
		return;
	t->regs = *u;
	__atomic_store_n(&t->is_borrowed, true, __ATOMIC_RELEASE);
}

void ptc_undo_give_back(pid_t tid)
{
	struct undo_thread *t = find(tid);

	if (t)
		__atomic_store_n(&t->is_borrowed, false, __ATOMIC_RELEASE);
}

/* ---- restartable sequences ------------------------------------------------------------- */

/** As in <linux/ptrace.h>, newer than some headers. */
struct rseq_configuration {
	uint64_t at;
	uint32_t bytes, signature, flags, unused;
};

struct rseq_section {
	uint32_t version, flags;
	uint64_t start, bytes, abort;
};

/** The thread stands inside a sequence: being stopped aborts it, as a preemption does. The
 * kernel would not notice, because the call we have it make is outside. */
static struct err *abort_section(const struct ptc_tracee *tracee, pid_t tid,
				 uint64_t rseq_at)
{
	struct rseq_section section;
	struct user_regs_struct u;
	uint64_t at = 0;

	if (ptc_read_some(tracee, rseq_at + RSEQ_CS_OFFSET, &at, sizeof(at)) !=
		    sizeof(at) ||
	    !at ||
	    ptc_read_some(tracee, at, &section, sizeof(section)) != sizeof(section) ||
	    ptrace(PTRACE_GETREGS, tid, NULL, &u) ||
	    u.rip - section.start >= section.bytes)
		return NULL;
	u.rip = section.abort;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &u))
		return err_errno("cannot set the registers of thread %d", tid);
	at = 0;
	return ptc_write(tracee, rseq_at + RSEQ_CS_OFFSET, &at, sizeof(at));
}

/** Unregistered, the kernel writes nothing there, and libc asks for the CPU with a system
 * call instead. */
static struct err *stop_rseq(const struct ptc_tracee *tracee, struct undo_thread *t)
{
	struct rseq_configuration rseq = {};
	struct err *err;
	long ret;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, sizeof(rseq), &rseq) < 0 ||
	    !rseq.at)
		return NULL;
	err = abort_section(tracee, t->tid, rseq.at);
	t->rseq_at = rseq.at;
	t->rseq_signature = rseq.signature;
	__atomic_store_n(&t->rseq_bytes, rseq.bytes, __ATOMIC_RELEASE);
	if (!err)
		err = ptc_inject(t->tid, undo->vdso.gate, __NR_rseq,
				 (uint64_t[6]){ rseq.at, rseq.bytes, RSEQ_UNREGISTER,
						rseq.signature },
				 &ret);
	if (!err && ret)
		err = err_new(ERR_OS, "cannot take rseq from thread %d: %s", t->tid,
			      strerror(-ret));
	return err;
}

/* ---- changing and changing back ---------------------------------------------------------- */

struct err *ptc_undo_begin(const struct ptc_vdso *vdso)
{
	struct err *err = ptc_undo_init();

	if (err)
		return err;
	undo->pid = undo->n = 0;
	undo->is_stopped = false;
	undo->vdso = *vdso;
	return NULL;
}

struct err *ptc_undo_add(pid_t tid)
{
	struct undo_thread *t = add(tid);

	if (!t)
		return err_new(ERR_UNSUPPORTED, "it has more than %d threads",
			       THREADS_MAX);
	t->has_cpus = !sched_getaffinity(tid, sizeof(t->cpus), &t->cpus);
	return NULL;
}

void ptc_undo_announce(pid_t pid)
{
	undo->has_cpus = !sched_getaffinity(pid, sizeof(undo->cpus), &undo->cpus);
	__atomic_store_n(&undo->pid, pid, __ATOMIC_RELEASE);
}

void ptc_undo_end(void)
{
	if (undo)
		__atomic_store_n(&undo->pid, 0, __ATOMIC_RELEASE);
}

pid_t ptc_undo_pid(void)
{
	return undo ? undo->pid : 0;
}

bool ptc_undo_is_gate(uint64_t at)
{
	return ptc_undo_pid() && at == undo->vdso.gate;
}

void ptc_undo_vdso(struct ptc_vdso *v)
{
	*v = undo ? undo->vdso : (struct ptc_vdso){};
}

bool ptc_undo_is_stopped(void)
{
	return undo && undo->is_stopped;
}

struct err *ptc_undo_change(const struct ptc_tracee *tracee, pid_t tid)
{
	struct undo_thread *t = find(tid);
	struct err *err = stop_rseq(tracee, t);

	t->is_trapping = true;
	return err ?: ptc_allow_chance(tid, undo->vdso.gate, false);
}

void ptc_undo_cpus(pid_t tid, const cpu_set_t *cpus)
{
	struct undo_thread *t = undo && undo->pid ? find(tid) : NULL;

	if (undo && undo->pid && !t) {
		t = add(tid);
		if (t)
			t->is_trapping = true; // as who made it
	}
	if (!t)
		return;
	t->cpus = *cpus;
	__atomic_store_n(&t->has_cpus, true, __ATOMIC_RELEASE);
}

/** Back to the CPUs it had; a thread that came later to those of the first one. */
static void restore_cpus(pid_t tid, const struct undo_thread *t)
{
	if (t && t->has_cpus)
		sched_setaffinity(tid, sizeof(t->cpus), &t->cpus);
	else if (!t && undo->has_cpus)
		sched_setaffinity(tid, sizeof(undo->cpus), &undo->cpus);
}

struct err *ptc_undo_call(pid_t tid)
{
	struct undo_thread *t = find(tid);
	struct user_regs_struct u;
	struct err *err = t ? ptc_get_regs(tid, &u) : NULL;

	if (!t || err)
		return err;
	// It may have died right before or after: then the thread went on as it was.
	if (t->is_borrowed && u.rip - undo->vdso.gate <= GATE_LAST &&
	    ptrace(PTRACE_SETREGS, tid, NULL, &t->regs))
		return err_errno("cannot set the registers of thread %d", tid);
	if (t->is_shielded && ptc_are_signals_blocked(tid))
		ptc_unblock_signals(tid, t->signals);
	t->is_borrowed = t->is_shielded = false;
	return NULL;
}

struct err *ptc_undo_thread(pid_t tid)
{
	struct undo_thread *t = find(tid);
	struct err *err = NULL;
	long ret;

	if (!undo)
		return NULL;
	restore_cpus(tid, t);
	if (t && t->rseq_bytes)
		err = ptc_inject(tid, undo->vdso.gate, __NR_rseq,
				 (uint64_t[6]){ t->rseq_at, t->rseq_bytes, 0,
						t->rseq_signature },
				 &ret);
	if (!err && (!t || t->is_trapping))
		err = ptc_allow_chance(tid, undo->vdso.gate, true);
	if (t)
		*t = (struct undo_thread){ .tid = tid };
	return err;
}
