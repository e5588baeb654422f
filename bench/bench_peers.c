// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_peers.h"

#include <string.h>

#define PREFIX_MAX 12

static const struct peer {
	const char *name, *program, *package;
	const char *what; ///< what it makes of the program
	const char *prefix[PREFIX_MAX];
} peers[] = {
	{ "strace -f",
	  "strace",
	  "strace",
	  "prints each system call",
	  { "strace", "-f", "-o", "/dev/null" } },
	{ "valgrind none",
	  "valgrind",
	  "valgrind",
	  "translates, watches nothing",
	  { "valgrind", "--tool=none", "-q" } },
	{ "memcheck",
	  "valgrind",
	  "valgrind",
	  "checks each memory access",
	  { "valgrind", "--tool=memcheck", "-q" } },
	{ "rr", "rr", "rr", "records inputs, for replay", { "rr", "record", "-n" } },
};

#define N_PEERS (sizeof(peers) / sizeof(*peers))

/** Programs whose versions count beside the peers'. */
static const struct bench_tool others[] = {
	{ .name = "perf", .package = "linux-perf", .what = "decodes Intel PT" },
	{ .name = "gcc", .package = "gcc", .what = "built the programs" },
};

/** The first line that `program --version` prints; NULL when it is not there. */
static const char *version_of(struct bench *b, const char *program)
{
	const char *argv[] = { bench_find_program(&b->arena, program), "--version",
			       NULL };
	char out[4200], errors[4200], line[200];
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_err_ struct err *err = NULL;
	double wall_s;
	int status;

	if (!argv[0])
		return NULL;
	snprintf(out, sizeof(out), "%s/version", b->scratch);
	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	err = bench_run(argv, out, errors, &wall_s, &status);
	f = err ? NULL : fopen(out, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return program;
	line[strcspn(line, "\n")] = 0;
	return bench_keep(&b->results, line);
}

static struct err *tool_add(struct bench *b, const char *name, const char *package,
			    const char *what)
{
	struct bench_tool *t;

	for (size_t i = 0; i < b->results.tools.size; i++)
		if (!strcmp(b->results.tools.data[i].name, name))
			return NULL;
	t = vec_push(&b->results.tools);
	if (!t)
		return &err_nomem;
	*t = (struct bench_tool){ name, version_of(b, name), package, what };
	return NULL;
}

struct err *bench_peers_describe(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < N_PEERS && !err; i++)
		err = tool_add(b, peers[i].program, peers[i].package, peers[i].what);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others) && !err; i++)
		err = tool_add(b, others[i].name, others[i].package, others[i].what);
	return err;
}

size_t bench_peers_commands(struct bench *b, const struct bench_work *w,
			    struct bench_command *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < N_PEERS && n < max; i++) {
		const struct peer *p = &peers[i];
		struct bench_command c = bench_command_prefixed(p->name, p->prefix, w);

		c.role = BENCH_PEER;
		c.note = p->what;
		if (!bench_find_program(&b->arena, p->program))
			c.skipped = bench_keep_printf(
				&b->results, "%s is not installed (make bench-peers)",
				p->program);
		ret[n++] = c;
	}
	return n;
}
