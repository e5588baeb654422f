// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * When was it written? What the index of epochs says of registers and memory at random moments is judged by a
 * list of all that a full trace defines: the last write is in an epoch that is named, before any other that
 * was written in, and few are named in vain; with short epochs, and such that became longer.
 */

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "capture/capture.h"
#include "decode/explain/written.h"
#include "tests/unit.h"

enum { ASKED = 3000, SINCE = 997 };

struct def {
	struct dec_location l; ///< of more bytes than a location has, too
	uint64_t position;
};

struct run {
	struct capture *capture;
	struct dec_machine *machine;
	uint64_t end;
	VEC(struct def) defs; ///< as they came
	VEC(struct def) uses; ///< some
};

static struct err *note(void *ctx, const struct dec_step *step)
{
	struct run *r = ctx;
	struct err *err = NULL;

	for (size_t i = 0; i < step->n_refs && !err; i++) {
		const struct dec_ref *ref = &step->refs[i];
		struct def def = { { .is_mem = ref->is_mem,
				     .reg = ref->reg,
				     .tid = step->tid,
				     .addr = ref->addr,
				     .size = ref->size },
				   step->position };

		if (ref->is_def)
			err = vec_add(&r->defs, def);
		else if (ref->size && ref->reg != DEC_REG_RIP)
			err = vec_add(&r->uses, def);
	}
	return err;
}

static void begin(struct run *r, const char *name, const char *program)
{
	_cleanup_free_ char *dir = NULL, *command = NULL;
	struct dec_where w;

	assert_true(asprintf(&dir, "%s/%s", unit_env("TMPDIR"), name) > 0);
	assert_true(asprintf(&command, "%s record -o %s -- %s >/dev/null",
			     unit_env("FAULTLINE"), dir, program) > 0);
	assert_int_equal(system(command), 0);
	ok(capture_open(dir, &r->capture));
	ok(dec_machine_create(r->capture, NULL, &r->machine));
	ok(dec_machine_checkpoint(r->machine));
	ok(dec_machine_trace(r->machine, UINT64_MAX >> 1, note, r, &w));
	assert_int_equal(w.at, DEC_AT_END);
	r->end = w.position;
}

static void end(struct run *r)
{
	vec_deinit(&r->defs);
	vec_deinit(&r->uses);
	dec_machine_destroy(r->machine);
	capture_close(r->capture);
}

static bool is_of(const struct def *d, const struct dec_location *l)
{
	if (d->l.is_mem != l->is_mem)
		return false;
	return l->is_mem ?
		       d->l.addr < l->addr + l->size && l->addr < d->l.addr + d->l.size :
		       d->l.reg == l->reg && d->l.tid == l->tid;
}

/* The last of @p r's writes of @p l before @p before; NULL: none. */
static const struct def *last(const struct run *r, const struct dec_location *l,
			      uint64_t before)
{
	size_t n = vec_rank(r->defs.size, i, r->defs.data[i].position < before);

	while (n && !is_of(&r->defs.data[n - 1], l))
		n--;
	return n ? &r->defs.data[n - 1] : NULL;
}

/* Ask as who looks for it does. @return how many epochs are named. */
static uint64_t ask(const struct run *r, const struct dec_written *w,
		    const struct dec_location *l, uint64_t before)
{
	const struct def *truth = last(r, l, before);
	struct dec_span in = { .start = before };
	uint64_t n = 0;

	while (dec_written_before(w, l, in.start, &in)) {
		n++;
		assert_true(in.start < in.end && in.end <= before);
		if (!truth)
			continue;
		if (truth->position >= in.end)
			fail_msg(
				"%s %#lx: [%lu, %lu) is named before %lu, not that it was written at %lu",
				l->is_mem ? "memory" : "register",
				l->is_mem ? l->addr : l->reg, in.start, in.end, before,
				truth->position);
		if (truth->position >= in.start)
			return n;
	}
	if (truth)
		fail_msg("%s %#lx: nothing is named before %lu; it was written at %lu",
			 l->is_mem ? "memory" : "register", l->is_mem ? l->addr : l->reg,
			 before, truth->position);
	return n;
}

static void agree(struct run *r, uint64_t epoch, size_t most)
{
	struct dec_written *w;
	uint64_t named = 0, seed = 1;

	dec_written_epoch = epoch;
	dec_written_most = most;
	ok(dec_written_create(r->machine, r->end, &w));
	for (int i = 0; i < ASKED; i++) {
		const struct def *use;
		struct dec_location l;

		seed = seed * 6364136223846793005 + 1442695040888963407;
		use = &r->uses.data[(seed >> 33) % r->uses.size];
		l = use->l;
		l.size = l.size < 8 ? l.size : 8;
		// As it is used; and some time before that.
		named += ask(r, w, &l, use->position);
		named += ask(r, w, &l, use->position > SINCE ? use->position - SINCE : 0);
	}
	if (named > 4 * ASKED)
		fail_msg("%lu epochs were named to %d questions", named, 2 * ASKED);
	dec_written_destroy(w);
}

static void threads(void **state)
{
	struct run r = {};
	_cleanup_free_ char *program = NULL;

	(void)state;
	assert_true(asprintf(&program, "%s/tests/programs/turns", unit_env("BUILD")) > 0);
	begin(&r, "threads", program);
	agree(&r, 64, SIZE_MAX);
	agree(&r, 1024, SIZE_MAX);
	agree(&r, 16, 4000);
	end(&r);
}

static void signals(void **state)
{
	struct run r = {};

	(void)state;
	begin(&r, "signals",
	      "sh -c 'trap \"read x </etc/hostname\" USR1; for i in 1 2 3; do kill -USR1 $$; done'");
	agree(&r, 64, SIZE_MAX);
	agree(&r, 16, 4000);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads),
		cmocka_unit_test(signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
