// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Files with objects: one function per rule of the grammar in doc/linear.md, named after it.
 */
#include <string.h>

#include "specdsl/objects.h"
#include "specdsl/spec_parser.h"

/* Which names an expression may have. */
struct scope {
	struct parser *p;
	const struct spec_object *o;
	const struct spec_object_operation *operation;
	bool is_assigned; ///< of an assignment
	int depth;
};

static struct spec_object_expr *parse_choice(struct scope *s);

static void *need(struct parser *p, size_t bytes)
{
	void *at = arena_alloc(&p->s->arena, bytes);

	p->is_out_of_memory |= !at;
	p->is_panicking |= !at;
	return at;
}

/* @p v's elements, in the arena. */
#define keep(p, v)                                                                 \
	({                                                                         \
		__typeof__((v)->data) copy_ =                                      \
			need(p, ((v)->size ? (v)->size : 1) * sizeof(*(v)->data)); \
		if (copy_ && (v)->size)                                            \
			memcpy(copy_, (v)->data, (v)->size * sizeof(*(v)->data));  \
		copy_;                                                             \
	})

static bool accept_char(struct parser *p, char c)
{
	if (p->is_panicking || !spec_parse_is_char(p, c))
		return false;
	spec_parse_advance(p);
	return true;
}

static bool parse_number(struct parser *p, const char *what, int64_t *ret)
{
	return spec_parse_integer(p, what, -(1ll << 61), 1ll << 61, ret);
}

/* ---- expressions ------------------------------------------------------------------------- */

static struct spec_object_expr *make(struct parser *p, enum spec_object_op op,
				     const struct spec_object_expr *a,
				     const struct spec_object_expr *b)
{
	struct spec_object_expr *e;

	if (p->is_panicking)
		return NULL;
	if (++p->n_nodes > SPEC_MAX_EXPR_NODES) {
		spec_parse_error(p, p->tok.span, NULL, "this is too large");
		return NULL;
	}
	e = need(p, sizeof(*e));
	if (e)
		*e = (struct spec_object_expr){ .op = op, .a = a, .b = b };
	return e;
}

static bool is_word_at(const struct parser *p, struct spec_span at, const char *name)
{
	return name && strlen(name) == at.length &&
	       !memcmp(p->f->text + at.offset, name, at.length);
}

static struct spec_object_expr *parse_name(struct scope *s)
{
	struct parser *p = s->p;
	struct spec_span at = p->tok.span;
	struct spec_object_expr *e = make(p, OBJ_STATE, NULL, NULL);

	if (!e)
		return NULL;
	spec_parse_advance(p);
	for (unsigned i = 0; i < s->operation->n_args; i++)
		if (is_word_at(p, at, s->operation->arg[i])) {
			e->op = OBJ_ARG;
			e->value = i;
			return e;
		}
	if (is_word_at(p, at, s->operation->result)) {
		e->op = OBJ_RESULT;
		if (s->is_assigned) // of a call that did not return it is not known
			spec_parse_error(p, at,
					 "say with REQUIRE what the result must be",
					 "what an operation does must follow from its "
					 "parameters and the states");
		return e;
	}
	for (size_t i = 0; i < s->o->n_states; i++) {
		if (!is_word_at(p, at, s->o->states[i].name))
			continue;
		e->value = i;
		if (s->o->states[i].is_array &&
		    spec_parse_expect_char(p, '[', "behind an array")) {
			e->a = parse_choice(s);
			spec_parse_expect_char(p, ']', "behind the index");
		}
		return e;
	}
	spec_parse_error(p, at, "states are declared as 'STATE name = 0;'",
			 "there is no state, parameter or result of this name");
	return NULL;
}

static struct spec_object_expr *parse_operand(struct scope *s)
{
	struct parser *p = s->p;
	struct spec_object_expr *e;
	int64_t number = 0;

	if (accept_char(p, '(')) {
		e = parse_choice(s);
		spec_parse_expect_char(p, ')', "behind what is in parentheses");
		return e;
	}
	if (accept_char(p, '-'))
		return make(p, OBJ_NEGATE, parse_operand(s), NULL);
	if (spec_parse_accept_word(p, "not"))
		return make(p, OBJ_NOT, parse_operand(s), NULL);
	if (spec_parse_accept_word(p, "EMPTY"))
		number = SPEC_OBJECT_EMPTY;
	else if (spec_parse_accept_word(p, "TRUE"))
		number = 1;
	else if (spec_parse_accept_word(p, "FALSE"))
		number = 0;
	else if (p->tok.kind == TOK_NAME)
		return parse_name(s);
	else if (!parse_number(p, "a number, a name or '('", &number))
		return NULL;
	e = make(p, OBJ_NUMBER, NULL, NULL);
	if (e)
		e->value = number;
	return e;
}

static struct spec_object_expr *parse_product(struct scope *s)
{
	struct spec_object_expr *e = parse_operand(s);

	for (;;) {
		if (accept_char(s->p, '*'))
			e = make(s->p, OBJ_MUL, e, parse_operand(s));
		else if (accept_char(s->p, '/'))
			e = make(s->p, OBJ_DIV, e, parse_operand(s));
		else if (accept_char(s->p, '%'))
			e = make(s->p, OBJ_REST, e, parse_operand(s));
		else
			return e;
	}
}

static struct spec_object_expr *parse_sum(struct scope *s)
{
	struct spec_object_expr *e = parse_product(s);

	for (;;) {
		if (accept_char(s->p, '+'))
			e = make(s->p, OBJ_ADD, e, parse_product(s));
		else if (accept_char(s->p, '-'))
			e = make(s->p, OBJ_SUB, e, parse_product(s));
		else
			return e;
	}
}

static struct spec_object_expr *parse_comparison(struct scope *s)
{
	static const enum spec_object_op ops[] = {
		[OP_EQ] = OBJ_EQ, [OP_NE] = OBJ_NE, [OP_LE] = OBJ_LE,
		[OP_GE] = OBJ_GE, [OP_LT] = OBJ_LT, [OP_GT] = OBJ_GT
	};
	struct spec_object_expr *e = parse_sum(s);
	enum ast_op op = s->p->tok.op;

	if (s->p->is_panicking || s->p->tok.kind != TOK_COMPARE)
		return e;
	spec_parse_advance(s->p);
	return make(s->p, ops[op], e, parse_sum(s));
}

static struct spec_object_expr *parse_and(struct scope *s)
{
	struct spec_object_expr *e = parse_comparison(s);

	while (spec_parse_accept_word(s->p, "and"))
		e = make(s->p, OBJ_AND, e, parse_comparison(s));
	return e;
}

static struct spec_object_expr *parse_or(struct scope *s)
{
	struct spec_object_expr *e = parse_and(s);

	while (spec_parse_accept_word(s->p, "or"))
		e = make(s->p, OBJ_OR, e, parse_and(s));
	return e;
}

/* `a ? b : c` */
static struct spec_object_expr *parse_choice(struct scope *s)
{
	struct spec_object_expr *e, *b, *c;

	if (++s->depth > SPEC_MAX_DEPTH) {
		spec_parse_error(s->p, s->p->tok.span, NULL, "this is too deep");
		return NULL;
	}
	e = parse_or(s);
	if (accept_char(s->p, '?')) {
		b = parse_choice(s);
		spec_parse_expect_char(s->p, ':', "of the choice");
		c = parse_choice(s);
		e = make(s->p, OBJ_CHOOSE, e, b);
		if (e)
			e->c = c;
	}
	s->depth--;
	return e;
}

/* ---- objects of the user's ------------------------------------------------------------------ */

/* `REQUIRE e;`, `state = e;` */
static bool parse_step(struct scope *s, struct spec_object_step *ret)
{
	struct parser *p = s->p;
	struct spec_span at = p->tok.span;

	if (spec_parse_accept_word(p, "REQUIRE")) {
		ret->value = parse_choice(s);
		return spec_parse_end(p, "requirement") && ret->value;
	}
	if (p->tok.kind != TOK_NAME) {
		spec_parse_error(p, at, NULL, "expected REQUIRE or a state");
		return false;
	}
	ret->target = parse_name(s);
	if (ret->target && ret->target->op != OBJ_STATE)
		spec_parse_error(p, at, NULL, "only states can be assigned to");
	if (!p->is_panicking && p->tok.kind != TOK_ASSIGN)
		spec_parse_error(p, p->tok.span, NULL, "expected '=' behind the state");
	if (p->is_panicking)
		return false;
	spec_parse_advance(p);
	s->is_assigned = true;
	ret->value = parse_choice(s);
	s->is_assigned = false;
	return spec_parse_end(p, "assignment") && ret->value;
}

/* Names in parentheses, up to @p most. */
static void parse_names(struct parser *p, const char **names, unsigned *n, unsigned most)
{
	if (!spec_parse_expect_char(p, '(', "behind the operation") ||
	    accept_char(p, ')'))
		return;
	do {
		if (*n == most) {
			spec_parse_error(p, p->tok.span, NULL,
					 "there are at most %u parameters", most);
			return;
		}
		if (!spec_parse_new_name(p, "a parameter's name", &names[(*n)++]))
			return;
	} while (accept_char(p, ','));
	spec_parse_expect_char(p, ')', "behind the parameters");
}

/* `OPERATION f(a, b) GIVES r { .. }` */
static bool parse_operation(struct parser *p, struct spec_object *o,
			    struct spec_object_operation *ret)
{
	struct scope s = { .p = p, .o = o, .operation = ret };
	VEC(struct spec_object_step) steps = {};

	if (spec_parse_new_name(p, "the operation's name", &ret->name))
		parse_names(p, ret->arg, &ret->n_args, SPEC_OBJECT_ARGS);
	if (spec_parse_accept_word(p, "GIVES"))
		spec_parse_new_name(p, "a name of the result", &ret->result);
	spec_parse_expect_char(p, '{', "before what the operation does");
	while (!p->is_panicking && !spec_parse_is_char(p, '}')) {
		struct spec_object_step step = {};

		if (parse_step(&s, &step) && vec_add(&steps, step))
			p->is_out_of_memory = p->is_panicking = true;
	}
	if (spec_parse_expect_char(p, '}', "behind what the operation does")) {
		ret->steps = keep(p, &steps);
		ret->n_steps = steps.size;
	}
	vec_deinit(&steps);
	return !p->is_panicking;
}

/* `STATE name = 0;`, `STATE name[] = 0;` */
static bool parse_state(struct parser *p, struct spec_object_state *ret)
{
	spec_parse_new_name(p, "the state's name", &ret->name);
	if (accept_char(p, '['))
		ret->is_array = spec_parse_expect_char(p, ']', "of the array");
	if (!p->is_panicking && p->tok.kind == TOK_ASSIGN) {
		spec_parse_advance(p);
		if (spec_parse_accept_word(p, "EMPTY"))
			ret->initial = SPEC_OBJECT_EMPTY;
		else
			parse_number(p, "the first value", &ret->initial);
	}
	return spec_parse_end(p, "state");
}

/* After a mistake in an object go on behind it: with the next state or operation. */
static void skip_in_object(struct parser *p)
{
	p->is_panicking = false;
	while (p->tok.kind != TOK_END && !spec_parse_is_word(p, "STATE") &&
	       !spec_parse_is_word(p, "OPERATION") && !spec_parse_is_word(p, "OBJECT") &&
	       !spec_parse_is_word(p, "CALL"))
		spec_parse_advance(p);
	p->is_panicking = false;
}

static void parse_body(struct parser *p, struct spec_object *o)
{
	VEC(struct spec_object_state) states = {};
	VEC(struct spec_object_operation) operations = {};

	for (;;) {
		if (spec_parse_accept_word(p, "STATE")) {
			struct spec_object_state state = {};

			if (states.size == SPEC_OBJECT_STATES)
				spec_parse_error(p, p->tok.span, NULL,
						 "there are at most %d states",
						 SPEC_OBJECT_STATES);
			if (parse_state(p, &state) && vec_add(&states, state))
				p->is_out_of_memory = p->is_panicking = true;
			o->states = states.data;
			o->n_states = states.size;
		} else if (spec_parse_accept_word(p, "OPERATION")) {
			struct spec_object_operation operation = {};

			if (parse_operation(p, o, &operation) &&
			    vec_add(&operations, operation))
				p->is_out_of_memory = p->is_panicking = true;
		} else {
			spec_parse_expect_char(p, '}', "behind the object's operations");
			break;
		}
		if (p->is_panicking && !p->is_out_of_memory)
			skip_in_object(p);
	}
	o->states = keep(p, &states);
	o->operations = keep(p, &operations);
	o->n_operations = operations.size;
	vec_deinit(&states);
	vec_deinit(&operations);
}

/* `OBJECT queue;`, `OBJECT register INITIAL 0;`, `OBJECT account BY id { .. }` */
static void parse_object(struct parser *p)
{
	struct spec_object *o = need(p, sizeof(*o));
	const char *key = NULL;

	if (!o || !spec_parse_new_name(p, "the object: queue, stack, ...", &o->name))
		return;
	o->key = -1;
	if (spec_token_is_char(&p->tok, '-')) { // priority-queue
		const char *rest;
		char *name;

		spec_parse_advance(p);
		if (!spec_parse_new_name(p, "the rest of the object's name", &rest))
			return;
		name = spec_printf(p->s, "%s-%s", o->name, rest);
		o->name = name ?: o->name;
	}
	if (spec_parse_accept_word(p, "INITIAL")) {
		o->has_initial = true;
		if (spec_parse_accept_word(p, "EMPTY"))
			o->initial = SPEC_OBJECT_EMPTY;
		else
			parse_number(p, "the first value", &o->initial);
	}
	if (spec_parse_accept_word(p, "BY"))
		spec_parse_new_name(p, "a parameter of each operation", &key);
	if (accept_char(p, '{')) {
		o->is_machine = true;
		parse_body(p, o);
	} else {
		spec_parse_end(p, "object");
	}
	for (size_t i = 0; key && i < o->n_operations; i++) {
		const struct spec_object_operation *op = &o->operations[i];
		int at = -1;

		for (unsigned k = 0; k < op->n_args; k++)
			if (!strcmp(op->arg[k], key))
				at = k;
		if (at < 0 || (i && at != o->key))
			spec_parse_error(
				p, p->tok.span, NULL,
				"operation %s has no parameter %s%s", op->name, key,
				at < 0 ? "" : " at the place where others have it");
		o->key = at;
	}
	if (!p->is_panicking && vec_add(&p->s->objects, o))
		p->is_out_of_memory = true;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* `_`, `v`, `int v`, `*v`, `*int v`, `0` */
static void parse_call_value(struct parser *p, struct spec_call_value *ret)
{
	if (accept_char(p, '*'))
		ret->is = CALL_BEHIND;
	if (spec_parse_is_word(p, "int") && p->next.kind == TOK_NAME)
		ret->is_int = spec_parse_accept_word(p, "int");
	if (p->tok.kind != TOK_NAME && ret->is != CALL_BEHIND) {
		ret->is = CALL_NUMBER;
		parse_number(p, "a name, a number or '_'", &ret->number);
		return;
	}
	if (spec_parse_is_word(p, "NULL") && ret->is != CALL_BEHIND) {
		spec_parse_advance(p);
		ret->is = CALL_NUMBER;
		return;
	}
	if (!spec_parse_new_name(p, "a name, a number or '_'", &ret->name))
		return;
	if (ret->is != CALL_BEHIND)
		ret->is = strcmp(ret->name, "_") ? CALL_NAME : CALL_ANY;
}

static bool value_is(const struct spec_call_value *v, const char *name)
{
	return v->name && v->is != CALL_ANY && !strcmp(v->name, name);
}

/* What one of the function's values, or a number, gives. */
static void parse_given(struct parser *p, const struct spec_call *c,
			struct spec_call_given *ret)
{
	struct spec_span at = p->tok.span;
	const char *name;

	ret->slot = -1;
	if (spec_parse_accept_word(p, "EMPTY"))
		ret->number = SPEC_OBJECT_EMPTY;
	else if (spec_parse_accept_word(p, "TRUE"))
		ret->number = 1;
	else if (spec_parse_accept_word(p, "FALSE"))
		ret->number = 0;
	else if (p->tok.kind != TOK_NAME)
		parse_number(p, "a value of the call, or a number", &ret->number);
	else if (spec_parse_new_name(p, "a value of the call", &name)) {
		for (unsigned i = 0; i < c->n_args; i++)
			if (value_is(&c->arg[i], name))
				ret->slot = i;
		if (value_is(&c->returns, name))
			ret->slot = SPEC_CALL_ARGS;
		if (ret->slot < 0)
			spec_parse_error(p, at, NULL, "%s has no value of this name",
					 c->function);
	}
}

static void parse_is(struct parser *p, struct spec_call *c)
{
	if (!spec_parse_accept_word(p, "IS")) {
		if (!p->is_panicking)
			spec_parse_error(p, p->tok.span, NULL,
					 "expected IS and the operation");
		return;
	}
	if (spec_parse_accept_word(p, "NOTHING"))
		return;
	spec_parse_new_name(p, "the operation", &c->operation);
	if (spec_token_is_char(&p->tok, '-')) { // delete-min
		const char *rest;

		spec_parse_advance(p);
		if (spec_parse_new_name(p, "the rest of its name", &rest))
			c->operation = spec_printf(p->s, "%s-%s", c->operation, rest);
	}
	if (spec_parse_expect_char(p, '(', "behind the operation") &&
	    !accept_char(p, ')')) {
		do {
			if (c->n_given == SPEC_OBJECT_ARGS) {
				spec_parse_error(p, p->tok.span, NULL,
						 "there are at most %d arguments",
						 SPEC_OBJECT_ARGS);
				return;
			}
			parse_given(p, c, &c->given[c->n_given++]);
		} while (accept_char(p, ','));
		spec_parse_expect_char(p, ')', "behind the arguments");
	}
	c->gives = (struct spec_call_given){ -1, SPEC_OBJECT_NONE };
	c->on = (struct spec_call_given){ -1, 0 };
	if (spec_parse_accept_word(p, "GIVES"))
		parse_given(p, c, &c->gives);
	if (spec_parse_accept_word(p, "ON"))
		parse_given(p, c, &c->on);
}

/* `CALL f(q, v) RETURNS r IS op(v) GIVES r ON q;`, of the last object */
static void parse_call(struct parser *p)
{
	struct spec_object *o =
		p->s->objects.size ? p->s->objects.data[p->s->objects.size - 1] : NULL;
	struct spec_call c = { .place = { spec_file_line(p->f, p->tok.span.offset),
					  p->f->name } };
	struct spec_call *all;

	if (!o) {
		spec_parse_error(p, p->tok.span, NULL,
				 "expected OBJECT before the first CALL");
		return;
	}
	if (!spec_parse_new_name(p, "a function of the program", &c.function) ||
	    !spec_parse_expect_char(p, '(', "behind the function"))
		return;
	if (!accept_char(p, ')')) {
		do {
			if (c.n_args == SPEC_CALL_ARGS) {
				spec_parse_error(p, p->tok.span, NULL,
						 "the first %d arguments can be named",
						 SPEC_CALL_ARGS);
				return;
			}
			parse_call_value(p, &c.arg[c.n_args++]);
		} while (accept_char(p, ','));
		spec_parse_expect_char(p, ')', "behind the arguments");
	}
	if (spec_parse_accept_word(p, "RETURNS"))
		parse_call_value(p, &c.returns);
	parse_is(p, &c);
	if (!spec_parse_end(p, "call") || p->is_panicking)
		return;
	all = need(p, (o->n_calls + 1) * sizeof(*all));
	if (!all)
		return;
	if (o->n_calls)
		memcpy(all, o->calls, o->n_calls * sizeof(*all));
	all[o->n_calls++] = c;
	o->calls = all;
}

void spec_parse_object_statement(struct parser *p)
{
	p->n_nodes = 0;
	p->is_complete = false;
	if (spec_parse_accept_word(p, "OBJECT"))
		parse_object(p);
	else if (spec_parse_accept_word(p, "CALL"))
		parse_call(p);
	else if (!accept_char(p, ';'))
		spec_parse_error(p, p->tok.span, NULL, "expected OBJECT or CALL");
}

size_t spec_objects(const struct spec *s)
{
	return s->objects.size;
}

const struct spec_object *spec_object(const struct spec *s, size_t i)
{
	return s->objects.data[i];
}
