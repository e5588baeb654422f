// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/x86/vendor.h"
#include "decode/machine/replay.h"

#include <assert.h>
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/machine/call_args.h"
#include "decode/machine/muted.h"
#include "decode/machine/replay_int.h"
#include "decode/machine/signal.h"
#include "decode/machine/signature.h"
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

enum dec_verdict dec_replay_fail(struct dec_replay *r, struct err *err)
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
		"a store",
		"a piece that was left out",
		"shared memory",
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

void dec_replay_log_write(struct dec_replay *r, uint64_t addr, const uint8_t *data,
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

#define PAGE 4096u

/* Pages that a vfork child wrote to are recorded as a whole. Log which words of @p w it changed, too: behind that. */
static void replay_log_changes(struct dec_replay *r, const struct cap_write *w,
			       const uint8_t before[PAGE])
{
	for (size_t at = 0, end; at < PAGE; at = end) {
		for (end = at; end < PAGE && memcmp(before + end, w->data + end, 8);)
			end += 8;
		if (end > at && end - at < PAGE)
			dec_replay_log_write(r, w->addr + at, w->data + at, end - at);
		end += end == at ? 8 : 0;
	}
}

static bool replay_is_of_child(struct dec_replay *r, const struct cap_write *w)
{
	return r->next.kind == CAP_EV_SYSCALL && r->next.regs.gpr[CAP_RAX] == SYS_vfork &&
	       w->size == PAGE && r->engine.mode != DEC_LOG_NONE &&
	       dec_guest_avail(&r->guest, w->addr, PROT_READ) >= PAGE;
}

enum dec_verdict dec_replay_write(struct dec_replay *r, const struct cap_write *w)
{
	bool is_of_child = replay_is_of_child(r, w);
	uint8_t before[PAGE];
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
	if (is_of_child)
		memcpy(before, (const void *)w->addr, PAGE);
	err = dec_guest_write(&r->guest, w->addr, w->data, w->size);
	if (err)
		return dec_replay_fail(r, err);
	dec_replay_log_write(r, w->addr, w->data, w->size);
	if (is_of_child)
		replay_log_changes(r, w, before);
	if (r->engine.guard)
		dec_guard_written(&r->engine, w->addr, w->size);
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

/* ---- the world ----------------------------------------------------------------------------- */

static bool replay_code_seen(void *ctx, uint64_t page)
{
	struct dec_replay *r = ctx;

	return dec_guest_protect_code(&r->guest, page);
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
		.syscall = dec_replay_syscall,
		.special = dec_replay_special,
		.fault = dec_replay_signal_fault,
		.stop_at = dec_replay_signal_stop,
		.may_pass = dec_signature_may_pass,
		.unmute = dec_muted_release,
		.avail = replay_avail,
		.code_seen = replay_code_seen,
		.log_full = log_full,
		.complain = replay_complain,
	};
	struct err *err;

	*r = (struct dec_replay){ .output.fd = -1,
				  .stops_at_turns = r->stops_at_turns,
				  .look_ahead = REPLAY_LOOK_AHEAD };
	assert(ctx == r && "the log's consumer is reached through the replay");
	err = capture_open(dir, &r->capture);
	r->has_masked = !err && capture_info(r->capture)->has_masked;
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
