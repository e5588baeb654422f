// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/text.h"

#include <emmintrin.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BLOCK 64	///< bytes that are looked at at once
#define PIECE 4096	///< of a stream's text that is cleaned at once
#define CHARACTER_MAX 4 ///< bytes of one in UTF-8
#define LINES 8
#define LINE_BYTES 2048

/* ---- characters -------------------------------------------------------------------------- */

/** @return the bytes of the character at @p s, @p size bytes at most, which is @p c; 0 when it is
 * none, -1 when it may be one with what comes behind. */
static int decode(const unsigned char *s, size_t size, uint32_t *c)
{
	int n = s[0] < 0x80 ? 1 :
		s[0] < 0xc2 ? 0 :
		s[0] < 0xe0 ? 2 :
		s[0] < 0xf0 ? 3 :
		s[0] < 0xf5 ? 4 :
			      0;

	*c = n < 2 ? s[0] : s[0] & (0x7f >> n);
	for (int i = 1; i < n; i++) {
		if ((size_t)i == size)
			return -1;
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	// Longer than it need be, half of a pair, beyond the last.
	if ((n == 3 && (*c < 0x800 || (*c >> 11) == 0x1b)) ||
	    (n == 4 && (*c < 0x10000 || *c > 0x10ffff)))
		return 0;
	return n;
}

static bool is_unsafe(uint32_t c)
{
	return (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
	       c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/** @return whether all of @p size bytes are printable ASCII, newlines and tabs. Gigabytes of
 * decoded branches come by here: 16 at once. */
static bool is_plain(const char *s, size_t size)
{
	const __m128i space = _mm_set1_epi8(' '), del = _mm_set1_epi8(0x7f),
		      newline = _mm_set1_epi8('\n'), tab = _mm_set1_epi8('\t');

	for (; size >= 16; s += 16, size -= 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)s);
		__m128i ours =
			_mm_or_si128(_mm_cmpeq_epi8(x, newline), _mm_cmpeq_epi8(x, tab));
		// Bytes from 0x80 on are negative.
		__m128i bad =
			_mm_or_si128(_mm_cmplt_epi8(x, space), _mm_cmpeq_epi8(x, del));

		if (_mm_movemask_epi8(_mm_andnot_si128(ours, bad)))
			return false;
	}
	for (size_t i = 0; i < size; i++)
		if ((s[i] < ' ' && s[i] != '\n' && s[i] != '\t') || s[i] == 0x7f)
			return false;
	return true;
}

/** Write what stands for character @p c of @p n bytes; 0: for the byte @p c, which is none. */
static size_t replace(char *to, uint32_t c, int n, enum text_way way)
{
	static const char unknown[] = "\xef\xbf\xbd"; // U+FFFD
	static const char *const styles[] = { "",	 "\x1b[1m", "\x1b[1;31m",
					      "\x1b[2m", "\x1b[0m", "\r\x1b[K" };

	if (way == TEXT_STYLED && c && c < sizeof(styles) / sizeof(*styles))
		return stpcpy(to, styles[c]) - to;
	if (way == TEXT_MARKUP) {
		memcpy(to, unknown, 3);
		return 3;
	}
	if (way == TEXT_JSON)
		return sprintf(to, "\\u%04x", n ? c : 0xfffd);
	return sprintf(to, n > 1 ? "\\u%04x" : "\\x%02x", c);
}

size_t text_clean(char *to, const char *from, size_t size, enum text_way way,
		  size_t *used)
{
	size_t at = 0, n = 0;

	while (at < size) {
		uint32_t c;
		int bytes;

		if (size - at >= BLOCK && is_plain(from + at, BLOCK)) {
			memcpy(to + n, from + at, BLOCK);
			at += BLOCK;
			n += BLOCK;
			continue;
		}
		bytes = decode((const unsigned char *)from + at, size - at, &c);
		if (bytes < 0 && used)
			break;
		if (bytes <= 0 || is_unsafe(c)) {
			n += replace(to + n, bytes > 0 ? c : (unsigned char)from[at],
				     bytes > 0 ? bytes : 0, way);
			at += bytes > 0 ? bytes : 1;
			continue;
		}
		memcpy(to + n, from + at, bytes);
		at += bytes;
		n += bytes;
	}
	if (used)
		*used = at;
	return n;
}

char *text_cleaned(const char *s, enum text_way way)
{
	size_t size = s ? strlen(s) : 0;
	char *ret = s ? malloc(size * TEXT_GROWTH + 1) : NULL;

	if (ret)
		ret[text_clean(ret, s, size, way, NULL)] = 0;
	return ret;
}

void text_put_markup(FILE *out, const char *s, size_t size)
{
	char buf[TEXT_GROWTH * BLOCK];

	for (size_t used; size; s += used, size -= used) {
		bool is_last = size <= BLOCK;
		size_t n = text_clean(buf, s, is_last ? size : BLOCK, TEXT_MARKUP,
				      is_last ? NULL : &used);

		if (is_last)
			used = size;
		for (size_t i = 0; i < n; i++)
			switch (buf[i]) {
			case '&':
				fputs("&amp;", out);
				break;
			case '<':
				fputs("&lt;", out);
				break;
			case '>':
				fputs("&gt;", out);
				break;
			case '"':
				fputs("&quot;", out);
				break;
			default:
				fputc(buf[i], out);
			}
	}
}

/* ---- lines ------------------------------------------------------------------------------- */

static bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

static bool has_control(const char *s)
{
	while (*s && !is_control(*s))
		s++;
	return *s;
}

/** Room for one of the last LINES lines of this thread. */
static char *next_line(void)
{
	static __thread char lines[LINES][LINE_BYTES];
	static __thread unsigned next;

	return lines[next++ % LINES];
}

const char *text_line(const char *s)
{
	char *line, *to;

	if (!s || !has_control(s))
		return s ?: "(null)";
	line = to = next_line();
	for (; *s && to < line + LINE_BYTES - 8; s++)
		if (*s == '\n' || *s == '\t')
			to += sprintf(to, *s == '\n' ? "\\n" : "\\t");
		else if (is_control(*s))
			to += sprintf(to, "\\x%02x", *s);
		else
			*to++ = *s;
	strcpy(to, *s ? "..." : "");
	return line;
}

const char *text_signal(int signo)
{
	const char *name = sigabbrev_np(signo);
	char text[32];

	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else if (signo >= SIGRTMIN && signo <= SIGRTMAX)
		snprintf(text, sizeof(text), "SIGRTMIN+%d", signo - SIGRTMIN);
	else
		snprintf(text, sizeof(text), "signal %d", signo);
	return strcpy(next_line(), text);
}

void text_hex(char *to, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to = 0;
}

void text_flatten(char *s)
{
	for (; *s; s++)
		if (is_control(*s))
			*s = '?';
}

/** A name with question marks. */
struct name {
	struct name *next;
	char text[];
};

const char *text_name(const char *s)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct name *names[1024];
	_cleanup_free_ struct name *n = NULL;
	struct name **slot;
	uint32_t hash = 0;
	const char *ret;

	if (!s || !has_control(s))
		return s;
	n = malloc(sizeof(*n) + strlen(s) + 1);
	if (!n)
		return "?";
	strcpy(n->text, s);
	text_flatten(n->text);
	for (const char *p = n->text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619;
	pthread_mutex_lock(&lock);
	slot = &names[hash % 1024];
	while (*slot && strcmp((*slot)->text, n->text))
		slot = &(*slot)->next;
	if (!*slot) {
		n->next = NULL;
		*slot = take_ptr(&n);
	}
	ret = (*slot)->text;
	pthread_mutex_unlock(&lock);
	return ret;
}

/** @return what stands behind the address that @p s begins with; @p s: it does not. */
static const char *behind_address(const char *s)
{
	size_t n = strncmp(s, "0x", 2) ? 0 : strspn(s + 2, "0123456789abcdef");

	return n ? s + 2 + n : s;
}

static bool says_same(const char *a, const char *b)
{
	for (; *a && *a != '\n' && *b; a++, b++) {
		const char *next_a = behind_address(a), *next_b = behind_address(b);

		if (next_a > a && next_b > b) {
			a = next_a - 1;
			b = next_b - 1;
		} else if (*a != *b) {
			return false;
		}
	}
	return (!*a || *a == '\n') && !*b;
}

bool text_has_line(const char *lines, const char *line)
{
	while (lines && *lines) {
		if (says_same(lines, line))
			return true;
		lines += strcspn(lines, "\n");
		lines += *lines == '\n';
	}
	return false;
}

/* ---- streams ----------------------------------------------------------------------------- */

struct guard {
	int fd;
	enum text_way way;
	char held[CHARACTER_MAX]; ///< the beginning of a character
	size_t n_held;
};

static struct guard guards[2] = { { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };

static bool write_whole(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		data += n;
		size -= n;
	}
	return true;
}

/** Clean and write a piece, behind what is held. */
static bool write_piece(struct guard *g, const char *data, size_t size)
{
	char in[PIECE + CHARACTER_MAX], out[sizeof(in) * TEXT_GROWTH];
	size_t used, n;

	memcpy(in, g->held, g->n_held);
	memcpy(in + g->n_held, data, size);
	size += g->n_held;
	n = text_clean(out, in, size, g->way, &used);
	g->n_held = size - used;
	memcpy(g->held, in + used, g->n_held);
	return write_whole(g->fd, out, n);
}

static ssize_t guard_write(void *cookie, const char *data, size_t size)
{
	struct guard *g = cookie;

	// stdio takes less than all for failure.
	if (!g->n_held && is_plain(data, size))
		return write_whole(g->fd, data, size) ? (ssize_t)size : 0;
	for (size_t at = 0; at < size; at += PIECE)
		if (!write_piece(g, data + at, size - at < PIECE ? size - at : PIECE))
			return 0;
	return size;
}

static FILE *guarded(struct guard *g, FILE *plain, int mode)
{
	FILE *f = fopencookie(g, "w", (cookie_io_functions_t){ .write = guard_write });

	if (!f)
		return plain;
	setvbuf(f, NULL, mode, mode == _IONBF ? 0 : BUFSIZ);
	return f;
}

void text_guard(void)
{
	for (int i = 0; i < 2; i++)
		guards[i].way = isatty(guards[i].fd) ? TEXT_STYLED : TEXT_PLAIN;
	stdout = guarded(&guards[0], stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	stderr = guarded(&guards[1], stderr, _IONBF);
}

void text_guard_json(void)
{
	guards[0].way = TEXT_JSON;
}
