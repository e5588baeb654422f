// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What the suite `graph` measures of a capture, as shell variables.
 */
#include <stdio.h>

#include "bench/bench_graph.h"

int main(int argc, char **argv)
{
	struct graph_built g;
	struct err *err = NULL;

	if (argc == 2)
		err = bench_graph_build(argv[1], GRAPH_APP, &g);
	if (argc != 2 || err || g.failure[0]) {
		fprintf(stderr, "%s\n",
			argc != 2 ? "usage: tool_graph CAPTURE" :
			err	  ? err->message :
				    g.failure);
		return 1;
	}
	printf("changes=%lu nodes=%lu bytes=%lu snapshots=%.0f\n", g.changes, g.nodes,
	       g.bytes, g.snapshot_bytes);
	return 0;
}
