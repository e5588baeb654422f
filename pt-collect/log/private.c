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

#include "pt-collect/ptc.h"
#include "pt-collect/log/private.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/start/start.h"
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
static struct err *mask_one(struct ptc_process *p, const struct ptc_names *globs, char *s,
			    uint64_t addr)
{
	char *value = strchr(s, '=');
	struct ptc_range *r;

	if (!value)
		return NULL;
	*value++ = 0;
	if (!matches(globs, s) || !*value)
		return NULL;
	r = vec_push(&p->masked);
	if (!r)
		return &err_nomem;
	*r = (struct ptc_range){ addr + (value - s), addr + (value - s) + strlen(value) };
	ptc_log_gap(p, p->tracee.pid,
		    "left out on request: the value of environment variable %s", s);
	return NULL;
}

struct err *ptc_private_find(struct ptc_process *p)
{
	const struct ptc_names *globs = &p->session->private->env;
	_cleanup_free_ char *env = NULL;
	uint64_t start, end;
	struct err *err;

	p->masked.size = 0;
	if (!globs->size)
		return NULL;
	start = ptc_stat_number(p->tracee.pid, PTC_STAT_ENV_START);
	end = ptc_stat_number(p->tracee.pid, PTC_STAT_ENV_END);
	if (start >= end || end - start > ENV_MAX)
		return err_new(ERR_UNSUPPORTED, "cannot find the program's environment "
						"variables, to mask them");
	env = calloc(1, end - start + 1);
	if (!env)
		return &err_nomem;
	err = ptc_read(&p->tracee, start, env, end - start);
	for (uint64_t at = 0; !err && at < end - start;) {
		size_t n = strlen(env + at) + 1;

		err = mask_one(p, globs, env + at, start + at);
		at += n;
	}
	return err;
}

bool ptc_private_omits(struct ptc_process *p, const char *name)
{
	const char *known = *name ? name : "[anon]";

	if (!matches(&p->session->private->mappings, known))
		return false;
	ptc_log_gap(p, p->tracee.pid, "left out on request: the contents of %s", known);
	return true;
}

struct err *ptc_private_read(void *process, uint64_t addr, void *buf, size_t size)
{
	const struct ptc_process *p = process;

	ptc_pages_read(&p->tracee, addr, buf, size);
	for (size_t i = 0; i < p->masked.size; i++) {
		const struct ptc_range *r = &p->masked.data[i];
		uint64_t from = r->start > addr ? r->start : addr;
		uint64_t to = r->end < addr + size ? r->end : addr + size;

		if (from < to)
			memset((uint8_t *)buf + (from - addr), 'x', to - from);
	}
	return NULL;
}
