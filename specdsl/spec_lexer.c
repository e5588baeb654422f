// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Characters to tokens. The Unicode forms of the papers and their ASCII spellings are the
 * same tokens; the table below is the one in doc/spec-language.md.
 */
#include <ctype.h>
#include <string.h>

#include "specdsl/spec_ast.h"

struct spelling {
	const char *text;
	enum token_kind kind;
	enum ast_op op;
	const char *hint;
};

// The longest spelling that fits wins, so a prefix stands behind what it begins.
static const struct spelling spellings[] = {
	{ "-/>>", TOK_EDGE, OP_NO_PATH, NULL },
	{ "/->>", TOK_EDGE, OP_NO_PATH, NULL },
	{ "\u21a0\u0338", TOK_EDGE, OP_NO_PATH, NULL }, // struck ->>
	{ "\u2900", TOK_EDGE, OP_NO_PATH, NULL },	// ->> with a stroke
	{ "-/>", TOK_EDGE, OP_NO_EDGE, NULL },
	{ "/->", TOK_EDGE, OP_NO_EDGE, NULL },
	{ "\u2192\u0338", TOK_EDGE, OP_NO_EDGE, NULL },
	{ "\u219b", TOK_EDGE, OP_NO_EDGE, NULL },
	{ "->>", TOK_EDGE, OP_PATH, NULL },
	{ "\u21a0", TOK_EDGE, OP_PATH, NULL },
	{ "->", TOK_EDGE, OP_EDGE, NULL },
	{ "\u2192", TOK_EDGE, OP_EDGE, NULL },
	{ "=>", TOK_ARROW, 0, NULL },
	{ "\u21d2", TOK_ARROW, 0, NULL },
	{ "==", TOK_COMPARE, OP_EQ, NULL },
	{ "!=", TOK_COMPARE, OP_NE, NULL },
	{ "\u2260", TOK_COMPARE, OP_NE, NULL },
	{ "<=", TOK_COMPARE, OP_LE, NULL },
	{ "\u2264", TOK_COMPARE, OP_LE, NULL },
	{ ">=", TOK_COMPARE, OP_GE, NULL },
	{ "\u2265", TOK_COMPARE, OP_GE, NULL },
	{ "<<", TOK_CHAR, 0, NULL }, // its ch is one of the two
	{ ">>", TOK_CHAR, 0, NULL },
	{ "<", TOK_COMPARE, OP_LT, NULL },
	{ ">", TOK_COMPARE, OP_GT, NULL },
	{ "=", TOK_ASSIGN, 0, NULL },
	{ "||", TOK_BARS, 0, NULL },
	{ "..", TOK_DOTS, 0, NULL },
	{ "&&", TOK_WRONG, 0, "write 'and'" },
	{ "\u2212", TOK_WRONG, 0, "write '-' (this is the Unicode minus sign)" },
	{ "\u2013", TOK_WRONG, 0, "write '-' (this is an en dash)" },
};

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/** @return the offset of the first byte at or after @p i that is not space or comment. */
static uint32_t skip_blanks(const struct spec_file *f, uint32_t i)
{
	if (!i && !strncmp(f->text, "\xef\xbb\xbf", 3))
		i = 3; // what some editors begin a file with
	while (i < f->size) {
		if (strchr(" \t\r\n\f\v", f->text[i]) && f->text[i]) {
			i++;
		} else if (f->text[i] == '#' || !strncmp(f->text + i, "//", 2)) {
			while (i < f->size && f->text[i] != '\n')
				i++;
		} else if (!strncmp(f->text + i, "/*", 2)) {
			const char *end = strstr(f->text + i + 2, "*/");

			if (!end)
				break;
			i = (uint32_t)(end + 2 - f->text);
		} else {
			break;
		}
	}
	return i;
}

static struct token lex_number(const struct spec_file *f, struct token t)
{
	uint32_t i = t.span.offset;
	int base = 10;
	bool is_too_large = false;

	if (f->text[i] == '0' && (f->text[i + 1] == 'x' || f->text[i + 1] == 'X') &&
	    isxdigit((unsigned char)f->text[i + 2])) {
		base = 16;
		i += 2;
	}
	for (; base == 16 ? isxdigit((unsigned char)f->text[i]) :
			    isdigit((unsigned char)f->text[i]);
	     i++) {
		int digit = isdigit((unsigned char)f->text[i]) ?
				    f->text[i] - '0' :
				    tolower((unsigned char)f->text[i]) - 'a' + 10;

		is_too_large |= __builtin_mul_overflow(t.number, base, &t.number);
		is_too_large |= __builtin_add_overflow(t.number, digit, &t.number);
	}
	if (is_name_char(f->text[i]) ||
	    (f->text[i] == '.' && isdigit((unsigned char)f->text[i + 1]))) {
		while (is_name_char(f->text[i]) ||
		       (f->text[i] == '.' && f->text[i + 1] != '.'))
			i++;
		t.kind = TOK_BAD;
		t.hint = "there are no fractions and no suffixes: for X.w < 1.5 write "
			 "2 * X.w < 3";
		t.span.length = i - t.span.offset;
		return t;
	}
	t.kind = TOK_NUMBER;
	t.hint = is_too_large ? "numbers are signed and 64 bits wide" : NULL;
	t.span.length = i - t.span.offset;
	return t;
}

static struct token lex_string(const struct spec_file *f, struct token t)
{
	uint32_t i = t.span.offset + 1;

	while (i < f->size && f->text[i] != '"' && f->text[i] != '\n')
		i += f->text[i] == '\\' &&
				     (f->text[i + 1] == '"' || f->text[i + 1] == '\\') ?
			     2 :
			     1;
	t.kind = TOK_STRING;
	if (i >= f->size || f->text[i] != '"') {
		t.kind = TOK_WRONG;
		t.hint = "close the string with '\"' on the same line";
	} else {
		i++;
	}
	t.span.length = i - t.span.offset;
	return t;
}

/** @return the length of the (perhaps broken) UTF-8 character at @p i. */
static uint32_t char_bytes(const struct spec_file *f, uint32_t i)
{
	uint32_t n = 1;

	if ((unsigned char)f->text[i] >= 0xc0)
		while (i + n < f->size && ((unsigned char)f->text[i + n] & 0xc0) == 0x80)
			n++;
	return n;
}

struct token spec_lex(const struct spec_file *f, uint32_t offset)
{
	struct token t = { .kind = TOK_END };
	uint32_t i = skip_blanks(f, offset);

	t.span = (struct spec_span){ .offset = i, .length = 1 };
	if (i >= f->size) {
		t.span.length = 0;
		return t;
	}
	if (!strncmp(f->text + i, "/*", 2)) {
		t.kind = TOK_BAD;
		t.hint = "close the comment with '*/'";
		t.span.length = f->size - i;
		return t;
	}
	for (size_t k = 0; k < sizeof(spellings) / sizeof(*spellings); k++) {
		size_t n = strlen(spellings[k].text);

		if (strncmp(f->text + i, spellings[k].text, n))
			continue;
		t.kind = spellings[k].kind;
		t.op = spellings[k].op;
		t.hint = spellings[k].hint;
		t.ch = t.kind == TOK_CHAR ? *spellings[k].text : 0;
		t.span.length = n;
		return t;
	}
	if (isdigit((unsigned char)f->text[i]))
		return lex_number(f, t);
	if (f->text[i] == '"')
		return lex_string(f, t);
	if (is_name_char(f->text[i])) {
		while (is_name_char(f->text[i + t.span.length]))
			t.span.length++;
		t.kind = TOK_NAME;
		return t;
	}
	t.ch = f->text[i];
	t.kind = t.ch && strchr(".;,()[]+-*/%&|^~!?:", t.ch) ? TOK_CHAR : TOK_BAD;
	if ((f->has_objects || f->has_structure) && (t.ch == '{' || t.ch == '}'))
		t.kind = TOK_CHAR;
	t.span.length = char_bytes(f, i);
	return t;
}

uint32_t spec_lex_path(const struct spec_file *f, uint32_t offset, struct spec_span *path)
{
	uint32_t i = skip_blanks(f, offset);

	if (f->text[i] == '"') {
		struct token t = lex_string(f, (struct token){ .span = { i, 1 } });

		if (t.kind != TOK_STRING)
			return 0;
		*path = (struct spec_span){ i + 1, t.span.length - 2 };
		i += t.span.length;
	} else {
		*path = (struct spec_span){ i, 0 };
		while (f->text[i] &&
		       (is_name_char(f->text[i]) || strchr("./+-~@", f->text[i])))
			i++;
		path->length = i - path->offset;
	}
	return path->length ? i : 0;
}

uint32_t spec_lex_site(const struct spec_file *f, uint32_t offset, struct spec_span *path,
		       int *line)
{
	uint32_t i = spec_lex_path(f, offset, path);
	struct token number;

	if (!i || f->text[i] != ':' || !isdigit((unsigned char)f->text[i + 1]))
		return 0;
	number = lex_number(f, (struct token){ .span = { i + 1, 1 } });
	if (number.hint || number.number > INT32_MAX || !number.number)
		return 0;
	*line = (int)number.number;
	return number.span.offset + number.span.length;
}
