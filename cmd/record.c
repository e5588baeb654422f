// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * faultline record: options, the summary line, exit statuses.
 */
// COMMAND record/record: record a program's run into a capture
#define LOG_ROOM "record"
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/option.h"
#include "cmd/record_many.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/start/keeper.h"
#include "pt-collect/tracee/privilege.h"
#include "pt-collect/record.h"

int cmd_record(int argc, char **argv);

enum {
	KEY_CHAOS = 256,
	KEY_UNTIL_FAIL,
	KEY_HANG,
	KEY_OBJECT,
	KEY_DURATION,
	KEY_PORTABLE,
	KEY_MASK_ENV,
	KEY_OMIT,
	KEY_END_CORE,
	KEY_SNAPSHOT,
	KEY_TRIGGER,
	KEY_PER_CPU,
	KEY_FILTER,
	KEY_PT_BUFFER,
	KEY_STORES_IN,
	KEY_STORES_OF,
	KEY_STORES_EACH,
	KEY_SLURM,
	KEY_HERE,
	KEY_SETTLED
};

#define SNAPSHOT_MIN (4ull << 10)
#define SNAPSHOT_MAX (64ull << 30)
#define SNAPSHOT_DEFAULT (4ull << 20)

/** With --until-fail: many runs at a time, and where. */
static struct work_place place;

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", 0,
	  "Write the capture to DIR, new or empty (default: PROGRAM.flt, PROGRAM.flt.2, "
	  "...)",
	  0 },
	{ "event", 'e', "EVENT", 0,
	  "Record more than replay needs; EVENT is `heap' (calls of malloc and its kin), "
	  "`stores' (what the path of the program's code does not tell about its stores: "
	  "see `faultline sites'), or `pt' or `pt/TERM=VALUE,.../' (Intel PT, where the CPU "
	  "has it; terms as sysfs has them: cyc, mtc_period, psb_period, noretcomp, ptw "
	  "...)",
	  0 },
	{ "per-cpu", KEY_PER_CPU, NULL, 0,
	  "With -e pt: a trace for each CPU, not for each thread", 0 },
	{ "filter", KEY_FILTER, "FILTER", 0,
	  "With -e pt: trace only there; FILTER is `filter FUNC [/ LAST or SIZE] [@ FILE]' "
	  "(`*': all of FILE), or `tracestop ...'; may be given several times",
	  0 },
	{ "pt-buffer", KEY_PT_BUFFER, "SIZE", 0,
	  "With -e pt: size of the ring of each thread or CPU (default 4M)", 0 },
	{ "stores-in", KEY_STORES_IN, "GLOB", 0,
	  "With -e stores: in mapped files with matching names (libraries), too", 0 },
	{ "stores-of", KEY_STORES_OF, "GLOB", 0,
	  "With -e stores: only in functions with matching names", 0 },
	{ "stores-each", KEY_STORES_EACH, NULL, 0,
	  "With -e stores: a probe at each store, for comparison: most cost some 20 us a "
	  "hit",
	  0 },
	{ "end-core", KEY_END_CORE, NULL, 0,
	  "When PROGRAM is about to be killed by a signal, write its registers and memory "
	  "to end.core in the capture (gdb opens it)",
	  0 },
	{ "snapshot", KEY_SNAPSHOT, "SIZE", OPTION_ARG_OPTIONAL,
	  "Be a flight recorder: PROGRAM runs as it would by itself, and only its recent "
	  "past is kept, in rings of SIZE bytes (default 4M; suffixes K, M, G); it is "
	  "written, with a core, to DIR, DIR.2, ... at a crash, at each SIGUSR2 to "
	  "faultline, and at the trigger. No replay is possible. The rings are of heap and "
	  "pt unless -e names either; -e stores adds one",
	  0 },
	{ "trigger", KEY_TRIGGER, "FUNC[@FILE]", 0,
	  "With --snapshot: take one when FUNC (of PROGRAM or a library; of FILE only) is "
	  "entered for the first time",
	  0 },
	{ "follow", 'f', NULL, 0,
	  "Record the processes that PROGRAM starts, and that they start, too, each with a "
	  "history of its own in the same capture; wait until all have ended (then Ctrl-C "
	  "leaves those that still run alone)",
	  0 },
	{ "chaos", KEY_CHAOS, "SEED", OPTION_ARG_OPTIONAL,
	  "Vary the schedule of threads to bring out rare interleavings; all choices come "
	  "from SEED (default: drawn, and printed)",
	  0 },
	{ "until-fail", KEY_UNTIL_FAIL, "N", 0,
	  "Record up to N times, with SEED, SEED+1, ..., until PROGRAM is killed by a "
	  "signal, exits with another status than 0, or hangs; keep that capture only",
	  0 },
	{ "hang", KEY_HANG, "SECONDS", 0,
	  "With --until-fail: PROGRAM hangs when nothing in it ran for SECONDS (default: "
	  "10; threads that wait for each other are found at once); it is then ended by "
	  "SIGABRT",
	  0 },
	{ "object", KEY_OBJECT, "FILE", 0,
	  "With --until-fail: a run fails, too, whose calls have no order that the object of FILE "
	  "allows (faultline linear)",
	  0 },
	{ "jobs", 'j', "N", 0,
	  "With --until-fail: N at a time; the first that fails, by its number, is kept "
	  "(default: 1)",
	  0 },
	WORK_SLURM_OPTION(KEY_SLURM),
	{ "here", KEY_HERE, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "settled", KEY_SETTLED, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "pid", 'p', "PID", 0,
	  "Record process PID, which runs already, with all its threads, instead of a "
	  "program to start; Ctrl-C ends the recording, and PID runs on",
	  0 },
	{ "duration", KEY_DURATION, "SECONDS", 0, "With -p: end the recording by itself",
	  0 },
	{ "portable", KEY_PORTABLE, NULL, 0,
	  "Let PROGRAM find a CPU without AVX and what came after it (x86-64-v2), so that "
	  "any host can replay; PROGRAM may then be slower",
	  0 },
	{ "mask-env", KEY_MASK_ENV, "GLOB", 0,
	  "Leave the values of matching environment variables out, and copies of them "
	  "wherever they are found (the replay finds x's); may be given several times",
	  0 },
	{ "omit", KEY_OMIT, "GLOB", 0,
	  "Leave the contents of matching files out, mapped or read, and of matching "
	  "mappings: [heap], [stack], [anon] (the replay finds zeros); may be given several "
	  "times",
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
	"  faultline record --chaos --until-fail 1000 -- ./stress\n"
	"  faultline record -e heap -v -- ./test-suite\n"
	"  faultline record -f -- make -j2\n"
	"  faultline record -p $(pidof redis-server) --duration 10\n"
	"  faultline record -e pt/cyc/ --filter 'filter parse' -- ./parse input.xml\n"
	"  faultline record --snapshot=16M -- ./server   # core and recent past at a crash\n"
	"  faultline record --snapshot -e stores -- ./server   # and what it stored last\n"
	"  faultline record --snapshot --trigger report_error -p $(pidof server)\n";

static uint64_t parse_size(struct argp_state *state, const char *arg)
{
	return option_bytes(state, "SIZE", arg, SNAPSHOT_MIN, SNAPSHOT_MAX);
}

static void add_name(struct argp_state *state, struct ptc_names *names, const char *glob)
{
	const char **slot = vec_push(names);

	if (slot)
		*slot = glob;
	else
		argp_failure(state, PTC_EXIT_FAILED, 0, "out of memory");
}

/** `pt', `pt/TERMS/', and perf's `intel_pt/TERMS/u': what is behind the name, or NULL. */
static char *pt_terms(char *arg)
{
	size_t n;

	if (!strncmp(arg, "intel_", 6))
		arg += 6;
	if (strncmp(arg, "pt", 2) || (arg[2] && arg[2] != '/'))
		return NULL;
	arg += 2;
	if (!*arg)
		return arg;
	n = strcspn(++arg, "/");
	if (arg[n] && strcmp(arg + n, "/") && strcmp(arg + n, "/u"))
		return NULL; // only user space is traced
	arg[n] = 0;
	return arg;
}

static void parse_event(struct argp_state *state, char *arg)
{
	struct ptc_options *o = state->input;
	char *terms;

	if (!strcmp(arg, "heap")) {
		o->wants_heap = o->has_events = true;
	} else if (!strcmp(arg, "stores")) {
		o->stores.is_wanted = true;
	} else if ((terms = pt_terms(arg))) {
		o->pt.is_wanted = o->has_events = true;
		o->pt.terms = terms;
	} else {
		argp_error(state,
			   "unknown event '%s' (known: heap, stores, pt, pt/TERMS/)",
			   arg);
	}
}

/** What -e and --snapshot go by. */
static error_t parse_event_option(int key, char *arg, struct argp_state *state)
{
	struct ptc_options *o = state->input;

	switch (key) {
	case 'e':
		parse_event(state, arg);
		return 0;
	case KEY_PER_CPU:
		o->pt.is_per_cpu = true;
		return 0;
	case KEY_FILTER:
		add_name(state, &o->pt.filters, arg);
		return 0;
	case KEY_PT_BUFFER:
		o->pt.aux_bytes = parse_size(state, arg);
		return 0;
	case KEY_STORES_IN:
		o->stores.files = arg;
		return 0;
	case KEY_STORES_OF:
		o->stores.plan.function = arg;
		return 0;
	case KEY_STORES_EACH:
		o->stores.plan.is_naive = true;
		return 0;
	case KEY_SNAPSHOT:
		o->wants_snapshot = true;
		o->snapshot_bytes = arg ? parse_size(state, arg) : SNAPSHOT_DEFAULT;
		return 0;
	case KEY_TRIGGER:
		o->trigger = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/** When it runs, how often, and for how long. */
/** Have `faultline linear' ask about the capture in @p dir, of the object's file @p ctx. */
static struct err *ask_linear(void *ctx, const char *dir, bool *ret_is_failure)
{
	char *const argv[] = {
		"faultline", "linear", "--object", ctx, (char *)dir, NULL
	};
	int status, null;
	pid_t pid = fork();

	if (pid < 0)
		return err_errno("cannot start 'faultline linear'");
	if (!pid) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno("cannot wait for 'faultline linear'");
	*ret_is_failure = WIFEXITED(status) && WEXITSTATUS(status) == 1;
	return *ret_is_failure || (WIFEXITED(status) && !WEXITSTATUS(status)) ?
		       NULL :
		       err_new(ERR_USAGE, "'faultline linear --object %s' cannot tell",
			       (char *)ctx);
}

static error_t parse_run_option(int key, char *arg, struct argp_state *state)
{
	struct ptc_options *o = state->input;

	switch (key) {
	case KEY_CHAOS:
		o->wants_chaos = true;
		if (arg)
			o->seed = option_number(state, "SEED", arg, 0, UINT64_MAX);
		else if (getrandom(&o->seed, 4, 0) != 4)
			o->seed = ptc_now_ns();
		return 0;
	case KEY_UNTIL_FAIL:
		o->until_fail = option_number(state, "N", arg, 1, INT_MAX);
		return 0;
	case KEY_HANG:
		o->hang_seconds = option_number(state, "SECONDS", arg, 1, 1000000);
		return 0;
	case KEY_OBJECT:
		o->judge = ask_linear;
		o->judge_ctx = arg;
		return 0;
	case 'j':
		place.n_jobs = option_number(state, "--jobs", arg, 1, 1024);
		return 0;
	case KEY_SLURM:
		return cmd_work_on_slurm(&place, arg);
	case KEY_SETTLED:
		return 0;
	case KEY_HERE: // one of many: what is said of the many is not for it
		place = (struct work_place){};
		return 0;
	case KEY_DURATION:
		o->duration_s = option_seconds(state, arg);
		return 0;
	}
	return parse_event_option(key, arg, state);
}

/** All have been read. */
static void check_options(struct argp_state *state)
{
	struct ptc_options *o = state->input;

	if (o->pid && o->argv)
		argp_error(state, "-p PID or a program, not both");
	if (o->pid && o->follows)
		argp_error(state, "-f and -p cannot be combined");
	if (!o->pid && o->duration_s)
		argp_error(state, "--duration is for -p");
	if (o->trigger && !o->wants_snapshot)
		argp_error(state, "--trigger is for --snapshot");
	// The flight recorder's rings, unless some are chosen.
	if (o->wants_snapshot && !o->has_events)
		o->wants_heap = o->pt.is_wanted = true;
	if (!o->pt.is_wanted &&
	    (o->pt.is_per_cpu || o->pt.filters.size || o->pt.aux_bytes))
		argp_error(state, "--per-cpu, --filter and --pt-buffer are for -e pt");
	if (!o->pid && !o->argv)
		argp_error(state,
			   "which program? (faultline record -- PROGRAM [ARG...])");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct ptc_options *o = state->input;

	switch (key) {
	case 'o':
		o->dir = arg;
		return 0;
	case KEY_END_CORE:
		o->wants_end_core = true;
		return 0;
	case KEY_PORTABLE:
		o->is_portable = true;
		return 0;
	case KEY_MASK_ENV:
		add_name(state, &o->private.env, arg);
		if (!o->private.mask)
			o->private.mask = cap_mask_create();
		if (!o->private.mask)
			argp_failure(state, PTC_EXIT_FAILED, 0, "out of memory");
		return 0;
	case KEY_OMIT:
		add_name(state, &o->private.mappings, arg);
		return 0;
	case 'f':
		o->follows = true;
		return 0;
	case 'p':
		o->pid = option_number(state, "PID", arg, 1, INT_MAX);
		return 0;
	case 'v':
		log_set_level(LOG_INFO);
		return 0;
	case ARGP_KEY_ARGS:
		o->argv = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		check_options(state);
		return 0;
	}
	return parse_run_option(key, arg, state);
}

#define GONE " (deleted)" // what /proc says behind a name that leads there no more

/** The first of PROGRAM.flt, PROGRAM.flt.2, ... that does not exist. */
static char *default_dir(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	int n = strlen(name), n_gone = strlen(GONE);
	char *dir = NULL;

	if (n > n_gone && !strcmp(name + n - n_gone, GONE))
		n -= n_gone;
	if (asprintf(&dir, "%.*s.flt", n, name) < 0)
		return NULL;
	for (int i = 2; !access(dir, F_OK); i++) {
		free(dir);
		if (asprintf(&dir, "%.*s.flt.%d", n, name, i) < 0)
			return NULL;
	}
	return dir;
}

/** @return whether a mistake of the program's own is the likely cause. */
static bool is_crash(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGILL ||
	       signo == SIGFPE || signo == SIGABRT || signo == SIGSYS;
}

/** As a shell does, of the program itself: who it was, what killed it; and what to do next. */
static void tell_death(const struct ptc_result *r)
{
	const struct cap_info *info = &r->info;
	int signo = info->end == CAP_END_SIGNAL ? info->end_value : 0;

	if (!signo || signo == SIGINT || signo == SIGPIPE)
		return;
	fprintf(stderr, "faultline: %s (pid %u) was killed by %s (%s)",
		text_line(info->argv && info->argv[0] ? info->argv[0] : info->exe),
		info->pid, text_signal(signo), strsignal(signo));
	if (is_crash(signo))
		fprintf(stderr, "; for the cause: faultline analyze %s",
			text_line(r->dir));
	fputc('\n', stderr);
}

/** @return the @p i-th that is known: the program's own first; NULL = no more. */
static const char *gap_text(const struct ptc_result *r, size_t i)
{
	if (i < r->info.n_missing)
		return r->info.missing[i];
	i -= r->info.n_missing;
	return i < r->gaps.size ? r->gaps.data[i] : NULL;
}

/** Each on a line of its own, when there are several. */
static void tell_gaps(const struct ptc_result *r)
{
	const char *text;
	size_t i = 0;

	for (; r->n_gaps > 1 && (text = gap_text(r, i)); i++)
		fprintf(stderr, "faultline: note: gap: %s\n", text_line(text));
	if (i && i < r->n_gaps)
		fprintf(stderr, "faultline: note: %zu more gaps, in other processes\n",
			r->n_gaps - i);
}

static void summarize(const struct ptc_options *o, const struct ptc_result *r)
{
	const struct cap_info *info = &r->info;

	if (!o->until_fail)
		tell_death(r);
	tell_gaps(r);
	fprintf(stderr, "faultline: recorded %llu system calls",
		(unsigned long long)r->n_syscalls);
	if (o->follows)
		fprintf(stderr, " of %zu process%s", r->n_processes,
			r->n_processes == 1 ? "" : "es");
	if (info->pt.is_recorded)
		fprintf(stderr, ", %.1f MiB of PT with %llu gap%s",
			info->pt.bytes / 1048576.0, (unsigned long long)info->pt.n_gaps,
			info->pt.n_gaps == 1 ? "" : "s");
	fprintf(stderr, ", %zu files, %.1f MiB in %s: ", r->n_files, r->bytes / 1048576.0,
		text_line(r->dir));
	if (!r->n_gaps)
		fputs("complete", stderr);
	else
		fprintf(stderr, "%zu gap%s: %s%s", r->n_gaps, r->n_gaps == 1 ? "" : "s",
			text_line(gap_text(r, 0) ?: ""), r->n_gaps > 1 ? "; ..." : "");
	if (info->n_execs)
		fprintf(stderr, ", with what it was before the exec of %s",
			text_line(info->exe));
	fputs("\n", stderr);
}

/** How the last of @p n_runs ended, and what it takes to do the same again. */
static void tell_outcome(const struct ptc_options *o, const struct ptc_result *r,
			 unsigned n_runs)
{
	if (r->is_asked_to_end)
		fprintf(stderr, "faultline: ended by a signal in run %u of %u", n_runs,
			o->until_fail);
	else if (r->is_removed)
		fprintf(stderr, "faultline: no failure in %u run%s", n_runs,
			n_runs == 1 ? "" : "s");
	else
		fprintf(stderr, "faultline: failed in run %u of %u", n_runs,
			o->until_fail);
	if (o->wants_chaos && r->is_removed && n_runs > 1)
		fprintf(stderr, " (seeds %llu to %llu)", (unsigned long long)o->seed,
			(unsigned long long)o->seed + n_runs - 1);
	else if (o->wants_chaos)
		fprintf(stderr, " (seed %llu)", (unsigned long long)o->seed + n_runs - 1);
	if (r->is_removed)
		fputs("; no capture is kept\n", stderr);
	else if (r->has_hung)
		fputs(": hung\n", stderr);
	else if (r->is_judged)
		fputs(": its calls have no order (see faultline linear)\n", stderr);
	else if (r->status > 128 && r->status <= 128 + SIGRTMAX)
		fprintf(stderr, ": killed by %s\n", text_signal(r->status - 128));
	else
		fprintf(stderr, ": exit status %d\n", r->status);
}

static struct err *record(const struct ptc_options *o, struct ptc_result *r)
{
	unsigned n_runs = 0;
	struct err *err;

	if (!o->until_fail) {
		if (o->wants_chaos)
			fprintf(stderr, "faultline: chaos with seed %llu\n",
				(unsigned long long)o->seed);
		return ptc_record(o, r);
	}
	err = ptc_explore(o, r, &n_runs);
	if (!err)
		tell_outcome(o, r, n_runs);
	return err;
}

static void tell_snapshot(const char *dir, const struct cap_info *info, uint64_t bytes)
{
	const struct cap_end_core *e = &info->end_core;
	const char *slash = strrchr(info->exe, '/');

	fputs("faultline: snapshot ", stderr);
	if (e->reason == CAP_END_CORE_CRASH)
		fprintf(stderr, "at %s of thread %u", text_signal(e->signo), e->tid);
	else if (e->reason == CAP_END_CORE_TRIGGER)
		fprintf(stderr, "at %s in thread %u", text_line(e->function), e->tid);
	else
		fputs("as asked", stderr);
	fprintf(stderr, " of %s (pid %u): %llu allocator calls%s, %.1f MiB in %s: ",
		text_line(slash ? slash + 1 : info->exe), info->pid,
		(unsigned long long)info->n_events,
		info->n_store_sites ? " and stores" : "", bytes / 1048576.0,
		text_line(dir));
	if (info->n_missing)
		fprintf(stderr, "%s\n", text_line(info->missing[0]));
	else
		fputs("complete\n", stderr);
}

static void tell_attached(const struct ptc_options *o, const struct ptc_result *r)
{
	fprintf(stderr,
		"faultline: attached to process %d: %zu thread%s stopped for %.1f ms",
		o->pid, r->stopped.n_threads, r->stopped.n_threads == 1 ? "" : "s",
		r->stopped.ns / 1e6);
	if (!o->wants_snapshot)
		fprintf(stderr, " to save %.1f MiB", r->stopped.saved_bytes / 1048576.0);
	fputs(o->duration_s > 0 ? "\n" : "; Ctrl-C ends the recording\n", stderr);
}

/** What the recorder is to do; runs in its own process. */
static int record_and_tell(void *options)
{
	struct ptc_options *o = options;
	_cleanup_(ptc_result_deinit) struct ptc_result r = { .status = PTC_EXIT_FAILED };
	_cleanup_err_ struct err *err = record(o, &r);

	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	else if (!r.is_removed && !o->wants_snapshot)
		summarize(o, &r);
	else if (o->wants_snapshot && !r.n_snapshots)
		fputs("faultline: no snapshot was taken; no capture is kept\n", stderr);
	// A program may have asked to be told of its parent's end (PR_SET_PDEATHSIG): when
	// faultline was killed, that is not yet.
	if (ptc_is_keeper_gone())
		ptc_child_await_ends();
	return r.is_judged ? 1 : r.status;
}

static void options_deinit(struct ptc_options *o)
{
	vec_deinit(&o->private.env);
	cap_mask_destroy(o->private.mask);
	vec_deinit(&o->private.mappings);
	vec_deinit(&o->pt.filters);
}

/** @return whether they do; else says which not, and why. */
static bool options_go_together(const struct ptc_options *o)
{
	const struct {
		bool is_wrong;
		const char *what;
	} wrong[] = {
		{ o->follows && o->until_fail,
		  "-f and --until-fail: only the program itself is tried again" },
		{ (place.n_jobs || place.is_slurm) && o->until_fail == 0,
		  "--jobs or --slurm, and without --until-fail: it is one run" },
		{ o->is_portable && o->pid,
		  "-p and --portable: a program that runs has chosen its instructions" },
		{ o->wants_snapshot && (o->wants_chaos || o->until_fail),
		  "--snapshot and --chaos or --until-fail: it leaves the schedule alone" },
		{ o->wants_snapshot && o->is_portable,
		  "--snapshot and --portable: nothing is replayed" },
		{ o->wants_snapshot && o->wants_end_core,
		  "--snapshot and --end-core: each snapshot has its end.core" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (wrong[i].is_wrong) {
			fprintf(stderr, "faultline: cannot record with both %s\n",
				wrong[i].what);
			return false;
		}
	return true;
}

/** Is there Intel PT? If not, one line says why, and it goes on without. */
static struct err *find_pt(struct ptc_options *o, struct ptc_pt_setup *setup,
			   char **why_not)
{
	const struct ptc_pt_machine here = ptc_pt_machine_here();
	struct err *err;

	o->pt.is_snapshot = o->wants_snapshot;
	if (o->wants_snapshot && !o->pt.aux_bytes)
		o->pt.aux_bytes = o->snapshot_bytes;
	err = ptc_pt_setup_init(&o->pt, &here, setup, why_not);
	if (err)
		return err_prefix(err, "cannot record");
	o->pt_why_not = *why_not;
	if (!*why_not)
		o->pt_setup = setup;
	else
		log_note("no Intel PT: %s; recording goes on without it", *why_not);
	return NULL;
}

int cmd_record(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse_option, "-- PROGRAM [ARG...]\n-p PID", doc, NULL,
		NULL,	 NULL
	};
	_cleanup_(options_deinit) struct ptc_options o = { .hang_seconds = 10 };
	_cleanup_free_ char *made_dir = NULL, *why_not = NULL;
	struct ptc_pt_setup pt = {};
	int status = PTC_EXIT_FAILED;
	_cleanup_err_ struct err *err = NULL;

	argp_err_exit_status = PTC_EXIT_FAILED;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	if (!options_go_together(&o))
		return PTC_EXIT_FAILED;
	if (o.judge && !o.until_fail) {
		fputs("faultline: cannot record with --object alone: it is for --until-fail (of one "
		      "capture ask `faultline linear')\n",
		      stderr);
		return PTC_EXIT_FAILED;
	}
	o.on_attached = tell_attached;
	o.on_snapshot = tell_snapshot;
	o.name_dir = default_dir;
	if (!o.dir && !o.pid)
		o.dir = made_dir = default_dir(o.argv[0]);
	if (!o.dir && !o.pid) {
		fprintf(stderr, "faultline: %s\n", err_nomem.message);
		return PTC_EXIT_FAILED;
	}
	if (place.n_jobs > 1 || place.is_slurm) {
		ptc_privilege_end();
		return cmd_record_many(&o, &place, argv);
	}
	if (o.pt.is_wanted)
		err = find_pt(&o, &pt, &why_not);
	if (!err)
		err = ptc_privilege_init();
	if (err)
		fprintf(stderr, "faultline: %s\n", err->message);
	else
		status = ptc_keep(record_and_tell, &o, o.wants_snapshot);
	ptc_pt_setup_deinit(&pt);
	return status;
}
