// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/layout.h"

#include "decode/machine/call_args.h"
#include "decode/machine/replay_int.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define GRAIN DEC_MAGIC_BYTES // blocks are not so near to each other
#define PAGE 4096u
#define NEAR_STACK (1u << 20)
#define FAR (16u << 20) // no call writes so far behind where its argument leads to
#define MAGIC 0xb7	// no letter, no small number, no part of a pointer

#define ALL_MAGIC (2 * (uint64_t)DEC_MAGIC_BYTES) // before a block and behind it

/** A call of the allocator's under way. */
struct under_way {
	uint64_t ret, slot;
	uint64_t size;	 ///< bytes that were asked for
	uint64_t before; ///< those before the block
	uint64_t was;	 ///< the block that it is to take the place of; 0: none
	bool is_size;	 ///< what it returns is how many there are
};

/** A block. */
struct block {
	uint64_t size;	 ///< bytes that were asked for
	uint64_t before; ///< bytes before it that are its, too
	bool is_watched; ///< nobody is to write beside it
};

static struct {
	VEC(struct dec_moved) all;
	VEC(struct dec_engine_move) insns; ///< of these, the engine's
	struct map calls;		   ///< entry -> enum dec_moved_call
	struct map block_of;		   ///< address -> its number
	VEC(struct block) blocks;
	VEC(uint64_t) unused; ///< numbers of blocks that are no more
	VEC(struct under_way) under_way;
	struct map
		guarded; ///< address / GRAIN -> where what is to be left alone begins there
	uint64_t changed; ///< see dec_layout_changed()
} layout;

struct err *dec_layout_add(const struct dec_moved *moved, size_t n, bool goes_on)
{
	if (!goes_on) {
		layout.all.size = layout.insns.size = 0;
		map_deinit(&layout.calls);
	}
	for (size_t i = 0; i < n; i++) {
		struct dec_engine_move move = { moved[i].at, moved[i].to };

		if (moved[i].kind == DEC_MOVED_INSN ?
			    vec_add(&layout.insns, move) != NULL :
		    moved[i].kind == DEC_MOVED_CALL ?
			    map_put(&layout.calls, moved[i].at, moved[i].to) != 0 :
			    vec_add(&layout.all, moved[i]) != NULL)
			return &err_nomem;
	}
	return NULL;
}

/* New memory, empty, as mmap() gives it. */
static struct err *map_area(struct dec_replay *r, const struct dec_moved *m)
{
	struct cap_event ev = { .kind = CAP_EV_SYSCALL, .ret = m->at };

	ev.regs.gpr[CAP_RAX] = SYS_mmap;
	ev.regs.gpr[CAP_RDI] = m->at;
	ev.regs.gpr[CAP_RSI] = m->size;
	ev.regs.gpr[CAP_RDX] = PROT_READ | PROT_WRITE;
	ev.regs.gpr[CAP_R10] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	ev.regs.gpr[CAP_R8] = UINT64_MAX;
	return dec_guest_syscall(&r->guest, &ev);
}

static struct err *copy(struct dec_replay *r, const struct dec_moved *m)
{
	if (dec_guest_avail(&r->guest, m->at, PROT_READ) < m->size)
		return err_new(ERR_RANGE, "no memory at %#lx to be moved", m->at);
	return dec_guest_write(&r->guest, m->to, (const void *)m->at, m->size);
}

struct err *dec_layout_apply(struct dec_replay *r)
{
	struct err *err = NULL;

	for (size_t i = 0; i < layout.all.size && !err; i++) {
		const struct dec_moved *m = &layout.all.data[i];

		if (m->kind == DEC_MOVED_AREA)
			err = map_area(r, m);
		else if (m->kind == DEC_MOVED_BYTES)
			err = copy(r, m);
		else
			err = dec_guest_write(&r->guest, m->at, &m->to, 8);
	}
	if (err)
		return err;
	r->engine.moves = layout.insns.data;
	r->engine.n_moves = layout.insns.size;
	dec_engine_flush(&r->engine);
	for (size_t i = 0; i < layout.calls.capacity; i++)
		if (layout.calls.slots[i].key != MAP_EMPTY_KEY)
			dec_engine_set_break(&r->engine, layout.calls.slots[i].key, true);
	return NULL;
}

/* ---- system calls -------------------------------------------------------------------------- */

static const uint8_t arg_regs[] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_R10, CAP_R8, CAP_R9 };

bool dec_layout_is_memory(const struct dec_replay *r, uint64_t nr)
{
	// A file that is mapped is none of the allocator's.
	return r->is_laid_out && layout.calls.size &&
	       (nr == SYS_brk || nr == SYS_munmap || nr == SYS_mremap ||
		nr == SYS_madvise ||
		(nr == SYS_mmap && r->engine.ctx->gpr[CAP_R10] & MAP_ANONYMOUS));
}

/* Of the event at hand: was it one for memory? */
static bool is_memory_event(const struct dec_replay *r)
{
	uint64_t nr = r->next.regs.gpr[CAP_RAX];

	return layout.calls.size && !r->is_log_at_end && r->next.kind == CAP_EV_SYSCALL &&
	       (nr == SYS_brk || nr == SYS_munmap || nr == SYS_mremap ||
		nr == SYS_madvise ||
		(nr == SYS_mmap && r->next.regs.gpr[CAP_R10] & MAP_ANONYMOUS));
}

/* Where these calls write is in what their arguments point to. */
static bool is_indirect(uint64_t nr)
{
	return nr == SYS_readv || nr == SYS_preadv || nr == SYS_recvmsg ||
	       nr == SYS_recvmmsg || nr == SYS_clone || nr == SYS_clone3 ||
	       nr == SYS_rt_sigreturn;
}

/* May argument @p now stand for the recorded @p was? */
static bool is_moved(struct dec_replay *r, uint64_t was, uint64_t now)
{
	return was == now || (was >= PAGE && dec_guest_avail(&r->guest, now, PROT_READ));
}

/* What the recorded call wrote, where its arguments lead to now. */
static bool move_writes(struct dec_replay *r, const uint64_t was[6],
			const uint64_t now[6])
{
	static VEC(struct cap_write) writes;

	writes.size = 0;
	for (size_t i = 0; i < r->next.n_writes; i++) {
		struct cap_write w = r->next.writes[i];
		uint64_t nearest = FAR;
		int at = -1;

		for (int k = 0; k < 6; k++)
			if (w.addr - was[k] < nearest) {
				nearest = w.addr - was[k];
				at = k;
			}
		if (at >= 0)
			w.addr = now[at] + nearest;
		if (vec_add(&writes, w))
			return false;
	}
	r->next.writes = writes.data;
	return true;
}

bool dec_layout_align(struct dec_replay *r)
{
	const uint64_t *g = r->engine.ctx->gpr;
	uint64_t was[6], now[6];
	int n;

	if (!r->is_laid_out)
		return true;
	while (!dec_layout_is_memory(r, g[CAP_RAX]) && is_memory_event(r))
		if (dec_replay_advance(r) != DEC_GO)
			return false;
	if (r->is_log_at_end || r->next.kind != CAP_EV_SYSCALL)
		return true;
	n = dec_call_args(g[CAP_RAX]);
	if (r->next.regs.gpr[CAP_RAX] != g[CAP_RAX] || is_indirect(g[CAP_RAX]) || n < 0)
		return !dec_layout_is_memory(r, g[CAP_RAX]);
	for (int i = 0; i < 6; i++) {
		was[i] = r->next.regs.gpr[arg_regs[i]];
		now[i] = g[arg_regs[i]];
		if (i < n && !is_moved(r, was[i], now[i]))
			return !dec_layout_is_memory(r, g[CAP_RAX]);
	}
	if (dec_layout_is_memory(r, g[CAP_RAX]) && memcmp(was, now, n * sizeof(*was)))
		return false;
	if (!move_writes(r, was, now))
		return false;
	for (int i = 0; i < 6; i++)
		r->next.regs.gpr[arg_regs[i]] = now[i];
	return true;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static struct under_way *returned(const struct dec_replay *r)
{
	const struct dec_ctx *c = r->engine.ctx;

	return vec_find(&layout.under_way, u,
			u->ret == c->rip && u->slot + 8 == c->gpr[CAP_RSP]);
}

bool dec_layout_is_at(const struct dec_replay *r)
{
	return layout.calls.size && (map_get(&layout.calls, r->engine.ctx->rip) ||
				     (layout.under_way.size && returned(r)));
}

static struct block *block_at(uint64_t at)
{
	const uint64_t *i = map_get(&layout.block_of, at);

	return i ? &layout.blocks.data[*i] : NULL;
}

/* Have values from @p at on changed that nobody is to change? Then the run ends there. */
static bool has_changed(struct dec_replay *r, uint64_t at)
{
	const uint8_t *magic = (const uint8_t *)at;

	if (dec_guest_avail(&r->guest, at, PROT_READ) < DEC_MAGIC_BYTES)
		return false;
	for (int i = 0; i < DEC_MAGIC_BYTES; i++) {
		if (magic[i] == MAGIC)
			continue;
		dec_loose_end(r->loose, DEC_FATE_SIGNAL, SIGABRT,
			      "what lies beside a block was changed");
		r->loose->out->fault_addr = at + i;
		layout.changed = at;
		return true;
	}
	return false;
}

static bool has_block_changed(struct dec_replay *r, uint64_t at, const struct block *b)
{
	return b->is_watched && (has_changed(r, at + b->size) ||
				 (b->before && has_changed(r, at - b->before)));
}

static void guard(struct dec_replay *r, uint64_t at)
{
	uint8_t magic[DEC_MAGIC_BYTES];

	memset(magic, MAGIC, sizeof(magic));
	if (dec_guest_write(&r->guest, at, magic, sizeof(magic)))
		return;
	for (uint64_t g = at / GRAIN; g <= (at + DEC_MAGIC_BYTES - 1) / GRAIN; g++)
		if (map_put(&layout.guarded, g, at))
			return;
}

static void unguard(uint64_t at)
{
	for (uint64_t g = at / GRAIN; g <= (at + DEC_MAGIC_BYTES - 1) / GRAIN; g++)
		map_remove(&layout.guarded, g);
}

static void forget_block(uint64_t at)
{
	const uint64_t *i = map_get(&layout.block_of, at);

	// One that is not known to be unused is not used either.
	if (i && !vec_add(&layout.unused, *i))
		map_remove(&layout.block_of, at);
}

/* The block that rdi leads to is given back, or its size is asked for: the allocator knows it by where
 * what lies before it begins. */
static enum dec_verdict leave(struct dec_replay *r, uint64_t *before)
{
	uint64_t *rdi = &r->engine.ctx->gpr[CAP_RDI], at = *rdi;
	struct block *b = block_at(at);

	*before = b ? b->before : 0;
	if (!b)
		return DEC_GO;
	if (has_block_changed(r, at, b))
		return DEC_END;
	if (b->is_watched) {
		unguard(at + b->size);
		if (b->before)
			unguard(at - b->before);
	}
	b->is_watched = false;
	*rdi -= b->before;
	return DEC_GO;
}

/* The call that begins here is to return what @p u says: see what it does. */
static void expect(struct dec_replay *r, struct under_way u)
{
	u.slot = r->engine.ctx->gpr[CAP_RSP];
	if (dec_guest_avail(&r->guest, u.slot, PROT_READ) < 8)
		return;
	memcpy(&u.ret, (const void *)u.slot, 8);
	// Those from which longjmp() has led away.
	for (size_t i = 0; i < layout.under_way.size;)
		if (u.slot - layout.under_way.data[i].slot - 1 < NEAR_STACK)
			layout.under_way.data[i] =
				layout.under_way.data[--layout.under_way.size];
		else
			i++;
	if (!vec_add(&layout.under_way, u))
		dec_engine_set_break(&r->engine, u.ret, true);
}

static void watch_block(struct dec_replay *r, uint64_t at, const struct under_way *u)
{
	struct block b = { .size = u->size, .before = u->before, .is_watched = true };
	uint64_t i = layout.blocks.size;

	forget_block(at);
	if (layout.unused.size)
		layout.blocks.data[i = layout.unused.data[--layout.unused.size]] = b;
	else if (vec_add(&layout.blocks, b))
		return;
	if (map_put(&layout.block_of, at, i))
		return;
	guard(r, at + b.size);
	if (b.before)
		guard(r, at - b.before);
}

/* What was asked for by the call that has returned: by the first, where one went on in another. */
static void come_back(struct dec_replay *r, uint64_t nat)
{
	uint64_t *rax = &r->engine.ctx->gpr[CAP_RAX];
	struct under_way first = { .size = UINT64_MAX };

	for (struct under_way *u; (u = returned(r));) {
		if (u->size < first.size)
			first = *u;
		*u = layout.under_way.data[--layout.under_way.size];
	}
	if (!*rax || nat >> CAP_RAX & 1)
		return;
	if (first.was)
		forget_block(first.was);
	if (first.is_size) {
		*rax -= *rax > first.before ? first.before : 0;
		return;
	}
	*rax += first.before;
	watch_block(r, *rax, &first);
}

/* realloc() begins. What the machine did not see being made has nothing before it, and keeps that. */
static enum dec_verdict resize(struct dec_replay *r)
{
	uint64_t *g = r->engine.ctx->gpr, size = g[CAP_RSI];
	bool is_new = !g[CAP_RDI];
	struct under_way u = { .size = size, .was = g[CAP_RDI] };
	enum dec_verdict v = leave(r, &u.before);

	if (is_new)
		u.before = DEC_MAGIC_BYTES;
	if (v == DEC_GO && !size && !is_new)
		forget_block(u.was);
	if (v != DEC_GO || (!size && !is_new) || size + ALL_MAGIC < size)
		return v;
	g[CAP_RSI] += u.before + DEC_MAGIC_BYTES;
	expect(r, u);
	return v;
}

enum dec_verdict dec_layout_here(struct dec_replay *r, uint64_t nat)
{
	uint64_t *g = r->engine.ctx->gpr;
	const uint64_t *call = map_get(&layout.calls, r->engine.ctx->rip);
	struct under_way u = { .before = DEC_MAGIC_BYTES };
	enum dec_verdict v = DEC_GO;

	if (returned(r))
		come_back(r, nat);
	if (!call || nat >> CAP_RDI & 1 ||
	    (*call != DEC_MOVED_MALLOC && nat >> CAP_RSI & 1))
		return DEC_GO;
	switch (*call) {
	case DEC_MOVED_MALLOC:
		u.size = g[CAP_RDI];
		if (__builtin_add_overflow(u.size, ALL_MAGIC, &g[CAP_RDI])) {
			g[CAP_RDI] = u.size;
			return DEC_GO;
		}
		expect(r, u);
		break;
	case DEC_MOVED_CALLOC:
		if (__builtin_mul_overflow(g[CAP_RDI], g[CAP_RSI], &u.size) ||
		    u.size + ALL_MAGIC < u.size)
			return DEC_GO;
		g[CAP_RDI] = 1;
		g[CAP_RSI] = u.size + ALL_MAGIC;
		expect(r, u);
		break;
	case DEC_MOVED_REALLOC:
		return resize(r);
	case DEC_MOVED_USABLE:
		v = leave(r, &u.before);
		u.is_size = true;
		if (v == DEC_GO && u.before)
			expect(r, u);
		break;
	default:
		u.was = g[CAP_RDI];
		v = leave(r, &u.before);
		if (v == DEC_GO)
			forget_block(u.was);
	}
	return v;
}

uint64_t dec_layout_changed(void)
{
	return layout.changed;
}

uint64_t dec_layout_guarded(uint64_t addr, uint64_t size)
{
	for (uint64_t g = addr / GRAIN;
	     layout.guarded.size && g <= (addr + size - 1) / GRAIN; g++) {
		const uint64_t *at = map_get(&layout.guarded, g);

		if (at && *at < addr + size && addr < *at + DEC_MAGIC_BYTES)
			return *at;
	}
	return 0;
}

void dec_layout_end(struct dec_replay *r)
{
	for (size_t i = 0; r->is_laid_out && i < layout.block_of.capacity; i++) {
		const struct map_slot *s = &layout.block_of.slots[i];

		if (s->key != MAP_EMPTY_KEY &&
		    has_block_changed(r, s->key, &layout.blocks.data[s->value]))
			return;
	}
}
