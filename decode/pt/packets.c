// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/packets.h"

#include <intel-pt.h>
#include <string.h>

#include "decode/pt/newer.h"
#include "decode/pt/user.h"

// So many bytes are looked at at once, and none twice but for a packet that lies across.
#define WINDOW_BYTES (1u << 20)
#define PACKET_BYTES_MAX 255

struct packets {
	const struct dec_pt_flow *flow;
	const struct dec_pt_stream *stream;
	const struct dec_pt_show_options *o;
	FILE *out;
	dec_pt_buffer buffer;
	uint64_t last_ip, tsc;
	uint64_t n_packets, n_gaps;
};

/* ---- one packet ---------------------------------------------------------------------------- */

static const char *packet_name(const struct pt_packet *p)
{
	static const char *const names[] = {
		[ppt_invalid] = "<invalid>", [ppt_psb] = "psb",
		[ppt_psbend] = "psbend",     [ppt_pad] = "pad",
		[ppt_ovf] = "ovf",	     [ppt_stop] = "stop",
		[ppt_fup] = "fup",	     [ppt_tip] = "tip",
		[ppt_tip_pge] = "tip.pge",   [ppt_tip_pgd] = "tip.pgd",
		[ppt_pip] = "pip",	     [ppt_vmcs] = "vmcs",
		[ppt_tnt_8] = "tnt.8",	     [ppt_tnt_64] = "tnt.64",
		[ppt_tsc] = "tsc",	     [ppt_cbr] = "cbr",
		[ppt_tma] = "tma",	     [ppt_mtc] = "mtc",
		[ppt_cyc] = "cyc",	     [ppt_mnt] = "mnt",
		[ppt_exstop] = "exstop",     [ppt_mwait] = "mwait",
		[ppt_pwre] = "pwre",	     [ppt_pwrx] = "pwrx",
		[ppt_ptw] = "ptw",
	};

	if (p->type == ppt_mode)
		return p->payload.mode.leaf == pt_mol_exec ? "mode.exec" :
		       p->payload.mode.leaf == pt_mol_tsx  ? "mode.tsx" :
							     "mode";
	if (p->type == ppt_unknown)
		return dec_pt_newer_name(p);
	// A library newer than this program may know others.
	return p->type < sizeof(names) / sizeof(*names) && names[p->type] ?
		       names[p->type] :
		       "<newer>";
}

static bool packet_has_ip(const struct pt_packet *p)
{
	return p->type == ppt_fup || p->type == ppt_tip || p->type == ppt_tip_pge ||
	       p->type == ppt_tip_pgd;
}

static void ip_text(FILE *f, const struct pt_packet_ip *p, bool has_ip, uint64_t ip)
{
	static const char unknown[] = "????????????????";
	static const uint8_t digits[] = { [pt_ipc_update_16] = 4,
					  [pt_ipc_update_32] = 8,
					  [pt_ipc_update_48] = 12,
					  [pt_ipc_sext_48] = 16,
					  [pt_ipc_full] = 16 };
	int n = p->ipc < sizeof(digits) ? digits[p->ipc] : 0;
	uint64_t shown = n == 16 ? ip : p->ip;

	fprintf(f, "%x: %.*s", p->ipc, 16 - n, unknown);
	if (n)
		fprintf(f, "%0*lx", n, shown);
	if (has_ip && n < 16)
		fprintf(f, "  (%#lx)", ip);
}

static void tnt_text(FILE *f, const struct pt_packet_tnt *p)
{
	for (int i = p->bit_size; i-- > 0;)
		fputc(p->payload >> i & 1 ? '!' : '.', f);
}

static void mode_text(FILE *f, const struct pt_packet_mode *m)
{
	const char *a = "", *b = "";

	if (m->leaf == pt_mol_exec) {
		a = m->bits.exec.csd ? "cs.d" : "";
		b = m->bits.exec.csl ? "cs.l" : "";
	} else if (m->leaf == pt_mol_tsx) {
		a = m->bits.tsx.intx ? "intx" : "";
		b = m->bits.tsx.abrt ? "abrt" : "";
	} else {
		fprintf(f, "leaf: %x", m->leaf);
	}
	fprintf(f, "%s%s%s", a, *a && *b ? ", " : "", b);
}

static void power_text(FILE *f, const struct pt_packet *p)
{
	switch (p->type) {
	case ppt_exstop:
		fputs(p->payload.exstop.ip ? "ip" : "", f);
		break;
	case ppt_mwait:
		fprintf(f, "%08x, %08x", p->payload.mwait.hints, p->payload.mwait.ext);
		break;
	case ppt_pwre:
		fprintf(f, "c%u.%u%s", p->payload.pwre.state + 1,
			p->payload.pwre.sub_state + 1, p->payload.pwre.hw ? ", hw" : "");
		break;
	default:
		fprintf(f, "%s: c%u, c%u",
			p->payload.pwrx.interrupt  ? "int" :
			p->payload.pwrx.store	   ? "st" :
			p->payload.pwrx.autonomous ? "hw" :
						     "",
			p->payload.pwrx.last + 1, p->payload.pwrx.deepest + 1);
	}
}

static void payload_text(struct packets *s, const struct pt_packet *p)
{
	FILE *f = s->out;

	switch (p->type) {
	case ppt_tnt_8:
	case ppt_tnt_64:
		tnt_text(f, &p->payload.tnt);
		break;
	case ppt_mode:
		mode_text(f, &p->payload.mode);
		break;
	case ppt_pip:
		fprintf(f, "%lx%s", p->payload.pip.cr3, p->payload.pip.nr ? ", nr" : "");
		break;
	case ppt_vmcs:
		fprintf(f, "%lx", p->payload.vmcs.base);
		break;
	case ppt_tsc:
		fprintf(f, "%lx", p->payload.tsc.tsc);
		break;
	case ppt_cbr:
		fprintf(f, "%x", p->payload.cbr.ratio);
		break;
	case ppt_tma:
		fprintf(f, "%x, %x", p->payload.tma.ctc, p->payload.tma.fc);
		break;
	case ppt_mtc:
		fprintf(f, "%x", p->payload.mtc.ctc);
		break;
	case ppt_cyc:
		fprintf(f, "%lx", p->payload.cyc.value);
		break;
	case ppt_mnt:
		fprintf(f, "%lx", p->payload.mnt.payload);
		break;
	case ppt_exstop:
	case ppt_mwait:
	case ppt_pwre:
	case ppt_pwrx:
		power_text(f, p);
		break;
	case ppt_ptw:
		fprintf(f, "%x: %lx%s", p->payload.ptw.plc, p->payload.ptw.payload,
			p->payload.ptw.ip ? ", ip" : "");
		break;
	default:
		break;
	}
}

static bool has_payload(const struct pt_packet *p)
{
	return p->type != ppt_psb && p->type != ppt_psbend && p->type != ppt_pad &&
	       p->type != ppt_ovf && p->type != ppt_stop && p->type != ppt_unknown &&
	       p->type != ppt_invalid;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void packet_text(struct packets *s, uint64_t at, const struct pt_packet *p,
			bool has_ip, uint64_t ip)
{
	uint64_t ns = p->type == ppt_tsc ? dec_pt_flow_ns(s->flow, s->tsc) : 0;

	fprintf(s->out, "%016lx  ", at);
	if (!has_payload(p)) {
		fprintf(s->out, "%s\n", packet_name(p));
		return;
	}
	fprintf(s->out, "%-11s", packet_name(p));
	if (packet_has_ip(p))
		ip_text(s->out, &p->payload.ip, has_ip, ip);
	else
		payload_text(s, p);
	if (ns) {
		fputs("  (", s->out);
		dec_pt_show_time(s->out, ns);
		fputs(" s)", s->out);
	}
	fputc('\n', s->out);
}

static void packet_json(struct packets *s, uint64_t at, const struct pt_packet *p,
			bool has_ip, uint64_t ip)
{
	uint64_t ns = dec_pt_flow_ns(s->flow, s->tsc);

	fprintf(s->out, "{\"offset\":%lu,\"bytes\":%u,\"packet\":\"%s\"", at, p->size,
		packet_name(p));
	if (packet_has_ip(p))
		fprintf(s->out, ",\"ipc\":%d", p->payload.ip.ipc);
	if (has_ip)
		fprintf(s->out, ",\"ip\":\"%#lx\"", ip);
	if (has_payload(p) && !packet_has_ip(p)) {
		fputs(",\"payload\":\"", s->out);
		payload_text(s, p);
		fputc('"', s->out);
	}
	if (ns) {
		fputs(",\"time\":", s->out);
		dec_pt_show_time(s->out, ns);
	}
	fputs("}\n", s->out);
}

static void on_packet(struct packets *s, uint64_t at, const struct pt_packet *p)
{
	bool has_ip = false;

	if (p->type == ppt_psb)
		s->last_ip = 0;
	else if (p->type == ppt_tsc)
		s->tsc = p->payload.tsc.tsc;
	if (packet_has_ip(p))
		has_ip = dec_pt_user_ip(&p->payload.ip, &s->last_ip);
	if (s->o->to_tsc && (s->tsc < s->o->from_tsc || s->tsc > s->o->to_tsc))
		return;
	s->n_packets++;
	if (s->o->as_json)
		packet_json(s, at, p, has_ip, s->last_ip);
	else
		packet_text(s, at, p, has_ip, s->last_ip);
}

static void on_gap(struct packets *s, uint64_t from, uint64_t to, const char *why)
{
	s->n_gaps++;
	if (s->o->as_json)
		fprintf(s->out, "{\"gap\":\"%s\",\"from_byte\":%lu,\"to_byte\":%lu}\n",
			why, from, to);
	else
		fprintf(s->out, "%016lx  [gap: %s, up to byte %#lx]\n", from, why, to);
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* Show packets from @p at on, as long as they begin before @p until; bytes up to @p end
 * may be read. @p at becomes where the next one is; @p status libipt's, < 0 at damage. */
static struct err *window(struct packets *s, uint64_t *at, uint64_t until, uint64_t end,
			  int *status)
{
	const uint8_t *bytes = dec_pt_stream_bytes(s->stream, *at, end, &s->buffer);
	struct pt_packet_decoder *d;
	struct pt_config config;
	uint64_t base = *at;
	struct pt_packet p;

	pt_config_init(&config);
	dec_pt_newer_configure(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + (end - base);
	d = bytes ? pt_pkt_alloc_decoder(&config) : NULL;
	if (!d)
		return &err_nomem;
	*status = pt_pkt_sync_set(d, 0);
	while (*status >= 0 && *at < until) {
		*status = pt_pkt_next(d, &p, sizeof(p));
		if (*status < 0)
			break;
		on_packet(s, *at, &p);
		*at += p.size;
	}
	pt_pkt_free_decoder(d);
	return NULL;
}

/* The bytes from PSB @p at up to where some are lost, or to damage. */
static struct err *whole(struct packets *s, uint64_t *at)
{
	const char *lost;
	uint64_t end = dec_pt_stream_whole_until(s->stream, *at, &lost), next;
	struct err *err = NULL;
	int status = 0;

	while (!err && *at < end && status >= 0) {
		uint64_t until = end - *at > WINDOW_BYTES ? *at + WINDOW_BYTES : end;
		uint64_t read =
			end - until > PACKET_BYTES_MAX ? until + PACKET_BYTES_MAX : end;

		err = window(s, at, until, read, &status);
		if (ferror(s->out))
			return err_errno("cannot write");
	}
	if (err || (*at >= end && !lost))
		return err;
	next = dec_pt_stream_find_psb(s->stream, *at + (*at < end));
	// A packet that the stream's end cuts is no damage.
	if (status != -pte_eos || next < s->stream->size || lost)
		on_gap(s, *at, next,
		       *at < end && status != -pte_eos ? pt_errstr(pt_errcode(status)) :
		       lost			       ? lost :
							 "the end is cut off");
	*at = next;
	return NULL;
}

struct err *dec_pt_packets_show(const struct dec_pt_flow *f,
				const struct dec_pt_source *source,
				const struct dec_pt_show_options *o, uint64_t *n_packets,
				uint64_t *n_gaps)
{
	struct packets s = {
		.flow = f, .stream = &source->stream, .o = o, .out = o->out
	};
	uint64_t at = dec_pt_stream_find_psb(s.stream, 0);
	struct err *err = NULL;

	if (at && s.stream->size)
		on_gap(&s, 0, at, "no PSB");
	while (!err && at < s.stream->size)
		err = whole(&s, &at);
	vec_deinit(&s.buffer);
	*n_packets += s.n_packets;
	*n_gaps += s.n_gaps;
	return err;
}
