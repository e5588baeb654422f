// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that the program maps shared. What it writes there itself replays; what another
 * process writes is an input that nobody tells us of. So we look who else has the same file
 * or segment mapped for writing: when the program maps it, and every now and then.
 */
#define LOG_ROOM "record"
#include <ctype.h>
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/files.h"

/** One line of /proc/PID/maps, as far as it matters here. */
struct line {
	unsigned long long start, end, inode;
	unsigned major, minor;
	char perms[5];
	char name[256];
};

static bool next_line(FILE *f, struct line *l)
{
	char text[4600];
	int at = 0;

	if (!fgets(text, sizeof(text), f) ||
	    sscanf(text, "%llx-%llx %4s %*x %x:%x %llu %n", &l->start, &l->end, l->perms,
		   &l->major, &l->minor, &l->inode, &at) < 6)
		return false;
	text[strcspn(text, "\n")] = 0;
	snprintf(l->name, sizeof(l->name), "%s", at ? text + at : "");
	return true;
}

static FILE *open_maps(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	return fopen(path, "re");
}

static uint64_t identity(unsigned major, unsigned minor, uint64_t inode)
{
	uint64_t key = (makedev(major, minor) + 1) * 0x9e3779b97f4a7c15ull ^ inode;

	return key ? key : 1;
}

uint64_t ptc_shared_identity(const struct stat *st)
{
	return identity(major(st->st_dev), minor(st->st_dev), st->st_ino);
}

/** Does process @p pid have one of the files mapped so that it can write? */
static void look_at(struct ptc_process *p, const char *pid)
{
	_cleanup_fclose_ FILE *f = open_maps(pid);
	struct line l;

	while (f && next_line(f, &l)) {
		uint64_t key = identity(l.major, l.minor, l.inode);

		if (l.perms[1] != 'w' || l.perms[3] != 's' || !l.inode)
			continue;
		for (size_t i = 0; i < p->shared.size; i++) {
			struct ptc_shared *s = &p->shared.data[i];

			if (s->key != key || s->is_told)
				continue;
			s->is_told = true;
			ptc_log_gap(&p->log, p->tracee.pid,
				    "shared mapping of %s: process %s can write into it, "
				    "too, and what it writes is not recorded",
				    l.name, pid);
		}
	}
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
		if (isdigit(e->d_name[0]) && atoi(e->d_name) != p->tracee.pid)
			look_at(p, e->d_name);
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
	_cleanup_fclose_ FILE *f = NULL;
	struct line l;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", p->tracee.pid);
	f = open_maps(pid);
	while (f && next_line(f, &l)) {
		if (l.start != addr)
			continue;
		*size = l.end - l.start;
		*key = identity(l.major, l.minor, l.inode);
		return true;
	}
	return false;
}
