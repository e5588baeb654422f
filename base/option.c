// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

uint64_t option_number(struct argp_state *state, const char *what, const char *arg,
		       uint64_t min, uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(arg, &end, 0);
	if (errno || end == arg || *end || *arg == '-' || v < min || v > max)
		argp_error(state, "%s must be a number from %llu to %llu, not '%s'", what,
			   (unsigned long long)min, (unsigned long long)max, arg);
	return v;
}

/* @p bytes as people write it. @return buf */
static const char *size_text(uint64_t bytes, char buf[32])
{
	static const char *const suffixes[] = { "", "K", "M", "G" };
	int shift = 0;

	while (shift < 30 && bytes && !(bytes >> shift & 1023))
		shift += 10;
	snprintf(buf, 32, "%llu%s", (unsigned long long)(bytes >> shift),
		 suffixes[shift / 10]);
	return buf;
}

uint64_t option_bytes(struct argp_state *state, const char *what, const char *arg,
		      uint64_t min, uint64_t max)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned long long v;
	char low[32], high[32];
	unsigned shift = 0;
	char *end;

	errno = 0;
	v = strtoull(arg, &end, 10);
	suffix = *end ? strchr(suffixes, *end & ~0x20) : NULL;
	if (suffix) {
		shift = 10 * (suffix - suffixes + 1);
		end++;
	}
	if (errno || end == arg || *end || *arg == '-' || v > max >> shift ||
	    v << shift < min)
		argp_error(state, "%s must be from %s to %s, not '%s'", what,
			   size_text(min, low), size_text(max, high), arg);
	return v << shift;
}

double option_seconds(struct argp_state *state, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v > 0) || v > 1e9)
		argp_error(state, "SECONDS must be a number greater than 0, not '%s'",
			   arg);
	return v;
}

uint32_t option_tid(struct argp_state *state, const char *arg)
{
	return option_number(state, "a thread id", arg, 1, INT32_MAX);
}

FILE *option_talk(struct argp_state *state, const char *const *paths, size_t n,
		  bool prints_json)
{
	size_t n_stdout = 0;

	for (size_t i = 0; i < n; i++)
		n_stdout += file_is_stdout(paths[i]);
	if (n_stdout && n_stdout + prints_json > 1)
		argp_error(state, "only one result can go to stdout: name a file "
				  "for the others");
	return n_stdout ? stderr : stdout;
}

error_t option_only(struct argp_state *state, int key, char *arg, const char *what,
		    const char **slot)
{
	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "which %s?", what);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*slot)
		argp_error(state, "one %s at a time, not also '%s'", what, arg);
	*slot = arg;
	return 0;
}
