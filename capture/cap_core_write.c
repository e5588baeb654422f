// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Writing start.core and end.core: an ELF64 core as the kernel would have dumped it at this instant.
 *
 *   ELF header | program headers | notes | memory, page aligned
 *
 * One PT_NOTE (registers and vector state of each thread, auxv, mapped files, and
 * FAULTLINE: what ELF has no field for), then one PT_LOAD a mapping. p_filesz is 0 where the memory is unmodified
 * contents of a kept file: gdb finds it through NT_FILE, we through the FAULTLINE note.
 */
#define LOG_ROOM "capture"
#include <assert.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "capture/cap_elf.h"
#include "capture/cap_format.h"

#define PAGE 4096u
#define SIGINFO_BYTES 128

typedef VEC(uint8_t) bytes;

static struct err *add(bytes *b, const void *data, size_t size)
{
	if (vec_reserve(b, b->size + size))
		return &err_nomem;
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
	return NULL;
}

static struct err *add_note(bytes *b, const char *name, uint32_t type, const void *desc,
			    size_t size)
{
	static const uint8_t zeros[4];
	Elf64_Nhdr n = { strlen(name) + 1, size, type };
	struct err *err = add(b, &n, sizeof(n));

	if (!err)
		err = add(b, name, n.n_namesz);
	if (!err)
		err = add(b, zeros, -n.n_namesz & 3);
	if (!err)
		err = add(b, desc, size);
	return err ?: add(b, zeros, -size & 3);
}

static void fill_user_regs(const struct cap_regs *r, struct user_regs_struct *u)
{
	*u = (struct user_regs_struct){
		.rax = r->gpr[CAP_RAX],
		.rcx = r->gpr[CAP_RCX],
		.rdx = r->gpr[CAP_RDX],
		.rbx = r->gpr[CAP_RBX],
		.rsp = r->gpr[CAP_RSP],
		.rbp = r->gpr[CAP_RBP],
		.rsi = r->gpr[CAP_RSI],
		.rdi = r->gpr[CAP_RDI],
		.r8 = r->gpr[CAP_R8],
		.r9 = r->gpr[CAP_R9],
		.r10 = r->gpr[CAP_R10],
		.r11 = r->gpr[CAP_R11],
		.r12 = r->gpr[CAP_R12],
		.r13 = r->gpr[CAP_R13],
		.r14 = r->gpr[CAP_R14],
		.r15 = r->gpr[CAP_R15],
		.rip = r->rip,
		.eflags = r->rflags,
		.fs_base = r->fs_base,
		.gs_base = r->gs_base,
		.orig_rax = -1,
		// What every 64-bit user process has.
		.cs = 0x33,
		.ss = 0x2b,
	};
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/** Thread @p i; one without a table of threads is described by the core itself. */
static struct cap_thread thread_at(const struct cap_core *core, size_t i)
{
	if (core->n_threads)
		return core->threads[i];
	return (struct cap_thread){ .tid = core->tid,
				    .regs = core->regs,
				    .xstate = core->xstate,
				    .xstate_bytes = core->xstate_bytes };
}

static size_t count_threads(const struct cap_core *core)
{
	return core->n_threads ?: 1;
}

/** What there is once: gdb expects it behind the first thread's NT_PRSTATUS. */
static struct err *add_process_notes(bytes *b, const struct cap_core *core)
{
	struct elf_prpsinfo info = { .pr_sname = 'R', .pr_pid = thread_at(core, 0).tid };
	const char *exe = core->exe ?: "";
	struct err *err;

	memccpy(info.pr_fname, base_name(exe), 0, sizeof(info.pr_fname) - 1);
	memccpy(info.pr_psargs, exe, 0, sizeof(info.pr_psargs) - 1);
	err = add_note(b, "CORE", NT_PRPSINFO, &info, sizeof(info));
	if (!err && core->siginfo)
		err = add_note(b, "CORE", NT_SIGINFO, core->siginfo, SIGINFO_BYTES);
	return err ?: add_note(b, "CORE", NT_AUXV, core->auxv, core->n_auxv * 16);
}

static struct err *add_thread_notes(bytes *b, const struct cap_core *core, size_t i,
				    const struct cap_mask *mask)
{
	struct cap_thread t = thread_at(core, i);
	struct elf_prstatus status = { .pr_pid = t.tid };
	// Its end is no word, but no register either.
	_cleanup_free_ uint64_t *xstate = malloc(t.xstate_bytes + 8);
	struct err *err;

	if (!xstate)
		return &err_nomem;
	if (t.xstate_bytes)
		memcpy(xstate, t.xstate, t.xstate_bytes);
	cap_mask_words(mask, xstate, t.xstate_bytes / 8);
	cap_mask_words(mask, t.regs.gpr, CAP_GPRS);
	fill_user_regs(&t.regs, (struct user_regs_struct *)&status.pr_reg);
	// The first member of siginfo is the signal's number.
	if (!i && core->siginfo)
		memcpy(&status.pr_info.si_signo, core->siginfo, sizeof(int));
	status.pr_cursig = status.pr_info.si_signo;
	status.pr_fpvalid = t.xstate_bytes >= sizeof(struct user_fpregs_struct);
	err = add_note(b, "CORE", NT_PRSTATUS, &status, sizeof(status));
	if (!err && !i)
		err = add_process_notes(b, core);
	// The XSAVE area begins with the FXSAVE image, which is what NT_FPREGSET is.
	if (!err && status.pr_fpvalid)
		err = add_note(b, "CORE", NT_FPREGSET, xstate,
			       sizeof(struct user_fpregs_struct));
	if (!err && t.xstate_bytes)
		err = add_note(b, "LINUX", NT_X86_XSTATE, xstate, t.xstate_bytes);
	return err;
}

static bool is_file_mapping(const struct cap_mapping *m)
{
	return m->name && m->name[0] == '/';
}

/** NT_FILE: count, page size, {start, end, offset in pages} ..., names. */
static struct err *add_file_note(bytes *b, const struct cap_core *core)
{
	bytes desc = {};
	uint64_t head[2] = { 0, PAGE };
	struct err *err;

	for (size_t i = 0; i < core->n_mappings; i++)
		head[0] += is_file_mapping(&core->mappings[i]);
	err = add(&desc, head, sizeof(head));
	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		const struct cap_mapping *m = &core->mappings[i];
		uint64_t entry[3] = { m->start, m->end, m->file_offset / PAGE };

		if (is_file_mapping(m))
			err = add(&desc, entry, sizeof(entry));
	}
	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (is_file_mapping(m))
			err = add(&desc, m->name, strlen(m->name) + 1);
	}
	if (!err)
		err = add_note(b, "CORE", NT_FILE, desc.data, desc.size);
	vec_deinit(&desc);
	return err;
}

static struct err *add_state_note(bytes *b, const struct cap_core *core)
{
	struct cap_note_process process = { .brk = core->brk };
	bytes desc = {};
	struct err *err = add(&desc, &process, sizeof(process));

	for (size_t i = 0; i < count_threads(core) && !err; i++) {
		const struct cap_thread t = thread_at(core, i);
		struct cap_note_thread entry = { t.clear_child_tid, t.robust_list };

		err = add(&desc, &entry, sizeof(entry));
	}
	if (!err)
		err = add_note(b, CAP_NOTE_NAME, CAP_NOTE_PROCESS, desc.data, desc.size);
	vec_deinit(&desc);
	return err;
}

static struct err *add_mapping_note(bytes *b, const struct cap_core *core)
{
	bytes desc = {};
	uint32_t name_offset = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		const struct cap_mapping *m = &core->mappings[i];
		struct cap_note_mapping entry = {
			.file = m->file,
			.flags = (m->is_stack ? CAP_NOTE_STACK : 0) |
				 (m->is_vdso ? CAP_NOTE_VDSO : 0) |
				 (m->is_heap ? CAP_NOTE_HEAP : 0),
			.file_offset = m->file_offset,
			.name_offset = name_offset,
		};

		name_offset += strlen(m->name ?: "") + 1;
		err = add(&desc, &entry, sizeof(entry));
	}
	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		const char *name = core->mappings[i].name ?: "";

		err = add(&desc, name, strlen(name) + 1);
	}
	if (!err)
		err = add_note(b, CAP_NOTE_NAME, CAP_NOTE_MAPPINGS, desc.data, desc.size);
	vec_deinit(&desc);
	return err;
}

static struct err *add_notes(bytes *b, const struct cap_core *core,
			     const struct cap_mask *mask)
{
	struct err *err = NULL;

	for (size_t i = 0; i < count_threads(core) && !err; i++)
		err = add_thread_notes(b, core, i, mask);
	if (!err)
		err = add_file_note(b, core);
	if (!err)
		err = add_state_note(b, core);
	return err ?: add_mapping_note(b, core);
}

static struct err *add_program_headers(bytes *b, const struct cap_core *core,
				       uint64_t notes_at, uint64_t notes_bytes)
{
	uint64_t at = (notes_at + notes_bytes + PAGE - 1) & -(uint64_t)PAGE;
	Elf64_Phdr note = { .p_type = PT_NOTE,
			    .p_offset = notes_at,
			    .p_filesz = notes_bytes,
			    .p_align = 4 };
	struct err *err = add(b, &note, sizeof(note));

	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		const struct cap_mapping *m = &core->mappings[i];
		Elf64_Phdr ph = {
			.p_type = PT_LOAD,
			.p_offset = at,
			.p_vaddr = m->start,
			.p_filesz = m->core_bytes,
			.p_memsz = m->end - m->start,
			.p_flags = (m->prot & PROT_READ ? PF_R : 0) |
				   (m->prot & PROT_WRITE ? PF_W : 0) |
				   (m->prot & PROT_EXEC ? PF_X : 0),
			.p_align = PAGE,
		};

		at += m->core_bytes;
		err = add(b, &ph, sizeof(ph));
	}
	return err;
}

static const char *name_of(const struct cap_core *core)
{
	return core->is_end ? "end.core" : "start.core";
}

/** Mask what is held of the memory, and write what is done. */
static struct err *write_masked(int fd, const struct cap_core *core,
				struct cap_mask_stream *s, bool is_last)
{
	size_t done = cap_mask_stream_do(s, is_last);
	struct err *err = cap_write_all(fd, s->data, done, name_of(core));

	if (!err && done)
		cap_mask_stream_drop(s, done);
	return err;
}

/** One stretch: what begins in one mapping may end in the next. */
static struct err *write_memory(int fd, const struct cap_core *core,
				struct err *(*read_mem)(void *ctx, uint64_t addr,
							void *buf, size_t size),
				void *ctx, struct cap_mask_stream *s)
{
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		for (uint64_t done = 0; done < m->core_bytes;) {
			uint64_t n = m->core_bytes - done;
			uint8_t *room;
			struct err *err;

			if (n > 1 << 20)
				n = 1 << 20;
			room = cap_mask_stream_room(s, n);
			err = room ? read_mem(ctx, m->start + done, room, n) : &err_nomem;
			if (err)
				return err;
			s->size += n;
			err = write_masked(fd, core, s, false);
			if (err)
				return err;
			done += n;
		}
	}
	return write_masked(fd, core, s, true);
}

static struct err *write_padded(int fd, const char *name, bytes *b)
{
	static const uint8_t zeros[PAGE];
	struct err *err = add(b, zeros, -b->size & (PAGE - 1));

	return err ?: cap_write_all(fd, b->data, b->size, name);
}

struct err *cap_core_write(int fd, const struct cap_core *core, size_t n_files,
			   const struct cap_mask *mask, uint64_t *n_masked,
			   struct err *(*read_mem)(void *ctx, uint64_t addr, void *buf,
						   size_t size),
			   void *ctx)
{
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT, ELFOSABI_NONE },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = core->n_mappings + 1,
	};
	_cleanup_(
		cap_mask_stream_deinit) struct cap_mask_stream memory = { .mask = mask };
	bytes notes = {}, all = {};
	struct err *err;

	if (core->n_mappings + 1 >= PN_XNUM)
		return err_new(ERR_UNSUPPORTED,
			       "the program has %zu mappings: too many "
			       "for an ELF core",
			       core->n_mappings);
	for (size_t i = 0; i < core->n_mappings; i++)
		assert(core->mappings[i].file <= n_files);
	err = add_notes(&notes, core, mask);
	if (!err)
		*n_masked += cap_mask_bytes(mask, notes.data, notes.size);
	if (!err)
		err = add(&all, &eh, sizeof(eh));
	if (!err)
		err = add_program_headers(&all, core,
					  sizeof(eh) + eh.e_phnum * sizeof(Elf64_Phdr),
					  notes.size);
	if (!err)
		err = add(&all, notes.data, notes.size);
	if (!err)
		err = write_padded(fd, name_of(core), &all);
	if (!err)
		err = write_memory(fd, core, read_mem, ctx, &memory);
	*n_masked += memory.n_masked;
	vec_deinit(&notes);
	vec_deinit(&all);
	return err;
}
