// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What IDTHDD does of its own where roles leave most of a text: an interpreter parses all of a program
 * before any of it fails, so all of it had a part in control. The lines that are nearest to the failure;
 * lines, statements and elements by their depth in brackets; words; halves of words. Each is asked about
 * once, and again where something beside it has gone. Private to reduce/.
 */
#ifndef FAULTLOCATE_REDUCE_TEXT_H
#define FAULTLOCATE_REDUCE_TEXT_H

#include "faultlocate/reduce/tree.h"

/** @return whether what @p t is of can be read as lines and words. */
bool fl_text_is_one(const struct fl_tree *t);

/** Reduce @p r, whose units are the bytes of such a text. */
struct err *fl_text_reduce(struct fl_reduce *r, const struct fl_tree *t);

#endif
