// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "capture/cap_format.h"
#include "capture/perf_writer_int.h"

static void see_time(struct perf_writer *w, uint64_t ns)
{
	if (!ns || ns == UINT64_MAX)
		return;
	if (!w->first_ns || ns < w->first_ns)
		w->first_ns = ns;
	if (ns > w->last_ns)
		w->last_ns = ns;
}

/* Put a record: its beginning, a text or other bytes (padded), a sample id. */
struct err *perf_put_record(struct perf_writer *w, void *head, size_t head_bytes,
			    const void *tail, size_t tail_bytes,
			    const struct perf_record *id)
{
	static const uint8_t zeros[PERF_WORD];
	struct perf_rec *rec = head;
	size_t padded = cap_pad8(head_bytes + tail_bytes) - head_bytes;
	size_t bytes = head_bytes + padded + (id ? PERF_SAMPLE_ID_BYTES : 0);
	uint64_t words[PERF_SAMPLE_ID_BYTES / PERF_WORD] = {};
	struct err *err;

	if (bytes > UINT16_MAX)
		return err_new(ERR_RANGE, "a record for '%s' is too large: %zu bytes",
			       w->path, bytes);
	rec->size = bytes;
	err = perf_put(w, head, head_bytes);
	if (!err)
		err = perf_put(w, tail, tail_bytes);
	if (!err)
		err = perf_put(w, zeros, padded - tail_bytes);
	if (err || !id)
		return err;
	words[0] = id->pid | (uint64_t)id->tid << 32;
	words[1] = id->time_ns;
	words[2] = id->cpu;
	words[3] = id->id ?:
			    w->ids[id->kind == PERF_AUX || id->kind == PERF_ITRACE_START ?
					   PERF_ATTR_PT :
					   PERF_ATTR_SIDEBAND]
				   .data[0];
	see_time(w, id->time_ns);
	return perf_put(w, words, sizeof(words));
}

static struct err *put_mmap(struct perf_writer *w, const struct perf_record *r)
{
	struct perf_rec_mmap2 m = {
		.mmap = { .head = { .type = PERF_TYPE_MMAP2,
				    .misc = r->is_kernel ? PERF_MISC_KERNEL :
							   PERF_MISC_USER },
			  .pid = r->mmap.pid,
			  .tid = r->mmap.tid,
			  .addr = r->mmap.addr,
			  .bytes = r->mmap.bytes,
			  .file_offset = r->mmap.file_offset },
		.prot = r->mmap.prot,
		.flags = r->mmap.flags,
	};
	const char *path = r->mmap.path ?: "//anon";

	assert(r->mmap.build_id_bytes <= PERF_BUILD_ID_MAX);
	if (r->mmap.build_id_bytes) {
		m.mmap.head.misc |= PERF_MISC_MMAP_BUILD_ID;
		m.build_id_bytes = r->mmap.build_id_bytes;
		memcpy(m.build_id, r->mmap.build_id, r->mmap.build_id_bytes);
	} else {
		m.major = r->mmap.major;
		m.minor = r->mmap.minor;
		m.inode = r->mmap.inode;
		m.generation = r->mmap.generation;
	}
	return perf_put_record(w, &m, sizeof(m), path, strlen(path) + 1, r);
}

static struct err *put_task(struct perf_writer *w, const struct perf_record *r)
{
	struct perf_rec_task t = {
		.head.type = r->kind == PERF_FORK ? PERF_TYPE_FORK : PERF_TYPE_EXIT,
		.pid = r->task.pid,
		.parent_pid = r->task.parent_pid,
		.tid = r->task.tid,
		.parent_tid = r->task.parent_tid,
		.time_ns = r->task.time_ns ?: r->time_ns,
	};

	return perf_put_record(w, &t, sizeof(t), NULL, 0, r);
}

static struct err *put_comm(struct perf_writer *w, const struct perf_record *r)
{
	struct perf_rec_comm c = {
		.head = { .type = PERF_TYPE_COMM,
			  .misc = r->comm.is_exec ? PERF_MISC_COMM_EXEC : 0 },
		.pid = r->comm.pid,
		.tid = r->comm.tid
	};
	char name[16] = "";

	// The kernel's names have 15 bytes, and so have perf's.
	snprintf(name, sizeof(name), "%s", r->comm.name ?: "");
	return perf_put_record(w, &c, sizeof(c), name, strlen(name) + 1, r);
}

static struct err *put_switch(struct perf_writer *w, const struct perf_record *r)
{
	struct perf_rec_ids s = { .head.type = r->change.has_other ?
						       PERF_TYPE_SWITCH_CPU_WIDE :
						       PERF_TYPE_SWITCH,
				  .pid = r->change.other_pid,
				  .tid = r->change.other_tid };

	if (r->change.is_out)
		s.head.misc |= PERF_MISC_SWITCH_OUT;
	if (r->change.is_out && r->change.is_preempted)
		s.head.misc |= PERF_MISC_SWITCH_PREEMPTED;
	return perf_put_record(w, &s, r->change.has_other ? sizeof(s) : sizeof(s.head),
			       NULL, 0, r);
}

/* The kinds without a file of their own: a few numbers. */
static struct err *put_small(struct perf_writer *w, const struct perf_record *r)
{
	switch (r->kind) {
	case PERF_LOST: {
		struct perf_rec_lost l = { { .type = PERF_TYPE_LOST },
					   r->lost.id,
					   r->lost.n };

		return perf_put_record(w, &l, sizeof(l), NULL, 0, r);
	}
	case PERF_LOST_SAMPLES: {
		struct perf_rec_lost_samples l = { { .type = PERF_TYPE_LOST_SAMPLES },
						   r->lost.n };

		return perf_put_record(w, &l, sizeof(l), NULL, 0, r);
	}
	case PERF_AUX: {
		struct perf_rec_aux a = { { .type = PERF_TYPE_AUX },
					  r->aux.offset,
					  r->aux.bytes,
					  r->aux.flags };

		return perf_put_record(w, &a, sizeof(a), NULL, 0, r);
	}
	case PERF_ITRACE_START: {
		struct perf_rec_ids s = { { .type = PERF_TYPE_ITRACE_START },
					  r->start.pid,
					  r->start.tid };

		return perf_put_record(w, &s, sizeof(s), NULL, 0, r);
	}
	default:
		assert(!"a kind of record that can be written");
		return NULL;
	}
}

static struct err *put_clock(struct perf_writer *w, const struct perf_clock *clock)
{
	struct perf_rec_clock c = { .head.type = PERF_TYPE_TIME_CONV,
				    .shift = clock->shift,
				    .mult = clock->mult,
				    .zero = clock->zero,
				    .more = { .mask = UINT64_MAX,
					      .has_zero = clock->is_known } };

	return perf_put_record(w, &c, sizeof(c), NULL, 0, NULL);
}

static struct err *put_error(struct perf_writer *w, const struct perf_record *r)
{
	struct perf_rec_error e = { .head.type = PERF_TYPE_AUXTRACE_ERROR,
				    .type = r->error.type,
				    .code = r->error.code,
				    .cpu = r->error.cpu,
				    .pid = r->error.pid,
				    .tid = r->error.tid,
				    .format = 1,
				    .ip = r->error.ip,
				    .time_ns = r->error.time_ns };

	snprintf(e.message, sizeof(e.message), "%s", r->error.message ?: "");
	return perf_put_record(w, &e, sizeof(e), NULL, 0, NULL);
}

struct err *perf_writer_record(struct perf_writer *w, const struct perf_record *r)
{
	struct perf_rec head = {};
	struct perf_rec_map map = { .head.type = PERF_TYPE_THREAD_MAP };

	switch (r->kind) {
	case PERF_MMAP:
		return put_mmap(w, r);
	case PERF_COMM:
		return put_comm(w, r);
	case PERF_FORK:
	case PERF_EXIT:
		return put_task(w, r);
	case PERF_SWITCH:
		return put_switch(w, r);
	case PERF_AUXTRACE_ERROR:
		return put_error(w, r);
	case PERF_TIME_CONV:
		return put_clock(w, &r->clock);
	case PERF_THREAD_MAP:
		map.n = r->map.n;
		return perf_put_record(w, &map, sizeof(map), r->map.entries,
				       map.n * PERF_THREAD_ENTRY, NULL);
	case PERF_ROUND:
	case PERF_INIT:
		head.type = r->kind == PERF_ROUND ? PERF_TYPE_FINISHED_ROUND :
						    PERF_TYPE_FINISHED_INIT;
		return perf_put_record(w, &head, sizeof(head), NULL, 0, NULL);
	default:
		return put_small(w, r);
	}
}

struct err *perf_writer_raw(struct perf_writer *w, const void *data, size_t bytes)
{
	struct perf_rec rec;
	uint64_t ns;

	if (bytes < sizeof(rec) + PERF_SAMPLE_ID_BYTES || bytes % PERF_WORD ||
	    bytes > UINT16_MAX)
		return err_new(ERR_FORMAT, "the kernel's record has %zu bytes", bytes);
	memcpy(&rec, data, sizeof(rec));
	if (rec.size != bytes)
		return err_new(ERR_FORMAT,
			       "the kernel's record of %zu bytes says it has %u", bytes,
			       rec.size);
	assert(rec.type < PERF_TYPE_USER && rec.type != PERF_TYPE_SAMPLE);
	memcpy(&ns, (const uint8_t *)data + bytes - PERF_SAMPLE_ID_BYTES + PERF_WORD,
	       sizeof(ns));
	see_time(w, ns);
	return perf_put(w, data, bytes);
}
