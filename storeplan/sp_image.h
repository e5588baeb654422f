// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * An ELF file as the analysis needs it: where functions begin, the code's bytes, what
 * memory is constant once the program runs, and which calls do not come back as others do.
 * Addresses are those of the file (a load bias of 0).
 */
#ifndef STOREPLAN_SP_IMAGE_H
#define STOREPLAN_SP_IMAGE_H

#include "base/base.h"

/** A stretch of code from one known beginning to the next. */
struct sp_range {
	uint64_t start, end;
	const char *name; ///< NULL when no symbol says; the image's
	bool is_cold;	  ///< a part that the compiler moved out of its function
	uint32_t owner;	  ///< which function it is part of, as the index of another range
};

enum sp_callee {
	SP_CALLEE_PLAIN,
	SP_CALLEE_NEVER_RETURNS,
	SP_CALLEE_RETURNS_TWICE, ///< setjmp, vfork: registers may be those of another time
};

struct sp_image;

/** Read @p path. @return ERR_NOT_FOUND, ERR_OS, ERR_FORMAT (no x86-64 ELF file with
 * section headers). */
struct err *sp_image_open(const char *path, struct sp_image **ret);
void sp_image_close(struct sp_image *m);
void sp_image_closep(struct sp_image **m);

/** @return the ranges, ascending. */
struct sp_range *sp_image_ranges(const struct sp_image *m, size_t *n);

/** @return the range that holds @p addr; SIZE_MAX: none. */
size_t sp_image_range_at(const struct sp_image *m, uint64_t addr);

/** @return the file's bytes at @p addr, NULL when there are none; @p avail says how many
 * follow. */
const uint8_t *sp_image_bytes(const struct sp_image *m, uint64_t addr, size_t *avail);

/** @return whether no instruction of a running program changes [addr, addr+size). */
bool sp_image_is_constant(const struct sp_image *m, uint64_t addr, uint64_t size);

/** @return where @p addr lies in the file, 0 when nowhere. */
uint64_t sp_image_offset(const struct sp_image *m, uint64_t addr);

/** What a call to @p target (0: through the pointer at @p slot) does. */
enum sp_callee sp_image_callee(const struct sp_image *m, uint64_t target, uint64_t slot);

/** Note that calls to @p target do not come back. */
struct err *sp_image_never_returns(struct sp_image *m, uint64_t target);

/** Addresses that relocations put into data, ascending. */
const uint64_t *sp_image_pointers(const struct sp_image *m, size_t *n);

#endif
