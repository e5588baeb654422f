// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The oracle: a child process with the same code and scratch memory at the same addresses,
 * single-stepped by ptrace. The code is shared; the scratch memory is the child's own, but
 * the parent sees it through a second mapping.
 */
#ifndef TESTS_CPU_NATIVE_H
#define TESTS_CPU_NATIVE_H

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode/x86/insn.h"

// All below 2 GiB, so that 32-bit displacements and addresses reach it.
#define CPU_CODE 0x20000000ul
#define CPU_CODE_BYTES 0x10000ul
#define CPU_CONST 0x20010000ul ///< constants the sequences load; shared with the code
#define CPU_CONST_BYTES 0x1000ul
#define CPU_SCRATCH 0x20020000ul
#define CPU_SCRATCH_BYTES 0x6000ul
#define CPU_MIDDLE (CPU_SCRATCH + 0x1800) ///< where most operands lie
#define CPU_STACK (CPU_SCRATCH + 0x2800)
#define CPU_FS (CPU_SCRATCH + 0x3800)
#define CPU_GS (CPU_FS - 0x80)
#define CPU_IMAGES (CPU_SCRATCH + 0x5000) ///< state images for fxrstor and the like

#define CPU_XSAVE_BYTES 2752 ///< legacy area, header, AVX and the three of AVX-512

/** User-visible flags: CF PF AF ZF SF DF OF. */
#define CPU_FLAGS 0xcd5u

struct cpu_state {
	struct user_regs_struct regs;
	uint8_t xsave[16384] __attribute__((aligned(64)));
	size_t xsave_bytes;
};

#define CPU_HIGHEST 0x7fffffffffffull ///< of the addresses that programs may have

static inline bool cpu_is_canonical(uint64_t addr)
{
	return (uint64_t)((int64_t)(addr << 16) >> 16) == addr;
}

struct native {
	pid_t pid;
	uint8_t *code;		///< CPU_CODE in this process
	uint8_t *scratch;	///< the child's scratch memory, mapped here
	struct cpu_state start; ///< valid registers to derive states from
};

/* Numbers of struct user_regs_struct's members in instruction encoding order. */
static inline unsigned long long *cpu_gpr(struct user_regs_struct *r, int i)
{
	unsigned long long *const at[16] = {
		&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp, &r->rsi, &r->rdi,
		&r->r8,	 &r->r9,  &r->r10, &r->r11, &r->r12, &r->r13, &r->r14, &r->r15,
	};

	return at[i];
}

static inline void native_get(const struct native *n, struct cpu_state *s)
{
	struct iovec v = { s->xsave, sizeof(s->xsave) };

	if (ptrace(PTRACE_GETREGS, n->pid, 0, &s->regs) ||
	    ptrace(PTRACE_GETREGSET, n->pid, NT_X86_XSTATE, &v)) {
		perror("ptrace get");
		abort();
	}
	s->xsave_bytes = v.iov_len;
}

static inline void native_set(const struct native *n, struct cpu_state *s)
{
	struct iovec v = { s->xsave, s->xsave_bytes };

	// No system call is being restarted.
	s->regs.orig_rax = -1;
	if (ptrace(PTRACE_SETREGS, n->pid, 0, &s->regs) ||
	    ptrace(PTRACE_SETREGSET, n->pid, NT_X86_XSTATE, &v)) {
		perror("ptrace set");
		abort();
	}
}

/** Execute one instruction, a rep with all its iterations. @return 0, or the signal that
 * it raised instead. */
static inline int native_step(const struct native *n, bool is_rep)
{
	struct user_regs_struct before, after;
	int status;

	ptrace(PTRACE_GETREGS, n->pid, 0, &before);
	do {
		if (ptrace(PTRACE_SINGLESTEP, n->pid, 0, 0) ||
		    waitpid(n->pid, &status, 0) != n->pid || !WIFSTOPPED(status)) {
			fprintf(stderr, "the native child died: status %#x\n", status);
			abort();
		}
		if (WSTOPSIG(status) != SIGTRAP)
			return WSTOPSIG(status);
		ptrace(PTRACE_GETREGS, n->pid, 0, &after);
	} while (is_rep && after.rip == before.rip);
	return 0;
}

static inline void *native_map(uint64_t at, size_t bytes, int fd, int prot)
{
	void *p = mmap((void *)at, bytes, prot,
		       (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) |
			       (at ? MAP_FIXED_NOREPLACE : 0),
		       fd, 0);

	if (p == MAP_FAILED || (at && p != (void *)at)) {
		perror("cannot map the test's memory");
		abort();
	}
	return p;
}

/** Map code, constants and scratch memory, and start the child. */
static inline void native_init(struct native *n)
{
	int code = memfd_create("code", MFD_CLOEXEC);
	int scratch = memfd_create("scratch", MFD_CLOEXEC);
	int status;

	if (code < 0 || scratch < 0 ||
	    ftruncate(code, CPU_CODE_BYTES + CPU_CONST_BYTES) ||
	    ftruncate(scratch, CPU_SCRATCH_BYTES)) {
		perror("memfd");
		abort();
	}
	n->code = native_map(CPU_CODE, CPU_CODE_BYTES + CPU_CONST_BYTES, code,
			     PROT_READ | PROT_WRITE | PROT_EXEC);
	native_map(CPU_SCRATCH, CPU_SCRATCH_BYTES, -1, PROT_READ | PROT_WRITE);
	n->scratch = native_map(0, CPU_SCRATCH_BYTES, scratch, PROT_READ | PROT_WRITE);
	n->pid = fork();
	if (!n->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mmap((void *)CPU_SCRATCH, CPU_SCRATCH_BYTES, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, scratch, 0) == MAP_FAILED ||
		    ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		raise(SIGSTOP);
		_exit(2);
	}
	if (n->pid < 0 || waitpid(n->pid, &status, 0) != n->pid || !WIFSTOPPED(status)) {
		fprintf(stderr, "cannot start the native child\n");
		abort();
	}
	close(code);
	close(scratch);
	native_get(n, &n->start);
}

static inline void native_deinit(struct native *n)
{
	kill(n->pid, SIGKILL);
	waitpid(n->pid, NULL, 0);
	munmap(n->code, CPU_CODE_BYTES + CPU_CONST_BYTES);
	munmap(n->scratch, CPU_SCRATCH_BYTES);
	munmap((void *)CPU_SCRATCH, CPU_SCRATCH_BYTES);
}

#endif
