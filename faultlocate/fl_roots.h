// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The roots of a specification: which variables of the program they are.
 */
#ifndef FAULTLOCATE_FL_ROOTS_H
#define FAULTLOCATE_FL_ROOTS_H

#include "base/base.h"
#include "decode/symbols/variable.h"
#include "specdsl/specdsl.h"

typedef VEC(struct dec_variable) fl_variables;

/** Find the variables that the roots of @p s are, and bind them; what is wrong with one is a
 * mistake in @p s. @p ret gets one for each, strings as long-lived as @p symbols. Behind
 * spec_bind_type() of all types, before spec_resolve(). @return NULL or ERR_NOMEM. */
struct err *fl_roots_bind(struct spec *s, struct dec_symbols *symbols, fl_variables *ret);

struct fl_analysis;

/** Add notes on roots that were not there when the constraints were checked. @return NULL or
 * ERR_NOMEM. */
struct err *fl_roots_note(struct fl_analysis *a);

#endif
