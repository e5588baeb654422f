// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The functions of the vDSO of a program that is attached to: made to make real system
 * calls, and changed back (vdso.c).
 */
#ifndef PT_COLLECT_TRACEE_VDSO_H
#define PT_COLLECT_TRACEE_VDSO_H

#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

struct ptc_maps;
struct ptc_tracee;

#define PTC_VDSO_STUBS 6

struct ptc_vdso_stub {
	uint64_t at, size; ///< of the function; 0 = there is none
	uint8_t original[24];
};

/** The vDSO of a process that is attached to. */
struct ptc_vdso {
	uint64_t start, end;
	uint64_t gate; ///< `syscall' and a jump to itself: where threads make our calls
	struct ptc_vdso_stub stubs[PTC_VDSO_STUBS];
};

/** Find the functions of the vDSO that are to make system calls. */
struct err *ptc_vdso_find(const struct ptc_tracee *t, const struct ptc_maps *maps,
			  struct ptc_vdso *v);

/** Change them, and change them back: no thread may be inside. */
struct err *ptc_vdso_divert(const struct ptc_tracee *t, const struct ptc_vdso *v);
struct err *ptc_vdso_restore(const struct ptc_tracee *t, const struct ptc_vdso *v);

/** Lead stopped @p tid out of the vDSO. */
struct err *ptc_vdso_leave(pid_t tid, const struct ptc_vdso *v);

#endif
