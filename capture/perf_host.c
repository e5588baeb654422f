// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture/perf_data.h"

uint64_t perf_clock_ns(const struct perf_clock *clock, uint64_t tsc)
{
	return clock->zero +
	       (uint64_t)(((unsigned __int128)tsc * clock->mult) >> clock->shift);
}

uint64_t perf_clock_tsc(const struct perf_clock *clock, uint64_t ns)
{
	// Before 0 where the TSC was not reset with the clock: modulo 2^64, as perf counts.
	uint64_t since = ns - clock->zero;

	if (!clock->mult || (int64_t)since < 0)
		return 0;
	return ((unsigned __int128)since << clock->shift) / clock->mult;
}

/** The text behind `key : ` when @p line has that key; its end is cut off. */
static char *value_of(char *line, const char *key)
{
	size_t n = strlen(key);
	char *value = strchr(line, ':');

	if (strncmp(line, key, n) || (line[n] != '\t' && line[n] != ' ') || !value)
		return NULL;
	value += strspn(value, ": ");
	value[strcspn(value, "\n")] = '\0';
	return value;
}

/** The first processor that /proc/cpuinfo describes. */
static void read_cpu(struct perf_host *h)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/cpuinfo", "re");
	char line[4096], vendor[64] = "", family[16] = "", model[16] = "", step[16] = "";

	while (f && fgets(line, sizeof(line), f) && line[0] != '\n') {
		char *v;

		if ((v = value_of(line, "vendor_id")))
			snprintf(vendor, sizeof(vendor), "%s", v);
		else if ((v = value_of(line, "cpu family")))
			snprintf(family, sizeof(family), "%s", v);
		else if ((v = value_of(line, "model name")) && !h->cpu_desc)
			h->cpu_desc = strdup(v);
		else if ((v = value_of(line, "model")) && v[strspn(v, "0123456789")] == 0)
			snprintf(model, sizeof(model), "%s", v);
		else if ((v = value_of(line, "stepping")))
			snprintf(step, sizeof(step), "%s", v);
	}
	if (vendor[0] &&
	    asprintf(&h->cpu_id, "%s,%s,%s,%s", vendor, family, model, step) < 0)
		h->cpu_id = NULL;
}

struct err *perf_host_init(struct perf_host *h)
{
	struct utsname u;

	*h = (struct perf_host){ .cpus_available = sysconf(_SC_NPROCESSORS_CONF),
				 .cpus_online = sysconf(_SC_NPROCESSORS_ONLN) };
	if (uname(&u))
		return err_errno("cannot name this machine");
	h->hostname = strdup(u.nodename);
	h->os_release = strdup(u.release);
	h->arch = strdup(u.machine);
	h->version = strdup("faultline " FAULTLINE_VERSION);
	read_cpu(h);
	return h->hostname && h->os_release && h->arch && h->version ? NULL : &err_nomem;
}

void perf_host_deinit(struct perf_host *h)
{
	free(h->hostname);
	free(h->os_release);
	free(h->version);
	free(h->arch);
	free(h->cpu_desc);
	free(h->cpu_id);
	*h = (struct perf_host){};
}
