// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The machine over a real capture: positions name the same instant in every log mode,
 * going back and forth arrives at the same state, breakpoints stop where they should, and
 * a trace's definitions carry the registers from one position to the next.
 */

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "capture/capture.h"
#include "decode/explain/backward.h"
#include "decode/machine/branch.h"
#include "decode/machine/trace.h"
#include "decode/machine/machine.h"
#include "tests/unit.h"

static struct capture *capture;
static uint64_t total; ///< instructions of the whole run

static struct err *count(void *ctx, const uint8_t *log, size_t bytes)
{
	(void)log;
	*(uint64_t *)ctx += bytes;
	return NULL;
}

static int record(void **state)
{
	const char *faultline = unit_env("FAULTLINE"), *tmp = unit_env("TMPDIR");
	_cleanup_free_ char *command = NULL, *dir = NULL;
	struct dec_machine *m;
	struct dec_where w;

	(void)state;
	if (asprintf(&dir, "%s/capture", tmp) < 0 ||
	    asprintf(&command, "%s record -o %s -- sh -c 'echo $((6 * 7))' >/dev/null",
		     faultline, dir) < 0 ||
	    system(command))
		return -1;
	ok(capture_open(dir, &capture));
	ok(dec_machine_create(capture, NULL, &m));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	assert_int_equal(w.at, DEC_AT_END);
	assert_int_equal(w.end, CAP_END_EXIT);
	total = w.position;
	dec_machine_destroy(m);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	capture_close(capture);
	return 0;
}

static void same_regs(const struct cap_regs *a, const struct cap_regs *b,
		      uint64_t position)
{
	if (memcmp(a->gpr, b->gpr, sizeof(a->gpr)) || a->rip != b->rip ||
	    a->rflags != b->rflags)
		fail_msg("registers differ at position %lu: rip %#lx and %#lx", position,
			 a->rip, b->rip);
}

static void modes_agree(void **state)
{
	enum { POINTS = 40 };
	struct cap_regs regs[POINTS];

	(void)state;
	for (int mode = DEC_LOG_NONE; mode <= DEC_LOG_VALUES; mode++) {
		struct dec_machine *m;
		struct dec_where w;
		uint64_t bytes = 0;

		ok(dec_machine_create(capture, NULL, &m));
		ok(dec_machine_log(m, mode, count, &bytes));
		for (int i = 0; i < POINTS; i++) {
			// Uneven steps, so that they fall in the middle of blocks.
			uint64_t position = (total - 1) * i / POINTS + i * i % 37;
			struct cap_regs now;

			ok(dec_machine_run(m, position, &w));
			assert_int_equal(w.at, DEC_AT_POSITION);
			assert_int_equal(w.position, position);
			ok(dec_machine_regs(m, &now));
			if (mode == DEC_LOG_NONE)
				regs[i] = now;
			same_regs(&regs[i], &now, position);
		}
		ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
		assert_int_equal(w.at, DEC_AT_END);
		assert_int_equal(w.position, total);
		assert_int_equal(bytes > 0, mode != DEC_LOG_NONE);
		dec_machine_destroy(m);
	}
}

static void single_steps_agree(void **state)
{
	struct dec_machine *a, *b;
	struct dec_where w;

	(void)state;
	ok(dec_machine_create(capture, NULL, &a));
	ok(dec_machine_create(capture, NULL, &b));
	ok(dec_machine_run(b, total / 2, &w));
	ok(dec_machine_run(a, total / 2 - 300, &w));
	for (uint64_t p = total / 2 - 300; p <= total / 2; p++) {
		ok(dec_machine_run(a, p, &w));
		assert_int_equal(w.position, p);
	}
	struct cap_regs ra, rb;
	ok(dec_machine_regs(a, &ra));
	ok(dec_machine_regs(b, &rb));
	same_regs(&ra, &rb, total / 2);
	dec_machine_destroy(a);
	dec_machine_destroy(b);
}

static void back_and_forth(void **state)
{
	struct cap_regs first, again;
	uint8_t stack[256], stack_again[256];
	struct dec_machine *m;
	struct dec_where w;

	(void)state;
	ok(dec_machine_create(capture, NULL, &m));
	for (int i = 1; i < 10; i++) {
		ok(dec_machine_run(m, total * i / 10, &w));
		ok(dec_machine_checkpoint(m));
		if (i == 4) {
			ok(dec_machine_regs(m, &first));
			ok(dec_machine_read(m, first.gpr[CAP_RSP], stack, sizeof(stack)));
		}
	}
	ok(dec_machine_seek(m, total * 4 / 10, &w));
	assert_int_equal(w.position, total * 4 / 10);
	ok(dec_machine_regs(m, &again));
	same_regs(&first, &again, w.position);
	ok(dec_machine_read(m, first.gpr[CAP_RSP], stack_again, sizeof(stack)));
	assert_memory_equal(stack, stack_again, sizeof(stack));
	// Between checkpoints, before the first one, and to the end from there.
	ok(dec_machine_seek(m, total * 7 / 10 - 11, &w));
	assert_int_equal(w.position, total * 7 / 10 - 11);
	ok(dec_machine_seek(m, 5, &w));
	assert_int_equal(w.position, 5);
	ok(dec_machine_seek(m, total * 4 / 10, &w));
	ok(dec_machine_regs(m, &again));
	same_regs(&first, &again, w.position);
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	assert_int_equal(w.at, DEC_AT_END);
	assert_int_equal(w.position, total);
	ok(dec_machine_seek(m, 17, &w));
	assert_int_equal(w.position, 17);
	dec_machine_destroy(m);
}

static void many_checkpoints(void **state)
{
	struct dec_machine *m;
	struct dec_where w;

	(void)state;
	ok(dec_machine_create(capture, NULL, &m));
	for (int i = 1; i < 100; i++) {
		ok(dec_machine_run(m, total * i / 100, &w));
		ok(dec_machine_checkpoint(m));
	}
	for (int i = 99; i > 0; i -= 7) {
		ok(dec_machine_seek(m, total * i / 100, &w));
		assert_int_equal(w.position, total * i / 100);
	}
	dec_machine_destroy(m);
}

/* KiB that the processes below @p pid hold: their share of what they share. */
static uint64_t held_below(int pid)
{
	_cleanup_fclose_ FILE *children = NULL;
	char path[64], line[256];
	uint64_t sum = 0, kib;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &child) == 1) {
		_cleanup_fclose_ FILE *f = NULL;

		snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", child);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "Pss: %lu", &kib) == 1)
				sum += kib;
		sum += held_below(child);
	}
	return sum;
}

/* Of a program that writes all of its memory between any two, and reads more than the log unpacks
 * at once: not all are kept, and from each that is the run goes on as recorded. */
static void checkpoints_hold_little(void **state)
{
	_cleanup_free_ char *dir = NULL;
	struct dec_machine *m;
	struct capture *c;
	struct dec_past *past;
	struct dec_where w;
	uint64_t alone, end;
	size_t kept;

	(void)state;
	assert_true(asprintf(&dir, "%s/gzip", unit_env("TMPDIR")) > 0);
	assert_int_equal(unit_run("seq 700000 >%s.in && %s record -o %s -- gzip -c %s.in "
				  ">/dev/null 2>&1",
				  dir, unit_env("FAULTLINE"), dir, dir),
			 0);
	ok(capture_open(dir, &c));
	ok(dec_machine_create(c, NULL, &m));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	assert_int_equal(w.at, DEC_AT_END);
	end = w.position;
	alone = held_below(getpid());
	assert_true(alone > 1000);
	for (uint64_t i = 0; i < 64; i++) {
		ok(dec_machine_seek(m, end / 64 * i, &w));
		ok(dec_machine_checkpoint(m));
	}
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	kept = dec_machine_checkpoints(m);
	assert_in_range(kept, 4, 63);
	assert_in_range(held_below(getpid()), 0, 3 * alone);
	for (uint64_t i = kept; i-- > 0;) {
		ok(dec_machine_seek(m, end / kept * i, &w));
		ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
		assert_int_equal(w.at, DEC_AT_END);
		assert_int_equal(w.position, end);
	}
	// Who affords more has more.
	dec_machine_afford(m, UINT64_C(1) << 32);
	for (uint64_t i = 0; i < 64; i++) {
		ok(dec_machine_seek(m, end / 64 * i, &w));
		ok(dec_machine_checkpoint(m));
	}
	assert_true(dec_machine_checkpoints(m) > kept);
	dec_machine_destroy(m);
	// Who looks at a run's end has them, also when its beginning was looked at.
	ok(dec_past_create(c, end, &past));
	ok(dec_past_seek(past, 1, &m));
	assert_in_range(dec_machine_checkpoints(m), 2, 63);
	dec_past_destroy(past);
	capture_close(c);
}

/* A checkpoint's process is ended, as by the kernel when memory is short; that is heard while
 * another one is asked, and told when it is wanted. */
static void a_checkpoint_is_killed(void **state)
{
	struct dec_branch branch = { .limit = 100 };
	struct dec_machine *m;
	struct dec_where w;
	struct err *err;

	(void)state;
	ok(dec_machine_create(capture, NULL, &m));
	ok(dec_machine_run(m, total / 2, &w));
	ok(dec_machine_checkpoint(m)); // the younger process
	assert_int_equal(unit_run("kill -9 $(pgrep -P $(pgrep -P %d -f "
				  "'^faultline-machine') | sort -n | tail -n 1)",
				  getpid()),
			 0);
	ok(dec_machine_run(m, total - 1, &w));
	ok(dec_machine_branches(m, &branch, 1, 1));
	err = dec_machine_seek(m, total / 2, &w);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "killed, perhaps for want of memory"));
	err_destroy(err);
	err = dec_machine_run(m, total, &w);
	assert_non_null(err);
	err_destroy(err);
	dec_machine_destroy(m);
}

static void breakpoints(void **state)
{
	struct cap_regs regs;
	struct dec_machine *m;
	struct dec_where w;
	uint64_t rip, hits = 0, last = 0;

	(void)state;
	ok(dec_machine_create(capture, NULL, &m));
	ok(dec_machine_run(m, total / 2, &w));
	ok(dec_machine_regs(m, &regs));
	rip = regs.rip;
	dec_machine_destroy(m);
	ok(dec_machine_create(capture, NULL, &m));
	ok(dec_machine_break(m, rip, true));
	for (;;) {
		ok(dec_machine_run(m, total / 2 + 1, &w));
		if (w.at != DEC_AT_BREAK)
			break;
		assert_int_equal(w.rip, rip);
		assert_true(hits == 0 || w.position > last);
		last = w.position;
		hits++;
	}
	// The one that we know of is the last one before the end of the window.
	assert_true(hits > 0);
	assert_int_equal(last, total / 2);
	ok(dec_machine_break(m, rip, false));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	assert_int_equal(w.at, DEC_AT_END);
	dec_machine_destroy(m);
}

/* Follow one window: registers rebuilt from definitions alone. */
struct follower {
	uint64_t gpr[16];
	uint64_t steps, next;
	struct dec_machine *judge; ///< single-stepped beside the trace
};

static struct err *follow(void *ctx, const struct dec_step *step)
{
	struct follower *f = ctx;

	if (!step->insn)
		return NULL;
	assert_int_equal(step->position, f->next);
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (r->is_mem || r->reg >= DEC_GPRS)
			continue;
		assert_true(r->has_value);
		if (!r->is_def)
			assert_memory_equal(&f->gpr[r->reg], r->value, 8);
	}
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (r->is_def && !r->is_mem && r->reg < DEC_GPRS)
			memcpy(&f->gpr[r->reg], r->value, 8);
	}
	f->steps++;
	f->next++;
	return NULL;
}

static void trace_carries_registers(void **state)
{
	uint64_t from[] = { 0, total / 3, total / 2, total - 20000 };
	struct dec_machine *m;

	(void)state;
	ok(dec_machine_create(capture, NULL, &m));
	for (size_t i = 0; i < 4; i++) {
		uint64_t to = from[i] + 15000 + i * 7;
		struct cap_regs before, after;
		struct follower f = {};
		struct dec_where w;

		ok(dec_machine_seek(m, from[i], &w));
		ok(dec_machine_regs(m, &before));
		memcpy(f.gpr, before.gpr, sizeof(f.gpr));
		f.next = from[i];
		ok(dec_machine_trace(m, to, follow, &f, &w));
		assert_int_equal(w.position, to);
		assert_int_equal(f.steps, to - from[i]);
		ok(dec_machine_regs(m, &after));
		for (int r = 0; r < 16; r++) {
			if (f.gpr[r] != after.gpr[r])
				fail_msg(
					"window %zu: register %d is %#lx, the trace says %#lx",
					i, r, after.gpr[r], f.gpr[r]);
		}
	}
	dec_machine_destroy(m);
}

static void outside_memory(void **state)
{
	struct dec_machine *m;
	struct err *err;
	char byte;

	(void)state;
	ok(dec_machine_create(capture, NULL, &m));
	err = dec_machine_read(m, 0x10, &byte, 1);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_RANGE);
	err_destroy(err);
	dec_machine_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_agree),
		cmocka_unit_test(single_steps_agree),
		cmocka_unit_test(back_and_forth),
		cmocka_unit_test(many_checkpoints),
		cmocka_unit_test(checkpoints_hold_little),
		cmocka_unit_test(a_checkpoint_is_killed),
		cmocka_unit_test(breakpoints),
		cmocka_unit_test(trace_carries_registers),
		cmocka_unit_test(outside_memory),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
