// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The vDSO of a process that uses it already. Its functions read the time from memory that
 * the kernel changes, which no replay has: while we record they make the system call
 * instead, each through eight bytes at its entry:
 *
 *	b8 NR 00 00 00	mov $NR, %eax
 *	0f 05		syscall
 *	c3		ret
 *
 * The change is in the process' own copy of the page, which writing through /proc/PID/mem
 * makes. What is behind the eight bytes stays, so a thread deeper inside would go on well;
 * but it would read the time unseen, so every thread is first led out.
 *
 * Behind the stub of one function stands where threads make system calls for us: `syscall`,
 * then a jump to itself. Were we killed just then, the thread waits there for whoever
 * gives it its registers back, and executes nothing that is not its own.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/vdso.h"

#define STUB_BYTES 8u
#define GATE_OFFSET 16u ///< of the system call for us, behind a function's entry
#define GATE_BYTES 4u
#define VDSO_MAX (64u << 10) ///< bytes; the kernel's has two pages
#define NUDGES_MAX 10000     ///< until out of the vDSO

static const struct {
	const char *name;
	uint32_t nr;
} functions[PTC_VDSO_STUBS] = {
	{ "__vdso_clock_gettime", __NR_clock_gettime },
	{ "__vdso_gettimeofday", __NR_gettimeofday },
	{ "__vdso_time", __NR_time },
	{ "__vdso_clock_getres", __NR_clock_getres },
	{ "__vdso_getcpu", __NR_getcpu },
	{ "__vdso_getrandom", 318 },
};

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

/** Fill @p v->stubs from the symbols of vDSO @p image. */
static void find_functions(Elf *elf, size_t size, struct ptc_vdso *v)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn))) {
		data = elf_getdata(scn, NULL);
		if (!data || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM)
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);

			for (int k = 0; name && k < PTC_VDSO_STUBS; k++)
				if (!strcmp(name, functions[k].name) &&
				    sym.st_size >= STUB_BYTES && sym.st_value < size &&
				    size - sym.st_value >= sym.st_size) {
					v->stubs[k].at = v->start + sym.st_value;
					v->stubs[k].size = sym.st_size;
				}
		}
	}
}

struct err *ptc_vdso_find(const struct ptc_tracee *t, const struct ptc_maps *maps,
			  struct ptc_vdso *v)
{
	const struct ptc_map *m = ptc_maps_find(maps, "[vdso]");
	_cleanup_free_ uint8_t *image = NULL;
	_cleanup_(elf_endp) Elf *elf = NULL;
	struct err *err;
	size_t size;

	*v = (struct ptc_vdso){};
	if (!m || m->end - m->start > VDSO_MAX)
		return err_new(ERR_UNSUPPORTED,
			       "it has no vDSO, and so no place to make it do what "
			       "recording needs");
	size = m->end - m->start;
	v->start = m->start;
	v->end = m->end;
	image = malloc(size);
	if (!image)
		return &err_nomem;
	err = ptc_read(t, m->start, image, size);
	if (err)
		return err;
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, size);
	if (elf)
		find_functions(elf, size, v);
	for (int i = 0; i < PTC_VDSO_STUBS; i++) {
		struct ptc_vdso_stub *s = &v->stubs[i];

		memcpy(s->original, image + (s->at ? s->at - m->start : 0),
		       sizeof(s->original));
		if (!v->gate && s->at && s->size >= sizeof(s->original))
			v->gate = s->at + GATE_OFFSET;
	}
	if (!v->gate)
		return err_new(ERR_UNSUPPORTED, "its vDSO has no function that we know");
	return NULL;
}

struct err *ptc_vdso_divert(const struct ptc_tracee *t, const struct ptc_vdso *v)
{
	static const uint8_t gate[GATE_BYTES] = { 0x0f, 0x05, 0xeb, 0xfe };
	struct err *err = NULL;

	for (int i = 0; i < PTC_VDSO_STUBS && !err; i++) {
		uint8_t stub[STUB_BYTES] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3 };

		memcpy(stub + 1, &functions[i].nr, 4);
		if (v->stubs[i].at)
			err = ptc_write(t, v->stubs[i].at, stub, sizeof(stub));
	}
	return err ?: ptc_write(t, v->gate, gate, sizeof(gate));
}

struct err *ptc_vdso_restore(const struct ptc_tracee *t, const struct ptc_vdso *v)
{
	struct err *err = NULL;

	for (int i = 0; i < PTC_VDSO_STUBS && !err; i++) {
		const struct ptc_vdso_stub *s = &v->stubs[i];
		size_t size = s->size < sizeof(s->original) ? STUB_BYTES :
							      sizeof(s->original);

		if (s->at)
			err = ptc_write(t, s->at, s->original, size);
	}
	return err;
}

struct err *ptc_vdso_leave(pid_t tid, const struct ptc_vdso *v)
{
	struct user_regs_struct u;
	struct err *err = ptc_get_regs(tid, &u);
	uint64_t mask = 0;
	bool has_mask;

	if (err || u.rip < v->start || u.rip >= v->end)
		return err;
	has_mask = ptc_block_signals(tid, &mask);
	for (int i = 0; i < NUDGES_MAX && !err; i++) {
		err = ptc_nudge(tid);
		if (!err)
			err = ptc_get_regs(tid, &u);
		if (!err && (u.rip < v->start || u.rip >= v->end))
			break;
	}
	if (has_mask)
		ptc_unblock_signals(tid, mask);
	if (!err && u.rip >= v->start && u.rip < v->end)
		err = err_new(ERR_OS, "thread %d does not leave the vDSO", tid);
	return err;
}
