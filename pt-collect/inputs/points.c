// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where chaos may stop a thread: instructions of the program's own text that access
 * memory other than the stack, and calls. Two threads can only disturb each other at
 * accesses to shared memory, so a stop before each of these is as good as one at every
 * instruction; calls are the accesses that libraries make in the program's name. In code that is not
 * optimised most accesses go by the frame pointer: those are the stack's, too.
 *
 * The CPU's debug registers do the stopping: they change nothing in the program's memory,
 * and the thread stands exactly before the instruction.
 */
#define LOG_ROOM "record"
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode/x86/zydis.h"
#include "pt-collect/inputs/points.h"
#include "pt-collect/inputs/random.h"
#include "pt-collect/probes/symbol.h"
#include "pt-collect/tracee/tracee.h"

#define NEIGHBOURS 4u	     ///< points to either side
#define INSTRUCTION_MAX 15u  ///< bytes
#define TEXT_MAX (64u << 20) ///< bytes of code looked at

static bool is_shared_access(const ZydisDecodedOperand *o)
{
	ZydisRegister base = o->mem.base;

	return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       o->mem.type == ZYDIS_MEMOP_TYPE_MEM && base != ZYDIS_REGISTER_RSP &&
	       o->mem.segment != ZYDIS_REGISTER_FS && o->mem.segment != ZYDIS_REGISTER_GS;
}

/** mov %rsp, %rbp: up to the next return, what rbp points to is the stack. */
static bool begins_frame(const ZydisDecodedInstruction *i,
			 const ZydisDecodedOperand *operands)
{
	return i->mnemonic == ZYDIS_MNEMONIC_MOV &&
	       operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[0].reg.value == ZYDIS_REGISTER_RBP &&
	       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[1].reg.value == ZYDIS_REGISTER_RSP;
}

/** Is it worth stopping before @p i? Then @p is_write is set. */
static bool is_point(const ZydisDecodedInstruction *i,
		     const ZydisDecodedOperand *operands, bool has_frame, bool *is_write)
{
	*is_write = true;
	if (i->mnemonic == ZYDIS_MNEMONIC_NOP || i->mnemonic == ZYDIS_MNEMONIC_LEA)
		return false;
	if (i->meta.category == ZYDIS_CATEGORY_CALL)
		return true;
	for (unsigned n = 0; n < i->operand_count_visible; n++) {
		if (!is_shared_access(&operands[n]) ||
		    (has_frame && operands[n].mem.base == ZYDIS_REGISTER_RBP))
			continue;
		*is_write = operands[n].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		return true;
	}
	return false;
}

static struct err *add_points(struct ptc_points *points, const uint8_t *code, size_t size,
			      uint64_t addr)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	bool has_frame = false;

	for (size_t at = 0; at < size && at < TEXT_MAX;) {
		struct ptc_point *slot;
		bool is_write;

		if (!dec_insn_zydis(code + at, size - at, &i, operands)) {
			at++;
			continue;
		}
		has_frame = (has_frame && i.meta.category != ZYDIS_CATEGORY_RET) ||
			    begins_frame(&i, operands);
		if (is_point(&i, operands, has_frame, &is_write)) {
			slot = vec_push(&points->list);
			if (!slot)
				return &err_nomem;
			slot->at = addr + at;
			slot->length = i.length;
			slot->is_write = is_write;
		}
		at += i.length;
	}
	return NULL;
}

/** What to add to the file's addresses to get the program's. */
static uint64_t load_bias(Elf *elf, const struct ptc_maps *maps, const char *exe)
{
	const struct ptc_map *m = ptc_maps_find(maps, exe);
	size_t n = 0;
	GElf_Phdr ph;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; m && i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		return m->start - (ph.p_vaddr & ~4095ull);
	}
	return 0;
}

static struct err *add_sections(struct ptc_points *points, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names = 0;

	elf_getshdrstrndx(elf, &names);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		struct err *err;
		Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		data = elf_getdata(scn, NULL);
		if (!name || !data || !data->d_buf || strncmp(name, ".text", 5))
			continue;
		err = add_points(points, data->d_buf, data->d_size, sh.sh_addr);
		if (err)
			return err;
	}
	return NULL;
}

struct err *ptc_points_find(const struct ptc_tracee *t, struct ptc_points *points)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_(ptc_elf_endp) Elf *elf = NULL;
	_cleanup_close_ int fd = -1;
	struct err *err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (!elf)
		return err_new(ERR_FORMAT, "cannot read the code of '%s'", t->exe);
	err = ptc_maps_read(t->pid, &maps);
	if (err)
		return err;
	points->bias = load_bias(elf, &maps, t->exe);
	if (points->has_list)
		return NULL;
	points->has_list = true;
	if (ptc_points_can_break())
		return add_sections(points, elf);
	log_warn(
		"debug registers stop nobody on this (virtual) processor: threads are disturbed at "
		"system calls and now and then, but not at chosen instructions");
	return NULL;
}

void ptc_points_deinit(struct ptc_points *points)
{
	vec_deinit(&points->list);
}

/* ---- choosing -------------------------------------------------------------------------- */

/** Does the program come by here? Unknown counts as yes. One reached point speaks for its
 * neighbours, because those reached in rare schedules only are what we are looking for. */
static bool is_alive(const struct ptc_points *points, size_t i)
{
	size_t from = i < NEIGHBOURS ? 0 : i - NEIGHBOURS;

	if (points->list.data[i].n_tried < 2)
		return true;
	for (size_t k = from; k <= i + NEIGHBOURS && k < points->list.size; k++)
		if (points->list.data[k].is_reached)
			return true;
	return false;
}

size_t ptc_points_draw_contended(const struct ptc_points *points,
				 struct ptc_random *random, const size_t *but,
				 unsigned n_but)
{
	size_t found = SIZE_MAX, n = 0;

	for (size_t i = 0; i < points->list.size; i++) {
		unsigned k = 0;

		while (k < n_but && but[k] != i)
			k++;
		if (points->list.data[i].is_contended && k == n_but &&
		    ptc_random_one_in(random, ++n))
			found = i;
	}
	return found;
}

size_t ptc_points_draw_crowded(const struct ptc_points *points, struct ptc_random *random)
{
	size_t found = SIZE_MAX, n = 0;

	for (size_t i = 0; i < points->list.size; i++)
		if (points->list.data[i].is_crowded && ptc_random_one_in(random, ++n))
			found = i;
	return found;
}

static size_t draw_near(const struct ptc_points *points, struct ptc_random *random,
			size_t last)
{
	size_t n = points->list.size;
	size_t shift = ptc_random_below(random, 2 * NEIGHBOURS + 1) + n * NEIGHBOURS;

	return (last + shift - NEIGHBOURS) % n;
}

size_t ptc_points_draw(struct ptc_points *points, struct ptc_random *random, size_t last)
{
	unsigned way = ptc_random_below(random, 3);
	size_t i = SIZE_MAX;

	if (way == 0)
		i = ptc_points_draw_contended(points, random, NULL, 0);
	for (int tries = 0; tries < 30; tries++) {
		if (i != SIZE_MAX && is_alive(points, i))
			break;
		i = way == 1 && last != SIZE_MAX ?
			    draw_near(points, random, last) :
			    ptc_random_below(random, points->list.size);
	}
	points->list.data[i].n_tried++;
	return i;
}

struct ptc_point *ptc_points_before(struct ptc_points *points, uint64_t behind)
{
	struct ptc_point *p = points->list.data;
	size_t n;

	behind -= points->bias;
	n = vec_rank(points->list.size, i, p[i].at < behind);
	return n && p[n - 1].at + p[n - 1].length == behind ? &p[n - 1] : NULL;
}

/* ---- debug registers --------------------------------------------------------------------- */

static uint64_t general_register(const struct user_regs_struct *u, ZydisRegister r)
{
	const struct cap_regs regs = ptc_to_cap(u);
	uint8_t n = dec_insn_gpr(r);

	return n == DEC_REG_NONE ? 0 : regs.gpr[n];
}

static uint64_t target_address(const ZydisDecodedOperand *o,
			       const struct user_regs_struct *u, unsigned length)
{
	uint64_t base = o->mem.base == ZYDIS_REGISTER_RIP ?
				u->rip + length :
				general_register(u, o->mem.base);

	return base + general_register(u, o->mem.index) * o->mem.scale +
	       o->mem.disp.value;
}

/** The instruction at which @p t stands. */
static bool decode_next(const struct ptc_tracee *t, const struct user_regs_struct *u,
			ZydisDecodedInstruction *i, ZydisDecodedOperand *operands)
{
	uint8_t code[INSTRUCTION_MAX];
	size_t size = ptc_read_some(t, u->rip, code, sizeof(code));

	return dec_insn_zydis(code, size, i, operands);
}

bool ptc_points_target(const struct ptc_tracee *t, const struct user_regs_struct *u,
		       struct ptc_watch *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;

	if (!decode_next(t, u, &i, operands) || i.meta.category == ZYDIS_CATEGORY_CALL)
		return false;
	for (unsigned n = 0; n < i.operand_count_visible; n++) {
		const ZydisDecodedOperand *o = &operands[n];

		if (!is_shared_access(o) || i.address_width != 64)
			continue;
		ret->addr = target_address(o, u, i.length);
		ret->is_write = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		ret->size = 8;
		while (ret->size > 1 &&
		       (ret->size * 8 > o->size || ret->addr & (ret->size - 1)))
			ret->size /= 2;
		return true;
	}
	return false;
}

bool ptc_points_argument(const struct ptc_tracee *t, const struct user_regs_struct *u,
			 struct ptc_watch *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	uint32_t word;

	if (!decode_next(t, u, &i, operands) || i.meta.category != ZYDIS_CATEGORY_CALL ||
	    ptc_read_some(t, u->rdi, &word, sizeof(word)) != sizeof(word))
		return false;
	*ret = (struct ptc_watch){ .addr = u->rdi & ~3ull, .size = 4, .is_write = true };
	return true;
}

static bool set_register(pid_t tid, unsigned n, uint64_t value)
{
	return !ptrace(PTRACE_POKEUSER, tid,
		       offsetof(struct user, u_debugreg) + n * sizeof(long), value);
}

/** The bits of DR7 for register @p n: who only reads minds writes, who writes all. */
static uint64_t watch_control(const struct ptc_watch *w, unsigned n)
{
	static const uint64_t length[] = { [1] = 0, [2] = 1, [4] = 3, [8] = 2 };
	uint64_t kind = w->is_write ? 3 : 1;

	// Of an instruction length and kind are 0.
	return 1ull << 2 * n |
	       (w->size ? (kind | length[w->size] << 2) << (16 + 4 * n) : 0);
}

bool ptc_points_arm(pid_t tid, const struct ptc_watch *w, unsigned n)
{
	uint64_t control = 0;

	// The kernel refuses an address that the register's present length does not suit: 0 suits all.
	for (unsigned i = 0; i < n; i++) {
		if (!set_register(tid, i, 0))
			return false;
		control |= watch_control(&w[i], i);
	}
	if (!set_register(tid, 7, control))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!set_register(tid, i, w[i].addr))
			return false;
	return true;
}

__attribute__((noinline)) static void pass_by(void)
{
	__asm__ volatile("");
}

static bool try_break(void)
{
	const struct ptc_watch at = { .addr = (uint64_t)pass_by };
	bool is_stopped = false;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		pass_by();
		_exit(0);
	}
	if (pid < 0)
		return false;
	if (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
	    ptc_points_arm(pid, &at, 1) && !ptrace(PTRACE_CONT, pid, NULL, NULL))
		is_stopped = waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
			     WSTOPSIG(status) == SIGTRAP;
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, __WALL);
	}
	return is_stopped;
}

bool ptc_points_can_break(void)
{
	static enum { UNKNOWN, NO, YES } known;

	if (!known)
		known = try_break() ? YES : NO;
	return known == YES;
}

unsigned ptc_points_take_hits(pid_t tid)
{
	long hit = ptrace(PTRACE_PEEKUSER, tid,
			  offsetof(struct user, u_debugreg) + 6 * sizeof(long), NULL);

	if (!(hit & 15))
		return 0;
	set_register(tid, 6, 0);
	return hit & 15;
}
