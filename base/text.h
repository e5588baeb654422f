// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Text on its way out. Arguments, paths and names come from programs that we do not trust: what
 * would drive a terminal, hide or reorder text, or forge a line is shown, not sent.
 *
 * Unsafe are control characters (C0 but newline and tab, DEL, C1), what is not UTF-8, and what
 * changes the direction or order of text (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to
 * U+2069). main() guards stdout and stderr: nothing unsafe leaves through them, whoever prints. A
 * newline in a name is another matter, as the guard cannot tell it from ours: whoever prints a
 * name passes it through text_line().
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Styles of ours for what follows, where the guarded stream is a terminal. */
#define TEXT_BOLD "\x01"
#define TEXT_BAD "\x02"
#define TEXT_DIM "\x03"
#define TEXT_END "\x04"
#define TEXT_AGAIN "\x05" ///< the line begins again, empty

/** What is put in the place of something unsafe. */
enum text_way {
	TEXT_PLAIN,  ///< \x1b, \u202e
	TEXT_STYLED, ///< the same, but that styles are the terminal's sequences
	TEXT_JSON,   ///< the same in JSON's form, and U+FFFD for a byte that is not UTF-8
	TEXT_MARKUP, ///< U+FFFD: for XML, HTML, and Graphviz, where a backslash means something
};

/** At most so many bytes take the place of one. */
#define TEXT_GROWTH 8

/**
 * Copy @p from, @p size bytes, to @p to (of TEXT_GROWTH times as many) with what is unsafe
 * replaced.
 *
 * @param used  NULL, or set to how many of @p from were looked at: fewer than @p size where it
 *		ends within a character that goes on behind it.
 * @return bytes written; no NUL is added.
 */
size_t text_clean(char *to, const char *from, size_t size, enum text_way way,
		  size_t *used);

/** @return @p s with what is unsafe replaced, for free(); NULL when memory is out, or it was. */
char *text_cleaned(const char *s, enum text_way way);

/** Write the first @p size bytes of @p s to @p out as contents of an element or a value in double
 * quotes: of XML, HTML, and Graphviz' labels like HTML. */
void text_put_markup(FILE *out, const char *s, size_t size);

/** @return @p s for printing within a line: newlines and tabs in it are shown, too. It is @p s
 * itself, or valid until this thread's eighth call from here; then very long texts are cut, and
 * end with "...". "(null)" for NULL. */
const char *text_line(const char *s);

/** @return @p s, or where it has control characters a copy with question marks in their place,
 * which is never freed: for names that are held. NULL for NULL. */
const char *text_name(const char *s);

/** @return signal @p signo's name, "SIGSEGV", for people; valid until this thread's eighth call of this
 * or text_line() from here. */
const char *text_signal(int signo);

/** Write @p n of @p bytes to @p to as hex: 2 * n digits, and a 0. */
void text_hex(char *to, const uint8_t *bytes, size_t n);

/** Replace control characters in @p s by question marks: for texts of one line. */
void text_flatten(char *s);

/** @return whether one of the lines of @p lines (NULL: there are none) says what @p line does: it is
 * the same, or differs in addresses ("0x2f") only. */
bool text_has_line(const char *lines, const char *line);

/** Guard stdout and stderr, from now on streams of ours over descriptors 1 and 2. */
void text_guard(void);

/** What is written to stdout from now on is JSON. */
void text_guard_json(void);

#endif
