// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The tokens of a text, after Siemens' print_tokens: names, numbers, texts in quotes, characters,
 * operators, keywords, comments that begin with `;'.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 24
#define KEYWORDS 6

enum kind { NAME, KEYWORD, NUMBER, TEXT, CHARACTER, SIGN, COMMENT, WRONG, KINDS };

static const char *const kinds[KINDS] = { "name", "keyword", "number",  "text",
					  "character", "sign", "comment", "error" };
static const char *const keywords[KEYWORDS] = { "and", "or", "if", "xor", "lambda", "begin" };
static int counts[KINDS];
static int line = 1, column, previous;

static int get(void)
{
	int c = getchar();

	previous = column;
	column++;
	if (c == '\n') {
		line++;
		column = 0;
	}
	return c;
}

static void unget(int c)
{
	if (c == EOF)
		return;
	if (c == '\n')
		line--;
	column = previous;
	ungetc(c, stdin);
}

static int is_keyword(const char *text)
{
	for (int i = 0; i < KEYWORDS; i++)
		if (strcmp(text, keywords[i]) == 0)
			return 1;
	return 0;
}

static int is_number(const char *text)
{
	int i = 0;

	if (text[0] == '-')
		i = 1;
	if (text[i] == 0)
		return 0;
	for (; text[i] != 0; i++)
		if (!isdigit((unsigned char)text[i]))
			return 0;
	return 1;
}

static int is_name(const char *text)
{
	if (!isalpha((unsigned char)text[0]))
		return 0;
	for (int i = 1; text[i] != 0; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return 0;
	return 1;
}

static int is_sign(int c)
{
	return c == '(' || c == ')' || c == '[' || c == ']' || c == '\'' || c == ',' ||
	       c == '=' || c == '<' || c == '>';
}

static int is_end(int c)
{
	return c == EOF || isspace(c) || is_sign(c) || c == ';' || c == '"';
}

static enum kind kind_of(const char *text)
{
	if (is_keyword(text))
		return KEYWORD;
	if (is_number(text))
		return NUMBER;
	if (is_name(text))
		return NAME;
	if (text[0] == '#' && text[1] != 0 && text[2] == 0)
		return CHARACTER;
	return WRONG;
}

static void tell(enum kind kind, const char *text, int at_line, int at_column)
{
	counts[kind]++;
	printf("%d:%d %s %s\n", at_line, at_column, kinds[kind], text);
}

static void read_text(int at_line, int at_column)
{
	char text[LONGEST + 1];
	int n = 0, c;

	while ((c = get()) != '"') {
		if (c == EOF || c == '\n') {
			text[n] = 0;
			tell(WRONG, text, at_line, at_column);
			return;
		}
		if (n < LONGEST)
			text[n++] = c;
	}
	text[n] = 0;
	tell(TEXT, text, at_line, at_column);
}

static void read_comment(int at_line, int at_column)
{
	int n = 0, c;
	char text[16];

	while ((c = get()) != EOF && c != '\n')
		n++;
	snprintf(text, sizeof(text), "of %d", n);
	tell(COMMENT, text, at_line, at_column);
}

/* <= >= == stand together. */
static void read_sign(int first, int at_line, int at_column)
{
	char text[3] = { first, 0, 0 };
	int c;

	if (first == '<' || first == '>' || first == '=') {
		c = get();
		if (c == '=')
			text[1] = c;
		else
			unget(c);
	}
	tell(SIGN, text, at_line, at_column);
}

static void read_word(int first, int at_line, int at_column)
{
	char text[LONGEST + 1];
	int n = 0, c = first;

	while (!is_end(c)) {
		if (n < LONGEST)
			text[n++] = c;
		c = get();
	}
	unget(c);
	text[n] = 0;
	tell(kind_of(text), text, at_line, at_column);
}

int main(void)
{
	int c, total = 0;

	while ((c = get()) != EOF) {
		int at_line = line, at_column = column;

		if (isspace(c))
			continue;
		if (c == '"')
			read_text(at_line, at_column);
		else if (c == ';')
			read_comment(at_line, at_column);
		else if (is_sign(c))
			read_sign(c, at_line, at_column);
		else
			read_word(c, at_line, at_column);
	}
	for (int i = 0; i < KINDS; i++) {
		if (counts[i] > 0)
			printf("%s: %d\n", kinds[i], counts[i]);
		if (i != COMMENT)
			total += counts[i];
	}
	printf("%d tokens, %d lines\n", total, line);
	return counts[WRONG] > 0;
}
