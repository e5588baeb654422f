// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The flight recorder: the program runs as it would by itself, watched by ptrace for its
 * threads and deadly signals only; its allocator calls go round in a ring of ours, PT in
 * one of the kernel's. A snapshot stops all threads, writes what the rings hold and the
 * core of that instant, and lets them go on.
 */
#define LOG_ROOM "record"
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "pt-collect/inputs/assemble.h"
#include "pt-collect/start/attach.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/flight/flight_int.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/probes/heap.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/start/start.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/probes/symbol.h"

#define ENTRY_BYTES 64 ///< of a function, in which its probe goes

struct err *ptc_flight_create(const struct ptc_flight_wants *wants,
			      struct ptc_processes *all, struct ptc_flight **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return &err_nomem;
	(*ret)->wants = *wants;
	(*ret)->all = all;
	return NULL;
}

void ptc_flight_destroy(struct ptc_flight *f)
{
	if (f)
		err_destroy(f->failure);
	free(f);
}

struct err *ptc_past_begin(struct ptc_flight *f, struct ptc_process *p)
{
	const struct ptc_probing *probing = &f->all->probing;
	struct err *err;

	p->past = calloc(1, sizeof(*p->past));
	if (!p->past)
		return &err_nomem;
	p->past->flight = f;
	err = ptc_heap_ring_create(probing->wants_heap ? f->wants.bytes : 0,
				   &p->past->ring);
	return err   ?:
		       ptc_store_ring_create(probing->stores->is_wanted ? f->wants.bytes :
									  0,
					     &p->past->stores);
}

void ptc_past_destroy(struct ptc_past *past)
{
	if (!past)
		return;
	ptc_heap_ring_destroy(past->ring);
	ptc_store_ring_destroy(past->stores);
	free(past);
}

static void take_store(struct ptc_process *p, const struct rec_store *rec)
{
	struct ptc_thread *t = ptc_thread_find(p, rec->head.tid);
	struct cap_event ev;

	if (!t)
		return;
	if (ptc_stores_event(&p->probes, &t->now, rec, &ev))
		ptc_store_ring_add(p->past->stores, &ev,
				   ptc_heap_ring_count(p->past->ring));
	ptc_writes_clear(&t->now);
}

/** Memory that the store probe reads which follows. */
static void take_chunk(struct ptc_process *p, const struct rec_chunk *rec)
{
	struct ptc_thread *t = ptc_thread_find(p, rec->head.tid);

	if (t)
		ptc_writes_add(&t->now, rec->addr, rec + 1, rec->size);
}

void ptc_flight_take(struct ptc_process *p, void *rec)
{
	const struct rec_head *head = rec;
	struct ptc_flight *f = p->past ? p->past->flight : NULL;

	if (!f)
		return;
	switch (head->kind) {
	case REC_HEAP:
	case REC_HEAP_DONE:
		ptc_heap_ring_add(p->past->ring, rec);
		break;
	case REC_CHUNK:
		take_chunk(p, rec);
		break;
	case REC_STORE:
		take_store(p, rec);
		break;
	case REC_TRIGGER:
		if (f->has_fired)
			break;
		f->has_fired = true;
		p->past->triggered = head->tid;
		p->past->triggered_at = ((const struct rec_trigger *)rec)->rip;
		break;
	}
}

/* ---- probes --------------------------------------------------------------------------- */

/** Is mapping @p m of the file that FUNC@FILE names? Without FILE every one is. */
static bool is_wanted(const char *file, const struct ptc_map *m)
{
	return !file || !strcmp(m->name, file) ||
	       !strncmp(basename(m->name), file, strlen(file));
}

static struct err *probe_trigger(struct ptc_process *p, const char *path,
				 const char *name, uint64_t offset)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t code[ENTRY_BYTES];
	ssize_t n = fd < 0 ? -1 : pread(fd, code, sizeof(code), offset);
	unsigned behind;

	if (n < 0)
		return err_errno("cannot read '%s'", path);
	if (!ptc_site_enter(code, n, &behind))
		return err_new(ERR_UNSUPPORTED,
			       "no probe can be on the first instructions of '%s'", name);
	return ptc_bpf_probe_trigger(p->all->bpf, p->tracee.pid, path, offset + behind);
}

/** Probe the trigger where it is found: in the program first, then in what it maps. */
static void place_trigger(struct ptc_process *p, const struct ptc_maps *maps)
{
	struct ptc_flight *f = p->past->flight;
	_cleanup_free_ char *name = f->wants.trigger ? strdup(f->wants.trigger) : NULL;
	char *at = name ? strchr(name, '@') : NULL;

	if (at)
		*at++ = 0;
	for (size_t i = 0; name && !p->past->is_trigger_placed && i < maps->list.size;
	     i++) {
		const struct ptc_map *m = maps->list.data[i];
		_cleanup_err_ struct err *err = NULL;
		struct ptc_symbol symbol;

		if (m->name[0] != '/' || !(m->prot & PROT_EXEC) || !is_wanted(at, m))
			continue;
		err = ptc_symbol_find(m->name, name, &symbol);
		if (!err)
			err = probe_trigger(p, m->name, name, symbol.offset);
		else
			continue;
		if (err)
			log_warn("no trigger: %s", err->message);
		p->past->is_trigger_placed = f->was_trigger_placed = true;
	}
}

/** Hand all mapped code to @p probe. */
static void probe_code(struct ptc_process *p, const struct ptc_maps *maps,
		       void (*probe)(struct ptc_probes *x, const char *path,
				     uint32_t file, bool is_exe))
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];

		if (m->name[0] == '/' && m->prot & PROT_EXEC)
			probe(&p->probes, m->name, 0, !strcmp(m->name, p->tracee.exe));
	}
}

/** @return whether the program has its libraries. */
static bool place_probes(struct ptc_process *p)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = ptc_maps_read(p->tracee.pid, &maps);
	size_t n;

	if (!err) {
		probe_code(p, &maps, ptc_heap_mapped);
		place_trigger(p, &maps);
	}
	ptc_heap_sites(&p->probes, &n);
	return n || !p->all->probing.wants_heap;
}

/** Planning takes seconds where there is much code. */
static void place_stores(struct ptc_process *p)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = ptc_maps_read(p->tracee.pid, &maps);

	if (!err)
		probe_code(p, &maps, ptc_stores_mapped);
}

static void tell_trigger(const struct ptc_flight *f)
{
	if (f->wants.trigger && !f->was_trigger_placed)
		log_warn("no trigger: no function '%s' in the program or its libraries",
			 f->wants.trigger);
}

/** The probes are where they can be: is that where the user wants them? Followed programs
 * may yet have the function. */
static void probes_placed(struct ptc_process *p)
{
	p->past->awaits_probes = false;
	if (!p->all->follows)
		tell_trigger(p->past->flight);
}

void ptc_flight_probe(struct ptc_process *p)
{
	place_probes(p);
	place_stores(p);
	probes_placed(p);
}

/** The program stands before its first instruction: have it stop at its entry point. (Not by a debug register: some
 * hypervisors take their values, and do nothing.) */
static void await_entry(struct ptc_process *p)
{
	struct ptc_past *past = p->past;
	struct cap_core core = {};
	_cleanup_err_ struct err *err = ptc_recall_auxv(p->tracee.pid, true, &core);

	past->awaits_probes = true;
	past->entry = 0;
	for (size_t i = 0; !err && i < core.n_auxv; i++)
		if (core.auxv[2 * i] == AT_ENTRY)
			past->entry = core.auxv[2 * i + 1];
	free(core.auxv);
	if (!err && past->entry)
		err = ptc_read(&p->tracee, past->entry, &past->entry_byte, 1);
	if (!err && past->entry)
		err = ptc_write(&p->tracee, past->entry, &(uint8_t){ PTC_INT3 }, 1);
	if (err) {
		log_info("no stop at the entry point: %s", err->message);
		past->entry = 0;
	}
}

/** @return whether thread @p tid stands behind the breakpoint at the entry point, which is gone then, and the thread
 * where it was. */
static bool takes_entry(struct ptc_process *p, pid_t tid)
{
	struct user_regs_struct u;
	_cleanup_err_ struct err *err = ptc_get_regs(tid, &u);

	if (err || !p->past->entry || u.rip != p->past->entry + 1)
		return false;
	u.rip = p->past->entry;
	err = ptc_write(&p->tracee, u.rip, &p->past->entry_byte, 1);
	p->past->entry = 0;
	return !err && !ptrace(PTRACE_SETREGS, tid, NULL, &u);
}

/* ---- snapshots ------------------------------------------------------------------------ */

void ptc_flight_request(struct ptc_flight *f)
{
	f->is_requested = true;
}

/** Of one that does not stop at its entry point. */
static void probe_late(struct ptc_process *p)
{
	if (p->past->awaits_probes && !p->past->entry && !p->has_ended &&
	    place_probes(p)) {
		place_stores(p);
		probes_placed(p);
	}
}

void ptc_flight_step(struct ptc_flight *f)
{
	const struct cap_end_core end = { .reason = CAP_END_CORE_REQUEST };
	bool is_requested = f->is_requested;

	ptc_flight_sweep(f);
	f->is_requested = false;
	// Processes may begin meanwhile; none is forgotten.
	for (size_t i = 0; i < f->all->list.size; i++) {
		struct ptc_process *p = f->all->list.data[i];

		probe_late(p);
		if (is_requested && !p->has_ended && !p->awaits_exec)
			ptc_flight_snapshot(p, &end, NULL);
	}
}

/* ---- stops ------------------------------------------------------------------------------- */

/** It waits with that signal, if any, until the snapshot is taken. */
static void rest(struct ptc_thread *t, int signo)
{
	t->is_asked = t->is_at_rest = true;
	t->is_in_group_stop = false;
	t->held_signal = signo;
}

static void on_crash(struct ptc_process *p, struct ptc_thread *t, const siginfo_t *si)
{
	const struct cap_end_core end = { .reason = CAP_END_CORE_CRASH,
					  .tid = t->tid,
					  .signo = si->si_signo,
					  .address = (uintptr_t)si->si_addr };

	rest(t, si->si_signo);
	ptc_flight_snapshot(p, &end, si);
}

static void on_trigger(struct ptc_process *p, struct ptc_thread *t)
{
	const struct ptc_flight *f = p->past->flight;
	const struct cap_end_core end = { .reason = CAP_END_CORE_TRIGGER,
					  .tid = t->tid,
					  .address = p->past->triggered_at,
					  .function = (char *)f->wants.trigger };

	p->past->triggered = 0;
	rest(t, 0);
	ptc_flight_snapshot(p, &end, NULL);
}

static void on_entry(struct ptc_process *p, pid_t tid)
{
	ptc_flight_probe(p);
	ptrace(PTRACE_CONT, tid, NULL, NULL);
}

static void on_signal(struct ptc_process *p, struct ptc_thread *t, int signo)
{
	bool is_freezing = t->is_asked;
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &si)) {
		ptrace(PTRACE_CONT, t->tid, NULL, (long)signo);
	} else if (signo == SIGTRAP && takes_entry(p, t->tid)) {
		on_entry(p, t->tid);
	} else if (signo == SIGSTOP && si.si_code == SI_KERNEL) {
		// Ours: it waits until the ring is empty, which it is; or is the trigger.
		if (t->tid == p->past->triggered && !is_freezing)
			on_trigger(p, t);
		else
			ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	} else if (!ptc_signal_kills(p->tracee.pid, t->tid, &si)) {
		ptrace(PTRACE_CONT, t->tid, NULL, (long)signo);
	} else if (is_freezing) {
		rest(t, signo); // another snapshot's
	} else {
		on_crash(p, t, &si);
	}
}

/** Other threads are gone, and so are the breakpoints. */
static void on_exec(struct ptc_process *p, pid_t tid)
{
	_cleanup_err_ struct err *err = NULL;

	for (size_t i = 0; i < p->threads.size; i++)
		if (p->threads.data[i]->tid != p->tracee.pid) {
			ptc_thread_destroy(p->threads.data[i]);
			p->threads.data[i--] = p->threads.data[--p->threads.size];
		}
	err = ptc_tracee_open(&p->tracee);
	if (!err)
		err = ptc_describe(p, NULL);
	if (err)
		log_warn("process %d is not recorded from its exec on: %s", p->tracee.pid,
			 err->message);
	if (!p->tracee.exe)
		p->tracee.exe = strdup("");
	p->n_execs++;
	p->awaits_exec = p->past->is_trigger_placed = false;
	ptc_bpf_set_in_flight(p->all->bpf, p->tracee.pid, !err);
	if (!err) {
		ptc_tell_setuid(p->tracee.pid, p->tracee.exe);
		ptc_pt_begin(&p->pt);
		await_entry(p);
	}
	ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/** The first stop of a thread, or of a process. */
static void on_new(struct ptc_flight *f, pid_t tid, int status)
{
	pid_t pid = ptc_status_number(tid, tid, "Tgid", 10);
	struct ptc_process *p = ptc_process_of(f->all, pid);
	struct ptc_thread *t = p ? ptc_thread_find(p, tid) : NULL;

	if (!p) {
		ptc_flight_follow(f, tid);
		return;
	}
	if (t)
		t->is_attached = true;
	ptc_pt_thread_born(&p->pt, tid);
	ptrace(PTRACE_CONT, tid, NULL, (long)(status >> 16 ? 0 : WSTOPSIG(status)));
}

void ptc_flight_stop(struct ptc_flight *f, pid_t tid, int status)
{
	struct ptc_process *p = ptc_process_of(f->all, tid);
	struct ptc_thread *t = p ? ptc_thread_find(p, tid) : NULL;

	if (!t) {
		on_new(f, tid, status);
		return;
	}
	switch (status >> 16) {
	case 0:
		on_signal(p, t, WSTOPSIG(status));
		return;
	case PTRACE_EVENT_EXEC:
		on_exec(p, tid);
		return;
	case PTRACE_EVENT_STOP:
		if (WSTOPSIG(status) != SIGTRAP) {
			ptc_wards_stopped(p->tracee.pid, true);
			ptrace(PTRACE_LISTEN, tid, NULL, NULL);
			return;
		}
		ptc_wards_stopped(p->tracee.pid, false);
		break;
	case PTRACE_EVENT_EXIT:
		ptc_heap_ring_forget(p->past->ring, tid);
		break;
	}
	ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static void renew_waits(struct ptc_process *p)
{
	for (size_t i = 0; i < p->threads.size; i++) {
		const struct ptc_thread *t = p->threads.data[i];
		_cleanup_err_ struct err *err = NULL;
		struct user_regs_struct u;

		if (!t->is_at_rest)
			continue;
		err = ptc_get_regs(t->tid, &u);
		if (!err)
			err = ptc_renew_wait(p, t->tid, &u);
	}
}

static struct err *attach(struct ptc_flight *f, struct ptc_process *p,
			  struct ptc_stopped *ret)
{
	uint64_t from_ns = ptc_now_ns();
	struct err *err = ptc_freeze(p, false);

	if (err) {
		ptc_thaw(p, true, 0);
		return err_prefix(err, "cannot attach to process %d", p->tracee.pid);
	}
	ptc_bpf_set_in_flight(p->all->bpf, p->tracee.pid, true);
	ptc_pt_begin(&p->pt);
	place_probes(p);
	probes_placed(p);
	renew_waits(p);
	ret->n_threads = p->threads.size;
	ptc_thaw(p, false, ptc_flight_options(f));
	ret->ns = ptc_now_ns() - from_ns;
	place_stores(p); // it need not wait for that
	return NULL;
}

unsigned long ptc_flight_options(const struct ptc_flight *f)
{
	unsigned long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
				PTRACE_O_TRACECLONE;

	if (f->all->follows)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	return options;
}

struct err *ptc_flight_start(struct ptc_flight *f, struct ptc_process *p,
			     struct ptc_stopped *ret)
{
	struct ptc_thread *first = ptc_thread_find(p, p->tracee.pid);
	struct err *err = first ? ptc_past_begin(f, p) : &err_nomem;

	if (err)
		return err;
	ptc_wards_add(p->tracee.pid, 0, !p->all->is_attached);
	// Whichever process is first to have a snapshot gets the directory. Copying files takes
	// long: a crash should not have to wait for it.
	if (p->all->follows)
		cap_writer_remove(take_ptr(&p->log.writer));
	else
		err = ptc_files_keep_all(p) ?: take_ptr(&p->log.failure);
	p->log.is_recording = false; // but while a snapshot is taken
	if (err)
		return err;
	if (p->all->is_attached)
		return attach(f, p, ret);
	first->is_attached = true;
	ptc_bpf_set_in_flight(p->all->bpf, p->tracee.pid, true);
	await_entry(p);
	return NULL;
}

/* Let @p p, which runs, go on without us; nothing when it has ended. */
static void leave(struct ptc_process *p)
{
	_cleanup_err_ struct err *err = NULL;

	if (p->has_ended)
		return;
	err = ptc_freeze(p, true);
	ptc_bpf_set_in_flight(p->all->bpf, p->tracee.pid, false);
	ptc_bpf_drain(p->all->bpf);
	renew_waits(p);
	for (size_t i = 0; i < p->threads.size; i++)
		if (p->threads.data[i]->is_at_rest)
			ptc_drop_signals(p, p->threads.data[i]);
	if (err && err->code != ERR_NOT_FOUND)
		log_warn("cannot leave process %d as it was: %s", p->tracee.pid,
			 err->message);
	ptc_thaw(p, true, 0);
	ptc_wards_forget(p->tracee.pid);
}

struct err *ptc_flight_end(struct ptc_flight *f, struct ptc_process *p,
			   unsigned *n_snapshots)
{

	// The youngest first: a parent may be waiting for a vfork child.
	for (size_t i = f->all->list.size; i-- > 0;)
		leave(f->all->list.data[i]);
	if (f->all->follows)
		tell_trigger(f);
	*n_snapshots = f->n_snapshots;
	if (p->log.writer && !f->n_snapshots)
		cap_writer_remove(take_ptr(&p->log.writer));
	return take_ptr(&f->failure);
}
