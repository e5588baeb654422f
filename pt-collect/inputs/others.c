// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Another process can write into a recorded one's memory: by process_vm_writev(), through
 * /proc/PID/mem. (Not by ptrace: a process has one tracer, and that is the recorder.)
 *
 * Of a writer that is recorded, too (-f), the kernel side stops the call at its end. Who is
 * written to waits for it in a call of its own, as a rule: what it has there then is an input of
 * its next event. If it computes meanwhile, nobody knows between which of its instructions that
 * came: that is a gap. So is all that others write, who are not recorded: the kernel side tells
 * of process_vm_writev(), and of who opens such a file to write it.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pt-collect/inputs/others.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/tracee/proc.h"

#define PARTS_MAX 1024		///< of one call: the kernel's IOV_MAX
#define WROTE_MAX (64ull << 20) ///< bytes at a time, as far as they are kept

/** Which recorded process calls itself @p number, in a name space @p level below ours? */
static struct ptc_process *find(const struct ptc_processes *all, pid_t number,
				unsigned level)
{
	if (!level)
		return ptc_process_of(all, number);
	for (size_t i = 0; i < all->list.size; i++) {
		pid_t pid = all->list.data[i]->tracee.pid;
		char line[256];
		const char *at = line;

		if (!ptc_status_line(pid, pid, "NSpid", line))
			continue;
		for (unsigned k = 0; at && k < level; k++)
			at = strchr(at + 1, '\t');
		if (at && atoi(at) == number)
			return all->list.data[i];
	}
	return NULL;
}

/** Name spaces that @p pid is below ours. */
static unsigned level_of(pid_t pid)
{
	unsigned level = 0;
	char line[256];

	if (ptc_status_line(pid, pid, "NSpid", line))
		for (const char *at = line; (at = strchr(at + 1, '\t')); at++)
			level++;
	return level;
}

struct ptc_process *ptc_others_named(const struct ptc_process *by, pid_t number)
{
	return find(by->all, number, level_of(by->tracee.pid));
}

bool ptc_others_called(struct ptc_process *p, const struct rec_syscall *e)
{
	struct ptc_process *to =
		find(p->all, e->regs.gpr[CAP_RDI], level_of(p->tracee.pid));
	uint64_t left = e->ret, n = e->regs.gpr[CAP_R8];
	struct iovec parts[PARTS_MAX];

	if (to == p)
		return false;
	n = n < PARTS_MAX ? n : PARTS_MAX;
	n = ptc_read_some(&p->tracee, e->regs.gpr[CAP_R10], parts, n * sizeof(*parts)) /
	    sizeof(*parts);
	for (size_t i = 0; to && i < n && left; i++) {
		uint64_t size = parts[i].iov_len < left ? parts[i].iov_len : left;

		ptc_others_wrote(to, p, e, (uint64_t)parts[i].iov_base, size);
		left -= size;
	}
	return true;
}

/** Was each thread of @p p, of which call @p e wrote memory, inside of a call then, and is it now? */
static bool is_waiting(const struct ptc_process *p, const struct rec_syscall *e)
{
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};
	char path[64], text[64];

	// What it is now says nothing of then: who looks for what is written sees it at once.
	if (p->has_threads ?
		    ptc_bpf_last_ran_ns(p->all->bpf, p->tracee.pid) > e->head.at_ns :
		    !(e->flags & REC_OTHER_WAITS))
		return false;
	if (!ptc_tids_read(p->tracee.pid, &tids))
		return false;
	for (size_t i = 0; i < tids.size; i++) {
		_cleanup_fclose_ FILE *f = NULL;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", p->tracee.pid,
			 tids.data[i]);
		f = fopen(path, "re");
		// "running", or -1: it stands among its own instructions.
		if (!f || !fgets(text, sizeof(text), f) || *text < '0' || *text > '9')
			return false;
	}
	return true;
}

__attribute__((format(printf, 2, 3))) static void tell(struct ptc_process *p,
						       const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	if (p->has_told_others)
		return;
	p->has_told_others = true;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	ptc_log_gap(&p->log, p->tracee.pid, "%s", text ?: fmt);
}

void ptc_others_wrote(struct ptc_process *to, const struct ptc_process *by,
		      const struct rec_syscall *e, uint64_t addr, uint64_t size)
{
	if (!to->log.is_recording)
		return;
	if (!is_waiting(to, e))
		tell(to,
		     "process %d (%s) writes into its memory while it may compute: the "
		     "replay has that at its next event only",
		     by->tracee.pid, by->tracee.exe ?: "?");
	if (size > WROTE_MAX)
		tell(to,
		     "process %d (%s) writes %llu bytes into its memory: %llu are kept",
		     by->tracee.pid, by->tracee.exe ?: "?", (unsigned long long)size,
		     WROTE_MAX);
	ptc_outputs_add(&to->tracee, &to->from_others, addr,
			size < WROTE_MAX ? size : WROTE_MAX);
}

void ptc_others_give(struct ptc_process *p, struct ptc_writes *w)
{
	struct ptc_writes own = *w;

	if (!p->from_others.list.size)
		return;
	*w = p->from_others;
	p->from_others = own;
	ptc_writes_move(w, &p->from_others);
}

void ptc_others_tell(const struct ptc_processes *all, const struct rec_others *o)
{
	struct ptc_process *to = find(all, o->pid, o->level);

	if (!to || (pid_t)o->head.tgid == getpid() || ptc_process_of(all, o->head.tgid))
		return;
	tell(to, "process %u, which is not recorded, %s: that is missing", o->head.tgid,
	     o->nr == __NR_process_vm_writev ?
		     "writes into its memory (process_vm_writev)" :
		     "may write into its memory (it has opened /proc/PID/mem)");
}
