// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/lines.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"

struct err *lines_add_list(line_list *l, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	struct err *err;

	if (vasprintf(&text, fmt, ap) < 0) {
		text = NULL;
		return &err_nomem;
	}
	for (size_t i = 0; i < l->size; i++)
		if (text_has_line(l->data[i], text))
			return NULL;
	err = vec_add(l, text);
	if (!err)
		take_ptr(&text);
	return err;
}

struct err *lines_add(line_list *l, const char *fmt, ...)
{
	struct err *err;
	va_list ap;

	va_start(ap, fmt);
	err = lines_add_list(l, fmt, ap);
	va_end(ap);
	return err;
}

void lines_deinit(line_list *l)
{
	for (size_t i = 0; i < l->size; i++)
		free(l->data[i]);
	vec_deinit(l);
}
