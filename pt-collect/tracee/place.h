// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where we record: what kernel and container allow, and whose refusal an error was
 * (place.c).
 */
#ifndef PT_COLLECT_TRACEE_PLACE_H
#define PT_COLLECT_TRACEE_PLACE_H

#include "base/base.h"

/** Could what is recorded here be told apart? @return ERR_UNSUPPORTED in a PID namespace. */
struct err *ptc_place_check(void);

/** Can a BPF program of a system call lose the CPU on this kernel? Then the calls that another
 * thread makes on that CPU meanwhile are not seen. */
bool ptc_place_loses_calls(void);

/** The kernel refused the BPF programs with @p err (consumed). @return what is behind that,
 * if it is something known, or @p err. */
struct err *ptc_place_explain_bpf(struct err *err);

/** ptrace, or /proc/PID/mem, was refused with @p err (consumed). @return it, with Yama's part in it. */
struct err *ptc_place_explain_ptrace(struct err *err);

#endif
