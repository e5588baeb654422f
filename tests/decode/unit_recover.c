// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Recovery from a crash against ground truth: programs crash while they are recorded; the
 * replay tells what each of the last instructions read and wrote, and dec_recover, which
 * sees only which instructions they were and what the crash left, must find it again.
 * What it calls known is never wrong. FAULTLINE_FLIGHT=full: all programs, windows up to
 * a million instructions; another value: up to 100,000 (the table in doc/recovery.md);
 * FAULTLINE_ONLY=NAME: only that mode or program.
 * time limit: 300
 */
#include "tests/unit.h"

#include "decode/past/flight.h"
#include "decode/past/recover_int.h"
#include "tests/decode/flight_judge.h"

struct subject {
	const char *program, *mode, *rounds;
	double share; ///< of values that must be recovered and right, percent
};

static const struct subject subjects[] = {
	{ "crashes", "list", "", 75 },	     { "crashes", "strings", "", 90 },
	{ "crashes", "hash", "", 90 },	     { "crashes", "recursion", "", 95 },
	{ "crashes", "machine", "", 75 },    { "crashes-O0", "list", "", 75 },
	{ "crashes-O0", "strings", "", 90 }, { "shapes", "", "", 60 },
};

static void capture_make(const struct subject *s, const char *options,
			 struct capture **ret)
{
	_cleanup_free_ char *dir = NULL;

	static int number;

	assert_true(asprintf(&dir, "%s/%d", unit_env("TMPDIR"), number++) > 0);
	assert_int_not_equal(unit_run("%s record %s -o %s -- %s/tests/programs/%s %s %s "
				      ">/dev/null 2>&1",
				      unit_env("FAULTLINE"), options, dir,
				      unit_env("BUILD"), s->program, s->mode, s->rounds),
			     0);
	ok(capture_open(dir, ret));
}

static void judge(const struct subject *s, const struct capture *c, uint64_t n)
{
	_cleanup_free_ char *name = NULL;
	struct flight f;

	assert_true(asprintf(&name, "%s %s", s->program, s->mode) > 0);
	flight_init(&f, c, n, NULL);
	flight_run(&f);
	flight_print(&f, name);
	assert_int_equal(f.wrong_at, UINT64_MAX);
	assert_int_equal(f.stats.known_conflicts, 0);
	if (flight_share(&f) < s->share)
		fail_msg(
			"%s: %.1f%% of the values of %lu instructions recovered, not %.1f%%",
			name, flight_share(&f), n, s->share);
	flight_deinit(&f);
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Programs are given enough to do for the largest window. */
static const struct subject table_subjects[] = {
	{ "crashes", "list", "4000", 0 },
	{ "crashes", "tree", "9000", 0 },
	{ "crashes", "hash", "4000", 0 },
	{ "crashes", "uaf", "20000", 0 },
	{ "crashes", "overflow", "4000", 0 },
	{ "crashes", "recursion", "4000", 0 },
	{ "crashes", "strings", "4000", 0 },
	{ "crashes", "matrix", "4000", 0 },
	{ "crashes", "sort", "4000", 0 },
	{ "crashes", "machine", "20000", 0 },
	{ "crashes", "graph", "9000", 0 },
	{ "crashes", "double", "9000", 0 },
	{ "crashes", "buffer", "20000", 0 },
	{ "crashes-O0", "list", "4000", 0 },
	{ "crashes-O0", "tree", "9000", 0 },
	{ "crashes-O0", "hash", "4000", 0 },
	{ "crashes-O0", "uaf", "9000", 0 },
	{ "crashes-O0", "overflow", "4000", 0 },
	{ "crashes-O0", "recursion", "4000", 0 },
	{ "crashes-O0", "strings", "4000", 0 },
	{ "crashes-O0", "matrix", "4000", 0 },
	{ "crashes-O0", "sort", "4000", 0 },
	{ "crashes-O0", "machine", "9000", 0 },
	{ "crashes-O0", "graph", "9000", 0 },
	{ "crashes-O0", "double", "9000", 0 },
	{ "crashes-O0", "buffer", "9000", 0 },
	{ "shapes", "9000", "", 0 },
};

/* What one window size gives, over all programs: with heap events, and with store events,
 * too. */
struct table_sum {
	double share[2], heap[2], given[2], slowest_s;
	uint64_t right[2][3], wrong[2][3];
	unsigned n, n_heap, n_given;
};

enum { TABLE_STORES = 100000 }; ///< the largest window that is done with store events

/* What one window of one program gives. */
struct table_cell {
	double share, known, inferred, inferred_right, heap, given, s;
	uint64_t steps, known_wrong, n_heap, n_given;
};

static void table_cell(const struct capture *c, uint64_t window, bool with_stores,
		       struct table_sum *sum, struct table_cell *cell)
{
	uint64_t right[3], wrong[3], n;
	const struct flight_probes probes = { "libstdc++.so" };
	struct flight f;

	flight_init(&f, c, window, with_stores ? &probes : NULL);
	flight_run(&f);
	n = flight_total(&f.regs) + flight_total(&f.mems);
	for (int i = 0; i < 3; i++) {
		right[i] = f.regs.right[i] + f.mems.right[i];
		wrong[i] = f.regs.wrong[i] + f.mems.wrong[i];
		sum->right[with_stores][i] += right[i];
		sum->wrong[with_stores][i] += wrong[i];
	}
	*cell = (struct table_cell){
		.share = flight_share(&f),
		.known = percent(right[0], n),
		.inferred = percent(right[1] + wrong[1], n),
		.inferred_right = percent(right[1], right[1] + wrong[1]),
		.heap = percent(f.heap_values.right[0] + f.heap_values.right[1],
				flight_total(&f.heap_values)),
		.given = percent(f.given_values.right[0] + f.given_values.right[1],
				 flight_total(&f.given_values)),
		.s = f.cpu_s,
		.steps = f.stats.steps,
		.known_wrong = wrong[0],
		.n_heap = flight_total(&f.heap_values),
		.n_given = flight_total(&f.given_values),
	};
	sum->share[with_stores] += cell->share;
	if (cell->n_heap)
		sum->heap[with_stores] += cell->heap;
	if (cell->n_given)
		sum->given[with_stores] += cell->given;
	if (cell->s > sum->slowest_s)
		sum->slowest_s = cell->s;
	assert_int_equal(f.wrong_at, UINT64_MAX);
	assert_int_equal(f.stats.known_conflicts, 0);
	flight_deinit(&f);
}

static void table_heap(const struct table_cell *cell)
{
	if (cell->n_heap)
		printf("%.2f", cell->heap);
	printf(" | ");
	if (cell->n_given)
		printf("%.2f", cell->given);
	printf(" | ");
}

static void table_row(const struct subject *s, const struct capture *c, uint64_t window,
		      struct table_sum *sum)
{
	struct table_cell cell[2] = {};

	for (int with = 0; with < 1 + (window <= TABLE_STORES); with++)
		table_cell(c, window, with, sum, &cell[with]);
	sum->n++;
	sum->n_heap += cell[0].n_heap != 0;
	sum->n_given += cell[0].n_given != 0;
	printf("| %s %s | %lu | %.1f | %.1f | %lu | %.1f | %.2f | ", s->program, s->mode,
	       cell[0].steps, cell[0].share, cell[0].known, cell[0].known_wrong,
	       cell[0].inferred, cell[0].inferred_right);
	table_heap(&cell[0]);
	printf("%.1f | ", cell[0].s);
	if (window <= TABLE_STORES) {
		printf("%.1f | %lu | %.2f | ", cell[1].share, cell[1].known_wrong,
		       cell[1].inferred_right);
		table_heap(&cell[1]);
	}
	printf("\n");
}

static void table_total(uint64_t window, const struct table_sum *sum)
{
	printf("| %lu ", window);
	for (int with = 0; with < 1 + (window <= TABLE_STORES); with++) {
		uint64_t right = sum->right[with][1], wrong = sum->wrong[with][1];

		printf("| %.1f | %lu | %.2f | %.2f | %.2f ", sum->share[with] / sum->n,
		       sum->wrong[with][0], percent(right, right + wrong),
		       sum->heap[with] / sum->n_heap, sum->given[with] / sum->n_given);
	}
	printf("| %.1f |\n", sum->slowest_s);
}

static void test_table(void **state)
{
	static const uint64_t windows[] = { 1000, 10000, 100000, 1000000 };
	const char *how = getenv("FAULTLINE_FLIGHT"), *only = getenv("FAULTLINE_ONLY");
	struct table_sum sums[4] = {};
	int n_windows = how && strcmp(how, "full") == 0 ? 4 : 3;

	(void)state;
	if (!how)
		skip();
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("| program | window | right | known | of them wrong | inferred | of them right | "
	     "heap pointers | given in the window | s | with stores: right | known, wrong | "
	     "inferred, right | heap pointers | given in the window |\n"
	     "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
	for (size_t i = 0; i < sizeof(table_subjects) / sizeof(*table_subjects); i++) {
		const struct subject *s = &table_subjects[i];
		struct capture *c;

		if (only && !strstr(s->mode[0] ? s->mode : s->program, only))
			continue;
		capture_make(s, "-e heap", &c);
		for (int w = 0; w < n_windows; w++)
			table_row(s, c, windows[w], &sums[w]);
		capture_close(c);
	}
	puts("| window | right | known, wrong | inferred, right | heap pointers | given in the "
	     "window | with stores: right | known, wrong | inferred, right | heap pointers | "
	     "given in the window | slowest, s |\n|---|---|---|---|---|---|---|---|---|---|---|---|");
	for (int w = 0; w < n_windows; w++)
		table_total(windows[w], &sums[w]);
	assert_true(only || sums[2].share[0] / sums[2].n >= 92);
}

/* A list whose nodes were freed and used again: nothing but the heap's history, and what
 * memory held before and after, tells where it was. */
static void test_heap(void **state)
{
	static const struct subject programs[] = {
		{ "crashes", "list", "", 97 },
		{ "crashes-O0", "list", "", 97 },
		{ "crashes", "hash", "", 95 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct capture *c;

		capture_make(&programs[i], "-e heap", &c);
		for (int with_stores = 0; with_stores < 2; with_stores++) {
			const struct flight_probes probes = {};
			const struct flight_count *heap;
			struct flight f;

			flight_init(&f, c, 60000, with_stores ? &probes : NULL);
			flight_run(&f);
			flight_print(&f, programs[i].mode);
			heap = &f.heap_values;
			assert_int_equal(f.wrong_at, UINT64_MAX);
			assert_int_equal(f.stats.known_conflicts, 0);
			assert_in_range(flight_total(heap), 500, UINT64_MAX);
			assert_true(percent(heap->right[0] + heap->right[1],
					    flight_total(heap)) >= 99);
			assert_true(flight_share(&f) >= programs[i].share);
			flight_deinit(&f);
		}
		capture_close(c);
	}
}

/* What is inferred is right, nearly always: one wrong guess about where stores went makes
 * many others. What the CPU has for string functions makes other shares of known, inferred
 * and unknown, but not of right. */
static void test_inferred(void **state)
{
	static const struct subject programs[] = {
		{ "crashes", "overflow", "4000", 0 }, { "crashes", "buffer", "20000", 0 },
		{ "crashes", "uaf", "20000", 0 },     { "indexes", "json", "", 0 },
		{ "indexes", "skip", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		uint64_t right, wrong;
		struct capture *c;
		struct flight f;

		capture_make(&programs[i], "-e heap", &c);
		flight_init(&f, c, 100000, NULL);
		flight_run(&f);
		flight_print(&f, programs[i].mode);
		right = f.regs.right[DEC_INFERRED] + f.mems.right[DEC_INFERRED];
		wrong = f.regs.wrong[DEC_INFERRED] + f.mems.wrong[DEC_INFERRED];
		assert_int_equal(f.wrong_at, UINT64_MAX);
		assert_int_equal(f.stats.known_conflicts, 0);
		assert_true(percent(right, right + wrong) >= 98);
		flight_deinit(&f);
		capture_close(c);
	}
}

static void test_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		struct capture *c;

		capture_make(&subjects[i], "-e heap", &c);
		judge(&subjects[i], c, 1000);
		judge(&subjects[i], c, 20000);
		capture_close(c);
	}
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* A step, part of whose values are given: whatever its rule makes of them must be what the
 * machine saw. */
struct rule_test {
	struct flight *flight;
	struct past_bytes truth[16]; ///< by slot; m 0: the machine does not tell
	uint64_t seed, n_learned;
};

static uint64_t rule_random(struct rule_test *t)
{
	t->seed ^= t->seed << 13;
	t->seed ^= t->seed >> 7;
	return t->seed ^= t->seed << 17;
}

/* All, nothing, or some of it. */
static uint64_t rule_mask(struct rule_test *t)
{
	switch (rule_random(t) % 4) {
	case 0:
		return 0;
	case 1:
		return rule_random(t) & rule_random(t);
	case 2:
		return rule_random(t) | rule_random(t);
	default:
		return UINT64_MAX;
	}
}

static void rule_find_truth(struct rule_test *t, const struct past_at *at,
			    const struct dec_step *step)
{
	size_t n_mem[2] = {};

	for (int s = 0; s < at->form->n_in + at->form->n_out; s++) {
		bool is_def = s >= at->form->n_in, is_mem = at->form->slot[s] >= 0x80;
		struct dec_ref want = { .is_def = is_def,
					.is_mem = is_mem,
					.reg = at->form->slot[s] };
		const struct dec_ref *r =
			flight_find(step, &want, is_mem ? n_mem[is_def]++ : 0);
		uint32_t size = is_mem ? at->form->insn.mem[want.reg & 0x7f].size : 0;

		t->truth[s].m = 0;
		if (!r || !r->has_value || !r->value || r->size > 64 ||
		    (is_mem && r->size != size))
			continue;
		memset(t->truth[s].v, 0, 64);
		memcpy(t->truth[s].v, r->value, r->size);
		t->truth[s].m = past_ones(r->size);
	}
}

static void rule_give(struct rule_test *t, struct dec_recover *r, uint32_t node,
		      const struct past_bytes *truth, uint64_t m)
{
	uint64_t v;

	(void)t;
	memcpy(&v, truth->v, 8);
	if (node & PAST_VEC) {
		r->bytes.data[node & ~PAST_VEC] = *truth;
		r->bytes.data[node & ~PAST_VEC].m &= m;
	} else {
		m &= past_bit_mask(truth->m);
		r->bits.data[node] = (struct past_bits){ v & m, m };
	}
}

static void spec_rule_check(struct rule_test *t, const struct past_at *at, int s)
{
	const struct past_bytes *truth = &t->truth[s];
	uint32_t node = at->ref[s];
	uint64_t v, wrong = 0;

	if (node & PAST_VEC) {
		const struct past_bytes *b = &at->r->bytes.data[node & ~PAST_VEC];

		for (uint64_t m = b->m & truth->m; m; m &= m - 1)
			wrong |= b->v[__builtin_ctzll(m)] != truth->v[__builtin_ctzll(m)];
		t->n_learned += __builtin_popcountll(b->m & truth->m);
	} else {
		const struct past_bits *b = &at->r->bits.data[node];

		memcpy(&v, truth->v, 8);
		wrong = (b->v ^ v) & b->m & past_bit_mask(truth->m);
		t->n_learned += __builtin_popcountll(b->m & past_bit_mask(truth->m)) / 8;
	}
	if (wrong)
		fail_msg("%s at %#lx: slot %d is wrong in %#lx",
			 dec_insn_name(&at->form->insn), at->form->insn.rip, s, wrong);
}

static struct err *rule_on_step(void *ctx, const struct dec_step *step)
{
	struct rule_test *t = ctx;
	struct flight *f = t->flight;
	struct dec_recover *r = f->recover;
	struct past_at at;
	int n;

	if (!step->insn || step->position < f->begin || step->position >= f->stop)
		return NULL;
	at = past_at(r, step->position - f->begin);
	n = at.form->n_in + at.form->n_out;
	if (n > 16)
		return NULL;
	rule_find_truth(t, &at, step);
	for (int trial = 0; trial < 3; trial++) {
		for (int s = 0; s < n; s++)
			rule_give(t, r, at.ref[s], &t->truth[s], rule_mask(t));
		r->at = at.step;
		r->n_conflicts = 0;
		do {
			r->again = false;
			dec_recover_apply(&at);
		} while (r->again);
		if (r->n_conflicts)
			fail_msg("%s at %#lx contradicts itself",
				 dec_insn_name(&at.form->insn), at.form->insn.rip);
		for (int s = 0; s < n; s++)
			spec_rule_check(t, &at, s);
		for (int s = 0; s < n; s++)
			rule_give(t, r, at.ref[s], &t->truth[s], 0);
		while (r->queue_size) {
			r->is_queued[r->queue[r->queue_head]] = 0;
			r->queue_head = (r->queue_head + 1) % r->ran.steps.size;
			r->queue_size--;
		}
	}
	return NULL;
}

/* The machine, which has the end's memory else, is on its way through the window. */
static enum dec_recover_map rule_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	(void)addr;
	(void)buf;
	(void)size;
	return DEC_MAP_NONE;
}

static void test_rules(void **state)
{
	static const struct subject programs[] = {
		{ "crashes", "strings", "", 0 },     { "crashes", "matrix", "", 0 },
		{ "crashes", "machine", "", 0 },     { "crashes", "double", "", 0 },
		{ "crashes-O0", "overflow", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct rule_test t = { .seed = 88172645463325252ull };
		struct capture *c;
		struct dec_where w;
		struct flight f;

		capture_make(&programs[i], "-e heap", &c);
		flight_init(&f, c, 30000, NULL);
		f.end.read = rule_read;
		ok(dec_recover_prepare(f.recover));
		t.flight = &f;
		ok(dec_machine_seek(f.machine, f.begin, &w));
		ok(dec_machine_trace(f.machine, UINT64_MAX >> 1, rule_on_step, &t, &w));
		printf("%s: %lu bytes learned, none wrong\n", programs[i].mode,
		       t.n_learned);
		assert_in_range(t.n_learned, 100000, UINT64_MAX);
		flight_deinit(&f);
		capture_close(c);
	}
}

/* ---- what the recorder leaves on the stack ------------------------------------------------- */

enum { STACK_AT = 0x7ffd00001000 };

static enum dec_recover_map stack_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	if (addr >= STACK_AT || addr < STACK_AT - 4096)
		return DEC_MAP_NONE;
	memset(buf, 0x77, size);
	return DEC_MAP_PRIVATE;
}

/* push rbx; pop rax; both are cleared. @return what is known of rbx. */
static enum dec_certainty pushed_certainty(bool has_probe)
{
	static const uint8_t code[] = { 0x53, 0x58, 0x31, 0xdb, 0x31, 0xc0 };
	static const uint8_t lengths[] = { 1, 1, 2, 2 };
	struct dec_recover_end end = { .read = stack_read };
	struct dec_recover_stats stats;
	enum dec_certainty is;
	struct dec_recover *r;
	struct dec_step step;
	struct dec_insn insn;
	size_t at = 0;

	ok(dec_recover_create(0, &r));
	for (int i = 0; i < 4; i++) {
		assert_true(dec_insn_decode(code + at, lengths[i], 0x400000 + at, &insn));
		if (i == 2 && has_probe)
			ok(dec_recover_lose_below(r, -DEC_RETURN_PROBE_BYTES,
						  DEC_RETURN_PROBE_BYTES));
		ok(dec_recover_step(r, &insn));
		at += lengths[i];
	}
	end.regs.gpr[CAP_RSP] = STACK_AT;
	end.regs.rip = 0x400000 + at;
	dec_recover_set_end(r, &end);
	ok(dec_recover_run(r, &stats));
	dec_recover_show(r, 0, &step);
	is = step.refs[0].reg == CAP_RBX ? step.refs[0].certainty :
					   step.refs[1].certainty;
	dec_recover_destroy(r);
	return is;
}

/* Probed returns write below rsp: what the core has there is not what the program left. */
static void test_probed_returns(void **state)
{
	(void)state;
	assert_int_equal(pushed_certainty(false), DEC_KNOWN);
	assert_int_equal(pushed_certainty(true), DEC_UNKNOWN);
}

/* The file form: packets, end.core and events instead of the machine's log and memory.
 * @return how many hits of store probes belonged to the window. */
static size_t judge_files(const struct subject *s, const char *options,
			  const struct dec_flight_options *o)
{
	_cleanup_free_ char *dir = NULL;
	struct capture *c, *late;
	struct dec_flight *flight;
	struct flight f;
	size_t n_hits;

	capture_make(s, options, &c);
	assert_true(asprintf(&dir, "%s.late", capture_dir(c)) > 0);
	assert_int_equal(unit_run("%s encode --flight %s %s >/dev/null",
				  unit_env("FAULTLINE"), dir, capture_dir(c)),
			 0);
	ok(capture_open(dir, &late));
	flight_init(&f, c, o->n_insns, NULL);
	ok(dec_flight_open(late, o, &flight));
	assert_int_equal(flight->n_gaps, 0);
	assert_int_equal(flight->n_unmatched, 0);
	assert_in_range(flight->calls.size, 10, 1000);
	// The call that killed the program is its last step in the log, and none in a core.
	assert_in_range(f.stop - f.begin - flight->stats.steps, 0, 1);
	flight_judge_other(&f, flight->recover, &flight->stats);
	flight_print(&f, options);
	assert_int_equal(f.wrong_at, UINT64_MAX);
	assert_int_equal(flight->stats.known_conflicts, 0);
	assert_true(flight_share(&f) > s->share);
	n_hits = flight->hits.size;
	dec_flight_close(flight);
	flight_deinit(&f);
	capture_close(late);
	capture_close(c);
	return n_hits;
}

static void test_files(void **state)
{
	static const struct subject subject_double = { "crashes", "double", "", 75 };
	static const struct subject subject_list = { "crashes", "list", "", 97 };
	struct dec_flight_options o = { .n_insns = 20000 };

	(void)state;
	assert_int_equal(judge_files(&subject_double, "--end-core -e heap", &o), 0);
	assert_in_range(judge_files(&subject_list, "--end-core -e heap -e stores", &o),
			50, 10000);
	o.without_stores = true;
	assert_int_equal(judge_files(&subject_list, "--end-core -e heap -e stores", &o),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs), cmocka_unit_test(test_heap),
		cmocka_unit_test(test_inferred), cmocka_unit_test(test_rules),
		cmocka_unit_test(test_files),	 cmocka_unit_test(test_probed_returns),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
