// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What a server under load notices of being attached to: redis-server, the same number of
 * requests from redis-benchmark with and without `record -p`.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_suite.h"

#define THROUGHPUT_LIMIT 0.70 ///< of the unattached server's
#define REQUESTS "100000"     ///< of each of two kinds
#define REQUESTS_QUICK "20000"

/** The server's port: one that two benchmarks at a time hardly share. */
static void port_text(char ret[8])
{
	snprintf(ret, 8, "%d", 20000 + getpid() % 20000);
}

static struct err *server_start(struct bench *b, const char *port, pid_t *ret)
{
	const char *const argv[] = {
		"redis-server", "--bind", "127.0.0.1", "--port",   port, "--save", "",
		"--appendonly", "no",	  "--dir",     b->scratch, NULL
	};
	char log[4200];

	snprintf(log, sizeof(log), "%s/redis.log", b->scratch);
	return bench_beside_start(argv, log, "Ready to accept connections", ret);
}

struct err *bench_suite_attach(struct bench *b)
{
	char port[8], pid_text[16], log[4200];
	const char *const load[] = { "redis-benchmark",
				     "-h",
				     "127.0.0.1",
				     "-p",
				     port,
				     "-q",
				     "-t",
				     "set,get",
				     "-n",
				     b->o.is_quick ? REQUESTS_QUICK : REQUESTS,
				     NULL };
	const char *const record[] = { b->exe, "record", "-o", b->capture,
				       "-p",   pid_text, NULL };
	struct bench_command c[2] = { { .name = "unattached", .role = BENCH_NATIVE },
				      { .name = "record -p",
					.limit = 1 / THROUGHPUT_LIMIT,
					.fresh_dir = b->capture,
					.beside = record,
					.beside_log = log,
					.beside_ready = "attached to process" } };
	struct bench_times t[2] = {};
	struct err *err;
	pid_t server;

	if (!bench_find_program(&b->arena, "redis-server") ||
	    !bench_find_program(&b->arena, "redis-benchmark")) {
		c[0].skipped = c[1].skipped = "redis is not installed (Debian: "
					      "redis-server, redis-tools)";
		return bench_measure(b, "redis", c, 2, b->o.rounds, t);
	}
	port_text(port);
	snprintf(log, sizeof(log), "%s/attach.log", b->scratch);
	memcpy(c[0].argv, load, sizeof(load));
	memcpy(c[1].argv, load, sizeof(load));
	err = server_start(b, port, &server);
	if (err)
		return err;
	snprintf(pid_text, sizeof(pid_text), "%d", server);
	err = bench_measure(b, "redis", c, 2, b->o.rounds, t);
	bench_beside_stop(server);
	for (int i = 0; i < 2 && !err; i++) {
		c[i].limit = 0;
		err = bench_measure_speed(b, "redis", &c[i], &t[i],
					  2 * atof(b->o.is_quick ? REQUESTS_QUICK :
								   REQUESTS),
					  "requests/s");
	}
	bench_times_deinit_all(t, 2);
	return err;
}
