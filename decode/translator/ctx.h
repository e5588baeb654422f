// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The context that emitted code and C share. While the guest runs gs holds it; emitted code
 * addresses it by where it lies when that is below 2 GiB (ctx.c).
 * Offsets are numbers because the assembly in enter.S uses them; the asserts below
 * pin them to the struct.
 */
#ifndef DECODE_TRANSLATOR_CTX_H
#define DECODE_TRANSLATOR_CTX_H

#define CTX_GPR 0x000
#define CTX_RIP 0x080
#define CTX_RFLAGS 0x088
#define CTX_FS_BASE 0x090
#define CTX_QUICK 0x098
#define CTX_SPILL 0x0a0
#define CTX_LOG 0x0c0
#define CTX_IND 0x0c8
#define CTX_MISS 0x0d0
#define CTX_EXIT_ID 0x0d8
#define CTX_LACKS 0xdc
#define CTX_COMMON 0x0e0
#define CTX_ENTRY 0x0e8
#define CTX_HOST_RSP 0x0f0
#define CTX_HOST_FS 0x0f8
#define CTX_XMASK 0x100
#define CTX_FAULT_PC 0x108
#define CTX_FAULT_ADDR 0x110
#define CTX_FAULT_SIGNO 0x118
#define CTX_FAULT_CODE 0x120
#define CTX_CANARY 0x128
#define CTX_GS_BASE 0x130
#define CTX_PKRU 0x138
#define CTX_XSAVE 0x140
#define CTX_XSAVE_BYTES 0xac0
#define CTX_ASYNC 0xc00
#define CTX_BUDGET 0xc80
#define CTX_CELLS 4
#define CTX_QUIET 0xca0
#define CTX_VECTOR 0xcc0
#define CTX_TAG 0xd00
#define CTX_HEAP_LOW 0xd40
#define CTX_HEAP_SPAN 0xd48
#define CTX_HIGH_LOW 0xd50
#define CTX_HIGH_SPAN 0xd58
#define CTX_VEC_TAGS 0xd60
#define CTX_GUARD_EVENT 0xd64
#define CTX_GUARD_SPILL 0xd68
#define CTX_LOW_SPAN 0xda0
#define CTX_BLANK 0xda8
#define CTX_BLANK_HOOK 0xdac
#define CTX_BLANK_CALL 0xdb0
#define CTX_STOP_DOOR 0xdd8
#define CTX_STRING_CALL 0xde0
#define CTX_GUARD_TAG 0xdf0
#define CTX_DOOR 0xdf8
#define CTX_BLANK_LOW 0xe40
#define CTX_PASSES 0xe48
#define CTX_BLANK_LANES 0xe00
#define CTX_TARGETS 0x1000
#define CTX_BUSY_BYTES 0x81000 ///< up to here it is used by every run
#define CTX_NAT 0x81000
#define CTX_NAT_LEFT 0x81080
#define CTX_NAT_COUNTERS 96
#define CTX_NAT_BYTES 0x82000
#define CTX_NAT_BYTES_ROOM 0x11000
#define CTX_NAT_CALLS 0x93000
#define CTX_MUTED 0x113000
#define CTX_MUTE_SPILL 0xd90
#define CTX_VECTORS 0x153000
#define CTX_BLANK_BITS 0x153900
#define CTX_UNGUARDED_TARGETS 0x155000
#define CTX_BYTES 0x1d5000

// Bits of lacks: what this CPU or kernel has not.
#define CTX_LACKS_FSGSBASE 1 ///< the fs base goes through arch_prctl
#define CTX_LACKS_XSAVE 2    ///< there is x87 and SSE alone
/** Where the last x87 instruction lay is saved with an exception pending only (AMD APM volume 2,
 * 11.4.4), and is asked of fnstenv, which tells 32 bits of it. */
#define CTX_LACKS_X87_PLACE 4
/** Operands relative to fs are rewritten (far.c): the guest's base of it is not loaded, because of the first, or their
 * addresses are asked for (guard.h). */
#define CTX_HAS_NO_FS 8

/** AC and DF, which C does not bear. */
#define CTX_TURNED 0x40400

// Exit numbers that are no index: what the fault handler sets, and dec_miss.
#define DEC_EXIT_FAULT 0xffffffff
#define DEC_EXIT_INDIRECT 0xfffffffe
#define DEC_EXIT_GUARD 0xfffffffd
#define DEC_EXIT_GUARD_QUICK 0xfffffffc

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEC_CANARY 0xfa017115eed5afe1u

struct dec_ctx {
	uint64_t gpr[16]; ///< guest registers while C runs
	uint64_t rip, rflags, fs_base;
	uint64_t quick;	   ///< address of dec_exit_quick; 0: vectors cannot be moved so
	uint64_t spill[4]; ///< guest registers that emitted code borrows
	uint64_t log;	   ///< where the next block's record goes
	uint64_t ind;	   ///< guest target of an indirect branch
	uint64_t miss;	   ///< address of dec_miss
	uint32_t exit_id;  ///< index into the engine's exits
	uint32_t lacks;	   ///< CTX_LACKS_*
	uint64_t common;   ///< address of dec_exit or dec_exit_integer
	uint64_t entry;	   ///< host address to enter at
	uint64_t host_rsp, host_fs;
	uint64_t xmask; ///< XSAVE components that the guest may use
	uint64_t fault_pc, fault_addr, fault_signo, fault_code;
	uint64_t canary;  ///< DEC_CANARY; a guest that scribbled here is noticed
	uint64_t gs_base; ///< the guest's; the machine's own gs holds this context
	uint64_t pkru;	  ///< the guest's protection keys; not enforced
	uint8_t xsave[CTX_XSAVE_BYTES]; ///< 64-byte aligned XSAVE area
	uint64_t async_gpr[16]; ///< registers at which dec_engine_set_async() stops
	/** Instructions that may still run: their sum. Each block counts in one of them; a
	 * single one would be a chain through all that runs. */
	int64_t budget[CTX_CELLS];
	/** Their sum: less the instructions of blocks that the log has no records of; never reset while it
	 * grows. Without muted pages (mute.h) it is the first. */
	uint64_t quiet[CTX_CELLS];
	uint8_t vector[64]; ///< a guest register that emitted code borrows
	uint32_t tag[16];   ///< of general registers: guard.h
	/** Where its nodes lie: from the first to the last; from the first on; in the other piece. */
	uint64_t heap_low, heap_span, high_low, high_span;
	uint32_t vec_tags;	 ///< bit n: a lane of vector register n has a tag
	uint32_t guard_event;	 ///< of exit DEC_EXIT_GUARD
	uint64_t guard_spill[5]; ///< registers that it borrows; rax; flags
	uint64_t mute_spill[2];	 ///< registers that mute.c borrows
	uint64_t low_span;	 ///< of the first piece
	uint32_t blank;		 ///< registers: blank.h
	uint32_t blank_hook;
	uint64_t blank_call[5]; ///< rsp, rdi, rsi, rdx, return address
	uint64_t stop_door;	///< address of dec_stop_door; 0: it is shut
	/** The last call of a string function by a pointer, perhaps under way: rsp, return address. */
	uint64_t string_call[2];
	uint32_t guard_tag; ///< that emitted code has no register for
	uint32_t pad3;
	uint64_t door; ///< address of dec_door, or dec_wary_door; 0: it is shut
	uint8_t blank_lanes[64];
	uint32_t blank_low, blank_high;
	int64_t passes; ///< of pads (translation.h) until the one at hand is given up for a continuation
	uint8_t pad6[CTX_TARGETS - CTX_PASSES - 8];
	/** Where an indirect branch goes, by the low 16 bits of its target: the landing of
	 * a block, which looks whether it is meant, or dec_miss. */
	uint64_t targets[65536];
	// Of runs that propagate NaT bits alone (nat.h):
	uint32_t nat; ///< registers that are one: dec_nat_fold()
	uint8_t pad4[CTX_NAT_LEFT - CTX_NAT - 4];
	/** How often until C wants to know of it an instruction that is counted will be met. */
	uint64_t nat_left[CTX_NAT_COUNTERS];
	uint8_t pad5[CTX_NAT_BYTES - CTX_NAT_LEFT - 8 * CTX_NAT_COUNTERS];
	/** How many bytes of memory are NaT whose address has these bits 3 to 18, 255 being many;
	 * the first 64 counts once more behind the others. */
	uint8_t nat_bytes[CTX_NAT_BYTES_ROOM];
	/** Of the call whose return address lies at [s, s+8): number (s + 8 & 0xffff) / 8. */
	struct dec_nat_call {
		uint64_t
			tag; ///< s + 8, and in the six highest bits which of `saved` are NaT
		uint64_t ret;	   ///< where it returns to
		uint64_t saved[6]; ///< rbx, rbp, r12 to r15 as the caller has them
	} nat_calls[8192];
	/** Stores into which pages are not logged, by the low 16 bits of their numbers: mute.h. */
	uint32_t muted[65536];
	uint8_t vectors
		[CTX_BLANK_BITS -
		 CTX_VECTORS]; ///< .. while C runs that was come to by dec_exit_quick
	uint8_t blank_bits[CTX_UNGUARDED_TARGETS - CTX_BLANK_BITS]; ///< struct blank_bits
	uint64_t unguarded_targets[65536]; ///< as targets, of unguarded blocks
};

/** The flags of @p rflags as the guest gets them: the arithmetic ones, DF, AC and ID are
 * the program's own; IF and bit 1 are always set; TF is never. */
static inline uint64_t ctx_user_flags(uint64_t rflags)
{
	return (rflags & 0x240cd5) | 0x202;
}

#define CTX_PIN(field, off) \
	_Static_assert(offsetof(struct dec_ctx, field) == (off), #field)
CTX_PIN(gpr, CTX_GPR);
CTX_PIN(rip, CTX_RIP);
CTX_PIN(rflags, CTX_RFLAGS);
CTX_PIN(fs_base, CTX_FS_BASE);
CTX_PIN(quick, CTX_QUICK);
CTX_PIN(spill, CTX_SPILL);
CTX_PIN(log, CTX_LOG);
CTX_PIN(quiet, CTX_QUIET);
CTX_PIN(ind, CTX_IND);
CTX_PIN(miss, CTX_MISS);
CTX_PIN(exit_id, CTX_EXIT_ID);
CTX_PIN(lacks, CTX_LACKS);
CTX_PIN(common, CTX_COMMON);
CTX_PIN(entry, CTX_ENTRY);
CTX_PIN(host_rsp, CTX_HOST_RSP);
CTX_PIN(host_fs, CTX_HOST_FS);
CTX_PIN(xmask, CTX_XMASK);
CTX_PIN(fault_pc, CTX_FAULT_PC);
CTX_PIN(fault_addr, CTX_FAULT_ADDR);
CTX_PIN(fault_signo, CTX_FAULT_SIGNO);
CTX_PIN(fault_code, CTX_FAULT_CODE);
CTX_PIN(canary, CTX_CANARY);
CTX_PIN(gs_base, CTX_GS_BASE);
CTX_PIN(pkru, CTX_PKRU);
CTX_PIN(xsave, CTX_XSAVE);
CTX_PIN(async_gpr, CTX_ASYNC);
CTX_PIN(budget, CTX_BUDGET);
CTX_PIN(vector, CTX_VECTOR);
CTX_PIN(tag, CTX_TAG);
CTX_PIN(heap_low, CTX_HEAP_LOW);
CTX_PIN(heap_span, CTX_HEAP_SPAN);
CTX_PIN(high_low, CTX_HIGH_LOW);
CTX_PIN(high_span, CTX_HIGH_SPAN);
CTX_PIN(vec_tags, CTX_VEC_TAGS);
CTX_PIN(guard_event, CTX_GUARD_EVENT);
CTX_PIN(guard_spill, CTX_GUARD_SPILL);
CTX_PIN(mute_spill, CTX_MUTE_SPILL);
CTX_PIN(low_span, CTX_LOW_SPAN);
CTX_PIN(blank, CTX_BLANK);
CTX_PIN(blank_low, CTX_BLANK_LOW);
CTX_PIN(blank_hook, CTX_BLANK_HOOK);
CTX_PIN(blank_call, CTX_BLANK_CALL);
CTX_PIN(blank_lanes, CTX_BLANK_LANES);
CTX_PIN(passes, CTX_PASSES);
CTX_PIN(stop_door, CTX_STOP_DOOR);
CTX_PIN(string_call, CTX_STRING_CALL);
CTX_PIN(guard_tag, CTX_GUARD_TAG);
CTX_PIN(door, CTX_DOOR);
CTX_PIN(targets, CTX_TARGETS);
CTX_PIN(nat, CTX_NAT);
CTX_PIN(nat_left, CTX_NAT_LEFT);
CTX_PIN(nat_bytes, CTX_NAT_BYTES);
CTX_PIN(nat_calls, CTX_NAT_CALLS);
CTX_PIN(muted, CTX_MUTED);
CTX_PIN(vectors, CTX_VECTORS);
CTX_PIN(blank_bits, CTX_BLANK_BITS);
CTX_PIN(unguarded_targets, CTX_UNGUARDED_TARGETS);
_Static_assert(sizeof(struct dec_ctx) == CTX_BYTES, "size");

/** @return a new context, all zeros; private memory. NULL: no memory. */
struct dec_ctx *dec_ctx_create(void);

/** The guest wanted @p n places below 2 GiB that others had: after some there is no room there. */
void dec_ctx_skip(unsigned n);

/** @return less the instructions that are in no record. */
static inline uint64_t ctx_quiet(const struct dec_ctx *c)
{
	uint64_t sum = 0;

	for (int i = 0; i < CTX_CELLS; i++)
		sum += c->quiet[i];
	return sum;
}

/** @return whether [addr, addr+size) has a byte of @p c. */
static inline bool ctx_is_in(const struct dec_ctx *c, uint64_t addr, uint64_t size)
{
	return addr < (uint64_t)c + sizeof(*c) && (uint64_t)c < addr + size;
}

/** Run the guest from ctx->entry until an exit; gs must hold @p ctx. */
void dec_enter(struct dec_ctx *ctx);

/** The same for code that leaves vector and x87 registers alone: C's stay in place, the
 * guest's in the context. */
void dec_enter_integer(struct dec_ctx *ctx);

/** The same behind dec_exit_quick: C had the guest's x87 and mxcsr, and its vector registers were put aside by moves,
 * which takes a quarter of the time. They are in ctx->vectors, not in ctx->xsave. */
void dec_enter_quick(struct dec_ctx *ctx);

/** Where emitted code goes with an event that C may see to with the guest's vectors where they are: dec_guard_door(), which
 * says where it goes on. Only with CTX_HAS_NO_FS. */
extern const char dec_door[];

/** .. where the guest may have AC or DF set, which C must not have: it takes longer. */
extern const char dec_wary_door[];

/** .. from a stop, its exit in ctx->exit_id: dec_engine_at_stop_door(). */
extern const char dec_stop_door[];

/** Where emitted code goes to leave the guest (not C functions). */
extern const char dec_exit[], dec_exit_integer[], dec_exit_quick[];

/** Where an indirect branch goes whose target is in r11, the guest's r11 and rcx in spill[0] and
 * [1], when no landing is its: exit DEC_EXIT_INDIRECT. */
extern const char dec_miss[];

/** rt_sigreturn, for handlers that libc does not know of. */
void dec_sigreturn(void);

#endif
#endif
