// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The table of suites, and running those that were asked for.
 */

#include "bench/bench_suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_emit.h"
#include "bench/bench_format.h"
#include "bench/bench_machine.h"
#include "bench/bench_peers.h"

/** The suites, in the order in which they run. */
static const struct {
	struct bench_suite_info info;
	struct err *(*run)(struct bench *b);
	bool is_default;
} suites[] = {
	{ { "record", "what recording costs, beside other tools on the same work",
	    "record keeps what a replay needs; what the other tools do is another thing each "
	    "(see above). The tiny works are for the slowest of them.",
	    false, 0 },
	  bench_suite_record,
	  true },
	{ { "replay", "what replaying costs",
	    "The command as a whole, by what it logs; and the machine alone, in one process, "
	    "without a log: with 64 checkpoints on the way or none.",
	    false, 0 },
	  bench_suite_replay,
	  true },
	{ { "analyze", "the cost of an analysis, beside the plain replay",
	    "Ratios are to the replay, which looks at nothing.", false, 0 },
	  bench_suite_analyze,
	  false },
	{ { "check", "the cost of bug rules, beside memcheck on the same work",
	    "Ratios are to memcheck, which also tracks which bits have a value.", false,
	    0 },
	  bench_suite_check,
	  false },
	{ { "branch", "what altered runs cost, going back, and checkpoints",
	    "A thousand runs with another value in a register each, from a position 10^5 "
	    "instructions before the end of a program of 10 MB, their output compared. Time "
	    "of one: of a thousand one after the other. Memory: what the machine's processes "
	    "hold, of pages that they share their share.",
	    false, 0 },
	  bench_suite_branch,
	  true },
	{ { "suppress", "what execution suppression costs, in its three implementations",
	    "Runs of some seconds. An instruction without which the run is about as long is left "
	    "out in its middle; all behind that is instrumented, and its processor time "
	    "compared with the plain replay's of the same; so with a word of the stack that is "
	    "NaT all the time; and of a whole run, of which the last tenth is instrumented. "
	    "Native: the program's whole time.",
	    false, 0 },
	  bench_suite_suppress,
	  false },
	{ { "rank", "seeded faults: where they are in the list, and what is suggested",
	    "Seven programs with 15 faults each, one at a time, and the tests that show them. The "
	    "score of a statement is the share of the list behind it; a fault that no failing test "
	    "executes has none. Suggestions for each fault are by what is known of the others. "
	    "Several faults: three and five at once, the mean score of each as it was found, fixed, "
	    "and the rest looked for.",
	    false, 0 },
	  bench_suite_rank,
	  false },
	{ { "debug", "what somebody who debugs a capture waits for",
	    "From a request of gdb's protocol to its answer, in a session that has run to the "
	    "end. gdb's own recorder is timed once, on as many instructions as it can be "
	    "waited for.",
	    false, 0 },
	  bench_suite_debug,
	  false },
	{ { "serve", "what somebody who looks at a served page waits for",
	    "From a request to its whole answer, at 40 instants of the run one after the other; of "
	    "a browser's own work nothing.",
	    false, 0 },
	  bench_suite_serve,
	  false },
	{ { "slice", "what slices cost, and how large they are",
	    "Of the run's first 10^8 instructions, and of the first 10^9 of one that is so long: a "
	    "trace is made once, then slices of what an "
	    "instruction near its end used. Indirect jumps unknown: the flow graphs lack the "
	    "targets that they were seen to have, and what depends on these. Regions: two slices "
	    "that go back no further. The slice capture is of the first 2 M.",
	    false, 0 },
	  bench_suite_slice,
	  false },
	{ { "growth", "how costs grow with the work",
	    "What a command takes for none of the work is taken off each time before the "
	    "fit. The exponent is the slope in logarithms, in brackets its 95 % interval; 1 "
	    "is linear.",
	    false, 0 },
	  bench_suite_growth,
	  true },
	{ { "linear", "how long histories take to be asked about",
	    "A made-up history of each object, by eight threads, without a mistake: the CPU time "
	    "of the question, which is what is wanted of a million operations (--scale 8).",
	    false, 0 },
	  bench_suite_linear,
	  true },
	{ { "corpus", "what recording costs on programs as Debian ships them", NULL,
	    false, 0 },
	  bench_suite_corpus,
	  false },
	{ { "attach", "what a server under load notices of being attached to", NULL,
	    false, 0 },
	  bench_suite_attach,
	  true },
	{ { "stores", "store probes where they are needed, and at each store", NULL,
	    false, 0 },
	  bench_suite_stores,
	  false },
	{ { "locate", "faults injected into data structures",
	    "1000 nodes, 500 operations, 10 faults; -O2. In brackets what Singh's "
	    "dissertation published (tables 2.2, 4.1, 4.2; published, not measured): other "
	    "programs, a machine of 2006. Located: of the runs in which the structure is "
	    "inconsistent where it is checked.",
	    true, 0 },
	  bench_suite_locate,
	  true },
	{ { "repair", "functions repaired from drawings (paper 004)",
	    "Faults put into the 40 programs of table 2; somebody asserts the states at the "
	    "heads of loops and at the end of one run, and asks for a patch. Time is that of "
	    "the processor.",
	    true, 0 },
	  bench_suite_repair,
	  false },
	{ { "real", "faults injected into programs of Debian",
	    "Built from Debian's source with a fault in their main structure (bench/real); "
	    "the end of the run is the only C-point named. In brackets what Singh's "
	    "dissertation published (tables 4.3, 4.4; published, not measured): a machine of "
	    "2006, recorded by Pin. What recording costs includes its start, about 0.05 s.",
	    true, 0 },
	  bench_suite_real,
	  false },
	{ { "graph", "what a memory graph (MG++) takes",
	    "Tables 3.3 and 3.4 of Singh's dissertation, on the programs as Debian ships them "
	    "now and three of ours. In brackets what it published (not measured): other "
	    "versions, a machine of 2006 and Pin. Snapshots: storing the graph at each "
	    "change, 8 bytes for each live node; that is the dissertation's own measure of "
	    "how much there is to keep, and `work` is ours as a multiple of its. Each "
	    "program runs on the input that the dissertation names, and again on one of "
	    "equal work, as much as there or somewhat more: there a graph's size is judged "
	    "against the published one. Its times are those of the instrumented program "
	    "alone. Changes: nodes made, nodes ended, words stored in "
	    "nodes. Events that change nothing in the graph are not counted in `built`, but "
	    "the time to look at them is in it.",
	    true, 0 },
	  bench_suite_graph,
	  true },
	{ { "decode", "how fast Intel PT is decoded", NULL, false, 0 },
	  bench_suite_decode,
	  true },
};

#define N_SUITES (sizeof(suites) / sizeof(*suites))

uint32_t bench_suites_named(const char *name)
{
	uint32_t found = 0;

	for (size_t i = 0; i < N_SUITES; i++)
		if (name ? !strcmp(name, suites[i].info.name) ||
				    (!strcmp(name, "all") &&
				     suites[i].run != bench_suite_corpus) :
			   suites[i].is_default)
			found |= 1u << i;
	return found;
}

const char *bench_suites_name(size_t i)
{
	return i < N_SUITES ? suites[i].info.name : NULL;
}

void bench_suites_list(FILE *out)
{
	fputs("Suites (all: but corpus; without one: those with a star):\n", out);
	for (size_t i = 0; i < N_SUITES; i++)
		fprintf(out, " %c%-8s %s\n", suites[i].is_default ? '*' : ' ',
			suites[i].info.name, suites[i].info.title);
}

static struct err *suite_run(struct bench *b, size_t i)
{
	struct bench_suite_info *info = vec_push(&b->results.suites);
	double start = clock_now_s();
	struct err *err;

	if (!info)
		return &err_nomem;
	*info = suites[i].info;
	b->suite = info->name;
	err = suites[i].run(b);
	if (b->progress)
		b->progress(NULL, NULL);
	bench_rows_finish(&b->results);
	info->took_s = clock_now_s() - start;
	return err ? err : bench_text_suite(b->talk, &b->results, info);
}

#define KEEPER_TRIES 300 // of 0.1 s: what was being measured ends, too

/** The keeper's life: wait until the other end of @p fd is gone, with the bench. */
static void keeper_main(int fd, const char *scratch)
{
	int null = open("/dev/null", O_RDWR);
	char end;

	signal(SIGHUP, SIG_IGN);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	while (read(fd, &end, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < KEEPER_TRIES && access(scratch, F_OK) == 0; i++) {
		bench_remove(scratch);
		if (access(scratch, F_OK) == 0)
			usleep(100000);
	}
	_exit(0);
}

/** However the bench ends, by Ctrl-C or worse, nothing is left of @p scratch. */
static struct err *keeper_start(const char *scratch)
{
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return err_errno("cannot make a pipe");
	pid = fork();
	if (pid == 0) {
		close(fd[1]);
		keeper_main(fd[0], scratch);
	}
	// A group of its own, before anything goes on: what ends this one is not for it.
	if (pid > 0)
		setpgid(pid, pid);
	close(fd[0]); // the other end stays open to this process's end
	return pid < 0 ? err_errno("cannot start what cleans up") : NULL;
}

/** Find faultline itself, and a directory to work in. */
static struct err *place_find(struct bench *b)
{
	const char *tmp = secure_getenv("TMPDIR");
	ssize_t n = readlink("/proc/self/exe", b->exe, sizeof(b->exe) - 1);
	struct err *err;

	if (n < 0)
		return err_errno("cannot find faultline's own program");
	snprintf(b->scratch, sizeof(b->scratch), "%s/faultline-bench.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(b->scratch)) {
		err = err_errno("cannot make '%s'", b->scratch);
		b->scratch[0] = 0;
		return err;
	}
	snprintf(b->capture, sizeof(b->capture), "%s/capture", b->scratch);
	return keeper_start(b->scratch);
}

struct err *bench_suites_run(struct bench *b, int argc, char **argv)
{
	struct bench_machine_use start = bench_machine_use();
	struct bench_results *r = &b->results;
	struct err *err = place_find(b);

	if (!err)
		err = bench_works_make(b);
	if (!err)
		err = bench_machine_describe(r, argc, argv);
	if (!err)
		err = bench_peers_describe(b);
	if (err)
		return err;
	r->header.is_quick = b->o.is_quick;
	r->header.rounds = b->o.rounds;
	bench_text_header(b->talk, r);
	for (size_t i = 0; i < N_SUITES && !err; i++)
		if (b->o.suites >> i & 1)
			err = suite_run(b, i);
	r->header.load_end = bench_machine_load();
	r->header.others = bench_machine_others(&start);
	if (r->header.others > BENCH_OTHERS_MOST)
		printf("\nOther work had %.0f %% of the processors meanwhile: these times are "
		       "not to be quoted.\n",
		       r->header.others * 100);
	return err;
}
