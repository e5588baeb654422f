// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/x86/vendor.h"
#include "decode/machine/replay.h"

#include <assert.h>
#include <cpuid.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "decode/machine/replay_int.h"
#include "decode/machine/signal.h"
#include "decode/machine/threads.h"

/* ---- what is wrong --------------------------------------------------------------------- */

/* The divergence at hand in numbers; what only the caller knows is not filled in. */
static void replay_part(struct dec_replay *r, enum dec_parting parting)
{
	const struct dec_ctx *c = r->engine.ctx;
	const struct cap_event *ev = &r->next;
	struct dec_divergence *d = &r->parted;

	d->parting = parting;
	d->tid = r->threads.size ? dec_threads_current(r)->tid : 0;
	d->position = r->engine.now;
	d->n_uncertain = r->n_uncertain;
	d->rip = c ? c->rip : 0;
	if (r->is_log_at_end)
		return;
	d->seq = ev->seq;
	d->event = ev->kind;
	d->event_rip = ev->regs.rip - (ev->kind == CAP_EV_SYSCALL ? 2 : 0);
}

enum dec_verdict dec_replay_diverge(struct dec_replay *r, enum dec_parting parting,
				    const char *fmt, ...)
{
	va_list ap;

	if (r->divergence)
		return DEC_DIVERGED;
	replay_part(r, parting);
	va_start(ap, fmt);
	if (vasprintf(&r->divergence, fmt, ap) < 0)
		r->divergence = NULL;
	va_end(ap);
	return DEC_DIVERGED;
}

void dec_replay_note(struct dec_replay *r, const char *fmt, ...)
{
	char *text, *all;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	// One of each kind is enough for people.
	if (!text || text_has_line(r->notes, text)) {
		free(text);
		return;
	}
	if (asprintf(&all, "%s%s\n", r->notes ? r->notes : "", text) > 0) {
		free(r->notes);
		r->notes = all;
	}
	free(text);
}

static enum dec_verdict replay_fail(struct dec_replay *r, struct err *err)
{
	dec_replay_diverge(r, DEC_PARTED_MEMORY, "%s", err->message);
	err_destroy(err);
	return DEC_DIVERGED;
}

static void replay_complain(void *ctx, struct dec_engine *e, const char *text)
{
	struct dec_replay *r = ctx;

	dec_replay_diverge(r, DEC_PARTED_MACHINE,
			   "at %#lx after %lu instructions: %s%s%s%s", e->ctx->rip,
			   e->now, text, *r->recorded_on ? " (recorded on " : "",
			   r->recorded_on, *r->recorded_on ? ")" : "");
}

/* Code that another vendor's processor may execute to another end. */
static void replay_met(void *ctx, const struct dec_insn *insn, int n)
{
	struct dec_replay *r = ctx;
	struct dec_vendor_flag flag;

	for (int i = 0; i < n; i++) {
		const char *what = dec_vendor_differs(&insn[i]);

		if (what)
			dec_replay_note(
				r, "%s ran; processors differ in %s (recorded on %s)",
				dec_insn_name(&insn[i]), what, r->recorded_on);
	}
	if (dec_vendor_flags(insn, n, &flag))
		dec_replay_note(r,
				"%s ran, and %s at %#lx reads a flag that it leaves "
				"undefined: processors differ in that (recorded on %s)",
				dec_insn_name(&insn[flag.by]),
				dec_insn_name(&insn[flag.read_by]),
				insn[flag.read_by].rip, r->recorded_on);
}

/* Who has the feature that bit @p bit of cpuid's register @p reg (0 = eax ... 3 = edx) tells of:
 * enum of struct dec_engine. */
static int replay_feature(const struct cap_cpu *there, const struct cap_cpu *here,
			  uint32_t leaf, int reg, uint32_t bit)
{
	uint32_t t[4], h[4];

	cap_cpu_find(there, leaf, 0, CAP_CPU_ANY, t);
	cap_cpu_find(here, leaf, 0, CAP_CPU_ANY, h);
	if (!(t[reg] & bit) == !(h[reg] & bit))
		return ENGINE_ALIKE;
	return h[reg] & bit ? ENGINE_ONLY_HERE : ENGINE_ONLY_THERE;
}

/* Was it another vendor's processor? */
static struct err *replay_compare_cpus(struct dec_replay *r)
{
	const struct cap_cpu *recorded = &capture_info(r->capture)->cpu;
	char vendor[13], vendor_here[13], brand[49];
	const struct cap_cpu *here;
	struct err *err;

	if (!recorded->n)
		return NULL;
	err = cap_cpu_here(&here);
	if (err)
		return err;
	if (strcmp(cap_cpu_vendor(recorded, vendor), cap_cpu_vendor(here, vendor_here)))
		r->engine.world.met = replay_met;
	snprintf(r->recorded_on, sizeof(r->recorded_on), "%s",
		 *cap_cpu_brand(recorded, brand) ? cap_cpu_brand(recorded, brand) :
						   vendor);
	r->engine.lzcnt = replay_feature(recorded, here, 0x80000001, 2, bit_LZCNT);
	r->engine.tzcnt = replay_feature(recorded, here, 7, 1, bit_BMI);
	return NULL;
}

/* ---- events ------------------------------------------------------------------------------ */

const char *dec_replay_kind_name(enum cap_event_kind kind)
{
	static const char *const names[] = {
		"nothing",
		"a system call",
		"a signal",
		"a time stamp",
		"a cpuid",
		"an allocator call",
		"the end",
		"a gap",
		"a thread switch",
		"a random number",
		"an allocator's return",
	};

	return kind < CAP_EV_KINDS ? names[kind] : "an unknown event";
}

void dec_replay_log_heap(struct dec_replay *r)
{
	struct dec_rec *rec =
		dec_engine_log(&r->engine, DEC_REC_HEAP, sizeof(*rec) + 4 * 8);

	if (!rec)
		return;
	rec->value[0] = r->next.heap_fn;
	memcpy(&rec->value[1], r->next.heap_args, 3 * 8);
}

/* Where the signal at hand landed: a breakpoint's rip is behind it. */
static uint64_t replay_signal_rip(const struct cap_event *ev)
{
	siginfo_t info;

	memcpy(&info, ev->siginfo, sizeof(info));
	return ev->regs.rip - (ev->signo == SIGTRAP && info.si_code == SI_KERNEL);
}

void dec_replay_state_record(struct dec_replay *r, enum dec_state_why why,
			     const struct dec_insn *insn)
{
	struct dec_ctx *c = r->engine.ctx;
	struct dec_rec *rec =
		dec_engine_log(&r->engine, DEC_REC_STATE, sizeof(*rec) + 23 * 8);

	if (!rec)
		return;
	memcpy(rec->value, c->gpr, sizeof(c->gpr));
	rec->value[16] = c->rip;
	rec->value[17] = c->fs_base;
	if (insn) {
		rec->value[18] = insn->len;
		memcpy(&rec->value[19], insn->bytes, insn->len);
	}
	rec->value[20] = why;
	if (why == DEC_STATE_SIGNAL)
		rec->value[21] = replay_signal_rip(&r->next);
	rec->value[22] = r->is_log_at_end || why == DEC_STATE_INSN ? r->last_seq :
								     r->next.seq;
}

static void replay_log_write(struct dec_replay *r, uint64_t addr, const uint8_t *data,
			     uint64_t size)
{
	// Pieces: a record must fit the log's buffer.
	for (uint64_t at = 0; at < size; at += 16384) {
		uint64_t n = size - at < 16384 ? size - at : 16384;
		struct dec_rec_write *w = dec_engine_log(&r->engine, DEC_REC_WRITE,
							 sizeof(*w) + ((n + 7) & ~7ull));

		if (!w)
			return;
		w->addr = addr + at;
		w->n_bytes = n;
		memcpy(w->bytes, data + at, n);
	}
}

/* Each of its pages by itself: not all may be written. */
static enum dec_verdict replay_write_pages(struct dec_replay *r,
					   const struct cap_write *w)
{
	enum dec_verdict v = DEC_GO;

	for (uint64_t at = 0, n; v == DEC_GO && at < w->size; at += n) {
		n = 4096 - ((w->addr + at) & 4095);
		if (n > w->size - at)
			n = w->size - at;
		v = dec_replay_write(r, &(struct cap_write){ .addr = w->addr + at,
							     .size = n,
							     .data = w->data + at });
	}
	return v;
}

enum dec_verdict dec_replay_write(struct dec_replay *r, const struct cap_write *w)
{
	bool is_writable = dec_guest_avail(&r->guest, w->addr, PROT_WRITE) >= w->size;
	struct err *err;

	if (!is_writable && w->size > 4096 - (w->addr & 4095))
		return replay_write_pages(r, w);
	// What a call may have written is recorded too, through arguments that are no pointers
	// each time, and behind the address that made it fail: there it wrote nothing.
	if (!is_writable &&
	    ((dec_guest_avail(&r->guest, w->addr, PROT_READ) >= w->size &&
	      !memcmp((const void *)w->addr, w->data, w->size)) ||
	     (r->next.ret == -EFAULT && !dec_guest_is_mapped(&r->guest, w->addr))))
		return DEC_GO;
	err = dec_guest_write(&r->guest, w->addr, w->data, w->size);
	if (err)
		return replay_fail(r, err);
	replay_log_write(r, w->addr, w->data, w->size);
	return DEC_GO;
}

enum dec_verdict dec_replay_writes(struct dec_replay *r)
{
	enum dec_verdict v = DEC_GO;

	for (size_t i = 0; v == DEC_GO && i < r->next.n_writes; i++)
		v = dec_replay_write(r, &r->next.writes[i]);
	return v;
}

void dec_replay_set_regs(struct dec_ctx *c, const struct cap_regs *regs)
{
	memcpy(c->gpr, regs->gpr, sizeof(c->gpr));
	c->rip = regs->rip;
	c->rflags = ctx_user_flags(regs->rflags);
}

/* ---- system calls -------------------------------------------------------------------------- */

/* Compare the guest at a system call with the recording. */
/** What a system call is made with. */
#define CALL_REGS                                                                        \
	(1u << CAP_RAX | 1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX | 1u << CAP_R10 | \
	 1u << CAP_R8 | 1u << CAP_R9)

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

static void replay_log_syscall(struct dec_replay *r)
{
	const struct cap_event *ev = &r->next;
	struct dec_rec *rec =
		dec_engine_log(&r->engine, DEC_REC_SYSCALL, sizeof(*rec) + 15 * 8);

	if (!rec)
		return;
	rec->value[0] = ev->regs.gpr[CAP_RAX];
	rec->value[1] = ev->ret;
	rec->value[2] = r->engine.ctx->rip;
	rec->value[3] = ev->regs.gpr[CAP_RDI];
	rec->value[4] = ev->regs.gpr[CAP_RSI];
	rec->value[5] = ev->regs.gpr[CAP_RDX];
	rec->value[6] = ev->regs.gpr[CAP_R10];
	rec->value[7] = ev->regs.gpr[CAP_R8];
	rec->value[8] = ev->regs.gpr[CAP_R9];
	rec->value[9] = ev->file;
	rec->value[10] = ev->file_offset;
	rec->value[11] = r->guest.brk;
	rec->value[12] = ev->regs.gpr[CAP_R11];
	rec->value[13] = r->engine.ctx->fs_base;
	rec->value[14] = ev->seq;
}

/* A call that does not return. */
static void replay_log_exit(struct dec_replay *r)
{
	const struct dec_ctx *c = r->engine.ctx;
	struct dec_rec *rec =
		dec_engine_log(&r->engine, DEC_REC_SYSCALL, sizeof(*rec) + 15 * 8);

	if (!rec)
		return;
	rec->value[0] = c->gpr[CAP_RAX];
	rec->value[1] = c->gpr[CAP_RAX];
	rec->value[2] = c->rip;
	rec->value[3] = c->gpr[CAP_RDI];
	rec->value[11] = r->guest.brk;
	rec->value[12] = c->gpr[CAP_R11];
	rec->value[13] = c->fs_base;
	rec->value[14] = r->is_log_at_end ? r->last_seq : r->next.seq;
}

enum dec_verdict dec_replay_end_of_log(struct dec_replay *r, const char *what)
{
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

/* -ERESTARTSYS and its kin: the kernel runs the call again unless a handler comes. */
static bool replay_is_restart(int64_t ret)
{
	return ret == -512 || ret == -513 || ret == -514 || ret == -516;
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
	replay_log_exit(r);
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

/* What the call did to memory: mappings, then contents. */
static enum dec_verdict replay_syscall_memory(struct dec_replay *r, uint64_t nr)
{
	struct err *err = dec_guest_syscall(&r->guest, &r->next);

	if (err)
		return replay_fail(r, err);
	replay_log_syscall(r);
	if (nr != SYS_mmap && nr != SYS_shmat)
		return dec_replay_writes(r);
	// The mapping was filled before it was protected: only the log is left.
	for (size_t i = 0; i < r->next.n_writes; i++)
		replay_log_write(r, r->next.writes[i].addr, r->next.writes[i].data,
				 r->next.writes[i].size);
	return DEC_GO;
}

/* The registers behind the call. */
static void replay_syscall_registers(struct dec_replay *r, uint64_t nr)
{
	struct dec_ctx *c = r->engine.ctx;

	if (r->next.has_after) {
		// rt_sigreturn, or a call that the kernel made again by itself.
		if (nr == SYS_rt_sigreturn)
			dec_replay_signal_return(r, c->gpr[CAP_RSP]);
		dec_replay_set_regs(c, &r->next.after);
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
	if (nr == SYS_set_robust_list)
		t->robust_list = c->gpr[CAP_RDI];
	r->has_mapped |= replay_is_module(r, nr);
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

static enum dec_verdict replay_syscall(void *ctx, struct dec_engine *e)
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
			v = replay_syscall(r, &r->engine);
		else
			return DEC_GO;
		if (v != DEC_GO)
			return v;
	}
}

/* ---- instructions for C ------------------------------------------------------------------ */

static void replay_give_cpuid(struct dec_ctx *c, const uint32_t regs[4])
{
	c->gpr[CAP_RAX] = regs[0], c->gpr[CAP_RBX] = regs[1];
	c->gpr[CAP_RCX] = regs[2], c->gpr[CAP_RDX] = regs[3];
}

/* Executed where the recorder could not see it: in code of no file, on a CPU that cannot make
 * cpuid trap. The manifest's table knows. */
static void replay_unseen_cpuid(struct dec_replay *r, struct dec_ctx *c)
{
	const struct cap_cpu *cpu = &capture_info(r->capture)->cpu;
	bool is_bound = r->is_log_at_end || r->next.seq >= cpu->bound_from;
	uint32_t leaf = c->gpr[CAP_RAX], subleaf = c->gpr[CAP_RCX], out[4];

	if (!cpu->n) {
		dec_replay_note(r,
				"cpuid was not recorded: this host's answers were used");
		__cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
	} else if (!cap_cpu_find(cpu, leaf, subleaf,
				 is_bound ? cpu->bound_to : CAP_CPU_ANY, out)) {
		dec_replay_note(
			r,
			"cpuid at %#lx asked which CPU it ran on (leaf %x), which was "
			"not recorded: one CPU's answer was used",
			c->rip, leaf);
	}
	replay_give_cpuid(c, out);
}

static enum dec_verdict replay_cpuid(struct dec_replay *r, struct dec_engine *e)
{
	struct dec_ctx *c = e->ctx;
	bool is_next = !r->is_log_at_end && r->next.kind == CAP_EV_CPUID;

	if (!is_next ||
	    (r->next.regs.rip != c->rip && !capture_info(r->capture)->cpu.is_trapped)) {
		replay_unseen_cpuid(r, c);
		return DEC_GO;
	}
	if (r->next.regs.rip != c->rip || r->next.leaf != (uint32_t)c->gpr[CAP_RAX])
		return dec_replay_diverge(r, DEC_PARTED_EVENT,
					  "cpuid at rip %#lx; recorded: cpuid at %#lx",
					  c->rip, r->next.regs.rip);
	replay_give_cpuid(c, r->next.cpuid);
	return dec_replay_advance(r);
}

/* rdrand, rdseed, rdpid: the register and the flags that it gave. */
static enum dec_verdict replay_random(struct dec_replay *r, const struct dec_insn *insn)
{
	const uint64_t status = 0x8d5; // CF PF AF ZF SF OF
	struct dec_ctx *c = r->engine.ctx;
	const struct cap_regs *after = &r->next.regs;
	int to = __builtin_ctz(insn->gpr_written);

	if (r->is_log_at_end)
		return dec_replay_end_of_log(r, "a random number");
	if (r->next.kind != CAP_EV_RANDOM || after->rip != c->rip + insn->len)
		return dec_replay_diverge(
			r, DEC_PARTED_EVENT,
			"%s at rip %#lx after %lu instructions, whose "
			"result was not recorded; recorded: %s at rip %#lx",
			dec_insn_name(insn), c->rip, r->engine.now,
			dec_replay_kind_name(r->next.kind), after->rip);
	c->gpr[to] = after->gpr[to];
	c->rflags = (c->rflags & ~status) | (after->rflags & status);
	return dec_replay_advance(r);
}

static enum dec_verdict replay_special(void *ctx, struct dec_engine *e,
				       const struct dec_insn *insn)
{
	struct dec_replay *r = ctx;
	struct dec_ctx *c = e->ctx;
	enum dec_verdict v;

	if (insn->flow == DEC_FLOW_CPUID) {
		v = replay_cpuid(r, e);
	} else if (insn->flow == DEC_FLOW_RANDOM) {
		v = replay_random(r, insn);
	} else {
		if (dec_replay_signal_is_instead(r, insn->len)) {
			v = dec_replay_signal_instead(r);
			return v == DEC_GO ? DEC_RAISED : v;
		}
		if (r->is_log_at_end)
			return dec_replay_end_of_log(r, "a time stamp");
		if (r->next.kind != CAP_EV_TSC || r->next.regs.rip != c->rip)
			return dec_replay_diverge(
				r, DEC_PARTED_EVENT,
				"rdtsc at rip %#lx after %lu instructions; "
				"recorded: %s at rip %#lx",
				c->rip, e->now, dec_replay_kind_name(r->next.kind),
				r->next.regs.rip);
		c->gpr[CAP_RAX] = (uint32_t)r->next.tsc;
		c->gpr[CAP_RDX] = r->next.tsc >> 32;
		if (r->next.is_rdtscp)
			c->gpr[CAP_RCX] = r->next.tsc_aux;
		v = dec_replay_advance(r);
	}
	if (v == DEC_GO) {
		uint64_t rip = c->rip;

		c->rip += insn->len; // the state record is for behind the instruction
		dec_replay_state_record(r, DEC_STATE_INSN, insn);
		c->rip = rip;
	}
	return v;
}

/* ---- the world ----------------------------------------------------------------------------- */

static void replay_code_seen(void *ctx, uint64_t page)
{
	struct dec_replay *r = ctx;

	dec_guest_protect_code(&r->guest, page);
}

static uint64_t replay_avail(void *ctx, uint64_t addr, int prot)
{
	struct dec_replay *r = ctx;

	return dec_guest_avail(&r->guest, addr, prot);
}

struct err *dec_replay_init(struct dec_replay *r, const char *dir,
			    uint8_t *(*log_full)(void *ctx, size_t bytes), void *ctx)
{
	struct dec_world world = {
		.ctx = r,
		.syscall = replay_syscall,
		.special = replay_special,
		.fault = dec_replay_signal_fault,
		.stop_at = dec_replay_signal_stop,
		.avail = replay_avail,
		.code_seen = replay_code_seen,
		.log_full = log_full,
		.complain = replay_complain,
	};
	struct err *err;

	*r = (struct dec_replay){ .output.fd = -1, .look_ahead = REPLAY_LOOK_AHEAD };
	assert(ctx == r && "the log's consumer is reached through the replay");
	err = capture_open(dir, &r->capture);
	if (!err)
		err = cap_core_open(r->capture, &r->core);
	if (!err)
		err = cap_events_open(r->capture, &r->events);
	if (!err)
		err = cap_events_open(r->capture, &r->again);
	if (!err)
		err = dec_engine_init(&r->engine, &world);
	if (!err)
		err = replay_compare_cpus(r);
	if (!err)
		err = dec_guest_init(&r->guest, &r->engine, r->capture, r->core);
	if (!err && capture_info(r->capture)->n_execs)
		dec_replay_note(
			r,
			"the process had another image before: the capture begins with "
			"the exec of %s",
			capture_info(r->capture)->exe);
	if (!err)
		err = dec_threads_init(r);
	if (!err && dec_replay_advance(r) == DEC_DIVERGED)
		err = err_new(ERR_FORMAT, "%s", r->divergence);
	return err;
}

void dec_replay_rest(struct dec_replay *r)
{
	cap_events_rest(r->events);
	cap_events_rest(r->again);
	dec_engine_rest();
}

struct err *dec_replay_wake(struct dec_replay *r)
{
	struct err *err = cap_events_wake(r->events);

	return err ? err : cap_events_wake(r->again);
}
