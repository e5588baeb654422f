// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/sideband.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Readers sort records between rounds: so many they must keep. */
#define ROUND_RECORDS 4096

#define PAGE 4096ull

#define ANON "//anon" ///< as the kernel calls it

/* A part of a file that is mapped, as code or not: mprotect may make it code. */
struct span {
	uint64_t start, end, file_offset;
	uint32_t file;
};

struct sideband {
	const struct capture *capture;
	const struct cap_info *info;
	struct perf_writer *writer;
	struct dec_sideband *ret;
	VEC(struct span) spans; ///< they do not overlap
	struct map parent;	///< thread that is known -> its parent, plus 1
	uint64_t tsc;		///< now: no event is later
	uint32_t tid;		///< who runs
};

static struct err *put(struct sideband *s, struct perf_record *r)
{
	static const struct perf_record round = { .kind = PERF_ROUND };
	struct err *err;

	r->pid = s->info->pid;
	r->tid = s->tid;
	r->cpu = 0;
	err = perf_writer_record(s->writer, r);
	if (!err && ++s->ret->n_records % ROUND_RECORDS == 0)
		err = perf_writer_record(s->writer, &round);
	return err;
}

/* ---- code --------------------------------------------------------------------------------- */

uint8_t dec_build_id(const char *hex, uint8_t ret[PERF_BUILD_ID_MAX])
{
	size_t n = hex ? strlen(hex) / 2 : 0;

	if (n > PERF_BUILD_ID_MAX)
		n = PERF_BUILD_ID_MAX;
	for (size_t i = 0; i < n; i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return 0;
		ret[i] = byte;
	}
	return n;
}

/* Programs that compile switch the same pages to code again and again. */
static struct err *add_unfiled(struct dec_sideband *ret, uint64_t start, uint64_t end)
{
	struct dec_unfiled *u;

	for (size_t i = 0; i < ret->unfiled.size; i++) {
		u = &ret->unfiled.data[i];
		if (start > u->end || end < u->start)
			continue;
		u->start = start < u->start ? start : u->start;
		u->end = end > u->end ? end : u->end;
		return NULL;
	}
	u = vec_push(&ret->unfiled);
	if (!u)
		return &err_nomem;
	*u = (struct dec_unfiled){ start, end };
	return NULL;
}

/* From now on there is code at @p m: of its file, or of none, called @p name. */
static struct err *put_code(struct sideband *s, const struct span *m, const char *name,
			    uint64_t time_ns)
{
	struct perf_record r = { .kind = PERF_MMAP,
				 .time_ns = time_ns,
				 .mmap = { .pid = s->info->pid,
					   .tid = s->info->pid,
					   .addr = m->start,
					   .bytes = m->end - m->start,
					   .file_offset = m->file_offset,
					   .prot = PROT_READ | PROT_EXEC,
					   .flags = MAP_PRIVATE,
					   .path = name } };
	struct err *err;

	if (m->file && m->file <= s->info->n_files) {
		const struct cap_file *file = &s->info->files[m->file - 1];

		r.mmap.path = file->path;
		r.mmap.build_id_bytes = dec_build_id(file->build_id, r.mmap.build_id);
		return put(s, &r);
	}
	err = add_unfiled(s->ret, m->start, m->end);
	return err ? err : put(s, &r);
}

/* No file is mapped from @p start to @p end any more. */
static struct err *cut(struct sideband *s, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < s->spans.size;) {
		struct span *m = &s->spans.data[i], behind = *m;

		if (m->end <= start || m->start >= end) {
			i++;
			continue;
		}
		m->end = start;
		if (m->start >= start) {
			*m = s->spans.data[--s->spans.size];
		} else {
			i++;
		}
		if (behind.end > end) {
			behind.file_offset += end - behind.start;
			behind.start = end;
			m = vec_push(&s->spans);
			if (!m)
				return &err_nomem;
			*m = behind;
		}
	}
	return NULL;
}

static struct err *add_span(struct sideband *s, const struct span *m)
{
	struct err *err = cut(s, m->start, m->end);

	if (err || !m->file)
		return err;
	return vec_add(&s->spans, *m);
}

/* What lies at @p at: of a file, or up to the next file's (or @p end) of none. */
static struct span find_span(const struct sideband *s, uint64_t at, uint64_t end)
{
	struct span ret = { .start = at, .end = end };

	for (size_t i = 0; i < s->spans.size; i++) {
		const struct span *m = &s->spans.data[i];

		if (at >= m->start && at < m->end) {
			ret = *m;
			ret.file_offset += at - ret.start;
			ret.start = at;
			ret.end = ret.end < end ? ret.end : end;
			return ret;
		}
		if (m->start > at && m->start < ret.end)
			ret.end = m->start;
	}
	return ret;
}

/* All from @p start to @p end is code from now on. */
static struct err *made_code(struct sideband *s, uint64_t start, uint64_t end)
{
	struct err *err = NULL;

	while (!err && start < end) {
		struct span m = find_span(s, start, end);

		err = put_code(s, &m, ANON, s->tsc);
		start = m.end;
	}
	return err;
}

static uint64_t page_up(uint64_t n)
{
	return n + PAGE - 1 < n ? n : (n + PAGE - 1) & ~(PAGE - 1);
}

static struct err *on_mmap(struct sideband *s, const struct cap_event *ev)
{
	struct span m = { .start = ev->ret,
			  .end = ev->ret + page_up(ev->regs.gpr[CAP_RSI]),
			  .file = ev->file,
			  .file_offset = ev->file_offset };
	struct err *err;

	if (m.end <= m.start)
		return NULL;
	err = add_span(s, &m);
	return !err && (ev->regs.gpr[CAP_RDX] & PROT_EXEC) ?
		       put_code(s, &m, ANON, s->tsc) :
		       err;
}

/* A mapping moves, or changes its size. */
static struct err *on_mremap(struct sideband *s, const struct cap_event *ev)
{
	uint64_t from = ev->regs.gpr[CAP_RDI], to = ev->ret;
	uint64_t old_end = from + page_up(ev->regs.gpr[CAP_RSI]);
	struct span m = find_span(s, from, old_end);
	struct err *err = cut(s, from, old_end);

	m.start = to;
	m.end = to + page_up(ev->regs.gpr[CAP_RDX]);
	return err || m.end <= m.start ? err : add_span(s, &m);
}

static struct err *on_syscall(struct sideband *s, const struct cap_event *ev)
{
	const uint64_t *gpr = ev->regs.gpr;
	uint64_t end = gpr[CAP_RDI] + page_up(gpr[CAP_RSI]);

	if (ev->ret < 0 && ev->ret > -4096)
		return NULL;
	switch (gpr[CAP_RAX]) {
	case SYS_mmap:
		return on_mmap(s, ev);
	case SYS_munmap:
		return cut(s, gpr[CAP_RDI], end);
	case SYS_mremap:
		return on_mremap(s, ev);
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return gpr[CAP_RDX] & PROT_EXEC ? made_code(s, gpr[CAP_RDI], end) : NULL;
	case SYS_clone:
	case SYS_clone3:
		// Should it be a thread: then who made it is known.
		if (!map_get(&s->parent, ev->ret) &&
		    map_put(&s->parent, ev->ret | 1ull << 32, ev->tid))
			return &err_nomem;
		return NULL;
	default:
		return NULL;
	}
}

/* ---- threads ------------------------------------------------------------------------------ */

static struct err *put_start(struct sideband *s, uint32_t tid)
{
	struct perf_record r = { .kind = PERF_ITRACE_START,
				 .time_ns = s->tsc,
				 .start = { s->info->pid, tid } };

	return put(s, &r);
}

/* Thread @p tid is there. The first event that names it tells so. */
static struct err *meet_thread(struct sideband *s, uint32_t tid)
{
	uint64_t *parent = map_get(&s->parent, tid | 1ull << 32);
	struct perf_record r = { .kind = PERF_FORK,
				 .time_ns = s->tsc,
				 .task = { .pid = s->info->pid,
					   .tid = tid,
					   .parent_pid = s->info->pid,
					   .parent_tid = parent ? *parent :
								  s->info->pid } };
	struct err *err;

	if (!tid || map_get(&s->parent, tid))
		return NULL;
	if (map_put(&s->parent, tid, 1))
		return &err_nomem;
	err = tid == s->info->pid ? NULL : put(s, &r);
	return err ? err : put_start(s, tid);
}

static struct err *on_exit_event(struct sideband *s, const struct cap_event *ev)
{
	// Behind all that the thread did at that time.
	struct perf_record r = { .kind = PERF_EXIT,
				 .time_ns = s->tsc + 1,
				 .task = { .pid = s->info->pid,
					   .tid = ev->tid,
					   .parent_pid = s->info->pid,
					   .parent_tid = s->info->pid } };

	// Its number may come again.
	map_remove(&s->parent, ev->tid);
	map_remove(&s->parent, ev->tid | 1ull << 32);
	return put(s, &r);
}

static struct err *on_switch(struct sideband *s, const struct cap_event *ev)
{
	struct perf_record r = { .kind = PERF_SWITCH, .time_ns = s->tsc };
	struct err *err;

	s->tid = ev->tid;
	r.change.is_out = true;
	r.change.is_preempted = !(ev->switch_flags & CAP_SWITCH_IN_CALL);
	err = put(s, &r);
	if (!err)
		err = meet_thread(s, ev->next_tid);
	s->tid = ev->next_tid;
	r.change.is_out = r.change.is_preempted = false;
	return err ? err : put(s, &r);
}

static struct err *on_event(void *ctx, const struct cap_event *ev)
{
	struct sideband *s = ctx;
	struct err *err;

	if (s->tsc < ev->at_ns)
		s->tsc = ev->at_ns;
	err = meet_thread(s, ev->tid);
	if (err)
		return err;
	switch (ev->kind) {
	case CAP_EV_SYSCALL:
		return on_syscall(s, ev);
	case CAP_EV_SWITCH:
		return on_switch(s, ev);
	case CAP_EV_EXIT:
		return on_exit_event(s, ev);
	default:
		return NULL;
	}
}

/* ---- the whole ---------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ?: "";
}

/* The list of the threads that there are at the start, as perf has it. */
static struct err *put_threads(struct sideband *s, const struct cap_core *core)
{
	struct perf_record r = { .kind = PERF_THREAD_MAP };
	struct {
		uint64_t tid;
		char name[16];
	} *entries = calloc(core->n_threads + 1, sizeof(*entries));
	struct err *err;

	if (!entries)
		return &err_nomem;
	// A record has room for so many.
	r.map.n = core->n_threads < 2048 ? core->n_threads : 2048;
	for (size_t i = 0; i < r.map.n; i++) {
		entries[i].tid = core->threads[i].tid;
		snprintf(entries[i].name, sizeof(entries[i].name), "%s",
			 base_name(s->info->exe));
	}
	r.map.entries = (const uint8_t *)entries;
	err = perf_writer_record(s->writer, &r);
	free(entries);
	return err;
}

/* What was there before the first event. Times of 0 come before all others. */
static struct err *put_core(struct sideband *s, const struct cap_core *core)
{
	struct perf_record comm = { .kind = PERF_COMM,
				    .comm = { .pid = s->info->pid,
					      .tid = s->info->pid,
					      .is_exec = true,
					      .name = base_name(s->info->exe) } };
	struct err *err = put_threads(s, core);

	s->tid = core->tid;
	if (!err)
		err = put(s, &comm);
	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];
		struct span span = { m->start, m->end, m->file_offset, m->file };

		err = add_span(s, &span);
		if (!err && (m->prot & PROT_EXEC))
			err = put_code(s, &span, m->name[0] ? m->name : ANON, 0);
	}
	for (size_t i = 0; !err && i < core->n_threads; i++)
		err = meet_thread(s, core->threads[i].tid);
	return err;
}

/* PT's clock begins with the first event. */
static struct err *begin_clock(struct sideband *s)
{
	struct cap_events *it;
	struct cap_event ev;
	bool is_end = false;
	struct err *err = cap_events_open(s->capture, &it);

	if (err)
		return err;
	err = cap_events_next(it, &ev, &is_end);
	if (!err && !is_end)
		s->tsc = s->ret->first_tsc = ev.at_ns;
	cap_events_close(it);
	err_destroy(err); // the replay tells
	return NULL;
}

static struct err *put_events(struct sideband *s)
{
	struct err *err = cap_events_readable(s->capture, on_event, s);

	s->ret->last_tsc = s->tsc;
	return err;
}

struct err *dec_sideband_write(const struct capture *c, struct perf_writer *w,
			       struct dec_sideband *ret)
{
	struct sideband s = {
		.capture = c, .info = capture_info(c), .writer = w, .ret = ret
	};
	struct cap_core *core = NULL;
	struct err *err = cap_core_open(c, &core);

	*ret = (struct dec_sideband){};
	if (!err)
		err = begin_clock(&s);
	if (!err)
		err = put_core(&s, core);
	if (!err)
		err = put_events(&s);
	cap_core_close(core);
	vec_deinit(&s.spans);
	map_deinit(&s.parent);
	return err;
}

void dec_sideband_deinit(struct dec_sideband *s)
{
	vec_deinit(&s->unfiled);
}

bool dec_sideband_is_unfiled(const struct dec_sideband *s, uint64_t addr)
{
	return vec_find(&s->unfiled, r, addr >= r->start && addr < r->end);
}
