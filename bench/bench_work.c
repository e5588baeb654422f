// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

static char *arena_printf3(struct arena *arena, const char *a, const char *b,
			   const char *c)
{
	size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
	char *s = arena_alloc(arena, size);

	if (s)
		snprintf(s, size, "%s%s%s", a, b, c);
	return s;
}

const char *bench_find_program(struct arena *arena, const char *program)
{
	const char *path = getenv("PATH"), *end;
	char *full;

	if (strchr(program, '/'))
		return access(program, X_OK) == 0 ? program : NULL;
	for (; path && *path; path = *end ? end + 1 : end) {
		char *dir;

		end = strchrnul(path, ':');
		dir = arena_strndup(arena, path, end - path);
		full = dir ? arena_printf3(arena, dir, "/", program) : NULL;
		if (full && access(full, X_OK) == 0)
			return full;
	}
	return NULL;
}

/** Text that compresses like text: words and numbers, the same everywhere. */
static struct err *text_write(const char *path, size_t bytes)
{
	static const char *const words[] = { "list",  "node",  "tree",	"edge",	 "heap",
					     "fault", "store", "value", "graph", "time" };
	_cleanup_fclose_ FILE *f = fopen(path, "w");
	uint32_t x = 12345;
	size_t done = 0;
	int n;

	if (!f)
		return err_errno("cannot write '%s'", path);
	while (done < bytes) {
		x = x * 1664525 + 1013904223;
		n = fprintf(f, "%s%u%c", words[(x >> 16) % 10], (x >> 12) % 1000,
			    x >> 29 ? ' ' : '\n');
		if (n < 0)
			return err_errno("cannot write '%s'", path);
		done += n;
	}
	if (fflush(f))
		return err_errno("cannot write '%s'", path);
	return NULL;
}

static struct err *pi_write(const char *path, bool is_quick)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");

	if (!f || fprintf(f, "scale=%d; 4*a(1)\n", is_quick ? 1000 : 2500) < 0 ||
	    fflush(f))
		return err_errno("cannot write '%s'", path);
	return NULL;
}

/** The rbtree program is built beside faultline (make bench does it). */
static const char *rbtree_find(struct arena *arena)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *path;

	if (n < 0)
		return NULL;
	exe[n] = 0;
	*strrchr(exe, '/') = 0;
	path = arena_printf3(arena, exe, "/tests/programs/", "rbtree");
	return path && access(path, X_OK) == 0 ? path : NULL;
}

static void work_add(struct arena *arena, struct bench_work *ret, size_t *n,
		     struct bench_work w)
{
	const char *program = w.argv[0] ? bench_find_program(arena, w.argv[0]) : NULL;

	if (!program) {
		fprintf(stderr, "bench: without %s: the program is not there\n", w.name);
		return;
	}
	w.argv[0] = program;
	ret[(*n)++] = w;
}

struct err *bench_works_make(struct arena *arena, const char *scratch, bool is_quick,
			     struct bench_work *ret, size_t *n)
{
	const char *text = arena_printf3(arena, scratch, "/", "text");
	const char *pi = arena_printf3(arena, scratch, "/", "pi.bc");
	struct err *err;

	if (!text || !pi)
		return &err_nomem;
	err = text_write(text, is_quick ? 1000000 : 5000000);
	if (err)
		return err;
	err = pi_write(pi, is_quick);
	if (err)
		return err;
	*n = 0;
	work_add(arena, ret, n,
		 (struct bench_work){ .name = "gzip",
				      .argv = { "gzip", "-9", "-c", text },
				      .record_limit = 1.10,
				      .is_replayed = true });
	work_add(arena, ret, n,
		 (struct bench_work){ .name = "bc",
				      .argv = { "bc", "-lq", pi },
				      .record_limit = 1.10,
				      .is_replayed = true });
	work_add(arena, ret, n,
		 (struct bench_work){ .name = "ls",
				      .argv = { "ls", "-lR", "/usr/share" },
				      .record_limit = 1.50 });
	work_add(arena, ret, n,
		 (struct bench_work){
			 .name = "rbtree",
			 .argv = { rbtree_find(arena), is_quick ? "1000000" : "5000000" },
			 .is_replayed = true });
	return NULL;
}
