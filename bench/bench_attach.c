// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What a server under load notices of being attached to: redis-server, the same number of
 * requests from redis-benchmark with and without `record -p`.
 */

#include <stdio.h>
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

static void throughput_show(struct bench *b, const struct bench_times t[2])
{
	cJSON *row = cJSON_CreateObject();
	double share = t[1].median_s > 0 ? t[0].median_s / t[1].median_s : 0;

	cJSON_AddStringToObject(row, "suite", "attach");
	cJSON_AddStringToObject(row, "work", "redis");
	cJSON_AddNumberToObject(row, "throughput_share", share);
	cJSON_AddItemToArray(b->rows, row);
	printf("attach   redis attached answers %.0f %% of its requests a second: %s %.0f %%\n",
	       share * 100, share >= THROUGHPUT_LIMIT ? "at least" : "UNDER",
	       THROUGHPUT_LIMIT * 100);
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
	struct bench_command c[2] = { { .name = "unattached" },
				      { .name = "attached",
					.fresh_dir = b->capture,
					.beside = record,
					.beside_log = log,
					.beside_ready = "attached to process" } };
	struct bench_times t[2] = {};
	struct err *err;
	pid_t server;

	if (!bench_find_program(&b->arena, "redis-server") ||
	    !bench_find_program(&b->arena, "redis-benchmark")) {
		puts("attach   redis is not installed (Debian: redis-server, redis-tools)");
		return NULL;
	}
	port_text(port);
	snprintf(log, sizeof(log), "%s/attach.log", b->scratch);
	memcpy(c[0].argv, load, sizeof(load));
	memcpy(c[1].argv, load, sizeof(load));
	err = server_start(b, port, &server);
	if (err)
		return err;
	snprintf(pid_text, sizeof(pid_text), "%d", server);
	err = bench_measure(b, "attach", "redis", c, 2, b->o.rounds, t);
	bench_beside_stop(server);
	if (!err && !t[0].failure && !t[1].failure)
		throughput_show(b, t);
	bench_times_deinit(&t[0]);
	bench_times_deinit(&t[1]);
	return err;
}
