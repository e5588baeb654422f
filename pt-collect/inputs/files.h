// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Files that the program maps (files.c), and who else can write what it shares
 * (shared.c).
 */
#ifndef PT_COLLECT_INPUTS_FILES_H
#define PT_COLLECT_INPUTS_FILES_H

#include "pt-collect/inputs/process.h"
#include "pt-collect/tracee/tracee.h"

struct stat;

/** The program mapped a file: keep what it mapped. */
void ptc_files_mapped(struct ptc_process *p, struct ptc_thread *t,
		      const struct rec_syscall *e, struct cap_event *ev);

/** Keep the file behind @p path in the target's mapping; 0 when it cannot be had. */
uint32_t ptc_files_keep(struct ptc_process *p, const struct ptc_map *m);

/** Keep the files behind all mappings that @p p has now, but for shared memory; it may run.
 * @return NULL, or ERR_OS: its mappings cannot be read. */
struct err *ptc_files_keep_all(struct ptc_process *p);

/** Place -e heap's and -e stores' probes in what has been mapped as code. */
void ptc_files_probe(struct ptc_process *p, const struct ptc_maps *maps);

/** @return a number that is the same for the same file; never 0. */
uint64_t ptc_shared_identity(const struct stat *st);

/** The program mapped file @p key shared: log a gap if others can write it, now or later. */
void ptc_shared_mapped(struct ptc_process *p, uint64_t key);

/** Look again. */
void ptc_shared_look(struct ptc_process *p);

/** The System V segment at @p addr. @return false when there is nothing. */
bool ptc_shared_segment(struct ptc_process *p, uint64_t addr, uint64_t *size,
			uint64_t *key);

#endif
