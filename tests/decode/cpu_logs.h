// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * unit_cpu.c's reading of the logs: each use, definition, address and store that a log
 * tells of a step, against the oracle's states before and behind that step.
 */
#ifndef TESTS_CPU_LOGS_H
#define TESTS_CPU_LOGS_H

#include "tests/decode/cpu_run.h"

/* ---- full values: each use and definition -------------------------------------------- */

static void check_memory_ref(int i, const struct dec_ref *ref)
{
	struct step_refs *refs = &w.refs[i];
	const uint8_t *native;

	if (ref->addr >= CPU_CONST &&
	    ref->addr + ref->size <= CPU_CONST + CPU_CONST_BYTES)
		native = w.native.code + (ref->addr - CPU_CODE);
	else if (in_scratch(ref->addr, ref->size))
		native = w.memory[i + ref->is_def] + (ref->addr - CPU_SCRATCH);
	else {
		mismatch(i, "a %s of %u bytes at %#lx",
			 ref->is_def ? "definition" : "use", ref->size, ref->addr);
		return;
	}
	if (!ref->has_value)
		mismatch(i, "a memory reference without a value");
	else if (memory_differs(i, ref->addr, native, ref->value, ref->size))
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
		if (refs->mem[m].is_def &&
		    in_scratch(refs->mem[m].addr, refs->mem[m].size))
			memset(covered + (refs->mem[m].addr - CPU_SCRATCH), 1,
			       refs->mem[m].size);
	}
	for (uint64_t at = 0; at < CPU_SCRATCH_BYTES; at++) {
		if (!covered[at] && w.memory[i][at] != w.memory[i + 1][at])
			mismatch(i, "memory at %#lx changes, undefined",
				 CPU_SCRATCH + at);
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
	else if (memory_differs(i, addr, value, w.memory[i + 1] + (addr - CPU_SCRATCH),
				size))
		mismatch(i, "the store of %lu bytes at %#lx is %#lx", size, addr,
			 word_of(value, size));
}

/* Changed memory needs a store, unless it lies on the stack and that is not logged. */
static void check_all_stored(int i, const struct dec_insn *insn, uint64_t addr[],
			     uint64_t size[], int n)
{
	for (int m = 0; m < insn->n_mem; m++) {
		if (insn->mem[m].is_write && insn->mem[m].base == CAP_RSP &&
		    (w.mode == DEC_LOG_STORES || insn->flow != DEC_FLOW_NEXT))
			return;
	}
	for (uint64_t at = 0; at < CPU_SCRATCH_BYTES; at++) {
		bool is_stored = w.memory[i][at] == w.memory[i + 1][at];

		for (int k = 0; k < n && !is_stored; k++)
			is_stored = CPU_SCRATCH + at - addr[k] < size[k];
		if (!is_stored)
			mismatch(i, "memory at %#lx changes, not stored",
				 CPU_SCRATCH + at);
	}
}

static void check_block_insn(const struct log_block *b, uint32_t k, const uint8_t *rec,
			     int i)
{
	const struct dec_insn *insn = &b->insn[k];
	struct dec_known known = b->known[k];
	const uint8_t *at = rec + b->slot_at[k];
	uint64_t addr[DEC_SLOTS], size[DEC_SLOTS], start;
	struct dec_slot slots[DEC_SLOTS];
	int n = dec_insn_slots(insn, w.mode, &known, slots), n_stored = 0, n_runs;
	struct log_run runs[LOG_RUNS];

	for (int m = 0; m < insn->n_mem && w.mode == DEC_LOG_ADDRESSES; m++) {
		uint64_t a = dec_log_address(b, k, m, rec);

		if (insn->mem[m].is_fs)
			a += w.state[i].regs.fs_base;
		n_runs = dec_log_accesses(b, k, m, rec, runs);
		for (int run = 0; run < n_runs; run++) {
			if (insn->mem[m].is_read)
				check_known(i, a + runs[run].offset, runs[run].size,
					    false);
			if (insn->mem[m].is_write)
				check_known(i, a + runs[run].offset, runs[run].size,
					    true);
		}
	}
	for (int s = 0; s < n; at += dec_slot_size(&slots[s++])) {
		if (slots[s].kind != DEC_SLOT_STORE)
			continue;
		start = dec_log_address(b, k, slots[s].which, rec);
		if (insn->mem[slots[s].which].is_fs)
			start += w.state[i].regs.fs_base;
		n_runs = dec_log_accesses(b, k, slots[s].which, rec, runs);
		for (int run = 0; run < n_runs; run++, n_stored++) {
			addr[n_stored] = start + runs[run].offset;
			size[n_stored] = runs[run].size;
			check_store(i, addr[n_stored], size[n_stored],
				    at + runs[run].offset);
		}
	}
	if (w.mode == DEC_LOG_STORES || w.mode == DEC_LOG_ALL_STORES)
		check_all_stored(i, insn, addr, size, n_stored);
}

/* Does step @p i store in muted pages alone, or what begins in one? */
static bool is_muted(int i, const struct dec_insn *insn)
{
	if (insn->flow != DEC_FLOW_NEXT && insn->flow != DEC_FLOW_JCC &&
	    insn->flow != DEC_FLOW_JRCX)
		return false;
	for (uint64_t at = 0; at < CPU_SCRATCH_BYTES; at++)
		if (w.memory[i][at] != w.memory[i + 1][at] &&
		    !(w.muted >> (at >> 12) & 1) &&
		    !(at >= 63 && w.muted >> ((at - 63) >> 12) & 1))
			return false;
	return true;
}

/* The log goes on at step @p to: what was not in it had nothing for it. */
static void check_quiet(int to)
{
	for (; w.steps_seen < to && w.steps_seen < w.seq.n_steps; w.steps_seen++) {
		int i = w.steps_seen;
		uint64_t rip = w.state[i].regs.rip;
		struct dec_insn insn;

		if (!dec_insn_decode(w.native.code + (rip - CPU_CODE), 15, rip, &insn) ||
		    (dec_insn_is_told(&insn, w.mode, true) && !is_muted(i, &insn))) {
			mismatch(i, "the log has no record of %#lx", rip);
			return;
		}
		w.n_muted += dec_insn_is_told(&insn, w.mode, true);
		if (w.mode == DEC_LOG_STORES && !w.muted)
			check_all_stored(i, &insn, NULL, NULL, 0);
	}
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	(void)ctx;
	check_quiet(time);
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
	check_quiet(time);
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
		if (ref->is_mem && ref->is_def && !ref->is_far &&
		    w.mode != DEC_LOG_FLOW) {
			addr[n] = ref->addr;
			size[n++] = ref->bytes;
			check_store(i, ref->addr, ref->bytes, at);
		}
		if (!ref->is_far)
			at += (ref->bytes + 7) & ~7u;
	}
	if (w.mode == DEC_LOG_STORES || w.mode == DEC_LOG_ALL_STORES)
		check_all_stored(i, insn, addr, size, n);
	return NULL;
}

static void run_log(enum dec_log_mode mode, uint64_t middle)
{
	dec_log_reader_init(&w.reader, mode, 0);
	run_machine(mode, middle);
	if (mode != DEC_LOG_NONE)
		check_quiet(w.reader.time);
	if (mode != DEC_LOG_NONE && w.steps_seen != w.seq.n_steps)
		mismatch(w.seq.n_steps, "%d steps in the log", w.steps_seen);
	dec_log_reader_deinit(&w.reader);
}

#endif
