// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Text in lines of a certain width. Commands are lines that begin with a full stop: `.w N' width,
 * `.i N' indent, `.j' justified, `.r' ragged, `.c' centred, `.n' numbered paragraphs, `.p' a new page; an
 * empty line ends a paragraph.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 64
#define LONGEST 32
#define PAGE 10

enum layout { RAGGED, JUSTIFIED, CENTRED };

static char words[WORDS][LONGEST + 1];
static int n_words, letters;
static int width = 30, indent, is_numbered;
static enum layout layout = RAGGED;
static int paragraph, lines, page = 1, n_cut;
static int is_first = 1;

static void end_line(void)
{
	putchar('\n');
	lines++;
	if (lines == PAGE) {
		printf("-- %d --\n", page);
		page++;
		lines = 0;
	}
}

static void spaces(int n)
{
	for (int i = 0; i < n; i++)
		putchar(' ');
}

static int room(void)
{
	int left = width - indent;

	if (is_first && is_numbered)
		left -= 3;
	return left;
}

/* So many letters with a space between two words. */
static int length(void)
{
	return letters + n_words - 1;
}

static void put_justified(void)
{
	int gaps = n_words - 1;
	int more = room() - letters;

	for (int i = 0; i < n_words; i++) {
		printf("%s", words[i]);
		if (gaps > 0) {
			int n = more / gaps;

			if (more % gaps > 0)
				n++;
			spaces(n);
			more -= n;
			gaps--;
		}
	}
}

static void put_plain(void)
{
	for (int i = 0; i < n_words; i++) {
		if (i > 0)
			putchar(' ');
		printf("%s", words[i]);
	}
}

static void put_line(int is_last)
{
	if (n_words == 0)
		return;
	spaces(indent);
	if (is_first && is_numbered)
		printf("%d. ", paragraph + 1);
	else if (layout == CENTRED)
		spaces((room() - length()) / 2);
	if (layout == JUSTIFIED && !is_last)
		put_justified();
	else
		put_plain();
	end_line();
	n_words = 0;
	letters = 0;
	is_first = 0;
}

static void end_paragraph(void)
{
	if (n_words == 0 && is_first)
		return;
	put_line(1);
	paragraph++;
	is_first = 1;
	if (lines > 0)
		end_line();
}

static void add_word(const char *word)
{
	int n = strlen(word);

	if (n > LONGEST) {
		n = LONGEST;
		n_cut++;
	}
	if (n_words > 0 && length() + 1 + n > room())
		put_line(0);
	if (n_words >= WORDS)
		put_line(0);
	memcpy(words[n_words], word, n);
	words[n_words][n] = 0;
	n_words++;
	letters += n;
}

static void set_width(int n)
{
	if (n < 10 || n > 70)
		printf("bad width %d\n", n);
	else
		width = n;
}

static void set_indent(int n)
{
	if (n < 0 || n > width / 2)
		printf("bad indent %d\n", n);
	else
		indent = n;
}

static void new_page(void)
{
	end_paragraph();
	while (lines > 0)
		end_line();
}

static void command(const char *s)
{
	if (s[1] == 'p') {
		new_page();
		return;
	}
	end_paragraph();
	if (s[1] == 'w')
		set_width(atoi(s + 2));
	else if (s[1] == 'i')
		set_indent(atoi(s + 2));
	else if (s[1] == 'j')
		layout = JUSTIFIED;
	else if (s[1] == 'r')
		layout = RAGGED;
	else if (s[1] == 'c')
		layout = CENTRED;
	else if (s[1] == 'n')
		is_numbered = !is_numbered;
	else
		printf("bad command %c\n", s[1]);
}

int main(void)
{
	char text[200], *word;

	while (fgets(text, sizeof(text), stdin)) {
		text[strcspn(text, "\n")] = 0;
		if (text[0] == '.') {
			command(text);
			continue;
		}
		if (text[0] == 0)
			end_paragraph();
		for (word = strtok(text, " "); word; word = strtok(NULL, " "))
			add_word(word);
	}
	end_paragraph();
	printf("%d paragraphs, %d pages, %d cut\n", paragraph, page, n_cut);
	return 0;
}
