// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * record -f: the processes that the program creates are recorded like itself, each into a
 * bundle inside its own (children/N-NAME.PID).
 *
 * A child of fork stands behind the call, in memory of its own: its history begins there.
 * What it may wait for from us is little: usually it executes a program soon, and then its
 * history begins anew with that, as the program's does. A child that runs in its parent's
 * memory (vfork, posix_spawn) has a history from its first exec on; what it writes before
 * is its parent's input (child.c).
 */
#define LOG_ROOM "record"
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>

#include "pt-collect/inputs/files.h"
#include "pt-collect/start/attach.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/start/start.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/tracee.h"

void ptc_family_deinit(struct ptc_family *f)
{
	vec_deinit(&f->children);
	for (size_t i = 0; i < f->followed.size; i++)
		cap_process_deinit(&f->followed.data[i]);
	vec_deinit(&f->followed);
	for (size_t i = 0; i < f->gaps.size; i++)
		free(f->gaps.data[i]);
	vec_deinit(&f->gaps);
	err_destroy(f->failure);
}

static enum cap_created created_by(unsigned event)
{
	switch (event) {
	case PTRACE_EVENT_VFORK:
		return CAP_CREATED_VFORK;
	case PTRACE_EVENT_CLONE:
		return CAP_CREATED_CLONE;
	default:
		return CAP_CREATED_FORK;
	}
}

static struct cap_process *listed(const struct ptc_family *f, const struct ptc_process *p)
{
	return &f->followed.data[p->index - 1];
}

/** N-NAME.PID, for people and for a capture without manifests. @p called is changed. */
static char *name_bundle(uint32_t index, char *called, pid_t pid)
{
	char *name;

	for (char *c = called; *c; c++)
		if (*c == '/' || (unsigned char)*c <= ' ' || *c == 127)
			*c = '_';
	return asprintf(&name, "%u-%s.%d", index, called, pid) < 0 ? NULL : name;
}

/** NAME is what ps shows: the name by which it was called, a script's own. */
static char *name_running(const struct ptc_process *p)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], comm[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", p->tracee.pid);
	f = fopen(path, "re");
	if (f && fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = 0;
	return name_bundle(p->index, comm, p->tracee.pid);
}

/** Begin the bundle, or begin it again under its new name. */
static struct err *begin_bundle(struct ptc_family *f, struct ptc_process *p)
{
	_cleanup_free_ char *name = name_running(p);
	struct cap_writer *root = p->all->list.data[0]->log.writer;
	struct err *err;

	if (!name)
		return &err_nomem;
	if (!p->log.writer) {
		err = cap_writer_create_child(root, name, &p->log.writer);
	} else {
		// Of a program ptc_follow_keep() has made a bundle by itself.
		err = p->has_executed ? NULL : cap_writer_restart(p->log.writer);
		if (!err)
			err = cap_writer_rename_child(p->log.writer, root, name);
	}
	if (err)
		return err;
	free(p->dir);
	p->dir = take_ptr(&name);
	err = ptc_describe(p, NULL);
	p->info.is_child = true;
	p->info.index = p->index;
	p->info.parent = listed(f, p)->parent;
	p->info.created = listed(f, p)->created;
	return err;
}

struct err *ptc_follow_executed(struct ptc_family *f, struct ptc_process *p)
{
	p->awaits_exec = false;
	return begin_bundle(f, p);
}

/** From behind the call that made it. */
static struct err *begin_forked(struct ptc_family *f, struct ptc_process *p,
				const struct ptc_child *c)
{
	struct err *err = begin_bundle(f, p);

	if (err)
		return err;
	ptc_thread_find(p, p->tracee.pid)->n_frames = c->n_frames;
	p->log.is_recording = true;
	err = ptc_start_forked(p);
	if (err)
		return err;
	err = ptc_joint_fork(p, p->tracee.pid, true);
	if (err)
		return err;
	ptc_pt_begin(&p->pt);
	ptc_bpf_set_recorded(p->all->bpf, p->tracee.pid, p->log.is_recording);
	return NULL;
}

/** Give it a number and its place in the list. */
static struct err *enlist(struct ptc_family *f, const struct ptc_child *c,
			  struct ptc_process **ret)
{
	struct cap_process *entry = vec_push(&f->followed);
	struct ptc_thread *t;
	struct err *err;

	if (!entry)
		return &err_nomem;
	*entry = (struct cap_process){ .index = f->followed.size,
				       .parent = c->parent_index,
				       .pid = c->pid,
				       .created = created_by(c->event) };
	err = ptc_process_create(f->all, c->pid, ret);
	if (err)
		return err;
	(*ret)->index = f->followed.size;
	t = ptc_thread_find(*ret, c->pid);
	if (!t)
		return &err_nomem;
	t->is_attached = true;
	ptc_unseen_begin(t, &c->unseen);
	return NULL;
}

void ptc_follow_killed(struct ptc_process *p)
{
	p->log.is_recording = p->awaits_exec = false;
	ptc_process_stop_recording(p);
	cap_writer_remove(take_ptr(&p->log.writer));
	free(take_ptr(&p->dir));
	err_destroy(take_ptr(&p->log.failure));
}

void ptc_follow(struct ptc_family *f, const struct ptc_child *c, bool shares_memory)
{
	const struct ptc_process *parent = ptc_process_of(f->all, c->parent);
	struct ptc_process *p = NULL;
	struct err *err = enlist(f, c, &p);

	if (!err)
		err = ptc_tracee_open(&p->tracee);
	if (!err && parent) {
		p->tracee.syscall_at = parent->tracee.syscall_at;
		p->on_segv = parent->on_segv;
		p->knows_on_segv = parent->knows_on_segv;
		ptc_through_inherit(p, parent);
	}
	if (!err && shares_memory) {
		p->awaits_exec = true;
		// Nothing of it is logged; but it may want to be traced.
		ptc_bpf_set_recorded(f->all->bpf, c->pid, true);
	} else if (!err)
		err = begin_forked(f, p, c);
	if (!err) {
		ptrace(PTRACE_CONT, c->pid, NULL, NULL);
		return;
	}
	if (p && ptc_is_killed(c->pid)) {
		err_destroy(err);
		ptc_follow_killed(p);
		return;
	}
	ptc_child_free(c->pid, &c->unseen);
	if (p) {
		ptc_log_fail(&p->log, err);
		ptc_follow_ended(f, p);
	} else if (f->failure) {
		err_destroy(err);
	} else {
		f->failure = err;
	}
}

/* ---- the end ----------------------------------------------------------------------------- */

#define GAPS_TOLD 20 ///< the manifests have all

/** Count a gap; remember it, if it is one of the first, for the summary. */
__attribute__((format(printf, 2, 3))) static void add_gap(struct ptc_family *f,
							  const char *fmt, ...)
{
	char *text = NULL, **slot;
	va_list ap;

	f->n_gaps++;
	if (f->gaps.size >= GAPS_TOLD)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	slot = text ? vec_push(&f->gaps) : NULL;
	if (slot)
		*slot = text;
	else
		free(text);
}

static void count_gaps(struct ptc_family *f, const struct ptc_process *p)
{
	for (size_t i = 0; i < p->info.n_missing; i++)
		add_gap(f, "process %u (%s): %s", p->index, basename(p->tracee.exe),
			p->info.missing[i]);
}

/** A process of which nothing could be recorded, or not all. What one program is like makes a
 * gap; what is wrong with us or the disk makes the recording fail. */
static void take_failure(struct ptc_family *f, const struct ptc_process *p,
			 struct err *err)
{

	err = err_prefix(err, "cannot record process %u (%s, pid %d) to its end",
			 p->index, basename(p->tracee.exe ?: "?"), p->tracee.pid);
	log_info("%s", err->message);
	add_gap(f, "%s", err->message);
	if (err->code == ERR_UNSUPPORTED || f->failure)
		err_destroy(err);
	else
		f->failure = err;
}

/** What the list in the program's manifest says of it. */
static void list_end(struct ptc_family *f, struct ptc_process *p, bool is_finished)
{
	struct cap_process *entry = listed(f, p);

	entry->dir = take_ptr(&p->dir);
	entry->exe = take_ptr(&p->tracee.exe);
	entry->argv = take_ptr(&p->info.argv);
	entry->n_syscalls = p->info.n_syscalls;
	entry->is_complete = is_finished && p->info.is_complete;
	ptc_describe_end(p, &entry->end, &entry->end_value);
	f->n_syscalls += p->info.n_syscalls;
}

static void forget(struct ptc_processes *all, struct ptc_process *p)
{
	for (size_t i = 1; i < all->list.size; i++)
		if (all->list.data[i] == p)
			all->list.data[i] = all->list.data[--all->list.size];
	ptc_process_destroy(p);
}

void ptc_follow_ended(struct ptc_family *f, struct ptc_process *p)
{
	struct err *err = NULL;
	uint64_t bytes = 0;
	bool is_finished;

	ptc_bpf_drain(f->all->bpf);
	// Its number may soon be somebody else's.
	ptc_bpf_set_recorded(f->all->bpf, p->tracee.pid, false);
	if (p->log.writer || p->log.failure)
		err = ptc_finish(p, &bytes, NULL);
	ptc_bpf_unprobe(f->all->bpf, p->tracee.pid);
	is_finished = p->log.writer && !err;
	if (err)
		take_failure(f, p, take_ptr(&err));
	else
		count_gaps(f, p);
	f->bytes += bytes;
	list_end(f, p, is_finished);
	forget(f->all, p);
}

/** @p p is, for its manifest and in the list, number @p index: what it was before. */
static struct err *finish_before(struct ptc_family *f, struct ptc_process *p,
				 uint32_t index)
{
	struct cap_process *entry = &f->followed.data[index - 1];
	uint64_t bytes = 0;
	struct err *err;

	p->info.is_child = true;
	p->info.index = index;
	p->info.parent = entry->parent;
	p->info.created = entry->created;
	p->index = index;
	p->is_executing = true;
	err = ptc_finish(p, &bytes, NULL);
	if (!err)
		count_gaps(f, p);
	f->bytes += bytes;
	list_end(f, p, !err);
	p->is_executing = false;
	p->index = entry->parent;
	return err;
}

struct err *ptc_follow_keep(struct ptc_family *f, struct ptc_process *p)
{
	char called[16];
	uint32_t index = f->followed.size + 1;
	struct cap_writer *now = p->log.writer, *before = NULL;
	struct cap_process *entry = vec_push(&f->followed);
	char *dir = take_ptr(&p->dir);
	struct err *err;

	if (!entry)
		return free(dir), &err_nomem;
	*entry = (struct cap_process){ .index = index,
				       .parent = p->index,
				       .pid = p->tracee.pid,
				       .created = CAP_CREATED_BEFORE };
	snprintf(called, sizeof(called), "%s", basename(p->tracee.exe));
	p->dir = name_bundle(index, called, p->tracee.pid);
	err = p->dir ? cap_writer_split(now, p->all->list.data[0]->log.writer, p->dir,
					&before) :
		       &err_nomem;
	if (!err) {
		p->log.writer = before;
		err = finish_before(f, p, index);
		p->log.writer = now;
	}
	cap_writer_destroy(before);
	free(p->dir);
	p->dir = dir;
	return err;
}

void ptc_leave(struct ptc_family *f, struct ptc_process *p)
{
	struct ptc_thread *first = ptc_thread_find(p, p->tracee.pid);
	struct err *err;

	if (first)
		first->is_attached = true; // by its number alone, until now
	err = ptc_freeze(p, true);
	ptc_child_await(f, p);
	if (p->has_ended)
		ptc_child_orphans(f, p->index);
	ptc_bpf_set_recorded(p->all->bpf, p->tracee.pid, false);
	ptc_bpf_drain(p->all->bpf);
	if (!err)
		ptc_threads_left_log(p);
	ptc_threads_end(p);
	for (size_t i = 0; i < p->threads.size && !err; i++)
		if (p->threads.data[i]->is_at_rest && p->tracee.syscall_at)
			err = ptc_set_chance(p->threads.data[i]->tid,
					     p->tracee.syscall_at,
					     !p->threads.data[i]->unseen.forbids_tsc,
					     !p->threads.data[i]->unseen.forbids_cpuid);
	if (err && !p->has_ended)
		log_warn("cannot leave process %d as it was: %s", p->tracee.pid,
			 err->message);
	err_destroy(err);
	ptc_thaw(p, true, 0);
	ptc_wards_forget(p->tracee.pid);
}

void ptc_follow_leave(struct ptc_family *f)
{
	f->all->follows = false;
	// Children before their parents: a parent may be waiting for a vfork child.
	while (f->all->list.size > 1) {
		struct ptc_process *p = f->all->list.data[1];
		uint32_t index;

		for (size_t i = 2; i < f->all->list.size; i++)
			if (f->all->list.data[i]->index > p->index)
				p = f->all->list.data[i];
		index = p->index;
		ptc_leave(f, p);
		ptc_follow_ended(f, p);
		ptc_child_orphans(f, index);
	}
}
