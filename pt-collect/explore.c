// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * record --until-fail: one recording after the other, each with its own schedule, until
 * the program fails. The kernel side is loaded once.
 */
#define LOG_ROOM "record"
#include <string.h>

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/inputs/points.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/record.h"

#define PROGRESS_NS 100000000ull

/** On a terminal, which run this is; -1 wipes the line. */
static void show_progress(const struct ptc_options *o, int run, uint64_t *last_ns)
{
	uint64_t now_ns = ptc_now_ns();

	if (!isatty(STDERR_FILENO) || (run >= 0 && now_ns - *last_ns < PROGRESS_NS))
		return;
	*last_ns = now_ns;
	if (run < 0)
		fputs(TEXT_AGAIN, stderr);
	else
		fprintf(stderr, TEXT_AGAIN "faultline: run %d of %u", run, o->until_fail);
	fflush(stderr);
}

bool ptc_result_is_failure(const struct ptc_result *r)
{
	return r->has_hung || r->status || r->is_judged;
}

struct err *ptc_explore(const struct ptc_options *o, struct ptc_result *ret,
			unsigned *n_runs)
{
	_cleanup_(ptc_points_deinit) struct ptc_points points = {};
	struct ptc_options run = *o;
	uint64_t shown_ns = ptc_now_ns();
	struct ptc_bpf *b = NULL;
	struct err *err = ptc_bpf_create(ptc_parts_wanted(o), &ptc_table, &b);

	for (*n_runs = 0; !err && *n_runs < o->until_fail; run.seed++) {
		ptc_result_deinit(ret);
		memset(ret, 0, sizeof(*ret));
		show_progress(o, ++*n_runs, &shown_ns);
		err = ptc_record_once(&run, b, o->wants_chaos ? &points : NULL, ret);
		if (err || ret->is_asked_to_end || ptc_result_is_failure(ret))
			break;
	}
	show_progress(o, -1, &shown_ns);
	ptc_bpf_destroy(b);
	return err;
}
