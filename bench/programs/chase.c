// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Pointer-chasing: steps around one cycle through 65,536 nodes in random order, 4 MiB, more
 * than most second-level caches hold.
 */
#include "bench/programs/program.h"

#define NODES 65536

struct node {
	struct node *next;
	uint64_t value[7];
};

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), random = 1, sum = 0;
	struct node *nodes = calloc(NODES, sizeof(*nodes));
	uint32_t *order = malloc(NODES * sizeof(*order));
	struct node *at = nodes;

	if (!nodes || !order)
		return 1;
	for (uint32_t i = 0; i < NODES; i++)
		order[i] = i;
	for (uint32_t i = NODES - 1; i > 0; i--) {
		uint32_t j = random_next(&random) % (i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (uint32_t i = 0; i < NODES; i++) {
		nodes[order[i]].next = &nodes[order[(i + 1) % NODES]];
		nodes[i].value[0] = i;
	}
	for (uint64_t i = 0; i < n; i++) {
		sum += at->value[0];
		at = at->next;
	}
	printf("chase: sum %llx\n", (unsigned long long)sum);
	free(order);
	free(nodes);
	return 0;
}
