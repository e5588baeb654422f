// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND look/replay: run a capture again, exactly, and check it

#include <argp.h>
#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "cmd/replay_notes.h"
#include "decode/explain/explain.h"
#include "decode/pt/witness.h"
#include "decode/symbols/symbols.h"
#include "decode/machine/machine.h"

enum { OPT_STDOUT = 256, OPT_JSON, OPT_LOG, OPT_EXPLAIN, OPT_NO_PT };

struct replay_options {
	const char *capture;
	const char *process; ///< which one of a capture's; NULL = all
	const char *label;   ///< names the process when there are several
	bool to_stdout, as_json, explains, ignores_pt;
	enum dec_log_mode mode;
	struct replay_notes *notes; ///< those of all processes
};

static const struct {
	const char *name;
	enum dec_log_mode mode;
} modes[] = {
	{ "none", DEC_LOG_NONE },     { "flow", DEC_LOG_FLOW },
	{ "stores", DEC_LOG_STORES }, { "addresses", DEC_LOG_ADDRESSES },
	{ "values", DEC_LOG_VALUES },
};

static const struct argp_option options[] = {
	{ "stdout", OPT_STDOUT, NULL, 0,
	  "Write what the program (or the --process) wrote to its stdout; replay no other",
	  0 },
	{ "json", OPT_JSON, NULL, 0,
	  "Print the result as one JSON object, a line for each process", 0 },
	{ "process", 'p', "PROCESS", 0,
	  "Of a capture made by `record -f', replay only this one: a number as in "
	  "`faultline dump --processes' (0 is the program itself), or a process id",
	  0 },
	{ "explain", OPT_EXPLAIN, NULL, 0,
	  "When the replay diverges, find out why: the last system call that agreed, "
	  "the first value that differs, where that value comes from, and the likely "
	  "cause",
	  0 },
	{ "no-pt", OPT_NO_PT, NULL, 0,
	  "Do not compare the replay with the Intel PT that the capture has", 0 },
	{ "log", OPT_LOG, "MODE", 0,
	  "Record while replaying, to measure it: none (default), flow, stores, "
	  "addresses or values; then it is not compared with Intel PT",
	  0 },
	{ 0 },
};

static error_t parse_mode(const char *arg, struct argp_state *state,
			  enum dec_log_mode *mode)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (!strcmp(arg, modes[i].name)) {
			*mode = modes[i].mode;
			return 0;
		}
	}
	argp_error(state, "unknown log mode '%s'", arg);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct replay_options *o = state->input;

	switch (key) {
	case OPT_STDOUT:
		o->to_stdout = true;
		return 0;
	case OPT_JSON:
		o->as_json = true;
		text_guard_json();
		return 0;
	case 'p':
		o->process = arg;
		return 0;
	case OPT_NO_PT:
		o->ignores_pt = true;
		return 0;
	case OPT_EXPLAIN:
		o->explains = true;
		return 0;
	case OPT_LOG:
		return parse_mode(arg, state, &o->mode);
	default:
		return option_only(state, key, arg, "capture", &o->capture);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "CAPTURE",
	.doc = "Replay CAPTURE instruction by instruction on the software machine and compare "
	       "every system call's registers with the recording. Of a capture made by `record -f' "
	       "every process is replayed. Where the capture has Intel PT, each branch is compared with "
	       "it.\v"
	       "Exit status: 0 all matched, 1 diverged, 2 could not replay; of several processes "
	       "the worst.\n\n"
	       "Examples:\n"
	       "  faultline replay crash.flt\n"
	       "  faultline replay --stdout crash.flt | diff - expected.txt\n"
	       "  faultline replay --json crash.flt | jq .instructions\n"
	       "  faultline replay --process 3 make.flt\n"
	       "  faultline replay --explain broken.flt\n"
	       "  faultline replay --explain --json broken.flt | jq .explanation.cause\n",
};

/* A replay under way. */
struct replay {
	const struct replay_options *o;
	struct capture *capture;
	struct dec_machine *machine;
	cmd_maps maps;
	double start;
	bool has_shown;		///< some progress
	struct dec_where where; ///< at its end
	double seconds;
	FILE *talk; ///< for people: stdout, unless that is the program's
	// NULL: the capture has no PT, or it is not asked.
	struct dec_pt_witness *witness;
	struct err *parted; ///< from what PT says
};

static void show_progress(void *ctx, const struct dec_where *w)
{
	struct replay *r = ctx;

	if (clock_now_s() - r->start < 2 || !isatty(2))
		return;
	fprintf(stderr, TEXT_AGAIN "faultline: replayed %lu million instructions",
		w->position / 1000000);
	r->has_shown = true;
}

static struct err *note_map(void *ctx, const struct dec_where *w)
{
	struct replay *r = ctx;

	return cmd_command_note_map(&r->maps, w);
}

static void replay_deinit(struct replay *r)
{
	dec_machine_destroy(r->machine);
	dec_pt_witness_close(r->witness);
	err_destroy(r->parted);
	capture_close(r->capture);
	vec_deinit(&r->maps);
}

static void show_place(const struct replay *r, struct dec_symbols *s)
{
	struct dec_place place;

	dec_symbols_place(s, r->where.rip, &place);
	if (place.line)
		fprintf(r->talk, "at %s:%d in %s\n", place.file, place.line,
			place.function);
	else if (place.outer)
		fprintf(r->talk, "at %s+%#lx in %s (no line information)\n", place.outer,
			place.offset, place.module);
}

static void print_json(const struct replay *r, const struct dec_explanation *x)
{
	const char *divergence = r->parted ? r->parted->message :
					     dec_machine_divergence(r->machine);
	const struct dec_where *w = &r->where;
	cJSON *o = cJSON_CreateObject(), *isa;
	const char *name;

	if (r->o->label) {
		const struct cap_info *info = capture_info(r->capture);

		cJSON_AddNumberToObject(o, "process", info->index);
		cJSON_AddNumberToObject(o, "pid", info->pid);
		cJSON_AddStringToObject(o, "exe", info->exe ?: "");
	}
	cJSON_AddNumberToObject(o, "instructions", w->instructions);
	if (capture_info(r->capture)->slice_of)
		cJSON_AddNumberToObject(o, "recorded", w->recorded);
	cJSON_AddNumberToObject(o, "syscalls", w->syscalls);
	cJSON_AddBoolToObject(o, "matched", w->at == DEC_AT_END && !w->is_cut);
	cJSON_AddNumberToObject(o, "seconds", r->seconds);
	isa = cJSON_AddArrayToObject(o, "isa");
	for (unsigned i = 0; (name = dec_machine_isa(r->machine, i)); i++)
		cJSON_AddItemToArray(isa, cJSON_CreateString(name));
	if (divergence)
		cJSON_AddStringToObject(o, "divergence", divergence);
	if (x)
		dec_explanation_json(x, o);
	if (r->witness)
		dec_pt_witness_json(r->witness, o);
	cmd_command_print_json(o);
}

/* Which process a line for people is about, when there are several. */
static void print_label(const struct replay_options *o, FILE *to)
{
	if (o->label)
		fprintf(to, "%s: ", o->label);
}

static void report_end(const struct replay *r)
{
	const struct dec_where *w = &r->where;

	if (w->is_cut) {
		fprintf(stderr,
			"faultline: cannot replay all of '%s': %s; %lu instructions "
			"and %lu system calls matched up to there\n",
			text_line(r->o->capture),
			text_line(dec_machine_divergence(r->machine)), w->instructions,
			w->syscalls);
		return;
	}
	print_label(r->o, r->talk);
	if (capture_info(r->capture)->slice_of)
		fprintf(r->talk, "slice of %s: of %lu steps that were recorded, ",
			text_line(capture_info(r->capture)->slice_of), w->recorded);
	fprintf(r->talk, "%lu instructions, %lu system calls, all matched\n",
		w->instructions, w->syscalls);
	if (r->witness)
		dec_pt_witness_print(r->witness, r->talk);
	if (w->end == CAP_END_SIGNAL)
		fprintf(r->talk, "the program was killed by %s\n",
			text_signal(w->end_value));
}

/* The machine cannot go on: nothing is known to be wrong with the capture. */
static bool is_refused(const struct replay *r)
{
	return r->where.at == DEC_AT_DIVERGENCE && !r->parted &&
	       dec_machine_parted(r->machine)->parting == DEC_PARTED_MACHINE;
}

/* A divergence: in one line, and explained when that is asked for. */
static void report_divergence(const struct replay *r)
{
	_cleanup_(dec_explanation_destroyp) struct dec_explanation *x = NULL;
	struct dec_symbols *s = NULL;
	struct err *err = NULL;

	if (is_refused(r)) {
		fprintf(stderr, "faultline: cannot replay '%s': %s\n",
			text_line(r->o->capture),
			text_line(dec_machine_divergence(r->machine)));
	} else if (!r->o->as_json) {
		print_label(r->o, r->talk);
		fprintf(r->talk, "diverged: thread %u: %s\n",
			dec_machine_parted(r->machine)->tid,
			text_line(dec_machine_divergence(r->machine)));
		fflush(r->talk);
	}
	if (!r->o->as_json || r->o->explains)
		err = cmd_command_symbols(r->capture, &r->maps, NULL, &s);
	if (!err && !r->o->as_json)
		show_place(r, s);
	if (!err && r->o->explains)
		err = dec_explain(r->capture, r->machine, s, &x);
	if (!err && r->o->as_json)
		print_json(r, x);
	else if (!err && x)
		dec_explanation_print(x, r->talk);
	dec_explanation_destroy(take_ptr(&x)); // before the symbols it borrows from
	dec_symbols_destroy(s);
	// It diverged, explained or not.
	if (err && r->o->explains)
		fprintf(stderr, "faultline: cannot explain the divergence: %s\n",
			err->message);
	err_destroy(err);
}

/* The replay took another way than PT says. */
static void report_parted(const struct replay *r)
{
	_cleanup_err_ struct err *err = NULL;
	struct dec_symbols *s = NULL;

	if (r->o->as_json) {
		print_json(r, NULL);
		return;
	}
	print_label(r->o, r->talk);
	fprintf(r->talk, "diverged: %s\n", text_line(r->parted->message));
	err = cmd_command_symbols(r->capture, &r->maps, NULL, &s);
	if (!err)
		show_place(r, s);
	dec_symbols_destroy(s);
	dec_pt_witness_print(r->witness, r->talk);
}

/* @return the exit status. */
static int report(const struct replay *r)
{
	int status = r->where.is_cut ? 2 : 0;

	err_destroy(cmd_replay_notes_add(r->o->notes, dec_machine_notes(r->machine),
					 capture_info(r->capture)->index));
	if (r->where.at == DEC_AT_DIVERGENCE && capture_info(r->capture)->has_masked)
		log_note(
			"values were masked when this was recorded: where the program "
			"looks into one, not only copies it, the replay takes another way");
	if (r->parted) {
		status = 1;
		report_parted(r);
	} else if (r->where.at == DEC_AT_DIVERGENCE) {
		status = is_refused(r) ? 2 : 1;
		report_divergence(r);
	} else if (r->o->as_json) {
		print_json(r, NULL);
	} else {
		report_end(r);
	}
	if (r->where.log_bytes && r->o->mode != DEC_LOG_NONE)
		fprintf(stderr, "faultline: %.2f log bytes an instruction\n",
			(double)r->where.log_bytes / r->where.position);
	return status;
}

/* Have the machine's log consumed by whoever wants it. */
static struct err *replay_log(struct replay *r)
{
	struct dec_pt_check *check;
	struct err *err;

	if (r->o->mode != DEC_LOG_NONE)
		return dec_machine_log(r->machine, r->o->mode, NULL, NULL);
	if (!r->witness)
		return NULL;
	err = dec_pt_witness_check(r->witness, &check);
	return err ? err :
		     dec_machine_log(r->machine, DEC_LOG_FLOW, dec_pt_check_feed, check);
}

/* PT and the replay went different ways. */
static void replay_part(struct replay *r, const struct dec_pt_difference *d,
			struct err *err)
{
	r->parted = err;
	r->where.at = DEC_AT_DIVERGENCE;
	r->where.position = d->position;
	r->where.tid = d->tid;
	r->where.rip = d->from;
}

static struct err *replay_run(struct replay *r)
{
	struct err *err = replay_log(r);
	const struct dec_pt_difference *d;

	if (!err)
		err = dec_machine_run(r->machine, UINT64_MAX >> 1, &r->where);
	if (!err && r->witness && r->o->mode == DEC_LOG_NONE)
		err = dec_machine_log(r->machine, DEC_LOG_NONE, NULL, NULL);
	d = r->witness ? dec_pt_witness_difference(r->witness) : NULL;
	if (!err || !d)
		return err;
	replay_part(r, d, err);
	return NULL;
}

static struct err *replay_start(struct replay *r)
{
	struct dec_machine_options mo = { .output_fd = r->o->to_stdout ? 1 : -1,
					  .takes_slices = true,
					  .mapped = note_map,
					  .progress = show_progress,
					  .ctx = r };

	if (r->witness)
		mo.interrupts = dec_pt_witness_interrupts(r->witness);
	return dec_machine_create(r->capture, &mo, &r->machine);
}

/* Where PT says that a thread was interrupted and the replay does not come by, PT may have
 * begun to count elsewhere: try without. */
static struct err *replay_again(struct replay *r)
{
	struct err *err;

	if (!r->witness || !dec_pt_witness_interrupts(r->witness) || r->o->to_stdout ||
	    (!r->parted && r->where.at != DEC_AT_DIVERGENCE))
		return NULL;
	dec_pt_witness_withdraw(r->witness);
	dec_machine_destroy(take_ptr(&r->machine));
	err_destroy(take_ptr(&r->parted));
	r->maps.size = 0;
	err = replay_start(r);
	return err ? err : replay_run(r);
}

/* PT that cannot be read is no reason not to replay. */
static void replay_witness(struct replay *r)
{
	_cleanup_err_ struct err *err = NULL;

	if (r->o->ignores_pt || r->o->mode != DEC_LOG_NONE)
		return;
	err = dec_pt_witness_open(r->o->capture, &r->witness);
	if (err)
		log_note("not compared with Intel PT: %s", err->message);
}

static struct err *replay(struct replay *r)
{
	struct err *err = capture_open(r->o->capture, &r->capture);

	if (!err) {
		replay_witness(r);
		err = replay_start(r);
	}
	if (!err)
		err = replay_run(r);
	if (!err)
		err = replay_again(r);
	r->seconds = clock_now_s() - r->start;
	if (!err && r->has_shown)
		fprintf(stderr, "\n");
	return err;
}

/* @return the exit status. */
static int replay_one(const struct replay_options *o)
{
	struct replay r = { .o = o };
	_cleanup_err_ struct err *err = NULL;
	int status = 2;

	r.talk = o->to_stdout ? stderr : stdout;
	r.start = clock_now_s();
	err = replay(&r);
	if (!err)
		status = report(&r);
	replay_deinit(&r);
	if (err)
		fprintf(stderr, "faultline: cannot replay '%s': %s\n",
			text_line(o->capture), err->message);
	return status;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ?: "?";
}

/* Replay the bundle in @p dir as process @p index. @return the exit status. */
static int replay_listed(const struct replay_options *o, const char *dir, uint32_t index,
			 uint32_t pid, const char *name, bool is_before)
{
	_cleanup_free_ char *label = NULL;
	struct replay_options one = *o;

	if (asprintf(&label, "process %u (%s, pid %u%s)", index,
		     text_line(base_name(name)), pid,
		     is_before ? ", before its exec" : "") < 0)
		label = NULL;
	one.capture = dir;
	one.label = label;
	return replay_one(&one);
}

/* All processes of @p c, which was followed. @return the worst exit status. */
static int replay_all(const struct replay_options *o, const struct capture *c)
{
	const struct cap_info *info = capture_info(c);
	int worst = replay_listed(o, o->capture, 0, info->pid, info->argv[0], false);

	for (size_t i = 0; i < info->n_processes; i++) {
		const struct cap_process *p = &info->processes[i];
		_cleanup_free_ char *dir = NULL;
		_cleanup_err_ struct err *err = NULL;
		int status = 2;

		if (!p->dir && !o->as_json)
			printf("process %u (pid %u): %s\n", p->index, p->pid,
			       cap_process_nothing(p));
		if (!p->dir)
			continue;
		err = capture_child_dir(c, p, &dir);
		if (err)
			fprintf(stderr, "faultline: %s\n", err->message);
		else
			status = replay_listed(o, dir, p->index, p->pid,
					       p->argv[0] ?: p->exe,
					       p->created == CAP_CREATED_BEFORE);
		worst = status > worst ? status : worst;
	}
	return worst;
}

/* @return the exit status. */
static int replay_process(const struct replay_options *o)
{
	_cleanup_free_ char *dir = NULL;
	_cleanup_err_ struct err *err = capture_process_dir(o->capture, o->process, &dir);
	struct replay_options one = *o;

	if (err) {
		fprintf(stderr, "faultline: %s\n", err->message);
		return 2;
	}
	one.capture = dir;
	return replay_one(&one);
}

int cmd_replay(int argc, char **argv)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct replay_notes notes = {};
	struct replay_options o = { .mode = DEC_LOG_NONE, .notes = &notes };
	_cleanup_err_ struct err *err = NULL;
	size_t n_processes = 1;
	int status;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!o.process && !o.to_stdout)
		err = capture_open(o.capture, &c);
	if (c)
		n_processes += capture_info(c)->n_processes;
	// What is wrong with it, replaying it tells.
	if (o.process)
		status = replay_process(&o);
	else
		status = n_processes > 1 ? replay_all(&o, c) : replay_one(&o);
	cmd_replay_notes_tell(&notes, n_processes);
	return status;
}
