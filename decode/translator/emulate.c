// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/emulate.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "decode/x86/zydis.h"

#define XSAVE_FIP 8 ///< where the area holds the last x87 instruction's address

static void engine_pass(struct dec_ctx *c, bool is_integer)
{
	if (!is_integer) {
		dec_enter(c);
		return;
	}
	c->common = (uint64_t)dec_exit_integer;
	dec_enter_integer(c);
	c->common = (uint64_t)dec_exit;
}

void dec_engine_go(struct dec_engine *e, const struct engine_block *block)
{
	struct dec_ctx *c = e->ctx;
	uint64_t fs_base = c->fs_base;
	uint32_t lacks = c->lacks;

	if (block->shows_x87)
		dec_engine_settle_x87(e);
	if (!block->is_gs && !block->is_fs) {
		engine_pass(c, block->is_integer);
		return;
	}
	if (block->is_gs)
		c->fs_base = c->gs_base;
	c->lacks &= ~CTX_HAS_NO_FS;
	engine_pass(c, block->is_integer);
	c->lacks = lacks;
	if (block->is_gs)
		c->fs_base = fs_base;
}

void dec_engine_settle_x87(const struct dec_engine *e)
{
	uint64_t at;

	memcpy(&at, e->ctx->xsave + XSAVE_FIP, 8);
	for (size_t i = 0; i < e->arenas.size; i++) {
		const struct engine_arena *a = &e->arenas.data[i];
		uint64_t from = (uint64_t)a->start, offset = at - from;

		// All that fnstenv tells.
		if (at <= UINT32_MAX && e->ctx->lacks & CTX_LACKS_X87_PLACE)
			offset = (uint32_t)offset;
		if (offset >= (uint64_t)a->end - from)
			continue;
		at = dec_engine_guest_rip(e, from + offset);
		memcpy(e->ctx->xsave + XSAVE_FIP, &at, 8);
		return;
	}
}

/* ---- emulation ------------------------------------------------------------------- */

/* The one register operand of rd/wrgsbase: f3, REX, 0f ae. */
static int emulate_reg(const struct dec_insn *insn)
{
	return __builtin_ctz(insn->gpr_read | insn->gpr_written);
}

static uint64_t emulate_narrow(const struct dec_insn *insn, uint64_t v)
{
	bool is_wide = false;

	for (int i = 0; i < insn->len - 3; i++)
		is_wide |= (insn->bytes[i] & 0xf8) == 0x48;
	return is_wide ? v : (uint32_t)v;
}

static enum dec_verdict emulate_fault(struct dec_engine *e)
{
	e->ctx->fault_signo = SIGSEGV;
	e->ctx->fault_addr = 0;
	return e->world.fault(e->world.ctx, e);
}

enum dec_verdict dec_engine_emulate(struct dec_engine *e, const struct dec_insn *insn)
{
	struct dec_ctx *c = e->ctx;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_RDGSBASE:
		c->gpr[emulate_reg(insn)] = emulate_narrow(insn, c->gs_base);
		break;
	case ZYDIS_MNEMONIC_WRGSBASE:
		c->gs_base = emulate_narrow(insn, c->gpr[emulate_reg(insn)]);
		break;
	case ZYDIS_MNEMONIC_RDPKRU:
		if ((uint32_t)c->gpr[CAP_RCX])
			return emulate_fault(e);
		c->gpr[CAP_RAX] = (uint32_t)c->pkru;
		c->gpr[CAP_RDX] = 0;
		break;
	case ZYDIS_MNEMONIC_WRPKRU:
		if ((uint32_t)c->gpr[CAP_RCX] || (uint32_t)c->gpr[CAP_RDX])
			return emulate_fault(e);
		c->pkru = (uint32_t)c->gpr[CAP_RAX];
		break;
	}
	c->rip += insn->len;
	e->now++;
	return DEC_GO;
}

bool dec_engine_lacks(const struct dec_engine *e, const struct dec_insn *insn)
{
	return (insn->mnemonic == ZYDIS_MNEMONIC_LZCNT &&
		e->lzcnt == ENGINE_ONLY_THERE) ||
	       (insn->mnemonic == ZYDIS_MNEMONIC_TZCNT && e->tzcnt == ENGINE_ONLY_THERE);
}

void dec_engine_reduce(const struct dec_engine *e, struct dec_insn *insn)
{
	uint8_t bytes[15];

	if (!(insn->mnemonic == ZYDIS_MNEMONIC_LZCNT && e->lzcnt == ENGINE_ONLY_HERE) &&
	    !(insn->mnemonic == ZYDIS_MNEMONIC_TZCNT && e->tzcnt == ENGINE_ONLY_HERE))
		return;
	memcpy(bytes, insn->bytes, insn->len);
	*(uint8_t *)memchr(bytes, 0xf3, insn->len) = 0x3e; // ds: means nothing
	dec_insn_decode(bytes, insn->len, insn->rip, insn);
}

const char *dec_engine_lacking_text(const struct dec_insn *insn)
{
	static char text[200];

	snprintf(
		text, sizeof(text),
		"%s is an instruction of %s, which this CPU lacks; replay it on one that "
		"has it, or record with --portable",
		dec_insn_name(insn), dec_insn_isa_name(insn->isa));
	return text;
}

const char *dec_engine_forbidden_text(const struct dec_insn *insn)
{
	static char text[160];
	const char *name = ZydisMnemonicGetString(insn->mnemonic);

	if (insn->mnemonic == ZYDIS_MNEMONIC_INT && insn->bytes[insn->len - 1] == 0x80)
		name = "int 0x80 (a 32-bit system call)";
	snprintf(text, sizeof(text), "%s is an instruction that cannot be replayed",
		 name ? name : "this");
	return text;
}
