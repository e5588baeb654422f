// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Exact counting against the real CPU: stopped at any position of a program with loops,
 * calls, repeats and indirect jumps, in any log mode, the machine has the registers and
 * memory that native single-stepping has after as many instructions.
 */

#include <limits.h>

#include "decode/translator/engine.h"
#include "decode/translator/look.h"
#include "decode/translator/mute.h"
#include "decode/machine/log.h"
#include "tests/decode/cpu_build.h"
#include "tests/decode/cpu_state.h"
#include "tests/decode/cpu_world.h"
#include "tests/unit.h"

#define MAX_STEPS 2000
#define LOG_BYTES (256u << 10)

extern const uint8_t count_begin[], count_long[], count_fault[], count_bad[],
	count_call[], count_bad_call[], count_call_memory[], count_bad_call_memory[],
	count_jump[], count_bad_jump[], count_return[], count_bad_return[], count_ways[],
	count_place[], count_placed[], count_twins[], count_twin[], count_carried[],
	count_leaf[], count_leaf_flags[], count_bad_leaf[], count_stop[], count_end[];

__asm__(".text\n"
	".intel_syntax noprefix\n"
	".globl count_begin, count_long, count_fault, count_bad, count_stop, count_end\n"
	".globl count_call, count_bad_call, count_call_memory, count_bad_call_memory\n"
	".globl count_jump, count_bad_jump, count_return, count_bad_return\n"
	".globl count_ways, count_place, count_placed, count_twins, count_twin\n"
	".globl count_carried, count_leaf, count_leaf_flags, count_bad_leaf\n"
	"count_begin:\n"
	// Calls in a loop; push and pop.
	"mov ecx, 5\n"
	"1: lea rax, [rax+rcx*2]\n add rax, rcx\n push rax\n call 10f\n pop rdx\n"
	"dec ecx\n jnz 1b\n"
	// Branches on rcx.
	"mov ecx, 3\n 2: mov [rdi], rcx\n loop 2b\n jrcxz 3f\n ud2\n"
	// Repeats count as one, also of nothing.
	"3: mov ecx, 16\n lea rsi, [rdi+64]\n push rdi\n rep movsb\n pop rdi\n"
	"mov ecx, 8\n mov al, [rdi+3]\n push rdi\n repne scasb\n pop rdi\n"
	"xor ecx, ecx\n rep stosb\n"
	// A table of jumps; calls through registers and memory; ret imm16.
	"lea r8, [rip+20f]\n mov ebx, 6\n"
	"4: mov eax, ebx\n and eax, 1\n movsxd rax, dword ptr [r8+rax*4]\n add rax, r8\n"
	"jmp rax\n"
	"5: inc r9\n jmp 7f\n"
	"6: lea r10, [rip+10f]\n call r10\n lea r10, [rip+13f]\n call r10\n"
	"7: dec ebx\n jns 4b\n"
	"lea rax, [rip+10f]\n mov [rdi+128], rax\n call qword ptr [rdi+128]\n"
	"push 5\n call 12f\n"
	// Flags that live across the checks of a block, and a block that is too long.
	"pushf\n popf\n cmc\n adc rax, 3\n sete dl\n cmovc r11, rax\n stc\n"
	".rept 40\n adc rax, rdx\n rcl rdx, 1\n .endr\n"
	"setc r14b\n lahf\n inc r15\n sahf\n jc 8f\n not r15\n 8: jo 9f\n neg r15\n"
	"9: cvtsi2sd xmm0, rbx\n addsd xmm0, xmm1\n movq r13, xmm0\n vpaddd ymm1, ymm2, ymm3\n"
	"xchg [rdi], rax\n lock xadd [rdi+8], rdx\n"
	"jmp count_stop\n"
	"10: test cl, 1\n jz 11f\n add r12, 7\n ret\n"
	"11: sub r12, 3\n push rbp\n mov rbp, rsp\n leave\n ret\n"
	"12: add r12, [rsp+8]\n ret 8\n"
	"13: mov [rdi+16], r12\n lea r12, [r12+1]\n mov r11, r12\n add r11, 5\n ret\n"
	".balign 4\n 20: .long 5b-20b, 6b-20b\n"
	// Much of the same, to fill logs.
	"count_long: mov ecx, 60000\n"
	"30: mov [rdi+rax*8], rcx\n call 31f\n lea rax, [rcx+1]\n and eax, 15\n dec ecx\n jnz 30b\n"
	"jmp count_stop\n"
	"31: add rdx, [rdi+rax*8]\n jnp 32f\n xor rdx, rcx\n 32: ret\n"
	// A fault in the middle of a block, behind branches out of it.
	"count_fault: mov rax, [rdi]\n add rax, 5\n cmp rsp, 1\n jb count_stop\n"
	"mov [rdi+8], rax\n inc rdx\n or rdx, 1\n jz count_stop\n jc count_stop\n push rax\n"
	"count_bad: mov rbx, [rax]\n add rbx, 3\n jmp count_stop\n"
	// Faults of branches that have their target already.
	"count_call: lea r11, [rip+count_stop]\n mov ecx, 5\n mov esp, 64\n"
	"count_bad_call: call r11\n"
	"count_call_memory: lea rax, [rip+count_stop]\n mov [rdi+64], rax\n mov esp, 64\n"
	"count_bad_call_memory: call [rdi+64]\n"
	"count_jump: mov r11d, 64\n test ecx, ecx\n"
	"count_bad_jump: jmp [r11+8]\n"
	"count_return: mov esp, 64\n cmp esp, ecx\n"
	"count_bad_return: ret\n"
	// Many ways through one loop, with and without a place to count.
	"count_ways: mov ecx, 100\n"
	"34: test cl, 1\n jz 35f\n add rdx, rcx\n 35: test cl, 2\n jz 36f\n xor rbx, rcx\n"
	"mov [rdi], rbx\n 36: cmp ecx, 50\n jne 37f\n inc r9\n 37: lea r10, [r10+1]\n jc 38f\n"
	"jp 39f\n 38: mov [rdi+8], r10\n 39: call 31b\n dec ecx\n jnz 34b\n jmp count_stop\n"
	// Calls of two functions whose addresses have the same low bits (see setup()).
	"count_twins: mov ecx, 12\n"
	"40: lea r10, [rip+count_twin]\n test cl, 2\n jz 41f\n add r10, 0x10000\n"
	"41: bt ecx, 0\n call r10\n adc r9, 3\n dec ecx\n jnz 40b\n jmp count_stop\n"
	"count_twin: lea rdx, [rdx+rcx*2+1]\n ret\n"
	// Functions that leave r11 and rcx alone, by their address and by name; one then faults.
	"count_carried: lea r10, [rip+count_leaf_flags]\n call r10\n mov ecx, 11\n"
	"42: lea r10, [rip+count_leaf]\n lea r11, [rcx+rcx*4]\n test cl, 4\n jz 43f\n"
	"lea r10, [rip+count_leaf_flags]\n 43: bt ecx, 1\n call r10\n adc r9, 3\n"
	"cmp cl, 7\n lea r11, [r11+rcx+1]\n lea rcx, [rcx-1]\n call count_leaf\n"
	"call count_leaf_flags\n setc dl\n add rbx, r11\n test ecx, ecx\n jnz 42b\n lea r10, [rip+count_leaf]\n mov r11d, 77\n mov ecx, 78\n"
	"mov edi, 64\n call r10\n jmp count_stop\n"
	"count_leaf: lea rdx, [rdx+rax*2+1]\n count_bad_leaf: mov r8, [rdi+8]\n ret\n"
	"count_leaf_flags: mov rdx, [rdi]\n add rdx, rax\n jp 44f\n lea rax, [rdx+1]\n ret\n"
	"44: sub rax, 5\n lea rdx, [rax+2]\n ret\n"
	// An instruction for C, reached by a branch and without.
	"count_place: mov ecx, 40\n"
	"33: test cl, 1\n jz count_placed\n inc rdx\n"
	"count_placed: rdtsc\n dec ecx\n jnz 33b\n"
	"count_stop: nop\n"
	"count_end:\n"
	".att_syntax\n");

struct count {
	uint64_t seed;
	struct native native;
	struct dec_engine engine;
	struct dec_engine low; ///< that of the first group
	struct cpu_state start;
	uint8_t initial[CPU_SCRATCH_BYTES];
	struct user_regs_struct regs[MAX_STEPS + 1]; ///< native, at each position
	uint8_t (*memory)[CPU_SCRATCH_BYTES];
	uint64_t n; ///< positions are 0..n
	uint8_t *log_buffer;
	struct log_reader reader;
	struct err *log_err;
	enum dec_log_mode mode;
	uint64_t fault_now, fault_rip, fault_addr;
	uint64_t look_rip, looked, n_looks; ///< where, and when, functions look
	uint64_t n_jumps; ///< of which the log tells where they lead; or tells at all
};

static struct count c;

static uint64_t guest(const uint8_t *label)
{
	return CPU_CODE + (label - count_begin);
}

/* ---- the world ---------------------------------------------------------------------- */

static uint64_t on_avail(void *ctx, uint64_t addr, int prot)
{
	uint64_t begin = addr < CPU_CONST ? CPU_CODE : CPU_CONST,
		 end = begin + (count_end - count_begin);

	(void)ctx, (void)prot;
	if (addr >= begin && addr < end)
		return end - addr;
	return addr >= CPU_SCRATCH && addr < CPU_SCRATCH + CPU_SCRATCH_BYTES ?
		       CPU_SCRATCH + CPU_SCRATCH_BYTES - addr :
		       0;
}

static enum dec_verdict on_fault(void *ctx, struct dec_engine *e)
{
	(void)ctx;
	c.fault_now = e->now;
	c.fault_rip = e->ctx->rip;
	c.fault_addr = e->ctx->fault_addr;
	return DEC_END;
}

static enum dec_verdict on_rdtsc(void *ctx, struct dec_engine *e,
				 const struct dec_insn *insn)
{
	(void)ctx, (void)e, (void)insn;
	return DEC_GO;
}

static bool on_code(void *ctx, uint64_t page)
{
	(void)ctx, (void)page;
	return false;
}

static enum dec_verdict on_place(void *ctx, struct dec_engine *e)
{
	(void)ctx, (void)e;
	return DEC_PAUSE;
}

/* The log names each instruction that ran, in order, once; and where it leads. */
static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	(void)ctx;
	for (uint32_t i = 0; i < n_ran && time + i < c.n; i++)
		assert_true(b->insn[i].rip == c.regs[time + i].rip);
	if (c.mode == DEC_LOG_JUMPS && n_ran == b->n_insns && time + n_ran <= c.n) {
		assert_true(log_word(rec, b->slot_at[n_ran - 1]) ==
			    c.regs[time + n_ran].rip);
		c.n_jumps++;
	}
	if (c.mode == DEC_LOG_CALLS && n_ran)
		c.n_jumps += b->insn[n_ran - 1].flow == DEC_FLOW_JMP ||
			     b->insn[n_ran - 1].flow == DEC_FLOW_JMP_IND;
	return NULL;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	(void)ctx, (void)insn;
	assert_true(time >= c.n || rec->rip == c.regs[time].rip);
	return NULL;
}

/* How far a function with two texts, which stops at a NUL too, looks at position @p p. */
static uint64_t far(uint64_t p, bool *ret_equal)
{
	uint64_t memory = (uint64_t)c.memory[p];
	const uint8_t *end = c.memory[p] + CPU_SCRATCH_BYTES;
	const uint8_t *x = (const uint8_t *)(memory + c.regs[p].rdi - CPU_SCRATCH),
		      *y = (const uint8_t *)(memory + c.regs[p].rsi - CPU_SCRATCH);
	uint64_t n = 0;

	*ret_equal = true;
	while (x + n < end && y + n < end && *ret_equal) {
		*ret_equal = x[n] == y[n];
		if (!x[n++])
			break;
	}
	return n;
}

/* A function looks as far as the memory there says. */
static struct err *on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	bool is_equal;

	(void)ctx;
	if (rec->id != DEC_REC_LOOK)
		return NULL;
	assert_true(c.regs[time].rip == c.look_rip);
	assert_int_equal(rec->value[0], far(time, &is_equal));
	assert_int_equal(rec->value[1], is_equal);
	// Where the guest had to be left before the block ran, it is told once more.
	c.n_looks += time != c.looked;
	c.looked = time;
	return NULL;
}

static uint8_t *on_log_full(void *ctx, size_t bytes)
{
	static const struct log_sink sink = { NULL, on_block, on_slow, on_other };
	struct err *err;

	(void)ctx;
	err = dec_log_reader_feed(&c.reader, &sink, c.engine.log_start, bytes);
	if (err && !c.log_err)
		c.log_err = err;
	return c.log_buffer;
}

/* ---- native and machine ----------------------------------------------------------------- */

/* Single-step from @p from to the stop, keeping what each position looks like. */
static void step_natively(const uint8_t *from)
{
	static struct cpu_state s;

	c.start.regs.rip = guest(from);
	native_set(&c.native, &c.start);
	memcpy(c.native.scratch, c.initial, CPU_SCRATCH_BYTES);
	for (c.n = 0;; c.n++) {
		ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction d;
		bool is_pushf;

		native_get(&c.native, &s);
		c.regs[c.n] = s.regs;
		memcpy(c.memory[c.n], c.native.scratch, CPU_SCRATCH_BYTES);
		if (s.regs.rip == guest(count_stop))
			return;
		assert_true(c.n < MAX_STEPS);
		assert_true(forms_decode(c.native.code + (s.regs.rip - CPU_CODE), 15, &d,
					 ops));
		is_pushf = d.mnemonic == ZYDIS_MNEMONIC_PUSHFQ;
		if (native_step(&c.native, d.attributes & (ZYDIS_ATTRIB_HAS_REP |
							   ZYDIS_ATTRIB_HAS_REPE |
							   ZYDIS_ATTRIB_HAS_REPNE)))
			return; // a fault: the last position is before it
		if (is_pushf)	// the trap flag is ptrace's
			c.native.scratch[s.regs.rsp - 8 - CPU_SCRATCH + 1] &= ~1;
	}
}

static void enter_start(void)
{
	struct dec_ctx *x = c.engine.ctx;
	uint64_t in_use;

	for (int r = 0; r < 16; r++)
		x->gpr[r] = *cpu_gpr(&c.start.regs, r);
	x->rip = c.start.regs.rip;
	x->rflags = c.start.regs.eflags;
	x->fs_base = c.start.regs.fs_base;
	memcpy(x->xsave, c.start.xsave, CPU_XSAVE_BYTES);
	memcpy(&in_use, x->xsave + 512, 8);
	in_use &= x->xmask;
	memset(x->xsave + 464, 0, 48);
	memcpy(x->xsave + 512, &in_use, 8);
	memcpy((void *)CPU_SCRATCH, c.initial, CPU_SCRATCH_BYTES);
	c.engine.now = 0;
}

static void use_mode(enum dec_log_mode mode)
{
	c.mode = mode;
	dec_engine_flush(&c.engine);
	dec_engine_set_mode(&c.engine, mode, mode == DEC_LOG_NONE ? NULL : c.log_buffer,
			    mode == DEC_LOG_NONE ? 0 : LOG_BYTES);
	dec_log_reader_init(&c.reader, mode, 0);
}

/* Hand over the log: it ends where the machine stands. */
static void end_log(void)
{
	dec_engine_log_flush(&c.engine);
	if (c.log_err)
		fail_msg("%s", c.log_err->message);
	if (c.mode != DEC_LOG_NONE && c.reader.time != c.engine.now)
		fail_msg("mode %d: the log has %lu instructions, %lu ran", c.mode,
			 c.reader.time, c.engine.now);
	dec_log_reader_deinit(&c.reader);
}

static void assert_at(uint64_t p)
{
	const struct dec_ctx *x = c.engine.ctx;

	assert_int_equal(c.engine.now, p);
	assert_int_equal(x->rip, c.regs[p].rip);
	for (int r = 0; r < 16; r++) {
		if (x->gpr[r] != *cpu_gpr(&c.regs[p], r))
			fail_msg(
				"mode %d, position %lu: register %d is %#lx, natively %#llx",
				c.mode, p, r, x->gpr[r], *cpu_gpr(&c.regs[p], r));
	}
	if ((x->rflags ^ c.regs[p].eflags) & CPU_FLAGS)
		fail_msg("mode %d, position %lu: flags %#lx, natively %#llx, after %#llx",
			 c.mode, p, x->rflags, c.regs[p].eflags, c.regs[p - !!p].rip);
	assert_int_equal(x->rflags & CPU_FLAGS, c.regs[p].eflags & CPU_FLAGS);
	assert_memory_equal((void *)CPU_SCRATCH, c.memory[p], CPU_SCRATCH_BYTES);
}

/* cmocka takes the signals that the machine needs when a test begins. */
static void begin(const uint8_t *from)
{
	assert_null(dec_engine_take_signals());
	step_natively(from);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void test_every_position(void **state)
{
	(void)state;
	begin(count_begin);
	assert_true(c.n > 200);
	print_message("%lu positions\n", c.n);
	for (int mode = DEC_LOG_NONE; mode <= DEC_LOG_VALUES; mode++) {
		for (uint64_t p = 0; p <= c.n; p++) {
			use_mode(mode);
			enter_start();
			assert_int_equal(dec_engine_run(&c.engine, p), DEC_STOP_POSITION);
			assert_at(p);
			end_log();
		}
	}
}

/* The same when each way was gone before: what one block left uncounted the next counts. */
static void test_every_position_warm(void **state)
{
	(void)state;
	begin(count_ways);
	use_mode(DEC_LOG_NONE);
	for (uint64_t p = c.n + 1; p--;) {
		enter_start();
		assert_int_equal(dec_engine_run(&c.engine, p), DEC_STOP_POSITION);
		assert_at(p);
	}
	end_log();
}

/* C hears of each way a few times, however often it is gone, and of one that is gone often it makes a block. */
static void test_few_exits(void **state)
{
	uint64_t exits, blocks;

	(void)state;
	begin(count_ways);
	use_mode(DEC_LOG_NONE);
	dec_engine_set_break(&c.engine, guest(count_stop),
			     true); // a little budget has each block leave
	exits = c.engine.n_exits_taken;
	enter_start();
	assert_int_equal(dec_engine_run(&c.engine, INT64_MAX), DEC_STOP_BREAK);
	print_message("%lu exits\n", c.engine.n_exits_taken - exits);
	assert_in_range(c.engine.n_exits_taken - exits, 1, 75);
	blocks = c.engine.n_translated;
	for (int i = 0; i < 100; i++) {
		enter_start();
		c.engine.unstopped_rip = 0; // where the last one stopped
		assert_int_equal(dec_engine_run(&c.engine, INT64_MAX), DEC_STOP_BREAK);
	}
	assert_at(c.n);
	dec_engine_set_break(&c.engine, guest(count_stop), false);
	assert_in_range(c.engine.n_translated, blocks + 3, blocks + 40);
	end_log();
}

/* Indirect branches to one slot, with flags that live across them, on CPUs of either kind. */
static void test_twins(void **state)
{
	bool is_loop_quick = c.engine.is_loop_quick;

	(void)state;
	begin(count_twins);
	for (int is_quick = 0; is_quick < 2; is_quick++) {
		c.engine.is_loop_quick = is_quick;
		use_mode(DEC_LOG_NONE);
		for (uint64_t p = c.n + 1; p--;) {
			enter_start();
			assert_int_equal(dec_engine_run(&c.engine, p), DEC_STOP_POSITION);
			assert_at(p);
		}
		end_log();
	}
	c.engine.is_loop_quick = is_loop_quick;
}

/* Functions that leave alone what indirect branches borrow, come to in either way, whose blocks
 * are given up now and then. */
static void test_carried(void **state)
{
	(void)state;
	begin(count_carried);
	use_mode(DEC_LOG_NONE);
	for (uint64_t p = c.n + 1; p--;) {
		enter_start();
		assert_int_equal(dec_engine_run(&c.engine, p), DEC_STOP_POSITION);
		assert_at(p);
		if (p % 16)
			continue;
		for (int is_on = 1; is_on >= 0; is_on--) {
			dec_engine_set_break(&c.engine, guest(count_leaf), is_on);
			dec_engine_set_break(&c.engine, guest(count_leaf_flags), is_on);
		}
	}
	end_log();
}

/* A block that is given up time and again leaves one place that leads on, not a chain of them. */
static void test_given_up(void **state)
{
	size_t left = 0;

	(void)state;
	begin(count_carried);
	use_mode(DEC_LOG_NONE);
	for (int i = 0; i < 64; i++) {
		enter_start();
		assert_int_equal(dec_engine_run(&c.engine, c.n), DEC_STOP_POSITION);
		assert_at(c.n);
		dec_engine_invalidate(&c.engine, guest(count_leaf), 1);
		if (i == 8)
			left = c.engine.gone.size;
	}
	assert_int_not_equal(left, 0);
	assert_int_equal(c.engine.gone.size, left);
	end_log();
}

static void test_every_position(void **state);

/* Code that may change unseen: it is looked at each time, and ends behind a store. */
static void test_looked_at(void **state)
{
	uint32_t n = c.engine.n_checked;

	dec_engine_flush(&c.engine);
	c.engine.world.code_seen = on_code;
	test_every_position(state);
	assert_int_not_equal(c.engine.n_checked, n);
	c.engine.world.code_seen = NULL;
	dec_engine_flush(&c.engine);
}

/* Forward in strides, with the code cache warm and the log growing. */
static void test_strides(void **state)
{
	(void)state;
	begin(count_begin);
	for (int mode = DEC_LOG_NONE; mode <= DEC_LOG_VALUES; mode++) {
		for (uint64_t stride = 1; stride < 200; stride += stride / 2 + 1) {
			enter_start();
			use_mode(mode);
			for (uint64_t p = 0; p < c.n; p += stride) {
				assert_int_equal(dec_engine_run(&c.engine, p),
						 DEC_STOP_POSITION);
				assert_at(p);
			}
			end_log();
		}
	}
}

/* Of each indirect jump and call that ran it is told where it leads. */
static void test_jumps(void **state)
{
	uint64_t n = 0;

	(void)state;
	begin(count_begin);
	for (uint64_t p = 0; p < c.n; p++) {
		uint64_t rip = c.regs[p].rip;
		struct dec_insn insn;

		assert_true(dec_insn_decode(c.native.code + (rip - CPU_CODE), 15, rip,
					    &insn));
		n += insn.flow == DEC_FLOW_JMP_IND || insn.flow == DEC_FLOW_CALL_IND;
	}
	use_mode(DEC_LOG_JUMPS);
	enter_start();
	c.n_jumps = 0;
	assert_int_equal(dec_engine_run(&c.engine, c.n), DEC_STOP_POSITION);
	end_log();
	assert_int_equal(c.n_jumps, n);
	assert_true(n > 6);
}

static uint64_t count_told_jumps(void)
{
	use_mode(DEC_LOG_CALLS);
	enter_start();
	c.n_jumps = 0;
	assert_int_equal(dec_engine_run(&c.engine, c.n), DEC_STOP_POSITION);
	end_log();
	return c.n_jumps;
}

/* Of jumps those that somebody asks for are in a log of calls. */
static void test_told_jumps(void **state)
{
	uint64_t n;

	(void)state;
	begin(count_begin);
	n = count_told_jumps();
	assert_true(n > 9);
	assert_int_equal(dec_engine_tell_jumps(&c.engine, 0, 0), 0);
	assert_int_equal(count_told_jumps(), 0);
	// The first jump is run seven times.
	for (uint64_t p = 0; c.n_jumps < 7; p++) {
		assert_true(p < c.n);
		assert_int_equal(dec_engine_tell_jumps(&c.engine, c.regs[p].rip,
						       c.regs[p].rip + 1),
				 0);
		count_told_jumps();
	}
	assert_int_equal(c.n_jumps, 7);
	assert_int_equal(dec_engine_tell_jumps(&c.engine, guest(count_begin),
					       guest(count_end)),
			 0);
	assert_int_equal(count_told_jumps(), n);
	vec_deinit(&c.engine.told_jumps);
	c.engine.tells_some_jumps = false;
}

static uint64_t n_unmuted;

static void on_unmute(void *ctx, uint64_t addr)
{
	(void)ctx;
	dec_mute_end(&c.engine, addr >> 12);
	n_unmuted++;
}

/* Where a function begins that releases, the world hears of what lies in a muted page, whether the block
 * is run or its instructions one by one. */
static void test_release(void **state)
{
	uint64_t p = 0, entry, page;
	struct dec_insn insn;

	(void)state;
	begin(count_begin);
	do {
		assert_true(p < c.n);
		assert_true(dec_insn_decode(c.native.code + (c.regs[p].rip - CPU_CODE),
					    15, c.regs[p].rip, &insn));
		p++;
	} while (insn.flow != DEC_FLOW_CALL);
	entry = c.regs[p].rip;
	page = c.regs[p].rdi >> 12;
	c.engine.world.unmute = on_unmute;
	dec_engine_set_watch(&c.engine, entry, true);
	dec_mute_set_release(&c.engine, entry);
	for (int is_whole = 0; is_whole < 2; is_whole++) {
		use_mode(DEC_LOG_STORES);
		if (!dec_mute_begin(&c.engine))
			skip();
		assert_true(dec_mute_page(&c.engine, page));
		enter_start();
		n_unmuted = 0;
		for (p = is_whole ? c.n : 1; p <= c.n; p++)
			assert_int_equal(dec_engine_run(&c.engine, p), DEC_STOP_POSITION);
		end_log();
		assert_true(n_unmuted);
	}
	dec_engine_set_watch(&c.engine, entry, false);
	map_deinit(&c.engine.releases);
	c.engine.world.unmute = NULL;
}

/* Where a function begins that looks at texts, the log tells how far it does each time, whether the block
 * is run or its instructions one by one. */
static void test_looks(void **state)
{
	uint64_t p = 0, n = 0;

	(void)state;
	begin(count_begin);
	do {
		assert_true(p + 1 < c.n);
	} while (*(const uint8_t *)(c.native.code + (c.regs[p++].rip - CPU_CODE)) !=
		 0xe8);
	c.look_rip = c.regs[p].rip; // of the first call
	for (p = 0; p < c.n; p++)
		n += c.regs[p].rip == c.look_rip;
	assert_true(n > 5);
	dec_look_set(&c.engine, c.look_rip, DEC_LOOK_DIFFERENT | DEC_LOOK_NUL);
	for (int mode = DEC_LOG_STORES; mode <= DEC_LOG_VALUES; mode++)
		for (int is_whole = 0; is_whole < 2; is_whole++) {
			use_mode(mode);
			enter_start();
			c.n_looks = 0;
			c.looked = UINT64_MAX;
			for (p = is_whole ? c.n : 1; p <= c.n; p++)
				assert_int_equal(dec_engine_run(&c.engine, p),
						 DEC_STOP_POSITION);
			end_log();
			assert_at(c.n);
			assert_int_equal(c.n_looks, n);
		}
	dec_engine_set_watch(&c.engine, c.look_rip, false);
	map_deinit(&c.engine.looks);
}

/* A breakpoint stops before its instruction, each time it is reached, and only then. */
static void test_breakpoints(void **state)
{
	struct map done = {};

	(void)state;
	begin(count_begin);
	for (uint64_t at = 0; at < c.n; at++) {
		uint64_t rip = c.regs[at].rip;

		if (map_get(&done, rip))
			continue;
		map_put(&done, rip, 1);
		use_mode(at % 5);
		enter_start();
		dec_engine_set_break(&c.engine, rip, true);
		// The run starts from its own breakpoint without stopping.
		for (uint64_t p = 1; p <= c.n; p++) {
			if (c.regs[p].rip != rip)
				continue;
			assert_int_equal(dec_engine_run(&c.engine, INT64_MAX),
					 DEC_STOP_BREAK);
			assert_at(p);
		}
		assert_int_equal(dec_engine_run(&c.engine, c.n), DEC_STOP_POSITION);
		assert_at(c.n);
		dec_engine_set_break(&c.engine, rip, false);
		end_log();
	}
	map_deinit(&done);
}

/* What is beside a breakpoint is not made again. */
static void test_beside_breakpoints(void **state)
{
	uint64_t all, before;
	uint64_t rip;

	(void)state;
	begin(count_begin);
	rip = c.regs[c.n / 2].rip;
	use_mode(DEC_LOG_NONE);
	enter_start();
	before = c.engine.n_translated;
	assert_int_equal(dec_engine_run(&c.engine, c.n), DEC_STOP_POSITION);
	all = c.engine.n_translated - before;
	dec_engine_set_break(&c.engine, rip, true);
	enter_start();
	before = c.engine.n_translated;
	while (dec_engine_run(&c.engine, c.n) == DEC_STOP_BREAK)
		assert_int_equal(c.engine.ctx->rip, rip);
	assert_at(c.n);
	assert_in_range(c.engine.n_translated - before, 1, all / 2);
	dec_engine_set_break(&c.engine, rip, false);
	end_log();
}

/* Logs longer than their buffer: nothing is lost where one fills up. */
static void test_long(void **state)
{
	uint64_t count = 0;

	(void)state;
	begin(count_stop);
	c.start.regs.rip = guest(count_long);
	for (int mode = DEC_LOG_NONE; mode <= DEC_LOG_VALUES; mode++) {
		struct dec_ctx now;

		use_mode(mode);
		enter_start();
		dec_engine_set_break(&c.engine, guest(count_stop), true);
		c.n = 0; // no position to compare with
		assert_int_equal(dec_engine_run(&c.engine, INT64_MAX), DEC_STOP_BREAK);
		dec_engine_set_break(&c.engine, guest(count_stop), false);
		end_log();
		assert_true(mode == DEC_LOG_NONE || c.engine.now == count);
		count = c.engine.now;
		now = *c.engine.ctx;
		// The same in strides, each ending within a block.
		use_mode(mode);
		enter_start();
		for (uint64_t p = 0; p < count; p += 997)
			assert_int_equal(dec_engine_run(&c.engine, p), DEC_STOP_POSITION);
		assert_int_equal(dec_engine_run(&c.engine, count), DEC_STOP_POSITION);
		end_log();
		assert_memory_equal(now.gpr, c.engine.ctx->gpr, sizeof(now.gpr));
		assert_int_equal(c.engine.ctx->rip, guest(count_stop));
	}
	assert_true(count > 400000);
}

/* One record that says nothing fills the log but for its last @p left bytes. */
static void fill_log(uint64_t left)
{
	size_t size = c.engine.log_end - c.engine.log_start - left;

	dec_engine_log(&c.engine, DEC_REC_HEAP, size);
}

/* A run that stops when its log is almost full, at each distance from the end. */
static void test_log_end(void **state)
{
	(void)state;
	begin(count_begin);
	for (int mode = DEC_LOG_FLOW; mode <= DEC_LOG_VALUES; mode++) {
		for (uint64_t left = 0; left <= 400; left += 8) {
			for (uint64_t p = 70 + left / 8 % 10; p < 200; p += 10) {
				use_mode(mode);
				enter_start();
				fill_log(left);
				assert_int_equal(dec_engine_run(&c.engine, p),
						 DEC_STOP_POSITION);
				assert_at(p);
				end_log();
			}
		}
	}
}

/* A fault is where the CPU has it, with the registers of there, wherever in the log that
 * is. (Its flags may not be the CPU's: those that the faulting instruction would
 * overwrite.) */
static void fault_at(const uint8_t *from, const uint8_t *bad)
{
	begin(from);
	assert_int_equal(c.regs[c.n].rip, guest(bad));
	for (int mode = DEC_LOG_NONE; mode <= DEC_LOG_VALUES; mode++) {
		for (uint64_t left = 0; left <= 400; left += 8) {
			use_mode(mode);
			enter_start();
			if (mode != DEC_LOG_NONE)
				fill_log(left);
			assert_int_equal(dec_engine_run(&c.engine, INT64_MAX),
					 DEC_STOP_END);
			assert_int_equal(c.fault_now, c.n);
			assert_int_equal(c.fault_rip, guest(bad));
			assert_at(c.n);
			end_log();
		}
	}
}

static void test_fault(void **state)
{
	(void)state;
	fault_at(count_fault, count_bad);
	fault_at(count_call, count_bad_call);
	fault_at(count_call_memory, count_bad_call_memory);
	fault_at(count_jump, count_bad_jump);
	fault_at(count_return, count_bad_return);
	fault_at(count_carried, count_bad_leaf);
}

/* A place that the world asks for is seen on each way to it, before what is there runs. */
static void test_place(void **state)
{
	const uint64_t first[16] = { [CAP_RCX] = 40 }, last[16] = { [CAP_RCX] = 6 };
	const uint32_t ignore = 0xffff & ~(1u << CAP_RCX);

	(void)state;
	begin(count_stop);
	c.start.regs.rip = guest(count_place);
	use_mode(DEC_LOG_NONE);
	enter_start();
	dec_engine_set_break(&c.engine, guest(count_stop), true);
	dec_engine_set_async(&c.engine, guest(count_placed), first, 0, ignore);
	assert_int_equal(dec_engine_run(&c.engine, INT64_MAX), DEC_STOP_PAUSE);
	assert_int_equal(c.engine.now, 3);
	// No longer, while all ways there are gone.
	dec_engine_set_async(&c.engine, 0, NULL, 0, 0);
	for (int i = 0; i < 8; i++) {
		enter_start();
		assert_int_equal(dec_engine_run(&c.engine, 170), DEC_STOP_POSITION);
	}
	enter_start();
	dec_engine_set_async(&c.engine, guest(count_placed), last, 0, ignore);
	assert_int_equal(dec_engine_run(&c.engine, INT64_MAX), DEC_STOP_PAUSE);
	assert_int_equal(c.engine.ctx->rip, guest(count_placed));
	assert_int_equal(c.engine.ctx->gpr[CAP_RCX], 6);
	assert_int_equal(c.engine.now, 1 + 17 * 5 + 17 * 6 + 2);
	dec_engine_set_async(&c.engine, 0, NULL, 0, 0);
	assert_int_equal(dec_engine_run(&c.engine, INT64_MAX), DEC_STOP_BREAK);
	assert_int_equal(c.engine.now, 1 + 20 * 5 + 20 * 6);
	dec_engine_set_break(&c.engine, guest(count_stop), false);
	end_log();
}

static int setup(void **state)
{
	static const struct dec_world world = {
		.syscall = on_exit_to_c,
		.special = on_rdtsc,
		.fault = on_fault,
		.stop_at = on_place,
		.avail = on_avail,
		.log_full = on_log_full,
		.complain = on_complaint,
	};

	(void)state;
	c.seed = 1;
	native_init(&c.native);
	memcpy(c.native.code, count_begin, count_end - count_begin);
	// The same 64 KiB further on, but that count_twin adds another number.
	memcpy(c.native.code + CPU_CODE_BYTES, count_begin, count_end - count_begin);
	c.native.code[CPU_CODE_BYTES + (count_twin - count_begin) + 4] = 7;
	cpu_random_state(&c.seed, &c.native.start, &c.start);
	cpu_random_bytes(&c.seed, c.initial, sizeof(c.initial));
	for (int r = 0; r < 16; r++)
		*cpu_gpr(&c.start.regs, r) = cpu_random_word(&c.seed);
	c.start.regs.eflags &= ~0x400ull; // strings go upward
	c.start.regs.rsp = CPU_STACK;
	c.start.regs.rdi = CPU_MIDDLE;
	c.start.regs.rax = 1;
	c.memory = calloc(MAX_STEPS + 1, sizeof(*c.memory));
	c.log_buffer = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!c.memory || c.log_buffer == MAP_FAILED || dec_engine_init(&c.engine, &world))
		return -1;
	return 0;
}

/* The same with the context anywhere, addressed through gs. */
static int setup_high(void **state)
{
	c.low = c.engine; // an engine lasts as long as its process
	dec_ctx_skip(UINT_MAX);
	if (setup(state) || (uint64_t)c.engine.ctx < 0x80000000)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	native_deinit(&c.native);
	free(c.memory);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_position),
		cmocka_unit_test(test_strides),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_told_jumps),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_breakpoints),
		cmocka_unit_test(test_beside_breakpoints),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_log_end),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_every_position_warm),
		cmocka_unit_test(test_few_exits),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_carried),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_looked_at),
	};

	return cmocka_run_group_tests_name("low", tests, setup, teardown) ||
	       cmocka_run_group_tests_name("high", tests, setup_high, teardown);
}
