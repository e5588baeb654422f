// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that the program maps shared. What it writes there itself replays; what another
 * process writes is an input that nobody tells us of. So we look who else has the same file
 * or segment mapped for writing: when the program maps it, and every now and then.
 *
 * If somebody has, the program stops at the end of each call, and what it has there then is an
 * output of the call. Who waits for others by calls (wait, a pipe, a futex) sees no more than
 * that. What others write while the program computes it may see as well: that is a gap.
 */
#define LOG_ROOM "record"
#include <ctype.h>
#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/tracee/proc.h"

#define WATCHED_MAX (256u << 10) ///< bytes; they are read at each call, in 100 us
#define PAGE 4096u

static uint64_t identity(unsigned major, unsigned minor, uint64_t inode)
{
	uint64_t key = (makedev(major, minor) + 1) * 0x9e3779b97f4a7c15ull ^ inode;

	return key ? key : 1;
}

uint64_t ptc_shared_identity(const struct stat *st)
{
	return identity(major(st->st_dev), minor(st->st_dev), st->st_ino);
}

uint64_t ptc_shared_map_identity(const struct ptc_map *m)
{
	// The kernel numbers segments and memory without a name each for themselves.
	bool is_segment = !strncmp(m->name, "/SYSV", 5);

	return identity(m->major, m->minor, m->inode) ^ (uint64_t)is_segment << 62;
}

/* ---- what others have written ------------------------------------------------------------- */

/** Go through what there is of @p r now: what is not as it was goes into @p w. */
static void look_through(const struct ptc_tracee *t, struct ptc_watched *r,
			 struct ptc_writes *w)
{
	static uint8_t now[WATCHED_MAX];

	for (uint64_t at = 0; at < r->size;) {
		size_t n = ptc_read_some(t, r->start + at, now, r->size - at);

		// In words; runs of them that differ go together.
		for (size_t i = 0, end; i + 8 <= n; i = end + 8) {
			for (end = i;
			     end + 8 <= n &&
			     (!r->is_known || memcmp(now + end, r->bytes + at + end, 8));
			     end += 8)
				;
			if (end > i)
				ptc_writes_add(w, r->start + at + i, now + i, end - i);
		}
		memcpy(r->bytes + at, now, n);
		// Behind a file's end there is nothing; there may be, behind that.
		at = (at + n + PAGE) & ~(PAGE - 1ull);
	}
	r->is_known = true;
}

const char *ptc_shared_watch(struct ptc_process *p, uint64_t start, uint64_t size)
{
	static const char *const at_calls =
		"recorded at the program's system calls, and not in between";
	struct ptc_watched *r =
		vec_find(&p->watched, w, w->start == start && w->size == size);
	uint8_t *bytes;

	if (r)
		return at_calls;
	bytes = size > WATCHED_MAX - p->watched_bytes ? NULL : calloc(1, size);
	r = bytes ? vec_push(&p->watched) : NULL;
	if (!r) {
		free(bytes);
		return "not recorded";
	}
	*r = (struct ptc_watched){ start, size, bytes, false };
	p->watched_bytes += size;
	ptc_bpf_set_sharing(p->all->bpf, p->tracee.pid);
	return at_calls;
}

static bool has_several_threads(const struct ptc_process *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->threads.size; i++)
		n += !p->threads.data[i]->has_exited && !p->threads.data[i]->is_reaped;
	return n > 1;
}

void ptc_shared_see(struct ptc_process *p, struct ptc_writes *w)
{
	// Another thread may have run since this one's call, and written there.
	if (p->watched.size && has_several_threads(p)) {
		if (!p->has_told_unwatched)
			ptc_log_gap(
				&p->log, p->tracee.pid,
				"what others write into shared memory is not recorded "
				"as long as the program has threads");
		p->has_told_unwatched = true;
		return;
	}
	for (size_t i = 0; i < p->watched.size; i++)
		look_through(&p->tracee, &p->watched.data[i], w);
}

void ptc_shared_forget(struct ptc_process *p)
{
	for (size_t i = 0; i < p->watched.size; i++)
		free(p->watched.data[i].bytes);
	vec_deinit(&p->watched);
	p->watched_bytes = 0;
}

/* ---- who else can write ----------------------------------------------------------------- */

/** Watch where the program has file @p key mapped. @return as ptc_shared_watch(). */
static const char *watch_file(struct ptc_process *p, uint64_t key)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	const char *how = "not recorded";

	err_destroy(ptc_maps_read(p->tracee.pid, &maps));
	for (size_t i = 0; i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];

		if (m->is_shared && ptc_shared_map_identity(m) == key)
			how = ptc_shared_watch(p, m->start, m->end - m->start);
	}
	return how;
}

/** A child is traced from its birth on, and known when its stop there is seen. */
static bool is_being_born(const struct ptc_process *p, pid_t pid)
{
	return p->all->follows &&
	       ptc_status_number(pid, pid, "TracerPid", 10) == (uint64_t)getpid();
}

/** Does process @p pid have one of the files mapped so that it can write? */
static void look_at(struct ptc_process *p, pid_t pid)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};

	err_destroy(ptc_maps_read(pid, &maps));
	for (size_t i = 0; i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];
		uint64_t key = ptc_shared_map_identity(m);

		if (!(m->prot & PROT_WRITE) || !m->is_shared || !m->inode)
			continue;
		for (size_t k = 0; k < p->shared.size; k++) {
			struct ptc_shared *s = &p->shared.data[k];

			if (s->key != key || s->is_told)
				continue;
			if (is_being_born(p, pid))
				return;
			s->is_told = true;
			ptc_log_gap(&p->log, p->tracee.pid,
				    "shared mapping of %s: process %d can write into it, "
				    "too, and what it writes is %s",
				    m->name, pid, watch_file(p, key));
		}
	}
}

/** What process @p pid writes is known by other means (joint.c). */
static bool is_joint(const struct ptc_process *p, pid_t pid)
{
	return p->all->follows && ptc_process_of(p->all, pid);
}

void ptc_shared_look(struct ptc_process *p)
{
	bool has_untold = false;
	struct dirent *e;
	DIR *d;

	for (size_t i = 0; i < p->shared.size; i++)
		has_untold |= !p->shared.data[i].is_told;
	d = has_untold && p->log.is_recording ? opendir("/proc") : NULL;
	while (d && (e = readdir(d)))
		if (isdigit(e->d_name[0]) && atoi(e->d_name) != p->tracee.pid &&
		    !is_joint(p, atoi(e->d_name)))
			look_at(p, atoi(e->d_name));
	if (d)
		closedir(d);
}

void ptc_shared_mapped(struct ptc_process *p, uint64_t key)
{
	struct ptc_shared *slot;

	for (size_t i = 0; i < p->shared.size; i++)
		if (p->shared.data[i].key == key)
			return;
	slot = vec_push(&p->shared);
	if (!slot)
		return;
	*slot = (struct ptc_shared){ .key = key };
	ptc_shared_look(p);
}

bool ptc_shared_segment(struct ptc_process *p, uint64_t addr, uint64_t *size,
			uint64_t *key)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};

	err_destroy(ptc_maps_read(p->tracee.pid, &maps));
	for (size_t i = 0; i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];

		if (m->start != addr)
			continue;
		*size = m->end - m->start;
		*key = ptc_shared_map_identity(m);
		return true;
	}
	return false;
}
