// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What /proc says of a process, a number at a time.
 */
#define LOG_ROOM "record"
#include <stdio.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pt-collect/tracee/proc.h"

bool ptc_tids_read(pid_t pid, ptc_tids *ret)
{
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		pid_t *slot = e->d_name[0] == '.' ? NULL : vec_push(ret);

		if (slot)
			*slot = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return d;
}

char *ptc_proc_link(pid_t pid, const char *name)
{
	char path[64], to[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = 0;
	return strdup(to);
}

bool ptc_status_line(pid_t pid, pid_t tid, const char *field, char line[256])
{
	_cleanup_fclose_ FILE *f = NULL;
	size_t n = strlen(field);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	while (f && fgets(line, 256, f))
		if (!strncmp(line, field, n) && line[n] == ':') {
			char *value = line + n + 1 + strspn(line + n + 1, " \t");

			value[strcspn(value, "\n")] = 0;
			memmove(line, value, strlen(value) + 1);
			return true;
		}
	return false;
}

uint64_t ptc_status_number(pid_t pid, pid_t tid, const char *field, int base)
{
	char line[256];

	return ptc_status_line(pid, tid, field, line) ? strtoull(line, NULL, base) : 0;
}

void ptc_status_masks(pid_t tid, const char *const *fields, uint64_t *ret, size_t n)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[256];

	memset(ret, 0, n * sizeof(*ret));
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", tid, tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < n; i++) {
			size_t length = strlen(fields[i]);

			if (!strncmp(line, fields[i], length) && line[length] == ':')
				ret[i] = strtoull(line + length + 1, NULL, 16);
		}
}

char ptc_status_letter(pid_t pid, pid_t tid, const char *field)
{
	char line[256];

	return ptc_status_line(pid, tid, field, line) ? line[0] : 0;
}

bool ptc_is_ended(pid_t pid, pid_t tid)
{
	char state = ptc_status_letter(pid, tid, "State");

	return !state || state == 'Z' || state == 'X';
}

bool ptc_is_first(pid_t pid)
{
	const char *last;
	char line[256];

	if (!ptc_status_line(pid, pid, "NSpid", line))
		return false;
	last = strrchr(line, '\t');
	return atoi(last ? last + 1 : line) == 1;
}

uint64_t ptc_stat_number(pid_t pid, unsigned field)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[2048];
	char *at = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	// Field 2, the name, is in parentheses, and may hold any other character.
	if (f && fgets(line, sizeof(line), f))
		at = strrchr(line, ')');
	for (unsigned i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	// Field 3 is a letter.
	return at ? strtoull(at, NULL, 10) : 0;
}
