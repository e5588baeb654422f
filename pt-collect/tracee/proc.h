// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What /proc says of a process, a number at a time (proc.c).
 */
#ifndef PT_COLLECT_TRACEE_PROC_H
#define PT_COLLECT_TRACEE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

/** Numbers of threads, or of processes. */
typedef VEC(pid_t) ptc_tids;

static inline void ptc_tids_deinit(ptc_tids *tids)
{
	vec_deinit(tids);
}

/** Add the threads that process @p pid has now. @return false: it is gone, or nobody may
 * tell. */
bool ptc_tids_read(pid_t pid, ptc_tids *ret);

/** @return where /proc/PID/@p name leads to, "" when nowhere, to be freed; NULL: memory is
 * out. */
char *ptc_proc_link(pid_t pid, const char *name);

/** Find line "@p field:" of /proc/PID/task/TID/status; @p line gets what is behind it.
 * @return false when there is none. */
bool ptc_status_line(pid_t pid, pid_t tid, const char *field, char line[256]);

/** The number, or the first letter, of such a line; 0 = none. */
uint64_t ptc_status_number(pid_t pid, pid_t tid, const char *field, int base);
char ptc_status_letter(pid_t pid, pid_t tid, const char *field);

/** The hexadecimal numbers of @p n such lines, as they are at one time; 0 = none. */
void ptc_status_masks(pid_t tid, const char *const *fields, uint64_t *ret, size_t n);

/** Thread @p tid has ended, though somebody may still have to wait for it. */
bool ptc_is_ended(pid_t pid, pid_t tid);

/** Is @p pid the first process of a name space of them? */
bool ptc_is_first(pid_t pid);

/** Fields of /proc/PID/stat, by their numbers in proc(5). */
#define PTC_STAT_PARENT 4
#define PTC_STAT_MAJOR_FAULTS 12
#define PTC_STAT_BREAK_START 47
#define PTC_STAT_ENV_START 50
#define PTC_STAT_ENV_END 51

/** @return number @p field > 3 of /proc/PID/stat; 0 when the process is gone, or nobody
 * may tell. */
uint64_t ptc_stat_number(pid_t pid, unsigned field);

#endif
