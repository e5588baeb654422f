// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/dec_pt_decode.h"

#include <intel-pt.h>
#include <string.h>

enum { PT_PSB_BYTES = 16 };

// What libipt may keep mapped of the image, block caches included.
#define PT_CACHE_BYTES (1ull << 30)

struct ptd {
	const uint8_t *bytes;
	size_t n;
	const struct dec_pt_sink *sink;
	struct dec_pt_image *image;
	size_t n_added; ///< mappings of the image that libipt has
	struct pt_image_section_cache *cache;
	struct pt_block_decoder *libipt;
	uint64_t begun_at;    ///< the last PSB that decoding began at or went across
	uint64_t begun_insns; ///< decoded when it went across that
	uint64_t synced_at;   ///< the PSB that it began at
	uint64_t idle_offset;
	uint64_t idle_insns; ///< since the decoder was elsewhere than at idle_offset
	uint64_t ip;
	struct dec_pt_totals totals;
};

/* ---- the image -------------------------------------------------------------------------- */

static struct err *ptd_add(struct ptd *d, const struct dec_pt_map *m)
{
	int isid, status;

	if (!m->data)
		return NULL; // nothing of the file lies there
	isid = pt_iscache_add_file(d->cache, m->path, m->file_offset, m->data_bytes,
				   m->addr);
	if (isid < 0)
		return err_new(ERR_UNSUPPORTED, "cannot decode code of '%s': %s", m->path,
			       pt_errstr(pt_errcode(isid)));
	status = pt_image_add_cached(pt_blk_get_image(d->libipt), d->cache, isid, NULL);
	return status < 0 ? err_new(ERR_UNSUPPORTED, "cannot decode code of '%s': %s",
				    m->path, pt_errstr(pt_errcode(status))) :
			    NULL;
}

/* Code is only ever mapped by a system call, so that it is enough to look whenever tracing
 * begins again. */
static struct err *ptd_apply(struct ptd *d, uint64_t at)
{
	size_t want = dec_pt_image_apply(d->image, at);
	struct err *err = NULL;

	while (!err && d->n_added < want)
		err = ptd_add(d, &d->image->maps.data[d->n_added++]);
	return err;
}

/* ---- damage ------------------------------------------------------------------------------ */

/* @return the first PSB at or behind @p from; the stream's end when there is none. */
static uint64_t ptd_find_psb(const struct ptd *d, uint64_t from)
{
	static const uint8_t psb[PT_PSB_BYTES] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
						   2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	const uint8_t *at;

	if (from >= d->n)
		return d->n;
	at = memmem(d->bytes + from, d->n - from, psb, sizeof(psb));
	return at ? (uint64_t)(at - d->bytes) : d->n;
}

static uint64_t ptd_offset(const struct ptd *d)
{
	uint64_t at = d->begun_at;

	return pt_blk_get_offset(d->libipt, &at) < 0 ? d->begun_at : at;
}

static struct err *ptd_gap(struct ptd *d, enum dec_pt_gap_kind kind, uint64_t from,
			   uint64_t to, uint64_t ip, const char *why)
{
	struct dec_pt_gap gap = { kind, from, to, ip, why };

	d->totals.gaps++;
	return d->sink->gap ? d->sink->gap(d->sink->ctx, &gap) : NULL;
}

/* ---- events and runs ---------------------------------------------------------------------- */

static struct err *ptd_on_event(struct ptd *d, const struct pt_event *ev)
{
	uint64_t at = ptd_offset(d), sync;
	struct err *err = NULL;

	if (ev->status_update && pt_blk_get_sync_offset(d->libipt, &sync) >= 0 &&
	    d->begun_at != sync) {
		d->begun_at = sync;
		d->begun_insns = d->totals.instructions;
	}
	if (ev->type == ptev_enabled) {
		err = ptd_apply(d, at);
		if (!err && d->sink->enabled)
			err = d->sink->enabled(d->sink->ctx, ev->variant.enabled.ip);
	} else if (ev->type == ptev_overflow) {
		err = ptd_apply(d, at);
		d->totals.overflows++;
		if (!err)
			err = ptd_gap(d, DEC_PT_GAP_OVERFLOW, at, at,
				      ev->ip_suppressed ? 0 : ev->variant.overflow.ip,
				      "the tracer lost packets");
	}
	return err;
}

static struct err *ptd_on_run(struct ptd *d, const struct pt_block *b)
{
	struct dec_pt_run run = { b->ip, b->end_ip, b->ninsn };
	uint64_t at;

	d->ip = b->end_ip;
	if (!b->ninsn)
		return NULL;
	at = ptd_offset(d);
	d->idle_insns = at == d->idle_offset ? d->idle_insns + b->ninsn : 0;
	d->idle_offset = at;
	d->totals.runs++;
	d->totals.instructions += b->ninsn;
	return d->sink->run ? d->sink->run(d->sink->ctx, &run) : NULL;
}

/* Decode from one PSB until something is wrong. @p status: libipt's, < 0. */
static struct err *ptd_segment(struct ptd *d, int *status)
{
	struct pt_block block;
	struct pt_event ev;
	struct err *err;

	d->synced_at = d->begun_at;
	*status = pt_blk_sync_set(d->libipt, d->begun_at);
	while (*status >= 0) {
		if (*status & pts_event_pending) {
			*status = pt_blk_event(d->libipt, &ev, sizeof(ev));
			err = *status < 0 ? NULL : ptd_on_event(d, &ev);
		} else if (*status & pts_eos) {
			*status = -pte_eos;
			return NULL;
		} else {
			*status = pt_blk_next(d->libipt, &block, sizeof(block));
			// A failed call, too, may have decoded some.
			err = ptd_on_run(d, &block);
		}
		if (err)
			return err;
		if (*status >= 0 && d->idle_insns > DEC_PT_IDLE_INSNS) {
			*status = -pte_overflow;
			return NULL;
		}
	}
	return NULL;
}

/* Where to go on behind an error. A PSB group that only contradicts what was decoded before
 * it is itself a place to begin. */
static uint64_t ptd_next(const struct ptd *d)
{
	if (d->begun_at != d->synced_at && d->begun_insns == d->totals.instructions)
		return d->begun_at;
	return ptd_find_psb(d, d->begun_at + PT_PSB_BYTES);
}

static struct err *ptd_all(struct ptd *d)
{
	struct err *err = NULL;
	uint64_t at, next;
	int status;

	d->begun_at = ptd_find_psb(d, 0);
	if (d->begun_at)
		err = ptd_gap(d, DEC_PT_GAP_START, 0, d->begun_at, 0, "no PSB");
	while (!err && d->begun_at < d->n) {
		d->idle_insns = 0;
		err = ptd_apply(d, d->begun_at);
		if (!err)
			err = ptd_segment(d, &status);
		if (err || status == -pte_eos)
			return err;
		next = ptd_next(d);
		at = ptd_offset(d) < next ? ptd_offset(d) : next;
		err = ptd_gap(d,
			      d->idle_insns > DEC_PT_IDLE_INSNS ? DEC_PT_GAP_IDLE :
								  DEC_PT_GAP_ERROR,
			      at, next, d->ip, pt_errstr(pt_errcode(status)));
		d->begun_at = next;
	}
	return err;
}

struct err *dec_pt_decode(const uint8_t *bytes, size_t n, struct dec_pt_image *image,
			  const struct dec_pt_sink *sink, struct dec_pt_totals *ret)
{
	struct ptd d = { .bytes = bytes, .n = n, .sink = sink, .image = image };
	struct pt_config config;
	struct err *err = NULL;

	dec_pt_image_rewind(image);
	if (ret)
		*ret = d.totals;
	if (!n)
		return NULL;
	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + n;
	d.cache = pt_iscache_alloc(NULL);
	d.libipt = pt_blk_alloc_decoder(&config);
	if (!d.cache || !d.libipt || pt_iscache_set_limit(d.cache, PT_CACHE_BYTES) < 0)
		err = &err_nomem;
	if (!err)
		err = ptd_all(&d);
	if (d.libipt)
		pt_blk_free_decoder(d.libipt);
	if (d.cache)
		pt_iscache_free(d.cache);
	if (!err && ret)
		*ret = d.totals;
	return err;
}
