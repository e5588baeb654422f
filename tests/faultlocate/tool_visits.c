// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_visits CAPTURE SPEC FUNCTION...`: the visits of the functions' C-points, how much of the
 * heap's history is before each, must be the same where all of the run is looked at and where
 * its calls alone are (fl_replay_visits()). Prints how many visits there were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faultlocate/fl_stages.h"

/** A visit, and the name of its C-point, which a replay may make anew. */
struct named {
	const char *cpoint;
	struct hg_position at;
};

typedef VEC(struct named) visits;

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_visits: %s\n", err->message);
	exit(2);
}

static visits visits_of(const struct fl_analysis *a)
{
	visits ret = {};

	for (size_t i = 0; i < fl_cpoints_visits(a->cpoints); i++) {
		const struct fl_visit *v = fl_cpoints_visit_at(a->cpoints, i);
		struct named n = { fl_cpoints_get(a->cpoints, v->cpoint)->name, v->at };

		check(vec_add(&ret, n));
	}
	return ret;
}

static bool is_same(const struct named *a, const struct named *b)
{
	return strcmp(a->cpoint, b->cpoint) == 0 && a->at.time == b->at.time &&
	       a->at.app_ops == b->at.app_ops;
}

static int compare(const visits *all, const visits *calls)
{
	for (size_t i = 0; i < all->size && i < calls->size; i++)
		if (!is_same(&all->data[i], &calls->data[i])) {
			fprintf(stderr, "at %lu: %lu operations, and %lu at %lu\n",
				all->data[i].at.time, all->data[i].at.app_ops,
				calls->data[i].at.app_ops, calls->data[i].at.time);
			return 1;
		}
	if (all->size != calls->size)
		fprintf(stderr, "%zu visits, and %zu\n", all->size, calls->size);
	return all->size != calls->size;
}

int main(int argc, char **argv)
{
	struct fl_options o = { .may_be_fine = true };
	struct fl_analysis a = {};
	visits all, calls;
	int differ;

	if (argc < 4)
		return 2;
	o.capture = argv[1];
	o.specs = (const char *const *)&argv[2];
	o.n_specs = 1;
	o.cpoints = (const char *const *)&argv[3];
	o.n_cpoints = argc - 3;
	check(fl_analysis_run(&o, &a));
	fl_replay_wants_whole(&o, &a); // or the other one would be all of it, too
	check(fl_replay_once(&o, &a));
	all = visits_of(&a);
	check(fl_replay_visits(&o, &a));
	calls = visits_of(&a);
	differ = compare(&all, &calls);
	printf("%zu visits\n", all.size);
	vec_deinit(&all);
	vec_deinit(&calls);
	fl_analysis_deinit(&a);
	return differ;
}
