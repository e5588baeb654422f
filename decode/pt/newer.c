// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/newer.h"

#include <stddef.h>

enum {
	EXT = 0x02, ///< the first of two bytes
	CFE = 0x13,
	EVD = 0x53,
	BBP = 0x63,
	BEP = 0x33,
	BEP_IP = 0xb3,
	TRIG = 0xd9, ///< the only one
	TRIG_ICNTV = 0x40,
	BBP_SIZE = 0x80, ///< items have 4 bytes, not 8
	BIP = 0x04,
	BIP_MASK = 0x07,
	BYTES_MAX = 255, ///< of a packet, as libipt has it
};

/* A block's items look like TNT packets: they go with its beginning. */
static int block_bytes(const uint8_t *at, const uint8_t *end)
{
	int n = 3, item;

	if (end - at < n)
		return -pte_eos;
	item = at[2] & BBP_SIZE ? 5 : 9;
	while (end - at > n && (at[n] & BIP_MASK) == BIP)
		n += item;
	return n <= BYTES_MAX ? n : -pte_bad_packet;
}

static int ext_bytes(const uint8_t *at, const uint8_t *end)
{
	switch (at[1]) {
	case CFE:
		return 4;
	case EVD:
		return 11;
	case BBP:
		return block_bytes(at, end);
	case BEP:
	case BEP_IP:
		return 2;
	default:
		return -pte_bad_opc;
	}
}

/* pt_config.decode.callback; libipt looks itself whether so many bytes are there. */
static int newer_bytes(struct pt_packet_unknown *unknown, const struct pt_config *config,
		       const uint8_t *at, void *context)
{
	(void)unknown, (void)context;
	if (config->end - at < 2)
		return -pte_eos;
	if (at[0] == TRIG)
		return at[1] & TRIG_ICNTV ? 5 : 3;
	return at[0] == EXT ? ext_bytes(at, config->end) : -pte_bad_opc;
}

void dec_pt_newer_configure(struct pt_config *config)
{
	config->decode.callback = newer_bytes;
}

const char *dec_pt_newer_name(const struct pt_packet *p)
{
	const uint8_t *at = p->payload.unknown.packet;

	if (at[0] == TRIG)
		return "trig";
	switch (at[1]) {
	case CFE:
		return "cfe";
	case EVD:
		return "evd";
	case BBP:
		return "bbp";
	default:
		return "bep";
	}
}
