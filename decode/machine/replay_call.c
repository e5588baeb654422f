// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A system call of the guest's: is it the recorded one? Then it has the recorded result.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "decode/machine/alias.h"
#include "decode/machine/call_access.h"
#include "decode/machine/replay_int.h"
#include "decode/machine/signal.h"
#include "decode/machine/threads.h"

#define PAGE 4096ull

/** What a system call is made with. */
#define CALL_REGS                                                                        \
	(1u << CAP_RAX | 1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX | 1u << CAP_R10 | \
	 1u << CAP_R8 | 1u << CAP_R9)

/* Compare the guest at a system call with the recording. */
static enum dec_verdict replay_compare(struct dec_replay *r)
{
	const struct dec_ctx *c = r->engine.ctx;
	const struct cap_event *ev = &r->next;
	// Of a branch only what the call is made with, unless its outcome is in the others, too.
	bool is_all = !r->loose || ev->has_after || c->gpr[CAP_RAX] == SYS_clone ||
		      c->gpr[CAP_RAX] == SYS_clone3;

	if (c->rip + 2 != ev->regs.rip)
		return dec_replay_diverge(
			r, DEC_PARTED_PLACE,
			"after %lu instructions the replay is at system call "
			"%ld at rip %#lx; recorded: system call %ld at rip %#lx",
			r->engine.now, c->gpr[CAP_RAX], c->rip, ev->regs.gpr[CAP_RAX],
			ev->regs.rip - 2);
	for (int i = 0; i < CAP_GPRS; i++) {
		// The instruction itself overwrites rcx and r11.
		if (i == CAP_RCX || i == CAP_R11 || c->gpr[i] == ev->regs.gpr[i])
			continue;
		if (!is_all && !(1u << i & CALL_REGS))
			continue;
		r->parted.reg = i;
		r->parted.recorded = ev->regs.gpr[i];
		r->parted.replayed = c->gpr[i];
		return dec_replay_diverge(
			r, DEC_PARTED_REGISTER,
			"at system call %lu (number %ld) at rip %#lx: %s "
			"recorded %#lx, replayed %#lx (after %lu instructions)",
			r->syscalls, c->gpr[CAP_RAX], c->rip, dec_reg_gpr_name(i),
			ev->regs.gpr[i], c->gpr[i], r->engine.now);
	}
	return DEC_GO;
}

/* What the call at hand wrote to the program's output. */
static void replay_output(struct dec_replay *r)
{
	dec_output_syscall(&r->output, &r->guest, &r->next);
	if (r->output.has_unseen_output)
		dec_replay_note(
			r,
			"the kernel copied some of the program's output from another "
			"file by itself (sendfile, splice, copy_file_range): its contents "
			"are not in the capture");
}

/* @p returns: false of a call that does not; it has no event then, or one that says only that. */
static void replay_log_syscall(struct dec_replay *r, bool returns)
{
	const struct dec_ctx *c = r->engine.ctx;
	const struct cap_event *ev = &r->next;
	const uint64_t *gpr = returns ? ev->regs.gpr : c->gpr;
	struct dec_rec *rec =
		dec_engine_log(&r->engine, DEC_REC_SYSCALL, sizeof(*rec) + 15 * 8);

	if (!rec)
		return;
	rec->value[0] = gpr[CAP_RAX];
	rec->value[1] = returns ? (uint64_t)ev->ret : gpr[CAP_RAX];
	rec->value[2] = c->rip;
	rec->value[3] = gpr[CAP_RDI];
	rec->value[11] = r->guest.brk;
	rec->value[12] = gpr[CAP_R11];
	rec->value[13] = c->fs_base;
	rec->value[14] = r->is_log_at_end ? r->last_seq : ev->seq;
	if (!returns)
		return;
	rec->value[4] = gpr[CAP_RSI];
	rec->value[5] = gpr[CAP_RDX];
	rec->value[6] = gpr[CAP_R10];
	rec->value[7] = gpr[CAP_R8];
	rec->value[8] = gpr[CAP_R9];
	rec->value[9] = ev->file;
	rec->value[10] = ev->file_offset;
}

/* -ERESTARTSYS and its kin: the kernel runs the call again unless a handler comes. */
static bool replay_is_restart(int64_t ret)
{
	return ret == -512 || ret == -513 || ret == -514 || ret == -516;
}

/* ---- what it accesses --------------------------------------------------------------------------- */

#define RECORD_ACCESSES 256 // a record must fit the log's buffer

static bool replay_before(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct dec_replay *r = ctx;

	if (dec_guest_avail(&r->guest, addr, PROT_READ) < n)
		return false;
	memcpy(buf, (const void *)addr, n);
	return true;
}

static bool replay_after(void *ctx, uint64_t addr, void *buf, size_t n)
{
	const struct dec_replay *r = ctx;

	for (size_t i = 0; i < r->next.n_writes; i++) {
		const struct cap_write *w = &r->next.writes[i];

		if (addr < w->addr || addr - w->addr > w->size ||
		    n > w->size - (addr - w->addr))
			continue;
		memcpy(buf, w->data + (addr - w->addr), n);
		return true;
	}
	return replay_before(ctx, addr, buf, n);
}

static void replay_log_accesses(struct dec_replay *r, const struct dec_access *a,
				size_t n)
{
	for (size_t at = 0; at < n; at += RECORD_ACCESSES) {
		size_t some = n - at < RECORD_ACCESSES ? n - at : RECORD_ACCESSES;
		struct dec_rec_access *rec = dec_engine_log(
			&r->engine, DEC_REC_ACCESS, sizeof(*rec) + some * sizeof(*a));

		if (!rec)
			return;
		memcpy(rec->access, a + at, some * sizeof(*a));
	}
}

/* Before anything of it is done. */
static void replay_accesses(struct dec_replay *r, uint64_t nr)
{
	static struct dec_access a[DEC_CALL_ACCESSES];
	const uint64_t *gpr = r->engine.ctx->gpr;
	const struct dec_call call = { .nr = nr,
				       .ret = r->next.ret,
				       .arg = { gpr[CAP_RDI], gpr[CAP_RSI], gpr[CAP_RDX],
						gpr[CAP_R10], gpr[CAP_R8], gpr[CAP_R9] },
				       .ctx = r,
				       .before = replay_before,
				       .after = replay_after };
	size_t n;

	if ((!r->engine.guard && r->engine.mode != DEC_LOG_VALUES) ||
	    replay_is_restart(r->next.ret))
		return;
	n = dec_call_accesses(&call, a, DEC_CALL_ACCESSES);
	if (r->engine.guard)
		dec_guard_accessed(&r->engine, a, n);
	if (r->engine.mode == DEC_LOG_VALUES)
		replay_log_accesses(r, a, n);
}

/* Is the guest at the exec that its capture ends with? */
static bool replay_has_executed(const struct dec_replay *r)
{
	uint64_t nr = r->engine.ctx->gpr[CAP_RAX];

	return capture_info(r->capture)->end == CAP_END_EXEC &&
	       (nr == SYS_execve || nr == SYS_execveat);
}

enum dec_verdict dec_replay_end_of_log(struct dec_replay *r, const char *what)
{
	if (!r->cut && replay_has_executed(r)) {
		r->end = CAP_END_EXEC;
		return DEC_END;
	}
	if (!r->cut && capture_info(r->capture)->is_unfinished)
		r->cut = strdup("the recording was not finished (no manifest.json)");
	r->is_cut = r->cut != NULL;
	if (!r->is_cut)
		dec_replay_note(
			r, "the %s (at %s after %lu instructions)",
			capture_info(r->capture)->end == CAP_END_DETACHED ?
				"recording was ended there, and the program went on" :
				"capture ends before the program does",
			what, r->engine.now);
	r->end = CAP_END_UNKNOWN;
	return DEC_END;
}

static enum dec_verdict replay_exit(struct dec_replay *r, int status)
{
	r->end = CAP_END_EXIT;
	r->end_value = status & 0xff;
	r->engine.now++;
	return DEC_END;
}

/* Is the event at hand the answer to the guest's system call? @return DEC_GO when it is. */
static enum dec_verdict replay_expect_syscall(struct dec_replay *r)
{
	const struct dec_ctx *c = r->engine.ctx;
	uint64_t nr = c->gpr[CAP_RAX];
	bool is_inside = r->next.kind == CAP_EV_SWITCH &&
			 (r->next.switch_flags & CAP_SWITCH_IN_CALL);

	if (r->is_log_at_end)
		return dec_replay_end_of_log(r, "a system call");
	if (r->next.kind != CAP_EV_SYSCALL && !is_inside)
		return dec_replay_diverge(
			r, DEC_PARTED_EVENT,
			"after %lu instructions the replay makes system call "
			"%ld at rip %#lx; recorded: %s at rip %#lx",
			r->engine.now, nr, c->rip, dec_replay_kind_name(r->next.kind),
			r->next.regs.rip);
	// When rt_sigreturn is over, the registers it was called with are gone: nothing to
	// compare but that it happened.
	return nr == SYS_rt_sigreturn && (is_inside || r->next.regs.gpr[CAP_RAX] == nr) ?
		       DEC_GO :
		       replay_compare(r);
}

/* The guest makes a call that does not return. */
static enum dec_verdict replay_leave(struct dec_replay *r, uint64_t nr)
{
	struct replay_thread *t = dec_threads_current(r);
	int status = r->engine.ctx->gpr[CAP_RDI];
	bool is_last = r->is_log_at_end && !r->cut;

	if (!is_last && r->next.kind != CAP_EV_EXIT) {
		enum dec_verdict v = replay_expect_syscall(r);

		if (v != DEC_GO)
			return v;
	}
	// Of several threads that end the program, one decides what it ends with.
	if (!is_last && r->next.kind == CAP_EV_EXIT && r->threads.size == 1 &&
	    r->next.exit_code >= 0 && r->next.exit_code != (status & 0xff))
		return dec_replay_diverge(r, DEC_PARTED_EVENT,
					  "after %lu instructions the replay exits with "
					  "status %d; recorded: %d",
					  r->engine.now, status & 0xff,
					  r->next.exit_code);
	replay_log_syscall(r, false);
	if (r->engine.guard) // what the kernel got
		dec_guard_answered(&r->engine, nr);
	// Nobody executes another instruction of the program's then.
	if (nr == SYS_exit_group || is_last || r->threads.size == 1)
		return replay_exit(r, status);
	if (t->tid == r->core->tid)
		r->end_value = status & 0xff;
	r->engine.now++;
	t->is_leaving = true;
	return dec_replay_arrange(r);
}

static void replay_note_flags(struct dec_replay *r, uint64_t nr)
{
	if (r->next.flags & CAP_SYS_UNLISTED)
		dec_replay_note(r,
				"system call %ld is not in the table: memory it may have "
				"written was not recorded",
				nr);
	if (r->next.flags & CAP_SYS_PARTIAL)
		dec_replay_note(
			r, "some memory that system call %ld wrote could not be recorded",
			nr);
}

/* Remember an executable mapping of a kept file. @return whether to pause behind it. */
static bool replay_is_module(struct dec_replay *r, uint64_t nr)
{
	const struct dec_ctx *c = r->engine.ctx;

	if (!r->stops_at_maps || nr != SYS_mmap || !r->next.file ||
	    !(c->gpr[CAP_RDX] & PROT_EXEC))
		return false;
	r->mapped_file = r->next.file;
	r->mapped_addr = r->next.ret;
	r->mapped_size = c->gpr[CAP_RSI];
	r->mapped_offset = r->next.file_offset;
	return true;
}

/* What came to a mapping that has grown. What the guest has elsewhere, too, is known; others wrote there until the
 * recorder looked. */
static enum dec_verdict replay_grown(struct dec_replay *r)
{
	enum dec_verdict v = DEC_GO;

	for (size_t i = 0; i < r->next.n_writes; i++) {
		const struct cap_write *w = &r->next.writes[i];

		for (uint64_t at = 0, n; v == DEC_GO && at < w->size; at += n) {
			uint64_t page = PAGE - (w->addr + at) % PAGE;

			n = r->guest.is_in_company ?
				    dec_alias_elsewhere(&r->guest, w->addr + at) :
				    0;
			if (n)
				continue;
			n = page < w->size - at ? page : w->size - at;
			v = dec_replay_write(r, &(struct cap_write){ w->addr + at, n,
								     w->data + at });
		}
	}
	return v;
}

/* What the call did to memory: mappings, then contents. */
static enum dec_verdict replay_syscall_memory(struct dec_replay *r, uint64_t nr)
{
	struct err *err = dec_guest_syscall(&r->guest, &r->next);

	if (err)
		return dec_replay_fail(r, err);
	replay_log_syscall(r, true);
	if (nr == SYS_mremap)
		return replay_grown(r);
	if (nr != SYS_mmap && nr != SYS_shmat)
		return dec_replay_writes(r);
	// The mapping was filled before it was protected: only the log is left.
	for (size_t i = 0; i < r->next.n_writes; i++) {
		const struct cap_write *w = &r->next.writes[i];
		bool is_there = dec_guest_avail(&r->guest, w->addr, PROT_READ) >= w->size;

		dec_replay_log_write(r, w->addr,
				     is_there ? (const uint8_t *)w->addr : w->data,
				     w->size);
	}
	return DEC_GO;
}

/* The registers behind the call. */
static void replay_syscall_registers(struct dec_replay *r, uint64_t nr)
{
	struct dec_ctx *c = r->engine.ctx;
	uint64_t rsp = c->gpr[CAP_RSP];

	if (r->next.has_after) {
		// rt_sigreturn, or a call that the kernel made again by itself.
		if (nr == SYS_rt_sigreturn)
			dec_replay_signal_return(r, rsp);
		dec_replay_set_regs(c, &r->next.after);
		if (nr == SYS_rt_sigreturn)
			dec_guard_signal_over(&r->engine, rsp);
		dec_replay_state_record(r, DEC_STATE_CALL, NULL);
	} else {
		c->gpr[CAP_RAX] = r->next.ret;
		c->gpr[CAP_RCX] = r->next.regs.rip;
		c->gpr[CAP_R11] = r->next.regs.gpr[CAP_R11];
		c->rip += 2;
	}
}

/* The event at hand is what the current thread's call came to: let it be over. */
static enum dec_verdict replay_complete(struct dec_replay *r)
{
	struct replay_thread *t = dec_threads_current(r);
	struct dec_ctx *c = r->engine.ctx;
	uint64_t nr = c->gpr[CAP_RAX];
	enum dec_verdict v;

	t->is_in_call = false;
	if (r->on_call)
		r->on_call(r);
	if (nr == SYS_rt_sigaction && !r->next.ret)
		dec_replay_signal_action(r, c->gpr[CAP_RDI], c->gpr[CAP_RSI]);
	replay_note_flags(r, nr);
	replay_output(r);
	if (nr == SYS_arch_prctl && c->gpr[CAP_RDI] == 0x1002 && !r->next.ret)
		c->fs_base = c->gpr[CAP_RSI];
	if (nr == SYS_arch_prctl && c->gpr[CAP_RDI] == 0x1001 && !r->next.ret)
		c->gs_base = c->gpr[CAP_RSI];
	if (nr == SYS_prctl && c->gpr[CAP_RDI] == PR_SET_NAME && !r->next.ret)
		dec_threads_name(r, c->gpr[CAP_RSI]);
	if (nr == SYS_set_tid_address)
		t->clear_child_tid = c->gpr[CAP_RDI];
	if (nr == SYS_set_tid_address || nr == SYS_gettid)
		t->number = r->next.ret;
	if (nr == SYS_set_robust_list)
		t->robust_list = c->gpr[CAP_RDI];
	r->has_mapped |= replay_is_module(r, nr);
	replay_accesses(r, nr);
	v = dec_threads_cloned(r, nr);
	if (v == DEC_GO)
		v = replay_syscall_memory(r, nr);
	if (v != DEC_GO)
		return v;
	if (replay_is_restart(r->next.ret) && nr != SYS_rt_sigreturn &&
	    !r->next.has_after) {
		t->restart_rip = c->rip;
		t->restart_nr = r->next.ret == -516 ? SYS_restart_syscall : nr;
	}
	replay_syscall_registers(r, nr);
	if (r->engine.guard)
		dec_guard_answered(&r->engine, nr);
	r->parted.has_agreed = true;
	r->parted.agreed_position = r->engine.now;
	r->parted.agreed_seq = r->next.seq;
	r->engine.now++;
	r->syscalls++;
	return DEC_GO;
}

/* The program is killed inside the call that the guest is at. */
static bool replay_is_killed(const struct dec_replay *r)
{
	return !r->is_log_at_end &&
	       (r->next.kind == CAP_EV_EXIT ||
		(r->next.kind == CAP_EV_SIGNAL && r->next.signo == SIGKILL &&
		 r->next.is_fatal && r->next.regs.rip == r->engine.ctx->rip + 2));
}

enum dec_verdict dec_replay_killed(struct dec_replay *r)
{
	const struct cap_info *info = capture_info(r->capture);

	r->end = r->next.exit_code < 0 || r->next.kind == CAP_EV_SIGNAL ? CAP_END_SIGNAL :
									  CAP_END_EXIT;
	r->end_value = r->end == CAP_END_SIGNAL ? SIGKILL : r->next.exit_code;
	// By its own filter of calls, that is.
	if (r->next.kind == CAP_EV_EXIT && info->end == CAP_END_SIGNAL)
		r->end_value = info->end_value;
	return DEC_END;
}

enum dec_verdict dec_replay_syscall(void *ctx, struct dec_engine *e)
{
	struct dec_replay *r = ctx;
	uint64_t nr = e->ctx->gpr[CAP_RAX];
	enum dec_verdict v;

	if (nr == SYS_exit_group || nr == SYS_exit)
		return replay_leave(r, nr);
	if (replay_is_killed(r))
		return dec_replay_killed(r);
	if (!r->is_log_at_end && dec_threads_is_birth(r)) { // of this very call
		dec_threads_current(r)->is_in_call = true;
		if (dec_threads_can_begin(r))
			return dec_replay_arrange(r);
	}
	if (dec_replay_signal_is_instead(r, 2))
		return dec_replay_signal_instead(r);
	v = replay_expect_syscall(r);
	if (v != DEC_GO)
		return v;
	if (r->next.kind == CAP_EV_SWITCH) {
		dec_threads_current(r)->is_in_call = true;
		return dec_replay_arrange(r);
	}
	v = replay_complete(r);
	return v == DEC_GO ? dec_replay_advance(r) : v;
}

/* The thread that runs stands at a call that others go on in. */
static bool replay_is_blocking(struct dec_replay *r)
{
	const struct dec_ctx *c = r->engine.ctx;
	bool is_clone = c->gpr[CAP_RAX] == SYS_clone || c->gpr[CAP_RAX] == SYS_clone3;

	if (r->is_log_at_end || r->next.regs.rip != c->rip + 2 ||
	    r->next.regs.gpr[CAP_RAX] != c->gpr[CAP_RAX] ||
	    r->next.regs.gpr[CAP_RDI] != c->gpr[CAP_RDI] ||
	    dec_guest_avail(&r->guest, c->rip, PROT_EXEC) < 2 ||
	    memcmp((const void *)c->rip, (const uint8_t[]){ 0x0f, 0x05 }, 2))
		return false;
	// What does not return is a step as soon as it is made.
	if (r->next.kind == CAP_EV_SWITCH)
		return c->gpr[CAP_RAX] != SYS_exit && c->gpr[CAP_RAX] != SYS_exit_group &&
		       r->next.tid == dec_threads_current(r)->tid &&
		       r->next.switch_flags & CAP_SWITCH_IN_CALL;
	return is_clone && dec_threads_is_birth(r);
}

enum dec_verdict dec_replay_settle(struct dec_replay *r)
{
	for (enum dec_verdict v;;) {
		if (dec_replay_signal_is_due(r))
			v = dec_replay_signal_stop(r, &r->engine);
		else if (!dec_threads_current(r)->is_in_call && replay_is_blocking(r))
			v = dec_replay_syscall(r, &r->engine);
		else
			return DEC_GO;
		if (v != DEC_GO)
			return v;
	}
}
