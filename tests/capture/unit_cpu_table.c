// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The table of a processor's answers: it is what the CPU says, on each CPU; and vector
 * registers from AMD's places to those of cores and back.
 */
#include <cpuid.h>
#include <sched.h>
#include <string.h>

#include "capture/cap_format.h"
#include "tests/unit.h"

static void run_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void same(const struct cap_cpu *c, uint32_t leaf, uint32_t subleaf, int cpu)
{
	uint32_t is[4], want[4];

	__cpuid_count(leaf, subleaf, want[0], want[1], want[2], want[3]);
	if (!cap_cpu_find(c, leaf, subleaf, cpu, is))
		fail_msg("leaf %#x.%u: not certain on CPU %d", leaf, subleaf, cpu);
	if (memcmp(is, want, sizeof(is)))
		fail_msg("leaf %#x.%u on CPU %d is %x %x %x %x, natively %x %x %x %x",
			 leaf, subleaf, cpu, is[0], is[1], is[2], is[3], want[0], want[1],
			 want[2], want[3]);
}

static void every_answer(void **state)
{
	static const uint32_t from[] = { 0, 0x40000000, 0x80000000 };
	static const uint32_t with_index[] = { 4, 7, 0xb, 0xd };
	struct cap_cpu c;
	cpu_set_t mine;
	int n = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	ok(cap_cpu_ask(&c, true));
	assert_int_equal(c.bound_to, CAP_CPU_ANY);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 8; cpu++) {
		if (!CPU_ISSET(cpu, &mine))
			continue;
		run_on(cpu);
		n++;
		for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++)
			for (uint32_t leaf = from[i]; leaf < from[i] + 0x30; leaf++)
				same(&c, leaf, 0, cpu);
		for (size_t i = 0; i < sizeof(with_index) / sizeof(*with_index); i++)
			for (uint32_t sub = 1; sub < 9; sub++)
				same(&c, with_index[i], sub, cpu);
		same(&c, 0, 77, cpu); // does not look at ecx
		same(&c, 0x3fffffff, 1, cpu);
		same(&c, 0xc0000000, 0, cpu);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(mine), &mine), 0);
	cap_cpu_deinit(&c);
}

/* ---- two made up CPUs that differ, through a manifest and back ----------------------------- */

static struct cap_cpuid two[] = {
	{ 0, 0, { 0x10, 0x68747541, 0x444d4163, 0x69746e65 }, CAP_CPU_ANY },
	{ 1, 0, { 0xa0f11, 0x800, 3, 4 }, 0 },
	{ 1, 0, { 0xa0f11, 0x1000800, 3, 4 }, 1 },
	{ 0xb, 0, { 1, 2, 0x100, 0 }, 0 },
	{ 0xb, 0, { 1, 2, 0x100, 1 }, 1 },
	{ 0xd, 2, { 256, 576, 0, 0 }, CAP_CPU_ANY },
	{ 0xd, 5, { 64, 832, 0, 0 }, CAP_CPU_ANY },
	{ 0xd, 6, { 512, 896, 0, 0 }, CAP_CPU_ANY },
	{ 0xd, 7, { 1024, 1408, 0, 0 }, CAP_CPU_ANY },
	{ 0xd, 9, { 8, 2432, 0, 0 }, CAP_CPU_ANY },
	{ 0xd, 11, { 16, 0, 1, 0 }, CAP_CPU_ANY }, // the supervisor's
};

static struct cap_cpu amd = { .rows = two,
			      .n = sizeof(two) / sizeof(*two),
			      .is_trapped = true,
			      .is_tsc_probed = true,
			      .bound_to = 1,
			      .bound_from = 1ull << 60 };

static void manifest(void **state)
{
	struct cap_info info = { .version = CAP_VERSION, .cpu = amd }, back = {};
	_cleanup_free_ char *text = NULL;
	char name[13];
	uint32_t r[4];

	(void)state;
	ok(cap_manifest_print(&info, NULL, &text));
	ok(cap_manifest_parse(text, &back));
	assert_int_equal(back.cpu.n, amd.n);
	assert_true(back.cpu.is_trapped);
	assert_true(back.cpu.is_tsc_probed);
	assert_int_equal(back.cpu.bound_to, 1);
	assert_int_equal(back.cpu.bound_from, 1ull << 60);
	for (size_t i = 0; i < amd.n; i++)
		assert_memory_equal(&back.cpu.rows[i], &two[i], sizeof(two[i]));
	assert_string_equal(cap_cpu_vendor(&back.cpu, name), "AuthenticAMD");

	// One without, of a version that did not write it.
	cap_info_deinit(&back);
	memcpy(strstr(text, "tsc_probed"), "not_probed", 10);
	ok(cap_manifest_parse(text, &back));
	assert_false(back.cpu.is_tsc_probed);

	assert_true(cap_cpu_find(&amd, 1, 9, 1, r));
	assert_int_equal(r[1], 0x1000800);
	assert_false(cap_cpu_find(&amd, 1, 0, CAP_CPU_ANY, r)); // one of them
	assert_int_equal(r[1], 0x800);
	assert_true(cap_cpu_find(&amd, 0xb, 5, 1, r)); // no such level
	assert_int_equal(r[2], 5);
	assert_int_equal(r[3], 1);
	assert_true(cap_cpu_find(&amd, 0x11, 0, 0, r)); // no such leaf
	assert_int_equal(r[0] | r[1] | r[2] | r[3], 0);
	assert_false(cap_cpu_find(&(struct cap_cpu){}, 1, 0, 0, r));
	cap_info_deinit(&back);
}

static void bad_rows(void **state)
{
	static const char *const bad[] = { "0.0 1 2 3", "x", "0.0 1 2 3 4 @",
					   "0.0 1 2 3 4 @-2", "0.0 1 2 3 4 @1 2" };
	struct cap_info info = { .version = CAP_VERSION, .cpu = amd };
	_cleanup_free_ char *text = NULL;

	(void)state;
	ok(cap_manifest_print(&info, NULL, &text));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct cap_info back = {};
		_cleanup_free_ char *broken = NULL;
		char *row = strstr(text, "\"1.0 ");
		struct err *err;

		assert_non_null(row);
		assert_true(asprintf(&broken, "%.*s\"%s\"%s", (int)(row - text), text,
				     bad[i], strchr(row + 1, '"') + 1) > 0);
		err = cap_manifest_parse(broken, &back);
		if (!err || !strstr(err->message, "cpuid"))
			fail_msg("'%s': %s", bad[i], err ? err->message : "taken");
		err_destroy(err);
		cap_info_deinit(&back);
	}
}

/* ---- vector registers ------------------------------------------------------------------------ */

#define AREA 4096

static void put(uint8_t *area, uint64_t in_use, uint64_t enabled)
{
	for (int i = 0; i < AREA; i++)
		area[i] = i * 7 + (i >> 8);
	memcpy(area + 464, &enabled, 8);
	memcpy(area + 512, &in_use, 8);
	memset(area + 520, 0, 56);
}

static void places(void **state)
{
	static const int have[] = { 2, 5, 6, 7, 9 };
	struct cap_xstate_layout here = cap_cpu_xstate(&amd), core = cap_core_xstate();
	static uint8_t from[AREA], to[AREA], back[AREA];
	uint64_t in_use = 0x2e7;

	(void)state;
	assert_int_equal(here.at[7].offset, 1408);
	assert_int_equal(here.at[11].size, 0);
	put(from, in_use, 0x2e7);
	// As large as gdb wants it.
	assert_int_equal(cap_xstate_convert(to, AREA, &core, from, 2440, &here), 2696);
	assert_memory_equal(to, from, 520);
	for (size_t i = 0; i < sizeof(have) / sizeof(*have); i++)
		assert_memory_equal(to + core.at[have[i]].offset,
				    from + here.at[have[i]].offset,
				    core.at[have[i]].size);
	assert_int_equal(cap_xstate_convert(back, AREA, &here, to, 2696, &core), 2440);
	assert_memory_equal(back, from, 2440);

	// In its initial state, whatever lies there; enabled all the same.
	put(from, 3, 0x2e7);
	assert_int_equal(cap_xstate_convert(to, AREA, &core, from, 2440, &here), 2696);
	for (int i = 576; i < AREA; i++)
		assert_int_equal(to[i], 0);
	// A CPU with AVX alone has no room for the rest, and says so.
	put(from, 0xe7, 0xe7);
	for (int i = 3; i < CAP_XSTATE_COMPONENTS; i++)
		core.at[i].size = 0;
	assert_int_equal(cap_xstate_convert(to, AREA, &core, from, 2440, &here), 832);
	memcpy(&in_use, to + 512, 8);
	assert_int_equal(in_use, 7);
	// Cut off: what is not there is not in use.
	assert_int_equal(cap_xstate_convert(to, AREA, &here, from, 900, &here), 896);
	memcpy(&in_use, to + 512, 8);
	assert_int_equal(in_use, 0x27);
	assert_int_equal(cap_xstate_convert(to, AREA, &here, from, 575, &here), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer),
		cmocka_unit_test(manifest),
		cmocka_unit_test(bad_rows),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
