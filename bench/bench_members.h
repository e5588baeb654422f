// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The members of the model's structs, as tables, which reading and writing JSON follow. Each
 * ends with one without a name.
 */
#ifndef BENCH_BENCH_MEMBERS_H
#define BENCH_BENCH_MEMBERS_H

#include <stddef.h>

enum kind { TEXT, NUMBER, COUNT, FLAG, RANGE, ROLE, BETTER, FIT, KINDS_END };

struct member {
	const char *name;
	enum kind kind;
	size_t at;
};

extern const struct member bench_header_members[];
extern const struct member bench_tool_members[];
extern const struct member bench_work_members[];
extern const struct member bench_suite_members[];
extern const struct member bench_row_members[];
extern const struct member bench_series_members[];
extern const struct member bench_range_members[];
extern const struct member bench_fit_members[];
extern const char *const bench_role_names[3];
extern const char *const bench_better_names[3];

#endif
