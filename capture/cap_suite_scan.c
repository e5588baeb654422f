// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/cap_suite_scan.h"

#include <stdbool.h>
#include <string.h>

#include "capture/cap_format.h"

static struct err *no_json(void)
{
	return err_new(ERR_FORMAT, "not valid JSON");
}

static struct err *put(cap_suite_text *text, int c)
{
	if (c == EOF || !c || text->size >= CAP_LIST_MAX)
		return no_json();
	return vec_add(text, (char)c);
}

/** The next that is no blank. */
static int next(FILE *f)
{
	int c;

	do
		c = getc_unlocked(f);
	while (c && c != EOF && strchr(" \t\r\n", c));
	return c;
}

/** A string, whose first quote was read, with its quotes. */
static struct err *scan_string(FILE *f, cap_suite_text *text)
{
	struct err *err = put(text, '"');
	int c = 0;

	while (!err && c != '"') {
		c = getc_unlocked(f);
		err = put(text, c);
		if (!err && c == '\\')
			err = put(text, getc_unlocked(f));
	}
	return err;
}

/** An object, whose first brace was read. */
static struct err *scan_object(FILE *f, cap_suite_text *text)
{
	struct err *err = put(text, '{');
	int depth = 1, c;

	while (!err && depth) {
		c = getc_unlocked(f);
		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		err = c == '"' ? scan_string(f, text) : put(text, c);
	}
	return err ?: vec_add(text, 0);
}

struct err *cap_suite_scan_test(FILE *f, cap_suite_text *ret)
{
	int c = next(f);

	if (c == ',')
		c = next(f);
	ret->size = 0;
	return c == '{' ? scan_object(f, ret) : no_json();
}

/** The tests, behind the bracket that begins their array. */
static struct err *scan_tests(FILE *f, cap_suite_scan_fn *each, void *ctx)
{
	cap_suite_text text = {};
	int c = next(f);
	struct err *err = NULL;

	while (!err && c == '{') {
		uint64_t at = ftello(f) - 1;

		text.size = 0;
		err = scan_object(f, &text);
		if (!err)
			err = each(ctx, text.data, at);
		c = next(f);
		if (c != ',')
			break;
		c = next(f);
		if (c != '{')
			err = err ?: no_json();
	}
	vec_deinit(&text);
	return err || c == ']' ? err : no_json();
}

struct err *cap_suite_scan(FILE *f, cap_suite_scan_fn *each, void *ctx,
			   cap_suite_text *rest)
{
	static const char key[] = "\"tests\"";
	struct err *err = NULL;
	size_t last = 0; // where the last string begins
	int depth = 0, c;

	while (!err && (c = getc_unlocked(f)) != EOF) {
		if (c == '"') {
			last = rest->size;
			err = scan_string(f, rest);
			continue;
		}
		err = put(rest, c);
		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		if (!err && c == '[' && depth == 2 && rest->size - last > strlen(key) &&
		    !strncmp(rest->data + last, key, strlen(key))) {
			depth--;
			err = scan_tests(f, each, ctx);
			if (!err)
				err = put(rest, ']');
		}
		if (c == ',')
			last = rest->size;
	}
	if (!err && ferror(f))
		return err_errno("cannot read it");
	return err ?: vec_add(rest, 0);
}
