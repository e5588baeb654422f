// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/dec_pt_encode_int.h"

static struct err *packets_failed(int status)
{
	return err_new(ERR_UNSUPPORTED, "cannot encode a PT packet: %s",
		       pt_errstr(pt_errcode(status)));
}

struct err *pt_packets_init(struct pt_stream *s)
{
	struct pt_config config;

	pt_config_init(&config);
	config.begin = s->buffer;
	config.end = s->buffer + sizeof(s->buffer);
	s->libipt = pt_alloc_encoder(&config);
	return s->libipt ? NULL : &err_nomem;
}

void pt_packets_deinit(struct pt_stream *s)
{
	if (s->libipt)
		pt_free_encoder(s->libipt);
	s->libipt = NULL;
}

struct err *pt_packets_flush(struct pt_stream *s)
{
	uint64_t n = 0;
	int status = pt_enc_get_offset(s->libipt, &n);
	struct err *err;

	if (status < 0)
		return packets_failed(status);
	err = n ? s->write(s->ctx, s->tid, s->buffer, n) : NULL;
	if (err)
		return err;
	status = pt_enc_sync_set(s->libipt, 0);
	return status < 0 ? packets_failed(status) : NULL;
}

static struct err *pt_put(struct pt_stream *s, const struct pt_packet *p)
{
	int status = pt_enc_next(s->libipt, p);

	if (status == -pte_eos) {
		struct err *err = pt_packets_flush(s);

		if (err)
			return err;
		status = pt_enc_next(s->libipt, p);
	}
	if (status < 0)
		return packets_failed(status);
	s->stats.bytes += status;
	return NULL;
}

struct err *pt_put_plain(struct pt_stream *s, enum pt_packet_type type)
{
	struct pt_packet p = { .type = type };

	return pt_put(s, &p);
}

/* ---- branches ---------------------------------------------------------------------------- */

/* Bits that fill no long packet are shortest as short ones. */
struct err *pt_put_tnt(struct pt_stream *s)
{
	struct err *err = NULL;

	while (!err && s->n_tnt) {
		bool is_split = s->n_tnt > PT_TNT_SHORT && s->n_tnt <= 7 * PT_TNT_SHORT;
		unsigned int n = is_split ? PT_TNT_SHORT : s->n_tnt;
		struct pt_packet p = { .type = n > PT_TNT_SHORT ? ppt_tnt_64 :
								  ppt_tnt_8 };

		// The oldest bits go first.
		p.payload.tnt.bit_size = n;
		p.payload.tnt.payload = (s->tnt >> (s->n_tnt - n)) & ((1ull << n) - 1);
		s->n_tnt -= n;
		*(n > PT_TNT_SHORT ? &s->stats.tnt_long : &s->stats.tnt_short) += 1;
		err = pt_put(s, &p);
	}
	s->tnt = 0;
	return err;
}

struct err *pt_put_bit(struct pt_stream *s, bool is_taken)
{
	s->tnt = s->tnt << 1 | is_taken;
	s->n_tnt++;
	s->stats.tnt_bits++;
	return s->n_tnt == PT_TNT_LONG ? pt_put_tnt(s) : NULL;
}

/* The fewest bytes that make @p ip of the last one. */
static enum pt_ip_compression packets_compression(uint64_t last, uint64_t ip)
{
	if (last >> 16 == ip >> 16)
		return pt_ipc_update_16;
	if (last >> 32 == ip >> 32)
		return pt_ipc_update_32;
	if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip)
		return pt_ipc_sext_48;
	return last >> 48 == ip >> 48 ? pt_ipc_update_48 : pt_ipc_full;
}

struct err *pt_put_ip(struct pt_stream *s, enum pt_packet_type type, uint64_t ip)
{
	static const uint8_t bits[] = { [pt_ipc_update_16] = 16,
					[pt_ipc_update_32] = 32,
					[pt_ipc_sext_48] = 48,
					[pt_ipc_update_48] = 48,
					[pt_ipc_full] = 64 };
	struct pt_packet p = { .type = type };
	struct err *err = pt_put_tnt(s);

	if (err)
		return err;
	p.payload.ip.ipc = packets_compression(s->last_ip, ip);
	p.payload.ip.ip = ip & (UINT64_MAX >> (64 - bits[p.payload.ip.ipc]));
	s->last_ip = ip;
	*(type == ppt_fup ? &s->stats.fup :
	  type == ppt_tip ? &s->stats.tip :
			    &s->stats.pge) += 1;
	return pt_put(s, &p);
}

struct err *pt_put_pgd(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_tip_pgd };
	struct err *err = pt_put_tnt(s);

	p.payload.ip.ipc = pt_ipc_suppressed;
	s->stats.pgd++;
	return err ? err : pt_put(s, &p);
}

struct err *pt_put_mode(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_mode };

	p.payload.mode.leaf = pt_mol_exec;
	p.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	return pt_put(s, &p);
}

/* ---- PSB+ -------------------------------------------------------------------------------- */

static struct err *packets_tsc(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_tsc };

	p.payload.tsc.tsc = s->clock->tsc & ((1ull << 56) - 1);
	return s->o->has_tsc ? pt_put(s, &p) : NULL;
}

struct err *pt_put_psb(struct pt_stream *s, uint64_t rip)
{
	struct err *err = pt_put_tnt(s);

	s->psb_at = s->stats.bytes;
	s->last_ip = 0;
	s->n_calls = 0;
	s->stats.psb++;
	if (!err)
		err = pt_put_plain(s, ppt_psb);
	if (!err)
		err = packets_tsc(s);
	if (!err && s->is_enabled)
		err = pt_put_mode(s);
	if (!err && s->is_enabled)
		err = pt_put_ip(s, ppt_fup, rip);
	return err ? err : pt_put_plain(s, ppt_psbend);
}
