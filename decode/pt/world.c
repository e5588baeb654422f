// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/world.h"

#include <string.h>
#include <sys/mman.h>

/* A record that is kept until all can be sorted. */
struct kept {
	uint64_t seq;
	struct perf_record rec;
};

struct reading {
	struct dec_pt_world *world;
	VEC(struct kept) kept;
	uint64_t seq;
};

static uint64_t tsc_of(const struct dec_pt_world *w, uint64_t ns)
{
	return w->clock->is_known && ns ? perf_clock_tsc(w->clock, ns) : 0;
}

/* ---- threads ------------------------------------------------------------------------------ */

static struct dec_pt_thread *thread_find(const struct dec_pt_world *w, uint32_t tid)
{
	size_t at = vec_rank(w->threads.size, i, w->threads.data[i].tid < tid);

	return at < w->threads.size && w->threads.data[at].tid == tid ?
		       &w->threads.data[at] :
		       NULL;
}

static struct err *thread_add(struct dec_pt_world *w, uint32_t pid, uint32_t tid,
			      const char *name)
{
	struct dec_pt_thread *t = thread_find(w, tid);

	if (!t) {
		t = vec_push(&w->threads);
		if (!t)
			return &err_nomem;
		for (; t > w->threads.data && t[-1].tid > tid; t--)
			t[0] = t[-1];
		*t = (struct dec_pt_thread){ .tid = tid };
	}
	t->pid = pid;
	if (name)
		t->name = name;
	return NULL;
}

/* ---- eras ---------------------------------------------------------------------------------- */

/* @return the last era of @p pid, NULL. */
static struct dec_pt_era *era_last(const struct dec_pt_world *w, uint32_t pid)
{
	for (size_t i = w->eras.size; i-- > 0;)
		if (w->eras.data[i].pid == pid)
			return &w->eras.data[i];
	return NULL;
}

static struct err *era_add(struct dec_pt_world *w, uint32_t pid, uint64_t from,
			   struct dec_pt_era **ret)
{
	struct dec_pt_image *image = calloc(1, sizeof(*image));
	struct dec_pt_era *e = image ? vec_push(&w->eras) : NULL;

	if (!e) {
		free(image);
		return &err_nomem;
	}
	*e = (struct dec_pt_era){ pid, from, image };
	*ret = e;
	return NULL;
}

static struct err *era_of(struct dec_pt_world *w, uint32_t pid, struct dec_pt_era **ret)
{
	*ret = era_last(w, pid);
	return *ret ? NULL : era_add(w, pid, 0, ret);
}

/* The program itself, as its capture knows it: the vdso, and code that is in no file. */
static struct err *era_of_capture(struct dec_pt_world *w, const struct capture *c)
{
	const struct cap_info *info = capture_info(c);
	struct dec_pt_era *e;
	struct err *err;

	if (info->mode != CAP_MODE_REPLAY)
		return NULL;
	err = era_add(w, info->pid, 0, &e);
	return err ? err : dec_pt_image_init(e->image, c);
}

/* Whether that code is there already, and nothing else has come over it since. */
static bool era_has(const struct dec_pt_era *e, const struct perf_record *r)
{
	for (size_t i = e->image->maps.size; i-- > 0;) {
		const struct dec_pt_map *m = &e->image->maps.data[i];

		if (r->mmap.addr >= m->addr + m->size ||
		    m->addr >= r->mmap.addr + r->mmap.bytes)
			continue;
		if (r->mmap.addr >= m->addr &&
		    r->mmap.addr + r->mmap.bytes <= m->addr + m->size &&
		    r->mmap.addr - m->addr == r->mmap.file_offset - m->file_offset &&
		    !strcmp(r->mmap.path, m->path))
			return true;
		// What was there at the start lies in layers: none of them is later.
		if (m->from)
			return false;
	}
	return false;
}

/* ---- records, in order ---------------------------------------------------------------------- */

static struct err *on_mmap(struct dec_pt_world *w, const struct perf_record *r)
{
	const struct dec_pt_file *file;
	struct dec_pt_era *e;
	struct err *err;

	if (!(r->mmap.prot & PROT_EXEC) || r->is_kernel || r->mmap.pid == PERF_NONE ||
	    !r->mmap.bytes || r->mmap.addr + r->mmap.bytes < r->mmap.addr ||
	    !strcmp(r->mmap.path, "[uprobes]")) // the kernel's page for probes: no file
		return NULL;
	err = era_of(w, r->mmap.pid, &e);
	if (err || era_has(e, r))
		return err;
	err = dec_pt_files_find(w->files, r, &file);
	if (err)
		return err;
	return dec_pt_image_map_path(e->image, file->path, file->fd, file->why,
				     r->mmap.addr, r->mmap.bytes, r->mmap.file_offset,
				     tsc_of(w, r->time_ns));
}

/* An era without code has not begun: who executes its first program does not begin anew,
 * however late the record of it is. */
static struct err *on_comm(struct dec_pt_world *w, const struct perf_record *r)
{
	struct dec_pt_era *e = era_last(w, r->comm.pid);
	struct err *err = thread_add(w, r->comm.pid, r->comm.tid, r->comm.name);

	if (err || !r->comm.is_exec || !e || !e->image->maps.size)
		return err;
	return era_add(w, r->comm.pid, tsc_of(w, r->time_ns), &e);
}

static struct err *on_fork(struct dec_pt_world *w, const struct perf_record *r)
{
	const struct dec_pt_thread *t = thread_find(w, r->task.parent_tid);
	struct dec_pt_era *child = NULL, *parent;
	struct err *err = thread_add(w, r->task.pid, r->task.tid, t ? t->name : NULL);

	if (err || r->task.pid == r->task.parent_pid || era_last(w, r->task.pid) ||
	    !era_last(w, r->task.parent_pid))
		return err;
	err = era_add(w, r->task.pid, tsc_of(w, r->time_ns), &child);
	parent = era_last(w, r->task.parent_pid);
	for (size_t i = 0; !err && i < parent->image->maps.size; i++) {
		const struct dec_pt_map *m = &parent->image->maps.data[i];

		err = dec_pt_image_map_path(child->image, m->path, m->fd, m->why, m->addr,
					    m->size, m->file_offset, m->from);
	}
	return err;
}

static struct err *on_kept(struct dec_pt_world *w, const struct perf_record *r)
{
	switch (r->kind) {
	case PERF_MMAP:
		return on_mmap(w, r);
	case PERF_COMM:
		return on_comm(w, r);
	default:
		return on_fork(w, r);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Keep @p r, with its text. */
static struct err *keep(struct reading *rd, const struct perf_record *r)
{
	struct kept *k = vec_push(&rd->kept);
	const char *text = r->kind == PERF_MMAP ? r->mmap.path :
			   r->kind == PERF_COMM ? r->comm.name :
						  "";
	char *copy = arena_strndup(&rd->world->arena, text, strlen(text));

	if (!k || !copy)
		return &err_nomem;
	*k = (struct kept){ rd->seq++, *r };
	if (r->kind == PERF_MMAP)
		k->rec.mmap.path = copy;
	else if (r->kind == PERF_COMM)
		k->rec.comm.name = copy;
	return NULL;
}

static struct err *keep_change(struct reading *rd, uint64_t time_ns, uint32_t cpu,
			       uint32_t tid, bool is_out)
{
	return vec_add(&rd->world->changes,
		       (struct dec_pt_change){ time_ns, rd->seq++, cpu, tid, is_out });
}

/* Who is told of by a switch only is traced all the same. */
static struct err *keep_switched(struct reading *rd, const struct perf_record *r,
				 uint32_t pid, uint32_t tid, bool is_out)
{
	struct err *err = NULL;

	if (tid && tid != PERF_NONE && !thread_find(rd->world, tid))
		err = thread_add(rd->world, pid, tid, NULL);
	return err ? err : keep_change(rd, r->time_ns, r->cpu, tid, is_out);
}

/* A record may tell of both, who ceases to run and who begins. */
static struct err *keep_switch(struct reading *rd, const struct perf_record *r)
{
	bool is_out = r->change.is_out, has_other = r->change.has_other;
	struct err *err = NULL;

	if (has_other && !is_out)
		err = keep_switched(rd, r, r->change.other_pid, r->change.other_tid,
				    true);
	if (!err)
		err = keep_switched(rd, r, r->pid, r->tid, is_out);
	if (!err && has_other && is_out)
		err = keep_switched(rd, r, r->change.other_pid, r->change.other_tid,
				    false);
	return err;
}

static struct err *keep_loss(struct reading *rd, const struct perf_record *r)
{
	if (!(r->aux.flags & (PERF_AUX_TRUNCATED | PERF_AUX_PARTIAL)))
		return NULL;
	return vec_add(&rd->world->losses,
		       (struct dec_pt_loss){ r->tid, r->cpu, r->aux.offset + r->aux.bytes,
					     r->aux.flags & PERF_AUX_TRUNCATED ?
						     "the trace buffer was full" :
						     "tracing was interrupted" });
}

static struct err *read_one(struct reading *rd, const struct perf_record *r)
{
	switch (r->kind) {
	case PERF_MMAP:
	case PERF_COMM:
	case PERF_FORK:
		return keep(rd, r);
	case PERF_ITRACE_START:
		return keep_change(rd, r->time_ns, r->cpu, r->start.tid, false);
	case PERF_SWITCH:
		return keep_switch(rd, r);
	case PERF_AUX:
		return keep_loss(rd, r);
	default:
		return NULL;
	}
}

/* A file that is damaged is read up to there; perf_info tells of it. */
static struct err *read_all(struct reading *rd, struct perf_reader *r)
{
	struct perf_record rec;
	struct err *err = NULL;
	bool is_end = false;

	perf_reader_rewind(r);
	while (!err) {
		err = perf_reader_next(r, &rec, &is_end);
		if (err && (err->code == ERR_FORMAT || err->code == ERR_TRUNCATED)) {
			err_destroy(err);
			return NULL;
		}
		if (err || is_end)
			break;
		err = read_one(rd, &rec);
	}
	return err;
}

static int earlier(uint64_t a, uint64_t a_seq, uint64_t b, uint64_t b_seq)
{
	return a != b ? (a > b) - (a < b) : (a_seq > b_seq) - (a_seq < b_seq);
}

static int kept_order(const void *a, const void *b)
{
	const struct kept *p = a, *q = b;

	return earlier(p->rec.time_ns, p->seq, q->rec.time_ns, q->seq);
}

static int change_order(const void *a, const void *b)
{
	const struct dec_pt_change *p = a, *q = b;

	return earlier(p->time_ns, p->seq, q->time_ns, q->seq);
}

static int loss_order(const void *a, const void *b)
{
	const struct dec_pt_loss *p = a, *q = b;

	return (p->offset > q->offset) - (p->offset < q->offset);
}

static int era_order(const void *a, const void *b)
{
	const struct dec_pt_era *p = a, *q = b;

	return (p->from > q->from) - (p->from < q->from);
}

struct err *dec_pt_world_init(struct dec_pt_world *w, struct perf_reader *r,
			      struct dec_pt_files *files)
{
	struct reading rd = { .world = w };
	struct err *err = NULL;

	*w = (struct dec_pt_world){ .clock = &perf_reader_info(r)->pt.clock,
				    .files = files };
	if (files->capture)
		err = era_of_capture(w, files->capture);
	if (!err)
		err = read_all(&rd, r);
	vec_sort(&rd.kept, kept_order);
	for (size_t i = 0; !err && i < rd.kept.size; i++)
		err = on_kept(w, &rd.kept.data[i].rec);
	vec_deinit(&rd.kept);
	vec_sort(&w->changes, change_order);
	vec_sort(&w->losses, loss_order);
	vec_sort(&w->eras, era_order);
	return err;
}

void dec_pt_world_deinit(struct dec_pt_world *w)
{
	for (size_t i = 0; i < w->eras.size; i++) {
		dec_pt_image_deinit(w->eras.data[i].image);
		free(w->eras.data[i].image);
	}
	vec_deinit(&w->eras);
	vec_deinit(&w->losses);
	vec_deinit(&w->changes);
	vec_deinit(&w->threads);
	arena_deinit(&w->arena);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static struct err *turn_add(struct dec_pt_stream *s, uint64_t from, uint32_t tid,
			    struct dec_pt_image *image)
{
	if (!s->turns.size)
		return dec_pt_stream_init(s, tid, image);
	return vec_add(&s->turns, (struct dec_pt_turn){ from, tid, image });
}

/* Thread @p tid from @p from up to @p to, with all eras of its process in between. */
static struct err *turn_eras(struct dec_pt_world *w, struct dec_pt_stream *s,
			     uint32_t tid, uint64_t from, uint64_t to)
{
	const struct dec_pt_thread *t = thread_find(w, tid);
	uint32_t pid = t ? t->pid : tid;
	struct dec_pt_era *first = NULL;
	struct err *err = NULL;

	for (size_t i = 0; i < w->eras.size; i++) {
		struct dec_pt_era *e = &w->eras.data[i];

		if (e->pid == pid && (!first || e->from <= from))
			first = e;
	}
	if (!first)
		err = era_add(w, pid, 0, &first);
	if (!err)
		err = turn_add(s, from, tid, first->image);
	for (size_t i = 0; !err && i < w->eras.size; i++) {
		const struct dec_pt_era *e = &w->eras.data[i];

		if (e->pid == pid && e->from > from && e->from < to && e != first)
			err = turn_add(s, e->from, tid, e->image);
	}
	return err;
}

struct err *dec_pt_world_thread_turns(struct dec_pt_world *w, uint32_t tid,
				      struct dec_pt_stream *s)
{
	return turn_eras(w, s, tid, 0, UINT64_MAX);
}

/* Who ran on a processor: found out one after the other, as it is only known at the next
 * one how long one ran. */
struct cpu_turns {
	struct dec_pt_world *world;
	struct dec_pt_stream *stream;
	uint32_t tid; ///< PERF_NONE: nobody was told of yet
	uint64_t from;
	bool is_idle;	    ///< it has ceased, and nobody was told of since
	uint64_t idle_from; ///< when
};

static struct err *cpu_turn(struct cpu_turns *c, uint32_t tid, uint64_t from)
{
	struct err *err = NULL;

	if (c->tid != PERF_NONE)
		err = turn_eras(c->world, c->stream, c->tid, c->from, from);
	// The first one was there before it is told of.
	c->from = c->tid == PERF_NONE ? 0 : from;
	c->tid = tid;
	return err;
}

/* @return whether @p change tells of a thread that was not there before. */
static bool cpu_is_new(const struct cpu_turns *c, const struct dec_pt_change *change)
{
	if (!change->tid || change->tid == PERF_NONE || change->tid == c->tid)
		return false;
	return !change->is_out || c->is_idle || c->tid == PERF_NONE;
}

/* The kernel tells that a thread begins a little after it has begun: it may have, from when
 * the one before it had ceased, even where the idle task was told of in between. That has no
 * code of its own but the kernel's. */
static struct err *cpu_change(struct cpu_turns *c, const struct dec_pt_change *change)
{
	uint64_t at = tsc_of(c->world, change->time_ns);
	bool is_new = cpu_is_new(c, change);
	struct err *err = NULL;

	if (is_new)
		err = cpu_turn(c, change->tid, c->is_idle ? c->idle_from : at);
	if (!change->is_out && change->tid && change->tid != PERF_NONE) {
		c->is_idle = false;
	} else if (!c->is_idle || is_new) {
		c->is_idle = true;
		c->idle_from = at;
	}
	return err;
}

/* There are no records of switches: whose code can it be? */
static uint32_t cpu_anybody(const struct dec_pt_world *w)
{
	for (size_t i = 0; i < w->eras.size; i++)
		if (w->eras.data[i].image->maps.size)
			return w->eras.data[i].pid;
	return 0;
}

struct err *dec_pt_world_cpu_turns(struct dec_pt_world *w, uint32_t cpu,
				   struct dec_pt_stream *s)
{
	struct cpu_turns c = { .world = w, .stream = s, .tid = PERF_NONE };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < w->changes.size; i++)
		if (w->changes.data[i].cpu == cpu)
			err = cpu_change(&c, &w->changes.data[i]);
	if (c.tid == PERF_NONE)
		c.tid = cpu_anybody(w);
	return err ? err : turn_eras(w, s, c.tid, c.from, UINT64_MAX);
}
