// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/stream.h"

#include <intel-pt.h>
#include <string.h>

#include "decode/pt/newer.h"
#include "decode/pt/user.h"

// A group is about 60 bytes; processors may pad it.
#define GROUP_BYTES_MAX 512

struct err *dec_pt_stream_init(struct dec_pt_stream *s, uint32_t tid,
			       struct dec_pt_image *image)
{
	*s = (struct dec_pt_stream){};
	return vec_add(&s->turns, (struct dec_pt_turn){ 0, tid, image });
}

void dec_pt_stream_deinit(struct dec_pt_stream *s)
{
	vec_deinit(&s->pieces);
	vec_deinit(&s->turns);
}

struct err *dec_pt_stream_add(struct dec_pt_stream *s, const uint8_t *data, size_t size,
			      const char *lost)
{
	if (!size && !lost)
		return NULL;
	if (vec_add(&s->pieces, (struct dec_pt_piece){ s->size, data, size, lost }))
		return &err_nomem;
	s->size += size;
	return NULL;
}

/* @return the index of the piece with byte @p at, which the stream has. */
static size_t stream_piece(const struct dec_pt_stream *s, uint64_t at)
{
	size_t n = vec_rank(s->pieces.size, i, s->pieces.data[i].at <= at);

	return n ? n - 1 : 0;
}

uint64_t dec_pt_stream_whole_until(const struct dec_pt_stream *s, uint64_t at,
				   const char **why)
{
	size_t i = at < s->size ? stream_piece(s, at) + 1 : s->pieces.size;

	while (i < s->pieces.size && !s->pieces.data[i].lost)
		i++;
	if (why)
		*why = i < s->pieces.size ? s->pieces.data[i].lost : NULL;
	return i < s->pieces.size ? s->pieces.data[i].at : s->size;
}

static void stream_copy(const struct dec_pt_stream *s, uint64_t at, size_t n, uint8_t *to)
{
	for (size_t i = stream_piece(s, at); n; i++) {
		const struct dec_pt_piece *p = &s->pieces.data[i];
		size_t skip = at - p->at, some = p->size - skip;

		some = some < n ? some : n;
		memcpy(to, p->data + skip, some);
		to += some;
		at += some;
		n -= some;
	}
}

const uint8_t *dec_pt_stream_bytes(const struct dec_pt_stream *s, uint64_t at,
				   uint64_t until, dec_pt_buffer *buffer)
{
	static const uint8_t nothing;
	const struct dec_pt_piece *p;

	if (at >= until)
		return &nothing;
	p = &s->pieces.data[stream_piece(s, at)];
	if (until - p->at <= p->size)
		return p->data + (at - p->at);
	if (vec_reserve(buffer, until - at))
		return NULL;
	stream_copy(s, at, until - at, buffer->data);
	return buffer->data;
}

static const uint8_t psb_bytes[DEC_PT_PSB_BYTES] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
						     2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };

/* Of the PSBs that overlap, the last: the pattern's beginning may be a packet's data.
 * @p n: bytes that may be read behind @p at, where one begins. */
static size_t psb_last(const uint8_t *at, size_t n)
{
	size_t i = 0;

	while (n - i >= DEC_PT_PSB_BYTES + 2 && !memcmp(at + i + DEC_PT_PSB_BYTES, at, 2))
		i += 2;
	return i;
}

/* A PSB that begins in piece @p i at or behind byte @p from of the stream and ends in a
 * later one. @return where; the stream's size when there is none. */
static uint64_t psb_across(const struct dec_pt_stream *s, size_t i, uint64_t from)
{
	uint8_t joint[2 * DEC_PT_PSB_BYTES + 2];
	uint64_t end = s->pieces.data[i].at + s->pieces.data[i].size, until, at;
	const uint8_t *found;

	at = end - from >= DEC_PT_PSB_BYTES ? end - (DEC_PT_PSB_BYTES - 1) : from;
	until = dec_pt_stream_whole_until(s, at, NULL);
	until = until - at < sizeof(joint) ? until : at + sizeof(joint);
	if (until <= end)
		return s->size;
	stream_copy(s, at, until - at, joint);
	found = memmem(joint, until - at, psb_bytes, sizeof(psb_bytes));
	if (!found || at + (found - joint) >= end)
		return s->size;
	return at + (found - joint) + psb_last(found, until - at - (found - joint));
}

uint64_t dec_pt_stream_find_psb(const struct dec_pt_stream *s, uint64_t from)
{
	for (size_t i = from < s->size ? stream_piece(s, from) : s->pieces.size;
	     i < s->pieces.size; i++) {
		const struct dec_pt_piece *p = &s->pieces.data[i];
		size_t skip = from > p->at ? from - p->at : 0;
		const uint8_t *at;
		uint64_t across;

		if (skip >= p->size)
			continue;
		at = memmem(p->data + skip, p->size - skip, psb_bytes, sizeof(psb_bytes));
		if (at)
			return p->at + (at - p->data) +
			       psb_last(at, p->data + p->size - at);
		across = psb_across(s, i, p->at + skip);
		if (across < s->size)
			return across;
	}
	return s->size;
}

/* ---- a group ---------------------------------------------------------------------------- */

/* An IP packet behind a PSB, where the last address is 0. */
static bool psb_ip(const struct pt_packet_ip *p, uint64_t *ret)
{
	switch (p->ipc) {
	case pt_ipc_suppressed:
		return false;
	case pt_ipc_sext_48:
		*ret = (uint64_t)((int64_t)(p->ip << 16) >> 16);
		return true;
	default:
		*ret = p->ip;
		return true;
	}
}

/* @return whether the group goes on behind @p p. */
static bool psb_take(struct dec_pt_psb *psb, const struct pt_packet *p)
{
	switch (p->type) {
	case ppt_psbend:
		psb->is_sound = true;
		return false;
	case ppt_fup:
		psb->has_ip = psb_ip(&p->payload.ip, &psb->ip);
		return true;
	case ppt_tsc:
		psb->has_tsc = true;
		psb->tsc = p->payload.tsc.tsc;
		return true;
	case ppt_ovf:
		psb->is_lossy = true;
		return false;
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_invalid:
		return false;
	default:
		return true;
	}
}

/* Behind the group's end: is TIP.PGE what comes next but for time? Then tracing was off. */
static bool psb_is_early(struct pt_packet_decoder *libipt)
{
	struct pt_packet p;

	while (pt_pkt_next(libipt, &p, sizeof(p)) >= 0) {
		switch (p.type) {
		case ppt_tip_pge:
			return true;
		case ppt_pad:
		case ppt_tsc:
		case ppt_cbr:
		case ppt_tma:
		case ppt_mtc:
		case ppt_cyc:
		case ppt_pip:
		case ppt_vmcs:
		case ppt_mode:
		case ppt_mnt:
		case ppt_unknown:
			break;
		default:
			return false;
		}
	}
	return false;
}

struct err *dec_pt_stream_psb(const struct dec_pt_stream *s, uint64_t at,
			      dec_pt_buffer *buffer, struct dec_pt_psb *ret)
{
	uint64_t until = dec_pt_stream_whole_until(s, at, NULL), offset = 0;
	struct pt_packet_decoder *libipt;
	const uint8_t *bytes;
	struct pt_config config;
	struct pt_packet p;

	if (until - at > GROUP_BYTES_MAX)
		until = at + GROUP_BYTES_MAX;
	*ret = (struct dec_pt_psb){ .at = at };
	bytes = dec_pt_stream_bytes(s, at, until, buffer);
	pt_config_init(&config);
	dec_pt_newer_configure(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + (until - at);
	libipt = bytes ? pt_pkt_alloc_decoder(&config) : NULL;
	if (!libipt)
		return &err_nomem;
	if (pt_pkt_sync_set(libipt, 0) >= 0) {
		while (pt_pkt_next(libipt, &p, sizeof(p)) >= 0 && psb_take(ret, &p))
			;
		pt_pkt_get_offset(libipt, &offset);
		ret->is_early = ret->is_sound && ret->has_ip && psb_is_early(libipt);
		ret->has_ip &= !ret->is_early &&
			       !(s->has_kernel && dec_pt_user_is_kernel(ret->ip));
	}
	pt_pkt_free_decoder(libipt);
	ret->end = at + offset;
	return NULL;
}

size_t dec_pt_stream_turn(const struct dec_pt_stream *s, uint64_t from)
{
	size_t n = vec_rank(s->turns.size, i, s->turns.data[i].from <= from);

	return n ? n - 1 : 0;
}
