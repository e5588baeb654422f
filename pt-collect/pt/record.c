// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `record -e pt`: where a recording meets PT.
 */
#define LOG_ROOM "record"
#include <string.h>
#include <sys/epoll.h>

#include "pt-collect/pt/pt.h"
#include "pt-collect/pt/probes.h"
#include "pt-collect/pt/record.h"

static char *file_path(const struct ptc_pt_process *p)
{
	char *path;

	return asprintf(&path, "%s/perf.data", cap_writer_dir(p->log->writer)) < 0 ?
		       NULL :
		       path;
}

/** PT ends here, for the reason in @p err, which is consumed. */
static void give_up(struct ptc_pt_process *p, struct err *err)
{
	if (!p->all->has_told)
		log_note("no Intel PT of process %d: %s; recording goes on without it",
			 p->tracee->pid, err->message);
	p->all->has_told = true;
	free(p->why_not);
	p->why_not = strdup(err->message);
	err_destroy(err);
	ptc_pt_destroy(take_ptr(&p->pt));
}

void ptc_pt_deinit(struct ptc_pt_process *p)
{
	ptc_pt_destroy(p->pt);
	free(p->why_not);
}

void ptc_pt_begin(struct ptc_pt_process *p)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct ptc_pt_session *s = p->all;
	_cleanup_free_ char *path = NULL;
	struct err *err;

	if (!s->setup || p->why_not)
		return;
	ptc_pt_destroy(take_ptr(&p->pt));
	// The flight recorder names a file when there is something to write.
	path = s->in_flight ? NULL : file_path(p);
	err = path || s->in_flight ? ptc_pt_create(s->setup, p->tracee->pid,
						   p->tracee->exe, path, &p->pt) :
				     &err_nomem;
	if (err)
		give_up(p, err);
	else if (s->poll_fd >= 0)
		epoll_ctl(s->poll_fd, EPOLL_CTL_ADD, ptc_pt_fd(p->pt), &e);
}

void ptc_pt_thread_born(struct ptc_pt_process *p, pid_t tid)
{
	struct err *err = p->pt ? ptc_pt_add_thread(p->pt, tid) : NULL;

	if (err)
		give_up(p, err_prefix(err, "thread %d", tid));
}

void ptc_pt_thread_gone(struct ptc_pt_process *p, pid_t tid)
{
	if (p->pt)
		ptc_pt_forget_thread(p->pt, tid);
}

void ptc_pt_take(struct ptc_pt_process *p)
{
	struct err *err = p->pt ? ptc_pt_drain(p->pt) : NULL;

	if (err)
		give_up(p, err);
}

/** With the mappings' paths, what a reader needs to find the files anywhere. */
static struct err *tell_build_ids(struct ptc_pt_process *p)
{
	struct err *err = NULL;
	size_t n;
	const struct cap_file *files = cap_writer_files(p->log->writer, &n);

	for (size_t i = 0; !err && i < n; i++)
		if (files[i].build_id)
			err = ptc_pt_build_id(p->pt, files[i].path, files[i].build_id);
	return err;
}

static void say(struct ptc_pt_process *p, struct cap_pt *ret)
{
	const struct ptc_pt_stats *stats = p->pt ? ptc_pt_stats(p->pt) : NULL;

	if (!p->all->is_wanted)
		return;
	ret->is_wanted = true;
	ret->is_recorded = stats;
	if (!stats) {
		ret->why_not = strdup(p->why_not      ? p->why_not :
				      p->all->why_not ? p->all->why_not :
							"it was never begun");
		return;
	}
	ptc_pt_probes_tell(p, ret);
	ret->clock[0] = stats->begin;
	ret->clock[1] = ptc_pt_instant_now();
	ret->bytes = stats->aux_bytes;
	ret->n_lost = stats->n_lost + stats->n_damaged;
	ret->n_gaps = stats->n_truncated + stats->n_partial + stats->n_collisions +
		      !!stats->n_overrun;
}

void ptc_pt_end(struct ptc_pt_process *p, struct cap_info *info)
{
	struct err *err = p->pt ? tell_build_ids(p) : NULL;

	if (!err && p->pt)
		err = ptc_pt_finish(p->pt);
	if (err)
		give_up(p, err);
	say(p, &info->pt);
	ptc_pt_destroy(take_ptr(&p->pt));
}

void ptc_pt_write_snapshot(struct ptc_pt_process *p, struct cap_info *info)
{
	_cleanup_free_ char *path = p->pt ? file_path(p) : NULL;
	struct err *err = path ? ptc_pt_snapshot(p->pt, path) : NULL;

	if (err)
		give_up(p, err);
	say(p, &info->pt);
}
