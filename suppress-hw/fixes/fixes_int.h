// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What fix_names.c, fix_edit.c and fix_rules.c share. Private to this room.
 */
#ifndef SUPPRESS_HW_FIXES_FIXES_INT_H
#define SUPPRESS_HW_FIXES_FIXES_INT_H

#include "suppress-hw/fixes/fixes.h"

bool fix_is_comparison(const char *text);

/** Take "A|B" apart. @return false: it is none. */
bool fix_split(const char *fix, char from[4], char to[4]);

/** @return whether @p t is a whole number or a plain character. */
bool fix_number(const struct fix_token *t, int64_t *ret);

#endif
