// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What bpf.c and kernel/probes.c share.
 */
#ifndef PT_COLLECT_KERNEL_BPF_INT_H
#define PT_COLLECT_KERNEL_BPF_INT_H

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/kernel/programs.h"
#include "pt-collect/kernel/records.h"

struct bpf_link;
struct ring_buffer;

/** Probes of one process: many at once, or (link not NULL) one as older kernels have it. */
struct probe_link {
	int fd;
	struct bpf_link *link;
	pid_t pid;	   ///< 0: it is gone
	char *path;	   ///< NULL: memory was out
	uint64_t *offsets; ///< n
	size_t n;
};

struct ptc_bpf {
	struct ptc_programs programs;
	struct record_bpf__bss *globals; ///< of record.bpf.c
	struct bpf_link *sys_exit, *sys_enter, *sched_switch, *vsyscall;
	struct ptc_records records; ///< of the ring, a map shared with the kernel side
	struct ring_buffer *bell;   ///< what wakes us
	struct rec_tasks *tasks;    ///< the map, shared with the kernel side
	void (*consumer)(void *ctx, void *rec, size_t size);
	void *ctx;
	VEC(struct probe_link) links;
	size_t n_stale; ///< of links, whose process is gone
};

/** Close the probes of processes that are gone, or all. */
void ptc_bpf_close_probes(struct ptc_bpf *b, bool all);

#endif
