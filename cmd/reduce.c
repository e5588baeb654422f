// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND explain/reduce: the smallest input that fails the same way

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "cmd/work.h"
#include "confine/confine.h"
#include "faultlocate/reduce/plan.h"

#define EXIT_COULD_NOT 2
#define EXIT_STOPPED 1
#define EXIT_NOT_INTERESTING 1 // of a candidate
#define VERIFIED 3	       // runs of the result
#define SHORTEST_S \
	1.0 // a run may take so long at least, and so many times the first one's
#define TIMES_FIRST 10

enum {
	KEY_ORACLE = 256,
	KEY_METHOD,
	KEY_INPUT,
	KEY_JSON,
	KEY_TIMEOUT,
	KEY_FRAMES,
	KEY_NO_RECORD,
	KEY_AT,
	KEY_SLURM,
	KEY_TRY
};

enum method { IDTHDD, IDTHDD_STAR, DDMIN, CHARS, LINES, TOKENS, METHODS };
static const char *const methods[] = { "idthdd", "idthdd*", "ddmin",
				       "chars",	 "lines",   "tokens" };

struct arguments {
	const char *capture, *process, *oracle, *input, *out, *at;
	const char *try; ///< a candidate: is it interesting? That is all then
	struct work_place place;
	int argc;
	char **argv;
	enum method method;
	bool with_json, without_record;
	double timeout_s;
	unsigned frames;
	fl_texts none;
};

static const struct argp_option options[] = {
	{ "oracle", KEY_ORACLE, "SCRIPT", 0,
	  "an input fails the same way when SCRIPT, given its path, exits with 0; else when the "
	  "program ends by the same signal in the same functions",
	  0 },
	{ "method", KEY_METHOD, "METHOD", 0,
	  "idthdd* (the default) and idthdd: by the parts that bytes had in the failure; "
	  "ddmin: delta debugging by bytes, as published; chars, lines, tokens: by these",
	  0 },
	{ "at", KEY_AT, "PLACE", 0,
	  "for idthdd: what is wrong is wrong here, a place as of `faultline inputs --at' "
	  "(default: crash)",
	  0 },
	{ "input", KEY_INPUT, "INPUT", 0,
	  "what is to become smaller: a file that the program read, stdin, argv or env; else "
	  "the file that its arguments name, or stdin",
	  0 },
	{ "output", 'o', "DIR", 0,
	  "write the result, and a new capture of it, into DIR (default: CAPTURE.reduced)",
	  0 },
	{ "timeout", KEY_TIMEOUT, "SECONDS", 0,
	  "end a run after so long (default: ten times the first one, at least 1)", 0 },
	{ "frames", KEY_FRAMES, "N", 0,
	  "two runs fail the same way if they are in the same N innermost functions (default: "
	  "2; those of the C library do not count)",
	  0 },
	{ "jobs", 'j', "N", 0, "N runs at a time (default: the cores)", 0 },
	WORK_SLURM_OPTION(KEY_SLURM),
	{ "try", KEY_TRY, "FILE", OPTION_HIDDEN, NULL, 0 },
	{ "no-record", KEY_NO_RECORD, NULL, 0, "do not record the result", 0 },
	{ "json", KEY_JSON, NULL, 0, "write what came of it as one JSON object", 0 },
	{ "process", 'p', "PROCESS", 0,
	  "of a capture made by `record -f', this process: a number or a process id", 0 },
	{ 0 },
};

static const char doc[] =
	"Run the program of CAPTURE again and again, each time with less of its input, until "
	"nothing can go without its failing otherwise, or not at all. It runs as it was "
	"recorded, natively, where it can change no file of yours (doc/reduce.md): use it on "
	"captures that you made. Ctrl-C leaves the best so far.\v"
	"Exit status: 0 reduced, 1 stopped before, 2 could not.\n\n"
	"Examples:\n"
	"  faultline reduce crash.flt\n"
	"  faultline reduce crash.flt --method lines -o small\n"
	"  faultline reduce crash.flt --input stdin --oracle ./same-message.sh\n";

static enum method parse_method(struct argp_state *state, const char *arg)
{
	for (int i = 0; i < METHODS; i++)
		if (!strcmp(arg, methods[i]))
			return i;
	argp_error(state, "there is no method '%s'", text_line(arg));
	return DDMIN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_ORACLE:
		a->oracle = arg;
		break;
	case KEY_METHOD:
		a->method = parse_method(state, arg);
		break;
	case KEY_AT:
		a->at = arg;
		break;
	case KEY_INPUT:
		a->input = arg;
		break;
	case 'o':
		a->out = arg;
		break;
	case KEY_TIMEOUT:
		a->timeout_s = option_seconds(state, arg);
		break;
	case KEY_FRAMES:
		a->frames = option_number(state, "--frames", arg, 1, 64);
		break;
	case 'j':
		a->place.n_jobs =
			option_number(state, "--jobs", arg, 1, FL_REDUCE_AT_ONCE);
		break;
	case KEY_SLURM:
		return cmd_work_on_slurm(&a->place, arg);
	case KEY_TRY:
		a->try = arg;
		break;
	case KEY_NO_RECORD:
		a->without_record = true;
		break;
	case KEY_JSON:
		a->with_json = true;
		text_guard_json();
		break;
	case 'p':
		a->process = arg;
		break;
	default:
		return option_only(state, key, arg, "capture", &a->capture);
	}
	return 0;
}

/* ---- what is to be run, read where it can do no harm ---------------------------------------- */

static const struct arguments *planned;
static int plan_fd = -1;

static int make_plan(int argc, char **argv)
{
	const struct fl_plan_options o = { .progress = cmd_command_show_way_back,
					   .input = planned->input,
					   .at = planned->method <= IDTHDD_STAR ?
							 planned->at :
							 NULL };
	_cleanup_free_ char *dir = NULL;
	struct err *err = cmd_command_process(planned->capture, planned->process,
					      &planned->none, &dir);

	(void)argc, (void)argv;
	if (!err)
		err = fl_plan_make(dir, &o, plan_fd);
	if (err)
		fprintf(stderr, "faultline: cannot reduce '%s': %s\n",
			text_line(planned->capture), err->message);
	err_destroy(err);
	return err ? EXIT_COULD_NOT : 0;
}

/* ---- reducing -------------------------------------------------------------------------------- */

struct reducing {
	const struct arguments *args;
	struct fl_plan plan;
	struct fl_runner *runner;
	struct fl_run_options run;
	struct fl_run_end first; ///< how the whole input's run ended
	fl_units units;
	struct fl_reduce *search;
	struct fl_text result;
	size_t step1; ///< bytes left by the roles alone
	unsigned n_verified;
	double begun_s, shown_s, seconds;
	char *out, *oracle;
	unsigned n_rounds; ///< of candidates that other machines had
	int dir_fd;
	bool is_new; ///< the directory
	bool is_recorded;
};

static volatile sig_atomic_t stopped;

static void stop(int signo)
{
	(void)signo;
	stopped = true;
}

static bool is_interesting(const struct reducing *r, const struct fl_run_end *e)
{
	if (r->args->oracle)
		return e->fate == FL_RUN_EXIT && !e->value;
	return fl_run_is_same(&r->first, e);
}

/* ---- on other machines ----------------------------------------------------------------------- */

/* A command for candidate @p c, which it finds in a file beside the list of them. */
static struct err *add_candidate(struct reducing *r, struct work *w, size_t i,
				 const struct fl_text *c)
{
	const struct arguments *a = r->args;
	_cleanup_free_ const char **words = calloc(a->argc + 4, sizeof(*words));
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ char *path = NULL;
	char name[32];
	size_t n = 0;
	struct err *err;

	if (!words || asprintf(&path, "%s-%zu", w->dir, i) < 0)
		return &err_nomem;
	err = new_file_open(&f, path, 0600);
	if (err)
		return err;
	fwrite(c->data, 1, c->size, f.stream);
	err = new_file_commit(&f);
	words[n++] = "reduce";
	for (int k = 1; k < a->argc; k++)
		words[n++] = a->argv[k];
	words[n++] = "--try";
	words[n++] = path;
	snprintf(name, sizeof(name), "candidate-%zu", i);
	return err ?: cmd_work_add(w, name, words);
}

/* What was asked before is known by what is left of it. */
static struct err *test_elsewhere(struct reducing *r, const struct fl_text *candidates,
				  size_t n, bool *are_interesting)
{
	struct work w;
	struct err *err = cmd_work_init(&w, &r->args->place, "%s.work/round-%u", r->out,
					++r->n_rounds);

	w.is_tried = true;
	for (size_t i = 0; i < n && !err; i++)
		err = add_candidate(r, &w, i, &candidates[i]);
	if (!err)
		err = cmd_work_run(&w, "reduce", r->args->argv);
	if (err && err->code == ERR_INTERRUPTED) { // what there is so far is the result
		err_destroy(take_ptr(&err));
		stopped = true;
	}
	for (size_t i = 0; i < n && !err && !stopped; i++) {
		int status = cmd_work_status(&w, i, NULL);

		are_interesting[i] = !status;
		if (status != 0 && status != EXIT_NOT_INTERESTING)
			err = cmd_work_failed(&w, i);
	}
	cmd_work_deinit(&w);
	return err;
}

static struct err *make_work_dir(const struct reducing *r)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	bool is_new;

	if (!r->args->place.is_slurm)
		return NULL;
	if (asprintf(&path, "%s.work", r->out) < 0)
		return &err_nomem;
	return file_make_dir(path, &fd, &is_new);
}

static void remove_work_dir(const struct reducing *r)
{
	struct work w;
	struct err *err = cmd_work_init(&w, &r->args->place, "%s.work", r->out);

	if (!err && r->args->place.is_slurm)
		cmd_work_remove(&w);
	err_destroy(err);
	cmd_work_deinit(&w);
}

/* ---- here -------------------------------------------------------------------------------------- */

static struct err *test(void *ctx, const struct fl_text *candidates, size_t n,
			bool *are_interesting)
{
	struct reducing *r = ctx;
	struct fl_run_end ends[FL_REDUCE_AT_ONCE];
	struct err *err;

	if (r->args->place.is_slurm)
		return test_elsewhere(r, candidates, n, are_interesting);
	err = fl_runner_run(r->runner, candidates, n, ends);

	for (size_t i = 0; i < n && !err; i++)
		are_interesting[i] = is_interesting(r, &ends[i]);
	return err;
}

static void show_progress(void *ctx, size_t bytes, uint64_t runs)
{
	struct reducing *r = ctx;
	double now = clock_now_s();

	if (!isatty(STDERR_FILENO) || now - r->shown_s < 0.1)
		return;
	r->shown_s = now;
	fprintf(stderr, TEXT_AGAIN "%zu bytes after %lu runs (%.0f a second)", bytes,
		runs, runs / (now - r->begun_s + 1e-9));
	fflush(stderr);
}

static bool is_stopped(void *ctx)
{
	(void)ctx;
	return stopped;
}

static void end_name(const struct fl_run_end *e, char *ret, size_t size)
{
	switch (e->fate) {
	case FL_RUN_EXIT:
		snprintf(ret, size, "exit status %d", e->value);
		break;
	case FL_RUN_TIMEOUT:
		snprintf(ret, size, "more time than it was given");
		break;
	default:
		snprintf(ret, size, "%s%s%s", text_signal(e->value),
			 e->has_frames && e->frames[0] ? " in " : "",
			 e->has_frames ? e->frames : "");
	}
}

/* How the recorded run ended must be how such a run ends, each time. */
static struct err *check_failure(struct reducing *r, const struct fl_run_end *again)
{
	char now[FL_RUN_TEXT + 64];

	if (r->args->oracle)
		return is_interesting(r, &r->first) && is_interesting(r, again) ?
			       NULL :
			       err_new(ERR_USAGE,
				       "the oracle does not accept the input that was recorded "
				       "(it must exit with 0 for it)");
	end_name(&r->first, now, sizeof(now));
	if (r->plan.end != CAP_END_SIGNAL)
		return err_new(
			ERR_USAGE,
			"no signal ended the recorded run: say with --oracle what is "
			"wrong with it");
	if (r->first.fate != FL_RUN_SIGNAL || r->first.value != r->plan.end_value)
		return err_new(
			ERR_USAGE,
			"the failure does not repeat: recorded was %s, the same input now "
			"gives %s (what else it depends on, files that it writes or the "
			"network, is not there)",
			text_signal(r->plan.end_value), now);
	if (!fl_run_is_same(&r->first, again))
		return err_new(
			ERR_USAGE,
			"the failure is not the same each time: %s, and then another "
			"(--frames 1 is less strict)",
			now);
	return NULL;
}

/* An oracle that accepts nothing at all for an input accepts everything. */
static struct err *check_oracle(struct reducing *r)
{
	struct fl_run_end end;
	struct err *err;

	if (!r->args->oracle)
		return NULL;
	err = fl_runner_run(r->runner, &(struct fl_text){ (const uint8_t *)"", 0 }, 1,
			    &end);
	if (!err && is_interesting(r, &end))
		err = err_new(ERR_USAGE,
			      "the oracle accepts an empty input, too: it would accept "
			      "everything");
	return err;
}

static struct err *set_up(struct reducing *r)
{
	struct fl_plan *p = &r->plan;
	long cpus = r->args->place.n_jobs ?: sysconf(_SC_NPROCESSORS_ONLN);

	r->run =
		(struct fl_run_options){ .exe = p->exe,
					 .cwd = p->cwd,
					 .argv0 = p->argv0,
					 .args = p->args,
					 .env = p->env,
					 .input = p->input,
					 .path = p->input == FL_RUN_FILE ? p->name : NULL,
					 .input_most = p->data.size,
					 .timeout_s = r->args->timeout_s ?: 60,
					 .n_frames = r->args->frames,
					 .oracle = r->oracle,
					 .n_workers = cpus < 1 ? 1 :
						      cpus > FL_REDUCE_AT_ONCE ?
								 FL_REDUCE_AT_ONCE :
								 cpus };
	if (r->args->oracle) {
		r->oracle = realpath(r->args->oracle, NULL);
		if (!r->oracle || access(r->oracle, X_OK))
			return err_errno("cannot run the oracle '%s'", r->args->oracle);
		r->run.oracle = r->oracle;
	}
	return NULL;
}

/* Run the whole input twice; the first run tells how long one may take. */
static struct err *begin(struct reducing *r)
{
	struct fl_run_end again;
	double begun = clock_now_s(), took;
	struct err *err = fl_runner_create(&r->run, &r->runner);

	if (!err)
		err = fl_runner_run(r->runner, &r->plan.data, 1, &r->first);
	took = clock_now_s() - begun;
	if (!err && !r->args->timeout_s) {
		r->run.timeout_s = took * TIMES_FIRST > SHORTEST_S ? took * TIMES_FIRST :
								     SHORTEST_S;
		fl_runner_destroy(take_ptr(&r->runner));
		err = fl_runner_create(&r->run, &r->runner);
	}
	if (!err)
		err = fl_runner_run(r->runner, &r->plan.data, 1, &again);
	if (!err)
		err = check_failure(r, &again);
	return err ?: check_oracle(r);
}

/* One of these: is it interesting? */
static struct err *try(struct reducing *r, int *status)
{
	_cleanup_fclose_ FILE *f = fopen(r->args->try, "re");
	_cleanup_free_ uint8_t *data = malloc(r->plan.data.size + 1);
	struct fl_text c = { data, 0 };
	struct fl_run_end end;
	struct err *err;

	if (!data)
		return &err_nomem;
	if (!f)
		return err_errno("cannot read '%s'", r->args->try);
	c.size = fread(data, 1, r->plan.data.size, f);
	err = set_up(r);
	r->run.n_workers = 1;
	if (!err)
		err = begin(r);
	if (!err)
		err = fl_runner_run(r->runner, &c, 1, &end);
	if (!err)
		*status = is_interesting(r, &end) ? 0 : EXIT_NOT_INTERESTING;
	return err;
}

static struct err *search(struct reducing *r)
{
	static const enum fl_unit_kind kinds[] = {
		[IDTHDD] = FL_UNIT_BYTES, [IDTHDD_STAR] = FL_UNIT_BYTES,
		[DDMIN] = FL_UNIT_BYTES,  [CHARS] = FL_UNIT_CHARS,
		[LINES] = FL_UNIT_LINES,  [TOKENS] = FL_UNIT_TOKENS
	};
	struct fl_reduce_options o = { .data = r->plan.data.data,
				       .size = r->plan.data.size,
				       .at_once = r->args->place.is_slurm ?
							  FL_REDUCE_AT_ONCE :
							  r->run.n_workers,
				       .test = test,
				       .progress = show_progress,
				       .interrupted = is_stopped,
				       .ctx = r };
	struct err *err =
		fl_units_split(kinds[r->args->method], o.data, o.size, &r->units);

	if (err)
		return err;
	o.units = r->units.data;
	o.n_units = r->units.size;
	r->begun_s = clock_now_s();
	err = fl_reduce_create(&o, &r->search);
	if (!err)
		err = r->args->method <= IDTHDD_STAR ?
			      fl_tree_reduce(r->search, &r->plan.tree,
					     r->args->method == IDTHDD_STAR, &r->step1) :
			      fl_reduce_ddmin(r->search, r->args->method == DDMIN);
	r->seconds = clock_now_s() - r->begun_s;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, TEXT_AGAIN);
	return err ?: fl_reduce_text(r->search, &r->result);
}

static struct err *verify(struct reducing *r)
{
	struct fl_run_end end;
	struct err *err = NULL;

	for (int i = 0; i < VERIFIED && !err; i++) {
		err = fl_runner_run(r->runner, &r->result, 1, &end);
		r->n_verified += !err && is_interesting(r, &end);
	}
	return err;
}

/* ---- what comes of it -------------------------------------------------------------------------- */

static const char *result_name(const struct reducing *r)
{
	const char *slash = strrchr(r->plan.name, '/');

	return r->plan.input == FL_RUN_FILE && slash ? slash + 1 : r->plan.name;
}

static struct err *make_dir(struct reducing *r)
{
	size_t n = strlen(r->args->capture);
	struct err *err;

	while (n > 1 && r->args->capture[n - 1] == '/')
		n--;
	if (r->args->out)
		r->out = strdup(r->args->out);
	else if (asprintf(&r->out, "%.*s.reduced", (int)n, r->args->capture) < 0)
		r->out = NULL;
	if (!r->out)
		return &err_nomem;
	err = file_make_dir(r->out, &r->dir_fd, &r->is_new);
	if (!err && !r->is_new && file_dir_is_empty(r->dir_fd) != 1)
		err = err_new(ERR_USAGE, "cannot write into '%s': it is not empty",
			      text_line(r->out));
	return err;
}

static struct err *store(struct reducing *r)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open_in(&f, r->dir_fd, result_name(r), result_name(r));

	if (!err)
		fwrite(r->result.data, 1, r->result.size, f.stream);
	return err ?: new_file_commit(&f);
}

static struct err *record(struct reducing *r)
{
	_cleanup_free_ char *dir = realpath(r->out, NULL), *path = NULL;
	_cleanup_close_ int said = memfd_create("said", MFD_CLOEXEC);
	char text[1024] = "";
	struct err *err;

	if (r->args->without_record || stopped)
		return NULL;
	if (!dir || said < 0 || asprintf(&path, "%s/capture", dir) < 0)
		return err_errno("cannot record the result");
	err = fl_runner_record(r->runner, r->result, path, said);
	if (err)
		return err;
	r->is_recorded = !faccessat(r->dir_fd, "capture/manifest.json", F_OK, 0);
	if (r->is_recorded)
		return NULL;
	if (pread(said, text, sizeof(text) - 1, 0) < 0)
		text[0] = 0;
	return err_new(ERR_OS, "cannot record the result: %s", text_line(text));
}

static void print_text(const struct reducing *r)
{
	struct fl_reduce_stats s = fl_reduce_stats(r->search);
	uint64_t runs = s.runs + s.ahead;
	char how[FL_RUN_TEXT + 64];

	end_name(&r->first, how, sizeof(how));
	printf("%s: %zu of %zu bytes %s, after %lu runs (%s, %.2f s, %.0f runs a second)\n",
	       text_line(r->plan.name), r->result.size, r->plan.data.size,
	       s.was_interrupted ? "are left so far" : "are left", s.runs,
	       methods[r->args->method], r->seconds, runs / (r->seconds + 1e-9));
	printf("it fails the same way: %s (verified %u of %d times)\n",
	       r->args->oracle ? "the oracle says so" : how, r->n_verified, VERIFIED);
	printf("%s/%s\n", text_line(r->out), text_line(result_name(r)));
	if (r->is_recorded)
		printf("%s/capture\n", text_line(r->out));
}

static struct err *print_json(const struct reducing *r)
{
	struct fl_reduce_stats s = fl_reduce_stats(r->search);
	cJSON *o = cJSON_CreateObject();
	char how[FL_RUN_TEXT + 64], *text;

	end_name(&r->first, how, sizeof(how));
	cJSON_AddStringToObject(o, "input", r->plan.name);
	cJSON_AddStringToObject(o, "method", methods[r->args->method]);
	cJSON_AddNumberToObject(o, "bytes_before", r->plan.data.size);
	cJSON_AddNumberToObject(o, "bytes", r->result.size);
	if (r->plan.has_tree)
		cJSON_AddNumberToObject(o, "bytes_after_roles", r->step1);
	cJSON_AddNumberToObject(o, "units_before", r->units.size);
	cJSON_AddNumberToObject(o, "units", s.n_units);
	cJSON_AddNumberToObject(o, "runs", s.runs);
	cJSON_AddNumberToObject(o, "runs_ahead", s.ahead);
	cJSON_AddNumberToObject(o, "runs_known", s.known);
	cJSON_AddNumberToObject(o, "seconds", r->seconds);
	cJSON_AddStringToObject(o, "failure", r->args->oracle ? "oracle" : how);
	cJSON_AddNumberToObject(o, "verified", r->n_verified);
	cJSON_AddBoolToObject(o, "stopped", s.was_interrupted);
	cJSON_AddStringToObject(o, "directory", r->out);
	cJSON_AddStringToObject(o, "file", result_name(r));
	cJSON_AddBoolToObject(o, "recorded", r->is_recorded);
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	if (!text)
		return &err_nomem;
	puts(text);
	free(text);
	return NULL;
}

static void tell_notes(const struct reducing *r)
{
	_cleanup_free_ char *notes = strdup(r->plan.notes);
	const char *own = fl_runner_notes(r->runner);

	for (char *rest = NULL, *line = strtok_r(notes ?: "", "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		log_note("%s", text_line(line));
	if (*own)
		log_note("%s", own);
}

static struct err *run(struct reducing *r)
{
	struct sigaction sa = { .sa_handler = stop };
	struct err *err, *odd;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	err = set_up(r);
	if (!err)
		err = make_dir(r);
	if (!err)
		err = make_work_dir(r);
	if (!err)
		err = begin(r);
	if (err)
		return err;
	tell_notes(r);
	err = search(r);
	if (!err)
		err = verify(r);
	if (!err)
		err = store(r);
	if (err)
		return err;
	if (!stopped)
		remove_work_dir(r);
	odd = record(r);
	if (odd)
		log_note("%s", odd->message);
	err_destroy(odd);
	if (r->n_verified < VERIFIED)
		log_note("the result does not fail each time: %u of %d", r->n_verified,
			 VERIFIED);
	if (r->args->with_json)
		return print_json(r);
	print_text(r);
	return NULL;
}

static void reducing_deinit(struct reducing *r)
{
	fl_reduce_destroy(r->search);
	fl_runner_destroy(r->runner);
	fl_plan_deinit(&r->plan);
	vec_deinit(&r->units);
	free(r->out);
	free(r->oracle);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
}

int cmd_reduce(int argc, char **argv)
{
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "CAPTURE", .doc = doc
	};
	struct arguments args = { .frames = 2, .method = IDTHDD_STAR, .at = "crash" };
	struct reducing r = { .args = &args, .dir_fd = -1 };
	_cleanup_err_ struct err *err = NULL;
	int status;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return EXIT_COULD_NOT;
	args.argc = argc;
	args.argv = argv;
	if (args.try) { // roles are not asked for
		args.method = DDMIN;
		args.place = (struct work_place){};
	}
	planned = &args;
	plan_fd = memfd_create("plan", MFD_CLOEXEC);
	if (plan_fd < 0)
		return EXIT_COULD_NOT;
	status = confine_command(make_plan, argc, argv, &(struct confine_outputs){});
	if (status)
		return status;
	err = fl_plan_read(plan_fd, &r.plan);
	if (!err && args.try)
		err = try(&r, &status);
	else if (!err)
		err = run(&r);
	if (err)
		fprintf(stderr, "faultline: cannot reduce '%s': %s\n",
			text_line(args.capture), err->message);
	// What is not empty stays.
	if (err && r.is_new)
		rmdir(r.out);
	status = err ? EXIT_COULD_NOT : stopped ? EXIT_STOPPED : status;
	reducing_deinit(&r);
	return status;
}
