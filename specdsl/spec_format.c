// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One way to write a specification. Works on tokens, so that what is written stays as it
 * is written (spellings, numbers, parentheses) and only the space between changes: a
 * statement a line with its declarations before it, broken behind `=>`, `||`, `and` and
 * `or` where it is too long; comments and single blank lines stay.
 */
#include <string.h>

#include "specdsl/spec_ast.h"

#define COLUMNS 90
#define TAB 8

/** A token, or AT's path:line, and what stands before it. */
struct piece {
	struct spec_span span;
	bool has_space;	    ///< before it
	bool breaks_after;  ///< a line may end behind it
	bool wants_operand; ///< behind it: there `-` is a sign, `(` and `|` open something
	bool is_glued;	    ///< to what is behind it
};

struct formatter {
	const struct spec_file *f;
	FILE *out;
	VEC(struct piece) pieces; ///< of the statement under way
	uint32_t at;		  ///< behind the last token
	size_t statement; ///< index of the first piece behind the last declaration
	int depth;	  ///< of parentheses
	int bars[SPEC_MAX_DEPTH + 1]; ///< of absolute values that are open, at each depth
	bool is_root;		      ///< in `ROOT ...;`
	bool is_bug;		      ///< in a bug rule, or a predicate
	bool is_out_of_memory;
};

static const char *text_of(const struct formatter *m, struct spec_span span)
{
	return m->f->text + span.offset;
}

static bool is_text(const struct formatter *m, const struct piece *p, const char *text)
{
	return p->span.length == strlen(text) &&
	       !strncmp(text_of(m, p->span), text, p->span.length);
}

/* ---- comments between statements ---------------------------------------------------------- */

/** End the line, if there is one; leave one blank where there were @p lines line ends. */
static void put_break(struct formatter *m, int lines, bool is_first)
{
	if (!is_first)
		fputs(lines > 1 ? "\n\n" : "\n", m->out);
}

/** Write what stands in @p from to @p to: comments, and a blank line where there was one. A
 * comment may belong to the line before. @p is_first: nothing is written yet. */
static void put_gap(struct formatter *m, uint32_t from, uint32_t to, bool is_first)
{
	int lines = 0;

	for (uint32_t i = from, n; i < to; i += n) {
		const char *text = m->f->text + i, *end;

		n = 1;
		lines += *text == '\n';
		if (*text != '#' && *text != '/')
			continue;
		end = text[0] == '/' && text[1] == '*' ? strstr(text + 2, "*/") : NULL;
		n = end ? (uint32_t)(end + 2 - text) : strcspn(text, "\n");
		if (n > to - i)
			n = to - i;
		if (lines || is_first)
			put_break(m, lines, is_first);
		else
			fputc(' ', m->out);
		fprintf(m->out, "%.*s", (int)n, text);
		is_first = false;
		lines = 0;
	}
	put_break(m, to < m->f->size ? lines : 0, is_first);
}

/* ---- one statement ------------------------------------------------------------------------ */

/** Columns of pieces @p from up to @p to, tabs none. */
static size_t width(const struct formatter *m, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += m->pieces.data[i].span.length +
		     (i > from && m->pieces.data[i].has_space);
	return n;
}

static void put_pieces(const struct formatter *m, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		fprintf(m->out, "%s%.*s",
			i > from && m->pieces.data[i].has_space ? " " : "",
			(int)m->pieces.data[i].span.length,
			text_of(m, m->pieces.data[i].span));
}

/** @return the index behind the next place where a line may end, from piece @p i on. */
static size_t next_break(const struct formatter *m, size_t i)
{
	while (i < m->pieces.size && !m->pieces.data[i].breaks_after)
		i++;
	return i < m->pieces.size ? i + 1 : i;
}

static void put_statement(struct formatter *m)
{
	size_t n = m->pieces.size, column = width(m, 0, n) <= COLUMNS ? 0 : COLUMNS;

	if (column && m->statement && m->statement < n)
		m->pieces.data[m->statement - 1].breaks_after = true;
	if (!column) {
		put_pieces(m, 0, n);
	} else {
		column = 0;
		for (size_t i = 0; i < n;) {
			size_t end = next_break(m, i), w = width(m, i, end);

			if (i && column + 1 + w > COLUMNS) {
				fputs("\n\t", m->out);
				column = TAB;
			} else if (i && m->pieces.data[i].has_space) {
				fputc(' ', m->out);
				column++;
			}
			put_pieces(m, i, end);
			column += w;
			i = end;
		}
	}
	m->pieces.size = 0;
	m->statement = 0;
	m->depth = 0;
	memset(m->bars, 0, sizeof(m->bars));
}

/* ---- space between tokens ------------------------------------------------------------------ */

/** Is what stands behind piece @p p an operand? Bars are as they were found to be. */
static bool wants_operand(const struct formatter *m, const struct piece *p)
{
	char c = p->span.length == 1 ? *text_of(m, p->span) : 0;
	unsigned char first = *text_of(m, p->span);

	if (is_text(m, p, "and") || is_text(m, p, "or") || is_text(m, p, "in") ||
	    is_text(m, p, "to") || is_text(m, p, "for"))
		return true;
	if (c && strchr(")];", c))
		return c == ';';
	return !(first == '_' || (first >= '0' && first <= '9') ||
		 ((first | 32) >= 'a' && (first | 32) <= 'z') || first == '"');
}

static int *open_bars(struct formatter *m)
{
	return &m->bars[m->depth <= SPEC_MAX_DEPTH ? m->depth : SPEC_MAX_DEPTH];
}

/** Piece @p p is `|`, or `||` if @p n is 2: absolute values begin where an operand may, and end
 * before anything else does. */
static void take_bars(struct formatter *m, struct piece *p, int n, bool is_operand)
{
	int *open = open_bars(m);

	p->breaks_after = n == 2 && !is_operand && !*open;
	p->wants_operand = p->is_glued = is_operand;
	if (is_operand) {
		*open += n;
		return;
	}
	p->has_space = !*open;
	p->wants_operand = *open < n; // an operator, or the second is
	*open -= *open < n ? *open : n;
}

/** Was `detect <` read just now? */
static bool is_point_start(const struct formatter *m)
{
	return m->pieces.size > 1 &&
	       is_text(m, &m->pieces.data[m->pieces.size - 2], "detect");
}

/** Is `(` behind @p before not that of a call? */
static bool is_bug_word(const struct formatter *m, const struct piece *before)
{
	static const char *const words[] = { "and", "or", "not", "no", "suchthat", "in" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (is_text(m, before, words[i]))
			return true;
	return before->wants_operand;
}

/** In the rule's name, `<Trace; free r>:` and `Bid(r)` there is none. */
static bool has_space_in_bug(const struct formatter *m, const struct piece *before,
			     const struct token *t)
{
	const struct piece *first = m->pieces.data;
	bool is_point = is_text(m, first, "[") &&
			!vec_find(&m->pieces, p, is_text(m, p, ":"));
	bool is_name = is_text(m, first, "[") &&
		       !vec_find(&m->pieces, p, is_text(m, p, "]"));
	char c = t->kind == TOK_CHAR ? t->ch : 0;

	return !is_name && c != ':' &&
	       !(is_point && t->kind == TOK_COMPARE && t->op == OP_GT) &&
	       !(is_text(m, before, "<") && t->kind == TOK_NAME && is_point_start(m)) &&
	       !(c == '(' && !is_bug_word(m, before));
}

static bool has_space_before(const struct formatter *m, const struct piece *before,
			     const struct token *t)
{
	char c = t->kind == TOK_CHAR ? t->ch : 0;

	if (!before || before->is_glued || (c && strchr(";,).]", c)))
		return false;
	if (m->is_root && (c == ':' || is_text(m, before, ":")))
		return false;
	if (m->is_bug && !has_space_in_bug(m, before, t))
		return false;
	return c != '[' || before->wants_operand;
}

static void add_piece(struct formatter *m, const struct token *t, struct spec_span span)
{
	const struct piece *before =
		m->pieces.size ? &m->pieces.data[m->pieces.size - 1] : NULL;
	bool has_space = has_space_before(m, before, t);
	// A number stands behind `CONST name` and `f.NAME NULL`.
	bool is_operand = !before || before->wants_operand ||
			  is_text(m, before, "NULL") ||
			  (m->pieces.size == 2 && is_text(m, before - 1, "CONST"));
	char c = t->kind == TOK_CHAR ? t->ch : 0;
	struct piece *p = vec_push(&m->pieces);

	m->is_out_of_memory |= !p;
	if (!p)
		return;
	*p = (struct piece){ .span = span, .has_space = has_space };
	p->breaks_after = t->kind == TOK_ARROW || is_text(m, p, "and") ||
			  is_text(m, p, "or");
	p->wants_operand = wants_operand(m, p);
	p->is_glued = t->kind == TOK_DOTS || (c && strchr("([.", c)) ||
		      (c && is_operand && strchr("-~!&", c));
	if (m->is_bug && (t->kind == TOK_BARS || t->kind == TOK_WRONG || c == ':'))
		p->breaks_after = p->wants_operand = true;
	else if (c == '|' || t->kind == TOK_BARS)
		take_bars(m, p, c ? 1 : 2, is_operand);
	m->depth += c && strchr("([", c) ? 1 : c && strchr(")]", c) ? -1 : 0;
	m->depth = m->depth < 0 ? 0 : m->depth;
}

/* ---- all ------------------------------------------------------------------------------------ */

/** Do the pieces from @p from on, which end in `;`, declare what the next statement is
 * about: `f X, Y;`, `f.NAME;`, `f.NAME NULL 0;`? */
static bool is_declaration(const struct formatter *m, size_t from)
{
	size_t n = m->pieces.size - from;
	const struct piece *p = &m->pieces.data[from];

	if (n > 3 && (is_text(m, p, "struct") || is_text(m, p, "union") ||
		      is_text(m, p, "class"))) {
		p++;
		n--;
	}
	if (n < 3 || p[0].wants_operand || is_text(m, &p[0], "CONST") ||
	    is_text(m, &p[0], "CPOINT") || is_text(m, &p[0], "ARRAY") ||
	    is_text(m, &p[0], "ROOT"))
		return false;
	if (is_text(m, &p[1], "."))
		return (n == 4 || is_text(m, &p[3], "NULL")) &&
		       (p[2].span.length && !is_text(m, &p[2], "("));
	if (is_text(m, &p[1], "FIELD"))
		return false;
	for (size_t i = 1; i < n; i++)
		if (i % 2 ? p[i].wants_operand :
			    !is_text(m, &p[i], i == n - 1 ? ";" : ","))
			return false;
	return n % 2;
}

/** A label behind a statement belongs to its line. */
static uint32_t take_label(struct formatter *m, uint32_t at)
{
	struct token t = spec_lex(m->f, at);

	if (t.kind != TOK_DOTS)
		return at;
	do {
		add_piece(m, &t, t.span);
		at = t.span.offset + t.span.length;
		t = spec_lex(m->f, at);
	} while (t.kind != TOK_END &&
		 !(m->pieces.size &&
		   is_text(m, &m->pieces.data[m->pieces.size - 1], ")")));
	if (t.kind == TOK_CHAR && t.ch == ';') {
		add_piece(m, &t, t.span);
		at = t.span.offset + t.span.length;
	}
	return at;
}

/** The path behind AT, CPOINT, or IN of a root, is no token. @return behind it, or 0. */
static uint32_t take_site(struct formatter *m, uint32_t at)
{
	struct spec_span path, all;
	struct token t;
	uint32_t end;
	int line;

	end = m->is_root ? spec_lex_path(m->f, at, &path) :
			   spec_lex_site(m->f, at, &path, &line);
	if (!end)
		return 0;
	t = spec_lex(m->f, at);
	all = (struct spec_span){ t.span.offset, end - t.span.offset };
	add_piece(m, &(struct token){ .kind = TOK_NAME }, all);
	return end;
}

static bool is_token(const struct formatter *m, const struct token *t, const char *word)
{
	return t->kind == TOK_NAME && t->span.length == strlen(word) &&
	       !strncmp(text_of(m, t->span), word, t->span.length);
}

/** `[NAME]`, `define NAME (` */
static bool begins_bug(const struct formatter *m, const struct token *t)
{
	struct token name, paren;

	if (t->kind == TOK_CHAR && t->ch == '[')
		return true;
	if (!is_token(m, t, "define"))
		return false;
	name = spec_lex(m->f, t->span.offset + t->span.length);
	paren = spec_lex(m->f, name.span.offset + name.span.length);
	return name.kind == TOK_NAME && paren.kind == TOK_CHAR && paren.ch == '(';
}

/** The `;` of `<Trace; ..>` ends nothing. */
static bool is_in_point(const struct formatter *m)
{
	return m->is_bug && m->pieces.size > 1 &&
	       is_text(m, &m->pieces.data[m->pieces.size - 2], "Trace");
}

static void format_all(struct formatter *m)
{
	bool is_first = true, is_site = false;

	for (;;) {
		struct token t = spec_lex(m->f, m->at);
		uint32_t end = t.span.offset + t.span.length, site = 0;

		if (m->is_bug && m->pieces.size && begins_bug(m, &t) &&
		    memchr(m->f->text + m->at, '\n', t.span.offset - m->at))
			put_statement(m);
		if (!m->pieces.size)
			put_gap(m, m->at, t.kind == TOK_END ? m->f->size : t.span.offset,
				is_first);
		is_first = false;
		if (t.kind == TOK_END)
			return;
		if (!m->pieces.size) {
			m->is_root = is_token(m, &t, "ROOT");
			m->is_bug = begins_bug(m, &t);
		}
		if (is_site)
			site = take_site(m, m->at);
		if (!site)
			add_piece(m, &t, t.span);
		if (m->is_out_of_memory)
			return;
		m->at = site ? site : end;
		is_site = !site && (is_token(m, &t, m->is_root ? "IN" : "AT") ||
				    is_token(m, &t, "CPOINT"));
		is_site |= !m->is_root && m->pieces.size > 1 && site == 0 &&
			   t.kind == TOK_CHAR && t.ch == ',' &&
			   memchr(text_of(m, m->pieces.data[m->pieces.size - 2].span),
				  ':', m->pieces.data[m->pieces.size - 2].span.length);
		if (t.kind != TOK_CHAR || t.ch != ';' || site || is_in_point(m))
			continue;
		if (m->is_bug) {
			put_statement(m);
			continue;
		}
		if (is_declaration(m, m->statement)) {
			m->at = take_label(m, m->at);
			m->statement = m->pieces.size;
			continue;
		}
		m->at = take_label(m, m->at);
		put_statement(m);
	}
}

struct err *spec_format(const struct spec *s, size_t i, char **ret, bool *is_changed)
{
	struct formatter m = { .f = s->files.data[i] };
	size_t n;

	*ret = NULL;
	m.out = open_memstream(ret, &n);
	if (!m.out)
		return &err_nomem;
	format_all(&m);
	if (m.pieces.size)
		put_statement(&m);
	m.is_out_of_memory |= fclose(m.out) != 0;
	vec_deinit(&m.pieces);
	if (!m.is_out_of_memory) {
		*is_changed = n != m.f->size || memcmp(*ret, m.f->text, n);
		return NULL;
	}
	free(*ret);
	*ret = NULL;
	return &err_nomem;
}
