// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Questions to an SMT solver (Z3): terms, assertions, and is there a state in which all of them hold?
 *
 * Terms are handles into one `struct smt` and are valid until it is destroyed. An error of the solver
 * (memory, a limit) makes that and later answers SMT_UNKNOWN; smt_why() has its words. One thread at
 * a time.
 */
#ifndef SMT_SMT_H
#define SMT_SMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct smt;
typedef struct _Z3_ast *smt_term;

enum smt_answer { SMT_UNSAT, SMT_SAT, SMT_UNKNOWN };

/** What is a variable? */
enum smt_sort {
	SMT_INT,  ///< a number: enum smt_numbers
	SMT_NAME, ///< another than the others, and no more: of SMT_NAMES a number, too
	SMT_BOOL,
	SMT_MAP, ///< smt_map()
};

/** What are numbers? Where nobody counts or compares, names are decided some 30 times faster. */
enum smt_numbers {
	SMT_WHOLE, ///< whole numbers, without bounds
	SMT_NAMES, ///< each another than the others, and no more: no smt_add(), smt_lt() and so on
	SMT_BITS, ///< of so many bits, signed, as processors count: smt_create_bits()
};

/**
 * @param most_steps  of one question (Z3's rlimit); 0: no limit.
 * @return ERR_NOT_FOUND when Z3's library is not there.
 */
struct err *smt_create(enum smt_numbers numbers, unsigned most_steps, struct smt **ret);
/** Numbers of @p bits bits. There are no maps; what there is is decided by a SAT solver. As above. */
struct err *smt_create_bits(unsigned bits, unsigned most_steps, struct smt **ret);
void smt_destroy(struct smt *s);
void smt_destroyp(struct smt **s);

/** A new variable, equal to no other even of that name (@p name is for smt_text() alone). */
smt_term smt_var(struct smt *s, enum smt_sort sort, const char *name);
/** A new map from @p from to @p to, SMT_INT or SMT_NAME: for smt_select() alone. */
smt_term smt_map(struct smt *s, enum smt_sort from, enum smt_sort to, const char *name);
/** The name of @p value: first asked for outside of smt_push(), or it may be any other after smt_pop(). */
smt_term smt_name(struct smt *s, int64_t value);
/** Of SMT_NAMES: first asked for outside of smt_push(), or it may be any other after smt_pop(). */
smt_term smt_number(struct smt *s, int64_t value);
smt_term smt_truth(struct smt *s, bool value);

smt_term smt_add(struct smt *s, smt_term a, smt_term b);
smt_term smt_sub(struct smt *s, smt_term a, smt_term b);
/** Of SMT_BITS: the product, quotient and rest as C has them. */
smt_term smt_mul(struct smt *s, smt_term a, smt_term b);
smt_term smt_div(struct smt *s, smt_term a, smt_term b);
smt_term smt_mod(struct smt *s, smt_term a, smt_term b);
smt_term smt_lt(struct smt *s, smt_term a, smt_term b);
smt_term smt_le(struct smt *s, smt_term a, smt_term b);
/** Of two terms of the same sort, maps too. */
smt_term smt_eq(struct smt *s, smt_term a, smt_term b);
smt_term smt_not(struct smt *s, smt_term a);
smt_term smt_and(struct smt *s, smt_term a, smt_term b);
smt_term smt_or(struct smt *s, smt_term a, smt_term b);
/** One of @p n terms of SMT_BOOL holds; at most @p most of them do. */
smt_term smt_any(struct smt *s, const smt_term *terms, unsigned n);
smt_term smt_at_most(struct smt *s, const smt_term *terms, unsigned n, unsigned most);
smt_term smt_if(struct smt *s, smt_term condition, smt_term then, smt_term otherwise);

/** What map @p m has at @p at; @p m with @p value there. */
smt_term smt_select(struct smt *s, smt_term m, smt_term at);

/** From here on @p a holds, until the smt_pop() of the smt_push() before. */
void smt_assert(struct smt *s, smt_term a);
void smt_push(struct smt *s);
void smt_pop(struct smt *s);

/** Can all that was asserted hold at once? */
enum smt_answer smt_check(struct smt *s);

/** The same, if the @p n variables (SMT_BOOL) of @p assumed are true too. */
enum smt_answer smt_check_assuming(struct smt *s, const smt_term *assumed, unsigned n);
/** After SMT_UNSAT of smt_check_assuming(): had assumption @p a a part in it (the unsat core)? */
bool smt_in_core(struct smt *s, smt_term a);

/** After SMT_SAT, until anything is asserted, pushed or popped: is @p a true in the state that was
 * found? What that state says nothing about counts as false. */
bool smt_is_true(struct smt *s, smt_term a);
/** @return whether number @p a has a value there that fits; not of SMT_NAMES. */
bool smt_value(struct smt *s, smt_term a, int64_t *ret);

/** Why the last answer was SMT_UNKNOWN; valid until the next. */
const char *smt_why(const struct smt *s);

#endif
