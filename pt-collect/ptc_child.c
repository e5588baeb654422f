// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Children of the program. They are not recorded: each gets its rdtsc and cpuid back and
 * is let go.
 *
 * A vfork child (posix_spawn, popen, system) runs in the program's own memory while the
 * program waits. What it writes there are inputs like any other: memory is copied before
 * the child runs and compared when it is done. The kernel reports the parent's event and
 * the child's first stop in either order; the child goes on only when both are in.
 */
#define LOG_ROOM "record"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "pt-collect/ptc.h"

#define SNAPSHOT_MAX (1ull << 30) ///< bytes; a larger program gets a gap instead
#define PAGE 4096u

struct ptc_snapshot {
	struct ptc_maps maps;
	uint8_t **bytes; ///< per map; NULL = not writable, not compared
};

void ptc_snapshot_destroy(struct ptc_snapshot *snap)
{
	if (!snap)
		return;
	for (size_t i = 0; snap->bytes && i < snap->maps.list.size; i++)
		free(snap->bytes[i]);
	free(snap->bytes);
	ptc_maps_deinit(&snap->maps);
	free(snap);
}

static uint64_t writable_bytes(const struct ptc_maps *maps)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < maps->list.size; i++)
		if (maps->list.data[i]->prot & PROT_WRITE)
			sum += maps->list.data[i]->end - maps->list.data[i]->start;
	return sum;
}

/** Copy all writable memory; untouched pages cost only their zeros. */
static struct ptc_snapshot *take_snapshot(struct ptc_process *p)
{
	struct ptc_snapshot *snap = calloc(1, sizeof(*snap));
	struct err *err = snap ? ptc_maps_read(p->pid, &snap->maps) : &err_nomem;

	if (!err && writable_bytes(&snap->maps) <= SNAPSHOT_MAX)
		snap->bytes = calloc(snap->maps.list.size + 1, sizeof(*snap->bytes));
	if (err || !snap->bytes) {
		err_destroy(err);
		ptc_snapshot_destroy(snap);
		return NULL;
	}
	for (size_t i = 0; i < snap->maps.list.size; i++) {
		const struct ptc_map *m = snap->maps.list.data[i];

		if (!(m->prot & PROT_WRITE))
			continue;
		snap->bytes[i] = malloc(m->end - m->start);
		if (snap->bytes[i])
			ptc_read_some(p, m->start, snap->bytes[i], m->end - m->start);
	}
	return snap;
}

/** Add the pages of map @p i that differ. */
static void compare_map(struct ptc_process *p, const struct ptc_snapshot *snap, size_t i,
			struct ptc_writes *w)
{
	const struct ptc_map *m = snap->maps.list.data[i];
	size_t size = m->end - m->start;
	uint8_t *now = malloc(size);

	if (now && ptc_read_some(p, m->start, now, size) == size)
		for (size_t at = 0; at < size; at += PAGE)
			if (memcmp(now + at, snap->bytes[i] + at, PAGE))
				ptc_writes_add(w, m->start + at, now + at, PAGE);
	free(now);
}

static bool same_maps(const struct ptc_maps *a, const struct ptc_maps *b)
{
	if (a->list.size != b->list.size)
		return false;
	for (size_t i = 0; i < a->list.size; i++)
		if (a->list.data[i]->start != b->list.data[i]->start ||
		    a->list.data[i]->end != b->list.data[i]->end ||
		    a->list.data[i]->prot != b->list.data[i]->prot)
			return false;
	return true;
}

void ptc_child_vfork_done(struct ptc_process *p, pid_t parent)
{
	struct ptc_thread *t = ptc_thread_find(p, parent);
	struct ptc_snapshot *snap = p->vfork_memory;
	_cleanup_(ptc_maps_deinit) struct ptc_maps now = {};
	_cleanup_err_ struct err *err = NULL;

	if (!t || !snap)
		return;
	p->vfork_memory = NULL;
	err = ptc_maps_read(p->pid, &now);
	if (err || !same_maps(&snap->maps, &now))
		ptc_log_gap(p, parent, "a vfork child changed the program's mappings");
	for (size_t i = 0; i < snap->maps.list.size; i++)
		if (snap->bytes[i])
			compare_map(p, snap, i, &t->from_child);
	ptc_snapshot_destroy(snap);
}

static struct ptc_child *find_child(struct ptc_session *s, pid_t pid)
{
	struct ptc_child *c;

	for (size_t i = 0; i < s->children.size; i++)
		if (s->children.data[i].pid == pid)
			return &s->children.data[i];
	c = vec_push(&s->children);
	if (c)
		c->pid = pid;
	return c;
}

/** A thread of the program, not a process of its own? */
static bool is_thread(const struct ptc_process *p, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", p->pid, tid);
	return !access(path, F_OK);
}

/** Both sides are in: let it go, as if we had never been there. */
static void release(struct ptc_session *s, struct ptc_child *c)
{
	struct ptc_process *p = c->parent;
	struct user_regs_struct u;

	if (is_thread(p, c->pid)) {
		struct ptc_thread *t = ptc_thread_find(p, c->pid);

		if (t)
			t->is_attached = true;
		ptc_log_gap(p, c->pid,
			    "thread %d started: threads are recorded but not "
			    "replayed yet",
			    c->pid);
		ptrace(PTRACE_CONT, c->pid, NULL, NULL);
	} else {
		// It just made the call that created it: a syscall instruction is there.
		_cleanup_err_ struct err *err = ptc_get_regs(c->pid, &u);

		if (!err)
			err = ptc_allow_chance(c->pid, u.rip - 2, true);
		if (err)
			log_info("child %d: %s", c->pid, err->message);
		ptrace(PTRACE_DETACH, c->pid, NULL, NULL);
	}
	*c = s->children.data[--s->children.size];
}

void ptc_child_stopped(struct ptc_session *s, pid_t pid)
{
	struct ptc_child *c = find_child(s, pid);

	if (!c)
		return;
	c->has_stopped = true;
	if (c->parent)
		release(s, c);
}

/** Memory shared with a child may change under the program. */
static void check_shared_memory(struct ptc_process *p, pid_t parent)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = ptc_maps_read(p->pid, &maps);

	for (size_t i = 0; !err && i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];

		if (!m->is_shared || !(m->prot & PROT_WRITE))
			continue;
		ptc_log_gap(p, parent,
			    "a child shares memory at 0x%llx (%s): what it "
			    "writes there is not recorded",
			    (unsigned long long)m->start, m->name);
		return;
	}
}

void ptc_child_created(struct ptc_process *p, pid_t parent, unsigned event, pid_t child)
{
	struct ptc_child *c;

	if (event == PTRACE_EVENT_VFORK && p->is_recording) {
		ptc_snapshot_destroy(p->vfork_memory);
		p->vfork_memory = take_snapshot(p);
		if (!p->vfork_memory)
			ptc_log_gap(p, parent,
				    "a vfork child ran in memory too large to "
				    "compare");
	} else if (!is_thread(p, child)) {
		check_shared_memory(p, parent);
	}
	c = find_child(p->session, child);
	if (!c)
		return;
	c->parent = p;
	if (c->has_stopped)
		release(p->session, c);
}
