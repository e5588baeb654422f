// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/reduce/reduce.h"

#include <ctype.h>
#include <string.h>

#define UNITS_MAX ((size_t)1 << 28)

/* @return how many bytes the UTF-8 character at @p p has, of @p left; 1 where there is none. */
static size_t char_size(const uint8_t *p, size_t left)
{
	size_t n = *p < 0xc2 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 1;

	if (n > left)
		return 1;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

static size_t line_size(const uint8_t *p, size_t left)
{
	const uint8_t *end = memchr(p, '\n', left);

	return end ? (size_t)(end - p) + 1 : left;
}

static bool is_word(uint8_t c)
{
	return isalnum(c) || c == '_' || c >= 0x80;
}

static size_t token_size(const uint8_t *p, size_t left)
{
	bool is_blank = isspace(*p);
	size_t n = 1;

	if (!is_blank && !is_word(*p))
		return 1;
	while (n < left && (is_blank ? isspace(p[n]) != 0 : is_word(p[n])))
		n++;
	return n;
}

struct err *fl_units_split(enum fl_unit_kind kind, const uint8_t *data, size_t size,
			   fl_units *units)
{
	struct err *err = NULL;

	for (size_t at = 0, n; at < size && !err; at += n) {
		const uint8_t *p = data + at;
		size_t left = size - at;

		n = kind == FL_UNIT_CHARS  ? char_size(p, left) :
		    kind == FL_UNIT_LINES  ? line_size(p, left) :
		    kind == FL_UNIT_TOKENS ? token_size(p, left) :
					     1;
		if (units->size == UNITS_MAX)
			return err_new(ERR_UNSUPPORTED,
				       "the input has more than %zu parts: reduce it by "
				       "lines first (--method lines)",
				       UNITS_MAX);
		err = vec_add(units, (struct fl_unit){ at, at + n });
	}
	return err;
}
