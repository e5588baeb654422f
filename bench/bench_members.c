// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_members.h"

#include "bench/bench_result.h"

#define MEMBER(type, kind, field)                          \
	{                                                  \
#field, kind, offsetof(struct type, field) \
	}

const struct member bench_header_members[] = {
	MEMBER(bench_header, TEXT, commit),
	MEMBER(bench_header, TEXT, version),
	MEMBER(bench_header, TEXT, date),
	MEMBER(bench_header, TEXT, command),
	MEMBER(bench_header, TEXT, processor),
	MEMBER(bench_header, COUNT, n_processors),
	MEMBER(bench_header, TEXT, kernel),
	MEMBER(bench_header, TEXT, governor),
	MEMBER(bench_header, TEXT, memory),
	MEMBER(bench_header, NUMBER, load_start),
	MEMBER(bench_header, NUMBER, load_end),
	MEMBER(bench_header, NUMBER, others),
	MEMBER(bench_header, FLAG, is_quick),
	MEMBER(bench_header, COUNT, rounds),
	{},
};

const struct member bench_tool_members[] = {
	MEMBER(bench_tool, TEXT, name),
	MEMBER(bench_tool, TEXT, version),
	MEMBER(bench_tool, TEXT, package),
	MEMBER(bench_tool, TEXT, what),
	{},
};

const struct member bench_work_members[] = {
	MEMBER(bench_work_info, TEXT, name),
	MEMBER(bench_work_info, TEXT, what),
	{},
};

const struct member bench_suite_members[] = {
	MEMBER(bench_suite_info, TEXT, name),	  MEMBER(bench_suite_info, TEXT, title),
	MEMBER(bench_suite_info, TEXT, about),	  MEMBER(bench_suite_info, FLAG, is_wide),
	MEMBER(bench_suite_info, NUMBER, took_s), {},
};

const struct member bench_row_members[] = {
	MEMBER(bench_row, TEXT, suite),
	MEMBER(bench_row, TEXT, work),
	MEMBER(bench_row, TEXT, command),
	MEMBER(bench_row, ROLE, role),
	MEMBER(bench_row, TEXT, metric),
	MEMBER(bench_row, TEXT, base_metric),
	MEMBER(bench_row, TEXT, unit),
	MEMBER(bench_row, BETTER, better),
	MEMBER(bench_row, RANGE, value),
	MEMBER(bench_row, RANGE, ratio),
	MEMBER(bench_row, TEXT, ratio_to),
	MEMBER(bench_row, TEXT, beaten_by),
	MEMBER(bench_row, RANGE, beaten_ratio),
	MEMBER(bench_row, NUMBER, limit),
	MEMBER(bench_row, NUMBER, wanted),
	MEMBER(bench_row, NUMBER, published),
	MEMBER(bench_row, TEXT, published_source),
	MEMBER(bench_row, TEXT, note),
	MEMBER(bench_row, TEXT, skipped),
	MEMBER(bench_row, FLAG, is_exact),
	MEMBER(bench_row, FLAG, is_failure),
	{},
};

const struct member bench_series_members[] = {
	MEMBER(bench_series, TEXT, suite),
	MEMBER(bench_series, TEXT, work),
	MEMBER(bench_series, TEXT, command),
	MEMBER(bench_series, ROLE, role),
	MEMBER(bench_series, TEXT, x_name),
	MEMBER(bench_series, TEXT, y_name),
	MEMBER(bench_series, TEXT, y_unit),
	MEMBER(bench_series, NUMBER, fixed),
	MEMBER(bench_series, NUMBER, expected_exponent),
	MEMBER(bench_series, TEXT, note),
	MEMBER(bench_series, FIT, fit),
	{},
};

const struct member bench_range_members[] = {
	MEMBER(bench_range, NUMBER, median),
	MEMBER(bench_range, NUMBER, min),
	MEMBER(bench_range, NUMBER, max),
	{},
};

const struct member bench_fit_members[] = {
	MEMBER(bench_fit, NUMBER, exponent),
	MEMBER(bench_fit, NUMBER, low),
	MEMBER(bench_fit, NUMBER, high),
	MEMBER(bench_fit, NUMBER, coefficient),
	MEMBER(bench_fit, NUMBER, slope),
	MEMBER(bench_fit, FLAG, is_valid),
	{},
};

const char *const bench_role_names[] = { "ours", "native", "peer" };
const char *const bench_better_names[] = { "lower", "higher", "neither" };
