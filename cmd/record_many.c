// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "cmd/record_many.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "pt-collect/start/keeper.h"

#define COMMANDS_MOST 256   ///< that the runs are divided among
#define SETTLED "--settled" ///< behind it are options that we chose, for `suite resume'

typedef VEC(const char *) word_list;

struct many {
	const struct ptc_options *o;
	struct work work;
	unsigned each; ///< runs of a command
};

/* "record", the options that were given, then @p more, then the program. */
static struct err *put_words(const struct ptc_options *o, char **argv,
			     const char *const *more, word_list *ret)
{
	char **end = o->argv;
	struct err *err = vec_add(ret, "record");

	if (end > argv + 1 && !strcmp(end[-1], "--"))
		end--;
	for (char **w = argv + 1; w < end && strcmp(*w, SETTLED) && !err; w++)
		err = vec_add(ret, *w);
	for (size_t i = 0; more[i] && !err; i++)
		err = vec_add(ret, more[i]);
	if (!err)
		err = vec_add(ret, "--");
	for (char **w = o->argv; *w && !err; w++)
		err = vec_add(ret, *w);
	return err ?: vec_add(ret, NULL);
}

/* Runs from the @p k th command on. */
static struct err *add_command(struct many *m, char **argv, unsigned k)
{
	unsigned from = k * m->each, left = m->o->until_fail - from;
	char name[32], seed[48], n[32];
	const char *more[] = {
		"--here", n, "-o", "@/capture", m->o->wants_chaos ? seed : NULL, NULL
	};
	word_list words = {};
	struct err *err;

	snprintf(name, sizeof(name), "run-%u", from + 1);
	snprintf(n, sizeof(n), "--until-fail=%u", left < m->each ? left : m->each);
	snprintf(seed, sizeof(seed), "--chaos=%llu",
		 (unsigned long long)m->o->seed + from);
	err = put_words(m->o, argv, more, &words);
	if (!err)
		err = cmd_work_add(&m->work, name, words.data);
	vec_deinit(&words);
	return err;
}

/* The same command with what was chosen for it is what can be gone on with. */
static struct err *run(struct many *m, char **argv)
{
	char seed[48];
	const char *more[] = { SETTLED, "-o", m->o->dir, m->o->wants_chaos ? seed : NULL,
			       NULL };
	word_list again = {};
	struct err *err;

	snprintf(seed, sizeof(seed), "--chaos=%llu", (unsigned long long)m->o->seed);
	err = put_words(m->o, argv, more, &again);
	if (!err)
		err = cmd_work_run(&m->work, "record", (char *const *)again.data);
	vec_deinit(&again);
	return err;
}

/* ---- what came of it ---------------------------------------------------------------------------- */

static bool has_capture(const struct many *m, size_t i)
{
	_cleanup_free_ char *path = cmd_work_path(&m->work, i, "capture/manifest.json");

	return path && !access(path, F_OK);
}

/* What recorder @p i said of it, with the numbers that it has among all. */
static void tell(const struct many *m, size_t i)
{
	_cleanup_free_ char *path = cmd_work_path(&m->work, i, "log"), *line = NULL;
	_cleanup_(fclosep) FILE *f = path ? fopen(path, "re") : NULL;
	size_t capacity = 0;

	while (f && getline(&line, &capacity, f) >= 0) {
		char *in = strstr(line, " MiB in "), *end = strstr(line, "/capture: ");
		unsigned run;
		int n = 0;

		if (sscanf(line, "faultline: failed in run %u of %*u%n", &run, &n) == 1 &&
		    n)
			fprintf(stderr, "faultline: failed in run %u of %u%s",
				(unsigned)i * m->each + run, m->o->until_fail, line + n);
		else if (in && end)
			fprintf(stderr, "%.*s%s: %s", (int)(in + 8 - line), line,
				text_line(m->o->dir), end + strlen("/capture: "));
	}
}

static struct err *keep(const struct many *m, size_t i)
{
	_cleanup_free_ char *capture = cmd_work_path(&m->work, i, "capture");

	if (!capture)
		return &err_nomem;
	return rename(capture, m->o->dir) ?
		       err_errno("cannot rename '%s' to '%s'", capture, m->o->dir) :
		       NULL;
}

/* @p status: the exit status. */
static struct err *conclude(struct many *m, int *status)
{
	struct err *err;

	for (size_t i = 0; i < m->work.list.n_tests; i++) {
		*status = cmd_work_status(&m->work, i, NULL);
		if (*status && !has_capture(m, i))
			return cmd_work_failed(&m->work, i);
		if (!*status)
			continue;
		tell(m, i);
		err = keep(m, i);
		if (!err)
			cmd_work_remove(&m->work);
		return err;
	}
	fprintf(stderr, "faultline: no failure in %u run%s", m->o->until_fail,
		m->o->until_fail == 1 ? "" : "s");
	if (m->o->wants_chaos)
		fprintf(stderr, " (seeds %llu to %llu)", (unsigned long long)m->o->seed,
			(unsigned long long)m->o->seed + m->o->until_fail - 1);
	fputs("; no capture is kept\n", stderr);
	cmd_work_remove(&m->work);
	return NULL;
}

int cmd_record_many(const struct ptc_options *o, const struct work_place *place,
		    char **argv)
{
	struct many m = { .o = o, .each = (o->until_fail - 1) / COMMANDS_MOST + 1 };
	_cleanup_err_ struct err *err = NULL;
	int status = PTC_EXIT_FAILED;

	err = cmd_work_init(&m.work, place, "%s.work", o->dir);
	m.work.until = "capture";
	if (!err && !access(o->dir, F_OK) && rmdir(o->dir))
		err = err_errno("cannot record into '%s'", o->dir);
	for (unsigned k = 0; k * m.each < o->until_fail && !err; k++)
		err = add_command(&m, argv, k);
	if (!err)
		err = run(&m, argv);
	if (!err)
		err = conclude(&m, &status);
	if (err) {
		fprintf(stderr, "faultline: cannot record: %s\n", err->message);
		status = PTC_EXIT_FAILED;
	}
	cmd_work_deinit(&m.work);
	return status;
}
