// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * rdtsc, rdtscp and cpuid trap into SIGSEGV; we execute them in the program's stead and
 * log what it got. Where they cannot trap they are probed instead (probes/chance.c).
 *
 * A trap is two changes of who runs, a probe is none. So what executes rdtsc often has it probed, too
 * (probes/tsc.c), and thread by thread, as it comes to the next, stops trapping. That is exact only as long as all of its
 * code is known: calls that make memory code stop it, and where that is not of a file its threads
 * trap again, for good. What both a trap and the probe behind it tell is logged once, as
 * a thread's time stamps grow.
 */
#define LOG_ROOM "record"
#include <cpuid.h>
#include <string.h>
#include <sys/ptrace.h>
#include <x86intrin.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/tracee/cpuid.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/probes/unprobed.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/inputs/trap.h"

/** As many show that it goes on like that. Probing takes as long as some hundred; on older kernels, whose
 * probes take 0.1 s each at the end, as some hundred thousand. */
#define TRAPS_MANY 256
#define TRAPS_MANY_OLDER (1u << 17)

static void do_cpuid(bool is_portable, struct user_regs_struct *u, struct cap_event *ev)
{
	ev->kind = CAP_EV_CPUID;
	ev->leaf = u->rax;
	ev->subleaf = u->rcx;
	__cpuid_count(ev->leaf, ev->subleaf, ev->cpuid[0], ev->cpuid[1], ev->cpuid[2],
		      ev->cpuid[3]);
	ptc_cpuid_hide(is_portable, ev->leaf, ev->subleaf, ev->cpuid);
	u->rax = ev->cpuid[0];
	u->rbx = ev->cpuid[1];
	u->rcx = ev->cpuid[2];
	u->rdx = ev->cpuid[3];
	u->rip += 2;
}

static void do_tsc(struct user_regs_struct *u, struct cap_event *ev, bool is_rdtscp)
{
	unsigned aux = 0;

	ev->kind = CAP_EV_TSC;
	ev->is_rdtscp = is_rdtscp;
	ev->tsc = is_rdtscp ? __rdtscp(&aux) : __rdtsc();
	ev->tsc_aux = aux;
	u->rax = (uint32_t)ev->tsc;
	u->rdx = ev->tsc >> 32;
	if (is_rdtscp)
		u->rcx = aux;
	u->rip += is_rdtscp ? 3 : 2;
}

/* ---- many ------------------------------------------------------------------------------- */

static void be_probed(struct ptc_process *p)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = NULL;

	// Before its code is looked at: from here on nothing comes to it unseen.
	ptc_bpf_watch_code(p->all->bpf, p->tracee.pid, true);
	err = ptc_maps_read(p->tracee.pid, &maps);
	p->tsc.is_probed = !err && ptc_tsc_probe(&p->probes, &maps);
	p->tsc.was_probed = p->tsc.is_probed;
	p->all->probing.probes_tsc |= p->tsc.is_probed;
	if (!p->tsc.is_probed)
		ptc_bpf_watch_code(p->all->bpf, p->tracee.pid, false);
	log_info("process %d executes rdtsc often: it %s", p->tracee.pid,
		 p->tsc.is_probed ? "is probed" : "traps, as not all code is known");
}

/** Thread @p t has trapped, and got @p tsc. */
static void count_trap(struct ptc_process *p, struct ptc_thread *t, uint64_t tsc)
{
	unsigned many = ptc_bpf_probes_at_once(p->all->bpf) ? TRAPS_MANY :
							      TRAPS_MANY_OLDER;

	t->chance.last_tsc = tsc;
	p->tsc.n_traps++;
	if (p->tsc.n_traps == many && p->log.is_recording)
		be_probed(p);
	if (p->tsc.is_probed)
		ptc_unseen_allow_tsc(p, t);
}

/** All trap again: @p t in the stop in which it is, the others before they execute more. */
static void be_trapped(struct ptc_process *p, const struct ptc_thread *t)
{
	p->tsc.is_probed = false;
	ptc_bpf_watch_code(p->all->bpf, p->tracee.pid, false);
	for (size_t i = 0; i < p->threads.size; i++) {
		struct ptc_thread *other = p->threads.data[i];

		other->unseen.owes_trap = true;
		if (other != t && other->is_attached)
			ptrace(PTRACE_INTERRUPT, other->tid, NULL, NULL);
	}
	log_info("process %d makes code of its own: rdtsc traps", p->tracee.pid);
}

void ptc_trap_code_made(struct ptc_process *p, struct ptc_thread *t)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = NULL;

	if (!t->unseen.has_made_code)
		return;
	t->unseen.has_made_code = false;
	if (!p->tsc.is_probed)
		return;
	err = ptc_maps_read(p->tracee.pid, &maps);
	if (err || !ptc_tsc_probe(&p->probes, &maps))
		be_trapped(p, t);
}

/* ----------------------------------------------------------------------------------------- */

/** The instruction at @p rip, as the program has it: a probe, which may be one of its parent's, executes it
 * elsewhere, where it traps, too. */
static void read_code(const struct ptc_process *p, uint64_t rip, uint8_t code[3])
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct ptc_unprobed memory = { &p->tracee, &(struct ptc_left_out){}, &maps };

	ptc_read_some(&p->tracee, rip, code, 3);
	if (code[0] != PTC_INT3)
		return;
	err_destroy(ptc_maps_read(p->tracee.pid, &maps));
	err_destroy(ptc_unprobed_read(&memory, rip, code, 3));
}

bool ptc_trap(struct ptc_process *p, pid_t tid, const siginfo_t *si)
{
	struct cap_event ev = { .tid = tid, .at_ns = ptc_now_ns() };
	struct user_regs_struct u;
	uint8_t code[3] = {};
	struct ptc_thread *t;

	// Both traps are general protection faults: no address, SI_KERNEL.
	if (si->si_signo != SIGSEGV || si->si_code != SI_KERNEL ||
	    ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return false;
	t = ptc_thread_find(p, tid);
	read_code(p, u.rip, code);
	ev.regs = ptc_to_cap(&u);
	// A probe's: it is not executed behind that.
	if (t && t->chance.rip == u.rip)
		t->chance.rip = 0;
	if (!memcmp(code, "\x0f\xa2", 2) && !(t && t->unseen.forbids_cpuid))
		do_cpuid(p->all->probing.is_portable, &u, &ev);
	else if (t && t->unseen.forbids_tsc)
		return false;
	else if (!memcmp(code, "\x0f\x31", 2))
		do_tsc(&u, &ev, false);
	else if (!memcmp(code, "\x0f\x01\xf9", 3))
		do_tsc(&u, &ev, true);
	else
		return false;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &u))
		return false;
	if (t) {
		ptc_pending_settle(p, t, false);
		ptc_pending_log(p, t, &ev, NULL);
		ptc_unseen_trapped(p, t);
		if (ev.kind == CAP_EV_TSC)
			count_trap(p, t, ev.tsc);
		ptc_pending_resume(t);
	}
	return true;
}

void ptc_trap_cpuid(struct ptc_process *p, struct ptc_thread *t)
{
	struct cap_event ev = { .tid = t->tid, .at_ns = ptc_now_ns() };
	struct user_regs_struct u;
	uint8_t code[2] = {};

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &u))
		return;
	ptc_read_some(&p->tracee, u.rip, code, sizeof(code));
	if (memcmp(code, "\x0f\xa2", 2))
		return;
	ev.regs = ptc_to_cap(&u);
	do_cpuid(p->all->probing.is_portable, &u, &ev);
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &u))
		return;
	t->chance.rip = 0;
	ptc_pending_settle(p, t, false);
	ptc_pending_log(p, t, &ev, NULL);
	ptc_pending_resume(t);
}
