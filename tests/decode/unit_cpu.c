// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The machine's instrumentation against the real CPU: random straight-line sequences of
 * every instruction form that the real programs use, single-stepped natively and run by
 * the engine in each log mode. The recorded uses, definitions and values must equal the
 * native ones, and what the log calls a use must be all that the definitions depend on.
 *
 * FAULTLINE_SEED repeats a run; FAULTLINE_PASSES (16) says how often each form is tried.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "decode/dec_engine.h"
#include "decode/dec_log.h"
#include "decode/dec_trace.h"
#include "tests/decode/cpu_build.h"
#include "tests/decode/cpu_extra.h"
#include "tests/decode/cpu_state.h"

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
	struct cpu_state state[SEQ_STEPS + 1]; ///< native, before each step and at the end
	uint8_t (*memory)[CPU_SCRATCH_BYTES];  ///< SEQ_STEPS + 1, likewise
	struct step_refs refs[SEQ_STEPS];
	struct dec_tracer *tracer;
	struct log_reader reader;
	int steps_seen;
	enum dec_log_mode mode;

	uint64_t n_rounds, n_run, n_slow, n_dropped, n_native, n_perturbed;
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
							  d.operand_count_visible, to, size,
							  CPU_CODE + s->at, NULL)))
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
		err = log_reader_feed(&w.reader, &sink, w.log_buffer, bytes);
	if (err && !w.log_err)
		w.log_err = err;
	return w.log_buffer;
}

static enum dec_verdict on_exit_to_c(void *ctx, struct dec_engine *e)
{
	(void)ctx, (void)e;
	return DEC_DIVERGED;
}

static enum dec_verdict on_special(void *ctx, struct dec_engine *e,
				   const struct dec_insn *insn)
{
	(void)insn;
	return on_exit_to_c(ctx, e);
}

static void on_complaint(void *ctx, struct dec_engine *e, const char *text)
{
	(void)ctx;
	print_error("the engine complains at %#lx: %s\n", (long)e->ctx->rip, text);
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
	memcpy(c->xsave, w.start.xsave, sizeof(c->xsave) < w.start.xsave_bytes ?
						sizeof(c->xsave) : w.start.xsave_bytes);
	memcpy(&in_use, c->xsave + 512, 8);
	in_use &= c->xmask;
	memset(c->xsave + 464, 0, 48);
	memcpy(c->xsave + 512, &in_use, 8);
	memcpy((void *)CPU_SCRATCH, w.initial, CPU_SCRATCH_BYTES);
	cpu_set_pkru(&w.start);
}

static void compare_final(void)
{
	const uint8_t *scratch = (const uint8_t *)CPU_SCRATCH;
	struct cpu_state *native = &w.state[w.seq.n_steps];
	int end = w.seq.n_steps;

	if (w.engine.now != (uint64_t)end)
		mismatch(end, "counted %lu instructions instead of %d", w.engine.now, end);
	if (w.engine.ctx->rip != native->regs.rip)
		mismatch(end, "stands at %#lx", w.engine.ctx->rip);
	if (w.engine.ctx->fs_base != native->regs.fs_base)
		mismatch(end, "fs base %#lx", w.engine.ctx->fs_base);
	for (int r = 0; r < DEC_REG_RIP; r++) {
		uint8_t is[160], want[160];
		size_t n = engine_read_reg(&w.engine, r, is);

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
static void run_machine(enum dec_log_mode mode, uint64_t middle)
{
	struct dec_engine *e = &w.engine;
	uint64_t end = CPU_CODE + w.seq.size;
	enum dec_stop stop = DEC_STOP_POSITION;

	w.mode = mode;
	w.steps_seen = 0;
	engine_flush(e);
	assert_null(engine_set_mode(e, mode, mode == DEC_LOG_NONE ? NULL : w.log_buffer,
				    mode == DEC_LOG_NONE ? 0 : w.log_bytes));
	enter_start();
	e->now = 0;
	engine_set_stop(e, end, 2, true);
	if (middle)
		stop = engine_run(e, middle);
	if (middle && e->now != middle)
		mismatch(w.seq.n_steps, "stopped at %lu instead of %lu", e->now, middle);
	if (stop == DEC_STOP_POSITION && e->ctx->rip != end)
		stop = engine_run(e, INT64_MAX);
	engine_set_stop(e, end, 2, false);
	engine_log_flush(e);
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

/* ---- full values: each use and definition -------------------------------------------- */

static void check_memory_ref(int i, const struct dec_ref *ref)
{
	struct step_refs *refs = &w.refs[i];
	const uint8_t *native;

	if (ref->addr >= CPU_CONST && ref->addr + ref->size <= CPU_CONST + CPU_CONST_BYTES)
		native = w.native.code + (ref->addr - CPU_CODE);
	else if (in_scratch(ref->addr, ref->size))
		native = w.memory[i + ref->is_def] + (ref->addr - CPU_SCRATCH);
	else {
		mismatch(i, "a %s of %u bytes at %#lx", ref->is_def ? "definition" : "use",
			 ref->size, ref->addr);
		return;
	}
	if (!ref->has_value)
		mismatch(i, "a memory reference without a value");
	else if (memcmp(native, ref->value, ref->size))
		mismatch(i, "%s of %u bytes at %#lx is %#lx, natively %#lx",
			 ref->is_def ? "definition" : "use", ref->size, ref->addr,
			 word_of(ref->value, ref->size), word_of(native, ref->size));
	assert_true(refs->n_mem < STEP_MEMS);
	refs->mem[refs->n_mem].addr = ref->addr;
	refs->mem[refs->n_mem].size = ref->size;
	refs->mem[refs->n_mem++].is_def = ref->is_def;
}

static void check_reg_ref(int i, const struct dec_ref *ref)
{
	uint8_t native[160];
	size_t n = cpu_read_reg(&w.state[i + ref->is_def], ref->reg, native);

	*(ref->is_def ? &w.refs[i].def : &w.refs[i].use) |= 1ull << ref->reg;
	if (!ref->has_value) {
		if (ref->reg < DEC_REG_FLAGS)
			mismatch(i, "register %d without a value", ref->reg);
		return;
	}
	if (ref->size != n)
		mismatch(i, "register %d has %u bytes", ref->reg, ref->size);
	else if (cpu_reg_differs(ref->reg, ref->value, native, n))
		mismatch(i, "%s of register %d is %#lx.. natively %#lx..",
			 ref->is_def ? "definition" : "use", ref->reg,
			 word_of(ref->value, n), word_of(native, n));
}

/* Everything that changed natively must be a definition. */
static void check_covered(int i)
{
	static bool covered[CPU_SCRATCH_BYTES];
	const struct step_refs *refs = &w.refs[i];

	for (int r = 0; r < DEC_REG_RIP; r++) {
		uint8_t before[160], after[160];
		size_t n = cpu_read_reg(&w.state[i], r, before);

		cpu_read_reg(&w.state[i + 1], r, after);
		if (!(refs->def >> r & 1) && cpu_reg_differs(r, before, after, n))
			mismatch(i, "register %d changes, undefined", r);
	}
	memset(covered, 0, sizeof(covered));
	for (int m = 0; m < refs->n_mem; m++) {
		if (refs->mem[m].is_def && in_scratch(refs->mem[m].addr, refs->mem[m].size))
			memset(covered + (refs->mem[m].addr - CPU_SCRATCH), 1,
			       refs->mem[m].size);
	}
	for (uint64_t at = 0; at < CPU_SCRATCH_BYTES; at++) {
		if (!covered[at] && w.memory[i][at] != w.memory[i + 1][at])
			mismatch(i, "memory at %#lx changes, undefined", CPU_SCRATCH + at);
	}
}

static struct err *on_step(void *ctx, const struct dec_step *step)
{
	int i = step->position;

	(void)ctx;
	if (i != w.steps_seen || i >= w.seq.n_steps || !step->insn ||
	    step->insn->rip != w.state[i].regs.rip) {
		mismatch(w.seq.n_steps, "step %d shown as %d", w.steps_seen, i);
		return NULL;
	}
	w.steps_seen++;
	w.refs[i] = (struct step_refs){};
	for (size_t r = 0; r < step->n_refs; r++) {
		if (step->refs[r].is_mem)
			check_memory_ref(i, &step->refs[r]);
		else
			check_reg_ref(i, &step->refs[r]);
	}
	check_covered(i);
	return NULL;
}

static void run_values(uint64_t middle)
{
	uint8_t value[160];

	assert_null(dec_tracer_create(0, on_step, NULL, &w.tracer));
	dec_tracer_set_fs(w.tracer, w.start.regs.fs_base);
	for (int r = 0; r < DEC_REG_FLAGS; r++) {
		size_t n = cpu_read_reg(&w.state[0], r, value);

		dec_tracer_set(w.tracer, r, value, n);
	}
	run_machine(DEC_LOG_VALUES, middle);
	if (w.steps_seen != w.seq.n_steps)
		mismatch(w.seq.n_steps, "%d steps shown", w.steps_seen);
	dec_tracer_destroy(w.tracer);
	w.tracer = NULL;
}

/* ---- the smaller logs ---------------------------------------------------------------- */

/* Is [addr, addr+size) among the references of step @p i? */
static void check_known(int i, uint64_t addr, uint64_t size, bool is_def)
{
	for (int m = 0; m < w.refs[i].n_mem; m++) {
		if (w.refs[i].mem[m].addr == addr && w.refs[i].mem[m].size == size &&
		    w.refs[i].mem[m].is_def == is_def)
			return;
	}
	mismatch(i, "%lu bytes at %#lx are no %s of the full log", size, addr,
		 is_def ? "definition" : "use");
}

static void check_store(int i, uint64_t addr, uint64_t size, const uint8_t *value)
{
	if (!in_scratch(addr, size))
		mismatch(i, "a store of %lu bytes at %#lx", size, addr);
	else if (memcmp(value, w.memory[i + 1] + (addr - CPU_SCRATCH), size))
		mismatch(i, "the store of %lu bytes at %#lx is %#lx", size, addr,
			 word_of(value, size));
}

/* Changed memory needs a store, unless it lies on the stack. */
static void check_all_stored(int i, const struct dec_insn *insn, uint64_t addr[],
			     uint64_t size[], int n)
{
	for (int m = 0; m < insn->n_mem; m++) {
		if (insn->mem[m].is_write && insn->mem[m].base == RSP)
			return;
	}
	for (uint64_t at = 0; at < CPU_SCRATCH_BYTES; at++) {
		bool is_stored = w.memory[i][at] == w.memory[i + 1][at];

		for (int k = 0; k < n && !is_stored; k++)
			is_stored = CPU_SCRATCH + at - addr[k] < size[k];
		if (!is_stored)
			mismatch(i, "memory at %#lx changes, not stored", CPU_SCRATCH + at);
	}
}

static void check_block_insn(const struct log_block *b, uint32_t k, const uint8_t *rec,
			     int i)
{
	const struct dec_insn *insn = &b->insn[k];
	struct dec_known known = b->known[k];
	const uint8_t *at = rec + b->slot_at[k];
	uint64_t addr[DEC_SLOTS], size[DEC_SLOTS];
	struct dec_slot slots[DEC_SLOTS];
	int n = dec_insn_slots(insn, w.mode, &known, slots), n_stored = 0;

	for (int m = 0; m < insn->n_mem && w.mode == DEC_LOG_ADDRESSES; m++) {
		uint64_t a = log_address(b, k, m, rec);

		if (insn->mem[m].is_fs)
			a += w.state[i].regs.fs_base;
		if (insn->mem[m].is_read)
			check_known(i, a, insn->mem[m].size, false);
		if (insn->mem[m].is_write)
			check_known(i, a, insn->mem[m].size, true);
	}
	for (int s = 0; s < n; at += dec_slot_size(&slots[s++])) {
		if (slots[s].kind != DEC_SLOT_STORE)
			continue;
		addr[n_stored] = log_address(b, k, slots[s].which, rec);
		if (insn->mem[slots[s].which].is_fs)
			addr[n_stored] += w.state[i].regs.fs_base;
		size[n_stored] = slots[s].bytes;
		check_store(i, addr[n_stored], slots[s].bytes, at);
		n_stored++;
	}
	if (w.mode == DEC_LOG_STORES)
		check_all_stored(i, insn, addr, size, n_stored);
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	(void)ctx;
	for (uint32_t k = 0; k < n_ran; k++) {
		int i = time + k;

		if (i >= w.seq.n_steps || b->insn[k].rip != w.state[i].regs.rip) {
			mismatch(w.seq.n_steps, "step %d is at %#lx", i, b->insn[k].rip);
			return NULL;
		}
		w.steps_seen++;
		if (w.mode != DEC_LOG_FLOW)
			check_block_insn(b, k, rec, i);
	}
	return NULL;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	const uint8_t *at = (const uint8_t *)(rec + 1);
	uint64_t addr[STEP_MEMS], size[STEP_MEMS];
	int i = time, n = 0;

	(void)ctx;
	if (i >= w.seq.n_steps || rec->rip != w.state[i].regs.rip) {
		mismatch(w.seq.n_steps, "step %d is at %#lx", i, rec->rip);
		return NULL;
	}
	w.steps_seen++;
	for (int r = 0; r < rec->n_refs; r++) {
		const struct dec_rec_ref *ref = (const struct dec_rec_ref *)at;

		at += sizeof(*ref);
		if (ref->is_mem && w.mode != DEC_LOG_FLOW)
			check_known(i, ref->addr, ref->bytes, ref->is_def);
		if (ref->is_mem && ref->is_def && !ref->is_far && w.mode != DEC_LOG_FLOW) {
			addr[n] = ref->addr;
			size[n++] = ref->bytes;
			check_store(i, ref->addr, ref->bytes, at);
		}
		if (!ref->is_far)
			at += (ref->bytes + 7) & ~7u;
	}
	if (w.mode == DEC_LOG_STORES)
		check_all_stored(i, insn, addr, size, n);
	return NULL;
}

static void run_log(enum dec_log_mode mode, uint64_t middle)
{
	log_reader_init(&w.reader, mode, 0);
	run_machine(mode, middle);
	if (mode != DEC_LOG_NONE && w.steps_seen != w.seq.n_steps)
		mismatch(w.seq.n_steps, "%d steps in the log", w.steps_seen);
	log_reader_deinit(&w.reader);
}

/* ---- are these all uses? ------------------------------------------------------------- */

/* Change every register, flag and byte that step @p i does not use. */
static void perturb(int i, struct cpu_state *s, uint8_t *memory, bool *is_used)
{
	const struct step_refs *refs = &w.refs[i];
	uint64_t in_use = cpu_components(s);
	uint8_t *at;
	size_t n;

	for (int r = 0; r < DEC_REG_FLAGS; r++) {
		for (int p = 0; !(refs->use >> r & 1) && (n = cpu_piece(s, r, p, &at)); p++)
			cpu_random_bytes(&w.seed, at, n);
	}
	if (~refs->use >> DEC_REG_VEC & 0xffffffffff) // unless it uses all of them
		memcpy(s->xsave + 512, &in_use, 8);
	if (!(refs->use >> DEC_REG_FLAGS & 1))
		s->regs.eflags ^= cpu_random(&w.seed) >> 20 & CPU_FLAGS;
	if (!(refs->use >> DEC_REG_MXCSR & 1))
		s->xsave[25] ^= cpu_random(&w.seed) >> 20 & 0x60;
	memset(is_used, 0, CPU_SCRATCH_BYTES);
	for (int m = 0; m < refs->n_mem; m++) {
		if (!refs->mem[m].is_def && in_scratch(refs->mem[m].addr, refs->mem[m].size))
			memset(is_used + (refs->mem[m].addr - CPU_SCRATCH), 1,
			       refs->mem[m].size);
	}
	for (uint64_t b = 0; b < CPU_SCRATCH_BYTES; b++)
		memory[b] ^= is_used[b] ? 0 : 0x5a;
}

/* Flags that the CPU leaves undefined may depend on anything, and the direction is a flag
 * of its own. */
static void forget_flags(int i, uint8_t *a, uint8_t *b)
{
	const struct seq_step *s = &w.seq.step[i];
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;
	uint32_t undefined = 0x400;

	if (forms_decode(w.seq.bytes + s->at, s->len, &d, ops) && d.cpu_flags)
		undefined |= d.cpu_flags->undefined;
	for (int k = 0; k < 4; k++) {
		a[k] &= ~(undefined >> 8 * k);
		b[k] &= ~(undefined >> 8 * k);
	}
}

/* The definitions of step @p i depend on its uses alone: with all else changed, the CPU
 * defines the same values and changes nothing more. Vector registers are compared as far
 * as the instruction's operands reach. */
static void check_uses(int i, const struct dec_insn *insn)
{
	static uint8_t memory[CPU_SCRATCH_BYTES];
	static bool mask[CPU_SCRATCH_BYTES];
	static struct cpu_state s, after;
	const struct step_refs *refs = &w.refs[i];

	s = w.state[i];
	memcpy(memory, w.memory[i], sizeof(memory));
	perturb(i, &s, memory, mask);
	native_set(&w.native, &s);
	memcpy(w.native.scratch, memory, sizeof(memory));
	if (native_step(&w.native, w.seq.step[i].is_rep)) {
		mismatch(i, "it faults when what it does not use is changed");
		return;
	}
	w.n_perturbed++;
	native_get(&w.native, &after);
	if (w.seq.step[i].is_pushf)
		hide_trap_flag(&after);
	for (int r = 0; r <= DEC_REG_FLAGS; r++) {
		uint8_t is[160], want[160];
		size_t n = cpu_read_reg(&after, r, is);

		cpu_read_reg(refs->def >> r & 1 ? &w.state[i + 1] : &s, r, want);
		if (r >= DEC_REG_VEC && r < DEC_REG_K && !insn->is_vex)
			n = 16;
		if (r == DEC_REG_FLAGS)
			forget_flags(i, is, want);
		if (cpu_reg_differs(r, is, want, n))
			mismatch(i, "register %d %s on what is not used", r,
				 refs->def >> r & 1 ? "depends" : "changes depending");
	}
	memset(mask, 0, sizeof(mask));
	for (int m = 0; m < refs->n_mem; m++) {
		if (refs->mem[m].is_def && in_scratch(refs->mem[m].addr, refs->mem[m].size))
			memset(mask + (refs->mem[m].addr - CPU_SCRATCH), 1,
			       refs->mem[m].size);
	}
	for (uint64_t b = 0; b < CPU_SCRATCH_BYTES; b++) {
		if (w.native.scratch[b] != (mask[b] ? w.memory[i + 1][b] : memory[b]))
			mismatch(i, "memory at %#lx depends on what is not used",
				 CPU_SCRATCH + b);
	}
}

static void check_step(int i)
{
	const struct seq_step *s = &w.seq.step[i];
	struct item *it = &w.item[s->item];
	struct dec_insn insn;

	dec_insn_decode(w.seq.bytes + s->at, s->len, CPU_CODE + s->at, &insn);
	it->form->is_run = true;
	it->form->is_slow = insn.is_slow_value;
	w.n_run++;
	w.n_slow += insn.is_slow_value;
	check_uses(i, &insn);
}

/* ---- rounds ---------------------------------------------------------------------------- */

static void prepare(void)
{
	uint64_t valid;

	cpu_random_state(&w.seed, &w.native.start, &w.start);
	cpu_random_bytes(&w.seed, w.initial, sizeof(w.initial));
	cpu_put_images(&w.seed, &w.native.start, w.initial);
	for (int r = 0; r < 16; r++) {
		valid = cpu_random_word(&w.seed);
		*cpu_gpr(&w.start.regs, r) = valid;
	}
	*cpu_gpr(&w.start.regs, RSP) = CPU_STACK;
}

static void run_round(void)
{
	int bad;

	prepare();
	while (build(), (bad = run_native()) >= 0) {
		w.item[bad].is_dropped = true;
		w.n_dropped++;
	}
	w.n_rounds++;
	run_values(cpu_random(&w.seed) >> 62 ? 0 : cpu_random(&w.seed) % w.seq.n_steps);
	run_log(DEC_LOG_NONE, 0);
	run_log(DEC_LOG_FLOW, cpu_random(&w.seed) % 8 ? 0 : w.seq.n_steps / 2);
	run_log(DEC_LOG_STORES, 0);
	run_log(DEC_LOG_ADDRESSES, 0);
	w.mode = DEC_LOG_VALUES;
	for (int i = 0; i < w.seq.n_steps; i++) {
		if (w.seq.step[i].item >= 0)
			check_step(i);
	}
}

/* A pass: one instance of every form, in random order, ITEMS a round. */
static void run_pass(int pass)
{
	size_t n = w.forms.all.size;
	uint32_t *order = calloc(n, sizeof(*order));

	assert_non_null(order);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t j = cpu_random(&w.seed) % i;
		uint32_t swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (size_t i = 0; i < n; i += ITEMS) {
		w.n_items = 0;
		for (size_t j = i; j < n && j < i + ITEMS; j++) {
			struct form *f = &w.forms.all.data[order[j]];

			// One that this CPU lacks is not tried again and again.
			if (pass > 1 && !f->is_run)
				continue;
			w.item[w.n_items++] = (struct item){
				f, (pass + f->n_seen) % f->n_instances, false
			};
		}
		if (w.n_items)
			run_round();
	}
	free(order);
}

/* ---- the test ------------------------------------------------------------------------- */

static void collect(void)
{
	static const char *const programs[] = { "gzip", "ls", "sort", "bc", "sqlite3",
						"python3" };
	struct map seen = {};
	bool has_program = false;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/usr/bin/%s", programs[i]);
		if (!forms_add_file(&w.forms, path)) {
			print_message("%s is not there: its forms are not tested\n", path);
			continue;
		}
		has_program = true;
		forms_add_libraries(&w.forms, path, &seen);
	}
	map_deinit(&seen);
	assert_true(has_program);
	assert_true(w.forms.n_files >= 2); // it and its libc
	print_message("%zu forms in %lu instructions of %lu files", w.forms.all.size,
		      w.forms.n_insns, w.forms.n_files);
	forms_sweep(&w.forms, cpu_extra_begin, cpu_extra_end - cpu_extra_begin);
	print_message(", %zu with those that the machine treats specially\n",
		      w.forms.all.size);
}

static void put_constants(void)
{
	int8_t *at = (int8_t *)w.native.code + CPU_CODE_BYTES;

	// Small indices: pairs of 64 bytes, as double words and as quad words.
	for (int set = 0; set < 8; set++) {
		for (int i = 0; i < 64; i += set & 1 ? 8 : 4) {
			int64_t v = (int64_t)(cpu_random(&w.seed) % 16) - 8;

			memcpy(at + 64 * set + i, &v, set & 1 ? 8 : 4);
		}
	}
}

static int setup(void **state)
{
	const char *seed = getenv("FAULTLINE_SEED");

	(void)state;
	w.seed = seed ? strtoull(seed, NULL, 0) : (uint64_t)getpid() << 32 ^ 0x9e3779b9;
	w.seed |= !w.seed;
	print_message("FAULTLINE_SEED=%#lx\n", w.seed);
	w.forms.seed = cpu_random(&w.seed);
	collect();
	native_init(&w.native);
	put_constants();
	w.memory = calloc(SEQ_STEPS + 1, sizeof(*w.memory));
	w.log_bytes = 4 << 20;
	w.log_buffer = mmap(NULL, w.log_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!w.memory || w.log_buffer == MAP_FAILED)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	native_deinit(&w.native);
	munmap(w.log_buffer, w.log_bytes);
	forms_deinit(&w.forms);
	map_deinit(&w.reported);
	free(w.memory);
	return 0;
}

/* Forms that never ran without a fault: named, by mnemonic. */
static void tell_untested(void)
{
	uint64_t n_run = 0, n_slow = 0, n_ill = 0;
	struct map told = {};

	for (size_t i = 0; i < w.forms.all.size; i++) {
		const struct form *f = &w.forms.all.data[i];

		n_run += f->is_run;
		n_slow += f->is_run && f->is_slow;
		n_ill += !f->is_run && f->signo == SIGILL;
		if (f->is_run || map_get(&told, f->mnemonic))
			continue;
		map_put(&told, f->mnemonic, 1);
		print_message("not run: a form of %s, signal %d\n",
			      ZydisMnemonicGetString(f->mnemonic), f->signo);
	}
	map_deinit(&told);
	print_message("%lu forms run, %lu of them stepped in C; %lu this CPU lacks, %lu "
		      "always fault\n", n_run, n_slow, n_ill,
		      w.forms.all.size - n_run - n_ill);
	assert_true(n_run * 100 >= w.forms.all.size * 95 || n_ill);
}

static void test_forms(void **state)
{
	static const struct dec_world world = {
		.syscall = on_exit_to_c, .special = on_special, .fault = on_exit_to_c,
		.stop_at = on_exit_to_c, .avail = on_avail, .log_full = on_log_full,
		.complain = on_complaint,
	};
	const char *passes = getenv("FAULTLINE_PASSES");
	int n = passes ? atoi(passes) : 16;

	(void)state;
	// Here, not in the setup: cmocka takes SIGSEGV when a test begins.
	assert_null(engine_init(&w.engine, &world));
	for (int pass = 0; pass < n; pass++)
		run_pass(pass);
	tell_untested();
	print_message("%lu rounds, %lu instances (%lu stepped in C), %lu dropped, %lu "
		      "native steps, %lu with all else changed\n", w.n_rounds, w.n_run,
		      w.n_slow, w.n_dropped, w.n_native, w.n_perturbed);
	if (w.n_mismatches)
		fail_msg("%lu mismatches of %zu kinds", w.n_mismatches, w.reported.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
