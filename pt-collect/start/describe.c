// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What manifests say of a process: how it was started, and how it ended.
 */
#define LOG_ROOM "record"
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/tracee/cpuid.h"
#include "pt-collect/tracee/traps.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/probes/heap.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/inputs/threads.h"

#define ARGS_MAX (4u << 20) ///< bytes of arguments that are read

static struct err *copy_argv(char *const *argv, struct cap_info *info)
{
	size_t n = 0;

	while (argv[n])
		n++;
	info->argv = calloc(n + 1, sizeof(*info->argv));
	for (size_t i = 0; info->argv && i < n; i++) {
		info->argv[i] = strdup(argv[i]);
		if (!info->argv[i])
			return &err_nomem;
	}
	return info->argv ? NULL : &err_nomem;
}

/** From /proc/PID/cmdline: each argument ends with a NUL. */
static struct err *read_argv(pid_t pid, struct cap_info *info)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *text = malloc(ARGS_MAX);
	VEC(char *) argv = {};
	struct err *err = NULL;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	n = f && text ? fread(text, 1, ARGS_MAX, f) : 0;
	for (size_t at = 0; !err && at < n; at += strnlen(text + at, n - at) + 1) {
		char **slot = vec_push(&argv);

		if (slot)
			*slot = strndup(text + at, n - at);
		err = slot && *slot ? NULL : &err_nomem;
	}
	if (!err && !vec_push(&argv))
		err = &err_nomem;
	info->argv = argv.data;
	return err;
}

/** @return the one CPU that @p pid may run on; CAP_CPU_ANY when there are several. */
static int only_cpu(pid_t pid)
{
	cpu_set_t set;

	if (sched_getaffinity(pid, sizeof(set), &set) || CPU_COUNT(&set) != 1)
		return CAP_CPU_ANY;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return CAP_CPU_ANY;
}

void ptc_describe_recorded(struct ptc_process *p, struct cap_info *info)
{
	const struct cap_cpu *here = ptc_cpu_here();

	if (ptc_bpf_lost(p->all->bpf))
		ptc_log_gap(&p->log, p->tracee.pid, "%llu events were lost",
			    (unsigned long long)ptc_bpf_lost(p->all->bpf));
	info->heap_sites =
		(struct cap_heap_site *)ptc_heap_sites(&p->probes, &info->n_heap_sites);
	info->store_sites = (struct cap_store_site *)ptc_stores_sites(
		&p->probes, &info->n_store_sites);
	if (here) {
		info->cpu.rows = here->rows;
		info->cpu.n = here->n;
	}
	info->cpu.is_trapped = ptc_can_trap_cpuid();
	info->cpu.is_tsc_probed = !ptc_can_trap_tsc();
}

struct err *ptc_describe(struct ptc_process *p, char *const *argv)
{
	struct cap_info *info = &p->info;
	struct rlimit stack;
	struct err *err;

	ptc_info_deinit(info);
	err = argv ? copy_argv(argv, info) : read_argv(p->tracee.pid, info);
	if (err)
		return err;
	info->cwd = ptc_proc_link(p->tracee.pid, "cwd");
	if (!info->cwd)
		return &err_nomem;
	err = ptc_private_learn(&p->left_out, p->tracee.pid);
	if (err)
		return err;
	info->pid = p->tracee.pid;
	info->cpu = (struct cap_cpu){ .bound_to = only_cpu(p->tracee.pid) };
	info->has_heap = p->all->probing.wants_heap;
	info->stack_limit = prlimit(p->tracee.pid, RLIMIT_STACK, NULL, &stack) ?
				    8 << 20 :
				    stack.rlim_cur;
	return NULL;
}

void ptc_describe_end(const struct ptc_process *p, enum cap_end *end, int *value)
{
	*value = 0;
	if (p->is_executing) {
		*end = CAP_END_EXEC;
	} else if (!p->has_ended) {
		*end = CAP_END_DETACHED;
	} else if (WIFEXITED(p->wait_status)) {
		*end = CAP_END_EXIT;
		*value = WEXITSTATUS(p->wait_status);
	} else {
		*end = CAP_END_SIGNAL;
		*value = WTERMSIG(p->wait_status);
	}
}

struct err *ptc_finish(struct ptc_process *p, uint64_t *bytes, size_t *n_files)
{
	struct cap_info *info = &p->info;
	struct err *err = take_ptr(&p->log.failure);

	if (err)
		return err;
	for (size_t i = 0; i < p->threads.size; i++)
		ptc_pending_flush(p, p->threads.data[i]);
	ptc_shared_look(p);
	ptc_describe_recorded(p, info);
	ptc_describe_end(p, &info->end, &info->end_value);
	ptc_pt_end(&p->pt, info);
	info->n_execs = p->n_execs;
	info->exe = strdup(p->tracee.exe);
	if (!info->exe)
		return &err_nomem;
	err = cap_writer_finish(p->log.writer, info, bytes);
	if (n_files)
		*n_files = info->n_files;
	info->files = NULL;
	info->heap_sites = NULL;
	info->store_sites = NULL;
	info->cpu.rows = NULL;
	info->cpu.n = 0;
	info->n_files = info->n_heap_sites = info->n_store_sites = 0;
	return err;
}
