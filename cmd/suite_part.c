// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A piece of a job array: which tests it is about, and recording them in a directory of its own, so that
 * what it has finished appears by a rename.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/suite_array.h"

/* Find test @p name, from the one at *@p at on and around: they are listed in the suite's order. */
static bool find_from(const struct cap_suite *s, const char *name, size_t *at)
{
	for (size_t n = 0; n < s->n_tests; n++) {
		size_t i = (*at + n) % s->n_tests;

		if (!strcmp(cap_suite_at(s, i)->name, name)) {
			*at = i;
			return true;
		}
	}
	return false;
}

struct err *cmd_suite_array_read_pending(const struct suite_run *r, size_t k,
					 size_t n_parts, bool *ret, size_t *ret_n)
{
	_cleanup_free_ char *path = NULL, *line = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	size_t capacity = 0, n = 0, at = 0;

	if (asprintf(&path, "%s/slurm/pending", r->dir) < 0)
		return &err_nomem;
	f = fopen(path, "re");
	if (!f)
		return err_errno("cannot open '%s'", path);
	while (getline(&line, &capacity, f) >= 0)
		n++;
	rewind(f);
	for (size_t i = 0; i < n * (k + 1) / n_parts && getline(&line, &capacity, f) >= 0;
	     i++) {
		line[strcspn(line, "\n")] = 0;
		if (i >= n * k / n_parts && find_from(r->suite, line, &at))
			ret[at] = true;
	}
	*ret_n = n;
	return NULL;
}

unsigned cmd_suite_jobs(const struct suite_options *o)
{
	const char *given = o->part ? secure_getenv("SLURM_CPUS_PER_TASK") : NULL;
	long n = given ? strtol(given, NULL, 10) : 1;

	if (o->place.n_jobs)
		return o->place.n_jobs;
	return o->part ? (n > 0 && n <= 1024 ? n : 1) : sysconf(_SC_NPROCESSORS_ONLN);
}

struct err *cmd_suite_part(const struct suite_run *r, const char *part, bool **ret)
{
	unsigned long k, n;
	char host[256] = "";
	size_t n_pending;
	struct err *err;
	int end = 0;

	if (sscanf(part, "%lu/%lu%n", &k, &n, &end) != 2 || part[end] || k >= n)
		return err_new(ERR_USAGE, "no part of a suite: '%s'", part);
	*ret = calloc(r->suite->n_tests + 1, sizeof(bool));
	if (!*ret)
		return &err_nomem;
	err = cmd_suite_array_read_pending(r, k, n, *ret, &n_pending);
	if (!err && !gethostname(host, sizeof(host) - 1))
		fprintf(stderr, "faultline: piece %lu of %lu, %lu tests, on %s\n", k + 1,
			n, n_pending * (k + 1) / n - n_pending * k / n, host);
	if (!err && r->analysis)
		err = cmd_suite_array_leave_unfit(r, *ret);
	return err;
}

struct err *cmd_suite_record_part(struct suite_run *r)
{
	const char *job = secure_getenv("SLURM_JOB_ID"),
		   *again = secure_getenv("SLURM_RESTART_COUNT");
	_cleanup_free_ char *work = NULL, *tests = NULL;
	struct err *err;

	if (asprintf(&work, "%s/slurm/%s.%s", r->dir, job ?: "0", again ?: "0") < 0 ||
	    asprintf(&tests, "%s/tests", work) < 0)
		return &err_nomem;
	if ((mkdir(work, 0700) && errno != EEXIST) ||
	    (mkdir(tests, 0700) && errno != EEXIST))
		return err_errno("cannot create '%s'", tests);
	r->work = work;
	err = cmd_suite_run(r);
	rmdir(tests);
	rmdir(work);
	r->work = r->dir;
	return err;
}
