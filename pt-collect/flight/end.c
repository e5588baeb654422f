// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * end.core: registers and memory of a process whose threads rest, as start.core has them of
 * its beginning, without the traces of our own: breakpoints that probes wrote into the code,
 * return addresses that they replaced, waits that our stop cut short.
 */
#define LOG_ROOM "record"
#include <string.h>
#include <sys/syscall.h>

#include "pt-collect/start/attach.h"
#include "pt-collect/flight/flight.h"
#include "pt-collect/probes/heap.h"
#include "pt-collect/start/start.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/probes/unprobed.h"

/* ---- threads -------------------------------------------------------------------------- */

static struct err *take_thread(const struct ptc_process *p, const struct ptc_thread *t,
			       struct cap_thread *c)
{
	struct user_regs_struct u;
	struct err *err = ptc_get_regs(t->tid, &u);
	size_t head_bytes;
	void *head = NULL;

	if (!err && !t->held_signal)
		err = ptc_renew_wait(p, t->tid, &u);
	if (!err)
		err = ptc_take_xstate(t->tid, &c->xstate, &c->xstate_bytes);
	if (err)
		return err;
	c->tid = t->tid;
	c->regs = ptc_to_cap(&u);
	if (ptc_is_cut_short(&u)) {
		c->regs.gpr[CAP_RAX] = u.orig_rax;
		c->regs.rip -= 2;
	}
	if (!syscall(SYS_get_robust_list, t->tid, &head, &head_bytes))
		c->robust_list = (uintptr_t)head;
	return NULL;
}

/** All that rest, @p first first. One that ended meanwhile is not there. */
static struct err *take_threads(const struct ptc_process *p, pid_t first,
				struct cap_core *core)
{
	core->threads = calloc(p->threads.size + 1, sizeof(*core->threads));
	if (!core->threads)
		return &err_nomem;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->threads.size; i++) {
			const struct ptc_thread *t = p->threads.data[i];
			struct cap_thread *c = &core->threads[core->n_threads];
			_cleanup_err_ struct err *err = NULL;

			if (!t->is_at_rest || (t->tid == first) != !pass)
				continue;
			err = take_thread(p, t, c);
			if (!err)
				core->n_threads++;
			else
				log_info("thread %d: %s", t->tid, err->message);
		}
	return core->n_threads ? NULL : err_new(ERR_NOT_FOUND, "no thread of it is left");
}

/* ---- memory --------------------------------------------------------------------------- */

/** What reading memory for the core takes. */
struct reading {
	struct ptc_unprobed code;
	const struct ptc_patch *patches;
	size_t n_patches;
};

static struct err *read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct reading *r = ctx;
	struct err *err = ptc_unprobed_read(&r->code, addr, buf, size);

	if (err)
		return err;
	for (size_t i = 0; i < r->n_patches; i++) {
		const struct ptc_patch *patch = &r->patches[i];

		if (patch->addr >= addr && size >= 8 && patch->addr - addr <= size - 8)
			memcpy((uint8_t *)buf + (patch->addr - addr), &patch->value, 8);
	}
	return NULL;
}

static struct err *write_core(struct ptc_process *p, const struct cap_end_core *end,
			      struct cap_core *core, struct reading *r)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = take_threads(p, end->tid, core);

	if (!err)
		err = ptc_maps_read(p->tracee.pid, &maps);
	if (!err)
		err = ptc_recall_auxv(p->tracee.pid, true, core);
	if (err)
		return err;
	core->brk = ptc_find_break(p->tracee.pid, &maps);
	r->code = (struct ptc_unprobed){ &p->tracee, &p->left_out, &maps };
	err = ptc_take_mappings(p, &maps, core);
	return err ?: cap_writer_core(p->log.writer, core, read_memory, r);
}

struct err *ptc_end_write(struct ptc_process *p, const struct cap_end_core *end,
			  const siginfo_t *si, const struct ptc_patch *patches, size_t n)
{
	_cleanup_(ptc_core_destroyp) struct cap_core *core = NULL;
	struct reading r = { .patches = patches, .n_patches = n };
	struct err *err = ptc_core_create(&p->tracee, &core);

	if (err)
		return err;
	core->is_end = true;
	core->siginfo = si ? calloc(1, sizeof(*si)) : NULL;
	if (si && !core->siginfo)
		return &err_nomem;
	if (si)
		memcpy(core->siginfo, si, sizeof(*si));
	err = write_core(p, end, core, &r);
	if (err || !p->all->probing.in_flight)
		return err; // files have their numbers
	ptc_heap_renumber(&p->probes, core);
	ptc_stores_renumber(&p->probes, core);
	return NULL;
}

void ptc_end_take(struct ptc_process *p, pid_t tid, const siginfo_t *si)
{
	struct ptc_thread *t = ptc_thread_find(p, tid);
	struct ptc_thread *first = ptc_thread_find(p, p->tracee.pid);
	struct cap_end_core *end = &p->info.end_core;
	_cleanup_err_ struct err *err = NULL;

	if (!t || !first || end->reason || !p->log.is_recording)
		return;
	// Ours from its launch on, and already standing.
	first->is_attached = t->is_attached = true;
	t->is_asked = t->is_at_rest = true;
	t->held_signal = si->si_signo;
	err = ptc_freeze(p, true);
	*end = (struct cap_end_core){ .reason = CAP_END_CORE_CRASH,
				      .at_ns = ptc_now_ns(),
				      .tid = tid,
				      .signo = si->si_signo,
				      .address = (uintptr_t)si->si_addr };
	if (!err)
		err = ptc_end_write(p, end, si, NULL, 0);
	if (err) {
		end->reason = CAP_END_CORE_NONE;
		ptc_log_gap(&p->log, tid, "no end.core: %s", err->message);
	}
	// Its own stop ends as if we had not been here.
	t->is_asked = t->is_at_rest = false;
	t->held_signal = 0;
	ptc_thaw(p, false, PTC_TRACE_OPTIONS);
}
