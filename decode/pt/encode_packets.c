// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/encode_int.h"

static struct err *packets_failed(int status)
{
	return err_new(ERR_UNSUPPORTED, "cannot encode a PT packet: %s",
		       pt_errstr(pt_errcode(status)));
}

struct err *dec_pt_packets_init(struct pt_stream *s)
{
	struct pt_config config;

	pt_config_init(&config);
	config.begin = s->buffer;
	config.end = s->buffer + sizeof(s->buffer);
	s->libipt = pt_alloc_encoder(&config);
	return s->libipt ? NULL : &err_nomem;
}

void dec_pt_packets_deinit(struct pt_stream *s)
{
	if (s->libipt)
		pt_free_encoder(s->libipt);
	s->libipt = NULL;
}

struct err *dec_pt_packets_flush(struct pt_stream *s)
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
		struct err *err = dec_pt_packets_flush(s);

		if (err)
			return err;
		status = pt_enc_next(s->libipt, p);
	}
	if (status < 0)
		return packets_failed(status);
	s->stats.bytes += status;
	return NULL;
}

/* A packet without a payload. */
static struct err *put_plain(struct pt_stream *s, enum pt_packet_type type)
{
	struct pt_packet p = { .type = type };

	return pt_put(s, &p);
}

/* ---- branches ---------------------------------------------------------------------------- */

/* Bits that fill no long packet are shortest as short ones. */
struct err *dec_pt_put_tnt(struct pt_stream *s)
{
	struct err *err = s->n_tnt ? dec_pt_put_cyc(s) : NULL;

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

struct err *dec_pt_put_bit(struct pt_stream *s, bool is_taken)
{
	s->tnt = s->tnt << 1 | is_taken;
	s->n_tnt++;
	s->stats.tnt_bits++;
	return s->n_tnt == (s->o->is_tnt_short ? PT_TNT_SHORT : PT_TNT_LONG) ?
		       dec_pt_put_tnt(s) :
		       NULL;
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

struct err *dec_pt_put_ip(struct pt_stream *s, enum pt_packet_type type, uint64_t ip)
{
	static const uint8_t bits[] = { [pt_ipc_update_16] = 16,
					[pt_ipc_update_32] = 32,
					[pt_ipc_sext_48] = 48,
					[pt_ipc_update_48] = 48,
					[pt_ipc_full] = 64 };
	struct pt_packet p = { .type = type };
	struct err *err = dec_pt_put_tnt(s);

	if (!err && type != ppt_fup)
		err = dec_pt_put_cyc(s);
	if (err)
		return err;
	p.payload.ip.ipc = s->o->is_ip_whole ? pt_ipc_full :
					       packets_compression(s->last_ip, ip);
	p.payload.ip.ip = ip & (UINT64_MAX >> (64 - bits[p.payload.ip.ipc]));
	s->last_ip = ip;
	*(type == ppt_fup ? &s->stats.fup :
	  type == ppt_tip ? &s->stats.tip :
			    &s->stats.pge) += 1;
	return pt_put(s, &p);
}

struct err *dec_pt_put_pgd(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_tip_pgd };
	struct err *err = dec_pt_put_tnt(s);

	p.payload.ip.ipc = pt_ipc_suppressed;
	s->stats.pgd++;
	if (!err)
		err = dec_pt_put_cyc(s);
	return err ? err : pt_put(s, &p);
}

struct err *dec_pt_put_mode(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_mode };

	p.payload.mode.leaf = pt_mol_exec;
	p.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	return pt_put(s, &p);
}

/* ---- time -------------------------------------------------------------------------------- */

/* CYC for a packet that happens at @p cycles. */
static struct err *packets_cyc(struct pt_stream *s, uint64_t cycles)
{
	struct pt_packet p = { .type = ppt_cyc };

	if (!s->o->has_cyc || cycles <= s->cyc_at ||
	    (cycles - s->cyc_at) >> s->o->cyc_shift == 0)
		return NULL;
	p.payload.cyc.value = cycles - s->cyc_at;
	s->cyc_at = cycles;
	s->stats.cyc++;
	return pt_put(s, &p);
}

struct err *dec_pt_put_cyc(struct pt_stream *s)
{
	return packets_cyc(s, s->clock->cycles);
}

static uint64_t packets_mtc_now(const struct pt_stream *s)
{
	return dec_pt_clock_crystal(s->clock) >> s->o->mtc_shift;
}

struct err *dec_pt_put_mtc(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_mtc };
	struct err *err = NULL;

	if (!s->o->has_mtc)
		return NULL;
	for (uint64_t now = packets_mtc_now(s); !err && s->mtc_at < now;) {
		p.payload.mtc.ctc = ++s->mtc_at;
		s->stats.mtc++;
		err = packets_cyc(s,
				  dec_pt_clock_of_crystal(s->mtc_at << s->o->mtc_shift));
		if (!err)
			err = pt_put(s, &p);
	}
	return err;
}

bool dec_pt_has_slept(const struct pt_stream *s)
{
	return s->o->has_mtc && packets_mtc_now(s) - s->mtc_at > UINT8_MAX;
}

static struct err *packets_tsc(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_tsc };

	p.payload.tsc.tsc = dec_pt_clock_tsc(s->clock) & ((1ull << 56) - 1);
	return pt_put(s, &p);
}

/* How far the TSC is behind a tick of the crystal. */
static struct err *packets_tma(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_tma };
	uint64_t crystal = dec_pt_clock_crystal(s->clock);

	p.payload.tma.ctc = crystal;
	p.payload.tma.fc =
		dec_pt_clock_tsc(s->clock) - crystal * DEC_PT_TSC_NUM / DEC_PT_TSC_DEN;
	s->mtc_at = packets_mtc_now(s);
	return pt_put(s, &p);
}

static struct err *packets_cbr(struct pt_stream *s)
{
	struct pt_packet p = { .type = ppt_cbr };

	p.payload.cbr.ratio = DEC_PT_RATIO;
	return pt_put(s, &p);
}

/* ---- groups ------------------------------------------------------------------------------ */

static struct err *packets_tsx(struct pt_stream *s, bool is_inside)
{
	struct pt_packet p = { .type = ppt_mode };

	p.payload.mode.leaf = pt_mol_tsx;
	p.payload.mode.bits.tsx.intx = is_inside;
	return pt_put(s, &p);
}

static struct err *packets_times(struct pt_stream *s)
{
	struct err *err;

	if (!s->o->has_tsc)
		return NULL;
	err = packets_tsc(s);
	if (!err && s->o->has_mtc)
		err = packets_tma(s);
	return err ? err : packets_cbr(s);
}

struct err *dec_pt_put_psb(struct pt_stream *s, uint64_t rip)
{
	struct err *err = dec_pt_put_tnt(s);

	s->psb_at = s->stats.bytes;
	s->last_ip = 0;
	s->n_calls = 0;
	s->stats.psb++;
	if (!err)
		err = put_plain(s, ppt_psb);
	if (!err)
		err = packets_times(s);
	if (!err && s->is_enabled && s->o->has_tsx)
		err = packets_tsx(s, s->is_in_tsx);
	if (!err && s->is_enabled)
		err = dec_pt_put_mode(s);
	if (!err && s->is_enabled)
		err = dec_pt_put_ip(s, ppt_fup, rip);
	return err ? err : put_plain(s, ppt_psbend);
}

struct err *dec_pt_put_ovf(struct pt_stream *s)
{
	s->last_ip = 0;
	s->n_calls = 0;
	s->cyc_at = s->clock->cycles;
	s->stats.ovf++;
	return put_plain(s, ppt_ovf);
}

struct err *dec_pt_put_ptw(struct pt_stream *s, uint64_t rip, uint64_t value)
{
	struct pt_packet p = { .type = ppt_ptw };
	struct err *err = dec_pt_put_tnt(s);

	p.payload.ptw.payload = value;
	p.payload.ptw.plc = value > UINT32_MAX; // 4 bytes, or 8
	p.payload.ptw.ip = 1;
	s->stats.ptw++;
	if (!err)
		err = dec_pt_put_cyc(s);
	if (!err)
		err = pt_put(s, &p);
	return err ? err : dec_pt_put_ip(s, ppt_fup, rip);
}

/* The core slept: the hints and the state are those of MWAIT into C1. */
static struct err *packets_power(struct pt_stream *s, uint64_t rip)
{
	struct pt_packet mwait = { .type = ppt_mwait }, exstop = { .type = ppt_exstop };
	struct pt_packet pwre = { .type = ppt_pwre }, pwrx = { .type = ppt_pwrx };
	struct err *err;

	mwait.payload.mwait.ext = 1;
	exstop.payload.exstop.ip = 1;
	pwre.payload.pwre.state = pwrx.payload.pwrx.deepest = 1;
	pwrx.payload.pwrx.last = pwrx.payload.pwrx.interrupt = 1;
	err = pt_put(s, &mwait);
	if (!err)
		err = pt_put(s, &exstop);
	if (!err)
		err = dec_pt_put_ip(s, ppt_fup, rip);
	if (!err)
		err = pt_put(s, &pwre);
	return err ? err : pt_put(s, &pwrx);
}

static struct err *packets_extra(struct pt_stream *s, enum dec_pt_extra extra,
				 uint64_t rip)
{
	struct pt_packet mnt = { .type = ppt_mnt };
	struct err *err;

	switch (extra) {
	case DEC_PT_EXTRA_POWER:
		return packets_power(s, rip);
	case DEC_PT_EXTRA_MNT:
		mnt.payload.mnt.payload = rip;
		return pt_put(s, &mnt);
	case DEC_PT_EXTRA_TSX_BEGIN:
	case DEC_PT_EXTRA_TSX_END:
		s->is_in_tsx = extra == DEC_PT_EXTRA_TSX_BEGIN;
		err = packets_tsx(s, s->is_in_tsx);
		return err ? err : dec_pt_put_ip(s, ppt_fup, rip);
	}
	return NULL;
}

struct err *dec_pt_put_extras(struct pt_stream *s, uint64_t rip)
{
	struct err *err = dec_pt_put_tnt(s);

	for (int i = 0; !err && s->extras; i++) {
		if (s->extras >> i & 1)
			err = packets_extra(s, i, rip);
		s->extras &= ~(1u << i);
	}
	return err;
}
