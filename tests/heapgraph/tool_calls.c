// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_calls CAPTURE`: asks for the calls under way at the allocations of the run, at every 7th
 * of them, twice: while all stores are told, and while nothing else is, so that the log has calls
 * alone. They must be the same. Prints how many calls there were.
 */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "decode/history/heap.h"

typedef VEC(uint64_t) numbers;

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_calls: %s\n", err->message);
	exit(2);
}

static struct err *on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			    bool is_zeroed, uint64_t rip, uint64_t pc)
{
	numbers *times = ctx;

	(void)addr, (void)size, (void)is_zeroed, (void)rip, (void)pc;
	return times->size && times->data[times->size - 1] == time ? NULL :
								     vec_add(times, time);
}

static struct err *on_stores(void *ctx, const struct dec_heap_store *stores, size_t n)
{
	(void)ctx, (void)stores, (void)n;
	return NULL;
}

static struct err *on_calls(void *ctx, uint64_t time, const uint64_t *calls, size_t n)
{
	numbers *told = ctx;
	struct err *err = vec_add(told, time);

	for (size_t i = 0; i < n && !err; i++)
		err = vec_add(told, calls[i]);
	return err;
}

static void trace(const struct capture *c, const struct dec_heap_options *o,
		  const struct dec_heap_events *ev)
{
	struct dec_symbols *symbols = NULL;
	struct dec_run run = {};

	check(dec_symbols_create(c, &symbols));
	check(dec_heap_trace(c, symbols, o, ev, &run));
	dec_run_deinit(&run);
	dec_symbols_destroy(symbols);
}

static void ask(const struct capture *c, const numbers *times,
		const struct dec_heap_events *ev, numbers *ret)
{
	struct dec_heap_options o = { .calls_at = times->data,
				      .n_calls_at = times->size,
				      .calls = on_calls,
				      .calls_ctx = ret };

	trace(c, &o, ev);
}

int main(int argc, char **argv)
{
	numbers times = {}, some = {}, with = {}, alone = {};
	const struct dec_heap_events allocations = { .ctx = &times, .alloc = on_alloc };
	const struct dec_heap_events stores = { .stores = on_stores }, nothing = {};
	const struct dec_heap_options none = {};
	struct capture *c = NULL;
	bool are_same;

	if (argc != 2)
		return 2;
	check(capture_open(argv[1], &c));
	trace(c, &none, &allocations);
	for (size_t i = 0; i < times.size; i += 7)
		check(vec_add(&some, times.data[i]));
	ask(c, &some, &stores, &with);
	ask(c, &some, &nothing, &alone);
	are_same = with.size == alone.size &&
		   !memcmp(with.data, alone.data, with.size * sizeof(*with.data));
	printf("%zu calls at %zu times\n", with.size - some.size, some.size);
	vec_deinit(&times);
	vec_deinit(&some);
	vec_deinit(&with);
	vec_deinit(&alone);
	capture_close(c);
	return !are_same;
}
