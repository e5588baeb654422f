// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Files with a concurrent structure: one function per rule of the grammar in doc/linear.md, named
 * after it. The file is read item by item; variables become numbers as they are met, and at the
 * end globals that are no variables are taken apart.
 */
#include <string.h>

#include "specdsl/spec_parser.h"
#include "specdsl/structure.h"

enum { MOST_VARS = 64, MOST_STEPS = 64 };

typedef VEC(struct spec_structure_var) vars;

/* What is read, while it is. */
struct reading {
	struct parser *p;
	VEC(const char *) types;
	vars globals, memories, locals;
	VEC(struct spec_structure_operation) operations;
	VEC(struct spec_step) steps;	     ///< of the operation that is open
	VEC(struct spec_step_expr *) exprs;  ///< all, to be changed in the end
	VEC(bool) is_pointer;		     ///< of each type: something points to it
	struct spec_structure_operation *op; ///< the open one
	bool has_initialize;
	struct spec_structure_operation initialize;
};

static void *need(struct parser *p, size_t bytes)
{
	void *at = arena_alloc(&p->s->arena, bytes ? bytes : 1);

	p->is_out_of_memory |= !at;
	p->is_panicking |= !at;
	return at;
}

#define keep(p, v)                                                                     \
	({                                                                             \
		__typeof__((v)->data) copy_ = need(p, (v)->size * sizeof(*(v)->data)); \
		if (copy_ && (v)->size)                                                \
			memcpy(copy_, (v)->data, (v)->size * sizeof(*(v)->data));      \
		copy_;                                                                 \
	})

#define add(p, v, ...)                                                    \
	do {                                                              \
		if (vec_add(v, ((__typeof__(*(v)->data))__VA_ARGS__)))    \
			(p)->is_out_of_memory = (p)->is_panicking = true; \
	} while (0)

static bool accept_char(struct parser *p, char c)
{
	if (p->is_panicking || !spec_parse_is_char(p, c))
		return false;
	spec_parse_advance(p);
	return true;
}

static bool is_word(const struct parser *p, const struct token *t, const char *word)
{
	return t->kind == TOK_NAME && t->span.length == strlen(word) &&
	       !memcmp(p->f->text + t->span.offset, word, t->span.length);
}

static int find(const vars *v, const struct parser *p, const struct token *t)
{
	for (size_t i = 0; i < v->size; i++)
		if (is_word(p, t, v->data[i].name))
			return (int)i;
	return -1;
}

static int find_type(const struct reading *r, const struct token *t)
{
	for (size_t i = 0; i < r->types.size; i++)
		if (is_word(r->p, t, r->types.data[i]))
			return (int)i;
	return -1;
}

/* ---- expressions ------------------------------------------------------------------------- */

static struct spec_step_expr *make(struct reading *r, enum spec_step_op op, int64_t value,
				   struct spec_step_expr *a, struct spec_step_expr *b)
{
	struct spec_step_expr *e;

	if (r->p->is_panicking)
		return NULL;
	e = need(r->p, sizeof(*e));
	if (!e)
		return NULL;
	*e = (struct spec_step_expr){ .op = op, .value = value, .a = a, .b = b };
	add(r->p, &r->exprs, e);
	return e;
}

static int type_of(const struct reading *r, const struct spec_step_expr *e)
{
	if (e && e->op == STEP_LOCAL)
		return r->locals.data[e->value].type;
	if (e && e->op == STEP_GLOBAL)
		return r->globals.data[e->value].type;
	if (e && e->op == STEP_MEMORY)
		return r->memories.data[e->value].type;
	return SPEC_TYPE_INT;
}

/* The memory of field @p t of type @p of; of an array, if that is SPEC_TYPE_INT. -1. */
static int find_memory(const struct reading *r, const struct token *t, int of)
{
	for (size_t i = 0; i < r->memories.size; i++)
		if (r->memories.data[i].of == of &&
		    is_word(r->p, t,
			    strrchr(r->memories.data[i].name, '.') ?
				    strrchr(r->memories.data[i].name, '.') + 1 :
				    r->memories.data[i].name))
			return (int)i;
	return -1;
}

static struct spec_step_expr *parse_index(struct reading *r)
{
	struct parser *p = r->p;
	int at;

	if (p->tok.kind == TOK_NUMBER || p->tok.kind != TOK_NAME) {
		int64_t n = 0;

		spec_parse_integer(p, "an index", 0, INT32_MAX, &n);
		return make(r, STEP_NUMBER, n, NULL, NULL);
	}
	at = find(&r->locals, p, &p->tok);
	if (at >= 0) {
		spec_parse_advance(p);
		return make(r, STEP_LOCAL, at, NULL, NULL);
	}
	at = find(&r->globals, p, &p->tok);
	if (at < 0)
		spec_parse_error(p, p->tok.span, NULL,
				 "there is no variable of this name");
	else
		spec_parse_advance(p);
	return make(r, STEP_GLOBAL, at, NULL, NULL);
}

/* `var`, `var.field`, `var[index]`; @p must_be of the right side may be a number, too. */
static struct spec_step_expr *parse_lhs(struct reading *r)
{
	struct parser *p = r->p;
	struct token name = p->tok;
	struct spec_step_expr *e = NULL;
	int at;

	if (p->is_panicking)
		return NULL;
	if (name.kind != TOK_NAME) {
		spec_parse_error(p, name.span, NULL, "expected a variable");
		return NULL;
	}
	spec_parse_advance(p);
	if (find_memory(r, &name, SPEC_TYPE_INT) >= 0 && accept_char(p, '[')) {
		e = make(r, STEP_MEMORY, find_memory(r, &name, SPEC_TYPE_INT),
			 parse_index(r), NULL);
		spec_parse_expect_char(p, ']', "behind the index");
		return e;
	}
	if ((at = find(&r->locals, p, &name)) >= 0)
		e = make(r, STEP_LOCAL, at, NULL, NULL);
	else if ((at = find(&r->globals, p, &name)) >= 0)
		e = make(r, STEP_GLOBAL, at, NULL, NULL);
	else
		spec_parse_error(p, name.span,
				 "globals stand before the operations, as 'type name;', "
				 "locals before the steps of theirs",
				 "there is no variable of this name");
	// Figure 6.12 has P[next] for P.next.
	while (e && (spec_parse_is_char(p, '.') || spec_parse_is_char(p, '['))) {
		bool has_bracket = spec_parse_is_char(p, '[');
		int of = type_of(r, e);

		spec_parse_advance(p);
		at = of == SPEC_TYPE_INT || p->tok.kind != TOK_NAME ?
			     -1 :
			     find_memory(r, &p->tok, of);
		if (at < 0) {
			if (of == SPEC_TYPE_INT)
				spec_parse_error(p, name.span, NULL,
						 "this is a number, which has no fields");
			else
				spec_parse_error(p, p->tok.span, NULL,
						 "struct '%s' has no such field",
						 r->types.data[of]);
			return NULL;
		}
		spec_parse_advance(p);
		e = make(r, STEP_MEMORY, at, e, NULL);
		if (has_bracket)
			spec_parse_expect_char(p, ']', "behind the field");
	}
	return e;
}

/* `ID`, `n`, `NULL`, `lhs` */
static struct spec_step_expr *parse_operand(struct reading *r)
{
	int64_t n = 0;

	if (spec_parse_accept_word(r->p, "ID"))
		return make(r, STEP_ID, 0, NULL, NULL);
	if (spec_parse_accept_word(r->p, "NULL"))
		return make(r, STEP_NUMBER, 0, NULL, NULL);
	if (r->p->tok.kind == TOK_NAME)
		return parse_lhs(r);
	spec_parse_integer(r->p, "a variable, a number, NULL or ID", INT32_MIN, INT32_MAX,
			   &n);
	return make(r, STEP_NUMBER, n, NULL, NULL);
}

static struct spec_step_expr *parse_rhs(struct reading *r)
{
	struct spec_step_expr *e = parse_operand(r);

	for (;;) {
		if (accept_char(r->p, '+'))
			e = make(r, STEP_ADD, 0, e, parse_operand(r));
		else if (accept_char(r->p, '-'))
			e = make(r, STEP_SUB, 0, e, parse_operand(r));
		else
			return e;
	}
}

/* @return SPEC_TYPE_INT, a struct's number, or -2 after a mistake. */
static int parse_type(struct reading *r)
{
	int type;

	if (spec_parse_accept_word(r->p, "int"))
		return SPEC_TYPE_INT;
	type = r->p->tok.kind == TOK_NAME ? find_type(r, &r->p->tok) : -1;
	if (type < 0) {
		spec_parse_error(r->p, r->p->tok.span, NULL, "expected int or a struct");
		return -2;
	}
	spec_parse_advance(r->p);
	return type;
}

/* `type var`, of a local or an argument */
static bool parse_local(struct reading *r)
{
	struct parser *p = r->p;
	struct spec_structure_var v = { .type = parse_type(r), .of = SPEC_TYPE_INT };

	if (!p->is_panicking && find(&r->locals, p, &p->tok) >= 0)
		spec_parse_error(p, p->tok.span, NULL,
				 "there is such a variable already");
	if (!p->is_panicking && r->locals.size == MOST_VARS)
		spec_parse_error(p, p->tok.span, NULL, "there are at most %d variables",
				 MOST_VARS);
	if (v.type >= 0)
		r->is_pointer.data[v.type] = true;
	if (!spec_parse_new_name(p, "the variable's name", &v.name))
		return false;
	add(p, &r->locals, v);
	return !p->is_panicking;
}

static bool is_other_number(const struct spec_step_expr *e)
{
	return e && e->op == STEP_NUMBER && e->value;
}

/* Which number is a thing? Nobody knows. */
static bool has_number_of_thing(const struct reading *r,
				const struct spec_step_condition *c)
{
	return (is_other_number(c->b) && type_of(r, c->a) >= 0) ||
	       (is_other_number(c->a) && type_of(r, c->b) >= 0);
}

static bool parse_comparison(struct reading *r, struct spec_step_condition *ret)
{
	static const enum spec_compare ops[] = {
		[OP_EQ] = STEP_EQ, [OP_NE] = STEP_NE, [OP_LE] = STEP_LE,
		[OP_GE] = STEP_GE, [OP_LT] = STEP_LT, [OP_GT] = STEP_GT
	};
	struct parser *p = r->p;
	struct spec_span at;

	ret->a = parse_rhs(r);
	if (!p->is_panicking && p->tok.kind != TOK_COMPARE)
		spec_parse_error(p, p->tok.span, NULL, "expected ==, !=, <, <=, > or >=");
	if (p->is_panicking)
		return false;
	ret->compare = ops[p->tok.op];
	spec_parse_advance(p);
	at = p->tok.span;
	ret->b = parse_rhs(r);
	if (!p->is_panicking && has_number_of_thing(r, ret))
		spec_parse_error(p, at, NULL,
				 "a pointer is compared with a number that is not NULL");
	return !p->is_panicking;
}

/* `NO type name: e == e, ..;`: the condition is that there is none. */
static const struct spec_step_expr *parse_none(struct reading *r)
{
	struct parser *p = r->p;
	struct spec_step_expr *all = NULL;
	int at = (int)r->locals.size, type = find_type(r, &p->tok);

	if (!p->is_panicking && type < 0)
		spec_parse_error(p, p->tok.span, "write 'NO node n: n.mark == 0;'",
				 "expected a struct, of which there is none such");
	if (!parse_local(r))
		return NULL;
	spec_parse_expect_char(p, ':', "behind the name");
	do {
		struct spec_step_condition c = {};
		struct spec_step_expr *e;

		if (!parse_comparison(r, &c))
			return NULL;
		e = make(r, STEP_COMPARE, c.compare, (struct spec_step_expr *)c.a,
			 (struct spec_step_expr *)c.b);
		all = all ? make(r, STEP_BOTH, 0, all, e) : e;
	} while (accept_char(p, ','));
	// The name is gone behind it.
	if (!p->is_panicking)
		r->locals.data[at].name = "";
	return make(r, STEP_ANY, at, all, NULL);
}

/* ---- steps --------------------------------------------------------------------------------- */

static bool parse_condition(struct reading *r, struct spec_step_condition *ret)
{
	struct parser *p = r->p;

	if (spec_parse_accept_word(p, "NO"))
		*ret = (struct spec_step_condition){
			STEP_EQ, parse_none(r), make(r, STEP_NUMBER, 0, NULL, NULL)
		};
	else
		parse_comparison(r, ret);
	if (p->is_panicking)
		return false;
	if (p->tok.kind == TOK_COMPARE &&
	    p->tok.op == OP_GT) // of the last, as Figure 6.4 has it
		return true;
	return spec_parse_end(p, "condition");
}

static bool starts_operation(const struct parser *p)
{
	return p->tok.kind == TOK_NAME &&
	       (spec_token_is_char(&p->next, '(') ||
		(p->next.kind == TOK_NAME && !spec_parse_is_word(p, "READ") &&
		 !spec_parse_is_word(p, "free")));
}

static bool parse_statement(struct reading *r, struct spec_step_statement *ret)
{
	struct parser *p = r->p;

	if (spec_parse_accept_word(p, "free")) {
		ret->is = STEP_FREE;
		ret->target = parse_lhs(r);
		return spec_parse_end(p, "statement");
	}
	if (spec_parse_accept_word(p, "READ")) {
		ret->is = STEP_READ;
		ret->target = parse_lhs(r);
		return spec_parse_end(p, "statement");
	}
	ret->target = parse_lhs(r);
	if (!p->is_panicking && p->tok.kind != TOK_ASSIGN)
		spec_parse_error(p, p->tok.span, NULL, "expected '='");
	if (p->is_panicking)
		return false;
	spec_parse_advance(p);
	if (!is_word(p, &p->tok, "malloc")) {
		ret->value = parse_rhs(r);
		return spec_parse_end(p, "statement");
	}
	ret->is = STEP_MALLOC;
	if (ret->target->op != STEP_LOCAL)
		spec_parse_error(p, p->tok.span, "allocate for a local, then assign that",
				 "malloc is for an operation's own variables");
	spec_parse_advance(p);
	ret->type = find_type(r, &p->tok);
	if (!p->is_panicking && ret->type < 0)
		spec_parse_error(p, p->tok.span, NULL, "there is no struct of this name");
	else if (!p->is_panicking && ret->type != type_of(r, ret->target))
		spec_parse_error(p, p->tok.span, NULL,
				 "the variable is for another struct");
	if (p->is_panicking)
		return false;
	r->is_pointer.data[ret->type] = true;
	spec_parse_advance(p);
	return spec_parse_end(p, "statement");
}

/* @p from to here, in one line. */
static const char *line_of(struct parser *p, struct spec_span from)
{
	struct spec_span all = spec_parse_until_here(p, from);
	char *text = spec_parse_text(p, all), *to = text;
	bool is_blank = false;

	for (const char *c = text; text && *c; c++) {
		if (strchr(" \t\r\n", *c)) {
			is_blank = to != text;
			continue;
		}
		if (is_blank)
			*to++ = ' ';
		is_blank = false;
		*to++ = *c;
	}
	if (to)
		*to = 0;
	return text;
}

/* `1 < c; .. > s; ..`, `* ..` */
static void parse_step(struct reading *r)
{
	struct parser *p = r->p;
	struct spec_step step = { .line = spec_file_line(p->f, p->tok.span.offset) };
	struct spec_span from = p->tok.span;
	VEC(struct spec_step_condition) conditions = {};
	VEC(struct spec_step_statement) statements = {};

	step.by_any = spec_parse_is_char(p, '*');
	if (!step.by_any && p->tok.number != 1)
		spec_parse_error(p, from, NULL,
				 "a step begins with 1 (this thread) or * (any)");
	if (!r->op)
		spec_parse_error(p, from, "write 'Name()' before its steps",
				 "this step belongs to no operation");
	if (r->steps.size == MOST_STEPS)
		spec_parse_error(p, from, NULL, "there are at most %d steps", MOST_STEPS);
	if (!p->is_panicking)
		spec_parse_advance(p);
	if (!p->is_panicking && p->tok.kind == TOK_COMPARE && p->tok.op == OP_LT) {
		spec_parse_advance(p);
		while (!p->is_panicking && p->tok.kind != TOK_COMPARE) {
			struct spec_step_condition c = {};

			if (parse_condition(r, &c))
				add(p, &conditions, c);
		}
		if (!p->is_panicking)
			spec_parse_advance(p);
	}
	while (!p->is_panicking && p->tok.kind == TOK_NAME && !starts_operation(p)) {
		struct spec_step_statement s = {};

		if (parse_statement(r, &s))
			add(p, &statements, s);
	}
	if (!p->is_panicking && !conditions.size && !statements.size)
		spec_parse_error(p, p->tok.span, NULL, "the step does nothing");
	if (!p->is_panicking) {
		step.conditions = keep(p, &conditions);
		step.n_conditions = conditions.size;
		step.statements = keep(p, &statements);
		step.n_statements = statements.size;
		step.text = line_of(p, from);
		add(p, &r->steps, step);
	}
	vec_deinit(&conditions);
	vec_deinit(&statements);
}

/* ---- declarations ------------------------------------------------------------------------- */

/* `struct name { type field, .. };` */
static void parse_struct(struct reading *r)
{
	struct parser *p = r->p;
	const char *name;
	int type = (int)r->types.size;

	spec_parse_advance(p);
	if (find_type(r, &p->tok) >= 0)
		spec_parse_error(p, p->tok.span, NULL, "there is such a struct already");
	if (!spec_parse_new_name(p, "the struct's name", &name))
		return;
	add(p, &r->types, name);
	add(p, &r->is_pointer, false);
	spec_parse_expect_char(p, '{', "before the fields");
	while (!p->is_panicking && !spec_parse_is_char(p, '}')) {
		struct spec_structure_var m = { .of = type, .type = parse_type(r) };
		const char *field;
		char *full;

		if (m.type >= 0)
			r->is_pointer.data[m.type] = true;
		if (find_memory(r, &p->tok, type) >= 0)
			spec_parse_error(p, p->tok.span, NULL,
					 "there is such a field already");
		if (!spec_parse_new_name(p, "the field's name", &field))
			return;
		full = need(p, strlen(name) + strlen(field) + 2);
		if (!full)
			return;
		sprintf(full, "%s.%s", name, field);
		m.name = full;
		if (r->memories.size == MOST_VARS)
			spec_parse_error(p, p->tok.span, NULL,
					 "there are at most %d fields", MOST_VARS);
		add(p, &r->memories, m);
		if (!accept_char(p, ',') && !accept_char(p, ';'))
			break;
	}
	spec_parse_expect_char(p, '}', "behind the fields");
	accept_char(p, ';');
}

/* `type var;`, `type var[];`, `type var = 0;` */
static void parse_global(struct reading *r)
{
	struct parser *p = r->p;
	struct spec_structure_var v = { .type = parse_type(r), .of = SPEC_TYPE_INT };
	bool is_array = false;

	if (!p->is_panicking && (find(&r->globals, p, &p->tok) >= 0 ||
				 find_memory(r, &p->tok, SPEC_TYPE_INT) >= 0))
		spec_parse_error(p, p->tok.span, NULL,
				 "there is such a variable already");
	if (!spec_parse_new_name(p, "the variable's name", &v.name))
		return;
	if (accept_char(p, '['))
		is_array = spec_parse_expect_char(p, ']', "of the array");
	if (!p->is_panicking && p->tok.kind == TOK_ASSIGN) {
		spec_parse_advance(p);
		if (!spec_parse_accept_word(p, "NULL"))
			spec_parse_integer(p, "the first value", INT32_MIN, INT32_MAX,
					   &v.initial);
	}
	if (r->globals.size >= MOST_VARS || r->memories.size >= MOST_VARS)
		spec_parse_error(p, p->tok.span, NULL, "there are at most %d variables",
				 MOST_VARS);
	if (!spec_parse_end(p, "variable"))
		return;
	if (is_array) {
		if (v.type >= 0)
			r->is_pointer.data[v.type] = true;
		add(p, &r->memories, v);
	} else {
		add(p, &r->globals, v);
	}
}

/* ---- operations --------------------------------------------------------------------------- */

static void close_operation(struct reading *r)
{
	struct parser *p = r->p;

	if (!r->op)
		return;
	if (!r->steps.size && !p->s->n_errors)
		spec_parse_error(p, p->tok.span, "a step begins with 1 or *",
				 "operation '%s' has no steps", r->op->name);
	r->op->locals = keep(p, &r->locals);
	r->op->n_locals = r->locals.size;
	r->op->steps = keep(p, &r->steps);
	r->op->n_steps = r->steps.size;
	r->locals.size = r->steps.size = 0;
	r->op = NULL;
}

/* `Name(type arg, ..) GIVES x`; what x is, is known when the operation is closed. */
static void parse_operation(struct reading *r)
{
	struct parser *p = r->p;
	struct spec_structure_operation o = {
		.line = spec_file_line(p->f, p->tok.span.offset), .result = -1
	};

	close_operation(r);
	if (!spec_parse_new_name(p, "the operation's name", &o.name))
		return;
	if (strcmp(o.name, "Initialize")) {
		add(p, &r->operations, o);
		if (p->is_panicking)
			return;
		r->op = &r->operations.data[r->operations.size - 1];
	} else {
		r->initialize = o;
		r->op = &r->initialize;
		r->has_initialize = true;
	}
	if (accept_char(p, '(') && !accept_char(p, ')')) {
		while (parse_local(r) && accept_char(p, ','))
			;
		spec_parse_expect_char(p, ')', "behind the arguments");
	}
	r->op->n_args = r->locals.size;
	accept_char(p, '{');
}

/* `GIVES var;` behind the locals or the steps */
static void parse_gives(struct reading *r)
{
	struct parser *p = r->p;

	spec_parse_advance(p);
	if (!r->op)
		spec_parse_error(p, p->tok.span, NULL, "no operation gives this");
	else if ((r->op->result = find(&r->locals, p, &p->tok)) < 0)
		spec_parse_error(p, p->tok.span, "'GIVES x;' stands behind 'int x;'",
				 "the operation has no variable of this name");
	if (!p->is_panicking)
		spec_parse_advance(p);
	spec_parse_end(p, "result");
}

static void parse_item(struct reading *r)
{
	struct parser *p = r->p;

	if (is_word(p, &p->tok, "struct"))
		parse_struct(r);
	else if (is_word(p, &p->tok, "GIVES"))
		parse_gives(r);
	else if (spec_token_is_char(&p->next, '(') && p->tok.kind == TOK_NAME)
		parse_operation(r);
	else if (p->tok.kind == TOK_NUMBER || spec_parse_is_char(p, '*'))
		parse_step(r);
	else if (is_word(p, &p->tok, "int") ||
		 (p->tok.kind == TOK_NAME && find_type(r, &p->tok) >= 0)) {
		if (!r->op) {
			parse_global(r);
		} else if (r->steps.size) {
			spec_parse_error(p, p->tok.span, NULL,
					 "variables stand before the steps");
		} else if (parse_local(r)) {
			spec_parse_end(p, "variable");
		}
	} else if (p->tok.kind == TOK_NAME && p->next.kind == TOK_NAME) {
		parse_operation(r);
	} else if (!accept_char(p, '}') && !accept_char(p, ';')) {
		spec_parse_error(p, p->tok.span, NULL,
				 "expected a struct, a variable, an operation or a step");
	}
}

/* ---- at the end ----------------------------------------------------------------------------- */

/* The global that field @p memory of the one thing @p global is. */
static int part_of(struct reading *r, int64_t global, int64_t memory)
{
	const struct spec_structure_var *g = &r->globals.data[global],
					*m = &r->memories.data[memory];
	const char *field = strrchr(m->name, '.');
	struct spec_structure_var part = { .type = m->type, .of = SPEC_TYPE_INT };
	char *name = need(r->p, strlen(g->name) + strlen(field) + 1);

	if (!name)
		return 0;
	sprintf(name, "%s%s", g->name, field);
	for (size_t i = 0; i < r->globals.size; i++)
		if (!strcmp(r->globals.data[i].name, name))
			return (int)i;
	part.name = name;
	add(r->p, &r->globals, part);
	return (int)r->globals.size - 1;
}

static void take_apart(struct reading *r)
{
	for (size_t i = 0; i < r->globals.size; i++) {
		int type = r->globals.data[i].type;

		r->globals.data[i].is_embedded = type >= 0 && !r->is_pointer.data[type];
	}
	for (size_t i = 0; i < r->exprs.size && !r->p->is_out_of_memory; i++) {
		struct spec_step_expr *e = r->exprs.data[i];

		if (e->op != STEP_MEMORY || !e->a || e->a->op != STEP_GLOBAL ||
		    r->memories.data[e->value].of == SPEC_TYPE_INT ||
		    !r->globals.data[e->a->value].is_embedded)
			continue;
		e->value = part_of(r, e->a->value, e->value);
		e->op = STEP_GLOBAL;
		e->a = NULL;
	}
}

static struct spec_structure *all_of(struct reading *r)
{
	struct parser *p = r->p;
	struct spec_structure *s = need(p, sizeof(*s));
	struct spec_structure_operation *first = need(p, sizeof(*first));

	if (!s || !first)
		return NULL;
	*first = r->initialize;
	*s = (struct spec_structure){
		.text = p->f->text,
		.size = p->f->size,
		.types = keep(p, &r->types),
		.n_types = r->types.size,
		.globals = keep(p, &r->globals),
		.n_globals = r->globals.size,
		.memories = keep(p, &r->memories),
		.n_memories = r->memories.size,
		.operations = keep(p, &r->operations),
		.n_operations = r->operations.size,
		.initialize = r->has_initialize ? first : NULL,
	};
	return p->is_out_of_memory ? NULL : s;
}

static void skip_item(struct parser *p)
{
	while (p->tok.kind != TOK_END && !spec_parse_is_char(p, ';'))
		spec_parse_advance(p);
	p->is_panicking = false;
}

void spec_parse_structure(struct parser *p)
{
	struct reading r = { .p = p };
	size_t before = p->s->n_errors;

	while (p->tok.kind != TOK_END && !p->is_out_of_memory) {
		if (p->tok.kind == TOK_BAD || p->tok.kind == TOK_WRONG)
			spec_parse_error(p, p->tok.span, p->tok.hint,
					 "this is no word here");
		else
			parse_item(&r);
		if (p->is_panicking)
			skip_item(p);
	}
	p->is_panicking = false;
	close_operation(&r);
	for (size_t i = 0; i < r.operations.size && p->s->n_errors == before; i++)
		if (!r.operations.data[i].n_steps)
			spec_parse_error(p, p->tok.span, "a step begins with 1 or *",
					 "operation '%s' has no steps",
					 r.operations.data[i].name);
	if (!r.operations.size && p->s->n_errors == before)
		spec_parse_error(p, p->tok.span, NULL, "there are no operations");
	take_apart(&r);
	p->s->structure = p->s->n_errors == before ? all_of(&r) : NULL;
	vec_deinit(&r.types);
	vec_deinit(&r.globals);
	vec_deinit(&r.memories);
	vec_deinit(&r.locals);
	vec_deinit(&r.operations);
	vec_deinit(&r.steps);
	vec_deinit(&r.exprs);
	vec_deinit(&r.is_pointer);
}

const struct spec_structure *spec_structure(const struct spec *s)
{
	return s->structure;
}
