// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which array of a struct does a statement name? Of s.name and of the struct s that begins with it code computes the
 * same address; the source, if it is at hand, tells them apart. A line that may have the struct as a whole,
 * or is not a whole statement, tells nothing.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "faultlocate/bytes/bytes_int.h"

#include "decode/symbols/symbols.h"

#define LINE_BYTES 1024

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Was the source written after the program was made of it? */
static bool is_changed(const struct stat *source, const char *program)
{
	struct stat p;

	return program && !stat(program, &p) && source->st_mtime > p.st_mtime;
}

/* Read the source of @p place; what cannot be read has no lines. */
static void read_source(struct bytes_walk *w, const struct dec_place *place,
			struct bytes_source *ret)
{
	FILE *f = dec_symbols_source(w->symbols, place);
	struct stat st;
	size_t n = 0;

	if (!f)
		return;
	if (!fstat(fileno(f), &st) && !is_changed(&st, place->module)) {
		ret->text = malloc(st.st_size + 1);
		n = ret->text ? fread(ret->text, 1, st.st_size, f) : 0;
	}
	fclose(f);
	for (size_t i = 0, from = 0; i < n; i++) {
		if (ret->text[i] != '\n')
			continue;
		ret->text[i] = 0;
		if (vec_add(&ret->lines, from))
			return;
		from = i + 1;
	}
}

static const struct bytes_source *source_of(struct bytes_walk *w,
					    const struct dec_place *place)
{
	struct bytes_source s = { .file = place->file, .directory = place->directory };

	for (size_t i = 0; i < w->sources.size; i++)
		if (w->sources.data[i].file == s.file &&
		    w->sources.data[i].directory == s.directory)
			return &w->sources.data[i];
	read_source(w, place, &s);
	if (vec_add(&w->sources, s)) {
		free(s.text);
		vec_deinit(&s.lines);
		return NULL;
	}
	return &w->sources.data[w->sources.size - 1];
}

void fl_named_deinit(struct bytes_walk *w)
{
	for (size_t i = 0; i < w->sources.size; i++) {
		free(w->sources.data[i].text);
		vec_deinit(&w->sources.data[i].lines);
	}
	vec_deinit(&w->sources);
}

/* Read the line of @p rip, and the last one before it that is not empty. */
static bool read_lines(struct bytes_walk *w, uint64_t rip, char line[LINE_BYTES],
		       char before[LINE_BYTES])
{
	struct dec_place place = {};
	const struct bytes_source *s;
	size_t at;

	dec_symbols_place(w->symbols, rip, &place);
	s = place.line && place.file ? source_of(w, &place) : NULL;
	if (!s || (size_t)place.line > s->lines.size)
		return false;
	at = place.line - 1;
	before[0] = 0;
	if (snprintf(line, LINE_BYTES, "%s", s->text + s->lines.data[at]) >= LINE_BYTES)
		return false;
	while (at-- && !before[strspn(before, " \t\r")])
		if (snprintf(before, LINE_BYTES, "%s", s->text + s->lines.data[at]) >=
		    LINE_BYTES)
			return false;
	return true;
}

/* Leave out what is no code, and what is behind the last of that: strings have no characters then. */
static bool strip(char *line)
{
	char *to = line;

	for (char *at = line; *at && strncmp(at, "//", 2); at++) {
		char quote = *at;

		if (!strncmp(at, "/*", 2)) {
			at = strstr(at, "*/");
			if (!at++)
				return false;
			continue;
		}
		*to++ = *at;
		if (quote != '"' && quote != '\'')
			continue;
		while (*++at != quote)
			if (!*at || (*at == '\\' && !*++at))
				return false;
		*to++ = quote;
	}
	while (to > line && isspace((unsigned char)to[-1]))
		to--;
	*to = 0;
	return true;
}

/* Is all of the statement, or of a loop's or condition's head, on @p line? */
static bool is_whole(const char *line, const char *before)
{
	size_t n = strlen(line), m = strlen(before);
	int depth = 0;

	for (const char *at = line; *at; at++)
		depth += *at == '(' || *at == '[' ? 1 : *at == ')' || *at == ']' ? -1 : 0;
	return !depth && n && strchr(";{})", line[n - 1]) &&
	       (!m || before[0] == '#' || strchr(";{}):", before[m - 1]));
}

/* Is @p name at @p at a word of its own, and no member's? */
static bool is_name(const char *line, const char *at, size_t n)
{
	const char *back = at;

	while (back > line && isspace((unsigned char)back[-1]))
		back--;
	return !is_word(at[n]) && (at == line || !is_word(at[-1])) &&
	       !(back > line && (back[-1] == '.' || (back - line > 1 && back[-1] == '>' &&
						     back[-2] == '-')));
}

/* Is a number, or what may stand for one, added or subtracted? Of such compilers make one constant with where a member
 * is, as if it were another's. */
static bool has_sum(const char *line)
{
	for (const char *at = line; *at; at++) {
		const char *next = at + 1 + strspn(at + 1, " \t");

		if ((*at == '-' && at[1] == '>') || (*at == at[1] && strchr("+-", *at))) {
			at++;
		} else if (*at == '+' || *at == '-') {
			while (is_word(*next))
				next++;
			if (*next != '(')
				return true;
		}
	}
	return false;
}

/* Does @p line name variable @p name only where it names its members, and @p member among them? */
static bool names_member(const char *line, const char *name, const char *link,
			 const char *member)
{
	size_t n = strlen(name), m = strlen(member);
	bool ret = false, has_other = false;

	for (const char *at = line; (at = strstr(at, name)); at += n) {
		const char *next = at + n;
		bool is_it;

		if (!is_name(line, at, n))
			continue;
		next += strspn(next, " \t");
		if (strncmp(next, link, strlen(link)))
			return false;
		next += strlen(link);
		next += strspn(next, " \t");
		is_it = !strncmp(next, member, m) && !is_word(next[m]);
		ret |= is_it;
		has_other |= !is_it;
	}
	return ret && !(has_other && has_sum(line));
}

uint32_t fl_named_array(struct bytes_walk *w, uint64_t rip, const struct dec_object *o,
			bool is_pointed_to, uint64_t addr, struct dec_object *ret)
{
	const char *link = is_pointed_to ? "->" : ".";
	char line[LINE_BYTES], before[LINE_BYTES], *name;
	uint32_t element =
		dec_symbols_array_at(w->symbols, rip, o, is_pointed_to, addr, ret);
	size_t size;

	if (!element || (ret->start == o->start && ret->size == o->size) ||
	    !read_lines(w, rip, line, before) || !strip(line) || !strip(before) ||
	    !is_whole(line, before) || !names_member(line, o->name, link, ret->name))
		return 0;
	size = strlen(o->name) + strlen(ret->name) + 3;
	name = arena_alloc(&w->arena, size);
	if (!name)
		return 0;
	snprintf(name, size, "%s%s%s", o->name, link, ret->name);
	ret->name = name;
	return element;
}

bool fl_named_may(struct bytes_walk *w, uint64_t rip, const char *name)
{
	char line[LINE_BYTES], before[LINE_BYTES];
	size_t n = strlen(name);

	if (!read_lines(w, rip, line, before) || !strip(line))
		return false;
	for (const char *at = line; *at; at++) {
		if (*at == '-' && at[1] == '-')
			at++;
		else if (*at == '-' && at[1] != '>')
			return true;
		else if (!strncmp(at, name, n) && (at == line || !is_word(at[-1])) &&
			 !strncmp(at + n + strspn(at + n, " \t"), "->", 2))
			return true;
	}
	return false;
}

bool fl_named_either(struct bytes_walk *w, uint64_t rip)
{
	char line[LINE_BYTES], before[LINE_BYTES];

	return read_lines(w, rip, line, before) && strip(line) && strchr(line, '?') &&
	       has_sum(line);
}

bool fl_named_back(struct bytes_walk *w, uint64_t rip)
{
	char line[LINE_BYTES], before[LINE_BYTES];

	if (!read_lines(w, rip, line, before) || !strip(line))
		return false;
	for (const char *at = line; (at = strchr(at, '['));) {
		at++;
		if (!strncmp(at + strspn(at, " \t"), "--", 2))
			return true;
	}
	return false;
}

bool fl_named_start(struct bytes_walk *w, uint64_t rip, const char *name)
{
	char line[LINE_BYTES], before[LINE_BYTES];
	size_t n = strlen(name);
	const char *at;

	if (!read_lines(w, rip, line, before) || !strip(line))
		return false;
	at = strchr(line, '=');
	if (!at++ || strchr(line, ','))
		return false;
	at += strspn(at, " \t&");
	return !strncmp(at, name, n) && (!strcmp(at + n, ";") || !strcmp(at + n, "[0];"));
}
