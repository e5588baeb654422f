// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Nullifying runs: in emitted code, in each of the three ways, they are what they are an
 * instruction at a time: the same end at the same place with the same output, as many
 * instructions left out, the same counts, the same calls under way.
 *
 * FAULTLINE_POINTS (2) random instances of each program are left out.
 *
 * time limit: 600
 */
#include <stdlib.h>
#include <string.h>

#include "decode/machine/branch.h"
#include "decode/machine/nullify.h"
#include "tests/unit.h"

#define LIMIT 8000
#define WAYS (DEC_NULLIFY_MODES + 1) ///< the last: an instruction at a time

struct run {
	char *dir;
	struct capture *capture;
	struct dec_machine *machine;
	uint64_t end;
};

static uint64_t random_word(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

static void begin(struct run *r, const char *command)
{
	const char *tmp = unit_env("TMPDIR");
	struct dec_where w;

	assert_true(asprintf(&r->dir, "%s/capture", tmp) > 0);
	unit_run(
		"rm -rf %s; echo abcdefgh >%s/in; %s record -o %s -- %s >%s/out <%s/in 2>%s/err",
		r->dir, tmp, unit_env("FAULTLINE"), r->dir, command, tmp, tmp, tmp);
	ok(capture_open(r->dir, &r->capture));
	ok(dec_machine_create(r->capture, NULL, &r->machine));
	ok(dec_machine_run(r->machine, UINT64_MAX >> 1, &w));
	if (w.at != DEC_AT_END)
		fail_msg("%s: %s", command, dec_machine_divergence(r->machine));
	r->end = w.position;
}

static void end(struct run *r)
{
	dec_machine_destroy(r->machine);
	capture_close(r->capture);
	free(r->dir);
}

static const char *programs(size_t i)
{
	static char text[256];
	static const char *const list[] = {
		// None of several threads: where these change may differ (doc/suppression.md).
		"%s/tests/programs/floats", "%s/tests/programs/strings",
		"%s/tests/programs/stacks", "%s/tests/programs/crash abort",
		"%s/examples/list-O0",	    "%s/examples/quad-O2",
		"/bin/ls -l /usr",	    "sort /etc/passwd",
		"gzip -c /etc/passwd",
	};

	if (i >= sizeof(list) / sizeof(*list))
		return NULL;
	snprintf(text, sizeof(text), list[i], unit_env("BUILD"));
	return text;
}

static bool is_same_place(struct run *r, struct dec_branch *a, struct dec_branch *b,
			  uint64_t limit)
{
	a->limit = b->limit = limit;
	ok(dec_machine_branches(r->machine, a, 1, 1));
	ok(dec_machine_branches(r->machine, b, 1, 1));
	return a->outcome.rip == b->outcome.rip &&
	       a->outcome.position == b->outcome.position;
}

/* Print behind how many instructions they part. */
static void bisect(struct run *r, struct dec_branch a, struct dec_branch b)
{
	uint64_t low = 0, high = LIMIT;

	while (low + 1 < high) {
		uint64_t mid = low + (high - low) / 2;

		if (is_same_place(r, &a, &b, mid))
			low = mid;
		else
			high = mid;
	}
	is_same_place(r, &a, &b, low);
	print_message("they part behind %lu instructions, at %#lx\n", low, a.outcome.rip);
}

static bool is_same_end(const struct dec_outcome *x, const struct dec_outcome *y)
{
	return x->fate == y->fate && x->value == y->value && x->position == y->position &&
	       x->rip == y->rip;
}

static void compare(const char *what, const struct dec_branch *a,
		    const struct dec_branch *b)
{
	const struct dec_outcome *x = &a->outcome, *y = &b->outcome;
	const struct dec_nullified *t = a->told, *u = b->told;
	bool is_limit = x->fate == DEC_FATE_LIMIT && y->fate == DEC_FATE_LIMIT;

	if (!is_same_end(x, y))
		fail_msg(
			"%s: fate %d (%d, '%s') at %lu, %#lx; by steps %d (%d, '%s') at %lu, %#lx",
			what, x->fate, x->value, x->text, x->position, x->rip, y->fate,
			y->value, y->text, y->position, y->rip);
	if (memcmp(x->out, y->out, sizeof(x->out)))
		fail_msg("%s: other output", what);
	if (t->n_omitted != u->n_omitted || t->counts[0] != u->counts[0] ||
	    t->n_joined != u->n_joined || t->n_calls != u->n_calls ||
	    t->fired[0].position != u->fired[0].position)
		fail_msg(
			"%s: %lu left out, %u joins, %u calls, met %lu times; by steps %lu, %u, %u, %lu",
			what, t->n_omitted, t->n_joined, t->n_calls, t->counts[0],
			u->n_omitted, u->n_joined, u->n_calls, u->counts[0]);
	assert_int_equal(t->n_steps, u->n_steps);
	for (uint32_t i = 0; is_limit && i < t->n_frames && i < u->n_frames; i++)
		if (t->frames[i].call.ret != u->frames[i].call.ret ||
		    t->frames[i].call.slot != u->frames[i].call.slot)
			fail_msg("%s: another call under way, number %u", what, i);
}

/* Leave the instruction at position @p at out of @p r, in all ways. @return instructions that ran in
 * emitted code. */
static uint64_t leave_out(struct run *r, const char *program, uint64_t at)
{
	static const char *const ways[] = { "software", "nat-reg", "nat-mem" };
	static struct dec_nullify ask[WAYS];
	static struct dec_nullified told[WAYS];
	struct dec_branch b[WAYS] = {};
	uint64_t quick = 0;
	struct dec_where w;

	ok(dec_machine_seek(r->machine, at, &w));
	for (int i = 0; i < WAYS; i++) {
		ask[i] = (struct dec_nullify){ .n_points = 1 };
		ask[i].points[0] = (struct dec_point){ .rip = w.rip,
						       .nth = 1 + at % 2,
						       .is_each = at % 7 == 0 };
		ask[i].counted[0] = w.rip;
		ask[i].mode = i % DEC_NULLIFY_MODES;
		ask[i].full_from = i < DEC_NULLIFY_MODES ? UINT64_MAX : 0;
		b[i] = (struct dec_branch){ .limit = LIMIT,
					    .nullify = &ask[i],
					    .told = &told[i] };
	}
	// Alone, and several in one process, which takes back what each did.
	for (int i = 0; i < WAYS && at % 3; i++)
		ok(dec_machine_branches(r->machine, &b[i], 1, 1));
	if (at % 3 == 0)
		ok(dec_machine_branches(r->machine, b, WAYS, 1));
	for (int i = 0; i < DEC_NULLIFY_MODES; i++) {
		char what[256];

		snprintf(what, sizeof(what), "%s, %#lx at %lu left out, %s", program,
			 w.rip, at, ways[i]);
		if (!is_same_end(&b[i].outcome, &b[WAYS - 1].outcome))
			bisect(r, b[i], b[WAYS - 1]);
		compare(what, &b[i], &b[WAYS - 1]);
		if (told[i].is_quick)
			quick += told[i].n_steps - told[i].n_slow;
	}
	return quick;
}

static void same_in_all_ways(void **state)
{
	const char *wanted = getenv("FAULTLINE_POINTS");
	int n = wanted ? atoi(wanted) : 2;
	uint64_t seed = 20260220, quick = 0;
	const char *program;

	(void)state;
	for (size_t i = 0; (program = programs(i)); i++) {
		struct run r = {};

		begin(&r, program);
		for (int k = 0; k < n; k++)
			quick += leave_out(&r, program, random_word(&seed) % (r.end - 1));
		end(&r);
	}
	print_message("%lu instructions in emitted code\n", quick);
	assert_true(quick > 10000);
}

/* What is NaT is in no stack when it becomes so, and read by the stack pointer alone. */
static void read_by_another_stack(void **state)
{
	static const char *const moves[] = { "leaq word-64(%rip), %rsp",
					     "movq %rdx, %rsp", "pushq %rdx; popq %rsp",
					     "xchgq %rdx, %rsp" };
	const char *tmp = unit_env("TMPDIR");

	(void)state;
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		char command[256];
		struct run r = {};

		// It exits with what it reads: 7, and 0 where that is left out.
		assert_int_equal(
			unit_run(
				"printf '.globl _start\\n_start: movl $7, word(%%%%rip)\\n"
				"leaq word-64(%%%%rip), %%%%rdx; movl $1000, %%%%ecx\\n"
				"1: decl %%%%ecx; jnz 1b; movq %%%%rsp, %%%%rbx\\n%%s\\n"
				"movl 64(%%%%rsp), %%%%edi; movq %%%%rbx, %%%%rsp\\n"
				"movl $60, %%%%eax; syscall\\n.data\\n.skip 4096\\nword: .long 5\\n' "
				"'%s' | gcc -x assembler -nostdlib -static -o %s/moves -",
				moves[i], tmp),
			0);
		snprintf(command, sizeof(command), "%s/moves", tmp);
		begin(&r, command);
		leave_out(&r, moves[i], 0);
		end(&r);
	}
}

/* Leave the instruction at position 0 of program @p text out, which is a format of printf's. @return as leave_out(). */
static uint64_t leave_out_first(const char *name, const char *text)
{
	const char *tmp = unit_env("TMPDIR");
	char command[256];
	struct run r = {};
	uint64_t quick;

	assert_int_equal(
		unit_run("printf '%s' | gcc -x assembler -nostdlib -static -o %s/%s -",
			 text, tmp, name),
		0);
	snprintf(command, sizeof(command), "%s/%s", tmp, name);
	begin(&r, command);
	quick = leave_out(&r, name, 0);
	end(&r);
	return quick;
}

/* Registers are not tested any more when one becomes NaT once more. */
static void corrupt_again(void **state)
{
	(void)state;
	// It exits with 7, and with 0 where no 7 is left to be moved to rdi.
	assert_true(
		leave_out_first("again",
				".globl _start\n_start: movl $7, %%r8d\n"
				"testl %%ebx, %%ebx; jnz 2f; incl %%ebx; movl $1, %%r8d\n"
				"movl $2500, %%ecx; 1: decl %%ecx; jnz 1b; jmp _start\n"
				"2: movl %%r8d, %%edi; movl $60, %%eax; syscall\n") >
		3 * 4500);
}

/* k0 in the place of a mask is none, NaT or not. */
static void no_mask(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx512vl")) {
		print_message("this processor has no AVX-512\n");
		skip();
	}
	leave_out_first("k0", ".globl _start\n_start: kmovw %%ecx, %%k0\n"
			      "movl $1000, %%ecx; 1: decl %%ecx; jnz 1b; movl $7, %%esi\n"
			      "vpbroadcastd %%esi, %%xmm16; vmovd %%xmm16, %%edi\n"
			      "movl $60, %%eax; syscall\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(same_in_all_ways),
					    cmocka_unit_test(read_by_another_stack),
					    cmocka_unit_test(corrupt_again),
					    cmocka_unit_test(no_mask) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
