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
	const struct capture *capture;
	struct cap_core *core;
	struct cap_writer *writer;
	uint32_t *file; ///< by index in the old capture: its index in the new one
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
	struct err *err = dec_symbols_create(m->capture, &symbols);

	if (!err)
		err = dec_heap_trace(m->capture, symbols, &o, &events, &run);
	if (!err && !run.has_matched)
		err = err_new(ERR_DIVERGED, "the replay left the recorded path: %s",
			      run.divergence ? run.divergence : "no reason known");
	dec_run_deinit(&run);
	dec_symbols_destroy(symbols);
	return err;
}

/* ---- the bundle ------------------------------------------------------------------------------------ */

static struct err *make_files(struct make *m)
{
	const struct cap_info *info = capture_info(m->capture);
	struct err *err = NULL;

	m->file = calloc(info->n_files + 1, sizeof(*m->file));
	if (!m->file)
		return &err_nomem;
	for (size_t i = 0; i < info->n_files && !err; i++) {
		int fd;

		if (!info->files[i].stored)
			continue;
		err = capture_file_open(m->capture, i + 1, &fd);
		if (err)
			break;
		err = cap_writer_file(m->writer, fd, info->files[i].path,
				      &m->file[i + 1]);
		close(fd);
	}
	return err;
}

static struct err *make_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct make *m = ctx;

	return cap_core_read(m->capture, m->core, addr, buf, size);
}

static struct err *make_core(struct make *m)
{
	struct cap_mapping *old = m->core->mappings, *new;
	struct cap_core to = *m->core;
	struct err *err;

	new = malloc((to.n_mappings + 1) * sizeof(*new));
	if (!new)
		return &err_nomem;
	for (size_t i = 0; i < to.n_mappings; i++) {
		new[i] = old[i];
		new[i].file = m->file[old[i].file];
	}
	to.mappings = new;
	to.exe = capture_info(m->capture)->exe; // a core that was read has none
	err = cap_writer_core(m->writer, &to, make_read, m);
	free(new);
	return err;
}

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
	struct err *err = cap_writer_event(m->writer, ev);

	if (err || ev->heap_fn == CAP_HEAP_FREE || m->next >= m->allocs.size ||
	    m->allocs.data[m->next].size != size)
		return err;
	done.heap_args[0] = m->allocs.data[m->next++].addr;
	return cap_writer_event(m->writer, &done);
}

static struct err *on_event(void *ctx, const struct cap_event *ev)
{
	struct make *m = ctx;

	if (ev->kind == CAP_EV_HEAP)
		return make_event(m, ev);
	return ev->kind == CAP_EV_PROBE ? cap_writer_event(m->writer, ev) : NULL;
}

static struct err *make_packets(struct make *m)
{
	_cleanup_(new_file_deinit) struct new_file file = {};
	struct dec_encode_result result = {};
	const struct dec_encode_options o = { .file = &file,
					      .psb_bytes = MAKE_PSB_BYTES,
					      .compresses_returns = true };
	struct err *err = new_file_open_in(&file, cap_writer_dir_fd(m->writer),
					   "perf.data", "perf.data");

	if (!err)
		err = dec_encode(m->capture, &o, &result);
	dec_encode_deinit(&result);
	return err ?: new_file_commit(&file);
}

static struct err *make_finish(struct make *m)
{
	const struct cap_info *old = capture_info(m->capture);
	struct cap_info info = *old;
	_cleanup_free_ struct cap_heap_site *sites =
		calloc(old->n_heap_sites + 1, sizeof(*sites));
	_cleanup_free_ struct cap_store_site *stores =
		calloc(old->n_store_sites + 1, sizeof(*stores));
	struct err *err;
	uint64_t bytes;

	if (!sites || !stores)
		return &err_nomem;
	for (size_t i = 0; i < old->n_heap_sites; i++) {
		sites[i] = old->heap_sites[i];
		sites[i].file = m->file[sites[i].file];
	}
	for (size_t i = 0; i < old->n_store_sites; i++) {
		stores[i] = old->store_sites[i];
		stores[i].file = m->file[stores[i].file];
	}
	info.mode = CAP_MODE_FLIGHT;
	info.heap_sites = sites;
	info.store_sites = stores;
	info.missing = NULL;
	info.n_missing = 0;
	info.processes = NULL;
	info.n_processes = 0;
	info.pt = (struct cap_pt){ .is_wanted = true, .is_recorded = true };
	err = cap_writer_finish(m->writer, &info, &bytes);
	for (size_t i = 0; i < info.n_missing; i++)
		free(info.missing[i]);
	free(info.missing);
	return err;
}

struct err *dec_flight_make(const struct capture *c, const char *dir)
{
	struct make m = { .capture = c };
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
		err = cap_writer_create(dir, &m.writer);
	if (!err)
		err = make_files(&m);
	if (!err)
		err = make_core(&m);
	if (!err)
		err = cap_events_each(m.capture, on_event, &m);
	if (!err)
		err = make_packets(&m);
	if (!err)
		err = make_finish(&m);
	if (err && m.writer)
		cap_writer_remove(take_ptr(&m.writer));
	cap_writer_destroy(m.writer);
	if (m.core)
		cap_core_close(m.core);
	vec_deinit(&m.allocs);
	free(m.file);
	return err;
}
