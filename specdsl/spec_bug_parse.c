// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug rules and their predicates as statements: one function per rule of the grammar in doc/rules.md.
 */
#include <string.h>

#include "pt-collect/inputs/names.h"
#include "specdsl/spec_bug_parse.h"

/** The papers have no semicolons: a statement may also end where the next line begins one. */
static void parse_stop(struct bug_reader *r, const char *what)
{
	struct parser *p = r->p;

	if (p->is_panicking)
		return;
	if (p->tok.kind == TOK_END || spec_parse_starts_bug(p)) {
		p->is_complete = true;
		return;
	}
	spec_parse_end(p, what);
}

void spec_parse_define(struct parser *p)
{
	struct bug_reader r = { .p = p };
	struct spec_predicate *d = arena_alloc(&p->s->arena, sizeof(*d)), **slot;
	struct spec_span at;

	p->is_in_bug = true;
	spec_parse_advance(p);
	at = p->tok.span;
	if (!d || !spec_parse_new_name(p, "the predicate's name", &d->name))
		return;
	if (spec_bug_find_predicate(p, d->name))
		spec_parse_error(p, at, NULL, "'%s' is defined already", d->name);
	for (int i = 0; i < WORDS; i++)
		if (!strcmp(d->name, spec_bug_words[i].name))
			spec_parse_error(p, at, NULL,
					 "'%s' is a function of the language", d->name);
	spec_parse_expect_char(p, '(', "behind the predicate's name");
	while (!p->is_panicking && !spec_parse_is_char(p, ')')) {
		const char *name;

		if (!spec_parse_new_name(p, "a parameter", &name))
			return;
		spec_bug_add_slot(&r, name);
		if (!spec_parse_is_char(p, ')'))
			spec_parse_expect_char(p, ',', "between parameters");
	}
	spec_parse_expect_char(p, ')', "behind the parameters");
	d->n_params = r.n_slots;
	if (!p->is_panicking && p->tok.kind != TOK_ASSIGN)
		spec_parse_error(p, p->tok.span, NULL, "expected '=' and the condition");
	if (p->is_panicking)
		return;
	spec_parse_advance(p);
	d->body = spec_bug_read_condition(&r);
	if (!d->body)
		return;
	parse_stop(&r, "predicate");
	d->n_slots = r.n_slots;
	memcpy(d->slot, r.slot, sizeof(d->slot));
	if (p->is_panicking)
		return;
	slot = vec_push(&p->s->predicates);
	p->is_out_of_memory |= !slot;
	if (slot)
		*slot = d;
}

static const struct {
	const char *word;
	bool has_function;
} points[SPEC_POINTS] = {
	[SPEC_POINT_READ] = { "deref_r", false },
	[SPEC_POINT_WRITE] = { "deref_w", false },
	[SPEC_POINT_DEREF] = { "deref", false },
	[SPEC_POINT_FREE] = { "free", false },
	[SPEC_POINT_CALL] = { "call", true },
	[SPEC_POINT_RET] = { "ret", true },
	[SPEC_POINT_SYSCALL] = { "syscall", true },
	[SPEC_POINT_FAULT] = { "fault", false },
	[SPEC_POINT_RACE] = { "race", false },
	[SPEC_POINT_USE] = { "use", false },
};

static const char *const severities[] = { "error", "warning", "note" };

const char *spec_point_name(enum spec_point point)
{
	return points[point].word;
}

const char *spec_severity_name(enum spec_severity severity)
{
	return severities[severity];
}

/** The variables of a point: `r`, `(d, s, n)`, `d s n`. */
static void parse_point_args(struct bug_reader *r, struct spec_bug *b)
{
	bool has_parens = b->function && spec_parse_is_char(r->p, '(');

	if (has_parens)
		spec_parse_advance(r->p);
	while (!r->p->is_panicking && r->p->tok.kind == TOK_NAME) {
		const char *name;

		if (b->n_args == (b->function ? SPEC_BUG_ARGS : 1)) {
			spec_parse_error(r->p, r->p->tok.span, NULL,
					 b->function ? "there are at most %d arguments" :
						       "there is %d value at this point",
					 b->function ? SPEC_BUG_ARGS : 1);
			return;
		}
		spec_parse_new_name(r->p, "a variable", &name);
		b->arg[b->n_args++] = name;
		spec_bug_add_slot(r, strcmp(name, "_") ? name : "");
		if (has_parens && !spec_parse_is_char(r->p, ')'))
			spec_parse_expect_char(r->p, ',', "between arguments");
	}
	if (has_parens)
		spec_parse_expect_char(r->p, ')', "behind the arguments");
	if (!b->function && !b->n_args)
		spec_parse_error(r->p, r->p->tok.span, NULL,
				 "expected the variable of this point, as in 'deref r'");
}

/* Is each name of @p list, which stands at @p at, a system call's? */
static void check_calls(struct bug_reader *r, const char *list, struct spec_span at)
{
	for (size_t n; *list; list += n + (list[n] == '|')) {
		struct spec_nearest nearest = {};
		bool is_known = false;
		char *word;

		n = strcspn(list, "|");
		word = spec_printf(r->p->s, "%.*s", (int)n, list);
		nearest.word = word ? word : "";
		for (int64_t k = 0; k < ptc_names_end() && !is_known; k++) {
			const char *name = ptc_name_of(k);

			is_known = name && !strcmp(name, nearest.word);
			if (name)
				spec_nearest_try(&nearest, name);
		}
		if (!is_known)
			spec_parse_error(r->p, at,
					 nearest.name ? spec_printf(r->p->s,
								    "did you mean '%s'?",
								    nearest.name) :
							NULL,
					 "there is no system call '%s'", nearest.word);
	}
}

static void parse_point(struct bug_reader *r, struct spec_bug *b)
{
	bool has_trace = r->p->tok.kind == TOK_COMPARE && r->p->tok.op == OP_LT;
	struct spec_span at;
	const char *word;
	size_t i = 0;

	if (has_trace) {
		spec_parse_advance(r->p);
		if (!spec_parse_accept_word(r->p, "Trace"))
			spec_parse_error(r->p, r->p->tok.span, NULL, "expected 'Trace;'");
		spec_parse_expect_char(r->p, ';', "behind 'Trace'");
	}
	at = r->p->tok.span;
	if (!spec_parse_new_name(r->p, "where to detect it: deref, free, call, ret ..",
				 &word))
		return;
	while (i < SPEC_POINTS && strcmp(points[i].word, word))
		i++;
	if (i == SPEC_POINTS) {
		spec_parse_error(r->p, at,
				 "there are deref, deref_r, deref_w, free, call, ret, "
				 "syscall, fault, race, use",
				 "'%s' is no point of a run", word);
		return;
	}
	b->point = i;
	at = r->p->tok.span;
	if (points[i].has_function)
		spec_parse_type_name(r->p, "the function", &b->function);
	if (i == SPEC_POINT_SYSCALL && b->function)
		check_calls(r, b->function, at);
	r->function = b->function;
	parse_point_args(r, b);
	if (!has_trace || r->p->is_panicking)
		return;
	if (r->p->tok.kind != TOK_COMPARE || r->p->tok.op != OP_GT)
		spec_parse_error(r->p, r->p->tok.span, NULL,
				 "expected '>' behind the point");
	else
		spec_parse_advance(r->p);
}

/** `: VPC(r), VPC(r1)` */
static void parse_chains(struct bug_reader *r, struct spec_bug *b)
{
	do {
		const char *name;
		struct spec_span at;

		spec_parse_advance(r->p);
		if (!spec_parse_accept_word(r->p, "VPC"))
			spec_parse_error(r->p, r->p->tok.span, NULL,
					 "expected VPC(..), the value whose way is told");
		spec_parse_expect_char(r->p, '(', "behind 'VPC'");
		at = r->p->tok.span;
		if (!spec_parse_new_name(r->p, "a variable", &name))
			return;
		if (spec_bug_find_slot(r, name) < 0)
			spec_bug_report_unknown(r, at, name, false);
		else if (b->n_chains < SPEC_BUG_ARGS)
			b->chain[b->n_chains++] = spec_bug_find_slot(r, name);
		spec_parse_expect_char(r->p, ')', "behind the variable");
	} while (!r->p->is_panicking && spec_parse_is_char(r->p, ','));
}

/** `severity warning message "..." off` */
static void parse_manner(struct bug_reader *r, struct spec_bug *b)
{
	for (;;) {
		if (spec_parse_accept_word(r->p, "off")) {
			b->is_off = true;
		} else if (spec_parse_accept_word(r->p, "severity")) {
			size_t i = 0;

			while (i < 3 && !spec_parse_accept_word(r->p, severities[i]))
				i++;
			if (i == 3)
				spec_parse_error(r->p, r->p->tok.span, NULL,
						 "expected error, warning or note");
			b->severity = i;
		} else if (spec_parse_accept_word(r->p, "message")) {
			if (r->p->tok.kind != TOK_STRING)
				spec_parse_error(r->p, r->p->tok.span, NULL,
						 "expected the message in quotes");
			else
				spec_parse_type_name(r->p, "the message", &b->message);
		} else {
			return;
		}
	}
}

/** `[DOUBLE-FREE]`: what stands in the brackets. */
static void parse_bug_name(struct parser *p, struct spec_bug *b)
{
	struct spec_span span;

	spec_parse_advance(p);
	span = p->tok.span;
	while (p->tok.kind == TOK_NAME || spec_parse_is_char(p, '-'))
		spec_parse_advance(p);
	span = spec_parse_until_here(p, span);
	if (p->last_end <= span.offset)
		spec_parse_error(p, p->tok.span, NULL, "expected the rule's name");
	if (p->is_panicking)
		return;
	b->name = spec_parse_text(p, span);
	spec_parse_expect_char(p, ']', "behind the rule's name");
	if (b->name && vec_find(&p->s->bugs, e, !strcmp((*e)->pub.name, b->name)))
		spec_parse_error(p, span, "give it another name",
				 "there is a rule '%s' already", b->name);
}

void spec_parse_bug(struct parser *p)
{
	struct bug_reader r = { .p = p };
	struct spec_bug_rule *rule = arena_alloc(&p->s->arena, sizeof(*rule)), **slot;
	struct spec_span from = p->tok.span;
	struct spec_bug *b;

	p->is_in_bug = true;
	p->is_out_of_memory |= !rule;
	p->is_panicking |= !rule;
	if (!rule)
		return;
	b = &rule->pub;
	b->file = p->f->name;
	b->line = spec_file_line(p->f, from.offset);
	parse_bug_name(p, b);
	if (!spec_parse_accept_word(p, "detect"))
		spec_parse_error(p, p->tok.span, NULL, "expected 'detect'");
	if (!p->is_panicking)
		parse_point(&r, b);
	spec_parse_expect_char(p, ':', "behind the point");
	if (p->is_panicking)
		return;
	rule->condition = spec_bug_read_condition(&r);
	if (!rule->condition)
		return;
	if (spec_parse_is_char(p, ':'))
		parse_chains(&r, b);
	if (!p->is_panicking)
		parse_manner(&r, b);
	b->text = spec_parse_text(p, spec_parse_until_here(p, from));
	parse_stop(&r, "rule");
	if (p->is_panicking)
		return;
	rule->n_slots = r.n_slots;
	memcpy(rule->slot, r.slot, sizeof(rule->slot));
	slot = vec_push(&p->s->bugs);
	p->is_out_of_memory |= !slot;
	if (slot)
		*slot = rule;
}
