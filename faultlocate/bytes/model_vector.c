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

/* Names with one of these behind them: how large is a lane, and is it the lowest one alone? */
static const struct {
	const char *name;
	uint8_t lane;
	bool is_scalar;
} suffixes[] = {
	{ "b", 1, false },  { "w", 2, false },	{ "d", 4, false }, { "q", 8, false },
	{ "ps", 4, false }, { "pd", 8, false }, { "ss", 4, true }, { "sd", 8, true },
};

static const struct {
	const char *name;
	uint8_t family;
	uint8_t how;
	bool is_unary;
	bool cancels; ///< of twice the same there is nothing left
} stems[] = {
	V(add, LANES),
	V(addsub, LANES),
	V(and, LOGIC, .how = LOGIC_AND),
	V(andn, LOGIC, .how = LOGIC_ANDN),
	V(blend, SHUFFLE, .how = SHUFFLE_BLEND),
	V(blendv, CHOOSE),
	V(broadcast, SHUFFLE, .how = SHUFFLE_BROADCAST),
	V(cmp, LANES),
	V(div, LANES),
	V(fmadd132, LANES),
	V(fmadd213, LANES),
	V(fmadd231, LANES),
	V(fmsub132, LANES),
	V(fmsub213, LANES),
	V(fmsub231, LANES),
	V(fnmadd132, LANES),
	V(fnmadd213, LANES),
	V(fnmadd231, LANES),
	V(fnmsub132, LANES),
	V(fnmsub213, LANES),
	V(fnmsub231, LANES),
	V(hadd, PAIRS),
	V(hsub, PAIRS),
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
	V(pblendv, CHOOSE),
	V(pbroadcast, SHUFFLE, .how = SHUFFLE_BROADCAST),
	V(pcmpeq, EQUAL),
	V(pcmpgt, LANES, .cancels = true),
	V(pextr, SHUFFLE, .how = SHUFFLE_EXTRACT),
	V(phadd, PAIRS),
	V(phsub, PAIRS),
	V(pinsr, SHUFFLE, .how = SHUFFLE_INSERT),
	V(pmaxs, LANES),
	V(pmaxu, LANES),
	V(pmins, LANES),
	V(pminu, LEAST),
	V(pmulh, LANES),
	V(pmulhu, LANES),
	V(pmull, LANES),
	V(por, LOGIC, .how = LOGIC_OR),
	V(psign, LANES),
	V(psll, SHIFT, .how = SHIFT_LEFT),
	V(psra, SHIFT, .how = SHIFT_ARITHMETIC),
	V(psrl, SHIFT, .how = SHIFT_RIGHT),
	V(psub, LANES, .cancels = true),
	V(psubs, LANES),
	V(psubus, LANES),
	V(pxor, LOGIC, .how = LOGIC_XOR),
	V(rcp, LANES, .is_unary = true),
	V(round, LANES, .is_unary = true),
	V(rsqrt, LANES, .is_unary = true),
	V(sqrt, LANES, .is_unary = true),
	V(sub, LANES),
	V(xor, LOGIC, .how = LOGIC_XOR),
};

/* .. and those that stand by themselves. */
static const struct {
	const char *name;
	uint8_t family, lane;
	uint8_t from; ///< bytes of a source's lane, if it is another
	uint8_t how;
} whole[] = {
	V(broadcastf128, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(broadcasti128, SHUFFLE, .lane = 16, .how = SHUFFLE_BROADCAST),
	V(comisd, COMPARE, .lane = 8),
	V(comiss, COMPARE, .lane = 4),
	V(cvtdq2pd, CONVERT, .lane = 8, .from = 4),
	V(cvtdq2ps, CONVERT, .lane = 4, .from = 4),
	V(cvtpd2dq, CONVERT, .lane = 4, .from = 8),
	V(cvtpd2ps, CONVERT, .lane = 4, .from = 8),
	V(cvtps2dq, CONVERT, .lane = 4, .from = 4),
	V(cvtps2pd, CONVERT, .lane = 8, .from = 4),
	{ .name = "cvtsd2si", .family = MODEL_ALL, .lane = 8 },
	V(cvtsd2ss, LOW, .lane = 4, .from = 8),
	V(cvtsi2sd, LOW, .lane = 8),
	V(cvtsi2ss, LOW, .lane = 4),
	V(cvtss2sd, LOW, .lane = 8, .from = 4),
	{ .name = "cvtss2si", .family = MODEL_ALL, .lane = 4 },
	V(cvttpd2dq, CONVERT, .lane = 4, .from = 8),
	V(cvttps2dq, CONVERT, .lane = 4, .from = 4),
	{ .name = "cvttsd2si", .family = MODEL_ALL, .lane = 8 },
	{ .name = "cvttss2si", .family = MODEL_ALL, .lane = 4 },
	V(extractf128, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extracti128, SHUFFLE, .lane = 16, .how = SHUFFLE_EXTRACT),
	V(extractps, SHUFFLE, .lane = 4, .how = SHUFFLE_EXTRACT),
	V(insertf128, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(inserti128, SHUFFLE, .lane = 16, .how = SHUFFLE_INSERT),
	V(insertps, SHUFFLE, .lane = 4, .how = SHUFFLE_INSERT_SINGLE),
	V(lddqu, COPY),
	V(movapd, COPY),
	V(movaps, COPY),
	V(movd, COPY, .lane = 4),
	V(movddup, SHUFFLE, .lane = 8, .how = SHUFFLE_EVEN),
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
	V(movntpd, COPY),
	V(movntps, COPY),
	V(movq, COPY, .lane = 8),
	V(movsd, COPY, .lane = 8),
	V(movshdup, SHUFFLE, .lane = 4, .how = SHUFFLE_ODD),
	V(movsldup, SHUFFLE, .lane = 4, .how = SHUFFLE_EVEN),
	V(movss, COPY, .lane = 4),
	V(movupd, COPY),
	V(movups, COPY),
	V(packssdw, PACK, .lane = 2, .from = 4),
	V(packsswb, PACK, .lane = 1, .from = 2),
	V(packusdw, PACK, .lane = 2, .from = 4),
	V(packuswb, PACK, .lane = 1, .from = 2),
	V(palignr, SHUFFLE, .lane = 1, .how = SHUFFLE_ALIGN),
	V(pand, LOGIC, .lane = 8, .how = LOGIC_AND),
	V(pandn, LOGIC, .lane = 8, .how = LOGIC_ANDN),
	V(perm2f128, SHUFFLE, .lane = 16, .how = SHUFFLE_HALVES),
	V(perm2i128, SHUFFLE, .lane = 16, .how = SHUFFLE_HALVES),
	V(permd, PERMUTE, .lane = 4),
	V(permilpd, PERMUTE, .lane = 8),
	V(permilps, PERMUTE, .lane = 4),
	V(permpd, SHUFFLE, .lane = 8, .how = SHUFFLE_QUADS),
	V(permps, PERMUTE, .lane = 4),
	V(permq, SHUFFLE, .lane = 8, .how = SHUFFLE_QUADS),
	V(pmaddubsw, LANES, .lane = 2),
	V(pmaddwd, LANES, .lane = 4),
	V(pmovmskb, SIGNS, .lane = 1),
	V(pmovsxbd, CONVERT, .lane = 4, .from = 1),
	V(pmovsxbq, CONVERT, .lane = 8, .from = 1),
	V(pmovsxbw, CONVERT, .lane = 2, .from = 1),
	V(pmovsxdq, CONVERT, .lane = 8, .from = 4),
	V(pmovsxwd, CONVERT, .lane = 4, .from = 2),
	V(pmovsxwq, CONVERT, .lane = 8, .from = 2),
	V(pmovzxbd, WIDEN, .lane = 4, .from = 1),
	V(pmovzxbq, WIDEN, .lane = 8, .from = 1),
	V(pmovzxbw, WIDEN, .lane = 2, .from = 1),
	V(pmovzxdq, WIDEN, .lane = 8, .from = 4),
	V(pmovzxwd, WIDEN, .lane = 4, .from = 2),
	V(pmovzxwq, WIDEN, .lane = 8, .from = 2),
	V(pmuldq, LANES, .lane = 8, .from = 4),
	V(pmulhrsw, LANES, .lane = 2),
	V(pmuludq, LANES, .lane = 8, .from = 4),
	V(por, LOGIC, .lane = 8, .how = LOGIC_OR),
	V(psadbw, LANES, .lane = 8),
	V(pshufb, PERMUTE, .lane = 1),
	V(pshufd, SHUFFLE, .lane = 4, .how = SHUFFLE_DOUBLES),
	V(pshufhw, SHUFFLE, .lane = 2, .how = SHUFFLE_HIGH_WORDS),
	V(pshuflw, SHUFFLE, .lane = 2, .how = SHUFFLE_LOW_WORDS),
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
	V(shufpd, SHUFFLE, .lane = 8, .how = SHUFFLE_PAIR),
	V(shufps, SHUFFLE, .lane = 4, .how = SHUFFLE_TWO_AND_TWO),
	V(ucomisd, COMPARE, .lane = 8),
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
		if (stems[i].is_unary)
			m->first = m->last;
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
	} else if (m->family == MODEL_VEC_CHOOSE && m->last == 1) { // by xmm0
		m->last = 2;
		m->op[2] = (struct model_op){ .kind = MODEL_VEC, .bytes = 16 };
	} else if (m->how == SHUFFLE_QUADS && !has_number) { // indexes in a register
		m->family = MODEL_OTHER;
	}
}

void fl_model_vector(const char *name, bool is_vex, struct insn_model *m)
{
	int n = m->n;

	if (n && m->op[n - 1].kind == MODEL_IMM)
		n--;
	m->last = n ? n - 1 : 0;
	// Multiply and add has all three.
	m->base = is_vex && m->n > 2 && strncmp(name, "vf", 2);
	m->first = m->base && n > 2;
	m->is_same = m->first != m->last && m->op[m->first].kind == MODEL_VEC &&
		     m->op[m->last].kind == MODEL_VEC &&
		     m->op[m->first].reg == m->op[m->last].reg;
	if (is_vex && *name == 'v')
		name++;
	if (!choose_by_stem(name, m))
		choose_by_name(name, m);
	tell_apart(m, n < m->n);
}
