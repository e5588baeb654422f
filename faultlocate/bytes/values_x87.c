// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * .. of the x87: a register of its stack has a value, or none. What is not known here has all registers have one.
 */
#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

#define M(name) ZYDIS_MNEMONIC_##name

enum x87_kind {
	X87_OTHER,
	X87_NOTHING, ///< it has nothing to do with values
	X87_LOAD,
	X87_CONSTANT,
	X87_STORE,
	X87_SUM,    ///< of all operands, or of st(0) and one: the first is the target
	X87_UNARY,  ///< of st(0)
	X87_BOTH,   ///< st(0), of that and st(1)
	X87_DOWN,   ///< st(1), of that and st(0)
	X87_SPLIT,  ///< st(0), and one more
	X87_FLAGS,  ///< a comparison
	X87_STATUS, ///< .. of which the status tells
	X87_TELL,   ///< that
	X87_SWAP,
	X87_MOVE, ///< fcmovcc
};

/* Of mnemonics that pop the stack, so often. */
static const struct {
	uint16_t first, last;
	uint8_t kind, pops;
} kinds[] = {
	{ M(F2XM1), M(F2XM1), X87_UNARY, 0 },
	{ M(FABS), M(FABS), X87_UNARY, 0 },
	{ M(FADD), M(FADD), X87_SUM, 0 },
	{ M(FADDP), M(FADDP), X87_SUM, 1 },
	{ M(FBLD), M(FBLD), X87_LOAD, 0 },
	{ M(FBSTP), M(FBSTP), X87_STORE, 1 },
	{ M(FCHS), M(FCHS), X87_UNARY, 0 },
	{ M(FCMOVB), M(FCMOVU), X87_MOVE, 0 },
	{ M(FCOM), M(FCOM), X87_STATUS, 0 },
	{ M(FCOMI), M(FCOMI), X87_FLAGS, 0 },
	{ M(FCOMIP), M(FCOMIP), X87_FLAGS, 1 },
	{ M(FCOMP), M(FCOMP), X87_STATUS, 1 },
	{ M(FCOMPP), M(FCOMPP), X87_STATUS, 2 },
	{ M(FCOS), M(FCOS), X87_UNARY, 0 },
	{ M(FDIV), M(FDIV), X87_SUM, 0 },
	{ M(FDIVP), M(FDIVP), X87_SUM, 1 },
	{ M(FDIVR), M(FDIVR), X87_SUM, 0 },
	{ M(FDIVRP), M(FDIVRP), X87_SUM, 1 },
	{ M(FFREE), M(FFREE), X87_NOTHING, 0 },
	{ M(FIADD), M(FIADD), X87_SUM, 0 },
	{ M(FICOM), M(FICOM), X87_STATUS, 0 },
	{ M(FICOMP), M(FICOMP), X87_STATUS, 1 },
	{ M(FIDIV), M(FIDIVR), X87_SUM, 0 },
	{ M(FILD), M(FILD), X87_LOAD, 0 },
	{ M(FIMUL), M(FIMUL), X87_SUM, 0 },
	{ M(FIST), M(FIST), X87_STORE, 0 },
	{ M(FISTP), M(FISTTP), X87_STORE, 1 },
	{ M(FISUB), M(FISUBR), X87_SUM, 0 },
	{ M(FLD), M(FLD), X87_LOAD, 0 },
	{ M(FLD1), M(FLD1), X87_CONSTANT, 0 },
	{ M(FLDCW), M(FLDCW), X87_NOTHING, 0 },
	{ M(FLDL2E), M(FLDZ), X87_CONSTANT, 0 },
	{ M(FMUL), M(FMUL), X87_SUM, 0 },
	{ M(FMULP), M(FMULP), X87_SUM, 1 },
	{ M(FNCLEX), M(FNCLEX), X87_NOTHING, 0 },
	{ M(FNOP), M(FNOP), X87_NOTHING, 0 },
	{ M(FNSTCW), M(FNSTCW), X87_NOTHING, 0 },
	{ M(FNSTSW), M(FNSTSW), X87_TELL, 0 },
	{ M(FPATAN), M(FPATAN), X87_DOWN, 1 },
	{ M(FPREM), M(FPREM1), X87_BOTH, 0 },
	{ M(FPTAN), M(FPTAN), X87_CONSTANT, 0 },
	{ M(FRNDINT), M(FRNDINT), X87_UNARY, 0 },
	{ M(FSCALE), M(FSCALE), X87_BOTH, 0 },
	{ M(FSIN), M(FSIN), X87_UNARY, 0 },
	{ M(FSINCOS), M(FSINCOS), X87_SPLIT, 0 },
	{ M(FSQRT), M(FSQRT), X87_UNARY, 0 },
	{ M(FST), M(FST), X87_STORE, 0 },
	{ M(FSTP), M(FSTP), X87_STORE, 1 },
	{ M(FSUB), M(FSUB), X87_SUM, 0 },
	{ M(FSUBP), M(FSUBP), X87_SUM, 1 },
	{ M(FSUBR), M(FSUBR), X87_SUM, 0 },
	{ M(FSUBRP), M(FSUBRP), X87_SUM, 1 },
	{ M(FTST), M(FTST), X87_STATUS, 0 },
	{ M(FUCOM), M(FUCOM), X87_STATUS, 0 },
	{ M(FUCOMI), M(FUCOMI), X87_FLAGS, 0 },
	{ M(FUCOMIP), M(FUCOMIP), X87_FLAGS, 1 },
	{ M(FUCOMP), M(FUCOMP), X87_STATUS, 1 },
	{ M(FUCOMPP), M(FUCOMPP), X87_STATUS, 2 },
	{ M(FWAIT), M(FWAIT), X87_NOTHING, 0 },
	{ M(FXAM), M(FXAM), X87_STATUS, 0 },
	{ M(FXCH), M(FXCH), X87_SWAP, 0 },
	{ M(FXTRACT), M(FXTRACT), X87_SPLIT, 0 },
	{ M(FYL2X), M(FYL2XP1), X87_DOWN, 1 },
};

static void put(struct bytes_regs *r, int st, bool has_none)
{
	r->x87 = (r->x87 & ~(1u << st)) | (unsigned)has_none << st;
}

static void push(struct bytes_regs *r, bool has_none)
{
	r->x87 = r->x87 << 1 | has_none;
}

/* Has operand @p op any bit without a value? */
static bool lacks(const struct bytes_flow *f, int op)
{
	const struct model_op *o = &f->m->op[op];
	const struct dec_ref *r = fl_flow_memory(f->s, false);

	if (o->kind == MODEL_X87_REG)
		return f->r->x87 >> o->reg & 1;
	return o->kind == MODEL_MEM && r &&
	       fl_values_first(&f->w->values, r->addr, r->size) != UINT64_MAX;
}

/* .. any operand; of only one, and of none, st(0), or that and st(1), are meant, too. */
static bool any_lacks(const struct bytes_flow *f)
{
	bool any = f->m->n < 2 && f->r->x87 & 1;

	for (int op = 0; op < f->m->n; op++)
		any |= lacks(f, op);
	return any || (!f->m->n && f->r->x87 & 2);
}

static int first_reg(const struct bytes_flow *f)
{
	return f->m->n && f->m->op[0].kind == MODEL_X87_REG ? f->m->op[0].reg : 0;
}

/* What it stores, if anything, has a value. */
static struct err *nothing(const struct bytes_flow *f)
{
	const struct dec_ref *to = fl_flow_memory(f->s, true);

	return to ? fl_values_set(&f->w->values, to->addr, to->size, true) : NULL;
}

static struct err *store(const struct bytes_flow *f)
{
	const struct dec_ref *to = fl_flow_memory(f->s, true);

	if (to)
		return fl_values_set(&f->w->values, to->addr, to->size, !(f->r->x87 & 1));
	put(f->r, first_reg(f), f->r->x87 & 1);
	return NULL;
}

/* Conditions are bits 8 to 10, and 14. */
static struct err *tell(const struct bytes_flow *f)
{
	return fl_flow_put(f, 0, f->r->no_status ? 0x4700 : 0);
}

static struct err *go(const struct bytes_flow *f, enum x87_kind kind)
{
	struct bytes_regs *r = f->r;
	int other = f->m->n ? f->m->op[f->m->n - 1].reg : 1;
	bool a = r->x87 & 1;

	switch (kind) {
	case X87_NOTHING:
		return nothing(f);
	case X87_LOAD:
		push(r, lacks(f, f->m->n - 1));
		return NULL;
	case X87_CONSTANT:
		push(r, false);
		return NULL;
	case X87_STORE:
		return store(f);
	case X87_SUM:
		put(r, first_reg(f), any_lacks(f));
		return NULL;
	case X87_BOTH:
		put(r, 0, r->x87 & 3);
		return NULL;
	case X87_DOWN:
		put(r, 1, r->x87 & 3);
		return NULL;
	case X87_SPLIT:
		push(r, a);
		return NULL;
	case X87_FLAGS:
		fl_flow_clear_flags(r);
		r->no_zero = r->no_carry = r->no_parity = any_lacks(f);
		return NULL;
	case X87_STATUS:
		r->no_status = f->m->mnemonic == M(FTST) || f->m->mnemonic == M(FXAM) ?
				       a :
				       any_lacks(f);
		return NULL;
	case X87_TELL:
		return tell(f);
	case X87_SWAP:
		put(r, 0, r->x87 >> other & 1);
		put(r, other, a);
		return NULL;
	case X87_MOVE:
		put(r, 0, fl_values_is_undecided(r, f->m) || (a && r->x87 >> other & 1));
		return NULL;
	default:
		return NULL;
	}
}

struct err *fl_values_flow_x87(const struct bytes_flow *f)
{
	uint16_t m = f->m->mnemonic;
	struct err *err;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (m < kinds[i].first || m > kinds[i].last)
			continue;
		err = go(f, kinds[i].kind);
		f->r->x87 >>= kinds[i].pops;
		fl_values_put_x87(f->r);
		return err;
	}
	return fl_flow_other(f);
}
