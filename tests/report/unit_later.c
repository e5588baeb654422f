// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/later.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"

/* What becomes of a request, by its position. */
enum { GOES_WELL, FAILS, DIES, WAITS };

/* A report_later_fn. */
static struct err *find(void *ctx, const struct report_request *r, FILE *out)
{
	const int *release = ctx;
	char byte;

	fputs("{\"found\":true}\n", out);
	if (r->position == FAILS)
		return err_new(ERR_NOT_FOUND, "a \"reason\"");
	if (r->position == DIES)
		raise(SIGKILL);
	if (r->position == WAITS) {
		dprintf(STDERR_FILENO, "first\r\033[Khalf of it\n");
		if (read(release[0], &byte, 1) != 1)
			return &err_nomem;
	}
	return NULL;
}

/* free() */
static char *print(struct report_later *l, uint64_t position)
{
	const struct report_request r = { .ask = REPORT_ASK_STORY, .position = position };
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	assert_null(report_later_print(l, &r, out));
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Ask until something is told that has @p what. free() */
static char *print_until(struct report_later *l, uint64_t position, const char *what)
{
	char *text = print(l, position);

	for (int i = 0; i < 10000 && !strstr(text, what); i++) {
		free(text);
		usleep(1000);
		text = print(l, position);
	}
	assert_non_null(strstr(text, what));
	return text;
}

static char *known(struct report_later *l)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	report_later_print_known(l, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void must_be(char *text, const char *what)
{
	assert_string_equal(text, what);
	free(text);
}

static void test_later(void **state)
{
	struct report_later *l;
	int release[2];

	(void)state;
	assert_int_equal(pipe(release), 0);
	assert_null(report_later_create(find, release, &l));
	must_be(known(l), "[]\n");
	// How far it is, and that one is found out at a time.
	free(print_until(l, WAITS, "\"half of it\""));
	must_be(print(l, GOES_WELL),
		"{\"doing\":\"something else is being found out first\",\"seconds\":0}\n");
	assert_int_equal(write(release[1], "x", 1), 1);
	must_be(print_until(l, WAITS, "found"), "{\"found\":true}\n");
	must_be(print_until(l, GOES_WELL, "found"), "{\"found\":true}\n");
	// It is kept: nobody releases it again.
	must_be(print(l, WAITS), "{\"found\":true}\n");
	must_be(print_until(l, FAILS, "why"), "{\"why\":\"a \\\"reason\\\"\"}\n");
	free(print_until(l, DIES, "\"why\":\"it was killed"));
	must_be(known(l), "[\"story/3\",\"story/0\"]\n");
	report_later_destroy(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
