// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Windows of a run: one that is logged while the window behind it is gone over is the same as one that is
 * logged by itself.
 */
#include <string.h>

#include "faultlocate/slice/trace.h"
#include "tests/unit.h"

/** A window, kept. */
struct window {
	uint64_t begin, end;
	size_t n_log, n_entries;
	void *log, *entries;
	struct trace_stretch first;
};

static struct window keep(const struct fl_trace *t)
{
	const struct trace_window *w = &t->window;
	struct window kept = { .begin = w->begin,
			       .end = w->end,
			       .n_log = w->log.size,
			       .n_entries = w->entries.size,
			       .first = w->stretches.data[0] };

	assert_true(kept.n_log && kept.n_entries);
	kept.log = malloc(kept.n_log);
	kept.entries = malloc(kept.n_entries * sizeof(*w->entries.data));
	assert_true(kept.log && kept.entries);
	memcpy(kept.log, w->log.data, kept.n_log);
	memcpy(kept.entries, w->entries.data, kept.n_entries * sizeof(*w->entries.data));
	return kept;
}

static void same(const struct fl_trace *t, struct window *kept)
{
	const struct trace_window *w = &t->window;

	assert_int_equal(w->begin, kept->begin);
	assert_int_equal(w->end, kept->end);
	assert_int_equal(w->log.size, kept->n_log);
	assert_memory_equal(w->log.data, kept->log, kept->n_log);
	assert_int_equal(w->entries.size, kept->n_entries);
	assert_memory_equal(w->entries.data, kept->entries,
			    kept->n_entries * sizeof(*w->entries.data));
	assert_int_equal(w->stretches.data[0].tid, kept->first.tid);
	assert_int_equal(w->stretches.data[0].fs_base, kept->first.fs_base);
	free(kept->log);
	free(kept->entries);
}

static void ahead(void **state)
{
	const struct fl_trace_options o = { .end = 20000000, .at = 12000000 };
	const char *tmp = unit_env("TMPDIR");
	struct capture *c;
	struct fl_trace *t;
	struct window kept;
	uint64_t end, between;
	char dir[4096];

	(void)state;
	unit_run(
		"%s record -o %s/capture -- "
		"awk 'BEGIN { for (i = 0; i < 60000; i++) s += i %% 7; print s }' >%s/out",
		unit_env("FAULTLINE"), tmp, tmp);
	snprintf(dir, sizeof(dir), "%s/capture", tmp);
	ok(capture_open(dir, &c));
	ok(fl_trace_create(c, &o, &t));
	end = fl_trace_end(t)->position;
	// Where somebody is going to look, and not later for that where a window begins.
	assert_int_equal(dec_machine_checkpoint_before(t->machine, o.at + 1), o.at);

	// By itself.
	ok(fl_trace_load(t, 0, end));
	between = t->window.begin;
	assert_true(between > 0);
	assert_int_equal(dec_machine_checkpoint_before(t->machine, between + 1), between);
	ok(fl_trace_load(t, 0, between));
	kept = keep(t);

	// Meanwhile.
	ok(fl_trace_load(t, 0, end));
	fl_trace_read_ahead(t, 0, t->window.begin);
	assert_true(t->ahead.is_there);
	ok(fl_trace_load(t, 0, between));
	assert_false(t->ahead.is_there);
	same(t, &kept);

	// One that is not what is asked for next is no other's.
	ok(fl_trace_load(t, 0, end));
	fl_trace_read_ahead(t, 0, t->window.begin);
	ok(fl_trace_load(t, between - 1000, between));
	assert_int_equal(t->window.begin, between - 1000);
	kept = keep(t);
	ok(fl_trace_load(t, between - 1000, between));
	same(t, &kept);

	// There is none before the first; and one that nobody waits for is left.
	ok(fl_trace_load(t, between, end));
	fl_trace_read_ahead(t, between, t->window.begin);
	assert_false(t->ahead.is_there);
	fl_trace_read_ahead(t, 0, t->window.begin);
	fl_trace_destroy(t);
	capture_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(ahead) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
