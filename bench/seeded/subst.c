// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Substitution of patterns in lines, after Siemens' replace. The first line is the pattern: characters,
 * `.', `[abc]', `[^abc]', `[a-c]', each with `*' behind it or not, `^' at its beginning, `$' at its
 * end; the second one what takes its place, where `&' is what was found.
 */
#include <stdio.h>
#include <string.h>

#define LINE 200
#define PARTS 40

enum kind { LITERAL, ANY, CLASS, NOT_CLASS, BEGIN, END };

struct part {
	enum kind kind;
	int is_repeated;
	char text[32]; ///< the characters of a class
	char c;
};

static struct part parts[PARTS];
static int n_parts;
static int n_found, n_lines, n_changed;

static int add_range(char *text, int n, char from, char to)
{
	for (int c = from; c <= to; c++)
		if (n < 31)
			text[n++] = c;
	return n;
}

/* The class that begins at s[i]. Returns where it ends; -1: nowhere. */
static int read_class(const char *s, int i, struct part *p)
{
	int n = 0;

	p->kind = CLASS;
	if (s[i] == '^') {
		p->kind = NOT_CLASS;
		i++;
	}
	while (s[i] && s[i] != ']') {
		if (s[i + 1] == '-' && s[i + 2] != ']' && s[i + 2]) {
			n = add_range(p->text, n, s[i], s[i + 2]);
			i += 3;
		} else {
			if (n < 31)
				p->text[n++] = s[i];
			i++;
		}
	}
	p->text[n] = 0;
	return s[i] == ']' ? i : -1;
}

static int read_pattern(const char *s)
{
	for (int i = 0; s[i]; i++) {
		struct part *p = &parts[n_parts];

		if (n_parts >= PARTS)
			return -1;
		if (s[i] == '*' && n_parts > 0) {
			parts[n_parts - 1].is_repeated = 1;
			continue;
		}
		n_parts++;
		p->kind = LITERAL;
		p->c = s[i];
		if (s[i] == '.') {
			p->kind = ANY;
		} else if (s[i] == '^' && i == 0) {
			p->kind = BEGIN;
		} else if (s[i] == '$' && s[i + 1] == 0) {
			p->kind = END;
		} else if (s[i] == '[') {
			i = read_class(s, i + 1, p);
			if (i < 0)
				return -1;
		} else if (s[i] == '@' && s[i + 1]) {
			i++;
			p->c = s[i];
		}
	}
	return n_parts;
}

static int fits(const struct part *p, char c)
{
	if (c == 0)
		return 0;
	switch (p->kind) {
	case LITERAL:
		return p->c == c;
	case ANY:
		return 1;
	case CLASS:
		return strchr(p->text, c) != NULL;
	case NOT_CLASS:
		return strchr(p->text, c) == NULL;
	default:
		return 0;
	}
}

/* Where what parts from @which on fit ends; -1: they do not. */
static int match(const char *s, int i, int which)
{
	const struct part *p = &parts[which];
	int n = 0;

	if (which == n_parts)
		return i;
	if (p->kind == BEGIN)
		return i == 0 ? match(s, i, which + 1) : -1;
	if (p->kind == END)
		return s[i] == 0 ? match(s, i, which + 1) : -1;
	if (!p->is_repeated)
		return fits(p, s[i]) ? match(s, i + 1, which + 1) : -1;
	while (fits(p, s[i + n]))
		n++;
	for (; n >= 0; n--) {
		int end = match(s, i + n, which + 1);

		if (end >= 0)
			return end;
	}
	return -1;
}

static void put(const char *by, const char *s, int from, int to)
{
	for (int i = 0; by[i]; i++) {
		if (by[i] == '@' && by[i + 1]) {
			i++;
			putchar(by[i]);
		} else if (by[i] == '&') {
			for (int k = from; k < to; k++)
				putchar(s[k]);
		} else {
			putchar(by[i]);
		}
	}
}

static void change_line(const char *s, const char *by)
{
	int i = 0, last = -1, n = 0;

	n_lines++;
	while (s[i] || i == 0) {
		int end = match(s, i, 0);

		if (end >= 0 && end != last) {
			put(by, s, i, end);
			last = end;
			n++;
		}
		if (end <= i) {
			if (!s[i])
				break;
			putchar(s[i]);
			i++;
		} else {
			i = end;
		}
	}
	putchar('\n');
	n_found += n;
	if (n > 0)
		n_changed++;
}

static int read_line(char *text)
{
	if (!fgets(text, LINE, stdin))
		return 0;
	text[strcspn(text, "\n")] = 0;
	return 1;
}

int main(void)
{
	char pattern[LINE], by[LINE], text[LINE];

	if (!read_line(pattern) || !read_line(by)) {
		printf("no pattern\n");
		return 2;
	}
	if (read_pattern(pattern) <= 0) {
		printf("illegal pattern\n");
		return 1;
	}
	while (read_line(text))
		change_line(text, by);
	printf("%d found in %d of %d lines\n", n_found, n_changed, n_lines);
	return 0;
}
