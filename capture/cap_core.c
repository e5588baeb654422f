// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Parsing start.core and end.core, and reading memory through them. The layout is described where
 * it is written, in cap_core_write.c.
 */
#define LOG_ROOM "capture"
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>

#include "capture/cap_elf.h"
#include "capture/cap_delta.h"
#include "capture/cap_format.h"

#define NOTES_MAX (64u << 20) ///< bytes of all; more is damage
#define XSTATE_MAX (64u << 10)
#define SIGINFO_BYTES 128
#define THREADS_MAX (1u << 22) ///< as many as Linux has numbers for

static struct err *damaged(const struct cap_core *core, const char *why)
{
	return err_new(ERR_FORMAT, "%s is damaged: %s", core->name, why);
}

void cap_core_close(struct cap_core *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->n_mappings; i++)
		free(core->mappings[i].name);
	free(core->mappings);
	if (!core->n_threads || core->xstate != core->threads[0].xstate)
		free(core->xstate);
	for (size_t i = 0; i < core->n_threads; i++)
		free(core->threads[i].xstate);
	free(core->threads);
	free(core->auxv);
	free(core->siginfo);
	free(core->exe);
	if (core->fd >= 0)
		close(core->fd);
	free(core);
}

static void core_closep(struct cap_core **core)
{
	cap_core_close(*core);
}

static void *copy_of(const void *data, size_t size)
{
	void *p = malloc(size + 1);

	if (p) {
		memcpy(p, data, size);
		((char *)p)[size] = 0;
	}
	return p;
}

/** Room for one more thread: the array doubles. */
static struct cap_thread *add_thread(struct cap_core *core)
{
	size_t n = core->n_threads;

	if (!(n & (n - 1))) {
		struct cap_thread *more =
			reallocarray(core->threads, n ? 2 * n : 1, sizeof(*more));

		if (!more)
			return NULL;
		core->threads = more;
	}
	core->threads[n] = (struct cap_thread){};
	core->n_threads++;
	return &core->threads[n];
}

/** A thread begins; its other notes follow. */
static struct err *parse_status(struct cap_core *core, const uint8_t *desc, size_t size)
{
	struct elf_prstatus status;
	struct user_regs_struct u;
	struct cap_thread *t;

	if (size != sizeof(status) || core->n_threads == THREADS_MAX)
		return damaged(core, "size of NT_PRSTATUS");
	t = add_thread(core);
	if (!t)
		return &err_nomem;
	memcpy(&status, desc, sizeof(status));
	memcpy(&u, &status.pr_reg, sizeof(u));
	t->tid = status.pr_pid;
	t->regs = (struct cap_regs){
		.gpr = { [CAP_RAX] = u.rax,
			 [CAP_RCX] = u.rcx,
			 [CAP_RDX] = u.rdx,
			 [CAP_RBX] = u.rbx,
			 [CAP_RSP] = u.rsp,
			 [CAP_RBP] = u.rbp,
			 [CAP_RSI] = u.rsi,
			 [CAP_RDI] = u.rdi,
			 [CAP_R8] = u.r8,
			 [CAP_R9] = u.r9,
			 [CAP_R10] = u.r10,
			 [CAP_R11] = u.r11,
			 [CAP_R12] = u.r12,
			 [CAP_R13] = u.r13,
			 [CAP_R14] = u.r14,
			 [CAP_R15] = u.r15 },
		.rip = u.rip,
		.rflags = u.eflags,
		.fs_base = u.fs_base,
		.gs_base = u.gs_base,
	};
	return NULL;
}

static struct err *parse_xstate(struct cap_core *core, const uint8_t *desc, size_t size)
{
	struct cap_thread *t = core->n_threads ? &core->threads[core->n_threads - 1] :
						 NULL;

	if (!t || t->xstate || size > XSTATE_MAX)
		return damaged(core, "NT_X86_XSTATE");
	t->xstate = copy_of(desc, size);
	t->xstate_bytes = size;
	return t->xstate ? NULL : &err_nomem;
}

static struct err *parse_process(struct cap_core *core, const uint8_t *desc, size_t size)
{
	struct cap_note_process process;

	if (size != sizeof(process) + core->n_threads * sizeof(struct cap_note_thread))
		return damaged(core, "size of its FAULTLINE note of the process");
	memcpy(&process, desc, sizeof(process));
	core->brk = process.brk;
	for (size_t i = 0; i < core->n_threads; i++) {
		struct cap_note_thread entry;

		memcpy(&entry, desc + sizeof(process) + i * sizeof(entry), sizeof(entry));
		core->threads[i].clear_child_tid = entry.clear_child_tid;
		core->threads[i].robust_list = entry.robust_list;
	}
	return NULL;
}

static struct err *parse_own(struct cap_core *core, const uint8_t *desc, size_t size)
{
	size_t table = core->n_mappings * sizeof(struct cap_note_mapping);
	const char *names = (const char *)desc + table;

	if (size < table || (size > table && names[size - table - 1]))
		return damaged(core, "size of its FAULTLINE note");
	for (size_t i = 0; i < core->n_mappings; i++) {
		struct cap_mapping *m = &core->mappings[i];
		struct cap_note_mapping n;

		memcpy(&n, desc + i * sizeof(n), sizeof(n));
		// Many may share one: each is copied.
		if (n.name_offset >= size - table ||
		    strnlen(names + n.name_offset, PATH_MAX) == PATH_MAX)
			return damaged(core, "a mapping's name");
		m->file = n.file;
		m->file_offset = n.file_offset;
		m->is_stack = n.flags & CAP_NOTE_STACK;
		m->is_vdso = n.flags & CAP_NOTE_VDSO;
		m->is_heap = n.flags & CAP_NOTE_HEAP;
		free(m->name);
		m->name = strdup(names + n.name_offset);
		if (m->name)
			text_flatten(m->name);
		if (!m->name)
			return &err_nomem;
	}
	return NULL;
}

/* What NT_FILE holds: counts, these, and a name for each. */
struct file_entry {
	uint64_t start, end, page;
};

static struct err *name_mapping(struct cap_mapping *m, const struct file_entry *e,
				uint64_t page_bytes, const char *name)
{
	if (m->start < e->start || m->start >= e->end)
		return NULL;
	free(m->name);
	m->name = strndup(name, PATH_MAX - 1);
	if (!m->name)
		return &err_nomem;
	text_flatten(m->name);
	m->file_offset = e->page * page_bytes + (m->start - e->start);
	return NULL;
}

static struct err *parse_files(struct cap_core *core, const uint8_t *desc, size_t size)
{
	const char *name, *end = (const char *)desc + size;
	uint64_t n, page_bytes;
	struct err *err = NULL;

	if (size < 16 || end[-1])
		return damaged(core, "size of NT_FILE");
	memcpy(&n, desc, 8);
	memcpy(&page_bytes, desc + 8, 8);
	if (n > (size - 16) / sizeof(struct file_entry))
		return damaged(core, "size of NT_FILE");
	name = (const char *)desc + 16 + n * sizeof(struct file_entry);
	for (size_t i = 0, at = 0; !err && i < n && name < end; i++) {
		struct file_entry e;

		memcpy(&e, desc + 16 + i * sizeof(e), sizeof(e));
		// Both are in the order of addresses.
		while (at < core->n_mappings && core->mappings[at].end <= e.start)
			at++;
		for (size_t k = at;
		     !err && k < core->n_mappings && core->mappings[k].start < e.end; k++)
			err = name_mapping(&core->mappings[k], &e, page_bytes, name);
		name += strlen(name) + 1;
	}
	return err;
}

static struct err *parse_note(struct cap_core *core, const char *name, uint32_t type,
			      const uint8_t *desc, size_t size)
{
	if (core->is_foreign && !strcmp(name, "CORE") && type == NT_FILE)
		return parse_files(core, desc, size);
	if (core->is_foreign && !strcmp(name, CAP_NOTE_NAME))
		return NULL;
	if (!strcmp(name, CAP_NOTE_NAME) && type == CAP_NOTE_MAPPINGS)
		return parse_own(core, desc, size);
	if (!strcmp(name, CAP_NOTE_NAME) && type == CAP_NOTE_PROCESS)
		return parse_process(core, desc, size);
	if (!strcmp(name, "CORE") && type == NT_PRSTATUS)
		return parse_status(core, desc, size);
	if (!strcmp(name, "CORE") && type == NT_AUXV && !core->auxv) {
		core->n_auxv = size / 16;
		core->auxv = copy_of(desc, size);
		return core->auxv ? NULL : &err_nomem;
	}
	if (!strcmp(name, "CORE") && type == NT_SIGINFO && !core->siginfo &&
	    size == SIGINFO_BYTES) {
		core->siginfo = copy_of(desc, size);
		return core->siginfo ? NULL : &err_nomem;
	}
	if (!strcmp(name, "LINUX") && type == NT_X86_XSTATE)
		return parse_xstate(core, desc, size);
	return NULL; // gdb's business
}

static struct err *parse_notes(struct cap_core *core, const uint8_t *notes, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name = at + sizeof(n), desc;
		struct err *err;

		memcpy(&n, notes + at, sizeof(n));
		if (!n.n_namesz || n.n_namesz > size - name)
			return damaged(core, "a note's name");
		desc = name + ((n.n_namesz + 3) & ~3u);
		if (notes[name + n.n_namesz - 1] || desc > size ||
		    n.n_descsz > size - desc)
			return damaged(core, "a note's size");
		err = parse_note(core, (const char *)notes + name, n.n_type, notes + desc,
				 n.n_descsz);
		if (err)
			return err;
		at = desc + (((size_t)n.n_descsz + 3) & ~(size_t)3);
		if (at > size)
			return damaged(core, "a note's size");
	}
	return NULL;
}

static struct err *add_mapping(struct cap_core *core, const Elf64_Phdr *ph,
			       uint64_t file_size)
{
	struct cap_mapping *m = &core->mappings[core->n_mappings];
	uint64_t floor = core->n_mappings ? m[-1].end : 0;

	if (ph->p_vaddr % 4096 || ph->p_memsz % 4096 || !ph->p_memsz ||
	    ph->p_vaddr + ph->p_memsz < ph->p_vaddr || ph->p_vaddr < floor ||
	    ph->p_filesz > ph->p_memsz)
		return damaged(core, "a mapping's addresses");
	if (ph->p_filesz &&
	    (ph->p_offset > file_size || file_size - ph->p_offset < ph->p_filesz))
		return err_new(ERR_TRUNCATED, "%s breaks off at byte %llu", core->name,
			       (unsigned long long)file_size);
	*m = (struct cap_mapping){
		.start = ph->p_vaddr,
		.end = ph->p_vaddr + ph->p_memsz,
		.prot = (ph->p_flags & PF_R ? PROT_READ : 0) |
			(ph->p_flags & PF_W ? PROT_WRITE : 0) |
			(ph->p_flags & PF_X ? PROT_EXEC : 0),
		.core_offset = ph->p_offset,
		.core_bytes = ph->p_filesz,
	};
	core->n_mappings++;
	return NULL;
}

static struct err *read_headers(struct cap_core *core, Elf64_Phdr **ret, size_t *n)
{
	Elf64_Ehdr eh;
	struct err *err = cap_read_at(core->fd, 0, &eh, sizeof(eh), core->name);

	if (err)
		return err;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_type != ET_CORE || eh.e_machine != EM_X86_64 ||
	    eh.e_phentsize != sizeof(Elf64_Phdr) || !eh.e_phnum)
		return err_new(ERR_FORMAT, "%s is not an x86-64 ELF core", core->name);
	*n = eh.e_phnum;
	*ret = calloc(eh.e_phnum, sizeof(**ret));
	if (!*ret)
		return &err_nomem;
	return cap_read_at(core->fd, eh.e_phoff, *ret, *n * sizeof(**ret), core->name);
}

/** @p left: of NOTES_MAX, for this segment and those that follow. */
static struct err *read_notes(struct cap_core *core, const Elf64_Phdr *ph, uint64_t *left)
{
	_cleanup_free_ uint8_t *notes = NULL;
	struct err *err;

	if (ph->p_filesz > *left)
		return damaged(core, "size of its notes");
	*left -= ph->p_filesz;
	notes = malloc(ph->p_filesz + 1);
	if (!notes)
		return &err_nomem;
	err = cap_read_at(core->fd, ph->p_offset, notes, ph->p_filesz, core->name);
	return err ?: parse_notes(core, notes, ph->p_filesz);
}

/** Mappings first: the FAULTLINE note describes them. */
static struct err *parse_core(struct cap_core *core, uint64_t file_size)
{
	_cleanup_free_ Elf64_Phdr *ph = NULL;
	uint64_t notes_left = NOTES_MAX;
	size_t n = 0;
	struct err *err = read_headers(core, &ph, &n);

	if (err)
		return err;
	core->mappings = calloc(n, sizeof(*core->mappings));
	if (!core->mappings)
		return &err_nomem;
	for (size_t i = 0; i < n && !err; i++)
		if (ph[i].p_type == PT_LOAD)
			err = add_mapping(core, &ph[i], file_size);
	for (size_t i = 0; i < n && !err; i++)
		if (ph[i].p_type == PT_NOTE)
			err = read_notes(core, &ph[i], &notes_left);
	return err;
}

static struct err *check_core(const struct capture *c, const struct cap_core *core)
{
	if (!core->n_threads || !core->auxv || !core->n_mappings)
		return damaged(core, "registers, auxv or mappings are missing");
	for (size_t i = 0; i < core->n_threads; i++)
		if (!core->threads[i].tid || !core->threads[i].xstate)
			return damaged(core, "a thread's number or vector registers");
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (!m->name)
			return damaged(core, "its FAULTLINE note is missing");
		if (m->file > c->info.n_files)
			return damaged(core, "a mapping's file index");
	}
	return NULL;
}

/* Of memory that is no file's there is only what the core holds. */
static struct err *check_foreign(struct cap_core *core)
{
	size_t n = 0;

	if (!core->n_threads || !core->auxv || !core->n_mappings)
		return damaged(core, "registers, auxv or mappings are missing");
	for (size_t i = 0; i < core->n_mappings; i++) {
		struct cap_mapping m = core->mappings[i];

		if (!m.name && !(m.name = strdup("")))
			return &err_nomem;
		core->mappings[i].name = m.name;
		if (m.name[0] != '/')
			m.end = m.start + (m.core_bytes & -4096ull);
		if (m.end > m.start) {
			core->mappings[i].name = core->mappings[n].name;
			core->mappings[n++] = m;
		}
	}
	for (size_t i = n; i < core->n_mappings; i++)
		free(core->mappings[i].name);
	core->n_mappings = n;
	return NULL;
}

static void core_take_first(struct cap_core *core)
{
	core->tid = core->threads[0].tid;
	core->regs = core->threads[0].regs;
	core->xstate = core->threads[0].xstate;
	core->xstate_bytes = core->threads[0].xstate_bytes;
}

struct err *cap_core_open_foreign(const char *path, struct cap_core **ret)
{
	_cleanup_(core_closep) struct cap_core *core = calloc(1, sizeof(*core));
	struct err *err;
	uint64_t bytes;

	if (!core)
		return &err_nomem;
	core->name = "the core";
	core->fd = -1;
	core->is_foreign = core->is_end = true;
	err = file_open_input(AT_FDCWD, path, path, UINT64_MAX, &core->fd, &bytes);
	if (!err)
		err = parse_core(core, bytes);
	if (!err)
		err = check_foreign(core);
	if (err)
		return err;
	core_take_first(core);
	*ret = take_ptr(&core);
	return NULL;
}

static struct err *open_core(const struct capture *c, const char *name,
			     struct cap_core **ret)
{
	_cleanup_(core_closep) struct cap_core *core = calloc(1, sizeof(*core));
	struct err *err;
	uint64_t bytes;

	if (!core)
		return &err_nomem;
	core->name = name;
	core->fd = -1;
	err = cap_input(c, name, &core->fd, &bytes);
	if (err && err->code == ERR_NOT_FOUND && !strcmp(name, "start.core") &&
	    !faccessat(c->dir_fd, CAP_DELTA, F_OK, 0)) {
		err_destroy(err);
		err = cap_delta_read(c->dir_fd, c->dir, &core->fd, &bytes);
	}
	if (!err)
		err = parse_core(core, bytes);
	if (!err)
		err = check_core(c, core);
	if (err)
		return err;
	core_take_first(core);
	*ret = take_ptr(&core);
	return NULL;
}

struct err *cap_core_open(const struct capture *c, struct cap_core **ret)
{
	if (c->info.mode == CAP_MODE_FLIGHT)
		return err_new(ERR_UNSUPPORTED,
			       "%s is of the flight recorder: it holds an end, and no "
			       "start from which it could be run again",
			       c->dir);
	return open_core(c, "start.core", ret);
}

struct err *cap_end_core_open(const struct capture *c, struct cap_core **ret)
{
	struct err *err = open_core(c, "end.core", ret);

	if (!err)
		(*ret)->is_end = true;
	return err;
}

const struct cap_mapping *cap_core_mapping(const struct cap_core *core, uint64_t addr)
{
	size_t at = vec_rank(core->n_mappings, i, core->mappings[i].end <= addr);

	return at < core->n_mappings && core->mappings[at].start <= addr ?
		       &core->mappings[at] :
		       NULL;
}

/** @p size bytes of kept file @p file at @p offset; zeros behind its end. */
static struct err *read_file(const struct capture *c, uint32_t file, uint64_t offset,
			     void *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	size_t n = 0;
	struct err *err = capture_file_open(c, file, &fd);

	if (err)
		return err;
	if (fstat(fd, &st))
		return err_errno("cannot read %s", c->info.files[file - 1].path);
	if (offset < (uint64_t)st.st_size)
		n = st.st_size - offset < size ? st.st_size - offset : size;
	memset((uint8_t *)buf + n, 0, size - n);
	return cap_read_at(fd, offset, buf, n, c->info.files[file - 1].path);
}

/** Bytes of one mapping. The core's part first, then the file or zeros. */
static struct err *read_mapping(const struct capture *c, const struct cap_core *core,
				const struct cap_mapping *m, uint64_t at, void *buf,
				size_t size)
{
	if (at < m->core_bytes)
		return cap_read_at(core->fd, m->core_offset + at, buf, size, core->name);
	if (m->file)
		return read_file(c, m->file, m->file_offset + at, buf, size);
	memset(buf, 0, size);
	return NULL;
}

struct err *cap_core_read(const struct capture *c, const struct cap_core *core,
			  uint64_t addr, void *buf, size_t size)
{
	uint8_t *p = buf;

	while (size) {
		const struct cap_mapping *m = cap_core_mapping(core, addr);
		uint64_t at, n;
		struct err *err;

		if (!m)
			return err_new(ERR_RANGE, "no memory at 0x%llx in %s",
				       (unsigned long long)addr, core->name);
		at = addr - m->start;
		n = (at < m->core_bytes ? m->core_bytes : m->end - m->start) - at;
		if (n > size)
			n = size;
		err = read_mapping(c, core, m, at, p, n);
		if (err)
			return err;
		addr += n;
		p += n;
		size -= n;
	}
	return NULL;
}
