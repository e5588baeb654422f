// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Functions of C and C++ from which no call comes back, by their names.
 */
#ifndef BASE_NORETURN_H
#define BASE_NORETURN_H

#include <stdbool.h>
#include <stddef.h>

/** @return whether a function of the name that is the first @p n bytes of @p name is one. */
bool noreturn_is(const char *name, size_t n);

#endif
