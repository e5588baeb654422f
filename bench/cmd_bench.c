// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND bench: measure what recording and replaying cost here

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "bench/bench.h"

#define STARTUP_LIMIT_S 0.2
#define EXIT_COULD_NOT 2

struct options {
	bool has_record, has_replay, has_peers, is_quick;
	int rounds;
	const char *json;
};

/** One run of the command. */
struct bench {
	struct options o;
	struct arena arena;
	char exe[4096], scratch[4096], capture[4200];
	struct bench_work works[BENCH_WORKS];
	size_t n_works;
	double startup_s; ///< what recording adds to /bin/true; 0 before it is known
	cJSON *rows;	  ///< array, one object per command and workload
	bool has_failure;
};

static const struct argp_option option_table[] = {
	{ "quick", 'q', NULL, 0, "Smaller inputs, 3 rounds", 0 },
	{ "rounds", 'r', "N", 0, "Rounds that count (7)", 0 },
	{ "json", 'j', "FILE", 0, "Write the results to FILE too", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'q':
		o->is_quick = true;
		return 0;
	case 'j':
		o->json = arg;
		return 0;
	case 'r':
		o->rounds = atoi(arg);
		if (o->rounds < 1 || o->rounds > BENCH_ROUNDS_MAX)
			argp_error(state, "--rounds is 1 to %d", BENCH_ROUNDS_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (strcmp(arg, "record") == 0)
			o->has_record = true;
		else if (strcmp(arg, "replay") == 0)
			o->has_replay = true;
		else if (strcmp(arg, "peers") == 0)
			o->has_peers = true;
		else
			argp_error(state, "no suite '%s' (record, replay, peers)", arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->has_record && !o->has_replay && !o->has_peers)
			o->has_record = o->has_replay = true;
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
	"default) or peers (other tools that are installed)."
	"\vExamples:\n"
	"  faultline bench\n"
	"  faultline bench record --quick\n"
	"  faultline bench replay --rounds 11 --json bench.json",
	NULL,
	NULL,
	NULL
};

/** Ratios of @p t to the native times, with and without @p fixed_s of start-up. */
static void ratios_add(cJSON *row, const struct bench_command *c,
		       const struct bench_times *t, const struct bench_times *native,
		       double fixed_s)
{
	double ratio = t->median_s / native->median_s;
	double net = (t->median_s - fixed_s) / native->median_s;

	cJSON_AddNumberToObject(row, "ratio", ratio);
	printf(" %7.2fx", ratio);
	if (fixed_s > 0) {
		cJSON_AddNumberToObject(row, "startup_s", fixed_s);
		cJSON_AddNumberToObject(row, "net_ratio", net);
		printf(" %7.2fx", net);
	} else {
		printf(" %8s", "");
	}
	if (c->limit > 0) {
		cJSON_AddNumberToObject(row, "limit", c->limit);
		printf("  %s %.2fx", net <= c->limit ? "within" : "OVER  ", c->limit);
	}
}

static void row_add(struct bench *b, const char *suite, const char *work,
		    const struct bench_command *c, const struct bench_times *t,
		    const struct bench_times *native, double fixed_s)
{
	cJSON *row = cJSON_CreateObject();

	cJSON_AddStringToObject(row, "suite", suite);
	cJSON_AddStringToObject(row, "work", work);
	cJSON_AddStringToObject(row, "mode", c->name);
	cJSON_AddItemToArray(b->rows, row);
	printf("%-8s %-8s %-18s", suite, work, c->name);
	if (t->failure) {
		cJSON_AddStringToObject(row, "failure", t->failure);
		printf(" failed: %s\n", t->failure);
		b->has_failure |= !c->is_optional;
		return;
	}
	cJSON_AddNumberToObject(row, "runs", t->n_runs);
	cJSON_AddNumberToObject(row, "median_s", t->median_s);
	cJSON_AddNumberToObject(row, "min_s", t->min_s);
	cJSON_AddNumberToObject(row, "max_s", t->max_s);
	printf(" %8.3f %8.3f %8.3f", t->median_s, t->min_s, t->max_s);
	if (t != native && native->median_s > 0)
		ratios_add(row, c, t, native, fixed_s);
	putchar('\n');
	fflush(stdout);
}

/** Time @p n commands, the first of them native, and print a row for each. */
static struct err *measure(struct bench *b, const char *suite, const char *work,
			   const struct bench_command *c, size_t n, int rounds,
			   struct bench_times *times)
{
	struct err *err = bench_time(c, n, rounds, b->scratch, times);

	for (size_t i = 0; i < n && !err; i++)
		row_add(b, suite, work, &c[i], &times[i], &times[0],
			strcmp(c[i].name, "record") == 0 ? b->startup_s : 0);
	return err;
}

static void times_deinit(struct bench_times *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bench_times_deinit(&t[i]);
}

static struct bench_command native_command(const struct bench_work *w)
{
	struct bench_command c = { .name = "native" };

	memcpy(c.argv, w->argv, sizeof(c.argv));
	return c;
}

/** The work's program behind @p prefix, a NULL-terminated list. */
static struct bench_command prefixed_command(const char *name, const char *const *prefix,
					     const struct bench_work *w)
{
	struct bench_command c = { .name = name, .is_output_native = true };
	size_t n = 0;

	for (; *prefix; prefix++)
		c.argv[n++] = *prefix;
	for (size_t i = 0; w->argv[i] && n < BENCH_ARGS_MAX; i++)
		c.argv[n++] = w->argv[i];
	return c;
}

static struct bench_command record_command(struct bench *b, const struct bench_work *w)
{
	const char *const prefix[] = { b->exe, "record", "-o", b->capture, "--", NULL };
	struct bench_command c = prefixed_command("record", prefix, w);

	c.fresh_dir = b->capture;
	c.limit = w->record_limit;
	return c;
}

/** What recording costs before the program runs: measured apart, on /bin/true. */
static struct err *startup_measure(struct bench *b)
{
	const struct bench_work work = { .name = "true", .argv = { "/bin/true" } };
	struct bench_command c[2] = { native_command(&work), record_command(b, &work) };
	struct bench_times t[2] = {};
	struct err *err;

	err = measure(b, "startup", "true", c, 2, b->o.rounds * 2 + 1, t);
	if (!err && !t[1].failure) {
		b->startup_s = t[1].median_s - t[0].median_s;
		printf("%-8s %.3f s fixed, taken off in column net: %s %.1f s\n",
		       "startup", b->startup_s,
		       b->startup_s <= STARTUP_LIMIT_S ? "within" : "OVER",
		       STARTUP_LIMIT_S);
	}
	times_deinit(t, 2);
	return err;
}

static struct err *record_measure(struct bench *b)
{
	struct err *err = startup_measure(b);

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work *w = &b->works[i];
		struct bench_command c[2] = { native_command(w), record_command(b, w) };
		struct bench_times t[2] = {};

		if (!w->record_limit)
			continue;
		err = measure(b, "record", w->name, c, 2, b->o.rounds, t);
		times_deinit(t, 2);
	}
	return err;
}

static struct err *replay_measure_work(struct bench *b, const struct bench_work *w)
{
	struct bench_command record = record_command(b, w);
	struct bench_command c[] = {
		native_command(w),
		{ .name = "replay",
		  .argv = { b->exe, "replay", b->capture },
		  .limit = 3 },
		{ .name = "replay addresses",
		  .argv = { b->exe, "replay", b->capture, "--log=addresses" },
		  .limit = 5 },
		{ .name = "replay values",
		  .argv = { b->exe, "replay", b->capture, "--log=values" },
		  .limit = 10 },
	};
	const size_t n = sizeof(c) / sizeof(c[0]);
	struct bench_times t[sizeof(c) / sizeof(c[0])] = {};
	char errors[4300];
	struct err *err;
	double wall_s;
	int status;

	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	bench_remove(b->capture);
	err = bench_run(record.argv, NULL, errors, &wall_s, &status);
	if (err)
		return err;
	if (status) {
		printf("%-8s %-8s cannot be recorded (try: faultline record -- %s)\n",
		       "replay", w->name, w->argv[0]);
		b->has_failure = true;
		return NULL;
	}
	err = measure(b, "replay", w->name, c, n, b->o.rounds, t);
	times_deinit(t, n);
	return err;
}

static struct err *replay_measure(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].is_replayed)
			err = replay_measure_work(b, &b->works[i]);
	return err;
}

/** Other tools on the same work in the same rounds, where they are installed. */
static struct err *peers_measure(struct bench *b)
{
	static const char *const peers[][6] = {
		{ "strace", "-o", "/dev/null", NULL },
		{ "valgrind", "--tool=none", "-q", NULL },
		{ "valgrind", "--tool=memcheck", "-q", NULL },
		{ "rr", "record", "-n", NULL },
	};
	static const char *const names[] = { "strace", "valgrind none", "memcheck",
					     "rr" };
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work *w = &b->works[i];
		struct bench_command c[BENCH_COMMANDS_MAX] = { native_command(w),
							       record_command(b, w) };
		struct bench_times t[BENCH_COMMANDS_MAX] = {};
		size_t n = 2;

		c[1].limit = 0;
		for (size_t p = 0; p < sizeof(peers) / sizeof(peers[0]); p++)
			if (bench_find_program(&b->arena, peers[p][0])) {
				c[n] = prefixed_command(names[p], peers[p], w);
				c[n++].is_optional = true;
			}
		err = measure(b, "peers", w->name, c, n, b->o.is_quick ? 1 : 3, t);
		times_deinit(t, n);
	}
	return err;
}

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
	printf("%-8s %-8s %-18s %8s %8s %8s %8s %8s\n", "suite", "program", "mode",
	       "median s", "min", "max", "ratio", "net");
	if (b->o.has_record)
		err = record_measure(b);
	if (!err && b->o.has_replay)
		err = replay_measure(b);
	if (!err && b->o.has_peers)
		err = peers_measure(b);
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
