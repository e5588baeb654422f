// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reading and changing a stopped thread: registers, memory, mappings, and making it
 * execute a system call of ours.
 */
#define LOG_ROOM "record"
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/types.h>

#include "bpf/record.h"
#include "pt-collect/tracee/place.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/traps.h"
#include "pt-collect/tracee/undo.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

uint64_t ptc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

struct err *ptc_tracee_reopen(struct ptc_tracee *t)
{
	char path[64];

	if (t->mem_fd >= 0)
		close(t->mem_fd);
	snprintf(path, sizeof(path), "/proc/%d/mem", t->pid);
	t->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (t->mem_fd >= 0)
		return NULL;
	if (errno == EACCES)
		return err_new(
			ERR_UNSUPPORTED,
			"neither its memory may be read nor the file of its program: "
			"what you may only execute is not recorded (root's recorder "
			"may)");
	return ptc_place_explain_ptrace(err_errno("cannot open %s", path));
}

struct err *ptc_tracee_open(struct ptc_tracee *t)
{
	free(t->exe);
	// First: when it executes another program now, the memory is not that of the name.
	t->exe = ptc_proc_link(t->pid, "exe");
	return t->exe ? ptc_tracee_reopen(t) : &err_nomem;
}

void ptc_tracee_close(struct ptc_tracee *t)
{
	if (t->mem_fd >= 0)
		close(t->mem_fd);
	free(t->exe);
	t->mem_fd = -1;
	t->exe = NULL;
}

size_t ptc_read_some(const struct ptc_tracee *t, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n =
			pread(t->mem_fd, (uint8_t *)buf + done, size - done, addr + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

struct err *ptc_read(const struct ptc_tracee *t, uint64_t addr, void *buf, size_t size)
{
	if (ptc_read_some(t, addr, buf, size) == size)
		return NULL;
	return err_errno("cannot read the program's memory at 0x%llx",
			 (unsigned long long)addr);
}

struct err *ptc_write(const struct ptc_tracee *t, uint64_t addr, const void *buf,
		      size_t size)
{
	if (pwrite(t->mem_fd, buf, size, addr) == (ssize_t)size)
		return NULL;
	return err_errno("cannot change the program's memory at 0x%llx",
			 (unsigned long long)addr);
}

struct err *ptc_get_regs(pid_t tid, struct user_regs_struct *u)
{
	if (ptrace(PTRACE_GETREGS, tid, NULL, u))
		return err_errno("cannot read the registers of thread %d", tid);
	return NULL;
}

struct cap_regs ptc_to_cap(const struct user_regs_struct *u)
{
	return (struct cap_regs){
		.gpr = { [CAP_RAX] = u->rax,
			 [CAP_RCX] = u->rcx,
			 [CAP_RDX] = u->rdx,
			 [CAP_RBX] = u->rbx,
			 [CAP_RSP] = u->rsp,
			 [CAP_RBP] = u->rbp,
			 [CAP_RSI] = u->rsi,
			 [CAP_RDI] = u->rdi,
			 [CAP_R8] = u->r8,
			 [CAP_R9] = u->r9,
			 [CAP_R10] = u->r10,
			 [CAP_R11] = u->r11,
			 [CAP_R12] = u->r12,
			 [CAP_R13] = u->r13,
			 [CAP_R14] = u->r14,
			 [CAP_R15] = u->r15 },
		.rip = u->rip,
		.rflags = u->eflags,
		.fs_base = u->fs_base,
		.gs_base = u->gs_base,
	};
}

/** All but what cannot be blocked, and the trap that ends a step: the kernel forces that,
 * and when it is blocked the program loses its handler. */
#define SIGNALS_BLOCKED (~(1ull << (SIGTRAP - 1)))
#define SIGSET_BYTES 8

bool ptc_block_signals(pid_t tid, uint64_t *mask)
{
	uint64_t blocked = SIGNALS_BLOCKED;

	if (ptrace(PTRACE_GETSIGMASK, tid, SIGSET_BYTES, mask))
		return false;
	ptc_undo_shield(tid, *mask);
	return !ptrace(PTRACE_SETSIGMASK, tid, SIGSET_BYTES, &blocked);
}

bool ptc_are_signals_blocked(pid_t tid)
{
	uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1), mask;

	return !ptrace(PTRACE_GETSIGMASK, tid, SIGSET_BYTES, &mask) &&
	       (mask | never) == SIGNALS_BLOCKED;
}

void ptc_unblock_signals(pid_t tid, uint64_t mask)
{
	ptrace(PTRACE_SETSIGMASK, tid, SIGSET_BYTES, &mask);
	ptc_undo_unshield(tid);
}

#define LOOK_NS 2000000 ///< a thread that does not stop may have ended so long ago

pid_t ptc_wait(pid_t tid, int *status)
{
	struct timespec most = { .tv_nsec = LOOK_NS };
	bool has_ended = false;
	sigset_t child;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	// Whoever waits for any thread asks the kernel again, not only when SIGCHLD comes: it
	// may be taken here. It comes for stops of others, too, and for their ends.
	while (!(got = waitpid(tid, status, __WALL | WNOHANG)) && !has_ended)
		if (sigtimedwait(&child, NULL, &most) < 0)
			has_ended = ptc_is_ended(tid, tid);
	return got;
}

bool ptc_is_killed(pid_t tid)
{
	siginfo_t si;

	// Nothing else wakes who stands in a ptrace stop.
	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &si))
		return errno == ESRCH;
	return si.si_code == PTC_END_STOP;
}

/** As ptc_wait(), but for an end, which stays to be reported to who waits for all.
 * @return 0 then. */
static pid_t wait_for_stop(pid_t tid, int *status)
{
	struct timespec most = { .tv_nsec = LOOK_NS };
	siginfo_t si = {};
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (!waitid(P_PID, tid, &si,
		       WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL)) {
		if (si.si_pid && (si.si_code == CLD_TRAPPED || si.si_code == CLD_STOPPED))
			return waitpid(tid, status, __WALL | WNOHANG);
		if (si.si_pid)
			return 0;
		if (sigtimedwait(&child, NULL, &most) < 0 && ptc_is_ended(tid, tid))
			return 0;
	}
	return -1;
}

/** Let @p tid go on by @p request (-1: it does already) until stop @p wanted (the status without its lowest
 * byte); other stops on the way are passed. */
static struct err *go_to_stop(pid_t tid, int request, int wanted)
{
	bool is_stopped = false; // by somebody: that cannot be blocked
	struct err *err = NULL;
	siginfo_t si;
	int status = 0;

	while (!err && (status >> 8 != wanted)) {
		pid_t got = request >= 0 && ptrace(request, tid, NULL, NULL) ?
				    -1 :
				    wait_for_stop(tid, &status);

		if (got < 0)
			err = err_errno("cannot lead thread %d", tid);
		else if (!got)
			err = err_new(ERR_OS, "cannot prepare thread %d: it has ended",
				      tid);
		else if (status >> 8 == SIGSTOP &&
			 !ptrace(PTRACE_GETSIGINFO, tid, NULL, &si))
			is_stopped |= si.si_code != SI_KERNEL;
		if (request < 0)
			request = PTRACE_CONT;
		// Stopped by its user, and asked to stop by us.
		if (status >> 16 == PTRACE_EVENT_STOP && wanted >> 8 == PTRACE_EVENT_STOP)
			break;
	}
	if (is_stopped)
		syscall(__NR_tkill, tid, SIGSTOP);
	return err;
}

/** Step @p tid over the syscall instruction it stands on. */
static struct err *step_syscall(pid_t tid)
{
	return go_to_stop(tid, PTRACE_SINGLESTEP, SIGTRAP);
}

#define NUDGE_NS 10000 ///< long enough to execute something
#define ENTRY_STOP (SIGTRAP | 0x80)
#define INTERRUPT_STOP (SIGTRAP | PTRACE_EVENT_STOP << 8)

/** Lead @p tid through the gate (vdso.c). Were we killed in a single step, its SIGTRAP
 * would end the program; these stops leave nothing. */
static struct err *pass_gate(pid_t tid)
{
	struct err *err = go_to_stop(tid, PTRACE_SYSCALL, ENTRY_STOP);

	if (!err && ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		err = err_errno("cannot interrupt thread %d", tid);
	return err ?: go_to_stop(tid, PTRACE_CONT, INTERRUPT_STOP);
}

struct err *ptc_nudge(pid_t tid)
{
	struct timespec nap = { .tv_nsec = NUDGE_NS };

	if (ptrace(PTRACE_CONT, tid, NULL, NULL))
		return err_errno("cannot continue thread %d", tid);
	nanosleep(&nap, NULL);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return err_errno("cannot interrupt thread %d", tid);
	return go_to_stop(tid, -1, INTERRUPT_STOP);
}

/** The kernel kills a program in a sandbox for calls that it may not make; ours are no
 * business of the sandbox. Needs CAP_SYS_ADMIN, and a kernel that can checkpoint. */
static void suspend_filter(pid_t tid, bool is_suspended)
{
	long options = PTC_TRACE_OPTIONS;

	if (!is_suspended ||
	    ptrace(PTRACE_SETOPTIONS, tid, NULL, options | PTRACE_O_SUSPEND_SECCOMP))
		ptrace(PTRACE_SETOPTIONS, tid, NULL, options);
}

struct err *ptc_inject(pid_t tid, uint64_t at, long nr, const uint64_t args[6], long *ret)
{
	struct user_regs_struct before, u;
	struct err *err = ptc_get_regs(tid, &before);
	uint64_t mask;

	if (err)
		return err;
	if (!ptc_block_signals(tid, &mask))
		return err_errno("cannot block the signals of thread %d", tid);
	u = before;
	u.cs = 0x33; // also where a 32-bit program runs, which gets its own back
	u.rip = at;
	u.rax = nr;
	u.orig_rax = -1; // not inside a system call: nothing to restart
	u.rdi = args[0];
	u.rsi = args[1];
	u.rdx = args[2];
	u.r10 = args[3];
	u.r8 = args[4];
	u.r9 = args[5];
	suspend_filter(tid, true);
	ptc_undo_borrow(tid, &before);
	if (ptrace(PTRACE_SETREGS, tid, NULL, &u))
		err = err_errno("cannot set the registers of thread %d", tid);
	if (!err)
		err = ptc_undo_is_gate(at) ? pass_gate(tid) : step_syscall(tid);
	if (!err)
		err = ptc_get_regs(tid, &u);
	if (!err)
		*ret = u.rax;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &before) && !err)
		err = err_errno("cannot set the registers of thread %d", tid);
	ptc_undo_give_back(tid);
	ptc_unblock_signals(tid, mask);
	suspend_filter(tid, false);
	return err;
}

struct err *ptc_set_chance(pid_t tid, uint64_t at, bool tsc, bool cpuid)
{
	uint64_t of_tsc[6] = { PR_SET_TSC,
			       tsc ? PR_TSC_ENABLE : PR_TSC_SIGSEGV, [5] = REC_OURS };
	uint64_t of_cpuid[6] = { ARCH_SET_CPUID, cpuid, [5] = REC_OURS };
	long ret = 0;
	struct err *err =
		ptc_can_trap_tsc() ? ptc_inject(tid, at, __NR_prctl, of_tsc, &ret) : NULL;

	if (!err && ret)
		err = err_new(ERR_UNSUPPORTED, "cannot make rdtsc trap: %s",
			      strerror(-ret));
	if (err)
		return err;
	if (!ptc_can_trap_cpuid())
		return NULL; // it is probed: see probes/chance.c
	err = ptc_inject(tid, at, __NR_arch_prctl, of_cpuid, &ret);
	if (!err && ret && !cpuid)
		err = err_new(ERR_UNSUPPORTED, "cannot make cpuid trap: %s",
			      strerror(-ret));
	return err;
}

struct err *ptc_allow_chance(pid_t tid, uint64_t at, bool is_allowed)
{
	return ptc_set_chance(tid, at, is_allowed, is_allowed);
}

/* ---- mappings ------------------------------------------------------------------------ */

static int parse_prot(const char *perms)
{
	return (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
	       (perms[2] == 'x' ? PROT_EXEC : 0);
}

static struct err *parse_line(const char *line, struct ptc_map *m)
{
	unsigned long long start, end, offset, inode;
	char perms[5];
	int name = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset,
		   &m->major, &m->minor, &inode, &name) < 7)
		return err_new(ERR_FORMAT, "cannot understand /proc/PID/maps");
	m->start = start;
	m->end = end;
	m->offset = offset;
	m->inode = inode;
	m->prot = parse_prot(perms);
	m->is_shared = perms[3] == 's';
	snprintf(m->name, sizeof(m->name), "%s", name ? line + name : "");
	m->name[strcspn(m->name, "\n")] = 0;
	return NULL;
}

struct err *ptc_maps_read(pid_t pid, struct ptc_maps *maps)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t line_bytes = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return err_errno("cannot open %s", path);
	while (getline(&line, &line_bytes, f) > 0) {
		struct ptc_map **slot = vec_push(&maps->list);
		struct err *err;

		if (!slot)
			return &err_nomem;
		*slot = calloc(1, sizeof(**slot));
		if (!*slot) {
			maps->list.size--;
			return &err_nomem;
		}
		err = parse_line(line, *slot);
		if (err)
			return err;
	}
	return NULL;
}

void ptc_maps_deinit(struct ptc_maps *maps)
{
	for (size_t i = 0; i < maps->list.size; i++)
		free(maps->list.data[i]);
	vec_deinit(&maps->list);
}

const struct ptc_map *ptc_maps_find(const struct ptc_maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->list.size; i++)
		if (!strcmp(maps->list.data[i]->name, name))
			return maps->list.data[i];
	return NULL;
}

int ptc_map_open(pid_t pid, const struct ptc_map *m)
{
	char path[128];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = open(m->name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != m->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool ptc_is_shared_memory(const struct ptc_map *m)
{
	static const char *const memory[] = { "/memfd:", "/dev/shm/", "/SYSV",
					      "/dev/zero" };

	if (!m->is_shared || m->start >> 63)
		return false;
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (!strncmp(m->name, memory[i], strlen(memory[i])))
			return true;
	return m->prot & PROT_WRITE;
}

uint64_t ptc_find_syscall(const struct ptc_tracee *t, const struct ptc_maps *maps)
{
	const struct ptc_map *m = ptc_maps_find(maps, "[vdso]");
	size_t size = m ? m->end - m->start : 0;
	_cleanup_free_ uint8_t *code = m ? malloc(size) : NULL;
	uint8_t *found;

	if (!code || ptc_read_some(t, m->start, code, size) != size)
		return 0;
	found = memmem(code, size, "\x0f\x05", 2);
	return found ? m->start + (found - code) : 0;
}
