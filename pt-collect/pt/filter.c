// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Address filters: from functions of files to the ranges of bytes of files that the kernel
 * wants (PERF_EVENT_IOC_SET_FILTER). It follows where the files are mapped by itself.
 */
#define LOG_ROOM "record"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pt-collect/pt/pt.h"
#include "pt-collect/probes/symbol.h"

/** One filter as the user wrote it; pieces of a copy. */
struct parts {
	const char *action;	   ///< the kernel's word
	char *first, *size, *file; ///< size and file may be NULL
};

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	return text + strspn(text, " \t");
}

/** Cut @p text at @p c. @return what is behind it; NULL = there is none. */
static char *cut(char *text, char c)
{
	char *at = strchr(text, c);

	if (!at)
		return NULL;
	*at = 0;
	return trim(at + 1);
}

static struct err *find_action(const char *word, const char **ret)
{
	if (!strcmp(word, "filter"))
		*ret = "filter";
	else if (!strcmp(word, "tracestop"))
		*ret = "stop"; // over a range that is what the kernel calls it
	else if (!strcmp(word, "start") || !strcmp(word, "stop"))
		return err_new(ERR_USAGE,
			       "'%s' of a filter: Intel PT has ranges only ('filter', "
			       "'tracestop')",
			       word);
	else
		return err_new(ERR_USAGE,
			       "a filter begins with 'filter' or 'tracestop', not '%s'",
			       word);
	return NULL;
}

/** Take apart "ACTION FIRST [/ SIZE] [@ FILE]". */
static struct err *take_apart(char *text, struct parts *p)
{
	char *word = trim(text), *rest = word + strcspn(word, " \t");
	struct err *err;

	if (*rest)
		*rest++ = 0;
	err = find_action(word, &p->action);
	if (err)
		return err;
	p->file = cut(rest, '@');
	p->size = cut(rest, '/');
	p->first = trim(rest);
	if (!*p->first || (p->size && !*p->size) || (p->file && !*p->file))
		return err_new(ERR_USAGE,
			       "a filter is '%s FUNCTION [/ LAST or SIZE] [@ FILE]'",
			       word);
	return NULL;
}

static bool is_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 0);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

/** All of the file. */
static struct err *whole_file(const char *path, struct ptc_symbol *ret)
{
	struct stat st;

	if (stat(path, &st))
		return err_errno("cannot open '%s'", path);
	*ret = (struct ptc_symbol){ 0, st.st_size };
	return NULL;
}

/** The range of @p p in file @p path. */
static struct err *find_range(const struct parts *p, const char *path,
			      struct ptc_symbol *ret)
{
	struct ptc_symbol last;
	struct err *err = NULL;
	uint64_t size;

	if (!strcmp(p->first, "*"))
		return whole_file(path, ret);
	*ret = (struct ptc_symbol){};
	if (!is_number(p->first, &ret->offset))
		err = ptc_symbol_find(path, p->first, ret);
	if (err)
		return err;
	if (p->size && is_number(p->size, &size)) {
		ret->size = size;
	} else if (p->size) {
		err = ptc_symbol_find(path, p->size, &last);
		if (err)
			return err;
		if (last.offset < ret->offset)
			return err_new(ERR_USAGE, "'%s' stands before '%s' in '%s'",
				       p->size, p->first, path);
		ret->size = last.offset + last.size - ret->offset;
	}
	if (!ret->size)
		return err_new(ERR_USAGE,
			       "'%s' does not say how long '%s' is: write '%s / SIZE'",
			       path, p->first, p->first);
	return NULL;
}

static struct err *resolve(char *text, const char *exe, FILE *out, bool is_first)
{
	_cleanup_free_ char *path = NULL;
	struct parts p = {};
	struct ptc_symbol range;
	struct err *err = take_apart(text, &p);

	if (err)
		return err;
	path = realpath(p.file ?: exe, NULL);
	if (!path)
		return err_errno("cannot find '%s', of a filter", p.file ?: exe);
	// The kernel's parser ends a path there.
	if (strpbrk(path, " ,\n"))
		return err_new(ERR_UNSUPPORTED,
			       "the kernel takes no path with a blank or comma in a "
			       "filter: '%s'",
			       path);
	err = find_range(&p, path, &range);
	if (!err)
		fprintf(out, "%s%s 0x%llx/0x%llx@%s", is_first ? "" : ",", p.action,
			(unsigned long long)range.offset, (unsigned long long)range.size,
			path);
	return err;
}

struct err *ptc_pt_filter(const struct ptc_names *filters, const char *exe, unsigned most,
			  char **ret)
{
	struct err *err = NULL;
	size_t bytes;
	unsigned n = 0;
	FILE *out;

	*ret = NULL;
	if (!filters->size)
		return NULL;
	out = open_memstream(ret, &bytes);
	if (!out)
		return &err_nomem;
	for (size_t i = 0; !err && i < filters->size; i++) {
		_cleanup_free_ char *copy = strdup(filters->data[i]);
		char *rest = copy, *one;

		while (!err && (one = strsep(&rest, ",")))
			err = resolve(one, exe, out, !n++);
	}
	if (!err && n > most)
		err = err_new(ERR_USAGE, "this CPU has %u address range%s, not %u", most,
			      most == 1 ? "" : "s", n);
	fclose(out);
	if (err) {
		free(*ret);
		*ret = NULL;
	}
	return err;
}
