// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What a nullifying run wants to know of an instruction: which registers are data, which only
 * parts of addresses, which are written in whole, and whether it copies.
 */
#include "decode/machine/nullify_int.h"
#include "decode/translator/touch.h"
#include "decode/x86/zydis.h"

static bool is_copy(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_VMOVD:
	case ZYDIS_MNEMONIC_VMOVQ:
		return true;
	default:
		return dec_insn_is_vector_copy(m);
	}
}

/* The operands as Zydis has them: those of memory are not registers' business. */
static void add_registers(struct nul_insn *i, const ZydisDecodedInstruction *d,
			  const ZydisDecodedOperand *ops)
{
	for (int k = 0; k < d->operand_count; k++) {
		const ZydisDecodedOperand *o = &ops[k];
		uint8_t reg = DEC_REG_NONE;

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && !dec_insn_is_no_mask(o))
			reg = dec_insn_reg(o->reg.value);
		if (reg == DEC_REG_NONE || reg >= 64)
			continue;
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			i->reads |= BIT(reg);
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && reg < DEC_GPRS &&
		    (o->size < 32 || o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
			i->merges |= BIT(reg);
	}
}

static bool is_zeroing(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *ops)
{
	int n = d->operand_count_visible;

	return dec_insn_is_zeroing(d->mnemonic) && n >= 2 &&
	       ops[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[n - 1].reg.value == ops[n - 2].reg.value;
}

static void describe(struct nul_insn *i)
{
	const struct dec_insn *insn = &i->insn;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	const uint64_t rsp = BIT(CAP_RSP);

	for (int m = 0; m < insn->n_mem; m++) {
		if (insn->mem[m].base != DEC_REG_NONE)
			i->addrs |= BIT(insn->mem[m].base);
		if (insn->mem[m].index != DEC_REG_NONE)
			i->addrs |= BIT(insn->mem[m].index);
	}
	i->writes = insn->gpr_written | insn->other_written << DEC_REG_VEC;
	if (insn->writes_flags)
		i->writes |= BIT(DEC_REG_FLAGS);
	i->reads = insn->other_read << DEC_REG_VEC;
	if (insn->reads_flags)
		i->reads |= BIT(DEC_REG_FLAGS);
	if (dec_insn_zydis(insn->bytes, insn->len, &d, ops)) {
		add_registers(i, &d, ops);
		if (is_zeroing(&d, ops))
			i->reads &= BIT(DEC_REG_FLAGS) * insn->reads_flags;
		else if (d.mnemonic == ZYDIS_MNEMONIC_LEA)
			i->reads |= insn->gpr_read;
		// The other half is loaded next.
		if (d.mnemonic == ZYDIS_MNEMONIC_MOVLPD ||
		    d.mnemonic == ZYDIS_MNEMONIC_MOVLPS)
			i->reads &= ~(i->writes & (insn->n_mem ? UINT64_MAX : 0));
		i->is_copy = is_copy(d.mnemonic);
	}
	// The machine's own state is no data.
	i->reads &= ~(rsp | BIT(DEC_REG_RIP) | BIT(DEC_REG_MXCSR));
	i->moves_stack = i->writes & rsp;
	i->writes &= ~(rsp | BIT(DEC_REG_RIP) | BIT(DEC_REG_MXCSR));
	i->merges &= i->writes;
	if (insn->is_rep)
		i->addrs |= BIT(CAP_RCX);
	i->addrs &= ~rsp;
}

uint32_t dec_nullify_insn(struct nul_run *n, uint64_t rip)
{
	const uint64_t *at = map_get(&n->insn_of, rip);
	struct nul_insn *i;
	struct dec_insn insn;

	if (at)
		return *at;
	if (!dec_guest_insn(&n->r->guest, rip, &insn))
		return UINT32_MAX;
	i = vec_push(&n->insns);
	if (!i || map_put(&n->insn_of, rip, n->insns.size - 1)) {
		n->has_no_memory = true;
		return UINT32_MAX;
	}
	i->insn = insn;
	describe(i);
	for (uint32_t p = 0; p < n->ask->n_points; p++)
		i->has_point |= n->ask->points[p].rip == rip;
	return n->insns.size - 1;
}

/* Of instructions whose operands alone do not say it. */
static int touches(struct nul_run *n, const struct nul_insn *i,
		   struct nul_access ret[NUL_ACCESSES])
{
	const struct dec_engine *e = &n->r->engine;
	struct dec_touch touch[DEC_TOUCHES];
	uint64_t times = i->insn.is_rep ? dec_touch_count(&i->insn, e->ctx->gpr) : 0;
	int count = dec_touch_list(e, &i->insn, e->ctx->gpr, times, touch);

	for (int k = 0; k < count && k < NUL_ACCESSES; k++)
		ret[k] = (struct nul_access){ .is_def = touch[k].is_def,
					      .addr = touch[k].addr,
					      .size = touch[k].size };
	return count < NUL_ACCESSES ? count : NUL_ACCESSES;
}

/* What the address of @p mem was made of: of its base, or where that is the address of something
 * that lies where it lies, of its index. */
static void set_via(const struct nul_run *n, const struct dec_mem *mem,
		    struct nul_access *a)
{
	const uint8_t regs[] = { mem->base, mem->index };

	for (int k = 0; k < 2; k++) {
		const struct nul_value *v = regs[k] < DEC_GPRS ? &n->t->reg[regs[k]] :
								 NULL;

		if (!v || !v->n || (a->via && !(a->via & NUL_RIGHT)))
			continue;
		a->via = v->leaf[0].made;
		a->via_since = v->leaf[0].since;
		a->beyond = v->leaf[0].via;
	}
}

int dec_nullify_accesses(struct nul_run *n, const struct nul_insn *i,
			 struct nul_access ret[NUL_ACCESSES])
{
	const struct dec_ctx *c = n->r->engine.ctx;
	int count = 0;

	if (i->insn.is_slow_addr || i->insn.is_rep) {
		count = touches(n, i, ret);
		for (int k = 0; k < count; k++)
			ret[k].has_corrupt_addr = n->t->corrupt & i->addrs;
		return count;
	}
	for (int m = 0; m < i->insn.n_mem; m++) {
		const struct dec_mem *mem = &i->insn.mem[m];
		struct nul_access a = {
			.addr = dec_insn_address(mem, c->gpr, c->fs_base, c->gs_base),
			.size = mem->size,
			.is_named = mem->index == DEC_REG_NONE &&
				    (mem->is_absolute || mem->base == CAP_RBP ||
				     mem->base == CAP_RSP),
		};
		uint64_t regs = (mem->base < 64 ? BIT(mem->base) : 0) |
				(mem->index < 64 ? BIT(mem->index) : 0);

		a.has_corrupt_addr = n->t->corrupt & regs & i->addrs;
		if (!a.is_named)
			set_via(n, mem, &a);
		if (mem->is_read)
			ret[count++] = a;
		a.is_def = true;
		if (mem->is_write)
			ret[count++] = a;
	}
	return count;
}
