// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The machine's instrumentation against the real CPU: random straight-line sequences of
 * every instruction form that the real programs use, single-stepped natively and run by
 * the engine in each log mode. The recorded uses, definitions and values must equal the
 * native ones, and what the log calls a use must be all that the definitions depend on.
 *
 * Operands are others in each run; FAULTLINE_SEED=N repeats one. FAULTLINE_PASSES (4) says how
 * often each form is tried.
 */

#include <asm/hwcap2.h>
#include <sys/auxv.h>

#include "tests/decode/cpu_extra.h"
#include "tests/decode/cpu_logs.h"

#define PASSES 4

/* ---- are these all uses? ------------------------------------------------------------- */

/* Change every register, flag and byte that step @p i does not use. */
static void perturb(int i, struct cpu_state *s, uint8_t *memory, bool *is_used)
{
	const struct step_refs *refs = &w.refs[i];
	uint64_t in_use = cpu_components(s);
	uint8_t *at;
	size_t n;

	for (int r = 0; r < DEC_REG_FLAGS; r++) {
		for (int p = 0; !(refs->use >> r & 1) && (n = cpu_piece(s, r, p, &at));
		     p++)
			cpu_random_bytes(&w.seed, at, n);
	}
	if (~refs->use >> DEC_REG_VEC & 0xffffffffff) // unless it uses all of them
		memcpy(s->xsave + 512, &in_use, 8);
	if (!(refs->use >> DEC_REG_FLAGS & 1))
		s->regs.eflags ^= cpu_random(&w.seed) >> 20 & CPU_FLAGS;
	if (!(refs->use >> DEC_REG_MXCSR & 1))
		s->xsave[25] ^= cpu_random(&w.seed) >> 20 & 0x60;
	// Not every virtual CPU returns to a stack that is nowhere (see run_native()).
	if (!(refs->use >> CAP_RSP & 1) && !cpu_is_canonical(s->regs.rsp))
		s->regs.rsp &= CPU_HIGHEST;
	memset(is_used, 0, CPU_SCRATCH_BYTES);
	for (int m = 0; m < refs->n_mem; m++) {
		if (!refs->mem[m].is_def &&
		    in_scratch(refs->mem[m].addr, refs->mem[m].size))
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
		if (refs->mem[m].is_def &&
		    in_scratch(refs->mem[m].addr, refs->mem[m].size))
			memset(mask + (refs->mem[m].addr - CPU_SCRATCH), 1,
			       refs->mem[m].size);
	}
	for (uint64_t b = 0; b < CPU_SCRATCH_BYTES; b++) {
		if (w.native.scratch[b] != (mask[b] ? w.memory[i + 1][b] : memory[b]) &&
		    !is_lost(i, CPU_SCRATCH + b))
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
	*cpu_gpr(&w.start.regs, CAP_RSP) = CPU_STACK;
}

/* Would the sequence run on a CPU that @p lacks these? */
static bool runs_without(uint32_t lacks)
{
	const uint64_t beyond = ~0ull << 16 & ((1ull << (DEC_REG_FLAGS - DEC_GPRS)) - 1);

	for (int i = 0; i < w.seq.n_steps; i++) {
		const struct seq_step *s = &w.seq.step[i];
		struct dec_insn insn;

		dec_insn_decode(w.seq.bytes + s->at, s->len, CPU_CODE + s->at, &insn);
		if (!strcmp(dec_insn_isa_name(insn.isa), "RDWRFSGS") ||
		    (lacks & CTX_LACKS_XSAVE &&
		     (insn.is_vex || insn.vec_bytes[0] > 16 || insn.vec_bytes[1] > 16 ||
		      (insn.other_read | insn.other_written) & beyond)))
			return false;
	}
	return true;
}

static void run_logs(void)
{
	run_values(cpu_random(&w.seed) >> 62 ? 0 : cpu_random(&w.seed) % w.seq.n_steps);
	run_log(DEC_LOG_NONE, 0);
	run_log(DEC_LOG_FLOW, cpu_random(&w.seed) % 8 ? 0 : w.seq.n_steps / 2);
	run_log(DEC_LOG_CALLS, 0);
	run_log(DEC_LOG_STORES, 0);
	w.muted = cpu_random(&w.seed) % 4 ? UINT32_MAX : cpu_random(&w.seed);
	run_log(DEC_LOG_STORES, 0);
	w.muted = 0;
	run_log(DEC_LOG_ALL_STORES, 0);
	run_log(DEC_LOG_ADDRESSES, 0);
}

/* The doors that such CPUs need are there on all. @return whether the sequence would run on one. */
static bool run_without(uint32_t lacks, void (*run)(void))
{
	const uint32_t known = w.engine.ctx->lacks;

	if (!runs_without(lacks))
		return false;
	w.engine.ctx->lacks |= lacks;
	run();
	w.engine.ctx->lacks = known;
	return true;
}

static void run_plain(void)
{
	run_log(DEC_LOG_NONE, 0);
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
	run_logs(); // first: the context has our own fs base from then on
	w.n_without_fs += run_without(CTX_LACKS_FSGSBASE | CTX_HAS_NO_FS, run_logs);
	w.n_old += run_without(CTX_LACKS_XSAVE | CTX_LACKS_FSGSBASE | CTX_HAS_NO_FS,
			       run_plain);
	w.mode = DEC_LOG_VALUES;
	for (int i = 0; i < w.seq.n_steps; i++) {
		if (w.seq.step[i].item >= 0)
			check_step(i);
	}
}

/* Is it one that the kernel thinks cannot be executed? Some hypervisors let it, and the kernel goes on from what it set
 * itself. */
static bool is_unknown(struct form *f)
{
	bool is_base = f->mnemonic == ZYDIS_MNEMONIC_RDFSBASE ||
		       f->mnemonic == ZYDIS_MNEMONIC_RDGSBASE ||
		       f->mnemonic == ZYDIS_MNEMONIC_WRFSBASE ||
		       f->mnemonic == ZYDIS_MNEMONIC_WRGSBASE;

	if (!is_base || getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE)
		return false;
	f->signo = SIGILL;
	return true;
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
			if ((pass > 1 && !f->is_run) || is_unknown(f))
				continue;
			w.item[w.n_items++] =
				(struct item){ f, (pass + f->n_seen) % f->n_instances,
					       false };
		}
		if (w.n_items)
			run_round();
	}
	free(order);
}

/* ---- the test ------------------------------------------------------------------------- */

static void collect(void)
{
	static const char *const programs[] = { "gzip", "ls",	   "sort",
						"bc",	"sqlite3", "python3" };
	struct map seen = {};
	bool has_program = false;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/usr/bin/%s", programs[i]);
		if (!forms_add_file(&w.forms, path)) {
			print_message("%s is not there: its forms are not tested\n",
				      path);
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
	(void)state;
	w.seed = unit_seed();
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
		      "always fault\n",
		      n_run, n_slow, n_ill, w.forms.all.size - n_run - n_ill);
	assert_true(n_run * 100 >= w.forms.all.size * 95 || n_ill);
}

static void test_forms(void **state)
{
	static const struct dec_world world = {
		.syscall = on_exit_to_c,
		.special = on_special,
		.fault = on_exit_to_c,
		.stop_at = on_exit_to_c,
		.avail = on_avail,
		.log_full = on_log_full,
		.complain = on_complaint,
	};
	const char *passes = getenv("FAULTLINE_PASSES");
	int n = passes ? atoi(passes) : PASSES;

	(void)state;
	// Here, not in the setup: cmocka takes SIGSEGV when a test begins.
	assert_null(dec_engine_init(&w.engine, &world));
	for (int pass = 0; pass < n; pass++)
		run_pass(pass);
	tell_untested();
	print_message("%lu rounds, %lu instances (%lu stepped in C), %lu dropped, %lu "
		      "native steps, %lu with all else changed\n",
		      w.n_rounds, w.n_run, w.n_slow, w.n_dropped, w.n_native,
		      w.n_perturbed);
	print_message("%lu rounds without FSGSBASE, %lu without it and XSAVE, too\n",
		      w.n_without_fs, w.n_old);
	assert_true(w.n_without_fs && (w.n_old || w.engine.ctx->lacks));
	assert_true(w.n_muted || !w.engine.has_rorx);
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
