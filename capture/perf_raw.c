// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/perf_raw.h"

#include <string.h>

#include "capture/cap_format.h"

struct err *perf_raw_init(struct perf_raw *r, int fd, uint64_t begin, uint64_t end)
{
	*r = (struct perf_raw){ .fd = fd, .begin = begin, .end = end };
	r->window = malloc(PERF_WINDOW_BYTES);
	perf_raw_rewind(r);
	return r->window ? NULL : &err_nomem;
}

void perf_raw_deinit(struct perf_raw *r)
{
	ZSTD_freeDCtx(r->zstd);
	free(r->window);
	free(r->packed);
	free(r->unpacked);
	*r = (struct perf_raw){};
}

void perf_raw_rewind(struct perf_raw *r)
{
	r->at = r->last = r->begin;
	r->window_bytes = 0;
	r->unpacked_at = r->unpacked_end = r->n_unpacked = 0;
	r->in = (ZSTD_inBuffer){};
	r->has_more = false;
	if (r->zstd)
		ZSTD_DCtx_reset(r->zstd, ZSTD_reset_session_only);
}

/* ---- from the file --------------------------------------------------------------------- */

/* Have @p n bytes at r->at in the window; the caller knows that the data has so many. */
static struct err *window_fill(struct perf_raw *r, size_t n, const uint8_t **ret)
{
	uint64_t behind = r->window_at + r->window_bytes, want = PERF_WINDOW_BYTES;
	struct err *err;

	if (r->at >= r->window_at && r->at <= behind && n <= behind - r->at) {
		*ret = r->window + (r->at - r->window_at);
		return NULL;
	}
	// Between pieces of PT data there are few records.
	if (r->at > behind || !r->window_bytes)
		want = n > 4096 ? n : 4096;
	if (want > r->end - r->at)
		want = r->end - r->at;
	r->window_bytes = 0;
	err = cap_read_at(r->fd, r->at, r->window, want, "its data");
	if (err)
		return err;
	r->window_at = r->at;
	r->window_bytes = want;
	*ret = r->window;
	return NULL;
}

static struct err *file_next(struct perf_raw *r, const uint8_t **ret, size_t *bytes)
{
	struct perf_rec head;
	struct err *err;

	*ret = NULL;
	r->last = r->at;
	if (r->at == r->end)
		return NULL;
	if (r->end - r->at < sizeof(head))
		return err_new(ERR_TRUNCATED, "it ends within a record");
	err = window_fill(r, sizeof(head), ret);
	if (err)
		return err;
	memcpy(&head, *ret, sizeof(head));
	if (head.size < sizeof(head))
		return err_new(ERR_FORMAT, "a record of %u bytes", head.size);
	if (head.size > r->end - r->at)
		return err_new(ERR_TRUNCATED, "it ends within a record");
	err = window_fill(r, head.size, ret);
	*bytes = head.size;
	r->at += head.size;
	return err;
}

struct err *perf_raw_skip(struct perf_raw *r, uint64_t n, uint64_t *at)
{
	if (r->is_unpacked)
		return err_new(ERR_FORMAT, "PT data in a compressed record");
	if (n > r->end - r->at)
		return err_new(ERR_TRUNCATED, "it ends within PT data");
	*at = r->at;
	r->at += n;
	return NULL;
}

/* ---- unpacked -------------------------------------------------------------------------- */

static struct err *unpack_begin(struct perf_raw *r, const uint8_t *rec, size_t bytes)
{
	size_t head = sizeof(struct perf_rec);
	struct perf_rec rec_head;
	uint64_t size;

	memcpy(&rec_head, rec, sizeof(rec_head));
	if (!r->zstd) {
		r->zstd = ZSTD_createDCtx();
		r->packed = malloc(UINT16_MAX);
		r->unpacked = malloc(PERF_WINDOW_BYTES);
	}
	if (!r->zstd || !r->packed || !r->unpacked)
		return &err_nomem;
	size = bytes - head;
	if (rec_head.type == PERF_TYPE_COMPRESSED2) {
		if (size < sizeof(size))
			return err_new(ERR_FORMAT, "a compressed record is too short");
		memcpy(&size, rec + head, sizeof(size));
		head += sizeof(size);
		if (size > bytes - head)
			return err_new(ERR_FORMAT, "a compressed record is too short");
	}
	memcpy(r->packed, rec + head, size);
	r->in = (ZSTD_inBuffer){ r->packed, size, 0 };
	r->has_more = true;
	return NULL;
}

/* Unpack on, keeping what was not taken yet. */
static struct err *unpack_more(struct perf_raw *r)
{
	size_t kept = r->unpacked_end - r->unpacked_at, status;
	ZSTD_outBuffer out = { r->unpacked, PERF_WINDOW_BYTES, kept };

	memmove(r->unpacked, r->unpacked + r->unpacked_at, kept);
	r->unpacked_at = 0;
	r->unpacked_end = kept;
	status = ZSTD_decompressStream(r->zstd, &out, &r->in);
	if (ZSTD_isError(status))
		return err_new(ERR_FORMAT, "a compressed record is damaged: %s",
			       ZSTD_getErrorName(status));
	r->unpacked_end = out.pos;
	r->n_unpacked += out.pos - kept;
	if (r->n_unpacked > CAP_RECORDS_FREE + (r->at - r->begin) * CAP_RECORDS_RATIO)
		return err_new(ERR_FORMAT,
			       "its compressed records take more than 256 times its "
			       "bytes");
	r->has_more = out.pos == out.size || r->in.pos < r->in.size;
	return NULL;
}

/* A whole record of what is unpacked; *ret is NULL when there is none. */
static struct err *unpacked_next(struct perf_raw *r, const uint8_t **ret, size_t *bytes)
{
	size_t left = r->unpacked_end - r->unpacked_at;
	struct perf_rec head;

	*ret = NULL;
	if (left < sizeof(head))
		return NULL;
	memcpy(&head, r->unpacked + r->unpacked_at, sizeof(head));
	if (head.size < sizeof(head))
		return err_new(ERR_FORMAT, "a record of %u bytes in a compressed one",
			       head.size);
	if (head.size > left)
		return NULL;
	*ret = r->unpacked + r->unpacked_at;
	*bytes = head.size;
	r->unpacked_at += head.size;
	return NULL;
}

struct err *perf_raw_next(struct perf_raw *r, const uint8_t **ret, size_t *bytes)
{
	for (;;) {
		struct err *err = unpacked_next(r, ret, bytes);
		struct perf_rec head;

		r->is_unpacked = *ret;
		if (err || *ret)
			return err;
		if (r->has_more) {
			err = unpack_more(r);
			if (err)
				return err;
			continue;
		}
		err = file_next(r, ret, bytes);
		if (!err && !*ret && r->unpacked_end != r->unpacked_at)
			return err_new(ERR_TRUNCATED,
				       "it ends within a compressed record");
		if (err || !*ret)
			return err;
		memcpy(&head, *ret, sizeof(head));
		if (head.type != PERF_TYPE_COMPRESSED &&
		    head.type != PERF_TYPE_COMPRESSED2)
			return NULL;
		err = unpack_begin(r, *ret, *bytes);
		if (err)
			return err;
	}
}
