// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A C file to a program: functions, their blocks and statements. What a function has that is out
 * of scope refuses that function, with the place.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "faultlocate/repair/clang.h"

enum { MOST_BYTES = 4 << 20 };

static struct rp_block *read_block(struct rp_front *f, CXCursor c);

/* What was gathered goes to the arena, for good. */
static void settle(struct rp_front *f, rp_ints *from, void *to_vec)
{
	rp_ints *to = to_vec;

	to->size = to->capacity = from->size;
	to->data = from->size ? arena_alloc(&f->p->arena, from->size * sizeof(int)) :
				NULL;
	if (to->data)
		memcpy(to->data, from->data, from->size * sizeof(int));
	else if (from->size)
		f->has_failed = true;
	if (f->has_failed)
		to->size = 0;
	vec_deinit(from);
}

static struct rp_statement *new_statement(struct rp_front *f, CXCursor c,
					  enum rp_shape shape)
{
	struct rp_statement *s = arena_alloc(&f->p->arena, sizeof(*s));
	static struct rp_statement none;
	unsigned i;

	if (!s) {
		f->has_failed = true;
		return &none;
	}
	s->shape = shape;
	s->id = f->p->n_statements++;
	s->line = fl_rp_line(f, c);
	s->at = fl_rp_extent(f, c);
	for (i = s->at.to; i < f->p->size && strchr(" \t", f->p->text[i]); i++)
		;
	if (i < f->p->size && f->p->text[i] == ';' && shape != RP_IF && shape != RP_LOOP)
		s->at.to = i + 1;
	return s;
}

/* ---- statements ------------------------------------------------------------------------------ */

/* From its declaration to the end of the block around it. */
static void declare(struct rp_front *f, CXCursor c, unsigned until, rp_ints *ops)
{
	CXCursor child[RP_CHILDREN];
	struct rp_range at = fl_rp_extent(f, c);
	struct rp_variable v = { .name = fl_rp_name(f, c),
				 .function = f->function,
				 .type = fl_rp_type(f, f->c->getCursorType(c)),
				 .scope = { at.to, until } };
	unsigned n = fl_rp_children(f, c, child);
	int var;

	if (f->c->getCursorKind(c) != CXCursor_VarDecl)
		return; // a type
	if (f->c->Cursor_getStorageClass(c) == CX_SC_Static)
		fl_rp_refuse(f, c, "a static variable of a function");
	if (v.type == RP_OPAQUE)
		fl_rp_refuse(
			f, c,
			"a variable that is neither a whole number nor a pointer to a "
			"struct");
	var = fl_rp_add_variable(f, c, v);
	for (unsigned i = 0; i < n; i++) {
		enum CXCursorKind k = f->c->getCursorKind(child[i]);

		if (k == CXCursor_TypeRef || k == CXCursor_StructDecl || f->refused)
			continue;
		fl_rp_read_into(f, child[i], (struct rp_ref){ var, RP_NONE, 0, { 0, 0 } },
				v.type, true, ops);
	}
}

static struct rp_statement *read_declarations(struct rp_front *f, CXCursor c,
					      unsigned until)
{
	struct rp_statement *s = new_statement(f, c, RP_OPS);
	CXCursor child[RP_CHILDREN];
	unsigned n = fl_rp_children(f, c, child);
	rp_ints ops = {};

	s->is_declaration = true;
	for (unsigned i = 0; i < n; i++)
		declare(f, child[i], until, &ops);
	settle(f, &ops, &s->ops);
	return s;
}

static struct rp_statement *read_expression(struct rp_front *f, CXCursor c)
{
	struct rp_statement *s = new_statement(f, c, RP_OPS);
	rp_ints ops = {};

	fl_rp_read_effect(f, c, &ops);
	settle(f, &ops, &s->ops);
	return s;
}

static struct rp_statement *read_return(struct rp_front *f, CXCursor c)
{
	struct rp_statement *s = new_statement(f, c, RP_RETURN);
	struct rp_function *in = &f->p->functions.data[f->function];
	CXCursor child[RP_CHILDREN];
	rp_ints ops = {};

	if (fl_rp_children(f, c, child) == 1) {
		if (in->result == RP_NONE || in->result_type == RP_OPAQUE)
			fl_rp_refuse(
				f, c,
				"a result that is neither a whole number nor a pointer to "
				"a struct");
		else
			fl_rp_read_into(
				f, child[0],
				(struct rp_ref){ in->result, RP_NONE, 0, { 0, 0 } },
				in->result_type, true, &ops);
	}
	settle(f, &ops, &s->ops);
	return s;
}

/* Does it have, in it, what the witness tells? */
static bool block_is_heavy(const struct rp_program *p, const struct rp_block *b);

static bool ops_are_heavy(const struct rp_program *p, const int *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum rp_kind k = p->ops.data[ops[i]].kind;

		if (k == RP_CALL || k == RP_ALLOC || k == RP_INPUT)
			return true;
	}
	return false;
}

static bool condition_is_heavy(const struct rp_program *p, const struct rp_condition *c)
{
	return c && (ops_are_heavy(p, c->ops.data, c->ops.size) ||
		     condition_is_heavy(p, c->left) || condition_is_heavy(p, c->right));
}

static bool block_is_heavy(const struct rp_program *p, const struct rp_block *b)
{
	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];

		if (s->shape == RP_LOOP || ops_are_heavy(p, s->ops.data, s->ops.size) ||
		    condition_is_heavy(p, s->condition) || block_is_heavy(p, s->body) ||
		    block_is_heavy(p, s->otherwise))
			return true;
	}
	return false;
}

static void read_condition(struct rp_front *f, CXCursor c, struct rp_statement *s)
{
	s->condition = fl_rp_read_condition(f, c);
	// `a() && b()`: whether b() was called depends on what a patch may change.
	if (s->condition && s->condition->logic != RP_ATOM &&
	    (condition_is_heavy(f->p, s->condition->left) ||
	     condition_is_heavy(f->p, s->condition->right)))
		fl_rp_refuse(f, c, "a call in a part of a condition");
}

static struct rp_statement *read_if(struct rp_front *f, CXCursor c)
{
	struct rp_statement *s = new_statement(f, c, RP_IF);
	CXCursor child[RP_CHILDREN];
	unsigned n = fl_rp_children(f, c, child);

	if (n < 2) {
		fl_rp_refuse(f, c, "an if without a condition");
		return s;
	}
	read_condition(f, child[0], s);
	s->body = read_block(f, child[1]);
	s->otherwise = n > 2 ? read_block(f, child[2]) : NULL;
	s->is_heavy = block_is_heavy(f->p, s->body) ||
		      block_is_heavy(f->p, s->otherwise) ||
		      condition_is_heavy(f->p, s->condition);
	return s;
}

static struct rp_statement *read_while(struct rp_front *f, CXCursor c, bool is_do)
{
	struct rp_statement *s = new_statement(f, c, RP_LOOP);
	CXCursor child[RP_CHILDREN];

	if (fl_rp_children(f, c, child) != 2) {
		fl_rp_refuse(f, c, "a loop that the repair has no words for");
		return s;
	}
	s->is_do = is_do;
	read_condition(f, child[is_do], s);
	s->body = read_block(f, child[!is_do]);
	return s;
}

/* Where the two semicolons of a for are. */
static void find_semicolons(const struct rp_front *f, struct rp_range at, unsigned ret[2])
{
	int depth = 0, n = 0;

	ret[0] = ret[1] = at.to;
	for (unsigned i = at.from; i < at.to && n < 2; i++) {
		char c = f->p->text[i];

		depth += c == '(' ? 1 : c == ')' ? -1 : 0;
		if (c == ';' && depth == 1)
			ret[n++] = i;
	}
}

/* for (init; condition; step) body: init is a statement before it. */
static void read_for(struct rp_front *f, CXCursor c, struct rp_block *to)
{
	CXCursor child[RP_CHILDREN];
	unsigned n = fl_rp_children(f, c, child), semicolon[2];
	struct rp_range at = fl_rp_extent(f, c);
	struct rp_statement *s, *first = NULL;
	rp_ints ops = {};

	find_semicolons(f, at, semicolon);
	s = new_statement(f, c, RP_LOOP);
	for (unsigned i = 0; i + 1 < n; i++) {
		unsigned from = fl_rp_extent(f, child[i]).from;

		if (from > semicolon[1])
			fl_rp_read_effect(f, child[i], &ops);
		else if (from > semicolon[0])
			read_condition(f, child[i], s);
		else if (f->c->getCursorKind(child[i]) == CXCursor_DeclStmt)
			first = read_declarations(f, child[i], at.to);
		else
			first = read_expression(f, child[i]);
	}
	settle(f, &ops, &s->step);
	if (ops_are_heavy(f->p, s->step.data, s->step.size))
		fl_rp_refuse(f, c, "a call in the step of a for");
	if (!s->condition)
		fl_rp_refuse(f, c, "a for without a condition");
	if (n)
		s->body = read_block(f, child[n - 1]);
	if ((first && vec_add(&to->list, first)) || vec_add(&to->list, s))
		f->has_failed = true;
}

static void read_statement(struct rp_front *f, CXCursor c, unsigned until,
			   struct rp_block *to)
{
	struct rp_statement *s;

	switch ((int)f->c->getCursorKind(c)) {
	case CXCursor_NullStmt:
		return;
	case CXCursor_ForStmt:
		read_for(f, c, to);
		return;
	case CXCursor_DeclStmt:
		s = read_declarations(f, c, until);
		break;
	case CXCursor_IfStmt:
		s = read_if(f, c);
		break;
	case CXCursor_WhileStmt:
	case CXCursor_DoStmt:
		s = read_while(f, c, f->c->getCursorKind(c) == CXCursor_DoStmt);
		break;
	case CXCursor_ReturnStmt:
		s = read_return(f, c);
		break;
	case CXCursor_BreakStmt:
		s = new_statement(f, c, RP_BREAK);
		break;
	case CXCursor_ContinueStmt:
		s = new_statement(f, c, RP_CONTINUE);
		break;
	case CXCursor_CompoundStmt:
		s = new_statement(f, c, RP_BLOCK);
		s->body = read_block(f, c);
		break;
	case CXCursor_SwitchStmt:
	case CXCursor_GotoStmt:
	case CXCursor_LabelStmt:
		fl_rp_refuse(f, c, "a switch or a goto");
		return;
	default:
		s = read_expression(f, c);
	}
	if (vec_add(&to->list, s))
		f->has_failed = true;
}

static struct rp_block *read_block(struct rp_front *f, CXCursor c)
{
	struct rp_block *b = arena_alloc(&f->p->arena, sizeof(*b));
	CXCursor *child = arena_alloc(&f->p->arena, RP_CHILDREN * sizeof(*child));
	unsigned n;

	if (!b || !child || vec_add(&f->p->blocks, b)) {
		f->has_failed = true;
		return NULL;
	}
	b->id = (int)f->p->blocks.size - 1;
	b->at = fl_rp_extent(f, c);
	b->is_braced = f->c->getCursorKind(c) == CXCursor_CompoundStmt;
	if (!b->is_braced) {
		read_statement(f, c, b->at.to, b);
		return b;
	}
	n = fl_rp_children(f, c, child);
	if (n == RP_CHILDREN)
		fl_rp_refuse(f, c, "a block of 64 statements or more");
	for (unsigned i = 0; i < n && !f->refused; i++)
		read_statement(f, child[i], b->at.to, b);
	return b;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void read_parameters(struct rp_front *f, CXCursor c, struct rp_function *fn)
{
	CXCursor child[RP_CHILDREN];
	unsigned n = fl_rp_children(f, c, child);

	for (unsigned i = 0; i < n; i++) {
		struct rp_variable v = { .function = f->function,
					 .is_parameter = true,
					 .scope = fl_rp_extent(f, c) };

		if (f->c->getCursorKind(child[i]) != CXCursor_ParmDecl)
			continue;
		v.name = fl_rp_name(f, child[i]);
		v.type = fl_rp_type(f, f->c->getCursorType(child[i]));
		if (v.type == RP_OPAQUE)
			fl_rp_refuse(f, child[i],
				     "a parameter that is neither a whole number nor a "
				     "pointer to a struct");
		if (vec_add(&fn->parameters, fl_rp_add_variable(f, child[i], v)))
			f->has_failed = true;
	}
	if (fn->result_type == RP_INT || fn->result_type >= 0) {
		struct rp_variable v = { .name = "the result",
					 .function = f->function,
					 .type = fn->result_type,
					 .is_hidden = true,
					 .text = "the result" };

		fn->result = fl_rp_add_variable(f, (CXCursor){}, v);
	}
}

static void declare_function(struct rp_front *f, CXCursor c)
{
	struct rp_function *fn;
	CXType result = f->c->getCursorResultType(c);

	if (!f->c->isCursorDefinition(c))
		return;
	fn = vec_push(&f->p->functions);
	if (!fn || vec_add(&f->functions, c)) {
		f->has_failed = true;
		return;
	}
	f->function = (int)f->p->functions.size - 1;
	f->refused = NULL;
	fn->name = fl_rp_name(f, c);
	fn->result = RP_NONE;
	fn->result_type = fl_rp_type(f, result);
	fn->line = fl_rp_line(f, c);
	read_parameters(f, c, fn);
	fn->refused = f->refused;
}

static void declare_global(struct rp_front *f, CXCursor c)
{
	CXCursor child[RP_CHILDREN];
	struct rp_variable v = { .name = fl_rp_name(f, c),
				 .function = RP_NONE,
				 .type = fl_rp_type(f, f->c->getCursorType(c)),
				 .scope = { fl_rp_extent(f, c).to,
					    (unsigned)f->p->size } };
	unsigned n = fl_rp_children(f, c, child);
	CXEvalResult r = n ? f->c->Cursor_Evaluate(child[n - 1]) : NULL;

	if (r && f->c->EvalResult_getKind(r) == CXEval_Int)
		v.start = f->c->EvalResult_getAsLongLong(r);
	if (r)
		f->c->EvalResult_dispose(r);
	fl_rp_add_variable(f, c, v);
}

static enum CXChildVisitResult look(CXCursor c, CXCursor parent, CXClientData data)
{
	struct rp_front *f = data;

	(void)parent;
	if (!f->c->Location_isFromMainFile(f->c->getCursorLocation(c)))
		return CXChildVisit_Continue;
	if (f->c->getCursorKind(c) == CXCursor_FunctionDecl)
		declare_function(f, c);
	else if (f->c->getCursorKind(c) == CXCursor_VarDecl)
		declare_global(f, c);
	return CXChildVisit_Continue;
}

static void read_function(struct rp_front *f, size_t number)
{
	CXCursor c = f->functions.data[number], child[RP_CHILDREN];
	unsigned n = fl_rp_children(f, c, child);
	struct rp_block *body;
	struct rp_statement *end;
	struct rp_function *fn;

	f->function = (int)number;
	f->refused = f->p->functions.data[number].refused;
	if (!n || f->c->getCursorKind(child[n - 1]) != CXCursor_CompoundStmt)
		return;
	body = read_block(f, child[n - 1]);
	end = new_statement(f, child[n - 1], RP_END);
	fn = &f->p->functions.data[number];
	fn->body = body;
	fn->end = *end;
	for (unsigned i = end->at.from; i < end->at.to && i < f->p->size; i++)
		fn->end.line += f->p->text[i] == '\n'; // of the closing brace
	fn->refused = f->refused;
}

/* `// concrete` behind a statement: it is right, no patch touches its line. */
static void fix_concrete_lines(struct rp_program *p)
{
	int line = 1;

	for (size_t i = 0; i < p->size; i++) {
		line += p->text[i] == '\n';
		if (strncmp(p->text + i, "// concrete", 11))
			continue;
		for (size_t k = 0; k < p->ops.size; k++)
			if (p->ops.data[k].line == line)
				p->ops.data[k].is_fixed = true;
	}
}

/* The first mistake, as the compiler says it. */
static struct err *mistakes(const struct csrc_clang *c, CXTranslationUnit unit,
			    const char *path)
{
	struct err *err = NULL;

	for (unsigned i = 0; i < c->getNumDiagnostics(unit) && !err; i++) {
		CXDiagnostic d = c->getDiagnostic(unit, i);
		CXString text =
			c->formatDiagnostic(d, CXDiagnostic_DisplaySourceLocation |
						       CXDiagnostic_DisplayColumn);

		if (c->getDiagnosticSeverity(d) >= CXDiagnostic_Error)
			err = err_new(ERR_FORMAT, "cannot read '%s' as C: %s", path,
				      c->getCString(text));
		c->disposeString(text);
		c->disposeDiagnostic(d);
	}
	return err;
}

static struct err *parse(struct rp_front *f, const char *path, CXIndex index,
			 CXTranslationUnit *ret)
{
	static const char *const args[] = { "-xc", "-std=gnu11", "-w",
					    "-Werror=implicit-function-declaration" };
	struct CXUnsavedFile file = { path, f->p->text, f->p->size };
	enum CXErrorCode code = f->c->parseTranslationUnit2(index, path, args,
							    sizeof(args) / sizeof(*args),
							    &file, 1,
							    CXTranslationUnit_None, ret);

	if (code || !*ret)
		return err_new(ERR_FORMAT,
			       "cannot read '%s' as C: libclang gives up (%d)", path,
			       (int)code);
	return mistakes(f->c, *ret, path);
}

static struct err *keep_read(struct rp_program *p)
{
	p->n_read = p->ops.size;
	p->read = malloc((p->n_read + 1) * sizeof(*p->read));
	if (!p->read)
		return &err_nomem;
	if (p->n_read)
		memcpy(p->read, p->ops.data, p->n_read * sizeof(*p->read));
	return NULL;
}

struct err *fl_rp_program_read(const char *path, struct rp_program **ret)
{
	struct rp_front f = {};
	CXTranslationUnit unit = NULL;
	CXIndex index = NULL;
	_cleanup_(fl_rp_program_destroyp) struct rp_program *p = calloc(1, sizeof(*p));
	struct err *err = p ? csrc_clang_load(&f.c) : &err_nomem;

	if (!err)
		err = file_read_input(path, MOST_BYTES, &p->text, &p->size);
	if (err)
		return err;
	f.p = p;
	p->path = path;
	index = f.c->createIndex(0, 0);
	err = parse(&f, path, index, &unit);
	if (!err) {
		f.c->visitChildren(f.c->getTranslationUnitCursor(unit), look, &f);
		for (size_t i = 0; i < p->functions.size; i++)
			read_function(&f, i);
		fix_concrete_lines(p);
	}
	if (unit)
		f.c->disposeTranslationUnit(unit);
	f.c->disposeIndex(index);
	vec_deinit(&f.variables);
	vec_deinit(&f.functions);
	vec_deinit(&f.records);
	if (!err && f.has_failed)
		err = &err_nomem;
	if (!err)
		err = keep_read(p);
	if (!err)
		*ret = take_ptr(&p);
	return err;
}

void fl_rp_program_destroy(struct rp_program *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->records.size; i++)
		vec_deinit(&p->records.data[i].fields);
	for (size_t i = 0; i < p->functions.size; i++)
		vec_deinit(&p->functions.data[i].parameters);
	for (size_t i = 0; i < p->blocks.size; i++)
		vec_deinit(&p->blocks.data[i]->list);
	vec_deinit(&p->records);
	vec_deinit(&p->variables);
	vec_deinit(&p->ops);
	vec_deinit(&p->functions);
	vec_deinit(&p->blocks);
	vec_deinit(&p->notes);
	arena_deinit(&p->arena);
	free(p->read);
	free(p->text);
	free(p);
}

void fl_rp_program_destroyp(struct rp_program **p)
{
	fl_rp_program_destroy(*p);
}
