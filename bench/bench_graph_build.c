// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_graph.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/capture.h"
#include "heapgraph/hg_infer.h"
#include "heapgraph/hg_record.h"

/*
 * Events of the replay are kept until there are some thousands, and then handed to the
 * graph under the stopwatch: so what building takes is told from what replaying takes, and
 * few enough are kept that they are still in the cache.
 */
#define KEPT_EVENTS 8192
#define KEPT_BYTES (256u << 10)

enum event_kind { EVENT_ALLOC, EVENT_RELEASE, EVENT_RELEASED, EVENT_REGION };

/** Anything but a store. */
struct event {
	uint64_t time, addr, size, rip, pc;
	size_t n_stores; ///< before it
	uint8_t kind;
	bool is_zeroed;
};

struct build {
	struct event events[KEPT_EVENTS];
	struct dec_heap_store stores[KEPT_EVENTS];
	size_t n_events, n_stores, n_bytes;
	uint8_t bytes[KEPT_BYTES];
	struct hg_recorder *recorder;
	struct dec_heap_events to;
	hg_plan plan; ///< GRAPH_INFERRED
	uint64_t n_handed_over;
	double build_s;
};

/* ---- events ------------------------------------------------------------------------------- */

static struct err *hand_over(const struct dec_heap_events *to, const struct event *e)
{
	switch (e->kind) {
	case EVENT_ALLOC:
		return to->alloc(to->ctx, e->time, e->addr, e->size, e->is_zeroed, e->rip,
				 e->pc);
	case EVENT_RELEASE:
		return to->release(to->ctx, e->time, e->addr, e->rip, e->pc);
	case EVENT_RELEASED:
		return to->released(to->ctx, e->time, e->addr);
	default:
		return to->region(to->ctx, e->time, e->addr, e->size, false);
	}
}

/** Events and the stores between them. */
static struct err *hand_over_all(const struct build *b)
{
	const struct dec_heap_events *to = &b->to;
	struct err *err = NULL;
	size_t done = 0;

	for (size_t i = 0; i <= b->n_events && !err; i++) {
		size_t n = i < b->n_events ? b->events[i].n_stores : b->n_stores;

		if (n > done)
			err = to->stores(to->ctx, b->stores + done, n - done);
		done = n;
		if (!err && i < b->n_events)
			err = hand_over(to, &b->events[i]);
	}
	return err;
}

/** What else runs on this processor is no cost of ours. */
static double cpu_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static struct err *flush(struct build *b)
{
	double start = cpu_now_s();
	struct err *err = hand_over_all(b);

	b->build_s += cpu_now_s() - start;
	b->n_handed_over += b->n_events + b->n_stores;
	b->n_events = b->n_stores = b->n_bytes = 0;
	return err;
}

static struct err *keep(struct build *b, const struct event *e)
{
	b->events[b->n_events] = *e;
	b->events[b->n_events++].n_stores = b->n_stores;
	return b->n_events == KEPT_EVENTS ? flush(b) : NULL;
}

static struct err *on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			    bool is_zeroed, uint64_t rip, uint64_t pc)
{
	struct event e = { .time = time,
			   .addr = addr,
			   .size = size,
			   .rip = rip,
			   .pc = pc,
			   .kind = EVENT_ALLOC,
			   .is_zeroed = is_zeroed };

	return keep(ctx, &e);
}

static struct err *on_release(void *ctx, uint64_t time, uint64_t addr, uint64_t rip,
			      uint64_t pc)
{
	struct event e = {
		.time = time, .addr = addr, .rip = rip, .pc = pc, .kind = EVENT_RELEASE
	};

	return keep(ctx, &e);
}

static struct err *on_released(void *ctx, uint64_t time, uint64_t addr)
{
	struct event e = { .time = time, .addr = addr, .kind = EVENT_RELEASED };

	return keep(ctx, &e);
}

static struct err *on_region(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			     bool is_stack)
{
	struct event e = {
		.time = time, .addr = addr, .size = size, .kind = EVENT_REGION
	};

	(void)is_stack;
	return keep(ctx, &e);
}

static struct err *keep_store(struct build *b, const struct dec_heap_store *s)
{
	struct err *err = NULL;

	if (b->n_stores == KEPT_EVENTS || b->n_bytes + s->size > KEPT_BYTES)
		err = flush(b);
	if (err)
		return err;
	assert(s->size <= KEPT_BYTES && "events of large writes come in pieces");
	b->stores[b->n_stores] = *s;
	b->stores[b->n_stores++].data = b->bytes + b->n_bytes;
	memcpy(b->bytes + b->n_bytes, s->data, s->size);
	b->n_bytes += s->size;
	return NULL;
}

static struct err *on_stores(void *ctx, const struct dec_heap_store *stores, size_t n)
{
	struct err *err = NULL;

	for (size_t i = 0; i < n && !err; i++)
		err = keep_store(ctx, &stores[i]);
	return err;
}

/* ---- counting ----------------------------------------------------------------------------- */

/** Add what the approach that stores the graph at each change would store. */
static struct err *add_snapshots(const struct hg_graph *g, struct graph_built *ret)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(g, 0, &v);
	uint64_t n_live = 0;
	struct hg_op op;

	while (!err && hg_view_forward(v, &op)) {
		n_live += op.kind == HG_OP_ALLOC;
		n_live -= op.kind == HG_OP_FREE;
		ret->snapshot_bytes += 8.0 * n_live;
	}
	return err;
}

static struct err *add_graph(const struct hg_graph *g, struct graph_built *ret)
{
	if (!g)
		return NULL;
	ret->changes += hg_graph_ops(g);
	ret->nodes += hg_graph_nodes(g);
	ret->bytes += hg_graph_bytes(g);
	return add_snapshots(g, ret);
}

static struct err *measure(struct build *b, struct graph_built *ret)
{
	struct hg_graph *app, *chunks;
	struct rusage usage;
	struct err *err;

	if (!getrusage(RUSAGE_SELF, &usage))
		ret->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	hg_recorder_finish(b->recorder, &app, &chunks);
	ret->build_s = b->build_s;
	ret->events = b->n_handed_over;
	err = add_graph(app, ret);
	if (!err)
		err = add_graph(chunks, ret);
	hg_graph_destroy(app);
	hg_graph_destroy(chunks);
	return err;
}

/* ---- the run ------------------------------------------------------------------------------ */

/** Find the nodes that the graph is to have. */
static struct err *infer(struct build *b, const struct capture *c,
			 struct dec_symbols *symbols, struct graph_built *ret)
{
	double start = clock_now_s();
	struct err *err = hg_infer(c, symbols, NULL, &b->plan);

	ret->infer_s = clock_now_s() - start;
	return err ? err : hg_recorder_follow(b->recorder, &b->plan);
}

static struct err *replay(struct build *b, const struct capture *c,
			  struct dec_symbols *symbols, struct graph_built *ret)
{
	struct dec_heap_events events = { .ctx = b,
					  .alloc = on_alloc,
					  .release = on_release,
					  .released = on_released,
					  .stores = on_stores,
					  .region = on_region };
	struct dec_heap_options options = {};
	struct dec_run run = {};
	struct err *err = dec_heap_trace(c, symbols, &options, &events, &run);

	if (!err)
		err = flush(b);
	if (!err && !run.has_matched)
		err = err_new(ERR_DIVERGED, "the replay left the recorded path: %s",
			      run.divergence ? run.divergence : "no reason known");
	ret->instructions = run.instructions;
	dec_run_deinit(&run);
	return err;
}

static struct err *build_from(struct build *b, const char *dir, enum graph_way way,
			      struct graph_built *ret)
{
	struct dec_symbols *symbols = NULL;
	struct capture *c = NULL;
	double start = clock_now_s();
	struct err *err = capture_open(dir, &c);

	if (!err)
		err = dec_symbols_create(c, &symbols);
	if (!err && way == GRAPH_INFERRED)
		err = infer(b, c, symbols, ret);
	if (!err)
		err = replay(b, c, symbols, ret);
	ret->wall_s = clock_now_s() - start;
	dec_symbols_destroy(symbols);
	capture_close(c);
	return err;
}

static void build(const char *dir, enum graph_way way, struct graph_built *ret)
{
	struct build *b = calloc(1, sizeof(*b));
	_cleanup_err_ struct err *err = b ? NULL : &err_nomem;

	if (!err)
		err = hg_recorder_create(way == GRAPH_ALLOCATOR, &b->recorder);
	if (!err) {
		hg_recorder_events(b->recorder, &b->to);
		err = build_from(b, dir, way, ret);
	}
	if (!err)
		err = measure(b, ret);
	if (err)
		snprintf(ret->failure, sizeof(ret->failure), "%s", err->message);
	if (b) {
		hg_recorder_destroy(b->recorder);
		vec_deinit(&b->plan);
	}
	free(b);
}

struct err *bench_graph_build(const char *dir, enum graph_way way,
			      struct graph_built *ret)
{
	struct err *err = NULL;
	int ends[2], status = 0;
	bool is_told;
	pid_t pid;

	*ret = (struct graph_built){};
	if (pipe(ends))
		return err_errno("cannot make a pipe");
	fflush(NULL); // what is not written yet would be written twice
	pid = fork();
	if (pid < 0)
		err = err_errno("cannot make a process");
	if (!pid) {
		alarm(GRAPH_LIMIT_S);
		build(dir, way, ret);
		_exit(write(ends[1], ret, sizeof(*ret)) != sizeof(*ret));
	}
	close(ends[1]);
	is_told = !err && read(ends[0], ret, sizeof(*ret)) == sizeof(*ret);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err || is_told)
		return err;
	ret->is_late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
	snprintf(ret->failure, sizeof(ret->failure),
		 ret->is_late ? "it takes longer than %d s" :
				"the process that built it ended with status %#x",
		 ret->is_late ? GRAPH_LIMIT_S : status);
	return NULL;
}
