// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What tests of the decoder share: the bytes of one thread decoded, and the instruction that
 * follows another one.
 */
#ifndef TESTS_DECODE_PT_BYTES_H
#define TESTS_DECODE_PT_BYTES_H

#include "decode/pt/decode.h"

/* Decode @p n bytes of one thread, by the calling thread alone. */
static inline struct err *pt_decode_bytes(const uint8_t *bytes, size_t n,
					  struct dec_pt_image *image,
					  const struct dec_pt_sink *sink,
					  struct dec_pt_totals *ret)
{
	struct dec_pt_decode_options o = { .n_threads = 1 };
	struct dec_pt_stream s;
	struct err *err = dec_pt_stream_init(&s, 0, image);

	if (!err)
		err = dec_pt_stream_add(&s, bytes, n, NULL);
	if (!err)
		err = dec_pt_decode(&s, &o, sink, ret);
	dec_pt_stream_deinit(&s);
	return err;
}

/* The instruction behind the one at @p rip, as dec_pt_image_behind() says; known ones are not
 * decoded again. */
static inline struct err *pt_next(const struct dec_pt_image *im, uint64_t rip,
				  uint64_t *ret)
{
	static struct {
		const struct dec_pt_image *image;
		size_t n_applied;
		struct map next;
	} known;
	struct dec_insn insn;
	const uint64_t *next;
	struct err *err;

	if (known.image != im || known.n_applied != im->n_applied)
		map_deinit(&known.next);
	known.image = im;
	known.n_applied = im->n_applied;
	next = map_get(&known.next, rip);
	if (next) {
		*ret = *next;
		return NULL;
	}
	err = dec_pt_image_insn(im, im->n_applied, rip, &insn);
	if (err)
		return err;
	*ret = dec_pt_image_behind(&insn);
	return map_put(&known.next, rip, *ret) ? &err_nomem : NULL;
}

#endif
