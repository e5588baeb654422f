// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where chaos may stop a thread: instructions of the program's own text that access
 * memory other than the stack, and calls. Two threads can only disturb each other at
 * accesses to shared memory, so a stop before each of these is as good as one at every
 * instruction; calls are the accesses that libraries make in the program's name.
 *
 * The CPU's debug registers do the stopping: they change nothing in the program's memory,
 * and the thread stands exactly before the instruction.
 */
#define LOG_ROOM "record"
#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <gelf.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "pt-collect/ptc.h"

#define TEXT_MAX (64u << 20) ///< bytes of code looked at

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

static bool is_shared_access(const ZydisDecodedOperand *o)
{
	ZydisRegister base = o->mem.base;

	return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       o->mem.type == ZYDIS_MEMOP_TYPE_MEM && base != ZYDIS_REGISTER_RSP &&
	       o->mem.segment != ZYDIS_REGISTER_FS;
}

/** Is it worth stopping before @p i? */
static bool is_point(const ZydisDecodedInstruction *i,
		     const ZydisDecodedOperand *operands)
{
	if (i->mnemonic == ZYDIS_MNEMONIC_NOP || i->mnemonic == ZYDIS_MNEMONIC_LEA)
		return false;
	if (i->meta.category == ZYDIS_CATEGORY_CALL)
		return true;
	for (unsigned n = 0; n < i->operand_count_visible; n++)
		if (is_shared_access(&operands[n]))
			return true;
	return false;
}

static struct err *add_points(struct ptc_points *points, const uint8_t *code, size_t size,
			      uint64_t addr)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < size && at < TEXT_MAX;) {
		struct ptc_point *slot;

		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code + at, size - at, &i,
						       operands))) {
			at++;
			continue;
		}
		if (is_point(&i, operands)) {
			slot = vec_push(&points->list);
			if (!slot)
				return &err_nomem;
			slot->at = addr + at;
		}
		at += i.length;
	}
	return NULL;
}

/** What to add to the file's addresses to get the program's. */
static uint64_t load_bias(Elf *elf, const struct ptc_maps *maps, const char *exe)
{
	size_t n = 0;
	GElf_Phdr ph;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		for (size_t k = 0; k < maps->list.size; k++)
			if (!strcmp(maps->list.data[k]->name, exe))
				return maps->list.data[k]->start -
				       (ph.p_vaddr & ~4095ull);
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

struct err *ptc_points_find(const struct ptc_process *p, struct ptc_points *points)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_(elf_endp) Elf *elf = NULL;
	_cleanup_close_ int fd = -1;
	struct err *err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (!elf)
		return err_new(ERR_FORMAT, "cannot read the code of '%s'", p->exe);
	err = ptc_maps_read(p->pid, &maps);
	if (err)
		return err;
	points->bias = load_bias(elf, &maps, p->exe);
	if (points->has_list)
		return NULL;
	points->has_list = true;
	return add_sections(points, elf);
}

void ptc_points_deinit(struct ptc_points *points)
{
	vec_deinit(&points->list);
}

static bool set_register(pid_t tid, unsigned n, uint64_t value)
{
	return !ptrace(PTRACE_POKEUSER, tid,
		       offsetof(struct user, u_debugreg) + n * sizeof(long), value);
}

bool ptc_points_arm(pid_t tid, const uint64_t *at, unsigned n)
{
	uint64_t control = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!set_register(tid, i, at[i]))
			return false;
		control |= 1ull << (2 * i); // local; length and kind 0: execution
	}
	return set_register(tid, 7, control);
}
