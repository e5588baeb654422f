// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Intel PT of one process: a stream for each of its threads, or for each CPU, drained into a
 * perf.data; or, in snapshot mode, left to go round until somebody asks.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "capture/perf_data.h"
#include "pt-collect/pt/pt.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"

#define FLUSH_NS 1000000000ull

struct ptc_pt {
	const struct ptc_pt_setup *s;
	pid_t pid;
	char *filter;
	struct perf_pt described;
	struct perf_writer *writer; ///< NULL in snapshot mode
	VEC(struct ptc_pt_stream *) streams;
	uint32_t n_streams; ///< that there ever were
	int poll;
	bool has_news; ///< since the last round
	uint64_t flushed_ns;
	struct ptc_pt_stats stats;
	struct err *failure;
};

/* ---- what was before, for the file ------------------------------------------------------- */

static struct err *tell_comm(struct perf_writer *w, pid_t pid, pid_t tid)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct perf_record rec = { .kind = PERF_COMM,
				   .pid = pid,
				   .tid = tid,
				   .comm = { .pid = pid, .tid = tid } };
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	f = fopen(path, "re");
	if (!f || !fgets(name, sizeof(name), f))
		return NULL; // it has just ended
	name[strcspn(name, "\n")] = 0;
	rec.comm.name = name;
	return perf_writer_record(w, &rec);
}

/** As perf does: what events opened later do not tell. */
static struct err *tell_process(struct perf_writer *w, pid_t pid)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	const struct perf_record done = { .kind = PERF_INIT };
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};
	struct err *err = NULL;

	ptc_tids_read(pid, &tids);
	for (size_t i = 0; !err && i < tids.size; i++)
		err = tell_comm(w, pid, tids.data[i]);
	if (!err)
		err = ptc_maps_read(pid, &maps);
	for (size_t i = 0; !err && i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];
		struct perf_record rec = {
			.kind = PERF_MMAP,
			.pid = pid,
			.tid = pid,
			.mmap = { .pid = pid,
				  .tid = pid,
				  .addr = m->start,
				  .bytes = m->end - m->start,
				  .file_offset = m->offset,
				  .prot = m->prot,
				  .flags = m->is_shared ? MAP_SHARED : MAP_PRIVATE,
				  .inode = m->inode,
				  .path = *m->name ? m->name : "//anon" }
		};

		if (m->prot & PROT_EXEC && !(m->start >> 63))
			err = perf_writer_record(w, &rec);
	}
	return err ?: perf_writer_record(w, &done);
}

static struct err *create_file(struct ptc_pt *pt, const char *path,
			       struct perf_writer **ret)
{
	struct perf_writer_options o = { .pt = pt->described,
					 .inherits = pt->s->o->is_per_cpu };
	VEC(uint64_t) ids[2] = {};
	struct err *err = perf_host_init(&o.host);

	for (size_t i = 0; !err && i < pt->streams.size; i++)
		for (size_t k = 0; !err && k < pt->streams.data[i]->ids.size; k++) {
			uint64_t *id = vec_push(&ids[k % 2]);

			if (id)
				*id = pt->streams.data[i]->ids.data[k];
			else
				err = &err_nomem;
		}
	o.pt_ids = ids[0].data;
	o.n_pt_ids = ids[0].size;
	o.sideband_ids = ids[1].data;
	o.n_sideband_ids = ids[1].size;
	if (!err)
		err = perf_writer_create(path, &o, ret);
	if (!err)
		err = tell_process(*ret, pt->pid);
	perf_host_deinit(&o.host);
	vec_deinit(&ids[0]);
	vec_deinit(&ids[1]);
	return err;
}

/* ---- streams -------------------------------------------------------------------------------- */

struct err *ptc_pt_adopt(struct ptc_pt *pt, struct ptc_pt_stream *st)
{
	// The end of a thread is an event that lasts: it is taken once.
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	struct ptc_pt_stream **slot = vec_push(&pt->streams);
	struct err *err = NULL;

	if (!slot) {
		ptc_pt_stream_close(st);
		return &err_nomem;
	}
	*slot = st;
	st->number = pt->n_streams++;
	// In snapshot mode nobody is to be woken.
	if (!pt->s->o->is_snapshot && st->fds.size)
		epoll_ctl(pt->poll, EPOLL_CTL_ADD, st->fds.data[0], &e);
	for (size_t i = 0; pt->writer && !err && i < st->ids.size; i++)
		err = perf_writer_add_id(pt->writer, !(i % 2), st->ids.data[i]);
	return err;
}

/** Thread @p tid gets a stream of its own. */
static struct err *trace_thread(struct ptc_pt *pt, pid_t tid)
{
	struct ptc_pt_stream *st;
	struct err *err = ptc_pt_stream_open(pt->s, tid, -1, pt->filter, &st);

	return err ?: ptc_pt_adopt(pt, st);
}

/** Thread @p tid is in the stream of each CPU. */
static struct err *trace_on_cpus(struct ptc_pt *pt, pid_t tid)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct err *err = NULL;

	for (int cpu = 0; !err && cpu < n; cpu++) {
		struct ptc_pt_stream *st = NULL;

		for (size_t i = 0; i < pt->streams.size && !st; i++)
			if (pt->streams.data[i]->cpu == cpu)
				st = pt->streams.data[i];
		if (st) {
			err = ptc_pt_stream_join(pt->s, st, tid, pt->filter);
			continue;
		}
		err = ptc_pt_stream_open(pt->s, tid, cpu, pt->filter, &st);
		if (!err)
			err = ptc_pt_adopt(pt, st);
	}
	return err;
}

static struct err *open_streams(struct ptc_pt *pt)
{
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};
	struct err *err = NULL;

	ptc_tids_read(pt->pid, &tids);
	for (size_t i = 0; !err && i < tids.size; i++)
		err = pt->s->o->is_per_cpu ? trace_on_cpus(pt, tids.data[i]) :
					     trace_thread(pt, tids.data[i]);
	if (!err && !pt->streams.size)
		err = err_new(ERR_NOT_FOUND, "cannot trace process %d: it has ended",
			      pt->pid);
	return err;
}

struct err *ptc_pt_create(const struct ptc_pt_setup *s, pid_t pid, const char *exe,
			  const char *path, struct ptc_pt **ret)
{
	struct ptc_pt *pt = calloc(1, sizeof(*pt));
	struct err *err;

	if (!pt)
		return &err_nomem;
	pt->s = s;
	pt->pid = pid;
	pt->stats.begin = ptc_pt_instant_now();
	pt->poll = epoll_create1(EPOLL_CLOEXEC);
	err = pt->poll < 0 ? err_errno("cannot wait for PT") : NULL;
	if (!err)
		err = ptc_pt_filter(&s->o->filters, exe, s->pmu.n_filters, &pt->filter);
	if (!err)
		err = open_streams(pt);
	if (!err) {
		ptc_pt_pmu_describe(&s->pmu, s->config, &pt->described);
		pt->described.is_snapshot = s->o->is_snapshot;
		pt->described.is_per_cpu = s->o->is_per_cpu;
		pt->described.has_switches = s->o->is_per_cpu ? PERF_SWITCHES_THREAD :
								PERF_SWITCHES_NONE;
		pt->described.filter = pt->filter;
		pt->described.clock = ptc_pt_stream_clock(pt->streams.data[0]);
	}
	if (!err && !s->o->is_snapshot)
		err = create_file(pt, path, &pt->writer);
	if (err)
		ptc_pt_destroy(pt);
	else
		*ret = pt;
	return err;
}

void ptc_pt_destroy(struct ptc_pt *pt)
{
	if (!pt)
		return;
	for (size_t i = 0; i < pt->streams.size; i++)
		ptc_pt_stream_close(pt->streams.data[i]);
	vec_deinit(&pt->streams);
	perf_writer_destroy(pt->writer);
	err_destroy(pt->failure);
	if (pt->poll >= 0)
		close(pt->poll);
	free(pt->filter);
	free(pt);
}

int ptc_pt_fd(const struct ptc_pt *pt)
{
	return pt->poll;
}

const struct ptc_pt_stats *ptc_pt_stats(const struct ptc_pt *pt)
{
	return &pt->stats;
}

struct err *ptc_pt_add_thread(struct ptc_pt *pt, pid_t tid)
{
	// What a thread starts inherits a CPU's events.
	return pt->s->o->is_per_cpu ? NULL : trace_thread(pt, tid);
}

/* ---- draining -------------------------------------------------------------------------------- */

/** One stream on its way to the file. */
struct draining {
	struct ptc_pt *pt;
	struct ptc_pt_stream *st;
};

static void count(struct draining *d, const struct perf_event_header *rec)
{
	struct ptc_pt_stats *stats = &d->pt->stats;
	// Both begin with what it is, then: LOST id, lost; AUX offset, size, flags.
	const uint64_t *word = (const uint64_t *)(rec + 1);

	stats->n_records++;
	if (rec->type == PERF_RECORD_LOST && rec->size >= sizeof(*rec) + 16) {
		stats->n_lost += word[1];
		d->st->n_lost_told += word[1];
	}
	if (rec->type != PERF_RECORD_AUX || rec->size < sizeof(*rec) + 24)
		return;
	stats->n_truncated += !!(word[2] & PERF_AUX_FLAG_TRUNCATED);
	stats->n_partial += !!(word[2] & PERF_AUX_FLAG_PARTIAL);
	stats->n_collisions += !!(word[2] & PERF_AUX_FLAG_COLLISION);
	d->st->is_cut |= !!(word[2] & PERF_AUX_FLAG_TRUNCATED);
}

static bool take_record(void *ctx, const struct perf_event_header *rec)
{
	struct draining *d = ctx;

	count(d, rec);
	d->pt->has_news = true;
	if (rec->type == PERF_RECORD_SAMPLE || !d->pt->writer)
		return true;
	d->pt->failure = perf_writer_raw(d->pt->writer, rec, rec->size);
	return !d->pt->failure;
}

static struct perf_piece piece_of(const struct ptc_pt_stream *st, uint64_t offset)
{
	return (struct perf_piece){ .stream = st->number,
				    .tid = st->tid ? (uint32_t)st->tid : PERF_NONE,
				    .cpu = st->cpu < 0 ? PERF_NONE : (uint32_t)st->cpu,
				    .offset = offset };
}

static bool take_aux(void *ctx, uint64_t offset, const uint8_t *data, size_t bytes)
{
	struct draining *d = ctx;
	const struct perf_piece piece = piece_of(d->st, offset);

	d->pt->failure = perf_writer_stream(d->pt->writer, &piece, data, bytes);
	d->pt->stats.aux_bytes += bytes;
	d->pt->has_news = true;
	return !d->pt->failure;
}

static void drain_stream(struct ptc_pt *pt, struct ptc_pt_stream *st)
{
	struct draining d = { pt, st };

	ptc_ring_drain(&st->ring, take_record, &d);
	if (!pt->failure && st->ring.aux && !st->ring.is_overwriting)
		ptc_ring_drain_aux(&st->ring, take_aux, &d);
	pt->stats.n_damaged += st->ring.n_damaged;
	pt->stats.n_overrun += st->ring.n_overrun;
	st->ring.n_damaged = st->ring.n_overrun = 0;
	// The kernel switched PT off when the area was full; there is room again.
	if (st->is_cut)
		ptc_pt_stream_enable(st, true);
	st->is_cut = false;
}

struct err *ptc_pt_drain(struct ptc_pt *pt)
{
	const struct perf_record round = { .kind = PERF_ROUND };
	struct epoll_event events[64];

	// So that it is readable no more, before what it tells of is taken.
	epoll_wait(pt->poll, events, 64, 0);
	for (size_t i = 0; i < pt->streams.size && !pt->failure; i++)
		drain_stream(pt, pt->streams.data[i]);
	if (!pt->failure && pt->writer && pt->has_news)
		pt->failure = perf_writer_record(pt->writer, &round);
	pt->has_news = false;
	// What a recorder that is killed leaves.
	if (!pt->failure && pt->writer && ptc_now_ns() - pt->flushed_ns > FLUSH_NS) {
		pt->flushed_ns = ptc_now_ns();
		pt->failure = perf_writer_flush(pt->writer);
	}
	return take_ptr(&pt->failure);
}

/** The kernel tells of lost records in front of the next one. Behind the last it is we who
 * do. */
static void end_stream(struct ptc_pt *pt, struct ptc_pt_stream *st)
{
	struct perf_record rec = { .kind = PERF_LOST, .pid = pt->pid, .tid = pt->pid };
	uint64_t n;

	ptc_pt_stream_enable(st, false);
	drain_stream(pt, st);
	n = ptc_pt_stream_lost(st);
	if (n <= st->n_lost_told)
		return;
	rec.lost.n = n - st->n_lost_told;
	st->n_lost_told = n;
	pt->stats.n_lost += rec.lost.n;
	if (pt->writer && !pt->failure)
		pt->failure = perf_writer_record(pt->writer, &rec);
}

void ptc_pt_forget_thread(struct ptc_pt *pt, pid_t tid)
{
	for (size_t i = 0; i < pt->streams.size; i++) {
		struct ptc_pt_stream *st = pt->streams.data[i];

		if (st->tid != tid)
			continue;
		end_stream(pt, st);
		ptc_pt_stream_close(st);
		pt->streams.data[i--] = pt->streams.data[--pt->streams.size];
	}
}

struct err *ptc_pt_build_id(struct ptc_pt *pt, const char *path, const char *build_id)
{
	uint8_t id[PERF_BUILD_ID_MAX];
	size_t n = 0;

	for (; n < sizeof(id) && sscanf(build_id + 2 * n, "%2hhx", &id[n]) == 1; n++)
		;
	if (!pt->writer || !n)
		return NULL;
	return perf_writer_build_id(pt->writer, pt->pid, path, id, n);
}

struct err *ptc_pt_finish(struct ptc_pt *pt)
{
	struct err *err;

	for (size_t i = 0; i < pt->streams.size; i++)
		end_stream(pt, pt->streams.data[i]);
	err = ptc_pt_drain(pt);
	return err || !pt->writer ? err : perf_writer_finish(pt->writer, NULL);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static struct err *write_window(struct ptc_pt *pt, struct perf_writer *w,
				const struct ptc_pt_stream *st)
{
	const struct ptc_aux_window window = ptc_ring_window(&st->ring);
	struct perf_piece piece = piece_of(st, window.offset);
	struct perf_record aux = { .kind = PERF_AUX,
				   .pid = pt->pid,
				   .tid = piece.tid,
				   .cpu = piece.cpu,
				   .aux = { .offset = window.offset,
					    .bytes = window.bytes,
					    .flags = PERF_AUX_OVERWRITE } };
	struct err *err = window.bytes ? perf_writer_record(w, &aux) : NULL;
	size_t n;

	for (uint64_t done = 0; !err && done < window.bytes; done += n) {
		const uint8_t *data = ptc_ring_piece(&st->ring, window.offset + done,
						     window.bytes - done, &n);

		piece.offset = window.offset + done;
		err = perf_writer_stream(w, &piece, data, n);
	}
	pt->stats.aux_bytes += window.bytes;
	return err;
}

struct err *ptc_pt_snapshot(struct ptc_pt *pt, const char *path)
{
	_cleanup_(perf_writer_destroyp) struct perf_writer *w = NULL;
	struct err *err = ptc_pt_drain(pt);

	if (!err)
		err = create_file(pt, path, &w);
	for (size_t i = 0; !err && i < pt->streams.size; i++) {
		struct ptc_pt_stream *st = pt->streams.data[i];

		// Written to the end, and not any more while we read.
		ptc_pt_stream_enable(st, false);
		if (st->ring.aux)
			err = write_window(pt, w, st);
		ptc_pt_stream_enable(st, true);
	}
	return err ?: perf_writer_finish(w, NULL);
}
