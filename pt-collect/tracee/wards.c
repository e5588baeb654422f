// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The processes that we started, or that follow from these, as the keeper must know them
 * when their recorder is killed (keeper.c; what we attach to is in undo.c). The
 * table stands in memory that both share: the recorder writes, and the keeper reads once
 * the recorder is dead. A process that has not begun is not here: the kernel ends it with
 * its recorder.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/wards.h"

#define WARDS_MAX 4096 ///< at a time; more are not repaired

struct ward {
	pid_t pid;	 ///< written last; 0 = free
	bool is_ours;	 ///< the program itself: our end waits for its
	bool is_stopped; ///< by its user
	bool has_cpus;
	cpu_set_t cpus; ///< that it may use by itself
	uint64_t syscall_at;
};

static struct ward *wards;

struct err *ptc_wards_init(void)
{
	wards = mmap(NULL, WARDS_MAX * sizeof(*wards), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (wards != MAP_FAILED)
		return NULL;
	wards = NULL;
	return &err_nomem;
}

static struct ward *find_ward(pid_t pid)
{
	for (size_t i = 0; wards && i < WARDS_MAX; i++)
		if (wards[i].pid == pid)
			return &wards[i];
	return NULL;
}

void ptc_wards_add(pid_t pid, uint64_t syscall_at, bool is_ours)
{
	struct ward *w = find_ward(pid) ?: find_ward(0);

	if (!w)
		return;
	w->syscall_at = syscall_at;
	if (w->pid == pid)
		return;
	w->is_ours = is_ours;
	w->is_stopped = w->has_cpus = false;
	__atomic_store_n(&w->pid, pid, __ATOMIC_RELEASE);
}

void ptc_wards_forget(pid_t pid)
{
	struct ward *w = find_ward(pid);

	if (w)
		__atomic_store_n(&w->pid, 0, __ATOMIC_RELEASE);
}

void ptc_wards_stopped(pid_t pid, bool is_stopped)
{
	struct ward *w = find_ward(pid);

	if (w)
		w->is_stopped = is_stopped;
}

void ptc_wards_cpus(pid_t pid, const cpu_set_t *cpus)
{
	struct ward *w = find_ward(pid);

	if (!w)
		return;
	w->cpus = *cpus;
	w->has_cpus = true;
}

/* ---- after the recorder's death ------------------------------------------------------- */

/** Be there before they execute anything that traps. */
void ptc_wards_seize(pid_t recorder)
{
	siginfo_t si;

	for (size_t i = 0; i < WARDS_MAX; i++)
		while (wards[i].pid && !ptc_seize(wards[i].pid)) {
			si.si_pid = 0;
			// Dead, and still refused: another one traces it.
			if (waitid(P_PID, recorder, &si, WEXITED | WNOHANG | WNOWAIT) ||
			    si.si_pid) {
				ptc_seize(wards[i].pid);
				break;
			}
		}
}

static void restore_cpus(const struct ward *w)
{
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};

	if (w->has_cpus)
		ptc_tids_read(w->pid, &tids);
	for (size_t i = 0; i < tids.size; i++)
		sched_setaffinity(tids.data[i], sizeof(w->cpus), &w->cpus);
}

static void repair(const struct ward *w)
{
	_cleanup_err_ struct err *err = NULL;
	bool is_stopped;

	restore_cpus(w);
	err = ptc_release(w->pid, w->syscall_at, &is_stopped);
	ptc_release_children(w->pid);
	// The kernel side's request to wait for a recorder that comes no more.
	if (is_stopped && !w->is_stopped)
		kill(w->pid, SIGCONT);
	if (err)
		fprintf(stderr, "faultline: cannot restore process %d: %s\n", w->pid,
			err->message);
}

bool ptc_wards_repair(void)
{
	bool is_any = false;

	for (size_t i = 0; i < WARDS_MAX; i++)
		if (wards[i].pid) {
			repair(&wards[i]);
			is_any |= !kill(wards[i].pid, 0);
		}
	return is_any;
}

/** The program's number may be another one's by now; its end is what we wait for. */
static void wait_for_end(pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return;
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	close(fd);
}

void ptc_wards_wait(void)
{
	for (size_t i = 0; i < WARDS_MAX; i++)
		if (wards[i].pid && wards[i].is_ours)
			wait_for_end(wards[i].pid);
}
