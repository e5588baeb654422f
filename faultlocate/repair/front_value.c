// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Expressions of C to operations.
 */
#include <string.h>

#include "faultlocate/repair/clang.h"

/* What stands between @p from and @p to but space, comments and brackets. */
static void between(const struct rp_front *f, unsigned from, unsigned to, char *ret,
		    size_t room)
{
	const char *text = f->p->text;
	size_t n = 0;

	for (unsigned i = from; i < to && n + 1 < room; i++) {
		if (text[i] == '/' && i + 1 < to && text[i + 1] == '*') {
			for (i += 2; i + 1 < to && (text[i] != '*' || text[i + 1] != '/');
			     i++)
				;
			i++;
		} else if (text[i] == '/' && i + 1 < to && text[i + 1] == '/') {
			while (i < to && text[i] != '\n')
				i++;
		} else if (!strchr(" \t\r\n()\\", text[i])) {
			ret[n++] = text[i];
		}
	}
	ret[n] = 0;
}

static bool sign_of(const char *text, enum rp_sign *ret)
{
	for (enum rp_sign s = RP_ADD; s <= RP_GE; s++) {
		if (!strcmp(text, fl_rp_sign_text(s))) {
			*ret = s;
			return true;
		}
	}
	return false;
}

static CXCursor bare(struct rp_front *f, CXCursor c)
{
	CXCursor child[RP_CHILDREN];

	for (;;) {
		enum CXCursorKind k = f->c->getCursorKind(c);

		if ((k != CXCursor_ParenExpr && k != CXCursor_UnexposedExpr) ||
		    fl_rp_children(f, c, child) != 1)
			return c;
		c = child[0];
	}
}

static int add_op(struct rp_front *f, CXCursor c, struct rp_op op, rp_ints *ops)
{
	op.at = fl_rp_extent(f, c);
	op.line = fl_rp_line(f, c);
	op.function = f->function;
	if (vec_add(&f->p->ops, op) || vec_add(ops, (int)f->p->ops.size - 1))
		f->has_failed = true;
	return (int)f->p->ops.size - 1;
}

static struct rp_ref constant(int64_t value, struct rp_range at)
{
	return (struct rp_ref){ RP_NONE, RP_NONE, value, at };
}

static struct rp_ref variable(int var, struct rp_range at)
{
	return (struct rp_ref){ var, RP_NONE, 0, at };
}

/* A hidden variable that stands for @p c. */
static struct rp_ref hidden(struct rp_front *f, CXCursor c, int type)
{
	struct rp_range at = fl_rp_extent(f, c);
	char *text = arena_strndup(&f->p->arena, f->p->text + at.from, at.to - at.from);
	struct rp_variable v = { .name = text ? text : "",
				 .type = type,
				 .function = f->function,
				 .scope = at,
				 .is_hidden = true,
				 .text = text };

	return variable(fl_rp_add_variable(f, (CXCursor){}, v), at);
}

static bool evaluate(struct rp_front *f, CXCursor c, int64_t *ret)
{
	CXEvalResult r = f->c->Cursor_Evaluate(c);
	bool is_number = r && f->c->EvalResult_getKind(r) == CXEval_Int;

	if (is_number)
		*ret = f->c->EvalResult_getAsLongLong(r);
	if (r)
		f->c->EvalResult_dispose(r);
	return is_number;
}

static struct rp_ref read_name(struct rp_front *f, CXCursor c, int *type)
{
	CXCursor to = f->c->getCursorReferenced(c);
	int64_t value;

	for (size_t i = 0; i < f->variables.size; i++) {
		const struct rp_variable *v = &f->p->variables.data[i];

		if (v->is_hidden || !f->c->equalCursors(f->variables.data[i], to))
			continue;
		*type = v->type;
		if (v->type == RP_OPAQUE)
			fl_rp_refuse(
				f, c,
				"a variable that is neither a whole number nor a pointer "
				"to a struct");
		return variable((int)i, fl_rp_extent(f, c));
	}
	if (f->c->getCursorKind(to) == CXCursor_EnumConstantDecl &&
	    evaluate(f, c, &value)) {
		*type = RP_INT;
		return constant(value, fl_rp_extent(f, c));
	}
	fl_rp_refuse(f, c, "a name that is no variable of this file");
	return constant(0, fl_rp_extent(f, c));
}

/* x->f, (*x).f; of a deeper path, what is before the last arrow is a hidden variable. */
static struct rp_ref read_member(struct rp_front *f, CXCursor c, rp_ints *ops, int *type)
{
	CXCursor child[RP_CHILDREN], base;
	struct rp_ref r;
	const char *name;
	int of;

	if (fl_rp_children(f, c, child) < 1) {
		fl_rp_refuse(f, c, "a field of nothing");
		return constant(0, fl_rp_extent(f, c));
	}
	base = bare(f, child[0]);
	if (f->c->getCursorKind(base) == CXCursor_UnaryOperator &&
	    f->p->text[fl_rp_extent(f, base).from] == '*' &&
	    fl_rp_children(f, base, child) == 1)
		base = bare(f, child[0]);
	r = fl_rp_read_value(f, base, ops, &of);
	if (f->refused)
		return r;
	if (of < 0 || r.var == RP_NONE) {
		fl_rp_refuse(f, c, "a struct that is not behind a pointer");
		return r;
	}
	if (r.field != RP_NONE) {
		struct rp_ref dst = hidden(f, base, of);

		add_op(f, base,
		       (struct rp_op){
			       .kind = RP_ASSIGN, .dst = dst, .a = r, .type = of },
		       ops);
		r = dst;
	}
	name = fl_rp_name(f, c);
	for (size_t i = 0; i < f->p->records.data[of].fields.size; i++)
		if (!strcmp(f->p->records.data[of].fields.data[i].name, name))
			r.field = (int)i;
	if (r.field == RP_NONE) {
		fl_rp_refuse(f, c, "a field of a struct inside of another");
		return r;
	}
	*type = f->p->records.data[of].fields.data[r.field].type;
	if (*type == RP_OPAQUE)
		fl_rp_refuse(
			f, c,
			"a field that is neither a whole number nor a pointer to a struct "
			"(a float, a union, an array)");
	r.at = fl_rp_extent(f, c);
	return r;
}

/* Between casts of pointers to one struct and void *, nothing happens. */
static struct rp_ref read_cast(struct rp_front *f, CXCursor c, rp_ints *ops, int *type)
{
	CXCursor child[RP_CHILDREN];
	unsigned n = fl_rp_children(f, c, child);
	int to = fl_rp_type(f, f->c->getCursorType(c));
	struct rp_ref r;

	if (!n) {
		fl_rp_refuse(f, c, "a cast");
		return constant(0, fl_rp_extent(f, c));
	}
	r = fl_rp_read_value(f, child[n - 1], ops, type);
	if (to == RP_OPAQUE)
		fl_rp_refuse(
			f, c,
			"a cast to a type that is neither a whole number nor a pointer to "
			"a struct");
	else if (to == RP_INT && *type != RP_INT)
		fl_rp_refuse(f, c, "a cast from a pointer to a number");
	else if (to != RP_INT && *type == RP_INT && (r.var != RP_NONE || r.value))
		fl_rp_refuse(f, c, "a cast from a number to a pointer");
	else if (to >= 0 && *type >= 0 && to != *type)
		fl_rp_refuse(f, c, "a cast from one struct to another");
	else if (r.var == RP_NONE || *type == RP_ANY_POINTER)
		*type = to;
	r.at = fl_rp_extent(f, c);
	return r;
}

static bool is_assignment(struct rp_front *f, CXCursor c)
{
	CXCursor child[RP_CHILDREN];
	char sign[8];

	if (f->c->getCursorKind(c) != CXCursor_BinaryOperator ||
	    fl_rp_children(f, c, child) != 2)
		return false;
	between(f, fl_rp_extent(f, child[0]).to, fl_rp_extent(f, child[1]).from, sign,
		sizeof(sign));
	return !strcmp(sign, "=");
}

static struct rp_ref read_assignment(struct rp_front *f, CXCursor c, rp_ints *ops,
				     int *type)
{
	CXCursor child[RP_CHILDREN];
	struct rp_ref dst;

	fl_rp_children(f, c, child);
	dst = fl_rp_read_value(f, child[0], ops, type);
	if (dst.var == RP_NONE)
		fl_rp_refuse(f, c, "an assignment to what is no variable and no field");
	if (!f->refused) {
		fl_rp_read_into(f, child[1], dst, *type, false, ops);
		f->p->ops.data[f->p->ops.size - 1].at = fl_rp_extent(f, c);
	}
	return dst;
}

/* x++, x += y: whole, as no part has a text that could be exchanged alone. */
static struct rp_ref read_step(struct rp_front *f, CXCursor c, rp_ints *ops, int *type)
{
	bool is_unary = f->c->getCursorKind(c) == CXCursor_UnaryOperator;
	CXCursor child[RP_CHILDREN];
	unsigned n = fl_rp_children(f, c, child);
	struct rp_range all = fl_rp_extent(f, c);
	struct rp_ref x = fl_rp_read_value(f, child[0], ops, type);
	struct rp_op op = {
		.kind = RP_ASSIGN, .dst = x, .a = x, .type = RP_INT, .is_whole = true
	};
	char sign[8] = "";
	int of = RP_INT;

	if (is_unary) {
		sign[0] = f->p->text[all.from] == '+' || f->p->text[all.from] == '-' ?
				  f->p->text[all.from] :
				  f->p->text[all.to - 1];
		op.b = constant(1, (struct rp_range){ 0, 0 });
	} else {
		between(f, fl_rp_extent(f, child[0]).to,
			fl_rp_extent(f, child[n - 1]).from, sign, sizeof(sign));
		sign[strlen(sign) ? strlen(sign) - 1 : 0] = 0;
		op.b = fl_rp_read_value(f, child[n - 1], ops, &of);
	}
	if (*type != RP_INT || of != RP_INT)
		fl_rp_refuse(f, c, "pointer arithmetic");
	else if (x.var == RP_NONE || !sign_of(sign, &op.sign) || op.sign >= RP_EQ)
		fl_rp_refuse(f, c, "an operator that is none of + - * / %");
	add_op(f, c, op, ops);
	return x;
}

static struct rp_ref read_unary(struct rp_front *f, CXCursor c, rp_ints *ops, int *type)
{
	struct rp_range all = fl_rp_extent(f, c);
	const char *text = f->p->text;
	bool is_step = (text[all.from] == text[all.from + 1] &&
			(text[all.from] == '+' || text[all.from] == '-')) ||
		       (all.to >= 2 && text[all.to - 1] == text[all.to - 2] &&
			(text[all.to - 1] == '+' || text[all.to - 1] == '-'));
	int64_t value;

	if (is_step)
		return read_step(f, c, ops, type);
	if (text[all.from] == '-' && evaluate(f, c, &value)) {
		*type = RP_INT;
		return constant(value, all);
	}
	fl_rp_refuse(f, c,
		     text[all.from] == '&' ? "the address of a variable" :
		     text[all.from] == '*' ? "a pointer to what is no struct" :
		     text[all.from] == '!' ? "a condition used as a value" :
					     "an operator that is none of + - * / %");
	return constant(0, all);
}

/* a + b: a hidden variable, unless it is assigned at once. */
static bool read_sum(struct rp_front *f, CXCursor c, rp_ints *ops, struct rp_op *op)
{
	CXCursor child[RP_CHILDREN];
	struct rp_range l, r;
	char sign[8];
	int of_a, of_b;

	if (fl_rp_children(f, c, child) != 2)
		return false;
	l = fl_rp_extent(f, child[0]);
	r = fl_rp_extent(f, child[1]);
	between(f, l.to, r.from, sign, sizeof(sign));
	if (!sign_of(sign, &op->sign))
		return false;
	op->a = fl_rp_read_value(f, child[0], ops, &of_a);
	op->b = fl_rp_read_value(f, child[1], ops, &of_b);
	op->type = of_a == RP_INT || of_a == RP_ANY_POINTER ? of_b : of_a;
	if (of_a == RP_INT && of_b == RP_INT)
		op->type = RP_INT;
	if (op->type != RP_INT && op->sign < RP_EQ)
		fl_rp_refuse(f, c, "pointer arithmetic");
	else if (op->type != RP_INT && op->sign > RP_NE)
		fl_rp_refuse(f, c, "pointers compared by size");
	return true;
}

/* Has the line `// concrete` behind @p c: what it gives is told, not looked into? */
static bool is_concrete(struct rp_front *f, CXCursor c)
{
	const char *behind = f->p->text + fl_rp_extent(f, c).to;
	const char *end = behind + strcspn(behind, "\n");
	const char *mark = strstr(behind, "// concrete");

	return mark && mark < end;
}

/* A number that comes from outside: the next input. */
static bool gives_number(struct rp_front *f, CXCursor c, const char *name)
{
	CXType of = f->c->getCursorResultType(f->c->getCursorReferenced(c));

	if (fl_rp_type(f, of) != RP_INT)
		return false;
	return !strcmp(name, "input") || !strcmp(name, "rand") ||
	       !strcmp(name, "random") || is_concrete(f, c);
}

/* Does it change nothing that is looked at? */
static bool is_silent(const char *name)
{
	static const char *const silent[] = { "printf", "puts", "putchar", "fflush",
					      "srand" };

	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++)
		if (!strcmp(name, silent[i]))
			return true;
	return false;
}

/* A call of what is not in this file, and known or told of. @return whether it was one. */
static bool read_known_call(struct rp_front *f, CXCursor c, const char *name,
			    CXCursor *args, unsigned n, struct rp_ref dst, int type,
			    rp_ints *ops)
{
	struct rp_op op = { .dst = dst, .type = type, .is_fixed = true };
	int of;

	if ((!strcmp(name, "malloc") || !strcmp(name, "calloc")) && dst.var != RP_NONE) {
		op.kind = RP_ALLOC;
		if (type < 0)
			fl_rp_refuse(f, c, "memory for what is no struct");
	} else if (!strcmp(name, "free") && n == 1) {
		op.kind = RP_FREE;
		op.a = fl_rp_read_value(f, args[0], ops, &of);
		op.type = of;
	} else if (gives_number(f, c, name)) {
		op.kind = RP_INPUT;
	} else {
		return dst.var == RP_NONE && (is_silent(name) || is_concrete(f, c));
	}
	add_op(f, c, op, ops);
	return true;
}

static void read_call(struct rp_front *f, CXCursor c, struct rp_ref dst, int type,
		      rp_ints *ops)
{
	CXCursor child[RP_CHILDREN], to = f->c->getCursorReferenced(c);
	unsigned n = fl_rp_children(f, c, child), n_args = n ? n - 1 : 0;
	const char *name = fl_rp_name(f, c);
	struct rp_op op = { .kind = RP_CALL,
			    .dst = dst,
			    .type = type,
			    .is_fixed = true,
			    .callee = RP_NONE };
	char why[160];
	int of;

	for (size_t i = 0; i < f->functions.size; i++)
		if (f->c->equalCursors(f->functions.data[i],
				       f->c->getCursorDefinition(to)))
			op.callee = (int)i;
	if (op.callee == RP_NONE) {
		if (read_known_call(f, c, name, child + 1, n_args, dst, type, ops))
			return;
		snprintf(why, sizeof(why), "a call of '%s', which is not in this file",
			 name);
		fl_rp_refuse(f, c, why);
		return;
	}
	if (n_args != f->p->functions.data[op.callee].parameters.size) {
		fl_rp_refuse(f, c, "a call with other arguments than parameters");
		return;
	}
	op.args = arena_alloc(&f->p->arena, (n_args + 1) * sizeof(*op.args));
	if (!op.args) {
		f->has_failed = true;
		return;
	}
	for (unsigned i = 0; i < n_args; i++)
		op.args[i] = fl_rp_read_value(f, child[i + 1], ops, &of);
	add_op(f, c, op, ops);
}

static struct rp_ref read_operator(struct rp_front *f, CXCursor c, rp_ints *ops,
				   int *type)
{
	struct rp_op op = { .kind = RP_ASSIGN };
	int64_t value;

	if (is_assignment(f, c))
		return read_assignment(f, c, ops, type);
	if (evaluate(f, c, &value)) {
		*type = RP_INT;
		return constant(value, fl_rp_extent(f, c));
	}
	if (!read_sum(f, c, ops, &op))
		fl_rp_refuse(f, c, "an operator that is none of + - * / %");
	else if (op.sign >= RP_EQ)
		fl_rp_refuse(f, c, "a condition used as a value");
	if (f->refused)
		return constant(0, fl_rp_extent(f, c));
	*type = op.type;
	op.dst = hidden(f, c, op.type);
	add_op(f, c, op, ops);
	return op.dst;
}

struct rp_ref fl_rp_read_value(struct rp_front *f, CXCursor c, rp_ints *ops, int *type)
{
	struct rp_ref r;
	int64_t value;

	c = bare(f, c);
	*type = fl_rp_type(f, f->c->getCursorType(c));
	switch ((int)f->c->getCursorKind(c)) {
	case CXCursor_DeclRefExpr:
		return read_name(f, c, type);
	case CXCursor_MemberRefExpr:
		return read_member(f, c, ops, type);
	case CXCursor_CStyleCastExpr:
		return read_cast(f, c, ops, type);
	case CXCursor_BinaryOperator:
		return read_operator(f, c, ops, type);
	case CXCursor_CompoundAssignOperator:
		return read_step(f, c, ops, type);
	case CXCursor_UnaryOperator:
		return read_unary(f, c, ops, type);
	case CXCursor_CallExpr:
		r = hidden(f, c, *type);
		read_call(f, c, r, *type, ops);
		return r;
	case CXCursor_FloatingLiteral:
		fl_rp_refuse(f, c, "a floating-point number");
		break;
	case CXCursor_ArraySubscriptExpr:
		fl_rp_refuse(f, c, "an element of an array");
		break;
	case CXCursor_ConditionalOperator:
		fl_rp_refuse(f, c, "a conditional expression (write an if)");
		break;
	default:
		if (evaluate(f, c, &value)) {
			*type = RP_INT;
			return constant(value, fl_rp_extent(f, c));
		}
		fl_rp_refuse(f, c, "an expression that the repair has no words for");
	}
	return constant(0, fl_rp_extent(f, c));
}

void fl_rp_read_into(struct rp_front *f, CXCursor c, struct rp_ref dst, int type,
		     bool is_kept, rp_ints *ops)
{
	struct rp_op op = {
		.kind = RP_ASSIGN, .dst = dst, .type = type, .is_kept = is_kept
	};
	CXCursor child[RP_CHILDREN], inner = bare(f, c);
	int of;

	while (f->c->getCursorKind(inner) == CXCursor_CStyleCastExpr) {
		unsigned n = fl_rp_children(f, inner, child);

		if (!n || f->c->getCursorKind(bare(f, child[n - 1])) != CXCursor_CallExpr)
			break;
		inner = bare(f, child[n - 1]);
	}
	if (f->c->getCursorKind(inner) == CXCursor_CallExpr) {
		read_call(f, inner, dst, type, ops);
		return;
	}
	if (f->c->getCursorKind(inner) == CXCursor_BinaryOperator &&
	    !is_assignment(f, inner) && !evaluate(f, inner, &(int64_t){ 0 }) &&
	    read_sum(f, inner, ops, &op)) {
		if (op.sign >= RP_EQ)
			fl_rp_refuse(f, c, "a condition used as a value");
		op.type = type;
	} else {
		op.a = fl_rp_read_value(f, c, ops, &of);
		if (!f->refused && (type == RP_INT) != (of == RP_INT) &&
		    (op.a.var != RP_NONE || op.a.value))
			fl_rp_refuse(
				f, c,
				"a pointer made of a number, or a number of a pointer");
		else if (!f->refused && type >= 0 && of >= 0 && of != type)
			fl_rp_refuse(f, c,
				     "a pointer to one struct taken for one to another");
	}
	add_op(f, c, op, ops);
}

void fl_rp_read_effect(struct rp_front *f, CXCursor c, rp_ints *ops)
{
	CXCursor child[RP_CHILDREN], inner = bare(f, c);
	int type;

	switch ((int)f->c->getCursorKind(inner)) {
	case CXCursor_CallExpr:
		read_call(f, inner, constant(0, (struct rp_range){ 0, 0 }), RP_INT, ops);
		return;
	case CXCursor_CStyleCastExpr: // (void)x
		if (fl_rp_children(f, inner, child) == 1)
			return;
		break;
	case CXCursor_BinaryOperator:
	case CXCursor_CompoundAssignOperator:
	case CXCursor_UnaryOperator:
		break;
	default:
		fl_rp_refuse(f, c, "a statement that the repair has no words for");
		return;
	}
	fl_rp_read_value(f, inner, ops, &type);
}

/* ---- conditions ---------------------------------------------------------------------------- */

static struct rp_condition *atom(struct rp_front *f, CXCursor c, CXCursor all,
				 bool is_negated, struct rp_condition *to)
{
	struct rp_op op = { .kind = RP_TEST };
	rp_ints ops = {};
	bool is_comparison;

	is_comparison = f->c->getCursorKind(c) == CXCursor_BinaryOperator &&
			!is_assignment(f, c) && read_sum(f, c, &ops, &op) &&
			op.sign >= RP_EQ;
	if (!is_comparison) {
		vec_deinit(&ops);
		op.a = fl_rp_read_value(f, c, &ops, &op.type);
		op.b = constant(0, (struct rp_range){ 0, 0 });
		op.sign = is_negated ? RP_EQ : RP_NE;
		op.is_whole = true;
	}
	add_op(f, all, op, &ops);
	to->logic = RP_ATOM;
	to->ops.data = arena_alloc(&f->p->arena, ops.size * sizeof(int));
	if (to->ops.data)
		memcpy(to->ops.data, ops.data, ops.size * sizeof(int));
	else
		f->has_failed = true;
	to->ops.size = to->ops.capacity = f->has_failed ? 0 : ops.size;
	vec_deinit(&ops);
	return to;
}

struct rp_condition *fl_rp_read_condition(struct rp_front *f, CXCursor c)
{
	struct rp_condition *to = arena_alloc(&f->p->arena, sizeof(*to));
	CXCursor child[RP_CHILDREN], inner = bare(f, c), below;
	struct rp_range at;
	char sign[8];
	unsigned n;

	if (!to) {
		f->has_failed = true;
		return NULL;
	}
	n = fl_rp_children(f, inner, child);
	at = fl_rp_extent(f, inner);
	if (f->c->getCursorKind(inner) == CXCursor_BinaryOperator && n == 2) {
		between(f, fl_rp_extent(f, child[0]).to, fl_rp_extent(f, child[1]).from,
			sign, sizeof(sign));
		if (!strcmp(sign, "&&") || !strcmp(sign, "||")) {
			to->logic = sign[0] == '&' ? RP_AND : RP_OR;
			to->left = fl_rp_read_condition(f, child[0]);
			to->right = fl_rp_read_condition(f, child[1]);
			return to;
		}
	}
	if (f->c->getCursorKind(inner) == CXCursor_UnaryOperator && n == 1 &&
	    f->p->text[at.from] == '!') {
		below = bare(f, child[0]);
		if (f->c->getCursorKind(below) == CXCursor_BinaryOperator ||
		    f->c->getCursorKind(below) == CXCursor_UnaryOperator) {
			to->logic = RP_NOT;
			to->left = fl_rp_read_condition(f, child[0]);
			return to;
		}
		return atom(f, below, inner, true, to);
	}
	return atom(f, inner, inner, false, to);
}
