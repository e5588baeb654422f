// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_peers.h"

#include <string.h>

#define PREFIX_MAX 24
#define TIME_LIMIT_S 120
#define TIME_LIMIT_QUICK_S 30

// gdb 13 cannot record VEX and EVEX instructions, nor xsavec: libc is told to do without.
#define PLAIN_LIBC                                                                          \
	"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-AVX_Fast_Unaligned_Load,-XSAVEC," \
	"-XSAVE"

/** The tools. What begins with @ in a prefix is a path in the scratch directory. A slow
 * one is run on the tiny works only. */
static const struct peer {
	const char *name, *program, *package;
	const char *what; ///< what it makes of the program
	bool is_slow;
	enum bench_output output;
	const char *prefix[PREFIX_MAX];
} peers[] = {
	{ "strace -f",
	  "strace",
	  "strace",
	  "prints each system call",
	  false,
	  BENCH_OUTPUT_SAME,
	  { "strace", "-f", "-o", "/dev/null" } },
	{ "uftrace",
	  "uftrace",
	  "uftrace",
	  "records each call of a library function, with its time",
	  false,
	  BENCH_OUTPUT_SAME,
	  { "uftrace", "record", "--force", "-d", "@/uftrace" } },
	{ "heaptrack",
	  "heaptrack",
	  "heaptrack",
	  "records each allocation with its stack",
	  false,
	  BENCH_OUTPUT_INCLUDES,
	  { "heaptrack", "-o", "@/heaptrack" } },
	{ "valgrind none",
	  "valgrind",
	  "valgrind",
	  "translates, watches nothing",
	  false,
	  BENCH_OUTPUT_SAME,
	  { "valgrind", "--tool=none", "-q" } },
	{ "memcheck",
	  "valgrind",
	  "valgrind",
	  "checks each memory access",
	  false,
	  BENCH_OUTPUT_SAME,
	  { "valgrind", "--tool=memcheck", "-q" } },
	{ "lackey",
	  "valgrind",
	  "valgrind",
	  "prints each memory access",
	  true,
	  BENCH_OUTPUT_SAME,
	  { "valgrind", "--tool=lackey", "--trace-mem=yes", "-q",
	    "--log-file=/dev/null" } },
	{ "gdb record full",
	  "gdb",
	  "gdb",
	  "records registers and memory at each instruction "
	  "from main on",
	  true,
	  BENCH_OUTPUT_INCLUDES,
	  { "env",
	    PLAIN_LIBC,
	    "LD_BIND_NOW=1",
	    "gdb",
	    "-q",
	    "-nx",
	    "-batch",
	    "-ex",
	    "set record full insn-number-max 0",
	    "-ex",
	    "set record full stop-at-limit off",
	    "-ex",
	    "break main",
	    "-ex",
	    "run",
	    "-ex",
	    "record full",
	    "-ex",
	    "continue",
	    "--args" } },
	{ "rr",
	  "rr",
	  "rr",
	  "records inputs, for replay",
	  true,
	  BENCH_OUTPUT_SAME,
	  { "rr", "record", "-n", "-o", "@/rr" } },
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

static struct err *tool_add(struct bench *b, const char *name, const char *program,
			    const char *package, const char *what)
{
	return vec_add(&b->results.tools,
		       (struct bench_tool){ name, version_of(b, program), package,
					    what });
}

struct err *bench_peers_describe(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < N_PEERS && !err; i++)
		err = tool_add(b, peers[i].name, peers[i].program, peers[i].package,
			       peers[i].what);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others) && !err; i++)
		err = tool_add(b, others[i].name, others[i].name, others[i].package,
			       others[i].what);
	return err;
}

/** The command of one peer. */
static struct bench_command peer_command(struct bench *b, const struct peer *p,
					 const struct bench_work *w)
{
	const char *prefix[PREFIX_MAX + 1] = {};
	struct bench_command c;

	for (size_t i = 0; i < PREFIX_MAX && p->prefix[i]; i++)
		prefix[i] = p->prefix[i][0] != '@' ?
				    p->prefix[i] :
				    bench_keep_printf(&b->results, "%s%s", b->scratch,
						      p->prefix[i] + 1);
	c = bench_command_prefixed(p->name, prefix, w);
	c.role = BENCH_PEER;
	c.output = p->output;
	c.time_limit_s = b->o.is_quick ? TIME_LIMIT_QUICK_S : TIME_LIMIT_S;
	if (!bench_find_program(&b->arena, p->program))
		c.skipped = bench_keep_printf(&b->results,
					      "%s is not installed (make bench-peers)",
					      p->program);
	return c;
}

size_t bench_peers_commands(struct bench *b, const struct bench_work *w,
			    struct bench_command *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < N_PEERS && n < max; i++)
		if (peers[i].is_slow == w->kind->is_tiny)
			ret[n++] = peer_command(b, &peers[i], w);
	return n;
}

bool bench_peer_command(struct bench *b, const char *name, const struct bench_work *w,
			struct bench_command *ret)
{
	for (size_t i = 0; i < N_PEERS; i++)
		if (!strcmp(peers[i].name, name)) {
			*ret = peer_command(b, &peers[i], w);
			return true;
		}
	return false;
}
