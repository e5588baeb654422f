// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Slices, judged by execution: what a slice leaves out may be altered, and the value that was asked
 * about is the same, as long as the altered run takes the recorded path. And by a slice made the
 * plain way: everything remembered, nothing passed over, control dependences found going forward.
 *
 * FAULTLINE_SLICES=N: N alterations, of 50 criteria, for each of all programs; else 8 for each of
 * the first few.
 *
 * And by their captures: without what is not in the slice, and with wrong values in all that it
 * defined, the run goes the same way and has the same value. So that this can be trusted, slices that
 * do not know of something are to be found out. FAULTLINE_CAPTURES=N: of N criteria for each of
 * all programs; else of one for the first few. FAULTLINE_PROGRAMS=FILE: of the commands in it, one a
 * line. FAULTLINE_SEED=N: other ones than without it; these are the same in each run.
 *
 * time limit: 240
 */
#include <string.h>

#include "decode/machine/branch.h"
#include "decode/machine/trace.h"
#include "decode/x86/zydis.h"
#include "faultlocate/slice/capture.h"
#include "faultlocate/slice/effect.h"
#include "faultlocate/slice/flow.h"
#include "faultlocate/slice/slice.h"
#include "faultlocate/slice/trace.h"
#include "faultlocate/slice/view.h"
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

/* Where the random words of a test begin. */
static uint64_t seed_of(uint64_t test)
{
	const char *set = getenv("FAULTLINE_SEED");

	return test ^ (set ? strtoull(set, NULL, 0) * 0x2545f4914f6cdd1d : 0);
}

static struct err *keep(void *ctx, const struct dec_step *step)
{
	struct run *r = ctx;
	struct kept *k = vec_push(&r->steps);
	const uint64_t *at = NULL;

	if (!k)
		return &err_nomem;
	*k = (struct kept){ .position = step->position,
			    .rip = step->insn ? step->insn->rip : 0,
			    .tid = step->tid,
			    .first = r->refs.size,
			    .n = step->n_refs,
			    .insn = -1 };
	// A system call's is one without its bytes.
	if (step->insn && step->insn->flow == DEC_FLOW_SYSCALL)
		at = map_get(&r->trace->insn_of, step->insn->rip);
	if (step->insn && step->insn->flow != DEC_FLOW_SYSCALL)
		k->insn = fl_trace_intern(r->trace, step->insn);
	else if (at)
		k->insn = *at;
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

enum { FEW = 4, CAPTURED = 3 }; // programs, unless asked for more

static const char *programs(size_t i)
{
	static char text[256];
	static const char *const list[] = {
		"%s/examples/list-O0",
		"%s/examples/quad-O2",
		"bc -v",
		"gzip -c /etc/hostname",
		"sort /etc/passwd",
		"%s/tests/programs/floats",
		"sed -n 's/o/0/gp' /etc/passwd",
		"grep -c '[a-f]*o' /etc/passwd",
		"awk '{n+=length($1)}END{print n}' /etc/passwd",
		"diff /etc/passwd /etc/group",
		"xz -0 -c /etc/hostname",
		"sha256sum /etc/passwd",
		"od -x /etc/hostname",
	};

	if (getenv("FAULTLINE_PROGRAMS")) {
		FILE *f = fopen(getenv("FAULTLINE_PROGRAMS"), "r");

		assert_non_null(f);
		for (*text = 0; i != SIZE_MAX && fgets(text, sizeof(text), f); i--)
			;
		fclose(f);
		return i == SIZE_MAX ? strtok(text, "\n") : NULL;
	}
	if (i >= (getenv("FAULTLINE_SLICES") || getenv("FAULTLINE_CAPTURES") ?
			  sizeof(list) / sizeof(*list) :
			  FEW))
		return NULL;
	snprintf(text, sizeof(text), list[i], unit_env("BUILD"));
	return text;
}

static size_t step_at(const struct run *r, uint64_t position)
{
	return vec_rank(r->steps.size, i, r->steps.data[i].position < position);
}

/* Where operand @p m of a step is: the references of a step come in the operands' order. */
static const struct kept_ref *operand(const struct run *r, const struct kept *k,
				      const struct dec_insn *insn, int m, bool is_def)
{
	int n = 0;

	for (int i = 0; i < m; i++)
		n += is_def ? insn->mem[i].is_write : insn->mem[i].is_read;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct kept_ref *ref = &r->refs.data[k->first + i];

		if (ref->is_mem && ref->is_def == is_def && !n--)
			return ref;
	}
	return NULL;
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

/* A general register that a step defined which is in the slice, or not. */
static bool choose_step(const struct run *r, const struct fl_slice *s, bool is_in,
			uint64_t *seed, uint64_t before, uint64_t reach,
			uint64_t *position, uint8_t *reg)
{
	uint64_t from = before > reach ? before - reach : 1;
	const struct kept *k =
		&r->steps.data[step_at(r, from + random_word(seed) % (before - from))];

	if (k->insn < 0 || k->position >= before ||
	    fl_slice_has(s, k->position, 0) != is_in ||
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

/** The way of an altered run to the criterion. */
enum way {
	WAY_LEFT, ///< not the recorded one
	/** That, but a store that is not in the slice went elsewhere: what it might have
	 * replaced there is, as with a branch that was not taken, no part of the run that was. */
	WAY_MOVED,
	WAY_KEPT,
};

/* Does the instruction of step @p k, in front of which the altered run stands, store where it did? */
static bool stores_there(const struct run *r, const struct kept *k)
{
	const struct dec_insn *insn = &r->trace->insns.data[k->insn].insn;
	struct cap_regs regs;

	ok(dec_machine_regs(fl_trace_machine(r->trace), &regs));
	for (int m = 0; m < insn->n_mem && !insn->is_slow_addr; m++) {
		const struct kept_ref *ref =
			insn->mem[m].is_write ? operand(r, k, insn, m, true) : NULL;

		if (ref && ref->addr != dec_insn_address(&insn->mem[m], regs.gpr,
							 regs.fs_base, regs.gs_base))
			return false;
	}
	return true;
}

/* Which way did the run that strayed take to @p until? It stands where it was altered. */
static enum way way_to(struct run *r, const struct fl_slice *s, uint64_t from,
		       uint64_t until)
{
	enum way way = WAY_KEPT;

	for (size_t i = step_at(r, from); i < r->steps.size; i++) {
		const struct kept *k = &r->steps.data[i];
		struct dec_where w;

		if (k->position >= until)
			break;
		if (k->insn < 0)
			continue;
		ok(dec_machine_run(fl_trace_machine(r->trace), k->position, &w));
		if (w.at != DEC_AT_POSITION || w.rip != k->rip)
			return WAY_LEFT;
		// A store that is in the slice has its address in it.
		if (!fl_slice_has(s, k->position, 0) && !stores_there(r, k))
			way = WAY_MOVED;
	}
	return way;
}

/* Flip something in what register @p reg is behind @p position. @return whether the criterion's
 * value is another then; *@p kept: whether the run is at the criterion, with the recorded calls. */
static bool alter(struct run *r, uint64_t position, uint8_t reg,
		  const struct criterion *c, uint64_t bits, bool *kept)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	uint64_t rip = r->steps.data[step_at(r, c->position)].rip;
	uint8_t value[64] = {};
	struct dec_outcome outcome;
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
	ok(dec_machine_outcome(m, &outcome));
	*kept = w.at == DEC_AT_POSITION && w.rip == rip && outcome.parted == UINT64_MAX;
	ok(dec_machine_regs(m, &regs));
	is_other = *kept && regs.gpr[c->reg] != c->value;
	ok(dec_machine_return(m, position + 1, &w));
	return is_other;
}

/* The same run again, looked at step by step, beside slice @p s. */
static enum way alter_slowly(struct run *r, const struct fl_slice *s, uint64_t position,
			     uint8_t reg, const struct criterion *c, uint64_t bits)
{
	struct dec_machine *m = fl_trace_machine(r->trace);
	uint8_t value[64] = {};
	struct cap_regs regs;
	struct dec_where w;
	enum way way;

	ok(dec_machine_seek(m, position + 1, &w));
	ok(dec_machine_regs(m, &regs));
	ok(dec_machine_stray(m));
	regs.gpr[reg] ^= bits;
	memcpy(value, &regs.gpr[reg], 8);
	ok(dec_machine_set_reg(m, w.tid, reg, value));
	way = way_to(r, s, position + 1, c->position);
	ok(dec_machine_return(m, position + 1, &w));
	return way;
}

static void executed(void **state)
{
	const char *many = getenv("FAULTLINE_SLICES");
	size_t n = many ? strtoul(many, NULL, 10) : 8;
	uint64_t seed = seed_of(0x9e3779b97f4a7c15), n_kept = 0, n_left = 0, n_wrong = 0;
	uint64_t n_criteria = 0, n_moved = 0;
	const char *program;
	size_t p;

	(void)state;
	for (p = 0; (program = programs(p)); p++) {
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
			// Remembering what happened, or not.
			o.max_nodes = tries & 1;
			ok(fl_slice_walk(r.trace, &s, 1, &o, &slice));
			for (size_t i = 0; i < 4 + n / 50 && done < n; i++) {
				uint64_t at, bits = 1ull << random_word(&seed) % 32;
				uint64_t reach = i & 1 ? 60 : 2000;
				bool is_kept;
				enum way way;
				uint8_t reg;

				if (!choose_step(&r, slice, false, &seed, c.position,
						 reach, &at, &reg))
					continue;
				done++;
				way = alter(&r, at, reg, &c, bits, &is_kept) ?
					      alter_slowly(&r, slice, at, reg, &c, bits) :
					      WAY_LEFT;
				n_moved += way == WAY_MOVED;
				if (way == WAY_KEPT) {
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
			n_criteria++;
			fl_slice_destroy(slice);
		}
		end(&r);
	}
	printf("%lu criteria: %lu alterations arrived, %lu did not; of %lu that changed the "
	       "value %lu stored elsewhere, %lu are violations\n",
	       n_criteria, n_kept, n_left, n_moved + n_wrong, n_moved, n_wrong);
	assert_true(n_kept * FEW > p * n);
	assert_int_equal(n_wrong, 0);
}

/* What a value tells: any other one there would have made it another. */
static void told(void **state)
{
	const char *many = getenv("FAULTLINE_SLICES");
	size_t n = many ? strtoul(many, NULL, 10) / 8 : 8;
	uint64_t seed = seed_of(0x94d049bb133111eb), n_kept = 0, n_wrong = 0;
	const char *program;
	size_t p;

	(void)state;
	for (p = 0; (program = programs(p)) && (many || p < CAPTURED); p++) {
		struct run r;

		begin(&r, program);
		for (size_t done = 0, tries = 0; done < n && tries < 100 * n; tries++) {
			const struct fl_slice_options o = { .keeps_instances = true,
							    .only_told = true };
			struct criterion c;
			struct fl_slice *slice;
			struct cap_regs regs;
			struct dec_where w;
			struct fl_seed s;
			uint64_t at, bits;
			uint8_t reg;
			bool is_kept;

			if (!choose(&r, &seed, &c))
				continue;
			s = (struct fl_seed){ .kind = FL_SEED_REG,
					      .position = c.position,
					      .reg = c.reg,
					      .bytes = 0xff };
			ok(fl_slice_walk(r.trace, &s, 1, &o, &slice));
			for (int i = 0; i < 40 && fl_slice_stats(slice)->n_instances > 1;
			     i++) {
				uint64_t reach = 8 << random_word(&seed) % 9;

				if (!choose_step(&r, slice, true, &seed, c.position,
						 reach, &at, &reg) ||
				    reg == CAP_RSP)
					continue;
				ok(dec_machine_seek(fl_trace_machine(r.trace), c.position,
						    &w));
				ok(dec_machine_regs(fl_trace_machine(r.trace), &regs));
				c.value = regs.gpr[c.reg];
				done++;
				bits = 1ull << random_word(&seed) % 8;
				if (alter(&r, at, reg, &c, bits, &is_kept) || !is_kept ||
				    alter_slowly(&r, slice, at, reg, &c, bits) ==
					    WAY_LEFT) {
					n_kept += is_kept;
					break;
				}
				n_kept++;
				n_wrong++;
				printf("%s: %s at %lu does not tell %s made at %lu (%#lx)\n",
				       program, dec_reg_gpr_name(c.reg), c.position,
				       dec_reg_gpr_name(reg), at,
				       r.steps.data[step_at(&r, at)].rip);
				break;
			}
			fl_slice_destroy(slice);
		}
		end(&r);
	}
	printf("%lu values told, of these %lu were not\n", n_kept, n_wrong);
	assert_true(n_kept * CAPTURED > p * n);
	assert_int_equal(n_wrong, 0);
}

/* ---- by captures --------------------------------------------------------------------------- */

/* Of a run of the slice capture in @p dir: where it first was not where it should be. 0: nowhere,
 * and register @p c->reg is what it was. */
static uint64_t parts(struct run *r, const char *dir, const struct criterion *c)
{
	const struct dec_machine_options o = { .output_fd = -1, .takes_slices = true };
	struct dec_machine *m;
	struct capture *capture;
	struct cap_events *events;
	struct cap_event ev;
	struct cap_regs regs;
	struct dec_where w = {};
	bool is_over = false, is_right = true;

	ok(capture_open(dir, &capture));
	ok(cap_events_open(capture, &events));
	ok(dec_machine_create(capture, &o, &m));
	while (is_right) {
		// Pieces are short: what a branch that went wrong has led to is met in front of one.
		ok(cap_events_next(events, &ev, &is_over));
		if (is_over)
			break;
		if (ev.kind != CAP_EV_OMITTED || !ev.n_steps)
			continue;
		ok(dec_machine_run(m, ev.position, &w));
		is_right = w.at == DEC_AT_POSITION &&
			   w.rip == r->steps.data[step_at(r, w.recorded)].rip;
	}
	if (is_right) {
		ok(dec_machine_run(m, UINT64_MAX, &w));
		ok(dec_machine_regs(m, &regs));
		is_right = w.at == DEC_AT_END && w.recorded == c->position &&
			   regs.gpr[c->reg] == c->value;
	}
	dec_machine_destroy(m);
	cap_events_close(events);
	capture_close(capture);
	return is_right ? 0 : w.recorded ?: 1;
}

static uint64_t parts_alone(struct run *r, const struct fl_slice *slice,
			    const struct criterion *c, bool is_bare,
			    struct fl_captured *ret)
{
	const struct fl_capture_options co = {
		.of = "a value", .end = c->position, .least = 20, .is_bare = is_bare
	};
	char dir[256];

	snprintf(dir, sizeof(dir), "%s/sliced", unit_env("TMPDIR"));
	unit_run("rm -rf %s", dir);
	ok(fl_slice_capture(r->trace, slice, &co, dir, ret));
	assert_true(ret->n_pieces && ret->n_executed < ret->n_steps);
	return parts(r, dir, c);
}

/** How a slice is made wrong. What was executed why is not judged here: the pieces lead on, whatever
 * a branch that is left out would have done. So these are wrong in data. */
enum wrong { WRONG_DATA, WRONG_INSN, WRONGS };
static const char *const wrong_name[] = { "without data",
					  "without what an instruction used" };

/* The address of an instruction that made something in @p s. */
static uint64_t some_maker(const struct fl_slice *s, uint64_t *seed)
{
	size_t n;
	const struct fl_node *nodes = fl_slice_nodes(s, &n);

	for (int tries = 0; tries < 100 && n; tries++) {
		const struct fl_node *node = &nodes[random_word(seed) % n];

		if (node->insn != FL_NONE && node->size)
			return fl_slice_insn(s, node->insn)->insn.rip;
	}
	return 0;
}

/* A slice of @p s that does not know of something: without data, or without what one of some instructions
 * used. @return NULL: it has the same instances as one that does. */
static struct fl_slice *wrong_slice(struct run *r, const struct fl_seed *s,
				    enum wrong how, uint64_t *seed, uint64_t *what)
{
	struct fl_slice_options o = { .keeps_instances = true,
				      .keeps_saves = true,
				      .without_control = how == WRONG_INSN };
	struct fl_prune cut = { .kind = FL_PRUNE_CODE };
	struct fl_slice *right, *wrong = NULL;
	int tries = how == WRONG_INSN ? 10 : 1;

	ok(fl_slice_walk(r->trace, s, 1, &o, &right));
	o.without_data = how == WRONG_DATA;
	while (!wrong && tries--) {
		if (how == WRONG_INSN) {
			cut.from = some_maker(right, seed);
			cut.to = cut.from + 1;
			o.prunes = &cut;
			o.n_prunes = 1;
		}
		ok(fl_slice_walk(r->trace, s, 1, &o, &wrong));
		if (fl_slice_stats(wrong)->n_instances ==
		    fl_slice_stats(right)->n_instances) {
			fl_slice_destroy(wrong);
			wrong = NULL;
		}
	}
	*what = cut.from;
	fl_slice_destroy(right);
	return wrong;
}

/** What came of it. */
struct judged {
	uint64_t n_right, n_wrong, steps, executed;
	uint64_t n_made[WRONGS], n_found[WRONGS]; ///< wrong slices; found out
};

static void judge(struct run *r, const char *program, const struct criterion *c,
		  bool is_judge_judged, uint64_t *seed, struct judged *j)
{
	const struct fl_slice_options o = { .keeps_instances = true,
					    .keeps_saves = true };
	const struct fl_seed s = {
		.kind = FL_SEED_REG, .position = c->position, .reg = c->reg, .bytes = 0xff
	};
	struct fl_slice *right, *wrong;
	struct fl_captured of;
	uint64_t at, what;

	ok(fl_slice_walk(r->trace, &s, 1, &o, &right));
	at = parts_alone(r, right, c, true, &of);
	if (!at && is_judge_judged)
		at = parts_alone(r, right, c, false, &of);
	j->steps += of.n_steps;
	j->executed += of.n_executed;
	j->n_right += !at;
	j->n_wrong += at > 0;
	if (at)
		printf("%s: %s at %lu is not reproduced: at %lu (%#lx) it is another run\n",
		       program, dec_reg_gpr_name(c->reg), c->position, at,
		       r->steps.data[step_at(r, at)].rip);
	for (int i = 0; i < WRONGS + 1 && is_judge_judged; i++) {
		enum wrong how = i ? WRONG_INSN : WRONG_DATA;

		wrong = wrong_slice(r, &s, how, seed, &what);
		if (!wrong)
			continue;
		at = parts_alone(r, wrong, c, true, &of);
		j->n_made[how]++;
		j->n_found[how] += at > 0;
		if (!at)
			printf("%s: %s at %lu, %s (%#lx): not found out; %lu instances\n",
			       program, dec_reg_gpr_name(c->reg), c->position,
			       wrong_name[how], what, fl_slice_stats(wrong)->n_instances);
		fl_slice_destroy(wrong);
	}
	fl_slice_destroy(right);
}

static void captured(void **state)
{
	const char *many = getenv("FAULTLINE_CAPTURES");
	size_t n = many ? strtoul(many, NULL, 10) : 1;
	uint64_t seed = seed_of(0xd1342543de82ef95);
	struct judged j = {};
	const char *program;
	size_t p;

	(void)state;
	for (p = 0; (program = programs(p)) && (many || p < CAPTURED); p++) {
		struct run r;

		begin(&r, program);
		for (size_t done = 0, tries = 0; done < n && tries < 40 + 8 * n;
		     tries++) {
			struct cap_regs regs;
			struct criterion c;
			struct dec_where w;

			if (!choose(&r, &seed, &c))
				continue;
			ok(dec_machine_seek(fl_trace_machine(r.trace), c.position, &w));
			ok(dec_machine_regs(fl_trace_machine(r.trace), &regs));
			c.value = regs.gpr[c.reg];
			judge(&r, program, &c, done++ < 3, &seed, &j);
		}
		end(&r);
		if (many)
			printf("%s: %lu criteria, %lu not reproduced, so far\n", program,
			       j.n_right + j.n_wrong, j.n_wrong);
	}
	printf("%zu criteria, %zu not reproduced; %lu of %lu steps executed\n",
	       j.n_right + j.n_wrong, j.n_wrong, j.executed, j.steps);
	assert_int_equal(j.n_wrong, 0);
	assert_true(p && j.n_right >= p * n);
	for (int how = 0; how < WRONGS; how++) {
		printf("wrong slices, %s: %lu, found out %lu\n", wrong_name[how],
		       j.n_made[how], j.n_found[how]);
		assert_true(j.n_made[how] * 2 > p);
		// Nine in ten, of many; some of what an instruction used made no difference.
		assert_true(j.n_found[how] * (how == WRONG_DATA ? 1 : 2) >=
			    j.n_made[how]);
	}
}

/* ---- the plain way --------------------------------------------------------------------------- */

/** A call, going forward. */
struct plain_frame {
	uint64_t slot;
	int64_t parent; ///< the step that called
	VEC(struct plain_last) last;
	VEC(struct plain_last) entry; ///< by functions jumped to: why
};

struct plain_last {
	uint32_t which; ///< a block that a branch ends, or a function
	int64_t step;
};

struct plain_thread {
	uint32_t tid;
	VEC(struct plain_frame) frames;
	int64_t before; ///< the step before; -1: none
	uint64_t regs[64];
};

struct plain {
	struct run *r;
	VEC(struct plain_thread) threads;
	int64_t *parent; ///< of each step: what decided that it ran; -1
	bool *is_in, *is_needed;
	struct map mem; ///< bytes wanted
};

static struct plain_thread *plain_thread(struct plain *p, uint32_t tid)
{
	struct plain_thread *t = vec_find(&p->threads, e, e->tid == tid);

	if (t)
		return t;
	t = vec_push(&p->threads);
	assert_non_null(t);
	t->tid = tid;
	t->before = -1;
	assert_non_null(vec_push(&t->frames));
	t->frames.data[0].parent = -1;
	return t;
}

static const struct dec_insn *insn_of(const struct plain *p, int64_t step)
{
	return &p->r->trace->insns.data[p->r->steps.data[step].insn].insn;
}

static uint32_t block_of(const struct plain *p, int64_t step)
{
	struct trace_place at;

	ok(fl_trace_place(p->r->trace, p->r->steps.data[step].insn, &at));
	return at.block;
}

static uint32_t function_of(const struct plain *p, int64_t step)
{
	uint32_t block = block_of(p, step);

	return block == FLOW_NONE ? FLOW_NONE :
				    fl_flow_function(p->r->trace->flow, block);
}

/* Where a call or return has its return address. */
static uint64_t slot_of(const struct plain *p, int64_t step, bool is_def)
{
	const struct kept *k = &p->r->steps.data[step];
	uint64_t slot = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		const struct kept_ref *ref = &p->r->refs.data[k->first + i];

		if (ref->is_mem && ref->is_def == is_def)
			slot = ref->addr;
	}
	return slot;
}

/* Why does what is at step @p step run? The latest branch of this call on which it depends. */
static int64_t decided_by(const struct plain *p, const struct plain_frame *f,
			  int64_t step)
{
	uint32_t block = block_of(p, step), function = function_of(p, step);
	int64_t best = -1;

	for (size_t i = 0; i < f->last.size && block != FLOW_NONE; i++)
		if (fl_flow_depends(p->r->trace->flow, block, f->last.data[i].which) &&
		    f->last.data[i].step > best)
			best = f->last.data[i].step;
	for (size_t i = 0; i < f->entry.size && best < 0; i++)
		if (f->entry.data[i].which == function)
			return f->entry.data[i].step;
	return best < 0 ? f->parent : best;
}

static void note_last(struct plain_last **data, size_t n, uint32_t which, int64_t step,
		      struct plain_last *made)
{
	for (size_t i = 0; i < n; i++)
		if ((*data)[i].which == which) {
			(*data)[i].step = step;
			return;
		}
	*made = (struct plain_last){ which, step };
}

/* The jump at step @p from led to another function, where step @p to is. */
static void jump(struct plain *p, struct plain_frame *f, int64_t from, int64_t to)
{
	const struct dec_insn *insn = insn_of(p, from);
	uint32_t there = function_of(p, to), kept = 0;
	bool is_stub =
		insn->flow == DEC_FLOW_JMP_IND &&
		((insn->n_mem && insn->mem[0].is_absolute) ||
		 fl_trace_leaves_module(p->r->trace, insn->rip, insn_of(p, to)->rip));
	struct plain_last made = { .which = FLOW_NONE };
	int64_t why = insn->flow == DEC_FLOW_JMP || is_stub ? p->parent[from] : from;

	if (there == FLOW_NONE || there == function_of(p, from))
		return;
	for (size_t i = 0; i < f->last.size; i++) {
		uint32_t of = fl_flow_function(p->r->trace->flow, f->last.data[i].which);

		if (of != there)
			f->last.data[kept++] = f->last.data[i];
	}
	f->last.size = kept;
	note_last(&f->entry.data, f->entry.size, there, why, &made);
	if (made.which != FLOW_NONE)
		ok(vec_add(&f->entry, made));
}

static void leave(struct plain_thread *t, uint64_t slot)
{
	size_t i = t->frames.size;

	while (i > 1 && t->frames.data[i - 1].slot != slot)
		i--;
	if (i == 1)
		return;
	while (t->frames.size >= i) {
		struct plain_frame *f = &t->frames.data[t->frames.size - 1];

		vec_deinit(&f->last);
		vec_deinit(&f->entry);
		t->frames.size--;
	}
}

/* Going forward: what decided that each step ran? */
static void decide_all(struct plain *p)
{
	for (size_t i = 0; i < p->r->steps.size; i++) {
		struct plain_thread *t = plain_thread(p, p->r->steps.data[i].tid);
		struct plain_frame *f = &t->frames.data[t->frames.size - 1];
		struct plain_last made = { .which = FLOW_NONE };
		enum dec_flow flow;

		p->parent[i] = -1;
		if (p->r->steps.data[i].insn < 0)
			continue;
		flow = t->before < 0 ? DEC_FLOW_NEXT : insn_of(p, t->before)->flow;
		if (flow == DEC_FLOW_JMP || flow == DEC_FLOW_JCC ||
		    flow == DEC_FLOW_JMP_IND || flow == DEC_FLOW_JRCX)
			jump(p, f, t->before, i);
		p->parent[i] = decided_by(p, f, i);
		t->before = i;
		flow = insn_of(p, i)->flow;
		if (flow == DEC_FLOW_JCC || flow == DEC_FLOW_JMP_IND ||
		    flow == DEC_FLOW_JRCX) {
			note_last(&f->last.data, f->last.size, block_of(p, i), i, &made);
			if (made.which != FLOW_NONE)
				ok(vec_add(&f->last, made));
		} else if (flow == DEC_FLOW_CALL || flow == DEC_FLOW_CALL_IND) {
			struct plain_frame called = { .slot = slot_of(p, i, true),
						      .parent = i };

			ok(vec_add(&t->frames, called));
		} else if (flow == DEC_FLOW_RET) {
			leave(t, slot_of(p, i, false));
		}
	}
}

static void want(struct plain *p, uint64_t addr, uint64_t size, uint64_t bytes)
{
	for (uint64_t i = 0; i < size; i++)
		if (i >= 64 || bytes >> i & 1)
			assert_int_equal(map_put(&p->mem, addr + i, 1), 0);
}

/* @return which of these bytes were wanted; they are no longer. */
static uint64_t take(struct plain *p, uint64_t addr, uint64_t size, bool stays)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < size; i++) {
		if (!map_get(&p->mem, addr + i))
			continue;
		taken |= i < 64 ? 1ull << i : 1ull << 63;
		if (!stays)
			map_remove(&p->mem, addr + i);
	}
	return taken;
}

static void plain_use(struct plain *p, const struct kept *k, uint64_t from,
		      const uint64_t *narrow)
{
	const struct effect *e = p->r->trace->insns.data[k->insn].effect;
	const struct dec_insn *insn = &p->r->trace->insns.data[k->insn].insn;
	uint64_t *regs = plain_thread(p, k->tid)->regs;

	for (int i = 0; i < e->n_uses; i++) {
		const struct effect_use *use = &e->use[i];
		uint64_t bytes = narrow ? narrow[i] : ~0ull;

		if (!(from >> i & 1))
			continue;
		if (!use->is_mem && use->reg != CAP_RSP)
			regs[use->reg] |= use->bytes & bytes;
		if (use->is_mem && !insn->is_slow_addr) {
			const struct kept_ref *ref =
				operand(p->r, k, insn, use->mem, false);

			if (ref)
				want(p, ref->addr, ref->size, bytes);
		}
	}
}

/* An image of the processor's state, as lazy binding makes them, which leaves the x87 out: each vector
 * register, and MXCSR, gets back what it had itself. @return whether any of that was wanted. */
static bool plain_image(struct plain *p, int64_t step)
{
	const struct kept *k = &p->r->steps.data[step];
	const struct dec_insn *insn = insn_of(p, step);
	const struct effect *e = fl_trace_effect(p->r->trace, k->insn);
	bool is_restored = dec_insn_restores(insn->mnemonic), is_met = false;
	uint64_t *regs = plain_thread(p, k->tid)->regs, general = 0, image = 0;

	if (!is_restored && !dec_insn_saves(insn->mnemonic))
		return false;
	for (uint32_t n = k->n; n-- > 0;)
		if (p->r->refs.data[k->first + n].is_mem)
			image = p->r->refs.data[k->first + n].addr;
	for (int i = 0; i <= 16; i++) {
		bool is_vector = i < 16;
		uint64_t *reg = &regs[is_vector ? DEC_REG_VEC + i : DEC_REG_MXCSR],
			 addr = image + (is_vector ? 160 + 16 * i : 24),
			 size = is_vector ? 16 : 4, all = is_vector ? 0xffff : 1,
			 bytes = is_restored ? *reg : take(p, addr, size, false);

		if (is_restored && (bytes & ~all))
			continue;
		if (is_restored) {
			*reg = 0;
			want(p, addr, size, is_vector || !bytes ? bytes : ~0ull);
		} else {
			*reg |= is_vector ? bytes : bytes != 0;
		}
		is_met |= bytes != 0;
	}
	for (int i = 0; i < e->n_uses; i++)
		if (!e->use[i].is_mem && e->use[i].reg < DEC_GPRS)
			general |= 1ull << i;
	if (is_met)
		plain_use(p, k, general, NULL);
	return is_met;
}

/* A step whose operands only its references tell: as if all were made of all. */
static uint64_t plain_touched(struct plain *p, const struct kept *k)
{
	uint64_t taken = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		const struct kept_ref *ref = &p->r->refs.data[k->first + i];

		if (ref->is_def && ref->is_mem)
			taken |= take(p, ref->addr, ref->size, false);
	}
	return taken;
}

/* @return whether step @p k defines something wanted; then what it used is. */
static bool plain_step(struct plain *p, const struct kept *k)
{
	const struct effect *e = fl_trace_effect(p->r->trace, k->insn);
	const struct dec_insn *insn = &p->r->trace->insns.data[k->insn].insn;
	uint64_t *regs = plain_thread(p, k->tid)->regs, from = 0,
		 narrow[EFFECT_USES] = {};
	bool is_met = false;

	assert_non_null(e);
	for (int i = 0; i < e->n_defs; i++) {
		const struct effect_def *d = &e->def[i];
		const struct kept_ref *ref =
			d->is_mem && !insn->is_slow_addr ?
				operand(p->r, k, insn, d->mem, true) :
				NULL;
		uint64_t low = d->n_copied < 64 ? (1ull << d->n_copied) - 1 : ~0ull;
		uint64_t taken = 0;

		if (ref)
			taken = take(p, ref->addr, ref->size, d->is_maybe);
		if (!d->is_mem) {
			taken = regs[d->reg] & d->bytes;
			regs[d->reg] &= d->is_maybe ? ~0ull : ~d->bytes;
		}
		if (!taken)
			continue;
		is_met = true;
		from |= d->from;
		for (int u = 0; u < e->n_uses; u++)
			if ((d->from >> u & 1) && u != d->copies)
				narrow[u] = ~0ull;
		if (d->copies >= 0) {
			narrow[d->copies] |= taken & low;
			if (d->is_signed && (taken & ~low))
				narrow[d->copies] |= 1ull << (d->n_copied - 1);
		}
	}
	if (is_met)
		plain_use(p, k, from, narrow);
	return is_met;
}

/* Can it be compared? What C steps has rules of its own. */
static bool is_simple(const struct run *r)
{
	for (size_t i = 0; i < r->steps.size; i++)
		if (r->steps.data[i].insn >= 0 &&
		    r->trace->insns.data[r->steps.data[i].insn].insn.lane_bytes)
			return false;
	return true;
}

/* Is step @p i the kernel's, or the processor's: an input? */
static bool is_kernels(const struct run *r, int64_t i)
{
	int32_t insn = r->steps.data[i].insn;

	return insn < 0 || r->trace->insns.data[insn].insn.flow >= DEC_FLOW_SYSCALL;
}

static void plain_walk(struct plain *p, int64_t from)
{
	for (int64_t i = from; i >= 0; i--) {
		const struct kept *k = &p->r->steps.data[i];
		uint64_t *regs = plain_thread(p, k->tid)->regs;

		if (is_kernels(p->r, i)) {
			for (uint32_t n = 0; n < k->n; n++) {
				const struct kept_ref *ref =
					&p->r->refs.data[k->first + n];

				if (ref->is_def && ref->is_mem) {
					take(p, ref->addr, ref->size, false);
				} else if (ref->is_def) {
					p->is_in[i] |= regs[ref->reg] != 0;
					regs[ref->reg] = 0;
				}
			}
			p->is_in[i] |= p->is_needed[i];
			if (p->is_in[i] && k->insn >= 0 && p->parent[i] >= 0)
				p->is_needed[p->parent[i]] = true;
			continue;
		}
		if (i != from && insn_of(p, i)->is_slow_addr) {
			bool is_image = plain_image(p, i), is_met = plain_touched(p, k);

			is_met |= plain_step(p, k);
			p->is_in[i] = is_image || is_met;
			if (is_met)
				plain_use(p, k, ~0ull, NULL);
			for (uint32_t n = 0; n < k->n && is_met; n++) {
				const struct kept_ref *ref =
					&p->r->refs.data[k->first + n];

				if (!ref->is_def && ref->is_mem)
					want(p, ref->addr, ref->size, ~0ull);
			}
		} else {
			p->is_in[i] = plain_step(p, k);
		}
		if (p->is_needed[i] && !p->is_in[i]) {
			p->is_in[i] = true;
			fl_trace_effect(p->r->trace, k->insn);
		}
		if (p->is_needed[i])
			plain_use(p, k, p->r->trace->insns.data[k->insn].effect->control,
				  NULL);
		if (i == from) {
			p->is_in[i] = true;
			plain_use(p, k, ~0ull, NULL);
		}
		if (p->is_in[i] && p->parent[i] >= 0)
			p->is_needed[p->parent[i]] = true;
	}
}

static void plain_deinit(struct plain *p)
{
	for (size_t i = 0; i < p->threads.size; i++) {
		struct plain_thread *t = &p->threads.data[i];

		for (size_t k = 0; k < t->frames.size; k++) {
			vec_deinit(&t->frames.data[k].last);
			vec_deinit(&t->frames.data[k].entry);
		}
		vec_deinit(&t->frames);
	}
	vec_deinit(&p->threads);
	map_deinit(&p->mem);
	free(p->parent);
	free(p->is_in);
	free(p->is_needed);
}

/* The slice of what instruction number @p from of the run used, both ways; @p max_nodes: how soon
 * instances are folded, and what happened is remembered. @return how many instances are in it. */
static size_t compare(struct run *r, const char *program, int64_t from, size_t max_nodes)
{
	const struct fl_slice_options o = { .keeps_instances = true,
					    .keeps_saves = true,
					    .max_nodes = max_nodes };
	const struct fl_seed seed = { .kind = FL_SEED_INSN,
				      .position = r->steps.data[from].position };
	struct plain p = { .r = r };
	struct fl_slice *slice;
	size_t n_in = 0, n_other = 0;

	p.parent = calloc(r->steps.size, sizeof(*p.parent));
	p.is_in = calloc(r->steps.size, sizeof(*p.is_in));
	p.is_needed = calloc(r->steps.size, sizeof(*p.is_needed));
	assert_true(p.parent && p.is_in && p.is_needed);
	decide_all(&p);
	plain_walk(&p, from);
	ok(fl_slice_walk(r->trace, &seed, 1, &o, &slice));
	for (int64_t i = from; i >= 0; i--) {
		const struct kept *k = &r->steps.data[i];
		bool is_in = fl_slice_has(slice, k->position, 0);

		if (k->insn < 0)
			continue;
		n_in += is_in;
		if (is_in != p.is_in[i] && n_other++ < 8)
			printf("%s: %#lx at %lu is%s in the slice, and plainly is%s\n",
			       program, k->rip, k->position, is_in ? "" : " not",
			       p.is_in[i] ? "" : " not");
	}
	printf("%s: %zu instances, %zu differences\n", program, n_in, n_other);
	assert_int_equal(n_other, 0);
	fl_slice_destroy(slice);
	plain_deinit(&p);
	return n_in;
}

static uint64_t instances_of(const struct fl_slice *s, uint32_t from, uint32_t to,
			     uint8_t edge, uint64_t from_at)
{
	size_t n;
	const struct fl_slice_edge *e = fl_slice_edges(s, &n);

	for (size_t i = 0; i < n; i++)
		if (e[i].from == from && e[i].to == to && e[i].edge == edge)
			return e[i].from_at == from_at ? e[i].n : 0;
	return 0;
}

/* @return which registers are wanted where the way back ends. */
static uint64_t registers_at_begin(const struct fl_slice *s)
{
	uint64_t regs = 0;
	size_t n;
	const struct fl_node *node = fl_slice_nodes(s, &n);

	for (size_t i = 0; i < n; i++)
		if (node[i].origin == FL_ORIGIN_START && !node[i].is_mem)
			regs |= UINT64_C(1) << node[i].reg;
	return regs;
}

/* Of slices that fold instances at once and hardly at all, and go back to @p begin: instructions, edges, and
 * how often; of several at a time, and with registers saved and restored left out. @return which registers
 * are wanted there. *@p n_edges grows by what was compared: where it begins near, that may be little. */
static uint64_t same_edges(struct run *r, int64_t from, uint64_t begin, size_t *n_edges)
{
	struct fl_seed seeds[3];
	struct fl_slice *s[2];
	size_t n[2];
	const struct fl_slice_edge *e;
	uint64_t regs = 0;

	for (size_t k = 1; k <= 3; k += 2) {
		for (size_t i = 0; i < k; i++)
			seeds[i] = (struct fl_seed){
				.kind = FL_SEED_INSN,
				.slice = i,
				.position = r->steps.data[from - 1000 * i].position
			};
		for (int i = 0; i < 2; i++) {
			const struct fl_slice_options o = { .begin = begin,
							    .max_nodes = i ? 1 :
									     FL_NONE };

			ok(fl_slice_walk(r->trace, seeds, k, &o, &s[i]));
			e = fl_slice_edges(s[i], &n[i]);
		}
		assert_int_equal(n[0], n[1]);
		*n_edges += n[1];
		assert_int_equal(registers_at_begin(s[0]), registers_at_begin(s[1]));
		regs |= registers_at_begin(s[1]);
		for (size_t i = 0; i < n[1]; i++)
			if (e[i].n != instances_of(s[0], e[i].from, e[i].to, e[i].edge,
						   e[i].from_at))
				fail_msg("edge from %u to %u: %lu", e[i].from, e[i].to,
					 e[i].n);
		for (uint32_t i = 0; fl_slice_insn(s[1], i); i++)
			for (unsigned slice = 0; slice < k; slice++)
				assert_int_equal(fl_slice_count(s[0], i, slice),
						 fl_slice_count(s[1], i, slice));
		for (int i = 0; i < 2; i++)
			fl_slice_destroy(s[i]);
	}
	return regs;
}

/* Does @p step define byte @p at of memory, or all of a register, whatever was there before? */
static bool defines(const struct run *r, const struct kept *step,
		    const struct kept_ref *like, uint64_t at)
{
	const struct effect *e = step->insn < 0 ? NULL :
						  fl_trace_effect(r->trace, step->insn);
	bool ret = false, is_maybe = false, is_part = false;

	for (int i = 0; e && i < e->n_defs; i++) {
		is_maybe |= e->def[i].is_maybe;
		is_part |= !like->is_mem && !e->def[i].is_mem &&
			   e->def[i].reg == like->reg && (e->def[i].bytes & 0xff) != 0xff;
	}
	for (uint32_t n = 0; n < step->n && !is_maybe && !is_part; n++) {
		const struct kept_ref *z = &r->refs.data[step->first + n];

		ret |= z->is_def && z->is_mem == like->is_mem &&
		       (z->is_mem ? at - z->addr < z->size : z->reg == like->reg);
	}
	return ret;
}

static bool is_hidden(const struct run *r, size_t first, size_t last,
		      const struct kept_ref *like, uint64_t at)
{
	for (size_t s = first + 1; s < last; s++)
		if (defines(r, &r->steps.data[s], like, at))
			return true;
	return false;
}

/* Of memory and general registers: did @p def make some of what @p use used, and nobody else between them? 0: no,
 * 1: yes, -1: they have none in common. */
static int reaches(const struct run *r, size_t def, size_t use)
{
	const struct kept *d = &r->steps.data[def], *u = &r->steps.data[use];
	int ret = -1;

	for (uint32_t i = 0; i < d->n * u->n; i++) {
		const struct kept_ref *x = &r->refs.data[d->first + i / u->n];
		const struct kept_ref *y = &r->refs.data[u->first + i % u->n];
		uint64_t from = x->is_mem ? y->addr : 0, size = x->is_mem ? y->size : 1;

		if (!x->is_def || y->is_def || x->is_mem != y->is_mem ||
		    (!x->is_mem && (x->reg != y->reg || x->reg >= CAP_GPRS)))
			continue;
		for (uint64_t at = from; at < from + size; at++) {
			if (x->is_mem && at - x->addr >= x->size)
				continue;
			ret = ret < 0 ? 0 : ret;
			if (!is_hidden(r, def, use, x, at))
				return 1;
		}
	}
	return ret;
}

/* Who shared what others wanted: each did use it, and the slice is the same as without asking. */
static void sharers(struct run *r, int64_t from)
{
	const struct fl_slice_options o = { .keeps_saves = true, .keeps_sharers = true },
				      without = { .keeps_saves = true };
	const struct fl_seed seed = { .kind = FL_SEED_INSN,
				      .position = r->steps.data[from].position };
	const struct fl_slice_share *shares;
	const struct fl_node *nodes;
	struct fl_slice *s, *alone;
	size_t n, n_nodes, n_alone, n_checked = 0;

	ok(fl_slice_walk(r->trace, &seed, 1, &o, &s));
	ok(fl_slice_walk(r->trace, &seed, 1, &without, &alone));
	shares = fl_slice_shares(alone, &n);
	assert_int_equal(n, 0);
	shares = fl_slice_shares(s, &n);
	nodes = fl_slice_nodes(s, &n_nodes);
	fl_slice_nodes(alone, &n_alone);
	assert_int_equal(n_nodes, n_alone);
	assert_true(n > 100);
	for (size_t i = 0; i < n; i += 1 + n / 1000) {
		const struct fl_node *def = &nodes[shares[i].from],
				     *use = &nodes[shares[i].to];
		int is_right;

		if (i)
			assert_true(shares[i].from >= shares[i - 1].from);
		assert_true(shares[i].to != def->parent);
		if (shares[i].edge == FL_EDGE_CONTROL || def->origin != FL_ORIGIN_INSN)
			continue;
		is_right =
			reaches(r, step_at(r, def->position), step_at(r, use->position));
		if (!is_right)
			fail_msg("what was made at %lu was not used at %lu",
				 def->position, use->position);
		n_checked += is_right > 0;
	}
	assert_true(n_checked > 20);
	fl_slice_destroy(s);
	fl_slice_destroy(alone);
}

/* How many statements of the program's own were asked about. */
static size_t n_asked(struct run *r, const struct fl_seed *seed, size_t max_nodes)
{
	const struct fl_slice_options o = { .max_nodes = max_nodes };
	struct dec_symbols *symbols;
	struct fl_view v = {};
	struct fl_slice *s;
	size_t n = 0;

	ok(dec_symbols_create(r->capture, &symbols));
	ok(fl_slice_walk(r->trace, seed, 1, &o, &s));
	ok(fl_view_make(s, symbols, capture_info(r->capture)->exe, false, &v));
	for (size_t i = 0; i < v.statements.size; i++)
		n += v.statements.data[i].is_seed;
	fl_view_deinit(&v);
	fl_slice_destroy(s);
	dec_symbols_destroy(symbols);
	return n;
}

/* Where most instances are folded a moment is still one that something needed. */
static void moments(struct run *r, int64_t from)
{
	const struct fl_slice_options o = { .keeps_sharers = true, .max_nodes = 200 };
	const struct fl_seed seed = { .kind = FL_SEED_INSN,
				      .position = r->steps.data[from].position };
	struct fl_view v = { .most_moments = 1000 };
	struct dec_symbols *symbols;
	struct fl_slice *s;
	size_t n, n_needed = 0;

	ok(dec_symbols_create(r->capture, &symbols));
	ok(fl_slice_walk(r->trace, &seed, 1, &o, &s));
	fl_slice_nodes(s, &n);
	assert_true(n > o.max_nodes);
	ok(fl_view_make(s, symbols, NULL, true, &v));
	for (size_t i = 0; i < v.moments.size; i++) {
		const struct fl_view_moment *m = &v.moments.data[i];

		assert_true(m->parent < i ||
			    (m->parent == FL_NONE && m->edge == FL_EDGE_BEGIN));
		n_needed += m->parent < i;
	}
	assert_true(n_needed > 20);
	assert_true(n_asked(r, &seed, o.max_nodes) <= n_asked(r, &seed, FL_NONE));
	fl_view_deinit(&v);
	fl_slice_destroy(s);
	dec_symbols_destroy(symbols);
}

static void plain(void **state)
{
	static const char *const list[] = { "%s/examples/list-O0", "%s/examples/quad-O2",
					    "bc -v" };
	uint64_t seed = 0x2545f4914f6cdd1d, regs = 0;
	size_t n_in = 0, n_edges = 0;

	(void)state;
	// Where strings lie, which paths decide, decides whether libc takes lanes of vectors under a mask.
	setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512VL,-AVX512BW", 1);
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		char command[256];
		struct run r;

		snprintf(command, sizeof(command), list[i], unit_env("BUILD"));
		begin(&r, command);
		assert_true(is_simple(&r));
		for (int k = 0; k < 2; k++) {
			int64_t from = r.steps.size - 1 -
				       random_word(&seed) % (r.steps.size / 2);

			while (is_kernels(&r, from))
				from--;
			n_in += compare(&r, command, from, 0);
			n_in += compare(&r, command, from, 1 + random_word(&seed) % 1000);
			for (uint64_t part = 0; part < 2 && !k; part++)
				regs |= same_edges(&r, from,
						   r.steps.data[from].position / 2 * part,
						   &n_edges);
			if (!k)
				sharers(&r, from);
			if (!k)
				moments(&r, from);
		}
		end(&r);
	}
	// Of one slice alone it may be little.
	assert_true(regs && n_in > 10000 && n_edges > 1000);
	unsetenv("GLIBC_TUNABLES");
}

/* ---- what one instruction uses ------------------------------------------------------------------ */

static void mask_that_is_none(void **state)
{
	// vmovdqu64 [rdi]{k1}, zmm16, and without the mask, which is k0 in its bytes.
	static const uint8_t bytes[2][15] = { { 0x62, 0xe1, 0xfe, 0x49, 0x7f, 0x07 },
					      { 0x62, 0xe1, 0xfe, 0x48, 0x7f, 0x07 } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		bool has_mask = false;
		struct dec_insn insn;
		struct effect *e;

		assert_true(dec_insn_decode(bytes[i], sizeof(bytes[i]), 0x1000, &insn));
		e = fl_effect_of(&insn);
		assert_non_null(e);
		for (int u = 0; u < e->n_uses; u++)
			has_mask |= !e->use[u].is_mem && e->use[u].reg >= DEC_REG_K &&
				    e->use[u].reg < DEC_REG_FLAGS;
		assert_int_equal(has_mask, !i);
		free(e);
	}
}

static void zeroed(void **state)
{
	// vpxorq xmm16, xmm16, xmm16, and under a mask that leaves some of it; vpxor and xor of one.
	static const uint8_t bytes[][15] = { { 0x62, 0xa1, 0xfd, 0x00, 0xef, 0xc0 },
					     { 0x62, 0xa1, 0xfd, 0x01, 0xef, 0xc0 },
					     { 0xc5, 0xf9, 0xef, 0xc0 },
					     { 0x31, 0xc0 } };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct dec_insn insn;
		struct effect *e;

		assert_true(dec_insn_decode(bytes[i], sizeof(bytes[i]), 0x1000, &insn));
		assert_int_equal(dec_insn_zeroes(&insn), i != 1);
		e = fl_effect_of(&insn);
		assert_non_null(e);
		assert_int_equal(!e->def[0].from, i != 1);
		free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeroed),   cmocka_unit_test(mask_that_is_none),
		cmocka_unit_test(captured), cmocka_unit_test(plain),
		cmocka_unit_test(executed), cmocka_unit_test(told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
