// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/signal.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/translator/emulate.h"
#include "decode/machine/replay_int.h"
#include "decode/machine/threads.h"
#include "decode/translator/touch.h"

#define VSYSCALL_PAGE 0xffffffffff600ull ///< its number
#define FRAME_LEAST 1024 ///< below rsp: red zone, and a frame without vectors

static bool replay_is_sync(const struct cap_event *ev)
{
	siginfo_t info;

	memcpy(&info, ev->siginfo, sizeof(info));
	switch (ev->signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
		return info.si_code > 0;
	default:
		return false;
	}
}

/* The kernel starts a handler with an initial FPU. */
static void replay_reset_fpu(struct dec_ctx *c)
{
	memset(c->xsave, 0, CTX_XSAVE_BYTES);
	c->xsave[0] = 0x7f, c->xsave[1] = 0x03;
	c->xsave[24] = 0x80, c->xsave[25] = 0x1f;
	c->xsave[512] = 3;
}

/* The event at hand is a signal, and the guest stands where it landed. */
static enum dec_verdict replay_signal_deliver(struct dec_replay *r)
{
	enum dec_verdict v;
	siginfo_t info;

	dec_engine_set_async(&r->engine, 0, NULL, 0, 0);
	if (r->next.is_fatal && capture_info(r->capture)->end == CAP_END_EXIT)
		return dec_replay_diverge(r, DEC_PARTED_EVENT,
					  "after %lu instructions signal %d ends the "
					  "program; recorded: it exits later",
					  r->engine.now, r->next.signo);
	if (r->next.is_fatal) {
		r->end = CAP_END_SIGNAL;
		r->end_value = r->next.signo;
		memcpy(&info, r->next.siginfo, sizeof(info));
		if (replay_is_sync(&r->next))
			dec_guard_fatal(&r->engine);
		// Flags that code behind the fault would have set anew may not be the guest's.
		if (replay_is_sync(&r->next))
			r->engine.ctx->rflags = ctx_user_flags(r->next.regs.rflags);
		r->fault_addr = replay_is_sync(&r->next) ? (uint64_t)info.si_addr : 0;
		return DEC_END;
	}
	if (r->next.has_after) {
		v = dec_replay_writes(r);
		if (v != DEC_GO)
			return v;
		// Its frame had no place; SIGSEGV comes instead, before anything is executed.
		r->has_no_frame = r->next.after.rip == r->next.regs.rip &&
				  r->next.after.gpr[CAP_RSP] == r->next.regs.gpr[CAP_RSP];
		if (r->has_no_frame)
			return DEC_GO;
		dec_guard_signal(&r->engine, r->next.after.gpr, replay_is_sync(&r->next));
		dec_replay_set_regs(r->engine.ctx, &r->next.after);
		replay_reset_fpu(r->engine.ctx);
		r->engine.ctx->pkru = DEC_PKRU_INIT;
		dec_replay_state_record(r, DEC_STATE_SIGNAL, NULL);
		r->n_handlers++;
	}
	return DEC_GO;
}

enum dec_verdict dec_replay_signal_die(struct dec_replay *r)
{
	bool is_current = dec_threads_current(r)->tid == r->next.tid, is_done;
	enum dec_verdict v = dec_threads_run(r, r->next.tid);

	if (v != DEC_GO)
		return v;
	// A call of NULL faults there itself.
	if (!r->next.regs.rip && !replay_is_sync(&r->next)) {
		dec_replay_note(
			r,
			"thread %u was killed where nobody saw it: the replay ends "
			"behind its last event",
			r->next.tid);
		return replay_signal_deliver(r);
	}
	// It stands there already: it was switched away from there.
	return is_current ? dec_replay_signal_await(r, &is_done) :
			    replay_signal_deliver(r);
}

/* @return where indirect branch @p insn goes in the guest's present state; 0 = not known. */
static uint64_t replay_branch_target(const struct dec_engine *e,
				     const struct dec_insn *insn)
{
	uint32_t regs = insn->gpr_read;
	struct dec_touch touch[DEC_TOUCHES];
	int n = dec_touch_list(e, insn, e->ctx->gpr, 1, touch);
	uint64_t target;

	for (int i = 0; i < n; i++) {
		if (touch[i].is_def || touch[i].size != sizeof(target))
			continue;
		if (!dec_touch_is_readable(e, touch[i].addr, sizeof(target)))
			return 0;
		memcpy(&target, (const void *)touch[i].addr, sizeof(target));
		return target;
	}
	if (insn->flow == DEC_FLOW_CALL_IND)
		regs &= ~(1u << CAP_RSP);
	return regs ? e->ctx->gpr[__builtin_ctz(regs)] : 0;
}

/* @return whether @p insn is a branch that the CPU refuses in the guest's present state. */
static bool replay_is_refused(const struct dec_engine *e, const struct dec_insn *insn)
{
	int64_t target = replay_branch_target(e, insn);

	return (int64_t)((uint64_t)target << 16) >> 16 != target;
}

/* Is there an indirect branch at @p rip? Then @p insn is that. */
static bool replay_branch_at(struct dec_replay *r, uint64_t rip, struct dec_insn *insn)
{
	return dec_guest_insn(&r->guest, rip, insn) &&
	       (insn->flow == DEC_FLOW_CALL_IND || insn->flow == DEC_FLOW_JMP_IND ||
		insn->flow == DEC_FLOW_RET);
}

bool dec_replay_is_refused_branch(struct dec_replay *r)
{
	struct dec_insn insn;

	return replay_branch_at(r, r->engine.ctx->rip, &insn) &&
	       replay_is_refused(&r->engine, &insn);
}

bool dec_replay_is_refused_call(struct dec_replay *r, uint64_t *next)
{
	// A loop may come here at each pass: it is not decoded anew.
	const struct dec_insn *insn = dec_engine_insn(&r->engine, r->engine.ctx->rip);

	if (!insn->len || insn->flow != DEC_FLOW_CALL_IND ||
	    !replay_is_refused(&r->engine, insn))
		return false;
	*next = insn->rip + insn->len;
	return true;
}

/* Is the event at hand the fault of an indirect branch? Then @p insn is that. */
static bool replay_is_branch_fault(struct dec_replay *r, struct dec_insn *insn)
{
	siginfo_t info;

	memcpy(&info, r->next.siginfo, sizeof(info));
	return r->next.signo == SIGSEGV && info.si_code == SI_KERNEL &&
	       replay_branch_at(r, r->next.regs.rip, insn);
}

/*
 * A processor of Intel's refuses to branch to an address that is not canonical: the fault is
 * the branch's, with the registers before it. (A call has written the return address all the
 * same, as the event tells.) Translated, it would be done before C sees where it goes. So the
 * guest is stopped in front of it. (One of AMD's goes there, and faults.)
 */
static enum dec_verdict replay_await_branch(struct dec_replay *r,
					    const struct dec_insn *insn, bool *is_done)
{
	const struct dec_ctx *c = r->engine.ctx;
	const struct cap_regs *regs = &r->next.regs;

	if (c->rip == regs->rip && !memcmp(c->gpr, regs->gpr, sizeof(c->gpr)) &&
	    replay_is_refused(&r->engine, insn)) {
		*is_done = true;
		return replay_signal_deliver(r);
	}
	dec_threads_await(r);
	return DEC_GO;
}

/* Memory behind the end of its file is there in the guest, with zeros, as long as nobody
 * touches it; so is what a stack may grow to, be the limit lower by now. The event at hand says
 * that it is touched next. @return its page; 0: it does not say so. */
static uint64_t replay_page_beyond(const struct dec_replay *r)
{
	siginfo_t info;

	memcpy(&info, r->next.siginfo, sizeof(info));
	return r->next.kind == CAP_EV_SIGNAL &&
			       ((r->next.signo == SIGBUS && info.si_code == BUS_ADRERR) ||
				(r->next.signo == SIGSEGV &&
				 info.si_code == SEGV_MAPERR)) ?
		       (uint64_t)info.si_addr & ~4095ull :
		       0;
}

bool dec_replay_awaits_beyond(struct dec_replay *r)
{
	uint64_t page = replay_page_beyond(r);

	return page &&
	       (page == r->guest.hidden || dec_guest_avail(&r->guest, page, PROT_READ));
}

static enum dec_verdict replay_await_beyond(struct dec_replay *r)
{
	uint64_t page = replay_page_beyond(r);

	if (!dec_replay_awaits_beyond(r))
		return DEC_GO;
	dec_guest_remap(&r->guest, page, page + 4096);
	if (!mprotect((void *)page, 4096, PROT_NONE))
		r->guest.hidden = page;
	return DEC_GO;
}

/* Is the fault of @p c the one that was awaited? Then the page is as it was. */
static bool replay_is_beyond(struct dec_replay *r, const struct dec_ctx *c)
{
	uint64_t page = replay_page_beyond(r);

	if (!page || c->fault_signo != SIGSEGV || (c->fault_addr & ~4095ull) != page)
		return false;
	r->guest.hidden = 0;
	err_destroy(dec_guest_restore(&r->guest, page, page + 4096));
	return true;
}

/* The event at hand says that the guest is about to touch memory that it does not have. Is
 * something of the machine's there? Then nothing would fault, and the machine has to lie
 * elsewhere. */
static bool replay_meets_ours(struct dec_replay *r)
{
	siginfo_t info;

	memcpy(&info, r->next.siginfo, sizeof(info));
	return r->next.signo == SIGSEGV && info.si_code != SI_KERNEL &&
	       dec_guest_meets_ours(&r->guest, (uint64_t)info.si_addr);
}

enum dec_verdict dec_replay_signal_await(struct dec_replay *r, bool *is_done)
{
	struct dec_insn insn;
	enum dec_verdict v;

	if (r->has_no_frame) {
		r->has_no_frame = false;
		*is_done = true;
		return replay_signal_deliver(r);
	}
	if (replay_is_sync(&r->next) && replay_meets_ours(r))
		return DEC_DIVERGED;
	if (replay_is_sync(&r->next))
		return replay_is_branch_fault(r, &insn) ?
			       replay_await_branch(r, &insn, is_done) :
			       replay_await_beyond(r);
	if (!dec_threads_current(r)->is_in_call && !dec_threads_is_here(r, &v)) {
		dec_threads_await(r);
		return v;
	}
	*is_done = true;
	return replay_signal_deliver(r);
}

bool dec_replay_signal_is_due(const struct dec_replay *r)
{
	const struct dec_ctx *c = r->engine.ctx;
	bool is_handler = r->next.kind == CAP_EV_SIGNAL && r->next.has_after &&
			  !r->next.is_fatal && !replay_is_sync(&r->next);

	return !r->is_log_at_end && (is_handler || r->next.kind == CAP_EV_SWITCH) &&
	       r->engine.async_rip == c->rip && r->next.regs.rip == c->rip &&
	       !memcmp(c->gpr, r->next.regs.gpr, sizeof(c->gpr));
}

enum dec_verdict dec_replay_signal_stop(void *ctx, struct dec_engine *e)
{
	return e->async_rip == e->ctx->rip ? dec_replay_arrange(ctx) : DEC_GO;
}

/* An instruction that this CPU does not know and the recording one did: it is named, instead of
 * a fault that was not recorded. */
static bool replay_lacks(struct dec_replay *r)
{
	struct dec_engine *e = &r->engine;
	struct dec_insn insn;

	if (!dec_guest_insn(&r->guest, e->ctx->rip, &insn) || insn.flow == DEC_FLOW_TRAP)
		return false;
	e->world.complain(r, e, dec_engine_lacking_text(&insn));
	return true;
}

/* The event at hand took the place of the signal that a fault gives, because its handler's
 * frame had no place on the stack. */
static bool replay_has_no_stack(struct dec_replay *r)
{
	siginfo_t info;

	memcpy(&info, r->next.siginfo, sizeof(info));
	return r->next.signo == SIGSEGV && info.si_code == SI_KERNEL &&
	       !dec_guest_avail(&r->guest, r->engine.ctx->gpr[CAP_RSP] - FRAME_LEAST,
				PROT_WRITE);
}

enum dec_verdict dec_replay_signal_fault(void *ctx, struct dec_engine *e)
{
	struct dec_replay *r = ctx;
	struct dec_ctx *c = e->ctx;
	uint64_t trap = c->fault_signo == SIGTRAP; // rip is behind an int3
	enum dec_verdict v;

	if (c->fault_signo == SIGSEGV &&
	    dec_guest_unprotect_code(&r->guest, c->fault_addr))
		return dec_guest_change_code(&r->guest);
	if (r->is_log_at_end)
		return dec_replay_end_of_log(r, "a fault");
	if (r->next.kind != CAP_EV_SIGNAL || r->next.regs.rip != c->rip + trap ||
	    (!replay_is_beyond(r, c) && r->next.signo != (int)c->fault_signo &&
	     !replay_has_no_stack(r))) {
		r->parted.signo = c->fault_signo;
		r->parted.fault_addr = c->fault_addr;
		if (c->fault_signo == SIGILL && replay_lacks(r))
			return DEC_DIVERGED;
		if (c->rip >> 12 == VSYSCALL_PAGE) {
			e->world.complain(
				r, e,
				"a call into the vsyscall page, which the kernel "
				"answers unseen, cannot be replayed");
			return DEC_DIVERGED;
		}
		return dec_replay_diverge(
			r, DEC_PARTED_FAULT,
			"after %lu instructions the replay faults at rip %#lx "
			"(signal %lu, address %#lx); recorded: %s at rip %#lx",
			e->now, c->rip, c->fault_signo, c->fault_addr,
			dec_replay_kind_name(r->next.kind), r->next.regs.rip);
	}
	v = replay_signal_deliver(r);
	return v == DEC_GO ? dec_replay_advance(r) : v;
}

bool dec_replay_signal_is_instead(const struct dec_replay *r, unsigned len)
{
	uint64_t rip = r->engine.ctx->rip;

	if (r->is_log_at_end || r->next.kind != CAP_EV_SIGNAL)
		return false;
	// The system call instruction has been executed, as the processor sees it.
	return r->next.signo == SIGSYS ?
		       r->next.regs.rip == rip + len :
		       r->next.signo == SIGSEGV && replay_is_sync(&r->next) &&
			       r->next.regs.rip == rip;
}

enum dec_verdict dec_replay_signal_instead(struct dec_replay *r)
{
	enum dec_verdict v;

	// Its own doing: rcx and r11.
	if (r->next.signo == SIGSYS)
		dec_replay_set_regs(r->engine.ctx, &r->next.regs);
	v = replay_signal_deliver(r);
	return v == DEC_GO ? dec_replay_advance(r) : v;
}

void dec_replay_signal_action(struct dec_replay *r, uint64_t signo, uint64_t act)
{
	uint64_t handler, bit = 1ull << ((signo - 1) & 63);

	if (dec_guest_avail(&r->guest, act, PROT_READ) < sizeof(handler))
		return;
	memcpy(&handler, (const void *)act, sizeof(handler));
	r->handled &= ~bit;
	r->ignored &= ~bit;
	if (handler == (uint64_t)SIG_IGN)
		r->ignored |= bit;
	else if (handler != (uint64_t)SIG_DFL)
		r->handled |= bit;
}

void dec_replay_signal_return(struct dec_replay *r, uint64_t frame)
{
	struct dec_ctx *c = r->engine.ctx;
	const struct cap_xstate_layout *layout = &r->guest.xstate;
	uint64_t area, in_use;
	uint32_t magic, size = 512;

	// ucontext: flags, link, stack_t (24), then 23 registers; fpstate follows.
	if (dec_guest_avail(&r->guest, frame + 224, PROT_READ) < 8)
		return;
	memcpy(&area, (void *)(frame + 224), 8);
	replay_reset_fpu(c);
	if (!area || dec_guest_avail(&r->guest, area, PROT_READ) < 576)
		return;
	memcpy(&magic, (void *)(area + 464), 4);
	if (magic == 0x46505853)			     // FP_XSTATE_MAGIC1
		memcpy(&size, (void *)(area + 464 + 16), 4); // xstate_size
	if (dec_guest_avail(&r->guest, area, PROT_READ) < size)
		return;
	if (size > 576) {
		c->pkru = dec_guest_xstate_keys((const uint8_t *)area, size, layout);
		dec_guest_load_xstate(&r->guest, (const uint8_t *)area, size, layout,
				      c->xsave);
		return;
	}
	memcpy(c->xsave, (void *)area, 464);
	in_use = 3;
	memcpy(c->xsave + 512, &in_use, 8);
}
