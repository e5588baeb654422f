// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What was asked at all? A run in which no constraint applied to anything says nothing about
 * the structure.
 */
#ifndef FAULTLOCATE_FL_ASKED_H
#define FAULTLOCATE_FL_ASKED_H

#include "faultlocate/fl_analysis.h"

/** @return whether there are constraints, none was asked for any binding at any C-point, and
 * nothing is violated. */
bool fl_asked_nothing(const struct fl_analysis *a);

/** @return how many nodes of spec type @p type there were in the run. */
uint64_t fl_asked_nodes(const struct fl_analysis *a, size_t type);

/** @return why constraint @p i was asked for no binding: a sentence's end, for people. */
const char *fl_asked_why_not(const struct fl_analysis *a, size_t i);

#endif
