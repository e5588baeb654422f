// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Instructions that were decoded already, perhaps where they stand elsewhere.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "decode/x86/zydis.h"

/* How many of the first bytes at @p p say what is done with which registers, with one byte of the displacement. What is no
 * legacy code is of another build, and has more of them. */
static unsigned head_bytes(const uint8_t *p)
{
	unsigned n = 0;
	uint8_t op;

	while (n < 4 && dec_insn_is_legacy_prefix(p[n]))
		n++;
	if (n < 4 && (p[n] & 0xf0) == 0x40)
		n++;
	op = p[n++];
	if (op == 0x0f) {
		op = p[n++];
		if ((op & 0xf0) == 0x80) // jcc
			return n;
	} else if (op == 0xc4 || op == 0xc5 || op == 0x62) {
		return DEC_INSN_KEY;
	} else if ((op & 0xe0) == 0x40 || (op & 0xf0) == 0x70 || op == 0xc3 ||
		   (op & 0xfc) == 0xe8) { // push, pop; jcc; ret; call, jmp
		return n;
	}
	// ModRM, SIB
	op = p[n++];
	if (op >> 6 == 3 || (op & 0xc7) == 5)
		return n;
	return n + ((op & 7) == 4) + !!(op >> 6);
}

uint32_t dec_insn_key(const uint8_t *bytes)
{
	unsigned n = head_bytes(bytes);
	uint64_t head;

	memcpy(&head, bytes, sizeof(head));
	if (n < DEC_INSN_KEY)
		head &= (1ull << 8 * n) - 1;
	return head * 0x9e3779b97f4a7c15u >> 32;
}

bool dec_insn_again(struct dec_insn *insn, const uint8_t *bytes, uint64_t rip)
{
	uint8_t size = insn->rel_at ? 4 : insn->target_bytes,
		at = insn->rel_at ? insn->rel_at : insn->len - size;
	int64_t by = rip - insn->rip;
	int32_t was = 0, is = 0;

	if (memcmp(bytes, insn->bytes, at) ||
	    memcmp(bytes + at + size, insn->bytes + at + size, insn->len - at - size))
		return false;
	if (insn->target && !size)
		return !by;
	memcpy(&was, insn->bytes + at, size == 4 ? 4 : 0);
	memcpy(&is, bytes + at, size == 4 ? 4 : 0);
	if (size == 4)
		by += (int64_t)is - was;
	else if (size)
		by += (int8_t)bytes[at] - (int8_t)insn->bytes[at];
	if (insn->rel_at)
		dec_insn_move_relative(insn, by);
	else if (size)
		insn->target += by;
	memcpy(insn->bytes + at, bytes + at, size);
	insn->rip = rip;
	return true;
}

const struct dec_insn *dec_insns_decode(struct dec_insns *known, const uint8_t *bytes,
					uint64_t avail, uint64_t rip)
{
	const size_t n = sizeof(known->known) / sizeof(*known->known),
		     n_placed = sizeof(known->placed) / sizeof(*known->placed);
	struct dec_insn *place = &known->placed[rip % n_placed];
	struct dec_insn *insn =
		&known->known[avail < DEC_INSN_KEY ? 0 : dec_insn_key(bytes) % n];

	if (insn->len && insn->len <= avail && dec_insn_again(insn, bytes, rip))
		return insn;
	// Of two with one key, by turns in a loop, one is known by where it is.
	if (place->rip == rip && place->len && place->len <= avail &&
	    dec_insn_again(place, bytes, rip))
		return place;
	if (insn->len)
		known->placed[insn->rip % n_placed] = *insn;
	dec_insn_decode(bytes, avail < 15 ? avail : 15, rip, insn);
	return insn;
}

static _Atomic(struct dec_insns *) spare;

struct dec_insns *dec_insns_take(void)
{
	struct dec_insns *known = atomic_exchange(&spare, NULL);

	return known ?: calloc(1, sizeof(*known));
}

void dec_insns_give(struct dec_insns *known)
{
	free(atomic_exchange(&spare, known));
}
