// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A snapshot of the flight recorder's: all threads stand still, what the rings hold and the
 * core of that instant are written, they go on, and the bundle is finished.
 */
#define LOG_ROOM "record"
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "pt-collect/start/attach.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/flight/flight_int.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/tracee/tracee.h"

#define PROBE_STEPS 32 ///< more than the kernel's code of a probe has instructions

/** Of the first it is what the user said; then DIR.2, DIR.3, ... */
static char *dir_of(const struct ptc_flight *f)
{
	char *dir;

	if (!f->n_snapshots)
		return strdup(f->wants.dir);
	return asprintf(&dir, "%s.%u", f->wants.dir, f->n_snapshots + 1) < 0 ? NULL : dir;
}

/** Where the kernel has code of probes in the process. */
static struct ptc_range probe_code(struct ptc_process *p)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = ptc_maps_read(p->tracee.pid, &maps);
	const struct ptc_map *m = err ? NULL : ptc_maps_find(&maps, "[uprobes]");

	return m ? (struct ptc_range){ m->start, m->end } : (struct ptc_range){};
}

/** Resting thread @p t may stand in the code by which a probe sees that a function
 * returns: lead it out, to where it would be without. */
static void leave_probe(struct ptc_thread *t, struct ptc_range code)
{
	struct user_regs_struct u;
	int status;

	for (int n = 0; n < PROBE_STEPS; n++) {
		if (ptrace(PTRACE_GETREGS, t->tid, NULL, &u) || u.rip < code.start ||
		    u.rip >= code.end || ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL) ||
		    ptc_wait(t->tid, &status) != t->tid || !WIFSTOPPED(status))
			return;
		if (WSTOPSIG(status) == SIGTRAP)
			continue;
		t->held_signal = status >> 16 ? 0 : WSTOPSIG(status);
		return;
	}
}

/** All that changes when the program goes on. */
static struct err *write_now(struct ptc_process *p, struct cap_info *info,
			     const siginfo_t *si)
{
	struct ptc_past *past = p->past;
	_cleanup_free_ struct ptc_patch *patches = NULL;
	struct ptc_range code = probe_code(p);
	struct err *err;
	size_t n;

	for (size_t i = 0; i < p->threads.size; i++)
		if (p->threads.data[i]->is_at_rest && !p->threads.data[i]->held_signal)
			leave_probe(p->threads.data[i], code);
	ptc_bpf_drain(p->all->bpf);
	info->end_core.at_ns = ptc_now_ns();
	err = ptc_heap_ring_patches(past->ring, &patches, &n);
	if (!err)
		err = ptc_end_write(p, &info->end_core, si, patches, n);
	if (!err)
		ptc_pt_write_snapshot(&p->pt, info);
	return err ?: ptc_rings_write(past->ring, past->stores, p->log.writer, info);
}

static struct err *finish(struct ptc_process *p, struct cap_info *info, uint64_t *bytes)
{
	struct err *err = take_ptr(&p->log.failure);

	if (err)
		return err;
	ptc_describe_recorded(p, info);
	ptc_stores_tell_gaps(&p->probes);
	info->end = info->end_core.signo ? CAP_END_SIGNAL : CAP_END_DETACHED;
	info->end_value = info->end_core.signo;
	return cap_writer_finish(p->log.writer, info, bytes);
}

/** All threads rest, or as many as can (@p restless says why not all, or is NULL). */
static struct err *write_snapshot(struct ptc_process *p, struct cap_info *info,
				  const siginfo_t *si, const char *restless,
				  uint64_t *bytes)
{
	_cleanup_free_ char *dir = dir_of(p->past->flight);
	struct err *err = dir ? NULL : &err_nomem;

	if (!err && !p->log.writer)
		err = cap_writer_create(dir, &p->log.writer);
	if (!err)
		cap_writer_set_mask(p->log.writer, p->left_out.wanted->mask);
	p->log.is_recording = !err;
	if (!err && restless)
		ptc_log_gap(&p->log, p->tracee.pid,
			    "memory changed while it was saved: %s", restless);
	if (!err)
		err = write_now(p, info, si);
	ptc_thaw(p, false, ptc_flight_options(p->past->flight));
	if (!err)
		err = finish(p, info, bytes);
	if (!err)
		err = cap_writer_give(p->log.writer);
	if (!err && p->past->flight->wants.on_snapshot)
		p->past->flight->wants.on_snapshot(dir, info, *bytes);
	return err;
}

void ptc_flight_snapshot(struct ptc_process *p, const struct cap_end_core *end,
			 const siginfo_t *si)
{
	struct ptc_flight *f = p->past->flight;
	// Borrowed from p->info but for `missing', which the writer adds.
	struct cap_info info = p->info;
	_cleanup_err_ struct err *err = ptc_freeze(p, true);
	_cleanup_free_ char *restless = NULL;
	uint64_t bytes;

	// A thread that waits for a vfork child does not stop; the crash of another one is
	// still worth keeping.
	if (err && !p->has_ended) {
		restless = strdup(err->message);
		err_destroy(take_ptr(&err));
	}

	info.mode = CAP_MODE_FLIGHT;
	info.end_core = *end;
	info.exe = p->tracee.exe;
	if (!err)
		err = write_snapshot(p, &info, si, restless, &bytes);
	else
		ptc_thaw(p, false, ptc_flight_options(p->past->flight));
	for (size_t i = 0; i < info.n_missing; i++)
		free(info.missing[i]);
	free(info.missing);
	cap_pt_deinit(&info.pt);
	p->log.is_recording = false;
	if (err && err->code == ERR_NOT_FOUND && p->has_ended)
		return;
	cap_writer_destroy(take_ptr(&p->log.writer));
	f->n_snapshots++;
	if (!err)
		return;
	fprintf(stderr, "faultline: cannot take a snapshot: %s\n", err->message);
	if (!f->failure)
		f->failure = take_ptr(&err);
}
