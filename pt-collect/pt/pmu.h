// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Intel PT as the kernel describes it in sysfs: which bits of an event's configuration mean
 * what, which values this CPU takes. Private to pt-collect/. Bit positions come from the
 * format files only; the documentation of each is in Documentation/ABI/testing/
 * sysfs-bus-event_source-devices-format and the SDM, volume 3, "IA32_RTIT_CTL MSR".
 */
#ifndef PT_COLLECT_PT_PMU_H
#define PT_COLLECT_PT_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "capture/perf_data.h"

#define PTC_PT_SYSFS "/sys/bus/event_source/devices/intel_pt"
#define PTC_PT_WORDS 3 ///< config, config1, config2

/** A term of `-e pt/TERM=VALUE/`. */
struct ptc_pt_term {
	char name[32];
	unsigned word; ///< below PTC_PT_WORDS
	uint64_t bits; ///< of it, not necessarily adjacent
};

struct ptc_pt_pmu {
	uint32_t type; ///< for perf_event_attr
	VEC(struct ptc_pt_term) terms;
	bool has_output; ///< it writes to memory of ours: an AUX area
	bool has_psb_cyc, has_mtc, has_ptwrite, has_power_events, has_event_trace;
	/** Bit N: value N is taken. */
	uint64_t psb_periods, mtc_periods, cycle_thresholds;
	unsigned n_filters; ///< address ranges at a time
	uint32_t max_nonturbo_ratio, tsc_ctc_n, tsc_ctc_d;
};

/** Read it from directory @p root (PTC_PT_SYSFS). @return ERR_NOT_FOUND when the kernel has
 * no such PMU, ERR_FORMAT when a file is not what it should be. */
struct err *ptc_pt_pmu_read(const char *root, struct ptc_pt_pmu *ret);
void ptc_pt_pmu_deinit(struct ptc_pt_pmu *pmu);

/**
 * What to put into an event for @p text ("cyc,psb_period=3"; NULL or "" = the defaults: tsc,
 * mtc with a period of 3, psb_period 3, as far as the CPU has them, branch). Terms are added
 * to the defaults; NAME=0 takes one away.
 *
 * @return ERR_USAGE: a term that does not exist here, or a value that the CPU does not take;
 *	   says which there are.
 */
struct err *ptc_pt_pmu_configure(const struct ptc_pt_pmu *pmu, const char *text,
				 uint64_t config[PTC_PT_WORDS]);

/** The value of term @p name in @p config; 0 when there is no such term. */
uint64_t ptc_pt_pmu_value(const struct ptc_pt_pmu *pmu,
			  const uint64_t config[PTC_PT_WORDS], const char *name);

/** What a perf.data file is to say of events with @p config. */
void ptc_pt_pmu_describe(const struct ptc_pt_pmu *pmu,
			 const uint64_t config[PTC_PT_WORDS], struct perf_pt *ret);

#endif
