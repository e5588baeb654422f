// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which visits of functions' entries and returns lie outside of all operations on the
 * structure?
 */
#ifndef FAULTLOCATE_FL_OUTER_H
#define FAULTLOCATE_FL_OUTER_H

#include "faultlocate/fl_cpoints.h"

/**
 * An operation is a call of a function with C-points while no other is under way; those it calls
 * are parts of it. main, and what is called once and calls others many times, is no operation:
 * it does them.
 *
 * @param ret  A visit each, in their order: is it the begin or the end of an operation? Of an
 *	       inlined copy the end is not seen: what it calls seems to be outside.
 * @return NULL or ERR_NOMEM.
 */
struct err *fl_outer_find(const struct fl_cpoints *c, bool *ret);

#endif
