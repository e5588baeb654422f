// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the user wants left out of the capture: values of environment variables, contents
 * of mappings. The program itself runs with them; the replay finds `x' and zeros instead,
 * and a gap says so. What passes through system calls is not looked at.
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

/** Remember the value of string @p s, NAME=VALUE at @p addr, if it is to be masked. */
static struct err *mask_one(struct ptc_left_out *o, char *s, uint64_t addr, pid_t pid,
			    struct ptc_log *log)
{
	char *value = strchr(s, '=');
	struct ptc_range *r;

	if (!value)
		return NULL;
	*value++ = 0;
	if (!matches(&o->wanted->env, s) || !*value)
		return NULL;
	r = vec_push(&o->masked);
	if (!r)
		return &err_nomem;
	*r = (struct ptc_range){ addr + (value - s), addr + (value - s) + strlen(value) };
	ptc_log_gap(log, pid, "left out on request: the value of environment variable %s",
		    s);
	return NULL;
}

struct err *ptc_private_find(struct ptc_left_out *o, const struct ptc_tracee *t,
			     struct ptc_log *log)
{
	_cleanup_free_ char *env = NULL;
	uint64_t start, end;
	struct err *err;

	o->masked.size = 0;
	if (!o->wanted->env.size)
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

		err = mask_one(o, env + at, start + at, t->pid, log);
		at += n;
	}
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
