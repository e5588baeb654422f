// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Instructions whose result is chance, rdrand and its kin, and cpuid where that cannot trap:
 * what they gave (chance.c), and where they are (code.c).
 */
#ifndef PT_COLLECT_PROBES_CHANCE_H
#define PT_COLLECT_PROBES_CHANCE_H

#include "pt-collect/ptc.h"
#include "pt-collect/tracee/tracee.h"

/** Probe each rdrand, rdseed and rdpid, and cpuid where it cannot trap, in [@p offset, @p offset + @p size) of file
 * @p path, which process @p p has mapped as code. What cannot be probed is said in the
 * log of faultline's own; replay stops there by name. */
void ptc_chance_mapped(struct ptc_process *p, const char *path, uint64_t offset,
		       uint64_t size);

/** The same for all that is mapped now. */
void ptc_chance_start(struct ptc_process *p, const struct ptc_maps *maps);

/** Probe in @p p, just forked with @p maps, what its ancestors' files have. */
void ptc_chance_forked(struct ptc_process *p, const struct ptc_maps *maps);

/** Forget what was found in files. */
void ptc_chance_sites_deinit(ptc_chance_sites *sites);

/** Thread @p tid stopped: when that is behind such an instruction, log what it gave; of cpuid
 * the thread gets what it is to see. */
void ptc_chance_stopped(struct ptc_process *p, pid_t tid);

/** The ring says that thread @p t is about to execute such an instruction. */
void ptc_chance_begun(struct ptc_thread *t, const struct rec_chance *e);

/** The ring says that thread @p t does not run any more: log what such an instruction gave
 * if it stands behind one. Corrects @p s, where it stands inside the probe. */
void ptc_chance_switched(struct ptc_process *p, struct ptc_thread *t,
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

/**
 * Is there, in the file's code, an instruction of which byte @p offset is part of the
 * opcode? Only when all of the function around it is sound: decoded from its beginning it
 * is instructions, and no branch inside it lands in the middle of one.
 *
 * @return the file offset of that instruction; 0 = not known.
 */
uint64_t ptc_code_find(struct ptc_code *c, uint64_t offset);

#endif
