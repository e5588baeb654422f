// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND bench: measure what recording and replaying cost here

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "bench/bench_suite.h"

#define EXIT_COULD_NOT 2

/** The suites, in the order in which they run. */
static const struct {
	const char *name;
	struct err *(*run)(struct bench *b);
	bool is_default;
} suites[] = {
	{ "record", bench_suite_record, true },	 { "replay", bench_suite_replay, true },
	{ "corpus", bench_suite_corpus, false }, { "attach", bench_suite_attach, false },
	{ "stores", bench_suite_stores, false }, { "locate", bench_suite_locate, false },
	{ "decode", bench_suite_decode, false }, { "peers", bench_suite_peers, false },
};

#define N_SUITES (sizeof(suites) / sizeof(*suites))

static const struct argp_option option_table[] = {
	{ "quick", 'q', NULL, 0, "Smaller inputs, 3 rounds", 0 },
	{ "rounds", 'r', "N", 0, "Rounds that count (7)", 0 },
	{ "corpus", 'c', "DIR", 0, "Where the corpus is (tests/corpus)", 0 },
	{ "specs", 's', "DIR", 0,
	  "Where the specifications are (specs); their programs are beside faultline",
	  0 },
	{ "json", 'j', "FILE", 0, "Write the results to FILE too", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct bench_options *o = state->input;
	uint32_t given = o->suites;

	switch (key) {
	case 'q':
		o->is_quick = true;
		return 0;
	case 'j':
		o->json = arg;
		return 0;
	case 'c':
		o->corpus = arg;
		return 0;
	case 's':
		o->specs = arg;
		return 0;
	case 'r':
		o->rounds = atoi(arg);
		if (o->rounds < 1 || o->rounds > BENCH_ROUNDS_MAX)
			argp_error(state, "--rounds is 1 to %d", BENCH_ROUNDS_MAX);
		return 0;
	case ARGP_KEY_ARG:
		for (size_t i = 0; i < N_SUITES; i++)
			if (strcmp(arg, suites[i].name) == 0)
				return o->suites |= 1u << i, 0;
		argp_error(state, "no suite '%s' (see --help)", arg);
		return 0;
	case ARGP_KEY_END:
		for (size_t i = 0; i < N_SUITES && !given; i++)
			o->suites |= (uint32_t)suites[i].is_default << i;
		if (!o->rounds)
			o->rounds = o->is_quick ? 3 : 7;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	option_table,
	parse_option,
	"[SUITE...]",
	"Measure what faultline costs on this machine, each program natively and under "
	"faultline in turn, and print medians and ranges. SUITE is record, replay (both by "
	"default), corpus (recording again, on the compute-bound half of tests/corpus), "
	"attach (redis-server under load), stores (store probes where they are needed, and "
	"at each store), locate (faults injected into the structures of "
	"specs/: tables 2.2, 4.1 and 4.2 of Singh's dissertation), decode (Intel PT, beside "
	"libipt's block decoder and perf script) or peers (other tools that are installed)."
	"\vExamples:\n"
	"  faultline bench\n"
	"  faultline bench record --quick\n"
	"  faultline bench corpus --corpus=tests/corpus\n"
	"  faultline bench locate --specs=specs\n"
	"  faultline bench stores --quick\n"
	"  faultline bench decode --quick\n"
	"  faultline bench replay --rounds 11 --json bench.json",
	NULL,
	NULL,
	NULL
};

static void processor_name(char *ret, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/cpuinfo", "r");
	char line[512];

	snprintf(ret, size, "unknown");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
			line[strcspn(line, "\n")] = 0;
			snprintf(ret, size, "%s", strchr(line, ':') + 2);
			return;
		}
}

static struct err *json_write(const struct bench *b)
{
	cJSON *root = cJSON_CreateObject(),
	      *machine = cJSON_AddObjectToObject(root, "machine");
	_cleanup_fclose_ FILE *f = fopen(b->o.json, "w");
	_cleanup_free_ char *text = NULL;
	struct err *err = NULL;
	struct utsname name;
	char processor[256];

	uname(&name);
	processor_name(processor, sizeof(processor));
	cJSON_AddNumberToObject(root, "version", 1);
	cJSON_AddStringToObject(machine, "processor", processor);
	cJSON_AddNumberToObject(machine, "processors", sysconf(_SC_NPROCESSORS_ONLN));
	cJSON_AddStringToObject(machine, "kernel", name.release);
	cJSON_AddBoolToObject(root, "quick", b->o.is_quick);
	cJSON_AddNumberToObject(root, "startup_s", b->startup_s);
	cJSON_AddItemReferenceToObject(root, "results", b->rows);
	text = cJSON_Print(root);
	cJSON_Delete(root);
	if (!text)
		return &err_nomem;
	if (!f || fprintf(f, "%s\n", text) < 0 || fflush(f))
		err = err_errno("cannot write '%s'", b->o.json);
	return err;
}

static struct err *bench_main(struct bench *b)
{
	const char *tmp = getenv("TMPDIR");
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
	err = bench_works_make(&b->arena, b->scratch, b->o.is_quick, b->works,
			       &b->n_works);
	if (err)
		return err;
	printf("%-8s %-14s %-18s %8s %8s %8s %8s %8s\n", "suite", "program", "mode",
	       "median s", "min", "max", "ratio", "net");
	for (size_t i = 0; i < N_SUITES && !err; i++)
		if (b->o.suites >> i & 1)
			err = suites[i].run(b);
	if (!err && b->o.json)
		err = json_write(b);
	return err;
}

int cmd_bench(int argc, char **argv)
{
	struct bench b = { .rows = cJSON_CreateArray() };
	_cleanup_err_ struct err *err = NULL;

	argp_parse(&argp, argc, argv, 0, NULL, &b.o);
	err = b.rows ? bench_main(&b) : &err_nomem;
	if (b.scratch[0])
		bench_remove(b.scratch);
	cJSON_Delete(b.rows);
	arena_deinit(&b.arena);
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	return err || b.has_failure ? EXIT_COULD_NOT : 0;
}
