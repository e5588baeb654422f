// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * unit_cpu.c's world: one sequence, run by the oracle (every state it passes is kept) and
 * by the machine. What differs is told once for each form.
 */
#ifndef TESTS_CPU_RUN_H
#define TESTS_CPU_RUN_H

#include "decode/translator/engine.h"
#include "decode/translator/mute.h"
#include "decode/machine/log.h"
#include "decode/machine/trace.h"
#include "tests/decode/cpu_build.h"
#include "tests/decode/cpu_state.h"
#include "tests/decode/cpu_world.h"
#include "tests/unit.h"

#define ITEMS 20
#define STEP_MEMS 128

struct item {
	struct form *form;
	int instance;
	bool is_dropped;
};

/* What the full value log said of a step. */
struct step_refs {
	uint64_t use, def; ///< bit n: register n
	struct {
		uint64_t addr;
		uint32_t size;
		bool is_def;
	} mem[STEP_MEMS];
	int n_mem;
};

struct world {
	uint64_t seed;
	struct forms forms;
	struct native native;
	struct dec_engine engine;
	uint8_t *log_buffer;
	size_t log_bytes;
	struct err *log_err;

	struct item item[ITEMS];
	int n_items;
	struct seq seq;
	uint8_t initial[CPU_SCRATCH_BYTES];
	struct cpu_state start;
	struct cpu_state
		state[SEQ_STEPS + 1];	      ///< native, before each step and at the end
	uint8_t (*memory)[CPU_SCRATCH_BYTES]; ///< SEQ_STEPS + 1, likewise
	struct step_refs refs[SEQ_STEPS];
	struct dec_tracer *tracer;
	struct log_reader reader;
	int steps_seen;
	enum dec_log_mode mode;
	uint32_t muted; ///< bit n: page n of the scratch memory

	uint64_t n_rounds, n_run, n_slow, n_dropped, n_native, n_perturbed;
	uint64_t n_without_fs,
		n_old; ///< rounds that ran as on a CPU without FSGSBASE, and without XSAVE either, too
	uint64_t n_muted; ///< steps that store, of which there was no record
	uint64_t n_mismatches;
	struct map reported; ///< form key and kind of mismatch, told once
};

static struct world w;

/* ---- telling what is wrong -------------------------------------------------------- */

static void describe(int step, char *to, size_t size)
{
	const struct seq_step *s = &w.seq.step[step];
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;
	ZydisFormatter f;

	ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
	if (!forms_decode(w.seq.bytes + s->at, s->len, &d, ops) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&f, &d, ops,
							  d.operand_count_visible, to,
							  size, CPU_CODE + s->at, NULL)))
		snprintf(to, size, "?");
}

/* Each kind of mismatch is told once a form. */
__attribute__((format(printf, 2, 3))) static void mismatch(int step, const char *fmt, ...)
{
	const struct seq_step *s = &w.seq.step[step];
	uint64_t key = (uint64_t)(uintptr_t)fmt;
	char text[160] = "the end";
	va_list args;

	w.n_mismatches++;
	if (step < w.seq.n_steps) {
		describe(step, text, sizeof(text));
		key = forms_mix(s->item < 0 ? 0 : w.item[s->item].form->key, key);
	}
	if (map_get(&w.reported, key >> 1))
		return;
	map_put(&w.reported, key >> 1, 1);
	if (w.reported.size > 200)
		return;
	print_error("mode %d, step %d, %s: ", w.mode, step, text);
	va_start(args, fmt);
	vprint_error(fmt, args);
	va_end(args);
	print_error("\n");
}

static uint64_t word_of(const uint8_t *bytes, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, bytes, n < 8 ? n : 8);
	return v;
}

static bool in_scratch(uint64_t addr, uint64_t size)
{
	return addr >= CPU_SCRATCH && size <= CPU_SCRATCH_BYTES &&
	       addr - CPU_SCRATCH <= CPU_SCRATCH_BYTES - size;
}

/* Does a byte of memory at @p addr, behind step @p i, mean nothing? */
static bool is_lost(int i, uint64_t addr)
{
	const struct seq_step *s = &w.seq.step[i];

	return addr >= s->pointers && addr < s->pointers_end;
}

static bool memory_differs(int i, uint64_t addr, const uint8_t *a, const uint8_t *b,
			   size_t size)
{
	for (size_t k = 0; k < size; k++)
		if (a[k] != b[k] && !is_lost(i, addr + k))
			return true;
	return false;
}

/* ---- the native run ------------------------------------------------------------------ */

static void build(void)
{
	w.seq.size = 0;
	w.seq.n_steps = 0;
	w.seq.seed = &w.seed;
	for (int i = 0; i < w.n_items; i++) {
		const struct item *it = &w.item[i];

		if (!it->is_dropped)
			seq_add_instance(&w.seq, it->form->bytes[it->instance],
					 it->form->len[it->instance], i);
	}
	memset(w.native.code, 0xcc, CPU_CODE_BYTES);
	memcpy(w.native.code, w.seq.bytes, w.seq.size);
}

/* The trap flag that pushf shows is ptrace's. */
static void hide_trap_flag(const struct cpu_state *s)
{
	if (in_scratch(s->regs.rsp, 8))
		w.native.scratch[s->regs.rsp - CPU_SCRATCH + 1] &= ~1;
}

/* Step through the sequence. @return -1, or the item that faulted. */
static int run_native(void)
{
	w.start.regs.rip = CPU_CODE;
	native_set(&w.native, &w.start);
	memcpy(w.native.scratch, w.initial, CPU_SCRATCH_BYTES);
	for (int i = 0; i <= w.seq.n_steps; i++) {
		const struct seq_step *s = &w.seq.step[i];
		int signo;

		native_get(&w.native, &w.state[i]);
		memcpy(w.memory[i], w.native.scratch, CPU_SCRATCH_BYTES);
		if (i == w.seq.n_steps)
			break;
		assert_int_equal(w.state[i].regs.rip, CPU_CODE + s->at);
		signo = native_step(&w.native, s->is_rep);
		w.n_native++;
		if (signo) {
			// What is added for a vector index is missing where the CPU lacks
			// the vectors: the instance it is for would fault as well.
			while (s->item < 0 && signo == SIGILL)
				s++;
			// A hypervisor without hardware's help cannot return to its guest when the
			// stack pointer is no address: the fault is of who made it so.
			if (!cpu_is_canonical(w.state[i].regs.rsp))
				while (s > w.seq.step && (--s)->item < 0)
					;
			if (s->item < 0)
				fail_msg("an added instruction faults");
			w.item[s->item].form->signo = signo;
			return s->item;
		}
		if (s->is_pushf) {
			struct cpu_state now;

			native_get(&w.native, &now);
			hide_trap_flag(&now);
		}
	}
	assert_int_equal(w.state[w.seq.n_steps].regs.rip, CPU_CODE + w.seq.size);
	return -1;
}

/* ---- the machine's run --------------------------------------------------------------- */

static uint64_t on_avail(void *ctx, uint64_t addr, int prot)
{
	(void)ctx, (void)prot;
	if (addr >= CPU_CODE && addr < CPU_CONST + CPU_CONST_BYTES)
		return CPU_CONST + CPU_CONST_BYTES - addr;
	return in_scratch(addr, 1) ? CPU_SCRATCH + CPU_SCRATCH_BYTES - addr : 0;
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time);
static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time);

static uint8_t *on_log_full(void *ctx, size_t bytes)
{
	static const struct log_sink sink = { NULL, on_block, on_slow, NULL };
	struct err *err;

	(void)ctx;
	if (w.mode == DEC_LOG_VALUES)
		err = dec_tracer_feed(w.tracer, w.log_buffer, bytes);
	else
		err = dec_log_reader_feed(&w.reader, &sink, w.log_buffer, bytes);
	if (err && !w.log_err)
		w.log_err = err;
	return w.log_buffer;
}

static void enter_start(void)
{
	struct dec_ctx *c = w.engine.ctx;
	uint64_t in_use;

	for (int r = 0; r < 16; r++)
		c->gpr[r] = *cpu_gpr(&w.start.regs, r);
	c->rip = w.start.regs.rip;
	c->rflags = w.start.regs.eflags;
	c->fs_base = w.start.regs.fs_base;
	c->gs_base = w.start.regs.gs_base;
	c->pkru = cpu_pkru(&w.start);
	memcpy(c->xsave, w.start.xsave,
	       sizeof(c->xsave) < w.start.xsave_bytes ? sizeof(c->xsave) :
							w.start.xsave_bytes);
	memcpy(&in_use, c->xsave + 512, 8);
	in_use &= c->xmask;
	memset(c->xsave + 464, 0, 48);
	memcpy(c->xsave + 512, &in_use, 8);
	memcpy((void *)CPU_SCRATCH, w.initial, CPU_SCRATCH_BYTES);
}

static void compare_final(void)
{
	const uint8_t *scratch = (const uint8_t *)CPU_SCRATCH;
	struct cpu_state *native = &w.state[w.seq.n_steps];
	int end = w.seq.n_steps;

	if (w.engine.now != (uint64_t)end)
		mismatch(end, "counted %lu instructions instead of %d", w.engine.now,
			 end);
	if (w.engine.ctx->rip != native->regs.rip)
		mismatch(end, "stands at %#lx", w.engine.ctx->rip);
	if (w.engine.ctx->fs_base != native->regs.fs_base)
		mismatch(end, "fs base %#lx", w.engine.ctx->fs_base);
	if (w.engine.ctx->gs_base != native->regs.gs_base)
		mismatch(end, "gs base %#lx", w.engine.ctx->gs_base);
	if (cpu_has(native, 9) && w.engine.ctx->pkru != cpu_pkru(native))
		mismatch(end, "protection keys %#lx", w.engine.ctx->pkru);
	for (int r = 0; r < DEC_REG_RIP; r++) {
		uint8_t is[160], want[160];
		size_t n = dec_engine_read_reg(&w.engine, r, is);

		cpu_read_reg(native, r, want);
		if (cpu_reg_differs(r, is, want, n))
			mismatch(end, "register %d is %#lx, natively %#lx", r,
				 word_of(is, n), word_of(want, n));
	}
	for (uint64_t i = 0; i < CPU_SCRATCH_BYTES; i++) {
		if (scratch[i] != w.memory[end][i])
			mismatch(end, "byte %#lx of memory is %#x, natively %#x", i,
				 scratch[i], w.memory[end][i]);
	}
}

/* Run the sequence in @p mode, with a stop at instruction @p middle. */
/* Mute the pages w.muted, or no more. */
static void mute(bool is_on)
{
	if (is_on && w.muted)
		dec_mute_begin(&w.engine);
	for (uint64_t i = 0; i < CPU_SCRATCH_BYTES >> 12; i++)
		if (w.muted >> i & 1 && is_on)
			dec_mute_page(&w.engine, (CPU_SCRATCH >> 12) + i);
		else
			dec_mute_end(&w.engine, (CPU_SCRATCH >> 12) + i);
}

static void run_machine(enum dec_log_mode mode, uint64_t middle)
{
	struct dec_engine *e = &w.engine;
	uint64_t end = CPU_CODE + w.seq.size;
	enum dec_stop stop = DEC_STOP_POSITION;

	w.mode = mode;
	w.steps_seen = 0;
	dec_engine_flush(e);
	dec_engine_set_mode(e, mode, mode == DEC_LOG_NONE ? NULL : w.log_buffer,
			    mode == DEC_LOG_NONE ? 0 : w.log_bytes);
	mute(true);
	enter_start();
	e->now = 0;
	dec_engine_set_break(e, end, true);
	if (middle)
		stop = dec_engine_run(e, middle);
	if (middle && e->now != middle)
		mismatch(w.seq.n_steps, "stopped at %lu instead of %lu", e->now, middle);
	if (stop == DEC_STOP_POSITION && e->ctx->rip != end)
		stop = dec_engine_run(e, INT64_MAX);
	dec_engine_set_break(e, end, false);
	dec_engine_log_flush(e);
	mute(false);
	if (w.log_err)
		fail_msg("%s", w.log_err->message);
	if (stop != DEC_STOP_BREAK && e->ctx->rip != end) {
		mismatch(e->now < SEQ_STEPS ? (int)e->now : 0,
			 "the machine stopped for reason %d, signal %lu at %#lx", stop,
			 e->ctx->fault_signo, e->ctx->fault_addr);
		return;
	}
	compare_final();
}

#endif
