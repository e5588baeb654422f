// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory runs out at the first, second, ... allocation of reading and checking a spec: the
 * answer is ERR_NOMEM or the right one, never a crash or a leak of consistency.
 */
#include <string.h>

#include "specdsl/specdsl.h"
#include "tests/unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static void test_out_of_memory(void **state)
{
	(void)state;
	skip(); // the sanitizer owns the allocator
}

#else

static long left = -1;	// allocations until one fails; -1: none does
static bool fails_once; // only that one fails, else all after it too
static bool has_failed;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static bool fails(void)
{
	if (left > 0)
		left--;
	if (left)
		return false;
	has_failed = true;
	if (fails_once)
		left = -1;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

static const char text[] =
	"n FIELD 2 EDGE 1 AT a.c:1, b.c:2;\nCPOINT f;\nCONST K 2;\nROOT f::head IN a.c AS r;\n"
	"n X; X[1] >= 0 => r.next == NULL or r ->> X;\n"
	"n.LEN NULL 0; n X; X.LEN = X[2].LEN + 1;\n"
	"n X; n Y; X ->> Y and Y -> X => Y /->> X;\nn X; X.LEN == K;\n"
	"n X; n Y; Y.ISLEAF == true and X -> Y => X[1] == 1; ..(label)\n"
	"n X; n Y; n Z; X -> Y and Z -> Y => X == Z;\n";
static const char mistakes[] = "n FIELD 2 EDGE 1;\nn X; Z == 3;\nn X; X[9] == 1;\nm X;";

static const struct dec_field fields[] = {
	{ .name = "a.v", .offset = 0, .size = 8, .is_signed = true },
	{ .name = "next", .offset = 8, .size = 8, .is_pointer = true, .points_to = "n" },
};
static const struct dec_struct layout = {
	.name = "n", .size = 16, .fields = fields, .n_fields = 2
};

static struct err *check_at(struct spec_eval *e, struct spec_checker *c,
			    const struct spec *s, struct hg_view *v, uint64_t at,
			    spec_violations *found)
{
	struct err *err = spec_eval_seek(e, v, at);

	found->size = 0;
	for (size_t i = 0; i < spec_constraints(s) && !err; i++)
		err = spec_checker_check(c, i, found);
	return err;
}

/** Go back to the middle and on to the end with a checker; @p n_found: what it says. When
 * there is memory again, so must be the answer. */
static struct err *follow(struct spec_eval *e, const struct spec *s,
			  const struct hg_graph *g, struct hg_view *v, size_t *n_found)
{
	_cleanup_(spec_checker_destroyp) struct spec_checker *c = NULL;
	uint64_t end = hg_graph_ops(g);
	spec_violations found = {};
	struct err *err = spec_checker_create(e, true, &c);

	for (uint64_t at = end / 2; at <= end && !err; at += end / 2) {
		err = check_at(e, c, s, v, at, &found);
		if (err && fails_once)
			err = check_at(e, c, s, v, at, &found);
	}
	*n_found = found.size;
	vec_deinit(&found);
	hg_view_seek(v, end);
	return err;
}

static struct err *read_and_check(const struct hg_graph *g, struct hg_view *v,
				  size_t *n_found)
{
	_cleanup_(spec_destroyp) struct spec *s = NULL, *bad = NULL;
	_cleanup_(spec_eval_destroyp) struct spec_eval *e = NULL;
	spec_violations found = {};
	struct spec_args args = {};
	uint32_t watch = 0;
	size_t n_followed = 0;
	struct err *err = spec_create(&bad);

	if (!err)
		err = spec_add_text(bad, "bad", mistakes, strlen(mistakes));
	if (!err && spec_errors(bad) < 3)
		abort();
	if (!err)
		err = spec_create(&s);
	if (!err)
		err = spec_add_text(s, "good", text, strlen(text));
	if (!err)
		err = spec_bind_type(s, 0, &layout);
	if (!err)
		err = spec_bind_root(s, 0, &layout, true, 0, "n");
	if (!err)
		err = spec_resolve(s);
	if (!err)
		err = spec_eval_create(s, g, v, &e);
	if (!err)
		err = spec_check(e, 0, &found);
	for (size_t i = 0; i < found.size && !err; i++)
		err = spec_args(e, found.data[i].constraint, &found.data[i].binding,
				&args);
	if (!err)
		err = spec_watch(e, &args, 0, &watch);
	if (!err)
		err = follow(e, s, g, v, &n_followed);
	if (!err && n_followed != found.size)
		abort();
	*n_found = found.size;
	spec_args_deinit(&args);
	vec_deinit(&found);
	return err;
}

static struct hg_graph *make_graph(void)
{
	struct hg_graph *g;
	uint64_t value;

	if (hg_graph_create(&g))
		abort();
	for (uint64_t i = 0; i < 8; i++) {
		struct hg_node_id id;

		if (hg_graph_alloc(g, 2 * i + 1, 0x1000 + 16 * i, 16, 1, NULL, &id))
			abort();
		hg_graph_set_type(g, id, 1);
		value = 0x1000 + 16 * ((i + 1) % 5);
		if (hg_graph_store(g, 2 * i + 2, 0x1008 + 16 * i, 8, &value, 1))
			abort();
	}
	return g;
}

static void test_out_of_memory(void **state)
{
	struct hg_graph *g = make_graph();
	size_t n_want, n_found;
	struct hg_view *v;

	(void)state;
	assert_null(hg_view_create(g, hg_graph_ops(g), &v));
	assert_null(read_and_check(g, v, &n_want));
	assert_true(n_want > 5);
	for (int once = 0; once < 2; once++) {
		long n = 0;

		fails_once = once;
		do {
			struct err *err;

			has_failed = false;
			left = ++n;
			err = read_and_check(g, v, &n_found);
			left = -1;
			// Without an error the answer must be whole.
			if (err)
				assert_int_equal(err->code, ERR_NOMEM);
			else
				assert_int_equal(n_found, n_want);
			err_destroy(err);
		} while (has_failed);
		print_message("%ld allocations\n", n);
	}
	hg_view_destroy(v);
	hg_graph_destroy(g);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_out_of_memory) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
