// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The program stands at its first instruction: take away what would make it depend on
 * chance (the vDSO's clocks, rdtsc, cpuid), then save registers and memory.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "pt-collect/probes/chance.h"
#include "pt-collect/tracee/cpuid.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/probes/heap.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/start/start.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/probes/unprobed.h"

#define AUXV_MAX 64 ///< pairs; the kernel gives about 20
#define XSTATE_MAX (64u << 10)
#define XSTATE_ENABLED 464 ///< offset of XCR0 in the bytes left to software
#define XSTATE_IN_USE 512  ///< offset of XSTATE_BV
#define XSTATE_LEGACY 576  ///< bytes of an area with x87 and SSE only

/** Skip a NULL-terminated vector of pointers on the new stack. */
static struct err *skip_vector(const struct ptc_process *p, uint64_t *at)
{
	uint64_t pointer = 1;

	while (pointer) {
		struct err *err = ptc_read(&p->tracee, *at, &pointer, sizeof(pointer));

		if (err)
			return err;
		*at += sizeof(pointer);
	}
	return NULL;
}

/** Read the auxv from the stack (argc, argv, envp, auxv) and hide the vDSO in it, so that
 * libc makes real system calls for the time. @p core owns the result. */
static struct err *take_auxv(const struct ptc_process *p, uint64_t rsp,
			     struct cap_core *core)
{
	uint64_t at = rsp + 8;
	struct err *err = skip_vector(p, &at);

	if (!err)
		err = skip_vector(p, &at);
	if (err)
		return err;
	core->auxv = calloc(AUXV_MAX, 16);
	if (!core->auxv)
		return &err_nomem;
	for (; core->n_auxv < AUXV_MAX; at += 16) {
		uint64_t *pair = &core->auxv[2 * core->n_auxv];

		err = ptc_read(&p->tracee, at, pair, 16);
		if (err)
			return err;
		if (pair[0] == AT_SYSINFO_EHDR) {
			pair[0] = AT_IGNORE;
			err = ptc_write(&p->tracee, at, pair, 16);
			if (err)
				return err;
		}
		core->n_auxv++;
		if (pair[0] == AT_NULL)
			return NULL;
	}
	return err_new(ERR_UNSUPPORTED, "the program's auxiliary vector is too long");
}

/** A CPU without XSAVE (Nehalem and older; what hypervisors call kvm64, or x86-64-v2): what
 * FXSAVE tells, as XSAVE would have told it. */
static struct err *take_fxstate(pid_t tid, uint8_t *xstate, size_t *bytes)
{
	const uint64_t x87_and_sse = 3;
	struct iovec iov = { .iov_base = xstate,
			     .iov_len = sizeof(struct user_fpregs_struct) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRFPREG, &iov))
		return err_errno("cannot read the vector registers");
	memcpy(xstate + XSTATE_ENABLED, &x87_and_sse, 8);
	memcpy(xstate + XSTATE_IN_USE, &x87_and_sse, 8);
	*bytes = XSTATE_LEGACY;
	return NULL;
}

struct err *ptc_take_xstate(pid_t tid, uint8_t **xstate, size_t *bytes)
{
	const struct cap_cpu *here = ptc_cpu_here();
	_cleanup_free_ uint8_t *raw = calloc(1, XSTATE_MAX);
	struct iovec iov = { .iov_base = raw, .iov_len = XSTATE_MAX };
	struct cap_xstate_layout of_core = cap_core_xstate(), of_cpu;

	*xstate = calloc(1, XSTATE_MAX);
	if (!raw || !*xstate || !here)
		return &err_nomem;
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov))
		return errno == ENODEV ? take_fxstate(tid, *xstate, bytes) :
					 err_errno("cannot read the vector registers");
	of_cpu = cap_cpu_xstate(here);
	*bytes = cap_xstate_convert(*xstate, XSTATE_MAX, &of_core, raw, iov.iov_len,
				    &of_cpu);
	return NULL;
}

struct err *ptc_recall_auxv(pid_t pid, bool with_vdso, struct cap_core *core)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	core->auxv = calloc(AUXV_MAX, 16);
	if (!core->auxv)
		return &err_nomem;
	n = fd < 0 ? -1 : pread(fd, core->auxv, AUXV_MAX * 16, 0);
	if (n < 16)
		return err_errno("cannot read %s", path);
	core->n_auxv = n / 16;
	for (size_t i = 0; i < core->n_auxv; i++)
		if (core->auxv[2 * i] == AT_SYSINFO_EHDR && !with_vdso)
			core->auxv[2 * i] = AT_IGNORE;
	return NULL;
}

void ptc_core_destroyp(struct cap_core **core)
{
	cap_core_close(*core);
}

struct err *ptc_core_create(const struct ptc_tracee *t, struct cap_core **ret)
{
	struct cap_core *c = *ret = calloc(1, sizeof(*c));

	if (!c)
		return &err_nomem;
	c->fd = -1;
	c->tid = t->pid;
	c->exe = strdup(t->exe);
	return c->exe ? NULL : &err_nomem;
}

static struct err *save_state(struct ptc_process *p, const struct ptc_maps *maps,
			      struct cap_core *core)
{
	struct err *err =
		ptc_take_xstate(p->tracee.pid, &core->xstate, &core->xstate_bytes);
	// A forked process has its parent's breakpoints.
	struct ptc_unprobed memory = { &p->tracee, &p->left_out, maps };

	if (!err)
		err = ptc_take_mappings(p, maps, core);
	return err ?: cap_writer_core(p->log.writer, core, ptc_unprobed_read, &memory);
}

/** The beginning of a start state: @p maps as they are, and in @p core registers and name.
 * @p core is the caller's even on failure; @p why_none: what to say where there is no vDSO. */
static struct err *begin_state(struct ptc_process *p, const char *why_none,
			       struct ptc_maps *maps, struct cap_core **core)
{
	struct user_regs_struct u;
	struct err *err = ptc_core_create(&p->tracee, core);

	if (!err)
		err = ptc_get_regs(p->tracee.pid, &u);
	if (!err)
		err = ptc_maps_read(p->tracee.pid, maps);
	if (err)
		return err;
	(*core)->regs = ptc_to_cap(&u);
	p->tracee.syscall_at = ptc_find_syscall(&p->tracee, maps);
	if (!p->tracee.syscall_at)
		return err_new(ERR_UNSUPPORTED, "%s", why_none);
	ptc_wards_add(p->tracee.pid, p->tracee.syscall_at, false);
	return NULL;
}

struct err *ptc_start(struct ptc_process *p)
{
	_cleanup_(ptc_core_destroyp) struct cap_core *core = NULL;
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct ptc_thread *first;
	struct err *err =
		begin_state(p, "the kernel gives no vDSO (vdso=0)", &maps, &core);

	if (!err)
		err = take_auxv(p, core->regs.gpr[CAP_RSP], core);
	if (!err)
		err = ptc_allow_chance(p->tracee.pid, p->tracee.syscall_at, false);
	if (!err)
		err = save_state(p, &maps, core);
	if (err)
		return err;
	first = ptc_thread_find(p, p->tracee.pid);
	if (first)
		ptc_unseen_begin(first, NULL);
	ptc_unseen_process(p, true);
	// Not before: what a probe writes into the code would be saved with it.
	ptc_chance_start(&p->probes, &maps);
	ptc_heap_mapped(&p->probes, p->tracee.exe, core->mappings[0].file, true);
	ptc_stores_mapped(&p->probes, p->tracee.exe, core->mappings[0].file, true);
	return NULL;
}

uint64_t ptc_find_break(pid_t pid, const struct ptc_maps *maps)
{
	uint64_t brk = 0;

	for (size_t i = 0; i < maps->list.size; i++)
		if (!strcmp(maps->list.data[i]->name, "[heap]"))
			brk = maps->list.data[i]->end;
	// Never moved: where it began.
	return brk ?: ptc_stat_number(pid, PTC_STAT_BREAK_START);
}

struct err *ptc_start_forked(struct ptc_process *p)
{
	_cleanup_(ptc_core_destroyp) struct cap_core *core = NULL;
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = begin_state(p, "the program unmapped its vDSO", &maps, &core);

	if (err)
		return err;
	core->brk = ptc_find_break(p->tracee.pid, &maps);
	// Its parent's rdtscs may be probed, its own are not.
	if (p->all->probing.probes_tsc)
		err = ptc_allow_chance(p->tracee.pid, p->tracee.syscall_at, false);
	if (err)
		return err;
	err = ptc_recall_auxv(p->tracee.pid, false, core);
	if (!err)
		err = save_state(p, &maps, core);
	// Those that it has are its parent's: they tell us nothing of it.
	if (!err)
		ptc_chance_forked(&p->probes, &maps);
	if (!err)
		ptc_files_probe(p, &maps);
	return err;
}

/** Are real and effective numbers of line @p field alike? */
static bool is_one_id(pid_t pid, const char *field)
{
	unsigned real, effective;
	char line[256];

	return ptc_status_line(pid, pid, field, line) &&
	       sscanf(line, "%u %u", &real, &effective) == 2 && real == effective;
}

struct err *ptc_make_dumpable(const struct ptc_tracee *t)
{
	const uint64_t args[6] = { PR_SET_DUMPABLE, 1, [5] = REC_OURS };
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	struct err *err = NULL;
	uint64_t at;
	long ret;

	if (geteuid() || !is_one_id(t->pid, "Uid") || !is_one_id(t->pid, "Gid"))
		return NULL;
	err = ptc_maps_read(t->pid, &maps);
	at = err ? 0 : ptc_find_syscall(t, &maps);
	return at ? ptc_inject(t->pid, at, __NR_prctl, args, &ret) : err;
}

#define LOADER "/lib64/ld-linux-x86-64.so.2"

/** A system call instruction in a process at its first instruction, whose memory may not be read:
 * most begin in the loader, whose file may be. @return 0 if this one does not. */
static uint64_t loader_syscall(pid_t pid)
{
	_cleanup_close_ int fd = open(LOADER, O_RDONLY | O_CLOEXEC);
	static const uint8_t insn[2] = { 0x0f, 0x05 };
	struct user_regs_struct u;
	uint8_t code[4096];
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (fd < 0 || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &u) || (u.rip - eh.e_entry) % sizeof(code))
		return 0;
	for (int i = 0; i < eh.e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) != sizeof(ph))
			return 0;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		for (uint64_t at = 0; at + sizeof(code) <= ph.p_filesz;
		     at += sizeof(code)) {
			const uint8_t *found;

			if (pread(fd, code, sizeof(code), ph.p_offset + at) !=
			    sizeof(code))
				return 0;
			found = memmem(code, sizeof(code), insn, sizeof(insn));
			if (found)
				return u.rip - eh.e_entry + ph.p_vaddr + at +
				       (found - code);
		}
	}
	return 0;
}

struct err *ptc_free_program(struct ptc_process *p)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	// The old descriptor shows the memory of the image that is gone.
	struct err *err = ptc_tracee_reopen(&p->tracee);

	if (err && err->code == ERR_UNSUPPORTED) {
		err_destroy(err);
		p->tracee.syscall_at = loader_syscall(p->tracee.pid);
		return p->tracee.syscall_at ?
			       ptc_allow_chance(p->tracee.pid, p->tracee.syscall_at,
						true) :
			       err_new(ERR_UNSUPPORTED,
				       "process %d, whose memory may not be read, is ended "
				       "when it executes rdtsc",
				       p->tracee.pid);
	}
	if (!err)
		err = ptc_maps_read(p->tracee.pid, &maps);
	if (err)
		return err;
	p->tracee.syscall_at = ptc_find_syscall(&p->tracee, &maps);
	return p->tracee.syscall_at ?
		       ptc_allow_chance(p->tracee.pid, p->tracee.syscall_at, true) :
		       NULL;
}
