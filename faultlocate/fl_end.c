// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_end_int.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/x86/zydis.h"

// An access by the stack pointer so near below it is a push, a call, or a frame's first one.
#define STACK_NEAR (1 << 20)

bool fl_end_is_own(const struct fl_analysis *a, uint64_t rip)
{
	const struct cap_info *info = capture_info(a->capture);
	struct dec_place p = {};
	const char *module;

	if (dec_symbols_has_debug(a->symbols, rip)) {
		a->places.place(a->places.ctx, rip, &p);
		return p.line;
	}
	module = dec_symbols_module(a->symbols, rip);
	return !dec_symbols_has_debug(a->symbols, 0) && module && info->exe &&
	       !strcmp(module, info->exe);
}

bool fl_end_is_systems(const char *file)
{
	return file && !strncmp(file, "/usr/", 5);
}

bool fl_end_users_place(const struct fl_analysis *a, uint64_t rip, struct dec_place *ret)
{
	*ret = (struct dec_place){};
	a->places.place(a->places.ctx, rip, ret);
	if (!fl_end_is_own(a, rip))
		return false;
	while (fl_end_is_systems(ret->file) && ret->n_inlined) {
		ret->file = ret->inlined->file;
		ret->line = ret->inlined->line;
		ret->function = ret->inlined->function;
		ret->inlined++;
		ret->n_inlined--;
	}
	return !fl_end_is_systems(ret->file);
}

int fl_end_protection(struct dec_machine *m, uint64_t addr)
{
	struct dec_range r;
	struct err *err = NULL;
	int prot = -1;

	for (size_t i = 0; prot < 0 && !(err = dec_machine_range(m, i, &r)); i++)
		if (addr >= r.start && addr < r.end)
			prot = r.prot;
	err_destroy(err);
	return prot;
}

/* ---- which instruction it was --------------------------------------------------------- */

static struct err *read_state(struct fl_ender *e)
{
	struct dec_machine *m;
	struct dec_thread t;
	uint8_t bytes[15] = {};
	size_t n = 0;
	struct err *err = dec_past_seek(e->past, e->at, &m), *none = NULL;

	if (!err)
		err = dec_machine_regs(m, &e->regs);
	if (err)
		return err;
	for (size_t i = 0; !none && !(none = dec_machine_thread(m, i, &t)); i++)
		if (t.is_running)
			e->tid = t.tid;
	err_destroy(none);
	for (none = NULL; n < sizeof(bytes) && !none; n += !none)
		none = dec_machine_read(m, e->regs.rip + n, bytes + n, 1);
	err_destroy(none);
	e->has_insn = (fl_end_protection(m, e->regs.rip) & PROT_EXEC) &&
		      fl_end_protection(m, e->regs.rip) > 0 &&
		      dec_insn_decode(bytes, n, e->regs.rip, &e->insn);
	return NULL;
}

static void set_bad(struct fl_ender *e, const struct dec_insn *insn, uint64_t at,
		    struct dec_location l)
{
	l.tid = e->tid;
	e->bad = l;
	e->bad_at = at;
	e->bad_insn = *insn;
	e->has_bad = true;
}

static struct dec_location in_register(uint8_t reg, uint32_t size)
{
	return (struct dec_location){ .reg = reg, .size = size };
}

static struct dec_location in_memory(uint64_t addr, uint32_t size)
{
	return (struct dec_location){ .is_mem = true, .addr = addr, .size = size };
}

/* ---- memory --------------------------------------------------------------------------- */

static uint64_t address_of(const struct fl_ender *e, const struct dec_mem *m)
{
	return dec_insn_address(m, e->regs.gpr, e->regs.fs_base, e->regs.gs_base);
}

/* Which of the operands it was: the one where the processor says that it was, else one whose
 * address has no valid form, which it does not tell. */
static const struct dec_mem *faulting_operand(const struct fl_ender *e)
{
	uint64_t fault = e->a->run.fault_addr;
	const struct dec_insn *insn = &e->insn;

	for (int i = 0; i < insn->n_mem; i++)
		if (fault + 4096 - address_of(e, &insn->mem[i]) <
		    4096u + insn->mem[i].size)
			return &insn->mem[i];
	for (int i = 0; i < insn->n_mem; i++)
		if ((int64_t)(address_of(e, &insn->mem[i]) << 16) >> 16 !=
		    (int64_t)address_of(e, &insn->mem[i]))
			return &insn->mem[i];
	return insn->n_mem ? &insn->mem[0] : NULL;
}

/* Base or index? The index, where the base leads to memory and the sum is far from there. */
static uint8_t bad_register(struct dec_machine *m, const struct fl_ender *e,
			    const struct dec_mem *mem)
{
	uint64_t base, index;

	if (mem->base == DEC_REG_NONE || mem->index == DEC_REG_NONE)
		return mem->base != DEC_REG_NONE ? mem->base : mem->index;
	base = e->regs.gpr[mem->base];
	index = e->regs.gpr[mem->index];
	if (mem->scale == 1 && fl_end_protection(m, index) >= 0)
		return mem->base; // it is the other way round
	return fl_end_protection(m, base) >= 0 ? mem->index : mem->base;
}

static bool is_stack_used_up(struct dec_machine *m, const struct fl_ender *e,
			     uint64_t addr)
{
	uint64_t rsp = e->regs.gpr[CAP_RSP];

	return addr + STACK_NEAR - rsp < 2 * STACK_NEAR &&
	       fl_end_protection(m, addr) < 0 &&
	       (fl_end_protection(m, rsp) < 0 || fl_end_protection(m, rsp - 4096) < 0);
}

/* A processor may refuse a jump to what has no address' form at the jump itself. */
static bool is_refused_jump(const struct fl_ender *e, struct dec_machine *m)
{
	const struct dec_mem *mem = e->insn.n_mem ? &e->insn.mem[0] : NULL;

	if (e->insn.flow != DEC_FLOW_RET && e->insn.flow != DEC_FLOW_CALL_IND &&
	    e->insn.flow != DEC_FLOW_JMP_IND)
		return false;
	if (e->insn.flow == DEC_FLOW_RET)
		return fl_end_protection(m, e->regs.gpr[CAP_RSP]) > 0;
	return !mem || !mem->is_read || fl_end_protection(m, address_of(e, mem)) > 0;
}

static struct err *explain_refused_jump(struct fl_ender *e, struct dec_machine *m)
{
	uint32_t regs = e->insn.gpr_read & ~(1u << CAP_RSP);
	uint64_t at = e->insn.flow == DEC_FLOW_RET ? e->regs.gpr[CAP_RSP] : 0;

	e->end->kind = FL_END_JUMP;
	for (int i = 0; i < e->insn.n_mem && !at; i++)
		at = e->insn.mem[i].is_read ? address_of(e, &e->insn.mem[i]) : 0;
	if (!at && !regs)
		return NULL;
	e->end->target_at = at;
	set_bad(e, &e->insn, e->at,
		at ? in_memory(at, 8) : in_register(__builtin_ctz(regs), 8));
	if (!at)
		e->end->address = e->regs.gpr[__builtin_ctz(regs)];
	return at ? dec_machine_read(m, at, &e->end->address, 8) : NULL;
}

static struct err *explain_access(struct fl_ender *e)
{
	const struct dec_mem *mem = faulting_operand(e);
	struct fl_end *end = e->end;
	struct dec_machine *m;
	uint8_t reg;
	struct err *err = dec_past_seek(e->past, e->at, &m);

	if (err)
		return err;
	if (is_refused_jump(e, m))
		return explain_refused_jump(e, m);
	end->kind = FL_END_ACCESS;
	end->address = e->a->run.fault_addr;
	if (mem) {
		end->bytes = mem->size;
		end->is_write = mem->is_write;
		if (!end->address)
			end->address = address_of(e, mem);
	}
	if (is_stack_used_up(m, e, mem ? end->address : e->regs.gpr[CAP_RSP] - 8)) {
		end->kind = FL_END_STACK;
		return NULL;
	}
	reg = mem ? bad_register(m, e, mem) : DEC_REG_NONE;
	if (reg != DEC_REG_NONE && reg != CAP_RSP)
		set_bad(e, &e->insn, e->at, in_register(reg, 8));
	return NULL;
}

/* ---- code ------------------------------------------------------------------------------- */

/* The last instruction that ran led to where no code is. */
static struct err *explain_jump(struct fl_ender *e)
{
	const struct dec_past_step *s = NULL;
	const struct dec_insn *insn;
	const struct dec_past_ref *r;
	struct err *err = e->at ? dec_past_step_at(e->past, e->at - 1, &s) : NULL;

	e->end->kind = FL_END_JUMP;
	e->end->address = e->regs.rip;
	insn = dec_past_insn(e->past, s);
	if (!insn || (insn->flow != DEC_FLOW_RET && insn->flow != DEC_FLOW_CALL_IND &&
		      insn->flow != DEC_FLOW_JMP_IND))
		return err;
	e->end->rip = insn->rip;
	e->has_called = insn->flow == DEC_FLOW_CALL_IND;
	for (uint32_t i = 0; (r = dec_past_ref(e->past, s, i)); i++)
		if (r->is_mem && !r->is_def) {
			e->end->target_at = r->addr;
			set_bad(e, insn, e->at - 1, in_memory(r->addr, 8));
			return NULL;
		}
	for (uint32_t i = 0; (r = dec_past_ref(e->past, s, i)); i++)
		if (!r->is_mem && !r->is_def && r->reg < DEC_GPRS && r->reg != CAP_RSP) {
			set_bad(e, insn, e->at - 1, in_register(r->reg, 8));
			return NULL;
		}
	return NULL;
}

/* ---- the rest --------------------------------------------------------------------------- */

static void explain_division(struct fl_ender *e)
{
	const struct dec_insn *insn = &e->insn;
	uint16_t left = insn->gpr_read & ~(1u << CAP_RAX | 1u << CAP_RDX);
	const char *name = dec_insn_name(insn);
	uint32_t size = insn->n_mem ? insn->mem[0].size : 4;

	if (strcmp(name, "div") && strcmp(name, "idiv"))
		return;
	e->end->kind = FL_END_DIVISION;
	if (insn->n_mem) {
		set_bad(e, insn, e->at, in_memory(address_of(e, &insn->mem[0]), size));
		return;
	}
	// REX.W, or a byte's opcode.
	for (int i = 0; i < insn->len; i++) {
		if ((insn->bytes[i] & 0xf8) == 0x48)
			size = 8;
		if (insn->bytes[i] == 0xf6 || insn->bytes[i] == 0xf7) {
			size = insn->bytes[i] == 0xf6 ? 1 : size;
			break;
		}
	}
	if (!left)
		left = insn->gpr_read & 1u << CAP_RDX; // by itself
	if (left)
		set_bad(e, insn, e->at, in_register(__builtin_ctz(left), size));
}

static void explain_illegal(struct fl_ender *e)
{
	bool is_ud2 = e->has_insn && e->insn.len >= 2 && e->insn.bytes[0] == 0x0f &&
		      e->insn.bytes[1] == 0x0b;

	e->end->kind = is_ud2 ? FL_END_TRAP : FL_END_ILLEGAL;
}

/* Did the instruction itself do it? Else the signal was sent, while some other one ran. */
static bool is_fault(const struct fl_ender *e)
{
	switch (e->a->run.end_value) {
	case SIGSEGV:
	case SIGBUS:
		return e->a->run.fault_addr || !e->has_insn || e->insn.n_mem ||
		       e->insn.flow == DEC_FLOW_TRAP;
	case SIGFPE:
	case SIGILL:
		return true;
	default:
		return false;
	}
}

static struct err *explain_kind(struct fl_ender *e)
{
	int signal = e->a->run.end_value;

	e->end->kind = FL_END_SENT;
	e->end->rip = e->a->run.end_rip;
	if (!is_fault(e))
		return NULL;
	if ((signal == SIGSEGV || signal == SIGBUS) && !e->has_insn)
		return explain_jump(e);
	if (signal == SIGSEGV || signal == SIGBUS)
		return explain_access(e);
	if (signal == SIGFPE && e->has_insn)
		explain_division(e);
	else if (signal == SIGILL)
		explain_illegal(e);
	return NULL;
}

static struct err *explain(struct fl_ender *e)
{
	struct err *err = dec_past_create(e->a->capture, e->at, &e->past);

	if (!err)
		err = read_state(e);
	if (!err)
		err = explain_kind(e);
	if (!err)
		err = fl_end_calls(e);
	if (!err)
		err = fl_end_message(e);
	if (!err && e->has_bad)
		err = fl_end_value(e);
	if (!err)
		err = fl_end_smash(e);
	return err;
}

struct err *fl_end_explain(struct fl_analysis *a)
{
	struct fl_ender e = { .a = a, .end = &a->end, .at = a->run.instructions };
	struct err *err;

	if (a->run.end != CAP_END_SIGNAL || a->run.is_recovered)
		return NULL;
	err = explain(&e);
	dec_past_destroy(e.past);
	a->end.is_known = !err;
	return err;
}

bool fl_end_is_wrong(const struct fl_analysis *a)
{
	return a->end.is_known &&
	       (a->end.kind != FL_END_SENT || a->run.end_value == SIGABRT);
}

struct err *fl_end_keep(void *ctx, const struct frames *f)
{
	struct fl_analysis *a = ctx;
	frame_stack *calls = &a->end.calls;

	calls->size = 0;
	if (vec_reserve(calls, f->stack.size))
		return &err_nomem;
	if (f->stack.size)
		memcpy(calls->data, f->stack.data,
		       f->stack.size * sizeof(*f->stack.data));
	calls->size = f->stack.size;
	return NULL;
}

void fl_end_deinit(struct fl_end *e)
{
	for (size_t i = 0; i < e->frames.size; i++)
		free(e->frames.data[i].arguments);
	vec_deinit(&e->frames);
	vec_deinit(&e->calls);
	vec_deinit(&e->value.copies);
	free(e->message);
}
