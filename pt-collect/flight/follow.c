// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * record --snapshot -f: the processes that the program creates have rings of their own from
 * their beginning on. A child of fork is probed before it goes on: what its parent has in
 * its code came along, but nobody listens to that. One that runs in its parent's memory
 * (vfork, posix_spawn) is probed once it executes a program.
 */
#define LOG_ROOM "record"
#include <sched.h>
#include <sys/ptrace.h>

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/flight/flight_int.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/tracee/tracee.h"

/** Its memory is its own, and so is what is done to it. */
static struct err *begin_forked(struct ptc_process *p)
{
	struct err *err = ptc_describe(p, NULL);

	if (err)
		return err;
	ptc_bpf_set_in_flight(p->all->bpf, p->tracee.pid, true);
	ptc_pt_begin(&p->pt);
	ptc_flight_probe(p);
	return NULL;
}

static struct err *begin(struct ptc_flight *f, struct ptc_process *p)
{
	struct ptc_thread *t = ptc_thread_find(p, p->tracee.pid);
	struct err *err = t ? ptc_past_begin(f, p) : &err_nomem;

	if (err)
		return err;
	t->is_attached = true;
	p->index = f->all->list.size - 1;
	p->has_executed = true;
	ptc_wards_add(p->tracee.pid, 0, false);
	err = ptc_tracee_open(&p->tracee);
	if (err)
		return err;
	p->awaits_exec = ptc_child_flags(p->tracee.pid) & CLONE_VM;
	return p->awaits_exec ? ptc_describe(p, NULL) : begin_forked(p);
}

void ptc_flight_follow(struct ptc_flight *f, pid_t tid)
{
	_cleanup_err_ struct err *err = NULL;
	struct ptc_process *p = NULL;

	if (!f->all->follows ||
	    ptc_status_number(tid, tid, "Tgid", 10) != (uint64_t)tid) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return;
	}
	err = ptc_process_create(f->all, tid, &p);
	if (!err)
		err = begin(f, p);
	if (!err) {
		ptrace(PTRACE_CONT, tid, NULL, NULL);
		return;
	}
	log_warn("process %d is not followed: %s", tid, err->message);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	if (p)
		p->has_ended = true; // for us
}

void ptc_flight_sweep(struct ptc_flight *f)
{
	size_t kept = 1;

	for (size_t i = 1; i < f->all->list.size; i++) {
		struct ptc_process *p = f->all->list.data[i];

		if (!p->has_ended) {
			f->all->list.data[kept++] = p;
			continue;
		}
		// Its number may soon be somebody else's.
		ptc_bpf_set_in_flight(f->all->bpf, p->tracee.pid, false);
		ptc_bpf_unprobe(f->all->bpf, p->tracee.pid);
		ptc_wards_forget(p->tracee.pid);
		ptc_past_destroy(p->past);
		ptc_process_destroy(p);
	}
	f->all->list.size = kept;
}
