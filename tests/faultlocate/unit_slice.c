// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Slices, judged by execution: what a slice leaves out may be altered, and the value that was asked
 * about is the same, as long as the altered run takes the recorded path. And by a slice made the
 * plain way: everything remembered, nothing passed over, control dependences found going forward.
 *
 * FAULTLINE_SLICES (12) alterations for each program.
 *
 * time limit: 240
 */
#include <string.h>

#include "decode/machine/branch.h"
#include "decode/machine/trace.h"
#include "faultlocate/slice/effect.h"
#include "faultlocate/slice/flow.h"
#include "faultlocate/slice/slice.h"
#include "faultlocate/slice/trace.h"
#include "tests/unit.h"

/** A step of the run, kept. */
struct kept {
	uint64_t position, rip;
	uint32_t tid, first, n; ///< its references
	int32_t insn;		///< of the trace; -1: none (the kernel's)
};

struct kept_ref {
	uint64_t addr, size;
	uint8_t reg;
	bool is_def, is_mem;
};

struct run {
	char *dir;
	struct capture *capture;
	struct fl_trace *trace;
	VEC(struct kept) steps;
	VEC(struct kept_ref) refs;
};

static uint64_t random_word(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

static struct err *keep(void *ctx, const struct dec_step *step)
{
	struct run *r = ctx;
	struct kept *k = vec_push(&r->steps);

	if (!k)
		return &err_nomem;
	*k = (struct kept){ .position = step->position,
			    .rip = step->insn ? step->insn->rip : 0,
			    .tid = step->tid,
			    .first = r->refs.size,
			    .n = step->n_refs,
			    .insn = -1 };
	if (step->insn && step->insn->len && step->insn->bytes[0])
		k->insn = fl_trace_intern(r->trace, step->insn);
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *from = &step->refs[i];
		struct kept_ref *to = vec_push(&r->refs);

		if (!to)
			return &err_nomem;
		*to = (struct kept_ref){ from->addr, from->size, from->reg, from->is_def,
					 from->is_mem };
	}
	return NULL;
}

/* Record @p command, and remember each of its steps. */
static void begin(struct run *r, const char *command)
{
	struct dec_where w;

	*r = (struct run){};
	assert_true(asprintf(&r->dir, "%s/capture", unit_env("TMPDIR")) > 0);
	unit_run("rm -rf %s; echo abcdefgh >%s/in; %s record -o %s -- %s >/dev/null "
		 "<%s/in 2>%s/err",
		 r->dir, unit_env("TMPDIR"), unit_env("FAULTLINE"), r->dir, command,
		 unit_env("TMPDIR"), unit_env("TMPDIR"));
	ok(capture_open(r->dir, &r->capture));
	ok(fl_trace_create(r->capture, NULL, &r->trace));
	if (fl_trace_end(r->trace)->at != DEC_AT_END)
		fail_msg("%s: %s", command,
			 dec_machine_divergence(fl_trace_machine(r->trace)));
	ok(dec_machine_seek(fl_trace_machine(r->trace), 0, &w));
	ok(dec_machine_trace(fl_trace_machine(r->trace), fl_trace_end(r->trace)->position,
			     keep, r, &w));
	assert_true(r->steps.size > 10000);
}

static void end(struct run *r)
{
	fl_trace_destroy(r->trace);
	capture_close(r->capture);
	vec_deinit(&r->steps);
	vec_deinit(&r->refs);
	free(r->dir);
}

static const char *programs(size_t i)
{
	static char text[256];
	static const char *const list[] = {
		"%s/examples/list-O0",
		"%s/examples/quad-O2",
		"%s/tests/programs/floats",
		"sort /etc/passwd",
		"bc -v",
		"gzip -c /etc/hostname",
	};

	if (i >= sizeof(list) / sizeof(*list))
		return NULL;
	snprintf(text, sizeof(text), list[i], unit_env("BUILD"));
	return text;
}

static size_t step_at(const struct run *r, uint64_t position)
{
	return vec_rank(r->steps.size, i, r->steps.data[i].position < position);
}

/* ---- by execution ----------------------------------------------------------------------------- */

/** What is asked about: the value of a register at a position. */
struct criterion {
	uint64_t position;
	uint8_t reg;
	uint64_t value;
};

/* A register that the instruction at a random place uses. */
static bool choose(const struct run *r, uint64_t *seed, struct criterion *c)
{
	size_t from = r->steps.size / 4;
	const struct kept *k =
		&r->steps.data[from + random_word(seed) % (r->steps.size - from)];
	uint32_t first = random_word(seed) % (k->n ?: 1);

	for (uint32_t i = 0; i < k->n && k->insn >= 0; i++) {
		const struct kept_ref *ref = &r->refs.data[k->first + (first + i) % k->n];

		if (ref->is_def || ref->is_mem || ref->reg >= CAP_GPRS ||
		    ref->reg == CAP_RSP)
			continue;
		*c = (struct criterion){ .position = k->position, .reg = ref->reg };
		return true;
	}
	return false;
}

/* A general register that a step outside of the slice defined. */
static bool choose_outside(const struct run *r, const struct fl_slice *s, uint64_t *seed,
			   uint64_t before, uint64_t reach, uint64_t *position,
			   uint8_t *reg)
{
	uint64_t from = before > reach ? before - reach : 1;
	const struct kept *k =
		&r->steps.data[step_at(r, from + random_word(seed) % (before - from))];

	if (k->insn < 0 || k->position >= before || fl_slice_has(s, k->position, 0) ||
	    r->trace->insns.data[k->insn].insn.flow != DEC_FLOW_NEXT)
		return false;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct kept_ref *ref = &r->refs.data[k->first + i];

		if (!ref->is_def || ref->is_mem || ref->reg >= CAP_GPRS)
			continue;
		*position = k->position;
		*reg = ref->reg;
		return true;
	}
	return false;
}

/* Did the run that strayed take the recorded way to @p until? It stands where it was altered. */
static bool keeps_path(struct run *r, uint64_t from, uint64_t until)
{
	for (size_t i = step_at(r, from); i < r->steps.size; i++) {
		const struct kept *k = &r->steps.data[i];
		struct dec_where w;

		if (k->position >= until)
			return true;
		if (k->insn < 0)
			continue;
		ok(dec_machine_run(fl_trace_machine(r->trace), k->position, &w));
		if (w.at != DEC_AT_POSITION || w.rip != k->rip)
			return false;
	}
	return true;
}

/* Flip something in what register @p reg is behind @p position. @return whether the criterion's
 * value is another then; *@p kept: whether the run still is at the criterion. */
static bool alter(struct run *r, uint64_t position, uint8_t reg,
		  const struct criterion *c, uint64_t bits, bool *kept)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	uint64_t rip = r->steps.data[step_at(r, c->position)].rip;
	uint8_t value[64] = {};
	struct cap_regs regs;
	struct dec_where w;
	bool is_other;

	ok(dec_machine_seek(m, position + 1, &w));
	ok(dec_machine_regs(m, &regs));
	ok(dec_machine_stray(m));
	regs.gpr[reg] ^= bits;
	memcpy(value, &regs.gpr[reg], 8);
	ok(dec_machine_set_reg(m, w.tid, reg, value));
	ok(dec_machine_run(m, c->position, &w));
	*kept = w.at == DEC_AT_POSITION && w.rip == rip;
	ok(dec_machine_regs(m, &regs));
	is_other = *kept && regs.gpr[c->reg] != c->value;
	ok(dec_machine_return(m, position + 1, &w));
	return is_other;
}

/* The same run again, looked at step by step. */
static bool alter_slowly(struct run *r, uint64_t position, uint8_t reg,
			 const struct criterion *c, uint64_t bits)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	uint8_t value[64] = {};
	struct cap_regs regs;
	struct dec_where w;
	bool is_kept;

	ok(dec_machine_seek(m, position + 1, &w));
	ok(dec_machine_regs(m, &regs));
	ok(dec_machine_stray(m));
	regs.gpr[reg] ^= bits;
	memcpy(value, &regs.gpr[reg], 8);
	ok(dec_machine_set_reg(m, w.tid, reg, value));
	is_kept = keeps_path(r, position + 1, c->position);
	ok(dec_machine_return(m, position + 1, &w));
	return is_kept;
}

static void executed(void **state)
{
	const char *many = getenv("FAULTLINE_SLICES");
	size_t n = many ? strtoul(many, NULL, 10) : 12;
	uint64_t seed = 0x9e3779b97f4a7c15, n_kept = 0, n_left = 0, n_wrong = 0;
	const char *program;

	(void)state;
	for (size_t p = 0; (program = programs(p)); p++) {
		struct run r;

		begin(&r, program);
		for (size_t done = 0, tries = 0; done < n && tries < 40 + n; tries++) {
			struct fl_slice_options o = { .keeps_instances = true,
						      .keeps_saves = true,
						      .follows_stack = true };
			struct criterion c;
			struct fl_seed s;
			struct fl_slice *slice;
			struct cap_regs regs;
			struct dec_where w;

			if (!choose(&r, &seed, &c))
				continue;
			s = (struct fl_seed){ .kind = FL_SEED_REG,
					      .position = c.position,
					      .reg = c.reg,
					      .bytes = 0xff };
			ok(dec_machine_seek(fl_trace_machine(r.trace), c.position, &w));
			ok(dec_machine_regs(fl_trace_machine(r.trace), &regs));
			c.value = regs.gpr[c.reg];
			ok(fl_slice_walk(r.trace, &s, 1, &o, &slice));
			for (size_t i = 0; i < 4 + n / 10 && done < n; i++) {
				uint64_t at, bits = 1ull << random_word(&seed) % 32;
				uint64_t reach = i & 1 ? 60 : 2000;
				bool is_kept;
				uint8_t reg;

				if (!choose_outside(&r, slice, &seed, c.position, reach,
						    &at, &reg))
					continue;
				done++;
				if (alter(&r, at, reg, &c, bits, &is_kept) &&
				    alter_slowly(&r, at, reg, &c, bits)) {
					n_wrong++;
					printf("%s: %s at %lu (%#lx) depends on %s made "
					       "at %lu (%#lx)\n",
					       program, dec_reg_gpr_name(c.reg),
					       c.position,
					       r.steps.data[step_at(&r, c.position)].rip,
					       dec_reg_gpr_name(reg), at,
					       r.steps.data[step_at(&r, at)].rip);
				}
				n_kept += is_kept;
				n_left += !is_kept;
			}
			fl_slice_destroy(slice);
		}
		end(&r);
	}
	printf("%lu alterations arrived, %lu did not; %lu violations\n", n_kept, n_left,
	       n_wrong);
	assert_true(n_kept > n * 2);
	assert_int_equal(n_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
