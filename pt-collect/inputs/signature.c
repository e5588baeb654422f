// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What tells one instant of a thread from others with the same registers: a hash of the
 * memory around its stack pointer and of what its registers point to (capture.h). The
 * kernel side makes the same for a thread that loses the CPU.
 */
#define LOG_ROOM "record"
#include <string.h>
#include <sys/uio.h>

#include "pt-collect/inputs/threads.h"

static uint64_t hash(uint64_t h, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word;

		memcpy(&word, data + i, sizeof(word));
		h = (h ^ word) * CAP_SIGNATURE_PRIME;
	}
	return h;
}

/** What the program itself could read: ptrace can more. @return bytes. */
static size_t read_as_program(pid_t pid, uint64_t addr, void *buf, size_t size)
{
	struct iovec local = { buf, size }, remote = { (void *)(uintptr_t)addr, size };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : n;
}

struct cap_signature ptc_signature_read(pid_t pid, const struct cap_regs *regs)
{
	struct cap_signature s = { .pointer_hash = CAP_SIGNATURE_SEED };
	uint64_t int3_hash = CAP_SIGNATURE_SEED;
	uint8_t buf[CAP_SIGNATURE_STACK];

	s.stack_bytes = read_as_program(pid, regs->gpr[CAP_RSP] - CAP_SIGNATURE_RED_ZONE,
					buf, sizeof(buf)) &
			~7u;
	s.stack_hash = hash(CAP_SIGNATURE_SEED, buf, s.stack_bytes);
	for (int i = 0; i < CAP_GPRS; i++) {
		uint64_t at = regs->gpr[i] & ~(uint64_t)(CAP_SIGNATURE_TARGET - 1);

		if (i == CAP_RSP || read_as_program(pid, at, buf, CAP_SIGNATURE_TARGET) !=
					    CAP_SIGNATURE_TARGET)
			continue;
		// Code with probes in it does not read as in its file.
		if (memchr(buf, PTC_INT3, CAP_SIGNATURE_TARGET)) {
			int3_hash = hash(int3_hash, buf, CAP_SIGNATURE_TARGET);
			s.pointers |= 1u << CAP_SIGNATURE_INT3 << i;
			continue;
		}
		s.pointer_hash = hash(s.pointer_hash, buf, CAP_SIGNATURE_TARGET);
		s.pointers |= 1u << i;
	}
	if (s.pointers >> CAP_SIGNATURE_INT3)
		s.pointer_hash = CAP_SIGNATURE_FOLD(s.pointer_hash) |
				 CAP_SIGNATURE_FOLD(int3_hash) << 32;
	return s;
}
