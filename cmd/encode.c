// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND look/encode: write a capture's run as Intel PT in a perf.data file

#include <argp.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "decode/pt/from_capture.h"
#include "decode/past/flight.h"

#define PSB_DEFAULT 16384

enum {
	OPT_PSB = 256,
	OPT_NO_RETCOMP,
	OPT_TIMING,
	OPT_THREAD,
	OPT_JSON,
	OPT_FLIGHT,
	OPT_PROBES,
	OPT_CORE,
	OPT_SYMFS
};

struct encode_command {
	const char *capture;
	const char *path;    ///< to be written; NULL: perf.data in the capture
	const char *process; ///< which one of a capture's; NULL = all
	const char *label;   ///< names the process when there are several
	bool as_json;
	FILE *talk;	    ///< for the text, which standard output may not be
	const char *flight; ///< make the flight recorder's form there instead
	const char *core;   ///< of a perf.data, and this core; NULL: of a capture
	const char *symfs;  ///< where to look for that one's code
	struct dec_encode_options o;
};

/** What was made of one capture. */
struct encoded {
	struct dec_encode_result r;
	char *path;
	uint64_t unlinked; ///< files that perf does not find (the name is not one)
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "Write FILE and FILE.symfs instead of CAPTURE/perf.data and CAPTURE/symfs; of a "
	  "capture with several processes only the program, or the --process. A device, a "
	  "pipe and - (stdout) get no FILE.symfs",
	  0 },
	{ "psb", OPT_PSB, "BYTES", 0,
	  "Begin anew (a PSB packet) each time a stream has BYTES more; K and M are known "
	  "(16K)",
	  0 },
	{ "no-retcomp", OPT_NO_RETCOMP, NULL, 0,
	  "Write the target of each return, as with noretcomp=1", 0 },
	{ "timing", OPT_TIMING, NULL, 0,
	  "Write MTC and CYC packets too. Their times are a model: an instruction takes a "
	  "cycle, a system call as long as it took",
	  0 },
	{ "probes", OPT_PROBES, NULL, 0,
	  "Write, too, what the probes of a recording with -e pt add to a trace: "
	  "breakpoints, and the kernel's work on them",
	  0 },
	{ "thread", OPT_THREAD, "TID", 0, "Write the stream of this thread only", 0 },
	{ "process", 'p', "PROCESS", 0,
	  "Of a capture made by `record -f', encode only this one: a number as in "
	  "`faultline dump --processes' (0 is the program itself), or a process id",
	  0 },
	{ "flight", OPT_FLIGHT, "DIR", 0,
	  "Make in DIR what the flight recorder would have left of this run: packets, "
	  "end.core and allocator calls, no beginning. Wants a capture made with --end-core",
	  0 },
	{ "core", OPT_CORE, "CORE", 0,
	  "With --flight: of PERF.DATA, which `perf record -e intel_pt//u' wrote, and of the "
	  "core of the crash that ended it (the kernel's, gcore's, `coredumpctl dump')",
	  0 },
	{ "symfs", OPT_SYMFS, "DIR", 0,
	  "With --core: look for the code of the files that were mapped below DIR first",
	  0 },
	{ "json", OPT_JSON, NULL, 0,
	  "Print the result as one JSON object, a line for each process", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct encode_command *c = state->input;

	switch (key) {
	case 'o':
		c->path = arg;
		return 0;
	case OPT_PSB:
		c->o.psb_bytes = option_bytes(state, "--psb", arg, DEC_ENCODE_PSB_MIN,
					      DEC_ENCODE_PSB_MAX);
		return 0;
	case OPT_NO_RETCOMP:
		c->o.compresses_returns = false;
		return 0;
	case OPT_TIMING:
		c->o.has_timing = true;
		return 0;
	case OPT_PROBES:
		c->o.has_probes = true;
		return 0;
	case OPT_THREAD:
		c->o.tid = option_tid(state, arg);
		return 0;
	case 'p':
		c->process = arg;
		return 0;
	case OPT_FLIGHT:
		c->flight = arg;
		return 0;
	case OPT_CORE:
		c->core = arg;
		return 0;
	case OPT_SYMFS:
		c->symfs = arg;
		return 0;
	case OPT_JSON:
		c->as_json = true;
		text_guard_json();
		return 0;
	case ARGP_KEY_END:
		if ((c->core && !c->flight) || (c->symfs && !c->core))
			argp_error(state,
				   "--core goes with --flight, --symfs with --core");
		c->talk = option_talk(state, &c->path, 1, c->as_json);
		return 0;
	default:
		return option_only(state, key, arg, "capture", &c->capture);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "CAPTURE\n--flight DIR --core CORE PERF.DATA",
	.doc = "Replay CAPTURE and write the control flow of each thread as the Intel PT packets "
	       "that tracing of user space would have left, with mappings, threads and switches "
	       "beside them, as CAPTURE/perf.data. `perf script --itrace' and `faultline decode' "
	       "read it. CAPTURE/symfs leads perf to the code as it was recorded. Of a capture made "
	       "by `record -f' every process is encoded.\v"
	       "Exit status: 0 written, 1 written up to where the replay diverged or the capture "
	       "breaks off, 2 not written; of several processes the worst.\n\n"
	       "Examples:\n"
	       "  faultline encode crash.flt\n"
	       "  perf script --symfs crash.flt/symfs -i crash.flt/perf.data --itrace=i0ns -F ip\n"
	       "  faultline encode --psb 4K --no-retcomp -o crash.data crash.flt\n"
	       "  faultline encode --thread 4711 server.flt\n"
	       "  faultline encode --flight late.flt --core core.4711 perf.data\n"
	       "  faultline encode --json crash.flt | jq .bytes\n",
};

/* Over two seconds, and to people. */
static void show_progress(void *ctx, const struct dec_where *w)
{
	const double *start = ctx;

	if (clock_now_s() - *start > 2 && isatty(2))
		fprintf(stderr, TEXT_AGAIN "faultline: encoded %lu million instructions",
			w->position / 1000000);
}

static void print_json(const struct capture *c, const struct encode_command *cmd,
		       const struct encoded *e)
{
	const struct dec_encode_result *r = &e->r;
	const struct cap_info *info = capture_info(c);
	cJSON *o = cJSON_CreateObject();

	if (cmd->label) {
		cJSON_AddNumberToObject(o, "process", info->index);
		cJSON_AddNumberToObject(o, "pid", info->pid);
	}
	cJSON_AddStringToObject(o, "file", e->path);
	cJSON_AddNumberToObject(o, "instructions", r->where.instructions);
	cJSON_AddNumberToObject(o, "threads", r->n_streams);
	cJSON_AddNumberToObject(o, "bytes", r->bytes);
	cJSON_AddNumberToObject(o, "pt_bytes", r->pt_bytes);
	cJSON_AddNumberToObject(o, "unfiled_bytes", r->unfiled_bytes);
	cJSON_AddBoolToObject(o, "complete", !r->divergence);
	if (r->divergence)
		cJSON_AddStringToObject(o, "divergence", r->divergence);
	cmd_command_print_json(o);
}

static void print_text(const struct encode_command *cmd, const struct encoded *e)
{
	const struct dec_encode_result *r = &e->r;

	if (cmd->label)
		fprintf(cmd->talk, "%s: ", cmd->label);
	fprintf(cmd->talk,
		"%" PRIu64 " instructions of %" PRIu64 " thread%s in %" PRIu64
		" bytes of packets: %s\n",
		r->where.instructions, r->n_streams, r->n_streams == 1 ? "" : "s",
		r->pt_bytes, e->path);
	if (r->unfiled_bytes)
		log_note("%" PRIu64 " bytes of code in no file: gaps there",
			 r->unfiled_bytes);
	if (e->unlinked)
		log_note("perf will not find %" PRIu64 " of the files", e->unlinked);
	if (r->divergence)
		fprintf(stderr, "faultline: cannot encode all of '%s': %s\n",
			text_line(cmd->capture), text_line(r->divergence));
}

/* Start to write the file that is wanted of @p c. */
static struct err *begin_file(const struct encode_command *cmd, const struct capture *c,
			      struct new_file *f, struct encoded *ret)
{
	if (cmd->path)
		ret->path = strdup(cmd->path);
	else if (asprintf(&ret->path, "%s/perf.data", capture_dir(c)) < 0)
		ret->path = NULL;
	if (!ret->path)
		return &err_nomem;
	return cmd->path ? new_file_open(f, ret->path, 0600) :
			   new_file_open_in(f, capture_dir_fd(c), "perf.data", ret->path);
}

/* Where perf finds the code: beside the file, if that has a place. */
static struct err *make_symfs(const struct encode_command *cmd, const struct capture *c,
			      const struct new_file *f, struct encoded *ret)
{
	_cleanup_free_ char *path = NULL;

	if (f->is_as_is)
		return NULL;
	if (cmd->path && asprintf(&path, "%s.symfs", cmd->path) < 0)
		return &err_nomem;
	return dec_symfs_make(c, path, &ret->unlinked);
}

static struct err *encode(const struct encode_command *cmd, const struct capture *c,
			  struct encoded *ret)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct dec_encode_options o = cmd->o;
	double start = clock_now_s();
	struct err *err = begin_file(cmd, c, &f, ret);

	// Its head is written last.
	if (!err && f.is_as_is)
		err = new_file_spool(&f);
	o.file = &f;
	o.progress = show_progress;
	o.progress_ctx = &start;
	if (!err)
		err = dec_encode(c, &o, &ret->r);
	if (!err)
		err = make_symfs(cmd, c, &f, ret);
	return err ?: new_file_commit(&f);
}

/* @return the exit status. */
static int encode_one(const struct encode_command *cmd)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_err_ struct err *err = capture_open(cmd->capture, &c);
	struct encoded e = {};
	int status = 2;

	if (!err)
		err = encode(cmd, c, &e);
	if (err) {
		fprintf(stderr, "faultline: cannot encode '%s': %s\n",
			text_line(cmd->capture), err->message);
	} else {
		status = e.r.divergence ? 1 : 0;
		if (cmd->as_json)
			print_json(c, cmd, &e);
		else
			print_text(cmd, &e);
	}
	dec_encode_deinit(&e.r);
	free(e.path);
	return status;
}

/* All processes of @p c, which was followed. @return the worst exit status. */
static int encode_all(const struct encode_command *cmd, const struct capture *c)
{
	const struct cap_info *info = capture_info(c);
	struct encode_command one = *cmd;
	int worst;

	one.label = "process 0";
	worst = encode_one(&one);
	for (size_t i = 0; i < info->n_processes; i++) {
		const struct cap_process *p = &info->processes[i];
		_cleanup_free_ char *dir = NULL, *label = NULL;
		_cleanup_err_ struct err *err = NULL;
		int status = 2;

		if (!p->dir)
			continue;
		err = capture_child_dir(c, p, &dir);
		if (err)
			fprintf(stderr, "faultline: %s\n", err->message);
		if (asprintf(&label, "process %u (pid %u)", p->index, p->pid) < 0)
			label = NULL;
		one.capture = dir;
		one.label = label;
		if (dir && label)
			status = encode_one(&one);
		worst = status > worst ? status : worst;
	}
	return worst;
}

/* @return the exit status. */
static int encode_flight(const struct encode_command *cmd)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_err_ struct err *err = NULL;

	if (cmd->core) {
		err = dec_flight_import(cmd->capture, cmd->core, cmd->symfs, cmd->flight);
	} else {
		err = capture_open(cmd->capture, &c);
		if (!err)
			err = dec_flight_make(c, cmd->flight);
	}
	if (err) {
		fprintf(stderr,
			"faultline: cannot make a flight recorder's capture of "
			"'%s': %s\n",
			text_line(cmd->capture), err->message);
		return 2;
	}
	return 0;
}

int cmd_encode(int argc, char **argv)
{
	struct encode_command cmd = { .o = { .psb_bytes = PSB_DEFAULT,
					     .compresses_returns = true,
					     .cmdline = (const char *const *)argv } };
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_free_ char *dir = NULL;
	_cleanup_err_ struct err *err = NULL;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &cmd);
	if (cmd.flight)
		return encode_flight(&cmd);
	if (cmd.process) {
		err = capture_process_dir(cmd.capture, cmd.process, &dir);
		if (err) {
			fprintf(stderr, "faultline: %s\n", err->message);
			return 2;
		}
		cmd.capture = dir;
		return encode_one(&cmd);
	}
	err = capture_open(cmd.capture, &c);
	// What is wrong with it, encoding it tells.
	if (!c || !capture_info(c)->n_processes || cmd.path)
		return encode_one(&cmd);
	return encode_all(&cmd, c);
}
