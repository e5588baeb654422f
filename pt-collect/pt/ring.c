// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reading a ring of the kernel's.
 *
 *   full trace   0 ... tail (ours, all before it is read) ... head (the kernel's) ...
 *                both only grow; place in memory = remainder by the size
 *   snapshot     the kernel writes round and round and never asks: head is the place where
 *                it goes on. Whether it has been round once shows at the end of the area,
 *                which is zeros until then; the oldest byte is then the one at head.
 */
#define LOG_ROOM "record"
#include <assert.h>
#include <string.h>

#include "pt-collect/pt/ring.h"

#define RECORD_MAX 65536u /* sizes have 16 bits */
#define PSB_BYTES 16u
/** PT writes no 4 KiB of zeros (PADs) in a row; perf relies on that, too. */
#define TRACE_OF_WRAP 4096u

static const uint8_t psb[PSB_BYTES] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };

/* ---- records ---------------------------------------------------------------------------- */

/** The record at @p tail, through @p buf where it goes round the end. @return NULL when there
 * is none of @p left bytes. */
static const struct perf_event_header *record_at(const struct ptc_ring *r, uint64_t tail,
						 uint64_t left, uint8_t *buf)
{
	uint64_t at = tail & (r->data_bytes - 1), first = r->data_bytes - at;
	struct perf_event_header h;

	if (left < sizeof(h) || tail % 8)
		return NULL;
	// Records are multiples of 8 bytes: a header is never cut.
	memcpy(&h, r->data + at, sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > left)
		return NULL;
	if (h.size <= first)
		return (const struct perf_event_header *)(r->data + at);
	memcpy(buf, r->data + at, first);
	memcpy(buf + first, r->data, h.size - first);
	return (const struct perf_event_header *)buf;
}

void ptc_ring_drain(struct ptc_ring *r,
		    bool (*take)(void *ctx, const struct perf_event_header *rec),
		    void *ctx)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;
	uint64_t buf[RECORD_MAX / 8];
	bool goes_on = true;

	assert(r->data_bytes && !(r->data_bytes & (r->data_bytes - 1)));
	while (goes_on && tail != head) {
		const struct perf_event_header *rec = NULL;
		uint64_t size;

		if (head - tail <= r->data_bytes)
			rec = record_at(r, tail, head - tail, (uint8_t *)buf);
		if (!rec) {
			// Where the next one begins nobody knows: all of it is lost.
			r->n_damaged++;
			tail = head;
			break;
		}
		// Read once: in shared memory it might become another one.
		size = rec->size;
		goes_on = take(ctx, rec);
		tail += size;
		__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* ---- AUX -------------------------------------------------------------------------------- */

const uint8_t *ptc_ring_piece(const struct ptc_ring *r, uint64_t offset, uint64_t bytes,
			      size_t *ret)
{
	uint64_t at = offset % r->aux_bytes, left = r->aux_bytes - at;

	*ret = bytes < left ? bytes : left;
	return r->aux + at;
}

void ptc_ring_drain_aux(struct ptc_ring *r,
			bool (*take)(void *ctx, uint64_t offset, const uint8_t *data,
				     size_t bytes),
			void *ctx)
{
	uint64_t head = __atomic_load_n(&r->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->aux_tail, at;

	assert(!r->is_overwriting);
	if (head - tail > r->aux_bytes) {
		r->n_overrun += head - tail - r->aux_bytes;
		tail = head - r->aux_bytes;
	}
	for (at = tail; at != head;) {
		size_t n;
		const uint8_t *piece = ptc_ring_piece(r, at, head - at, &n);

		if (!take(ctx, at, piece, n))
			return;
		at += n;
	}
	__atomic_store_n(&r->page->aux_tail, at, __ATOMIC_RELEASE);
}

/** Has the kernel been at the end of the area? */
static bool has_wrapped(const struct ptc_ring *r, uint64_t head)
{
	uint64_t n = r->aux_bytes < TRACE_OF_WRAP ? r->aux_bytes : TRACE_OF_WRAP;

	if (head >= r->aux_bytes)
		return true;
	for (uint64_t i = r->aux_bytes - n; i < r->aux_bytes; i++)
		if (i >= head && r->aux[i])
			return true;
	return false;
}

/** How many bytes from @p offset on there is a PSB; @p bytes when there is none. */
static uint64_t find_psb(const struct ptc_ring *r, uint64_t offset, uint64_t bytes)
{
	uint8_t seam[2 * (PSB_BYTES - 1)];
	const uint8_t *piece, *found;
	size_t n;

	for (uint64_t done = 0; done < bytes; done += n) {
		uint64_t from, k;

		piece = ptc_ring_piece(r, offset + done, bytes - done, &n);
		found = memmem(piece, n, psb, PSB_BYTES);
		if (found)
			return done + (found - piece);
		// Across the end of the area: the last bytes of it, and the first.
		from = done + n < PSB_BYTES ? 0 : done + n - PSB_BYTES + 1;
		for (k = 0; k < sizeof(seam) && from + k < bytes; k++)
			seam[k] = r->aux[(offset + from + k) % r->aux_bytes];
		found = memmem(seam, k, psb, PSB_BYTES);
		if (found)
			return from + (found - seam);
	}
	return bytes;
}

struct ptc_aux_window ptc_ring_window(const struct ptc_ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->aux_head, __ATOMIC_ACQUIRE), skipped;
	struct ptc_aux_window w = { .has_wrapped = has_wrapped(r, head) };

	// A place in the area becomes one in a stream: as if it had been round once.
	if (w.has_wrapped && head < r->aux_bytes)
		head += r->aux_bytes;
	w.bytes = w.has_wrapped ? r->aux_bytes : head;
	w.offset = head - w.bytes;
	skipped = find_psb(r, w.offset, w.bytes);
	w.has_psb = skipped < w.bytes;
	if (w.has_psb) {
		w.offset += skipped;
		w.bytes -= skipped;
	}
	return w;
}
