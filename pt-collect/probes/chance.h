// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Instructions whose result is chance, rdrand and its kin, and cpuid and rdtsc where they cannot
 * trap: what they gave (chance.c), and where they are (code.c).
 */
#ifndef PT_COLLECT_PROBES_CHANCE_H
#define PT_COLLECT_PROBES_CHANCE_H

#include "pt-collect/probes/probes.h"

/** An instruction whose result is chance, or cpuid or rdtsc where that cannot trap, which a thread
 * is about to execute and to stop behind. */
struct ptc_chance {
	uint64_t rip; ///< 0 = none
	enum rec_chance_insn insn;
	uint32_t gpr[4]; ///< rax, rcx, rdx, rbx before it
	/** cpuid: what the program sees (eax, ebx, ecx, edx), when that is not what
	 * the CPU gave. Logged already; the thread gets it at the stop. Until then,
	 * CLOCK_MONOTONIC, switches from it have the other; 0 = nothing of this. */
	uint64_t changed_ns;
	uint64_t behind; ///< where the thread stands then
	uint32_t answer[4];
	uint64_t last_tsc; ///< what rdtsc gave last; later ones give more
};

/** Probe each rdrand, rdseed and rdpid, and cpuid and rdtsc where they cannot trap, in [@p offset,
 * @p offset + @p size) of file @p path, which the process has mapped as code. What cannot be
 * probed is said in the log of faultline's own; replay stops there by name. */
void ptc_chance_mapped(struct ptc_probes *x, const char *path, uint64_t offset,
		       uint64_t size);

/** The same for all that is mapped now. */
void ptc_chance_start(struct ptc_probes *x, const struct ptc_maps *maps);

/** Probe in a process just forked with @p maps, what its ancestors' files have. */
void ptc_chance_forked(struct ptc_probes *x, const struct ptc_maps *maps);

/** Forget what was found in files. */
void ptc_chance_found_deinit(struct ptc_probing *all);

/** Thread @p tid stopped: when that is behind such an instruction @p c, log what it gave; of
 * cpuid the thread gets what it is to see. */
void ptc_chance_stopped(struct ptc_probes *x, pid_t tid, struct ptc_chance *c);

/** @return whether the thread of @p c came to an instruction in front of a cpuid that is to be answered when it stops
 * there (ptc_trap_cpuid()). */
bool ptc_chance_is_before_cpuid(const struct ptc_chance *c);

/** The ring says that a thread is about to execute such an instruction. */
void ptc_chance_begun(struct ptc_chance *c, const struct rec_chance *e);

/** The ring says that a thread, with @p c, is behind an rdtsc: log what that gave. */
void ptc_chance_behind(struct ptc_probes *x, struct ptc_chance *c,
		       const struct rec_chance *e);

/** Add a site, once. @return whether it was not there. */
bool ptc_chance_sites_add(ptc_chance_sites *sites, const char *path, uint64_t at,
			  uint64_t insn);
void ptc_chance_sites_deinit(ptc_chance_sites *sites);

/** Add a place, at file offset @p at, once: a file's segments may share a page, and pieces of it bytes.
 * @param insn  enum rec_chance_insn */
void ptc_chance_places_add(struct ptc_chance_places *p, uint64_t at, uint64_t insn);
/** Add an rdtsc, or rdtscp, at file offset @p at: to be probed @p behind it, or, if that is 0, itself. */
void ptc_chance_places_add_tsc(struct ptc_chance_places *p, uint64_t at, bool is_tscp,
			       uint64_t behind);
void ptc_chance_places_deinit(struct ptc_chance_places *p);

/** Probe @p places of file @p path. @return whether they are; why not is logged. */
bool ptc_chance_probe(struct ptc_probes *x, const char *path,
		      const struct ptc_chance_places *places);

/**
 * Probe each rdtsc and rdtscp of what is mapped as code @p maps, most behind it. It must not trap any
 * more for these to tell (tsc.c).
 *
 * @return whether that is all there can be: not where there is code of no file, or that could be written, or
 *         that nobody understands.
 */
bool ptc_tsc_probe(struct ptc_probes *x, const struct ptc_maps *maps);

/** The ring says that a thread, with @p c, does not run any more: log what such an
 * instruction gave if it stands behind one. Corrects @p s, where it stands inside the probe. */
void ptc_chance_switched(struct ptc_probes *x, struct ptc_chance *c,
			 struct rec_switch *s);

struct Elf;

/** @return the file offset of address @p addr, in a segment that has all of @p flags (PF_X);
 * 0 when none holds it. */
uint64_t ptc_code_offset(struct Elf *elf, uint32_t flags, uint64_t addr);

/** The functions of an ELF file, by what unwinders and symbols tell of their beginnings. */
struct ptc_code;

/** @p fd: borrowed until it is closed. @return NULL, ERR_FORMAT (no ELF file), ERR_NOMEM. */
struct err *ptc_code_open(int fd, struct ptc_code **ret);
void ptc_code_closep(struct ptc_code **c);

#define PTC_CODE_NONE UINT64_MAX

/** Instructions beside one, as file offsets; 0: there is none that can be probed, or a branch of
 * the function leads to the second of the two. */
struct ptc_code_beside {
	uint64_t before; ///< goes on to it
	uint64_t behind; ///< is no such instruction itself
};

/**
 * Is there, in the file's code, an instruction of which byte @p offset is part of the
 * opcode? Only when all of the function around it is sound: decoded from its beginning it
 * is instructions, and no branch inside it lands in the middle of one.
 *
 * @param ret  untouched when nothing is known
 * @return the file offset of that instruction; PTC_CODE_NONE; 0 = not known.
 */
uint64_t ptc_code_find(struct ptc_code *c, uint64_t offset, struct ptc_code_beside *ret);

#endif
