// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A stopped thread's registers, memory and mappings, and calls it is made to make
 * (tracee.c).
 */
#ifndef PT_COLLECT_TRACEE_TRACEE_H
#define PT_COLLECT_TRACEE_TRACEE_H

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "capture/capture.h"

/** What memory has where a breakpoint is, or a probe. */
#define PTC_INT3 0xcc

/** A process that is traced. */
struct ptc_tracee {
	pid_t pid;
	int mem_fd;	     ///< /proc/PID/mem; -1 = not open
	uint64_t syscall_at; ///< address of a syscall instruction in the vDSO; 0 = none
	char *exe;
};

/** What its threads are traced with. */
#define PTC_TRACE_OPTIONS                                                      \
	(PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK |        \
	 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACESYSGOOD)

/** Open its memory and read what it executes; anew when it has executed another program. */
struct err *ptc_tracee_open(struct ptc_tracee *t);

/** It has executed a program that is not recorded: its memory anew, its name as it was. */
struct err *ptc_tracee_reopen(struct ptc_tracee *t);
void ptc_tracee_close(struct ptc_tracee *t);

/** CLOCK_MONOTONIC, as events have it. */
uint64_t ptc_now_ns(void);

/** Bytes of the target's memory; works on read-protected pages too. */
struct err *ptc_read(const struct ptc_tracee *t, uint64_t addr, void *buf, size_t size);

/** As much as is readable from @p addr on, at most @p size. @return bytes. */
size_t ptc_read_some(const struct ptc_tracee *t, uint64_t addr, void *buf, size_t size);

/** Write all @p size bytes to @p addr, whatever its protection (/proc/PID/mem). @return NULL, or
 * ERR_OS where nothing is mapped. */
struct err *ptc_write(const struct ptc_tracee *t, uint64_t addr, const void *buf,
		      size_t size);

/** The registers of thread @p tid, which stands in a ptrace stop; the same as captures have
 * them. @return NULL, or ERR_OS: it does not stand, or is gone. */
struct err *ptc_get_regs(pid_t tid, struct user_regs_struct *u);
struct cap_regs ptc_to_cap(const struct user_regs_struct *u);

/** waitpid() for one thread that goes on after a stop. The kernel does not tell of the end
 * of a first thread as long as others are left, and these may stand at their ends until we
 * let them go: waitpid() would never return.
 *
 * @return 0 when it has ended so; then waitpid() will tell later. */
pid_t ptc_wait(pid_t tid, int *status);

#define PTC_END_STOP (SIGTRAP | PTRACE_EVENT_EXIT << 8) ///< si_code at a thread's end

/** Was @p tid, which we had stopped, killed meanwhile? Its end is reported for itself. */
bool ptc_is_killed(pid_t tid);

/** Make stopped thread @p tid execute a system call with the syscall instruction at
 * @p at. Its registers are as before afterwards. @p ret gets its result. */
struct err *ptc_inject(pid_t tid, uint64_t at, long nr, const uint64_t args[6],
		       long *ret);

/** Keep signals away from stopped @p tid, but for those that cannot be, and SIGTRAP.
 * @p mask gets what it blocked. @return whether that worked. */
bool ptc_block_signals(pid_t tid, uint64_t *mask);
void ptc_unblock_signals(pid_t tid, uint64_t mask);

/** Let resting @p tid execute a little. */
struct err *ptc_nudge(pid_t tid);

/** Is @p tid as ptc_block_signals() left it? */
bool ptc_are_signals_blocked(pid_t tid);

/** Let @p tid execute rdtsc (@p tsc) and cpuid itself, or trap. */
struct err *ptc_set_chance(pid_t tid, uint64_t at, bool tsc, bool cpuid);

/** Both. */
struct err *ptc_allow_chance(pid_t tid, uint64_t at, bool is_allowed);

/** One line of /proc/PID/maps. */
struct ptc_map {
	uint64_t start, end, offset;
	int prot;
	bool is_shared;
	unsigned major, minor; ///< of the device that has the inode
	uint64_t inode;
	char name[4096]; ///< "" when anonymous
};

struct ptc_maps {
	VEC(struct ptc_map *) list;
};

/** The mappings of @p pid, ascending, added to @p maps; deinit it also after a failure. */
struct err *ptc_maps_read(pid_t pid, struct ptc_maps *maps);
void ptc_maps_deinit(struct ptc_maps *maps);

/** The first mapping of @p name; NULL = there is none. */
const struct ptc_map *ptc_maps_find(const struct ptc_maps *maps, const char *name);

/** Open the file behind a mapping of @p pid: by the mapping itself where allowed, else by name.
 * @return a descriptor or -1. */
int ptc_map_open(pid_t pid, const struct ptc_map *m);

/** Memory that other processes may write too? */
bool ptc_is_shared_memory(const struct ptc_map *m);

/** A syscall instruction in the vDSO: executable, always there, and not the program's
 * text. @return its address, 0 when there is none. */
uint64_t ptc_find_syscall(const struct ptc_tracee *t, const struct ptc_maps *maps);

#endif
