// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Lines for people that are gathered while something runs, each once.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stdarg.h>

#include "base/vec.h"

typedef VEC(char *) line_list;

/** Add a line, unless one that says the same (text_has_line()) is there. @return NULL or
 * err_nomem. */
struct err *lines_add(line_list *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
struct err *lines_add_list(line_list *l, const char *fmt, va_list ap);

/** Free them all; @p l is empty then. */
void lines_deinit(line_list *l);

#endif
