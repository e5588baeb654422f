// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * record -p: a program that runs already. All its threads are stopped, what would make it
 * depend on chance is taken away (vdso.c, undo.c), its state is saved, and it goes
 * on; at the end all of that backwards (doc/attach.md).
 *
 * A thread that waits in a system call has been made to leave it by the stop. Its start
 * state is then the instant before the call, which it makes again; the first, cut short,
 * becomes its first event, as if a signal had come (inputs/assemble.c on restarted calls).
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "pt-collect/start/attach.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/probes/chance.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/tracee/traps.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/start/start.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/undo.h"
#include "pt-collect/probes/unprobed.h"
#include "pt-collect/tracee/vdso.h"

#define RED_ZONE 512 ///< bytes below rsp that are not for us

/* ---- calls that the stop cut short --------------------------------------------------------- */

/** Calls that end with EINTR at once instead of being made again by the kernel. */
static bool is_waiting_call(uint64_t nr)
{
	return nr == __NR_epoll_wait || nr == __NR_epoll_pwait || nr == 441;
}

/** Is a signal on its way that the thread does not block? Then EINTR is meant. */
static bool has_signal(const struct ptc_process *p, pid_t tid)
{
	uint64_t stop = 1ull << (SIGSTOP - 1);
	uint64_t pending = ptc_status_number(p->tracee.pid, tid, "SigPnd", 16) |
			   ptc_status_number(p->tracee.pid, tid, "ShdPnd", 16);

	return pending & ~ptc_status_number(p->tracee.pid, tid, "SigBlk", 16) & ~stop;
}

/* Programs must cope with EINTR there, and some do not. */
struct err *ptc_renew_wait(const struct ptc_process *p, pid_t tid,
			   struct user_regs_struct *u)
{
	if ((int64_t)u->orig_rax < 0 || (int64_t)u->rax != -EINTR ||
	    !is_waiting_call(u->orig_rax) || has_signal(p, tid))
		return NULL;
	u->rip -= 2;
	u->rax = u->orig_rax;
	u->orig_rax = -1;
	if (ptrace(PTRACE_SETREGS, tid, NULL, u))
		return err_errno("cannot set the registers of thread %d", tid);
	return NULL;
}

bool ptc_is_cut_short(const struct user_regs_struct *u)
{
	return (int64_t)u->orig_rax >= 0 && ptc_is_restart(u->rax);
}

#define LOAD_EAX 0xb8 ///< mov eax, imm32
#define LOAD_BYTES 5
#define SYSCALL_BYTES 2

/** The call that was cut short at @p u. One that had been before (we were here already, or
 * its user stopped it) is restart_syscall by now, and only the code says what it was: these
 * are all that the kernel goes on with so. @return restart_syscall when that does not tell. */
static uint64_t call_cut_short(const struct ptc_process *p,
			       const struct user_regs_struct *u)
{
	uint8_t code[LOAD_BYTES];
	uint32_t nr = 0;

	if (u->orig_rax != __NR_restart_syscall)
		return u->orig_rax;
	if (ptc_read_some(&p->tracee, u->rip - SYSCALL_BYTES - LOAD_BYTES, code,
			  sizeof(code)) == sizeof(code) &&
	    code[0] == LOAD_EAX)
		memcpy(&nr, code + 1, sizeof(nr));
	return nr == __NR_futex || nr == __NR_poll || nr == __NR_nanosleep ||
			       nr == __NR_clock_nanosleep ?
		       nr :
		       u->orig_rax;
}

/** The registers from which the replay starts thread @p t. */
static struct cap_regs start_regs(const struct ptc_process *p, struct ptc_thread *t,
				  const struct user_regs_struct *u)
{
	struct cap_regs r = ptc_to_cap(u);

	if (!ptc_is_cut_short(u))
		return r;
	r.gpr[CAP_RAX] = u->orig_rax;
	if ((int64_t)u->rax == -ERESTART_RESTARTBLOCK)
		ptc_bpf_set_restarting(p->all->bpf, t->tid, call_cut_short(p, u));
	t->held = (struct cap_event){ .kind = CAP_EV_SYSCALL,
				      .tid = t->tid,
				      .at_ns = ptc_now_ns(),
				      .regs = r,
				      .ret = u->rax };
	t->has_held = true;
	r.rip -= 2;
	return r;
}

/* ---- the start state ------------------------------------------------------------------------ */

/** The word that the kernel zeroes at the thread's end. It tells that only by writing it
 * to memory of the thread: some of its stack is borrowed. */
static uint64_t clear_child_tid(const struct ptc_process *p, pid_t tid, uint64_t rsp)
{
	uint64_t at = (rsp - RED_ZONE) & -16ull, saved, word = 0;
	_cleanup_err_ struct err *err = NULL;
	long ret = -1;

	if (ptc_read_some(&p->tracee, at, &saved, sizeof(saved)) != sizeof(saved))
		return 0;
	err = ptc_inject(tid, p->tracee.syscall_at, __NR_prctl,
			 (uint64_t[6]){ PR_GET_TID_ADDRESS, at }, &ret);
	if (!err && !ret)
		ptc_read_some(&p->tracee, at, &word, sizeof(word));
	if (!err)
		err = ptc_write(&p->tracee, at, &saved, sizeof(saved));
	return word;
}

static struct err *take_thread(struct ptc_process *p, struct ptc_thread *t,
			       struct cap_thread *c)
{
	struct user_regs_struct u;
	struct err *err = ptc_get_regs(t->tid, &u);
	size_t head_bytes;
	void *head = NULL;

	if (!err)
		err = ptc_take_xstate(t->tid, &c->xstate, &c->xstate_bytes);
	if (err)
		return err;
	c->tid = t->tid;
	c->regs = start_regs(p, t, &u);
	c->clear_child_tid = clear_child_tid(p, t->tid, u.rsp);
	if (!syscall(__NR_get_robust_list, t->tid, &head, &head_bytes))
		c->robust_list = (uintptr_t)head;
	// Handlers that it may be inside of return into what was before us.
	t->n_frames = PTC_FRAMES_UNKNOWN;
	return NULL;
}

static struct err *take_threads(struct ptc_process *p, struct cap_core *core)
{
	struct err *err = NULL;

	core->threads = calloc(p->threads.size + 1, sizeof(*core->threads));
	if (!core->threads)
		return &err_nomem;
	for (size_t i = 0; i < p->threads.size && !err; i++)
		if (p->threads.data[i]->is_at_rest)
			err = take_thread(p, p->threads.data[i],
					  &core->threads[core->n_threads++]);
	if (err)
		return err;
	core->tid = core->threads[0].tid;
	core->regs = core->threads[0].regs;
	core->xstate = core->threads[0].xstate;
	core->xstate_bytes = core->threads[0].xstate_bytes;
	return NULL;
}

/** Memory that others write into is not all recorded; io_uring's and AIO's are not at all. */
static void tell_what_is_shared(struct ptc_process *p, const struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];

		if (strstr(m->name, "[io_uring]"))
			ptc_log_gap(&p->log, p->tracee.pid,
				    "the program uses io_uring, which is not recorded");
		else if (!strncmp(m->name, "/[aio]", 6))
			ptc_log_gap(&p->log, p->tracee.pid,
				    "the program uses native asynchronous I/O, which is "
				    "not recorded");
		else if (ptc_is_shared_memory(m) && m->prot & PROT_WRITE)
			ptc_log_gap(&p->log, p->tracee.pid,
				    "shared memory at 0x%llx (%s): what others write "
				    "there is %s",
				    (unsigned long long)m->start, m->name,
				    ptc_shared_watch(p, m->start, m->end - m->start));
	}
}

/** The thread that is first in the start state. */
static pid_t first_resting(const struct ptc_process *p)
{
	for (size_t i = 0; i < p->threads.size; i++)
		if (p->threads.data[i]->is_at_rest)
			return p->threads.data[i]->tid;
	return p->tracee.pid;
}

static struct err *save_state(struct ptc_process *p, const struct ptc_maps *maps,
			      struct ptc_stopped *ret)
{
	_cleanup_(ptc_core_destroyp) struct cap_core *core = NULL;
	// A recorder that has just left, or another one, has breakpoints in its code.
	struct ptc_unprobed memory = { &p->tracee, &p->left_out, maps };
	struct err *err = ptc_core_create(&p->tracee, &core);
	long brk = 0;

	if (err)
		return err;
	err = take_threads(p, core);
	if (!err)
		err = ptc_inject(p->tracee.pid, p->tracee.syscall_at, __NR_brk,
				 (uint64_t[6]){}, &brk);
	core->brk = brk;
	if (!err)
		err = ptc_recall_auxv(p->tracee.pid, true, core);
	if (!err)
		err = ptc_take_mappings(p, maps, core);
	if (!err)
		err = cap_writer_core(p->log.writer, core, ptc_unprobed_read, &memory);
	ret->n_threads = core->n_threads;
	for (size_t i = 0; i < core->n_mappings; i++)
		ret->saved_bytes += core->mappings[i].core_bytes;
	return err;
}

/* ---- attaching ------------------------------------------------------------------------------ */

/** All threads rest: make the program what we can replay. */
static struct err *change(struct ptc_process *p, const struct ptc_maps *maps)
{
	struct ptc_vdso vdso;
	struct err *err = ptc_vdso_find(&p->tracee, maps, &vdso);

	if (!err)
		err = ptc_undo_begin(&vdso);
	for (size_t i = 0; i < p->threads.size && !err; i++)
		if (p->threads.data[i]->is_at_rest)
			err = ptc_undo_add(p->threads.data[i]->tid);
	if (err)
		return err;
	ptc_undo_announce(p->tracee.pid);
	for (size_t i = 0; i < p->threads.size && !err; i++) {
		struct user_regs_struct u;
		pid_t tid = p->threads.data[i]->tid;

		if (!p->threads.data[i]->is_at_rest)
			continue;
		if (p->threads.data[i]->is_in_group_stop)
			return err_new(ERR_UNSUPPORTED,
				       "it is stopped (kill -CONT %d "
				       "lets it go on)",
				       p->tracee.pid);
		if (p->threads.data[i]->is_filtered)
			return err_new(ERR_PERMISSION,
				       "it runs under a seccomp filter: attaching to it "
				       "needs CAP_SYS_ADMIN");
		// In this order: on its way out it may have begun a call.
		err = ptc_vdso_leave(tid, &vdso);
		if (!err)
			err = ptc_get_regs(tid, &u);
		if (!err)
			err = ptc_renew_wait(p, tid, &u);
	}
	p->tracee.syscall_at = vdso.gate;
	if (!err)
		err = ptc_vdso_divert(&p->tracee, &vdso);
	for (size_t i = 0; i < p->threads.size && !err; i++)
		if (p->threads.data[i]->is_at_rest) {
			struct ptc_thread *t = p->threads.data[i];

			ptc_unseen_begin(t, &t->unseen);
			err = ptc_undo_change(&p->tracee, t->tid);
		}
	ptc_unseen_process(p, false);
	return err;
}

struct err *ptc_attach_change_back(struct ptc_process *p)
{
	struct err *err = NULL;
	struct ptc_vdso vdso;

	ptc_undo_vdso(&vdso);
	for (size_t i = 0; i < p->threads.size; i++) {
		struct ptc_thread *t = p->threads.data[i];
		struct user_regs_struct u;
		struct err *one;

		if (!t->is_at_rest)
			continue;
		ptc_drop_signals(p, t);
		one = ptc_undo_call(t->tid);
		if (!one && vdso.gate)
			one = ptc_vdso_leave(t->tid, &vdso);
		if (!one)
			one = ptc_get_regs(t->tid, &u);
		if (!one)
			one = ptc_renew_wait(p, t->tid, &u);
		if (!one && p->tracee.syscall_at)
			one = ptc_undo_thread(t->tid);
		if (err)
			err_destroy(one);
		else
			err = one;
	}
	if (!err && p->tracee.syscall_at)
		err = ptc_vdso_restore(&p->tracee, &vdso);
	return err;
}

bool ptc_attach_is_late(const struct ptc_process *p)
{
	_cleanup_free_ char *exe = ptc_proc_link(p->tracee.pid, "exe");

	return exe && *exe && strcmp(exe, p->tracee.exe);
}

struct err *ptc_attach_start(struct ptc_process *p, struct ptc_stopped *ret)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	// That takes long, so it is done while the program still runs.
	struct err *err = ptc_files_keep_all(p);
	uint64_t from_ns;

	if (err)
		return err;
	from_ns = ptc_now_ns();
	err = ptc_freeze(p, false);
	if (!err && ptc_attach_is_late(p))
		err = err_new(ERR_OS, "it executes one program after the other");
	if (!err)
		err = ptc_maps_read(p->tracee.pid, &maps);
	if (!err)
		err = change(p, &maps);
	if (!err)
		tell_what_is_shared(p, &maps);
	if (!err)
		err = save_state(p, &maps, ret);
	if (!err && ret->n_threads > 1)
		err = ptc_threads_attach(p, first_resting(p));
	if (err) {
		ptc_threads_end(p);
		err_destroy(ptc_attach_change_back(p));
		ptc_undo_end();
		ptc_thaw(p, true, 0);
		return err_prefix(err, "cannot attach to process %d", p->tracee.pid);
	}
	ptc_pt_begin(&p->pt);
	ptc_bpf_set_recorded(p->all->bpf, p->tracee.pid, p->log.is_recording);
	// Not before: what a probe writes into the code would be saved with it. An rdtsc that does not trap must not
	// be missed; of the others there are few, and the program need not wait.
	if (!ptc_can_trap_tsc())
		ptc_chance_start(&p->probes, &maps);
	ptc_thaw(p, false, PTC_TRACE_OPTIONS);
	ret->ns = ptc_now_ns() - from_ns;
	if (ptc_can_trap_tsc())
		ptc_chance_start(&p->probes, &maps);
	ptc_files_probe(p, &maps);
	return NULL;
}

void ptc_attach_end(struct ptc_family *f, struct ptc_process *p)
{
	_cleanup_err_ struct err *err = p->is_left ? NULL : ptc_freeze(p, true);

	ptc_child_await(f, p);
	if (p->is_left)
		return;
	ptc_bpf_set_recorded(p->all->bpf, p->tracee.pid, false);
	ptc_bpf_drain(p->all->bpf);
	// What an instruction of chance gave is told when its thread stops: that is now, perhaps.
	for (size_t i = 0; i < p->threads.size && !err; i++)
		ptc_chance_stopped(&p->probes, p->threads.data[i]->tid,
				   &p->threads.data[i]->chance);
	if (!err)
		ptc_threads_left_log(p);
	ptc_threads_end(p);
	if (!err)
		err = ptc_attach_change_back(p);
	if (!err)
		ptc_undo_end();
	if (err)
		log_warn("cannot leave process %d as it was: %s", p->tracee.pid,
			 err->message);
	ptc_thaw(p, true, 0);
}

void ptc_attach_executed(struct ptc_process *p)
{
	_cleanup_err_ struct err *err = NULL;

	ptc_bpf_drain(p->all->bpf);
	// What was changed in the old image is gone with it.
	ptc_undo_end();
	err = ptc_free_program(p);
	if (err)
		log_warn("cannot leave process %d as it was: %s", p->tracee.pid,
			 err->message);
	ptrace(PTRACE_DETACH, p->tracee.pid, NULL, NULL);
	log_warn("process %d executes another program: the recording ends there",
		 p->tracee.pid);
	p->is_left = true;
}
