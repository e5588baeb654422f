// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Vector instructions by their names: those of SSE and of AVX differ by a v, and by whether the first source is the
 * target.
 */
#include <string.h>

#include "faultlocate/bytes/model.h"

#include "decode/x86/zydis.h"

/* What is called @p text, with fields of the tables below. */
#define V(text, kind, ...)                                             \
	{                                                              \
		.name = #text, .family = MODEL_VEC_##kind, __VA_ARGS__ \
	}

/* .. of values_lanes.c. */
#define L(text, kind, ...)                                               \
	{                                                                \
		.name = #text, .family = MODEL_LANES_##kind, __VA_ARGS__ \
	}

/* Names with one of these behind them: how large is a lane, and is it the lowest one alone? */
static const struct {
	const char *name;
	uint8_t lane;
	bool is_scalar;
} suffixes[] = {
	{ "b", 1, false },  { "w", 2, false },	{ "d", 4, false },   { "q", 8, false },
	{ "ps", 4, false }, { "pd", 8, false }, { "ss", 4, true },   { "sd", 8, true },
	{ "ph", 2, false }, { "sh", 2, true },	{ "cph", 4, false }, { "csh", 4, true },
};

static const struct {
	const char *name;
	uint8_t family;
	uint8_t how;
	bool is_unary;
	bool is_triple; ///< the target is a source, too
	bool cancels;	///< of twice the same there is nothing left
	bool is_each;	///< as struct insn_model has it
} stems[] = {
	V(add, LANES),
	V(addsub, LANES),
	V(align, SHUFFLE, .how = SHUFFLE_ALIGN_WHOLE),
	V(and, LOGIC, .how = LOGIC_AND),
	V(andn, LOGIC, .how = LOGIC_ANDN),
	V(blend, SHUFFLE, .how = SHUFFLE_BLEND),
	L(blendm, BLEND),
	V(blendv, CHOOSE),
	V(broadcast, SHUFFLE, .how = SHUFFLE_BROADCAST),
	V(cmp, LANES),
	L(compress, COMPRESS, .is_unary = true),
	V(dbpsadb, LANES),
	V(div, LANES),
	L(expand, EXPAND, .is_unary = true),
	V(fcmadd, LANES, .is_triple = true),
	V(fcmul, LANES),
	V(fmadd, LANES, .is_triple = true),
	V(fmadd132, LANES, .is_triple = true),
	V(fmadd213, LANES, .is_triple = true),
	V(fmadd231, LANES, .is_triple = true),
	V(fmaddsub132, LANES, .is_triple = true),
	V(fmaddsub213, LANES, .is_triple = true),
	V(fmaddsub231, LANES, .is_triple = true),
	V(fmsub132, LANES, .is_triple = true),
	V(fmsub213, LANES, .is_triple = true),
	V(fmsub231, LANES, .is_triple = true),
	V(fmsubadd132, LANES, .is_triple = true),
	V(fmsubadd213, LANES, .is_triple = true),
	V(fmsubadd231, LANES, .is_triple = true),
	V(fmul, LANES),
	V(fnmadd132, LANES, .is_triple = true),
	V(fnmadd213, LANES, .is_triple = true),
	V(fnmadd231, LANES, .is_triple = true),
	V(fnmsub132, LANES, .is_triple = true),
	V(fnmsub213, LANES, .is_triple = true),
	V(fnmsub231, LANES, .is_triple = true),
	V(fpclass, LANES, .is_unary = true),
	L(gatherd, GATHER),
	L(gatherq, GATHER),
	V(getexp, LANES, .is_unary = true),
	V(getmant, LANES, .is_unary = true),
	V(hadd, PAIRS),
	V(hsub, PAIRS),
	V(kadd, LANES),
	V(kand, LOGIC, .how = LOGIC_AND),
	V(kandn, LOGIC, .how = LOGIC_ANDN),
	V(kmov, COPY),
	V(knot, COPY),
	V(kor, LOGIC, .how = LOGIC_OR),
	L(kortest, OR_TEST),
	V(kshiftl, SHIFT, .how = SHIFT_LEFT),
	V(kshiftr, SHIFT, .how = SHIFT_RIGHT),
	V(ktest, TEST),
	V(kxnor, LOGIC, .how = LOGIC_XOR),
	V(kxor, LOGIC, .how = LOGIC_XOR),
	L(maskmov, MASKED),
	V(max, LANES),
	V(min, LANES),
	V(mul, LANES),
	V(or, LOGIC, .how = LOGIC_OR),
	V(pabs, LANES, .is_unary = true),
	V(padd, LANES),
	V(padds, LANES),
	V(paddus, LANES),
	V(pand, LOGIC, .how = LOGIC_AND),
	V(pandn, LOGIC, .how = LOGIC_ANDN),
	V(pavg, LANES),
	V(pblend, SHUFFLE, .how = SHUFFLE_BLEND),
	L(pblendm, BLEND),
	V(pblendv, CHOOSE),
	V(pbroadcast, SHUFFLE, .how = SHUFFLE_BROADCAST),
	V(pcmp, LANES, .cancels = true),
	V(pcmpeq, EQUAL),
	V(pcmpgt, LANES, .cancels = true),
	V(pcmpu, LANES, .cancels = true),
	L(pcompress, COMPRESS, .is_unary = true),
	V(pconflict, LANES, .is_unary = true),
	V(permi2, PICK, .is_triple = true),
	V(permt2, PICK, .is_triple = true),
	L(pexpand, EXPAND, .is_unary = true),
	V(pextr, SHUFFLE, .how = SHUFFLE_EXTRACT),
	L(pgatherd, GATHER),
	L(pgatherq, GATHER),
	V(phadd, PAIRS),
	V(phsub, PAIRS),
	V(pinsr, SHUFFLE, .how = SHUFFLE_INSERT),
	V(plzcnt, LANES, .is_unary = true),
	L(pmaskmov, MASKED),
	V(pmaxs, LANES),
	V(pmaxu, LANES),
	V(pmins, LANES),
	V(pminu, LEAST),
	V(pmulh, LANES),
	V(pmulhu, LANES),
	V(pmull, LANES),
	V(popcnt, LANES, .is_unary = true),
	V(por, LOGIC, .how = LOGIC_OR),
	V(prol, SHIFT, .how = SHIFT_AROUND),
	V(prolv, SHIFT, .how = SHIFT_AROUND, .is_each = true),
	V(pror, SHIFT, .how = SHIFT_AROUND_RIGHT),
	V(prorv, SHIFT, .how = SHIFT_AROUND_RIGHT, .is_each = true),
	L(pscatterd, SCATTER),
	L(pscatterq, SCATTER),
	V(pshld, LANES),
	V(pshldv, LANES, .is_triple = true),
	V(pshrd, LANES),
	V(pshrdv, LANES, .is_triple = true),
	V(psign, LANES),
	V(psll, SHIFT, .how = SHIFT_LEFT),
	V(psllv, SHIFT, .how = SHIFT_LEFT, .is_each = true),
	V(psra, SHIFT, .how = SHIFT_ARITHMETIC),
	V(psrav, SHIFT, .how = SHIFT_ARITHMETIC, .is_each = true),
	V(psrl, SHIFT, .how = SHIFT_RIGHT),
	V(psrlv, SHIFT, .how = SHIFT_RIGHT, .is_each = true),
	V(psub, LANES, .cancels = true),
	V(psubs, LANES),
	V(psubus, LANES),
	L(pternlog, TERNARY, .is_triple = true),
	L(ptestm, TEST),
	L(ptestnm, TEST),
	V(pxor, LOGIC, .how = LOGIC_XOR),
	V(range, LANES),
	V(rcp, LANES, .is_unary = true),
	V(rcp14, LANES, .is_unary = true),
	V(reduce, LANES, .is_unary = true),
	V(rndscale, LANES, .is_unary = true),
	V(round, LANES, .is_unary = true),
	V(rsqrt, LANES, .is_unary = true),
	V(rsqrt14, LANES, .is_unary = true),
	V(scalef, LANES),
	L(scatterd, SCATTER),
	L(scatterq, SCATTER),
	V(sqrt, LANES, .is_unary = true),
	V(sub, LANES),
	V(test, TEST),
	V(xor, LOGIC, .how = LOGIC_XOR),
};

/* .. and those that stand by themselves. */
static const struct {
	const char *name;
	uint8_t family, lane;
	uint8_t from; ///< bytes of a source's lane, if it is another
	uint8_t how;
	bool is_triple;
} whole[] = {
	V(aesdec, LANES, .lane = 16),
	V(aesdeclast, LANES, .lane = 16),
	V(aesenc, LANES, .lane = 16),
	V(aesenclast, LANES, .lane = 16),
	V(aesimc, CONVERT, .lane = 4, .from = 4),
	V(aeskeygenassist, CONVERT, .lane = 8, .from = 8),
	V(broadcastf128, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(broadcastf32x2, SHUFFLE, .lane = 8, .how = SHUFFLE_BROADCAST),
	V(broadcastf32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(broadcastf32x8, SHUFFLE, .lane = 32, .how = SHUFFLE_BROADCAST),
	V(broadcastf64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(broadcastf64x4, SHUFFLE, .lane = 32, .how = SHUFFLE_BROADCAST),
	V(broadcasti128, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(broadcasti32x2, SHUFFLE, .lane = 8, .how = SHUFFLE_BROADCAST),
	V(broadcasti32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(broadcasti32x8, SHUFFLE, .lane = 32, .how = SHUFFLE_BROADCAST),
	V(broadcasti64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(broadcasti64x4, SHUFFLE, .lane = 32, .how = SHUFFLE_BROADCAST),
	V(comisd, COMPARE, .lane = 8),
	V(comish, COMPARE, .lane = 2),
	V(comiss, COMPARE, .lane = 4),
	V(cvtdq2pd, CONVERT, .lane = 8, .from = 4),
	V(cvtdq2ph, CONVERT, .lane = 2, .from = 4),
	V(cvtdq2ps, CONVERT, .lane = 4, .from = 4),
	V(cvtpd2dq, CONVERT, .lane = 4, .from = 8),
	V(cvtpd2ph, CONVERT, .lane = 2, .from = 8),
	V(cvtpd2pi, CONVERT, .lane = 4, .from = 8),
	V(cvtpd2ps, CONVERT, .lane = 4, .from = 8),
	V(cvtpd2qq, CONVERT, .lane = 8, .from = 8),
	V(cvtpd2udq, CONVERT, .lane = 4, .from = 8),
	V(cvtpd2uqq, CONVERT, .lane = 8, .from = 8),
	V(cvtph2dq, CONVERT, .lane = 4, .from = 2),
	V(cvtph2pd, CONVERT, .lane = 8, .from = 2),
	V(cvtph2ps, CONVERT, .lane = 4, .from = 2),
	V(cvtph2psx, CONVERT, .lane = 4, .from = 2),
	V(cvtph2qq, CONVERT, .lane = 8, .from = 2),
	V(cvtph2udq, CONVERT, .lane = 4, .from = 2),
	V(cvtph2uqq, CONVERT, .lane = 8, .from = 2),
	V(cvtph2uw, CONVERT, .lane = 2, .from = 2),
	V(cvtph2w, CONVERT, .lane = 2, .from = 2),
	V(cvtpi2pd, CONVERT, .lane = 8, .from = 4),
	V(cvtpi2ps, LOW, .lane = 8),
	V(cvtps2dq, CONVERT, .lane = 4, .from = 4),
	V(cvtps2pd, CONVERT, .lane = 8, .from = 4),
	V(cvtps2ph, CONVERT, .lane = 2, .from = 4),
	V(cvtps2phx, CONVERT, .lane = 2, .from = 4),
	V(cvtps2pi, CONVERT, .lane = 4, .from = 4),
	V(cvtps2qq, CONVERT, .lane = 8, .from = 4),
	V(cvtps2udq, CONVERT, .lane = 4, .from = 4),
	V(cvtps2uqq, CONVERT, .lane = 8, .from = 4),
	V(cvtqq2pd, CONVERT, .lane = 8, .from = 8),
	V(cvtqq2ph, CONVERT, .lane = 2, .from = 8),
	V(cvtqq2ps, CONVERT, .lane = 4, .from = 8),
	V(cvtsd2sh, LOW, .lane = 2, .from = 8),
	{ .name = "cvtsd2si", .family = MODEL_ALL, .lane = 8 },
	V(cvtsd2ss, LOW, .lane = 4, .from = 8),
	{ .name = "cvtsd2usi", .family = MODEL_ALL, .lane = 8 },
	V(cvtsh2sd, LOW, .lane = 8, .from = 2),
	{ .name = "cvtsh2si", .family = MODEL_ALL, .lane = 2 },
	V(cvtsh2ss, LOW, .lane = 4, .from = 2),
	{ .name = "cvtsh2usi", .family = MODEL_ALL, .lane = 2 },
	V(cvtsi2sd, LOW, .lane = 8),
	V(cvtsi2sh, LOW, .lane = 2, .from = 8),
	V(cvtsi2ss, LOW, .lane = 4, .from = 8),
	V(cvtss2sd, LOW, .lane = 8, .from = 4),
	V(cvtss2sh, LOW, .lane = 2, .from = 4),
	{ .name = "cvtss2si", .family = MODEL_ALL, .lane = 4 },
	{ .name = "cvtss2usi", .family = MODEL_ALL, .lane = 4 },
	V(cvttpd2dq, CONVERT, .lane = 4, .from = 8),
	V(cvttpd2pi, CONVERT, .lane = 4, .from = 8),
	V(cvttpd2qq, CONVERT, .lane = 8, .from = 8),
	V(cvttpd2udq, CONVERT, .lane = 4, .from = 8),
	V(cvttpd2uqq, CONVERT, .lane = 8, .from = 8),
	V(cvttph2dq, CONVERT, .lane = 4, .from = 2),
	V(cvttph2qq, CONVERT, .lane = 8, .from = 2),
	V(cvttph2udq, CONVERT, .lane = 4, .from = 2),
	V(cvttph2uqq, CONVERT, .lane = 8, .from = 2),
	V(cvttph2uw, CONVERT, .lane = 2, .from = 2),
	V(cvttph2w, CONVERT, .lane = 2, .from = 2),
	V(cvttps2dq, CONVERT, .lane = 4, .from = 4),
	V(cvttps2pi, CONVERT, .lane = 4, .from = 4),
	V(cvttps2qq, CONVERT, .lane = 8, .from = 4),
	V(cvttps2udq, CONVERT, .lane = 4, .from = 4),
	V(cvttps2uqq, CONVERT, .lane = 8, .from = 4),
	{ .name = "cvttsd2si", .family = MODEL_ALL, .lane = 8 },
	{ .name = "cvttsd2usi", .family = MODEL_ALL, .lane = 8 },
	{ .name = "cvttsh2si", .family = MODEL_ALL, .lane = 2 },
	{ .name = "cvttsh2usi", .family = MODEL_ALL, .lane = 2 },
	{ .name = "cvttss2si", .family = MODEL_ALL, .lane = 4 },
	{ .name = "cvttss2usi", .family = MODEL_ALL, .lane = 4 },
	V(cvtudq2pd, CONVERT, .lane = 8, .from = 4),
	V(cvtudq2ph, CONVERT, .lane = 2, .from = 4),
	V(cvtudq2ps, CONVERT, .lane = 4, .from = 4),
	V(cvtuqq2pd, CONVERT, .lane = 8, .from = 8),
	V(cvtuqq2ph, CONVERT, .lane = 2, .from = 8),
	V(cvtuqq2ps, CONVERT, .lane = 4, .from = 8),
	V(cvtusi2sd, LOW, .lane = 8),
	V(cvtusi2sh, LOW, .lane = 2, .from = 8),
	V(cvtusi2ss, LOW, .lane = 4, .from = 8),
	V(cvtuw2ph, CONVERT, .lane = 2, .from = 2),
	V(cvtw2ph, CONVERT, .lane = 2, .from = 2),
	L(dppd, PRODUCT, .lane = 8),
	L(dpps, PRODUCT, .lane = 4),
	V(extractf128, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extractf32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extractf32x8, SHUFFLE, .lane = 32, .how = SHUFFLE_EXTRACT),
	V(extractf64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extractf64x4, SHUFFLE, .lane = 32, .how = SHUFFLE_EXTRACT),
	V(extracti128, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extracti32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extracti32x8, SHUFFLE, .lane = 32, .how = SHUFFLE_EXTRACT),
	V(extracti64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extracti64x4, SHUFFLE, .lane = 32, .how = SHUFFLE_EXTRACT),
	V(extractps, SHUFFLE, .lane = 4, .how = SHUFFLE_EXTRACT),
	L(extrq, BIT_FIELD),
	V(gf2p8affineinvqb, LANES, .lane = 8),
	V(gf2p8affineqb, LANES, .lane = 8),
	V(gf2p8mulb, LANES, .lane = 1),
	V(insertf128, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(insertf32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(insertf32x8, SHUFFLE, .lane = 32, .how = SHUFFLE_INSERT),
	V(insertf64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(insertf64x4, SHUFFLE, .lane = 32, .how = SHUFFLE_INSERT),
	V(inserti128, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(inserti32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(inserti32x8, SHUFFLE, .lane = 32, .how = SHUFFLE_INSERT),
	V(inserti64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(inserti64x4, SHUFFLE, .lane = 32, .how = SHUFFLE_INSERT),
	V(insertps, SHUFFLE, .lane = 4, .how = SHUFFLE_INSERT_SINGLE),
	L(insertq, BIT_FIELD),
	V(kunpckbw, SHUFFLE, .lane = 1, .how = SHUFFLE_JOIN),
	V(kunpckdq, SHUFFLE, .lane = 4, .how = SHUFFLE_JOIN),
	V(kunpckwd, SHUFFLE, .lane = 2, .how = SHUFFLE_JOIN),
	V(lddqu, COPY),
	L(maskmovdqu, MASKED, .lane = 1),
	V(movapd, COPY),
	V(movaps, COPY),
	V(movd, COPY, .lane = 4),
	V(movddup, SHUFFLE, .lane = 8, .how = SHUFFLE_EVEN),
	V(movdq2q, COPY, .lane = 8),
	V(movdqa, COPY),
	V(movdqa32, COPY),
	V(movdqa64, COPY),
	V(movdqu, COPY),
	V(movdqu16, COPY),
	V(movdqu32, COPY),
	V(movdqu64, COPY),
	V(movdqu8, COPY),
	V(movhlps, SHUFFLE, .lane = 8, .how = SHUFFLE_HIGH_TO_LOW),
	V(movhpd, SHUFFLE, .lane = 8, .how = SHUFFLE_HIGH_HALF),
	V(movhps, SHUFFLE, .lane = 8, .how = SHUFFLE_HIGH_HALF),
	V(movlhps, SHUFFLE, .lane = 8, .how = SHUFFLE_UNPACK_LOW),
	V(movlpd, SHUFFLE, .lane = 8, .how = SHUFFLE_LOWEST),
	V(movlps, SHUFFLE, .lane = 8, .how = SHUFFLE_LOWEST),
	V(movmskpd, SIGNS, .lane = 8),
	V(movmskps, SIGNS, .lane = 4),
	V(movntdq, COPY),
	V(movntdqa, COPY),
	V(movntpd, COPY),
	V(movntps, COPY),
	V(movntq, COPY, .lane = 8),
	V(movntsd, COPY, .lane = 8),
	V(movntss, COPY, .lane = 4),
	V(movq, COPY, .lane = 8),
	V(movq2dq, COPY, .lane = 8),
	V(movsd, COPY, .lane = 8),
	V(movsh, COPY, .lane = 2),
	V(movshdup, SHUFFLE, .lane = 4, .how = SHUFFLE_ODD),
	V(movsldup, SHUFFLE, .lane = 4, .how = SHUFFLE_EVEN),
	V(movss, COPY, .lane = 4),
	V(movupd, COPY),
	V(movups, COPY),
	V(movw, COPY, .lane = 2),
	L(mpsadbw, SADS, .lane = 2),
	V(packssdw, PACK, .lane = 2, .from = 4),
	V(packsswb, PACK, .lane = 1, .from = 2),
	V(packusdw, PACK, .lane = 2, .from = 4),
	V(packuswb, PACK, .lane = 1, .from = 2),
	V(palignr, SHUFFLE, .lane = 1, .how = SHUFFLE_ALIGN),
	V(pand, LOGIC, .lane = 8, .how = LOGIC_AND),
	V(pandn, LOGIC, .lane = 8, .how = LOGIC_ANDN),
	L(pclmulqdq, CARRYLESS),
	L(pcmpestri, TEXT),
	L(pcmpestrm, TEXT),
	L(pcmpistri, TEXT),
	L(pcmpistrm, TEXT),
	V(pdpbusd, LANES, .lane = 4, .is_triple = true),
	V(pdpbusds, LANES, .lane = 4, .is_triple = true),
	V(pdpwssd, LANES, .lane = 4, .is_triple = true),
	V(pdpwssds, LANES, .lane = 4, .is_triple = true),
	V(perm2f128, SHUFFLE, .lane = 16, .how = SHUFFLE_HALVES),
	V(perm2i128, SHUFFLE, .lane = 16, .how = SHUFFLE_HALVES),
	V(permb, PERMUTE, .lane = 1),
	V(permd, PERMUTE, .lane = 4),
	V(permilpd, PERMUTE, .lane = 8),
	V(permilps, PERMUTE, .lane = 4),
	V(permpd, SHUFFLE, .lane = 8, .how = SHUFFLE_QUADS),
	V(permps, PERMUTE, .lane = 4),
	V(permq, SHUFFLE, .lane = 8, .how = SHUFFLE_QUADS),
	V(permw, PERMUTE, .lane = 2),
	V(phminposuw, CONVERT, .lane = 4, .from = 16),
	V(pmadd52huq, LANES, .lane = 8, .is_triple = true),
	V(pmadd52luq, LANES, .lane = 8, .is_triple = true),
	V(pmaddubsw, LANES, .lane = 2),
	V(pmaddwd, LANES, .lane = 4),
	V(pmovb2m, SIGNS, .lane = 1),
	V(pmovd2m, SIGNS, .lane = 4),
	V(pmovdb, WIDEN, .lane = 1, .from = 4),
	V(pmovdw, WIDEN, .lane = 2, .from = 4),
	L(pmovm2b, SPREAD, .lane = 1),
	L(pmovm2d, SPREAD, .lane = 4),
	L(pmovm2q, SPREAD, .lane = 8),
	L(pmovm2w, SPREAD, .lane = 2),
	V(pmovmskb, SIGNS, .lane = 1),
	V(pmovq2m, SIGNS, .lane = 8),
	V(pmovqb, WIDEN, .lane = 1, .from = 8),
	V(pmovqd, WIDEN, .lane = 4, .from = 8),
	V(pmovqw, WIDEN, .lane = 2, .from = 8),
	V(pmovsdb, CONVERT, .lane = 1, .from = 4),
	V(pmovsdw, CONVERT, .lane = 2, .from = 4),
	V(pmovsqb, CONVERT, .lane = 1, .from = 8),
	V(pmovsqd, CONVERT, .lane = 4, .from = 8),
	V(pmovsqw, CONVERT, .lane = 2, .from = 8),
	V(pmovswb, CONVERT, .lane = 1, .from = 2),
	V(pmovsxbd, CONVERT, .lane = 4, .from = 1),
	V(pmovsxbq, CONVERT, .lane = 8, .from = 1),
	V(pmovsxbw, CONVERT, .lane = 2, .from = 1),
	V(pmovsxdq, CONVERT, .lane = 8, .from = 4),
	V(pmovsxwd, CONVERT, .lane = 4, .from = 2),
	V(pmovsxwq, CONVERT, .lane = 8, .from = 2),
	V(pmovusdb, CONVERT, .lane = 1, .from = 4),
	V(pmovusdw, CONVERT, .lane = 2, .from = 4),
	V(pmovusqb, CONVERT, .lane = 1, .from = 8),
	V(pmovusqd, CONVERT, .lane = 4, .from = 8),
	V(pmovusqw, CONVERT, .lane = 2, .from = 8),
	V(pmovuswb, CONVERT, .lane = 1, .from = 2),
	V(pmovw2m, SIGNS, .lane = 2),
	V(pmovwb, WIDEN, .lane = 1, .from = 2),
	V(pmovzxbd, WIDEN, .lane = 4, .from = 1),
	V(pmovzxbq, WIDEN, .lane = 8, .from = 1),
	V(pmovzxbw, WIDEN, .lane = 2, .from = 1),
	V(pmovzxdq, WIDEN, .lane = 8, .from = 4),
	V(pmovzxwd, WIDEN, .lane = 4, .from = 2),
	V(pmovzxwq, WIDEN, .lane = 8, .from = 2),
	V(pmuldq, LANES, .lane = 8, .from = 4),
	V(pmulhrsw, LANES, .lane = 2),
	V(pmultishiftqb, LANES, .lane = 8),
	V(pmuludq, LANES, .lane = 8, .from = 4),
	V(por, LOGIC, .lane = 8, .how = LOGIC_OR),
	V(psadbw, LANES, .lane = 8),
	V(pshufb, PERMUTE, .lane = 1),
	V(pshufd, SHUFFLE, .lane = 4, .how = SHUFFLE_DOUBLES),
	V(pshufhw, SHUFFLE, .lane = 2, .how = SHUFFLE_HIGH_WORDS),
	V(pshuflw, SHUFFLE, .lane = 2, .how = SHUFFLE_LOW_WORDS),
	V(pshufw, SHUFFLE, .lane = 2, .how = SHUFFLE_LOW_WORDS),
	V(pslldq, SHUFFLE, .lane = 1, .how = SHUFFLE_LEFT),
	V(psrldq, SHUFFLE, .lane = 1, .how = SHUFFLE_RIGHT),
	V(ptest, TEST, .lane = 8),
	V(punpckhbw, SHUFFLE, .lane = 1, .how = SHUFFLE_UNPACK_HIGH),
	V(punpckhdq, SHUFFLE, .lane = 4, .how = SHUFFLE_UNPACK_HIGH),
	V(punpckhqdq, SHUFFLE, .lane = 8, .how = SHUFFLE_UNPACK_HIGH),
	V(punpckhwd, SHUFFLE, .lane = 2, .how = SHUFFLE_UNPACK_HIGH),
	V(punpcklbw, SHUFFLE, .lane = 1, .how = SHUFFLE_UNPACK_LOW),
	V(punpckldq, SHUFFLE, .lane = 4, .how = SHUFFLE_UNPACK_LOW),
	V(punpcklqdq, SHUFFLE, .lane = 8, .how = SHUFFLE_UNPACK_LOW),
	V(punpcklwd, SHUFFLE, .lane = 2, .how = SHUFFLE_UNPACK_LOW),
	V(pxor, LOGIC, .lane = 8, .how = LOGIC_XOR),
	V(sha1msg1, LANES, .lane = 16),
	V(sha1msg2, LANES, .lane = 16),
	V(sha1nexte, LANES, .lane = 16),
	V(sha1rnds4, LANES, .lane = 16),
	V(sha256msg1, LANES, .lane = 16),
	V(sha256msg2, LANES, .lane = 16),
	V(sha256rnds2, LANES, .lane = 16),
	V(shuff32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_PARTS),
	V(shuff64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_PARTS),
	V(shufi32x4, SHUFFLE, .lane = 16, .how = SHUFFLE_PARTS),
	V(shufi64x2, SHUFFLE, .lane = 16, .how = SHUFFLE_PARTS),
	V(shufpd, SHUFFLE, .lane = 8, .how = SHUFFLE_PAIR),
	V(shufps, SHUFFLE, .lane = 4, .how = SHUFFLE_TWO_AND_TWO),
	V(ucomisd, COMPARE, .lane = 8),
	V(ucomish, COMPARE, .lane = 2),
	V(ucomiss, COMPARE, .lane = 4),
	V(unpckhpd, SHUFFLE, .lane = 8, .how = SHUFFLE_UNPACK_HIGH),
	V(unpckhps, SHUFFLE, .lane = 4, .how = SHUFFLE_UNPACK_HIGH),
	V(unpcklpd, SHUFFLE, .lane = 8, .how = SHUFFLE_UNPACK_LOW),
	V(unpcklps, SHUFFLE, .lane = 4, .how = SHUFFLE_UNPACK_LOW),
	V(zeroupper, UPPER),
};

/* @return the bytes of a lane that @p suffix says; 0: it is none. */
static uint8_t lane_of(const char *suffix, bool *is_scalar)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (strcmp(suffixes[i].name, suffix))
			continue;
		*is_scalar = suffixes[i].is_scalar;
		return suffixes[i].lane;
	}
	return 0;
}

static bool choose_by_stem(const char *name, struct insn_model *m)
{
	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
		size_t n = strlen(stems[i].name);
		bool is_scalar = false;
		uint8_t lane = strncmp(name, stems[i].name, n) ?
				       0 :
				       lane_of(name + n, &is_scalar);

		if (!lane)
			continue;
		m->family = is_scalar && stems[i].family == MODEL_VEC_LANES ?
				    MODEL_VEC_LOW :
				    stems[i].family;
		m->lane = lane;
		m->how = stems[i].how;
		m->is_each = stems[i].is_each;
		m->is_by_sign = m->family == MODEL_VEC_TEST && *name == 't'; // vtestps
		if (stems[i].is_unary)
			m->first = m->last;
		if (stems[i].is_triple)
			m->base = m->first = 0;
		m->is_same &= stems[i].cancels || m->family == MODEL_VEC_LOGIC ||
			      m->family == MODEL_VEC_EQUAL;
		return true;
	}
	return false;
}

static void choose_by_name(const char *name, struct insn_model *m)
{
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		if (strcmp(whole[i].name, name))
			continue;
		m->family = whole[i].family;
		m->lane = whole[i].lane;
		m->from = whole[i].from;
		m->how = whole[i].how;
		if (m->family == MODEL_VEC_LOW)
			m->first = m->last;
		if (whole[i].is_triple)
			m->base = m->first = 0;
		m->is_same &= m->family == MODEL_VEC_LOGIC;
		return;
	}
}

/* Names that mean several instructions. */
static void tell_apart(struct insn_model *m, bool has_number)
{
	if (m->family == MODEL_VEC_COPY && m->last == 2) { // vmovss, vmovsd of registers
		m->family = MODEL_VEC_SHUFFLE;
		m->how = SHUFFLE_LOWEST;
	} else if (m->family == MODEL_VEC_PERMUTE && has_number) { // vpermilps, vpermilpd
		m->family = MODEL_VEC_SHUFFLE;
		m->how = m->lane == 4 ? SHUFFLE_DOUBLES : SHUFFLE_PAIR;
		m->first = m->last;
	} else if ((m->family == MODEL_VEC_CHOOSE && m->last == 1) || // by xmm0
		   m->mnemonic == ZYDIS_MNEMONIC_SHA256RNDS2) {
		m->last = 2;
		m->op[2] = (struct model_op){ .kind = MODEL_VEC, .bytes = 16 };
	} else if (m->how == SHUFFLE_QUADS && !has_number) { // indexes in a register
		m->family = MODEL_VEC_PERMUTE;
	} else if (m->family == MODEL_LANES_MASKED && m->n == 2) { // maskmovdqu, maskmovq
		m->op[2] = m->op[0];
		m->op[0] = (struct model_op){ .kind = MODEL_MEM };
		m->lane = 1;
		m->n = 3;
		m->address = (struct dec_mem){ .base = CAP_RDI, .index = DEC_REG_NONE };
	}
}

/* Masks as operands, and as what there is a bit in for each lane. */
static void tell_mask(const char *name, struct insn_model *m)
{
	for (int i = 0; i < m->n && *name == 'k'; i++)
		if (m->op[i].kind == MODEL_MASK)
			m->op[i].bytes = m->how == SHUFFLE_JOIN && !i ? 2 * m->lane :
									m->lane;
	m->is_to_mask = m->n && m->op[0].kind == MODEL_MASK && *name != 'k' &&
			m->family != MODEL_VEC_SIGNS;
	if (m->is_to_mask && m->family == MODEL_VEC_LOW) {
		m->family = MODEL_VEC_LANES;
		m->op[m->first].bytes = m->lane;
	}
}

void fl_model_vector(const char *name, bool is_vex, struct insn_model *m)
{
	int n = m->n;

	if (n && m->op[n - 1].kind == MODEL_IMM)
		n--;
	m->last = n ? n - 1 : 0;
	m->base = is_vex && m->n > 2;
	m->first = m->base && n > 2;
	m->unit = n && (m->op[0].kind == MODEL_MMX || m->op[m->last].kind == MODEL_MMX) ?
			  8 :
			  16;
	m->is_same = m->first != m->last && m->op[m->first].kind != MODEL_MEM &&
		     m->op[m->first].kind == m->op[m->last].kind &&
		     m->op[m->first].reg == m->op[m->last].reg;
	if (is_vex && *name == 'v')
		name++;
	if (!choose_by_stem(name, m))
		choose_by_name(name, m);
	tell_apart(m, n < m->n);
	tell_mask(name, m);
}
