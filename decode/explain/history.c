// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/history.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define HISTORY_GAPS 8

/* ---- reading ---------------------------------------------------------------------------- */

static struct err *history_share(struct history *h, uint64_t addr, uint64_t size,
				 uint64_t seq, bool is_anonymous, bool is_read_only)
{
	return vec_add(&h->shared, (struct history_shared){
					   .addr = addr,
					   .size = size,
					   .seq = seq,
					   .is_risky = !is_anonymous && !is_read_only,
					   .is_read_only = is_read_only,
					   .is_anonymous = is_anonymous });
}

/* The size that the segment of shmat's argument was made with. */
static uint64_t history_segment_size(const struct history *h, uint64_t id)
{
	for (size_t i = h->events.size; i--;) {
		const struct history_event *e = &h->events.data[i];

		if (e->kind == CAP_EV_SYSCALL && e->nr == SYS_shmget &&
		    (uint64_t)e->ret == id)
			return e->args[1];
	}
	return 4096;
}

static struct err *history_note_shared(struct history *h, const struct history_event *e)
{
	uint64_t type = e->args[3] & MAP_TYPE;

	if (e->kind != CAP_EV_SYSCALL || e->ret < 0)
		return NULL;
	switch (e->nr) {
	case SYS_mmap:
		if (type != MAP_SHARED && type != MAP_SHARED_VALIDATE)
			return NULL;
		return history_share(h, e->ret, e->args[1], e->seq,
				     e->args[3] & MAP_ANONYMOUS,
				     !(e->args[2] & PROT_WRITE));
	case SYS_shmat:
		return history_share(h, e->ret, history_segment_size(h, e->args[0]),
				     e->seq, false, false);
	case SYS_fork:
	case SYS_vfork:
	case SYS_clone:
	case SYS_clone3:
		h->has_children = true;
		return NULL;
	default:
		return NULL;
	}
}

/* The recorder says where it saw memory shared with a child: its text has the address. */
static struct err *history_gap(struct history *h, const struct capture *c,
			       const struct cap_event *ev)
{
	const char *at = strstr(ev->text, "shares memory at 0x");
	uint64_t addr = at ? strtoull(at + strlen("shares memory at "), NULL, 16) : 0;
	struct cap_core *core = NULL;
	struct err *err = NULL;
	char **text;

	if (h->gaps.size < HISTORY_GAPS) {
		text = vec_push(&h->gaps);
		if (!text || !(*text = strdup(ev->text)))
			return &err_nomem;
	}
	if (!addr)
		return NULL;
	h->has_children = true;
	err = cap_core_open(c, &core);
	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (m->start <= addr && addr < m->end)
			err = history_share(h, m->start, m->end - m->start, 0, true,
					    false);
	}
	cap_core_close(core);
	return err;
}

static struct err *history_add(struct history *h, const struct cap_event *ev)
{
	static const int order[] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_R10, CAP_R8, CAP_R9 };
	struct history_event *e = vec_push(&h->events);

	if (!e)
		return &err_nomem;
	e->seq = ev->seq;
	e->tid = ev->tid;
	e->kind = ev->kind;
	e->flags = ev->flags;
	e->file = ev->file;
	e->rip = ev->regs.rip - (ev->kind == CAP_EV_SYSCALL ? 2 : 0);
	e->nr = ev->kind == CAP_EV_SYSCALL ? (int64_t)ev->regs.gpr[CAP_RAX] : ev->signo;
	e->ret = ev->ret;
	for (int i = 0; i < 6; i++)
		e->args[i] = ev->regs.gpr[order[i]];
	for (size_t i = 0; i < ev->n_writes; i++) {
		if (vec_add(&e->writes, (struct history_write){ ev->writes[i].addr,
								ev->writes[i].size }))
			return &err_nomem;
	}
	return history_note_shared(h, e);
}

/* Forget the older half. */
static void history_trim(struct history *h)
{
	size_t n = h->events.size / 2;

	for (size_t i = 0; i < n; i++)
		vec_deinit(&h->events.data[i].writes);
	memmove(h->events.data, h->events.data + n,
		(h->events.size - n) * sizeof(*h->events.data));
	h->events.size -= n;
}

struct err *dec_history_read(struct history *h, const struct capture *c, uint64_t until)
{
	struct cap_events *it = NULL;
	struct err *err = cap_events_open(c, &it);
	struct cap_event ev;
	bool is_end = false;

	while (!err) {
		err = cap_events_next(it, &ev, &is_end);
		if (err && err->code == ERR_TRUNCATED) {
			err_destroy(err);
			err = NULL;
			break;
		}
		if (err || is_end || ev.seq >= until)
			break;
		if (ev.kind == CAP_EV_GAP)
			err = history_gap(h, c, &ev);
		else if (ev.kind != CAP_EV_HEAP && ev.kind != CAP_EV_HEAP_DONE &&
			 ev.kind != CAP_EV_PROBE)
			err = history_add(h, &ev);
		if (h->events.size >= 2 * HISTORY_EVENTS)
			history_trim(h);
	}
	cap_events_close(it);
	for (size_t i = 0; i < h->shared.size; i++)
		h->shared.data[i].is_risky |= h->has_children &&
					      h->shared.data[i].is_anonymous;
	return err;
}

void dec_history_deinit(struct history *h)
{
	for (size_t i = 0; i < h->events.size; i++)
		vec_deinit(&h->events.data[i].writes);
	for (size_t i = 0; i < h->gaps.size; i++)
		free(h->gaps.data[i]);
	vec_deinit(&h->events);
	vec_deinit(&h->shared);
	vec_deinit(&h->gaps);
}

/* ---- which event was it? -------------------------------------------------------------- */

size_t dec_history_find(const struct history *h, uint64_t seq)
{
	size_t i = vec_rank(h->events.size, k, h->events.data[k].seq < seq);

	return i < h->events.size && h->events.data[i].seq == seq ? i : SIZE_MAX;
}

void dec_history_place(struct history *h, uint64_t seq, uint64_t position)
{
	size_t i = dec_history_find(h, seq);

	if (i == SIZE_MAX)
		return;
	h->events.data[i].has_position = true;
	h->events.data[i].position = position;
}

/* ---- memory that others may write ------------------------------------------------------ */

size_t dec_history_shared_at(const struct history *h, uint64_t addr)
{
	for (size_t i = h->shared.size; i--;) {
		if (addr - h->shared.data[i].addr < h->shared.data[i].size)
			return i;
	}
	return SIZE_MAX;
}
