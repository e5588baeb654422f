// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/translator/engine.h"

#include <assert.h>
#include <cpuid.h>
#include <errno.h>
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "decode/translator/emit.h"
#include "decode/translator/emulate.h"
#include "decode/translator/look.h"
#include "decode/translator/mute.h"

#include <asm/hwcap2.h>
#include <asm/prctl.h>

// The ctx of the one engine of this process; the fault handler cannot ask gs for it
// when the fault is C's own.
static struct dec_ctx *fault_ctx;
static struct dec_engine *fault_engine;
static bool (*ask_first)(int signo, int code, uint64_t addr);

/* ---- faults ------------------------------------------------------------------------ */

ENGINE_BARE static bool engine_owns_pc(const struct dec_engine *e, uint64_t pc)
{
	for (size_t i = 0; i < e->arenas.size; i++) {
		if (pc >= (uint64_t)e->arenas.data[i].start &&
		    pc < (uint64_t)e->arenas.data[i].cursor + ENGINE_BLOCK_BYTES)
			return true;
	}
	return false;
}

/** As the kernel has it. */
struct kernel_action {
	void (*handler)(int signo, siginfo_t *info, void *raw);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#define KERNEL_RESTORER 0x04000000ul

/*
 * Runs with the guest's fs base when the guest faulted: no TLS, no library calls. The
 * return from the handler goes to the door that saves the guest's registers.
 */
ENGINE_BARE static void engine_on_fault(int signo, siginfo_t *info, void *raw)
{
	ucontext_t *uc = raw;
	struct dec_ctx *c = fault_ctx;

	if (ask_first && ask_first(signo, info->si_code, (uint64_t)info->si_addr))
		return;
	if (!c || !engine_owns_pc(fault_engine, uc->uc_mcontext.gregs[REG_RIP])) {
		// Our own bug: die by the signal, with the default action.
		struct kernel_action dfl = { 0 };

		syscall(SYS_rt_sigaction, signo, &dfl, NULL, sizeof(dfl.mask));
		return;
	}
	c->fault_pc = uc->uc_mcontext.gregs[REG_RIP];
	c->fault_addr = (uint64_t)info->si_addr;
	c->fault_signo = signo;
	c->fault_code = info->si_code;
	c->exit_id = DEC_EXIT_FAULT;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)c->common;
}

void dec_engine_ask_first(bool (*fn)(int signo, int code, uint64_t addr))
{
	ask_first = fn;
}

bool dec_engine_is_asked_first(void)
{
	return ask_first;
}

struct err *dec_engine_take_signals(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
	// Not by libc's sigaction(): ThreadSanitizer puts a handler of its own before those
	// it hears of, which needs the TLS that is the guest's at that moment.
	struct kernel_action sa = { .handler = engine_on_fault,
				    .flags = SA_SIGINFO | SA_ONSTACK | KERNEL_RESTORER,
				    .restorer = dec_sigreturn };
	sigset_t faults;

	sigemptyset(&faults);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		if (syscall(SYS_rt_sigaction, signals[i], &sa, NULL, sizeof(sa.mask)))
			return err_errno("cannot handle signal %d", signals[i]);
		sigaddset(&faults, signals[i]);
	}
	// Blocked, as by a recorder that judges what it has just recorded, a fault ends the process.
	if (sigprocmask(SIG_UNBLOCK, &faults, NULL))
		return err_errno("cannot unblock the signals of faults");
	return NULL;
}

static struct err *engine_init_stack(void)
{
	size_t bytes = 64 * 1024; // AVX-512 and AMX frames are over 11 KiB
	stack_t alt = { .ss_size = bytes };

	alt.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (alt.ss_sp == MAP_FAILED || sigaltstack(&alt, NULL))
		return err_errno("cannot set up the machine's signal stack");
	return NULL;
}

static bool saves_x87_place(void)
{
	struct {
		uint64_t head, rip, rest[62];
	} __attribute__((aligned(16))) image;

	__asm__("fld1; fstp %%st; fxsave64 %0" : "=m"(image) : : "st");
	return image.rip != 0;
}

static void engine_know_host(struct dec_engine *e)
{
	uint32_t a, b, c, d;
	bool has_wide_masks;

	__cpuid(0, a, b, c, d);
	e->is_loop_quick = b != signature_INTEL_ebx;
	__cpuid_count(7, 0, a, b, c, d);
	e->has_rorx = b & bit_BMI2;
	has_wide_masks = b & bit_AVX512BW;
	__cpuid(1, a, b, c, d);
	e->ctx->xmask = 3;
	if (c & bit_OSXSAVE) {
		__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
		e->ctx->xmask = a & 0xe7; // x87, SSE, AVX, and the three of AVX-512
	} else {
		e->ctx->lacks |= CTX_LACKS_XSAVE;
	}
	if (!(e->ctx->xmask & 0x80) || has_wide_masks)
		e->ctx->quick = (uint64_t)dec_exit_quick;
	if (!saves_x87_place())
		e->ctx->lacks |= CTX_LACKS_X87_PLACE;
	// Ivy Bridge and later; Linux 5.9 allows it.
	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE)) {
		e->ctx->lacks |= CTX_LACKS_FSGSBASE | CTX_HAS_NO_FS;
		syscall(SYS_arch_prctl, ARCH_GET_FS, &e->ctx->host_fs);
	}
}

/* ---- life ---------------------------------------------------------------------------- */

// What most runs need: growing copies all, and pages that are not touched cost nothing.
static int engine_reserve(struct dec_engine *e)
{
	return vec_reserve(&e->blocks, 16 << 10) || vec_reserve(&e->exits, 64 << 10) ||
	       vec_reserve(&e->insn_host, 128 << 10);
}

struct err *dec_engine_init(struct dec_engine *e, const struct dec_world *world)
{
	struct err *err;

	*e = (struct dec_engine){ .world = *world,
				  .scratch_hint = { DEC_REG_NONE, DEC_REG_NONE,
						    DEC_REG_NONE } };
	e->ctx = dec_ctx_create();
	if (!e->ctx || engine_reserve(e))
		return &err_nomem;
	e->ctx->canary = DEC_CANARY;
	e->ctx->common = (uint64_t)dec_exit;
	e->ctx->miss = (uint64_t)dec_miss;
	e->ctx->passes = ENGINE_PASSES;
	dec_engine_open_stop_door(e);
	engine_know_host(e);
	e->ctx->rflags = 0x202;
	e->ctx->pkru = DEC_PKRU_INIT;
	// A valid x87 and SSE state: all else starts in its initial configuration.
	e->ctx->xsave[0] = 0x7f, e->ctx->xsave[1] = 0x03;
	e->ctx->xsave[24] = 0x80, e->ctx->xsave[25] = 0x1f;
	e->ctx->xsave[512] = 3;
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, e->ctx))
		return err_errno("cannot set gs");
	fault_ctx = e->ctx;
	fault_engine = e;
	err = engine_init_stack();
	if (!err)
		err = dec_engine_take_signals();
	dec_engine_prepare();
	dec_engine_flush(e);
	return err;
}

void dec_engine_flush(struct dec_engine *e)
{
	dec_engine_settle_x87(e); // while the blocks still tell whose the address is
	map_deinit(&e->block_of);
	map_deinit(&e->unguarded_of);
	map_deinit(&e->single_of);
	map_deinit(&e->code_pages);
	map_deinit(&e->checked_pages);
	e->blocks.size = e->exits.size = e->insn_host.size = 0;
	if (e->guard)
		e->guard->events.size = 0;
	map_deinit(&e->gone_of);
	e->n_gone = e->gone.size = e->checked.size = e->crowded.size = 0;
	for (size_t i = 0; i < e->arenas.size; i++)
		dec_engine_arena_empty(&e->arenas.data[i]);
	for (size_t i = 0; i < 65536; i++)
		e->ctx->targets[i] = e->ctx->miss;
	for (size_t i = 0; e->guard && i < 65536; i++)
		e->ctx->unguarded_targets[i] = e->ctx->miss;
	e->is_flushed = true;
	e->n_flushes++;
}

/* ---- code that is changed, and back -------------------------------------------------- */

void dec_engine_keep_code(struct dec_engine *e)
{
	e->was.size = 0;
	e->keeps_code = true;
}

void dec_engine_keep(struct dec_engine *e, uint8_t *at)
{
	struct engine_was *was = e->keeps_code ? vec_push(&e->was) : NULL;

	assert((was || !e->keeps_code) && "out of memory for code");
	if (!was)
		return;
	was->at = at;
	memcpy(was->bytes, at, sizeof(was->bytes));
}

void dec_engine_restore_code(struct dec_engine *e)
{
	for (size_t i = e->was.size; i--;)
		memcpy(e->was.data[i].at, e->was.data[i].bytes,
		       sizeof(e->was.data[i].bytes));
	e->was.size = 0;
}

/* ---- places to stop ------------------------------------------------------------------ */

void dec_engine_set_break(struct dec_engine *e, uint64_t rip, bool is_on)
{
	if (is_on == (map_get(&e->breaks, rip) != NULL))
		return;
	if (is_on)
		map_put(&e->breaks, rip, 1);
	else
		map_remove(&e->breaks, rip);
	dec_engine_forget(e, rip, 1);
}

void dec_engine_arm(struct dec_engine *e, struct engine_block *b, bool is_on)
{
	struct dec_emit at = { .p = b->host + b->async_at };

	dec_engine_keep(e, at.p);
	assert(b->async_over && "a block made since the place became one");
	if (is_on)
		emit_bytes(&at, "\x0f\x1f\x44\0\0", 5); // nop
	else
		emit_patch_rel(emit_jmp_rel(&at), b->host + b->async_over);
}

/* Arm the block at @p rip, when there is one already. */
static void engine_arm_at(struct dec_engine *e, uint64_t rip, bool is_on)
{
	for (int i = 0; i < 2; i++) {
		uint64_t *known = map_get(dec_engine_blocks(e, i), rip);

		if (known)
			dec_engine_arm(e, &e->blocks.data[*known], is_on);
	}
}

void dec_engine_set_async(struct dec_engine *e, uint64_t rip, const uint64_t gpr[16],
			  uint64_t rflags, uint32_t ignore)
{
	uint64_t old = e->async_rip, *known;

	e->async_rip = rip;
	if (old && old != rip)
		engine_arm_at(e, old, false);
	if (!rip || rip == MAP_EMPTY_KEY)
		return; // no code is there, to be told to stop
	memcpy(e->ctx->async_gpr, gpr, sizeof(e->ctx->async_gpr));
	e->async_rflags = rflags;
	known = map_get(&e->asyncs, rip);
	if (known && *known == ignore) {
		engine_arm_at(e, rip, true);
		return;
	}
	if (map_put(&e->asyncs, rip, ignore))
		assert(!"out of memory for places");
	dec_engine_forget(e, rip, 1);
}

void dec_engine_set_watch(struct dec_engine *e, uint64_t rip, bool is_on)
{
	if ((map_get(&e->watched, rip) != NULL) == is_on)
		return;
	if (is_on)
		map_put(&e->watched, rip, 1);
	else
		map_remove(&e->watched, rip);
	dec_engine_invalidate(e, rip, 1);
}

int dec_engine_tell_jumps(struct dec_engine *e, uint64_t start, uint64_t end)
{
	const struct engine_code code = { start, end };

	if (vec_find(&e->told_jumps, s, s->start == start && s->end == end))
		return 0;
	if (vec_add(&e->told_jumps, code))
		return -1;
	e->tells_some_jumps = true;
	dec_engine_flush(e);
	return 0;
}

/* ---- the log ----------------------------------------------------------------------- */

/* Make the end of @p buffer fault, so that no check of the room left is needed while
 * the guest runs. */
static uint8_t *engine_guard(struct dec_engine *e, uint8_t *buffer, size_t usable)
{
	if (e->guarded[0] == buffer || e->guarded[1] == buffer)
		return buffer;
	if (mprotect(buffer + usable, ENGINE_GUARD_BYTES, PROT_NONE))
		assert(!"the log's buffer is page aligned memory of ours");
	e->guarded[1] = e->guarded[0];
	e->guarded[0] = buffer;
	return buffer;
}

void dec_engine_set_mode(struct dec_engine *e, enum dec_log_mode mode, uint8_t *buffer,
			 size_t bytes)
{
	struct dec_rec *begin;

	assert((mode == DEC_LOG_NONE) == (buffer == NULL));
	if (mode != e->mode) {
		dec_engine_flush(e);
		e->mutes = false;
	}
	memset(e->ctx->quiet, 0, sizeof(e->ctx->quiet));
	e->quiet_told = 0;
	e->mode = mode;
	e->log_start = e->log_end = NULL;
	e->ctx->log = (uint64_t)buffer;
	if (!buffer)
		return;
	assert(bytes >= 4 * ENGINE_GUARD_BYTES);
	e->log_start = engine_guard(e, buffer, bytes - ENGINE_GUARD_BYTES);
	e->log_end = buffer + bytes - ENGINE_GUARD_BYTES;
	if (!dec_log_counts(mode))
		return;
	begin = dec_engine_log(e, DEC_REC_QUIET, sizeof(*begin) + 8);
	begin->value[0] = 0;
}

void dec_engine_log_flush(struct dec_engine *e)
{
	size_t usable = e->log_end - e->log_start;
	size_t bytes = e->ctx->log - (uint64_t)e->log_start;

	if (e->mode == DEC_LOG_NONE)
		return;
	e->log_start = engine_guard(e, e->world.log_full(e->world.ctx, bytes), usable);
	e->log_end = e->log_start + usable;
	e->ctx->log = (uint64_t)e->log_start;
}

/* What follows in the log is at its position: tell how much was not in it. */
static void engine_log_quiet(struct dec_engine *e)
{
	uint64_t quiet = ctx_quiet(e->ctx);
	struct dec_rec *r;

	if (quiet == e->quiet_told)
		return;
	e->quiet_told = quiet;
	r = dec_engine_log(e, DEC_REC_QUIET, sizeof(*r) + 8);
	if (r)
		r->value[0] = e->quiet_told;
}

void *dec_engine_log(struct dec_engine *e, uint32_t id, size_t size)
{
	struct dec_rec *r;

	engine_log_quiet(e);

	if (e->mode == DEC_LOG_NONE)
		return NULL;
	assert(!(size & 7) && size <= (size_t)(e->log_end - e->log_start));
	if (e->ctx->log + size > (uint64_t)e->log_end)
		dec_engine_log_flush(e);
	r = (struct dec_rec *)e->ctx->log;
	e->ctx->log += size;
	memset(r, 0, size);
	r->id = id;
	r->size = size;
	return r;
}

/* ---- exits ------------------------------------------------------------------------- */

/* The block of arena @p a whose code holds host address @p pc. */
static struct engine_block *engine_block_in(const struct dec_engine *e,
					    const struct engine_arena *a, uint64_t pc)
{
	const uint32_t *b = a->blocks.data;
	size_t n = vec_rank(a->blocks.size, i, (uint64_t)e->blocks.data[b[i]].host <= pc);

	if (!n || pc >= (uint64_t)e->blocks.data[b[n - 1]].host_end)
		return NULL;
	return &e->blocks.data[b[n - 1]];
}

/* The block whose code holds host address @p pc. */
static struct engine_block *engine_block_at(const struct dec_engine *e, uint64_t pc)
{
	for (size_t i = 0; i < e->arenas.size; i++) {
		const struct engine_arena *a = &e->arenas.data[i];

		if (pc >= (uint64_t)a->start && pc < (uint64_t)a->end)
			return engine_block_in(e, a, pc);
	}
	return NULL;
}

/* Only @p k instructions of the block whose record ends the log ran. That is said in the
 * same piece of the log, if need be behind its end: emitted code tries only whether the
 * block's own record fits. */
static void engine_log_partial(struct dec_engine *e, int k)
{
	const size_t page = 4096, bytes = sizeof(struct dec_rec) + 8;
	struct dec_rec *r = (struct dec_rec *)e->ctx->log;
	uint8_t *end = e->log_end;
	bool is_over = (uint8_t *)r + bytes > end;

	if (is_over && mprotect(end, page, PROT_READ | PROT_WRITE))
		assert(!"the guard is ours");
	r->id = DEC_REC_PARTIAL;
	r->size = bytes;
	r->value[0] = k;
	e->ctx->log += bytes;
	if (!is_over)
		return;
	dec_engine_log_flush(e);
	if (mprotect(end, page, PROT_NONE))
		assert(!"the guard is ours");
}

/* Leave block @p b before its instruction @p k, at host offset @p off, where registers
 * may be borrowed and part of the record may be written. */
static void engine_leave_middle(struct dec_engine *e, struct engine_block *b, int k,
				uint32_t off)
{
	struct dec_ctx *c = e->ctx;

	if (b->scratch[0] == DEC_REG_NONE)
		return;
	if (e->guard) {
		for (int i = 0; i < 3 && off >= b->opened_at && off < b->closed_at; i++)
			c->gpr[b->scratch[i]] = c->guard_spill[i];
		return;
	}
	if (off < b->closed_at) {
		c->log = c->gpr[b->scratch[0]];
		for (int i = 0; i < 3 && b->scratch[i] != DEC_REG_NONE; i++)
			c->gpr[b->scratch[i]] = c->spill[i];
	}
	if (off >= b->advanced_at)
		c->log -= b->log_bytes;
	if (!k)
		return;
	if (b->is_mutable)
		*(struct dec_rec *)c->log =
			(struct dec_rec){ b - e->blocks.data, ctx_quiet(c) };
	c->log += b->log_bytes;
	engine_log_partial(e, k);
}

/* Emitted code began a record that does not fit the log's buffer. */
static bool engine_is_log_full(const struct dec_engine *e)
{
	uint64_t end = (uint64_t)e->log_end;

	return e->mode != DEC_LOG_NONE && e->ctx->fault_addr >= end &&
	       e->ctx->fault_addr < end + ENGINE_GUARD_BYTES &&
	       e->ctx->log + ENGINE_GUARD_BYTES > end;
}

/* Which instruction of block @p b has its code at host offset @p off. */
static int engine_insn_at(const struct dec_engine *e, const struct engine_block *b,
			  uint32_t off)
{
	int k = 0;

	while (k + 1 < b->n_insns && e->insn_host.data[b->first_host + k + 1] <= off)
		k++;
	return k;
}

/* The address of instruction @p k of block @p b. */
static uint64_t engine_insn_rip(const struct engine_block *b, int k)
{
	uint64_t rip = b->rip;

	for (int i = 0; i < k; i++) {
		struct dec_insn insn;

		dec_insn_decode((const uint8_t *)rip, 15, rip, &insn);
		rip += insn.len;
	}
	return rip;
}

uint64_t dec_engine_guest_rip(const struct dec_engine *e, uint64_t pc)
{
	struct engine_block *b = engine_block_at(e, pc);

	return b && b->n_insns ?
		       engine_insn_rip(b, engine_insn_at(e, b, pc - (uint64_t)b->host)) :
		       0;
}

/* Leave block @p b before its instruction @p k, at host offset @p off: count those before. */
static void engine_count(struct dec_engine *e, const struct engine_block *b, int k,
			 uint32_t off)
{
	int64_t less = (off >= b->debit_at ? b->debit : 0) - b->pending - k;

	e->ctx->budget[0] += less;
	if (b->is_quiet)
		e->ctx->quiet[0] += less;
}

static enum dec_verdict engine_fault(struct dec_engine *e)
{
	struct dec_ctx *c = e->ctx;
	struct engine_block *b = engine_block_at(e, c->fault_pc);
	uint32_t off;
	int k;

	assert(b && b->n_insns && "a fault in emitted code lies in a block");
	off = c->fault_pc - (uint64_t)b->host;
	k = engine_insn_at(e, b, off);
	engine_count(e, b, k, off);
	c->rip = engine_insn_rip(b, k);
	// Not yet there when the record does not fit.
	if (b->far_reg != DEC_REG_NONE && off >= e->insn_host.data[b->first_host])
		c->gpr[b->far_reg] = c->spill[3];
	if (b->nat_held >> k & 1)
		c->gpr[b->nat_reg] = c->spill[2];
	if (off >= b->r11_at)
		c->gpr[CAP_R11] = c->spill[0];
	if (b->is_carried)
		c->gpr[CAP_RCX] = c->spill[1];
	engine_leave_middle(e, b, k, off);
	return DEC_GO;
}

enum dec_verdict dec_engine_special(struct dec_engine *e)
{
	struct dec_world *w = &e->world;
	uint64_t rip = e->ctx->rip, avail = w->avail(w->ctx, rip, PROT_EXEC);
	struct dec_insn insn;
	enum dec_verdict v;

	if (!dec_insn_decode((const uint8_t *)rip, avail < 15 ? avail : 15, rip, &insn) ||
	    insn.flow == DEC_FLOW_TRAP) {
		e->ctx->fault_signo = avail < 15 && !insn.len		? SIGSEGV :
				      insn.len && insn.bytes[0] == 0xcc ? SIGTRAP :
				      insn.len && insn.bytes[0] == 0xf4 ? SIGSEGV :
									  SIGILL;
		e->ctx->fault_addr = rip;
		return w->fault(w->ctx, e);
	}
	if (insn.flow == DEC_FLOW_FORBIDDEN || dec_engine_lacks(e, &insn)) {
		w->complain(w->ctx, e,
			    insn.flow == DEC_FLOW_FORBIDDEN ?
				    dec_engine_forbidden_text(&insn) :
				    dec_engine_lacking_text(&insn));
		return DEC_DIVERGED;
	}
	if (insn.flow == DEC_FLOW_SYSCALL)
		return w->syscall(w->ctx, e);
	if (insn.flow == DEC_FLOW_TSC || insn.flow == DEC_FLOW_CPUID ||
	    insn.flow == DEC_FLOW_RANDOM) {
		v = w->special(w->ctx, e, &insn);
		if (e->guard)
			for (int r = CAP_RAX; r < 4; r++) // .. to rbx
				e->ctx->tag[r] = 0;
		if (e->guard && e->guard->blank)
			dec_blank_special(e, &insn);
		if (v == DEC_GO) {
			e->ctx->rip += insn.len;
			e->now++;
		}
		return v == DEC_RAISED ? DEC_GO : v;
	}
	return dec_engine_step_slow(e);
}

/* So little is not divided: each block that runs would use up what its cell has. */
#define ENGINE_UNDIVIDED 1024

/* Of a little, all goes to the cell of @p b, the block that is entered: it at least runs,
 * and the others leave at once. */
static void engine_hand_out(struct dec_engine *e, const struct engine_block *b,
			    int64_t budget)
{
	int64_t each = budget < ENGINE_UNDIVIDED ? 0 : budget / CTX_CELLS;

	for (int i = 0; i < CTX_CELLS; i++)
		e->ctx->budget[i] = each;
	e->ctx->budget[b->cell] += budget - CTX_CELLS * each;
}

static int64_t engine_budget_left(const struct dec_engine *e)
{
	int64_t sum = 0;

	for (int i = 0; i < CTX_CELLS; i++)
		sum += e->ctx->budget[i];
	return sum;
}

/* The guest left, having entered at block @p block, with an event of the guard's: see to it, and go on. @return false:
 * it does not go on. */
static bool engine_event(struct dec_engine *e, uint32_t block)
{
	struct dec_ctx *c = e->ctx;
	bool is_quick = c->exit_id == DEC_EXIT_GUARD_QUICK;
	uint8_t *to = dec_guard_event(e);

	// Where it does not, all of the guest's state is to be in the context.
	c->entry = (uint64_t)(to || !is_quick ? (void *)to : (void *)dec_exit);
	if (is_quick)
		dec_enter_quick(c);
	else if (to)
		dec_engine_go(
			e, &e->blocks.data[block]); // what was done may have made blocks
	return to != NULL;
}

void dec_engine_be_wary(struct dec_engine *e)
{
	if (e->ctx->door)
		e->ctx->door = (uint64_t)dec_wary_door;
}

enum dec_verdict dec_engine_enter(struct dec_engine *e, uint32_t block, uint64_t budget)
{
	struct dec_ctx *c = e->ctx;
	struct engine_block *b;
	struct engine_exit *x;
	enum dec_verdict v;

	if (e->blocks.data[block].looks)
		dec_look_log(e);
	if (c->rflags & CTX_TURNED)
		dec_engine_be_wary(e);
	engine_hand_out(e, &e->blocks.data[block], budget);
	c->entry = (uint64_t)e->blocks.data[block].entry;
	dec_engine_go(e, &e->blocks.data[block]);
	while (c->exit_id == DEC_EXIT_GUARD || c->exit_id == DEC_EXIT_GUARD_QUICK) {
		if (engine_event(e, block))
			continue;
		if (e->guard->doubt && e->guard->doubt != DEC_DOUBT_ASKS)
			return DEC_PAUSE;
		e->now += budget - engine_budget_left(e);
		return DEC_GO;
	}
	e->n_exits_taken++;
	assert(c->canary == DEC_CANARY && "the guest left the machine's context alone");
	if (c->exit_id == DEC_EXIT_FAULT) {
		v = engine_fault(e);
		e->now += budget - engine_budget_left(e);
		if (v == DEC_GO && engine_is_log_full(e)) {
			dec_engine_log_flush(e);
			return DEC_GO;
		}
		v = v == DEC_GO ? e->world.fault(e->world.ctx, e) : v;
		if (v == DEC_GO) // it goes on with what was not followed
			dec_guard_doubt(e, DEC_DOUBT_BEYOND, c->rip);
		return v;
	}
	if (c->exit_id == DEC_EXIT_INDIRECT) {
		c->rip = c->ind;
		e->now += budget - engine_budget_left(e);
		return DEC_GO;
	}
	x = &e->exits.data[c->exit_id];
	b = &e->blocks.data[x->block];
	c->rip = x->rip;
	c->budget[0] -= x->pending;
	if (x->kind == ENGINE_EXIT_BUDGET) {
		engine_count(e, b, b->debit_insn, b->debit_at);
		engine_leave_middle(e, b, b->debit_insn, b->debit_at);
	}
	e->now += budget - engine_budget_left(e);
	return DEC_GO;
}

/* So much runs at once at most where not all is in the log: its records have 32 bits of the count. */
#define ENGINE_QUIET (1u << 30)

/* The instruction at rip is to run now, stop or not. Only now: another thread may come to
 * the same address before this one does again. */
static void engine_unstop(struct dec_engine *e)
{
	e->unstopped_rip = e->ctx->rip;
	e->unstopped_now = e->now;
}

static bool engine_is_unstopped(const struct dec_engine *e)
{
	return e->ctx->rip == e->unstopped_rip && e->now == e->unstopped_now;
}

/* The guest stands at a breakpoint or where the world asked to stop. @return whether to
 * report a breakpoint. */
static bool engine_at_stop(struct dec_engine *e, enum dec_verdict *v)
{
	uint64_t rip = e->ctx->rip;

	if (engine_is_unstopped(e)) {
		if (e->nat)
			return true;
		e->unstopped_rip = 0;
		*v = dec_engine_step_slow(e);
		return false;
	}
	if (rip == e->async_rip) {
		*v = e->world.stop_at(e->world.ctx, e);
		if (*v != DEC_GO || e->ctx->rip != rip)
			return false; // ended, or a signal handler took over
	}
	engine_unstop(e);
	return map_get(&e->breaks, rip) != NULL;
}

/* Enter at rip's block and follow exits. */
static enum dec_verdict engine_slice(struct dec_engine *e, uint64_t budget,
				     bool *is_break)
{
	uint32_t to = dec_engine_block_for(e, e->ctx->rip, ENGINE_WAY_DIRECT), exit_id;
	enum dec_verdict v = DEC_GO;
	struct engine_exit *x;

	if (to == UINT32_MAX)
		return DEC_DIVERGED;
	if (to == ENGINE_NO_CODE) {
		// It may have been switched away there, before the fault was told.
		*is_break = engine_at_stop(e, &v);
		return v;
	}
	e->is_flushed = false;
	v = dec_engine_enter(e, to, budget);
	exit_id = e->ctx->exit_id;
	if (v != DEC_GO || e->is_flushed || exit_id == DEC_EXIT_FAULT ||
	    exit_id == DEC_EXIT_GUARD)
		return v;
	if (exit_id == DEC_EXIT_INDIRECT)
		return dec_engine_go_on(e, exit_id);
	x = &e->exits.data[exit_id];
	switch (x->kind) {
	case ENGINE_EXIT_DIRECT:
		memcpy(e->scratch_hint, e->blocks.data[x->block].scratch,
		       sizeof(e->scratch_hint));
		return dec_engine_go_on(e, exit_id);
	case ENGINE_EXIT_SPECIAL:
		*is_break = e->nat != NULL;
		return *is_break ? DEC_GO : dec_engine_special(e);
	case ENGINE_EXIT_UNMUTE:
		dec_mute_step(e);
		return v;
	case ENGINE_EXIT_NAT:
		*is_break = true;
		return DEC_GO;
	case ENGINE_EXIT_STOP:
		if (e->blocks.data[x->block].is_async_blind)
			e->ctx->rflags = (e->ctx->rflags & ~0x8d5ull) |
					 (e->async_rflags & 0x8d5);
		*is_break = engine_at_stop(e, &v);
		return v;
	default:
		return DEC_GO;
	}
}

static uint64_t engine_end(const struct dec_engine *e, uint64_t until)
{
	return e->halt_at && e->halt_at < until ? e->halt_at : until;
}

enum dec_stop dec_engine_run(struct dec_engine *e, uint64_t until)
{
	enum dec_verdict v = DEC_GO;
	bool is_break = false;

	if (until > INT64_MAX)
		until = INT64_MAX; // the budget is signed
	if (map_get(&e->breaks, e->ctx->rip))
		engine_unstop(e);
	for (uint64_t end; e->now < (end = engine_end(e, until));) {
		uint64_t left = end - e->now;

		if (e->guard && e->guard->doubt)
			return DEC_STOP_BREAK;

		// Closer than what may run beyond the budget, go by single steps.
		if (left < ENGINE_OVERRUN + DEC_BLOCK_INSNS) {
			uint64_t before = e->now;

			if (e->nat)
				break;
			if ((map_get(&e->breaks, e->ctx->rip) ||
			     e->ctx->rip == e->async_rip) &&
			    !engine_is_unstopped(e)) {
				is_break = engine_at_stop(e, &v);
			} else {
				e->unstopped_rip = 0;
				v = dec_engine_step_slow(e);
				if (v == DEC_GO && e->now == before)
					continue; // a fault that was resolved
			}
		} else {
			left -= ENGINE_OVERRUN;
			if (dec_log_counts(e->mode) && left > ENGINE_QUIET)
				left = ENGINE_QUIET;
			v = engine_slice(e, left, &is_break);
			engine_log_quiet(e);
		}
		if (v != DEC_GO)
			return dec_stop_of(v);
		if (is_break)
			return DEC_STOP_BREAK;
	}
	return DEC_STOP_POSITION;
}
