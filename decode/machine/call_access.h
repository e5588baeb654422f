// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a system call accesses of its caller's memory, by its arguments and result: what must be there, and have a value. It
 * is the kernel's interface (the manual pages' section 2), not what was recorded: an output is recorded as large as it can be,
 * and what the kernel reads is not.
 */
#ifndef DECODE_MACHINE_CALL_ACCESS_H
#define DECODE_MACHINE_CALL_ACCESS_H

#include "decode/translator/slots.h"

/** A call that was answered. */
struct dec_call {
	int64_t nr, ret;
	uint64_t arg[6];
	void *ctx;
	/** Copy @p n bytes of memory at @p addr as they are before the call. @return false: they cannot be read. */
	bool (*before)(void *ctx, uint64_t addr, void *buf, size_t n);
	/** .. as they are behind it. */
	bool (*after)(void *ctx, uint64_t addr, void *buf, size_t n);
};

/** More than any call but those of many messages has: two of the kernel's largest vectors. */
#define DEC_CALL_ACCESSES 2112

/** List what @p c accesses, and what it read even if it failed. @return how many, up to @p max. Of calls that are not known
 * (ioctl's, but for a few) none. */
size_t dec_call_accesses(const struct dec_call *c, struct dec_access *ret, size_t max);

#endif
