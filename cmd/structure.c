// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `faultline linear FILE...`: the proof, or an execution that breaks it, or neither.
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/base.h"
#include "base/clock.h"
#include "cmd/structure.h"
#include "faultlocate/linear/derived.h"

enum { PROVEN, BROKEN, NEITHER };
enum { LEAST_AT_ONCE = 3 }; ///< operations that are executed

/* One file, and what came of it. */
struct structure {
	const struct structure_options *o;
	const char *path;
	struct spec *spec;
	struct fl_lin_steps steps;
	struct fl_lin_pairs pairs;
	struct fl_lin_proof proof;
	struct fl_lin_executions runs;
	bool has_run, was_derived;
	bool is_proven; ///< of all executions
	int answer;
	double seconds;
};

static FILE *talk; ///< of the options

static const char *const answers[] = { "linearizable", "not linearizable", "not known" };

static const char *operation_name(const struct structure *s, size_t step)
{
	return fl_lin_steps_operation(&s->steps, step)->name;
}

/* ---- for people ------------------------------------------------------------------------------- */

/* `  2 Enqueue     line 14  1 < Q.tail == Z; > Z.next = X;` */
static void print_step(const struct structure *s, unsigned who, size_t step)
{
	const struct fl_lin_step *k = &s->steps.data[step];

	fprintf(talk, "  %*s%u %-*s line %-4d %s\n", (int)(who - 1) * 4, "", who,
		28 - (int)(who - 1) * 4, operation_name(s, step), k->shown->line,
		k->shown->text);
}

/* `1: Enqueue(val = 1) gives v = 2` of an execution. */
static void instance_text(const struct structure *s, unsigned i, FILE *out)
{
	const struct fl_lin_instance *it = &s->runs.instance[i];
	const struct spec_structure_operation *o = &s->steps.s->operations[it->operation];

	fprintf(out, "%u: %s(", i + 1, o->name);
	for (size_t k = 0; k < o->n_args; k++)
		fprintf(out, "%s%s = %d", k ? ", " : "", o->locals[k].name, it->local[k]);
	putc(')', out);
	if (o->result >= 0 && it->has_ended)
		fprintf(out, " gives %s = %d", o->locals[o->result].name,
			it->local[o->result]);
	if (!it->has_ended)
		fputs(", does not end", out);
}

static void print_instance(const struct structure *s, unsigned i)
{
	if (!s->runs.instance[i].has_begun)
		return;
	fputs("  ", talk);
	instance_text(s, i, talk);
	fputc('\n', talk);
}

static void print_execution(const struct structure *s)
{
	fputs("this execution gives what no order of whole operations gives:\n", talk);
	for (size_t k = 0; k < s->runs.path.size; k++)
		print_step(s, s->runs.path.data[k].instance + 1,
			   s->runs.path.data[k].step);
	for (unsigned i = 0; i < s->runs.n_instances; i++)
		print_instance(s, i);
}

static const char *why_not(const struct fl_lin_pair *p)
{
	static const char *const whys[] = {
		[PAIR_SAME] = "Z3 does not say",
		[PAIR_SECOND_FIRST] =
			"what the second needs may not hold before the first",
		[PAIR_THEN_FIRST] = "what the first needs may not hold after the second",
		[PAIR_DIFFERS] = "the other order may end in, or see, another state",
	};

	return p->is_boundary ? "one operation ends and another begins" : whys[p->why];
}

/* What Algorithm 6 could not make sequential. */
static void print_unproven(const struct structure *s)
{
	const struct fl_lin_proof *p = &s->proof;
	size_t last = p->last.data[p->last.size - 1];

	fputs("no proof: these sub-operations cannot be put in an order of whole operations:\n",
	      talk);
	for (size_t i = 0; i < p->last.size; i++) {
		size_t first = s->steps.of[s->steps.data[p->last.data[i]].operation];

		for (size_t k = first; k <= p->last.data[i]; k++)
			print_step(s, (unsigned)i + 1, k);
	}
	print_step(s, 1, p->next);
	fprintf(talk, "the last two cannot change places: %s\n",
		why_not(fl_lin_pair(&s->pairs, last, p->next)));
	if (fl_lin_pair(&s->pairs, last, p->next)->what[0])
		fprintf(talk, "  (`%s')\n", fl_lin_pair(&s->pairs, last, p->next)->what);
	if (s->runs.is_complete)
		fprintf(talk,
			"but no execution of up to %u operations breaks it (%lu states)\n",
			s->runs.n_operations, s->runs.n_states);
	else
		fprintf(talk, "executions: %s (%lu states)\n", s->runs.why,
			s->runs.n_states);
}

/* `line 14 |1 < .. > ..` and `line 26 |..`: why must the second stay behind the first? */
static void print_why(const struct structure *s, size_t a, size_t b)
{
	const struct fl_lin_pair *p = fl_lin_pair(&s->pairs, a, b);

	fprintf(talk, "why %s %zu and then %s %zu cannot change places:\n",
		operation_name(s, a), s->steps.data[a].index + 1, operation_name(s, b),
		s->steps.data[b].index + 1);
	print_step(s, 1, a);
	print_step(s, 2, b);
	if (p->is_boundary) {
		fputs("  the first ends an operation, and the second begins another: their order is "
		      "that of the operations\n",
		      talk);
		return;
	}
	switch (p->why) {
	case PAIR_SECOND_FIRST:
		fprintf(talk,
			"  before the first, `%s' may not hold, which the second needs\n",
			p->what);
		break;
	case PAIR_THEN_FIRST:
		fprintf(talk,
			"  behind the second, `%s' may not hold, which the first needs\n",
			p->what);
		break;
	case PAIR_DIFFERS:
		fprintf(talk, "  in the other order %s may be another\n", p->what);
		break;
	default:
		fputs("  Z3 does not say\n", talk);
	}
}

static void print_all_whys(const struct structure *s)
{
	for (size_t a = 0; a < s->pairs.n; a++)
		for (size_t b = 0; b < s->pairs.n; b++) {
			const struct fl_lin_pair *p = fl_lin_pair(&s->pairs, a, b);

			if (p->is_orderable && !p->is_reversible)
				print_why(s, a, b);
		}
}

static void print_pairs(const struct structure *s)
{
	for (size_t a = 0; a < s->pairs.n; a++)
		for (size_t b = 0; b < s->pairs.n; b++) {
			const struct fl_lin_pair *p = fl_lin_pair(&s->pairs, a, b);

			fprintf(talk, "  %s %zu, %s %zu: ", operation_name(s, a),
				s->steps.data[a].index + 1, operation_name(s, b),
				s->steps.data[b].index + 1);
			if (!p->is_orderable)
				fputs("not orderable\n", talk);
			else if (p->is_reversible)
				fputs("orderable, reversible\n", talk);
			else
				fprintf(talk, "orderable, not reversible: %s\n",
					why_not(p));
		}
}

/* `Contains_yes 1 to 2, 3: ..`: where the pairs are no proof, what is. */
static void print_moves(const struct structure *s)
{
	static const char *const how[] = {
		[MOVE_LATE] = "what was read still holds",
		[MOVE_SPLIT] = "two versions: what was read still holds, or no longer"
	};

	for (size_t a = 0; a < s->pairs.n; a++)
		if (s->pairs.move[a] != MOVE_BY_PAIRS)
			fprintf(talk, "  before %s %zu: %s\n", operation_name(s, a),
				s->steps.data[a].index + 1, how[s->pairs.move[a]]);
}

/* What a proof says nothing of. */
static void print_reservations(const struct structure *s)
{
	for (size_t a = 0; a < s->steps.size; a++)
		if (s->pairs.is_never[a])
			log_note(
				"%s:%d: this is never done: its conditions hold in no state",
				s->path, s->steps.data[a].shown->line);
		else if (s->pairs.may_wait[a])
			log_note(
				"%s:%d: one that has written may wait here for ever: only executions in "
				"which none does are proven linearizable",
				s->path, s->steps.data[a].shown->line);
}

static void print_text(const struct structure *s)
{
	fprintf(talk, "%s: %zu operations, %zu sub-operations: %s (%.2f s)\n", s->path,
		s->steps.s->n_operations, s->steps.size, answers[s->answer], s->seconds);
	if (s->o->with_pairs) {
		print_pairs(s);
		print_moves(s);
	}
	if (s->o->explains)
		print_all_whys(s);
	if (s->pairs.n_undecided)
		log_note("%s: Z3 did not decide %zu pairs, which count against a proof",
			 s->path, s->pairs.n_undecided);
	print_reservations(s);
	if (s->answer == BROKEN)
		print_execution(s);
	else if (!s->proof.is_proven)
		print_unproven(s);
	else if (s->has_run && s->runs.is_complete)
		fprintf(talk,
			"no execution of up to %u operations breaks it (%lu states)\n",
			s->runs.n_operations, s->runs.n_states);
	else if (s->has_run)
		fprintf(talk, "executions: %s (%lu states)\n", s->runs.why,
			s->runs.n_states);
}

/* ---- as a picture ------------------------------------------------------------------------------ */

struct drawing {
	VEC(struct structure_event) events;
	VEC(const char *) names;
	bool is_out_of_memory;
};

static void draw_step(const struct structure *s, struct drawing *d, unsigned who,
		      size_t step)
{
	const struct spec_step *k = s->steps.data[step].shown;
	struct structure_event e = { who, k->line, k->text };

	d->is_out_of_memory |= vec_add(&d->events, e) != NULL;
}

/* The name of the next operation: of an execution with what it was given and gives. */
static void draw_name(const struct structure *s, struct drawing *d, unsigned i,
		      size_t step)
{
	char *name = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&name, &size);

	if (out && s->answer == BROKEN)
		instance_text(s, i, out);
	else if (out)
		fprintf(out, "%u: %s", i + 1, operation_name(s, step));
	d->is_out_of_memory |= !out || fclose(out) || vec_add(&d->names, name) != NULL;
}

static struct err *draw(const struct structure *s)
{
	const struct fl_lin_proof *p = &s->proof;
	struct drawing d = {};
	char title[256];
	struct err *err;

	snprintf(title, sizeof(title), "%s: %s", s->path, answers[s->answer]);
	for (unsigned i = 0; s->answer == BROKEN && i < s->runs.n_instances; i++)
		draw_name(s, &d, i, 0);
	for (size_t k = 0; s->answer == BROKEN && k < s->runs.path.size; k++)
		draw_step(s, &d, s->runs.path.data[k].instance,
			  s->runs.path.data[k].step);
	for (size_t i = 0; s->answer != BROKEN && i < p->last.size; i++) {
		size_t first = s->steps.of[s->steps.data[p->last.data[i]].operation];

		draw_name(s, &d, (unsigned)i, p->last.data[i]);
		for (size_t k = first; k <= p->last.data[i]; k++)
			draw_step(s, &d, (unsigned)i, k);
	}
	if (s->answer != BROKEN && p->last.size)
		draw_step(s, &d, 0, p->next);
	err = d.is_out_of_memory ?
		      &err_nomem :
	      d.names.size > STRUCTURE_PICTURE_MOST ?
		      err_new(ERR_RANGE, "over %d operations are too many for a picture",
			      STRUCTURE_PICTURE_MOST) :
		      cmd_structure_draw(
			      &(struct structure_picture){ title, d.names.data,
							   (unsigned)d.names.size,
							   d.events.data, d.events.size },
			      s->o->svg);
	for (size_t i = 0; i < d.names.size; i++)
		free((char *)d.names.data[i]);
	vec_deinit(&d.names);
	vec_deinit(&d.events);
	return err;
}

/* ---- for machines -------------------------------------------------------------------------------- */

static cJSON *step_json(const struct structure *s, unsigned who, size_t step)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddNumberToObject(o, "instance", who);
	cJSON_AddStringToObject(o, "operation", operation_name(s, step));
	cJSON_AddNumberToObject(o, "line", s->steps.data[step].shown->line);
	cJSON_AddStringToObject(o, "text", s->steps.data[step].shown->text);
	return o;
}

static cJSON *interleaving_json(const struct structure *s)
{
	const struct fl_lin_proof *p = &s->proof;
	cJSON *list = cJSON_CreateArray();

	if (s->answer == BROKEN)
		for (size_t k = 0; k < s->runs.path.size; k++)
			cJSON_AddItemToArray(
				list, step_json(s, s->runs.path.data[k].instance + 1,
						s->runs.path.data[k].step));
	for (size_t i = 0; s->answer != BROKEN && i < p->last.size; i++)
		for (size_t k = s->steps.of[s->steps.data[p->last.data[i]].operation];
		     k <= p->last.data[i]; k++)
			cJSON_AddItemToArray(list, step_json(s, (unsigned)i + 1, k));
	if (s->answer != BROKEN && p->last.size)
		cJSON_AddItemToArray(list, step_json(s, 1, p->next));
	return list;
}

static cJSON *pairs_json(const struct structure *s)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t a = 0; a < s->pairs.n; a++)
		for (size_t b = 0; b < s->pairs.n; b++) {
			const struct fl_lin_pair *p = fl_lin_pair(&s->pairs, a, b);
			cJSON *o = cJSON_CreateObject();

			cJSON_AddItemToObject(o, "first", step_json(s, 1, a));
			cJSON_AddItemToObject(o, "second", step_json(s, 2, b));
			cJSON_AddBoolToObject(o, "orderable", p->is_orderable);
			cJSON_AddBoolToObject(o, "reversible", p->is_reversible);
			cJSON_AddBoolToObject(o, "boundary", p->is_boundary);
			if (p->what[0])
				cJSON_AddStringToObject(o, "what", p->what);
			cJSON_AddItemToArray(list, o);
		}
	return list;
}

static cJSON *moves_json(const struct structure *s)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t a = 0; a < s->pairs.n; a++) {
		cJSON *o;

		if (s->pairs.move[a] == MOVE_BY_PAIRS)
			continue;
		o = cJSON_CreateObject();
		cJSON_AddItemToObject(o, "before", step_json(s, 1, a));
		cJSON_AddBoolToObject(o, "two_versions", s->pairs.move[a] == MOVE_SPLIT);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static void print_json(const struct structure *s)
{
	cJSON *root = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(root, "file", s->path);
	cJSON_AddStringToObject(root, "answer", answers[s->answer]);
	cJSON_AddNumberToObject(root, "operations", (double)s->steps.s->n_operations);
	cJSON_AddNumberToObject(root, "sub_operations", (double)s->steps.size);
	cJSON_AddBoolToObject(root, "proven", s->is_proven);
	cJSON_AddBoolToObject(root, "derived_before", s->was_derived);
	cJSON_AddNumberToObject(root, "facts", (double)s->pairs.n_facts);
	cJSON_AddNumberToObject(root, "undecided", (double)s->pairs.n_undecided);
	cJSON_AddBoolToObject(root, "executed",
			      s->has_run && (s->runs.is_complete || s->runs.is_broken));
	cJSON_AddNumberToObject(root, "executed_operations", s->runs.n_operations);
	cJSON_AddNumberToObject(root, "states", (double)s->runs.n_states);
	cJSON_AddNumberToObject(root, "seconds", s->seconds);
	cJSON_AddItemToObject(root, "interleaving", interleaving_json(s));
	if (s->o->with_pairs) {
		cJSON_AddItemToObject(root, "pairs", pairs_json(s));
		cJSON_AddItemToObject(root, "versions", moves_json(s));
	}
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	if (text)
		puts(text);
	free(text);
}

/* ---- all ------------------------------------------------------------------------------------------- */

/* All executions of @p operations; unless it was said how many, of one more if that can be done. */
static struct err *execute(struct structure *s, unsigned operations)
{
	struct fl_lin_executions more = {};
	struct err *err = fl_lin_explore(&s->steps, operations, s->o->most, &s->runs);

	if (err || s->o->operations || s->runs.is_broken || !s->runs.is_complete)
		return err;
	err = fl_lin_explore(&s->steps, operations + 1, s->o->most, &more);
	if (!err && (more.is_broken || more.is_complete)) {
		struct fl_lin_executions less = s->runs;

		s->runs = more;
		more = less;
	}
	fl_lin_executions_deinit(&more);
	return err;
}

static struct err *run(struct structure *s, struct fl_lin_derived *known)
{
	unsigned operations = s->o->operations ? s->o->operations : LEAST_AT_ONCE;
	const struct spec_structure *written;
	bool has_executed = false;
	double start = clock_now_s();
	struct err *err = spec_create(&s->spec);

	if (!err)
		err = spec_add_structure(s->spec, s->path);
	if (err)
		return err;
	spec_diags_print(s->spec, stderr);
	written = spec_structure(s->spec);
	if (!written)
		return err_new(ERR_SPEC, "'%s' has mistakes", s->path);
	err = fl_lin_steps_make(written, &s->steps);
	if (!err) {
		s->was_derived = !s->o->explains &&
				 fl_lin_derived_find(known, &s->steps, operations,
						     &s->pairs, &s->runs);
		has_executed = s->runs.is_complete;
	}
	if (!err && !s->was_derived)
		err = fl_lin_pairs_derive(&s->steps, &s->pairs);
	if (!err)
		err = fl_lin_prove(&s->steps, &s->pairs, &s->proof);
	// Of what never ends, nothing is known by a proof.
	s->is_proven = s->proof.is_proven &&
		       fl_lin_pairs_reservation(&s->pairs) == s->pairs.n;
	s->has_run = !s->is_proven || s->o->operations;
	if (!err && s->has_run && !has_executed)
		err = execute(s, operations);
	if (!err && s->o->derived && (!s->was_derived || (s->has_run && !has_executed)))
		err = fl_lin_derived_add(known, &s->steps, &s->pairs, &s->runs);
	s->answer = s->runs.is_broken ? BROKEN : s->is_proven ? PROVEN : NEITHER;
	s->seconds = clock_now_s() - start;
	return err ?: s->o->svg ? draw(s) : NULL;
}

static int check(const struct structure_options *o, const char *path,
		 struct fl_lin_derived *known)
{
	struct structure s = { .o = o, .path = path };
	_cleanup_err_ struct err *err = run(&s, known);
	int answer = err ? NEITHER : s.answer;

	if (err)
		fprintf(stderr, "faultline: cannot check '%s': %s\n", text_line(path),
			err->message);
	else if (o->as_json)
		print_json(&s);
	else
		print_text(&s);
	fl_lin_executions_deinit(&s.runs);
	fl_lin_proof_deinit(&s.proof);
	fl_lin_pairs_deinit(&s.pairs);
	fl_lin_steps_deinit(&s.steps);
	spec_destroy(s.spec);
	return answer;
}

int cmd_structure_check(const struct structure_options *o)
{
	struct fl_lin_derived known = {};
	_cleanup_err_ struct err *err = NULL;
	int worst = PROVEN;

	talk = o->talk;
	if (o->derived)
		err = fl_lin_derived_read(o->derived, &known);
	for (size_t i = 0; !err && i < o->n_files; i++) {
		int answer = check(o, o->files[i], &known);

		// What is broken is known; what is not known is worse than what is proven.
		worst = worst == BROKEN || answer == BROKEN ? BROKEN :
			answer > worst			    ? answer :
							      worst;
	}
	if (!err && o->derived)
		err = fl_lin_derived_write(&known, o->derived);
	if (err) {
		fprintf(stderr, "faultline: cannot use '%s': %s\n", text_line(o->derived),
			err->message);
		worst = NEITHER;
	}
	fl_lin_derived_deinit(&known);
	return worst;
}
