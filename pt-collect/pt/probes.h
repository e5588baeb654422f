// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a reader of a trace must know of our probes (doc/pt.md, "Probes"): where they had
 * breakpoints, and the kernel's page for them (probes.c).
 */
#ifndef PT_COLLECT_PT_PROBES_H
#define PT_COLLECT_PT_PROBES_H

#include "pt-collect/pt/record.h"

/** Process @p p still has its memory: note where the kernel's page is. */
void ptc_pt_probes_note(struct ptc_pt_process *p);

/** Tell of the probes of @p p. What memory lacks for is not told. */
void ptc_pt_probes_tell(struct ptc_pt_process *p, struct cap_pt *ret);

#endif
