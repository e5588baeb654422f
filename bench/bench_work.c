// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The works: programs of bench/programs and of Debian, with inputs that are made here. What
 * there is stands in one table.
 */

#include "bench/bench_suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Arguments that stand for something. */
static const char COUNT[] = "(count)", TEXT[] = "(text)", PI[] = "(pi)", SQL[] = "(sql)",
		  DIR[] = "(dir)", PAGE[] = "(page)";

static const char PYTHON[] =
	"import json, sys\n"
	"n = int(sys.argv[1])\n"
	"d = {'k%d' % i: [i * 7919 % n, str(i), i / 7] for i in range(n)}\n"
	"e = json.loads(json.dumps(d))\n"
	"print(d == e, sum(x[0] for x in sorted(e.values())[: n // 2]))\n";

static const struct bench_work_kind kinds[] = {
	{ .name = "list",
	  .what = "allocations and frees at the ends of a list",
	  .argv = { "bench/programs/list", COUNT },
	  .counted = "operations",
	  .count = 4000000,
	  .count_quick = 1000000,
	  .growth_count = 500000 },
	{ .name = "tree",
	  .what = "inserts and removals in a balanced tree",
	  .argv = { "bench/programs/tree", COUNT },
	  .counted = "operations",
	  .count = 4000000,
	  .count_quick = 1000000,
	  .growth_count = 60000,
	  .replay_limit = 1.2,
	  .values_limit = 2.5,
	  .is_served = true,
	  .is_replayed = true },
	{ .name = "chase",
	  .what = "steps through a cycle of pointers",
	  .argv = { "bench/programs/chase", COUNT },
	  .counted = "steps",
	  .count = 5000000,
	  .count_quick = 1000000,
	  .growth_count = 500000 },
	{ .name = "stores",
	  .what = "steps that write two words each",
	  .argv = { "bench/programs/stores", COUNT },
	  .counted = "steps",
	  .count = 40000000,
	  .count_quick = 10000000,
	  .growth_count = 2500000 },
	{ .name = "gzip",
	  .what = "gzip -9 of text",
	  .argv = { "gzip", "-9", "-c", TEXT },
	  .counted = "bytes",
	  .count = 2000000,
	  .count_quick = 500000,
	  .suppress_count = 8000000,
	  .record_limit = 1.10,
	  .replay_limit = 1.2,
	  .values_limit = 2.5,
	  .is_replayed = true },
	{ .name = "bc",
	  .what = "digits of pi",
	  .argv = { "bc", "-lq", PI },
	  .counted = "digits",
	  .count = 1200,
	  .count_quick = 500,
	  .suppress_count = 2000,
	  .record_limit = 1.10,
	  .replay_limit = 1.6,
	  .values_limit = 5.0,
	  .is_replayed = true },
	{ .name = "sqlite3",
	  .what = "sqlite3: rows of a table sorted, grouped and joined with themselves",
	  .argv = { "sqlite3", "-batch", "-init", SQL, ":memory:", ".exit" },
	  .counted = "rows",
	  .count = 200000,
	  .count_quick = 40000,
	  .suppress_count = 600000,
	  .replay_limit = 2.0,
	  .values_limit = 6.0,
	  .is_replayed = true },
	{ .name = "python3",
	  .what = "python3: lists, texts and a dictionary, sorted, as JSON and back",
	  .argv = { "/usr/bin/python3", "-S", "-c", PYTHON, COUNT },
	  .counted = "items",
	  .count = 200000,
	  .count_quick = 20000,
	  .is_only_checked = true },
	{ .name = "tidy",
	  .what = "tidy: a page put in order",
	  .argv = { "tidy", "-q", PAGE },
	  .counted = "paragraphs",
	  .count = 30000,
	  .count_quick = 3000,
	  .is_only_checked = true },
	{ .name = "blocks",
	  .what = "passes of a loop of six short blocks",
	  .argv = { "bench/programs/blocks", COUNT },
	  .counted = "passes",
	  .count = 300000000,
	  .count_quick = 50000000,
	  .replay_limit = 1.5,
	  .is_only_replayed = true },
	{ .name = "calls",
	  .what = "Fibonacci's numbers by recursion",
	  .argv = { "bench/programs/calls", COUNT },
	  .counted = "the number",
	  .count = 38,
	  .count_quick = 34,
	  .replay_limit = 2.0,
	  .is_only_replayed = true },
	{ .name = "pointers",
	  .what = "indirect calls",
	  .argv = { "bench/programs/pointers", COUNT },
	  .counted = "calls",
	  .count = 100000000,
	  .count_quick = 20000000,
	  .replay_limit = 1.5,
	  .is_only_replayed = true },
	{ .name = "watched",
	  .what = "steps between a word's last write and the end, 10 MB of memory",
	  .argv = { "bench/programs/watched", COUNT },
	  .counted = "steps",
	  .count = 91000000,
	  .count_quick = 9100000,
	  .is_branched = true },
	{ .name = "ls",
	  .what = "ls -lR /usr/share (quick: of its doc)",
	  .argv = { "ls", "-lR", DIR },
	  .record_limit = 1.30 },
	{ .name = "reads",
	  .what = "reads of 16 bytes",
	  .argv = { "bench/programs/reads", COUNT },
	  .counted = "system calls",
	  .count = 500000,
	  .count_quick = 100000,
	  .growth_count = 25000,
	  .record_limit = 2.0 },
	{ .name = "threads",
	  .what = "steps of four threads, a mutex each",
	  .argv = { "bench/programs/threads", COUNT },
	  .counted = "steps",
	  .count = 1000000,
	  .count_quick = 250000,
	  .growth_count = 100000,
	  .record_limit = 1.30,
	  .is_sliced = true },
	{ .name = "pigz",
	  .what = "pigz -p 4 of text: four threads of one of Debian's programs",
	  .argv = { "pigz", "-p", "4", "-c", TEXT },
	  .counted = "bytes",
	  .count = 2000000,
	  .count_quick = 500000,
	  .is_only_sliced = true },
	{ .name = "xz",
	  .what = "xz -T 4 of text, in blocks of 64 KiB: four threads of another",
	  .argv = { "xz", "-T", "4", "--block-size=65536", "-c", TEXT },
	  .counted = "bytes",
	  .count = 2000000,
	  .count_quick = 500000,
	  .is_only_sliced = true },
	{ .name = "list, tiny",
	  .what = "the same, small enough for the slowest tools",
	  .argv = { "bench/programs/list", COUNT },
	  .counted = "operations",
	  .count = 200,
	  .count_quick = 200,
	  .is_tiny = true },
	{ .name = "tree, tiny",
	  .what = "the same, small enough for the slowest tools",
	  .argv = { "bench/programs/tree", COUNT },
	  .counted = "operations",
	  .count = 100,
	  .count_quick = 100,
	  .is_tiny = true },
};

#define N_KINDS (sizeof(kinds) / sizeof(*kinds))
_Static_assert(N_KINDS <= BENCH_WORKS, "room for each kind");

const struct bench_work_kind *bench_work_kind(const char *name)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

/* ---- finding programs ---------------------------------------------------------------------- */

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
	const char *path = secure_getenv("PATH") ?: "/usr/bin:/bin", *end;
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

/** Our own programs are built beside faultline; others are in PATH. */
static const char *program_find(struct bench *b, const char *program)
{
	const char *dir, *path;

	if (*program == '/' || !strchr(program, '/'))
		return bench_find_program(&b->arena, program);
	dir = arena_strndup(&b->arena, b->exe, strrchr(b->exe, '/') - b->exe);
	path = dir ? arena_printf3(&b->arena, dir, "/", program) : NULL;
	return path ? bench_find_program(&b->arena, path) : NULL;
}

/* ---- making inputs ------------------------------------------------------------------------- */

/** Text that compresses like text: words and numbers, the same everywhere. */
static void text_write(FILE *f, uint64_t bytes)
{
	static const char *const words[] = { "list",  "node",  "tree",	"edge",	 "heap",
					     "fault", "store", "value", "graph", "time" };
	uint32_t x = 12345;
	uint64_t done = 0;
	int n;

	while (done < bytes) {
		x = x * 1664525 + 1013904223;
		n = fprintf(f, "%s%u%c", words[(x >> 16) % 10], (x >> 12) % 1000,
			    x >> 29 ? ' ' : '\n');
		if (n < 0)
			return;
		done += n;
	}
}

static void pi_write(FILE *f, uint64_t digits)
{
	fprintf(f, "scale=%llu; 4*a(1)\n", (unsigned long long)digits);
}

static void sql_write(FILE *f, uint64_t rows)
{
	fprintf(f,
		"create table t (a integer, b text);\n"
		"with recursive n(i) as (select 1 union all select i + 1 from n where i < "
		"%llu)\n"
		"insert into t select i * 7919 %% 10007, printf('%%08d', i * 104729 %% "
		"1000003) from n;\n"
		"create index b on t (b);\n"
		"select count(*), sum(x.a), max(y.b) from t x join t y on y.b = x.b;\n"
		"select a %% 10, count(distinct b) from t group by 1 order by 2;\n",
		(unsigned long long)rows);
}

static void page_write(FILE *f, uint64_t paragraphs)
{
	fprintf(f, "<!DOCTYPE html>\n<html><head><title>Page</title></head><body>\n");
	for (uint64_t i = 0; i < paragraphs; i++)
		fprintf(f,
			"<p class=\"c%d\">Words %d, <b>bold %d</b> and <a "
			"href=\"p%d.html\">a link</a>.</p>\n",
			(int)(i % 7), (int)i, (int)(i * 7 % 1000), (int)i);
	fprintf(f, "</body></html>\n");
}

/** Inputs that are made, by what stands for them. */
static const struct {
	const char *arg, *name;
	void (*write)(FILE *f, uint64_t count);
} inputs[] = {
	{ TEXT, "text", text_write },
	{ PI, "pi", pi_write },
	{ SQL, "sql", sql_write },
	{ PAGE, "page", page_write },
};

/** What argument @p arg stands for: its text, or the path of an input of @p count. */
static struct err *argument_make(struct bench *b, const char *arg, uint64_t count,
				 const char **ret)
{
	const size_t n = sizeof(inputs) / sizeof(*inputs);
	_cleanup_fclose_ FILE *f = NULL;
	char path[4200];
	size_t i = 0;

	*ret = arg == DIR ? b->o.is_quick ? "/usr/share/doc" : "/usr/share" : arg;
	while (i < n && inputs[i].arg != arg)
		i++;
	if (arg == COUNT)
		snprintf(path, sizeof(path), "%llu", (unsigned long long)count);
	else if (i < n)
		snprintf(path, sizeof(path), "%s/%s-%llu", b->scratch, inputs[i].name,
			 (unsigned long long)count);
	else
		return NULL;
	*ret = arena_strndup(&b->arena, path, strlen(path));
	if (!*ret)
		return &err_nomem;
	if (arg == COUNT || access(*ret, R_OK) == 0)
		return NULL;
	f = fopen(*ret, "we");
	if (f)
		inputs[i].write(f, count);
	return f && !fflush(f) && !ferror(f) ? NULL :
					       err_errno("cannot write '%s'", *ret);
}

struct err *bench_work_make(struct bench *b, const struct bench_work_kind *kind,
			    uint64_t count, struct bench_work *ret)
{
	struct err *err = NULL;

	*ret = (struct bench_work){ .name = kind->name,
				    .kind = kind,
				    .count = count,
				    .argv[0] = program_find(b, kind->argv[0]) };
	if (!ret->argv[0]) {
		ret->argv[0] = kind->argv[0];
		ret->skipped = "the program is not there (make bench builds ours)";
		return NULL;
	}
	for (size_t i = 1; kind->argv[i] && !err; i++)
		err = argument_make(b, kind->argv[i], count, &ret->argv[i]);
	return err;
}

static struct err *info_add(struct bench *b, const struct bench_work *w)
{
	struct bench_work_info *info = vec_push(&b->results.works);

	if (!info)
		return &err_nomem;
	info->name = w->name;
	info->what = w->kind->counted ?
			     bench_keep_printf(&b->results, "%s: %llu %s", w->kind->what,
					       (unsigned long long)w->count,
					       w->kind->counted) :
			     w->kind->what;
	return info->what ? NULL : &err_nomem;
}

struct err *bench_works_make(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < N_KINDS && !err; i++) {
		struct bench_work *w = &b->works[b->n_works++];

		err = bench_work_make(
			b, &kinds[i],
			b->o.is_quick ? kinds[i].count_quick : kinds[i].count, w);
		if (!err)
			err = info_add(b, w);
	}
	return err;
}
