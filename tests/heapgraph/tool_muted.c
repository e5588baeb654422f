// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_muted CAPTURE PIECE...`: builds the heap graph of a program whose nodes are those of 48 bytes with
 * all stores in the log, and again for each PIECE, with pages muted every so many instructions
 * (dec_machine_mute()). Each operation must be the same, and what each node holds at its birth
 * and at the end. Exit status 1 if not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heapgraph/hg_record.h"

#define NODE 48

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_muted: %s\n", err->message);
	exit(2);
}

static bool is_node(void *ctx, uint64_t rip, uint64_t size)
{
	(void)ctx, (void)rip;
	return size == NODE;
}

static struct hg_graph *build(const struct capture *c, uint64_t piece)
{
	struct dec_heap_options options = {};
	struct dec_symbols *symbols = NULL;
	struct hg_recorder *r = NULL;
	struct hg_graph *ret, *none;
	struct dec_heap_events ev;
	struct dec_run run = {};

	dec_heap_piece = piece;
	check(dec_symbols_create(c, &symbols));
	check(hg_recorder_create(false, &r));
	hg_recorder_ask(r, is_node, NULL);
	hg_recorder_events(r, &ev);
	check(dec_heap_trace(c, symbols, &options, &ev, &run));
	if (!run.has_matched) {
		fprintf(stderr, "piece %lu: %s\n", piece, run.divergence);
		exit(1);
	}
	hg_recorder_finish(r, &ret, &none);
	dec_run_deinit(&run);
	hg_recorder_destroy(r);
	dec_symbols_destroy(symbols);
	return ret;
}

static bool holds_alike(struct hg_view *a, struct hg_view *b, struct hg_node_id id)
{
	for (uint64_t at = 0; at < NODE; at += 8) {
		uint64_t x = 0, y = 0;

		if (hg_view_read(a, id, at, 8, &x) != hg_view_read(b, id, at, 8, &y) ||
		    x != y) {
			fprintf(stderr, "n%u+%lu holds %#lx, and %#lx\n", id.v, at, x, y);
			return false;
		}
	}
	return true;
}

/* What realloc() releases is told when it returns: at its beginning, or the last store that was told. */
static bool is_alike(const struct hg_op *a, const struct hg_op *b)
{
	return a->kind == b->kind && (a->time == b->time || a->kind == HG_OP_FREE) &&
	       a->rip == b->rip && a->node.v == b->node.v && a->addr == b->addr &&
	       a->size == b->size && a->after == b->after;
}

/* @return whether the graphs are the same. */
static bool compare(const struct hg_graph *known, const struct hg_graph *muted,
		    uint64_t *ret_compared)
{
	_cleanup_(hg_view_destroyp) struct hg_view *a = NULL, *b = NULL;
	struct hg_op x, y;

	check(hg_view_create(known, 0, &a));
	check(hg_view_create(muted, 0, &b));
	for (uint64_t i = 0;; i++) {
		bool is_more = hg_view_forward(a, &x);

		if (is_more != hg_view_forward(b, &y) || (is_more && !is_alike(&x, &y))) {
			fprintf(stderr,
				"operation %lu: kind %d, n%u, at %#lx holds %#lx (time %lu, "
				"by %#lx), and kind %d, n%u, at %#lx, %#lx (%lu, %#lx)\n",
				i, x.kind, x.node.v, x.addr, x.after, x.time, x.rip,
				y.kind, y.node.v, y.addr, y.after, y.time, y.rip);
			return false;
		}
		if (!is_more)
			return true;
		if (x.kind == HG_OP_ALLOC && hg_graph_node(known, x.node)->size == NODE &&
		    !holds_alike(a, b, x.node))
			return false;
		++*ret_compared;
	}
}

int main(int argc, char **argv)
{
	struct hg_graph *known, *muted;
	struct capture *c = NULL;
	uint64_t compared = 0;
	bool is_same = true;

	if (argc < 3)
		return 2;
	check(capture_open(argv[1], &c));
	known = build(c, UINT64_MAX);
	for (int i = 2; i < argc; i++) {
		muted = build(c, strtoull(argv[i], NULL, 10));
		is_same &= compare(known, muted, &compared);
		hg_graph_destroy(muted);
	}
	hg_graph_destroy(known);
	capture_close(c);
	printf("compared %lu\n", compared);
	return !is_same;
}
