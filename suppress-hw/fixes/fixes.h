// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * How may a statement that is known to be wrong be changed (paper 003, chapter 8, BugFix)? What it
 * is like, told by descriptors of its text and of the values that tests had there, is compared with
 * statements that were fixed before. doc/fixes.md tells what a user may expect. Not shared between
 * threads.
 */
#ifndef SUPPRESS_HW_FIXES_FIXES_H
#define SUPPRESS_HW_FIXES_FIXES_H

#include "suppress-hw/rank/rank.h"

/** A set of words, sorted: descriptors of a situation, or of a fix. A zeroed one is empty. */
typedef VEC(char *) fix_words;

struct err *fix_words_add(fix_words *w, const char *word);
bool fix_words_has(const fix_words *w, const char *word);
void fix_words_deinit(fix_words *w);

/* ---- the statement's text (Figures 8.2, 8.3) ----------------------------------------------- */

enum fix_kind {
	FIX_KEYWORD,
	FIX_TYPE, ///< a name of a type
	FIX_OPERATOR,
	FIX_REF,
	FIX_DEREF,
	FIX_VARIABLE,
	FIX_CONSTANT,
	FIX_CALL,  ///< a function's name
	FIX_CAST,  ///< its opening parenthesis
	FIX_INDEX, ///< an opening bracket
	FIX_FORMAT,
};

struct fix_token {
	enum fix_kind kind;
	char *text;
	char *type; ///< of VARIABLE, CONSTANT: "int*", "user-defined"; NULL: not known
	unsigned from, to;
};

struct fix_statement {
	VEC(struct fix_token) tokens;
	bool is_condition, is_declaration;
	int line;
	const char *source;  ///< borrowed
	fix_words variables; ///< "type name" of those that its function, or file, has
	bool has_mistakes;   ///< the file could not be read without errors
};

/**
 * Read the statement of line @p line of @p source, of a branch or loop its condition, with
 * libclang.
 *
 * @param path  what @p source is called: headers are looked for beside it.
 * @param ret   Zeroed before; fix_statement_deinit() in any case.
 * @return ERR_NOT_FOUND: no libclang, or nothing on that line.
 */
struct err *fix_statement_read(const char *path, const char *source, int line,
			       struct fix_statement *ret);
void fix_statement_deinit(struct fix_statement *s);

/** Add what @p s is like. */
struct err *fix_statement_describe(const struct fix_statement *s, fix_words *ret);

/* ---- its values (Figures 8.4, 8.5) ---------------------------------------------------------- */

/** An IVMP as sets of values. */
struct fix_ivmp {
	struct rank_set original,
		alternate; ///< of `alternate` what is not known is not in `has`
	bool is_branch, is_left_out;
};

/** Add what is the same in all @p n of one instruction. */
struct err *fix_ivmps_describe(const struct fix_ivmp *v, size_t n, fix_words *ret);

/** Add what is the same in all failing, and in all passing ones of the @p n sets of one instruction. */
struct err *fix_sets_describe(const struct rank_set *s, size_t n, fix_words *ret);

/** Add all that @p r shows of its statement (rank_options.at), instruction by instruction. */
struct err *fix_values_describe(const struct rank_result *r, fix_words *ret);

/* ---- what was fixed before (section 8.2.2) -------------------------------------------------- */

struct fix_scenario {
	char *where; ///< for people: "prog.c:12"
	fix_words situation, fixes;
};

struct fix_knowledge {
	VEC(struct fix_scenario) scenarios;
};

/** Add the scenarios of the file @p path, or, NULL, those that faultline brings along.
 * @return ERR_FORMAT, ERR_VERSION, what file_open_input() says. */
struct err *fix_knowledge_read(const char *path, struct fix_knowledge *k);
/** Write them, over what is there. */
struct err *fix_knowledge_write(const char *path, const struct fix_knowledge *k);
void fix_knowledge_deinit(struct fix_knowledge *k);

/** A rule: whoever has all of `antecedent` has `fix` in this share of cases. */
struct fix_rule {
	const char *const *antecedent; ///< borrowed, as is fix
	size_t n;
	const char *fix;
	double confidence;
	bool is_considered;	///< by fix_rules_order(): it applies
	uint32_t by_confidence; ///< 1 is the first; equals have the same (PRIO-1)
	uint32_t
		by_size; ///< the same, of equals those with more descriptors first (PRIO-2)
};

/** Which of @p rules apply to @p situation, and in which order (Figure 8.7)? They are sorted, those that
 * do not apply come last. */
void fix_rules_order(struct fix_rule *rules, size_t n, const fix_words *situation);

struct fix_suggestion {
	const char *fix; ///< borrowed from the knowledge
	uint32_t rank;	 ///< from 1; equals have the same, none is left out
	double confidence;
	uint32_t n_descriptors;
	const char *like; ///< where it was so; borrowed
	char *edit;	  ///< a unified diff; NULL: there is none
	bool is_template; ///< words in capitals are for the user to fill in
};

typedef VEC(struct fix_suggestion) fix_suggestions;

/**
 * The fixes that rules of at least @p confidence suggest, the first first: of each the best one of
 * all rules that apriori would find, with whatever support.
 *
 * @param is_cut  set where there were more rules below 1 than could be looked at.
 */
struct err *fix_suggest(const struct fix_knowledge *k, const fix_words *situation,
			double confidence, fix_suggestions *ret, bool *is_cut);
void fix_suggestions_deinit(fix_suggestions *s);

/* ---- fixes (Table 8.2) ---------------------------------------------------------------------- */

/** @return whether @p fix is one of those that doc/fixes.md has, or "A|B" of two operators, or
 * the user's own, "own:NAME". */
bool fix_is_known(const char *fix);
/** @return what it means, for people, valid until the next call. */
const char *fix_meaning(const char *fix);
/** The names, NULL at the end. */
extern const char *const fix_names[];

/** Set the edit of @p s: a change of @p st's text that is such a fix, by what @p r (or NULL) shows. */
struct err *fix_edit(const struct fix_statement *st, const char *path,
		     const struct rank_result *r, struct fix_suggestion *s);

/** @return @p source with @p text as its line @p line, for free(); NULL without memory. */
char *fix_replace_line(const char *source, int line, const char *text);

/** Which fixes make statement @p to of @p from? Both whole. Adds their names. */
struct err *fix_compare(const struct fix_statement *from, const struct fix_statement *to,
			fix_words *ret);

#endif
