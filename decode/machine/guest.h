// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The guest's memory in this process: mapped at its own addresses from the start state,
 * changed as the recorded system calls changed it. Guest memory is never executable
 * here; what the guest may execute is bookkeeping (dec_guest_avail()).
 *
 * Invariant 1: every guest page is in `ranges`; whatever else is mapped is ours. A guest
 * mapping that would cover something of ours is a collision, and so is a recorded fault at an
 * address where we have something: the machine starts over in a fresh process, whose own
 * addresses the kernel places elsewhere.
 */
#ifndef DECODE_MACHINE_GUEST_H
#define DECODE_MACHINE_GUEST_H

#include "base/base.h"
#include "capture/capture.h"
#include "decode/translator/engine.h"

struct guest_range {
	uint64_t start, end;
	int prot;
};

/** A mapping whose file may be mapped elsewhere, too: see alias.h. */
struct guest_alias {
	uint64_t key, offset; ///< which file, and where in it
	uint64_t start, end;
	bool is_shared;
	bool is_met; ///< another one has, or had, some of the same, and one of the two is shared
	bool is_real; ///< maps the memory file
};

struct dec_guest {
	struct dec_engine *engine;
	const struct capture *capture;
	/** Where XSAVE areas have what: this CPU's, in signal frames, in cores. */
	struct cap_xstate_layout host_xstate, xstate, core_xstate;
	VEC(struct guest_range) ranges; ///< ascending, disjoint
	int *file_fds;			///< of kept files, by index; -1: not kept
	size_t n_files;
	uint64_t brk;	 ///< 0 until the first brk call tells
	struct map code; ///< writable pages (address >> 12) whose code was
			 ///< translated: made read-only here, so that a
			 ///< change of it is noticed
	struct map
		stores; ///< .. stored to: page -> when last << 8 | how often in quick succession
	bool is_changing_code; ///< protect no page now
	/** As dec_guest_remap(), or NULL. */
	void (*remapping)(uint64_t start, uint64_t end);
	uint64_t stack_start; ///< lowest address reserved for the stack
	uint64_t stack_end;   ///< 0: there is none
	int stack_prot;
	VEC(struct guest_alias) aliases;
	VEC(uint64_t) alias_keys; ///< by number of the window in the memory file
	int alias_fd;		  ///< the memory file; 0 = not needed yet
	uint64_t alias_own_keys;  ///< given to mappings of no file that are mapped again
	/** It has threads, or shares memory with other processes: these ran on when the recorder looked at what
	 * a call had mapped. */
	bool is_in_company;
	bool has_collided; ///< an error was a collision (invariant 1)
	bool has_met_ctx;  ///< and that with the engine's context
	size_t last_hit;   ///< into ranges: where the last look-up ended
	/** A page that ranges have and that is kept from the guest: in the recorded run nothing was
	 * behind it. 0: none. */
	uint64_t hidden;
	/** Told of what dec_guest_write() is about to write. May be NULL. */
	void (*written)(void *ctx, uint64_t addr, uint64_t size);
	void *written_ctx;
};

/** The host's mappings in [start, end), which is guest memory, or their protections are about to
 * change. */
void dec_guest_remap(const struct dec_guest *g, uint64_t start, uint64_t end);

/** mprotect() without errno, for handlers of faults. @return whether it could be done. */
ENGINE_BARE bool dec_guest_protect_bare(uint64_t start, uint64_t size, uint64_t prot);

/** Have memory of the guest's that fills large pages lie in some: a fork is then soon made and soon
 * ended. What is not there yet takes no memory. */
void dec_guest_gather(const struct dec_guest *g);

/** @return bytes of the guest's memory that are there, as a program's resident size: what it may
 * write, and half of the rest. Of ranges of over 4 GiB none. */
uint64_t dec_guest_resident(const struct dec_guest *g);

/** @return the first piece of @p start to @p end, of the guest's pages, that may hold anything but zeros, as far as that is
 * known of what nobody touched; behind it perhaps more. Where it begins at @p end there is none. */
struct guest_range dec_guest_touched(const struct dec_guest *g, uint64_t start,
				     uint64_t end);

/** Map the start state of @p core and set the engine's registers. Opens the kept files,
 * so that the sandbox can close behind it. */
struct err *dec_guest_init(struct dec_guest *g, struct dec_engine *e,
			   const struct capture *c, const struct cap_core *core);

/** Make of @p bytes of @p xstate, laid out as @p layout says, what the machine restores. Too
 * short a one changes nothing. @p xsave: CTX_XSAVE_BYTES. */
void dec_guest_load_xstate(const struct dec_guest *g, const uint8_t *xstate, size_t bytes,
			   const struct cap_xstate_layout *layout, uint8_t *xsave);

/** @return the protection keys' register in @p bytes of @p xstate (SDM volume 1, 13.5.7); what
 * programs begin with when they are not in it. */
uint64_t dec_guest_xstate_keys(const uint8_t *xstate, size_t bytes,
			       const struct cap_xstate_layout *layout);

/** @return bytes from @p addr that allow @p prot. */
uint64_t dec_guest_avail(struct dec_guest *g, uint64_t addr, int prot);

/** @return whether there is memory at @p addr, be it protected from all use. */
bool dec_guest_is_mapped(const struct dec_guest *g, uint64_t addr);

/** The guest is to use @p addr, where it has nothing, as a recorded fault or an alteration says: is
 * there something of ours? Then that is a collision. */
bool dec_guest_meets_ours(struct dec_guest *g, uint64_t addr);

/** Decode the instruction at @p rip. @return false: there is none. */
bool dec_guest_insn(struct dec_guest *g, uint64_t rip, struct dec_insn *ret);

/** Code of @p page (address >> 12) is being translated: notice when it changes. @return false: not this time, as there
 * are stores to it all the time. */
bool dec_guest_protect_code(struct dec_guest *g, uint64_t page);

/** The guest wrote at @p addr. @return whether that is a page protected by
 * dec_guest_protect_code(): it is writable again, and its translations are gone. */
bool dec_guest_unprotect_code(struct dec_guest *g, uint64_t addr);

/** The instruction at rip changes code on a page that dec_guest_unprotect_code() gave free, its
 * own perhaps: execute it, once, with nothing of it kept. */
enum dec_verdict dec_guest_change_code(struct dec_guest *g);

/** [start, end) is mapped anew behind the guest's back: protect it as the guest has it. */
struct err *dec_guest_restore(struct dec_guest *g, uint64_t start, uint64_t end);

/** Copy @p size bytes into the guest as the kernel did: inside one page also where the guest may
 * not write (a file that is mapped there did change, or /proc/self/mem). @return ERR_DIVERGED
 * when the guest has no such memory. */
struct err *dec_guest_write(struct dec_guest *g, uint64_t addr, const void *data,
			    uint64_t size);

/** Redo what the memory system call in @p ev did (mmap, munmap, mprotect, mremap, brk,
 * madvise); others are left alone. @return ERR_DIVERGED, ERR_UNSUPPORTED, ERR_NOMEM. */
struct err *dec_guest_syscall(struct dec_guest *g, const struct cap_event *ev);

#endif
