// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Whether a thread may have been interrupted later than where the replay found it: what
 * dec_certain_check() says is what a fork says that looks ahead as far, and asking leaves the
 * guest as it was. The machine is this program, too: the judge below is asked there.
 */

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/capture.h"
#include "decode/machine/certain.h"
#include "decode/machine/replay_int.h"
#include "decode/machine/threads.h"
#include "decode/machine/machine.h"
#include "tests/unit.h"

#define STATE_BYTES (8u << 20)
#define SMALL_BYTES (256u << 10) ///< of mappings, all of which is looked at
#define STACK_BYTES (16u << 10)

static const char *const names[] = { [CERTAIN_UNIQUE] = "unique",
				     [CERTAIN_EQUAL] = "equal",
				     [CERTAIN_NOT] = "uncertain",
				     [CERTAIN_UNKNOWN] = "unknown" };

/* ---- in the machine --------------------------------------------------------------------- */

struct state {
	uint8_t bytes[STATE_BYTES];
	size_t n;
};

static struct state before, after;

static void add(struct state *s, const void *from, size_t bytes)
{
	assert(bytes <= STATE_BYTES - s->n);
	memcpy(s->bytes + s->n, from, bytes);
	s->n += bytes;
}

/* What the guest could notice of a step that was not taken back. */
static void look(struct dec_replay *r, struct state *s)
{
	struct replay_thread here = {};
	uint64_t sp = r->engine.ctx->gpr[CAP_RSP];

	s->n = 0;
	dec_threads_save(r, &here);
	add(s, &here, sizeof(here));
	add(s, &r->engine.now, sizeof(r->engine.now));
	for (size_t i = 0; i < r->guest.ranges.size; i++) {
		const struct guest_range *g = &r->guest.ranges.data[i];
		uint64_t from = g->start, to = g->end;

		if (to - from > SMALL_BYTES && sp >= from && sp < to) {
			from = sp - from > STACK_BYTES ? sp - STACK_BYTES : from;
			to = to - sp > STACK_BYTES ? sp + STACK_BYTES : to;
		}
		if (g->prot & PROT_WRITE && to - from <= SMALL_BYTES)
			add(s, (const void *)from, to - from);
	}
}

/* Some programs ask ten thousand times at the same few places, and a fork costs: of so many, some. */
static bool is_judged(uint64_t n_asked)
{
	return n_asked < 100 || n_asked % 16 == 0;
}

static enum certain judge(struct dec_replay *r, uint64_t budget)
{
	static uint64_t n_asked;
	enum certain quick, plain;

	if (!is_judged(n_asked++))
		return dec_certain_check(r, budget);
	look(r, &before);
	quick = dec_certain_check(r, budget);
	look(r, &after);
	assert(before.n == after.n && !memcmp(before.bytes, after.bytes, after.n) &&
	       "asking changes nothing");
	plain = dec_certain_check_plainly(r, budget);
	// The fork gives up when many pages change.
	assert((quick == plain || plain == CERTAIN_UNKNOWN) && "one answer");
	dec_replay_note(r, "a place is %s", names[quick]);
	return quick;
}

/* Before the machine's own, which takes over there. */
__attribute__((constructor(101))) static void ask_the_judge(void)
{
	dec_certain_judge = judge;
}

#define RUNS_MAX 50 ///< each is some 0.1 s

/* ---- outside -------------------------------------------------------------------------- */

/* Record @p program (with its mode) and replay it. @return whether it gave answer @p want. */
static bool gives(const char *program, const char *want)
{
	const struct dec_machine_options o = { .output_fd = -1 };
	_cleanup_free_ char *dir = NULL;
	struct capture *c;
	struct dec_machine *m;
	struct dec_where w;
	const char *notes;
	bool is_given;

	assert_true(asprintf(&dir, "%s/capture", unit_env("TMPDIR")) > 0);
	assert_int_equal(unit_run("rm -rf %s; %s record -o %s -- %s/tests/programs/%s "
				  ">/dev/null",
				  dir, unit_env("FAULTLINE"), dir, unit_env("BUILD"),
				  program),
			 0);
	ok(capture_open(dir, &c));
	ok(dec_machine_create(c, &o, &m));
	ok(dec_machine_run(m, UINT64_MAX, &w));
	notes = dec_machine_notes(m);
	printf("%s: %lu switches\n%s", program, w.switches, notes ? notes : "");
	if (w.at != DEC_AT_END)
		fail_msg("%s: %s", program, dec_machine_divergence(m));
	is_given = !want || (notes && strstr(notes, want));
	dec_machine_destroy(m);
	capture_close(c);
	return is_given;
}

/* The same; it must have given answer @p want, or any when that is NULL. Where the kernel
 * interrupts a thread is chance: a fast CPU is through before it does, and is tried again. */
static void answers(const char *program, const char *want)
{
	int tries = 1;

	while (!gives(program, want))
		if (tries++ == RUNS_MAX)
			fail_msg("%s: no place is %s in %d runs", program, want ?: "any",
				 RUNS_MAX);
}

static void short_ways(void **state)
{
	(void)state;
	answers("crowd ping", NULL);
	answers("crowd stamps", "unique");
	answers("crowd thousand", NULL);
	answers("crowd sem", NULL);
	answers("crowd calls", NULL);
	answers("threads create", NULL);
	answers("threads detached", NULL);
	answers("threads clock", "unique");
}

static void circles(void **state)
{
	(void)state;
	answers("crowd idle", "equal");
	answers("crowd long", "equal");
	answers("crowd spin", "equal");
}

static void hidden_progress(void **state)
{
	(void)state;
	answers("crowd hide", "uncertain");
	answers("crowd far", "uncertain");
	answers("crowd lanes", "uncertain");
	answers("crowd carry", "uncertain");
	answers("crowd wide", "uncertain");
}

static void progress_beside_int3(void **state)
{
	(void)state;
	answers("crowd int3", "unknown"); // with the signature it never recurs
}

static void much_memory(void **state)
{
	(void)state;
	answers("crowd fill", "unknown");
	answers("crowd twice", "unknown");
	answers("crowd race", "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_ways),	   cmocka_unit_test(circles),
		cmocka_unit_test(hidden_progress), cmocka_unit_test(progress_beside_int3),
		cmocka_unit_test(much_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
