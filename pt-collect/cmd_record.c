// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * faultline record: options, the summary line, exit statuses.
 */
// COMMAND record: record a program's run into a capture
#define LOG_ROOM "record"
#include <argp.h>
#include <string.h>

#include "pt-collect/ptc.h"

int cmd_record(int argc, char **argv);

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", 0,
	  "Write the capture to DIR, new or empty (default: PROGRAM.flt, PROGRAM.flt.2, "
	  "...)",
	  0 },
	{ "event", 'e', "EVENT", 0,
	  "Record more than replay needs; EVENT is `heap' (calls of malloc and its kin)",
	  0 },
	{ "follow", 'f', NULL, 0,
	  "Record the processes that PROGRAM starts, and that they start, too, each with a "
	  "history of its own in the same capture; wait until all have ended (then Ctrl-C "
	  "leaves those that still run alone)",
	  0 },
	{ "verbose", 'v', NULL, 0, "Say what is being done", 0 },
	{}
};

static const char doc[] =
	"Run PROGRAM and record its start state and all its inputs, so that `faultline "
	"replay' and `faultline analyze' can run it again, exactly. Standard streams and "
	"the exit status are PROGRAM's own; 125 means that faultline failed, 126 that "
	"PROGRAM cannot be executed, 127 that it was not found.\v"
	"Examples:\n"
	"  faultline record -- ./server --port 8080\n"
	"  faultline record -o crash.flt -- ./parse input.xml\n"
	"  faultline record -e heap -v -- ./test-suite\n"
	"  faultline record -f -- make -j2\n";

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct ptc_options *o = state->input;

	switch (key) {
	case 'o':
		o->dir = arg;
		return 0;
	case 'e':
		if (strcmp(arg, "heap"))
			argp_error(state, "unknown event '%s' (known: heap)", arg);
		o->wants_heap = true;
		return 0;
	case 'f':
		o->follows = true;
		return 0;
	case 'v':
		log_set_level(LOG_INFO);
		return 0;
	case ARGP_KEY_ARGS:
		o->argv = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state,
			   "which program? (faultline record -- PROGRAM [ARG...])");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/** The first of PROGRAM.flt, PROGRAM.flt.2, ... that does not exist. */
static char *default_dir(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	char *dir = NULL;

	if (asprintf(&dir, "%s.flt", name) < 0)
		return NULL;
	for (int i = 2; !access(dir, F_OK); i++) {
		free(dir);
		if (asprintf(&dir, "%s.flt.%d", name, i) < 0)
			return NULL;
	}
	return dir;
}

/** 1234567 as 1,234,567. */
static const char *group_digits(uint64_t v, char buf[32])
{
	char digits[24], *out = buf;
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);

	for (int i = 0; i < n; i++) {
		*out++ = digits[i];
		if ((n - i - 1) % 3 == 0 && i < n - 1)
			*out++ = ',';
	}
	*out = 0;
	return buf;
}

static void summarize(const struct ptc_options *o, const struct ptc_result *r)
{
	const struct cap_info *info = &r->info;
	char syscalls[32];

	fprintf(stderr, "faultline: recorded %s system calls",
		group_digits(r->n_syscalls, syscalls));
	if (o->follows)
		fprintf(stderr, " of %zu process%s", r->n_processes,
			r->n_processes == 1 ? "" : "es");
	fprintf(stderr, ", %zu files, %.1f MiB in %s: ", r->n_files, r->bytes / 1048576.0,
		o->dir);
	if (!r->n_gaps)
		fputs("complete", stderr);
	else
		fprintf(stderr, "%zu gap%s: %s%s", r->n_gaps, r->n_gaps == 1 ? "" : "s",
			r->first_gap ?: "", r->n_gaps > 1 ? "; ..." : "");
	if (info->n_execs)
		fprintf(stderr, ", from the exec of %s on", info->exe);
	fputs("\n", stderr);
}

int cmd_record(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "-- PROGRAM [ARG...]",
					  doc,	   NULL,	 NULL,
					  NULL };
	struct ptc_options o = {};
	_cleanup_(ptc_result_deinit) struct ptc_result r = { .status = PTC_EXIT_FAILED };
	_cleanup_free_ char *made_dir = NULL;
	_cleanup_err_ struct err *err = NULL;

	argp_err_exit_status = PTC_EXIT_FAILED;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	if (o.follows && o.wants_heap) {
		fprintf(stderr,
			"faultline: cannot record with both -f and -e heap: probes "
			"are of one process\n");
		return PTC_EXIT_FAILED;
	}
	if (!o.dir)
		o.dir = made_dir = default_dir(o.argv[0]);
	err = o.dir ? ptc_record(&o, &r) : &err_nomem;
	if (err) {
		fprintf(stderr, "faultline: %s\n", err->message);
		return r.status;
	}
	summarize(&o, &r);
	return r.status;
}
