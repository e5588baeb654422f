// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Intel PT's configuration from sysfs: a prepared directory stands for it, as kernels have
 * it on a Broadwell, on an Ice Lake, and in a form that no CPU has yet (bits elsewhere).
 */
#include <string.h>

#include "pt-collect/pt/pmu.h"
#include "tests/pt-collect/pt_tree.h"
#include "tests/unit.h"

/** What all CPUs with PT have. */
static void put_common(void)
{
	pt_put("type", "8");
	pt_put("format/pt", "config:0");
	pt_put("format/cyc", "config:1");
	pt_put("format/pwr_evt", "config:4");
	pt_put("format/fup_on_ptw", "config:5");
	pt_put("format/mtc", "config:9");
	pt_put("format/tsc", "config:10");
	pt_put("format/noretcomp", "config:11");
	pt_put("format/ptw", "config:12");
	pt_put("format/branch", "config:13");
	pt_put("format/mtc_period", "config:14-17");
	pt_put("format/cyc_thresh", "config:19-22");
	pt_put("format/psb_period", "config:24-27");
}

static void ice_lake(struct ptc_pt_pmu *pmu)
{
	pt_begin("icelake");
	put_common();
	pt_put("caps/topa_output", "1");
	pt_put("caps/psb_cyc", "1");
	pt_put("caps/mtc", "1");
	pt_put("caps/ptwrite", "1");
	pt_put("caps/power_event_trace", "0");
	pt_put("caps/psb_periods", "3f");
	pt_put("caps/mtc_periods", "249");
	pt_put("caps/cycle_thresholds", "1fff");
	pt_put("nr_addr_filters", "2");
	pt_put("max_nonturbo_ratio", "24");
	pt_put("tsc_art_ratio", "216:2");
	ok(ptc_pt_pmu_read(pt_root, pmu));
}

/** Broadwell: neither CYC nor MTC, no choice of PSBs. */
static void broadwell(struct ptc_pt_pmu *pmu)
{
	pt_begin("broadwell");
	put_common();
	pt_put("caps/psb_cyc", "0");
	pt_put("caps/mtc", "0");
	pt_put("caps/psb_periods", "0");
	pt_put("caps/mtc_periods", "0");
	pt_put("caps/num_address_ranges", "0");
	ok(ptc_pt_pmu_read(pt_root, pmu));
}

static uint64_t configured(const struct ptc_pt_pmu *pmu, const char *text)
{
	uint64_t config[PTC_PT_WORDS];

	ok(ptc_pt_pmu_configure(pmu, text, config));
	assert_int_equal(config[1] | config[2], 0);
	return config[0];
}

static void refused(const struct ptc_pt_pmu *pmu, const char *text, const char *why)
{
	uint64_t config[PTC_PT_WORDS];
	struct err *err = ptc_pt_pmu_configure(pmu, text, config);

	if (!err || err->code != ERR_USAGE || !strstr(err->message, why))
		fail_msg("%s: %s", text, err ? err->message : "taken");
	err_destroy(err);
}

#define BASE (1u << 0 | 1u << 10 | 1u << 13) // pt, tsc, branch

static void test_defaults(void **state)
{
	struct ptc_pt_pmu pmu;

	(void)state;
	ice_lake(&pmu);
	assert_int_equal(pmu.type, 8);
	assert_int_equal(pmu.n_filters, 2);
	assert_true(pmu.has_output);
	// 249 is values 0, 3, 6 and 9.
	assert_int_equal(configured(&pmu, NULL), BASE | 1u << 9 | 3u << 14 | 3u << 24);
	assert_int_equal(configured(&pmu, ""), configured(&pmu, NULL));
	ptc_pt_pmu_deinit(&pmu);
	broadwell(&pmu);
	assert_int_equal(configured(&pmu, NULL), BASE);
	ptc_pt_pmu_deinit(&pmu);
}

static void test_terms(void **state)
{
	struct ptc_pt_pmu pmu;
	uint64_t config[PTC_PT_WORDS] = {};

	(void)state;
	ice_lake(&pmu);
	config[0] = configured(&pmu, "cyc,cyc_thresh=4,psb_period=0,noretcomp=1,ptw,"
				     "fup_on_ptw,mtc_period=0x9");
	assert_int_equal(config[0], BASE | 1u << 1 | 4u << 19 | 1u << 11 | 1u << 12 |
					    1u << 5 | 1u << 9 | 9u << 14);
	assert_int_equal(ptc_pt_pmu_value(&pmu, config, "mtc_period"), 9);
	assert_int_equal(ptc_pt_pmu_value(&pmu, config, "nothing"), 0);
	// Its period goes with it: the driver wants none without.
	assert_int_equal(configured(&pmu, "mtc=0,tsc=0"), 1u << 0 | 1u << 13 | 3u << 24);
	assert_int_equal(configured(&pmu, "branch=0") & (1u << 13), 0);
	ptc_pt_pmu_deinit(&pmu);
}

static void test_mistakes(void **state)
{
	struct ptc_pt_pmu pmu;

	(void)state;
	ice_lake(&pmu);
	refused(&pmu, "cycles",
		"no 'cycles' on this machine (there are: branch, cyc, "
		"cyc_thresh,");
	refused(&pmu, "psb_period=6", "takes: 0, 1, 2, 3, 4, 5)");
	refused(&pmu, "mtc_period=4", "takes: 0, 3, 6, 9)");
	refused(&pmu, "cyc,cyc_thresh=15", "takes: 0, 1, 2");
	refused(&pmu, "psb_period=16", "at most 15");
	refused(&pmu, "cyc=2", "at most 1, not 2");
	refused(&pmu, "psb_period=", "must be a number");
	refused(&pmu, "psb_period=-1", "must be a number");
	refused(&pmu, "psb_period=3x", "must be a number");
	refused(&pmu, "pwr_evt", "has no pwr_evt");
	refused(&pmu, "fup_on_ptw", "with ptw only");
	refused(&pmu, "pt=0", "makes no sense");
	ptc_pt_pmu_deinit(&pmu);
	broadwell(&pmu);
	refused(&pmu, "cyc", "has no cyc");
	refused(&pmu, "mtc", "has no mtc");
	refused(&pmu, "psb_period=1", "takes: 0)");
	ptc_pt_pmu_deinit(&pmu);
}

/** Nothing knows where the bits are but the format files. */
static void test_bits_are_the_kernels(void **state)
{
	struct ptc_pt_pmu pmu;
	uint64_t config[PTC_PT_WORDS];

	(void)state;
	pt_begin("future");
	pt_put("type", "4711");
	pt_put("format/tsc", "config1:63");
	pt_put("format/cyc", "config2:0");
	pt_put("format/psb_period", "config:0-1,32,60-61");
	pt_put("caps/psb_cyc", "1");
	pt_put("caps/psb_periods", "80000001");
	ok(ptc_pt_pmu_read(pt_root, &pmu));
	assert_int_equal(pmu.type, 4711);
	ok(ptc_pt_pmu_configure(&pmu, "psb_period=31,cyc", config));
	assert_true(config[0] == (3ull | 1ull << 32 | 3ull << 60));
	assert_true(config[1] == 1ull << 63);
	assert_true(config[2] == 1);
	assert_int_equal(ptc_pt_pmu_value(&pmu, config, "psb_period"), 31);
	ptc_pt_pmu_deinit(&pmu);
}

static void test_not_there_or_damaged(void **state)
{
	static const char *const wrong[] = { "config:",	   "config:64", "config3:1",
					     "config:3-1", "config:1-", "config:1,",
					     "umask:1",	   "config:1 2" };
	struct ptc_pt_pmu pmu;

	(void)state;
	pt_begin("damaged");
	expect(ERR_NOT_FOUND, ptc_pt_pmu_read(pt_root, &pmu));
	pt_put("type", "eight");
	expect(ERR_FORMAT, ptc_pt_pmu_read(pt_root, &pmu));
	pt_put("type", "8");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		pt_put("format/tsc", wrong[i]);
		expect(ERR_FORMAT, ptc_pt_pmu_read(pt_root, &pmu));
	}
	pt_put("format/tsc", "config:10");
	// Caps that are no numbers are none.
	pt_put("caps/mtc", "yes");
	pt_put("caps/psb_periods", "");
	ok(ptc_pt_pmu_read(pt_root, &pmu));
	assert_false(pmu.has_mtc);
	assert_int_equal(pmu.psb_periods, 0);
	ptc_pt_pmu_deinit(&pmu);
}

static void test_what_a_file_says(void **state)
{
	struct ptc_pt_pmu pmu;
	uint64_t config[PTC_PT_WORDS];
	struct perf_pt pt;

	(void)state;
	ice_lake(&pmu);
	ok(ptc_pt_pmu_configure(&pmu, "cyc", config));
	ptc_pt_pmu_describe(&pmu, config, &pt);
	assert_int_equal(pt.pmu_type, 8);
	assert_true(pt.config == config[0]);
	assert_int_equal(pt.tsc_bit, 1 << 10);
	assert_int_equal(pt.noretcomp_bit, 1 << 11);
	assert_int_equal(pt.mtc_bit, 1 << 9);
	assert_int_equal(pt.cyc_bit, 1 << 1);
	assert_int_equal(pt.mtc_freq_bits, 15 << 14);
	assert_int_equal(pt.tsc_ctc_n, 216);
	assert_int_equal(pt.tsc_ctc_d, 2);
	assert_int_equal(pt.max_nonturbo_ratio, 24);
	assert_true(pt.is_user_only && !pt.is_per_cpu && !pt.is_snapshot);
	ptc_pt_pmu_deinit(&pmu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_bits_are_the_kernels),
		cmocka_unit_test(test_not_there_or_damaged),
		cmocka_unit_test(test_what_a_file_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
