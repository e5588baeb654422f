// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A capture that lies is found out at the next system call: each test changes one thing
 * in the recorded events of a real capture and expects the divergence to be named.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "capture/cap_format.h"
#include "decode/machine/machine.h"
#include "tests/decode/forge.h"

static char good[4096], bad[4096];

static int record(void **state)
{
	const char *tmp = unit_env("TMPDIR");

	(void)state;
	snprintf(good, sizeof(good), "%s/good", tmp);
	snprintf(bad, sizeof(bad), "%s/bad", tmp);
	// bash reads its script from a pipe a byte at a time: the data decides the flow.
	return unit_run(
		"echo 'x=7; echo $((x * 6))' | %s record -o %s -- bash >/dev/null",
		unit_env("FAULTLINE"), good);
}

/* Replay the forgery. @return what diverged; the caller frees it. @p d may be NULL. */
static char *replay(struct dec_divergence *d)
{
	struct capture *c;
	struct dec_machine *m;
	struct dec_where w;
	char *text;

	ok(capture_open(bad, &c));
	ok(dec_machine_create(c, NULL, &m));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	if (w.at != DEC_AT_DIVERGENCE)
		fail_msg("the replay says nothing (stopped by %d)", w.at);
	text = strdup(dec_machine_divergence(m));
	assert_non_null(dec_machine_parted(m));
	if (d)
		*d = *dec_machine_parted(m);
	dec_machine_destroy(m);
	capture_close(c);
	return text;
}

static void nothing(struct cap_event *ev, void *ctx)
{
	(void)ev;
	(void)ctx;
}

static void unchanged_copy_matches(void **state)
{
	(void)state;
	forge_capture(good, bad, nothing, NULL);
	assert_int_equal(unit_run("%s replay %s >/dev/null", getenv("FAULTLINE"), bad),
			 0);
}

static void flip_rsi(struct cap_event *ev, void *ctx)
{
	int *left = ctx;

	if (ev->kind == CAP_EV_SYSCALL && --*left == 0)
		ev->regs.gpr[CAP_RSI] ^= 0x40;
}

static void register_is_named(void **state)
{
	int nth = 20;
	_cleanup_free_ char *text = NULL;
	struct dec_divergence d;

	(void)state;
	forge_capture(good, bad, flip_rsi, &nth);
	text = replay(&d);
	assert_non_null(strstr(text, "rsi recorded"));
	assert_non_null(strstr(text, "replayed"));
	assert_int_equal(d.parting, DEC_PARTED_REGISTER);
	assert_int_equal(d.reg, CAP_RSI);
	assert_int_equal(d.recorded ^ d.replayed, 0x40);
	assert_int_equal(d.event, CAP_EV_SYSCALL);
	assert_int_equal(d.event_rip, d.rip);
	assert_true(d.has_agreed && d.agreed_position < d.position);
	assert_true(d.agreed_seq < d.seq);
	assert_int_equal(unit_run("%s replay %s >%s.out", getenv("FAULTLINE"), bad, bad),
			 1);
	assert_int_equal(
		unit_run("grep -q '^diverged: thread .*rsi recorded' %s.out", bad), 0);
}

static void change_input(struct cap_event *ev, void *ctx)
{
	static uint8_t lie[1];
	static struct cap_write w;

	(void)ctx;
	// The 7 that the script assigns becomes an 8.
	if (ev->kind != CAP_EV_SYSCALL || ev->regs.gpr[CAP_RAX] != SYS_read ||
	    ev->n_writes != 1 || ev->writes[0].size != 1 || ev->writes[0].data[0] != '7')
		return;
	lie[0] = 'z';
	w = (struct cap_write){ ev->writes[0].addr, 1, lie };
	ev->writes = &w;
}

static void changed_input_diverges(void **state)
{
	_cleanup_free_ char *text = NULL;

	(void)state;
	forge_capture(good, bad, change_input, NULL);
	text = replay(NULL);
	assert_non_null(strstr(text, "instructions"));
}

static void drop_writes(struct cap_event *ev, void *ctx)
{
	int *left = ctx;

	if (ev->kind == CAP_EV_SYSCALL && ev->regs.gpr[CAP_RAX] == SYS_read &&
	    --*left == 0)
		ev->regs.gpr[CAP_RAX] = SYS_getppid;
}

static void change_status(struct cap_event *ev, void *ctx)
{
	(void)ctx;
	if (ev->kind == CAP_EV_EXIT)
		ev->exit_code = 3;
}

static void other_status_diverges(void **state)
{
	_cleanup_free_ char *text = NULL;

	(void)state;
	forge_capture(good, bad, change_status, NULL);
	text = replay(NULL);
	assert_non_null(strstr(text, "exits with status 0; recorded: 3"));
}

static void other_call_diverges(void **state)
{
	int nth = 3;
	_cleanup_free_ char *text = NULL;

	(void)state;
	forge_capture(good, bad, drop_writes, &nth);
	text = replay(NULL);
	assert_non_null(strstr(text, "rax recorded 0x6e, replayed 0"));
}

static void wild_write(struct cap_event *ev, void *ctx)
{
	static const uint8_t byte[1] = { 1 };
	static const struct cap_write w = { 0x10, 1, byte };
	int *left = ctx;

	if (ev->kind == CAP_EV_SYSCALL && ev->regs.gpr[CAP_RAX] == SYS_read &&
	    --*left == 0) {
		ev->writes = &w;
		ev->n_writes = 1;
	}
}

static void wild_write_is_refused(void **state)
{
	int nth = 3;
	_cleanup_free_ char *text = NULL;

	(void)state;
	forge_capture(good, bad, wild_write, &nth);
	text = replay(NULL);
	assert_non_null(strstr(text, "no writable memory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unchanged_copy_matches),
		cmocka_unit_test(register_is_named),
		cmocka_unit_test(changed_input_diverges),
		cmocka_unit_test(other_call_diverges),
		cmocka_unit_test(other_status_diverges),
		cmocka_unit_test(wild_write_is_refused),
	};

	return cmocka_run_group_tests(tests, record, NULL);
}
