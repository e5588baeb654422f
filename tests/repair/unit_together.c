// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Several faults, none of which is mended alone, and no time for Z3: a patch is found by executing
 * changes together.
 */
#include <limits.h>
#include <string.h>

#include "faultlocate/repair/record.h"
#include "faultlocate/repair/repair.h"
#include "tests/unit.h"

static const char text[] = "struct node { int data; struct node *next; };\n"
			   "struct node *first, *second, *third;\n"
			   "int n;\n"
			   "void turn(void)\n"
			   "{\n"
			   "	struct node *held;\n"
			   "	n = n + 1;\n"
			   "	held = first;\n"
			   "	first = second;\n"
			   "	second = third;\n"
			   "	third = held;\n"
			   "	third->data = n;\n"
			   "}\n";

struct broken {
	struct rp_program *p;
	struct rp_recorder rec; ///< what it did before
};

/* The number of the operation of line @p line that assigns what it says. */
static int op_of(const struct rp_program *p, int line)
{
	for (size_t i = 0; i < p->ops.size; i++)
		if (p->ops.data[i].line == line)
			return (int)i;
	fail_msg("nothing in line %d", line);
	return 0;
}

static void read_program(struct broken *b)
{
	static char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/turn.c", unit_env("TMPDIR"));
	f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	ok(fl_rp_program_read(path, &b->p));
	b->rec.function = fl_rp_program_function(b->p, "turn");
}

static int64_t *variable(struct broken *b, struct rp_state *s, const char *name)
{
	for (size_t i = 0; i < b->p->variables.size; i++)
		if (!strcmp(b->p->variables.data[i].name, name))
			return &s->globals.data[i];
	fail_msg("no %s", name);
	return NULL;
}

static void run_right(struct broken *b)
{
	static int64_t fields[3][2] = { { 7, 2 }, { 8, 3 }, { 9, 0 } };
	struct rp_state s;

	ok(fl_rp_state_init(&s, b->p));
	for (int i = 0; i < 3; i++) {
		struct rp_node n = { 0, false, malloc(sizeof(fields[i])) };

		assert_non_null(n.fields);
		memcpy(n.fields, fields[i], sizeof(fields[i]));
		ok(vec_add(&s.nodes, n));
	}
	*variable(b, &s, "first") = 1;
	*variable(b, &s, "second") = 2;
	*variable(b, &s, "third") = 3;
	ok(fl_rp_record_run(&b->rec, b->p, &s));
	fl_rp_state_deinit(&s);
}

static void break_it(struct broken *b)
{
	struct rp_op *ops = b->p->ops.data;

	ops[op_of(b->p, 9)].a = ops[op_of(b->p, 10)].a;		    // first = third
	ops[op_of(b->p, 12)].dst.var = ops[op_of(b->p, 9)].dst.var; // first->data = n
	ops[op_of(b->p, 10)].is_removed = true;
}

static void setup(struct broken *b)
{
	read_program(b);
	run_right(b);
	break_it(b);
}

static void teardown(struct broken *b)
{
	fl_rp_recorder_deinit(&b->rec);
	fl_rp_program_destroy(b->p);
}

static void test_no_time(void **state)
{
	struct broken b = {};
	struct rp_answer a;
	struct rp_question q = { .n_witnesses = 1, .most_seconds = 1e-9 };
	char why[200];

	(void)state;
	setup(&b);
	q.p = b.p;
	q.witnesses = b.rec.witnesses.data;
	q.function = b.rec.function;
	ok(fl_rp_repair(&q, &a));
	assert_int_equal(a.verdict, RP_REPAIRED);
	assert_true(a.was_tried);
	assert_true(a.statements + a.insertions > 1);
	ok(fl_rp_patch_apply(b.p, &a.patch));
	assert_true(fl_rp_check(b.p, &b.rec.witnesses.data[0], why, sizeof(why)));
	fl_rp_answer_deinit(&a);
	teardown(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
