// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "debug/session.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "debug/altered.h"
#include "faultlocate/slice/slice.h"

#define PAGE 4096u
#define PROGRESS_AFTER_S 2
#define PROGRESS_EVERY_S 2

/* ---- what the log says ---------------------------------------------------------------------- */

static struct err *keep_event(void *ctx, const struct cap_event *ev)
{
	struct dbg_session *s = ctx;
	const struct dbg_event e = {
		.tid = ev->tid,
		.kind = ev->kind,
		.number = ev->kind == CAP_EV_SYSCALL ? ev->regs.gpr[CAP_RAX] : 0,
		.signo = ev->kind == CAP_EV_SIGNAL ? ev->signo : 0,
	};
	struct err *err = vec_add(&s->events, e);
	struct dbg_signal *signal;

	if (!err)
		err = dbg_fork_keep(s, ev);
	if (!err && ev->kind == CAP_EV_SYSCALL && ev->file && ev->ret > 0)
		err = vec_add(&s->mapped,
			      (struct dbg_mapped){ ev->seq, ev->ret,
						   ev->ret + ev->regs.gpr[CAP_RSI],
						   ev->file_offset, ev->file });

	if (!ev->seq)
		s->first_ns = ev->at_ns;
	if (err || ev->kind != CAP_EV_SIGNAL || (!ev->has_after && !ev->is_fatal))
		return err;
	signal = vec_push(&s->signals);
	if (!signal)
		return &err_nomem;
	*signal = (struct dbg_signal){ .seq = ev->seq,
				       .tid = ev->tid,
				       .has_handler = ev->has_after,
				       .regs = ev->regs };
	memcpy(signal->siginfo, ev->siginfo, sizeof(signal->siginfo));
	return NULL;
}

/* Does the machine stand at an instruction that is going to fault? Then @p signal comes when it is
 * executed: where it landed is here, or behind an int3. */
static bool is_at_fault(const struct dbg_session *s, const struct dbg_signal *signal)
{
	uint64_t behind = signal->regs.rip - s->where.rip;

	return signal->tid == s->where.tid &&
	       (!behind || (behind == 1 && s->events.data[signal->seq].signo == SIGTRAP));
}

const struct dbg_signal *dbg_session_signal(const struct dbg_session *s)
{
	size_t n = vec_rank(s->signals.size, i, s->signals.data[i].seq <= s->where.seq);

	if (s->has_told_end) // what ended it is the log's last
		n = s->signals.size;
	else if (n < s->signals.size && is_at_fault(s, &s->signals.data[n]))
		n++;
	return n ? &s->signals.data[n - 1] : NULL;
}

const struct dbg_mapped *dbg_session_mapped(const struct dbg_session *s, uint64_t addr)
{
	for (size_t i = s->mapped.size; i > 0; i--) {
		const struct dbg_mapped *m = &s->mapped.data[i - 1];

		if (m->seq <= s->where.seq && m->start <= addr && addr < m->end)
			return m;
	}
	return NULL;
}

/* What was mapped at the beginning. */
static struct err *keep_start(struct dbg_session *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->core->n_mappings && !err; i++) {
		const struct cap_mapping *m = &s->core->mappings[i];

		if (m->file)
			err = vec_add(&s->mapped,
				      (struct dbg_mapped){ 0, m->start, m->end,
							   m->file_offset, m->file });
	}
	return err;
}

/* ---- life ----------------------------------------------------------------------------------- */

void dbg_session_tell(struct dbg_session *s, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		text = NULL;
	else if (s->tell)
		s->tell(s->ctx, text);
}

/* Of the machine: shall it stop? Says how far it is, when that takes long. */
static bool is_interrupted(void *ctx, const struct dec_where *w)
{
	struct dbg_session *s = ctx;
	double now = clock_now_s();

	if (now - s->moving_since_s >= PROGRESS_AFTER_S &&
	    now - s->told_s >= PROGRESS_EVERY_S) {
		s->told_s = now;
		dbg_session_tell(s, "at instruction %lu, event %lu of %zu ...\n",
				 w->instructions, w->seq, s->events.size);
	}
	return s->interrupted && s->interrupted(s->ctx);
}

static struct err *start_machine(struct dbg_session *s)
{
	const struct dec_machine_options o = { .output_fd = -1,
					       .takes_slices = true,
					       .interrupted = is_interrupted,
					       .ctx = s };
	struct err *err = dec_machine_create(s->capture, &o, &s->machine);

	return err ?: dec_machine_run(s->machine, 0, &s->where);
}

struct err *dbg_session_init(struct dbg_session *s, const struct capture *c)
{
	struct err *err;

	s->capture = c;
	s->info = capture_info(c);
	s->entry_told = UINT64_MAX;
	err = cap_core_open(c, &s->core);
	if (!err)
		err = keep_start(s);
	if (!err)
		err = dbg_registers_init(&s->registers, &s->info->cpu);
	if (!err)
		err = cap_events_readable(c, keep_event, s);
	return err ?: start_machine(s);
}

void dbg_session_reset(struct dbg_session *s)
{
	dbg_altered_leave(s);
	dbg_points_clear(s);
	s->calls.size = 0;
	s->catches_calls = s->tells_forks = false;
	s->passes = 0;
}

void dbg_session_deinit(struct dbg_session *s)
{
	dbg_altered_leave(s);
	dec_machine_destroy(s->machine);
	dbg_registers_deinit(&s->registers);
	if (s->core)
		cap_core_close(s->core);
	vec_deinit(&s->events);
	vec_deinit(&s->signals);
	vec_deinit(&s->forks);
	vec_deinit(&s->mapped);
	dbg_points_clear(s);
	vec_deinit(&s->points);
	vec_deinit(&s->calls);
	fl_slice_destroy(s->slice);
	fl_trace_destroy(s->trace);
	dec_symbols_destroy(s->symbols);
}

struct err *dbg_session_follow(struct dbg_session *s, const struct capture *c)
{
	// What the client has said of all processes stays.
	struct dbg_session next = { .tells_forks = s->tells_forks,
				    .catches_calls = s->catches_calls,
				    .passes = s->passes,
				    .malloc_at = s->malloc_at,
				    .interrupted = s->interrupted,
				    .tell = s->tell,
				    .ctx = s->ctx };
	struct err *err = NULL;

	for (size_t i = 0; i < s->calls.size && !err; i++)
		err = vec_add(&next.calls, s->calls.data[i]);
	dbg_session_deinit(s);
	*s = next;
	return err ?: dbg_session_init(s, c);
}

/* ---- looking -------------------------------------------------------------------------------- */

struct err *dbg_session_thread(struct dbg_session *s, uint32_t tid,
			       struct dec_thread *ret)
{
	const struct dbg_signal *signal = dbg_session_signal(s);
	struct err *err = NULL;

	for (size_t i = 0; !err; i++) {
		err = dec_machine_thread(s->machine, i, ret);
		if (!err && (tid ? ret->tid == tid : ret->is_running))
			break;
	}
	if (!err && s->is_before_handler && signal && signal->tid == ret->tid) {
		uint64_t fs = ret->regs.fs_base, gs = ret->regs.gs_base;

		ret->regs = signal->regs;
		ret->regs.fs_base = fs;
		ret->regs.gs_base = gs;
	}
	return err;
}

size_t dbg_session_read(struct dbg_session *s, uint64_t addr, void *buf, size_t size)
{
	size_t at = 0;

	while (at < size && addr + at >= addr) {
		size_t n = PAGE - (addr + at) % PAGE;
		struct err *err;

		n = n < size - at ? n : size - at;
		err = dec_machine_read(s->machine, addr + at, (uint8_t *)buf + at, n);
		if (err) {
			err_destroy(err);
			break;
		}
		at += n;
	}
	return at;
}
