// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Sources: Intel SDM volume 1, appendix on x87 transcendental accuracy, and volume 2 of each
 * instruction; AMD APM volumes 3 to 5. Both define the approximations by a bound on their
 * error alone. Not in the list: bsf and bsr of 0, which both vendors' processors of the last
 * twenty years answer by leaving the destination as it was; fxsave and its kin, which differ in
 * where the last x87 instruction was, because nobody reads that and ld.so executes them at
 * each call that it binds.
 */
#include "decode/x86/vendor.h"

#include "decode/x86/zydis.h"

const char *dec_vendor_differs(const struct dec_insn *insn)
{
	if (dec_insn_saves(insn->mnemonic) == DEC_INSN_IMAGE_EXTENDED ||
	    dec_insn_restores(insn->mnemonic) == DEC_INSN_IMAGE_EXTENDED)
		return "where the registers lie in what it saves";
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_FSIN:
	case ZYDIS_MNEMONIC_FCOS:
	case ZYDIS_MNEMONIC_FSINCOS:
	case ZYDIS_MNEMONIC_FPTAN:
	case ZYDIS_MNEMONIC_FPATAN:
	case ZYDIS_MNEMONIC_F2XM1:
	case ZYDIS_MNEMONIC_FYL2X:
	case ZYDIS_MNEMONIC_FYL2XP1:
		return "the last bits of its result";
	case ZYDIS_MNEMONIC_RCPPS ... ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTPS ... ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_VRCPSS:
	case ZYDIS_MNEMONIC_VRCPPS:
	case ZYDIS_MNEMONIC_VRSQRTSS:
	case ZYDIS_MNEMONIC_VRSQRTPS:
	case ZYDIS_MNEMONIC_VRCP14PD ... ZYDIS_MNEMONIC_VRCP14SS:
	case ZYDIS_MNEMONIC_VRSQRT14PD ... ZYDIS_MNEMONIC_VRSQRT14SS:
		return "its approximation";
	case ZYDIS_MNEMONIC_SIDT:
	case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SLDT:
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_LSL:
		return "what it shows of the kernel's tables";
	default:
		return NULL;
	}
}

bool dec_vendor_flags(const struct dec_insn *insn, int n, struct dec_vendor_flag *ret)
{
	ZyanU32 undefined = 0, defined;
	ZydisDecodedInstruction d;
	int by[32] = {};

	for (int i = 0; i < n; i++) {
		if (!dec_insn_zydis(insn[i].bytes, insn[i].len, &d, NULL))
			return false;
		if (!d.cpu_flags)
			continue;
		if (undefined & d.cpu_flags->tested) {
			*ret = (struct dec_vendor_flag){
				by[__builtin_ctz(undefined & d.cpu_flags->tested)], i
			};
			return true;
		}
		defined = d.cpu_flags->modified | d.cpu_flags->set_0 | d.cpu_flags->set_1;
		undefined = (undefined & ~defined) | d.cpu_flags->undefined;
		for (int f = 0; f < 32; f++)
			if (d.cpu_flags->undefined >> f & 1)
				by[f] = i;
	}
	return false;
}
