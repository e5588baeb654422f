// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <stdlib.h>

#include "decode/machine/log.h"
#include "faultlocate/slice/pieces.h"

/** The run, a bit a step. */
struct marks {
	uint64_t end;
	uint64_t *kept;	  ///< executed
	uint64_t *kernel; ///< what is before this step, or it itself, is the kernel's
	uint64_t first_event;
	bool has_begun;
	struct log_reader reader;
};

static bool bit(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void keep(struct marks *m, uint64_t at)
{
	if (at < m->end)
		m->kept[at / 64] |= 1ull << at % 64;
}

/* At step @p at, or before it, the kernel comes. */
static void mark(struct marks *m, uint64_t at)
{
	if (at < m->end)
		m->kernel[at / 64] |= 1ull << at % 64;
	if (at < m->first_event)
		m->first_event = at;
}

/* The last step before what comes between two is executed: it then comes by itself, as it did. */
static void keep_before(struct marks *m, uint64_t at)
{
	if (at)
		keep(m, at - 1);
	if (at)
		mark(m, at - 1);
}

static struct err *on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct marks *m = ctx;

	if (rec->id == DEC_REC_SYSCALL || (rec->id == DEC_REC_STATE && rec->value[18])) {
		keep(m, time);
		mark(m, time);
	} else if (rec->id == DEC_REC_STATE && (rec->value[20] == DEC_STATE_SIGNAL ||
						rec->value[20] == DEC_STATE_REP)) {
		keep_before(m, time);
	} else if (rec->id == DEC_REC_THREAD) {
		// The first one only says who runs.
		if (m->has_begun)
			keep_before(m, time);
		m->has_begun = true;
	}
	return NULL;
}

static struct err *on_log(void *ctx, const uint8_t *log, size_t bytes)
{
	struct marks *m = ctx;
	const struct log_sink sink = { .ctx = m, .other = on_other };

	return dec_log_reader_feed(&m->reader, &sink, log, bytes);
}

static struct err *mark_kernel(struct dec_machine *machine, struct marks *m)
{
	struct dec_where w;
	struct err *err;

	dec_log_reader_init(&m->reader, DEC_LOG_JUMPS, 0);
	err = dec_machine_run_logged(machine, DEC_LOG_JUMPS, on_log, m, m->end, &w);
	dec_log_reader_deinit(&m->reader);
	return err;
}

/* The pieces of at least @p least steps. @return ERR_RANGE: more than @p most. */
static struct err *cut(const struct marks *m, uint64_t least, size_t most,
		       struct pieces *ret)
{
	struct err *err = NULL;

	ret->list.size = 0;
	for (uint64_t at = 0, from; at < m->end && !err; at++) {
		struct piece piece;

		if (bit(m->kept, at)) {
			if (bit(m->kernel, at) && ret->list.size)
				ret->list.data[ret->list.size - 1].is_before_kernel =
					true;
			continue;
		}
		for (from = at; at < m->end && !bit(m->kept, at);)
			at++;
		if (at - from < least)
			continue;
		piece = (struct piece){ .from = from, .to = at-- };
		err = ret->list.size == most ? err_new(ERR_RANGE, "too many pieces") :
					       vec_add(&ret->list, piece);
	}
	return err;
}

struct err *fl_pieces_find(struct dec_machine *machine, const struct fl_slice *s,
			   uint64_t end, uint64_t least, size_t most, struct pieces *ret)
{
	struct marks m = { .end = end, .first_event = UINT64_MAX };
	struct err *err;

	m.kept = calloc(end / 64 + 1, 8);
	m.kernel = calloc(end / 64 + 1, 8);
	err = m.kept && m.kernel ? mark_kernel(machine, &m) : &err_nomem;
	for (uint64_t at = 0; at < end && !err; at++) {
		if (!fl_slice_has(s, at, 0))
			continue;
		keep(&m, at);
		ret->n_slice++;
	}
	ret->first_event = m.first_event;
	for (least = least ?: 1; !err; least *= 2) {
		err = cut(&m, least, most, ret);
		if (!err || err->code != ERR_RANGE)
			break;
		err_destroy(take_ptr(&err));
	}
	free(m.kept);
	free(m.kernel);
	return err;
}

void fl_pieces_deinit(struct pieces *p)
{
	vec_deinit(&p->list);
}
