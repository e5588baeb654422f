// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Text of strangers on its way out: each way, at each place in a block, cut at each byte; and
 * every byte and many characters through the guarded streams.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/unit.h"

static const struct {
	const char *raw, *plain, *json, *markup;
} texts[] = {
	{ "as it is\n\t~", "as it is\n\t~", "as it is\n\t~", "as it is\n\t~" },
	{ "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x8c\xb3",
	  "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x8c\xb3",
	  "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x8c\xb3",
	  "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x8c\xb3" },
	{ "\x1b[31m\r\x7f", "\\x1b[31m\\x0d\\x7f", "\\u001b[31m\\u000d\\u007f",
	  "\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xc2\x9b", "\\u009b", "\\u009b", "\xef\xbf\xbd" }, // C1
	{ "\xe2\x80\xae|\xe2\x81\xa9", "\\u202e|\\u2069", "\\u202e|\\u2069",
	  "\xef\xbf\xbd|\xef\xbf\xbd" }, // order
	{ "\x9b\xff", "\\x9b\\xff", "\\ufffd\\ufffd", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xc0\x9b", "\\xc0\\x9b", "\\ufffd\\ufffd",
	  "\xef\xbf\xbd\xef\xbf\xbd" }, // too long
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, // half of a pair
	{ "\xe2\x80", "\\xe2\\x80", "\\ufffd\\ufffd", "\xef\xbf\xbd\xef\xbf\xbd" }, // cut
};

#define N_TEXTS (sizeof(texts) / sizeof(*texts))

static void each_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_TEXTS; i++) {
		const char *want[] = { [TEXT_PLAIN] = texts[i].plain,
				       [TEXT_STYLED] = texts[i].plain,
				       [TEXT_JSON] = texts[i].json,
				       [TEXT_MARKUP] = texts[i].markup };

		for (enum text_way way = TEXT_PLAIN; way <= TEXT_MARKUP; way++)
			for (size_t before = 0; before < 140; before++) {
				char raw[300];
				_cleanup_free_ char *got = NULL;

				memset(raw, '.', sizeof(raw));
				strcpy(raw + before, texts[i].raw);
				got = text_cleaned(raw, way);
				assert_non_null(got);
				assert_memory_equal(got, "....", before < 4 ? before : 4);
				assert_string_equal(got + before, want[way]);
			}
	}
	assert_null(text_cleaned(NULL, TEXT_PLAIN));
}

static void lines(void **state)
{
	static char long_one[10000];
	const char *first = text_line("a\nb\tc\x7f"
				      "d");

	(void)state;
	assert_string_equal(first, "a\\nb\\tc\\x7fd");
	for (int i = 0; i < 7; i++)
		assert_string_equal(text_line("\x1b"), "\\x1b");
	assert_string_equal(first, "a\\nb\\tc\\x7fd");
	memset(long_one, '\n', sizeof(long_one) - 1);
	assert_string_equal(text_line(long_one) + strlen(text_line(long_one)) - 5,
			    "\\n...");
	assert_ptr_equal(text_line("clean \xe2\x80\xae"),
			 text_line("clean \xe2\x80\xae"));
	assert_string_equal(text_line(NULL), "(null)");
	assert_string_equal(text_name("a\nb"), "a?b");
	assert_ptr_equal(text_name("a\nb"), text_name("a\rb"));
	assert_null(text_name(NULL));
}

static void markup(void **state)
{
	char buf[2000] = {}, raw[500], want[2000] = "";
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	(void)state;
	memset(raw, 0, sizeof(raw));
	for (int i = 0; i < 60; i++) {
		strcat(raw, "<\"&\xe2\x86\x92>");
		strcat(want, "&lt;&quot;&amp;\xe2\x86\x92&gt;");
	}
	text_put_markup(f, raw, strlen(raw));
	fclose(f);
	assert_string_equal(buf, want);
}

/** What a child prints to @p fd through the guard, in pieces of @p size bytes. */
static size_t through_guard(int fd, size_t size, bool is_json, char *ret, size_t max)
{
	int pipes[2];
	size_t n = 0;
	ssize_t got;
	int status;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], fd);
		close(pipes[0]);
		close(pipes[1]);
		text_guard();
		if (is_json)
			text_guard_json();
		for (size_t i = 0; i < N_TEXTS; i++)
			for (const char *s = texts[i].raw; *s;) {
				size_t left = strlen(s), part = left < size ? left : size;
				FILE *f = fd == 1 ? stdout : stderr;

				fwrite(s, 1, part, f);
				if (size != 2)
					fflush(f);
				s += part;
			}
		fputs("end", fd == 1 ? stdout : stderr);
		exit(0);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], ret + n, max - n)) > 0)
		n += got;
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return n;
}

static void streams(void **state)
{
	char plain[1000] = "", json[1000] = "";

	(void)state;
	for (size_t i = 0; i < N_TEXTS; i++) {
		strcat(plain, texts[i].plain);
		strcat(json, texts[i].json);
	}
	strcat(plain, "end");
	strcat(json, "end");
	for (size_t size = 1; size < 9; size++) {
		char got[1001] = {};

		through_guard(1, size, false, got, 1000);
		assert_string_equal(got, plain);
		memset(got, 0, sizeof(got));
		through_guard(2, size, false, got, 1000);
		assert_string_equal(got, plain);
		memset(got, 0, sizeof(got));
		through_guard(1, size, true, got, 1000);
		assert_string_equal(got, json);
	}
}

/* Addresses aside, and whole lines only. */
static void same_lines(void **state)
{
	static const char noted[] = "cpuid at 0x55ab asked\ngap: a\nx 0x1 y 0x2";

	(void)state;
	assert_true(text_has_line(noted, "cpuid at 0x7f0123 asked"));
	assert_true(text_has_line(noted, "gap: a"));
	assert_true(text_has_line(noted, "x 0xffff y 0x0"));
	assert_false(text_has_line(noted, "gap: "));
	assert_false(text_has_line(noted, "gap: ab"));
	assert_false(text_has_line(noted, "cpuid at 0x55ab asks"));
	assert_false(text_has_line(noted, "cpuid at 0x asked"));
	assert_false(text_has_line(noted, "x 0x1 y 3"));
	assert_false(text_has_line("thread 12", "thread 13"));
	assert_false(text_has_line(NULL, "gap: a"));
}

static void signals(void **state)
{
	(void)state;
	assert_string_equal(text_signal(SIGSEGV), "SIGSEGV");
	assert_string_equal(text_signal(SIGRTMIN + 2), "SIGRTMIN+2");
	assert_string_equal(text_signal(33), "signal 33");
	assert_string_equal(text_signal(1000), "signal 1000");
}

static void hex(void **state)
{
	char text[7];

	(void)state;
	text_hex(text, (const uint8_t[]){ 0, 0x9a, 0xff }, 3);
	assert_string_equal(text, "009aff");
	text_hex(text, NULL, 0);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way),   cmocka_unit_test(lines),
		cmocka_unit_test(markup),     cmocka_unit_test(streams),
		cmocka_unit_test(same_lines), cmocka_unit_test(signals),
		cmocka_unit_test(hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
