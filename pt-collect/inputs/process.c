// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The life of what is known of recorded processes and their threads.
 */
#define LOG_ROOM "record"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/probes/heap.h"
#include "pt-collect/probes/stores.h"

void ptc_info_deinit(struct cap_info *info)
{
	for (size_t i = 0; i < info->n_missing; i++)
		free(info->missing[i]);
	for (size_t i = 0; info->argv && info->argv[i]; i++)
		free(info->argv[i]);
	free(info->missing);
	free(info->argv);
	free(info->cwd);
	free(info->exe);
	free(info->end_core.function);
	cap_pt_deinit(&info->pt);
	*info = (struct cap_info){};
}

struct err *ptc_process_create(struct ptc_processes *all, pid_t pid,
			       struct ptc_process **ret)
{
	struct ptc_process *p = calloc(1, sizeof(*p));
	struct ptc_process **slot = p ? vec_push(&all->list) : NULL;

	if (!slot) {
		free(p);
		return &err_nomem;
	}
	p->all = all;
	p->left_out.wanted = all->private;
	p->tracee.pid = pid;
	p->probes = (struct ptc_probes){ .all = &all->probing,
					 .tracee = &p->tracee,
					 .log = &p->log };
	p->pt = (struct ptc_pt_process){ .all = &all->pt,
					 .tracee = &p->tracee,
					 .log = &p->log };
	p->tracee.mem_fd = -1;
	*ret = *slot = p;
	return NULL;
}

void ptc_thread_destroy(struct ptc_thread *t)
{
	ptc_pending_deinit(t);
	ptc_writes_deinit(&t->now);
	ptc_writes_deinit(&t->held_writes);
	ptc_writes_deinit(&t->from_child);
	ptc_writes_deinit(&t->from_child_alone);
	ptc_snapshot_destroy(t->vfork_memory);
	vec_deinit(&t->through.bytes);
	free(t);
}

void ptc_process_destroy(struct ptc_process *p)
{
	for (size_t i = 0; i < p->threads.size; i++)
		ptc_thread_destroy(p->threads.data[i]);
	ptc_left_out_deinit(&p->left_out);
	vec_deinit(&p->threads);
	ptc_heap_destroy(p->probes.heap);
	ptc_stores_destroy(p->probes.stores);
	ptc_chance_sites_deinit(&p->probes.tsc_sites);
	ptc_pt_deinit(&p->pt);
	ptc_shared_forget(p);
	ptc_writes_deinit(&p->from_others);
	vec_deinit(&p->shared);
	vec_deinit(&p->joints);
	vec_deinit(&p->sized);
	cap_writer_destroy(p->log.writer);
	err_destroy(p->log.failure);
	ptc_tracee_close(&p->tracee);
	ptc_info_deinit(&p->info);
	free(p->dir);
	free(p);
}

struct ptc_thread *ptc_thread_find(struct ptc_process *p, pid_t tid)
{
	struct ptc_thread **slot;

	for (size_t i = 0; i < p->threads.size; i++)
		if (p->threads.data[i]->tid == tid)
			return p->threads.data[i];
	slot = vec_push(&p->threads);
	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		p->threads.size--;
		return NULL;
	}
	(*slot)->tid = tid;
	return *slot;
}

void ptc_process_stop_recording(struct ptc_process *p)
{
	ptc_bpf_set_recorded(p->all->bpf, p->tracee.pid, false);
	ptc_threads_end(p);
}

struct ptc_process *ptc_process_of(const struct ptc_processes *all, pid_t tid)
{
	for (size_t i = 0; i < all->list.size; i++) {
		struct ptc_process *p = all->list.data[i];

		if (p->tracee.pid == tid)
			return p;
		for (size_t k = 0; k < p->threads.size; k++)
			if (p->threads.data[k]->tid == tid &&
			    p->threads.data[k]->is_attached)
				return p;
	}
	return NULL;
}
