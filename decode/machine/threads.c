// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/threads.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/machine/loose_int.h"
#include "decode/translator/emulate.h"
#include "decode/machine/certain.h"
#include "decode/machine/replay_int.h"
#include "decode/machine/signal.h"
#include "decode/machine/signature.h"

/* ---- who there is ----------------------------------------------------------------------- */

struct replay_thread *dec_threads_current(struct dec_replay *r)
{
	return &r->threads.data[r->current];
}

struct replay_thread *dec_threads_find(struct dec_replay *r, uint32_t tid)
{
	return vec_find(&r->threads, t, t->tid == tid && !t->has_ended);
}

/* A place for thread @p tid; that of one that ended serves again. */
static struct replay_thread *threads_add(struct dec_replay *r, uint32_t tid)
{
	struct replay_thread *t = NULL;

	for (size_t i = 0; i < r->threads.size && !t; i++) {
		if (r->threads.data[i].has_ended && i != r->current)
			t = &r->threads.data[i];
	}
	if (!t)
		t = vec_push(&r->threads);
	if (!t)
		return NULL;
	*t = (struct replay_thread){ .tid = tid, .number = tid };
	r->guest.is_in_company |= r->threads.size > 1;
	return t;
}

void dec_threads_name(struct dec_replay *r, uint64_t addr)
{
	struct replay_thread *t = dec_threads_current(r);
	uint64_t n = dec_guest_avail(&r->guest, addr, PROT_READ);

	if (n)
		snprintf(t->name, sizeof(t->name), "%.*s", n < 15 ? (int)n : 15,
			 (const char *)addr);
}

void dec_threads_save(struct dec_replay *r, struct replay_thread *t)
{
	const struct dec_ctx *c = r->engine.ctx;

	memcpy(t->gpr, c->gpr, sizeof(t->gpr));
	t->rip = c->rip;
	t->rflags = c->rflags;
	t->fs_base = c->fs_base;
	t->gs_base = c->gs_base;
	t->pkru = c->pkru;
	dec_engine_settle_x87(&r->engine);
	memcpy(t->xsave, c->xsave, sizeof(t->xsave));
}

struct err *dec_threads_init(struct dec_replay *r)
{
	const char *exe = capture_info(r->capture)->exe;

	for (size_t i = 0; i < r->core->n_threads; i++) {
		const struct cap_thread *from = &r->core->threads[i];
		struct replay_thread *t = threads_add(r, from->tid);

		if (!t)
			return &err_nomem;
		dec_threads_save(r, t);
		memcpy(t->gpr, from->regs.gpr, sizeof(t->gpr));
		t->rip = from->regs.rip;
		t->rflags = ctx_user_flags(from->regs.rflags);
		t->fs_base = from->regs.fs_base;
		t->gs_base = from->regs.gs_base;
		dec_guest_load_xstate(&r->guest, from->xstate, from->xstate_bytes,
				      &r->guest.core_xstate, t->xsave);
		t->pkru = dec_guest_xstate_keys(from->xstate, from->xstate_bytes,
						&r->guest.core_xstate);
		t->clear_child_tid = from->clear_child_tid;
		t->robust_list = from->robust_list;
		t->is_born = true;
		snprintf(t->name, sizeof(t->name), "%s", exe ? basename(exe) : "");
	}
	return NULL;
}

void dec_threads_load(struct dec_replay *r, const struct replay_thread *t)
{
	struct dec_ctx *c = r->engine.ctx;

	memcpy(c->gpr, t->gpr, sizeof(c->gpr));
	c->rip = t->rip;
	c->rflags = t->rflags;
	c->fs_base = t->fs_base;
	c->gs_base = t->gs_base;
	c->pkru = t->pkru;
	memcpy(c->xsave, t->xsave, sizeof(c->xsave));
}

void dec_threads_record(struct dec_replay *r)
{
	struct dec_rec *rec;
	uint64_t *at;

	if (r->engine.mode == DEC_LOG_NONE)
		return;
	// A full value log's reader keeps every register: tell it those that STATE does not.
	rec = dec_engine_log(
		&r->engine, DEC_REC_THREAD,
		sizeof(*rec) + 8 * DEC_REC_THREAD_WORDS +
			(r->engine.mode == DEC_LOG_VALUES ? DEC_REC_THREAD_VECTORS : 0));
	rec->value[0] = dec_threads_current(r)->tid;
	rec->value[1] = r->left_rip;
	rec->value[2] = r->has_left_in_call;
	rec->value[3] = r->is_log_at_end ? r->last_seq : r->next.seq;
	at = &rec->value[DEC_REC_THREAD_WORDS];
	for (int reg = DEC_REG_VEC;
	     r->engine.mode == DEC_LOG_VALUES && reg < DEC_REG_FLAGS; reg++) {
		uint8_t buf[160];
		size_t n = dec_engine_read_reg(&r->engine, reg, buf);

		memcpy(at, buf, n);
		at += n / 8;
	}
	dec_replay_state_record(r, DEC_STATE_NOW, NULL);
}

/* ---- birth ------------------------------------------------------------------------------- */

static bool threads_is_clone(uint64_t nr)
{
	return nr == SYS_clone || nr == SYS_clone3;
}

bool dec_threads_is_birth(struct dec_replay *r)
{
	struct replay_thread *t = dec_threads_find(r, r->next.tid);

	return r->next.kind == CAP_EV_SYSCALL && !r->next.ret && (!t || !t->is_born) &&
	       threads_is_clone(r->next.regs.gpr[CAP_RAX]);
}

/* The arguments of the clone call with registers @p gpr, as clone3's. */
static struct clone_args threads_clone_args(struct dec_replay *r, const uint64_t *gpr)
{
	struct clone_args args = {};

	if (gpr[CAP_RAX] == SYS_clone)
		return (struct clone_args){ .flags = gpr[CAP_RDI],
					    .stack = gpr[CAP_RSI],
					    .parent_tid = gpr[CAP_RDX],
					    .child_tid = gpr[CAP_R10],
					    .tls = gpr[CAP_R8] };
	if (dec_guest_avail(&r->guest, gpr[CAP_RDI], PROT_READ) >= CLONE_ARGS_SIZE_VER0)
		memcpy(&args, (const void *)gpr[CAP_RDI], CLONE_ARGS_SIZE_VER0);
	return args;
}

/* The thread that is in the very call whose other return is at hand. */
static struct replay_thread *threads_parent(struct dec_replay *r)
{
	for (size_t i = 0; i < r->threads.size; i++) {
		struct replay_thread *t = &r->threads.data[i];
		const uint64_t *gpr = i == r->current ? r->engine.ctx->gpr : t->gpr;
		uint64_t rip = i == r->current ? r->engine.ctx->rip : t->rip;

		if (t->is_in_call && rip + 2 == r->next.regs.rip &&
		    threads_is_clone(gpr[CAP_RAX]) &&
		    gpr[CAP_RDI] == r->next.regs.gpr[CAP_RDI])
			return t;
	}
	return NULL;
}

/* @return @p size bytes that the event at hand wrote at @p addr; NULL: it did not. */
static const uint8_t *threads_written(const struct dec_replay *r, uint64_t addr,
				      uint64_t size)
{
	for (size_t i = 0; i < r->next.n_writes; i++) {
		const struct cap_write *w = &r->next.writes[i];

		if (addr >= w->addr && addr - w->addr < w->size &&
		    size <= w->size - (addr - w->addr))
			return w->data + (addr - w->addr);
	}
	return NULL;
}

/* The thread whose birth is at hand and whose parent's call, which is over, told another number of
 * it: its stack tells which it is. */
static struct replay_thread *threads_renumbered(struct dec_replay *r)
{
	uint64_t rsp = r->next.regs.gpr[CAP_RSP];

	return vec_find(&r->threads, t,
			t->has_parent && !t->is_born && !t->has_ended &&
				t->gpr[CAP_RSP] == rsp);
}

bool dec_threads_can_begin(struct dec_replay *r)
{
	const struct replay_thread *t = dec_threads_find(r, r->next.tid);

	return (t && t->has_parent) || threads_parent(r) || threads_renumbered(r);
}

/* The number that the program knows the thread by whose birth is at hand, and whose parent is
 * still in the call: one of the words that this writes has it. */
static uint32_t threads_number(struct dec_replay *r)
{
	const struct clone_args args = threads_clone_args(r, r->next.regs.gpr);
	uint64_t at = args.flags & CLONE_PARENT_SETTID ? args.parent_tid :
		      args.flags & CLONE_CHILD_SETTID  ? args.child_tid :
							 0;
	const uint8_t *word = threads_written(r, at, sizeof(uint32_t));
	uint32_t number = r->next.tid;

	if (at && word)
		memcpy(&number, word, sizeof(number));
	return number;
}

/* @t inherits from the thread whose place is @from: the call with registers @gpr is the
 * one that makes it, and its arguments are still in memory. The registers that it begins with
 * are those of its birth's event; this is for a run that has none. */
static void threads_inherit(struct dec_replay *r, struct replay_thread *t, size_t from,
			    const uint64_t *gpr)
{
	const struct clone_args args = threads_clone_args(r, gpr);
	struct replay_thread *parent = &r->threads.data[from];

	if (from == r->current)
		dec_threads_save(r, parent);
	memcpy(t->xsave, parent->xsave, sizeof(t->xsave));
	memcpy(t->gpr, gpr, sizeof(t->gpr));
	memcpy(t->name, parent->name, sizeof(t->name));
	t->pkru = parent->pkru;
	t->rflags = parent->rflags;
	t->gs_base = parent->gs_base;
	t->fs_base = args.flags & CLONE_SETTLS ? args.tls : parent->fs_base;
	t->gpr[CAP_RAX] = 0;
	t->gpr[CAP_RCX] = t->rip = parent->rip + 2;
	t->gpr[CAP_R11] = parent->rflags;
	if (args.stack)
		t->gpr[CAP_RSP] = args.stack + args.stack_size;
	if (args.flags & CLONE_CHILD_CLEARTID)
		t->clear_child_tid = args.child_tid;
	if (args.flags & CLONE_CHILD_SETTID)
		t->set_child_tid = args.child_tid;
	t->has_parent = true;
}

struct replay_thread *dec_threads_clone(struct dec_replay *r, uint32_t tid)
{
	const uint64_t *gpr = r->engine.ctx->gpr;
	const struct clone_args args = threads_clone_args(r, gpr);
	struct replay_thread *t;

	if (!(args.flags & CLONE_THREAD))
		return NULL;
	t = threads_add(r, tid);
	if (!t)
		return NULL;
	threads_inherit(r, t, r->current, gpr);
	dec_threads_tell_parent(r, gpr, tid);
	return t;
}

void dec_threads_tell_parent(struct dec_replay *r, const uint64_t *gpr, uint32_t tid)
{
	const struct clone_args args = threads_clone_args(r, gpr);

	if (args.flags & CLONE_PARENT_SETTID)
		err_destroy(
			dec_guest_write(&r->guest, args.parent_tid, &tid, sizeof(tid)));
}

static struct replay_thread *threads_numbered(struct dec_replay *r, uint32_t number)
{
	return vec_find(&r->threads, t, t->number == number && !t->has_ended);
}

enum dec_verdict dec_threads_cloned(struct dec_replay *r, uint64_t nr)
{
	uint32_t born = dec_threads_current(r)->child;
	struct replay_thread *t;

	dec_threads_current(r)->child = 0;
	if (!threads_is_clone(nr) || r->next.ret <= 0 ||
	    !(threads_clone_args(r, r->next.regs.gpr).flags & CLONE_THREAD))
		return DEC_GO;
	t = threads_numbered(r, r->next.ret);
	// It may have ended by now. Another will have that number, and nothing of this one.
	if (!t && born == r->next.ret)
		return DEC_GO;
	if (!t)
		t = threads_add(r, r->next.ret);
	if (!t)
		return dec_replay_diverge(r, DEC_PARTED_MACHINE, "out of memory");
	if (!t->is_born)
		threads_inherit(r, t, r->current, r->next.regs.gpr);
	return DEC_GO;
}

enum dec_verdict dec_threads_birth(struct dec_replay *r)
{
	struct replay_thread *t = dec_threads_find(r, r->next.tid), *other = NULL;

	if (!t || !t->has_parent)
		other = threads_renumbered(r);
	if (!t)
		t = other ? other : threads_add(r, r->next.tid);
	if (!t)
		return dec_replay_diverge(r, DEC_PARTED_MACHINE, "out of memory");
	if (other) {
		*t = *other;
		t->tid = r->next.tid;
		other->has_ended = t != other;
	}
	if (!t->has_parent) {
		struct replay_thread *parent = threads_parent(r); // still in the call

		threads_inherit(r, t, parent - r->threads.data, r->next.regs.gpr);
		parent->child = t->number = threads_number(r);
	}
	memcpy(t->gpr, r->next.regs.gpr, sizeof(t->gpr));
	t->gpr[CAP_RAX] = 0;
	t->gpr[CAP_RCX] = t->rip = r->next.regs.rip;
	t->rflags = ctx_user_flags(r->next.regs.rflags);
	t->fs_base = r->next.regs.fs_base;
	t->gs_base = r->next.regs.gs_base;
	t->is_born = true;
	if (t == dec_threads_current(r)) {
		dec_threads_load(r, t);
		dec_threads_record(r);
	}
	return dec_replay_writes(r);
}

/* ---- switches ---------------------------------------------------------------------------- */

static bool threads_read(struct dec_replay *r, uint64_t addr, void *buf, size_t size)
{
	if (dec_guest_avail(&r->guest, addr, PROT_READ) < size)
		return false;
	memcpy(buf, (const void *)addr, size);
	return true;
}

/* The owner of the futex word at @p addr is gone: say so in it. */
static enum dec_verdict threads_owner_died(struct dec_replay *r, uint64_t addr,
					   uint32_t tid)
{
	uint32_t word;
	const struct cap_write w = { addr, sizeof(word), (const uint8_t *)&word };

	if (!threads_read(r, addr, &word, sizeof(word)) || (word & FUTEX_TID_MASK) != tid)
		return DEC_GO;
	word = (word & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
	if (r->loose)
		dec_loose_wake(r, addr, 1, UINT32_MAX);
	return dec_replay_write(r, &w);
}

/* What the kernel does at a thread's end to the robust mutexes it still holds
 * (set_robust_list(2); bit 0 of a pointer tells a PI futex). */
static enum dec_verdict threads_leave_robust(struct dec_replay *r,
					     struct replay_thread *t)
{
	struct robust_list_head head;
	enum dec_verdict v = DEC_GO;
	uint64_t at, next;

	if (!t->robust_list || !threads_read(r, t->robust_list, &head, sizeof(head)))
		return DEC_GO;
	at = (uint64_t)head.list.next & ~1ull;
	for (int i = 0; v == DEC_GO && at != t->robust_list && i < ROBUST_LIST_LIMIT;
	     i++) {
		if (!threads_read(r, at, &next, sizeof(next)))
			return DEC_GO;
		if (at != ((uint64_t)head.list_op_pending & ~1ull))
			v = threads_owner_died(r, at + head.futex_offset, t->number);
		at = next & ~1ull;
	}
	at = (uint64_t)head.list_op_pending & ~1ull;
	if (v == DEC_GO && at)
		v = threads_owner_died(r, at + head.futex_offset, t->number);
	return v;
}

/* What the kernel does at a thread's end to the word that joiners wait for. */
static enum dec_verdict threads_clear_tid(struct dec_replay *r, struct replay_thread *t)
{
	static const uint8_t zero[4];
	const struct cap_write w = { t->clear_child_tid, sizeof(zero), zero };

	t->clear_child_tid = 0;
	// Where it cannot write, the kernel does not mind.
	if (!w.addr || dec_guest_avail(&r->guest, w.addr, PROT_WRITE) < w.size)
		return DEC_GO;
	return dec_replay_write(r, &w);
}

enum dec_verdict dec_threads_leave(struct dec_replay *r, struct replay_thread *t)
{
	enum dec_verdict v = threads_leave_robust(r, t);

	t->robust_list = 0;
	return v == DEC_GO ? threads_clear_tid(r, t) : v;
}

enum dec_verdict dec_threads_run(struct dec_replay *r, uint32_t tid)
{
	struct replay_thread *from = dec_threads_current(r), *to;
	uint32_t from_tid = from->tid;

	if (tid == from_tid)
		return DEC_GO;
	from->ran += r->engine.now - r->since;
	r->since = r->engine.now;
	if (from->is_born) {
		dec_threads_save(r, from);
		r->left_rip = from->rip;
		r->has_left_in_call = from->is_in_call;
	}
	to = dec_threads_find(r, tid);
	if (!to) {
		to = threads_add(r, tid);
		if (!to)
			return dec_replay_diverge(r, DEC_PARTED_MACHINE, "out of memory");
		dec_threads_save(r, to);
	}
	dec_guard_switch(&r->engine, from_tid, tid, !to->is_born);
	r->current = to - r->threads.data;
	r->n_switches++;
	if (to->is_born) {
		dec_threads_load(r, to);
		dec_threads_record(r);
	}
	return DEC_GO;
}

enum dec_verdict dec_threads_switch(struct dec_replay *r)
{
	struct replay_thread *from = dec_threads_current(r);
	enum dec_verdict v = dec_replay_writes(r);

	// The second comes after the first, if not both at once.
	if (v == DEC_GO &&
	    r->next.switch_flags & (CAP_SWITCH_ROBUST_LEFT | CAP_SWITCH_TID_CLEARED)) {
		v = threads_leave_robust(r, from);
		from->robust_list = 0;
	}
	if (v == DEC_GO && r->next.switch_flags & CAP_SWITCH_TID_CLEARED)
		v = threads_clear_tid(r, from);
	if (r->next.next_tid == from->tid && !(r->next.switch_flags & CAP_SWITCH_TURN))
		r->is_left = true;
	return v == DEC_GO ? dec_threads_run(r, r->next.next_tid) : v;
}

/* ---- the same instant -------------------------------------------------------------------- */

/* Where a frame points to the vector state, and that has what (pt-collect/inputs/signal.c). */
#define FRAME_FPSTATE_POINTER 232
#define FPSTATE_XMM 160
#define FPSTATE_IN_USE 512
#define FPSTATE_BYTES 576 // as far as is looked at here

/* A handler's frame tells the vector registers of where its signal landed: in a loop that
 * computes in these alone, nothing else does. */
static bool threads_vectors_match(const struct dec_replay *r)
{
	const uint8_t *at = NULL, *state = NULL;
	uint8_t reg[160], zeros[16] = {};
	uint64_t area, in_use;

	if (r->next.kind == CAP_EV_SIGNAL && r->next.has_after && !r->has_masked)
		at = threads_written(r,
				     r->next.after.gpr[CAP_RSP] + FRAME_FPSTATE_POINTER,
				     sizeof(area));
	if (at) {
		memcpy(&area, at, sizeof(area));
		state = threads_written(r, area, FPSTATE_BYTES);
	}
	if (!state)
		return true;
	memcpy(&in_use, state + FPSTATE_IN_USE, sizeof(in_use));
	for (int i = 0; i < 16; i++) {
		dec_engine_read_reg(&r->engine, DEC_REG_VEC + i, reg);
		if (memcmp(reg, in_use & 2 ? state + FPSTATE_XMM + 16 * i : zeros, 16))
			return false;
	}
	return true;
}

/* The registers that a repeated string instruction moves. */
#define THREADS_REP_REGS (1u << CAP_RCX | 1u << CAP_RSI | 1u << CAP_RDI)

/* The instruction at the event's rip when that is a repeated one. A loop may come by without end: what has no prefix is
 * none, and is not decoded each time. */
static bool threads_rep_at(struct dec_replay *r, struct dec_insn *insn)
{
	uint64_t rip = r->next.regs.rip;

	if (!dec_guest_avail(&r->guest, rip, PROT_EXEC) ||
	    !dec_insn_is_legacy_prefix(*(const uint8_t *)rip))
		return false;
	return dec_guest_insn(&r->guest, r->next.regs.rip, insn) && insn->is_rep;
}

/* Execute @p n iterations of the repeated instruction that the guest stands at. */
static enum dec_verdict threads_rep_begin(struct dec_replay *r, uint64_t n)
{
	struct dec_ctx *c = r->engine.ctx;
	uint64_t rip = c->rip;
	enum dec_verdict v = DEC_GO;

	c->gpr[CAP_RCX] = n;
	while (v == DEC_GO && c->rip == rip && c->gpr[CAP_RCX])
		v = dec_engine_step_slow(&r->engine);
	if (v != DEC_GO)
		return v;
	memcpy(c->gpr, r->next.regs.gpr, sizeof(c->gpr));
	c->rip = rip;
	dec_replay_state_record(r, DEC_STATE_REP, NULL);
	return DEC_GO;
}

/* @return whether the current thread may have been interrupted where it stands, as far as a
 * trace of the processor's tells. */
static bool threads_may_be_here(struct dec_replay *r)
{
	struct replay_thread *t = dec_threads_current(r);
	uint64_t at = t->ran + r->engine.now - r->since - t->n_halves;
	enum dec_interrupts_answer a =
		dec_interrupts_look(&r->interrupts, t->tid, at, &t->n_traced);

	r->is_traced = a == DEC_INTERRUPTS_YES;
	return a != DEC_INTERRUPTS_NO;
}

/* The current thread stands at a call with the registers of the event. Was the call refused
 * (signal.c) when its thread lost the CPU? Then what it pushed is part of the signature,
 * and now of memory. */
static bool threads_was_refused(struct dec_replay *r, enum dec_verdict *v)
{
	uint64_t at = r->next.regs.gpr[CAP_RSP] - 8, next, before;
	const struct cap_write w = { at, sizeof(next), (const uint8_t *)&next };
	bool matches;

	if (!dec_replay_is_refused_call(r, &next) ||
	    dec_guest_avail(&r->guest, at, PROT_WRITE) < sizeof(next))
		return false;
	memcpy(&before, (const void *)at, sizeof(before));
	memcpy((void *)at, &next, sizeof(next));
	matches = dec_signature_matches(r);
	memcpy((void *)at, &before, sizeof(before));
	if (matches)
		*v = dec_replay_write(r, &w);
	return matches;
}

/* Where the guest stands nothing but the signature tells whether this is the place: it is no repeated instruction, and no
 * call that may have been refused. */
static bool threads_has_memory_alone(struct dec_replay *r)
{
	const struct dec_insn *insn = dec_engine_insn(&r->engine, r->engine.ctx->rip);

	return insn->len && !insn->is_rep && insn->flow != DEC_FLOW_CALL_IND;
}

/* The place of the event at hand is asked for, where its registers are. */
static void threads_ask(struct dec_replay *r)
{
	r->asked = r->next.seq + 1;
	r->in_loop = threads_has_memory_alone(r) ? r->asked : 0;
	r->passes.is_on = false;
}

/* The signature is another: by what return probes of other recorders left on the stack, if the
 * registers do not come back before the thread's next event. Asked but once for each event, or
 * a loop would ask at each pass. */
static bool threads_is_only_place(struct dec_replay *r)
{
	bool is_only;

	if (r->asked == r->next.seq + 1)
		return false;
	threads_ask(r);
	r->is_by_registers = true;
	is_only = dec_certain_check(r, REPLAY_LOOK_AHEAD) == CERTAIN_UNIQUE;
	r->is_by_registers = false;
	return is_only;
}

/* The registers are the event's. Is the rest? */
static bool threads_is_place(struct dec_replay *r, enum dec_verdict *v)
{
	if (r->is_by_registers)
		return true;
	if (!threads_vectors_match(r))
		return false;
	if (!dec_signature_matches(r) && !threads_was_refused(r, v))
		return threads_is_only_place(r);
	if (r->asked != r->next.seq + 1)
		threads_ask(r);
	return true;
}

bool dec_threads_is_here(struct dec_replay *r, enum dec_verdict *v)
{
	const struct dec_ctx *c = r->engine.ctx;
	const struct cap_regs *regs = &r->next.regs;
	struct dec_insn insn;
	uint64_t n;

	*v = DEC_GO;
	if (c->rip != regs->rip)
		return false;
	if (!memcmp(c->gpr, regs->gpr, sizeof(c->gpr)))
		return threads_is_place(r, v) && threads_may_be_here(r);
	if (!threads_rep_at(r, &insn))
		return false;
	for (int i = 0; i < CAP_GPRS; i++) {
		if (!(THREADS_REP_REGS >> i & 1) && c->gpr[i] != regs->gpr[i])
			return false;
	}
	n = c->gpr[CAP_RCX] - regs->gpr[CAP_RCX];
	if (c->gpr[CAP_RCX] <= regs->gpr[CAP_RCX])
		return false;
	// Both pointers move by n elements, or not at all when the instruction has but one.
	for (int i = CAP_RSI; i <= CAP_RDI; i++) {
		uint64_t step = regs->gpr[i] - c->gpr[i];

		if (step && step != n * insn.mem[0].size && -step != n * insn.mem[0].size)
			return false;
	}
	if (!threads_may_be_here(r))
		return false;
	*v = threads_rep_begin(r, n);
	dec_threads_current(r)->n_halves++;
	r->n_halves++;
	return true;
}

void dec_threads_await(struct dec_replay *r)
{
	const struct cap_regs *regs = &r->next.regs;
	struct dec_insn insn;

	dec_engine_set_async(&r->engine, regs->rip, regs->gpr, regs->rflags,
			     threads_rep_at(r, &insn) ? THREADS_REP_REGS : 0);
}
