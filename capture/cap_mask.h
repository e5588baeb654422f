// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Values that must not be in a capture, looked for in all that is written. What is found gets
 * x's in its place, as many, so that nothing moves and a replay finds the same everywhere.
 * Found is a whole value, wherever it stands, and a piece of CAP_MASK_PIECE bytes or more (what
 * is left of a copy that something overwrote in part). Where data ends that goes on elsewhere,
 * in the next read, shorter pieces are taken for the value's, too: cap_mask_data().
 *
 * One pass for all values: each aligned word of 4 bytes is looked up among those of the values,
 * and what it is found in is compared to both sides.
 *
 * Not found is a value in another form: encoded, encrypted; nor one that comes byte by byte, which
 * the writer counts.
 */
#ifndef CAPTURE_CAP_MASK_H
#define CAPTURE_CAP_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/** Shorter values are not looked for: other data would have them by chance. */
#define CAP_MASK_MIN 8
#define CAP_MASK_PIECE 16

struct cap_mask;

/** @return one without values, for cap_mask_destroy(); NULL when memory is out. */
struct cap_mask *cap_mask_create(void);
void cap_mask_destroy(struct cap_mask *m);

/** Look for @p value, a text of CAP_MASK_MIN bytes or more, from now on. One that is known
 * already is not taken twice. @return NULL or ERR_NOMEM. */
struct err *cap_mask_add(struct cap_mask *m, const char *value);

/** Something was written: values that are added from now on may be in that. */
void cap_mask_begin(struct cap_mask *m);

/** What was written is gone again, but for bundles of followed processes, if there are any:
 * cap_mask_share(). */
void cap_mask_restart(struct cap_mask *m);
void cap_mask_share(struct cap_mask *m);

/** @return whether a value was added so late. */
bool cap_mask_is_late(const struct cap_mask *m);

/** @return whether there is anything to look for; @p m may be NULL. */
bool cap_mask_is_on(const struct cap_mask *m);

/** Mask the @p size bytes at @p data, which are by themselves. @return places masked. */
size_t cap_mask_bytes(const struct cap_mask *m, void *data, size_t size);

/** The same of data that may go on from what was before, and in what comes. */
size_t cap_mask_data(const struct cap_mask *m, void *data, size_t size);

/** Mask those of @p n registers, or words of vector registers, that hold 8 bytes of a value
 * (its terminating NUL may be one): a copy on its way. */
void cap_mask_words(const struct cap_mask *m, uint64_t *words, size_t n);

/** A long stretch of data that is masked piece by piece. Zeroed before. */
struct cap_mask_stream {
	const struct cap_mask *mask;
	uint8_t *data;	   ///< what there is of it; the caller adds behind size
	size_t size;	   ///< bytes held
	bool takes_whole;  ///< values only, no pieces
	uint64_t n_masked; ///< places so far
};

/** @return room for @p size more bytes of the stretch behind what is held, until the next
 * call; the caller fills it and adds to s->size. NULL: memory is out. */
uint8_t *cap_mask_stream_room(struct cap_mask_stream *s, size_t size);

/** Mask what is held. @return how many bytes at s->data are done; the rest is needed for what
 * follows. @p is_last: nothing follows. The caller takes these bytes, then calls
 * cap_mask_stream_drop() with their number. */
size_t cap_mask_stream_do(struct cap_mask_stream *s, bool is_last);
void cap_mask_stream_drop(struct cap_mask_stream *s, size_t size);
void cap_mask_stream_deinit(struct cap_mask_stream *s);

/** Mask the whole of file @p fd, from offset 0. @p n: places. @return NULL, ERR_OS or ERR_NOMEM. */
struct err *cap_mask_file(const struct cap_mask *m, int fd, uint64_t *n);

/** Only count the whole values in file @p fd: what a program's code has for itself may well have
 * a piece in common with one. @return as cap_mask_file(). */
struct err *cap_mask_count(const struct cap_mask *m, int fd, uint64_t *n);

#endif
