// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND look/debug: walk through a capture with gdb, forward and backward

#include <argp.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/option.h"
#include "cmd/command.h"
#include "cmd/dump_int.h"
#include "cmd/listen.h"
#include "confine/confine.h"
#include "debug/debug.h"

#define EXIT_COULD_NOT 2

enum { KEY_AT_FAULT = 256 };

struct arguments {
	const char *capture, *process, *listen, *spec;
	char **gdb_args; ///< NULL-terminated; NULL: none
	int listener;	 ///< -1: this process serves its stdin and stdout
};

static const struct argp_option options[] = {
	{ "process", 'p', "PROCESS", 0,
	  "of a capture made by `record -f', this process: a number as in `faultline dump "
	  "--processes', or a process id",
	  0 },
	{ "listen", 'l', "[ADDR:]PORT", 0,
	  "start no gdb, but serve one that connects (`target extended-remote ADDR:PORT'), "
	  "one after the other, until interrupted; ADDR is 127.0.0.1 unless it is given. "
	  "There is no password: whoever may connect may read the capture. -: serve stdin and "
	  "stdout",
	  0 },
	{ "at-fault", KEY_AT_FAULT, "SPEC", 0,
	  "begin where the statement ran that `faultline analyze --spec SPEC' suspects most",
	  0 },
	{ 0 },
};

static const char doc[] =
	"Start gdb on the recorded run of CAPTURE, at its beginning. All that gdb does with a "
	"running program it does here, and the same backward: reverse-continue, reverse-step, "
	"reverse-next, reverse-finish, to breakpoints, watchpoints, signals. What it writes "
	"into memory or registers, and functions that it calls, happen in a branch of the run "
	"that is thrown away. New commands in gdb: last-write, history, origin, when, seek, instance, repair, switch, suppress, "
	"breakpoint, checkpoint, rollback, record, region (`help NAME' tells); `monitor help' lists the stub's.\v"
	"Exit status: gdb's; with --listen - 0 when the client has left; 2 when the capture could not "
	"be replayed or gdb could not be started.\n\n"
	"Examples:\n"
	"  faultline debug crash.flt\n"
	"  faultline debug crash.flt -- -batch -ex continue -ex backtrace\n"
	"  faultline debug --at-fault list.spec crash.flt\n"
	"  faultline debug --process 2 crash.flt\n"
	"  faultline debug --listen 1234 crash.flt\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'p':
		a->process = arg;
		return 0;
	case 'l':
		a->listen = arg;
		return 0;
	case KEY_AT_FAULT:
		a->spec = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!a->capture)
			break;
		// All that is left is gdb's.
		if (strcmp(state->argv[state->next - 2], "--"))
			argp_error(state,
				   "one capture, not also '%s': gdb's arguments stand "
				   "behind --",
				   arg);
		a->gdb_args = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (a->listen && a->gdb_args)
			argp_error(state, "--listen starts no gdb");
		break;
	}
	return option_only(state, key, arg, "capture", &a->capture);
}

/* ---- serving --------------------------------------------------------------------------------- */

static struct arguments arguments; ///< of the confined process, too: it is a fork

/* @return where the statement ran that broke what @p spec says of the capture in @p dir. */
static struct err *find_fault(const char *dir, const char *spec, uint64_t *ret)
{
	const struct fl_options o = {
		.capture = dir, .specs = &spec, .n_specs = 1, .with_inference = true
	};
	_cleanup_(fl_analysis_deinit) struct fl_analysis a = {};
	struct err *err = fl_analysis_run(&o, &a);
	const struct fl_fault *f = a.faults.data;

	if (a.spec && spec_diags(a.spec))
		spec_diags_print(a.spec, stderr);
	if (err)
		return err;
	if (!a.faults.size)
		return err_new(ERR_NOT_FOUND,
			       "cannot begin at a fault: '%s' is not violated, or by no "
			       "statement that is known",
			       text_line(spec));
	*ret = f->missing ? f->time : hg_graph_op(f->graph, f->op).time;
	return NULL;
}

/* The list of the processes that @p dir has, free(). */
static struct err *list_processes(const char *dir, char **ret)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct err *err = capture_open(dir, &c);
	size_t size;
	FILE *f = err ? NULL : open_memstream(ret, &size);

	if (err)
		return err;
	if (!f)
		return &err_nomem;
	err = cmd_dump_processes(capture_info(c), f);
	fclose(f);
	return err;
}

/* Another process of the capture. */
static struct err *open_process(void *ctx, uint32_t pid, struct capture **ret)
{
	const struct arguments *a = ctx;
	_cleanup_free_ char *dir = NULL;
	char which[16];
	struct err *err;

	snprintf(which, sizeof(which), "%u", pid);
	err = capture_process_dir(a->capture, which, &dir);
	return err ?: capture_open(dir, ret);
}

static struct err *serve(const struct arguments *a)
{
	struct dbg_options o = { .in = a->listener < 0 ? STDIN_FILENO : -1,
				 .out = a->listener < 0 ? STDOUT_FILENO : -1,
				 .listener = a->listener,
				 .open = open_process,
				 .ctx = (void *)a };
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_free_ char *dir = NULL, *processes = NULL;
	const fl_texts none = {};
	struct err *err;

	err = cmd_command_process(a->capture, a->process, &none, &dir);
	if (!err && a->spec)
		err = find_fault(dir, a->spec, &o.position);
	if (!err)
		err = capture_open(dir, &c);
	if (!err)
		err = list_processes(a->capture, &processes);
	o.processes = processes;
	return err ?: dbg_serve(c, &o);
}

/* In a process that may read, and nothing else. */
static int run_server(int argc, char **argv)
{
	_cleanup_err_ struct err *err = serve(&arguments);

	(void)argc, (void)argv;
	if (!err)
		return 0;
	fprintf(stderr, "faultline: %s\n", err->message);
	return EXIT_COULD_NOT;
}

/* @param where  [ADDR:]PORT, [] around an ADDR with colons. */
static struct err *listen_at(const char *where, int *ret)
{
	_cleanup_free_ char *copy = strdup(where);
	const char *host = "127.0.0.1", *port;
	char *colon;

	if (!copy)
		return &err_nomem;
	port = copy;
	colon = strrchr(copy, ':');
	if (colon) {
		*colon = 0;
		port = colon + 1;
		host = copy;
		if (*host == '[' && colon[-1] == ']') {
			host++;
			colon[-1] = 0;
		}
	}
	return cmd_listen(host, port, ret);
}

static struct err *make_listener(struct arguments *a)
{
	const char *colon = strrchr(a->listen, ':');
	int host = colon ? colon + 1 - a->listen : 0;
	struct err *err;
	uint16_t port;

	if (!strcmp(a->listen, "-"))
		return NULL;
	err = listen_at(a->listen, &a->listener);
	if (err)
		return err;
	port = cmd_listen_port(a->listener); // of 0 the kernel made one
	fprintf(stderr,
		"faultline: listening at %.*s%u; in gdb: target extended-remote %.*s%u\n",
		host, a->listen, port, host ? host : 1, host ? a->listen : ":", port);
	return NULL;
}

/* ---- gdb ------------------------------------------------------------------------------------- */

typedef VEC(char *) words;

/* @return gdb's command that starts this program as its stub, for free(); NULL: out of memory. */
static char *target_command(const struct arguments *a)
{
	char self[PATH_MAX], *text = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	self[n > 0 ? n : 0] = 0;
	fputs("target extended-remote | exec", f);
	cmd_command_put_quoted(f, self);
	fputs(" debug --listen -", f);
	if (a->process) {
		fputs(" --process", f);
		cmd_command_put_quoted(f, a->process);
	}
	if (a->spec) {
		fputs(" --at-fault", f);
		cmd_command_put_quoted(f, a->spec);
	}
	fputs(" --", f);
	cmd_command_put_quoted(f, a->capture);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The commands in a file without a name, which gdb inherits; before them how the stub is started. */
static struct err *commands_file(const char *target, int *ret)
{
	size_t size = dbg_commands_end - dbg_commands;

	*ret = memfd_create("faultline-commands", 0);
	if (*ret < 0 || dprintf(*ret, "stub_command = bytes.fromhex('") < 0)
		return err_errno("cannot make gdb's commands");
	for (; *target; target++)
		dprintf(*ret, "%02x", (unsigned char)*target);
	if (dprintf(*ret, "').decode('utf-8', 'surrogateescape')\n") < 0 ||
	    write(*ret, dbg_commands, size) != (ssize_t)size)
		return err_errno("cannot make gdb's commands");
	return NULL;
}

static struct err *start_gdb(const struct arguments *a)
{
	_cleanup_free_ char *target = target_command(a);
	char commands[128];
	words v = {};
	struct err *err = target ? NULL : &err_nomem;
	int fd;

	if (!err)
		err = commands_file(target, &fd);
	if (err)
		return err;
	snprintf(
		commands, sizeof(commands),
		"python exec(compile(open('/proc/self/fd/%d').read(), 'faultline', 'exec'))",
		fd);
	char *const fixed[] = { "gdb", "-q",
				// A replay may take its time to get anywhere.
				"-iex", "set remotetimeout 100000", "-ex", target, "-ex",
				commands };

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed) && !err; i++)
		err = vec_add(&v, fixed[i]);
	for (char **arg = a->gdb_args; arg && *arg && !err; arg++)
		err = vec_add(&v, *arg);
	if (!err)
		err = vec_add(&v, (char *)NULL);
	if (!err) {
		execvp("gdb", v.data);
		err = err_errno("cannot start gdb");
	}
	vec_deinit(&v);
	return err;
}

/* ---- the command ------------------------------------------------------------------------------ */

int cmd_debug(int argc, char **argv)
{
	static const struct argp argp = { .options = options,
					  .parser = parse,
					  .args_doc = "CAPTURE [-- GDB-ARGUMENT...]",
					  .doc = doc };
	static const struct confine_outputs none;
	_cleanup_err_ struct err *err = NULL;

	argp_err_exit_status = EXIT_COULD_NOT;
	arguments.listener = -1;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments))
		return EXIT_COULD_NOT;
	err = arguments.listen ? make_listener(&arguments) : start_gdb(&arguments);
	if (!err)
		return confine_command(run_server, argc, argv, &none);
	fprintf(stderr, "faultline: %s\n", err->message);
	return EXIT_COULD_NOT;
}
