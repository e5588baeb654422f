// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Objects that the user wrote: state machines of doc/linear.md, evaluated.
 */
#ifndef FAULTLOCATE_LINEAR_MACHINE_H
#define FAULTLOCATE_LINEAR_MACHINE_H

#include "faultlocate/linear/linear.h"
#include "faultlocate/linear/states.h"

/** @return the index of the operation called @p name; -1: there is none. */
int fl_lin_machine_operation(const struct spec_object *m, const char *name, size_t n);

/** @return the name of operation @p i, NULL behind the last. */
const char *fl_lin_machine_name(const struct spec_object *m, int i);
unsigned fl_lin_machine_args(const struct spec_object *m, int i);

/** @return whether operation @p i assigns nothing. */
bool fl_lin_machine_observes(const struct spec_object *m, int i);

/** @return what @p op is asked about alone: the value of the operation's key, or LIN_NONE. */
int64_t fl_lin_machine_key(const struct spec_object *m, const struct fl_lin_op *op);

/** As fl_lin_model_begin() and fl_lin_model_step(). */
uint32_t fl_lin_machine_begin(const struct spec_object *m, struct fl_lin_states *s);
bool fl_lin_machine_step(const struct spec_object *m, struct fl_lin_states *s,
			 uint32_t state, const struct fl_lin_op *op, uint32_t *ret);

#endif
