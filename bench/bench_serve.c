// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `serve`: what somebody who looks at a page of `report --serve` waits for: until it is there, and
 * from each request to its answer, at instants of the run that nobody could have foreseen.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/bench_suite.h"

#define INSTANTS 40	   ///< a round
#define ANSWER (16u << 20) ///< bytes, more than any has
#define READY "until this is interrupted"

/** What is asked for. */
enum ask { MOMENT, ORIGIN, HEAP, ASKS };

static const char *const asks[ASKS] = { [MOMENT] = "a moment: what it used and made",
					[ORIGIN] = "where a value came from",
					[HEAP] = "the heap's picture" };

/** A server, as its one line says. */
struct door {
	uint16_t port;
	char path[64];
};

/** What was waited, seconds. */
struct waited {
	double open_s;
	double ask_s[ASKS][INSTANTS];
	size_t n[ASKS];
};

static bool read_door(const char *log, struct door *ret)
{
	_cleanup_fclose_ FILE *f = fopen(log, "re");
	char line[4096];
	const char *at = NULL;

	while (f && !at && fgets(line, sizeof(line), f))
		at = strstr(line, "http://127.0.0.1:");
	return at && sscanf(at, "http://127.0.0.1:%hu%63s", &ret->port, ret->path) == 2;
}

/* Ask for @p what at @p position; @p answer, ANSWER bytes, gets it whole. @return whether it was given. */
static bool get(const struct door *d, const char *what, char *answer, double *s)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					.sin_port = htons(d->port) };
	_cleanup_close_ int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	double start = clock_now_s();
	size_t n = 0;
	ssize_t more;

	if (sock < 0 || connect(sock, (const struct sockaddr *)&at, sizeof(at)) ||
	    dprintf(sock,
		    "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n",
		    d->path, what, d->port) < 0)
		return false;
	while ((more = read(sock, answer + n, ANSWER - 1 - n)) > 0)
		n += more;
	answer[n] = 0;
	*s = clock_now_s() - start;
	return !more && !strncmp(answer, "HTTP/1.1 200", 12);
}

static bool ask(const struct door *d, enum ask kind, uint64_t position, struct waited *w,
		char *answer)
{
	static const char *const paths[ASKS] = { "here/%lu", "origin/%lu/0", "heap/%lu" };
	char what[64];

	snprintf(what, sizeof(what), paths[kind], position);
	return get(d, what, answer, &w->ask_s[kind][w->n[kind]++]);
}

/* One after the other, as a person does: somewhere, what it used first, the heap then. */
static bool walk(const struct door *d, double instructions, struct waited *w,
		 char *answer)
{
	uint32_t state = 1;

	for (int i = 0; i < INSTANTS; i++) {
		uint64_t at;

		state = state * UINT32_C(1664525) + UINT32_C(1013904223);
		at = state / 4294967296.0 * instructions;
		if (!ask(d, MOMENT, at, w, answer))
			return false;
		if (strstr(answer, "\"used\":[\"") && !ask(d, ORIGIN, at, w, answer))
			return false;
		if (!ask(d, HEAP, at, w, answer))
			return false;
	}
	return true;
}

static struct err *measure(const struct bench *b, double instructions, struct waited *w)
{
	const char *const argv[] = { b->exe, "report", b->capture, "--serve", NULL };
	_cleanup_free_ char *answer = malloc(ANSWER), *log = NULL;
	double start = clock_now_s();
	struct door d;
	bool is_right;
	pid_t pid;
	struct err *err;

	*w = (struct waited){};
	if (!answer || asprintf(&log, "%s/serve.log", b->scratch) < 0)
		return &err_nomem;
	err = bench_beside_start(argv, log, READY, &pid);
	if (err)
		return err;
	w->open_s = clock_now_s() - start;
	is_right = read_door(log, &d) && walk(&d, instructions, w, answer);
	bench_beside_stop(pid);
	return is_right ? NULL :
			  err_new(ERR_DIVERGED,
				  "the server answers otherwise than it should");
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/** Of what was waited for, in order, this part is told. */
static const struct {
	const char *metric;
	double part;
} told[] = { { "time of one", 0.5 },
	     { "time of nine in ten", 0.9 },
	     { "time of the longest", 1 } };

enum { TOLD = sizeof(told) / sizeof(*told) };

/* Rows of the @p n rounds of @p w. */
static struct err *add_rows(struct bench *b, const struct bench_work *work,
			    struct waited *w, int n, const char *note)
{
	double runs[BENCH_ROUNDS_MAX];
	struct bench_row row = { .suite = b->suite,
				 .work = work->name,
				 .command = "report --serve, until the page is there",
				 .metric = "time",
				 .unit = "s",
				 .note = note };
	struct err *err;

	for (int i = 0; i < n; i++)
		runs[i] = w[i].open_s;
	err = bench_row_add(&b->results, &row, runs, n);
	for (int k = 0; k < TOLD * ASKS && !err; k++) {
		enum ask kind = k / TOLD;

		row.command = asks[kind];
		row.metric = told[k % TOLD].metric;
		row.wanted = 0.1;
		for (int i = 0; i < n; i++) {
			double *s = w[i].ask_s[kind];
			size_t most = w[i].n[kind], at = most * told[k % TOLD].part;

			qsort(s, most, sizeof(*s), by_size);
			runs[i] = most ? s[at < most ? at : most - 1] : 0;
		}
		err = bench_row_add(&b->results, &row, runs, n);
	}
	return err;
}

static struct err *work_serve(struct bench *b, const struct bench_work *work)
{
	_cleanup_free_ struct waited *w = calloc(b->o.rounds, sizeof(*w));
	double instructions;
	struct err *err = w ? bench_capture_work(b, work, &instructions) : &err_nomem;

	for (int i = 0; i < b->o.rounds && !err; i++)
		err = measure(b, instructions, &w[i]);
	return err   ?:
		       add_rows(b, work, w, b->o.rounds,
				bench_keep_printf(&b->results, "%.2g instructions",
						  instructions));
}

struct err *bench_suite_serve(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (!b->works[i].skipped && b->works[i].kind->is_served)
			err = work_serve(b, &b->works[i]);
	return err;
}
