// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `debug`: what somebody who debugs a capture waits for, from request to answer, as gdb's
 * remote protocol has them; beside it gdb's own recorder on the same program.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_suite.h"
#include "bench/programs/watched.h"

#define STEPS 20	 ///< back, one after the other
#define RECORDED 20000	 ///< instructions: gdb's recorder takes its time
#define FROM_END 1000000 ///< instructions: where the steps are made
#define PEER_TIMEOUT "300"

enum { STEP, CONTINUE, WRITE, METRICS };

static const struct bench_row metrics[METRICS] = {
	[STEP] = { .command = "reverse-stepi",
		   .metric = "time of one",
		   .unit = "s",
		   .wanted = 0.03 },
	[CONTINUE] = { .command = "reverse-continue to a watchpoint, through all of it",
		       .metric = "time of one",
		       .unit = "s",
		       .wanted = 3 },
	[WRITE] = { .command = "last-write, through all of it",
		    .metric = "time of one",
		    .unit = "s",
		    .wanted = 1 },
};

/** A client of the stub. */
struct client {
	pid_t pid;
	FILE *to, *from;
};

static struct err *client_start(struct client *c, const char *exe, const char *capture)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return err_errno("cannot make a socket");
	c->pid = fork();
	if (!c->pid) {
		dup2(fds[1], STDIN_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		execl(exe, exe, "debug", "--listen", "-", capture, NULL);
		_exit(127);
	}
	close(fds[1]);
	c->to = fdopen(fds[0], "w");
	c->from = fdopen(dup(fds[0]), "r");
	return c->pid < 0 || !c->to || !c->from ? err_errno("cannot start the stub") :
						  NULL;
}

static void client_deinit(struct client *c)
{
	if (c->to)
		fclose(c->to);
	if (c->from)
		fclose(c->from);
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
}

/* Send @p request; @return whether an answer came that begins with @p begin ("" any), past what is
 * only shown. */
static bool ask(struct client *c, const char *request, const char *begin)
{
	char answer[4096];
	uint8_t sum = 0;

	for (const char *p = request; *p; p++)
		sum += *p;
	fprintf(c->to, "+$%s#%02x", request, sum);
	fflush(c->to);
	do {
		size_t n = 0;
		int byte;

		while ((byte = getc(c->from)) != EOF && byte != '$')
			;
		while ((byte = getc(c->from)) != EOF && byte != '#')
			if (n < sizeof(answer) - 1)
				answer[n++] = byte;
		answer[n] = 0;
		if (byte == EOF || getc(c->from) == EOF || getc(c->from) == EOF)
			return false;
		fputc('+', c->to);
		fflush(c->to);
	} while (*answer == 'O' && strcmp(answer, "OK"));
	return !strncmp(answer, begin, strlen(begin));
}

static bool monitor(struct client *c, const char *command)
{
	char request[256] = "qRcmd,";

	for (size_t n = strlen(request); *command && n < sizeof(request) - 3; n += 2)
		snprintf(request + n, 3, "%02x", (unsigned char)*command++);
	return ask(c, request, "");
}

/* One round: a session of its own, which goes to the end first. */
static struct err *measure(const struct bench *b, double instructions,
			   double ret[METRICS])
{
	struct client c = {};
	char watch[64], writes[64], place[64];
	struct err *err = client_start(&c, b->exe, b->capture);
	double start;
	bool is_right;

	snprintf(watch, sizeof(watch), "Z2,%lx,8", (unsigned long)WATCHED_ADDRESS);
	snprintf(writes, sizeof(writes), "writes %lu 8 1",
		 (unsigned long)WATCHED_ADDRESS);
	snprintf(place, sizeof(place), "seek %.0f", instructions - FROM_END);
	is_right = !err && ask(&c, "qSupported:multiprocess+", "PacketSize") &&
		   ask(&c, "vCont;c", "T");
	start = clock_now_s();
	is_right = is_right && monitor(&c, writes);
	ret[WRITE] = clock_now_s() - start;
	is_right = is_right && ask(&c, watch, "OK");
	start = clock_now_s();
	is_right = is_right && ask(&c, "bc", "T05watch");
	ret[CONTINUE] = clock_now_s() - start;
	is_right = is_right && monitor(&c, place) && ask(&c, "vCont;s", "T");
	start = clock_now_s();
	for (int i = 0; i < STEPS && is_right; i++)
		is_right = ask(&c, "bs", "T05");
	ret[STEP] = (clock_now_s() - start) / STEPS;
	client_deinit(&c);
	if (!err && !is_right)
		err = err_new(ERR_DIVERGED, "the stub answers otherwise than it should");
	return err;
}

/* gdb's recorder: seconds for so many instructions forward, and back to the first. */
static struct err *add_peer(struct bench *b, const struct bench_work *w)
{
	_cleanup_free_ char *command = NULL;
	double forward = 0, back = 0;
	char text[128];
	FILE *out;
	struct bench_row row = { .suite = b->suite,
				 .work = w->name,
				 .role = BENCH_PEER,
				 .metric = "time, recorded by gdb",
				 .unit = "s" };
	struct err *err;

	if (asprintf(
		    &command,
		    "timeout " PEER_TIMEOUT
		    " gdb -nx -q -batch -ex 'break main' -ex run -ex record -ex "
		    "'python import time; s = time.time(); gdb.execute(\"stepi %d\", to_string=True); "
		    "print(\"FORWARD\", time.time() - s); s = time.time(); "
		    "gdb.execute(\"reverse-continue\", to_string=True); "
		    "print(\"BACK\", time.time() - s)' --args %s 1000000 2>&1",
		    RECORDED, w->argv[0]) < 0)
		return &err_nomem;
	out = popen(command, "r");
	while (out && fgets(text, sizeof(text), out)) {
		sscanf(text, "FORWARD %lf", &forward);
		sscanf(text, "BACK %lf", &back);
	}
	if (out)
		pclose(out);
	row.command = "gdb record full: 20000 instructions forward";
	row.skipped = forward > 0 ? NULL : "gdb did not record it";
	err = bench_row_add(&b->results, &row, &forward, forward > 0);
	row.command = "gdb record full: reverse-continue over 20000 instructions";
	row.skipped = back > 0 ? NULL : "gdb did not record it";
	return err ?: bench_row_add(&b->results, &row, &back, back > 0);
}

static struct err *work_debug(struct bench *b, const struct bench_work *w)
{
	double instructions, runs[METRICS][BENCH_ROUNDS_MAX], one[METRICS];
	struct err *err = bench_capture_work(b, w, &instructions);
	const char *text =
		bench_keep_printf(&b->results, "%.2g instructions", instructions);

	for (int i = 0; i < b->o.rounds && !err; i++) {
		err = measure(b, instructions, one);
		for (int k = 0; k < METRICS; k++)
			runs[k][i] = one[k];
	}
	for (int k = 0; k < METRICS && !err; k++) {
		struct bench_row row = metrics[k];

		row.suite = b->suite;
		row.work = w->name;
		row.note = text;
		err = bench_row_add(&b->results, &row, runs[k], b->o.rounds);
	}
	return err ?: add_peer(b, w);
}

struct err *bench_suite_debug(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (!b->works[i].skipped && b->works[i].kind->is_branched)
			err = work_debug(b, &b->works[i]);
	return err;
}
