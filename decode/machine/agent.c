// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/agent.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"

#define DEPTH 128	  ///< of the stack: gdb's own agents have 100
#define STEPS_MOST 100000 ///< then it is taken for a loop
#define STRING_MOST 4096  ///< printed of one
#define WIDTH_MOST 512	  ///< of a field

/* The operations, with gdb's numbers (gdbsupport/ax.def). Those of tracepoints, which store values
 * away, are not among them: no tracepoint is ever set. */
enum {
	OP_ADD = 0x02,
	OP_SUB,
	OP_MUL,
	OP_DIV_SIGNED,
	OP_DIV_UNSIGNED,
	OP_REM_SIGNED,
	OP_REM_UNSIGNED,
	OP_LSH,
	OP_RSH_SIGNED,
	OP_RSH_UNSIGNED,
	OP_LOG_NOT = 0x0e,
	OP_BIT_AND,
	OP_BIT_OR,
	OP_BIT_XOR,
	OP_BIT_NOT,
	OP_EQUAL,
	OP_LESS_SIGNED,
	OP_LESS_UNSIGNED,
	OP_EXT,
	OP_REF8,
	OP_REF16,
	OP_REF32,
	OP_REF64,
	OP_IF_GOTO = 0x20,
	OP_GOTO,
	OP_CONST8,
	OP_CONST16,
	OP_CONST32,
	OP_CONST64,
	OP_REG,
	OP_END,
	OP_DUP,
	OP_POP,
	OP_ZERO_EXT,
	OP_SWAP,
	OP_PICK = 0x32,
	OP_ROT,
	OP_PRINTF,
	OPS,
};

/* Of each: bytes behind it, values it takes, values it leaves. */
static const struct {
	uint8_t is_known, operand, takes, leaves;
} ops[OPS] = {
	[OP_ADD... OP_RSH_UNSIGNED] = { 1, 0, 2, 1 },
	[OP_LOG_NOT] = { 1, 0, 1, 1 },
	[OP_BIT_AND... OP_BIT_XOR] = { 1, 0, 2, 1 },
	[OP_BIT_NOT] = { 1, 0, 1, 1 },
	[OP_EQUAL... OP_LESS_UNSIGNED] = { 1, 0, 2, 1 },
	[OP_EXT] = { 1, 1, 1, 1 },
	[OP_REF8... OP_REF64] = { 1, 0, 1, 1 },
	[OP_IF_GOTO] = { 1, 2, 1, 0 },
	[OP_GOTO] = { 1, 2, 0, 0 },
	[OP_CONST8] = { 1, 1, 0, 1 },
	[OP_CONST16] = { 1, 2, 0, 1 },
	[OP_CONST32] = { 1, 4, 0, 1 },
	[OP_CONST64] = { 1, 8, 0, 1 },
	[OP_REG] = { 1, 2, 0, 1 },
	[OP_END] = { 1, 0, 0, 0 },
	[OP_DUP] = { 1, 0, 1, 2 },
	[OP_POP] = { 1, 0, 1, 0 },
	[OP_ZERO_EXT] = { 1, 1, 1, 1 },
	[OP_SWAP] = { 1, 0, 2, 2 },
	[OP_PICK] = { 1, 1, 0, 1 },
	[OP_ROT] = { 1, 0, 3, 3 },
	[OP_PRINTF] = { 1, 3, 2, 0 }, // and the arguments that it names
};

struct run {
	const uint8_t *code;
	size_t n, at;
	const struct dec_agent_world *world;
	uint64_t stack[DEPTH];
	size_t depth;
	const char *wrong; ///< NULL: nothing is
};

static uint64_t pop(struct run *r)
{
	return r->stack[--r->depth];
}

static void push(struct run *r, uint64_t value)
{
	r->stack[r->depth++] = value;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static uint64_t divide(struct run *r, unsigned op, uint64_t a, uint64_t b)
{
	bool is_least = a == (uint64_t)INT64_MIN && b == UINT64_MAX;

	if (!b) {
		r->wrong = "division by zero";
		return 0;
	}
	switch (op) {
	case OP_DIV_SIGNED:
		return is_least ? a : (uint64_t)((int64_t)a / (int64_t)b);
	case OP_DIV_UNSIGNED:
		return a / b;
	case OP_REM_SIGNED:
		return is_least ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
	default:
		return a % b;
	}
}

/* Shifts by 64 and more give what is left after all bits are gone. */
static uint64_t shift(unsigned op, uint64_t a, uint64_t by)
{
	if (op == OP_LSH)
		return by < 64 ? a << by : 0;
	if (op == OP_RSH_UNSIGNED)
		return by < 64 ? a >> by : 0;
	return (int64_t)a >> (by < 64 ? by : 63);
}

static uint64_t combine(struct run *r, unsigned op, uint64_t a, uint64_t b)
{
	switch (op) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_LSH:
	case OP_RSH_SIGNED:
	case OP_RSH_UNSIGNED:
		return shift(op, a, b);
	case OP_BIT_AND:
		return a & b;
	case OP_BIT_OR:
		return a | b;
	case OP_BIT_XOR:
		return a ^ b;
	case OP_EQUAL:
		return a == b;
	case OP_LESS_SIGNED:
		return (int64_t)a < (int64_t)b;
	case OP_LESS_UNSIGNED:
		return a < b;
	default:
		return divide(r, op, a, b);
	}
}

static uint64_t extend(uint64_t value, unsigned bits, bool is_signed)
{
	uint64_t sign;

	if (!bits || bits >= 64)
		return value;
	value &= (UINT64_C(1) << bits) - 1;
	sign = UINT64_C(1) << (bits - 1);
	return is_signed ? (value ^ sign) - sign : value;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void say_string(struct run *r, const char *spec, uint64_t addr)
{
	char text[STRING_MOST + 1], out[STRING_MOST + WIDTH_MOST + 1];
	size_t n = 0;
	int length;

	while (n < STRING_MOST && r->world->read(r->world->ctx, addr + n, &text[n], 1) &&
	       text[n])
		n++;
	text[n] = 0;
	length = snprintf(out, sizeof(out), spec, text);
	r->world->say(r->world->ctx, out,
		      length < (int)sizeof(out) ? (size_t)length : sizeof(out) - 1);
}

static void say_number(struct run *r, char *spec, size_t n, int longs, uint64_t value)
{
	char out[WIDTH_MOST + 64], conversion = spec[n - 1];
	int length;

	if (conversion == 'c') {
		length = snprintf(out, sizeof(out), spec, (int)(value & 0xff));
	} else {
		if (!longs)
			value = strchr("di", conversion) ? (uint64_t)(int32_t)value :
							   (uint32_t)value;
		if (conversion == 'p')
			spec[n - 1] = 'x';
		conversion = spec[n - 1];
		memcpy(spec + n - 1, (char[]){ 'l', conversion, 0 }, 3);
		length = snprintf(out, sizeof(out), spec, value);
	}
	r->world->say(r->world->ctx, out,
		      length < (int)sizeof(out) ? (size_t)length : sizeof(out) - 1);
}

/* The digits at @p at: @return whether they are no more than a field may have. */
static bool take_width(const char **at, char *spec, size_t *n)
{
	unsigned width = 0;

	while (isdigit((unsigned char)**at) && width <= WIDTH_MOST) {
		width = 10 * width + (**at - '0');
		spec[(*n)++] = *(*at)++;
	}
	return width <= WIDTH_MOST;
}

/* One conversion, behind its '%'. @return behind it; NULL: it is none that is known. */
static const char *convert(struct run *r, const char *at, const uint64_t **arg,
			   const uint64_t *end)
{
	char spec[32] = "%";
	size_t n = 1;
	int longs = 0;

	while (*at && strchr("-+ #0", *at) && n < 8)
		spec[n++] = *at++;
	if (!take_width(&at, spec, &n))
		return NULL;
	if (*at == '.') {
		spec[n++] = *at++;
		if (!take_width(&at, spec, &n))
			return NULL;
	}
	for (; *at && strchr("hlLzjtq", *at); at++)
		longs += *at != 'h';
	if (!*at || !strchr("diouxXcsp", *at) || *arg == end)
		return NULL;
	spec[n++] = *at;
	if (*at == 's')
		say_string(r, spec, *(*arg)++);
	else if (*at == 'p')
		r->world->say(r->world->ctx, "0x", 2),
			say_number(r, spec, n, 1, *(*arg)++);
	else
		say_number(r, spec, n, longs, *(*arg)++);
	return at + 1;
}

/* An escape as in a string of C's, behind its '\\': gdb sends them as they were typed. @return behind
 * it; NULL: it is none. */
static const char *escape(struct run *r, const char *at)
{
	static const char names[] = "abefnrtv\\\"", bytes[] = "\a\b\033\f\n\r\t\v\\\"";
	const char *name = *at ? strchr(names, *at) : NULL;
	char c = 0;

	if (name) {
		c = bytes[name - names];
		at++;
	} else if (*at >= '0' && *at <= '7') {
		for (int i = 0; i < 3 && *at >= '0' && *at <= '7'; i++)
			c = c * 8 + (*at++ - '0');
	} else {
		return NULL;
	}
	r->world->say(r->world->ctx, &c, 1);
	return at;
}

static void print(struct run *r, const char *format, const uint64_t *args, size_t n)
{
	const uint64_t *arg = args;

	while (format && *format) {
		size_t plain = strcspn(format, "%\\");

		if (plain)
			r->world->say(r->world->ctx, format, plain);
		format += plain;
		if (!*format)
			break;
		if (*format == '\\') {
			format = escape(r, format + 1);
		} else if (format[1] == '%') {
			r->world->say(r->world->ctx, "%", 1);
			format += 2;
		} else {
			format = convert(r, format + 1, &arg, args + n);
		}
	}
	if (!format)
		r->wrong = "a format that is not known here";
}

/* printf: how many arguments, the format's size, the format; the arguments are on the stack, below
 * a channel and a function that only other agents have. */
static void run_printf(struct run *r, const uint8_t *operand)
{
	size_t n = operand[0], size = operand[1] << 8 | operand[2];
	uint64_t args[UINT8_MAX];
	const char *format = (const char *)r->code + r->at;

	if (r->n - r->at < size || !size || format[size - 1]) {
		r->wrong = "a format that does not end";
		return;
	}
	r->at += size;
	r->depth -= 2;
	if (r->depth < n) {
		r->wrong = "more conversions than values";
		return;
	}
	for (size_t i = 0; i < n; i++)
		args[i] = pop(r);
	print(r, format, args, n);
}

/* ---- one operation --------------------------------------------------------------------------- */

static uint64_t operand_value(const uint8_t *operand, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | operand[i];
	return value;
}

static void load(struct run *r, size_t bytes)
{
	uint64_t value = 0;

	if (!r->world->read(r->world->ctx, pop(r), &value, bytes))
		r->wrong = "memory that is not there";
	push(r, value);
}

static void run_one(struct run *r, unsigned op, uint64_t operand)
{
	uint64_t a, b, value = 0;

	switch (op) {
	case OP_LOG_NOT:
		push(r, !pop(r));
		break;
	case OP_BIT_NOT:
		push(r, ~pop(r));
		break;
	case OP_EXT:
	case OP_ZERO_EXT:
		push(r, extend(pop(r), operand, op == OP_EXT));
		break;
	case OP_REF8 ... OP_REF64:
		load(r, 1 << (op - OP_REF8));
		break;
	case OP_IF_GOTO:
		r->at = pop(r) ? operand : r->at;
		break;
	case OP_GOTO:
		r->at = operand;
		break;
	case OP_CONST8 ... OP_CONST64:
		push(r, operand);
		break;
	case OP_REG:
		if (!r->world->reg(r->world->ctx, operand, &value))
			r->wrong = "a register that is not there";
		push(r, value);
		break;
	case OP_POP:
		pop(r);
		break;
	case OP_DUP:
		operand = 0;
		// fallthrough
	case OP_PICK:
		if (operand < r->depth)
			push(r, r->stack[r->depth - 1 - operand]);
		else
			r->wrong = "a stack that is not so deep";
		break;
	case OP_SWAP:
		b = pop(r), a = pop(r);
		push(r, b), push(r, a);
		break;
	case OP_ROT: // the top goes below the two others
		value = pop(r), b = pop(r), a = pop(r);
		push(r, value), push(r, a), push(r, b);
		break;
	default:
		b = pop(r), a = pop(r);
		push(r, combine(r, op, a, b));
	}
}

const char *dec_agent_run(const uint8_t *code, size_t n, const struct dec_agent_world *w,
			  uint64_t *ret)
{
	struct run r = { .code = code, .n = n, .world = w };

	for (unsigned steps = 0; !r.wrong && steps < STEPS_MOST; steps++) {
		const uint8_t *operand;
		unsigned op;

		if (r.at >= n)
			return "code that does not end";
		op = code[r.at++];
		if (op >= OPS || !ops[op].is_known)
			return "an operation that is not known here";
		if (n - r.at < ops[op].operand)
			return "code that does not end";
		if (r.depth < ops[op].takes ||
		    r.depth - ops[op].takes + ops[op].leaves > DEPTH)
			return "a stack that is not so deep";
		operand = code + r.at;
		r.at += ops[op].operand;
		if (op == OP_END && ret && !r.depth)
			return "no value";
		if (op == OP_END) {
			if (ret)
				*ret = pop(&r);
			return NULL;
		}
		if (op == OP_PRINTF)
			run_printf(&r, operand);
		else
			run_one(&r, op, operand_value(operand, ops[op].operand));
	}
	return r.wrong ?: "code that does not end";
}

bool dec_agent_holds(const struct dec_agent_conditions *c,
		     const struct dec_agent_world *w)
{
	size_t at = 0;
	uint32_t n;

	while (c->n - at >= sizeof(n)) {
		uint64_t value = 0;

		memcpy(&n, c->bytes + at, sizeof(n));
		at += sizeof(n);
		n = n < c->n - at ? n : c->n - at;
		if (dec_agent_run(c->bytes + at, n, w, &value) || value)
			return true;
		at += n;
	}
	return false;
}

unsigned dec_agent_gpr(unsigned number)
{
	static const uint8_t order[] = { CAP_RAX, CAP_RBX, CAP_RCX, CAP_RDX,
					 CAP_RSI, CAP_RDI, CAP_RBP, CAP_RSP,
					 CAP_R8,  CAP_R9,  CAP_R10, CAP_R11,
					 CAP_R12, CAP_R13, CAP_R14, CAP_R15 };

	return order[number];
}
