// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Programs, recorded, replayed and encoded in several shapes at once.
 */
#ifndef TESTS_DECODE_PT_PROGRAM_H
#define TESTS_DECODE_PT_PROGRAM_H

#include <string.h>

#include "capture/capture.h"
#include "decode/pt/encode.h"
#include "decode/machine/machine.h"
#include "tests/decode/pt_truth.h"

/** One thread's packets. */
struct stream {
	uint32_t tid;
	VEC(uint8_t) bytes;
	struct dec_pt_image image;
	struct dec_pt_stats stats;
};

/** All threads' packets, written one way. */
struct encoding {
	struct dec_pt_options options;
	const struct capture *capture;
	const struct truth *truth;
	struct dec_pt_encoder *encoder;
	VEC(struct stream) streams;
	VEC(struct dec_pt_mapping) mappings;
};

/* ---- one encoding ------------------------------------------------------------------------- */

static inline struct stream *encoding_stream(struct encoding *e, uint32_t tid)
{
	struct stream *s;

	for (size_t i = 0; i < e->streams.size; i++) {
		if (e->streams.data[i].tid == tid)
			return &e->streams.data[i];
	}
	s = vec_push(&e->streams);
	assert_non_null(s);
	s->tid = tid;
	ok(dec_pt_image_init(&s->image, e->capture));
	for (size_t i = 0; i < e->mappings.size; i++) {
		const struct dec_pt_mapping *m = &e->mappings.data[i];

		ok(dec_pt_image_map(&s->image, m->file, m->addr, m->size, m->file_offset,
				    0));
	}
	return s;
}

static inline struct err *encoding_write(void *ctx, uint32_t tid, const uint8_t *bytes,
					 size_t n)
{
	struct stream *s = encoding_stream(ctx, tid);

	if (vec_reserve(&s->bytes, s->bytes.size + n))
		return &err_nomem;
	memcpy(s->bytes.data + s->bytes.size, bytes, n);
	s->bytes.size += n;
	return NULL;
}

/* The file is there for each thread from where its stream is now. */
static inline struct err *encoding_map(void *ctx, const struct dec_pt_mapping *m)
{
	struct encoding *e = ctx;
	struct dec_pt_mapping *kept;

	for (size_t i = 0; i < e->truth->threads.size; i++) {
		uint32_t tid = e->truth->threads.data[i].tid;
		const struct dec_pt_stats *stats = dec_pt_encoder_stats(e->encoder, tid);

		if (stats)
			ok(dec_pt_image_map(&encoding_stream(e, tid)->image, m->file,
					    m->addr, m->size, m->file_offset,
					    stats->bytes));
	}
	kept = vec_push(&e->mappings);
	assert_non_null(kept);
	*kept = *m;
	return NULL;
}

static inline void encoding_start(struct encoding *e, const struct capture *c,
				  const struct truth *truth,
				  const struct dec_pt_options *o)
{
	*e = (struct encoding){ .options = *o, .capture = c, .truth = truth };
	e->options.map = encoding_map;
	ok(dec_pt_encoder_create(c, &e->options, encoding_write, e, &e->encoder));
}

static inline void encoding_end(struct encoding *e, uint64_t rip)
{
	ok(dec_pt_encoder_finish(e->encoder, rip));
	for (size_t i = 0; i < e->streams.size; i++) {
		struct stream *s = &e->streams.data[i];

		s->stats = *dec_pt_encoder_stats(e->encoder, s->tid);
		assert_int_equal(s->stats.bytes, s->bytes.size);
	}
	dec_pt_encoder_destroy(e->encoder);
	e->encoder = NULL;
}

/* The whole run in one shape. */
static inline void encoding_make(struct encoding *e, const struct capture *c,
				 const struct truth *truth,
				 const struct dec_pt_options *o)
{
	struct dec_machine *m;
	struct dec_where w;

	encoding_start(e, c, truth, o);
	ok(dec_machine_create(c, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, dec_pt_encoder_feed, e->encoder));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	// Stopping the log brings its last piece.
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	encoding_end(e, w.rip);
	dec_machine_destroy(m);
}

static inline void encoding_deinit(struct encoding *e)
{
	for (size_t i = 0; i < e->streams.size; i++) {
		vec_deinit(&e->streams.data[i].bytes);
		dec_pt_image_deinit(&e->streams.data[i].image);
	}
	vec_deinit(&e->streams);
	vec_deinit(&e->mappings);
}

/* ---- a program ---------------------------------------------------------------------------- */

enum { SHAPES = 4 };

static const struct dec_pt_options shapes[SHAPES] = {
	{ .psb_bytes = 4096, .compresses_returns = true },
	{ .psb_bytes = 4096, .compresses_returns = false, .has_tsc = true },
	{ .psb_bytes = 65536, .compresses_returns = false },
	{ .psb_bytes = 65536, .compresses_returns = true, .has_tsc = true },
};

struct program {
	const char *name;
	struct capture *capture;
	struct truth truth;
	int n_shapes;
	struct encoding encoding[SHAPES];
};

/* Run @p command, which may name $TMPDIR and $BUILD, under the recorder. */
static inline void program_record(struct program *p, const char *name,
				  const char *command, int n_shapes)
{
	_cleanup_free_ char *dir = NULL;

	*p = (struct program){ .name = name, .n_shapes = n_shapes };
	assert_true(asprintf(&dir, "%s/%s", unit_env("TMPDIR"), name) > 0);
	assert_int_equal(unit_run("%s record -o %s -- %s >/dev/null",
				  unit_env("FAULTLINE"), dir, command),
			 0);
	ok(capture_open(dir, &p->capture));
}

static inline struct err *program_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct program *p = ctx;
	struct err *err = truth_feed(&p->truth, log, bytes);

	for (int i = 0; !err && i < p->n_shapes; i++)
		err = dec_pt_encoder_feed(p->encoding[i].encoder, log, bytes);
	return err;
}

/* Replay it to its end, and encode that in the first n_shapes shapes. */
static inline void program_encode(struct program *p)
{
	struct dec_machine *m;
	struct dec_where w;

	truth_init(&p->truth);
	for (int i = 0; i < p->n_shapes; i++)
		encoding_start(&p->encoding[i], p->capture, &p->truth, &shapes[i]);
	ok(dec_machine_create(p->capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, program_feed, p));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	// Stopping the log brings its last piece.
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	if (w.at != DEC_AT_END)
		fail_msg("%s: %s", p->name, dec_machine_divergence(m));
	assert_int_equal(truth_position(&p->truth), w.position);
	for (int i = 0; i < p->n_shapes; i++)
		encoding_end(&p->encoding[i], w.rip);
	dec_machine_destroy(m);
}

static inline void program_deinit(struct program *p)
{
	for (int i = 0; i < p->n_shapes; i++)
		encoding_deinit(&p->encoding[i]);
	truth_deinit(&p->truth);
	capture_close(p->capture);
}

#endif
