// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/past/recover_form.h"

#include <string.h>

/* What is tracked beside the general registers: vectors, masks, flags. */
#define FORM_OTHERS ((1ull << (DEC_REG_FLAGS - DEC_GPRS + 1)) - 1)

/* ---- slots ------------------------------------------------------------------------------ */

static int form_add_regs(uint8_t *slot, uint32_t gpr, uint64_t other)
{
	int n = 0;

	for (; gpr; gpr &= gpr - 1)
		slot[n++] = __builtin_ctz(gpr);
	for (other &= FORM_OTHERS; other; other &= other - 1)
		slot[n++] = DEC_GPRS + __builtin_ctzll(other);
	return n;
}

static struct err *form_add_slots(struct past_form *f)
{
	const struct dec_insn *insn = &f->insn;
	uint8_t slot[2 * 64 + 2 * DEC_MEMS];
	int n = form_add_regs(slot, insn->gpr_read, insn->other_read);

	for (int m = 0; m < insn->n_mem && !f->is_wild; m++) {
		if (insn->mem[m].is_read)
			slot[n + f->n_mem_in++] = 0x80 | m;
	}
	f->n_in = n + f->n_mem_in;
	n = f->n_in +
	    form_add_regs(slot + f->n_in, insn->gpr_written, insn->other_written);
	for (int m = 0; m < insn->n_mem && !f->is_wild; m++) {
		if (insn->mem[m].is_write)
			slot[n + f->n_mem_out++] = 0x80 | m;
	}
	f->n_out = n + f->n_mem_out - f->n_in;
	f->slot = malloc(f->n_in + f->n_out + 1);
	if (!f->slot)
		return &err_nomem;
	memcpy(f->slot, slot, f->n_in + f->n_out);
	f->flags_in = past_slot_of(f, DEC_REG_FLAGS, false);
	f->flags_out = past_slot_of(f, DEC_REG_FLAGS, true);
	f->rsp_in = past_slot_of(f, CAP_RSP, false);
	f->rsp_out = past_slot_of(f, CAP_RSP, true);
	for (int m = 0; m < DEC_MEMS; m++) {
		f->base_in[m] = f->index_in[m] = PAST_NONE;
		if (m >= insn->n_mem || insn->mem[m].is_absolute)
			continue;
		if (insn->mem[m].base != DEC_REG_NONE)
			f->base_in[m] = past_slot_of(f, insn->mem[m].base, false);
		if (insn->mem[m].index != DEC_REG_NONE)
			f->index_in[m] = past_slot_of(f, insn->mem[m].index, false);
	}
	return NULL;
}

/* ---- operands ---------------------------------------------------------------------------- */

void dec_recover_form_reg_operand(struct past_form *f, struct past_operand *o,
				  ZydisRegister zr)
{
	uint8_t reg = dec_insn_reg(zr);

	if (reg >= DEC_REG_FLAGS)
		return;
	o->reg = reg;
	o->type = reg < DEC_GPRS  ? PAST_OP_GPR :
		  reg < DEC_REG_K ? PAST_OP_VEC :
				    PAST_OP_K;
	if (zr == ZYDIS_REGISTER_AH || zr == ZYDIS_REGISTER_BH ||
	    zr == ZYDIS_REGISTER_CH || zr == ZYDIS_REGISTER_DH)
		o->shift = 8;
	o->in = past_slot_of(f, o->reg, false);
	o->out = past_slot_of(f, o->reg, true);
}

static void form_agen(struct past_form *f, const ZydisDecodedInstruction *d,
		      const ZydisDecodedOperand *op)
{
	struct past_operand base = { .in = PAST_NONE }, index = { .in = PAST_NONE };

	f->agen_disp = op->mem.disp.value;
	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP)
		f->agen_disp += f->insn.rip + f->insn.len;
	else if (op->mem.base != ZYDIS_REGISTER_NONE)
		dec_recover_form_reg_operand(f, &base, op->mem.base);
	if (op->mem.index != ZYDIS_REGISTER_NONE)
		dec_recover_form_reg_operand(f, &index, op->mem.index);
	f->agen_base = base.in;
	f->agen_index = index.in;
	f->agen_scale = op->mem.scale ? op->mem.scale : 1;
	f->agen_bits = d->address_width;
}

static bool form_is_listed(const ZydisDecodedOperand *op, const struct dec_mem *m)
{
	return op->mem.type == ZYDIS_MEMOP_TYPE_MEM && m->size <= op->size / 8;
}

/* EVEX names k0 where no mask applies. */
bool dec_recover_form_is_no_mask(const struct form_maker *k,
				 const ZydisDecodedOperand *op)
{
	return op->encoding == ZYDIS_OPERAND_ENCODING_MASK &&
	       k->d.avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED;
}

/* @return whether all register sources, two at least, are one register. */
static bool form_has_one_source(const struct form_maker *k)
{
	const struct past_form *f = k->f;
	int from = k->d.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ? 1 : 0;

	for (int i = from; i < from + 2; i++) {
		if (i >= f->n_ops || f->op[i].type == PAST_OP_NONE ||
		    f->op[i].type >= PAST_OP_MEM || f->op[i].reg != f->op[from].reg ||
		    f->op[i].shift != f->op[from].shift)
			return false;
	}
	return true;
}

static void form_add_operands(struct form_maker *k)
{
	struct past_form *f = k->f;
	int m = 0;

	f->agen_base = f->agen_index = PAST_NONE;
	for (int i = 0; i < k->d.operand_count && f->n_ops < PAST_OPERANDS; i++) {
		const ZydisDecodedOperand *op = &k->ops[i];
		struct past_operand *o = &f->op[f->n_ops];

		if (dec_recover_form_is_no_mask(k, op))
			continue;
		*o = (struct past_operand){ .in = PAST_NONE, .out = PAST_NONE };
		o->bits = op->size;
		o->element = op->element_size / 8;
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
				form_agen(f, &k->d, op);
			} else if (m < f->insn.n_mem && !f->is_wild &&
				   form_is_listed(op, &f->insn.mem[m])) {
				o->type = PAST_OP_MEM;
				o->in = past_slot_of(f, 0x80 | m, false);
				o->out = past_slot_of(f, 0x80 | m, true);
				o->bits = f->insn.mem[m].size * 8;
				m++;
			}
		} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			dec_recover_form_reg_operand(f, o, op->reg.value);
			if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
				o->out = PAST_NONE;
		} else if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			o->type = PAST_OP_IMM;
			f->imm = op->imm.value.s;
		}
		if (op->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
		    o->type != PAST_OP_NONE)
			f->n_ops++;
	}
	f->is_same = form_has_one_source(k);
}

/* ---- memory that no operand tells ----------------------------------------------------- */

/* @return whether a memory operand is not as dec_insn.mem describes it. */
static bool form_has_odd_memory(const struct form_maker *k)
{
	const struct dec_insn *insn = &k->f->insn;

	for (int i = 0, m = 0; i < k->d.operand_count; i++) {
		const ZydisDecodedOperand *op = &k->ops[i];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    k->d.meta.category == ZYDIS_CATEGORY_NOP ||
		    k->d.meta.category == ZYDIS_CATEGORY_WIDENOP ||
		    k->d.meta.category == ZYDIS_CATEGORY_PREFETCH ||
		    k->d.meta.category == ZYDIS_CATEGORY_PREFETCHWT1)
			continue;
		if (m >= insn->n_mem || insn->mem[m].is_gs ||
		    !form_is_listed(op, &insn->mem[m]))
			return true;
		m++;
	}
	if (dec_insn_is_bit_test(insn->mnemonic))
		return insn->n_mem && insn->is_slow_addr;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_POP:
		return insn->is_slow_addr;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_CALL:
		return insn->n_mem && insn->mem[insn->n_mem - 1].size != 8;
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_XLAT:
		return true;
	default:
		return dec_insn_mask_bytes(insn->mnemonic) == 1;
	}
}

/* Where fxsave, xsave and their kin save, and how much at least: what there was of the state
 * before AVX-512 (the manual, volume 1, 13.4). */
static void form_set_save(struct form_maker *k)
{
	enum dec_insn_image image = dec_insn_saves(k->d.mnemonic);

	if (image != DEC_INSN_IMAGE_FX && image != DEC_INSN_IMAGE_EXTENDED)
		return;
	k->f->saves = image == DEC_INSN_IMAGE_FX ? 512 : 832;
	k->f->saves_more = image == DEC_INSN_IMAGE_EXTENDED;
	form_agen(k->f, &k->d, &k->ops[0]);
}

/* ---- kinds -------------------------------------------------------------------------------- */

static enum past_kind form_scalar_kind(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVNTI:
	case ZYDIS_MNEMONIC_KMOVB ... ZYDIS_MNEMONIC_KMOVW:
		return PAST_MOV;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
		return PAST_MOVSX;
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
		return PAST_SIGN;
	case ZYDIS_MNEMONIC_LEA:
		return PAST_LEA;
	case ZYDIS_MNEMONIC_ADD:
		return PAST_ADD;
	case ZYDIS_MNEMONIC_SUB:
		return PAST_SUB;
	case ZYDIS_MNEMONIC_CMP:
		return PAST_CMP;
	case ZYDIS_MNEMONIC_AND:
		return PAST_AND;
	case ZYDIS_MNEMONIC_TEST:
		return PAST_TEST;
	case ZYDIS_MNEMONIC_OR:
		return PAST_OR;
	case ZYDIS_MNEMONIC_XOR:
		return PAST_XOR;
	case ZYDIS_MNEMONIC_INC:
		return PAST_INC;
	case ZYDIS_MNEMONIC_DEC:
		return PAST_DEC;
	case ZYDIS_MNEMONIC_NEG:
		return PAST_NEG;
	case ZYDIS_MNEMONIC_NOT:
		return PAST_NOT;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return PAST_SHIFT;
	case ZYDIS_MNEMONIC_XCHG:
		return PAST_XCHG;
	case ZYDIS_MNEMONIC_XADD:
		return PAST_XADD;
	case ZYDIS_MNEMONIC_BSWAP:
		return PAST_BSWAP;
	case ZYDIS_MNEMONIC_PUSH:
		return PAST_PUSH;
	case ZYDIS_MNEMONIC_POP:
		return PAST_POP;
	case ZYDIS_MNEMONIC_LEAVE:
		return PAST_LEAVE;
	case ZYDIS_MNEMONIC_TZCNT:
	case ZYDIS_MNEMONIC_BSF:
		return PAST_SCAN;
	case ZYDIS_MNEMONIC_VZEROUPPER:
		return PAST_ZEROUPPER;
	default:
		return PAST_OPAQUE;
	}
}

/* What kmov moves is narrower than the registers that it names. */
static void form_set_kmov(struct form_maker *k)
{
	struct past_operand *to = &k->f->op[0], *from = &k->f->op[1];
	int bits = k->d.mnemonic == ZYDIS_MNEMONIC_KMOVB ? 8 :
		   k->d.mnemonic == ZYDIS_MNEMONIC_KMOVW ? 16 :
		   k->d.mnemonic == ZYDIS_MNEMONIC_KMOVD ? 32 :
							   64;

	if (to->type != PAST_OP_K && from->type != PAST_OP_K)
		return;
	from->bits = bits;
	to->bits = to->type == PAST_OP_GPR && bits < 32 ? 32 : bits;
}

/* The scalar rules know general and mask registers, memory up to 8 bytes, immediates. */
static bool form_is_scalar(const struct form_maker *k)
{
	for (int i = 0; i < k->f->n_ops; i++) {
		const struct past_operand *o = &k->f->op[i];

		if (k->d.mnemonic == ZYDIS_MNEMONIC_LEA && i == 1)
			break;
		if (k->ops[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		    k->d.operand_count_visible)
			break;
		if (o->type == PAST_OP_NONE || o->type == PAST_OP_VEC || o->bits > 64)
			return false;
	}
	return true;
}

static bool form_name_begins(const struct form_maker *k, const char *const *names)
{
	const char *name = ZydisMnemonicGetString(k->d.mnemonic);

	if (name[0] == 'v')
		name++;
	for (; *names; names++) {
		if (strncmp(name, *names, strlen(*names)) == 0)
			return true;
	}
	return false;
}

/* Instructions that only carry bytes from one place to another, whatever they are. */
static bool form_is_perm(const struct form_maker *k)
{
	static const char *const names[] = {
		"mov",	   "punpck",  "unpck",	   "pshufd",	 "pshufhw", "pshuflw",
		"shufp",   "palignr", "broadcast", "pbroadcast", "extract", "insertf",
		"inserti", "pinsr",   "pextr",	   "psrldq",	 "pslldq",  "lddqu",
		"pmovzx",  "permq",   "permpd",	   "perm2",	 NULL
	};
	static const char *const not [] = { "movmsk", NULL };

	return form_name_begins(k, names) && !form_name_begins(k, not ) &&
	       k->d.mnemonic != ZYDIS_MNEMONIC_VPBROADCASTMB2Q &&
	       k->d.mnemonic != ZYDIS_MNEMONIC_VPBROADCASTMW2D &&
	       !(k->d.operand_count_visible == 3 &&
		 k->ops[2].type != ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		 form_name_begins(k, (const char *const[]){ "permq", "permpd", NULL }));
}

/* Each lane of the result depends on that lane of the sources only. @return its bytes. */
static int form_lane(const struct form_maker *k)
{
	static const char *const bytes[] = { "pand", "por",  "pxor",  "andp", "andnp",
					     "orp",  "xorp", "ptern", NULL };
	static const char *const lanes[] = { "pcmpeq", "pcmpgt", "padd", "psub",  "pmin",
					     "pmax",   "pavg",	 "pabs", "psign", "pmull",
					     "addp",   "subp",	 "mulp", "divp",  "minp",
					     "maxp",   "sqrtp",	 NULL };
	static const char *const not [] = { "addsubp", NULL };

	if (form_name_begins(k, bytes))
		return 1;
	if (form_name_begins(k, lanes) && !form_name_begins(k, not ))
		return k->f->op[0].element ? k->f->op[0].element : 8;
	return 0;
}

static bool form_is_mask(const struct form_maker *k)
{
	static const char *const names[] = { "pmovmskb", "movmskp", NULL };
	static const char *const compares[] = { "pcmp", "ptestm", "ptestnm", NULL };

	return form_name_begins(k, names) ||
	       (k->f->op[0].type == PAST_OP_K && form_name_begins(k, compares));
}

static enum past_kind form_vector_kind(struct form_maker *k)
{
	static const char *const idioms[] = { "pxor",	"xorp",	 "psub",  "pcmpgt",
					      "pcmpeq", "pandn", "andnp", NULL };
	struct past_form *f = k->f;

	if (k->d.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED && f->n_mem_out)
		return f->is_native && form_is_perm(k) ? PAST_MASKED_STORE : PAST_OPAQUE;
	// Other masks are left to the CPU, which needs all of the sources.
	if (k->d.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED || !f->is_native)
		return PAST_NATIVE;
	if (form_is_mask(k))
		return PAST_MASK;
	if (f->n_out != 1)
		return PAST_NATIVE;
	if (form_is_perm(k))
		return PAST_PERM;
	if (form_lane(k) && f->op[0].type == PAST_OP_VEC) {
		f->op[0].element = form_lane(k);
		f->is_const = f->is_same && form_name_begins(k, idioms);
		return PAST_LANES;
	}
	return PAST_NATIVE;
}

static enum past_kind form_kind(struct form_maker *k)
{
	struct past_form *f = k->f;
	enum past_kind kind;

	f->cc = k->d.opcode & 15;
	if (k->d.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return PAST_STRING;
	if (f->insn.flow != DEC_FLOW_NEXT)
		return f->insn.flow <= DEC_FLOW_RET ? PAST_BRANCH : PAST_OPAQUE;
	if (f->is_wild)
		return PAST_OPAQUE;
	if (k->d.meta.category == ZYDIS_CATEGORY_SETCC)
		return PAST_SET;
	if (k->d.meta.category == ZYDIS_CATEGORY_CMOV)
		return PAST_CMOV;
	if (k->d.mnemonic == ZYDIS_MNEMONIC_IMUL && k->d.operand_count_visible > 1 &&
	    form_is_scalar(k))
		return PAST_IMUL;
	kind = form_scalar_kind(k->d.mnemonic);
	if (kind == PAST_MOV)
		form_set_kmov(k);
	if (kind == PAST_ZEROUPPER)
		return kind;
	if (kind != PAST_OPAQUE && form_is_scalar(k))
		return kind;
	return f->is_native ? form_vector_kind(k) : PAST_OPAQUE;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

/* Those that dec_insn leaves to others: what the kernel reads and writes. */
static void form_set_syscall(struct past_form *f)
{
	f->insn.gpr_read = 1u << CAP_RAX | 1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX |
			   1u << 10 | 1u << 8 | 1u << 9;
	f->insn.gpr_written = 1u << CAP_RAX | 1u << CAP_RCX | 1u << 11;
	f->insn.other_read = f->insn.other_written = 0;
	f->kind = PAST_SYSCALL;
	f->is_wild = true;
}

struct err *dec_recover_form_init(struct past_form *f, const struct dec_insn *insn)
{
	struct form_maker k = { .f = f };
	struct err *err;

	*f = (struct past_form){ .insn = *insn };
	if (insn->flow == DEC_FLOW_SYSCALL) {
		form_set_syscall(f);
		return form_add_slots(f);
	}
	if (!dec_insn_zydis(insn->bytes, insn->len, &k.d, k.ops)) {
		f->is_wild = true;
		return form_add_slots(f);
	}
	f->is_wild = form_has_odd_memory(&k);
	f->is_bulk = insn->is_rep && k.d.meta.category == ZYDIS_CATEGORY_STRINGOP;
	err = form_add_slots(f);
	if (err)
		return err;
	form_add_operands(&k);
	form_set_save(&k);
	f->is_native = dec_recover_form_runs(&k);
	f->kind = form_kind(&k);
	return NULL;
}

void dec_recover_form_deinit(struct past_form *f)
{
	free(f->slot);
	free(f->perm);
}
