// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The guest's memory, read-only while a question is asked: what is stored to meanwhile is found by
 * its fault. Most of it stays so until the next question: what is stored to between the two is
 * opened by the handler of faults, a piece at a time, and to close that again is all that the next
 * one costs. Closing all costs 50 ns for each page there is, and as much again to open it.
 *
 * At most one guest a process has closed memory; nobody else may be told of faults and mappings
 * then (heed.h, rollback.h): dec_closed_can().
 */
#ifndef DECODE_MACHINE_CLOSED_H
#define DECODE_MACHINE_CLOSED_H

#include "decode/machine/guest.h"

/** @return whether nobody else is told of faults and of changes to the mappings of @p g. */
bool dec_closed_can(const struct dec_guest *g);

/** A question begins: nothing of @p g may be stored to, and each store is a fault of the guest's. Code stays as it is,
 * which is read-only anyway. Only if dec_closed_can().
 *
 * @return false: the kernel refused. dec_closed_end() is due all the same. */
bool dec_closed_begin(struct dec_guest *g);

/** During a question: @p page may be stored to. @return false: the kernel refused. */
bool dec_closed_open(uint64_t page);

/** The question is answered. @return false: some memory cannot be stored to any more. */
bool dec_closed_end(const struct dec_guest *g);

/** All of @p g may be stored to, and somebody else may be told of faults; nothing if none of it is closed. */
void dec_closed_drop(struct dec_guest *g);

#endif
