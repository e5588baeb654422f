// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The one file that knows Z3. A plain context (no reference counts) is an arena for the terms of one
 * question; solvers and models are counted even so (Z3 issues #434, #2245).
 */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <z3.h>

#include "base/err.h"
#include "base/vec.h"
#include "smt/smt.h"

// Formatting this does not come to an end:
// clang-format off
#define FUNCTIONS(F) \
	F(mk_config) F(del_config) F(set_param_value) F(mk_context) F(del_context) \
	F(set_error_handler) F(get_error_code) F(get_error_msg) \
	F(mk_simple_solver) F(solver_inc_ref) F(solver_dec_ref) F(solver_assert) \
	F(solver_push) F(solver_pop) F(solver_check) F(solver_get_model) \
	F(solver_get_reason_unknown) F(solver_set_params) F(mk_params) \
	F(params_inc_ref) F(params_dec_ref) F(params_set_uint) F(model_inc_ref) \
	F(model_dec_ref) F(model_eval) F(mk_int_sort) F(mk_bool_sort) \
	F(mk_string_symbol) F(mk_fresh_const) F(mk_int64) \
	F(mk_true) F(mk_false) F(mk_add) F(mk_sub) F(mk_lt) F(mk_le) F(mk_eq) \
	F(mk_not) F(mk_and) F(mk_or) F(mk_ite) F(mk_app) F(mk_fresh_func_decl) F(get_bool_value) \
	F(get_numeral_int64) F(mk_uninterpreted_sort) F(mk_bv_sort) F(mk_bvadd) F(mk_bvsub) \
	F(mk_bvmul) F(mk_bvsdiv) F(mk_bvsrem) F(mk_bvslt) F(mk_bvsle) F(mk_atmost) \
	F(mk_solver_for_logic) F(solver_check_assumptions) F(solver_get_unsat_core) \
	F(ast_vector_size) F(ast_vector_get) F(ast_vector_inc_ref) F(ast_vector_dec_ref)
// clang-format on

static struct {
#define F(name) __typeof__(Z3_##name) *name;
	FUNCTIONS(F)
#undef F
} z3;

struct smt {
	Z3_context context;
	Z3_solver solver;
	Z3_model model; ///< of the last SMT_SAT, once somebody asks about it
	bool has_model;
	Z3_ast_vector core;	///< of the last SMT_UNSAT
	unsigned bits;		///< of SMT_BITS
	Z3_sort sorts[SMT_MAP]; ///< of terms that are one value
	VEC(struct name {
		int64_t value;
		smt_term term;
	})
	names; ///< so far
	enum smt_numbers numbers;
	bool has_failed;
	char why[128];
};

/* Z3 would end the process. */
static void keep_quiet(Z3_context c, Z3_error_code e)
{
	(void)c;
	(void)e;
}

static struct err *load(void)
{
	static void *library;

	if (library)
		return NULL;
	library = dlopen("libz3.so.4", RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		library = dlopen("libz3.so", RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return err_new(ERR_NOT_FOUND,
			       "cannot load Z3, which this needs (Debian: libz3-4): %s",
			       dlerror());
#define F(name)                                                                      \
	*(void **)&z3.name = dlsym(library, "Z3_" #name);                            \
	if (!z3.name) {                                                              \
		dlclose(library);                                                    \
		library = NULL;                                                      \
		return err_new(ERR_NOT_FOUND, "this Z3 is too old: it has no Z3_%s", \
			       #name);                                               \
	}
	FUNCTIONS(F)
#undef F
	return NULL;
}

static Z3_sort sort_of_numbers(struct smt *s)
{
	if (s->numbers == SMT_BITS)
		return z3.mk_bv_sort(s->context, s->bits);
	if (s->numbers == SMT_WHOLE)
		return z3.mk_int_sort(s->context);
	return s->sorts[SMT_NAME];
}

static struct err *create(enum smt_numbers numbers, unsigned bits, unsigned most_steps,
			  struct smt **ret)
{
	struct err *err = load();
	struct smt *s;
	Z3_config config;
	Z3_params params;

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return &err_nomem;
	config = z3.mk_config();
	s->context = z3.mk_context(config);
	z3.del_config(config);
	z3.set_error_handler(s->context, keep_quiet);
	s->solver =
		numbers == SMT_BITS ?
			z3.mk_solver_for_logic(s->context,
					       z3.mk_string_symbol(s->context, "QF_FD")) :
			z3.mk_simple_solver(s->context);
	z3.solver_inc_ref(s->context, s->solver);
	params = z3.mk_params(s->context);
	z3.params_inc_ref(s->context, params);
	if (most_steps)
		z3.params_set_uint(s->context, params,
				   z3.mk_string_symbol(s->context, "rlimit"), most_steps);
	z3.solver_set_params(s->context, s->solver, params);
	z3.params_dec_ref(s->context, params);
	s->numbers = numbers;
	s->bits = bits;
	s->sorts[SMT_NAME] = z3.mk_uninterpreted_sort(
		s->context, z3.mk_string_symbol(s->context, "name"));
	s->sorts[SMT_INT] = sort_of_numbers(s);
	s->sorts[SMT_BOOL] = z3.mk_bool_sort(s->context);
	*ret = s;
	return NULL;
}

struct err *smt_create(enum smt_numbers numbers, unsigned most_steps, struct smt **ret)
{
	return create(numbers, 0, most_steps, ret);
}

struct err *smt_create_bits(unsigned bits, unsigned most_steps, struct smt **ret)
{
	return create(SMT_BITS, bits, most_steps, ret);
}

static void forget_model(struct smt *s)
{
	if (s->model)
		z3.model_dec_ref(s->context, s->model);
	if (s->core)
		z3.ast_vector_dec_ref(s->context, s->core);
	s->model = NULL;
	s->core = NULL;
	s->has_model = false;
}

void smt_destroy(struct smt *s)
{
	if (!s)
		return;
	forget_model(s);
	vec_deinit(&s->names);
	z3.solver_dec_ref(s->context, s->solver);
	z3.del_context(s->context);
	free(s);
}

void smt_destroyp(struct smt **s)
{
	smt_destroy(*s);
}

/* What an error made is no term: from then on nothing is known. */
static smt_term made(struct smt *s, Z3_ast a)
{
	Z3_error_code code = z3.get_error_code(s->context);

	if ((a && code == Z3_OK) || s->has_failed)
		return a ? a : z3.mk_true(s->context);
	s->has_failed = true;
	snprintf(s->why, sizeof(s->why), "%s", z3.get_error_msg(s->context, code));
	return z3.mk_true(s->context);
}

smt_term smt_var(struct smt *s, enum smt_sort sort, const char *name)
{
	return made(s, z3.mk_fresh_const(s->context, name, s->sorts[sort]));
}

smt_term smt_map(struct smt *s, enum smt_sort from, enum smt_sort to, const char *name)
{
	// A map is never compared as a whole: a function is that, without the theory of arrays.
	return made(s, (Z3_ast)z3.mk_fresh_func_decl(s->context, name, 1, &s->sorts[from],
						     s->sorts[to]));
}

smt_term smt_name(struct smt *s, int64_t value)
{
	struct name n = { value, NULL };

	for (size_t i = 0; i < s->names.size; i++)
		if (s->names.data[i].value == value)
			return s->names.data[i].term;
	n.term = smt_var(s, SMT_NAME, "n");
	for (size_t i = 0; i < s->names.size; i++)
		smt_assert(s, smt_not(s, smt_eq(s, n.term, s->names.data[i].term)));
	if (vec_add(&s->names, n))
		s->has_failed = true;
	return n.term;
}

smt_term smt_number(struct smt *s, int64_t value)
{
	if (s->numbers == SMT_NAMES)
		return smt_name(s, value);
	return made(s, z3.mk_int64(s->context, value, s->sorts[SMT_INT]));
}

smt_term smt_truth(struct smt *s, bool value)
{
	return made(s, value ? z3.mk_true(s->context) : z3.mk_false(s->context));
}

smt_term smt_add(struct smt *s, smt_term a, smt_term b)
{
	assert(s->numbers != SMT_NAMES);
	if (s->numbers == SMT_BITS)
		return made(s, z3.mk_bvadd(s->context, a, b));
	return made(s, z3.mk_add(s->context, 2, (Z3_ast[]){ a, b }));
}

smt_term smt_sub(struct smt *s, smt_term a, smt_term b)
{
	assert(s->numbers != SMT_NAMES);
	if (s->numbers == SMT_BITS)
		return made(s, z3.mk_bvsub(s->context, a, b));
	return made(s, z3.mk_sub(s->context, 2, (Z3_ast[]){ a, b }));
}

smt_term smt_mul(struct smt *s, smt_term a, smt_term b)
{
	assert(s->numbers == SMT_BITS);
	return made(s, z3.mk_bvmul(s->context, a, b));
}

smt_term smt_div(struct smt *s, smt_term a, smt_term b)
{
	assert(s->numbers == SMT_BITS);
	return made(s, z3.mk_bvsdiv(s->context, a, b));
}

smt_term smt_mod(struct smt *s, smt_term a, smt_term b)
{
	assert(s->numbers == SMT_BITS);
	return made(s, z3.mk_bvsrem(s->context, a, b));
}

smt_term smt_lt(struct smt *s, smt_term a, smt_term b)
{
	assert(s->numbers != SMT_NAMES);
	if (s->numbers == SMT_BITS)
		return made(s, z3.mk_bvslt(s->context, a, b));
	return made(s, z3.mk_lt(s->context, a, b));
}

smt_term smt_le(struct smt *s, smt_term a, smt_term b)
{
	assert(s->numbers != SMT_NAMES);
	if (s->numbers == SMT_BITS)
		return made(s, z3.mk_bvsle(s->context, a, b));
	return made(s, z3.mk_le(s->context, a, b));
}

smt_term smt_eq(struct smt *s, smt_term a, smt_term b)
{
	return made(s, z3.mk_eq(s->context, a, b));
}

smt_term smt_not(struct smt *s, smt_term a)
{
	return made(s, z3.mk_not(s->context, a));
}

smt_term smt_and(struct smt *s, smt_term a, smt_term b)
{
	return made(s, z3.mk_and(s->context, 2, (Z3_ast[]){ a, b }));
}

smt_term smt_or(struct smt *s, smt_term a, smt_term b)
{
	return made(s, z3.mk_or(s->context, 2, (Z3_ast[]){ a, b }));
}

smt_term smt_any(struct smt *s, const smt_term *terms, unsigned n)
{
	return made(s, z3.mk_or(s->context, n, terms));
}

smt_term smt_at_most(struct smt *s, const smt_term *terms, unsigned n, unsigned most)
{
	return made(s, z3.mk_atmost(s->context, n, terms, most));
}

smt_term smt_if(struct smt *s, smt_term condition, smt_term then, smt_term otherwise)
{
	return made(s, z3.mk_ite(s->context, condition, then, otherwise));
}

smt_term smt_select(struct smt *s, smt_term m, smt_term at)
{
	return made(s, z3.mk_app(s->context, (Z3_func_decl)m, 1, &at));
}

void smt_assert(struct smt *s, smt_term a)
{
	z3.solver_assert(s->context, s->solver, a);
}

void smt_push(struct smt *s)
{
	z3.solver_push(s->context, s->solver);
}

void smt_pop(struct smt *s)
{
	z3.solver_pop(s->context, s->solver, 1);
}

enum smt_answer smt_check(struct smt *s)
{
	return smt_check_assuming(s, NULL, 0);
}

bool smt_in_core(struct smt *s, smt_term a)
{
	unsigned n = s->core ? z3.ast_vector_size(s->context, s->core) : 0;

	while (n && z3.ast_vector_get(s->context, s->core, n - 1) != a)
		n--;
	return n;
}

enum smt_answer smt_check_assuming(struct smt *s, const smt_term *assumed, unsigned n)
{
	Z3_lbool found;

	forget_model(s);
	if (s->has_failed)
		return SMT_UNKNOWN;
	found = n ? z3.solver_check_assumptions(s->context, s->solver, n, assumed) :
		    z3.solver_check(s->context, s->solver);
	if (found == Z3_L_FALSE && n) {
		s->core = z3.solver_get_unsat_core(s->context, s->solver);
		z3.ast_vector_inc_ref(s->context, s->core);
	}
	if (found == Z3_L_FALSE)
		return SMT_UNSAT;
	s->has_model = found == Z3_L_TRUE;
	if (s->has_model)
		return SMT_SAT;
	snprintf(s->why, sizeof(s->why), "%s",
		 z3.solver_get_reason_unknown(s->context, s->solver));
	return SMT_UNKNOWN;
}

/* The state of the last SMT_SAT. To make it takes as long as most questions, and few ask. */
static bool take_model(struct smt *s)
{
	if (s->has_model && !s->model) {
		s->model = z3.solver_get_model(s->context, s->solver);
		if (s->model)
			z3.model_inc_ref(s->context, s->model);
	}
	return s->model;
}

bool smt_is_true(struct smt *s, smt_term a)
{
	Z3_ast value;

	return take_model(s) && z3.model_eval(s->context, s->model, a, true, &value) &&
	       z3.get_bool_value(s->context, value) == Z3_L_TRUE;
}

bool smt_value(struct smt *s, smt_term a, int64_t *ret)
{
	unsigned spare = 64 - s->bits;
	Z3_ast value;

	if (!take_model(s) || !z3.model_eval(s->context, s->model, a, true, &value) ||
	    !z3.get_numeral_int64(s->context, value, ret))
		return false;
	if (s->numbers == SMT_BITS) // Z3 counts them without a sign
		*ret = (int64_t)((uint64_t)*ret << spare) >> spare;
	return true;
}

const char *smt_why(const struct smt *s)
{
	return s->why;
}
