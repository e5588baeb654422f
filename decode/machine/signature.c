// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/signature.h"

#include <string.h>
#include <sys/mman.h>

#define MASKED_RUN 8 // a value has as many

/* @return whether something may have been masked in what was hashed: then nothing is known of
 * it. A value may begin before it, or end behind it. */
static bool is_masked(const struct dec_replay *r, const uint8_t *from, size_t bytes)
{
	size_t run = 0;

	if (!r->has_masked || !bytes)
		return false;
	for (size_t i = 0; i < bytes && run < MASKED_RUN; i++)
		run = from[i] == CAP_MASK_BYTE ? run + 1 : 0;
	return run == MASKED_RUN || from[0] == CAP_MASK_BYTE ||
	       from[bytes - 1] == CAP_MASK_BYTE;
}

/* What registers of the event point to. */
struct pointed {
	uint64_t hash;
	bool is_readable;
	bool is_masked; ///< some of it may be
};

/* @p which: bit n for gpr[n]. */
static struct pointed look_at(struct dec_replay *r, uint32_t which)
{
	struct pointed p = { .hash = CAP_SIGNATURE_SEED, .is_readable = true };

	for (int i = 0; i < CAP_GPRS && p.is_readable; i++) {
		uint64_t at = r->next.regs.gpr[i] & -(uint64_t)CAP_SIGNATURE_TARGET;

		if (!(which >> i & 1))
			continue;
		p.is_readable = dec_guest_avail(&r->guest, at, PROT_READ) >=
				CAP_SIGNATURE_TARGET;
		if (!p.is_readable)
			break;
		p.hash = dec_words_hash(p.hash, (const void *)at, CAP_SIGNATURE_TARGET);
		p.is_masked |= is_masked(r, (const void *)at, CAP_SIGNATURE_TARGET);
	}
	return p;
}

/* May some of that be executed? */
static bool points_to_code(struct dec_replay *r, uint32_t which)
{
	for (int i = 0; i < CAP_GPRS; i++) {
		uint64_t at = r->next.regs.gpr[i] & -(uint64_t)CAP_SIGNATURE_TARGET;

		if (which >> i & 1 && dec_guest_avail(&r->guest, at, PROT_EXEC))
			return true;
	}
	return false;
}

static bool pointers_match(struct dec_replay *r)
{
	const struct cap_signature *sig = &r->next.signature;
	uint32_t with_int3 = sig->pointers >> CAP_SIGNATURE_INT3;
	struct pointed some = look_at(r, sig->pointers), other = look_at(r, with_int3);
	uint64_t want = sig->pointer_hash;

	if (!some.is_readable || !other.is_readable)
		return false;
	if (!with_int3)
		return !sig->pointers || some.hash == want || some.is_masked;
	return (CAP_SIGNATURE_FOLD(some.hash) == (uint32_t)want || some.is_masked) &&
	       (CAP_SIGNATURE_FOLD(other.hash) == want >> 32 || other.is_masked ||
		points_to_code(r, with_int3));
}

bool dec_signature_matches(struct dec_replay *r)
{
	const struct cap_signature *sig = &r->next.signature;
	uint64_t stack = r->next.regs.gpr[CAP_RSP] - CAP_SIGNATURE_RED_ZONE;

	if (!pointers_match(r)) // of less memory than the stack
		return false;
	if (sig->stack_bytes &&
	    (dec_guest_avail(&r->guest, stack, PROT_READ) < sig->stack_bytes ||
	     (dec_words_hash(CAP_SIGNATURE_SEED, (const void *)stack, sig->stack_bytes) !=
		      sig->stack_hash &&
	      !is_masked(r, (const void *)stack, sig->stack_bytes))))
		return false;
	return true;
}

bool dec_signature_may_pass(void *ctx)
{
	struct dec_replay *r = ctx;
	const struct cap_signature *sig = &r->next.signature;
	uint64_t stack = r->next.regs.gpr[CAP_RSP] - CAP_SIGNATURE_RED_ZONE;

	if (r->in_loop != r->next.seq + 1 || r->is_by_registers)
		return false;
	if (sig->stack_bytes && !(stack % 8) && !r->has_masked &&
	    sig->stack_bytes <= sizeof(r->passes.word) &&
	    dec_guest_avail(&r->guest, stack, PROT_READ) >= sig->stack_bytes &&
	    !dec_passes_match(&r->passes, (const uint64_t *)stack, sig->stack_bytes / 8,
			      sig->stack_hash))
		return true;
	return !dec_signature_matches(r);
}
