// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The programs of record.bpf.c in the kernel, each loaded when it is needed: verifying all
 * takes longer than most of what is recorded. They share one set of maps (programs.c). Loading takes privilege in use.
 */
#ifndef PT_COLLECT_KERNEL_PROGRAMS_H
#define PT_COLLECT_KERNEL_PROGRAMS_H

#include <bpf/libbpf.h>

#include "base/base.h"
#include "pt-collect/kernel/types.h"

#define PTC_UPROBE_MULTI 48 ///< BPF_TRACE_UPROBE_MULTI

struct record_bpf;

struct ptc_programs {
	VEC(struct record_bpf *) objects; ///< the first made the maps
	bool has_types;
	int types_fd;
	struct ptc_numbers numbers; ///< without call_end there can be no typed programs
	int handler;		    ///< by which libbpf loads those; 0: none
};

/** Load @p names (the last is NULL), none of which is loaded yet. */
struct err *ptc_programs_load(struct ptc_programs *p, const char *const *names);
void ptc_programs_deinit(struct ptc_programs *p);

/** The program of that name, loaded now if it was not. @return NULL: the kernel refuses. */
struct bpf_program *ptc_programs_get(struct ptc_programs *p, const char *name);

/** The program of that name is attached to its tracepoint. @return NULL: refused. */
struct bpf_link *ptc_programs_attach(struct ptc_programs *p, const char *name);

/** @return whether there is such a program, loaded or not. */
bool ptc_programs_has(const struct ptc_programs *p, const char *name);

/** The map of that name. @return -1: what has it is not loaded. */
int ptc_programs_map(const struct ptc_programs *p, const char *name);

#endif
