// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND look/decode: show what Intel PT says ran

#include <argp.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/base.h"
#include "base/option.h"
#include "cmd/command.h"
#include "decode/pt/packets.h"
#include "decode/pt/show.h"

enum {
	OPT_INSTRUCTIONS = 256,
	OPT_BRANCHES,
	OPT_CALLS,
	OPT_PACKETS,
	OPT_JSON,
	OPT_TIME,
	OPT_THREAD,
	OPT_FUNCTION,
	OPT_THREADS,
	OPT_PID,
	OPT_COMM,
	OPT_SYMFS,
	OPT_RAW,
	OPT_IMAGE,
};

struct decode_options {
	const char *path, *process, *time, *symfs, *raw;
	VEC(const char *) images;
	struct dec_pt_cpus cpus;
	struct dec_pt_show_options show;
};

static const struct argp_option options[] = {
	{ "instructions", OPT_INSTRUCTIONS, NULL, 0, "Print each instruction", 1 },
	{ "branches", OPT_BRANCHES, NULL, 0, "Print each branch that was taken", 1 },
	{ "calls", OPT_CALLS, NULL, 0,
	  "Print each call, indented by its depth (with --json: returns, too)", 1 },
	{ "packets", OPT_PACKETS, NULL, 0, "Print each packet with its offset, undecoded",
	  1 },
	{ "time", OPT_TIME, "FROM,TO", 0,
	  "Only what ran then: seconds as they are printed, +SECONDS from the "
	  "beginning, or nothing",
	  2 },
	{ "thread", OPT_THREAD, "TID", 0, "Only this thread", 2 },
	{ "pid", OPT_PID, "PID", 0, "Only the threads of this process", 2 },
	{ "comm", OPT_COMM, "NAME", 0,
	  "Only threads of this name (the last one that they had)", 2 },
	{ "cpu", 'C', "LIST", 0,
	  "Of a file whose streams are of processors, only these: 0,2-3", 2 },
	{ "function", OPT_FUNCTION, "NAME", 0,
	  "Only instructions of this function, branches into, out of and in it, calls of "
	  "it and from it",
	  2 },
	{ "process", 'p', "PROCESS", 0,
	  "Of a capture made by `record -f', this one: a number as in "
	  "`faultline dump --processes', or a process id",
	  2 },
	{ "symfs", OPT_SYMFS, "DIR", 0,
	  "Look for the code of the files that were mapped below DIR first", 3 },
	{ "raw", OPT_RAW, "FILE", 0,
	  "Decode FILE, packets alone as other tools store them, instead; their code is "
	  "told by --image",
	  3 },
	{ "image", OPT_IMAGE, "FILE@ADDR", 0,
	  "With --raw: this ELF file's beginning lay at ADDR; of another file, or of a "
	  "part, FILE:FROM-TO@ADDR, the bytes. May be given several times",
	  3 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON: one object, or one a line", 4 },
	{ "threads", OPT_THREADS, "N", 0,
	  "Decode with so many threads (as many as there are processors)", 4 },
	{ 0 },
};

static error_t parse_form(struct decode_options *o, enum dec_pt_form form,
			  struct argp_state *state)
{
	if (o->show.form != DEC_PT_FORM_SUMMARY)
		argp_error(state, "one of --instructions, --branches, --calls, --packets "
				  "at a time");
	o->show.form = form;
	return 0;
}

static error_t spec_parse_end(struct decode_options *o, struct argp_state *state)
{
	if (o->show.function &&
	    (o->show.form == DEC_PT_FORM_SUMMARY || o->show.form == DEC_PT_FORM_PACKETS))
		argp_error(state, "--function goes with --instructions, --branches, "
				  "--calls");
	if (o->raw && (o->path || o->process || o->time || o->symfs))
		argp_error(state, "--raw goes with --image, not with a capture, "
				  "--process, --time, --symfs");
	if (o->images.size && !o->raw)
		argp_error(state, "--image goes with --raw");
	return 0;
}

/* "0,2-3" */
static void parse_cpus(struct decode_options *o, const char *text,
		       struct argp_state *state)
{
	const char *at = text;

	for (;;) {
		struct dec_pt_cpu_range r;
		char *end;

		r.first = r.last = strtoul(at, &end, 10);
		if (end != at && *end == '-') {
			at = end + 1;
			r.last = strtoul(at, &end, 10);
		}
		if (end == at || *at < '0' || *at > '9' || r.last < r.first ||
		    (*end && *end != ','))
			argp_error(state,
				   "--cpu: '%s' is no list of processors, as 0,2-3",
				   text);
		if (vec_add(&o->cpus.ranges, r))
			argp_failure(state, 2, 0, "out of memory");
		if (!*end)
			break;
		at = end + 1;
	}
	o->show.cpus = &o->cpus;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct decode_options *o = state->input;

	switch (key) {
	case OPT_INSTRUCTIONS:
		return parse_form(o, DEC_PT_FORM_INSTRUCTIONS, state);
	case OPT_BRANCHES:
		return parse_form(o, DEC_PT_FORM_BRANCHES, state);
	case OPT_CALLS:
		return parse_form(o, DEC_PT_FORM_CALLS, state);
	case OPT_PACKETS:
		return parse_form(o, DEC_PT_FORM_PACKETS, state);
	case OPT_JSON:
		o->show.as_json = true;
		text_guard_json();
		return 0;
	case OPT_TIME:
		o->time = arg;
		return 0;
	case OPT_THREAD:
		o->show.tid = option_tid(state, arg);
		return 0;
	case OPT_SYMFS:
		o->symfs = arg;
		return 0;
	case OPT_RAW:
		o->raw = arg;
		return 0;
	case OPT_IMAGE:
		if (vec_add(&o->images, (const char *)arg))
			argp_failure(state, 2, 0, "out of memory");
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (o->raw)
			return 0;
		return option_only(state, key, arg, "capture or perf.data", &o->path);
	case OPT_PID:
		o->show.pid = option_tid(state, arg);
		return 0;
	case OPT_COMM:
		o->show.comm = arg;
		return 0;
	case 'C':
		parse_cpus(o, arg, state);
		return 0;
	case OPT_FUNCTION:
		o->show.function = arg;
		return 0;
	case 'p':
		o->process = arg;
		return 0;
	case OPT_THREADS:
		o->show.n_threads =
			option_number(state, "--threads", arg, 1, DEC_PT_THREADS_MAX);
		return 0;
	case ARGP_KEY_END:
		return spec_parse_end(o, state);
	default:
		return option_only(state, key, arg, "capture or perf.data", &o->path);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "CAPTURE|PERF.DATA\n--raw FILE --image FILE@ADDR...",
	.doc = "Decode the Intel PT packets of CAPTURE (`record -e pt', `encode'), or of a file "
	       "written by `perf record -e intel_pt//u', and print a summary: threads, "
	       "instructions, gaps and their causes. Or print what ran, thread by thread; then the "
	       "gaps are in their places, and the summary goes to stderr."
	       "\vExit status: 0 decoded, gaps included; 1 there are packets, but not one "
	       "instruction could be decoded; 2 could not decode.\n\n"
	       "Examples:\n"
	       "  faultline decode crash.flt\n"
	       "  faultline decode --calls --function main crash.flt\n"
	       "  faultline decode --instructions --time +0.5,+0.6 --thread 1234 perf.data\n"
	       "  faultline decode --branches --json perf.data | jq -r .to.symbol | sort | uniq -c\n"
	       "  faultline decode --packets perf.data | head\n"
	       "  faultline decode --calls --raw trace.pt --image a.out@0x555555554000\n",
};

/* ---- --time ---------------------------------------------------------------------------------- */

/* One end, in the records' nanoseconds. */
static struct err *time_parse(const char *text, size_t n, uint64_t begin_ns,
			      uint64_t *ret)
{
	bool is_relative = *text == '+';
	char copy[64], *end;
	long double s;

	if (n >= sizeof(copy))
		return err_new(ERR_USAGE, "'%s' is no time in seconds", text);
	memcpy(copy, text + is_relative, n - is_relative);
	copy[n - is_relative] = 0;
	s = strtold(copy, &end);
	if (*end || end == copy || !(s >= 0 && s < 1e10))
		return err_new(ERR_USAGE, "'%.*s' is no time in seconds", (int)n, text);
	*ret = (uint64_t)(s * 1e9L + 0.5L) + (is_relative ? begin_ns : 0);
	return NULL;
}

/* When the first PSB with a time is. */
static struct err *time_begin(const struct dec_pt_flow *f, uint64_t *ret)
{
	const struct dec_pt_source *sources;
	dec_pt_buffer buffer = {};
	struct err *err = NULL;
	size_t n;

	*ret = UINT64_MAX;
	sources = dec_pt_flow_sources(f, &n);
	for (size_t i = 0; !err && i < n; i++) {
		const struct dec_pt_stream *s = &sources[i].stream;
		struct dec_pt_psb psb = { .at = dec_pt_stream_find_psb(s, 0) };

		if (psb.at < s->size)
			err = dec_pt_stream_psb(s, psb.at, &buffer, &psb);
		if (psb.has_tsc && dec_pt_flow_ns(f, psb.tsc) < *ret)
			*ret = dec_pt_flow_ns(f, psb.tsc);
	}
	vec_deinit(&buffer);
	return err;
}

static struct err *time_filter(const struct dec_pt_flow *f, const char *text,
			       struct dec_pt_show_options *o)
{
	const struct perf_clock *clock = &dec_pt_flow_info(f)->pt.clock;
	const char *comma = strchr(text, ',');
	uint64_t begin, from = 0, to = 0;
	struct err *err = time_begin(f, &begin);

	if (err)
		return err;
	if (!comma)
		return err_new(ERR_USAGE, "--time is FROM,TO (either may be left out)");
	if (begin == UINT64_MAX || !clock->is_known)
		return err_new(ERR_UNSUPPORTED,
			       "--time: the packets have no times (record "
			       "with intel_pt/tsc/)");
	if (comma > text)
		err = time_parse(text, comma - text, begin, &from);
	if (!err && comma[1])
		err = time_parse(comma + 1, strlen(comma + 1), begin, &to);
	if (err)
		return err;
	if (comma[1] && to < from)
		return err_new(ERR_USAGE, "--time: it ends before it begins");
	o->from_tsc = comma > text ? perf_clock_tsc(clock, from) : 0;
	o->to_tsc = comma[1] ? perf_clock_tsc(clock, to) ?: 1 : UINT64_MAX;
	return NULL;
}

/* ---- the summary ------------------------------------------------------------------------------ */

static const char *thread_name(const struct dec_pt_flow *f, uint32_t tid)
{
	const struct dec_pt_thread *t = dec_pt_flow_thread(f, tid);

	return text_line(t && t->name ? t->name : "?");
}

static void print_head(const struct dec_pt_flow *f, FILE *out)
{
	const struct perf_info *info = dec_pt_flow_info(f);
	const struct perf_pt *pt = &info->pt;
	size_t n;

	dec_pt_flow_sources(f, &n);
	fprintf(out, "%.2f MiB of Intel PT in %zu stream%s of %s%s%s%s%s%s\n",
		info->pt_bytes / 1048576.0, n, n == 1 ? "" : "s",
		pt->is_per_cpu ? "processors" : "threads",
		pt->is_user_only ? ", user code only" : "",
		pt->config & pt->tsc_bit ? ", TSC" : "",
		pt->config & pt->mtc_bit ? ", MTC" : "",
		pt->config & pt->cyc_bit ? ", CYC" : "",
		pt->config & pt->noretcomp_bit ? ", no return compression" : "");
	if (info->n_cmdline) {
		fputs("recorded by:", out);
		for (size_t i = 0; i < info->n_cmdline; i++)
			fprintf(out, " %s", text_line(info->cmdline[i]));
		fputc('\n', out);
	}
}

static void print_threads(const struct dec_pt_flow *f, const struct dec_pt_shown *d,
			  FILE *out)
{
	fprintf(out, "%7s  %-16s %16s %6s  %-22s %s\n", "thread", "name", "instructions",
		"gaps", "from (s)", "to (s)");
	for (size_t i = 0; i < d->threads.size; i++) {
		const struct dec_pt_tally *t = &d->threads.data[i];
		uint64_t from = dec_pt_flow_ns(f, t->first_tsc),
			 to = dec_pt_flow_ns(f, t->last_tsc);

		if (!t->instructions && !t->gaps)
			continue;
		fprintf(out, "%7u  %-16s %16lu %6lu  ", t->tid, thread_name(f, t->tid),
			t->instructions, t->gaps);
		if (from)
			fprintf(out, "%-22.9f %.9f\n", from / 1e9, to / 1e9);
		else
			fprintf(out, "%-22s %s\n", "unknown", "unknown");
	}
}

static void print_gaps(const struct dec_pt_shown *d, FILE *out)
{
	for (size_t i = 0; i < d->gaps.size; i++) {
		const struct dec_pt_gap_count *g = &d->gaps.data[i];

		fprintf(out, "%lu gap%s: %s: ", g->n, g->n == 1 ? "" : "s",
			dec_pt_gap_name(g->kind));
		if (g->file)
			fprintf(out, "%s: ", text_line(g->file));
		fprintf(out, "%s (%s byte %#lx)\n", g->why,
			g->n == 1 ? "at" : "the first at", g->first_byte);
	}
}

/* In one line: what became of it, and how fast. */
static void print_total(const struct dec_pt_shown *d, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < d->threads.size; i++)
		n += d->threads.data[i].instructions || d->threads.data[i].gaps;
	fprintf(out, "%lu instructions of %zu thread%s, ", d->instructions, n,
		n == 1 ? "" : "s");
	if (d->n_gaps)
		fprintf(out, "%lu gap%s", d->n_gaps, d->n_gaps == 1 ? "" : "s");
	else
		fputs("no gap", out);
	if (d->skipped_bytes)
		fprintf(out, ", %.2f MiB outside of --time",
			d->skipped_bytes / 1048576.0);
	if (d->kernel_visits)
		fprintf(out,
			"; the kernel was entered %lu times, its code is not decoded",
			d->kernel_visits);
	fprintf(out, "; %.2f s", d->seconds);
	if (d->seconds > 0.001)
		fprintf(out, ", %.0f million instructions/s, %.1f MiB/s",
			d->instructions / d->seconds / 1e6,
			(d->bytes - d->skipped_bytes) / d->seconds / 1048576);
	fputc('\n', out);
}

static void json_time(cJSON *o, const char *key, uint64_t ns)
{
	char text[48];

	snprintf(text, sizeof(text), "%lu.%09lu", ns / 1000000000, ns % 1000000000);
	if (ns)
		cJSON_AddRawToObject(o, key, text);
}

static void json_threads(const struct dec_pt_flow *f, const struct dec_pt_shown *d,
			 cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "threads");

	for (size_t i = 0; i < d->threads.size; i++) {
		const struct dec_pt_tally *t = &d->threads.data[i];
		const struct dec_pt_thread *known = dec_pt_flow_thread(f, t->tid);
		cJSON *o;

		if (!t->instructions && !t->gaps)
			continue;
		o = cJSON_CreateObject();
		cJSON_AddNumberToObject(o, "tid", t->tid);
		if (known)
			cJSON_AddNumberToObject(o, "pid", known->pid);
		cJSON_AddStringToObject(o, "name", thread_name(f, t->tid));
		cJSON_AddNumberToObject(o, "instructions", t->instructions);
		cJSON_AddNumberToObject(o, "gaps", t->gaps);
		json_time(o, "from", dec_pt_flow_ns(f, t->first_tsc));
		json_time(o, "to", dec_pt_flow_ns(f, t->last_tsc));
		cJSON_AddItemToArray(list, o);
	}
}

static void json_gaps(const struct dec_pt_shown *d, cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "causes");

	for (size_t i = 0; i < d->gaps.size; i++) {
		const struct dec_pt_gap_count *g = &d->gaps.data[i];
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "gap", dec_pt_gap_name(g->kind));
		cJSON_AddStringToObject(o, "why", g->why);
		if (g->file)
			cJSON_AddStringToObject(o, "missing", g->file);
		cJSON_AddNumberToObject(o, "count", g->n);
		cJSON_AddNumberToObject(o, "first_byte", g->first_byte);
		cJSON_AddItemToArray(list, o);
	}
}

static void json_missing(const struct dec_pt_flow *f, cJSON *root)
{
	cJSON *list = cJSON_AddArrayToObject(root, "missing");
	const struct dec_pt_missing *m;
	size_t n;

	m = dec_pt_flow_missing(f, &n);
	for (size_t i = 0; i < n; i++) {
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "path", m[i].path);
		cJSON_AddStringToObject(o, "why", m[i].why);
		cJSON_AddItemToArray(list, o);
	}
}

static void print_json(const struct dec_pt_flow *f, const struct dec_pt_shown *d)
{
	const struct perf_info *info = dec_pt_flow_info(f);
	cJSON *root = cJSON_CreateObject();

	cJSON_AddNumberToObject(root, "bytes", info->pt_bytes);
	cJSON_AddNumberToObject(root, "instructions", d->instructions);
	cJSON_AddNumberToObject(root, "gaps", d->n_gaps);
	cJSON_AddNumberToObject(root, "kernel_visits", d->kernel_visits);
	cJSON_AddNumberToObject(root, "seconds", d->seconds);
	json_threads(f, d, root);
	json_gaps(d, root);
	json_missing(f, root);
	if (info->damage)
		cJSON_AddStringToObject(root, "damage", info->damage);
	cmd_command_print_json(root);
}

/* What is wrong with the file itself; whatever the form is. */
static void print_notes(const struct dec_pt_flow *f)
{
	const struct perf_info *info = dec_pt_flow_info(f);
	const struct dec_pt_missing *m;
	size_t n;

	if (info->damage)
		log_note("the file is damaged: %s", info->damage);
	if (info->is_unfinished)
		log_note("the recorder did not finish the file");
	if (info->n_lost)
		log_note("%lu records beside the packets were lost", info->n_lost);
	m = dec_pt_flow_missing(f, &n);
	for (size_t i = 0; i < n; i++)
		if (m[i].path[0] == '/' && m[i].path[1] != '/')
			log_note("no code of '%s': %s", text_line(m[i].path),
				 text_line(m[i].why));
}

/* ---- all of it --------------------------------------------------------------------------------- */

static struct err *show_packets(struct dec_pt_flow *f,
				const struct dec_pt_show_options *o)
{
	const struct dec_pt_source *sources;
	uint64_t packets = 0, gaps = 0;
	struct err *err = NULL;
	size_t n;

	sources = dec_pt_flow_sources(f, &n);
	for (size_t i = 0; !err && i < n; i++) {
		const struct dec_pt_source *s = &sources[i];

		bool is_by_thread = o->tid || o->pid || o->comm;

		// Packets do not tell who ran.
		if (!dec_pt_show_wants(f, o, s) || (is_by_thread && s->cpu != PERF_NONE))
			continue;
		if (!o->as_json && n > 1)
			fprintf(o->out, "; stream %u, %s %u\n", s->number,
				s->cpu == PERF_NONE ? "thread" : "processor",
				s->cpu == PERF_NONE ? s->tid : s->cpu);
		err = dec_pt_packets_show(f, s, o, &packets, &gaps);
	}
	if (!err && fflush(o->out))
		err = err_errno("cannot write");
	if (!err)
		fprintf(stderr, "faultline: %lu packets, %lu gaps\n", packets, gaps);
	return err;
}

static void summarize(const struct dec_pt_flow *f, const struct dec_pt_shown *d,
		      const struct dec_pt_show_options *o)
{
	FILE *out = o->form == DEC_PT_FORM_SUMMARY ? stdout : stderr;

	if (o->form == DEC_PT_FORM_SUMMARY && o->as_json) {
		print_json(f, d);
		return;
	}
	if (o->form == DEC_PT_FORM_SUMMARY) {
		print_head(f, out);
		print_threads(f, d, out);
	}
	print_gaps(d, out);
	if (out == stderr)
		fputs("faultline: ", out);
	print_total(d, out);
}

static struct err *show_flow(struct dec_pt_flow *f, const struct dec_pt_show_options *o,
			     int *status)
{
	const struct dec_pt_shown *d;
	struct dec_pt_show *s = NULL;
	struct err *err = dec_pt_show_create(f, o, &s);

	if (!err)
		err = dec_pt_show_sources(s);
	if (!err) {
		d = dec_pt_show_shown(s);
		summarize(f, d, o);
		if (o->function && !d->has_function)
			log_note("nothing that was decoded is of a function '%s'",
				 text_line(o->function));
		*status = d->n_gaps && !d->instructions;
	}
	dec_pt_show_destroy(s);
	return err;
}

/* A name that nothing has is a mistake, and not a trace of nothing. */
static struct err *check_filters(const struct dec_pt_flow *f,
				 const struct dec_pt_show_options *o)
{
	bool has_pid = !o->pid, has_comm = !o->comm, has_cpu = !o->cpus;
	const struct dec_pt_thread *threads;
	const struct dec_pt_source *sources;
	size_t n;

	threads = dec_pt_flow_threads(f, &n);
	for (size_t i = 0; i < n; i++) {
		has_pid |= threads[i].pid == o->pid;
		has_comm |= o->comm && threads[i].name &&
			    !strcmp(threads[i].name, o->comm);
	}
	sources = dec_pt_flow_sources(f, &n);
	for (size_t i = 0; i < n; i++)
		has_cpu |= sources[i].cpu != PERF_NONE &&
			   dec_pt_show_wants(f, o, &sources[i]);
	if (o->tid && !dec_pt_flow_thread(f, o->tid))
		return err_new(ERR_NOT_FOUND, "--thread: there is no thread %u", o->tid);
	if (!has_pid)
		return err_new(ERR_NOT_FOUND, "--pid: there is no process %u", o->pid);
	if (!has_comm)
		return err_new(ERR_NOT_FOUND, "--comm: no thread is called '%s'",
			       text_line(o->comm));
	return has_cpu ? NULL :
			 err_new(ERR_NOT_FOUND, "--cpu: there is no stream of such a "
						"processor");
}

static struct err *decode(struct decode_options *o, const char *path, int *status)
{
	_cleanup_(dec_pt_flow_closep) struct dec_pt_flow *f = NULL;
	struct err *err = o->raw ? dec_pt_flow_open_raw(o->raw, o->images.data,
							o->images.size, &f) :
				   dec_pt_flow_open(path, o->symfs, &f);

	if (!err)
		err = check_filters(f, &o->show);
	if (!err && o->time)
		err = time_filter(f, o->time, &o->show);
	if (err)
		return err;
	print_notes(f);
	o->show.out = stdout;
	o->show.with_progress = isatty(2) &&
				(o->show.form == DEC_PT_FORM_SUMMARY || !isatty(1));
	if (o->show.form == DEC_PT_FORM_PACKETS) {
		*status = 0;
		return show_packets(f, &o->show);
	}
	return show_flow(f, &o->show, status);
}

int cmd_decode(int argc, char **argv)
{
	_cleanup_free_ char *dir = NULL;
	struct decode_options o = {};
	_cleanup_err_ struct err *err = NULL;
	int status = 2;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	setvbuf(stdout, NULL, _IOFBF, 1 << 15);
	if (o.process)
		err = capture_process_dir(o.path, o.process, &dir);
	if (!err)
		err = decode(&o, dir ?: o.path, &status);
	vec_deinit(&o.cpus.ranges);
	vec_deinit(&o.images);
	if (!err)
		return status;
	fflush(stdout);
	fprintf(stderr, "faultline: cannot decode '%s': %s\n", text_line(o.raw ?: o.path),
		err->message);
	return 2;
}
