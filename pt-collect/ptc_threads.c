// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Programs with threads. From the first clone on, all threads share one CPU, and the
 * kernel side says whenever another one gets it (record_sched_switch): what one thread
 * does is then strictly before or after what another does, and the log has that order.
 *
 * Records from the ring are in order by themselves. What ptrace stops tell us is not: the
 * other threads run on while one stands in its stop. Such an event waits with its thread
 * (`pending`) and is logged before the first record that shows the thread beyond the stop
 * (doc/threads.md).
 */
#define LOG_ROOM "record"
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "pt-collect/ptc.h"

/* ---- one CPU ------------------------------------------------------------------------- */

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/** Call sched_setaffinity() for every thread that there is. */
static struct err *set_affinity(struct ptc_process *p, const cpu_set_t *cpus)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	struct dirent *d;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	dir = opendir(path);
	if (!dir)
		return err_errno("cannot list the program's threads");
	while ((d = readdir(dir)))
		if (*d->d_name != '.' &&
		    sched_setaffinity(atoi(d->d_name), sizeof(*cpus), cpus) &&
		    errno != ESRCH)
			return err_errno("cannot bind thread %s to one CPU", d->d_name);
	return NULL;
}

/** One of @p allowed, and not the one that we run on when there is a choice. */
static int choose_cpu(const cpu_set_t *allowed)
{
	int here = sched_getcpu(), found = -1;

	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, allowed) && (found < 0 || found == here))
			found = i;
	return found;
}

static struct err *bind_to_cpu(struct ptc_process *p)
{
	cpu_set_t one;
	int cpu;

	if (sched_getaffinity(p->pid, sizeof(p->affinity), &p->affinity))
		return err_errno("cannot read the program's CPU affinity");
	cpu = choose_cpu(&p->affinity);
	if (cpu < 0)
		return err_new(ERR_UNSUPPORTED, "the program may run on no CPU");
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return set_affinity(p, &one);
}

/* ---- beginning and end --------------------------------------------------------------- */

/** @p running ran last, and stands at @p regs. */
static struct err *begin(struct ptc_process *p, pid_t running, struct cap_regs regs,
			 uint32_t flags)
{
	struct rec_switch last = {
		.head = { .kind = REC_SWITCH, .tgid = p->pid, .tid = running },
		.signature = { CAP_SIGNATURE_SEED, CAP_SIGNATURE_SEED, 0, 0 },
		.flags = flags,
	};
	struct err *err;

	memcpy(&last.regs, &regs, sizeof(last.regs));
	err = bind_to_cpu(p);
	if (!err)
		err = ptc_bpf_watch_threads(p->session->bpf, &last);
	p->has_threads = !err;
	return err;
}

struct err *ptc_threads_begin(struct ptc_process *p, pid_t running)
{
	struct user_regs_struct u;
	struct err *err = ptc_get_regs(running, &u);
	struct cap_regs regs;

	if (p->has_threads || err)
		return err;
	regs = ptc_to_cap(&u);
	regs.gpr[CAP_RAX] = u.orig_rax;
	return begin(p, running, regs, REC_SWITCH_IN_CALL);
}

struct err *ptc_threads_attach(struct ptc_process *p, pid_t first)
{
	struct user_regs_struct u;
	struct err *err = ptc_get_regs(first, &u);

	// Inside a call that was cut short? Then the event of that is held, and tells.
	return err ?: begin(p, first, ptc_to_cap(&u), 0);
}

void ptc_threads_end(struct ptc_process *p)
{
	_cleanup_err_ struct err *err = NULL;

	if (!p->has_threads)
		return;
	p->has_threads = false;
	ptc_bpf_unwatch_threads(p->session->bpf, p->pid);
	err = set_affinity(p, &p->affinity);
	if (err)
		log_debug("%s", err->message);
}

void ptc_threads_release(const struct ptc_process *p, pid_t child)
{
	if (p->has_threads && sched_setaffinity(child, sizeof(p->affinity), &p->affinity))
		log_info("child %d stays on one CPU: %s", child, strerror(errno));
}

/* ---- order --------------------------------------------------------------------------- */

void ptc_threads_flush(struct ptc_process *p, struct ptc_thread *t)
{
	if (!t->has_pending)
		return;
	if (t->is_interrupted)
		ptc_assemble_settle(p, t, true);
	t->has_pending = false;
	ptc_writes_give(&t->pending_writes, &t->pending);
	ptc_log(p, &t->pending);
	ptc_writes_clear(&t->pending_writes);
}

void ptc_threads_interrupted(struct ptc_process *p, struct ptc_thread *t)
{
	if (!p->has_threads)
		ptc_assemble_settle(p, t, true);
	else
		t->is_interrupted = t->has_held;
}

void ptc_threads_log(struct ptc_process *p, struct ptc_thread *t,
		     const struct cap_event *ev)
{
	if (!p->has_threads) {
		ptc_log(p, ev);
		return;
	}
	ptc_threads_flush(p, t);
	t->pending = *ev;
	t->pending.writes = NULL;
	t->pending.n_writes = 0;
	for (size_t i = 0; i < ev->n_writes; i++)
		ptc_writes_add(&t->pending_writes, ev->writes[i].addr, ev->writes[i].data,
			       ev->writes[i].size);
	t->has_pending = true;
}

static bool same_place(const struct cap_regs *a, const struct rec_regs *b)
{
	return a->rip == b->rip && !memcmp(a->gpr, b->gpr, sizeof(a->gpr));
}

/** A call that a signal cut short stays one that the thread is in, until it is seen
 * elsewhere than right behind it. */
static void settle(struct ptc_process *p, struct ptc_thread *t, struct cap_event *ev)
{
	if (!t->has_held)
		return;
	if (ev->regs.rip != t->held.regs.rip) {
		ptc_assemble_settle(p, t, ev->regs.rip + 2 != t->held.regs.rip);
		return;
	}
	ev->switch_flags |= CAP_SWITCH_IN_CALL;
	ev->regs.gpr[CAP_RAX] = t->held.regs.gpr[CAP_RAX];
}

void ptc_threads_switched(struct ptc_process *p, struct ptc_thread *t,
			  const struct rec_switch *s)
{
	struct cap_event ev = { .kind = CAP_EV_SWITCH,
				.tid = s->head.tid,
				.at_ns = s->head.at_ns,
				.next_tid = s->next_tid,
				.switch_flags = s->flags };

	_Static_assert(sizeof(ev.signature) == sizeof(s->signature), "one layout");
	memcpy(&ev.regs, &s->regs, sizeof(ev.regs));
	memcpy(&ev.signature, &s->signature, sizeof(ev.signature));
	if (t->has_pending && !same_place(&t->pending.regs, &s->regs))
		ptc_threads_flush(p, t);
	settle(p, t, &ev);
	ptc_log(p, &ev);
}
