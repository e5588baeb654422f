// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include "bench/bench_format.h"
#include "bench/commit.inc"

/** The value of the first line of @p path that begins with @p key, a colon before it; or the
 * whole first line when @p key is NULL. "unknown" when there is none. */
static const char *line_of(struct bench_results *r, const char *path, const char *key)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *value = key ? strchr(line, ':') : line - 1;

		if (!value || (key && strncmp(line, key, strlen(key)) != 0))
			continue;
		line[strcspn(line, "\n")] = 0;
		return bench_keep(r, value + 1 + strspn(value + 1, " \t"));
	}
	return "unknown";
}

double bench_machine_load(void)
{
	double load;

	return getloadavg(&load, 1) == 1 ? load : 0;
}

static double seconds_of(int who)
{
	struct rusage u;

	if (getrusage(who, &u))
		return 0;
	return u.ru_utime.tv_sec + u.ru_utime.tv_usec * 1e-6 + u.ru_stime.tv_sec +
	       u.ru_stime.tv_usec * 1e-6;
}

struct bench_machine_use bench_machine_use(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/stat", "re");
	unsigned long long user = 0, nice = 0, system = 0, idle, wait, irq = 0, soft = 0,
			   steal = 0;

	if (f && fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice,
			&system, &idle, &wait, &irq, &soft, &steal) != 8)
		user = nice = system = irq = soft = steal = 0;
	return (struct bench_machine_use){
		.wall_s = clock_now_s(),
		.all_s = (double)(user + nice + system + irq + soft + steal) /
			 (double)sysconf(_SC_CLK_TCK),
		.own_s = seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN),
	};
}

double bench_machine_others(const struct bench_machine_use *since)
{
	struct bench_machine_use now = bench_machine_use();
	double others = (now.all_s - since->all_s) - (now.own_s - since->own_s);
	double all = (now.wall_s - since->wall_s) * (double)sysconf(_SC_NPROCESSORS_ONLN);

	return others > 0 && all > 0 ? others / all : 0;
}

static const char *command_line(struct bench_results *r, int argc, char **argv)
{
	const char *line = "faultline bench";

	for (int i = 1; i < argc && line; i++)
		line = bench_keep_printf(r, "%s %s", line, argv[i]);
	return line;
}

struct err *bench_machine_describe(struct bench_results *r, int argc, char **argv)
{
	struct bench_header *h = &r->header;
	time_t now = time(NULL);
	struct utsname name;
	char date[32], memory[BENCH_TEXT_MAX];

	uname(&name);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
	h->commit = BENCH_COMMIT;
	h->version = FAULTLINE_VERSION;
	h->date = bench_keep(r, date);
	h->command = command_line(r, argc, argv);
	h->processor = line_of(r, "/proc/cpuinfo", "model name");
	bench_format_value(
		memory,
		strtod(line_of(r, "/proc/meminfo", "MemTotal") ?: "", NULL) * 1024, "B");
	h->memory = bench_keep(r, memory);
	h->kernel = bench_keep_printf(r, "%s %s", name.sysname, name.release);
	h->governor =
		line_of(r, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL);
	h->n_processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
	h->load_start = bench_machine_load();
	return h->date && h->command && h->processor && h->memory && h->kernel &&
			       h->governor ?
		       NULL :
		       &err_nomem;
}
