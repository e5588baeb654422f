// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Lets the nodes of a plan be born and end in a graph, each when its time comes. Private to
 * heapgraph/.
 */
#ifndef HEAPGRAPH_HG_FOLLOW_H
#define HEAPGRAPH_HG_FOLLOW_H

#include "heapgraph/hg_int.h"
#include "heapgraph/hg_plan.h"

struct hg_follower;

/** All arguments are borrowed until hg_follower_destroy(). @p g keeps what is stored outside
 * of nodes: their contents at birth. @return NULL or ERR_NOMEM. */
struct err *hg_follower_create(const hg_plan *plan, struct hg_graph *g,
			       struct hg_follower **ret);
void hg_follower_destroy(struct hg_follower *f);
void hg_follower_destroyp(struct hg_follower **f);

/** It is @p time: do what was planned until now. @return NULL or ERR_NOMEM. */
struct err *hg_follower_advance(struct hg_follower *f, uint64_t time);

/** @return the time of what is planned next, UINT64_MAX for nothing. */
uint64_t hg_follower_due(const struct hg_follower *f);

#endif
