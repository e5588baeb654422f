// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench.h"

#define COMMAND_MAX 4096

/** Let the corpus' own script make the inputs in @p dir and write the list to @p list. */
static struct err *script_run(const char *corpus, const char *dir, const char *list,
			      bool is_quick)
{
	char script[PATH_MAX + 16], errors[PATH_MAX + 16];
	const char *const argv[] = { "/bin/bash", script, dir,
				     is_quick ? "small" : "large", NULL };
	struct err *err;
	double wall_s;
	int status;

	snprintf(script, sizeof(script), "%s/bench.sh", corpus);
	snprintf(errors, sizeof(errors), "%s.errors", list);
	if (mkdir(dir, 0700))
		return err_errno("cannot make '%s'", dir);
	err = bench_run(argv, list, errors, &wall_s, &status);
	if (!err && status)
		err = err_new(ERR_OS,
			      "cannot make the inputs of the corpus: '%s' failed "
			      "(is it the directory tests/corpus?)",
			      script);
	return err;
}

/** @p line is NAME<tab>COMMAND. A prefix comes behind the argv: "$@". */
static struct err *line_parse(struct arena *arena, const char *corpus, const char *dir,
			      char *line, struct bench_work *ret)
{
	char *tab = strchr(line, '\t'), *shell;
	size_t size = strlen(line) + strlen(corpus) + strlen(dir) + 100;

	if (!tab)
		return err_new(ERR_FORMAT,
			       "cannot read the corpus' list: no command in '%s'", line);
	*tab = 0;
	ret->name = arena_strndup(arena, line, strlen(line));
	shell = arena_alloc(arena, size);
	if (!ret->name || !shell)
		return &err_nomem;
	snprintf(shell, size, ". '%s/environment.sh'; cd '%s'; exec \"$@\" %s", corpus,
		 dir, tab + 1);
	ret->argv[0] = "/bin/bash";
	ret->argv[1] = "-c";
	ret->argv[2] = shell;
	ret->argv[3] = "bash";
	return NULL;
}

struct err *bench_corpus_make(struct arena *arena, const char *corpus,
			      const char *scratch, bool is_quick, struct bench_work *ret,
			      size_t *n)
{
	char dir[PATH_MAX], list[PATH_MAX], real[PATH_MAX], line[COMMAND_MAX];
	_cleanup_fclose_ FILE *f = NULL;
	struct err *err;

	if (!realpath(corpus, real))
		return err_errno("cannot find the corpus at '%s' (use --corpus=DIR, the "
				 "tests/corpus of Faultline's source)",
				 corpus);
	snprintf(dir, sizeof(dir), "%s/corpus", scratch);
	snprintf(list, sizeof(list), "%s/corpus.list", scratch);
	err = script_run(real, dir, list, is_quick);
	if (err)
		return err;
	f = fopen(list, "r");
	if (!f)
		return err_errno("cannot read '%s'", list);
	for (*n = 0; *n < BENCH_CORPUS_MAX && fgets(line, sizeof(line), f); (*n)++) {
		line[strcspn(line, "\n")] = 0;
		ret[*n] = (struct bench_work){};
		err = line_parse(arena, real, dir, line, &ret[*n]);
		if (err)
			return err;
	}
	return NULL;
}
