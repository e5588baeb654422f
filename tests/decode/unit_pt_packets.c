// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Packets one by one: what libipt encodes it decodes to the same fields, for every type
 * that it knows and for every boundary of its fields; and the bytes are those that the SDM
 * draws (fixtures/packets.txt).
 */

#include <intel-pt.h>
#include <string.h>

#include "tests/unit.h"

enum { PACKET_BYTES = 32 };

static int encode(const struct pt_packet *p, uint8_t bytes[PACKET_BYTES])
{
	struct pt_encoder *e;
	struct pt_config config;
	int n;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + PACKET_BYTES;
	e = pt_alloc_encoder(&config);
	assert_non_null(e);
	n = pt_enc_next(e, p);
	pt_free_encoder(e);
	return n;
}

/* @p n bytes that hold one packet, behind a PSB where decoding begins. */
static int decode(const uint8_t *bytes, int n, struct pt_packet *ret)
{
	static const struct pt_packet psb = { .type = ppt_psb };
	uint8_t buffer[PACKET_BYTES * 2];
	int at = encode(&psb, buffer), status;
	struct pt_packet_decoder *d;
	struct pt_config config;

	memcpy(buffer + at, bytes, n);
	pt_config_init(&config);
	config.begin = buffer;
	config.end = buffer + at + n;
	d = pt_pkt_alloc_decoder(&config);
	assert_non_null(d);
	assert_int_equal(pt_pkt_sync_set(d, 0), 0);
	assert_int_equal(pt_pkt_next(d, ret, sizeof(*ret)), at);
	status = pt_pkt_next(d, ret, sizeof(*ret));
	pt_pkt_free_decoder(d);
	return status;
}

/* ---- fields ------------------------------------------------------------------------------- */

static uint64_t n_packets;
static uint64_t n_of[ppt_ptw + 1];

/* @p p is what comes of encoding and decoding it. */
static void same(const struct pt_packet *p)
{
	uint8_t bytes[PACKET_BYTES];
	struct pt_packet got = {};
	int n = encode(p, bytes), status;

	if (n <= 0)
		fail_msg("a packet of type %d is not encoded: %s", p->type,
			 pt_errstr(pt_errcode(n)));
	status = decode(bytes, n, &got);
	if (status != n || got.size != n || got.type != p->type)
		fail_msg("type %d of %d bytes is read as type %d of %d", p->type, n,
			 got.type, status);
	assert_memory_equal(&got.payload, &p->payload, sizeof(p->payload));
	n_packets++;
	n_of[p->type]++;
}

#define same_payload(t, field, ...)                                           \
	do {                                                                  \
		struct pt_packet p_;                                          \
		memset(&p_, 0, sizeof(p_));                                   \
		p_.type = (t);                                                \
		p_.payload.field = (__typeof__(p_.payload.field))__VA_ARGS__; \
		same(&p_);                                                    \
	} while (0)

static const enum pt_packet_type plain[] = { ppt_pad, ppt_psb, ppt_psbend, ppt_ovf,
					     ppt_stop };

static void plain_packets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		struct pt_packet p;

		memset(&p, 0, sizeof(p));
		p.type = plain[i];
		same(&p);
	}
}

/* Bits that are all one, all zero, and each alone. */
static void tnt_packets(void **state)
{
	(void)state;
	for (uint8_t bits = 1; bits <= 47; bits++) {
		enum pt_packet_type type = bits > 6 ? ppt_tnt_64 : ppt_tnt_8;
		uint64_t all = (1ull << bits) - 1;

		same_payload(type, tnt, { bits, 0 });
		same_payload(type, tnt, { bits, all });
		for (int i = 0; i < bits; i++)
			same_payload(type, tnt, { bits, 1ull << i });
		same_payload(ppt_tnt_64, tnt, { bits, all / 3 });
	}
}

static void ip_packets(void **state)
{
	static const enum pt_packet_type types[] = { ppt_tip, ppt_tip_pge, ppt_tip_pgd,
						     ppt_fup };
	static const struct {
		enum pt_ip_compression ipc;
		int bits;
	} ways[] = { { pt_ipc_update_16, 16 },
		     { pt_ipc_update_32, 32 },
		     { pt_ipc_update_48, 48 },
		     { pt_ipc_full, 64 } };

	(void)state;
	for (int t = 0; t < 4; t++) {
		same_payload(types[t], ip, { pt_ipc_suppressed, 0 });
		for (int w = 0; w < 4; w++) {
			for (int i = 0; i < ways[w].bits; i++)
				same_payload(types[t], ip, { ways[w].ipc, 1ull << i });
			same_payload(types[t], ip,
				     { ways[w].ipc, UINT64_MAX >> (64 - ways[w].bits) });
		}
		// Its sign is extended by who uses it.
		for (int i = 0; i < 48; i++)
			same_payload(types[t], ip, { pt_ipc_sext_48, 1ull << i });
	}
}

static void mode_packets(void **state)
{
	struct pt_packet p;

	(void)state;
	for (int i = 0; i < 4; i++) {
		memset(&p, 0, sizeof(p));
		p.type = ppt_mode;
		p.payload.mode.leaf = pt_mol_exec;
		p.payload.mode.bits.exec.csl = i & 1;
		p.payload.mode.bits.exec.csd = i >> 1;
		same(&p);
		memset(&p, 0, sizeof(p));
		p.type = ppt_mode;
		p.payload.mode.leaf = pt_mol_tsx;
		p.payload.mode.bits.tsx.intx = i & 1;
		p.payload.mode.bits.tsx.abrt = i >> 1;
		same(&p);
	}
}

static void address_space_packets(void **state)
{
	(void)state;
	for (int i = 5; i < 52; i++) {
		same_payload(ppt_pip, pip, { .cr3 = 1ull << i });
		same_payload(ppt_pip, pip, { .cr3 = 1ull << i, .nr = 1 });
	}
	for (int i = 12; i < 52; i++)
		same_payload(ppt_vmcs, vmcs, { .base = 1ull << i });
}

static void time_packets(void **state)
{
	(void)state;
	for (int i = 0; i < 56; i++)
		same_payload(ppt_tsc, tsc, { .tsc = 1ull << i });
	for (int i = 0; i < 256; i++) {
		same_payload(ppt_mtc, mtc, { .ctc = i });
		same_payload(ppt_cbr, cbr, { .ratio = i });
	}
	for (int i = 0; i < 16; i++)
		same_payload(ppt_tma, tma, { .ctc = 1u << i, .fc = (1u << i) & 0x1ff });
	same_payload(ppt_tma, tma, { .ctc = 0xffff, .fc = 0x1ff });
	same_payload(ppt_cyc, cyc, {});
	for (int i = 0; i < 61; i++) {
		same_payload(ppt_cyc, cyc, { .value = 1ull << i });
		same_payload(ppt_cyc, cyc, { .value = (2ull << i) - 1 });
	}
}

static void ptw_packets(void **state)
{
	(void)state;
	for (int ip = 0; ip < 2; ip++) {
		for (int i = 0; i < 32; i++)
			same_payload(ppt_ptw, ptw, { .payload = 1ull << i, .ip = ip });
		for (int i = 0; i < 64; i++)
			same_payload(ppt_ptw, ptw,
				     { .payload = 1ull << i, .plc = 1, .ip = ip });
	}
	for (int i = 0; i < 64; i++)
		same_payload(ppt_mnt, mnt, { .payload = 1ull << i });
}

static void power_packets(void **state)
{
	(void)state;
	same_payload(ppt_exstop, exstop, {});
	same_payload(ppt_exstop, exstop, { .ip = 1 });
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 2; k++)
			same_payload(ppt_mwait, mwait,
				     { .hints = 1u << i, .ext = 1u << k });
	for (int i = 0; i < 16; i++) {
		for (int hw = 0; hw < 2; hw++)
			same_payload(ppt_pwre, pwre,
				     { .state = i, .sub_state = 15 - i, .hw = hw });
		for (int why = 0; why < 8; why++)
			same_payload(ppt_pwrx, pwrx,
				     { .last = i,
				       .deepest = 15 - i,
				       .interrupt = why & 1,
				       .store = why >> 1 & 1,
				       .autonomous = why >> 2 });
	}
}

/* Runs last: nothing that libipt knows was left out. */
static void all_types_were_there(void **state)
{
	(void)state;
	for (int i = ppt_pad; i <= ppt_ptw; i++) {
		if (!n_of[i])
			fail_msg("no packet of type %d was tried", i);
	}
	printf("%lu packets of %d types\n", n_packets, ppt_ptw - ppt_pad + 1);
}

/* ---- text --------------------------------------------------------------------------------- */

static void tnt_text(const struct pt_packet_tnt *t, char *text)
{
	for (int i = t->bit_size; i-- > 0;)
		*text++ = t->payload >> i & 1 ? 'T' : 'N';
	*text = 0;
}

static void ip_text(const struct pt_packet_ip *ip, char *text)
{
	static const char *const ways[] = {
		[pt_ipc_suppressed] = "none", [pt_ipc_update_16] = "2",
		[pt_ipc_update_32] = "4",     [pt_ipc_sext_48] = "s6",
		[pt_ipc_update_48] = "6",     [pt_ipc_full] = "8"
	};
	int n = sprintf(text, "%s", ways[ip->ipc]);

	if (ip->ipc != pt_ipc_suppressed)
		sprintf(text + n, " %lx", ip->ip);
}

static void mode_text(const struct pt_packet_mode *m, char *text)
{
	static const int bits[] = {
		[ptem_16bit] = 16, [ptem_32bit] = 32, [ptem_64bit] = 64
	};

	if (m->leaf == pt_mol_exec)
		sprintf(text, "mode.exec %d", bits[pt_get_exec_mode(&m->bits.exec)]);
	else
		sprintf(text, "mode.tsx%s%s", m->bits.tsx.intx ? " intx" : "",
			m->bits.tsx.abrt ? " abrt" : "");
}

static const char *const names[] = {
	[ppt_pad] = "pad",
	[ppt_psb] = "psb",
	[ppt_psbend] = "psbend",
	[ppt_fup] = "fup ",
	[ppt_tip] = "tip ",
	[ppt_tip_pge] = "tip.pge ",
	[ppt_tip_pgd] = "tip.pgd ",
	[ppt_tnt_8] = "tnt ",
	[ppt_tnt_64] = "tnt64 ",
	[ppt_pip] = "pip ",
	[ppt_vmcs] = "vmcs ",
	[ppt_cbr] = "cbr ",
	[ppt_tsc] = "tsc ",
	[ppt_tma] = "tma ",
	[ppt_mtc] = "mtc ",
	[ppt_cyc] = "cyc ",
	[ppt_stop] = "stop",
	[ppt_ovf] = "ovf",
	[ppt_mnt] = "mnt ",
	[ppt_exstop] = "exstop",
	[ppt_mwait] = "mwait ",
	[ppt_pwre] = "pwre ",
	[ppt_pwrx] = "pwrx ",
	[ppt_ptw] = "ptw ",
	[ppt_mode] = "",
};

static void payload_text(const struct pt_packet *p, char *text)
{
	const __typeof__(p->payload) *u = &p->payload;

	switch (p->type) {
	case ppt_tnt_8:
	case ppt_tnt_64:
		tnt_text(&u->tnt, text);
		break;
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		ip_text(&u->ip, text);
		break;
	case ppt_mode:
		mode_text(&u->mode, text);
		break;
	case ppt_pip:
		sprintf(text, "%lx%s", u->pip.cr3, u->pip.nr ? " nr" : "");
		break;
	case ppt_vmcs:
		sprintf(text, "%lx", u->vmcs.base);
		break;
	case ppt_cbr:
		sprintf(text, "%x", u->cbr.ratio);
		break;
	case ppt_tsc:
		sprintf(text, "%lx", u->tsc.tsc);
		break;
	case ppt_tma:
		sprintf(text, "%x %x", u->tma.ctc, u->tma.fc);
		break;
	case ppt_mtc:
		sprintf(text, "%x", u->mtc.ctc);
		break;
	case ppt_cyc:
		sprintf(text, "%lx", u->cyc.value);
		break;
	case ppt_mnt:
		sprintf(text, "%lx", u->mnt.payload);
		break;
	case ppt_ptw:
		sprintf(text, "%lx%s", u->ptw.payload, u->ptw.ip ? " ip" : "");
		break;
	case ppt_exstop:
		sprintf(text, "%s", u->exstop.ip ? " ip" : "");
		break;
	case ppt_mwait:
		sprintf(text, "%x %x", u->mwait.hints, u->mwait.ext);
		break;
	case ppt_pwre:
		sprintf(text, "%x %x%s", u->pwre.state, u->pwre.sub_state,
			u->pwre.hw ? " hw" : "");
		break;
	case ppt_pwrx:
		sprintf(text, "%x %x%s%s%s", u->pwrx.last, u->pwrx.deepest,
			u->pwrx.interrupt ? " interrupt" : "",
			u->pwrx.store ? " store" : "",
			u->pwrx.autonomous ? " autonomous" : "");
		break;
	default:
		*text = 0;
	}
}

/* One line: bytes, then what they say. */
static void fixture(char *line)
{
	char text[128], *says = strstr(line, " : ");
	uint8_t bytes[PACKET_BYTES], again[PACKET_BYTES];
	struct pt_packet p = {};
	int n = 0, status;

	assert_non_null(says);
	*says = 0;
	for (char *at = line; *at; n++)
		bytes[n] = strtoul(at, &at, 16);
	says[strcspn(says + 3, "\n") + 3] = 0;
	status = decode(bytes, n, &p);
	if (status != n)
		fail_msg("%s: %d of %d bytes", line, status, n);
	strcpy(text, names[p.type]);
	payload_text(&p, text + strlen(text));
	assert_string_equal(text, says + 3);
	assert_int_equal(encode(&p, again), n);
	assert_memory_equal(bytes, again, n);
}

static void bytes_are_the_manuals(void **state)
{
	_cleanup_free_ char *path = NULL;
	char line[256];
	int n = 0;
	FILE *f;

	(void)state;
	assert_true(asprintf(&path, "%s/tests/decode/fixtures/packets.txt",
			     unit_env("SOURCE")) > 0);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (*line == '#')
			continue;
		fixture(line);
		n++;
	}
	fclose(f);
	printf("%d packets of the manual\n", n);
	assert_true(n > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_packets),
		cmocka_unit_test(tnt_packets),
		cmocka_unit_test(ip_packets),
		cmocka_unit_test(mode_packets),
		cmocka_unit_test(address_space_packets),
		cmocka_unit_test(time_packets),
		cmocka_unit_test(ptw_packets),
		cmocka_unit_test(power_packets),
		cmocka_unit_test(all_types_were_there),
		cmocka_unit_test(bytes_are_the_manuals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
