// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that processes share which are all recorded (-f). As threads do, the processes take turns
 * on one CPU, and each one's log says when its turns began: from these and from what each process
 * does in its own, what the others find in the memory follows (decode/machine/joint.c). So the
 * recorder looks at none of it. The log has where it is: a process is joined when it maps memory
 * that others may map, or is made by, or makes one, that has some.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <string.h>
#include <sys/mman.h>

#include "pt-collect/inputs/files.h"
#include "pt-collect/inputs/process.h"
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

void ptc_joint_mapped(struct ptc_process *p, const struct rec_syscall *e)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = NULL;
	struct cap_regs regs;

	if (e->nr == __NR_shmat || e->regs.gpr[CAP_R10] & MAP_SHARED)
		err = ptc_maps_read(p->tracee.pid, &maps);
	memcpy(&regs, &e->regs, sizeof(regs));
	regs.gpr[CAP_RAX] = e->ret;
	for (size_t i = 0; !err && i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];

		if (m->start != (uint64_t)e->ret || !is_joint(p, m))
			continue;
		err = ptc_threads_join(p, e->head.tid, &regs, 0);
		if (!err)
			tell(p, e->head.tid, e->head.at_ns, m);
	}
	if (err && ptc_is_killed(e->head.tid))
		err_destroy(err);
	else if (err)
		ptc_log_fail(&p->log, err);
}
