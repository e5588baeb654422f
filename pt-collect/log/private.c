// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the user wants left out of the capture: values of environment variables, contents of
 * files and mappings. The program itself runs with them; the replay finds `x' and zeros instead,
 * and a gap says so. Values are looked for in all that is written (capture/cap_mask.c); those too
 * short for that are masked in the environment alone.
 */
#define LOG_ROOM "record"
#include <fnmatch.h>
#include <string.h>

#include "pt-collect/log/private.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"

#define ENV_MAX (8u << 20) ///< bytes; the kernel allows a quarter of the stack limit

static bool matches(const struct ptc_names *globs, const char *name)
{
	for (size_t i = 0; i < globs->size; i++)
		if (!fnmatch(globs->data[i], name, 0))
			return true;
	return false;
}

/** @return the value of string @p s, NAME=VALUE, if it is to be masked; NAME then ends with a
 * NUL. */
static char *wanted_value(const struct ptc_left_out *o, char *s)
{
	char *value = strchr(s, '=');

	if (!value)
		return NULL;
	*value++ = 0;
	return matches(&o->wanted->env, s) && *value ? value : NULL;
}

/** Say that variable @p name is masked. */
static void tell_masked(struct ptc_log *log, pid_t pid, const char *name, bool is_short)
{
	char limit[128] = "";

	if (is_short)
		snprintf(limit, sizeof(limit),
			 ", in the environment alone: copies of a value of less than %d "
			 "bytes are not looked for",
			 CAP_MASK_MIN);
	ptc_log_gap(log, pid,
		    "left out on request: the value of environment variable %s%s", name,
		    limit);
}

/** Remember the value of string @p s, NAME=VALUE at @p addr, if it is to be masked. */
static struct err *mask_one(struct ptc_left_out *o, char *s, uint64_t addr, pid_t pid,
			    struct ptc_log *log, bool tells)
{
	char *value = wanted_value(o, s);
	struct ptc_range *r = value ? vec_push(&o->masked) : NULL;

	if (!value)
		return NULL;
	if (!r)
		return &err_nomem;
	*r = (struct ptc_range){ addr + (value - s), addr + (value - s) + strlen(value) };
	if (tells)
		tell_masked(log, pid, s, strlen(value) < CAP_MASK_MIN);
	return strlen(value) < CAP_MASK_MIN ? NULL : cap_mask_add(o->wanted->mask, value);
}

struct err *ptc_private_learn(const struct ptc_left_out *o, pid_t pid)
{
	_cleanup_free_ char *text = o->wanted->mask ? calloc(1, ENV_MAX + 1) : NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct err *err = NULL;
	char path[64];
	size_t n;

	if (!o->wanted->mask)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	f = text ? fopen(path, "re") : NULL;
	n = f ? fread(text, 1, ENV_MAX, f) : 0;
	for (size_t at = 0, next; !err && at < n; at = next) {
		char *value;

		next = at + strlen(text + at) + 1;
		value = wanted_value(o, text + at);
		if (value && strlen(value) >= CAP_MASK_MIN)
			err = cap_mask_add(o->wanted->mask, value);
	}
	return text ? err : &err_nomem;
}

struct err *ptc_private_find(struct ptc_left_out *o, const struct ptc_tracee *t,
			     struct ptc_log *log)
{
	_cleanup_free_ char *env = NULL;
	uint64_t start, end;
	// An end.core is of the same bundle; one that began again is empty.
	bool tells = o->told_in != log->writer || !cap_writer_events(log->writer);
	struct err *err;

	o->masked.size = 0;
	if (!o->wanted->mask)
		return NULL;
	start = ptc_stat_number(t->pid, PTC_STAT_ENV_START);
	end = ptc_stat_number(t->pid, PTC_STAT_ENV_END);
	if (start >= end || end - start > ENV_MAX)
		return err_new(ERR_UNSUPPORTED, "cannot find the program's environment "
						"variables, to mask them");
	env = calloc(1, end - start + 1);
	if (!env)
		return &err_nomem;
	err = ptc_read(t, start, env, end - start);
	for (uint64_t at = 0; !err && at < end - start;) {
		size_t n = strlen(env + at) + 1;

		err = mask_one(o, env + at, start + at, t->pid, log, tells);
		at += n;
	}
	o->told_in = log->writer;
	return err;
}

bool ptc_private_omits(const struct ptc_left_out *o, const char *name, pid_t pid,
		       struct ptc_log *log)
{
	const char *known = *name ? name : "[anon]";

	if (!matches(&o->wanted->mappings, known))
		return false;
	ptc_log_gap(log, pid, "left out on request: the contents of %s", known);
	return true;
}

bool ptc_private_omits_read(struct ptc_left_out *o, const char *name, pid_t pid,
			    struct ptc_log *log)
{
	char **told;

	for (size_t i = 0; i < o->read.size; i++)
		if (!strcmp(o->read.data[i], name))
			return true;
	if (!matches(&o->wanted->mappings, name))
		return false;
	ptc_log_gap(
		log, pid,
		"left out on request: what was read from %s, but not copies of that in "
		"memory: end.core, and start.core of a forked process, may hold them",
		name);
	told = vec_push(&o->read);
	if (told && !(*told = strdup(name)))
		o->read.size--;
	return true;
}

void ptc_left_out_deinit(struct ptc_left_out *o)
{
	for (size_t i = 0; i < o->read.size; i++)
		free(o->read.data[i]);
	vec_deinit(&o->read);
	vec_deinit(&o->masked);
}

void ptc_private_read(const struct ptc_left_out *o, const struct ptc_tracee *t,
		      uint64_t addr, void *buf, size_t size)
{
	ptc_pages_read(t, addr, buf, size);
	for (size_t i = 0; i < o->masked.size; i++) {
		const struct ptc_range *r = &o->masked.data[i];
		uint64_t from = r->start > addr ? r->start : addr;
		uint64_t to = r->end < addr + size ? r->end : addr + size;

		if (from < to)
			memset((uint8_t *)buf + (from - addr), 'x', to - from);
	}
}
