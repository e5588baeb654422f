// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A suite: each test is traced once; then the failing ones are searched, shortest first, and what
 * they executed is ranked.
 */
#include <string.h>

#include "base/clock.h"
#include "suppress-hw/rank/rank_int.h"

/* ---- tests ----------------------------------------------------------------------------------- */

static struct err *add_run(struct rank_session *s, struct cap_suite_test *t)
{
	struct rank_run *run;

	if (!t->is_recorded || t->outcome == CAP_SUITE_UNKNOWN) {
		s->ret->n_left_out++;
		return NULL;
	}
	run = vec_push(&s->runs);
	if (!run)
		return &err_nomem;
	run->test = t;
	run->is_failed = t->outcome == CAP_SUITE_FAILED;
	run->dir = cap_suite_path(s->o->suite, t->name, "capture");
	*(run->is_failed ? &s->ret->n_failed : &s->ret->n_passed) += 1;
	return run->dir ? NULL : &err_nomem;
}

/* One failing capture, as a suite of one test. */
static struct err *make_suite(struct rank_session *s)
{
	struct cap_suite_test *t = calloc(1, sizeof(*t));
	struct rank_run *run = vec_push(&s->runs);

	if (!t || !run) {
		free(t);
		return &err_nomem;
	}
	s->suite.tests = t;
	s->suite.n_tests = 1;
	t->name = strdup("capture");
	t->expected = s->o->expected ? strdup(s->o->expected) : NULL;
	t->want_status = s->o->want_status;
	t->outcome = CAP_SUITE_FAILED;
	run->test = t;
	run->is_failed = true;
	run->dir = strdup(s->o->suite);
	s->ret->n_failed = 1;
	return t->name && run->dir && (t->expected || !s->o->expected) ? NULL :
									 &err_nomem;
}

static struct err *read_suite(struct rank_session *s)
{
	struct err *err;

	if (s->o->is_capture)
		return make_suite(s);
	err = cap_suite_read(s->o->suite, CAP_SUITE_FILE, &s->suite);
	for (size_t i = 0; i < s->suite.n_tests && !err; i++)
		err = add_run(s, &s->suite.tests[i]);
	if (err)
		return err;
	if (!s->ret->n_failed)
		return err_new(ERR_RANGE,
			       "of %zu tests none failed: there is nothing to "
			       "rank by",
			       s->suite.n_tests);
	if (!s->ret->n_passed)
		err = lines_add(
			&s->ret->notes,
			"no test passed: what only failing ones execute cannot be "
			"told, nor what is right elsewhere");
	if (!err && s->ret->n_left_out)
		err = lines_add(
			&s->ret->notes,
			"%u tests were not recorded, or nobody could tell whether they "
			"passed: they are left out",
			s->ret->n_left_out);
	return err;
}

/* Those whose failing tests do not execute statement @p of are left out; UINT32_MAX: none. */
static void count(struct rank_session *s, uint32_t of)
{
	struct rank_result *ret = s->ret;

	for (size_t r = 0; r < s->runs.size; r++) {
		const struct rank_run *run = &s->runs.data[r];
		bool is_behind = (run->is_failed || run->has_failed) &&
				 (of == UINT32_MAX || run->executed[of]);

		if (run->is_failed && !is_behind)
			continue;
		for (size_t i = 0; i < ret->statements.size; i++) {
			struct rank_statement *st = &ret->statements.data[i];

			st->n_failed += run->executed[i] && run->is_failed;
			st->n_passed += run->executed[i] && !run->is_failed;
			st->is_ranked |= run->executed[i] && is_behind;
			st->n_ivmp += is_behind && run->has_ivmp && run->has_ivmp[i];
		}
	}
}

/* ---- searching --------------------------------------------------------------------------------- */

static int by_length(const void *a, const void *b)
{
	const struct rank_run *p = a, *q = b;

	return (p->length > q->length) - (p->length < q->length);
}

/* One fault is assumed: it is among the statements with an IVMP in each failing run that has
 * some. */
static struct err *narrow(struct rank_session *s, const struct rank_run *run)
{
	size_t n = s->ret->statements.size;
	uint8_t *kept;

	if (s->o->is_lossless || s->o->faults != RANK_ONE || !run->has_ivmp ||
	    !memchr(run->has_ivmp, 1, n))
		return NULL;
	kept = malloc(n);
	if (!kept)
		return &err_nomem;
	memcpy(kept, run->has_ivmp, n);
	free(s->in_question);
	s->in_question = kept;
	s->n_in_question = n;
	return NULL;
}

/* Its oracle is a program: an altered run's output cannot be shown to it here. */
static bool can_be_judged(const struct rank_run *run)
{
	return run->test->expected ||
	       (!run->test->oracle &&
		(run->test->want_status != CAP_SUITE_ANY || run->test->status >= 128));
}

/* Search @p run, unless its IVMPs are known from before. */
static struct err *search_one(struct rank_session *s, struct rank_run *run)
{
	bool is_known;
	struct err *err = rank_state_recall(s, run, &is_known);

	if (err)
		return err;
	if (is_known) {
		s->ret->n_searched++;
		s->ret->n_recalled += !rank_state_is_found(s, run);
		return narrow(s, run);
	}
	if (!can_be_judged(run))
		return lines_add(&s->ret->notes,
				 "test '%s' is judged by its oracle: what altered runs "
				 "print is not shown to it, and it is not searched",
				 run->test->name);
	err = rank_search(s, run);
	if (!err && !s->ret->is_interrupted)
		err = rank_state_keep(s, run);
	if (!err && !s->ret->is_interrupted)
		err = rank_state_write(s);
	return err ?: narrow(s, run);
}

static struct err *search_all(struct rank_session *s)
{
	struct err *err = rank_state_fix(s);

	vec_sort(&s->runs, by_length);
	s->start_s = clock_now_s();
	for (size_t i = 0; i < s->runs.size && !err && !s->ret->is_interrupted; i++)
		if (s->runs.data[i].is_failed)
			err = search_one(s, &s->runs.data[i]);
	s->ret->search_s = clock_now_s() - s->start_s;
	if (!err && s->ret->is_interrupted)
		err = lines_add(&s->ret->notes,
				"interrupted: %u of %u failing tests were searched",
				s->ret->n_searched, s->ret->n_failed);
	return err;
}

/* ---- the list ------------------------------------------------------------------------------------ */

static void drop_statement(struct rank_statement *st)
{
	free(st->file);
	free(st->function);
}

/* Statements that no failing test executed are not ranked; IVMPs follow the others. */
static struct err *rank(struct rank_session *s)
{
	struct rank_result *ret = s->ret;
	size_t n = 0, k = 0;
	uint32_t *at = malloc((ret->statements.size + 1) * sizeof(*at));

	if (!at)
		return &err_nomem;
	for (size_t i = 0; i < ret->statements.size; i++) {
		struct rank_statement *st = &ret->statements.data[i];

		at[i] = UINT32_MAX;
		st->id = i;
		if (st->is_ranked)
			ret->statements.data[n++] = *st;
		else
			drop_statement(st);
	}
	ret->statements.size = n;
	rank_sort(ret->statements.data, n, s->o->method, ret->n_failed, ret->n_passed);
	for (size_t i = 0; i < n; i++)
		at[ret->statements.data[i].id] = i;
	for (size_t i = 0; i < ret->ivmps.size; i++) {
		struct rank_ivmp v = ret->ivmps.data[i];

		v.statement = at[v.statement];
		if (v.statement != UINT32_MAX)
			ret->ivmps.data[k++] = v;
	}
	ret->ivmps.size = k;
	free(at);
	return NULL;
}

/* All runs know all statements. */
static struct err *pad(struct rank_session *s)
{
	size_t n = s->ret->statements.size;

	for (size_t i = 0; i < s->runs.size; i++) {
		struct rank_run *run = &s->runs.data[i];
		uint8_t *more = n > run->n_executed ? realloc(run->executed, n) : NULL;

		if (n <= run->n_executed)
			continue;
		if (!more)
			return &err_nomem;
		memset(more + run->n_executed, 0, n - run->n_executed);
		run->executed = more;
		run->n_executed = n;
	}
	return NULL;
}

/* Tests that failed before the last fix go on to tell what they told (Figure 3.6). */
static struct err *recall_passing(struct rank_session *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->runs.size && !err; i++)
		if (!s->runs.data[i].is_failed)
			err = rank_state_recall(s, &s->runs.data[i],
						&s->runs.data[i].has_failed);
	return err;
}

/* Of the lists by the failing tests that execute a statement, the one to look at now. */
static struct err *choose_list(struct rank_session *s, uint32_t *of)
{
	struct rank_rows rows = { .n = s->runs.size,
				  .statements = s->ret->statements.data,
				  .n_statements = s->ret->statements.size };
	struct rank_row *row = calloc(s->runs.size + 1, sizeof(*row));
	struct err *err;

	if (!row)
		return &err_nomem;
	for (size_t i = 0; i < s->runs.size; i++)
		row[i] = (struct rank_row){ s->runs.data[i].executed,
					    s->runs.data[i].has_ivmp,
					    s->runs.data[i].is_failed ||
						    s->runs.data[i].has_failed,
					    s->runs.data[i].has_failed };
	rows.rows = row;
	err = rank_state_choose(s, &rows, of);
	free(row);
	if (!err && *of != UINT32_MAX &&
	    asprintf(&s->ret->list_of, "%s:%d", s->ret->statements.data[*of].file,
		     s->ret->statements.data[*of].line) < 0) {
		s->ret->list_of = NULL;
		return &err_nomem;
	}
	return err;
}

/* The names that IVMPs borrow outlive the suite. */
static struct err *keep_names(struct rank_session *s)
{
	for (size_t i = 0; i < s->ret->ivmps.size; i++) {
		struct rank_ivmp *v = &s->ret->ivmps.data[i];
		char *name = strdup(v->test);

		if (!name || vec_add(&s->ret->tests, name)) {
			free(name);
			return &err_nomem;
		}
		v->test = name;
	}
	return NULL;
}

static struct err *search(struct rank_session *s, uint32_t *of)
{
	struct err *err = search_all(s);

	if (!err && s->o->faults == RANK_PARTIAL)
		err = recall_passing(s);
	if (!err && s->o->faults == RANK_PARTIAL)
		err = choose_list(s, of);
	return err ?: rank_state_write(s);
}

static struct err *do_suite(struct rank_session *s)
{
	bool is_searching = s->o->method == RANK_IVMP || s->o->method == RANK_PREDICATES;
	struct err *err = read_suite(s);
	uint32_t of = UINT32_MAX;

	if (!err && is_searching)
		err = rank_state_open(s);

	for (size_t i = 0; i < s->runs.size && !err; i++) {
		err = rank_profile(s, &s->runs.data[i]);
		if (!err && s->o->stops && s->o->stops())
			return err_new(ERR_INTERRUPTED,
				       "interrupted before anything was known");
	}
	if (!err && s->n_incomplete)
		err = lines_add(&s->ret->notes,
				"captures of %u tests are not complete; that of %s",
				s->n_incomplete, s->gap);
	if (!err && !s->ret->statements.size)
		return err_new(ERR_NOT_FOUND,
			       "the program has no line information: build it with -g");
	if (!err && s->is_ambiguous)
		return err_new(
			ERR_AMBIGUOUS,
			"'%s' is the name of several statements: give more of the path",
			s->o->at);
	if (!err && s->o->at && s->at == UINT32_MAX)
		return err_new(ERR_NOT_FOUND, "no test executes '%s'", s->o->at);
	if (!err)
		err = pad(s);
	if (!err && is_searching)
		err = search(s, &of);
	if (err)
		return err;
	count(s, of);
	if (s->o->method == RANK_RANGES)
		rank_ranges_judge(s);
	err = rank(s);
	return err ?: keep_names(s);
}

struct err *rank_suite(const struct rank_options *o, struct rank_result *ret)
{
	struct rank_session s = { .o = o, .ret = ret, .at = UINT32_MAX };
	struct err *err = do_suite(&s);

	for (size_t i = 0; i < s.runs.size; i++) {
		free(s.runs.data[i].dir);
		free(s.runs.data[i].executed);
		free(s.runs.data[i].has_ivmp);
		vec_deinit(&s.runs.data[i].places);
		vec_deinit(&s.runs.data[i].printed);
		vec_deinit(&s.runs.data[i].begins);
	}
	vec_deinit(&s.runs);
	for (size_t i = 0; i < s.profiles.size; i++)
		vec_deinit(&s.profiles.data[i].values);
	vec_deinit(&s.profiles);
	map_deinit(&s.statement_of);
	map_deinit(&s.profile_of);
	map_deinit(&s.set_of);
	rank_ranges_deinit(&s);
	free(s.in_question);
	free(s.gap);
	vec_deinit(&s.fixed);
	cJSON_Delete(s.state);
	cJSON_Delete(s.found);
	cap_suite_deinit(&s.suite);
	return err;
}

void rank_result_deinit(struct rank_result *r)
{
	for (size_t i = 0; i < r->statements.size; i++)
		drop_statement(&r->statements.data[i]);
	vec_deinit(&r->statements);
	vec_deinit(&r->ivmps);
	vec_deinit(&r->sets);
	free(r->source);
	free(r->source_path);
	free(r->list_of);
	for (size_t i = 0; i < r->tests.size; i++)
		free(r->tests.data[i]);
	vec_deinit(&r->tests);
	lines_deinit(&r->notes);
}
