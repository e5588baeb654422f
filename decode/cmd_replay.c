// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND replay: run a capture again, exactly, and check it

#include <argp.h>
#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/base.h"
#include "decode/dec_symbols.h"
#include "decode/decode.h"

enum { OPT_STDOUT = 256, OPT_JSON, OPT_LOG };

struct replay_options {
	const char *capture;
	bool to_stdout, as_json;
	enum dec_log_mode mode;
};

static const char *const mode_names[] = { "none", "flow", "stores", "addresses",
					  "values" };

static const struct argp_option options[] = {
	{ "stdout", OPT_STDOUT, NULL, 0, "Write what the program wrote to its stdout",
	  0 },
	{ "json", OPT_JSON, NULL, 0, "Print the result as one JSON object", 0 },
	{ "log", OPT_LOG, "MODE", 0,
	  "Record while replaying, to measure it: none (default), flow, stores, "
	  "addresses or values",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct replay_options *o = state->input;

	switch (key) {
	case OPT_STDOUT:
		o->to_stdout = true;
		return 0;
	case OPT_JSON:
		o->as_json = true;
		return 0;
	case OPT_LOG:
		for (size_t i = 0; i < sizeof(mode_names) / sizeof(*mode_names); i++) {
			if (!strcmp(arg, mode_names[i])) {
				o->mode = i;
				return 0;
			}
		}
		argp_error(state, "unknown log mode '%s'", arg);
		return EINVAL;
	case ARGP_KEY_ARG:
		if (o->capture)
			argp_error(state, "one capture at a time");
		o->capture = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->capture)
			argp_error(state, "which capture?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"CAPTURE",
	"Replay CAPTURE instruction by instruction on the software machine and compare "
	"every system call's registers with the recording.\v"
	"Exit status: 0 all matched, 1 diverged, 2 could not replay.\n\n"
	"Examples:\n"
	"  faultline replay crash.flt\n"
	"  faultline replay --stdout crash.flt | diff - expected.txt\n"
	"  faultline replay --json crash.flt | jq .instructions\n",
	NULL,
	NULL,
	NULL,
};

struct progress {
	double start;
	bool has_shown;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void show_progress(void *ctx, const struct dec_where *w)
{
	struct progress *p = ctx;

	if (now_s() - p->start < 2 || !isatty(2))
		return;
	fprintf(stderr, "\rfaultline: replayed %lu million instructions",
		w->position / 1000000);
	p->has_shown = true;
}

static struct err *discard(void *ctx, const uint8_t *log, size_t bytes)
{
	(void)log;
	*(uint64_t *)ctx += bytes;
	return NULL;
}

/* An executable mapping of a kept file. */
struct module {
	uint32_t file;
	uint64_t addr, size, file_offset;
};

typedef VEC(struct module) modules;

static struct err *add_module(modules *v, uint32_t file, uint64_t addr, uint64_t size,
			      uint64_t file_offset)
{
	struct module *m = vec_push(v);

	if (!m)
		return &err_nomem;
	*m = (struct module){ file, addr, size, file_offset };
	return NULL;
}

static struct err *start_modules(const struct capture *c, modules *v)
{
	struct cap_core *core = NULL;
	struct err *err = cap_core_open(c, &core);

	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (m->file && (m->prot & PROT_EXEC))
			err = add_module(v, m->file, m->start, m->end - m->start,
					 m->file_offset);
	}
	cap_core_close(core);
	return err;
}

static void show_place(const struct capture *c, const modules *v, uint64_t rip)
{
	_cleanup_err_ struct err *err = NULL;
	struct dec_symbols *s = NULL;
	struct dec_place place;

	err = dec_symbols_create(c, &s);
	for (size_t i = 0; !err && i < v->size; i++)
		err = dec_symbols_add(s, v->data[i].file, v->data[i].addr,
				      v->data[i].size, v->data[i].file_offset);
	if (!err) {
		dec_symbols_place(s, rip, &place);
		if (place.line)
			printf("at %s:%d in %s\n", place.file, place.line,
			       place.function);
		else if (place.outer)
			printf("at %s+%#lx in %s (no line information)\n", place.outer,
			       place.offset, place.module);
	}
	dec_symbols_destroy(s);
}

static void print_json(const struct dec_where *w, const char *divergence, double seconds)
{
	cJSON *o = cJSON_CreateObject();
	char *text;

	cJSON_AddNumberToObject(o, "instructions", w->position);
	cJSON_AddNumberToObject(o, "syscalls", w->syscalls);
	cJSON_AddBoolToObject(o, "matched", w->at == DEC_AT_END && !w->is_cut);
	cJSON_AddNumberToObject(o, "seconds", seconds);
	if (divergence)
		cJSON_AddStringToObject(o, "divergence", divergence);
	text = cJSON_PrintUnformatted(o);
	puts(text);
	free(text);
	cJSON_Delete(o);
}

/* Each line of the machine's notes as a line of ours. */
static void print_notes(const char *notes)
{
	for (; notes && *notes; notes += strcspn(notes, "\n") + 1)
		fprintf(stderr, "faultline: note: %.*s\n", (int)strcspn(notes, "\n"),
			notes);
}

static struct err *replay(const struct replay_options *o, int *status)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_(dec_machine_destroyp) struct dec_machine *m = NULL;
	struct progress p = { now_s(), false };
	modules modules = {};
	struct dec_machine_options mo = { .stops_at_maps = true,
					  .output_fd = o->to_stdout ? 1 : -1,
					  .progress = show_progress,
					  .progress_ctx = &p };
	struct dec_where w;
	uint64_t log_bytes = 0;
	struct err *err;
	double seconds;
	FILE *talk = o->to_stdout ? stderr : stdout;

	err = capture_open(o->capture, &c);
	if (!err)
		err = dec_machine_create(c, &mo, &m);
	if (!err && o->mode != DEC_LOG_NONE)
		err = dec_machine_log(m, o->mode, discard, &log_bytes);
	if (!err)
		err = start_modules(c, &modules);
	while (!err) {
		err = dec_machine_run(m, UINT64_MAX >> 1, &w);
		if (err || w.at != DEC_AT_MAP)
			break;
		err = add_module(&modules, w.map.file, w.map.addr, w.map.size,
				 w.map.file_offset);
	}
	if (err) {
		vec_deinit(&modules);
		return err;
	}
	seconds = now_s() - p.start;
	if (p.has_shown)
		fprintf(stderr, "\n");
	*status = w.at == DEC_AT_DIVERGENCE ? 1 : w.is_cut ? 2 : 0;
	print_notes(dec_machine_notes(m));
	if (o->as_json) {
		print_json(&w, dec_machine_divergence(m), seconds);
	} else if (w.at == DEC_AT_DIVERGENCE) {
		fprintf(talk, "diverged: thread %u: %s\n", w.tid,
			dec_machine_divergence(m));
		show_place(c, &modules, w.rip);
	} else if (w.is_cut) {
		fprintf(stderr,
			"faultline: cannot replay all of '%s': %s; %lu instructions "
			"and %lu syscalls matched up to there\n",
			o->capture, dec_machine_divergence(m), w.position, w.syscalls);
	} else {
		fprintf(talk, "%lu instructions, %lu syscalls, all matched\n", w.position,
			w.syscalls);
		if (w.end == CAP_END_SIGNAL)
			fprintf(talk, "the program was killed by signal %d (%s)\n",
				w.end_value, strsignal(w.end_value));
	}
	vec_deinit(&modules);
	if (log_bytes)
		fprintf(stderr, "faultline: %.2f log bytes an instruction\n",
			(double)log_bytes / w.position);
	return NULL;
}

int cmd_replay(int argc, char **argv)
{
	struct replay_options o = { .mode = DEC_LOG_NONE };
	_cleanup_err_ struct err *err = NULL;
	int status = 2;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	err = replay(&o, &status);
	if (err)
		fprintf(stderr, "faultline: cannot replay '%s': %s\n", o.capture,
			err->message);
	return status;
}
