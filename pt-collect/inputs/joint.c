// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that processes share which are all recorded (-f). As threads do, the processes take turns
 * on one CPU, and each one's log says when its turns began: from these and from what each process
 * does in its own, what the others find in the memory follows (decode/machine/joint.c). So the
 * recorder looks at none of it. The log has where it is: a process is joined when it maps memory
 * that others may map, or is made by, or makes one, that has some. What calls write into a mapped file is
 * no store of anybody's: that is logged, as it is in another process.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <string.h>
#include <sys/mman.h>

#include "pt-collect/inputs/files.h"
#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/proc.h"

static bool is_told(const struct ptc_process *p, const struct ptc_joint *j)
{
	return vec_find(&p->joints, k, k->start == j->start && k->key == j->key);
}

/** Only where somebody else has it, too, is there anything to be joined. */
static void mark(struct ptc_process *p, uint64_t key)
{
	for (size_t i = 0; i < p->all->list.size; i++) {
		struct ptc_process *other = p->all->list.data[i];

		if (other != p && vec_find(&other->joints, j, j->key == key))
			p->info.is_joint = other->info.is_joint = true;
	}
}

static void tell(struct ptc_process *p, pid_t tid, uint64_t at_ns,
		 const struct ptc_map *m)
{
	struct ptc_joint j = { m->start, ptc_shared_map_identity(m) };
	struct cap_event ev = { .kind = CAP_EV_SHARED,
				.tid = tid,
				.at_ns = at_ns,
				.shared = { m->start, m->end - m->start, j.key,
					    m->offset } };

	if (!is_told(p, &j) && vec_add(&p->joints, j))
		ptc_log_fail(&p->log, &err_nomem);
	ptc_log_event(&p->log, &ev);
	mark(p, j.key);
}

static bool is_joint(const struct ptc_process *p, const struct ptc_map *m)
{
	return m->inode && (ptc_is_shared_memory(m) || ptc_through_is_shared(p, m));
}

/** Thread @p tid of @p p, the only one that may run, stands still. */
static struct err *join_at(struct ptc_process *p, pid_t tid, bool is_child)
{
	struct user_regs_struct u;
	struct cap_regs regs;
	struct err *err = p->is_joined ? NULL : ptc_get_regs(tid, &u);

	if (err || p->is_joined)
		return err;
	regs = ptc_to_cap(&u);
	if (!is_child)
		regs.gpr[CAP_RAX] = u.orig_rax;
	return ptc_threads_join(p, tid, &regs, is_child ? 0 : REC_SWITCH_IN_CALL);
}

struct err *ptc_joint_fork(struct ptc_process *p, pid_t tid, bool is_child)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = ptc_maps_read(p->tracee.pid, &maps);
	uint64_t at_ns = ptc_now_ns();

	for (size_t i = 0; !err && i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];
		struct ptc_joint j = { m->start, ptc_shared_map_identity(m) };

		if (!is_joint(p, m) || is_told(p, &j))
			continue;
		err = join_at(p, tid, is_child);
		if (!err)
			tell(p, tid, at_ns, m);
	}
	return err;
}

/** What @p other has of the bytes that @p t wrote: into the log of @p p. */
static struct err *tell_written(struct ptc_process *p, const struct ptc_thread *t,
				const struct rec_syscall *e, struct ptc_process *other)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = ptc_maps_read(other->tracee.pid, &maps);

	for (size_t i = 0; !err && i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];
		uint64_t end = m->offset + (m->end - m->start);
		uint64_t from = t->through.start > m->offset ? t->through.start :
							       m->offset;
		uint64_t to = t->through.end < end ? t->through.end : end;
		_cleanup_(ptc_writes_deinit) struct ptc_writes w = {};
		struct cap_event ev = { .kind = CAP_EV_SHARED,
					.tid = t->tid,
					.at_ns = e->head.at_ns };
		struct cap_regs regs;

		if (from >= to || !is_joint(other, m) ||
		    !ptc_through_is_of(m, t->through.device, t->through.inode))
			continue;
		memcpy(&regs, &e->regs, sizeof(regs));
		regs.gpr[CAP_RAX] = e->ret;
		err = ptc_threads_join(p, t->tid, &regs, 0);
		if (err)
			break;
		ptc_through_add(&other->tracee, &t->through, &w,
				m->start + (from - m->offset), from, to - from);
		ptc_writes_give(&w, &ev);
		ev.shared.start = m->start;
		ev.shared.key = ptc_shared_map_identity(m);
		ev.shared.offset = m->offset;
		ptc_log_event(&p->log, &ev);
		p->info.is_joint = other->info.is_joint = true;
	}
	return err;
}

/** @p tid could not be joined: it was killed, or the log has failed. */
static void take_failure(struct ptc_process *p, pid_t tid, struct err *err)
{
	if (err && ptc_is_killed(tid))
		err_destroy(err);
	else if (err)
		ptc_log_fail(&p->log, err);
}

void ptc_joint_written(struct ptc_process *p, struct ptc_thread *t,
		       const struct rec_syscall *e)
{
	for (size_t i = 0; p->all->has_shared_file && i < p->all->list.size; i++) {
		struct ptc_process *other = p->all->list.data[i];
		struct err *err;

		if (other == p || !other->is_joined ||
		    !vec_find(&other->sized, f,
			      f->inode == t->through.inode && f->is_shared))
			continue;
		err = tell_written(p, t, e, other);
		// Who has ended has no mappings any more: that is no error.
		if (err && ptc_is_ended(other->tracee.pid, other->tracee.pid))
			err_destroy(err);
		else
			take_failure(p, t->tid, err);
	}
	t->through.start = t->through.end = 0;
}

void ptc_joint_mapped(struct ptc_process *p, const struct rec_syscall *e)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = NULL;
	struct cap_regs regs;

	if (e->nr == __NR_shmat || e->nr == __NR_mremap ||
	    e->regs.gpr[CAP_R10] & MAP_SHARED)
		err = ptc_maps_read(p->tracee.pid, &maps);
	memcpy(&regs, &e->regs, sizeof(regs));
	regs.gpr[CAP_RAX] = e->ret;
	for (size_t i = 0; !err && i < maps.list.size; i++) {
		struct ptc_map m = *maps.list.data[i];
		uint64_t at = e->ret;

		if (m.start > at || m.end <= at || !is_joint(p, &m))
			continue;
		// The kernel makes one of two that follow each other in the file, too.
		m.offset += at - m.start;
		m.start = at;
		err = ptc_threads_join(p, e->head.tid, &regs, 0);
		if (!err)
			tell(p, e->head.tid, e->head.at_ns, &m);
	}
	take_failure(p, e->head.tid, err);
}

/** Memory @p j of @p p is in @p left, too: the log says what becomes of it. */
static void watch(struct ptc_process *p, const struct ptc_joint *j,
		  const struct ptc_process *left, const struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];

		if (m->start != j->start || ptc_shared_map_identity(m) != j->key)
			continue;
		ptc_log_gap(
			&p->log, p->tracee.pid,
			"shared memory at 0x%llx (%s): process %d, which is not recorded "
			"any more, can write into it, and what it writes is %s",
			(unsigned long long)m->start, m->name, left->tracee.pid,
			ptc_shared_watch(p, m->start, m->end - m->start));
	}
}

void ptc_joint_left(const struct ptc_process *left)
{
	for (size_t i = 0; left->joints.size && i < left->all->list.size; i++) {
		struct ptc_process *p = left->all->list.data[i];
		_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};

		if (p == left || !p->joints.size)
			continue;
		take_failure(p, p->tracee.pid, ptc_maps_read(p->tracee.pid, &maps));
		for (size_t k = 0; k < p->joints.size; k++)
			if (vec_find(&left->joints, j, j->key == p->joints.data[k].key))
				watch(p, &p->joints.data[k], left, &maps);
	}
}
