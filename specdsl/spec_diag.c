// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The user's mistakes: kept as values, shown with the line, a caret and a hint.
 */
#include <stdarg.h>
#include <string.h>

#include "specdsl/spec_ast.h"

#define LINE_CHARS 120 ///< shown of a line

static char *spec_vprintf(struct spec *s, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	int n = vasprintf(&text, fmt, ap);

	return n < 0 ? NULL : arena_strndup(&s->arena, text, n);
}

char *spec_printf(struct spec *s, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = spec_vprintf(s, fmt, ap);
	va_end(ap);
	return text;
}

int spec_file_line(const struct spec_file *f, uint32_t offset)
{
	int line = 1;

	for (uint32_t i = 0; i < offset && i < f->size; i++)
		line += f->text[i] == '\n';
	return line;
}

/** @return how many characters the @p n bytes of @p s are. */
static int count_chars(const char *s, size_t n)
{
	int chars = 0;

	for (size_t i = 0; i < n; i++)
		chars += ((unsigned char)s[i] & 0xc0) != 0x80;
	return chars;
}

void spec_diag_add(struct spec *s, struct spec_file *f, struct spec_span at,
		   const char *hint, const char *fmt, ...)
{
	uint32_t from, to, end;
	struct spec_diag *d;
	va_list ap;

	s->n_errors++;
	if (f->n_diags == SPEC_MAX_DIAGS)
		return;
	d = vec_push(&s->diags);
	if (!d)
		return; // n_errors says enough
	f->n_diags++;
	from = at.offset < f->size ? at.offset : f->size;
	// A mistake at the end of the file is shown behind its last character.
	if (from == f->size)
		while (from && strchr(" \t\r\n", f->text[from - 1]) && f->text[from - 1])
			from--;
	to = from;
	end = from;
	while (from && f->text[from - 1] != '\n')
		from--;
	while (to < f->size && f->text[to] != '\n')
		to++;
	d->file = f->name;
	d->line = spec_file_line(f, end);
	d->column = count_chars(f->text + from, end - from) + 1;
	d->length =
		count_chars(f->text + end, at.length < to - end ? at.length : to - end);
	if (d->length < 1)
		d->length = 1;
	d->hint = hint;
	d->source = arena_strndup(&s->arena, f->text + from, to - from);
	va_start(ap, fmt);
	d->message = spec_vprintf(s, fmt, ap);
	va_end(ap);
	if (!d->message)
		d->message = "out of memory";
	if (!d->source)
		d->source = "";
}

size_t spec_diags(const struct spec *s)
{
	return s->diags.size;
}

const struct spec_diag *spec_diag(const struct spec *s, size_t i)
{
	return &s->diags.data[i];
}

size_t spec_errors(const struct spec *s)
{
	return s->n_errors;
}

/** Print @p n bytes of @p text without control characters (a spec may come from anywhere). */
static void print_text(const char *text, size_t n, FILE *out)
{
	for (; n; text++, n--)
		fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, out);
}

static void print_line(const char *text, FILE *out)
{
	print_text(text, strlen(text), out);
}

/** The offset of character @p n of @p text, at most its end. */
static size_t char_offset(const char *text, int n)
{
	size_t i = 0;

	while (text[i] && (n > 0 || ((unsigned char)text[i] & 0xc0) == 0x80))
		n -= ((unsigned char)text[++i] & 0xc0) != 0x80;
	return i;
}

/** The line with the mistake and the caret below it; of a long line what is around. */
static void print_source(const struct spec_diag *d, FILE *out)
{
	int skip = d->column > LINE_CHARS ? d->column - LINE_CHARS / 2 : 0;
	size_t from = char_offset(d->source, skip);
	size_t n = char_offset(d->source + from, LINE_CHARS);

	fprintf(out, "\n%5d | %s", d->line, skip ? "..." : "");
	print_text(d->source + from, n, out);
	fprintf(out, "%s\n      | %*s", d->source[from + n] ? "..." : "",
		d->column - 1 - skip + (skip ? 3 : 0), "");
	for (int i = 0; i < d->length && d->column - skip + i <= LINE_CHARS; i++)
		fputc(i ? '~' : '^', out);
	fputc('\n', out);
}

static void print_diag(const struct spec_diag *d, FILE *out)
{
	fprintf(out, "%s:%d:%d: %s: ", d->file, d->line, d->column,
		d->is_warning ? "warning" : "error");
	print_line(d->message, out);
	print_source(d, out);
	if (d->hint) {
		fprintf(out, "      | hint: ");
		print_line(d->hint, out);
		fputc('\n', out);
	}
}

void spec_diags_print(const struct spec *s, FILE *out)
{
	size_t n_errors = 0;

	for (size_t i = 0; i < s->diags.size; i++) {
		print_diag(&s->diags.data[i], out);
		n_errors += !s->diags.data[i].is_warning;
	}
	if (s->n_errors > n_errors)
		fprintf(out, "and %zu more errors\n", s->n_errors - n_errors);
}
