// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What store probes told last, in bounded memory: records of different sizes, for a probe
 * tells some registers and perhaps some memory. A record lies in one piece; where the end of
 * the ring is too near, a filler takes what is left of it.
 */
#define LOG_ROOM "record"
#include <string.h>

#include "pt-collect/flight/flight.h"
#include "pt-collect/log/writes.h"

struct store_record {
	uint32_t bytes; ///< of all of it, a multiple of 8
	uint32_t tid;	///< 0: a filler, of which there is no more than these two words
	uint64_t at_ns, rip;
	uint64_t heap_before; ///< how many heap events had come
	uint32_t site;
	uint16_t gprs, n_reads;
	// Then the registers of gprs, 8 bytes each; then the reads with their bytes.
};

struct store_read {
	uint64_t addr, size;
	// Then so many bytes, padded to 8.
};

#define PADDED(bytes) (((bytes) + 7) & ~7ull)

_Static_assert(sizeof(struct store_record) % 8 == 0, "so is where each begins");

struct ptc_store_ring {
	uint8_t *data;
	uint64_t bytes;
	/** Of the oldest record, and behind the newest: counted on and on, modulo bytes they
	 * are places in data. */
	uint64_t begin, end;
	uint64_t n_added, n_kept;
};

struct err *ptc_store_ring_create(uint64_t bytes, struct ptc_store_ring **ret)
{
	struct ptc_store_ring *r = calloc(1, sizeof(*r));

	if (!r)
		return &err_nomem;
	r->bytes = bytes & ~7ull;
	r->data = calloc(1, r->bytes + 8);
	if (!r->data) {
		free(r);
		return &err_nomem;
	}
	*ret = r;
	return NULL;
}

void ptc_store_ring_destroy(struct ptc_store_ring *r)
{
	if (!r)
		return;
	free(r->data);
	free(r);
}

static struct store_record *record_at(const struct ptc_store_ring *r, uint64_t at)
{
	return (struct store_record *)(r->data + at % r->bytes);
}

static uint64_t size_of(const struct cap_event *ev)
{
	uint64_t bytes =
		sizeof(struct store_record) + 8 * __builtin_popcount(ev->probe_gprs);

	for (size_t i = 0; i < ev->n_writes; i++)
		bytes += sizeof(struct store_read) + PADDED(ev->writes[i].size);
	return bytes;
}

/** Forget the oldest until there is room for @p bytes more. */
static void make_room(struct ptc_store_ring *r, uint64_t bytes)
{
	while (r->end + bytes - r->begin > r->bytes) {
		const struct store_record *oldest = record_at(r, r->begin);

		r->n_kept -= oldest->tid != 0;
		r->begin += oldest->bytes;
	}
}

static void fill(struct store_record *to, const struct cap_event *ev, uint64_t bytes,
		 uint64_t heap_before)
{
	uint8_t *at = (uint8_t *)(to + 1);

	*to = (struct store_record){ .bytes = bytes,
				     .tid = ev->tid,
				     .at_ns = ev->at_ns,
				     .rip = ev->regs.rip,
				     .heap_before = heap_before,
				     .site = ev->probe_site,
				     .gprs = ev->probe_gprs,
				     .n_reads = ev->n_writes };
	for (int n = 0; n < CAP_GPRS; n++)
		if (ev->probe_gprs >> n & 1) {
			memcpy(at, &ev->regs.gpr[n], 8);
			at += 8;
		}
	for (size_t i = 0; i < ev->n_writes; i++) {
		const struct cap_write *w = &ev->writes[i];
		struct store_read read = { w->addr, w->size };

		memcpy(at, &read, sizeof(read));
		memcpy(at + sizeof(read), w->data, w->size);
		at += sizeof(read) + PADDED(w->size);
	}
}

void ptc_store_ring_add(struct ptc_store_ring *r, const struct cap_event *ev,
			uint64_t heap_before)
{
	uint64_t bytes = size_of(ev), left;

	r->n_added++;
	if (bytes > r->bytes)
		return; // counted as overwritten
	left = r->bytes - r->end % r->bytes;
	if (left < bytes) {
		make_room(r, left);
		*(uint32_t *)(r->data + r->end % r->bytes) = left;
		*(uint32_t *)(r->data + r->end % r->bytes + 4) = 0;
		r->end += left;
	}
	make_room(r, bytes);
	fill(record_at(r, r->end), ev, bytes, heap_before);
	r->end += bytes;
	r->n_kept++;
}

/** The event again. @p reads: what it lends. */
static struct err *unpack(const struct store_record *from, struct ptc_writes *reads,
			  struct cap_event *ev)
{
	const uint8_t *at = (const uint8_t *)(from + 1);

	*ev = (struct cap_event){ .kind = CAP_EV_PROBE,
				  .tid = from->tid,
				  .at_ns = from->at_ns,
				  .regs.rip = from->rip,
				  .probe_site = from->site,
				  .probe_gprs = from->gprs };
	for (int n = 0; n < CAP_GPRS; n++)
		if (from->gprs >> n & 1) {
			memcpy(&ev->regs.gpr[n], at, 8);
			at += 8;
		}
	ptc_writes_clear(reads);
	for (int i = 0; i < from->n_reads; i++) {
		struct store_read read;

		memcpy(&read, at, sizeof(read));
		if (!ptc_writes_add(reads, read.addr, at + sizeof(read), read.size))
			return &err_nomem;
		at += sizeof(read) + PADDED(read.size);
	}
	ptc_writes_give(reads, ev);
	return NULL;
}

struct err *ptc_rings_write(const struct ptc_heap_ring *heap,
			    const struct ptc_store_ring *stores, struct cap_writer *w,
			    struct cap_info *info)
{
	uint64_t next = ptc_heap_ring_oldest(heap, &info->heap_from_ns);
	_cleanup_(ptc_writes_deinit) struct ptc_writes reads = {};
	const struct store_record *rec;
	struct err *err = NULL;

	info->n_overwritten = next;
	info->n_stores_overwritten = stores->n_added - stores->n_kept;
	info->stores_from_ns = 0;
	for (uint64_t at = stores->begin; at < stores->end && !err; at += rec->bytes) {
		struct cap_event ev;

		rec = record_at(stores, at);
		if (!rec->tid)
			continue;
		if (info->n_stores_overwritten && !info->stores_from_ns)
			info->stores_from_ns = rec->at_ns;
		err = ptc_heap_ring_write(heap, &next, rec->heap_before, w);
		if (!err)
			err = unpack(rec, &reads, &ev);
		if (!err)
			err = cap_writer_event(w, &ev);
	}
	return err ?: ptc_heap_ring_write(heap, &next, UINT64_MAX, w);
}
