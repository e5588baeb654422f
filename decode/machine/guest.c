// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/machine/guest.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "decode/machine/alias.h"
#include "decode/translator/emulate.h"

#define XSTATE_PKRU 9 ///< a component of the state (SDM volume 1, 13.1)
// Since Linux 5.18 and 5.7; C's library may not have names for them yet.
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PAGE 4096ull
#define PAGE_UP(x) (((x) + PAGE - 1) & ~(PAGE - 1))
#define PAGE_DOWN(x) ((x) & ~(PAGE - 1))

// With no limit on the stack, or a higher one, this much is reserved for it.
#define GUEST_STACK_BYTES (4ull << 30)

// No less than this or the limit: where a stack overflows is part of the run.
#define GUEST_STACK_LEAST (64ull << 20)

// The kernel leaves as much between a stack and what is below it.
#define GUEST_STACK_GAP (1ull << 20)

/* ---- ranges ------------------------------------------------------------------------ */

/* Index of the first range that ends behind @p addr. */
static size_t guest_lower(const struct dec_guest *g, uint64_t addr)
{
	return vec_rank(g->ranges.size, i, g->ranges.data[i].end <= addr);
}

void dec_guest_remap(const struct dec_guest *g, uint64_t start, uint64_t end)
{
	if (g->remapping)
		g->remapping(start, end);
}

ENGINE_BARE bool dec_guest_protect_bare(uint64_t start, uint64_t size, uint64_t prot)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"((long)SYS_mprotect), "D"(start), "S"(size), "d"(prot)
			 : "rcx", "r11", "memory");
	return !ret;
}

/* What the host maps of [start, end) goes; the ranges stay. */
static void guest_unmap(const struct dec_guest *g, uint64_t start, uint64_t end)
{
	dec_guest_remap(g, start, end);
	for (size_t i = guest_lower(g, start);
	     i < g->ranges.size && g->ranges.data[i].start < end; i++) {
		const struct guest_range *r = &g->ranges.data[i];
		uint64_t from = r->start > start ? r->start : start;
		uint64_t to = r->end < end ? r->end : end;

		munmap((void *)from, to - from);
	}
}

/* Forget [start, end); ranges across its borders are cut. */
static struct err *guest_cut(struct dec_guest *g, uint64_t start, uint64_t end)
{
	size_t i = guest_lower(g, start);

	while (i < g->ranges.size && g->ranges.data[i].start < end) {
		struct guest_range *r = &g->ranges.data[i];

		if (r->start < start && r->end > end) {
			struct guest_range rest = { end, r->end, r->prot };

			r->end = start;
			if (!vec_push(&g->ranges))
				return &err_nomem;
			memmove(&g->ranges.data[i + 2], &g->ranges.data[i + 1],
				(g->ranges.size - i - 2) * sizeof(rest));
			g->ranges.data[i + 1] = rest;
			return NULL;
		}
		if (r->start < start) {
			r->end = start;
			i++;
		} else if (r->end > end) {
			r->start = end;
			return NULL;
		} else {
			memmove(r, r + 1, (g->ranges.size - i - 1) * sizeof(*r));
			g->ranges.size--;
		}
	}
	return NULL;
}

static struct err *guest_add(struct dec_guest *g, uint64_t start, uint64_t end, int prot)
{
	struct err *err = guest_cut(g, start, end);
	size_t i;

	if (err)
		return err;
	i = guest_lower(g, start);
	dec_blank_cover(g->engine, start, end);
	if (i && g->ranges.data[i - 1].end == start &&
	    g->ranges.data[i - 1].prot == prot) {
		g->ranges.data[i - 1].end = end;
		return NULL;
	}
	if (!vec_push(&g->ranges))
		return &err_nomem;
	memmove(&g->ranges.data[i + 1], &g->ranges.data[i],
		(g->ranges.size - i - 1) * sizeof(g->ranges.data[0]));
	g->ranges.data[i] = (struct guest_range){ start, end, prot };
	return NULL;
}

uint64_t dec_guest_avail(struct dec_guest *g, uint64_t addr, int prot)
{
	struct guest_range *r = NULL;
	size_t i = g->last_hit;
	uint64_t n = 0;

	if (i < g->ranges.size)
		r = &g->ranges.data[i];
	if (!r || addr < r->start || addr >= r->end) {
		i = g->last_hit = guest_lower(g, addr);
		r = &g->ranges.data[i];
	}
	while (i < g->ranges.size && addr + n >= r->start && (r->prot & prot)) {
		n = r->end - addr;
		r++;
		i++;
	}
	if (g->hidden && addr + n > g->hidden && addr < g->hidden + PAGE)
		n = addr < g->hidden ? g->hidden - addr : 0;
	return n;
}

bool dec_guest_is_mapped(const struct dec_guest *g, uint64_t addr)
{
	size_t i = guest_lower(g, addr);

	return i < g->ranges.size && g->ranges.data[i].start <= addr;
}

/* Does a read of @p page fault? The kernel is asked to set signals in a way that there is not, and
 * reads them first. (Of none, at address 0, it does not.) */
static bool guest_faults_at(uint64_t page)
{
	return syscall(SYS_rt_sigprocmask, -1, page + 8, NULL, 8) && errno == EFAULT;
}

bool dec_guest_meets_ours(struct dec_guest *g, uint64_t addr)
{
	uint64_t page = PAGE_DOWN(addr);

	// What we have only reserved (arenas, the gap in a sanitizer's shadow) is nothing to the guest.
	if (dec_guest_is_mapped(g, page) || guest_faults_at(page))
		return false;
	g->has_collided = true;
	g->has_met_ctx = ctx_is_in(g->engine->ctx, page, PAGE);
	return true;
}

bool dec_guest_insn(struct dec_guest *g, uint64_t rip, struct dec_insn *ret)
{
	uint64_t n = dec_guest_avail(g, rip, PROT_EXEC);

	if (!n || !dec_insn_decode((const uint8_t *)rip, n < 15 ? n : 15, rip, ret))
		return false;
	dec_engine_move(g->engine, ret);
	return true;
}

/* ---- mapping ------------------------------------------------------------------------- */

static int guest_host_prot(int prot)
{
	// The engine reads code that the guest may only execute.
	return (prot & (PROT_READ | PROT_WRITE)) | (prot & PROT_EXEC ? PROT_READ : 0);
}

/* ---- code that may change ----------------------------------------------------------- */

static void guest_protect_page(struct dec_guest *g, uint64_t page)
{
	if (!dec_guest_avail(g, page << 12, PROT_WRITE))
		return;
	dec_guest_remap(g, page << 12, (page + 1) << 12);
	if (!mprotect((void *)(page << 12), PAGE, PROT_READ))
		map_put(&g->code, page, 1);
}

// As many stores to one page, each within so many instructions of the one before (a fault costs what 20,000 do), have
// more to come.
enum { STORES = 16, STORES_APART = 4096 };

static void guest_stored(struct dec_guest *g, uint64_t page)
{
	const uint64_t *known = map_get(&g->stores, page);
	uint64_t now = g->engine->now, n = 0;

	if (known && now - (*known >> 8) <= STORES_APART)
		n = (*known & 0xff) + ((*known & 0xff) < STORES);
	if (map_put(&g->stores, page, now << 8 | n))
		map_remove(&g->stores, page); // it goes on being protected
}

static bool guest_is_restless(struct dec_guest *g, uint64_t page)
{
	uint64_t *known = map_get(&g->stores, page);

	if (!known || (*known & 0xff) < STORES)
		return false;
	*known &= ~0xffull; // next time it is tried again
	return true;
}

bool dec_guest_protect_code(struct dec_guest *g, uint64_t page)
{
	if (g->is_changing_code)
		return true;
	if (guest_is_restless(g, page))
		return false;
	guest_protect_page(g, page);
	dec_alias_each(g, page, guest_protect_page);
	return true;
}

static void guest_invalidate_page(struct dec_guest *g, uint64_t page)
{
	dec_engine_invalidate(g->engine, page << 12, PAGE);
}

bool dec_guest_unprotect_code(struct dec_guest *g, uint64_t addr)
{
	uint64_t page = addr >> 12;

	if (!map_remove(&g->code, page))
		return false;
	guest_stored(g, page);
	dec_guest_remap(g, addr, addr + 1);
	mprotect((void *)PAGE_DOWN(addr), PAGE, PROT_READ | PROT_WRITE);
	guest_invalidate_page(g, page);
	dec_alias_each(g, page, guest_invalidate_page);
	return true;
}

enum dec_verdict dec_guest_change_code(struct dec_guest *g)
{
	uint64_t rip = g->engine->ctx->rip, last = rip + 14;
	enum dec_verdict v;

	g->is_changing_code = true;
	v = dec_engine_step_slow(g->engine);
	g->is_changing_code = false;
	if (dec_guest_avail(g, rip, PROT_WRITE))
		guest_invalidate_page(g, rip >> 12);
	if (last >> 12 != rip >> 12 && dec_guest_avail(g, last, PROT_WRITE))
		guest_invalidate_page(g, last >> 12);
	return v;
}

/* [start, end) is mapped or protected anew: what was translated from it is void. */
static void guest_forget_code(struct dec_guest *g, uint64_t start, uint64_t end)
{
	dec_engine_invalidate(g->engine, start, end - start);
	for (size_t i = 0; g->code.size && i < g->code.capacity;) {
		uint64_t page = g->code.slots[i].key;

		if (page != MAP_EMPTY_KEY && page >= start >> 12 && page << 12 < end)
			map_remove(&g->code, page); // may pull another entry into slot i
		else
			i++;
	}
}

/* Map fresh memory for the guest; @p fd -1: zeros. Left writable: see guest_seal(). */
static struct err *guest_map(struct dec_guest *g, uint64_t start, uint64_t size, int prot,
			     int fd, uint64_t offset)
{
	int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
	uint64_t end = start + size;
	struct err *err;

	if (!size || end < start || (start & (PAGE - 1)))
		return err_new(ERR_FORMAT, "bad mapping %#lx+%#lx in the capture", start,
			       size);
	dec_guest_remap(g, start, end);
	dec_engine_make_room(g->engine, start, size);
	guest_forget_code(g, start, end);
	err = dec_alias_cut(g, start, end);
	if (err)
		return err;
	guest_unmap(g, start, end);
	if (mmap((void *)start, size, PROT_READ | PROT_WRITE,
		 fd < 0 ? flags | MAP_ANONYMOUS : flags, fd,
		 fd < 0 ? 0 : offset) == MAP_FAILED) {
		g->has_collided = errno == EEXIST;
		g->has_met_ctx = g->has_collided &&
				 ctx_is_in(g->engine->ctx, start, size);
		return err_errno("cannot map guest memory %#lx+%#lx", start, size);
	}
	return guest_add(g, start, end, prot);
}

struct err *dec_guest_restore(struct dec_guest *g, uint64_t start, uint64_t end)
{
	dec_guest_remap(g, start, end);
	guest_forget_code(g, start, end);
	for (size_t i = guest_lower(g, start);
	     i < g->ranges.size && g->ranges.data[i].start < end; i++) {
		struct guest_range *r = &g->ranges.data[i];
		uint64_t from = r->start > start ? r->start : start;
		uint64_t to = r->end < end ? r->end : end;

		if (mprotect((void *)from, to - from, guest_host_prot(r->prot)))
			return err_errno("cannot protect guest memory %#lx", from);
	}
	return NULL;
}

/* Give [start, end) its final protection, once its contents are in place. */
static struct err *guest_seal(uint64_t start, uint64_t size, int prot)
{
	if ((guest_host_prot(prot) & PROT_WRITE) && (prot & PROT_READ))
		return NULL;
	if (mprotect((void *)start, size, guest_host_prot(prot)))
		return err_errno("cannot protect guest memory %#lx+%#lx", start, size);
	return NULL;
}

static struct err *guest_file_fd(struct dec_guest *g, uint32_t file, int *ret)
{
	if (!file || file > g->n_files || g->file_fds[file - 1] < 0)
		return err_new(
			ERR_FORMAT, "the capture maps file %u but does not hold it%s",
			file,
			capture_info(g->capture)->is_unfinished ?
				" (the recording was not finished: no manifest.json)" :
				"");
	*ret = g->file_fds[file - 1];
	return NULL;
}

/* ---- the start state ------------------------------------------------------------------- */

static struct err *guest_open_files(struct dec_guest *g)
{
	const struct cap_info *info = capture_info(g->capture);

	g->n_files = info->n_files;
	g->file_fds = malloc((info->n_files + 1) * sizeof(int));
	if (!g->file_fds)
		return &err_nomem;
	for (size_t i = 0; i < info->n_files; i++) {
		_cleanup_err_ struct err *err = NULL;

		g->file_fds[i] = -1;
		err = capture_file_open(g->capture, i + 1, &g->file_fds[i]);
		// Not kept: it may never be looked at.
		if (err && err->code != ERR_NOT_FOUND)
			return take_ptr(&err);
	}
	return NULL;
}

static struct err *guest_fill(const struct cap_core *core, const struct cap_mapping *m)
{
	for (uint64_t at = 0; at < m->core_bytes;) {
		ssize_t n = pread(core->fd, (void *)(m->start + at), m->core_bytes - at,
				  m->core_offset + at);

		if (n <= 0)
			return n ? err_errno("cannot read start.core") :
				   err_new(ERR_TRUNCATED, "start.core ends too early");
		at += n;
	}
	return NULL;
}

/* A program that was attached to knows its vDSO, and calls what the recorder put there. */
static bool guest_has_vdso(const struct cap_core *core)
{
	for (size_t i = 0; i < core->n_auxv; i++)
		if (core->auxv[2 * i] == AT_SYSINFO_EHDR)
			return true;
	return false;
}

static struct err *guest_map_start(struct dec_guest *g, const struct cap_core *core,
				   const struct cap_mapping *m)
{
	struct err *err;
	int fd = -1;

	if ((m->is_vdso && !guest_has_vdso(core)) || m->start >= 1ull << 47)
		return NULL;
	if (m->core_bytes > m->end - m->start)
		return err_new(ERR_FORMAT,
			       "start.core has a mapping smaller than its contents");
	if (m->file && !m->core_bytes) {
		err = guest_file_fd(g, m->file, &fd);
		if (err)
			return err;
	}
	err = guest_map(g, m->start, m->end - m->start, m->prot, fd, m->file_offset);
	if (!err)
		err = guest_fill(core, m);
	if (!err)
		err = guest_seal(m->start, m->end - m->start, m->prot);
	return err;
}

/* The kernel grows a stack, which ends at @p end, on demand; we reserve what it may grow to below
 * @p start. This process's own stack may be in the way: of a very large one less will do.
 * @p ret: the lowest address reserved. */
static struct err *guest_reserve(struct dec_guest *g, uint64_t start, uint64_t end,
				 uint64_t limit, int prot, uint64_t *ret)
{
	size_t i = guest_lower(g, start - 1);
	uint64_t below = i ? g->ranges.data[i - 1].end + GUEST_STACK_GAP : 0;

	if (!limit || limit > GUEST_STACK_BYTES)
		limit = GUEST_STACK_BYTES;
	if (dec_guest_is_mapped(g, start - 1))
		below = start;
	if (end < below || limit > end - below)
		limit = end < below ? 0 : end - below;
	*ret = start;
	limit = PAGE_DOWN(limit);
	for (; limit > end - start; limit = PAGE_DOWN(limit / 2)) {
		struct err *err =
			guest_map(g, end - limit, limit - (end - start), prot, -1, 0);

		if (!err) {
			*ret = end - limit;
			return NULL;
		}
		if (!g->has_collided || limit <= GUEST_STACK_LEAST)
			return err;
		g->has_collided = false;
		err_destroy(err);
	}
	return NULL;
}

uint64_t dec_guest_xstate_keys(const uint8_t *xstate, size_t bytes,
			       const struct cap_xstate_layout *layout)
{
	uint64_t in_use;
	uint32_t keys;

	if (!layout->at[XSTATE_PKRU].size ||
	    bytes < layout->at[XSTATE_PKRU].offset + sizeof(keys))
		return DEC_PKRU_INIT;
	memcpy(&in_use, xstate + 512, sizeof(in_use));
	memcpy(&keys, xstate + layout->at[XSTATE_PKRU].offset, sizeof(keys));
	return in_use >> XSTATE_PKRU & 1 ? keys : 0;
}

void dec_guest_load_xstate(const struct dec_guest *g, const uint8_t *xstate, size_t bytes,
			   const struct cap_xstate_layout *layout, uint8_t *xsave)
{
	uint64_t in_use;

	if (bytes < 576)
		return;
	cap_xstate_convert(xsave, CTX_XSAVE_BYTES, &g->host_xstate, xstate, bytes,
			   layout);
	memset(xsave + 464, 0, 48); // software bytes of the kernel
	memcpy(&in_use, xsave + 512, 8);
	in_use &= g->engine->ctx->xmask;
	memcpy(xsave + 512, &in_use, 8);
}

/* How vector registers lie in memory: here, and where it was recorded. */
static struct err *guest_init_xstate(struct dec_guest *g)
{
	const struct cap_cpu *recorded = &capture_info(g->capture)->cpu;
	const struct cap_cpu *here;
	struct err *err = cap_cpu_here(&here);

	if (err)
		return err;
	g->host_xstate = cap_cpu_xstate(here);
	g->xstate = recorded->n ? cap_cpu_xstate(recorded) : g->host_xstate;
	g->core_xstate = cap_core_xstate();
	return NULL;
}

/* Vector registers in use where the capture begins (an attached program's) must have a place
 * here; what is in use later, instructions tell. */
static struct err *guest_check_xstate(const struct dec_guest *g,
				      const struct cap_core *core)
{
	static const struct {
		uint64_t components;
		const char *name;
	} kinds[] = { { 4, "AVX" }, { 0xe0, "AVX-512" } };
	uint64_t in_use = 0, one;

	for (size_t i = 0; i < core->n_threads; i++)
		if (core->threads[i].xstate_bytes >= 576) {
			memcpy(&one, core->threads[i].xstate + 512, 8);
			in_use |= one;
		}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (in_use & kinds[i].components & ~g->engine->ctx->xmask)
			return err_new(
				ERR_UNSUPPORTED,
				"%s registers are in use where the capture begins, "
				"and this CPU has none: replay it on one that has "
				"them, or record from the program's beginning, with "
				"--portable",
				kinds[i].name);
	return NULL;
}

struct err *dec_guest_init(struct dec_guest *g, struct dec_engine *e,
			   const struct capture *c, const struct cap_core *core)
{
	struct err *err;

	*g = (struct dec_guest){ .engine = e, .capture = c, .brk = core->brk };
	err = guest_init_xstate(g);
	if (!err)
		err = guest_check_xstate(g, core);
	if (!err)
		err = guest_open_files(g);
	for (size_t i = 0; !err && i < core->n_mappings; i++)
		err = guest_map_start(g, core, &core->mappings[i]);
	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (!m->is_stack)
			continue;
		g->stack_end = m->end;
		g->stack_prot = m->prot;
		err = guest_reserve(g, m->start, m->end,
				    capture_info(g->capture)->stack_limit, m->prot,
				    &g->stack_start);
	}
	if (err)
		return err;
	memcpy(e->ctx->gpr, core->regs.gpr, sizeof(e->ctx->gpr));
	e->ctx->rip = core->regs.rip;
	e->ctx->rflags = ctx_user_flags(core->regs.rflags);
	e->ctx->fs_base = core->regs.fs_base;
	e->ctx->gs_base = core->regs.gs_base;
	dec_guest_load_xstate(g, core->xstate, core->xstate_bytes, &g->core_xstate,
			      e->ctx->xsave);
	e->ctx->pkru =
		dec_guest_xstate_keys(core->xstate, core->xstate_bytes, &g->core_xstate);
	return NULL;
}

/* ---- system calls ------------------------------------------------------------------------ */

/* Inside one page, which the guest itself may not write. */
static struct err *guest_write_protected(struct dec_guest *g, uint64_t addr,
					 const void *data, uint64_t size)
{
	uint64_t page = PAGE_DOWN(addr);

	dec_guest_remap(g, page, page + PAGE);
	if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE))
		return err_errno("cannot change guest memory %#lx", page);
	memcpy((void *)addr, data, size);
	return dec_guest_restore(g, page, page + PAGE);
}

struct err *dec_guest_write(struct dec_guest *g, uint64_t addr, const void *data,
			    uint64_t size)
{
	bool is_writable = dec_guest_avail(g, addr, PROT_WRITE) >= size;

	if (g->written)
		g->written(g->written_ctx, addr, size);
	if (!is_writable && size <= PAGE - addr % PAGE && dec_guest_is_mapped(g, addr))
		return guest_write_protected(g, addr, data, size);
	if (!is_writable)
		return err_new(ERR_DIVERGED,
			       "the kernel wrote %lu bytes at %#lx, where the "
			       "replay has no writable memory",
			       size, addr);
	dec_engine_invalidate(g->engine, addr, size);
	for (uint64_t at = PAGE_DOWN(addr); g->code.size && at < addr + size; at += PAGE)
		dec_guest_unprotect_code(g, at);
	memcpy((void *)addr, data, size);
	return NULL;
}

/* Map @p size bytes where the kernel did, with the event's bytes or file as contents. */
static struct err *guest_map_event(struct dec_guest *g, const struct cap_event *ev,
				   uint64_t size, int prot)
{
	struct err *err = NULL;
	int fd = -1;

	if (ev->file)
		err = guest_file_fd(g, ev->file, &fd);
	if (!err)
		err = guest_map(g, ev->ret, size, prot | PROT_WRITE, fd,
				fd < 0 ? 0 : ev->file_offset);
	for (size_t i = 0; !err && i < ev->n_writes; i++)
		err = dec_guest_write(g, ev->writes[i].addr, ev->writes[i].data,
				      ev->writes[i].size);
	if (!err)
		err = guest_add(g, ev->ret, ev->ret + size, prot);
	if (!err && g->engine->guard)
		dec_guard_written(g->engine, ev->ret, size);
	return err ? err : guest_seal(ev->ret, size, prot);
}

static struct err *guest_mmap(struct dec_guest *g, const struct cap_event *ev)
{
	uint64_t size = PAGE_UP(ev->regs.gpr[CAP_RSI]), flags = ev->regs.gpr[CAP_R10];
	bool has_key = ev->flags & CAP_SYS_IDENTITY;
	bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	struct err *err = guest_map_event(g, ev, size, ev->regs.gpr[CAP_RDX]);
	uint64_t lowest;

	if (!err && flags & MAP_GROWSDOWN)
		err = guest_reserve(g, ev->ret, ev->ret + size,
				    capture_info(g->capture)->stack_limit,
				    ev->regs.gpr[CAP_RDX], &lowest);
	if (err || (!has_key && !is_shared))
		return err;
	return dec_alias_add(g, has_key ? ev->file_offset : 0, ev->regs.gpr[CAP_R9],
			     ev->ret, ev->ret + size, is_shared);
}

/* The segment's bytes are in the event, all of them. */
static struct err *guest_shmat(struct dec_guest *g, const struct cap_event *ev)
{
	uint64_t flags = ev->regs.gpr[CAP_RDX], size = 0;
	int prot = PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) |
		   (flags & SHM_EXEC ? PROT_EXEC : 0);
	struct err *err;

	for (size_t i = 0; i < ev->n_writes; i++)
		size += ev->writes[i].size;
	if (!size || ev->flags & (CAP_SYS_PARTIAL | CAP_SYS_UNLISTED))
		return err_new(ERR_UNSUPPORTED,
			       "the program attached System V shared memory, whose "
			       "contents are not in the capture");
	err = guest_map_event(g, ev, size, prot);
	if (err)
		return err;
	return dec_alias_add(g, ev->flags & CAP_SYS_IDENTITY ? ev->file_offset : 0, 0,
			     ev->ret, ev->ret + size, true);
}

/* setrlimit(RLIMIT_STACK), or prlimit of the process's own. */
static struct err *guest_limit(struct dec_guest *g, const struct cap_event *ev)
{
	const uint64_t *r = ev->regs.gpr;
	bool is_old = r[CAP_RAX] == SYS_setrlimit;
	uint64_t limit, at = is_old ? r[CAP_RSI] : r[CAP_RDX];

	if (r[is_old ? CAP_RDI : CAP_RSI] != RLIMIT_STACK || !g->stack_end ||
	    dec_guest_avail(g, at, PROT_READ) < sizeof(limit))
		return NULL;
	memcpy(&limit, (const void *)at, sizeof(limit));
	return limit <= g->stack_end - g->stack_start ?
		       NULL :
		       guest_reserve(g, g->stack_start, g->stack_end, limit,
				     g->stack_prot, &g->stack_start);
}

static struct err *guest_munmap(struct dec_guest *g, uint64_t start, uint64_t size)
{
	uint64_t end = start + PAGE_UP(size);
	struct err *err = dec_alias_cut(g, start, end);

	if (err)
		return err;
	guest_forget_code(g, start, end);
	guest_unmap(g, start, end);
	return guest_cut(g, start, end);
}

static struct err *guest_mprotect(struct dec_guest *g, uint64_t start, uint64_t size,
				  int prot)
{
	size = PAGE_UP(size);
	if (!size)
		return NULL;
	if (dec_guest_avail(g, start, -1) < size &&
	    guest_lower(g, start) == g->ranges.size)
		return err_new(ERR_DIVERGED, "mprotect of %#lx, which is not mapped",
			       start);
	prot &= PROT_READ | PROT_WRITE | PROT_EXEC;
	guest_forget_code(g, start, start + size);
	dec_guest_remap(g, start, start + size);
	if (mprotect((void *)start, size, guest_host_prot(prot)))
		return err_errno("cannot protect guest memory %#lx+%#lx", start, size);
	return guest_add(g, start, start + size, prot);
}

static struct err *guest_brk(struct dec_guest *g, uint64_t brk)
{
	uint64_t old = PAGE_UP(g->brk), now = PAGE_UP(brk);
	struct err *err = NULL;

	if (g->brk && now > old)
		err = guest_map(g, old, now - old, PROT_READ | PROT_WRITE, -1, 0);
	else if (g->brk && now < old)
		err = guest_munmap(g, now, old - now);
	g->brk = brk;
	return err;
}

/* The new end of a mapping of @p old bytes at @p start; what a file has there comes with the
 * event's memory. */
static struct err *guest_seal_grown(struct dec_guest *g, uint64_t start, uint64_t old,
				    uint64_t now, int prot)
{
	struct err *err = dec_alias_grow(g, start + old, now - old);

	return err ? err : guest_seal(start + old, now - old, prot);
}

/* What is mapped at @p from is mapped at @p to as well: all of it, or (nothing of it is shared)
 * without its contents. */
static struct err *guest_map_again(struct dec_guest *g, uint64_t from, uint64_t size,
				   uint64_t to, int prot)
{
	uint64_t n = dec_guest_avail(g, from, PROT_READ);
	struct err *err = guest_map(g, to, size, prot, -1, 0);

	if (err)
		return err;
	if (dec_alias_is_shared(g, from))
		memcpy((void *)to, (const void *)from, n < size ? n : size);
	err = dec_alias_again(g, from, size, to);
	return err ? err : guest_seal(to, size, prot);
}

static struct err *guest_mremap(struct dec_guest *g, const struct cap_event *ev)
{
	uint64_t from = ev->regs.gpr[CAP_RDI], to = ev->ret;
	uint64_t old = PAGE_UP(ev->regs.gpr[CAP_RSI]),
		 now = PAGE_UP(ev->regs.gpr[CAP_RDX]), both = old < now ? old : now;
	size_t i = guest_lower(g, from);
	struct err *err;
	int prot;

	if (!dec_guest_is_mapped(g, from))
		return err_new(ERR_DIVERGED, "mremap of %#lx, which is not mapped", from);
	prot = g->ranges.data[i].prot;
	if (!old)
		return guest_map_again(g, from, now, to, prot);
	dec_guest_remap(g, from, from + old);
	guest_forget_code(g, from, from + old);
	if (to == from) {
		if (now < old)
			return guest_munmap(g, from + now, old - now);
		if (now == old)
			return NULL;
		err = guest_map(g, from + old, now - old, prot, -1, 0);
		return err ? err : guest_seal_grown(g, from, old, now, prot);
	}
	// Claim the new place first, so that a collision is noticed, then move onto it.
	err = guest_map(g, to, now, prot, -1, 0);
	if (err)
		return err;
	if (mremap((void *)from, both, both, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to) ==
	    MAP_FAILED)
		return err_errno("cannot move guest memory %#lx to %#lx", from, to);
	err = dec_alias_move(g, from, both, to);
	if (!err)
		err = guest_munmap(g, from, old);
	if (!err && now > old)
		err = guest_seal_grown(g, to, old, now, prot);
	if (!err && ev->regs.gpr[CAP_R10] & MREMAP_DONTUNMAP)
		err = guest_map_again(g, to, old, from, prot);
	return err;
}

struct err *dec_guest_syscall(struct dec_guest *g, const struct cap_event *ev)
{
	const uint64_t *r = ev->regs.gpr;
	uint64_t end;

	if (ev->flags & CAP_SYS_PREFIX)
		return guest_mprotect(g, r[CAP_RDI], ev->file_offset, r[CAP_RDX]);
	if (ev->ret < 0 && ev->ret > -4096)
		return NULL;
	switch (r[CAP_RAX]) {
	case SYS_mmap:
		return guest_mmap(g, ev);
	case SYS_munmap:
		return guest_munmap(g, r[CAP_RDI], r[CAP_RSI]);
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return guest_mprotect(g, r[CAP_RDI], r[CAP_RSI], r[CAP_RDX]);
	case SYS_brk:
		return guest_brk(g, ev->ret);
	case SYS_mremap:
		return guest_mremap(g, ev);
	case SYS_madvise:
		dec_guest_remap(g, r[CAP_RDI], r[CAP_RDI] + r[CAP_RSI]);
		// Only the advice that changes what reads return.
		if ((r[CAP_RDX] == MADV_DONTNEED || r[CAP_RDX] == MADV_DONTNEED_LOCKED) &&
		    !dec_alias_is_shared(g, r[CAP_RDI]) &&
		    madvise((void *)r[CAP_RDI], PAGE_UP(r[CAP_RSI]), MADV_DONTNEED))
			return err_errno("cannot redo madvise at %#lx", r[CAP_RDI]);
		return NULL;
	case SYS_setrlimit:
	case SYS_prlimit64:
		return guest_limit(g, ev);
	case SYS_shmat:
		return guest_shmat(g, ev);
	case SYS_shmdt:
		end = dec_alias_end(g, r[CAP_RDI]);
		return end ? guest_munmap(g, r[CAP_RDI], end - r[CAP_RDI]) : NULL;
	default:
		return NULL;
	}
}
