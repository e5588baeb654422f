// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A statement's tokens, and what they stand for (paper 003, Figures 8.2 and 8.3). libclang says
 * where statements begin and end, and of which type names are; a file that it cannot make sense of
 * (a header is missing) has tokens all the same.
 */
#include <ctype.h>
#include <string.h>

#include "csource/csource.h"
#include "suppress-hw/fixes/fixes.h"

#define CHILDREN 64
#define REGIONS 8

struct region {
	unsigned from, to;
};

struct reader {
	const struct csrc_clang *c;
	struct fix_statement *ret;
	CXTranslationUnit unit;
	CXFile file;
	unsigned line;
	struct region regions[REGIONS];
	size_t n_regions;
	bool has_condition, has_declaration;
	CXCursor function;
	bool has_failed;
};

/* ---- words ------------------------------------------------------------------------------------ */

struct err *fix_words_add(fix_words *w, const char *word)
{
	size_t at = vec_rank(w->size, i, strcmp(w->data[i], word) < 0);
	char *own;

	if (at < w->size && !strcmp(w->data[at], word))
		return NULL;
	own = strdup(word);
	if (!own || !vec_push(w)) {
		free(own);
		return &err_nomem;
	}
	memmove(&w->data[at + 1], &w->data[at], (w->size - 1 - at) * sizeof(*w->data));
	w->data[at] = own;
	return NULL;
}

bool fix_words_has(const fix_words *w, const char *word)
{
	size_t at = vec_rank(w->size, i, strcmp(w->data[i], word) < 0);

	return at < w->size && !strcmp(w->data[at], word);
}

void fix_words_deinit(fix_words *w)
{
	for (size_t i = 0; i < w->size; i++)
		free(w->data[i]);
	vec_deinit(w);
}

/* ---- where the statement is ---------------------------------------------------------------------- */

static unsigned offset(const struct reader *r, CXSourceLocation at, unsigned *line)
{
	unsigned offset = 0;

	r->c->getExpansionLocation(at, NULL, line, NULL, &offset);
	return offset;
}

static struct region extent(const struct reader *r, CXCursor c, unsigned lines[2])
{
	CXSourceRange range = r->c->getCursorExtent(c);

	return (struct region){ offset(r, r->c->getRangeStart(range), &lines[0]),
				offset(r, r->c->getRangeEnd(range), &lines[1]) };
}

struct children {
	CXCursor of[CHILDREN];
	unsigned n;
};

static enum CXChildVisitResult take(CXCursor c, CXCursor parent, CXClientData data)
{
	struct children *list = data;

	(void)parent;
	// Of too many the last one stays: a loop's body.
	list->of[list->n < CHILDREN ? list->n++ : CHILDREN - 1] = c;
	return CXChildVisit_Continue;
}

static unsigned line_of(const struct reader *r, unsigned at)
{
	unsigned line = 1;

	for (unsigned i = 0; i < at && r->ret->source[i]; i++)
		line += r->ret->source[i] == '\n';
	return line;
}

/* Is [from, to) on the line that is looked at? */
static bool add_region(struct reader *r, unsigned from, unsigned to)
{
	while (to > from && isspace((unsigned char)r->ret->source[to - 1]))
		to--;
	if (to <= from || line_of(r, from) > r->line || line_of(r, to - 1) < r->line)
		return false;
	if (r->n_regions < REGIONS)
		r->regions[r->n_regions++] = (struct region){ from, to };
	return true;
}

static void look(struct reader *r, CXCursor c);

/* A loop or branch: what stands before its body, or behind it; then the body. */
static void look_at_control(struct reader *r, CXCursor c, enum CXCursorKind kind)
{
	struct children list = {};
	unsigned lines[2], first;
	struct region all = extent(r, c, lines), body;
	bool is_branch = kind == CXCursor_IfStmt;

	r->c->visitChildren(c, take, &list);
	if (!list.n)
		return;
	first = kind == CXCursor_DoStmt ? 0 : is_branch ? 1 : list.n - 1;
	if (first >= list.n)
		return;
	body = extent(r, list.of[first], lines);
	if (kind == CXCursor_DoStmt ? add_region(r, body.to, all.to) :
				      add_region(r, all.from, body.from))
		r->has_condition |= kind != CXCursor_CaseStmt &&
				    kind != CXCursor_DefaultStmt &&
				    kind != CXCursor_LabelStmt;
	look(r, list.of[first]);
	for (unsigned i = 2; is_branch && i < list.n; i++)
		look(r, list.of[i]);
}

static bool is_control(enum CXCursorKind kind)
{
	return kind == CXCursor_IfStmt || kind == CXCursor_WhileStmt ||
	       kind == CXCursor_ForStmt || kind == CXCursor_DoStmt ||
	       kind == CXCursor_SwitchStmt || kind == CXCursor_CaseStmt ||
	       kind == CXCursor_DefaultStmt || kind == CXCursor_LabelStmt;
}

static bool has_child(struct reader *r, CXCursor c)
{
	struct children list = {};

	r->c->visitChildren(c, take, &list);
	for (unsigned i = 0; i < list.n; i++)
		if (r->c->isExpression(r->c->getCursorKind(list.of[i])))
			return true;
	return false;
}

/* Has a declaration nothing that it starts its variables with? */
static bool is_bare(struct reader *r, CXCursor c)
{
	struct children list = {};

	r->c->visitChildren(c, take, &list);
	for (unsigned i = 0; i < list.n; i++)
		if (has_child(r, list.of[i]))
			return false;
	return true;
}

static enum CXChildVisitResult look_at_each(CXCursor c, CXCursor parent,
					    CXClientData data)
{
	(void)parent;
	look(data, c);
	return CXChildVisit_Continue;
}

/* A statement. */
static void look(struct reader *r, CXCursor c)
{
	enum CXCursorKind kind = r->c->getCursorKind(c);
	unsigned lines[2];
	struct region at = extent(r, c, lines);

	if (lines[0] > r->line || lines[1] < r->line)
		return;
	if (kind == CXCursor_CompoundStmt) {
		r->c->visitChildren(c, look_at_each, r);
	} else if (is_control(kind)) {
		look_at_control(r, c, kind);
	} else if (add_region(r, at.from, at.to)) {
		r->has_declaration |= kind == CXCursor_DeclStmt && is_bare(r, c);
	}
}

static enum CXChildVisitResult look_at_body(CXCursor c, CXCursor parent,
					    CXClientData data)
{
	struct reader *r = data;

	return r->c->getCursorKind(c) == CXCursor_CompoundStmt ?
		       look_at_each(c, parent, data) :
		       CXChildVisit_Continue;
}

static enum CXChildVisitResult look_at_top(CXCursor c, CXCursor parent, CXClientData data)
{
	struct reader *r = data;
	enum CXCursorKind kind = r->c->getCursorKind(c);
	unsigned lines[2];

	(void)parent;
	if (!r->c->Location_isFromMainFile(r->c->getCursorLocation(c)))
		return CXChildVisit_Continue;
	if (kind == CXCursor_Namespace || kind == CXCursor_ClassDecl ||
	    kind == CXCursor_StructDecl || kind == CXCursor_LinkageSpec)
		return CXChildVisit_Recurse;
	if ((kind != CXCursor_FunctionDecl && kind != CXCursor_CXXMethod &&
	     kind != CXCursor_Constructor && kind != CXCursor_Destructor) ||
	    !r->c->isCursorDefinition(c))
		return CXChildVisit_Continue;
	extent(r, c, lines);
	if (lines[0] <= r->line && lines[1] >= r->line) {
		r->function = c;
		r->c->visitChildren(c, look_at_body, r);
	}
	return CXChildVisit_Continue;
}

/* Without a statement of the compiler's: the line as it is. */
static void take_line(struct reader *r)
{
	const char *s = r->ret->source, *end;
	unsigned line = 1;

	for (; *s && line < r->line; s++)
		line += *s == '\n';
	end = s + strcspn(s, "\n");
	if (end > s)
		add_region(r, (unsigned)(s - r->ret->source),
			   (unsigned)(end - r->ret->source));
}

/* ---- types ---------------------------------------------------------------------------------------- */

static char *spelled(struct reader *r, CXString s)
{
	const char *text = r->c->getCString(s);
	char *copy = strdup(text ? text : "");

	r->c->disposeString(s);
	if (!copy)
		r->has_failed = true;
	return copy;
}

static const char *unqualified(const char *type)
{
	static const char *const words[] = { "const ", "volatile ", "restrict " };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(type, words[i], strlen(words[i])))
			return unqualified(type + strlen(words[i]));
	return type;
}

/* "int", "char**", "user-defined*". NULL: it has none. */
static char *type_of(struct reader *r, CXType t)
{
	_cleanup_free_ char *name = NULL;
	char stars[8] = "", *ret;
	size_t n = 0;

	for (t = r->c->getCanonicalType(t); n < sizeof(stars) - 1; n++) {
		if (t.kind == CXType_Pointer)
			t = r->c->getCanonicalType(r->c->getPointeeType(t));
		else if (t.kind == CXType_ConstantArray ||
			 t.kind == CXType_IncompleteArray ||
			 t.kind == CXType_VariableArray)
			t = r->c->getCanonicalType(r->c->getArrayElementType(t));
		else
			break;
		stars[n] = '*';
	}
	if (t.kind == CXType_Invalid)
		return NULL;
	if (t.kind == CXType_Record || t.kind == CXType_Enum)
		name = strdup("user-defined");
	else if (t.kind == CXType_FunctionProto || t.kind == CXType_FunctionNoProto)
		name = strdup("function");
	else
		name = spelled(r, r->c->getTypeSpelling(t));
	if (!name || asprintf(&ret, "%s%s", unqualified(name), stars) < 0) {
		r->has_failed = true;
		return NULL;
	}
	return ret;
}

/* Of a number, character or text, by how it is written. */
static const char *type_of_literal(const char *text)
{
	size_t n = strlen(text);
	bool is_hex = n > 1 && text[0] == '0' && (text[1] | 32) == 'x';

	if (strchr(text, '"'))
		return "char*";
	if (strchr(text, '\''))
		return "char";
	if (strchr(text, '.') || (!is_hex && strpbrk(text, "eE")))
		return (text[n - 1] | 32) == 'f' ? "float" : "double";
	if (strpbrk(text, "lL"))
		return strpbrk(text, "uU") ? "unsigned long" : "long";
	return !is_hex && strpbrk(text, "uU") ? "unsigned int" : "int";
}

/* ---- names ----------------------------------------------------------------------------------------- */

struct names {
	struct reader *r;
	const char *wanted; ///< NULL: all, for the statement's list
	CXCursor found;
	bool is_found;
};

static enum CXChildVisitResult look_at_name(CXCursor c, CXCursor parent,
					    CXClientData data)
{
	struct names *n = data;
	struct reader *r = n->r;
	enum CXCursorKind kind = r->c->getCursorKind(c);
	_cleanup_free_ char *name = NULL, *type = NULL, *both = NULL;

	(void)parent;
	if (kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl)
		return kind == CXCursor_CompoundStmt || is_control(kind) ||
				       kind == CXCursor_DeclStmt ?
			       CXChildVisit_Recurse :
			       CXChildVisit_Continue;
	name = spelled(r, r->c->getCursorSpelling(c));
	if (n->wanted) {
		if (!name || strcmp(name, n->wanted))
			return CXChildVisit_Continue;
		n->found = c;
		n->is_found = true;
		return CXChildVisit_Continue; // an inner one hides it
	}
	type = type_of(r, r->c->getCursorType(c));
	if (!name || !type || !r->c->Location_isFromMainFile(r->c->getCursorLocation(c)))
		return CXChildVisit_Continue;
	if (asprintf(&both, "%s %s", type, name) < 0 ||
	    fix_words_add(&r->ret->variables, both))
		r->has_failed = true;
	return CXChildVisit_Continue;
}

static void list_names(struct reader *r)
{
	struct names all = { .r = r };

	r->c->visitChildren(r->c->getTranslationUnitCursor(r->unit), look_at_name, &all);
	if (r->function.kind)
		r->c->visitChildren(r->function, look_at_name, &all);
}

/* By its name alone: of text that the preprocessor takes away. */
static char *type_by_name(struct reader *r, const char *name)
{
	struct names one = { .r = r, .wanted = name };

	r->c->visitChildren(r->c->getTranslationUnitCursor(r->unit), look_at_name, &one);
	if (r->function.kind)
		r->c->visitChildren(r->function, look_at_name, &one);
	return one.is_found ? type_of(r, r->c->getCursorType(one.found)) : NULL;
}

/* ---- tokens ----------------------------------------------------------------------------------------- */

static bool is_literal(enum CXCursorKind kind)
{
	return kind == CXCursor_IntegerLiteral || kind == CXCursor_FloatingLiteral ||
	       kind == CXCursor_StringLiteral || kind == CXCursor_CharacterLiteral;
}

/* A macro that stands for a constant is written in capitals. */
static bool is_in_capitals(const char *text)
{
	bool has_letter = false;

	for (; *text; text++) {
		if (islower((unsigned char)*text))
			return false;
		has_letter |= isupper((unsigned char)*text);
	}
	return has_letter;
}

static char *copy(struct reader *r, const char *text)
{
	char *own = strdup(text);

	if (!own)
		r->has_failed = true;
	return own;
}

static void name_a_name(struct reader *r, CXCursor c, struct fix_token *t, bool is_called)
{
	enum CXCursorKind kind = r->c->getCursorKind(c);
	CXCursor of = r->c->getCursorReferenced(c);
	enum CXCursorKind what = r->c->getCursorKind(of);

	t->kind = FIX_VARIABLE;
	if (kind == CXCursor_TypeRef || what == CXCursor_TypedefDecl ||
	    what == CXCursor_StructDecl || what == CXCursor_UnionDecl) {
		t->kind = FIX_TYPE;
	} else if (what == CXCursor_FunctionDecl || is_called) {
		t->kind = is_called ? FIX_CALL : FIX_VARIABLE;
		if (!is_called)
			t->type = copy(r, "function");
	} else if (what == CXCursor_EnumConstantDecl) {
		t->kind = FIX_CONSTANT;
		t->type = copy(r, "int");
	} else if (kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr ||
		   kind == CXCursor_VarDecl || kind == CXCursor_MemberRef) {
		t->type = type_of(r, r->c->getCursorType(kind == CXCursor_MemberRef ? of :
										      c));
	} else if (is_literal(kind) || (is_in_capitals(t->text))) {
		t->kind = FIX_CONSTANT;
		t->type = is_literal(kind) ? type_of(r, r->c->getCursorType(c)) :
					     copy(r, "int");
	} else {
		t->type = type_by_name(r, t->text);
	}
}

/* Where no expression is read, what stands before tells. */
static bool is_operand(const struct fix_token *t)
{
	return t &&
	       (t->kind == FIX_VARIABLE || t->kind == FIX_CONSTANT ||
		t->kind == FIX_CALL || !strcmp(t->text, ")") || !strcmp(t->text, "]"));
}

static bool is_unary(const struct reader *r, CXCursor c, const struct fix_token *before)
{
	enum CXCursorKind kind = r->c->getCursorKind(c);

	return kind == CXCursor_UnaryOperator ||
	       (kind != CXCursor_BinaryOperator && !is_operand(before));
}

static void name_a_sign(struct reader *r, CXCursor c, struct fix_token *t,
			const struct fix_token *before)
{
	enum CXCursorKind kind = r->c->getCursorKind(c);
	unsigned lines[2];

	t->kind = FIX_OPERATOR;
	if (strchr("(){};:,", t->text[0]) && !t->text[1])
		t->kind = *t->text == '(' && kind == CXCursor_CStyleCastExpr &&
					  extent(r, c, lines).from == t->from ?
				  FIX_CAST :
				  FIX_FORMAT;
	else if (!strcmp(t->text, "["))
		t->kind = kind == CXCursor_VarDecl ? FIX_FORMAT : FIX_INDEX;
	else if (!strcmp(t->text, "]") || !strcmp(t->text, "..."))
		t->kind = FIX_FORMAT;
	else if (!strcmp(t->text, "*") &&
		 (kind == CXCursor_VarDecl || kind == CXCursor_DeclStmt ||
		  (before &&
		   (before->kind == FIX_TYPE ||
		    (before->kind == FIX_KEYWORD && strcmp(before->text, "return"))))))
		t->kind = FIX_FORMAT; // of the declarator
	else if (!strcmp(t->text, "*") && is_unary(r, c, before))
		t->kind = FIX_DEREF;
	else if (!strcmp(t->text, "&") && is_unary(r, c, before))
		t->kind = FIX_REF;
}

static const struct fix_token *last(const struct fix_statement *s)
{
	return s->tokens.size ? &s->tokens.data[s->tokens.size - 1] : NULL;
}

/* A minus sign before a number is the number's. */
static void join_sign(struct fix_statement *s)
{
	struct fix_token *sign = &s->tokens.data[s->tokens.size - 2],
			 *t = &s->tokens.data[s->tokens.size - 1];
	char *text;

	if (s->tokens.size < 2 || t->kind != FIX_CONSTANT || strcmp(sign->text, "-") ||
	    sign->to != t->from ||
	    (s->tokens.size > 2 && is_operand(&s->tokens.data[s->tokens.size - 3])) ||
	    asprintf(&text, "-%s", t->text) < 0)
		return;
	free(sign->text);
	free(t->text);
	*sign = (struct fix_token){ .kind = FIX_CONSTANT,
				    .text = text,
				    .type = t->type,
				    .from = sign->from,
				    .to = t->to };
	s->tokens.size--;
}

static void add_token(struct reader *r, CXToken token, CXCursor c, const char *behind)
{
	CXTokenKind kind = r->c->getTokenKind(token);
	CXSourceRange range = r->c->getTokenExtent(r->unit, token);
	struct fix_token t = { .text = spelled(r, r->c->getTokenSpelling(r->unit, token)),
			       .from = offset(r, r->c->getRangeStart(range), NULL),
			       .to = offset(r, r->c->getRangeEnd(range), NULL) };
	const struct fix_token *before = last(r->ret);

	if (kind == CXToken_Comment || !t.text || !*t.text) {
		free(t.text);
		return;
	}
	switch (kind) {
	case CXToken_Keyword:
		t.kind = FIX_KEYWORD;
		break;
	case CXToken_Literal:
		t.kind = FIX_CONSTANT;
		t.type = copy(r, type_of_literal(t.text));
		break;
	case CXToken_Identifier:
		name_a_name(r, c, &t, behind && !strcmp(behind, "("));
		break;
	default:
		name_a_sign(r, c, &t, before);
	}
	if (vec_add(&r->ret->tokens, t))
		r->has_failed = true;
	else
		join_sign(r->ret);
}

static void read_region(struct reader *r, struct region at)
{
	CXSourceRange range =
		r->c->getRange(r->c->getLocationForOffset(r->unit, r->file, at.from),
			       r->c->getLocationForOffset(r->unit, r->file, at.to));
	CXToken *tokens = NULL;
	CXCursor *cursors;
	unsigned n = 0;

	r->c->tokenize(r->unit, range, &tokens, &n);
	cursors = calloc(n + 1, sizeof(*cursors));
	if (!cursors) {
		r->has_failed = true;
		n = 0;
	} else if (n) {
		r->c->annotateTokens(r->unit, tokens, n, cursors);
	}
	for (unsigned i = 0; i < n; i++) {
		_cleanup_free_ char *behind =
			i + 1 < n ? spelled(r, r->c->getTokenSpelling(r->unit,
								      tokens[i + 1])) :
				    NULL;
		CXSourceRange own = r->c->getTokenExtent(r->unit, tokens[i]);

		// It tokenizes one more than it was asked for.
		if (offset(r, r->c->getRangeStart(own), NULL) < at.to)
			add_token(r, tokens[i], cursors[i], behind);
	}
	free(cursors);
	if (tokens)
		r->c->disposeTokens(r->unit, tokens, n);
}

/* ---- the preprocessor ------------------------------------------------------------------------------ */

#define NESTED 32

/** A group of #if to #endif. */
struct group {
	size_t begins[NESTED]; ///< of its branches' directives
	size_t n;
};

static bool is_directive(const char *line, const char *name)
{
	line += strspn(line, " \t");
	if (*line++ != '#')
		return false;
	line += strspn(line, " \t");
	return !strncmp(line, name, strlen(name));
}

static void blank(char *text, size_t from, size_t to)
{
	for (; from < to; from++)
		if (text[from] != '\n')
			text[from] = ' ';
}

/* A group that ends before @p end: where the line at @p at is in one of its branches, that was the one
 * that was compiled, and stays alone. */
static void choose_branch(char *text, const struct group *g, size_t end, size_t at)
{
	for (size_t i = 0; i < g->n; i++) {
		size_t next = i + 1 < g->n ? g->begins[i + 1] : end;
		bool is_it = at >= g->begins[i] && at < next;

		if (g->begins[0] > at || at >= end)
			return;
		blank(text, g->begins[i],
		      is_it ? g->begins[i] + strcspn(text + g->begins[i], "\n") : next);
	}
	blank(text, end, end + strcspn(text + end, "\n"));
}

/* What the program was compiled with (-D) is not known; that the line in question was is. @return a copy
 * of @p source, of the same length, without what then was not. */
static char *without_others(const char *source, unsigned line)
{
	char *text = strdup(source);
	struct group groups[NESTED];
	size_t depth = 0, at = 0;

	for (unsigned i = 1; text && i < line && text[at]; at++)
		i += text[at] == '\n';
	for (size_t i = 0; text && text[i]; i += strcspn(text + i, "\n")) {
		i += text[i] == '\n';
		if (is_directive(text + i, "if")) {
			if (depth < NESTED)
				groups[depth] = (struct group){ { i }, 1 };
			depth++;
		} else if (!depth || depth > NESTED) {
			depth -= depth && is_directive(text + i, "endif");
		} else if (is_directive(text + i, "el")) {
			struct group *g = &groups[depth - 1];

			if (g->n < NESTED)
				g->begins[g->n++] = i;
		} else if (is_directive(text + i, "endif")) {
			choose_branch(text, &groups[--depth], i, at);
		}
	}
	return text;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static void read_unit(struct reader *r, const char *path)
{
	r->file = r->c->getFile(r->unit, path);
	r->ret->has_mistakes = false;
	for (unsigned i = 0; i < r->c->getNumDiagnostics(r->unit); i++) {
		CXDiagnostic d = r->c->getDiagnostic(r->unit, i);

		r->ret->has_mistakes |= r->c->getDiagnosticSeverity(d) >=
					CXDiagnostic_Error;
		r->c->disposeDiagnostic(d);
	}
	r->c->visitChildren(r->c->getTranslationUnitCursor(r->unit), look_at_top, r);
	if (!r->n_regions)
		take_line(r);
	for (size_t i = 0; i < r->n_regions; i++)
		read_region(r, r->regions[i]);
	r->ret->is_condition = r->has_condition;
	r->ret->is_declaration = r->has_declaration;
	list_names(r);
}

static bool is_plusplus(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcmp(dot, ".cc") || !strcmp(dot, ".cpp") ||
		       !strcmp(dot, ".cxx") || !strcmp(dot, ".C"));
}

struct err *fix_statement_read(const char *path, const char *source, int line,
			       struct fix_statement *ret)
{
	static const char *const args[][2] = { { "-xc", "-std=gnu11" },
					       { "-xc++", "-std=gnu++17" } };
	_cleanup_free_ char *text = without_others(source, (unsigned)line);
	struct CXUnsavedFile file = { path, text, strlen(source) };
	struct reader r = { .ret = ret, .line = (unsigned)line };
	CXIndex index;
	struct err *err = csrc_clang_load(&r.c);

	if (err || !text)
		return err ?: &err_nomem;
	ret->source = source;
	ret->line = line;
	index = r.c->createIndex(0, 0);
	if (r.c->parseTranslationUnit2(
		    index, path, args[is_plusplus(path)], 2, &file, 1,
		    CXTranslationUnit_KeepGoing |
			    CXTranslationUnit_DetailedPreprocessingRecord,
		    &r.unit))
		err = err_new(ERR_FORMAT, "libclang cannot read '%s'", path);
	else
		read_unit(&r, path);
	if (r.unit)
		r.c->disposeTranslationUnit(r.unit);
	r.c->disposeIndex(index);
	if (!err && r.has_failed)
		return &err_nomem;
	if (!err && !ret->tokens.size)
		err = err_new(ERR_NOT_FOUND, "there is no statement on line %d of '%s'",
			      line, path);
	return err;
}

void fix_statement_deinit(struct fix_statement *s)
{
	for (size_t i = 0; i < s->tokens.size; i++) {
		free(s->tokens.data[i].text);
		free(s->tokens.data[i].type);
	}
	vec_deinit(&s->tokens);
	fix_words_deinit(&s->variables);
}

/* ---- descriptors ------------------------------------------------------------------------------------ */

static bool is_assignment(const char *text)
{
	size_t n = strlen(text);

	return n && text[n - 1] == '=' && strcmp(text, "==") && strcmp(text, "!=") &&
	       strcmp(text, "<=") && strcmp(text, ">=");
}

static struct err *describe_typed(const struct fix_token *t, const char *what,
				  fix_words *ret)
{
	struct err *err = fix_words_add(ret, what);
	_cleanup_free_ char *typed = NULL;

	if (err || !t->type)
		return err;
	if (asprintf(&typed, "%s-%s", t->type, what) < 0) {
		typed = NULL;
		return &err_nomem;
	}
	return fix_words_add(ret, typed);
}

static struct err *describe_token(const struct fix_token *t, fix_words *ret)
{
	switch (t->kind) {
	case FIX_KEYWORD:
	case FIX_OPERATOR:
		return fix_words_add(ret, t->text);
	case FIX_TYPE:
		return fix_words_add(ret, "user-defined");
	case FIX_REF:
		return fix_words_add(ret, "REF");
	case FIX_DEREF:
		return fix_words_add(ret, "DEREF");
	case FIX_VARIABLE:
		return describe_typed(t, "VAR", ret);
	case FIX_CONSTANT:
		return describe_typed(t, "CONST", ret);
	case FIX_CALL:
		return fix_words_add(ret, "FUNC_CALL");
	case FIX_CAST:
		return fix_words_add(ret, "CAST");
	case FIX_INDEX:
		return fix_words_add(ret, "ARRAY_ACCESS");
	default:
		return NULL;
	}
}

struct err *fix_statement_describe(const struct fix_statement *s, fix_words *ret)
{
	struct err *err = NULL;
	bool is_assigned = false;

	for (size_t i = 0; i < s->tokens.size && !err; i++) {
		err = describe_token(&s->tokens.data[i], ret);
		is_assigned |= s->tokens.data[i].kind == FIX_OPERATOR &&
			       is_assignment(s->tokens.data[i].text);
	}
	if (!err && s->is_condition)
		err = fix_words_add(ret, "COND_STMT");
	else if (!err && is_assigned)
		err = fix_words_add(ret, "ASSIGN_STMT");
	if (!err && s->is_declaration)
		err = fix_words_add(ret, "DECL_STMT");
	return err;
}
