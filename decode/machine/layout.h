// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Variables that have other places in a branch: the instructions that name one (relative to the
 * frame pointer, or to rip) name its other place, and what it held when the branch began is there.
 */
#ifndef DECODE_MACHINE_LAYOUT_H
#define DECODE_MACHINE_LAYOUT_H

#include "decode/machine/loose_int.h"

/** Add @p n to what is moved; first forget what there is, unless @p goes_on. @return err_nomem. */
struct err *dec_layout_add(const struct dec_moved *moved, size_t n, bool goes_on);

/** A branch begins: move what there is to be moved. */
struct err *dec_layout_apply(struct dec_replay *r);

#endif
