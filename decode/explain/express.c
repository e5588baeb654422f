// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/express.h"

#include <string.h>

#include "decode/explain/follow.h"

#define DEPTH_MAX 12
// A value that was loaded longer ago than this was kept for another reason.
#define INSNS_BACK 20000

struct expresser {
	struct dec_past *past;
	struct dec_symbols *symbols;
	uint32_t tid;
	int depth;
	uint64_t at; ///< where the frame stands that is looked at
};

/* The machine is moved only for what asks for memory: few variables do. */
static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct expresser *e = ctx;
	struct dec_machine *m;
	_cleanup_err_ struct err *err = dec_past_seek(e->past, e->at, &m);

	if (!err)
		err = dec_machine_read(m, addr, buf, size);
	return !err;
}

static struct err *find_frame(struct expresser *e, uint64_t position, uint64_t rip,
			      struct dec_frame *ret)
{
	struct cap_regs regs;
	struct err *err = dec_past_regs(e->past, position, &regs);

	if (err)
		return err;
	e->at = position;
	*ret = (struct dec_frame){
		.rip = rip, .fs_base = regs.fs_base, .read = read_memory, .ctx = e
	};
	memcpy(ret->gpr, regs.gpr, sizeof(ret->gpr));
	return NULL;
}

static bool read_machine(void *ctx, uint64_t addr, void *buf, size_t size)
{
	_cleanup_err_ struct err *err = dec_machine_read(ctx, addr, buf, size);

	return !err;
}

struct err *dec_express_frame(struct dec_past *p, uint64_t position, uint64_t rip,
			      struct dec_frame *ret)
{
	struct expresser e = { .past = p };
	struct dec_machine *m;
	struct err *err = dec_past_seek(p, position, &m);

	if (!err)
		err = find_frame(&e, position, rip, ret);
	if (err)
		return err;
	ret->read = read_machine;
	ret->ctx = m;
	return NULL;
}

static bool is_same_function(struct dec_symbols *s, uint64_t a, uint64_t b)
{
	struct dec_place x = {}, y = {};

	dec_symbols_place(s, a, &x);
	dec_symbols_place(s, b, &y);
	return x.module && y.module && x.outer && y.outer && !strcmp(x.outer, y.outer) &&
	       !strcmp(x.module, y.module);
}

static struct err *express_reg(struct expresser *e, uint64_t position, uint64_t rip,
			       uint8_t reg, struct dec_expression *ret);

/* Which register of @p m leads to @p addr, and is no frame's: its base, or of a sum its index. */
static uint8_t leading(const struct dec_mem *m, const struct dec_frame *f)
{
	if (m->base == DEC_REG_NONE)
		return m->scale == 1 ? m->index : DEC_REG_NONE;
	// What is larger is the address: [rax+rdx] has them in any order.
	if (m->index != DEC_REG_NONE && m->scale == 1 &&
	    f->gpr[m->index] > f->gpr[m->base] && f->gpr[m->index] < 1ull << 47)
		return m->index;
	return m->base;
}

static struct err *express_mem(struct expresser *e, uint64_t position,
			       const struct dec_insn *insn, uint64_t addr, uint64_t bytes,
			       struct dec_expression *ret)
{
	const struct dec_spot spot = { .is_mem = true, .addr = addr };
	const struct dec_mem *m = insn->n_mem ? &insn->mem[0] : NULL;
	struct dec_expression base = {};
	struct dec_frame f;
	struct err *err = find_frame(e, position, insn->rip, &f);
	uint8_t reg;

	if (err)
		return err;
	ret->has_type =
		dec_symbols_variable(e->symbols, &f, &spot, ret->text, &ret->type);
	if (ret->has_type || !m || m->is_fs || m->is_absolute)
		return NULL;
	reg = leading(m, &f);
	if (reg == DEC_REG_NONE || reg == CAP_RSP)
		return NULL;
	err = express_reg(e, position, insn->rip, reg, &base);
	if (err || !base.has_type)
		return err;
	ret->has_type = dec_symbols_behind(&base.type, base.text,
					   (int64_t)(addr - base.value), bytes, ret->text,
					   &ret->type);
	return NULL;
}

/* What was made by step @p s, in the same function. */
static struct err *express_step(struct expresser *e, const struct dec_past_step *s,
				const struct dec_location *l, struct dec_expression *ret)
{
	struct dec_insn insn = *dec_past_insn(e->past, s);
	struct dec_hop hop;

	dec_follow_hop(e->past, s, l, DEC_FOLLOW_POINTER, &hop);
	if (hop.kind != DEC_HOP_COPY && hop.kind != DEC_HOP_OFFSET)
		return NULL;
	if (hop.kind == DEC_HOP_COPY && hop.from.is_mem)
		return express_mem(e, hop.position, &insn, hop.from.addr, hop.from.size,
				   ret);
	if (hop.from.is_mem || hop.from.reg >= DEC_GPRS)
		return NULL;
	// Its value stays that of the pointer: the caller knows how far it goes from there.
	return express_reg(e, hop.position, insn.rip, hop.from.reg, ret);
}

static struct err *express_reg(struct expresser *e, uint64_t position, uint64_t rip,
			       uint8_t reg, struct dec_expression *ret)
{
	const struct dec_location l = { .reg = reg, .tid = e->tid, .size = 8 };
	const struct dec_spot spot = { .reg = reg };
	const struct dec_past_step *s;
	const struct dec_insn *insn;
	struct dec_frame f;
	bool is_far;
	struct err *err;

	if (e->depth++ > DEPTH_MAX)
		return NULL;
	err = find_frame(e, position, rip, &f);
	if (err)
		return err;
	ret->value = f.gpr[reg];
	ret->has_type =
		dec_symbols_variable(e->symbols, &f, &spot, ret->text, &ret->type);
	if (ret->has_type)
		return NULL;
	err = dec_past_writer(e->past, &l, position, &s, &is_far);
	insn = dec_past_insn(e->past, s);
	if (!insn || position - s->position > INSNS_BACK ||
	    !is_same_function(e->symbols, rip, insn->rip))
		return err;
	return express_step(e, s, &l, ret);
}

struct err *dec_express_reg(struct dec_past *p, struct dec_symbols *s, uint64_t position,
			    uint64_t rip, uint32_t tid, uint8_t reg,
			    struct dec_expression *ret)
{
	struct expresser e = { .past = p, .symbols = s, .tid = tid };

	*ret = (struct dec_expression){};
	return express_reg(&e, position, rip, reg, ret);
}

struct err *dec_express_mem(struct dec_past *p, struct dec_symbols *s, uint64_t position,
			    const struct dec_insn *insn, uint32_t tid, uint64_t addr,
			    uint64_t bytes, struct dec_expression *ret)
{
	struct expresser e = { .past = p, .symbols = s, .tid = tid };

	*ret = (struct dec_expression){};
	return express_mem(&e, position, insn, addr, bytes, ret);
}
