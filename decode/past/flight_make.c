// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A replay capture as the flight recorder would have left it: what begins the program is
 * dropped, the path becomes packets, allocator calls get their results from the replay.
 * What store probes told stays as it is.
 */
#include "decode/past/flight.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "decode/pt/from_capture.h"

enum { MAKE_PSB_BYTES = 16384 };

/* An allocation of the replay. */
struct make_alloc {
	uint64_t addr, size;
};

struct make {
	struct cap_copy copy;
	struct cap_core *core;
	VEC(struct make_alloc) allocs;
	size_t next; ///< of allocs
};

/* ---- results of allocator calls --------------------------------------------------------------- */

static struct err *make_on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
				 bool is_zeroed, uint64_t rip, uint64_t pc)
{
	struct make *m = ctx;
	struct make_alloc *a = vec_push(&m->allocs);

	(void)time;
	(void)is_zeroed;
	(void)rip;
	(void)pc;
	if (!a)
		return &err_nomem;
	*a = (struct make_alloc){ addr, size };
	return NULL;
}

static struct err *make_on_release(void *ctx, uint64_t time, uint64_t addr, uint64_t rip,
				   uint64_t pc)
{
	(void)ctx;
	(void)time;
	(void)addr;
	(void)rip;
	(void)pc;
	return NULL;
}

static struct err *make_on_released(void *ctx, uint64_t time, uint64_t addr)
{
	(void)ctx;
	(void)time;
	(void)addr;
	return NULL;
}

static struct err *make_on_stores(void *ctx, const struct dec_heap_store *stores,
				  size_t n)
{
	(void)ctx;
	(void)stores;
	(void)n;
	return NULL;
}

static struct err *make_replay(struct make *m)
{
	const struct dec_heap_events events = { .ctx = m,
						.alloc = make_on_alloc,
						.release = make_on_release,
						.released = make_on_released,
						.stores = make_on_stores };
	const struct dec_heap_options o = { 0 };
	struct dec_symbols *symbols = NULL;
	struct dec_run run = {};
	struct err *err = dec_symbols_create(m->copy.from, &symbols);

	if (!err)
		err = dec_heap_trace(m->copy.from, symbols, &o, &events, &run);
	if (!err && !run.has_matched)
		err = err_new(ERR_DIVERGED, "the replay left the recorded path: %s",
			      run.divergence ? run.divergence : "no reason known");
	dec_run_deinit(&run);
	dec_symbols_destroy(symbols);
	return err;
}

/* ---- the bundle ------------------------------------------------------------------------------------ */

/* A recorded call; and its result, when the replay's next allocation is of its size. */
static struct err *make_event(struct make *m, const struct cap_event *ev)
{
	const uint64_t *arg = ev->heap_args;
	struct cap_event done = { .kind = CAP_EV_HEAP_DONE,
				  .tid = ev->tid,
				  .at_ns = ev->at_ns,
				  .heap_fn = ev->heap_fn };
	uint64_t size = ev->heap_fn == CAP_HEAP_MALLOC ? arg[0] :
			ev->heap_fn == CAP_HEAP_CALLOC ? arg[0] * arg[1] :
							 arg[1];
	struct err *err = cap_writer_event(m->copy.to, ev);

	if (err || ev->heap_fn == CAP_HEAP_FREE || m->next >= m->allocs.size ||
	    m->allocs.data[m->next].size != size)
		return err;
	done.heap_args[0] = m->allocs.data[m->next++].addr;
	return cap_writer_event(m->copy.to, &done);
}

static struct err *on_event(void *ctx, const struct cap_event *ev)
{
	struct make *m = ctx;

	if (ev->kind == CAP_EV_HEAP)
		return make_event(m, ev);
	return ev->kind == CAP_EV_PROBE ? cap_writer_event(m->copy.to, ev) : NULL;
}

static struct err *make_packets(struct make *m)
{
	_cleanup_(new_file_deinit) struct new_file file = {};
	struct dec_encode_result result = {};
	const struct dec_encode_options o = { .file = &file,
					      .psb_bytes = MAKE_PSB_BYTES,
					      .compresses_returns = true };
	struct err *err = new_file_open_in(&file, cap_writer_dir_fd(m->copy.to),
					   "perf.data", "perf.data");

	if (!err)
		err = dec_encode(m->copy.from, &o, &result);
	dec_encode_deinit(&result);
	return err ?: new_file_commit(&file);
}

static struct err *make_finish(struct make *m)
{
	struct cap_info info = *capture_info(m->copy.from);

	info.mode = CAP_MODE_FLIGHT;
	info.pt = (struct cap_pt){ .is_wanted = true, .is_recorded = true };
	return cap_copy_finish(&m->copy, &info);
}

struct err *dec_flight_make(const struct capture *c, const char *dir)
{
	struct make m = { .copy = { .from = c } };
	struct err *err = NULL;

	if (capture_info(c)->mode == CAP_MODE_FLIGHT)
		return err_new(ERR_UNSUPPORTED, "it is the flight recorder's already");
	if (!capture_info(c)->end_core.reason)
		return err_new(ERR_NOT_FOUND,
			       "the capture has no end.core (record with --end-core)");
	err = make_replay(&m);
	if (!err)
		err = cap_end_core_open(c, &m.core);
	if (!err)
		err = cap_writer_create(dir, &m.copy.to);
	if (!err)
		err = cap_copy_files(&m.copy);
	if (!err)
		err = cap_copy_core(&m.copy, m.core);
	if (!err)
		err = cap_events_each(m.copy.from, on_event, &m);
	if (!err)
		err = make_packets(&m);
	if (!err)
		err = make_finish(&m);
	if (err && m.copy.to)
		cap_writer_remove(take_ptr(&m.copy.to));
	cap_writer_destroy(m.copy.to);
	if (m.core)
		cap_core_close(m.core);
	vec_deinit(&m.allocs);
	free(m.copy.file);
	return err;
}
