// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A capture's PT as the witness of its replay: before, it tells where threads were
 * interrupted; during it, each branch is compared (check.h); afterwards it says in a
 * line how much of the run it saw.
 */
#ifndef DECODE_PT_WITNESS_H
#define DECODE_PT_WITNESS_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "capture/capture.h"
#include "decode/machine/interrupts.h"
#include "decode/pt/check.h"

struct dec_pt_witness;

/** Open the PT of the capture in directory @p dir. @p ret: NULL when it has none. @return
 * why its perf.data cannot be read. */
struct err *dec_pt_witness_open(const char *dir, struct dec_pt_witness **ret);
void dec_pt_witness_close(struct dec_pt_witness *w);

/** @return where its threads were interrupted, for the machine; NULL: there is but one
 * thread, or that is not to be told. */
const struct dec_interrupts *dec_pt_witness_interrupts(const struct dec_pt_witness *w);

/** They are not to be told any more: the replay did not come by one. */
void dec_pt_witness_withdraw(struct dec_pt_witness *w);

/** Begin a check, to be fed by a replay from position 0 on; it is the witness's own, and the
 * next one's end. */
struct err *dec_pt_witness_check(struct dec_pt_witness *w, struct dec_pt_check **ret);

/** @return where the last check found that the ways part, or NULL. */
const struct dec_pt_difference *dec_pt_witness_difference(const struct dec_pt_witness *w);

/** What the last check found: a line for people, a member "pt" for JSON. */
void dec_pt_witness_print(const struct dec_pt_witness *w, FILE *to);
void dec_pt_witness_json(const struct dec_pt_witness *w, cJSON *to);

#endif
