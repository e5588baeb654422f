// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Operators on two numbers. Integers have 128 bits and do not wrap: what needs more cannot be
 * read. Signed and unsigned fields are what they are; as bits, a negative number begins with
 * ones without end.
 */
#include <math.h>

#include "specdsl/spec_eval.h"

static struct value calculate_real(enum ast_kind kind, struct value a, struct value b)
{
	double x = a.kind == VALUE_REAL ? a.real : (double)a.i;
	double y = b.kind == VALUE_REAL ? b.real : (double)b.i;

	switch (kind) {
	case AST_ADD:
		return value_real(x + y);
	case AST_SUB:
		return value_real(x - y);
	case AST_MUL:
		return value_real(x * y);
	case AST_DIV:
		return y != 0 ? value_real(x / y) : value_none;
	case AST_REST:
		return y != 0 ? value_real(fmod(x, y)) : value_none;
	default:
		return value_none; // of bits
	}
}

/** @return whether a * b is too large. */
static bool multiply(__int128 a, __int128 b, __int128 *ret)
{
	// Of two words, as they mostly are, that cannot be.
	if (a != (int64_t)a || b != (int64_t)b)
		return __builtin_mul_overflow(a, b, ret);
	*ret = a * b;
	return false;
}

/** @return whether a / b, or with @p is_rest what it leaves, does not exist. */
static bool divide(__int128 a, __int128 b, bool is_rest, __int128 *ret)
{
	// The smallest number has no positive twin.
	if (!b || (b == -1 && !is_rest && __builtin_sub_overflow(0, a, ret)))
		return true;
	if (b == -1)
		*ret = is_rest ? 0 : -a;
	else
		*ret = is_rest ? a % b : a / b;
	return false;
}

/** @return whether a << b, or with @p is_right a >> b, does not exist. */
static bool shift(__int128 a, __int128 b, bool is_right, __int128 *ret)
{
	if (b < 0 || (!is_right && b > 126))
		return true;
	if (!is_right)
		return multiply(a, (__int128)1 << b, ret);
	*ret = a >> (b > 127 ? 127 : b);
	return false;
}

static bool calculate(enum ast_kind kind, __int128 a, __int128 b, __int128 *ret)
{
	switch (kind) {
	case AST_ADD:
		return __builtin_add_overflow(a, b, ret);
	case AST_SUB:
		return __builtin_sub_overflow(a, b, ret);
	case AST_MUL:
		return multiply(a, b, ret);
	case AST_DIV:
	case AST_REST:
		return divide(a, b, kind == AST_REST, ret);
	case AST_SHIFT_LEFT:
	case AST_SHIFT_RIGHT:
		return shift(a, b, kind == AST_SHIFT_RIGHT, ret);
	case AST_BIT_AND:
		*ret = a & b;
		return false;
	case AST_BIT_OR:
		*ret = a | b;
		return false;
	default:
		*ret = a ^ b;
		return false;
	}
}

struct value spec_eval_calculate(struct scope *sc, enum ast_kind kind, struct value a,
				 struct value b)
{
	__int128 i = 0;

	if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
		return value_none;
	if (a.kind == VALUE_REAL || b.kind == VALUE_REAL)
		return calculate_real(kind, a, b);
	return calculate(kind, a.i, b.i, &i) ? spec_eval_unreadable(sc) : value_int(i);
}
